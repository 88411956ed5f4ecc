#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From a store on one machine until a sleeper on the other wakes up, beside a UDP datagram.

Both are measured in turns between the same two machines, and printed beside the target.
"""

import sys
import tempfile

import measure
from suite import expect, figure, plan, run
from labkit import Lab

TARGET = "an update wakes a sleeper in at most 0.3 of a datagram's time"
PASSES = 3
NOBODY = 7              # a node that is not there


def connect(lab):
    """The two machines reach each other by datagrams"""
    measure.connect(lab)


def compare(lab):
    """Update-to-wake-up is printed beside a datagram's one-way time"""
    watch, udp = [], []
    with measure.answering(lab), measure.answering(lab, measure.address(2), measure.PORT):
        for _ in range(PASSES):             # in turns, so that both meet what else the host does
            watch.append(measure.card(lab, "watch", node=2)["watch", 8])
            udp.append(measure.net(lab, "udp")["udp", 4])
    best = [min(rows, key=lambda row: row["median"]) for rows in (watch, udp)]
    figure(f"half a round trip, the better of {PASSES} runs:")
    for what, row in zip(("update to wake-up", "datagram"), best):
        figure(f"  {what:18}{measure.figures(row)}")
    figure(f"  ratio of the medians {best[0]['median'] / best[1]['median']:.2f}; target: {TARGET}")
    for row in best:
        expect(0 < row["minimum"] <= row["median"] <= row["p99"] <= row["maximum"], str(row))


def another_node(lab):
    """Who answers on one node does not answer for another"""
    with measure.answering(lab):
        asked = lab.run(1, "rmbench", "-s", 1, "-o", "poll", "card", "/dev/rfm0", measure.AT, NOBODY, check=False)
    expect(asked.returncode == 1 and "poll: nobody answers" in asked.stderr, asked.stderr)


TESTS = [connect, compare, another_node]


def main():
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="rfm-wakeup.") as folder, \
            Lab("wakeup", 2, *measure.lan(folder)) as lab:
        return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
