#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lab tool's command line is a contract; this is its test."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from library import Installed, made
from suite import PATIENCE_S, PROGRAMS, TOP, expect, free_ports, plan, processes_with, run, wait_for
import labkit
from labkit import RMLAB, rmlab
from lab import process

# What a machine unpacks before it is ready; each MiB of it costs 6 ms of an emulated CPU.
IMAGE_LIMIT = 16 << 20

CARD_PROGRAM = r"""
#include <rfm/rfm.h>
#include <stdio.h>

int main(void)
{
	struct rfm *card = rfm_open("/dev/rfm0", 0);

	return card ? puts("opened") < 0 : 1;
}
"""


class Lab(labkit.Lab):
    """What is done on its machines goes by the command line, for that is tested here."""

    def run(self, node, *command, check=True, timeout=120):
        return self.verb("exec", node, "--", *command, check=check, timeout=timeout)

    def qmp(self, node, command, **arguments):
        done = self.verb("qmp", node, command, *([json.dumps(arguments)] if arguments else []))
        return json.loads(done.stdout)


def exec_is_transparent(lab):
    """exec: output, error output and exit status are those of the command"""
    done = lab.run(1, "sh", "-c", "echo out; echo err >&2; exit 7", check=False)
    expect((done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 7), str(done))
    odd = "a b'c\"d$e *"
    expect(lab.out(1, "printf", "%s", odd) == odd, "arguments are not passed as they are")


def at_once(lab):
    """Commands that begin while others end: each runs, and tells how it ended"""
    def some(thread):
        return [lab.run(1, "sh", "-c", f"echo {thread}.{n}; exit {n}", check=False) for n in range(12)]

    with ThreadPoolExecutor(4) as threads:
        for thread, done in enumerate(threads.map(some, range(4))):
            said = [(one.stdout, one.returncode, one.stderr) for one in done]
            expect(said == [(f"{thread}.{n}\n", n, "") for n in range(12)], f"{said}")


def goes_on_after_a_kill(lab):
    """A command whose rmlab was killed hinders nobody"""
    for _ in range(3):
        with subprocess.Popen([RMLAB, "exec", "--name", lab.name, "1", "--", "sh", "-c",
                               "echo; exec sleep 1000"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE) as killed:
            killed.stdout.readline()
            killed.kill()
        lab.run(1, "true")
    lab.run(1, "killall", "sleep")


def push_and_pull(lab):
    """push and pull: a file comes back as it was, mode included"""
    with tempfile.TemporaryDirectory() as folder:
        here, back = Path(folder, "here"), Path(folder, "back")
        here.write_bytes(os.urandom(300_000))
        here.chmod(0o755)
        rmlab("push", "--name", lab.name, 1, here, "/tmp/there")
        lab.run(1, "test", "-x", "/tmp/there")
        rmlab("pull", "--name", lab.name, 1, "/tmp/there", back)
        expect(back.read_bytes() == here.read_bytes(), "contents differ")


def push_makes_the_folder(lab):
    """push: a folder that is missing on the machine is made; where a file is in its place, that is said"""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder, "here")
        here.write_text("text\n")
        for target in ("/tmp/new/er/there", "/tmp/new/est/"):
            lab.verb("push", 1, here, target)
        expect(lab.out(1, "cat", "/tmp/new/er/there", "/tmp/new/est/here") == "text\ntext", "not there")
        # In a loop that reads what is to be pushed, the rest is still there for the next.
        subprocess.run(["sh", "-ec", 'while read -r there; do "$@" "$there"; done', "sh", RMLAB,
                        "push", "--name", lab.name, "1", here], text=True, check=True,
                       input="/tmp/list/a\n/tmp/list/b\n/tmp/list/c\n")
        expect(lab.out(1, "ls", "/tmp/list").split() == ["a", "b", "c"], "not all of the list is there")
        done = lab.verb("push", 1, here, "/etc/passwd/there", check=False)
        expect(done.returncode == 1 and "/etc/passwd" in done.stderr, str(done))


