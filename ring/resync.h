/* SPDX-License-Identifier: MIT */
/*
 * Resync: the memory of a node that came late, or has missed something, becomes that of a
 * complete one, while everybody goes on storing. MERGE (ring/remote.h) is exact as long as no
 * update is lost; so this looks at the books before and after, and says so if it cannot be sure.
 *
 * That a frame is missing shows with the next number of its source. So at the end every node is
 * asked for a word: its answer goes all the way round, and whoever missed something before it
 * knows. The donor is asked last, and gives nothing if it does.
 *
 * Driven by rfm_remote_run(), under its lock.
 */
#ifndef RFM_RING_RESYNC_H
#define RFM_RING_RESYNC_H

#include "ring/remote.h"

#define RFM_RESYNC_LANES	2		/* operations at a time */
#define RFM_RESYNC_LENGTH	(64u << 10)	/* bytes of each */
#define RFM_RESYNC_NEAREST	(-1)		/* of the complete nodes, and the next one if it cannot */

/**
 * struct rfm_resync - one under way, or ended
 * @done: it has ended
 * @donor: who gives
 * @first, @last: bytes of the memory
 * @finished: how many of them are as they should be
 * @result: RFM_REMOTE_OK: all of them are; RFM_REMOTE_NO_NODE: there is no such node, or none that
 *	is complete; or what MERGE said
 * @doubtful: with RFM_REMOTE_OK: meanwhile something was lost, or the membership has changed:
 *	some of it may be old. Another one is needed
 */
struct rfm_resync {
	void (*done)(struct rfm_resync *resync);
	uint8_t donor;
	uint64_t first, last, finished;
	enum rfm_remote_result result;
	bool doubtful;

	struct rfm_remote *remote;
	bool choose;		/* another donor may do as well */
	uint8_t tried[RFM_RING_NODES / 8];
	bool asking_all;	/* for a word, */
	unsigned int asked;	/* those before this one have been, */
	bool unsure;		/* and one has not answered */
	uint64_t next;		/* what has not been asked for begins there */
	uint64_t missed, held_lost;
	uint32_t epoch;
	struct rfm_resync_lane {
		struct rfm_remote_request request;	/* the first: its done() gets its address */
		struct rfm_resync *resync;
		bool busy;
		uint8_t data[RFM_RESYNC_LENGTH];
	} lanes[RFM_RESYNC_LANES];
};

/**
 * rfm_resync_begin() - make these bytes those of a complete node
 * @resync: zero but for @done, @first and @last; must stay until done()
 * @donor: a node, or RFM_RESYNC_NEAREST. This one: its memory is right as it is, which only a
 *	person knows, and nothing is moved; RFM_REMOTE_DENIED if another node is complete
 *
 * Of the whole memory, from a complete node and not doubtful, it makes this node complete.
 */
void rfm_resync_begin(struct rfm_resync *resync, struct rfm_remote *remote, int donor,
		      uint64_t now);

/** rfm_resync_cancel() - done() comes at once, with RFM_REMOTE_CANCELLED, unless it has come */
void rfm_resync_cancel(struct rfm_resync *resync);

/**
 * struct rfm_auto_resync - those that a node begins by itself
 * @resync: one is under way
 * @finished: bytes of those before
 *
 * The rest is private.
 */
struct rfm_auto_resync {
	struct rfm_resync *resync;
	uint64_t finished;
	uint64_t again;
};

/**
 * rfm_auto_resync() - begin one if this node is incomplete, and another is complete
 * @automatic: zero at first; the owner begins no other while @resync is set
 *
 * To be called as often as rfm_node_tick(). One that failed or was doubtful is begun again after
 * 100 ms.
 */
void rfm_auto_resync(struct rfm_auto_resync *automatic, struct rfm_remote *remote, uint64_t now);

#endif
