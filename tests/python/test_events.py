# SPDX-License-Identifier: MIT
"""Watches: as iterators, in asyncio, and what they lose."""

import asyncio
import errno
import threading
from itertools import islice

import pytest
import rfm


def test_every_update_is_an_event(ring):
    one, two = ring(nodes=2)
    with two.watch((0x1000, 8), (0x2000, 64)) as watch:
        for number in range(200):
            one.store(0x1000 if number % 2 else 0x2000, number)
        events = [event for event in islice(watch, 200)]
    assert [int.from_bytes(event.bytes, "little") for event in events] == list(range(200))
    assert {event.node for event in events} == {1} and {event.kind for event in events} == {rfm.Kind.UPDATE}
    assert events[1].offset == 0x1000 and events[1].length == 4 and events[1].age_ns >= 0
    assert next(watch, None) is None and watch.lost == 0


def test_what_is_lost_is_told(ring):
    one, two = ring(nodes=2)
    watch = two.watch((0, 4), depth=4)
    for number in range(10):
        one.store(0, number)
    one.fence()
    assert [event.lost for event in watch.wait()] == [0] * 4
    one.store(0, 99)
    with pytest.warns(rfm.EventsLost, match="6 events were lost before number 11"):
        last = next(watch)
    assert last.lost == 6 and watch.lost == 6 and last.seq == 11


def test_conditions_and_silence(ring):
    one, two = ring(nodes=2)
    full = two.watch((0, 4), compare=rfm.Compare("equal", 0, 4, 3))
    few = two.watch((0, 4), coalesce=True)
    quiet = two.watch((8, 4), silence=0.01)
    for number in range(5):
        one.store(0, number)
    one.fence()
    event = next(full)
    assert event.kind == rfm.Kind.MATCH and event.bytes == b"\3\0\0\0" and not full.wait(0)
    assert next(few).count == 5
    stale = next(quiet)
    assert stale.kind == rfm.Kind.STALE and rfm.EventFlag.NEVER in stale.flags
    one.store(8, 1)
    # Beside its own update.
    assert rfm.Kind.FRESH in {next(quiet).kind, next(quiet).kind}


def test_asyncio(ring):
    one, two, three = ring(nodes=3)

    async def follow(node, count):
        with node.watch((0, 4)) as watch:
            ready.release()
            return [event.data or event.bytes[0] async for event, _ in aiozip(watch, count)]

    async def aiozip(events, count):
        number = 0
        async for event in events:
            yield event, number
            number += 1
            if number == count:
                return

    async def both():
        async def stores():
            for _ in range(2):
                await ready.acquire()
            for number in range(100):
                one.store(0, number)
                await asyncio.sleep(0)
        found = await asyncio.gather(follow(two, 100), follow(three, 100), stores())
        assert found[:2] == [list(range(100))] * 2

    ready = asyncio.Semaphore(0)
    asyncio.run(both())


def test_closing_ends_who_waits(ring):
    _, two = ring(nodes=2)
    watch = two.watch((0, 4))
    ended = []
    waiting = threading.Thread(target=lambda: ended.append(list(watch)))
    waiting.start()
    watch.close()
    waiting.join()
    assert ended == [[]]
    with pytest.raises(ValueError):
        watch.fileno()

    async def close_it():
        watch = two.watch((0, 4))

        async def all_of_it():
            return [event async for event in watch]
        task = asyncio.create_task(all_of_it())
        await asyncio.sleep(0)
        watch.close()
        assert await task == []

    asyncio.run(close_it())


class Library:
    """librfm, with some calls of our own in their place."""

    def __init__(self, **calls):
        self.__dict__.update(calls)

    def __getattr__(self, name):
        return getattr(rfm._abi.lib, name)


def test_what_one_closes_nobody_frees_meanwhile(ring, monkeypatch):
    lib, done, cancels, freed = rfm._abi.lib, [], threading.Event(), threading.Event()

    def cancel(events):
        cancels.set()
        freed.wait(0.3)         # which is to be in vain, the first time
        done.append("cancelled")
        return lib.rfm_events_cancel(events)

    def close(events):
        done.append("freed")
        freed.set()
        return lib.rfm_events_close(events)

    _, two = ring(nodes=2)
    monkeypatch.setattr("rfm._events.lib", Library(rfm_events_cancel=cancel, rfm_events_close=close))
    watch = two.watch((0, 4))
    closer = threading.Thread(target=watch.close)
    closer.start()
    cancels.wait()
    watch.close()
    closer.join()
    assert done.count("freed") == 1 and done[-1] == "freed"


def test_a_task_about_to_wait_is_told_of_the_end(ring, monkeypatch):
    """Of a stream that another thread closes when it has just been looked at"""
    _, two = ring(nodes=2)
    watch = two.watch((0, 4))
    event = asyncio.Event

    def closed_meanwhile():
        closer = threading.Thread(target=watch.close)
        closer.start()
        closer.join()
        return event()

    async def all_of_it():
        return [event async for event in watch]
    monkeypatch.setattr("rfm._events.asyncio.Event", closed_meanwhile)
    assert asyncio.run(all_of_it()) == []


def test_a_watch_that_cannot_be(ring):
    one, = ring(nodes=1)
    with pytest.raises(rfm.Error) as caught:
        one.watch((1 << 40, 4))
    assert caught.value.errno == errno.EINVAL
