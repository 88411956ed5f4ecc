#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""rmnode --publish: what comes out of it for Prometheus and by an MQTT broker, and what goes in: nothing.

By the interpreter of the system, whose prometheus_client is Debian's; the linter, Prometheus itself and
mosquitto are Debian's, too.
"""

import contextlib
import math
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from suite import PATIENCE_S, TOP, expect, free_ports, plan, run, wait_for
from members import Hub, Node, Place, Program, RMNODE, kilobytes, preload

HERE = "127.0.0.1"
SIZE = "1M"
BROKER = shutil.which("mosquitto", path="/usr/sbin:/usr/bin") or "mosquitto"

REGIONS = """rfm-regions: 1
regions:
  all:
    offset: 0x1000
    description: "one of each, with a \\" and a \\\\"
    fields:
      tiny:    {offset: 0x00, type: int8}
      small:   {offset: 0x01, type: uint8, unit: "%"}
      low:     {offset: 0x02, type: int16, unit: celsius, scale: 0.5, bias: -40}
      port:    {offset: 0x04, type: uint16}
      depth:   {offset: 0x08, type: int32, description: "below \\"zero\\""}
      height:  {offset: 0x0c, type: uint32}
      debt:    {offset: 0x10, type: int64}
      wealth:  {offset: 0x18, type: uint64}
      ratio:   {offset: 0x20, type: float, unit: m/s}
      exact:   {offset: 0x28, type: double, byte-order: big}
      ready:   {offset: 0x30, type: bool}
      state:   {offset: 0x31, type: int8, values: {broken: -1, off: 0, on: 1}}
      alarms:  {offset: 0x32, type: uint16, bits: {dry: 0, stage: 4-6, hot: 15}}
      title:   {offset: 0x38, type: char, count: 16}
  axes:
    offset: 0x2000
    count: 2
    fields:
      limit: {offset: 0, type: double, count: 2, unit: rad}
  loop:  {offset: 0x3000, type: uint32}
  hush:  {offset: 0x3004, type: uint32}
"""


# --- who listens -----------------------------------------------------------------------

class Broker(Program):
    """mosquitto, at one address, which keeps nothing from one life to the next."""

    def __init__(self, place, port):
        self.port = port
        settings = Path(place.folder, f"broker{port}.conf")
        # By itself a broker drops the newest of what a listener takes too slowly, past a thousand messages.
        settings.write_text(f"listener {port} {HERE}\nallow_anonymous true\nmax_queued_messages 0\n")
        super().__init__(place.folder, f"broker{port}", BROKER, "-c", settings, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)
        place.add(self)
        wait_for("the broker listens", self.listens)

    def listens(self):
        with socket.socket() as sock:
            return sock.connect_ex((HERE, self.port)) == 0


class Listener(Program):
    """mosquitto_sub: all messages, in their order, their payloads as digits."""

    def __init__(self, place, port):
        self.file = Path(place.folder, f"heard{random.getrandbits(32):08x}")
        with self.file.open("w") as file:
            super().__init__(place.folder, "listener", "mosquitto_sub", "-h", HERE, "-p", port, "-t", "#",
                             "-F", "%t %x", stdin=subprocess.DEVNULL, stdout=file)
        place.add(self)

    def heard(self):
        lines = self.file.read_text().splitlines(keepends=True)
        return [line.rstrip("\n").partition(" ")[::2] for line in lines if line[-1] == "\n"]

    def of(self, topic):
        return [payload for name, payload in self.heard() if name == topic]

    def last(self, topic, payload):
        """Wait until it is: text, or bytes."""
        payload = payload.encode() if isinstance(payload, str) else payload
        wait_for(f"the last of {topic} is {payload}", lambda: self.of(topic)[-1:] == [payload.hex()])


class Members:
    """Two members on a hub; the second publishes."""

    def __init__(self, place, *publish, regions=REGIONS):
        self.file = Path(place.folder, "regions.yaml")
        self.file.write_text(regions, encoding="utf-8")
        self.hub = Hub(place, 2)
        words = [word for where in publish for word in ("--publish", where)]
        options = ("--memory", SIZE, "--stall-limit-ms", 10000)
        self.other, self.node = (
            place.add(Node(place.folder, number, self.hub.rx(number), self.hub.tx(number), *options, *more)).up()
            for number, more in ((0, ()), (1, ("--regions", self.file, *words))))
        for node in (self.other, self.node):
            node.call("wait", members=1, timeout_ms=PATIENCE_S * 1000)

    def store(self, offset, form, *values, by=None):
        (by or self.other).call("write", first=offset, data=struct.pack(form, *values).hex())

    def fence(self):
        expect(self.other.call("fence")["complete"], "a store is not everywhere")

    def published(self, kind):
        """What `stats` says of the first place of that kind."""
        return next(told for where, told in self.node.call("stats")["publish"].items() if where.startswith(kind))

    def accepted(self, times=1):
        wait_for("the broker takes the values",
                 lambda: self.node.said().count("takes the values") >= times)


def get(port, path="/metrics", method="GET", accept=None, data=None):
    request = urllib.request.Request(f"http://{HERE}:{port}{path}", method=method, data=data,
                                     headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def samples(port):
    """By the parser of OpenMetrics: what each name and labels has, and the families."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    kind, text = get(port, accept="application/openmetrics-text; version=1.0.0")
    expect(kind.startswith("application/openmetrics-text; version=1.0.0"), f"it is {kind}")
    families = list(text_string_to_metric_families(text))
    values = {(sample.name, *sorted(sample.labels.items())): sample.value
              for family in families for sample in family.samples}
    return values, {family.name: family for family in families}


