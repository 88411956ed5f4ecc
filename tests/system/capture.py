#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Capture files of our writer, as tshark shows them with the installed dissector. Prints TAP."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from members import preload
from peer import DATA as UPDATE, Peer
from suite import PATIENCE_S, TOP, Failed, expect, plan, run, wait_for

SOURCES = ["tests/capture/sample.c"] + [f"ring/{name}.c" for name in
                                        ("crc32c", "frame", "link", "permit", "shm", "util/pcapng")]

# The packets of tests/capture/sample.c, by their numbers in the file.
HELLO, WELCOME, LIGHT, REFUSE = 1, 2, 3, 4
(DATA, INTERRUPT, GLOBAL, HEARTBEAT, DUPLICATE, BREAK, FENCE, MULTICAST, QUERY, ANSWER,
 SECOND) = range(5, 16)
CORRUPT, HOPS, TYPE, LENGTH, VERSION, MAGIC, CUT, CUT_HEAD, ONE_BYTE, BEHIND = range(16, 26)
CAR_1, CAR_2, BROKEN_TRAIN = range(26, 29)      # of one train; of another that is damaged
TAKEN, NO_ROOM, FOR_ALL, NOT_SEEN, BROKEN_PACKET, PIECES = range(29, 35)
ALL = PIECES

SIGNED = {"rfm.version": "6", "rfm.source": "3", "rfm.incarnation": "0x0102030405060708",
          "rfm.clock_domain": "0x11223344", "rfm.seq": "6426", "rfm.time": "2387509390608836392",
          "rfm.check.status": "1", "rfm.hop_check.status": "1"}
SOUND_LINK = {"rfm.version": "6", "rfm.check.status": "1"}

