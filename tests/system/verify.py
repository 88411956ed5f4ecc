#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmctl verify: the cards of a machine, rmnodes and a stranger have the same, or where not."""

import re
import signal
import struct
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import schemas
from members import Hub, Place
from peer import ANSWER, DATA, HEARTBEAT, QUERY, Peer, answer_data
from rmnode import Member
from suite import PROGRAMS, clean_kernels, device_of_node, expect, extra_cards, plan, run, wait_for
from labkit import Lab

# Node ids; the lab's own card is 1, alone on its ring.
NEAR, FAR, HOST, GUEST, STRANGER, BASE = 0, 17, 33, 34, 35, 19
ALONE = 1
PORTS = {NEAR: 0, FAR: 1, HOST: 2, GUEST: 3, STRANGER: 4}
PAGE = 4096
AREA = "0x100000+64K"
LONG = "0x400000+28M"       # takes some seconds; nobody stores there
PATIENT = ["-t", "60"]      # a member may be held up for a while


class Stranger(Peer):
    """A member whose answers are made here: none, or those of a memory that changes with each."""

    def __init__(self, hub, memory=None, counter=0):
        self.memory, self.counter = memory, counter
        port = PORTS[STRANGER]
        super().__init__(hub.path_in(port), hub.path_out(port), STRANGER)
        self.over = threading.Event()
        self.beats = threading.Thread(target=self._beat)
        self.beats.start()

    def _beat(self):
        while not self.over.wait(0.2):
            self.send(HEARTBEAT)

    def send(self, *words, **fields):
        with self.changed:              # numbers in their order
            return super().send(*words, **fields)

    def _take(self, wire):
        super()._take(wire)
        if wire[:2] == b"RF" and wire[3] == QUERY and self.memory:
            self._answer(wire[4], *struct.unpack("<QII", wire[48:64]))

    def _answer(self, source, ticket, address, length):
        """What it stores just before is in the answer, and comes to who asked behind it."""
        word = struct.pack("<I", int.from_bytes(self.memory[self.counter:self.counter + 4],
                                                "little") + 1)
        self.memory[self.counter:self.counter + 4] = word
        self.send(DATA, word, address=self.counter)
        self.send(ANSWER, answer_data(ticket, bytes(self.memory[address:address + length])),
                  dest=source)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.beats.join()
        self.close()


