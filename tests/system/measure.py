# SPDX-License-Identifier: MIT
"""rmbench in the machines of a lab, and a second network between two of them."""

import contextlib
import json

AT = 0x100000           # 2 MiB from here on are written to
PORT = 5565
MTU = 9000              # of the second network: RDMA has frames of 4 KiB then


def card(lab, only, node=None, seconds=1, at=AT, timeout=300):
    """Figures of machine 1's card, the way to a node among them; {(name, bytes): row}."""
    return rows(lab, "-o", only, "-s", seconds, "card", "/dev/rfm0", at, *([] if node is None else [node]),
                timeout=timeout)


def net(lab, only, seconds=1):
    """Of the second network."""
    return rows(lab, "-o", only, "-s", seconds, "net", address(2), PORT)


def rows(lab, *words, timeout=300):
    said = lab.out(1, "rmbench", "-j", *words, timeout=timeout)
    return {(row["name"], row["bytes"]): row for row in json.loads(said)["rows"]}


@contextlib.contextmanager
def answering(lab, *where):
    """Meanwhile machine 2 answers; without `where` at its card."""
    words = where or ("/dev/rfm0", AT)
    answers = lab.start(2, "sh", "-c", 'echo $$; exec rmbench answer "$@"', "sh", *words)
    process = answers.line()
    try:
        answers.line()
        yield
    finally:
        lab.run(2, "kill", process, check=False)
        answers.wait()      # two that answer would be twice as slow


def figures(row):
    """For people."""
    scale, unit, digits = (1, "ns", 1) if row["median"] < 10_000 else (1000, "us", 0)
    return ", ".join(f"{what} {row[name] / scale:.{digits}f}" for name, what in (
        ("minimum", "minimum"), ("median", "median"), ("p99", "99th percentile"),
        ("maximum", "maximum"))) + f" {unit}"


# --- a network between the first two machines only ---

def address(node):
    return f"10.55.65.{node}"


def mac(node):
    return f"52:54:00:55:66:{node:02x}"


def lan(folder):
    """rmlab arguments for it."""
    words = []
    for node, server in ((1, "on"), (2, "off")):
        retry = ",reconnect-ms=100" if server == "off" else ""
        words += [f"{node}:-netdev stream,id=lan,server={server},addr.type=unix,addr.path={folder}/lan{retry}",
                  f"{node}:-device virtio-net-pci,netdev=lan,romfile=,host_mtu={MTU},mac={mac(node)}"]
    return [arg for word in words for arg in ("--qemu-arg", word)]


def lan_device(lab, node):
    """Its name in the machine."""
    return lab.out(node, "sh", "-c", f"basename $(dirname $(grep -l {mac(node)} /sys/class/net/*/address))")


def connect(lab):
    """Until the two machines reach each other."""
    for node in (1, 2):
        lab.run(node, "ifconfig", lan_device(lab, node), address(node), "netmask", "255.255.255.0", "up")
    lab.run(1, "ping", "-c", "1", "-W", "10", address(2))