SHOWN = {
    HELLO: SOUND_LINK | {
        "rfm.link.kind": "1", "rfm.link.node": "3", "rfm.link.hub": "0",
        "rfm.link.redundant": "1", "rfm.link.shm": "1", "rfm.link.memory_size": "67108864",
        "rfm.incarnation": "0x0102030405060708", "rfm.clock_domain": "0x11223344"},
    WELCOME: SOUND_LINK | {"rfm.link.kind": "2", "rfm.link.hub": "1", "rfm.link.shm": "0"},
    LIGHT: SOUND_LINK | {"rfm.link.kind": "4", "rfm.link.light": "1"},
    REFUSE: SOUND_LINK | {"rfm.link.kind": "3", "rfm.link.reason": "1"},
    DATA: SIGNED | {"rfm.type": "1", "rfm.address": "0x00aabbcc", "rfm.length": "4",
                    "rfm.data": "de:ad:be:ef", "rfm.hops": "1", "rfm.flags.redundant": "0"},
    INTERRUPT: SIGNED | {"rfm.type": "2", "rfm.dest": "7", "rfm.interrupt.global": "0",
                         "rfm.interrupt.type": "2", "rfm.interrupt.data": "0xcafe0102",
                         "rfm.hops": "258"},
    GLOBAL: SIGNED | {"rfm.type": "2", "rfm.interrupt.global": "1", "rfm.interrupt.type": "7"},
    HEARTBEAT: SIGNED | {"rfm.type": "3", "rfm.length": "0"},
    DUPLICATE: SIGNED | {"rfm.type": "4", "rfm.duplicate.incarnation": "0x0102030405060709"},
    BREAK: SIGNED | {"rfm.type": "5"},
    FENCE: SIGNED | {"rfm.type": "6", "rfm.fence.ticket": "0x000000000000002a"},
    MULTICAST: SIGNED | {"rfm.type": "7", "rfm.interrupt.type": "3", "rfm.length": "36",
                         "rfm.interrupt.data": "0xcafe0102",
                         "rfm.interrupt.node": ["0", "7", "9", "255"]},
    QUERY: SIGNED | {"rfm.type": "9", "rfm.query.ticket": "0x000000000000002a",
                     "rfm.query.address": "0x00abc000", "rfm.query.length": "4096"},
    ANSWER: SIGNED | {"rfm.type": "10", "rfm.dest": "7", "rfm.query.ticket": "0x000000000000002a",
                      "rfm.answer.crc": "0x9c71fe32", "rfm.answer.bytes": "4096",
                      "rfm.answer.paused": "1", "rfm.answer.first": "de:ad:00:00:00:00:00:00"},
    SECOND: SIGNED | {"rfm.type": "1", "rfm.length": "64", "rfm.flags.redundant": "1",
                      "rfm.flags.second": "1", "rfm.marks.rogue0": "0", "rfm.marks.rogue1": "1",
                      "rfm.marks.paused": "1", "rfm.marks.unstored": "1"},
    CAR_1: {"rfm.type": "1", "rfm.seq": "6432", "rfm.address": "0x00002000", "rfm.length": "64",
            "rfm.check.status": "1", "rfm.dest": "0"},
    CAR_2: {"rfm.type": "1", "rfm.seq": "6433", "rfm.address": "0x00002040", "rfm.length": "4",
            "rfm.check.status": "1"},
    BROKEN_TRAIN: {"rfm.type": "8", "rfm.frames": "2", "rfm.seq": "6432", "rfm.length": "4",
                   "rfm.check.status": "0", "rfm.hop_check.status": "1"},
    TAKEN: SIGNED | {"rfm.type": "11", "rfm.dest": "7", "rfm.packet.class": "1",
                     "rfm.packet.global": "0", "rfm.packet.stream": "0x1234",
                     "rfm.packet.pieces": "2", "rfm.length": "6", "rfm.flags.first": "1",
                     "rfm.flags.last": "1", "rfm.flags.redundant": "0", "rfm.hops": "3",
                     "rfm.marks.seen": "1", "rfm.marks.taken": "1", "rfm.address": None,
                     "rfm.data": ":".join(f"{at:02x}" for at in range(70))},
    NO_ROOM: SIGNED | {"rfm.type": "11", "rfm.packet.class": "0", "rfm.packet.pieces": "1",
                       "rfm.length": "1", "rfm.flags.first": "1", "rfm.flags.last": "0",
                       "rfm.flags.second": "1", "rfm.hops": "1023", "rfm.marks.seen": "1",
                       "rfm.marks.taken": "0", "rfm.marks.paused": "1", "rfm.data": "00"},
    FOR_ALL: SIGNED | {"rfm.type": "11", "rfm.packet.class": "3", "rfm.packet.global": "1",
                       "rfm.packet.stream": "0xffff", "rfm.packet.pieces": "32",
                       "rfm.length": "64", "rfm.flags.first": "0", "rfm.flags.last": "1"},
    NOT_SEEN: SIGNED | {"rfm.type": "11", "rfm.dest": "9", "rfm.packet.class": "2",
                        "rfm.flags.first": "0", "rfm.flags.last": "0", "rfm.hops": "2",
                        "rfm.marks.seen": "0", "rfm.marks.taken": "0"},
    BROKEN_PACKET: {"rfm.type": "11", "rfm.packet.pieces": "1", "rfm.check.status": "0",
                    "rfm.hop_check.status": "1"},
    CORRUPT: {"rfm.check.status": "0", "rfm.hop_check.status": "1"},
    HOPS: {"rfm.check.status": "1", "rfm.hop_check.status": "0"},
}

# Which packets are remarked on how, and no others.
REMARKS = {
    "rfm.check.bad": {CORRUPT, BROKEN_TRAIN, BROKEN_PACKET},
    "rfm.hop_check.bad": {HOPS},
    "rfm.type.unknown": {TYPE},
    "rfm.length.bad": {LENGTH, PIECES},
    "rfm.version.other": {VERSION},
    "rfm.foreign": {MAGIC, ONE_BYTE},
    "rfm.cut": {CUT, CUT_HEAD},
    "rfm.behind": {BEHIND},
    "rfm.link.refused": {REFUSE},
    "rfm.broken": {BREAK},
    "rfm.duplicate.id": {DUPLICATE},
    "rfm.address.beyond": set(),
    "_ws.lua.error": set(),
}

# Which packets a display filter must find, and no others.
FOUND = {
    "rfm.check.bad || rfm.hop_check.bad": {CORRUPT, HOPS, BROKEN_TRAIN, BROKEN_PACKET},
    "rfm.packet.class == 1": {TAKEN},
    "rfm.marks.seen == 1 && rfm.marks.taken == 0": {NO_ROOM},
    "rfm.packet.global == 1": {FOR_ALL},
    "frame.comment == \"fault 1: corrupt\"": {CORRUPT},
    "rfm.interrupt.node == 9": {MULTICAST},
    "rfm.interrupt.node == 8": set(),
    "frame.interface_name == \"tx\" && frame.packet_flags_direction == 2": {WELCOME, REFUSE},
}


