# SPDX-License-Identifier: MIT
"""Operations at one node, messages and resync, of nodes in this process."""

import errno
import os
import threading
import time

import pytest
import rfm
from rfm._abi import ffi
from rfm._wait import until


def test_bytes_of_one_node(ring):
    one, two, three = ring(nodes=3)
    with pytest.raises(rfm.NotAllowed):
        one.get(two.node, 0x1000, 8)
    two.export((0x1000, 65536), rfm.Rights.READ | rfm.Rights.WRITE)
    data = os.urandom(65536)
    one.put(two.node, 0x1000, data)
    assert three.get(two.node, 0x1000, 65536) == data == two.read(0x1000, 65536)
    assert one.read(0x1000, 64) == three.read(0x1000, 64) == bytes(64)
    two.export((0x1000, 64), rfm.Rights.NONE)
    with pytest.raises(rfm.NotAllowed):
        one.get(two.node, 0x1000, 8)
    with pytest.raises(rfm.Error) as told:
        one.get(200, 0x1000, 8)
    assert told.value.errno == errno.EHOSTUNREACH


@pytest.mark.parametrize("word", ["u4", "u8"])
def test_words_are_changed_at_their_home(ring, word):
    one, two = ring(nodes=2)
    two.export((0x2000, 64), rfm.Rights.HOME)
    assert one.cas(two.node, 0x2000, 0, 7, word) == 0
    assert one.load(0x2000, word) == 7          # when the call returns, not a moment later
    assert one.cas(two.node, 0x2000, 0, 8, word) == 7 == one.load(0x2000, word)
    assert one.add(two.node, 0x2000, 5, word) == 7
    adders = [threading.Thread(target=lambda node=node: [node.add(two.node, 0x2000, 1, word) for _ in range(100)])
              for node in (one, two, one)]
    for adder in adders:
        adder.start()
    for adder in adders:
        adder.join()
    assert two.load(0x2000, word) == 312
    with pytest.raises(rfm.Error):
        one.add(two.node, 0x2001, 1, word)
    with pytest.raises(rfm.Error):
        one.add(two.node, 0x2000, 1, "u2")


def test_messages(ring):
    one, two = ring(nodes=2)
    with pytest.raises(rfm.Error) as told:
        one.message(two.node, 5, b"nobody")
    assert told.value.errno == errno.ECONNREFUSED
    with two.listen_port(5) as port:
        with pytest.raises(rfm.Error) as told:
            two.listen_port(5)
        assert told.value.errno == errno.EADDRINUSE
        assert port.receive(timeout=0) is None
        long = os.urandom(300000)
        one.message(two.node, 5, b"first")
        one.message(two.node, 5, long)
        assert port.receive(timeout=60) == rfm.Message(one.node, b"first")
        assert port.receive(timeout=60) == rfm.Message(one.node, long)
    with two.listen_port(5) as port:            # closed, it can be had again
        two.message(two.node, 5, b"to myself")
        assert port.receive(timeout=60) == rfm.Message(two.node, b"to myself")
    with pytest.raises(ValueError):
        port.receive()
    with pytest.raises(ValueError):
        port.fileno()


def test_a_port_is_closed_while_a_thread_receives(ring):
    one, = ring(nodes=1)
    port = one.listen_port(7)
    told = []

    def receive():
        with pytest.raises(ValueError) as error:
            port.receive()
        told.append(error)

    receiver = threading.Thread(target=receive)
    receiver.start()
    time.sleep(0.05)        # most likely it waits by then
    port.close()
    receiver.join(60)
    assert told and port.closed


def test_a_signal_does_not_begin_the_time_anew():
    parts = []

    def call(ms):
        parts.append(ms)
        time.sleep(0.02)
        ffi.errno = errno.EINTR
        return 0 if len(parts) == 3 else -1

    until("get", 5, call, 60000)
    assert 5000 >= parts[0] > parts[1] > parts[2]


def test_resync_of_a_complete_node(ring):
    one, two = ring(nodes=2)
    assert not rfm.Can.REGION & one.can and rfm.Can.REMOTE & one.can
    with pytest.raises(rfm.NotSupported):
        one.region(bytearray(64), read=True)
    with pytest.raises(rfm.NotSupported):
        one.get(two.node, 0, 8, key=7)
    with pytest.raises(rfm.NotSupported):
        one.add(two.node, 0, 8, key=7)
    as_it_is = one.resync(one.node)
    assert (as_it_is.bytes, as_it_is.donor) == (0, one.node)
    one.store(0x100, 5)
    done = two.resync()
    assert (done.bytes, done.donor) == (two.size, one.node) and two.load(0x100) == 5