class Bench:
    """A hub with near, far and host, and free ports for a guest and a mute."""

    def __init__(self, lab, hub):
        self.lab, self.hub = lab, hub
        self.near, self.far, self.base, self.alone = (
            device_of_node(lab, 1, node) for node in (NEAR, FAR, BASE, ALONE))
        self.memory = Path(hub.folder, "memory")
        self.host = self.member(HOST, "--memory-file", str(self.memory))

    def member(self, node, *options):
        port = PORTS[node]
        return Member(self.hub.folder, node, self.hub.rx(port), self.hub.tx(port), *options,
                      memory="32M")

    def closed(self):
        for card in self.near, self.far:
            self.lab.test_ring(1, card)

    def members(self, *nodes):
        wait_for(f"near sees {nodes}", lambda: {
            member["node"] for member in self.lab.rmctl_json(1, "map", self.near)["members"]} ==
                 {NEAR, *nodes})

    def run(self, *words, card=None):
        """Its exit status, what it prints, and what it complains of."""
        done = self.lab.run(1, "rmctl", "verify", card or self.near, *PATIENT, *words, check=False)
        return done.returncode, done.stdout, done.stderr

    def refused(self, sentence, *words, card=None, verb="verify", status=3):
        card = card or self.near
        done = self.lab.run(1, "rmctl", verb, card, *words, check=False)
        expect((done.returncode, done.stdout, done.stderr) ==
               (status, "", f"rmctl: {card}: {verb}: {sentence}\n"), str(done))

    def json(self, *words, status, card=None):
        """The object, and its nodes by id."""
        code, out, err = self.run("-j", *words, card=card)
        return self.found(code, out, err, status)

    @staticmethod
    def found(code, out, err, status):
        found = schemas.fitting("verify", out)
        if status is None:
            status = {True: 0, False: 1, None: 4}[found["equal"]]
        expect((code, err) == (status, ""), f"status {code}, '{err}', {out}")
        return found, {node["node"]: node for node in found["nodes"]}

    def poke(self, offset, value, card=None):
        self.lab.run(1, "rmctl", "poke", card or self.near, hex(offset), hex(value))

    def word(self, offset):
        """What the host has there."""
        with self.memory.open("rb") as memory:
            memory.seek(offset)
            return int.from_bytes(memory.read(4), "little")

    def poke_host(self, offset, value, card=None):
        """A word becomes another; returns when the host has it, too."""
        self.poke(offset, value, card)
        wait_for("the host has it", lambda: self.word(offset) == value)

    def behind_the_ring(self, offset, value):
        """A byte of the host's memory becomes another there alone; no store to it is under way."""
        with self.memory.open("r+b") as memory:
            memory.seek(offset)
            memory.write(bytes([value]))

    def equal(self):
        found, nodes = self.json(AREA, status=0)
        expect(found["equal"] and found["pages"] == 16 and set(nodes) == {FAR, HOST}, str(found))
        expect(all(node["equal"] and node["answered"] and node["first_offset"] is None
                   for node in nodes.values()), str(found))

    def asked(self):
        """How many frames near has sent: each page is at least two."""
        return self.lab.qmp(1, "qom-get", path="/machine/peripheral/near", property="frames-sent")

    @contextmanager
    def standing_still(self):
        """The host's process holds up the ring."""
        self.host.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.host.process.send_signal(signal.SIGCONT)
        self.closed()
        self.members(FAR, HOST)

    @contextmanager
    def slow_fences(self, seconds):
        """Each of near's takes as long to come home, and so does all behind it."""
        self.hub.fault(kind="delay", type="fence", source=NEAR, port=PORTS[NEAR], time=seconds,
                       count=0)
        try:
            yield
        finally:
            self.hub.clear()

    def started(self, verb, *words, frames=0):
        """A command that is under way: it has sent more than so many frames."""
        before = self.asked()
        running = self.lab.start(1, "rmctl", verb, self.near, *words)
        wait_for("it is under way", lambda: self.asked() > before + frames)
        return running

    def long_run(self, *words, patience=PATIENT):
        """A verification of many pages that is under way: each question takes 10 ms."""
        self.hub.fault(kind="delay", type="fence", source=NEAR, port=PORTS[NEAR], time=0.01, count=0)
        return self.started("verify", *patience, *words, frames=100)

    def stop(self):
        """Ctrl-Z; returns when it stands."""
        self.lab.run(1, "killall", "-STOP", "rmctl")
        wait_for("it stands", lambda: "(stopped)" in self.lab.out(
            1, "sh", "-c", "grep State: /proc/$(pidof rmctl)/status"))

    def end_of(self, running):
        """Its exit status, what it prints, and what it complains of."""
        done = running.wait()
        self.hub.clear()
        return done.returncode, done.stdout, done.stderr

    def fails(self, running, sentence):
        """It ends with this sentence, a regular expression."""
        code, out, err = self.end_of(running)
        expect((code, out) == (3, "") and
               re.fullmatch(f"rmctl: {self.near}: verify: {sentence}\n", err),
               f"status {code}, {out}, {err}")


def everything_is_equal(bench):
    """Where all have the same it says so, of a range, a page and a few bytes"""
    bench.lab.run(1, "sh", "-c", "head -c 65536 /dev/urandom | "
                  f"dd of=/dev/{bench.near} bs=65536 seek=16 iflag=fullblock conv=notrunc")
    bench.equal()
    code, out, err = bench.run("0x100003+5")
    expect(code == 0 and not err and out.splitlines() == [
        f"{bench.near}: 5 B from 0x100003 on, compared with this node's",
        "  0x11 (17): equal", "  0x21 (33): equal"], out + err)


def all_of_it(bench):
    """Without a range it is the whole memory, windows or not; who joins meanwhile is asked, too"""
    bench.behind_the_ring(0x1abcdef, 0x5a)
    running = bench.long_run("-j")
    guest = bench.member(GUEST)
    try:
        found, nodes = bench.found(*bench.end_of(running), 1)
        expect((found["offset"], found["length"], found["pages"]) == (0, 64 << 20, 16384),
               str(found))
        expect(found["base_policy"] == "all" and nodes[FAR]["equal"], str(found))
        expect((nodes[HOST]["first_offset"], nodes[HOST]["differing_pages"],
                nodes[HOST]["there"], nodes[HOST]["beyond_bytes"]) ==
               (0x1abcdef, 1, "0x5a000000", 32 << 20), str(found))
        # For what was before it has not answered.
        expect(nodes[GUEST]["answered"] and 100 < nodes[GUEST]["unanswered_pages"] < 16384 and
               not nodes[GUEST]["equal"], str(found))
        bench.members(FAR, HOST, GUEST)
        _, nodes = bench.json(AREA, status=1)
        expect(nodes[GUEST]["differing_pages"] and not nodes[GUEST]["unanswered_pages"],
               str(nodes))
    finally:
        guest.stop()
    bench.behind_the_ring(0x1abcdef, 0)
    bench.members(FAR, HOST)


