# SPDX-License-Identifier: MIT
"""Streams of events: what watches and listeners tell."""

import asyncio
import contextlib
import enum
import errno
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ._abi import ffi, lib, text
from ._errors import EventsLost, check

ALL: int = lib.RFM_NODE_ALL     # every other node
BATCH = 64          # records that are taken at once
SLICE_NS = 1_000_000_000
FOR_EVER = 2**64 - 1


class Kind(enum.IntEnum):
    """What has happened; the first five can be sent."""

    RESET = lib.RFM_EVENT_RESET
    INT1 = lib.RFM_EVENT_INT1
    INT2 = lib.RFM_EVENT_INT2
    INT3 = lib.RFM_EVENT_INT3
    INT4 = lib.RFM_EVENT_INT4
    SYNC_LOSS = lib.RFM_EVENT_SYNC_LOSS
    BAD_DATA = lib.RFM_EVENT_BAD_DATA
    TX_FULL = lib.RFM_EVENT_TX_FULL
    RX_FULL = lib.RFM_EVENT_RX_FULL
    RX_ALMOST_FULL = lib.RFM_EVENT_RX_ALMOST_FULL
    ROGUE = lib.RFM_EVENT_ROGUE
    WRITE_INHIBITED = lib.RFM_EVENT_WRITE_INHIBITED
    PARITY = lib.RFM_EVENT_PARITY
    UPDATE = lib.RFM_EVENT_UPDATE
    MATCH = lib.RFM_EVENT_MATCH
    STALE = lib.RFM_EVENT_STALE
    FRESH = lib.RFM_EVENT_FRESH
    CONFLICT = lib.RFM_EVENT_CONFLICT
    SIGNAL = lib.RFM_EVENT_SIGNAL
    BREAK = lib.RFM_EVENT_BREAK
    MEMBERSHIP = lib.RFM_EVENT_MEMBERSHIP
    LOSS = lib.RFM_EVENT_LOSS
    ID_IN_USE = lib.RFM_EVENT_ID_IN_USE
    DROPPED = lib.RFM_EVENT_DROPPED
    INCOMPLETE = lib.RFM_EVENT_INCOMPLETE
    WRITTEN = lib.RFM_EVENT_WRITTEN

    @property
    def words(self) -> str:
        """As the tools call it: ``sync-loss``."""
        return text(lib.rfm_event_name(self))


KINDS = {int(kind): kind for kind in Kind}


class EventFlag(enum.IntFlag):
    """What is to be known of an event."""

    LATE = lib.RFM_EVENT_LATE               #: older than the watch's deadline when it came
    AGE_UNKNOWN = lib.RFM_EVENT_AGE_UNKNOWN #: origin and arrival are on different clocks
    NEVER = lib.RFM_EVENT_NEVER             #: STALE: nothing since the watch was made
    INFERRED = lib.RFM_EVENT_INFERRED       #: STALE, FRESH: concluded, as the card has dropped it


@dataclass(frozen=True, slots=True)
class Event:
    """One event; rfm_events_wait(3) says more of each field."""

    kind: int               #: a `Kind`; a later library may know others
    node: int | None        #: who sent or wrote
    data: int               #: of an interrupt; LOSS: updates missing; MEMBERSHIP: the epoch; INCOMPLETE: 1, or 0
    flags: EventFlag
    seq: int                #: counts the events of this stream, lost ones included
    lost: int               #: events that are missing before this one
    time_ns: int            #: CLOCK_MONOTONIC when it was taken
    offset: int             #: of the update
    length: int             #: of the update
    count: int              #: updates that it stands for, of a watch that coalesces
    frame: int              #: its number, per originator
    origin_ns: int          #: when it was stored, on the originator's clock
    arrival_ns: int         #: when it came, on the card's clock
    age_ns: int | None      #: how old the update was when it came; None: nobody knows
    silent_ns: int          #: STALE, FRESH: how long it was silent
    late: int               #: late updates of this watch so far
    bytes: bytes            #: what was written, of a longer update the first 64 bytes


def event_of(record: Any, lost: int) -> Event:
    age = lib.rfm_age_ns(ffi.addressof(record)) if record.arrival_ns else -1
    return Event(
        kind=KINDS.get(record.type, record.type), node=None if record.node == ALL else record.node,
        data=record.data, flags=EventFlag(record.flags), seq=record.seq, lost=lost, time_ns=record.time_ns,
        offset=record.offset, length=record.length, count=record.count, frame=record.frame,
        origin_ns=record.origin_ns, arrival_ns=record.arrival_ns, age_ns=None if age < 0 else age,
        silent_ns=record.age_ns, late=record.late,
        bytes=bytes(ffi.buffer(record.bytes)[0:min(record.length, len(record.bytes))]))


