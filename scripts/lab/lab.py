# SPDX-License-Identifier: MIT
"""A lab: machines on one ring, and the folder that holds what runs of it."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

from . import TOP, LabError, UsageError, libvirt, process, saved
from .command import RESERVED_AT, chain_sockets, find_qemu, qemu_command, usable_accelerator
from .machine import BootError, Machine
from .member import Hub, Member, card_sockets, distant_sockets, fibres, hub_command, member_command

# How long one machine may take until it is ready, with all cores to share.
SECONDS_PER_MACHINE = 60

UNFINISHED = "unfinished"       # in a lab's folder, until all of it has begun


def base_folder():
    """Short, as paths of sockets may have no more than 107 characters."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    if not runtime.is_dir():
        runtime = Path("/tmp")
    return runtime / f"rmlab-{os.getuid()}"


def require_own(base):
    """What is in the folder is run: it must be ours, and nobody else may have put it there."""
    info = base.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        raise LabError(f"{base} is no folder of yours; remove it, or set XDG_RUNTIME_DIR to one")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LabError(f"{base} can be written by others, so nothing in it is trusted")


@contextlib.contextmanager
def locked_base():
    """Holds the folder of all labs, so that of two `up` of one name one sees the other."""
    base = base_folder()
    while True:
        with contextlib.suppress(FileExistsError):
            base.mkdir(mode=0o700)
        try:
            require_own(base)
            handle = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(handle, fcntl.LOCK_EX)
        # The last lab may have taken the folder away while we waited.
        if base.exists() and os.path.samestat(os.fstat(handle), base.stat()):
            break
        os.close(handle)
    try:
        yield base
    finally:
        with contextlib.suppress(OSError):
            base.rmdir()  # if it is empty
        os.close(handle)


