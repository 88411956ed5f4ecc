#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmnode: members without machines, from the shell, alone and in rings of two and three."""

import fcntl
import json
import mmap
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from suite import PATIENCE_S, TOP, expect, figure, free_ports, plan, run, wait_for

RMNODE = os.environ.get("RMNODE", str(TOP / "build" / "tools" / "rmnode"))
TAI = 0x00494154        # clock domain of hosts that keep it
STALL_MS = "10000"      # a member that a busy host holds up must cost no store


class Member:
    """One running rmnode with a control socket."""

    def __init__(self, folder, node_id, rx, tx, *options, memory="1M", stderr=None):
        self.id = node_id
        self.control = f"{folder}/control{node_id}"
        self.errors = open(f"{folder}/errors{node_id}", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [RMNODE, "--id", str(node_id), "--memory", memory, "--rx", rx, "--tx", tx,
             "--control", self.control, "--stall-limit-ms", STALL_MS, *options],
            stdout=subprocess.PIPE, stderr=stderr or self.errors, bufsize=0)
        self.first_line = self.line()

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        expect(ready, f"node {self.id} says nothing")
        return self.process.stdout.readline().decode()

    def call(self, *words, check=True, **options):
        done = subprocess.run([RMNODE, "-S", self.control, *map(str, words)], text=True,
                              capture_output=True, timeout=2 * PATIENCE_S, check=False, **options)
        if check:
            expect(not done.returncode, f"rmnode {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout.strip() if check else done

    def json(self, *words):
        return json.loads(self.call("-j", *words).splitlines()[-1])

    def start(self, *words, **options):
        return subprocess.Popen([RMNODE, "-S", self.control, *map(str, words)], text=True,
                                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options})

    def counter(self, name):
        return self.json("stats")["counters"][name]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        status = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.errors.close()
        return status

    def said(self):
        self.errors.flush()
        return Path(self.errors.name).read_text(encoding="utf-8")


class Ring:
    """Members 1, 2, ... of a ring, daisy-chained over unix sockets."""

    def __init__(self, count, *options, **more):
        self.count, self.options, self.more = count, options, more

    def member(self, number):
        after = number % self.count + 1
        return Member(self.folder, number, f"unix:{self.folder}/{number},server",
                      f"unix:{self.folder}/{after}", *self.options, **self.more)

    def __enter__(self):
        self.place = tempfile.TemporaryDirectory(prefix="rmnode-test-")
        self.folder = self.place.name
        self.members = [self.member(number) for number in range(1, self.count + 1)]
        for member in self.members:
            member.call("wait", "-n", self.count - 1, "-t", PATIENCE_S)
        return self

    def await_return(self, number):
        """Of a member that was started anew: by its first number the others know it for that.

        Before, they may be about to notice that the former one has gone, and a fence says so.
        """
        wait_for(f"node {number} is back",
                 lambda: not self.members[number - 1].call("fence", check=False).returncode)

    def __exit__(self, *_):
        for member in self.members:
            member.stop()
        self.place.cleanup()


def same_everywhere(members, *ranges):
    for area in ranges or ("0+1M",):
        sums = {member.call("checksum", area) for member in members}
        expect(len(sums) == 1, f"{area} differs: {sums}")


def test_access():
    """What one member stores, all have"""
    with Ring(3) as ring:
        a, b, c = ring.members
        expect(a.first_line == "ready\n", f"it says '{a.first_line}' instead of ready")
        a.call("write", "0x100", "0xdeadbeef")
        a.call("write", "-w", 1, "0x104", "0xa5")
        b.call("fill", "-w", 8, "0x1000+4K", "0x0123456789abcdef")
        c.call("write", "-f", "-", "0x8001", input="whatever comes, unaligned" * 99)
        for member in ring.members:
            member.call("fence")
        expect(c.call("read", "0x100") == "0xdeadbeef", "the word is another on node 3")
        expect(c.call("read", "-w", 1, "0x104") == "0xa5", "the byte is another on node 3")
        expect(a.call("read", "-w", 8, "0x1ff8") == "0x0123456789abcdef", "not filled")
        expect(a.call("read", "-r", "0x8001+25") == "whatever comes, unaligned", "not written")
        dump = a.call("read", "0x1000-0x101f").splitlines()
        expect(dump[1] == "00001010: efcdab89 67452301 efcdab89 67452301", f"{dump}")
        same_everywhere(ring.members)
        members = a.json("members")["members"]
        expect([m["id"] for m in members] == [2, 3], f"members are {members}")
        expect([m["hops"] for m in members] == [2, 1], f"hops are wrong: {members}")


