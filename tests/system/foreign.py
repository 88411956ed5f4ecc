#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A driver that is none of ours, tests/guest/foreign, on our card, and rfm.ko before and after it."""

import argparse
import sys
import tempfile
from contextlib import contextmanager

from suite import (PROGRAMS, clean_kernels, expect, extra_cards, figure, plan, run, wait_for)
from labkit import Lab

CYCLES = 100
# The lab's own card is on a ring with machine 2, whose driver is rfm.ko; three more on one of
# their own. Slots whose numbers differ by four have the same interrupt line.
MINE, PEER = 1, 2
SIZES = {10: "64M", 11: "128M", 12: "256M"}
MORE = {10: "extension=off", 11: "firmware-bus-master=on", 12: "extension=off"}
PROGRAM = PROGRAMS + "foreign_test"
HABITS = ("ge", "xpc", "kstar", "sol", "cern")
NO_BUS_MASTER, BUS_MASTER = 3, 7
# A network card that interrupts by INTx on the same line; what answers there is QEMU itself.
NIC = ("-netdev user,id=other,restrict=on,net=10.9.0.0/24,host=10.9.0.2"
       " -device virtio-net-pci,netdev=other,vectors=0,romfile=,addr=0xc")
NIC_AT = "/sys/bus/pci/devices/0000:00:0c.0"
# The answer is not seen before its interrupt: one that is lost ends this.
PINGS = "until [ -e /tmp/enough ]; do ping -c 1 -W 60 10.9.0.2 >/dev/null || exit 1; echo; done"
ROUNDS = 20


def three_cards(folder):
    nodes = list(SIZES)
    ring = zip(nodes, nodes[1:] + nodes[:1])
    return extra_cards([(node, f"path={folder}/{node}", f"path={folder}/{to}",
                         f",id=card{node},memory-size={SIZES[node]},{MORE[node]},"
                         "stall-limit-ms=10000,"        # nothing may be lost
                         f"addr={0x10 + 4 * nodes.index(node):#x}") for node, to in ring])


class Cards:
    """Where the cards of machine 1 are, while rfm.ko has them all."""

    def __init__(self, lab):
        self.lab = lab
        devices = {card["node"]: card["device"] for card in lab.rmctl_json(1, "list")}
        self.devices = devices
        self.where = {node: lab.rmctl_json(1, "show", device)["pci"]
                      for node, device in devices.items()}

    def bind(self, verb, nodes):
        for node in nodes:
            self.lab.run(1, "sh", "-c", f"echo {self.where[node]} >/sys/bus/pci/drivers/rfm/{verb}")

    @contextmanager
    def foreign(self, nodes, habit="ge"):
        """The other driver has these cards; then rfm.ko again."""
        self.bind("unbind", nodes)
        self.lab.run(1, "insmod", PROGRAMS + "foreign.ko", f"habit={habit}")
        try:
            yield
        finally:
            # A program that was killed lets go of its file a moment later.
            wait_for("nobody uses the driver any more", lambda: self.lab.out(
                1, "cat", "/sys/module/foreign/refcnt") == "0")
            self.lab.run(1, "rmmod", "foreign")
            self.bind("bind", nodes)
        for node in nodes:
            self.lab.test_ring(1, self.devices[node])

    def command(self, node, value):
        """Write the lower byte of the command register in configuration space."""
        self.lab.run(1, "sh", "-c", f"printf '\\00{value}' |"
                     f" dd of=/sys/bus/pci/devices/{self.where[node]}/config bs=1 seek=4 conv=notrunc")

    def registers(self, node, asked):
        """Registers by (BAR, offset), whoever has the card; reading them must do nothing."""
        lines = self.lab.out(1, "cat", f"/sys/bus/pci/devices/{self.where[node]}/resource")
        bars = [int(line.split()[0], 0) for line in lines.splitlines()]
        asked = list(asked)
        at = " ".join(hex(bars[bar] + offset) for bar, offset in asked)
        words = self.lab.out(1, "sh", "-c", f"for at in {at}; do devmem $at 32; done").split()
        return dict(zip(asked, (int(word, 0) for word in words), strict=True))


