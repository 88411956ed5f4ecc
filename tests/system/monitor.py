#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rmctl -j monitor` tells: each of its events is made to happen; so are the causes that
`rmctl show` names, where tests/guest/rmctl_config_test.sh does not.

One machine on a hub, with an rmnode as the other member; besides a card on a slow ring of its
own, and one on a fibre that takes nearly nothing. A local memory parity error (the event
`parity`) does not happen on this card: that one is only looked up in the tables.
"""

import json
import queue
import re
import struct
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import peer
from hublab import hub, lab_status, ports
from members import Node, Place
from schemas import FOLDER, fitting, rmctl
from suite import (PATIENCE_S, PROGRAMS, TOP, clean_kernels, device_of_node, expect, extra_cards, plan, run,
                   wait_for)
from labkit import Failed, Lab

MEMBER, THIRD, STRANGER, SLOW, FLOODED = 2, 3, 4, 30, 31       # node ids beside the lab's own
PORT, FREE_PORT = 1, 2                  # the machine is at port 0
NOBODY = 200                            # a node id that nobody has
HELD = 4096                             # updates, and as many events, are kept for a paused machine
SLOW_CARD = "id=slow,line=paced,,rate=0.01,frames-in-flight=16,stall-limit-ms=0"
FLOODED_CARD = "line=paced,,rate=0.001" # 0.8 ms a packet of 64 bytes
TRANSMIT_FIFO = 1024 * 256 * 2          # packets: twice what all nodes of a ring may have under way
BEYOND = 64 << 20                       # the end of the card's memory

# Told beside the notices of the netlink family.
OTHERS = {"created", "changed", "deleted", "overrun"}
NEVER = {"parity", "complete"}      # this one in remote_cards.py


# --- the monitor ------------------------------------------------------------------------

class Monitor:
    """`rmctl -j monitor` on the machine, for all cards; a thread reads, so that a wait can end."""

    def __init__(self, lab, card):
        self.lab, self.card = lab, card
        self.running = lab.start(1, "rmctl", "-j", "monitor")
        self.process = self.running.process
        said = self.process.stderr.readline()
        expect(said.startswith("monitoring all cards"), f"it does not monitor: {said}")
        self.lines = queue.SimpleQueue()
        self.seq = None
        self.told = set()
        self.led = False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def number(self, told):
        """Nothing is missing but what an overrun is about, of a card or of this socket."""
        seq, lost = told["seq"], told["lost"] or 0
        expect(self.seq is None or seq == self.seq + 1 + lost,
               f"number {seq} came behind {self.seq}, with {lost} lost: {told}")
        self.seq = seq - (told["device"] is None)

    def next(self, end):
        """The next line, whatever it tells; it fits the schema."""
        try:
            line = self.lines.get(timeout=max(0, end - time.monotonic()))
        except queue.Empty:
            raise Failed("the monitor does not tell of it") from None
        if not line:
            raise Failed(f"the monitor has ended: {self.process.stderr.read()}")
        told = fitting("monitor", line)
        self.number(told)
        expect(told["event"] in OTHERS or told["count"] >= 1, f"told of none: {told}")
        if told["device"]:              # else this socket had no room
            self.told.add(told["event"])
        return told

    def tells(self, event, device=None, **fields):
        """Wait for this event, which has these fields; what else it tells is passed over.

        It is about the card that is on the hub, if not said otherwise.
        """
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                told = self.next(end)
            except Failed as problem:
                raise Failed(f"{event}: {problem}") from problem
            if (told["event"], told["device"]) == (event, device or self.card):
                for name, value in fields.items():
                    expect(told[name] == value, f"{name} is not {value}: {told}")
                return told

    def tells_all(self, events):
        """Wait for these events of the card, in any order. Returns the first of each."""
        end = time.monotonic() + PATIENCE_S
        seen = {}
        while not events <= set(seen):
            told = self.next(end)
            if told["device"] == self.card:
                seen.setdefault(told["event"], told)
        return seen

    def anew(self):
        """What happened to the card before is told before a change that is made now.

        What it counts begins anew. Where there was no room, the change may have got lost, too.
        """
        self.lab.run(1, "rmctl", "stats", self.card, "--reset")
        end = time.monotonic() + PATIENCE_S
        told = {"event": "overrun"}
        while (told["event"] != "changed" or told["device"] != self.card
               or told["changed"].get("led") is not self.led):
            if told["event"] == "overrun":
                self.led = not self.led
                self.lab.run(1, "rmctl", "set", self.card, f"led={'on' if self.led else 'off'}")
            told = self.next(end)

    def stop(self):
        self.running.stop()


# --- the ring ---------------------------------------------------------------------------

class Ring:
    """The hub of the lab, its other member, and the monitor."""

    def __init__(self, lab, place):
        self.lab, self.place = lab, place
        self.folder = Path(lab_status(lab)["hub"]["socket"]).parent
        self.member = self.join(MEMBER, PORT)
        self.card, self.slow, self.flooded = (device_of_node(lab, 1, node)
                                              for node in (1, SLOW, FLOODED))
        self.found = set()
        self.settled({1, MEMBER})
        self.monitor = Monitor(lab, self.card)
        self.tells, self.anew = self.monitor.tells, self.monitor.anew

    def path(self, port, way):
        return f"{self.folder}/port{port}.{way}"

    def join(self, node, port):
        """A member that sends a frame for each store."""
        return self.place.add(Node(self.place.folder, node, f"unix:{self.path(port, 'out')}",
                                   f"unix:{self.path(port, 'in')}", "--memory", "1M",
                                   "--unpacked")).up()

    @contextmanager
    def stranger(self):
        """A member at the free port that says what no card would."""
        other = peer.Peer(self.path(FREE_PORT, "in"), self.path(FREE_PORT, "out"), STRANGER)
        try:
            wait_for("it is on the ring", lambda: ports(self.lab)[FREE_PORT]["live"])
            yield other
        finally:
            other.close()

    def finds(self, cause, text, card=None):
        """`rmctl show` names this cause, in these words, a regular expression."""
        findings = rmctl(self.lab, 1, "show", card or self.card)[0]["findings"]
        texts = {finding["cause"]: finding["text"] for finding in findings}
        expect(re.fullmatch(text, texts.get(cause, "")), f"{cause} is not '{text}': {texts}")
        self.found.add(cause)

    def now(self, cause):
        """`rmctl show` names this cause as one of now."""
        findings = rmctl(self.lab, 1, "show", self.card)[0]["findings"]
        return any(finding["now"] for finding in findings if finding["cause"] == cause)

    def settled(self, nodes):
        """Returns when the card knows of these members and no others."""

        def members():
            return {member["node"] for member in rmctl(self.lab, 1, "map", self.card)[0]["members"]}
        wait_for(f"the members are {nodes}", lambda: members() == nodes)

    @contextmanager
    def cut(self, port, way):
        """The fibres of a port are cut; behind it the ring is closed again."""
        hub(self.lab, "cut", port, way)
        try:
            yield
        finally:
            hub(self.lab, "restore", port)
            self.lab.test_ring(1, self.card)

    @contextmanager
    def owns(self, area):
        """The machine owns this area, whoever else stores there."""
        self.lab.run(1, "rmctl", "subscribe", self.card, area, "--own")
        try:
            yield
        finally:
            self.lab.run(1, "rmctl", "unsubscribe", self.card, area, "--own")

    def write(self, offset):
        """The other member stores a word."""
        self.member.call("write", first=offset, data="01020304")

    def watch(self, area, *options):
        """Returns when it misses nothing any more."""
        watch = self.lab.start(1, "rmctl", "watch", self.card, area, *options)
        said = watch.process.stderr.readline()
        expect(said.startswith("watching"), f"it does not watch: {said}")
        return watch

    def descriptor(self):
        """The number of the only watch."""
        holders = rmctl(self.lab, 1, "subscriptions", self.card)[0]["descriptors"]
        return next(holder["id"] for holder in holders if holder["kind"] == "watch")


# --- what is told -----------------------------------------------------------------------

def damaged(_, ring):
    """A packet that is damaged on its way: bad-data, then loss, with node and number"""
    ring.anew()
    hub(ring.lab, "fault", "add", "corrupt", f"port={PORT}")
    ring.write(0x1000)
    ring.tells("bad-data", node=None, missing=None)
    ring.write(0x1000)
    told = ring.tells("loss", node=MEMBER, missing=1)
    expect(told["frame"] > 0, f"{told}")
    ring.finds("bad", r"1 damaged frame\(s\) were dropped here")


def lost(lab, ring):
    """Packets that never arrive: loss, as many as the hub has dropped"""
    ring.anew()
    hub(ring.lab, "fault", "add", "drop", f"port={PORT}", "nth=4", "count=3")
    ring.member.call("load", first=0x1000, last=0x1003, count=10)
    missing = 0
    while missing < 3:
        missing += ring.tells("loss")["missing"]
    expect(missing == 3, f"{missing} are missing")
    ring.finds("missed", r"3 frame\(s\) of other nodes never arrived here")
    for verb in "show", "stats":
        said = lab.out(1, "rmctl", verb, ring.card)
        _, _, findings = said.partition("\nwhat has happened:\n")
        expect(re.search(r"  - 3 frame\(s\) of other nodes never arrived here, the last [0-9.]+ m?s "
                         r"ago\n      rmctl map says whose", findings), f"{verb}: {said}")


def twice(lab, ring):
    """A packet that comes twice: show says that the second was not stored"""
    ring.anew()
    hub(lab, "fault", "add", "duplicate", f"port={PORT}")
    ring.write(0x1000)
    ring.member.call("fence")
    ring.finds("late", r"1 frame\(s\) came behind newer ones of their node, and were not stored")


def stands_still(lab, ring):
    """A member that stands still, behind a hub: map, show and fence name it; a hub is no node"""
    ring.member.call("set", name="paused", value=1)
    try:
        ring.anew()
        wait_for("its heartbeat says so", lambda: ring.now("absent"))
        ring.finds("absent", r"node 0x02 \(2\) stands still")
        drawn = lab.out(1, "rmctl", "map", ring.card)
        expect(".--->[*  1]-->[   2]-.\n" in drawn and "says nothing" not in drawn, drawn)
        expect(re.search(r"\n0x02 \(2\) .* stands still$", drawn), drawn)
        ring.lab.run(1, "rmctl", "poke", ring.card, "0x1000", "1")
        done = lab.run(1, "rmctl", "fence", ring.card, "-t", "60", check=False)
        expect((done.returncode, done.stderr) ==
               (1, f"rmctl: {ring.card}: fence: a node stands still, and has yet to store them; "
                   "node 0x02 (2) stands still\n"), f"{done}")
    finally:
        ring.member.call("set", name="paused", value=0)
    wait_for("its heartbeat says so", lambda: not ring.now("absent"))


def own_lost(lab, ring):
    """A packet of the card that does not come home: fence and show say that it was lost"""
    ring.anew()
    hub(lab, "fault", "add", "drop", "source=1")
    lab.run(1, "rmctl", "poke", ring.card, "0x1000", "1")
    done = lab.run(1, "rmctl", "fence", ring.card, "-t", "60", check=False)
    expect((done.returncode, done.stderr) ==
           (1, f"rmctl: {ring.card}: fence: 1 frame(s) did not reach every node\n"), f"{done}")
    ring.finds("lost", r"1 own frame\(s\) were lost on the ring")


def members_come_and_go(_, ring):
    """A member that joins, and leaves: membership, with a new epoch"""
    ring.anew()
    third = ring.join(THIRD, FREE_PORT)
    try:
        joined = ring.tells("membership", node=None)["epoch"]
        ring.settled({1, MEMBER, THIRD})
        ring.anew()
    finally:
        third.end()
    left = ring.tells("membership", node=None)["epoch"]
    expect(left > joined > 0, f"epochs {joined} and {left}")


def rogue(_, ring):
    """A packet that nobody removes: rogue, as the card is a rogue master"""
    ring.anew()
    with ring.stranger() as other:
        other.say(peer.Frame(peer.DATA, NOBODY, 1, 1, b"rogue", address=0x5000).encode())
        ring.tells("rogue", count=1)
    ring.finds("rogue", r"1 frame\(s\) were removed as rogue packets")


def of_other_rings(_, ring):
    """An update past the memory's end, and one of a redundant ring, which is bad-data"""
    ring.anew()
    with ring.stranger() as other:
        other.send(peer.DATA, b"beyond", address=BEYOND)
        other.wait("it is home", lambda other: any(frame.data == b"beyond" for frame in other.home))
        ring.finds("beyond", r"1 update\(s\) lay past the end of this card's memory")
        other.send(peer.DATA, b"twice", address=0x5000, flags=peer.REDUNDANT)
        ring.tells("bad-data")
    ring.finds("mixed", r"1 frame\(s\) came that belong to another ring")


