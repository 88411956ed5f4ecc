# SPDX-License-Identifier: MIT
"""The parts of rmlab.

cli      the command line
lab      a lab: its folder, its machines, bringing them up and down
member   what has no machine: the fibre hub, and rmnodes
saved    labs as they were, from which others go on
run      a file that says what a lab is, what runs in it, and what must come of it
labfile  reads such a file
junit    the verdict, for CI
ui       the page to look at, and who may
look     what it shows: asks hub and members, watches regions
regions  files of regions, read by librfmregions
machine  one virtual machine: its process, its boot
command  the QEMU command line of a machine
libvirt  the machines of a lab as domains of libvirt
channel  the way into a guest (ssh)
qmp      talking to QEMU
process  processes told apart by pid and start time, and their logs
"""

from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent

# What a checkout has built; and what is installed beside the package rfm-lab.
if (TOP / "Makefile").exists():
    QEMU, TOOLS = TOP / "build" / "qemu" / "qemu-system-x86_64", TOP / "build" / "tools"
    LIBRARIES = TOP / "build" / "librfm"
else:
    QEMU, TOOLS = Path("/usr/bin/qemu-system-rfm"), Path("/usr/bin")
    LIBRARIES = Path()      # where the loader looks


class LabError(Exception):
    """What the user is told in one sentence; exit status 1."""


class UsageError(LabError):
    """Wrong arguments; exit status 2."""


class WrongFile(LabError):
    """What is wrong with a file that describes a lab, with its name and line; exit status 2."""
