# SPDX-License-Identifier: MIT
"""Processes that are not our children, told apart by pid and start time; and what they have said."""

import fcntl
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path

from . import LabError

TAIL_LINES = 5
TAIL_BYTES = 65536      # of what somebody has said, where the end is enough
MARK = "RMLAB_FOLDER"    # in the environment of a lab's commands on this host


def _status(pid):
    """The fields of /proc/PID/stat from the third on; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name in the second field may hold spaces and brackets.
    return stat.rpartition(")")[2].split()


def start_time(pid):
    """When the process started (clock ticks since boot); None if there is none, or a zombie."""
    fields = _status(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def cpu_seconds(pid):
    """What the process has computed so far; 0 if there is none."""
    fields = _status(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0


def is_alive(pid, started):
    """A process that was gone before its start time could be read never counts."""
    return None not in (pid, started) and start_time(pid) == started


# For what a signal asks for; and until a process is gone that cannot help it.
PATIENCE, PATIENCE_KILLED = 3.0, 60.0
END_AGAIN = 0.1     # as it may just have begun


def stop(pid, started, *signals):
    """Sends one signal after the other, until the process is gone.

    The pidfd is opened before the start time is checked, so the signal cannot reach another
    process that took over the pid.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if start_time(pid) != started:
            return
        for number in signals:
            signal.pidfd_send_signal(handle, number)
            patience = PATIENCE_KILLED if number == signal.SIGKILL else PATIENCE
            if select.select([handle], [], [], patience)[0]:
                return
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def _own(what):
    """(pid, start time, words) of this user's processes; what: the words of which file in /proc/PID."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            words = (entry / what).read_bytes().split(b"\0")
        except OSError:
            continue
        started = start_time(entry.name)
        if started is not None:
            yield int(entry.name), started, words


def of_lab(folder):
    """(pid, start time) of the commands that run for a lab on this host, and of what they have started."""
    mark = os.fsencode(f"{MARK}={folder}")
    return [(pid, started) for pid, started, words in _own("environ") if mark in words]


def with_argument_in(folder, programs):
    """(pid, start time) of this user's processes of these programs whose arguments name a
    file in the folder: finds what a lab started, even if nobody wrote down its pid."""
    needle = os.fsencode(f"{folder}/")
    for pid, started, arguments in _own("cmdline"):
        # A master of ssh calls itself "ssh: SOCKET [mux]".
        program = os.path.basename(os.fsdecode(arguments[0].split(b":")[0]))
        if program in programs and any(needle in argument for argument in arguments):
            yield pid, started


def at_once(work, items, give_up=None):
    """What `work` returns of each, side by side. If one fails, or we are ended, `give_up` has to end the
    others, for which it waits."""
    from concurrent.futures import ThreadPoolExecutor, as_completed, wait       # which take a while
    under_way = []
    with ThreadPoolExecutor(len(items) or 1) as pool:
        try:
            for item in items:
                under_way.append(pool.submit(work, item))
            for one in as_completed(under_way):
                one.result()
        except BaseException:
            waits = bool(give_up)
            while waits:
                for item in items:
                    give_up(item)
                waits = wait(under_way, END_AGAIN).not_done
            raise
    return [one.result() for one in under_way]


# --- what they have said ---

def read_log(log, most=None):
    """What stands there, or the last bytes of it; nothing if it is not there."""
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - (most or size)))
            return file.read()
    except FileNotFoundError:
        return ""


def tail(log, lines):
    return read_log(log, TAIL_BYTES).splitlines()[-lines:]


def last_words(log):
    """To be put behind a sentence about whoever has said them."""
    lines = tail(log, TAIL_LINES)
    return "; its last words: " + " / ".join(lines) if lines else ""


class Process:
    """One that outlives whoever starts it; what runs is in run.json of its folder, for whoever comes then."""

    def __init__(self, folder, log):
        self.folder = folder
        self.log = folder / log
        self._run_file = folder / "run.json"

    def _run(self):
        try:
            return json.loads(self._run_file.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def _remember(self, **facts):
        """Of two who write at once, neither undoes what the other has written."""
        with open(self.folder / "run.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            new = self._run_file.with_suffix(".new")
            new.write_text(json.dumps({**self._run(), **facts}))
            new.rename(self._run_file)

    @property
    def pid(self):
        """Its pid while it runs, or None."""
        run = self._run()
        return run["pid"] if is_alive(run.get("pid"), run.get("started")) else None

    def require_running(self):
        """One that died may have said why."""
        if self.pid is None:
            raise LabError(f"{self} is not running{last_words(self.log)}")

    def _start(self, command):
        with self.log.open("a") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     start_new_session=True)
        return {"pid": child.pid, "started": start_time(child.pid)}

    def _begin(self, command):
        """As the one that runs."""
        run = self._start(command)
        self._run_file.unlink(missing_ok=True)
        self._remember(**run)
        return run

    def kill(self):
        run = self._run()
        self.require_running()
        stop(run["pid"], run["started"], signal.SIGKILL)

    def _wait_until(self, run, condition, seconds, what):
        """Asks until it is so; the process that it is about may end."""
        end = time.monotonic() + seconds
        handle = os.pidfd_open(run["pid"])
        try:
            while not condition():
                ended = select.select([handle], [], [], 0.02)[0]
                if ended or time.monotonic() > end:
                    why = "its process has ended" if ended else f"not in {seconds} s"
                    raise LabError(f"{self} does not {what}: {why}{last_words(self.log)}")
        finally:
            os.close(handle)
