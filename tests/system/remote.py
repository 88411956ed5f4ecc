#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operations at one named node, of rmnodes on a hub: read, write, change a word there."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from hub import know_each_other, node_on, ring, state, stats
from labkit import Failed
from members import RMNODE, Control, Hub, Place
from peer import FIRST, LAST, PACKET, READ, REQUESTS, SEEN, TAKEN, Packet, Peer, request_data
from suite import PATIENCE_S, expect, figure, plan, run, several_attempts, wait_for

ADDERS = 16
ADDED = 100000 if "--long" in sys.argv else 2000      # by each
RESYNCS = 100
SEED = 17


def rmnode(node, *words, text=None):
    """A verb to its end."""
    return subprocess.run([RMNODE, "-S", node.path, *map(str, words)], text=True, capture_output=True, input=text,
                          timeout=PATIENCE_S, check=False)


def told(node, *words):
    done = rmnode(node, *words)
    expect(done.returncode == 0 and not done.stderr, f"rmnode {words}: {done}")
    return done.stdout


def refused(node, sentence, *words, status=1):
    done = rmnode(node, *words)
    expect((done.returncode, done.stderr) == (status, f"rmnode: {sentence}\n"), f"rmnode {words}: {done}")


def of(node, offset, length):
    return bytes.fromhex(node.call("read", first=offset, last=offset + length - 1)["data"])


def there_and_back():
    """Bytes are written at one node only, and read there; words are changed everywhere"""
    with Place("remote-bytes") as place:
        _, (one, two, three) = ring(place, 3)
        told(two, "export", "0x1000-0x1fff", "read,write")
        told(two, "export", "0x2000+64", "home")
        told(one, "put", 2, "0x1000", "0xcafe0102")
        expect(told(three, "get", 2, "0x1000") == "0xcafe0102\n", "node 3 reads something else at node 2")
        expect(told(two, "get", 2, "0x1000") == "0xcafe0102\n", "node 2 reads something else itself")
        expect(of(three, 0x1000, 4) == bytes(4), "node 3 has what was for node 2")

        data = os.urandom(4096)
        file = Path(place.folder) / "data"
        file.write_bytes(data)
        told(one, "put", "-f", file, 2, "0x1000")
        expect(of(two, 0x1000, 4096) == data, "node 2 has something else")
        got = subprocess.run([RMNODE, "-S", three.path, "get", "-r", "2", "0x1000+4096"], check=True,
                             capture_output=True, timeout=PATIENCE_S)
        expect(got.stdout == data, "node 3 reads something else")

        expect(told(one, "cas", "-w", 8, 2, "0x2000", 0, "0x1122334455667788") == "0x0000000000000000\n", "cas")
        expect(of(one, 0x2000, 8) == struct.pack("<Q", 0x1122334455667788), "it is not here when cas returns")
        refused(three, "the word was another: nothing has been changed", "cas", "-j", 2, "0x2000", 0, 1)
        expect(told(three, "add", 2, "0x2004", 1) == "0x11223344\n", "add")
        expect(told(three, "add", "-n", 99, 2, "0x2004", 1) == "99 times, unknown 0\n", "add, many times")
        one.call("fence")
        for node in one, two, three:
            wait_for("the word is everywhere", lambda node=node: of(node, 0x2004, 4) ==
                     struct.pack("<I", 0x11223344 + 100))
        answer = json.loads(told(one, "add", "-j", 2, "0x2004", 0))
        expect(answer == {"old": "a8332211", "changed": True}, f"{answer}")


def sentences():
    """What cannot be is said in one sentence, and nothing has changed"""
    with Place("remote-refused") as place:
        _, (one, two) = ring(place, 2)
        denied = "the node does not allow it there"
        refused(one, denied, "get", 2, "0x100")
        refused(one, denied, "put", 2, "0x100", 1)
        refused(one, "the node is not the home of that word", "add", 2, "0x100", 1)
        refused(one, "there is no such node on the ring", "get", 77, "0x100")
        beyond = "not all of it is in the memory of that node, or the word is not aligned"
        refused(one, beyond, "get", 2, "0xfffff+2")
        refused(one, beyond, "get", 2, "0x2000000")
        told(two, "export", "0x100+64", "home,read")
        refused(one, beyond, "cas", 2, "0x102", 0, 1)
        refused(one, denied, "get", 2, "0x13f+2")
        refused(one, denied, "put", 2, "0x100", 1)
        refused(two, "the range must be of whole granules of 64 bytes", "export", "0x10+64", "read")
        refused(two, "the right 'all' is not read, write, home or none", "export", "0x100+64", "all")
        refused(one, "a word has 4 or 8 bytes here, not 2", "add", "-w", 2, 2, "0x100", 1, status=2)
        refused(one, "the node '256' is no number from 0 to 255", "get", 256, "0x100", status=2)
        expect(of(two, 0x100, 64) == bytes(64), "something has changed")
        told(two, "export", "0x100+64", "none")
        refused(one, denied, "get", 2, "0x100")