def test_large_read():
    """Bytes themselves take no longer to read than digits of them, however many"""
    with Ring(2) as ring:
        block = bytes(range(256)) * 4096
        ring.members[0].call("write", "-f", "-", "0", input=block.decode("latin1"), encoding="latin1")

        def cpu():      # how it is shared out between the two is a guess of the kernel
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            return used.ru_utime + used.ru_stime

        def seconds(*words):
            before = cpu()
            done = subprocess.run([RMNODE, "-S", ring.members[0].control, "read", *words, "0+1M"],
                                  capture_output=True, timeout=60, check=True)
            return done.stdout, cpu() - before

        expect(seconds("-r")[0] == block, "it reads other bytes than were written")
        # A host may count time that it took away: the shortest of some.
        took, digits_took = (min(seconds(*words)[1] for _ in range(5))
                             for words in (["-r"], []))
        expect(took <= digits_took, f"1 MiB took {took:.2f} s of CPU, {digits_took:.2f} s as digits")


def test_interrupts():
    """Interrupts arrive once, in order, behind the data; who waits is told, or told that none came"""
    with Ring(2) as ring:
        a, b = ring.members
        waiting = b.start("-j", "wait-interrupt", "-n", 3)
        for number in range(3):
            a.call("write", "0x40", number)
            a.call("send", "all" if number else 2, number, 100 + number)
        lines = [json.loads(line) for line in waiting.communicate(timeout=PATIENCE_S)[0].splitlines()]
        expect([(e["type"], e["from"], e["data"]) for e in lines[:3]]
               == [(0, 1, 100), (1, 1, 101), (2, 1, 102)], f"it got {lines}")
        expect(b.call("read", "0x40") == "0x00000002", "the data came after the interrupt")
        late = b.call("wait-interrupt", "-t", 0.05, check=False)
        expect(late.returncode == 1 and "no interrupt" in late.stderr, f"{late}")


def test_interrupt_to_a_set():
    """An interrupt to several nodes is one frame, and comes to these and to no other"""
    with Ring(4) as ring:
        a, *others = ring.members
        sent = a.json("stats")["counters"]["sent"]
        a.call("send", "2,4", 1, 7)
        a.call("send", "1,3,250", 7, 8)     # its own id and one that is not there, too
        a.call("fence")
        expect(a.json("stats")["counters"]["sent"] == sent + 3, "more frames than that")
        for member, wanted in zip(others, ((1, 7), (7, 8), (1, 7))):
            got = json.loads(member.call("-j", "wait-interrupt", "-t", PATIENCE_S).splitlines()[0])
            expect((got["type"], got["from"], got["data"]) == (wanted[0], 1, wanted[1]), f"{got}")
        for member in ring.members:
            more = member.call("wait-interrupt", "-t", 0.05, check=False)
            expect("no interrupt" in more.stderr, f"{more}")
        for words, complaint in ((("2,", 1), "the node ''"), (("2,256", 1), "the node '256'"),
                                 (("2,all", 1), "the node 'all'"), (("2,4", 5), "types")):
            bad = a.call("send", *words, check=False)
            expect(bad.returncode == 2 and complaint in bad.stderr, f"{words}: {bad}")
        with Client(a) as client:
            for nodes in ([], [256], [-1], ["2"], 2, {}, None):
                client.ask({"verb": "send", "args": {"nodes": nodes, "type": 1}})
                answer = client.line()
                expect("must be a list of node ids" in answer["error"], f"{nodes}: {answer}")


def test_watch_and_monitor():
    """watch shows updates with their source; monitor shows loss and return of a neighbour"""
    with Ring(2) as ring:
        a, b = ring.members

        def connections():
            stats = a.json("stats")
            return [stats[side]["connections"] for side in ("rx", "tx")]

        watch = b.start("-j", "watch", "-n", 2, "0x200-0x2ff")
        watch.stdout.readline()             # it has begun
        monitor = a.start("monitor")
        monitor.stdout.readline()
        a.call("write", "0x300", 1)
        a.call("write", "0x200", "0x11223344")
        a.call("write", "0x2fc", 2)
        updates = [json.loads(line) for line in watch.communicate(timeout=PATIENCE_S)[0].splitlines()]
        expect([(u["offset"], u["data"], u["source"]) for u in updates[:2]]
               == [(0x200, "44332211", 1), (0x2fc, "02000000", 1)], f"{updates}")
        before = connections()
        expect(min(before) > 0, f"{before} connections")
        b.process.kill()
        b.process.wait()
        names = set()
        while not {"sync-loss", "downstream"} <= names:
            names.add(json.loads(monitor.stdout.readline())["event"])
        ring.members[1] = ring.member(2)
        while "signal" not in names:
            names.add(json.loads(monitor.stdout.readline())["event"])
        a.call("wait", "-n", 1, "-t", PATIENCE_S)
        wait_for("another one each",
                 lambda: all(now > then for now, then in zip(connections(), before)))
        monitor.terminate()
        monitor.wait()


