// SPDX-License-Identifier: MIT
/*
 * The insertion queue: room, drops in their place, sleep and wake-up; then both
 * sides in threads of their own, as a vCPU and the thread of the links are.
 */
#define _GNU_SOURCE

#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "ring/insert.h"
#include "ring/node.h"

#define SLOTS	RFM_INSERT_SLOTS_MIN

/* A record that says which one it is; returns whether there was room. */
static bool put(struct rfm_insert *q, uint64_t number, bool beyond, bool *wake)
{
	struct rfm_insert_record *record;
	enum rfm_insert_result result = rfm_insert_reserve(q, beyond, &record);

	if (result != RFM_INSERT_OK) {
		assert_int_equal(result, atomic_load(&q->offline) ? RFM_INSERT_OFFLINE :
				 RFM_INSERT_FULL);
		return false;
	}
	record->time = number;
	memset(record->data, (uint8_t)number, sizeof(record->data));
	*wake = rfm_insert_commit(q, 1);
	return true;
}

static void open_queue(struct rfm_insert *q, uint32_t slots)
{
	assert_int_equal(rfm_insert_init(q, slots), 0);
	atomic_store(&q->offline, false);
}

/* --- one thread ----------------------------------------------------------- */

static void sizes(void **state)
{
	struct rfm_insert q;

	(void)state;
	for (uint32_t slots = 0; slots < 5000; slots++) {
		bool right = slots >= RFM_INSERT_SLOTS_MIN && slots <= RFM_INSERT_SLOTS &&
			     !(slots & (slots - 1));

		errno = 0;
		assert_int_equal(rfm_insert_init(&q, slots), right ? 0 : -1);
		if (right)
			rfm_insert_destroy(&q);
		else
			assert_int_equal(errno, EINVAL);
	}
}

static void room_for_stores_and_a_reserve(void **state)
{
	struct rfm_insert q;
	uint64_t number = 0;
	bool wake;

	(void)state;
	open_queue(&q, SLOTS);
	for (int round = 0; round < 3; round++) {
		uint64_t first = number;

		for (int i = 0; i < SLOTS; i++) {
			assert_true(rfm_insert_has_room(&q));
			assert_true(put(&q, number++, false, &wake));
		}
		assert_false(rfm_insert_has_room(&q));
		assert_false(put(&q, 0, false, &wake));
		for (int i = 0; i < SLOTS; i++)
			assert_true(put(&q, number++, true, &wake));
		assert_false(put(&q, 0, true, &wake));
		assert_int_equal(rfm_insert_used(&q), 2 * SLOTS);
		for (uint64_t i = first; i < number; i++) {
			assert_int_equal(rfm_insert_peek(&q)->time, i);
			rfm_insert_release(&q, 1);
		}
		assert_null(rfm_insert_peek(&q));
	}
	assert_int_equal(q.stores, 3 * (2 * SLOTS + 2));
	assert_int_equal(q.dropped, 3 * 2);
	assert_int_equal(q.dark, 0);
	assert_int_equal(q.peak, 2 * SLOTS);
	rfm_insert_destroy(&q);
}

/* A drop stands between the record before it and the one after it. */
static void drops_keep_their_place(void **state)
{
	struct rfm_insert q;
	bool wake;

	(void)state;
	open_queue(&q, SLOTS);
	for (int i = 0; i < SLOTS; i++)
		put(&q, i, false, &wake);
	for (int i = 0; i < 3; i++)
		assert_false(put(&q, 0, false, &wake));
	put(&q, 100, true, &wake);
	assert_false(put(&q, 0, false, &wake));
	for (int i = 0; i < SLOTS; i++) {
		assert_int_equal(rfm_insert_dropped(&q), 0);
		rfm_insert_release(&q, 1);
	}
	assert_int_equal(rfm_insert_peek(&q)->time, 100);
	assert_int_equal(rfm_insert_dropped(&q), 3);
	assert_int_equal(rfm_insert_dropped(&q), 0);	/* told once */
	rfm_insert_release(&q, 1);
	assert_int_equal(rfm_insert_dropped(&q), 1);	/* the last, with nothing behind it */
	assert_int_equal(rfm_insert_dropped(&q), 0);
	rfm_insert_destroy(&q);
}

