#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lab tool's command line is a contract; this is its test."""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from suite import expect, plan, run, wait_for
from labkit import Lab, rmlab


def exec_is_transparent(lab):
    """exec: output, error output and exit status are those of the command"""
    done = lab.run(1, "sh", "-c", "echo out; echo err >&2; exit 7", check=False)
    expect((done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 7), str(done))
    odd = "a b'c\"d$e *"
    expect(lab.out(1, "printf", "%s", odd) == odd, "arguments are not passed as they are")


def push_and_pull(lab):
    """push and pull: a file comes back as it was, mode included"""
    with tempfile.TemporaryDirectory() as folder:
        here, back = Path(folder, "here"), Path(folder, "back")
        here.write_bytes(os.urandom(300_000))
        here.chmod(0o755)
        rmlab("push", "--name", lab.name, 1, here, "/tmp/there")
        lab.run(1, "test", "-x", "/tmp/there")
        rmlab("pull", "--name", lab.name, 1, "/tmp/there", back)
        expect(back.read_bytes() == here.read_bytes(), "contents differ")


def ids(lab):
    """--ids gives node ids, 0 included, printed in both bases"""
    expect(lab.rmctl_json(1, "show", "rfm0")["node"] == 0x11, "machine 1 is not node 0x11")
    expect("0x11 (17)" in lab.out(1, "rmctl", "list"), "not printed as 0x11 (17)")
    expect(lab.rmctl_json(2, "show", "rfm0")["node"] == 0, "machine 2 is not node 0")


def size(lab):
    """--size and a --device-arg for one machine are obeyed"""
    expect(lab.rmctl_json(1, "show", "rfm0")["memory_size"] == 128 << 20, "not 128 MiB")
    expect(lab.rmctl_json(2, "show", "rfm0")["window_size"] == 16 << 20, "not a 16 MiB window")
    expect(lab.rmctl_json(1, "show", "rfm0")["window_size"] == 128 << 20, "machine 1 changed too")


def append(lab):
    """--append reaches the kernel"""
    expect("rmlab.test=1" in lab.out(1, "cat", "/proc/cmdline"), "not on the command line")


def qmp(lab):
    """qmp prints what QEMU answers; a wrong command fails with QEMU's sentence"""
    expect(lab.qmp(1, "query-status")["status"] == "running", "not running")
    done = lab.verb("qmp", 1, "no-such-command", check=False)
    expect(done.returncode == 1 and "no-such-command" in done.stderr, str(done))


def status(lab):
    """status -j is JSON and names every machine"""
    state = json.loads(rmlab("status", "--name", lab.name, "-j").stdout)
    expect(len(state["nodes"]) == 2, str(state))


def log(lab):
    """log prints a machine's console"""
    lab.run(1, "sh", "-c", "echo a mark on the console >/dev/console")
    expect("a mark on the console" in lab.verb("log", 1).stdout, "it is not there")


def wrong_usage(lab):
    """Wrong usage: one sentence, status 2, nothing changed"""
    other = f"{lab.name}-wrong"
    for words in (["up", "--size", "32M"], ["up", "--nodes", "0"], ["up", "--ids", "1,x"],
                  ["up", "--ids", "256"], ["fly"]):
        done = rmlab(*words, "--name", other, check=False)
        expect(done.returncode == 2 and done.stderr.strip(), f"{words}: {done}")
        expect("Traceback" not in done.stderr, f"{words}: {done.stderr}")
    missing = rmlab("exec", "--name", lab.name, "9", "--", "true", check=False)
    expect(missing.returncode == 2 and "9" in missing.stderr, str(missing))
    none = rmlab("status", "--name", other, check=False)
    expect(none.returncode == 1 and other in none.stderr, f"a lab has come up: {none}")


def cut(lab):
    """cut takes the light of one machine only, restore gives it back"""
    def signal_of(node):
        return lab.rmctl_json(node, "list")[0]["signal"]

    def whole():
        for node in lab.nodes:
            wait_for(f"machine {node}'s ring test passes",
                     lambda: lab.run(node, "rmctl", "test", "rfm0", check=False).returncode == 0)

    def losses():
        return [lab.rmctl_json(node, "show", "rfm0")["sync_losses"] for node in lab.nodes]

    before = losses()
    lab.verb("restore", 2)
    whole()
    expect(losses() == before, "a restore without a cut has cut it")
    lab.verb("cut", 2)
    wait_for("machine 2 is dark", lambda: not signal_of(2))
    expect(signal_of(1), "machine 1 has lost its light too")
    expect(lab.run(1, "rmctl", "test", "rfm0", check=False).returncode == 1, "the ring is closed")
    lab.verb("restore", 2)
    lab.verb("restore", 2)
    whole()
    expect(losses() == [before[0], before[1] + 1], f"{before} losses of signal, then {losses()}")


def command_line(path):
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""                       # it has ended meanwhile


def side_by_side(lab):
    """A second lab runs beside the first; down leaves nothing of it, also after a crash"""
    with Lab("rmlab-second", 1) as second:
        expect(second.rmctl_json(1, "show", "rfm0")["node"] == 1, "second lab does not work")
        lab.run(1, "true")
        machine = json.loads(rmlab("status", "--name", second.name, "-j").stdout)["nodes"][0]
        folder = Path(machine["qmp"]).parent.parent
        expect(folder.name == second.name and folder.exists(), f"not its folder: {folder}")
        os.kill(machine["pid"], signal.SIGKILL)
        rmlab("down", "--name", second.name)
        left = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline")
                if second.name in command_line(path)]
        expect(not left, f"processes left: {left}")
        expect(not folder.exists(), f"left behind: {folder}")


TESTS = [exec_is_transparent, push_and_pull, ids, size, append, qmp, status, log, cut, wrong_usage,
         side_by_side]

def main():
    plan(TESTS)
    with Lab("rmlab", 2, "--ids", "0x11,0", "--size", "128M", "--append", "rmlab.test=1",
             "--device-arg", "2:window=16M") as lab:
        failed = run(TESTS, lab)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
