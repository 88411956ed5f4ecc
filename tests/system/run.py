#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmlab run: a lab from a file, and its verdict.

run.py            members without a machine
run.py machines   a machine and an rmnode on one ring
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from container import DROP, DROP_ROOT
from suite import PATIENCE_S, TOP, expect, figure, plan, run, wait_for
from labkit import RMLAB
from lab import lab as labs
from lab import process

EXAMPLES = TOP / "build" / "librfm" / "examples"
SIDE_BY_SIDE = 20

TWO = """
    [node.near]
    kind = "rmnode"
    run = "rmnode -S $RMLAB_SOCKET write 0x100 0xcafe && until rmnode -S $RMLAB_SOCKET fence; do sleep 0.01; done"

    [node.far]
    kind = "rmnode"
    run = "until rmnode -S $RMLAB_SOCKET read 0x100 | grep -q cafe; do sleep 0.01; done"
"""


class Place:
    """A folder with a file of a lab in it."""

    def __init__(self, text):
        self.folder = tempfile.TemporaryDirectory(prefix="rmlab's run-")
        self.path = Path(self.folder.name)
        (self.path / "lab.toml").write_text(textwrap.dedent(text))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def start(self, *args):
        return subprocess.Popen([RMLAB, "run", "lab.toml", "--junit", "out.xml", *args], cwd=self.path, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *args):
        """Exit status and what was said."""
        child = self.start(*args)
        said = child.communicate(timeout=5 * PATIENCE_S)[0]
        print("\n".join("# " + line for line in said.splitlines()))
        return child.returncode, said

    def failures(self):
        """name: message."""
        cases = ElementTree.parse(self.path / "out.xml").iter("testcase")
        return {case.get("name"): case.find("failure").get("message") for case in cases
                if case.find("failure") is not None}


def outcome(text, *args):
    with Place(text) as place:
        return place.run(*args)


def left_of(pid):
    """The folder of a run, and what runs of it."""
    folder = labs.base_folder() / f"run-{pid}"
    return folder.exists(), [*process.of_lab(folder), *process.with_argument_in(folder, {"rmnode", "rmhub"})]


def green():
    """All goes as the file wants: green, with a test case for each node and fault, and logs"""
    with Place(TWO + """
    [node.program]
    kind = "program"
    run = ["EXAMPLES/publish", "rfm0", "1"]

    [node.watching]
    kind = "rmnode"
    background = true
    run = "exec rmnode -S $RMLAB_SOCKET monitor"

    [fault.noise]
    kind = "duplicate"
    source = "program"
    """.replace("EXAMPLES", str(EXAMPLES))) as place:
        status, said = place.run()
        expect(status == 0 and said.splitlines()[-1].startswith("green: lab.toml"), said)
        names = [case.get("name") for case in ElementTree.parse(place.path / "out.xml").iter("testcase")]
        expect(names == ["node 'near'", "node 'far'", "node 'program'", "node 'watching'", "fault 'noise'"], names)
        expect(not place.failures(), place.failures())
        logs = {path.name for path in (place.path / "lab.logs").iterdir()}
        expect({"near.log", "near.rmnode", "hub.log", "hub.faults.log", "junit.xml"} <= logs, logs)
        expect("duplicate" in (place.path / "lab.logs" / "hub.faults.log").read_text(), "the fault is not in the log")


def red(rows):
    """The verdict is red, and one line says where and why."""
    for complaint, text in rows:
        with Place(text) as place:
            status, said = place.run()
            expect(status == 1 and said.splitlines()[-1].startswith("RED: lab.toml"), said)
            expect(any(complaint in line and line.startswith("lab.toml:") for line in said.splitlines()),
                   f"not said: {complaint}")
            expect(place.failures(), "out.xml has no failure")


def failing_node():
    """A node that fails, or is late, or dies: red, with its last words"""
    third = TWO + '\n    [node.third]\n    kind = "rmnode"\n    run = '
    red((("lab.toml:10: node 'third': exit status 3, not 0; its last words: what a pity", third + '"echo what a pity; exit 3"'),
         ("lab.toml:10: node 'third': exit status 3, not 0; it said nothing", third + '"exit 3"'),
         ("lab.toml:10: node 'third': not done after 1 s", third + '"sleep 1000"\n    timeout = "1s"'),
         ("lab.toml:10: node 'third': ended by SIGSEGV", third + '"kill -SEGV $$"'),
         ("lab.toml:10: node 'third': exit status 127, not 1", third + '"no-such-program"\n    status = 1'),
         ("lab.toml:10: node 'third': cannot run no-such-program", third + '["no-such-program"]'),
         ("lab.toml:1: not done after 2 s", 'timeout = "2s"' + TWO.replace("cafe;", "beef;"))))


