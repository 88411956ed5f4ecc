# SPDX-License-Identifier: MIT
"""The ring protocol as docs/ring-protocol.md has it, from the side of a peer that may lie.

What a sound one does is in peer.py; here every detail can be wrong.
"""

import array
import fcntl
import mmap
import os
import socket
import struct

import peer

VERSION = peer.VERSION
HEADER, MESSAGE = peer.HEADER.size + 8, peer.MESSAGE.size + 4   # with their checks
DATA, INTERRUPT, HEARTBEAT, DUPLICATE, BREAK, FENCE, MULTICAST = (
    peer.DATA, peer.INTERRUPT, peer.HEARTBEAT, peer.DUPLICATE, peer.BREAK, peer.FENCE, peer.MULTICAST)
QUERY, ANSWER = peer.QUERY, peer.ANSWER
HELLO, WELCOME, REFUSE, LIGHT = peer.HELLO, peer.WELCOME, peer.REFUSE, peer.LIGHT
IS_HUB, IS_REDUNDANT, HAS_SHM = peer.IS_HUB, peer.IS_REDUNDANT, peer.HAS_SHM


def message(kind, node=99, value=0, version=VERSION, magic=b"RL", incarnation=12345):
    body = peer.MESSAGE.pack(magic, version, kind, node, value, incarnation, 1 << 20, 7)
    return body + struct.pack("<I", peer.crc32c(body))


def frame(kind=DATA, source=200, seq=1, data=b"", address=0, dest=0, nic=0, hops=1, marks=0,
          incarnation=12345, version=VERSION, magic=b"RF", length=None, damage=0):
    """One frame; damage is added to its check, length is what it claims."""
    head = peer.HEADER.pack(magic, version, kind, source, dest, nic,
                            len(data) if length is None else length, address, 7, incarnation, seq, 1)
    check = (peer.crc32c(head + data) + damage) & 0xffffffff
    path = struct.pack("<HB", hops, marks)
    return head + struct.pack("<I", check) + path + bytes([peer.path_check(path)]) + data


# --- shared memory ------------------------------------------------------------

SHM_MAGIC, SHM_VERSION = peer.QUEUE_MAGIC, peer.QUEUE_VERSION
SLOT, SLOTS_AT, BEHIND = peer.SLOT, peer.SLOTS_AT, peer.BEHIND
TAIL, HEAD, SLEEPS, WAITS = 128, 256, 384, 512
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def wake_pairs():
    """The producer's ends of the wake-ups data and room, and the consumer's as descriptors."""
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    return [own for own, _ in pairs], [other.detach() for _, other in pairs]


def wake(end):
    """False if it takes no more."""
    try:
        return end.send(b"\0", socket.MSG_DONTWAIT) == 1
    except (BlockingIOError, ConnectionRefusedError):
        return False


class Queue:
    """A queue such as an upstream neighbour makes; every detail can be wrong."""

    def __init__(self, slots=16, seals=SEALS, magic=SHM_MAGIC, version=SHM_VERSION, slot=SLOT,
                 claimed=None, size=None):
        whole = SLOTS_AT + slots * SLOT + BEHIND
        self.memory = os.memfd_create("queue", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.memory, whole if size is None else size)
        head = peer.QUEUE_HEADER.pack(magic, version, slot, slots if claimed is None else claimed, whole)
        os.pwrite(self.memory, head[:os.fstat(self.memory).st_size], 0)
        if seals:
            fcntl.fcntl(self.memory, fcntl.F_ADD_SEALS, seals)
        self.slots = slots
        self.own, self.wake = wake_pairs()
        self.tail = 0

    def fds(self):
        return [self.memory, *self.wake]

    def map(self):
        return mmap.mmap(self.memory, 0)

    def put(self, view, unit):
        at = SLOTS_AT + self.tail % self.slots * SLOT
        view[at:at + len(unit)] = unit
        self.show(view, self.tail + peer.unit_slots(unit))

    def show(self, view, tail):
        """Say that slots before this index are filled, true or not."""
        self.tail = tail & 0xffffffff
        view[TAIL:TAIL + 4] = struct.pack("<I", self.tail)
        wake(self.own[0])

    def close(self):
        for fd in self.fds():
            os.close(fd)
        for end in self.own:
            end.close()


def send_with_fds(sock, data, fds):
    sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
