# SPDX-License-Identifier: MIT
"""What the system tests share: the way to labkit, and TAP."""

import argparse
import contextlib
import random
import re
import socket
import sys
import time
import traceback
from pathlib import Path

PROGRAMS = "/usr/lib/rfm/tests/"         # the guest programs, in a guest
PATIENCE_S = 60         # what takes longer does not come, on a busy host either
# A busy host may not run a neighbour for tenths of a second: stores that must not be lost wait for it.
PATIENT = ("--device-arg", "stall-limit-ms=10000")
TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from labkit import NAP_S, Failed, Lab  # noqa: E402


class Skipped(Exception):
    """What a test wants to show cannot be seen here; says why."""


def expect(condition, complaint):
    """One thing a user would notice."""
    if not condition:
        raise Failed(complaint)


def wait_for(what, condition, seconds=PATIENCE_S):
    """Ask until it is so."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(NAP_S)


def several_attempts(attempt, *args):
    """At what a busy host may spoil: one must do. `attempt` returns what is wrong, if anything is."""
    for _ in range(5):
        complaint = attempt(*args)
        if not complaint:
            return
    raise Failed(complaint)


def free_ports(count):
    """Numbers of TCP ports that nobody has; no two are the same.

    None of those that the kernel gives to whoever asks for any: it would until ours is in use.
    """
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    others = [port for port in range(1024, 65536) if not first <= port <= last] \
        or range(1024, 65536)
    numbers = []
    while len(numbers) < count:
        port = random.choice(others)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        numbers += [port] * (port not in numbers)
    return numbers


def processes_with(word):
    """The numbers of the processes in whose command line it stands."""
    numbers = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):      # it has ended meanwhile
            if word.encode() in path.read_bytes():
                numbers.append(path.parent.name)
    return numbers


def unload_driver(lab, node=1):
    """The last file of a program that has ended, or been killed, may be closed a moment later."""
    wait_for("nobody uses the driver any more",
             lambda: lab.out(node, "cat", "/sys/module/rfm/refcnt").strip() == "0")
    lab.run(node, "rmmod", "rfm")


def figure(text):
    """A figure that scripts/test-all shows."""
    print(f"#: {text}", flush=True)


# kmemleak reports nothing younger than five seconds.
LEAKS = ("cd /sys/kernel/debug; [ -e kmemleak ] || exit 0;"
         "echo scan >kmemleak; sleep 6; echo scan >kmemleak; cat kmemleak")


def clean_kernels(lab, *_):
    """No kernel has complained"""
    for node in lab.nodes:
        # A scan is done when it is done, on a busy host late: only the suite's limit ends it.
        leaks = lab.out(node, "sh", "-c", LEAKS, timeout=None)
        expect(not leaks, f"node {node} leaks memory: {leaks}")
        clean_console(lab, node)


def clean_console(lab, node):
    bad = re.search(r"BUG|WARNING:|Oops|Call Trace|blocked for more than|soft lockup|"
                    r"rcu.*stall|general protection|nobody cared|use-after-free|UBSAN|"
                    r"DMA-API|ODEBUG",
                    lab.verb("log", node).stdout)
    expect(not bad, f"node {node}'s console has '{bad and bad[0]}'")


def asked(tests, *long):
    """The tests to run: with `--brief` without the long ones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--brief", action="store_true", help="without what only `make check` runs")
    brief = parser.parse_args().brief
    return [test for test in tests if not brief or test not in long]


def plan(tests):
    print(f"1..{len(tests)}", flush=True)


def run(tests, *args, first=1):
    """Run each test function with args; its docstring is its name. Returns how many failed.

    If one does, the consoles of the labs among args are kept.
    """
    failed = 0
    for number, test in enumerate(tests, first):
        name = test.__doc__.strip().splitlines()[0].rstrip(".")
        start = time.monotonic()
        try:
            test(*args)
            verdict = "ok"
        except Skipped as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
            continue
        except BaseException as problem:    # a test that breaks is a test that fails
            failed += 1
            verdict = "not ok"
            for line in [*traceback.format_exc().splitlines(), *str(problem).splitlines()]:
                print(f"# {line}")
            if not isinstance(problem, Exception):      # the suite is ended: say where it stood
                print(f"{verdict} {number} - {name} ({time.monotonic() - start:.1f} s)", flush=True)
                raise
        print(f"{verdict} {number} - {name} ({time.monotonic() - start:.1f} s)", flush=True)
    for lab in args:
        if failed and isinstance(lab, Lab):
            lab.keep_logs()
    return failed


def extra_cards(cards):
    """rmlab arguments for more cards in a machine.

    Each card is (node id, address of its rx, address of its tx, more properties); an address
    is a socket chardev's, such as "path=/tmp/a".
    """
    words = []
    for node, rx, tx, more in cards:
        words += ["-chardev", f"socket,id=rx{node},{rx},server=on,wait=off",
                  "-chardev", f"socket,id=tx{node},{tx},reconnect-ms=100",
                  "-device", f"rfm5565,node-id={node},rx=rx{node},tx=tx{node}{more}"]
    return [arg for word in words for arg in ("--qemu-arg", word)]


def ring_of_two(folder, first, second):
    """Two more cards that are a ring of their own; for extra_cards()."""
    return [(first, f"path={folder}/{first}", f"path={folder}/{second}", ""),
            (second, f"path={folder}/{second}", f"path={folder}/{first}", "")]


def device_of_node(lab, machine, node_id):
    """Which /dev/rfmN of a machine has this node id? Its name without /dev/."""
    return next(card["device"] for card in lab.rmctl_json(machine, "list")
                if card["node"] == node_id)


def run_guest_program(lab, node, *command, timeout=300):
    """Run a program that prints TAP on a node, and pass its results on."""
    done = lab.run(node, *command, check=False, timeout=timeout)
    print(done.stdout, end="", flush=True)
    for line in done.stderr.splitlines():
        print(f"# {line}")
    if done.returncode:
        lab.keep_logs()
    return done.returncode
