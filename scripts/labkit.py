# SPDX-License-Identifier: MIT
"""Drive a ring of VMs from Python.

Used by scripts/demo and the tests in tests/system. Labs come, go and change by scripts/rmlab;
commands on machines and of QMP, of which there are thousands, begin without it: to start Python
takes longer than most of them.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from lab import LabError as Failed      # a step did not do what it should; the text says what
from lab import qmp
from lab import lab as labs
from lab.channel import CHANNEL_FAILED, Connection, quote

TOP = Path(__file__).resolve().parent.parent
RMLAB = TOP / "scripts" / "rmlab"
NAP_S = 0.02        # between two questions, so that who is asked comes to do something
GCOV_FOLDER = os.environ.get("RFM_GCOV_FOLDER")


# Whoever ends us gets our labs taken down: exit unwinds the `with` blocks.
for ending in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(ending, lambda *_: sys.exit(1))


def rmlab(*args, check=True, timeout=300):
    """Run rmlab. Returns the finished process; its output is text."""
    try:
        done = subprocess.run([RMLAB, *map(str, args)], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"rmlab {' '.join(map(str, args))}: not done after {timeout} s") from late
    if check and done.returncode:
        raise Failed(f"rmlab {' '.join(map(str, args))}: exit status {done.returncode}: "
                     f"{(done.stderr or done.stdout).strip()}")
    return done


class Running:
    """A command on a node that goes on while the test does."""

    def __init__(self, lab, node, command):
        self.what = f"node {node}: {' '.join(command)}"
        self.lab = lab
        channel = lab.machine(node).channel()
        self.connection = Connection(channel)
        self.process = subprocess.Popen(
            channel.command_line(self.connection, quote(command)),
            text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # If nobody kept us our connection would be given to the next command while this one runs.
        self.lab.running.add(self)

    def line(self):
        """The next line it prints; the end of its output is a failure."""
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.what}: ended: {self.process.stderr.read().strip()}")
        return line.rstrip("\n")

    def listening(self):
        """Wait until an `rmctl listen` can miss nothing any more; it says so."""
        line = self.process.stderr.readline()
        if not line.startswith("listening on"):
            raise Failed(f"{self.what}: does not listen: {line.strip()}")

    def finish(self, timeout=120, check=True):
        """Wait for its end. Returns what it printed and had not been read."""
        return self.wait(timeout, check).stdout

    def wait(self, timeout=120, check=False):
        """Wait for its end. Returns the finished process, with what had not been read."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as e:
            self.stop()
            raise Failed(f"{self.what}: not done after {timeout} s") from e
        status = self.process.returncode
        # Else it was ssh that ended, by a signal or with its connection.
        self._leave(0 <= status < CHANNEL_FAILED)
        if check and status:
            raise Failed(f"{self.what}: exit status {status}: {(out + err).strip()}")
        return subprocess.CompletedProcess(self.what, status, out, err)

    def stop(self):
        """End it here; on the machine it may go on."""
        self.process.kill()
        self.process.wait()
        self._leave(False)

    def _leave(self, ended):
        self.lab.running.discard(self)
        self.connection.close(ended)


class Part(Running):
    """A program of tools/librfm/examples; it tells what happens, one JSON object a line."""

    SILENCE_MS = 500
    PREFIX = []         # of the command

    def __init__(self, lab, node, name, *options):
        super().__init__(lab, node, [*self.PREFIX, name, "--json", "--seconds", "300", "--silence-ms",
                                          str(self.SILENCE_MS), *map(str, options)])
        self.node, self.name = node, name

    def now_ns(self):
        """The time on its machine, as its `time_ns`; /proc/uptime is exact to 10 ms, this rounds up."""
        uptime = self.lab.out(self.node, "cut", "-d", " ", "-f1", "/proc/uptime")
        return (round(float(uptime) * 100) + 1) * 10_000_000

    def tells(self, event, after_ns=0):
        """Wait until it tells of this; what it told before `after_ns` does not count."""
        while True:
            told = json.loads(self.line())
            if told["event"] == event and told["time_ns"] >= after_ns:
                return told

    def end(self):
        """End it as Ctrl-C would; what it tells last is its summary."""
        self.lab.run(self.node, "killall", "-INT", self.name)
        return json.loads(self.finish().splitlines()[-1])


