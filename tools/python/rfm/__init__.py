# SPDX-License-Identifier: MIT
"""Reflective memory from Python: a card, or a node of a ring in this process.

    >>> import rfm
    >>> with rfm.ring(nodes=3) as (one, two, three):
    ...     one.store(0x1000, 1500)
    ...     fence = one.fence()
    ...     two.load(0x1000)
    1500
"""

from ._errors import Error, EventsLost, Gone, NotAllowed, NotFound, NotSupported, Timeout
from ._events import ALL, Event, EventFlag, Events, Kind
from ._handle import (Answer, Can, Compare, Fence, Handle, Info, Member, Record, Writer, cards, open, read_together,
                      version)
from ._io import Cycle, Io, cycles
from ._regions import Place, Regions, Structure, Structures
from ._remote import Message, Port, Resync, Rights
from ._ring import ring

__all__ = ["ALL", "Answer", "Can", "Compare", "Cycle", "Error", "Event", "EventFlag", "Events", "EventsLost", "Fence",
           "Gone", "Handle", "Info", "Io", "Kind", "Member", "Message", "NotAllowed", "NotFound", "NotSupported", "Place",
           "Port", "Record", "Regions", "Resync", "Rights", "Structure", "Structures", "Timeout", "Writer", "cards", "cycles", "open",
           "read_together", "ring", "version"]