def programs_of_yours(lab):
    """A program linked with the shared library runs on a machine, also under nohup"""
    with tempfile.TemporaryDirectory() as folder:
        installed = Installed(folder, "rfm", "tools/librfm", [], "rfm", "RFM")
        source, program = Path(folder, "program.c"), Path(folder, "program")
        source.write_text(CARD_PROGRAM)
        made("cc", "-o", program, source, *installed.flags("--cflags", "--libs"))
        lab.verb("push", 1, program, "/tmp/program")
        for words in ([], ["nohup"]):
            done = lab.run(1, *words, "/tmp/program", check=False)
            expect((done.stdout, done.returncode) == ("opened\n", 0), f"{words}: {done}")


def image_is_small(lab):
    """The image that a machine unpacks carries nothing that it does not need"""
    kernel = json.loads(rmlab("status", "--name", lab.name, "-j").stdout)["kernel"]
    size = (TOP / "build" / "guest" / kernel / "initramfs.img").stat().st_size
    expect(size <= IMAGE_LIMIT, f"{size >> 20} MiB")


def ids(lab):
    """--ids gives node ids, 0 included, printed in both bases"""
    expect(lab.rmctl_json(1, "show", "rfm0")["node"] == 0x11, "machine 1 is not node 0x11")
    expect("0x11 (17)" in lab.out(1, "rmctl", "list"), "not printed as 0x11 (17)")
    expect(lab.rmctl_json(2, "show", "rfm0")["node"] == 0, "machine 2 is not node 0")


def size(lab):
    """--size and a --device-arg for one machine are obeyed"""
    expect(lab.rmctl_json(1, "show", "rfm0")["memory_size"] == 128 << 20, "not 128 MiB")
    expect(lab.rmctl_json(2, "show", "rfm0")["window_size"] == 16 << 20, "not a 16 MiB window")
    expect(lab.rmctl_json(1, "show", "rfm0")["window_size"] == 128 << 20, "machine 1 changed too")


def kernel_args(lab):
    """--kernel-args reaches the kernel"""
    expect("rmlab.test=1" in lab.out(1, "cat", "/proc/cmdline"), "not on the command line")


def no_driver(lab):
    """--driver none: nothing of ours is loaded, the card has no extension; --reserve: a hole, where status says"""
    with Lab("rmlab-none", 1, "--driver", "none", "--reserve", "16M") as bare:
        state = json.loads(rmlab("status", "--name", bare.name, "-j").stdout)
        hole = state["reserved"]
        expect((state["driver"], hole["size"]) == ("none", 16 << 20), f"{state}")
        last = hole["address"] + hole["size"] - 1
        expect(f"{hole['address']:08x}-{last:08x} : Reserved" in bare.out(1, "cat", "/proc/iomem"),
               f"no hole at {hole['address']:#x}")
        shown = rmlab("status", "--name", bare.name).stdout
        expect("no driver" in shown and f"16M of memory reserved at {hole['address']:#x}\n" in shown, shown)
        expect("rfm" not in bare.out(1, "cat", "/proc/modules"), "a module of ours is loaded")
        card = "/sys/bus/pci/devices/0000:01:00.0/"
        expect(bare.out(1, "cat", f"{card}device") == "0x5565", "no card")
        expect(bare.run(1, "test", "-e", f"{card}driver", check=False).returncode == 1, "the card has a driver")
        bars = bare.out(1, "cat", f"{card}resource").splitlines()
        expect([int(bar.split()[0], 0) != 0 for bar in bars[:6]] == [True] * 4 + [False] * 2, f"{bars}")
        # A driver of that kind transfers from and to the hole, and makes nobody a bus master.
        bare.run(1, "insmod", PROGRAMS + "foreign.ko", f"buffer={hole['address']:#x}")
        bare.run(1, PROGRAMS + "foreign_test", "-t", "/dev/foreign1")
    status = json.loads(rmlab("status", "--name", lab.name, "-j").stdout)
    expect((status["driver"], status["reserved"]) == ("rfm", None), f"{status}")


