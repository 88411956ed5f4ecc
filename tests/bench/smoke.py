#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make bench, one round of it: every contender is there, and the report is whole. No figure is judged."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests" / "system"), str(Path(__file__).resolve().parent)]

import main as bench  # noqa: E402: the line above has to come first
import table  # noqa: E402
from contenders import Contender, of_samples  # noqa: E402
from suite import expect, figure, plan, run  # noqa: E402

RUN = Path(__file__).resolve().parent / "main.py"
ONCE_S, END_S = 1100, 60        # for a round, and for the machines to go
SPREAD = ("minimum", "median", "p99", "maximum")


def ended(process):
    """What it printed. One that takes too long is told to end, and so ends its machines; only then it is killed."""
    try:
        return process.communicate(timeout=ONCE_S)
    except BaseException:
        process.terminate()
        try:
            process.wait(timeout=END_S)
        finally:
            process.kill()
        raise


def once(folder):
    """One round runs, and exits with 0 whatever the figures are"""
    with subprocess.Popen([RUN, "--brief", "--out", folder], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        said, complaints = ended(process)
    expect(process.returncode == 0, f"status {process.returncode}: {said}{complaints}")
    for line in said.splitlines():
        figure(line)


def report_of(folder):
    return json.loads((folder / "report.json").read_text())


def whole(folder):
    """The report has every figure of the table, and the spread of each"""
    report = report_of(folder)
    expect(report["missing"] == {}, f"without {report['missing']}")
    wanted = {key for row in table.ROWS for key in (row.figure, row.beside)}
    expect(wanted <= set(report["figures"]), f"without {wanted - set(report['figures'])}")
    for key, one in report["figures"].items():
        spread = [one[name] for name in SPREAD if one[name] is not None]
        expect((one["p99"] is None) == (one["samples"] < 100), f"{key}: {one['samples']} samples")
        expect(spread == sorted(spread) and len(one["quantiles"]) == 101, f"{key}: {spread}")
    for row in report["rows"]:
        expect(row["ratio"] is not None, f"{row}")


def plots(folder):
    """The plots are there"""
    for name in "latency", "throughput", "growth":
        expect(ElementTree.parse(folder / f"{name}.svg").getroot().tag.endswith("svg"), f"{name} is no SVG")


def compared(folder):
    """Beside a report of before each ratio is shown, and what is none is refused in a sentence"""
    report = report_of(folder)
    lines = list(table.lines(report, report))
    expect(sum("(+0%)" in line for line in lines) > 20, "\n".join(lines))
    for words, complaint in ((["--base", "/dev/null"], "/dev/null is no report of make bench"),
                             (["--out", "/dev/null/x"], "/dev/null/x cannot have the report")):
        done = subprocess.run([RUN, *words], text=True, capture_output=True, timeout=60, check=False)
        expect(done.returncode == 2 and complaint in done.stderr, done.stderr)


class Broken(Contender):
    name = "one that breaks"
    rounds = 0

    def measure(self):
        self.rounds += 1
        if self.rounds == 1:
            return {"load": of_samples("of its first round", "ns", [1])}
        raise RuntimeError("it broke")


def left_out(_folder):
    """A contender that cannot be run is named and has no figures, and the others go on"""
    one = bench.Run(None, 2, 1)
    one.all = [Broken(None, 1)]
    one.measure()
    expect(not one.merged(), f"figures of a contender that broke: {one.merged()}")
    expect(one.missing == {Broken.name: "it broke"}, f"{one.missing}")
    expect(bench.status({"missing": one.missing}) == 1 and bench.status({"missing": {}}) == 0, "the exit status")


TESTS = [once, whole, plots, compared, left_out]


def main():
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="rfm-bench.") as folder:
        return bool(run(TESTS, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
