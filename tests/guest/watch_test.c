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

/*
 * A writer that never pauses against a reader that cannot keep up: what was
 * delivered, what its queue dropped and what the card dropped are all of it.
 */
static void delivered_and_dropped_are_all(void)
{
	enum { STORES = 200000 };
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	static struct rfm_event events[16];
	volatile uint64_t *far_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					   MAP_SHARED, pair.far, AT);
	struct rfm_info before, after;
	bool gap = false;
	uint64_t got = 0, last = 0, seq = 0, extra = 0;
	unsigned int i, wrong = 0, marks_before = marks_lost;
	ssize_t len;
	int fd;

	args.depth = 128;
	fd = watch(&args);
	REQUIRE(fd >= 0 && far_word != MAP_FAILED);
	REQUIRE(card_info(pair.near, &before) == 0);
	for (i = 1; i <= STORES; i++) {
		*far_word = i;
		if (i % 512 && i < STORES)
			continue;
		if (i == STORES)
			CHECK(settled());
		while ((len = read(fd, events, sizeof(events))) > 0) {
			for (size_t e = 0; e < len / sizeof(*events); e++) {
				uint64_t value;

				memcpy(&value, events[e].bytes, 8);
				got++;
				wrong += events[e].seq != got + events[e].dropped;
				/* Of what the card dropped, an extra record. */
				if (events[e].type == RFM_EVENT_LOSS) {
					extra++;
					gap = true;
					seq = events[e].seq;
					continue;
				}
				wrong += value <= last;
				wrong += !gap && !(events[e].flags &
						   RFM_EVENT_CARD_DROPPED) &&
					 value - last != events[e].seq - seq;
				gap = false;
				last = value;
				seq = events[e].seq;
			}
			if (i < STORES)
				break;
		}
	}
	/* One more shows what was dropped last. */
	*far_word = STORES + 1;
	REQUIRE(next_event(fd, events));
	REQUIRE(card_info(pair.near, &after) == 0);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(got + 1 + events[0].dropped + after.events_dropped -
		 before.events_dropped,
		 STORES + 1 + extra + marks_lost - marks_before);
	CHECK(events[0].dropped > 0);
	tap_note("%u stored: %llu delivered, %llu dropped in the queue, %llu by the card; %llu interrupts",
		 STORES, (unsigned long long)got,
		 (unsigned long long)events[0].dropped,
		 (unsigned long long)(after.events_dropped -
				      before.events_dropped),
		 (unsigned long long)(after.irqs - before.irqs));
	munmap((void *)far_word, 4096);
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

static uint64_t eventfd_value(int fd)
{
	uint64_t value = 0;

	return read(fd, &value, 8) == 8 ? value : 0;
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
	args.silence_ns = SILENCE;
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

static int watch_compare(uint32_t compare, uint32_t width, uint64_t offset,
			 uint64_t mask, uint64_t value)
{
	struct rfm_range range = { AT, 64 };
	struct rfm_watch args = watch_of(&range);

	args.flags |= RFM_WATCH_COMPARE;
	args.compare = compare;
	args.compare_width = width;
	args.compare_offset = offset;
	args.compare_mask = mask;
	args.compare_value = value;
	return watch(&args);
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

/*
 * So many watches of one word that the driver cannot keep up, and the card
 * drops what its ring has no room for: also that a writer has fallen silent.
 */
static void silence_in_a_storm(void)
{
	enum { WATCHES = 600, FRAMES = 16384 };
	static uint8_t burst[FRAMES * 64];
	static int fds[WATCHES];
	struct rfm_range range = { AT, 8 }, busy = { AT + 4096, sizeof(burst) };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event = { .type = RFM_EVENT_TYPES };
	uint64_t dropped = dropped_by_card();
	struct pollfd pollfd;
	unsigned int i;
	int fd, match;

	args.silence_ns = SILENCE;
	fd = watch(&args);
	args.silence_ns = 0;
	args.flags |= RFM_WATCH_COMPARE;
	args.compare = RFM_COMPARE_CHANGED;
	args.compare_width = 8;
	args.compare_offset = AT;
	args.compare_mask = ~0ull;
	match = watch(&args);
	REQUIRE(fd >= 0 && match >= 0);
	args = watch_of(&busy);
	args.depth = 1;
	for (i = 0; i < WATCHES; i++)
		fds[i] = watch(&args);
	REQUIRE(fds[WATCHES - 1] >= 0);

	far_stores(busy.offset, burst, sizeof(burst));
	/* Its update and its match may be among what is dropped. */
	far_sets(AT, now_ns());
	while (event.type != RFM_EVENT_STALE && next_event(fd, &event))
		if (event.type == RFM_EVENT_STALE &&
		    dropped_by_card() == dropped)
			event.type = RFM_EVENT_TYPES;
	CHECK_EQ(event.type, RFM_EVENT_STALE);
	dropped = dropped_by_card() - dropped;
	tap_note("%llu dropped by the card", (unsigned long long)dropped);
	CHECK(dropped > 0);

	/* That something is missing was told where nothing else follows. */
	pollfd = (struct pollfd) { match, POLLIN, 0 };
	CHECK_EQ(poll(&pollfd, 1, PATIENCE_MS), 1);
	do
		REQUIRE(next_event(match, &event));
	while (!(event.flags & RFM_EVENT_CARD_DROPPED));
	for (i = 0; i < WATCHES; i++)
		close(fds[i]);
	close(match);
	close(fd);
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
	struct rfm_info before, after;
	unsigned int i;

	close(watch_range(AT, 64));
	CHECK(settled());
	REQUIRE(card_info(pair.near, &before) == 0);
	for (i = 0; i < 1000; i++)
		far_sets(AT, i);
	CHECK(fence(pair.far));
	REQUIRE(card_info(pair.near, &after) == 0);
	CHECK_EQ(after.irqs, before.irqs);
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
		TAP_CASE(delivered_and_dropped_are_all),
		TAP_CASE(coalescing),
		TAP_CASE(eventfd_counts_records),
		TAP_CASE(deadlines),
		TAP_CASE(silence),
		TAP_CASE(each_range_has_its_clock),
		TAP_CASE(silences_are_not_joined),
		TAP_CASE(a_full_queue_keeps_the_silence),
		TAP_CASE(comparisons),
		TAP_CASE(matches_tell_of_the_update),
		TAP_CASE(a_full_queue_keeps_the_match),
		TAP_CASE(silence_in_a_storm),
		TAP_CASE(ages_are_known),
		TAP_CASE(a_watch_receives),
		TAP_CASE(no_watch_no_interrupts),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
