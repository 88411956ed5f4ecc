// SPDX-License-Identifier: GPL-2.0-only
/*
 * WATCH: silences and comparisons, which are slots of the card. Wants two cards
 * with the extension block on one ring, both in this machine: the second
 * stores, the first watches.
 */

#include <sys/eventfd.h>

#include "watch.h"

#define SILENCE 40000000ull

/* The next event but updates. */
static bool next_silence(int fd, struct rfm_event *event)
{
	do {
		if (!next_event(fd, event))
			return false;
	} while (event->type == RFM_EVENT_UPDATE);
	return true;
}

static void silence(void)
{
	struct rfm_range range = { AT + 4, 100 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event, update;
	uint64_t before = now_ns();
	int fd;

	args.silence_ns = SILENCE;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	REQUIRE(next_event(fd, &event));
	CHECK(now_ns() - before >= SILENCE);
	CHECK_EQ(event.type, RFM_EVENT_STALE);
	CHECK_EQ(event.flags, RFM_EVENT_NEVER);
	CHECK_EQ(event.node, RFM_NODE_ALL);
	CHECK_EQ(event.offset, AT + 4);
	CHECK_EQ(event.length, 100);
	CHECK(event.age_ns >= SILENCE);
	CHECK_EQ(event.data, 0);

	/* The watch's bytes, not the granule's. */
	far_sets(AT + 104, 1);
	CHECK(silent(fd));

	far_sets(AT, 5);
	REQUIRE(next_event(fd, &update));
	CHECK_EQ(update.type, RFM_EVENT_UPDATE);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_FRESH);
	CHECK_EQ(event.node, pair.far_info.node);
	CHECK_EQ(event.frame, update.frame);
	CHECK_EQ(event.offset, AT);
	CHECK_EQ(event.length, 8);
	CHECK_EQ(event.bytes[0], 5);
	CHECK(event.age_ns >= SILENCE);
	CHECK_EQ(event.flags, 0);

	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_STALE);
	CHECK_EQ(event.flags, 0);
	CHECK_EQ(event.node, pair.far_info.node);
	CHECK_EQ(event.frame, update.frame);
	CHECK_EQ(event.offset, AT);
	CHECK(event.age_ns >= SILENCE);
	CHECK_EQ(event.seq, 4);
	close(fd);
}

static void each_range_has_its_clock(void)
{
	struct rfm_range ranges[] = { { AT, 8 }, { AT + 512, 8 } };
	struct rfm_watch args = watch_of(ranges);
	struct rfm_event event;
	unsigned int i;
	int fd;

	args.count = 2;
	args.silence_ns = SILENCE;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	for (i = 0; i < 2; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.type, RFM_EVENT_STALE);
	}
	far_sets(AT + 512, 1);
	REQUIRE(next_silence(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_FRESH);
	CHECK_EQ(event.offset, AT + 512);
	REQUIRE(next_silence(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_STALE);
	CHECK_EQ(event.offset, AT + 512);
	close(fd);
}

/*
 * Waits until both of two ranges have fallen silent as told by @fd, and so by
 * every watch of them that was made before it.
 */
static bool both_silent(int fd)
{
	struct rfm_event event;
	unsigned int told = 0;

	while (told != 3) {
		if (!CHECK(next_silence(fd, &event)))
			return false;
		if (event.type == RFM_EVENT_STALE)
			told |= event.offset == AT ? 1 : 2;
	}
	return settled();
}

/* Coalescing joins updates; each range's silence is told of. */
static void silences_are_not_joined(void)
{
	struct rfm_range ranges[] = { { AT, 8 }, { AT + 512, 8 } };
	struct rfm_watch args = watch_of(ranges);
	struct rfm_event event;
	uint64_t told = 0;
	unsigned int i;
	int fd, other;

	args.count = 2;
	args.flags |= RFM_WATCH_COALESCE;
	args.silence_ns = SILENCE;
	fd = watch(&args);
	args.flags &= ~RFM_WATCH_COALESCE;
	other = watch(&args);
	REQUIRE(fd >= 0 && other >= 0);
	CHECK(both_silent(other));
	for (i = 0; i < 2; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.type, RFM_EVENT_STALE);
		CHECK_EQ(event.count, 1);
		CHECK_EQ(event.length, 8);
		told |= event.offset == AT ? 1 : 2;
	}
	CHECK_EQ(told, 3);
	close(other);
	close(fd);
}

/*
 * A burst fills the queue, then its writer is silent: nothing follows that
 * could tell of it, so the silence itself must not be dropped.
 */
static void a_full_queue_keeps_the_silence(void)
{
	struct rfm_range ranges[] = { { AT, 8 }, { AT + 512, 8 } };
	struct rfm_watch args = watch_of(ranges);
	struct rfm_event event;
	uint64_t dropped = 0;
	unsigned int i, told = 0;
	int fd, other;

	args.count = 2;
	args.depth = 2;
	/* Not before all stores have been made, should the host stand still. */
	args.silence_ns = 50 * SILENCE;
	fd = watch(&args);
	args.depth = 0;
	other = watch(&args);
	REQUIRE(fd >= 0 && other >= 0);
	for (i = 0; i < 10; i++)
		far_sets(AT + 512 * (i % 2), i);
	CHECK(both_silent(other));
	for (i = 0; i < 4; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK(event.dropped >= dropped);
		dropped = event.dropped;
		if (event.type == RFM_EVENT_STALE && i >= 2)
			told |= event.offset == AT ? 1 : 2;
	}
	CHECK_EQ(told, 3);
	CHECK_EQ(event.seq, 4 + dropped);
	CHECK(silent(fd));
	close(other);
	close(fd);
}

