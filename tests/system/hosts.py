#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ring over two hosts: docs/hosts.md, with two network namespaces for the hosts.

Packets between them take a millisecond, and one in a thousand is lost (wan.py). First a daisy chain
of four nodes without machines, two on each host; then a hub on one host, with a machine that moves
from there to the other.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from members import Control, Node, Place, Program, Served, RMHUB
from suite import TOP, clean_console, expect, figure, plan, run, wait_for
import labkit

DELAY_MS, LOSS_PERCENT, CUT_S = 1, 0.1, 3
ADDRESS = {"a": "10.55.65.1", "b": "10.55.65.2"}
PORTS = {"a": 5601, "b": 5602}          # of the daisy chain
HUB = 5610                              # and the first one of the hub's
MIB = 1 << 20
UPDATES = 1_000_000
ALL_S = 600                             # for a million updates, on a busy host
OPTIONS = ["--memory", "64M", "--stall-limit-ms", 10000]
COUNTER = 0x5000                        # where the machine's program counts


class Hosts(Place):
    """Two network namespaces, and the line between them."""

    def __enter__(self):
        self.names = {host: f"rfm-{os.getpid()}-{host}" for host in ADDRESS}
        for name in self.names.values():
            subprocess.run(["ip", "netns", "add", name], check=True)
        self.line = self.add(Program(
            self.folder, "wan", TOP / "tests" / "system" / "wan.py", "wan-a", "wan-b", DELAY_MS, LOSS_PERCENT,
            within=self.on("a"), stdin=subprocess.PIPE, stdout=subprocess.PIPE))
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

    def on(self, host):
        """What a command begins with that runs there."""
        return ["ip", "netns", "exec", self.names[host]]

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
        return self.add(Node(self.folder, number, rx, tx, *OPTIONS, within=self.on(host)))


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
             lambda: node.call("fence", timeout_ms=60000)["complete"], ALL_S)


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


def equal(nodes, size=16 * MIB):
    sums = {node.call("checksum", first=0, last=size - 1)["crc32c"] for node in nodes}
    expect(len(sums) == 1, f"their memories differ: {sums}")


def updates(hosts, nodes):
    """A million updates each way: all memories are equal, and nothing was lost"""
    closed(nodes)
    begin = time.monotonic()
    stores([nodes[0], nodes[2]])
    for node in nodes:
        fenced(node)
    figure(f"two million updates over the daisy chain: {time.monotonic() - begin:.1f} s")
    equal(nodes)
    for node in nodes:
        counters = node.stats()
        expect(not counters["lost"] and not counters["missed"], f"node {node.node} has lost some: {counters}")


