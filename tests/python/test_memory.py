# SPDX-License-Identifier: MIT
"""The memory, interrupts and what can be asked, on rings in the process."""

import contextlib
import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from itertools import islice

import numpy
import pytest
import rfm

MIB = 1 << 20


def test_store_and_load(ring):
    one, two, three = ring(nodes=3)
    for word, value in (("u1", 0xa5), ("u2", 0xbeef), ("u4", 0xdeadbeef), ("u8", 2**64 - 2)):
        one.store(0x1000, value, word)
        one.fence()
        assert two.load(0x1000, word) == three.load(0x1000, word) == value
    one.write(0x2000, b"some bytes")
    one.write(0x3000, numpy.arange(6, dtype=">u2")[::2])
    one.fence()
    assert two.read(0x2000, 10) == b"some bytes"
    assert two.read(0x3000, 6) == b"\0\0\0\2\0\4"


def test_a_view_copies_nothing(ring):
    one, two = ring(nodes=2, size="4M")
    view = two.view(MIB, MIB, "<u4")
    assert view.nbytes == MIB and not view.flags.owndata and not view.flags.writeable
    # What is stored after the view was made is in it, without anything having been called.
    one.store(2 * MIB - 4, 1234)
    one.fence()
    assert view[-1] == 1234
    # Of a hundred views only what was looked at takes memory of this process.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    views = [two.view(MIB, MIB, "<u4") for _ in range(100)]
    assert all(one[-1] == 1234 for one in views)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10 * 1024
    # It outlives its handle.
    two.close()
    assert view[-1] == 1234
    with pytest.raises(ValueError, match="closed"):
        two.load(0)


def test_a_view_is_writable_only_where_that_goes_to_the_ring(ring):
    one, = ring(nodes=1)
    with pytest.raises(ValueError):
        one.view(0, 8)[0] = 1
    with pytest.raises(ValueError):
        one.view(0, 8).flags.writeable = True
    with pytest.raises(rfm.NotAllowed, match="use store"):
        one.view(0, 8, writable=True)


def test_records(ring):
    one, two = ring(nodes=2)
    records = [(one.record(offset, 12), two.record(offset, 12)) for offset in (0x1000, 0x1100)]
    with pytest.raises(rfm.Error) as caught:
        records[0][1].read()
    assert caught.value.errno == errno.ENODATA
    for number, (writer, _) in enumerate(records):
        writer.store(b"twelve bytes")
        writer.store(b"record %5d" % number)
    one.fence()
    assert rfm.read_together(*(reader for _, reader in records)) == [(b"record     0", 2), (b"record     1", 2)]
    with pytest.raises(ValueError, match="12 bytes, not 3"):
        records[0][0].store(b"abc")


def test_interrupts_and_what_is_owned(ring):
    one, two, three = ring(nodes=3)
    heard = two.listen(rfm.Kind.INT1, rfm.Kind.CONFLICT)
    one.send(2, rfm.Kind.INT1, 5)
    one.send([2, 3], rfm.Kind.INT1, 6)
    one.send(rfm.ALL, rfm.Kind.INT1, 7)
    assert [(event.kind, event.node, event.data) for event in islice(heard, 3)] == [
        (rfm.Kind.INT1, 1, data) for data in (5, 6, 7)]
    two.own((0x4000, 64))
    three.store(0x4000, 1)
    event = next(heard)
    assert (event.kind, event.node, event.offset) == (rfm.Kind.CONFLICT, 3, 0x4000)
    assert two.writer(0x4000).node == 3 and two.writer(0x8000).node is None
    two.disown((0x4000, 64))


def test_what_can_be_asked(ring):
    one, two = ring(nodes=2)
    assert one.info().node == one.node == 1 and one.size == MIB
    assert rfm.Can.WATCH in one.can and rfm.Can.PUBLISH not in one.can
    one.store(0, 0x01020304)
    answers = one.verify((0, 4))
    assert set(answers) == {1, 2} and answers[2].first[:4] == b"\4\3\2\1" and answers[1].crc == answers[2].crc
    assert set(one.members()) == {1, 2} and one.members()[2].hops == 1
    assert one.counters()["stores"] >= 1 and two.counters()["received_bytes"] == 4
    assert one.ring_test() > 0
    assert one.config()["transmit"] is True
    one.set_config(transmit=False)
    with pytest.raises(rfm.Error):
        one.fence(0.1)
    one.set_config(transmit=True)
    one.wait_for_ring()
    with pytest.raises(TypeError, match="no setting 'colour'"):
        one.set_config(colour=1)
    assert sum(one.event_counts().values()) >= 0
    assert rfm.version() >= (1, 0, 0)


@pytest.mark.parametrize("words, kind, sentence", [
    ("rfm77", rfm.NotFound, "rfm77"), ("/dev/null", rfm.Error, "not a reflective-memory card"),
    ("ring:node=3", rfm.Error, "begins with unix:PATH"), ("ring:unix:/tmp/x?node=999&size=1M", rfm.Error, "999")])
