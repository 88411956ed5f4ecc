// SPDX-License-Identifier: MIT
/* Streams of a node in this process: their making and their end. */
#define _GNU_SOURCE 1		/* syscall() */
#include "ring_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Records that are taken in one go: the engine may wait for that. */
#define TAKE	32

static struct ring_stream *to_stream(struct rfm_events *events)
{
	return (struct ring_stream *)events;
}

static int ring_events_check(const struct rfm_events *events)
{
	return node_check(((const struct ring_stream *)events)->node);
}

static int ring_events_take(struct rfm_events *events, struct rfm_event *records, size_t count)
{
	struct ring_stream *stream = to_stream(events);
	struct ring_node *node = stream->node;
	size_t taken = 0, some, wanted;

	do {
		wanted = count - taken < TAKE ? count - taken : TAKE;
		pthread_mutex_lock(&node->lock);
		some = queue_pop(&stream->queue, records + taken, wanted);
		pthread_mutex_unlock(&node->lock);
		taken += some;
	} while (some == TAKE);
	return taken ? (int)taken : fail_with(EAGAIN);
}

/* --- life --------------------------------------------------------------------------- */

static void free_stream(struct ring_stream *stream)
{
	int error = errno;

	if (stream->events.cancel_fd >= 0)
		close(stream->events.cancel_fd);
	queue_destroy(&stream->queue);
	free(stream->ranges);
	free(stream);
	errno = error;
}

static void forget_stream(struct ring_node *node, void *user)
{
	struct ring_stream *stream = user, **at = &node->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	node->queued -= stream->queue.depth;
	node->ranges -= stream->watch.count;
	node->watches -= stream->watch.count != 0;
}

static int ring_events_close(struct rfm_events *events)
{
	struct ring_stream *stream = to_stream(events);

	if (node_check(stream->node) || node_put(stream->node, forget_stream, stream))
		return -1;
	free_stream(stream);
	return 0;
}

static const struct rfm_events_ops ring_events_ops = {
	.check = ring_events_check,
	.take = ring_events_take,
	.close = ring_events_close,
};

/* @flags: RFM_LISTEN_NONBLOCK and _CLOEXEC, which those of a watch are too. NULL with errno. */
static struct ring_stream *new_stream(struct ring_node *node, uint32_t flags, uint32_t depth,
				      unsigned int keys)
{
	struct ring_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->node = node;
	stream->flags = flags;
	stream->events.cancel_fd = -1;
	if (!queue_init(&stream->queue, depth, keys, flags & RFM_LISTEN_CLOEXEC) &&
	    !events_init(&stream->events, &ring_events_ops, stream->queue.fd))
		return stream;
	free_stream(stream);
	return NULL;
}

/* With node->lock. ENOSPC: the queues of a card would hold too much. */
static bool enlist(struct ring_stream *stream)
{
	struct ring_node *node = stream->node;

	errno = ENOSPC;
	if (stream->queue.depth > RFM_QUEUED_MAX - node->queued)
		return false;
	node->queued += stream->queue.depth;
	stream->next = node->streams;
	node->streams = stream;
	return true;
}

/* --- listeners ---------------------------------------------------------------------- */

/* With node->lock: interrupts that waited for somebody to hear them, in their order. */
static void hand_over(struct ring_stream *stream)
{
	struct ring_node *node = stream->node;

	for (;;) {
		struct backlog *oldest = NULL;

		for (unsigned int i = 0; i < FIFOS; i++) {
			struct backlog *backlog = &node->backlog[i];

			if (!(stream->types >> (RFM_EVENT_INT1 + i) & 1) || !backlog->count)
				continue;
			if (stream->flags & RFM_LISTEN_DISCARD)
				backlog->count = 0;
			else if (!oldest || backlog->event[backlog->head].seq <
					    oldest->event[oldest->head].seq)
				oldest = backlog;
		}
		if (!oldest)
			return;
		node->taken[oldest->event[oldest->head].type]++;
		stream_push(stream, &oldest->event[oldest->head], 0);
		oldest->head = (oldest->head + 1) % RFM_FIFO_DEPTH;
		oldest->count--;
	}
}

