/* SPDX-License-Identifier: MIT */
/*
 * Inside librfmring. A *host* is what one fibre in and one fibre out need: the
 * loop, the two ports and one or more nodes in series between them. A *ring*
 * (struct rfmring) is one of these nodes with its memory.
 *
 * Locks, in this order:
 *   host->engine	the loop, the ports and the engine side of every node. The
 *			thread that moves the host has it except while it sleeps
 *   ring->producer	the producer side of the node, and waiting for room
 *   ring->pending_lock	interrupts that wait, and the end of a fence
 *
 * Programs of this project that run in the loop themselves (rmnode) use
 * the calls at the end.
 */
#ifndef RFM_HOST_INTERNAL_H
#define RFM_HOST_INTERNAL_H

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ring/ether.h"
#include "ring/host/loop.h"
#include "ring/host/port.h"
#include "ring/host/rfmring.h"
#include "ring/node.h"
#include "ring/remote.h"
#include "ring/resync.h"
#include "ring/util/clock-domain.h"
#include "ring/util/granules.h"
#include "ring/util/pcapng.h"

#define RFM_FOR_EVER_MS	(-1)	/* the least that a timeout can be */
#define RFM_CPUS_MAX	8192u	/* processors that rfmring_config.cpus can name */

/* Types of interrupts, for callers 0 to 4; on the wire the last has another number. */
#define RFM_TYPE_LAST	4u
#define RFM_WIRE_TYPE_LAST 7u

static inline uint8_t rfm_wire_type(uint32_t type)
{
	return type == RFM_TYPE_LAST ? RFM_WIRE_TYPE_LAST : type;
}

static inline uint32_t rfm_type_of_wire(uint8_t type)
{
	return type == RFM_WIRE_TYPE_LAST ? RFM_TYPE_LAST : type;
}

/**
 * struct rfm_host - see above
 * @first: the node behind the receiving port
 * @last: the node before the sending port
 * @callers: threads that want @engine
 * @engine_first: they wait: the thread that moves the host has it, or wants it next
 * @callers_may_lock: signalled when they may have it
 * @callers_to_serve: so many of them have it before the thread that moves the host
 * @callers_served: signalled when they have had it
 */
struct rfm_host {
	struct rfm_loop *loop;
	struct rfm_port *rx, *tx;
	struct rfmring *first, *last;

	pthread_mutex_t engine;
	pthread_cond_t callers_served, callers_may_lock;
	unsigned int callers_to_serve;
	_Atomic bool engine_first;
	const struct rfm_host *outer_host;	/* whose lock the holder of @engine has as well */
	bool in_callback;		/* the holder is in a callback of the user */
	_Atomic unsigned int callers;
	pthread_t thread;
	bool started;
	_Atomic bool stopping;

	struct rfm_pcapng pcap;
	int pcap_in, pcap_out;
	struct rfm_link_tap tap;	/* for @pcap, and the frame hook of @first */
	struct rfm_timer pcap_timer;
};

/* Messages that have come for a port. With pending_lock. */
struct rfm_letter {
	struct rfm_letter *next;
	uint8_t from;
	uint32_t length;
	void *data;
};

struct rfm_mailbox {
	struct rfm_mailbox *next;
	uint32_t port, depth, count;
	struct rfm_letter *first, *last;
	void (*arrived)(void *opaque);	/* in the loop; may be NULL */
	void *opaque;
};

/* A TAP device on the ring. With the engine's lock. */
struct rfm_tap {
	struct rfm_ether ether;
	char name[IFNAMSIZ];
	int fd;			/* -1: it has gone */
	struct rfm_loop_fd watch;
	struct rfm_poller poller;
	bool there;		/* the poller is the loop's */
	uint64_t dropped;	/* have come, and it did not take them */
};

/* A caller who is shown the updates of a range. */
struct rfm_range_watch {
	int number;
	uint32_t first, last;
	void (*update)(void *opaque, const struct rfmring_update *update);
	void *opaque;
};

typedef void rfm_fence_done(void *opaque, const struct rfm_fence_result *fence);
typedef void rfm_frame_seen(void *opaque, const struct rfm_frame *frame, uint64_t now);

