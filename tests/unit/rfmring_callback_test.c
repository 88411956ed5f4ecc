// SPDX-License-Identifier: MIT
/* What librfmring tells a program: callbacks, interrupts. links: ring/host tests/unit/rings.c */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- callbacks ----------------------------------------------------------------------- */

struct echo {
	struct rfmring *ring;
	int refused;
	uint32_t node;
	uint32_t seen;
};

static void answer(void *opaque, const struct rfmring_update *update)
{
	struct echo *echo = opaque;
	uint32_t value;

	memcpy(&value, update->data, sizeof(value));
	echo->node = update->node;
	echo->seen = value;
	rfmring_store32(echo->ring, update->offset + 0x1000, value + 1);
	/* What would wait, or call the node back, is refused. */
	echo->refused = rfmring_fence(echo->ring, NULL, 10) == -1 && errno == EDEADLK &&
			rfmring_set_optics(echo->ring, 0) == -1 && errno == EDEADLK &&
			rfmring_set_address_offset(echo->ring, 0) == -1 && errno == EDEADLK &&
			rfmring_run(echo->ring, 0) == -1 && errno == EDEADLK &&
			rfmring_close(echo->ring) == -1 && errno == EDEADLK;
}

static void a_callback_may_answer(void **state)
{
	struct rfmring *rings[2];
	struct echo echo = { .node = 4711 };
	int watch;

	(void)state;
	open_ring(rings, 2, 0);
	echo.ring = rings[1];
	watch = rfmring_watch(rings[1], 0x200, 4, answer, &echo);
	assert_true(watch > 0);
	rfmring_store32(rings[0], 0x1f8, 1);	/* beside it, not adjacent to it */
	for (uint32_t i = 1; i <= 1000; i++) {
		rfmring_store32(rings[0], 0x200, i);
		while (load32(rings[0], 0x1200) != i + 1)
			;
	}
	assert_int_equal(load32(rings[1], 0x11f8), 0);
	assert_int_equal(echo.node, 1);
	assert_true(echo.refused);
	assert_int_equal(rfmring_unwatch(rings[1], watch), 0);
	rfmring_store32(rings[0], 0x200, 7);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	assert_int_equal(echo.seen, 1000);
	close_ring(rings, 2);
}

static void keep(void *opaque, const struct rfmring_update *update)
{
	*(struct rfmring_update *)opaque = *update;
}

/* Where an update comes from is known of one that was held back, too. */
static void a_held_update_says_where_it_comes_from(void **state)
{
	struct rfmring_update update = { .node = 4711 };
	uint64_t from = now_ns(), until;
	struct rfmring *rings[2];

	(void)state;
	open_ring(rings, 2, 0);
	assert_true(rfmring_watch(rings[1], 0x200, 4, keep, &update) > 0);
	assert_int_equal(rfmring_set_paused(rings[1], true), 0);
	rfmring_store32(rings[0], 0x100, 1);
	rfmring_store32(rings[0], 0x200, 2);
	/* It has come to every node, but not into every memory yet. */
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), -1);
	assert_int_equal(errno, EBUSY);
	until = now_ns();
	assert_int_equal(update.node, 4711);
	assert_int_equal(rfmring_set_paused(rings[1], false), 0);
	assert_int_equal(update.node, 1);
	assert_int_equal(update.offset, 0x200);
	assert_int_equal(update.seq, stats_of(rings[0]).sent - 1);	/* before the fence */
	assert_int_equal(update.clock_domain, state_of(rings[0]).clock_domain);
	assert_in_range(update.time_ns, from, until);
	close_ring(rings, 2);
}

/* A gateway: what happens on one ring asks for the counters of the other. */
struct gate {
	struct rfmring *_Atomic other;
	atomic_ulong answers, busy, wrong;
};

static void ask_the_other(void *opaque, uint32_t what)
{
	struct rfmring_stats stats = { .size = sizeof(stats) };
	struct gate *gate = opaque;
	struct rfmring *other = atomic_load(&gate->other);

	(void)what;
	if (!other)
		return;
	if (!rfmring_get_stats(other, &stats))
		gate->answers++;
	else if (errno == EDEADLK)
		gate->busy++;
	else
		gate->wrong++;
	/* What would wait for the other ring is refused whether that is busy or not. */
	gate->wrong += !rfmring_fence(other, NULL, 1000) || errno != EDEADLK;
}

static void two_rings_ask_for_each_other(void **state)
{
	struct gate gates[2] = { { .other = NULL }, { .other = NULL } };
	struct rfmring *rings[2];

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct rfmring_config config = config_of(i, 1);

		config.tx = addresses[i][1];
		snprintf(addresses[i][1], sizeof(addresses[i][1]), "unix:%s/%u", folder, i);
		config.status = ask_the_other;
		config.opaque = &gates[i];
		config.stall_ms = 10000;	/* no store is dropped on a busy machine */
		rings[i] = open_with(&config);
		assert_int_equal(rfmring_start(rings[i]), 0);
	}
	wait_up(rings, 2);
	alarm(300);		/* the test has failed if they wait for each other */
	for (unsigned int i = 0; i < 2; i++)
		atomic_store(&gates[i].other, rings[!i]);
	for (uint32_t n = 0; n < 20000; n++)
		for (unsigned int i = 0; i < 2; i++)
			rfmring_store32(rings[i], 0, n);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(rfmring_fence(rings[i], NULL, PATIENCE_MS), 0);
	for (unsigned int i = 0; i < 2; i++) {
		/* Where the other was busy each time it is idle now and then from here on. */
		while (!gates[i].answers)
			rfmring_store32(rings[i], 0, 1);
		atomic_store(&gates[i].other, NULL);
		assert_int_equal(gates[i].wrong, 0);
	}
	alarm(0);
	close_ring(rings, 2);
}