class Client:
    """A connection to a control socket that reads when it likes."""

    def __init__(self, member, verb=None, **args):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(member.control)
        self.lines = self.socket.makefile()
        if verb:
            self.ask({"verb": verb, "args": args})

    def ask(self, *requests):
        self.socket.sendall("".join(json.dumps(r) + "\n" for r in requests).encode())

    def line(self):
        line = self.lines.readline()
        expect(line, "the control socket was closed")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()


def send_many(client, first, count):
    """So many numbered interrupts; returns the numbers as they were taken."""
    sent, todo = [], list(range(first, first + count))
    while todo:
        client.ask(*({"verb": "send", "args": {"dest": 2, "type": 1, "data": number}}
                     for number in todo))
        answers = [client.line() for _ in todo]
        sent += [number for number, answer in zip(todo, answers) if "result" in answer]
        todo = [number for number, answer in zip(todo, answers) if "error" in answer]
    return sent


def test_paced_watch():
    """A watch that is to tell less often tells of every update, and of the range as it is then"""
    with Ring(2) as ring:
        a, b = ring.members
        a.call("write", "0x204", "7")
        a.call("fence")
        with b.start("-j", "watch", "-e", "200ms", "0x200-0x207") as watch:
            begun = json.loads(watch.stdout.readline())
            expect(begun["data"] == "0000000007000000", f"it begins with {begun}")
            start = time.monotonic()
            a.call("load", "--count", 5000, "--rate", 10000, "--size", 4, "0x200+4")
            a.call("write", "0x200", "0x11223344")
            a.call("fence")
            events = []
            while sum(event["updates"] for event in events) < 5001:
                events.append(json.loads(watch.stdout.readline()))
            lines = (time.monotonic() - start) / 0.2 + 1
            watch.terminate()
        expect(sum(event["updates"] for event in events) == 5001, "it counts more than there were")
        expect(events[-1]["data"] == "4433221107000000" and events[-1]["source"] == 1, f"it ends with {events[-1]}")
        expect(2 <= len(events) <= lines, f"{len(events)} lines, and there was time for {lines:.1f}")
        with b.start("-j", "watch", "-n", 1, "-e", "1ms", "0x200+4") as watch:
            watch.stdout.readline()
            a.call("write", "0x200", 1)
            told = json.loads(watch.stdout.readline())
            expect((told["offset"], told["data"]) == (0x200, "01000000"), f"{told}")
            expect(not watch.wait(PATIENCE_S), "it does not end after what it was to count")


def test_slow_readers():
    """Who reads too slowly gets what is kept for him, and is told how much is missing"""
    with Ring(2) as ring, Client(ring.members[0]) as sender:
        a, b = ring.members
        with Client(b, "monitor") as monitor, \
                Client(b, "wait-interrupt", count=1 << 30) as waiting:
            expect(monitor.line()["event"]["event"] == "monitor", "it does not begin")
            sent = []
            while not b.counter("interrupts_lost"):
                expect(len(sent) < 400000, "more interrupts are taken than there is room for")
                sent += send_many(sender, len(sent), 2000)
            # The refused ones were lost, says the first fence; they were sent again.
            wait_for("all have come", lambda: a.call("fence", check=False).returncode == 0)
            got = [waiting.line()["event"]["data"]
                   for _ in range(len(sent) - b.counter("interrupts_lost"))]
            expect(got == sent[:len(got)], "the interrupts are not the first that were sent")

            seen, text, gaps = [], b"", []
            while not gaps:
                if select.select([monitor.socket], [], [], 0)[0]:
                    text += monitor.socket.recv(1 << 20)
                    *whole, text = text.split(b"\n")
                    seen += [json.loads(line)["event"] for line in whole]
                    gaps = [number for number, event in enumerate(seen) if "missed" in event]
                else:       # it has read all that waited: the next event says how much did not
                    sent += send_many(sender, len(sent), 1)
            whole, gap = seen[:gaps[0]], seen[gaps[0]]
            data = [event["data"] for event in whole if event["event"] == "interrupt"]
            expect(data == sent[:len(data)], "the monitor has a gap that nobody counts")
            expect(gap["data"] == sent[len(data) + gap["missed"]],
                   f"the monitor is told that {gap['missed']} are missing, after "
                   f"{len(data)} of {len(sent)}")


