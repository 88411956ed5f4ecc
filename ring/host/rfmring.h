/* SPDX-License-Identifier: MIT */
/*
 * librfmring: a program is a node of a reflective-memory ring, in its own
 * process: no virtual machine, no kernel module, no root. librfmring(7) is the
 * overview; each call has a manual page.
 *
 * Threads. Before rfmring_start() a ring belongs to the thread that opened it,
 * which must call rfmring_run() for anything to move. After rfmring_start() a
 * thread of the library moves everything, and every call except
 * rfmring_close() may be made by any thread at any time. Callbacks run in the
 * thread that moves the ring, or in a call that changes a setting. They may
 * load, store, send interrupts, begin operations, call rfmring_wake() and ask for counters, state
 * and members; a store never waits there (EAGAIN if there is no room). What
 * waits, moves the ring or changes it fails there with EDEADLK.
 *
 * Two rings in one process: a callback of one may do the same with the other,
 * and change its settings. As it must not wait for it, all of these but loads,
 * stores, interrupts and rfmring_wake() fail with EDEADLK while the other one is
 * busy.
 *
 * Calls that return int return 0, or -1 with errno, unless they say otherwise.
 * Offsets and lengths are bytes. A timeout is in ms, 0: do not wait, -1: for ever,
 * less than that is EINVAL.
 *
 * Structures grow at their end. Those with a size may be shorter or longer than the
 * library's: what is not there is 0. The others have reserved words.
 */
#ifndef RFMRING_H
#define RFMRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RFMRING_API	__attribute__((visibility("default")))

#define RFMRING_NODES		256
#define RFMRING_MEMORY_MAX	0x10000000u	/* bytes: 256 MiB */
#define RFMRING_NODE_ALL	0xffffu	/* every other node; nobody knows which */
#define RFMRING_STALL_MS	500	/* a store waits for room so long, by default */
#define RFMRING_INTERRUPTS	1024	/* wait in a ring's queue at most */

struct rfmring;

/* enum rfmring_flag - struct rfmring_config.flags */
enum rfmring_flag {
	RFMRING_REDUNDANT	= 0x0001,	/* send every update twice; all nodes alike */
	RFMRING_ROGUE_0		= 0x0002,	/* be rogue master 0 */
	RFMRING_ROGUE_1		= 0x0004,	/* be rogue master 1 */
	RFMRING_UNPACKED	= 0x0008,	/* a frame for each store */
	RFMRING_AUTHENTIC_LATE	= 0x0010,	/* store late frames too, as glass would */
	RFMRING_AUTHENTIC_IDS	= 0x0020,	/* stay although another node has the same id */
	RFMRING_STREAM_ONLY	= 0x0040,	/* no shared memory with the neighbours */
	RFMRING_CLOCK_TAI	= 0x0080,	/* the node's clock is CLOCK_TAI, not CLOCK_MONOTONIC */
	RFMRING_AUTO_RESYNC	= 0x0100,	/* rfmring_resync() by itself whenever it is incomplete */
};

/* enum rfmring_status - what struct rfmring_config.status() reports, a mask */
enum rfmring_status {
	RFMRING_OWN_DATA	= 0x001,	/* an own update or interrupt came home */
	RFMRING_SYNC_LOSS	= 0x002,	/* the receiver lost its signal */
	RFMRING_BAD_DATA	= 0x004,	/* a damaged frame was dropped */
	RFMRING_TX_FULL		= 0x008,	/* a frame was dropped for want of room */
	RFMRING_DUPLICATE_ID	= 0x010,	/* an earlier node has this id: this one has left */
	RFMRING_ROGUE		= 0x020,	/* a rogue master removed a frame */
	RFMRING_RX_FULL		= 0x040,	/* paused for too long: updates were dropped here */
	RFMRING_BREAK		= 0x080,	/* another node has lost its signal: state.break_at */
	RFMRING_EPOCH		= 0x100,	/* the membership of the ring has changed */
	RFMRING_SIGNAL		= 0x200,	/* the receiver has a signal now */
	RFMRING_DOWNSTREAM	= 0x400,	/* a neighbour takes this node's frames, or none any more */
	RFMRING_RX_ALMOST_FULL	= 0x800,	/* paused: three quarters of the room for updates are used */
	RFMRING_INCOMPLETE	= 0x1000,	/* state.incomplete has changed */
};

/* enum rfmring_optics - rfmring_set_optics() */
enum rfmring_optics {
	RFMRING_TX_DISABLE	= 0x1,	/* laser off */
	RFMRING_LOOPBACK	= 0x2,	/* hear only oneself */
	RFMRING_DARK_ON_DARK	= 0x4,	/* laser off while no light arrives */
};

