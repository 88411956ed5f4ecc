// SPDX-License-Identifier: MIT
/*
 * How no wake-up is lost: who has news (another thread, a signal handler)
 * writes @kicked and @woken and then looks at @asleep; the loop writes @asleep
 * and then looks at @woken. All of these are sequentially consistent, so at
 * least one of the two sees what the other did.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/loop.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS		64	/* of descriptors, taken at once */
#define BUSY_ROUNDS	16	/* rounds with work between two looks at descriptors */
#define SPIN_LOOK	8	/* searches in vain between two looks at descriptors */
#define SPIN_MIN	2000u	/* ns; a shorter search is none */
#define YIELD_LONG	3000u	/* ns; a yield that took longer let somebody run */
#define SPIN_PENALTY	512	/* sleeps without a search after that */
#define NEAR		20000u	/* ns; for a timer that is so near no sleep is worth while */

struct rfm_loop {
	int epoll, event, timer;
	struct rfm_loop_fd event_watch, timer_watch;
	struct epoll_event events[EVENTS];
	int pending, at;		/* events that are being handed out */

	struct rfm_timer *timers;
	uint64_t first_timer;		/* none fires before */
	uint64_t timer_calls;		/* of run_timers() */

	struct rfm_poller *pollers;
	struct rfm_poller *active;	/* oldest first */
	struct rfm_poller **active_end;
	struct rfm_poller *next_active;	/* to be polled next in this round */
	uint64_t poll_calls;		/* of poll_active() */

	uint64_t now;
	uint64_t spin;			/* ns */
	unsigned int penalty;
	unsigned int busy;
	bool outside;			/* rfm_loop_fd() was asked for */

	_Atomic bool woken, asleep, stopped;

	void (*before_sleep)(void *opaque);
	void (*after_sleep)(void *opaque);
	void *sleep_opaque;
};

/* The loop that this thread is running, to tell its own calls from those of others. */
static _Thread_local struct rfm_loop *running;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint64_t rfm_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t rfm_real_time(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t rfm_loop_now(const struct rfm_loop *loop)
{
	return loop->now;
}

/* --- lifecycle -------------------------------------------------------------- */

static void nothing(void *opaque, uint32_t events, uint64_t now)
{
	(void)opaque;
	(void)events;
	(void)now;
}

struct rfm_loop *rfm_loop_new(void)
{
	struct rfm_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->timer = -1;
	loop->first_timer = RFM_NEVER;
	loop->active_end = &loop->active;
	loop->now = rfm_now();
	loop->event_watch.ready = loop->timer_watch.ready = nothing;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* Edge-triggered: it need not be read. */
	if (loop->epoll < 0 || loop->event < 0 ||
	    rfm_loop_watch(loop, &loop->event_watch, loop->event, EPOLLIN | EPOLLET)) {
		int error = errno;

		rfm_loop_free(loop);
		errno = error;
		return NULL;
	}
	return loop;
}

void rfm_loop_free(struct rfm_loop *loop)
{
	if (!loop)
		return;
	if (loop->timer >= 0)
		close(loop->timer);
	if (loop->event >= 0)
		close(loop->event);
	if (loop->epoll >= 0)
		close(loop->epoll);
	free(loop);
}

void rfm_loop_on_sleep(struct rfm_loop *loop, void (*before)(void *opaque),
		       void (*after)(void *opaque), void *opaque)
{
	loop->before_sleep = before;
	loop->after_sleep = after;
	loop->sleep_opaque = opaque;
}

int rfm_loop_fd(struct rfm_loop *loop)
{
	if (loop->outside && !atomic_load(&loop->asleep))
		return loop->epoll;
	loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer < 0)
		return -1;
	/* Edge-triggered: setting it again takes back what it said. */
	if (rfm_loop_watch(loop, &loop->timer_watch, loop->timer, EPOLLIN | EPOLLET)) {
		int error = errno;

		close(loop->timer);
		loop->timer = -1;
		errno = error;
		return -1;
	}
	loop->outside = true;
	return loop->epoll;
}

