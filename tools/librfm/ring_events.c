// SPDX-License-Identifier: MIT
/*
 * Streams of a node in this process: what the driver makes of what a card tells, made here
 * of what librfmring tells, see RFM_IOC_LISTEN and RFM_IOC_WATCH in linux/rfm.h.
 *
 * A full queue drops and counts what comes. Some records cannot be dropped, as nothing may
 * ever come after them that tells of it: for these there are places beside the queue, for the
 * last of each key.
 */
#include "ring_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A watched range, and its silence. */
struct range {
	uint64_t first, last;
	uint64_t update_ns;		/* the last update, or when the watch was made */
	struct rfm_event update;	/* it; length 0: none yet */
	bool stale;
};

/**
 * struct ring_stream - a listener or a watch
 * @types: of a listener: what it hears; of a watch 0
 * @queue: of @depth records, @count of them from @head on; those before have been taken
 * @kept: the last record of a key (from 1) that found the queue full; of type
 *	RFM_EVENT_TYPES: none
 * @open_at: the record that takes in what comes, if it is still in the queue: coalescing
 * @word: what @watch.compare_* saw last
 */
struct ring_stream {
	struct rfm_events events;
	struct ring_node *node;
	struct ring_stream *next;
	uint32_t types, flags;
	uint32_t depth;
	uint64_t head, count;
	struct rfm_event *queue;
	struct rfm_event *kept;
	unsigned int keys;
	uint64_t open_at;
	uint64_t seq, dropped, late;
	bool told;			/* the descriptor is readable */

	struct rfm_watch watch;
	struct range *ranges;
	uint64_t word;
	int eventfd;			/* the caller's; -1: none */
};

#define NO_RECORD	UINT64_MAX
#define NO_KEY		0u

static struct ring_stream *to_stream(struct rfm_events *events)
{
	return (struct ring_stream *)events;
}

/* --- the queue: all with node->lock ------------------------------------------------- */

static struct rfm_event *record_at(struct ring_stream *stream, uint64_t at)
{
	return &stream->queue[at % stream->depth];
}

static void tell(struct ring_stream *stream)
{
	const uint64_t one = 1;

	if (!stream->told && write(stream->events.fd, &one, sizeof(one)) == sizeof(one))
		stream->told = true;
}

static void append(struct ring_stream *stream, const struct rfm_event *event)
{
	*record_at(stream, stream->head + stream->count++) = *event;
	tell(stream);
}

static bool takes_in(const struct ring_stream *stream, uint32_t type)
{
	return stream->watch.flags & RFM_WATCH_COALESCE &&
	       (type == RFM_EVENT_UPDATE || type == RFM_EVENT_MATCH) &&
	       stream->open_at >= stream->head && stream->open_at < stream->head + stream->count;
}

/* @key: what is kept of it if there is no room; NO_KEY: nothing is */
static void push(struct ring_stream *stream, struct rfm_event event, unsigned int key)
{
	const uint64_t one = 1;

	event.seq = ++stream->seq;
	event.dropped = stream->dropped;
	event.late = stream->late;
	stream->node->events++;
	if (takes_in(stream, event.type)) {
		struct rfm_event *open = record_at(stream, stream->open_at);

		event.count += open->count;
		event.flags |= open->flags & RFM_EVENT_LATE;
		*open = event;
		return;
	}
	if (stream->count < stream->depth) {
		if (event.type == RFM_EVENT_UPDATE || event.type == RFM_EVENT_MATCH)
			stream->open_at = stream->head + stream->count;
		append(stream, &event);
	} else if (key == NO_KEY) {
		stream->dropped++;
	} else {
		struct rfm_event *kept = &stream->kept[key - 1];

		if (kept->type != RFM_EVENT_TYPES)
			event.dropped = ++stream->dropped;
		*kept = event;
	}
	/* Its counter does not fill up in our days. */
	if (stream->eventfd >= 0 && write(stream->eventfd, &one, sizeof(one)) < 0)
		stream->eventfd = -1;
}

/* What was kept goes into the queue in its order, as far as there is room now. */
static void fetch_kept(struct ring_stream *stream)
{
	while (stream->count < stream->depth) {
		struct rfm_event *oldest = NULL;

		for (unsigned int i = 0; i < stream->keys; i++) {
			struct rfm_event *kept = &stream->kept[i];

			if (kept->type != RFM_EVENT_TYPES && (!oldest || kept->seq < oldest->seq))
				oldest = kept;
		}
		if (!oldest)
			return;
		append(stream, oldest);
		oldest->type = RFM_EVENT_TYPES;
	}
}

