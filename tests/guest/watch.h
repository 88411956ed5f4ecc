/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches of near, and what far does to them.
 *
 * Events of one card come in one order, so there is no need to wait for
 * nothing: when a mark that far has set afterwards was heard, everything
 * before it was.
 *
 * Stores to one word are never packed into one frame, stores to ascending
 * ones may be.
 */
#ifndef WATCH_H
#define WATCH_H

#include <poll.h>

#include "pair.h"

#define MARK_AT		(1u << 20)	/* nothing else is stored here */
#define AT		(2u << 20)	/* and here is where cases play */

static int marks = -1;
static uint64_t marks_heard;		/* those that the card has not dropped */

/* A watch of one range, that does not block. */
static struct rfm_watch watch_of(struct rfm_range *range)
{
	return (struct rfm_watch) {
		.ranges = (uintptr_t)range,
		.count = 1,
		.flags = RFM_WATCH_NONBLOCK,
	};
}

static int watch(struct rfm_watch *args)
{
	return ioctl(pair.near, RFM_IOC_WATCH, args);
}

static int watch_range(uint64_t offset, uint64_t length)
{
	struct rfm_range range = { offset, length };
	struct rfm_watch args = watch_of(&range);

	return watch(&args);
}

/* One store of far: one frame. */
static bool far_stores(uint64_t offset, const void *data, size_t len)
{
	return CHECK(pwrite(pair.far, data, len, offset) == (ssize_t)len);
}

static bool far_sets(uint64_t offset, uint64_t value)
{
	return far_stores(offset, &value, 8);
}

/*
 * The next event, waiting for it. Everything in the record
 * is prefilled, so a field that the driver forgets shows.
 */
static bool next_event(int fd, struct rfm_event *event)
{
	struct pollfd pollfd = { fd, POLLIN, 0 };

	memset(event, 0xa5, sizeof(*event));
	return poll(&pollfd, 1, PATIENCE_MS) == 1 &&
	       read(fd, event, sizeof(*event)) == sizeof(*event);
}

/* An eventfd's count, which is 0 then. */
__attribute__((unused))
static uint64_t eventfd_value(int fd)
{
	uint64_t value = 0;

	return read(fd, &value, 8) == 8 ? value : 0;
}

__attribute__((unused))
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

__attribute__((unused))
static uint64_t dropped_by_card(void)
{
	struct rfm_info info;

	return card_info(pair.near, &info) ? 0 : info.events_dropped;
}

/*
 * All that far has done so far was told to whom it concerns. A mark that the
 * card has dropped, after more than its ring could hold, is set again.
 */
static bool settled(void)
{
	static uint64_t mark;
	struct rfm_event event;
	uint64_t heard = 0;

	do {
		if (!far_sets(MARK_AT, ++mark))
			return false;
		while (heard != mark && next_event(marks, &event) &&
		       event.type == RFM_EVENT_UPDATE) {
			memcpy(&heard, event.bytes, 8);
			marks_heard++;
		}
	} while (heard != mark && event.type == RFM_EVENT_DROPPED);
	return CHECK_EQ(heard, mark);
}

/* There is nothing to read. */
__attribute__((unused))
static bool silent(int fd)
{
	struct pollfd pollfd = { fd, POLLIN, 0 };

	return settled() && poll(&pollfd, 1, 0) == 0;
}

/* How many events wait, and away with them. */
__attribute__((unused))
static unsigned int heard(int fd)
{
	struct rfm_event event;
	unsigned int count = 0;

	if (!settled())
		return 0;
	while (read(fd, &event, sizeof(event)) == sizeof(event))
		count++;
	return count;
}

/* Watches that near's card has, the one for marks not counted. */
static unsigned int watches(void)
{
	struct rfm_info info;

	return CHECK_EQ(card_info(pair.near, &info), 0) ? info.watches - 1 : 0;
}

/* Some watches end a moment after the process that had them. */
__attribute__((unused))
static bool watches_become(unsigned int count)
{
	unsigned int tries;

	for (tries = 0; tries < PATIENCE_MS && watches() != count; tries++)
		sleep_ms(1);
	return CHECK_EQ(watches(), count);
}

/*
 * How often near's card has interrupted, once all is told. The processor may
 * be late with the interrupt for what has been read already.
 */
__attribute__((unused))
static uint64_t interrupts_at_rest(void)
{
	struct rfm_info before, after = {};

	CHECK(settled());
	do {
		before = after;
		sleep_ms(20);
		if (!CHECK_EQ(card_info(pair.near, &after), 0))
			break;
	} while (after.irqs != before.irqs);
	return after.irqs;
}

/* Opens the pair and the watch for marks; ends the program without. */
static void watch_open(int argc, char **argv)
{
	pair_open(argc, argv);
	marks = watch_range(MARK_AT, 8);
	if (marks < 0) {
		tap_note("WATCH: %s", strerror(errno));
		exit(TAP_FAIL);
	}
}

#endif /* WATCH_H */
