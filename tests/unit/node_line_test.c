// SPDX-License-Identifier: MIT
/* A node on a paced line: it sends as fast as the card does. links: tests/unit/rig.c */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include "ring/wire.h"

static struct rig *paced_rig(int count, bool redundant)
{
	struct rfm_node_config like = rig_config(0, 0);

	like.redundant = redundant;
	like.line = (struct rfm_line_config){
		.paced = true, .hop_ns = RFM_LINE_HOP_NS, .fibre_m = 100,
	};
	return rig_new_like(count, 1, &like);
}

/* Stores of @len bytes, back to back, round a card's own fibre: bytes in a second. */
static uint64_t throughput(unsigned int len, bool redundant)
{
	const uint64_t count = 2000;
	const uint8_t bytes[64] = { 1 };
	struct rig *rig = paced_rig(1, redundant);
	uint64_t begin, end;

	rig_advance(rig, 10 * MS);
	begin = rig->now;
	for (uint64_t i = 0; i < count; i++)
		rig_store(rig, 0, 0, bytes, len);
	for (;;) {
		while (rig_pull(rig, 0, 1) || rig_deliver(rig, 0))
			;
		if (rfm_node_next_pull(&rig->peers[0].node) == UINT64_MAX)
			break;
		assert_true(rfm_node_next_pull(&rig->peers[0].node) > rig->now);
		rig->now = rfm_node_next_pull(&rig->peers[0].node);
	}
	assert_int_equal(rig_stats(rig, 0).home, count);
	end = rig->now;
	rig_free(rig);
	return count * len * 1000000000ull / (end - begin);
}

static void assert_near(uint64_t value, uint64_t expected)
{
	if (value < expected - expected / 100 || value > expected + expected / 100)
		fail_msg("%llu is not within 1%% of %llu", (unsigned long long)value,
			 (unsigned long long)expected);
}

/* The two published points of the card, and half of them in redundant mode. */
static void throughput_is_that_of_the_card(void **state)
{
	(void)state;
	assert_near(throughput(4, false), 43000000);
	assert_near(throughput(64, false), 170000000);
	assert_near(throughput(4, true), 21500000);
	assert_near(throughput(64, true), 85000000);
}

#define FRAME_4_NS	93	/* 74 + 4 * 4.72, rounded up */
#define FIBRE_NS	500	/* 100 m */

static void a_frame_takes_its_time(void **state)
{
	struct rig *rig = paced_rig(2, false);
	struct rfm_node *sender = &rig->peers[0].node, *transit = &rig->peers[1].node;

	(void)state;
	rig_advance(rig, 100 * MS);
	rig_store32(rig, 0, 0, 1);
	assert_int_equal(rfm_node_next_pull(sender), rig->now + FRAME_4_NS + FIBRE_NS);
	rig->now += FRAME_4_NS + FIBRE_NS - 1;
	assert_false(rig_pull(rig, 0, 1));
	rig->now++;
	assert_true(rig_pull(rig, 0, 1));
	rig_deliver(rig, 0);
	assert_int_equal(rig_load32(rig, 1, 0), 1);	/* stored as it comes */
	assert_int_equal(rfm_node_next_pull(transit),
			 rig->now + RFM_LINE_HOP_NS + FRAME_4_NS + FIBRE_NS);
	rig->now = rfm_node_next_pull(transit);
	assert_true(rig_pull(rig, 1, 1));
	rig_deliver(rig, 1);
	assert_int_equal(rig_stats(rig, 0).home, 1);

	/* Whoever comes late to pull costs no line time: it counts from the store. */
	rig->now += 1 * MS;
	rig->lazy = true;
	rig_store32(rig, 0, 0, 2);
	rig->now += 5000;
	assert_true(rig_pull(rig, 0, 1));
	rig_free(rig);
}

#define LONG_M		100000
#define LONG_NS		500000		/* that far */

/*
 * A long fibre holds many frames at once: a store does not wait until the one
 * in the glass has arrived, although nobody pulls before that.
 */
