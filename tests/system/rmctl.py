#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every verb of rmctl on real cards: tests/guest/rmctl_test.sh on odd cards of one machine."""

import sys
import tempfile

from suite import TOP, extra_cards, ring_of_two, run_guest_program
from labkit import Lab

SCRIPT = TOP / "tests" / "guest" / "rmctl_test.sh"
IN_GUEST = "/tmp/rmctl_test.sh"

# Node ids of the cards beside the lab's own: two on a ring, one with a narrow window on none,
# one without the extension block that is its own ring.
DEVICE, PEER, ALONE, BASE = 0, 17, 18, 19


def odd_cards(folder):
    return extra_cards([*ring_of_two(folder, DEVICE, PEER),
                        (ALONE, f"path={folder}/alone", f"path={folder}/nobody",
                         ",memory-size=128M,window=16M"),
                        (BASE, f"path={folder}/base", f"path={folder}/base", ",extension=off")])


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Lab("rmctl", 1, *odd_cards(folder)) as lab:
        lab.verb("push", 1, SCRIPT, IN_GUEST)
        cards = {card["node"]: card["device"] for card in lab.rmctl_json(1, "list")}
        failed = run_guest_program(lab, 1, "sh", IN_GUEST, cards[DEVICE], cards[PEER])
        failed += run_guest_program(lab, 1, "env", "RING=open", "sh", IN_GUEST, cards[ALONE])
        failed += run_guest_program(lab, 1, "sh", IN_GUEST, cards[BASE])
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