def failing_fault():
    """A fault that never fires, whose time never comes, or that comes too late: red"""
    fault = '\n    [fault.noise]\n    kind = '
    ends = '\n    [node.third]\n    kind = "program"\n    run = "exit 0"\n    background = true\n'
    goes_on = '\n    [node.slow]\n    kind = "rmnode"\n    run = "sleep 1"\n'
    red((("lab.toml:10: fault 'noise': it never fired", TWO + fault + '"drop"\n    address = "0x8000-0x8fff"'),
         ("lab.toml:10: fault 'noise': its time, 1000 s, never came",
          TWO + fault + '"cut"\n    node = "far"\n    when = "1000s"'),
         ("fault 'noise': it had ended before",
          TWO + ends + goes_on + fault + '"kill"\n    node = "third"\n    when = "500ms"')))


def wrong_files():
    """A typo, a missing file, what cannot be: one sentence with file and line, and nothing is begun"""
    for complaint, text in (
            ("lab.toml:4: node.near has no 'rum'; is it 'run'?", TWO.replace("run =", "rum =", 1)),
            ("lab.toml:3: node.near.kind is 'rmnod', not one of machine, rmnode, program", TWO.replace("rmnode", "rmnod", 1)),
            ("lab.toml:2: ", TWO.replace("[node.near]", "[node.near", 1)),
            ("lab.toml:3: node.near.timeout is '5', which is no time", TWO.replace("[node.near]", "[node.near]\n    timeout = '5'", 1)),
            ("lab.toml:1: there is no nothere.yaml", 'regions = "nothere.yaml"' + TWO),
            ("lab.toml:12: there is no node 'fra'; there are near, far", TWO + '\n    [fault.a]\n    kind = "cut"\n    node = "fra"'),
            ("in a chain all nodes must be there", 'topology = "chain"' + TWO.replace('"rmnode"', '"program"', 1)),
            ("lab.toml:2: 'hub' is no name", TWO.replace("node.near", "node.hub")),
            ("and more than 0", 'timeout = "0s"' + TWO),
            ("'push' is for machines", TWO + '    push = {"lab.toml" = "/tmp/x"}\n'),
            ("both have the id 2", TWO.replace("[node.near]", "[node.near]\n    id = 2", 1)),
            ("no node runs anything", '[node.a]\nkind = "rmnode"'),
            ("lab.toml:10: fault 'a': ", TWO + '\n    [fault.a]\n    kind = "drop"\n    address = "here"')):
        status, said = outcome(text)
        expect(status == 2 and complaint in said, f"exit status {status}, not said: {complaint}")
        expect(len(said.splitlines()) == 1, f"more than a sentence: {said}")


def ends_clean():
    """Ctrl-C leaves nothing; after kill -9 the next run takes away what was left, and says so"""
    endless = TWO + '\n    [node.third]\n    kind = "rmnode"\n    run = "sleep 1000 & echo begun; wait"\n'
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with Place(endless) as place:
            child = place.start()
            log = place.path / "lab.logs" / "third.log"
            wait_for("it runs", lambda: log.exists() and "begun" in log.read_text())
            child.send_signal(number)
            said = child.communicate(timeout=PATIENCE_S)[0]
            folder, processes = left_of(child.pid)
            if number == signal.SIGKILL:
                expect(folder and processes, "nothing was left: the test shows nothing")
                with Place(TWO) as other:
                    status, said = other.run()
                expect(status == 0 and f"cleaned up what an earlier run of {place.path}/lab.toml has left" in said, said)
                folder, processes = left_of(child.pid)
            else:
                expect(child.returncode == 130, f"exit status {child.returncode}: {said}")
            expect(not folder and not processes, f"left: folder {folder}, processes {processes}")


def logs_are_kept():
    """A folder that is not ours is left as it is"""
    with Place(TWO) as place:
        (place.path / "lab.logs").mkdir()
        (place.path / "lab.logs" / "thesis").write_text("years of work")
        status, said = place.run()
        expect(status == 1 and "lab.logs is no folder with logs" in said, said)
        expect(not (place.path / "out.xml").exists(), "there is a verdict of what did not run")
        expect((place.path / "lab.logs" / "thesis").exists(), "it was removed")
        expect(place.run("--logs", "other")[0] == 0 and place.run("--logs", "other")[0] == 0,
               "it does not run twice with one folder")


