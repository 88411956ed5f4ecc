#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ring over two hosts: docs/hosts.md, with two network namespaces for the hosts.

Packets between them take a millisecond, and one in a thousand is lost (wan.py). First a daisy chain
of four nodes without machines, two on each host; then a hub on one host, with a machine that moves
from there to the other.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from members import Control, Node, Place, Program, Served, RMHUB
from libvirt import Daemon, Domains
from namespaces import at_namespace
from suite import PATIENT, TOP, clean_console, expect, figure, plan, run, wait_for

DELAY_MS, LOSS_PERCENT, CUT_S = 1, 0.1, 3
ADDRESS = {"a": "10.55.65.1", "b": "10.55.65.2"}
PORTS = {"a": 5601, "b": 5602}          # of the daisy chain
HUB = 5610                              # and the first one of the hub's
MIB = 1 << 20
UPDATES = 1_000_000
ALL_S = 600                             # for a million updates, on a busy host
OPTIONS = ["--memory", "64M", "--stall-limit-ms", 10000]
COUNTER = 8 * MIB                     # where the machine's program counts


class Hosts(Place):
    """Two network namespaces, and the line between them."""

    def __enter__(self):
        self.names = {host: f"rfm-{os.getpid()}-{host}" for host in ADDRESS}
        for name in self.names.values():
            subprocess.run(["ip", "netns", "add", name], check=True)
        with self.at("a"):
            self.line = self.add(Program(
                self.folder, "wan", TOP / "tests" / "system" / "wan.py", "wan-a", "wan-b", DELAY_MS, LOSS_PERCENT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        self.hears("ready")
        self.ip("a", "link", "set", "wan-b", "netns", self.names["b"])
        for host, address in ADDRESS.items():
            device = f"wan-{host}"
            self.ip(host, "link", "set", "lo", "up")
            self.ip(host, "addr", "add", f"{address}/30", "dev", device)
            self.ip(host, "link", "set", device, "up")
        return self

    def __exit__(self, kind, value, trace):
        try:
            super().__exit__(kind, value, trace)
        finally:
            for name in self.names.values():
                subprocess.run(["ip", "netns", "delete", name], check=False)

    def at(self, host):
        """What this thread does, and what it starts, is on that host."""
        return at_namespace(self.names[host])

    def ip(self, host, *words):
        subprocess.run(["ip", "-n", self.names[host], *words], check=True)

    def hears(self, word):
        said = self.line.process.stdout.readline().strip()
        expect(said == word, f"the line says '{said}', not '{word}'")

    def tell(self, word):
        self.line.process.stdin.write(word + "\n")
        self.line.process.stdin.flush()
        self.hears(word)

    @contextmanager
    def cut(self):
        """For three seconds at least nothing passes, and nobody is told."""
        begin = time.monotonic()
        self.tell("cut")
        yield
        time.sleep(max(0, begin + CUT_S - time.monotonic()))
        self.tell("restore")

    def carried(self):
        self.line.process.stdin.close()
        told = json.loads(self.line.process.stdout.readline())
        figure(f"{told['carried']} packets between the hosts, {told['lost']} lost")

    def node(self, host, number, rx, tx):
        with self.at(host):
            return self.add(Node(self.folder, number, rx, tx, *OPTIONS))


def tcp(host, port):
    return f"tcp:{ADDRESS[host]}:{port}"


def chain(hosts):
    """Nodes 1 and 2 on host a, 3 and 4 on host b: each sends to the next, the last to the first."""
    def unix(number):
        return f"unix:{hosts.folder}/{number}"

    nodes = [hosts.node("a", 1, tcp("a", PORTS["a"]) + ",server", unix(2)),
             hosts.node("a", 2, unix(2) + ",server", tcp("b", PORTS["b"])),
             hosts.node("b", 3, tcp("b", PORTS["b"]) + ",server", unix(4)),
             hosts.node("b", 4, unix(4) + ",server", tcp("a", PORTS["a"]))]
    for node in nodes:
        node.up()
    return nodes


def closed(nodes):
    """All are members of one ring."""
    for node in nodes:
        wait_for(f"node {node.node} sees all others",
                 lambda: len(node.members()) == len(nodes) - 1 and node.call("stats")["state"]["signal"])
    for node in nodes:
        fenced(node)


def fenced(node):
    """All that it has stored is everywhere; a fence fails once where something was lost or somebody came."""
    wait_for(f"a fence of node {node.node}",
             lambda: node.call("fence", timeout_ms=30000)["complete"], ALL_S)


def stores(nodes, count=UPDATES, **options):
    """They all do at once, each in a part of its own."""
    def store(at, node):
        control = Control(node.path, ALL_S)
        done[at] = control.call("load", first=at * MIB, last=(at + 1) * MIB - 1, count=count, size=4,
                                **options)
        control.close()

    done = [None] * len(nodes)
    threads = [threading.Thread(target=store, args=pair) for pair in enumerate(nodes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(all(done), "a node did not end its stores")
    return done


def equal(nodes, size=4 * MIB):
    sums = {node.call("checksum", first=0, last=size - 1)["crc32c"] for node in nodes}
    expect(len(sums) == 1, f"their memories differ: {sums}")


def breaks(node):
    """How often it has said that it, or somebody else, lost its signal."""
    return len(re.findall(r": (sync-loss|break) ", node.said()))


def million(title, writers, others, losses):
    """A million updates each way, of which nothing is lost; `losses` counts what everybody has lost or missed.

    Who gets no processor for two seconds has left the ring: then it is done again.
    """
    for _ in range(5):
        before, begin = losses(), time.monotonic()
        seen = list(map(breaks, others))
        stores(writers)
        for node in others:
            fenced(node)
        seconds = time.monotonic() - begin
        if seen == list(map(breaks, others)):
            break
        figure(f"{title}: somebody stood still for two seconds; once more")
    figure(f"two million updates, {title}: {seconds:.1f} s")
    expect(losses() == before, f"lost or missed: {before}, then {losses()}")
    equal(others)


def updates(hosts, nodes):
    """A million updates each way: all memories are equal, and nothing was lost"""
    def losses():
        return [(stats["lost"], stats["missed"]) for stats in (node.stats() for node in nodes)]

    closed(nodes)
    million("over the daisy chain", [nodes[0], nodes[2]], nodes, losses)


def cut(hosts, nodes):
    """Nothing passes for three seconds, and no socket says so: all see the break, and all is well again"""
    before = list(map(breaks, nodes))
    with hosts.cut():
        stores(nodes, 10_000, rate=5000)
        for at in (0, 2):       # those that hear the other host
            wait_for(f"node {at + 1} is dark", lambda: not nodes[at].call("stats")["state"]["signal"])
    closed(nodes)
    for node, seen in zip(nodes, before):
        now = node.stats()
        expect(breaks(node) > seen, f"node {node.node} has seen nothing")
        expect(now["sent"] == now["home"] + now["lost"], f"node {node.node} has frames that are nowhere: {now}")
    stores(nodes, MIB // 4)
    for node in nodes:
        fenced(node)
    equal(nodes)


# --- a hub, and a machine ----------------------------------------------------------------------

class Ring:
    """A hub and node 1 on host a, node 2 on host b, and a machine, which is node 3; both hosts have libvirt."""

    def __init__(self, hosts, lab):
        self.hosts, self.lab, self.daemons = hosts, lab, {}
        for host in ADDRESS:
            with hosts.at(host):
                self.daemons[host] = Daemon(hosts, f"libvirtd-{host}")
        self.nodes = [hosts.node(host, number, tcp("a", HUB + 2 * number + 1), tcp("a", HUB + 2 * number)).up()
                      for host, number in (("a", 1), ("b", 2))]
        lab.write("--ids", 3, "--hub", f"{ADDRESS['a']}:{HUB}", *PATIENT)
        lab.daemon = self.daemons["a"]
        lab.daemon.virsh("define", *lab.files())
        with hosts.at("a"):
            lab.launch(1)

    def whole(self):
        for node in self.nodes:
            wait_for(f"node {node.node} sees all others", lambda: len(node.members()) == 2, ALL_S)
        self.lab.test_ring(1)
        for node in self.nodes:
            fenced(node)

    def verified(self):
        """All store everything once more; the card asks every node, and finds no difference."""
        stores(self.nodes, MIB // 4)
        for node in self.nodes:
            fenced(node)
        self.lab.run(1, "rmctl", "verify", "rfm0", f"0+{2 * MIB}", timeout=600)
        equal(self.nodes)

    def counters(self):
        return self.lab.rmctl_json(1, "stats", "rfm0", "--absolute")

    def counted(self):
        """How far the machine's program is, as host b sees it."""
        data = self.nodes[1].call("read", first=COUNTER, last=COUNTER + 3)["data"]
        return int.from_bytes(bytes.fromhex(data), "little")

    def move(self, there):
        """By libvirt, from its session daemon to the other host's."""
        here, domain = self.lab.daemon, self.lab.domain(1)
        self.lab.leave(1)
        with self.hosts.at("a"):
            here.virsh("migrate", "--live", "--unsafe", "--persistent", "--undefinesource", domain,
                       self.daemons[there].uri, "--migrateuri", f"tcp://{ADDRESS[there]}", timeout=ALL_S)
        self.lab.daemon = self.daemons[there]


def hub(hosts):
    """A port for the machine, then one for each node: by TCP, as none knows where its card will be."""
    config = Path(hosts.folder, "hub.json")
    config.write_text(json.dumps({"dir": hosts.folder, "ports": [
        {"in": f"{tcp('a', HUB + 2 * port)},server", "out": f"{tcp('a', HUB + 2 * port + 1)},server"}
        for port in range(3)]}))
    with hosts.at("a"):
        return hosts.add(Served(hosts.folder, "rmhub", RMHUB, "run", "--config", config, "--socket",
                                Path(hosts.folder, "rmhub.control"))).up()


def machine_updates(ring):
    """On a hub, with a machine: a million updates each way, and rmctl verify finds no difference"""
    ring.whole()
    million("over the hub, with a machine", ring.nodes, ring.nodes, lambda: ring.counters()["counters"]["missed"])
    ring.verified()


def machine_moves(ring):
    """The machine moves to the other host under traffic: its program goes on, the break is counted"""
    lab = ring.lab
    lab.run(1, "sh", "-c", "setsid sh -c 'n=0; while :; do n=$((n + 1)); rmctl poke rfm0 "
            f"{COUNTER:#x} $n; done' </dev/null >/dev/null 2>&1 & echo $! >/tmp/program")
    wait_for("the program counts", lambda: ring.counted() > 3)
    before, over = ring.counters(), threading.Event()

    def traffic():
        while not over.is_set():
            stores(ring.nodes, 3000, rate=3000)
    thread = threading.Thread(target=traffic)
    thread.start()
    try:
        ring.move("b")
        counted = ring.counted()
        # Where the new QEMU asked for a port that was still taken, TCP asks again ever more seldom.
        wait_for("the program goes on", lambda: ring.counted() > counted + 3, ALL_S)
    finally:
        over.set()
        thread.join()
    expect(not ring.daemons["a"].said("list", "--all", "--name"), "it is still on host a")
    expect(lab.state(1) == "running", f"on host b it is {lab.state(1)}")
    with ring.hosts.at("b"):
        lab.enter(1)
    ring.whole()
    now = ring.counters()
    expect(now["driver"]["sync_losses"] > before["driver"]["sync_losses"],
           f"{before['driver']} before, {now['driver']} now")
    missed = now["counters"]["missed"] - before["counters"]["missed"]
    expect(missed, "it was away, and nothing is missed")
    figure(f"while it moved it missed {missed} frames, and counted them")
    lab.run(1, "sh", "-c", "kill $(cat /tmp/program); while pidof rmctl; do :; done")
    ring.verified()


def machine_cut(ring):
    """The line between the hosts is cut: each side knows who is left, host a's ring is closed without b"""
    losses = ring.counters()["driver"]["sync_losses"]
    node = ring.nodes[0]
    with ring.hosts.cut():
        wait_for("host a's node is alone on its ring", lambda: not node.members())
        fenced(node)
        wait_for("the machine on host b is dark", lambda: not ring.lab.rmctl_json(1, "list")[0]["signal"])
    ring.whole()
    expect(ring.counters()["driver"]["sync_losses"] > losses, "the machine's driver has seen no break")
    ring.verified()
    clean_console(ring.lab, 1)


DAISY = [updates, cut]
ON_A_HUB = [machine_updates, machine_moves, machine_cut]


def main():
    subprocess.run([TOP / "scripts" / "setup", "--guests"], check=True)
    plan(DAISY + ON_A_HUB)
    with Hosts("hosts") as hosts:
        nodes = chain(hosts)
        failed = run(DAISY, hosts, nodes)
        for node in nodes:
            node.end()
        hub(hosts)
        with Domains(hosts, 1) as lab:
            failed += run(ON_A_HUB, Ring(hosts, lab), first=len(DAISY) + 1)
            if failed:
                hosts.keep_logs()
                lab.keep_logs()
        hosts.carried()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
