#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frames that get lost, and members that die.

faults.py                   faults at the hub; ten deaths on a hub and ten on a daisy chain
faults.py --long hub        a hundred deaths on a hub
faults.py --long daisy      a hundred deaths on a daisy chain
"""

import random
import secrets
import socket
import struct
import sys
import time

import wire
from suite import PATIENCE_S, expect, figure, plan, run, wait_for
from members import Hub, Place, Storm, all_call, fenced, with_name

COUNT = 4
LOAD_S = 1
PERCENT = 0.01
MEMBERS = 6
SHORT_DEATHS = 10
LONG_DEATHS = 100
GO_ON_S = 1.0   # a hub that waited for the silence of a dead member would take twice as long
WORDS = 8                       # of each member: two frames in a row write the same ones


# --- faults at the hub ----------------------------------------------------------------

WHOLE, BAD, HEARTBEAT = range(3)

def through_port(stream, firings):
    """What one source's frames look like behind a port: which are still there, in which order.

    A frame is (number, what): WHOLE, BAD, or a HEARTBEAT that says that this number is the last.
    What happens to it is "drop", "corrupt", or (how many whole ones with greater numbers pass it,
    how many heartbeats do).
    """
    out, held = [], []
    for number, what in stream:
        action = firings.get(number) if what == WHOLE else None
        if action == "drop":
            continue
        if action == "corrupt":
            out.append((number, BAD))
            continue
        if action:
            numbered, heartbeats = action
            if heartbeats:
                out.append((number, HEARTBEAT))
            if numbered:
                held.append([numbered, (number, what)])
                continue
        out.append((number, what))
        if what != WHOLE:
            continue
        for waiting in held:
            waiting[0] -= number > waiting[1][0]
        out += [one for left, one in held if not left]
        held = [waiting for waiting in held if waiting[0]]
    return out + [one for _, one in held]


def at_node(stream):
    """What a node makes of it: what it takes, in order, what is late and not stored, what is bad."""
    newest, taken, late, bad = 0, [], set(), 0
    for number, what in stream:
        if what == BAD:
            bad += 1
        elif what == HEARTBEAT:
            newest = max(newest, number)
        elif number > newest:
            newest = number
            taken.append(number)
        else:
            late.add(number)
    return newest, taken, late, bad


def reckon(sent, firings):
    """What the hub's log of firings must have led to, at every node.

    sent: how many frames each source has numbered. Node n sits at port n.
    """
    missed, late, bad, lost = {}, [0] * COUNT, [0] * COUNT, [0] * COUNT
    for source in range(COUNT):
        stream = [(number, WHOLE) for number in range(1, sent[source] + 1)]
        unstored = set()        # passed on with that mark: lost, though they come home
        for step in range(COUNT):
            port, node = (source + step) % COUNT, (source + step + 1) % COUNT
            stream = through_port(stream, firings.get((port, source), {}))
            newest, taken, was_late, was_bad = at_node(stream)
            expect(newest == sent[source], "the last frame, a fence, was hit")
            late[node] += len(was_late)
            bad[node] += was_bad
            stream = [frame for frame in stream if frame[1] != BAD]
            if node == source:
                lost[source] = sent[source] - len(set(taken) - unstored)
            else:
                unstored |= was_late
                missed[node, source] = sent[source] - len(taken)
    return missed, late, bad, lost


def storms_on(place, hub, *options):
    """A ring that a busy host holds up loses nothing: what the hub damages is all that is lost."""
    storms = [place.add(Storm(place.folder, node, hub.rx(node), hub.tx(node), "-n", WORDS,
                              "-S", 10000, *options))
              for node in range(COUNT)]
    for storm in storms:
        wait_for(f"{storm.name} is on the ring", lambda: storm.is_member(COUNT))
    return storms


def load(storms, seconds):
    """Stores for some time. Returns what each shows when all is home or lost."""
    all_call(storms, "go")
    time.sleep(seconds)
    all_call(storms, "halt")
    for storm in storms:
        wait_for(f"a fence of {storm.name}", lambda: fenced(storm))
    return [storm.show() for storm in storms]


def same_books():
    """1 % drop, 1 % corruption and reordering: both ends and the hub count the same, frame by frame"""
    depth = 2
    with Place("faults") as place:
        hub = Hub(place, COUNT)
        storms = storms_on(place, hub)
        for kind in ("drop", "corrupt", "reorder"):
            hub.fault(kind=kind, probability=PERCENT, seed=secrets.randbits(32),
                      **({"depth": depth} if kind == "reorder" else {}))
        shows = load(storms, LOAD_S)
        firings = {}
        kinds = hub.fired()
        expect(min(kinds.values()) > 0, f"faults that did not fire: {kinds}")
        wait_for("all firings are logged", lambda: len(hub.firings()) == sum(kinds.values()))
        for line in hub.logged():
            what = {"reorder": (depth, 0),
                    "let-go": (line.get("overtaken_by"), line.get("heartbeats"))}
            firings.setdefault((line["port"], line["source"]), {})[line["seq"]] = \
                what.get(line["action"], line["action"])
        missed, late, bad, lost = reckon([show["stats"]["sent"] for show in shows], firings)
        for node, show in enumerate(shows):
            s = show["stats"]
            counted = (s["lost"], s["late"], s["bad"])
            expect(counted == (lost[node], late[node], bad[node]),
                   f"node {node} has lost, late, bad {counted}, the hub's log says "
                   f"{(lost[node], late[node], bad[node])}")
            expect(s["sent"] == s["home"] + s["lost"], f"node {node}: {s}")
            for source in set(range(COUNT)) - {node}:
                theirs = show["members"][str(source)]["missed"]
                expect(theirs == missed[node, source],
                       f"node {node} misses {theirs} of {source}, the hub's log says "
                       f"{missed[node, source]}")
            expect(show["backwards"] == 0, f"node {node}: {show['backwards']} words went back")
        figure(f"{sum(s['stats']['sent'] for s in shows)} frames, {kinds}: lost {lost}, late {late}, "
               f"bad {bad}, as the hub's log says")


def nothing_lost(storms, seconds):
    for storm, show in zip(storms, load(storms, seconds)):
        s = show["stats"]
        expect(s["lost"] == 0 and s["missed"] == 0 and s["sent"] == s["home"],
               f"{storm.name}: {s['lost']} lost, {s['missed']} missed")
        expect(show["backwards"] == 0, f"{storm.name}: {show['backwards']} words went back")


def redundant():
    """Redundant transfers: a tenth of the first copies dropped or damaged, or of the second: nothing lost"""
    with Place("redundant") as place:
        hub = Hub(place, COUNT)
        storms = storms_on(place, hub, "-2")
        for kind in ("drop", "corrupt"):
            for copy in ("first", "second"):
                hub.fault(kind=kind, probability=0.1, copy=copy, seed=secrets.randbits(32))
                nothing_lost(storms, LOAD_S)
                fired = hub.fired()[kind]
                expect(fired > 0, f"no {copy} copy was hit")
                figure(f"{kind} of {fired} {copy} copies")
                hub.clear()


# --- a member dies ------------------------------------------------------------------

class Ring:
    """Storms, each of which may die and come back."""

    def __init__(self, place, hub):
        self.place, self.hub = place, hub
        self.lives = [0] * MEMBERS
        self.storms = [self.born(node) for node in range(MEMBERS)]
        for storm in self.storms:
            wait_for(f"{storm.name} is on the ring", lambda: storm.is_member(MEMBERS))

    def born(self, node):
        """A node with a life number greater than that of any before."""
        self.lives[node] += 1
        ends = (self.hub.rx(node), self.hub.tx(node)) if self.hub else self.place.daisy(node, MEMBERS)
        return self.place.add(Storm(self.place.folder, node, *ends, "-n", WORDS, "-S", 10000,
                                    "-l", self.lives[node]))

    def others(self, node):
        return [storm for storm in self.storms if storm.node != node]

    def shows(self, storms):
        return dict(zip((storm.node for storm in storms), all_call(storms, "show")))

    def kill(self, node):
        """At once, with whatever it was doing. Returns what the others showed before."""
        others = self.others(node)
        all_call(others, "clear")
        before = self.shows(others)
        self.storms[node].end()
        return before

    def come_back(self, node):
        self.storms[node] = self.born(node)
        self.storms[node].call("go")
        for storm in self.storms:
            wait_for(f"{storm.name} is on a whole ring again", lambda: storm.is_member(MEMBERS))
        new = self.lives[node]
        for storm in self.others(node):
            wait_for(f"{storm.name} hears {node} in its life {new}",
                     lambda: storm.show()["lives"].get(str(node)) == new)


def nothing_went_back(shows):
    for node, show in shows.items():
        expect(show["backwards"] == 0, f"node {node}: {show['backwards']} words went back")
        expect(show["torn"] == 0, f"node {node}: {show['torn']} torn")


def went_on(ring, node, before):
    """On a hub: the others' stores come home again. Returns the longest silence."""
    others = ring.others(node)

    def moves():
        return all(show["stats"]["home"] > before[number]["stats"]["home"] + 1000
                   for number, show in ring.shows(others).items())

    wait_for("the others go on", moves)
    return max(show["silence"] for show in ring.shows(others).values())