def one_node_stands_still(bench):
    """What a node that stands still does not have is found to the byte, from every other node"""
    bench.host.call("pause")
    bench.poke(0x104abc, 0x11223344)
    bench.poke(0x109000, 0x55)
    try:
        found, nodes = bench.json(AREA, status=1)
        expect(nodes[FAR]["equal"] and not nodes[FAR]["behind"], str(found))
        expect(nodes[HOST]["behind"] and nodes[HOST]["differing_pages"] == 2 and
               nodes[HOST]["first_offset"] in range(0x104abc, 0x104ac0), str(found))
        expect(nodes[HOST]["here"] == "0x11223344", str(found))
        code, out, _ = bench.run(AREA)
        expect(code == 1 and f"  0x21 (33): first differs at {nodes[HOST]['first_offset']:#010x}: "
               f"0x11223344 here, {nodes[HOST]['there']} there; 2 of 16 pages; it stands still, "
               "and may have more to store" in out.splitlines(), out)
        # Its heartbeat tells the others, and by it the node is named.
        wait_for("it is known to stand still", lambda: HOST in {
            member["node"] for member in bench.lab.rmctl_json(1, "map", bench.near)["members"]
            if member["paused"]})
        bench.refused("a node stands still, and has yet to store them; node 0x21 (33) stands still",
                      *PATIENT, verb="fence", status=1)
    finally:
        bench.host.call("resume")
    bench.equal()


def a_byte_differs(bench):
    """What stands in one memory alone is found: the byte, the word here and there, the page"""
    bench.poke_host(0x105008, 0x600d)
    bench.behind_the_ring(0x105009, 0x61)
    found, nodes = bench.json(AREA, status=1)
    expect(nodes[FAR]["equal"] and not found["equal"], str(found))
    expect({key: nodes[HOST][key] for key in
            ("first_offset", "here", "there", "differing_pages", "behind", "answered")} ==
           {"first_offset": 0x105009, "here": "0x0000600d", "there": "0x0000610d",
            "differing_pages": 1, "behind": False, "answered": True}, str(found))
    code, out, _ = bench.run(AREA)
    expect(code == 1 and "  0x21 (33): first differs at 0x00105009: 0x0000600d here, 0x0000610d "
           "there; 1 of 16 pages" in out.splitlines(), out)
    # From the other card of this machine it is the same, and a page beside it is equal.
    _, nodes = bench.json(AREA, status=1, card=bench.far)
    expect(nodes[NEAR]["equal"] and nodes[HOST]["first_offset"] == 0x105009, str(nodes))
    bench.json("0x106000+4K", status=0)
    bench.poke(0x105008, 0x600d)
    bench.equal()


def traffic(bench):
    """A page that is written all the time is said to change; a word in it that differs is found"""
    area, memory = "0x200000+64K", bytearray(3 << 20)       # nobody else stores there
    with Stranger(bench.hub, memory, counter=0x203008):
        bench.members(FAR, HOST, STRANGER)
        found, nodes = bench.json(area, status=4)
        expect({key: nodes[STRANGER][key] for key in
                ("equal", "compared_pages", "differing_pages", "changing_pages", "changing_offset")} ==
               {"equal": None, "compared_pages": 15, "differing_pages": 0, "changing_pages": 1,
                "changing_offset": 0x203000}, str(found))
        expect((found["equal"], nodes[HOST]["equal"], nodes[HOST]["compared_pages"],
                nodes[HOST]["changing_pages"], nodes[HOST]["changing_offset"]) ==
               (None, True, 16, 0, None), str(found))
        code, out, _ = bench.run(area)
        expect(code == 4 and "  0x23 (35): equal as far as compared; 1 of 16 pages change all the "
               "time, the first at 0x00203000" in out.splitlines(), out)
        code, out, _ = bench.run("0x203000+4K")
        expect(code == 4 and "  0x23 (35): not compared; 1 of 1 pages change all the time, the first "
               "at 0x00203000" in out.splitlines(), out)
        memory[0x203e01] = 0x77
        memory[0x207000] = 0x77
        found, nodes = bench.json(area, status=1)
        expect((nodes[STRANGER]["first_offset"], nodes[STRANGER]["there"],
                nodes[STRANGER]["differing_pages"], nodes[STRANGER]["changing_pages"],
                nodes[STRANGER]["compared_pages"]) ==
               (0x203e01, "0x00007700", 2, 0, 16) and nodes[HOST]["equal"], str(found))
    bench.members(FAR, HOST)


