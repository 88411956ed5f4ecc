#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command of README.md is run, and must succeed; or of a guide: readme.py docs/GUIDE.md.

`make demo` is run as it stands. `make test` is what runs this, so its line is
only looked for; the clean-root test of `make check-long` runs it for real. The guide's disk.qcow2 is a
Debian 12.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from suite import TOP, expect, free_ports, plan, run, wait_for
from labkit import rmlab
from lab.saved import base_folder

PAGE = TOP / (sys.argv[1:2] or ["README.md"])[0]
TEXT = PAGE.read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", TEXT, re.S)
# A block that leaves something in the background is one piece.
SCRIPTS = [block for block in BLOCKS if re.search(r"&$", block, re.M)]
COMMANDS = [line for block in BLOCKS if block not in SCRIPTS
            for line in block.splitlines() if line]
COMMANDS += re.findall(r"`(make [a-z-]+)`", TEXT.partition("## Where to go next")[2])
SAVED = f"readme-{os.getpid()}"         # what a page calls a lab that it saves
COMMAND_S = 3000        # to build the driver in a machine


def own(text):
    """With files and ports of ours in the place of those of the page."""
    text = text.replace("/tmp/ring", FOLDER).replace("disk.qcow2", DISK).replace("booted", SAVED)
    return re.sub(r"\b561(\d)\b", lambda port: str(PORTS[int(port[1])]), text)


def test_of(command):
    def test():
        if command == "make test":
            return
        # A lab of its own, so that this may run beside somebody's.
        line = own(re.sub(r"rmlab (?!run)(\w+)", rf"rmlab \1 --name readme-{os.getpid()}", command))

        def result():
            """Has it succeeded, and what it said."""
            done = subprocess.run(line, shell=True, cwd=TOP, text=True, capture_output=True,
                                  stdin=subprocess.DEVNULL, check=False, timeout=COMMAND_S)
            said = done.stdout + done.stderr
            print("\n".join("# " + text for text in said.splitlines()))
            # A node that is held up for a moment has the value later than who looks at once.
            return done.returncode == 0 and ("peek" not in line or "0x0000cafe" in said), said

        if "rmlab exec" in line:    # a verb waits for the ring, but not for long
            wait_for("it succeeds", lambda: result()[0])
        else:
            good, said = result()
            expect(good, f"it fails, its last words: {said.strip()[-300:]}")
    test.__doc__ = command
    return test


def test_of_script(text):
    def test():
        with tempfile.TemporaryFile("w+") as output:
            # A ring of its own, as above.
            done = subprocess.run(["bash", "-e", "-c", own(text) + "\nwait"], cwd=TOP, check=False,
                                  stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, timeout=600)
            output.seek(0)
            shown = output.read()
        print("\n".join("# " + line for line in shown.splitlines()))
        expect(done.returncode == 0, f"exit status {done.returncode}")
        expect("0x0000cafe" in shown, "the value written on node 1 is not on node 2")
    test.__doc__ = "the block that begins with " + text.splitlines()[0]
    return test


def links():
    """Every file that the page points to exists"""
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        expect((PAGE.parent / target).exists(), f"{target} does not exist")


def disk():
    subprocess.run([TOP / "scripts" / "setup", "--guests"], check=True)
    done = subprocess.run([TOP / "tests" / "debian-image", "bookworm"], text=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    DISK = disk() if "disk.qcow2" in TEXT else ""
    PORTS = sorted(free_ports(10))      # what a page calls 5610 to 5619
    tests = [links, *map(test_of, COMMANDS), *map(test_of_script, SCRIPTS)]
    plan(tests)
    with tempfile.TemporaryDirectory() as FOLDER:
        try:
            failed = run(tests)
        finally:
            rmlab("down", "--name", f"readme-{os.getpid()}")
            shutil.rmtree(base_folder() / SAVED, ignore_errors=True)
    sys.exit(bool(failed))
