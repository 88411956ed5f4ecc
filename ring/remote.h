/* SPDX-License-Identifier: MIT */
/*
 * Operations at one named node: read and write its memory, change a word there, send it a
 * message. They travel as packets, in order with the stores of both sides.
 *
 *   asking node                                   the node that is asked
 *   rfm_remote_ask() -> part -> REQUEST packet -> rfm_remote_take()    is an answer slot free?
 *                        |                        rfm_remote_packet()  a WRITE is done at once
 *   done() <- rfm_remote_packet() <-- ANSWER ---- rfm_remote_run()     the others, then the answer
 *
 * - An operation is cut into parts of one packet each, and each part has an answer. Of all
 *   operations together RFM_REMOTE_PARTS are on their way at most.
 * - What the verdict of a packet, or its loss, leaves open is asked again with the same ticket.
 *   The node that is asked keeps the last answer of each part, so nothing is done twice.
 * - Receiving never waits: a request is taken only if there is a slot for its answer.
 * - Every operation ends, with a result that says what is known, RFM_REMOTE_PATIENCE_NS
 *   after it was begun at the latest.
 *
 * No thread and no clock of its own. All calls for one node are made under one lock of the
 * owner; rfm_remote_run() besides in the node's producer context.
 */
#ifndef RFM_RING_REMOTE_H
#define RFM_RING_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/node.h"

#define RFM_REMOTE_PARTS	32		/* on their way at most */
#define RFM_REMOTE_ANSWERS	64		/* that a node owes at most */
#define RFM_REMOTE_MESSAGES	32		/* that come to a node at the same time */
#define RFM_REMOTE_MAX		(1u << 20)	/* bytes of an operation */
#define RFM_REMOTE_PATIENCE_NS	5000000000ull
#define RFM_REMOTE_BACKOFF_NS	1000000ull	/* between two trials at most */

/* On the wire; docs/ring-protocol.md, section 14 */
enum rfm_remote_op {
	RFM_REMOTE_READ		= 1,
	RFM_REMOTE_WRITE	= 2,
	RFM_REMOTE_CAS		= 3,
	RFM_REMOTE_ADD		= 4,
	RFM_REMOTE_MERGE	= 5,
	RFM_REMOTE_SEND		= 6,
};

/* How an operation ended. The first ones come in answers, and are on the wire too. */
enum rfm_remote_result {
	RFM_REMOTE_OK		= 0,
	RFM_REMOTE_DENIED	= 1,	/* not exported, no such key, or not for that */
	RFM_REMOTE_RANGE	= 2,	/* not within the memory, or not aligned */
	RFM_REMOTE_NOT_HOME	= 3,	/* that node is not home of the word */
	RFM_REMOTE_RESTARTED	= 4,	/* the node has begun another life; on the wire only */
	RFM_REMOTE_INVALID	= 5,	/* no such operation */
	RFM_REMOTE_INCOMPLETE	= 6,	/* that node misses something itself */
	RFM_REMOTE_CLOSED	= 7,	/* nobody listens at that port */
	RFM_REMOTE_TOO_LONG	= 8,	/* longer than what is ready to receive it there */
	RFM_REMOTE_WITHDRAWN	= 9,	/* not done: no room on the ring; SEND: no receiver */

	RFM_REMOTE_NO_NODE	= 16,	/* no such node on the ring */
	RFM_REMOTE_NO_ROOM,		/* it had no room all the time, or stands still: not done */
	RFM_REMOTE_UNKNOWN,		/* done or not, nobody here knows */
	RFM_REMOTE_DARK,		/* this node is off the ring: not done */
	RFM_REMOTE_CANCELLED,		/* by rfm_remote_cancel(): done or not */
	RFM_REMOTE_RESULTS
};

/**
 * struct rfm_remote_request - an operation; the owner's until rfm_remote_ask(), and again from
 * done() on
 * @op: what
 * @node: where
 * @width: CAS, ADD: bytes of the word, 4 or 8
 * @key: of a memory region that the node has registered; 0: its reflective memory. SEND: a port
 * @offset: of the first byte there; MERGE: here, there it is the same address of the ring
 * @length: READ, WRITE, MERGE, SEND: bytes, 1..RFM_REMOTE_MAX
 * @data: READ: where they go; WRITE, SEND: which; MERGE: room for them. Must stay until done()
 * @compare: CAS: the word must be this
 * @value: CAS: what it becomes then; ADD: what is added to it
 * @done: it has ended; may ask again
 * @result: how
 * @old: CAS, ADD: the word before; valid if RFM_REMOTE_OK
 *
 * The rest is private.
 */
struct rfm_remote_request {
	enum rfm_remote_op op;
	uint8_t node;
	uint8_t width;
	uint32_t key;
	uint64_t offset;
	uint32_t length;
	void *data;
	uint64_t compare, value;
	void (*done)(struct rfm_remote_request *request);