def test_log_that_nobody_reads():
    """A log that is not read holds up nobody, and what was left out is counted"""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with Ring(2) as ring:
        b = ring.members[1]
        b.stop()
        with open(writer, "wb", buffering=0) as stderr:
            stderr.write(b"x" * fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ))
            apart = f"{ring.folder}/apart"
            os.mkdir(apart)
            b = ring.members[1] = Member(apart, 2, f"unix:{ring.folder}/2,server",
                                         f"unix:{ring.folder}/1", stderr=stderr)
        b.call("wait", "-n", 1, "-t", PATIENCE_S)
        ring.members[0].stop()
        strange(ring, 2)
        ring.members[0] = ring.member(1)
        for member in ring.members:
            member.call("wait", "-n", 1, "-t", PATIENCE_S)
            member.call("fence", check=False)
        text = os.read(reader, 1 << 20)     # from now on there is room
        ring.members[0].stop()
        while b"\n" not in text:
            expect(select.select([reader], [], [], PATIENCE_S)[0], "it says nothing any more")
            more = os.read(reader, 1 << 20)
            expect(more, "it has ended")
            text += more
        line = text.lstrip(b"x").decode().splitlines()[0]
        expect("lines before it are missing" in line, f"it does not say what is missing: {line}")
        ring.members[0] = ring.member(1)
    os.close(reader)


def test_load():
    """The generator makes exactly as many stores as it says, at the rate asked for"""
    with Ring(3) as ring:
        loads = [member.start("-j", "load", "--count", 30000, "--own", 4, "--random",
                              "--seed", member.id) for member in ring.members]
        for load in loads:
            result = json.loads(load.communicate(timeout=PATIENCE_S)[0])
            expect(result["stores"] == 30000 and result["dropped"] == 0, f"{result}")
        for member in ring.members:
            member.call("fence")
            counters = member.json("stats")["counters"]
            expect(counters["stores"] == 30001, f"{counters['stores']} stores and a fence")
            expect(not counters["lost"] and not counters["missed"], f"{counters}")
        same_everywhere(ring.members)
        result = ring.members[0].json("load", "--rate", 2000, "--count", 1000, "0+4K")
        expect(0.49e9 <= result["nanoseconds"], f"too fast: {result}")
        empty = ring.members[0].call("load", "0+4K", check=False)
        expect("how many stores" in empty.stderr, f"{empty}")


def test_streams():
    """The same over TCP, and over sockets with tiny buffers, without shared memory"""
    with tempfile.TemporaryDirectory() as folder:
        ports = free_ports(2)
        members = [Member(folder, i + 1, f"tcp:127.0.0.1:{ports[i]},server",
                          f"tcp:127.0.0.1:{ports[1 - i]}", "--socket-buffer", "2048")
                   for i in range(2)]
        check_streams(members)
    with Ring(3, "--shm", "off", "--socket-buffer", "2048") as ring:
        check_streams(ring.members)


def check_streams(members):
    try:
        for member in members:
            member.call("wait", "-n", len(members) - 1, "-t", PATIENCE_S)
            state = member.json("stats")
            expect(not state["rx"]["shm"] and not state["tx"]["shm"], "there is shared memory")
        loads = [member.start("load", "--count", 20000, "--own", 4, "0+1M")
                 for member in members]
        for load in loads:
            load.communicate(timeout=PATIENCE_S)
        for member in members:
            member.call("fence")
        same_everywhere(members)
        expect(not sum(member.counter("missed") for member in members), "something was missed")
    finally:
        for member in members:
            member.stop()


SPACING_S = 0.2


def takes_interrupt(process):
    """Has it a handler for SIGINT?"""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^SigCgt:\s*(\w+)", status, re.M)[1], 16) >> (signal.SIGINT - 1) & 1