def qmp(lab):
    """qmp prints what QEMU answers; a wrong command fails with QEMU's sentence"""
    expect(lab.qmp(1, "query-status")["status"] == "running", "not running")
    done = lab.verb("qmp", 1, "no-such-command", check=False)
    expect(done.returncode == 1 and "no-such-command" in done.stderr, str(done))


def status(lab):
    """status -j is JSON and names every machine"""
    state = json.loads(rmlab("status", "--name", lab.name, "-j").stdout)
    expect(len(state["nodes"]) == 2, str(state))


def log(lab):
    """log prints a machine's console"""
    lab.run(1, "sh", "-c", "echo a mark on the console >/dev/console")
    wait_for("it is there", lambda: "a mark on the console" in lab.verb("log", 1).stdout)


def wrong_usage(lab):
    """Wrong usage: one sentence, status 2, nothing changed"""
    other = f"{lab.name}-wrong"
    for words in (["up", "--size", "32M"], ["up", "--nodes", "0"], ["up", "--ids", "1,x"],
                  ["up", "--ids", "256"], ["up", "--driver", "ours"], ["up", "--reserve", "16"],
                  ["up", "--reserve", "0M"], ["up", "--reserve", "2000M"], ["fly"]):
        done = rmlab(*words, "--name", other, check=False)
        expect(done.returncode == 2 and done.stderr.strip(), f"{words}: {done}")
        expect("Traceback" not in done.stderr, f"{words}: {done.stderr}")
    with tempfile.NamedTemporaryFile() as image:
        image.write(b"QFI\xfb")
        image.flush()
        words = ["up", "--nodes", "1", "--rdma", "--image", f"1={image.name}", "--name", other]
        done = rmlab(*words, check=False)
        expect(done.returncode == 2 and "--ethernet gives" in done.stderr, str(done))
    missing = rmlab("exec", "--name", lab.name, "9", "--", "true", check=False)
    expect(missing.returncode == 2 and "9" in missing.stderr, str(missing))
    bare = rmlab("exec", "--name", lab.name, "1", "true", check=False)
    expect(bare.returncode == 2 and "'--'" in bare.stderr, str(bare))
    none = rmlab("status", "--name", other, check=False)
    expect(none.returncode == 1 and other in none.stderr, f"a lab has come up: {none}")


def fibres(lab):
    return [node["fibre"] for node in json.loads(rmlab("status", "--name", lab.name, "-j").stdout)["nodes"]]


def cut(lab):
    """cut takes the light of one machine only, restore gives it back"""
    def signal_of(node):
        return lab.rmctl_json(node, "list")[0]["signal"]

    def whole():
        for node in lab.nodes:
            lab.test_ring(node)

    def losses():
        return [lab.rmctl_json(node, "show", "rfm0")["sync_losses"] for node in lab.nodes]

    before = losses()
    lab.verb("restore", 2)
    whole()
    expect(losses() == before, "a restore without a cut has cut it")
    lab.verb("cut", 2)
    wait_for("machine 2 is dark", lambda: not signal_of(2))
    expect(fibres(lab) == ["whole", "cut"], f"status says {fibres(lab)}")
    shown = rmlab("status", "--name", lab.name).stdout.splitlines()
    expect([" is cut" in line for line in shown] == [False, False, True], f"status prints {shown}")
    expect(signal_of(1), "machine 1 has lost its light too")
    expect(lab.run(1, "rmctl", "test", "rfm0", check=False).returncode == 1, "the ring is closed")
    lab.verb("restore", 2)
    lab.verb("restore", 2)
    whole()
    expect(fibres(lab) == ["whole", "whole"], f"status says {fibres(lab)}")
    expect(losses() == [before[0], before[1] + 1], f"{before} losses of signal, then {losses()}")


