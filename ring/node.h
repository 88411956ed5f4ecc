/* SPDX-License-Identifier: MIT */
/*
 * The node: one member of the ring as a state machine without threads,
 * clocks, sockets or memory of its own. Its owner (the QEMU device, a
 * process, a test) calls it with the time; it answers through struct
 * rfm_node_ops. docs/ordering.md has the rules it keeps.
 *
 *   rfm_node_store(), rfm_node_packet(), ...      rfm_node_receive()
 *            |                                     |   (from upstream)
 *            v                                     |  not mine: ops->apply()
 *     insertion queue  -- window has credit --v    v  mine: removed, credit
 *                adjacent stores packed, trains    |
 *                                          transmit FIFO
 *                                             |
 *                                      rfm_node_pull()  (to downstream)
 *
 * - A frame of another node gets its place in the transmit FIFO before
 *   anything else can happen, so what is visible here leaves this node
 *   before anything this node says later.
 * - Own frames wait for window credit before they enter the transmit FIFO, or
 *   leave past it if it is empty. A long run of the engine's own passes both
 *   queues if both are empty (rfm_node_begin_run()).
 *   With every node's frames in flight limited, the FIFO has room for all
 *   that can arrive: receiving never waits for sending.
 * - Nothing is lost silently: every own frame has a number; what does not
 *   come home, or was not stored by a node on its way, is counted here; what is
 *   missing is counted at each receiver.
 *
 * Two contexts may call at the same time: one *producer* (a thread that
 * stores: a vCPU under its lock) and one *engine* (the links and the clock). They meet
 * only in the insertion queue, without a lock. Each function says whose it
 * is; several threads of one side must be serialised by the owner.
 */
#ifndef RFM_RING_NODE_H
#define RFM_RING_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/fifo.h"
#include "ring/frame.h"
#include "ring/insert.h"
#include "ring/line.h"
#include "ring/link.h"

#define RFM_NODE_WINDOW		1024	/* own frames in flight, by default */
#define RFM_NODE_WINDOW_MAX	16384	/* and at most, on rings of up to 16 nodes */
#define RFM_NODE_PACED_WINDOW	256	/* on a paced line: it takes 96 us to send them */
/* Room for RFM_NODE_WINDOW frames of every node, and as much again for what has no window. */
#define RFM_NODE_TX_SLOTS	(RFM_NODE_WINDOW * RFM_RING_NODES * 2)
#define RFM_NODE_HELD_SLOTS	4096	/* frames a paused node holds back */
#define RFM_NODE_HOP_LIMIT	1024	/* twice round the largest ring, each node on a hub */

#define RFM_NODE_HEARTBEAT_NS	500000000ull
/* No own frame home for that long: the ring is open, or only slow. */
#define RFM_NODE_EXPIRY_NS	300000000ull	/* if a node has said that it lost its signal */
#define RFM_NODE_SLOW_EXPIRY_NS	3000000000ull	/* if none has */
#define RFM_NODE_SILENCE_NS	2000000000ull	/* a source unheard that long has gone */

/* What ops->status() reports, a mask. */
#define RFM_NODE_OWN_DATA	0x01u	/* an own update or interrupt came home */
#define RFM_NODE_SYNC_LOSS	0x02u	/* the receiver lost its signal */
#define RFM_NODE_BAD_DATA	0x04u	/* a damaged frame was dropped */
#define RFM_NODE_TX_FULL	0x08u	/* a frame was dropped for want of room */
#define RFM_NODE_DUPLICATE_ID	0x10u	/* an earlier node has my id: I have left */
#define RFM_NODE_ROGUE		0x20u	/* a rogue master removed a frame */
#define RFM_NODE_RX_FULL	0x40u	/* paused for too long: updates were dropped here */
#define RFM_NODE_BREAK		0x80u	/* another node has lost its signal: @break_at */
#define RFM_NODE_EPOCH		0x100u	/* the membership of the ring has changed */
#define RFM_NODE_SIGNAL_BACK	0x200u	/* the receiver has its signal (again) */
#define RFM_NODE_RX_ALMOST_FULL	0x800u	/* paused: three quarters of the room are used */
#define RFM_NODE_INCOMPLETE	0x1000u	/* some of what others stored is not here, or all is again */

/**
 * struct rfm_origin - which frame brought an update
 * @node: id of the originator
 * @same_clock: @time_ns is of this node's clock domain
 * @clock_domain: of @time_ns
 * @seq: number of the frame, per incarnation of the originator
 * @time_ns: when the originator stored it, on its clock
 * @arrival_ns: when it came, on this node's clock, also of a frame that a paused node
 *	has held back since. It may be before @time_ns: two clocks agree only so far
 * @now: the same, as rfm_node_receive() was told
 */
