#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/ring-protocol.md is true and enough: a second implementation, written from it, on a ring
with an rmnode. Prints TAP."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace

from peer import (ADD, ANSWER, BREAK, CAS, DATA, DONE, DUPLICATE, ETHERNET, FENCE, FIRST, GLOBAL, HEARTBEAT, HELLO,
                  INTERRUPT, IS_HUB, LAST, LIGHT, MERGE, MULTICAST, PACKET, PAUSED, QUERY, READ, REDUNDANT, REFUSE,
                  REQUESTS, ROGUE_0, SECOND, SEEN, SEND, SPACE, TRAIN, UNSTORED, VERSION, WELCOME, WRITE, Frame, Message,
                  Packet, Peer, Train, answer_data, connect, crc32c, multicast_data, multicast_nodes, query_data,
                  read_exactly, request_data)
from suite import PATIENCE_S, TOP, Failed, expect, plan, run, wait_for

RMNODE = TOP / "build" / "tools" / "rmnode"
RMHUB = TOP / "build" / "tools" / "rmhub"
PAGE = TOP / "docs" / "ring-protocol.md"

NODE, PEER = 7, 3


class Node:
    """An rmnode that waits for its two neighbours."""

    def __init__(self, folder, *options):
        self.rx, self.tx, self.control = (f"{folder}/{name}" for name in ("rx", "tx", "control"))
        self.process = subprocess.Popen(
            [RMNODE, "--id", str(NODE), "--memory", "1M", "--rx", f"unix:{self.rx},server",
             "--tx", f"unix:{self.tx},server", "--control", self.control, "--log", "none",
             *options], stdout=subprocess.PIPE, text=True)
        expect(self.process.stdout.readline() == "ready\n", "rmnode does not come up")

    def verb(self, *words):
        done = subprocess.run([RMNODE, "-S", self.control, "-j", *words], text=True,
                              capture_output=True, check=False, timeout=60)
        if done.returncode:
            raise Failed(f"rmnode {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout.splitlines()[0]) if done.stdout.strip() else {}

    def read(self, offset, length):
        return bytes.fromhex(self.verb("read", f"{offset}+{length}")["data"])

    def counter(self, name):
        return self.verb("stats")["counters"][name]

    def state(self, name):
        return self.verb("stats")["state"][name]

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


@contextmanager
def node(*options):
    with tempfile.TemporaryDirectory(prefix="rfm-protocol.") as folder:
        member = Node(folder, *options)
        try:
            yield member
        finally:
            member.close()


@contextmanager
def ring(*options, **peer_options):
    """An rmnode and a Peer that see each other."""
    with node(*options) as member:
        peer = Peer(member.rx, member.tx, PEER, **peer_options)
        try:
            peer.wait("a heartbeat", lambda p: any(f.type == HEARTBEAT for f in p.seen))
            yield member, peer
        finally:
            peer.close()


def is_home(peer, frame):
    return peer.wait(f"frame {frame.number} comes home",
                     lambda p: [f for f in p.home if f.number == frame.number
                                and f.type == frame.type])


# --- the page ------------------------------------------------------------------------------

ORIGIN = {"source": 3, "incarnation": 0x0102030405060708, "clock_domain": 0x11223344,
          "time": 0x2122232425262728}
TWIN = (0x0102030405060709).to_bytes(8, "little")
WORD, COMMAND = bytes.fromhex("deadbeef"), bytes.fromhex("0201feca")

EXAMPLES = [
    Message(HELLO, 3, 4, 0x0102030405060708, 64 << 20, 0x11223344),
    Message(WELCOME, 7, 4, 0x0102030405060709, 64 << 20, 0x11223344),
    Message(REFUSE, 7, 1, 0x0102030405060709, 64 << 20, 0x11223344),
    Message(LIGHT, 3, 1, 0x0102030405060708, 64 << 20, 0x11223344),
    Frame(DATA, number=0x191A, data=WORD, address=0xAABBCC, **ORIGIN),
    Frame(DATA, number=0x191A, data=WORD, address=0xAABBCC, flags=REDUNDANT | SECOND, hops=3,
          marks=ROGUE_0 | PAUSED, **ORIGIN),
    Frame(INTERRUPT, number=0x191B, data=COMMAND, dest=7, kind=2, hops=258, **ORIGIN),
    Frame(INTERRUPT, number=0x191B, data=COMMAND, dest=7, kind=0xA, flags=REDUNDANT, hops=258,
          marks=2, **ORIGIN),
    Frame(HEARTBEAT, number=0x191B, **ORIGIN),
    Frame(DUPLICATE, number=0x191B, data=TWIN, **ORIGIN),
    Frame(BREAK, number=0x191B, **ORIGIN),
    Frame(FENCE, number=0x191C, data=bytes.fromhex("4847464544434241"), **ORIGIN),
    Frame(MULTICAST, number=0x191D, data=multicast_data(0xCAFE0102, 0, 7, 9, 255), kind=7,
          **ORIGIN),
    Frame(QUERY, number=0x1920, data=query_data(0x4142434445464748, 0xABC000, 4096), **ORIGIN),
    Frame(ANSWER, number=0x1920, dest=7,
          data=answer_data(0x4142434445464748, bytes(range(256)) * 16, paused=True), **ORIGIN),
    Train(TRAIN, number=0x191E, data=bytes(range(64)) + WORD, address=0xAABBC0, **ORIGIN),
    Packet(PACKET, number=0x1922, data=bytes(range(70)), dest=7, kind=REQUESTS, flags=FIRST | LAST,
           stream=0x1234, **ORIGIN),
]


def page_examples():
    """The bytes of each example of the page, in its order."""
    blocks = re.findall(r"```\n((?:[0-9a-f]{2}[0-9a-f \n]*)+)```", PAGE.read_text())
    return [bytes.fromhex(one) for block in blocks for one in block.strip().split("\n\n")]


def examples():
    """Every example of the page is what its words say, and what the unit tests hold."""
    expect(crc32c(b"123456789") == 0xE3069283, "CRC32C")
    shown = page_examples()
    expect(len(shown) == len(EXAMPLES), f"{len(shown)} examples")
    literals = (TOP / "tests/unit/frame_test.c").read_text()
    held = {bytes(int(byte, 16) for byte in re.findall(r"0x(..)", text))
            for text in re.findall(r"\{((?:\s*0x[0-9a-f]{2},)+\s*)\}", literals)}
    for wire, wanted in zip(shown, EXAMPLES):
        expect(wire == wanted.encode(), f"{wanted} is {wanted.encode().hex()}")
        expect(type(wanted).decode(wire) == wanted, f"{wire.hex()} is not {wanted}")
        expect(isinstance(wanted, Message) or wire in held, f"no unit test holds {wire.hex()}")


# --- a ring of two -------------------------------------------------------------------------

def updates(**peer_options):
    with ring(**peer_options) as (member, peer):
        sent = peer.send(DATA, b"\x11\x22\x33\x44\x55", address=0x1003)
        home = is_home(peer, sent)
        expect(home == [replace(sent, hops=2)], f"it came home as {home}")
        expect(member.read(0x1000, 12) == bytes(3) + b"\x11\x22\x33\x44\x55" + bytes(4),
               "the node's memory is another")

        interrupt = peer.send(INTERRUPT, b"\x05\x00\x00\x00", dest=NODE, kind=2)
        is_home(peer, interrupt)
        came = member.verb("wait-interrupt", "-t", "5")
        expect(5 in came.values() and PEER in came.values(), f"the interrupt came as {came}")

        for nodes in ((0, 8, PEER, 255), (0, NODE, 255)):   # only the second has the node in it
            is_home(peer, peer.send(MULTICAST, multicast_data(sum(nodes), *nodes), kind=7))
        came = member.verb("wait-interrupt", "-t", "5")
        expect((came["type"], came["from"], came["data"]) == (7, PEER, NODE + 255),
               f"the interrupt to a set came as {came}")

        member.verb("write", "-w", "4", "0x2000", "0xcafe0102")
        update = peer.wait("the node's store", lambda p: [f for f in p.seen if f.type == DATA])[0]
        expect((update.source, update.number, update.address, update.data, update.hops) ==
               (NODE, 1, 0x2000, b"\x02\x01\xfe\xca", 1), f"it came as {update}")
        fence = member.verb("fence")
        expect(fence["lost"] == 0 and not fence["paused"], f"the fence: {fence}")
        expect(member.counter("home") == 2, "store and fence are not both home")

        member.verb("send", f"9,{PEER},0,200", "1", "0x12345678")
        sent = peer.wait("the node's interrupt", lambda p: [f for f in p.seen
                                                            if f.type == MULTICAST])
        expect([(f.kind, f.dest, f.number, f.data[:4], multicast_nodes(f.data)) for f in sent] ==
               [(1, 0, 3, b"\x78\x56\x34\x12", [0, PEER, 9, 200])], f"it came as {sent}")


def on_the_stream():
    """On a stream: update, interrupt, store and fence, there and home."""
    updates()


def in_shared_memory():
    """The same in shared memory, offered by each to the other."""
    updates(shm=True)


def many_in_shared_memory():
    """A queue of 64 slots carries some thousand frames either way and loses none"""
    with ring(shm=True) as (member, peer):
        for i in range(3000):
            last = peer.send(DATA, i.to_bytes(4, "little"), address=0x100 + i % 64 * 4)
        is_home(peer, last)
        expect([f.number for f in peer.home if f.type == DATA] == list(range(1, 3001)),
               "not all came home in order")
        expect(member.counter("received") == 3000, "the node has not received all")
        expect(member.read(0x100 + 2999 % 64 * 4, 4) == (2999).to_bytes(4, "little"),
               "the last word is another")
        member.verb("fill", "-w", "4", "0x8000+0x4000", "0x01010101")
        expect(member.verb("fence")["lost"] == 0, "the node has lost some of its own")


def whole_blocks(**peer_options):
    block = bytes(i * 7 & 255 for i in range(200 * 64 + 20))
    with ring(**peer_options) as (member, peer):
        # A train of the peer is as many updates, and comes home as it was.
        peer.number = 5
        train = Train(TRAIN, PEER, peer.incarnation, 1, block[:64 * 4 + 9], 0x4000)
        peer.say(train.encode())
        home = is_home(peer, list(train.frames())[-1])
        home = [frame for frame in peer.home if frame.type == DATA]
        expect(home == [replace(frame, hops=2) for frame in train.frames()],
               f"it came home as {home}")
        expect(peer.trains == 1, "it came home in pieces")
        expect(member.read(0x4000, 64 * 4 + 9) == train.data, "the node's memory is another")
        expect(member.counter("received") == 5, "the node has not counted its frames")

        # And the node makes trains of its own blocks.
        file = f"{os.path.dirname(member.control)}/block"
        with open(file, "wb") as out:
            out.write(block)
        member.verb("write", "-f", file, "0x8000")
        expect(member.verb("fence")["lost"] == 0, "the node has lost some of its block")
        seen = [frame for frame in peer.seen if frame.type == DATA]
        expect([frame.number for frame in seen] == list(range(1, 202)),
               "its frames are not those of the block")
        expect(b"".join(frame.data for frame in seen) == block, "the block is another")
        expect([frame.address for frame in seen] == list(range(0x8000, 0x8000 + 201 * 64, 64)),
               "its addresses are others")
        expect(peer.trains > 1, "the node has sent a block without a train")
        expect(member.counter("home") == 202, "block and fence are not all home")


def blocks_on_the_stream():
    """Whole blocks travel in trains, there and home, on a stream"""
    whole_blocks()


def blocks_in_shared_memory():
    """Whole blocks travel in trains, there and home, in shared memory"""
    whole_blocks(shm=True)


def packets_pass(**peer_options):
    with ring(**peer_options) as (member, peer):
        for length in 1, 64, 65, 2048:
            for dest, kind, verdict in ((NODE, REQUESTS, SEEN), (77, REQUESTS, 0),
                                        (0, ETHERNET | GLOBAL, SEEN)):
                sent = peer.packet(dest, bytes(i & 255 for i in range(length)), kind=kind,
                                   flags=FIRST | LAST, stream=0xFEED)
                home, = is_home(peer, sent)
                # rmnode has no use for them: it has seen them, and has no room.
                expect(home == replace(sent, hops=2, marks=verdict), f"{sent} came home as {home}")
        expect(member.counter("forwarded") == member.counter("received") == 3 * (1 + 1 + 2 + 32),
               "their pieces are not counted")
        # One that is late is not seen; one that is damaged goes no further.
        late = Packet(PACKET, PEER, peer.incarnation, 1, b"late", dest=NODE)
        peer.say(late.encode())
        home, = peer.wait("the late one", lambda p: [f for f in p.home if f.data == b"late"])
        expect(home.marks == UNSTORED, f"it came home as {home}")
        wire = bytearray(replace(sent, number=peer.number + 1).encode())
        wire[100] ^= 1
        peer.say(bytes(wire))
        behind = peer.packet(NODE, b"behind", number_after=32)
        is_home(peer, behind)
        expect(member.counter("bad") == 1, "the damaged one is not counted")
        expect(member.counter("missed") == 32, "nor are its pieces missed")


def packets_on_the_stream():
    """Packets are passed on whole, with what the node says of them, on a stream"""
    packets_pass()


def packets_in_shared_memory():
    """Packets are passed on whole, with what the node says of them, in shared memory"""
    packets_pass(shm=True)


def operations():
    """A node answers requests as the page says, and asks as it says."""
    with ring() as (member, peer):
        peer.join()
        peer.beats = True
        wait_for("the node knows the peer", lambda: member.verb("members")["members"])
        member.verb("export", "0x1000+64", "home")
        member.verb("export", "0x2000+0x1000", "read,write")
        member.verb("fill", "-w", "4", "0x2000+0x1000", "0x01020304")
        came = peer.answered(NODE, READ, offset=0x2001, length=8)
        expect((came.result, came.op, came.data) == (DONE, READ, b"\3\2\1\4" * 2), f"{came}")
        came = peer.answered(NODE, READ, offset=0x2000, length=4096, part=31)
        expect((came.part, came.result, len(came.data)) == (31, DONE, 2048 - 16), f"{came}: the first bytes only")
        came = peer.answered(NODE, WRITE, offset=0x2001, length=5, data=b"hello")
        expect(came.result == DONE and member.read(0x2000, 8) == b"\4hello\2\1", f"{came}")
        for op, width, value, old, new in ((CAS, 8, 7, 0, 7), (CAS, 8, 9, 7, 7), (ADD, 4, (1 << 32) - 1, 7, 6),
                                           (CAS, 4, 5, 6, 6)):
            before = len(peer.seen)
            came = peer.answered(NODE, op, offset=0x1008, length=width, width=width, value=value)
            expect((came.result, came.old) == (DONE, old), f"{came}")
            expect(member.read(0x1008, 8) == new.to_bytes(8, "little"), "the word is another")
            ahead = [f for f in peer.seen[before:] if f.type == DATA]
            expect(bool(ahead) == (old != new) and all(f.address == 0x1008 for f in ahead),
                   f"ahead of the answer came {ahead}")
        came = peer.answered(NODE, MERGE, offset=0x2000, length=8)
        expect((came.result, came.data) == (DONE, member.read(0x2000, 8)), f"{came}")

        inbox = subprocess.Popen([RMNODE, "-S", member.control, "-j", "receive", "7"], text=True, stdout=subprocess.PIPE)
        expect("listening" in inbox.stdout.readline(), "it does not listen")
        for at, data in ((5, b" letter"), (0, b"the l")):
            came = peer.answered(NODE, SEND, offset=at, length=len(data), key=7, message=1, total=12, data=data)
            expect(came.result == DONE, f"{came}")
        expect(json.loads(inbox.communicate(timeout=PATIENCE_S)[0].splitlines()[0]) ==
               {"from": PEER, "data": b"the l letter".hex()}, "another message came")

        asked = []

        def serve(request):
            """It asks the same again if we take long."""
            if not asked or request.data != asked[-1].data:
                asked.append(request)
            peer.reply(request, data=b"what is here"[:4])

        peer.serve = serve
        expect(bytes.fromhex(member.verb("get", str(PEER), "0x40+12")["data"]) == b"whatwhatwhat", "it reads something else")
        expect([(f.kind, f.flags, f.data) for f in asked] ==
               [(REQUESTS, FIRST | LAST, request_data(READ, int.from_bytes(f.data[4:8], "little"), peer.incarnation,
                                                      0x40 + 4 * i, 12 - 4 * i)) for i, f in enumerate(asked)] and
               len(asked) == 3, f"it asked {asked}")


def numbers():
    """What is missing, late or damaged is counted, and the link goes on."""
    with ring() as (member, peer):
        is_home(peer, peer.send(DATA, b"first", address=0))
        peer.number += 3
        is_home(peer, peer.send(DATA, b"fifth", address=0))
        expect(member.counter("missed") == 3, "3 frames were left out")
        peer.say(peer.frame(DATA, b"old", address=0, number=2).encode())
        wait_for("the late frame", lambda: member.counter("late") == 1)
        peer.number -= 1
        damaged = bytearray(peer.frame(DATA, b"bad", address=0).encode())
        damaged[48] ^= 1
        peer.say(bytes(damaged))
        wait_for("the damaged frame", lambda: member.counter("bad") == 1)
        expect(member.read(0, 5) == b"fifth", "one of them was stored")
        peer.send(HEARTBEAT)
        wait_for("the heartbeat's number", lambda: member.counter("missed") == 4)


def hops():
    """A frame that has travelled 1024 links is removed, one of 1023 is not."""
    with ring() as (member, peer):
        is_home(peer, peer.send(DATA, b"x", address=0, hops=1023))
        peer.send(DATA, b"y", address=1, hops=1024)
        wait_for("the limit", lambda: member.counter("hop_limit") == 1)
        expect(member.read(0, 2) == b"x\0", "it was stored")


def redundant():
    """In redundant mode each number comes twice; a frame of the other mode is removed."""
    with ring("--redundant") as (member, peer):
        member.verb("write", "-w", "4", "0x10", "1")
        copies = peer.wait("two copies", lambda p: len([f for f in p.seen if f.type == DATA]) == 2
                           and [f for f in p.seen if f.type == DATA])
        expect([f.flags for f in copies] == [REDUNDANT, REDUNDANT | SECOND], f"{copies}")
        expect(copies[0] == replace(copies[1], flags=REDUNDANT), "the copies differ")
        sent = peer.send(DATA, b"a", address=0, flags=REDUNDANT)
        peer.say(replace(sent, flags=REDUNDANT | SECOND).encode())
        peer.wait("both home", lambda p: len([f for f in p.home if f.type == DATA]) == 2)
        expect(member.counter("copies") >= 1, "the second copy is not counted")
        peer.send(DATA, b"b", address=0)
        wait_for("it is removed", lambda: member.counter("mixed") == 1)
        expect(member.read(0, 1) == b"a", "it was stored")


def rogue():
    """A rogue master marks what it passes on, and removes it when it comes again."""
    with ring("--rogue-master", "0") as (member, peer):
        home = is_home(peer, peer.send(DATA, b"a", address=0))
        expect(home[0].marks == ROGUE_0, f"it came home as {home}")
        peer.say(home[0].encode())
        wait_for("it is removed", lambda: member.counter("rogue") == 1)


def paused():
    """A paused node marks what it passes on, and stores it when it goes on."""
    with ring() as (member, peer):
        member.verb("pause")
        home = is_home(peer, peer.send(DATA, b"a", address=0))
        expect(home[0].marks == PAUSED, f"it came home as {home}")
        member.verb("resume")
        expect(member.read(0, 1) == b"a", "it was not stored")


def unstored():
    """A node marks what it does not store, and a fence fails by what comes home so marked."""
    with ring() as (member, peer):
        new = peer.frame(DATA, b"new", address=0)
        peer.forward = False        # else what is nobody's goes round and round
        for frame, marks in ((replace(new, number=2), 0),
                             (replace(new, number=1, data=b"old"), UNSTORED),
                             (replace(new, number=9, incarnation=peer.incarnation - 1), UNSTORED)):
            was = len(peer.home)
            peer.say(frame.encode())
            if frame.incarnation == peer.incarnation:
                peer.wait("it to come home", lambda p, n=was: len(p.home) > n)
                expect(peer.home[-1] == replace(frame, hops=2, marks=marks),
                       f"it came home as {peer.home[-1]}")
            else:
                peer.wait("the former life's frame", lambda p: [
                    f for f in p.seen if f == replace(frame, hops=2, marks=marks)])
        expect(member.read(0, 3) == b"new", "one of them was stored")
        expect(member.counter("late") == 2, "they are not counted as late")
        peer.forward, peer.marks = True, UNSTORED
        member.verb("write", "-w", "4", "0x10", "1")
        try:
            fence = member.verb("fence")
        except Failed as failure:
            fence = str(failure)
        expect("2 frame(s) did not reach every node" in fence, f"nobody stored, and the fence says {fence}")
        peer.marks = 0
        expect(member.verb("fence")["lost"] == 0, "the next fence fails too")
        expect((member.counter("home"), member.counter("lost")) == (1, 2), "the books")


def twins():
    """A later node of the same id is told to leave, and can tell an earlier one."""
    with ring() as (_, peer):
        twin = replace(peer.frame(HEARTBEAT), source=NODE,
                       incarnation=peer.seen[0].incarnation + 1, number=0)
        peer.say(twin.encode())
        notice = peer.wait("the notice", lambda p: [f for f in p.seen if f.type == DUPLICATE])[0]
        expect(notice.data == twin.incarnation.to_bytes(8, "little"), f"{notice}")
    with ring() as (member, peer):
        life = peer.seen[0].incarnation
        peer.say(replace(peer.frame(DUPLICATE, life.to_bytes(8, "little")), source=NODE,
                         incarnation=1, number=0).encode())
        wait_for("the node leaves", lambda: member.state("left"))
        is_home(peer, peer.send(DATA, b"a", address=0))
        expect(member.read(0, 1) == b"\0", "a node that has left stores still")


def light():
    """Without light the node says BREAK and nothing else; with light it is back."""
    with ring() as (member, peer):
        peer.set_light(False)
        peer.wait("the break notice", lambda p: [f for f in p.seen if f.type == BREAK])
        wait_for("no signal", lambda: not member.state("signal"))
        count = len(peer.seen)
        member.verb("write", "-w", "4", "0x10", "1")
        expect(member.counter("dark") == 1, "the store is not counted")
        peer.set_light(True)
        after = peer.wait("a heartbeat", lambda p: p.seen[count:])
        expect((after[0].type, after[0].number) == (HEARTBEAT, 1),
               f"{after[0]} came: the heartbeat must tell of the number that was dropped")


def silence():
    """A line that is silent for 2 s has no light; what is heard brings it back."""
    with ring() as (member, peer):
        peer.light = False              # says nothing more, not even that
        peer.wait("the break notice", lambda p: [f for f in p.seen if f.type == BREAK])
        expect(time.monotonic() - peer.said > 1.5, "light was lost too early")
        expect(member.verb("stats")["rx"]["up"], "the link was closed")
        peer.light = True
        wait_for("the signal is back", lambda: member.state("signal"))
        is_home(peer, peer.send(DATA, b"a", address=0))


def idle():
    """An idle line repeats its LIGHT."""
    with ring() as (_, peer):
        peer.wait("LIGHT four times", lambda p: p.lights.count(1) >= 4)
        expect(set(peer.lights) == {1}, f"the lights were {peer.lights}")


def refused(member, *pieces):
    """Say that to the node's rx; what it answers until it hangs up."""
    link = connect(member.rx)
    answer = b""
    try:
        for piece in pieces:
            link.sendall(piece)
            answer += read_exactly(link, 40) if piece is pieces[0] else b""
        answer += read_exactly(link, 1000)
    except (BrokenPipeError, ConnectionResetError):
        pass
    link.close()
    return answer


def bad_handshakes():
    """Each break of the handshake ends the link, the way the page says."""
    hello = Message(HELLO, PEER, 0, 1, 1 << 20)
    on = Message(LIGHT, PEER, 1, 1).encode()
    update = Frame(DATA, PEER, 1, 1, b"a").encode()
    damaged = hello.encode()[:-1] + b"\x99"
    with node() as member:
        answer = refused(member, replace(hello, version=9).encode())
        refusal = Message.decode(answer)
        expect((refusal.kind, refusal.value, refusal.version) == (REFUSE, 1, VERSION), f"{refusal}")
        for what, pieces in (("garbage", [b"GET / HTTP/1.1\r\n\r\n" * 3]), ("damage", [damaged]),
                             ("LIGHT first", [on])):
            expect(refused(member, *pieces) == b"", f"{what} is answered")
        for what, more in (("HELLO twice", hello.encode()), ("frames in the dark", update),
                           ("no frame", on + b"RF" + bytes(100)),
                           ("a damaged LIGHT", on[:-1] + b"\x99"),
                           ("an unknown kind", Message(9, PEER).encode())):
            answer = refused(member, hello.encode(), more)
            expect(len(answer) == 40 and Message.decode(answer).kind == WELCOME,
                   f"{what}: {answer.hex()}")
        start = time.monotonic()
        expect(refused(member, b"RL") == b"", "half a HELLO is answered")
        expect(time.monotonic() - start > 1.5, "half a HELLO has not its 2 s")


def own_numbers():
    """A number of its own that a node never gave is bad data."""
    with ring() as (member, peer):
        ours = peer.seen[0]
        peer.say(replace(ours, type=DATA, data=b"x", number=ours.number + 100).encode())
        wait_for("bad data", lambda: member.counter("bad") == 1)
        expect((ours.type, ours.number) == (HEARTBEAT, 0), f"the first frame was {ours}")


# --- a hub ---------------------------------------------------------------------------------

@contextmanager
def hub(*options):
    """An rmhub of four ports; gives its folder."""
    with tempfile.TemporaryDirectory(prefix="rfm-protocol.") as folder:
        program = subprocess.Popen([RMHUB, "--dir", folder, "--ports", "4", *options],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield folder
        finally:
            program.terminate()
            program.wait(PATIENCE_S)


def plug(folder, port, ident):
    return Peer(f"{folder}/port{port}.in", f"{folder}/port{port}.out", ident)


def queries():
    """The node says what it has stored by then; a fence comes home behind the answer."""
    with ring() as (member, peer):
        page = bytes(n % 251 for n in range(4096))
        for at in range(0, 4096, 64):
            peer.send(DATA, page[at:at + 64], address=0x3000 + at)
        for ticket, (address, length) in enumerate((
                (0x3000, 4096), (0x3001, 77), (0x3FFF, 1), (0x10000, 16))):
            query = peer.send(QUERY, query_data(ticket, address, length))
            peer.send(DATA, b"later", address=0x3000 + 64 * ticket + 4096)
            is_home(peer, peer.send(FENCE, bytes(8)))
            answers = [f for f in peer.seen if f.type == ANSWER]
            wanted = member.read(address, length)
            expect(len(answers) == ticket + 1, f"{len(answers)} answers")
            expect((answers[-1].source, answers[-1].dest, answers[-1].hops) == (NODE, PEER, 1) and
                   answers[-1].data == answer_data(ticket, wanted),
                   f"{query} was answered {answers[-1]}")
        before = member.counter("received")
        for data in (query_data(9, 0, 0), query_data(9, 0, 32769), query_data(9, SPACE, 1)):
            is_home(peer, peer.send(QUERY, data))
        is_home(peer, peer.send(FENCE, bytes(8)))
        expect(member.counter("received") == before + 4, "senseless queries were not taken")
        expect(len([f for f in peer.seen if f.type == ANSWER]) == 4, "and answered")
        # What is not in the memory is left out: nothing, or the part before its end.
        size = 1 << 20
        for ticket, (address, wanted) in enumerate((
                (size - 3, member.read(size - 3, 3)), (SPACE - 8, member.read(0, 8)),
                (size, b"")), 20):
            peer.send(QUERY, query_data(ticket, address, 16))
            is_home(peer, peer.send(FENCE, bytes(8)))
            last = [f for f in peer.seen if f.type == ANSWER][-1]
            expect(last.data == answer_data(ticket, wanted), f"{address:#x}: {last}")
        # Answers to others, and to questions that were never asked, do no harm.
        for dest in (NODE, 9):
            peer.send(ANSWER, answer_data(1, b"x"), dest=dest, number=peer.number)
        is_home(peer, peer.send(FENCE, bytes(8)))
        expect(member.counter("bad") == 0, "bad data")


def through_a_hub():
    """A hub says what it is, counts as a link, and shows a change of the ring as the page says."""
    with hub() as folder:
        first = plug(folder, 1, 11)
        first.join()
        expect(first.hello.value & IS_HUB and first.welcome.value & IS_HUB, "it is no hub")
        home = is_home(first, first.send(DATA, b"a", address=0))
        expect([frame.hops for frame in home] == [2], f"alone on a hub: {home}")
        lights = len(first.lights)
        second = plug(folder, 3, 12)
        second.join()
        first.wait("the light goes and comes", lambda p: 0 in p.lights[lights:]
                   and p.lights[-1] == 1)
        home = is_home(first, first.send(DATA, b"b", address=0))
        expect([frame.hops for frame in home] == [4], f"two on a hub: {home}")
        sent = first.send(MULTICAST, multicast_data(5, 11, 12, 200), kind=3)
        expect(is_home(first, sent) == [replace(sent, hops=4, marks=2 << 4)],
               "the hub has changed more than hops and how many hubs there were")
        second.wait("an interrupt to a set", lambda p: replace(sent, hops=2, marks=1 << 4) in p.seen)
        second.close()
        first.home.clear()
        first.join()
        home = is_home(first, first.send(DATA, b"c", address=0))
        expect([frame.hops for frame in home] == [2], f"alone again: {home}")
        first.close()


def rogues_of_a_hub():
    """Frames of a node that has gone are removed by the hub."""
    with hub() as folder:
        first, second = plug(folder, 0, 11), plug(folder, 1, 12)
        first.join()
        second.join()
        left = second.send(DATA, b"a", address=0)
        first.wait("its frame", lambda p: [f for f in p.seen if f.number == left.number
                                           and f.type == DATA])
        second.close()
        first.home.clear()
        first.join()
        first.say(left.encode())
        is_home(first, first.send(DATA, b"b", address=0))
        expect(len([f for f in first.seen if f.type == DATA]) == 1,
               "the frame of the node that has gone came round again")
        first.close()


def main():
    tests = [examples, on_the_stream, in_shared_memory, many_in_shared_memory,
             blocks_on_the_stream, blocks_in_shared_memory, packets_on_the_stream,
             packets_in_shared_memory, operations, numbers, hops,
             redundant, rogue, paused, unstored, twins, light, silence, idle, bad_handshakes, own_numbers,
             queries, through_a_hub, rogues_of_a_hub]
    plan(tests)
    return 1 if run(tests) else 0


if __name__ == "__main__":
    sys.exit(main())
