// SPDX-License-Identifier: GPL-2.0-only
/*
 * librfm: librfm_events_test NEAR FAR, see librfm_pair.h. What a fence tells to whom, and in
 * detail what queues, eventfds, comparisons, silences, owners and listeners do, on a card and
 * in process.
 */

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "librfm_pair.h"

/* --- helpers ------------------------------------------------------------------------ */

/* What comes in their place among updates: when one has been heard, all before it has been told. */
static struct rfm_events *marks;

static bool begin_marks(void)
{
	marks = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT3), RFM_LISTEN_DISCARD, 0);
	return CHECK(marks);
}

static void all_told(void)
{
	static uint32_t mark;
	struct rfm_event record;

	CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT3, ++mark), 0);
	while (next(marks, &record) && record.data != mark)
		;
}

/* Word @at is stored in a frame of its own. */
static void put_alone(struct rfm *card, const struct pair *pair, unsigned int at, uint64_t value)
{
	put(card, pair, at, value);
	CHECK_EQ(rfm_fence(card, PATIENCE_MS, NULL), 0);
}

static bool no_more(struct rfm_events *events)
{
	struct rfm_event record;

	return CHECK_EQ(rfm_events_wait(events, &record, 1, 0), 0);
}

static struct rfm_events *watch_with(struct rfm_watch *watch, const struct rfm_range *ranges)
{
	struct rfm_events *events;

	watch->ranges = (uintptr_t)ranges;
	if (!watch->count)
		watch->count = 1;
	events = rfm_watch_with(far_card, watch);
	CHECK(events);
	return events;
}

/* --- fences ------------------------------------------------------------------------- */

static void set_transmitter(uint32_t on)
{
	const struct rfm_config config = { .mask = RFM_CONFIG_TRANSMIT, .on = on };

	CHECK_EQ(rfm_set_config(near_card, &config), 0);
}

/* A store that reaches nobody; the ring is there again. */
static void lose_a_store(const struct pair *pair)
{
	set_transmitter(0);
	put(near_card, pair, 0, 1);
	set_transmitter(RFM_CONFIG_TRANSMIT);
	CHECK_EQ(rfm_ring_test(near_card, PATIENCE_MS, NULL), 0);
}

/* It may be told twice of what was under way when the transmitter went off. */
static void fences_are_good_again(struct rfm *card)
{
	uint64_t begun = now_ns();

	while (rfm_fence(card, PATIENCE_MS, NULL) && now_ns() - begun < PATIENCE_NS)
		;
	CHECK_EQ(rfm_fence(card, PATIENCE_MS, NULL), 0);
}

/* Neither a ring test nor somebody else's fence takes it away. */
static void every_handle_is_told_of_a_loss(void)
{
	struct rfm *others[2] = { rfm_open(near_path, O_RDWR), rfm_open(near_path, O_RDWR) };
	struct rfm_fence_wait result;
	struct pair pair;

	REQUIRE(others[0] && others[1]);
	if (!map_pair(&pair, 1, 8))
		return;
	lose_a_store(&pair);
	for (int i = 0; i < 2; i++) {
		memset(&result, 0xa5, sizeof(result));
		CHECK_ERRNO(rfm_fence(others[i], PATIENCE_MS, &result), EIO);
		CHECK(result.flags & RFM_FENCED_LOST && result.lost >= 1 && result.lost < 1000);
	}
	CHECK_EQ(rfm_ring_test(near_card, PATIENCE_MS, NULL), 0);
	CHECK_ERRNO(rfm_fence(near_card, PATIENCE_MS, NULL), EIO);
	fences_are_good_again(near_card);
	fences_are_good_again(others[0]);
	/* What was lost before it is none of its affairs. */
	CHECK_EQ(rfm_close(others[0]), 0);
	others[0] = rfm_open(near_path, O_RDWR);
	REQUIRE(others[0]);
	CHECK_EQ(rfm_fence(others[0], PATIENCE_MS, NULL), 0);
	rfm_close(others[0]);
	rfm_close(others[1]);
	unmap_pair(&pair, 8);
}