def no_light(lab, ring):
    """The fibres of the card are cut and mended: sync-loss, link-down, link-up"""
    ring.anew()
    with ring.cut("0", "both"):
        ring.tells("sync-loss", node=None)
        ring.tells("link-down")
        sentence = "the receiver sees no light: the ring is open just before this node"
        ring.finds("no-signal", sentence)
        lab.run(1, "rmctl", "set", ring.card, "dark-on-dark=on")
        try:
            ring.finds("no-signal",
                       f"{sentence}, and with dark-on-dark this node sends none either")
        finally:
            lab.run(1, "rmctl", "set", ring.card, "dark-on-dark=off")
    ring.tells("link-up")


def no_light_elsewhere(_, ring):
    """Another member receives no light: break, with its id"""
    ring.anew()
    with ring.cut(str(PORT), "out"):
        ring.tells("break", node=MEMBER)
        ring.finds("breaks", r"node 0x02 \(2\) has lost its signal: the ring is open just before it")
    ring.settled({1, MEMBER})
    wait_for("it has been heard since then", lambda: not ring.now("breaks"))
    ring.finds("breaks", r"[1-9]\d* time\(s\) another node has lost its signal, the last one node "
               r"0x02 \(2\): the ring was open there")


def late(_, ring):
    """An update that is older than a watch's deadline: late, with the watch"""
    ring.anew()
    watch = ring.watch("0x2000+64", "--deadline", "1us", "-n", "1")
    descriptor = ring.descriptor()
    ring.write(0x2004)
    told = ring.tells("late", node=MEMBER, offset=0x2004, length=4, descriptor=descriptor)
    expect(told["age_ns"] > 1000, f"{told}")
    watch.finish()


