#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmbench, of processes and of a network; what needs a card is in the suites bench, bulk and wakeup.

rmbench.py                  a short run; its figures are printed, not judged: other work may run beside it
rmbench.py --long targets   on a machine that has nothing else to do: is every target met?
"""

import glob
import json
import os
import signal
import socket
import subprocess
import sys
import time

from suite import TOP, Failed, expect, figure, free_ports, plan, run

RMBENCH = str(TOP / "build" / "tools" / "rmbench")
SOCKETS = "/tmp/rmbench-*"
NODES = (2, 8, 64, 256)
RUNS = 3
RUN_S = 60
SLOWEST = 1 / 20
BUSY = 40               # times the bare queue; a few times it, if each node has a CPU


def rmbench(*args):
    return subprocess.run([RMBENCH, *args], text=True, capture_output=True, timeout=240,
                          check=False)


def rows_of(seconds):
    result = rmbench("--json", "--seconds", str(seconds), "ring")
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)["rows"]


def only(rows, what, nodes, size=None):
    found = [r for r in rows
             if r["what"] == what and r["nodes"] == nodes and size in (None, r["bytes"])]
    expect(len(found) == 1, f"{len(found)} rows for '{what}' with {nodes} nodes")
    return found[0]


def consistent(row):
    """What the row says of itself follows from its figures."""
    expect(row["value"] > 0, f"a figure that is not above 0: {row}")
    if row["beside"] is None:
        expect(row["ratio"] is None and row["met"] is None, f"a ratio to nothing: {row}")
        return
    ratio = row["value"] / row["beside"]
    expect(abs(ratio - row["ratio"]) < 0.001 * ratio, f"the ratio is not that of the row: {row}")
    if row["ratio_max"] is not None:
        expect(row["met"] == ((row["ratio_min"] or 0) <= ratio <= row["ratio_max"]),
               f"the verdict is not that of the row: {row}")


def show(row):
    text = f"{row['what']}, {row['nodes']} nodes"
    text += f", {row['bytes']} bytes" if row["bytes"] else ""
    text += f": {row['value']:.2f} {row['unit']}"
    if row["ratio"] is not None:
        text += f", {row['ratio']:.2f} of {row['beside_what']} ({row['beside']:.2f})"
    if row["met"] is not None:
        low = f"{row['ratio_min']:.2f} to " if row["ratio_min"] else "up to "
        text += f"; target {low}{row['ratio_max']:.2f}"
    figure(text)


def a_short_run():
    """every measurement runs, nothing is lost on the way, and the report is whole"""
    result = rmbench("--json", "--seconds", "4", "ring")
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    report = json.loads(result.stdout)
    rows = report["rows"]
    for row in rows:
        consistent(row)
        show(row)
    expect(report["seconds"] == 4, f"it says it took {report['seconds']} s")
    for nodes in NODES:
        bare = only(rows, "a bare eventfd hand-off", nodes)
        hop = only(rows, "a hop of a lone store", nodes, 4)
        expect(abs(hop["beside"] - bare["value"]) < 0.01, "a hop is not beside its hand-off")
        expect(hop["ratio_max"] == 3, "the target of a hop is not 3 times the bare hand-off")
    expect(only(rows, "growth of a hop from 8 to 256", 256)["ratio_max"] == 1.2,
           "the target of the growth is not 1.2")
    for size, card in ((4, 43), (64, 170)):
        only(rows, "a bare shared-memory queue", 2, size)
        only(rows, "two nodes, saturated, round", 2, size)
        expect(only(rows, "two nodes, paced", 2, size)["beside"] == card, "not the card's rate")
        expect(only(rows, "two nodes, paced, redundant", 2, size)["beside"] == card / 2,
               "not half of the card's rate")
    expect(not glob.glob(SOCKETS), f"left behind: {glob.glob(SOCKETS)}")


def links_with_tls():
    """links over TCP with TLS beside without: all comes home, and what it costs is shown"""
    result = rmbench("--json", "--seconds", "6", "tls")
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    rows = json.loads(result.stdout)["rows"]
    for row in rows:
        consistent(row)
        show(row)
    for what in ("a hop of a lone store", "two nodes, saturated, round"):
        plain, tls = (only(rows, f"{what}, {link}", 2)["value"] for link in ("TCP", "TLS"))
        expect(only(rows, f"{what}, TLS", 2)["beside"] == plain, "TLS is not beside TCP")
        expect(tls > 0 and plain > 0, f"{plain} and {tls}")
    expect(not glob.glob(SOCKETS), f"left behind: {glob.glob(SOCKETS)}")


def no_faster_than_the_line():
    """a paced line lets no more through than the card's"""
    rows = json.loads(rmbench("-j", "-s", "1", "ring").stdout)["rows"]
    for row in rows:
        if "paced" in row["what"]:
            expect(row["ratio"] < 1.03, f"{row['ratio']:.2f} times the card: {row}")


