#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmlab ui: what a browser shows of a ring of processes on a hub; or ui.py machines: of a lab.

--brief does without a browser; --picture FILE makes the one of docs/ui.md.
"""

import argparse
import contextlib
import ctypes
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from suite import PATIENCE_S, TOP, expect, figure, plan, processes_with, run, several_attempts, wait_for
from browser import Browser, Page
from members import Control, Hub, Node, Place, Program
from schemas import fitting, validator
from labkit import Lab
from lab import regions
from lab.process import cpu_seconds, start_time
from lab.ui import BROWSERS_MAX

RMLAB = TOP / "scripts" / "rmlab"
NODES = 3
MEASURED_S = 10
HOUR_MS = 3600000
REGIONS = """
rfm-regions: 1
description: Pumping station
regions:
  pump:
    offset: 0x2040
    owner: 3
    period: 50 ms
    fields:
      pressure: {offset: 0x00, type: float, unit: bar}
      speed:    {offset: 0x04, type: uint16, unit: rpm, scale: 0.5}
      state:    {offset: 0x06, type: uint8, values: {off: 0, on: 1, tripped: 0x80}}
      alarms:   {offset: 0x07, type: uint8, bits: {dry: 0, hot: 1, stage: 4-6}}
      name:     {offset: 0x08, type: char, count: 16}
  valve:
    offset: 0x2080
    owner: 2
    period: 20 ms
    fields:
      wanted: {offset: 0, type: float, unit: "%"}
      turns:  {offset: 4, type: uint32}
  level: {offset: 0x20c0, type: double, unit: m, owner: 1, period: 100 ms}
  note:  {offset: 0x2100, type: uint64}
"""
LAB = """
[node.one]
kind = "rmnode"
[node.two]
kind = "rmnode"
[node.publisher]
kind = "program"
run = "publish"
timeout = "1h"
"""
BEYOND = """
rfm-regions: 1
regions:
  pump: {offset: 0x2040, size: 4, fields: {speed: {offset: 4, type: uint16}}}
"""
PUMP = bytes.fromhex("0000e03f" "640b" "01" "20") + b"inlet <b>\0"


class Ui(Program):
    """rmlab ui, at a port that is free."""

    def __init__(self, place, *options, name="ui", **more):
        super().__init__(place.folder, name, RMLAB, "ui", "--port", 0, *options, stdout=subprocess.PIPE,
                         stdin=subprocess.DEVNULL, **more)
        place.add(self)
        self.first_line = self.process.stdout.readline()
        found = re.match(r"(http://\S+:(\d+)/) ", self.first_line)
        expect(found, f"it says '{self.first_line}' {self.said()}")
        self.address, self.port = found[1], int(found[2])

    def answer(self, head):
        """What comes for these bytes, to its end."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as sock:
            sock.sendall(head)
            with sock.makefile("rb") as file:
                return file.read().decode("latin1")


class Station:
    """Members at a hub, and who looks at them."""

    def __init__(self, place, count=NODES):
        self.place = place
        self.regions = Path(place.folder) / "regions.yaml"
        self.hub = Hub(place, count)
        self.nodes = [self.node(number) for number in range(1, count + 1)]
        self.words = ["--hub", self.hub.path, *(word for node in self.nodes for word in ("--member", node.path)),
                      "--regions", self.regions]
        self.ui = None
        self.look_at(REGIONS)

    def look_at(self, regions):
        """From now on."""
        if self.ui:
            self.ui.end(signal.SIGINT)
        self.regions.write_text(regions)
        self.ui = Ui(self.place, *self.words)

    def node(self, number):
        return self.place.add(Node(self.place.folder, number, self.hub.rx(number - 1), self.hub.tx(number - 1),
                                   "--memory", "1M", "--stall-limit-ms", 10000)).up()

    @contextlib.contextmanager
    def writes(self, number, offset, rate, length=4):
        """A member that stores all over that all the time."""
        load = Control(self.nodes[number - 1].path)
        load.ask("load", first=offset, last=offset + length - 1, rate=rate, milliseconds=HOUR_MS)
        try:
            yield
        finally:
            load.close()


