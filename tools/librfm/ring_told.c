// SPDX-License-Identifier: MIT
/*
 * What librfmring tells, and which stream is told of it: what the driver makes of what a
 * card tells, see RFM_IOC_LISTEN and RFM_IOC_WATCH in linux/rfm.h.
 */
#include "ring_private.h"

#include <endian.h>

/* Of the notes who wrote, in one go: the engine may wait for them. */
#define NOTE_BYTES	65536u

void stream_push(struct ring_stream *stream, const struct rfm_event *event, uint16_t key)
{
	struct rfm_event record = *event;

	record.late = stream->late;
	stream->node->events++;
	queue_push(&stream->queue, &record, key);
}

/* --- listeners ------------------------------------------------------------------------ */

/* What a card keeps until somebody listens for it: one of each. */
#define LATCHED		(RFM_EVENT_BIT(RFM_EVENT_RESET) | RFM_EVENT_BIT(RFM_EVENT_BAD_DATA) | \
			 RFM_EVENT_BIT(RFM_EVENT_TX_FULL) | RFM_EVENT_BIT(RFM_EVENT_RX_FULL) | \
			 RFM_EVENT_BIT(RFM_EVENT_RX_ALMOST_FULL) | RFM_EVENT_BIT(RFM_EVENT_ROGUE))

/* Returns whether anybody has heard it. */
static bool to_listeners(struct ring_node *node, const struct rfm_event *event)
{
	bool heard = false;

	for (struct ring_stream *stream = node->streams; stream; stream = stream->next) {
		if (!(stream->types >> event->type & 1))
			continue;
		stream_push(stream, event, 0);
		heard = true;
	}
	if (heard || !(RFM_EVENT_BIT(event->type) & TAKEN_WHEN_HEARD))
		node->taken[event->type]++;
	if (!heard)
		node->latched |= RFM_EVENT_BIT(event->type) & LATCHED;
	return heard;
}

/* What waits in the FIFO of a card. */
static void wait_for_listener(struct ring_node *node, const struct rfm_event *event)
{
	struct backlog *backlog = &node->backlog[event->type - RFM_EVENT_INT1];

	if (backlog->count < RFM_FIFO_DEPTH)
		backlog->event[(backlog->head + backlog->count++) % RFM_FIFO_DEPTH] = *event;
	else
		node->interrupts_dropped++;
}

void ring_interrupt(void *opaque, const struct rfmring_interrupt *interrupt)
{
	struct ring_node *node = opaque;
	struct rfm_event event = {
		.type = interrupt->type,
		.node = interrupt->node,
		.data = interrupt->data,
		.count = 1,
		.time_ns = interrupt->time_ns,
	};

	pthread_mutex_lock(&node->lock);
	event.seq = ++node->interrupts;		/* the order, until it is in a queue */
	if (event.type == RFM_EVENT_RESET)
		node->seen |= RFM_LISR_RESET_REQ;
	if (!to_listeners(node, &event) && event.type != RFM_EVENT_RESET)
		wait_for_listener(node, &event);
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
	{ RFMRING_INCOMPLETE, RFM_EVENT_INCOMPLETE, 0 },
};

void ring_status(void *opaque, uint32_t what)
{
	struct rfmring_state state = { .size = sizeof(state), .break_at = RFMRING_NODE_ALL };
	struct ring_node *node = opaque;
	struct rfmring *ring = atomic_load(&node->ring);
	struct rfm_event event = { .count = 1, .time_ns = clock_ns() };

	if (what & RFMRING_OWN_DATA)
		atomic_store(&node->own_data, true);
	/* With every frame that comes home: the engine waits for nobody. */
	if (!(what & ~(uint32_t)RFMRING_OWN_DATA))
		return;
	/* rfmring_open() may call before it has returned. */
	if (ring)
		rfmring_get_state(ring, &state);
	pthread_mutex_lock(&node->lock);
	node->statuses++;
	pthread_cond_broadcast(&node->status_told);
	node->sync_losses += !!(what & RFMRING_SYNC_LOSS);
	node->breaks += !!(what & RFMRING_BREAK);
	for (size_t i = 0; i < sizeof(status_table) / sizeof(*status_table); i++) {
		if (!(what & status_table[i].status))
			continue;
		node->seen |= status_table[i].lisr;
		event.type = status_table[i].type;
		event.node = event.type == RFM_EVENT_BREAK ? state.break_at : RFM_NODE_ALL;
		event.data = event.type == RFM_EVENT_MEMBERSHIP ? state.epoch :
			     event.type == RFM_EVENT_INCOMPLETE ? state.incomplete : 0;
		to_listeners(node, &event);
	}
	pthread_mutex_unlock(&node->lock);
}

