#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fibre hub: its command line, bypass, cascades, faults that strike the same way each time."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from suite import PATIENCE_S, TOP, expect, free_ports, plan, run, wait_for
from members import RMHUB, RMNODE, Control, Hub, Node, Place

RUNS = 10


# --- helpers --------------------------------------------------------------------------

def rmhub(*args, hub=None, text=None):
    """Run rmhub to its end; with a hub, as a word to that one."""
    where = ["-S", hub.path] if hub else []
    return subprocess.run([RMHUB, *where, *map(str, args)], text=True, capture_output=True,
                          input=text, timeout=60, check=False)


def told(*args, hub):
    """What a verb prints; it must succeed."""
    done = rmhub(*args, hub=hub)
    expect(done.returncode == 0 and not done.stderr, f"rmhub {args}: {done}")
    return done.stdout


def sentence(done, status, *words):
    """It failed with that status and one sentence that has these words."""
    what = f"{done.args[1:]}: status {done.returncode}, says {done.stderr!r}"
    expect(done.returncode == status, what)
    expect(done.stderr.startswith("rmhub: ") and done.stderr.count("\n") == 1, what)
    for word in words:
        expect(word in done.stderr, f"{what}, without '{word}'")


def node_at(place, node, rx, tx, *options):
    """A node that drops no store because a busy host holds up the ring."""
    return place.add(Node(place.folder, node, rx, tx, "--memory", "1M", "--stall-limit-ms", 10000,
                          *options)).up()


def node_on(place, hub, port, node=None, *options):
    """A node, plugged into a port."""
    return node_at(place, port + 1 if node is None else node, hub.rx(port), hub.tx(port), *options)


def know_each_other(nodes):
    """Wait until each knows all others, and its frames come home."""
    ids = {node.node for node in nodes}

    def is_so():
        return all({member["id"] for member in node.members()} == ids - {node.node}
                   and not state(node)["open"] and state(node)["signal"] for node in nodes)
    wait_for(f"nodes {sorted(ids)} are a ring", is_so)


def state(node):
    return node.call("stats")["state"]


def stats(node):
    return node.call("stats")["counters"]


def ring(place, count, *options):
    """A hub with a node at each port but the last, which is free."""
    hub = Hub(place, count + 1, *options)
    nodes = [node_on(place, hub, port) for port in range(count)]
    know_each_other(nodes)
    return hub, nodes


def write(node, offset, data):
    node.call("write", first=offset, data=data)


def read(node, offset, length):
    return node.call("read", first=offset, last=offset + length - 1)["data"]


def checksum(node, **area):
    return node.call("checksum", **area)["crc32c"]


