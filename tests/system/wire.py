# SPDX-License-Identifier: MIT
"""The ring protocol as docs/ring-protocol.md has it, from the side of a peer that may lie."""

import array
import fcntl
import mmap
import os
import socket
import struct

VERSION = 2
HEADER, MESSAGE = 48, 40
DATA, INTERRUPT, HEARTBEAT, DUPLICATE, BREAK, FENCE = range(1, 7)
HELLO, WELCOME, REFUSE, LIGHT = range(1, 5)
IS_HUB, IS_REDUNDANT, HAS_SHM = 1, 2, 4

TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82f63b78 if _byte & 1 else 0)
    TABLE.append(_byte)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def message(kind, node=99, value=0, version=VERSION, magic=b"RL", incarnation=12345):
    body = struct.pack("<2sBBBBHQQI8x", magic, version, kind, node, value, 0, incarnation,
                       1 << 20, 7)
    return body + struct.pack("<I", crc32c(body))


def frame(kind=DATA, source=200, seq=1, data=b"", address=0, dest=0, nic=0, hops=1, marks=0,
          incarnation=12345, version=VERSION, magic=b"RF", length=None, damage=0):
    """One frame; damage is added to its check, length is what it claims."""
    head = struct.pack("<2sBBBBBBIIQQQ", magic, version, kind, source, dest, nic,
                       len(data) if length is None else length, address, 7, incarnation, seq, 1)
    check = (crc32c(head + data) + damage) & 0xffffffff
    low, high = hops & 0xff, hops >> 8
    path = struct.pack("<HBB", hops, marks, ~(low * 3 + high * 7 + marks * 11) & 0xff)
    return head + struct.pack("<I", check) + path + data


# --- shared memory ------------------------------------------------------------

SHM_MAGIC, SHM_VERSION = 0x516d6672, 1
SLOT, SLOTS_AT = 128, 4096
TAIL, HEAD, SLEEPS, WAITS = 128, 256, 384, 512
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Queue:
    """A queue such as an upstream neighbour makes; every detail can be wrong."""

    def __init__(self, slots=16, seals=SEALS, magic=SHM_MAGIC, version=SHM_VERSION, slot=SLOT,
                 claimed=None, size=None):
        whole = SLOTS_AT + slots * SLOT
        self.memory = os.memfd_create("queue", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.memory, whole if size is None else size)
        head = struct.pack("<IIIIQ", magic, version, slot, slots if claimed is None else claimed, whole)
        os.pwrite(self.memory, head[:os.fstat(self.memory).st_size], 0)
        if seals:
            fcntl.fcntl(self.memory, fcntl.F_ADD_SEALS, seals)
        self.slots = slots
        self.wake = [os.eventfd(0, os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)]
        self.tail = 0

    def fds(self):
        return [self.memory, *self.wake]

    def map(self):
        return mmap.mmap(self.memory, 0)

    def put(self, view, unit):
        at = SLOTS_AT + self.tail % self.slots * SLOT
        view[at:at + len(unit)] = unit
        self.show(view, self.tail + 1)

    def show(self, view, tail):
        """Say that slots before this index are filled, true or not."""
        self.tail = tail & 0xffffffff
        view[TAIL:TAIL + 4] = struct.pack("<I", self.tail)
        os.eventfd_write(self.wake[0], 1)

    def close(self):
        for fd in self.fds():
            os.close(fd)


def send_with_fds(sock, data, fds):
    sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
