# SPDX-License-Identifier: MIT
"""Names for places: as attributes, as values, as arrays."""

from pathlib import Path

import numpy
import pytest
import rfm

FILE = Path(__file__).resolve().parents[2] / "tools" / "python" / "examples" / "pump.yaml"


@pytest.fixture(name="both")
def rig(ring):
    one, two = ring(nodes=2)
    return one, one.regions(FILE), two.regions(FILE)


@pytest.mark.parametrize("name, value, bytes_there, seen", [
    ("pump.pressure", 2.5, b"\0\0\x20\x40", None), ("pump.speed", 1500.5, b"\xb9\x0b", None),
    ("pump.state", "on", b"\1", None), ("pump.state", 0x80, b"\x80", "tripped"), ("pump.state", 7, b"\7", None),
    ("pump.alarms", "hot|stage=3", b"\x32", 0x32), ("pump.alarms", 1, b"\1", None),
    ("pump.name", "Käse", b"K\xc3\xa4se".ljust(16, b"\0"), None),
    ("pump.motor.current", -2, b"\xff\xff\xff\xfe", None), ("axes[2].enabled", True, b"\1", None),
    ("axes[3].position", numpy.float64(0.5), b"\0\0\0\0\0\0\xe0\x3f", None),
    ("epoch", 2**64 - 1, b"\xff" * 8, None), ("wave[99]", numpy.int16(-2), b"\xff\xfe", None)])
def test_a_value_is_what_the_file_says(both, name, value, bytes_there, seen):
    node, here, there = both
    here[name].value = value
    node.fence()
    place = there[name]
    assert there.handle.read(place.offset, place.length) == bytes_there
    assert place.value == (value if seen is None else seen) and here[name].value == place.value


def test_attributes(both):
    node, here, there = both
    here.pump.motor.load = 40
    here.axes[-1].limit = [1, 2]
    here.wave = range(100)
    here.epoch = 5
    node.fence()
    assert there.pump.motor.load == 40 and list(there.axes[3].limit) == [1, 2] and there.epoch == 5
    assert there.wave.dtype == ">i2" and list(there.wave) == list(range(100))
    assert dir(there.pump) == ["alarms", "motor", "name", "pressure", "speed", "state"]
    assert list(there) == ["pump", "axes", "epoch", "wave", "inputs", "outputs"] and len(there.axes) == 4
    place = there["pump.motor.current"]
    assert (place.unit, place.owner, place.period_ns, place.offset) == ("mA", 1, 10_000_000, 0x2058)
    assert there["pump.alarms"].text == "0" and there["pump.pressure"].description == "at the outlet"


def test_a_structure_as_an_array(both):
    node, here, there = both
    kind = there["pump"].dtype
    assert kind["motor"]["current"] == ">i4" and kind.itemsize == there["pump"].length
    assert kind.fields["motor"][1] == 0x18 and there["axes"].dtype.itemsize == 0x18
    axes = here["axes"].read()
    axes["position"] = [0.5, 1.5, 2.5, 3.5]
    axes["limit"][:, 1] = 9
    view = there["axes"].view()
    here["axes"].write(axes)
    node.fence()
    assert view["position"].sum() == 8 and view["limit"][3, 1] == 9 and not view.flags.writeable
    assert there.axes[2].position == 2.5
    assert there["pump"].view()["motor"]["current"] == 0
    here["pump"].write((2.1, 3000, 1, 0, "Käse".encode(), (-5, 6)))
    here.axes[1].limit = [0.1, float("nan")]        # as near as a float comes, and what is none
    node.fence()
    assert there.pump.speed == 1500 and there.pump.name == "Käse" and there.pump.motor.current == -5
    assert there.axes[1].limit[0] == numpy.float32(0.1) and numpy.isnan(there.axes[1].limit[1])


def test_updates_have_names(both):
    _, here, there = both
    watch = there["pump"].watch()
    here.pump.pressure = 7.5
    event = next(watch)
    assert [place.name for place in there.at(event)] == ["pump.pressure"]
    assert there["pump.pressure"].of(event) == 7.5 and there["pump.speed"].of(event) is None


@pytest.mark.parametrize("action, kind, sentence", [
    (lambda r: r.pmp, AttributeError, "no region 'pmp'"), (lambda r: r.pump.colour, AttributeError, "'colour'"),
    (lambda r: r["pump.colour"], rfm.NotFound, "'colour'"), (lambda r: r["axes[4]"], rfm.Error, "beyond 'axes'"),
    (lambda r: r.axes[4], IndexError, "out of range"),
    (lambda r: setattr(r.pump, "speed", 1e6), rfm.Error, "pump.speed"),
    (lambda r: setattr(r.pump, "state", "broken"), rfm.Error, "pump.state = 'broken'"),
    (lambda r: setattr(r.pump, "name", "x" * 17), rfm.Error, "16 bytes"),
    (lambda r: setattr(r.pump, "name", 5), TypeError, "bytes-like"),
    (lambda r: setattr(r, "wave", [40000] * 100), rfm.Error, "wave: "),
    (lambda r: setattr(r, "wave", [2**70] * 100), rfm.Error, "wave: "),
    (lambda r: setattr(r, "wave", numpy.full(100, -40000.0)), rfm.Error, "wave: "),
    (lambda r: setattr(r, "wave", [0.5] * 100), rfm.Error, "wave: "),
    (lambda r: setattr(r, "wave", [float("nan")] * 100), rfm.Error, "wave: "),
    (lambda r: setattr(r.axes[1], "limit", [0, 1e300]), rfm.Error, "limit: "),
    (lambda r: r["epoch"].write(-1), rfm.Error, "epoch: "),
    (lambda r: r["axes[0].enabled"].write(2), rfm.Error, "enabled: "),
    (lambda r: r["pump.name"].write("x" * 17), rfm.Error, "name: "),
    (lambda r: r["pump"].write((1, 2, 3, 4, "x" * 17, (5, 6))), rfm.Error, "pump: "),
    (lambda r: r["pump"].write((1, 2, 256, 4, "x", (5, 6))), rfm.Error, "pump: "),
    (lambda r: r["pump"].write((1, 2, 3, 4, "x", (2**31, 6))), rfm.Error, "pump: "),
    (lambda r: setattr(r, "epoch", -1), rfm.Error, "epoch"), (lambda r: setattr(r, "epoch", 0.5), TypeError, "float"),
    (lambda r: setattr(r, "pump", 1), TypeError, "a structure"),
    (lambda r: setattr(r, "pmp", 1), AttributeError, "no region"),
    (lambda r: setattr(r, "wave", [1, 2, 3]), ValueError, "broadcast"),
    (lambda r: r.wave.__setitem__(0, 1), ValueError, "read-only")])
def test_bad_input_changes_nothing(both, action, kind, sentence):
    _, here, _ = both
    before = here.handle.read(0x2000, 0x1000)
    with pytest.raises(kind, match=sentence):
        action(here)
    assert here.handle.read(0x2000, 0x1000) == before


def test_a_bad_file(ring, tmp_path):
    one, = ring(nodes=1)
    bad = tmp_path / "bad.yaml"
    bad.write_text("rfm-regions: 1\nregions:\n  pump: {offset: 0, type: real32}\n")
    with pytest.raises(rfm.Error, match=r"bad.yaml:3: .*real32"):
        one.regions(bad)
    with pytest.raises(rfm.NotFound):
        one.regions(tmp_path / "none.yaml")
