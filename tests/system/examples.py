#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples of librfm on two machines: what they print, and how they end.

What the control loop among them does on a broken ring is in the demo and in subscribe.py.
"""

import math
import re
import sys
import tempfile
from pathlib import Path

from suite import TOP, clean_kernels, expect, figure, plan, run, wait_for
from labkit import Lab, Part

CARD = "/dev/rfm0"
VALUE_AT, MODE_AT, COUNT_AT = 0x8000, 0x8008, 0x8010    # words.h
NINE = 0x4022_0000_0000_0000            # 9.0
PERIOD_S = 0.01
LINES = 20
LIMIT_S = "300"                         # ends a program that waits for something in vain
OUTPUT_END = "0x10060"                  # loop.yaml: the word of the output that is written last
MARGIN_MS = 10_000                      # until a busy machine's plant has a turn
LOW, HIGH = 0.5, 0.8                    # m, set points
OVERSHOOT = 1.15                        # held up itself for 2 s: 1.12; wound up: 1.37 and more
LOOP = TOP / "tools" / "librfm" / "examples" / "loop.yaml"
MOVED = "/tmp/moved.yaml"               # the same on the machines, elsewhere in the memory


class Publisher:
    """publish on machine 1, during a `with` block; it has begun."""

    def __init__(self, lab):
        self.lab = lab

    def __enter__(self):
        before = self.lab.peek(1, COUNT_AT, 8)
        self.program = self.lab.start(1, "publish", CARD, LIMIT_S)
        wait_for("publish has begun", lambda: self.lab.peek(1, COUNT_AT, 8) != before)

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
    expect(lab.peek(2, COUNT_AT, 8) == 1 / PERIOD_S, "the last is not on machine 2")


def subscribe(lab):
    """subscribe: sees the words change, and says with its status when they do not"""
    with Publisher(lab):
        program = lab.start(2, "subscribe", CARD, LIMIT_S)
        said = [program.line() for _ in range(LINES)]
        lab.run(2, "killall", "-INT", "subscribe")
        program.finish()
    lines = [re.fullmatch(r"(\d+): value [+-][01]\.\d{3}, mode [0-3]", line) for line in said]
    expect(all(lines), f"{said}")
    counts = [int(line[1]) for line in lines]
    expect(counts == sorted(set(counts)), f"not one after the other: {counts}")
    silent = lab.run(2, "subscribe", CARD, "0.5", check=False)
    expect((silent.returncode, silent.stdout) == (3, ""), str(silent))


def waitloop(lab):
    """waitloop: every cycle, one after the other, what was written in it, by whom, and how old"""
    with Publisher(lab):
        said = lab.out(2, "waitloop", CARD, str(LINES)).splitlines()
    lines = [re.fullmatch(r"(\d+): (value .*, mode \d), by node 1, [\d.]+ us ago", line)
             for line in said]
    expect(len(lines) == LINES and all(lines), f"{said}")
    first = int(lines[0][1])
    for count, line in enumerate(lines, first):
        expect(line.group(1, 2) == (str(count), f"value {math.sin(count * 0.01):+.3f}, "
                                                f"mode {count // 100 % 4}"), f"cycle {count}: {said}")


def epoll(lab):
    """epoll: a value, a mode, a silent writer and the ring, each when it happens"""
    lab.poke(1, MODE_AT, 0)
    program = lab.start(2, "epoll", CARD, LIMIT_S)
    until(program, "writer: silent for ")       # from now on it misses nothing
    with Publisher(lab):
        said = until(program, "mode: has become 3, by node 1")
    expect(any(line.startswith("writer: writes again after") for line in said), f"{said}")
    expect(any(re.fullmatch(r"value: \d+ update\(s\), the last [+-][01]\.\d{3}", line)
               for line in said), f"{said}")
    until(program, "writer: silent for ")
    # It may have been held up, and tell more of publish: up to a value that is not of it.
    lab.poke(1, VALUE_AT, NINE, 8)
    while not program.line().endswith("the last +9.000"):
        pass

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


def publish_to_one_that_stands_still(lab):
    """publish does not say that all is everywhere while a machine stands still"""
    lab.qmp(2, "stop")
    try:
        done = lab.run(1, "publish", CARD, "0.1", check=False)
        expect(done.returncode == 3 and "10 published, but not known to be everywhere" in done.stderr,
               str(done))
    finally:
        lab.qmp(2, "cont")


def plant_on_1(lab, silence_ms=Part.SILENCE_MS, margin_ms=MARGIN_MS):
    return Part(lab, 1, "plant", "--silence-ms", silence_ms, "--margin-ms", margin_ms)


def goes_safe(plant, least_ms, limit_ms):
    """The plant's word that it is safe, and that in time."""
    told = plant.tells("safe")
    took = told["reaction_ns"] / 1e6
    figure(f"the plant was safe {took:.0f} ms after the last output, limit {limit_ms} ms")
    expect(least_ms <= took <= limit_ms, str(told))
    return told


def silent_controller(lab):
    """plant: safe as soon as its controller is silent, says so everywhere, and goes on with it"""
    plant, display, controller = plant_on_1(lab), Part(lab, 2, "display"), Part(lab, 2, "controller")
    plant.tells("running")
    lab.run(2, "killall", "-STOP", "controller")
    # By itself it would notice at half of the margin.
    told = goes_safe(plant, Part.SILENCE_MS, Part.SILENCE_MS + MARGIN_MS / 2)
    expect(told["limit_ns"] / 1e6 == Part.SILENCE_MS + MARGIN_MS, str(told))
    shown = display.tells("fresh")
    while shown["mode"] != "safe":
        shown = display.tells("fresh")
    expect(shown["valve"] == 0, f"safe, with the valve open: {shown}")
    lab.run(2, "killall", "-CONT", "controller")
    plant.tells("recovered")
    for part in (controller, plant, display):
        part.end()


