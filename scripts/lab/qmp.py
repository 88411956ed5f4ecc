# SPDX-License-Identifier: MIT
"""One QMP command at a time; a connection is made when asked."""

import contextlib
import json
import socket

from . import LabError

TIMEOUT = 60.0


class QmpError(LabError):
    """QEMU refused the command."""


@contextlib.contextmanager
def _session(path, command):
    """A stream to QEMU, in which that command is to be run."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT)
            connection.connect(str(path))
            with connection.makefile("rw", encoding="utf-8") as stream:
                _receive(stream)  # the greeting
                _call(stream, "qmp_capabilities", None)
                yield stream
    except TimeoutError:
        raise LabError(f"QEMU did not answer '{command}' within {TIMEOUT:.0f} s") from None
    except OSError as error:
        raise LabError(f"QEMU does not answer at {path}: {error.strerror}") from None


def execute(path, command, arguments=None):
    """Runs one command and returns what QEMU returned."""
    with _session(path, command) as stream:
        return _call(stream, command, arguments)


def all_at_once(paths, command):
    """Runs a command without arguments of several, as nearly at one moment as can be."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(_session(path, command)) for path in paths]
        for stream in streams:
            _ask(stream, command, None)
        for stream in streams:
            _answer(stream, command)


def ssh_port(path):
    """The host port that QEMU chose for the guest's ssh server."""
    table = execute(path, "human-monitor-command", {"command-line": "info usernet"})
    for line in table.splitlines():
        fields = line.split()
        if fields and fields[0] == "TCP[HOST_FORWARD]":
            return int(fields[3])
    raise LabError("QEMU forwards no port to the guest's ssh server")


def _call(stream, command, arguments):
    _ask(stream, command, arguments)
    return _answer(stream, command)


def _ask(stream, command, arguments):
    request = {"execute": command}
    if arguments is not None:
        request["arguments"] = arguments
    stream.write(json.dumps(request) + "\n")
    stream.flush()


def _answer(stream, command):
    while True:
        answer = _receive(stream)
        if "return" in answer:
            return answer["return"]
        if "error" in answer:
            raise QmpError(f"QEMU refused '{command}': {answer['error']['desc']}")
        # Anything else is an event, which nobody here waits for.


def _receive(stream):
    line = stream.readline()
    if not line:
        raise LabError("QEMU closed its monitor connection")
    return json.loads(line)