void ring_log(void *opaque, const char *sentence)
{
	struct ring_node *node = opaque;

	pthread_mutex_lock(&node->lock);
	strncpy(node->trouble, sentence, sizeof(node->trouble) - 1);
	pthread_mutex_unlock(&node->lock);
}

void ring_lost(void *opaque, uint32_t lost_node, uint64_t count)
{
	struct ring_node *node = opaque;
	struct rfm_event event = {
		.type = RFM_EVENT_LOSS,
		.node = lost_node,
		.data = count < UINT32_MAX ? count : UINT32_MAX,
		.count = 1,
		.time_ns = clock_ns(),
	};

	pthread_mutex_lock(&node->lock);
	to_listeners(node, &event);
	pthread_mutex_unlock(&node->lock);
}

/* --- the word that is compared: all with node->lock ------------------------------------ */

static bool overlaps(uint64_t first, uint64_t last, uint64_t offset, uint64_t length)
{
	return offset <= last && offset + length > first;
}

/* Are these bytes, @length at @offset, in the word? If so, @first to @end of it are they. */
static bool in_word(const struct ring_stream *stream, uint64_t offset, uint64_t length,
		    unsigned int *first, unsigned int *end)
{
	const struct rfm_watch *watch = &stream->watch;
	uint64_t at = watch->compare_offset, after = at + watch->compare_width;

	if (!watch->compare || !overlaps(at, after - 1, offset, length))
		return false;
	*first = offset > at ? offset - at : 0;
	*end = (offset + length < after ? offset + length : after) - at;
	return true;
}

static bool overlay(struct ring_stream *stream, uint64_t offset, const void *data, uint64_t length)
{
	unsigned int first, end;

	if (!in_word(stream, offset, length, &first, &end))
		return false;
	memcpy(stream->word + first, (const uint8_t *)data + stream->watch.compare_offset + first -
	       offset, end - first);
	return true;
}

static uint64_t compared(const struct ring_stream *stream)
{
	uint64_t word;

	memcpy(&word, stream->word, sizeof(word));
	return le64toh(word) & stream->watch.compare_mask;
}

void read_compared(struct ring_stream *stream)
{
	rfmring_read(stream->node->ring, stream->watch.compare_offset, stream->word,
		     stream->watch.compare_width);
}

/* Has the condition become true, since the word was @before? */
static bool has_matched(const struct ring_stream *stream, uint64_t before)
{
	uint64_t wanted = stream->watch.compare_value, now = compared(stream);

	switch (stream->watch.compare) {
	case RFM_COMPARE_EQUAL:
		return now == wanted && before != wanted;
	case RFM_COMPARE_NOT_EQUAL:
		return now != wanted && before == wanted;
	default:
		return now != before;
	}
}

/* --- updates: all with node->lock ------------------------------------------------------ */

static bool is_late(const struct ring_stream *stream, const struct rfm_event *event)
{
	return stream->watch.deadline_ns && !(event->flags & RFM_EVENT_AGE_UNKNOWN) &&
	       event->arrival_ns > event->origin_ns &&
	       event->arrival_ns - event->origin_ns > stream->watch.deadline_ns;
}

static void push_update(struct ring_stream *stream, struct rfm_event event, uint32_t type,
			uint16_t key)
{
	event.type = type;
	if (is_late(stream, &event)) {
		event.flags |= RFM_EVENT_LATE;
		stream->late++;
	}
	stream_push(stream, &event, key);
}

