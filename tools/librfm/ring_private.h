/* SPDX-License-Identifier: MIT */
/*
 * A node in this process as a back end: what the files of it share.
 *
 *	ring_node.c	which nodes there are, and their handles
 *	ring_address.c	the words that open them
 *	ring.c		the memory; the table of requests
 *	ring_state.c	requests: settings and what there is to know
 *	ring_fence.c	requests: interrupts, and whether all is everywhere
 *	ring_remote.c	requests: operations at one node; ports
 *	ring_owned.c	requests: subscriptions, and what handles own
 *	ring_events.c	streams: their making and their end
 *	ring_queue.c	the queue of a stream
 *	ring_told.c	what librfmring tells, and which stream is told of it
 *
 * Locks, in this order:
 *   nodes_lock of ring_node.c	which nodes there are. Nobody waits for a ring with it
 *   node->settings	a change of settings, from looking to having set
 *   those of librfmring, in which its callbacks come
 *   node->lock		what callbacks look at; who has it calls nothing of librfmring but
 *			what a callback may
 *
 * The engine waits for node->lock: it is never held for long, and inherits priority.
 */
#ifndef RFM_RING_PRIVATE_H
#define RFM_RING_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <linux/aio_abi.h>
#include <linux/rfm_status.h>

#include "private.h"
#include "ring/host/rfmring.h"
#include "ring/util/granules.h"

#define GRANULES(bytes)	(((bytes) + RFM_GRANULE - 1) / RFM_GRANULE)
#define FIFOS		4	/* of a card: for INT1 to INT4 */

/* Events that a driver leaves in the card until somebody listens for them. */
#define TAKEN_WHEN_HEARD (RFM_EVENT_BIT(RFM_EVENT_RESET) | RFM_EVENT_BIT(RFM_EVENT_INT1) | \
			  RFM_EVENT_BIT(RFM_EVENT_INT2) | RFM_EVENT_BIT(RFM_EVENT_INT3) | \
			  RFM_EVENT_BIT(RFM_EVENT_INT4) | \
			  RFM_EVENT_BIT(RFM_EVENT_RX_ALMOST_FULL))

/* Who wrote a granule last. @frame, @clock_domain: 0 if the node itself did. */
struct last_write {
	uint64_t time_ns, frame;
	uint32_t clock_domain;
	uint16_t node;
	bool written;
};

struct ring_port;

enum node_state {
	NODE_OPENING,
	NODE_OPEN,
	NODE_CLOSING,
};

/**
 * struct ring_node - a node
 * @address: the words that opened it
 * @state, @users: handles and streams; with nodes_lock
 * @forks: forks_of_process() when it was made: in a child it is another
 * @ring: set when it is there; callbacks may come before
 * @memory_fd: for mappings
 * @settings: see above
 * @own_data: a frame has come home, as of LCSR1
 *
 * The rest with @lock:
 * @statuses: told so far, which @status_told says
 * @last: by granule; takes room only where something was written
 * @owned: what all handles own, in its plane
 * @fence_lost: what fences were seen to have found lost in all
 * @seen: RFM_LISR_* that there have been, as the driver's
 * @latched: types of events of which one waits for its first listener, RFM_EVENT_BIT()
 * @backlog: interrupts that wait for theirs, as in the FIFOs of a card
 * @taken: events by type, which a driver would have taken from the card
 * @queued: depths of all queues
 * @counting: counts up eventfds; 0: there has been none yet, or the kernel has none
 * @trouble: what its fibres complained of last
 */
struct ring_node {
	struct ring_node *next;
	char *address;
	_Atomic enum node_state state;
	unsigned int users;
	unsigned int forks;
	struct rfmring *_Atomic ring;
	int memory_fd;
	uint32_t id, flags;
	uint64_t memory_size;
	uint32_t wait_ms;
	pthread_mutex_t settings;
	_Atomic bool own_data;

	pthread_mutex_t lock;
	pthread_cond_t status_told;
	uint64_t statuses;
	struct ring_handle *handles;
	struct ring_stream *streams;
	struct ring_port *ports;
	struct last_write *last;
	struct rfm_granules owned;
	struct backlog {
		struct rfm_event event[RFM_FIFO_DEPTH];
		unsigned int head, count;
	} backlog[FIFOS];
	uint64_t fence_lost;
	uint32_t seen, latched;
	uint64_t interrupts, sync_losses, interrupts_dropped;
	uint64_t events, conflicts, breaks;
	uint64_t taken[RFM_EVENT_TYPES];
	unsigned int watches, ranges, queued;
	aio_context_t counting;
	char trouble[300];
};

/* Granules that a handle owns. */
struct owned {
	uint64_t first, end;
};

/**
 * struct ring_handle - a handle; all but what is constant with node->lock
 * @owned: in order, none of them beside the next; room for RFM_SUBSCRIBE_MAX
 * @fence_lost: node->fence_lost when its fences looked last
 */
struct ring_handle {
	struct rfm rfm;
	struct ring_node *node;
	struct ring_handle *next;
	struct owned *owned;
	unsigned int owned_count;
	uint64_t fence_lost;
};

static inline struct ring_handle *to_ring_handle(const struct rfm *rfm)
{
	return (struct ring_handle *)(uintptr_t)rfm;
}

static inline struct ring_node *node_of(const struct rfm *rfm)
{
	return to_ring_handle(rfm)->node;
}

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

extern const struct rfm_backend ring_backend;

/* --- ring_node.c */

/** node_get() - one more user of @node, which has one */
void node_get(struct ring_node *node);

