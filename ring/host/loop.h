/* SPDX-License-Identifier: MIT */
/*
 * The loop: what lets one thread serve sockets, clocks and shared-memory
 * queues. epoll, level-triggered unless a watch asks for edges, timers in ns, and
 * *pollers*: work that is looked for without a system call.
 *
 * A poller is active or not. An active one is polled in every round. When nothing
 * has been found for a while, each is asked to arm its wake-up (a descriptor
 * that it watches) and is not active, and the loop sleeps in the kernel. How long
 * "a while" is adapts itself: up to RFM_LOOP_SPIN_NS while the next work keeps
 * coming within that time, nothing at all otherwise, and nothing when
 * somebody else wants the CPU. An idle loop costs no CPU time.
 *
 * All calls belong to the thread that runs the loop, except those that say
 * "any thread".
 */
#ifndef RFM_HOST_LOOP_H
#define RFM_HOST_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RFM_LOOP_SPIN_NS	50000ull	/* longest search before sleeping */
#define RFM_NEVER		UINT64_MAX

struct rfm_loop;

/** rfm_now() - the clock of all that is here: CLOCK_MONOTONIC in ns */
uint64_t rfm_now(void);

/**
 * rfm_real_time() - CLOCK_REALTIME in ns, for people and files and new incarnations
 *
 * rfm_real_time() - rfm_now() is the epoch of a capture, see ring/util/pcapng.h.
 */
uint64_t rfm_real_time(void);

/**
 * struct rfm_loop_fd - a descriptor that is watched; memory of the owner
 * @ready: @events of epoll have happened; may change or unwatch any watch
 *
 * Set @ready and @opaque, the rest is the loop's.
 */
struct rfm_loop_fd {
	void (*ready)(void *opaque, uint32_t events, uint64_t now);
	void *opaque;
	int fd;
	uint32_t events;
	bool on;
};

/**
 * struct rfm_timer - calls once at a time; memory of the owner
 * @fire: may set it again: it is not called again before the next round
 *
 * Set @fire and @opaque, the rest is the loop's.
 */
struct rfm_timer {
	void (*fire)(void *opaque, uint64_t now);
	void *opaque;
	uint64_t when, set_in;
	struct rfm_timer *next;
	bool on;
};

/**
 * struct rfm_poller - work that is looked for without a system call
 * @poll: do a batch of what there is; true if there was something. One that
 *	cannot have more before it is made active again calls rfm_poller_deactivate().
 *	It is not called again before the next round, whoever makes it active
 * @sleep: the loop is about to sleep: arm the wake-up. False if there is
 *	something after all. May be NULL: nothing to arm
 *
 * Set @poll, @sleep and @opaque, the rest is the loop's.
 */
struct rfm_poller {
	bool (*poll)(void *opaque, uint64_t now);
	bool (*sleep)(void *opaque);
	void *opaque;
	struct rfm_loop *loop;
	struct rfm_poller *next, *previous;		/* all */
	struct rfm_poller *next_active, **previous_active;
	uint64_t polled_in;
	bool active;
	_Atomic bool kicked;
};

/** rfm_loop_new() - NULL with errno if there are no descriptors or no memory */
struct rfm_loop *rfm_loop_new(void);

/** rfm_loop_free() - all watches, timers and pollers must have gone */
void rfm_loop_free(struct rfm_loop *loop);

/**
 * rfm_loop_once() - one round: timers, pollers, descriptors
 * @until: sleep no longer than that, ns; RFM_NEVER; 0: do not sleep (but, once
 *	rfm_loop_fd() was asked for, arm every wake-up when there is nothing to do)
 *
 * Returns true if something was done.
 */
bool rfm_loop_once(struct rfm_loop *loop, uint64_t until);

/** rfm_loop_run() - rounds until rfm_loop_stop() */
void rfm_loop_run(struct rfm_loop *loop);

/** rfm_loop_stop() - rfm_loop_run() returns after this round; any thread */
void rfm_loop_stop(struct rfm_loop *loop);

/** rfm_loop_wake() - end the sleep, if it sleeps; any thread, and in signal handlers */
void rfm_loop_wake(struct rfm_loop *loop);

/**
 * rfm_loop_on_sleep() - calls round every sleep, e.g. to drop and take a lock
 * @before: may be NULL, as may @after
 */
void rfm_loop_on_sleep(struct rfm_loop *loop, void (*before)(void *opaque),
		       void (*after)(void *opaque), void *opaque);

/**
 * rfm_loop_fd() - for a loop that lives in somebody else's
 *
 * A descriptor that becomes readable when rfm_loop_once(loop, 0) has something
 * to do. Only after a call of that has returned false. -1 with errno.
 */
int rfm_loop_fd(struct rfm_loop *loop);

/**
 * rfm_loop_again() - rfm_loop_fd(), if it was asked for, is readable at once
 *
 * For who may leave behind a round that has done something: nothing is armed then. Harmless
 * behind any other.
 */
void rfm_loop_again(struct rfm_loop *loop);

/** rfm_loop_now() - the time at which this round began, without a look at the clock */
uint64_t rfm_loop_now(const struct rfm_loop *loop);

/** rfm_loop_watch() - for @events (EPOLLIN...), or for others than so far; -1 with errno */
int rfm_loop_watch(struct rfm_loop *loop, struct rfm_loop_fd *watch, int fd, uint32_t events);

/** rfm_loop_unwatch() - before the descriptor is closed; harmless if it is not watched */
void rfm_loop_unwatch(struct rfm_loop *loop, struct rfm_loop_fd *watch);

/** rfm_timer_set() - at @when, instead of any time set before; RFM_NEVER: not at all */
void rfm_timer_set(struct rfm_loop *loop, struct rfm_timer *timer, uint64_t when);

/** rfm_poller_add() - not active at first */
void rfm_poller_add(struct rfm_loop *loop, struct rfm_poller *poller);
void rfm_poller_remove(struct rfm_poller *poller);

/** rfm_poller_activate() - poll it from now on */
void rfm_poller_activate(struct rfm_poller *poller);

/** rfm_poller_deactivate() - no more, until it is activated or kicked */
void rfm_poller_deactivate(struct rfm_poller *poller);

/** rfm_poller_kick() - activate it, and wake the loop; any thread */
void rfm_poller_kick(struct rfm_poller *poller);

#endif
