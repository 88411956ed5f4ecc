#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make bench: the card beside everything a user would pick instead, in one run, interleaved.

Prints the table, and leaves report.json and plots in build/bench. The exit status is 0 whatever the
figures are, and 1 if a contender could not be run; docs/performance.md says what the rows mean.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import datetime
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.pycache_prefix = str(TOP / "build" / "pycache")
sys.path[:0] = [str(TOP / "tests" / "system"), str(Path(__file__).resolve().parent)]

import contenders  # noqa: E402: the lines above have to come first
import idle  # noqa: E402
import measure  # noqa: E402
import table  # noqa: E402
from doorbell import Server  # noqa: E402
from suite import Lab  # noqa: E402

SHARED = 4 << 20        # bytes of each ivshmem
ATTEMPTS = 3            # at each round of a contender


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, metavar="FILE", help="a report.json of before, to compare with")
    parser.add_argument("--brief", action="store_true", help="one round: does all of it run?")
    parser.add_argument("--rounds", type=int, default=5, help="in which everything takes turns; default 5")
    parser.add_argument("--out", type=Path, default=TOP / "build" / "bench", metavar="FOLDER",
                        help="for the report and the plots; default build/bench")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("there must be a round at least")
    if args.brief:
        args.rounds = 1
    args.before = None
    if args.base:
        try:
            args.before = json.loads(args.base.read_text())
            table.ratios(args.before)
        except (OSError, ValueError, LookupError, TypeError) as error:
            parser.error(f"{args.base} is no report of make bench: {error}")
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=args.out).close()
    except OSError as error:
        parser.error(f"{args.out} cannot have the report: {error}")
    return args


def set_up():
    """What only this needs."""
    subprocess.run([TOP / "scripts" / "setup", "--bench"], check=True)
    subprocess.run(["make", "-C", TOP / "tests" / "bench", "-s"], check=True, stdout=subprocess.DEVNULL)


def devices(folder):
    """rmlab arguments: what else the machines have.

    vfio wants an IOMMU, and it must be in front of the doorbell only: one before the card makes its
    transfers several times as long, though it translates nothing.
    """
    words = ["-machine default_bus_bypass_iommu=on", "-device intel-iommu,intremap=off",
             f"-object memory-backend-file,id=plain,size={SHARED},share=on,mem-path={folder}/plain",
             "-device ivshmem-plain,memdev=plain", "-device pci-testdev",
             # Behind all that takes the first bus there is.
             "-device pxb-pcie,id=apart,bus=pcie.0,bus_nr=128,bypass_iommu=off",
             "-device pcie-root-port,id=apart0,bus=apart,chassis=9,slot=9",
             f"-chardev socket,id=doorbell,path={folder}/doorbell",
             "-device ivshmem-doorbell,bus=apart0,vectors=1,chardev=doorbell"]
    return [*measure.lan(folder), *(arg for word in words for arg in ("--qemu-arg", word)),
            "--append", "intel_iommu=on"]


class Run:
    """All rounds; what could not be run is remembered, and the others go on."""

    def __init__(self, lab, rounds, seconds):
        self.rounds, self.figures, self.missing, self.again = rounds, {}, {}, []
        self.all = [kind(lab, seconds) for kind in (*contenders.ALL, idle.Member)]

    def attempt(self, name, work, *args):
        """Nothing that fails is left out silently. A busy host may spoil a round: it is tried again, which is told."""
        for left in reversed(range(ATTEMPTS)):
            try:
                return work(*args)
            except Exception as problem:        # of whatever kind: the others go on
                traceback.print_exc()
                why = str(problem).strip() or type(problem).__name__
                if left:
                    self.again.append(f"{name}: {why}")
        self.missing[name] = why
        self.figures.pop(name, None)    # of fewer rounds than the others have: no verdicts on them
        return None

    def measure(self):
        for one in self.all:
            self.attempt(one.name, one.prepare)
        for number in range(self.rounds):
            print(f"round {number + 1} of {self.rounds}", file=sys.stderr, flush=True)
            for one in self.all:
                if one.name not in self.missing:
                    self.add(one.name, one.measure)

    def add(self, name, work, *args):
        """What a round of it gives; each contender has keys of its own."""
        for key, figure in (self.attempt(name, work, *args) or {}).items():
            self.figures.setdefault(name, {}).setdefault(key, []).append(figure)

    def merged(self):
        return {key: contenders.merged(rounds) for of_one in self.figures.values() for key, rounds in of_one.items()}


def git(*args):
    done = subprocess.run(["git", *args], cwd=TOP, text=True, capture_output=True, check=False)
    return done.stdout.strip()


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def measured(args):
    begun, load = time.monotonic(), os.getloadavg()
    seconds = 1
    # Memory that machines share is no file that somebody writes to a disk.
    with tempfile.TemporaryDirectory(prefix="rfm-bench.", dir="/dev/shm") as folder:
        server = Server(f"{folder}/doorbell", SHARED, peers=2)
        try:
            with Lab("make-bench", 2, "--rdma", *devices(folder)) as lab:
                contenders.ready(lab)
                run = Run(lab, args.rounds, seconds)
                run.measure()
                run.add("an idle card, and a machine without", idle.card, lab, seconds)
        finally:
            server.close()
    figures = run.merged()
    return {"date": datetime.now().isoformat(timespec="seconds"), "commit": git("describe", "--always", "--dirty"),
            "host": {"processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(),
                     "load_before": load, "load_after": os.getloadavg()},
            "rounds": args.rounds, "seconds": time.monotonic() - begun, "missing": run.missing, "again": run.again,
            "rows": table.judged(figures), "figures": figures}


def status(report):
    """What did not go well is told; the exit status."""
    for problem in report.get("again", ()):
        print(f"bench: tried again: {problem}", file=sys.stderr)
    for name, why in report["missing"].items():
        print(f"bench: could not be run: {name}: {why}", file=sys.stderr)
    return 1 if report["missing"] else 0


def main():
    args = arguments()
    set_up()
    report = measured(args)
    (args.out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    import plots            # what it needs is there from set_up() on
    plots.draw(report, args.out)
    print("\n".join([*table.details(report), "", *table.lines(report, args.before)]))
    host = report["host"]
    print(f"\n{host['cores']} cores of {host['processor']}, load {host['load_before'][0]:.1f} before; "
          f"{report['seconds']:.0f} s, {report['rounds']} rounds; {args.out}/report.json, *.svg")
    return status(report)


if __name__ == "__main__":
    sys.exit(main())
