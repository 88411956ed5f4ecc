#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""librfmring as it is installed: a program outside of this tree is a node; nothing else leaks out."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import TOP, expect, plan, run

PROGRAM = r"""
#include <rfmring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	struct rfmring_interrupt interrupt;
	struct rfmring *ring;
	char error[256];

	if (argc != 4)
		return 2;
	config.id = atoi(argv[1]);
	config.memory_size = 1 << 20;
	config.rx = argv[2];
	config.tx = argv[3];
	ring = rfmring_open(&config, error, sizeof(error));
	if (!ring) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	rfmring_start(ring);
	/* Node 1 asks until node 2 answers. */
	while (config.id == 1 && rfmring_load32(ring, 4) != 43) {
		rfmring_store32(ring, 0, 42);
		rfmring_interrupt(ring, 2, 1, 0);
		rfmring_fence(ring, NULL, 100);
	}
	if (config.id == 2) {
		/* The first store may have been made before the ring was closed, and lost. */
		do {
			if (rfmring_wait_interrupt(ring, &interrupt, 20000) != 1)
				return 3;
		} while (rfmring_load32(ring, 0) != 42);
		rfmring_store32(ring, 4, rfmring_load32(ring, 0) + 1);
		rfmring_fence(ring, NULL, 1000);
	}
	rfmring_close(ring);
	return 0;
}
"""


def made(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, **options)
    expect(not done.returncode, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


class Installed:
    """The library below a folder of its own."""

    def __init__(self, folder):
        self.root = Path(folder) / "root"
        self.folder = Path(folder)
        made("make", "-s", "-C", TOP / "ring", "install", f"PREFIX={self.root}")
        self.pages = {path.name for path in (TOP / "docs" / "man").glob("rfmring_*.3")}

    def flags(self, *words):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.root / "lib" / "pkgconfig")}
        return made("pkg-config", *words, "rfmring", env=environment).split()


def test_program(installed):
    """Two programs that know only pkg-config are a ring, with the shared and the static library"""
    source = installed.folder / "program.c"
    source.write_text(PROGRAM, encoding="utf-8")
    for kind, flags in (("shared", installed.flags("--cflags", "--libs")),
                        ("static", ["-static", *installed.flags("--static", "--cflags", "--libs")])):
        program = installed.folder / kind
        made("cc", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags)
        path = {**os.environ, "LD_LIBRARY_PATH": str(installed.root / "lib")}
        ends = [f"unix:{installed.folder}/{kind}{end}" for end in (1, 2)]
        nodes = [subprocess.Popen([program, str(i + 1), ends[i] + ",server", ends[1 - i]],
                                  env=path, stderr=subprocess.PIPE, text=True) for i in range(2)]
        try:
            for node in nodes:
                _, errors = node.communicate(timeout=60)
                expect(node.returncode == 0, f"{kind}: status {node.returncode} {errors}")
        finally:
            for node in nodes:
                node.kill()


def exported(installed):
    symbols = made("nm", "-D", "--defined-only", installed.root / "lib" / "librfmring.so")
    return {line.split()[-1] for line in symbols.splitlines()}


def test_symbols(installed):
    """The shared library exports the calls of rfmring.h and nothing else"""
    header = (installed.root / "include" / "rfmring.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"RFMRING_API[^;]*?\b(rfmring_\w+)\(", header))
    expect(declared and exported(installed) == declared,
           f"{exported(installed) ^ declared} is only in one of the two")


def test_pages(installed):
    """Every call has a manual page that shows its prototype"""
    expect({f"{name}.3" for name in exported(installed)} == installed.pages,
           f"{ {f'{name}.3' for name in exported(installed)} ^ installed.pages}")
    for name in installed.pages:
        page = TOP / "docs" / "man" / name
        first = page.read_text(encoding="utf-8").splitlines()[0]
        if first.startswith(".so "):
            page = TOP / "docs" / "man" / first.removeprefix(".so man3/")
        text = page.read_text(encoding="utf-8")
        call = name.removesuffix(".3")
        expect(re.search(rf"^\.B .*\b{call}\(", text, re.M), f"{page.name} does not show {call}")


def test_header(installed):
    """The header compiles alone, as C99 and as C++"""
    include = f"-I{installed.root}/include"
    for language, standard in (("c", "-std=c99"), ("c++", "-std=c++11")):
        made("cc", "-Wall", "-Wextra", "-Werror", "-pedantic", standard, include, "-x", language,
             "-fsyntax-only", installed.root / "include" / "rfmring.h")


TESTS = [test_program, test_symbols, test_pages, test_header]

if __name__ == "__main__":
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="library-test-") as place:
        sys.exit(bool(run(TESTS, Installed(place))))
