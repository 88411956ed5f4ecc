#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Odd rings: two sizes, TCP, one id twice, strangers on the socket; and what an idle card costs."""

import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from suite import (TOP, device_of_node, expect, extra_cards, figure, free_ports, plan, run,
                   wait_for)
from labkit import Lab

QEMU = [TOP / "build/qemu/qemu-system-x86_64", "-L", TOP / "build/qemu/pc-bios",
        "-M", "q35,accel=tcg", "-nodefaults", "-display", "none"]
IDLE_LIMIT_KIB = 8 * 1024


# --- two machines, two sizes, then the same id ---

def two_sizes(lab):
    """Two sizes on one ring: what lies past the smaller memory is passed on, not an error"""
    expect(lab.rmctl_json(1, "show", "rfm0")["memory_size"] == 64 << 20, "node 1 is not 64 MiB")
    lab.poke(2, 0x5000000, 0x55)                    # past the end of node 1's memory
    lab.test_ring(2)
    info = lab.rmctl_json(1, "show", "rfm0")
    expect(not info["lcsr1"]["bad_data"] and "bad-data" not in info["lisr"]["seen"], "BAD DATA")
    lab.poke(2, 0x2000, 0x66)
    wait_for("node 1 has what both have", lambda: lab.peek(1, 0x2000) == 0x66)


def later_one_leaves(lab):
    """Two cards with one node id: the later leaves with one sentence, the ring stays whole"""
    def said():
        return [node for node in lab.nodes if "already used on this ring" in qemu_log(lab, node)]
    wait_for("one of them leaves", said)
    expect(len(said()) == 1, f"these have left: {said()}")
    stays = 3 - said()[0]
    lab.test_ring(stays)
    leaver = lab.run(said()[0], "rmctl", "test", "rfm0", check=False)
    expect(leaver.returncode == 1, "the one that left still has a ring")
    findings = lab.rmctl_json(said()[0], "show", "rfm0")["findings"]
    expect([it["cause"] for it in findings if it["now"]] == ["id-in-use"], f"it says {findings}")


def qemu_log(lab, node):
    return lab.verb("log", node, "--qemu").stdout


# --- one machine with several cards ---

def over_tcp(lab):
    """Two cards joined over TCP share a memory"""
    a, b = device_of_node(lab, 1, 11), device_of_node(lab, 1, 12)
    lab.test_ring(1, a)
    lab.run(1, "rmctl", "poke", a, "0x3000", "0x77")
    wait_for("the other has it", lambda: "0x00000077" in lab.out(1, "rmctl", "peek", b, "0x3000"))


def stranger(path, data=b""):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(str(path))
    if data:
        s.sendall(data)
    return s


def is_shown_out(s):
    """Has the card closed the connection? Answers it may have given first are read away."""
    try:
        while s.recv(4096):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    s.close()
    return True


def garbage(lab, path):
    """Garbage on the socket: disconnected with one clear line, the card lives"""
    expect(is_shown_out(stranger(path, b"GET / HTTP/1.0\r\n\r\n")), "not disconnected")
    wait_for("the line", lambda: "does not speak the ring protocol" in qemu_log(lab, 1))
    lab.run(1, "rmctl", "show", device_of_node(lab, 1, 13))


def silence(lab, path):
    """A peer that connects and says nothing is disconnected; the next one is let in"""
    start = time.monotonic()
    expect(is_shown_out(stranger(path)), "not disconnected")
    figure(f"a silent peer is shown out after {time.monotonic() - start:.1f} s")
    wait_for("the line", lambda: "says nothing" in qemu_log(lab, 1))
    expect(is_shown_out(stranger(path, b"\0" * 64)), "the next one was not even heard")


def idle_footprint(*_):
    """An idle 256 MiB card costs QEMU less than 8 MiB"""
    def resident(*args):
        """KiB after the machine, paused, has settled: heartbeats have gone round the ring."""
        with tempfile.TemporaryDirectory() as folder:
            args = [a.replace("DIR", folder) for a in args]
            with subprocess.Popen([*QEMU, "-m", "64", "-S", "-qmp", "stdio", *args],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as vm:
                try:
                    vm.stdout.readline()
                    rollup = Path(f"/proc/{vm.pid}/smaps_rollup")
                    sizes = []
                    wait_for("the size settles", lambda: settled(sizes, rollup))
                finally:
                    vm.kill()
        return sizes[-1]

    def settled(sizes, rollup):
        sizes.append(int(re.search(r"^Rss:\s+(\d+)", rollup.read_text(), re.M)[1]))
        time.sleep(0.3)                 # between two samples
        return len(sizes) > 5 and sizes[-1] == sizes[-5]

    without = resident()
    with_card = resident("-chardev", "socket,id=rx,path=DIR/s,server=on,wait=off",
                         "-chardev", "socket,id=tx,path=DIR/s,reconnect-ms=100",
                         "-device", "rfm5565,memory-size=256M,rx=rx,tx=tx")
    figure(f"resident memory of an idle 256 MiB card: {with_card - without} KiB")
    expect(with_card - without < IDLE_LIMIT_KIB, f"{with_card - without} KiB")


def odd_cards(folder):
    """Two cards joined over TCP, and one whose rx waits for strangers."""
    p, q = (f"host=127.0.0.1,port={port}" for port in free_ports(2))
    return extra_cards([(11, p, q, ""), (12, q, p, ""),
                        (13, f"path={folder}/in", f"path={folder}/nobody", "")])


def main():
    plan([two_sizes, over_tcp, garbage, silence, later_one_leaves, idle_footprint])
    failed = run([idle_footprint], first=6)
    with Lab("sizes", 2, "--device-arg", "2:memory-size=128M") as lab:
        failed += run([two_sizes], lab)
    with Lab("same", 2, "--ids", "5,5") as lab:
        failed += run([later_one_leaves], lab, first=5)
    with tempfile.TemporaryDirectory() as folder:
        with Lab("cards", 1, *odd_cards(folder)) as lab:
            failed += run([over_tcp], lab, first=2)
            failed += run([garbage, silence], lab, Path(folder, "in"), first=3)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