def smaller_memory(bench):
    """What lies behind the end of a smaller memory is not compared, and that is said"""
    found, nodes = bench.json("0x1fff000+8K", status=4)
    expect(nodes[FAR]["beyond_bytes"] == 0 and nodes[HOST]["beyond_bytes"] == PAGE, str(nodes))
    expect((found["equal"], nodes[FAR]["equal"], nodes[HOST]["equal"]) == (None, True, None) and
           nodes[HOST]["compared_pages"] == 1, str(found))
    code, out, _ = bench.run("0x1fff000+8K")
    expect(code == 4 and "  0x21 (33): equal as far as compared; 4 KiB of it not compared: they lie "
           "outside its memory" in out.splitlines(), out)
    code, out, _ = bench.run("0x2000000+8K")
    expect(code == 4 and "  0x21 (33): not compared; 8 KiB of it not compared: they lie outside its "
           "memory" in out.splitlines(), out)
    # What differs before it is found nevertheless, and that is status 1.
    bench.poke_host(0x1fff000, 0x1234, card=bench.far)  # near's window ends before
    bench.behind_the_ring(0x1fff000, 0x35)
    found, nodes = bench.json("0x1fff000+8K", status=1)
    expect(found["equal"] is False and nodes[HOST]["equal"] is False, str(found))
    bench.poke(0x1fff000, 0, card=bench.far)


def offsets(bench):
    """Addresses are those of the network: cards with another offset are compared where they meet"""
    def offset(card, value):
        bench.lab.run(1, "rmctl", "set", card, f"offset={value}")

    def met():
        """The nodes that have what stands in the area of near."""
        found, nodes = bench.found(*bench.run("-j", AREA), None)
        expect(all(node["beyond_bytes"] in (0, 64 << 10) and
                   node["equal"] is (None if node["beyond_bytes"] else True)
                   for node in nodes.values()), str(nodes))
        return {node for node in nodes if not nodes[node]["beyond_bytes"]}

    seen = [met()]
    for card, value in ((bench.far, "64M"), (bench.near, "64M"), (bench.far, "0"),
                        (bench.near, "0")):
        offset(card, value)
        seen.append(met())
    expect(seen == [{FAR, HOST}, {HOST}, {FAR}, set(), {FAR, HOST}], str(seen))
    bench.equal()


def own_policy(bench):
    """What this node has not subscribed to differs, and it warns of that"""
    bench.lab.run(1, "rmctl", "set", bench.near, "policy=none")
    try:
        bench.poke(0x107000, ~bench.word(0x107000) & 0xffffffff, card=bench.far)
        code, out, err = bench.run(AREA)
        expect(code == 1 and out.count("first differs at 0x00107000") == 2 and
               err == f"rmctl: {bench.near}: verify: this node's base policy is none: what nobody "
               "here has subscribed to is neither received nor sent, and differs rightly\n",
               f"{out}{err}")
        found, _ = bench.json(AREA, status=1)
        expect(found["base_policy"] == "none", str(found))
        # Who has all is not warned.
        found, nodes = bench.json(AREA, status=1, card=bench.far)
        expect(found["base_policy"] == "all" and nodes[HOST]["equal"] and
               nodes[NEAR]["first_offset"] == 0x107000, str(found))
    finally:
        bench.lab.run(1, "rmctl", "set", bench.near, "policy=all")
    bench.poke(0x107000, 0, card=bench.far)
    bench.equal()


def names(bench):
    """What lies where they differ is named, and its values are printed in their type"""
    bench.lab.run(1, "sh", "-c", "printf 'rfm-regions: 1\nregions:\n  pump: {offset: 0x108000, "
                  "size: 16, fields: {pressure: {offset: 4, type: float, unit: bar}}}\n' "
                  ">/tmp/regions.yaml")
    bench.poke_host(0x108004, 0x40900000)               # 4.5
    bench.behind_the_ring(0x108006, 0xa0)               # 5
    done = bench.lab.run(1, "rmctl", "-R", "/tmp/regions.yaml", "verify", bench.near, "pump",
                         check=False)
    expect(done.returncode == 1 and "  0x21 (33): first differs at 0x00108006 pump.pressure: 4.5 bar "
           "here, 5 bar there; 1 of 1 pages" in done.stdout.splitlines(), str(done))
    found, nodes = bench.json("-R", "/tmp/regions.yaml", "pump", status=1)
    expect(nodes[HOST]["name"] == "pump.pressure" and nodes[FAR]["name"] is None, str(found))
    bench.poke(0x108004, 0)


