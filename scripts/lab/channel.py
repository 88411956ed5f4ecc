# SPDX-License-Identifier: MIT
"""The way into a guest: OpenSSH, with one master connection per machine."""

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

    def __init__(self, number, control, keys, port):
        self.number = number
        self.port = port
        self.control = control
        settings = {
            "ControlPath": control,
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

    def open(self):
        """Starts the master connection; returns when the guest has let us in."""
        done = subprocess.run(["ssh", *self.options, "-f", "-N", "root@127.0.0.1"],
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
        done = subprocess.run([*DIES_WITH_US, "ssh", *self.options, *flags, "root@127.0.0.1",
                               *command], check=False)
        if done.returncode == CHANNEL_FAILED:
            self._require_alive()
        return done.returncode

    def _copy(self, source, target):
        done = subprocess.run([*DIES_WITH_US, "scp", "-q", "-r", "-p", *self.options, source, target],
                              check=False)
        if done.returncode == CHANNEL_FAILED:
            self._require_alive()
        return 1 if done.returncode else 0

    def _require_alive(self):
        """A command may itself end with 255; only a dead channel is our failure."""
        probe = subprocess.run(["ssh", *self.options, "root@127.0.0.1", "true"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if probe.returncode:
            raise ChannelError(f"lost the connection to machine {self.number}")


class ChannelError(LabError):
    """The channel broke; exit status 255, as ssh has it."""


def quote(arguments):
    return shlex.join(arguments)


def _local(path):
    """scp takes a colon for the end of a host name, unless a slash comes first."""
    return path if path.startswith("/") else f"./{path}"
