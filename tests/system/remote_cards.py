#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operations at one named node, of cards: two machines and an rmnode on a hub."""

import json
import sys
import tempfile
import threading
from pathlib import Path

import schemas
from hublab import all_pass
from rmnode import Member
from suite import PROGRAMS, asked, clean_kernels, expect, plan, run, wait_for
from labkit import Lab

HOST = 9                # the node that is no machine
LOCK, COUNT = 0x2000, 0x2008
ROUNDS = 30             # of each machine, with the lock
HOLDS = "exporting from rfm0 ..."
REGIONS = """rfm-regions: 1
regions:
  pump:
    offset: 0x1000
    fields:
      pressure: {offset: 0, type: float, unit: bar}
      starts: {offset: 8, type: uint64}
      state: {offset: 16, type: uint32, values: {off: 0, on: 1}}
"""


class Exported:
    """A range that a machine's card exports, for as long as it lasts."""

    def __init__(self, lab, node, where, rights):
        self.running = lab.start(node, "sh", "-c", f"exec rmctl export rfm0 {where} {rights} 2>&1")
        expect(self.running.line() == HOLDS, "export does not say that it has begun")
        self.lab, self.node = lab, node

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lab.run(self.node, "killall", "-TERM", "rmctl")
        self.running.finish(timeout=60)


def ends(lab, node, status, sentence, *words):
    done = lab.run(node, "rmctl", *words, check=False)
    expect((done.returncode, done.stderr) == (status, f"rmctl: rfm0: {words[0]}: {sentence}\n"), f"{words}: {done}")


def there_and_back(lab, host):
    """put and get: bytes are written at one node only, card or rmnode, and read there"""
    with Exported(lab, 2, "0x1000+64K", "read,write"):
        lab.run(1, "rmctl", "put", "rfm0", "2", "0x1000", "0xcafe0102")
        expect(lab.out(1, "rmctl", "get", "rfm0", "2", "0x1000") == "0xcafe0102", "node 1 reads something else")
        expect(host.call("get", 2, "0x1000") == "0xcafe0102", "the rmnode reads something else")
        expect((lab.peek(1, 0x1000), lab.peek(2, 0x1000)) == (0, 0xcafe0102), "it is not at node 2 alone")
        expect(lab.out(1, "rmctl", "get", "rfm0", "2", "0x1000+4") == "00001000  02 01 fe ca", "a range")
        got, = schemas.rmctl(lab, 1, "get", "rfm0", "2", "0x1000+4")
        expect(got["data"] == "0201feca", f"{got}")
        done, = schemas.rmctl(lab, 1, "put", "rfm0", "2", "0x1000+8", "7")
        expect(done["bytes"] == 8, f"{done}")
        lab.run(1, "sh", "-c", "head -c 60000 /dev/urandom >/tmp/a && rmctl put rfm0 2 0x1000 -f /tmp/a && "
                "rmctl get rfm0 2 0x1000+60000 --raw | cmp - /tmp/a")
    host.call("export", "0x1000+4096", "read,write")
    lab.run(1, "rmctl", "put", "rfm0", HOST, "0x1000", "7")
    expect(lab.out(2, "rmctl", "get", "rfm0", HOST, "0x1000") == "0x00000007", "node 2 reads something else")


