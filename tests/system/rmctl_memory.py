#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The verbs of rmctl for the memory: tests/guest/rmctl_memory_test.sh on cards of one machine."""

import sys
import tempfile

import schemas
from suite import TOP, extra_cards, ring_of_two, run_guest_program
from labkit import Lab

SCRIPTS = ("rmctl_lib.sh", "rmctl_memory_test.sh")

# Node ids of the cards beside the lab's own: two on a ring, one without the extension block that
# is its own ring.
DEVICE, PEER, BASE = 0, 17, 19

# Of these the script prints JSON.
VERBS = ("fill", "load", "save", "diff", "who", "trace", "watch", "top")


def cards_of_one_machine(folder):
    return extra_cards([*ring_of_two(folder, DEVICE, PEER),
                        (BASE, f"path={folder}/base", f"path={folder}/base", ",extension=off")])


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Lab("rmctl-memory", 1, *cards_of_one_machine(folder)) as lab:
        for name in SCRIPTS:
            lab.verb("push", 1, TOP / "tests" / "guest" / name, f"/tmp/{name}")
        cards = {card["node"]: card["device"] for card in lab.rmctl_json(1, "list")}
        failed = run_guest_program(lab, 1, "env", f"JSON_LOG={schemas.GUEST_LOG}", "sh",
                                   f"/tmp/{SCRIPTS[-1]}", cards[DEVICE], cards[PEER], cards[BASE],
                                   timeout=500)
        failed += schemas.check_log(lab, 1, VERBS)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