def cut(hosts, nodes):
    """Nothing passes for three seconds, and no socket says so: all see the break, and all is well again"""
    before = [(node.stats()["sync_losses"], node.stats()["breaks"]) for node in nodes]
    incarnations = [node.pid for node in nodes]
    with hosts.cut():
        stores(nodes, 10_000, rate=5000)
        for at in (0, 2):       # those that hear the other host
            wait_for(f"node {at + 1} is dark", lambda: not nodes[at].call("stats")["state"]["signal"])
    closed(nodes)
    for node, (losses, breaks) in zip(nodes, before):
        now = node.stats()
        expect(now["sync_losses"] > losses or now["breaks"] > breaks, f"node {node.node} has seen nothing: {now}")
        expect(now["sent"] == now["home"] + now["lost"], f"node {node.node} has frames that are nowhere: {now}")
    expect(incarnations == [node.pid for node in nodes], "a node has ended")
    stores(nodes, MIB // 4)
    for node in nodes:
        fenced(node)
    equal(nodes)


# --- a hub, and a machine ----------------------------------------------------------------------

class Lab(labkit.Lab):
    """A machine on one of the hosts: rmlab runs there."""

    def run(self, node, *command, check=True, timeout=120):
        return self.verb("exec", node, "--", *command, check=check, timeout=timeout)


class Ring:
    """A hub and node 1 on host a, node 2 on host b, and machine 1, which is node 3."""

    def __init__(self, hosts, lab):
        self.hosts, self.lab = hosts, lab
        self.nodes = [hosts.node(host, number, tcp("a", HUB + 2 * number + 1), tcp("a", HUB + 2 * number))
                      for host, number in (("a", 1), ("b", 2))]
        for node in self.nodes:
            node.up()

    def whole(self):
        for node in self.nodes:
            wait_for(f"node {node.node} sees all others", lambda: len(node.members()) == 2)
        self.lab.test_ring(1)
        for node in self.nodes:
            fenced(node)

    def verified(self):
        """The card asks every node, and finds no difference."""
        wait_for("all is everywhere", lambda: not self.lab.run(1, "rmctl", "fence", "rfm0", "-t", "60",
                                                               check=False).returncode)
        self.lab.run(1, "rmctl", "verify", "rfm0", f"0+{4 * MIB}", timeout=600)
        equal(self.nodes)

    def counters(self):
        return self.lab.rmctl_json(1, "stats", "rfm0", "--absolute")[0]

    def counted(self):
        """How far the machine's program is, as host b sees it."""
        data = self.nodes[1].call("read", first=COUNTER, last=COUNTER + 3)["data"]
        return int.from_bytes(bytes.fromhex(data), "little")


def hub(hosts):
    """A port for the machine, then one for each node: by TCP, as none knows where its card will be."""
    config = Path(hosts.folder, "hub.json")
    config.write_text(json.dumps({"dir": hosts.folder, "ports": [
        {"in": f"{tcp('a', HUB + 2 * port)},server", "out": f"{tcp('a', HUB + 2 * port + 1)},server"}
        for port in range(3)]}))
    return hosts.add(Served(hosts.folder, "rmhub", RMHUB, "run", "--config", config, "--socket",
                            Path(hosts.folder, "rmhub.control"), within=hosts.on("a"))).up()


def machine_updates(ring):
    """On a hub, with a machine: a million updates each way, and rmctl verify finds no difference"""
    ring.whole()
    begin = time.monotonic()
    stores(ring.nodes)
    for node in ring.nodes:
        fenced(node)
    figure(f"two million updates over the hub, with a machine: {time.monotonic() - begin:.1f} s")
    ring.verified()
    missed = ring.counters()["counters"]["missed"]
    expect(not missed, f"the machine has missed {missed} frames")


def machine_moves(ring):
    """The machine moves to the other host under traffic: its program goes on, the break is counted"""
    lab = ring.lab
    lab.run(1, "sh", "-c", "setsid sh -c 'n=0; while :; do n=$((n + 1)); rmctl poke rfm0 "
            f"{COUNTER:#x} $n; done' </dev/null >/dev/null 2>&1 & echo $! >/tmp/program")
    wait_for("the program counts", lambda: ring.counted() > 3)
    before, pid = ring.counters(), lab.pid(1)
    over = threading.Event()

    def traffic():
        while not over.is_set():
            stores(ring.nodes, 3000, rate=3000)
    thread = threading.Thread(target=traffic)
    thread.start()
    try:
        lab.within = ring.hosts.on("b")
        lab.verb("migrate", 1)
        counted = ring.counted()
        wait_for("the program goes on", lambda: ring.counted() > counted + 3)
    finally:
        over.set()
        thread.join()
    expect(lab.pid(1) != pid, "it has the same QEMU")
    here, there = (os.readlink(f"/proc/{of}/ns/net") for of in (ring.hosts.line.pid, lab.pid(1)))
    expect(here != there, "its QEMU is on the same host")
    expect(there == os.readlink(f"/proc/{ring.nodes[1].pid}/ns/net"), "it is on neither host")
    ring.whole()
    now = ring.counters()
    expect(now["driver"]["sync_losses"] == before["driver"]["sync_losses"] + 1,
           f"{before['driver']} before, {now['driver']} now")
    missed = now["counters"]["missed"] - before["counters"]["missed"]
    expect(missed, "it was away, and nothing is missed")
    figure(f"while it moved it missed {missed} frames, and counted them")
    lab.run(1, "sh", "-c", "kill $(cat /tmp/program); while pidof rmctl; do :; done")
    stores(ring.nodes, MIB // 4)
    for node in ring.nodes:
        fenced(node)
    ring.verified()


def machine_cut(ring):
    """The line between the hosts is cut: each side knows who is left, host a's ring is closed without b"""
    losses = ring.counters()["driver"]["sync_losses"]
    node = ring.nodes[0]
    with ring.hosts.cut():
        wait_for("host a's node is alone on its ring", lambda: not node.members())
        fenced(node)
        wait_for("the machine on host b is dark",
                 lambda: not ring.lab.rmctl_json(1, "list")[0]["signal"])
    ring.whole()
    expect(ring.counters()["driver"]["sync_losses"] > losses, "the machine's driver has seen no break")
    stores(ring.nodes, MIB // 4)
    for node in ring.nodes:
        fenced(node)
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
        with Lab("hosts", 1, "--ids", "3", "--hub", f"{ADDRESS['a']}:{HUB}", "--device-arg",
                 "stall-limit-ms=10000", within=hosts.on("a")) as lab:
            failed += run(ON_A_HUB, Ring(hosts, lab), first=len(DAISY) + 1)
            if failed:
                lab.keep_logs()
        hosts.carried()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
