# SPDX-License-Identifier: MIT
"""The parts of rmlab.

cli      the command line
lab      a lab: its folder, its machines, bringing them up and down
hub      the fibre hub that the cards may be plugged into
machine  one virtual machine: its process, its boot
command  the QEMU command line of a machine
libvirt  the machines of a lab as domains of libvirt
channel  the way into a guest (ssh)
qmp      talking to QEMU
process  processes told apart by pid and start time
"""

from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent

# What a checkout has built; and what is installed beside the package rfm-lab.
if (TOP / "Makefile").exists():
    QEMU, RMHUB = TOP / "build" / "qemu" / "qemu-system-x86_64", TOP / "build" / "tools" / "rmhub"
else:
    QEMU, RMHUB = Path("/usr/bin/qemu-system-rfm"), Path("/usr/bin/rmhub")


class LabError(Exception):
    """What the user is told in one sentence; exit status 1."""


class UsageError(LabError):
    """Wrong arguments; exit status 2."""
