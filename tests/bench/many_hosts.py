#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a ring costs whose members are on hosts of their own: docs/hosts.md, "How fast it is".

many_hosts.py [--delays MS,...] [--hosts N,...] [--windows FRAMES,...]

As root, with build/tools.

Each host is a network namespace with one member, each fibre a TCP connection over a line with a
delay (tests/system/wan.py). Of a lone fence, which goes all the way round, and of stores of 64
bytes as fast as one member can, and as all can, it prints what was measured beside what the model
says: a round takes N times as long as a hop and a line, and brings home a window of each member's
frames, unless these processors carry less; both are measured without a delay.
"""

import argparse
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "system"))
from members import Control, Node, Place, Program  # noqa: E402
from namespaces import at_namespace  # noqa: E402
from suite import TOP, expect, wait_for  # noqa: E402

PORT = 5601
FRAME = 64              # bytes
FENCES = 50
SECONDS = 3                     # of stores
MTU = 65000                     # the lines are programs, which count packets, not bytes
ALL_S = 60


class Ring(Place):
    """So many hosts, joined in a circle."""

    def __init__(self, hosts, delay_ms, window):
        super().__init__("bench-hosts")
        self.hosts, self.delay_ms, self.window = hosts, delay_ms, window
        self.names = [f"rfm-bench-{host}" for host in range(hosts)]

    def __enter__(self):
        super().__enter__()
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        for host in range(self.hosts):
            self.join(host)
        self.nodes = [self.node(host) for host in range(self.hosts)]
        for node in self.nodes:
            node.up()
        for node in self.nodes:
            wait_for(f"node {node.node} sees all others",
                     lambda node=node: len(node.members()) == self.hosts - 1, ALL_S)
        self.rounds(1)
        return self

    def __exit__(self, kind, value, trace):
        try:
            super().__exit__(kind, value, trace)
        finally:
            for name in self.names:
                subprocess.run(["ip", "netns", "delete", name], check=False)

    def ip(self, host, *words):
        subprocess.run(["ip", "-n", self.names[host], *map(str, words)], check=True)

    def join(self, host):
        """The line from there to the next one."""
        ends = [(host, f"out{host}", 1), ((host + 1) % self.hosts, f"in{host}", 2)]
        with at_namespace(self.names[host]):
            line = self.add(Program(self.folder, f"line{host}", TOP / "tests" / "system" / "wan.py",
                                    ends[0][1], ends[1][1], self.delay_ms, 0,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        expect(line.process.stdout.readline().strip() == "ready", "there is no line")
        self.ip(host, "link", "set", ends[1][1], "netns", self.names[ends[1][0]])
        for at, device, number in ends:
            self.ip(at, "addr", "add", f"10.55.{host}.{number}/30", "dev", device)
            self.ip(at, "link", "set", device, "mtu", MTU, "up")

    def node(self, host):
        upstream = (host - 1) % self.hosts
        with at_namespace(self.names[host]):
            return self.add(Node(self.folder, host, f"tcp:10.55.{upstream}.2:{PORT},server",
                                 f"tcp:10.55.{host}.2:{PORT}", "--memory", "64M",
                                 "--window", self.window, "--stall-limit-ms", 10000))

    def rounds(self, count):
        """How long a lone fence takes, in s, each time."""
        samples = []
        for _ in range(count):
            begun = time.monotonic()
            done = self.nodes[0].call("fence", timeout_ms=30000)
            samples.append(time.monotonic() - begun)
            wait_for("a fence is home", lambda: done["complete"] or
                     self.nodes[0].call("fence", timeout_ms=30000)["complete"], ALL_S)
        return samples

    def stores(self, writers):
        """What they store in a second all together, in bytes."""
        def store(at):
            control = Control(self.nodes[at].path, ALL_S)
            result[at] = control.call("load", first=at << 20, last=(at + 1 << 20) - 1, size=FRAME,
                                      stride=FRAME, milliseconds=SECONDS * 1000)
            control.call("fence", timeout_ms=30000)
            control.close()

        result, begun = [None] * writers, time.monotonic()
        threads = [threading.Thread(target=store, args=(at,)) for at in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(all(result), "a member did not end its stores")
        lost = sum(node.stats()["lost"] for node in self.nodes)
        expect(not lost, f"{lost} frames were lost")
        return sum(one["stores"] for one in result) * FRAME / (time.monotonic() - begun)


def measure(hosts, delay_ms, window):
    """Of a round, in s; what one member stores, and all, in bytes a second."""
    with Ring(hosts, delay_ms, window) as ring:
        return statistics.median(ring.rounds(FENCES)), ring.stores(1), ring.stores(hosts)


class Model:
    """Made from rings without a delay: what a hop takes, and what these processors can carry."""

    def __init__(self, rows):
        """`rows`: by the number of hosts and the window."""
        self.rows = rows
        self.hop, self.ends = statistics.linear_regression(
            [hosts for hosts, _ in rows], [row[0] for row in rows.values()])

    def row(self, hosts, delay_ms, window):
        turn = hosts * (self.hop + delay_ms / 1e3)
        home = window * FRAME / turn
        _, one, every = self.rows[hosts, window]
        return turn + self.ends, min(home, one), min(hosts * home, every)


def show(hosts, delay_ms, window, measured, model):
    pairs = [f"{value * unit:12.2f}" for both, unit in zip(zip(measured, model), (1e3, 1e-6, 1e-6))
             for value in both]
    print(f"{delay_ms:6.1f} {hosts:6d} {window:7d}{''.join(pairs)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--delays", default="0.1,1", help="of a line, one way, ms")
    parser.add_argument("--hosts", default="2,4,8")
    parser.add_argument("--windows", default="1024,16384", help="frames of a member under way")
    options = parser.parse_args()
    rings = [(hosts, window) for window in map(int, options.windows.split(","))
             for hosts in map(int, options.hosts.split(","))]
    model = Model({ring: measure(ring[0], 0, ring[1]) for ring in rings})
    print(f"without a delay a hop takes {model.hop * 1e6:.0f} us, and who asks for a fence waits "
          f"{model.ends * 1e6:.0f} us besides")
    print(f"{'delay':>6} {'hosts':>6} {'window':>7}" + "".join(f"{word:>12}" for word in (
        "round, ms", "model", "one, MB/s", "model", "all, MB/s", "model")))
    for delay_ms in (0, *map(float, options.delays.split(","))):
        for hosts, window in rings:
            measured = measure(hosts, delay_ms, window) if delay_ms else model.rows[hosts, window]
            show(hosts, delay_ms, window, measured, model.row(hosts, delay_ms, window))


if __name__ == "__main__":
    main()