	enum rfm_remote_result result;
	uint64_t old;

	struct rfm_remote_request *next;
	uint64_t incarnation, own_incarnation;	/* of the node, and of this one */
	uint64_t deadline;
	uint64_t number;	/* how many had been asked then, with it */
	uint32_t message;	/* SEND: its number, from this node */
	bool follows;		/* SEND: another one goes to the same port before it */
	uint32_t asked, finished;	/* bytes */
};

/*
 * MERGE makes the own memory as that of a complete node: bytes that were stored here since the
 * question stay, all others become what they are there. An update that came by here before the
 * question has reached the other node before it; one that is in the answer has come by here before
 * the answer, or comes in its data: so nothing is lost, and nothing newer undone, whoever stores
 * meanwhile. Of bytes that some node has missed, nothing is known: see ring/resync.h.
 */

/* What is asked of a memory. */
enum rfm_remote_access {
	RFM_REMOTE_LOADS,
	RFM_REMOTE_STORES,
	RFM_REMOTE_CHANGES,	/* CAS and ADD: the node must be home of the word */
	RFM_REMOTE_MERGES,	/* MERGE: what all nodes have needs no right; what is here only, is denied */
};

/**
 * struct rfm_remote_ops - what it asks of its owner, who is the owner of the node
 * @check: may node @from do that to @length bytes at @offset of memory @key, and are they there?
 *	If so, RFM_REMOTE_OK
 * @load: copy bytes that have been checked
 * @store: change them, here only
 * @may_update: would @update have room on the ring now? If not, ops->room() of the node will tell
 * @update: change them as a store of this node, which goes to all; of memory 0
 * @merge: of memory 0, what a MERGE has brought. NULL: @store does it
 * @away: an answer waits for its owner: rfm_remote_away() tells which. So it is with all that
 *	others ask of a memory other than 0, once it has been checked; @load and @store are not
 *	called of it then, but for what this node asks of itself. Any call. NULL: of no memory
 * @port_room: how many more messages the port takes now; negative: nobody listens. NULL: nowhere
 * @message: a whole message of node @from for a port that had room; with RFM_REMOTE_OK @data,
 *	from malloc(), is the owner's now; else its sender is told why not
 * @wake: rfm_remote_run() has something to do; any call
 */
struct rfm_remote_ops {
	enum rfm_remote_result (*check)(void *opaque, uint8_t from, enum rfm_remote_access access,
					uint32_t key, uint64_t offset, uint32_t length);
	void (*load)(void *opaque, uint32_t key, uint64_t offset, void *data, uint32_t length);
	void (*store)(void *opaque, uint32_t key, uint64_t offset, const void *data,
		      uint32_t length);
	bool (*may_update)(void *opaque);
	void (*update)(void *opaque, uint64_t offset, const void *data, uint32_t length);
	void (*merge)(void *opaque, uint64_t offset, const void *data, uint32_t length);
	void (*away)(void *opaque);
	int (*port_room)(void *opaque, uint32_t port);
	enum rfm_remote_result (*message)(void *opaque, uint32_t port, uint8_t from, void *data,
					  uint32_t length);
	void (*wake)(void *opaque);
};

/* A part of an operation that is on its way. */
struct rfm_remote_part {
	struct rfm_remote_request *request;	/* NULL: free */
	uint32_t ticket;
	uint32_t at, length;	/* of the request's bytes */
	uint64_t again;		/* it is sent (again) then */
	uint32_t backoff;	/* ns, while the node has no room */
	uint64_t patience;	/* ns, without any word of it */
	unsigned int under_way;	/* packets of it that have not ended */
	unsigned int sent;	/* packets of it that may have been taken */
	bool taken, lost;	/* one has been */
	uint32_t got;		/* MERGE: bytes that have come, and wait for rfm_remote_run() */
};

/* Where a part of a MERGE goes, and which of the bytes have been stored since it was asked. */
struct rfm_remote_touched {
	uint32_t first, length;		/* 0: none */
	_Atomic uint8_t bits[RFM_PACKET_DATA / 8];
};

/* An answer that is owed. */
struct rfm_remote_answer {
	uint8_t to, part, op, width;
	bool ready;		/* @result and @old are known; a READ of memory 0 is read when it is sent */
	uint32_t away;		/* when it was given to the owner; 0: it is not with him */
	uint8_t *data;		/* of another memory, @length bytes: what is written, or was read */
	bool sent;
	uint32_t cookie;	/* of the last packet that it was sent in */
	uint32_t ticket, key, length;
	uint64_t offset, compare, value;
	enum rfm_remote_result result;
	uint64_t old;
	uint64_t incarnation;	/* of @to */
	uint64_t again, deadline;
	uint32_t backoff;
	bool used;
};

