#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Store again what record.py has recorded, at the same times: a run of the rig, in a lab."""

import argparse
import csv
import time

import rfm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the table: of record.py, or of anybody with time, name and value")
    parser.add_argument("-R", "--regions", help="the file of regions (default: as rmctl finds it)")
    parser.add_argument("-c", "--card", help="card, or words of a node (default: RFM_CARD, or the first card)")
    parser.add_argument("-n", "--node", help="only what this node wrote")
    parser.add_argument("-f", "--faster", type=float, default=1.0, help="so many times as fast")
    args = parser.parse_args()
    with rfm.open(args.card) as handle, open(args.file, newline="", encoding="utf-8") as file:
        regions = handle.regions(args.regions)
        begin = time.monotonic()
        for row in csv.DictReader(file):
            if args.node is None or row["node"] == args.node:
                time.sleep(max(0.0, begin + float(row["time"]) / args.faster - time.monotonic()))
                regions[row["name"]].value = row["value"]
        handle.fence()


if __name__ == "__main__":
    main()