def test_what_cannot_be_opened_is_told_in_a_sentence(words, kind, sentence):
    with pytest.raises(kind, match=sentence) as caught:
        rfm.open(words)
    assert isinstance(caught.value, OSError) and caught.value.errno


def test_a_ring_that_does_not_come(tmp_path):
    words = f"ring:?node=1&size=1M&rx=unix:{tmp_path}/a,server&tx=unix:{tmp_path}/b"
    with pytest.raises(rfm.Timeout, match="not whole after 0.3 s") as caught:
        rfm.open(words, wait=0.3)
    assert isinstance(caught.value, TimeoutError)
    with pytest.warns(UserWarning, match="is on no whole ring"):
        rfm.open(words + "&wait-ms=100").close()


WAITS = """
import sys, rfm
with rfm.ring(nodes=2) as (one, two):
    watch = two.watch((0, 8))
    one.set_config(transmit=False)
    try:
        print("waiting", flush=True)
        {}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("wait", ["watch.wait()", "next(watch)", "one.wait_for_ring(None)",
                                  "rfm.open('ring:?rx=unix:/tmp/nobody-a&tx=unix:/tmp/nobody-b&node=9&size=1M', wait=600)"])
def test_ctrl_c_ends_a_wait(wait):
    with subprocess.Popen([sys.executable, "-c", WAITS.format(wait)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "waiting\n"
        program.send_signal(signal.SIGINT)
        assert program.stdout.readline() == "interrupted\n"
        assert program.wait() == 0


def test_other_threads_go_on_while_one_waits(ring):
    one, two = ring(nodes=2)
    watch = two.watch((0, 8))
    waiting = threading.Thread(target=lambda: found.extend(watch.wait()))
    found = []
    waiting.start()
    # Were the lock of the interpreter held, this would not be reached.
    one.store(0, 77)
    waiting.join()
    assert found[0].bytes == b"\x4d\0\0\0"


def test_what_nobody_closes_ends_with_the_program(tmp_path):
    """In whatever order the interpreter takes it apart"""
    program = tmp_path / "program.py"
    program.write_text("import rfm\nring = rfm.ring(nodes=2)\none, two = ring.__enter__()\n"
                       "watch = two.watch((0, 8))\nview = two.view(0, 4096)\n"
                       "cycle = [one, view]\ncycle.append(cycle)\none.store(0, 1)\n")
    assert subprocess.run([sys.executable, program], check=False).returncode == 0
    assert os.listdir(tmp_path) == ["program.py"]


def test_a_thread_that_is_in_a_call_when_the_program_ends(tmp_path):
    """It reads memory that stays until the process is gone"""
    program = tmp_path / "program.py"
    words = f"ring:?node=1&size=64M&rx=unix:{tmp_path}/1,server&tx=unix:{tmp_path}/1"
    program.write_text(f"import threading, rfm\none = rfm.open('{words}')\nreads = threading.Semaphore(0)\n"
                       "def read():\n    while True:\n        one.read(0, one.size)\n        reads.release()\n"
                       "threading.Thread(target=read, daemon=True).start()\nreads.acquire()\n")
    assert subprocess.run([sys.executable, program], check=False).returncode == 0


@contextlib.contextmanager
def beside_a_hub(folder, *fault):
    """Two nodes whose frames all meet with a fault, once the ring is whole."""
    with subprocess.Popen(["rmhub", "--ports", "2", "--dir", folder], stdout=subprocess.DEVNULL) as hub:
        try:
            with contextlib.ExitStack() as stack:
                nodes = [stack.enter_context(rfm.open(
                    f"ring:unix:{folder}/port{i}?node={i + 1}&size=1M", wait=60)) for i in range(2)]
                subprocess.run(["rmhub", "-S", folder / "control", "fault", "add", *fault], check=True,
                               stdout=subprocess.DEVNULL)
                yield nodes
        finally:
            hub.terminate()


def test_a_turn_that_takes_long(tmp_path):
    """Longer than any request that is given up for a new one"""
    with beside_a_hub(tmp_path, "delay", "time=300ms", "type=any", "count=0") as (one, two):
        one.store(0, 7)
        fence = one.fence(60)
        assert two.load(0) == 7 and fence.wait_ns >= 600e6
        one.wait_for_ring(60)
        assert set(one.verify((0, 4), 60)) == {1, 2} and one.ring_test(60) >= 0.6


def test_a_fence_is_as_long_as_asked(ring):
    one, = ring(nodes=1)
    one.set_config(transmit=False)
    begin = time.monotonic()
    with pytest.raises(rfm.Timeout):
        one.wait_for_ring(0.5)
    assert time.monotonic() - begin >= 0.5