def how_slow(rows):
    """The slowest paced line, beside the slower of the card and of the same nodes without a line.

    Both nodes need a CPU for that as well, so this hardly depends on what else runs.
    """
    slowest = 1
    for row in rows:
        if "paced" in row["what"]:
            copies = 2 if "redundant" in row["what"] else 1
            free = only(rows, "two nodes, saturated, round", 2, row["bytes"])["value"]
            possible = min(row["beside"], row["bytes"] * 1000 / free / copies)
            slowest = min(slowest, row["value"] / possible)
    return slowest


def nodes_take_turns(rows):
    """Something else has the CPUs: two nodes that store as fast as they can wait for each other's turns."""
    return any(only(rows, "two nodes, saturated, round", 2, size)["ratio"] > BUSY for size in (4, 64))


def not_much_slower():
    """a paced line is not much slower than the card's, or than what this machine does now"""
    busy, slowest = 0, 0
    for _ in range(RUNS):
        rows = rows_of(4)
        slowest = how_slow(rows)
        if slowest >= SLOWEST:
            return
        busy += nodes_take_turns(rows)
    if busy == RUNS:
        figure("not judged: this machine has other work, and two nodes never ran at the same time")
        return
    raise Failed(f"{slowest:.3f} of what is possible, {RUNS} times")


def a_table():
    """without --json it is a table with a line for each measurement"""
    result = rmbench("-s", "1", "ring")
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    lines = result.stdout.splitlines()
    expect(lines[0].split()[:3] == ["measurement", "nodes", "bytes"], f"headed {lines[0]}")
    expect(len(lines) == 1 + 2 * len(NODES) + 1 + 2 + 2 + 4, f"{len(lines)} lines")


def queues_alone():
    """queue measures the two bare queues, and nothing else"""
    result = rmbench("--json", "--seconds", "1", "queue")
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    rows = json.loads(result.stdout)["rows"]
    expect([(row["what"], row["bytes"]) for row in rows]
           == [("a bare shared-memory queue", size) for size in (4, 64)], f"it measured {rows}")
    for row in rows:
        consistent(row)


def a_pair():
    """pair measures the bare queue and two nodes, with 64 bytes, and nothing else"""
    result = rmbench("--json", "--seconds", "1", "pair")
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    rows = json.loads(result.stdout)["rows"]
    expect([(row["what"], row["nodes"], row["bytes"]) for row in rows]
           == [("a bare shared-memory queue", 2, 64), ("two nodes, saturated, round", 2, 64)],
           f"it measured {rows}")
    for row in rows:
        consistent(row)