class Bench:
    """A home of its own, with the dissector installed there as a user would."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "sample.pcapng"
        self.environment = os.environ | {"HOME": str(folder)}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "WIRESHARK_PLUGIN_DIR",
                     "WIRESHARK_CONFIG_DIR"):
            self.environment.pop(name, None)

    def command(self, *words):
        done = subprocess.run(words, cwd=TOP, env=self.environment, text=True,
                              capture_output=True, check=False)
        if done.returncode:
            raise Failed(f"{words[0]}: {done.stderr.strip()}")
        return done.stdout

    def prepare(self):
        program = self.folder / "sample"
        self.command(os.environ.get("CC", "gcc"), "-std=gnu11", "-Wall", "-Wextra", "-Werror",
                     "-I.", "-o", str(program), *SOURCES)
        self.command(str(program), str(self.file))
        self.command("make", "-C", "tools", "-s", "install-wireshark",
                     f"PREFIX={self.folder}/.local", "DESTDIR=")

    def tshark(self, *words, file=None):
        return self.command("tshark", "-r", str(file or self.file), *words)

    def found(self, wanted, file=None):
        """The numbers of the packets that a display filter finds."""
        lines = self.tshark("-Y", wanted, "-T", "fields", "-e", "frame.number", file=file)
        return {int(line) for line in lines.split()}


def flat(layer):
    """All fields of a layer, those below others too."""
    fields = {}
    for name, value in layer.items():
        if isinstance(value, dict):
            fields |= flat(value)
        else:
            fields[name] = value
    return fields


def installed(bench):
    """An installed dissector is picked up by tshark."""
    names = bench.command("tshark", "-G", "protocols")
    expect("Reflective memory ring" in names, "tshark does not know the protocol")


def fields(bench):
    """Every field of frames and link messages is shown with its value."""
    packets = json.loads(bench.tshark("-T", "json", "--no-duplicate-keys"))
    expect(len(packets) == ALL, f"{len(packets)} packets")
    for number, wanted in SHOWN.items():
        shown = flat(packets[number - 1]["_source"]["layers"]["rfm"])
        for name, value in wanted.items():
            expect(shown.get(name) == value,
                   f"packet {number}: {name} is {shown.get(name)}, not {value}")


def filters(bench):
    """What is damaged or remarkable is shown and found, and nothing else"""
    packets = [flat(packet["_source"]["layers"]) for packet in json.loads(bench.tshark("-T", "json"))]
    for remark, numbers in REMARKS.items():
        shown = {number for number, packet in enumerate(packets, 1) if remark in packet}
        expect(shown == numbers, f"{remark}: packets {sorted(shown)}, not {sorted(numbers)}")
    for wanted, numbers in FOUND.items():
        shown = bench.found(wanted)
        expect(shown == numbers, f"{wanted}: packets {sorted(shown)}, not {sorted(numbers)}")


def blocks(data):
    """The blocks of a pcapng file."""
    while data:
        length = int.from_bytes(data[4:8], "little")
        yield data[:length]
        data = data[length:]


def every_byte(bench):
    """A change of any one byte of a sound frame shows as bad"""
    everything = list(blocks(bench.file.read_bytes()))
    packets = [block for block in everything if block[0] == 6]
    changed = everything[:3]            # the section and its two interfaces
    for number, length in ((DATA, 52), (TAKEN, 118)):
        frame = packets[number - 1]
        for at in range(28, 28 + length):
            changed.append(frame[:at] + bytes([frame[at] ^ 0x10]) + frame[at + 1:])
    file = bench.folder / "changed.pcapng"
    file.write_bytes(b"".join(changed))
    wanted = set(range(1, 52 + 118 + 1))
    bad = bench.found("rfm.check.bad || rfm.hop_check.bad || rfm.foreign || rfm.version.other || "
                      "rfm.type.unknown || rfm.length.bad || rfm.cut || rfm.behind", file=file)
    expect(bad == wanted, f"tshark does not mind packets {wanted - bad}")


def times(bench):
    """Times are real time, to the nanosecond."""
    shown = bench.tshark("-T", "fields", "-e", "frame.time_epoch").split()
    # The frames of a train come at one time.
    wanted = [f"1700000000.{n:09d}" for n in [*range(CAR_1), *range(CAR_1 - 1, ALL - 1)]]
    expect(shown == wanted, f"the times are {shown}")


def summary(bench):
    """The packet list can be read by people"""
    lines = bench.tshark().splitlines()
    for number, words in ((HELLO, "LINK HELLO node 3, redundant, shared memory"),
                          (WELCOME, "LINK WELCOME hub"), (LIGHT, "LINK LIGHT on"),
                          (DATA, "node 3 → all RFM 52 DATA #6426 0x0aabbcc, 4 bytes, hops 1"),
                          (INTERRUPT, "node 3 → node 7 RFM 52 INTERRUPT #6426 interrupt 2"),
                          (MULTICAST, "node 3 → all RFM 84 MULTICAST #6426 interrupt 3 to nodes "
                                      "0,7,9,255, data 0xcafe0102"),
                          (QUERY, "node 3 → all RFM 64 QUERY #6426 0x0abc000, 4096 bytes?"),
                          (ANSWER, "node 3 → node 7 RFM 72 ANSWER #6426 0x9c71fe32 of 4096 bytes, "
                                   "paused"),
                          (TAKEN, "node 3 → node 7 RFM 118 PACKET #6426 request to node 7, stream "
                                  "0x1234, 70 bytes, taken, hops 3"),
                          (NO_ROOM, "PACKET #6426 message to node 7, stream 0x0000, 1 bytes, first, "
                                    "seen, no room, hops 1023, second copy"),
                          (FOR_ALL, "node 3 → all RFM 2096 PACKET #6426 Ethernet to all, stream "
                                    "0xffff, 2048 bytes, last, hops 1"),
                          (NOT_SEEN, "node 3 → node 9 RFM 112 PACKET #6426 answer to node 9, stream "
                                     "0x0000, 64 bytes, middle, not seen, hops 2"),
                          (CORRUPT, "DAMAGED DATA #6426"), (BROKEN_PACKET, "DAMAGED PACKET #6426")):
        line = " ".join(lines[number - 1].split())
        expect(words in line, f"packet {number}: {line}")


# --- captures of the programs --------------------------------------------------------------

PEER, NODE = 3, 7
TOOLS = TOP / "build" / "tools"
QEMU = TOP / "build" / "qemu"


def pass_through(command, rx, tx, file, while_up=None, **environment):
    """Run a program that captures, pass two updates through it, and end it."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | environment)
    try:
        peer = Peer(rx, tx, PEER)
        peer.join()
        for word in (b"\x11\x22\x33\x44", b"\x55\x66"):
            sent = peer.send(UPDATE, word, address=0x1000)
            peer.wait("the update comes home", lambda p: [f for f in p.home if f.data == word])
        if while_up:
            while_up(peer)
        wait_for("the capture is flushed", lambda: sent.data in file.read_bytes())
        peer.close()
    finally:
        program.terminate()
        expect(program.wait(PATIENCE_S) in (0, -15), f"{command[0]} ends with {program.returncode}")


