# SPDX-License-Identifier: MIT
"""The suites that scripts/test-all runs: which, in which tier, and how long each may take.

docs/testing.md says which to run for which change.
"""

import os
from dataclasses import dataclass

# Each tier holds the ones before it, but for `long`, which stands for itself.
TIERS = ["quick", "test", "check", "long"]


@dataclass(frozen=True)
class Suite:
    name: str
    tier: str
    seconds: int        # that it takes on two quiet cores: the longest begin first
    minutes: int        # one that takes longer is stopped and has failed
    command: list
    what: str
    alone: bool = False     # nothing runs beside it: it measures, or it takes the whole machine
    whole: str = None       # the suite of a later tier that runs this one's tests, and more


def system(name, tier, seconds, minutes, what, *args, **options):
    """A suite of tests/system; what is behind a colon in its name says which part it is."""
    script = name.split(":")[0]
    return Suite(name, tier, seconds, minutes, [f"tests/system/{script}.py", *args], what, **options)


def driver(part, tier, seconds, minutes, what):
    return system(f"driver:{part}", tier, seconds, minutes, "the driver: " + what, part)


def long(name, minutes, what, *args):
    return system(name, "long", minutes * 60, minutes, what, "--long", *args, alone=True)


FUZZED = "the frame decoder, a node, its operations at others, a hub and the parser of regions"

