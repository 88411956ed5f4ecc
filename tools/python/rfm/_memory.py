# SPDX-License-Identifier: MIT
"""What the memory consists of: words and ranges."""

from typing import Protocol, Union

from ._abi import lib

# What can be loaded and stored as one word; by numpy's names.
WORDS = {"u1": ("uint8_t *", lib.rfm_load8, lib.rfm_store8), "u2": ("uint16_t *", lib.rfm_load16, lib.rfm_store16),
         "u4": ("uint32_t *", lib.rfm_load32, lib.rfm_store32), "u8": ("uint64_t *", lib.rfm_load64, lib.rfm_store64)}


class Span(Protocol):
    """Bytes of the memory: an `Event`, a `Place`."""

    @property
    def offset(self) -> int: ...

    @property
    def length(self) -> int: ...


Range = Union[tuple[int, int], Span]        #: (offset, length), or something that has them


def range_of(where: Range) -> tuple[int, int]:
    return where if isinstance(where, tuple) else (where.offset, where.length)
