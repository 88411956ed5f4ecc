# SPDX-License-Identifier: MIT
"""What the library says no to, as exceptions."""

import errno
from typing import Any, NoReturn

from ._abi import ffi, lib, text


class Error(OSError):
    """A call of the library has failed; ``errno`` says how, the text says what and why."""


class Timeout(Error, TimeoutError):
    """It was not done in time (ETIMEDOUT)."""


class Gone(Error):
    """The card is gone (ENODEV)."""


class NotSupported(Error):
    """The handle has not what the call needs (EOPNOTSUPP): see `Handle.can`."""


class NotFound(Error, FileNotFoundError):
    """There is no such card, file or name (ENOENT)."""


class NotAllowed(Error, PermissionError):
    """Somebody else may (EACCES, EPERM), or a handle that is open for writing (EBADF)."""


class EventsLost(UserWarning):
    """Events were lost before one that is told of: the queue was full, or the card's."""


EXCEPTIONS: dict[int, type[Error]] = {
    errno.ETIMEDOUT: Timeout, errno.ENODEV: Gone, errno.EOPNOTSUPP: NotSupported, errno.ENOENT: NotFound,
    errno.EACCES: NotAllowed, errno.EPERM: NotAllowed, errno.EBADF: NotAllowed}


def fail(what: str, number: int = 0, why: str = "") -> NoReturn:
    """Raise what ``errno`` says of ``what``, if that is anything; ``why`` in place of the library's few words."""
    number = number or ffi.errno
    said = why or text(lib.rfm_error_text(number))
    raise EXCEPTIONS.get(number, Error)(number, f"{what}: {said}" if what else said)


def check(status: int, what: str) -> int:
    """``status``, if it is none of a call that has failed."""
    if status < 0:
        fail(what)
    return status


def checked(pointer: Any, what: str) -> Any:
    """``pointer``, if it is not NULL."""
    if pointer == ffi.NULL:
        fail(what)
    return pointer