def silent(_, ring):
    """No update of a watch's bytes for too long, and then one: stale and fresh"""
    ring.anew()
    watch = ring.watch("0x3000+64", "--silence", "50ms", "-n", "2")
    descriptor = ring.descriptor()
    ring.tells("stale", node=None, offset=0x3000, descriptor=descriptor)
    ring.write(0x3004)
    told = ring.tells("fresh", node=MEMBER, offset=0x3004, length=4, descriptor=descriptor)
    expect(told["age_ns"] >= 50_000_000, f"{told}")
    watch.finish()


def conflict(_, ring):
    """A store of another node into an area owned here: changed base masks, conflict"""
    ring.anew()
    with ring.owns("0x4000+64"):
        ring.tells("changed", comm="rmctl", masks_changed=True)
        ring.write(0x4008)
        ring.tells("conflict", node=MEMBER, offset=0x4008, length=4)


def inhibited(lab, ring):
    """A store of one byte with parity on: write-inhibited"""
    ring.anew()
    lab.run(1, "rmctl", "set", ring.card, "parity=on")
    expect(ring.tells("changed")["changed"].get("parity"), "the change is not told")
    try:
        lab.run(1, "rmctl", "poke", "-w", "1", ring.card, "0x40", "1")
        ring.tells("write-inhibited", node=None)
        ring.finds("parity", "parity is on, and a store narrower than 4 bytes was inhibited")
    finally:
        lab.run(1, "rmctl", "set", ring.card, "parity=off")