def test_record_and_replay():
    """A recording of a region, replayed at once, stepwise, and as another node, is the same again"""
    with Ring(2) as ring:
        a, b = ring.members
        file = f"{ring.folder}/recording.pcapng"
        record = b.start("record", file, "0x2000+4K")
        wait_for("the recording has begun", lambda: takes_interrupt(record))
        a.call("load", "--count", 40, "--rate", 200, "--stride", 8, "0x2000+4K")
        a.call("fence")                     # they are recorded, at whatever time
        time.sleep(SPACING_S)
        a.call("write", "0x3000", 1)        # beside it
        a.call("send", 2, 1, 77)
        a.call("send", "1,2", 3, 78)
        a.call("fence")
        record.send_signal(signal.SIGINT)
        said = record.communicate(timeout=PATIENCE_S)[0]
        expect("42 frames recorded, 0 lost" in said, f"it says {said}")
        wanted = b.call("checksum", "0x2000+4K")

        def again(*words, node=b):
            a.call("fill", "0x2000+8K", 0)
            a.call("fence")
            result = node.json("replay", *words, file)
            node.call("fence")
            return result
        start = time.monotonic()
        result = again()
        expect(result["frames"] == 42 and result["interrupts"] == 2, f"{result}")
        came = a.call("wait-interrupt", "-n", 1)
        expect(came == "type 3 from 2 data 0x0000004e", f"what was for a set came as {came}")
        expect(time.monotonic() - start >= SPACING_S, "the spacing is lost")
        expect(a.call("checksum", "0x2000+4K") == wanted, "the replay stored something else")
        expect(a.call("read", "0x3000") == "0x00000000", "it replayed more than was recorded")
        result = again("--range", "0x2000+16", "--speed", "max")
        expect(result["frames"] == 4 and result["skipped"] == 38, f"{result}")
        for stdin, words in ((subprocess.PIPE, ["record", f"{file}.2", *["0+4"] * 65]),
                             (subprocess.PIPE, ["replay", "--step", *["--range=0+4"] * 65, file]),
                             (subprocess.DEVNULL, ["replay", "--step", *["--range=0+4"] * 65, file])):
            b.process.send_signal(signal.SIGSTOP)   # the answer comes after the end of the input
            many = b.start(*words, stdin=stdin, stderr=subprocess.PIPE)
            time.sleep(0.1)
            b.process.send_signal(signal.SIGCONT)
            said = many.stderr.read()
            expect(many.wait(PATIENCE_S) == 2 and "64 ranges" in said, f"{words[:2]}: {said}")

        a.call("fill", "0x2000+4K", 0)
        a.call("fence")
        watch = a.start("-j", "watch", "-n", 40, "0x2000+4K")
        watch.stdout.readline()
        b.call("replay", "--speed", "10", "--as-node", 99, file)
        updates = [json.loads(line) for line in watch.communicate(timeout=PATIENCE_S)[0].splitlines()]
        expect({u["source"] for u in updates[:40]} == {99}, "it was not node 99")
        expect([u["offset"] for u in updates[:40]] == [0x2000 + 8 * i for i in range(40)],
               "the order is lost")
        wait_for("node 99 leaves nothing behind",
                 lambda: a.call("checksum", "0x2000+4K") == wanted)
        expect(not a.counter("hop_limit") and not b.counter("late"), "frames go round for ever")

        step = b.start("replay", "--step", file)
        out = step.communicate("\n\n\n", timeout=PATIENCE_S)[0].splitlines()
        expect(len(out) == 3 and out[2].split()[5] == "0x00002010", f"steps: {out}")
        b.call("set", "transmit", "off")
        dark = b.call("replay", "--as-node", 99, file, check=False)
        expect(dark.returncode == 1 and "dark" in dark.stderr, f"a replay into the dark: {dark}")
        b.call("set", "transmit", "on")
        for member in ring.members:
            member.call("wait", "-n", 1, "-t", PATIENCE_S)
        result = b.json("replay", "--speed", "max", "--as-node", 98, file)
        expect(result["lost"] == result["dark"] == 0, f"{result}")
        broken = f"{ring.folder}/broken"
        Path(broken).write_bytes(b"no capture at all" * 10)
        refused = b.call("replay", broken, check=False)
        expect(refused.returncode == 1 and refused.stderr.count("\n") == 1, f"{refused}")


def test_stopped_neighbour():
    """With a member that stands still no store waits beyond the limit, and the books balance"""
    with Ring(2, "--stall-limit-ms", "200", "--unpacked") as ring:
        a, b = ring.members
        b.process.send_signal(signal.SIGSTOP)
        result = a.json("load", "--seconds", 1.5, "--size", 64, "0+64K")
        b.process.send_signal(signal.SIGCONT)
        stats = a.json("stats")["counters"]
        # Who has waited long enough still waits for the CPU; without a limit it would be to the end.
        expect(stats["longest_stall_ns"] < 1e9, f"waited {stats['longest_stall_ns']} ns")
        expect(result["dropped"] and stats["full"] == result["dropped"], f"{result} {stats}")
        for words in (("fill", "0+1M", 1), ("write", "-f", "-", "0")):
            # Each time anew: after two seconds of silence the node would be dark.
            wait_for("all is home", lambda: a.call("fence", check=False).returncode == 0)
            b.process.send_signal(signal.SIGSTOP)
            refused = a.call(*words, check=False, input="x" * (1 << 20))
            b.process.send_signal(signal.SIGCONT)
            expect(refused.returncode == 1 and "frames were dropped" in refused.stderr,
                   f"{words}: {refused}")
        wait_for("all is home", lambda: a.call("fence", check=False).returncode == 0)
        stats = a.json("stats")["counters"]
        expect(stats["sent"] == stats["home"] + stats["lost"], f"{stats}")
        expect(stats["lost"] == b.counter("missed"), f"lost {stats['lost']}, missed by the other "
               f"{b.counter('missed')}")


HELD_ALMOST_FULL = 3072             # frames, of the 4096 that a paused member keeps