/**
 * struct rfmring_update - bytes that another node has stored
 * @offset: in this node's memory, where they are already
 * @length: 1..64
 * @node: id of the originator
 * @data: the bytes; valid during the call
 * @seq: number of its frame, per incarnation of the source
 * @time_ns: when it was stored there, on the clock of @clock_domain
 * @arrival_ns: when it came, on this node's clock: CLOCK_MONOTONIC, or CLOCK_TAI with
 *	RFMRING_CLOCK_TAI. With @same_clock the age of the update is @arrival_ns - @time_ns, as
 *	exact as the clocks agree, so perhaps less than 0
 * @clock_domain: of @time_ns
 * @same_clock: it is this node's
 * @monotonic_ns: when it came, CLOCK_MONOTONIC
 * @reserved, @reserved2: 0
 */
struct rfmring_update {
	uint64_t offset;
	uint32_t length;
	uint32_t node;
	const void *data;
	uint64_t seq;
	uint64_t time_ns;
	uint64_t arrival_ns;
	uint32_t clock_domain;
	bool same_clock;
	uint8_t reserved[3];
	uint64_t monotonic_ns;
	uint64_t reserved2;
};

/**
 * struct rfmring_interrupt - a network interrupt for this node
 * @type: 0: a reset request; 1 to 4
 * @node: id of the sender
 * @data: 32 bits that came with it
 * @time_ns: when it arrived, CLOCK_MONOTONIC
 * @reserved, @reserved2: 0
 */
struct rfmring_interrupt {
	uint32_t type;
	uint32_t node;
	uint32_t data;
	uint32_t reserved;
	uint64_t time_ns;
	uint64_t reserved2[2];
};

/**
 * struct rfmring_config - how to open a ring
 * @size: sizeof(struct rfmring_config); RFMRING_CONFIG_INIT sets it. A program
 *	compiled with an older version of this header goes on working
 * @id: node id, 0..255, unique on the ring
 * @flags: enum rfmring_flag
 * @memory_size: bytes, a multiple of 4096 up to RFMRING_MEMORY_MAX
 * @memory_file: the memory is this file, which other programs may map; made
 *	or resized if need be. NULL: anonymous; either takes room only where
 *	it is written to
 * @rx: address of the receiving end of the fibre from upstream:
 *	"unix:PATH", "tcp:HOST:PORT" to connect, with ",server" to listen
 * @tx: of the sending end of the fibre to downstream
 * @behind: instead of @rx and @tx: this node sits directly downstream of that
 *	ring's, in the same process, on the same fibres, served by the same
 *	thread, and must be closed before it. Other settings of a fibre (@line
 *	apart) are then of no meaning
 * @line: "free" (NULL), or "paced", "paced,rate=GBAUD,hop=NS,fibre=M": frames
 *	leave when the hardware's would
 * @pcap: write what passes to this pcapng file; NULL: none
 * @window: own frames in flight, 1..16384; 0: 1024. On a paced line at most 256, in redundant
 *	mode 512, on a ring of more than 16 nodes 262144 divided by their number
 * @insert_slots: stores that may wait, a power of two from 16 to 2048; 0: 2048
 * @stall_ms: how long a store may wait for room before it is dropped on the
 *	ring, 1..10000; 0: RFMRING_STALL_MS
 * @shm_slots: frames in the shared memory to downstream, a power of two from 64 to
 *	65536; 0: 1024
 * @socket_buffer: bytes of the sockets' buffers; 0: the system's choice
 * @priority: of the thread that rfmring_start() makes: SCHED_FIFO 1..99; 0: as its maker
 * @cpus: on which that thread may run, a list: "3", "80-95,3"; NULL: as its maker
 * @incarnation: of this node, greater than that of any before; 0: ns
 *	of real time now
 * @opaque: for the callbacks, each of which may be NULL
 * @interrupt: an interrupt has come. Without it they wait for
 *	rfmring_wait_interrupt()
 * @status: something has happened, a mask of enum rfmring_status
 * @log: one sentence for people, e.g. why a neighbour was turned away
 * @lost: @count updates, interrupts and fences of @node never arrived here
 * @timer: the time of rfmring_set_timer() has come
 * @tap: name of a TAP device of this host that is on the ring, until the ring is closed. One that
 *	is not there is made, with an MTU of 9000; NULL: none
 */