/* With node->lock: one of each that the card would have latched. */
static void hand_over_latched(struct ring_stream *stream)
{
	struct ring_node *node = stream->node;
	struct rfm_event event = { .node = RFM_NODE_ALL, .count = 1, .time_ns = clock_ns() };
	uint32_t types = node->latched & stream->types;

	node->latched &= ~types;
	if (stream->flags & RFM_LISTEN_DISCARD)
		return;
	for (event.type = 0; event.type < RFM_EVENT_TYPES; event.type++) {
		if (!(types & RFM_EVENT_BIT(event.type)))
			continue;
		node->taken[event.type] += !!(RFM_EVENT_BIT(event.type) & TAKEN_WHEN_HEARD);
		stream_push(stream, &event, 0);
	}
}

static bool may_listen(const struct ring_node *node, const struct rfm_listen *listen)
{
	unsigned int count = 0;

	for (const struct ring_stream *stream = node->streams; stream; stream = stream->next) {
		count += stream->types != 0;
		if (stream->types & listen->types &&
		    (stream->flags | listen->flags) & RFM_LISTEN_EXCLUSIVE) {
			errno = EBUSY;
			return false;
		}
	}
	errno = ENOSPC;
	return count < RFM_LISTENERS_MAX;
}

static struct rfm_events *make_listener(struct ring_node *node, const struct rfm_listen *listen)
{
	struct ring_stream *stream;
	bool may;

	if (listen->flags & ~RFM_LISTEN_FLAGS || !listen->types ||
	    listen->types & ~RFM_EVENT_ALL || listen->types & RFM_EVENT_WATCHED ||
	    listen->depth > RFM_LISTEN_DEPTH_MAX) {
		errno = EINVAL;
		return NULL;
	}
	stream = new_stream(node, listen->flags, listen->depth, 0);
	if (!stream)
		return NULL;
	stream->types = listen->types;
	pthread_mutex_lock(&node->lock);
	may = may_listen(node, listen) && enlist(stream);
	if (may) {
		hand_over_latched(stream);
		hand_over(stream);
	}
	pthread_mutex_unlock(&node->lock);
	if (!may) {
		free_stream(stream);
		return NULL;
	}
	node_get(node);
	return &stream->events;
}

/* --- watches ------------------------------------------------------------------------ */

static bool compare_is_good(const struct rfm_watch *watch, const struct rfm_range *ranges)
{
	uint32_t width = watch->compare_width;
	uint64_t all;

	if (!(watch->flags & RFM_WATCH_COMPARE))
		return !watch->compare && !width && !watch->compare_offset &&
		       !watch->compare_mask && !watch->compare_value;
	if (watch->compare < RFM_COMPARE_EQUAL || watch->compare > RFM_COMPARE_CHANGED ||
	    (width != 1 && width != 2 && width != 4 && width != 8) ||
	    watch->compare_offset % width)
		return false;
	all = width == 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
	if (!watch->compare_mask || watch->compare_mask & ~all ||
	    watch->compare_value & ~watch->compare_mask)
		return false;
	for (uint32_t i = 0; i < watch->count; i++)
		if (watch->compare_offset >= ranges[i].offset &&
		    range_is_inside(ranges[i].length, watch->compare_offset - ranges[i].offset,
				    width))
			return true;
	return false;
}

static bool watch_is_good(const struct ring_node *node, const struct rfm_watch *watch)
{
	const struct rfm_range *ranges = (const struct rfm_range *)(uintptr_t)watch->ranges;

	if (watch->flags & ~RFM_WATCH_FLAGS || !watch->count ||
	    watch->count > RFM_WATCH_RANGES_MAX || watch->depth > RFM_LISTEN_DEPTH_MAX ||
	    watch->pad || check_reserved(watch->reserved) ||
	    (!(watch->flags & RFM_WATCH_EVENTFD) && watch->eventfd))
		return false;
	if (watch->silence_ns && (watch->silence_ns < RFM_WATCH_SILENCE_MIN ||
				  watch->silence_ns > RFM_WATCH_SILENCE_MAX))
		return false;
	for (uint32_t i = 0; i < watch->count; i++)
		if (!ranges[i].length ||
		    !range_is_inside(node->memory_size, ranges[i].offset, ranges[i].length))
			return false;
	return compare_is_good(watch, ranges);
}

