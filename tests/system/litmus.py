#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The litmus tests of docs/ordering.md on rings of processes.

litmus.py                                   all rings, some thousand rounds of each test
litmus.py --packets ROUNDS                  what goes to one node: so many rounds of each test, over
                                            all rings together
litmus.py --packets ROUNDS TOPOLOGY NODES   what one ring has of them
litmus.py --long TOPOLOGY NODES TEST...     one ring, ten million rounds of each test
"""

import secrets
import subprocess
import sys

from members import PROGRAMS, Hub, Place

ROUNDS = 20_000
ADDRESSED_ROUNDS = 2_000        # of what goes to one node and is answered
LONG_ROUNDS = 10_000_000
RINGS = [(topology, nodes) for topology in ("daisy", "hub") for nodes in (2, 3, 8)]
PACKETS = [(2, ["MP+P", "LOCK"]), (3, ["WRC+P"])]       # by the nodes that they need


def litmus(place, nodes, rounds, addressed, rx, tx, *more):
    """Run the program; it prints TAP itself. Returns whether it failed."""
    done = subprocess.run([PROGRAMS / "litmus", "-n", str(nodes), "-r", rx, "-t", tx,
                           "-c", str(rounds), "-a", str(addressed),
                           "-s", str(secrets.randbits(32)), *more],
                          cwd=place.folder, check=False)
    return done.returncode != 0


def run(topology, nodes, rounds, addressed, *tests):
    print(f"#: {nodes} nodes, {topology}", flush=True)
    with Place("litmus") as place:
        daisy = f"unix:{place.folder}/{{i}},server", f"unix:{place.folder}/{{n}}"
        if topology == "daisy":
            return litmus(place, nodes, rounds, addressed, *daisy, *tests)
        if topology == "streams":
            return litmus(place, nodes, rounds, addressed, *daisy, "-x", *tests)
        hub = Hub(place, nodes)
        return litmus(place, nodes, rounds, addressed, hub.rx("{i}"), hub.tx("{i}"), *tests)


def packets(rounds, rings):
    failed = False
    for least, tests in PACKETS:
        share = rounds // sum(nodes >= least for _, nodes in RINGS) + 1
        for topology, nodes in rings:
            if nodes >= least:
                failed |= run(topology, nodes, ROUNDS, share, *tests)
    return failed


def main():
    if sys.argv[1:2] == ["--long"]:
        return run(sys.argv[2], int(sys.argv[3]), LONG_ROUNDS, LONG_ROUNDS, *sys.argv[4:])
    if sys.argv[1:2] == ["--packets"]:
        named = [(sys.argv[3], int(sys.argv[4]))] if sys.argv[3:] else RINGS
        return packets(int(sys.argv[2]), named)
    failed = False
    for topology, nodes in [*RINGS, ("streams", 3)]:
        failed |= run(topology, nodes, ROUNDS, ADDRESSED_ROUNDS)
    return failed


if __name__ == "__main__":
    sys.exit(main())
