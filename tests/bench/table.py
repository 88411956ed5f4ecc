# SPDX-License-Identifier: MIT
"""The table: each figure beside its contender, with the target for the two."""

from dataclasses import dataclass

MIB = 1 << 20
ORDER = ("2", "8", "64", "256")


@dataclass(frozen=True)
class Row:
    figure: str             # keys of what was measured
    beside: str
    target: float = None    # of the ratio; None: for information
    least: bool = False     # the ratio is to be at least that, not at most
    of: str = "time"        # "speed": the ratio of bytes a second; "difference": not a ratio at all


ROWS = [
    Row("load", "ram-load", 1.1),
    Row("store", "register", 1.3),
    Row("lone-store", "lone-register"),
    Row("burst-copy", "ram-copy", 1.2),
    Row("poll", "udp", 0.1),
    Row("poll", "rxe-write", 0.1),
    Row("poll", "ivshmem-poll"),
    Row("watch", "udp", 0.3),
    Row("watch", "multicast"),
    Row("watch", "tcp"),
    Row("watch", "rxe-send"),
    Row("watch", "doorbell", 1.1),
    Row("watch", "dds", 0.2),
    Row("interrupt", "watch", 1.1),
    Row(f"pwrite-{MIB}", "bare-ring", 2.5, least=True, of="speed"),
    Row(f"pwrite-{MIB}", "ivshmem-copy", 0.6, least=True, of="speed"),
    Row(f"pwrite-{MIB}", f"rxe-write-{MIB}", 10, least=True, of="speed"),
    Row("stream", f"rxe-write-{MIB}", of="speed"),
    Row(f"pread-{MIB}", "ivshmem-copy", of="speed"),
    Row("pwrite-256", "pwrite-64", 2),
    *(Row(f"hop-{nodes}", f"handoff-{nodes}", 1.3) for nodes in ORDER),
    Row("hop-2", "unix-socket"),
    Row("bare-ring", "bare-queue", 1.8),
    Row("card-cpu", "machine-cpu", 1, of="difference"),
    Row("card-memory", "machine-memory", of="difference"),
]


def ratio(row, figure, beside, which="median"):
    ours, theirs = figure[which], beside[which]
    if row.of == "difference":
        return ours - theirs
    if row.of == "speed":
        return (figure["bytes"] / ours) / (beside["bytes"] / theirs)
    return ours / theirs


def judged(figures):
    """The rows as they go into the report: what could not be measured has no ratio, and says so.

    Targets are for the medians. The ratio of the minima hardly depends on what else the host does.
    """
    rows = []
    for row in ROWS:
        have = all(key in figures for key in (row.figure, row.beside))
        value, least = (ratio(row, figures[row.figure], figures[row.beside], which) if have else None
                        for which in ("median", "minimum"))
        met = None
        if have and row.target is not None:
            met = value >= row.target if row.least else value <= row.target
        rows.append({"figure": row.figure, "beside": row.beside, "of": row.of, "ratio": value,
                     "ratio_of_minima": least, "target": row.target, "least": row.least, "met": met})
    return rows


def shown(figure):
    """Its median, in a unit that is easy to read."""
    if figure is None:
        return "not measured"
    value, unit = figure["median"], figure["unit"]
    if unit != "ns":
        return f"{value:.2f} {unit}"
    return f"{value:.1f} ns" if value < 10_000 else f"{value / 1000:.0f} us"


def speed(figure):
    return figure and f"{figure['bytes'] / figure['median'] * 1000:.0f} MB/s"


def target_of(row):
    if row["target"] is None:
        return ""
    return f"{'>=' if row['least'] else '<='} {row['target']:g}"


def verdict(row):
    if row["ratio"] is None:
        return "not measured"
    return {None: "", True: "met", False: "missed"}[row["met"]]


def lines(report, base=None):
    """For people; with another report what its ratio was."""
    figures = report["figures"]
    before = {(row["figure"], row["beside"]): row for row in base["rows"]} if base else {}
    yield (f"{'figure':<14} {'median':>16}  {'beside':<16} {'median':>16} {'ratio':>8} {'of minima':>10}"
           f"  {'target':<8} {'':<12}" + ("  before" if base else "")).rstrip()
    for row in report["rows"]:
        ours, theirs = (figures.get(row[key]) for key in ("figure", "beside"))
        show = speed if row["of"] == "speed" else shown
        value, least = ("" if row[which] is None else f"{row[which]:.2f}" for which in ("ratio", "ratio_of_minima"))
        yield (f"{row['figure']:<14} {show(ours) or '-':>16}  {row['beside']:<16} {show(theirs) or '-':>16} {value:>8}"
               f" {least:>10}  {target_of(row):<8} {verdict(row):<12}" + (earlier(row, before) if base else "")).rstrip()


def earlier(row, before):
    old = before.get((row["figure"], row["beside"]))
    if not old or old["ratio"] is None:
        return "  -"
    if row["ratio"] is None:
        return f"  {old['ratio']:.2f}"
    change = f" ({row['ratio'] / old['ratio'] - 1:+.0%})" if old["ratio"] and row["of"] != "difference" else ""
    return f"  {old['ratio']:.2f}{change}"


def details(report):
    """Every figure, with its spread."""
    yield f"{'figure':<18} {'minimum':>12} {'median':>12} {'99 %':>12} {'maximum':>12}  unit"
    for key, figure in report["figures"].items():
        values = " ".join(f"{figure[name]:>12.2f}" for name in ("minimum", "median", "p99", "maximum"))
        yield f"{key:<18} {values}  {figure['unit']}: {figure['what']}"
