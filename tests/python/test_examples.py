# SPDX-License-Identifier: MIT
"""The examples, each a process that is a node beside one in the test."""

import csv
import signal
import subprocess
import sys
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy
import pandas
import pytest
import rfm
from matplotlib import colors, pyplot

EXAMPLES = Path(__file__).resolve().parents[2] / "tools" / "python" / "examples"
FILE = EXAMPLES / "pump.yaml"


@contextmanager
def beside(folder, program, *arguments):
    """An example on a ring of two, and the node of the test."""
    words = [f"ring:?node={i + 1}&size=1M&rx=unix:{folder}/{i},server&tx=unix:{folder}/{1 - i}" for i in range(2)]
    with rfm.open(words[0]) as handle, subprocess.Popen(
            [sys.executable, EXAMPLES / program, "-R", FILE, "-c", words[1] + "&wait-ms=20000", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        yield handle, process


def test_what_is_recorded_can_be_replayed(tmp_path):
    table = tmp_path / "run.csv"
    with beside(tmp_path, "record.py", table, "pump.pressure", "pump.state", "axes") as (handle, record):
        assert record.stdout.readline() == "recording\n"
        handle.wait_for_ring()
        regions = handle.regions(FILE)
        for number in range(50):
            regions.pump.pressure = number / 4
            regions.pump.speed = number             # which nobody has asked for
        regions.pump.state = "tripped"
        regions.axes[1].enabled = True
        handle.fence()
        record.send_signal(signal.SIGINT)
        assert record.communicate()[0] == "" and record.returncode == 0
    frame = pandas.read_csv(table)
    pressures = frame[frame.name == "pump.pressure"]
    assert list(pressures.value.astype(float)) == [number / 4 for number in range(50)]
    assert set(frame.node) == {1} and frame.time.is_monotonic_increasing
    assert list(frame[frame.name != "pump.pressure"].name) == ["pump.state", "axes[1].enabled"]

    with beside(tmp_path, "replay.py", table, "--faster", "1000") as (handle, replay):
        watch = handle.regions(FILE)["pump.pressure"].watch()
        assert replay.communicate()[0] == "" and replay.returncode == 0
        regions = handle.regions(FILE)
        brought = [regions["pump.pressure"].of(event) for event in islice(watch, 50)]
        assert brought == [number / 4 for number in range(50)]
        assert regions.pump.state == "tripped" and regions.axes[1].enabled is True and regions.pump.speed == 0


def test_a_name_that_is_none_is_told(tmp_path):
    table = tmp_path / "bad.csv"
    with open(table, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["time", "node", "name", "value"], [0, 1, "pump.colour", 1]])
    with beside(tmp_path, "replay.py", table) as (_, replay):
        assert "there is no 'colour' in 'pump'" in replay.communicate()[0] and replay.returncode == 1


@pytest.mark.filterwarnings("ignore")
def test_a_plot(tmp_path):
    picture = tmp_path / "plot.png"
    with beside(tmp_path, "plot.py", "pump.pressure", "--save", picture) as (handle, plot):
        assert plot.stdout.readline() == "plotting\n"
        handle.wait_for_ring()
        regions = handle.regions(FILE)
        for number in range(20):
            regions.pump.pressure = number
        handle.fence()
        plot.send_signal(signal.SIGINT)
        assert plot.communicate()[0] == "" and plot.returncode == 0
    # The curve goes from the bottom to the top; in the legend is a flat piece of its colour.
    image = pyplot.imread(picture)[..., :3]
    rows = numpy.flatnonzero((abs(image - colors.to_rgb("C0")) < 0.01).all(axis=2).any(axis=1))
    assert rows[-1] - rows[0] > len(image) / 2
