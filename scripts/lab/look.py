# SPDX-License-Identifier: MIT
"""What `rmlab ui` shows: how a ring is, by those who are on it and let themselves be asked.

Hub and members, and rmctl in machines, tell once a second what they have counted. Regions are watched by members,
who tell at most every half second how many updates came: it costs the ring nothing, whatever the rate.
What nobody tells is None, never a guess.
"""

import asyncio
import contextlib
import json
import time
from collections import defaultdict, deque

from . import LabError
from .channel import DIES_WITH_US, Channel, Connection

ROUND_S = 1.0
WATCH_MS = 500
SECONDS_TO_ANSWER = 1.0     # in a round; the next round asks again
SECONDS_SILENT = 3.0        # then it "does not answer": a busy host answers late
STALE_PERIODS = 3           # as of `rmctl top`
REGIONS_SHOWN = 40          # a watch each, of the 64 clients of a control socket
LINE_MAX = 4 << 20          # of an answer: a hub with 256 ports has 200 KiB
EVENTS_KEPT = 50

# What a member counts, as librfmring(7) names it; and what of that should not be.
RATES = ("stores", "received", "sent_bytes")
LOSSES = ("lost", "dark", "full", "missed", "bad", "late", "overrun", "unsendable", "beyond", "hop_limit", "held_lost",
          "mixed")

# What keeps a member from the ring, by what it says of itself.
TROUBLES = (
    ("another node has its id", lambda state: state["left"]),
    ("loopback", lambda state: state["loopback"]),
    ("transmitter off", lambda state: not state["transmit"]),
    ("no signal", lambda state: not state["signal"]),
    ("nobody downstream", lambda state: not state["downstream"]),
)

# The states of a port of rmhub.
PORTS = {"cut": "the fibre from it is cut", "bypassed": "bypassed by the hub", "dark": "dark",
         "bad": "bad, bypassed by the hub", "no receiver": "its receiver is not there"}

ON_RING = {True: "on the ring", False: "not on the ring", None: "nobody tells how it is"}
WHOLE = {True: "the ring is whole", False: "the ring is open", None: "nobody tells how the ring is"}


class Control:
    """A control socket of an rmnode or an rmhub."""

    def __init__(self, path):
        self._path = path
        self._reader = self._writer = None

    async def send(self, verb, **args):
        if not self._writer:
            self._reader, self._writer = await asyncio.open_unix_connection(self._path, limit=LINE_MAX)
        self._writer.write(json.dumps({"verb": verb, "args": args}).encode() + b"\n")

    async def line(self):
        """The next of the answer: {"event": ...} or {"result": ...}."""
        text = await self._reader.readline()
        if not text.endswith(b"\n"):
            raise EOFError
        answer = json.loads(text)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    async def ask(self, verb, **args):
        await self.send(verb, **args)
        return (await self.line())["result"]

    def close(self):
        if self._writer:
            self._writer.transport.abort()
        self._reader = self._writer = None


# Whoever is asked may go at any time, or be something else than we think.
GONE = (OSError, EOFError, ValueError, KeyError, LabError)


class Asked:
    """The hub, or a member: what it has answered last, and how fast its counters grow."""

    def __init__(self, path, *verbs):
        self.path = str(path)
        self.verbs = verbs
        self.answers = {}
        self.rates = {}
        self._control = Control(self.path)
        self._heard = None          # when it answered last
        self._before = None         # (clock, incarnation, counters)
        self._began = time.monotonic()

    @property
    def answering(self):
        return bool(self.answers)

    @property
    def silent(self):
        """It had time to answer, and did not."""
        return not self.answering and time.monotonic() - self._began > SECONDS_SILENT

    @property
    def late(self):
        return self._heard is None or time.monotonic() - self._heard > SECONDS_SILENT

    def forget(self):
        self.answers, self.rates, self._before = {}, {}, None

    async def ask(self):
        """One round. What it said before is forgotten when it has been silent for too long."""
        try:
            async with asyncio.timeout(SECONDS_TO_ANSWER):
                self.answers = {verb: await self._control.ask(verb) for verb in self.verbs}
            self._heard = time.monotonic()
            self._count()
        except (*GONE, TimeoutError) as error:
            self.close()
            if self.late or not isinstance(error, TimeoutError):
                self.forget()

    @property
    def clock(self):
        """In seconds: when it counted."""
        return self._heard

    def _count(self):
        now, life, counters = self.clock, self.life, self.counters
        before = self._before and self._before[2]
        if before and self._before[1] == life and all(counters[name] >= before[name] for name in counters):
            seconds = now - self._before[0]
            if seconds > 0:
                self.rates = {name: (value - before[name]) / seconds for name, value in counters.items()}
        self._before = (now, life, counters)

    def close(self):
        self._control.close()


