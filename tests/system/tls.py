#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TLS on the links: who is let in, who is not, and what each side says of it.

The certificates are made by the commands of docs/tls.md. Whoever breaks rules here speaks TLS by
Python's ssl, which is another implementation than that of the members.
"""

import functools
import itertools
import json
import random
import re
import secrets
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import peer
import wire
from suite import PATIENCE_S, TOP, expect, figure, free_ports, plan, run, wait_for
from members import Card, Control, Hub, Node, Place, QEMU, RMHUB, RMNODE, Storm, all_call, fenced

MEMBERS = 3             # of the ring that is not to notice anything
HERE = "127.0.0.1"
VALID = "expiration_days = 30"
EXPIRED = ('activation_date = "2020-01-01 00:00:00 UTC"', 'expiration_date = "2020-02-01 00:00:00 UTC"')
HOST = ('dns_name = "localhost"', f'ip_address = "{HERE}"')
GUIDE = re.findall(r"```sh\n(.*?)```", (TOP / "docs" / "tls.md").read_text(), re.S)
STRANGERS = 300

chance = random.Random()


# --- certificates -------------------------------------------------------------------

def shell(folder, script):
    done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}")


class Authority:
    """A folder in which the guide's commands have been run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()
        shell(self.folder, "".join(GUIDE))

    def issue(self, name, *lines):
        """By the guide's function; returns the folder of the credentials."""
        words = " ".join(f"'{line}'" for line in (f'cn = "{name}"', *lines))
        shell(self.folder, GUIDE[1].partition("\nissue ")[0] + f"\nissue {name} {words}")
        return self.folder / name

    def node(self, *ids, name=None, lines=(*HOST, VALID)):
        name = name or "node" + "-".join(map(str, ids))
        return self.issue(name, *(f'unit = "rfm:node:{node}"' for node in ids), *lines)


class Certificates:
    """What all tests need, made once."""

    def __init__(self, folder):
        self.ours = Authority(Path(folder, "ours"))
        self.others = Authority(Path(folder, "others"))
        self.psk = self.ours.folder / "key"
        self.other_psk = self.others.folder / "key"
        self.hub = self.ours.folder / "hub"
        self.node16, self.node17 = (self.ours.folder / f"node{node}" for node in (16, 17))
        self.expired = self.ours.node(17, name="expired", lines=(*HOST, *EXPIRED))
        self.foreign = self.others.folder / "node17"
        self.nobody = self.ours.issue("nobody", *HOST, VALID)
        self.elsewhere = self.ours.node(17, name="elsewhere", lines=('dns_name = "elsewhere.example"', VALID))


# --- members over TCP ------------------------------------------------------------------

def tcp_node(place, node, folder, rx, tx, *options):
    """An rmnode; rx and tx are ports, of which it listens at rx unless it says so."""
    return place.add(Node(place.folder, node, f"tcp:{HERE}:{rx},server", f"tcp:{HERE}:{tx}",
                          "--memory", "1M", *(["--tls", folder] if folder else []), *options)).up()


def client_node(place, node, folder, rx, tx):
    """One that connects at both ends, as to a hub."""
    return place.add(Node(place.folder, node, f"tcp:{HERE}:{rx}", f"tcp:{HERE}:{tx}", "--memory", "1M",
                          *(["--tls", folder] if folder else []))).up()


def credentials(name, folder, endpoint):
    kind = "psk" if (Path(folder) / "keys.psk").exists() else "x509"
    user = ",username=rfm" if kind == "psk" and endpoint == "client" else ""
    return ["-object", f"tls-creds-{kind},id={name},dir={folder},endpoint={endpoint}{user}"]


def tcp_card(place, node, folder, rx, tx, thread=True):
    return place.add(Card(place.folder, node, f"host={HERE},port={rx},server=on,wait=off",
                          f"host={HERE},port={tx},reconnect-ms=100",
                          *credentials("listens", folder, "server"),
                          *credentials("connects", folder, "client"),
                          *(["-object", "iothread,id=ring"] if thread else []),
                          properties=",rx-tls=listens,tx-tls=connects"
                          + (",iothread=ring" if thread else ""))).up()


