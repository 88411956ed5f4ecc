#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A line between two network namespaces: what sch_netem does, where the kernel has none.

wan.py DEVICE DEVICE DELAY_MS LOSS_PERCENT makes two tun devices and carries each packet from one to
the other after the delay, but for those that it loses. On its standard input `cut` lets none
through any more, so that nobody is told of the end of a connection, and `restore` all again. At the
end of it, it prints what it has carried and lost as JSON.
"""

import fcntl
import json
import os
import random
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 0x0001, 0x1000
PACKET = 65536
ROOM = 10_000           # packets on the way, in each direction; as netem, it drops what is more


def tun(name):
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return handle


class Line:
    """Packets that are on the way in one direction."""

    def __init__(self, source, target, delay, loss):
        self.source, self.target, self.delay, self.loss = source, target, delay, loss
        self.packets, self.carried, self.lost = deque(), 0, 0

    def take(self, cut):
        try:
            packet = os.read(self.source, PACKET)
        except OSError:         # BlockingIOError; or the device has no address yet
            return
        if cut or random.random() < self.loss or len(self.packets) >= ROOM:
            self.lost += 1
        else:
            self.packets.append((time.monotonic() + self.delay, packet))

    def give(self):
        """Returns the seconds until the next one is due, or None."""
        now = time.monotonic()
        while self.packets and self.packets[0][0] <= now:
            try:
                os.write(self.target, self.packets.popleft()[1])
                self.carried += 1
            except OSError:     # nobody is there, or has room
                self.lost += 1
        return self.packets[0][0] - now if self.packets else None


def main():
    delay, loss = float(sys.argv[3]) / 1000, float(sys.argv[4]) / 100
    a, b = tun(sys.argv[1]), tun(sys.argv[2])
    lines, cut = {a: Line(a, b, delay, loss), b: Line(b, a, delay, loss)}, False
    print("ready", flush=True)
    while True:
        due = [due for line in lines.values() if (due := line.give()) is not None]
        for ready in select.select([*lines, sys.stdin], [], [], min(due) if due else None)[0]:
            if ready is not sys.stdin:
                lines[ready].take(cut)
            elif word := sys.stdin.readline().strip():
                cut = word == "cut"
                print(word, flush=True)
            else:
                print(json.dumps({what: sum(getattr(line, what) for line in lines.values())
                                  for what in ("carried", "lost")}), flush=True)
                return


if __name__ == "__main__":
    main()