def interrupted():
    """SIGTERM ends it, with all its processes and sockets"""
    child = subprocess.Popen([RMBENCH, "-s", "60", "ring"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not glob.glob(SOCKETS):
        if time.monotonic() > end:
            raise Failed("no ring was set up within 60 s")
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    _, complaint = child.communicate(timeout=60)
    expect(child.returncode == 1, f"status {child.returncode}")
    expect(complaint == "rmbench: interrupted\n", f"it said {complaint!r}")
    expect(not glob.glob(SOCKETS), f"left behind: {glob.glob(SOCKETS)}")


def bad_input():
    """bad input is refused with one sentence or the usage"""
    for args in ((), ("rong",), ("ring", "ring"), ("queue", "ring"), ("-x", "ring")):
        result = rmbench(*args)
        expect(result.returncode == 2 and "usage: rmbench" in result.stderr, f"{args} was taken")
    for seconds in ("0", "-1", "x", "3601", "nan", ""):
        result = rmbench("-s", seconds, "ring")
        expect(result.returncode == 2 and
               result.stderr == "rmbench: the time must be 1 to 3600 seconds\n",
               f"{seconds} seconds: {result.stderr}")
    for words, sentence in (
            (("card", "/dev/null", "0"), "/dev/null: is no card"),
            (("card", "/nowhere", "0"), "/nowhere: No such file or directory"),
            (("card", "/dev/null", "1"), "'1' is no offset, a multiple of 4096"),
            (("card", "/dev/null", "0", "256"), "'256' is no node, 0 to 255"),
            (("-o", "loud", "card", "/dev/null", "0"), "there is no figure 'loud' here"),
            (("answer", "/dev/null", "x"), "'x' is no offset, a multiple of 4096"),
            (("net", "nowhere", "5565"), "'nowhere' is no IPv4 address, nor a device, which begins with /"),
            (("net", "127.0.0.1", "65535"), "'65535' is no port, 1 to 65534"),
            (("-s", "1", "-o", "tcp", "net", "127.0.0.1", str(free_ports(1)[0])), "tcp: Connection refused")):
        result = rmbench(*words)
        expect(result.returncode in (1, 2) and result.stderr == f"rmbench: {sentence}\n", f"{words}: {result.stderr}")
    expect("usage: rmbench" in rmbench("--help").stdout, "no help")


def a_network():
    """net measures what `rmbench answer` gives back, be it datagrams or TCP"""
    port = str(free_ports(1)[0])
    answers = subprocess.Popen([RMBENCH, "answer", "127.0.0.1", port], text=True, stdout=subprocess.PIPE)
    try:
        expect(answers.stdout.readline() == "ready\n", "it is not ready")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
            for stranger in (b"", b"abc", b"abcdefgh"):     # what is no number is ignored
                stray.sendto(stranger, ("127.0.0.1", int(port)))
        result = rmbench("-j", "-s", "1", "-o", "udp,tcp", "net", "127.0.0.1", port)
    finally:
        answers.kill()
        answers.wait()
    expect(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    for row in json.loads(result.stdout)["rows"]:
        expect(0 < row["minimum"] <= row["median"] <= row["p99"] <= row["maximum"], f"{row}")
        expect(len(row["quantiles"]) == 101 and row["samples"] > 20, f"{row}")


def hand_offs():
    """handoff measures an eventfd and a unix socket, and nothing else"""
    rows = json.loads(rmbench("-j", "-s", "1", "handoff").stdout)["rows"]
    expect([row["what"] for row in rows] == ["a bare eventfd hand-off", "a bare unix socket hand-off"], f"{rows}")
    for row in rows:
        consistent(row)


# --- the targets ------------------------------------------------------------------------

def key(row):
    return row["what"], row["nodes"], row["bytes"]


def merged(a, b):
    """The best of two runs, of each figure by itself: a bare one may be disturbed as well."""
    if a["unit"] == "MB/s":
        return min(a, b, key=lambda row: abs(row["ratio"] - 1))
    best = dict(a, value=min(a["value"], b["value"]))
    if a["beside"] is not None:
        best["beside"] = min(a["beside"], b["beside"])
    return judged(best)


def judged(row):
    if row["beside"] is not None:
        row["ratio"] = row["value"] / row["beside"]
    if row["met"] is not None:
        row["met"] = (row["ratio_min"] or 0) <= row["ratio"] <= row["ratio_max"]
    return row


def grown(best):
    """The growth follows from the best hops."""
    row = best["growth of a hop from 8 to 256", 256, 0]
    far, near = (best["a hop of a lone store", nodes, 4] for nodes in (256, 8))
    row["value"], row["beside"] = (far[side] / near[side] for side in ("value", "beside"))
    judged(row)


def targets():
    """every target is met, best of three runs"""
    load = os.getloadavg()[0]
    best = {}
    for _ in range(RUNS):
        for row in rows_of(RUN_S):
            consistent(row)
            best[key(row)] = merged(best.get(key(row), row), row)
    grown(best)
    for row in best.values():
        show(row)
    missed = [row["what"] for row in best.values() if row["met"] is False]
    expect(not missed, f"missed, with a load average of {load:.2f} before: {missed}")


SHORT = [a_short_run, links_with_tls, no_faster_than_the_line, not_much_slower, a_table, queues_alone, a_pair, hand_offs,
         a_network, interrupted, bad_input]
LONG = {"targets": [targets]}


def main():
    tests = LONG[sys.argv[2]] if "--long" in sys.argv else SHORT
    plan(tests)
    return bool(run(tests))


if __name__ == "__main__":
    sys.exit(main())
