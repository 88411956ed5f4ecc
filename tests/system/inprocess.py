#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""librfm's tests and examples without a card: every node is a process, or in one.

The same programs run on cards in driver.py and examples.py.
"""

import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from suite import Failed, PATIENCE_S, TOP, expect, plan, run

EXAMPLES = TOP / "build" / "librfm" / "examples"
LIMIT_S = "300"                         # ends a program that waits for something in vain
LINES = 20
SILENCE_MS, MARGIN_MS = 500, 10_000
# Of librfm_test: what a node in a process has not.
SKIPPED = {"mapping_through_a_window", "a_publication_is_one_store"}


class Ring:
    """A hub, on which nodes may come and go; `words` open them."""

    def __init__(self, folder, count):
        self.place = tempfile.mkdtemp(dir=folder)
        self.count = count
        self.words = [f"ring:unix:{self.place}/port{i}?node={i + 1}&size=1M&wait-ms=20000"
                      for i in range(count)]

    def __enter__(self):
        self.hub = subprocess.Popen(
            [TOP / "build" / "tools" / "rmhub", "--ports", str(self.count), "--dir", self.place],
            stderr=subprocess.PIPE, text=True)
        expect(self.hub.stderr.readline(), "rmhub has ended")
        return self.words

    def __exit__(self, *trace):
        self.hub.kill()
        self.hub.communicate()


class Program:
    """An example on a node; ended at the end of a `with` block."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(
            [EXAMPLES / command[0], *map(str, command[1:])], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        self.watchdog.start()

    def __enter__(self):
        return self

    def __exit__(self, *trace):
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.process.args[0].name} has ended: {self.process.stderr.read()}")
        return line.rstrip("\n")

    def tells(self, event):
        while True:
            told = json.loads(self.line())
            if told["event"] == event:
                return told

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, *statuses):
        self.signal(signal.SIGINT)
        out, errors = self.process.communicate()
        expect(self.process.returncode in (statuses or (0,)), f"{self.process.args[0].name}: "
               f"{self.process.returncode} {errors}")
        return out


def all_but_skipped(said, needless):
    """Every case has passed, but those that need a card, by name: one that skips is none that passes"""
    planned = int(re.search(r"^1\.\.(\d+)$", said, re.M)[1])
    skipped = set(re.findall(r"^ok \d+ (\w+) # SKIP", said, re.M))
    passed = set(re.findall(r"^ok \d+ (\w+) \([\d.]+ s\)$", said, re.M))
    expect(skipped == needless and len(passed) == planned - len(needless),
           f"{skipped ^ needless} are skipped or not; {len(passed)} of {planned} have passed")


def test_calls(folder):
    """Every test of librfm that needs no card: two nodes in one process"""
    for name, skipped in (("librfm_test", SKIPPED), ("librfm_events_test", set())):
        program = TOP / "build" / "tests" / "guest" / name
        subprocess.run(["make", "-s", "-C", TOP / "tests" / "guest", program], check=True)
        with Ring(folder, 2) as words:
            done = subprocess.run([program, *words], text=True, capture_output=True, check=False,
                                  timeout=300)
        for line in done.stdout.splitlines():
            print(f"# {line}")
        expect(done.returncode == 0, done.stderr)
        all_but_skipped(done.stdout, skipped)


def made(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False)
    expect(not done.returncode, f"{' '.join(map(str, command))}: {done.stderr}")


def grown_headers(folder):
    """The interface as a later version may have it: each structure is longer, at its end"""
    made(TOP / "tests" / "grown-headers", TOP / "uapi" / "linux", folder / "linux")
    return folder


def test_growth(folder):
    """A program goes on working with a library whose structures have grown, and the other way round"""
    librfm, ring = TOP / "tools" / "librfm", TOP / "build" / "ring"
    sources = [file for file in librfm.glob("*.c") if not file.name.startswith("regions")]
    sources += [TOP / "ring" / "memory.c", TOP / "ring" / "util" / "granules.c"]
    headers = {"now": TOP / "uapi", "later": grown_headers(folder / "later")}
    for when, uapi in headers.items():
        place = folder / f"library-{when}"
        place.mkdir()
        flags = ["-std=gnu11", "-O1", f"-I{uapi}", f"-I{librfm}", f"-I{TOP}", "-pthread", f"-L{ring}"]
        made("cc", *flags, "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-soname,librfm.so.1",
             f"-Wl,--version-script={librfm}/rfm.map", "-o", place / "librfm.so.1", *sources,
             "-lrfmring")
        made("cc", *flags, "-D_GNU_SOURCE", "-o", folder / f"program-{when}",
             TOP / "tests" / "guest" / "librfm_test.c", place / "librfm.so.1", "-lrfmring")
    for program, library in (("now", "later"), ("later", "now")):
        with Ring(folder, 2) as words:
            done = subprocess.run(
                [folder / f"program-{program}", *words], text=True, capture_output=True,
                check=False, timeout=300,
                env={**os.environ, "LD_LIBRARY_PATH": f"{folder}/library-{library}:{ring}"})
        bad = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
        expect(done.returncode == 0, f"program {program}, library {library}: {bad} {done.stderr}")
        all_but_skipped(done.stdout, SKIPPED)