struct rfm_origin {
	uint8_t node;
	bool same_clock;
	uint32_t clock_domain;
	uint64_t seq;
	uint64_t time_ns;
	uint64_t arrival_ns;
	uint64_t now;
};

/**
 * struct rfm_fence_result - how a fence ended
 * @ticket: what rfm_node_fence() gave
 * @lost: own frames that did not reach every node, since the fence before. On
 *	a dark node those whose fate is open are among them, and are told again
 *	by the next fence if they are lost indeed
 * @paused: since the fence before a node passed frames on without having
 *	stored them yet
 * @epoch: membership epoch now
 * @epoch_changed: it was another when the fence was begun
 * @home: it came home; otherwise it never will
 */
struct rfm_fence_result {
	uint64_t ticket;
	uint64_t lost;
	bool home;
	bool paused;
	uint32_t epoch;
	bool epoch_changed;
};

#define RFM_QUERY_MAX	32768	/* bytes that one query asks for at most */

/**
 * struct rfm_answer - what stands in the memory of a node
 * @ticket: what rfm_node_query() was given
 * @crc: CRC32C of the bytes
 * @bytes: how many of those asked for lie within its memory; only they count
 * @paused: the node stands still: what came for its memory meanwhile is not in it
 * @first: the first eight of the bytes, or as many as there are and zeros
 */
struct rfm_answer {
	uint64_t ticket;
	uint32_t crc;
	uint16_t bytes;
	bool paused;
	uint8_t first[8];
};

/**
 * struct rfm_packet - what is said of a packet beside its bytes
 * @node: whom it is for; of one that came: who has sent it
 * @class: enum rfm_packet_class
 * @to_all: for every node, in place of @node
 * @first: it begins what it is a part of
 * @last: it ends that
 * @stream: means something to those who use its class
 * @length: bytes, 1..rfm_node_packet_max()
 * @incarnation: of the sender; of one that came only
 */
struct rfm_packet {
	uint8_t node;
	uint8_t class;
	bool to_all, first, last;
	uint16_t stream;
	uint16_t length;
	uint64_t incarnation;
};

/* What became of an own packet. */
enum rfm_packet_fate {
	RFM_PACKET_TAKEN,	/* the node has it; one for all: it has been round */
	RFM_PACKET_NO_ROOM,	/* the node has seen it and had no room, or is paused */
	RFM_PACKET_NO_NODE,	/* there is no such node on the ring */
	RFM_PACKET_LOST,	/* it did not come home: the node has it or not */
	RFM_PACKET_DARK,	/* it has not left */
	RFM_PACKET_FATES
};

/**
 * struct rfm_node_ops - what a node asks of its owner
 * @apply: put @len bytes at @offset of the memory (rfm_memory_store());
 *	@offset + @len is at most memory_size. @origin: of the frame it came with.
 *	More than 64 bytes are a train: frames of 64 bytes, the last one perhaps
 *	shorter, numbered from @origin on
 * @interrupt: a network interrupt for this node; @type is the low three bits
 *	of the NIC command, 0 to 3 or 7 (the others are reserved and do nothing)
 * @status: something happened, RFM_NODE_*
 * @kick: rfm_node_pull() has something again, or rfm_node_light_out() has
 *	changed and the link must send LIGHT. Comes from either context, so
 *	it should only wake the sender. It comes at least once after each pull
 *	that gave nothing
 * @room: rfm_node_may_store() has said no and would now say yes; engine
 * @missed: @count numbers of node @source never arrived here; they are those
 *	before its frame @seq. Comes before anything else of that frame, also
 *	while paused; engine; may be NULL
 * @fence: a fence has come home, or never will; engine; may be NULL
 * @load: copy @len bytes at @offset of the memory, within it, to @data. NULL: the
 *	node answers no queries
 * @answer: node @from answers a query of this node; engine; may be NULL
 * @packet_end: what became of the own packet of that cookie; once of each, in their
 *	order; engine; may be NULL
 * @packet_room: rfm_node_may_packet() has said no and may now say yes; engine; may be NULL
 * @take: a packet comes for this node: is there room for it? If so, @packet comes before
 *	any other call of either; engine. NULL: there never is
 * @packet: it is on its way to the next node, and all that its sender has stored before
 *	it is in the memory; @data: packet->length bytes. If @take is there, so is this
 *
 * None of them may call the node back.
 */