class Stream:
    """What the server tells its browsers."""

    def __init__(self, ui):
        self.connection = http.client.HTTPConnection("127.0.0.1", ui.port, timeout=PATIENCE_S)
        self.connection.request("GET", "/events")
        self.answer = self.connection.getresponse()

    def wait_for(self, what, name, condition):
        """Returns the first that it is true of."""
        end = time.monotonic() + PATIENCE_S
        while True:
            event, data, _ = [self.answer.readline().decode() for _ in range(3)]
            told = json.loads(data.removeprefix("data: "))
            if event == f"event: {name}\n" and condition(told):
                return told
            expect(time.monotonic() < end, f"not within {PATIENCE_S} s: {what}; it tells {told}")

    def close(self):
        self.connection.close()
        self.answer.close()


def shows(page, what, selector, text, seconds=PATIENCE_S):
    """What stands there has this in it."""
    wait_for(f"{what}: '{text}' at {selector}, which says '{page.text(selector)}'",
             lambda: text in (page.text(selector) or ""), seconds)


def state(node, column="state"):
    return f"#nodes tr[data-key='{node}'] .{column}"


def region(name, part=".head span"):
    return f"#regions > div[data-key='{name}'] {part}"


def value(name):
    return region(name.partition(".")[0], f"[data-key='{name}'] .value")


# --- tests ----------------------------------------------------------------------------

def test_ring(station, page):
    """The page shows who is on the ring, in its order"""
    for number in range(1, NODES + 1):
        shows(page, "a node", state(number), "on the ring")
        shows(page, "a node", state(number, "losses"), "none")
    shows(page, "the ring", "#whole", "whole")
    shows(page, "the ring", "#count", "3 of 3 known nodes")
    expect(page.run("document.querySelectorAll('#ring .link').length") == NODES, "the ring is not drawn")
    order = page.run("[...document.querySelectorAll('#nodes .id')].map(id => id.innerText).join()")
    expect(order == "1,2,3", f"the order is {order}")


def test_values(station, page):
    """What is stored is shown as the file of regions says, and as text, whatever is in it"""
    station.nodes[2].call("write", first=0x2040, data=PUMP.hex())
    for name, text in (("pressure", "1.75"), ("speed", "1458"), ("state", "on"), ("alarms", "stage=2"),
                       ("name", '"inlet <b>"')):
        shows(page, "a value", value(f"pump.{name}"), text)
    expect(page.text("#regions .unit") == "bar", "there is no unit")
    shows(page, "its writer", region("pump", ".about"), "by node 3")
    # What the first member stores another has to tell of.
    station.nodes[0].call("write", first=0x20c0, data="0000000000000440")
    shows(page, "a value", value("level"), "2.5")
    station.nodes[0].call("write", first=0x2100, data="2a00000000000000")
    shows(page, "a value", value("note"), "42")
    shows(page, "without a period", region("note", ".about"), "no period stated")


def test_stale(station, page):
    """A region whose owner falls silent is stale, and fresh again when it goes on"""
    with station.writes(3, 0x2044, 200):
        shows(page, "who is written", region("pump"), "fresh")
    shows(page, "who is not", region("pump"), "STALE")
    with station.writes(3, 0x2044, 200):
        shows(page, "who is written again", region("pump"), "fresh")
        shows(page, "what has happened", "#events", "pump is fresh again")


def test_rates(station, page):
    """Rates are those of the ring"""
    def rate():
        """None: it is not known."""
        number = re.match(r"[\d.]+", page.text(state(2, "stores")) or "")
        return float(number[0]) if number else None

    with station.writes(2, 0x8000, 500):
        wait_for("the rate is about 500", lambda: 300 < (rate() or 0) < 700)
    wait_for("it has fallen to 0", lambda: rate() == 0)


def test_cut(station, page):
    """A cut fibre is seen, and that it is mended"""
    station.hub.call("cut", port="1", side="in")
    shows(page, "the node behind it", state(2), "not on the ring: the fibre from it is cut")
    shows(page, "the ring", "#count", "2 of 3 known nodes")
    expect(page.run("document.querySelectorAll('#ring .node.bad').length") == 1, "the picture does not show it")
    station.hub.call("restore", port="1")
    wait_for("it is back", lambda: page.text(state(2)) == "on the ring")
    station.hub.call("cut", port="1", side="out")
    shows(page, "the node behind it", state(2), "the fibre to it is cut")
    station.hub.call("restore", port="1")
    wait_for("it is back", lambda: page.text(state(2)) == "on the ring")


