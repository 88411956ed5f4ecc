/* SPDX-License-Identifier: MIT */
/*
 * The node: one member of the ring as a state machine without threads,
 * clocks, sockets or memory of its own. Whoever owns it (the QEMU device, a
 * test) calls it with the time and serialises the calls; it answers through
 * struct rfm_node_ops. docs/ordering.md has the rules it keeps.
 *
 *   rfm_node_store(), rfm_node_interrupt()        rfm_node_receive()
 *            |                                     |   (from upstream)
 *            v                                     |  not mine: ops->store()
 *     insertion queue  -- window has credit --v    v  mine: removed, credit
 *                                          transmit FIFO
 *                                             |
 *                                      rfm_node_pull()  (to downstream)
 *
 * - A frame of another node gets its place in the transmit FIFO before
 *   anything else can happen, so what is visible here leaves this node
 *   before anything this node says later.
 * - Own frames wait for window credit before they enter the transmit FIFO.
 *   With every node's frames in flight limited, the FIFO has room for all
 *   that can arrive: receiving never waits for sending.
 * - Nothing is lost silently: every own frame has a number; what does not
 *   come home is counted here, what is missing is counted at each receiver.
 */
#ifndef RFM_RING_NODE_H
#define RFM_RING_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"

#define RFM_NODE_WINDOW		256	/* own frames in flight */
/* Room for the window of every node, and as much again for what has none. */
#define RFM_NODE_TX_SLOTS	(RFM_NODE_WINDOW * RFM_RING_NODES * 2)
#define RFM_NODE_OPEN_LIMIT	4096	/* own frames in the FIFO of an open ring */
#define RFM_NODE_INSERT_SLOTS	2048	/* stores waiting for credit */
#define RFM_NODE_INSERT_RESERVE	RFM_NODE_INSERT_SLOTS	/* and room for interrupts beyond */
#define RFM_NODE_HOP_LIMIT	512	/* twice round the largest ring */

#define RFM_NODE_HEARTBEAT_NS	500000000ull
#define RFM_NODE_EXPIRY_NS	300000000ull	/* no own frame home: the ring is open */
#define RFM_NODE_SILENCE_NS	2000000000ull	/* a source unheard that long has gone */

/* What ops->status() reports, a mask. */
#define RFM_NODE_OWN_DATA	0x01u	/* an own update or interrupt came home */
#define RFM_NODE_SYNC_LOSS	0x02u	/* the receiver lost its signal */
#define RFM_NODE_BAD_DATA	0x04u	/* a damaged frame was dropped */
#define RFM_NODE_TX_FULL	0x08u	/* a frame was dropped for want of room */
#define RFM_NODE_DUPLICATE_ID	0x10u	/* an earlier node has my id: I have left */

/**
 * struct rfm_node_ops - what a node asks of its owner
 * @store: put @len bytes at @offset of the memory (rfm_memory_store());
 *	@offset + @len is below memory_size
 * @interrupt: a network interrupt for this node; @type is the low three bits
 *	of the NIC command, 0 to 3 or 7 (the others are reserved and do nothing)
 * @status: something happened, RFM_NODE_*
 * @transmit: rfm_node_pull() has something again, or rfm_node_light_out() has
 *	changed and the neighbour must be told; called when the transmit
 *	FIFO goes from empty to not empty. May be called from any context in
 *	which the owner calls the node, so it should only wake the sender
 * @room: the insertion queue was full and is not any more
 *
 * None of them may call the node back.
 */
struct rfm_node_ops {
	void (*store)(void *opaque, uint32_t offset, const void *data, unsigned int len);
	void (*interrupt)(void *opaque, uint8_t type, uint8_t from, uint32_t data);
	void (*status)(void *opaque, unsigned int what);
	void (*transmit)(void *opaque);
	void (*room)(void *opaque);
};