static int ring_events_take(struct rfm_events *events, struct rfm_event *records, size_t count)
{
	struct ring_stream *stream = to_stream(events);
	struct ring_node *node = stream->node;
	uint64_t told;
	size_t taken = 0;

	pthread_mutex_lock(&node->lock);
	while (taken < count && stream->count) {
		records[taken++] = *record_at(stream, stream->head++);
		if (!--stream->count || stream->count == stream->depth - 1)
			fetch_kept(stream);
	}
	if (!stream->count && stream->told) {
		stream->told = false;
		if (read(stream->events.fd, &told, sizeof(told)) < 0)
			stream->told = errno != EAGAIN;
	}
	pthread_mutex_unlock(&node->lock);
	return taken ? (int)taken : fail_with(EAGAIN);
}

/* --- what librfmring tells ---------------------------------------------------------- */

static void to_listeners(struct ring_node *node, const struct rfm_event *event)
{
	node->taken[event->type]++;
	for (struct ring_stream *stream = node->streams; stream; stream = stream->next)
		if (stream->types >> event->type & 1)
			push(stream, *event, NO_KEY);
}

static bool is_heard(const struct ring_node *node, uint32_t type)
{
	for (const struct ring_stream *stream = node->streams; stream; stream = stream->next)
		if (stream->types >> type & 1)
			return true;
	return false;
}

void ring_interrupt(void *opaque, const struct rfmring_interrupt *interrupt)
{
	struct ring_node *node = opaque;
	struct rfm_event event = {
		.type = interrupt->type == 7 ? RFM_EVENT_INT4 : interrupt->type,
		.node = interrupt->from,
		.data = interrupt->data,
		.count = 1,
		.time_ns = interrupt->time_ns,
	};
	struct backlog *backlog = &node->backlog[event.type];

	pthread_mutex_lock(&node->lock);
	event.seq = ++node->interrupts;		/* the order, until it is in a queue */
	if (is_heard(node, event.type))
		to_listeners(node, &event);
	else if (backlog->count < RFM_FIFO_DEPTH)
		backlog->event[(backlog->head + backlog->count++) % RFM_FIFO_DEPTH] = event;
	else
		node->interrupts_dropped++;
	pthread_mutex_unlock(&node->lock);
}

/* What a status of librfmring is on a card. */
static const struct {
	uint32_t status, type, lisr;
} status_table[] = {
	{ RFMRING_SYNC_LOSS, RFM_EVENT_SYNC_LOSS, RFM_LISR_SYNC_LOSS },
	{ RFMRING_BAD_DATA, RFM_EVENT_BAD_DATA, RFM_LISR_BAD_DATA },
	{ RFMRING_TX_FULL, RFM_EVENT_TX_FULL, RFM_LISR_TX_FULL },
	{ RFMRING_RX_FULL, RFM_EVENT_RX_FULL, RFM_LISR_RX_FULL },
	{ RFMRING_RX_ALMOST_FULL, RFM_EVENT_RX_ALMOST_FULL, RFM_LISR_RX_ALMOST_FULL },
	{ RFMRING_ROGUE, RFM_EVENT_ROGUE, RFM_LISR_ROGUE },
	{ RFMRING_SIGNAL, RFM_EVENT_SIGNAL, 0 },
	{ RFMRING_BREAK, RFM_EVENT_BREAK, 0 },
	{ RFMRING_EPOCH, RFM_EVENT_MEMBERSHIP, 0 },
	{ RFMRING_DUPLICATE_ID, RFM_EVENT_ID_IN_USE, 0 },
};

void ring_status(void *opaque, uint32_t what)
{
	struct rfmring_state state = { .size = sizeof(state), .break_at = RFMRING_UNKNOWN };
	struct ring_node *node = opaque;
	struct rfm_event event = { .count = 1, .time_ns = clock_ns() };

	/* rfmring_open() may call before it has returned. */
	if (node->ring)
		rfmring_get_state(node->ring, &state);
	pthread_mutex_lock(&node->lock);
	node->statuses++;
	pthread_cond_broadcast(&node->status_told);
	node->own_data |= what & RFMRING_OWN_DATA;
	node->sync_losses += !!(what & RFMRING_SYNC_LOSS);
	node->breaks += !!(what & RFMRING_BREAK);
	for (size_t i = 0; i < sizeof(status_table) / sizeof(*status_table); i++) {
		if (!(what & status_table[i].status))
			continue;
		node->lisr |= status_table[i].lisr;
		event.type = status_table[i].type;
		event.node = event.type == RFM_EVENT_BREAK && state.break_at != RFMRING_UNKNOWN ?
			     (uint32_t)state.break_at : RFM_NODE_ALL;
		event.data = event.type == RFM_EVENT_MEMBERSHIP ? state.epoch : 0;
		to_listeners(node, &event);
	}
	pthread_mutex_unlock(&node->lock);
}

