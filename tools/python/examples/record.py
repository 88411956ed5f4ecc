#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record what other nodes write to named places, every update of it, as a table that pandas reads.

The columns are time (seconds since the first row), node, name and value.
"""

import argparse
import csv
import signal
import sys
import time
from typing import TextIO

import rfm


class Table:
    """The table, and what is to stand in it."""

    def __init__(self, file: TextIO, regions: rfm.Regions, names: list[str]) -> None:
        self.rows, self.regions = csv.writer(file), regions
        self.wanted = [regions[name] for name in names]
        self.begin: int | None = None
        self.seq = self.lost = 0
        self.rows.writerow(["time", "node", "name", "value"])

    def take(self, event: rfm.Event) -> None:
        # What this program has lost itself is a gap, too.
        self.lost += event.seq - self.seq - event.count + (event.data if event.kind == rfm.Kind.DROPPED else 0)
        self.seq = event.seq
        self.begin = event.time_ns if self.begin is None else self.begin
        for place in self.regions.at(event):
            inside = any(one.offset <= place.offset < one.offset + one.length for one in self.wanted)
            if inside and (value := place.of(event)) is not None:
                number = int(value) if isinstance(value, bool) else value
                self.rows.writerow([(event.time_ns - self.begin) / 1e9, event.node, place.name, number])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the table to write: CSV")
    parser.add_argument("name", nargs="+", help="a region, or a part of one: pump.pressure")
    parser.add_argument("-R", "--regions", help="the file of regions (default: as rmctl finds it)")
    parser.add_argument("-c", "--card", help="card, or words of a node (default: RFM_CARD, or the first card)")
    parser.add_argument("-s", "--seconds", type=float, default=float("inf"), help="how long (default: until Ctrl-C)")
    args = parser.parse_args()
    with rfm.open(args.card) as handle, open(args.file, "w", newline="", encoding="utf-8") as file:
        table = Table(file, handle.regions(args.regions), args.name)
        end = time.monotonic() + args.seconds
        with handle.watch(*table.wanted, depth=65536) as events:
            # An exception might come between two lines, and what was just taken be lost.
            ended: list[int] = []
            signal.signal(signal.SIGINT, lambda number, _: ended.append(number))
            print("recording", file=sys.stderr, flush=True)
            while not ended and (left := end - time.monotonic()) > 0:
                for event in events.wait(min(left, 0.2)):
                    table.take(event)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            while last := events.wait(0):
                for event in last:
                    table.take(event)
            if table.lost:
                sys.exit(f"record: {table.lost} updates were lost")


if __name__ == "__main__":
    main()
