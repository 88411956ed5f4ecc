// SPDX-License-Identifier: MIT
/* The shared-memory queue between two threads: no wake-up is lost. links: tests/unit/queue.c */
#define _GNU_SOURCE
#include "tests/unit/test.h"
#include "tests/unit/queue.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/*
 * Each change of hands may wait for a turn of the processor, so a case ends after so many seconds
 * too: on a quiet machine it is through with its number in less than three.
 */
#define LIMIT_S 20

struct pace {
	struct rfm_shm shm;
	uint64_t frames;	/* at most; the last one says so */
	uint32_t batch;		/* frames at once, at most */
	uint32_t rest;		/* turns of idling after a batch, at most */
	uint64_t seed;
	uint64_t sleeps, taken;
	const char *failure;
};

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void idle(struct pace *p)
{
	for (uint32_t n = p->rest ? test_random(&p->seed) % p->rest : 0; n; n--)
		__asm__ volatile("" ::: "memory");
}

static bool sleep_for(struct pace *p, bool producer)
{
	p->sleeps++;
	if (!readable(p->shm.fds[producer ? ROOM : DATA], PATIENCE_MS)) {
		p->failure = producer ? "the producer's wake-up was lost" :
					"the consumer's wake-up was lost";
		return false;
	}
	rfm_shm_clear_wakeup(&p->shm, producer);
	return true;
}

/* 8 bytes a frame will do here: the number, and whether it is the last one. */
#define LAST (1ull << 63)

static void *producer_thread(void *opaque)
{
	struct pace *p = opaque;
	time_t until = seconds() + LIMIT_S;
	uint64_t n = 0, frame = 0;

	while (!(frame & LAST)) {
		bool late = seconds() >= until;

		for (uint32_t batch = 1 + test_random(&p->seed) % p->batch; batch; batch--) {
			uint8_t *slot = rfm_shm_reserve(&p->shm, 1);

			if (!slot || (frame & LAST))
				break;
			frame = n++;
			if (late || n == p->frames)
				frame |= LAST;
			memcpy(slot, &frame, sizeof(frame));
			rfm_shm_commit(&p->shm, 1, true);
		}
		rfm_shm_publish(&p->shm);
		idle(p);
		if (!rfm_shm_reserve(&p->shm, 1) && rfm_shm_wait_room(&p->shm, 1) && !sleep_for(p, true))
			break;
	}
	return NULL;
}

static void *consumer_thread(void *opaque)
{
	struct pace *p = opaque;
	_Alignas(8) uint8_t slot[RFM_UNIT_MAX];
	uint64_t found = 0;

	while (!(found & LAST)) {
		uint32_t batch = 1 + test_random(&p->seed) % p->batch;

		while (batch-- && rfm_shm_take(&p->shm, slot, NULL, NULL) > 0) {
			memcpy(&found, slot, sizeof(found));
			if ((found & ~LAST) != p->taken++) {
				p->failure = "a frame out of order";
				return NULL;
			}
		}
		rfm_shm_release(&p->shm);
		idle(p);
		if (!rfm_shm_pending(&p->shm) && rfm_shm_wait_data(&p->shm, 1) && !(found & LAST) &&
		    !sleep_for(p, false))
			break;
	}
	return NULL;
}

static void run_pair(uint64_t frames, uint32_t slots, uint32_t batch, uint32_t tx_rest,
		     uint32_t rx_rest)
{
	struct pace tx = { .frames = frames, .batch = batch, .rest = tx_rest, .seed = slots };
	struct pace rx = { .batch = batch, .rest = rx_rest, .seed = batch };
	pthread_t producer, consumer;

	make_pair(&tx.shm, &rx.shm, slots);
	assert_int_equal(pthread_create(&consumer, NULL, consumer_thread, &rx), 0);
	assert_int_equal(pthread_create(&producer, NULL, producer_thread, &tx), 0);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	if (tx.failure || rx.failure)
		fail_msg("%u slots, batches of %u: %s", slots, batch,
			 tx.failure ? tx.failure : rx.failure);
	print_message("# %u slots, batches of %u: %llu frames, producer slept %llu, consumer %llu times\n",
		      slots, batch, (unsigned long long)rx.taken, (unsigned long long)tx.sleeps,
		      (unsigned long long)rx.sleeps);
	close_pair(&tx.shm, &rx.shm);
}

static void threads_lose_no_wake_up(void **state)
{
	(void)state;
	run_pair(3000000, RFM_SHM_SLOTS, 200, 0, 0);
	run_pair(500000, 64, 16, 60, 60);
	run_pair(100000, 2, 2, 0, 0);	/* both fall asleep all the time */
	run_pair(200000, 8, 2, 300, 0);	/* the consumer is the faster one */
	run_pair(200000, 8, 2, 0, 300);	/* the producer is */
}

