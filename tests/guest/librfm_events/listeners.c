// SPDX-License-Identifier: GPL-2.0-only
/* Owners, interrupts and what happens on the ring, sizes and limits. */
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "tests/guest/librfm_events/private.h"

/* --- owners ------------------------------------------------------------------------- */

static uint64_t conflicts(void)
{
	static struct rfm_counters counters;

	CHECK_EQ(rfm_counters(far_card, &counters), 0);
	return counters.value[RFM_COUNTER_CONFLICTS];
}

/* Giving back the middle of what is owned leaves both ends owned, and what others own. */
void owning_is_by_granule(void)
{
	static const unsigned int words[] = { 0x038 / 8, 0x040 / 8, 0x078 / 8, 0x080 / 8, 0x100 / 8 };
	struct rfm *other = rfm_open(far_path, O_RDWR);
	struct pair pair;
	uint64_t before;

	if (!map_pair(&pair, 10, 1024) || !begin_marks())
		return;
	REQUIRE(other);
	CHECK_EQ(rfm_own(far_card, pair.offset, 0x100), 0);
	CHECK_EQ(rfm_own(far_card, pair.offset + 0x40, 0x40), 0);
	CHECK_EQ(rfm_unsubscribe(far_card, pair.offset + 0x40, 1, RFM_SUBSCRIBE_OWN), 0);
	before = conflicts();
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		put_alone(near_card, &pair, words[i], 1);
	all_told();
	CHECK_EQ(conflicts(), before + 2);

	CHECK_EQ(rfm_own(other, pair.offset, 0x200), 0);
	CHECK_EQ(rfm_unsubscribe(far_card, pair.offset, 0x100, RFM_SUBSCRIBE_OWN), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		put_alone(near_card, &pair, words[i], 2);
	all_told();
	CHECK_EQ(conflicts(), before + 7);
	CHECK_EQ(rfm_close(other), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		put_alone(near_card, &pair, words[i], 3);
	all_told();
	CHECK_EQ(conflicts(), before + 7);
	rfm_events_close(marks);
	unmap_pair(&pair, 1024);
}

/* What lies side by side is one range, and a full list can be given back. */
void as_many_ranges_as_may_be_owned(void)
{
	const uint64_t base = PLACE + 0x20000, step = 2 * RFM_GRANULE;
	struct rfm *rfm = rfm_open(far_path, O_RDWR);

	REQUIRE(rfm);
	for (uint64_t i = 0; i < RFM_SUBSCRIBE_MAX; i++)
		if (!CHECK_EQ(rfm_own(rfm, base + i * step, 64), 0))
			break;
	CHECK_ERRNO(rfm_own(rfm, base + RFM_SUBSCRIBE_MAX * step, 64), ENOSPC);
	/* It joins two, and then there is room. */
	CHECK_EQ(rfm_own(rfm, base + 64, 64), 0);
	CHECK_EQ(rfm_own(rfm, base + RFM_SUBSCRIBE_MAX * step, 64), 0);
	CHECK_ERRNO(rfm_own(rfm, base - step, 64), ENOSPC);
	CHECK_EQ(rfm_own(rfm, base, 64), 0);
	/* In the middle of one: two would be left of it. */
	CHECK_ERRNO(rfm_unsubscribe(rfm, base + 64, 64, RFM_SUBSCRIBE_OWN), ENOSPC);
	CHECK_EQ(rfm_unsubscribe(rfm, base + 10 * step, 64, RFM_SUBSCRIBE_OWN), 0);
	CHECK_EQ(rfm_own(rfm, base - step, 64), 0);
	CHECK_EQ(rfm_unsubscribe(rfm, 0, far_info.memory_size, RFM_SUBSCRIBE_OWN), 0);
	CHECK_EQ(rfm_own(rfm, base, 64), 0);
	rfm_close(rfm);
}

/* --- interrupts, and what happens on the ring ----------------------------------------- */

static uint64_t dropped_by_the_card(void)
{
	static struct rfm_counters counters;

	CHECK_EQ(rfm_counters(far_card, &counters), 0);
	return counters.value[RFM_COUNTER_INTERRUPTS_DROPPED];
}

/* Up to RFM_FIFO_DEPTH of a type; those of one type stay in their order. */
void interrupts_wait_for_a_listener(void)
{
	const uint32_t types = RFM_EVENT_BIT(RFM_EVENT_INT1) | RFM_EVENT_BIT(RFM_EVENT_INT4);
	uint32_t heard[RFM_EVENT_TYPES] = { 0 };
	struct rfm_events *events;
	struct rfm_event record;
	uint64_t before;

	events = rfm_listen(far_card, types, RFM_LISTEN_DISCARD, 0);
	REQUIRE(events);
	CHECK_EQ(rfm_events_close(events), 0);
	before = dropped_by_the_card();
	for (uint32_t i = 0; i < 130; i++) {
		CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT4, i), 0);
		if (i < 65)
			CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT1, i), 0);
	}
	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	CHECK_EQ(dropped_by_the_card(), before + 130 - RFM_FIFO_DEPTH);
	events = rfm_listen(far_card, types, RFM_LISTEN_EXCLUSIVE, 0);
	REQUIRE(events);
	for (uint32_t i = 0; i < 65 + RFM_FIFO_DEPTH && next(events, &record); i++) {
		REQUIRE(record.type == RFM_EVENT_INT1 || record.type == RFM_EVENT_INT4);
		CHECK_EQ(record.data, heard[record.type]++);
		CHECK_EQ(record.node, near_info.node);
	}
	CHECK_EQ(heard[RFM_EVENT_INT1], 65);
	CHECK_EQ(heard[RFM_EVENT_INT4], RFM_FIFO_DEPTH);
	no_more(events);
	CHECK_NULL(rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT4), 0, 0), EBUSY);
	rfm_events_close(events);
}