/* --- waking ----------------------------------------------------------------- */

static void signal_event(struct rfm_loop *loop)
{
	uint64_t one = 1;

	(void)!write(loop->event, &one, sizeof(one));
}

void rfm_loop_again(struct rfm_loop *loop)
{
	if (loop->outside && !atomic_load(&loop->asleep))
		signal_event(loop);
}

void rfm_loop_wake(struct rfm_loop *loop)
{
	int error = errno;

	atomic_store(&loop->woken, true);
	if (atomic_exchange(&loop->asleep, false))
		signal_event(loop);
	errno = error;
}

void rfm_loop_stop(struct rfm_loop *loop)
{
	atomic_store(&loop->stopped, true);
	rfm_loop_wake(loop);
}

/* --- descriptors ------------------------------------------------------------- */

int rfm_loop_watch(struct rfm_loop *loop, struct rfm_loop_fd *watch, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (watch->on && watch->fd == fd && watch->events == events)
		return 0;
	if (epoll_ctl(loop->epoll, watch->on ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event))
		return -1;
	watch->fd = fd;
	watch->events = events;
	watch->on = true;
	return 0;
}

void rfm_loop_unwatch(struct rfm_loop *loop, struct rfm_loop_fd *watch)
{
	if (!watch->on)
		return;
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->on = false;
	/* What it has still to be told is not told any more. */
	for (int i = loop->at; i < loop->pending; i++)
		if (loop->events[i].data.ptr == watch)
			loop->events[i].data.ptr = NULL;
}

static void dispatch_events(struct rfm_loop *loop, int count)
{
	loop->pending = count;
	for (loop->at = 0; loop->at < loop->pending;) {
		struct epoll_event *event = &loop->events[loop->at++];
		struct rfm_loop_fd *watch = event->data.ptr;

		if (watch)
			watch->ready(watch->opaque, event->events, loop->now);
	}
	loop->pending = loop->at = 0;
}

static bool look_at_descriptors(struct rfm_loop *loop)
{
	int count = epoll_wait(loop->epoll, loop->events, EVENTS, 0);

	if (count > 0)
		dispatch_events(loop, count);
	return count > 0;
}

/* --- timers ------------------------------------------------------------------ */

void rfm_timer_set(struct rfm_loop *loop, struct rfm_timer *timer, uint64_t when)
{
	timer->when = when;
	if (when == RFM_NEVER) {
		struct rfm_timer **at = &loop->timers;

		while (timer->on && *at != timer)
			at = &(*at)->next;
		if (timer->on)
			*at = timer->next;
		timer->on = false;
		return;
	}
	if (!timer->on) {
		timer->next = loop->timers;
		loop->timers = timer;
		timer->set_in = loop->timer_calls;
		timer->on = true;
	}
	if (when < loop->first_timer)
		loop->first_timer = when;
}

/*
 * One that is due, taken off the list; NULL: none, and @first_timer is exact. One that was set by
 * another, or by itself, waits for the next round: descriptors and pollers have their turn first.
 */
static struct rfm_timer *due_timer(struct rfm_loop *loop)
{
	uint64_t first = RFM_NEVER;

	for (struct rfm_timer **at = &loop->timers; *at; at = &(*at)->next) {
		struct rfm_timer *timer = *at;

		if (timer->when <= loop->now && timer->set_in != loop->timer_calls) {
			*at = timer->next;
			timer->on = false;
			return timer;
		}
		if (timer->when < first)
			first = timer->when;
	}
	loop->first_timer = first;
	return NULL;
}

static bool run_timers(struct rfm_loop *loop)
{
	struct rfm_timer *timer;
	bool any = false;

	if (loop->now < loop->first_timer)
		return false;
	loop->timer_calls++;
	while ((timer = due_timer(loop))) {
		timer->fire(timer->opaque, loop->now);
		any = true;
	}
	return any;
}

/* --- pollers ----------------------------------------------------------------- */

