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


class LabError(Exception):
    """What the user is told in one sentence; exit status 1."""


class UsageError(LabError):
    """Wrong arguments; exit status 2."""