def names(lab, _):
    """A name has its own length and type, at another node as here"""
    def rmctl(*words, check=True):
        return lab.run(1, "rmctl", *words[:1], "-R", "/tmp/regions", "rfm0", "2", *words[1:], check=check)

    lab.run(1, "sh", "-c", f"cat >/tmp/regions <<'END'\n{REGIONS}END")
    with Exported(lab, 2, "0x1000+64", "read,write,home"):
        rmctl("put", "pump.pressure", "-12.5")
        rmctl("put", "pump.starts", "0x100000000")
        rmctl("put", "pump.state", "off")
        expect(rmctl("add", "pump.starts", "-1").stdout == "pump.starts: 4294967296\n", "add")
        expect(rmctl("cas", "pump.state", "off", "on").stdout == "pump.state: off\n", "cas")
        expect(rmctl("get", "pump").stdout ==
               "pump.pressure: -12.5 bar\npump.starts: 4294967295\npump.state: on\n", "get")
        got, = schemas.rmctl(lab, 1, "get", "-R", "/tmp/regions", "rfm0", "2", "pump")
        expect([value["value"] for value in got["values"]] == [-12.5, "4294967295", "on"], f"{got}")
        for words in (("get", "pump.pressure", "-w", "8"), ("get", "0x1000+8", "-w", "8"), ("put", "pump", "1"),
                      ("put", "pump.state", "1", "-w", "8"), ("put", "pump.state", "middle"),
                      ("add", "pump.pressure", "1"), ("add", "0x1000+2", "1"), ("cas", "pump", "1", "2")):
            done = rmctl(*words, check=False)
            expect(done.returncode == 2 and not done.stdout, f"{words}: {done}")
        lab.run(1, "sh", "-c", "head -c 7 /dev/zero >/tmp/a")
        done = rmctl("put", "pump.starts", "-f", "/tmp/a", check=False)
        expect((done.returncode, done.stderr) ==
               (3, "rmctl: rfm0: put: /tmp/a has 7 bytes, the range 8\n"), f"{done}")


def exports(lab, _):
    """export says what it allows, in whole granules, and ends with its command"""
    exporting = lab.start(2, "sh", "-c", "exec rmctl -j export rfm0 0x1010+8 read,home 2>&1")
    expect(exporting.line() == HOLDS, "export does not say that it has begun")
    told = schemas.fitting("export", exporting.line())
    expect(told == {"device": "rfm0", "offset": 0x1000, "length": 64, "rights": ["read", "home"]}, f"{told}")
    lab.run(2, "killall", "-INT", "rmctl")
    exporting.finish(timeout=60)
    done = lab.run(2, "rmctl", "export", "rfm0", "0x1000+64", "read", "--while", "rmctl get rfm0 2 0x1000; exit 7",
                   check=False)
    expect(done.returncode == 7 and done.stdout.startswith("0x"), f"{done}")
    ends(lab, 2, 3, "the node does not allow it there", "get", "rfm0", "2", "0x1000")
    ends(lab, 2, 2, "--while and --json exclude each other: the output is that of the command "
         "(see 'rmctl export --help')", "export", "rfm0", "0x1000+64", "read", "-j", "--while", "true")


def exports_for_good(lab, _):
    """export --base outlives its command, is a setting that is saved and applied, and none ends it"""
    denied = "the node does not allow it there"
    lab.run(2, "rmctl", "export", "rfm0", "0x1000+64", "read,home", "--base")
    lab.run(1, "rmctl", "get", "rfm0", "2", "0x1000")
    ends(lab, 1, 3, denied, "put", "rfm0", "2", "0x1000", "1")
    lab.run(2, "sh", "-c", "rmctl save-config rfm0 >/tmp/saved")
    saved = lab.rmctl_json(2, "save-config", "rfm0")["config"]
    expect((saved["read"], saved["write"], saved["home"]) == ("0x00001000-0x0000103f", "none", "0x00001000-0x0000103f"),
           f"{saved}")
    lab.run(2, "rmctl", "export", "rfm0", "0x1000+64", "write", "--base")       # in place of what was there
    ends(lab, 1, 3, denied, "get", "rfm0", "2", "0x1000")
    lab.run(1, "rmctl", "put", "rfm0", "2", "0x1000", "1")
    told = schemas.fitting("apply", lab.out(2, "rmctl", "-j", "apply", "/tmp/saved"))
    expect([one["name"] for one in told["changed"]] == ["read", "write", "home"], f"{told}")
    lab.run(1, "rmctl", "get", "rfm0", "2", "0x1000")
    told = schemas.fitting("export", lab.out(2, "rmctl", "-j", "export", "rfm0", "0x1000+64", "none", "--base"))
    expect(told == {"device": "rfm0", "offset": 0x1000, "length": 64, "rights": []}, f"{told}")
    ends(lab, 1, 3, denied, "get", "rfm0", "2", "0x1000")
    ends(lab, 2, 2, "--while and --base exclude each other (see 'rmctl export --help')",
         "export", "rfm0", "0x1000+64", "read", "--base", "--while", "true")


