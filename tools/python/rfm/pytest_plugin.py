# SPDX-License-Identifier: MIT
"""For pytest: the fixture ``ring``, with which a test has a ring of its own."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from ._handle import Handle
from ._ring import ring as new_ring


@pytest.fixture
def ring() -> Iterator[Callable[..., list[Handle]]]:
    """``ring(nodes=3)`` is `rfm.ring` until the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *args, **settings: stack.enter_context(new_ring(*args, **settings))
