// SPDX-License-Identifier: MIT
/* librfmring: operations at one node. links: ring/host tests/unit/rings.c */
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define LONGEST	(1u << 20)
#define ADDERS	4
#define ADDED	2000

static struct rfmring *rings[NODES];

static uint32_t id_of(int i)
{
	struct rfmring_state state = { .size = sizeof(state) };

	assert_int_equal(rfmring_get_state(rings[i], &state), 0);
	return state.id;
}

static void bytes_there_and_back(void **state)
{
	static uint8_t data[LONGEST], back[LONGEST];
	uint64_t size;

	open_ring(rings, NODES, 0);
	size = rfmring_memory_size(rings[1]);
	assert_int_equal(rfmring_export(rings[1], 0, size, RFMRING_MAY_READ | RFMRING_MAY_WRITE), 0);
	for (size_t length = 1; length <= LONGEST && length <= size; length = length * 3 + 1) {
		for (size_t i = 0; i < length; i++)
			data[i] = i * 7 + length;
		assert_int_equal(rfmring_put(rings[0], id_of(1), size - length, data, length, PATIENCE_MS), 0);
		assert_memory_equal((const uint8_t *)rfmring_memory(rings[1]) + size - length, data, length);
		assert_int_equal(rfmring_get(rings[2], id_of(1), size - length, back, length, PATIENCE_MS), 0);
		assert_memory_equal(back, data, length);
		/* Itself, too. */
		memset(back, 0, length);
		assert_int_equal(rfmring_get(rings[1], id_of(1), size - length, back, length, PATIENCE_MS), 0);
		assert_memory_equal(back, data, length);
	}
	/* Nobody else has it. */
	assert_int_equal(rfmring_read(rings[2], 0, back, 64), 0);
	for (int i = 0; i < 64; i++)
		assert_int_equal(back[i], 0);
	close_ring(rings, NODES);
}

static int get_error(int from, uint32_t node, uint64_t offset, size_t length)
{
	uint8_t data[256];

	return rfmring_get(rings[from], node, offset, data, length, PATIENCE_MS) ? errno : 0;
}

