#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmlab save, up --from, restore: a whole lab as it was at one moment, and labs that go on from there."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

from run import Place
from suite import PATIENCE_S, clean_kernels, expect, figure, plan, run, wait_for
from labkit import RMLAB, Lab, rmlab
from lab import lab as labs
from lab import process
from lab.saved import base_folder

NAMES = [f"{name}-{os.getpid()}" for name in ("quiet", "busy", "bad", "late")]
QUIET, BUSY, BAD, LATE = NAMES
WORD = 0x100
# What each machine stores all the time, at a place of its own.
STORES = ("for n in 1 2; do head -c 4194304 /dev/urandom >/tmp/data$n; done; while :; do for n in 1 2; do "
          "dd if=/tmp/data$n of=/dev/rfm0 bs=4M seek={0} conv=notrunc 2>/dev/null; done; done")


def save(lab, name):
    return rmlab("save", "--name", lab.name, name).stdout


def verified(lab):
    """All memories are equal, once nobody stores."""
    lab.run(1, "rmctl", "fence", "rfm0", "-t", "60", check=False)      # what was lost before is told once
    lab.run(1, "rmctl", "verify", "rfm0", "-t", "60")


def goes_on(lab):
    """A lab that is saved goes on, and one that was made of it has what was there then, on a hub of its own"""
    for node in lab.nodes:
        lab.poke(node, WORD + 64 * node, 0x5a5a + node)
    lab.run(1, "sh", "-c", "echo here >/tmp/kept; sleep 1000 & echo $! >/tmp/pid")
    lab.test_ring(1)
    said = save(lab, QUIET)
    expect("are equal\n" in said, said)
    lab.test_ring(1)
    lab.poke(1, WORD, 1)
    with Lab("saved-other", 3, "--from", QUIET) as other:
        figure(f"up --from: {other.said.splitlines()[-1]}")
        for node in other.nodes:
            other.test_ring(node)
        words = [[other.peek(node, WORD + 64 * of) for of in (1, 2, 3)] for node in other.nodes]
        expect(words == 3 * [[0x5a5b, 0x5a5c, 0x5a5d]], f"{words}")
        expect(other.peek(2, WORD) == 0 and lab.peek(2, WORD) == 1, "the two labs know of each other")
        other.run(1, "sh", "-c", "test $(cat /tmp/kept) = here && kill -0 $(cat /tmp/pid)")
        verified(other)
        clean_kernels(other)


def saved_equal(lab):
    """On a busy host they may stop so far apart that more comes for one than its card can keep: that is told."""
    done = rmlab("save", "--name", lab.name, BUSY)
    told = "frames found no room" in done.stderr
    expect(told or "are equal\n" in done.stdout, f"{done}")
    return not told


def busy(lab):
    """Machines that store all the time are saved with equal memories: nothing was on its way, and nothing waited"""
    programs = [lab.start(node, "sh", "-c", STORES.format(node)) for node in lab.nodes]
    wait_for("all store", lambda: all(lab.peek(1, node << 22) for node in lab.nodes))
    wait_for("none was held up while the others stopped", lambda: saved_equal(lab))
    for program in programs:
        expect(program.process.poll() is None, "a program has ended")
    with Lab("saved-busy", 3, "--from", BUSY) as other:
        for node in other.nodes:
            wait_for("its program goes on", lambda: other.run(node, "pidof", "dd", check=False).returncode == 0)
            other.run(node, "sh", "-c", "kill $(pidof -o $$ sh)", check=False)
        for node in other.nodes:
            other.run(node, "dd", "if=/tmp/data1", "of=/dev/rfm0", "bs=4M", f"seek={node}", "conv=notrunc")
        verified(other)
    for node, program in zip(lab.nodes, programs):
        program.stop()
        lab.run(node, "killall", "dd", "sh", check=False)


def killed(lab):
    """kill -9 of a save: the machines stand still, and go on with the next one, which says so; nothing is left"""
    with subprocess.Popen([RMLAB, "save", "--name", lab.name, BUSY], stdin=subprocess.DEVNULL) as child:
        wait_for("it is writing", lambda: [*base_folder().glob(f".{BUSY}.{child.pid}.new/1")])
        child.kill()
    expect(not lab.qmp(1, "query-status")["running"], "it has gone on: the test shows nothing")
    done = rmlab("save", "--name", lab.name, BUSY)
    expect("the machines stood still" in done.stderr and "which a 'save' that was killed has left" in done.stderr,
           f"{done}")
    expect(not [*base_folder().glob(f".{BUSY}.*")], "its folder is there")
    lab.test_ring(1)


@contextlib.contextmanager
def not_yet(file):
    """Who reads it waits until he is ended."""
    there = file.rename(file.with_name("there"))
    os.mkfifo(file)
    yield
    there.replace(file)


def up_ended(_):
    """up --from: Ctrl-C leaves nothing; after kill -9 the next one takes away what was left, says so, and works"""
    shutil.copytree(base_folder() / QUIET, base_folder() / LATE)
    try:
        end_up()
    finally:
        rmlab("down", "--name", LATE)


