#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""librfm's and librfm2g's tests and examples without a card: every node is a process, or in one.

The same programs run on cards in driver.py and examples.py.
"""

import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from suite import Failed, PATIENCE_S, TOP, expect, plan, run, wait_for

EXAMPLES = TOP / "build" / "librfm" / "examples"
TOOLS = TOP / "build" / "tools"
JITTER = TOP / "tools" / "librfm" / "examples" / "jitter.yaml"
LIMIT_S = "300"                         # ends a program that waits for something in vain
LINES = 20
ROUNDS, LONG_ROUNDS = 5000, 100_000
CYCLES, LONG_CYCLES = 1000, 10_000      # of 1 ms
PAIR_S = 600                            # for all of them: each waits for four processes to run
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

    def __init__(self, *command, folder=EXAMPLES, stdin=None, patience_s=PATIENCE_S, **environment):
        self.process = subprocess.Popen(
            [folder / command[0], *map(str, command[1:])], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.watchdog = threading.Timer(patience_s, self.process.kill)
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

    def joined(self, note):
        """Wait for what it says on stderr when it is on the ring: until then it misses all."""
        said = self.process.stderr.readline()
        expect(note in said, f"{self.process.args[0].name}: {said}")

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


def calls_of(library, folder, nodes):
    """What a test program of tests/guest says, which is told its nodes."""
    program = TOP / "build" / "tests" / "guest" / f"{library}_test"
    subprocess.run(["make", "-s", "-C", TOP / "tests" / "guest", program], check=True)
    with Ring(folder, nodes) as words:
        done = subprocess.run([program, *words], text=True, capture_output=True, check=False,
                              timeout=300)
    for line in done.stdout.splitlines():
        print(f"# {line}")
    expect(done.returncode == 0, done.stderr)
    return done.stdout


def test_calls(folder):
    """Every test of librfm that needs no card: two nodes in one process"""
    all_but_skipped(calls_of("librfm", folder, 2), SKIPPED)
    all_but_skipped(calls_of("librfm_events", folder, 2), set())


def test_rfm2g_calls(folder):
    """All 68 calls of the RFM2g API: two nodes in one process, and two in one that ends"""
    said = calls_of("rfm2g", folder, 4)
    expect(said.count("\nok ") >= 36, said)


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
             *(TOP / "tests" / "guest" / "librfm").glob("*.c"), place / "librfm.so.1", "-lrfmring")
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
            Program("subscribe", words[2], LIMIT_S) as subscriber:
        subscriber.joined("base policy all")    # what is on its way when another joins is lost
        with Program("publish", words[0], LIMIT_S) as publisher:
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


def test_ages(folder):
    """waitloop, publish: how old, between two processes of one clock, and of none"""
    for clocks, told in ((("tai", "tai"), r"[\d.]+ us ago"), (("tai", "host"), "on another clock"),
                         (("host", "tai"), "on another clock")):
        with Ring(folder, 2) as words, \
                Program("waitloop", f"{words[1]}&clock={clocks[1]}", 1) as waiter, \
                Program("publish", f"{words[0]}&clock={clocks[0]}", LIMIT_S):
            line = waiter.line()
            expect(re.fullmatch(rf"\d+: .*, by node 1, {told}", line), f"{clocks}: {line}")


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
            controller.tells("running")     # a busy host may have made it safe before, too
            for part in (controller, plant, display):
                part.end()


def test_jitter(folder, cycles=CYCLES):
    """jitter on three nodes, 40 inputs and 20 outputs each: what cycle was missed is counted"""
    names = ["first", "second", "third"]
    with Ring(folder, 3) as words, ExitStack() as stack:
        programs = [stack.enter_context(
            Program("jitter", "--card", words[i], "--regions", JITTER, "--cycles", cycles, "--csv", "--out", name,
                    *(word for other in names if other != name for word in ("--in", other))))
            for i, name in enumerate(names)]
        for program in programs:
            out, said = program.process.communicate()
            expect(program.process.returncode == 0, said)
            counts = [int(line.split(",")[1]) for line in out.splitlines()[1:]]
            expect(sum(counts) == cycles, f"{cycles} cycles, in the histogram {counts}")
            told = re.fullmatch(rf"{cycles} cycles, (\d+) missed, latest by ([\d.]+) us\n", said)
            expect(told and float(told[2]) < 2 ** len(counts), f"{counts}: {said}")
    for bad, status, says in ((("--out", "fourth"), 1, "there is no region 'fourth'"),
                              (("--cycles", "0"), 2, "'0' is not a number"),
                              (("colour",), 2, "'colour' is one word too many")):
        with Ring(folder, 1) as words, \
                Program("jitter", "--card", words[0], "--regions", JITTER, *bad) as program:
            _, errors = program.process.communicate()
            expect(program.process.returncode == status and says in errors and errors.count("\n") == 1, errors)


def test_jitter_long(folder):
    """Ten thousand cycles"""
    test_jitter(folder, LONG_CYCLES)


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


def test_rfm2g_pair(folder, rounds=ROUNDS):
    """Sender and receiver for the vendor's API: no round of data and events is wrong"""
    with Ring(folder, 2) as words, \
            Program("rfm2g-receive", words[1], rounds, folder=TOOLS, patience_s=PAIR_S) as receiver:
        with Program("rfm2g-send", "/dev/rfm2g0", 2, rounds, folder=TOOLS, patience_s=PAIR_S,
                     RFM_CARD_0=words[0]) as sender:
            sent, errors = sender.process.communicate()
            expect((sender.process.returncode, sent) == (0, f"{rounds} rounds\n"), errors)
        received, errors = receiver.process.communicate()
        expect((receiver.process.returncode, received) == (0, f"{rounds} rounds\n"), errors)


