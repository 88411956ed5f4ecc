# SPDX-License-Identifier: MIT
"""Per-cycle I/O: values that have names, all at once, and when it is time for them."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
import numpy.typing

from ._abi import ffi, lib, regions_lib, text
from ._errors import Timeout, check, fail
from ._events import SLICE_NS, Events

if TYPE_CHECKING:
    from ._regions import Regions


class Io:
    """A list of values, got or put together: rfm_io_open(3). Made by `Regions.io`.

    ``values`` is an array of doubles, one for each of ``names``; one thread at a time uses it.
    """

    def __init__(self, regions: Regions, pointer: Any) -> None:
        self._regions = regions         # which must stay, and its handle
        self._io = ffi.gc(pointer, regions_lib.rfm_io_close)
        self.names = [text(regions_lib.rfm_io_name(pointer, i)) for i in range(regions_lib.rfm_io_count(pointer))]
        self._values = numpy.zeros(len(self.names))
        self._reals = ffi.from_buffer("double[]", self._values)

    @property
    def values(self) -> numpy.typing.NDArray[numpy.float64]:
        """One for each of ``names``; it stays the same array, into which is copied what is assigned."""
        return self._values

    @values.setter
    def values(self, values: numpy.typing.ArrayLike) -> None:
        self._values[:] = values

    def get(self) -> numpy.typing.NDArray[numpy.float64]:
        """Load all of them into ``values``, and return that."""
        self._regions.handle.pointer    # a closed handle is none
        check(regions_lib.rfm_io_get(self._io, self._reals), "get values")
        return self.values

    def put(self, values: numpy.typing.ArrayLike | None = None, changed: bool = False) -> int:
        """Store all of ``values``, or only what is not what was put there last; how many were stored."""
        self._regions.handle.pointer
        if values is not None:
            self._values[:] = values
        flags = changed * regions_lib.RFM_IO_CHANGED
        return check(regions_lib.rfm_io_put(self._io, self._reals, flags), "put values")


@dataclass(frozen=True, slots=True)
class Cycle:
    """Where a loop is."""

    number: int         #: of this cycle, from 1; those that were missed have numbers too
    missed: int         #: how many were, so far
    late_ns: int        #: how long after its beginning the loop goes on
    begin_ns: int       #: when it began, CLOCK_MONOTONIC
    seq: int            #: of the event that began it; 0: by time


def cycles(period: float = 0, source: Events | None = None) -> Iterator[Cycle]:
    """The cycles of a loop: every ``period`` seconds, or with each event of ``source``.

    Who comes late gets the newest cycle, and the others are counted as missed: rfm_cycle_wait(3).
    With a source, ``period`` is how long to wait for the next event, or `Timeout`; 0: for ever.
    """
    cycle = ffi.new("struct rfm_cycle *")
    limit = cycle.period_ns = round(period * 1e9)
    waited = 0
    while True:
        with contextlib.nullcontext(ffi.NULL) if source is None else source.taking() as events:
            if source is not None:
                if source.closed:
                    return
                # A signal that came just before the call does not end it: so none is long.
                cycle.period_ns = min(limit - waited if limit else SLICE_NS, SLICE_NS)
            status = lib.rfm_cycle_wait_sized(cycle, ffi.sizeof(cycle[0]), events)
            number = ffi.errno
        if status == 0:
            waited = 0
            yield Cycle(cycle.number, cycle.missed, cycle.late_ns, cycle.begin_ns, cycle.seq)
        elif number == errno.ETIMEDOUT:
            waited += cycle.period_ns
            if limit and waited >= limit:
                raise Timeout(number, f"no event within {period} s")
        elif number not in (errno.EINTR, errno.ECANCELED):
            fail("wait for a cycle", number)
