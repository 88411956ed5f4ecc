# SPDX-License-Identifier: MIT
"""A lab as it was at one moment, all of it; and labs that go on from there.

It is a folder: lab.json, what the lab was; and of machine N the file N, which QEMU wrote and reads.
"""

import contextlib
import fcntl
import json
import mmap
import os
import shutil
import sys
import tempfile
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
            there = ", ".join(sorted(path.name for path in base_folder().glob("[!.]*")))
            raise LabError(f"there is no saved lab '{name}'" + (f"; there are {there}" if there else
                           "; 'rmlab save' makes one of a lab that is up")) from None

    @property
    def ids(self):
        return [entry["node_id"] for entry in self.config["machines"]]

    @property
    def facts(self):
        """Of a lab that goes on from here."""
        return {"saved": self.name, **{key: self.config[key] for key in (
            "sums", "kernel", "accel", "driver", "reserve", "keys")}}

    def machine(self, number, folder):
        """Its machine, with all that is of it in the folder of another lab."""
        [entry] = [entry for entry in self.config["machines"] if entry["number"] == number]
        old = self.config["folder"]
        moved = [word.replace(f"{old}/", f"{folder}/") for word in entry["command"]]
        name = moved.index("-name") + 1
        moved[name] = f"rmlab-{folder.name}-{number}"
        return {**entry, "command": moved, "state": str(self.folder / str(number))}


# --- saving ---

def save(lab, name):
    """All CPUs stop, what is on the ring comes home, every machine is written; then it goes on.

    Returns the folder, and whether the memories were equal; None: not all could be seen.
    """
    refuse(lab)
    base_folder().mkdir(parents=True, exist_ok=True)
    sweep()
    new = base_folder() / f".{name}.{os.getpid()}.new"
    new.mkdir(mode=0o700)
    try:
        with locked(lab.folder), standing_still(lab):
            drain(lab)
            at_once(lambda machine: machine.save(new / str(machine.number)), lab.machines)
            sums = [memory_sum(machine) for machine in lab.machines]
        (new / "lab.json").write_text(json.dumps({**lab.config, "folder": str(lab.folder), "sums": sums}))
        replace(base_folder() / name, new)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return base_folder() / name, None if None in sums else len(set(sums)) == 1


@contextlib.contextmanager
def locked(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace(target, new):
    """Whoever looks meanwhile finds the old one, the new one, or for a moment none; never half of one."""
    old = new.with_suffix(".old")
    with locked(base_folder()):
        if target.exists():
            target.rename(old)
        new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def sweep():
    """What was left by one that was killed."""
    for path in base_folder().glob(".*.*.*"):
        if not Path("/proc", path.name.split(".")[-2]).exists():
            shutil.rmtree(path, ignore_errors=True)
            print(f"rmlab: removed {path}, which a 'save' that was killed has left", file=sys.stderr)


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
def standing_still(lab):
    """All CPUs of a lab, which go on afterwards. Who is killed leaves a note for the next."""
    note = lab.folder / "stopped"
    if note.exists():
        print("rmlab: the machines stood still, as a 'save' was killed", file=sys.stderr)
        at_once(lambda machine: machine.stay(True), lab.machines)
    for machine in lab.machines:
        if not qmp.execute(machine.qmp, "query-status")["running"]:
            raise LabError(f"{machine} is paused; 'rmlab qmp {machine.number} cont' lets it go on")
    note.touch()
    before = [counter(machine, "held-lost") for machine in lab.machines]
    try:
        qmp.all_at_once([machine.qmp for machine in lab.machines], "stop")
        yield
        for machine, then in zip(lab.machines, before):
            dropped = counter(machine, "held-lost") - then
            if dropped > 0:
                print(f"rmlab: {machine}: {dropped} frames found no room, as the machines did not stop at one moment: "
                      "its memory has not all that others have stored", file=sys.stderr)
    finally:
        at_once(lambda machine: qmp.execute(machine.qmp, "cont"), lab.machines)
        note.unlink()


def counter(machine, what):
    return qmp.execute(machine.qmp, "qom-get", {"path": CARD, "property": f"frames-{what}"})


def memory_sum(machine):
    """A checksum of its card's memory, as the guest sees it; None where no firmware has placed it."""
    address, size = place_of_memory(qmp.execute(machine.qmp, "query-pci"))
    if address < 0:
        return None
    with tempfile.TemporaryFile(dir=base_folder()) as file:     # without a name, so that nobody leaves it
        name = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        qmp.execute(machine.qmp, "pmemsave", {"val": address, "size": size, "filename": name})
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            return zlib.crc32(memory)


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
    """Those that were just loaded have the memories that were saved. One after the other, for the disk's sake."""
    for machine, before in zip(machines, sums):
        if memory_sum(machine) != before:
            raise LabError(f"{machine}: the memory of its card is not the one that was saved")


def books(machine):
    """Of what its card has sent, what has come home or is known to be lost; and what that is."""
    sent, home, lost = (counter(machine, what) for what in ("sent", "home", "lost"))
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
