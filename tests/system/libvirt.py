#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A lab as domains of libvirt: rmlab libvirt, virt-xml-validate, and a session daemon of the test's own.

As root the daemon runs in a user namespace where it is not root: a session daemon, as users have.
"""

import os
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

from members import Place, Program
from suite import TOP, expect, plan, run, wait_for
import labkit
from labkit import Failed, rmlab
from lab.channel import Channel

NOT_ROOT = [] if os.getuid() else ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
VIRSH_S = 300           # for one command, on a busy host
WORD = 0x3000

# Without virtlogd, which would be another daemon; and only this driver, so that no network is touched.
QEMU_CONFIG = 'stdio_handler = "file"\nsecurity_driver = "none"\n'


class Daemon:
    """libvirtd for qemu:///session, in a folder of its own, until the end of the place."""

    def __init__(self, place, name="libvirtd"):
        self.folder = Path(place.folder, name)
        folders = {"HOME": "", "XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache",
                   "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"}
        self.environment = {**os.environ, **{key: str(self.folder / to) for key, to in folders.items()}}
        (self.folder / "config" / "libvirt").mkdir(parents=True)
        (self.folder / "run").mkdir(mode=0o700)
        (self.folder / "config" / "libvirt" / "qemu.conf").write_text(QEMU_CONFIG)
        own = self.folder / "libvirtd.conf"
        own.write_text(f'host_uuid = "{uuid.uuid4()}"\n')     # two daemons here are two hosts for libvirt
        self.program = place.add(Program(
            place.folder, name, *NOT_ROOT, "libvirtd", "--config", own, "--pid-file", self.folder / "pid",
            env=self.environment, stdin=subprocess.DEVNULL))
        wait_for("libvirtd answers", self.answers)

    @property
    def uri(self):
        return f"qemu+unix:///session?socket={self.folder}/run/libvirt/libvirt-sock"

    def answers(self):
        expect(self.program.alive(), f"libvirtd has ended: {self.program.said()}")
        return not self.virsh("uri", check=False).returncode

    def virsh(self, *words, check=True, timeout=VIRSH_S):
        done = subprocess.run([*NOT_ROOT, "virsh", "--connect", self.uri, *map(str, words)], text=True,
                              capture_output=True, env=self.environment, stdin=subprocess.DEVNULL,
                              timeout=timeout, check=False)
        if check:
            expect(done.returncode == 0, f"virsh {words}: {done.stderr.strip()}")
        return done

    def said(self, *words):
        return self.virsh(*words).stdout.strip()

    def end_domains(self):
        for name in self.said("list", "--name").split():
            self.virsh("destroy", name, check=False)


class Domains(labkit.Lab):
    """The domains of a lab, which libvirt runs: `daemon` says which."""

    def __init__(self, place, nodes):
        super().__init__("libvirt", nodes)
        self.place, self.folder = place, Path(place.folder, "lab")
        self.daemon, self.channels = None, {}

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        """None is left, and what they said is kept if something has failed."""
        if kind:
            self.keep_logs()
        if self.daemon:
            self.daemon.end_domains()

    def files(self):
        return [self.folder / f"{number}.xml" for number in self.nodes]

    def write(self, *options):
        """rmlab writes them."""
        return rmlab("libvirt", "--name", self.name, "--nodes", len(self.nodes), "--to", self.folder, *options)

    def launch(self, number):
        """Returns when there is a way in."""
        self.daemon.virsh("start", self.domain(number))
        self.enter(number)

    def verb(self, verb, node, *args, **options):
        """What the other tests ask rmlab for: what a console has shown."""
        expect(verb == "log", f"{verb} is no business of ours")
        what = self.folder / str(node) / "console.log"
        if args:
            what = self.daemon.folder / "cache" / "libvirt" / "qemu" / "log" / f"{self.domain(node)}.log"
        return SimpleNamespace(stdout=what.read_text(errors="replace") if what.exists() else "")

    def domain(self, number):
        return f"{self.name}-{number}"

    def state(self, number):
        return self.daemon.said("domstate", self.domain(number))

    def machine(self, node):
        return SimpleNamespace(channel=lambda: self.channels[node])

    def enter(self, number):
        """Wait until ssh leads in."""
        table = self.daemon.said("qemu-monitor-command", "--hmp", self.domain(number), "info usernet")
        [port] = [int(line.split()[3]) for line in table.splitlines() if "TCP[HOST_FORWARD]" in line]
        keys = TOP / "build" / "guest" / "keys"
        channel = Channel(number, self.folder / str(number), keys, port)

        def entered():
            expect(self.state(number) == "running", "it does not run")
            try:
                channel.open()
            except Failed:
                return False
            return True
        wait_for(f"ssh leads into machine {number}", entered, VIRSH_S)
        self.channels[number] = channel

    def leave(self, number):
        """End our connections."""
        channel = self.channels.pop(number, None)
        for control in (self.folder / str(number)).glob("ssh*[0-9]") if channel else ():
            channel.quietly([*channel.options, "-o", f"ControlPath={control}"], "-O", "exit")

    def whole(self):
        for number in self.nodes:
            self.test_ring(number)


