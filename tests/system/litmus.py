#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The litmus tests of docs/ordering.md on rings of processes.

litmus.py                                   all rings, some thousand rounds of each test
litmus.py --long TOPOLOGY NODES [TEST...]   one ring, ten million rounds of each test
"""

import secrets
import subprocess
import sys

from members import PROGRAMS, Hub, Place

ROUNDS = 20_000
LONG_ROUNDS = 10_000_000


def litmus(place, nodes, rounds, rx, tx, *more):
    """Run the program; it prints TAP itself. Returns whether it failed."""
    done = subprocess.run([PROGRAMS / "litmus", "-n", str(nodes), "-r", rx, "-t", tx,
                           "-c", str(rounds), "-s", str(secrets.randbits(32)), *more],
                          cwd=place.folder, check=False)
    return done.returncode != 0


def run(topology, nodes, rounds, *tests):
    print(f"#: {nodes} nodes, {topology}", flush=True)
    with Place("litmus") as place:
        daisy = f"unix:{place.folder}/{{i}},server", f"unix:{place.folder}/{{n}}"
        if topology == "daisy":
            return litmus(place, nodes, rounds, *daisy, *tests)
        if topology == "streams":
            return litmus(place, nodes, rounds, *daisy, "-x", *tests)
        hub = Hub(place, nodes)
        return litmus(place, nodes, rounds, hub.rx("{i}"), hub.tx("{i}"), *tests)


def main():
    if sys.argv[1:2] == ["--long"]:
        return run(sys.argv[2], int(sys.argv[3]), LONG_ROUNDS, *sys.argv[4:])
    failed = False
    for topology in ("daisy", "hub"):
        for nodes in (2, 3, 8):
            failed |= run(topology, nodes, ROUNDS)
    return failed | run("streams", 3, ROUNDS)


if __name__ == "__main__":
    sys.exit(main())