# --- OpenMetrics -------------------------------------------------------------------------

def fill(members):
    for offset, form, value in (
            (0x00, "<b", -5), (0x01, "<B", 250), (0x02, "<h", 90), (0x04, "<H", 65535),
            (0x08, "<i", -70000), (0x0c, "<I", 2 ** 32 - 1), (0x10, "<q", -2 ** 63),
            (0x18, "<Q", 2 ** 64 - 1), (0x20, "<f", -math.inf), (0x28, ">d", 0.1), (0x30, "<B", 1),
            (0x31, "<b", -1), (0x32, "<H", 0x8050), (0x38, "<16s", b"say \"\\\"\n\xff")):
        members.store(0x1000 + offset, form, value)
    for index, limit in enumerate((1.5, math.nan, math.inf, -2.5)):
        members.store(0x2000 + 8 * index, "<d", limit)
    members.fence()


def every_type():
    """Each type of value is what OpenMetrics' parser takes, and has the value that was stored"""
    port, = free_ports(1)
    with Place("publish-types") as place:
        members = Members(place, f"openmetrics:{port}")
        fill(members)
        values, families = samples(port)
        for name, value in {
                "rfm_all_tiny": -5, "rfm_all_small_percent": 250, "rfm_all_low_celsius": 5,
                "rfm_all_port": 65535, "rfm_all_depth": -70000, "rfm_all_height": 2 ** 32 - 1,
                "rfm_all_debt": -2 ** 63, "rfm_all_wealth": 2 ** 64 - 1, "rfm_all_ratio_m_per_s": -math.inf,
                "rfm_all_exact": 0.1, "rfm_all_ready": 1, "rfm_all_alarms_stage": 5,
                "rfmnode_members": 1, "rfmnode_signal": 1}.items():
            expect(values.get((name,)) == value, f"{name} is {values.get((name,))}, not {value}")
        for name, states in {"rfm_all_state": {"broken": 1, "off": 0, "on": 0},
                             "rfm_all_alarms": {"dry": 0, "hot": 1}}.items():
            expect(families[name].type == "stateset", f"{name} is a {families[name].type}")
            for state, value in states.items():
                expect(values.get((name, (name, state))) == value, f"{name} has another {state} than {value}")
        expect(values.get(("rfm_all_title_info", ("text", 'say "\\"\\x0a\\xff'))) == 1,
               [key for key in values if key[0] == "rfm_all_title_info"])
        limits = [values["rfm_axes_limit_rad", ("index", str(axis)), ("index2", str(limit))]
                  for axis in (0, 1) for limit in (0, 1)]
        expect(limits[0] == 1.5 and math.isnan(limits[1]) and limits[2:] == [math.inf, -2.5], limits)
        expect(families["rfm_all_ratio_m_per_s"].unit == "m_per_s", "it has another unit")
        expect(families["rfm_all_depth"].documentation == 'all.depth: below "zero"',
               families["rfm_all_depth"].documentation)


