# SPDX-License-Identifier: MIT
"""A handle: a card, or a node of a ring in this process."""

import enum
import errno
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy
import numpy.typing

from ._abi import ffi, lib, text
from ._errors import Error, Timeout, check, checked, fail
from ._events import ALL, Events, Kind
from ._memory import WORDS, Range, range_of
from ._regions import Regions
from ._remote import Remote
from ._wait import until

NAP_S = 0.005           # between two questions whether the ring is whole


class Can(enum.IntFlag):
    """What a handle can do."""

    PUBLISH = lib.RFM_CAN_PUBLISH       #: what is stored in a mapping goes to the ring
    SUBSCRIBE = lib.RFM_CAN_SUBSCRIBE   #: `Handle.subscribe`
    OWN = lib.RFM_CAN_OWN               #: `Handle.own`
    WATCH = lib.RFM_CAN_WATCH           #: `Handle.watch`, and `Handle.listen` from `Kind.UPDATE` on
    WRITER = lib.RFM_CAN_WRITER         #: `Handle.writer`
    SEND_SET = lib.RFM_CAN_SEND_SET     #: `Handle.send` to several nodes
    FENCE = lib.RFM_CAN_FENCE           #: `Handle.fence`
    COUNTERS = lib.RFM_CAN_COUNTERS     #: `Handle.counters`, `Handle.members`
    VERIFY = lib.RFM_CAN_VERIFY         #: `Handle.verify`
    FD = lib.RFM_CAN_FD                 #: `Handle.fileno`
    FORK = lib.RFM_CAN_FORK             #: a child process may use it too
    REGS = lib.RFM_CAN_REGS             #: registers of a 5565
    REMOTE = lib.RFM_CAN_REMOTE         #: `Handle.get` and the like, messages, `Handle.export`, `Handle.resync`
    REGION = lib.RFM_CAN_REGION         #: `Handle.region`


@dataclass(frozen=True, slots=True)
class Info:
    """What a card is and how it is; rfm(4) says more of each field."""

    memory_size: int
    window_size: int
    window_offset: int
    node: int
    board_id: int
    board_revision: int
    build: int
    lcsr1: int
    lisr: int
    features: int
    pci_name: str
    irqs: int
    sync_losses: int
    base_policy: int
    clock_domain: int
    events_dropped: int
    watches: int


@dataclass(frozen=True, slots=True)
class Fence:
    """How a fence has ended."""

    lost: int           #: frames that did not reach every node
    epoch: int          #: counts changes of the ring's membership
    wait_ns: int        #: how long it took


