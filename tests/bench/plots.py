# SPDX-License-Identifier: MIT
"""SVG plots of a report."""

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402: the line above has to come first

WAYS = ("poll", "watch", "interrupt", "ivshmem-poll", "doorbell", "udp", "multicast", "tcp", "dds", "rxe-write",
        "rxe-send")


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def latencies(report, folder):
    """How long it takes there, and how often it takes no longer."""
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for key in WAYS:
        one = report["figures"].get(key)
        if one:
            axes.plot([value / 1000 for value in one["quantiles"]], range(101), label=key)
    axes.set(xscale="log", xlabel="us, one way", ylabel="% that took no longer", title="From machine to machine")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    save(figure, folder, "latency")


def throughput(report, folder):
    """MB/s by the size of the block."""
    figure, axes = pyplot.subplots(figsize=(9, 5))
    figures = report["figures"]
    for name in "pwrite", "pread":
        points = sorted((one["bytes"], one["bytes"] / one["median"] * 1000) for key, one in figures.items()
                        if key.startswith(name + "-"))
        if points:
            axes.plot(*zip(*points), marker="o", label=name)
    for key in "ram-copy", "copy", "ivshmem-copy", "rxe-write-1048576":
        if key in figures:
            one = figures[key]
            axes.plot([one["bytes"]], [one["bytes"] / one["median"] * 1000], marker="x", linestyle="", label=key)
    axes.set(xscale="log", yscale="log", xlabel="bytes of a block", ylabel="MB/s", title="Blocks")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    save(figure, folder, "throughput")


def growth(report, folder):
    """What a hop and an update cost on rings of several sizes."""
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for name, what in (("hop", "a hop of a lone store"), ("handoff", "a bare hand-off"),
                       ("update", "an update of saturated nodes")):
        points = sorted((int(key.split("-")[1]), one["median"] / 1000) for key, one in report["figures"].items()
                        if key.startswith(name + "-"))
        if points:
            axes.plot(*zip(*points), marker="o", label=what)
    axes.set(xscale="log", yscale="log", xlabel="members", ylabel="us", title="Rings of processes")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    save(figure, folder, "growth")


def draw(report, folder):
    for plot in (latencies, throughput, growth):
        plot(report, folder)