/**
 * struct rfm_node_config - who a node is
 * @id: node id
 * @memory_size: bytes of memory; updates beyond are forwarded, not stored
 * @incarnation: this life of the node: ns of real time at its start. Of two
 *	nodes with one id the one with the greater value is the later joiner
 *	and leaves
 * @clock_domain: of the time that calls pass in
 */
struct rfm_node_config {
	uint8_t id;
	uint64_t memory_size;
	uint64_t incarnation;
	uint32_t clock_domain;
};

/**
 * struct rfm_node_stats - counters since rfm_node_init(), in frames
 * @sent: own frames numbered (updates and interrupts)
 * @home: of these, came home
 * @lost: of these, did not come home although a later one did; those of
 *	@dark and @full are among them. What is neither @home nor @lost is on
 *	its way, or was sent into an open ring
 * @dark: own frames not sent: no signal, transmitter off, no downstream
 * @full: own frames not sent: no room within the allowed time
 * @received: updates and interrupts of others that were taken
 * @forwarded: frames of others passed on
 * @unsendable: frames of others not passed on: no downstream
 * @overrun: frames of others not passed on: FIFO full
 * @missed: updates and interrupts of others that never arrived here
 * @late: frames not newer than the last from their source, or of a former
 *	life of it; passed on, not stored
 * @beyond: updates past the end of this node's memory; passed on, what lies
 *	beyond is not stored
 * @bad: damaged frames dropped
 * @hop_limit: frames dropped after RFM_NODE_HOP_LIMIT links
 */
struct rfm_node_stats {
	uint64_t sent, home, lost, dark, full;
	uint64_t received, forwarded, unsendable, overrun;
	uint64_t missed, late, beyond, bad, hop_limit;
};

enum rfm_slot_kind {
	RFM_SLOT_TRANSIT,	/* passed on for another node */
	RFM_SLOT_OWN,		/* numbered: an update or interrupt of this node */
	RFM_SLOT_NOTICE,	/* heartbeat, duplicate-id notice */
};

struct rfm_slot {
	uint64_t seq;		/* of an own frame */
	uint8_t kind;
	uint8_t length;
	uint8_t wire[RFM_FRAME_MAX];
};

/* A bounded queue of encoded frames; indices run freely. */
struct rfm_queue {
	struct rfm_slot *slots;
	uint32_t size;		/* a power of two */
	uint32_t head;		/* next to take */
	uint32_t tail;		/* next to fill */
};

struct rfm_life {
	uint64_t incarnation;	/* 0: none yet */
	uint64_t seq;		/* last number seen */
};

/**
 * struct rfm_source - what a node knows of another one
 * @current: the life whose frames are taken
 * @other: the one before, or one that has announced itself
 * @denied: one that was told to leave: a second node of that id
 * @heard: when @current was last heard
 */
struct rfm_source {
	struct rfm_life current, other;
	uint64_t denied;
	uint64_t heard;
};

struct rfm_node {
	struct rfm_node_config config;
	const struct rfm_node_ops *ops;
	void *opaque;

	/* Optics, as the owner last told. */
	bool light_in;		/* upstream's light arrives */
	bool downstream;	/* a neighbour takes our frames */
	bool tx_disable, loopback, dark_on_dark;
	bool left;		/* duplicate id: only forwarding */
	uint64_t former;	/* our incarnation before rfm_node_rejoin() */
	uint32_t address_offset;

	/* Own frames: numbered, sent, come home. */
	uint64_t seq;		/* last number given */
	uint64_t sent_seq;	/* last that entered the transmit FIFO or was dropped */
	uint64_t home_seq;	/* last that came home or was passed over */
	uint64_t home_time;	/* when, or when sending began on an idle ring */
	bool ring_open;		/* nothing comes home: the window is not enforced */
	uint32_t own_queued;	/* own frames in the transmit FIFO */
	uint64_t heartbeat_time;
	uint64_t complaint_time;