struct rfmring {
	struct rfm_host *host;
	struct rfmring *_Atomic next;	/* the node behind this one in the same host */
	struct rfmring *previous;
	struct rfm_node node;
	struct rfm_clock clock;		/* of the times that the node tells */
	bool clock_told;		/* the log knows how it goes */
	uint8_t *memory;
	uint64_t memory_size;
	int memory_fd;			/* -1: anonymous */
	struct rfmring_config config;	/* its strings are not kept */
	uint64_t cpus[RFM_CPUS_MAX / 64];	/* of @config; none: as the maker */
	struct rfm_timer tick_timer;
	struct rfm_timer user_timer;	/* rfmring_set_timer() */
	struct rfm_timer hop_timer;	/* to @next: the line */
	struct rfm_poller hop_poller;
	bool light_told;		/* to @next */
	bool break_seen;
	_Atomic bool woken;

	struct rfm_range_watch *watches;
	unsigned int watch_count;
	int last_watch;
	rfm_frame_seen *seen;		/* every sound frame that comes by */
	void *seen_opaque;
	void (*on_room)(void *opaque);
	void *on_room_opaque;

	struct rfm_remote remote;	/* with the engine's lock */
	struct rfm_granules exports;
	struct rfm_poller remote_poller;
	struct rfm_timer remote_timer;
	bool remote_there;		/* the poller is the loop's */
	bool leaving;			/* nothing is begun any more */
	struct rfm_resync *resync;	/* one under way */
	struct rfm_auto_resync auto_resync;
	bool holds_status;		/* no callback of the status now, */
	uint32_t status_held;		/* but of these bits afterwards */
	struct rfm_mailbox *mailboxes;
	struct rfm_begun *ended_first, *ended_last;	/* of which rfmring_begin()'s callers are to be told */
	struct rfm_tap *tap;		/* NULL: none */

	pthread_mutex_t producer;
	pthread_cond_t room;
	bool backpressure_expired;	/* one store has waited in vain */
	uint64_t stalls, longest_stall;
	uint64_t backpressure_since;	/* rfmring_store_now(): 0: there was room */

	pthread_mutex_t pending_lock;
	pthread_cond_t pending_cond;
	struct rfmring_interrupt *interrupts;
	unsigned int interrupts_head, interrupts_count;
	uint64_t interrupts_lost;
	uint64_t fence_ticket;		/* last that was begun */
	struct rfm_fence_result fence;		/* last that has ended */
	uint64_t fence_lost;		/* what all that have ended found lost */
	uint64_t fence_told;		/* how much of it callers know */
	bool fence_busy;
	bool query_open;		/* the fence behind the last question has not ended */
	uint64_t query_ticket;
	struct rfmring_answer *answers;	/* of the question under way; NULL: none is */
	rfm_fence_done *fence_done;
	void *fence_opaque;
};

/* For what returns -1 with errno. */
static inline int rfm_fail(int error)
{
	errno = error;
	return -1;
}

/* --- host.c ------------------------------------------------------------------- */

extern const struct rfm_node_ops rfm_host_node_ops;

/**
 * rfm_host_init_lock() - one that the thread which moves a host waits for
 * @priority: of that thread; unless 0, who has the lock is as urgent meanwhile
 */
void rfm_host_init_lock(pthread_mutex_t *lock, uint32_t priority);

/** rfm_host_new() - no ports yet; NULL with errno */
struct rfm_host *rfm_host_new(uint32_t priority);
void rfm_host_free(struct rfm_host *host);

/**
 * rfm_host_open_ports() - for @config, whose strings are valid; false after @error was set
 * @tls: of TCP links; NULL: none
 */
bool rfm_host_open_ports(struct rfm_host *host, const struct rfmring_config *config,
			 struct rfm_tls *tls, char *error);

/** rfm_host_attach() - put @ring, whose node is there, at the end */
void rfm_host_attach(struct rfm_host *host, struct rfmring *ring);
void rfm_host_detach(struct rfmring *ring);

/** rfm_host_set_links() - @first, @last, the capture or the frame hook of @first is another */
void rfm_host_set_links(struct rfm_host *host);

/** rfm_host_run_once() - one round of the loop, with the engine's lock */
bool rfm_host_run_once(struct rfm_host *host, uint64_t until);

