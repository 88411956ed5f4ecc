#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmnode --tap: hosts without machines on the Ethernet of the ring, each a network namespace of its own."""

import contextlib
import hashlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from hub import arrives, becomes, checksum, fence, know_each_other, node_on, stats, write
from members import RMNODE, Control, Hub, Place
from namespaces import at_namespace
from suite import PATIENCE_S, Skipped, expect, figure, plan, run, wait_for

TAP = "tap0"
COUNT = 3               # with a TAP device; a node without one is behind them
MIB = 1 << 20
BYTES = 8 * MIB         # by TCP
AREA = 4096             # of each node, for stores
ECHO, ANSWER, DO_NOT_CUT = 8, 0, struct.pack("i", 2)
WITHOUT_RIGHTS = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


def done(*words, **options):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True, timeout=PATIENCE_S,
                          check=False, **options)


def why_not():
    """Why no namespaces can be had here, if so."""
    if os.geteuid():
        return "only root makes network namespaces"
    name = f"rfm-{os.getpid()}-try"
    tried = done("ip", "netns", "add", name)
    if tried.returncode:
        return f"no network namespaces here: {tried.stderr.strip()}"
    made = done("ip", "-n", name, "tuntap", "add", "dev", TAP, "mode", "tap")
    done("ip", "netns", "delete", name)
    return made.returncode and f"no TAP devices here: {made.stderr.strip()}"


class Net(Place):
    """Nodes on a hub, all but the last with a TAP device in a namespace: 10.65.9.1, 10.65.9.2, ..."""

    def __init__(self, name):
        super().__init__(name)
        self.why = why_not()
        self.names = []
        self.members = []
        self.hub = None

    def there(self):
        if self.why:
            raise Skipped(self.why)
        return self.members

    def __enter__(self):
        if self.why:
            return self
        try:
            self.hub = Hub(self, COUNT + 1)
            for port in range(COUNT):
                self.names.append(f"rfm-{os.getpid()}-{port + 1}")
                subprocess.run(["ip", "netns", "add", self.names[-1]], check=True)
                with self.at(port + 1):
                    self.members.append(node_on(self, self.hub, port, None, "--tap", TAP))
                self.up(port + 1)
            self.members.append(node_on(self, self.hub, COUNT))
            know_each_other(self.members)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            super().__exit__(kind, value, trace)
        finally:
            for name in self.names:
                done("ip", "netns", "delete", name)

    def up(self, node):
        self.ip(node, "addr", "add", f"{address(node)}/24", "dev", TAP)
        self.ip(node, "link", "set", TAP, "up")

    def at(self, node):
        """What this thread does, and what it starts, is in the namespace of that node."""
        return at_namespace(self.names[node - 1])

    def ip(self, node, *words):
        subprocess.run(["ip", "-n", self.names[node - 1], *words], check=True)

    def mtu(self, node, device=TAP):
        """None: there is no such device."""
        said = done("ip", "-n", self.names[node - 1], "-o", "link", "show", device).stdout
        return int(said.split(" mtu ")[1].split()[0]) if said else None

    def socket(self, node, *kind):
        with self.at(node):
            made = socket.socket(socket.AF_INET, *kind)
        made.settimeout(PATIENCE_S)
        return made


def address(node):
    return f"10.65.9.{node}"