struct rfm_node_ops {
	void (*apply)(void *opaque, uint32_t offset, const void *data, unsigned int len,
		      const struct rfm_origin *origin);
	void (*interrupt)(void *opaque, uint8_t type, uint8_t from, uint32_t data);
	void (*status)(void *opaque, unsigned int what);
	void (*kick)(void *opaque);
	void (*room)(void *opaque);
	void (*missed)(void *opaque, uint8_t source, uint64_t count, uint64_t seq);
	void (*fence)(void *opaque, const struct rfm_fence_result *fence);
	void (*load)(void *opaque, uint32_t offset, void *data, unsigned int len);
	void (*answer)(void *opaque, uint8_t from, const struct rfm_answer *answer);
	void (*packet_end)(void *opaque, uint64_t cookie, enum rfm_packet_fate fate);
	void (*packet_room)(void *opaque);
	bool (*take)(void *opaque, const struct rfm_packet *packet, const uint8_t *data);
	void (*packet)(void *opaque, const struct rfm_packet *packet, const uint8_t *data);
};

/**
 * struct rfm_node_config - who a node is
 * @id: node id
 * @memory_size: bytes of memory; updates beyond are forwarded, not stored
 * @incarnation: of this node: ns of real time at its start. Of two
 *	nodes with one id the one with the greater value is the later joiner
 *	and leaves
 * @clock_domain: of the node's clock, see rfm_node_set_clock()
 * @window: own frames in flight, 1..RFM_NODE_WINDOW_MAX; 0: RFM_NODE_WINDOW. Less on a paced
 *	line (RFM_NODE_PACED_WINDOW), in redundant mode (RFM_NODE_WINDOW / 2), and
 *	where so many of each node on the ring would not fit into half of a FIFO
 * @insert_slots: stores that may wait for credit, a power of two,
 *	RFM_INSERT_SLOTS_MIN..RFM_INSERT_SLOTS; 0: RFM_INSERT_SLOTS
 * @redundant: every update is sent twice; all nodes of a ring alike
 * @rogue_master: bit 0: rogue master 0, bit 1: rogue master 1
 * @unpacked: never put two stores into one frame, nor frames into a train
 * @train: frames of a train at most, 1 (none) to RFM_TRAIN_FRAMES; 0:
 *	RFM_TRAIN_FRAMES. Neither on a paced line, where each frame has its time,
 *	nor in redundant mode, where one of two copies may fail
 * @authentic_late: store late frames too, as the real card would
 * @authentic_ids: do not leave when another node has the same id
 * @line: the fibre to the downstream neighbour
 */
struct rfm_node_config {
	uint8_t id;
	uint64_t memory_size;
	uint64_t incarnation;
	uint32_t clock_domain;
	uint32_t window;
	uint32_t insert_slots;
	bool redundant;
	uint8_t rogue_master;
	bool unpacked;
	uint8_t train;
	bool authentic_late;
	bool authentic_ids;
	struct rfm_line_config line;
};

/**
 * struct rfm_node_stats - counters since rfm_node_init(), in frames
 * @stores: stores, interrupts and pieces of packets asked for; packed, several make one frame
 * @sent: own frames numbered (updates, interrupts, fences, queries, pieces of packets)
 * @home: of these, came home from nodes that all have stored them, or will when
 *	they go on
 * @lost: of these, did not come home although a later one did, or came home from a
 *	node that has not stored them and never will; those of @dark and @full are
 *	among them. What is neither @home nor @lost is on its way, or was sent into
 *	an open ring
 * @dark: own frames not sent: no signal, transmitter off, no downstream
 * @full: own frames not sent: no room within the allowed time
 * @received: numbered frames of others that were taken
 * @forwarded: frames of others passed on
 * @unsendable: frames of others not passed on: no downstream
 * @overrun: frames of others not passed on: FIFO full
 * @missed: numbered frames of others that never arrived here
 * @late: frames not newer than the last from their source, or of a former
 *	life of it; passed on, not stored
 * @copies: second copies, in redundant mode, of what had come already
 * @beyond: updates past the end of this node's memory; passed on, what lies
 *	beyond is not stored
 * @bad: damaged frames, or trains, dropped
 * @hop_limit: frames dropped after RFM_NODE_HOP_LIMIT links
 * @rogue: frames this rogue master removed
 * @mixed: frames removed because they come from a node of the other
 *	transfer mode
 * @held_lost: updates and interrupts dropped here because the node was paused
 *	for too long
 * @window_peak: most own frames that ever were in flight on a closed ring
 * @tx_peak: most frames that ever were in the transmit FIFO; an own one that nothing
 *	waits before leaves past it
 * @insert_peak: most stores that ever waited
 * @sent_bytes: data bytes of own updates given to the line or to loopback, once in
 *	redundant mode
 * @received_bytes: data bytes of updates among @received
 * @forwarded_bytes: data bytes of updates among @forwarded
 */
