# SPDX-License-Identifier: MIT
"""Settings, descriptors and the monitor of cards, over the driver's netlink family.

The messages are made by the kernel's own library, pyynl, from the family's specification; it comes
with the kernel's sources and with some distributions' packages of its tools. What the operations
and attributes mean is in rfm-netlink(7); names here are those of the specification, with ``_`` or
``-``. A node in a process has no netlink: see `rfm.Handle.config`.
"""

import asyncio
import errno
import importlib
import os
import select
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from ._errors import fail

SPECIFICATION = Path(__file__).with_name("rfm.yaml")

Attributes = dict[str, Any]


def library() -> Any:
    """The kernel's library: as it is installed, or as kernels before 6.14 have it in tools/net/ynl."""
    for name in ("pyynl.lib", "lib"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as problem:
            if problem.name not in (name, "pyynl"):     # but one that it needs
                raise
            continue
        if hasattr(module, "YnlFamily"):
            return module
    raise ImportError("rfm.netlink needs the kernel's library pyynl: let PYTHONPATH name the folder "
                      "tools/net/ynl of a kernel's sources")


class Notice(dict[str, Any]):
    """What a monitor is told: the attributes; ``name`` is the operation, "event-ntf"."""

    def __init__(self, name: str, attributes: Attributes) -> None:
        super().__init__(attributes)
        self.name = name


class Family:
    """The netlink family of the driver; a context manager.

    A card is named by its number N of rfmN, its name or nothing; who is no administrator gives a
    `rfm.Handle` of it as ``handle``. What is refused is `rfm.Error`, with the driver's sentence.
    """

    def __init__(self) -> None:
        self._ynl = library()
        try:
            self._family = self._ynl.YnlFamily(str(SPECIFICATION), schema="")
        except Exception as problem:    # the library has no other for this
            if "not supported by the kernel" not in str(problem):
                raise
            fail("netlink", errno.ENOENT, f"{problem}; is the driver rfm loaded?")
        self._notices: deque[Notice] = deque()

    def __enter__(self) -> "Family":
        return self

    def __exit__(self, *trace: object) -> None:
        self._family.sock.close()

    def fileno(self) -> int:
        """The descriptor of the socket: readable when a monitor is told something."""
        return int(self._family.sock.fileno())

    def cards(self) -> list[Attributes]:
        """All cards: what they are, how they are and how they are set."""
        return list(self._ask("card-get", {}, dump=True) or [])

    def card(self, card: "int | str" = 0, handle: Any = None) -> Attributes:
        """One card."""
        return dict(self._ask("card-get", self._named(card, handle)))

    def set(self, card: "int | str" = 0, handle: Any = None, **settings: Any) -> None:
        """Change settings of a card, all or none: ``set("rfm0", transmit=0)``."""
        named = {name.replace("_", "-"): value for name, value in settings.items()}
        self._ask("card-set", self._named(card, handle) | named)

    def reset_counters(self, card: "int | str" = 0, handle: Any = None) -> None:
        """Let the driver's counters begin anew."""
        self._ask("counters-reset", self._named(card, handle))

    def descriptors(self) -> list[Attributes]:
        """Who has something of a card."""
        return list(self._ask("descriptor-get", {}, dump=True) or [])

    def subscribe(self) -> None:
        """From now on be told what happens: iterate over this object, also in asyncio."""
        self._family.ntf_subscribe("monitor")

    def __iter__(self) -> Iterator[Notice]:
        return self

    def __next__(self) -> Notice:
        while not self._told():
            select.select([self], [], [])
        return self._notices.popleft()

    def __aiter__(self) -> AsyncIterator[Notice]:
        return self

    async def __anext__(self) -> Notice:
        loop = asyncio.get_running_loop()
        while not self._told():
            ready = asyncio.Event()
            loop.add_reader(self.fileno(), ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(self.fileno())
        return self._notices.popleft()

    def _told(self) -> bool:
        """Is there a notice? More than the socket holds is lost, and ENOBUFS says so."""
        self._family.check_ntf()
        queue = self._family.async_msg_queue    # a list, and with later kernels a queue
        while queue if isinstance(queue, list) else not queue.empty():
            told = queue.pop(0) if isinstance(queue, list) else queue.get_nowait()
            self._notices.append(Notice(told["name"], told["msg"]))
        return bool(self._notices)

    def _named(self, card: "int | str", handle: Any) -> Attributes:
        which: Attributes = {"id": card} if isinstance(card, int) else {"name": card.removeprefix("/dev/")}
        return which | ({} if handle is None else {"fd": handle.fileno()})

    def _ask(self, operation: str, attributes: Attributes, dump: bool = False) -> Any:
        try:
            return self._family.dump(operation, attributes) if dump else self._family.do(operation, attributes)
        except self._ynl.NlError as problem:
            said = (problem.nl_msg.extack or {}).get("msg", os.strerror(problem.error))
            fail(operation, problem.error, said)
