#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver's tests inside a guest, and the card taken away from outside."""

import argparse
import random
import signal
import sys
import tempfile
import time

from suite import (PROGRAMS, Skipped, clean_kernels, device_of_node, expect, extra_cards, plan,
                   ring_of_two, run, run_guest_program, unload_driver, wait_for)
from labkit import Lab

# Rounds of unbind_test, of which one in four removes the card and the others unbind the driver;
# unplugs from outside; buffers that go. The card goes 20 or 200 times in each way, or more.
SHORT, LONG = (28, 14, 20), (268, 134, 200)
LOAD_SECONDS = 60


def card(lab):
    """The card that rmlab gave the machine; the others are its neighbours' on a ring of two."""
    return device_of_node(lab, 1, 1)


def plug_in(lab):
    lab.qmp(1, "device_add", driver="rfm5565", id="rfm0", bus="rp0", rx="rfmrx", tx="rfmtx",
            iothread="ring0", **{"node-id": 1})
    wait_for("the card is back", lambda: any(
        c["node"] == 1 and c["signal"] for c in lab.rmctl_json(1, "list")), 30)
    lab.run(1, "rmctl", "test", card(lab))


def users_of(lab, path):
    """Programs that map the card, poll it and store to it, until it goes; they have begun."""
    users = lab.start(1, PROGRAMS + "unbind_test", "-x", path)
    while "running" not in users.line():
        pass
    return users


def one_unplug(lab):
    device = f"/dev/{card(lab)}"
    users = users_of(lab, device)
    time.sleep(random.uniform(0, 0.5))  # a random moment is the point
    lab.qmp(1, "device_del", id="rfm0")
    users.finish(timeout=60)
    wait_for("the card is out",
             lambda: lab.run(1, "test", "-e", device, check=False).returncode == 1, 30)
    wait_for("QEMU has let go of it", lambda: "rfm0" not in
             [d["name"] for d in lab.qmp(1, "qom-list", path="/machine/peripheral")], 30)
    plug_in(lab)


def unplugs(lab, count):
    """The card is unplugged while it is mapped, polled and stored to: ENODEV, SIGBUS, no hang"""
    for _ in range(count):
        one_unplug(lab)


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
        expect(done.returncode == 1 and done.stderr.strip(), f"{verb}: {done}")
        expect(time.monotonic() - start < 20, f"{verb} took too long")
    monitor.finish(timeout=60)
    bind(lab, where, "unbind")
    users.finish(timeout=60)
    lab.qmp(1, "qom-set", path="/machine/peripheral/rfm0", property="dead", value=False)
    bind(lab, where)
    wait_for("the ring is closed", lambda: lab.run(1, "rmctl", "test", card(lab), check=False)
             .returncode == 0)


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


def unbound_while_stuck(lab, _):
    """The card is unbound while requests wait for memory that never comes; nobody else waits"""
    device = card(lab)
    where = pci_of(lab, device)
    stuck = lab.start(1, PROGRAMS + "dma_stuck_test", "-w", f"/dev/{device}")
    while stuck.line() != "stuck":
        pass
    swap = lab.run(1, "rmctl", "set", device, "byte-swap=on", check=False)
    expect(swap.returncode == 1 and swap.stderr == f"rmctl: {device}: set: the order of bytes is "
           "not changed under a long transfer\n", f"byte-swap under a request: {swap}")
    start = time.monotonic()
    bind(lab, where, "unbind")
    expect(time.monotonic() - start < 20, "the unbinding took too long")
    bind(lab, where)
    lab.run(1, "dd", "if=/dev/zero", f"of=/dev/{card(lab)}", "bs=1M", "count=4")
    lab.run(1, "killall", "-9", "dma_stuck_test")
    stuck.finish(timeout=60, check=False)
    wait_for("the ring is closed", lambda: lab.run(1, "rmctl", "test", card(lab), check=False)
             .returncode == 0)


def reads_zeros(lab, _):
    """A card that answers zeros, as one pulled out does on some hosts, ends transfers: ENODEV"""
    device = card(lab)
    where = pci_of(lab, device)
    config = f"/sys/bus/pci/devices/{where}/config"
    # A bus master whose memory is not decoded: the transfer never begins, nothing interrupts.
    lab.run(1, "sh", "-c", f"printf '\\004' | dd of={config} bs=1 seek=4 conv=notrunc")
    zeros = lab.out(1, "sh", "-c", f"dd if=/dev/{device} bs=8 count=1 2>/dev/null | od -An -tx8")
    expect(zeros.strip("0 ") == "", f"the card answers {zeros}")
    start = time.monotonic()
    done = lab.run(1, "dd", f"if=/dev/{device}", "of=/dev/null", "bs=1048576", "count=1",
                   check=False)
    expect(done.returncode and "No such device" in done.stderr, f"a read: {done}")
    expect(time.monotonic() - start < 20, "a read took too long")
    bind(lab, where, "unbind")
    bind(lab, where)
    wait_for("the ring is closed", lambda: lab.run(1, "rmctl", "test", card(lab), check=False)
             .returncode == 0)


