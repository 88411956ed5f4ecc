// SPDX-License-Identifier: MIT
/* What a fault does to the frames that it meets.
 * links: tools/rmhub/relay.c tools/rmhub/fault.c tools/rmhub/rogue.c tests/unit/bench.c
 */
#include "tests/unit/test.h"
#include "tests/unit/bench.h"

#include <stdio.h>
#include <string.h>

static void expect_seqs(struct bench *bench, unsigned int port, const char *expected)
{
	struct rfm_frame frame;
	char seqs[64] = "";

	while (pull(bench, port, &frame))
		snprintf(seqs + strlen(seqs), sizeof(seqs) - strlen(seqs), "%u ",
			 (unsigned int)frame.seq);
	assert_string_equal(seqs, expected);
}

static void test_drop(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_DROP, 3, 2);

	(void)state;
	send_updates(bench, 0, 6);
	expect_seqs(bench, 1, "1 2 5 6 ");
	assert_int_equal(fault->fired, 2);
	assert_int_equal(fault->by_source[10], 2);
	assert_int_equal(dropped(bench, 0, HUB_DROP_FAULT), 2);
	assert_int_equal(bench->hub.ports[0].stats.faults[FAULT_DROP], 2);
	bench_free(bench);
}

static void test_duplicate(void **state)
{
	struct bench *bench = bench_new(NULL, 2);

	(void)state;
	set_fault(bench, FAULT_DUPLICATE, 2, 1);
	send_updates(bench, 0, 3);
	expect_seqs(bench, 1, "1 2 2 3 ");
	assert_int_equal(bench->hub.ports[0].stats.duplicates, 1);
	bench_free(bench);
}

static void test_reorder(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 2, 1);
	struct rfm_frame other;

	(void)state;
	send_updates(bench, 0, 2);
	other = update(bench, 2);	/* of another source: overtakes nobody */
	inject(bench, 0, &other);
	expect_seqs(bench, 1, "1 1 ");
	send_updates(bench, 0, 2);
	expect_seqs(bench, 1, "3 2 4 ");
	assert_int_equal(fault->in_vain, 0);
	bench_free(bench);
}

static void test_reorder_deeper(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 1, 2);

	(void)state;
	fault->spec.depth = 2;
	send_updates(bench, 0, 5);
	expect_seqs(bench, 1, "3 4 1 2 5 ");
	bench_free(bench);
}

static void test_reorder_in_vain(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 2, 1);

	(void)state;
	send_updates(bench, 0, 2);
	assert_true(bench->hub.wake <= bench->now + HUB_OVERTAKE_NS);
	expect_seqs(bench, 1, "1 ");
	bench->now = bench->hub.wake;
	assert_int_equal(hub_tick(&bench->hub, bench->now), UINT64_MAX);
	expect_seqs(bench, 1, "2 ");
	assert_int_equal(fault->in_vain, 1);
	bench_free(bench);
}

/* Who keeps books learns what left before as many as it says had overtaken it. */
static void test_reorder_told(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 1, 3);
	struct rfm_frame beat;

	(void)state;
	fault->spec.depth = 2;
	send_updates(bench, 0, 2);
	beat = heartbeat(bench, 0);
	inject(bench, 0, &beat);
	assert_int_equal(bench->let_go_seq, 0);
	inject(bench, 0, &beat);
	assert_int_equal(bench->let_go_seq, 2);
	assert_int_equal(bench->let_go.fault, fault->id);
	assert_int_equal(bench->let_go.overtaken_by, 0);
	assert_int_equal(bench->let_go.heartbeats, 2);
	expect_seqs(bench, 1, "2 2 1 2 ");
	send_updates(bench, 0, 2);
	expect_seqs(bench, 1, "4 ");
	bench->now += HUB_OVERTAKE_NS;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "3 ");
	assert_int_equal(bench->let_go_seq, 3);
	assert_int_equal(bench->let_go.overtaken_by, 1);
	assert_int_equal(bench->let_go.heartbeats, 0);
	assert_int_equal(fault->in_vain, 0);
	bench_free(bench);
}

