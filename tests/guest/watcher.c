// SPDX-License-Identifier: GPL-2.0-only
/*
 * A reader of a watch that counts, for tests with several machines:
 *
 *	watcher DEVICE OFFSET LENGTH DEPTH PAUSE_US
 *
 * Prints "watching", then reads records, sleeping PAUSE_US after each batch,
 * until an update brings the word 0xffffffffffffffff. Then one line: updates
 * delivered, dropped by the queue, dropped by the card, and the number of the
 * last one's frame. What it checks of each record: numbers without a gap that
 * is not counted as dropped, frames of one source in ascending order, and bytes
 * within the watched range.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "card.h"

#define BATCH	64

struct sum {
	uint64_t delivered, dropped, by_card, seq;
	uint64_t frame[256];
};

static int fail(const char *what)
{
	fprintf(stderr, "watcher: %s: %s\n", what, strerror(errno));
	return 1;
}

static int wrong(const char *what, const struct rfm_event *event)
{
	fprintf(stderr, "watcher: %s: seq %" PRIu64 " dropped %" PRIu64 " node %u frame %" PRIu64
		" offset 0x%" PRIx64 " length %u flags 0x%x\n", what, (uint64_t)event->seq,
		(uint64_t)event->dropped, event->node, (uint64_t)event->frame,
		(uint64_t)event->offset, event->length, event->flags);
	return 1;
}

static int check(struct sum *sum, const struct rfm_event *event, const struct rfm_range *range)
{
	uint64_t gap = event->seq - sum->seq - 1;

	if (event->dropped - sum->dropped != gap)
		return wrong("a gap that is not counted", event);
	sum->dropped = event->dropped;
	sum->seq = event->seq;
	if (event->type == RFM_EVENT_DROPPED) {
		sum->by_card += event->data;
		return 0;
	}
	if (event->type != RFM_EVENT_UPDATE || event->node > 255)
		return wrong("not an update", event);
	if (event->frame <= sum->frame[event->node])
		return wrong("out of order", event);
	if (event->offset >= range->offset + range->length ||
	    event->offset + event->length <= range->offset)
		return wrong("beside the range", event);
	sum->delivered++;
	sum->frame[event->node] = event->frame;
	return 0;
}

static bool is_last(const struct rfm_event *event)
{
	uint64_t word;

	memcpy(&word, event->bytes, sizeof(word));
	return event->length == sizeof(word) && word == UINT64_MAX;
}

static int run(int fd, const struct rfm_range *range, unsigned int pause_us)
{
	struct timespec pause = { 0, pause_us * 1000l };
	struct rfm_event events[BATCH];
	static struct sum sum;
	uint64_t frame = 0;
	bool last = false;

	while (!last) {
		ssize_t got = read(fd, events, sizeof(events));

		if (got < 0)
			return fail("read");
		for (size_t i = 0; i < got / sizeof(*events); i++) {
			if (check(&sum, &events[i], range))
				return 1;
			last = is_last(&events[i]);
			frame = events[i].frame;
		}
		if (pause_us)
			nanosleep(&pause, NULL);
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum.delivered, sum.dropped,
	       sum.by_card, frame);
	return 0;
}

int main(int argc, char **argv)
{
	struct rfm_watch watch = { .count = 1 };
	struct rfm_range range;
	int fd;

	if (argc != 6) {
		fprintf(stderr, "usage: watcher DEVICE OFFSET LENGTH DEPTH PAUSE_US\n");
		return 2;
	}
	range.offset = strtoull(argv[2], NULL, 0);
	range.length = strtoull(argv[3], NULL, 0);
	watch.ranges = (uintptr_t)&range;
	watch.depth = atoi(argv[4]);
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		return fail(argv[1]);
	fd = ioctl(fd, RFM_IOC_WATCH, &watch);
	if (fd < 0)
		return fail("watch");
	printf("watching\n");
	fflush(stdout);
	return run(fd, &range, atoi(argv[5]));
}
