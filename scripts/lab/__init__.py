# SPDX-License-Identifier: MIT
"""The parts of rmlab.

cli      the command line
lab      a lab: its folder, its machines, bringing them up and down
member   what has no machine: the fibre hub, and rmnodes
run      a file that says what a lab is, what runs in it, and what must come of it
labfile  reads such a file
junit    the verdict, for CI
machine  one virtual machine: its process, its boot
command  the QEMU command line of a machine
libvirt  the machines of a lab as domains of libvirt
channel  the way into a guest (ssh)
qmp      talking to QEMU
process  processes told apart by pid and start time
"""


class LabError(Exception):
    """What the user is told in one sentence; exit status 1."""


class UsageError(LabError):
    """Wrong arguments; exit status 2."""


class WrongFile(LabError):
    """What is wrong with a file that describes a lab, with its name and line; exit status 2."""
