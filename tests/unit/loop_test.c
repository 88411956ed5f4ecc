// SPDX-License-Identifier: MIT
/* The loop. links: ring/host/loop.c */
#include "tests/unit/test.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/host/loop.h"

#define MS 1000000ull

/* Instead of the C library's: a test need not wait for long times to pass. */
static unsigned int ahead_s;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += clock == CLOCK_MONOTONIC ? ahead_s : 0;
	return result;
}

struct order {
	struct rfm_loop *loop;
	struct rfm_timer timer;
	char *log;
	char name;
	uint64_t again;
};

static void note(void *opaque, uint64_t now)
{
	struct order *order = opaque;

	order->log[strlen(order->log)] = order->name;
	if (order->again)
		rfm_timer_set(order->loop, &order->timer, now + order->again);
	order->again = 0;
}

#define STEP_S	1000		/* the test itself takes no such time */
#define STEP	(STEP_S * 1000 * MS)

static void timers_fire_in_time_and_can_be_moved(void **state)
{
	static const char *const by_then[] = {
		"", "b", "b", "bb", "bb", "bba", "bba", "bba", "bbad",
	};
	struct rfm_loop *loop = rfm_loop_new();
	char log[16] = "";
	struct order orders[4];
	uint64_t start = rfm_now(), soon;

	(void)state;
	for (int i = 0; i < 4; i++) {
		orders[i] = (struct order){ .loop = loop, .log = log, .name = "abcd"[i] };
		orders[i].timer = (struct rfm_timer){ .fire = note, .opaque = &orders[i] };
	}
	rfm_timer_set(loop, &orders[0].timer, start + 6 * STEP);
	rfm_timer_set(loop, &orders[1].timer, start + 2 * STEP);
	rfm_timer_set(loop, &orders[2].timer, start + 3 * STEP);
	rfm_timer_set(loop, &orders[3].timer, start + 1 * STEP);
	rfm_timer_set(loop, &orders[3].timer, start + 9 * STEP);	/* later after all */
	rfm_timer_set(loop, &orders[2].timer, RFM_NEVER);	/* not at all */
	orders[1].again = 2 * STEP;
	for (unsigned int step = 0; step < ARRAY_SIZE(by_then); step++) {
		ahead_s += STEP_S;
		while (rfm_loop_once(loop, 0))
			;
		assert_string_equal(log, by_then[step]);
	}
	ahead_s = 0;
	rfm_loop_free(loop);

	/* One that sleeps is woken by it, and not before. */
	loop = orders[2].loop = rfm_loop_new();
	soon = rfm_now() + 50 * MS;
	rfm_timer_set(loop, &orders[2].timer, soon);
	while (strlen(log) < 5)
		rfm_loop_once(loop, RFM_NEVER);
	assert_true(rfm_now() >= soon);
	rfm_loop_free(loop);
}

/** struct hasty - a timer that is always due, and who waits beside it */
struct hasty {
	struct rfm_loop *loop;
	struct rfm_timer timer;
	struct rfm_poller poller;
	struct rfm_loop_fd watch;
	unsigned int fired, polled, ready;
};

static void again_at_once(void *opaque, uint64_t now)
{
	struct hasty *hasty = opaque;

	if (++hasty->fired == 100000)
		fail_msg("nobody else has a turn");
	rfm_timer_set(hasty->loop, &hasty->timer, now);
}

static bool count_poll(void *opaque, uint64_t now)
{
	((struct hasty *)opaque)->polled++;
	return false;
}

static void count_ready(void *opaque, uint32_t events, uint64_t now)
{
	((struct hasty *)opaque)->ready++;
}

static void a_timer_that_is_always_due_holds_up_nobody(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct hasty hasty = {
		.loop = loop, .timer = { .fire = again_at_once, .opaque = &hasty },
		.poller = { .poll = count_poll, .opaque = &hasty },
		.watch = { .ready = count_ready, .opaque = &hasty },
	};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	rfm_loop_watch(loop, &hasty.watch, ends[0], EPOLLIN);
	rfm_poller_add(loop, &hasty.poller);
	rfm_poller_activate(&hasty.poller);
	rfm_timer_set(loop, &hasty.timer, 1);
	for (unsigned int round = 1; !hasty.ready; round++) {
		assert_true(rfm_loop_once(loop, 0));
		assert_int_equal(hasty.fired, round);
		assert_int_equal(hasty.polled, round);
	}
	rfm_timer_set(loop, &hasty.timer, RFM_NEVER);
	rfm_poller_remove(&hasty.poller);
	rfm_loop_unwatch(loop, &hasty.watch);
	rfm_loop_free(loop);
	close(ends[0]);
	close(ends[1]);
}