/* A descriptor of ours for the caller's eventfd, which may be closed then. */
static int borrow_eventfd(int fd)
{
	char path[32], what[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fcntl(fd, F_GETFD) < 0)
		return -1;
	if (readlink(path, what, sizeof(what) - 1) < 0 || strcmp(what, "anon_inode:[eventfd]"))
		return fail_with(EINVAL);
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int fill_watch(struct ring_stream *stream, const struct rfm_watch *watch)
{
	const struct rfm_range *ranges = (const struct rfm_range *)(uintptr_t)watch->ranges;
	uint64_t now = clock_ns();

	stream->watch = *watch;
	stream->ranges = calloc(watch->count, sizeof(*stream->ranges));
	if (!stream->ranges)
		return fail_with(ENOMEM);
	for (uint32_t i = 0; i < watch->count; i++)
		stream->ranges[i] = (struct range){
			.first = ranges[i].offset,
			.last = ranges[i].offset + ranges[i].length - 1,
			.update_ns = now,
		};
	return 0;
}

/* With node->lock. One for all that count, as a machine does not have many, or none. */
static void prepare_counting(struct ring_stream *stream)
{
	struct ring_node *node = stream->node;

	if (stream->queue.eventfd >= 0 && !node->counting)
		syscall(SYS_io_setup, 1L, &node->counting);
	stream->queue.counting = node->counting;
}

/* With node->lock. */
static bool enlist_watch(struct ring_stream *stream)
{
	struct ring_node *node = stream->node;
	const struct rfm_watch *watch = &stream->watch;

	prepare_counting(stream);
	errno = ENOSPC;
	if (node->watches == RFM_WATCHES_MAX || watch->count > RFM_WATCHED_RANGES_MAX - node->ranges ||
	    !enlist(stream))
		return false;
	node->watches++;
	node->ranges += watch->count;
	if (watch->compare)
		read_compared(stream);
	return true;
}

/* @eventfd: becomes the stream's. NULL with errno. */
static struct ring_stream *new_watch(struct ring_node *node, const struct rfm_watch *watch,
				     int eventfd)
{
	/* A key for each range, and one for what compares. */
	struct ring_stream *stream = new_stream(node, watch->flags, watch->depth, watch->count + 1);

	if (!stream) {
		int error = errno;

		if (eventfd >= 0)
			close(eventfd);
		errno = error;
		return NULL;
	}
	stream->queue.eventfd = eventfd;
	if (watch->flags & RFM_WATCH_COALESCE)
		stream->queue.coalesced = RFM_EVENT_BIT(RFM_EVENT_UPDATE) |
					  RFM_EVENT_BIT(RFM_EVENT_MATCH);
	if (!fill_watch(stream, watch))
		return stream;
	free_stream(stream);
	return NULL;
}

static struct rfm_events *make_watch(struct ring_node *node, const struct rfm_watch *watch)
{
	struct ring_stream *stream;
	int eventfd = -1;
	bool room;

	if (!watch_is_good(node, watch)) {
		errno = EINVAL;
		return NULL;
	}
	/* Before there are descriptors of ours, one of which might have its number. */
	if (watch->flags & RFM_WATCH_EVENTFD) {
		eventfd = borrow_eventfd(watch->eventfd);
		if (eventfd < 0)
			return NULL;
	}
	stream = new_watch(node, watch, eventfd);
	if (!stream)
		return NULL;
	pthread_mutex_lock(&node->lock);
	room = enlist_watch(stream);
	pthread_mutex_unlock(&node->lock);
	if (!room) {
		free_stream(stream);
		return NULL;
	}
	node_get(node);
	/* At once: it finds out when the first silence would end. */
	if (watch->silence_ns && rfmring_set_timer(node->ring, 0)) {
		int error = errno;

		ring_events_close(&stream->events);
		errno = error;
		return NULL;
	}
	return &stream->events;
}

struct rfm_events *ring_stream(struct rfm *rfm, unsigned long request, void *argument)
{
	struct ring_node *node = node_of(rfm);

	if (node_check(node))
		return NULL;
	if (request == RFM_IOC_REGION) {
		errno = EOPNOTSUPP;	/* librfmring has none */
		return NULL;
	}
	return request == RFM_IOC_LISTEN ? make_listener(node, argument) :
	       make_watch(node, argument);
}
