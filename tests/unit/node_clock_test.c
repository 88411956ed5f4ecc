// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * A node whose clock is another than the time that its owner passes in: what it tells is of
 * that clock, what it waits for is not.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#define TAI	0x494154u		/* any domain would do */
#define HOUR	(3600 * 1000 * MS)

static void set_clock(struct rig *rig, int at, uint64_t offset)
{
	rfm_node_set_clock(&rig->peers[at].node, TAI, offset);
}

/* Frames that have left @from go on to the next peer, and no further. */
static void pass(struct rig *rig, int from)
{
	rig_pull(rig, from, 64);
	while (rig_deliver(rig, from))
		;
}

/* A store of @from is under way for so long. */
static struct rfm_origin stored(struct rig *rig, int from, uint64_t ns)
{
	struct rig_peer *to = &rig->peers[rig_next(rig, from)];
	struct rfm_origin origin;

	rig_store32(rig, from, 8, rig->now);
	rig->now += ns;
	pass(rig, from);
	assert_true(to->stored_count);
	origin = to->stored[to->stored_count - 1].origin;
	rig_settle(rig);
	return origin;
}

static void hosts_of_one_time_have_ages(void **state)
{
	/* The last one: a host that has run for longer than there is TAI. */
	static const uint64_t offsets[] = { 0, 37000 * MS + 17, 1ull << 62, 0 - 300 * MS };

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		struct rig *rig = rig_new(2, 1);
		const struct rfm_source *source = &rig->peers[1].node.sources[1];
		struct rfm_origin origin;
		uint64_t begin = rig->now;

		set_clock(rig, 0, offsets[i]);
		set_clock(rig, 1, offsets[i] + 1000);	/* a microsecond ahead */
		origin = stored(rig, 0, 4 * MS);
		assert_true(origin.same_clock);
		assert_int_equal(origin.clock_domain, TAI);
		assert_int_equal(origin.time_ns, begin + offsets[i]);
		assert_int_equal(origin.arrival_ns, begin + offsets[i] + 4 * MS + 1000);
		assert_int_equal(origin.now, begin + 4 * MS);
		assert_int_equal(source->transit_ns, 4 * MS + 1000);
		assert_int_equal(source->heard, begin + 4 * MS);
		rig_free(rig);
	}
}

/* One clock is wrong by more than the way takes: seen where it is the later one. */
static void clocks_that_disagree_are_told(void **state)
{
	struct rig *rig = rig_new(2, 1);
	const struct rfm_source *first = &rig->peers[1].node.sources[1];
	const struct rfm_source *second = &rig->peers[0].node.sources[2];
	struct rfm_origin origin;

	(void)state;
	set_clock(rig, 0, HOUR + 10 * MS);
	set_clock(rig, 1, HOUR);
	origin = stored(rig, 0, 3 * MS);
	assert_true(origin.same_clock);
	assert_int_equal(origin.time_ns - origin.arrival_ns, 7 * MS);
	assert_int_equal(first->transit_ns, 1);
	assert_int_equal(first->ahead_ns, 7 * MS);
	stored(rig, 1, 3 * MS);
	assert_int_equal(second->transit_ns, 13 * MS);
	assert_int_equal(second->ahead_ns, 0);
	/* It is of the last frame, and of one clock domain only. */
	stored(rig, 0, 11 * MS);
	assert_int_equal(first->ahead_ns, 0);
	stored(rig, 0, 3 * MS);
	assert_int_equal(first->ahead_ns, 7 * MS);
	rfm_node_set_clock(&rig->peers[0].node, TAI + 1, HOUR + 10 * MS);
	origin = stored(rig, 0, 3 * MS);
	assert_false(origin.same_clock);
	assert_int_equal(origin.clock_domain, TAI + 1);
	assert_int_equal(first->transit_ns, 0);
	assert_int_equal(first->ahead_ns, 0);
	set_clock(rig, 0, HOUR);
	assert_true(stored(rig, 0, 3 * MS).same_clock);
	assert_int_equal(first->transit_ns, 3 * MS);
	rig_free(rig);
}

/* Nobody goes, nothing waits, and the next age is right. */
static void a_clock_that_is_set_ends_nothing(void **state)
{
	struct rig *rig = rig_new(3, 1);
	const struct rfm_source *source = &rig->peers[1].node.sources[1];
	uint32_t epoch;

	(void)state;
	for (int i = 0; i < 3; i++)
		set_clock(rig, i, 5 * HOUR);
	rig_advance(rig, 1000 * MS);
	epoch = rig->peers[1].node.epoch;
	for (uint64_t hours = 4; hours < 9; hours += 2) {
		for (int i = 0; i < 3; i++)
			set_clock(rig, i, hours * HOUR);
		rig_advance(rig, 3000 * MS);
		assert_true(source->present);
		assert_int_equal(stored(rig, 0, 2 * MS).arrival_ns - rig->now, hours * HOUR);
		assert_int_equal(source->transit_ns, 2 * MS);
		rig->now += 600 * MS;
		rfm_node_tick(&rig->peers[0].node, rig->now);
		rig->now += 3 * MS;
		rig_settle(rig);
		assert_int_equal(rig->peers[0].node.turn_ns, 3 * MS);
	}
	assert_int_equal(rig->peers[1].node.epoch, epoch);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* What was held back came when it came, on the clock as it goes now. */
static void what_is_held_back_came_when_it_came(void **state)
{
	struct rig *rig = rig_new(2, 1);
	const struct rfm_origin *origin;
	uint64_t begin = rig->now;

	(void)state;
	set_clock(rig, 0, HOUR);
	set_clock(rig, 1, HOUR);
	rfm_node_set_paused(&rig->peers[1].node, true);
	rig_store32(rig, 0, 0, 1);
	rig->now += 2 * MS;
	rig_settle(rig);
	rig_advance(rig, 1000 * MS);
	rfm_node_set_paused(&rig->peers[1].node, false);
	origin = &rig->peers[1].stored[0].origin;
	assert_int_equal(origin->time_ns, begin + HOUR);
	assert_int_equal(origin->arrival_ns, begin + HOUR + 2 * MS);
	assert_int_equal(origin->now, begin + 2 * MS);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_of_one_time_have_ages),
		cmocka_unit_test(clocks_that_disagree_are_told),
		cmocka_unit_test(a_clock_that_is_set_ends_nothing),
		cmocka_unit_test(what_is_held_back_came_when_it_came),
	};

	return cmocka_run_group_tests_name("node_clock", tests, NULL, NULL);
}
