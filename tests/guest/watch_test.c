// SPDX-License-Identifier: GPL-2.0-only
/*
 * WATCH: what a watch tells of, and what it does not. Wants two cards with the
 * extension block on one ring, both in this machine: the second stores, the
 * first watches.
 */

#include <sys/eventfd.h>

#include "watch.h"

static void one_record_for_an_update(void)
{
	static const uint8_t zeros[64];
	const uint64_t value = 0x1122334455667788;
	int fd = watch_range(AT, 64);
	uint64_t before = now_ns();
	struct rfm_event event;

	REQUIRE(fd >= 0);
	far_sets(AT + 8, value);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_UPDATE);
	CHECK_EQ(event.node, pair.far_info.node);
	CHECK_EQ(event.data, 0);
	CHECK_EQ(event.flags, 0);
	CHECK_EQ(event.seq, 1);
	CHECK(event.time_ns >= before && event.time_ns <= now_ns());
	CHECK_EQ(event.dropped, 0);
	CHECK_EQ(event.offset, AT + 8);
	CHECK_EQ(event.length, 8);
	CHECK_EQ(event.count, 1);
	CHECK(event.frame > 0);
	CHECK(event.origin_ns > 0 && event.arrival_ns >= event.origin_ns);
	CHECK_EQ(event.age_ns, 0);
	CHECK_EQ(event.late, 0);
	CHECK(!memcmp(event.bytes, &value, 8));
	CHECK(!memcmp(event.bytes + 8, zeros, 56));
	CHECK_EQ(event.reserved[0] | event.reserved[1], 0);
	/* What it tells of is in the memory already. */
	CHECK_EQ(word_get(pair.near, AT + 8), value);
	CHECK(silent(fd));
	close(fd);
}

static void own_stores_make_none(void)
{
	int fd = watch_range(AT, 64);

	REQUIRE(fd >= 0);
	CHECK(word_put(pair.near, AT, 1));
	CHECK(fence(pair.near));
	CHECK(silent(fd));
	close(fd);
}

/* Every byte of two granules is stored alone; exactly those asked for count. */
static void exact_to_the_byte(void)
{
	struct rfm_range ranges[] = { { AT + 10, 3 }, { AT + 60, 9 } };
	struct rfm_watch args = watch_of(ranges);
	struct rfm_event event;
	unsigned int i;
	int fd;

	args.count = 2;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	for (i = 128; i-- > 0;) {
		uint8_t byte = i;

		REQUIRE(far_stores(AT + i, &byte, 1));
	}
	for (i = 128; i-- > 0;) {
		if (!(i >= 10 && i < 13) && !(i >= 60 && i < 69))
			continue;
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.offset, AT + i);
		CHECK_EQ(event.length, 1);
		CHECK_EQ(event.bytes[0], i);
	}
	CHECK(silent(fd));
	close(fd);
}

/* An update counts if it touches the range, and is told of as a whole. */
static void updates_reach_beyond_the_range(void)
{
	int fd = watch_range(AT + 7, 2), beside = watch_range(AT + 16, 8);
	struct rfm_event event;

	REQUIRE(fd >= 0 && beside >= 0);
	far_sets(AT + 8, 0x0807060504030201);
	far_sets(AT, 2);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.offset, AT + 8);
	CHECK_EQ(event.length, 8);
	CHECK(!memcmp(event.bytes, "\1\2\3\4\5\6\7\10", 8));
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.offset, AT);
	CHECK_EQ(event.length, 8);
	CHECK(silent(fd));
	CHECK(silent(beside));
	close(beside);
	close(fd);
}

/* One frame that touches several ranges of a watch makes one record. */
static void ranges_of_a_watch(void)
{
	struct rfm_range ranges[] = {
		{ AT, 1 }, { AT + 4, 1 }, { AT, 8 }, { AT + 4096, 1 },
		{ AT + 8192, 64 },
	};
	struct rfm_watch args = watch_of(ranges);
	struct rfm_event event;
	int fd;

	args.count = ARRAY_SIZE(ranges);
	fd = watch(&args);
	REQUIRE(fd >= 0);
	far_sets(AT, 1);
	far_sets(AT + 8192, 3);
	far_sets(AT + 4096, 2);
	far_sets(AT + 12288, 4);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.offset, AT);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.offset, AT + 8192);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.offset, AT + 4096);
	CHECK_EQ(event.seq, 3);
	CHECK(silent(fd));
	close(fd);
}