def store(member, offset, data):
    if isinstance(member, Card):
        member.store(offset, data)
    else:
        member.call("write", first=offset, data=data.hex())


def load(member, offset, length):
    if isinstance(member, Card):
        return member.load(offset, length)
    return bytes.fromhex(member.call("read", first=offset, last=offset + length - 1)["data"])


def share(one, other, tries=(0x100, 0x200)):
    """What one stores, the other has, and the other way round."""
    for offset, (by, at) in zip(tries, ((one, other), (other, one))):
        data = secrets.token_bytes(8)

        def there():
            store(by, offset, data)         # the ring may not be closed yet
            return load(at, offset, 8) == data

        wait_for(f"{at.name} has what {by.name} stores", there)


def says(program, text):
    wait_for(f"{program.name} says '{text}'", lambda: text in program.said())


class TlsHub(Hub):
    """A hub with MEMBERS + 1 ports, the last of them on TCP with TLS."""

    def __init__(self, place, folder, members=MEMBERS):
        self.port_in, self.port_out = free_ports(2)
        self.last = members
        config = Path(place.folder, "hub.json")
        config.write_text(json.dumps({"ports": [{}] * members + [
            {"in": f"tcp:{HERE}:{self.port_in},server", "out": f"tcp:{HERE}:{self.port_out},server"}]}))
        super().__init__(place, members + 1, "--tls", folder, "--config", config)

    def is_in(self):
        """Is somebody on the ring behind the last port?"""
        return self.call("status")["ports"][self.last]["state"] == "live"

    def ever(self):
        return self.call("counters")["ports"][self.last]["joined"]


class Ring:
    """Members that store on a hub, and must not notice what happens at its last port."""

    def __init__(self, place, folder):
        self.hub = TlsHub(place, folder)
        self.storms = [place.add(Storm(place.folder, node, self.hub.rx(node), self.hub.tx(node),
                                       "-S", 10000)) for node in range(MEMBERS)]
        for storm in self.storms:
            wait_for(f"{storm.name} is on the ring", lambda: storm.is_member(MEMBERS))
        all_call(self.storms, "go")
        self.losses = [show["sync_losses"] for show in all_call(self.storms, "show")]

    def goes_on(self):
        before = [show["stats"]["home"] for show in all_call(self.storms, "show")]
        wait_for("the members' stores come home", lambda: all(
            show["stats"]["home"] > home + 1000
            for home, show in zip(before, all_call(self.storms, "show"))))

    def undisturbed(self):
        """Nothing was lost, nobody lost its signal, nobody was let in."""
        self.goes_on()
        all_call(self.storms, "halt")
        for storm in self.storms:
            wait_for(f"a fence of {storm.name}", lambda: fenced(storm))
        home = 0
        for storm, losses in zip(self.storms, self.losses):
            show = storm.show()
            counts = {name: show["stats"][name] for name in ("lost", "missed", "bad")}
            expect(show["sync_losses"] == losses and not any(counts.values()),
                   f"{storm.name}: {counts}, {show['sync_losses']} sync losses, before {losses}")
            home += show["stats"]["home"]
        expect(self.hub.ever() == 0, "somebody was let in")
        figure(f"{home} stores of {MEMBERS} members beside it, none lost")


# --- who breaks rules --------------------------------------------------------------------

