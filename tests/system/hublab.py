#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Machines on a fibre hub: rmlab up --topology hub."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from suite import TOP, clean_kernels, expect, plan, processes_with, run, wait_for
from container import Container, ended
from labkit import Lab, rmlab

TOOLS = TOP / "build" / "tools"
RMHUB = TOOLS / "rmhub"
PROGRAMS = [TOOLS / f"rfm2g-{name}" for name in ("send", "receive", "shell")]
CARD = "/dev/rfm2g0"
MEMBER = 4              # the node that is no machine
ROUNDS, LONG_ROUNDS = 1000, 100_000
LIMIT_S = 600           # ends a program that waits for something in vain


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
    nodes = [port["in"]["peer"]["node"] for port in ports(lab)[:len(lab.nodes)]]
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


@contextmanager
def container_at_port(lab):
    """A container with programs for the RFM2g API, and the sockets of its port: unix:/ring/port."""
    sockets = [Path(ports(lab)[-1][end]["address"].removeprefix("unix:").removesuffix(",server"))
               for end in ("in", "out")]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Container(folder, sockets[0].parent, *PROGRAMS), sockets


def may_do_nothing(container):
    """It has no capability, no device, and a root in which it cannot write."""
    done = container.run("/bin/busybox", "sh", "-c", "PATH=/bin; busybox grep CapEff /proc/self/status;"
                         " busybox ls /; for i in / /bin; do busybox touch $i/new && echo written; done")
    said = done.stdout.split()
    expect(said[:2] == ["CapEff:", "0" * 16] and "ring" in said and not {"dev", "written"} & set(said),
           str(done))


def may_connect(sockets, mode):
    for path in sockets:
        path.chmod(mode)


def all_rounds(done, rounds):
    expect((done.returncode, done.stdout) == (0, f"{rounds} rounds\n"), str(done))


def pair_with_a_container(lab, rounds=ROUNDS):
    """RFM2g programs in a container without privileges and in a machine, both ways: no round is wrong"""
    words = {"RFM_CARD_0": f"ring:unix:/ring/port?node={MEMBER}&size=64M&wait-ms=20000"}
    with container_at_port(lab) as (container, sockets):
        may_do_nothing(container)
        may_connect(sockets, 0o555)
        done = container.run("/bin/rfm2g-send", CARD, 1, rounds, **words)
        expect(done.returncode == 1 and "no permission to connect to unix:/ring/port.out" in done.stderr,
               str(done))
        may_connect(sockets, 0o777)

        # What is left of others in the card's FIFO is none of their rounds.
        container.run("/bin/busybox", "sh", "-c", f"/bin/busybox printf 'send 1 1 {rounds}\\npoke32 "
                      f"{rounds} 0xa000\\n' | /bin/rfm2g-shell", **words)
        wait_for("node 1 has it", lambda: lab.peek(1, 0xa000) == rounds)
        receiver = lab.start(1, "rfm2g-receive", CARD, str(rounds))
        sender = container.start("/bin/rfm2g-send", CARD, 1, rounds, **words)
        all_rounds(ended(sender, LIMIT_S), rounds)
        all_rounds(receiver.wait(LIMIT_S), rounds)

        receiver = container.start("/bin/rfm2g-receive", CARD, rounds, **words)
        sender = lab.start(1, "rfm2g-send", CARD, str(MEMBER), str(rounds))
        all_rounds(sender.wait(LIMIT_S), rounds)
        all_rounds(ended(receiver, LIMIT_S), rounds)


def pair_with_a_container_long(lab):
    """RFM2g programs in a container without privileges and in a machine, a hundred thousand rounds each way"""
    pair_with_a_container(lab, LONG_ROUNDS)


def nothing_is_left(lab):
    """down ends the hub too, also one that was killed"""
    with Lab("hublab-second", 1, "--topology", "hub") as second:
        status = lab_status(second)
        os.kill(status["hub"]["pid"], signal.SIGKILL)
        wait_for("status says dead", lambda: lab_status(second)["hub"]["state"] == "dead")
    with Lab("hublab-third", 1, "--topology", "hub") as third:
        folder = Path(lab_status(third)["hub"]["socket"]).parent.parent
    left = processes_with(second.name) + processes_with(third.name)
    expect(not left and not folder.exists(), f"left behind: {left}")
    expect(lab_status(lab)["hub"]["state"] == "running", "another lab's hub was ended")


TESTS = [is_shown, options_are_passed, stores_arrive, a_machine_dies, a_fibre_is_cut,
         pair_with_a_container, nothing_is_left, clean_kernels]
LONG = [pair_with_a_container_long, clean_kernels]


def main():
    tests, machines = (LONG, 1) if "--long" in sys.argv else (TESTS, 3)
    plan(tests)
    with tempfile.TemporaryDirectory(prefix="hublab-") as folder:
        # The folder of the lab is closed to other users: the last port is elsewhere.
        os.chmod(folder, 0o755)
        shared, config = Path(folder) / "shared", Path(folder) / "config"
        shared.mkdir()
        member = {"in": f"unix:{shared}/port.in,server", "out": f"unix:{shared}/port.out,server"}
        config.write_text(json.dumps({"ports": [{}] * machines + [member]}), encoding="ascii")
        with Lab("hublab", machines, "--topology", "hub", "--hub-arg",
                 f"--queue 65536 --config {config}") as lab:
            return bool(run(tests, lab))


if __name__ == "__main__":
    sys.exit(main())
