#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plot values live, as other nodes write them; or, with --save, a picture at the end."""

import argparse
import signal
import time
from collections import deque
from typing import Any

import matplotlib

import rfm


class Curve:
    """The last updates of one value."""

    def __init__(self, place: rfm.Place, axes: Any, keep: int) -> None:
        self.place = place
        self.points: deque[tuple[float, float]] = deque(maxlen=keep)
        self.line, = axes.plot([], [], label=f"{place.name} [{place.unit}]")

    def take(self, event: rfm.Event) -> None:
        value = self.place.of(event)
        if value is not None:
            self.points.append((event.time_ns / 1e9, value))
            self.line.set_data(*zip(*self.points))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="+", help="a value: pump.pressure")
    parser.add_argument("-R", "--regions", help="the file of regions (default: as rmctl finds it)")
    parser.add_argument("-c", "--card", help="card, or words of a node (default: RFM_CARD, or the first card)")
    parser.add_argument("-k", "--keep", type=int, default=1000, help="points of a curve (default: 1000)")
    parser.add_argument("-s", "--seconds", type=float, default=float("inf"), help="how long (default: until Ctrl-C)")
    parser.add_argument("--save", help="a picture of it, in place of a window")
    args = parser.parse_args()
    if args.save:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    with rfm.open(args.card) as handle:
        regions = handle.regions(args.regions)
        figure, axes = pyplot.subplots()
        curves = [Curve(regions[name], axes, args.keep) for name in args.name]
        axes.legend()
        end = time.monotonic() + args.seconds
        with handle.watch(*(curve.place for curve in curves)) as events:
            ended: list[int] = []
            signal.signal(signal.SIGINT, lambda number, _: ended.append(number))
            print("plotting", flush=True)
            going = True
            while going:        # once more after Ctrl-C, for what came before it
                going = not ended and time.monotonic() < end and bool(pyplot.get_fignums())
                for event in events.wait(0.05):
                    for curve in curves:
                        curve.take(event)
                axes.relim()
                axes.autoscale_view()
                if not args.save:
                    pyplot.pause(0.01)
        if args.save:
            figure.savefig(args.save)


if __name__ == "__main__":
    main()