def sentences(lab, _):
    """What cannot be is said in one sentence, with the status that rmctl(1) has for it"""
    denied = "the node does not allow it there"
    ends(lab, 1, 3, denied, "get", "rfm0", "2", "0x1000")
    ends(lab, 1, 3, denied, "put", "rfm0", "2", "0x1000", "1")
    ends(lab, 1, 3, denied + ", or is not the home of that word", "add", "rfm0", "2", "0x1000", "1", "-t", "100")
    for words in (("get", "rfm0", "2", "0x1000", "-t"), ("add", "rfm0", "2", "0x1000", "1", "-t")):
        for time, said in (("0", "the time must be above 0 and at most 2147483 s"),
                           ("-1", "time '-1' is no time such as 0.5, 20ms or 100us")):
            ends(lab, 1, 2, f"{said} (see 'rmctl {words[0]} --help')", *words, time)
    done = lab.run(1, "rmctl", "-j", "add", "-n", "5", "rfm0", "2", "0x1000", "1", check=False)
    told = schemas.fitting("add", done.stdout)
    expect((done.returncode, told["done"], told["unknown"]) == (3, 0, 0), f"{done}")
    ends(lab, 1, 3, "there is no such node on the ring", "get", "rfm0", "200", "0x1000")
    ends(lab, 1, 3, "nobody listens at that port", "message", "rfm0", "2", "17", "text")
    ends(lab, 1, 2, "the right 'all' is not read, write, home or none (see 'rmctl export --help')",
         "export", "rfm0", "0x0+64", "all")
    ends(lab, 1, 2, "a node gives nothing to a memory that is right as it is (see 'rmctl resync --help')",
         "resync", "rfm0", "2", "--as-is")
    told = schemas.fitting("resync", lab.out(1, "rmctl", "-j", "resync", "rfm0", "--as-is"))
    expect((told["bytes"], told["donor"]) == (0, 1) and not told["doubtful"], f"{told}")


def a_lock(lab, host):
    """A lock by cas on a word whose home is a card: nobody's addition is lost, rmnode included"""
    take = f"until rmctl cas -w 8 rfm0 2 {LOCK} 0 1 >/dev/null 2>&1; do :; done"
    add = f"v=$(rmctl peek rfm0 {COUNT} | sed 's/.* //'); rmctl poke rfm0 {COUNT} $((v + 1)); rmctl fence rfm0 >/dev/null"
    give = f"rmctl cas -w 8 rfm0 2 {LOCK} 1 0 >/dev/null"
    with Exported(lab, 2, f"{LOCK}+64", "home"):
        lab.poke(1, LOCK, 0, 8)
        lab.poke(1, COUNT, 0)
        lab.run(1, "rmctl", "fence", "rfm0")
        adders = [lab.start(node, "sh", "-ec", f"for i in $(seq {ROUNDS}); do {take}; {add}; {give}; done")
                  for node in lab.nodes]
        for _ in range(ROUNDS):
            while host.call("cas", "-w", 8, 2, LOCK, 0, 1, check=False).returncode:
                pass
            host.call("write", hex(COUNT), int(host.call("read", hex(COUNT)), 16) + 1)
            host.call("fence")
            host.call("cas", "-w", 8, 2, LOCK, 1, 0)
        for adder in adders:
            adder.finish(timeout=300)
        for node in lab.nodes:
            wait_for("all additions are there", lambda node=node: lab.peek(node, COUNT) == 3 * ROUNDS)
        expect(lab.out(1, "rmctl", "add", "-w", 4, "-n", "50", "rfm0", "2", COUNT, "2") == "50 times, unknown 0", "add")
        expect(lab.peek(1, COUNT) == 3 * ROUNDS + 100, "it is not here when add returns")
        told = [schemas.rmctl(lab, 1, "add", *often, "rfm0", "2", COUNT, "-1")[0] for often in ((), ("-n", "2"))]
        expect(told[0]["old"] == f"0x{3 * ROUNDS + 100:08x}" and told[1]["done"] == 2, f"{told}")
        expect(lab.peek(1, COUNT) == 3 * ROUNDS + 97, "-1 is not subtracted")
        done = lab.run(1, "rmctl", "cas", "rfm0", "2", LOCK, "5", "6", check=False)
        expect((done.returncode, done.stdout) == (1, "0x00000000\n"), f"cas of another word: {done}")
        done = lab.run(1, "rmctl", "-j", "cas", "rfm0", "2", LOCK, "5", "6", check=False)
        told = schemas.fitting("cas", done.stdout)
        expect((done.returncode, told["old"], told["changed"]) == (1, "0x00000000", False), f"{done}")


