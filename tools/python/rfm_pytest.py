# SPDX-License-Identifier: MIT
"""For pytest: the fixture ``ring``, with which a test has a ring of its own.

pytest loads this in every run, and so it imports the package, which needs librfm, only for who asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rfm import Handle


@pytest.fixture
def ring() -> Iterator[Callable[..., list[Handle]]]:
    """``ring(nodes=3)`` is `rfm.ring` until the end of the test."""
    import rfm

    with contextlib.ExitStack() as stack:
        yield lambda *args, **settings: stack.enter_context(rfm.ring(*args, **settings))
