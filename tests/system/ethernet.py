#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ethernet on the ring: a stock network card of each machine, and what runs on it unmodified.

Without an argument TCP/IP on three machines of the usual guest; with `rdma` verbs programs, NVMe over
fabrics, NFS and iSER on two of the guest that has them, the commands of docs/rdma.md.
"""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from suite import PROGRAMS, TOP, Lab, Skipped, clean_kernels, expect, figure, plan, run, wait_for

CARD = "/machine/peripheral/rfm0"
LOST = ("lost", "dark", "refused", "broken", "unfit")
MIB = 1 << 20
CUT_S = 1
LAST = 16 * MIB         # what stores of these tests reach
RUNS = 5                # of each program that is timed


def address(node):
    return f"10.65.1.{node}"


def counter(lab, node, what):
    return lab.qmp(node, "qom-get", path=CARD, property=f"ethernet-{what}")


def losses(lab):
    return {(node, what): count for node in lab.nodes for what in LOST
            if (count := counter(lab, node, what))}


def shell(lab, node, text, **options):
    return lab.out(node, "sh", "-c", text, **options)


def listens(lab, node, port):
    """Is there anybody at this TCP port?"""
    return not lab.run(node, "sh", "-c", f"grep -Eq ':{port:04X} 0+:0000 0A' /proc/net/tcp /proc/net/tcp6",
                       check=False).returncode


def wait_listening(lab, node, port):
    wait_for(f"node {node} listens at {port}", lambda: listens(lab, node, port))


class Stores:
    """Every machine stores to a range of its own, all the time of the `with` block."""

    def __init__(self, lab):
        self.lab = lab

    def __enter__(self):
        self.end = "/tmp/enough"
        self.running = []
        for node in self.lab.nodes:
            self.lab.run(node, "rm", "-f", self.end)
            self.running.append(self.lab.start(node, "sh", "-c",
                f"n=0; until [ -e {self.end} ]; do n=$((n + 1));"
                f" rmctl fill -y rfm0 $((({node} - 1) * {4 * MIB}))+{MIB} $n || exit; done; echo $n"))
        return self

    def __exit__(self, kind, value, trace):
        for node in self.lab.nodes:
            self.lab.run(node, "touch", self.end)
        self.rounds = [int(one.finish(timeout=300)) for one in self.running]


def all_equal(lab):
    for node in lab.nodes:
        lab.run(node, "rmctl", "fence", "rfm0", "-t", "60")
    lab.run(1, "rmctl", "verify", "rfm0", f"0+{LAST}", "-t", "60", timeout=600)


# --- TCP/IP ---

def cards_are_there(lab):
    """Each machine has a network card with an MTU of 9000 on the ring, and an address"""
    for node in lab.nodes:
        expect(shell(lab, node, "cat /sys/class/net/eth1/mtu") == "9000", "another MTU")
        expect(f"inet {address(node)}/16" in lab.out(node, "ip", "address", "show", "eth1"), "another address")


def pings(lab):
    """Each machine answers the others, with 8000 bytes in one piece"""
    for node in lab.nodes:
        for other in lab.nodes:
            if other != node:
                said = lab.out(node, "ping", "-c", "5", "-i", "0.2", "-W", "30", "-s", "8000", address(other))
                expect(" 0% packet loss" in said, said)
        made = shell(lab, node, "sed -n '/^Ip: [0-9]/p' /proc/net/snmp").split()[19]
        expect(made == "0", f"{made} fragments were made")


def takes_by_tcp(lab, node):
    """Whoever connects to port 5001 there fills /tmp/got. At the end of its own input nc would not wait for more."""
    takes = lab.start(node, "sh", "-c", "mkfifo -m 600 /tmp/silence; nc -l -p 5001 <>/tmp/silence >/tmp/got;"
                                        " rm /tmp/silence")
    wait_listening(lab, node, 5001)
    return takes


def tcp_beside_stores(lab):
    """4 MiB by TCP, each way round, beside stores of all: whole, and the memories are equal"""
    with Stores(lab) as stores:
        for node in lab.nodes:
            other = node % len(lab.nodes) + 1
            shell(lab, node, "dd if=/dev/urandom of=/tmp/sent bs=1M count=4 2>/dev/null")
            takes = takes_by_tcp(lab, other)
            begun = time.monotonic()
            shell(lab, node, f"nc {address(other)} 5001 </tmp/sent", timeout=600)
            takes.finish()
            took = time.monotonic() - begun
            expect(shell(lab, node, "sha256sum </tmp/sent") == shell(lab, other, "sha256sum </tmp/got"),
                   "what came is something else")
            figure(f"TCP from machine {node} to {other}, beside stores: {4 / took:.1f} MiB/s")
    expect(min(stores.rounds) > 1, f"the stores stood still: {stores.rounds}")
    all_equal(lab)


def paused(lab):
    """A machine that stands still takes nothing, and nobody else waits for it"""
    lost = counter(lab, 1, "lost")
    lab.qmp(2, "stop")
    lab.run(1, "ping", "-c", "3", "-i", "0.2", "-W", "1", address(2), check=False)
    lab.out(1, "ping", "-c", "3", "-i", "0.2", "-W", "30", "-s", "8000", address(3))
    lab.qmp(2, "cont")
    expect(counter(lab, 1, "lost") > lost, "nothing was counted")
    lab.out(1, "ping", "-c", "3", "-W", "30", address(2))


def cut_and_restored(lab):
    """A fibre is cut under TCP, and mended: all of it comes"""
    shell(lab, 1, "dd if=/dev/urandom of=/tmp/sent bs=1M count=16 2>/dev/null")
    takes = takes_by_tcp(lab, 2)
    sends = lab.start(1, "sh", "-c", f"nc {address(2)} 5001 </tmp/sent")
    wait_for("some has come", lambda: int(shell(lab, 2, "stat -c %s /tmp/got")) > 0)
    cut(lab)
    sends.finish(timeout=300)
    takes.finish()
    expect(shell(lab, 1, "sha256sum </tmp/sent") == shell(lab, 2, "sha256sum </tmp/got"), "something else has come")
    lab.test_ring(1)


def cut(lab):
    """For a second, behind machine 1."""
    lab.verb("cut", 2)
    time.sleep(CUT_S)       # this is what is tested
    lab.verb("restore", 2)


def unplugged(lab):
    """The reflective-memory card is pulled out while frames come: the machine goes on"""
    begun = counter(lab, 1, "sent")
    floods = lab.start(1, "sh", "-c", f"ping -c 200 -i 0.01 -W 1 -s 8000 {address(3)} >/dev/null; true")
    wait_for("frames", lambda: counter(lab, 1, "sent") > begun + 10)
    lab.qmp(3, "device_del", id="rfm0")
    floods.finish()
    wait_for("it is gone", lambda: not any(
        "rfm0" in one["name"] for one in lab.qmp(3, "qom-list", path="/machine/peripheral")))
    expect(lab.out(3, "cat", "/sys/class/net/eth1/mtu") == "9000", "its network card has gone, too")


# --- verbs ---

def both(lab, port, server, client, timeout=300):
    """A server on machine 1, a client on machine 2; returns what the client says."""
    wait_for("nobody listens there any more", lambda: not listens(lab, 1, port))    # siw does for a while
    serves = lab.start(1, "sh", "-c", server)
    wait_listening(lab, 1, port)
    if " -R " in server:        # it listens before it is ready
        wait_for("it waits for a connection", lambda: not lab.run(
            1, "sh", "-c", f"grep -q ucma_get_event /proc/$(pidof {server.split()[0]})/wchan", check=False).returncode)
    said = shell(lab, 2, client, timeout=timeout)
    serves.finish(timeout=timeout)
    return said


def is_device(lab):
    """rxe0 is a verbs device on the ring, and active"""
    for node in lab.nodes:
        said = lab.out(node, "ibv_devinfo", "-d", "rxe0", "-v")
        expect("PORT_ACTIVE" in said and re.search(r"active_mtu:\s+4096", said), said)
        expect(re.search(rf"GID\[\s*1\]:\s+::ffff:{re.escape(address(node))}", said), said)


def pingpongs(lab):
    """ibv_rc_pingpong, ibv_uc_pingpong and ibv_ud_pingpong: RC, UC and UD, contents checked"""
    for kind, more in (("rc", "-c -s 16384 -n 100"), ("uc", "-c -s 4096 -n 100"), ("ud", "-c -s 2048 -n 100")):
        command = f"ibv_{kind}_pingpong -d rxe0 -g 1 {more}"
        said = both(lab, 18515, command, f"{command} {address(1)}")
        expect("100 iters" in said, said)


def perftest(lab):
    """ib_write_lat, ib_send_lat and ib_read_bw"""
    for command in ("ib_write_lat -n 500", "ib_send_lat -n 500", "ib_read_bw -n 200 -s 65536"):
        run_perftest(lab, f"{command} -d rxe0 -x 1 -F")


def run_perftest(lab, command):
    said = both(lab, 18515, command, f"{command} {address(1)}")
    expect(re.search(r"^ *\d+ +\d+ +[\d.]+", said, re.MULTILINE), said)


def iwarp(lab):
    """iWARP by siw: ib_write_lat, ib_send_lat, ib_read_bw and rping, by RDMA CM"""
    if shell(lab, 1, "modinfo siw >/dev/null 2>&1 || echo none"):
        raise Skipped("this image has no siw")
    for node in lab.nodes:
        shell(lab, node, "modprobe siw; rdma link delete rxe0; rdma link add siw0 type siw netdev eth1")
    try:
        for command in ("ib_write_lat -n 500 -I 0", "ib_send_lat -n 500 -I 0", "ib_read_bw -n 200 -s 65536"):
            run_perftest(lab, f"{command} -d siw0 -R -F")
        both(lab, 7174, f"rping -s -a {address(1)} -C 20 -V", f"rping -c -a {address(1)} -C 20 -V")
    finally:
        for node in lab.nodes:
            shell(lab, node, "rdma link delete siw0; rdma link add rxe0 type rxe netdev eth1")


def rpings(lab):
    """rping: connections by RDMA CM, contents checked"""
    serves = lab.start(1, "rping", "-s", "-a", address(1), "-C", "20", "-V")
    wait_for("it listens", lambda: not lab.run(2, "rping", "-c", "-a", address(1), "-C", "20", "-V",
                                               check=False).returncode)
    serves.wait(timeout=120)


SUBSYSTEM = "/sys/kernel/config/nvmet/subsystems/ring"
PORT = "/sys/kernel/config/nvmet/ports/1"
TARGET = f"""set -e
modprobe -a nvmet-rdma
modprobe null_blk nr_devices=1 memory_backed=1 gb=1
mkdir {SUBSYSTEM} {SUBSYSTEM}/namespaces/1 {PORT}
echo 1 >{SUBSYSTEM}/attr_allow_any_host
echo /dev/nullb0 >{SUBSYSTEM}/namespaces/1/device_path
echo 1 >{SUBSYSTEM}/namespaces/1/enable
echo rdma >{PORT}/addr_trtype
echo ipv4 >{PORT}/addr_adrfam
echo {address(1)} >{PORT}/addr_traddr
echo 4420 >{PORT}/addr_trsvcid
ln -s {SUBSYSTEM} {PORT}/subsystems/ring
"""


def nvme(lab):
    """NVMe over fabrics: a file system on a disk of machine 1, 64 MiB that are the same afterwards, beside stores"""
    shell(lab, 1, TARGET)
    lab.run(2, "modprobe", "-a", "nvme-rdma", "ext4")
    said = lab.out(2, "nvme", "discover", "-t", "rdma", "-a", address(1), "-s", "4420")
    expect("subnqn:  ring" in said, said)
    with Stores(lab):
        connect(lab)
        shell(lab, 2, "mkfs.ext4 -q -b 4096 /dev/nvme0n1 40960", timeout=300)
        copy_and_compare(lab, MOUNT_NVME, "file")
        shell(lab, 2, "nvme disconnect -n ring")
    all_equal(lab)


MOUNT_NVME = "mount -t ext4 /dev/nvme0n1 /mnt"


def connect(lab):
    lab.run(2, "nvme", "connect", "-t", "rdma", "-n", "ring", "-a", address(1), "-s", "4420", "-i", "1", "-c", "1")
    wait_for("the disk", lambda: not lab.run(2, "test", "-b", "/dev/nvme0n1", check=False).returncode)


def copy_and_compare(lab, mount, name, meanwhile=lambda: None):
    """64 MiB to a file of machine 1, which machine 2 mounts."""
    shell(lab, 2, "[ -e /tmp/file ] || dd if=/dev/urandom of=/tmp/file bs=1M count=64 2>/dev/null", timeout=300)
    shell(lab, 2, mount)
    copies = lab.start(2, "sh", "-c", f"dd if=/tmp/file of=/mnt/{name} bs=1M conv=fsync 2>/dev/null")
    meanwhile()
    copies.finish(timeout=600)
    # What the machine remembers of it does not count.
    shell(lab, 2, f"umount /mnt; echo 3 >/proc/sys/vm/drop_caches; {mount}", timeout=300)
    expect(shell(lab, 2, f"cmp /tmp/file /mnt/{name} && echo same", timeout=600) == "same", "the file is another one")
    shell(lab, 2, f"rm /mnt/{name}; umount /mnt", timeout=300)


NFS_SERVER = f"""set -e
modprobe -a nfsd rpcrdma
mkdir -p /srv /var/lib/nfs/v4recovery
mount -t tmpfs tmpfs /srv
mount -t nfsd nfsd /proc/fs/nfsd
echo 'nfsd {address(2)} 2147483647 ring' >/proc/net/rpc/auth.unix.ip/channel
echo 'ring /srv 2147483647 9218 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
echo 'ring 1 \\x00000000 2147483647 /srv' >/proc/net/rpc/nfsd.fh/channel
echo -3 >/proc/fs/nfsd/versions
echo 'rdma 20049' >/proc/fs/nfsd/portlist
echo 4 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace
"""


def nfs(lab):
    """NFS over RDMA: 64 MiB to a folder of machine 1 are the same afterwards"""
    shell(lab, 1, NFS_SERVER)
    lab.run(2, "modprobe", "-a", "nfsv4", "rpcrdma")
    copy_and_compare(lab, f"mount -t nfs4 -o vers=4.2,rdma,port=20049,addr={address(1)},clientaddr={address(2)} "
                          f"{address(1)}:/ /mnt", "file")


CORE = "/sys/kernel/config/target/core/rd_mcp_0/ring"
NAME = "iqn.2026-01.lab:ring"
GROUP = f"/sys/kernel/config/target/iscsi/{NAME}/tpgt_1"
ISER_TARGET = f"""set -e
modprobe -a iscsi_target_mod ib_isert
mkdir -p {CORE}
echo rd_pages=24576 >{CORE}/control
echo 1 >{CORE}/enable
mkdir -p {GROUP}/lun/lun_0 {GROUP}/np/{address(1)}:3260
ln -s {CORE} {GROUP}/lun/lun_0/ring
echo 1 >{GROUP}/np/{address(1)}:3260/iser
echo 0 >{GROUP}/attrib/authentication
echo 1 >{GROUP}/attrib/generate_node_acls
echo 0 >{GROUP}/attrib/demo_mode_write_protect
echo 1 >{GROUP}/enable
"""
ISER_INITIATOR = f"""set -e
modprobe -a ib_iser sd_mod ext4
mkdir -p /etc/iscsi /run/lock/iscsi
echo InitiatorName=iqn.2026-01.lab:host >/etc/iscsi/initiatorname.iscsi
iscsid
iscsiadm -m node -o new -T {NAME} -p {address(1)} -I iser
iscsiadm -m node -T {NAME} --login
"""


def iser(lab):
    """iSER: a file system on another disk of machine 1, 64 MiB that are the same afterwards"""
    shell(lab, 1, ISER_TARGET)
    said = shell(lab, 2, ISER_INITIATOR)
    expect("successful" in said, said)
    expect(shell(lab, 2, "cat /sys/class/iscsi_transport/iser/handle") and
           shell(lab, 2, "iscsiadm -m session").startswith("iser:"), "another transport")
    wait_for("the disk", lambda: not lab.run(2, "test", "-b", "/dev/sda", check=False).returncode)
    shell(lab, 2, "mkfs.ext4 -q /dev/sda", timeout=300)
    copy_and_compare(lab, "mount -t ext4 /dev/sda /mnt", "file")
    clean_kernels(lab)          # Linux 6.1 may warn of a work queue (check_flush_dependency) at the logout
    said = shell(lab, 2, "iscsiadm -m node --logout")
    expect("successful" in said, said)


def in_order(lab):
    """All of that has come in order"""
    for node in lab.nodes:
        said = lab.out(node, "rdma", "statistic", "show", "link", "rxe0")
        # On a busy host answers are late, and asked for again: that is no fault.
        expect(" out_of_seq_request 0 " in said, f"node {node}: {said}")


def cut_under_verbs(lab):
    """A second without a fibre under ib_write_bw: it goes on, as a reliable connection tries again"""
    command = "ib_write_bw -d rxe0 -x 1 -F -u 18 -D 10 -s 65536"
    serves = lab.start(1, "sh", "-c", command)
    wait_listening(lab, 1, 18515)
    writes = lab.start(2, "sh", "-c", f"{command} {address(1)}")
    begun = counter(lab, 2, "sent")
    wait_for("it writes", lambda: counter(lab, 2, "sent") > begun + 100)
    cut(lab)
    said = writes.finish(timeout=300)
    serves.finish(timeout=300)
    expect(re.search(r"^ *65536 +\d+ +[\d.]+", said, re.MULTILINE), said)
    lab.test_ring(1)


def cut_under_nvme(lab):
    """A second without a fibre under a copy to the disk of machine 1: the file is whole"""
    connect(lab)

    def cuts():
        begun = counter(lab, 2, "sent")
        wait_for("it copies", lambda: counter(lab, 2, "sent") > begun + 100)
        cut(lab)

    copy_and_compare(lab, MOUNT_NVME, "another", cuts)
    shell(lab, 2, "nvme disconnect -n ring")


LATENCY = r"^ *8 +\d+ +[\d.]+ +[\d.]+ +([\d.]+)"    # of 8 bytes; the median
RING = "rxe0", address(1)
PLAIN = "rxe1", "10.66.1.1"
WORD, KEYS = "0x1000", "0x2000"


def timed(lab, program, pattern, network):
    device, where = network
    # -u: rxe sends again after a second, not 67 ms, for which machines on a busy host stand still.
    command = f"{program} -d {device} -x 1 -F -u 18"
    said = both(lab, 18515, command, f"{command} {where}")
    return float(re.search(pattern, said, re.MULTILINE)[1])


def medians(*programs):
    """Of several, each measured as often as the others, in turns."""
    return [statistics.median(of_one) for of_one in zip(*[[program() for program in programs] for _ in range(RUNS)])]


def beside_a_plain_network(lab):
    """What ib_write_lat and ib_write_bw take over the ring, beside a plain network between the same machines"""
    def both_ways(*what):
        return medians(lambda: timed(lab, *what, RING), lambda: timed(lab, *what, PLAIN))

    for node in lab.nodes:
        shell(lab, node, f"ifconfig eth2 10.66.1.{node} netmask 255.255.0.0; rdma link add rxe1 type rxe netdev eth2")
    ring, plain = both_ways("ib_write_lat -n 300 -s 8", LATENCY)
    figure(f"ib_write_lat, 8 bytes, one way: {ring:.0f} us over the ring, {plain:.0f} us over a plain network "
           f"between the same machines: {ring / plain:.2f} times")
    ring, plain = both_ways("ib_write_bw -n 200 -s 65536", r"^ *65536 +\d+ +[\d.]+ +([\d.]+)")
    figure(f"ib_write_bw, 64 KiB: {ring:.1f} MB/s over the ring, {plain:.1f} MB/s over the plain network: "
           f"{ring / plain:.2f} times")


def reads_beside_verbs(lab):
    """What READ and CAS of the card take, beside READ of rxe over the same ring"""
    def native():
        said = lab.out(2, PROGRAMS + "bench_remote", "/dev/rfm0", "1", WORD, "1000")
        return [float(line.split()[1]) for line in said.splitlines()]

    lab.run(1, "rmctl", "export", "rfm0", f"{WORD}+64", "read,home", "--base")
    figures = [(timed(lab, "ib_read_lat -n 300 -s 8", LATENCY, RING), *native()) for _ in range(RUNS)]
    lab.run(1, "rmctl", "export", "rfm0", f"{WORD}+64", "none", "--base")
    rxe, read, cas = map(statistics.median, zip(*figures))
    figure(f"READ of 8 bytes: {read:.0f} us by the card, {rxe:.0f} us by rxe over the ring: {read / rxe:.2f} times; "
           f"CAS {cas:.0f} us: {cas / read:.2f} times READ")


def turns_by_verbs(lab, how):
    """Half a turn, in us."""
    serves = lab.start(1, "/tmp/turns", how, "500", "server", address(1))
    expect(serves.line() == "listening", "the server does not listen")
    said = lab.out(2, "/tmp/turns", how, "500", "client", address(1))
    serves.finish(timeout=120)
    return float(said.split()[1])


def turns_by_the_card(lab, how):
    # The first fence behind the tests that cut a fibre tells of what was lost there.
    lab.run(1, "rmctl", "fence", "rfm0", check=False)
    lab.run(1, "rmctl", "fill", "-y", "rfm0", f"{KEYS}+64", "0")
    lab.run(1, "rmctl", "fence", "rfm0")
    other = lab.start(2, PROGRAMS + "bench_remote", "/dev/rfm0", "1", KEYS, "500", how)
    said = lab.out(1, PROGRAMS + "bench_remote", "/dev/rfm0", "2", KEYS, "500", how)
    other.finish(timeout=120)
    return float(said.split()[1])


def target_hears_of_it(lab):
    """How long after a WRITE its target knows: it sleeps at a watched region, or for an immediate, or polls"""
    if not Path("/usr/include/rdma/rdma_verbs.h").exists():
        subprocess.run([TOP / "scripts" / "setup", "--rdma"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/turns"
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, TOP / "tests" / "verbs" / "turns.c",
                        "-lrdmacm", "-libverbs"], check=True)
        for node in lab.nodes:
            lab.verb("push", node, program, "/tmp/turns")
    ways = ([lambda how=how: turns_by_the_card(lab, how) for how in ("sleep", "poll")] +
            [lambda how=how: turns_by_verbs(lab, how) for how in ("imm", "poll")])
    sleep, poll, imm, rxe_poll = medians(*ways)
    figure(f"a WRITE of 8 bytes and its target: by the card {sleep:.0f} us until a sleeper at a watched region runs, "
           f"{poll:.0f} us until one that polls sees it; by rxe over the ring {imm:.0f} us by write-with-immediate to a "
           f"sleeper, {rxe_poll:.0f} us by polling")


def plain_network(folder):
    """rmlab arguments: two machines have a network of sockets besides."""
    words = []
    for node in 1, 2:
        words += [f"{node}:-netdev dgram,id=plain,local.type=unix,local.path={folder}/{node},"
                  f"remote.type=unix,remote.path={folder}/{3 - node}",
                  f"{node}:-device virtio-net-pci,netdev=plain,mac=52:54:00:66:00:0{node},host_mtu=9000,romfile="]
    return [arg for word in words for arg in ("--qemu-arg", word)]


TCP = [cards_are_there, pings, tcp_beside_stores, paused, cut_and_restored, clean_kernels, unplugged]
# At iSER's end Linux 6.1 may warn of its own queues of work: after the kernels have been looked at.
RDMA = [is_device, iwarp, pingpongs, perftest, rpings, nvme, nfs, in_order, cut_under_verbs, cut_under_nvme,
        beside_a_plain_network, reads_beside_verbs, target_hears_of_it, clean_kernels, iser]


def main():
    tests = RDMA if "rdma" in sys.argv else TCP
    plan(tests)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--rdma", *plain_network(folder)] if tests is RDMA else ["--ethernet"]
        with Lab("ethernet", 2 if tests is RDMA else 3, *options) as lab:
            lab.test_ring(1)
            return run(tests, lab) > 0


if __name__ == "__main__":
    sys.exit(main())