struct rfmring_config {
	size_t size;
	uint32_t id;
	uint32_t flags;
	uint64_t memory_size;
	const char *memory_file;
	const char *rx;
	const char *tx;
	struct rfmring *behind;
	const char *line;
	const char *pcap;
	uint32_t window;
	uint32_t insert_slots;
	uint32_t stall_ms;
	uint32_t shm_slots;
	uint32_t socket_buffer;
	uint32_t priority;
	const char *cpus;
	uint64_t incarnation;
	void *opaque;
	void (*interrupt)(void *opaque, const struct rfmring_interrupt *interrupt);
	void (*status)(void *opaque, uint32_t what);
	void (*log)(void *opaque, const char *sentence);
	void (*lost)(void *opaque, uint32_t node, uint64_t count);
	void (*timer)(void *opaque, uint64_t now_ns);
	const char *tap;
};

#define RFMRING_CONFIG_INIT	{ .size = sizeof(struct rfmring_config) }

/**
 * struct rfmring_stats - counters since rfmring_open()
 * @size: set to sizeof(struct rfmring_stats) before the call
 * @stores: stores and interrupts asked for
 * @sent: own frames numbered (adjacent stores may share one)
 * @home: of these, came home, stored by every node on the way
 * @lost: of these, did not; those of @dark and @full are among them
 * @dark: own frames not sent: no signal, transmitter off, no downstream
 * @full: own frames not sent: no room within the allowed time
 * @received: updates, interrupts and fences of others that were taken
 * @forwarded: frames of others passed on
 * @unsendable: of others, not passed on: no downstream
 * @overrun: of others, not passed on: no room
 * @missed: updates, interrupts and fences of others that never arrived here
 * @late: frames older than what had come; passed on, not stored
 * @copies: second copies of redundant transfers
 * @beyond: updates past the end of this memory; passed on
 * @bad: damaged frames dropped
 * @hop_limit: frames dropped because they went round for ever
 * @rogue: frames that this rogue master removed
 * @mixed: frames removed because their node is of the other transfer mode
 * @held_lost: updates dropped here while the node was paused
 * @window_peak: most own frames in flight
 * @tx_peak: most frames in the transmit FIFO
 * @insert_peak: most stores that waited
 * @stalls: stores that had to wait for room
 * @longest_stall_ns: longest of these waits, until the thread had a CPU again
 * @interrupts_lost: interrupts for which the queue had no room
 * @sent_bytes: data bytes of own updates given to the fibre or to loopback
 * @received_bytes: data bytes of updates that were taken
 * @forwarded_bytes: data bytes of updates passed on
 * @window: own frames in flight now
 * @tx: frames in the transmit FIFO now
 * @insert: stores that wait now
 * @asked: operations at one node that this node has begun
 * @done: of these, have been done
 * @failed: of these, have ended otherwise
 * @served: requests of other nodes that were answered, each time
 * @refused: packets of other nodes that were no request, part of a message or answer as it has to
 *	be
 * @repeated: requests that had come before, and were not done again
 * @strange: answers that nobody waited for, or that cannot be
 * @messages: of other nodes, that came whole
 * @given_up: of other nodes, that never did
 * @ethernet_sent: frames of the TAP device that have left whole
 * @ethernet_lost: of these, as far as this node knows not received
 * @ethernet_dark: not sent, or not whole: no signal, transmitter off, no downstream
 * @ethernet_unfit: not sent: shorter than 14 or longer than 9216 bytes
 * @ethernet_received: frames of other nodes that have come whole
 * @ethernet_refused: of other nodes, that found no room here
 * @ethernet_broken: of other nodes, of which a part is missing
 * @ethernet_dropped: of @ethernet_received those that the TAP device did not take: it is down, full
 *	or gone
 */
struct rfmring_stats {
	size_t size;
	uint64_t stores, sent, home, lost, dark, full;
	uint64_t received, forwarded, unsendable, overrun;
	uint64_t missed, late, copies, beyond, bad, hop_limit;
	uint64_t rogue, mixed, held_lost;
	uint64_t window_peak, tx_peak, insert_peak;
	uint64_t stalls, longest_stall_ns, interrupts_lost;
	uint64_t sent_bytes, received_bytes, forwarded_bytes;
	uint64_t window, tx, insert;
	uint64_t asked, done, failed;
	uint64_t served, refused, repeated, strange, messages, given_up;
	uint64_t ethernet_sent, ethernet_lost, ethernet_dark, ethernet_unfit;
	uint64_t ethernet_received, ethernet_refused, ethernet_broken, ethernet_dropped;
};

