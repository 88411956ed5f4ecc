#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A machine in mid-traffic moves to another QEMU, is saved, and goes back to what was saved.

One machine on a hub, with an rmnode as the other member. When it is taken away, a transfer is in
the midst of its bytes and another waits for it, interrupts lie in a FIFO that nobody has read,
programs sleep in watches and listeners, and the member stores on and on. Afterwards each of these
ends as if nothing had been, and what the machine was not there for stands in its books: as frames
that it has missed, each once, for the card, the driver and the monitor alike.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from hublab import lab_status, ports
from lab import lab as labs, process
from members import Control, Node, Place
from schemas import rmctl
from suite import PATIENT, asked, clean_kernels, expect, figure, plan, run, wait_for
from labkit import Lab, RMLAB

MEMBER, PORT = 2, 1
CARD = "/machine/peripheral/rfm0"
# So slow that a transfer is still under way when it is looked at: 5 MB/s.
SLOW = "line=paced,,rate=0.03"

# While the machine stands still its card holds 4096 frames: so that it may for four seconds.
TRAFFIC = {"first": 0x10_0000, "last": 0x1f_ffff, "rate": 1000, "count": 30}
WORD, EQUAL = 0x2000, 0x2040    # what is watched
MIB = 1 << 20
WRITTEN, READ = 8, 48           # MiB: where transfers go to and come from
BLOCK = 8                       # MiB that are written in one transfer
INTERRUPTS = 60                 # half a FIFO

# Programs that sleep: what they say when they miss nothing any more, and do.
SLEEPERS = {
    "update": ("watching", f"rmctl -j watch rfm0 {WORD:#x}+4 -n 1"),
    "equal": ("watching", f"rmctl watch rfm0 {EQUAL:#x}+4 --equal=7 -n 1"),
    "interrupt": ("listening", "rmctl listen rfm0 int1 -n 1"),
    "monitor": ("monitoring", "rmctl -j monitor rfm0"),
}
WRITE = f"dd if=/tmp/data of=/dev/rfm0 bs={BLOCK}M count=1 seek={WRITTEN // BLOCK} conv=notrunc"
READ_BACK = f"dd if=/dev/rfm0 of=/tmp/back bs=1M count=1 skip={READ}"