def test_publish_and_wait(folder):
    """publish and waitloop, subscribe: every cycle, in order, by whom and how old"""
    with Ring(folder, 3) as words, \
            Program("waitloop", words[1], LINES) as waiter, \
            Program("subscribe", words[2], LIMIT_S) as subscriber, \
            Program("publish", words[0], LIMIT_S) as publisher:
        said = [waiter.line() for _ in range(LINES)]
        lines = [re.fullmatch(r"(\d+): (value .*, mode \d), by node 1, [\d.]+ us ago", line)
                 for line in said]
        expect(all(lines), f"{said}")
        for count, line in enumerate(lines, int(lines[0][1])):
            expect(line.group(1, 2) == (str(count), f"value {math.sin(count * 0.01):+.3f}, "
                                                    f"mode {count // 100 % 4}"), f"{said}")
        counts = [int(subscriber.line().split(":")[0]) for _ in range(LINES)]
        expect(counts == sorted(set(counts)), f"not one after the other: {counts}")
        subscriber.end()
        publisher.end(0, 3)         # what was on its way when another left the ring is lost


def test_epoll(folder):
    """epoll: a value, a mode, a silent writer and the ring, each when it happens"""
    with Ring(folder, 2) as words, Program("epoll", words[1], LIMIT_S) as program:
        with Program("publish", words[0], LIMIT_S):
            for wanted in ("value: ", "mode: has become 3, by node 1"):
                while not program.line().startswith(wanted):
                    pass
        while not program.line().startswith("writer: silent for "):
            pass
        program.end()


def test_control_loop(folder):
    """plant, controller, display: safe when the controller is silent; wrongwriter is told of"""
    options = ("--json", "--seconds", LIMIT_S, "--silence-ms", SILENCE_MS)
    with Ring(folder, 5) as words, \
            Program("plant", "--card", words[0], *options, "--margin-ms", MARGIN_MS) as plant, \
            Program("display", *options, RFM_CARD=words[2]) as display:
        with Program("controller", "--card", words[1], *options) as controller:
            plant.tells("running")
            display.tells("fresh")
            with Program("wrongwriter", "--card", words[3], "--json", "--count", 10) as wrong:
                told = plant.tells("conflict")
                expect((told["node"], told["offset"]) == (4, 0x10010), f"{told}")
                wrong.process.communicate()
            controller.end()
        told = plant.tells("safe")
        expect(told["reaction_ns"] <= (SILENCE_MS + MARGIN_MS / 2) * 1e6, f"{told}")
        while display.tells("fresh")["mode"] != "safe":
            pass
        with Program("controller", "--card", words[4], *options) as controller:
            plant.tells("recovered")
            for part in (controller, plant, display):
                part.end()


def test_fixed_path(folder):
    """A program with a fixed path is sent to a ring by the environment; what is wrong is said"""
    with Ring(folder, 1) as words, \
            Program("publish", "/dev/rfm4711", "0.1", RFM_CARD_4711=words[0]) as program:
        out, _ = program.process.communicate()
        expect(program.process.returncode == 0 and out == "10 published\n", out)
    for value, says in (("ring:?node=1", "needs node= and size="), ("rfm4712", "No such file"),
                        (words[0] + "&window=0x", "no good value for 'window'")):
        with Program("publish", RFM_CARD=value) as program:
            _, errors = program.process.communicate()
            expect(program.process.returncode == 1 and says in errors and errors.count("\n") == 1,
                   f"{value}: {errors}")


TESTS = [test_calls, test_growth, test_publish_and_wait, test_epoll, test_control_loop, test_fixed_path]

if __name__ == "__main__":
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="inprocess-") as place:
        sys.exit(bool(run(TESTS, Path(place))))
