#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver's tests inside a guest, and the card taken away from outside, in parts."""

import argparse
import random
import re
import signal
import sys
import tempfile
import time
from contextlib import contextmanager

from suite import (PROGRAMS, Skipped, clean_console, clean_kernels, device_of_node, expect, extra_cards, figure, plan,
                   ring_of_two, run, run_guest_program, several_attempts, unload_driver, wait_for)
from labkit import Lab

# Rounds of unbind_test, of which one in four removes the card and the others unbind the driver;
# unplugs from outside; buffers that go. The card goes 14 or 200 times in each way, or more.
SHORT, LONG = (28, 7, 20), (268, 134, 200)
LOAD_SECONDS = 60
LISTENERS = 1024


def card(lab):
    """The card that rmlab gave the machine; the others are its neighbours' on a ring of two."""
    return device_of_node(lab, 1, 1)


PARAMETERS = "/sys/module/rfm/parameters"


def kernel_says(lab, text):
    """Another processor may still be at it when a command that made it say so has ended."""
    wait_for(f"the kernel log has '{text}'", lambda: text in lab.verb("log", 1).stdout)


def comes_back(lab):
    wait_for("the card is back", lambda: any(
        c["node"] == 1 and c["signal"] for c in lab.rmctl_json(1, "list")))
    lab.test_ring(1, card(lab))


def plug_in(lab):
    lab.qmp(1, "device_add", driver="rfm5565", id="rfm0", bus="rp0", rx="rfmrx", tx="rfmtx",
            iothread="ring0", **{"node-id": 1})
    comes_back(lab)


def users_of(lab, path, *program):
    """Programs that use the card in all ways until it goes; they have begun."""
    name, *options = program or ("unbind_test", "-x")
    users = lab.start(1, PROGRAMS + name, *options, path)
    while "running" not in users.line():
        pass
    return users


def one_unplug(lab):
    device = f"/dev/{card(lab)}"
    users = users_of(lab, device)
    waits = users_of(lab, device, "rfm2g_test", "--gone")
    time.sleep(random.uniform(0, 0.5))  # a random moment is the point
    lab.qmp(1, "device_del", id="rfm0")
    users.finish(timeout=60)
    waits.finish(timeout=60)
    wait_for("the card is out",
             lambda: lab.run(1, "test", "-e", device, check=False).returncode == 1)
    wait_for("QEMU has let go of it", lambda: "rfm0" not in
             [d["name"] for d in lab.qmp(1, "qom-list", path="/machine/peripheral")])
    plug_in(lab)


def unplugs(lab, count):
    """The card is unplugged while it is mapped, polled, stored to and waited for: errors, no hang"""
    for _ in range(count):
        one_unplug(lab)


def is_opened_anew(lab, _):
    """A program that still has the card that is gone opens the one in its place, which has its number"""
    device = card(lab)
    where = pci_of(lab, device)
    user = users_of(lab, f"/dev/{device}", "rfm2g_test", "--back")
    bind(lab, where, "unbind")
    bind(lab, where)
    user.finish(timeout=90)
    lab.test_ring(1, card(lab))


def operations_end(lab, _):
    """Who waits for another node, a message or a writer when the card goes is told, and nobody hangs"""
    near, far = (f"/dev/{device_of_node(lab, 1, node)}" for node in (NEAR, FAR))
    where = pci_of(lab, near.removeprefix("/dev/"))
    users = users_of(lab, far, "remote_test", "-g", near)
    bind(lab, where, "unbind")
    users.finish(timeout=60)
    bind(lab, where)


def stops_answering(lab, _):
    """A card that answers all ones, as if pulled, is an error, not a hang; rebinding mends it"""
    device = card(lab)
    where = pci_of(lab, device)
    users = users_of(lab, f"/dev/{device}")
    monitor = lab.start(1, PROGRAMS + "netlink_monitor_test", "-g", f"/dev/{device}")
    while monitor.line() != "ready":
        pass
    lab.qmp(1, "qom-set", path="/machine/peripheral/rfm0", property="dead", value=True)
    for verb, *more in (["show"], ["test"], ["send", "all", "1"]):
        start = time.monotonic()
        done = lab.run(1, "rmctl", verb, device, *more, check=False)
        expect(done.returncode == 3 and done.stderr.strip(), f"{verb}: {done}")
        expect(time.monotonic() - start < 60, f"{verb} took too long")
    monitor.finish(timeout=60)
    bind(lab, where, "unbind")
    users.finish(timeout=60)
    lab.qmp(1, "qom-set", path="/machine/peripheral/rfm0", property="dead", value=False)
    bind(lab, where)
    lab.test_ring(1, card(lab))


def dark_and_pulled_out(lab, _):
    """A card without light that answers all ones is found to be gone, and is not lit again"""
    device = device_of_node(lab, 1, BASE)
    where = pci_of(lab, device)
    lab.run(1, "rmctl", "set", device, "transmit=off")
    wait_for("it is dark", lambda: not next(
        c["signal"] for c in lab.rmctl_json(1, "list") if c["node"] == BASE))
    monitor = lab.start(1, PROGRAMS + "netlink_monitor_test", "-g", f"/dev/{device}")
    while monitor.line() != "ready":
        pass
    lab.qmp(1, "qom-set", path="/machine/peripheral/base", property="dead", value=True)
    try:
        monitor.finish(timeout=90)
    finally:
        bind(lab, where, "unbind")
        lab.qmp(1, "qom-set", path="/machine/peripheral/base", property="dead", value=False)
        bind(lab, where)
        lab.run(1, "rmctl", "set", device_of_node(lab, 1, BASE), "transmit=on")


