// SPDX-License-Identifier: MIT
/* Watches and listeners: streams of struct rfm_event. */
#define _GNU_SOURCE 1		/* ppoll() */
#include "private.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH	16	/* records that are turned into those of another size in one go */

int events_init(struct rfm_events *events, const struct rfm_events_ops *ops, int fd)
{
	events->ops = ops;
	events->fd = fd;
	events->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return events->cancel_fd < 0 ? -1 : 0;
}

void rfm_watch_init_sized(struct rfm_watch *watch, size_t size, const struct rfm_range *ranges,
			  uint32_t count)
{
	const struct rfm_watch all = {
		.ranges = (uintptr_t)ranges, .count = count, .flags = RFM_WATCH_CLOEXEC,
	};

	give_struct(watch, size, &all, sizeof(all));
}

struct rfm_events *rfm_watch_with_sized(struct rfm *rfm, const struct rfm_watch *watch,
					size_t size)
{
	struct rfm_watch all;

	if (take_struct(&all, sizeof(all), watch, size))
		return NULL;
	if (all.record_size) {
		errno = EINVAL;		/* records are as the caller of rfm_events_wait() knows them */
		return NULL;
	}
	return rfm->backend->stream(rfm, RFM_IOC_WATCH, &all);
}

struct rfm_events *rfm_watch(struct rfm *rfm, uint64_t offset, uint64_t length)
{
	struct rfm_range range = { .offset = offset, .length = length };
	struct rfm_watch watch;

	rfm_watch_init(&watch, &range, 1);
	return rfm_watch_with(rfm, &watch);
}

struct rfm_events *rfm_listen(struct rfm *rfm, uint32_t types, uint32_t flags, uint32_t depth)
{
	struct rfm_listen listen = {
		.types = types, .flags = flags | RFM_LISTEN_CLOEXEC, .depth = depth,
	};

	return rfm->backend->stream(rfm, RFM_IOC_LISTEN, &listen);
}

int rfm_events_fd(const struct rfm_events *events)
{
	return events->fd;
}

/* Can it be used at all? */
static int check(const struct rfm_events *events)
{
	return events->ops->check ? events->ops->check(events) : 0;
}

/* --- waiting ------------------------------------------------------------------------ */

/* Records, of which the caller knows @size bytes each. */
static int take_records(struct rfm_events *events, void *records, size_t size, size_t count)
{
	struct rfm_event some[BATCH];
	int got;

	if (size == sizeof(*some))
		return events->ops->take(events, records, count);
	got = events->ops->take(events, some, count < BATCH ? count : BATCH);
	for (int i = 0; i < got; i++)
		give_struct((char *)records + i * size, size, &some[i], sizeof(some[i]));
	return got;
}

/*
 * Returns 1 if there is something to read, 0 after @until_ns, or -1.
 * @cancel_fd: ends the wait, or -1
 */
static int readable_until(const struct rfm_events *events, int cancel_fd, uint64_t until_ns)
{
	struct pollfd fds[2] = {
		{ .fd = events->fd, .events = POLLIN },
		{ .fd = cancel_fd, .events = POLLIN },
	};
	uint64_t now = clock_ns(), left = now < until_ns ? until_ns - now : 0, cancelled;
	struct timespec patience = { left / 1000000000, left % 1000000000 };
	int ready = ppoll(fds, 2, until_ns == UINT64_MAX ? NULL : &patience, NULL);

	if (ready <= 0)
		return ready;
	if (fds[1].revents && read(cancel_fd, &cancelled, sizeof(cancelled)) > 0)
		return fail_with(ECANCELED);
	return fds[0].revents != 0;
}

int rfm_events_wait_sized(struct rfm_events *events, struct rfm_event *records, size_t size,
			  size_t count, int timeout_ms)
{
	uint64_t until_ns = timeout_ms < 0 ? UINT64_MAX : clock_ns() + timeout_ms * 1000000ull;
	int got, ready;

	if (!count || timeout_ms < -1)
		return fail_with(EINVAL);
	if (check(events))
		return -1;
	do {
		got = take_records(events, records, size, count);
		if (got >= 0 || errno != EAGAIN)
			return got;
		/* Somebody else may take the record: then it waits for what is left. */
		ready = readable_until(events, -1, until_ns);
	} while (ready > 0);
	return ready;
}

int rfm_events_wait_until_sized(struct rfm_events *events, struct rfm_event *records, size_t size,
				size_t count, uint64_t until_ns)
{
	int got, ready;

	if (!count)
		return fail_with(EINVAL);
	if (check(events))
		return -1;
	for (;;) {
		ready = readable_until(events, events->cancel_fd, until_ns);
		if (ready < 0)
			return -1;
		if (ready) {
			got = take_records(events, records, size, count);
			if (got >= 0 || errno != EAGAIN)
				return got;
		}
		if (clock_ns() >= until_ns)
			return 0;
	}
}

int rfm_events_cancel(struct rfm_events *events)
{
	const uint64_t one = 1;

	if (check(events))
		return -1;
	return write(events->cancel_fd, &one, sizeof(one)) < 0 ? -1 : 0;
}

int rfm_events_close(struct rfm_events *events)
{
	int error = errno;

	if (!events)
		return 0;
	if (events->ops->close(events))
		return -1;
	errno = error;
	return 0;
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