def test_rfm2g_pair_long(folder):
    """A hundred thousand rounds"""
    test_rfm2g_pair(folder, LONG_ROUNDS)


def test_rfm2g_map(folder):
    """What one program stores through a mapping, another sees in its own, and both are told once"""
    with Ring(folder, 2) as words, \
            Program("rfm2g-map", words[1], 0x5000, "wait", 25, folder=TOOLS) as waiter:
        waiter.joined("every 1000 us")
        with Program("rfm2g-map", words[0], 0x5000, "count", 25, folder=TOOLS) as counter:
            counter.joined("every 1000 us")
            for program in (counter, waiter):
                shown, errors = program.process.stdout.read(), program.process.stderr.read()
                expect(program.process.wait() == 0 and shown.startswith("0x00000019 ") and
                       not errors, f"{shown} {errors}")
    for bad, says in (("0 show 0", "usage"), ("0 colour 1", "usage"), ("0 wait", "usage"),
                      ("colour", "'colour' is no number"), ("0 count 2x", "'2x' is no number")):
        with Program("rfm2g-map", "/dev/rfm2g4711", *bad.split(), folder=TOOLS) as program:
            _, errors = program.process.communicate()
            expect(program.process.returncode == 2 and says in errors and errors.count("\n") == 1,
                   f"{bad}: {errors}")


def shell(commands, words, status=0):
    done = subprocess.run([TOOLS / "rfm2g-shell", "-d", words], input=commands, text=True,
                          capture_output=True, check=False, timeout=60)
    expect(done.returncode == status, f"{commands}: {done.returncode} {done.stderr}")
    return done.stdout, done.stderr


