// SPDX-License-Identifier: MIT
/* Watches and listeners: streams of struct rfm_event. */
#include "private.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct rfm_events {
	int fd;
};

/* Allocates first: a descriptor that nobody can hold would have to be undone. */
static struct rfm_events *stream(struct rfm *rfm, unsigned long request, void *argument)
{
	struct rfm_events *events = malloc(sizeof(*events));

	if (!events)
		return NULL;
	events->fd = ioctl(rfm->fd, request, argument);
	if (events->fd < 0) {
		int error = errno;

		free(events);
		errno = error;
		return NULL;
	}
	return events;
}

void rfm_watch_init(struct rfm_watch *watch, const struct rfm_range *ranges, uint32_t count)
{
	memset(watch, 0, sizeof(*watch));
	watch->ranges = (uintptr_t)ranges;
	watch->count = count;
	watch->flags = RFM_WATCH_CLOEXEC;
}

struct rfm_events *rfm_watch_with(struct rfm *rfm, const struct rfm_watch *watch)
{
	struct rfm_watch copy = *watch;

	return stream(rfm, RFM_IOC_WATCH, &copy);
}

struct rfm_events *rfm_watch(struct rfm *rfm, uint64_t offset, uint64_t length)
{
	struct rfm_range range = { .offset = offset, .length = length };
	struct rfm_watch watch;

	rfm_watch_init(&watch, &range, 1);
	return rfm_watch_with(rfm, &watch);
}

struct rfm_events *rfm_listen(struct rfm *rfm, uint32_t types, uint32_t flags)
{
	struct rfm_listen listen = { .types = types, .flags = flags | RFM_LISTEN_CLOEXEC };

	return stream(rfm, RFM_IOC_LISTEN, &listen);
}

int rfm_events_fd(const struct rfm_events *events)
{
	return events->fd;
}

/* Returns 1 if there is something to read, 0 after @timeout_ms, or -1. */
static int readable(const struct rfm_events *events, int timeout_ms)
{
	struct pollfd pollfd = { .fd = events->fd, .events = POLLIN };

	return poll(&pollfd, 1, timeout_ms);
}

int rfm_events_wait(struct rfm_events *events, struct rfm_event *records, size_t count,
		    int timeout_ms)
{
	ssize_t got;
	int ready;

	if (!count)
		return fail_with(EINVAL);
	/* Who waits for ever sleeps in read(): the shortest way from event to program. */
	ready = timeout_ms < 0 ? 1 : readable(events, timeout_ms);
	while (ready > 0) {
		got = read(events->fd, records, count * sizeof(*records));
		if (got >= 0)
			return got / sizeof(*records);
		if (errno != EAGAIN)
			return -1;
		/* The descriptor is O_NONBLOCK, or somebody else took the record. */
		if (timeout_ms >= 0)
			return 0;
		ready = readable(events, -1);
	}
	return ready;
}

void rfm_events_close(struct rfm_events *events)
{
	int error = errno;

	if (!events)
		return;
	close(events->fd);
	free(events);
	errno = error;
}

/* Events that an update of another node brought. */
#define FROM_UPDATE	(RFM_EVENT_BIT(RFM_EVENT_UPDATE) | RFM_EVENT_BIT(RFM_EVENT_MATCH) | \
			 RFM_EVENT_BIT(RFM_EVENT_FRESH) | RFM_EVENT_BIT(RFM_EVENT_CONFLICT))

int64_t rfm_age_ns(const struct rfm_event *event)
{
	if (event->type >= RFM_EVENT_TYPES || !(FROM_UPDATE & RFM_EVENT_BIT(event->type)))
		return fail_with(EINVAL);
	if (event->flags & RFM_EVENT_AGE_UNKNOWN)
		return fail_with(EXDEV);
	/* Two processors' views of one clock may differ by a little. */
	if (event->arrival_ns < event->origin_ns)
		return 0;
	return event->arrival_ns - event->origin_ns;
}