def writes_domains(domains):
    """rmlab libvirt writes a domain for each machine, which virt-xml-validate finds in order"""
    done = domains.write()
    expect(done.stdout.split() == [str(file) for file in domains.files()], f"{done}")
    for file in domains.files():
        checked = subprocess.run(["virt-xml-validate", file, "domain"], text=True, capture_output=True,
                                 check=False)
        expect(checked.returncode == 0, f"{file}: {checked.stdout}{checked.stderr}")
        emulator = ET.parse(file).findtext("devices/emulator")
        expect(emulator == str(TOP / "build" / "qemu" / "qemu-system-x86_64"), f"the emulator is {emulator}")


def refuses(domains):
    """It refuses a folder that is there, a path too long for sockets, a hub that libvirt would have to run"""
    for words, status in ((["--to", domains.folder], 1), (["--to", domains.folder / ("long" * 30)], 1),
                          (["--to", domains.folder / "x", "--topology", "hub"], 2)):
        done = rmlab("libvirt", "--name", domains.name, *words, check=False)
        expect(done.returncode == status and done.stderr.count("\n") == 1, f"{words}: {done}")
    expect(sorted(path.name for path in domains.folder.iterdir()) == ["1", "1.xml", "2", "2.xml"], "it has changed")


def starts(domains):
    """A session daemon defines and starts them, lists them, and their ring is closed"""
    domains.daemon = Daemon(domains.place)
    for file in domains.files():
        domains.daemon.virsh("define", file)
    for number in domains.nodes:
        domains.daemon.virsh("start", domains.domain(number))
    listed = domains.daemon.said("list", "--name").split()
    expect(listed == [domains.domain(number) for number in domains.nodes], f"running: {listed}")
    for number in domains.nodes:
        domains.enter(number)
    domains.whole()
    domains.poke(1, WORD, 0x1111)
    wait_for("a store of one is on the other", lambda: domains.peek(2, WORD) == 0x1111)


def goes_back(domains):
    """A snapshot: the machine goes back to it, its memory of the ring too; its ring is closed again"""
    domains.daemon.virsh("snapshot-create-as", domains.domain(1), "before")
    domains.whole()         # who was away for as long as that was has come back
    domains.poke(1, WORD, 0x2222)
    domains.run(1, "touch", "/tmp/after")
    wait_for("the other has it", lambda: domains.peek(2, WORD) == 0x2222)
    listed = domains.daemon.said("snapshot-list", "--name", domains.domain(1))
    expect(listed == "before", f"snapshots: {listed}")
    domains.leave(1)        # the machine of then knows nothing of our connection
    domains.daemon.virsh("snapshot-revert", domains.domain(1), "before")
    domains.enter(1)
    expect(domains.run(1, "test", "-e", "/tmp/after", check=False).returncode == 1, "it is not what it was")
    expect(domains.peek(1, WORD) == 0x1111, f"its memory has {domains.peek(1, WORD):#x}")
    expect(domains.peek(2, WORD) == 0x2222, "the other has changed")
    domains.whole()


def stops(domains):
    """One is paused and goes on; one is ended, the other sees its light go; it starts again"""
    domains.daemon.virsh("suspend", domains.domain(2))
    expect(domains.state(2) == "paused", domains.state(2))
    domains.test_ring(1)        # its card passes on what comes
    domains.daemon.virsh("resume", domains.domain(2))
    domains.leave(2)
    domains.daemon.virsh("destroy", domains.domain(2))
    expect(domains.state(2) == "shut off", domains.state(2))
    wait_for("the other's ring is open", lambda: domains.run(1, "rmctl", "test", "rfm0", check=False).returncode == 1)
    domains.launch(2)
    domains.whole()


def is_gone(domains):
    """They are ended and undefined, and nothing runs any more"""
    for number in domains.nodes:
        domains.leave(number)
        domains.daemon.virsh("destroy", domains.domain(number))
        domains.daemon.virsh("undefine", "--snapshots-metadata", domains.domain(number))
    expect(not domains.daemon.said("list", "--all", "--name"), "some are left")


TESTS = [writes_domains, refuses, starts, goes_back, stops, is_gone]


def main():
    subprocess.run([TOP / "scripts" / "setup", "--guests"], check=True)
    plan(TESTS)
    with Place("libvirt") as place, Domains(place, 2) as domains:
        failed = run(TESTS, domains)
        if failed:
            place.keep_logs()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
