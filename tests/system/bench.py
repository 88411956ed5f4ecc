#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a load and a store cost, beside RAM and beside a register that does nothing.

All figures are of one run, and printed beside their targets. What the guest measures depends on
what else the host does; the processor time that the host spends in the vCPU hardly does.
"""

import sys
from pathlib import Path

from suite import expect, figure, plan, run
from labkit import Lab

LOAD_TARGET = "a load costs at most 1.2 times one from RAM"
STORE_TARGET = "a saturated store costs the vCPU at most 1.5 times one that does nothing"
STORES = 2_000_000
PASSES = 5
BENCH = "/usr/lib/rfm/tests/bench_access"


def need(figures, *names):
    for name in names:
        expect(float(figures[name][0]) > 0, f"no {name}")


def loads(_lab, figures):
    """The cost of a load is printed beside that of a load from RAM"""
    need(figures, "load_ram", "load_card", "load_ratio")


def stores(_lab, figures):
    """The cost of a store is printed, saturated and alone, beside a store that does nothing"""
    need(figures, "store_saturated", "store_lone", "idle_register_saturated",
         "idle_register_lone", "store_saturated_ratio", "store_lone_ratio")


def vcpu_time(lab):
    """Nanoseconds that the host has spent in the machine's only vCPU."""
    thread = lab.qmp(1, "query-cpus-fast")[0]["thread-id"]
    return int(Path(f"/proc/{thread}/schedstat").read_text().split()[0])


def vcpu_cost(lab, target):
    """Of one store, in ns; the start of the program is taken off."""
    def spent(count):
        before = vcpu_time(lab)
        lab.run(1, BENCH, "/dev/rfm0", target, str(count))
        return vcpu_time(lab) - before
    return (spent(STORES) - spent(0)) / STORES


def saturated_cost(lab, _figures):
    """What a saturated store costs the vCPU is printed beside a store that does nothing"""
    best = {"card": float("inf"), "idle": float("inf")}
    for _ in range(PASSES):             # in turns, so that both meet what else the host does
        for target in best:
            best[target] = min(best[target], vcpu_cost(lab, target))
    ratio = best["card"] / best["idle"]
    figure(f"vCPU time of a saturated store {best['card']:.0f} ns, of one that does nothing "
           f"{best['idle']:.0f} ns: {ratio:.2f} times")
    figure(f"target: {STORE_TARGET}")
    expect(ratio > 0, "no processor time was spent")


TESTS = [loads, stores, saturated_cost]


def main():
    plan(TESTS)
    with Lab("bench", 1, "--qemu-arg", "-device", "--qemu-arg", "pci-testdev") as lab:
        figures = {}
        for line in lab.out(1, BENCH, "/dev/rfm0", timeout=250).splitlines():
            name, *rest = line.split()
            figures[name] = rest
            figure(line)
        figure(f"target: {LOAD_TARGET}")
        return bool(run(TESTS, lab, figures))


if __name__ == "__main__":
    sys.exit(main())
