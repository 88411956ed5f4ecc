# SPDX-License-Identifier: MIT
"""Operations at one node, and messages."""

import enum
import errno
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any

from ._abi import ffi, lib
from ._errors import check, checked, fail
from ._events import ALL, Events
from ._memory import Range, range_of
from ._wait import MS_MAX, SLICE_MS, milliseconds, until


class Rights(enum.IntFlag):
    """What other nodes may do with bytes of this node's memory, for `Handle.export`."""

    NONE = 0
    READ = lib.RFM_EXPORT_READ      #: `Handle.get`
    WRITE = lib.RFM_EXPORT_WRITE    #: `Handle.put`
    HOME = lib.RFM_EXPORT_HOME      #: `Handle.cas`, `Handle.add`: this node is the home of the words


@dataclass(frozen=True, slots=True)
class Message:
    """A message."""

    node: int           #: who has sent it
    data: bytes


@dataclass(frozen=True, slots=True)
class Resync:
    """How a resync has ended."""

    bytes: int          #: how many have been got
    donor: int          #: who gave them


class Port:
    """Where messages come: `Handle.listen_port`. One thread at a time receives; ``close()`` may be called by any."""

    def __init__(self, pointer: Any, owner: Any) -> None:
        self._closing = weakref.finalize(self, lib.rfm_messages_close, pointer)
        self._closing.atexit = False        # another thread may still wait
        self._port = pointer
        self._owner = owner     # stays open while this is
        self._room = ffi.new("uint8_t[]", lib.RFM_OP_MAX)
        self._taking = threading.Lock()
        self._freeing = threading.Lock()    # innermost: what it guards is not freed meanwhile
        self.closed = False

    def receive(self, timeout: float | None = None) -> Message | None:
        """The oldest message; None after ``timeout`` seconds; rfm_receive(3)."""
        end = None if timeout is None else time.monotonic() + timeout
        length, node = ffi.new("size_t *"), ffi.new("uint32_t *")
        with self._taking:
            while not self.closed:
                # No call is long: not every one is ended by a signal, and none by close().
                part = SLICE_MS if end is None else min(milliseconds(end - time.monotonic()), SLICE_MS)
                got = lib.rfm_receive(self._port, self._room, lib.RFM_OP_MAX, length, node, part)
                if got > 0:
                    return Message(node[0], bytes(ffi.buffer(self._room, length[0])))
                if got < 0 and ffi.errno != errno.EINTR:
                    fail("receive")
                if end is not None and time.monotonic() >= end:
                    return None
        raise ValueError("the port is closed")

    def fileno(self) -> int:
        """For ``select()`` and the like: readable when there is a message. Not of a node in this process."""
        with self._freeing:
            if self.closed:
                raise ValueError("the port is closed")
            return check(lib.rfm_messages_fd(self._port), "port")

    def close(self) -> None:
        """No more: what has not been received is dropped."""
        with self._freeing:
            self.closed = True
        with self._taking, self._freeing:
            self._closing()

    def __enter__(self) -> "Port":
        return self

    def __exit__(self, *trace: object) -> None:
        self.close()


def width_of(what: str, word: str) -> int:
    if word not in ("u4", "u8"):
        fail(what, errno.EINVAL, f"a word is u4 or u8 here, not {word}")
    return int(word[1])


