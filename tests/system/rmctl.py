#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The verbs of rmctl for cards, rings and settings: tests/guest/rmctl_*test.sh on odd cards of one
machine. rmctl_memory.py has those for the memory."""

import sys
import tempfile

import schemas
from suite import TOP, expect, extra_cards, plan, run, run_guest_program, unload_driver
from labkit import Lab

SCRIPTS = ("rmctl_lib.sh", "rmctl_test.sh", "rmctl_config_test.sh")

# Node ids of the cards: one on a ring of its own; three on a ring, the peer before the device and
# one between; one with a narrow window on none; one without the extension block that is its own
# ring.
LONELY, DEVICE, PEER, ALONE, BASE, BETWEEN = 1, 0, 17, 18, 19, 20
THREAD = ",iothread=ring0"          # the lab's own: a card with a burst range needs one

# Of these the scripts print JSON.
VERBS = ("list", "show", "stats", "set", "subscribe", "unsubscribe", "subscriptions", "monitor",
         "save-config", "apply", "map", "test", "fence", "send", "listen", "peek", "poke", "dump", "report")


def ring_of(folder, *nodes):
    """Cards that are a ring, in the order in which frames go round; for extra_cards()."""
    return [(node, f"path={folder}/{node}", f"path={folder}/{after}", "")
            for node, after in zip(nodes, nodes[1:] + nodes[:1])]


def odd_cards(folder):
    device, *others = ring_of(folder, DEVICE, BETWEEN, PEER)
    return extra_cards([(*device[:3], THREAD), *others,
                        (ALONE, f"path={folder}/alone", f"path={folder}/nobody",
                         THREAD + ",memory-size=128M,window=16M"),
                        (BASE, f"path={folder}/base", f"path={folder}/base", ",extension=off")])


def script(lab, name, *args, **environment):
    """Run a guest script, which keeps the JSON that it sees."""
    words = [f"{key}={value}" for key, value in environment.items()]
    return run_guest_program(lab, 1, "env", f"JSON_LOG={schemas.GUEST_LOG}", *words,
                             "sh", f"/tmp/{name}", *args, timeout=800)


def test_report_without_module(lab):
    """rmctl report tells of cards that have no driver, of a module that is not loaded, and what it could not ask"""
    unload_driver(lab)
    done = lab.run(1, "rmctl", "-j", "report", check=False)
    report = schemas.fitting("report", done.stdout)
    expect(done.returncode == 4 and report["module"] is None and not report["devices"] and
           len(report["cards"]) == 6 and not any(card["driver"] for card in report["cards"]) and
           "is module rfm loaded?" in report["asked"][0]["error"], f"{done}")
    said = lab.run(1, "rmctl", "report", check=False).stdout
    expect("\nmodule rfm: not loaded\ncard at PCI 0000:" in said and "driver none" in said, said)


def main():
    with tempfile.TemporaryDirectory() as folder, \
            Lab("rmctl", 1, *odd_cards(folder)) as lab:
        for name in SCRIPTS:
            lab.verb("push", 1, TOP / "tests" / "guest" / name, f"/tmp/{name}")
        cards = {card["node"]: card["device"] for card in lab.rmctl_json(1, "list")}
        failed = script(lab, "rmctl_config_test.sh", *(cards[node] for node in
                                                       (DEVICE, PEER, BASE, ALONE, BETWEEN,
                                                        LONELY)))
        failed += script(lab, "rmctl_test.sh", cards[DEVICE], cards[PEER])
        failed += script(lab, "rmctl_test.sh", cards[ALONE], RING="open", MISUSE="no")
        failed += script(lab, "rmctl_test.sh", cards[BASE], MISUSE="no")
        failed += schemas.check_log(lab, 1, VERBS)
        tests = [test_report_without_module]
        plan(tests)
        failed += run(tests, lab)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
