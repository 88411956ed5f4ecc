# SPDX-License-Identifier: MIT
"""The QEMU command line of a machine."""

import os
import re
import shlex
import shutil

from . import QEMU, LabError

MEMORY = 256 << 20      # without what is reserved
RESERVED_AT = MEMORY    # behind it; and behind that
FIRMWARE = 2 << 20      # firmware has its tables at the end of the memory
RDMA_MEMORY = 256 << 20 # more, for what is registered, and disks of memory
IMAGE_MEMORY = 1 << 30  # of a machine that boots a disk

ETHERNET_MTU = 9000

FIRMWARE_FOLDER = "pc-bios"             # beside QEMU
SSH = "hostfwd=tcp:127.0.0.1:0-:22"     # QEMU chooses the port

# Under KVM the guest must not see AVX: KVM cannot emulate AVX stores to the card's memory.
# Five-level page tables only cost time under emulation.
CPU = {"kvm": "host,xsave=off", "tcg": "max,la57=off"}

# What no lab uses, and a kernel that boots would look for.
MACHINE = "q35,sata=off,smbus=off,i8042=off,hpet=off"

# A CPU that waits for its turn on the host would have its TSC judged unstable, and its timer
# not connected. The second line leaves out what only takes time: tests of the kernel's ciphers,
# security modules, memory that is zeroed twice, and waiting for RCU.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet loglevel=5 panic=-1 tsc=reliable no_timer_check "
                    "cryptomgr.notests lsm=lockdown init_on_alloc=0 rcupdate.rcu_expedited=1")


def usable_accelerator():
    """KVM only where the CPU shows it: some hosts have a /dev/kvm on which kernels hang."""
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR))
    except OSError:
        return "tcg"
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("flags"):
                return "kvm" if {"vmx", "svm"} & set(line.split()) else "tcg"
    return "tcg"


def chain_sockets(folder, peer_folder):
    """The chardevs of a card that sends to the one of the next machine."""
    return ["-chardev", f"socket,id=rfmrx,path={folder}/rx,server=on,wait=off",
            "-chardev", f"socket,id=rfmtx,path={peer_folder}/rx,reconnect-ms=100"]


def clock_arguments():
    """An emulated TSC ticks as the host's; on a busy host the guest would measure it wrong.

    Where it has a constant rate, bogomips is twice its MHz.
    """
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        text = cpuinfo.read()
    bogomips = re.search(r"^bogomips\s*:\s*([\d.]+)$", text, re.MULTILINE)
    if "constant_tsc" not in text or not bogomips:
        return ""
    return f"tsc_early_khz={round(float(bogomips[1]) * 500)}"


def memory_size(options):
    return MEMORY + (options.reserve and options.reserve + FIRMWARE) + RDMA_MEMORY * options.rdma


def kernel_arguments(options, number):
    words = [KERNEL_ARGUMENTS, clock_arguments(), f"hostname={options.name}-{number}"]
    if options.driver == "none":
        words.append("rmlab_driver=none")       # for scripts/guest/init
    if options.ethernet:
        words.append(f"rmlab_ethernet={ethernet_address(options, number)}")     # likewise
    if options.reserve:
        words.append(f"memmap={options.reserve:#x}${RESERVED_AT:#x}")
    return " ".join(filter(None, [*words, options.kernel_args]))


def doubled(text):
    """As a value of a QEMU option, which commas divide."""
    return str(text).replace(",", ",,")


def credential(options):
    """Lets systemd in the guest give root our key, where root has none of its own."""
    key = (options.keys / "id.pub").read_text().strip()
    return f"io.systemd.credential:ssh.authorized_keys.root={doubled(key)}"


def small_guest(options, folder, number):
    """Boots what scripts/guest-image makes, which says at its second serial port when it is ready."""
    return ["-m", f"{memory_size(options) >> 20}M", "-action", "reboot=shutdown",
            "-kernel", str(options.image / "vmlinuz"), "-initrd", str(options.image / "initramfs.img"),
            "-append", kernel_arguments(options, number), *console(folder),
            "-chardev", f"socket,id=ready,path={folder}/ready", "-serial", "chardev:ready",
            "-netdev", f"user,id=net0,restrict=on,{SSH}"]


