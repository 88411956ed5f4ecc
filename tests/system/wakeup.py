#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a store on one machine until a sleeper on the other wakes up, beside a UDP datagram.

Both are measured in turns between the same two machines, and printed beside the target.
"""

import sys
import tempfile

from suite import PROGRAMS, expect, figure, plan, run
from labkit import Lab

TARGET = "an update wakes a sleeper in at most half of a datagram's time"
ROUNDS, PASSES = 1000, 3
AT, PORT = "0x40000", "5565"
NAMES = ("minimum", "median", "99th percentile", "maximum")


def lan(folder):
    """rmlab arguments for a second network, between the two machines only."""
    words = []
    for node, server in ((1, "on"), (2, "off")):
        retry = ",reconnect-ms=100" if server == "off" else ""
        words += [f"{node}:-netdev stream,id=lan,server={server},addr.type=unix,"
                  f"addr.path={folder}/lan{retry}",
                  f"{node}:-device virtio-net-pci,netdev=lan,romfile=,mac=52:54:00:55:65:{node:02x}"]
    return [arg for word in words for arg in ("--qemu-arg", word)]


def lan_device(lab, node):
    """Its name in the machine."""
    return lab.out(node, "sh", "-c",
                   f"basename $(dirname $(grep -l 52:54:00:55:65:{node:02x} /sys/class/net/*/address))")


def connect(lab):
    """The two machines reach each other by datagrams"""
    for node in lab.nodes:
        lab.run(node, "ifconfig", lan_device(lab, node), f"10.55.65.{node}", "netmask", "255.255.255.0", "up")
    lab.run(1, "ping", "-c", "1", "-W", "10", "10.55.65.2")


def measure(lab, kind, where, ask):
    answerer = lab.start(2, PROGRAMS + "wakeup", f"answer-{kind}", *where)
    answerer.line()
    try:
        return [int(word) for word in
                lab.out(1, PROGRAMS + "wakeup", f"ask-{kind}", *ask, str(ROUNDS), timeout=300).split()]
    finally:
        lab.run(2, "killall", "wakeup", check=False)
        answerer.stop()


def compare(lab):
    """Update-to-wake-up is printed beside a datagram's one-way time"""
    watch, udp = [], []
    for _ in range(PASSES):             # in turns, so that both meet what else the host does
        watch.append(measure(lab, "watch", ("/dev/rfm0", AT), ("/dev/rfm0", AT)))
        udp.append(measure(lab, "udp", (PORT,), ("10.55.65.2", PORT)))
    best = [min(runs, key=lambda figures: figures[1]) for runs in (watch, udp)]
    figure(f"half a round trip, {ROUNDS} rounds, microseconds, the better of {PASSES}:")
    for what, figures in zip(("update to wake-up", "datagram"), best):
        figure(f"  {what:18}" + ", ".join(f"{name} {value / 1000:.0f}" for name, value in zip(NAMES, figures)))
    figure(f"  ratio of the medians {best[0][1] / best[1][1]:.2f}; target: {TARGET}")
    expect(all(0 < figures[0] <= figures[1] <= figures[2] <= figures[3] for figures in best), str(best))


TESTS = [connect, compare]


def main():
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="rfm-wakeup.") as folder, \
            Lab("wakeup", 2, *lan(folder)) as lab:
        return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
