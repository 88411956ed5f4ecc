#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record what other nodes write to named places, every update of it, as a table that pandas reads.

The columns are time (seconds since the first row), node, name and value.
"""

import argparse
import csv
import sys
import time

import rfm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the table to write: CSV")
    parser.add_argument("name", nargs="+", help="a region, or a part of one: pump.pressure")
    parser.add_argument("-R", "--regions", help="the file of regions (default: as rmctl finds it)")
    parser.add_argument("-c", "--card", help="card, or words of a node (default: RFM_CARD, or the first card)")
    parser.add_argument("-s", "--seconds", type=float, default=10.0, help="how long (default: 10)")
    args = parser.parse_args()
    with rfm.open(args.card) as handle, open(args.file, "w", newline="", encoding="utf-8") as file:
        regions = handle.regions(args.regions)
        wanted = [regions[name] for name in args.name]
        table = csv.writer(file)
        table.writerow(["time", "node", "name", "value"])
        begin, end = None, time.monotonic() + args.seconds
        with handle.watch(*wanted, depth=65536) as events:
            print("recording", file=sys.stderr, flush=True)
            while (left := end - time.monotonic()) > 0:
                for event in events.wait(left):
                    begin = event.time_ns if begin is None else begin
                    for place in regions.at(event):
                        inside = any(one.offset <= place.offset < one.offset + one.length for one in wanted)
                        if inside and (value := place.of(event)) is not None:
                            number = int(value) if isinstance(value, bool) else value
                            table.writerow([(event.time_ns - begin) / 1e9, event.node, place.name, number])
            if events.lost:
                sys.exit(f"record: {events.lost} updates were lost")


if __name__ == "__main__":
    main()