/**
 * rfm_host_lock() - take the engine's lock; not if rfm_host_is_locked()
 *
 * In a callback of another host it does not wait: false with errno EDEADLK if
 * somebody has it.
 */
bool rfm_host_lock(struct rfm_host *host);
void rfm_host_unlock(struct rfm_host *host);

/** rfm_host_engine_lock() - the same for the thread that moves the host; it is next */
void rfm_host_engine_lock(struct rfm_host *host);
void rfm_host_engine_unlock(struct rfm_host *host);

/** rfm_host_is_locked() - has this thread the lock? */
bool rfm_host_is_locked(const struct rfm_host *host);

/** rfm_host_any_locked() - has it that of any host? Then it must not wait for an engine */
bool rfm_host_any_locked(void);

/** rfm_host_in_callback() - is this thread in a callback? Then it must not call a node */
bool rfm_host_in_callback(const struct rfm_host *host);

/** rfm_host_log() - one sentence for people; with the engine's lock, and not the producer's */
void rfm_host_log(struct rfm_host *host, const char *sentence);

/** rfm_host_yield() - the thread that moves the host lets those that wait have the lock */
void rfm_host_yield(struct rfm_host *host);

/** rfm_host_put_answer() - what a node has answered, as callers see it */
static inline void rfm_host_put_answer(struct rfmring_answer *to, const struct rfm_answer *from)
{
	*to = (struct rfmring_answer){
		.given = true,
		.paused = from->paused,
		.length = from->bytes,
		.crc = from->crc,
	};
	memcpy(to->first, from->first, sizeof(to->first));
}

/* --- producer.c ----------------------------------------------------------------- */

/** rfm_wait_until() - wait on @cond, of CLOCK_MONOTONIC; false after @until, ns or RFM_NEVER */
bool rfm_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until);

/** rfm_deadline() - CLOCK_MONOTONIC, ns; RFM_NEVER for -1 */
uint64_t rfm_deadline(int timeout_ms);

/**
 * rfm_wait_pending() - for pending_cond, or rfmring_wake(), with pending_lock;
 * false after @until
 *
 * When the wait is over rfm_wait_over() is called.
 */
bool rfm_wait_pending(struct rfmring *ring, uint64_t until);

/** rfm_wait_over() - who waited may have moved the ring: who polls rfmring_fd() is told to go on */
void rfm_wait_over(struct rfmring *ring);

/* --- remote.c --------------------------------------------------------------------- */

/** rfm_host_remote_init() - operations at one node; false with errno. The node is there */
bool rfm_host_remote_init(struct rfmring *ring);

/** rfm_host_remote_attach() - before and after that nothing is sent; with the engine's lock */
void rfm_host_remote_attach(struct rfmring *ring);
void rfm_host_remote_detach(struct rfmring *ring);

/**
 * rfm_host_remote_leave() - end what this node has begun, and begin no more;
 * with the engine's lock
 */
void rfm_host_remote_leave(struct rfmring *ring);

void rfm_host_remote_destroy(struct rfmring *ring);

/** rfm_host_remote_error() - the errno for it; 0: it has been done */
int rfm_host_remote_error(enum rfm_remote_result result);

/** rfm_host_tell_ended() - begin.c: with the engine's lock, and not the producer's */
void rfm_host_tell_ended(struct rfmring *ring);

/** rfm_host_remote_wake() - it has something to do, or may go on; any thread */
void rfm_host_remote_wake(struct rfmring *ring);

/* --- tap.c ------------------------------------------------------------------------ */

/** rfm_host_tap_open() - a TAP device; false with errno after @error was set. The node is there */
bool rfm_host_tap_open(struct rfmring *ring, const char *name, char *error);

/* Without a TAP device these do nothing; the first three with the engine's lock. */
void rfm_host_tap_attach(struct rfmring *ring);
void rfm_host_tap_leave(struct rfmring *ring);		/* the device goes, or is free for others */
void rfm_host_tap_detach(struct rfmring *ring);
void rfm_host_tap_destroy(struct rfmring *ring);

/* --- message.c -------------------------------------------------------------------- */

/* Of struct rfm_remote_ops */
int rfm_host_port_room(void *opaque, uint32_t port);
enum rfm_remote_result rfm_host_message(void *opaque, uint32_t port, uint8_t from, void *data,
					uint32_t length);
