# SPDX-License-Identifier: MIT
"""The way into a guest: OpenSSH, over master connections that stay open.

dropbear 2022.83 closes a session that is being opened in the moment in which the command of another
one of its connection ends. So a connection has one session at a time, and there are as many as
there are commands at once.
"""

import fcntl
import itertools
import posixpath
import shlex
import subprocess

from . import LabError

CHANNEL_FAILED = 255  # ssh's own exit status for it

HOST = "127.0.0.1"

# Long enough for a guest that is busy under emulation; a VM that is gone closes the
# connection at once.
ALIVE_INTERVAL, ALIVE_COUNT = 5, 24

# Whoever ends rmlab ends the connection too.
DIES_WITH_US = ["setpriv", "--pdeathsig", "TERM", "--"]


def identity(keys, login):
    """How ssh knows the guest, and it us. A disk of somebody's own, into which we log in as `login`, has
    a host key of its own, and may want one of the user's keys; it is reached through QEMU alone."""
    if login:
        return {"StrictHostKeyChecking": "no", "UserKnownHostsFile": "/dev/null", "User": login}
    return {"StrictHostKeyChecking": "yes", "UserKnownHostsFile": keys / "known_hosts", "User": "root",
            "HostKeyAlias": "rmlab-guest", "IdentitiesOnly": "yes"}


class Channel:
    """ssh and scp to one machine; `login` is who we are on a machine that boots a disk."""

    def __init__(self, number, folder, keys, port, login=None):
        self.number = number
        self.folder = folder
        settings = {
            **identity(keys, login),
            "ControlMaster": "auto",
            "ControlPersist": "yes",
            "ServerAliveInterval": ALIVE_INTERVAL,
            "ServerAliveCountMax": ALIVE_COUNT,
            "ConnectTimeout": 30,
            "IdentityFile": keys / "id",
            "GlobalKnownHostsFile": "/dev/null",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
            "Port": port,
        }
        self.options = ["-F", "none"]
        for name, value in settings.items():
            self.options += ["-o", f"{name}={value}"]

    def open(self):
        """Returns when the guest has let us in."""
        with Connection(self):
            pass

    def connect(self, options):
        done = subprocess.run(["ssh", *options, "-f", "-N", HOST],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise ChannelError(f"machine {self.number} runs but lets nobody in: "
                               f"{done.stderr.strip()}")

    def run(self, command):
        """Runs a command line of the guest's shell; returns its exit status."""
        return self._use(self.command_line, command)

    @staticmethod
    def command_line(connection, command):
        """What runs it here, for who starts processes of his own; ends as run() does.

        With the shell in between, so that death by a signal shows as 128 + its number.
        """
        return _ssh(connection, "-T", f"{command}\nexit $?")

    def shell(self):
        return self._use(_ssh, "-t")

    def push(self, source, target):
        """The folder that the target is to lie in is made where it is missing."""
        folder = target if target.endswith("/") else posixpath.dirname(target)
        if folder and self._use(_ssh, "-n", quote(["mkdir", "-p", "--", folder])):
            return 1        # -n: what is piped to us is not for mkdir
        return self._copy(_local(source), f"{HOST}:{target}")

    def pull(self, source, target):
        return self._copy(f"{HOST}:{source}", _local(target))

    def _copy(self, source, target):
        return 1 if self._use(_scp, source, target) else 0

    def _use(self, words, *arguments):
        """Runs what `words` makes of a connection and the arguments; returns its exit status.

        A command may itself end with 255; only a dead connection is our failure.
        """
        with Connection(self) as connection:
            status = subprocess.run([*DIES_WITH_US, *words(connection, *arguments)],
                                    check=False).returncode
            if status < 0 or status == CHANNEL_FAILED and self.quietly(connection.options, "true"):
                raise ChannelError(f"lost the connection to machine {self.number}")
            return status

    @staticmethod
    def quietly(options, *arguments):
        """A command, or -O and one to the master; returns its exit status."""
        return subprocess.run(["ssh", *options, HOST, *arguments],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode


class Connection:
    """A master connection that nobody else uses meanwhile, and its options.

    `opened`: it is, before any command; otherwise the first command does it.
    """

    def __init__(self, channel, opened=True):
        for n in itertools.count():
            control = channel.folder / f"ssh{n}"
            self.options = [*channel.options, "-o", f"ControlPath={control}"]
            self._lock = open(f"{control}.lock", "a", encoding="utf-8")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                self._lock.close()
        try:
            if self._lock.tell():       # who had it was killed: its command may go on
                channel.quietly(self.options, "-O", "exit")
                control.unlink(missing_ok=True)
            self._lock.write("in use")
            self._lock.flush()
            if opened and not control.exists():
                channel.connect(self.options)
        except BaseException:
            self._lock.close()
            raise

    def close(self, ended):
        """Who comes next makes a new one where the command may not have ended."""
        if ended and not self._lock.closed:
            self._lock.truncate(0)
        self._lock.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(not kind)


class ChannelError(LabError):
    """The channel broke; exit status 255, as ssh has it."""


def quote(arguments):
    return shlex.join(arguments)


def _ssh(connection, flag, *command):
    return ["ssh", flag, *connection.options, HOST, *command]


def _scp(connection, source, target):
    return ["scp", "-q", "-r", "-p", *connection.options, source, target]


def _local(path):
    """scp takes a colon for the end of a host name, unless a slash comes first."""
    return path if path.startswith("/") else f"./{path}"
