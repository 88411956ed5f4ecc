# SPDX-License-Identifier: MIT
"""`rmlab run`: a lab from a file, a command a node, faults at their time, and a verdict."""

import contextlib
import fcntl
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from . import TOOLS, TOP, LabError, UsageError, WrongFile, junit, labfile, process
from . import lab as labs
from .channel import CHANNEL_FAILED, Connection, quote
from .lab import Lab
from .labfile import ON_FRAMES
from .member import program

SECONDS_TO_MEET = 30        # until the members have found each other
SECONDS_TO_END = 10         # of a command that was asked to
MARK = ".rmlab-run"         # in a folder of logs: it is ours, and may be replaced


class Late(Exception):
    """The time of the whole run is over."""


class NodeRun:
    """What a node runs, and what came of it."""

    def __init__(self, node, logs):
        self.node = node
        self.log = logs / f"{node.name}.log"
        self.process = self.connection = None
        self.seconds = 0.0
        self.late = self.told_to_end = self.unfinished = False
        self.complaints = []        # but for how its command ended

    def begin(self, lab, environment):
        words = self.node.run
        if self.node.kind == "machine":
            channel = lab.machine(self.node.number).channel()
            self.connection = Connection(channel)
            words = channel.command_line(self.connection, quote(words))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, start_new_session=True)
        self.pidfd = os.pidfd_open(self.process.pid)
        self.began = time.monotonic()

    @property
    def deadline(self):
        return self.began + self.node.timeout if not self.node.background else float("inf")

    def runs(self):
        """It is not waited for before close(), so that nobody else can have its number."""
        if not self.process:
            return False
        if not select.select([self.pidfd], [], [], 0)[0]:
            return True
        self.seconds = self.seconds or time.monotonic() - self.began
        return False

    def signal(self, number):
        """To it and to all it has started. A command on a machine hears nothing; it ends with the machine."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def close(self):
        if not self.process:
            return
        self.unfinished = self.runs()
        self.signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):    # it runs as somebody else
            self.process.wait(SECONDS_TO_END)
        os.close(self.pidfd)
        if self.connection:
            self.connection.close(False)

    def said(self):
        """The end of it."""
        return process.read_log(self.log, process.TAIL_BYTES)

    def last_words(self):
        return process.last_words(self.log) or "; it said nothing"

    def complaint(self):
        """What is wrong with how its command ended, or None."""
        if not self.process:
            return "it was not begun" if self.node.run else None
        status = self.process.returncode
        if self.node.background and (self.unfinished or self.told_to_end):
            return None
        if self.late:
            return f"not done after {self.node.timeout:g} s{self.last_words()}"
        if status is None:
            return "it runs as another user, and could not be ended"
        if self.unfinished:
            return f"it still ran when the run was over{self.last_words()}"
        if self.node.status == (status if status >= 0 else 128 - status):   # as a shell has it
            return None
        if status < 0:
            return f"ended by {signal.Signals(-status).name}{self.last_words()}"
        if self.connection and status == CHANNEL_FAILED:
            return f"the machine is gone, or lets nobody in{self.last_words()}"
        return f"exit status {status}, not {self.node.status}{self.last_words()}"

    def case(self):
        complaints = [*filter(None, [self.complaint()]), *self.complaints]
        return self.node, self.seconds, "; ".join(complaints) or None, self.said()


class FaultRun:
    """What came of a fault."""

    def __init__(self, fault):
        self.fault = fault
        self.happened = False
        self.number = None          # the hub's
        self.complaints = []

    def case(self):
        complaints = self.complaints or ([] if self.happened else ["it did not happen"])
        return self.fault, 0, "; ".join(complaints) or None, ""


class Run:
    """One run of a file."""

    def __init__(self, file, logs):
        self.file, self.logs = file, logs
        self.name = f"run-{os.getpid()}"
        self.lab = None
        self.nodes = {node.name: NodeRun(node, logs) for node in file.nodes}
        self.faults = [FaultRun(fault) for fault in file.faults]
        self.threads = []
        self.began = time.monotonic()

    # --- the lab ---

    def up(self):
        options = self.options()
        labs.make(options)
        self.lab = Lab(self.name)
        if self.lab.hub:        # which knows what is wrong with a fault, before anything else runs
            self.lab.hub.start()
            self.check_faults()
        labs.begin(self.lab)
        for node in self.file.of_kind("machine"):
            self.push(node)
        self.meet()

    def options(self):
        from .cli import up_options     # which knows us, too
        file = self.file
        words = ["--name", self.name, "--ids", ",".join(str(node.id) for node in file.nodes)]
        words += ["--from", file.saved.name] if file.saved else ["--topology", file.topology, "--size", file.size]
        if file.kernel:
            words += ["--kernel", file.kernel]
        if file.kernel_args:
            words.append(f"--kernel-args={file.kernel_args}")
        if file.capture:
            words.append(f"--hub-arg=--pcap={shlex.quote(str(self.logs))}/ring.pcapng")
        for node in file.of_kind("machine"):
            for key, option in (("image", "--image={}={}"), ("login", "--login={}={}"),
                                ("device-args", "--device-arg={}:{}"), ("qemu-args", "--qemu-arg={}:{}")):
                if key in node.settings:
                    words.append(option.format(node.number, node.settings[key]))
        try:
            options = up_options(words)
        except UsageError as error:
            raise WrongFile(f"{file.path}: {error}") from None
        options.members = {node.number for node in file.of_kind("rmnode")}
        options.programs = {node.number for node in file.of_kind("program")}
        options.made_by = str(file.path.absolute())
        return options

    def push(self, node):
        channel = self.lab.machine(node.number).channel()
        files = dict(node.settings["push"])
        if self.file.regions:
            files[self.file.regions] = "/etc/rfm/regions.yaml"
        for source, target in files.items():
            if channel.push(str(source), target):
                raise LabError(f"{self.file.where(node)}: cannot push {source} to {target}")

    def meet(self):
        """Returns when those that are there have found each other."""
        others = sum(node.kind != "program" for node in self.file.nodes) - 1
        for node in self.file.of_kind("rmnode"):
            done = self.lab.members[node.number].ask("wait", "-n", str(others), "-t", str(SECONDS_TO_MEET))
            if done.returncode:
                raise LabError(f"{self.file.where(node)}: the ring is not whole: {done.stderr.strip()}")

    def pull(self):
        for node in self.file.of_kind("machine"):
            for source, target in node.settings.get("pull", {}).items():
                folder = self.logs / node.name
                folder.mkdir(exist_ok=True)
                try:
                    failed = self.lab.machine(node.number).channel().pull(source, str(folder / target))
                except LabError:
                    failed = True
                if failed:
                    self.nodes[node.name].complaints.append(f"cannot pull {source}")

    def collect(self):
        """What was said, whatever came of it."""
        if not self.lab:
            return
        for node in self.file.nodes:
            place = self.lab.folder / str(node.number)
            for source, kind in (("console.log", "console"), ("qemu.log", "qemu"), ("log", "rmnode")):
                if (place / source).exists():
                    shutil.copyfile(place / source, self.logs / f"{node.name}.{kind}")
        for source in ("log", "faults.log"):
            if self.lab.hub and (self.lab.hub.folder / source).exists():
                shutil.copyfile(self.lab.hub.folder / source, self.logs / f"hub.{source}")

    def environment(self, node):
        """What a command on this host finds."""
        ours = {"RMLAB_NODE": node.name, "RMLAB_ID": str(node.id), "RMLAB_LOGS": str(self.logs),
                "PATH": f"{TOOLS}:{TOP}/build/librfm/examples:{os.environ['PATH']}",
                process.MARK: str(self.lab.folder)}
        if self.file.regions:
            ours["RFM_REGIONS"] = str(self.file.regions.absolute())
        if node.kind == "rmnode":
            ours["RMLAB_SOCKET"] = str(self.lab.members[node.number].socket)
        elif node.kind == "program":
            rx, tx = self.lab.config["programs"][str(node.number)]
            ours["RFM_CARD"] = ours["RFM_CARD_0"] = (f"ring:?rx={rx}&tx={tx}&node={node.id}&size={self.file.size}"
                                f"&wait-ms={SECONDS_TO_MEET * 1000}")
        theirs = {name: value for name, value in os.environ.items()
                  if name != "RFM_REGIONS" and not name.startswith("RFM_CARD")}
        return {**theirs, **ours}

    # --- what happens ---

    def hub(self, *words):
        done = self.lab.hub.ask(*words)
        if done.returncode:
            raise LabError((done.stderr or done.stdout).strip().removeprefix("rmhub: "))
        return done.stdout

    def check_faults(self):
        for fault in self.file.faults:
            if fault.kind in ON_FRAMES:
                self.set_fault(fault)
        self.hub("fault", "clear", "all")

    def set_fault(self, fault):
        """Returns the number that the hub gives it."""
        try:
            return json.loads(self.hub("-j", "fault", "add", fault.kind, *fault.words))["fault"]
        except LabError as error:
            raise WrongFile(f"{self.file.where(fault)}: {error}") from None

    def happen(self, one):
        """A fault's time has come."""
        one.happened = True
        try:
            if one.fault.kind in ON_FRAMES:
                one.number = self.set_fault(one.fault)
            else:
                self.to_node(one.fault.kind, one.fault.node)
        except LabError as error:
            one.complaints.append(str(error))

    def begin(self, one):
        """A machine takes its time to boot, and nothing else waits for it."""
        if one.fault.kind != "start":
            self.happen(one)
            return
        self.threads.append(threading.Thread(target=self.happen, args=(one,)))
        self.threads[-1].start()

    def to_node(self, kind, node):
        if kind in ("cut", "restore"):
            if self.file.topology == "hub":
                self.hub(kind, str(node.number - 1))
            else:
                getattr(self.lab.machine(node.number), kind)()
        elif kind == "start":
            if node.kind == "rmnode":
                self.lab.members[node.number].start()
            else:
                labs.boot([self.lab.machine(node.number)])
        else:
            self.kill(node)

    def kill(self, node):
        one = self.nodes[node.name]
        runs = one.runs()       # before it ends with its node
        if node.kind == "program":
            if not runs:
                raise LabError("it had ended before")
            one.signal(signal.SIGKILL)
        elif node.kind == "rmnode":
            self.lab.members[node.number].kill()
        else:
            self.lab.machine(node.number).kill()
        if runs:
            one.told_to_end = True

    def play(self):
        """Until all commands have ended but those in the background."""
        nodes = self.nodes.values()
        for one in nodes:
            try:
                if one.node.run:
                    one.begin(self.lab, self.environment(one.node))
            except OSError as error:
                raise LabError(f"{self.file.where(one.node)}: cannot run {one.node.run[0]}: {error.strerror}") from None
        begin = time.monotonic()
        to_come = sorted(self.faults, key=lambda one: one.fault.when)
        while True:
            now = time.monotonic()
            while to_come and begin + to_come[0].fault.when <= now:
                self.begin(to_come.pop(0))
            running = [one for one in nodes if one.runs()]
            for one in running:
                if one.deadline <= now:
                    one.late = True
                    one.signal(signal.SIGKILL)
            ahead = [one for one in running if not one.node.background]
            if not ahead:
                break
            times = [one.deadline for one in ahead if not one.late]
            times += [begin + one.fault.when for one in to_come[:1]]
            patience = max(0, min(times) - time.monotonic()) if times else None
            select.select([one.pidfd for one in running], [], [], patience)
        for one in to_come:
            one.complaints.append(f"its time, {one.fault.when:g} s, never came: the commands had ended after "
                                  f"{time.monotonic() - begin:.1f} s")
        for thread in self.threads:
            thread.join()
        self.end_background()
        self.judge_faults()

    def end_background(self):
        left = [one for one in self.nodes.values() if one.runs()]
        for one in left:
            one.signal(signal.SIGINT)
        end = time.monotonic() + SECONDS_TO_END
        for one in left:
            select.select([one.pidfd], [], [], max(0, end - time.monotonic()))
            one.told_to_end = True

    def judge_faults(self):
        if not any(one.number for one in self.faults):
            return
        told = {fault["fault"]: fault for fault in json.loads(self.hub("-j", "fault", "list"))["faults"]}
        for one in self.faults:
            its = told.get(one.number)
            if its and not its["fired"]:
                one.complaints.append(f"it never fired: of {its['matched']} frames that it is for, none was hit")

    # --- the verdict ---

    def cases(self):
        """(thing, seconds, complaint, output) of each fault, and of each node that ran something or went wrong."""
        nodes = (one.case() for one in self.nodes.values())
        yield from (case for case in nodes if case[0].run or case[2])
        yield from (one.case() for one in self.faults)

    def close(self):
        for one in self.nodes.values():
            one.close()