/**
 * struct rfmring_state - how the node is
 * @size: set to sizeof(struct rfmring_state) before the call
 * @incarnation: of this node
 * @clock_domain: clocks of equal domain may be subtracted
 * @epoch: changes with the membership of the ring
 * @id: node id
 * @optics: enum rfmring_optics as set
 * @address_offset: as set
 * @break_at: node that last told of a lost signal; RFMRING_NODE_ALL: none has
 * @signal: light arrives
 * @downstream: a neighbour takes this node's frames
 * @left: another node has this id: this one only passes frames on
 * @paused: rfmring_set_paused()
 * @ring_open: own frames do not come home
 * @incomplete: some of what others have stored is not in this memory: rfmring_resync()
 * @rx_shm: frames come by shared memory
 * @tx_shm: frames go by shared memory
 * @upstream: id of the neighbour; RFMRING_NODE_ALL: none, or a hub
 * @downstream_id: likewise
 * @turn_ns: time once round the ring; 0: nothing comes home
 * @clock_error_ns: how far CLOCK_TAI may be from the time, as the kernel believes
 *	(adjtimex(2), maxerror: what the program that keeps it has said, and 500 us for each second
 *	since); two nodes may be off by the sum of theirs. Without RFMRING_CLOCK_TAI 0
 * @clock_trouble: with RFMRING_CLOCK_TAI, why only nodes on this host have this
 *	@clock_domain, a part of a sentence; else NULL. It changes as the host's clock does
 */
struct rfmring_state {
	size_t size;
	uint64_t incarnation;
	uint32_t clock_domain;
	uint32_t epoch;
	uint32_t id;
	uint32_t optics;
	uint32_t address_offset;
	uint32_t break_at;
	bool signal, downstream, left, paused;
	bool ring_open, rx_shm, tx_shm, incomplete;
	uint32_t upstream, downstream_id;
	uint64_t turn_ns;
	uint64_t clock_error_ns;
	const char *clock_trouble;
};

/**
 * struct rfmring_member - another node of the ring
 * @id: node id
 * @hops: links from there to here
 * @incarnation: of that node
 * @received: updates, interrupts and fences taken from it
 * @missed: of it, that never arrived here
 * @clock_domain: of its clock
 * @hubs: how many of @hops lead out of a hub, modulo 16
 * @paused: it stands still, and stores nothing now
 * @present: it is on the ring; otherwise the rest is as it was when it was heard last
 * @transit_ns: time its last frame took to come here; 0: its clock is another
 * @heard_ns: when it was last heard, CLOCK_MONOTONIC
 * @broke_ns: when it last told that it had lost its signal; 0: never; CLOCK_MONOTONIC
 * @ahead_ns: its last frame seems to have come so long before its time, in one clock domain:
 *	the clocks of two hosts disagree by more than it took, or it came while this node was at
 *	others. 0: it does not
 * @incomplete: it lacks some of what others have stored
 * @reserved: 0
 */
struct rfmring_member {
	uint32_t id;
	uint32_t hops;
	uint64_t incarnation;
	uint64_t received;
	uint64_t missed;
	uint32_t clock_domain;
	uint16_t hubs;
	bool paused, present;
	uint64_t transit_ns, heard_ns, broke_ns;
	uint64_t ahead_ns;
	bool incomplete;
	uint8_t reserved[7];
};

/**
 * struct rfmring_fence - how a fence ended
 * @lost: own frames that did not reach every node, since the fence before that did not time out
 * @epoch: membership epoch now
 * @paused: a node passed frames on without having stored them yet
 * @epoch_changed: it was another when the fence was begun
 * @home: it came home; otherwise it was lost, or the node has gone dark
 * @lost_in_all: what @lost of every fence of this node adds up to: parts of a program that
 *	fence each for itself compare it with what it was when they looked last
 * @reserved, @reserved2: 0
 */
struct rfmring_fence {
	uint64_t lost;
	uint32_t epoch;
	bool paused;
	bool epoch_changed;
	bool home;
	uint8_t reserved;
	uint64_t lost_in_all;
	uint64_t reserved2;
};

#define RFMRING_QUERY_MAX	32768	/* bytes */

/**
 * struct rfmring_answer - what a node has in its memory
 * @given: it has answered; otherwise all else is 0
 * @paused: it stands still, and will store more when it goes on
 * @length: how many of the bytes asked for lie within its memory: only they count
 * @crc: CRC32C of them
 * @first: the first eight of them, zeros behind the last
 * @reserved: 0
 */
struct rfmring_answer {
	bool given;
	bool paused;
	uint16_t length;
	uint32_t crc;
	uint8_t first[8];
	uint64_t reserved;
};

/* --- lifecycle -------------------------------------------------------------- */

/**
 * rfmring_open() - become a node
 * @config: copied, with all strings
 * @error: set to one sentence that says why it failed; may be NULL
 * @error_size: bytes of @error
 *
 * Returns NULL with errno on failure: EINVAL for a setting, or what the
 * system said.
 */
