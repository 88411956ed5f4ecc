#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a load and a store cost, beside RAM and beside a register that does nothing.

All figures are of one run, and printed beside their targets, which need a host that has nothing
else to do. What is judged are limits so wide that they tell a load that traps from one that does
not, and hold on any host.
"""

import sys
from pathlib import Path

import measure
from suite import expect, figure, plan, run
from labkit import Lab

LOAD_TARGET = "a load costs at most 1.1 times one from RAM"
STORE_TARGET = "a saturated store costs the vCPU at most 1.3 times one that does nothing"
BURST_TARGET = "a copy of 1 MiB into a burst range costs at most 1.2 times one in RAM"
BURST_LIMIT = 20        # where each store traps it takes a thousand times as long
LOAD_LIMIT = 5          # a load that traps costs some hundred times as much as one from RAM
STORE_LIMIT = 10        # beside a store that traps, and does nothing
PASSES = 3
RUNS_S = 1, 3           # rmbench has no shorter one


def within(ratio, limit, what):
    expect(1 / limit <= ratio <= limit, f"{what}: {ratio:.2f} times, beyond any doubt about the host")


def show(row):
    figure(f"{row['what']}: {measure.figures(row)}"
           + (f"; {row['ratio']:.2f} times '{row['beside']}'" if row["ratio"] else ""))


def loads(lab):
    """A load is one from RAM: it does not trap"""
    rows = measure.card(lab, "ram-load,load", seconds=3)
    for row in rows.values():
        show(row)
    figure(f"target: {LOAD_TARGET}")
    within(rows["load", 8]["ratio"], LOAD_LIMIT, "a load, beside one from RAM")


def stores(lab):
    """A saturated store costs not much more than one that does nothing"""
    rows = measure.card(lab, "register,store,lone-register,lone-store", seconds=5)
    for row in rows.values():
        show(row)
    within(rows["store", 4]["ratio"], STORE_LIMIT, "a store, beside one that does nothing")


def vcpu_time(lab):
    """Nanoseconds that the host has spent in the machine's only vCPU."""
    thread = lab.qmp(1, "query-cpus-fast")[0]["thread-id"]
    return int(Path(f"/proc/{thread}/schedstat").read_text().split()[0])


def spent(lab, what, seconds):
    """(ns, stores) of a run."""
    before = vcpu_time(lab)
    row = next(iter(measure.card(lab, what, seconds=seconds).values()))
    # The first quarter of each pass is stored as well, and its time is not taken.
    return vcpu_time(lab) - before, row["operations"] * 4 / 3


def vcpu_cost(lab, what):
    """Of one store, in ns; what a run costs besides, its start most of all, is in the shorter one as well."""
    (short_ns, few), (long_ns, many) = (spent(lab, what, seconds) for seconds in RUNS_S)
    return (long_ns - short_ns) / (many - few) if many > few else float("inf")


def saturated_cost(lab):
    """Nor does it cost the vCPU much more"""
    best = {"store": float("inf"), "register": float("inf")}
    for _ in range(PASSES):             # in turns, so that both meet what else the host does
        for what in best:
            best[what] = min(best[what], vcpu_cost(lab, what))
    ratio = best["store"] / best["register"]
    figure(f"vCPU time of a saturated store {best['store']:.0f} ns, of one that does nothing "
           f"{best['register']:.0f} ns: {ratio:.2f} times")
    stall, full = (lab.qmp(1, "qom-get", path="/machine/peripheral/rfm0", property=name)
                   for name in ("longest-stall-us", "frames-full"))
    figure(f"the vCPU's time leaves out waiting: the longest wait for room was {stall} us, "
           f"{full} stores found none")
    figure(f"target: {STORE_TARGET}")
    within(ratio, STORE_LIMIT, "vCPU time of a store, beside one that does nothing")


def burst(lab):
    """A store to a burst range is one to RAM"""
    lab.run(1, "rmctl", "set", "rfm0", f"burst={measure.AT:#x}+2M")
    rows = measure.card(lab, "ram-copy,memcpy", seconds=2)
    for row in rows.values():
        show(row)
    figure(f"target: {BURST_TARGET}")
    within(rows["memcpy", 1 << 20]["ratio"], BURST_LIMIT, "a copy of 1 MiB, beside one in RAM")
    lab.run(1, "rmctl", "set", "rfm0", "burst=off")


TESTS = [loads, stores, saturated_cost, burst]


def main():
    plan(TESTS)
    with Lab("bench", 1, "--qemu-arg", "-device", "--qemu-arg", "pci-testdev") as lab:
        return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
