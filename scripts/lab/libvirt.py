# SPDX-License-Identifier: MIT
"""The machines of a lab as domains of libvirt, which then starts, stops and moves them."""

import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

from . import LabError
from .command import FIRMWARE_FOLDER, IMAGE_MEMORY, SSH, card, credential, kernel_arguments, memory_size

NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
SOCKET_PATH = 107       # bytes that the path of a socket may have

# Where libvirt, which counts from the first, puts none of its own devices.
NETWORK_CARD = "addr=0x1c"
RING_NETWORK_CARD = ",addr=0x1b"
CARD_PORT = "chassis=200,slot=1,addr=0x1d"
IOTHREAD = "iothread1"  # as libvirt calls the first one

# As command.CPU, in libvirt's words.
CPU = {"kvm": ("host-passthrough", "xsave"), "tcg": ("maximum", "la57")}


def add(parent, tag, text=None, **attributes):
    child = ET.SubElement(parent, tag, attributes)
    child.text = text
    return child


def domain(qemu, options, folder, number, disk, sockets):
    """The XML of one machine. What libvirt has no words for, it hands to QEMU as it is."""
    ET.register_namespace("qemu", NAMESPACE)
    top = ET.Element("domain", type={"kvm": "kvm", "tcg": "qemu"}[options.accel])
    boots_disk = number in options.images
    add(top, "name", f"{options.name}-{number}")
    add(top, "memory", str((IMAGE_MEMORY if boots_disk else memory_size(options)) >> 20), unit="MiB")
    add(top, "vcpu", "1")
    add(top, "iothreads", "1")
    system = ET.Element("os")
    add(system, "type", "hvm", arch="x86_64", machine="q35")
    if boots_disk:
        add(system, "boot", dev="hd")
        add(system, "smbios", mode="sysinfo")
        add(add(add(top, "sysinfo", type="smbios"), "oemStrings"), "entry", credential(options))
    else:
        add(system, "kernel", str(options.image / "vmlinuz"))
        add(system, "initrd", str(options.image / "initramfs.img"))
        add(system, "cmdline", kernel_arguments(options, number))
    top.append(system)
    add(add(top, "features"), "acpi")
    mode, hidden = CPU[options.accel]
    add(add(top, "cpu", mode=mode), "feature", policy="disable", name=hidden)
    add(top, "on_reboot", "restart" if boots_disk else "destroy")
    add_devices(top, qemu, folder, disk)
    line = add(top, f"{{{NAMESPACE}}}commandline")
    network = f"user,id=net0,{SSH}" + ("" if boots_disk else ",restrict=on")
    for word in ["-L", qemu.parent / FIRMWARE_FOLDER, "-netdev", network,
                 "-device", f"virtio-net-pci,netdev=net0,romfile=,{NETWORK_CARD}",
                 *card(options, number, sockets, CARD_PORT, IOTHREAD, RING_NETWORK_CARD)]:
        add(line, f"{{{NAMESPACE}}}arg", value=str(word))
    ET.indent(top)
    return ET.tostring(top, encoding="unicode") + "\n"


def add_devices(top, qemu, folder, disk):
    devices = add(top, "devices")
    add(devices, "emulator", str(qemu))
    drive = add(devices, "disk", type="file", device="disk")
    add(drive, "driver", name="qemu", type="qcow2")
    add(drive, "source", file=str(disk))
    add(drive, "target", dev="vda", bus="virtio")
    add(devices, "controller", type="usb", model="none")
    serial = add(devices, "serial", type="file")
    add(serial, "source", path=f"{folder}/console.log", append="on")
    add(serial, "target", port="0")
    add(devices, "memballoon", model="none")


def write(qemu, options, target, sockets_of):
    """Writes a folder: a file of XML for each machine, and a folder beside it for what it leaves.

    Returns the files' paths. `sockets_of` gives the chardevs of a machine's card.
    """
    if shutil.which("qemu-img") is None:
        raise LabError("qemu-img is missing; it is in the package qemu-utils")
    if len(f"{target}/{options.nodes}/rx") > SOCKET_PATH:
        raise LabError(f"{target} is too long a path for a socket in it")
    try:
        target.mkdir(parents=True)
    except FileExistsError:
        raise LabError(f"{target} is there already") from None
    files = []
    for number in range(1, options.nodes + 1):
        folder = target / str(number)
        folder.mkdir()
        files.append(Path(f"{folder}.xml"))
        files[-1].write_text(domain(qemu, options, folder, number, disk_of(options, folder, number),
                                    sockets_of(target, options, number)))
    return files


def disk_of(options, folder, number):
    """A disk of the machine's own, where libvirt keeps snapshots; over its image, if it boots one."""
    image, disk = options.images.get(number), folder / "disk.qcow2"
    if image and options.write_images:
        return image
    what = ["-b", image, "-F", "qcow2", disk] if image else [disk, "1M"]
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *what], check=True)
    return disk