struct rfm_node_stats {
	uint64_t stores, sent, home, lost, dark, full;
	uint64_t received, forwarded, unsendable, overrun;
	uint64_t missed, late, copies, beyond, bad, hop_limit;
	uint64_t rogue, mixed, held_lost;
	uint64_t window_peak, tx_peak, insert_peak;
	uint64_t sent_bytes, received_bytes, forwarded_bytes;
};

#define RFM_NODE_PACKETS	512	/* own packets that have not ended at most */

struct rfm_open_packet {
	uint64_t cookie;
	uint64_t last;		/* number of its last piece */
	uint64_t time;		/* when it got that */
	uint8_t pieces;
};

/**
 * struct rfm_packets - own packets that have not ended, in order, and counters
 * @open: at their count modulo RFM_NODE_PACKETS
 * @given: how many there ever were; producer, as are the next two
 * @pieces_given: and of how many pieces
 * @head_before: of the insertion queue, when the last was given
 * @numbered: how many have left that queue; engine, as is the rest
 * @ended: and of how many it is known what became of them
 * @fates: how many that was of each
 * @received: packets of others that were taken here
 * @refused: and those that were not
 * @producer_needs: rfm_node_may_packet() has said no to so many pieces; 0: it has not
 */
struct rfm_packets {
	uint32_t given;
	_Atomic uint32_t pieces_given, head_before;
	_Alignas(64) uint32_t numbered, ended;
	_Atomic uint32_t pieces_ended;
	_Atomic uint8_t producer_needs;
	uint64_t fates[RFM_PACKET_FATES];
	uint64_t received, refused;
	struct rfm_open_packet open[RFM_NODE_PACKETS];
};

struct rfm_incarnation {
	uint64_t incarnation;	/* 0: none yet */
	uint64_t seq;		/* last number seen */
	bool had_begun;		/* it had sent something before we met */
};

/**
 * struct rfm_source - what a node knows of another one
 * @current: the incarnation whose frames are taken
 * @other: the one before, or one that has announced itself
 * @refused_incarnation: one that was told to leave: a second node of that id
 * @heard: when @current was last heard
 * @other_heard_ns: an earlier heartbeat of @other since then, if later than @heard
 * @present: it counts as a member of the ring
 * @hops: links from there to here, of its last frame
 * @hubs: those of them that lead out of a hub, modulo 16
 * @paused: its last heartbeat said that its machine stands still
 * @incomplete: its last heartbeat said that it has missed something
 * @met: the incarnation whose first heartbeat has been heard
 * @unstored: what its last number was of is not stored here, and never will be
 * @verdict: marks that its last packet for this node got here
 * @broke: when it last said that it had lost its signal; 0: never
 * @clock_domain: of its last frame
 * @transit_ns: from the time in its last frame until that came, at least 1; 0: another
 *	clock domain
 * @ahead_ns: so much later than it came is the time in that frame; 0: it is not, or it
 *	is of another clock domain
 * @received: numbered frames taken from there
 * @missed: numbers of it that never arrived here
 */
struct rfm_source {
	struct rfm_incarnation current, other;
	uint64_t refused_incarnation;
	uint64_t met;
	uint64_t heard, other_heard_ns;
	bool present;
	bool paused;
	bool incomplete;
	bool unstored;
	uint16_t verdict;
	uint8_t hubs;
	uint16_t hops;
	uint32_t clock_domain;
	uint64_t broke;
	uint64_t transit_ns, ahead_ns;
	uint64_t received, missed;
};

struct rfm_node {
	struct rfm_node_config config;
	const struct rfm_node_ops *ops;
	void *opaque;
	uint32_t address_offset;	/* read with every store: not beside what changes often */
	uint64_t clock_offset;		/* as is this one; see rfm_node_set_clock() */

	/* Optics, as the owner has set them. */
	bool light_in;		/* upstream's light arrives */
	bool downstream;	/* a neighbour takes our frames */
	bool tx_disable, loopback, dark_on_dark;
	bool left;		/* duplicate id: only forwarding */
	uint64_t previous_incarnation;	/* our incarnation before rfm_node_rejoin() */