/* A message that comes in parts. It is dropped if its sender gives up. */
struct rfm_remote_message {
	uint8_t *data;		/* NULL: free */
	uint8_t from;
	uint32_t number, port, length, got;
	uint64_t incarnation;	/* of @from */
	uint64_t until;
};

/* The last answer to each part of a node. */
struct rfm_remote_past {
	uint64_t incarnation;
	struct {
		uint32_t ticket;
		uint8_t result;
		uint64_t old;
	} parts[RFM_REMOTE_PARTS];
};

struct rfm_remote_stats {
	uint64_t asked, done, failed;		/* operations of this node */
	uint64_t served, refused, repeated;	/* requests of others: answered; not understood; again */
	uint64_t strange;			/* answers that nobody waits for */
	uint64_t messages, given_up;		/* of others, whole; and those that never were */
};

struct rfm_remote {
	struct rfm_node *node;
	const struct rfm_remote_ops *ops;
	void *opaque;
	uint64_t now;				/* of the last call that had it */
	uint32_t ticket;
	struct rfm_remote_request *first, *last;	/* all that have not ended */
	struct rfm_remote_part parts[RFM_REMOTE_PARTS];
	struct rfm_remote_touched touched[RFM_REMOTE_PARTS];
	unsigned int merging;			/* parts that are there */
	struct rfm_remote_answer answers[RFM_REMOTE_ANSWERS];
	uint32_t answer_next;			/* whose turn it is */
	uint32_t answer_cookie;
	uint32_t given_away;
	struct rfm_remote_past *past[RFM_RING_NODES];
	uint32_t message;
	struct rfm_remote_message messages[RFM_REMOTE_MESSAGES];
	struct rfm_remote_stats stats;
};

/** rfm_remote_init() - for a node, which has the ops below as its own */
void rfm_remote_init(struct rfm_remote *remote, struct rfm_node *node,
		     const struct rfm_remote_ops *ops, void *opaque);
/* Ends what is on its way: RFM_REMOTE_CANCELLED. */
void rfm_remote_destroy(struct rfm_remote *remote);

/** rfm_remote_ask() - begin an operation; done() comes later, also of one that cannot be */
void rfm_remote_ask(struct rfm_remote *remote, struct rfm_remote_request *request, uint64_t now);

/** rfm_remote_cancel() - end it now; done() comes before this returns, if it had not come */
void rfm_remote_cancel(struct rfm_remote *remote, struct rfm_remote_request *request);

/**
 * rfm_remote_run() - send what may be sent, and end what takes too long
 *
 * Returns when to call again, ns; UINT64_MAX: when ops->wake() says so.
 */
uint64_t rfm_remote_run(struct rfm_remote *remote, uint64_t now);

/**
 * rfm_remote_away() - what is the owner to do next in a memory other than 0?
 *
 * The oldest answer that waits for him, or NULL: @to asks for @op with @key, @offset and @length;
 * CAS, ADD: @width, @compare, @value; @data: WRITE: which bytes; READ: room for them. It stays as
 * it is, also without the lock, until rfm_remote_back(), which is due once.
 */
struct rfm_remote_answer *rfm_remote_away(struct rfm_remote *remote);

/** rfm_remote_back() - it has been done, or not; @old: CAS, ADD: the word before */
void rfm_remote_back(struct rfm_remote *remote, struct rfm_remote_answer *answer,
		     enum rfm_remote_result result, uint64_t old);

/* What a CAS or ADD makes of a word. */
static inline uint64_t rfm_remote_new_word(enum rfm_remote_op op, unsigned int width, uint64_t old,
					   uint64_t compare, uint64_t value)
{
	const uint64_t mask = width == 4 ? UINT32_MAX : UINT64_MAX;

	if (op == RFM_REMOTE_ADD)
		return (old + value) & mask;
	return old == (compare & mask) ? value & mask : old;
}

void rfm_remote_touch(struct rfm_remote *remote, uint32_t offset, uint32_t length);

/**
 * rfm_remote_stored() - bytes of the own memory have been stored, by this node or another
 *
 * At once, and not beside rfm_remote_run(): with its lock, or the producer's.
 */
static inline void rfm_remote_stored(struct rfm_remote *remote, uint32_t offset, uint32_t length)
{
	if (remote->merging)
		rfm_remote_touch(remote, offset, length);
}

/* --- struct rfm_node_ops; engine ------------------------------------------ */

void rfm_remote_packet_end(struct rfm_remote *remote, uint64_t cookie, enum rfm_packet_fate fate);
bool rfm_remote_take(struct rfm_remote *remote, const struct rfm_packet *packet,
		     const uint8_t *data);
void rfm_remote_packet(struct rfm_remote *remote, const struct rfm_packet *packet,
		       const uint8_t *data);

#endif