class Lab:
    """A ring of VMs, taken down at the end of the `with` block."""

    def __init__(self, name, nodes, *up_args):
        self.name = f"{name}-{os.getpid()}"
        self.nodes = range(1, nodes + 1)
        self.up_args = up_args
        self.up = None
        self.running = set()

    def __enter__(self):
        try:
            # It knows itself when a machine takes too long to boot.
            nodes = () if "--from" in self.up_args else ("--nodes", len(self.nodes))
            self.said = rmlab("up", "--name", self.name, *nodes, *self.up_args, timeout=None).stdout
            self.up = labs.Lab(self.name)
        except BaseException:
            # `up` may have been killed half way.
            rmlab("down", "--name", self.name, check=False)
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind:
                self.keep_logs()
            if GCOV_FOLDER:
                self.keep_counts()
        finally:
            rmlab("down", "--name", self.name)

    def keep_logs(self):
        """Save what all machines have said for whoever looks into a failure."""
        folder = TOP / "build" / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        for node in self.nodes:
            for kind, option in (("console", []), ("qemu", ["--qemu"])):
                log = folder / f"{self.name}-node{node}.{kind}"
                log.write_text(self.verb("log", node, *option, check=False).stdout)
                print(f"# {kind} of node {node}: {log.relative_to(TOP)}", file=sys.stderr)

    def keep_counts(self):
        """Save what the driver of each machine that runs has counted, for tests/coverage."""
        for node in self.nodes:
            folder = Path(GCOV_FOLDER) / f"{self.name}-{time.monotonic_ns()}-{node}"
            folder.mkdir(parents=True)
            with contextlib.suppress(Failed):
                self.run(node, "sh", "-c", "mkdir /tmp/gcov; find /sys/kernel/debug/gcov "
                         "-name '*.gcda' -exec cp {} /tmp/gcov/ ';'")
                self.verb("pull", node, "/tmp/gcov", folder)

    def verb(self, verb, node, *args, **options):
        return rmlab(verb, "--name", self.name, node, *args, **options)

    def run(self, node, *command, check=True, timeout=120):
        """Run a command on a node to its end. Returns the finished process, as wait() does."""
        try:
            running = self.start(node, *command)
        except Failed as error:
            if check:
                raise
            return subprocess.CompletedProcess(command, CHANNEL_FAILED, "", str(error))
        return running.wait(timeout, check)

    def out(self, node, *command, **options):
        return self.run(node, *command, **options).stdout.strip()

    def start(self, node, *command):
        return Running(self, node, [str(word) for word in command])

    def machine(self, node):
        return self.up.machine(node)

    def qmp(self, node, command, **arguments):
        machine = self.machine(node)
        machine.require_running()
        return qmp.execute(machine.qmp, command, arguments or None)

    def pid(self, node):
        """Of a machine's QEMU."""
        return self.machine(node).pid

    def signal(self, node, number):
        """Send a signal to a machine's QEMU."""
        os.kill(self.pid(node), number)

    # The card as rmctl sees it.

    def rmctl_json(self, node, *args):
        return json.loads(self.out(node, "rmctl", "-j", *args))

    def peek(self, node, offset, width=4):
        return int(self.out(node, "rmctl", "peek", "-w", str(width), "rfm0", hex(offset)).split()[-1], 0)

    def test_ring(self, node, card="rfm0"):
        """It is closed, at the latest within a minute: a packet may get lost while it is being
        closed, or while another machine is held up."""
        end = time.monotonic() + 60
        while self.run(node, "rmctl", "test", card, check=time.monotonic() > end).returncode:
            time.sleep(NAP_S)

    def poke(self, node, offset, value, width=4):
        self.run(node, "rmctl", "poke", "-w", str(width), "rfm0", hex(offset), str(value))