def image_guest(options, folder, number):
    """Boots a disk as it is. What it writes goes with its QEMU, if it was not asked to stay."""
    temporary = "off" if options.write_images else "on"
    return ["-m", f"{IMAGE_MEMORY >> 20}M", "-smbios", f"type=11,value={credential(options)}",
            "-drive", f"file={doubled(options.images[number])},format=qcow2,if=none,id=disk0,"
            f"snapshot={temporary}", "-device", "virtio-blk-pci,drive=disk0,bootindex=0",
            *console(folder), "-netdev", f"user,id=net0,{SSH}"]


def console(folder):
    return ["-chardev", f"file,id=console,path={folder}/console.log,append=on",
            "-serial", "chardev:console"]


def ethernet_address(options, number):
    """Of the network that is on the ring: no other node of it has the same."""
    return f"10.65.1.{options.ids[number - 1]}"


def ethernet(options, number, place):
    """A stock network card whose wire is the ring: by a hub in QEMU, on which the card is, too."""
    if not options.ethernet:
        return []
    mac = f"52:54:00:55:65:{options.ids[number - 1]:02x}"
    return ["-netdev", "hubport,id=ring1,hubid=0", "-device",
            f"virtio-net-pci,netdev=ring1,mac={mac},host_mtu={ETHERNET_MTU},romfile={place}"]


# ns for which the ring's thread looks for more before it sleeps: docs/realtime.md.
POLL = 4000


def card(options, number, sockets, port="chassis=1,slot=1", iothread=None, network_card=""):
    """The card behind a port of its own, and what is its; sockets are its chardevs.

    It has a thread of its own, where it is not given one that is there already.
    """
    hub = ["-netdev", "hubport,id=ring0,hubid=0"] * options.ethernet
    properties = ",".join(["rfm5565", "id=rfm0", "bus=rp0", f"node-id={options.ids[number - 1]}",
                           f"memory-size={options.size}", "rx=rfmrx", "tx=rfmtx", f"iothread={iothread or 'ring0'}",
                           *(["netdev=ring0"] * options.ethernet), *options.device_args(number)])
    return [*hub, "-device", f"pcie-root-port,id=rp0,{port}", *sockets,
            *([] if iothread else ["-object", f"iothread,id=ring0,poll-max-ns={POLL}"]), "-device", properties,
            *ethernet(options, number, network_card), *options.qemu_args(number)]


def qemu_command(qemu, options, folder, number, sockets):
    """The QEMU command line of one machine; sockets are the chardevs of its card."""
    guest = image_guest if number in options.images else small_guest
    return [
        str(qemu), "-name", f"rmlab-{options.name}-{number}", "-L", str(qemu.parent / FIRMWARE_FOLDER),
        "-machine", f"{MACHINE},accel={options.accel}", "-cpu", CPU[options.accel],
        "-nodefaults", "-no-user-config", "-display", "none", *guest(options, folder, number),
        "-chardev", f"socket,id=qmp,path={folder}/qmp,server=on,wait=off",
        "-mon", "chardev=qmp,mode=control",
        "-device", "virtio-net-pci,netdev=net0,romfile=",
        *card(options, number, sockets),
    ]


def by_hand(command):
    """The command line for a shell, an option a line; nobody listens where a guest says it is ready."""
    words = [re.sub("^socket,id=ready,.*", "null,id=ready", word) for word in command]
    lines = [""]
    for word in words:
        if word.startswith("-"):
            lines.append(word)
        else:
            lines[-1] += " " * bool(lines[-1]) + shlex.quote(word)
    return " \\\n    ".join(lines)


def find_qemu():
    if not QEMU.exists():
        raise LabError(f"{QEMU} is missing; run 'make build' first")
    if shutil.which("ssh") is None:
        raise LabError("ssh is missing; run scripts/setup first")
    return QEMU
