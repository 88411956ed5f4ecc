#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The libraries as they are installed, for programs outside of this tree; nothing leaks out."""

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
	uint32_t value = 0;
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
	while (config.id == 1 && !rfmring_load32(ring, 4, &value) && value != 43) {
		rfmring_store32(ring, 0, 42);
		rfmring_interrupt(ring, 2, 1, 0);
		rfmring_fence(ring, NULL, 100);
	}
	if (config.id == 2) {
		/* The first store may have been made before the ring was closed, and lost. */
		do {
			if (rfmring_wait_interrupt(ring, &interrupt, 20000) != 1)
				return 3;
		} while (rfmring_load32(ring, 0, &value) || value != 42);
		rfmring_store32(ring, 4, value + 1);
		rfmring_fence(ring, NULL, 1000);
	}
	return rfmring_close(ring) ? 4 : 0;
}
"""


def made(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, **options)
    expect(not done.returncode, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


class Installed:
    """A library below a folder of its own."""

    def __init__(self, folder, name, source, headers, prefix, api):
        self.folder = Path(folder)
        self.root = self.folder / "usr"
        self.name = name
        self.library = self.root / "lib" / f"lib{name}.so"
        self.archive = self.root / "lib" / f"lib{name}.a"
        self.headers = [self.root / "include" / name for name in headers]
        self.prefix = prefix
        self.api = api
        made("make", "-s", "-C", TOP / source, "install", f"PREFIX={self.root}")
        self.environment = {**os.environ, "PKG_CONFIG_PATH": str(self.root / "lib" / "pkgconfig"),
                            "LD_LIBRARY_PATH": str(self.root / "lib")}

    def flags(self, *words):
        return made("pkg-config", *words, self.name, env=self.environment).split()

    def exported(self):
        """Calls, each with the version that it has."""
        symbols = made("nm", "-D", "--defined-only", self.library)
        words = [line.split() for line in symbols.splitlines()]
        return dict(word[-1].split("@@") for word in words if word[1] != "A")

    def in_archive(self):
        symbols = made("nm", "-g", "--defined-only", self.archive)
        return {line.split()[-1] for line in symbols.splitlines() if len(line.split()) == 3}

    def needs(self):
        said = made("readelf", "-d", self.library)
        return set(re.findall(r"NEEDED.*\[(.*?)\.so", said)) - {"ld-linux-x86-64"}

    def declared(self):
        """Calls that the header declares, or defines itself."""
        text = "".join(made("cc", "-E", "-P", f"-I{self.root}/include", header)
                       for header in self.headers)
        mark = r'__attribute__\(\(visibility\("default"\)\)\)|static inline'
        return set(re.findall(rf"(?:{mark})[^;{{}}]*?\b({self.prefix}_\w+)\(", text))

    def sized(self):
        """Those of them that only say how large a structure is to the library's function."""
        return {name for name in self.declared() if f"{name}_sized" in self.declared()}


class Libraries:
    """All of them."""

    def __init__(self, folder):
        self.ring = Installed(folder, "rfmring", "ring", ["rfmring.h"], "rfmring", "RFMRING")
        self.card = Installed(folder, "rfm", "tools/librfm", ["rfm/rfm.h"], "rfm", "RFM")
        self.regions = Installed(folder, "rfmregions", "tools/librfm", ["rfm/regions.h"], "rfm",
                                 "RFMREGIONS")
        self.all = (self.ring, self.card, self.regions)


def test_program(libraries):
    """Two programs that know only pkg-config are a ring, with the shared and the static library"""
    installed = libraries.ring
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


def test_examples(libraries):
    """librfm's examples can be copied: they build with pkg-config only, and say what is wrong"""
    installed = libraries.card
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
               "cannot open the card: " in done.stderr and "No such file" in done.stderr, f"{program.name}: {done}")
        if named:
            for words in (["--seconds", "x"], ["--bad"], ["more"], ["--count", "0"]):
                done = subprocess.run([program, *words], env=installed.environment, check=False,
                                      text=True, capture_output=True, timeout=60)
                expect(done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout,
                       f"{program.name} {words}: {done}")


def test_symbols(libraries):
    """Shared and static, a library exports the calls of its header in a version, and nothing else"""
    for installed in libraries.all:
        declared, exported = installed.declared() - installed.sized(), installed.exported()
        expect(declared and exported.keys() == declared,
               f"{exported.keys() ^ declared} is only in one of the two")
        expect(installed.in_archive() == declared,
               f"{installed.in_archive() ^ declared} is only in header or archive")
        expect(set(exported.values()) == {f"{installed.api}_1.0"}, f"{exported}")


def test_needs(libraries):
    """Only who has names for places needs a parser"""
    expect(libraries.regions.needs() == {"libyaml-0", "libc"}, f"{libraries.regions.needs()}")
    expect(libraries.ring.needs() == {"libc"}, f"{libraries.ring.needs()}")
    expect(libraries.card.needs() == {"librfmring", "libc"}, f"{libraries.card.needs()}")


def test_version(libraries):
    """VERSION is the one of the libraries and of the programs"""
    version = (TOP / "VERSION").read_text(encoding="ascii").strip()
    for installed in libraries.all:
        expect(installed.flags("--modversion") == [version], installed.name)
        expect(installed.library.resolve().name == f"{installed.library.name}.{version}",
               f"{installed.library.resolve()}")
    for program in ("rmctl", "rmnode", "rmhub"):
        expect(made(TOP / "build" / "tools" / program, "-V") == f"{program} {version}\n", program)


def test_pages(libraries):
    """Every call has a manual page that shows its prototype"""
    folder = TOP / "docs" / "man"
    for prefix in ("rfmring", "rfm"):
        calls = set().union(*(installed.declared() for installed in libraries.all
                              if installed.prefix == prefix))
        pages = {path.name for path in folder.glob(f"{prefix}_*.3")}
        expect({f"{name}.3" for name in calls} == pages, f"{ {f'{name}.3' for name in calls} ^ pages}")
        for call in calls:
            page = folder / f"{call}.3"
            first = page.read_text(encoding="utf-8").splitlines()[0]
            if first.startswith(".so "):
                page = folder / first.removeprefix(".so man3/")
            text = page.read_text(encoding="utf-8")
            expect(re.search(rf"^\.B .*\b{call}\(", text, re.M), f"{page.name} does not show {call}")


def test_header(libraries):
    """The headers compile alone, as C99 and as C++"""
    for installed in libraries.all:
        for language, standard in (("c", "-std=c99"), ("c++", "-std=c++11")):
            for header in installed.headers:
                made("cc", "-Wall", "-Wextra", "-Werror", "-pedantic", standard,
                     f"-I{installed.root}/include", "-x", language, "-fsyntax-only", header)


TESTS = [test_program, test_examples, test_symbols, test_needs, test_version, test_pages, test_header]

if __name__ == "__main__":
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="library-test-") as place:
        sys.exit(bool(run(TESTS, Libraries(place))))