def test_pause(station, page):
    """A member that stands still is told of; values come from another"""
    station.nodes[0].call("set", name="paused", value=1)
    shows(page, "who is paused", state(1), "on the ring: paused")
    station.nodes[2].call("write", first=0x2100, data="0700000000000000")
    shows(page, "a value", value("note"), "7")
    station.nodes[0].call("set", name="paused", value=0)
    wait_for("it goes on", lambda: page.text(state(1)) == "on the ring")


def test_unwatched(station, page):
    """A value that nobody watches any more is not shown as if it were current"""
    station.nodes[2].call("write", first=0x2040, data=PUMP.hex())
    shows(page, "who is watched", value("pump.speed"), "1458")
    for node in station.nodes[:2]:
        node.call("set", name="paused", value=1)
    shows(page, "who is not", value("pump.speed"), "not known")
    shows(page, "who is not", region("pump", ".about"), "nobody to watch it; no update seen")
    for node in station.nodes[:2]:
        node.call("set", name="paused", value=0)
    shows(page, "who is watched again", value("pump.speed"), "1458")


def test_losses(station, page):
    """Frames that a fault drops are counted where they are missed"""
    fault = station.hub.fault(kind="drop", source=3, port=2, count=5)
    with station.writes(3, 0x9000, 200):
        shows(page, "the hub", "#hub", "dropped (fault) 5")
    shows(page, "who did not get them", state(1, "losses"), "missed 5")
    shows(page, "whose they were", state(3, "losses"), "lost 5")
    shows(page, "what has happened", "#events", "node 1: missed")
    station.hub.call("fault-clear", fault=fault)


def test_dark(station, page):
    """What a node stored while it was dark was lost, also when the fibre is mended"""
    station.hub.call("cut", port="1", side="out")
    shows(page, "who gets no light", state(2), "no signal")
    station.nodes[1].call("write", first=0x9000, data="01")
    station.hub.call("restore", port="1")
    wait_for("it is back", lambda: page.text(state(2)) == "on the ring")
    shows(page, "what was not sent", state(2, "losses"), "dark 1")


def test_twins(station, page):
    """Two members with one id are two, and only one is on the ring"""
    with Place("ui-twins") as place:
        hub = Hub(place, 3)
        folder = Path(place.folder) / "other"
        folder.mkdir()
        paths = []
        for port, (where, node) in enumerate(((place.folder, 1), (place.folder, 2), (folder, 2))):
            member = place.add(Node(where, node, hub.rx(port), hub.tx(port), "--memory", "1M")).up()
            paths.append(member.path)
            if port == 1:
                member.call("wait", members=1, timeout_ms=PATIENCE_S * 1000)
        ui = Ui(place, "--hub", hub.path, *(word for path in paths for word in ("--member", path)))
        other = Page(page.browser, ui.address)
        shows(other, "the first", state(paths[1]), "on the ring")
        shows(other, "who it is", state(paths[1], "who"), f"rmnode {paths[1]}")
        shows(other, "the second", state(paths[2]), "not on the ring: another node has its id")
        shows(other, "the ring", "#count", "2 of 3 known nodes")
        other.close()
        ui.end()


def test_gone(station, page):
    """Of a member that does not answer nothing is said that nobody knows"""
    station.nodes[1].end()
    shows(page, "who is gone", state(2), "does not answer")
    expect("not on the ring" in page.text(state(2)), f"it says {page.text(state(2))}")
    for column in ("stores", "received", "sent", "losses"):
        expect(page.text(state(2, column)) == "not known", f"{column}: {page.text(state(2, column))}")
    shows(page, "who is asked", "#silent", station.nodes[1].path.name)
    station.nodes[1] = station.node(2)
    wait_for("it is back", lambda: page.text(state(2)) == "on the ring")
    wait_for("it answers", lambda: page.text("#silent") == "")