class Machine:
    """The machine, what runs in it, and who else is on its ring."""

    def __init__(self, lab, place):
        self.lab = lab
        folder = Path(lab_status(lab)["hub"]["socket"]).parent
        self.member = place.add(Node(place.folder, MEMBER, f"unix:{folder}/port{PORT}.out",
                                     f"unix:{folder}/port{PORT}.in", "--memory", "64M")).up()
        wait_for("both are on the ring", lambda: all(port["live"] for port in ports(lab)[:2]))
        lab.test_ring(1)
        self.run(f"head -c {BLOCK * MIB} /dev/urandom >/tmp/data; {WRITE};"
                 f" dd if=/tmp/data of=/dev/rfm0 bs=1M count=1 seek={READ} conv=notrunc")

    def run(self, command, **options):
        return self.lab.out(1, "sh", "-c", command, **options)

    # --- programs that no session of ours has to live for ---

    def begin(self, name, command):
        self.run(f"rm -f /tmp/{name}.*; setsid sh -c '{command} >/tmp/{name}.out 2>/tmp/{name}.err;"
                 f" echo $? >/tmp/{name}.new; mv /tmp/{name}.new /tmp/{name}.end'"
                 " </dev/null >/dev/null 2>&1 &")

    def said(self, name, where="out"):
        return self.run(f"cat /tmp/{name}.{where} 2>/dev/null || :")

    def ended(self, name):
        """Wait for its end, which must be a good one. Returns what it has printed."""
        wait_for(f"{name} ends", lambda: self.said(name, "end"))
        expect(self.said(name, "end") == "0", f"{name} failed: {self.said(name, 'err')}")
        return self.said(name)

    def end_programs(self):
        """The monitor, and what a test that failed has left behind."""
        self.run("killall rmctl dd; while pidof rmctl dd; do :; done")

    # --- the books ---

    def settled(self):
        """Nothing is on its way, of either: what the card has counted, and what it says of the member."""
        self.member.call("fence", timeout_ms=60000)
        self.run("rmctl fence rfm0 -t 60 || :")     # what was lost is told once
        return rmctl(self.lab, 1, "stats", "rfm0", "--absolute")[0]["counters"], self.row()

    def row(self):
        rows = rmctl(self.lab, 1, "map", "rfm0")[0]["members"]
        return next((row for row in rows if row["node"] == MEMBER), None)

    def losses(self):
        """The frames that the monitor has told of as missing."""
        told = [json.loads(line) for line in self.said("monitor").splitlines()]
        expect(not any(event["event"] == "overrun" for event in told), "the monitor had no room")
        return sum(event["missing"] for event in told if event["event"] == "loss")

    # --- in the midst of it ---

    def busy(self):
        """Begin all of it; the engine stands still in the middle, until the card is another's."""
        self.end_programs()
        self.member.call("write", first=EQUAL, data="00000000")
        wait_for("the word is another", lambda: not self.lab.peek(1, EQUAL))
        for name, (ready, command) in SLEEPERS.items():
            self.begin(name, command)
        for name, (ready, command) in SLEEPERS.items():
            wait_for(f"{name} sleeps", lambda: self.said(name, "err").startswith(ready))
        self.before, row = self.settled()
        self.met = self.member.stats()["sent"] - row["received"] - row["missed"]
        self.run("rmctl stats rfm0 --reset; rm -f /tmp/back")
        for data in range(INTERRUPTS):
            self.member.call("send", dest=1, type=2, data=data)
        self.member.call("fence", timeout_ms=60000)
        sent = self.counter("frames-sent")
        self.hang(True)         # else it may end before the session that begins it
        self.begin("write", WRITE)
        self.hang(False)
        wait_for("the transfer is under way", lambda: self.counter("frames-sent") > sent + 1000)
        self.hang(True)
        self.begin("read", READ_BACK)
        wait_for("the next one waits", lambda: self.run("[ ! -e /tmp/back ] || echo it"))
        expect(not self.said("write", "end"), "the transfer has ended already")

    def hang(self, hung):
        self.lab.qmp(1, "qom-set", path=CARD, property="dma-hung", value=hung)

    def counter(self, name):
        return self.lab.qmp(1, "qom-get", path=CARD, property=name)

    @contextmanager
    def traffic(self):
        """The member stores all the time; it has begun."""
        control, over, begun = Control(self.member.path), threading.Event(), threading.Event()

        def store():
            while not over.is_set():
                control.call("load", **TRAFFIC)
                begun.set()
        thread = threading.Thread(target=store)
        thread.start()
        try:
            begun.wait()
            yield
        finally:
            over.set()
            thread.join()
            control.close()

    def goes_on(self):
        """All that was begun ends well, and nothing is missing that is not in the books.

        Returns how many frames of the member the machine has missed.
        """
        self.lab.test_ring(1)
        wait_for("the member is on the map", self.row)
        for name in ("update", "equal", "interrupt"):
            expect(not self.said(name, "end"), f"{name} woke up for nothing: {self.said(name)}")
        self.member.call("write", first=WORD, data="01000000")
        self.member.call("write", first=EQUAL, data="07000000")
        self.member.call("send", dest=1, type=1, data=0x1234)
        expect(json.loads(self.ended("update"))["data"] == "01000000", "the watch tells something else")
        self.ended("equal")
        expect("0x00001234" in self.ended("interrupt"), "the listener hears something else")
        self.unread_interrupts()
        self.transfers()
        return self.balance()

    def unread_interrupts(self):
        heard = self.run(f"rmctl listen rfm0 int2 -n {INTERRUPTS} -t 60").splitlines()
        expect([int(line.split()[-1], 0) for line in heard] == list(range(INTERRUPTS)),
               f"what lay in the FIFO is {heard}")

    def transfers(self):
        """Both have ended with all their bytes; what of them others have not got, a fence tells."""
        self.ended("write")
        self.ended("read")
        self.run("head -c 1048576 /tmp/data | cmp - /tmp/back")
        self.run(f"dd if=/dev/rfm0 bs={BLOCK}M count=1 skip={WRITTEN // BLOCK} | cmp - /tmp/data")

    def balance(self):
        told = rmctl(self.lab, 1, "fence", "rfm0", "-t", "60", check=False)[0]
        card, _ = self.settled()
        lost = card["lost"] - self.before["lost"]
        expect(told["complete"] == (lost == 0), f"{lost} frames were lost, and the fence says {told}")
        self.run(WRITE)
        rmctl(self.lab, 1, "fence", "rfm0", "-t", "60")
        self.run(f"rmctl verify rfm0 {WRITTEN * MIB:#x}+1M")

        def balanced():
            card, row = self.settled()
            received, missed, held = row["received"], row["missed"], card["held_lost"]
            sent = self.member.stats()["sent"] - self.met
            self.sum = f"{sent} sent, {received} received, {missed} missed, {held} held and lost"
            return sent == received + missed + held - self.before["held_lost"]
        try:
            wait_for("all that the member sent is in the books", balanced)
        finally:
            figure(self.sum)
        card, row = self.settled()
        missed = card["missed"] - self.before["missed"]
        expect(card["missed"] == row["missed"], f"{card['missed']} missed in all, {row['missed']} by node")
        expect(card["sent"] == card["home"] + card["lost"], f"own frames that are nowhere: {card}")
        wait_for(f"the monitor tells of the {missed} that are missed", lambda: self.losses() == missed)
        since = rmctl(self.lab, 1, "stats", "rfm0")[0]["counters"]
        expect(since["missed"] == missed, f"since the reset {since['missed']} are missed, not {missed}")
        return missed