def pci_of(lab, device):
    return lab.rmctl_json(1, "show", device)["pci"]


def bind(lab, where, verb="bind", check=True):
    return lab.run(1, "sh", "-c", f"echo {where} >/sys/bus/pci/drivers/rfm/{verb}", check=check)


def decode(lab, where, memory):
    """A bus master whose memory is decoded, or not: then it answers nothing."""
    lab.run(1, "sh", "-c", f"printf '\\00{6 if memory else 4}' |"
            f" dd of=/sys/bus/pci/devices/{where}/config bs=1 seek=4 conv=notrunc")


def unbound_while_stuck(lab, _):
    """The card is unbound while requests wait for memory that never comes; nobody else waits"""
    device = card(lab)
    where = pci_of(lab, device)
    stuck = lab.start(1, PROGRAMS + "dma_stuck_test", "-w", f"/dev/{device}")
    while stuck.line() != "stuck":
        pass
    swap = lab.run(1, "rmctl", "set", device, "byte-swap=on", check=False)
    expect(swap.returncode == 3 and swap.stderr == f"rmctl: {device}: set: the order of bytes is "
           "not changed under a read or a write\n", f"byte-swap under a request: {swap}")
    start = time.monotonic()
    bind(lab, where, "unbind")
    expect(time.monotonic() - start < 60, "the unbinding took too long")
    bind(lab, where)
    lab.run(1, "dd", "if=/dev/zero", f"of=/dev/{card(lab)}", "bs=1M", "count=4")
    lab.run(1, "killall", "-9", "dma_stuck_test")
    stuck.finish(timeout=60, check=False)
    lab.test_ring(1, card(lab))


def reads_zeros(lab, _):
    """A card that answers zeros, as one pulled out does on some hosts, ends transfers: ENODEV"""
    device = card(lab)
    where = pci_of(lab, device)
    # The transfer never begins, nothing interrupts.
    decode(lab, where, memory=False)
    zeros = lab.out(1, "sh", "-c", f"dd if=/dev/{device} bs=8 count=1 2>/dev/null | od -An -tx8")
    expect(zeros.strip("0 ") == "", f"the card answers {zeros}")
    start = time.monotonic()
    done = lab.run(1, "dd", f"if=/dev/{device}", "of=/dev/null", "bs=1048576", "count=1",
                   check=False)
    expect(done.returncode and "No such device" in done.stderr, f"a read: {done}")
    expect(time.monotonic() - start < 60, "a read took too long")
    bind(lab, where, "unbind")
    bind(lab, where)
    lab.test_ring(1, card(lab))


def is_reset(lab, _):
    """A card that is reset is gone for those who use it, and there again for who comes next"""
    device = card(lab)
    where = pci_of(lab, device)
    users = users_of(lab, f"/dev/{device}")
    lab.run(1, "sh", "-c", f"echo 1 >/sys/bus/pci/devices/{where}/reset")
    users.finish(timeout=60)
    kernel_says(lab, "the card is reset: who uses it loses it")
    comes_back(lab)
    expect(card(lab) == device, f"{device} is {card(lab)} now")
    # It can be unbound and bound like any other card.
    bind(lab, where, "unbind")
    bind(lab, where)
    comes_back(lab)


def cards_by_number(lab):
    return {c["device"]: pci_of(lab, c["device"]) for c in lab.rmctl_json(1, "list")}


def keeps_its_number(lab, _):
    """A card that is bound again while a lower number is free has its own number again"""
    before = cards_by_number(lab)
    first, second = sorted(before, key=lambda device: int(device.removeprefix("rfm")))[:2]
    for device in first, second:
        bind(lab, before[device], "unbind")
    for device in second, first:
        bind(lab, before[device])
        now = cards_by_number(lab)
        expect(now.get(device) == before[device], f"{before[device]} was {device}: {now}")
    expect(now == before, f"{before} are {now} now")


# All devices of the machine are suspended and resumed, but no processor stops.
SLEEP = """cd /sys/power
echo 1 >/sys/module/suspend/parameters/pm_test_delay
echo platform >pm_test; echo freeze >state; slept=$?
echo none >pm_test; exit $slept"""


def sleeps_and_wakes(lab, _):
    """A machine that has slept: its cards are gone for those who used them, and there again"""
    if lab.run(1, "test", "-e", "/sys/power/pm_test", check=False).returncode:
        raise Skipped("this kernel cannot try to sleep")
    before = {c["node"]: c["device"] for c in lab.rmctl_json(1, "list")}
    users = users_of(lab, f"/dev/{card(lab)}")
    lab.run(1, "sh", "-c", SLEEP)
    users.finish(timeout=60)
    comes_back(lab)
    wait_for("all cards have their numbers again", lambda: before == {
        c["node"]: c["device"] for c in lab.rmctl_json(1, "list")})


