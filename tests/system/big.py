#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rings of many members, and rings that are full.

big.py                      32 members for 5 s; 16 that store as fast as they can for 5 s
big.py --long members       256 members for 60 s
big.py --long saturation    16 that store as fast as they can for 60 s
"""

import secrets
import signal
import sys
import time

from suite import expect, figure, plan, run, wait_for
from members import Node, Place, Storm, all_call, fenced, kilobytes, with_name

MIB = 1 << 20
MEMORY = 64 * MIB
FOOTPRINT = 2 * MIB
WINDOW = 4                      # a round through 256 members must be shorter than its expiry
STALL_LIMIT_MS = 10000
FENCE_MS = 60000
INSERT_SLOTS = 256              # they leave a few a round: a fence waits behind all of them
JOIN_S = 120
SIZES = 4, 8, 64                # of a store, bytes
PSS_LIMIT = 1024 * 1024         # KiB

STORMS = 16
BUFFER = 4096                   # of a socket, bytes
STALL_MS = 400
STOPPED_S = 6
FAIR = 0.5


# --- many members -----------------------------------------------------------

def start_members(place, count):
    nodes = [place.add(Node(place.folder, node, *place.daisy(node, count), "--memory", "64M",
                            "--log", "none", "--window", WINDOW, "--insert-slots", INSERT_SLOTS,
                            "--stall-limit-ms", STALL_LIMIT_MS))
             for node in range(count)]
    for node in nodes:
        node.up()
    for node in nodes:
        node.control.ask("wait", members=count - 1, timeout_ms=JOIN_S * 1000)
    for node in nodes:
        node.control.socket.settimeout(JOIN_S + 10)
        node.control.answer()
    return nodes


def load(nodes, seconds):
    """Every member stores at random places of its own, as fast as the ring takes it, all at once."""
    for node in nodes:
        node.control.ask("load", first=0, last=FOOTPRINT - 1, parts=len(nodes), random=True,
                         size=SIZES[node.node % len(SIZES)], seed=secrets.randbits(32) + 1,
                         milliseconds=seconds * 1000)
    memory = pss(nodes)
    for node in nodes:
        node.control.socket.settimeout(seconds + 60)
        done = node.control.answer()
        expect(done["dropped"] == 0, f"{node.name} has dropped {done['dropped']} stores")
    return max(memory, pss(nodes))


def fence(nodes):
    """All that was stored is everywhere."""
    for node in nodes:
        node.control.ask("fence", timeout_ms=FENCE_MS)
    for node in nodes:
        node.control.answer()


def check_members(nodes, before):
    """Nothing was lost since all were on the ring, and every queue kept within its bound."""
    after = [node.stats() for node in nodes]
    grown = [{name: now[name] - then[name] for name in now} for then, now in zip(before, after)]
    updates = sum(s["sent"] for s in grown)
    for node, s, peak in zip(nodes, grown, after):
        for name in ("lost", "dark", "full", "unsendable", "overrun", "missed", "late", "bad",
                     "hop_limit"):
            expect(s[name] == 0, f"{node.name}: {name} is {s[name]}")
        expect(s["sent"] == s["home"], f"{node.name}: {s['sent']} sent, {s['home']} home")
        expect(s["received"] == updates - s["sent"],
               f"{node.name}: {s['received']} received of {updates - s['sent']}")
        expect(s["sent"] > 1, f"{node.name} wrote nothing")
        expect(peak["window_peak"] <= WINDOW, f"{node.name}: window {peak['window_peak']}")
        # A fence finds room where stores have none any more.
        waited = peak["insert_peak"]
        expect(waited <= INSERT_SLOTS + 1, f"{node.name}: {waited} waited")
        expect(peak["tx_peak"] <= len(nodes) * (WINDOW + 2), f"{node.name}: FIFO {peak['tx_peak']}")
    return updates, max(s["tx_peak"] for s in after), max(s["insert_peak"] for s in after)


def pss(nodes):
    return sum(kilobytes(node.pid, "Pss") for node in nodes)


def many_members(count, seconds):
    """Members without machines share a footprint of 2 MiB: all equal, nothing lost, in bounds"""
    with Place("big") as place:
        nodes = start_members(place, count)
        before = [node.stats() for node in nodes]
        memory = load(nodes, seconds)
        fence(nodes)
        updates, fifo, insert = check_members(nodes, before)
        sums = {checksum(node, 0) for node in nodes}
        expect(len(sums) == 1, f"memories differ: {sums}")
        expect(sums != {checksum(nodes[0], MEMORY // 2)}, "nothing was written")
        memory = max(memory, pss(nodes))
        expect(memory < PSS_LIMIT, f"{memory} KiB in total")
        figure(f"{count} members, {seconds} s: {updates} updates, "
               f"{updates * count / seconds / 1e6:.2f} M hops a second; FIFO at most {fifo} deep, "
               f"{insert} stores waiting; PSS {memory >> 10} MiB")


def checksum(node, first):
    return node.call("checksum", first=first, last=first + FOOTPRINT - 1)["crc32c"]


# --- saturation ----------------------------------------------------------------

def storms(place, *options):
    """Sixteen on a daisy chain of streams with tiny buffers, all on the ring."""
    ring = [place.add(Storm(place.folder, node, *place.daisy(node, STORMS), "-x", "-b", BUFFER,
                            *options))
            for node in range(STORMS)]
    for storm in ring:
        wait_for(f"{storm.name} is on the ring", lambda: storm.is_member(STORMS))
    return ring


def halt(ring):
    """No more stores; all that were made have come home, or never will. Returns what each shows."""
    all_call(ring, "halt")
    for storm in ring:
        wait_for(f"a fence of {storm.name}", lambda: fenced(storm))
    return [storm.show() for storm in ring]


def check_books(ring, shows):
    """What each has sent came home or is lost, and each other one has it or misses it."""
    for storm, show in zip(ring, shows):
        s = show["stats"]
        expect(s["sent"] == s["home"] + s["lost"],
               f"{storm.name}: {s['sent']} sent, {s['home']} home, {s['lost']} lost")
        expect(s["full"] == show["refused"],
               f"{storm.name}: {s['full']} counted, {show['refused']} stores were refused")
        expect(show["backwards"] == 0 and show["torn"] == 0, f"{storm.name}: {show}")
        for other, his in zip(ring, shows):
            if other is storm:
                continue
            seen = his["members"][str(storm.node)]
            expect(seen["received"] + seen["missed"] == s["sent"],
                   f"{other.name} has {seen['received']} of {storm.name}, misses {seen['missed']}, "
                   f"of {s['sent']}")
            expect(seen["missed"] <= s["lost"],
                   f"{other.name} misses {seen['missed']}, {storm.name} lost {s['lost']}")


def saturation(seconds):
    """Sixteen nodes store as fast as they can, tiny buffers: no deadlock, nothing lost, nobody starves"""
    with Place("saturation") as place:
        ring = storms(place, "-S", 10000)
        all_call(ring, "go")
        time.sleep(seconds)
        stored = [show["stored"] for show in all_call(ring, "show")]
        shows = halt(ring)
        check_books(ring, shows)
        for storm, show in zip(ring, shows):
            expect(show["stats"]["lost"] == 0, f"{storm.name} lost {show['stats']['lost']}")
        expect(len({show["sum"] for show in shows}) == 1, "memories differ")
        mean = sum(stored) / len(stored)
        figure(f"{seconds} s: {sum(stored)} stores, {sum(stored) / seconds:.0f} a second; "
               f"slowest {min(stored) / mean:.2f}, fastest {max(stored) / mean:.2f} of the mean; longest "
               f"silence {max(s['silence'] for s in shows):.2f} s, FIFO at most "
               f"{max(s['stats']['tx_peak'] for s in shows)}")
        expect(min(stored) >= FAIR * mean, f"somebody starves: {stored}")


def stopped_member():
    """One of sixteen is stopped: no store waits beyond the limit, every drop is counted, all balances after"""
    with Place("stopped") as place:
        ring = storms(place, "-S", STALL_MS)
        all_call(ring, "go")
        victim = ring[secrets.randbelow(STORMS)]
        others = [storm for storm in ring if storm is not victim]
        print(f"# {victim.name} is stopped")
        wait_for("stores", lambda: min(s["stored"] for s in all_call(ring, "show")) > 1000)
        victim.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        wait_for("drops", lambda: sum(show["refused"] for show in all_call(others, "show")) > 0)
        time.sleep(STOPPED_S)       # as long as a person would look at it in a debugger
        stood = (time.monotonic() - begin) * 1e3
        victim.send_signal(signal.SIGCONT)
        shows = halt(ring)
        check_books(ring, shows)
        stall = max(show["stats"]["longest_stall_ns"] for storm, show in zip(ring, shows)
                    if storm is not victim) / 1e6
        late = max(show["late"] for storm, show in zip(ring, shows) if storm is not victim) * 1e3
        dropped = sum(show["stats"]["lost"] for show in shows)
        full = sum(show["stats"]["full"] for show in shows)
        figure(f"one of {STORMS} stopped for {STOPPED_S} s: longest stall {stall:.0f} ms of "
               f"{STALL_MS}, a thread woke up to {late:.0f} ms late; {dropped} frames lost, {full} of them for want of room")
        expect(dropped > 0, "nothing was dropped: the test did not test")
        # Whoever has waited long enough still waits for the CPU, and for a lock whose owner does.
        # Without a limit it would be for as long as nothing moved.
        expect(STALL_MS <= stall < stood / 2,
               f"a store waited for {stall:.0f} ms, and nothing moved for {stood:.0f}")


LONG = {
    "members": [with_name(many_members, 256, 60)],
    "saturation": [with_name(saturation, 60), stopped_member],
}
SHORT = [with_name(many_members, 32, 5), with_name(saturation, 5), stopped_member]


def main():
    tests = LONG[sys.argv[2]] if "--long" in sys.argv else SHORT
    plan(tests)
    return bool(run(tests))


if __name__ == "__main__":
    sys.exit(main())