def program(lab, *words):
    done = lab.run(1, PROGRAM, *words, check=False, timeout=300)
    expect(not done.returncode, f"{' '.join(words)}: {done.stdout}{done.stderr}")


def files(*nodes):
    return [f"/dev/foreign{node}" for node in nodes]


def vendors_habits(lab, cards):
    """Cards of 64, 128 and 256 MiB do all that the vendor's driver asks of them"""
    with cards.foreign(SIZES):
        for pair in (10, 11), (11, 12), (12, 10):
            program(lab, *files(*pair))


def habits_of_others(lab, cards):
    """So they do for the interrupt handlers of other drivers in the field"""
    for habit in HABITS[1:]:
        with cards.foreign(SIZES, habit):
            program(lab, "-h", habit, *files(11, 12))


def shared_line(lab, cards):
    """On a line that is shared with a card of rfm.ko both drivers get their interrupts"""
    device = cards.devices[12]
    with cards.foreign((10, 11)):
        line = next(line for line in lab.out(1, "cat", "/proc/interrupts").splitlines()
                    if "foreign" in line)
        expect(line.count("foreign") == 2 and device in line, f"who shares a line: {line}")
        served = lab.rmctl_json(1, "show", device)["interrupts"]
        busy = lab.start(1, "sh", "-c", "until [ -e /tmp/stop ]; do "
                         f"dd if=/dev/{device} of=/dev/null bs=1M count=1 || exit 1; done")
        wait_for("both are busy", lambda: lab.rmctl_json(1, "show", device)["interrupts"] > served)
        program(lab, *files(10, 11))
        lab.run(1, "touch", "/tmp/stop")
        busy.finish()
        expect(lab.rmctl_json(1, "show", device)["interrupts"] > served, "rfm.ko got none")


def who_shares(lab, names):
    """The one line of /proc/interrupts that all of these are on"""
    line = next(line for line in lab.out(1, "cat", "/proc/interrupts").splitlines() if names[0] in line)
    sharers = line.replace(",", " ").split()
    for name in names:
        expect(sharers.count(name) == names.count(name), f"{name} is not on the line of the others: {line}")


@contextmanager
def network_in_use(lab):
    """The network card interrupts all the time, and none of it is lost"""
    lab.run(1, "sh", "-c", f"rm -f /tmp/enough; ifconfig $(ls {NIC_AT}/virtio*/net) 10.9.0.15")
    pings = lab.start(1, "sh", "-c", PINGS)
    pings.line()
    try:
        yield
    finally:
        lab.run(1, "touch", "/tmp/enough")
        answered = pings.finish().splitlines()
    expect(answered, "the network was not in use meanwhile")


def shared_with_another(lab, cards):
    """On a line shared with a network card nobody's interrupts are lost, whichever driver ours has"""
    nic = lab.out(1, "sh", "-c", f"basename {NIC_AT}/virtio*")
    with cards.foreign((10, 11)):
        who_shares(lab, [nic, "foreign", "foreign"])
        with network_in_use(lab):
            program(lab, *files(10, 11))
    near, far = cards.devices[10], cards.devices[12]
    who_shares(lab, [nic, near, far])
    served = lab.rmctl_json(1, "show", near)["interrupts"]
    with network_in_use(lab):
        listener = lab.start(1, "rmctl", "listen", far, "int1", "--discard", "-n", str(ROUNDS))
        listener.listening()
        lab.run(1, "sh", "-c", f"for i in $(seq {ROUNDS}); do rmctl send {near} 12 1 $i &&"
                f" dd if=/dev/{near} of=/dev/null bs=1M count=1 || exit 1; done", timeout=600)
        heard = [int(line.split()[-1], 0) for line in listener.finish().splitlines()]
    expect(heard == list(range(1, ROUNDS + 1)), f"{far} has heard {heard}")
    served = lab.rmctl_json(1, "show", near)["interrupts"] - served
    expect(served >= ROUNDS, f"{ROUNDS} transfers of {near} have ended, with {served} interrupts")