def is_reset(lab, _):
    """A card that is reset is gone for those who use it; binding it anew mends it"""
    device = card(lab)
    where = pci_of(lab, device)
    users = users_of(lab, f"/dev/{device}")
    lab.run(1, "sh", "-c", f"echo 1 >/sys/bus/pci/devices/{where}/reset")
    users.finish(timeout=60)
    expect("the card is reset: it has to be bound anew" in lab.verb("log", 1).stdout,
           "the kernel log does not say so")
    expect(lab.run(1, "dd", f"if=/dev/{device}", "bs=256K", "count=1", "of=/dev/null",
                   check=False).returncode, "a transfer from a card without settings")
    bind(lab, where, "unbind")
    bind(lab, where)
    wait_for("the ring is closed", lambda: lab.run(1, "rmctl", "test", card(lab), check=False)
             .returncode == 0)


def does_not_sleep(lab, _):
    """A member of the ring does not let the machine sleep"""
    if lab.run(1, "test", "-e", "/sys/power/state", check=False).returncode:
        raise Skipped("this kernel cannot sleep")
    expect(lab.run(1, "sh", "-c", "echo freeze >/sys/power/state", check=False).returncode,
           "it slept")
    expect("a member of the ring does not sleep" in lab.verb("log", 1).stdout, "without a reason")
    lab.run(1, "rmctl", "test", card(lab))


def insert(lab, *parameters, check=True):
    return lab.run(1, "sh", "-c", "insmod /lib/modules/$(uname -r)/rfm.ko " + " ".join(parameters),
                   check=check)


def reload_with(lab, *parameters, cards=None):
    unload_driver(lab)
    insert(lab, *parameters)
    wait_for("all cards are back",
             lambda: len(lab.rmctl_json(1, "list")) == (cards or 1 + CARDS))


def reload_module(lab, _):
    """The module can be unloaded and loaded again; a base policy that is none is refused"""
    unload_driver(lab)
    for policy in "some", "", "ALL", "0":
        expect(insert(lab, f"base_policy={policy}", check=False).returncode, f"took '{policy}'")
    insert(lab)
    wait_for("all cards are back", lambda: len(lab.rmctl_json(1, "list")) == 1 + CARDS)
    expect(lab.out(1, "cat", "/sys/module/rfm/parameters/base_policy").strip() == "all", "not all")
    lab.run(1, "rmctl", "test", card(lab))


def base_card_has_no_policy(lab, _):
    """With base_policy=none a card without the extension block still receives everything"""
    reload_with(lab, "base_policy=none")
    policies = {c["node"]: lab.rmctl_json(1, "show", c["device"])["base_policy"]
                for c in lab.rmctl_json(1, "list")}
    expect(policies.pop(BASE) == "all" and set(policies.values()) == {"none"}, str(policies))
    expect("base_policy=none has no effect" in lab.verb("log", 1).stdout, "nothing was said")
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
    wait_for("the ring is closed",
             lambda: lab.run(1, "rmctl", "test", card(lab), check=False).returncode == 0, 30)
    # What was lost while it stood still is told once.
    lab.run(1, "rmctl", "fence", card(lab), check=False)
    lab.run(1, "rmctl", "fence", card(lab))


def interrupts_are_intx(lab):
    """Without messages a card with an event ring interrupts by its pin"""
    lines = [line.split() for line in lab.out(1, "cat", "/proc/interrupts").splitlines()]
    cards = [words for words in lines if any(word.startswith("rfm") for word in words)]
    expect(cards and all("IO-APIC" in words for words in cards), f"{cards}")
    near = lab.rmctl_json(1, "show", device_of_node(lab, 1, NEAR))
    expect(near["interrupts"], "the programs made no interrupts")


# What the engine moves in one go, at most; on a slow fibre that takes it some seconds.
LONGEST_SLICE = 8388600
SLOW_CARD = "id=slow,line=paced,,rate=0.01,dma-without-bus-master=on"
FREE_MIB = "awk '/MemFree/ {print int($2 / 1024)}' /proc/meminfo"


