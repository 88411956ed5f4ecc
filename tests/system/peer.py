# SPDX-License-Identifier: MIT
"""A member of the ring that knows docs/ring-protocol.md and nothing else.

It shares no code with ring/: where the two understand each other, the page says enough.
A Peer has its two links in a thread of its own, passes on what others send and keeps what
it has seen; tests look at that.
"""

import fcntl
import mmap
import os
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, replace

from suite import PATIENCE_S

VERSION = 6
HELLO, WELCOME, REFUSE, LIGHT = 1, 2, 3, 4
(DATA, INTERRUPT, HEARTBEAT, DUPLICATE, BREAK, FENCE, MULTICAST, TRAIN, QUERY,
 ANSWER, PACKET) = range(1, 12)
NUMBERED = (DATA, INTERRUPT, FENCE, MULTICAST, QUERY, PACKET)
LENGTHS = {DATA: range(1, 65), INTERRUPT: (4,), HEARTBEAT: (0,), DUPLICATE: (8,), BREAK: (0,),
           FENCE: (8,), MULTICAST: (36,), TRAIN: range(1, 65), QUERY: (16,), ANSWER: (24,),
           PACKET: range(1, 65)}
TRAIN_FRAMES = range(2, 33)
PACKET_PIECES = range(1, 33)
MESSAGES, REQUESTS, ANSWERS, ETHERNET = range(4)     # classes of packets
READ, WRITE, CAS, ADD, MERGE, SEND = range(1, 7)     # operations of requests
DONE, DENIED, OUTSIDE, NOT_HOME, OTHER_LIFE, NO_SUCH, INCOMPLETE, CLOSED = range(8)   # results of answers
GLOBAL = 8
FIRST, LAST = 4, 8      # flags of a packet
REDUNDANT, SECOND = 1, 2
ROGUE_0, ROGUE_1, PAUSED, UNSTORED = 1, 2, 4, 8
SEEN, TAKEN = 0x100, 0x200      # stand above the hops
IS_HUB, IS_REDUNDANT, HAS_SHM = 1, 2, 4
SPACE = 0x10000000

# ring 5: magic, version, type, source, destination, kind, length, address, clock domain,
# incarnation, number, time; the check stands behind
HEADER = struct.Struct("<2sBBBBBBIIQQQ")
# 2: magic, version, kind, node, value, spare, incarnation, memory, clock domain, spare
MESSAGE = struct.Struct("<2sBBBB2xQQI8x")


def _table():
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        yield i


