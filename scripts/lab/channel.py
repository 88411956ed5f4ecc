# SPDX-License-Identifier: MIT
"""The way into a guest: OpenSSH, over master connections that stay open.

dropbear 2022.83 closes a session that is being opened in the moment in which the command of another
one of its connection ends. So a connection has one session at a time, and there are as many as
there are commands at once.
"""

import contextlib
import fcntl
import itertools
import posixpath
import shlex
import subprocess

from . import LabError

CHANNEL_FAILED = 255  # ssh's own exit status for it

# Long enough for a guest that is busy under emulation; a VM that is gone closes the
# connection at once.
ALIVE_INTERVAL, ALIVE_COUNT = 5, 24

# Whoever ends rmlab ends the connection too.
DIES_WITH_US = ["setpriv", "--pdeathsig", "TERM", "--"]


class Channel:
    """ssh and scp to one machine."""

    def __init__(self, number, folder, keys, port):
        self.number = number
        self.folder = folder
        settings = {
            "ControlMaster": "auto",
            "ControlPersist": "yes",
            "ServerAliveInterval": ALIVE_INTERVAL,
            "ServerAliveCountMax": ALIVE_COUNT,
            "ConnectTimeout": 30,
            "IdentityFile": keys / "id",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": keys / "known_hosts",
            "GlobalKnownHostsFile": "/dev/null",
            "HostKeyAlias": "rmlab-guest",
            "StrictHostKeyChecking": "yes",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
            "Port": port,
        }
        self.options = ["-F", "none"]
        for name, value in settings.items():
            self.options += ["-o", f"{name}={value}"]

    @contextlib.contextmanager
    def connected(self):
        """A connection that nobody else uses, as options."""
        for n in itertools.count():
            control = self.folder / f"ssh{n}"
            options = [*self.options, "-o", f"ControlPath={control}"]
            with open(f"{control}.lock", "a", encoding="utf-8") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                if lock.tell():         # who had it was killed: its command may go on
                    self._quietly(options, "-O", "exit")
                    control.unlink(missing_ok=True)
                lock.write("in use")
                lock.flush()
                if not control.exists():
                    self._connect(options)
                yield options
                lock.truncate(0)
                return

    def open(self):
        """Returns when the guest has let us in."""
        with self.connected():
            pass

    def _connect(self, options):
        done = subprocess.run(["ssh", *options, "-f", "-N", "root@127.0.0.1"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise LabError(f"machine {self.number} runs but lets nobody in: "
                           f"{done.stderr.strip()}")

    def run(self, command):
        """Runs a command line of the guest's shell; returns its exit status.

        The shell stays in between so that death by a signal shows as 128 + number.
        """
        return self._run_ssh(["-T"], f"{command}\nexit $?")

    def shell(self):
        return self._run_ssh(["-t"])

    def push(self, source, target):
        """The folder that the target is to lie in is made where it is missing."""
        folder = target if target.endswith("/") else posixpath.dirname(target)
        if folder and self._run_ssh(["-n"], quote(["mkdir", "-p", "--", folder])):
            return 1        # -n: what is piped to us is not for mkdir
        return self._copy(_local(source), f"root@127.0.0.1:{target}")

    def pull(self, source, target):
        return self._copy(f"root@127.0.0.1:{source}", _local(target))

    def _run_ssh(self, flags, *command):
        return self._use(["ssh", *flags], "root@127.0.0.1", *command)

    def _copy(self, source, target):
        return 1 if self._use(["scp", "-q", "-r", "-p"], source, target) else 0

    def _use(self, program, *arguments):
        """A command may itself end with 255; only a dead connection is our failure."""
        with self.connected() as options:
            status = subprocess.run([*DIES_WITH_US, *program, *options, *arguments],
                                    check=False).returncode
            if status == CHANNEL_FAILED and self._quietly(options, "true"):
                raise ChannelError(f"lost the connection to machine {self.number}")
            return status

    def _quietly(self, options, *arguments):
        """A command, or -O and one to the master; returns its exit status."""
        return subprocess.run(["ssh", *options, "root@127.0.0.1", *arguments],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode


class ChannelError(LabError):
    """The channel broke; exit status 255, as ssh has it."""


def quote(arguments):
    return shlex.join(arguments)


def _local(path):
    """scp takes a colon for the end of a host name, unless a slash comes first."""
    return path if path.startswith("/") else f"./{path}"
