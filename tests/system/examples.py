#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The small examples of librfm on two machines: what they print, and how they end.

The control loop among the examples is in the demo and in subscribe.py.
"""

import re
import sys

from suite import clean_kernels, expect, plan, run
from labkit import Lab

CARD = "/dev/rfm0"
VALUE_AT, MODE_AT = 0x8008, 0x8010      # words.h
PERIOD_S = 0.01
LINES = 20
LIMIT_S = "120"                         # ends a program that waits for something in vain


class Publisher:
    """publish on machine 1, during a `with` block."""

    def __init__(self, lab):
        self.lab = lab

    def __enter__(self):
        self.program = self.lab.start(1, "publish", CARD, LIMIT_S)

    def __exit__(self, kind, value, trace):
        self.lab.run(1, "killall", "-INT", "publish")
        said = self.program.finish(check=not kind)
        expect(kind or re.fullmatch(r"\d+ published\n", said), f"publish: {said}")


def until(program, text):
    """Read up to the line that begins with this; returns all that was read."""
    lines = [program.line()]
    while not lines[-1].startswith(text):
        lines.append(program.line())
    return lines


def publish(lab):
    """publish: a second of it is a hundred, and everywhere"""
    done = lab.run(1, "publish", CARD, "1")
    expect(done.stdout == f"{1 / PERIOD_S:.0f} published\n", str(done))
    expect(lab.peek(2, 0x8000, 8) == 1 / PERIOD_S, "the last is not on machine 2")


def subscribe(lab):
    """subscribe: sees the words change, and says with its status when they do not"""
    with Publisher(lab):
        said = lab.out(2, "subscribe", CARD, "2").splitlines()
    lines = [re.fullmatch(r"(\d+): value [+-][01]\.\d{3}, mode [0-3]", line) for line in said]
    expect(lines and all(lines), f"{said}")
    counts = [int(line[1]) for line in lines]
    expect(counts == sorted(set(counts)), f"not one after the other: {counts}")
    silent = lab.run(2, "subscribe", CARD, "0.5", check=False)
    expect((silent.returncode, silent.stdout) == (3, ""), str(silent))


def waitloop(lab):
    """waitloop: each update, by whom, and how old"""
    with Publisher(lab):
        said = lab.out(2, "waitloop", CARD, str(LINES)).splitlines()
    lines = [re.fullmatch(r"node 1 wrote \d+ bytes at 0x8000, frame (\d+), [\d.]+ us ago", line)
             for line in said]
    expect(len(lines) == LINES and all(lines), f"{said}")
    frames = [int(line[1]) for line in lines]
    expect(frames == sorted(set(frames)), f"not one after the other: {frames}")


def epoll(lab):
    """epoll: a value, a mode, a silent writer and the ring, each when it happens"""
    lab.poke(1, MODE_AT, 0)
    program = lab.start(2, "epoll", CARD, LIMIT_S)
    until(program, "writer: silent for 0.5 s")  # from now on it misses nothing
    with Publisher(lab):
        said = until(program, "mode: has become 3, by node 1")
    expect(any(line.startswith("writer: writes again after") for line in said), f"{said}")
    expect(any(re.fullmatch(r"value: \d+ update\(s\), the last [+-][01]\.\d{3}", line)
               for line in said), f"{said}")
    until(program, "writer: silent for 0.5 s")

    lab.poke(1, MODE_AT, 0)
    lab.poke(1, VALUE_AT + 4, 0)                # half of a value is none
    lab.poke(1, MODE_AT, 3)
    said = until(program, "mode: has become 3, by node 1")
    expect(not any(line.startswith("value") for line in said), f"{said}")

    lab.verb("cut", 2)
    until(program, "ring: this node has lost its signal")
    lost = lab.run(1, "publish", CARD, "0.1", check=False)
    expect(lost.returncode == 3 and "10 published, but not known to be everywhere" in lost.stderr,
           str(lost))
    lab.verb("restore", 2)
    until(program, "ring: this node has its signal again")
    lab.run(2, "killall", "-INT", "epoll")
    program.finish()


TESTS = [publish, subscribe, waitloop, epoll, clean_kernels]


def main():
    plan(TESTS)
    with Lab("examples", 2) as lab:
        return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
