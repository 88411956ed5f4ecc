#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package: its tests, types, guide, notebook, reference and wheel, without a machine; jitter's plot.

With Debian's Python, which has what scripts/setup --python installs; with --brief only tests, for which
scripts/setup has all.
"""

import functools
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from suite import TOP, Skipped, asked, expect, figure, plan, processes_with, run

PYTHON = "/usr/bin/python3"
PACKAGE = TOP / "tools" / "python"
EXAMPLES = TOP / "tools" / "librfm" / "examples"
GUIDE = (TOP / "docs" / "python.md").read_text(encoding="utf-8")
SECONDS = 20        # of a processor, for a job in CI
PYTEST = [PYTHON, "-X", "faulthandler", "-m", "pytest", "-q", "-p", "rfm_pytest", "-p", "no:cacheprovider",
          "-o", "faulthandler_timeout=120"]


@functools.cache
def netlink_library():
    """The kernel's."""
    done = subprocess.run([TOP / "scripts" / "kernel-scripts"], text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout.strip() + "/tools/net/ynl"


def made(*command, package=PACKAGE, status=0, environment=(), **options):
    """What it prints, if it ends so."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{TOP}/build/tools:{os.environ['PATH']}",
                   "PYTHONPATH": str(package), "LD_LIBRARY_PATH": f"{TOP}/build/librfm:{TOP}/build/ring",
                   **dict(environment)}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            done = subprocess.run([str(word) for word in command], stdout=output, stderr=subprocess.STDOUT, check=False,
                                  stdin=subprocess.DEVNULL, cwd=TOP, env=environment, **options)
        finally:        # also of what is stopped: where it was is its last word
            output.seek(0)
            said = output.read()
            for line in said.splitlines():
                print(f"# {line}")
    expect(done.returncode == status, f"{Path(command[0]).name}: status {done.returncode}")
    return said


def calls(folder):
    """What the package calls, and its numbers, are what the headers say: a compiler compares the two"""
    text = (PACKAGE / "rfm" / "_abi.py").read_text(encoding="utf-8")
    declarations = "".join(re.findall(r'^(?:DECLARATIONS|REGIONS) = """(.*?)"""', text, re.S | re.M))
    # A comparison is made when what was compiled is first used: layouts, then each call and number.
    program = folder / "compare.py"
    program.write_text(f'''
import cffi
ffi = cffi.FFI()
ffi.cdef({declarations!r})
# The kernel's word for it is another type of the same size, which counts in arrays.
ffi.set_source("compared", """
#include <stdint.h>
#include <linux/types.h>
#define __u64 uint64_t
#include <rfm/rfm.h>
#include <rfm/cycle.h>
#include <rfm/io.h>
""", include_dirs=["{TOP}/tools/librfm", "{TOP}/uapi"],
               library_dirs=["{TOP}/build/librfm", "{TOP}/build/ring"], libraries=["rfm", "rfmregions", "rfmring"],
               extra_compile_args=["-Werror"])
ffi.compile(tmpdir="{folder}")
import sys
sys.path.insert(0, "{folder}")
import compared
for name in dir(compared.lib):
    getattr(compared.lib, name)
kinds = compared.ffi.list_types()
fields = [compared.ffi.typeof("struct " + name).fields for name in kinds[1]]
print(len(dir(compared.lib)), "calls and numbers,", len(kinds[1]), "structures")
''', encoding="utf-8")
    made(PYTHON, program)


def types(_):
    """mypy --strict has nothing to say, of the package and the examples"""
    made(PYTHON, "-m", "mypy", "--cache-dir", TOP / "build" / "python" / "mypy", "--config-file", PACKAGE / "pyproject.toml",
         PACKAGE / "rfm", PACKAGE / "rfm_pytest.py", PACKAGE / "examples")


def tests(_):
    """Memory, events, names, cycles and operations at one node, on rings in the process"""
    parts = ("memory", "events", "regions", "cycles", "remote")
    said = made(*PYTEST, "-rP", *(f"tests/python/test_{part}.py" for part in parts))
    for missed in re.findall(r"\d+ cycles, \d+ missed", said):
        figure(missed)


def more_tests(_):
    """Netlink, and the examples, each a node in a process of its own"""
    made(*PYTEST, "tests/python/test_netlink.py", "tests/python/test_examples.py",
         package=f"{PACKAGE}:{netlink_library()}")


def guide(folder):
    """The Python of docs/python.md runs, from its beginning to its end"""
    program = folder / "guide.py"
    program.write_text("\n".join(re.findall(r"```python\n(.*?)```", GUIDE, re.S)), encoding="utf-8")
    made(PYTHON, "-W", "error", program)


def job(folder):
    """The job of docs/python.md for CI: somebody without rights, two rmnodes and Python"""
    [text] = re.findall(r"```sh\n(.*?)```", GUIDE, re.S)
    place = folder / "ring"
    who = {}
    if not os.getuid():
        folder.chmod(0o755)
        place.mkdir()
        os.chown(place, 65534, 65534)
        who = {"user": 65534, "group": 65534, "extra_groups": []}
        if subprocess.run(["test", "-r", PACKAGE / "pyproject.toml"], check=False, **who).returncode:
            raise Skipped("who has no rights cannot read this checkout")
    text = text.replace("/tmp/ring", str(place))
    made("sh", "-e", "-c", text.replace("python3 -m pytest", "false"), status=1, timeout=60, **who)
    expect(not processes_with(str(place)), "its rmnodes outlive tests that fail")
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    said = made("sh", "-e", "-c", text, timeout=600, **who)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    expect("2 passed" in said, "not both of its tests have run")
    figure(f"job: {time.monotonic() - begin:.1f} s, of processors {spent:.1f} s")
    expect(spent < SECONDS, f"it takes {spent:.1f} s of a processor")


def notebook(folder):
    """The notebook runs headless, and its cells show a table and a plot"""
    made(PYTHON, "-m", "nbconvert", "--log-level=WARN", "--to", "notebook", "--execute", "--output-dir", folder,
         "--ExecutePreprocessor.timeout=300", PACKAGE / "examples" / "guide.ipynb", environment={"HOME": str(folder)})
    text = (folder / "guide.ipynb").read_text(encoding="utf-8")
    expect('"image/png"' in text and "pump.pressure" in text and "cycles were missed" in text, "they do not")


def plot(folder):
    """librfm's jitter as its source says to plot it: axes with names, a bar where there were cycles"""
    [command] = re.findall(r"^ \*\t(jitter --csv .*)$", (EXAMPLES / "jitter.c").read_text(encoding="utf-8"), re.M)
    shutil.copy(EXAMPLES / "jitter.gnuplot", folder)
    made("sh", "-e", "-c", f"cd {folder}; " + command.replace("--csv", "--csv --cycles 100 | tee columns"),
         environment={"RFM_CARD": f"ring:?rx=unix:{folder}/rx,server&tx=unix:{folder}/tx&node=1&size=1M",
                      "PATH": f"{TOP}/build/librfm/examples:{os.environ['PATH']}"})
    columns = [line.split(",") for line in (folder / "columns").read_text(encoding="ascii").splitlines()[1:]]
    picture = ElementTree.parse(folder / "jitter.svg")
    texts = ["".join(text.itertext()).strip() for text in picture.findall(".//{*}text")]
    for word in ("late by less than (us)", "cycles", *(column for column, _ in columns)):
        expect(word in texts, f"no '{word}' in {texts}")
    bars = len(picture.findall(".//{*}polygon"))
    expect(bars == sum(count != "0" for _, count in columns) > 0, f"{bars} bars for {columns}")


def reference(folder):
    """The reference is made without a warning, and has every public name"""
    made("make", "-s", "-C", PACKAGE, "docs", f"OUT={folder}/docs")
    page = (folder / "docs" / "html" / "index.html").read_text(encoding="utf-8")
    public = re.search(r"__all__ = \[(.*?)\]", (PACKAGE / "rfm" / "__init__.py").read_text(encoding="utf-8"), re.S)[1]
    for name in set(re.findall(r'"(\w+)"', public)) - {"ALL"}:
        expect(f'id="rfm.{name}"' in page, f"it has no {name}")


def wheel(folder):
    """The wheel has the package, its types and the fixture, and nothing of this machine"""
    made("make", "-s", "-C", PACKAGE, "wheel", f"OUT={folder}/wheel")
    [package] = (folder / "wheel").glob("rfm-*-none-any.whl")
    with zipfile.ZipFile(package) as archive:
        archive.extractall(folder / "site")
    test = folder / "test_wheel.py"
    (folder / "test_ring.py").write_text("def test_ring(ring):\n    ring()\n", encoding="utf-8")
    test.write_text("import rfm.netlink\n\n\ndef test_it(ring):\n    assert len(ring(nodes=2)) == 2\n"
                    "    assert rfm.netlink.SPECIFICATION.stat().st_size and 'site' in rfm.__file__\n", encoding="utf-8")
    pytest = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    made(*pytest, test, package=folder / "site")
    # Who has it without the library goes on testing other things.
    (folder / "librfm.so.1").touch()
    other = folder / "test_other.py"
    other.write_text("def test_other():\n    pass\n", encoding="utf-8")
    without = {"LD_LIBRARY_PATH": str(folder)}
    made(*pytest, other, package=folder / "site", environment=without)
    said = made(*pytest, folder / "test_ring.py", package=folder / "site", environment=without, status=1)
    expect("install librfm1" in said, "a test that wants a ring is not told what is missing")


def main():
    parts = asked([tests, more_tests, calls, types, guide, job, notebook, plot, reference, wheel],
                  more_tests, calls, types, guide, job, notebook, plot, reference, wheel)
    if wheel in parts:
        subprocess.run([TOP / "scripts" / "setup", "--python"], check=True)
    plan(parts)
    with tempfile.TemporaryDirectory(prefix="python-test-") as folder:
        return bool(run(parts, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
