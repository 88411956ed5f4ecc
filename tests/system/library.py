#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""librfm and librfmring as they are installed, for programs outside of this tree; nothing leaks out."""

import os
import re
import shutil
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
		rfmring_fence(ring, NULL, 20000);
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
    """A library below a folder of its own."""

    def __init__(self, folder, name, source, headers, api):
        self.folder = Path(folder)
        self.root = self.folder / name
        self.name = name
        self.library = f"lib{name}.so"
        self.headers = [self.root / "include" / name for name in headers]
        self.api = api
        made("make", "-s", "-C", TOP / source, "install", f"PREFIX={self.root}")
        self.environment = {**os.environ, "PKG_CONFIG_PATH": str(self.root / "lib" / "pkgconfig"),
                            "LD_LIBRARY_PATH": str(self.root / "lib")}

    def flags(self, *words):
        return made("pkg-config", *words, self.name, env=self.environment).split()

    def exported(self):
        symbols = made("nm", "-D", "--defined-only", self.root / "lib" / self.library)
        return {line.split()[-1] for line in symbols.splitlines()}

    def inline(self):
        """Calls that the header defines itself."""
        text = "".join(made("cc", "-E", "-P", f"-I{self.root}/include", header)
                       for header in self.headers)
        return set(re.findall(rf"static inline \w+ ({self.name}_\w+)\(", text))


class Both:
    """The two libraries."""

    def __init__(self, folder):
        self.ring = Installed(folder, "rfmring", "ring", ["rfmring.h"], "RFMRING_API")
        self.card = Installed(folder, "rfm", "tools/librfm",
                              ["rfm/rfm.h", "rfm/regions.h"], "RFM_API")
        self.all = (self.ring, self.card)


def test_program(both):
    """Two programs that know only pkg-config are a ring, with the shared and the static library"""
    installed = both.ring
    source = installed.folder / "program.c"
    source.write_text(PROGRAM, encoding="utf-8")
    for kind, flags in (("shared", installed.flags("--cflags", "--libs")),
                        ("static", ["-static", *installed.flags("--static", "--cflags", "--libs")])):
        program = installed.folder / kind
        made("cc", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags)
        ends = [f"unix:{installed.folder}/{kind}{end}" for end in (1, 2)]
        nodes = [subprocess.Popen([program, str(i + 1), ends[i] + ",server", ends[1 - i]],
                                  env=installed.environment, stderr=subprocess.PIPE, text=True)
                 for i in range(2)]
        try:
            for node in nodes:
                _, errors = node.communicate(timeout=60)
                expect(node.returncode == 0, f"{kind}: status {node.returncode} {errors}")
        finally:
            for node in nodes:
                node.kill()


def test_examples(both):
    """librfm's examples can be copied: they build with pkg-config only, and say what is wrong"""
    installed = both.card
    folder = installed.folder / "examples"
    shutil.copytree(installed.root / "share" / "doc" / "librfm" / "examples", folder)
    made("make", "-s", "-C", folder, "CFLAGS=-O2 -Wextra -Werror", env=installed.environment)
    programs = [path.with_suffix("") for path in folder.glob("*.c")]
    expect(len(programs) >= 8, f"{programs}")
    for program in programs:
        text = program.with_suffix(".c").read_text()
        named = ["--card"] if '"loop.h"' in text or '"layout.h"' in text else []
        done = subprocess.run([program, *named, folder / "none"], env=installed.environment,
                              text=True, capture_output=True, check=False, timeout=60)
        expect(done.returncode == 1 and done.stderr.count("\n") == 1 and
               "cannot open the card: No such file" in done.stderr, f"{program.name}: {done}")
        if named:
            for words in (["--seconds", "x"], ["--bad"], ["more"], ["--count", "0"]):
                done = subprocess.run([program, *words], env=installed.environment, check=False,
                                      text=True, capture_output=True, timeout=60)
                expect(done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout,
                       f"{program.name} {words}: {done}")


def test_symbols(both):
    """The shared libraries export the calls of their headers and nothing else"""
    for installed in both.all:
        text = "".join(header.read_text(encoding="utf-8") for header in installed.headers)
        declared = set(re.findall(rf"^{installed.api}[^;]*?\b({installed.name}_\w+)\(", text, re.M))
        expect(declared and installed.exported() == declared,
               f"{installed.exported() ^ declared} is only in one of the two")


def test_pages(both):
    """Every call has a manual page that shows its prototype"""
    folder = TOP / "docs" / "man"
    for installed in both.all:
        calls = installed.exported() | installed.inline()
        pages = {path.name for path in folder.glob(f"{installed.name}_*.3")}
        expect({f"{name}.3" for name in calls} == pages, f"{ {f'{name}.3' for name in calls} ^ pages}")
        for call in calls:
            page = folder / f"{call}.3"
            first = page.read_text(encoding="utf-8").splitlines()[0]
            if first.startswith(".so "):
                page = folder / first.removeprefix(".so man3/")
            text = page.read_text(encoding="utf-8")
            expect(re.search(rf"^\.B .*\b{call}\(", text, re.M), f"{page.name} does not show {call}")


def test_header(both):
    """The headers compile alone, as C99 and as C++"""
    for installed in both.all:
        for language, standard in (("c", "-std=c99"), ("c++", "-std=c++11")):
            for header in installed.headers:
                made("cc", "-Wall", "-Wextra", "-Werror", "-pedantic", standard,
                     f"-I{installed.root}/include", "-x", language, "-fsyntax-only", header)


TESTS = [test_program, test_examples, test_symbols, test_pages, test_header]

if __name__ == "__main__":
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="library-test-") as place:
        sys.exit(bool(run(TESTS, Both(place))))