def no_room_to_send(lab, ring):
    """More stores than a slow fibre takes: tx-full, of that card"""
    ring.anew()
    lab.run(1, PROGRAMS + "ringstress", "write", f"/dev/{ring.slow}", "0", "0x1000", "30000", "1")
    ring.tells("tx-full", device=ring.slow)
    ring.finds("full", r"[1-9]\d* own frame\(s\) found no room in time and were not sent",
               ring.slow)


def no_room_to_pass_on(_, ring):
    """More packets of others than a slow fibre takes and the card keeps: tx-full"""
    other = peer.Peer(f"{ring.place.folder}/flooded.rx", f"{ring.place.folder}/flooded.tx", STRANGER)
    try:
        # What is not new is passed on, too. Full ones: they come faster than they leave, on a busy
        # host as well.
        many = other.frame(peer.DATA, bytes(64)).encode() * 1024
        for _ in range(TRANSMIT_FIFO // 1024 + 50):
            other.say(many)
        ring.tells("tx-full", device=ring.flooded)
        ring.finds("overrun", r"[1-9]\d* frame\(s\) of others found no room to be passed on",
                   ring.flooded)
    finally:
        other.close()


def flood(lab, ring, first, last, stride):
    """More updates than are kept for a machine that stands still; then it goes on."""
    all_of_them = ring.member.stats()["sent"] + HELD + 100
    lab.qmp(1, "stop")
    try:
        ring.member.call("load", first=first, last=last, stride=stride, count=HELD + 100)
        wait_for("all have passed", lambda: came_round(ring.member) >= all_of_them)
    finally:
        lab.qmp(1, "cont")


def came_round(member):
    """How many of its frames have, or never will."""
    counters = member.stats()
    return counters["home"] + counters["lost"]


def no_room_to_receive(lab, ring):
    """More updates than a paused card keeps, two events each: rx-full, dropped with their number"""
    ring.anew()
    watch = ring.watch("0x6000+64", "-n", "1")
    with ring.owns("0x6000+64"):
        flood(lab, ring, 0x6000, 0x6003, 4)
        told = ring.monitor.tells_all({"rx-full", "dropped", "conflict"})
        expect(told["dropped"]["missing"] >= HELD, f"{told['dropped']}")
    ring.finds("held-lost", r"[1-9]\d* frame\(s\) were dropped because this machine stood still "
               "for too long")
    watch.finish()


def no_room_to_tell(lab, ring):
    """Two watches that are late by turns: overrun of the card, and no number is missing beside it"""
    ring.anew()
    end = time.monotonic() + 3 * PATIENCE_S
    while "overrun" not in ring.monitor.told:
        expect(time.monotonic() < end, "there is always room")
        watches = [ring.watch(f"{offset:#x}+64", "--deadline", "1us", "-n", "200")
                   for offset in (0x7000, 0x7040)]
        flood(lab, ring, 0x7000, 0x707f, 64)
        for watch in watches:
            watch.finish()
        ring.anew()


def namesake(_, ring):
    """An earlier node has the card's id: id-in-use; show says that it has left, and not: no light"""
    ring.anew()
    with ring.stranger() as other:
        other.wait("the card is heard", lambda other: any(frame.source == 1 for frame in other.seen))
        life = next(frame.incarnation for frame in other.seen if frame.source == 1)
        other.say(peer.Frame(peer.DUPLICATE, 1, 1, 0, struct.pack("<Q", life)).encode())
        ring.tells("id-in-use", node=1)
    ring.finds("id-in-use", r"this node has left the ring, as its id 0x01 \(1\) is in use: it only "
               "passes frames on")
    findings = rmctl(ring.lab, 1, "show", ring.card)[0]["findings"]
    expect("no-signal" not in {finding["cause"] for finding in findings}, str(findings))


def gone_and_back(lab, ring):
    """A card that is pulled out, unbound and bound: gone, deleted, created"""
    ring.anew()
    where = rmctl(lab, 1, "show", ring.slow)[0]["pci"]
    bind = "echo {} >/sys/bus/pci/drivers/rfm/{}"
    lab.qmp(1, "qom-set", path="/machine/peripheral/slow", property="dead", value=True)
    expect(lab.run(1, "rmctl", "test", ring.slow, check=False).returncode, "it answers")
    ring.tells("gone", device=ring.slow, count=1)
    lab.run(1, "sh", "-c", bind.format(where, "unbind"))
    ring.tells("deleted", device=ring.slow)
    lab.qmp(1, "qom-set", path="/machine/peripheral/slow", property="dead", value=False)
    lab.run(1, "sh", "-c", bind.format(where, "bind"))
    ring.tells("created", device=device_of_node(lab, 1, SLOW))


# --- the tables -------------------------------------------------------------------------

def source(path):
    return (TOP / path).read_text()


def notices():
    """What the family can tell of: its names, as in RFM_NOTICE_LINK_UP, by their numbers."""
    names = re.findall(r"^\tRFM_NOTICE_([A-Z_]+)", source("uapi/linux/rfm_netlink.h"), re.M)
    expect(len(names) > 10, f"no names in the header: {names}")
    return names


def word(name):
    return name.lower().replace("_", "-")


def same(what, found, wanted):
    missing, unknown = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    expect(found == wanted, f"{what}: missing {missing}, unknown {unknown}, or in another order")


def tables(*_):
    """Driver, rmctl, its schema and the pages have each notice of the family, by its name"""
    names = notices()
    rows = re.search(r"rfm_notice_names\[\d+\] = \{\s*NULL,(.*?)\};",
                     source("tools/rmctl/card/netlink_gen.c"), re.S)[1]
    same("rmctl", re.findall(r'"([a-z-]+)"', rows), [word(name) for name in names])
    names, words = set(names), {word(name) for name in names}
    same("the driver", set(re.findall(r"\bRFM_NOTICE_([A-Z_]+)", source("driver/api/notify.c"))), names)
    events = json.loads((FOLDER / "monitor.json").read_text())["properties"]["event"]["enum"]
    same("monitor.json", set(events), words | OTHERS | {"unknown"})
    page = source("docs/man/rmctl.1").split("\n.SS monitor")[1].split("\n.SS ")[0]
    listed = page.split("\nThe events are\n")[1].split("\n.BR OVERRUN")[0].replace("\\-", "-")
    same("rmctl.1", set(re.findall(r"^\.BR? ([a-z-]+)", listed, re.M)),
         words | OTHERS - {"overrun"})
    same("rfm-netlink.7", set(re.findall(r"\bRFM_NOTICE_([A-Z_]+)",
                                         source("docs/man/rfm-netlink.7"))), names)


def mapped(*_):
    """The driver's tables make of each event the notice of the same name"""
    others = {"SIGNAL": "LINK_UP", "UPDATE": "LATE", "MATCH": "LATE"}
    rows = dict(re.findall(r"\[RFM_(?:EVENT|TOLD)_([A-Z_]+)\]\s*= \{ RFM_NOTICE_([A-Z_]+)",
                           source("driver/api/notify.c")))
    for event, notice in rows.items():
        expect(notice == others.get(event, event), f"{event} is told as {notice}")
    same("rfm_notices[]", set(rows.values()), set(notices()) - {"COMPLETE"})    # INCOMPLETE of value 0
    latched = dict(re.findall(r"\[RFM_EVENT_([A-Z_]+)\]\s*= \{ RFM_LISR_([A-Z_]+) \}",
                              source("driver/hw/irq.c")))
    expect(latched["PARITY"] == "PARITY", f"LISR: {latched}")


def all_has_happened(_, ring):
    """Everything that can be told has been told in these tests"""
    same("told", ring.monitor.told, {word(name) for name in notices()} - NEVER | OTHERS)


def all_causes_were_found(_, ring):
    """Each cause that show can name was found, here or in rmctl_config_test.sh"""
    code = source("tools/rmctl/card/diagnose.c")
    causes = set(re.findall(r'\badd\(findings, "([a-z-]+)"\)', code))
    causes |= set(re.findall(r'^\t\{ RFM_COUNTER_[A-Z_]+, "([a-z-]+)",', code, re.M))
    others = re.findall(r"^finds ([a-z-]+) ", source("tests/guest/rmctl_config_test.sh"), re.M)
    same("causes", ring.found | set(others), causes)
    for schema in "show.json", "stats.json":
        finding = json.loads((FOLDER / schema).read_text())["$defs"]["findings"]["items"]
        same(schema, set(finding["properties"]["cause"]["enum"]), causes)


TABLES = [tables, mapped]
TOLD = [damaged, lost, twice, stands_still, own_lost, members_come_and_go, rogue, of_other_rings,
        no_light, no_light_elsewhere, late, silent, conflict, inhibited, no_room_to_send,
        no_room_to_pass_on, no_room_to_receive, no_room_to_tell, namesake, gone_and_back, all_has_happened,
        all_causes_were_found, clean_kernels]


def odd_cards(folder):
    """One that is a slow ring of its own, and one between two ends of a peer."""
    slow = extra_cards([(SLOW, f"path={folder}/slow", f"path={folder}/slow", f",{SLOW_CARD}")])
    words = [word for way in ("rx", "tx") for word in (
        "-chardev", f"socket,id={way}{FLOODED},path={folder}/flooded.{way},server=on,wait=off")]
    words += ["-device", f"rfm5565,node-id={FLOODED},rx=rx{FLOODED},tx=tx{FLOODED},{FLOODED_CARD}"]
    return slow + [arg for word in words for arg in ("--qemu-arg", word)]


def main():
    plan(TABLES + TOLD)
    failed = run(TABLES)
    with Place("monitor") as place, \
            Lab("monitor", 1, "--topology", "hub", "--hub-arg", "--ports 3 --glitchless",
                "--device-arg", "rogue-master-0=on", *odd_cards(place.folder)) as lab:
        ring = Ring(lab, place)
        failed += run(TOLD, lab, ring, first=len(TABLES) + 1)
        ring.monitor.stop()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