class Lab:
    """A lab that has a folder, running or not."""

    def __init__(self, name):
        self.name = name
        self.folder = base_folder() / name
        try:
            require_own(base_folder())
            self.config = json.loads((self.folder / "lab.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            raise LabError(f"there is no lab '{name}'; 'rmlab up --name {name}' makes one") from None
        command = self.config.get("hub")
        self.hub = Hub(self.folder / "hub", command) if command else None
        self.on_hub = bool(command or self.config.get("distant"))
        keys = Path(self.config["keys"])
        self.machines = [Machine(self.folder / str(entry["number"]), {**entry, "keys": keys})
                         for entry in self.config["machines"]]
        self.members = {entry["number"]: Member(self.folder / str(entry["number"]), entry["command"],
                                                f"member {entry['number']}")
                        for entry in self.config.get("members", ())}

    def machine(self, number):
        found = [machine for machine in self.machines if machine.number == number]
        if not found:
            there = ", ".join(str(machine.number) for machine in self.machines)
            raise UsageError(f"lab '{self.name}' has machines {there}, not {number}")
        return found[0]

    def in_use(self):
        """Whether anything of it runs, or it is just being brought up."""
        if process.is_alive(*self.config["maker"]):
            return True
        return not (self.folder / UNFINISHED).exists() and \
            (any(one.pid is not None for one in (*self.machines, *self.members.values())) or
             (self.hub is not None and self.hub.pid is not None))

    @property
    def reserved(self):
        """The physical memory that the kernels leave alone, or None."""
        size = self.config.get("reserve")
        return {"address": RESERVED_AT, "size": size} if size else None

    @property
    def summary(self):
        text = f"kernel {self.config['kernel']}, accelerator {self.config['accel']}"
        if self.config.get("driver") == "none":
            text += ", no driver loaded"
        if self.reserved:
            text += f", {self.reserved['size'] >> 20}M of memory reserved at {RESERVED_AT:#x}"
        return text

    def status(self):
        common = {"kernel": self.config["kernel"], "accel": self.config["accel"]}
        return {"name": self.name, **common,
                "driver": self.config.get("driver", "rfm"), "reserved": self.reserved,
                "topology": "hub" if self.on_hub else "chain",
                "hub": self.hub.status() if self.hub else None, "nodes": [{
            "n": machine.number,
            "node_id": machine.config["node_id"],
            "pid": machine.pid,
            "state": "running" if machine.pid else "dead",
            "fibre": None if self.on_hub else machine.fibre,
            "ssh_port": machine.ssh_port,
            "console": str(machine.console),
            "qmp": str(machine.qmp),
            **common, "image": machine.image} for machine in self.machines]}


def up(options):
    """Brings a new lab up, or leaves nothing behind."""
    with end_by_signal():
        try:
            make(options)
            lab = Lab(options.name)
            print(f"lab '{lab.name}': {len(lab.machines)} "
                  f"machine{'s' if len(lab.machines) > 1 else ''}, "
                  + lab.summary + (", on a hub" if lab.hub else ""), flush=True)
            begin(lab)
        except BaseException:
            if options.made:
                with undisturbed():
                    remove(options.name)
            raise


def make(options):
    """A new lab, of which nothing runs yet."""
    qemu = prepare(options)
    with locked_base() as base:
        folder = base / options.name
        clear_stale(options.name)
        options.made = True
        folder.mkdir(mode=0o700)
        write_config(folder, options, qemu)


def begin(lab):
    """Starts all of it."""
    if lab.hub and not lab.hub.pid:
        lab.hub.start()
    for member in lab.members.values():
        member.start()
    if lab.config["saved"]:
        resume(lab.machines, lab.config["sums"])
    else:
        boot(lab.machines)
    (lab.folder / UNFINISHED).unlink(missing_ok=True)


def prepare(options):
    """Finds or builds what machines are made of. Returns the path of QEMU."""
    if options.saved or len(options.members) + len(options.programs) == options.nodes:
        options.image = options.keys = None
        return None
    qemu = find_qemu()
    options.image = guest_image(options.kernel, options.driver, options.rdma)
    options.keys = options.image.parent / "keys"
    options.accel = options.accel or usable_accelerator()
    return qemu


def write_domains(options, target):
    """Writes the machines as domains of libvirt. Returns the paths of the files."""
    return libvirt.write(prepare(options), options, target, sockets_of)


def guest_image(kernel, driver, rdma):
    """Builds what is missing of the guest; its messages go to stderr."""
    command = [TOP / "scripts" / "guest-image", *(["--rdma"] * rdma), *([kernel] if kernel else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as build:
        try:
            said = build.communicate()[0]
        except BaseException:
            build.terminate()       # it ends what it has started
            raise
    if build.returncode:
        raise LabError("there is no guest image to boot")
    image = Path(said.strip())
    if driver != "none" and kernel and not Path(kernel).exists() and \
            not (image.parent.parent / "module" / image.name.removesuffix("-rdma") / "rfm.ko").exists():
        raise LabError(f"there is no driver for kernel {image.name}; "
                       f"run 'make image KERNEL={kernel}' first")
    return image


def clear_stale(name):
    try:
        running = Lab(name).in_use()
    except LabError:
        running = False  # there is none, or it died before it wrote what it is
    if running:
        raise LabError(f"lab '{name}' is up already; 'rmlab down --name {name}' takes it down")
    there = (base_folder() / name).exists()
    said = clean_up(name, f"'up' of lab '{name}'")
    if there:
        print(f"rmlab: {said}", file=sys.stderr)


def clean_up(name, what):
    """Takes down what was left; returns a line that says so."""
    ended = remove(name)
    return f"cleaned up what an earlier {what} has left: its folder and {ended} process{'' if ended == 1 else 'es'}"


def place_of(folder, options, number):
    return folder / str((number - 1) % options.nodes + 1)


def sockets_of(folder, options, number):
    """The chardevs of a machine's card."""
    if options.hub:
        return distant_sockets(options.hub, number)
    if options.topology == "hub":
        return card_sockets(folder / "hub", number)
    return chain_sockets(*places_of(folder, options, number))


def places_of(folder, options, number):
    """The folders of a node and of its downstream neighbour."""
    return [place_of(folder, options, n) for n in (number, number + 1)]


def fibres_of(folder, options, number):
    return fibres(folder, *places_of(folder, options, number), number, options.topology == "hub")


def hub_of(folder, options):
    """The command line of the lab's own hub, or None."""
    if options.topology != "hub":
        return None
    (folder / "hub").mkdir()
    return hub_command(folder / "hub", options.nodes, options.hub_args)


def write_config(folder, options, qemu):
    hub = hub_of(folder, options)
    machines, members, programs = [], [], {}
    for number in range(1, options.nodes + 1):
        place = place_of(folder, options, number)
        place.mkdir()
        node = options.ids[number - 1]
        if number in options.programs:          # comes by itself
            programs[number] = fibres_of(folder, options, number)
            continue
        if number in options.members:
            members.append({"number": number, "node_id": node,
                            "command": member_command(place, node, options.size,
                                                      fibres_of(folder, options, number))})
            continue
        if options.saved:
            machines.append(options.saved.machine(number, folder))
            continue
        machines.append({
            "number": number, "node_id": node, **image_facts(options, number),
            "command": qemu_command(qemu, options, place, number, sockets_of(folder, options, number))})
    config = {
        "maker": [os.getpid(), process.start_time(os.getpid())],
        "kernel": options.image and options.image.name, "accel": options.accel,
        "driver": options.driver, "reserve": options.reserve, "keys": str(options.keys),
        "topology": options.topology, "size": options.size, "hub_args": options.hub_args,
        "hub": hub, "distant": options.hub, "machines": machines,
        "members": members, "programs": programs, "saved": None, "made_by": options.made_by}
    if options.saved:
        config.update(options.saved.facts)
    (folder / UNFINISHED).touch()
    new = folder / "lab.json.new"
    new.write_text(json.dumps(config))
    new.rename(folder / "lab.json")


def image_facts(options, number):
    """What a machine that boots a disk has in its configuration."""
    if number not in options.images:
        return {}
    return {"image": str(options.images[number]), "login": options.logins.get(number, "root"),
            "write_images": options.write_images}


def boot(machines):
    """Boots machines side by side and reports each; if one fails, says its last words."""
    with contextlib.ExitStack() as stack:
        for machine in machines:
            stack.enter_context(machine.starting())
        boot_all(machines)


def boot_all(machines):
    limit = SECONDS_PER_MACHINE * len(machines)
    one_at_a_time = threading.Lock()

    def boot_one(machine):
        result = machine.boot(limit)
        with one_at_a_time:
            report_ready(machine, *result)

    try:
        process.at_once(boot_one, machines, Machine.end)
    except BootError as error:
        print(error.machine.last_words(), file=sys.stderr)
        raise


def resume(machines, sums):
    """Lets machines go on from what was saved of them, when all are there again."""
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        for machine in machines:
            stack.enter_context(machine.starting())
        process.at_once(Machine.resume, machines, Machine.end)
        saved.check(machines, sums)
        process.at_once(Machine.go_on, machines, Machine.end)
    print(f"{len(machines)} machine{'s' if len(machines) > 1 else ''} ready after {time.monotonic() - begun:.1f} s",
          flush=True)


def report_ready(machine, seconds, remark):
    print(f"{machine}: ready after {seconds:.1f} s", flush=True)
    if remark:
        print(f"rmlab: machine {machine.number}: {remark}", file=sys.stderr)


def side_by_side(work, items):
    """Starts a thread for each item."""
    threads = [threading.Thread(target=work, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    return threads


def end_by_signal():
    """Lets SIGTERM and SIGHUP unwind as Ctrl-C does, so that the machines are taken down."""
    return on_signals(signal.default_int_handler, signal.SIGTERM, signal.SIGHUP)


def undisturbed():
    """Whoever wants us to end already gets it."""
    return on_signals(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def on_signals(handler, *numbers):
    """Meanwhile these signals do that; in a thread they do what they did, as only the first may say."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def down(name):
    with locked_base():
        existed = (base_folder() / name).exists()
        remove(name)
    print(f"lab '{name}' is down" if existed else f"lab '{name}' is not up")


def remove(name):
    """Removes the lab's folder and ends every process of it, whatever state it is in.

    The folder goes first: a QEMU that somebody starts at this moment cannot begin without.
    """
    folder = base_folder() / name
    # All but what it is, for whoever comes after us, if we are killed here.
    for entry in folder.glob("*"):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
    ended = 0
    for found in (process.of_lab(folder), *(process.with_argument_in(folder, programs) for programs in (
            {"qemu-system-x86_64", "qemu-system-rfm"}, {"ssh", "scp"}, {"rmnode"}, {"rmhub"}))):
        threads = side_by_side(end, found)
        ended += len(threads)
        for thread in threads:
            thread.join()
    shutil.rmtree(folder, ignore_errors=True)   # what was written meanwhile
    return ended


def remove_left_behind():
    """Takes down what runs of `rmlab run` have left that were killed. Returns a line for each."""
    with locked_base() as base:
        for folder in sorted(base.glob("run-*")):
            try:
                config = Lab(folder.name).config
                alive, file = process.is_alive(*config["maker"]), config.get("made_by")
            except LabError:        # it died, or its maker is just writing what it is; that has the lock
                alive, file = False, "an unknown file"
            if file and not alive:
                yield clean_up(folder.name, f"run of {file}")


def end(which):
    process.stop(*which, signal.SIGTERM, signal.SIGKILL)