def test_settings():
    """Loopback, transmitter, pause and address offset do what the card's do"""
    with Ring(2) as ring:
        a, b = ring.members
        b.call("pause")
        a.call("write", "0x10", 1)
        with Client(b, "monitor") as monitor:
            monitor.line()
            a.call("load", "--count", HELD_ALMOST_FULL, "--size", 64, "0x1000+64")
            event = monitor.line()["event"]["event"]
            expect(event == "rx-almost-full", f"a paused node that is almost full tells {event}")
        fence = a.call("fence", check=False)
        expect((fence.returncode, fence.stdout, fence.stderr) ==
               (1, "", "rmnode: a node stands still, and has yet to store them\n"),
               f"the fence over a paused node: {fence}")
        expect(b.call("read", "0x10") == "0x00000000", "a paused node stores")
        b.call("resume")
        expect(b.call("read", "0x10") == "0x00000001", "what was held back is gone")
        a.call("set", "offset", "64M")
        a.call("write", "0x20", 2)
        a.call("set", "offset", 0)
        wait_for("node 1 hears that the other goes on", lambda: not a.call("fence", check=False).returncode)
        expect(b.call("read", "0x20") == "0x00000000", "the offset was not added")
        expect(b.counter("beyond") == 1, "the update was not beyond the memory")
        a.call("set", "transmit", "off")
        wait_for("the other one loses its signal",
                 lambda: not b.json("stats")["state"]["signal"])
        expect("the node was dark" in a.call("write", "0x24", 1), "it does not say that it is dark")
        expect(a.json("fill", "0x100+4K", 1)["dark"] == 64, "the stores in the dark are not counted")
        lost = a.call("fence", check=False)
        expect("dark" in lost.stderr, f"a fence in the dark: {lost}")
        a.call("set", "transmit", "on")
        a.call("wait", "-n", 1, "-t", PATIENCE_S)
        b.call("wait", "-n", 1, "-t", PATIENCE_S)
        lost = a.call("fence", check=False)
        expect("66 frame(s) did not reach every node" in lost.stderr, f"65 stores and a fence in the dark: {lost}")
        a.call("set", "loopback", "on")
        a.call("write", "0x30", 3)
        a.call("fence")
        expect(b.call("read", "0x30") == "0x00000000", "a store in loopback went out")


def test_clock():
    """Ages are known between members of one clock, which the log tells of, and between no others"""
    clocks = ["tai", "tai", "host", "host"]
    with Ring(len(clocks)) as ring:
        for number, clock in enumerate(clocks):
            ring.members[number].stop()
            ring.options = ("--clock", clock)
            ring.members[number] = ring.member(number + 1)
        for member in ring.members:
            member.call("wait", "-n", len(clocks) - 1, "-t", PATIENCE_S)
        domains = [member.json("stats")["state"]["clock_domain"] for member in ring.members]
        expect(len(set(domains)) == 2 and domains[0] == domains[1] and domains[2] == domains[3],
               f"clock domains {domains}")
        for number, member in enumerate(ring.members):
            state = member.json("stats")["state"]
            said = member.said()
            if clocks[number] == "host":
                expect(state["clock_trouble"] is None and not state["clock_error_ns"]
                       and "clock=" not in said, f"{state} {said}")
                continue
            # What is said of TAI is the host's matter; that it is true is not.
            expect((domains[0] == TAI) == (state["clock_trouble"] is None), f"{state}")
            expect((state["clock_trouble"] or "between hosts") in said
                   and said.count("clock=tai") == 1, f"{state} {said}")
        for number, member in enumerate(ring.members):
            with Client(member, "watch", range="0x100+4", count=len(clocks) - 1) as watch:
                watch.line()
                for writer in ring.members:
                    writer.call("write", "0x100", writer.id)
                    writer.call("fence")
                told = [watch.line()["event"] for _ in clocks[1:]]
            for update in told:
                known = clocks[update["source"] - 1] == clocks[number]
                age = update["age_ns"]
                # A member may have looked at its clock a little before a frame came.
                expect(abs(age) < 60e9 if known else age is None, f"node {member.id}: {update}")


def test_memory_file():
    """The memory can be a file that other programs read"""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/memory"
        with Ring(2) as ring:
            ring.members[1].stop()
            ring.options = ("--memory-file", path)
            ring.members[1] = ring.member(2)
            ring.await_return(2)
            ring.members[0].call("write", "0x1234", "0xcafe")
            ring.members[0].call("fence")
            with open(path, "rb") as file, \
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                expect(memory[0x1234:0x1236] == b"\xfe\xca", "the file has something else")


def cpu_ns(member):
    return int(Path(f"/proc/{member.process.pid}/schedstat").read_text().split()[0])


def wakeups(member):
    """How often its threads have gone to sleep."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)[1])
               for status in Path(f"/proc/{member.process.pid}/task").glob("*/status"))


def idle_rate(members):
    """Wakeups a second, of the member that has most. What each costs is the host's affair, and printed."""
    start, before = time.monotonic(), [(wakeups(member), cpu_ns(member)) for member in members]
    time.sleep(4)
    seconds = time.monotonic() - start
    woken, taken = (max(now(member) - then[i] for member, then in zip(members, before)) / seconds
                    for i, now in enumerate((wakeups, cpu_ns)))
    figure(f"an idle member: {woken:.0f} wakeups a second, {taken / 1e7:.2f} % of a CPU")
    return woken