@dataclass(frozen=True, slots=True)
class Answer:
    """What a node has in its memory."""

    length: int         #: how many of the bytes asked for it has
    crc: int            #: CRC32C of them
    first: bytes        #: the first eight
    behind: bool        #: it stands still, and will store more when it goes on


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote last to 64 bytes."""

    node: int | None    #: None: nobody
    frame: int          #: 0: this machine
    time_ns: int        #: on the clock of the writer's domain


@dataclass(frozen=True, slots=True)
class Member:
    """A node as this one sees it; rfm_ring_map(3) says more of each field."""

    hops: int
    flags: int
    transit_ns: int
    received: int
    missed: int
    heard_ns: int
    broke_ns: int


@dataclass(frozen=True, slots=True)
class Compare:
    """A condition on a word: the watch tells when it has become true."""

    how: str            #: "equal", "not equal" or "changed"
    offset: int         #: of the word, within what is watched
    width: int          #: 1, 2, 4 or 8 bytes
    value: int = 0
    mask: int = -1      #: bits that count


COMPARES = {"equal": lib.RFM_COMPARE_EQUAL, "not equal": lib.RFM_COMPARE_NOT_EQUAL, "changed": lib.RFM_COMPARE_CHANGED}
SETTINGS = {"led": lib.RFM_CONFIG_LED, "transmit": lib.RFM_CONFIG_TRANSMIT, "loopback": lib.RFM_CONFIG_LOOPBACK,
            "dark_on_dark": lib.RFM_CONFIG_DARK_ON_DARK, "parity": lib.RFM_CONFIG_PARITY,
            "own_data": lib.RFM_CONFIG_OWN_DATA, "byte_swap": lib.RFM_CONFIG_BYTE_SWAP,
            "dma_byte_swap": lib.RFM_CONFIG_DMA_BYTE_SWAP}
OFFSETS = {"window_offset": lib.RFM_CONFIG_WINDOW, "address_offset": lib.RFM_CONFIG_OFFSET}

Fields = TypeVar("Fields")


def fields_of(kind: Callable[..., Fields], struct: Any, **others: Any) -> Fields:
    """The dataclass ``kind`` of a structure that has fields of the same names."""
    names = [field.name for field in fields(kind) if field.name not in others]
    return kind(**{name: getattr(struct, name) for name in names}, **others)


def directions(receive: bool, transmit: bool) -> int:
    return int(receive * lib.RFM_SUBSCRIBE_RX | transmit * lib.RFM_SUBSCRIBE_TX)


class Record:
    """More than a word, seen whole or not at all: rfm_record_write(3). Made by `Handle.record`."""

    def __init__(self, handle: "Handle", offset: int, size: int) -> None:
        self._handle, self._offset, self._size = handle, offset, size
        self._bytes = handle.view(offset, 16 + (size + 7) // 8 * 8)

    def store(self, data: Any) -> None:
        """Publish it; only one thread of one node may."""
        source = ffi.from_buffer(data)
        if len(source) != self._size:
            raise ValueError(f"this record has {self._size} bytes, not {len(source)}")
        check(lib.rfm_record_store(self._handle.pointer, self._offset, source, self._size),
              f"store a record at {self._offset:#x}")

    def read(self) -> tuple[bytes, int]:
        """The data, and the number of the write, from 1."""
        return read_together(self)[0]


def read_together(*records: Record) -> list[tuple[bytes, int]]:
    """Several records as all of them stood in this node's memory at one instant."""
    parts = ffi.new("struct rfm_record_part[]", len(records))
    rooms = [ffi.new("char[]", record._size) for record in records]
    for part, record, room in zip(parts, records, rooms):
        part.record, part.data, part.size = ffi.from_buffer(record._bytes), room, record._size
    check(lib.rfm_records_read(parts, len(records)), "read records")
    return [(bytes(ffi.buffer(room)), part.sequence) for part, room in zip(parts, rooms)]


def let_go(pointer: Any) -> int:
    """Close a handle; but at the end of the program a daemon may still be in a call, and then it stays open."""
    if not threading.main_thread().is_alive() and any(thread.is_alive() for thread in threading.enumerate()):
        return 0
    return int(lib.rfm_close(pointer))