def close_stream(pointer: Any, kept: Any) -> int:
    """What is ``kept`` must be there until now."""
    return int(lib.rfm_events_close(pointer))


class Events:
    """A stream of events, made by `Handle.watch`, `Handle.listen` or `Handle.region`: an iterator, also of asyncio.

    What it has lost it tells: `Event.lost`, `lost`, and a warning `EventsLost`. One thread or task
    at a time takes events; ``close()`` may be called by any, and ends the iteration. Ctrl-C may lose what is
    just being taken, as a gap in `Event.seq` shows; where none may be, let its handler set a flag.
    """

    def __init__(self, pointer: Any, kept: Any = None) -> None:
        self._closing = weakref.finalize(self, close_stream, pointer, kept)
        self._closing.atexit = False        # another thread may still wait
        self._events = pointer
        self._records = ffi.new("struct rfm_event[]", BATCH)
        self._dropped = 0
        self._taken: deque[Event] = deque()
        self._taking = threading.Lock()
        self._freeing = threading.Lock()       # innermost: what it guards is not freed meanwhile
        self.closed = False
        self._wake: Callable[[], object] = lambda: None
        self.lost = 0       #: events that are missing so far

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *trace: object) -> None:
        self.close()

    def fileno(self) -> int:
        """The descriptor, for a loop of one's own: readable when there are events."""
        with self._freeing:
            if self.closed:
                raise ValueError("the stream of events is closed")
            return int(lib.rfm_events_fd(self._events))

    def close(self) -> None:
        """No more; what was not taken is gone."""
        with self._freeing:
            self.closed = True
            if self._closing.alive:
                lib.rfm_events_cancel(self._events)
        self._wake()
        with self._taking, self._freeing:
            check(self._closing() or 0, "close a stream of events")

    @contextlib.contextmanager
    def taking(self) -> Iterator[Any]:
        """Nobody else waits, and it is not closed, while the ``struct rfm_events *`` is used."""
        with self._taking:
            yield self._events

    def wait(self, timeout: float | None = None) -> list[Event]:
        """The oldest events; waits for one, ``timeout`` seconds at most (None: for ever), else []."""
        self._take(timeout)
        taken, self._taken = list(self._taken), deque()
        return taken

    def _take(self, timeout: float | None) -> None:
        """Let there be events in ``_taken``; none are if it is closed, or after ``timeout``."""
        if self._taken:
            return
        until = FOR_EVER if timeout is None else time.monotonic_ns() + round(timeout * 1e9)
        with self.taking() as events:
            while not self.closed:
                # A signal that came just before the call does not end it: so none is long.
                now = time.monotonic_ns()
                count = lib.rfm_events_wait_until_sized(
                    events, self._records, ffi.sizeof("struct rfm_event"), BATCH, min(until, now + SLICE_NS))
                if count > 0:
                    self._keep(count)
                    return
                if count < 0 and ffi.errno not in (errno.EINTR, errno.ECANCELED):
                    check(count, "wait for events")
                if time.monotonic_ns() >= until:
                    return

    def _keep(self, count: int) -> None:
        lost = []
        for record in self._records[0:count]:
            lost.append(record.dropped - self._dropped + (record.data if record.type == Kind.DROPPED else 0))
            self._dropped = record.dropped
        self.lost += sum(lost)
        # Kept until all is said: the program may make an exception of a warning.
        self._taken.extend(map(event_of, self._records, lost))
        if any(lost):
            warnings.warn(f"{sum(lost)} events were lost before number {self._taken[-1].seq}", EventsLost, stacklevel=4)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        self._take(None)
        if not self._taken:
            raise StopIteration
        return self._taken.popleft()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        loop = asyncio.get_running_loop()
        while not self.closed and not self._taken:
            self._take(0)
            if not self._taken:
                await self._more(loop)
        if not self._taken:
            raise StopAsyncIteration
        return self._taken.popleft()

    async def _more(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait until there are events, or it is closed: before this looks, or after it can be woken."""
        ready = asyncio.Event()
        self._wake = lambda: loop.call_soon_threadsafe(ready.set)
        with self._freeing:
            if self.closed:
                return
            descriptor = lib.rfm_events_fd(self._events)
            loop.add_reader(descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(descriptor)
            self._wake = lambda: None