def both_sides(bench, file, names):
    """The first update came in and went out again, and all that was captured is sound."""
    lines = bench.tshark("-Y", f"rfm.type == 1 && rfm.source == {PEER} && rfm.seq == 1",
                         "-T", "fields", "-e", "frame.interface_name",
                         "-e", "frame.packet_flags_direction", "-e", "rfm.address",
                         "-e", "rfm.data", "-e", "rfm.hops", file=file).splitlines()
    seen = [tuple(line.split("\t")) for line in lines]
    address, data = "0x00001000", "11:22:33:44"
    wanted = [(names[0], "0x00000001", address, data.replace(":", ""), "1"),
              (names[1], "0x00000002", address, data.replace(":", ""), "2")]
    expect([tuple(x.replace(":", "") for x in line) for line in seen]
           == wanted, f"the update was seen as {seen}")
    bad = bench.found("rfm.check.bad || rfm.hop_check.bad || rfm.foreign || rfm.cut || "
                      "rfm.behind || _ws.lua.error", file=file)
    expect(not bad, f"packets {sorted(bad)} are bad")


def rmnode(folder, file):
    """A command that captures, and its two ends."""
    return ([TOOLS / "rmnode", "--id", str(NODE), "--memory", "1M", "--log", "none",
             "--rx", f"unix:{folder}/n.rx,server", "--tx", f"unix:{folder}/n.tx,server",
             "--pcap", file], f"{folder}/n.rx", f"{folder}/n.tx", file)


