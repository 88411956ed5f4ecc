#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large blocks: pwrite() and pread() of 1 MiB, beside a bare ring of two processes and copies.

All figures are of one run, and printed beside their targets, which need a host that has nothing
else to do. What is judged is that both machines have the same bytes in the end. docs/dma.md tells
what the figures mean.
"""

import json
import subprocess
import sys
import tempfile

import measure
from suite import PATIENT, TOP, expect, figure, plan, run
from labkit import Lab

RMBENCH = TOP / "build" / "tools" / "rmbench"
PAIR_S = 5
FRAME = 64
BLOCK = 1 << 20
RING_TARGET, COPY_TARGET = 2.5, 10


def bare_pair():
    """MB/s of two processes without machines, with the same frames and check: of a ring that
    both are nodes of, and of a mere queue from one to the other."""
    done = subprocess.run([RMBENCH, "--json", "--seconds", str(PAIR_S), "pair"], text=True,
                          capture_output=True, timeout=120, check=True)
    queue, ring = (FRAME / row["value"] * 1000 for row in json.loads(done.stdout)["rows"])
    return ring, queue


def speed(row):
    """MB/s."""
    return row["bytes"] / row["median"] * 1000


def speeds(lab):
    """What a block of 1 MiB takes is printed beside the bare figures"""
    before = bare_pair()
    rows = measure.card(lab, "pwrite,pread,copy,ivshmem-copy", seconds=5)
    ring, queue = ((one + other) / 2 for one, other in zip(before, bare_pair()))
    pwrite, pread, copy, ivshmem = (speed(rows[name, BLOCK]) for name in ("pwrite", "pread", "copy", "ivshmem-copy"))
    figure(f"1 MiB: pwrite {pwrite:.0f} MB/s, pread {pread:.0f} MB/s")
    for beside, value, target in (
            ("bare ring of two processes", ring, RING_TARGET),
            ("bare queue from one to the other", queue, None),
            ("stores into the card's mapping", copy, COPY_TARGET),
            ("memcpy into ivshmem-plain", ivshmem, None)):
        figure(f"  {beside} {value:.1f} MB/s: pwrite is {pwrite / value:.2f} times that"
               + (f"; target: at least {target}" if target else ""))
    expect(min(pwrite, pread, copy, ivshmem) > 0, f"a figure that is not above 0: {rows}")


LEAST = {"pwrite": "dma-write-threshold", "pread": "dma-read-threshold"}


def times_by(lab, least):
    """{(call, size): us} when blocks of at least so many bytes go by DMA."""
    for name in LEAST.values():
        lab.run(1, "rmctl", "set", "rfm0", f"{name}={least}")
    return {key: row["median"] / 1000 for key, row in measure.card(lab, "pwrite,pread", seconds=3).items()}


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
    lab.run(1, "sh", "-c", f"head -c {BLOCK} /dev/urandom >/tmp/block &&"
                           f" dd if=/tmp/block of=/dev/rfm0 bs={BLOCK} count=1 seek={measure.AT // BLOCK} conv=notrunc")
    lab.run(1, "rmctl", "fence", "rfm0")
    for node in lab.nodes:
        lab.run(node, "dd", "if=/dev/rfm0", "of=/tmp/there", f"bs={BLOCK}", "count=1", f"skip={measure.AT // BLOCK}")
    sums = [lab.out(node, "sha256sum", "/tmp/there") for node in lab.nodes]
    sums.append(lab.out(1, "sh", "-c", "sha256sum </tmp/block").split()[0] + "  /tmp/there")
    expect(len(set(sums)) == 1, f"they differ: {sums}")


TESTS = [speeds, same_bytes, paths]


def main():
    plan(TESTS)
    # No file that somebody writes to a disk.
    with tempfile.TemporaryDirectory(prefix="rfm-bulk.", dir="/dev/shm") as folder:
        ivshmem = (f"1:-object memory-backend-file,id=plain,size=4M,share=on,mem-path={folder}/plain",
                   "1:-device ivshmem-plain,memdev=plain")
        with Lab("bulk", 2, *PATIENT, *(word for arg in ivshmem for word in ("--qemu-arg", arg))) as lab:
            return bool(run(TESTS, lab))


if __name__ == "__main__":
    sys.exit(main())