def many_pages(bench):
    """Several pages are asked for with one question, so that a slow ring takes less long"""
    with bench.slow_fences(0.05):
        before = bench.asked()
        bench.json("0x200000+1M", status=0)
        asked = bench.asked() - before
    expect(asked < 256, f"{asked} frames for 256 pages")


def two_at_once(bench):
    """Several at the same time, on both cards, do not disturb each other"""
    runs = [bench.lab.start(1, "rmctl", "verify", "-j", *PATIENT, card, "0x100000+1M")
            for card in (bench.near, bench.far, bench.near)]
    for number, running in enumerate(runs):
        found, _ = bench.found(0, running.finish(), "", 0)
        expect(found["equal"] and found["pages"] == 256, f"{number}: {found}")


def rights(bench):
    """It takes a card that is open for writing, and no other right"""
    bench.lab.run(1, "sh", "-c", "echo 'user:x:1000:1000::/:/bin/sh' >>/etc/passwd")

    def as_user(mode):
        bench.lab.run(1, "chmod", mode, f"/dev/{bench.near}")
        return bench.lab.run(1, "su", "-c", f"rmctl verify -t 60 {bench.near} {AREA}", "--",
                             "user", check=False)

    try:
        done = as_user("666")
        expect(not done.returncode and not done.stderr and done.stdout.count(": equal\n") == 2,
               str(done))
        for mode in "444", "600":
            done = as_user(mode)
            expect((done.returncode, done.stdout, done.stderr) == (
                3, "", f"rmctl: {bench.near}: verify: cannot open /dev/{bench.near} for writing: "
                "Permission denied\n"), f"{mode}: {done}")
    finally:
        bench.lab.run(1, "chmod", "600", f"/dev/{bench.near}")


def interrupted(bench):
    """Ctrl-C ends it between two pages, and it says how far it was"""
    running = bench.long_run()
    bench.lab.run(1, "killall", "-INT", "rmctl")
    bench.fails(running, "interrupted: only the first [1-9].* of 64 MiB have been compared")


def fence_takes_long(bench):
    """A fence ends in time; who comes meanwhile is seen; verify's by Ctrl-C, and not by Ctrl-Z"""
    # Long, as the machine itself may stand still for a while, or what is done meanwhile take long.
    with bench.slow_fences(3):
        bench.refused("the fence before it has not come home within 100 ms", "-t", "100ms", AREA)
        done = bench.lab.run(1, "rmctl", "fence", bench.near, "-t", "100ms", check=False)
        expect(done.returncode == 1 and "fence: it has not come home within 100 ms" in done.stderr,
               str(done))
    # Both are home: none is taken for the next.
    bench.lab.run(1, "rmctl", "fence", bench.near, *PATIENT)
    with bench.slow_fences(4):
        running = bench.started("fence", *PATIENT)
        with Stranger(bench.hub):
            code, out, err = bench.end_of(running)
    expect((code, out) == (1, "") and
           err.startswith(f"rmctl: {bench.near}: fence: nodes came or went meanwhile"), f"{out}{err}")
    with bench.slow_fences(8):
        running = bench.started("verify", *PATIENT, AREA)
        bench.stop()
        for name in "-CONT", "-INT":
            bench.lab.run(1, "killall", name, "rmctl")
        bench.fails(running, "interrupted: only the first 0 B of 64 KiB have been compared")
    bench.members(FAR, HOST)


def somebody_leaves(bench):
    """Who leaves meanwhile has not answered for the rest; the others have"""
    guest = bench.member(GUEST)
    try:
        bench.members(FAR, HOST, GUEST)
        running = bench.long_run(LONG)
    finally:
        guest.stop()
    code, out, err = bench.end_of(running)
    told = re.fullmatch(f"{bench.near}: 28 MiB from 0x400000 on, compared with this node's\n"
                        "  0x11 \\(17\\): equal\n  0x21 \\(33\\): equal\n"
                        "  0x22 \\(34\\): equal as far as compared; no answer for ([0-9]+) "
                        "pages\n", out)
    expect(code == 4 and not err and told and 100 < int(told[1]) < 7168, f"{out}{err}")
    bench.members(FAR, HOST)


