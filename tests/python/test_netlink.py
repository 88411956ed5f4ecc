# SPDX-License-Identifier: MIT
"""Netlink without a driver: what is sent, and what is made of the answers of one that is played here.

On a driver it is tried in a machine: tests/python/machine.py.
"""

import errno
import re
import socket
import struct
import sys
import threading
from pathlib import Path

import pytest
import rfm
from rfm import netlink

HEADER = (Path(__file__).resolve().parents[2] / "uapi" / "linux" / "rfm_netlink.h").read_text(encoding="ascii")
FAMILY, GROUP = 33, 7
ERROR, DONE = 2, 3      # kinds of messages
MULTI, ACK_TLVS, MESSAGE = 0x2, 0x200, 1


def numbers(prefix, first):
    """What C makes of an enum of the header."""
    body = re.search(rf"enum {{\n\t({prefix}\w+( = \d+)?,.*?)\n\n", HEADER, re.S)[1]
    return {word: first + i for i, word in enumerate(re.findall(rf"{prefix}\w+", body))}


COMMANDS, CARD = numbers("RFM_CMD_", 1), numbers("RFM_A_CARD_", 1)


def attribute(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data.ljust(-(-len(data) // 4) * 4, b"\0")


def message(kind, seq, data, flags=0):
    return struct.pack("IHHII", 16 + len(data), kind, flags, seq, 0) + data


class Driver(threading.Thread):
    """Answers one request with ``answer(seq)``, and keeps it."""

    def __init__(self, there, answer):
        super().__init__()
        self.there, self.answer, self.asked = there, answer, None
        self.start()

    def run(self):
        request = self.there.recv(65536)
        self.asked = struct.unpack_from("B", request, 16)[0], request[20:]
        self.there.send(self.answer(struct.unpack_from("I", request, 8)[0]))


@pytest.fixture(name="driver")
def played(monkeypatch):
    """A family whose socket leads here."""
    ynl = netlink.library().ynl
    monkeypatch.setattr(ynl, "genl_family_name_to_id", {"rfm": {"id": FAMILY, "mcast": {"monitor": GROUP}}})
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with netlink.Family() as family:
        family._family.sock.close()
        family._family.sock = here
        yield family, there
    there.close()


def card(number):
    found = attribute(CARD["RFM_A_CARD_ID"], struct.pack("I", number))
    found += attribute(CARD["RFM_A_CARD_NAME"], b"rfm%d\0" % number)
    found += attribute(CARD["RFM_A_CARD_LINK"], struct.pack("I", 1))
    return struct.pack("BBH", COMMANDS["RFM_CMD_CARD_GET"], 1, 0) + found


def test_a_card_is_asked_for_by_name(driver):
    family, there = driver
    answers = Driver(there, lambda seq: message(FAMILY, seq, card(3)) + message(ERROR, seq, bytes(20)))
    assert family.card("/dev/rfm3") == {"id": 3, "name": "rfm3", "link": "up"}
    answers.join()
    assert answers.asked == (COMMANDS["RFM_CMD_CARD_GET"], attribute(CARD["RFM_A_CARD_NAME"], b"rfm3\0"))


def test_all_cards(driver):
    family, there = driver
    Driver(there, lambda seq: message(FAMILY, seq, card(0), MULTI) + message(FAMILY, seq, card(1), MULTI) +
           message(DONE, seq, bytes(4), MULTI))
    assert [found["name"] for found in family.cards()] == ["rfm0", "rfm1"]


def test_settings(driver):
    family, there = driver
    answers = Driver(there, lambda seq: message(ERROR, seq, bytes(20)))
    family.set(0, transmit=1, moderation_time=50000)
    answers.join()
    assert answers.asked[0] == COMMANDS["RFM_CMD_CARD_SET"]
    assert answers.asked[1].startswith(attribute(CARD["RFM_A_CARD_ID"], bytes(4)))
    assert attribute(CARD["RFM_A_CARD_MODERATION_TIME"], struct.pack("I", 50000)) in answers.asked[1]


def test_a_refusal_has_the_drivers_sentence(driver):
    family, there = driver
    Driver(there, lambda seq: message(ERROR, seq, struct.pack("i", -errno.EPERM) + bytes(16) +
                                      attribute(MESSAGE, b"not yours\0"), ACK_TLVS))
    with pytest.raises(rfm.NotAllowed, match="card-set: not yours"):
        family.set("rfm0", led=1)


def test_what_a_monitor_is_told(driver):
    family, there = driver
    told = struct.pack("BBH", COMMANDS["RFM_CMD_CARD_CHANGE_NTF"], 1, 0)
    told += attribute(CARD["RFM_A_CARD_ID"], bytes(4)) + attribute(CARD["RFM_A_CARD_COMM"], b"rmctl\0")
    there.send(message(FAMILY, 0, told))
    notice = next(family)
    assert notice.name == "card-change-ntf" and notice == {"id": 0, "comm": "rmctl"}


def test_without_a_driver():
    if Path("/sys/module/rfm").exists():
        pytest.skip("there is one")
    with pytest.raises(rfm.NotFound, match="is the driver rfm loaded"):
        netlink.Family()


def test_without_the_library(monkeypatch):
    def none(name):
        raise ModuleNotFoundError(name, name=name.split(".")[0])
    monkeypatch.setattr("importlib.import_module", none)
    with pytest.raises(ImportError, match="tools/net/ynl"):
        netlink.library()


def test_without_what_the_library_needs(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] in ("lib", "pyynl")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match="yaml"):
        netlink.library()


def test_what_is_wrong_otherwise_is_not_the_driver(monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EPERM, "no sockets here")
    monkeypatch.setattr(netlink.library(), "YnlFamily", refused)
    with pytest.raises(PermissionError, match="no sockets here"):
        netlink.Family()
