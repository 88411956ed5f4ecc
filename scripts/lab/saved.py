# SPDX-License-Identifier: MIT
"""A lab as it was at one moment, all of it; and labs that go on from there.

It is a folder: lab.json, what the lab was; and of machine N the file N, which QEMU wrote and reads.
"""

import contextlib
import json
import mmap
import os
import shutil
import time
import zlib
from pathlib import Path

from . import LabError, qmp
from .process import at_once

SECONDS_TO_DRAIN = 10       # the ring
LOOK_AGAIN = 0.05
CARD, MEMORY_BAR = "/machine/peripheral/rfm0", 3


def base_folder():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rfm" / "saved"


class Saved:
    """One that is there."""

    def __init__(self, name):
        self.name = name
        self.folder = base_folder() / name
        try:
            self.config = json.loads((self.folder / "lab.json").read_text())
        except FileNotFoundError:
            there = ", ".join(sorted(path.name for path in base_folder().glob("*") if path.suffix != ".new"))
            raise LabError(f"there is no saved lab '{name}'" + (f"; there are {there}" if there else
                           "; 'rmlab save' makes one of a lab that is up")) from None

    @property
    def ids(self):
        return [entry["node_id"] for entry in self.config["machines"]]

    @property
    def facts(self):
        """Of a lab that goes on from here."""
        return {"saved": self.name, "sums": self.config["sums"], **{key: self.config[key] for key in ("kernel", "accel", "driver", "reserve", "keys")}}

    def state_of(self, number):
        return self.folder / str(number)

    def machine(self, number, folder):
        """Its machine, with all that is of it in the folder of another lab."""
        [entry] = [entry for entry in self.config["machines"] if entry["number"] == number]
        old = self.config["folder"]
        moved = [word.replace(f"{old}/", f"{folder}/") for word in entry["command"]]
        name = moved.index("-name") + 1
        moved[name] = f"rmlab-{folder.name}-{number}"
        return {**entry, "command": moved, "state": str(self.state_of(number))}


# --- saving ---

def save(lab, name):
    """All CPUs stop, what is on the ring comes home, every machine is written; then it goes on."""
    refuse(lab)
    target = base_folder() / name
    new = target.with_name(f"{name}.{os.getpid()}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True, mode=0o700)
    try:
        with standing_still(lab.machines):
            drain(lab)
            at_once(lambda machine: machine.save(new / str(machine.number)), lab.machines)
            sums = at_once(lambda machine: memory_sum(machine, new), lab.machines)
        (new / "lab.json").write_text(json.dumps({**lab.config, "folder": str(lab.folder), "sums": sums}))
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return target, len(set(sums)) == 1


def refuse(lab):
    """What could not go on from there."""
    if lab.members or lab.config.get("programs"):
        raise LabError(f"lab '{lab.name}' is one of 'rmlab run', whose members that are no machines are not saved")
    if lab.config.get("distant"):
        raise LabError(f"the hub of lab '{lab.name}' is elsewhere: who else is on it could not be saved")
    for machine in lab.machines:
        machine.require_running()
        if machine.image:
            raise LabError(f"{machine} boots a disk, which would not be saved with it")
    if lab.hub and not lab.hub.pid:
        raise LabError(f"the hub of lab '{lab.name}' does not run")


@contextlib.contextmanager
def standing_still(machines):
    """All their CPUs; those that ran go on afterwards."""
    running = [machine for machine in machines if qmp.execute(machine.qmp, "query-status")["running"]]
    try:
        at_once(lambda machine: qmp.execute(machine.qmp, "stop"), running)
        yield
    finally:
        at_once(lambda machine: qmp.execute(machine.qmp, "cont"), running)


def memory_sum(machine, folder):
    """A checksum of its card's memory, as the guest sees it; None where its firmware has not placed it."""
    address, size = place_of_memory(qmp.execute(machine.qmp, "query-pci"))
    if address < 0:
        return None
    dump = folder / f"{machine.number}.memory"
    qmp.execute(machine.qmp, "pmemsave", {"val": address, "size": size, "filename": str(dump)})
    try:
        with dump.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            return zlib.crc32(memory)
    finally:
        dump.unlink()


def place_of_memory(buses):
    """Address and size, of what query-pci tells."""
    for device in (device for bus in buses for device in bus.get("devices", ())):
        if device["qdev_id"] == "rfm0":
            return next((bar["address"], bar["size"]) for bar in device["regions"] if bar["bar"] == MEMORY_BAR)
        found = place_of_memory([device["pci_bridge"]]) if "pci_bridge" in device else (-1, 0)
        if found[0] >= 0:
            return found
    return -1, 0


def check(machines, sums):
    """Those that were just loaded have the memories that were saved."""
    for machine, before, now in zip(machines, sums, at_once(lambda one: memory_sum(one, one.folder), machines)):
        if now != before:
            raise LabError(f"{machine}: the memory of its card is not the one that was saved")


def books(machine):
    """Of what its card has sent, what has come home or is known to be lost; and what that is."""
    sent, home, lost = (qmp.execute(machine.qmp, "qom-get", {"path": CARD, "property": f"frames-{what}"})
                        for what in ("sent", "home", "lost"))
    return sent, sent - home - lost


def drain(lab):
    """Nothing is on its way any more: twice the same, as what waits to be sent has no number yet."""
    end, before = time.monotonic() + SECONDS_TO_DRAIN, None
    while True:
        now = [books(machine) for machine in lab.machines]
        if now == before and not any(left for _, left in now):
            return
        if time.monotonic() > end:
            [first, *_] = [machine for machine, (_, left) in zip(lab.machines, now) if left] or lab.machines
            raise LabError(f"what {first} has sent does not come home in {SECONDS_TO_DRAIN} s: is a fibre cut?")
        before = now
        time.sleep(LOOK_AGAIN)