/** struct eager - a poller that makes itself active again, and who waits beside it */
struct eager {
	struct rfm_loop *loop;
	struct rfm_poller poller;
	struct rfm_timer timer;
	struct rfm_loop_fd watch;
	unsigned int fired, polled, ready;
};

static bool again_this_round(void *opaque, uint64_t now)
{
	struct eager *eager = opaque;

	if (++eager->polled == 100000)
		fail_msg("nobody else has a turn");
	rfm_poller_deactivate(&eager->poller);
	rfm_poller_kick(&eager->poller);
	return false;
}

static void count_fire(void *opaque, uint64_t now)
{
	struct eager *eager = opaque;

	eager->fired++;
	rfm_timer_set(eager->loop, &eager->timer, now);
}

static void count_eager_ready(void *opaque, uint32_t events, uint64_t now)
{
	((struct eager *)opaque)->ready++;
}

static void a_poller_that_is_always_active_holds_up_nobody(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct eager eager = {
		.loop = loop, .poller = { .poll = again_this_round, .opaque = &eager },
		.timer = { .fire = count_fire, .opaque = &eager },
		.watch = { .ready = count_eager_ready, .opaque = &eager },
	};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	rfm_loop_watch(loop, &eager.watch, ends[0], EPOLLIN);
	rfm_poller_add(loop, &eager.poller);
	rfm_poller_activate(&eager.poller);
	rfm_timer_set(loop, &eager.timer, 1);
	for (unsigned int round = 1; !eager.ready; round++) {
		assert_true(rfm_loop_once(loop, RFM_NEVER));
		assert_int_equal(eager.polled, round);
		assert_int_equal(eager.fired, round);
	}
	/* Without the timer, too: it does not fall asleep over it. */
	rfm_timer_set(loop, &eager.timer, RFM_NEVER);
	rfm_loop_unwatch(loop, &eager.watch);
	eager.polled = 0;
	for (unsigned int round = 1; round < 100; round++) {
		assert_true(rfm_loop_once(loop, RFM_NEVER));
		assert_true(eager.polled >= round);
	}
	rfm_poller_remove(&eager.poller);
	rfm_loop_free(loop);
	close(ends[0]);
	close(ends[1]);
}

struct pair {
	struct rfm_loop *loop;
	struct rfm_loop_fd watch, *other;
	int calls;
};

static void end_the_other(void *opaque, uint32_t events, uint64_t now)
{
	struct pair *pair = opaque;

	(void)events;
	(void)now;
	pair->calls++;
	rfm_loop_unwatch(pair->loop, pair->other);
}

/* Both are ready; whichever is called first takes the other one away. */
static void who_is_unwatched_is_not_called_any_more(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct pair a = { .loop = loop }, b = { .loop = loop };
	int pipes[2][2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe(pipes[i]), 0);
		assert_int_equal(write(pipes[i][1], "x", 1), 1);
	}
	a.watch = (struct rfm_loop_fd){ .ready = end_the_other, .opaque = &a };
	b.watch = (struct rfm_loop_fd){ .ready = end_the_other, .opaque = &b };
	a.other = &b.watch;
	b.other = &a.watch;
	rfm_loop_watch(loop, &a.watch, pipes[0][0], EPOLLIN);
	rfm_loop_watch(loop, &b.watch, pipes[1][0], EPOLLIN);
	assert_true(rfm_loop_once(loop, 0));
	assert_int_equal(a.calls + b.calls, 1);
	rfm_loop_unwatch(loop, &a.watch);
	rfm_loop_unwatch(loop, &b.watch);
	rfm_loop_free(loop);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
}

struct work {
	struct rfm_poller poller;
	_Atomic unsigned int todo;
	unsigned int done, slept;
};

static bool do_work(void *opaque, uint64_t now)
{
	struct work *work = opaque;

	(void)now;
	if (!atomic_load(&work->todo)) {
		rfm_poller_deactivate(&work->poller);
		return false;
	}
	atomic_fetch_sub(&work->todo, 1);
	work->done++;
	return true;
}

#define WORK	20000

