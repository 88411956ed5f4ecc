# SPDX-License-Identifier: MIT
"""Network namespaces of Linux, which stand for hosts."""

import contextlib
import ctypes
import os

LIBC, CLONE_NEWNET = ctypes.CDLL(None, use_errno=True), 0x40000000


def _set(file):
    if LIBC.setns(file.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "setns")


@contextlib.contextmanager
def at_namespace(name):
    """What this thread does, and what it starts, is in the namespace of that name."""
    with open("/proc/thread-self/ns/net", "rb") as before, open(f"/run/netns/{name}", "rb") as there:
        _set(there)
        try:
            yield
        finally:
            _set(before)
