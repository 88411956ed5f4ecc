#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Subscriptions and watches on a ring of machines. `--long`: ten thousand masks, 10^7 updates."""

import sys
import time

from suite import (PATIENT, PROGRAMS, clean_kernels, expect, figure, plan, run, several_attempts, unload_driver,
                   wait_for)
from bench import vcpu_time
from labkit import Lab, Part

MASKS, LONG_MASKS = 300, 10_000
UPDATES, LONG_UPDATES = 200_000, 10_000_000
MASK_AT, MASK_GRANULES = 0x100000, 512
WATCH_AT, WATCH_SIZE = 0x200000, 0x10000
DEPTH = 1024
ALL_ONES = hex(2**64 - 1)
SHELL_LIMIT_S = 30      # more than a busy host takes; who only serves interrupts never answers
MODERATED = 20_000      # interrupts a second: the driver asks for 50 us between two
SLOWED = 1.5            # times: what a store costs the writer's CPU
SLOW_US = 20_000        # that a slow reader sleeps between two looks
MARGIN_MS = 250         # until a busy machine's program has a turn
WRONG_WRITES = 50
CARD = "rfm0"


def counter(lab, node, name):
    return lab.qmp(node, "qom-get", path="/machine/peripheral/rfm0", property=name)


def frames_sent(lab):
    """By node 1 so far. All are home: a watch that begins now sees none of them."""
    wait_for("all is home", lambda: not lab.run(1, "rmctl", "fence", CARD, check=False).returncode)
    return counter(lab, 1, "frames-sent")


def load_driver(lab, node, *parameters):
    unload_driver(lab, node)
    lab.run(node, "modprobe", "rfm", *parameters)


def masks(lab, changes=MASKS):
    """Masks change under full traffic: what is not subscribed keeps its bytes, the rest is complete"""
    load_driver(lab, 3, "base_policy=none")
    try:
        writer = lab.start(1, PROGRAMS + "masks", "write", "/dev/rfm0", hex(MASK_AT), MASK_GRANULES)
        writer.line()
        reader = lab.start(3, PROGRAMS + "masks", "change", "/dev/rfm0", hex(MASK_AT), MASK_GRANULES,
                           changes, 1)
        for part in (reader, writer):
            print("# " + part.finish(timeout=600).strip())
        sums = {lab.out(node, PROGRAMS + "ringstress", "sum", "/dev/rfm0", hex(MASK_AT),
                        hex(MASK_GRANULES * 64)) for node in (1, 2)}
        expect(len(sums) == 1, "node 2, which subscribes to everything, has something else")
    finally:
        load_driver(lab, 3)


def stores(lab, node, count, seed):
    """Start `count` stores into the node's part of the watched area."""
    part = WATCH_SIZE // 4
    return lab.start(node, PROGRAMS + "ringstress", "write", "/dev/rfm0", hex(WATCH_AT + (node - 1) * part),
                     hex(part), count, seed)


def store_cost(lab, count, seed):
    """Nanoseconds of the writer's CPU that a store costs, whatever else the host does."""
    before = vcpu_time(lab)
    stores(lab, 1, count, seed).finish(timeout=1500)
    return (vcpu_time(lab) - before) / count


def end_of(lab, watcher):
    """Tell a watcher to end, and return what it says: updates delivered, dropped by its queue,
    dropped by the card, and the number of the last one's frame. Its queue may be full: say it
    again."""
    wait_for("the watcher ends", lambda: lab.poke(1, WATCH_AT, ALL_ONES, 8) or
             watcher.process.poll() is not None)
    return map(int, watcher.finish().split())


def watch(lab, depth, pause_us):
    watcher = lab.start(3, PROGRAMS + "watcher", "/dev/rfm0", hex(WATCH_AT), hex(WATCH_SIZE), depth, pause_us)
    watcher.line()
    return watcher


def fast_reader(lab):
    """A reader that keeps up gets every update, in order"""
    before = frames_sent(lab)
    watcher = watch(lab, 65536, 0)
    stores(lab, 1, 2000, 3).finish()
    delivered, dropped, by_card, frame = end_of(lab, watcher)
    expect((delivered, dropped, by_card) == (frame - before, 0, 0),
           f"{frame - before} updates, {delivered} delivered, {dropped} and {by_card} dropped")


def slow_reader(lab, count=UPDATES):
    """Every update makes one record; a slow reader loses records, counted to the last one, and no writer waits"""
    several_attempts(cost_of_a_slow_reader, lab, count)