class Hub(Asked):
    life = None

    def __init__(self, path):
        super().__init__(path, "status", "counters")

    @property
    def counters(self):
        total = self.answers["counters"]["total"]
        return {"frames": total["in"]["frames"], "bytes": total["in"]["bytes"],
                **{f"dropped ({name})": count for name, count in total["dropped"].items()},
                **{f"fault {name}": count for name, count in total["faults"].items() if name != "drop"}}

    @property
    def ports(self):
        return self.answers["status"]["ports"] if self.answering else []

    def look(self):
        if not self.answering:
            return {"answers": False, "frames": None, "bytes": None, "losses": None}
        return {"answers": True, "frames": self.rates.get("frames"), "bytes": self.rates.get("bytes"),
                "losses": losses_of(self, self.counters.keys() - {"frames", "bytes"})}


class Member(Asked):
    """An rmnode; its node id is known from the lab, or when it has answered."""

    kind = "rmnode"
    silence = "does not answer"
    dead = False

    def __init__(self, path, node=None):
        super().__init__(path, "stats", "members")
        self.node = node

    async def ask(self):
        await super().ask()
        if self.answering:
            self.node = self.state["id"]

    @property
    def state(self):
        return self.answers["stats"]["state"]

    @property
    def life(self):
        return self.state["incarnation"]

    @property
    def counters(self):
        return self.answers["stats"]["counters"]

    @property
    def troubles(self):
        return [name for name, holds in TROUBLES if holds(self.state)]

    @property
    def on_ring(self):
        return self.answering and not self.troubles

    @property
    def open(self):
        return self.state["open"]

    @property
    def paused(self):
        return self.state["paused"]

    @property
    def hops(self):
        """{node: links from there to here} of the others on the ring."""
        return {other["id"]: other["hops"] for other in self.answers["members"]["members"]}


class Card(Asked):
    """The card of a machine of a lab, of which rmctl tells there until the connection breaks."""

    kind = "machine"
    silence = "rmctl in it does not answer"
    life = None

    def __init__(self, machine):
        super().__init__(machine)
        self.node = machine.config["node_id"]
        self._machine = machine
        self._map = self._task = None

    @property
    def dead(self):
        return self._machine.pid is None

    async def ask(self):
        if not self._task or self._task.done():
            self._task = asyncio.create_task(self._follow())
        if self.late:
            self.forget()

    async def _follow(self):
        # Without anybody who takes what it says, rmctl fails, and the loop ends.
        command = f"while sleep {ROUND_S:g} && rmctl -j map rfm0 && rmctl -j stats rfm0; do :; done"
        with contextlib.suppress(*GONE):
            # A thread could not be ended while ssh waits for the machine: the command opens its connection itself.
            connection = await asyncio.to_thread(lambda: Connection(self._machine.channel(), opened=False))
            with connection:
                child = await asyncio.create_subprocess_exec(
                    *DIES_WITH_US, *Channel.command_line(connection, command), stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, start_new_session=True, limit=LINE_MAX)
                try:
                    async for line in child.stdout:
                        self._take(json.loads(line))
                except BaseException:       # not of one that has ended: asyncio would miss its status
                    with contextlib.suppress(ProcessLookupError):
                        child.kill()
                    raise
                finally:
                    await child.wait()

    def _take(self, told):
        """The map, and the counters behind it."""
        if "members" in told:
            self._map = told
            return
        self.answers = {"map": self._map, "stats": told}
        self._heard = time.monotonic()
        self._count()

    @property
    def _own(self):
        return next((member for member in self.answers["map"]["members"] if member["node"] == self.node), None)

    @property
    def clock(self):
        """The card's: how long what it told was under way does not matter. None as the counters."""
        nanoseconds = self.answers["stats"]["clock_ns"]
        return None if nanoseconds is None else nanoseconds / 1e9

    @property
    def counters(self):
        """None without the extension block."""
        told = self.answers["stats"]["counters"]
        return {name: told[name] for name in (*RATES, *LOSSES)} if told else {}

    @property
    def troubles(self):
        return ["no signal"] * (not self.answers["map"]["signal"]) + ["its map has not itself"] * (self._own is None)

    @property
    def on_ring(self):
        return self.answering and not self.troubles

    @property
    def open(self):
        return self.answers["map"]["turn_ns"] is None

    @property
    def paused(self):
        return self._own is not None and self._own["paused"]

    @property
    def hops(self):
        return {member["node"]: member["hops"] for member in self.answers["map"]["members"]
                if member["node"] != self.node}


