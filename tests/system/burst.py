#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A burst range on two machines: whatever stores there, in the end both have the same."""

import sys

from suite import PATIENT, PROGRAMS, clean_kernels, expect, figure, plan, run, wait_for
from labkit import Lab

CARD, DEVICE = "rfm0", "/dev/rfm0"
AT, SIZE = 0x800000, 0x100000
WORDS_AT, WORDS_SIZE = 0x900000, 0x4000
TURNS = 5000
BURST = PROGRAMS + "burst"


def counter(lab, node, name):
    return lab.qmp(node, "qom-get", path="/machine/peripheral/rfm0", property=name)


def fence(lab, *nodes):
    for node in nodes:
        lab.run(node, "rmctl", "fence", CARD)


def holds(lab, node, *what):
    done = lab.run(node, BURST, DEVICE, *map(str, what), check=False)
    expect(not done.returncode, f"node {node} has something else: {done.stdout}")


def wide(lab):
    """Stores of the widest instructions arrive, and a fence is behind them"""
    expect(lab.out(1, "nproc").strip() == "2", "a machine has not two CPUs")
    lab.run(1, "rmctl", "set", CARD, "burst-period=1s")         # no other scan is as quick
    for seed in range(1, 5):
        kind = lab.out(1, BURST, DEVICE, "copy", AT, SIZE, seed).strip()
        fence(lab, 1)
        for node in lab.nodes:
            holds(lab, node, "check", AT, SIZE, seed)
    lab.run(1, "rmctl", "set", CARD, "burst-period=100us")
    figure(f"the range was written with {kind}")


def by_itself(lab):
    """A scan sends them also if nobody waits"""
    lab.run(1, BURST, DEVICE, "copy", AT, SIZE, 77)
    wait_for("node 2 has it", lambda: not lab.run(2, BURST, DEVICE, "check", str(AT), str(SIZE), "77",
                                                  check=False).returncode)


def shared_words(lab):
    """Two that write bytes of the same words revert nothing of each other"""
    writers = [lab.start(node, BURST, DEVICE, "bytes", WORDS_AT, WORDS_SIZE, node - 1, TURNS)
               for node in (1, 2)]
    for writer in writers:
        writer.finish(timeout=300)
    fence(lab, 1, 2)
    for node in (1, 2):
        holds(lab, node, "check-bytes", WORDS_AT, WORDS_SIZE)
    for node in (1, 2):
        figure(f"node {node}: {counter(lab, node, 'burst-scans')} scans, "
               f"{counter(lab, node, 'burst-bytes')} bytes")


def beside_exact_stores(lab):
    """Stores elsewhere that saturate the ring lose nothing, and hold up no scan for ever"""
    writer = lab.start(1, BURST, DEVICE, "bytes", WORDS_AT, WORDS_SIZE, 0, 20 * TURNS)
    lab.out(1, "rmbench", "-s", "3", "-o", "store", "card", DEVICE, "0x100000", timeout=120)
    writer.finish(timeout=300)
    fence(lab, 1)
    for node in (1, 2):
        holds(lab, node, "check-bytes", WORDS_AT, WORDS_SIZE)


def stands_still(lab):
    """A machine that stands still sends what it has stored"""
    writer = lab.start(1, BURST, DEVICE, "bytes", WORDS_AT, WORDS_SIZE, 0, TURNS)
    for _ in range(3):
        lab.qmp(1, "stop")
        lab.qmp(1, "cont")
    writer.finish(timeout=300)
    fence(lab, 1)
    for node in (1, 2):
        holds(lab, node, "check-bytes", WORDS_AT, WORDS_SIZE)


def copied_away(lab):
    """One that is copied away has sent what it had stored, however much waited for the ring"""
    lab.run(1, "rmctl", "set", CARD, "burst-period=1s")
    lab.run(1, BURST, DEVICE, "copy", AT, SIZE, 88)
    lab.qmp(1, "migrate", uri="exec:cat >/dev/null")
    wait_for("it has been copied", lambda: lab.qmp(1, "query-migrate").get("status") == "completed")
    lab.qmp(1, "cont")
    # What would be stored until it has its signal back would be lost to the ring.
    wait_for("it is on the ring", lambda: not lab.run(1, "rmctl", "fence", CARD, check=False).returncode)
    for node in (1, 2):
        holds(lab, node, "check", AT, SIZE, 88)
    lab.run(1, "rmctl", "set", CARD, "burst-period=100us")


def counted(lab):
    """Nothing was lost, and no interrupt came early"""
    for node in lab.nodes:
        for name in ("frames-full", "burst-late"):
            expect(not counter(lab, node, name), f"node {node}: {name}")


def no_record(lab):
    """Where stores go in no order there can be no record"""
    for at, said in ((AT, "Operation not supported"), (AT - 0x1000, "stored")):
        expect(lab.out(1, PROGRAMS + "librfm_test", DEVICE, "record", hex(at)).strip() == said, f"at {at:#x} not '{said}'")


def off(lab):
    """Off again, each store goes at once"""
    for node in lab.nodes:
        lab.run(node, "rmctl", "set", CARD, "burst=off")
    before = counter(lab, 1, "burst-bytes")
    lab.run(1, BURST, DEVICE, "copy", AT, 0x1000, 5)
    fence(lab, 1)
    holds(lab, 2, "check", AT, 0x1000, 5)
    expect(counter(lab, 1, "burst-bytes") == before, "a scan has sent something")


TESTS = [wide, by_itself, shared_words, beside_exact_stores, stands_still, copied_away, counted, no_record, off, clean_kernels]


def main():
    plan(TESTS)
    with Lab("burst", 2, *PATIENT, "--qemu-arg", "-smp", "--qemu-arg", "2") as lab:
        for node in lab.nodes:
            lab.run(node, "rmctl", "set", CARD, f"burst={hex(AT)}+8M", "burst-period=100us")
        return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
