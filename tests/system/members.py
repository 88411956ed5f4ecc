# SPDX-License-Identifier: MIT
"""Members of a ring without machines: rmnode, rmhub and the programs of tests/litmus."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from suite import PATIENCE_S, TOP, expect, wait_for
from labkit import Failed

RMNODE = TOP / "build" / "tools" / "rmnode"
RMHUB = TOP / "build" / "tools" / "rmhub"
PROGRAMS = TOP / "build" / "tests" / "litmus"
QEMU = TOP / "build" / "qemu"


def preload(folder, name):
    """Environment of a program that shall be preloaded with a library of ours."""
    library = Path(folder) / f"{name}.so"
    subprocess.run([os.environ.get("CC", "gcc"), "-Wall", "-Wextra", "-Werror", "-O2", "-shared",
                    "-fPIC", "-o", library, TOP / "tests" / "preload" / f"{name}.c"], check=True)
    return {"LD_PRELOAD": str(library)}


class Program:
    """A process of ours; what it says on stderr goes to a file in the folder."""

    def __init__(self, folder, name, *command, **options):
        self.name = name
        self.log = Path(folder) / f"{name}.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen([str(word) for word in command], text=True,
                                            stderr=log, cwd=folder, **options)
        self.pid = self.process.pid

    def send_signal(self, number):
        os.kill(self.pid, number)

    def alive(self):
        return self.process.poll() is None

    def end(self, number=signal.SIGKILL):
        """Returns its exit status."""
        if self.alive():
            self.process.send_signal(number)
            if number == signal.SIGKILL:        # also of one that is stopped
                self.process.send_signal(signal.SIGCONT)
        status = self.process.wait(PATIENCE_S)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                if pipe:
                    pipe.close()
            except BrokenPipeError:
                pass            # a command that it did not live to read
        return status

    def said(self):
        return self.log.read_text(errors="replace")


class Control:
    """The control socket of rmnode and rmhub: a JSON object on a line each way."""

    def __init__(self, path, timeout=PATIENCE_S):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("r")

    def ask(self, verb, **args):
        self.socket.sendall(json.dumps({"verb": verb, "args": args}).encode() + b"\n")

    def answer(self):
        while True:
            line = self.lines.readline()
            if not line:
                raise Failed("the control socket was closed")
            answer = json.loads(line)
            if "error" in answer:
                raise Failed(answer["error"])
            if "result" in answer:
                return answer["result"]

    def call(self, verb, **args):
        self.ask(verb, **args)
        return self.answer()

    def close(self):
        self.lines.close()
        self.socket.close()


class Served(Program):
    """A program with a control socket."""

    def __init__(self, folder, name, *command):
        super().__init__(folder, name, *command, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)
        self.path = Path(folder) / f"{name}.control"
        self.control = None

    def up(self):
        """Wait until it answers."""
        wait_for(f"{self.name} answers", self.connected)
        return self

    def connected(self):
        if not self.alive():
            raise Failed(f"{self.name} has ended: {self.said().strip()}")
        try:
            self.control = Control(self.path)
        except OSError:
            time.sleep(0.01)        # its socket is not there yet
            return False
        return True

    def call(self, verb, **args):
        return self.control.call(verb, **args)


class Node(Served):
    """rmnode, to be asked by its control socket."""

    def __init__(self, folder, node, rx, tx, *options):
        name = f"rmnode{node}"
        super().__init__(folder, name, RMNODE, "--id", node, "--rx", rx, "--tx", tx, "--control",
                         Path(folder) / f"{name}.control", *options)
        self.node = node

    def members(self):
        return self.call("members")["members"]

    def stats(self):
        return self.call("stats")["counters"]


class Hub(Served):
    """rmhub with its ports on sockets in the folder."""

    def __init__(self, place, ports, *options):
        self.folder = place.folder
        self.journal = Path(place.folder) / "firings"
        super().__init__(place.folder, "rmhub", RMHUB, "run", "--ports", ports, "--dir", place.folder,
                         "--socket", Path(place.folder) / "rmhub.control", "--log", self.journal,
                         *options)
        place.add(self)
        self.up()
        self.call("status")     # its control socket is there before its ports are

    def path_in(self, port):
        """Where the hub takes what a node sends."""
        return f"{self.folder}/port{port}.in"

    def path_out(self, port):
        return f"{self.folder}/port{port}.out"

    def rx(self, port):
        """What a node at that port is told."""
        return f"unix:{self.path_out(port)}"

    def tx(self, port):
        return f"unix:{self.path_in(port)}"

    def fault(self, **fields):
        return self.call("fault-add", **fields)["fault"]

    def clear(self):
        self.call("fault-clear")

    def fired(self):
        """How often each kind of fault has."""
        kinds = {}
        for fault in self.call("fault-list")["faults"]:
            kinds[fault["kind"]] = kinds.get(fault["kind"], 0) + fault["fired"]
        return kinds

    def logged(self):
        expect(self.call("status")["log_lines_lost"] == 0, "the hub has lost lines of its log")
        return [json.loads(line) for line in self.journal.read_text().splitlines()]

    def firings(self):
        """What faults have done."""
        return [line for line in self.logged() if line["action"] != "let-go"]

    def let_go(self):
        """What a reorder held back and then let go before as many as it says had overtaken it."""
        return [line for line in self.logged() if line["action"] == "let-go"]


class Card(Program):
    """A card in a machine without a CPU: the test does what a guest would, by qtest.

    rx and tx are the options of its socket chardevs.
    """

    SLOT = 4
    CONFIG_ADDRESS, CONFIG_DATA = 0xcf8, 0xcfc
    RUNTIME, MEMORY, EXTENSION = 0xe1000000, 0xc0000000, 0xe1200000     # where its BARs are put

    def __init__(self, folder, node, rx, tx, *options, properties="", environment=None):
        path = Path(folder) / f"card{node}.qtest"
        super().__init__(folder, f"card{node}", QEMU / "qemu-system-x86_64", "-L", QEMU / "pc-bios",
                         "-M", "q35", "-accel", "qtest", "-m", "64", "-nodefaults", "-display", "none",
                         "-qtest", f"unix:{path},server=on,wait=off", "-qtest-log", "/dev/null",
                         "-chardev", f"socket,id=rx,{rx}", "-chardev", f"socket,id=tx,{tx}", *options,
                         "-device", f"rfm5565,id=card,addr={self.SLOT},node-id={node},rx=rx,tx=tx"
                         + properties, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         env=os.environ | (environment or {}))
        self.node = node
        self.path = path
        self.lines = None

    def up(self):
        """Wait until it answers; its BARs 0, 3 and 4 are mapped."""
        wait_for(f"{self.name} answers", self.connected)
        for register, value in ((0x10, self.RUNTIME), (0x1c, self.MEMORY), (0x20, self.EXTENSION),
                                (0x04, 7)):
            self.ask(f"outl {self.CONFIG_ADDRESS} {0x80000000 | self.SLOT << 11 | register}")
            self.ask(f"outl {self.CONFIG_DATA} {value}")
        return self

    def connected(self):
        if not self.alive():
            raise Failed(f"{self.name} has ended: {self.said().strip()}")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE_S)
            try:
                sock.connect(str(self.path))
            except OSError:
                time.sleep(0.01)        # its socket is not there yet
                return False
            self.lines = sock.makefile("rw")
        return True

    def ask(self, command):
        self.lines.write(command + "\n")
        self.lines.flush()
        answer = self.lines.readline().split()
        if answer[:1] != ["OK"]:
            raise Failed(f"{self.name} answers {answer} to {command}")
        return answer[-1]

    def store(self, offset, data):
        self.ask(f"write {self.MEMORY + offset} {len(data)} 0x{data.hex()}")

    def load(self, offset, length):
        return bytes.fromhex(self.ask(f"read {self.MEMORY + offset} {length}")[2:])


class Storm(Program):
    """tests/litmus/storm.c: a node that stores as fast as it can."""

    def __init__(self, folder, node, rx, tx, *options):
        super().__init__(folder, f"storm{node}", PROGRAMS / "storm", "-i", node, "-r", rx, "-t", tx,
                         *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.node = node

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as gone:
            raise Failed(f"{self.name} has ended: {self.said().strip()}") from gone

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        line = ready and self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} does not answer: {self.said().strip()}")
        return json.loads(line)

    def call(self, command):
        self.ask(command)
        return self.answer()

    def show(self):
        return self.call("show")

    def is_member(self, count):
        """Does it know all others, and do its stores come home?"""
        show = self.show()
        state = show["state"]
        return (len(show["members"]) == count - 1 and state["signal"] and state["downstream"]
                and not state["open"])


def all_call(storms, command):
    """Ask all at once; returns the answers in order."""
    for storm in storms:
        storm.ask(command)
    return [storm.answer() for storm in storms]


def fenced(storm):
    """Is all that it has stored everywhere? False if some was lost since it was asked last."""
    return storm.call("fence")["fence"] == ""


def with_name(test, *args):
    """A test with its arguments, for suite.run()."""
    def named():
        return test(*args)
    named.__doc__ = test.__doc__
    return named


class Place:
    """A folder with processes in it, gone at the end of the `with` block."""

    def __init__(self, name):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix=f"rfm-{name}-")
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for program in self.programs:
            program.end()
        if kind:
            self.keep_logs()
        shutil.rmtree(self.folder)

    def keep_logs(self):
        """What the programs said, in one file for whoever looks into a failure."""
        kept = TOP / "build" / "logs" / f"{self.name}.said"
        kept.parent.mkdir(parents=True, exist_ok=True)
        logs = sorted({program.log for program in self.programs})
        kept.write_text("".join(f"=== {log.stem}\n{log.read_text(errors='replace')}" for log in logs))
        print(f"# what the programs said: {kept.relative_to(TOP)}", file=sys.stderr)

    def add(self, program):
        self.programs.append(program)
        return program

    def daisy(self, node, count):
        """rx and tx of a node on a daisy chain: the receiving end listens."""
        return f"unix:{self.folder}/{node},server", f"unix:{self.folder}/{(node + 1) % count}"


def kilobytes(pid, field, file="smaps_rollup"):
    """A figure of /proc/PID/FILE."""
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise Failed(f"/proc/{pid}/{file} has no {field}")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