def was_reported(ring, node, before):
    """On a daisy chain: the next one loses its signal, and all others are told by it."""
    after = (node + 1) % MEMBERS

    def known():
        shows = ring.shows(ring.others(node))
        return (shows[after]["sync_losses"] > before[after]["sync_losses"]
                and not shows[after]["state"]["signal"]
                and all(show["state"]["break_at"] == after and show["breaks"] > before[number]["breaks"]
                        for number, show in shows.items() if number != after))

    start = time.monotonic()
    wait_for(f"the death of {node} is known to all", known)
    return time.monotonic() - start


def final_books(ring):
    """After all that: what was sent is home or lost, and the memories are equal."""
    before = ring.shows(ring.storms)
    wait_for("every word is stored once more",
             lambda: all(show["stats"]["home"] > before[node]["stats"]["home"] + 2 * WORDS
                         for node, show in ring.shows(ring.storms).items()))
    all_call(ring.storms, "halt")
    for storm in ring.storms:
        wait_for(f"a fence of {storm.name}", lambda: fenced(storm))
    shows = ring.shows(ring.storms)
    nothing_went_back(shows)
    for node, show in shows.items():
        s = show["stats"]
        expect(s["sent"] == s["home"] + s["lost"],
               f"node {node}: {s['sent']} sent, {s['home']} home, {s['lost']} lost")
        expect(not show["state"]["left"], f"node {node} has left the ring")
    expect(len({show["sum"] for show in shows.values()}) == 1, "memories differ")
    return sum(show["checked"] for show in shows.values())