def rmhub(folder, file):
    return ([TOOLS / "rmhub", "--dir", folder, "--ports", "2", "--pcap", file],
            f"{folder}/port1.in", f"{folder}/port1.out", file)


def card(folder, file):
    sockets = [word for name in ("rx", "tx")
               for word in ("-chardev",
                            f"socket,id={name},path={folder}/c.{name},server=on,wait=off")]
    return ([QEMU / "qemu-system-x86_64", "-L", QEMU / "pc-bios", "-M", "q35", "-S",
             "-accel", "tcg", "-m", "64", "-nodefaults", "-display", "none", *sockets,
             "-device", f"rfm5565,node-id={NODE},rx=rx,tx=tx,pcap={file}"],
            f"{folder}/c.rx", f"{folder}/c.tx", file)


def of_rmnode(bench):
    """A capture of rmnode shows what came in and what went out."""
    file = bench.folder / "rmnode.pcapng"
    pass_through(*rmnode(bench.folder, file))
    both_sides(bench, file, ("rx", "tx"))


def of_rmhub(bench):
    """A capture of rmhub shows the same, and what a fault did."""
    folder = bench.folder
    file = folder / "rmhub.pcapng"

    def drop_one(peer):
        bench.command(str(TOOLS / "rmhub"), "-S", f"{folder}/control", "fault", "add", "drop")
        peer.send(UPDATE, b"\x77", address=0x2000)
        wait_for("the fault is in the capture",
                 lambda: b"dropped by a fault" in file.read_bytes())

    pass_through(*rmhub(folder, file), drop_one)
    names = bench.tshark("-T", "fields", "-e", "frame.interface_name", file=file).split()
    expect(len(set(names)) == 1, f"one port was used, and the capture has {set(names)}")
    both_sides(bench, file, (names[0], names[0]))
    lines = bench.tshark("-Y", "frame.comment == \"dropped by a fault\"", "-T", "fields",
                         "-e", "rfm.address", "-e", "rfm.seq", file=file).splitlines()
    expect("0x00002000\t3" in lines, f"the fault struck {lines}")


def of_a_card(bench):
    """A capture of the card shows the same"""
    file = bench.folder / "card.pcapng"
    pass_through(*card(bench.folder, file))
    both_sides(bench, file, ("rx", "tx"))


def a_disk_stands_still(bench):
    """A capture on a disk that stands still holds up neither the ring nor the machine"""
    stands, disk = bench.folder / "stands", preload(bench.folder, "disk")

    def stuck(peer):
        stands.touch()
        try:
            for number in range(1000):
                data = number.to_bytes(4, "little")
                peer.send(UPDATE, data, address=0x3000)
                peer.wait("the update comes home", lambda p: [f for f in p.home if f.data == data])
                if number == 20:
                    wait_for("a write waits for the disk", waits.exists)
        finally:
            stands.unlink()

    for what in (rmnode, rmhub, card):
        file = bench.folder / f"slow-{what.__name__}.pcapng"
        waits = Path(f"{stands}.waits")
        pass_through(*what(bench.folder, file), stuck, DISK_STANDS=str(stands), **disk)
        seen = bench.found(f"rfm.address == 0x3000 && rfm.source == {PEER}", file=file)
        expect(len(seen) == 2000, f"{what.__name__}: {len(seen)} packets of 1000 updates")
        waits.unlink()


def main():
    tests = [installed, fields, filters, every_byte, times, summary, of_rmnode, of_rmhub,
             of_a_card, a_disk_stands_still]
    plan(tests)
    with tempfile.TemporaryDirectory(prefix="rfm-capture.") as folder:
        bench = Bench(Path(folder))
        bench.prepare()
        return 1 if run(tests, bench) else 0


if __name__ == "__main__":
    sys.exit(main())