def messages(lab, host):
    """Messages come whole, in order, with their sender, to a card from a card and an rmnode"""
    receiver = lab.start(2, "sh", "-c", "exec rmctl -j receive rfm0 17 -n 41 2>&1")
    expect(receiver.line() == "listening at port 17 of rfm0 ...", "receive does not say that it listens")
    lab.run(1, "sh", "-ec", "for i in $(seq 20); do rmctl message rfm0 2 17 card$i; done")
    for number in range(20):
        host.call("message", 2, 17, f"host{number}")
    sent = schemas.fitting("message", lab.out(1, "sh", "-c", "head -c 300000 /dev/zero | "
                                              "rmctl -j message rfm0 2 17 -f -"))
    expect(sent["bytes"] == 300000, f"{sent}")
    told = [schemas.fitting("receive", line) for line in receiver.finish(timeout=120).splitlines()]
    texts = {node: [bytes.fromhex(one["data"]) for one in told if one["from"] == node] for node in (1, HOST)}
    expect(texts[1][:20] == [f"card{n}".encode() for n in range(1, 21)], f"of node 1: {texts[1][:20]}")
    expect(texts[1][20] == bytes(300000), "the long one is another")
    expect(texts[HOST] == [f"host{n}".encode() for n in range(20)], f"of the rmnode: {texts[HOST]}")
    receiver = lab.start(2, "sh", "-c", "exec rmctl receive rfm0 17 -n 4 2>&1")
    expect(receiver.line() == "listening at port 17 of rfm0 ...", "receive does not say that it listens")
    lab.run(1, "rmctl", "message", "rfm0", "2", "17", "--", "-\033[31m\nred \N{EURO SIGN}")
    expect(receiver.line() == "1: -?[31m?red \N{EURO SIGN}", "what a terminal would obey is printed")
    lab.run(2, "killall", "-INT", "rmctl")
    done = receiver.wait(timeout=60)
    expect((done.returncode, done.stdout) ==
           (1, "rmctl: rfm0: receive: interrupted: 3 message(s) still missing\n"), f"{done}")
    done = lab.run(2, "rmctl", "receive", "rfm0", "17", "-t", "500ms", check=False)
    expect(done.returncode == 1 and
           done.stderr.endswith("rmctl: rfm0: receive: 1 message(s) still missing after 500ms\n"), f"{done}")
    waiting = host.start("receive", 5)
    wait_for("the rmnode listens", lambda: not lab.run(2, "rmctl", "message", "rfm0", HOST, "5", "to the host",
                                                       check=False).returncode)
    expect(waiting.communicate(timeout=60)[0] == "2: to the host\n", "the rmnode got another")


def a_region(lab, _):
    """Memory of a process that sleeps is written from another node, which wakes it"""
    target = lab.start(2, PROGRAMS + "region", "serve", "/dev/rfm0")
    key = target.line()
    lab.run(1, PROGRAMS + "region", "write", "/dev/rfm0", "2", key, "good morning")
    told = target.finish(timeout=60).strip().splitlines()[-1]
    expect(told == "node 1 has written 12 bytes at 90: good morning", told)
    done = lab.run(1, PROGRAMS + "region", "write", "/dev/rfm0", "2", key, "late", check=False)
    expect(done.returncode == 1 and "Permission denied" in done.stderr, f"the region is there still: {done}")


