# SPDX-License-Identifier: MIT
"""What a card costs a machine that does nothing, and a member its process: memory, and time of a CPU."""

import contextlib
import subprocess
import tempfile
import time
from pathlib import Path

from contenders import Contender, of_samples
from suite import TOP, wait_for

RMNODE = TOP / "build" / "tools" / "rmnode"
WINDOWS = 5             # of so many seconds as a contender has
MEMBERS = 2


def cpu_ns(pid):
    """What all its threads that run now have had."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):      # it has ended
            total += int(path.read_text().split()[0])
    return total


def resident(pid):
    """Bytes; what several share counts in parts."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} has no memory")


def cpu_percent(pid, seconds):
    """Of one core, in each of some windows."""
    samples = []
    for _ in range(WINDOWS):
        before, begun = cpu_ns(pid), time.monotonic_ns()
        time.sleep(seconds)         # this is what is measured
        samples.append((cpu_ns(pid) - before) * 100 / (time.monotonic_ns() - begun))
    return samples


def idle(key, what, pid, seconds):
    return {f"{key}-cpu": of_samples(f"CPU of {what}", "% of a core", cpu_percent(pid, seconds)),
            f"{key}-memory": of_samples(f"memory of {what}", "MiB", [resident(pid) / (1 << 20)])}


class Member(Contender):
    name = "an idle member without a machine"

    def measure(self):
        with tempfile.TemporaryDirectory(prefix="rfm-bench.") as folder:
            members = []
            try:
                for number in range(MEMBERS):
                    rx, tx = (f"unix:{folder}/{n % MEMBERS}" for n in (number, number + 1))
                    members.append(subprocess.Popen([RMNODE, "--id", str(number), "--memory", "64M", "--tx", tx,
                                                     "--rx", f"{rx},server", "--control", f"{folder}/c{number}"],
                                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                wait_for("the members are there", lambda: Path(f"{folder}/c0").exists())
                subprocess.run([RMNODE, "-S", f"{folder}/c0", "wait", "-n", str(MEMBERS - 1)], check=True,
                               capture_output=True, timeout=60)
                return idle("member", "an idle member, 64 MiB", members[0].pid, self.seconds)
            finally:
                for member in members:
                    member.kill()
                    member.wait()


def card(lab, seconds):
    """The last of a run: the card of machine 2 is pulled out for it."""
    pid = lab.pid(2)
    figures = idle("card", "an idle machine with a card", pid, seconds)
    lab.qmp(2, "device_del", id="rfm0")
    wait_for("it is gone", lambda: not any(
        "rfm0" in one["name"] for one in lab.qmp(2, "qom-list", path="/machine/peripheral")))
    figures.update(idle("machine", "the same without", pid, seconds))
    return figures