class Stranger:
    """A TLS client of our own, with the credentials of a folder, or none."""

    def __init__(self, port, folder=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if folder:
            context.load_cert_chain(folder / "client-cert.pem", folder / "client-key.pem")
        plain = socket.create_connection((HERE, port), timeout=PATIENCE_S)
        self.sock = context.wrap_socket(plain, server_hostname=HERE)

    def say(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            pass            # shown out already

    def take(self, length=wire.MESSAGE):
        data = b""
        while len(data) < length:
            more = self.sock.recv(length - len(data))
            if not more:
                break
            data += more
        return data

    def greet(self, node):
        """Kind and value of the answer to a HELLO."""
        self.say(wire.message(wire.HELLO, node=node))
        answer = self.take()
        expect(len(answer) == wire.MESSAGE, f"the answer to HELLO is {answer.hex()}")
        return answer[3], answer[5]

    def shown_out(self):
        try:
            while self.sock.recv(65536):
                pass
        except (ConnectionError, ssl.SSLError):
            pass
        return True             # else socket.timeout

    def close(self):
        self.sock.close()


REFUSED = {"none": 2, "expired": 3, "untrusted": 4, "permit": 5}


# --- tests: who is let in -----------------------------------------------------------------

def ways(certificates):
    """The credentials of a hub and of two nodes: by certificates, and by a key."""
    return ((certificates.hub, certificates.node16, certificates.node17), [certificates.psk] * 3)


def two(certificates, first, second):
    """Members that are made so share a memory; one that has no trouble says nothing of its neighbours."""
    for _, ones, others in ways(certificates):
        with Place("tls-two") as place:
            a, b = free_ports(2)
            one = first(place, 16, ones, a, b)
            share(one, second(place, 17, others, b, a))
            expect("neighbour" not in one.said(), f"it says: {one.said()}")


def two_nodes(certificates):
    """Two rmnodes share a memory, by certificates and by a key"""
    two(certificates, tcp_node, tcp_node)


def card_and_node(certificates):
    """A card and an rmnode, by certificates and by a key"""
    two(certificates, tcp_node, tcp_card)


def two_cards(certificates):
    """Two cards, by certificates and by a key, one with an iothread"""
    two(certificates, functools.partial(tcp_card, thread=False), tcp_card)


def node_and_hub(certificates):
    """An rmnode on an rmhub, by certificates and by a key"""
    for hubs, _, nodes in ways(certificates):
        with Place("tls-hub") as place:
            hub = TlsHub(place, hubs, 1)
            inside = place.add(Node(place.folder, 1, hub.rx(0), hub.tx(0), "--memory", "1M")).up()
            share(inside, client_node(place, 17, nodes, hub.port_out, hub.port_in))


# --- tests: who is not ---------------------------------------------------------------------

def refused(certificates):
    """(what, credentials, what the hub says, what the node says)"""
    yield ("an expired certificate", certificates.expired, "its certificate has expired",
           "which has expired")
    yield ("one of another ring", certificates.foreign, "not of the authority",
           "it does not trust")
    yield ("one for another node id", certificates.node16, "does not allow the node id",
           "does not allow its node id")
    yield ("one that names no node", certificates.nobody, "names no node of a ring",
           "does not allow its node id")
    yield ("a key instead", certificates.psk, "the TLS handshake failed",
           "the TLS handshake failed")
    yield ("no TLS", None, "does not speak TLS", "")


def by_a_hub(certificates):
    """A hub lets in nobody without the right certificate; both sides say why; its ring goes on"""
    with Place("tls-refused") as place:
        ring = Ring(place, certificates.hub)
        for what, folder, said, heard in refused(certificates):
            # The authority of the hub is trusted by all of them: it is the hub that refuses.
            if folder == certificates.foreign:
                folder = mixed(place, certificates, folder)
            node = client_node(place, 17, folder, ring.hub.port_out, ring.hub.port_in)
            says(ring.hub, said)
            says(node, heard)
            node.end()
            node.log.write_text("")
            print(f"# {what}: {said}; {heard}", flush=True)
        stranger = Stranger(ring.hub.port_in)
        expect(stranger.greet(17) == (wire.REFUSE, REFUSED["none"]), "without a certificate: not refused")
        stranger.close()
        says(ring.hub, "shows no certificate")
        ring.undisturbed()
        expect(not ring.hub.is_in(), "it is in all the same")


def mixed(place, certificates, folder):
    """Certificates of the folder's, but the authority of ours."""
    to = Path(place.folder, "mixed")
    shell(place.folder, f"cp -r {folder} {to} && cp {certificates.hub}/ca-cert.pem {to}")
    return to


def by_who_connects(certificates):
    """Nor does who connects trust a hub of another ring, of another host, or that is none"""
    for folder, said, heard in (
            (certificates.others.folder / "hub", "not of the authority", "it does not trust"),
            (certificates.elsewhere, "is not of the host", "does not allow its node id"),
            (certificates.node16, "does not allow the node id", "does not allow its node id")):
        with Place("tls-server") as place:
            # Of the other ring is the hub's own certificate, not whom it lets in.
            if folder.parent == certificates.others.folder:
                folder = mixed(place, certificates, folder)
            hub = TlsHub(place, folder, 1)
            node = client_node(place, 17, certificates.node17, hub.port_out, hub.port_in)
            says(node, said)
            says(hub, heard)
            expect(hub.ever() == 0, "it is on the ring all the same")


def by_a_card(certificates):
    """A card lets in nobody without the right certificate, and a good neighbour after that"""
    with Place("tls-refused-card") as place:
        a, b = free_ports(2)
        card = tcp_card(place, 16, certificates.node16, a, b)
        for what, folder, said, heard in (
                ("expired", certificates.expired, "not trusted", "does not trust"),
                ("of another ring", mixed(place, certificates, certificates.foreign),
                 "known issuer", "does not trust"),
                ("for another node id", certificates.node16, "does not allow the node id",
                 "does not allow its node id"),
                ("none", None, "the upstream neighbour is not let in", "")):
            node = tcp_node(place, 17, folder, b, a)
            says(card, said)
            says(node, heard)
            node.end()
            node.log.write_text("")
            print(f"# {what}: {said}; {heard}", flush=True)
        stranger = Stranger(a)
        expect(stranger.greet(17) == (wire.REFUSE, REFUSED["untrusted"]), "without a certificate: not refused")
        stranger.close()
        share(card, tcp_node(place, 17, certificates.node17, b, a))


# --- tests: who speaks for another -----------------------------------------------------------

def lit(port, folder, node):
    stranger = Stranger(port, folder)
    expect(stranger.greet(node)[0] == wire.WELCOME, "a good certificate is refused")
    stranger.say(wire.message(wire.LIGHT, node=node, value=1))
    return stranger


def speaks_for_another(certificates):
    """Who sends frames of its own for a node that its certificate does not allow is shown out"""
    with Place("tls-forged") as place:
        a, b, c, d = free_ports(4)
        for victim, port in ((tcp_node(place, 16, certificates.node16, a, b), a),
                             (tcp_card(place, 15, certificates.ours.node(15), c, d), c)):
            stranger = lit(port, certificates.node17, 17)
            stranger.say(wire.frame(source=17, data=b"good", address=0x300))
            wait_for("its own frame is taken", lambda: load(victim, 0x300, 4) == b"good")
            stranger.say(wire.frame(source=5, data=b"evil", address=0x300))
            expect(stranger.shown_out(), "it stays")
            says(victim, "speaks for a node that its certificate does not allow")
            expect(load(victim, 0x300, 4) == b"good", "its frame was taken")
            stranger.close()


class Forwarder(threading.Thread):
    """A member of a hub's ring that passes on what comes."""

    def __init__(self, hub, folder, node):
        super().__init__(daemon=True)
        self.down = Stranger(hub.port_out, folder)
        hello = self.down.take()
        expect(hello[3] == wire.HELLO, f"the hub says {hello.hex()}")
        self.down.say(wire.message(wire.WELCOME, node=node))
        self.up = lit(hub.port_in, folder, node)
        self.lock = threading.Lock()

    def send(self, data):
        with self.lock:
            self.up.say(data)

    def run(self):
        try:
            while True:
                head = self.down.take(2)
                if head == b"RL":
                    self.down.take(wire.MESSAGE - 2)
                    continue
                head += self.down.take(wire.HEADER - 2)
                if len(head) < wire.HEADER:
                    return
                body = self.down.take(peer.unit_length(head) - wire.HEADER)
                path = struct.pack("<HB", struct.unpack_from("<H", head, 44)[0] + 1, head[46])
                self.send(head[:44] + path + bytes([peer.path_check(path)]) + body)
        except OSError:
            pass


def behind_a_hub(certificates):
    """A hub knows what it has not passed on: a member of its ring that makes up a frame is shown out"""
    with Place("tls-forged-hub") as place:
        hub = TlsHub(place, certificates.hub, 2)
        first, second = (place.add(Node(place.folder, node, hub.rx(node), hub.tx(node), "--memory", "1M")).up()
                         for node in range(2))
        member = Forwarder(hub, certificates.node17, 17)
        member.start()
        wait_for("it is on the ring", hub.is_in)
        share(first, second)            # through it
        incarnation = first.call("stats")["state"]["incarnation"]
        store(first, 0x300, b"good")
        wait_for("it is there", lambda: load(second, 0x300, 4) == b"good")
        member.send(wire.frame(source=0, seq=1 << 40, hops=2, data=b"evil", address=0x300,
                               incarnation=incarnation))
        wait_for("it is shown out", lambda: not hub.is_in())
        says(hub, "speaks for a node that its certificate does not allow")
        counters = hub.call("counters")["ports"][2]
        expect(counters["dropped"]["forged"] == 1, f"the hub has counted {counters}")
        share(first, second)
        expect(load(second, 0x300, 4) == b"good" and load(first, 0x300, 4) == b"good", "it was passed on")


# --- tests: what happens to a link --------------------------------------------------------------

class Proxy(threading.Thread):
    """Between two neighbours: passes bytes on until it is told to hurt them."""

    def __init__(self, port, to):
        super().__init__(daemon=True)
        self.server = socket.create_server((HERE, port))
        self.to = to
        self.harm = None                # (after so many bytes, flip one instead of a cut)
        self.done = threading.Event()
        self.start()

    def run(self):
        while True:
            try:
                near, _ = self.server.accept()
                far = socket.create_connection((HERE, self.to))
            except ConnectionRefusedError:
                near.close()
                continue
            except OSError:
                return
            for source, sink, hurt in ((near, far, True), (far, near, False)):
                threading.Thread(target=self.carry, args=(source, sink, hurt), daemon=True).start()

    def carry(self, source, sink, hurt):
        try:
            while data := source.recv(4096):
                if hurt and self.harm:
                    data = self.spoil(data, sink)
                sink.sendall(data)
        except OSError:
            pass
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def spoil(self, data, sink):
        after, flip = self.harm
        if after >= len(data):
            self.harm = (after - len(data), flip)
            return data
        self.harm = None
        self.done.set()
        if flip:
            return data[:after] + bytes([data[after] ^ 0x10]) + data[after + 1:]
        sink.sendall(data[:after])
        raise OSError("cut")

    def hurt(self, after, flip):
        self.done.clear()
        self.harm = (after, flip)
        expect(self.done.wait(PATIENCE_S), "nothing passes that could be hurt")


def cut_in_a_record(certificates):
    """A link that is cut in the middle of a record, or damaged, heals, and nothing wrong is stored"""
    with Place("tls-cut") as place:
        a, b, c = free_ports(3)
        proxy = Proxy(c, b)
        one = tcp_node(place, 16, certificates.node16, a, c)
        other = tcp_node(place, 17, certificates.node17, b, a)
        share(one, other)
        stop = threading.Event()
        writer = Control(one.path)

        def write(rounds=0):
            for count in range(rounds) if rounds else itertools.count():
                if stop.is_set() and not rounds:
                    break
                writer.call("write", first=0x1000 + count % 256 * 64, data=(b"%064d" % count).hex())

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for number in range(20):
                proxy.hurt(chance.randrange(20000), flip=number % 2)
                wait_for("the ring heals", lambda: len(one.members()) == len(other.members()) == 1)
        finally:
            stop.set()
            thread.join()
        share(one, other)
        write(256)
        for node in (one, other):
            expect(node.stats()["bad"] == 0, f"{node.name} has taken damaged frames: {node.stats()}")
        whole = b"".join(b"%064d" % count for count in range(256))
        wait_for("the memories are equal", lambda: load(other, 0x1000, len(whole)) == whole)
        writer.close()


def hello_of_a_client():
    """The first message of a handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def rush(port, count=STRANGERS):
    """Strangers at a port: silent, with garbage, half a handshake, a whole one and no more."""
    hello = hello_of_a_client()
    socks = []
    for number in range(count):
        sock = socket.socket()
        sock.settimeout(0.05)
        socks.append(sock)
        try:
            sock.connect((HERE, port))
            sock.sendall((b"", chance.randbytes(2000), hello[:len(hello) // 2], hello)[number % 4])
        except OSError:
            pass                # the port takes no more for now
    return socks


def storm_at_a_hub(certificates):
    """Hundreds of half-open handshakes at a free port: the ring goes on, and a good node gets in"""
    with Place("tls-storm") as place:
        ring = Ring(place, certificates.hub)
        socks = rush(ring.hub.port_in) + rush(ring.hub.port_out)
        ring.undisturbed()
        start = time.monotonic()
        node = client_node(place, 17, certificates.node17, ring.hub.port_out, ring.hub.port_in)
        wait_for("a good node gets in", ring.hub.is_in)
        figure(f"a good node was in after {time.monotonic() - start:.1f} s, beside {len(socks)} strangers")
        node.end()
        for sock in socks:
            sock.close()


def storm_at_a_card(certificates):
    """The same at a card that has its neighbour: nobody notices; and at a free one: it gets one after that"""
    with Place("tls-storm-card") as place:
        a, b = free_ports(2)
        card = tcp_card(place, 16, certificates.node16, a, b)
        for sock in rush(a, 40):
            sock.close()
        node = tcp_node(place, 17, certificates.node17, b, a)
        share(card, node)
        wait_for("both know each other", lambda: len(node.members()) == 1)
        epoch = node.call("stats")["state"]["epoch"]
        socks = rush(a) + rush(b)
        share(card, node, (0x400, 0x500))
        expect(node.call("stats")["state"]["epoch"] == epoch, "the ring has changed")
        for sock in socks:
            sock.close()


# --- tests: what is said of credentials ----------------------------------------------------------

def one_sentence(command, words):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=PATIENCE_S)
    said = done.stderr.strip()
    expect(done.returncode not in (0, -6, -11), f"{words}: status {done.returncode}, it says: {said}")
    expect(words in said and len(said.splitlines()) == 1, f"not '{words}' but: {said}")


def bad_files(certificates):
    """Bad credentials get one sentence, and nothing begins"""
    with Place("tls-files") as place:
        good, folder = certificates.node17, Path(place.folder)
        shell(folder, f"mkdir empty; cp -r {good} noca; : >noca/ca-cert.pem; cp -r {good} garbage;"
              f"head -c 300 /dev/urandom >garbage/server-cert.pem; cp -r {good} other;"
              f"cp {certificates.node16}/client-key.pem other; cp -r {good} both;"
              f"cp {certificates.psk}/keys.psk both; mkdir line; echo nonsense >line/keys.psk")
        a, b = free_ports(2)
        node = [RMNODE, "--id", 17, "--memory", "1M"]
        tcp = [*node, "--rx", f"tcp:{HERE}:{a},server", "--tx", f"tcp:{HERE}:{b}", "--tls"]
        for name, words in (("nowhere", "cannot read nowhere/ca-cert.pem"),
                            ("empty", "cannot read empty/ca-cert.pem"),
                            ("noca", "noca/ca-cert.pem holds no certificate"),
                            ("garbage", "are no certificate and its key"),
                            ("other", "are no certificate and its key"),
                            ("both", "has both ca-cert.pem and keys.psk"),
                            ("line", "is not NAME:KEY")):
            one_sentence(["env", "-C", folder, *tcp, name], words)
        one_sentence([*node, "--rx", f"unix:{folder}/a,server", "--tx", f"unix:{folder}/b", "--tls", good],
                     "--tls is for links over TCP")
        one_sentence([RMHUB, "--ports", 1, "--dir", folder / "d", "--tls", good], "--tls is for ports on TCP")
        card = [QEMU / "qemu-system-x86_64", "-L", QEMU / "pc-bios", "-M", "q35", "-accel", "qtest",
                "-nodefaults", "-display", "none", "-chardev", f"socket,id=tx,host={HERE},port={b},reconnect-ms=100"]
        rx = ["-chardev", f"socket,id=rx,host={HERE},port={a},server=on,wait=off"]
        device = ["-device", "rfm5565,rx=rx,tx=tx,rx-tls=x"]
        one_sentence([*card, *rx, *credentials("x", folder / "empty", "server"), *device], "ca-cert.pem")
        one_sentence([*card, *rx, *credentials("x", good, "client"), *device], "endpoint")
        one_sentence([*card, "-chardev", f"socket,id=rx,path={folder}/r,server=on,wait=off",
                      *credentials("x", good, "server"), *device], "rx-tls is for a TCP socket")
        one_sentence([*card, *rx, "-object", f"tls-creds-x509,id=x,dir={good},endpoint=server,verify-peer=off",
                      *device], "by which both ends are known")


def listens_at(port):
    """The addresses at which somebody listens, as /proc has them."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and address.endswith(f":{port:04X}"):
                found.append(address.split(":")[0])
    return found


def loopback_only(certificates):
    """Without TLS a link listens on loopback unless told otherwise, and then says so"""
    warning = "anybody who can reach this host"
    with Place("tls-loopback") as place:
        def member(address, *options):
            node = place.add(Node(place.folder, 17, address, f"unix:{place.folder}/none", "--memory", "1M",
                                  *options)).up()
            node.call("stats")
            return node

        a, = free_ports(1)
        for address, options, addresses, warned in (
                (f"tcp::{a},server", [], ["0100007F"], False),
                (f"tcp:{HERE}:{a},server", [], ["0100007F"], False),
                (f"tcp:0.0.0.0:{a},server", [], ["00000000"], True),
                (f"tcp:0.0.0.0:{a},server", ["--tls", certificates.node17], ["00000000"], False),
                (f"tcp::{a},server", ["--tls", certificates.node17], ["00000000"], False)):
            node = member(address, *options)
            expect(listens_at(a) == addresses or not options == [] and listens_at(a),
                   f"{address} listens at {listens_at(a)}")
            if warned:
                says(node, warning)
            expect(node.said().count(warning) == warned, f"{address}: it says {node.said()}")
            node.end()
            node.log.write_text("")
        card = place.add(Card(place.folder, 17, f"host=0.0.0.0,port={a},server=on,wait=off",
                              f"path={place.folder}/none,reconnect-ms=100")).up()
        says(card, warning)


TESTS = [two_nodes, node_and_hub, card_and_node, two_cards, by_a_hub, by_who_connects, by_a_card,
         speaks_for_another, behind_a_hub, cut_in_a_record, storm_at_a_hub, storm_at_a_card, bad_files,
         loopback_only]


def main():
    seed = secrets.randbits(32)
    chance.seed(seed)
    print(f"# seed {seed}")
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    tests = [test for test in TESTS if not words or test.__name__ in words]
    plan(tests)
    with Place("tls") as place:
        return bool(run(tests, Certificates(place.folder)))


if __name__ == "__main__":
    sys.exit(main())