static void in_the_dark_nothing_waits(void **state)
{
	struct rfm_insert q;
	bool wake;

	(void)state;
	assert_int_equal(rfm_insert_init(&q, SLOTS), 0);
	for (int i = 0; i < 100; i++) {
		assert_true(rfm_insert_has_room(&q));
		assert_false(put(&q, 0, i % 2, &wake));
	}
	assert_int_equal(rfm_insert_used(&q), 0);
	assert_int_equal(q.dark, 100);
	assert_int_equal(q.dropped, 100);
	assert_int_equal(rfm_insert_dropped(&q), 100);
	rfm_insert_destroy(&q);
}

static void whoever_sleeps_is_woken_once(void **state)
{
	struct rfm_insert q;
	bool wake;

	(void)state;
	open_queue(&q, SLOTS);
	put(&q, 1, false, &wake);
	assert_true(wake);			/* it begins asleep */
	put(&q, 2, false, &wake);
	assert_false(wake);
	assert_false(rfm_insert_sleep(&q));	/* there is something */
	put(&q, 3, false, &wake);
	assert_false(wake);			/* so it does not sleep */
	while (rfm_insert_peek(&q))
		rfm_insert_release(&q, 1);
	assert_true(rfm_insert_sleep(&q));
	put(&q, 4, false, &wake);
	assert_true(wake);
	rfm_insert_destroy(&q);
}

/* --- two threads ---------------------------------------------------------- */

#define BURSTS		300000ull	/* as fast as they can be made, */
#define LONE		3000ull		/* then each when the consumer sleeps */
#define LOAD		(BURSTS + LONE)

/* Returns false if nobody has posted for too long. May be called by any thread. */
static bool await(sem_t *sem)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	while (sem_clockwait(sem, CLOCK_MONOTONIC, &until))
		if (errno != EINTR)
			return false;
	return true;
}

struct both {
	struct rfm_insert q;
	sem_t begun, work, idle;
	_Atomic bool lone, done;
};

static void *produce(void *opaque)
{
	struct both *both = opaque;
	uint64_t seed = 42;

	for (uint64_t number = 1; number <= LOAD; number++) {
		bool wake = false;

		if (number == BURSTS + 1)
			atomic_store(&both->lone, true);
		else if (number > BURSTS && !await(&both->idle))
			break;
		put(&both->q, number, !(number % 16), &wake);
		if (wake)
			sem_post(&both->work);
		if (number == 1000)
			sem_post(&both->begun);
		if (!(test_random(&seed) % 100))
			sched_yield();
	}
	atomic_store(&both->done, true);
	sem_post(&both->work);
	return NULL;
}

/* What a consumer has seen. */
struct taken {
	uint64_t last, records, dropped, slept;
};

static void take_all(struct rfm_insert *q, struct taken *taken)
{
	const struct rfm_insert_record *record;

	while ((record = rfm_insert_peek(q))) {
		uint64_t before = rfm_insert_dropped(q);

		assert_int_equal(record->time, taken->last + before + 1);
		taken->last = record->time;
		for (size_t i = 0; i < sizeof(record->data); i++)
			assert_int_equal(record->data[i], (uint8_t)taken->last);
		taken->dropped += before;
		taken->records++;
		rfm_insert_release(q, 1);
	}
}

/*
 * Numbers that were dropped are missing exactly where the queue says so; the
 * consumer sleeps whenever there is nothing, and has all in the end.
 */
