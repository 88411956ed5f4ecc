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


def has_minimum(figure):
    """A round's only value is no shortest time of many, but all of them together."""
    return figure["samples"] > len(figure["rounds"])


def judged(figures):
    """The rows as they go into the report: what could not be measured has no ratio, and says so.

    Targets are for the medians. The ratio of the minima hardly depends on what else the host does; figures of which
    a round has one value have none.
    """
    rows = []
    for row in ROWS:
        both = [figures[key] for key in (row.figure, row.beside) if key in figures]
        have = len(both) == 2
        value = ratio(row, *both) if have else None
        least = ratio(row, *both, "minimum") if have and all(map(has_minimum, both)) else None
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


def ratios(report):
    """{(figure, beside): ratio}, None for what was not measured. TypeError and LookupError: it is no report."""
    return {(row["figure"], row["beside"]): row["ratio"] and float(row["ratio"]) for row in report["rows"]}


def lines(report, base=None):
    """For people; with another report what its ratio was."""
    figures = report["figures"]
    before = ratios(base) if base else {}
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
    if old is None:
        return "  -"
    if row["ratio"] is None:
        return f"  {old:.2f}"
    change = f" ({row['ratio'] / old - 1:+.0%})" if old and row["of"] != "difference" else ""
    return f"  {old:.2f}{change}"


def details(report):
    """Every figure, with its spread; of a few samples no 99 % is known."""
    yield f"{'figure':<18} {'samples':>9} {'minimum':>12} {'median':>12} {'99 %':>12} {'maximum':>12}  unit"
    for key, figure in report["figures"].items():
        values = " ".join(f"{'' if figure[name] is None else format(figure[name], '.2f'):>12}"
                          for name in ("minimum", "median", "p99", "maximum"))
        yield f"{key:<18} {figure['samples']:>9} {values}  {figure['unit']}: {figure['what']}"
