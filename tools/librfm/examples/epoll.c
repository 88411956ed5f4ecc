// SPDX-License-Identifier: MIT
/*
 * epoll [CARD [SECONDS]]: one thread, several things to wait for: each update of a value,
 * a mode that becomes 3, a writer that falls silent, the ring itself, and signals.
 *
 * Exit status: 0 ended by time or signal; 1 an error.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <rfm/rfm.h>

#include "words.h"

#define SILENCE_NS	500000000ull

static void value_changed(const struct rfm_event *event)
{
	const uint64_t place = WORDS_OFFSET + offsetof(struct words, value);
	double value;

	/*
	 * The record carries what was written, also if it has been overwritten since. An
	 * update may have more than the watched bytes: stores side by side share a frame.
	 * It may also have less, of a writer that stores pieces, and no whole value then.
	 */
	if (event->offset > place || place + sizeof(value) > event->offset + event->length)
		return;
	memcpy(&value, event->bytes + (place - event->offset), sizeof(value));
	printf("value: %u update(s), the last %+.3f\n", event->count, value);
}

static void mode_is_three(const struct rfm_event *event)
{
	printf("mode: has become 3, by node %u\n", event->node);
}

static void writer_is_silent(const struct rfm_event *event)
{
	if (event->type == RFM_EVENT_STALE)
		printf("writer: silent for %.1f s\n", event->age_ns / 1e9);
	else if (event->type == RFM_EVENT_FRESH)
		printf("writer: writes again after %.1f s\n", event->age_ns / 1e9);
}

/* What is listened for, by its type. */
static const char *const ring_events[RFM_EVENT_TYPES] = {
	[RFM_EVENT_SYNC_LOSS] = "this node has lost its signal",
	[RFM_EVENT_SIGNAL] = "this node has its signal again",
	[RFM_EVENT_BREAK] = "another node has lost its signal",
	[RFM_EVENT_MEMBERSHIP] = "nodes have come or gone",
	[RFM_EVENT_INCOMPLETE] = "the memory misses something, or has all of it again",
	[RFM_EVENT_LOSS] = "updates were lost",
	[RFM_EVENT_ID_IN_USE] = "another node has this one's id: it has left",
};

static void ring_says(const struct rfm_event *event)
{
	if (event->type < RFM_EVENT_TYPES && ring_events[event->type])
		printf("ring: %s\n", ring_events[event->type]);
}

/* What there is to wait for: streams of events, and what to do with one. */
static struct source {
	struct rfm_events *events;
	void (*handle)(const struct rfm_event *event);
} sources[4];

static struct rfm_events *watch(struct rfm *rfm, size_t member, size_t width,
				void (*adjust)(struct rfm_watch *watch))
{
	struct rfm_range range = { .offset = WORDS_OFFSET + member, .length = width };
	struct rfm_events *events;
	struct rfm_watch wanted;

	rfm_watch_init(&wanted, &range, 1);
	adjust(&wanted);
	events = rfm_watch_with(rfm, &wanted);
	if (!events)
		err(1, "cannot watch");
	return events;
}

static void coalesce(struct rfm_watch *watch)
{
	/* A slow reader gets one record that says how many updates it stands for. */
	watch->flags |= RFM_WATCH_COALESCE;
}

static void match_three(struct rfm_watch *watch)
{
	/* The card compares: modes 0 to 2 cost this program nothing. */
	watch->flags |= RFM_WATCH_COMPARE;
	watch->compare = RFM_COMPARE_EQUAL;
	watch->compare_offset = WORDS_OFFSET + offsetof(struct words, mode);
	watch->compare_width = sizeof(uint32_t);
	watch->compare_mask = 0xffffffff;
	watch->compare_value = 3;
}

static void notice_silence(struct rfm_watch *watch)
{
	watch->silence_ns = SILENCE_NS;
}

static void open_sources(struct rfm *rfm)
{
	uint32_t types = 0;

	for (uint32_t type = 0; type < RFM_EVENT_TYPES; type++)
		types |= ring_events[type] ? RFM_EVENT_BIT(type) : 0;
	sources[0].events = watch(rfm, offsetof(struct words, value), sizeof(double), coalesce);
	sources[0].handle = value_changed;
	sources[1].events = watch(rfm, offsetof(struct words, mode), sizeof(uint32_t),
				  match_three);
	sources[1].handle = mode_is_three;
	sources[2].events = watch(rfm, offsetof(struct words, count), sizeof(uint64_t),
				  notice_silence);
	sources[2].handle = writer_is_silent;
	sources[3].events = rfm_listen(rfm, types, 0, 0);
	sources[3].handle = ring_says;
	if (!sources[3].events)
		err(1, "cannot listen");
}

/* The end of the program is something to wait for, too: a signal, or the time is over. */
static int open_end(double seconds)
{
	struct itimerval timer = { .it_value.tv_sec = seconds };
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGALRM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (fd < 0)
		err(1, "signalfd");
	timer.it_value.tv_usec = (seconds - timer.it_value.tv_sec) * 1e6;
	setitimer(ITIMER_REAL, &timer, NULL);	/* 0: never */
	return fd;
}

static void add(int epoll, int fd, struct source *source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "epoll_ctl");
}

static void serve(struct source *source)
{
	struct rfm_event records[16];
	int n = rfm_events_wait(source->events, records, 16, 0);

	if (n < 0 && errno != EINTR)
		err(1, "cannot read events");
	/* What is left over makes epoll_wait() return at once. */
	for (int i = 0; i < n; i++) {
		/* Of any source: who must not miss anything looks at the memory now. */
		if (records[i].type == RFM_EVENT_DROPPED)
			printf("card: has dropped %u event(s)\n", records[i].data);
		else
			source->handle(&records[i]);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int end = open_end(argc > 2 ? strtod(argv[2], NULL) : 0);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct rfm *rfm = rfm_open(argc > 1 ? argv[1] : NULL, O_RDONLY);
	struct epoll_event ready;

	if (!rfm)
		errx(1, "cannot open the card: %s", rfm_error());
	open_sources(rfm);
	add(epoll, end, NULL);
	for (int i = 0; i < 4; i++)
		add(epoll, rfm_events_fd(sources[i].events), &sources[i]);

	for (;;) {
		int n = epoll_wait(epoll, &ready, 1, -1);

		if (n < 0 && errno != EINTR)
			err(1, "epoll_wait");
		if (n == 1 && !ready.data.ptr)
			break;
		if (n == 1)
			serve(ready.data.ptr);
	}
	for (int i = 0; i < 4; i++)
		rfm_events_close(sources[i].events);
	rfm_close(rfm);
	return 0;
}