def test_stream(station, _):
    """The page may run its own script only; behind it come the ring and its values"""
    connection = http.client.HTTPConnection("127.0.0.1", station.ui.port, timeout=PATIENCE_S)
    connection.request("GET", "/")
    answer = connection.getresponse()
    policy = answer.headers["Content-Security-Policy"]
    expect(answer.status == 200 and answer.read().startswith(b"<!doctype html>"), "there is no page")
    expect("default-src 'none'; script-src 'sha256-" in policy and "connect-src 'self'" in policy, f"it is {policy}")
    connection.close()
    stream = Stream(station.ui)
    expect(stream.answer.headers["Content-Type"] == "text/event-stream", f"it is {stream.answer.headers}")
    ring = stream.wait_for("all are on the ring", "ring", lambda ring: [node["on"] for node in ring["nodes"]] == [True] * NODES)
    expect(ring["whole"] and all(node["losses"] == {} for node in ring["nodes"]), f"it tells {ring}")
    station.nodes[2].call("write", first=0x2040, data=PUMP.hex())
    stream.wait_for("a value is told", "values", lambda told: ["pump.speed", "1458", "rpm"] in told["regions"][0]["values"])
    stream.close()


def test_elsewhere(station, page):
    """The page asks its own server and nobody else, though a script wanted to"""
    strange = [address for address in page.browser.requested if not address.startswith(station.ui.address)]
    expect(page.browser.requested and not strange, f"the page asks {strange}")
    with socket.create_server(("127.0.0.2", 0)) as other:
        tried = page.run(f"fetch('http://127.0.0.2:{other.getsockname()[1]}/').then(() => 'went', () => 'refused')")
        other.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            other.accept()
            tried = "went"
    expect(tried == "refused", "the page may ask others")


def test_requests(station, _):
    """Only GET, by an address of ours; bad words are refused"""
    get = b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
    for head, status in ((get % (b"/", b"127.0.0.1:1"), 200), (get % (b"/", b"localhost"), 200),
                         (get % (b"/", b"[::1]:80"), 200), (get % (b"/", b"evil.example:5565"), 421),
                         (b"GET / HTTP/1.1\r\n\r\n", 421), (get % (b"/../etc/passwd", b"localhost"), 404),
                         (get.replace(b"GET", b"POST") % (b"/", b"localhost"), 405), (b"hello\r\n\r\n", 400)):
        line = station.ui.answer(head).partition("\r\n")[0]
        expect(f" {status} " in line, f"{head} gets {line}")
    expect(station.ui.answer(b"GET / HTTP/1.1\r\nHost: a" + b"a" * 20000) == "", "a head without end is taken")
    expect("for this host only" in station.ui.first_line, f"it says {station.ui.first_line}")
    beyond = Path(station.place.folder) / "beyond.yaml"
    beyond.write_text(BEYOND)
    for words, complaint in ((["--port", "70000"], "'70000' is no port"), (["--bind", "192.0.2.1", *station.words], "cannot listen"),
                             (["--name", "nobody"], "there is no lab"), (["--regions", "/nowhere"], "No such file"),
                             (["--port", station.ui.port, *station.words], "cannot listen"),
                             (["--regions", RMLAB], f"{RMLAB}:"),
                             (["--regions", beyond, *station.words[:2]], f"{beyond}: 'pump' has values beyond its stated size")):
        done = subprocess.run([str(word) for word in (RMLAB, "ui", *words)], text=True, capture_output=True,
                              check=False, timeout=PATIENCE_S)
        expect(done.returncode and complaint in done.stderr and done.stderr.count("\n") == 1, f"{words}: {done}")