def insert(lab, *parameters, check=True):
    return lab.run(1, "sh", "-c", "insmod /lib/modules/$(uname -r)/rfm.ko " + " ".join(parameters),
                   check=check)


def reload_with(lab, *parameters, cards=None):
    unload_driver(lab)
    insert(lab, *parameters)
    wait_for("all cards are back",
             lambda: len(lab.rmctl_json(1, "list")) == (cards or 1 + CARDS))


def reload_module(lab, _):
    """The module can be unloaded and loaded again; what it was told then is what cards begin with"""
    unload_driver(lab)
    for policy in "some", "", "ALL", "0":
        expect(insert(lab, f"base_policy={policy}", check=False).returncode, f"took '{policy}'")
    insert(lab, "dma_read_threshold=4096", "dma_write_threshold=0")
    wait_for("all cards are back", lambda: len(lab.rmctl_json(1, "list")) == 1 + CARDS)
    found = lab.rmctl_json(1, "show", card(lab))
    expect((found["dma_read_threshold_size"], found["dma_write_threshold_size"]) == (4096, 0), str(found))
    modes = lab.out(1, "sh", "-c", f"stat -c %a {PARAMETERS}/*").split()
    expect(set(modes) == {"444"}, f"a parameter can be written: {modes}")
    reload_with(lab)
    expect(lab.out(1, "cat", f"{PARAMETERS}/base_policy").strip() == "all", "not all")
    lab.test_ring(1, card(lab))


def base_card_has_no_policy(lab, _):
    """With base_policy=none a card without the extension block still receives everything"""
    reload_with(lab, "base_policy=none")
    policies = {c["node"]: lab.rmctl_json(1, "show", c["device"])["base_policy"]
                for c in lab.rmctl_json(1, "list")}
    expect(policies.pop(BASE) == "all" and set(policies.values()) == {"none"}, str(policies))
    kernel_says(lab, "base_policy=none has no effect")
    reload_with(lab)


def frozen_neighbour(lab):
    """A fence over a machine that stands still: times out, can be interrupted and killed"""
    waiter = lab.start(1, PROGRAMS + "fence_test", "-w", f"/dev/{card(lab)}")
    while waiter.line() != "ready":
        pass
    lab.signal(2, signal.SIGSTOP)
    try:
        out = waiter.finish(timeout=60, check=False)
    finally:
        lab.signal(2, signal.SIGCONT)
    expect(waiter.process.returncode == 0, out)
    lab.test_ring(1, card(lab))
    # Had it stood still for long it has left, and comes back with its next heartbeat.
    wait_for("it is a member of the ring",
             lambda: lab.rmctl_json(1, "map", card(lab))["count"] == 2)
    # What was lost while it stood still is told once.
    lab.run(1, "rmctl", "fence", card(lab), "-t", "60", check=False)
    lab.run(1, "rmctl", "fence", card(lab), "-t", "60")


def lost_and_masked(lab):
    """A card that was lost interrupts no more when it is back: who shares its line goes on"""
    near, far = (device_of_node(lab, 1, node) for node in (NEAR, FAR))
    expect(any(near in line and far in line
               for line in lab.out(1, "cat", "/proc/interrupts").splitlines()), "no line is shared")
    listener = lab.start(1, "rmctl", "listen", near, "int1")
    listener.listening()
    where = pci_of(lab, near)
    decode(lab, where, memory=False)
    expect(lab.run(1, "rmctl", "show", near, check=False).returncode, "the driver lost nothing")
    decode(lab, where, memory=True)
    lab.run(1, "rmctl", "send", far, str(NEAR), "1")
    served = lab.rmctl_json(1, "show", far)["interrupts"]
    lab.run(1, "dd", "if=/dev/zero", f"of=/dev/{far}", "bs=1M", "count=4")
    expect("nobody cared" not in lab.verb("log", 1).stdout, "the kernel disabled the line")
    expect(lab.rmctl_json(1, "show", far)["interrupts"] > served, "no transfer interrupted")
    listener.finish(check=False)
    bind(lab, where, "unbind")
    bind(lab, where)


INTCSR, INTCSR_ENABLES = 0x68, 0x00040800
DMACSR0, DMACSR0_DONE = 0xa8, 0x10


def switched_off(lab):
    """A machine that is switched off while its card is used leaves it still and silent"""
    device = devices(lab, 1)[0]
    where = pci_of(lab, card(lab))
    bar0 = int(lab.out(1, "head", "-n1", f"/sys/bus/pci/devices/{where}/resource").split()[0], 0)

    def register(offset):
        shown = lab.qmp(1, "human-monitor-command", **{"command-line": f"xp /1wx {bar0 + offset:#x}"})
        return int(shown.split()[-1], 0)

    expect(register(INTCSR) & INTCSR_ENABLES, "interrupts were off before")
    users_of(lab, device)
    lab.start(1, "sh", "-c", f"while dd if={device} of=/dev/null bs=4M; do :; done")
    wait_for("it transfers", lambda: not register(DMACSR0) & DMACSR0_DONE)
    lab.start(1, "poweroff", "-f")
    wait_for("the machine is off", lambda: lab.qmp(1, "query-status")["status"] == "shutdown")
    expect(not register(INTCSR) & INTCSR_ENABLES, "it may interrupt")
    expect(register(DMACSR0) & DMACSR0_DONE, "it still moves something")
    clean_console(lab, 1)