def losses_of(asked, names):
    """{name: (how many, are there more than a second ago)} of those that are not 0; None: they are not counted."""
    if not asked.counters:
        return None
    return {name: (asked.counters[name], asked.rates.get(name, 0) > 0)
            for name in asked.counters if name in names and asked.counters[name]}


class Watched:
    """A region, and the members that watch it for us."""

    def __init__(self, region, regions, happened):
        self.region = region
        self._regions = regions
        self._happened = happened
        self._tasks = {}            # by the path of the member's socket
        self._updates = {}          # likewise: of this round
        self._data = b""
        self._writer = self._last = self._since = None
        self._rate = self._stale = None

    def watch_by(self, members):
        """Of those who see: any but the owner, who is not told of its own stores. Without an owner two,
        of whom one sees what the other stores."""
        wanted = [member.path for member in members if member.node != self.region.owner]
        wanted = wanted[:1 if self.region.owner is not None else 2]
        for path in self._tasks.keys() - set(wanted):
            self._tasks[path].cancel()
        for path in wanted:
            if path not in self._tasks:
                self._tasks[path] = task = asyncio.create_task(self._follow(path))
                task.add_done_callback(lambda _, path=path: self._tasks.pop(path, None))
        if not wanted:      # what it was need not be what it is
            self._since = self._rate = self._last = self._writer = None
            self._data = b""

    async def _follow(self, path):
        control = Control(path)
        place = self.region.place
        try:
            await control.send("watch", first=place.offset, last=place.offset + place.length - 1, every_ms=WATCH_MS)
            while True:
                event = (await control.line())["event"]
                self._data = bytes.fromhex(event["data"])
                if "updates" not in event:          # the watch has begun
                    self._since = self._since or time.monotonic()
                    continue
                self._last, self._writer = time.monotonic(), event["source"]
                self._updates[path] = self._updates.get(path, 0) + event["updates"]
        except GONE:
            pass
        finally:
            control.close()

    def count(self, seconds):
        """Ends a round. Who stores himself is told of less: the greater number is right."""
        if self._since is not None:
            self._rate = max(self._updates.values(), default=0) / seconds
        self._updates = {}

    def _judge(self):
        """Is it stale? What is shown has happened. None: nobody tells, or no period is stated."""
        stale = self._is_stale()
        if stale != self._stale and None not in (stale, self._stale):
            self._happened(f"{self.region.name} is {'stale' if stale else 'fresh again'}")
        self._stale = stale
        return stale

    def _is_stale(self):
        if self._since is None or self.region.period is None:
            return None
        patience = STALE_PERIODS * self.region.period + 2 * WATCH_MS / 1000
        return time.monotonic() - max(self._since, self._last or 0) > patience

    def look(self):
        values = [(name, self._regions.text(self.region, place, self._data), unit)
                  for name, place, unit in self.region.values]
        return {"name": self.region.name, "owner": self.region.owner, "period": self.region.period,
                "watched": self._since is not None, "stale": self._judge(), "rate": self._rate, "writer": self._writer,
                "age": None if self._last is None else round(time.monotonic() - self._last, 1),
                "values": values, "more": self.region.more}