def not_on_a_chain(lab):
    """migrate: a machine whose fibres end at its neighbours stays where it is, and why is said"""
    pid = lab.pid(1)
    done = lab.verb("migrate", 1, check=False)
    expect(done.returncode == 1 and "--topology hub" in done.stderr and lab.pid(1) == pid, str(done))


def same_ids(lab):
    """up: equal node ids are warned of"""
    done = rmlab("up", "--name", f"{lab.name}-other", "--ids", "1,7,7", "--kernel", "/none", check=False)
    expect("machines 2, 3 have the same node id, 0x7 (7)" in done.stderr, str(done))


def started_once(lab):
    """Of several that start a machine at once, one does"""
    lab.verb("kill", 2)
    expect(fibres(lab) == ["whole", None], f"status says {fibres(lab)} when machine 2 is dead")
    several = [subprocess.Popen([RMLAB, "start", "--name", lab.name, "2"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    wait_for("its fibre can be cut", lambda: not lab.verb("cut", 2, check=False).returncode)
    told = sorted(one.communicate(timeout=300)[1] for one in several)
    expect(sorted(one.returncode for one in several) == [0, 1, 1, 1, 1, 1], f"{told}")
    expect(not told[0] and all("is being started already" in line or "is running" in line for line in told[1:]),
           f"{told}")
    folder = Path(json.loads(rmlab("status", "--name", lab.name, "-j").stdout)["nodes"][1]["qmp"]).parent
    machines = list(process.with_argument_in(folder, {"qemu-system-x86_64"}))
    expect(len(machines) == 2, f"{len(machines)} machines name the second one's socket, not it and its neighbour")
    expect(fibres(lab) == ["whole", "cut"], f"status says {fibres(lab)} when it was cut while it booted")
    lab.verb("restore", 2)
    lab.run(2, "true")


def gone_at_once(lab):
    """A process that was gone before its start time could be read does not count as running"""
    with subprocess.Popen(["true"]) as child:
        child.wait()
        expect(not process.is_alive(child.pid, process.start_time(child.pid)), "it does")


def begins_too_late(_):
    """up: of machines side by side one that only begins when the others are given up is ended, too"""
    given_up, begun, ended = threading.Event(), threading.Event(), threading.Event()

    def work(late):
        if not late:
            raise labkit.Failed("it does not boot")
        given_up.wait(PATIENCE_S)
        begun.set()
        expect(ended.wait(PATIENCE_S), "it runs on")
        return True

    def give_up(_):
        (ended if begun.is_set() else given_up).set()

    try:
        process.at_once(work, [False, True], give_up)
    except labkit.Failed as error:
        expect(str(error) == "it does not boot", f"{error}")
    expect(ended.is_set(), "it was not ended")


def not_reached(_):
    """exec: 255 and one sentence where the machine does not run, is not ready, or lets nobody in"""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, f"rmlab-{os.getuid()}", "default")
        (folder / "1").mkdir(parents=True)
        folder.parent.chmod(0o700)
        (folder / "lab.json").write_text(json.dumps({
            "maker": [1, 0], "kernel": "none", "accel": "tcg", "keys": top, "hub": None,
            "machines": [{"number": 1, "node_id": 1, "command": []}]}))
        runs = {"pid": os.getpid(), "started": process.start_time(os.getpid())}
        for run_of, why in (({}, "is not running"), (runs, "is not ready"),
                            ({**runs, "ssh_port": free_ports(1)[0]}, "lets nobody in")):
            (folder / "1" / "run.json").write_text(json.dumps(run_of))
            done = subprocess.run([RMLAB, "exec", "1", "--", "true"], env={**os.environ, "XDG_RUNTIME_DIR": top},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            expect(done.returncode == 255 and why in done.stderr and done.stderr.count("\n") == 1, f"{done}")


def not_trusted(lab):
    """Every verb refuses a folder that is somebody else's, or that others can write; nothing there is run"""
    with tempfile.TemporaryDirectory() as top:
        base, ran = Path(top, f"rmlab-{os.getuid()}"), Path(top, "ran")
        (base / "default" / "1").mkdir(parents=True)
        (base / "default" / "lab.json").write_text(json.dumps({
            "maker": [1, 0], "kernel": "none", "accel": "tcg", "keys": top, "hub": None,
            "machines": [{"number": 1, "node_id": 1, "command": ["touch", str(ran)]}]}))
        spoilt = [(lambda: base.chmod(0o777), "can be written by others"),
                  (lambda: (base.rename(f"{base}.real"), base.symlink_to(f"{base}.real")), "no folder of yours")]
        if not os.getuid():
            spoilt.insert(1, (lambda: (base.chmod(0o700), os.chown(base, 1, 1)), "no folder of yours"))
        for spoil, why in spoilt:
            spoil()
            for verb in ("status", "up", "down", "start 1", "exec 1 -- true", "shell 1", "log 1", "kill 1",
                         "cut 1", "restore 1", "qmp 1 query-status", f"push 1 {__file__} /x", "pull 1 /x /x"):
                done = subprocess.run([RMLAB, *verb.split()], env={**os.environ, "XDG_RUNTIME_DIR": top},
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
                expect(done.returncode == 1 and why in done.stderr and not ran.exists(), f"{verb}: {done}")


def own_command_line(lab):
    """The card's page: its command line boots the image, and its ssh leads into the machine"""
    text = (TOP / "qemu-device" / "docs" / "system" / "devices" / "rfm5565.rst").read_text()
    boot, enter = (text[text.index(f"    {start}"):].split("\n\n")[0]
                   for start in ("build/qemu/qemu-system-x86_64", "ssh -p"))
    port, = map(str, free_ports(1))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as console:
        command = boot.replace("5522", port).replace("/tmp/node1", f"{folder}/node1")
        expect(port in command and folder in command and "5522" in enter, f"{command} {enter}")
        with subprocess.Popen(["sh", "-c", f"exec {command.strip()}"], cwd=TOP, stdin=subprocess.DEVNULL,
                              stdout=console, stderr=console) as qemu:
            def entered():
                expect(qemu.poll() is None, "QEMU has ended")
                done = subprocess.run(["sh", "-c", enter.strip().replace("5522", port)], cwd=TOP, check=False,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True)
                return not done.returncode

            try:
                wait_for("ssh leads into the machine, whose ring passes its test", entered, 240)
            finally:
                qemu.kill()
                console.seek(0)
                print("".join(f"# {line}" for line in console.readlines()[-5:]), end="")


def side_by_side(lab):
    """A second lab runs beside the first; down leaves nothing of it, also after a crash"""
    with Lab("rmlab-second", 1) as second:
        expect(second.rmctl_json(1, "show", "rfm0")["node"] == 1, "second lab does not work")
        lab.run(1, "true")
        machine = json.loads(rmlab("status", "--name", second.name, "-j").stdout)["nodes"][0]
        folder = Path(machine["qmp"]).parent.parent
        expect(folder.name == second.name and folder.exists(), f"not its folder: {folder}")
        os.kill(machine["pid"], signal.SIGKILL)
        rmlab("down", "--name", second.name)
        left = processes_with(second.name)
        expect(not left, f"processes left: {left}")
        expect(not folder.exists(), f"left behind: {folder}")


TESTS = [exec_is_transparent, at_once, goes_on_after_a_kill, push_and_pull, push_makes_the_folder,
         programs_of_yours, image_is_small, ids, size, kernel_args, no_driver, qmp, status, log, cut,
         wrong_usage, same_ids, not_on_a_chain, gone_at_once, begins_too_late, not_reached, not_trusted, started_once,
         own_command_line, side_by_side]


def main():
    plan(TESTS)
    with Lab("rmlab", 2, "--ids", "0x11,0", "--size", "128M", "--kernel-args", "rmlab.test=1",
             "--device-arg", "2:window=16M") as lab:
        failed = run(TESTS, lab)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
