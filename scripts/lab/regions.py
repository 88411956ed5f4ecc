# SPDX-License-Identifier: MIT
"""Files of regions (rfm-regions(5)), read by librfmregions: what stands where, and as text."""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int32, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field

from . import LIBRARIES, TOP, LabError, WrongFile

VALUES_SHOWN = 16       # of a region
TEXT_MAX = 1024         # bytes of a value that are shown
NOBODY = -1             # RFM_REGION_NOBODY


class Declaration(Structure):
    """The beginning of struct rfm_region."""

    _fields_ = [("next", c_void_p), ("fields", c_void_p), ("name", c_char_p)]


class File(Structure):
    """The beginning of struct rfm_regions."""

    _fields_ = [("path", c_char_p), ("description", c_char_p), ("types", c_void_p), ("regions", c_void_p)]


class Place(Structure):
    """struct rfm_place"""

    _fields_ = [("region", c_void_p), ("unit", c_char_p), ("offset", c_uint64), ("length", c_uint64),
                ("period_ns", c_uint64), ("count", c_uint32), ("owner", c_int32), ("type", c_uint32),
                ("order", c_uint32), ("reserved", c_uint64 * 8)]


class Complaint(Structure):
    """The beginning of struct rfm_regions_complaint."""

    _fields_ = [("path", c_char_p), ("sentence", c_char_p), ("line", c_uint32)]


REPORT = CFUNCTYPE(None, c_void_p, POINTER(Complaint))
EACH = CFUNCTYPE(c_int, c_void_p, c_char_p, POINTER(Place))

CALLS = {
    "rfm_regions_load": (POINTER(File), c_char_p, REPORT, c_void_p),
    "rfm_regions_find": (c_int, POINTER(File), c_char_p, POINTER(Place), REPORT, c_void_p),
    "rfm_regions_each": (c_int, c_char_p, POINTER(Place), EACH, c_void_p),
    "rfm_value_print": (c_int, POINTER(Place), c_char_p, c_char_p, ctypes.c_size_t),
}


@dataclass
class Region:
    name: str
    place: Place
    values: list = field(default_factory=list)      # (full name, place, unit)
    more: bool = False                              # values than these

    @property
    def owner(self):
        return None if self.place.owner == NOBODY else self.place.owner

    @property
    def period(self):
        """In seconds, or None."""
        return self.place.period_ns / 1e9 or None


class Regions:
    """A file; iterates over its regions."""

    def __init__(self, path):
        self._library = load_library()
        self._complaints = []
        self._report = REPORT(self._complain)
        self._file = self._library.rfm_regions_load(str(path).encode(), self._report, None)
        if not self._file:
            raise self._refused(path)
        self._list = list(self._read(path))

    def __iter__(self):
        return iter(self._list)

    def _complain(self, _, complaint):
        told = complaint.contents
        where = f":{told.line}" if told.line else ""
        self._complaints.append(f"{told.path.decode()}{where}: {told.sentence.decode()}")

    def _refused(self, path):
        return WrongFile(" / ".join(self._complaints) or f"{path}: {os.strerror(ctypes.get_errno())}")

    def _read(self, path):
        at = self._file.contents.regions
        while at:
            declared = ctypes.cast(at, POINTER(Declaration)).contents
            region = Region(declared.name.decode(), Place())
            if self._library.rfm_regions_find(self._file, declared.name, byref(region.place), self._report, None):
                raise self._refused(path)

            def each(_, name, place, region=region):
                region.more = len(region.values) == VALUES_SHOWN
                if not region.more:
                    copy = Place.from_buffer_copy(place.contents)
                    region.values.append((name.decode(), copy, copy.unit.decode()))
                return int(region.more)

            if self._library.rfm_regions_each(declared.name, byref(region.place), EACH(each), None) < 0:
                raise WrongFile(f"{path}: '{region.name}' has values beyond its stated size, or with too long a name")
            yield region
            at = declared.next

    def text(self, region, place, data):
        """A value of the region, of which data are the first bytes; None if they do not reach so far."""
        begin = place.offset - region.place.offset
        if begin + place.length > len(data):
            return None
        text = ctypes.create_string_buffer(TEXT_MAX)
        if self._library.rfm_value_print(byref(place), data[begin:begin + place.length], text, len(text)) < 0:
            return None
        return text.value.decode()


def load_library():
    try:
        library = ctypes.CDLL(str(LIBRARIES / "librfmregions.so.1"), use_errno=True)
    except OSError:
        advice = "run 'make tools' first" if (TOP / "Makefile").exists() else "install librfm1"
        raise LabError(f"librfmregions is missing; {advice}") from None
    for name, (result, *arguments) in CALLS.items():
        call = getattr(library, name)
        call.restype, call.argtypes = result, arguments
    return library
