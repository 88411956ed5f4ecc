#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A card forwards what others send, whatever its own guest does. Prints TAP."""

import errno
import fcntl
import os
import select
import sys
import threading
import time
from pathlib import Path

from members import Card, Node, Place, preload
from suite import expect, plan, run, wait_for

FENCES = 20
HEARTBEATS_S = 3
BIGEND, LAS1BA = 0x0c, 0xf4
SWAPPED, SECOND_WINDOW = 0x20, 0x200001
CONTROL, EPOCH = 0x0c, 0x144        # of the extension block
KEEP_WRITERS = 1
WRITE = "1 "        # its number as a system call, in /proc


class Log:
    """The log of a QEMU that says when it computes a new map of its memory: it waits until somebody
    has read that."""

    def __init__(self, folder):
        self.path = f"{folder}/log"
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, 1 << 20)       # what it says until it is up

    def options(self):
        return ["-D", self.path, "-trace", "flatview_new"]

    def fill(self):
        """Nothing more is taken from now on."""
        for size in (4096, 1):
            try:
                while True:
                    os.write(self.fd, b"\n" * size)
            except BlockingIOError:
                pass

    def read_until(self, ended):
        while not ended():
            if select.select([self.fd], [], [], 0.01)[0]:
                os.read(self.fd, 1 << 20)

    def close(self):
        os.close(self.fd)


def ring_of_two(place, *options, properties="", environment=None):
    """A card with its engine in a thread of its own, and a member."""
    sockets = [f"path={place.folder}/{end},server=on,wait=off" for end in ("rx", "tx")]
    card = place.add(Card(place.folder, 7, *sockets, "-object", "iothread,id=ring", *options,
                          properties=",iothread=ring" + properties, environment=environment)).up()
    member = place.add(Node(place.folder, 1, f"unix:{place.folder}/tx",
                            f"unix:{place.folder}/rx", "--memory", "1M")).up()
    wait_for("the ring of two", lambda: len(member.members()) == 1)
    return card, member


def guest_writes(card, address, value):
    """The thread in which a guest writes to a register, as that takes long."""
    guest = threading.Thread(target=card.ask, args=(f"writel {address} {value}",))
    guest.start()
    return guest


def fences_go_round(member, guest):
    """While the guest waits."""
    for _ in range(FENCES):
        member.call("fence")
    expect(guest.is_alive(), "the guest has gone on: the test did not test")


def the_map_changes(register, value):
    """Whatever a change of the memory map takes, frames of others do not wait for it."""
    with Place("forward") as place:
        log = Log(place.folder)
        card, member = ring_of_two(place, *log.options(), properties=",window=2M")
        log.fill()
        guest = guest_writes(card, Card.RUNTIME + register, value)
        try:
            wait_for("the map changes",
                     lambda: Path(f"/proc/{card.pid}/syscall").read_text().startswith(WRITE))
            fences_go_round(member, guest)
        finally:
            log.read_until(lambda: not guest.is_alive())
            log.close()


def epoch(card):
    """How often nodes have come or gone."""
    return int(card.ask(f"readl {Card.EXTENSION + EPOCH}"), 16)


def late_engine():
    """An engine that gets its turn late takes nobody for gone"""
    with Place("forward-late") as place:
        card, member = ring_of_two(place, "-name", "late,debug-threads=on", properties=",shm=off",
                                   environment=preload(place.folder, "late"))
        member.call("fence")
        before = epoch(card)
        end = time.monotonic() + HEARTBEATS_S       # with each the card looks who is there
        while time.monotonic() < end:
            member.call("fence")
        expect(epoch(card) == before, f"nodes came or went {epoch(card) - before} times")


def byte_order():
    """A guest that changes the byte order stops no frame of others"""
    the_map_changes(BIGEND, SWAPPED)


def window():
    """A guest that moves the window stops no frame of others"""
    the_map_changes(LAS1BA, SECOND_WINDOW)


class Gate:
    """The FIFO of tests/preload/slow_memory.c: who asks for memory waits until it is closed."""

    def __init__(self, path):
        self.path = path
        self.fd = None

    def somebody_waits(self):
        try:
            self.fd = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:      # nobody reads
                raise
        return self.fd is not None

    def close(self):
        os.close(self.fd)


def writers():
    """A guest that has the card keep last writers, and forget them, stops no frame of others"""
    with Place("forward-writers") as place:
        fifo = f"{place.folder}/gate"
        os.mkfifo(fifo)
        card, member = ring_of_two(place, properties=",memory-size=256M",
                                   environment=preload(place.folder, "slow_memory") | {"GATE": fifo})
        for value in KEEP_WRITERS, 0:
            gate, guest = Gate(fifo), guest_writes(card, Card.EXTENSION + CONTROL, value)
            wait_for("memory is asked for, or given back", gate.somebody_waits)
            try:
                fences_go_round(member, guest)
            finally:
                gate.close()
                guest.join()
            expect(int(card.ask(f"readl {Card.EXTENSION + CONTROL}"), 16) == value,
                   "the card does not do as it was told")


TESTS = [byte_order, window, writers, late_engine]


def main():
    plan(TESTS)
    return bool(run(TESTS))


if __name__ == "__main__":
    sys.exit(main())