SUITES = [
    # --- no machine is booted ---
    Suite("lint", "quick", 5, 20, ["scripts/lint"], "style and static checks",
          whole="lint:all"),
    Suite("lint:all", "check", 15, 20, ["scripts/lint", "--fetch"],
          "style and static checks, those included whose rules must be fetched first"),
    Suite("unit", "quick", 70, 20, ["make", "-C", "tests/unit", "-s", "-k", f"-j{os.cpu_count()}", "-Otarget", "tap"],
          "the ring and the tools' parsers, on the host"),
    Suite("warnings", "quick", 30, 10, ["tests/warnings"],
          "the driver at W=1 and under sparse, without a warning"),
    Suite("completion", "quick", 5, 3, ["tests/completion"],
          "what bash completes of rmctl's command line"),
    system("regions", "quick", 10, 5,
           "rmctl regions: files are checked, converted and come back the same"),

    *(Suite(f"analyse:{which}", "check", seconds, 20, ["tests/analyse", which], what)
      for which, seconds, what in (
          ("coccinelle", 60, "the kernel's semantic patches on the driver"),
          ("gcc", 40, "gcc -fanalyzer on ring and tools"),
          ("clang-tidy", 90, "clang-tidy and clang's analyser on ring and tools"))),
    Suite("model", "test", 30, 10,
          ["tests/model/run", "faults-2", "open-3", "redundant-3", "cut-for-good-3",
           "rogue-death-2", "packet-faults-3", "answers-3", "no-lives", "store-first",
           "judged-after", "packets-first", "answers-without-slot", "taking-waits"],
          "the ring as a model: a loss, a cut, a death, packets, six wrong rings",
          whole="model:all"),
    Suite("model:all", "check", 75, 15, ["tests/model/run"],
          "the ring as a model, exhaustively; wrong rings fail"),
    Suite("fuzz", "test", 50, 10, ["tests/fuzz/run", "--runs", "100000"],
          "a hundred thousand inputs to " + FUZZED,
          whole="fuzz:1m"),
    Suite("fuzz:1m", "check", 60, 15, ["tests/fuzz/run"],
          "a million inputs to " + FUZZED),
    Suite("qtest", "test", 60, 15, ["tests/run-qtest"], "every register of the card, without a guest"),
    Suite("vmstate", "check", 5, 3, ["tests/vmstate"],
          "the card takes a state that the last one has saved"),
    system("protocol", "test", 10, 10,
           "a second implementation, written from docs/ring-protocol.md"),
    system("capture", "test", 10, 10, "capture files, and what tshark shows of them"),
    system("rmnode", "test", 20, 10, "members without machines, from the shell"),
    system("remote", "test", 90, 15, "operations at one node, and a late joiner that gets what it lacks"),
    system("tap", "test", 15, 10, "rmnode --tap: hosts on the Ethernet of the ring, each a network namespace"),
    system("remote_cards", "test", 60, 20, "operations at one node, of cards and their tools",
           "--brief", whole="remote_cards:all"),
    system("remote_cards:all", "check", 150, 25,
           "operations at one node, of cards and their tools; a lock; a machine that died is made whole"),
    system("publish", "test", 10, 10, "rmnode --publish: values of every type as OpenMetrics, and what is refused",
           "--brief", whole="publish:all"),
    system("publish:all", "check", 60, 10,
           "the same; and what Prometheus, its linter and an MQTT broker get"),
    system("library", "test", 10, 10,
           "librfm, librfm2g and librfmring as they are installed, for programs outside",
           "--brief", whole="library:all"),
    system("library:all", "check", 25, 10,
           "the same; and programs compiled with a library go on with one that has grown"),
    system("abi", "quick", 10, 5,
           "programs that were linked with the libraries of before go on with these"),
    system("dist", "check", 70, 15, "`make dist`, and what builds of it where git has nothing to say"),
    system("inprocess", "test", 20, 10,
           "librfm's and librfm2g's tests and examples without a card, every node in a process"),
    system("python", "test", 20, 10, "the Python package, on rings in the process", "--brief", whole="python:all"),
    system("python:all", "check", 90, 30,
           "the same; the package's types, examples, guide, notebook, reference and wheel; jitter's plot"),
    system("hub", "test", 50, 10, "the fibre hub: bypass, cascades, the same faults each time"),
    system("litmus", "test", 30, 10,
           "ordering on rings of processes, some thousand rounds of each test"),
    system("litmus:million", "check", 600, 60,
           "a million rounds of each test with packets or a lock, over six rings", "--packets", "1000000"),
    system("big", "test", 20, 10, "many members, and rings that are full"),
    system("faults", "test", 30, 10, "frames that get lost, and members that die"),
    system("forward", "test", 5, 5, "a card forwards what others send, whatever its guest does"),
    system("ui", "test", 30, 10, "rmlab ui: what it tells browsers of a ring, whom it answers, and slow ones",
           "--brief", whole="ui:all"),
    system("ui:all", "check", 180, 15, "the same; what a headless browser shows, and what looking costs"),
    system("peers", "test", 80, 10, "peers that do not keep to the protocol",
           "--brief", whole="peers:all"),
    system("peers:all", "check", 110, 10,
           "peers that do not keep to the protocol, beside a ring in QEMU's main loop too"),

    # --- in machines ---
    system("rmlab", "test", 90, 10, "the lab tool's contract"),
    system("run", "test", 30, 10, "rmlab run: a lab from a file, and its verdict"),
    system("ui:machines", "check", 40, 15, "rmlab ui: a lab of machines, in a headless browser", "machines"),
    system("run:machines", "check", 20, 10, "rmlab run: a machine and an rmnode on one ring", "machines"),
    system("saved", "check", 100, 20, "a whole lab is saved, and labs go on from there"),
    system("rmctl", "test", 100, 30, "every verb of rmctl, good and bad input"),
    system("burst", "test", 40, 10, "a range in which stores do not trap, on two machines"),
    system("rmctl_memory", "test", 70, 10,
           "the verbs of rmctl for the memory: fill, load, diff, trace, watch, top, ..."),
    system("verify", "test", 80, 20,
           "rmctl verify: where the memories of a ring differ is found, to the byte"),
    driver("calls", "test", 20, 15, "what a program can call"),
    driver("events", "test", 30, 15, "interrupts, watches, and what monitors are told"),
    driver("dma", "test", 160, 15, "long transfers, on all kinds of card"),
    driver("gone", "test", 50, 15, "cards and buffers that are taken away under their users"),
    driver("crowd", "test", 20, 10, "others run while a crowd of listeners is told"),
    driver("intx", "check", 60, 15, "without messages; and a neighbour that stands still"),
    driver("endless", "test", 70, 10, "a DMA engine that does not stop"),
    driver("iommu", "check", 40, 20, "long transfers behind an IOMMU"),
    driver("still", "check", 40, 10, "a machine that stands still under a transfer"),
    driver("none", "check", 60, 15, "cards that receive only what somebody has subscribed to"),
    driver("slices", "check", 60, 15, "long transfers, in the shortest and longest slices"),
    Suite("netlink", "test", 15, 20, ["tests/system/netlink.py", "--brief"],
          "the netlink family: damaged messages, and settings that change all the time",
          whole="netlink:50k"),
    Suite("netlink:50k", "check", 60, 20, ["tests/check-debug", "--if-built", "netlink"],
          "the same, with fifty thousand messages, and with damaged calls"),
    system("spine", "test", 60, 20, "three machines share a memory"),
    system("tls", "check", 60, 10,
           "links with TLS: who is let in, who is not and why, cuts, forged frames, a storm"),
    system("cards", "test", 30, 10, "odd rings: other sizes, TCP, same ids, garbage"),
    system("subscribe", "test", 20, 20,
           "subscriptions, watches and interrupt storms on three machines"),
    system("examples", "test", 50, 20,
           "librfm's examples: what they print, how they end, and how the loop keeps level"),
    system("hublab", "test", 25, 10,
           "machines on a fibre hub, and a program in a container without privileges beside them"),
    system("migrate", "test", 50, 15,
           "a machine in mid-traffic moves, is saved, and goes back: all goes on, and the books agree",
           "--brief", whole="migrate:all"),
    system("migrate:all", "check", 60, 15, "the same, moving twice"),
    system("foreign", "test", 15, 15,
           "a driver that is none of ours, and rfm.ko before and after it", "5", whole="foreign:100"),
    system("foreign:100", "check", 180, 30, "the same, a hundred times in turn"),
    system("registers", "test", 10, 10,
           "which registers of a 5565 the driver touches: those of docs/real-card.md, and no other"),
    *(system(f"guests:{release}", "long", 1200, 120,
             f"a stock Debian {number} boots, takes the packages and a newer kernel, runs a program", release)
      for release, number in (("bookworm", 12), ("trixie", 13))),
    system("ethernet", "check", 90, 15, "a network card on the ring: jumbo frames, TCP beside stores, cuts, a pull"),
    system("ethernet:rdma", "check", 300, 30,
           "RDMA on the ring: verbs programs, iWARP, disks and a folder of another machine, cuts", "rdma"),
    system("libvirt", "check", 120, 30, "machines as domains of libvirt: started, saved, stopped"),
    system("hosts", "check", 180, 40,
           "a ring over two hosts: delay, loss, a cut that nobody is told of, a machine that moves"),
    system("monitor", "test", 30, 20,
           "everything that rmctl monitor tells of is made to happen, and what show makes of it"),
    system("readme", "test", 50, 10, "the commands of README.md"),
    *(Suite(f"guides:{guide}", tier, seconds, 60, ["tests/system/readme.py", f"docs/{guide}.md"],
            f"the commands of docs/{guide}.md")
      for guide, tier, seconds in (("five-minutes", "check", 30), ("nightly", "check", 20), ("own-guest", "check", 400),
                                   ("hosts", "check", 20), ("ui", "check", 20), ("realtime", "long", 120))),
    system("kvm", "check", 40, 10, "the driver warns of AVX under KVM"),

    # --- what measures ---
    system("bench", "check", 30, 10, "costs of loads and stores", alone=True),
    system("bulk", "check", 30, 10, "large blocks, beside bare queues and copies", alone=True),
    system("wakeup", "check", 30, 10,
           "from a store to a sleeper that wakes up, beside a datagram", alone=True),
    system("rmbench", "check", 60, 10,
           "what a hop and a frame cost: a short run, its figures", alone=True),
    Suite("make-bench", "check", 150, 20, ["tests/bench/smoke.py"],
          "make bench, one round: every contender is there, and the report is whole", alone=True),

    # --- hours ---
    *(long(f"litmus:{topology}-{nodes}{part}", 20,
           f"ten million rounds of {tests}, {nodes} nodes, {topology}",
           topology, str(nodes), *tests.split())
      for topology, nodes, part, tests in (
          ("daisy", 2, "", "MP MP+I CoRR SB 2W"), ("daisy", 3, "", "MP MP+I CoRR WRC ISA2 SB 2W"),
          ("daisy", 8, "-a", "MP MP+I CoRR SB"), ("daisy", 8, "-b", "WRC ISA2 2W IRIW"),
          ("hub", 2, "", "MP MP+I CoRR SB 2W"), ("hub", 3, "", "MP MP+I CoRR WRC ISA2 SB 2W"),
          ("hub", 8, "-a", "MP MP+I CoRR SB"), ("hub", 8, "-b", "WRC ISA2 2W IRIW"),
          ("streams", 3, "", "MP MP+I CoRR WRC ISA2 SB 2W"))),
    *(system(f"litmus:packets-{topology}-{nodes}", "long", 900, 60,
             f"packets and locks on {nodes} nodes, {topology}: its share of ten million rounds of "
             "each test, over six rings", "--packets", "10000000", topology, str(nodes), alone=True)
      for topology, nodes in (("daisy", 2), ("daisy", 3), ("daisy", 8),
                              ("hub", 2), ("hub", 3), ("hub", 8), ("streams", 3))),
    long("big:members", 20, "256 members without machines share 2 MiB for a minute", "members"),
    long("big:saturation", 20, "16 nodes store as fast as they can for a minute", "saturation"),
    long("remote:sums", 120, "sixteen nodes add a hundred thousand times each to one word on a bad ring", "sums"),
    long("remote:resyncs", 10, "a hundred times a node comes late and gets 64 MiB while three others store", "resyncs"),
    long("inprocess:rfm2g", 10,
         "a hundred thousand rounds of a sender and a receiver for the vendor's API"),
    long("hublab:pair", 20,
         "a hundred thousand rounds between a container without privileges and a machine, each way"),
    long("faults:hub", 20, "100 members die on a hub", "hub"),
    long("faults:daisy", 20, "100 members die on a daisy chain", "daisy"),
    Suite("fuzz:10m", "long", 500, 120, ["tests/fuzz/run", "--runs", "10000000"],
          "ten million inputs to " + FUZZED,
          alone=True),
    Suite("fuzz-card", "long", 3600, 120, ["tests/fuzz-card"],
          "an hour of QEMU's fuzzer on every BAR of three cards, and of random accesses, under "
          "sanitizers", alone=True),
    long("rmbench:targets", 20, "what a hop and a frame cost, against the targets of rmbench(1)",
         "targets"),
    long("driver:200", 60, "200 unbinds, 200 unplugs, 200 of each kind of buffer that goes",
         "gone", "load"),
    long("subscribe:long", 30, "ten thousand masks, ten million updates"),
    Suite("check-debug", "long", 3000, 90, ["tests/check-debug"],
          "the driver's suite on a kernel with KASAN, UBSAN, lockdep, kmemleak and KCOV",
          alone=True),
    Suite("check-debug:200", "long", 4300, 240,
          ["tests/check-debug", "driver", "--long", "gone", "load"],
          "200 unbinds, 200 unplugs, 200 of each kind of buffer that goes, on that kernel",
          alone=True),
    *(Suite(f"netlink:{part}", "long", 1200, 60, ["tests/check-debug", "netlink", "--long"],
            "100,000 messages to the netlink family on the debug kernel, six minutes of calls, "
            "both damaged, and its settings in a storm", alone=True)
      for part in range(1, 11)),
    long("spine:million", 60, "a million rounds of three-node causality"),
    Suite("in-tree", "long", 1000, 30, ["tests/in-tree"],
          "the card built the upstream way, in QEMU's own tree", alone=True),
    Suite("kernels", "long", 2400, 120, ["tests/kernels"],
          "the driver builds for the kernels that people run without a warning, and works there",
          alone=True),
    Suite("packages", "long", 1200, 120, ["tests/packages", "--qemu"],
          "Debian packages in clean Debian 12 and 13 roots, from their source until nothing is left",
          alone=True),
    Suite("clean-root:container", "long", 600, 60, ["tests/clean-root", "container"],
          "scripts/Containerfile in a bare Debian 12, and a job of CI in it", alone=True),
    Suite("clean-root", "long", 600, 60, ["tests/clean-root"],
          "`make demo` and `make test` on a bare Debian 12", alone=True),
]