	struct rfm_queue insert;
	struct rfm_queue transmit;
	bool room_wanted;
	struct rfm_source sources[RFM_RING_NODES];
	struct rfm_node_stats stats;
};

/**
 * rfm_node_init() - begin a node's life
 * @node: to be filled in
 * @config: copied
 * @ops: kept
 * @opaque: passed to every op
 * @now: time in ns; here and below any clock that never goes back
 *
 * It starts dark: no signal, no downstream. Returns 0, or -1 with errno
 * ENOMEM. Undo with rfm_node_destroy().
 */
int rfm_node_init(struct rfm_node *node, const struct rfm_node_config *config,
		  const struct rfm_node_ops *ops, void *opaque, uint64_t now);
void rfm_node_destroy(struct rfm_node *node);

/**
 * rfm_node_rejoin() - begin a new life under a new incarnation
 *
 * After a migration or a restored snapshot. Numbers start again from 1, the
 * queues are emptied.
 */
void rfm_node_rejoin(struct rfm_node *node, uint64_t incarnation, uint64_t now);

/**
 * rfm_node_may_store() - is there room for a store?
 *
 * If not, ops->room() will be called when there is.
 */
bool rfm_node_may_store(struct rfm_node *node);

/**
 * rfm_node_store() - send an update of the memory
 * @offset: local offset; @offset + @len is within the memory
 * @data: the bytes, already in the local memory
 * @len: 1..64
 *
 * A store for which there is no room (rfm_node_may_store()) is counted as
 * lost and reported RFM_NODE_TX_FULL. On a dark node it is counted too.
 */
void rfm_node_store(struct rfm_node *node, uint32_t offset, const void *data,
		    unsigned int len, uint64_t now);

/**
 * rfm_node_interrupt() - send a network interrupt
 * @dest: target node, ignored with the global bit
 * @kind: NIC command, 4 bits
 * @data: 32 bits that travel with it
 *
 * Never needs to wait: room is reserved. Travels behind every earlier store.
 */
void rfm_node_interrupt(struct rfm_node *node, uint8_t dest, uint8_t kind,
			uint32_t data, uint64_t now);

/**
 * rfm_node_receive() - a frame from upstream
 * @wire: the frame as it came
 * @len: its rfm_frame_length()
 */
void rfm_node_receive(struct rfm_node *node, const uint8_t *wire, unsigned int len,
		      uint64_t now);

/** rfm_node_receive_bad() - upstream sent something that is no frame */
void rfm_node_receive_bad(struct rfm_node *node);

/**
 * rfm_node_pull() - take what is to be sent downstream
 * @buf: where to put whole frames, one behind the other
 * @size: bytes there, at least RFM_FRAME_MAX
 *
 * Returns the bytes put there, 0 if there is nothing.
 */
unsigned int rfm_node_pull(struct rfm_node *node, uint8_t *buf, unsigned int size,
			   uint64_t now);

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
 * modulo 256 MiB.
 */
void rfm_node_set_address_offset(struct rfm_node *node, uint32_t offset);

/** rfm_node_signal() - does the receiver have a signal (LCSR1[2])? */
bool rfm_node_signal(const struct rfm_node *node);

/** rfm_node_light_out() - does the transmitter send light? */
bool rfm_node_light_out(const struct rfm_node *node);

/** rfm_node_tx_empty() - is nothing waiting to be sent (LCSR1[7])? */
bool rfm_node_tx_empty(const struct rfm_node *node);

/** rfm_node_tx_almost_full() - is the insertion queue three quarters full (LCSR1[6])? */
bool rfm_node_tx_almost_full(const struct rfm_node *node);

/**
 * rfm_node_tick() - let time pass
 *
 * Heartbeats and expiry of the window. Returns when to call again, in ns of
 * the same clock.
 */
uint64_t rfm_node_tick(struct rfm_node *node, uint64_t now);

#endif
