# SPDX-License-Identifier: MIT
"""Members that ask, answer and send messages as docs/ring-protocol.md, section 14, forbids: for peers.py.

Each is one neighbour of an rmnode, which must refuse it, count it, and go on.
"""

import json
import struct
import threading
import time
from contextlib import contextmanager

from peer import (ADD, ANSWERS, CAS, CLOSED, DENIED, DONE, FIRST, LAST, MERGE, NOT_HOME, NO_SUCH,
                  OTHER_LIFE, OUTSIDE, PACKET, READ, REQUESTS, SEEN, SEND, TAKEN, WRITE, Packet, Peer, reply_data,
                  request_data)
from suite import Failed, expect, wait_for
from members import Control, Node, Place, kilobytes

NODE, PEER, STRANGER = 7, 3, 9
SIZE = 1 << 20
HOME, OPEN, SHUT = 0x1000, 0x2000, 0x3000       # granules with another right each
PATIENCE_S = 5.0                                # of an operation
PARTS, SLOTS = 32, 64
STORM = 4000
OLD_TICKETS = 1 << 24
GROWTH = 8 << 10                                # KiB


@contextmanager
def ring(name):
    """An rmnode and a Peer that is a member like any other, until it is told otherwise."""
    with Place(f"peers-{name}") as place:
        node = place.add(Node(place.folder, NODE, f"unix:{place.folder}/rx,server",
                              f"unix:{place.folder}/tx,server", "--memory", "1M")).up()
        node.call("export", first=HOME, last=HOME + 63, rights="home,read")
        node.call("export", first=OPEN, last=OPEN + 63, rights="read,write")
        peer = Peer(f"{place.folder}/rx", f"{place.folder}/tx", PEER)
        try:
            peer.join()
            peer.beats = True
            wait_for("the node knows it", node.members)
            yield node, peer
        finally:
            peer.close()


def count(node, name):
    return node.stats()[name]


def is_home(peer, packet):
    return peer.wait(f"packet {packet.number} comes home",
                     lambda p: [f for f in p.home if f.type == PACKET and
                                (f.source, f.number) == (packet.source, packet.number)])[0]


def forged(peer, source, number, data, kind=REQUESTS, stream=0):
    """A packet in the name of another node."""
    peer.aliases = {*peer.aliases, source}
    return Packet(PACKET, source, peer.incarnation, number, data, dest=NODE, kind=kind, flags=FIRST | LAST,
                  stream=stream, time=time.monotonic_ns())


def memory_of(node, first, length):
    return bytes.fromhex(node.call("read", first=first, last=first + length - 1)["data"])


def is_unharmed(node, peer):
    """It stores, and answers those who ask as they should."""
    node.call("write", first=0, data="5a5a5a5a")
    node.call("fence")
    expect(peer.answered(NODE, READ, offset=OPEN, length=8, part=PARTS - 1).result == DONE, "it answers no more")


