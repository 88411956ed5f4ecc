#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three machines share a memory. `--long`: a million rounds of causality."""

import json
import os
import signal
import sys

from suite import PROGRAMS, clean_kernels, expect, plan, run, wait_for
from labkit import Lab

STORES = 1_000_000
ROUNDS = 10_000
LONG_ROUNDS = 1_000_000
AREA_1, AREA_2, AREA_SIZE = 0x100000, 0x200000, 0x40000
ORDER_AT = 0x300000
STALL_LIMIT_US = 500_000        # of the card, by default
SLACK_US = 1_500_000            # until a CPU that gives up has the big lock, on a busy host
# Their stores wait for a machine that is held up: none is lost.
PATIENT = [word for node in (2, 3) for word in ("--device-arg", f"{node}:stall-limit-ms=10000")]
TWO_CPUS = ["--qemu-arg", "-smp", "--qemu-arg", "2"]
HEAR_ONE = ["rmctl", "-j", "listen", "rfm0", "-n", "1", "-t", "60"]


def identity(lab):
    """Each machine has one card, with its number as node id"""
    for node in lab.nodes:
        cards = lab.rmctl_json(node, "list")
        expect(len(cards) == 1 and cards[0]["node"] == node, f"node {node}: {cards}")
        expect(f"0x{node:02x} ({node})" in lab.out(node, "rmctl", "list"), "id not printed in both bases")


def ring_test(lab):
    """The ring test passes on every node"""
    for node in lab.nodes:
        lab.test_ring(node)


def widths(lab):
    """A store of 1, 2, 4 and 8 bytes by each node arrives at the others, and only those bytes"""
    for writer in lab.nodes:
        for width in (1, 2, 4, 8):
            at = 0x8000 + writer * 0x100 + width * 0x10
            value = int.from_bytes(bytes(range(writer, writer + width)), "little")
            lab.poke(writer, at, value, width)
            for reader in lab.nodes:
                wait_for(f"node {reader} has node {writer}'s {width} bytes",
                         lambda: lab.peek(reader, at, width) == value)
                if width < 8:
                    expect(lab.peek(reader, at + width, width) == 0, "neighbouring bytes changed")


def heard(listener):
    """Type, sender and data of the one event that `rmctl -j listen -n 1` printed."""
    event = json.loads(listener.finish())
    print(f"# {event}")
    return event["type"], event["from"], event["data"]


def interrupts(lab):
    """Interrupts of every type reach the one they are for, with sender and data"""
    for number in (1, 2, 3, 4):
        listener = lab.start(3, *HEAR_ONE, f"int{number}")
        listener.listening()
        lab.run(2, "rmctl", "send", "rfm0", "3", str(number), hex(0xabc00 + number))
        expect(heard(listener) == (f"int{number}", 2, 0xabc00 + number), "another event")


def broadcast(lab):
    """An interrupt to all reaches all others and not the sender"""
    listeners = {node: lab.start(node, *HEAR_ONE, "int1") for node in lab.nodes}
    for listener in listeners.values():
        listener.listening()
    lab.run(2, "rmctl", "send", "rfm0", "all", "1", "77")
    for node in (1, 3):
        expect(heard(listeners[node]) == ("int1", 2, 77), "another event")
    # Its own, which is home by now, would have come before this one.
    lab.run(1, "rmctl", "send", "rfm0", "2", "1", "78")
    expect(heard(listeners[2]) == ("int1", 1, 78), "the sender heard itself")


