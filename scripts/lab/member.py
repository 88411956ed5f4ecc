# SPDX-License-Identifier: MIT
"""What a lab has without a machine: its fibre hub, an rmhub, and its members that are rmnodes."""

import subprocess

from . import TOOLS, LabError, process

SECONDS_TO_START = 60


class Member(process.Process):
    """One of them; its folder holds its sockets, its log and what runs of it."""

    question = "stats"      # a verb that one answers which is ready

    def __init__(self, folder, command, what):
        super().__init__(folder, "log")
        self.command = command
        self.what = what
        self.socket = folder / "control"

    def __str__(self):
        return self.what

    def status(self):
        return {"pid": self.pid, "state": "running" if self.pid else "dead",
                "socket": str(self.socket), "log": str(self.log)}

    def start(self):
        """Returns when it answers."""
        if self.pid:
            raise LabError(f"{self} is running")
        self.socket.unlink(missing_ok=True)     # of one that was killed
        self._wait_until(self._begin(self.command), self._answers, SECONDS_TO_START, "start")

    def _answers(self):
        """Asks it, once there is a socket to ask at."""
        return self.socket.exists() and not self.ask(self.question).returncode

    def ask(self, *words):
        """A verb of its control socket. Returns the finished process; its output is text."""
        return subprocess.run([self.command[0], "-S", self.socket, *words], text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)


class Hub(Member):
    """The hub of a lab, with one port for each node."""

    question = "status"

    def __init__(self, folder, command):
        super().__init__(folder, command, "the hub")


def program(name):
    found = TOOLS / name
    if not found.exists():
        raise LabError(f"{found} is missing; run 'make tools' first")
    return str(found)


def hub_command(folder, ports, arguments):
    """The command line of the hub."""
    return [program("rmhub"), "run", f"--ports={ports}", f"--dir={folder}",
            f"--log={folder}/faults.log", *arguments]


def distant_sockets(address, number):
    """The same, of a hub elsewhere, a pair of TCP ports for each of its own: in, and out."""
    host, first = address
    port = first + 2 * (number - 1)
    host = host.replace(",", ",,")
    return ["-chardev", f"socket,id=rfmrx,host={host},port={port + 1},reconnect-ms=100",
            "-chardev", f"socket,id=rfmtx,host={host},port={port},reconnect-ms=100"]


def card_sockets(folder, number):
    """The chardevs by which the card of a machine is plugged into its port."""
    port = f"{folder}/port{number - 1}"
    return ["-chardev", f"socket,id=rfmrx,path={port}.out,reconnect-ms=100",
            "-chardev", f"socket,id=rfmtx,path={port}.in,reconnect-ms=100"]


def fibres(folder, place, next_place, number, on_hub):
    """Where a node without a machine receives and sends, as rmnode and librfm have it."""
    if on_hub:
        return f"unix:{folder}/hub/port{number - 1}.out", f"unix:{folder}/hub/port{number - 1}.in"
    return f"unix:{place}/rx,server", f"unix:{next_place}/rx"


def member_command(folder, node, size, ends):
    """The command line of an rmnode."""
    return [program("rmnode"), f"--id={node}", f"--memory={size}", f"--rx={ends[0]}",
            f"--tx={ends[1]}", f"--memory-file={folder}/memory", f"--control={folder}/control"]
