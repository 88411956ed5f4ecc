#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver warns of AVX under KVM. Here the CPU is emulated, by a QEMU that says that it is KVM."""

import json
import sys
import tempfile
from pathlib import Path

from suite import TOP, Skipped, clean_kernels, expect, extra_cards, plan, ring_of_two, run
from labkit import Lab

WARNING = "AVX under KVM"
# The words of the signature in CPUID leaf 0x40000000, as they stand in QEMU's code.
SIGNATURE = {b"TCGT": b"KVMK", b"CGTC": b"VMKV", b"GTCG": b"M\0\0\0"}


def disguised(folder):
    """A copy of our QEMU whose CPUs have KVM's signature and none of its features."""
    code = (TOP / "build/qemu/qemu-system-x86_64").read_bytes()
    for tcg, kvm in SIGNATURE.items():
        if code.count(tcg) != 1:
            raise Skipped("this QEMU's compiler has put the signature elsewhere")
        code = code.replace(tcg, kvm)
    qemu = Path(folder) / "qemu-system-x86_64"      # as rmlab looks for it
    qemu.write_bytes(code)
    qemu.chmod(0o755)
    return str(qemu)


def boot_with(lab, change):
    """The machine boots again, its command line changed; returns how often it warns."""
    lab.verb("kill", 1)
    config = lab.up.folder / "lab.json"
    told = json.loads(config.read_text())
    told["machines"][0]["command"] = change(told["machines"][0]["command"])
    config.write_text(json.dumps(told))
    before = lab.verb("log", 1).stdout.count(WARNING)
    lab.verb("start", 1, timeout=600)
    return lab.verb("log", 1).stdout.count(WARNING) - before


def without_kvm(lab, _):
    """Without KVM nothing is said"""
    expect("avx" in lab.out(1, "cat", "/proc/cpuinfo").split(), "the CPU has no AVX")
    expect(WARNING not in lab.verb("log", 1).stdout, "it warns under TCG")


def with_avx(lab, folder):
    """Under KVM, with AVX and three cards, the driver warns once"""
    qemu = disguised(folder)
    count = boot_with(lab, lambda command: [qemu, *command[1:]])
    expect("Hypervisor detected: KVM" in lab.out(1, "dmesg"), "the guest does not take it for KVM")
    expect(count == 1, f"it warns {count} times")


def avx_is_hidden(lab, _):
    """As rmlab starts a machine under KVM, without AVX, it says nothing"""
    count = boot_with(lab, lambda command: [word.replace("max,", "max,xsave=off,") for word in command])
    expect("xsave" not in lab.out(1, "cat", "/proc/cpuinfo").split(), "programs can use AVX")
    expect(count == 0, "it warns")


if __name__ == "__main__":
    tests = [without_kvm, with_avx, avx_is_hidden, lambda lab, _: clean_kernels(lab)]
    tests[-1].__doc__ = clean_kernels.__doc__
    plan(tests)
    with tempfile.TemporaryDirectory() as folder, \
            Lab("kvm", 1, "--accel", "tcg", *extra_cards(ring_of_two(folder, 20, 21))) as lab:
        sys.exit(bool(run(tests, lab, folder)))