def of_the_regions():
    """When each region was stored into, and by whom, its own stores among them; and the ring's counters"""
    port, = free_ports(1)
    with Place("publish-regions") as place:
        members = Members(place, f"openmetrics:{port}")
        before = time.time()
        members.store(0x3000, "<I", 1)
        members.store(0x3000, "<I", 2)
        members.fence()
        members.store(0x2000, "<d", 1, by=members.node)
        values, _ = samples(port)

        def of(name, region):
            return values.get((f"rfmnode_region_{name}", ("region", region)))

        expect([of("updates_total", region) for region in ("loop", "axes", "hush")] == [2, 1, 0],
               "there were other updates")
        expect([of("writer", region) for region in ("loop", "axes", "hush")] == [0, 1, None],
               "they are of other nodes")
        expect(before - 1 <= of("updated_timestamp_seconds", "loop") <= time.time() + 1,
               "they were at another time")
        expect(of("updated_timestamp_seconds", "hush") is None, "there is a time when nothing was")
        counters = members.node.stats()
        for name in ("stores", "received_bytes", "missed"):
            expect(values[f"rfmnode_{name}_total",] == counters[name], f"{name} is another than in stats")
        expect(values["rfmnode_info", ("node", "1")] == 1, "it does not say who it is")


def linted():
    """Prometheus' own linter has nothing to say of the older format, but of units that are abbreviated"""
    port, = free_ports(1)
    with Place("publish-lint") as place:
        members = Members(place, f"openmetrics:{port}", regions=REGIONS.replace("m/s", "bar"))
        fill(members)
        kind, text = get(port, accept="text/plain;version=0.0.4")
        expect(kind.startswith("text/plain; version=0.0.4"), f"it is {kind}")
        expect("rfm_all_tiny -5\n" in text and "# EOF" not in text, text)
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=False,
                              capture_output=True, timeout=PATIENCE_S)
        expect(done.returncode == 0 and not done.stderr, f"{done.stdout}{done.stderr}")