def one_at_a_time():
    """Two with one folder of logs: the second is refused, the first goes on"""
    waits = '\n    [node.third]\n    kind = "rmnode"\n    run = "until test -e go; do sleep 0.01; done"\n'
    with Place(TWO + waits) as place:
        first = place.start()
        wait_for("it runs", (place.path / "lab.logs" / "third.log").exists)
        status, said = place.run("--junit", "other.xml")
        (place.path / "go").touch()
        expect(status == 1 and "another run writes its logs to" in said, said)
        said = first.communicate(timeout=PATIENCE_S)[0]
        expect(first.returncode == 0, said)


def side_by_side():
    """Twenty of one file at once: all are green"""
    with Place(TWO) as place, ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        done = list(threads.map(lambda n: place.run("--logs", f"logs{n}", "--junit", f"out{n}.xml"), range(SIDE_BY_SIDE)))
    wrong = [said for status, said in done if status]
    expect(not wrong, f"{len(wrong)} of {SIDE_BY_SIDE} failed, first: {wrong[:1]}")


def job_of_ci():
    """The lines of docs/nightly.md for GitLab and GitHub, by a user who may nothing"""
    page = (TOP / "docs" / "nightly.md").read_text()
    lines = re.findall(r"^ +- (?:run: )?(rmlab .*)$", page, re.M)
    expect(len(lines) == 2 and lines[0] == lines[1], f"{lines}")
    with Place((TOP / "docs" / "nightly.toml").read_text()) as place:
        place.path.chmod(0o777)
        path = ":".join(map(str, (TOP / "scripts", TOP / "build" / "tools", EXAMPLES, "/usr/bin:/bin")))
        done = subprocess.run([*(DROP if os.getuid() else DROP_ROOT), "sh", "-c", lines[0]], cwd=place.path, text=True,
                              env={"PATH": path, "HOME": str(place.path)}, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=PATIENCE_S)
        expect(done.returncode == 0, done.stdout + done.stderr)
        figure("the job of CI: " + done.stdout.splitlines()[-1].split(";")[0])


def whole_chain():
    """A chain of rmnodes; one is killed and comes back"""
    status, said = outcome("""
    topology = "chain"
    [node.a]
    kind = "rmnode"
    run = "until rmnode -S $RMLAB_SOCKET read 0x100 | grep -q cafe; do sleep 0.01; done"
    [node.b]
    kind = "rmnode"
    [node.c]
    kind = "rmnode"
    run = "sleep 2; rmnode -S $RMLAB_SOCKET wait -n 2 -t 30 && rmnode -S $RMLAB_SOCKET write 0x100 0xcafe"
    [fault.death]
    kind = "kill"
    node = "b"
    [fault.birth]
    kind = "start"
    node = "b"
    when = "1s"
    """)
    expect(status == 0, said)


def with_machines():
    """A machine and an rmnode on one ring, with files to and from it, a fault, and a capture"""
    with Place("""
    capture = true
    regions = "plant.yaml"
    [node.plant]
    push = {"word" = "/tmp/word"}
    pull = {"/tmp/answer" = "answer"}
    run = "rmctl poke rfm0 0x100 $(cat /tmp/word) && rmctl fence rfm0 -t 60 && rmctl peek rfm0 pump.level >/tmp/answer"
    [node.watch]
    kind = "rmnode"
    run = "until rmnode -S $RMLAB_SOCKET read 0x100 | grep -q cafe; do sleep 0.05; done"
    [fault.twice]
    kind = "duplicate"
    source = "plant"
    """) as place:
        (place.path / "word").write_text("0xcafe\n")
        (place.path / "plant.yaml").write_text(
            "rfm-regions: 1\nregions:\n  pump:\n    offset: 0x100\n    fields:\n      level: {offset: 0, type: uint32}\n")
        status, said = place.run()
        logs = place.path / "lab.logs"
        expect(status == 0, said)
        answer = (logs / "plant" / "answer").read_text()
        expect("51966" in answer, answer)
        expect((logs / "ring.pcapng").stat().st_size > 100, "nothing was captured")
        expect((logs / "plant.console").exists(), "no console")
        figure(said.splitlines()[-1].split(";")[0])


MEMBERS = [green, failing_node, failing_fault, wrong_files, ends_clean, logs_are_kept, one_at_a_time, job_of_ci, whole_chain, side_by_side]


def main():
    tests = [with_machines] if "machines" in sys.argv else MEMBERS
    os.environ.pop("RFM_CARD", None)
    plan(tests)
    return bool(run(tests))


if __name__ == "__main__":
    sys.exit(main())