def internet_sum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ping(net, node, other, count=3, size=8000):
    """That many answers, with the same bytes, which were not cut to fragments; what gets lost is sent again."""
    with net.socket(node, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        sock.setsockopt(socket.IPPROTO_IP, 10, DO_NOT_CUT)      # IP_MTU_DISCOVER
        sock.settimeout(2)
        for number in range(count):
            body = struct.pack("!HH", node, number) + os.urandom(size - 4)
            check = internet_sum(struct.pack("!BBH", ECHO, 0, 0) + body)
            asks = struct.pack("!BBH", ECHO, 0, check) + body
            wait_for(f"node {other} answers node {node}", lambda asks=asks: is_answered(sock, other, asks))


def is_answered(sock, other, asks):
    sock.sendto(asks, (address(other), 0))
    with contextlib.suppress(TimeoutError):
        while True:
            got = sock.recv(65536)[20:]
            if got[0] == ANSWER and got[4:8] == asks[4:8]:
                expect(got[4:] == asks[4:], f"node {other} answers something else")
                return True
    return False


def send(net, node, other, count, size):
    """Datagrams that nobody waits for."""
    with net.socket(node, socket.SOCK_DGRAM) as sock:
        for _ in range(count):
            sock.sendto(bytes(size), (address(other), 9))


class Stores:
    """Each node stores to an area of its own, all the time of the `with` block."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.rounds = [0] * len(nodes)
        self.enough = threading.Event()
        self.threads = [threading.Thread(target=self.store, args=(i,)) for i in range(len(nodes))]

    def store(self, at):
        control = Control(self.nodes[at].path)
        while not self.enough.is_set():
            control.call("write", first=at * AREA, data=os.urandom(AREA).hex())
            self.rounds[at] += 1
        control.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.enough.set()
        for thread in self.threads:
            thread.join()


def all_equal(nodes):
    for node in nodes:
        fence(node)
    expect(len({checksum(node) for node in nodes}) == 1, "the memories differ")


def cpu_s(node):
    """What it has used."""
    return sum(map(int, Path(f"/proc/{node.pid}/stat").read_text().rsplit(")")[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def sleeps(node):
    """It does not search for work without end."""
    before = cpu_s(node)
    time.sleep(1)           # this is what is measured
    expect(cpu_s(node) - before < 0.1, f"node {node.node} has used {cpu_s(node) - before} s of a second")


# --- tests ---------------------------------------------------------------------------------

def pings(net):
    """Each node has made a device with an MTU of 9000, and answers the others, 8000 bytes in one piece"""
    nodes = net.there()
    before = [stats(node) for node in nodes[:-1]]       # some were dropped while devices were down yet
    for node in range(1, COUNT + 1):
        expect(net.mtu(node) == 9000, "another MTU")
        for other in range(1, COUNT + 1):
            if other != node:
                ping(net, node, other)
    for node, was in zip(nodes, before):
        counters = {name: count - was[name] for name, count in stats(node).items() if name.startswith("ethernet_")}
        sent, received = counters.pop("ethernet_sent"), counters.pop("ethernet_received")
        expect(sent >= 12 and received >= 12 and not any(counters.values()), f"{sent}, {received}, {counters}")
    expect("ethernet_sent" in done(RMNODE, "-S", nodes[0].path, "stats").stdout, "stats does not tell")


def without(net):
    """A node without a TAP device refuses frames, as before"""
    counters = stats(net.there()[-1])
    expect(counters["refused"] > 0, "it has refused none")
    expect(not any(counters[name] for name in counters if name.startswith("ethernet_")), f"{counters}")


def tcp_beside_stores(net):
    """8 MiB by TCP, each way round, beside stores of all: whole, and the memories are equal"""
    nodes = net.there()
    with Stores(nodes) as stores:
        for node in range(1, COUNT + 1):
            transfer(net, node, node % COUNT + 1)
    expect(min(stores.rounds) > 1, f"the stores stood still: {stores.rounds}")
    all_equal(nodes)


def transfer(net, node, other):
    data, got = os.urandom(BYTES), hashlib.sha256()
    with net.socket(other, socket.SOCK_STREAM) as listener, net.socket(node, socket.SOCK_STREAM) as sender:
        listener.bind((address(other), 0))
        listener.listen()

        def take():
            taker, _ = listener.accept()
            taker.settimeout(PATIENCE_S)
            with taker:
                while piece := taker.recv(MIB):
                    got.update(piece)
        takes = threading.Thread(target=take)
        takes.start()
        begun = time.monotonic()
        sender.connect(listener.getsockname())
        sender.sendall(data)
        sender.shutdown(socket.SHUT_WR)
        takes.join()
        figure(f"TCP from node {node} to {other}, beside stores: {BYTES / MIB / (time.monotonic() - begun):.0f} MiB/s")
    expect(got.digest() == hashlib.sha256(data).digest(), "what came is something else")


def stopped(net):
    """A node that stands still: the others go on, and it does afterwards"""
    nodes = net.there()
    nodes[1].send_signal(signal.SIGSTOP)
    try:
        send(net, 1, 2, 15, 8000)       # more than the ring holds
        sleeps(nodes[0])
        becomes(net.hub, 1, "dark")
        know_each_other([nodes[0], *nodes[2:]])
        ping(net, 1, 3)
        ping(net, 3, 1)
        write(nodes[0], 0x100, "01020304")
        arrives(nodes[2:], 0x100, "01020304")
    finally:
        nodes[1].send_signal(signal.SIGCONT)
    know_each_other(nodes)
    ping(net, 1, 2)
    ping(net, 2, 3)


def down(net):
    """A device that is down: its frames are dropped and counted, nothing waits for it"""
    nodes = net.there()
    net.ip(2, "link", "set", TAP, "down")
    before = stats(nodes[1])["ethernet_dropped"]
    send(net, 1, 2, 100, 8000)
    wait_for("it drops them", lambda: stats(nodes[1])["ethernet_dropped"] > before)
    ping(net, 1, 3)
    write(nodes[0], 0x200, "05060708")
    arrives(nodes, 0x200, "05060708")
    sleeps(nodes[1])
    net.ip(2, "link", "set", TAP, "up")
    ping(net, 1, 2)


def deleted(net):
    """A device that somebody deletes: its node says so, and goes on without it"""
    node = net.there()[2]
    net.ip(3, "link", "delete", TAP)
    wait_for("it says so", lambda: f"node 0x03 has lost its TAP device {TAP}: " in node.said())
    before = stats(node)["ethernet_dropped"]
    send(net, 1, 3, 10, 100)
    wait_for("it drops them", lambda: stats(node)["ethernet_dropped"] > before)
    write(node, 0x300, "090a0b0c")
    arrives(net.there(), 0x300, "090a0b0c")
    sleeps(node)
    ping(net, 1, 2)


def made_by_others(net):
    """A device that an administrator has made keeps its MTU, needs no rights, and stays"""
    net.there()
    net.ip(3, "tuntap", "add", "dev", "kept", "mode", "tap")
    net.ip(3, "link", "set", "kept", "mtu", "9400")
    with net.at(3), Place("tap-kept") as place:
        words = (*WITHOUT_RIGHTS, RMNODE, "--id", 7, "--memory", "4K", "--rx", f"unix:{place.folder}/rx,server",
                 "--tx", f"unix:{place.folder}/tx", "--tap", "kept", "--control", f"{place.folder}/control")
        with subprocess.Popen([str(word) for word in words], text=True, stdout=subprocess.PIPE) as node:
            expect(node.stdout.readline() == "ready\n", "it does not begin")
            control = Control(f"{place.folder}/control")
            net.ip(3, "addr", "add", f"{address(3)}/24", "dev", "kept")
            net.ip(3, "link", "set", "kept", "up")
            net.ip(3, "neigh", "add", address(99), "lladdr", "02:00:00:00:00:63", "dev", "kept")
            send(net, 3, 99, 5, 9300)
            wait_for("it counts what is too long", lambda: control.call("stats")["counters"]["ethernet_unfit"] == 5)
            send(net, 3, 99, 5, 9100)
            wait_for("nothing leaves it", lambda: control.call("stats")["counters"]["ethernet_dark"] >= 5)
            expect(control.call("stats")["counters"]["ethernet_unfit"] == 5, "what fits does not")
            control.call("stop")
            control.close()
        expect(net.mtu(3, "kept") == 9400, "it has another MTU, or has gone")


def refusals(net):
    """What cannot be a TAP device of this node: one sentence, and it does not begin"""
    net.there()
    no_name = "is no name of a TAP device: it has 1 to 15 characters, none of them a blank, / : or %"
    with net.at(1), Place("tap-refused") as place:
        for name, status, sentence, before in (
                ("", 2, f"'' {no_name}", []),
                ("sixteen-are-many", 2, f"'sixteen-are-many' {no_name}", []),
                ("tap%d", 2, f"'tap%d' {no_name}", []),
                ("lo", 2, "cannot use the TAP device lo: it is no TAP device with one queue", []),
                (TAP, 1, f"cannot use the TAP device {TAP}: another program has it", []),
                ("other", 1, "cannot use the TAP device other: this user may neither make it nor use it", WITHOUT_RIGHTS)):
            said = done(*before, RMNODE, "--id", 7, "--memory", "4K", "--rx", f"unix:{place.folder}/rx,server",
                        "--tx", f"unix:{place.folder}/tx", "--tap", name)
            expect((said.returncode, said.stdout, said.stderr) == (status, "", f"rmnode: {sentence}\n"), f"{name}: {said}")
            expect(not os.listdir(place.folder), "something is left")
    ping(net, 1, 2)


def ends(net):
    """When a node ends, so does the device that it has made"""
    node = net.there()[0]
    node.call("stop")
    node.process.wait(PATIENCE_S)
    expect(net.mtu(1) is None, "it is still there")


TESTS = [pings, without, tcp_beside_stores, stopped, down, refusals, deleted, made_by_others, ends]


def main():
    plan(TESTS)
    with Net("tap") as net:
        return run(TESTS, net) > 0


if __name__ == "__main__":
    sys.exit(main())