def together(lab, cards):
    """A node with the other driver and one with rfm.ko send interrupts to each other"""
    with cards.foreign((MINE,)):
        listener = lab.start(PEER, "rmctl", "listen", "rfm0", "int2", "-n", "1")
        listener.listening()
        program(lab, "-s", str(PEER), "0x5565", *files(MINE))
        heard = listener.finish()
        expect("0x00005565" in heard, f"rfm.ko heard {heard}")
        waiter = lab.start(1, PROGRAM, "-e", str(PEER), "0x1556", *files(MINE))
        expect(waiter.line() == "ready", "it does not wait")
        lab.run(PEER, "rmctl", "send", "rfm0", str(MINE), "2", "0x1556")
        waiter.finish()


def held(lab, cards):
    """Has the engine of the lab's card begun what it was told, and not ended it?"""
    return cards.registers(MINE, [(0, 0xa8)])[0, 0xa8] & 0xff == 0x01


def waits_for_the_bus(lab, cards):
    """A transfer of a card that nobody made a bus master waits until somebody does; QEMU says so"""
    with cards.foreign((MINE,)):
        cards.command(MINE, NO_BUS_MASTER)
        transfer = lab.start(1, PROGRAM, "-t", *files(MINE))
        expect(transfer.line() == "started", "it does not begin")
        wait_for("QEMU says what is wrong", lambda: "needs firmware-bus-master=on" in
                 lab.verb("log", 1, "--qemu").stdout)
        expect(held(lab, cards), "the transfer has ended, or has not begun")
        expect(not lab.peek(PEER, 0x8000), "something was moved")
        cards.command(MINE, BUS_MASTER)
        transfer.finish()
        wait_for("the other node has it", lambda: lab.peek(PEER, 0x8000))
        cards.command(MINE, NO_BUS_MASTER)


def stuck_for_ever(lab, cards):
    """rfm.ko takes a card on whose engine waits for a driver that has gone: nothing is moved"""
    lab.poke(PEER, 0x8000, 0)
    with cards.foreign((MINE,)):
        cards.command(MINE, NO_BUS_MASTER)
        transfer = lab.start(1, PROGRAM, "-t", *files(MINE))
        expect(transfer.line() == "started", "it does not begin")
        wait_for("it waits", lambda: held(lab, cards))
        lab.run(1, "killall", "-9", "foreign_test")
        transfer.finish(check=False)
        expect(held(lab, cards), "the transfer has ended")
    device = cards.devices[MINE]
    expect(not lab.peek(PEER, 0x8000), "what the other driver had begun was moved")
    lab.run(1, "sh", "-c", f"head -c 1048576 /dev/urandom >/tmp/a; dd if=/tmp/a of=/dev/{device} bs=1M;"
            f" dd if=/dev/{device} of=/tmp/b bs=1M count=1; cmp /tmp/a /tmp/b")


# What docs/card.md and docs/extension.md say of a card after a reset: BAR, offset, value, mask.
ALL = 0xffffffff
AFTER_RESET = [
    (0, 0x0c, 0, ALL), (0, 0x68, 0x0f010100, ALL), (0, 0x80, 0x00020583, ALL), (0, 0x84, 0, ALL),
    (0, 0x88, 0, ALL), (0, 0x8c, 0, ALL), (0, 0x90, 1, ALL), (0, 0xa8, 0x10, ALL), (0, 0xb4, 0, ALL),
    (0, 0xf4, 1, ALL),
    (2, 0x08, 0x80000000, 0xf8030000), (2, 0x10, 0, 0xc000), (2, 0x14, 0, ALL), (2, 0x18, 0, ALL),
    (2, 0x1c, 0, 0xff),
    *((4, offset, 0, ALL) for offset in (0x0c, 0x20, 0x24, 0x28, 0x2c, 0x40, 0x44, 0x48, 0x4c, 0x50,
                                        0x54, 0x5c, 0x80, 0x84, 0x98, 0x9c, 0xa0, 0xa4, 0xd0,
                                        *range(0x100, 0x124, 4), 0x160, 0x164)),
    (4, 0x90, ALL, ALL), (4, 0x94, ALL, ALL),
]