void ring_lost(void *opaque, int source, uint64_t count)
{
	struct ring_node *node = opaque;
	struct rfm_event event = {
		.type = RFM_EVENT_LOSS,
		.node = source,
		.data = count < UINT32_MAX ? count : UINT32_MAX,
		.count = 1,
		.time_ns = clock_ns(),
	};

	pthread_mutex_lock(&node->lock);
	to_listeners(node, &event);
	pthread_mutex_unlock(&node->lock);
}

/* --- updates: all with node->lock --------------------------------------------------- */

static uint64_t look_at_word(const struct ring_stream *stream)
{
	const struct rfm_watch *watch = &stream->watch;
	uint64_t word = 0;

	rfmring_read(stream->node->ring, watch->compare_offset, &word, watch->compare_width);
	return word & watch->compare_mask;
}

/* Has the condition become true since the last look? */
static bool has_matched(struct ring_stream *stream)
{
	uint64_t before = stream->word, wanted = stream->watch.compare_value;

	stream->word = look_at_word(stream);
	switch (stream->watch.compare) {
	case RFM_COMPARE_EQUAL:
		return stream->word == wanted && before != wanted;
	case RFM_COMPARE_NOT_EQUAL:
		return stream->word != wanted && before == wanted;
	default:
		return stream->word != before;
	}
}

static bool is_late(const struct ring_stream *stream, const struct rfm_event *event)
{
	return stream->watch.deadline_ns && !(event->flags & RFM_EVENT_AGE_UNKNOWN) &&
	       event->arrival_ns > event->origin_ns &&
	       event->arrival_ns - event->origin_ns > stream->watch.deadline_ns;
}

static void push_update(struct ring_stream *stream, struct rfm_event event, uint32_t type,
			unsigned int key)
{
	event.type = type;
	if (is_late(stream, &event)) {
		event.flags |= RFM_EVENT_LATE;
		stream->late++;
	}
	push(stream, event, key);
}

static bool overlaps(uint64_t first, uint64_t last, uint64_t offset, uint64_t length)
{
	return offset <= last && offset + length > first;
}

/* An update has touched a range: its silence is over. */
static void end_silence(struct ring_stream *stream, unsigned int i, const struct rfm_event *event)
{
	struct range *range = &stream->ranges[i];
	struct rfm_event fresh = *event;

	if (range->stale) {
		fresh.type = RFM_EVENT_FRESH;
		fresh.age_ns = event->arrival_ns - range->update_ns;
		range->stale = false;
		push(stream, fresh, i + 1);
		rfmring_set_timer(stream->node->ring, 0);
	}
	range->update_ns = event->arrival_ns;
	range->update = *event;
}

static void to_watch(struct ring_stream *stream, const struct rfm_event *event)
{
	const struct rfm_watch *watch = &stream->watch;
	bool touched = false;

	for (uint32_t i = 0; i < watch->count; i++)
		touched |= overlaps(stream->ranges[i].first, stream->ranges[i].last,
				    event->offset, event->length);
	if (!touched)
		return;
	if (!(watch->flags & RFM_WATCH_COMPARE))
		push_update(stream, *event, RFM_EVENT_UPDATE, NO_KEY);
	else if (overlaps(watch->compare_offset, watch->compare_offset + watch->compare_width - 1,
			  event->offset, event->length) && has_matched(stream))
		push_update(stream, *event, RFM_EVENT_MATCH, stream->keys);
	for (uint32_t i = 0; watch->silence_ns && i < watch->count; i++)
		if (overlaps(stream->ranges[i].first, stream->ranges[i].last, event->offset,
			     event->length))
			end_silence(stream, i, event);
}

static bool is_owned(const struct ring_node *node, uint64_t offset, uint64_t length)
{
	for (const struct ring_handle *handle = node->handles; handle; handle = handle->next)
		for (unsigned int i = 0; i < handle->owned_count; i++)
			if (overlaps(handle->owned[i].first * RFM_GRANULE,
				     handle->owned[i].end * RFM_GRANULE - 1, offset, length))
				return true;
	return false;
}

