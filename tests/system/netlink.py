#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver under fire: damaged messages and calls, and settings that change all the time."""

import argparse
import random
import sys
import tempfile

from suite import (PROGRAMS, clean_kernels, device_of_node, extra_cards, plan,
                   ring_of_two, run, run_guest_program, unload_driver, wait_for)
from labkit import Lab

# Node ids beside the lab's own: two on a ring, and one without the extension block.
NEAR, FAR, BASE = 30, 31, 32
CARDS = 4

# Messages that are fuzzed, seconds of calls that are, seconds of each storm.
SHORT = (50000, 10, 3)
LONG = (100000, 360, 30)    # ten of these are a million, and an hour
BRIEF = (2000, 0, 3)

TWO_CPUS = ["--qemu-arg", "-smp", "--qemu-arg", "2"]


def unload(lab):
    """The module can be unloaded: nobody holds anything of it any more"""
    unload_driver(lab)
    lab.run(1, "sh", "-c", "insmod /lib/modules/$(uname -r)/rfm.ko")
    wait_for("all cards are back", lambda: len(lab.rmctl_json(1, "list")) == CARDS)


def more_cards(folder):
    return extra_cards([*ring_of_two(folder, NEAR, FAR),
                        (BASE, f"path={folder}/base", f"path={folder}/base", ",extension=off")])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="a part of the long run")
    parser.add_argument("--brief", action="store_true",
                        help="little fuzz, and no damaged calls")
    parser.add_argument("--messages", type=int, help="so many of them are fuzzed")
    parser.add_argument("--calls", type=int, help="for so many seconds calls are fuzzed")
    parser.add_argument("--seed", type=int, help="of the fuzz, as a run before has printed it")
    parser.add_argument("--kernel", help="of the guest")
    parser.add_argument("--memory", help="of the guest, such as 1G")
    args = parser.parse_args()
    messages, calls, seconds = LONG if args.long else BRIEF if args.brief else SHORT
    messages = args.messages or messages
    calls = calls if args.calls is None else args.calls
    seed = random.randrange(1, 2**32) if args.seed is None else args.seed
    up = ["--kernel", args.kernel] if args.kernel else []
    up += ["--qemu-arg", f"-m {args.memory}"] if args.memory else []

    def program(name, *words):
        return bool(run_guest_program(lab, 1, PROGRAMS + name, *words, timeout=7200))

    tests = [unload, clean_kernels]
    plan(tests)
    print(f"# --seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, \
            Lab("netlink", 1, *up, *TWO_CPUS, *more_cards(folder)) as lab:
        near, far, *others = ("/dev/" + device_of_node(lab, 1, node)
                              for node in (NEAR, FAR, BASE, 1))
        failed = program("netlink_fuzz_test", "-s", str(seed), "-n", str(messages),
                         near, far, *others)
        if calls:
            failed += program("calls_fuzz_test", "-s", str(seed), "-t", str(calls),
                              near, far, *others)
        failed += program("netlink_storm_test", "-s", str(seed), "-t", str(seconds), near, far)
        failed += run(tests, lab)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
