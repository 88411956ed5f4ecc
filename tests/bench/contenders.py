# SPDX-License-Identifier: MIT
"""What is measured: the card, and what people would use instead, each with its real driver and path.

Each contender is made ready once, and measured once a round, so that what else the host does meets all
of them. A figure is {"what", "unit", "samples", "minimum", "median", "p99", "maximum", "quantiles"}; it has
no p99 (None) of less than a hundred samples.
"""

import json
import re
import subprocess
from pathlib import Path

import measure
from ethernet import both
from suite import TOP

PROGRAMS = TOP / "build" / "bench" / "programs"
RMBENCH = TOP / "build" / "tools" / "rmbench"
MIB = 1 << 20
HUNDRED = 100
PORT_RXE = 18515
# A loopback of its own, so that it looks at no other network, and the one that joins the machines.
DDS_URI = ("<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"{}\"/></Interfaces></General>"
           "</Domain></CycloneDDS>")


def of_samples(what, unit, samples):
    """A figure of single values."""
    values = sorted(samples)

    def quantile(percent):
        return values[round((len(values) - 1) * percent / 100)]
    return {"what": what, "unit": unit, "samples": len(values), "minimum": values[0], "median": quantile(50),
            "p99": quantile(99) if len(values) >= HUNDRED else None, "maximum": values[-1], "quantiles": [quantile(percent) for percent in range(101)]}


def of_rmbench(rows):
    """The rows of rmbench card and net, and of those that print as they do, by name and size."""
    figures = {}
    for row in rows:
        key = f"{row['name']}-{row['bytes']}" if row["name"] in ("pwrite", "pread") else row["name"]
        figures[key] = {name: row[name] for name in ("what", "unit", "bytes", "samples", "minimum", "median", "p99",
                                                     "maximum", "quantiles")}
    return figures


def merged(figures):
    """One figure of those of several rounds, of which each counts as much."""
    first = figures[0]
    values = [value for figure in figures for value in figure["quantiles"]]
    figure = of_samples(first["what"], first["unit"], values)
    samples = sum(one["samples"] for one in figures)
    figure.update(minimum=min(one["minimum"] for one in figures), maximum=max(one["maximum"] for one in figures),
                  rounds=[one["median"] for one in figures], samples=samples,
                  p99=figure["p99"] if samples >= HUNDRED else None)
    return {**first, **figure}


class Contender:
    """One, on the lab's first two machines or beside them."""

    name = None         # for people

    def __init__(self, lab, seconds):
        self.lab, self.seconds = lab, seconds

    def prepare(self):
        """Once, before the first round."""

    def measure(self):
        """{key: figure} of a round."""
        raise NotImplementedError


# --- in one machine -------------------------------------------------------------------------

class Local(Contender):
    name = "the card, RAM, a no-op register and ivshmem, of one machine"
    FIGURES = "ram-load,load,register,store,lone-register,lone-store,ram-copy,copy,ivshmem-copy,fence"

    def measure(self):
        return of_rmbench(measure.card(self.lab, self.FIGURES, seconds=2 * self.seconds).values())


class Blocks(Contender):
    name = "blocks, by the card and by ivshmem"

    def measure(self):
        return of_rmbench(measure.card(self.lab, "pwrite,pread,stream", seconds=2 * self.seconds).values())


class Burst(Contender):
    """A part of the memory in which stores cost what RAM does. It is there only meanwhile, as scans cost CPU."""

    name = "memcpy() into a burst range"
    AT = 0x800000

    def measure(self):
        for node in (1, 2):
            self.lab.run(node, "rmctl", "set", "rfm0", f"burst={self.AT:#x}+8M")
        try:
            row = measure.card(self.lab, "memcpy", seconds=self.seconds, at=self.AT)["memcpy", MIB]
        finally:
            for node in (1, 2):
                self.lab.run(node, "rmctl", "set", "rfm0", "burst=off")
        return {"burst-copy": of_rmbench([row])["memcpy"]}


# --- from machine to machine ----------------------------------------------------------------

class Card(Contender):
    name = "the card's ways to the other machine"
    FIGURES = "poll,watch,watch-transit,watch-wake,interrupt"

    def measure(self):
        with measure.answering(self.lab):
            return of_rmbench(measure.card(self.lab, self.FIGURES, node=2, seconds=4 * self.seconds).values())


class Sockets(Contender):
    name = "UDP, to one and to a group, and TCP"

    def prepare(self):
        # It sleeps until it is asked: one for all rounds, as the next would find the port in use.
        self.answers = self.lab.start(2, "rmbench", "answer", measure.address(2), measure.PORT)
        self.answers.line()

    def measure(self):
        return of_rmbench(measure.net(self.lab, "udp,multicast,tcp", seconds=3 * self.seconds).values())


class Pushed(Contender):
    """One that needs a program of ours in the machines."""

    program = None

    def prepare(self):
        for node in (1, 2):
            for file in (PROGRAMS / self.program, *libraries(PROGRAMS / self.program)):
                if self.lab.run(node, "test", "-e", f"/tmp/bench/{file.name}", check=False).returncode:
                    self.lab.run(node, "mkdir", "-p", "/tmp/bench")
                    self.lab.verb("push", node, file.resolve(), f"/tmp/bench/{file.name}")

    def command(self, node, *words):
        return ["env", "LD_LIBRARY_PATH=/tmp/bench", *self.environment(node), f"/tmp/bench/{self.program}", *words]

    def environment(self, _node):
        return []

    def ask(self, answer, ask):
        """Both ends of it, for one round."""
        answers = self.lab.start(2, *self.command(2, "answer", *answer))
        try:
            answers.line()
            said = self.lab.out(1, *self.command(1, "ask", *ask), timeout=300)
        finally:
            self.lab.run(2, "killall", self.program, check=False)
            answers.stop()
        return of_rmbench(json.loads(said)["rows"])