RFMRING_API struct rfmring *rfmring_open(const struct rfmring_config *config,
					 char *error, size_t error_size);

/**
 * rfmring_close() - leave the ring
 *
 * Waits up to the stall limit until own frames have left and come home. Nobody
 * else may be in a call of it. Errors: EDEADLK in a callback, of whatever ring; EBUSY
 * there is a node behind it. Then nothing was done. NULL is allowed.
 */
RFMRING_API int rfmring_close(struct rfmring *ring);

/** rfmring_start() - move the ring in a thread of the library from now on */
RFMRING_API int rfmring_start(struct rfmring *ring);

/**
 * rfmring_run() - move the ring in this thread
 * @timeout_ms: return after that time; 0: do what there is to do, and return;
 *	-1: for ever, until rfmring_wake()
 */
RFMRING_API int rfmring_run(struct rfmring *ring, int timeout_ms);

/**
 * rfmring_wake() - let rfmring_run() or rfmring_wait_interrupt() return
 *
 * Any thread; before rfmring_start() in signal handlers too.
 */
RFMRING_API void rfmring_wake(struct rfmring *ring);

/**
 * rfmring_fd() - for a program with a loop of its own
 *
 * Returns a descriptor, the ring's own, to be polled for POLLIN. When it is
 * readable, and once at first, call rfmring_run(ring, 0). -1 with errno.
 */
RFMRING_API int rfmring_fd(struct rfmring *ring);

/* --- memory ----------------------------------------------------------------- */

/** rfmring_memory() - this node's copy; read-only by agreement: a store there stays here */
RFMRING_API const void *rfmring_memory(const struct rfmring *ring);
RFMRING_API uint64_t rfmring_memory_size(const struct rfmring *ring);

/**
 * rfmring_load8() - read an aligned word, with acquire order
 * @value: set on success only
 *
 * Errors: EINVAL @offset is not aligned or not in the memory.
 */
RFMRING_API int rfmring_load8(const struct rfmring *ring, uint64_t offset, uint8_t *value);
RFMRING_API int rfmring_load16(const struct rfmring *ring, uint64_t offset, uint16_t *value);
RFMRING_API int rfmring_load32(const struct rfmring *ring, uint64_t offset, uint32_t *value);
RFMRING_API int rfmring_load64(const struct rfmring *ring, uint64_t offset, uint64_t *value);

/**
 * rfmring_store8() - store a word here and on every node
 *
 * Waits for room, up to the ring's stall limit. Errors: EINVAL @offset is not
 * aligned or not in the memory (nothing was done); EAGAIN in a callback: no room
 * (nothing was done); ENOBUFS no room within the limit: stored here, but not
 * sent, and counted (@full).
 */
RFMRING_API int rfmring_store8(struct rfmring *ring, uint64_t offset, uint8_t value);
RFMRING_API int rfmring_store16(struct rfmring *ring, uint64_t offset, uint16_t value);
RFMRING_API int rfmring_store32(struct rfmring *ring, uint64_t offset, uint32_t value);
RFMRING_API int rfmring_store64(struct rfmring *ring, uint64_t offset, uint64_t value);

/**
 * rfmring_write() - store bytes here and on every node
 *
 * In frames of up to 64 bytes, in ascending order; aligned words of up to 8
 * bytes are not torn. Errors as rfmring_store8(), of any alignment; ENOBUFS if
 * any frame was dropped. In a callback at most 64 bytes.
 */
RFMRING_API int rfmring_write(struct rfmring *ring, uint64_t offset, const void *data,
			      size_t length);

/** rfmring_read() - copy out of this node's memory, aligned words not torn; EINVAL */
RFMRING_API int rfmring_read(const struct rfmring *ring, uint64_t offset, void *data,
			     size_t length);

/** rfmring_may_store() - would a store go without waiting? */
RFMRING_API bool rfmring_may_store(struct rfmring *ring);

/**
 * rfmring_watch() - be told of updates by others
 * @offset: first byte of the range
 * @length: bytes, at least 1
 * @update: called for each update that touches the range, after it was stored
 *
 * Returns a number for rfmring_unwatch(), or -1 with errno: EINVAL, ENOMEM.
 */
RFMRING_API int rfmring_watch(struct rfmring *ring, uint64_t offset, uint64_t length,
			      void (*update)(void *opaque, const struct rfmring_update *update),
			      void *opaque);

/** rfmring_unwatch() - no more; ENOENT. Not in a callback of a watch (EDEADLK) */
RFMRING_API int rfmring_unwatch(struct rfmring *ring, int watch);

