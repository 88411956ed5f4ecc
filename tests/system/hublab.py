#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Machines on a fibre hub: rmlab up --topology hub."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from suite import TOP, clean_kernels, expect, plan, run, wait_for
from labkit import Lab, rmlab

RMHUB = TOP / "build" / "tools" / "rmhub"


def lab_status(lab):
    return json.loads(rmlab("status", "--name", lab.name, "-j").stdout)


def hub(lab, *words):
    """A word to the lab's hub; returns what it prints."""
    done = subprocess.run([RMHUB, "-S", lab_status(lab)["hub"]["socket"], *words], text=True,
                          capture_output=True, timeout=60, check=False)
    expect(done.returncode == 0, f"rmhub {words}: {done.stderr}")
    return done.stdout


def ports(lab):
    return json.loads(hub(lab, "status", "-j"))["ports"]


def all_pass(lab, nodes=None):
    for node in nodes or lab.nodes:
        lab.test_ring(node)


def is_shown(lab):
    """status names the hub, its process and its socket; the hub has a card at each port"""
    status = lab_status(lab)
    expect(status["topology"] == "hub" and status["hub"]["state"] == "running", status)
    expect(Path(status["hub"]["socket"]).exists(), "no control socket")
    expect("hub: running pid" in rmlab("status", "--name", lab.name).stdout, "not printed")
    all_pass(lab)
    nodes = [port["in"]["peer"]["node"] for port in ports(lab)]
    expect(nodes == list(lab.nodes), f"cards at the ports: {nodes}")


def options_are_passed(lab):
    """--hub-arg reaches the hub; without a hub it is refused"""
    queue = json.loads(hub(lab, "status", "-j"))["queue"]
    expect(queue == 65536, f"a queue of {queue}")
    done = rmlab("up", "--name", f"{lab.name}-other", "--hub-arg", "--glitchless", check=False)
    expect(done.returncode == 2 and "--topology hub" in done.stderr, str(done))


def stores_arrive(lab):
    """A store of each node arrives at the others"""
    for writer in lab.nodes:
        lab.poke(writer, 0x8000 + 4 * writer, 100 + writer)
        for reader in lab.nodes:
            wait_for(f"node {reader} has node {writer}'s store",
                     lambda: lab.peek(reader, 0x8000 + 4 * writer) == 100 + writer)


def a_machine_dies(lab):
    """A machine dies: the others' ring stays closed; it comes back"""
    lab.verb("kill", 2)
    wait_for("the hub bypasses its port", lambda: not ports(lab)[1]["live"])
    all_pass(lab, (1, 3))
    lab.poke(1, 0x9000, 1)
    wait_for("node 3 has it", lambda: lab.peek(3, 0x9000) == 1)
    lab.verb("start", 2)
    all_pass(lab)
    expect(lab.peek(2, 0x9000) == 0, "what was stored meanwhile was replayed")


def a_fibre_is_cut(lab):
    """A cut fibre is a sync loss for its card and nobody else's trouble"""
    losses = lab.rmctl_json(2, "show", "rfm0")["sync_losses"]
    hub(lab, "cut", "1", "both")
    wait_for("node 2 latches it", lambda: lab.rmctl_json(2, "show", "rfm0")["sync_losses"] > losses)
    expect(lab.run(2, "rmctl", "test", "rfm0", check=False).returncode == 1, "node 2's ring test passes")
    all_pass(lab, (1, 3))
    hub(lab, "restore", "1")
    all_pass(lab)


def command_line(path):
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""                       # it has ended meanwhile


def nothing_is_left(lab):
    """down ends the hub too, also one that was killed"""
    with Lab("hublab-second", 1, "--topology", "hub") as second:
        status = lab_status(second)
        os.kill(status["hub"]["pid"], signal.SIGKILL)
        wait_for("status says dead", lambda: lab_status(second)["hub"]["state"] == "dead")
    with Lab("hublab-third", 1, "--topology", "hub") as third:
        folder = Path(lab_status(third)["hub"]["socket"]).parent.parent
    left = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline")
            if third.name in command_line(path) or second.name in command_line(path)]
    expect(not left and not folder.exists(), f"left behind: {left}")
    expect(lab_status(lab)["hub"]["state"] == "running", "another lab's hub was ended")


TESTS = [is_shown, options_are_passed, stores_arrive, a_machine_dies, a_fibre_is_cut,
         nothing_is_left, clean_kernels]


def main():
    plan(TESTS)
    with Lab("hublab", 3, "--topology", "hub", "--hub-arg", "--queue 65536") as lab:
        failed = run(TESTS, lab)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
