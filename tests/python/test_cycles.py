# SPDX-License-Identifier: MIT
"""Control loops: values that are got and put together, and cycles none of which is lost silently.

RFM_CYCLES=10000 makes the loop of three nodes 100 s long.
"""

import os
import threading
from pathlib import Path

import numpy
import pytest
import rfm

FILE = Path(__file__).resolve().parents[2] / "tools" / "python" / "examples" / "pump.yaml"
CYCLES = int(os.environ.get("RFM_CYCLES", "300"))
PERIOD_S = 0.01


def test_values_together(ring):
    one, two = ring(nodes=2)
    put, get = one.regions(FILE).io("pump.speed", "axes[1].limit"), two.regions(FILE).io("axes[1].limit", "pump.speed")
    assert put.names == ["pump.speed", "axes[1].limit[0]", "axes[1].limit[1]"]
    assert put.put([1500.5, 1, 2]) == 3
    assert put.put([1500.5, 1, 3], changed=True) == 1
    one.fence()
    assert list(get.get()) == [1, 3, 1500.5]
    with pytest.raises(rfm.Error):
        put.put([1e9, 7, 7])
    assert list(get.get()) == [1, 3, 1500.5]
    put.values = numpy.array([7.5, 8, 9])
    put.put()
    one.fence()
    assert list(get.get()) == [8, 9, 7.5]
    with pytest.raises(ValueError, match="broadcast"):
        put.values = [1, 2]
    with pytest.raises(rfm.NotFound, match="'colour'"):
        one.regions(FILE).io("pump.colour")
    one.close()
    with pytest.raises(ValueError, match="closed"):
        put.get()


def test_cycles_by_events(ring):
    one, two = ring(nodes=2)
    watch = two.watch((0, 4))
    for number in range(5):
        one.store(0, number)
    one.fence()
    # Of five the newest; the other four are counted.
    loop = rfm.cycles(source=watch)
    cycle = next(loop)
    assert (cycle.number, cycle.missed, cycle.seq) == (5, 4, 5)
    with pytest.raises(rfm.Timeout, match="0.1 s"):
        next(rfm.cycles(0.1, watch))
    waiting = threading.Thread(target=lambda: ended.append(list(loop)))
    ended = []
    waiting.start()
    watch.close()
    waiting.join()
    assert ended == [[]]


class Node(threading.Thread):
    """A loop with a period of its own: puts the number of its cycle, and gets what others put."""

    def __init__(self, handle, puts, gets):
        super().__init__()
        regions = handle.regions(FILE)
        self.outputs, self.inputs = regions.io(*puts), regions.io(*gets)
        self.ran, self.last, self.seen = 0, None, set()

    def run(self):
        for cycle in rfm.cycles(PERIOD_S):
            self.seen.add(tuple(self.inputs.get()))
            self.outputs.values[:] = cycle.number
            self.outputs.put()
            self.ran, self.last = self.ran + 1, cycle
            if cycle.number >= CYCLES:
                break


def test_three_nodes_at_100_hz(ring):
    """40 inputs and 20 outputs in each cycle; what a busy machine leaves out is counted"""
    handles = ring(nodes=3)
    nodes = [Node(handle, puts, gets) for handle, puts, gets in zip(
        handles, (["inputs"], ["outputs"], ["epoch"]), (["outputs"], ["inputs"], ["inputs", "outputs"]))]
    assert [len(node.inputs.names) for node in nodes] == [20, 40, 60]
    for node in nodes:
        node.start()
    for node in nodes:
        node.join()
    for node in nodes:
        print(f"node {node.ident}: {node.last.number} cycles, {node.last.missed} missed")
        assert node.ran + node.last.missed == node.last.number >= CYCLES
    for handle in handles[:2]:
        handle.fence()
    # The watcher has seen many cycles, and has the last values of both.
    final = nodes[2].inputs.get()
    assert set(final[:40]) == {nodes[0].last.number} and set(final[40:]) == {nodes[1].last.number}
    assert len(nodes[2].seen) > 1
