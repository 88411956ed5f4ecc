#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a load and a store cost, beside RAM and beside a register that does nothing.

A benchmark: it fails only if a figure is missing. All figures are of one run.
"""

import sys

from suite import expect, figure, plan, run
from labkit import Lab

LOAD_TARGET = "a load costs at most 1.2 times one from RAM"


def need(figures, *names):
    for name in names:
        expect(float(figures[name][0]) > 0, f"no {name}")


def loads(figures):
    """The cost of a load is printed beside that of a load from RAM"""
    need(figures, "load_ram", "load_card", "load_ratio")


def stores(figures):
    """The cost of a store is printed, saturated and alone, beside a store that does nothing"""
    need(figures, "store_saturated", "store_lone", "idle_register_saturated",
         "idle_register_lone", "store_saturated_ratio", "store_lone_ratio")


TESTS = [loads, stores]


def main():
    plan(TESTS)
    with Lab("bench", 1, "--qemu-arg", "-device", "--qemu-arg", "pci-testdev") as lab:
        out = lab.out(1, "/usr/lib/rfm/tests/bench_access", "/dev/rfm0", timeout=250)
    figures = {}
    for line in out.splitlines():
        name, *rest = line.split()
        figures[name] = rest
        figure(line)
    figure(f"target: {LOAD_TARGET}")
    return bool(run(TESTS, figures))


if __name__ == "__main__":
    sys.exit(main())
