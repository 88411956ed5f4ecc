#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which registers of a 5565 the driver touches: what docs/real-card.md lists, and no other. Prints TAP.

QEMU traces each access to the BARs of cards without the extension block, from before rfm.ko is loaded until
it has been unloaded, and in between all is done that the driver can do with such a card.
"""

import argparse
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from suite import (TOP, clean_kernels, device_of_node, expect, extra_cards, figure, plan, ring_of_two, run,
                   unload_driver, wait_for)
from labkit import Lab

PAGE = TOP / "docs" / "real-card.md"
BEGIN, END = (f"<!-- {what} of what tests/system/registers.py --write makes. -->\n" for what in ("Begin", "End"))

# The lab's own card is alone on its ring; two more, with a narrow window, are a ring of their own.
ALONE, NEAR, FAR = 1, 20, 21
MEMORY = 3                      # the BAR
BARS = {"runtime": (0, 0x200), "control": (2, 0x40), "memory": (MEMORY, None)}     # and their sizes
EVENTS = "memory_region_ops_*"
ACCESS = re.compile(r"memory_region_ops_(read|write) .* addr 0x([0-9a-f]+) .* size (\d+) name 'rfm5565-([^']+)'")

# The registers that documents name: BAR, offset, bytes, what may be done, name, where the documents say so,
# other widths that drivers of the vendor or in the field are known to use; heading in docs/fidelity.md.
BRIDGE, INTCSR, DMA = "BAR0 and BAR1: bridge", "INTCSR", "DMA"
BOARD, STATUS, LATCHES = "BAR2: control and status", "LCSR1", "LISR and LIER"
FIFOS, SENDING = "Sender FIFOs", "Network interrupts"
DOCUMENTED = {(bar, offset): rest for bar, offset, *rest in [
    (0, 0x08, 4, "RW", "MARBR", "T3-26 to T3-41", (), BRIDGE),
    (0, 0x0c, 1, "RW", "BIGEND", "T3-26 to T3-41", (4,), BRIDGE),
    (0, 0x18, 4, "RW", "LBRD0", "reserved; vendor's driver", (), BRIDGE),
    (0, 0x68, 4, "RW", "INTCSR", "T3-26 to T3-41", (), INTCSR),
    (0, 0x6c, 4, "RW", "CNTRL", "vendor's driver", (), BRIDGE),
    (0, 0x74, 1, "RO", "PCIHREV", "T3-26 to T3-41", (), BRIDGE),
    (0, 0x80, 4, "RW", "DMAMODE0", "T3-26 to T3-41", (), BRIDGE),
    (0, 0x84, 4, "RW", "DMAPADR0", "T3-26 to T3-41", (), BRIDGE),
    (0, 0x88, 4, "RW", "DMALADR0", "T3-26 to T3-41", (), BRIDGE),
    (0, 0x8c, 4, "RW", "DMASIZ0", "T3-26 to T3-41", (), BRIDGE),
    (0, 0x90, 4, "RW", "DMADPR0", "T3-26 to T3-41", (), BRIDGE),
    (0, 0xa8, 1, "RW", "DMACSR0", "T3-26 to T3-41, 3.4", (4,), DMA),
    (0, 0xac, 4, "RW", "MARBR", "T3-26 to T3-41", (), BRIDGE),
    (0, 0xb4, 4, "RW", "DMADAC0", "T3-26 to T3-41", (), BRIDGE),
    (0, 0xf0, 4, "RO", "LAS1RR", "T3-26 to T3-41, 3.6", (), BRIDGE),
    (0, 0xf4, 4, "RW", "LAS1BA", "T3-26 to T3-41, 3.6", (), BRIDGE),
    (2, 0x00, 1, "RO", "BRV", "T3-42", (), BOARD),
    (2, 0x01, 1, "RO", "BID", "T3-42", (), BOARD),
    (2, 0x02, 2, "RO", "BRB", "T3-42", (), BOARD),
    (2, 0x04, 1, "RO", "NID", "T3-42", (), BOARD),
    (2, 0x08, 4, "RW", "LCSR1", "T3-42, T3-43", (), STATUS),
    (2, 0x10, 4, "RW", "LISR", "T3-42, 3.3.6", (), LATCHES),
    (2, 0x14, 4, "RW", "LIER", "T3-42, T3-48", (), LATCHES),
    (2, 0x18, 4, "RW", "NTD", "T3-42, 3.3.9", (), BOARD),
    (2, 0x1c, 1, "RW", "NTN", "T3-42, 3.3.9", (2,), BOARD),
    (2, 0x1d, 1, "RW", "NIC", "T3-42, T3-49", (), SENDING),
    *((2, 0x20 + 8 * n, 4, "RO", f"ISD{n + 1}", "T3-42, 3.3.10", (), FIFOS) for n in range(4)),
    *((2, 0x24 + 8 * n, 1, "RW", f"SID{n + 1}", "T3-42, 3.3.10", (4,), FIFOS) for n in range(4)),
]}

# Interrupts of each kind; errors; what rmctl asks; the settings. $alone, $near and $far are devices.
USE = """set -e
for type in int1 int2 int3 int4 reset; do
	rmctl send $far NEAR $type; rmctl listen $near $type -n 1
	rmctl send $near all $type; rmctl listen $far $type -n 1
