#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stock Debian as a machine of a lab: rmlab up --image, and rmlab args.

guests.py bookworm|trixie. What the machine gets of ours are packages: those of the folder RFM_PACKAGES, else
what is made of this checkout.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from members import Node, Place
from hublab import lab_status
from suite import TOP, clean_console, expect, plan, run, wait_for
from labkit import Failed, Lab, rmlab
from lab import qmp
from lab.channel import Channel

DISK, SMALL, MEMBER = 1, 2, 3           # node ids: the machine with the disk, the small guest, rmnode
INSTALLED = ["rfm-dkms", "rfm-tools", "librfm1", "librfmring1", "librfm2g1", "python3-rfm"]
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends"
PROGRAM = TOP / "build" / "librfm" / "examples" / "publish"
PUBLISHED = 0x8000                      # where it stores
BUILD_S = 5400                          # of what an emulated CPU compiles, beside others
BOOT_S = 900
KEPT = "/root/kept"                     # a file that is there if the disk was written


def image(release):
    done = subprocess.run([TOP / "tests" / "debian-image", release], text=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=True)
    return Path(done.stdout.strip())


class Machine:
    """The machine with the disk, and its neighbours."""

    def __init__(self, lab, place, disk):
        self.lab, self.disk = lab, disk
        self.before = (disk.stat().st_mtime_ns, disk.stat().st_size)
        folder = Path(lab_status(lab)["hub"]["socket"]).parent
        self.member = place.add(Node(place.folder, MEMBER, f"unix:{folder}/port2.out",
                                     f"unix:{folder}/port2.in", "--memory", "64M")).up()

    def push(self, source, target):
        self.lab.verb("push", DISK, source, target, timeout=BOOT_S)

    def run(self, command, **options):
        return self.lab.out(DISK, "sh", "-c", command, **options)


# --- what boots ------------------------------------------------------------------------------

def boots(lab, machine):
    """The disk boots as it is, systemd and all; rmlab leads into it, and knows what it boots"""
    expect(machine.run("cat /proc/1/comm") == "systemd", "process 1 is something else")
    expect(machine.run("findmnt -no LABEL /") == "root", "its root is something else")
    wait_for("all is up", lambda: machine.run("systemctl is-system-running || :") == "running", BOOT_S)
    expect(f"boots {machine.disk}" in rmlab("status", "--name", lab.name).stdout, "status does not name it")
    nodes = lab_status(lab)["nodes"]
    expect([node["image"] for node in nodes] == [str(machine.disk), None], f"{nodes}")
    expect(machine.run("uname -r") in lab.verb("log", DISK).stdout, "its console is not in the log")


def has_the_card(lab, machine):
    """It has the card, which passes on what others send before there is a driver"""
    expect("0x5565" in machine.run("cat /sys/bus/pci/devices/*/device"), "there is none")
    lab.test_ring(SMALL)


def packages(place):
    """The folder that has them."""
    if "RFM_PACKAGES" in os.environ:
        return Path(os.environ["RFM_PACKAGES"])
    folder = Path(place.folder, "deb")
    done = subprocess.run([TOP / "scripts" / "deb", "--to", folder], text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "DEB_BUILD_PROFILES": "pkg.rfm.noqemu"}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    expect(done.returncode == 0, f"they cannot be made: {done.stdout[-3000:]}")
    return folder


def takes_the_packages(lab, machine):
    """The packages install, and DKMS builds the driver for its kernel"""
    machine.run(f"touch {KEPT}; sync")
    with Place("guests-packages") as place:
        folder = packages(place)
        for name in INSTALLED:
            [package] = folder.glob(f"{name}_*.deb")
            machine.push(package, "/root/packages/")
    machine.run(f"{APT} install /root/packages/*.deb && modprobe rfm", timeout=BUILD_S)
    wait_for("there is /dev/rfm0", lambda: machine.run("test -c /dev/rfm0 && echo yes || :"))
    lab.test_ring(DISK)


def runs_a_program(lab, machine):
    """A program runs there: its stores are on the small machine and on a node that is none"""
    lab.poke(SMALL, PUBLISHED, 0)
    wait_for("it has a store of the small machine", lambda: lab.peek(DISK, PUBLISHED) == 0)
    machine.push(PROGRAM, "/root/")
    machine.run("/root/publish /dev/rfm0 2")
    word = lab.peek(DISK, PUBLISHED)
    expect(word, "it has stored nothing")
    wait_for("the small machine has it", lambda: lab.peek(SMALL, PUBLISHED) == word)
    there = bytes.fromhex(machine.member.call("read", first=PUBLISHED, last=PUBLISHED + 3)["data"])
    expect(int.from_bytes(there, "little") == word, f"the node has {there.hex()}, not {word:#x}")
    data = os.urandom(4)
    machine.member.call("write", first=0x2000, data=data.hex())
    wait_for("a store of the node is there", lambda: lab.peek(DISK, 0x2000) == int.from_bytes(data, "little"))
    clean_console(lab, DISK)


def speaks_python(lab, machine):
    """The Python package: memory, settings and the monitor by netlink, with the kernel's own library"""
    scripts = subprocess.run([TOP / "scripts" / "kernel-scripts"], text=True, stdout=subprocess.PIPE, check=True)
    for source in Path(scripts.stdout.strip(), "tools", "net", "ynl", "lib").glob("*.py"):
        machine.push(source, "/var/tmp/ynl/lib/")
    machine.push(TOP / "tests" / "python" / "machine.py", "/var/tmp/ynl/")
    machine.run(f"{APT} install python3-yaml", timeout=BUILD_S)
    said = machine.run("PYTHONPATH=/var/tmp/ynl python3 /var/tmp/ynl/machine.py rfm0", timeout=BOOT_S)
    expect(said.endswith("all is well"), said)