def end_up():
    words = "up", "--name", LATE, "--from", LATE
    folder = labs.base_folder() / LATE

    def left():
        return list(process.with_argument_in(folder, {"qemu-system-x86_64", "rmhub", "ssh"}))

    for point, reached in (("it has begun", (folder / "lab.json").exists),
                           ("hub and machines run", lambda: len(left()) == 4)):
        for number in (signal.SIGINT, signal.SIGKILL):
            with not_yet(base_folder() / LATE / "2"):
                with subprocess.Popen([RMLAB, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as child:
                    wait_for(point, reached)
                    child.send_signal(number)
                    if number == signal.SIGINT:     # and once more, while it takes things away
                        wait_for("it cleans up", lambda: not list(folder.glob("*/")) or child.poll() is not None)
                        child.send_signal(number)
                    child.wait(PATIENCE_S)
            if number == signal.SIGINT:
                # Either is 130 in a shell: the second one may come when all is done, and Python ends by it.
                expect(child.returncode in (130, -signal.SIGINT), f"{point}: exit status {child.returncode}")
                expect(not folder.exists() and not left(), f"{point}: left: folder {folder.exists()}, processes {left()}")
                continue
            expect(folder.exists(), "nothing was left: the test shows nothing")
            said = rmlab(*words).stderr
            expect(f"cleaned up what an earlier 'up' of lab '{LATE}' has left: its folder and " in said, said)
            rmlab("exec", "--name", LATE, 1, "--", "test", "-e", "/tmp/kept")
            rmlab("down", "--name", LATE)
            expect(not folder.exists() and not left(), f"{point}: 'down' has left {left()}")


def goes_back(lab):
    """restore: the lab is what it was, memories, programs and files"""
    rmlab("restore", "--name", lab.name, QUIET)
    lab.test_ring(2)
    expect([lab.peek(node, WORD + 64) for node in lab.nodes] == 3 * [0x5a5b], "the memory is another")
    expect(not lab.peek(1, 1 << 22), "what was stored later is there")
    expect(lab.out(1, "cat", "/tmp/kept") == "here", "the file is not there")
    lab.verb("kill", 2)
    lab.verb("start", 2)            # which boots
    lab.test_ring(2)


def runs(_):
    """rmlab run goes on from it, with an rmnode besides; what a saved lab cannot be is said"""
    text = f"""
    from = "{QUIET}"
    [node.a]
    run = "rmctl poke rfm0 {WORD:#x} 0xcafe"
    [node.b]
    run = "test $(cat /tmp/kept 2>/dev/null || echo none) = none"
    [node.c]
    [node.d]
    kind = "rmnode"
    run = "until rmnode -S $RMLAB_SOCKET read {WORD:#x} | grep -q cafe; do sleep 0.05; done"
    """
    with Place(text) as place:
        status, said = place.run()
        expect(status == 0, said)
        figure("rmlab run from a saved lab: " + said.splitlines()[-1].split(";")[0])
    for complaint, old, new in (("lab.toml:2: there is no saved lab 'none'", QUIET, "none"),
                                ("lab.toml:3: 'size' is not for a lab that was saved", "[node.a]", 'size = "64M"\n    [node.a]'),
                                ("lab.toml:4: node 1 of saved lab", "[node.a]", '[node.a]\n    kind = "rmnode"'),
                                ("lab.toml:4: 'a' was saved with the id 1", "[node.a]", "[node.a]\n    id = 7"),
                                ("lab.toml:8: 'd' is not in saved lab", 'kind = "rmnode"', "")):
        with Place(text.replace(old, new, 1)) as place:
            status, said = place.run()
            expect(status == 2 and complaint in said and said.count("\n") == 1, f"{complaint}: {status} {said}")


def wrong(lab):
    """What cannot be saved, or is not there, is said in one sentence, and the lab goes on"""
    def refused(status, says, *words):
        done = rmlab(*words, check=False)
        expect(done.returncode == status and says in done.stderr and done.stderr.count("\n") == 1, f"{words}: {done}")
    refused(1, "there is no saved lab 'none'; there are ", "up", "--name", "saved-none", "--from", "none")
    refused(1, "there is no saved lab 'none'", "restore", "--name", lab.name, "none")
    refused(2, "only --name may be given", "up", "--name", "saved-none", "--from", QUIET, "--size", "128M")
    refused(2, "is the number of a machine", "save", "--name", lab.name, "7")
    refused(1, "there is no lab", "save", "--name", "saved-none", "x")
    # Its commands are run.
    expect((base_folder() / QUIET).stat().st_mode & 0o77 == 0, "others may write to a saved lab, or read it")
    # As if its memory were another.
    shutil.copytree(base_folder() / QUIET, base_folder() / BAD)
    file = base_folder() / BAD / "lab.json"
    config = json.loads(file.read_text())
    config["sums"][1] ^= 1
    file.write_text(json.dumps(config))
    refused(1, "machine 2 (node 0x2 (2)): the memory of its card is not the one that was saved", "up", "--name",
            "saved-bad", "--from", BAD)
    lab.qmp(2, "stop")
    refused(1, "machine 2 (node 0x2 (2)) is paused", "save", "--name", lab.name, "x")
    lab.qmp(2, "cont")
    lab.verb("kill", 3)
    refused(1, "machine 3 (node 0x3 (3)) is not running", "save", "--name", lab.name, "x")
    lab.test_ring(1)
    expect(not (base_folder() / "x").exists(), "something was saved")


TESTS = [goes_on, busy, up_ended, goes_back, killed, runs, wrong]


def main():
    plan(TESTS)
    try:
        with Lab("saved", 3, "--topology", "hub") as lab:
            return bool(run(TESTS, lab))
    finally:
        for name in NAMES:
            shutil.rmtree(base_folder() / name, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