static void order_drops_and_wake_ups_under_load(void **state)
{
	static struct both both;
	struct taken taken = { 0 };
	pthread_t producer;
	bool done;

	(void)state;
	open_queue(&both.q, 64);
	sem_init(&both.begun, 0, 0);
	sem_init(&both.work, 0, 0);
	sem_init(&both.idle, 0, 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, &both), 0);
	assert_true(await(&both.begun));	/* by now some had no room */
	do {
		done = atomic_load(&both.done);
		take_all(&both.q, &taken);
		if (!done && rfm_insert_sleep(&both.q)) {
			taken.slept++;
			if (atomic_load(&both.lone))
				sem_post(&both.idle);
			assert_true(await(&both.work));
		}
	} while (!done);
	pthread_join(producer, NULL);
	taken.dropped += rfm_insert_dropped(&both.q);
	assert_int_equal(taken.records + taken.dropped, LOAD);
	assert_int_equal(both.q.dropped, taken.dropped);
	assert_int_equal(both.q.stores, LOAD);
	assert_true(taken.slept >= LONE - 1);
	assert_true(taken.dropped >= 1000 - 2 * 64);
	assert_true(both.q.peak <= 2 * 64);
	rfm_insert_destroy(&both.q);
}

/* --- a node with two threads ---------------------------------------------- */

struct shared {
	struct rfm_node node;
	sem_t work, room;
	_Atomic bool done;
	uint64_t stores, refused, stuck;
};

static void nothing_stored(void *opaque, uint32_t offset, const void *data, unsigned int len,
			   const struct rfm_origin *origin)
{
	(void)opaque, (void)offset, (void)data, (void)len, (void)origin;
}

static void nothing_interrupted(void *opaque, uint8_t type, uint8_t from, uint32_t data)
{
	(void)opaque, (void)type, (void)from, (void)data;
}

static void nothing_said(void *opaque, unsigned int what)
{
	(void)opaque, (void)what;
}

static void on_transmit(void *opaque)
{
	sem_post(&((struct shared *)opaque)->work);
}

static void on_room(void *opaque)
{
	sem_post(&((struct shared *)opaque)->room);
}

static const struct rfm_node_ops ops = {
	.apply = nothing_stored,
	.interrupt = nothing_interrupted,
	.status = nothing_said,
	.kick = on_transmit,
	.room = on_room,
};

static void *store_all(void *opaque)
{
	struct shared *shared = opaque;

	for (uint64_t i = 0; i < shared->stores; i++) {
		while (!rfm_node_may_store(&shared->node) && !shared->stuck)
			shared->stuck += !await(&shared->room);
		shared->refused += !rfm_node_store(&shared->node, 0, &i, sizeof(i), 0);
		if (!(i % 1000))
			rfm_node_interrupt(&shared->node, 1, 1, i, 0);
	}
	atomic_store(&shared->done, true);
	sem_post(&shared->work);
	return NULL;
}

/* All that the node lets go comes home, as round a fibre of its own. */
static void go_round(struct shared *shared)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len;

	while ((len = rfm_node_pull(&shared->node, wire, 0)))
		rfm_node_receive(&shared->node, wire, len, 0);
}

/* Whoever waited for room goes on in the dark, and what he stores there is dropped. */
static void until_stored_in_the_dark(struct shared *shared)
{
	const uint64_t before = rfm_node_read_stats(&shared->node).dark;

	while (!atomic_load(&shared->done) && rfm_node_read_stats(&shared->node).dark == before)
		sched_yield();
}

/*
 * @flicker: the light goes out and on again under the producer's hands. Nobody
 * waits for ever, nothing is dropped for want of room, and the books balance.
 */