static void test_delay_keeps_order(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	set_fault(bench, FAULT_DELAY, 2, 1);
	send_updates(bench, 0, 2);
	bench->now += 1 * MS;
	send_updates(bench, 0, 2);
	expect_seqs(bench, 1, "1 ");
	/* Another port does not notice. */
	send_updates(bench, 1, 1);
	assert_int_equal(pull_all(bench, 2), 1);
	bench->now += 4 * MS - 1;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "");
	bench->now++;
	assert_int_equal(bench->hub.wake, bench->now);
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "2 3 4 ");
	bench_free(bench);
}

static void test_delays_of_different_length(void **state)
{
	struct bench *bench = bench_new(NULL, 2);

	(void)state;
	set_fault(bench, FAULT_DELAY, 1, 1);
	set_fault(bench, FAULT_DELAY, 1, 1)->spec.time = 1 * MS;
	send_updates(bench, 0, 2);
	bench->now += 1 * MS;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "");
	bench->now += 4 * MS;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "1 2 ");
	bench_free(bench);
}

static void test_freeze(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct rfm_frame beat;
	uint64_t woken;

	(void)state;
	set_fault(bench, FAULT_FREEZE, 1, 1)->spec.port = 0;
	send_updates(bench, 0, 1);
	send_updates(bench, 1, 1);
	bench->now += 4 * MS;
	beat = update(bench, 0);
	beat.type = RFM_FRAME_HEARTBEAT;
	beat.length = 0;
	beat.address = 0;
	inject(bench, 0, &beat);	/* whatever comes stands still */
	expect_seqs(bench, 1, "");
	expect_seqs(bench, 0, "");
	assert_int_equal(hub_next_pull(&bench->hub, 0), bench->now + 1 * MS);
	assert_true(hub_light_out(&bench->hub, 0));
	bench->now += 1 * MS;
	woken = bench->transmits[0];
	hub_tick(&bench->hub, bench->now);
	assert_int_equal(bench->transmits[0], woken + 1);
	send_updates(bench, 0, 1);
	expect_seqs(bench, 1, "1 2 3 ");
	expect_seqs(bench, 0, "1 ");
	bench_free(bench);
}

static void test_corrupt(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	unsigned int damaged = 0;
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len;

	(void)state;
	set_fault(bench, FAULT_CORRUPT, 1, 0);
	for (int i = 0; i < 500; i++) {
		send_updates(bench, 0, 1);
		len = hub_pull(&bench->hub, 1, wire, bench->now);
		assert_int_equal(rfm_frame_length(wire), len);
		damaged += rfm_frame_decode(wire, &(struct rfm_frame){ 0 }) == RFM_FRAME_DAMAGED;
	}
	assert_int_equal(damaged, 500);
	/* The hub did that, not the card. */
	assert_int_equal(bench->hub.ports[0].stats.damaged, 0);
	bench_free(bench);
}

/* What arrives nowhere has overtaken nobody. */
static void test_corrupt_does_not_overtake(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	uint8_t wire[RFM_FRAME_MAX];

	(void)state;
	set_fault(bench, FAULT_REORDER, 1, 1);
	set_fault(bench, FAULT_CORRUPT, 1, 1)->spec.bit = 0;
	send_updates(bench, 0, 2);
	assert_true(hub_pull(&bench->hub, 1, wire, bench->now));
	assert_int_equal(hub_waits(&bench->hub), 1);
	send_updates(bench, 0, 1);
	expect_seqs(bench, 1, "3 1 ");
	bench_free(bench);
}

static void test_held_frames_die_with_port(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	set_fault(bench, FAULT_REORDER, 1, 1);
	set_fault(bench, FAULT_DELAY, 1, 1);
	send_updates(bench, 0, 2);
	assert_int_equal(hub_waits(&bench->hub), 2);
	dark(bench, 0);
	assert_int_equal(dropped(bench, 0, HUB_DROP_IN_FLIGHT), 2);
	assert_int_equal(hub_waits(&bench->hub), 0);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_reorder_deeper),
		cmocka_unit_test(test_reorder_in_vain),
		cmocka_unit_test(test_reorder_told),
		cmocka_unit_test(test_delay_keeps_order),
		cmocka_unit_test(test_delays_of_different_length),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_corrupt_does_not_overtake),
		cmocka_unit_test(test_held_frames_die_with_port),
	};

	return cmocka_run_group_tests_name("hub effect", tests, NULL, NULL);
}