struct full {
	struct rfmring *_Atomic ring;
	atomic_ulong stored, refused, wrong;
};

static void store_at_once(void *opaque, uint32_t what)
{
	struct full *full = opaque;
	struct rfmring *ring = atomic_load(&full->ring);
	uint32_t next = full->stored + 1;

	if (!ring || what != RFMRING_OWN_DATA)
		return;
	if (!rfmring_store32(ring, 0x80, next)) {
		full->stored++;
		full->wrong += load32(ring, 0x80) != next;
	} else {
		full->refused++;
		full->wrong += errno != EAGAIN || load32(ring, 0x80) != full->stored;
	}
}

/* Also when others have given up waiting already: without room nothing is done in a callback. */
static void a_store_in_a_callback_is_done_or_not(void **state)
{
	struct full full = { .ring = NULL };
	struct rfmring_config config = config_of(0, 1);
	struct rfmring *ring;

	(void)state;
	config.line = "paced,rate=0.001";
	config.window = 1;
	config.insert_slots = 16;
	config.stall_ms = 1;
	config.flags = RFMRING_UNPACKED;
	config.status = store_at_once;
	config.opaque = &full;
	ring = open_with(&config);
	assert_int_equal(rfmring_start(ring), 0);
	wait_up(&ring, 1);
	atomic_store(&full.ring, ring);
	while (full.refused < 20)
		rfmring_store32(ring, 0, 1);
	atomic_store(&full.ring, NULL);
	assert_int_equal(full.wrong, 0);
	rfmring_close(ring);
}

static void interrupts_wait_in_a_bounded_queue(void **state)
{
	struct rfmring_interrupt interrupt;
	struct rfmring *rings[2];

	(void)state;
	open_ring(rings, 2, 0);
	assert_int_equal(rfmring_wait_interrupt(rings[1], &interrupt, 10), 0);
	for (uint32_t i = 0; i < RFMRING_INTERRUPTS + 10; i++)
		while (rfmring_interrupt(rings[0], i % 2 ? 2 : RFMRING_NODE_ALL, i % 5, i))
			usleep(100);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	for (uint32_t i = 0; i < RFMRING_INTERRUPTS; i++) {
		assert_int_equal(rfmring_wait_interrupt(rings[1], &interrupt, 1000), 1);
		assert_int_equal(interrupt.data, i);
		assert_int_equal(interrupt.type, i % 5);
		assert_int_equal(interrupt.node, 1);
	}
	assert_int_equal(rfmring_wait_interrupt(rings[1], &interrupt, 0), 0);
	assert_int_equal(stats_of(rings[1]).interrupts_lost, 10);
	close_ring(rings, 2);
}

static void a_set_of_nodes_is_interrupted(void **state)
{
	uint8_t set[RFMRING_NODES / 8] = { 0 };
	struct rfmring_interrupt interrupt;
	struct rfmring *rings[NODES];
	uint64_t sent;

	(void)state;
	open_ring(rings, NODES, 0);
	errno = 0;
	assert_int_equal(rfmring_interrupt_set(rings[0], set, 1, 0), -1);
	assert_int_equal(errno, EINVAL);
	set[0] = 1 << 3 | 1 << 1;	/* node 3, and the sender */
	set[31] = 0x80;
	for (unsigned int type = 5; type < 8; type++)
		assert_int_equal(rfmring_interrupt_set(rings[0], set, type, 0), -1);
	assert_int_equal(rfmring_interrupt_set(rings[0], set, 8, 0), -1);
	assert_int_equal(rfmring_interrupt_set(rings[0], set, 1 | 0x100, 0), -1);
	sent = stats_of(rings[0]).sent;
	assert_int_equal(rfmring_store32(rings[0], 0x80, 42), 0);
	assert_int_equal(rfmring_interrupt_set(rings[0], set, 4, 0xfeedface), 0);
	assert_int_equal(rfmring_wait_interrupt(rings[2], &interrupt, 10000), 1);
	assert_int_equal(interrupt.type, 4);
	assert_int_equal(interrupt.node, 1);
	assert_int_equal(interrupt.data, 0xfeedface);
	assert_int_equal(load32(rings[2], 0x80), 42);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	assert_int_equal(stats_of(rings[0]).sent, sent + 3);
	for (unsigned int i = 0; i < NODES; i++)
		assert_int_equal(rfmring_wait_interrupt(rings[i], &interrupt, 0), 0);
	/* What was carried. */
	assert_int_equal(stats_of(rings[0]).sent_bytes, 4);
	assert_int_equal(stats_of(rings[1]).received_bytes, 4);
	assert_int_equal(stats_of(rings[2]).forwarded_bytes, 4);
	close_ring(rings, NODES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(a_callback_may_answer),
		ring_test(a_held_update_says_where_it_comes_from),
		ring_test(two_rings_ask_for_each_other),
		ring_test(a_store_in_a_callback_is_done_or_not),
		ring_test(interrupts_wait_in_a_bounded_queue),
		ring_test(a_set_of_nodes_is_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