def slow_counter(lab, name):
    return lab.qmp(1, "qom-get", path="/machine/peripheral/slow", property=f"dma-{name}")


def leave_it_moving(lab, device, *writer):
    """Unbind the card under a writer: its engine finds all as it was, and then it is free."""
    where = pci_of(lab, device)
    before = slow_counter(lab, "transfers")
    lab.run(1, "sh", "-c", f"head -c {LONGEST_SLICE} /dev/urandom >/tmp/pattern")
    writer = lab.start(1, *writer)
    wait_for("the engine is busy",
             lambda: lab.out(1, "cat", f"/sys/class/rfm/{device}/dma/slices") == "1")
    bind(lab, where, "unbind")
    writer.finish(check=False)
    expect(writer.process.returncode, "the write did not fail")
    expect(slow_counter(lab, "transfers") == before, "the engine was quicker than that")
    expect("the DMA engine does not stop: its descriptors and 20" in lab.verb("log", 1).stdout,
           "the kernel log does not say so")
    expect(bind(lab, where, check=False).returncode, "the card is used while its engine moves")

    # Whatever was freed has other contents now.
    free = int(lab.out(1, "sh", "-c", FREE_MIB))
    lab.run(1, "dd", "if=/dev/zero", "of=/tmp/fill", "bs=1M", f"count={free - 24}")
    lab.run(1, "rm", "/tmp/fill")
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

# Node ids beside the lab's own: two on a ring, one without the extension block and one with a
# narrow window, each a ring of its own.
NEAR, FAR, BASE, NARROW, SLOW = 20, 21, 22, 23, 24
CARDS = 4


# Another lab has the first two again, on its first machine, and no message interrupts.
NO_MESSAGES = ["--append", "pci=nomsi"]


def on_first(words):
    return [word if word == "--qemu-arg" else "1:" + word for word in words]


def more_cards(folder):
    return extra_cards([*ring_of_two(folder, NEAR, FAR),
                        (BASE, f"path={folder}/base", f"path={folder}/base",
                         ",extension=off,id=base"),
                        (NARROW, f"path={folder}/narrow", f"path={folder}/narrow",
                         ",memory-size=128M,window=16M")])


def slow_card(folder):
    return extra_cards([(SLOW, f"path={folder}/slow", f"path={folder}/slow", f",{SLOW_CARD}")])


def guest_programs(program, lab):
    """Runs all but the unbinds, with both base policies. Returns how many failed."""
    def devices(*nodes):
        return ["/dev/" + device_of_node(lab, 1, node) for node in nodes]

    failed = sum(program(name, *devices(1)) for name in ("mmap_test", "io_test"))
    failed += sum(program(name, *devices(node))
                  for name in ("ioctl_test", "compat_test") for node in (1, BASE))
    failed += sum(program(name, *devices(NEAR, FAR)) for name in (
        "listen_test", "listen_types_test", "watch_test", "watch_slot_test", "watch_storm_test",
        "watch_life_test", "watch_limits_test", "subscribe_test", "subscribe_maps_test",
        "fence_test", "status_test", "verify_test", "librfm_test"))
    failed += program("switches_test", *devices(NEAR, FAR, NARROW))
    failed += sum(program(name, *devices(NEAR, FAR, BASE, NARROW))
                  for name in ("netlink_test", "netlink_holders_test", "netlink_monitor_test"))
    failed += dma_programs(program, lab)
    # The last, for it leaves a card that does not tell of events until the driver is loaded anew.
    failed += program("ring_stop_test", *devices(NEAR, FAR))
    reload_with(lab, "base_policy=none")
    failed += sum(program(name, *devices(NEAR, FAR)) for name in (
        "watch_test", "watch_slot_test", "subscribe_test", "subscribe_maps_test", "fence_test",
        "status_test", "verify_test", "librfm_test"))
    failed += program("switches_test", *devices(NEAR, FAR, NARROW))
    failed += program("mmap_test", *devices(1))
    reload_with(lab)
    return failed