# --- live migration -------------------------------------------------------------------------

def folder_of(lab):
    return Path(lab_status(lab)["nodes"][0]["console"]).parent


def stays(lab, _):
    """A machine that cannot be moved goes on where it was; rmlab says why"""
    pid = lab.pid(1)
    in_the_way = folder_of(lab) / "migration"
    in_the_way.mkdir()
    done = lab.verb("migrate", 1, check=False)
    in_the_way.rmdir()
    expect(done.returncode == 1 and done.stderr.count("\n") == 1, str(done))
    expect(lab.pid(1) == pid, "it has another QEMU")
    lab.test_ring(1)


@contextmanager
def held_move(lab):
    """rmlab moves the machine, and at the last moment its QEMU waits. Gives rmlab and the new QEMU's pid."""
    before = lab.pid(1)

    def pause(state):
        lab.qmp(1, "migrate-set-capabilities",
                capabilities=[{"capability": "pause-before-switchover", "state": state}])
    pause(True)
    with subprocess.Popen([RMLAB, "migrate", "--name", lab.name, "1"], text=True,
                          stderr=subprocess.PIPE) as move:
        wait_for("all but the last is there",
                 lambda: lab.qmp(1, "query-migrate").get("status") == "pre-switchover")
        [new] = [pid for pid, _ in process.with_argument_in(folder_of(lab), {"qemu-system-x86_64"})
                 if pid != before]
        yield move, new
        said = move.communicate(timeout=60)[1]
    expect(move.returncode, f"it has moved: {said}")
    expect(lab.pid(1) == before, "it has another QEMU")
    wait_for("the new QEMU has ended", lambda: process.start_time(new) is None)
    wait_for("it goes on", lambda: lab.qmp(1, "query-status")["running"])
    pause(False)
    lab.test_ring(1)


def stays_when_it_fails(lab, _):
    """A machine whose new QEMU dies while it moves goes on where it was"""
    with held_move(lab) as (_, new):
        os.kill(new, signal.SIGKILL)


