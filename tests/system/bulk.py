#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large blocks: pwrite() and pread() of 1 MiB, beside a bare ring of two processes and memcpy().

All figures are of one run, and printed beside their targets, which need a host that has nothing
else to do. What is judged is that both machines have the same bytes in the end. docs/dma.md tells
what the figures mean.
"""

import json
import subprocess
import sys
import tempfile

from suite import PROGRAMS, TOP, expect, figure, plan, run
from labkit import Lab

RMBENCH = TOP / "build" / "tools" / "rmbench"
PAIR_S = 5
FRAME = 64
AT = "0x100000"
RING_TARGET, MEMCPY_TARGET = 0.5, 10


def bare_pair():
    """MB/s of two processes without machines, with the same frames and check: of a ring that
    both are nodes of, and of a mere queue from one to the other."""
    done = subprocess.run([RMBENCH, "--json", "--seconds", str(PAIR_S), "pair"], text=True,
                          capture_output=True, timeout=120, check=True)
    queue, ring = (FRAME / row["value"] * 1000 for row in json.loads(done.stdout)["rows"])
    return ring, queue


def speeds(lab):
    """What a block of 1 MiB takes is printed beside the bare figures"""
    before = bare_pair()
    rows = {}
    for line in lab.out(1, PROGRAMS + "bulk", "/dev/rfm0", AT, timeout=250).splitlines():
        name, value, _ = line.split()
        rows[name] = float(value)
    ring, queue = ((one + other) / 2 for one, other in zip(before, bare_pair()))
    figure(f"1 MiB: pwrite {rows['pwrite']:.0f} MB/s, pread {rows['pread']:.0f} MB/s")
    for beside, value, target in (
            ("bare ring of two processes", ring, RING_TARGET),
            ("bare queue from one to the other", queue, None),
            ("memcpy into the card's mapping", rows["memcpy"], MEMCPY_TARGET),
            ("memcpy into ivshmem-plain", rows["memcpy_ivshmem"], None)):
        figure(f"  {beside} {value:.1f} MB/s: pwrite is {rows['pwrite'] / value:.2f} times that"
               + (f"; target: at least {target}" if target else ""))
    expect(all(value > 0 for value in rows.values()), f"a figure that is not above 0: {rows}")


LEAST = {"pwrite": "dma-write-threshold", "pread": "dma-read-threshold"}


def times_by(lab, least):
    """{(call, size): us} when blocks of at least so many bytes go by DMA."""
    times = {}
    for name in LEAST.values():
        lab.run(1, "rmctl", "set", "rfm0", f"{name}={least}")
    out = lab.out(1, PROGRAMS + "bulk", "/dev/rfm0", AT, "sizes", timeout=250)
    for line in out.splitlines():
        call, size, us = line.split()
        times[call, int(size)] = float(us)
    return times


def paths(lab):
    """What a block takes by the processor and by the DMA engine is printed, by size"""
    shown = lab.rmctl_json(1, "show", "rfm0")
    before = {call: shown[name.replace("-", "_") + "_size"] for call, name in LEAST.items()}
    processor, engine = times_by(lab, 0), times_by(lab, 1)
    for call, name in LEAST.items():
        lab.run(1, "rmctl", "set", "rfm0", f"{name}={before[call]}")
        sizes = sorted(size for one, size in engine if one == call)
        for size in sizes:
            figure(f"{call} of {size:7} bytes: {processor[call, size]:9.1f} us by the processor, "
                   f"{engine[call, size]:9.1f} us by DMA")
        slower = [size for size in sizes if engine[call, size] >= processor[call, size]]
        figure(f"  DMA is the faster above {max(slower, default=0)} bytes; "
               f"the driver uses it from {before[call]} on")
    expect(min(*processor.values(), *engine.values()) > 0, "a time that is not above 0")


def same_bytes(lab):
    """Both machines have the block, byte for byte"""
    for node in lab.nodes:
        lab.run(node, "rmctl", "fence", "rfm0")
        lab.run(node, PROGRAMS + "bulk", "/dev/rfm0", AT, "check")


TESTS = [speeds, same_bytes, paths]


def main():
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="rfm-bulk.") as folder:
        ivshmem = (f"1:-object memory-backend-file,id=plain,size=4M,share=on,mem-path={folder}/plain",
                   "1:-device ivshmem-plain,memdev=plain")
        with Lab("bulk", 2, *(word for arg in ivshmem for word in ("--qemu-arg", arg))) as lab:
            return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