done
rmctl send $far NEAR int1; rmctl listen $near int1 int2 int3 int4 reset --discard -t 10ms
for card in $alone $near $far; do rmctl show $card; rmctl stats $card; rmctl test $card -t 10; done
for name in led transmit loopback dark-on-dark parity byte-swap dma-byte-swap; do
	before=$(rmctl set $near | sed -n "s/^$name  *//p")
	for value in on off $before; do rmctl set $near $name=$value; done
done
for setting in own-data=off window=16M window=0 offset=64M offset=0; do rmctl set $near $setting; done
rmctl set $alone parity=on; dd if=/dev/zero of=/dev/$alone bs=1 count=1
rmctl listen $alone write-inhibited -n 1; rmctl set $alone parity=off
"""

# Each width alone, then long and short together, by DMA and without. While bytes are swapped the card
# takes loads as well; else it shows its memory, and QEMU has nothing to trace.
MOVE = """set -e
for swap in on off; do
	rmctl set $alone byte-swap=$swap
	for width in 1 2 4 8; do
		dd if=/dev/zero of=/dev/$alone bs=$width count=1; dd if=/dev/$alone of=/dev/null bs=$width count=1
	done
	for length in 1000 100001 1048576; do
		dd if=/dev/zero of=/dev/$alone bs=$length count=1; dd if=/dev/$alone of=/dev/null bs=$length count=1
	done