def who_does_not_answer():
    """A node that stands still, dies or comes back: the caller is told, and nothing hangs"""
    with Place("remote-silent") as place:
        hub, (one, two, three) = ring(place, 3)
        told(two, "export", "0x100+64", "home,read")
        told(two, "pause")
        refused(one, "the node stands still, or has no room: nothing was done", "add", 2, "0x100", 1)
        refused(one, "it has not ended in time: it may have been done", "get", "-t", 0.02, 2, "0x100")
        told(two, "resume")
        expect(told(one, "add", 2, "0x100", 1) == "0x00000000\n", "it was done while it stood still")
        waits = subprocess.Popen([RMNODE, "-S", one.path, "add", "-n", "100000000", "-t", "100", "2", "0x100", "1"],
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for("it adds", lambda: of(two, 0x100, 4) > bytes(4))
        two.end()
        waits.communicate(timeout=PATIENCE_S)
        expect(waits.returncode == 1, "nobody has told that node 2 is dead")
        again = node_on(place, hub, 1)
        know_each_other([one, again, three])
        # Its answer tells of its new life. What changes something may end as unknown before.
        refused(one, "the node does not allow it there", "get", 2, "0x100")
        refused(one, "the node is not the home of that word", "add", 2, "0x100", 1)
        told(again, "export", "0x100+64", "home")
        expect(told(one, "add", 2, "0x100", 1) == "0x00000000\n", "its memory is not a new one")
        told(one, "set", "transmit", "off")
        refused(one, "the node is dark: nothing can leave it", "add", 2, "0x100", 1)


NO_NODE = "there is no such node on the ring"
NO_ROOM = "the node stands still, or has no room: nothing was done"
UNKNOWN = "no answer has come: it may have been done"
OPERATIONS = (("get", 2, "0x100"), ("put", 2, "0x100", 1), ("add", 2, "0x140", 1), ("message", 2, 7, "x"))
IN_TIME_S = 5.0 + 2.0       # of an operation, and of a program that says how it ended


def each_ends(node, *sentences):
    """Each operation at node 2 ends in time, with one of these."""
    for words in OPERATIONS:
        begun = time.monotonic()
        done = rmnode(node, *words)
        took = time.monotonic() - begun
        expect(done.returncode == 1 and done.stderr in [f"rmnode: {sentence}\n" for sentence in sentences], f"{words}: {done}")
        expect(took < IN_TIME_S, f"{words} took {took:.1f} s")
        print(f"# {words[0]}: {done.stderr.strip()}, {took:.1f} s", flush=True)


def opened(node):
    """What the operations need there; returns who takes the messages."""
    told(node, "export", "0x100+64", "read,write")
    told(node, "export", "0x140+64", "home")
    inbox = Control(node.path)
    inbox.ask("receive", port=7, count=1000000)
    expect("listening" in inbox.lines.readline(), "it does not listen")
    return inbox


def all_is_well(node):
    for words in OPERATIONS:
        told(node, *words)


def stopped_killed_absent():
    """A member whose process is stopped, or killed: whoever asks it is told in time, and it goes on"""
    with Place("remote-stopped") as place:
        hub, (one, two, three) = ring(place, 3)
        inbox = opened(two)
        all_is_well(one)
        two.send_signal(signal.SIGSTOP)
        each_ends(one, NO_NODE, NO_ROOM, UNKNOWN, "the node is dark: nothing can leave it")
        two.send_signal(signal.SIGCONT)
        know_each_other([one, two, three])
        all_is_well(one)
        two.end()
        each_ends(one, NO_NODE, UNKNOWN, "the node is dark: nothing can leave it")
        know_each_other([one, three])
        each_ends(three, NO_NODE)
        inbox.close()
        again = node_on(place, hub, 1)
        know_each_other([one, again, three])
        inbox = opened(again)
        all_is_well(three)
        inbox.close()


def a_full_port():
    """Who takes messages does not look at them: the next one finds no room, and comes when there is some"""
    with Place("remote-full") as place:
        _, (one, two) = ring(place, 2)
        inbox = opened(two)
        letter = "5a" * (300 << 10)
        for sent in range(1, 400):
            try:
                one.call("message", node=2, port=7, data=letter)
            except Failed as refusal:
                expect(str(refusal) == NO_ROOM, f"{refusal}")
                break
        else:
            raise Failed("it takes messages without end")
        refused(one, NO_ROOM, "message", 2, 7, "one more")
        for _ in range(sent - 1):
            expect(json.loads(inbox.lines.readline())["event"] == {"from": 1, "data": letter}, "another message has come")
        all_is_well(one)
        inbox.close()


def no_answer_slots():
    """Another node has all places for answers: who asks is told, the ring goes on, and so does he afterwards"""
    with Place("remote-slots") as place:
        hub, (one, two) = ring(place, 2)
        inbox = opened(two)
        hostile = Peer(hub.path_in(2), hub.path_out(2), 9)
        ended = threading.Event()

        def storm():
            """Four nodes ask, each for each of its parts, and take no answer."""
            life, n = hostile.life_of(2), 0
            hostile.aliases = {20, 21, 22, 23}
            while not ended.is_set():
                n += 1
                hostile.say(Packet(PACKET, 20 + n % 4, hostile.incarnation, n, request_data(READ, n, life, 0x100, 8), dest=2,
                                   kind=REQUESTS, flags=FIRST | LAST, stream=n // 4 % 32, time=time.monotonic_ns()).encode())
                if n % 64 == 0:
                    time.sleep(0.1)

        storming = threading.Thread(target=storm)
        try:
            hostile.join()
            hostile.beats = True
            hostile.wait("a frame of node 2", lambda p: [f for f in p.seen if f.source == 2])
            hostile.verdict = SEEN
            storming.start()
            hostile.wait("all places are taken", lambda p: [f for f in p.home if f.type == PACKET and
                                                           f.marks & (SEEN | TAKEN) == SEEN])

            def finds_no_room(words):
                """Not each time, if the storm does not get a CPU."""
                begun = time.monotonic()
                done = rmnode(one, *words)
                expect(time.monotonic() - begun < IN_TIME_S, f"{words} took {time.monotonic() - begun:.1f} s")
                return done.stderr != f"rmnode: {NO_ROOM}\n" and f"{words}: {done}"

            for words in OPERATIONS:
                several_attempts(finds_no_room, words)
            told(one, "write", "0x800", 7)          # stores have room all the time
            told(one, "fence")
            told(two, "write", "0x808", 7)
            told(two, "fence")
        finally:
            ended.set()
            if storming.ident:
                storming.join()
        hostile.verdict = None
        wait_for("the places are free again", lambda: rmnode(one, "get", 2, "0x100").returncode == 0)
        all_is_well(one)
        inbox.close()
        hostile.close()


def sums():
    """Sixteen nodes add to one word while the hub drops, doubles and reorders: the sum is exact"""
    with Place("remote-sums") as place:
        hub = Hub(place, ADDERS)
        nodes = [node_on(place, hub, port) for port in range(ADDERS)]
        know_each_other(nodes)
        home = nodes[4]
        told(home, "export", "0x100+64", "home")
        for kind in "drop", "duplicate", "reorder":
            hub.fault(kind=kind, probability=0.01, type="packet")
        adding = [subprocess.Popen([RMNODE, "-S", node.path, "add", "-j", "-w", "8", "-n", str(ADDED), "-t", "3000",
                                    "5", "0x100", "1"], text=True, stdout=subprocess.PIPE) for node in nodes]
        told_of = [json.loads(one.communicate(timeout=3000)[0]) for one in adding]
        done, unknown = (sum(one[name] for one in told_of) for name in ("done", "unknown"))
        expect(done + unknown == ADDERS * ADDED, f"{told_of}")
        found, = struct.unpack("<Q", of(home, 0x100, 8))
        struck = sum(hub.fired().values())
        figure(f"{done} additions done, {unknown} unknown, the sum is {found}; {struck} faults")
        expect(done <= found <= done + unknown, f"{done} done, {unknown} unknown: {found}")
        expect(struck > ADDED / 10, "there were no faults")
        hub.clear()
        for node in nodes:
            wait_for("all have the sum", lambda node=node: of(node, 0x100, 8) == struct.pack("<Q", found))


def late_joiner():
    """Who dies and comes back is incomplete, and gets everything while the others store"""
    with Place("remote-resync") as place:
        hub, (one, two, three) = ring(place, 3)
        refused(two, "node 2 is this one", "resync", 2)
        for node in one, two, three:
            told(node, "load", "--count", 20000, "--size", 48, "--own", 4, "--random")
            told(node, "fence")
            expect(not state(node)["incomplete"], "a node that was there at the beginning is incomplete")
        two.end()
        again = node_on(place, hub, 1)
        know_each_other([one, again, three])
        expect(state(again)["incomplete"], "it has nothing of what was stored, and does not know it")
        wait_for("the others know it", lambda: [m["id"] for m in one.members() if m["incomplete"]] == [2])
        refused(one, "that node is incomplete itself", "resync", 2)
        storing = [store_at_random(node) for node in (one, again, three)]
        wait_for("they store", lambda: all(stats(node)["stores"] > 21000 or node is again and stats(node)["stores"] > 1000
                                           for node in (one, again, three)))
        said = told(again, "resync")
        expect(said.startswith(f"{1 << 20} bytes are as at node "), said)
        expect(not state(again)["incomplete"], "it is still incomplete")
        for program in storing:
            program.terminate()
            program.wait(PATIENCE_S)
        for node in one, again, three:
            told(node, "fence")
        sums = {node.node: node.call("checksum")["crc32c"] for node in (one, again, three)}
        expect(len(set(sums.values())) == 1, f"{sums}")
        wait_for("the others know it", lambda: not any(m["incomplete"] for m in one.members()))


def store_at_random(node):
    """Stores of its own eighth without end; returns the program."""
    return subprocess.Popen([RMNODE, "-S", node.path, "load", "--count", "1000000000", "--rate", "20000", "--size", "8",
                             "--own", "8", "--random"], stdout=subprocess.DEVNULL)


def resyncs():
    """Again and again a node at a random place dies, comes back, and gets 64 MiB while three others store"""
    dice = random.Random(SEED)
    with Place("remote-resyncs") as place:
        hub = Hub(place, 5)
        nodes = [node_on(place, hub, port, None, "--memory", "64M") for port in range(4)]
        know_each_other(nodes)
        told(nodes[0], "load", "--count", 1 << 20, "--size", 64)
        told(nodes[0], "fence")
        took = []
        for round_ in range(RESYNCS):
            port = dice.randrange(4)
            nodes[port].end()
            nodes[port] = late = node_on(place, hub, port, None, "--memory", "64M")
            know_each_other(nodes)
            writers = [node for node in nodes if node is not late]
            before = [stats(node)["stores"] for node in writers]
            storing = [store_at_random(node) for node in writers]
            for node, count in zip(writers, before):
                wait_for("it stores", lambda node=node, count=count: stats(node)["stores"] > count)
            before = [stats(node)["stores"] for node in writers]
            begun = time.monotonic()
            said = told(late, "resync")
            took.append(time.monotonic() - begun)
            expect(said.startswith(f"{64 << 20} bytes are as at node "), said)
            for node, count in zip(writers, before):
                expect(stats(node)["stores"] > count + 100, f"node {node.node} did not store meanwhile")
            for program in storing:
                program.terminate()
                program.wait(PATIENCE_S)
            for node in nodes:
                told(node, "fence")
            sums = {node.node: node.call("checksum")["crc32c"] for node in nodes}
            expect(len(set(sums.values())) == 1, f"round {round_}, node {late.node} has come late: {sums}")
        figure(f"{RESYNCS} times: {min(took):.2f} to {max(took):.2f} s, {sorted(took)[len(took) // 2]:.2f} s (median)")


def by_itself():
    """With --auto-resync who comes back gets everything without being told to, and again what it misses later"""
    with Place("remote-auto") as place:
        hub, (one, two, three) = ring(place, 3)
        for node in one, two, three:
            told(node, "load", "--count", 20000, "--size", 48, "--own", 4, "--random")
            told(node, "fence")
        two.end()
        again = node_on(place, hub, 1, None, "--auto-resync")
        know_each_other([one, again, three])

        def is_whole():
            wait_for("it is complete", lambda: not state(again)["incomplete"])
            told(again, "fence")
            expect(again.call("checksum") == one.call("checksum"), "it says that it is complete")

        is_whole()
        missed = stats(again)["missed"]
        hub.fault(kind="drop", count=1, type="data", source=3, port=0)      # behind node 1, before node 2
        told(three, "write", "0x100", 0x600d)
        told(three, "write", "0x104", 0x600d)
        wait_for("node 2 misses it", lambda: stats(again)["missed"] > missed)
        is_whole()


def as_it_is():
    """Of a ring that lost something at every node a person says which memory is right, and the others get it"""
    with Place("remote-as-is") as place:
        hub, nodes = ring(place, 3)
        one, two, three = nodes
        for first, before in (one, three), (two, one), (three, two):     # one misses it, behind the other
            hub.fault(kind="drop", count=1, type="data", source=first.node, port=(before.node - 2) % 3)
            told(first, "write", "0x100", first.node)
            told(first, "write", "0x104", first.node)
        for node in nodes:
            wait_for("it knows that it is incomplete", lambda node=node: state(node)["incomplete"])
        wait_for("they know each other", lambda: all(m["incomplete"] for node in nodes for m in node.members()))
        nobody = "no other node is complete; if this memory is right as it is, say --as-is"
        refused(two, nobody, "resync")
        refused(two, "a node gives nothing to a memory that is right as it is", "resync", "--as-is", 1, status=2)
        right = two.call("checksum")
        expect(all(node.call("checksum") != right for node in (one, three)), "nobody has lost anything")
        expect(told(two, "resync", "--as-is") == "" and not state(two)["incomplete"], "node 2 is not complete")
        for node in one, three:
            wait_for("it has heard of it", lambda node=node: not any(
                m["incomplete"] for m in node.members() if m["id"] == 2))
            refused(node, "another node is complete: get it from there", "resync", "--as-is")
            told(node, "resync")
            expect(node.call("checksum") == right and not state(node)["incomplete"], "something else")


def messages():
    """A message comes whole to who listens at a port of that node, and to nobody else"""
    with Place("remote-messages") as place:
        _, (one, two, three) = ring(place, 3)
        refused(one, "nobody listens at that port", "message", 2, 7, "too early")
        file = Path(place.folder) / "letter"
        file.write_bytes(os.urandom(500 << 10))
        takes = subprocess.Popen([RMNODE, "-S", two.path, "receive", "-j", "-n", "5", "7"], text=True,
                                 stdout=subprocess.PIPE)
        expect(json.loads(takes.stdout.readline()) == {"listening": 7}, "it does not listen")
        refused(two, "somebody listens at port 7 already", "receive", 7)
        refused(one, "nobody listens at that port", "message", 3, 7, "to another")
        for sender, words in ((one, ("2", "7", "a word")), (three, ("-f", file, 2, 7)), (two, ("2", "7", "to itself")),
                              (one, ("2", "7", "more")), (one, ("2", "7", "the last"))):
            told(sender, "message", *words)
        came = [json.loads(line) for line in takes.communicate(timeout=PATIENCE_S)[0].splitlines()]
        expect([(one["from"], bytes.fromhex(one["data"])) for one in came if one] ==
               [(1, b"a word"), (3, file.read_bytes()), (2, b"to itself"), (1, b"more"), (1, b"the last")],
               f"{[str(one)[:80] for one in came]} came")
        refused(one, "nobody listens at that port", "message", 2, 7, "too late")
        file.write_bytes(bytes((500 << 10) + 1))
        refused(one, "a message has 1 to 512000 bytes here", "message", "-f", file, 2, 7)
        refused(two, "no message has come in time", "receive", "-t", 0.05, 7)


TESTS = [there_and_back, messages, late_joiner, by_itself, as_it_is, sentences, who_does_not_answer, stopped_killed_absent,
         a_full_port, no_answer_slots, sums]
LONG = [resyncs]

if __name__ == "__main__":
    chosen = [test for test in TESTS + LONG if test.__name__ in sys.argv[1:]] or TESTS
    plan(chosen)
    sys.exit(bool(run(chosen)))