def others_run(lab):
    """A neighbour sends as fast as it can to 1024 listeners: others run while they are told"""
    several_attempts(flood_a_crowd, lab)


def flood_a_crowd(lab):
    """A neighbour that is held up makes it impossible to run within a delivery."""
    crowd = PROGRAMS + "crowd"
    listeners = lab.start(1, crowd, "listen", "/dev/rfm0", LISTENERS)
    listeners.line()
    flood = lab.start(2, crowd, "flood", "/dev/rfm0", "1")
    under_way, told, median, most = map(int, listeners.finish(timeout=600).split())
    killed = lab.run(2, "killall", "crowd", check=False)
    flood.finish(check=killed.returncode)       # if it has ended before, it says why
    figure(f"{told} events for {LISTENERS} listeners; a program of the highest priority woke up "
           f"{median} us late (median), {most} us at most, {under_way} times within a delivery")
    return not under_way and "it never ran before all listeners had been told"


# The shell waits for what never comes, without a child: its end would be the longest section.
WAITS = """cd /sys/kernel/tracing
[ -p /tmp/never ] || mkfifo /tmp/never; exec 3<>/tmp/never"""
# Each time the longest section with interrupts off in a tenth of a second: microseconds, and
# where it began.
INTERRUPTS_OFF = WAITS + """
echo irqsoff >current_tracer
for i in 1 2 3 4 5 6 7; do
	echo 0 >tracing_max_latency; read -t 0.1 x <&3; echo 0 >tracing_on
	sed -n 's/.*latency: \\([0-9]*\\) us.*/\\1/p; s/.*started at: *//p' trace; echo 1 >tracing_on
done
echo nop >current_tracer"""
# When the card's interrupt handlers begin and end, until so many have.
HANDLERS = WAITS + """
echo >trace
echo 'name ~ "rfm*"' >events/irq/irq_handler_entry/filter
echo 1 >events/irq/enable
until read -t 0.2 x <&3; [ $(grep -c irq_handler_entry trace) -ge RUNS ]; do :; done
echo 0 >events/irq/enable; cat trace"""
HANDLER = re.compile(r"([\d.]+): irq_handler_(entry|exit): irq=(\d+)")
LONGEST_US = 300        # 100, and what one record costs where nothing has been delivered before
# The time of the first machine is a count of instructions, 1000 of them a microsecond, those of the
# kernel's checkers included: how busy the host is does not matter.
COUNTED = ["--accel", "tcg", "--qemu-arg", "1:-icount shift=0", "--append", "tsc_early_khz=1000000"]
AT_ONCE = 3             # an event and its listeners are at most RFM_AT_ONCE of driver/hw/hw.h


def needs_irqsoff(lab):
    look = "cd /sys/kernel/tracing; mount -t tracefs none . 2>/dev/null; cd .; cat available_tracers"
    if "irqsoff" not in lab.out(1, "sh", "-c", look):
        raise Skipped("only the debug kernel measures it")


def handlers_are_short(lab, runs):
    """None of so many runs of the card's interrupt handlers took longer than it may."""
    begun, took = {}, []
    for when, what, irq in HANDLER.findall(
            lab.out(1, "sh", "-c", HANDLERS.replace("RUNS", str(runs)), timeout=None)):
        if what == "entry":
            begun[irq] = float(when)
        elif irq in begun:
            took.append(1e6 * (float(when) - begun.pop(irq)))
    figure(f"{len(took)} runs of the card's handlers, the longest {max(took):.0f} us")
    expect(max(took) <= LONGEST_US, "a handler kept others waiting")