static void note_writer(struct ring_node *node, uint64_t offset, uint64_t length,
			const struct last_write *last)
{
	for (uint64_t at = offset / RFM_GRANULE; at < GRANULES(offset + length); at++)
		node->last[at] = *last;
}

void ring_update(void *opaque, const struct rfmring_update *update)
{
	struct ring_node *node = opaque;
	struct rfm_event event = {
		.node = update->source,
		.flags = update->clock_domain == node->clock_domain ? 0 : RFM_EVENT_AGE_UNKNOWN,
		.time_ns = update->arrival_ns,
		.offset = update->offset,
		.length = update->length,
		.count = 1,
		.frame = update->seq,
		.origin_ns = update->time_ns,
		.arrival_ns = update->arrival_ns,
	};
	const struct last_write last = {
		.time_ns = update->time_ns, .frame = update->seq,
		.clock_domain = update->clock_domain, .node = update->source, .written = true,
	};

	memcpy(event.bytes, update->data,
	       update->length < sizeof(event.bytes) ? update->length : sizeof(event.bytes));
	pthread_mutex_lock(&node->lock);
	note_writer(node, update->offset, update->length, &last);
	for (struct ring_stream *stream = node->streams; stream; stream = stream->next)
		if (stream->watch.count)
			to_watch(stream, &event);
	if (is_owned(node, update->offset, update->length)) {
		node->conflicts++;
		event.type = RFM_EVENT_CONFLICT;
		to_listeners(node, &event);
	}
	pthread_mutex_unlock(&node->lock);
}

void ring_stored(struct ring_node *node, uint64_t offset, size_t length)
{
	const struct last_write last = {
		.time_ns = clock_ns(), .clock_domain = node->clock_domain,
		.node = node->id, .written = true,
	};

	if (!length)
		return;
	pthread_mutex_lock(&node->lock);
	note_writer(node, offset, length, &last);
	for (struct ring_stream *stream = node->streams; stream; stream = stream->next)
		if (stream->watch.compare && overlaps(offset, offset + length - 1,
						      stream->watch.compare_offset,
						      stream->watch.compare_width))
			stream->word = look_at_word(stream);
	pthread_mutex_unlock(&node->lock);
}

/* --- silence ------------------------------------------------------------------------ */

static void begin_silence(struct ring_stream *stream, unsigned int i, uint64_t now)
{
	struct range *range = &stream->ranges[i];
	struct rfm_event stale = range->update;

	if (!stale.length) {
		stale.node = RFM_NODE_ALL;
		stale.flags = RFM_EVENT_NEVER;
		stale.offset = range->first;
		stale.length = range->last - range->first + 1;
	}
	stale.type = RFM_EVENT_STALE;
	stale.count = 1;
	stale.time_ns = now;
	stale.age_ns = now - range->update_ns;
	range->stale = true;
	push(stream, stale, i + 1);
}

/* Each range that is silent for too long; then again when the next one would be. */
void ring_timer(void *opaque, uint64_t now)
{
	struct ring_node *node = opaque;
	uint64_t next = UINT64_MAX;

	pthread_mutex_lock(&node->lock);
	for (struct ring_stream *stream = node->streams; stream; stream = stream->next) {
		if (!stream->watch.silence_ns)
			continue;
		for (uint32_t i = 0; i < stream->watch.count; i++) {
			struct range *range = &stream->ranges[i];
			uint64_t end = range->update_ns + stream->watch.silence_ns;

			if (range->stale)
				continue;	/* until the next update, which sets the timer */
			if (end <= now)
				begin_silence(stream, i, now);
			else if (end < next)
				next = end;
		}
	}
	pthread_mutex_unlock(&node->lock);
	rfmring_set_timer(node->ring, next);
}

/* --- life --------------------------------------------------------------------------- */

static void free_stream(struct ring_stream *stream)
{
	if (stream->eventfd >= 0)
		close(stream->eventfd);
	if (stream->events.fd >= 0)
		close(stream->events.fd);
	free(stream->queue);
	free(stream->kept);
	free(stream->ranges);
	free(stream);
}

static void ring_events_close(struct rfm_events *events)
{
	struct ring_stream *stream = to_stream(events), **at;
	struct ring_node *node = stream->node;

	pthread_mutex_lock(&node->lock);
	for (at = &node->streams; *at != stream; at = &(*at)->next)
		;
	*at = stream->next;
	node->watches -= stream->watch.count != 0;
	pthread_mutex_unlock(&node->lock);
	free_stream(stream);
	node_put(node);
}

