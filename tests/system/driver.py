#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver's tests inside a guest, and the card taken away from outside."""

import argparse
import random
import sys
import tempfile
import time

from suite import (PROGRAMS, clean_kernels, device_of_node, expect, extra_cards, plan, ring_of_two, run,
                   run_guest_program, wait_for)
from labkit import Lab

SHORT, LONG = (16, 4), (160, 40)        # unbinds, unplugs


def card(lab):
    """The card that rmlab gave the machine; the others are its neighbours' on a ring of two."""
    return device_of_node(lab, 1, 1)


def plug_in(lab):
    lab.qmp(1, "device_add", driver="rfm5565", id="rfm0", bus="rp0", rx="rfmrx", tx="rfmtx",
            iothread="ring0", **{"node-id": 1})
    wait_for("the card is back", lambda: any(
        c["node"] == 1 and c["signal"] for c in lab.rmctl_json(1, "list")), 30)
    lab.run(1, "rmctl", "test", card(lab))


def one_unplug(lab):
    device = f"/dev/{card(lab)}"
    users = lab.start(1, PROGRAMS + "unbind_test", "-x", device)
    while "running" not in users.line():
        pass
    time.sleep(random.uniform(0, 0.5))  # a random moment is the point
    lab.qmp(1, "device_del", id="rfm0")
    users.finish(timeout=60)
    wait_for("the card is out",
             lambda: lab.run(1, "test", "-e", device, check=False).returncode == 1, 30)
    wait_for("QEMU has let go of it", lambda: "rfm0" not in
             [d["name"] for d in lab.qmp(1, "qom-list", path="/machine/peripheral")], 30)
    plug_in(lab)


def unplugs(lab, count):
    """The card is unplugged while it is mapped, polled and stored to: ENODEV, SIGBUS, no hang"""
    for _ in range(count):
        one_unplug(lab)


def stops_answering(lab, _):
    """A card that answers all ones, as if pulled, is an error, not a hang; rebinding mends it"""
    device = card(lab)
    where = lab.rmctl_json(1, "show", device)["pci"]
    users = lab.start(1, PROGRAMS + "unbind_test", "-x", f"/dev/{device}")
    while "running" not in users.line():
        pass
    lab.qmp(1, "qom-set", path="/machine/peripheral/rfm0", property="dead", value=True)
    for verb, *more in (["show"], ["test"], ["send", "all", "1"]):
        start = time.monotonic()
        done = lab.run(1, "rmctl", verb, device, *more, check=False)
        expect(done.returncode == 1 and done.stderr.strip(), f"{verb}: {done}")
        expect(time.monotonic() - start < 20, f"{verb} took too long")
    lab.run(1, "sh", "-c", f"echo {where} >/sys/bus/pci/drivers/rfm/unbind")
    users.finish(timeout=60)
    lab.qmp(1, "qom-set", path="/machine/peripheral/rfm0", property="dead", value=False)
    lab.run(1, "sh", "-c", f"echo {where} >/sys/bus/pci/drivers/rfm/bind")
    wait_for("the ring is closed", lambda: lab.run(1, "rmctl", "test", card(lab), check=False)
             .returncode == 0)


def reload_module(lab, _):
    """The module can be unloaded and loaded again"""
    lab.run(1, "rmmod", "rfm")
    lab.run(1, "sh", "-c", "insmod /lib/modules/$(uname -r)/rfm.ko")
    wait_for("all cards are back", lambda: len(lab.rmctl_json(1, "list")) == 3)
    lab.run(1, "rmctl", "test", card(lab))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true",
                        help="only the unbinds and unplugs, 200 of them instead of 20")
    parser.add_argument("--kernel", help="of the guest")
    args = parser.parse_args()
    unbinds, unplugged = LONG if args.long else SHORT
    up = ["--kernel", args.kernel] if args.kernel else []

    tests = [unplugs, stops_answering, reload_module, clean_kernels]
    plan(tests)
    with tempfile.TemporaryDirectory() as folder, \
            Lab("driver", 1, *up, *extra_cards(ring_of_two(folder, 20, 21))) as lab:
        def program(name, *words):
            return bool(run_guest_program(lab, 1, PROGRAMS + name, *words, timeout=3000))

        mine = f"/dev/{card(lab)}"
        failed = 0
        if not args.long:
            pair = ["/dev/" + device_of_node(lab, 1, node) for node in (20, 21)]
            failed += sum(program(name, mine) for name in ("mmap_test", "io_test", "ioctl_test"))
            failed += program("listen_test", *pair)
        seed = str(random.randrange(1, 2**32))
        print(f"# unbind_test -s {seed}")
        failed += program("unbind_test", "-n", str(unbinds), "-s", seed, mine)
        failed += run(tests, lab, unplugged)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
