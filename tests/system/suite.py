# SPDX-License-Identifier: MIT
"""What the system tests share: the way to labkit, and TAP."""

import sys
import time
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts"))

from labkit import Failed  # noqa: E402


def expect(condition, complaint):
    """One thing a user would notice."""
    if not condition:
        raise Failed(complaint)


def wait_for(what, condition, seconds=10):
    """Ask until it is so; each question takes its time on a node, so no nap is needed."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")


def figure(text):
    """A figure that scripts/test-all shows."""
    print(f"#: {text}", flush=True)


def plan(tests):
    print(f"1..{len(tests)}", flush=True)


def run(tests, *args, first=1):
    """Run each test function with args; its docstring is its name. Returns how many failed."""
    failed = 0
    for number, test in enumerate(tests, first):
        name = test.__doc__.strip().splitlines()[0].rstrip(".")
        start = time.monotonic()
        try:
            test(*args)
            verdict = "ok"
        except Exception as problem:    # a test that breaks is a test that fails
            failed += 1
            verdict = "not ok"
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"# {problem}")
        print(f"{verdict} {number} - {name} ({time.monotonic() - start:.1f} s)", flush=True)
    return failed


def run_guest_program(lab, node, *command, timeout=300):
    """Run a program that prints TAP on a node, and pass its results on."""
    done = lab.run(node, *command, check=False, timeout=timeout)
    print(done.stdout, end="", flush=True)
    for line in done.stderr.splitlines():
        print(f"# {line}")
    return done.returncode
