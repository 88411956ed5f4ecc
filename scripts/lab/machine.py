# SPDX-License-Identifier: MIT
"""One virtual machine: its QEMU command line, its process, its boot."""

import contextlib
import fcntl
import os
import select
import signal
import socket
import time

from . import LabError, process, qmp
from .channel import Channel

TAIL_LINES = 25
SECONDS_TO_MOVE = 60
STARVED = 4     # times as long for a boot, on a machine that others use too
SECONDS_FOR_IMAGE = 900     # until somebody's own system lets us in, under emulation
SECONDS_TO_KNOCK = 1        # at its door, again
NO_LOGIN = "none"


class Machine(process.Process):
    """Machine `number` of a lab, which lives in a folder of its own.

    What it is lies in its configuration, made once by `rmlab up`; what runs of it lies in
    run.json, written at each boot. Its log is what QEMU has said.
    """

    def __init__(self, folder, config):
        super().__init__(folder, "qemu.log")
        self.config = config
        self.number = config["number"]
        self.console = folder / "console.log"
        self._ready_socket = folder / "ready"

    def __str__(self):
        node = self.config["node_id"]
        return f"machine {self.number} (node {node:#x} ({node}))"

    @property
    def qmp(self):
        """Where its QEMU is spoken to; each that it has moved to has a place of its own."""
        return self.folder / self._run().get("qmp", "qmp")

    @property
    def ssh_port(self):
        return self._run().get("ssh_port")

    def channel(self):
        self.require_running()
        if self.config.get("login") == NO_LOGIN:
            raise LabError(f"there is no way into {self}: 'rmlab up' was told so by --login")
        if self.ssh_port is None:
            raise LabError(f"{self} is not ready yet")
        return Channel(self.number, self.folder, self.config["keys"], self.ssh_port,
                       self.config.get("login"))

    def kill(self):
        super().kill()
        self.stop_channels()

    def end(self):
        """As kill(); it may have ended."""
        with contextlib.suppress(LabError):
            self.kill()

    # --- the fibre that comes from the machine before ---

    @property
    def fibre(self):
        """Whether it is "whole" or "cut"; None of a machine that does not run."""
        if self.pid is None:
            return None
        return "cut" if self._run().get("cut") else "whole"

    def cut(self):
        """Both ends go dark: the card loses its signal, its neighbour its way out."""
        self._change_fibre({"type": "null", "data": {}})
        self._remember(cut=True)

    def restore(self):
        """Nothing happens to a fibre that is whole: changing it would break it."""
        if self._backend() != "null":
            return
        address = {"type": "unix", "data": {"path": f"{self.folder}/rx"}}
        self._change_fibre({"type": "socket",
                            "data": {"addr": address, "server": True, "wait": False}})
        self._remember(cut=False)

    def _change_fibre(self, backend):
        self._fibre("chardev-change", {"id": "rfmrx", "backend": backend})

    def _backend(self):
        """What QEMU says the fibre is: "null", or a socket with its address."""
        return next(chardev["filename"] for chardev in self._fibre("query-chardev")
                    if chardev["label"] == "rfmrx")

    def _fibre(self, command, arguments=None):
        self.require_running()
        return qmp.execute(self.qmp, command, arguments)

    def stop_channels(self):
        for pid, started in process.with_argument_in(self.folder, {"ssh", "scp"}):
            process.stop(pid, started, signal.SIGTERM, signal.SIGKILL)
        for control in self.folder.glob("ssh*[0-9]"):
            control.unlink(missing_ok=True)

    # --- booting ---

    @contextlib.contextmanager
    def starting(self):
        """Holds the machine while it boots, so that nobody else starts it too."""
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LabError(f"{self} is being started already") from None
            if self.pid is not None:
                raise LabError(f"{self} is running")
            yield
        finally:
            os.close(handle)

    @property
    def image(self):
        """The disk that it boots; None of one that boots the small guest."""
        return self.config.get("image")

    def boot(self, limit):
        """Starts QEMU and waits until the guest lets us in; returns (seconds, remark).

        After `limit` seconds it has failed; one that had to wait for a CPU in a quarter of them
        may take STARVED times as long.
        """
        begin = time.monotonic()
        self.stop_channels()
        if self.image:
            remark = self._boot_image(begin + SECONDS_FOR_IMAGE)
            return time.monotonic() - begin, remark
        with self._ready_listener() as listener:
            run = self._begin(self.config["command"])
            remark = self._wait_ready(listener, run["pid"], begin, limit)
        self._let_us_in()
        return time.monotonic() - begin, remark

    def _boot_image(self, end):
        """Waits until its ssh server lets us in; one that never does goes on without. Returns a remark."""
        handle = os.pidfd_open(self._begin(self.config["command"])["pid"])
        refusal = LabError("QEMU does not answer")
        try:
            while time.monotonic() < end:
                try:
                    self._remember(ssh_port=qmp.ssh_port(self.qmp))
                    if self.config["login"] != NO_LOGIN:
                        self.channel().open()
                    return ""
                except LabError as error:
                    refusal = error
                if select.select([handle], [], [], SECONDS_TO_KNOCK)[0]:
                    raise BootError(self, "died while booting")
        finally:
            os.close(handle)
        return f"it runs, but there is no way in: {refusal}"

    @contextlib.contextmanager
    def _ready_listener(self):
        """Where the guest's second serial port ends: no QEMU starts without."""
        with socket.socket(socket.AF_UNIX) as listener:
            self._ready_socket.unlink(missing_ok=True)
            listener.bind(str(self._ready_socket))
            listener.listen(1)
            yield listener
        self._ready_socket.unlink(missing_ok=True)

    def _let_us_in(self, running=True):
        self._remember(ssh_port=qmp.ssh_port(self.qmp))
        if running:
            self.channel().open()

    def _wait_ready(self, listener, pid, begin, limit):
        """Waits for the guest's line on its second serial port, which QEMU connects to us."""
        handle = os.pidfd_open(pid)
        source, line, patience = listener, b"", True
        try:
            while not line.endswith(b"\n"):
                left = begin + limit - time.monotonic()
                readable = select.select([source, handle], [], [], max(left, 0))[0]
                if not readable and patience and process.cpu_seconds(pid) < limit * 3 / 4:
                    limit, patience = limit * STARVED, False
                    continue
                if not readable:
                    raise BootError(self, "is not ready in time")
                if source not in readable:
                    raise BootError(self, "died while booting")
                if source is listener:
                    source = listener.accept()[0]
                    continue
                data = source.recv(4096)
                if not data:
                    raise BootError(self, "died while booting")
                line += data
        finally:
            os.close(handle)
            if source is not listener:
                source.close()
        return line.decode(errors="replace").strip().removeprefix("ready").strip()

    # --- moving ---

    def migrate(self):
        """Moves the machine, as it runs, to another QEMU on this host.

        One that is paused stays so. Who was logged in is not any more. If it fails, the machine
        goes on where it was.
        """
        self.require_running()
        if self.image and not self.config["write_images"]:
            raise LabError(f"{self} does not move: what it has written to its disk is in its QEMU, as it "
                           "was started without --write-images")
        old = {"qmp": "qmp", **self._run()}
        running = qmp.execute(self.qmp, "query-status")["running"]
        place = f"qmp{old['pid']}"      # when the old QEMU ends, it removes its own
        here, there = f"{self.folder}/qmp,", f"{self.folder}/{place},"
        command = [word.replace(f"path={here}", f"path={there}") for word in self.config["command"]]
        with self._ready_listener():
            new = self._start([*command, "-incoming", "defer"])
            try:
                self._move_to(new, self.folder / place)
                # Whoever ends us from here on leaves the machine where it is.
                self._remember(**new, qmp=place)
            except BaseException:
                process.stop(new["pid"], new["started"], signal.SIGKILL)
                self._remember(**{key: old[key] for key in ("pid", "started", "qmp")})
                self.stay(running)
                raise
        process.stop(old["pid"], old["started"], signal.SIGTERM, signal.SIGKILL)
        self.stop_channels()
        self._let_us_in(running)

    def save(self, path):
        """Writes it, which stands still, as it is."""
        try:
            self._send({"uri": f"file:{path}"}, self._run(), "let itself be saved")
        except BaseException:
            self.stay(False)
            raise

    def resume(self):
        """Starts a QEMU that has loaded what `state` of its configuration names, and stands still."""
        with self._ready_listener():
            new = self._begin([*self.config["command"], "-incoming", "defer"])
            self._take({"uri": f"file:{self.config['state']}"}, new, self.qmp)
            self._has_taken(new, self.qmp)

    def go_on(self):
        qmp.execute(self.qmp, "cont")
        self._let_us_in()

    def stay(self, running):
        """Ends a move, or a save, of which there may be one, whoever began it; it goes on if it is to run."""
        with contextlib.suppress(LabError):
            qmp.execute(self.qmp, "migrate_cancel")
            self._wait_until(self._run(), self._is_settled, SECONDS_TO_MOVE, "stay")
        if running:
            with contextlib.suppress(LabError):
                qmp.execute(self.qmp, "cont")

    def _is_settled(self):
        return qmp.execute(self.qmp, "query-migrate").get("status") in (None, "none", "completed", "failed", "cancelled")

    def _move_to(self, new, place):
        where = {"uri": f"unix:{self.folder}/migration"}
        self._take(where, new, place)
        self._send(where, new, "move")
        self._has_taken(new, place)

    def _send(self, where, run, what):
        """Its state, there; `run` is who may end meanwhile."""
        qmp.execute(self.qmp, "migrate-set-parameters", {"max-bandwidth": 0})
        qmp.execute(self.qmp, "migrate", where)

        def is_over():
            state = qmp.execute(self.qmp, "query-migrate")
            if state["status"] in ("failed", "cancelled"):
                raise LabError(f"{self} does not {what}: {state.get('error-desc')}")
            return state["status"] == "completed"

        self._wait_until(run, is_over, SECONDS_TO_MOVE, what)

    def _take(self, where, new, place):
        """A new QEMU takes a state from there."""
        def answers():
            with contextlib.suppress(LabError):
                return qmp.execute(place, "query-status")

        self._wait_until(new, answers, SECONDS_TO_MOVE, "start")
        qmp.execute(place, "migrate-incoming", where)

    def _has_taken(self, new, place):
        self._wait_until(new, lambda: qmp.execute(place, "query-status")["status"] != "inmigrate",
                         SECONDS_TO_MOVE, "go on")

    def last_words(self):
        """The end of what QEMU and the guest's console have said."""
        parts = []
        for title, path in (("QEMU", self.log), ("console", self.console)):
            lines = process.tail(path, TAIL_LINES)
            if lines:
                parts.append(f"--- machine {self.number}, end of {title} output\n"
                             + "\n".join(lines))
        return "\n".join(parts)


class BootError(LabError):
    def __init__(self, machine, what):
        super().__init__(f"{machine} {what}")
        self.machine = machine
