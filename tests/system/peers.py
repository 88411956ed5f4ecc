#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers that do not keep to the protocol, against rmnode, rmhub and the card.

Every attack is made on an rmnode and on a card whose two neighbours are the attacker, on the second
connection to an rmnode that has its neighbours, and on a free port of an rmhub on which three
members store. None may crash, hang or grow, and the members' ring goes on.
"""

import os
import random
import secrets
import socket
import sys
import threading
import time

import askers
import peer
import wire
from suite import PATIENCE_S, asked, expect, figure, plan, run, wait_for
from members import Card, Hub, Node, Place, Storm, all_call, descriptors, fenced, kilobytes

MEMBERS = 3
QUEUE = 64 * 1024           # KiB of a full transmit FIFO
GROWTH = 4 * 1024               # what else may come
SPARE_FDS = 16
DEADLINE_S = 2.0                # of the handshake, and of silence
GONE_S = 10.0                   # who is silent for so long is shown out
FLOOD_S = 1.0
FRAMES = 2000
FREE = 1 << 19                  # address that no member uses

chance = random.Random()


# --- what an attacker does --------------------------------------------------------

def push(sock, data):
    """Send what the other side takes; it may hang up."""
    try:
        sock.sendall(data)
        return True
    except (BrokenPipeError, ConnectionResetError, socket.timeout):
        return False


def hung_up(sock, seconds=GONE_S - DEADLINE_S):
    """Does the other side end the connection by itself, and not only for our silence?"""
    sock.settimeout(seconds)
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    except socket.timeout:
        return False
    return True


def greet(sock, value=0, fds=()):
    """A proper HELLO; returns answer_to_hello()."""
    if fds:
        wire.send_with_fds(sock, wire.message(wire.HELLO, value=value), fds)
    else:
        push(sock, wire.message(wire.HELLO, value=value))
    return answer_to_hello(sock)


def answer_to_hello(sock):
    """Its kind and value, or None if there is none."""
    try:
        answer = sock.recv(wire.MESSAGE, socket.MSG_WAITALL)
    except (ConnectionResetError, socket.timeout):
        return None
    return (answer[3], answer[5]) if len(answer) == wire.MESSAGE else None


def lit(victim, **options):
    """A connection on which frames may follow."""
    sock = victim.upstream()
    answer = greet(sock, **options)
    expect(answer and answer[0] == wire.WELCOME, f"a proper HELLO was answered {answer}")
    push(sock, wire.message(wire.LIGHT, value=1))
    return sock


def flood(sock, block, seconds=FLOOD_S):
    end = time.monotonic() + seconds
    sent = 0
    while time.monotonic() < end and push(sock, block):
        sent += len(block)
    return sent


def garbage(victim):
    """Random bytes instead of a HELLO"""
    for _ in range(20):
        with victim.upstream() as sock:
            push(sock, chance.randbytes(100_000))
            expect(hung_up(sock), "a peer that sends garbage is kept")


def garbage_after_hello(victim):
    """A proper HELLO and light, then random bytes"""
    for _ in range(20):
        with lit(victim) as sock:
            push(sock, chance.randbytes(100_000))
            expect(hung_up(sock), "a peer that sends garbage is kept")


def other_version(victim):
    """A HELLO of another version is refused in words"""
    for version in (0, 1, wire.VERSION - 1, wire.VERSION + 1, 255):
        with victim.upstream() as sock:
            push(sock, wire.message(wire.HELLO, version=version))
            answer = sock.recv(wire.MESSAGE, socket.MSG_WAITALL)
            expect(answer[:2] == b"RL" and answer[3] == wire.REFUSE and answer[5] == 1,
                   f"version {version} was answered {answer.hex()}")
            expect(hung_up(sock), "it is kept all the same")


def half_hello(victim):
    """Half a HELLO and then nothing"""
    with victim.upstream() as sock:
        push(sock, wire.message(wire.HELLO)[:20])
        expect(hung_up(sock), "a peer that does not finish its handshake is kept")


def silent(victim):
    """A connection and nothing else"""
    with victim.upstream() as sock:
        expect(hung_up(sock), "a silent peer is kept")


def only_greets(victim):
    """A proper HELLO and then nothing"""
    with victim.upstream() as sock:
        greet(sock)
        expect(hung_up(sock), "a peer that only greets is kept")


def goes_without_a_word(victim):
    """A neighbour that says nothing any more, while another one waits for its place"""
    with lit(victim) as sock, victim.upstream() as other:
        push(other, wire.message(wire.HELLO))
        expect(hung_up(sock, GONE_S + PATIENCE_S), "a silent neighbour is kept")
        expect(answer_to_hello(other), "the next one is not let in")


def half_frame(victim):
    """Half a frame and then nothing"""
    with lit(victim) as sock:
        push(sock, wire.frame(data=b"x" * 64, address=FREE)[:70])
        victim.goes_on()        # while the other half is still to come
        push(sock, wire.frame(data=b"x" * 64, address=FREE)[70:])


def slow(victim):
    """A frame in single bytes"""
    with lit(victim) as sock:
        for byte in wire.frame(data=b"x" * 64, address=FREE):
            push(sock, bytes([byte]))
        victim.goes_on()


def huge_length(victim):
    """Frames that claim another length than their type may have"""
    for kind, length in ((wire.DATA, 255), (wire.DATA, 65), (wire.DATA, 0), (wire.HEARTBEAT, 1),
                         (wire.INTERRUPT, 64), (wire.FENCE, 255), (wire.MULTICAST, 4),
                         (wire.MULTICAST, 64), (wire.QUERY, 15), (wire.ANSWER, 25), (0, 4), (8, 4),
                         (12, 4), (255, 4)):
        with lit(victim) as sock:
            push(sock, wire.frame(kind=kind, length=length, data=b"x" * 64))
            expect(hung_up(sock), f"type {kind} with a length of {length} is taken")


def frame_of_other_version(victim):
    """A frame of another version"""
    with lit(victim) as sock:
        push(sock, wire.frame(version=1, data=b"abcd"))
        expect(hung_up(sock), "it is taken")


def damaged(victim):
    """As many damaged frames as fit into a second"""
    block = b"".join(wire.frame(seq=n, data=b"x" * 8, damage=1) for n in range(1, 200))
    with lit(victim) as sock:
        flood(sock, block)


def strange_sources(victim):
    """A flood of proper frames from nodes and lives that do not exist"""
    block = b"".join(wire.frame(source=100 + n % 150, seq=chance.getrandbits(63), address=FREE + n * 64,
                                incarnation=chance.getrandbits(63) | 1, data=b"x" * 64)
                     for n in range(FRAMES))
    with lit(victim) as sock:
        flood(sock, block)


def interrupts(victim):
    """A flood of interrupts to all, and to sets of nodes"""
    block = b"".join(wire.frame(kind=wire.INTERRUPT, seq=n, nic=9, data=b"abcd") if n % 2 else
                     wire.frame(kind=wire.MULTICAST, seq=n, nic=n % 16,
                                data=chance.randbytes(36)) for n in range(1, FRAMES))
    with lit(victim) as sock:
        flood(sock, block)


def strange_fields(victim):
    """Proper checks round improper fields"""
    frames = [wire.frame(address=0xffffffff, data=b"x" * 64),
              wire.frame(address=0x0fffffff, data=b"x" * 64),
              wire.frame(address=0x0ffffff0, data=b"x" * 16, seq=2),
              wire.frame(hops=0xffff, data=b"abcd", address=FREE, seq=3),
              wire.frame(marks=0xff, data=b"abcd", address=FREE, seq=4),
              wire.frame(nic=0xff, data=b"abcd", address=FREE, seq=5),
              wire.frame(seq=0, data=b"abcd", address=FREE),
              wire.frame(seq=(1 << 64) - 1, data=b"abcd", address=FREE),
              wire.frame(incarnation=0, data=b"abcd", address=FREE),
              wire.frame(kind=wire.HEARTBEAT, seq=(1 << 64) - 1),
              wire.frame(kind=wire.BREAK), wire.frame(kind=wire.FENCE, data=b"12345678"),
              wire.frame(kind=wire.MULTICAST, nic=0xff, dest=255, data=b"\xff" * 36, seq=6),
              *(wire.frame(kind=wire.QUERY, data=peer.query_data(1, address, length), seq=7)
                for address in (0, 0xfffffff, 0xffffffff) for length in (0, 4096, 0xffffffff)),
              *(wire.frame(kind=wire.ANSWER, dest=dest, data=b"\xff" * 24)
                for dest in range(256))]
    with lit(victim) as sock:
        for _ in range(50):
            push(sock, b"".join(chance.sample(frames, len(frames))))
        victim.goes_on()


def flicker(victim):
    """Light on and off as fast as it goes"""
    block = (wire.message(wire.LIGHT, value=1) + wire.message(wire.LIGHT)) * 100
    with lit(victim) as sock:
        flood(sock, block)


def many_connections(victim):
    """Hundreds of connections at once"""
    socks = []
    for _ in range(300):
        try:
            socks.append(victim.upstream(wait=False))
        except OSError:
            break               # it takes no more: just as well
    for sock in socks:
        sock.close()


# --- from downstream ----------------------------------------------------------------

def garbage_answer(victim):
    """Random bytes instead of a WELCOME"""
    for _ in range(20):
        with victim.downstream() as sock:
            push(sock, chance.randbytes(1000))
            expect(hung_up(sock), "a peer that answers garbage is kept")


def half_welcome(victim):
    """Half a WELCOME and then nothing"""
    with victim.downstream() as sock:
        push(sock, wire.message(wire.WELCOME)[:20])
        expect(hung_up(sock), "a peer that does not finish its handshake is kept")


def takes_what_was_not_offered(victim):
    """A WELCOME of another version, out of turn, or twice"""
    for words in (wire.message(wire.WELCOME, version=1), wire.message(wire.HELLO),
                  wire.message(wire.LIGHT, value=1), wire.message(wire.WELCOME) * 2):
        with victim.downstream() as sock:
            push(sock, words)
            expect(hung_up(sock), f"answer {words[:4].hex()} is taken")


def never_reads(victim):
    """A downstream neighbour that takes nothing, and one that talks without end"""
    with victim.downstream() as sock:
        push(sock, wire.message(wire.WELCOME))
        victim.goes_on(to_us=True)
    with victim.downstream() as sock:
        push(sock, wire.message(wire.WELCOME))
        flood(sock, chance.randbytes(4096))
        expect(hung_up(sock), "it is kept")


# --- as a member: upstream and downstream at once ------------------------------------

class Member:
    """Both ends, with light: part of the ring, as far as anybody can see."""

    def __init__(self, victim):
        self.downstream = victim.downstream()
        push(self.downstream, wire.message(wire.WELCOME))
        self.upstream = lit(victim)
        self.reader = threading.Thread(target=self.read_on)

    def read_on(self):
        self.downstream.settimeout(None)
        try:
            while self.downstream.recv(65536):
                pass
        except OSError:
            pass

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        for sock in (self.downstream, self.upstream):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass            # the other side was faster
            sock.close()
        self.reader.join()


def member_stops_in_a_frame(victim):
    """A member that stops in the middle of a frame, and stays"""
    with Member(victim) as member:
        push(member.upstream, wire.frame(data=b"x" * 64, address=FREE)[:70])
        victim.goes_on()


def member_damages(victim):
    """A member that sends nothing but damaged frames, without end"""
    block = b"".join(wire.frame(seq=n, data=b"x" * 8, damage=1) for n in range(1, 200))
    with Member(victim) as member:
        sender = threading.Thread(target=flood, args=(member.upstream, block, 2 * FLOOD_S))
        sender.start()
        victim.goes_on()
        sender.join()


def member_invents(victim):
    """A member that sends frames of nodes that do not exist, without end, and takes nothing"""
    block = b"".join(wire.frame(source=100 + n % 150, seq=n, address=FREE + n * 64, data=b"x" * 64)
                     for n in range(1, FRAMES))
    member = Member(victim)
    flood(member.upstream, block, 2 * FLOOD_S)
    member.upstream.close()
    member.downstream.close()
    victim.goes_on()


# --- shared memory ---------------------------------------------------------------------

def bad_queues(victim):
    """Shared memory that is none, or not sealed, or of another size than it says"""
    def refused(what, fds, value=wire.HAS_SHM):
        with victim.upstream() as sock:
            answer = greet(sock, value=value, fds=fds)
            expect(not answer or not (answer[0] == wire.WELCOME and answer[1] & wire.HAS_SHM),
                   f"shared memory with {what} is taken")

    null = os.open("/dev/null", os.O_RDWR)
    for what, options in (("no seals", {"seals": 0}),
                          ("one seal missing", {"seals": wire.SEALS & ~wire.fcntl.F_SEAL_SHRINK}),
                          ("another magic", {"magic": 1}), ("another version", {"version": 9}),
                          ("other slots", {"slot": 64}), ("no slots", {"claimed": 0}),
                          ("too many slots", {"claimed": 1 << 31}), ("three slots", {"claimed": 3}),
                          ("more slots than there are", {"claimed": 1024}),
                          ("no bytes", {"size": 0}), ("too few bytes", {"size": 4096}),
                          ("too many bytes", {"size": 1 << 20})):
        queue = wire.Queue(**options)
        refused(what, queue.fds())
        queue.close()
    queue = wire.Queue()
    refused("two descriptors", queue.fds()[:2])
    refused("no descriptors", [])
    refused("files for sockets", [queue.memory, null, null])
    refused("a socket for the memory", [queue.wake[0], *queue.wake])
    refused("thirty descriptors", queue.fds() * 10)
    refused("descriptors nobody spoke of", queue.fds(), value=0)
    queue.close()
    os.close(null)


def with_queue(victim, slots=16):
    queue = wire.Queue(slots=slots)
    sock = victim.upstream()
    answer = greet(sock, value=wire.HAS_SHM, fds=queue.fds())
    expect(answer and answer[0] == wire.WELCOME and answer[1] & wire.HAS_SHM,
           f"proper shared memory was answered {answer}")
    return sock, queue, queue.map()


def crazy_indices(victim):
    """Indices of the shared memory that cannot be"""
    for jump in (17, 1000, 1 << 31, (1 << 32) - 17):
        sock, queue, view = with_queue(victim)
        for _ in range(queue.slots):        # nothing wrong with what is in the slots
            queue.put(view, wire.message(wire.LIGHT, value=1))
        queue.show(view, queue.tail + jump)
        expect(hung_up(sock), f"a tail {jump} ahead is believed")
        sock.close()
        view.close()
        queue.close()


def garbage_slots(victim):
    """Slots full of garbage, and slots that change while they are read"""
    sock, queue, view = with_queue(victim)
    view[wire.SLOTS_AT:] = chance.randbytes(len(view) - wire.SLOTS_AT)
    queue.show(view, 16)
    expect(hung_up(sock), "garbage is taken")
    sock.close()
    for _ in range(20):
        view.close()
        queue.close()
        sock, queue, view = with_queue(victim)
        queue.put(view, wire.message(wire.LIGHT, value=1))
        one = wire.frame(data=b"x" * 64, address=FREE)
        for _ in range(100):
            queue.put(view, one)
            at = wire.SLOTS_AT + (queue.tail - 1) % 16 * wire.SLOT
            view[at:at + 48] = chance.randbytes(48)
        sock.close()
    view.close()
    queue.close()


def wake_ups_without_end(victim):
    """A peer that wakes without end, spoils the words about sleep, and lets calls wait"""
    sock, queue, view = with_queue(victim)
    queue.put(view, wire.message(wire.LIGHT, value=1))
    end = time.monotonic() + FLOOD_S
    while time.monotonic() < end:
        wire.wake(queue.own[0])
        view[wire.SLEEPS:wire.WAITS + 4] = chance.randbytes(wire.WAITS + 4 - wire.SLEEPS)
    victim.goes_on()
    with socket.socket(fileno=os.dup(queue.wake[1])) as room:
        while wire.wake(room):
            pass                                # full: a call that may wait would
    for fd in queue.wake:
        os.set_blocking(fd, True)
    for end in queue.own:
        end.setblocking(True)
    queue.put(view, wire.message(wire.LIGHT, value=1))
    victim.goes_on()
    sock.close()
    view.close()
    queue.close()


UPSTREAM = [garbage, garbage_after_hello, other_version, half_hello, silent, only_greets,
            goes_without_a_word, half_frame, slow, huge_length, frame_of_other_version, damaged,
            strange_sources, interrupts, strange_fields, flicker, many_connections, bad_queues,
            crazy_indices, garbage_slots, wake_ups_without_end]
DOWNSTREAM = [garbage_answer, half_welcome, takes_what_was_not_offered, never_reads]
MEMBER = [member_stops_in_a_frame, member_damages, member_invents]


# --- the victims -----------------------------------------------------------------------

def connect(path, wait=True):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(DEADLINE_S + PATIENCE_S)
    if not wait:
        sock.setblocking(False)
        sock.connect(path)
        return sock
    end = time.monotonic() + PATIENCE_S
    while True:             # one that has just lost its peer may be about to listen again
        try:
            sock.connect(path)
            return sock
        except (BlockingIOError, ConnectionRefusedError):
            if time.monotonic() > end:
                raise


class Victim:
    """Somebody with a listening receiver and a listening transmitter that nobody else uses."""

    def __init__(self, program, rx, tx, queues):
        self.program = program
        self.growth = queues * QUEUE + GROWTH
        self.rx, self.tx = rx, tx
        self.size = kilobytes(program.pid, "Rss")
        self.fds = descriptors(program.pid)

    def upstream(self, wait=True):
        return connect(self.rx, wait)

    def downstream(self):
        """The HELLO that comes is proper; it is taken off."""
        sock = connect(self.tx)
        hello = sock.recv(wire.MESSAGE, socket.MSG_WAITALL)
        expect(len(hello) == wire.MESSAGE and hello[3] == wire.HELLO, f"the HELLO is {hello.hex()}")
        return sock

    def goes_on(self, to_us=False):
        raise NotImplementedError

    def unharmed(self):
        """It answers, has not grown, and has let go of what the attacker left."""
        self.goes_on()
        size = kilobytes(self.program.pid, "Rss")
        expect(size - self.size < self.growth, f"it grew from {self.size} to {size} KiB")
        wait_for("descriptors are closed",
                 lambda: descriptors(self.program.pid) <= self.fds + SPARE_FDS)


class Alone(Victim):
    """An rmnode between two attackers."""

    def __init__(self, place):
        node = place.add(Node(place.folder, 0, f"unix:{place.folder}/rx,server",
                              f"unix:{place.folder}/tx,server", "--memory", "1M")).up()
        super().__init__(node, f"{place.folder}/rx", f"{place.folder}/tx", 1)

    def goes_on(self, to_us=False):
        """It takes orders and stores, whoever its neighbours are."""
        for at in range(0, 65536 if to_us else 64, 64):
            self.program.call("write", first=at, data="5a" * 64)
        expect(self.program.call("read", first=0, last=3)["data"] == "5a5a5a5a", "its memory")


class CardAlone(Victim):
    """A card between two attackers."""

    def __init__(self, place, *options, properties=""):
        card = place.add(Card(place.folder, 0, f"path={place.folder}/rx,server=on,wait=off",
                              f"path={place.folder}/tx,server=on,wait=off", *options,
                              properties=properties)).up()
        super().__init__(card, f"{place.folder}/rx", f"{place.folder}/tx", 1)

    def goes_on(self, to_us=False):
        """Its guest stores, whoever the neighbours are."""
        for at in range(0, 65536 if to_us else 64, 64):
            self.program.store(at, b"\x5a" * 64)
        expect(self.program.load(0, 4) == b"\x5a" * 4, "its memory")


class OnHub(Victim):
    """The free port of an rmhub."""

    def __init__(self, place):
        hub = Hub(place, MEMBERS + 1)
        self.storms = [place.add(Storm(place.folder, node, hub.rx(node), hub.tx(node)))
                       for node in range(MEMBERS)]
        for storm in self.storms:
            wait_for(f"{storm.name} is on the ring", lambda: storm.is_member(MEMBERS))
        all_call(self.storms, "go")
        super().__init__(hub, hub.path_in(MEMBERS), hub.path_out(MEMBERS), MEMBERS + 1)

    def goes_on(self, to_us=False):
        """The members' stores come home, even if the hub has to find the port silent first."""
        before = [show["stats"]["home"] for show in all_call(self.storms, "show")]

        def moves():
            return all(show["stats"]["home"] > home + 1000
                       for home, show in zip(before, all_call(self.storms, "show")))

        wait_for("the members' ring goes on", moves, GONE_S - DEADLINE_S)

    def finish(self):
        """What was stored is home or lost, and nothing was believed that nobody stored."""
        all_call(self.storms, "halt")
        for storm in self.storms:
            wait_for(f"a fence of {storm.name}", lambda: fenced(storm))
            show = storm.show()
            expect(show["stats"]["sent"] == show["stats"]["home"] + show["stats"]["lost"], f"{show}")
            expect(show["backwards"] == 0, f"{show['backwards']} words went back")