class Remote:
    """What a handle can do at one node."""

    @property
    def pointer(self) -> Any:
        """Of the library."""
        raise NotImplementedError

    def _operate(self, what: str, op: int, timeout: float | None, **fields: int) -> int:
        operation = ffi.new("struct rfm_operation *", {"op": op, **fields})

        def call(ms: int) -> int:
            operation.timeout_ms = max(1, min(ms, lib.RFM_OP_MS_MAX))
            return int(lib.rfm_operate_sized(self.pointer, operation, ffi.sizeof(operation[0])))

        # A word that may have been changed is no EINTR.
        until(what, timeout, call, MS_MAX)
        return int(operation.old)

    def get(self, node: int, offset: int, length: int, timeout: float | None = None, *, key: int = 0) -> bytes:
        """Read the memory of one node, or with ``key`` a `region` there; rfm_get(3)."""
        data = ffi.new("uint8_t[]", max(length, 1))
        self._operate("get", lib.RFM_OP_READ, timeout, node=node, key=key, offset=offset, length=length,
                      data=int(ffi.cast("uintptr_t", data)))
        return bytes(ffi.buffer(data, length))

    def put(self, node: int, offset: int, data: Any, timeout: float | None = None, *, key: int = 0) -> None:
        """Write into the memory of one node, and of no other, or into a `region` there; rfm_put(3)."""
        source = ffi.from_buffer(data)
        self._operate("put", lib.RFM_OP_WRITE, timeout, node=node, key=key, offset=offset, length=len(source),
                      data=int(ffi.cast("uintptr_t", source)))

    def cas(self, node: int, offset: int, expected: int, value: int, word: str = "u4",
            timeout: float | None = None, *, key: int = 0) -> int:
        """Change a word at its home if it is ``expected``; what it was: changed if that is; rfm_cas64(3).

        With ``key`` one of a `region`, which no other node has.
        """
        return self._operate("cas", lib.RFM_OP_CAS, timeout, node=node, key=key, offset=offset,
                             compare=expected, value=value, width=width_of("cas", word))

    def add(self, node: int, offset: int, value: int, word: str = "u4", timeout: float | None = None, *,
            key: int = 0) -> int:
        """Add to a word at its home, or with ``key`` to one of a `region`; what it was; rfm_add64(3)."""
        return self._operate("add", lib.RFM_OP_ADD, timeout, node=node, key=key, offset=offset, value=value,
                             width=width_of("add", word))

    def message(self, node: int, port: int, data: Any, timeout: float | None = None) -> None:
        """Send a message to a port of one node, whole or not at all; rfm_message(3)."""
        source = ffi.from_buffer(data)
        until("message", timeout, lambda ms: int(
            lib.rfm_message(self.pointer, node, port, source, len(source), ms)), MS_MAX)

    def listen_port(self, port: int, depth: int = 0, length_max: int = 0) -> Port:
        """Take messages at a port; rfm_listen_port(3)."""
        return Port(checked(lib.rfm_listen_port(self.pointer, port, depth, length_max), "port"), self)

    def export(self, where: Range, rights: Rights) -> None:
        """Allow other nodes to do that there, in place of what was allowed; rfm_export(3)."""
        offset, length = range_of(where)
        check(lib.rfm_export(self.pointer, offset, length, rights), "export")

    def resync(self, donor: int | None = None, timeout: float | None = None) -> Resync:
        """Get from a complete node, by default the nearest, what this memory lacks; rfm_resync(3).

        With the own node as ``donor``: nothing, this memory is right as it is.
        Ctrl-C ends it, at the latest when it has taken twice as long.
        """
        result = ffi.new("struct rfm_resync_wait *")
        until("resync", timeout, lambda ms: int(lib.rfm_resync_sized(
            self.pointer, ALL if donor is None else donor, ms, result, ffi.sizeof(result[0]))))
        return Resync(result.bytes, result.donor)

    def region(self, memory: Any, *, read: bool = False, write: bool = False, change: bool = False,
               watch: bool = False) -> tuple[Events, int]:
        """Let other nodes at ``memory``, a writable buffer; the stream that ends it, and the ``key`` for them.

        With ``watch`` the stream tells who has written which bytes; rfm_region_open(3).
        """
        flags = ((lib.RFM_MEMORY_READ if read else 0) | (lib.RFM_MEMORY_WRITE if write else 0) |
                 (lib.RFM_MEMORY_CHANGE if change else 0) | (lib.RFM_MEMORY_WATCH if watch else 0))
        buffer = ffi.from_buffer(memory, require_writable=True)
        key = ffi.new("uint32_t *")
        # The memory stays where it is for as long as somebody may write to it.
        return Events(checked(lib.rfm_region_open(self.pointer, buffer, len(buffer), flags, key), "region"),
                      buffer), int(key[0])
