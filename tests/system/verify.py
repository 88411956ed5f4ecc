#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmctl verify: two cards of a machine and an rmnode have the same, or where they differ."""

import json
import sys
import tempfile
from pathlib import Path

from jsonschema import Draft202012Validator

from rmnode import Member
from suite import (TOP, clean_kernels, device_of_node, expect, extra_cards, plan, run,
                   wait_for)
from labkit import Lab

NEAR, FAR, HOST = 0, 17, 33
PAGE = 4096
SCHEMA = Draft202012Validator(json.loads((TOP / "docs" / "json" / "verify.json").read_text()))
AREA = "0x100000+64K"


class Bench:
    """near -> far -> host -> near."""

    def __init__(self, lab, host, memory):
        self.lab, self.host, self.memory = lab, host, memory
        self.near, self.far = (device_of_node(lab, 1, node) for node in (NEAR, FAR))

    def verify(self, *words, card=None):
        """Its exit status, what it prints, and what it complains of."""
        done = self.lab.run(1, "rmctl", "verify", card or self.near, *words, check=False)
        return done.returncode, done.stdout, done.stderr

    def json(self, *words, status, card=None):
        """The object, and its nodes by id."""
        code, out, err = self.verify("-j", *words, card=card)
        expect((code, err) == (status, ""), f"status {code}, '{err}', {out}")
        found = json.loads(out)
        SCHEMA.validate(found)
        return found, {node["node"]: node for node in found["nodes"]}

    def poke(self, offset, value, card=None):
        self.lab.run(1, "rmctl", "poke", card or self.near, hex(offset), hex(value))

    def equal(self):
        found, nodes = self.json(AREA, status=0)
        expect(found["equal"] and found["pages"] == 16 and set(nodes) == {FAR, HOST}, str(found))
        expect(all(node["equal"] and node["answered"] and node["first_offset"] is None
                   for node in nodes.values()), str(found))


def everything_is_equal(bench):
    """Where all have the same it says so, of a range, a page and a few bytes"""
    bench.lab.run(1, "sh", "-c", "head -c 65536 /dev/urandom | "
                  f"dd of=/dev/{bench.near} bs=65536 seek=16 iflag=fullblock conv=notrunc")
    bench.equal()
    code, out, _ = bench.verify("0x100003+5")
    expect(code == 0 and out.splitlines() == [
        f"{bench.near}: 5 B from 0x100003 on, compared with this node's",
        "  0x11 (17): equal", "  0x21 (33): equal"], out)


def one_node_differs(bench):
    """What the host's node does not have is found to the byte, from every other node"""
    bench.host.call("pause")
    bench.poke(0x104abc, 0x11223344)
    bench.poke(0x109000, 0x55)
    try:
        found, nodes = bench.json(AREA, status=1)
        expect(nodes[FAR]["equal"] and not nodes[FAR]["behind"], str(found))
        expect(nodes[HOST]["behind"] and nodes[HOST]["differing_pages"] == 2 and
               nodes[HOST]["first_offset"] in range(0x104abc, 0x104ac0), str(found))
        expect(nodes[HOST]["here"] == "0x11223344", str(found))
    finally:
        bench.host.call("resume")
    bench.equal()


def a_byte_differs(bench):
    """What stands in one memory alone is found: the byte, the word here and there, the page"""
    bench.poke(0x105008, 0x600d)
    with bench.memory.open("r+b") as memory:    # behind the ring's back
        memory.seek(0x105009)
        memory.write(b"\x61")
    found, nodes = bench.json(AREA, status=1)
    expect(nodes[FAR]["equal"] and not found["equal"], str(found))
    expect({key: nodes[HOST][key] for key in
            ("first_offset", "here", "there", "differing_pages", "behind", "answered")} ==
           {"first_offset": 0x105009, "here": "0x0000600d", "there": "0x0000610d",
            "differing_pages": 1, "behind": False, "answered": True}, str(found))
    code, out, _ = bench.verify(AREA)
    expect(code == 1 and "  0x21 (33): first differs at 0x00105009: 0x0000600d here, 0x0000610d "
           "there; 1 of 16 pages" in out.splitlines(), out)
    # From the other card of this machine it is the same, and a page beside it is equal.
    _, nodes = bench.json(AREA, status=1, card=bench.far)
    expect(nodes[NEAR]["equal"] and nodes[HOST]["first_offset"] == 0x105009, str(nodes))
    bench.json("0x106000+4K", status=0)
    bench.poke(0x105008, 0x600d)
    bench.equal()


def smaller_memory(bench):
    """What lies behind the end of a smaller memory is not compared, and that is said"""
    _, nodes = bench.json("0x1fff000+8K", status=0)
    expect(nodes[FAR]["beyond_bytes"] == 0 and nodes[HOST]["beyond_bytes"] == PAGE, str(nodes))


def misuse(bench):
    """Errors are one sentence"""
    for words, sentence in (((bench.near, "0x10000000+4K"), "memory"),
                            ((bench.near, "0x2000-0x1000"), "ends before it begins")):
        done = bench.lab.run(1, "rmctl", "verify", *words, check=False)
        expect(done.returncode in (1, 2) and not done.stdout and sentence in done.stderr and
               len(done.stderr.splitlines()) == 1, str(done))


def open_ring(bench):
    """On a ring that is open nothing is compared, and it says why"""
    bench.host.stop()
    code, out, err = bench.verify(AREA, "-t", "5")
    expect(code == 1 and not out and err in (
        f"rmctl: {bench.near}: verify: {why}\n" for why in (
            "nothing leaves this node: no signal, or its transmitter is off",
            "the fence before it has not come home within 5000 ms")), err)


def main():
    tests = [everything_is_equal, one_node_differs, a_byte_differs, smaller_memory,
             misuse, open_ring, lambda bench: clean_kernels(bench.lab)]
    tests[-1].__doc__ = clean_kernels.__doc__
    with tempfile.TemporaryDirectory() as folder:
        cards = extra_cards([(NEAR, f"path={folder}/near", f"path={folder}/far", ""),
                             (FAR, f"path={folder}/far", f"path={folder}/host", "")])
        host = Member(folder, HOST, f"unix:{folder}/host,server", f"unix:{folder}/near",
                      "--memory-file", f"{folder}/memory", memory="32M")
        with Lab("verify", 1, *cards) as lab:
            bench = Bench(lab, host, Path(folder, "memory"))
            wait_for("the ring is closed", lambda: lab.run(
                1, "rmctl", "test", bench.near, check=False).returncode == 0, 30)
            plan(tests)
            return bool(run(tests, bench))


if __name__ == "__main__":
    sys.exit(main())