def arrives(nodes, offset, data):
    for node in nodes:
        wait_for(f"node {node.node} has it", lambda: read(node, offset, len(data) // 2) == data)


def fence(node):
    """Wait until all that it has stored is everywhere. Returns how much was lost."""
    return node.call("fence", timeout_ms=20000)["lost"]


def port_of(hub, port):
    return hub.call("status")["ports"][port]


def counters(hub, port):
    return hub.call("counters")["ports"][port]


def becomes(hub, port, what):
    wait_for(f"port {port} is {what}", lambda: port_of(hub, port)["state"] == what)


# --- the command line -----------------------------------------------------------------

def wrong_usage():
    """Wrong usage: one sentence, status 2, nothing left behind"""
    with Place("hub-usage") as place:
        folder = Path(place.folder, "ring")
        for words, complaint in (
                (["--ports", "0", "--dir", folder], "1 to 256"),
                (["--ports", "257", "--dir", folder], "1 to 256"),
                (["--ports", "3x", "--dir", folder], "1 to 256"),
                (["--dir", folder, "--line", "slow"], "line"),
                (["--dir", folder, "--queue", "1000"], "power of two"),
                (["--dir", folder, "--bad-limit=-1"], "bad-limit"),
                (["--dir", folder, "--config", place.folder + "/none"], "none"),
                (["--dir", folder, "stray"], "stray"),
                (["--fly"], "--fly"), (["--ports"], "--ports"), (["--ports", "4"], "--dir"),
                (["run", "--dir", folder, "--nothing"], "--nothing"),
                (["hover"], "hover"), ([], "nothing to do"), (["bypass", "1"], "bypass"),
                (["bypass", "1", "up"], "up"), (["fault", "mend"], "mend"),
                (["fault", "add"], "kind"), (["fault", "add", "drop", "port"], "KEY=VALUE"),
                (["fault", "add", "drop", "seed=1", "seed=2"], "seed"),
                (["fault", "clear", "x"], "number"), (["status", "all"], "status")):
            sentence(rmhub(*words), 2, complaint)
            expect(not folder.exists(), f"{words}: a hub was begun")


def wrong_config():
    """A file that is wrong is refused with one sentence that says where"""
    files = {
        '{"ports": 4,}': "line 1", '[]': "object", '{"porst": 4}': "porst",
        '{"dir": "/tmp/x", "ports": [{"in": "unix"}]}': "port 0: in",
        '{"ports": [{"in": "unix:/tmp/a,server"}]}': "port 0 has no address for its out",
        '{"dir": "/tmp/x", "ports": [{"name": "a"}, {"name": "a"}]}': "port 1: name",
        '{"dir": "/tmp/x", "ports": [{"name": "7"}]}': "port 0: name",
        '{"dir": "/tmp/x", "ports": []}': "1 to 256",
        '{"dir": "/tmp/x", "ports": [{"line": "paced,rate=x"}]}': "port 0: line",
        '{"dir": "/tmp/x", "glitchless": 1}': "true or false",
        '{"dir": "/tmp/x", "scenario": [{"kind": "drop", "probability": 0.5}]}': "fault 1",
        '{"dir": "/tmp/x", "faults": [{"kind": "drop"}, {"kind": "drop", "port": 8}]}':
            "fault 2: port",
    }
    with Place("hub-config") as place:
        path = Path(place.folder, "config")
        for text, complaint in files.items():
            path.write_text(text)
            sentence(rmhub("--config", path), 2, complaint)


def wrong_words():
    """Words that a hub refuses: one sentence, a usage error, nothing changed"""
    with Place("hub-words") as place:
        hub = Hub(place, 3)
        before = hub.call("fault-list")
        for words, complaint in (
                (["bypass", "3", "on"], "0 to 2"), (["cut", "x"], "'x'"), (["cut", "0", "up"], "'up'"),
                (["restore", "-1"], "'-1'"),
                (["fault", "add", "melt"], "kind"), (["fault", "add", "delay"], "time"),
                (["fault", "add", "drop", "time=1"], "time"),
                (["fault", "add", "drop", "colour=red"], "colour"),
                (["fault", "add", "drop", "source=256"], "255"),
                (["fault", "add", "drop", "port=3"], "port"),
                (["fault", "add", "drop", "probability=1.5"], "probability"),
                (["fault", "add", "drop", "address=0x10000000"], "address"),
                (["fault", "add", "drop", "address=2-1"], "ends before"),
                (["fault", "add", "drop", "value=abc"], "value"), (["fault", "add", "drop", "at=1"], "value"),
                (["fault", "add", "freeze", "time=5min"], "time"),
                (["fault", "add", "drop", "type=beam"], "type")):
            sentence(rmhub(*words, hub=hub), 2, complaint)
        sentence(rmhub("scenario", "-", hub=hub, text='[{"kind": "drop", "count": 0}]'), 2, "fault 1")
        sentence(rmhub("scenario", "-", hub=hub, text="[{]"), 2, "line 1")
        sentence(rmhub("fault", "clear", "1", hub=hub), 1, "fault 1")
        sentence(rmhub("scenario", "/nowhere", hub=hub), 1, "/nowhere")
        expect(hub.call("fault-list") == before, "something has changed")
        expect(all(port["state"] == "dark" and port["cut"] is None
                   for port in hub.call("status")["ports"]), "a port has changed")
        nobody = rmhub("-S", place.folder + "/nobody", "status")
        sentence(nobody, 1, "nobody")


def faults_are_shown():
    """A fault is listed as it was set; clear takes it away"""
    with Place("hub-faults") as place:
        hub = Hub(place, 3)
        words = {"source": "3", "address": "0x1000-0x1fff", "nth": "10", "count": "2", "bit": "9",
                 "after": "1.5", "for": "20ms"}
        expect(told("fault", "add", "corrupt", *(f"{k}={v}" for k, v in words.items()), hub=hub)
               == "fault 1\n", "not number 1")
        expect(json.loads(told("fault", "add", "drop", "probability=0.25", "seed=0x10", "port=2", "-j", hub=hub))
               == {"fault": 2}, "not number 2")
        one, two = json.loads(told("fault", "list", "-j", hub=hub))["faults"]
        expect((one["kind"], one["source"], one["address"], one["nth"], one["count"], one["bit"],
                one["after"], one["for"]) == ("corrupt", 3, "0x1000-0x1fff", 10, 2, 9, 1.5, 0.02), one)
        expect((two["probability"], two["seed"], two["port"], two["count"]) == (0.25, 16, 2, 0), two)
        expect("corrupt source=3 address=0x1000-0x1fff" in told("fault", "list", hub=hub), "not printed")
        told("fault", "clear", 1, hub=hub)
        expect([f["fault"] for f in hub.call("fault-list")["faults"]] == [2], "another is left")
        told("fault", "clear", hub=hub)
        expect(not hub.call("fault-list")["faults"], "one is left")
        for name in ("data", "interrupt", "multicast", "heartbeat", "duplicate", "break", "fence",
                     "query", "answer", "packet", "any"):
            told("fault", "add", "drop", f"type={name}", hub=hub)
            expect(hub.call("fault-list")["faults"][0]["type"] == name, f"it is not after {name}")
            told("fault", "clear", hub=hub)


def one_hub_a_place():
    """A second hub on the same sockets is refused, and leaves the first alone"""
    with Place("hub-second") as place:
        hub = Hub(place, 2)
        sentence(rmhub("--ports", 2, "--dir", place.folder, "--socket", hub.path), 1, "already")
        sentence(rmhub("--ports", 2, "--dir", place.folder), 1, "already")
        node = node_on(place, hub, 0)
        know_each_other([node])


def ends_cleanly():
    """SIGTERM, SIGINT and stop: status 0, no socket left"""
    for end in (signal.SIGTERM, signal.SIGINT, None):
        with Place("hub-end") as place:
            hub = Hub(place, 3)
            node = node_on(place, hub, 0)
            know_each_other([node])
            if end is None:
                told("stop", hub=hub)
            else:
                hub.send_signal(end)
            status = hub.process.wait(PATIENCE_S)
            expect(status == 0, f"status {status}")
            left = [path.name for path in Path(place.folder).glob("port*")]
            expect(not left and not Path(hub.path).exists(), f"left behind: {left}")
            wait_for("the node notices", lambda: not state(node)["signal"])


def nobody_reads_the_log():
    """A log that nobody reads holds nobody up; at its end the hub says how many lines were lost"""
    count = 1000
    with Place("hub-log") as place:
        log = Path(place.folder, "log")
        os.mkfifo(log)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        try:
            hub = Hub(place, 2, "--log", log)
            node = node_on(place, hub, 0)
            know_each_other([node])
            hub.fault(kind="duplicate", source=1, count=count)
            node.call("load", first=0, last=0xffff, count=count, stride=8)
            wait_for("all have fired", lambda: hub.fired() == {"duplicate": count})
            expect(hub.end(signal.SIGTERM) == 0, "it does not end well")
            with open(reader, "rb", closefd=False) as pipe:
                lines = pipe.read().count(b"\n")
        finally:
            os.close(reader)
        expect(f"rmhub: {count - lines} lines of the log of faults were lost\n" in hub.said(),
               f"{lines} lines were read of {count}, and it says {hub.said()}")


def endless_words():
    """Who talks to the control socket without end is turned away, whatever he asked for before"""
    with Place("hub-endless") as place:
        hub, nodes = ring(place, 2)
        for before in (b"", b'{"verb":"monitor"}\n'):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE_S)
                client.connect(str(hub.path))
                client.sendall(before + b"x" * (1 << 20))
                answers = [json.loads(line) for line in client.makefile()]
            expect(os.stat(hub.path).st_mode & 0o77 == 0, "others may use the control socket")
            expect(any("error" in answer for answer in answers) != bool(before), f"{answers}")
            told("bypass", 1, "on", hub=hub)
            told("bypass", 1, "off", hub=hub)
            know_each_other(nodes)


# --- the ring -------------------------------------------------------------------------

def one_node_alone():
    """A single node on a hub: its frames come home"""
    with Place("hub-one") as place:
        hub = Hub(place, 4)
        node = node_on(place, hub, 2)
        know_each_other([node])
        write(node, 0x100, "11223344")
        fence(node)
        port = port_of(hub, 2)
        expect((port["previous"], port["next"]) == (2, 2), port)


def shown_as_it_is():
    """status and counters say who is where, and what passed"""
    with Place("hub-status") as place:
        hub, nodes = ring(place, 3)
        write(nodes[0], 0x100, "11223344" * 16)
        fence(nodes[0])
        status = json.loads(told("status", "-j", hub=hub))
        expect(status["live"] == 3, status)
        for port, entry in enumerate(status["ports"][:3]):
            expect(entry["state"] == "live" and entry["in"]["peer"]["node"] == port + 1
                   and entry["out"]["peer"]["node"] == port + 1, entry)
            expect((entry["previous"], entry["next"]) == ((port + 2) % 3, (port + 1) % 3), entry)
            expect((entry["in"]["link"], entry["out"]["link"]) == ("shm", "shm"), entry)
        expect(status["ports"][3]["state"] == "dark", status["ports"][3])
        expect(told("status", hub=hub).count(" live ") == 3, "not printed")
        total = hub.call("counters")["total"]
        passed = total["in"]["frames"] + total["duplicates"]
        expect(passed == total["out"]["frames"] + sum(total["dropped"].values()) + total["waiting"], total)
        expect(counters(hub, 0)["in"]["frames"] > 0 and counters(hub, 3)["in"]["frames"] == 0, total)
        expect("port 0" in told("counters", hub=hub), "not printed")


def a_port_is_bypassed():
    """bypass: the others go on, the next one alone sees a sync loss; off: it is back"""
    with Place("hub-bypass") as place:
        hub, nodes = ring(place, 3)
        before = [counters(hub, port)["sync_losses"] for port in range(3)]
        told("bypass", 1, "on", hub=hub)
        becomes(hub, 1, "bypassed")
        wait_for("node 1 hears that node 3 has lost its signal", lambda: state(nodes[0])["break_at"] == 3)
        after = [counters(hub, port)["sync_losses"] for port in range(3)]
        expect(after == [before[0], before[1], before[2] + 1], f"{before} {after}")
        know_each_other([nodes[0], nodes[2]])
        expect(not state(nodes[1])["signal"], "the bypassed node sees light")
        write(nodes[0], 0x200, "01020304")
        fence(nodes[0])
        arrives([nodes[2]], 0x200, "01020304")
        expect(read(nodes[1], 0x200, 4) == "00000000", "it reached the bypassed node")
        told("bypass", 1, "off", hub=hub)
        know_each_other(nodes)
        expect(read(nodes[1], 0x200, 4) == "00000000", "it was replayed")
        write(nodes[1], 0x200, "05060708")
        arrives(nodes, 0x200, "05060708")


def without_glitches():
    """--glitchless: nobody sees a sync loss, and under load only what is in the one that leaves is lost"""
    with Place("hub-glitchless") as place:
        # A slow line, so that frames wait for the port that leaves.
        hub, nodes = ring(place, 3, "--glitchless", "--line", "paced,rate=0.01")
        first, leaving, last = nodes
        breaks = [state(node)["break_at"] for node in nodes]
        loads = [Control(node.path) for node in (first, last)]
        for load in loads:
            load.ask("load", first=0, last=0xffff, parts=4, size=8, milliseconds=3600000)
        for _ in range(3):
            told("bypass", 1, "on", hub=hub)
            know_each_other([first, last])
            told("bypass", 1, "off", hub=hub)
            know_each_other(nodes)
        for load in loads:
            load.close()
        for node in nodes:
            fence(node)
        expect([state(node)["break_at"] for node in nodes] == breaks, "somebody has told of a sync loss")
        total = hub.call("counters")["total"]
        expect(total["sync_losses"] == 0, total)
        dark = counters(hub, 1)["dropped"]["dark"]
        dropped = {reason for reason, count in total["dropped"].items() if count}
        expect(dropped <= {"dark", "rogue"} and total["dropped"]["dark"] == dark,
               f"more was dropped than came out of the member that leaves, or is its own: {total}")
        ones, lasts, leavers = stats(first), stats(last), stats(leaving)
        lost = sum(s["lost"] - s["full"] for s in (ones, lasts))
        expect(lost <= dark + leavers["unsendable"],
               f"{lost} were lost, {dark} of them in the hub and {leavers['unsendable']} in the member")
        # What there was no room for has a number too.
        expect(lasts["missed"] == ones["lost"] and ones["missed"] == lasts["full"],
               f"missed {lasts['missed']} and {ones['missed']}: {ones}, {lasts}")


def fibres_are_cut():
    """cut in: bypassed; cut out: the ring is open, as with glass; restore mends it"""
    with Place("hub-cut") as place:
        hub, nodes = ring(place, 3)
        told("cut", 1, "in", hub=hub)
        becomes(hub, 1, "cut")
        know_each_other([nodes[0], nodes[2]])
        told("restore", 1, hub=hub)
        know_each_other(nodes)
        told("cut", 1, "out", hub=hub)
        wait_for("node 2 is dark", lambda: not state(nodes[1])["signal"])
        expect(port_of(hub, 1)["state"] == "live", "the hub has noticed")
        write(nodes[0], 0x300, "01020304")
        wait_for("it was lost in the cut", lambda: counters(hub, 1)["dropped"]["cut"] > 0)
        wait_for("node 1 finds the ring open", lambda: state(nodes[0])["open"])
        expect(read(nodes[2], 0x300, 4) == "00000000", "it went through a cut fibre")
        told("restore", 1, hub=hub)
        know_each_other(nodes)
        write(nodes[0], 0x300, "05060708")
        arrives(nodes, 0x300, "05060708")


def a_node_dies():
    """kill -9: bypassed, its rogues are removed, the others go on; it comes back"""
    with Place("hub-death") as place:
        hub, nodes = ring(place, 3)
        # A frame of it is on its way behind node 3 when it dies, at the latest 1.5 s from now.
        hub.fault(kind="freeze", port=2, source=2, time=1.5)
        write(nodes[1], 0x400, "01020304")
        wait_for("the fault fires", lambda: hub.fired() == {"freeze": 1})
        nodes[1].end()
        becomes(hub, 1, "dark")
        wait_for("the rogue comes by", lambda: counters(hub, 0)["dropped"]["rogue"] > 0)
        write(nodes[0], 0x400, "0a0b0c0d")
        fence(nodes[0])
        arrives([nodes[2]], 0x400, "0a0b0c0d")
        # Its next life may be the earlier one by the wall clock, which is not heard until then.
        know_each_other([nodes[0], nodes[2]])
        again = node_on(place, hub, 1)
        know_each_other([nodes[0], again, nodes[2]])
        write(again, 0x400, "0d0c0b0a")
        arrives([nodes[0], again, nodes[2]], 0x400, "0d0c0b0a")


def a_node_stands_still():
    """A stopped node is bypassed when it has been silent for too long, and comes back"""
    with Place("hub-stop") as place:
        hub, nodes = ring(place, 3)
        nodes[1].send_signal(signal.SIGSTOP)
        try:
            becomes(hub, 1, "dark")
            know_each_other([nodes[0], nodes[2]])
            write(nodes[0], 0x500, "01020304")
            fence(nodes[0])
            arrives([nodes[2]], 0x500, "01020304")
        finally:
            nodes[1].send_signal(signal.SIGCONT)
        know_each_other(nodes)
        expect(read(nodes[1], 0x500, 4) == "00000000", "it was replayed")


def circle_of_hubs():
    """Two hubs connected twice, by mistake: they calm down"""
    with Place("hub-circle-a") as place_a, Place("hub-circle-b") as place_b:
        a = Hub(place_a, 3)
        config = Path(place_b.folder, "config")
        config.write_text(json.dumps({"ports": [{}] + [
            {"in": f"unix:{a.path_out(port)}", "out": f"unix:{a.path_in(port)}"} for port in (1, 2)]}))
        b = Hub(place_b, 3, "--config", config)
        for hub in (a, b):
            for port in (1, 2):
                becomes(hub, port, "live")
        before = a.call("counters")["total"]
        told("bypass", 1, "on", hub=b)
        told("bypass", 1, "off", hub=b)
        becomes(a, 1, "live")
        know_each_other([node_on(place_a, a, 0, 1)])
        after = a.call("counters")["total"]
        expect(after["sync_losses"] - before["sync_losses"] < 100, f"{before} {after}")


def frames_in(hub):
    return hub.call("counters")["total"]["in"]["frames"]


def two_hubs():
    """Two hubs: one ring through both; cut between them: two rings"""
    with Place("hub-a") as place_a, Place("hub-b") as place_b:
        a = Hub(place_a, 3)
        config = Path(place_b.folder, "config")
        config.write_text(json.dumps({"ports": [{}, {}, {
            "name": "uplink", "in": f"unix:{a.path_out(2)}", "out": f"unix:{a.path_in(2)}"}]}))
        b = Hub(place_b, 3, "--config", config)
        becomes(a, 2, "live")
        becomes(b, 2, "live")
        # Two hubs and no node: whatever is sent must come to rest.
        wait_for("the hubs are at rest", lambda: frames_in(a) == frames_in(a))
        idle = frames_in(a)
        expect(port_of(a, 2)["in"]["peer"]["hub"], "it does not know that this is a hub")
        nodes = [node_on(place_a, a, 0, 1), node_on(place_a, a, 1, 2),
                 node_on(place_b, b, 0, 3), node_on(place_b, b, 1, 4)]
        know_each_other(nodes)
        expect(idle < 100, f"{idle} frames between two hubs without nodes")
        for node in nodes:
            write(node, 0x1000 * node.node, f"{node.node:02x}" * 200)
            fence(node)
            arrives(nodes, 0x1000 * node.node, f"{node.node:02x}" * 200)
        nodes[3].end()
        know_each_other(nodes[:3])
        told("cut", "uplink", hub=b)
        becomes(a, 2, "dark")
        know_each_other(nodes[:2])
        know_each_other([nodes[2]])
        told("restore", "uplink", hub=b)
        know_each_other(nodes[:3])


def a_bad_port():
    """A port on which too much comes in damaged is bypassed, and counted"""
    with Place("hub-bad-a") as place_a, Place("hub-bad-b") as place_b:
        a = Hub(place_a, 3)
        config = Path(place_b.folder, "config")
        config.write_text(json.dumps({"bad-limit": 20, "ports": [{}, {}, {
            "in": f"unix:{a.path_out(2)}", "out": f"unix:{a.path_in(2)}"}]}))
        b = Hub(place_b, 3, "--config", config)
        left = node_on(place_a, a, 0, 1)
        right = [node_on(place_b, b, 0, 3), node_on(place_b, b, 1, 4)]
        know_each_other([left, *right])
        a.fault(kind="corrupt", source=1, count=0)
        left.call("load", first=0, last=0xffff, count=200, stride=8)
        becomes(b, 2, "bad")
        expect(counters(b, 2)["bad"] == 1, counters(b, 2))
        know_each_other(right)
        a.clear()
        told("restore", 2, hub=b)
        know_each_other([left, *right])


# --- links ----------------------------------------------------------------------------

def kinds_of_links():
    """Shared memory, unix streams and TCP, side by side"""
    with Place("hub-links") as place:
        into, out = free_ports(2)
        config = Path(place.folder, "config")
        config.write_text(json.dumps({"ports": [
            {"name": "near"}, {"name": "plain"},
            {"name": "far", "in": f"tcp:127.0.0.1:{into},server", "out": f"tcp:127.0.0.1:{out},server"}]}))
        hub = Hub(place, 3, "--config", config)
        nodes = [node_on(place, hub, 0), node_on(place, hub, 1, 2, "--shm", "off"),
                 node_at(place, 3, f"tcp:127.0.0.1:{out}", f"tcp:127.0.0.1:{into}")]
        know_each_other(nodes)
        links = [(p["name"], p["in"]["link"], p["out"]["link"]) for p in hub.call("status")["ports"]]
        expect(links == [("near", "shm", "shm"), ("plain", "unix", "unix"), ("far", "tcp", "tcp")], links)
        for node in nodes:
            node.call("load", first=0x1000 * node.node, last=0x1000 * node.node + 0xfff, count=20000)
            fence(node)
        sums = {checksum(node) for node in nodes}
        expect(len(sums) == 1, "memories differ")


def slow_line():
    """A paced line at the hub: frames take the time that they must"""
    frames, rate = 300, 0.01        # a 64-byte frame: (74 + 64 * 4.72) ns at 2.12 Gbaud
    least = frames * (74 + 64 * 4.72) * 2.12 / rate / 1e9
    with Place("hub-line") as place:
        hub, nodes = ring(place, 2, "--line", f"paced,rate={rate}")
        start = time.monotonic()
        nodes[0].call("load", first=0, last=0xffff, size=64, count=frames)
        fence(nodes[0])
        took = time.monotonic() - start
        expect(took >= least, f"{frames} frames took {took:.3f} s, less than {least:.3f} s")
        expect(counters(hub, 1)["queue_peak"] > 1, "nothing ever waited")


def blocks_of(path):
    """Types of the blocks of a pcapng file."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        yield int.from_bytes(data[at:at + 4], "little"), data[at:at + int.from_bytes(data[at + 4:at + 8], "little")]
        at += int.from_bytes(data[at + 4:at + 8], "little")


def what_passes_is_captured():
    """--pcap: each frame that came in or went out; a capture that cannot be written says so"""
    with Place("hub-capture") as place:
        capture = Path(place.folder, "ring.pcapng")
        hub, nodes = ring(place, 2, "--pcap", capture)
        hub.fault(kind="drop", source=1)
        write(nodes[0], 0x100, "01020304")
        wait_for("the fault fires", lambda: hub.fired() == {"drop": 1})
        hub.end(signal.SIGTERM)
        packets = [block for kind, block in blocks_of(capture) if kind == 6]
        expect(any(b"dropped by a fault" in packet for packet in packets), "the fault is not in it")
        interfaces = [block for kind, block in blocks_of(capture) if kind == 1]
        expect([name in interfaces[n] for n, name in enumerate((b"port0", b"port1", b"port2"))] == [True] * 3,
               "not an interface for each port")
    with Place("hub-capture-full") as place:
        hub, nodes = ring(place, 2, "--pcap", "/dev/full")
        wait_for("status shows the error", lambda: hub.call("status")["capture"]["error"])
        write(nodes[0], 0x100, "01020304")
        arrives(nodes, 0x100, "01020304")
        expect(hub.call("status")["capture"]["lost"] > 0, "what was not captured is not counted")
        expect("/dev/full" in hub.said(), "it says nothing")


# --- faults ---------------------------------------------------------------------------

SCENARIO = [
    {"kind": "drop", "port": 0, "source": 1, "address": "0x1000-0x10ff", "nth": 5, "count": 2},
    {"kind": "corrupt", "port": 0, "source": 1, "bit": 3, "nth": 3},
    {"kind": "reorder", "port": 0, "source": 1, "value": "00010000", "type": "data"},
    {"kind": "duplicate", "port": 0, "source": 1, "count": 3},
    {"kind": "delay", "port": 0, "source": 1, "time": "2ms", "nth": 4},
    {"kind": "freeze", "port": 0, "source": 1, "time": "2ms"},
    {"kind": "drop", "port": 1, "source": 2, "type": "interrupt", "interrupt": 2, "nth": 2},
]


def steps_done(hub, count):
    wait_for(f"{count} faults of the scenario are done",
             lambda: hub.call("status")["scenario"]["done"] == count)


def verdict(number):
    """Play the scenario on a fresh ring; all by which a user could tell one run from another."""
    with Place(f"hub-scenario-{number}") as place:
        hub, nodes = ring(place, 3)
        scenario = Path(place.folder, "scenario.json")
        scenario.write_text(json.dumps(SCENARIO))
        told("scenario", scenario, hub=hub)
        # Not adjacent, so each store is a frame, and the n-th frame is the n-th store.
        nodes[0].call("load", first=0x1000, last=0x1fff, count=600, size=4, stride=8, value=1)
        steps_done(hub, len(SCENARIO) - 1)
        for data in (1, 2, 3):
            nodes[1].call("send", dest=3, type=2, data=data)
        steps_done(hub, len(SCENARIO))
        lost = [fence(node) for node in nodes]
        faults = hub.call("fault-list")["scenario"]
        fired = sum(f["fired"] for f in faults)
        expect(len(hub.firings()) == fired, f"{len(hub.firings())} of {fired} firings are logged")
        return {
            "lost": lost,
            "firings": [{key: value for key, value in firing.items() if key not in ("time", "incarnation")}
                        for firing in hub.firings()],
            "faults": [(f["fired"], f["in_vain"], f["fired_by_source"]) for f in faults],
            "memories": [checksum(node, first=0x1000, last=0x1fff) for node in nodes],
            "counters": [{name: stats(node)[name] for name in ("lost", "missed", "late", "bad")}
                         for node in nodes],
        }


def same_verdict():
    """The same aimed scenario, ten times: the same verdict"""
    first = verdict(1)
    actions = [firing["action"] for firing in first["firings"]]
    expect(actions == ["drop"] * 2 + ["corrupt", "reorder"] + ["duplicate"] * 3 + ["delay", "freeze", "drop"],
           actions)
    expect([firing["address"] for firing in first["firings"][:2]] == [0x1020, 0x1028], first["firings"])
    # Lost: two dropped, one corrupted, one overtaken; late besides: three duplicates.
    expect(first["lost"] == [4, 1, 0], first["lost"])
    expect(first["counters"][1] == {"lost": 1, "missed": 4, "late": 4, "bad": 1}, first["counters"])
    expect(first["counters"][2] == {"lost": 0, "missed": 5, "late": 4, "bad": 0}, first["counters"])
    for number in range(2, RUNS + 1):
        again = verdict(number)
        for what, seen in first.items():
            expect(again[what] == seen, f"run {number}: {what} {again[what]}, at first {seen}")


def exact_counts():
    """1 % drop, corruption and reordering: both ends and the hub count the same"""
    for kind in ("drop", "corrupt", "reorder"):
        with Place(f"hub-{kind}") as place:
            hub, nodes = ring(place, 3)
            hub.fault(kind=kind, probability=0.01, seed=5, source=1, port=0)
            nodes[0].call("load", first=0, last=0xffff, count=50000, size=4, stride=8)
            lost = fence(nodes[0])
            # One that nobody has overtaken within a second went on as if nothing had been.
            fired = sum(f["fired"] - f["in_vain"] for f in hub.call("fault-list")["faults"])
            expect(200 < fired < 1000, f"{fired} of 50000 fired")
            expect(lost == fired, f"{kind}: {fired} fired, the fence says {lost} were lost")
            expect(stats(nodes[0])["lost"] == fired,
                   f"{kind}: {fired} fired, the source counts {stats(nodes[0])}")
            for node in nodes[1:]:
                expect(stats(node)["missed"] == fired,
                       f"{kind}: {fired} fired, node {node.node} counts {stats(node)}")
            if kind == "corrupt":
                expect(stats(nodes[1])["bad"] == fired,
                       f"{fired} fired, the next node counts {stats(nodes[1])}")


def the_page_loses_one_in_a_hundred():
    """The example of rmhub(1) loses one frame in a hundred of a node, and shows how many"""
    page = (TOP / "docs" / "man" / "rmhub.1").read_text().replace("\\-", "-")
    example = re.search(r"^Lose one frame.*?^\.EX\n(.*?)^\.EE", page, re.M | re.S)[1].splitlines()
    with Place("hub-page") as place:
        hub, nodes = ring(place, 3)
        tools = {"rmhub": RMHUB, "rmnode": RMNODE, "/tmp/ring/control": str(hub.path),
                 "/tmp/ring/node2": str(nodes[1].path)}
        done = {words[3]:
                subprocess.run([tools.get(word, word) for word in words], text=True,
                               capture_output=True, timeout=60, check=False)
                for words in map(str.split, example)}
        fired = hub.fired()["drop"]
        expect(50 < fired < 150, f"{fired} of 10000 frames were dropped")
        expect(len(hub.firings()) == fired, f"{len(hub.firings())} of {fired} firings are logged")
        expect(f"{fired} frame(s) did not reach every node" in done["fence"].stderr, f"{done}")
        expect(str(fired) in done["fault"].stdout, f"{done}")


def interrupts_to_sets():
    """Interrupts to sets of nodes pass, and a fault that is after them takes these only"""
    with Place("hub-sets") as place:
        hub, nodes = ring(place, 3)

        def send():
            for data in range(5):
                nodes[0].call("send", nodes=[2, 3], type=1, data=data)
                nodes[0].call("send", dest=2, type=2, data=data)
            return fence(nodes[0])

        def came(node):
            return stats(node)["received"], stats(node)["missed"]

        before = [came(node) for node in nodes[1:]]
        expect(send() == 0, "some were lost")
        between = [came(node) for node in nodes[1:]]
        hub.fault(kind="drop", type="multicast", source=1, port=0, count=5)
        expect(send() == 5, "5 of them are to be lost")
        expect(hub.fired()["drop"] == 5, f"{hub.fired()} fired")
        after = [came(node) for node in nodes[1:]]
        for a, b, c in zip(before, between, after):
            # 10 interrupts and a fence each time
            expect((b[0] - a[0], b[1] - a[1]) == (11, 0), f"first {a}, then {b}")
            expect((c[0] - b[0], c[1] - b[1]) == (6, 5), f"first {b}, then {c}")


def redundant_loses_nothing():
    """Redundant transfers: the loss of single copies loses nothing"""
    with Place("hub-redundant") as place:
        hub = Hub(place, 3)
        nodes = [node_on(place, hub, port, None, "--redundant") for port in range(3)]
        know_each_other(nodes)
        for copy in ("first", "second"):
            hub.fault(kind="drop", probability=0.05, copy=copy, source=1, port=0 if copy == "first" else 1)
            nodes[0].call("load", first=0, last=0xffff, count=20000, size=4, stride=8)
            expect(fence(nodes[0]) == 0, "something was lost")
            expect(hub.fired()["drop"] > 500, "too few were dropped")
            hub.clear()
        for node in nodes:
            expect(stats(node)["lost"] == 0 and stats(node)["missed"] == 0, stats(node))


def monitored():
    """monitor prints what happens, as JSON lines"""
    with Place("hub-monitor") as place:
        hub, nodes = ring(place, 2)
        watcher = subprocess.Popen([RMHUB, "-S", hub.path, "monitor"], text=True, stdout=subprocess.PIPE)
        try:
            first = [json.loads(watcher.stdout.readline()) for _ in range(3)]
            expect([line["state"] for line in first] == ["live", "live", "dark"], first)
            told("fault", "add", "drop", "source=2", hub=hub)
            write(nodes[1], 0x100, "0102")
            line = json.loads(watcher.stdout.readline())
            expect((line["action"], line["source"], line["address"]) == ("drop", 2, 0x100), line)
            # Behind the store: for node 2 it is a sync loss, and what it stores then is lost.
            told("bypass", 0, "on", hub=hub)
            line = json.loads(watcher.stdout.readline())
            expect((line["port"], line["state"]) == (0, "bypassed"), line)
        finally:
            watcher.kill()
            watcher.communicate()


TESTS = [wrong_usage, wrong_config, wrong_words, faults_are_shown, one_hub_a_place, ends_cleanly,
         nobody_reads_the_log, endless_words,
         one_node_alone, shown_as_it_is, a_port_is_bypassed, without_glitches, fibres_are_cut,
         a_node_dies, a_node_stands_still, two_hubs, circle_of_hubs, a_bad_port,
         kinds_of_links, slow_line, what_passes_is_captured,
         monitored, exact_counts, the_page_loses_one_in_a_hundred, interrupts_to_sets,
         redundant_loses_nothing, same_verdict]


def main():
    chosen = [test for test in TESTS if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    plan(chosen)
    return bool(run(chosen))


if __name__ == "__main__":
    sys.exit(main())
