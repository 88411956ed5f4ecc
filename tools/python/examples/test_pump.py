# SPDX-License-Identifier: MIT
"""A test to copy from: the program under test trips a pump when its pressure is too high."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import rfm

FILE = Path(__file__).with_name("pump.yaml")


def guard(handle: rfm.Handle, updates: rfm.Events) -> None:
    """The program under test: it ends when it has tripped the pump."""
    regions = handle.regions(FILE)
    for event in updates:
        if (regions["pump.pressure"].of(event) or 0) > 10:
            regions.pump.state = "tripped"
            handle.fence()
            return


def test_too_much_pressure_trips_the_pump(ring: Callable[..., list[rfm.Handle]]) -> None:
    plant, guarding = ring(nodes=2)
    pump = plant.regions(FILE).pump
    pump.state = "on"
    with guarding.watch((0x2040, 4)) as updates:
        for pressure in (5, 9.5, 10.5):
            pump.pressure = pressure
        guard(guarding, updates)
    assert pump.state == "tripped"


@pytest.mark.skipif("RFM_CARD" not in os.environ, reason="RFM_CARD names no ring")
def test_the_others_have_it() -> None:
    with rfm.open(wait=20) as handle:
        handle.regions(FILE).pump.pressure = 2.5
        answers = handle.verify((0x2040, 4))
        assert len(answers) == 3 and len({answer.crc for answer in answers.values()}) == 1
