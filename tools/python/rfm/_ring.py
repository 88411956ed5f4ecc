# SPDX-License-Identifier: MIT
"""A ring without machines: every node of it is in this process."""

import contextlib
import tempfile
from collections.abc import Iterator

from ._handle import Handle, open as open_handle


@contextlib.contextmanager
def ring(nodes: int = 3, size: str = "1M", wait: float = 20.0, **settings: object) -> Iterator[list[Handle]]:
    """A ring of so many nodes, 1, 2, 3...: their handles, to be used in a ``with`` statement.

    ``size``: of the memory; ``settings``: others of rfm_open(3), with ``_`` for ``-``. It needs no
    machine, no driver and no rights.
    """
    with tempfile.TemporaryDirectory(prefix="rfm-") as folder, contextlib.ExitStack() as stack:
        more = "".join(f"&{name.replace('_', '-')}={value}" for name, value in settings.items())
        ends = [f"unix:{folder}/{i}" for i in range(nodes)]
        handles = [stack.enter_context(open_handle(
            f"ring:?node={i + 1}&size={size}&rx={ends[i]},server&tx={ends[(i + 1) % nodes]}{more}"))
            for i in range(nodes)]
        for handle in handles:
            handle.wait_for_ring(wait)
        yield handles