def what_cannot_be_asked():
    """Keys, lengths, offsets and words that cannot be: a result that names which, and nothing is changed"""
    wraps = [(1 << 64) - n for n in (1, 7, 8, 64, 4096)] + [1 << 63, 1 << 32, SIZE, SIZE - 4, 1 << 28]
    with ring("wrong") as (node, peer):
        before = memory_of(node, 0, 4 * HOME)
        for offset in wraps:
            for op in READ, WRITE:
                data = bytes(8) if op == WRITE else b""
                expect(peer.answered(NODE, op, offset=offset, length=8, data=data).result == OUTSIDE,
                       f"operation {op} at {offset:#x}")
            expect(peer.answered(NODE, CAS, offset=offset, length=8, width=8, value=1).result == OUTSIDE, f"{offset:#x}")
        for length in 0, 1 << 20, (1 << 20) + 1, (1 << 32) - 1, (1 << 32) - OPEN:
            for op in READ, MERGE:
                result = peer.answered(NODE, op, offset=OPEN, length=length).result
                expect(result == OUTSIDE, f"operation {op} of {length} bytes: {result}")
        for key in 1, 77, (1 << 32) - 1:
            for op, more in ((READ, {}), (MERGE, {}), (WRITE, {"data": bytes(8)}), (ADD, {"width": 8, "value": 1})):
                expect(peer.answered(NODE, op, offset=HOME, length=8, key=key, **more).result == DENIED, f"key {key}")
        for width, at, length in ((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3), (16, 0, 16), (255, 0, 255), (4, 2, 4),
                                  (8, 4, 8), (8, 0, 4), (4, 0, 8)):
            result = peer.answered(NODE, ADD, offset=HOME + at, length=length, width=width, value=1).result
            expect(result == OUTSIDE, f"a word of {width} bytes, {length}, at {at}: {result}")
        for op, offset, more, wanted in (
                (READ, SHUT, {}, DENIED), (WRITE, SHUT, {"data": bytes(8)}, DENIED), (READ, OPEN + 60, {}, DENIED),
                (WRITE, HOME, {"data": bytes(8)}, DENIED), (ADD, OPEN, {"width": 8, "value": 1}, NOT_HOME),
                (0, HOME, {}, NO_SUCH), (7, HOME, {}, NO_SUCH), (255, HOME, {}, NO_SUCH),
                (SEND, 0, {"key": 5, "total": 8, "data": bytes(8)}, CLOSED),
                (SEND, 0, {"key": 1 << 16, "total": 8, "data": bytes(8)}, CLOSED)):
            result = peer.answered(NODE, op, offset=offset, length=8, **more).result
            expect(result == wanted, f"operation {op} at {offset:#x}: {result}, not {wanted}")
        for life in 0, 1, peer.life_of(NODE) - 1, peer.life_of(NODE) + 1, (1 << 64) - 1:
            result = peer.answered(NODE, ADD, offset=HOME, length=8, width=8, value=1, life=life).result
            expect(result == OTHER_LIFE, f"life {life}: {result}")
        expect(memory_of(node, 0, 4 * HOME) == before, "something was changed")
        is_unharmed(node, peer)


def packets_that_are_no_requests():
    """Packets that are too short, too long, of no part or not whole: none is taken, each is counted"""
    with ring("shapes") as (node, peer):
        life, refused = peer.life_of(NODE), count(node, "refused")
        whole = request_data(READ, 1, life, OPEN, 8)
        atomic = request_data(ADD, 1, life, HOME, 8, width=8, value=1)
        sends = request_data(SEND, 1, life, 0, 8, key=5, total=8, data=bytes(8))
        wrong = [(whole[:n], {}) for n in (1, 4, 31)] + [(whole + b"x", {}), (whole + bytes(2000), {})]
        wrong += [(atomic[:-1], {}), (atomic + b"x", {}), (atomic[:32], {})]
        wrong += [(request_data(WRITE, 1, life, OPEN, n, data=bytes(8)), {}) for n in (0, 7, 9, 1 << 31, (1 << 32) - 1)]
        wrong += [(sends[:-8], {}), (sends[:-1], {}), (sends + b"x", {})]
        wrong += [(request_data(SEND, 1, life, at, 8, key=5, total=total, data=bytes(8)), {})
                  for at, total in ((0, 0), (0, 7), (8, 8), (1, 8), ((1 << 64) - 4, 8), (1 << 32, 1 << 20), (0, (1 << 20) + 1),
                                    (0, (1 << 32) - 1))]
        wrong += [(whole, {"stream": part}) for part in (PARTS, 255, 65535)]
        wrong += [(whole, {"flags": flags}) for flags in (0, FIRST, LAST)]
        wrong += [(reply_data(DONE, READ, 1)[:n], {"kind": ANSWERS}) for n in (1, 15)]
        wrong += [(whole, {"kind": kind}) for kind in (0, 3)]       # messages and Ethernet: nobody's here
        for data, fields in wrong:
            packet = peer.packet(NODE, data, **{"kind": REQUESTS, "flags": FIRST | LAST, "stream": 0, **fields})
            expect(is_home(peer, packet).marks == SEEN, f"it takes {data[:48].hex()}, {fields}")
        expect(count(node, "refused") == refused + len(wrong), "not all of it is counted")
        expect(count(node, "served") == 0, "something is answered")
        is_unharmed(node, peer)


def begun(asker, **verb):
    """The rmnode asks the peer; returns a function that waits for the end: what it got, or was told."""
    ended = []

    def ask():
        control = Control(asker.path)
        try:
            ended.append(control.call(**verb))
        except Failed as failure:
            ended.append(str(failure))
        control.close()

    thread = threading.Thread(target=ask)
    thread.start()

    def wait():
        thread.join(4 * PATIENCE_S)
        expect(ended, "it hangs")
        return ended[0]

    return wait


GET = {"verb": "get", "node": PEER, "first": 0, "last": 7}