	/* Own frames: numbered, sent, come home. Away from what a store looks at. */
	_Alignas(64) uint64_t seq; /* last number given; all before it are in the FIFO or gone */
	uint64_t home_seq;	/* last that came home or was passed over */
	uint64_t update_seq;	/* of the last update or interrupt */
	uint64_t home_time;	/* when, or when sending began on an idle ring */
	uint64_t credit_time;	/* when there was credit again after there had been none */
	bool break_heard;	/* since then */
	bool ring_open;		/* nothing comes home: the window is not enforced */
	uint32_t window;	/* own frames that may be in flight */
	uint32_t own_queued;	/* own frames in the transmit FIFO */
	/* Of own trains: sums of the headers, at the first number modulo RFM_NODE_WINDOW. */
	uint32_t train_headers[RFM_NODE_WINDOW];
	uint64_t heartbeat_time, tick_time;
	uint64_t silence_grace;	/* until then no source counts as silent */
	uint64_t turn_ns;	/* the last own heartbeat took once round; 0: none comes home */
	uint64_t turn_time;	/* when it came home */
	uint64_t first_home_time;	/* when one did before which none had */
	uint64_t duplicate_notice_time;

	/* What has not left yet of what rfm_node_begin_run() has begun. */
	struct {
		const uint8_t *data;
		uint32_t address, len;
	} run;
	struct rfm_insert insert;	/* where the two contexts meet */
	struct rfm_fifo transmit;
	struct rfm_packets packets;

	/* Fences: the last one that was begun, and what is settled. */
	uint64_t fence_seq;		/* number of its frame; 0: none under way */
	uint64_t fence_ticket;
	uint32_t fence_epoch;
	uint64_t fence_lost;		/* stats.lost at the end of the one before */
	bool fence_paused;		/* a frame home since then was marked */

	bool pulling;			/* rfm_node_pull() is running: no kick is needed */
	bool paused;
	struct rfm_fifo held;		/* what a paused node holds back */
	bool held_full;			/* something found no room there */
	bool incomplete;		/* updates have never come here, or were dropped */

	uint32_t epoch;			/* membership: counts its changes */
	uint8_t break_at;		/* who lost its signal last */
	struct rfm_source sources[RFM_RING_NODES];
	struct rfm_node_stats stats;	/* of the engine; rfm_node_stats() for all */
};

/**
 * rfm_node_init() - begin a node's first incarnation
 * @node: to be filled in
 * @config: copied
 * @ops: kept
 * @opaque: passed to every op
 * @now: time in ns; here and below any clock that never goes back
 *
 * It starts dark: no signal, no downstream. Returns 0, or -1 with errno
 * ENOMEM, or EINVAL for a window, slots or frames of a train out of range. Undo
 * with rfm_node_destroy(). The producer may not call yet, or any more.
 */
int rfm_node_init(struct rfm_node *node, const struct rfm_node_config *config,
		  const struct rfm_node_ops *ops, void *opaque, uint64_t now);
void rfm_node_destroy(struct rfm_node *node);

/**
 * struct rfm_node_past - the books of a node whose machine is saved
 * @stats: whoever goes on with them has lost what is not home, or not sent, and has
 *	not received what is held back
 * @held: so many frames are held back: they are in no count
 * @sources: what came of each node last, and what is counted of it
 */
struct rfm_node_past {
	struct rfm_node_stats stats;
	uint64_t held;
	struct rfm_source_past {
		struct rfm_incarnation current;
		uint64_t refused_incarnation;
		uint64_t received, missed;
	} sources[RFM_RING_NODES];
};

/**
 * rfm_node_save() - what goes with the machine. Engine
 */
void rfm_node_save(const struct rfm_node *node, struct rfm_node_past *past);

/**
 * rfm_node_past_is_sound() - can rfm_node_save() have made them? Any context
 */
bool rfm_node_past_is_sound(const struct rfm_node_past *past);

/**
 * rfm_node_load() - go on with these books, which are sound, instead of its own
 *
 * What others have sent since they were saved is missed, and is reported with the
 * next frame of each. rfm_node_rejoin() is to follow. Engine, and no producer.
 */
void rfm_node_load(struct rfm_node *node, const struct rfm_node_past *past);

/**
 * rfm_node_rejoin() - begin a new incarnation
 *
 * After a migration or a restored snapshot. Numbers start again from 1, the
 * queues are emptied; what waited is counted lost. Engine, and no producer.
 */
void rfm_node_rejoin(struct rfm_node *node, uint64_t incarnation, uint64_t now);

/* --- engine and producer at once: nobody else may be either meanwhile ------- */