/* --- interrupts and fences --------------------------------------------------- */

/**
 * rfmring_interrupt() - send a network interrupt, behind every store so far
 * @node: its id, or RFMRING_NODE_ALL
 * @type: 0: a reset request; 1..4
 * @data: 32 bits that travel with it
 *
 * Never waits. Errors: EINVAL; ENOBUFS even the room kept for interrupts is
 * full: not sent, and counted.
 */
RFMRING_API int rfmring_interrupt(struct rfmring *ring, uint32_t node, uint32_t type,
				  uint32_t data);

/**
 * rfmring_interrupt_set() - send a network interrupt to a set of nodes
 * @set: RFMRING_NODES / 8 bytes: node n is bit n % 8 of byte n / 8. The own node in
 *	it gets none
 * @type: 0: a reset request; 1..4
 * @data: 32 bits that travel with it
 *
 * One frame for all of them. As rfmring_interrupt(); EINVAL also for an empty set.
 */
RFMRING_API int rfmring_interrupt_set(struct rfmring *ring, const uint8_t *set, uint32_t type,
				      uint32_t data);

/**
 * rfmring_wait_interrupt() - the oldest interrupt that has come
 * @timeout_ms: -1: wait for ever
 *
 * Returns 1, or 0 after the time or rfmring_wake(), or -1 with errno.
 */
RFMRING_API int rfmring_wait_interrupt(struct rfmring *ring, struct rfmring_interrupt *interrupt,
				       int timeout_ms);

/**
 * rfmring_fence() - wait until all stores so far are in every node's memory
 * @fence: how it ended; may be NULL
 * @timeout_ms: -1: for ever
 *
 * Returns 0 only if they are. Errors: EIO own frames did not reach every node, since
 * the fence before (@fence says how many); EBUSY a node stands still, and will store
 * them when it goes on; EAGAIN nodes came or went meanwhile. Without @fence: ETIMEDOUT;
 * ENOLINK the node is dark; ENOBUFS no room; EDEADLK in a callback.
 */
RFMRING_API int rfmring_fence(struct rfmring *ring, struct rfmring_fence *fence, int timeout_ms);

/**
 * rfmring_query() - what stands in the memory of every node?
 * @offset: in this memory; at the other nodes the same address
 * @length: 1..RFMRING_QUERY_MAX, within this memory
 * @answers: RFMRING_NODES of them, by node id, this node's among them; set when the fence
 *	has ended, however
 * @fence: as of rfmring_fence(), which is part of it
 * @timeout_ms: -1: for ever
 *
 * Each node answers for the moment at which the question comes by. Returns and errors as
 * rfmring_fence(); EINVAL the range.
 */
RFMRING_API int rfmring_query(struct rfmring *ring, uint64_t offset, uint32_t length,
			      struct rfmring_answer *answers, struct rfmring_fence *fence,
			      int timeout_ms);

/* --- operations at one node --------------------------------------------------- */

/* What other nodes may do with bytes of this node's memory. */
enum rfmring_rights {
	RFMRING_MAY_READ	= 1,	/* rfmring_get() */
	RFMRING_MAY_WRITE	= 2,	/* rfmring_put() */
	RFMRING_HOME		= 4,	/* words are changed here: rfmring_cas64(), rfmring_add64() */
};

/**
 * rfmring_export() - allow operations on a range of this node's memory
 * @offset: of the first byte, a multiple of 64
 * @length: bytes, a multiple of 64
 * @rights: enum rfmring_rights, in place of those that it had; at first there are none
 *
 * One node alone should be home of a word. This node's own operations need the same
 * rights. Errors: EINVAL; EDEADLK in a callback of another ring, while this one is busy.
 */
RFMRING_API int rfmring_export(struct rfmring *ring, uint64_t offset, uint64_t length,
			       uint32_t rights);

/**
 * rfmring_get() - read the memory of one node
 * @node: its id; may be this node
 * @offset: there
 * @data: @length bytes; of those that a failed call has set nothing is promised
 * @length: 1..1 MiB
 * @timeout_ms: -1: as long as it takes; it ends by itself after 5 s
 *
 * The bytes are as they are there when this call comes by, behind all that this node has
 * stored before. A word of up to 8 bytes that is aligned is not torn.
 *
 * Errors of all operations: EHOSTUNREACH there is no such node on the ring; EACCES that
 * node does not allow it; EINVAL a range or word that cannot be, here or there; EBUSY it stands
 * still, or had no room all the time: nothing was done; ENOLINK this node is off the ring:
 * nothing was done; EREMOTEIO the outcome is unknown: it may have been done, once, or not;
 * ETIMEDOUT the same, after @timeout_ms; EDEADLK in a callback.
 */