done
"""

# All devices of the machine are suspended and resumed, but no processor stops.
SLEEP = """set -e
cd /sys/power
echo 0 >/sys/module/suspend/parameters/pm_test_delay
echo devices >pm_test; echo freeze >state; echo none >pm_test"""


class Cards:
    def __init__(self, lab, log):
        self.lab, self.log = lab, Path(log)
        self.done = 0           # of what the cards go through

    def device(self, node):
        return device_of_node(self.lab, 1, node)

    def run(self, script):
        names = {name: self.device(node) for name, node in
                 (("alone", ALONE), ("near", NEAR), ("far", FAR))}
        self.lab.run(1, "sh", "-c", " ".join(f"{name}={device}" for name, device in names.items())
                     + "; " + script.replace("NEAR", str(NEAR)))

    def nodes(self):
        return {card["node"] for card in self.lab.rmctl_json(1, "list") if card["signal"]}

    def come_back(self, *nodes):
        wait_for("the cards are there", lambda: self.nodes() >= set(nodes))
        for node in nodes:
            self.lab.test_ring(1, self.device(node))

    def load(self):
        self.lab.run(1, "sh", "-c", "insmod /lib/modules/$(uname -r)/rfm.ko")
        self.come_back(ALONE, NEAR, FAR)

    def where(self, node=ALONE):
        return self.lab.rmctl_json(1, "show", self.device(node))["pci"]

    def bind(self, verb, where):
        self.lab.run(1, "sh", "-c", f"echo {where} >/sys/bus/pci/drivers/rfm/{verb}")

    @contextmanager
    def traced(self):
        def trace(enable):
            self.lab.qmp(1, "trace-event-set-state", name=EVENTS, enable=enable)
        trace(True)
        try:
            yield
        finally:
            trace(False)

    def accesses(self):
        """What was traced: how each (BAR, offset) was accessed, as a set of "R" or "W" and bytes."""
        expect(self.done == 3, "not all has been done that the driver can do")
        seen = {}
        with self.log.open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                if access := ACCESS.search(line):
                    what, address, size, name = access.groups()
                    bar, length = BARS.get(name, (name, None))
                    # A BAR lies at a multiple of its size.
                    offset = int(address, 16) % length if length else None
                    seen.setdefault((bar, offset), set()).add((what[0].upper(), int(size)))
        return seen


# --- what the cards go through --------------------------------------------------------------------

def used(cards):
    """The driver is loaded; interrupts, errors, what programs ask, and the settings"""
    with cards.traced():
        cards.load()
        cards.run(USE)
        listener = cards.lab.start(1, "rmctl", "listen", cards.device(FAR), "sync-loss", "-n", "1")
        listener.listening()
        for transmit in "off", "on":
            cards.lab.run(1, "rmctl", "set", cards.device(NEAR), f"transmit={transmit}")
        listener.finish()
    cards.done += 1


def moved(cards):
    """Bytes of each width, short and long, by DMA and without, in both orders of bytes"""
    with cards.traced():
        cards.run(MOVE)
    cards.done += 1


def taken_away(cards):
    """A card is unbound, reset, put to sleep, answers no more, is unplugged; the driver is unloaded"""
    lab, where, device = cards.lab, cards.where(), cards.device(ALONE)
    dead = {"path": "/machine/peripheral/rfm0", "property": "dead"}
    with cards.traced():
        cards.bind("unbind", where)
        cards.bind("bind", where)
        lab.run(1, "sh", "-c", f"echo 1 >/sys/bus/pci/devices/{where}/reset")
        cards.come_back(ALONE)
        lab.run(1, "sh", "-c", SLEEP)
        cards.come_back(ALONE)
        lab.qmp(1, "qom-set", **dead, value=True)
        expect(lab.run(1, "rmctl", "show", device, check=False).returncode == 3, "it answers")
        cards.bind("unbind", where)
        lab.qmp(1, "qom-set", **dead, value=False)
        cards.bind("bind", where)
        lab.qmp(1, "device_del", id="rfm0")
        wait_for("the card is out", lambda: cards.nodes() == {NEAR, FAR})
        unload_driver(lab)
    cards.done += 1


# --- what was seen ---------------------------------------------------------------------------------

def widths(accesses, letter):
    return sorted(size for what, size in accesses if what == letter)


def not_documented(seen):
    """What no document has: another place, another width, a write to what can only be read."""
    for place, accesses in sorted(seen.items(), key=str):
        if place[0] == MEMORY:
            continue
        where = f"BAR{place[0]} {place[1]:#x}" if place[1] is not None else f"rfm5565-{place[0]}"
        if place not in DOCUMENTED:
            yield f"{where}: no document names a register there"
            continue
        size, access, name, _, also, _ = DOCUMENTED[place]
        if access == "RO" and widths(accesses, "W"):
            yield f"{where}: {name} is written, and can only be read"
        yield from (f"{where}: {name} has {size} bytes, and is accessed by {other}"
                    for other in sorted({size for _, size in accesses} - {size, *also}))


def anchor(heading):
    return re.sub(r"[^a-z0-9 ]", "", heading.lower()).replace(" ", "-")


def table(seen):
    """The list for docs/real-card.md"""
    yield "| BAR | offset | register | bytes | read by | written by | manual | see |"
    yield "|---|---|---|---|---|---|---|---|"
    for (bar, offset), accesses in sorted(item for item in seen.items() if item[0] in DOCUMENTED):
        size, access, name, source, _, heading = DOCUMENTED[bar, offset]
        by = [", ".join(f"{other}{' (wider)' if other > size else ''}" for other in widths(accesses, letter)) or "–"
              for letter in "RW"]
        yield (f"| {bar} | {offset:#04x} | {name} | {size}, {access} | {by[0]} | {by[1]} | {source} | "
               f"[{heading}](fidelity.md#{anchor(heading)}) |")
    memory = seen.get((MEMORY, None), set())
    by = [", ".join(map(str, widths(memory, letter))) for letter in "RW"]
    yield f"| {MEMORY} | any | the memory | 1 to 8, RW | {by[0]} | {by[1]} | T3-16 | [What drivers do](fidelity.md#what-drivers-do) |"
    yield ""
    untouched = [f"{name} ({bar}, {offset:#04x})" for (bar, offset), (_, _, name, *_) in DOCUMENTED.items()
                 if (bar, offset) not in seen]
    yield f"Documented, and never touched (BAR, offset): {', '.join(untouched)}."


def page_parts():
    before, rest = PAGE.read_text().split(BEGIN)
    listed, after = rest.split(END)
    return before, listed, after


def documented(cards):
    """Each register that it touches is one that documents name, by a width and in a way that they know"""
    wrong = list(not_documented(cards.accesses()))
    expect(not wrong, "; ".join(wrong))


def recorded(cards):
    """docs/real-card.md lists what it touches, and nothing else"""
    seen = cards.accesses()
    now, listed = list(table(seen)), page_parts()[1].splitlines()
    figure(f"{len([place for place in seen if place in DOCUMENTED])} registers")
    wrong = [f"+ {line}" for line in now if line not in listed] + [f"- {line}" for line in listed if line not in now]
    expect(now == listed, "\n".join(["tests/system/registers.py --write makes another list:", *wrong]))


def clean(cards):
    """No kernel has complained"""
    clean_kernels(cards.lab)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make the list of docs/real-card.md anew")
    args = parser.parse_args()

    def written(cards):
        """docs/real-card.md is written"""
        before, _, after = page_parts()
        PAGE.write_text(before + BEGIN + "\n".join(table(cards.accesses())) + "\n" + END + after)

    tests = [used, moved, taken_away, documented, written if args.write else recorded, clean]
    plan(tests)
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log"
        more = extra_cards([(*card, more + ",extension=off,memory-size=128M,window=16M")
                            for *card, more in ring_of_two(folder, NEAR, FAR)])
        with Lab("registers", 1, "--driver", "none", *more, "--qemu-arg", f"-D {log}") as lab:
            return bool(run(tests, Cards(lab, log)))


if __name__ == "__main__":
    sys.exit(main())