/**
 * rfm_node_begin_run() - rfm_node_store_run(), past the insertion queue
 * @data: to be left alone until rfm_node_end_run()
 * @len: at least two frames' bytes
 *
 * rfm_node_pull() takes it, as far as the window has credit, until rfm_node_end_run().
 * Returns false if it is short, wraps in the network's memory, or the node is not clear:
 * then nothing has begun.
 */
bool rfm_node_begin_run(struct rfm_node *node, uint32_t offset, const void *data,
			unsigned int len);

/**
 * rfm_node_end_run() - returns how many bytes of the run, its last ones, have not left
 *
 * They are for rfm_node_store_run(), before anybody else stores.
 */
unsigned int rfm_node_end_run(struct rfm_node *node);

/**
 * rfm_node_is_clear() - would a run leave at once, but for want of credit?
 *
 * Nothing waits before it, and frames have no time of their own on the line. Engine; only
 * who keeps producers out can rely on it.
 */
bool rfm_node_is_clear(const struct rfm_node *node);

/** rfm_node_credit() - how many own frames may enter the transmit FIFO, or leave, now? Engine */
uint32_t rfm_node_credit(const struct rfm_node *node);

/* --- producer ------------------------------------------------------------- */

/**
 * rfm_node_may_store() - is there room for a store?
 *
 * If not, ops->room() will be called when there is. On a dark node there is
 * always room: what cannot leave need not wait.
 */
bool rfm_node_may_store(struct rfm_node *node);

/**
 * rfm_node_store() - send an update of the memory
 * @offset: local offset; @offset + @len is within the memory
 * @data: the bytes, already in the local memory
 * @len: 1..64
 *
 * It leaves with the next rfm_node_pull(), or later for want of credit. A
 * store for which there is no room (rfm_node_may_store()) is counted as lost.
 * So is one on a dark node. Returns false if it was dropped for want of room:
 * then the owner latches TX FIFO FULL.
 */
bool rfm_node_store(struct rfm_node *node, uint32_t offset, const void *data,
		    unsigned int len, uint64_t now);

/**
 * rfm_node_store_run() - the same of any length, as frames that end at multiples of 64
 *
 * As quick as a copy where there is room for all of it.
 */
bool rfm_node_store_run(struct rfm_node *node, uint32_t offset, const void *data,
			unsigned int len, uint64_t now);

/**
 * rfm_node_interrupt() - send a network interrupt
 * @dest: target node, ignored with the global bit
 * @kind: NIC command, 4 bits
 * @data: 32 bits that travel with it
 *
 * Never needs to wait: room is reserved. Travels behind every earlier store.
 * Returns false if even the reserve was full and it was dropped (and counted).
 */
bool rfm_node_interrupt(struct rfm_node *node, uint8_t dest, uint8_t kind,
			uint32_t data, uint64_t now);

/**
 * rfm_node_interrupt_set() - send a network interrupt to a set of nodes
 * @set: RFM_NODE_SET bytes: node n is bit n % 8 of byte n / 8. The own node in it
 *	gets none
 * @kind: NIC command, 3 bits: the type without the global bit
 * @data: 32 bits that travel with it
 *
 * As rfm_node_interrupt().
 */
bool rfm_node_interrupt_set(struct rfm_node *node, const uint8_t *set, uint8_t kind,
			    uint32_t data, uint64_t now);

/**
 * rfm_node_fence() - ask for notice when all stores so far are everywhere
 * @ticket: not 0, chosen by the owner; comes back in ops->fence()
 *
 * Travels behind every earlier store. One at a time. ops->fence() answers once: when it comes
 * home, when something later does and it has not, or when the node goes dark. On a
 * ring that is open it may wait until then; the owner has the timeout.
 * Returns false if there was no room, or the node is dark: no answer follows.
 */
bool rfm_node_fence(struct rfm_node *node, uint64_t ticket, uint64_t now);

/**
 * rfm_node_query() - ask every other node for the checksum of a range of its memory
 * @ticket: chosen by the owner; comes back in ops->answer()
 * @offset: local offset, below RFM_RING_SPACE; at the other nodes the same address
 * @len: 1..RFM_QUERY_MAX
 *
 * Travels behind every earlier store, and each node answers when it has stored
 * and passed on all that came before it. A fence that is begun behind it comes home
 * behind all answers: what has not been answered by then never will be. One
 * query at a time: the next only when such a fence has ended. A node that stands
 * still answers too. Returns false if there is no room for it and the fence: then
 * nothing is asked, nor counted. On a dark node it goes the way of a store.
 */