void rfm_poller_add(struct rfm_loop *loop, struct rfm_poller *poller)
{
	poller->loop = loop;
	poller->active = false;
	poller->polled_in = 0;
	atomic_store(&poller->kicked, false);
	poller->previous = NULL;
	poller->next = loop->pollers;
	if (poller->next)
		poller->next->previous = poller;
	loop->pollers = poller;
}

void rfm_poller_remove(struct rfm_poller *poller)
{
	struct rfm_loop *loop = poller->loop;

	if (!loop)
		return;
	rfm_poller_deactivate(poller);
	if (poller->next)
		poller->next->previous = poller->previous;
	if (poller->previous)
		poller->previous->next = poller->next;
	else
		loop->pollers = poller->next;
	poller->loop = NULL;
}

void rfm_poller_activate(struct rfm_poller *poller)
{
	struct rfm_loop *loop = poller->loop;

	if (poller->active)
		return;
	poller->active = true;
	poller->next_active = NULL;
	poller->previous_active = loop->active_end;
	*loop->active_end = poller;
	loop->active_end = &poller->next_active;
	if (!loop->next_active)
		loop->next_active = poller;
}

void rfm_poller_deactivate(struct rfm_poller *poller)
{
	struct rfm_loop *loop = poller->loop;

	if (!poller->active)
		return;
	poller->active = false;
	*poller->previous_active = poller->next_active;
	if (poller->next_active)
		poller->next_active->previous_active = poller->previous_active;
	else
		loop->active_end = poller->previous_active;
	if (loop->next_active == poller)
		loop->next_active = poller->next_active;
}

void rfm_poller_kick(struct rfm_poller *poller)
{
	if (running == poller->loop) {
		rfm_poller_activate(poller);
		return;
	}
	if (!atomic_exchange(&poller->kicked, true))
		rfm_loop_wake(poller->loop);
}

static bool activate_kicked(struct rfm_loop *loop)
{
	if (!atomic_load_explicit(&loop->woken, memory_order_relaxed) ||
	    !atomic_exchange(&loop->woken, false))
		return false;
	for (struct rfm_poller *poller = loop->pollers; poller; poller = poller->next)
		if (atomic_exchange(&poller->kicked, false))
			rfm_poller_activate(poller);
	return true;
}

/*
 * Those that are activated meanwhile have their turn in the same round, but only one: what makes
 * itself work without end would keep out timers, descriptors and whoever waits for the loop.
 */
static bool poll_active(struct rfm_loop *loop)
{
	bool any = false;

	loop->poll_calls++;
	loop->next_active = loop->active;
	while (loop->next_active) {
		struct rfm_poller *poller = loop->next_active;

		loop->next_active = poller->next_active;
		if (poller->polled_in == loop->poll_calls) {
			any = true;		/* its next turn is in the next round */
			continue;
		}
		poller->polled_in = loop->poll_calls;
		any |= poller->poll(poller->opaque, loop->now);
	}
	return any;
}

/* Nothing is to be found: every poller that has a wake-up is not active any more. */
static bool arm_wakeups(struct rfm_loop *loop)
{
	struct rfm_poller *poller, *next;
	bool nothing_after_all = true;

	for (poller = loop->active; poller; poller = next) {
		next = poller->next_active;
		if (poller->sleep && !poller->sleep(poller->opaque))
			nothing_after_all = false;
		else
			rfm_poller_deactivate(poller);
	}
	return nothing_after_all;
}

/* --- the rounds -------------------------------------------------------------- */

/*
 * Search for a while before sleeping. sched_yield() costs next to nothing
 * unless somebody waits for this CPU, who then needs it more than we do.
 */
static bool spin_for_work(struct rfm_loop *loop)
{
	uint64_t near = loop->now + NEAR, end = loop->now + loop->spin;
	unsigned int misses = 0;

	if (loop->first_timer < near || loop->first_timer < end)
		end = loop->first_timer;
	while (loop->now < end) {
		uint64_t before = loop->now;

		sched_yield();
		loop->now = rfm_now();
		if (loop->now - before > YIELD_LONG) {
			loop->spin = 0;
			loop->penalty = SPIN_PENALTY;
			end = loop->first_timer < near ? loop->first_timer : 0;
		}
		if (activate_kicked(loop) | poll_active(loop))
			return true;
		if (!(++misses % SPIN_LOOK) && look_at_descriptors(loop))
			return true;
	}
	/* A timer that is due ends the search, but needs no sleep. */
	return loop->now >= loop->first_timer;
}