def attack(victim, attacks, *args):
    """Every attack, and after each a look at the victim"""
    for one in attacks:
        start = time.monotonic()
        one(victim)
        victim.unharmed()
        print(f"# {one.__doc__}: {time.monotonic() - start:.1f} s", flush=True)
    figure(f"{len(attacks)} attacks on {victim.program.name}: from {victim.size} to "
           f"{kilobytes(victim.program.pid, 'Rss')} KiB")


def befriend(place, victim):
    """A good neighbour is welcome in spite of all: the two are a ring."""
    friend = place.add(Node(place.folder, 1, f"unix:{victim.tx}", f"unix:{victim.rx}",
                            "--memory", "1M")).up()
    wait_for("a good neighbour is welcome", lambda: len(friend.members()) == 1)
    friend.call("write", first=128, data="11223344")
    friend.call("fence")


def on_rmnode():
    """An rmnode between two hostile neighbours does not crash, hang or grow"""
    with Place("peers-node") as place:
        victim = Alone(place)
        attack(victim, UPSTREAM + DOWNSTREAM + MEMBER)
        befriend(place, victim)
        expect(victim.program.call("read", first=128, last=131)["data"] == "11223344", "no ring")


def attack_card(name, *words, **options):
    with Place(name) as place:
        victim = CardAlone(place, *words, **options)
        attack(victim, UPSTREAM + DOWNSTREAM + MEMBER)
        befriend(place, victim)
        expect(victim.program.load(128, 4).hex() == "11223344", "no ring")