bool rfm_node_query(struct rfm_node *node, uint64_t ticket, uint32_t offset,
		    unsigned int len, uint64_t now);

/**
 * rfm_node_packet_max() - how many bytes may a packet have?
 *
 * RFM_PACKET_DATA; 64 in redundant mode and on a paced line, and less with a small window.
 */
unsigned int rfm_node_packet_max(const struct rfm_node *node);

/**
 * rfm_node_may_packet() - may a packet of @length bytes be given now?
 *
 * Packets have half of the window at most, and wait behind no more than 512 stores, unless
 * they would never have a turn. If not, ops->packet_room() will be called. On a dark node the
 * answer is yes: it need not wait.
 */
bool rfm_node_may_packet(struct rfm_node *node, unsigned int length);

/**
 * rfm_node_packet() - send a packet
 * @packet: to whom; copied
 * @data: its bytes; copied
 * @cookie: comes back in ops->packet_end()
 *
 * Travels behind every earlier store, and before every later one. ops->packet_end() tells
 * what became of it, within rfm_node_expiry() of its leaving. A node sends none to itself: there
 * is no such node on the ring. Returns RFM_INSERT_FULL if it may not be sent now, or has no
 * bytes or too many, RFM_INSERT_OFFLINE on a dark node: then nothing is sent, nor counted, and
 * no ops->packet_end() follows.
 */
enum rfm_insert_result rfm_node_packet(struct rfm_node *node, const struct rfm_packet *packet,
				       const void *data, uint64_t cookie, uint64_t now);

/**
 * rfm_node_tx_almost_full() - is the insertion queue three quarters full (LCSR1[6])?
 *
 * Any context.
 */
bool rfm_node_tx_almost_full(const struct rfm_node *node);

/* --- engine --------------------------------------------------------------- */

/** rfm_node_link_ops - a node behind a link; the opaque is the struct rfm_node */
extern const struct rfm_link_ops rfm_node_link_ops;

/**
 * rfm_node_receive() - a frame or train from upstream
 * @wire: RFM_FRAME_MAX bytes, of a train RFM_UNIT_MAX, what came at the beginning;
 *	may be changed. The header is enough if rfm_node_knows() it
 * @len: its rfm_frame_length()
 */
void rfm_node_receive(struct rfm_node *node, uint8_t *wire, unsigned int len, uint64_t now);

/**
 * rfm_node_knows() - is that a train of this node that is under way?
 * @wire: RFM_FRAME_HEADER bytes, with a rfm_frame_length()
 *
 * With the very header that it was sent with; then its data are known, and rfm_node_receive()
 * does not look at them. Single frames are always read as a whole: it is no quicker without,
 * and a line is judged by those that are damaged on it.
 */
bool rfm_node_knows(const struct rfm_node *node, const uint8_t *wire);

/** rfm_node_receive_bad() - upstream sent something that is no frame */
void rfm_node_receive_bad(struct rfm_node *node);

/**
 * rfm_node_send_queued() - let stores that wait and have credit enter the transmit FIFO
 *
 * rfm_node_pull() does it too, where something waits there. An owner that stores faster than it
 * pulls makes room with it.
 */
void rfm_node_send_queued(struct rfm_node *node, uint64_t now);

/**
 * rfm_node_pull() - take the next frame or train that is to be sent downstream
 * @wire: RFM_UNIT_MAX bytes
 *
 * Returns its length, or 0 if there is none, or none that the line model lets
 * go yet (rfm_node_next_pull()); ops->kick() comes when there is. An owner
 * without a downstream must pull too when ops->kick() says so, so that
 * what cannot leave is counted.
 */
unsigned int rfm_node_pull(struct rfm_node *node, uint8_t *wire, uint64_t now);

/**
 * rfm_node_next_pull() - when will rfm_node_pull() have something?
 *
 * In ns; UINT64_MAX if ops->kick() will say so. Of interest with a paced
 * line only.
 */
uint64_t rfm_node_next_pull(struct rfm_node *node);

/** rfm_node_set_light() - upstream's light has come or gone */
void rfm_node_set_light(struct rfm_node *node, bool light, uint64_t now);

/** rfm_node_set_downstream() - a neighbour takes our frames, or none does */
void rfm_node_set_downstream(struct rfm_node *node, bool up, uint64_t now);

/**
 * rfm_node_set_optics() - transmitter disable, loopback, dark-on-dark
 *
 * Disable and loopback put out our light; see rfm_node_light_out().
 */
void rfm_node_set_optics(struct rfm_node *node, bool tx_disable, bool loopback,
			 bool dark_on_dark, uint64_t now);

