// SPDX-License-Identifier: GPL-2.0-only
/* Queues, eventfds and conditions of watches. */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "tests/guest/librfm_events/private.h"

/* Of the first word of a page, as @watch says, with marks behind what it tells. */
static struct rfm_events *begin_watch(struct pair *pair, unsigned int page, struct rfm_watch *watch)
{
	static struct rfm_range range;

	if (!map_pair(pair, page, 8) || !begin_marks())
		return NULL;
	range = (struct rfm_range){ pair->offset, 8 };
	if (watch->flags & RFM_WATCH_COMPARE)
		watch->compare_offset = pair->offset;
	return watch_with(watch, &range);
}

static void end_watch(struct rfm_events *events, struct pair *pair)
{
	rfm_events_close(events);
	rfm_events_close(marks);
	unmap_pair(pair, 8);
}

/* --- queues ------------------------------------------------------------------------- */

void a_full_queue_drops_and_says_so(void)
{
	struct rfm_watch watch = { .depth = 3 };
	struct rfm_events *events;
	struct rfm_event record;
	struct pair pair;

	events = begin_watch(&pair, 2, &watch);
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
	end_watch(events, &pair);
}

void what_is_unread_takes_in_what_comes(void)
{
	struct rfm_watch watch = { .flags = RFM_WATCH_COALESCE };
	struct rfm_events *events;
	struct rfm_event record;
	struct pair pair;

	events = begin_watch(&pair, 3, &watch);
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
	end_watch(events, &pair);
}

/* Only the newest record takes in what comes: what was told between is not overtaken. */
void records_stay_in_order(void)
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
void what_is_kept_takes_in_what_comes(void)
{
	struct rfm_watch watch = {
		.flags = RFM_WATCH_COALESCE | RFM_WATCH_COMPARE, .depth = 1,
		.silence_ns = 1000000000, .compare = RFM_COMPARE_EQUAL, .compare_width = 8,
		.compare_mask = UINT64_MAX, .compare_value = 3,
	};
	struct pollfd pollfd = { .events = POLLIN };
	struct rfm_events *events;
	struct rfm_event record;
	uint64_t begun, matches = 0;
	struct pair pair;

	events = begin_watch(&pair, 5, &watch);
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
	end_watch(events, &pair);
}

/* --- eventfds ----------------------------------------------------------------------- */

static uint64_t count_of(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* The descriptor is readable as long as there is a record; an eventfd counts them. */
void descriptors_tell(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = fd, .depth = 2 };
	struct pollfd pollfd = { .events = POLLIN };
	struct rfm_events *events;
	struct rfm_event record;
	struct pair pair;

	events = begin_watch(&pair, 6, &watch);
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
	close(pollfd.fd);

	watch.eventfd = open("/dev/null", O_RDONLY);
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	close(watch.eventfd);
	CHECK_NULL(rfm_watch_with(far_card, &watch), EBADF);
	end_watch(events, &pair);
}

/* Nobody waits for who does not read it; then it counts again. */
void a_full_eventfd_holds_up_nothing(void)
{
	const uint64_t full = UINT64_MAX - 1;
	int fd = eventfd(0, 0);
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = fd };
	struct rfm_events *events;
	struct rfm_event record;
	struct pair pair;

	events = begin_watch(&pair, 7, &watch);
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
	end_watch(events, &pair);
	close(fd);
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
void who_fills_an_eventfd_holds_up_nothing(void)
{
	struct filler filler = { .fd = eventfd(0, 0) };
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = filler.fd };
	struct pollfd some = { .fd = filler.fd, .events = POLLIN };
	struct rfm_events *events;
	struct rfm_event record;
	pthread_t thread;
	struct pair pair;

	events = begin_watch(&pair, 7, &watch);
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
	end_watch(events, &pair);
	close(filler.fd);
}

/* --- conditions --------------------------------------------------------------------- */

void comparisons(void)
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
void silences(void)
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