def interrupts_stay_on(lab):
    """No section with interrupts off that a device or the driver began was longer than it may be."""
    words = lab.out(1, "sh", "-c", INTERRUPTS_OFF, timeout=None).split()
    looks = sorted((int(us), began) for us, began in zip(words[::2], words[1::2]))
    figure("longest time with interrupts off, us: " + ", ".join(f"{us} {began}" for us, began in looks))
    ours = [us for us, began in looks if began == "common_interrupt" or began.startswith("rfm_")]
    expect(max(ours, default=0) <= LONGEST_US, "the driver kept interrupts waiting")
    expect(looks[len(looks) // 2][0] <= LONGEST_US, "something else does so most of the time")


def few_are_told(lab):
    """As many listeners as the interrupt handler tells itself keep no interrupt waiting"""
    needs_irqsoff(lab)
    listeners = [lab.start(1, "rmctl", "listen", "rfm0", "int1") for _ in range(AT_ONCE)]
    for listener in listeners:
        listener.listening()
    sender = lab.start(2, "sh", "-c", "until [ -e /tmp/stop ]; do rmctl send rfm0 1 1; done")
    handlers_are_short(lab, 20)
    interrupts_stay_on(lab)
    lab.run(2, "touch", "/tmp/stop")
    lab.run(1, "killall", "rmctl")
    for program in (sender, *listeners):
        program.finish(check=False)


def crowd_is_told(lab):
    """Nor do 1024 listeners, and a neighbour that sends as fast as it can"""
    needs_irqsoff(lab)
    listeners = lab.start(1, PROGRAMS + "crowd", "listen", "/dev/rfm0", LISTENERS)
    listeners.line()
    flood = lab.start(2, PROGRAMS + "crowd", "flood", "/dev/rfm0", "1")
    # The thread that tells them is never done: hardly an interrupt has to wake it.
    interrupts_stay_on(lab)
    lab.run(2, "killall", "crowd")
    flood.finish(check=False)
    listeners.finish(timeout=None)


def interrupts_are_intx(lab):
    """Without messages a card with an event ring interrupts by its pin"""
    lines = [line.split() for line in lab.out(1, "cat", "/proc/interrupts").splitlines()]
    cards = [words for words in lines if any(word.startswith("rfm") for word in words)]
    expect(cards and all("IO-APIC" in words for words in cards), f"{cards}")
    near = lab.rmctl_json(1, "show", device_of_node(lab, 1, NEAR))
    expect(near["interrupts"], "the programs made no interrupts")


def hang(lab, hung, card="slow"):
    lab.qmp(1, "qom-set", path=f"/machine/peripheral/{card}", property="dma-hung", value=hung)


def engine_hangs(lab):
    """An engine that never ends is a lost card after a stated time, also for who was sent a signal"""
    device = device_of_node(lab, 1, SLOW)
    where = pci_of(lab, device)
    hang(lab, True)
    start = time.monotonic()
    read = f"dd if=/dev/{device} of=/dev/null bs=1M count=1"
    done = lab.run(1, "sh", "-c", f"timeout -s TERM 1 {read} & {read}; wait", check=False)
    took = time.monotonic() - start
    expect("No such device" in done.stderr, f"a read from an engine that hangs: {done}")
    expect(14 < took, f"it took {took:.0f} s")
    kernel_says(lab, "the DMA engine has not moved 4096 bytes in 15 s")
    bind(lab, where, "unbind")
    expect(bind(lab, where, check=False).returncode, "the card is used while its engine hangs")
    hang(lab, False)
    bind(lab, where)
    lab.run(1, "dd", f"if=/dev/{device_of_node(lab, 1, SLOW)}", "of=/dev/null", "bs=1M", "count=1")


def engine_stands_still(lab):
    """The time for which the whole machine stands still is none that its engine has taken"""
    device = device_of_node(lab, 1, SLOW)
    hang(lab, True)
    reader = lab.start(1, "dd", f"if=/dev/{device}", "of=/dev/null", "bs=1M", "count=1")
    wait_for("the engine is busy",
             lambda: lab.out(1, "cat", f"/sys/class/rfm/{device}/dma/pinned").strip() != "0")
    lab.signal(1, signal.SIGSTOP)
    # Longer than what a slice of 4096 bytes may take.
    time.sleep(20)
    lab.signal(1, signal.SIGCONT)
    # By now the driver has looked.
    lab.run(1, "sleep", "2")
    hang(lab, False)
    reader.finish(timeout=60)


def short_writes_do_not_interrupt(lab):
    """A write of 128 to 4096 bytes is one transfer of the engine, and nobody is interrupted for it"""
    device = device_of_node(lab, 1, SLOW)

    def interrupts():
        return lab.rmctl_json(1, "show", device)["interrupts"]

    # The ring has room for as much.
    for size, count, transfers in ((128, 20, 20), (4096, 4, 4), (120, 20, 0)):
        before, moved = interrupts(), slow_counter(lab, "transfers")
        lab.run(1, "dd", "if=/dev/zero", f"of=/dev/{device}", f"bs={size}", f"count={count}")
        moved = slow_counter(lab, "transfers") - moved
        expect(moved == transfers, f"{count} writes of {size} bytes were {moved} transfers")
        expect(interrupts() == before, f"writes of {size} bytes interrupt")


def short_write_waits(lab):
    """A short write that the engine does not move at once waits for it, and is right in the end"""
    device = device_of_node(lab, 1, SLOW)
    lab.run(1, "sh", "-c", f"head -c 256 /dev/urandom >/tmp/short; dd if=/dev/zero of=/dev/{device} bs=4k count=1")
    hang(lab, True)
    writer = lab.start(1, "sh", "-c", f"dd if=/tmp/short of=/dev/{device} bs=256 count=1 & "
                       "until grep -q 'State:.D' /proc/$!/status; do kill -0 $! || exit 1; done; echo waits; wait $!")
    expect(writer.line() == "waits", "the writer does not wait")
    hang(lab, False)
    writer.finish(timeout=60)
    lab.run(1, "sh", "-c", f"dd if=/dev/{device} bs=256 count=1 | cmp - /tmp/short")


def bridge_is_no_piorc(lab):
    """The engine of a board with another bridge is never started: the processor moves all"""
    device = device_of_node(lab, 1, CLASSIC)
    found = lab.rmctl_json(1, "show", device)
    expect((found["dma_read_threshold_size"], found["dma_write_threshold_size"]) == (0, 0), str(found))
    for setting in "dma-read-threshold", "dma-write-threshold":
        done = lab.run(1, "rmctl", "set", device, f"{setting}=4096", check=False)
        expect(done.returncode == 3 and "no PIORC" in done.stderr, f"{setting}: {done}")
        lab.run(1, "rmctl", "set", device, f"{setting}=0")
    lab.run(1, "sh", "-c", f"head -c 1048576 /dev/urandom >/tmp/old; dd if=/tmp/old of=/dev/{device} bs=1M; "
            f"dd if=/dev/{device} bs=1M count=1 | cmp - /tmp/old")
    moved = lab.qmp(1, "qom-get", path="/machine/peripheral/classic", property="dma-transfers")
    expect(not moved, f"{moved} transfers")
    expect("bridge revision 0xaa: no PIORC" in lab.out(1, "dmesg"), "the kernel log does not say so")


def card_is_full(lab):
    """Who submits to a card that has all it may pin, and must not wait, is told to come again"""
    for node, name in (1, "rfm0"), (BASE, "base"), (NARROW, "narrow"):
        hang(lab, True, name)
        try:
            program = lab.start(1, PROGRAMS + "dma_full_test", *devices(lab, node))
            while (line := program.line()) != "# full":
                print(f"# {line}")
        finally:
            hang(lab, False, name)
        print(f"# {program.finish(timeout=60)}")


# What the engine moves in one go, at most; on a slow fibre that takes it some seconds.
LONGEST_SLICE = 8388600
SLOW_CARD = "id=slow,line=paced,,rate=0.01,firmware-bus-master=on"
FREE_MIB = "awk '/MemFree/ {print int($2 / 1024)}' /proc/meminfo"


def slow_counter(lab, name):
    return lab.qmp(1, "qom-get", path="/machine/peripheral/slow", property=f"dma-{name}")


def leave_it_moving(lab, device, *writer):
    """Unbind the card under a writer: its engine finds all as it was, and then it is free."""
    where = pci_of(lab, device)
    before = slow_counter(lab, "transfers")
    lab.run(1, "sh", "-c", f"head -c {LONGEST_SLICE} /dev/urandom >/tmp/pattern")
    # It goes on where it stood when it hangs no more.
    hang(lab, True)
    writer = lab.start(1, *writer)
    wait_for("the engine is busy",
             lambda: lab.out(1, "cat", f"/sys/class/rfm/{device}/dma/pinned").strip() != "0")
    bind(lab, where, "unbind")
    writer.finish(check=False)
    expect(writer.process.returncode, "the write did not fail")
    kernel_says(lab, "the DMA engine does not stop: its descriptors and 20")
    expect(bind(lab, where, check=False).returncode, "the card is used while its engine moves")

    # Whatever was freed has other contents now.
    free = int(lab.out(1, "sh", "-c", FREE_MIB))
    lab.run(1, "mount", "-t", "tmpfs", "-o", "size=100%", "fill", "/mnt")
    lab.run(1, "dd", "if=/dev/zero", "of=/mnt/fill", "bs=1M", f"count={free - 24}")
    lab.run(1, "umount", "/mnt")
    expect(slow_counter(lab, "transfers") == before, "the engine ended a transfer while it hung")
    hang(lab, False)
    wait_for("the engine is done", lambda: slow_counter(lab, "transfers") > before, 120)
    expect(not slow_counter(lab, "errors"), "it met something else")
    bind(lab, where)
    device = device_of_node(lab, 1, SLOW)
    lab.run(1, "sh", "-c", f"dd if=/dev/{device} bs={LONGEST_SLICE} count=1 >/tmp/seen")
    lab.run(1, "cmp", "/tmp/pattern", "/tmp/seen")


def engine_does_not_stop(lab):
    """An engine that goes on without the bus keeps its memory, and the driver says so"""
    device = device_of_node(lab, 1, SLOW)
    leave_it_moving(lab, device, "dd", "if=/tmp/pattern", f"of=/dev/{device}",
                    f"bs={LONGEST_SLICE}")


def engine_does_not_stop_registered(lab):
    """The same with a buffer that io_uring keeps for the request, and no longer"""
    device = device_of_node(lab, 1, SLOW)
    leave_it_moving(lab, device, PROGRAMS + "write_fixed", f"/dev/{device}", "/tmp/pattern",
                    str(LONGEST_SLICE))


# Calls that meet in the driver need a second processor to do so.
TWO_CPUS = ["--qemu-arg", "-smp", "--qemu-arg", "2"]

# A card reaches memory through tables that the kernel makes; the processor works as without.
VIOMMU = ["--qemu-arg", "-device intel-iommu,intremap=off", "--append", "intel_iommu=on"]

EVENT_PROGRAMS = ("listen_test", "listen_types_test", "watch_test", "watch_slot_test",
                  "watch_storm_test", "watch_life_test", "watch_limits_test")

# Node ids beside the lab's own: two on a ring, one without the extension block and one with a
# narrow window, each a ring of its own.
NEAR, FAR, BASE, NARROW, SLOW, CLASSIC = 20, 21, 22, 23, 24, 25
CARDS = 4


# Another lab has the first two again, on its first machine, and no message interrupts.
NO_MESSAGES = ["--append", "pci=nomsi"]


def sharing_a_line(cards):
    """Slots whose numbers differ by four have the same interrupt line."""
    return [(*card, more + f",addr={0x10 + 4 * i:#x}") for i, (*card, more) in enumerate(cards)]


def on_first(words):
    return [word if word == "--qemu-arg" else "1:" + word for word in words]


def more_cards(folder):
    return extra_cards([*ring_of_two(folder, NEAR, FAR),
                        (BASE, f"path={folder}/base", f"path={folder}/base",
                         ",extension=off,firmware-bus-master=off,id=base"),
                        (NARROW, f"path={folder}/narrow", f"path={folder}/narrow",
                         ",memory-size=128M,window=16M,id=narrow")])


def with_classic(folder):
    """Its engine would take the descriptors of the driver, and show that it did."""
    return more_cards(folder) + extra_cards([(CLASSIC, f"path={folder}/classic", f"path={folder}/classic",
                                              ",extension=off,bridge-revision=0xaa,id=classic")])


def slow_card(folder):
    return extra_cards([(SLOW, f"path={folder}/slow", f"path={folder}/slow", f",{SLOW_CARD}")])


def programs(lab, *calls):
    """Run guest programs that print TAP. Returns how many failed."""
    return sum(bool(run_guest_program(lab, 1, PROGRAMS + name, *map(str, words), timeout=3000))
               for name, *words in calls)


def locked_down(lab, device):
    """A kernel that is locked down, which cannot be undone, gives nobody registers"""
    lab.run(1, "sh", "-c", "mount -t securityfs none /sys/kernel/security; "
            "echo integrity >/sys/kernel/security/lockdown")
    expect(not programs(lab, ("registers_test", "--locked", device)), "see above")


def on_each(names, *words):
    return [(name, *words) for name in names]


def devices(lab, *nodes):
    return ["/dev/" + device_of_node(lab, 1, node) for node in nodes]


def planned(tests, *args):
    """Run tests with a plan of their own."""
    plan(tests)
    return run(tests, *args)


# --- the parts; each boots a lab of its own, and returns how many of its programs or tests failed ---

@contextmanager
def lab_of(name, up, cards=more_cards, machines=1, cpus=TWO_CPUS):
    with tempfile.TemporaryDirectory() as folder, \
            Lab(name, machines, *up, *cpus, *cards(folder)) as lab:
        yield lab


def part_calls(up, _):
    """What a program can call: maps, reads and writes, subscriptions, fences, status"""
    with lab_of("calls", up) as lab:
        mine, near, far, base, narrow = devices(lab, 1, NEAR, FAR, BASE, NARROW)
        return programs(
            lab, *on_each(("mmap_test", "io_test", "ioctl_test", "compat_test"), mine),
            *on_each(("ioctl_test", "compat_test"), base),
            *on_each(("subscribe_test", "subscribe_maps_test", "fence_test", "status_test",
                      "verify_test", "remote_test"), near, far),
            ("librfm_test", near, far, narrow), ("librfm_later_test", near, far, narrow),
            ("librfm_events_test", near, far), *on_each(("grow_test",), near, far),
            ("config_test", near, far, narrow), ("rfm2g_test", near, far, narrow),
            ("registers_test", mine, narrow), ("registers_test", base)) + \
            planned([clean_kernels, locked_down], lab, mine)


def part_events(up, _):
    """Interrupts, watches, and what monitors are told"""
    with lab_of("events", up) as lab:
        near, far, base, narrow = devices(lab, NEAR, FAR, BASE, NARROW)
        # The last leaves a card that does not tell of events.
        return programs(
            lab, *on_each(EVENT_PROGRAMS, near, far),
            *on_each(("netlink_test", "netlink_holders_test", "netlink_monitor_test"),
                     near, far, base, narrow),
            ("ring_stop_test", near, far)) + planned([clean_kernels], lab)


def part_none(up, _):
    """The same on cards that receive only what somebody has subscribed to"""
    with lab_of("none", up) as lab:
        reload_with(lab, "base_policy=none")
        mine, near, far, narrow = devices(lab, 1, NEAR, FAR, NARROW)
        return programs(
            lab, *on_each(("watch_test", "watch_slot_test", "subscribe_test",
                           "subscribe_maps_test", "fence_test", "status_test", "verify_test",
                           "librfm_test", "librfm_events_test", "rfm2g_test", "remote_test"), near, far),
            ("config_test", near, far, narrow), ("mmap_test", mine)) + \
            planned([clean_kernels], lab)


def part_dma(up, _):
    """Long transfers, on all kinds of card"""
    with lab_of("dma", up, cards=with_classic) as lab:
        mine, near, far, base, narrow = devices(lab, 1, NEAR, FAR, BASE, NARROW)
        return programs(
            lab, ("dma_test", mine), ("dma_test", near, far), ("dma_pin_test", mine),
            *(("dma_async_test", device) for device in (mine, base, narrow)),
            ("dma_end_test", "-n", SHORT[2], mine), ("dma_stuck_test", mine),
            ("dma_load_test", near, far)) + planned([bridge_is_no_piorc, card_is_full, clean_kernels], lab)


def part_slices(up, _):
    """Long transfers, in the shortest and longest slices that there are"""
    failed = 0
    with lab_of("slices", up) as lab:
        for slice_bytes in 4096, LONGEST_SLICE:
            reload_with(lab, f"dma_slice={slice_bytes}")
            mine, base = devices(lab, 1, BASE)
            failed += programs(lab, ("dma_test", base), ("dma_async_test", mine))
        return failed + planned([clean_kernels], lab)


def part_gone(up, long):
    """Cards and buffers that are taken away under those who use them"""
    unbinds, unplugged, ends = LONG if long else SHORT
    seed = random.randrange(1, 2**32)
    print(f"# -s {seed}")
    with lab_of("gone", up) as lab:
        mine = devices(lab, 1)[0]
        failed = programs(lab, ("unbind_test", "-n", unbinds, "-s", seed, mine))
        if long:
            failed += programs(lab, ("dma_end_test", "-n", ends, "-s", seed, mine))
        failed += planned(
            [unplugs, is_opened_anew, operations_end, stops_answering, dark_and_pulled_out, is_reset, keeps_its_number,
             sleeps_and_wakes, unbound_while_stuck, reads_zeros, reload_module,
             base_card_has_no_policy, clean_kernels], lab, unplugged)
    with lab_of("off", [*up, "--qemu-arg", "-action shutdown=pause"]) as lab:
        return failed + planned([switched_off], lab)


def part_intx(up, _):
    """What depends on interrupts, without messages; and a neighbour that stands still"""
    with lab_of("intx", [*up, *NO_MESSAGES], machines=2, cpus=[],
                cards=lambda folder: on_first(extra_cards(sharing_a_line(
                    ring_of_two(folder, NEAR, FAR))))) as lab:
        near, far = devices(lab, NEAR, FAR)
        return programs(
            lab, ("dma_async_test", near), ("dma_load_test", near, far),
            *on_each((*EVENT_PROGRAMS[:5], "fence_test", "remote_test"), near, far)) + \
            planned([interrupts_are_intx, lost_and_masked, frozen_neighbour, clean_kernels], lab)


def part_crowd(up, _):
    """As many listeners as there may be, on cards with the extension and without"""
    failed = 0
    for extension in "on", "off":
        with Lab("crowd", 2, *up, "--device-arg", f"extension={extension}") as lab:
            failed += planned([others_run, clean_kernels], lab)
    return failed


def part_irqsoff(up, _):
    """How long interrupts are off while few or many listeners are told; on the debug kernel"""
    failed = 0
    for extension in "on", "off":
        with Lab("irqsoff", 2, *up, *COUNTED, "--device-arg", f"extension={extension}") as lab:
            failed += planned([few_are_told, crowd_is_told], lab)
    return failed


def part_iommu(up, _):
    """Long transfers behind an IOMMU"""
    with Lab("iommu", 1, *up, *VIOMMU) as lab:
        lab.run(1, "test", "-e", f"/sys/class/rfm/{card(lab)}/device/iommu_group")
        return programs(lab, ("dma_test", *devices(lab, 1)))


def part_endless(up, _):
    """A DMA engine that does not end, or does not stop"""
    with lab_of("endless", up, cards=slow_card, cpus=[]) as lab:
        reload_with(lab, "dma_slice=4096", cards=2)
        failed = planned([engine_hangs], lab)
        reload_with(lab, f"dma_slice={LONGEST_SLICE}", cards=2)
        return failed + planned([engine_does_not_stop, engine_does_not_stop_registered], lab)


def part_still(up, _):
    """A machine that stands still under a transfer"""
    with lab_of("still", up, cards=slow_card, cpus=[]) as lab:
        reload_with(lab, "dma_slice=4096", cards=2)
        return planned([engine_stands_still, short_writes_do_not_interrupt, short_write_waits], lab)


def part_load(up, _):
    """Requests, stores and interrupts for a minute, on one processor and on four"""
    failed = 0
    for cpus in 1, 4:
        with lab_of(f"load{cpus}", up, cpus=["--qemu-arg", f"-smp {cpus}"],
                    cards=lambda folder: extra_cards(ring_of_two(folder, NEAR, FAR))) as lab:
            failed += programs(lab, ("dma_load_test", "-t", LOAD_SECONDS,
                                     *devices(lab, NEAR, FAR)))
    return failed


PARTS = {name[len("part_"):]: part for name, part in list(globals().items())
         if name.startswith("part_")}
ONLY_LONG = {"load"}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:10} {part.__doc__}" for name, part in PARTS.items()))
    parser.add_argument("--long", action="store_true",
                        help="what is taken away is so 200 times instead of 14")
    parser.add_argument("--kernel", help="of the guest")
    parser.add_argument("--memory", help="of the guest, such as 1G")
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help="which; without, all but " + ", ".join(sorted(ONLY_LONG)))
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    up = ["--kernel", args.kernel] if args.kernel else []
    up += ["--qemu-arg", f"-m {args.memory}"] if args.memory else []
    parts = args.parts or [name for name in PARTS if name not in ONLY_LONG]
    return bool(sum(PARTS[name](up, args.long) for name in parts))


if __name__ == "__main__":
    sys.exit(main())
