// SPDX-License-Identifier: MIT
/* librfm's nodes, and their clocks. links: tools/librfm ring/host tests/unit/rings.c */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"
#include "tests/unit/nodes.h"

#include <time.h>

static uint64_t tai_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_TAI, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* What is compared with other nodes is of CLOCK_TAI; what is waited for is not. */
static void a_node_may_have_the_clock_of_all_hosts(void **state)
{
	/*
	 * TAI and the time since boot are years apart; the engine may have looked at its clock
	 * a little before an update came.
	 */
	const uint64_t margin = 60000000000ull;
	uint64_t mono, tai = tai_ns();
	struct rfm_member members[RFM_NODES];
	struct rfm_counters counters;
	struct rfm_writer writer;
	struct rfm_events *events;
	struct rfm_ring_map map;
	struct rfm_event event;

	(void)state;
	open_pair_with("&clock=tai", "&clock=tai");
	events = rfm_watch(far, 0x100, 8);
	assert_non_null(events);
	mono = now_ns();
	put(near, 0x100, 42);
	event = next(events);
	assert_false(event.flags & RFM_EVENT_AGE_UNKNOWN);
	assert_in_range(event.time_ns, mono < margin ? 0 : mono - margin, now_ns());
	assert_in_range(event.origin_ns, tai - margin, tai_ns() + margin);
	assert_in_range(event.arrival_ns, tai - margin, tai_ns() + margin);
	assert_in_range(rfm_age_ns(&event), 0, margin);

	assert_int_equal(rfm_ring_map(far, members, RFM_NODES, &map), 0);
	assert_in_range(map.clock_ns, tai, tai_ns());
	assert_in_range(members[1].heard_ns, tai - margin, map.clock_ns + margin);
	assert_true(members[1].transit_ns && !(members[1].flags & RFM_EVENT_AGE_UNKNOWN));
	assert_int_equal(rfm_counters(far, &counters), 0);
	assert_in_range(counters.clock_ns, tai, tai_ns());
	assert_int_equal(rfm_writer(far, 0x100, &writer), 0);
	assert_true(writer.node == 1 && !writer.flags && writer.time_ns == event.origin_ns);
	tai = tai_ns();
	assert_int_equal(rfm_writer(near, 0x100, &writer), 0);
	assert_true(writer.node == 1 && !writer.flags && writer.time_ns <= tai);
	assert_in_range(writer.time_ns, tai - margin, tai);
	rfm_events_close(events);
	close_pair();
}

/* Of two clocks nothing is known, though both are of this host. */
static void two_clocks_have_no_ages(void **state)
{
	struct rfm_member members[RFM_NODES];
	struct rfm_info infos[2];
	struct rfm_writer writer;
	struct rfm_events *events;
	struct rfm_ring_map map;
	struct rfm_event event;

	(void)state;
	open_pair_with("&clock=host", "&clock=tai");
	assert_int_equal(rfm_info(near, &infos[0]), 0);
	assert_int_equal(rfm_info(far, &infos[1]), 0);
	assert_true(infos[0].clock_domain != infos[1].clock_domain);
	events = rfm_watch(far, 0x100, 8);
	assert_non_null(events);
	put(near, 0x100, 42);
	event = next(events);
	assert_true(event.flags & RFM_EVENT_AGE_UNKNOWN);
	assert_int_equal(rfm_age_ns(&event), -1);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(rfm_ring_map(far, members, RFM_NODES, &map), 0);
	assert_true(members[1].flags & RFM_EVENT_AGE_UNKNOWN && !members[1].transit_ns);
	assert_int_equal(rfm_writer(far, 0x100, &writer), 0);
	assert_true(writer.node == 1 && writer.flags & RFM_EVENT_AGE_UNKNOWN);
	rfm_events_close(events);
	close_pair();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(a_node_may_have_the_clock_of_all_hosts),
		ring_test(two_clocks_have_no_ages),
	};

	return cmocka_run_group_tests_name("librfm_clock", tests, NULL, NULL);
}