static const struct rfm_events_ops ring_events_ops = {
	.take = ring_events_take,
	.close = ring_events_close,
};

/* @flags: RFM_LISTEN_NONBLOCK and _CLOEXEC, which those of a watch are too */
static struct ring_stream *new_stream(struct ring_node *node, uint32_t flags, uint32_t depth,
				      unsigned int keys)
{
	struct ring_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->node = node;
	stream->flags = flags;
	stream->depth = depth ? depth : RFM_LISTEN_DEPTH_DEFAULT;
	stream->keys = keys;
	stream->open_at = NO_RECORD;
	stream->eventfd = -1;
	stream->queue = malloc(stream->depth * sizeof(*stream->queue));
	stream->kept = calloc(keys + 1, sizeof(*stream->kept));
	stream->events.fd = eventfd(0, EFD_NONBLOCK |
				    (flags & RFM_LISTEN_CLOEXEC ? EFD_CLOEXEC : 0));
	if (!stream->queue || !stream->kept || stream->events.fd < 0 ||
	    events_init(&stream->events, &ring_events_ops, stream->events.fd)) {
		free_stream(stream);
		errno = ENOMEM;
		return NULL;
	}
	for (unsigned int i = 0; i < keys; i++)
		stream->kept[i].type = RFM_EVENT_TYPES;
	return stream;
}

/* With node->lock. */
static void enlist(struct ring_stream *stream)
{
	stream->next = stream->node->streams;
	stream->node->streams = stream;
}

static void drop_stream(struct ring_stream *stream)
{
	int error = errno;

	close(stream->events.cancel_fd);
	free_stream(stream);
	errno = error;
}

/* --- listeners ---------------------------------------------------------------------- */

/* Interrupts that waited for somebody to hear them, in the order in which they came. */
static void hand_over(struct ring_stream *stream)
{
	struct ring_node *node = stream->node;

	for (;;) {
		struct backlog *oldest = NULL;

		for (unsigned int type = 0; type < SENT_TYPES; type++) {
			struct backlog *backlog = &node->backlog[type];

			if (!(stream->types >> type & 1) || !backlog->count)
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
		push(stream, oldest->event[oldest->head], NO_KEY);
		oldest->head = (oldest->head + 1) % RFM_FIFO_DEPTH;
		oldest->count--;
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
	    listen->depth > RFM_LISTEN_DEPTH_MAX || listen->reserved) {
		errno = EINVAL;
		return NULL;
	}
	stream = new_stream(node, listen->flags, listen->depth, 0);
	if (!stream)
		return NULL;
	stream->types = listen->types;
	pthread_mutex_lock(&node->lock);
	may = may_listen(node, listen);
	if (may) {
		hand_over(stream);
		enlist(stream);
	}
	pthread_mutex_unlock(&node->lock);
	if (!may) {
		drop_stream(stream);
		return NULL;
	}
	node_get(node);
	return &stream->events;
}

/* --- watches ------------------------------------------------------------------------ */

static bool is_zero(const uint64_t *words, size_t count)
{
	while (count && !words[count - 1])
		count--;
	return !count;
}

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
	    !is_zero((const uint64_t *)watch->reserved, 4) ||
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
	/* A key for each range, and one for what compares. */
	stream = new_stream(node, watch->flags, watch->depth, watch->count + 1);
	if (!stream) {
		if (eventfd >= 0)
			close(eventfd);
		errno = ENOMEM;
		return NULL;
	}
	stream->eventfd = eventfd;
	if (fill_watch(stream, watch)) {
		drop_stream(stream);
		return NULL;
	}
	pthread_mutex_lock(&node->lock);
	room = node->watches < RFM_WATCHES_MAX;
	if (room) {
		node->watches++;
		if (watch->flags & RFM_WATCH_COMPARE)
			stream->word = look_at_word(stream);
		enlist(stream);
	}
	pthread_mutex_unlock(&node->lock);
	if (!room) {
		drop_stream(stream);
		errno = ENOSPC;
		return NULL;
	}
	node_get(node);
	/* At once: it finds out when the first silence would end. */
	if (watch->silence_ns)
		rfmring_set_timer(node->ring, 0);
	return &stream->events;
}

struct rfm_events *ring_stream(struct rfm *rfm, unsigned long request, void *argument)
{
	struct ring_node *node = ((struct ring_handle *)rfm)->node;

	return request == RFM_IOC_LISTEN ? make_listener(node, argument) :
	       make_watch(node, argument);
}
