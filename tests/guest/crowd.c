// SPDX-License-Identifier: GPL-2.0-only
/*
 * May others run while an event is delivered to a crowd of listeners?
 *
 *	crowd flood DEVICE NODE		sends network interrupts of all types to a node
 *					as fast as it can, until it is killed
 *	crowd listen DEVICE LISTENERS	hears them, on a machine with one processor
 *
 * `listen` prints "listening", waits for the first event, and then wakes up every
 * millisecond, at the highest priority there is, and reads what the first listener
 * has been told, and then the last. When the first knows of an event that the last,
 * who was asked later, does not know of, its delivery is under way. It prints how
 * often it was so, how many events there were, and by how many microseconds it woke
 * up late: the median, and at most.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include "card.h"

#define WAKE_UPS	2000
#define PERIOD_NS	1000000
#define DEPTH		65536	/* of the two that are read: no event may be dropped */
#define INTS		(RFM_EVENT_BIT(RFM_EVENT_INT1) | RFM_EVENT_BIT(RFM_EVENT_INT2) | \
			 RFM_EVENT_BIT(RFM_EVENT_INT3) | RFM_EVENT_BIT(RFM_EVENT_INT4))

static int fail(const char *what)
{
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	return 1;
}

static int flood(int card, unsigned int node)
{
	struct rfm_send args = { .node = node };
	unsigned int i;

	for (i = 0;; i++) {
		args.type = RFM_EVENT_INT1 + i % 4;
		if (ioctl(card, RFM_IOC_SEND, &args))
			return fail("send");
	}
}

/* How many events a listener has been told of; @told before. */
static uint64_t told_now(int fd, uint64_t told)
{
	struct rfm_event events[64];
	ssize_t got;

	while ((got = read(fd, events, sizeof(events))) > 0) {
		const struct rfm_event *last = &events[got / sizeof(*events) - 1];

		if (last->dropped) {
			fprintf(stderr, "crowd: the queue was too short\n");
			exit(1);
		}
		told = last->seq;
	}
	return told;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int measure(int first_fd, int last_fd)
{
	static uint32_t late_us[WAKE_UPS];
	uint64_t first = 0, last = 0, due = now_ns(), now;
	unsigned int i, under_way = 0;

	for (i = 0; i < WAKE_UPS; i++) {
		struct timespec at;

		due += PERIOD_NS;
		at = (struct timespec){ due / 1000000000, due % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = now_ns();
		late_us[i] = (now - due) / 1000;
		first = told_now(first_fd, first);
		last = told_now(last_fd, last);
		under_way += first > last;
		due = now_ns();
	}
	qsort(late_us, WAKE_UPS, sizeof(*late_us), compare);
	printf("%u %" PRIu64 " %u %u\n", under_way, first, late_us[WAKE_UPS / 2],
	       late_us[WAKE_UPS - 1]);
	return 0;
}

static int hear(int card, unsigned int count)
{
	struct sched_param highest = { sched_get_priority_max(SCHED_FIFO) };
	struct rlimit files = { count + 16, count + 16 };
	int *fds = calloc(count, sizeof(*fds));
	unsigned int i;

	if (!fds || setrlimit(RLIMIT_NOFILE, &files))
		return fail("files");
	for (i = 0; i < count; i++) {
		struct rfm_listen args = {
			.types = INTS,
			.flags = RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD,
			.depth = i && i < count - 1 ? 16 : DEPTH,
		};

		fds[i] = ioctl(card, RFM_IOC_LISTEN, &args);
		if (fds[i] < 0)
			return fail("listen");
	}
	printf("listening\n");
	fflush(stdout);
	if (poll(&(struct pollfd){ fds[0], POLLIN, 0 }, 1, -1) != 1)
		return fail("poll");
	if (sched_setscheduler(0, SCHED_FIFO, &highest))
		return fail("priority");
	return measure(fds[0], fds[count - 1]);
}

int main(int argc, char **argv)
{
	const char *verb = argc == 4 ? argv[1] : "";
	int card;

	if (strcmp(verb, "flood") && strcmp(verb, "listen")) {
		fprintf(stderr, "usage: crowd flood DEVICE NODE | listen DEVICE LISTENERS\n");
		return 2;
	}
	card = open(argv[2], O_RDWR);
	if (card < 0)
		return fail(argv[2]);
	return *verb == 'f' ? flood(card, atoi(argv[3])) : hear(card, atoi(argv[3]));
}