static void a_node_under_load(uint64_t stores, bool flicker)
{
	const struct rfm_node_config config = {
		.id = 1, .memory_size = 4096, .incarnation = 1, .window = 8,
		.insert_slots = RFM_INSERT_SLOTS_MIN, .unpacked = true,
	};
	static struct shared shared;
	struct rfm_node_stats stats;
	uint64_t seed = 7;
	pthread_t producer;
	bool done;

	memset(&shared, 0, sizeof(shared));
	shared.stores = stores;
	assert_int_equal(rfm_node_init(&shared.node, &config, &ops, &shared, 0), 0);
	sem_init(&shared.work, 0, 0);
	sem_init(&shared.room, 0, 0);
	rfm_node_set_downstream(&shared.node, true, 0);
	rfm_node_set_light(&shared.node, true, 0);
	assert_int_equal(pthread_create(&producer, NULL, store_all, &shared), 0);
	do {
		done = atomic_load(&shared.done);
		go_round(&shared);
		if (flicker && !(test_random(&seed) % 16)) {
			rfm_node_set_light(&shared.node, false, 0);
			go_round(&shared);
			until_stored_in_the_dark(&shared);
			rfm_node_set_light(&shared.node, true, 0);
		} else if (!done) {
			assert_true(await(&shared.work));
		}
	} while (!done);
	pthread_join(producer, NULL);
	rfm_node_tick(&shared.node, RFM_NODE_HEARTBEAT_NS);
	go_round(&shared);
	stats = rfm_node_read_stats(&shared.node);
	assert_int_equal(shared.stuck, 0);
	assert_int_equal(shared.refused, 0);
	assert_int_equal(stats.stores, stores + stores / 1000);
	assert_int_equal(stats.sent, stats.stores);
	assert_int_equal(stats.home + stats.lost, stats.sent);
	assert_int_equal(stats.lost, stats.dark);
	assert_int_equal(stats.full, 0);
	assert_true(flicker ? stats.dark > 0 : !stats.dark);
	assert_true(stats.insert_peak <= 2 * RFM_INSERT_SLOTS_MIN);
	rfm_node_destroy(&shared.node);
}

static void stores_wait_for_room_and_get_it(void **state)
{
	(void)state;
	a_node_under_load(200000, false);
}

static void the_light_flickers_while_somebody_stores(void **state)
{
	(void)state;
	a_node_under_load(200000, true);
}

static void *store_in_the_dark(void *opaque)
{
	struct shared *shared = opaque;

	while (!atomic_load(&shared->done))
		rfm_node_store(&shared->node, 0, "1234", 4, 0);
	return NULL;
}

/* Who asks while stores are dropped in the dark never sees one dropped for want of room. */
static void counters_fit_together_at_any_moment(void **state)
{
	const struct rfm_node_config config = { .id = 1, .memory_size = 4096, .incarnation = 1 };
	static struct shared shared;
	pthread_t producer;

	(void)state;
	memset(&shared, 0, sizeof(shared));
	assert_int_equal(rfm_node_init(&shared.node, &config, &ops, &shared, 0), 0);
	rfm_node_set_light(&shared.node, false, 0);
	assert_int_equal(pthread_create(&producer, NULL, store_in_the_dark, &shared), 0);
	for (int i = 0; i < 3000000; i++) {
		assert_int_equal(rfm_node_read_stats(&shared.node).full, 0);
	}
	atomic_store(&shared.done, true);
	pthread_join(producer, NULL);
	assert_int_equal(rfm_node_read_stats(&shared.node).dark, shared.node.insert.stores);
	rfm_node_destroy(&shared.node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(room_for_stores_and_a_reserve),
		cmocka_unit_test(drops_keep_their_place),
		cmocka_unit_test(in_the_dark_nothing_waits),
		cmocka_unit_test(whoever_sleeps_is_woken_once),
		cmocka_unit_test(order_drops_and_wake_ups_under_load),
		cmocka_unit_test(stores_wait_for_room_and_get_it),
		cmocka_unit_test(the_light_flickers_while_somebody_stores),
		cmocka_unit_test(counters_fit_together_at_any_moment),
	};

	return cmocka_run_group_tests_name("insert", tests, NULL, NULL);
}
