# SPDX-License-Identifier: MIT
"""`rmlab ui`: a page to look at a ring. It only looks.

One reader asks and watches (look.py); what it knows goes to all browsers as server-sent events. A
browser that does not take them is dropped, not waited for.
"""

import asyncio
import base64
import contextlib
import hashlib
import ipaddress
import json
import re
import signal
import socket
from pathlib import Path

from . import LabError
from .lab import Lab
from .look import Card, Hub, Member, Ring
from .regions import Regions

PAGE = Path(__file__).parent / "ui.html"
VALUES_S = 0.5
REQUEST_MAX = 16384
SECONDS_TO_ASK = 10
BACKLOG = 1 << 18       # bytes that may wait for a slow browser
BROWSERS_MAX = 64

HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page_policy(page):
    """The page runs its own script, has its own style, asks its own server, and nothing else."""
    def allowed(tag):
        inside = re.search(f"<{tag}>(.*?)</{tag}>".encode(), page, re.DOTALL)[1]
        return f"'sha256-{base64.b64encode(hashlib.sha256(inside).digest()).decode()}'"

    return (f"default-src 'none'; script-src {allowed('script')}; style-src {allowed('style')}; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def names_us(host, bind):
    """Does this Host header name this server, and no name that somebody else has made point here?"""
    match = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::\d+)?|([^:\[\]]+)(?::\d+)?", host)
    if not match:
        return False
    name = (match[1] or match[2]).lower()
    if name in ("localhost", bind.lower()):
        return True
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False


class Refused(Exception):
    """A request that gets no answer but this."""


class Server:
    def __init__(self, ring, bind):
        self._ring = ring
        self._bind = bind
        self._page = PAGE.read_bytes()
        self._policy = page_policy(self._page)
        self._browsers = set()
        self._latest = {}       # name: event, as it goes out

    async def run(self, port, ready):
        try:
            server = await asyncio.start_server(self._serve, self._bind, port, limit=REQUEST_MAX)
        except OSError as error:
            raise LabError(f"cannot listen on {self._bind} port {port}: "
                           f"{str(error).rpartition(': ')[2] if error.errno else error}") from None
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        tasks = [asyncio.create_task(work) for work in (self._look(), self._look_at_values(), stopped.wait())]
        ready(server.sockets[0].getsockname()[1])
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        server.close()
        self._ring.close()
        for browser in self._browsers:
            browser.transport.abort()
        for task in tasks:
            task.cancel()
        for task in done:
            task.result()       # of one that should not have ended: why

    # --- what goes out ---

    async def _look(self):
        async for _ in self._ring.rounds():
            self._tell("ring", self._ring.look())

    async def _look_at_values(self):
        while True:
            self._tell("values", self._ring.look_at_values())
            await asyncio.sleep(VALUES_S)

    def _tell(self, name, what):
        event = f"event: {name}\ndata: {json.dumps(what, separators=(',', ':'))}\n\n".encode()
        self._latest[name] = event
        for browser in list(self._browsers):
            browser.write(event)
            if browser.transport.get_write_buffer_size() > BACKLOG:
                browser.transport.abort()

    # --- what comes in ---

    async def _serve(self, reader, writer):
        try:
            async with asyncio.timeout(SECONDS_TO_ASK):
                head = await reader.readuntil(b"\r\n\r\n")
            path = self._path(head.decode("latin1"))
            if path == "/":
                self._answer(writer, "200 OK", "text/html; charset=utf-8", self._page)
            elif len(self._browsers) < BROWSERS_MAX:
                await self._feed(reader, writer)
            else:
                raise Refused("503 Service Unavailable", f"{BROWSERS_MAX} browsers are looking already")
        except Refused as refused:
            self._answer(writer, refused.args[0], "text/plain; charset=utf-8", (refused.args[1] + "\n").encode())
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        except asyncio.CancelledError:      # the server ends, and asyncio would complain of it
            pass
        finally:
            writer.close()

    def _path(self, head):
        request, *lines = head.split("\r\n")
        hosts = [line[5:].strip() for line in lines if line.lower().startswith("host:")]
        words = request.split(" ")
        if len(words) != 3:
            raise Refused("400 Bad Request", "this is no request")
        if len(hosts) != 1 or not names_us(hosts[0], self._bind):
            raise Refused("421 Misdirected Request", "by this name I serve nothing: use my address, or localhost")
        if words[0] != "GET":
            raise Refused("405 Method Not Allowed", "I am only looked at: GET")
        if words[1] not in ("/", "/events"):
            raise Refused("404 Not Found", "there is only /")
        return words[1]

    def _answer(self, writer, status, kind, body=None):
        headers = {"Content-Type": kind, **HEADERS, "Content-Security-Policy": self._policy}
        if status.startswith("405"):
            headers["Allow"] = "GET"
        if body is not None:
            headers["Content-Length"] = len(body)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + (body or b""))

    async def _feed(self, reader, writer):
        """Until the browser goes, or has been dropped."""
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BACKLOG)
        self._answer(writer, "200 OK", "text/event-stream")
        for event in self._latest.values():
            writer.write(event)
        self._browsers.add(writer)
        try:
            while await reader.read(REQUEST_MAX):
                pass
        finally:
            self._browsers.discard(writer)


def ring_of(args, regions):
    """Whom to ask: those of the command line, or else those of the lab."""
    if args.hub or args.member:
        return Ring("ring", args.hub and Hub(args.hub), [Member(path) for path in args.member], regions)
    lab = Lab(args.name)
    members = [Member(lab.members[entry["number"]].socket, entry["node_id"])
               for entry in lab.config.get("members", ())]
    members += [Card(machine) for machine in lab.machines]
    return Ring(f"lab '{lab.name}'", lab.hub and Hub(lab.hub.socket), members, regions)


def say_where(bind):
    def ready(port):
        host = f"[{bind}]" if ":" in bind else bind
        loopback = bind == "localhost" or (names_us(bind if ":" not in bind else host, "") and
                                           ipaddress.ip_address(bind).is_loopback)
        who = "this host only" if loopback else "whoever reaches this address, and there is no password"
        print(f"http://{host}:{port}/ for {who}; Ctrl-C ends it", flush=True)

    return ready


def run(args):
    regions = Regions(args.regions) if args.regions else None
    ring = ring_of(args, regions)
    asyncio.run(Server(ring, args.bind).run(args.port, say_where(args.bind)))
    return 0