static void *bring_work(void *opaque)
{
	struct work *work = opaque;

	for (int i = 0; i < WORK; i++) {
		atomic_fetch_add(&work->todo, 1);
		rfm_poller_kick(&work->poller);
		/* Now and then long enough for the loop to fall asleep. */
		if (i % 100 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	return NULL;
}

/* If one wake-up were lost, the last work would never be done. */
static void no_wake_up_of_another_thread_is_lost(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct work work = { .todo = 0 };
	pthread_t thread;

	(void)state;
	work.poller = (struct rfm_poller){ .poll = do_work, .opaque = &work };
	rfm_poller_add(loop, &work.poller);
	pthread_create(&thread, NULL, bring_work, &work);
	while (work.done < WORK)
		rfm_loop_once(loop, RFM_NEVER);
	pthread_join(thread, NULL);
	assert_int_equal(work.done, WORK);
	rfm_poller_remove(&work.poller);
	rfm_loop_free(loop);
}

static bool find_nothing(void *opaque, uint64_t now)
{
	(void)opaque;
	(void)now;
	return false;
}

static bool arm(void *opaque)
{
	struct work *work = opaque;

	work->slept++;
	return true;
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* However busy it was before: with nothing to do it sleeps, and an active poller is armed once. */
static void an_idle_loop_sleeps(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct work work = { .todo = 0 };
	uint64_t until, before, spent = UINT64_MAX;
	unsigned int tries = 0;

	(void)state;
	work.poller = (struct rfm_poller){ .poll = find_nothing, .sleep = arm, .opaque = &work };
	rfm_poller_add(loop, &work.poller);
	/* A host that takes the processor away may count that as ours, but not always. */
	for (; tries < 20 && spent >= 3 * MS; tries++) {
		rfm_poller_activate(&work.poller);
		before = cpu_time();
		until = rfm_now() + 300 * MS;
		while (rfm_now() < until)
			rfm_loop_once(loop, until);
		spent = cpu_time() - before;
	}
	assert_true(spent < 3 * MS);
	assert_int_equal(work.slept, tries);
	assert_false(work.poller.active);
	rfm_poller_remove(&work.poller);
	rfm_loop_free(loop);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

static void in_another_loop_its_descriptor_says_when(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct work work = { .todo = 0 };
	struct order order = { .loop = loop, .log = (char[4]){ 0 }, .name = 't' };
	int fd = rfm_loop_fd(loop);

	(void)state;
	assert_true(fd >= 0);
	work.poller = (struct rfm_poller){ .poll = do_work, .opaque = &work };
	rfm_poller_add(loop, &work.poller);
	while (rfm_loop_once(loop, 0))
		;
	assert_false(is_readable(fd, 0));

	/* Work from outside of it. */
	work.todo = 1;
	rfm_poller_kick(&work.poller);
	assert_true(is_readable(fd, PATIENCE_MS));
	while (rfm_loop_once(loop, 0))
		;
	assert_int_equal(work.done, 1);
	assert_false(is_readable(fd, 0));

	/* A timer. */
	order.timer = (struct rfm_timer){ .fire = note, .opaque = &order };
	rfm_timer_set(loop, &order.timer, rfm_now() + 200 * MS);
	while (rfm_loop_once(loop, 0))
		;
	while (!*order.log) {
		assert_true(is_readable(fd, PATIENCE_MS));
		rfm_loop_once(loop, 0);
	}

	/* The owner leaves when all is done, and before. */
	while (rfm_loop_once(loop, 0))
		;
	rfm_loop_again(loop);
	assert_false(is_readable(fd, 0));
	work.todo = 1;
	rfm_poller_kick(&work.poller);
	assert_true(rfm_loop_once(loop, 0));
	rfm_loop_again(loop);
	assert_true(is_readable(fd, 0));
	rfm_poller_remove(&work.poller);
	rfm_loop_free(loop);
}

static void *stop_it(void *opaque)
{
	rfm_loop_stop(opaque);
	return NULL;
}

static void another_thread_can_stop_it(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, stop_it, loop);
	rfm_loop_run(loop);
	pthread_join(thread, NULL);
	rfm_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_time_and_can_be_moved),
		cmocka_unit_test(a_timer_that_is_always_due_holds_up_nobody),
		cmocka_unit_test(a_poller_that_is_always_active_holds_up_nobody),
		cmocka_unit_test(who_is_unwatched_is_not_called_any_more),
		cmocka_unit_test(no_wake_up_of_another_thread_is_lost),
		cmocka_unit_test(an_idle_loop_sleeps),
		cmocka_unit_test(in_another_loop_its_descriptor_says_when),
		cmocka_unit_test(another_thread_can_stop_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
