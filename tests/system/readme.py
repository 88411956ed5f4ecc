#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command of README.md is run, and must succeed.

`make demo` is run as it stands. `make test` is what runs this, so its line is
only looked for; the clean-root test of `make check-long` runs it for real.
"""

import os
import re
import subprocess
import sys

from suite import TOP, expect, plan, run
from labkit import rmlab

TEXT = (TOP / "README.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.S)
            for line in block.splitlines() if line]
COMMANDS += re.findall(r"`(make [a-z-]+)`", TEXT.split("## Where to go next")[1])


def test_of(command):
    def test():
        if command == "make test":
            return
        # A lab of its own, so that this may run beside somebody's.
        line = re.sub(r"rmlab (\w+)", rf"rmlab \1 --name readme-{os.getpid()}", command)
        done = subprocess.run(line, shell=True, cwd=TOP, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=600)
        print("\n".join("# " + text for text in (done.stdout + done.stderr).splitlines()))
        expect(done.returncode == 0, f"exit status {done.returncode}")
        if "peek" in command:
            expect("0x0000cafe" in done.stdout, "the value stored on node 1 is not on node 3")
    test.__doc__ = command
    return test


def links():
    """Every file that README.md points to exists"""
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        expect((TOP / target).exists(), f"{target} does not exist")


if __name__ == "__main__":
    tests = [links, *map(test_of, COMMANDS)]
    plan(tests)
    try:
        failed = run(tests)
    finally:
        rmlab("down", "--name", f"readme-{os.getpid()}")
    sys.exit(bool(failed))