/**
 * node_put() - one less; the last one leaves the ring
 * @forget: takes @user out of the lists of the node, with its lock
 *
 * -1 with errno EDEADLK in a callback of librfmring: nothing was done.
 */
int node_put(struct ring_node *node, void (*forget)(struct ring_node *node, void *user),
	     void *user);

/** node_check() - is it of this process? -1 with ECHILD in one that was forked off since */
int node_check(const struct ring_node *node);

int ring_close(struct rfm *rfm);

/* --- ring_state.c */

int ring_state(struct ring_node *node, struct rfmring_state *state);

/** ring_clock_ns() - the node's clock, with which times of updates are compared */
uint64_t ring_clock_ns(const struct ring_node *node);
int ring_info(struct rfm *rfm, void *argument);
int ring_get_config(struct rfm *rfm, void *argument);
int ring_set_config(struct rfm *rfm, void *argument);
int ring_writer(struct rfm *rfm, void *argument);
int ring_counters(struct rfm *rfm, void *argument);
int ring_ring_map(struct rfm *rfm, void *argument);
int ring_event_counts(struct rfm *rfm, void *argument);
int ring_reg(struct rfm *rfm, void *argument);

/* --- ring_fence.c */

/** wait_for_ring() - until a fence comes home that has lost nothing, at most node->wait_ms */
void wait_for_ring(struct ring_node *node);

int ring_send(struct rfm *rfm, void *argument);
int ring_send_set(struct rfm *rfm, void *argument);
int ring_fence(struct rfm *rfm, void *argument);
int ring_ring_test(struct rfm *rfm, void *argument);
int ring_verify(struct rfm *rfm, void *argument);

/* --- ring_remote.c */

int ring_remote(struct rfm *rfm, void *argument);
int ring_resync(struct rfm *rfm, void *argument);
int ring_export(struct rfm *rfm, void *argument);
struct rfm_messages *ring_listen_port(struct rfm *rfm, struct rfm_port_listen *listen);

/* --- ring_owned.c */

int ring_subscribe(struct rfm *rfm, void *argument);
int ring_unsubscribe(struct rfm *rfm, void *argument);

/** forget_owned() - @handle, which is in no list any more, owns nothing; with node->lock */
void forget_owned(struct ring_handle *handle);

/* --- ring_queue.c: all with node->lock */

/**
 * struct ring_queue - as the driver's, see driver/core/queue.c
 * @depth: records it takes; behind them is room for the last of each key
 * @head, @count: of @records, which are in a circle of @places
 * @keys: of each record; 0: none
 * @coalesced: RFM_EVENT_BIT() of what is told together
 * @fd: readable while there is a record
 * @eventfd: the caller's, a descriptor of our own; -1: none
 * @counting: what it is counted up by, its node's; 0: by writing to it
 */
struct ring_queue {
	uint32_t depth, places, head, count;
	struct rfm_event *records;
	uint16_t *keys;
	uint32_t coalesced;
	uint64_t seq, dropped;
	int fd, eventfd;
	aio_context_t counting;
	bool told;
};

/** queue_init() - @keys from 1 on; -1 with errno */
int queue_init(struct ring_queue *queue, uint32_t depth, uint32_t keys, bool cloexec);

/** queue_destroy() - also after queue_init() has failed, or of one that is all 0 but fds -1 */
void queue_destroy(struct ring_queue *queue);

/**
 * queue_push() - one event more
 * @key: if the queue is full, it is kept behind it instead of the last of this key; 0: it
 *	can be dropped
 */
void queue_push(struct ring_queue *queue, const struct rfm_event *event, uint16_t key);

/** queue_pop() - the oldest records, at most @count; how many */
size_t queue_pop(struct ring_queue *queue, struct rfm_event *records, size_t count);

/* --- ring_events.c */

/* A watched range, and its silence. */
struct range {
	uint64_t first, last;
	uint64_t update_ns;		/* the last update, or when the watch was made */
	struct rfm_event update;	/* it; length 0: none yet */
	bool stale;
};

/**
 * struct ring_stream - a listener or a watch
 * @types: of a listener: what it hears; of a watch 0
 * @flags: RFM_LISTEN_*, or those that a watch has too
 * @watch: of a watch
 * @word: the bytes that it compares, as the stores have come: those that are in the memory
 *	before it is told of them are not in it
 */
struct ring_stream {
	struct rfm_events events;
	struct ring_node *node;
	struct ring_stream *next;
	uint32_t types, flags;
	struct ring_queue queue;
	uint64_t late;

	struct rfm_watch watch;
	struct range *ranges;
	uint8_t word[8];
};

struct rfm_events *ring_stream(struct rfm *rfm, unsigned long request, void *argument);

/* --- ring_told.c */

/** stream_push() - see queue_push() */
void stream_push(struct ring_stream *stream, const struct rfm_event *event, uint16_t key);

/** ring_storing() - this node is about to store something: what compares must know, and who asks */
void ring_storing(struct ring_node *node, uint64_t offset, const void *data, size_t length);

/** ring_not_stored() - nothing came of it */
void ring_not_stored(struct ring_node *node, uint64_t offset, size_t length);

/** read_compared() - @stream->word is what the memory has now; with node->lock */
void read_compared(struct ring_stream *stream);

/* Callbacks of librfmring; @opaque is the node. */
void ring_update(void *opaque, const struct rfmring_update *update);
void ring_interrupt(void *opaque, const struct rfmring_interrupt *interrupt);
void ring_status(void *opaque, uint32_t what);
void ring_log(void *opaque, const char *sentence);
void ring_lost(void *opaque, uint32_t lost_node, uint64_t count);
void ring_timer(void *opaque, uint64_t now_ns);

#endif