/* What has been taken from the card, whoever listens: what waits there has not. */
void events_are_counted_once(void)
{
	const uint32_t type = RFM_EVENT_BIT(RFM_EVENT_INT2);
	uint64_t before[RFM_EVENT_TYPES], after[RFM_EVENT_TYPES];
	struct rfm_events *events = rfm_listen(far_card, type, RFM_LISTEN_DISCARD, 0), *copy;
	struct rfm_event record;

	REQUIRE(events);
	CHECK_EQ(rfm_events_close(events), 0);
	CHECK_EQ(rfm_event_counts(far_card, before, RFM_EVENT_TYPES), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT2, i), 0);
	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	CHECK_EQ(rfm_event_counts(far_card, after, RFM_EVENT_TYPES), 0);
	CHECK_EQ(after[RFM_EVENT_INT2], before[RFM_EVENT_INT2]);
	events = rfm_listen(far_card, type, 0, 0);
	copy = rfm_listen(far_card, type, 0, 0);
	REQUIRE(events && copy);
	CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT2, 3), 0);
	for (uint32_t i = 0; i < 4 && next(events, &record); i++)
		CHECK_EQ(record.data, i);
	CHECK_EQ(rfm_event_counts(far_card, after, RFM_EVENT_TYPES), 0);
	CHECK_EQ(after[RFM_EVENT_INT2], before[RFM_EVENT_INT2] + 4);
	CHECK_EQ(after[RFM_EVENT_INT1], before[RFM_EVENT_INT1]);
	rfm_events_close(copy);
	rfm_events_close(events);
}

/* The light of the other node goes off, until that is a member no more, and on again. */
void the_ring_is_told_of(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_SYNC_LOSS) |
					       RFM_EVENT_BIT(RFM_EVENT_SIGNAL) |
					       RFM_EVENT_BIT(RFM_EVENT_MEMBERSHIP),
					       RFM_LISTEN_DISCARD, 0);
	struct rfm_event record = { 0 };

	REQUIRE(events);
	set_transmitter(0);
	while (record.type != RFM_EVENT_SYNC_LOSS && next(events, &record))
		;
	while (record.type != RFM_EVENT_MEMBERSHIP && next(events, &record))
		CHECK(record.type != RFM_EVENT_SIGNAL);
	set_transmitter(RFM_CONFIG_TRANSMIT);
	while (record.type != RFM_EVENT_SIGNAL && next(events, &record))
		;
	while (record.type != RFM_EVENT_MEMBERSHIP && next(events, &record))
		;
	rfm_events_close(events);
	CHECK_EQ(rfm_ring_test(near_card, PATIENCE_MS, NULL), 0);
	fences_are_good_again(near_card);
	fences_are_good_again(far_card);
}

void the_last_writer_is_known(void)
{
	struct rfm_writer writer;
	struct pair pair;

	if (!map_pair(&pair, 11, 256))
		return;
	put_alone(far_card, &pair, 8, 1);
	put_alone(far_card, &pair, 16, 1);
	put_alone(near_card, &pair, 9, 1);
	CHECK_EQ(rfm_writer(far_card, pair.offset + 0x7f, &writer), 0);
	CHECK_EQ(writer.node, near_info.node);
	CHECK(writer.frame > 0 && !writer.flags);
	/* Each of 64 bytes has its own; a store of ours has no frame that came. */
	for (unsigned int at = 0x80; at < 0xc0; at += 0x3f) {
		CHECK_EQ(rfm_writer(far_card, pair.offset + at, &writer), 0);
		CHECK_EQ(writer.node, far_info.node);
		CHECK_EQ(writer.frame, 0);
	}
	put_alone(far_card, &pair, 8, 2);
	CHECK_EQ(rfm_writer(far_card, pair.offset + 0x40, &writer), 0);
	CHECK_EQ(writer.node, far_info.node);
	unmap_pair(&pair, 256);
}

/* --- sizes -------------------------------------------------------------------------- */