def useless_output(lab):
    """plant: safe in time when updates come, but no output that can be read"""
    # No machine is held up for so long that its card takes the useless updates for silence.
    silence, margin = 2500, 4000
    plant, controller = plant_on_1(lab, silence, margin), Part(lab, 2, "controller")
    plant.tells("running")
    writer = lab.start(2, "sh", "-c", "echo begins; until [ -e /tmp/enough ]; do"
                       f" rmctl poke -w 8 rfm0 {OUTPUT_END} $((i += 1)) || exit; done")
    try:
        writer.line()
        controller.end()
        # Its card is content, so it has to notice by itself: at half of the margin.
        told = goes_safe(plant, silence + margin // 2, silence + margin)
    finally:
        lab.run(2, "touch", "/tmp/enough")
    writer.finish()
    controller = Part(lab, 2, "controller")
    plant.tells("recovered", told["time_ns"])
    for part in (controller, plant):
        part.end()


class Levels:
    """What display draws on machine 2, ten times a second."""

    def __init__(self, lab):
        self.lab = lab
        self.program = lab.start(2, "display", "--silence-ms", "5000", "--seconds", LIMIT_S)
        self.highest = 0

    def next(self):
        line = self.program.line()
        while "stale" in line:
            line = self.program.line()
        level = float(re.search(r"\] (\d\.\d\d) m", line)[1])
        self.highest = max(self.highest, level)
        return level

    def until_at(self, setpoint):
        """Read until it has been at the set point for half a second, and was never far above."""
        at = 0
        self.highest = 0
        while at < 5:
            at = at + 1 if abs(self.next() - setpoint) <= 0.02 else 0
        expect(self.highest <= OVERSHOOT * setpoint, f"{self.highest} m, set point {setpoint} m")
        return self.highest

    def end(self):
        self.lab.run(2, "killall", "-INT", "display")
        self.program.finish()


def winds_up(lab):
    """controller: no higher than at first when it, or the plant, has been away, or another takes over"""
    # It is held up on purpose, and then not safe in time.
    plant, levels = plant_on_1(lab, margin_ms=60_000), Levels(lab)
    controller = Part(lab, 2, "controller", "--setpoint", LOW)
    highest = [levels.until_at(LOW)]
    lab.run(2, "killall", "-STOP", "controller")
    while levels.next() > LOW / 2:
        pass
    lab.run(2, "killall", "-CONT", "controller")
    highest.append(levels.until_at(LOW))
    lab.run(1, "killall", "-STOP", "plant")
    controller.tells("stale")
    levels.end()
    levels = Levels(lab)
    levels.program.line()       # it draws: no level before the plant is back
    lab.run(1, "killall", "-CONT", "plant")
    highest.append(levels.until_at(LOW))
    controller.end()
    controller = Part(lab, 2, "controller", "--setpoint", HIGH)
    highest.append(levels.until_at(HIGH))
    figure(f"at most {highest} m, set points {LOW}, {LOW}, {LOW}, {HIGH} m")
    levels.end()
    for part in (controller, plant):
        part.end()


class Moved(Part):
    """A part of the loop that goes by the file of regions MOVED."""

    PREFIX = ["env", f"RFM_REGIONS={MOVED}"]
    SILENCE_MS = 20_000     # nobody is silent here, but a busy machine


def push_layout(lab, text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "moved.yaml"
        file.write_text(text, encoding="utf-8")
        for node in lab.nodes:
            lab.verb("push", node, file, MOVED)


def moved(lab):
    """plant, controller, display: go where a file of regions says, and rmctl names what is there"""
    text = LOOP.read_text(encoding="utf-8")
    push_layout(lab, text.replace("offset: 0x10000", "offset: 0x20000"))
    before = lab.peek(2, 0x10000, 8)
    plant, controller = Moved(lab, 1, "plant"), Moved(lab, 2, "controller")
    display = Moved(lab, 2, "display")
    plant.tells("running")
    while display.tells("fresh")["mode"] != "running":
        pass                    # machine 2 has yet to hear of it
    said = lab.out(2, "rmctl", "-R", MOVED, "peek", "rfm0", "loop.state").splitlines()
    expect(len(said) == 7 and re.fullmatch(r"loop\.state\.level: \d\.\d+ m", said[1]) and
           said[5] == "loop.state.mode: 1", f"{said}")
    traced = lab.out(1, "rmctl", "-R", MOVED, "trace", "rfm0", "loop.output.answers", "-n", "3")
    steps = [int(line[1]) for line in re.finditer(r"loop\.output\.answers: (\d+)", traced)]
    expect(len(steps) == 3 and steps == sorted(steps), traced)
    expect(lab.peek(2, 0x10000, 8) == before, "somebody wrote to the old place")
    for part in (display, controller, plant):
        part.end()

    push_layout(lab, text.replace("offset: 0x20, type: uint64", "offset: 0x20, type: int64"))
    done = lab.run(1, "env", f"RFM_REGIONS={MOVED}", "plant", check=False)
    expect(done.returncode == 1 and re.fullmatch(
        rf"plant: {MOVED}:\d+: loop\.state\.step is not what this program was built for\n",
        done.stderr), str(done))


TESTS = [publish, publish_to_one_that_stands_still, subscribe, waitloop, epoll, silent_controller,
         useless_output, winds_up, moved, clean_kernels]


def main():
    plan(TESTS)
    with Lab("examples", 2) as lab:
        return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