def libraries(program):
    """Those that a guest has not got: all that are not the C library's."""
    said = subprocess.run(["ldd", program], text=True, capture_output=True, check=True).stdout
    found = [Path(path) for path in re.findall(r"=> (/\S+)", said)]
    return [path for path in found if not path.name.startswith(("libc.so", "ld-linux"))]


class Ivshmem(Pushed):
    name, program = "ivshmem-plain, polling", "contend"

    def measure(self):
        return self.ask(["ivshmem"], ["ivshmem", str(self.seconds)])


# The machines' IOMMU does not remap interrupts: vfio wants to hear that this is known. Of the two
# devices the one with an interrupt has a second BAR.
BIND = """set -e
modprobe vfio_iommu_type1 allow_unsafe_interrupts=1
modprobe vfio-pci
for device in /sys/bus/pci/devices/*; do
	[ "$(cat $device/vendor)$(cat $device/device)" = 0x1af40x1110 ] && [ -e $device/resource1 ] || continue
	echo vfio-pci >$device/driver_override
	basename $device >/sys/bus/pci/drivers_probe
	basename $device
done
"""


class Doorbell(Pushed):
    name, program = "ivshmem-doorbell, by vfio-pci and an eventfd", "contend"

    def prepare(self):
        super().prepare()
        self.device = {node: self.lab.out(node, "sh", "-c", BIND) for node in (1, 2)}

    def measure(self):
        return self.ask(["doorbell", self.device[2]], ["doorbell", str(self.seconds), self.device[1]])


class Dds(Pushed):
    name, program = "Cyclone DDS", "dds"

    def environment(self, node):
        return ["CYCLONEDDS_URI=" + DDS_URI.format(measure.address(node))]

    def measure(self):
        return self.ask([], [str(self.seconds)])


class Rxe(Contender):
    """perftest over rdma_rxe, on the network that UDP and TCP use.

    ib_send_lat sleeps until an event (-e), as the machines have one processor, which rdma_rxe needs. Those for WRITE
    look all the time: they have no events.
    """

    name = "RDMA WRITE and SEND, by rdma_rxe"
    LATENCY, BLOCKS = 300, 50       # how many of a round: some tenths of a second

    def prepare(self):
        for node in (1, 2):
            device = measure.lan_device(self.lab, node)
            self.lab.run(node, "rdma", "link", "add", "lan", "type", "rxe", "netdev", device)

    def measure(self):
        return {"rxe-write": self.latency("ib_write_lat", "RDMA WRITE until it is seen (rxe)"),
                "rxe-send": self.latency("ib_send_lat -e", "RDMA SEND until it is received (rxe)"),
                f"rxe-write-{MIB}": self.blocks()}

    def run(self, command):
        program = command.split()[0]
        command += " -d lan -x 1 -F"
        try:
            return both(self.lab, PORT_RXE, command, f"{command} {measure.address(1)}")
        finally:
            for node in (1, 2):         # one whose other end has failed waits for ever
                self.lab.run(node, "killall", program, check=False)

    def latency(self, program, what):
        said = self.run(f"{program} -n {int(self.LATENCY * self.seconds) + 10} -s 8 -U")
        microseconds = [float(value) for value in re.findall(r"^\d+, ([\d.]+)", said, re.MULTILINE)]
        return {"bytes": 8, **of_samples(what, "ns", [value * 1000 for value in microseconds])}

    def blocks(self):
        said = self.run(f"ib_write_bw -n {int(self.BLOCKS * self.seconds) + 5} -s {MIB}")
        megabytes = float(re.search(rf"^ *{MIB} +\d+ +[\d.]+ +([\d.]+)", said, re.MULTILINE)[1]) * MIB / 1e6
        return {"bytes": MIB, **of_samples("RDMA WRITE of 1 MiB (rxe)", "ns", [MIB / megabytes * 1000])}


# --- between processes of the host ----------------------------------------------------------

def rmbench(seconds, verb):
    done = subprocess.run([RMBENCH, "-j", "-s", str(max(1, seconds)), verb], text=True, capture_output=True,
                          timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["rows"]


def of_ring(row):
    """A row of rmbench ring and the like, of which each run has one value."""
    scale = 1000 if row["unit"].startswith("us") else 1
    return {"bytes": row["bytes"], **of_samples(f"{row['what']}, {row['nodes']} processes", "ns", [row["value"] * scale])}


class Processes(Contender):
    name = "a bare queue and a unix socket between processes, and a ring of two"

    def measure(self):
        queue, ring = rmbench(self.seconds, "pair")
        _, unix = rmbench(self.seconds, "handoff")      # the other is handoff-2 of Growth
        return {"bare-queue": of_ring(queue), "bare-ring": of_ring(ring), "unix-socket": of_ring(unix)}


class Growth(Contender):
    name = "rings of 2 to 256 processes"
    SECONDS = 6         # that sixteen measurements share

    def measure(self):
        keys = {"a bare eventfd hand-off": "handoff", "a hop of a lone store": "hop",
                "all nodes, saturated, round": "update"}
        rows = rmbench(self.SECONDS, "growth")
        return {f"{keys[row['what']]}-{row['nodes']}": of_ring(row) for row in rows if row["what"] in keys}


ALL = [Local, Blocks, Burst, Card, Sockets, Ivshmem, Doorbell, Dds, Rxe, Processes, Growth]


def ready(lab):
    """The network between the machines; the ring."""
    lab.test_ring(1)
    measure.connect(lab)
