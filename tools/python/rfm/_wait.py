# SPDX-License-Identifier: MIT
"""Waits of the library, within their time, and so that Ctrl-C ends them."""

import errno
import time
from collections.abc import Callable

from ._abi import ffi
from ._errors import fail

SLICE_MS = 200          # of a wait that a signal does not end, the first
MS_MAX = 2**31 - 1


def milliseconds(seconds: float) -> int:
    return max(0, min(round(seconds * 1000), MS_MAX))


def until(what: str, timeout: float | None, call: Callable[[int], int], patience: int = SLICE_MS) -> None:
    """``call`` with a part of the time each, for not every call is ended by a signal.

    Each part is a new request, and a turn may take longer than the last one: so the next is twice as long.
    With all of the time for ``patience`` only a signal makes a new request, of what is left.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = MS_MAX if end is None else milliseconds(end - time.monotonic())
        part = min(left, patience)
        if call(part) >= 0:
            return
        number = ffi.errno
        if number == errno.ETIMEDOUT and (end is None or part < left):
            patience = min(2 * patience, MS_MAX)
        elif number != errno.EINTR:
            fail(what, number)