RFMRING_API int rfmring_get(struct rfmring *ring, uint32_t node, uint64_t offset, void *data,
			    size_t length, int timeout_ms);

/**
 * rfmring_put() - write into the memory of one node, and of no other
 *
 * Nobody is told there, and other nodes keep what they have. After an error some of the bytes may
 * have been written.
 */
RFMRING_API int rfmring_put(struct rfmring *ring, uint32_t node, uint64_t offset,
			    const void *data, size_t length, int timeout_ms);

/**
 * rfmring_cas64() - change a word at its home if it is what it is thought to be
 * @node: home of the word
 * @offset: of the word, aligned
 * @compare: what it must be
 * @value: what it becomes then
 * @old: what it was: changed if that is @compare
 *
 * No other such operation on the word comes in between; plain stores may. The
 * change is a store of its home: it goes to every node, and is in this node's memory when this
 * returns. What somebody stored before giving up a lock so is here as well. An error EREMOTEIO
 * or ETIMEDOUT leaves it unknown whether the word was changed.
 */
RFMRING_API int rfmring_cas64(struct rfmring *ring, uint32_t node, uint64_t offset,
			      uint64_t compare, uint64_t value, uint64_t *old, int timeout_ms);
RFMRING_API int rfmring_cas32(struct rfmring *ring, uint32_t node, uint64_t offset,
			      uint32_t compare, uint32_t value, uint32_t *old, int timeout_ms);

/** rfmring_add64() - add to a word at its home, modulo 2^64; otherwise as rfmring_cas64() */
RFMRING_API int rfmring_add64(struct rfmring *ring, uint32_t node, uint64_t offset,
			      uint64_t value, uint64_t *old, int timeout_ms);
RFMRING_API int rfmring_add32(struct rfmring *ring, uint32_t node, uint64_t offset,
			      uint32_t value, uint32_t *old, int timeout_ms);

#define RFMRING_PORTS		65536
#define RFMRING_MESSAGE_MAX	(1u << 20)	/* bytes */

/**
 * rfmring_listen() - take messages at a port
 * @port: below RFMRING_PORTS
 * @depth: how many may wait until rfmring_receive() takes them, up to 1024; 0: no more at all, and
 *	those that wait are dropped
 *
 * Errors: EINVAL, ENOMEM, ENOENT @depth is 0 and nobody listens there; EDEADLK in a callback of
 * another ring.
 */
RFMRING_API int rfmring_listen(struct rfmring *ring, uint32_t port, uint32_t depth);

/**
 * rfmring_message() - send a message to a port of a node
 * @length: 1..RFMRING_MESSAGE_MAX
 *
 * It comes whole or not at all, behind all stores of this node so far, and those of one node
 * to a port come in their order. Returns when it is in the queue there. Errors as
 * rfmring_get(), and: ECONNREFUSED nobody listens there; EBUSY the queue was full all the time;
 * EMSGSIZE longer than what a card has ready to receive it.
 */
RFMRING_API int rfmring_message(struct rfmring *ring, uint32_t node, uint32_t port,
				const void *data, size_t length, int timeout_ms);

/**
 * rfmring_receive() - the oldest message that waits at a port
 * @data: up to @size bytes of it
 * @length: how many it has; of one that is longer than @size the rest is lost. May be NULL
 * @node: who has sent it; may be NULL
 * @timeout_ms: -1: wait for ever
 *
 * Returns 1, or 0 after the time or rfmring_wake(), or -1 with errno: EINVAL; ENOENT nobody
 * listens there; EDEADLK in a callback.
 */
RFMRING_API int rfmring_receive(struct rfmring *ring, uint32_t port, void *data, size_t size,
				size_t *length, uint32_t *node, int timeout_ms);

/* enum rfmring_op - struct rfmring_operation.op */
enum rfmring_op {
	RFMRING_GET	= 1,	/* rfmring_get() */
	RFMRING_PUT	= 2,	/* rfmring_put() */
	RFMRING_CAS	= 3,	/* rfmring_cas64(), rfmring_cas32() */
	RFMRING_ADD	= 4,	/* rfmring_add64(), rfmring_add32() */
	RFMRING_MESSAGE	= 5,	/* rfmring_message() */
};