def test_lab(station, page):
    """In a lab it finds hub and members by itself, and says of the others what can be known"""
    file = Path(station.place.folder) / "lab.toml"
    file.write_text(LAB)
    lab = station.place.add(Program(station.place.folder, "lab", RMLAB, "run", file, "--logs", "logs",
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    wait_for("the lab is there", lambda: (Path(station.place.folder) / "logs/publisher.log").exists())
    ui = Ui(station.place, "--name", f"run-{lab.pid}", name="ui-of-lab")
    other = Page(page.browser, ui.address)
    shows(other, "the lab", "#title", f"lab 'run-{lab.pid}'")
    for node in (1, 2):
        shows(other, "a member", state(node), "on the ring")
    shows(other, "a program", state(3), "on the ring")
    shows(other, "its rate", state(3, "stores"), "not known")
    shows(other, "whom to ask", state(3, "who"), "nobody to ask")
    expect(lab.end(signal.SIGINT) != 0, "the run is green")
    wait_for("nobody tells any more", lambda: "nobody tells" in other.text("#whole"))
    shows(other, "a member", state(1), "does not answer")
    other.close()
    ui.end()


def told_by_rmctl(verb, **facts):
    """What rmctl prints there: all keys that its schema wants, which are 0 or null but for these."""
    def filled(schema):
        if "$ref" in schema:
            schema = validator(verb).schema["$defs"][schema["$ref"].rpartition("/")[2]]
        kind = schema.get("type")
        if "oneOf" in schema:
            return filled(schema["oneOf"][-1])
        if kind == "object":
            return {name: filled(schema["properties"][name]) for name in schema["required"]}
        return {"array": [], "boolean": False, "string": "rfm0"}.get(str(kind), 0)

    return json.dumps({**filled(validator(verb).schema), **facts})


def test_declarations(*_):
    """What is declared for ctypes is what the header has"""
    lines = ["#include <stddef.h>", '#include "rfm/regions.h"',
             f"_Static_assert(sizeof(struct rfm_place) == {ctypes.sizeof(regions.Place)}, \"rfm_place\");",
             f"_Static_assert(RFM_REGION_NOBODY == {regions.NOBODY}, \"nobody\");"]
    for name, declared in (("rfm_region", regions.Declaration), ("rfm_regions", regions.File),
                           ("rfm_place", regions.Place), ("rfm_regions_complaint", regions.Complaint)):
        for member, *_ in declared._fields_:
            have = getattr(declared, member)
            lines += [f"_Static_assert(offsetof(struct {name}, {member}) == {have.offset}, \"{name}.{member}\");",
                      f"_Static_assert(sizeof(((struct {name} *)0)->{member}) == {have.size}, \"{name}.{member}\");"]
    done = subprocess.run([os.environ.get("CC", "gcc"), "-fsyntax-only", f"-I{TOP / 'tools' / 'librfm'}", "-xc", "-"],
                          input="\n".join(lines), text=True, capture_output=True, check=False)
    expect(done.returncode == 0, done.stderr)


def test_machines(station, _):
    """Of machines rmctl tells, by the clocks of their cards, and of one that is dead it is said"""
    folder = Path(station.place.folder)
    lab = folder / f"rmlab-{os.getuid()}" / "machines"
    lab.mkdir(mode=0o700, parents=True)
    (lab / "lab.json").write_text(json.dumps({"keys": "/nowhere", "machines": [
        {"number": number, "node_id": 10 + number} for number in (1, 2, 3)]}))
    for number in (1, 2):       # in the place of their QEMUs there is this suite
        (lab / str(number)).mkdir()
        (lab / str(number) / "run.json").write_text(json.dumps(
            {"pid": os.getpid(), "started": start_time(os.getpid()), "ssh_port": 10 + number}))
    members = [{"node": 10 + number, "hops": 2 - number, "hubs": 0, "transit_ns": 1, "clock_ahead": False,
                "received": 1, "missed": 0, "paused": False, "incomplete": False} for number in (1, 2)]
    there = fitting("map", told_by_rmctl("map", members=members, signal=True, turn_ns=1000))
    counters = json.loads(told_by_rmctl("stats"))["counters"]
    stats = fitting("stats", told_by_rmctl("stats", counters={**counters, "missed": 7}))
    # 100 stores a second, of which it tells late or early; and a machine that lets nobody in.
    running = json.dumps(stats).replace('"clock_ns": 0', """"clock_ns": '$n'000000000""").replace(
        '"stores": 0', """"stores": '$n'00""")
    ssh = folder / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f"""#!/bin/sh
case "$*" in *Port=12*) exec tail -n 0 -f "$0" ;; *Port=11*rmctl*) ;; *) exit 255 ;; esac
n=0
while sleep 0.5; do
    n=$((n + 1))
    echo '{json.dumps(there)}'
    echo '{running}'
done
""")
    ssh.chmod(0o755)
    ui = Ui(station.place, "--name", "machines", name="ui-of-machines",
            env={**os.environ, "XDG_RUNTIME_DIR": str(folder), "PATH": f"{ssh.parent}:{os.environ['PATH']}"})
    stream = Stream(ui)
    ring = stream.wait_for("the first tells of its rates, the second does not answer", "ring", lambda ring:
                           ring["nodes"][0]["stores"] is not None and ring["nodes"][1]["troubles"])
    stream.close()
    first, second, third = ring["nodes"]
    expect(ring["whole"] and [node["id"] for node in ring["nodes"]] == [11, 12, 13], f"it tells {ring}")
    expect(first["on"] and first["troubles"] == [] and first["losses"] == {"missed": [7, False]}, f"of the first: {first}")
    expect(first["stores"] == 100, f"it stores {first['stores']} times a second")
    expect(second["on"] and second["troubles"] == ["rmctl in it does not answer"], f"of the second: {second}")
    expect(third["on"] is False and third["troubles"] == ["the machine is dead"], f"of the third: {third}")
    expect(ui.end(signal.SIGTERM) == 0 and ui.said() == "", f"it says {ui.said()}")
    wait_for("no ssh is left", lambda: not processes_with(str(ssh)))


def test_widths(station, page):
    """It fits on 800 and on 1920 pixels"""
    for width in (800, 1920):
        page.resize(width)
        expect(page.run("document.documentElement.scrollWidth") <= width, f"it is wider than {width}")


def clients(ui):
    """How many connections it has with browsers."""
    return sum(line.split()[1].endswith(f":{ui.port:04X}") and line.split()[3] == "01"
               for line in Path("/proc/net/tcp").read_text().splitlines())


class Readers:
    """Browsers that take what comes, without drawing it."""

    def __init__(self, ui, count):
        self.socks = [socket.create_connection(("127.0.0.1", ui.port)) for _ in range(count)]
        self.taken = [0] * count
        for i, sock in enumerate(self.socks):
            sock.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            threading.Thread(target=self.drain, args=(i, sock), daemon=True).start()

    def drain(self, i, sock):
        with contextlib.suppress(OSError):
            while data := sock.recv(1 << 16):
                self.taken[i] += len(data)

    def __enter__(self):
        wait_for("all have got something", lambda: all(self.taken))
        return self

    def __exit__(self, *_):
        for sock in self.socks:
            sock.shutdown(socket.SHUT_RDWR)
            sock.close()


def measure(station, what, count=0):
    """Prints what it costs while so many browsers look, in % of a core. Returns that of the server, and of hub and members."""
    def computed():
        return [cpu_seconds(one.pid) for one in (station.ui, station.hub, *station.nodes)]

    with Readers(station.ui, count):
        before = computed()
        time.sleep(MEASURED_S)
        server, *ring = [100 * (now - then) / MEASURED_S for then, now in zip(before, computed())]
    figure(f"{what}: server {server:.1f} % of a core, hub and members {sum(ring):.1f} %")
    return server, sum(ring)


def compare(station):
    """What is wrong, if five browsers cost more than one."""
    one, five = (measure(station, f"3000 stores a second, {count} browsers", count) for count in (1, 5))
    if five[0] > 2 * one[0] + 1 or five[1] > 1.5 * one[1] + 2:
        return f"five browsers cost {five} % of a core, one {one} %"


def connections(station):
    """How many there are to the control sockets of hub and members."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return [sum(line[5] == "03" and line[7:] == [str(one.path)] for line in lines) for one in (station.hub, *station.nodes)]


def test_cost(station, page):
    """Five browsers cost the ring what one does"""
    page.close()
    station.ui.end(signal.SIGINT)
    with station.writes(3, 0x2044, 1000), station.writes(2, 0x2080, 1000), station.writes(1, 0x20c0, 1000):
        measure(station, "3000 stores a second, no rmlab ui")
        station.look_at(REGIONS)
        measure(station, "3000 stores a second, no browser")
        for count in (0, 1, 5):
            with Readers(station.ui, count):
                # Ours; one that asks; one for each region that is watched there.
                wait_for(f"{count} browsers, as many connections: {connections(station)}",
                         lambda: connections(station) == [1 + 1, 2 + 1 + 3, 2 + 1 + 2, 2 + 1])
        several_attempts(compare, station)
    station.look_at(many_regions())
    with station.writes(2, 0x10000, 10000, 45 * 128):
        measure(station, "40 regions with 640 values that change, 10000 stores a second, 5 browsers", 5)


def many_regions():
    """More than are shown."""
    return "rfm-regions: 1\nregions:\n" + "".join(
        f"  region_{i}: {{offset: {0x10000 + 128 * i:#x}, type: uint64, count: 16, owner: 2, period: 1 s}}\n" for i in range(45))


def test_crowd(station, _):
    """So many browsers may look, and no more"""
    with Readers(station.ui, BROWSERS_MAX):
        answer = station.ui.answer(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        expect(" 503 " in answer and f"{BROWSERS_MAX} browsers are looking already" in answer, f"one more gets {answer}")


def test_slow_browser(station, _):
    """A browser that takes nothing is dropped, and the others go on"""
    station.look_at(many_regions())
    with station.writes(2, 0x10000, 1000, 45 * 128):
        with socket.socket() as slow, Readers(station.ui, 1) as others:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", station.ui.port))
            slow.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_for("it is there", lambda: clients(station.ui) == 2)
            wait_for("it is dropped", lambda: clients(station.ui) == 1, 5 * PATIENCE_S)
            taken = others.taken[0]
            wait_for("the other one gets more", lambda: others.taken[0] > taken)


def test_end(station, _):
    """Ctrl-C ends it, without a word"""
    with Readers(station.ui, 2):
        status = station.ui.end(signal.SIGINT)
    expect(status == 0 and station.ui.said() == "", f"status {status}, it says {station.ui.said()}")


def test_lab_of_machines(lab, place, browser):
    """Machines of a lab tell of themselves, also when a fibre is cut"""
    page = Page(browser, Ui(place, "--name", lab.name).address)
    for node in lab.nodes:
        shows(page, "a machine", state(node), "on the ring")
        shows(page, "its losses", state(node, "losses"), "none")
    shows(page, "the ring", "#whole", "whole")
    lab.verb("cut", 2)
    shows(page, "who gets no light", state(2), "no signal")
    shows(page, "the ring", "#whole", "open")
    lab.verb("restore", 2)
    wait_for("it is back", lambda: page.text(state(2)) == "on the ring")
    shows(page, "the ring", "#whole", "whole")


def make_picture(station, page, path):
    """The picture of docs/ui.md"""
    for number, address, data in ((2, 0x2080, "00007a42"), (3, 0x2040, PUMP.hex()), (1, 0x2100, "2a00000000000000"),
                                  (1, 0x20c0, "9a99999999990940")):
        station.nodes[number - 1].call("write", first=address, data=data)
    with station.writes(1, 0x9000, 40), station.writes(2, 0x2084, 50), station.writes(3, 0xa000, 200):
        station.hub.fault(kind="drop", source=3, port=2, count=3)
        shows(page, "losses", state(1, "losses"), "missed 3")
        station.hub.call("cut", port="3", side="in")
        shows(page, "the cut", state(4), "is cut")
        shows(page, "the level", region("level"), "STALE")
        page.screenshot(path)


BRIEF = [test_stream, test_requests, test_declarations, test_machines, test_crowd, test_slow_browser, test_end]
TESTS = [test_ring, test_values, test_stale, test_rates, test_cut, test_pause, test_unwatched, test_losses, test_dark,
         test_gone, test_elsewhere, test_twins, test_lab, test_widths, test_cost]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brief", action="store_true", help="what needs no browser")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    if args.brief:
        plan(BRIEF)
        with Place("ui") as place:
            return bool(run(BRIEF, Station(place), None))
    subprocess.run([TOP / "scripts" / "setup", "--ui"], stdout=subprocess.DEVNULL, check=True)
    with Place("ui") as place, Browser() as browser:
        if args.tests == ["machines"]:
            plan([test_lab_of_machines])
            with Lab("ui", 2) as lab:
                return bool(run([test_lab_of_machines], lab, place, browser))
        station = Station(place, NODES + 1 if args.picture else NODES)
        page = Page(browser, station.ui.address)
        if args.picture:
            page.resize(1240, 760)
            make_picture(station, page, args.picture)
            return 0
        chosen = [test for test in BRIEF[:4] + TESTS + BRIEF[4:] if not args.tests or test.__name__ in args.tests]
        plan(chosen)
        return bool(run(chosen, station, page))


if __name__ == "__main__":
    sys.exit(main())