def shows_that_it_is_incomplete(lab, node):
    """What show, map and the monitor's command say of a card."""
    told = schemas.fitting("show", lab.out(node, "rmctl", "-j", "show", "rfm0"))
    return told["incomplete"]


def a_machine_dies(lab, host):
    """A machine that died and came back is incomplete, says so, and resync gives it all, while others store"""
    host.call("write", "0x1000", 7)     # what was put there, and nowhere else
    lab.verb("kill", 2)
    lab.run(1, "rmctl", "fill", "-y", "rfm0", "0x400000+4M", "0x55aa1234")
    host.call("write", "0x3000", 1234)
    lab.verb("start", 2)
    all_pass(lab)
    wait_for("node 2 is incomplete", lambda: shows_that_it_is_incomplete(lab, 2))
    expect(not shows_that_it_is_incomplete(lab, 1), "node 1 is incomplete")
    members = lab.rmctl_json(1, "map", "rfm0")["members"]
    wait_for("node 1 knows it", lambda: any(m["incomplete"] for m in lab.rmctl_json(1, "map", "rfm0")["members"]))
    expect(len(members) == 3, f"{members}")
    listener = lab.start(2, "rmctl", "-j", "listen", "rfm0", "incomplete", "-n", "1", "-t", "300")
    listener.listening()
    monitor = lab.start(2, "sh", "-c", "exec rmctl -j monitor rfm0 -t 300 2>&1")
    expect(monitor.line() == "monitoring rfm0 ...", "monitor does not say that it has begun")
    ended = threading.Event()
    stored = 0

    def store():
        nonlocal stored
        while not ended.is_set():
            stored += 1
            host.call("write", "0x3004", stored)

    storing = threading.Thread(target=store)
    storing.start()
    ends(lab, 2, 3, "it has not ended in time: the memory is incomplete", "resync", "rfm0", "-t", "1ms")
    told = schemas.fitting("resync", lab.out(2, "rmctl", "-j", "resync", "rfm0", timeout=300))
    ended.set()
    storing.join()
    expect(told["bytes"] == 64 << 20 and not told["doubtful"], f"{told}")
    event = schemas.fitting("listen", listener.finish(timeout=300))
    expect((event["type"], event["data"]) == ("incomplete", 0), f"{event}")
    while schemas.fitting("monitor", monitor.line())["event"] != "complete":
        pass
    lab.run(2, "killall", "-INT", "rmctl")
    monitor.finish(timeout=60)
    host.call("fence")
    expect(not shows_that_it_is_incomplete(lab, 2), "node 2 is incomplete still")
    expect(lab.peek(2, 0x3000) == 1234, "node 2 lacks what the rmnode has stored")
    wait_for("the last store is there", lambda: lab.peek(2, 0x3004) == stored)
    lab.run(2, "rmctl", "verify", "rfm0", "-t", "60", timeout=300)


TESTS = [there_and_back, names, exports, exports_for_good, sentences, messages, a_lock, a_region, a_machine_dies, clean_kernels]
LONG = [a_lock, a_machine_dies]


def main():
    tests = asked(TESTS, *LONG)
    plan(tests)
    with tempfile.TemporaryDirectory(prefix="remote-cards-") as folder:
        config = Path(folder) / "config"
        member = {"in": f"unix:{folder}/port.in,server", "out": f"unix:{folder}/port.out,server"}
        config.write_text(json.dumps({"ports": [{}] * 2 + [member]}), encoding="ascii")
        with Lab("remote-cards", 2, "--topology", "hub", "--hub-arg", f"--queue 65536 --config {config}") as lab:
            host = Member(folder, HOST, f"unix:{folder}/port.out", f"unix:{folder}/port.in", memory="64M")
            try:
                all_pass(lab)
                return bool(run(tests, lab, host))
            finally:
                host.stop()


if __name__ == "__main__":
    sys.exit(main())