/**
 * struct rfmring_operation - one that rfmring_begin() begins
 * @size: sizeof(struct rfmring_operation); RFMRING_OPERATION_INIT sets it
 * @op: enum rfmring_op
 * @node: as of the call that waits; so are @offset, @compare and @value
 * @port: MESSAGE
 * @length: bytes; CAS, ADD: 4 or 8
 * @data: GET, PUT, MESSAGE: the bytes, which must stay until @done
 * @opaque: for @done
 * @done: called once, in a callback: how it has ended. @error: 0, or an errno as of the call that
 *	waits; ECANCELED: by rfmring_close(), done or not. @old: CAS, ADD: the word before
 */
struct rfmring_operation {
	size_t size;
	uint32_t op;
	uint32_t node;
	uint64_t offset;
	uint32_t port;
	uint32_t length;
	void *data;
	uint64_t compare;
	uint64_t value;
	void *opaque;
	void (*done)(void *opaque, int error, uint64_t old);
};

#define RFMRING_OPERATION_INIT	{ .size = sizeof(struct rfmring_operation) }

/**
 * rfmring_begin() - begin an operation at one node, and do not wait for its end
 * @operation: copied
 *
 * As many as there is memory for may be under way; the ring takes them in their order, and what was
 * stored before one is there before it. It ends within 5 s. Also in a callback, that of @done
 * included. Errors: EINVAL; ENOMEM; ECANCELED in a callback of rfmring_close(); EDEADLK in a
 * callback of another ring, while this one is busy. Then @done is not called.
 */
RFMRING_API int rfmring_begin(struct rfmring *ring, const struct rfmring_operation *operation);

/**
 * struct rfmring_resync - how rfmring_resync() has ended
 * @finished: bytes that are as at @donor
 * @donor: who gave them; RFMRING_NODE_ALL: nobody
 * @doubtful: updates got lost meanwhile, or the membership changed: some bytes may be old
 * @reserved: 0
 */
struct rfmring_resync {
	uint64_t finished;
	uint32_t donor;
	bool doubtful;
	uint8_t reserved[3];
	uint64_t reserved2;
};

/**
 * rfmring_resync() - make this memory what that of a complete node is, while all go on storing
 * @donor: its id; RFMRING_NODE_ALL: the nearest one that is complete. This node: nothing is got,
 *	its memory is right as it is; of a ring of which every node is incomplete, one may say so
 * @resync: how it ended, or how far it came; may be NULL
 * @timeout_ms: -1: as long as it takes
 *
 * A node that came late, or has missed something, gets what it lacks. What anybody
 * stores meanwhile, here or elsewhere, is neither lost nor undone: behind a fence of each of
 * them all memories are equal. Returns 0 if this node is complete. Errors as rfmring_get(), and:
 * EHOSTUNREACH no node is complete; EACCES @donor is this node, and another one is complete;
 * ENODATA @donor is not complete; EAGAIN it is doubtful, and another
 * one is needed; EALREADY one is under way.
 */
RFMRING_API int rfmring_resync(struct rfmring *ring, uint32_t donor, struct rfmring_resync *resync,
			       int timeout_ms);

/* --- settings and state ------------------------------------------------------- */

/**
 * rfmring_set_timer() - when to call rfmring_config.timer, once
 * @when_ns: CLOCK_MONOTONIC; UINT64_MAX: not at all. The one before is forgotten
 */
RFMRING_API int rfmring_set_timer(struct rfmring *ring, uint64_t when_ns);

/** rfmring_set_optics() - enum rfmring_optics */
RFMRING_API int rfmring_set_optics(struct rfmring *ring, uint32_t optics);

/** rfmring_set_address_offset() - 0, 64, 128 or 192 MiB, added to own addresses on the ring */
RFMRING_API int rfmring_set_address_offset(struct rfmring *ring, uint64_t offset);

/**
 * rfmring_set_paused() - stand still: pass frames on, but hold back what is for this memory
 */
RFMRING_API int rfmring_set_paused(struct rfmring *ring, bool paused);

/** rfmring_get_stats() - @stats->size must be set */
RFMRING_API int rfmring_get_stats(struct rfmring *ring, struct rfmring_stats *stats);

/** rfmring_get_state() - @state->size must be set */
RFMRING_API int rfmring_get_state(struct rfmring *ring, struct rfmring_state *state);

/**
 * rfmring_members() - who else is on the ring
 * @members: room for @count
 *
 * Returns how many there are, which may be more than @count; -1 with errno
 * EDEADLK in a callback of another ring, while this one is busy.
 */
RFMRING_API int rfmring_members(struct rfmring *ring, struct rfmring_member *members,
				unsigned int count);

/** rfmring_known() - the same, and those that were on the ring and have gone */
RFMRING_API int rfmring_known(struct rfmring *ring, struct rfmring_member *members,
			      unsigned int count);

#ifdef __cplusplus
}
#endif

#endif