/* Would a search have paid? @slept: ns since there was nothing to do. */
static void adapt(struct rfm_loop *loop, uint64_t slept, bool found)
{
	if (loop->penalty) {
		loop->penalty--;
		return;
	}
	if (found && slept < RFM_LOOP_SPIN_NS) {
		loop->spin = loop->spin ? loop->spin * 2 : SPIN_MIN;
		if (loop->spin > RFM_LOOP_SPIN_NS)
			loop->spin = RFM_LOOP_SPIN_NS;
	} else {
		loop->spin = loop->spin > SPIN_MIN ? loop->spin / 2 : 0;
	}
}

static int sleep_in_kernel(struct rfm_loop *loop, uint64_t until)
{
	uint64_t left = until > loop->now ? until - loop->now : 0;
	struct timespec timeout;

	timeout.tv_sec = left / 1000000000u;
	timeout.tv_nsec = left % 1000000000u;
	return epoll_pwait2(loop->epoll, loop->events, EVENTS,
			    until == RFM_NEVER ? NULL : &timeout, NULL);
}

/* Returns false if there was something after all. */
static bool fall_asleep(struct rfm_loop *loop)
{
	if (!arm_wakeups(loop))
		return false;
	atomic_store(&loop->asleep, true);
	if (!atomic_load(&loop->woken))
		return true;
	atomic_store(&loop->asleep, false);
	return false;
}

static bool sleep_until(struct rfm_loop *loop, uint64_t until)
{
	uint64_t idle_since = loop->now;
	int count;

	if (spin_for_work(loop))
		return true;
	if (!fall_asleep(loop))
		return true;
	/* Others may set timers when the lock is let go, and then wake this thread. */
	if (loop->first_timer < until)
		until = loop->first_timer;
	if (loop->before_sleep)
		loop->before_sleep(loop->sleep_opaque);
	count = sleep_in_kernel(loop, until);
	if (loop->after_sleep)
		loop->after_sleep(loop->sleep_opaque);
	atomic_store(&loop->asleep, false);
	loop->now = rfm_now();
	adapt(loop, loop->now - idle_since, count > 0);
	if (count > 0)
		dispatch_events(loop, count);
	return count > 0;
}

/* The owner goes on to sleep outside, on rfm_loop_fd(). */
static bool leave_asleep(struct rfm_loop *loop)
{
	uint64_t first = loop->first_timer;
	struct itimerspec when = {
		.it_value.tv_sec = first / 1000000000u,
		.it_value.tv_nsec = first % 1000000000u,
	};

	if (!fall_asleep(loop))
		return true;
	if (first == RFM_NEVER)
		when.it_value = (struct timespec){ 0 };
	timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
	return false;
}

static bool one_round(struct rfm_loop *loop, uint64_t until)
{
	bool worked;

	loop->now = rfm_now();
	atomic_store_explicit(&loop->asleep, false, memory_order_relaxed);
	worked = activate_kicked(loop);
	worked |= run_timers(loop);
	worked |= poll_active(loop);
	if (worked) {
		if (++loop->busy % BUSY_ROUNDS == 0)
			look_at_descriptors(loop);
		return true;
	}
	if (until > loop->now)
		return sleep_until(loop, until);
	if (look_at_descriptors(loop))
		return true;
	return loop->outside && leave_asleep(loop);
}

bool rfm_loop_once(struct rfm_loop *loop, uint64_t until)
{
	struct rfm_loop *outer_host = running;
	bool worked;

	running = loop;
	worked = one_round(loop, until);
	running = outer_host;
	return worked;
}

void rfm_loop_run(struct rfm_loop *loop)
{
	while (!atomic_exchange(&loop->stopped, false))
		rfm_loop_once(loop, RFM_NEVER);
}