def deaths(topology, count):
    seed = secrets.randbits(32)
    chance = random.Random(seed)
    print(f"# seed {seed}", flush=True)
    with Place(f"deaths-{topology}") as place:
        ring = Ring(place, Hub(place, MEMBERS) if topology == "hub" else None)
        all_call(ring.storms, "go")
        times = []
        for _ in range(count):
            node = chance.randrange(MEMBERS)
            time.sleep(chance.random() * 0.3)       # the random moment
            before = ring.kill(node)
            times.append((went_on if topology == "hub" else was_reported)(ring, node, before))
            ring.come_back(node)
            nothing_went_back(ring.shows(ring.storms))
        checked = final_books(ring)
    # A host that stands still holds up anybody, but not most times.
    late = [f"{seconds:.2f}" for seconds in times if seconds >= GO_ON_S]
    expect(topology != "hub" or len(late) <= count // 5, f"nothing came home for {late} s")
    what = "longest silence" if topology == "hub" else "reported after at most"
    figure(f"{count} deaths, {topology}: {what} {max(times):.2f} s; {checked} words checked")


def deaths_on_a_hub(count):
    """kill -9 of members at random moments: through a hub the others go on at once"""
    deaths("hub", count)


def deaths_on_a_chain(count):
    """kill -9 of members at random moments: a daisy chain reports the break and recovers"""
    deaths("daisy", count)


# --- frames of an earlier life -----------------------------------------------------------

def life_of(unit):
    return struct.unpack_from("<Q", unit, 16)[0]


class Recorder:
    """Closes a daisy chain of storms, keeps what comes to it, and sends only what it is told to."""

    def __init__(self, place, count):
        self.first = f"{place.folder}/0"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{place.folder}/{count}")
        self.listener.listen()
        self.came = b""

    def meet_last(self):
        """Be the downstream neighbour of the last one."""
        self.last = self.listener.accept()[0]
        self.last.settimeout(PATIENCE_S)
        hello = self.last.recv(wire.MESSAGE, socket.MSG_WAITALL)
        expect(hello[:2] == b"RL" and hello[3] == wire.HELLO, f"the HELLO is {hello.hex()}")
        self.last.sendall(wire.message(wire.WELCOME))

    def meet_first(self):
        """And the upstream neighbour of the first, with light."""
        self.to_first = socket.socket(socket.AF_UNIX)
        self.to_first.settimeout(PATIENCE_S)
        wait_for("the first one listens", lambda: not self.to_first.connect_ex(self.first))
        self.to_first.sendall(wire.message(wire.HELLO))
        welcome = self.to_first.recv(wire.MESSAGE, socket.MSG_WAITALL)
        expect(welcome[3] == wire.WELCOME, f"the WELCOME is {welcome.hex()}")
        self.shine()

    def shine(self):
        """Who says nothing for two seconds has no light."""
        self.to_first.sendall(wire.message(wire.LIGHT, value=1))

    def lights(self, storm):
        """Has the storm light? The first one if we still say so."""
        self.shine()
        return storm.show()["state"]["signal"]

    def frames(self, source, wanted, former=None):
        """The next so many updates of a source, but for those of a former life."""
        found = []
        while len(found) < wanted:
            self.shine()
            self.came += self.last.recv(65536)
            while len(self.came) >= wire.HEADER:
                length = wire.HEADER + self.came[7] if self.came[:2] == b"RF" else wire.MESSAGE
                if len(self.came) < length:
                    break
                unit, self.came = self.came[:length], self.came[length:]
                if unit[:2] == b"RF" and unit[3] == wire.DATA and unit[4] == source \
                        and life_of(unit) != former:
                    found.append(unit)
        return found

    def close(self):
        for sock in (self.listener, self.last, self.to_first):
            sock.close()


def never_arrived(unit):
    """The same update under a number of that life that nobody has seen."""
    address, = struct.unpack_from("<I", unit, 8)
    incarnation, seq = struct.unpack_from("<QQ", unit, 16)
    return wire.frame(source=unit[4], seq=seq + 1_000_000_000, address=address,
                      incarnation=incarnation, data=unit[wire.HEADER:])


def earlier_life():
    """Frames of an earlier life that come back when the node has stored anew change nothing"""
    count = 3
    with Place("earlier-life") as place:
        def born(node, life):
            return place.add(Storm(place.folder, node, f"unix:{place.folder}/{node},server",
                                   f"unix:{place.folder}/{node + 1}", "-n", WORDS, "-l", life))

        recorder = Recorder(place, count)
        storms = [born(node, 1) for node in range(count)]
        others = storms[1:]
        recorder.meet_last()
        recorder.meet_first()
        for storm in storms:
            wait_for(f"{storm.name} has light", lambda: recorder.lights(storm))
        storms[0].call("go")
        old = recorder.frames(0, 100)
        old += [never_arrived(unit) for unit in old]
        storms[0].end()
        again = born(0, 2)
        recorder.meet_first()
        wait_for("it has light again", lambda: recorder.lights(again))
        again.call("go")
        # What the former life had on the way still comes first.
        recorder.frames(0, 100, former=life_of(old[0]))
        again.call("halt")
        for storm in others:
            wait_for(f"{storm.name} has the new life's words", lambda: storm.show()["lives"]["0"] == 2)
        before = [storm.show()["stats"]["late"] for storm in others]
        recorder.to_first.sendall(b"".join(old))
        for storm, late in zip(others, before):
            wait_for(f"{storm.name} has seen the old frames",
                     lambda: storm.show()["stats"]["late"] >= late + len(old))
            show = storm.show()
            expect(show["backwards"] == 0 and show["lives"]["0"] == 2,
                   f"{storm.name} has taken frames of the earlier life: {show}")
        recorder.close()


LONG = {
    "hub": [with_name(deaths_on_a_hub, LONG_DEATHS)],
    "daisy": [with_name(deaths_on_a_chain, LONG_DEATHS)],
}
SHORT = [same_books, redundant, earlier_life, with_name(deaths_on_a_hub, SHORT_DEATHS), with_name(deaths_on_a_chain, SHORT_DEATHS)]


def main():
    tests = LONG[sys.argv[2]] if "--long" in sys.argv else SHORT
    plan(tests)
    return bool(run(tests))


if __name__ == "__main__":
    sys.exit(main())