/* The first and the last byte of the memory. */
static void ends_of_the_memory(void)
{
	uint64_t last = pair.info.memory_size - 8;
	int all = watch_range(0, pair.info.memory_size);
	int end = watch_range(last + 7, 1);
	struct rfm_event event;

	if (last + 8 > pair.far_info.window_size) {
		tap_skip("far's window is narrower than near's memory");
		return;
	}
	REQUIRE(all >= 0 && end >= 0);
	far_sets(0, 1);
	far_sets(last, 2);
	REQUIRE(next_event(all, &event));
	CHECK_EQ(event.offset, 0);
	REQUIRE(next_event(all, &event));
	CHECK_EQ(event.offset, last);
	REQUIRE(next_event(end, &event));
	CHECK_EQ(event.offset, last);
	CHECK(silent(end));
	close(end);
	close(all);
}

/* A long write arrives as frames; one record for each, in their order. */
static void one_record_per_frame(void)
{
	static uint8_t data[8192];
	struct rfm_range range = { AT + 4, sizeof(data) - 8 };
	struct rfm_watch args = watch_of(&range);
	uint64_t at = AT, frame = 0, seq = 0;
	struct rfm_event event;
	int fd;
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + i / 256;
	args.depth = sizeof(data);
	fd = watch(&args);
	REQUIRE(fd >= 0);
	REQUIRE(far_stores(AT, data, sizeof(data)));
	while (at < AT + sizeof(data)) {
		REQUIRE(next_event(fd, &event));
		REQUIRE(event.offset == at && event.length <= 64);
		CHECK(!memcmp(event.bytes, data + (at - AT), event.length));
		CHECK(!frame || event.frame == frame + 1);
		CHECK_EQ(event.seq, seq + 1);
		frame = event.frame;
		seq = event.seq;
		at += event.length;
	}
	CHECK(silent(fd));
	close(fd);
}

/* Many watches of the same bytes: each gets everything. */
static void each_watch_has_its_own(void)
{
	enum { WATCHES = 40 };
	int fds[WATCHES];
	struct rfm_event event;
	unsigned int i;

	for (i = 0; i < WATCHES; i++) {
		fds[i] = watch_range(AT + i, 64);
		REQUIRE(fds[i] >= 0);
	}
	far_sets(AT + 56, 1);	/* touched by all, for they begin before 64 */
	far_sets(AT, 2);	/* by the first eight */
	CHECK(settled());
	for (i = 0; i < WATCHES; i++) {
		REQUIRE(next_event(fds[i], &event));
		CHECK_EQ(event.offset, AT + 56);
		CHECK_EQ(read(fds[i], &event, sizeof(event)),
			 i < 8 ? (ssize_t)sizeof(event) : -1);
		close(fds[i]);
	}
}

static void full_queues_drop_and_count(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event events[8];
	unsigned int i;
	int fd;

	args.depth = 4;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	for (i = 1; i <= 7; i++)
		far_sets(AT, i);
	CHECK(settled());
	CHECK_EQ(read(fd, events, sizeof(events)), 4 * sizeof(*events));
	for (i = 0; i < 4; i++) {
		CHECK_EQ(events[i].seq, i + 1);
		CHECK_EQ(events[i].bytes[0], i + 1);
		CHECK_EQ(events[i].dropped, 0);
	}
	far_sets(AT, 8);
	REQUIRE(next_event(fd, events));
	CHECK_EQ(events[0].seq, 8);
	CHECK_EQ(events[0].bytes[0], 8);
	CHECK_EQ(events[0].dropped, 3);
	CHECK_EQ(events[0].flags, 0);
	close(fd);
}

/* Until its default depth a watch loses nothing. */
static void default_depth(void)
{
	int fd = watch_range(AT, 8);
	unsigned int i;

	REQUIRE(fd >= 0);
	for (i = 0; i < RFM_LISTEN_DEPTH_DEFAULT + 1; i++)
		far_sets(AT, i);
	CHECK_EQ(heard(fd), RFM_LISTEN_DEPTH_DEFAULT);
	close(fd);
}

static void coalescing(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event;
	unsigned int i;
	int fd;

	args.flags |= RFM_WATCH_COALESCE;
	args.depth = 1;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	for (i = 1; i <= 300; i++)
		far_sets(AT, i);
	CHECK(settled());
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_UPDATE);
	CHECK_EQ(event.count, 300);
	CHECK_EQ(event.seq, 300);
	CHECK_EQ(event.dropped, 0);
	CHECK_EQ(event.bytes[0] | event.bytes[1] << 8, 300);
	CHECK(silent(fd));

	far_sets(AT, 7);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.count, 1);
	CHECK_EQ(event.seq, 301);
	CHECK_EQ(event.bytes[0], 7);
	close(fd);
}