/* A program that knows less of a structure, and one that knows more. */
void structures_may_be_of_any_size(void)
{
	struct {
		struct rfm_event event;
		uint64_t more[4];
	} large[2];
	struct rfm_events *events;
	struct {
		struct rfm_watch watch;
		uint64_t more;
	} watch = { 0 };
	struct {
		struct rfm_info info;
		uint64_t more;
	} info;
	struct rfm_range range;
	uint64_t small[8];
	struct pair pair;

	if (!map_pair(&pair, 12, 8) || !begin_marks())
		return;
	memset(&info, 0xa5, sizeof(info));
	CHECK_EQ(rfm_info_sized(near_card, &info.info, sizeof(info)), 0);
	CHECK(info.info.node == near_info.node && info.more == 0);
	memset(&info, 0xa5, sizeof(info));
	CHECK_EQ(rfm_info_sized(near_card, &info.info, offsetof(struct rfm_info, lcsr1)), 0);
	CHECK(info.info.node == near_info.node && info.info.lcsr1 == 0xa5a5a5a5);

	range = (struct rfm_range){ pair.offset, 8 };
	rfm_watch_init(&watch.watch, &range, 1);
	watch.more = 1;
	CHECK_NULL(rfm_watch_with_sized(far_card, &watch.watch, sizeof(watch)), EINVAL);
	watch.more = 0;
	events = rfm_watch_with_sized(far_card, &watch.watch, sizeof(watch));
	REQUIRE(events);
	for (uint64_t i = 1; i <= 4; i++)
		put_alone(near_card, &pair, 0, i);
	all_told();
	memset(large, 0xa5, sizeof(large));
	CHECK_EQ(rfm_events_wait_sized(events, &large[0].event, sizeof(*large), 2, 0), 2);
	CHECK(large[0].event.seq == 1 && large[1].event.seq == 2);
	CHECK(large[0].more[3] == 0 && large[1].more[0] == 0);
	memset(small, 0xa5, sizeof(small));
	CHECK_EQ(rfm_events_wait_sized(events, (struct rfm_event *)small, 24, 2, 0), 2);
	CHECK(small[2] == 3 && small[5] == 4 && small[6] == 0xa5a5a5a5a5a5a5a5);
	rfm_events_close(events);
	rfm_events_close(marks);
	unmap_pair(&pair, 8);
}

/* --- limits ------------------------------------------------------------------------- */

void as_much_as_may_be_queued(void)
{
	enum { FULL = RFM_QUEUED_MAX / RFM_LISTEN_DEPTH_MAX };
	const uint32_t types = RFM_EVENT_BIT(RFM_EVENT_BREAK);
	struct rfm_events *events[FULL] = { 0 }, *one;
	unsigned int count = 0;

	while (count < FULL &&
	       (events[count] = rfm_listen(far_card, types, 0, RFM_LISTEN_DEPTH_MAX)))
		count++;
	CHECK_EQ(count, FULL);
	CHECK_NULL(rfm_listen(far_card, types, 0, 1), ENOSPC);
	CHECK_NULL(rfm_watch(far_card, PLACE, 8), ENOSPC);
	CHECK_EQ(rfm_events_close(events[0]), 0);
	one = rfm_watch(far_card, PLACE, 8);
	CHECK(one);
	rfm_events_close(one);
	for (unsigned int i = 1; i < count; i++)
		rfm_events_close(events[i]);
}

void as_many_ranges_as_may_be_watched(void)
{
	enum { FULL = RFM_WATCHED_RANGES_MAX / RFM_WATCH_RANGES_MAX };
	struct rfm_watch watch = { .count = RFM_WATCH_RANGES_MAX, .depth = 1 };
	struct rfm_range ranges[RFM_WATCH_RANGES_MAX];
	struct rfm_events *events[FULL] = { 0 };
	unsigned int count = 0;

	for (unsigned int i = 0; i < RFM_WATCH_RANGES_MAX; i++)
		ranges[i] = (struct rfm_range){ PLACE + 64 * i, 8 };
	while (count < FULL && (events[count] = watch_with(&watch, ranges)))
		count++;
	CHECK_EQ(count, FULL);
	CHECK_NULL(rfm_watch(far_card, PLACE, 8), ENOSPC);
	CHECK_EQ(rfm_events_close(events[0]), 0);
	events[0] = rfm_watch(far_card, PLACE, 8);
	CHECK(events[0]);
	for (unsigned int i = 0; i < count; i++)
		rfm_events_close(events[i]);
}

/* Too many descriptors are not too little memory. */
void descriptors_run_out(void)
{
	struct rfm_range range = { PLACE, 8 };
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD };
	struct rlimit before, none;
	int fd = eventfd(0, 0);

	watch.ranges = (uintptr_t)&range;
	watch.count = 1;
	watch.eventfd = fd;
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	for (int left = 0; left < 2; left++) {
		int top = dup(fd);

		close(top);
		/* There is room for one, which is not enough for a stream. */
		none.rlim_cur = top + left;
		REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
		CHECK_NULL(rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_BREAK), 0, 0), EMFILE);
		CHECK_NULL(rfm_watch(far_card, PLACE, 8), EMFILE);
		if (!(rfm_can(far_card) & RFM_CAN_FD))
			CHECK_NULL(rfm_watch_with(far_card, &watch), EMFILE);
		REQUIRE(!setrlimit(RLIMIT_NOFILE, &before));
	}
	close(fd);
}