def on_card():
    """The same against a card, whose ring runs in a thread of its own"""
    attack_card("peers-card", "-object", "iothread,id=ring", properties=",iothread=ring")


def on_card_in_main_loop():
    """The same against a card whose ring runs in QEMU's main loop"""
    attack_card("peers-main")


def on_rmhub():
    """A hostile peer on a port of an rmhub: hub and members do not crash, hang or grow"""
    with Place("peers-hub") as place:
        victim = OnHub(place)
        attack(victim, UPSTREAM + DOWNSTREAM + MEMBER)
        victim.finish()


def second_connection():
    """Who knocks at a receiver that has its neighbour does not disturb the ring"""
    with Place("peers-knock") as place:
        storms = [place.add(Storm(place.folder, node, *place.daisy(node, MEMBERS),
                                  "-S", 10000))
                  for node in range(MEMBERS)]
        for storm in storms:
            wait_for(f"{storm.name} is on the ring", lambda: storm.is_member(MEMBERS))
        all_call(storms, "go")
        for _ in range(20):
            try:
                with connect(f"{place.folder}/0", wait=False) as sock:
                    push(sock, wire.message(wire.HELLO) + wire.message(wire.LIGHT, value=1)
                         + wire.frame(data=b"x" * 64, address=FREE))
                    push(sock, chance.randbytes(4096))
            except OSError:
                pass            # it takes no second one at all
        all_call(storms, "halt")
        for storm in storms:
            wait_for(f"a fence of {storm.name}", lambda: fenced(storm))
        for storm in storms:
            show = storm.show()
            counts = [show["stats"][name] for name in ("lost", "missed", "bad")]
            expect(show["sync_losses"] == 0 and not any(counts), f"{storm.name}: {show}")


TESTS = [on_rmnode, on_rmhub, on_card, on_card_in_main_loop, second_connection, *askers.TESTS]


def main():
    seed = secrets.randbits(32)
    chance.seed(seed)
    print(f"# seed {seed}")
    tests = asked(TESTS, on_card_in_main_loop)
    plan(tests)
    return bool(run(tests))


if __name__ == "__main__":
    sys.exit(main())