/* An eventfd counts records, read or not, dropped ones not. */
static void eventfd_counts_records(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range), lumped = args;
	int counter = eventfd(0, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK);
	unsigned int i;
	int fd, lumps;

	REQUIRE(counter >= 0 && other >= 0);
	args.flags |= RFM_WATCH_EVENTFD;
	args.eventfd = counter;
	args.depth = 5;
	lumped.flags |= RFM_WATCH_EVENTFD | RFM_WATCH_COALESCE;
	lumped.eventfd = other;
	fd = watch(&args);
	lumps = watch(&lumped);
	REQUIRE(fd >= 0 && lumps >= 0);
	for (i = 0; i < 7; i++)
		far_sets(AT, i);
	CHECK(settled());
	CHECK_EQ(eventfd_value(counter), 5);
	CHECK_EQ(eventfd_value(counter), 0);
	CHECK_EQ(eventfd_value(other), 1);

	/* It works as long as the watch, whoever has closed the eventfd. */
	close(other);
	far_sets(AT, 8);
	CHECK_EQ(heard(lumps), 1);
	close(fd);
	far_sets(AT, 9);
	CHECK(settled());
	CHECK_EQ(eventfd_value(counter), 0);
	close(lumps);
	close(counter);
}

/* Nothing on a ring arrives within a nanosecond, and everything in an hour. */
static void deadlines(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event;
	int late, good;

	if (pair.info.clock_domain != pair.far_info.clock_domain) {
		tap_skip("the two cards are in different clock domains");
		return;
	}
	args.deadline_ns = 1;
	late = watch(&args);
	args.deadline_ns = 3600000000000ull;
	good = watch(&args);
	REQUIRE(late >= 0 && good >= 0);
	for (unsigned int i = 1; i <= 3; i++) {
		far_sets(AT, i);
		REQUIRE(next_event(late, &event));
		CHECK(event.arrival_ns - event.origin_ns > 1);
		CHECK_EQ(event.flags, RFM_EVENT_LATE);
		CHECK_EQ(event.late, i);
		REQUIRE(next_event(good, &event));
		CHECK_EQ(event.flags, 0);
		CHECK_EQ(event.late, 0);
	}
	close(late);
	close(good);
}

/* An update of unknown age is never late; here all are of known age. */
static void ages_are_known(void)
{
	int fd = watch_range(AT, 8);
	struct rfm_event event;

	REQUIRE(fd >= 0);
	far_sets(AT, 1);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(!!(event.flags & RFM_EVENT_AGE_UNKNOWN),
		 pair.info.clock_domain != pair.far_info.clock_domain);
	close(fd);
}

/* With base policy none only what somebody holds arrives: a watch does. */
static void a_watch_receives(void)
{
	int fd;

	if (pair.info.base_policy != RFM_BASE_NONE) {
		tap_skip("base policy all");
		return;
	}
	CHECK_EQ(received(AT), 0);
	fd = watch_range(AT + RFM_GRANULE + 5, RFM_GRANULE);
	REQUIRE(fd >= 0);
	CHECK_EQ(received(AT), 0x6);
	close(fd);
	CHECK_EQ(received(AT), 0);
	fd = watch_compare(RFM_COMPARE_CHANGED, 8, AT, UINT64_MAX, 0);
	REQUIRE(fd >= 0);
	CHECK_EQ(received(AT), 0x1);
	close(fd);
	CHECK_EQ(received(AT), 0);
}

/* With no watch the card does not even interrupt. */
static void no_watch_no_interrupts(void)
{
	struct rfm_info after;
	uint64_t before;
	unsigned int i;

	close(watch_range(AT, 64));
	before = interrupts_at_rest();
	for (i = 0; i < 1000; i++)
		far_sets(AT, i);
	CHECK(fence(pair.far));
	REQUIRE(card_info(pair.near, &after) == 0);
	CHECK_EQ(after.irqs, before);
	CHECK(settled());
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(one_record_for_an_update),
		TAP_CASE(own_stores_make_none),
		TAP_CASE(exact_to_the_byte),
		TAP_CASE(updates_reach_beyond_the_range),
		TAP_CASE(ranges_of_a_watch),
		TAP_CASE(ends_of_the_memory),
		TAP_CASE(one_record_per_frame),
		TAP_CASE(each_watch_has_its_own),
		TAP_CASE(full_queues_drop_and_count),
		TAP_CASE(default_depth),
		TAP_CASE(coalescing),
		TAP_CASE(eventfd_counts_records),
		TAP_CASE(deadlines),
		TAP_CASE(ages_are_known),
		TAP_CASE(a_watch_receives),
		TAP_CASE(no_watch_no_interrupts),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