/* An update has touched a range: its silence is over. */
static void end_silence(struct ring_stream *stream, unsigned int i, const struct rfm_event *event)
{
	struct range *range = &stream->ranges[i];
	struct rfm_event fresh = *event;

	if (range->stale) {
		fresh.type = RFM_EVENT_FRESH;
		fresh.age_ns = event->time_ns - range->update_ns;
		range->stale = false;
		stream_push(stream, &fresh, i + 1);
		rfmring_set_timer(stream->node->ring, 0);
	}
	range->update_ns = event->time_ns;
	range->update = *event;
}

/* The last of what compares is kept by a key behind those of the ranges. */
static void to_watch(struct ring_stream *stream, const struct rfm_event *event, const void *data)
{
	const struct rfm_watch *watch = &stream->watch;
	uint64_t before = compared(stream);
	bool touched = false;

	for (uint32_t i = 0; i < watch->count; i++)
		touched |= overlaps(stream->ranges[i].first, stream->ranges[i].last,
				    event->offset, event->length);
	if (!touched)
		return;
	if (!watch->compare)
		push_update(stream, *event, RFM_EVENT_UPDATE, 0);
	else if (overlay(stream, event->offset, data, event->length) &&
		 has_matched(stream, before))
		push_update(stream, *event, RFM_EVENT_MATCH, watch->count + 1);
	for (uint32_t i = 0; watch->silence_ns && i < watch->count; i++)
		if (overlaps(stream->ranges[i].first, stream->ranges[i].last, event->offset,
			     event->length))
			end_silence(stream, i, event);
}

static bool is_owned(const struct ring_node *node, uint64_t offset, uint64_t length)
{
	return rfm_granules_is_changed(&node->owned, RFM_GRANULES_OWNED) &&
	       rfm_granules_any(&node->owned, RFM_GRANULES_OWNED, offset, length);
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
		.node = update->node,
		.flags = update->same_clock ? 0 : RFM_EVENT_AGE_UNKNOWN,
		.time_ns = update->monotonic_ns,
		.offset = update->offset,
		.length = update->length,
		.count = 1,
		.frame = update->seq,
		.origin_ns = update->time_ns,
		.arrival_ns = update->arrival_ns,
	};
	const struct last_write last = {
		.time_ns = update->time_ns, .frame = update->seq,
		.clock_domain = update->clock_domain, .node = update->node, .written = true,
	};

	memcpy(event.bytes, update->data,
	       update->length < sizeof(event.bytes) ? update->length : sizeof(event.bytes));
	pthread_mutex_lock(&node->lock);
	note_writer(node, update->offset, update->length, &last);
	for (struct ring_stream *stream = node->streams; stream; stream = stream->next)
		if (stream->watch.count)
			to_watch(stream, &event, update->data);
	if (is_owned(node, update->offset, update->length)) {
		node->conflicts++;
		event.type = RFM_EVENT_CONFLICT;
		to_listeners(node, &event);
	}
	pthread_mutex_unlock(&node->lock);
}

/*
 * Before it: who answers a store, which it may see at once, is to find it here. What another
 * node stores meanwhile in the same bytes is in the memory before it or after it.
 */
void ring_storing(struct ring_node *node, uint64_t offset, const void *data, size_t length)
{
	const struct last_write last = {
		.time_ns = ring_clock_ns(node), .node = node->id, .written = true,
	};
	const uint8_t *from = data;

	for (size_t piece; length; length -= piece, offset += piece, from += piece) {
		piece = length < NOTE_BYTES ? length : NOTE_BYTES;
		pthread_mutex_lock(&node->lock);
		note_writer(node, offset, piece, &last);
		for (struct ring_stream *stream = node->streams; stream; stream = stream->next)
			overlay(stream, offset, from, piece);
		pthread_mutex_unlock(&node->lock);
	}
}

void ring_not_stored(struct ring_node *node, uint64_t offset, size_t length)
{
	unsigned int first, end;

	pthread_mutex_lock(&node->lock);
	for (struct ring_stream *stream = node->streams; stream; stream = stream->next)
		if (in_word(stream, offset, length, &first, &end))
			rfmring_read(node->ring, stream->watch.compare_offset + first,
				     stream->word + first, end - first);
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
	stream_push(stream, &stale, i + 1);
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