def test_idle():
    """An idle member wakes up some 20 times a second, and has less than 1 MiB"""
    with Ring(2, memory="64M") as ring:
        ring.members[0].call("load", "--count", 200000, "0+1M")
        ring.members[0].call("fence")
        wait_for("an idle member sleeps", lambda: idle_rate(ring.members) < 40)
        for member in ring.members:
            rollup = Path(f"/proc/{member.process.pid}/smaps_rollup").read_text().split()
            private = int(rollup[rollup.index("Private_Dirty:") + 1])
            expect(private < 1024 + 1024, f"node {member.id} has {private} KiB for itself")


def test_end():
    """SIGTERM, SIGINT and stop end a member with status 0, and its sockets go with it"""
    for end in (signal.SIGTERM, signal.SIGINT, None):
        with tempfile.TemporaryDirectory() as folder:
            member = Member(folder, 1, f"unix:{folder}/1,server", f"unix:{folder}/1")
            if end:
                member.process.send_signal(end)
            else:
                member.call("stop")
            expect(member.stop() == 0, "it ended with an error")
            expect(os.listdir(folder) == ["errors1"], f"it leaves {os.listdir(folder)}")


def test_log():
    """--log json prints events, one object a line; a duplicate id is one"""
    with Ring(2, "--log", "json") as ring:
        ring.members[1].stop()
        apart = f"{ring.folder}/apart"
        os.mkdir(apart)
        late = Member(apart, 1, f"unix:{ring.folder}/2,server", f"unix:{ring.folder}/1",
                      "--log", "json")
        ring.members[1] = late
        expect(json.loads(late.first_line)["event"] == "ready", f"{late.first_line}")

        def leavers():      # which, the wall clock says
            return [member for member in ring.members if member.json("stats")["state"]["left"]]
        wait_for("one of the two leaves", leavers)
        while json.loads(leavers()[0].line())["event"] != "duplicate-id":
            pass