class Handle(Remote):
    """A card, or a node in this process. Made by `rfm.open`; a context manager.

    Offsets and lengths are bytes, timeouts seconds, None: for ever. Any thread may make any call;
    ``close()`` must be the last.
    """

    def __init__(self, pointer: Any) -> None:
        # Once, whoever is first: close(), the garbage collector or the end of the program.
        self._closing = weakref.finalize(self, let_go, pointer)
        self._rfm = pointer
        info = self.info()
        self.node, self.size = info.node, info.memory_size

    @property
    def pointer(self) -> Any:
        """The ``struct rfm *``, for calls of the library that are not here."""
        if not self._closing.alive:
            raise ValueError("the handle is closed")
        return self._rfm

    def close(self) -> None:
        """Let go of it. Views and streams made through it stay valid."""
        check(self._closing() or 0, "close")

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *trace: object) -> None:
        self.close()

    # --- what it is ---

    @property
    def can(self) -> Can:
        """What this handle can do."""
        return Can(lib.rfm_can(self.pointer) & sum(Can))

    def fileno(self) -> int:
        """The descriptor of the card."""
        return check(lib.rfm_fd(self.pointer), "descriptor")

    def _get(self, what: str, call: Any, struct: str, *before: Any) -> Any:
        found = ffi.new(f"struct {struct} *")
        check(call(self.pointer, *before, found, ffi.sizeof(found[0])), what)
        return found

    def info(self) -> Info:
        """What it is and how it is."""
        found = self._get("info", lib.rfm_info_sized, "rfm_info")
        return fields_of(Info, found, pci_name=text(found.pci_name))

    def config(self) -> dict[str, int]:
        """The settings that there are here: ``transmit``, ``loopback``, ``address_offset``..."""
        found = self._get("settings", lib.rfm_get_config_sized, "rfm_config")
        settings = {name: bool(found.on & bit) for name, bit in SETTINGS.items() if found.mask & bit}
        return settings | {name: getattr(found, name) for name, bit in OFFSETS.items() if found.mask & bit}

    def set_config(self, **settings: int) -> None:
        """Set some of it, all or nothing: ``set_config(transmit=False)``."""
        config = ffi.new("struct rfm_config *")
        for name, value in settings.items():
            if name in OFFSETS:
                setattr(config, name, value)
            elif name not in SETTINGS:
                raise TypeError(f"there is no setting '{name}'")
            elif value:
                config.on |= SETTINGS[name]
            config.mask |= (SETTINGS | OFFSETS)[name]
        check(lib.rfm_set_config_sized(self.pointer, config, ffi.sizeof(config[0])), f"set {', '.join(settings)}")

    # --- memory ---

    def view(self, offset: int, length: int, dtype: numpy.typing.DTypeLike = "u1",
             writable: bool = False) -> numpy.typing.NDArray[Any]:
        """Bytes of the memory as an array, without a copy: it changes as others write.

        Stores go by `store`, `write` or a region. ``writable`` is for cards only (`Can.PUBLISH`): then
        what is assigned goes to the ring, but a large assignment may not do so word by word, rfm_map(3).
        """
        what = f"view of {length} bytes at {offset:#x}"
        if writable and Can.PUBLISH not in self.can:
            fail(what, errno.EACCES, "a store to it would not go to the ring; use store() or write()")
        place = checked(lib.rfm_map(self.pointer, offset, length), what)
        mapped = ffi.gc(ffi.cast("char *", place), lambda at: lib.rfm_unmap(at, length))
        seen = memoryview(ffi.buffer(mapped, length))
        return numpy.frombuffer(seen if writable else seen.toreadonly(), dtype)

    def load(self, offset: int, word: str = "u4") -> int:
        """Load a word, never in part: "u1", "u2", "u4" or "u8"."""
        name, load, _ = WORDS[word]
        value = ffi.new(name)
        check(load(self.pointer, offset, value), f"load at {offset:#x}")
        return int(value[0])

    def store(self, offset: int, value: int, word: str = "u4") -> None:
        """Store a word here and on every node, never in part, behind all before it."""
        check(WORDS[word][2](self.pointer, offset, value), f"store at {offset:#x}")

    def read(self, offset: int, length: int) -> bytes:
        """Copy bytes out of the memory."""
        room = ffi.new("char[]", length)
        check(lib.rfm_read(self.pointer, offset, room, length), f"read {length} bytes at {offset:#x}")
        return bytes(ffi.buffer(room))

    def write(self, offset: int, data: Any) -> None:
        """Store bytes, or an array, here and on every node."""
        source = ffi.from_buffer(numpy.ascontiguousarray(data) if isinstance(data, numpy.ndarray) else data)
        check(lib.rfm_write(self.pointer, offset, source, len(source)), f"write {len(source)} bytes at {offset:#x}")

    def set_threshold(self, length: int) -> None:
        """Transfers of fewer bytes are made by the processor: rfm_set_threshold(3)."""
        check(lib.rfm_set_threshold(self.pointer, length), f"threshold {length}")

    def record(self, offset: int, size: int) -> Record:
        """The record of ``size`` bytes of data at ``offset``."""
        return Record(self, offset, size)

    def regions(self, path: "str | os.PathLike[str] | None" = None) -> Regions:
        """Names for places, of a file of rfm-regions(5); None: as the library looks for it."""
        return Regions(self, path)

    def subscribe(self, *where: Range, receive: bool = False, transmit: bool = False) -> None:
        """Take part in ranges."""
        self._hold(lib.rfm_subscribe, where, directions(receive, transmit), "subscribe to", ffi.NULL)

    def unsubscribe(self, *where: Range, receive: bool = False, transmit: bool = False) -> None:
        """Give back what of ranges this handle holds."""
        self._hold(lib.rfm_unsubscribe, where, directions(receive, transmit), "unsubscribe from")

    def own(self, *where: Range) -> None:
        """Nobody else should write there: `Kind.CONFLICT` if one does."""
        self._hold(lib.rfm_subscribe, where, lib.RFM_SUBSCRIBE_OWN, "own", ffi.NULL)

    def disown(self, *where: Range) -> None:
        """Others may write there again."""
        self._hold(lib.rfm_unsubscribe, where, lib.RFM_SUBSCRIBE_OWN, "disown")

    def _hold(self, call: Any, where: Iterable[Range], flags: int, what: str, *more: Any) -> None:
        for offset, length in map(range_of, where):
            check(call(self.pointer, offset, length, flags, *more), f"{what} {length} bytes at {offset:#x}")

    # --- events ---

    def watch(self, *where: Range, coalesce: bool = False, depth: int = 0, deadline: float = 0,
              silence: float = 0, compare: Compare | None = None) -> Events:
        """Be told when other nodes write to one of the ranges; rfm_watch(3).

        ``coalesce``: one event while it is not taken; ``depth``: of the queue; ``deadline``: seconds from
        which on an update is late; ``silence``: `Kind.STALE` when nothing has come for so long.
        """
        ranges = ffi.new("struct rfm_range[]", [range_of(one) for one in where])
        watch = ffi.new("struct rfm_watch *")
        size = ffi.sizeof(watch[0])
        lib.rfm_watch_init_sized(watch, size, ranges, len(where))
        watch.flags |= coalesce * lib.RFM_WATCH_COALESCE
        watch.depth, watch.deadline_ns, watch.silence_ns = depth, round(deadline * 1e9), round(silence * 1e9)
        if compare:
            watch.flags |= lib.RFM_WATCH_COMPARE
            watch.compare, watch.compare_width = COMPARES[compare.how], compare.width
            watch.compare_offset = compare.offset
            watch.compare_mask = compare.mask & (1 << 8 * compare.width) - 1
            watch.compare_value = compare.value
        return Events(checked(lib.rfm_watch_with_sized(self.pointer, watch, size), "watch"))

    def listen(self, *kinds: Kind, discard: bool = False, exclusive: bool = False, depth: int = 0) -> Events:
        """Hear network interrupts and what happens on the ring; rfm_listen(3)."""
        types = sum({1 << kind for kind in kinds})
        flags = discard * lib.RFM_LISTEN_DISCARD | exclusive * lib.RFM_LISTEN_EXCLUSIVE
        return Events(checked(lib.rfm_listen(self.pointer, types, flags, depth), "listen"))

    # --- interrupts and fences ---

    def send(self, node: int | Iterable[int], kind: Kind, data: int = 0) -> None:
        """A network interrupt to a node, to several, or to ``rfm.ALL`` others, behind every store so far."""
        if isinstance(node, int):
            status = lib.rfm_send(self.pointer, node, kind, data)
        else:
            nodes = list(node)
            status = lib.rfm_send_set(self.pointer, nodes, len(nodes), kind, data)
        check(status, f"send {kind.name}")

    def fence(self, timeout: float | None = 1.0) -> Fence:
        """Wait until all that this node has stored is in every node's memory; rfm_fence(3).

        Ctrl-C ends it, at the latest when it has taken twice as long.
        """
        result = ffi.new("struct rfm_fence_wait *")
        begin = time.monotonic_ns()
        until("fence", timeout, lambda ms: int(
            lib.rfm_fence_sized(self.pointer, ms, result, ffi.sizeof(result[0]))))
        return fields_of(Fence, result, wait_ns=time.monotonic_ns() - begin)

    def wait_for_ring(self, timeout: float | None = 20.0) -> None:
        """Wait until the ring is whole: until a fence comes home that has lost nothing."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                self.fence(None if end is None else end - time.monotonic())
                return
            except Error as problem:
                if problem.errno not in (errno.ETIMEDOUT, errno.EIO, errno.EAGAIN, errno.EBUSY, errno.ENOLINK,
                                         errno.ENOBUFS):
                    raise
                if end is not None and time.monotonic() >= end:
                    raise Timeout(errno.ETIMEDOUT, f"the ring is not whole after {timeout} s: "
                                  f"{problem.strerror}") from None
            time.sleep(NAP_S)

    def verify(self, where: Range, timeout: float | None = 1.0) -> dict[int, Answer]:
        """What stands in the memory of every node, by node; rfm_verify(3)."""
        offset, length = range_of(where)
        result = ffi.new("struct rfm_verify *")
        until(f"verify {length} bytes at {offset:#x}", timeout, lambda ms: int(
            lib.rfm_verify_sized(self.pointer, offset, length, ms, result, ffi.sizeof(result[0]))))
        return {node: fields_of(Answer, answer, first=bytes(answer.first),
                                behind=bool(answer.flags & lib.RFM_ANSWER_BEHIND))
                for node, answer in enumerate(result.answer) if answer.flags & lib.RFM_ANSWER_GIVEN}

    def ring_test(self, timeout: float | None = 0.5) -> float:
        """Does what this node sends come back? The time it took, in seconds."""
        taken = ffi.new("uint64_t *")
        until("ring test", timeout, lambda ms: int(lib.rfm_ring_test(self.pointer, ms, taken)))
        return float(taken[0]) / 1e9

    # --- finding out ---

    def writer(self, offset: int) -> Writer:
        """Who wrote last to the 64 bytes around ``offset``?"""
        found = ffi.new("struct rfm_writer *")
        check(lib.rfm_writer_sized(self.pointer, offset, found, ffi.sizeof(found[0])), f"writer at {offset:#x}")
        return fields_of(Writer, found, node=None if found.node == ALL else found.node)

    def counters(self) -> dict[str, int]:
        """All counters, of one instant: ``stores``, ``lost``..."""
        found = self._get("counters", lib.rfm_counters_sized, "rfm_counters")
        names = (text(lib.rfm_counter_name(i)) for i in range(found.count))
        return {name: found.value[i] for i, name in enumerate(names) if name}

    def members(self) -> dict[int, Member]:
        """Who is on the ring, by node."""
        members = ffi.new("struct rfm_member[]", lib.RFM_NODES)
        check(lib.rfm_ring_map_sized(self.pointer, members, ffi.sizeof("struct rfm_member"), len(members),
                                     ffi.NULL, ffi.sizeof("struct rfm_ring_map")), "members")
        return {node: fields_of(Member, member) for node, member in enumerate(members) if member.present}

    def event_counts(self) -> dict[Kind, int]:
        """How many events of each kind have there been?"""
        counts = ffi.new("uint64_t[]", len(Kind))
        check(lib.rfm_event_counts(self.pointer, counts, len(counts)), "counts of events")
        return {kind: counts[kind] for kind in Kind}


def open(card: "str | None" = None, *, write: bool = True, wait: float | None = None) -> Handle:
    """Open a card, "rfm0", or be a node in this process, "ring:..."; rfm_open(3) has the words.

    None: what the environment variable ``RFM_CARD`` says, otherwise the first card there is.
    ``wait``: so many seconds at most until the ring is whole, or `Timeout`; other than ``wait-ms``
    in the words it is ended by Ctrl-C.
    """
    pointer = lib.rfm_open(ffi.NULL if card is None else card.encode(), os.O_RDWR if write else os.O_RDONLY)
    if pointer == ffi.NULL:
        fail("", ffi.errno, text(lib.rfm_error()))
    said = text(lib.rfm_error())
    handle = Handle(pointer)
    if said:
        warnings.warn(said, stacklevel=2)
    if wait is not None:
        try:
            handle.wait_for_ring(wait)
        except BaseException:
            handle.close()
            raise
    return handle


def cards() -> list[str]:
    """The cards of this machine: "rfm0"..."""
    numbers = ffi.new("uint32_t[]", 256)
    count = check(lib.rfm_cards(numbers, len(numbers)), "cards")
    return [f"rfm{numbers[i]}" for i in range(min(count, len(numbers)))]


def version() -> tuple[int, int, int]:
    """Of the library."""
    number = lib.rfm_version()
    return number >> 16, number >> 8 & 0xff, number & 0xff