/**
 * rfm_node_set_address_offset() - LCSR1[17:16] in bytes
 *
 * Added to the address of own updates, taken off again from those of others,
 * modulo 256 MiB. May be called while the producer stores; then it applies to
 * stores that follow.
 */
void rfm_node_set_address_offset(struct rfm_node *node, uint32_t offset);

/**
 * rfm_node_set_clock() - what others are told of the time
 * @domain: of the node's clock: nodes of one domain may subtract
 * @offset: ns, modulo 2^64: the node's clock is the time that calls pass in plus this;
 *	0 at first
 *
 * Only times that are told are of that clock: in frames, and where a struct says so. What the
 * node waits for goes by the time that calls pass in, so the clock may be set, also back.
 */
void rfm_node_set_clock(struct rfm_node *node, uint32_t domain, uint64_t offset);

/** rfm_node_clock() - @now of a call, on the node's clock; any thread */
static inline uint64_t rfm_node_clock(const struct rfm_node *node, uint64_t now)
{
	return now + __atomic_load_n(&node->clock_offset, __ATOMIC_RELAXED);
}

/**
 * rfm_node_set_paused() - the guest stands still, or goes on
 *
 * A paused node passes frames on and marks them, but holds back what is for
 * its own memory, up to RFM_NODE_HELD_SLOTS frames; what finds no room is
 * counted (@held_lost) and reported RFM_NODE_RX_FULL; before that comes
 * RFM_NODE_RX_ALMOST_FULL. Going on applies all that was held, in order.
 */
void rfm_node_set_paused(struct rfm_node *node, bool paused);

/**
 * rfm_node_set_incomplete() - has this memory all that others have stored?
 *
 * A node sees by itself that it has not: when numbers are missed, when it meets somebody who has
 * sent something before, or who was there earlier and has received something, and when updates were
 * dropped here. Others are told with the next heartbeat.
 */
void rfm_node_set_incomplete(struct rfm_node *node);

/** rfm_node_set_complete() - it has again (ring/resync.h); others are told at once */
void rfm_node_set_complete(struct rfm_node *node, uint64_t now);

/**
 * rfm_node_digest() - what would this node answer?
 * @offset: local offset, below RFM_RING_SPACE; the bytes go on at 0 behind its end
 * @len: 0..RFM_QUERY_MAX
 * @answer: filled in, but for the ticket
 *
 * There must be ops->load().
 */
void rfm_node_digest(const struct rfm_node *node, uint32_t offset, unsigned int len,
		     struct rfm_answer *answer);

/** rfm_node_tx_empty() - is nothing waiting to be sent (LCSR1[7])? */
bool rfm_node_tx_empty(const struct rfm_node *node);

/** rfm_node_signal() - does the receiver have a signal (LCSR1[2])? */
bool rfm_node_signal(const struct rfm_node *node);

/** rfm_node_light_out() - does the transmitter send light? */
bool rfm_node_light_out(const struct rfm_node *node);

/**
 * rfm_node_tick() - let time pass
 *
 * Heartbeats, expiry of the window, sources that have gone. Returns when to
 * call again, in ns of the same clock.
 */
uint64_t rfm_node_tick(struct rfm_node *node, uint64_t now);

/**
 * rfm_node_expiry() - how long nothing must have come home for the ring to be open
 *
 * In ns. A ring of many busy processes may be slow; one that is cut says so.
 */
uint64_t rfm_node_expiry(const struct rfm_node *node);

/** rfm_node_has_packets() - are there own packets that have not ended? */
static inline bool rfm_node_has_packets(const struct rfm_node *node)
{
	return atomic_load_explicit(&node->packets.pieces_given, memory_order_relaxed) !=
	       atomic_load_explicit(&node->packets.pieces_ended, memory_order_relaxed);
}

/**
 * rfm_node_wake_frames() - how many own frames that come home are worth waking up for?
 *
 * For rfm_shm_wait_data(): a quarter of the usual window, so that nothing waits for room beside so
 * many; on a paced line each, as the times of later frames follow from when it was taken.
 */
uint32_t rfm_node_wake_frames(const struct rfm_node *node);

/** rfm_node_owes_own_data() - is there an update or interrupt of its own on the ring? */
static inline bool rfm_node_owes_own_data(const struct rfm_node *node)
{
	return node->update_seq > node->home_seq;
}

/** rfm_node_read_stats() - a copy of the counters, those of the producer included */
struct rfm_node_stats rfm_node_read_stats(const struct rfm_node *node);

#endif