void rfm_host_messages_destroy(struct rfmring *ring);

/**
 * rfm_host_take_letter() - the oldest at the port, to be freed with its data;
 * NULL with errno ENOENT, or 0
 */
struct rfm_letter *rfm_host_take_letter(struct rfmring *ring, uint32_t port);
void rfm_host_free_letter(struct rfm_letter *letter);	/* NULL: nothing */

/** rfmring_on_message() - who to tell in the loop that one has come; the port is listened to */
void rfmring_on_message(struct rfmring *ring, uint32_t port, void (*arrived)(void *opaque),
			void *opaque);

/* What was held back. */
void rfm_host_tell_status(struct rfmring *ring);

/* Of struct rfm_node_ops */
void rfm_host_packet_end(void *opaque, uint64_t cookie, enum rfm_packet_fate fate);
void rfm_host_packet_room(void *opaque);
bool rfm_host_take(void *opaque, const struct rfm_packet *packet, const uint8_t *data);
void rfm_host_packet(void *opaque, const struct rfm_packet *packet, const uint8_t *data);

/* --- for programs that run in the loop --------------------------------------------- */

/** rfmring_open_tls() - as rfmring_open(), with TLS on TCP links; kept until it is closed */
struct rfmring *rfmring_open_tls(const struct rfmring_config *config, struct rfm_tls *tls,
				 char *error, size_t error_size);

/** rfmring_loop() - the loop that moves it; before rfmring_start() only */
struct rfm_loop *rfmring_loop(struct rfmring *ring);

/**
 * rfmring_fence_begin() - as rfmring_fence(), but returns at once
 * @done: called once unless this fails or another is begun; may be NULL
 *
 * -1 with errno ENOLINK or EAGAIN.
 */
int rfmring_fence_begin(struct rfmring *ring, rfm_fence_done *done, void *opaque);

/**
 * rfmring_ask() - as rfmring_get() and its like, but returns at once
 * @request: see ring/remote.h; its done() comes in the loop
 */
void rfmring_ask(struct rfmring *ring, struct rfm_remote_request *request);

/** rfmring_cancel() - done() comes at once, if it had not come */
void rfmring_cancel(struct rfmring *ring, struct rfm_remote_request *request);

/**
 * rfmring_resync_begin() - as rfmring_resync(), but returns at once
 * @done: in the loop; the struct is valid until then, or rfmring_resync_cancel(), which calls it
 * @donor: or RFMRING_NODE_ALL
 *
 * -1 with errno EALREADY or ENOMEM. @done may have come already.
 */
int rfmring_resync_begin(struct rfmring *ring, uint32_t donor,
			 void (*done)(void *opaque, const struct rfm_resync *resync), void *opaque);
void rfmring_resync_cancel(struct rfmring *ring);

/**
 * rfmring_on_frame() - see every frame that comes from upstream
 * @seen: called before the node has it; NULL: no more
 *
 * Damaged frames are left out. The node's own frames are among them when they
 * come home. Not in a callback of another ring.
 */
void rfmring_on_frame(struct rfmring *ring, rfm_frame_seen *seen, void *opaque);

/**
 * rfmring_store_now() - a store that never waits; no thread may have been started
 * @length: 1..64
 * @now: a look at the clock that is not older than this round
 *
 * -1 with errno EAGAIN: no room yet; nothing was done, on_room will tell. After
 * that for the stall limit: ENOBUFS, as rfmring_store8().
 */
int rfmring_store_now(struct rfmring *ring, uint32_t offset, const void *data,
		      unsigned int length, uint64_t now);

/** rfmring_backpressure_end() - until when rfmring_store_now() waits; RFM_NEVER: it does not */
uint64_t rfmring_backpressure_end(const struct rfmring *ring);

/** rfmring_on_room() - who to tell that there is room again; may only activate or wake */
void rfmring_on_room(struct rfmring *ring, void (*room)(void *opaque), void *opaque);

/** rfmring_ports() - how its host's ports are; not in a callback of another ring (false) */
bool rfmring_ports(struct rfmring *ring, struct rfm_port_info *rx, struct rfm_port_info *tx);

#endif
