/* SPDX-License-Identifier: MIT */
/*
 * A node in this process as a back end: what ring.c and ring_events.c share.
 *
 * Locks: nodes_lock of ring.c (which nodes there are), then those of librfmring, then
 * node->lock. A callback of librfmring comes with its locks and takes node->lock; so who
 * has node->lock calls nothing of librfmring but what a callback may.
 */
#ifndef RFM_RING_PRIVATE_H
#define RFM_RING_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include <linux/rfm_status.h>

#include "private.h"
#include "ring/host/rfmring.h"

#define GRANULES(bytes)	(((bytes) + RFM_GRANULE - 1) / RFM_GRANULE)
#define SENT_TYPES	5	/* of events: RESET, INT1 to INT4 */

/* Who wrote a granule last. */
struct last_write {
	uint64_t time_ns, frame;
	uint32_t clock_domain;
	uint16_t node;
	bool written;
};

/**
 * struct ring_node - a node
 * @address: the words that opened it
 * @users: handles and streams; with nodes_lock
 * @ring: set when it is there
 * @memory_fd: for mappings
 * @last: by granule; takes room only where something was written
 *
 * The rest with @lock.
 */
struct ring_node {
	struct ring_node *next;
	char *address;
	unsigned int users;
	struct rfmring *ring;
	int memory_fd;
	uint32_t id, flags;
	uint64_t memory_size;
	uint32_t clock_domain, wait_ms;

	pthread_mutex_t lock;
	pthread_cond_t status_told;
	uint64_t statuses;		/* told so far */
	struct ring_handle *handles;
	struct ring_stream *streams;
	struct last_write *last;
	struct backlog {
		struct rfm_event event[RFM_FIFO_DEPTH];
		unsigned int head, count;
	} backlog[SENT_TYPES];
	uint32_t lisr;
	bool own_data;
	uint64_t interrupts, sync_losses, interrupts_dropped;
	uint64_t events, conflicts, breaks;
	uint64_t taken[RFM_EVENT_TYPES];	/* by type: a driver would have taken them */
	unsigned int watches;
};

/* Granules that a handle owns. */
struct owned {
	uint64_t first, end;
};

struct ring_handle {
	struct rfm rfm;
	struct ring_node *node;
	struct ring_handle *next;
	struct owned *owned;	/* with node->lock */
	unsigned int owned_count;
};

/* --- ring_address.c */

/**
 * struct ring_words - what an address says
 * @wait_ms: how long to wait for the ring
 */
struct ring_words {
	struct rfmring_config config;
	uint32_t wait_ms;
};

/** ring_address_parse() - what @to points to, to be freed; NULL with errno */
char *ring_address_parse(const char *address, struct ring_words *to);

/* --- ring.c */

void node_get(struct ring_node *node);
int node_put(struct ring_node *node);

/* --- ring_events.c */

struct rfm_events *ring_stream(struct rfm *rfm, unsigned long request, void *argument);

/** ring_stored() - this node has stored something: what compares must know */
void ring_stored(struct ring_node *node, uint64_t offset, size_t length);

/* Callbacks of librfmring; @opaque is the node. */
void ring_update(void *opaque, const struct rfmring_update *update);
void ring_interrupt(void *opaque, const struct rfmring_interrupt *interrupt);
void ring_status(void *opaque, uint32_t what);
void ring_lost(void *opaque, int source, uint64_t count);
void ring_timer(void *opaque, uint64_t now_ns);

#endif