/*
 * Both at the same moment, again and again: one shows a slot, the other goes
 * to sleep. Either the sleeper sees the slot, or it is woken.
 */
#define MOMENTS 300000

struct moment {
	struct rfm_shm *tx, *rx;
	_Atomic unsigned int arrived;
	unsigned int moments;		/* how many there have been */
	bool over;			/* said before the second meeting of the last one */
	unsigned int caught;		/* how often it was asleep and was woken */
};

static void meet(struct moment *m, unsigned int place)
{
	atomic_fetch_add(&m->arrived, 1);
	for (unsigned int turns = 0; atomic_load(&m->arrived) < 2 * place; turns++)
		if (turns > 1000)
			sched_yield();
}

/* Sometimes the other goes first for sure, so that both cases are seen on one processor too. */
static void jitter(uint64_t *seed)
{
	uint32_t turns = test_random(seed) % 64;

	if (!turns)
		sched_yield();
	while (turns--)
		__asm__ volatile("" ::: "memory");
}

/* The other looks at @over after the second meeting, so it must be set before. */
static void meet_again(struct moment *m, time_t until)
{
	m->moments++;
	m->over = m->moments == MOMENTS || seconds() >= until;
	meet(m, 2 * m->moments);
}

/* Left alone, the two may take turns on one processor, and never meet. */
static void stay_on(unsigned int which)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&all) > 1; cpu++) {
		if (!CPU_ISSET(cpu, &all) || which--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void *shower(void *opaque)
{
	struct moment *m = opaque;
	uint8_t slot[RFM_UNIT_MAX];
	uint64_t seed = 1;

	stay_on(0);
	for (unsigned int n = 0; !m->over; n++) {
		if (m->rx)
			rfm_shm_take(m->rx, slot, NULL, NULL);
		else
			rfm_shm_reserve(m->tx, 1);
		meet(m, 2 * n + 1);
		jitter(&seed);
		if (m->rx) {
			rfm_shm_release(m->rx);
		} else {
			rfm_shm_commit(m->tx, 1, true);
			rfm_shm_publish(m->tx);
		}
		meet(m, 2 * n + 2);
	}
	return NULL;
}

static void moment_consumer_sleeps(void **state)
{
	struct rfm_shm tx, rx;
	struct moment m = { .tx = &tx };
	uint8_t slot[RFM_UNIT_MAX];
	uint64_t seed = 2;
	cpu_set_t before;
	pthread_t thread;
	time_t until;

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_int_equal(pthread_create(&thread, NULL, shower, &m), 0);
	sched_getaffinity(0, sizeof(before), &before);
	stay_on(1);
	until = seconds() + LIMIT_S;
	while (!m.over) {
		bool slept;

		meet(&m, 2 * m.moments + 1);
		jitter(&seed);
		slept = rfm_shm_wait_data(&rx, 1);
		meet_again(&m, until);
		if (slept) {
			m.caught++;
			assert_true(readable(rx.fds[DATA], 0));
		}
		rfm_shm_clear_wakeup(&rx, false);
		assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), 1);
		rfm_shm_release(&rx);
	}
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	print_message("# %u moments, %u of them asleep\n", m.moments, m.caught);
	assert_in_range(m.caught, 1, m.moments - 1);	/* or the test proves nothing */
	close_pair(&tx, &rx);
}

static void moment_producer_waits(void **state)
{
	struct rfm_shm tx, rx;
	struct moment m = { .rx = &rx };
	uint64_t seed = 3;
	cpu_set_t before;
	pthread_t thread;
	time_t until;

	(void)state;
	make_pair(&tx, &rx, 2);
	put(&tx, 0);
	put(&tx, 1);
	rfm_shm_publish(&tx);
	assert_int_equal(pthread_create(&thread, NULL, shower, &m), 0);
	sched_getaffinity(0, sizeof(before), &before);
	stay_on(1);
	until = seconds() + LIMIT_S;
	while (!m.over) {
		bool slept;

		meet(&m, 2 * m.moments + 1);
		jitter(&seed);
		slept = rfm_shm_wait_room(&tx, 1);
		meet_again(&m, until);
		if (slept) {
			m.caught++;
			assert_true(readable(tx.fds[ROOM], 0));
		}
		rfm_shm_clear_wakeup(&tx, true);
		assert_true(put(&tx, m.moments));
		rfm_shm_publish(&tx);
	}
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	print_message("# %u moments, %u of them asleep\n", m.moments, m.caught);
	assert_in_range(m.caught, 1, m.moments - 1);
	close_pair(&tx, &rx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_lose_no_wake_up),
		cmocka_unit_test(moment_consumer_sleeps),
		cmocka_unit_test(moment_producer_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