def check_regions(file):
    if not file.regions:
        return
    done = subprocess.run([program("rmctl"), "regions", "check", file.regions],
                          text=True, capture_output=True, check=False)
    if done.returncode:
        raise WrongFile((done.stdout + done.stderr).strip().removeprefix("rmctl: "))


def logs_folder(path):
    """An empty folder of ours, and what keeps other runs out of it."""
    path = path.absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        there = list(path.iterdir())
        mark = path / MARK
        if there and not mark.exists():
            raise LabError(f"{path} is no folder with logs of an earlier run: it is left as it is; --logs names "
                           "another")
        lock = mark.open("a", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for entry in there:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry != mark:
                entry.unlink()
    except BlockingIOError:
        raise LabError(f"another run writes its logs to {path}; --logs names another folder") from None
    except OSError as error:
        raise LabError(f"no logs can be written to {path}: {error.strerror}") from None
    return path, lock


@contextlib.contextmanager
def time_limit(seconds):
    def over(number, frame):
        raise Late

    with labs.on_signals(over, signal.SIGALRM):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def clear_junit(path):
    """That of an earlier run would be taken for this one's."""
    try:
        with open(path, "w", encoding="utf-8"):
            pass
        os.unlink(path)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None


def run(path, junit_file, logs):
    """Returns 0 if all went as the file wants, else 1."""
    if junit_file:
        clear_junit(junit_file)
    try:
        file = labfile.load(path)
        check_regions(file)
        logs, lock = logs_folder(Path(logs or f"{file.path.stem}.logs"))
        with lock:
            return play(file, junit_file, logs)
    except WrongFile as error:
        if junit_file:
            junit.write(junit_file, Path(path).stem, [("the file", 0, str(error), "")], 0)
        raise


def play(file, junit_file, logs):
    for line in labs.remove_left_behind():
        print(f"rmlab: {line}", file=sys.stderr)
    one = Run(file, logs)
    trouble = None
    try:
        with labs.end_by_signal(), time_limit(file.timeout):
            one.up()
            one.play()
            one.pull()
    except Late:
        trouble = f"{file.path}:{file.timeout_line}: not done after {file.timeout:g} s: 'timeout' of the whole run"
    except WrongFile:
        raise
    except (LabError, OSError) as error:
        trouble = str(error) if str(error).startswith(str(file.path)) else f"{file.path}: {error}"
    finally:
        with labs.undisturbed():
            try:
                one.close()
                one.collect()
            finally:
                labs.remove(one.name)
    cases = list(one.cases())
    status = told(file, one, cases, trouble)
    if trouble:
        cases.insert(0, ("the lab", 0, trouble, ""))
    for target in (logs / "junit.xml", junit_file):
        if target:
            junit.write(target, file.path.stem, cases, time.monotonic() - one.began)
    return status


def told(file, one, cases, trouble):
    """Says the verdict."""
    red = trouble is not None
    if trouble:
        print(trouble)
    for thing, seconds, complaint, _ in cases:
        if complaint:
            red = True
            print(f"{file.where(thing)}: {complaint}")
        else:
            print(f"{thing}: as it should be" + (f", {seconds:.1f} s" if seconds else ""))
    print(f"{'RED' if red else 'green'}: {file.path}, {time.monotonic() - one.began:.1f} s; logs in {one.logs}",
          flush=True)
    return int(red)