def dma_programs(program, lab):
    """Long transfers: on all cards, and with the shortest and longest slices there are."""
    def devices(*nodes):
        return ["/dev/" + device_of_node(lab, 1, node) for node in nodes]

    failed = program("dma_test", *devices(1)) + program("dma_test", *devices(NEAR, FAR))
    failed += program("dma_pin_test", *devices(1))
    failed += sum(program("dma_async_test", *devices(node)) for node in (1, BASE, NARROW))
    failed += program("dma_end_test", "-n", str(SHORT[2]), *devices(1))
    failed += program("dma_stuck_test", *devices(1))
    failed += program("dma_load_test", *devices(NEAR, FAR))
    for slice_bytes in 4096, 8388600:
        reload_with(lab, f"dma_slice={slice_bytes}")
        failed += program("dma_test", *devices(BASE)) + program("dma_async_test", *devices(1))
    reload_with(lab)
    return failed


def intx_programs(program, lab):
    """Runs what depends on interrupts. Returns how many failed."""
    devices = ["/dev/" + device_of_node(lab, 1, node) for node in (NEAR, FAR)]
    failed = program("dma_async_test", devices[0]) + program("dma_load_test", *devices)
    return failed + sum(program(name, *devices) for name in (
        "listen_test", "listen_types_test", "watch_test", "watch_slot_test", "watch_storm_test",
        "fence_test"))


# A card reaches memory through tables that the kernel makes; the processor works as without.
VIOMMU = ["--qemu-arg", "-device intel-iommu,intremap=off", "--append", "intel_iommu=on"]


def iommu_programs(program, lab):
    """Long transfers behind an IOMMU. Returns how many failed."""
    lab.run(1, "test", "-e", f"/sys/class/rfm/{card(lab)}/device/iommu_group")
    return program("dma_test", f"/dev/{card(lab)}")


def long_load(up, cpus):
    """Requests, stores and interrupts for a minute. Returns whether it failed."""
    with tempfile.TemporaryDirectory() as folder, \
            Lab(f"load{cpus}", 1, *up, "--qemu-arg", f"-smp {cpus}",
                *extra_cards(ring_of_two(folder, NEAR, FAR))) as lab:
        return bool(run_guest_program(
            lab, 1, PROGRAMS + "dma_load_test", "-t", str(LOAD_SECONDS),
            *("/dev/" + device_of_node(lab, 1, node) for node in (NEAR, FAR)), timeout=1000))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true",
                        help="only what takes the card or a buffer away, 200 times instead of 20")
    parser.add_argument("--kernel", help="of the guest")
    parser.add_argument("--memory", help="of the guest, such as 1G")
    args = parser.parse_args()
    unbinds, unplugged, ends = LONG if args.long else SHORT
    up = ["--kernel", args.kernel] if args.kernel else []
    up += ["--qemu-arg", f"-m {args.memory}"] if args.memory else []

    tests = [unplugs, stops_answering, dark_and_pulled_out, is_reset, does_not_sleep,
             unbound_while_stuck, reads_zeros, reload_module, base_card_has_no_policy,
             clean_kernels]
    frozen = [interrupts_are_intx, frozen_neighbour, clean_kernels]
    endless = [engine_does_not_stop, engine_does_not_stop_registered]
    plan(tests if args.long else tests + frozen + endless)

    def program(name, *words):
        return bool(run_guest_program(lab, 1, PROGRAMS + name, *words, timeout=3000))

    with tempfile.TemporaryDirectory() as folder, \
            Lab("driver", 1, *up, *TWO_CPUS, *more_cards(folder)) as lab:
        failed = 0 if args.long else guest_programs(program, lab)
        mine = f"/dev/{card(lab)}"
        seed = str(random.randrange(1, 2**32))
        print(f"# unbind_test -s {seed}")
        failed += program("unbind_test", "-n", str(unbinds), "-s", seed, mine)
        if args.long:
            print(f"# dma_end_test -s {seed}")
            failed += program("dma_end_test", "-n", str(ends), "-s", seed, mine)
        failed += run(tests, lab, unplugged)
    for cpus in (1, 4) if args.long else ():
        failed += long_load(up, cpus)
    if not args.long:
        with tempfile.TemporaryDirectory() as folder, \
                Lab("intx", 2, *up, *NO_MESSAGES,
                    *on_first(extra_cards(ring_of_two(folder, NEAR, FAR)))) as lab:
            failed += intx_programs(program, lab)
            failed += run(frozen, lab, first=len(tests) + 1)
        with Lab("iommu", 1, *up, *VIOMMU) as lab:
            failed += iommu_programs(program, lab)
        with tempfile.TemporaryDirectory() as folder, \
                Lab("endless", 1, *up, *slow_card(folder)) as lab:
            reload_with(lab, f"dma_slice={LONGEST_SLICE}", cards=2)
            failed += run(endless, lab, first=len(tests + frozen) + 1)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
