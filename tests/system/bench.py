#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a load and a store cost, beside RAM and beside a register that does nothing.

Only the ratio of a load to one from RAM is a test: it is the same instruction on the same
kind of page, so it does not depend on how busy the host is. All figures are of one run.
"""

import sys

from suite import expect, figure, plan, run
from labkit import Lab

LOAD_LIMIT = 1.2


def load_like_ram(figures):
    """A load from the mapping costs at most 1.2 times a load from RAM"""
    ratio = float(figures["load_ratio"][0])
    expect(ratio <= LOAD_LIMIT, f"{ratio} times")


def main():
    plan([load_like_ram])
    with Lab("bench", 1, "--qemu-arg", "-device", "--qemu-arg", "pci-testdev") as lab:
        out = lab.out(1, "/usr/lib/rfm/tests/bench_access", "/dev/rfm0", timeout=250)
    figures = {}
    for line in out.splitlines():
        name, *rest = line.split()
        figures[name] = rest
        figure(line)
    return bool(run([load_like_ram], figures))


if __name__ == "__main__":
    sys.exit(main())
