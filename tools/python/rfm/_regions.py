# SPDX-License-Identifier: MIT
"""Named, typed places in the memory, of a file of rfm-regions(5)."""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy
import numpy.typing

from ._abi import ffi, lib, regions_lib, text
from ._errors import check, fail
from ._io import Io
from ._memory import WORDS, Range, range_of

if TYPE_CHECKING:
    from ._events import Event, Events
    from ._handle import Handle

STRUCT, BOOL, CHAR = lib.RFM_REGION_STRUCT, lib.RFM_REGION_BOOL, lib.RFM_REGION_CHAR
REALS = lib.RFM_REGION_FLOAT, lib.RFM_REGION_DOUBLE
# As numpy calls them; a text is "S" and its length.
DTYPES = {lib.RFM_REGION_INT8: "i1", lib.RFM_REGION_UINT8: "u1", lib.RFM_REGION_INT16: "i2",
          lib.RFM_REGION_UINT16: "u2", lib.RFM_REGION_INT32: "i4", lib.RFM_REGION_UINT32: "u4",
          lib.RFM_REGION_INT64: "i8", lib.RFM_REGION_UINT64: "u8", lib.RFM_REGION_FLOAT: "f4",
          lib.RFM_REGION_DOUBLE: "f8", BOOL: "u1", CHAR: "S"}