def test_rfm2g_shell(folder):
    """The shell from a pipe: values first, widths, repeats; it ends with what fails first"""
    waits = folder / "waits"
    waits.write_text("peek8 0\nenableevent intr1\nrepeat 2 wait intr1 60000\n", encoding="ascii")
    with Ring(folder, 2) as words, waits.open() as commands, \
            Program("rfm2g-shell", "-d", words[1], folder=TOOLS, stdin=commands) as waiter:
        expect(waiter.line() == "0x00000000: 0x00", "it is not on the ring")
        out, _ = shell("poke32 0x11223344 0x100  # a comment\n\npeek32 0x100\npeek8 0x101\n"
                       "fill 1 0x200 2 9 1\ndump 0x200 2 9\nmemset 0xee 0x300 3\n"
                       "peek64 0x300\nrepeat 2 peek16 0x102\nquit\npeek8 0\n", words[0])
        expect(out == "0x00000100: 0x11223344\n0x00000101: 0x33\n"
               "0x00000200: 0001 0002 0003 0004 0005 0006 0007 0008  ................\n"
               "0x00000210: 0009                                     ..\n"
               "0x00000300: 0x0000000000eeeeee\n"
               "0x00000102: 0x1122\n0x00000102: 0x1122\n", out)
        out, errors = shell("send 1 2 0xabc\nsend INTR1 all 0xdef\nenable intr2\nwait 2 10\n"
                            "peek8 0\n", words[0], 1)
        expect(out == "" and errors == "Nothing came in the time given (3)\n", errors)
        waiter.process.wait(PATIENCE_S)
        told = waiter.process.stdout.read()
        # What came before it was enabled is heard too.
        expect(told == "intr1 from node 1, data 0x00000abc\nintr1 from node 1, data 0x00000def\n",
               told)
        for bad, says in (("peek32", "usage: peek32 offset"), ("peek32 2", "multiple"),
                          ("peek8 0x100000", "Outside"), ("poke8 256 0", "no number from 0 to 0xff"),
                          ("colour", "no command 'colour'"), ("wait colour 1", "no event 'colour'"),
                          ("setled perhaps", "neither on nor off"), ("dump 0 3 1", "width"),
                          ("repeat 2 colour", "no command 'colour'"), ("peek 0", "more than one command"),
                          ("repeat -p 2", "needs a command"), ("cancelwait 1", "Nobody waits"),
                          ("readreg 1 0 4", "in bar0 or bar2"), ("setdebug colour", "no debug flag 'colour'"),
                          ("unmapuser", "no mapping"), ("peek8 0x", "no number")):
            _, errors = shell(bad + "\npeek8 0\n", words[0], 1)
            expect(says in errors and errors.count("\n") == 1, f"{bad}: {errors}")
        for bad, says in (("mapuser 0 1\nmapuserbytes 0 8\n", "already: unmapuser ends it\n"),
                          ("mapuserbytes 0 8\nunmapuser\n", "no mapping that unmapuser ends\n")):
            _, errors = shell(bad, words[0], 1)
            expect(errors.endswith(says), f"{bad}: {errors}")
        # As the vendor's users have it in their fingers.
        out, _ = shell("# " + 3000 * "x" + "\nPoke3 010 0x400\nread 0x400 4 1 0\nread 0x400 4 1 1\n"
                       "repeat -p 2 PEEK8 0x400\nmapuser 0x1000 1\nunmapuser\nsetdebug 0x12\n"
                       "setdebug -INIT\nsetdebug error\ngetdebug\nwritereg 3 0x500 2 0xf00f\n"
                       "setreg 3 0x500 2 0x10\nclearreg mem 0x500 2 0xf\ndisplayreg 3 0x500 2 2\n",
                       words[0])
        expect(re.fullmatch(r"0x00000400: 0000000a +\.{4}\n1\n0x00000400: 0x0a\n2\n0x00000400: 0x0a\n"
                            r"mapped at 0x[0-9a-f]+\n0x00000011\n"
                            r"0x00000500: 0xf010\n0x00000502: 0x0000\n", out), out)
        out, _ = shell("help\n", words[0])
        expect(out.count("\n") > 65 and "poke32 value offset" in out, out)
    _, errors = shell("", "/dev/rfm2g4711", 1)
    expect("cannot open /dev/rfm2g4711: There is no such board" in errors, errors)


def test_rfm2g_terminal(folder):
    """At a terminal Ctrl-C ends what the shell does, and a line; not the shell"""
    terminal, its_end = pty.openpty()
    with Ring(folder, 1) as words, \
            Program("rfm2g-shell", "-d", words[0], folder=TOOLS, stdin=its_end) as program:
        def prompt():
            said = ""
            while not said.endswith("rfm2g> "):
                said += program.process.stdout.read(1) or program.line()
            return said

        state = Path(f"/proc/{program.process.pid}/stat")
        prompt()
        for _ in range(2):
            wait_for("it reads", lambda: state.read_text(encoding="ascii").split()[2] == "S")
            program.signal(signal.SIGINT)
            expect(prompt() == "\nrfm2g> ", "no new line")
        for command in (b"repeat 999999999 peek8 0\n", b"repeat 999999999 dump 0 1 0x100000\n"):
            os.write(terminal, command)
            program.line()
            program.signal(signal.SIGINT)
            prompt()
        os.write(terminal, b"exit\n")
        expect(program.process.wait(PATIENCE_S) == 0, program.process.stderr.read())
    os.close(terminal)
    os.close(its_end)


def test_rfm2g_perf(folder):
    """The classic table: a line for each size, and a picture; or comma-separated values"""
    with Ring(folder, 1) as words:
        for options in ([], ["-c"]):
            with Program("rfm2g-perf", *options, words[0], "0.001", folder=TOOLS) as program:
                out, errors = program.process.communicate()
            expect(program.process.returncode == 0 and not errors, errors)
            sizes = [2 ** n for n in range(2, 21)]      # of 1 MiB of memory
            mark = "^%d," if options else "^ *%d +[0-9]"
            expect(all(re.search(mark % size, out, re.M) for size in sizes), out)
            expect(bool(options) or all(re.search(rf"^ *{size}  \|", out, re.M) for size in sizes),
                   out)


TESTS = [test_calls, test_rfm2g_calls, test_rfm2g_pair, test_rfm2g_map, test_rfm2g_shell,
         test_rfm2g_terminal, test_rfm2g_perf, test_growth, test_publish_and_wait, test_ages, test_epoll,
         test_control_loop, test_jitter, test_fixed_path]
LONG = [test_rfm2g_pair_long, test_jitter_long]

if __name__ == "__main__":
    tests = LONG if "--long" in sys.argv else TESTS
    plan(tests)
    with tempfile.TemporaryDirectory(prefix="inprocess-") as place:
        sys.exit(bool(run(tests, Path(place))))
