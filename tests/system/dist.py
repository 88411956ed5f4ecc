#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`make dist`: what is committed, the same bytes each time, and it builds where git has nothing to say."""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from suite import TOP, expect, plan, run

VERSION = (TOP / "VERSION").read_text(encoding="ascii").strip()


def done(*command, status=0, **options):
    ended = subprocess.run([str(word) for word in command], text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    expect(ended.returncode == status, f"{' '.join(map(str, command))}: {ended.stdout}")
    return ended.stdout


class Checkout:
    """A clone, whose `make dist` changes nothing here."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.top = self.folder / "clone"
        done("git", "clone", "-q", "--shared", TOP, self.top)

    def dist(self):
        name = done("make", "-s", "-C", self.top, "dist").split()[-1]
        return self.top / name


def test_same(checkout):
    """Two archives of a commit have the same bytes, and in them is what is committed"""
    first = checkout.dist().read_bytes()
    os.utime(checkout.top / "README.md", (0, 0))
    archive = checkout.dist()
    expect(first == archive.read_bytes(), "they differ")
    with tarfile.open(archive) as tar:
        files = {member.name for member in tar if not member.isdir()}
    committed = done("git", "-C", checkout.top, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    expect(files == {f"rfm-{VERSION}/{name}" for name in committed}, f"{files}")


def test_changed(checkout):
    """What is not committed is not left out silently"""
    readme = checkout.top / "README.md"
    text = readme.read_text(encoding="utf-8")
    archive = checkout.dist()
    archive.unlink()
    readme.write_text(text + "more\n", encoding="utf-8")
    said = done("make", "-s", "-C", checkout.top, "dist", status=2)
    readme.write_text(text, encoding="utf-8")
    expect("commit first what you have changed" in said and not archive.exists(), said)


def test_builds(checkout):
    """Tools and driver build of it where there is no git, and know their version"""
    with tarfile.open(checkout.dist()) as tar:
        tar.extractall(checkout.folder)
    top = checkout.folder / f"rfm-{VERSION}"
    none = checkout.folder / "bin" / "git"
    none.parent.mkdir()
    none.write_text("#!/bin/sh\necho git was asked: \"$@\" >&2\nexit 1\n", encoding="ascii")
    none.chmod(0o755)
    environment = {**os.environ, "PATH": f"{none.parent}:{os.environ['PATH']}"}
    said = done("make", "-C", top, "tools", "module", env=environment)
    expect("git was asked" not in said, said)
    expect(done(top / "build" / "tools" / "rmctl", "-V") == f"rmctl {VERSION}\n", "another version")
    expect(list(top.glob("build/module/*/rfm.ko")), "there is no module")
    said = done(top / "scripts" / "lint", env=environment)
    expect("# skip" in said, said)


if __name__ == "__main__":
    tests = [test_same, test_changed, test_builds]
    plan(tests)
    with tempfile.TemporaryDirectory(prefix="dist-test-", dir="/var/tmp") as place:
        sys.exit(bool(run(tests, Checkout(place))))