def answers_that_are_none():
    """Answers nobody asked for, of the wrong node, ticket, operation or length: counted, and not believed"""
    with ring("answers") as (node, peer):
        for ticket in range(200):
            peer.packet(NODE, reply_data(ticket % 256, ticket % 8, ticket, data=bytes(ticket)), kind=ANSWERS,
                        flags=FIRST | LAST, stream=ticket % PARTS)
        wait_for("they are counted", lambda: count(node, "strange") == 200)

        def lie(request):
            ticket, = struct.unpack("<I", request.data[4:8])
            peer.say(forged(peer, STRANGER, 1, reply_data(DONE, READ, ticket, data=b"stranger"), kind=ANSWERS,
                            stream=request.stream).encode())
            for data in (reply_data(DONE, READ, ticket), reply_data(DONE, READ, ticket, data=bytes(9)),
                         reply_data(DONE, WRITE, ticket), reply_data(DONE, CAS, ticket, data=b"12345678"),
                         reply_data(16, READ, ticket), reply_data(255, READ, ticket),
                         reply_data(DONE, READ, ticket + 1, data=b"12345678")):
                peer.packet(NODE, data, kind=ANSWERS, flags=FIRST | LAST, stream=request.stream)
            peer.packet(NODE, reply_data(DONE, READ, ticket, data=b"12345678"), kind=ANSWERS, flags=FIRST | LAST,
                        stream=(request.stream + 1) % PARTS)
            peer.reply(request, data=b"the data")

        peer.serve = lie
        before = count(node, "strange")
        expect(begun(node, **GET)() == {"offset": 0, "data": b"the data".hex()}, "it believes another")
        expect(count(node, "strange") >= before + 9, "they are not counted")
        peer.serve = None
        is_unharmed(node, peer)


def tickets_again():
    """The same ticket, and older ones, again and again: done once, answered with what it was"""
    with ring("tickets") as (node, peer):
        peer.ticket = 1000
        _, ticket = peer.ask(NODE, ADD, offset=HOME, length=8, width=8, value=1)
        peer.wait("the first answer", lambda p: p.replies(ticket))
        for _ in range(50):
            peer.ask(NODE, ADD, offset=HOME, length=8, width=8, value=1, ticket=ticket)
            is_home(peer, peer.ask(NODE, ADD, offset=HOME, length=8, width=8, value=1, ticket=ticket - 1)[0])
        again = peer.wait("answers again", lambda p: len(p.replies(ticket)) > 1 and p.replies(ticket))
        expect({(reply.result, reply.old) for reply in again} == {(DONE, 0)}, f"{again}")
        expect(memory_of(node, HOME, 8) == struct.pack("<Q", 1), "it was done again")
        expect(count(node, "repeated") >= 100, "they are not counted")
        # The oldest one, which lies before 0; and 0 is none.
        peer.ask(NODE, ADD, offset=HOME, length=8, width=8, value=1, ticket=(ticket - OLD_TICKETS + 1) % (1 << 32))
        for _ in range(2):
            asked = peer.ask(NODE, ADD, offset=HOME, length=8, width=8, value=1, ticket=0, part=1)[0]
            expect(is_home(peer, asked).marks == SEEN, "a request without a ticket is taken")
        is_unharmed(node, peer)
        expect(memory_of(node, HOME, 8) == struct.pack("<Q", 1), "it was done again")


def messages_that_lie():
    """Parts over each other, of another length or port than the first, and a message without an end"""
    with ring("messages") as (node, peer):
        inbox = Control(node.path)
        inbox.ask("receive", port=5, count=2)
        expect("listening" in inbox.lines.readline(), "it does not listen")

        def part(message, at, length, total, key=5):
            return peer.answered(NODE, SEND, offset=at, length=length, key=key, message=message, total=total,
                                 data=bytes(range(at % 256, at % 256 + length))).result

        for over in range(0, 8):
            expect(part(10 + over, 0, 8, 16) == DONE, "a first part")
            expect(part(10 + over, over, 8, 16) == NO_SUCH, f"a part over another, at {over}")
        expect(count(node, "given_up") == 8, "they are not counted")
        expect(part(30, 0, 8, 16) == DONE and part(30, 8, 8, 17) == NO_SUCH, "another length")
        expect(part(30, 8, 8, 16, key=6) in (NO_SUCH, CLOSED), "another port")
        expect(part(30, 8, 8, 16) == DONE, "the right one")
        for message in range(100, 300):                 # each gives up the one before
            part(message, 0, 8, 1 << 20)
        expect(part(400, 0, 8, 8) == DONE, "a message after them")
        came = [bytes.fromhex(json.loads(inbox.lines.readline())["event"]["data"]) for _ in range(2)]
        expect(came == [bytes(range(16)), bytes(range(8))], f"{came} came")
        expect(count(node, "messages") == 2, "they are not counted")
        inbox.close()
        is_unharmed(node, peer)
        size = kilobytes(node.pid, "Rss")
        expect(size < 100 << 10, f"it keeps {size} KiB")