class Ring:
    """All that is known of a ring."""

    def __init__(self, title, hub, members, regions):
        self.title = title
        self._hub = hub
        self._members = members
        self._events = deque(maxlen=EVENTS_KEPT)
        self._told = {}                 # what was the case when it was told last
        self._ports = {}                # node id: the last port it was at
        shown = list(regions or ())
        self._left_out = max(0, len(shown) - REGIONS_SHOWN)
        self._watched = [Watched(region, regions, self._happened) for region in shown[:REGIONS_SHOWN]]

    async def rounds(self):
        """Asks, and yields when there is something new to look at."""
        before = time.monotonic()
        while True:
            await asyncio.gather(*(asked.ask() for asked in self._asked()))
            seers = [member for member in self._members if member.kind == "rmnode" and member.on_ring and not member.paused]
            now = time.monotonic()
            for watched in self._watched:
                watched.watch_by(seers)
                watched.count(now - before)
            before = now
            self._note()
            yield
            await asyncio.sleep(max(0.1, before + ROUND_S - time.monotonic()))

    def _asked(self):
        return [*([self._hub] if self._hub else []), *self._members]

    def close(self):
        for asked in self._asked():
            asked.close()
        for watched in self._watched:
            watched.watch_by([])

    # --- what is to be seen ---

    def look(self):
        """The ring and who is on it."""
        return {"title": self.title, "whole": self._whole(), "hub": self._hub and self._hub.look(),
                "nodes": self._nodes(), "silent": [asked.path for asked in self._asked() if asked.silent],
                "events": list(self._events)}

    def look_at_values(self):
        return {"regions": [watched.look() for watched in self._watched], "left_out": self._left_out}

    def _viewer(self):
        """Who tells of the others; None: nobody can."""
        return next((member for member in self._members if member.on_ring), None)

    def _whole(self):
        viewer = self._viewer()
        return not viewer.open if viewer else None

    def _at_ports(self):
        """{node id: its port of the hub}"""
        for port in self._hub.ports if self._hub else ():
            peer = port["in"].get("peer") or {}
            if "node" in peer:
                self._ports = {node: number for node, number in self._ports.items() if number != port["port"]}
                self._ports[peer["node"]] = port["port"]
        ports = {port["port"]: port for port in self._hub.ports} if self._hub else {}
        return {node: ports[number] for node, number in self._ports.items() if number in ports}

    def _nodes(self):
        """In the order of the ring, and then those who are not on it."""
        viewer = self._viewer()
        ports = self._at_ports()
        members = defaultdict(list)
        for member in self._members:
            if member.node is not None:
                members[member.node].append(member)
        hops = {}
        if viewer:      # the last one downstream is one hop before us
            hops = {**viewer.hops, viewer.node: float("inf")}
        nodes = []
        for node in sorted({*members, *ports, *hops}):
            heard = node in hops if viewer else None
            those = members.get(node, [None])
            if len(those) == 1:
                nodes.append(self._node(node, those[0], ports.get(node), heard))
            else:           # whose port it is the hub does not tell
                nodes += [self._node(node, member, None, heard, member.path) for member in those]
        place = {node: -count for node, count in hops.items()} or {node: port["port"] for node, port in ports.items()}
        return sorted(nodes, key=lambda node: (node["on"] is False, place.get(node["id"], float("inf")), node["id"]))

    def _node(self, node, member, port, heard, path=None):
        """The path tells it from others with its id."""
        troubles, evidence = [], [heard]
        if member and member.dead:
            troubles.append("the machine is dead")
            evidence.append(False)
        elif member and member.silent:
            troubles.append(member.silence)
        if port:
            evidence.append(port["live"])
            troubles += [PORTS[port["state"]]] if not port["live"] else []
            troubles += ["the fibre to it is cut"] * (port["cut"] in ("out", "both"))
        if member and member.answering:
            evidence.append(member.on_ring)
            troubles += member.troubles + ["paused"] * member.paused
        known = [fact for fact in evidence if fact is not None]
        asked = member is not None and member.answering
        return {"id": node, "path": path, "kind": member.kind if member else None,
                "port": port and port["port"], "on": all(known) if known else None, "troubles": troubles,
                "asked": asked, **{name: member.rates.get(name) if asked else None
                                   for name in RATES},
                "losses": losses_of(member, LOSSES) if asked else None}

    # --- what has happened ---

    def _happened(self, text):
        self._events.appendleft((time.time(), text))

    def _note(self):
        """Tells what has changed since the round before."""
        nodes = {f"node {node['id']}" + (f" ({node['path']})" if node["path"] else ""): node for node in self._nodes()}
        told = {"ring": WHOLE[self._whole()]}
        for who, node in nodes.items():
            told[who] = f"{who}: {', '.join(node['troubles']) or ON_RING[node['on']]}"
        for what, text in told.items():
            if self._told.get(what) != text:
                self._happened(text)
        self._told = told
        losses = {who: node["losses"] for who, node in nodes.items()}
        losses["hub"] = self._hub and self._hub.look()["losses"]
        for who, counts in losses.items():
            for name, (count, rising) in (counts or {}).items():
                if rising:
                    self._happened(f"{who}: {name} {count}")