def stays_when_rmlab_is_ended(lab, _):
    """It does so when rmlab is ended meanwhile, and no QEMU is left behind"""
    with held_move(lab) as (move, _):
        move.terminate()


def moves_paused(lab, _):
    """A machine that is paused moves, and is paused there"""
    pid = lab.pid(1)
    lab.qmp(1, "stop")
    try:
        lab.verb("migrate", 1)
        expect(lab.pid(1) != pid, "it has the same QEMU")
        status = lab.qmp(1, "query-status")["status"]
    finally:
        lab.qmp(1, "cont")
    expect(status == "paused", f"it is {status}")
    lab.test_ring(1)


def moves(lab, machine):
    """It moves to another QEMU in mid-traffic, and what it was away for is missed and counted"""
    pid = lab.pid(1)
    machine.busy()
    losses = rmctl(lab, 1, "stats", "rfm0")[0]["driver"]["sync_losses"]
    with machine.traffic():
        lab.verb("migrate", 1)
    expect(lab.pid(1) != pid, "it has the same QEMU")
    missed = machine.goes_on()
    expect(missed, "the member went on, and nothing is missed")
    now = rmctl(lab, 1, "stats", "rfm0")[0]["driver"]["sync_losses"]
    expect(now == losses + 1, f"the driver has seen {now - losses} losses of the signal")


def moves_on(lab, machine):
    """It moves once more: the books go on from there"""
    moves(lab, machine)


# --- snapshots ------------------------------------------------------------------------------

def job(lab, command, **arguments):
    """A job of QEMU, to its end."""
    lab.qmp(1, command, **{"job-id": "job", **arguments})

    def over():
        jobs = lab.qmp(1, "query-jobs")
        expect(not any("error" in one for one in jobs), f"{command}: {jobs}")
        return all(one["status"] == "concluded" for one in jobs)
    wait_for(command, over)
    lab.qmp(1, "job-dismiss", id="job")


def snapshot(lab, verb):
    job(lab, f"snapshot-{verb}", tag="one", vmstate="disk", devices=["disk"])


def saved(lab, machine):
    """It is saved in mid-traffic: the ring stays whole, and nothing is missed"""
    disk = str(folder_of(lab) / "disk")
    job(lab, "blockdev-create", options={"driver": "file", "filename": disk, "size": 0})
    lab.qmp(1, "blockdev-add", **{"driver": "file", "node-name": "file", "filename": disk})
    job(lab, "blockdev-create", options={"driver": "qcow2", "file": "file", "size": MIB})
    lab.qmp(1, "blockdev-add", **{"driver": "qcow2", "node-name": "disk", "file": "file"})
    machine.busy()
    epoch = machine.settled()[0]["epoch"]
    with machine.traffic():
        snapshot(lab, "save")
    machine.hang(False)
    expect(not machine.goes_on(), "something is missed")
    after = machine.settled()[0]
    expect(after["held_lost"] == machine.before["held_lost"], "frames were dropped while it was saved")
    expect(after["epoch"] == epoch, "somebody left the ring")


def goes_back(lab, machine):
    """It goes back to the midst of what was saved: all ends once more, what came since is missed"""
    labs.Lab(lab.name).machine(1).stop_channels()     # the machine of then knows nothing of them
    with machine.traffic():
        snapshot(lab, "load")
    expect(machine.goes_on(), "what came since it was saved is not missed")


TESTS = [stays, stays_when_it_fails, stays_when_rmlab_is_ended, moves_paused, moves, moves_on, saved, goes_back, clean_kernels]


def main():
    tests = asked(TESTS, moves_on)
    plan(tests)
    with Place("migrate") as place, \
            Lab("migrate", 1, "--topology", "hub", "--hub-arg", "--ports 2 --glitchless",
                "--device-arg", SLOW, *PATIENT) as lab:
        failed = run(tests, lab, Machine(lab, place))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
