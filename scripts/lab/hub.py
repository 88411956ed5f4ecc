# SPDX-License-Identifier: MIT
"""The fibre hub of a lab: an rmhub with one port for each machine."""

import json
import os
import select
import subprocess
import time

from . import RMHUB, LabError, process

SECONDS_TO_START = 60
TAIL_LINES = 10


class Hub:
    """The hub of a lab; its folder holds its sockets, its logs and what runs of it."""

    def __init__(self, folder, command):
        self.folder = folder
        self.command = command
        self.socket = folder / "control"
        self.log = folder / "hub.log"
        self._run_file = folder / "run.json"

    @property
    def pid(self):
        """The pid of the running hub, or None."""
        try:
            run = json.loads(self._run_file.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return run["pid"] if process.is_alive(run["pid"], run["started"]) else None

    def status(self):
        return {"pid": self.pid, "state": "running" if self.pid else "dead",
                "socket": str(self.socket), "log": str(self.log)}

    def start(self):
        """Returns when the hub answers."""
        with open(self.log, "a", encoding="utf-8") as log:
            child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     start_new_session=True)
        run = {"pid": child.pid, "started": process.start_time(child.pid)}
        new = self._run_file.with_suffix(".new")
        new.write_text(json.dumps(run))
        new.rename(self._run_file)
        self._wait_ready(child.pid)

    def _wait_ready(self, pid):
        end = time.monotonic() + SECONDS_TO_START
        handle = os.pidfd_open(pid)
        try:
            while not self._answers():
                if select.select([handle], [], [], 0.02)[0] or time.monotonic() > end:
                    raise LabError(f"the hub does not start: {self._last_words()}")
        finally:
            os.close(handle)

    def _answers(self):
        """Asks for its status, once there is a socket to ask at."""
        if not self.socket.exists():
            return False
        return not subprocess.run([self.command[0], "-S", self.socket, "status"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False).returncode

    def _last_words(self):
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return " / ".join(lines) or "it says nothing"


def hub_command(folder, ports, arguments):
    """The command line of the hub."""
    if not RMHUB.exists():
        raise LabError(f"{RMHUB} is missing; run 'make tools' first")
    return [str(RMHUB), "run", f"--ports={ports}", f"--dir={folder}",
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
