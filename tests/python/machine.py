#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package on a card, in a machine, by root: memory, events, settings and the monitor by netlink.

tests/system/guests.py runs it; prints "all is well" at the end.
"""

import os
import subprocess
import sys

import rfm
from rfm import netlink

CARD = sys.argv[1]
OFFSET = 0x9000
# Who is nobody has no descriptor, and is no administrator.
NOBODY = """
import rfm
from rfm import netlink
with netlink.Family() as family:
    try:
        family.set("{card}", led=1)
    except rfm.NotAllowed as refusal:
        print(refusal)
"""


def memory(card):
    view = card.view(OFFSET, 4096, "<u4", writable=True)
    view[0] = 0x5eed
    assert card.load(OFFSET) == 0x5eed and not view.flags.owndata
    assert card.fence(60).lost == 0
    assert card.fileno() >= 0 and rfm.Can.PUBLISH in card.can and CARD in rfm.cards()
    assert len({answer.crc for answer in card.verify((OFFSET, 4), 60).values()}) == 1


def burst(card):
    """A record refuses a range in which stores go in no order."""
    record = card.record(OFFSET, 24)
    with netlink.Family() as family:
        family.set(CARD, burst_offset=OFFSET // 4096 * 4096, burst_length=4096)
        assert family.card(CARD)["burst_length"] == 4096
        try:
            record.store(b"x" * 24)
        except rfm.Error as refusal:
            print(refusal)
        else:
            raise AssertionError("a record was stored in a burst range")
        family.set(CARD, burst_offset=0, burst_length=0)
        record.store(b"x" * 24)


def settings(card):
    with netlink.Family() as family:
        assert CARD in [found["name"] for found in family.cards()]
        family.subscribe()
        led = family.card(CARD)["led"]
        family.set(CARD, led=1 - led)
        # What others have happen meanwhile is told too.
        change = next(notice for notice in family if notice.name == "card-change-ntf")
        assert (change["led"], change["pid"]) == (1 - led, os.getpid()), change
        family.set(CARD, handle=card, led=led)
        assert family.card(CARD, handle=card)["led"] == led
        files = [one["descriptor"]["pid"] for one in family.descriptors() if one["descriptor"]["kind"] == "file"]
        assert os.getpid() in files, files
        try:
            family.set(CARD, moderation_time=2**31)
        except rfm.Error as refusal:
            print(refusal)
        else:
            raise AssertionError("what cannot be is taken")
    said = subprocess.run([sys.executable, "-c", NOBODY.format(card=CARD)], text=True, check=True, user=65534, group=65534,
                          extra_groups=[], stdout=subprocess.PIPE, env={**os.environ, "HOME": "/"}).stdout
    assert "card-set" in said, said


with rfm.open(CARD, wait=60) as handle:
    memory(handle)
    settings(handle)
    burst(handle)
print("all is well")