def strange(ring, number):
    """Somebody who does not speak the protocol connects to a member."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(f"{ring.folder}/{number}")
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" * 10)
        stranger.settimeout(PATIENCE_S)
        try:
            expect(not stranger.recv(1), "it answers a stranger")
        except ConnectionResetError:
            pass


def test_strangers():
    """Who does not speak the protocol is turned away with one line; the neighbour comes through"""
    with Ring(2) as ring:
        a = ring.members[0]
        ring.members[1].stop()
        for _ in range(3):
            strange(ring, 1)
        expect(a.said().count("does not speak the ring protocol") == 1, a.said())
        ring.members[1] = ring.member(2)
        ring.await_return(2)
        # A second one waits until the neighbour has gone, and disturbs nobody.
        with socket.socket(socket.AF_UNIX) as second:
            second.connect(f"{ring.folder}/1")
            second.sendall(b"x" * 100)
            a.call("write", "0x50", 5)
            a.call("fence")


def send_to_itself(ring):
    """Node 1 has an event to tell, and to keep."""
    ring.members[1].call("send", 1, 1)
    ring.members[1].call("write", "0x40", 1)
    ring.members[1].call("fence")


def test_control_socket():
    """Whatever is written to the control socket is answered with a sentence, and harms nobody"""
    with Ring(2) as ring:
        a = ring.members[0]
        for line, wanted in (("{}", "no verb"), ("nonsense", "not a JSON object"),
                             ("[1]", "not a JSON object"), ('{"verb":"fly"}', "no verb 'fly'"),
                             ('{"verb":"read","args":[]}', "not an object"),
                             ('{"verb":"read","args":{"first":"x"}}', "must be a number"),
                             ('{"verb":"read","args":{"first":-1}}', "must be a number"),
                             ('{"verb":"read","args":{"first":1048576}}', "must be a number"),
                             ('{"verb":"write","args":{"first":0,"data":"0g"}}', "digits"),
                             ('{"verb":"read"}', "at most")):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(a.control)
                client.sendall(line.encode() + b"\n")
                answer = json.loads(client.makefile().readline())
                expect(wanted in answer.get("error", ""), f"{line}: {answer}")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(a.control)
            client.sendall(b'{"verb":"members"}\n{"verb":"checksum"}\n')
            lines = client.makefile()
            expect("members" in json.loads(lines.readline())["result"], "the first is lost")
            expect("crc32c" in json.loads(lines.readline())["result"], "the second is lost")
        endless = b"x" * (1 << 20)
        with Client(a) as client:
            client.socket.sendall(endless)
            expect("longer than" in client.line()["error"], "an endless line is not refused")
            expect(not client.lines.readline(), "its client may go on")
        for verb, args in (("monitor", {}), ("watch", {}), ("wait", {"members": 9}),
                           ("wait-interrupt", {"count": 1 << 30}), ("load", {"milliseconds": 3600000}),
                           ("record", {"file": f"{ring.folder}/record"})):
            with Client(a, verb, **args) as client:
                client.socket.sendall(endless)
                while line := client.lines.readline():      # until it is disconnected
                    expect("error" not in line, f"{verb} is told to be over: {line}")
            send_to_itself(ring)
            a.call("load", "--count", 100)
        expect(os.stat(a.control).st_mode & 0o77 == 0, "others may use the control socket")
        a.call("fence")


def test_refusals():
    """Wrong command lines: exit status 2 and one sentence, and nothing is done; 1 is a failure"""
    member = ["--id", "1", "--memory", "1M", "--rx", "unix:/nowhere/a,server", "--tx", "unix:/b"]
    cases = [
        ([], "a member needs"),
        (["--id", "256", *member[2:]], "0 to 255"),
        (["--id", "x", *member[2:]], "0 to 255"),
        ([*member, "--memory", "257M"], "the memory size"),
        ([*member, "--memory", "5000"], "multiple of 4096"),
        ([*member, "--rx", "somewhere"], "unix: or tcp:"),
        ([*member, "--line", "fast"], "is no line"),
        ([*member, "--window", "0"], "the window"),
        ([*member, "--rogue-master", "2"], "rogue master"),
        ([*member, "--shm", "maybe"], "on or off"),
        ([*member, "--log", "xml"], "text, json or none"),
        ([*member, "--clock", "utc"], "host or tai, not 'utc'"),
        ([*member, "--fly"], "--fly"),
        ([*member, "verb"], "-S SOCKET"),
        (["-S", "/nowhere/c"], "say what to do"),
        (["-S", "/nowhere/c", "fly"], "no verb 'fly'"),
        (["-S", "/nowhere/c", "read"], "usage"),
        (["-S", "/nowhere/c", "read", "0x20-0x10"], "is no range"),
        (["-S", "/nowhere/c", "read", "-x", "0"], "'x'"),
        (["-S", "/nowhere/c", "read", "-w", "3", "0"], "the width '3' is not 1, 2, 4 or 8"),
        (["-S", "/nowhere/c", "write", "-w", "5", "0", "1"], "the width"),
        (["-S", "/nowhere/c", "fill", "-w", "16", "0+1K", "1"], "the width"),
        (["-S", "/nowhere/c", "checksum", "1-0"], "is no range"),
        (["-S", "/nowhere/c", "watch", "-n", "0"], "the count"),
        (["-S", "/nowhere/c", "send", "256", "1"], "the node"),
        (["-S", "/nowhere/c", "send", "1", "8"], "the type"),
        (["-S", "/nowhere/c", "fence", "-t", "x"], "the time"),
        (["-S", "/nowhere/c", "wait", "-n", "x"], "the count"),
        (["-S", "/nowhere/c", "stop", "now"], "no argument"),
        (["-S", "/nowhere/c", "record", "-n", "0", "f"], "the count"),
        (["-S", "/nowhere/c", "set", "offset", "1M"], "64M"),
        (["-S", "/nowhere/c", "set", "colour", "on"], "no such setting"),
        (["-S", "/nowhere/c", "write", "0", "0x100000000"], "the value"),
        (["-S", "/nowhere/c", "load", "--size", "65", "0+1K"], "the size"),
        (["-S", "/nowhere/c", "set", "loopback", "2"], "on or off"),
        (["-S", "/nowhere/c", "replay", "--speed", "0", "f"], "speed"),
    ]
    failures = [
        (member, "cannot listen"),
        (["-S", "/nowhere/c", "stats"], "nobody is there"),
        (["-S", "/nowhere/c", "read", "0"], "nobody is there"),
        (["-S", "/nowhere/c", "fence"], "nobody is there"),
    ]
    for status, words, wanted in ([(2, *case) for case in cases]
                                  + [(1, *case) for case in failures]):
        done = subprocess.run([RMNODE, *words], text=True, capture_output=True, timeout=PATIENCE_S,
                              check=False)
        expect(done.returncode == status and wanted in done.stderr and done.stderr.count("\n") == 1
               and not done.stdout, f"{words}: {done}")


TESTS = [test_access, test_large_read, test_interrupts, test_interrupt_to_a_set, test_watch_and_monitor,
         test_paced_watch, test_slow_readers, test_log_that_nobody_reads, test_load, test_streams,
         test_record_and_replay, test_stopped_neighbour, test_settings, test_clock, test_memory_file,
         test_idle, test_end, test_log, test_strangers, test_control_socket, test_refusals]

if __name__ == "__main__":
    chosen = [test for test in TESTS if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    plan(chosen)
    sys.exit(bool(run(chosen)))