def scraped():
    """Prometheus takes it, with two lines of configuration"""
    port, web = free_ports(2)
    with Place("publish-scraped") as place:
        members = Members(place, f"openmetrics:{HERE}:{port}")
        members.store(0x1004, "<H", 4711)
        Path(place.folder, "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: rfm\n"
            f"    static_configs: [{{targets: ['{HERE}:{port}']}}]\n")
        server = place.add(Program(place.folder, "prometheus", "prometheus", "--config.file=prometheus.yml",
                                   "--storage.tsdb.path=data", f"--web.listen-address={HERE}:{web}",
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

        def answer():
            expect(server.alive(), server.said())
            try:
                _, text = get(web, "/api/v1/query?query=rfm_all_port")
            except (urllib.error.URLError, ConnectionError):
                return False
            return '"4711"' in text

        wait_for("Prometheus has the value", answer)


def only_get():
    """Nothing but GET /metrics is done, and nothing that comes is stored"""
    port, = free_ports(1)
    with Place("publish-get") as place:
        members = Members(place, f"openmetrics:{port}")
        fill(members)
        before = members.node.call("checksum")["crc32c"]
        for path, method, data, status in (
                ("/", "GET", None, 404), ("/metrics/x", "GET", None, 404), ("/metrics", "POST", b"x" * 100000, 405),
                ("/metrics", "PUT", b"1", 405), ("/metrics", "DELETE", None, 405), ("/metrics", "HEAD", None, 405)):
            try:
                get(port, path, method, data=data)
                expect(False, f"{method} {path} is answered")
            except urllib.error.HTTPError as refused:
                expect(refused.code == status, f"{method} {path}: {refused.code}")
            except (urllib.error.URLError, ConnectionError):
                expect(data, f"{method} {path}: no answer")    # it hung up before all was sent
        for garbage in (b"\0\xff" * 500, b"GET /metrics\r\n\r\n", b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n"):
            with socket.create_connection((HERE, port), PATIENCE_S) as sock:
                try:
                    sock.sendall(garbage)
                    with contextlib.suppress(OSError):      # ENOTCONN: it hung up at once
                        sock.shutdown(socket.SHUT_WR)
                    while sock.recv(65536):
                        pass
                except ConnectionError:
                    pass
        expect(get(port)[1].endswith("# EOF\n"), "it does not answer any more")
        expect(members.node.call("checksum")["crc32c"] == before, "the memory has changed")


def slow_clients():
    """Clients that do not get on are cut, and hold up neither the ring nor, for long, the others"""
    port, = free_ports(1)
    with Place("publish-slow") as place:
        members = Members(place, f"openmetrics:{port}")
        files = len(list(Path(f"/proc/{members.node.pid}/fd").iterdir()))
        # 16 have their time, and as many more as a listener keeps; what finds no room there may wait for minutes.
        idle = [socket.create_connection((HERE, port), PATIENCE_S) for _ in range(20)]
        for sock in idle[::2]:
            sock.sendall(b"GET /metrics HTTP/1.1\r\n")
        members.store(0x3000, "<I", 7)
        members.fence()
        expect(len(list(Path(f"/proc/{members.node.pid}/fd").iterdir())) <= files + 17,
               "it has taken all of the connections")
        expect(get(port)[1].endswith("# EOF\n"), "it does not answer any more")
        for sock in idle[:16]:
            while sock.recv(65536):     # what is said to it before, if anything
                pass
        expect(members.published("openmetrics")["late"] >= 16, "no client was late")
        for sock in idle:
            sock.close()


# --- MQTT ----------------------------------------------------------------------------------

def changes():
    """Each value is a retained message under its own topic, and a new one when it has changed"""
    port, = free_ports(1)
    with Place("publish-changes") as place:
        Broker(place, port)
        members = Members(place, f"mqtt:localhost:{port},prefix=plant/ring")
        members.accepted()
        fill(members)
        members.store(0x3000, "<I", 6)
        early = Listener(place, port)
        for topic, payload in {"all/tiny": "-5", "all/low": "5", "all/wealth": str(2 ** 64 - 1), "all/ratio": "-inf",
                               "all/exact": "0.1", "all/ready": "true", "all/state": "broken",
                               "all/alarms": "stage=5|hot", "axes/0/limit/1": "nan", "axes/1/limit/1": "-2.5",
                               "all/title": b'say "\\"\n\xff', "loop": "6"}.items():
            early.last(f"plant/ring/{topic}", payload)
        early.last("plant/ring/status", "online")
        heard = len(early.of("plant/ring/loop"))
        members.store(0x3000, "<I", 6)          # no change
        members.fence()                         # or it would come behind the next
        members.store(0x3000, "<I", 8, by=members.node)
        members.store(0x3004, "<I", 1)
        early.last("plant/ring/loop", "8")
        early.last("plant/ring/hush", "1")
        expect(len(early.of("plant/ring/loop")) == heard + 1, f"{early.of('plant/ring/loop')}")
        before = members.node.call("checksum")["crc32c"]
        subprocess.run(["mosquitto_pub", "-h", HERE, "-p", str(port), "-t", "plant/ring/loop", "-m", "99"], check=True,
                       timeout=PATIENCE_S)
        early.last("plant/ring/loop", "99")
        expect(members.node.call("checksum")["crc32c"] == before, "what came from the broker was stored")


@contextmanager
def heard(options, **more):
    """A broker, members of which one publishes there, and who listens."""
    port, = free_ports(1)
    with Place("publish-heard") as place:
        broker = Broker(place, port)
        members = Members(place, f"mqtt:{HERE}:{port},{options}", **more)
        yield broker, members, Listener(place, port)


def burst(options=""):
    """Of a burst no more messages come than the rate allows, and the last value does"""
    with heard(f"rate=5{options}") as (_, members, listener):
        listener.last("rfm/loop", "0")
        begun = time.monotonic()
        for _ in range(3):
            members.other.call("load", first=0x3000, last=0x3003, size=4, stride=4, count=20000, value=1)
            members.fence()
        members.store(0x3000, "<I", 123456)
        members.fence()
        listener.last("rfm/loop", "123456")
        took = time.monotonic() - begun
        expect(len(listener.of("rfm/loop")) <= took * 5 + 3,
               f"{len(listener.of('rfm/loop'))} messages in {took:.1f} s")
        told = members.published("mqtt")
        expect(told["merged"] >= 30000, f"the rest was not counted: {told}")


def burst_confirmed():
    """The same with messages that the broker confirms"""
    burst(",qos=1")


NOTES = 400
TEXTS = "rfm-regions: 1\nregions:\n" \
        f"  notes: {{offset: 0, count: {NOTES}, fields: {{note: {{offset: 0, type: char, count: 1000}}}}}}\n"


def broker_returns():
    """A broker that was killed and is back is told all; meanwhile the ring goes on"""
    port, = free_ports(1)
    with Place("publish-returns") as place:
        broker = Broker(place, port)
        members = Members(place, f"mqtt:{HERE}:{port}")
        members.accepted()
        broker.end()
        wait_for("it is said that the broker is away", lambda: "is away" in members.node.said())
        members.store(0x3000, "<I", 17)
        members.store(0x3004, "<I", 18)
        members.fence()
        expect(not members.published("mqtt")["connected"], "stats has it connected")
        Broker(place, port)
        members.accepted(2)
        listener = Listener(place, port)
        listener.last("rfm/loop", "17")
        listener.last("rfm/hush", "18")
        listener.last("rfm/status", "online")
        members.node.end()
        listener.last("rfm/status", "offline")


def second_address():
    """A broker that listens at one of the addresses of its name is found there, and nothing is said of the other"""
    port, = free_ports(1)
    with Place("publish-address") as place:
        Broker(place, port)
        with mock.patch.dict(os.environ, preload(place.folder, "names")):
            members = Members(place, f"mqtt:two.test:{port}")
        Listener(place, port).last("rfm/status", "online")
        expect("is away" not in members.node.said(), members.node.said())


def broker_stands_still():
    """A broker that takes nothing holds up no store, and costs no memory"""
    text = "rfm-regions: 1\nregions:\n" \
           "  notes: {offset: 0, count: 1000, fields: {note: {offset: 0, type: char, count: 1000}}}\n"
    with heard("rate=1000", regions=text) as (broker, members, listener):
        def sweeps(count, value):
            members.other.call("load", first=0, last=999999, size=64, stride=64, count=15625 * count, value=value)
            members.fence()

        def note():
            return bytes.fromhex(members.node.call("read", first=999000, last=999999)["data"]).rstrip(b"\0")

        sweeps(1, 1)        # what is made once is made
        listener.last("rfm/notes/999/note", note())
        size = kilobytes(members.node.pid, "Pss")
        broker.send_signal(signal.SIGSTOP)
        sweeps(30, 2)
        grown = kilobytes(members.node.pid, "Pss") - size
        expect(grown < 4000, f"it has grown by {grown} KiB")
        expect(members.published("mqtt")["merged"] > 10000, "nothing is counted")
        members.store(999000, "<8s", b"the last")
        members.fence()
        broker.send_signal(signal.SIGCONT)
        listener.last("rfm/notes/999/note", note())


def killed():
    """When the member ends the broker says so; what it stored last is there"""
    with heard("rate=1") as (_, members, listener):
        listener.last("rfm/loop", "0")
        members.store(0x3000, "<I", 5)
        members.store(0x3000, "<I", 6)
        members.fence()
        members.node.call("stop")
        listener.last("rfm/status", "offline")
        listener.last("rfm/loop", "6")


def last_words(options=""):
    """What was stored right before the member was told to end is there: all of many values, whatever the rate"""
    with heard(f"rate=1{options}", regions=TEXTS) as (_, members, listener):
        listener.last("rfm/status", "online")
        members.other.call("fill", first=0, last=NOTES * 1000 - 1, data="78")
        members.fence()
        members.node.call("stop")
        listener.last("rfm/status", "offline")
        last = dict(listener.heard())
        missed = [note for note in range(NOTES) if last.get(f"rfm/notes/{note}/note") != "78" * 1000]
        expect(not missed, f"{len(missed)} values are others, the first is {missed[:1]}: {members.node.said()}")


def last_words_confirmed():
    """The same with messages that the broker confirms"""
    last_words(",qos=1")


def unheard():
    """Of a broker that does not confirm, or is away, when the member ends the log says what it may lack"""
    with heard("rate=1,qos=1") as (broker, members, listener):
        listener.last("rfm/loop", "0")
        broker.send_signal(signal.SIGSTOP)
        members.store(0x3000, "<I", 5)
        members.fence()
        members.node.call("stop")
        members.node.process.wait(PATIENCE_S)
        expect(re.search(r"may lack the last of \d+ value", members.node.said()), members.node.said())
    with heard("qos=1") as (broker, members, listener):
        listener.last("rfm/loop", "0")
        broker.end()
        wait_for("it is said that the broker is away", lambda: "is away" in members.node.said())
        members.node.call("stop")
        members.node.process.wait(PATIENCE_S)
        expect("may lack the last of 20 values\n" in members.node.said(), members.node.said())


class Stranger:
    """A broker that accepts, sends something else and, when it has read for a while, hangs up."""

    CONNACK = b"\x20\x02\0\0"

    def __init__(self, sends):
        self.sends = sends
        self.server = socket.create_server((HERE, 0))
        self.server.settimeout(PATIENCE_S)
        self.port = self.server.getsockname()[1]

    def serve(self):
        """One connection, and when it came."""
        sock, _ = self.server.accept()
        came = time.monotonic()
        with sock:
            sock.settimeout(PATIENCE_S)
            expect(sock.recv(65536), "there is no CONNECT")
            sock.sendall(self.CONNACK + self.sends)
        return came


def broker_hangs_up():
    """A broker that accepts and hangs up is tried ever less often, and said to be away once"""
    stranger = Stranger(b"")
    with Place("publish-hangs-up") as place, stranger.server:
        members = Members(place, f"mqtt:{HERE}:{stranger.port}")
        came = [stranger.serve() for _ in range(5)]
        expect(came[4] - came[3] > 1.5, f"it came at {came}")
        expect(members.node.said().count("is away") == 1, members.node.said())


def broker_talks():
    """What a publisher did not ask for ends the connection: a message, or to be accepted twice"""
    for sends in (b"\x30\xff\xff\xff\x7f", Stranger.CONNACK):
        stranger = Stranger(sends)
        with Place("publish-talks") as place, stranger.server:
            members = Members(place, f"mqtt:{HERE}:{stranger.port},qos=1")
            stranger.serve()
            wait_for("it is said that the broker is away",
                     lambda said=members.node.said: "is away: it sends what nobody asked for" in said())


# --- what is refused ------------------------------------------------------------------------

def refused():
    """What cannot be published is one sentence at the start"""
    port, other = free_ports(2)
    with Place("publish-refused") as place, socket.create_server((HERE, port)):
        def says(regions, *words, sentence, status=2, **environment):
            file = Path(place.folder, "r.yaml")
            file.write_text("rfm-regions: 1\nregions:\n" + regions)
            done = subprocess.run([RMNODE, "--id", "1", "--memory", "4K", "--rx", "unix:a,server", "--tx",
                                   "unix:a", *(str(file) if word == "FILE" else word for word in words)],
                                  text=True, errors="replace", capture_output=True, cwd=place.folder, check=False,
                                  timeout=PATIENCE_S, env=os.environ | environment)
            expect(done.returncode == status and sentence in done.stderr and done.stderr.count("\n") == 1,
                   f"{words}: {done}")

        good = "  a: {offset: 0, type: uint8}\n"
        prom, mqtt = f"openmetrics:{other}", "mqtt:localhost"
        for where, sentence in (
                ("file:x", "goes to openmetrics: or mqtt:, not to 'file:x'"),
                ("openmetrics:", "it is openmetrics:[HOST:]PORT"), ("openmetrics:x", "openmetrics:[HOST:]PORT"),
                ("openmetrics:1:99999", "openmetrics:[HOST:]PORT"), ("openmetrics:0", "openmetrics:[HOST:]PORT"),
                ("mqtt:a:0", "it is mqtt:HOST[:PORT]"), ("mqtt:a,prefix=\udcff", "bytes of UTF-8"),
                ("mqtt:", "it is mqtt:HOST[:PORT]"), ("mqtt:a:b", "it is mqtt:HOST[:PORT]"),
                ("mqtt:a,qos=2", "qos= of a broker is 0 or 1, not '2'"),
                ("mqtt:a,rate=0", "from 1 to 1000, not '0'"), ("mqtt:a,prefix=a/#", "a topic without wildcards"),
                ("mqtt:a,prefix=", "a topic without wildcards"),
                ("mqtt:a,retain=1", "'retain=1' is no setting of a broker")):
            says(good, "--regions", "FILE", "--publish", where, sentence=sentence)
        says(good, "--regions", "FILE", sentence="--regions says what --publish publishes, which is missing")
        says(good, "--regions", "/nowhere", "--publish", prom, sentence="cannot read the regions /nowhere")
        says("  a: {offset: 0}\n", "--regions", "FILE", "--publish", prom, sentence="r.yaml:3: ")
        says("  a: {offset: 4095, type: uint16}\n", "--regions", "FILE", "--publish", prom,
             sentence="'a' ends behind the memory")
        says("  a: {offset: 1, type: uint16}\n", "--regions", "FILE", "--publish", mqtt,
             sentence="'a' cannot be published: at 0x1 it is not one load")
        says("  a_b: {offset: 0, type: uint8}\n  a: {offset: 4, fields: {b: {offset: 0, type: uint8}}}\n",
             "--regions", "FILE", "--publish", prom,
             sentence="'a.b' and 'a_b' would both be the metric rfm_a_b")
        says("  status: {offset: 0, type: uint8}\n", "--regions", "FILE", "--publish", mqtt,
             sentence="'status' would have the topic rfm/status")
        Path(place.folder, "libmosquitto.so.1").touch()
        says(good, "--regions", "FILE", "--publish", mqtt, sentence="a broker needs libmosquitto: ",
             LD_LIBRARY_PATH=place.folder)
        says(good, "--regions", "FILE", "--publish", f"openmetrics:{port}", status=1,
             sentence="another process does already")
        says(good, "--regions", "FILE", "--publish", mqtt, "--control", "/nowhere/x", status=1,
             sentence="cannot listen on")
        says(good, "--regions", "FILE", *(["--publish", mqtt] * 9), sentence="to 8 places at most")


TESTS = [every_type, of_the_regions, linted, scraped, only_get, slow_clients, changes, burst, burst_confirmed,
         broker_returns, second_address, broker_stands_still, broker_hangs_up, broker_talks, killed, last_words,
         last_words_confirmed, unheard, refused]


def main():
    if sys.argv[1:] == ["--brief"]:     # what needs neither Prometheus nor a broker
        chosen = [every_type, of_the_regions, refused]
    else:
        subprocess.run([TOP / "scripts" / "setup", "--publish"], check=True)
        chosen = [test for test in TESTS if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    plan(chosen)
    return bool(run(chosen))


if __name__ == "__main__":
    sys.exit(main())