/* --- queues ------------------------------------------------------------------------- */

static void a_full_queue_drops_and_says_so(void)
{
	struct rfm_watch watch = { .depth = 3 };
	struct rfm_events *events;
	struct rfm_event record;
	struct rfm_range range;
	struct pair pair;

	if (!map_pair(&pair, 2, 8) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	events = watch_with(&watch, &range);
	REQUIRE(events);
	for (uint64_t i = 1; i <= 5; i++)
		put_alone(near_card, &pair, 0, i);
	all_told();
	for (uint64_t i = 1; i <= 3 && next(events, &record); i++)
		CHECK(record.seq == i && record.bytes[0] == i && !record.dropped);
	no_more(events);
	put_alone(near_card, &pair, 0, 6);
	if (next(events, &record))
		CHECK(record.seq == 6 && record.bytes[0] == 6 && record.dropped == 2);
	rfm_events_close(events);
	rfm_events_close(marks);
	unmap_pair(&pair, 8);
}

static void what_is_unread_takes_in_what_comes(void)
{
	struct rfm_watch watch = { .flags = RFM_WATCH_COALESCE };
	struct rfm_events *events;
	struct rfm_event record;
	struct rfm_range range;
	struct pair pair;

	if (!map_pair(&pair, 3, 8) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	events = watch_with(&watch, &range);
	REQUIRE(events);
	for (uint64_t i = 1; i <= 5; i++)
		put_alone(near_card, &pair, 0, i);
	all_told();
	if (next(events, &record))
		CHECK(record.count == 5 && record.seq == 5 && record.bytes[0] == 5);
	no_more(events);
	put_alone(near_card, &pair, 0, 6);
	if (next(events, &record))
		CHECK(record.count == 1 && record.seq == 6);
	rfm_events_close(events);
	rfm_events_close(marks);
	unmap_pair(&pair, 8);
}

/* Only the newest record takes in what comes: what was told between is not overtaken. */
static void records_stay_in_order(void)
{
	struct rfm_watch watch = { .flags = RFM_WATCH_COALESCE, .silence_ns = 20000000 };
	struct rfm_watch later = { .silence_ns = 200000000 };
	struct rfm_events *events, *waits;
	struct rfm_event record;
	struct rfm_range range;
	uint64_t seq = 0, updates = 0;
	struct pair pair;

	if (!map_pair(&pair, 4, 8) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	events = watch_with(&watch, &range);
	waits = watch_with(&later, &range);
	REQUIRE(events && waits);
	put_alone(near_card, &pair, 0, 1);
	/* The longer silence is over, and so the shorter one was told of. */
	while (next(waits, &record) && (record.type != RFM_EVENT_STALE || record.flags))
		;
	put_alone(near_card, &pair, 0, 2);
	all_told();
	while (updates < 2 && next(events, &record)) {
		CHECK(record.seq > seq);
		seq = record.seq;
		if (record.type == RFM_EVENT_UPDATE) {
			CHECK_EQ(record.count, 1);
			CHECK_EQ(record.bytes[0], ++updates);
		}
	}
	rfm_events_close(events);
	rfm_events_close(waits);
	rfm_events_close(marks);
	unmap_pair(&pair, 8);
}

/* A match that is kept behind a full queue takes in the next one. */
static void what_is_kept_takes_in_what_comes(void)
{
	struct rfm_watch watch = {
		.flags = RFM_WATCH_COALESCE | RFM_WATCH_COMPARE, .depth = 1,
		.silence_ns = 1000000000, .compare = RFM_COMPARE_EQUAL, .compare_width = 8,
		.compare_mask = UINT64_MAX, .compare_value = 3,
	};
	struct pollfd pollfd = { .events = POLLIN };
	struct rfm_events *events;
	struct rfm_event record;
	struct rfm_range range;
	uint64_t begun, matches = 0;
	struct pair pair;

	if (!map_pair(&pair, 5, 8) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	watch.compare_offset = pair.offset;
	events = watch_with(&watch, &range);
	REQUIRE(events);
	/* The queue is full of its first silence. */
	pollfd.fd = rfm_events_fd(events);
	CHECK_EQ(poll(&pollfd, 1, PATIENCE_MS), 1);
	begun = now_ns();
	for (int i = 0; i < 2; i++) {
		put_alone(near_card, &pair, 0, 3);
		put_alone(near_card, &pair, 0, 0);
	}
	all_told();
	if (next(events, &record))
		CHECK_EQ(record.type, RFM_EVENT_STALE);
	while (!matches && next(events, &record))
		if (record.type == RFM_EVENT_MATCH)
			matches = record.count;
	CHECK_EQ(matches, 2);
	/* Unless it was silent once more: that comes instead of the end of the first silence. */
	if (now_ns() - begun < watch.silence_ns)
		CHECK_EQ(record.dropped, 0);
	rfm_events_close(events);
	rfm_events_close(marks);
	unmap_pair(&pair, 8);
}

/* --- eventfds ----------------------------------------------------------------------- */

static uint64_t count_of(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* The descriptor is readable as long as there is a record; an eventfd counts them. */
static void descriptors_tell(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = fd, .depth = 2 };
	struct pollfd pollfd = { .events = POLLIN };
	struct rfm_events *events;
	struct rfm_event record;
	struct rfm_range range;
	struct pair pair;

	if (!map_pair(&pair, 6, 8) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	events = watch_with(&watch, &range);
	REQUIRE(events);
	pollfd.fd = rfm_events_fd(events);
	CHECK_EQ(poll(&pollfd, 1, 0), 0);
	/* Two of them are dropped. */
	for (uint64_t i = 1; i <= 4; i++)
		put_alone(near_card, &pair, 0, i);
	all_told();
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(poll(&pollfd, 1, 0), 1);
		next(events, &record);
	}
	CHECK_EQ(poll(&pollfd, 1, 0), 0);
	CHECK_EQ(count_of(fd), 2);
	/* It may be closed: the watch has it too. */
	pollfd.fd = dup(fd);
	close(fd);
	put_alone(near_card, &pair, 0, 5);
	all_told();
	CHECK_EQ(count_of(pollfd.fd), 1);
	rfm_events_close(events);
	close(pollfd.fd);

	watch.eventfd = open("/dev/null", O_RDONLY);
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	close(watch.eventfd);
	CHECK_NULL(rfm_watch_with(far_card, &watch), EBADF);
	rfm_events_close(marks);
	unmap_pair(&pair, 8);
}

/* Nobody waits for who does not read it; then it counts again. */
static void a_full_eventfd_holds_up_nothing(void)
{
	const uint64_t full = UINT64_MAX - 1;
	int fd = eventfd(0, 0);
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = fd };
	struct rfm_events *events;
	struct rfm_event record;
	struct rfm_range range;
	struct pair pair;

	if (!map_pair(&pair, 7, 8) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	events = watch_with(&watch, &range);
	REQUIRE(events);
	for (int round = 0; round < 3; round++) {
		CHECK_EQ(write(fd, &full, sizeof(full)), sizeof(full));
		put_alone(near_card, &pair, 0, 1);
		all_told();
		next(events, &record);
		CHECK(count_of(fd) >= full);
		put_alone(near_card, &pair, 0, 2);
		all_told();
		next(events, &record);
		CHECK_EQ(count_of(fd), 1);
	}
	rfm_events_close(events);
	rfm_events_close(marks);
	close(fd);
	unmap_pair(&pair, 8);
}

struct filler {
	int fd;
	_Atomic bool stop, stopped;
};

/* Whenever it is empty. */
static void *fill_again_and_again(void *given)
{
	const uint64_t full = UINT64_MAX - 1;
	struct filler *filler = given;

	while (!filler->stop)
		CHECK_EQ(write(filler->fd, &full, sizeof(full)), sizeof(full));
	filler->stopped = true;
	return NULL;
}

#define FILLED	300

/* Nor does another who fills it, at whatever moment. */
static void who_fills_an_eventfd_holds_up_nothing(void)
{
	struct filler filler = { .fd = eventfd(0, 0) };
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = filler.fd };
	struct pollfd some = { .fd = filler.fd, .events = POLLIN };
	struct rfm_events *events;
	struct rfm_event record;
	struct rfm_range range;
	pthread_t thread;
	struct pair pair;

	if (!map_pair(&pair, 7, 8))
		return;
	range = (struct rfm_range){ pair.offset, 8 };
	events = watch_with(&watch, &range);
	REQUIRE(events);
	REQUIRE(!pthread_create(&thread, NULL, fill_again_and_again, &filler));
	for (int round = 0; round < FILLED; round++) {
		put_alone(near_card, &pair, 0, round);
		REQUIRE(next(events, &record));
		CHECK(count_of(filler.fd) > 0);
	}
	filler.stop = true;
	while (!filler.stopped)
		if (poll(&some, 1, 1) == 1)
			count_of(filler.fd);
	pthread_join(thread, NULL);
	rfm_events_close(events);
	close(filler.fd);
	unmap_pair(&pair, 8);
}

/* --- conditions --------------------------------------------------------------------- */

static void comparisons(void)
{
	struct rfm_watch watch = {
		.flags = RFM_WATCH_COMPARE, .compare_width = 2, .compare_mask = 0xff,
		.compare_value = 3,
	};
	/* What is stored in the word, by whom, and which of the three notice. */
	static const struct {
		bool own;
		uint16_t value;
		const char *matches;
	} steps[] = {
		{ false, 0x0001, "c" },
		{ false, 0x0103, "ec" },	/* only the low byte counts */
		{ false, 0x0203, "" },
		{ false, 0x0004, "nc" },
		{ true, 0x0003, "" },		/* its own store wakes nobody, and is seen */
		{ false, 0x0003, "" },
		{ true, 0x0005, "" },
		{ false, 0x0003, "ec" },
	};
	static const char names[] = "-enc";
	struct rfm_events *events[4];
	struct rfm_event record;
	struct rfm_range range;
	struct pair pair;

	if (!map_pair(&pair, 8, 16) || !begin_marks())
		return;
	range = (struct rfm_range){ pair.offset, 16 };
	watch.compare_offset = pair.offset + 2;
	for (watch.compare = RFM_COMPARE_EQUAL; watch.compare <= RFM_COMPARE_CHANGED;
	     watch.compare++) {
		events[watch.compare] = watch_with(&watch, &range);
		REQUIRE(events[watch.compare]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct rfm *who = steps[i].own ? far_card : near_card;

		CHECK_EQ(rfm_store16(who, pair.offset + 2, steps[i].value), 0);
		CHECK_EQ(rfm_fence(who, PATIENCE_MS, NULL), 0);
		put_alone(near_card, &pair, 1, i);	/* in the range, and not the word */
		all_told();
		for (int k = RFM_COMPARE_EQUAL; k <= RFM_COMPARE_CHANGED; k++) {
			int n = rfm_events_wait(events[k], &record, 1, 0);

			if (!CHECK_EQ(n, !!strchr(steps[i].matches, names[k])))
				tap_note("step %zu, comparison %d", i, k);
			CHECK(n != 1 || record.type == RFM_EVENT_MATCH);
		}
	}
	for (int k = RFM_COMPARE_EQUAL; k <= RFM_COMPARE_CHANGED; k++)
		rfm_events_close(events[k]);
	watch.compare = RFM_COMPARE_EQUAL;
	watch.compare_value = 0x100;
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	watch.compare_value = 3;
	watch.compare_offset = pair.offset + 16;
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	watch.compare_offset = pair.offset + 3;
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	rfm_events_close(marks);
	unmap_pair(&pair, 16);
}

/* Each range has a silence of its own, and neither it nor its end is ever dropped. */
static void silences(void)
{
	struct rfm_watch watch = { .count = 2, .depth = 2, .silence_ns = 100000000 };
	struct rfm_watch later = { .count = 2, .silence_ns = 300000000 };
	struct rfm_events *events, *waits;
	struct rfm_range ranges[2];
	struct rfm_event record;
	uint64_t offsets = 0;
	unsigned int types[RFM_EVENT_TYPES] = { 0 };
	struct pair pair;

	if (!map_pair(&pair, 9, 512))
		return;
	ranges[0] = (struct rfm_range){ pair.offset, 8 };
	ranges[1] = (struct rfm_range){ pair.offset + 256, 8 };
	events = watch_with(&watch, ranges);
	waits = watch_with(&later, ranges);
	REQUIRE(events && waits);
	for (int i = 0; i < 2 && next(events, &record); i++) {
		CHECK_EQ(record.type, RFM_EVENT_STALE);
		CHECK(record.flags == RFM_EVENT_NEVER && record.length == 8);
		CHECK(record.age_ns >= watch.silence_ns);
		offsets += record.offset - pair.offset;
	}
	CHECK_EQ(offsets, 256);
	for (int i = 0; i < 2; i++)
		next(waits, &record);

	/* The queue is full of updates: what ends the silence and what begins it are kept. */
	put_alone(near_card, &pair, 0, 1);
	for (uint64_t i = 2; i < 6; i++)
		put_alone(near_card, &pair, 32, i);
	for (int stale = 0; stale < 2 && next(waits, &record);)
		stale += record.type == RFM_EVENT_STALE;
	while (types[RFM_EVENT_STALE] < 2 && next(events, &record)) {
		types[record.type]++;
		if (record.type == RFM_EVENT_STALE)
			CHECK(record.flags == 0 && record.node == near_info.node);
	}
	CHECK(types[RFM_EVENT_UPDATE] >= 1 && types[RFM_EVENT_UPDATE] <= 2);
	rfm_events_close(events);
	rfm_events_close(waits);
	unmap_pair(&pair, 512);
}

/* --- owners ------------------------------------------------------------------------- */

static uint64_t conflicts(void)
{
	static struct rfm_counters counters;

	CHECK_EQ(rfm_counters(far_card, &counters), 0);
	return counters.value[RFM_COUNTER_CONFLICTS];
}

/* Giving back the middle of what is owned leaves both ends owned, and what others own. */
static void owning_is_by_granule(void)
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
static void as_many_ranges_as_may_be_owned(void)
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
static void interrupts_wait_for_a_listener(void)
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
static void events_are_counted_once(void)
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
static void the_ring_is_told_of(void)
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

static void the_last_writer_is_known(void)
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
static void structures_may_be_of_any_size(void)
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

static void as_much_as_may_be_queued(void)
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

static void as_many_ranges_as_may_be_watched(void)
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
static void descriptors_run_out(void)
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

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(every_handle_is_told_of_a_loss),
		TAP_CASE(a_full_queue_drops_and_says_so),
		TAP_CASE(what_is_unread_takes_in_what_comes),
		TAP_CASE(records_stay_in_order),
		TAP_CASE(what_is_kept_takes_in_what_comes),
		TAP_CASE(descriptors_tell),
		TAP_CASE(a_full_eventfd_holds_up_nothing),
		TAP_CASE(who_fills_an_eventfd_holds_up_nothing),
		TAP_CASE(comparisons),
		TAP_CASE(silences),
		TAP_CASE(owning_is_by_granule),
		TAP_CASE(as_many_ranges_as_may_be_owned),
		TAP_CASE(interrupts_wait_for_a_listener),
		TAP_CASE(events_are_counted_once),
		TAP_CASE(the_ring_is_told_of),
		TAP_CASE(the_last_writer_is_known),
		TAP_CASE(structures_may_be_of_any_size),
		TAP_CASE(as_much_as_may_be_queued),
		TAP_CASE(as_many_ranges_as_may_be_watched),
		TAP_CASE(descriptors_run_out),
	};

	if (!open_cards(argc, argv))
		return TAP_FAIL;
	return TAP_RUN(cases);
}