/* Each store of a row, and which comparisons it makes true. */
static void comparisons(void)
{
	static const struct {
		uint32_t value;
		bool equal, not_equal, changed;
	} rows[] = {
		{ 0x00030000, true, false, true },
		{ 0x0003ffff, false, false, false },	/* outside the mask */
		{ 0xff030000, false, false, false },
		{ 0x00040000, false, true, true },
		{ 0x00050000, false, false, true },
		{ 0x00050000, false, false, false },
		{ 0x00030001, true, false, true },
	};
	int keep = watch_range(AT, 64), equal, not_equal, changed;
	unsigned int i;

	/* What is there must not depend on who receives it before. */
	REQUIRE(keep >= 0);
	far_sets(AT + 8, 0);
	CHECK(settled());
	equal = watch_compare(RFM_COMPARE_EQUAL, 4, AT + 8, 0xff0000, 0x30000);
	not_equal = watch_compare(RFM_COMPARE_NOT_EQUAL, 4, AT + 8, 0xff0000,
				  0x30000);
	changed = watch_compare(RFM_COMPARE_CHANGED, 4, AT + 8, 0xff0000, 0);
	REQUIRE(equal >= 0 && not_equal >= 0 && changed >= 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		far_stores(AT + 8, &rows[i].value, 4);
		tap_failed |= heard(equal) != rows[i].equal ||
			      heard(not_equal) != rows[i].not_equal ||
			      heard(changed) != rows[i].changed;
		if (tap_failed) {
			tap_note("row %u", i);
			break;
		}
	}
	/* Beside the compared bytes, in the watch's range. */
	far_sets(AT + 16, 1);
	CHECK_EQ(heard(changed), 0);
	close(keep);
	close(equal);
	close(not_equal);
	close(changed);
}

static void matches_tell_of_the_update(void)
{
	uint64_t value = 0xfedcba9876543210;
	int keep = watch_range(AT, 64), fd;
	struct rfm_event event;
	unsigned int width;

	REQUIRE(keep >= 0);
	for (width = 1; width <= 8; width *= 2) {
		far_sets(AT + 24, 0);
		CHECK(settled());
		fd = watch_compare(RFM_COMPARE_EQUAL, width, AT + 24,
				   UINT64_MAX >> (64 - 8 * width),
				   value & UINT64_MAX >> (64 - 8 * width));
		REQUIRE(fd >= 0);
		far_sets(AT + 24, value);
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.type, RFM_EVENT_MATCH);
		CHECK_EQ(event.node, pair.far_info.node);
		CHECK_EQ(event.data, 0);
		CHECK_EQ(event.flags, 0);
		CHECK_EQ(event.offset, AT + 24);
		CHECK_EQ(event.length, 8);
		CHECK(!memcmp(event.bytes, &value, 8));
		CHECK_EQ(event.seq, 1);
		CHECK_EQ(event.count, 1);
		/* It stays true: that is no news. */
		far_sets(AT + 24, value);
		CHECK(silent(fd));
		close(fd);
	}
	close(keep);
}

/* Of the matches that find the queue full the last one is kept. */
static void a_full_queue_keeps_the_match(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event;
	unsigned int i;
	int fd, eventfd_fd = eventfd(0, EFD_NONBLOCK);

	args.flags |= RFM_WATCH_COMPARE | RFM_WATCH_EVENTFD;
	args.eventfd = eventfd_fd;
	args.depth = 3;
	args.compare = RFM_COMPARE_CHANGED;
	args.compare_width = 8;
	args.compare_offset = AT;
	args.compare_mask = ~0ull;
	far_sets(AT, 0);
	CHECK(settled());
	fd = watch(&args);
	REQUIRE(fd >= 0);
	for (i = 1; i <= 9; i++)
		far_sets(AT, i);
	CHECK(settled());
	CHECK_EQ(eventfd_value(eventfd_fd), 4);
	for (i = 1; i <= 4; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.type, RFM_EVENT_MATCH);
		CHECK_EQ(event.bytes[0], i < 4 ? i : 9);
		CHECK_EQ(event.seq, event.bytes[0]);
		CHECK_EQ(event.dropped, i < 4 ? 0 : 5);
	}
	CHECK(silent(fd));
	close(fd);
	close(eventfd_fd);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(silence),
		TAP_CASE(each_range_has_its_clock),
		TAP_CASE(silences_are_not_joined),
		TAP_CASE(a_full_queue_keeps_the_silence),
		TAP_CASE(comparisons),
		TAP_CASE(matches_tell_of_the_update),
		TAP_CASE(a_full_queue_keeps_the_match),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