class Place:
    """What a name means: bytes of the memory, and what is in them. Made by `Regions`, by full name."""

    def __init__(self, regions: Regions, name: str, place: Any) -> None:
        self._regions, self._place = regions, place
        self.name = name
        self.offset, self.length = int(place.offset), int(place.length)
        self.count = int(place.count)       #: elements, 1 if it is no array; of a text its bytes
        self.unit = text(place.unit)
        self.owner = None if place.owner < 0 else int(place.owner)      #: the node that writes it
        self.period_ns = int(place.period_ns)       #: between two updates, 0: not said
        self.description = text(place.region.description)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.length} bytes at {self.offset:#x}>"

    # --- as numpy has it ---

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """Of one element, with its byte order; of a structure with all its fields."""
        if self._place.type == STRUCT:
            first = self.name + "[0]" * (self.count > 1)
            fields = {name: self._regions[f"{first}.{name}"] for name in self._fields()}
            base = self._regions[first].offset
            return numpy.dtype({
                "names": list(fields), "offsets": [field.offset - base for field in fields.values()],
                "formats": [(field.dtype, field._shape) for field in fields.values()],
                "itemsize": self.length // self.count})
        order = ">" if self._place.order == lib.RFM_REGION_BIG else "<"
        return numpy.dtype(order + DTYPES[self._place.type] + str(self.length) * (self._place.type == CHAR))

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.count,) if self.count > 1 and self._place.type != CHAR else ()

    def _fields(self) -> list[str]:
        return [text(field.name) for field in siblings(self._place.region.fields)]

    def view(self, writable: bool = False) -> numpy.typing.NDArray[Any]:
        """The place as an array that changes as others write; neither scaled nor named. See `Handle.view`."""
        return self._regions.handle.view(self.offset, self.length, writable=writable).view(self.dtype).reshape(
            self._shape)

    def read(self) -> numpy.typing.NDArray[Any]:
        """A copy of it as an array, neither scaled nor named."""
        copied = bytearray(self._regions.handle.read(self.offset, self.length))
        return numpy.frombuffer(copied, self.dtype).reshape(self._shape)

    def write(self, array: numpy.typing.ArrayLike) -> None:
        """Store all of it, neither scaled nor named, here and on every node; or nothing, if it does not fit."""
        room = numpy.zeros(self._shape, self.dtype)
        given = numpy.array(array, as_objects(room.dtype)) if room.dtype.names else numpy.asarray(array)
        if not put(room, given) or self._place.type == BOOL and (room > 1).any():
            fail(self.name, errno.ERANGE)
        self._regions.handle.write(self.offset, room.tobytes())

    # --- as Python has it ---

    @property
    def value(self) -> Any:
        """One value: a number in its unit, the name of one of ``values``, a text or a bool.

        Of an array a `view`; of a structure what has its fields as attributes. A word is loaded and
        stored as one. Setting one also takes it as text, as rmctl prints it.
        """
        if self._place.type == STRUCT:
            return Structures(self._regions, self) if self.count > 1 else Structure(self._regions, self.name)
        if self._shape:
            return self.view()
        return self.decode(self._load())

    @value.setter
    def value(self, value: Any) -> None:
        if self._place.type == STRUCT:
            raise TypeError(f"'{self.name}' is a structure: assign its fields, or write() all of it")
        if self._shape:
            self.write(value)
        else:
            self._store(self.encode(value))

    @property
    def text(self) -> str:
        """One value as rmctl prints it: ``hot|stage=3``."""
        return self._print(self._load())

    def decode(self, data: bytes) -> Any:
        """What these bytes, as they stand in the memory, are as a value."""
        kind, region = self._place.type, self._place.region
        if kind == CHAR:
            return data.rstrip(b"\0").decode(errors="backslashreplace")
        if self._is_real():
            real = ffi.new("double *")
            check(regions_lib.rfm_value_real(self._place, data, real), self.name)
            return float(real[0])
        if region.values:
            said = self._print(data)
            return said if said[0].isalpha() else int(said)
        number = int(numpy.frombuffer(data, self.dtype)[0])
        return number != 0 if kind == BOOL else number

    def encode(self, value: Any) -> bytes:
        """And back."""
        room = ffi.new("char[]", max(self.length, 1))
        if self._place.type == CHAR:
            said = value.encode() if isinstance(value, str) else bytes(memoryview(value))
            if len(said) > self.length:
                fail(self.name, errno.ERANGE, f"has {self.length} bytes, and this text {len(said)}")
            return said.ljust(self.length, b"\0")
        if isinstance(value, str):
            status = regions_lib.rfm_value_scan(self._place, value.encode(), room)
        elif self._is_real():
            status = regions_lib.rfm_value_set_real(self._place, float(value), room)
        else:
            status = regions_lib.rfm_value_scan(self._place, str(operator.index(value)).encode(), room)
        check(status, f"{self.name} = {value!r}")
        return bytes(ffi.buffer(room))

    def of(self, event: Event) -> Any:
        """The value that an update brought, or None if that has not all of it."""
        first = self.offset - event.offset
        data = event.bytes[first:first + self.length] if first >= 0 else b""
        return self.decode(data) if len(data) == self.length and not self._shape else None

    def watch(self, **how: Any) -> Events:
        """Be told when others write there; `Handle.watch`."""
        return self._regions.handle.watch(self, **how)

    def _is_real(self) -> bool:
        region = self._place.region
        return self._place.type in REALS or bool(region.scale or region.bias)

    def _print(self, data: bytes) -> str:
        room = ffi.new("char[]", lib.RFM_REGION_TEXT_MAX + 4 * self.length)
        check(regions_lib.rfm_value_print(self._place, data, room, len(room)), self.name)
        return text(room)

    def _load(self) -> bytes:
        handle = self._regions.handle
        if self._place.type == CHAR:
            return handle.read(self.offset, self.length)
        name, load, _ = WORDS[f"u{self.length}"]
        word = ffi.new(name)
        check(load(handle.pointer, self.offset, word), self.name)
        return bytes(ffi.buffer(word))

    def _store(self, data: bytes) -> None:
        handle = self._regions.handle
        if self._place.type == CHAR:
            handle.write(self.offset, data)
            return
        name, _, store = WORDS[f"u{self.length}"]
        check(store(handle.pointer, self.offset, ffi.from_buffer(name, data)[0]), self.name)


class Structure:
    """A structure, whose fields are attributes: ``regions.pump.pressure``."""

    def __init__(self, regions: Regions, name: str) -> None:
        object.__setattr__(self, "_regions", regions)
        object.__setattr__(self, "_name", name)

    def _field(self, name: str) -> Place:
        try:
            return self._regions[f"{self._name}.{name}" if self._name else name]      # type: ignore[no-any-return]
        except OSError as problem:
            raise AttributeError(problem.strerror) from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._field(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        self._field(name).value = value

    def __dir__(self) -> list[str]:
        return self._regions[self._name]._fields()      # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<{self._name}: {', '.join(dir(self))}>"


class Structures(Sequence[Structure]):
    """An array of structures: ``regions.axes[2].position``."""

    def __init__(self, regions: Regions, place: Place) -> None:
        self._regions, self._place = regions, place

    def __len__(self) -> int:
        return self._place.count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        return Structure(self._regions, f"{self._place.name}[{number}]")


def as_objects(kind: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """A structure of the same names, with room for anything."""
    if not kind.names:
        return numpy.dtype("O")
    return numpy.dtype([(name, as_objects(kind[name].base), kind[name].shape) for name in kind.names])


def put(room: numpy.typing.NDArray[Any], given: numpy.typing.NDArray[Any]) -> bool:
    """Does it fit? A real may lose precision."""
    if room.dtype.names:
        return all(put(room[name], given[name]) for name in room.dtype.names)
    if given.dtype.kind == "O":
        given = numpy.array(given.tolist())
    try:
        with numpy.errstate(all="ignore"):      # what comes of it is compared
            room[...] = given
        if room.dtype.kind == "f":
            return bool(numpy.all(numpy.isfinite(room) | ~numpy.isfinite(given.astype("f8"))))
    except OverflowError:       # an integer that numpy has no type for
        return False
    return bool(numpy.all(room == (given.astype("S") if room.dtype.kind == "S" else given)))


def siblings(first: Any) -> Iterator[Any]:
    while first:
        yield first
        first = first.next


@ffi.callback("rfm_regions_report")     # type: ignore[misc]
def _report(context: Any, complaint: Any) -> None:
    line = f":{complaint.line}" if complaint.line else ""
    ffi.from_handle(context).append(f"{text(complaint.path)}{line}: {text(complaint.sentence)}")


@ffi.callback("int(void *, const char *, const struct rfm_place *)")     # type: ignore[misc]
def _named(context: Any, name: Any, value: Any) -> int:
    ffi.from_handle(context).append(text(name))
    return 0


class Regions(Structure):
    """A file of names for the memory of a handle. Made by `Handle.regions`.

    ``regions.pump.pressure`` is a value, to be read and set; ``regions["pump.pressure"]`` is the `Place`,
    with its offset, unit and the like. Iterating gives the names of the regions.
    """

    def __init__(self, handle: Handle, path: str | os.PathLike[str] | None) -> None:
        super().__init__(self, "")
        said: list[str] = []
        name = ffi.NULL if path is None else os.fsencode(path)
        loaded = regions_lib.rfm_regions_load(name, _report, ffi.new_handle(said))
        if loaded == ffi.NULL:
            fail(os.fspath(path) if path is not None else "the file of regions", ffi.errno, "; ".join(said))
        for attribute, value in (("_handle", handle), ("_file", ffi.gc(loaded, regions_lib.rfm_regions_free)),
                                 ("_places", {})):
            object.__setattr__(self, attribute, value)

    @property
    def handle(self) -> Handle:
        return self._handle         # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> Place:
        """The place of a full name: "pump.pressure", "axes[2].limit[0]"."""
        if name not in self._places:
            place = ffi.new("struct rfm_place *")
            said: list[str] = []
            if regions_lib.rfm_regions_find(self._file, name.encode(), place, _report, ffi.new_handle(said)):
                fail(name, ffi.errno, "; ".join(said))
            self._places[name] = Place(self, name, place)
        return self._places[name]   # type: ignore[no-any-return]

    def at(self, where: Range) -> list[Place]:
        """The values that have a byte in a range, or in the update of an event."""
        offset, length = range_of(where)
        names: list[str] = []
        check(regions_lib.rfm_regions_at(self._file, offset, length, _named, ffi.new_handle(names)), "at")
        return [self[name] for name in names]

    def io(self, *names: str) -> Io:
        """Values that are got or put together, each cycle; a structure or array stands for all of its."""
        said: list[str] = []
        words = [ffi.new("char[]", name.encode()) for name in names]
        listed = regions_lib.rfm_io_open(self.handle.pointer, self._file, words, len(words), _report,
                                         ffi.new_handle(said))
        if listed == ffi.NULL:
            fail("", ffi.errno, "; ".join(said))
        return Io(self, listed)

    def __iter__(self) -> Iterator[str]:
        return (text(region.name) for region in siblings(self._file.regions))

    def __dir__(self) -> list[str]:
        return list(self)