def million_stores(lab):
    """A million stores by two nodes at once: memories equal, nothing torn or out of order"""
    reader = lab.start(1, PROGRAMS + "ringstress", "read", "/dev/rfm0", hex(ORDER_AT))
    reader.line()
    writers = [lab.start(node, PROGRAMS + "ringstress", "write", "/dev/rfm0", hex(base), hex(AREA_SIZE),
                         str(STORES // 2), str(node))
               for node, base in ((2, AREA_1), (3, AREA_2))]
    order = lab.start(2, PROGRAMS + "ringstress", "order", "/dev/rfm0", hex(ORDER_AT), "100000")
    for writer in [*writers, order]:
        writer.finish(timeout=400)
    print("# " + reader.finish(timeout=60).strip())
    for node in (2, 3):     # all stores have been everywhere
        lab.run(node, "rmctl", "fence", "rfm0", "-t", "60")
    for base in (AREA_1, AREA_2):
        sums = {lab.out(node, PROGRAMS + "ringstress", "sum", "/dev/rfm0", hex(base), hex(AREA_SIZE))
                for node in lab.nodes}
        expect(len(sums) == 1, f"memories differ at {base:#x}: {sums}")


def causality(lab, rounds=ROUNDS):
    """Three-node causality: an answer is never seen without what it answers"""
    parts = []
    for node in (3, 2, 1):
        parts.append(lab.start(node, PROGRAMS + "causality", node, "/dev/rfm0", "0x400000", rounds))
        parts[-1].line()                # it is ready
    for part in parts:
        print("# " + part.finish(timeout=3000).strip())


def counter(lab, node, name):
    return lab.qmp(node, "qom-get", path="/machine/peripheral/rfm0", property=name)


def stopped_neighbour(lab, writers=1):
    """A neighbour that takes nothing: stores wait a bounded time, then are lost, and counted"""
    before = {(node, name): counter(lab, node, name) for node in lab.nodes
              for name in ("frames-full", "frames-lost", "frames-missed")}

    def grown(node, name):
        return counter(lab, node, name) - before[node, name]

    listener = lab.start(1, "rmctl", "listen", "rfm0", "tx-full", "-n", "1", "-t", "60")
    listener.listening()
    parts = [lab.start(1, "sh", "-c", "echo begins; until [ -e /tmp/full ]; do"
                       f" {PROGRAMS}ringstress write /dev/rfm0 {0x500000 + 0x10000 * n:#x}"
                       " 0x1000 30000 5 || exit; done") for n in range(writers)]
    try:
        for part in parts:
            part.line()
        # Not for long: after 10 s its links are closed, and more is lost than what found no room.
        neighbour = lab.pid(2)
        os.kill(neighbour, signal.SIGSTOP)
        try:
            listener.finish()
        finally:
            os.kill(neighbour, signal.SIGCONT)
    finally:
        lab.run(1, "touch", "/tmp/full")
    for part in parts:
        part.finish()
    lab.run(1, "rm", "/tmp/full")
    longest = counter(lab, 1, "longest-stall-us")
    expect(STALL_LIMIT_US - 1000 <= longest < STALL_LIMIT_US + SLACK_US,
           f"a store waited for {longest} us")
    for node in lab.nodes:
        lab.test_ring(node)
    dropped = grown(1, "frames-full")
    print(f"# {dropped} frames dropped, longest stall {longest} us")
    expect(dropped > 0, "nothing was dropped: the test did not test")
    expect(grown(1, "frames-lost") == dropped, "the sender counts otherwise")
    for node in (2, 3):
        expect(grown(node, "frames-missed") == dropped,
               f"node {node} misses {grown(node, 'frames-missed')}, not {dropped}")


def two_cpus_wait(lab):
    """Stores of two CPUs of one machine wait for the ring at the same time: the same holds"""
    stopped_neighbour(lab, writers=2)


def silent_neighbour(lab):
    """A neighbour that stands still for long loses its light; all that was lost is counted, and the ring mends"""
    names = ("frames-full", "frames-dark", "frames-lost", "frames-missed", "breaks")
    before = {(node, name): counter(lab, node, name) for node in lab.nodes for name in names}
    losses = lab.rmctl_json(3, "show", "rfm0")["sync_losses"]

    def grown(node, name):
        return counter(lab, node, name) - before[node, name]

    lab.signal(2, signal.SIGSTOP)
    try:
        wait_for("node 3 loses its signal",
                 lambda: lab.rmctl_json(3, "show", "rfm0")["sync_losses"] > losses)
        lab.run(3, PROGRAMS + "ringstress", "write", "/dev/rfm0", "0x600000", "0x1000", "1000", "6")
    finally:
        lab.signal(2, signal.SIGCONT)
    for node in lab.nodes:
        lab.test_ring(node)
    dark = grown(3, "frames-dark")
    print(f"# {dark} frames of the node without signal dropped")
    expect(dark >= 1000, "the node without signal sent something")
    expect(grown(1, "breaks") >= 1, "node 1 did not hear of the break")
    expect(grown(3, "frames-lost") == dark, "the sender counts otherwise")
    for node in (1, 2):
        expect(grown(node, "frames-missed") == dark,
               f"node {node} misses {grown(node, 'frames-missed')}, not {dark}")


def sync_loss(lab):
    """One of three dies: the next latches, the other does not; stores go as ring.md says"""
    def losses(node):
        return lab.rmctl_json(node, "show", "rfm0")["sync_losses"]

    for node in lab.nodes:
        lab.poke(node, 0x9000 + 4 * node, 0)
    before = [losses(node) for node in (1, 2)]
    lab.verb("kill", 3)
    wait_for("node 1 latches", lambda: losses(1) == before[0] + 1)
    expect(losses(2) == before[1], "node 2 latched as well")
    lab.poke(1, 0x9004, 1)
    lab.poke(2, 0x9008, 2)
    for node in (1, 2):
        test = lab.run(node, "rmctl", "test", "rfm0", check=False)
        expect(test.returncode == 1 and test.stderr.strip(), f"node {node}'s ring test passes")
    expect(lab.peek(2, 0x9004) == 0, "a store of node 1, which has no signal, reached node 2")
    expect(lab.peek(1, 0x9008) == 0, "a store of node 2 reached node 1 through a dead node")
    expect(lab.peek(1, 0x9004) == 1 and lab.peek(2, 0x9008) == 2, "a node's own store is not local")


def comes_back(lab):
    """The dead machine comes back: traffic flows again, what was lost is not replayed"""
    lab.verb("start", 3)
    for node in lab.nodes:
        lab.test_ring(node)
    expect(lab.peek(2, 0x9004) == 0, "a store that was lost in the break was replayed")
    lab.poke(3, 0x900c, 3)
    for node in (1, 2):
        wait_for("node 3's store arrives", lambda: lab.peek(node, 0x900c) == 3)


def paused(lab):
    """A paused machine passes frames on"""
    lab.qmp(2, "stop")
    try:
        lab.poke(1, 0x9010, 4)
        wait_for("node 3 has it", lambda: lab.peek(3, 0x9010) == 4)
        lab.test_ring(1)
    finally:
        lab.qmp(2, "cont")
    wait_for("node 2 has it as well", lambda: lab.peek(2, 0x9010) == 4)


SHORT = [identity, ring_test, widths, interrupts, broadcast, million_stores, causality, paused,
         stopped_neighbour, silent_neighbour, sync_loss, comes_back, clean_kernels]


SMP = [two_cpus_wait, clean_kernels]


def long_causality(lab):
    """A million rounds of three-node causality"""
    causality(lab, LONG_ROUNDS)


def main():
    tests = [long_causality, clean_kernels] if "--long" in sys.argv else SHORT
    more = [] if "--long" in sys.argv else SMP
    plan([*tests, *more])
    with Lab("spine", 3, *PATIENT) as lab:
        failed = run(tests, lab)
    if more:
        with Lab("spine", 3, *TWO_CPUS) as lab:
            failed += run(more, lab, first=len(tests) + 1)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