static void what_is_refused(void **state)
{
	uint8_t data[64] = { 1 };
	uint64_t old, size;

	open_ring(rings, NODES, 0);
	size = rfmring_memory_size(rings[1]);
	assert_int_equal(rfmring_export(rings[1], 64, 64, RFMRING_MAY_READ), 0);
	assert_int_equal(get_error(0, id_of(1), 64, 64), 0);
	assert_int_equal(get_error(0, id_of(1), 63, 2), EACCES);
	assert_int_equal(get_error(0, id_of(1), 64, 65), EACCES);
	assert_int_equal(get_error(0, id_of(1), size, 1), EINVAL);
	assert_int_equal(get_error(0, id_of(1), UINT64_MAX, 8), EINVAL);
	assert_int_equal(get_error(0, id_of(1), 64, 0), EINVAL);
	assert_int_equal(get_error(0, 256, 64, 8), EINVAL);
	assert_int_equal(get_error(0, 200, 64, 8), EHOSTUNREACH);
	assert_int_equal(rfmring_put(rings[0], id_of(1), 64, data, 64, PATIENCE_MS), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(rfmring_add64(rings[0], id_of(1), 64, 1, &old, PATIENCE_MS), -1);
	assert_int_equal(errno, EACCES);
	/* Given, and taken back. */
	assert_int_equal(rfmring_export(rings[1], 64, 64, RFMRING_HOME), 0);
	assert_int_equal(rfmring_add64(rings[0], id_of(1), 64, 1, &old, PATIENCE_MS), 0);
	assert_int_equal(rfmring_add64(rings[0], id_of(1), 68, 1, &old, PATIENCE_MS), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(get_error(0, id_of(1), 64, 64), EACCES);
	assert_int_equal(rfmring_export(rings[1], 64, 64, 0), 0);
	assert_int_equal(rfmring_add64(rings[0], id_of(1), 64, 1, &old, PATIENCE_MS), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(rfmring_export(rings[1], 32, 64, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rfmring_export(rings[1], size, 64, 1), -1);
	assert_int_equal(rfmring_export(rings[1], 0, 64, 8), -1);
	close_ring(rings, NODES);
}

static void a_node_that_stands_still(void **state)
{
	open_ring(rings, NODES, 0);
	assert_int_equal(rfmring_export(rings[1], 0, 64, RFMRING_MAY_READ), 0);
	assert_int_equal(rfmring_set_paused(rings[1], true), 0);
	assert_int_equal(get_error(0, id_of(1), 0, 8), EBUSY);
	assert_int_equal(rfmring_get(rings[0], id_of(1), 0, &(uint64_t){ 0 }, 8, 10), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(rfmring_set_paused(rings[1], false), 0);
	assert_int_equal(get_error(0, id_of(1), 0, 8), 0);
	assert_int_equal(rfmring_set_optics(rings[0], RFMRING_TX_DISABLE), 0);
	assert_int_equal(get_error(0, id_of(1), 0, 8), ENOLINK);
	assert_int_equal(rfmring_set_optics(rings[0], 0), 0);
	close_ring(rings, NODES);
}

static void *add(void *opaque)
{
	struct rfmring *ring = opaque;
	uint64_t old;

	for (int i = 0; i < ADDED; i++)
		if (rfmring_add64(ring, id_of(1), 128, 1, &old, PATIENCE_MS))
			return (void *)(uintptr_t)errno;
	return NULL;
}

/* The critical section is plain: what one has stored in it the next one finds. */
static void *lock_and_count(void *opaque)
{
	struct rfmring *ring = opaque;
	uint32_t held, count;

	for (int i = 0; i < ADDED / 4; i++) {
		do {
			if (rfmring_cas32(ring, id_of(1), 192, 0, 1, &held, PATIENCE_MS))
				return (void *)(uintptr_t)errno;
		} while (held);
		if (rfmring_load32(ring, 256, &count) || rfmring_store32(ring, 256, count + 1))
			return (void *)(uintptr_t)errno;
		if (rfmring_cas32(ring, id_of(1), 192, 1, 0, &held, PATIENCE_MS))
			return (void *)(uintptr_t)errno;
		if (held != 1)
			return (void *)1;
	}
	return NULL;
}

static void run_threads(void *(*work)(void *opaque))
{
	pthread_t threads[ADDERS];
	void *failed;

	for (int i = 0; i < ADDERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, rings[i % NODES]), 0);
	for (int i = 0; i < ADDERS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

static void words_of_many(void **state)
{
	uint64_t sum, counted;

	open_ring(rings, NODES, 0);
	assert_int_equal(rfmring_export(rings[1], 128, 128, RFMRING_HOME), 0);
	run_threads(add);
	assert_int_equal(rfmring_load64(rings[1], 128, &sum), 0);
	assert_int_equal(sum, ADDERS * ADDED);
	run_threads(lock_and_count);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(rfmring_fence(rings[i], NULL, PATIENCE_MS), 0);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(rfmring_load64(rings[i], 256, &counted), 0);
		assert_int_equal(counted, ADDERS * ADDED / 4);
	}
	close_ring(rings, NODES);
}

static void *send_some(void *opaque)
{
	struct rfmring *ring = opaque;
	uint32_t text[1000];

	for (uint32_t i = 0; i < 200; i++) {
		for (uint32_t k = 0; k < 1000; k++)
			text[k] = i;
		if (rfmring_message(ring, id_of(1), 7, text, 4 + i * 19 % sizeof(text), PATIENCE_MS))
			return (void *)(uintptr_t)errno;
	}
	return NULL;
}

static void messages(void **state)
{
	uint32_t text[1000], next[RFMRING_NODES] = { 0 }, node;
	pthread_t threads[NODES];
	size_t length;
	void *failed;

	open_ring(rings, NODES, 0);
	assert_int_equal(rfmring_message(rings[0], id_of(1), 7, "x", 1, PATIENCE_MS), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(rfmring_receive(rings[1], 7, text, 4, NULL, NULL, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(rfmring_listen(rings[1], 7, 4), 0);
	assert_int_equal(rfmring_receive(rings[1], 7, text, 4, NULL, NULL, 0), 0);
	for (int i = 0; i < NODES; i++)		/* itself, too */
		assert_int_equal(pthread_create(&threads[i], NULL, send_some, rings[i]), 0);
	for (int i = 0; i < NODES * 200; i++) {
		assert_int_equal(rfmring_receive(rings[1], 7, text, sizeof(text), &length, &node,
						 PATIENCE_MS), 1);
		assert_int_equal(length, 4 + next[node] * 19 % sizeof(text));
		for (size_t k = 0; k < length / 4; k++)
			assert_int_equal(text[k], next[node]);
		next[node]++;
	}
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	/* Nobody takes any: the fifth finds no room. One that is longer than the buffer is cut. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(rfmring_message(rings[0], id_of(1), 7, "abcdefgh", 8, PATIENCE_MS), 0);
	assert_int_equal(rfmring_message(rings[0], id_of(1), 7, "abcdefgh", 8, 50), -1);
	assert_int_equal(errno, ETIMEDOUT);
	text[1] = 0;
	assert_int_equal(rfmring_receive(rings[1], 7, text, 4, &length, NULL, PATIENCE_MS), 1);
	assert_int_equal(length, 8);
	assert_int_equal(text[1], 0);
	assert_int_equal(rfmring_listen(rings[1], 7, 0), 0);
	assert_int_equal(rfmring_listen(rings[1], 7, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(rfmring_message(rings[0], id_of(1), 7, "x", 1, PATIENCE_MS), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close_ring(rings, NODES);
}

/* Additions that are begun in the callback of the one before. */
struct chain {
	struct rfmring *ring;
	struct rfmring_operation add;
	_Atomic int left, failed;
	_Atomic uint64_t seen;		/* what the word was */
};

static void on_added(void *opaque, int error, uint64_t old)
{
	struct chain *chain = opaque;

	chain->seen = old;
	/* The change is here when its caller hears of it; and what waits fails. */
	if (error || load64(chain->ring, 320) <= old ||
	    rfmring_get(chain->ring, 1, 320, &old, 8, 0) != -1 || errno != EDEADLK)
		chain->failed = 1;
	if (--chain->left && rfmring_begin(chain->ring, &chain->add))
		chain->failed = 1;
}

static void on_ended(void *opaque, int error, uint64_t old)
{
	(void)old;
	*(_Atomic int *)opaque = error;
}

static int begin_error(const struct rfmring_operation *like, uint32_t op, uint32_t length)
{
	struct rfmring_operation operation = *like;

	operation.op = op;
	operation.length = length;
	return rfmring_begin(rings[0], &operation) ? errno : 0;
}

static void many_under_way(void **state)
{
	enum { CHAINS = 40, ADDS = 50, NONE = -1 };
	struct rfmring_operation operation = RFMRING_OPERATION_INIT;
	static struct chain chains[NODES][CHAINS];
	_Atomic int ended = NONE;
	char word[8];

	open_ring(rings, NODES, 0);
	assert_int_equal(rfmring_export(rings[1], 320, 64, RFMRING_HOME), 0);
	operation.op = RFMRING_ADD;
	operation.node = id_of(1);
	operation.offset = 320;
	operation.length = 8;
	operation.value = 1;
	operation.done = on_added;
	for (int i = 0; i < NODES * CHAINS; i++) {
		struct chain *chain = &chains[i % NODES][i / NODES];

		*chain = (struct chain){ .ring = rings[i % NODES], .add = operation, .left = ADDS };
		chain->add.opaque = chain;
		assert_int_equal(rfmring_begin(chain->ring, &chain->add), 0);
	}
	for (int i = 0; i < NODES * CHAINS; i++) {
		struct chain *chain = &chains[i % NODES][i / NODES];
		uint64_t end = now_ns() + PATIENCE_MS * 1000000ull;

		while (chain->left && now_ns() < end)
			sched_yield();
		assert_int_equal(chain->left, 0);
		assert_int_equal(chain->failed, 0);
	}
	assert_int_equal(load64(rings[1], 320), NODES * CHAINS * ADDS);

	operation.data = word;
	operation.done = on_ended;
	operation.opaque = &ended;
	assert_int_equal(begin_error(&operation, 0, 8), EINVAL);
	assert_int_equal(begin_error(&operation, 6, 8), EINVAL);
	assert_int_equal(begin_error(&operation, RFMRING_ADD, 2), EINVAL);
	assert_int_equal(begin_error(&operation, RFMRING_GET, 0), EINVAL);
	assert_int_equal(begin_error(&operation, RFMRING_PUT, LONGEST + 1), EINVAL);
	operation.port = RFMRING_PORTS;
	assert_int_equal(begin_error(&operation, RFMRING_MESSAGE, 8), EINVAL);
	operation.node = RFMRING_NODES;
	assert_int_equal(begin_error(&operation, RFMRING_GET, 8), EINVAL);
	operation.node = 200;
	assert_int_equal(ended, NONE);
	assert_int_equal(begin_error(&operation, RFMRING_GET, 8), 0);
	for (uint64_t end = now_ns() + PATIENCE_MS * 1000000ull; ended == NONE && now_ns() < end;)
		sched_yield();
	assert_int_equal(ended, EHOSTUNREACH);

	/* Who leaves is told of what has not ended. */
	ended = NONE;
	assert_int_equal(rfmring_set_paused(rings[1], true), 0);
	operation.node = id_of(1);
	assert_int_equal(begin_error(&operation, RFMRING_GET, 8), 0);
	assert_int_equal(ended, NONE);
	assert_int_equal(rfmring_close(rings[0]), 0);
	assert_int_equal(ended, ECANCELED);
	close_ring(rings + 1, NODES - 1);
}

/* Tries for a lock, at its own node, in the callback of the trial before. */
struct trial {
	struct rfmring *ring;
	struct rfmring_operation cas;
	_Atomic int error, ended;
};

static void on_trial(void *opaque, int error, uint64_t old)
{
	struct trial *trial = opaque;

	if (!error && old && !rfmring_begin(trial->ring, &trial->cas))
		return;
	trial->error = error;
	trial->ended = 1;
}

static uint64_t lost_so_far(struct rfmring *ring)
{
	struct rfmring_stats stats = { .size = sizeof(stats) };

	assert_int_equal(rfmring_get_stats(ring, &stats), 0);
	return stats.missed + stats.lost + stats.dark;
}

/* Who has it gives it up by way of the ring, which must go on also for longer than a silence. */
static void a_lock_is_tried_for_without_end(void **state)
{
	struct trial trial = { .cas = RFMRING_OPERATION_INIT };
	uint64_t held = 0, word = 1, lost;

	open_ring(rings, NODES, 0);
	assert_int_equal(rfmring_export(rings[1], 320, 64, RFMRING_HOME), 0);
	assert_int_equal(rfmring_cas64(rings[0], id_of(1), 320, 0, 1, &held, PATIENCE_MS), 0);
	lost = lost_so_far(rings[2]);
	trial.ring = rings[1];
	trial.cas.op = RFMRING_CAS;
	trial.cas.node = id_of(1);
	trial.cas.offset = 320;
	trial.cas.length = 8;
	trial.cas.value = 2;
	trial.cas.opaque = &trial;
	trial.cas.done = on_trial;
	assert_int_equal(rfmring_begin(rings[1], &trial.cas), 0);
	usleep(2500000);
	assert_int_equal(trial.ended, 0);
	assert_int_equal(rfmring_cas64(rings[0], id_of(1), 320, 1, 0, &held, PATIENCE_MS), 0);
	assert_int_equal(held, 1);
	for (uint64_t end = now_ns() + PATIENCE_MS * 1000000ull; !trial.ended && now_ns() < end;)
		sched_yield();
	assert_int_equal(trial.ended, 1);
	assert_int_equal(trial.error, 0);
	assert_int_equal(rfmring_read(rings[1], 320, &word, 8), 0);
	assert_int_equal(word, 2);
	assert_int_equal(lost_so_far(rings[2]), lost);
	close_ring(rings, NODES);
}

static void *store_all_over(void *opaque)
{
	struct rfmring *ring = opaque;
	uint32_t own = id_of(ring == rings[0] ? 0 : ring == rings[1] ? 1 : 2);

	for (uint32_t i = 0; i < 20000; i++)
		if (rfmring_store32(ring, (i * 7919 % (MEMORY / 16)) * 16 + own * 4, i))
			return (void *)(uintptr_t)errno;
	return NULL;
}

/* One that has come late gets what it lacks while all store, itself too. */
static void resync_under_stores(void **state)
{
	struct rfmring_config config = config_of(2, NODES);
	struct rfmring_resync how;
	pthread_t threads[NODES];
	void *failed;

	open_ring(rings, NODES, 0);
	store_all_over(rings[0]);
	store_all_over(rings[1]);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	assert_false(state_of(rings[2]).incomplete);
	assert_int_equal(rfmring_close(rings[2]), 0);
	rings[2] = open_with(&config);
	assert_int_equal(rfmring_start(rings[2]), 0);
	wait_up(rings, NODES);
	assert_true(state_of(rings[2]).incomplete);
	assert_int_equal(rfmring_resync(rings[0], id_of(2), &how, PATIENCE_MS), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(rfmring_resync(rings[0], RFMRING_NODES, &how, PATIENCE_MS), -1);
	assert_int_equal(errno, EINVAL);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, store_all_over, rings[i]), 0);
	assert_int_equal(rfmring_resync(rings[2], RFMRING_NODE_ALL, &how, PATIENCE_MS), 0);
	assert_int_equal(how.finished, MEMORY);
	assert_false(how.doubtful);
	assert_false(state_of(rings[2]).incomplete);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	for (int i = 0; i < NODES; i++)
		assert_int_equal(rfmring_fence(rings[i], NULL, PATIENCE_MS), 0);
	for (int i = 1; i < NODES; i++)
		assert_memory_equal(rfmring_memory(rings[0]), rfmring_memory(rings[i]), MEMORY);
	close_ring(rings, NODES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(bytes_there_and_back),
		ring_test(what_is_refused),
		ring_test(a_node_that_stands_still),
		ring_test(words_of_many),
		ring_test(messages),
		ring_test(many_under_way),
		ring_test(a_lock_is_tried_for_without_end),
		ring_test(resync_under_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