def storm_of_requests():
    """Many nodes ask without end and take no answer: the places for answers run out, the ring goes on"""
    with ring("storm") as (node, peer):
        size = kilobytes(node.pid, "Rss")
        peer.verdict = SEEN             # no answer is ever taken
        life = peer.life_of(NODE)
        for n in range(STORM):
            source, part = 20 + n % 5, n // 5 % PARTS
            peer.say(forged(peer, source, 1 + n, request_data(READ, 1 + n, life, OPEN, 8), stream=part).encode())
            if n % 500 == 0:            # its stores go on
                node.call("write", first=n, data="77" * 8)
                node.call("fence")
        peer.wait("all come round", lambda p: len(of_aliases(p)) >= STORM)
        came = of_aliases(peer)
        taken = sum(bool(f.marks & TAKEN) for f in came)
        full = sum(f.marks == SEEN for f in came)
        expect(taken + full == len(came) == STORM, f"of {len(came)} {taken} were taken, and {full} were not")
        expect(taken and full, f"{taken} were taken, {full} were not")
        peer.verdict = None
        wait_for("the places are free again", lambda: peer_is_answered(peer))
        expect(kilobytes(node.pid, "Rss") - size < GROWTH, "it grows")
        is_unharmed(node, peer)


def of_aliases(peer):
    return [frame for frame in peer.home if frame.source in peer.aliases]


def peer_is_answered(peer):
    packet, ticket = peer.ask(NODE, READ, offset=OPEN, length=8)
    if not is_home(peer, packet).marks & TAKEN:
        time.sleep(0.05)
        return False
    peer.wait("its answer", lambda p: p.replies(ticket))
    return True


def a_place_for_others():
    """One node that asks without end and takes no answer leaves places for the others"""
    with ring("places") as (node, peer):
        peer.verdict = SEEN
        for n in range(10 * SLOTS):
            is_home(peer, peer.ask(NODE, READ, offset=OPEN, length=8, part=n % PARTS)[0])
        peer.say(forged(peer, STRANGER, 1, request_data(READ, 1, peer.life_of(NODE), OPEN, 8)).encode())
        came = peer.wait("it comes round", lambda p: [f for f in p.home if f.source == STRANGER])
        expect(came[0].marks & TAKEN, "there is no place for another node")
        peer.verdict = None
        is_unharmed(node, peer)


def verdicts_that_lie():
    """Taken and never answered, no such node, no room: the caller is told, in its time"""
    with ring("verdicts") as (node, peer):
        put = {"verb": "put", "node": PEER, "first": 0, "data": "11" * 8}
        for verdict, verb, sentence, seconds in (
                (0, GET, "there is no such node on the ring", 1), (0, put, "there is no such node on the ring", 1),
                (SEEN, GET, "the node stands still, or has no room: nothing was done", PATIENCE_S),
                (SEEN, put, "the node stands still, or has no room: nothing was done", PATIENCE_S),
                (SEEN | TAKEN, GET, "the node stands still, or has no room: nothing was done", PATIENCE_S),
                (SEEN | TAKEN, put, "no answer has come: it may have been done", PATIENCE_S)):
            peer.verdict = verdict
            since = time.monotonic()
            said = begun(node, **verb)()
            took = time.monotonic() - since
            expect(said == sentence, f"a verdict {verdict:#x} to {verb['verb']}: {said}")
            expect(took < seconds + 2, f"a verdict {verdict:#x} to {verb['verb']}: {took:.1f} s")
        peer.verdict = None

        def restarted(request):
            peer.reply(request, OTHER_LIFE)

        peer.serve = restarted          # each time: that has an end, too
        said = begun(node, **GET)()
        expect(said == "the node stands still, or has no room: nothing was done", said)
        peer.serve = None
        is_unharmed(node, peer)


TESTS = [what_cannot_be_asked, packets_that_are_no_requests, answers_that_are_none, tickets_again,
         messages_that_lie, storm_of_requests, a_place_for_others, verdicts_that_lie]