def cost_of_a_slow_reader(lab, count):
    """Is a store much dearer with one? What else the host does costs, too."""
    each = min(count, 1_000_000)
    free = min(store_cost(lab, each, seed) for seed in range(3))
    before = frames_sent(lab)
    full = counter(lab, 1, "frames-full")
    watcher = watch(lab, DEPTH, SLOW_US)
    watched = min(store_cost(lab, each, seed) for seed in range(3, 3 + max(3, count // each)))
    delivered, dropped, by_card, frame = end_of(lab, watcher)
    updates = frame - before
    figure(f"{updates} updates: {delivered} delivered, {dropped} dropped by the queue, {by_card} by the card")
    figure(f"a store costs the writer's CPU {watched:.0f} ns with a slow watcher, {free:.0f} ns without")
    expect(delivered + dropped + by_card == updates, "the numbers do not add up")
    expect(dropped > 0, "nothing was dropped: the reader was not slow")
    expect(counter(lab, 1, "frames-full") == full, "stores found no room because of the reader")
    return watched > SLOWED * free and f"a store costs {watched} ns, {free} ns without a watcher"


def storm(lab):
    """Everybody stores into watched memory as fast as he can: a shell command still answers"""
    watcher = watch(lab, DEPTH, 0)
    before, start = lab.rmctl_json(3, "show", CARD), time.monotonic()
    part = WATCH_SIZE // 4
    writers = [lab.start(node, "sh", "-c", "until [ -e /tmp/calm ]; do"
                         f" {PROGRAMS}ringstress write /dev/rfm0 {WATCH_AT + (node - 1) * part:#x}"
                         f" {part} 200000 {node} || exit; done") for node in lab.nodes]
    try:
        # While the driver is at it, it is not interrupted: there may be no second one in all the storm.
        wait_for("the storm has begun", lambda: lab.rmctl_json(3, "show", CARD)["interrupts"] >
                 before["interrupts"])
        shell = lab.out(3, "sh", "-c",
                        "for i in 1 2 3 4 5 6 7 8 9 10; do"
                        " a=$(cut -d' ' -f1 /proc/uptime); rmctl list >/dev/null || exit 1;"
                        " b=$(cut -d' ' -f1 /proc/uptime); echo $a $b; done")
        took = [float(end) - float(begin) for begin, end in map(str.split, shell.splitlines())]
        running = all(writer.process.poll() is None for writer in writers)
        after, seconds = lab.rmctl_json(3, "show", CARD), time.monotonic() - start
        rate = (after["interrupts"] - before["interrupts"]) / seconds
        figure(f"a command took {max(took):.2f} s at most, limit {SHELL_LIMIT_S} s; "
               f"{rate:.0f} interrupts a second, limit {MODERATED}")
        expect(rate <= MODERATED, f"{rate} interrupts a second")
        expect(running, "the storm was over before the shell had answered")
        expect(len(took) == 10 and max(took) <= SHELL_LIMIT_S, f"a command took {max(took)} s")
    finally:
        for node in lab.nodes:
            lab.run(node, "touch", "/tmp/calm")
    for writer in writers:
        writer.finish(timeout=600)
    end_of(lab, watcher)


def tells_in_time(display, freeze, thaw):
    """The display's word that the state is stale, as late as it may be."""
    def attempt():
        before = display.now_ns()
        try:
            freeze()
            silent_ms = display.tells("stale", before)["silent_for_ns"] / 1e6
        finally:
            thaw()
        display.tells("fresh")
        figure(f"stale after {silent_ms:.0f} ms of silence, stated {Part.SILENCE_MS} ms")
        expect(silent_ms >= Part.SILENCE_MS, f"{silent_ms} ms")
        return silent_ms > Part.SILENCE_MS + MARGIN_MS and f"{silent_ms} ms"
    several_attempts(attempt)


def frozen_writer(lab):
    """A writer whose machine stands still is stale in time, on a live ring and on a broken one"""
    plant, display = Part(lab, 1, "plant"), Part(lab, 3, "display")
    display.tells("fresh")

    def stop():
        lab.qmp(1, "stop")
        lab.test_ring(2)        # the ring is alive

    def stop_and_cut():
        lab.qmp(1, "stop")
        lab.verb("cut", 2)

    def restore_and_go_on():
        lab.verb("restore", 2)
        lab.qmp(1, "cont")

    tells_in_time(display, stop, lambda: lab.qmp(1, "cont"))
    tells_in_time(display, stop_and_cut, restore_and_go_on)
    for part in (display, plant):
        part.end()


def wrong_writer(lab):
    """A node that writes into another's area is named there: who, where, how often"""
    plant = Part(lab, 1, "plant")
    plant.tells("waiting")
    lab.run(3, "wrongwriter", "--count", str(WRONG_WRITES))
    first = plant.tells("conflict")
    expect((first["node"], first["offset"], first["length"]) == (3, 0x10010, 8), str(first))
    told = plant.end()
    expect(told["conflicts"] == WRONG_WRITES, str(told))
    lab.run(3, "wrongwriter", "--count", "1")
    last = lab.rmctl_json(2, "who", CARD, "0x10000")
    expect(last["node"] == 3, f"the last writer there: {last}")


def long_masks(lab):
    """Ten thousand masks under full traffic"""
    masks(lab, LONG_MASKS)


def long_slow_reader(lab):
    """Ten million updates against a slow reader"""
    slow_reader(lab, LONG_UPDATES)


SHORT = [fast_reader, slow_reader, masks, frozen_writer, wrong_writer, storm, clean_kernels]
LONG = [long_slow_reader, long_masks, clean_kernels]


def main():
    tests = LONG if "--long" in sys.argv else SHORT
    plan(tests)
    with Lab("subscribe", 3, *PATIENT) as lab:
        return bool(run(tests, lab))


if __name__ == "__main__":
    sys.exit(main())