static void a_long_fibre_is_filled(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rig *rig;
	uint64_t begin;

	(void)state;
	like.line = (struct rfm_line_config){ .paced = true, .fibre_m = LONG_M };
	rig = rig_new_like(1, 1, &like);
	rig_advance(rig, 10 * MS);
	rig->lazy = true;
	begin = rig->now;
	for (int i = 0; i < 4; i++) {
		rig->now = begin + i * 10000;
		rig_store32(rig, 0, 8 * i, i);
		rig_settle(rig);
	}
	for (int i = 0; i < 4; i++) {
		rig->now = rfm_node_next_pull(&rig->peers[0].node);
		assert_int_equal(rig->now - begin, i * 10000 + FRAME_4_NS + LONG_NS);
		rig_settle(rig);
	}
	assert_int_equal(rig_stats(rig, 0).home, 4);
	rig_free(rig);
}

/* What waits for credit is ready when the credit comes, not when it was stored. */
static void credit_takes_a_turn_of_a_long_fibre(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rig *rig;
	uint64_t begin;

	(void)state;
	like.window = 1;
	like.line = (struct rfm_line_config){ .paced = true, .fibre_m = LONG_M };
	rig = rig_new_like(1, 1, &like);
	rig_advance(rig, 10 * MS);
	rig->lazy = true;
	begin = rig->now;
	for (int i = 0; i < 3; i++)
		rig_store32(rig, 0, 8 * i, i);
	rig_settle(rig);
	for (int i = 1; i <= 3; i++) {
		rig->now = rfm_node_next_pull(&rig->peers[0].node);
		assert_int_equal(rig->now - begin, i * (FRAME_4_NS + LONG_NS));
		rig_settle(rig);
	}
	assert_int_equal(rig_stats(rig, 0).home, 3);
	rig_free(rig);
}

/* Who pulls only when woken, or when the line is due, gets everything round the ring. */
static void a_paced_ring_loses_nothing(void **state)
{
	struct rig *rig = paced_rig(3, false);
	uint64_t seed = 3, next;

	(void)state;
	rig->lazy = true;
	for (uint32_t i = 0; i < 3000; i++) {
		int who = test_random(&seed) % 3;

		rig_store32(rig, who, who * 4, i);
		rig->now += test_random(&seed) % 200;
		rig_settle(rig);
	}
	for (;;) {
		rig_settle(rig);
		next = UINT64_MAX;
		for (int i = 0; i < 3; i++)
			if (rfm_node_next_pull(&rig->peers[i].node) < next)
				next = rfm_node_next_pull(&rig->peers[i].node);
		if (next == UINT64_MAX)
			break;
		assert_true(next > rig->now);
		rig->now = next;
	}
	for (int i = 0; i < 3; i++) {
		uint32_t last[3] = { 0 };

		rig_assert_books_closed(rig, i);
		assert_int_equal(rig_stats(rig, i).lost + rig_stats(rig, i).missed, 0);
		assert_int_equal(rig->peers[i].stored_count + rig_stats(rig, i).stores, 3000);
		for (uint64_t n = 0; n < rig->peers[i].stored_count; n++) {
			const struct rig_stored *stored = &rig->peers[i].stored[n];

			assert_true(get32(stored->data) >= last[stored->offset / 4]);
			last[stored->offset / 4] = get32(stored->data) + 1;
		}
		assert_memory_equal(rig->peers[i].memory, rig->peers[0].memory, RIG_MEMORY);
	}
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(throughput_is_that_of_the_card),
		cmocka_unit_test(a_frame_takes_its_time),
		cmocka_unit_test(a_long_fibre_is_filled),
		cmocka_unit_test(credit_takes_a_turn_of_a_long_fibre),
		cmocka_unit_test(a_paced_ring_loses_nothing),
	};

	return cmocka_run_group_tests_name("node_line", tests, NULL, NULL);
}
