#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every verb of rmctl on real cards: tests/guest/rmctl_test.sh on odd cards of one machine."""

import sys
import tempfile

from suite import TOP, run_guest_program
from labkit import Lab

SCRIPT = TOP / "tests" / "guest" / "rmctl_test.sh"
IN_GUEST = "/tmp/rmctl_test.sh"

# Node ids of the cards beside the lab's own: two on a ring, one with a narrow window on none.
DEVICE, PEER, ALONE = 0, 17, 18


def extra_cards(folder):
    """Arguments for these three cards."""
    words = []
    for node, rx, tx, more in ((DEVICE, "a", "b", ""), (PEER, "b", "a", ""),
                               (ALONE, "c", "nobody", ",memory-size=128M,window=16M")):
        words += ["-chardev", f"socket,id=r{node},path={folder}/{rx},server=on,wait=off",
                  "-chardev", f"socket,id=t{node},path={folder}/{tx},reconnect-ms=100",
                  "-device", f"rfm5565,node-id={node},rx=r{node},tx=t{node}{more}"]
    return [arg for word in words for arg in ("--qemu-arg", word)]


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Lab("rmctl", 1, *extra_cards(folder)) as lab:
        lab.verb("push", 1, SCRIPT, IN_GUEST)
        cards = {card["node"]: card["device"] for card in lab.rmctl_json(1, "list")}
        failed = run_guest_program(lab, 1, "sh", IN_GUEST, cards[DEVICE], cards[PEER])
        failed += run_guest_program(lab, 1, "env", "RING=open", "sh", IN_GUEST, cards[ALONE])
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