def left_as_after_reset(lab, cards):
    """rfm.ko leaves a card that was used in every way as it is after a reset"""
    device = cards.devices[11]
    lab.run(1, "rmctl", "set", device, "byte-swap=on", "moderation-count=7", "moderation-time=77us")
    lab.run(1, "sh", "-c", f"dd if=/dev/zero of=/dev/{device} bs=1M count=4;"
            f" rmctl send {device} 10,12 1 0x77; rmctl send {device} 10 2 0x78;"
            f" rmctl fence {device} -t 60 && rmctl verify {device} 0x1000+64 -t 60")
    users = [lab.start(1, "rmctl", "listen", device, "int1"),
             lab.start(1, "rmctl", "watch", device, "0x40+4", "--equal=1")]
    users[0].listening()
    expect(users[1].process.stderr.readline().startswith("watching"), "it does not watch")
    cards.bind("unbind", (11,))
    for user in users:
        user.finish(check=False)
    seen = cards.registers(11, ((bar, offset) for bar, offset, *_ in AFTER_RESET))
    cards.bind("bind", (11,))
    wrong = [f"BAR{bar} {offset:#x} is {seen[bar, offset]:#x}, not {right:#x}"
             for bar, offset, right, mask in AFTER_RESET if seen[bar, offset] & mask != right]
    expect(not wrong, "; ".join(wrong))


# Bound and unbound, loaded and unloaded, every tenth time both drivers; each one does its work
# in between.
CYCLE = """cd /sys/bus/pci/drivers/rfm || exit 1
for i in $(seq {cycles}); do
	if [ $((i % 10)) = 0 ]; then rmmod rfm || exit 1
	else for card in {where}; do echo $card >unbind || exit 1; done; fi
	insmod {programs}foreign.ko || exit 1
	set -- {files}; shift $((i % 3))
	{program} $1 $2 >/tmp/said 2>&1 || {{ cat /tmp/said; exit 1; }}
	rmmod foreign || exit 1
	if [ $((i % 10)) = 0 ]; then insmod /lib/modules/$(uname -r)/rfm.ko && cd /sys/bus/pci/drivers/rfm || exit 1
	else for card in {where}; do echo $card >bind || exit 1; done; fi
	for card in {devices}; do
		rmctl test $card -t 10 && dd if=/dev/zero of=/dev/$card bs=64K count=1 2>/dev/null || exit 1
	done
done"""


def cycles(lab, cards, count):
    done = lab.run(1, "sh", "-c", CYCLE.format(
        cycles=count, programs=PROGRAMS, program=PROGRAM, files=" ".join(files(10, 11, 12, 10)),
        where=" ".join(cards.where[node] for node in SIZES),
        devices=" ".join(cards.devices[node] for node in SIZES)), check=False, timeout=3000)
    expect(not done.returncode, done.stdout[-2000:] + done.stderr[-2000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cycles", nargs="?", type=int, default=CYCLES, help="of loading and unloading")
    args = parser.parse_args()

    def alternating(lab, cards):
        """The drivers take turns, a hundred times"""
        cycles(lab, cards, args.cycles)
        figure(f"{args.cycles} times in turn")

    tests = [vendors_habits, habits_of_others, shared_line, shared_with_another, together, left_as_after_reset,
             waits_for_the_bus, stuck_for_ever, alternating, clean_kernels]
    plan(tests)
    with tempfile.TemporaryDirectory() as folder, \
            Lab("foreign", 2, *("1:" + word if word != "--qemu-arg" else word
                                for word in [*three_cards(folder), "--qemu-arg", NIC])) as lab:
        cards = Cards(lab)
        for node in SIZES:
            lab.test_ring(1, cards.devices[node])
        return bool(run(tests, lab, cards))


if __name__ == "__main__":
    sys.exit(main())