_TABLE = list(_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Bad(Exception):
    """What came is not what the page says."""


@dataclass(frozen=True)
class Message:
    kind: int
    node: int = 0
    value: int = 0
    incarnation: int = 0
    memory: int = 0
    clock_domain: int = 0
    version: int = VERSION

    def encode(self):
        wire = MESSAGE.pack(b"RL", self.version, self.kind, self.node, self.value,
                            self.incarnation, self.memory, self.clock_domain)
        return wire + struct.pack("<I", crc32c(wire))

    @staticmethod
    def decode(wire):
        magic, version, kind, node, value, incarnation, memory, domain = \
            MESSAGE.unpack(wire[:36])
        if magic != b"RL" or struct.unpack("<I", wire[36:40])[0] != crc32c(wire[:36]):
            raise Bad("a link message with a false check")
        return Message(kind, node, value, incarnation, memory, domain, version)


@dataclass(frozen=True)
class Frame:
    type: int
    source: int
    incarnation: int
    number: int
    data: bytes = b""
    address: int = 0
    dest: int = 0
    kind: int = 0
    flags: int = 0
    clock_domain: int = 0
    time: int = 0
    hops: int = 1
    marks: int = 0

    def encode(self):
        head = HEADER.pack(b"RF", VERSION, self.type, self.source, self.dest,
                           self.kind | self.flags << 4, len(self.data), self.address,
                           self.clock_domain, self.incarnation, self.number, self.time)
        return self.behind(head)

    def behind(self, head):
        """The whole, of which these are the first 40 bytes."""
        path = struct.pack("<HB", self.hops | self.marks >> 8 << 14, self.marks & 255)
        return (head + struct.pack("<I", crc32c(head + self.data)) + path
                + bytes([path_check(path)]) + self.data)

    @staticmethod
    def decode(wire):
        head, data = wire[:40], wire[48:]
        _, _, type_, source, dest, kind, length, address, domain, incarnation, number, when = \
            HEADER.unpack(head)
        if struct.unpack("<I", wire[40:44])[0] != crc32c(head + data):
            raise Bad("a frame with a false check")
        if wire[47] != path_check(wire[44:47]):
            raise Bad("a frame with a false hop check")
        if type_ == DATA and address + length > SPACE:
            raise Bad("a frame past the end of the ring's memory")
        hops, marks = path(wire)
        return Frame(type_, source, incarnation, number, data, address, dest, kind & 15,
                     kind >> 4, domain, when, hops, marks)


@dataclass(frozen=True)
class Train(Frame):
    """Frames of 64 bytes, the last one perhaps shorter, under one header; number is the first's."""

    def encode(self):
        count = -(-len(self.data) // 64)
        head = HEADER.pack(b"RF", VERSION, TRAIN, self.source, count, self.kind | self.flags << 4,
                           len(self.data) - 64 * (count - 1), self.address, self.clock_domain,
                           self.incarnation, self.number, self.time)
        return self.behind(head)

    def frames(self):
        """One by one."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for at in range(0, len(self.data), 64):
            yield Frame(**{**fields, "type": DATA, "number": self.number + at // 64,
                           "address": self.address + at, "data": self.data[at:at + 64]})

    @staticmethod
    def decode(wire):
        head, data = wire[:40], wire[48:]
        if struct.unpack("<I", wire[40:44])[0] != crc32c(head + data):
            raise Bad("a train with a false check")
        if wire[47] != path_check(wire[44:47]):
            raise Bad("a train with a false hop check")
        _, _, _, source, _, kind, _, address, domain, incarnation, number, when = \
            HEADER.unpack(head)
        if address + len(data) > SPACE:
            raise Bad("a train past the end of the ring's memory")
        hops, marks = path(wire)
        return Train(TRAIN, source, incarnation, number, data, address, 0, kind & 15, kind >> 4,
                     domain, when, hops, marks)


@dataclass(frozen=True)
class Packet(Frame):
    """Up to 2048 bytes for one node; number is that of the first piece."""

    stream: int = 0

    @property
    def last(self):
        return self.number + pieces(self.data) - 1

    def encode(self):
        count = pieces(self.data)
        return self.behind(HEADER.pack(b"RF", VERSION, PACKET, self.source, self.dest,
                                       self.kind | self.flags << 4, len(self.data) - 64 * (count - 1),
                                       self.stream | count << 16, self.clock_domain, self.incarnation,
                                       self.number, self.time))

    @staticmethod
    def decode(wire):
        frame = Frame.decode(wire)
        return Packet(**{**vars(frame), "address": 0, "stream": frame.address & 0xFFFF})


def pieces(data):
    return -(-len(data) // 64)


def path(wire):
    """Hops and marks."""
    hops, marks = struct.unpack("<HB", wire[44:47])
    return hops & 0x3FFF, marks | hops >> 14 << 8


def multicast_data(value, *nodes):
    """The data of a MULTICAST: 32 bits and a set of nodes."""
    return struct.pack("<I", value) + sum(1 << n for n in set(nodes)).to_bytes(32, "little")


def multicast_nodes(data):
    """The nodes of its set."""
    return [n for n in range(256) if data[4 + n // 8] >> n % 8 & 1]


def query_data(ticket, address, length):
    """The data of a QUERY."""
    return struct.pack("<QII", ticket, address, length)


def answer_data(ticket, memory, paused=False):
    """The data of an ANSWER for these bytes."""
    return struct.pack("<QIHH8s", ticket, crc32c(memory), len(memory), paused, memory[:8])


def request_data(op, ticket, life, offset=0, length=0, key=0, width=0, compare=0, value=0, message=0,
                 total=0, data=b""):
    """The data of a packet of class request."""
    head = struct.pack("<BBxxIQQII", op, width, ticket, life, offset, key, length)
    if op in (CAS, ADD):
        head += struct.pack("<QQ", compare, value)
    elif op == SEND:
        head += struct.pack("<II", message, total)
    return head + data


def reply_data(result, op, ticket, old=0, data=b""):
    """The data of a packet of class answer."""
    return struct.pack("<BBxxIQ", result, op, ticket, old) + data


@dataclass(frozen=True)
class Reply:
    """A packet of class answer that came."""
    part: int
    result: int
    op: int
    ticket: int
    old: int
    data: bytes

    @staticmethod
    def of(packet):
        return Reply(packet.stream, *struct.unpack("<BBxxIQ", packet.data[:16]), packet.data[16:])


def path_check(path):
    return ~(path[0] * 3 + path[1] * 7 + path[2] * 11) & 255


def unit_length(wire):
    """How long is what begins here? 0: cannot be told yet."""
    if len(wire) < 2:
        return 0
    if wire[:2] == b"RL":
        return 40
    if len(wire) < 48:
        return 0
    if wire[:2] != b"RF" or wire[2] != VERSION or wire[7] not in LENGTHS.get(wire[3], ()):
        raise Bad("neither a frame nor a link message")
    if wire[3] == TRAIN and wire[5] not in TRAIN_FRAMES:
        raise Bad("a train of an impossible number of frames")
    if wire[3] == PACKET and wire[10] not in PACKET_PIECES:
        raise Bad("a packet of an impossible number of pieces")
    return 48 + 64 * (unit_slots(wire) - 1) + wire[7]


def unit_slots(wire):
    """How many slots of a queue it takes: one for each frame."""
    count = {TRAIN: wire[5], PACKET: wire[10]} if wire[:2] == b"RF" else {}
    return count.get(wire[3], 1)


# --- shared memory -----------------------------------------------------------------------

QUEUE_MAGIC, QUEUE_VERSION, SLOT, SLOTS_AT, BEHIND = 0x516D6672, 3, 128, 4096, 4096
QUEUE_HEADER = struct.Struct("=IIIIQ")
TAIL, HEAD, CONSUMER_SLEEPS, PRODUCER_WAITS = (at // 4 for at in (128, 256, 384, 512))
F_ADD_SEALS, F_GET_SEALS, SEALS = 1033, 1034, 1 | 2 | 4

_barrier = threading.Lock()


def full_fence():
    """Taking a lock is one."""
    with _barrier:
        pass


class Queue:
    """One side of a queue in shared memory.

    fds: memory, and the own ends of the wake-ups data and room. offer: the other ends, if it
    was made here.
    """

    def __init__(self, fds, slots, offer=()):
        self.fds = fds
        self.offer = offer
        self.wakes = [socket.socket(fileno=fd) for fd in fds[1:]]
        self.slots = slots
        self.memory = mmap.mmap(fds[0], SLOTS_AT + SLOT * slots + BEHIND)
        self.words = memoryview(self.memory).cast("I")

    @staticmethod
    def create(slots):
        fd = os.memfd_create("peer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, SLOTS_AT + SLOT * slots + BEHIND)
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
        os.pwrite(fd, QUEUE_HEADER.pack(QUEUE_MAGIC, QUEUE_VERSION, SLOT, slots,
                                        SLOTS_AT + SLOT * slots + BEHIND), 0)
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
        own, others = ([end.detach() for end in ends] for ends in zip(*pairs))
        return Queue([fd, *own], slots, [fd, *others])

    @staticmethod
    def attach(fds):
        magic, version, slot, slots, size = QUEUE_HEADER.unpack(os.pread(fds[0], 24, 0))
        if (magic, version, slot, size) != (QUEUE_MAGIC, QUEUE_VERSION, SLOT,
                                            SLOTS_AT + SLOT * slots + BEHIND):
            raise Bad("a queue with another header")
        if slots & (slots - 1) or not 2 <= slots <= 65536 or os.fstat(fds[0]).st_size != size:
            raise Bad("a queue of another size")
        if fcntl.fcntl(fds[0], F_GET_SEALS) & SEALS != SEALS:
            raise Bad("a queue that is not sealed")
        for fd in fds[1:]:
            with socket.socket(fileno=os.dup(fd)) as end:
                if (end.family, end.type) != (socket.AF_UNIX, socket.SOCK_DGRAM):
                    raise Bad("a wake-up that is no datagram socket")
        return Queue(fds, slots)

    def _at(self, index):
        return SLOTS_AT + SLOT * (index % self.slots)

    def _wake(self, word, end):
        full_fence()
        if self.words[word]:
            self.words[word] = 0
            try:
                end.send(b"\0", socket.MSG_DONTWAIT)
            except (BlockingIOError, ConnectionRefusedError):
                pass

    def put(self, wire):
        """False if there is no room."""
        tail = self.words[TAIL]
        if (tail - self.words[HEAD]) % 2**32 + unit_slots(wire) > self.slots:
            return False
        at = self._at(tail)
        self.memory[at:at + len(wire)] = wire
        self.words[TAIL] = (tail + unit_slots(wire)) % 2**32
        self._wake(CONSUMER_SLEEPS, self.wakes[0])
        return True

    def take(self):
        """What is in the next slot, or in those of a train, or None."""
        head = self.words[HEAD]
        if head == self.words[TAIL]:
            return None
        at = self._at(head)
        unit = self.memory[at:at + BEHIND]
        unit = unit[:unit_length(unit)]
        self.words[HEAD] = (head + unit_slots(unit)) % 2**32
        if (self.words[TAIL] - self.words[HEAD]) % 2**32 <= self.slots // 2:
            self._wake(PRODUCER_WAITS, self.wakes[1])
        return unit

    def may_sleep(self):
        self.words[CONSUMER_SLEEPS] = 1
        full_fence()
        if self.words[HEAD] == self.words[TAIL]:
            return True
        self.words[CONSUMER_SLEEPS] = 0
        return False

    def awake(self):
        self.words[CONSUMER_SLEEPS] = 0
        try:
            self.wakes[0].recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass

    def close(self):
        self.words.release()
        self.memory.close()
        for end in self.wakes:
            end.close()
        for fd in {self.fds[0], *self.offer}:
            os.close(fd)


# --- a member ------------------------------------------------------------------------------

def connect(path, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while True:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.connect(path)
            return link
        except (FileNotFoundError, ConnectionRefusedError):
            link.close()
            if time.monotonic() > end:
                raise


def read_exactly(link, length, seconds=PATIENCE_S):
    """As many bytes; fewer if the stream ends before."""
    link.settimeout(seconds)
    data = b""
    while len(data) < length:
        more = link.recv(length - len(data))
        if not more:
            break
        data += more
    return data


class Peer:
    """Between a node's tx, to which it is the rx, and that node's rx.

    shm: offer and take shared memory. forward: pass on what others send. marks: what it
    leaves on that. room: for packets. verdict: what it says of those for it, if not that.
    serve: called with each request that it took. beats: say a heartbeat twice a second.
    aliases: other sources whose frames are its own.
    """

    def __init__(self, node_rx, node_tx, ident, incarnation=None, shm=False, light=True):
        self.ident = ident
        self.incarnation = incarnation or time.monotonic_ns()       # grows, whatever the wall clock does
        self.number = 0
        self.forward = True
        self.marks = 0
        self.room = True
        self.verdict = None
        self.serve = None
        self.beats = False
        self.beat = 0.0
        self.aliases = ()
        self.ticket = 0
        self.light = light
        self.seen, self.home, self.lights, self.messages = [], [], [], []
        self.trains = 0
        self.trouble = None
        self.changed = threading.Condition(threading.RLock())
        self.stopping = False
        self.said = 0.0
        self.tx, self.rx = connect(node_rx), connect(node_tx)
        self.out = self._say_hello(shm)
        self.incoming = self._hear_hello(shm)
        if light:
            self._send(self._message(LIGHT, 1).encode())
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _message(self, kind, value):
        return Message(kind, self.ident, value, self.incarnation, 1 << 20)

    def _say_hello(self, shm):
        queue = Queue.create(64) if shm else None
        hello = self._message(HELLO, HAS_SHM if shm else 0).encode()
        if shm:
            socket.send_fds(self.tx, [hello], queue.offer)
        else:
            self.tx.sendall(hello)
        self.welcome = Message.decode(read_exactly(self.tx, 40))
        if self.welcome.kind != WELCOME or bool(self.welcome.value & HAS_SHM) != shm:
            raise Bad(f"the answer to HELLO was {self.welcome}")
        return queue

    def _hear_hello(self, shm):
        self.rx.settimeout(PATIENCE_S)
        data, fds, _, _ = socket.recv_fds(self.rx, 40, 3)
        data += read_exactly(self.rx, 40 - len(data))
        self.hello = Message.decode(data)
        if self.hello.kind != HELLO or bool(self.hello.value & HAS_SHM) != (len(fds) == 3):
            raise Bad(f"{self.hello} came with {len(fds)} descriptors")
        queue = Queue.attach(fds) if shm else None
        if not shm:
            for fd in fds:
                os.close(fd)
        self.rx.sendall(self._message(WELCOME, HAS_SHM if shm else 0).encode())
        return queue

    def _send(self, wire):
        with self.changed:
            self.said = time.monotonic()
            if not self.out:
                self.tx.sendall(wire)
            while self.out and not self.out.put(wire):
                time.sleep(0)

    def _run(self):
        try:
            self._links()
        except (Bad, OSError, ValueError) as problem:
            with self.changed:
                self.trouble = self.trouble or problem
                self.changed.notify_all()

    def _links(self):
        rest = b""
        self.rx.setblocking(False)
        waits = [self.rx] + ([self.incoming.fds[1]] if self.incoming else [])
        while not self.stopping:
            ready = []
            if not self.incoming or self.incoming.may_sleep():
                ready = select.select(waits, [], [], 0.05)[0]
            if self.incoming:
                self.incoming.awake()
                while (unit := self.incoming.take()) is not None:
                    self._take(unit)
                    self._stay_lit()
            if self.rx in ready:
                data = self.rx.recv(65536)
                if not data or self.incoming:
                    raise Bad("the stream has ended" if not data else "bytes beside the queue")
                rest += data
            while (length := unit_length(rest)) and len(rest) >= length:
                self._take(rest[:length])
                rest = rest[length:]
                self._stay_lit()
            self._stay_lit()

    def _stay_lit(self):
        """An idle line repeats its LIGHT, also while there is much to take."""
        with self.changed:
            if self.light and time.monotonic() - self.said >= 0.25:
                self._send(self._message(LIGHT, 1).encode())
            if self.beats and time.monotonic() - self.beat >= 0.5:
                self.beat = time.monotonic()
                self.send(HEARTBEAT)

    def _take(self, wire):
        if wire[:2] == b"RL":
            message = Message.decode(wire)
            with self.changed:
                self.messages.append(message)
                if message.kind == LIGHT:
                    self.lights.append(message.value)
                self.changed.notify_all()
            return
        unit = {TRAIN: Train, PACKET: Packet}.get(wire[3], Frame).decode(wire)
        own = (unit.source == self.ident and unit.incarnation == self.incarnation or
               unit.source in self.aliases)
        with self.changed:
            (self.home if own else self.seen).extend(
                unit.frames() if wire[3] == TRAIN else [unit])
            self.trains += wire[3] == TRAIN
            self.changed.notify_all()
            if not own and self.forward and self.light:
                self._send(replace(unit, hops=unit.hops + 1,
                                   marks=unit.marks | self.marks | self._verdict(unit)).encode())
            if self.serve and self._verdict(unit) & TAKEN and unit.kind == REQUESTS:
                self.serve(unit)

    def _verdict(self, unit):
        if unit.type != PACKET or not (unit.dest == self.ident or unit.dest in self.aliases or
                                       unit.kind & GLOBAL):
            return 0
        if self.verdict is not None:
            return self.verdict
        return SEEN | (TAKEN if self.room else 0)

    # what tests use

    def say(self, wire):
        """Any bytes."""
        self._send(wire)

    def frame(self, type_, data=b"", **fields):
        """A frame of this member, with the next number if it has one."""
        self.number += type_ in NUMBERED
        return Frame(type_, self.ident, self.incarnation, fields.pop("number", self.number), data,
                     time=time.monotonic_ns(), **fields)

    def send(self, type_, data=b"", **fields):
        with self.changed:          # heartbeats tell the number, and are said in between
            frame = self.frame(type_, data, **fields)
            self._send(frame.encode())
        return frame

    def packet(self, dest, data, number_after=0, **fields):
        """Send one, after so many numbers that are left out."""
        with self.changed:
            self.number += number_after
            packet = Packet(PACKET, self.ident, self.incarnation, self.number + 1, data, dest=dest,
                            time=time.monotonic_ns(), **fields)
            self.number += pieces(data)
            self._send(packet.encode())
        return packet

    def ask(self, dest, op, part=0, ticket=None, life=None, **fields):
        """Send a request, with the next ticket if none is named; returns the packet and the ticket."""
        self.ticket += 1
        ticket = self.ticket if ticket is None else ticket
        life = self.life_of(dest) if life is None else life
        packet = self.packet(dest, request_data(op, ticket, life, **fields), kind=REQUESTS,
                             flags=FIRST | LAST, stream=part)
        return packet, ticket

    def reply(self, request, result=DONE, old=0, data=b"", **fields):
        """Answer a request that came."""
        op, ticket = request.data[0], struct.unpack("<I", request.data[4:8])[0]
        return self.packet(request.source, reply_data(result, op, ticket, old, data), kind=ANSWERS,
                           flags=FIRST | LAST, stream=request.stream, **fields)

    def replies(self, ticket):
        """Answers that came for it."""
        return [reply for reply in (Reply.of(f) for f in self.seen if f.type == PACKET and f.kind == ANSWERS
                                    and f.dest == self.ident) if reply.ticket == ticket]

    def answered(self, dest, op, **fields):
        """Ask, and wait for the answer."""
        _, ticket = self.ask(dest, op, **fields)
        return self.wait(f"the answer to operation {op}", lambda p: p.replies(ticket))[0]

    def life_of(self, node):
        return next(frame.incarnation for frame in reversed(self.seen) if frame.source == node)

    def join(self, seconds=PATIENCE_S):
        """Until the ring is closed: until a heartbeat comes home."""
        end = time.monotonic() + seconds
        with self.changed:
            while not any(frame.type == HEARTBEAT for frame in self.home):
                if self.trouble or time.monotonic() > end:
                    raise Bad(f"the ring does not close: {self.trouble}")
                self.send(HEARTBEAT)
                self.changed.wait(0.1)

    def set_light(self, on):
        with self.changed:          # nothing may follow in the dark
            self._send(self._message(LIGHT, int(on)).encode())
            self.light = on

    def wait(self, what, condition, seconds=PATIENCE_S):
        """Until the condition holds of what was seen; returns its value."""
        end = time.monotonic() + seconds
        with self.changed:
            while not (value := condition(self)):
                if self.trouble:
                    raise Bad(f"waiting for {what}: {self.trouble}")
                if not self.changed.wait(end - time.monotonic()):
                    raise Bad(f"not within {seconds} s: {what}")
        return value

    def close(self):
        self.stopping = True
        self.thread.join()
        self.tx.close()
        self.rx.close()
        for queue in (self.out, self.incoming):
            if queue:
                queue.close()
