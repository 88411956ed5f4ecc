#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a load and a store cost, beside RAM and beside a register that does nothing.

All figures are of one run, and printed beside their targets, which need a host that has nothing
else to do. What is judged are limits so wide that they tell a load that traps from one that does
not, and hold on any host.
"""

import sys
from pathlib import Path

from suite import expect, figure, plan, run
from labkit import Lab

LOAD_TARGET = "a load costs at most 1.2 times one from RAM"
STORE_TARGET = "a saturated store costs the vCPU at most 1.5 times one that does nothing"
BURST_TARGET = "a copy of 1 MiB into a burst range costs at most 1.2 times one in RAM"
BURST_LIMIT = 20        # where each store traps it takes a thousand times as long
LOAD_LIMIT = 5          # a load that traps costs some hundred times as much as one from RAM
STORE_LIMIT = 10        # beside a store that traps, and does nothing
STORES = 2_000_000
PASSES = 5
BENCH = "/usr/lib/rfm/tests/bench_access"


def within(ratio, limit, what):
    expect(1 / limit <= ratio <= limit, f"{what}: {ratio:.2f} times, beyond any doubt about the host")


def loads(_lab, figures):
    """A load is one from RAM: it does not trap"""
    within(float(figures["load_ratio"][0]), LOAD_LIMIT, "a load, beside one from RAM")


def stores(_lab, figures):
    """A saturated store costs not much more than one that does nothing"""
    within(float(figures["store_saturated_ratio"][0]), STORE_LIMIT,
           "a store, beside one that does nothing")


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
    """Nor does it cost the vCPU much more"""
    best = {"card": float("inf"), "idle": float("inf")}
    for _ in range(PASSES):             # in turns, so that both meet what else the host does
        for target in best:
            best[target] = min(best[target], vcpu_cost(lab, target))
    ratio = best["card"] / best["idle"]
    figure(f"vCPU time of a saturated store {best['card']:.0f} ns, of one that does nothing "
           f"{best['idle']:.0f} ns: {ratio:.2f} times")
    stall, full = (lab.qmp(1, "qom-get", path="/machine/peripheral/rfm0", property=name)
                   for name in ("longest-stall-us", "frames-full"))
    figure(f"the vCPU's time leaves out waiting: the longest wait for room was {stall} us, "
           f"{full} stores found none")
    figure(f"target: {STORE_TARGET}")
    within(ratio, STORE_LIMIT, "vCPU time of a store, beside one that does nothing")


def burst(lab, _figures):
    """A store to a burst range is one to RAM"""
    lab.run(1, "rmctl", "set", "rfm0", "burst=0+1M")
    copies = [line for line in lab.out(1, BENCH, "/dev/rfm0", timeout=250).splitlines()
              if line.startswith("copy")]
    for line in copies:
        figure(line)
    figure(f"target: {BURST_TARGET}")
    within(float(copies[-1].split()[1]), BURST_LIMIT, "a copy of 1 MiB, beside one in RAM")
    lab.run(1, "rmctl", "set", "rfm0", "burst=off")


TESTS = [loads, stores, saturated_cost, burst]


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