def somebody_is_silent(bench):
    """A member that answers no questions is said to be silent, and is not waited for"""
    with Stranger(bench.hub):
        bench.members(FAR, HOST, STRANGER)
        found, nodes = bench.json(AREA, status=4)
        expect(nodes[HOST]["equal"] and nodes[FAR]["equal"] and found["equal"] is None, str(found))
        expect(not nodes[STRANGER]["answered"] and nodes[STRANGER]["unanswered_pages"] == 16 and
               not nodes[STRANGER]["differing_pages"], str(found))
        code, out, _ = bench.run(AREA)
        expect(code == 4 and "  0x23 (35): did not answer" in out.splitlines(), out)
    bench.members(FAR, HOST)


def frozen(bench):
    """While a member holds up the ring it says so"""
    running = bench.long_run(patience=[])
    with bench.standing_still():
        bench.fails(running, "the ring has not brought the question for 0x[0-9a-f]+ back within "
                    "1000 ms")
    bench.equal()


def queue_full(bench):
    """Where the question finds no room in the card's queue nothing is asked: ENOBUFS"""
    running = bench.long_run()
    bench.stop()
    full = bench.lab.start(1, "sh", "-c", f"{PROGRAMS}verify_test -q /dev/{bench.near} && "
                           "killall -CONT rmctl")
    expect(full.line() == "ready", "it does not begin")
    with bench.standing_still():
        full.finish()
        bench.fails(running, "no room on the ring for the question for 0x[0-9a-f]+: this node's "
                    "queue is full")
    bench.equal()


def other_cards(bench):
    """A plain 5565 cannot ask, and a card alone on its ring has nobody to ask"""
    bench.refused("the card has no extension block", card=bench.base)
    bench.refused("no other node is on the ring", card=bench.alone, status=4)
    bench.refused("no other node is on the ring", "0x1000+16", card=bench.alone, status=4)


def misuse(bench):
    """Errors are one sentence"""
    for area, count, offset in (("0x10000000+4K", 4096, 0x10000000),
                                ("0x3fffffc+5", 5, 0x3fffffc)):
        bench.refused(f"{count} bytes at offset {offset:#x} are out of range: the memory ends at "
                      "0x4000000", area)
    bench.refused("range '0x2000-0x1000' ends before it begins (see 'rmctl verify --help')",
                  "0x2000-0x1000", status=2)


def dark(bench):
    """In the dark nothing is compared, and it says why"""
    running = bench.long_run()
    bench.lab.run(1, "rmctl", "set", bench.near, "transmit=off")
    bench.fails(running, "nothing leaves this node any more, from 0x[0-9a-f]+ on: no signal, or "
                "its transmitter is off")
    bench.refused("nothing leaves this node: no signal, its transmitter is off, or its queue is "
                  "full", AREA)


TESTS = [everything_is_equal, all_of_it, one_node_stands_still, a_byte_differs, traffic,
         smaller_memory, offsets, own_policy, names, many_pages, two_at_once, rights, interrupted,
         fence_takes_long, somebody_leaves, somebody_is_silent, frozen, queue_full, other_cards,
         misuse, dark]


def cards(place, hub):
    """On the hub near, whose window is small, and far; and a plain card."""
    words = []
    for node, more in (NEAR, ",id=near,window=16M"), (FAR, ""):
        port = PORTS[node]
        words += ["-chardev", f"socket,id=rx{node},path={hub.path_out(port)},reconnect-ms=100",
                  "-chardev", f"socket,id=tx{node},path={hub.path_in(port)},reconnect-ms=100",
                  "-device", f"rfm5565,node-id={node},rx=rx{node},tx=tx{node}{more}"]
    return [arg for word in words for arg in ("--qemu-arg", word)] + extra_cards(
        [(BASE, f"path={place.folder}/base", f"path={place.folder}/base", ",extension=off")])


def main():
    tests = [*TESTS, lambda bench: clean_kernels(bench.lab)]
    tests[-1].__doc__ = clean_kernels.__doc__
    with Place("verify") as place:
        hub = Hub(place, len(PORTS), "--glitchless")
        with Lab("verify", 1, *cards(place, hub)) as lab:
            bench = Bench(lab, hub)
            bench.closed()
            bench.members(FAR, HOST)
            plan(tests)
            try:
                return bool(run(tests, bench))
            finally:
                bench.host.stop()


if __name__ == "__main__":
    sys.exit(main())