def survives_an_upgrade(lab, machine):
    """Its kernel is upgraded: the new one has the driver at boot, by DKMS, and a program runs"""
    before = machine.run("uname -r")
    machine.run(f"{APT} -t $(. /etc/os-release; echo $VERSION_CODENAME)-backports install linux-image-amd64 "
                "linux-headers-amd64", timeout=BUILD_S)
    machine.run("systemctl reboot", check=False)
    wait_for("another kernel runs", lambda: machine.run("uname -r", check=False, timeout=BOOT_S) not in
             ("", before), BOOT_S)
    wait_for("there is /dev/rfm0", lambda: machine.run("test -c /dev/rfm0 && echo yes || :"))
    runs_a_program(lab, machine)


def does_not_move(lab, machine):
    """It does not move while what it writes is in its QEMU; why is said"""
    done = lab.verb("migrate", DISK, check=False)
    expect(done.returncode == 1 and "--write-images" in done.stderr, f"{done}")


# --- by hand -----------------------------------------------------------------------------------

@contextmanager
def pasted(lab, node):
    """A machine that was killed runs by what `rmlab args` prints, in a shell."""
    line = lab.verb("args", node).stdout
    lab.verb("kill", node)
    with subprocess.Popen(["sh", "-c", "exec " + line], stdin=subprocess.DEVNULL) as qemu:
        try:
            expect(line.count("\n") > 20, f"it is no line a person reads: {line}")
            yield qemu
        finally:
            qemu.kill()


def way_in(lab, node, qemu, login):
    """Wait for ssh to lead in."""
    machine, channels = lab.machine(node), []

    def entered():
        expect(qemu.poll() is None, "QEMU has ended")
        try:
            port = qmp.ssh_port(machine.folder / "qmp")
            channel = Channel(node, machine.folder, machine.config["keys"], port, login)
            channel.open()
        except Failed:
            return False
        channels.append(channel)
        return True
    wait_for("ssh leads in", entered, BOOT_S)
    return channels[0]


def args_of_a_small_guest(lab, machine):
    """rmlab args: what it prints boots the small guest, on the same ring"""
    with pasted(lab, SMALL) as qemu:
        way_in(lab, SMALL, qemu, None)
        wait_for("it is on the ring", lambda: SMALL in {row["id"] for row in machine.member.members()})
        lab.machine(SMALL).stop_channels()
    lab.verb("start", SMALL)
    lab.test_ring(SMALL)


def args_of_a_disk(lab, machine):
    """And the disk, as it was: the file that was written there before is gone, the image unchanged"""
    expect(machine.run(f"ls {KEPT}") == KEPT, "the file is not there while it runs")
    with pasted(lab, DISK) as qemu:
        channel = way_in(lab, DISK, qemu, "root")
        expect(channel.run(f"test ! -e {KEPT} && test $(cat /proc/1/comm) = systemd") == 0,
               "what was written is still there")
        lab.machine(DISK).stop_channels()
    stat = machine.disk.stat()
    expect((stat.st_mtime_ns, stat.st_size) == machine.before, "the image has changed")


# --- on request --------------------------------------------------------------------------------

def writes(lab, machine):
    """--write-images: what it writes is there when it starts again"""
    with Place("guests-disk") as place:
        disk = Path(place.folder, "disk.qcow2")
        shutil.copy(machine.disk, disk)
        with Lab("guests-write", 1, "--topology", "hub", "--image", f"1={disk}", "--write-images") as other:
            other.run(1, "sh", "-c", f"touch {KEPT}; sync")
            pid = other.pid(1)
            other.verb("migrate", 1)
            expect(other.pid(1) != pid, "it has not moved")
            other.run(1, "test", "-e", KEPT)
            other.verb("kill", 1)
            other.verb("start", 1, timeout=BOOT_S)
            other.run(1, "test", "-e", KEPT)


def no_way_in(lab, _):
    """Where there is no way in, up does not wait, and exec says so"""
    with Place("guests-empty") as place:
        disk = Path(place.folder, "empty,.qcow2")
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", disk, "1M"], check=True)
        with Lab("guests-none", 1, "--image", f"1={disk}", "--login", "1=none") as other:
            done = other.verb("exec", 1, "--", "true", check=False)
            expect(done.returncode == 255 and "no way into" in done.stderr and done.stderr.count("\n") == 1,
                   f"{done}")
            expect(other.qmp(1, "query-status")["running"], "it does not run")


def wrong_usage(lab, machine):
    """What is wrong is said in one sentence, and no lab comes up"""
    other = f"{lab.name}-wrong"
    for words in (["--image", "1=/none"], ["--image", "disk.qcow2"], ["--image", f"1={__file__}"],
                  ["--image", f"9={machine.disk}"], ["--login", "1=root"], ["--write-images"]):
        done = rmlab("up", "--name", other, *words, check=False)
        expect(done.returncode == 2 and done.stderr.count("\n") == 1, f"{words}: {done}")
    expect(rmlab("status", "--name", other, check=False).returncode == 1, "a lab has come up")


TESTS = [boots, has_the_card, takes_the_packages, runs_a_program, speaks_python, survives_an_upgrade, does_not_move,
         wrong_usage, no_way_in, args_of_a_small_guest, args_of_a_disk, writes]


def main():
    release = next(word for word in sys.argv[1:] if not word.startswith("-"))
    subprocess.run([TOP / "scripts" / "setup", "--guests"], check=True)
    disk = image(release)
    plan(TESTS)
    with Lab(f"guests-{release}", 2, "--topology", "hub", "--hub-arg", "--ports 3", "--image",
             f"{DISK}={disk}") as lab, Place("guests") as place:
        failed = run(TESTS, lab, Machine(lab, place, disk))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
