// SPDX-License-Identifier: MIT
/* The node's receiving half: what comes from upstream. */
#include "ring/node-private.h"

#include <string.h>

#include "ring/frame-layout.h"

#define NIC_EVALUATED	0x8f	/* types 0 to 3 and 7; the others are reserved */
#define HELD_ALMOST_FULL	(RFM_NODE_HELD_SLOTS / 4 * 3)

static bool is_second(const struct rfm_frame *frame)
{
	return frame->flags & RFM_FLAG_SECOND;
}

void rfm_node_receive_bad(struct rfm_node *node)
{
	node->stats.bad++;
	if (!node->left)
		node->ops->status(node->opaque, RFM_NODE_BAD_DATA);
}

static void receive_own(struct rfm_node *node, const struct rfm_frame *frame, uint64_t now)
{
	bool numbered = rfm_frame_is_numbered(frame);
	bool was_closed = !rfm_next_may_leave(node);
	uint64_t last = rfm_frame_last(frame);

	if (last > node->seq) {
		rfm_node_receive_bad(node);	/* we never sent that */
		return;
	}
	if (numbered && last <= node->home_seq) {
		if (is_second(frame))
			node->stats.copies += frame->count;
		else
			node->stats.late += frame->count;
	}
	if (frame->type == RFM_FRAME_HEARTBEAT)
		rfm_heartbeat_home(node, rfm_elapsed_ns(frame->time_ns, rfm_node_clock(node, now)), now);
	if (frame->type == RFM_FRAME_PACKET && last > node->home_seq)
		rfm_packet_home(node, frame);
	/* What a node on the way has not stored is as good as lost. */
	rfm_retire_up_to(node, last, numbered && !(frame->marks & RFM_MARK_UNSTORED) ?
			 frame->count : 0, frame->marks & RFM_MARK_PAUSED, now);
	if (rfm_frame_is_update(frame))
		node->ops->status(node->opaque, RFM_NODE_OWN_DATA);
	/* With credit left nothing waits for it: leave the queue to the next pull. */
	if (was_closed) {
		node->credit_time = now;
		rfm_node_send_queued(node, now);
	}
}

/*
 * Another node has my id. The one that came later leaves; it learns of it by
 * a notice that names it, because only the earlier one can be sure that a
 * frame is not left over from a former incarnation of its own.
 */
static void receive_duplicate_id(struct rfm_node *node, const struct rfm_frame *frame,
				 uint64_t now)
{
	if (node->config.authentic_ids)
		return;
	if (frame->type == RFM_FRAME_DUPLICATE &&
	    get64(frame->data) == node->config.incarnation) {
		if (node->left)
			return;
		if (rfm_node_signal(node))
			node->ops->status(node->opaque, RFM_NODE_SYNC_LOSS);
		node->left = true;
		rfm_cancel_own(node);
		node->ops->status(node->opaque, RFM_NODE_DUPLICATE_ID);
		return;
	}
	if (frame->incarnation > node->config.incarnation && !node->left &&
	    now - node->duplicate_notice_time >= RFM_NODE_HEARTBEAT_NS) {
		node->duplicate_notice_time = now;
		rfm_send_duplicate(node, frame->incarnation, now);
	}
}

/*
 * Is another incarnation of a source alive, although the current one is the later? The
 * current one must be silent, and two heartbeats have come since at their usual
 * distance: what stood still somewhere on the ring comes all at once.
 */
static bool other_is_alive(struct rfm_source *source, const struct rfm_frame *frame, uint64_t now)
{
	if (now - source->heard < RFM_NODE_SILENCE_NS || frame->type != RFM_FRAME_HEARTBEAT)
		return false;
	if (source->other_heard_ns > source->heard)
		return now - source->other_heard_ns >= RFM_NODE_HEARTBEAT_NS / 2;
	source->other_heard_ns = now;
	return false;
}

/* Is this frame of the incarnation of its source that counts? Makes it so if it should be. */
static bool is_current_incarnation(struct rfm_node *node, struct rfm_source *source,
				   const struct rfm_frame *frame, uint64_t now)
{
	const struct rfm_incarnation current = source->current;

	if (frame->type == RFM_FRAME_DUPLICATE)
		source->refused_incarnation = get64(frame->data);
	if (frame->incarnation == current.incarnation)
		return true;
	if (frame->incarnation == source->refused_incarnation)
		return false;

	/* What it sent before we met is not ours to miss. */
	if (frame->incarnation != source->other.incarnation) {
		source->other = (struct rfm_incarnation){
			.incarnation = frame->incarnation,
			.seq = frame->seq - rfm_frame_is_numbered(frame),
		};
		source->other.had_begun = source->other.seq;
		source->other_heard_ns = 0;
	}
	/*
	 * A later one counts as soon as it sends something: until then it may be
	 * a second node of that id, which is about to be told to leave. An earlier
	 * one is what is left of it on the ring, unless it speaks up.
	 */
	if (current.incarnation && frame->type != RFM_FRAME_DUPLICATE &&
	    (frame->incarnation < current.incarnation || !frame->seq) &&
	    !other_is_alive(source, frame, now))
		return false;
	source->current = source->other;
	source->other = current;
	source->unstored = true;
	if (source->current.had_begun)
		rfm_node_set_incomplete(node);
	source->current.had_begun = false;	/* said once */
	/* Who was not here comes, which counts as one change. */
	if (source->present)
		rfm_new_epoch(node);
	return true;
}

/* How a frame of another node stands to those that came before it. */
enum freshness {
	STALE_SELF,	/* of an earlier incarnation of this id: no business of ours */
	LATE,
	COPY,		/* the second one of the last frame */
	NEWER,		/* than all that came from there; of a train each frame is */
};

/* How long was it under way? @arrival: on this node's clock. */
static void note_transit(const struct rfm_node *node, struct rfm_source *source,
			 const struct rfm_frame *frame, uint64_t arrival)
{
	source->clock_domain = frame->clock_domain;
	source->transit_ns = source->ahead_ns = 0;
	if (frame->clock_domain != node->config.clock_domain)
		return;
	source->transit_ns = rfm_elapsed_ns(frame->time_ns, arrival);
	if (frame->time_ns > arrival)
		source->ahead_ns = frame->time_ns - arrival;
}

static void heard_heartbeat(struct rfm_node *node, struct rfm_source *source,
			    const struct rfm_frame *frame)
{
	source->paused = frame->kind & RFM_KIND_PAUSED;
	source->incomplete = frame->kind & RFM_KIND_INCOMPLETE;
	if (source->met == frame->incarnation)
		return;
	source->met = frame->incarnation;
	/* It was there before this node, and so were those who have sent what it has. */
	if (frame->kind & RFM_KIND_USED && frame->incarnation < node->config.incarnation)
		rfm_node_set_incomplete(node);
}

/* Follow the numbers of another node. */
static enum freshness check_sequence(struct rfm_node *node, const struct rfm_frame *frame,
				     uint64_t now)
{
	struct rfm_source *source = &node->sources[frame->source];
	bool numbered = rfm_frame_is_numbered(frame);
	unsigned int numbers = numbered ? frame->count : 0;
	uint64_t missed;

	if (!is_current_incarnation(node, source, frame, now)) {
		node->stats.late += numbers;
		return LATE;
	}
	if (!source->present) {
		source->present = true;
		rfm_members_changed(node);
	}
	source->heard = now;
	source->hops = frame->hops;
	source->hubs = frame->marks >> RFM_MARK_HUBS_SHIFT & 0xf;
	if (frame->type == RFM_FRAME_HEARTBEAT)
		heard_heartbeat(node, source, frame);
	note_transit(node, source, frame, rfm_node_clock(node, now));
	if (frame->seq <= source->current.seq) {
		if (is_second(frame) && frame->seq == source->current.seq) {
			node->stats.copies += numbers;
			return COPY;
		}
		node->stats.late += numbers;
		return LATE;
	}
	missed = frame->seq - source->current.seq - numbered;
	source->current.seq = rfm_frame_last(frame);
	if (missed) {
		rfm_node_set_incomplete(node);
		node->stats.missed += missed;
		source->missed += missed;
		if (node->ops->missed)
			node->ops->missed(node->opaque, frame->source, missed,
					  frame->seq + !numbered);
	}
	return NEWER;
}

/* Store what lies within the memory. Returns how much that was. */
static unsigned int store_within(struct rfm_node *node, uint32_t offset, const uint8_t *data,
				 unsigned int len, const struct rfm_origin *origin)
{
	uint64_t size = node->config.memory_size;

	if (offset >= size || !len)
		return 0;
	if (len > size - offset)
		len = size - offset;
	node->ops->apply(node->opaque, offset, data, len, origin);
	return len;
}

/* The data of one frame: our address offset may wrap inside it. */
static void apply_piece(struct rfm_node *node, uint32_t offset, const uint8_t *data,
			unsigned int length, const struct rfm_origin *origin)
{
	unsigned int to_end = RFM_RING_SPACE - offset;
	unsigned int len = length < to_end ? length : to_end;
	unsigned int stored = store_within(node, offset, data, len, origin);

	stored += store_within(node, 0, data + len, length - len, origin);
	if (stored < length)
		node->stats.beyond++;
}

static void apply_data(struct rfm_node *node, const struct rfm_frame *frame,
		       const uint8_t *data, uint64_t arrival)
{
	struct rfm_origin origin = {
		.node = frame->source,
		.same_clock = frame->clock_domain == node->config.clock_domain,
		.clock_domain = frame->clock_domain,
		.seq = frame->seq,
		.time_ns = frame->time_ns,
		.arrival_ns = rfm_node_clock(node, arrival),
		.now = arrival,
	};
	uint32_t offset = (frame->address - node->address_offset) % RFM_RING_SPACE;
	unsigned int left = frame->length;

	if (offset < node->config.memory_size && left <= node->config.memory_size - offset) {
		node->ops->apply(node->opaque, offset, data, left, &origin);
		return;
	}
	for (unsigned int len; left; left -= len, data += len, origin.seq++) {
		len = left < RFM_FRAME_DATA_MAX ? left : RFM_FRAME_DATA_MAX;
		apply_piece(node, offset, data, len, &origin);
		offset = (offset + len) % RFM_RING_SPACE;
	}
}

/* Is it for this node? @data: of the frame. */
static bool is_for_us(const struct rfm_node *node, const struct rfm_frame *frame,
		      const uint8_t *data)
{
	uint8_t id = node->config.id;

	if (frame->type == RFM_FRAME_MULTICAST)
		return data[4 + id / 8] >> id % 8 & 1;
	return frame->kind & NIC_GLOBAL || frame->dest == id;
}

static void apply_interrupt(struct rfm_node *node, const struct rfm_frame *frame,
			    const uint8_t *data)
{
	uint8_t type = frame->kind & NIC_TYPE;

	if (NIC_EVALUATED >> type & 1 && is_for_us(node, frame, data))
		node->ops->interrupt(node->opaque, type, frame->source, get32(data));
}

/* Let an update do what it does; it came at @arrival. */
static void apply_update(struct rfm_node *node, const struct rfm_frame *frame, const uint8_t *wire,
			 uint64_t arrival)
{
	const uint8_t *data = wire + RFM_FRAME_HEADER;

	if (frame->type == RFM_FRAME_DATA)
		apply_data(node, frame, data, arrival);
	else
		apply_interrupt(node, frame, data);
}

/*
 * May updates wait here for the guest? Once one found no room, none may until the guest goes on:
 * an update must not be seen without those before it.
 */
static bool may_hold(const struct rfm_node *node, unsigned int frames)
{
	return !node->held_full && rfm_fifo_used(&node->held) + frames <= RFM_NODE_HELD_SLOTS;
}

/*
 * Keep it until the guest goes on; @counted: as received. Returns false if there
 * is no room.
 */
static bool hold(struct rfm_node *node, const uint8_t *wire, unsigned int len,
		 uint64_t arrival, bool counted)
{
	unsigned int frames = rfm_unit_frames(len);
	bool filling = rfm_fifo_used(&node->held) < HELD_ALMOST_FULL;
	struct rfm_fifo_slot *slot;

	if (!may_hold(node, frames)) {
		node->held_full = true;
		node->stats.held_lost += frames;
		rfm_node_set_incomplete(node);
		node->ops->status(node->opaque, RFM_NODE_RX_FULL);
		return false;
	}
	slot = rfm_fifo_put(&node->held, frames);
	slot->ready = arrival;
	slot->tag = counted ? TAG_COUNTED : TAG_TRANSIT;
	slot->length = len;
	rfm_frame_copy(slot->wire, wire, len);
	if (filling && rfm_fifo_used(&node->held) >= HELD_ALMOST_FULL)
		node->ops->status(node->opaque, RFM_NODE_RX_ALMOST_FULL);
	return true;
}

/* Will this node never do what the frame says? Its originator must know, so before it goes on. */
static bool will_not_store(struct rfm_node *node, const struct rfm_frame *frame,
			   enum freshness freshness)
{
	struct rfm_source *source = &node->sources[frame->source];
	bool unstored = node->paused && rfm_frame_is_update(frame) &&
			!may_hold(node, frame->count);

	if (freshness == STALE_SELF)
		unstored = true;
	else if (freshness == LATE)
		unstored |= !node->config.authentic_late || is_second(frame) ||
			    frame->type == RFM_FRAME_PACKET;
	else if (freshness == COPY)
		unstored = source->unstored;
	else	/* A heartbeat tells of a number that has not come. */
		source->unstored = unstored || !rfm_frame_is_numbered(frame);
	return unstored && rfm_frame_is_numbered(frame);
}

/* The marks that a packet gets here. A second copy gets those of the first. */
static uint16_t verdict_on(struct rfm_node *node, const struct rfm_frame *frame,
			   const uint8_t *data, enum freshness freshness)
{
	struct rfm_source *source = &node->sources[frame->source];

	if (freshness == NEWER)
		source->verdict = rfm_packet_is_for_us(node, frame) ?
				  rfm_packet_judge(node, frame, data) : 0;
	return freshness == NEWER || freshness == COPY ? source->verdict : 0;
}

/* Take part in a frame of another node; see the order in node.h. */
static void process_frame(struct rfm_node *node, const struct rfm_frame *frame,
			  const uint8_t *wire, unsigned int len, bool newer, uint64_t now)
{
	bool update = rfm_frame_is_update(frame);
	struct rfm_source *source = &node->sources[frame->source];

	if (frame->type == RFM_FRAME_BREAK &&
	    frame->incarnation == source->current.incarnation) {
		node->break_at = frame->source;
		source->broke = now;
		node->break_heard = true;
		node->ops->status(node->opaque, RFM_NODE_BREAK);
	}
	/* A notice has no number of its own that could be newer. */
	if (frame->type == RFM_FRAME_ANSWER && frame->dest == node->config.id &&
	    frame->incarnation == source->current.incarnation)
		rfm_receive_answer(node, frame, wire + RFM_FRAME_HEADER);
	/*
	 * What is old is not stored again, except where the ring is to be as late as a real
	 * one: glass knows no sequence numbers, and a rogue packet overwrites newer data there.
	 */
	if (!newer && !(update && node->config.authentic_late && !is_second(frame)))
		return;
	if (update && node->paused && !hold(node, wire, len, now, newer))
		return;
	if (newer && rfm_frame_is_numbered(frame)) {
		node->stats.received += frame->count;
		source->received += frame->count;
		if (frame->type == RFM_FRAME_DATA)
			node->stats.received_bytes += frame->length;
	}
	if (update && !node->paused)
		apply_update(node, frame, wire, now);
	if (frame->type == RFM_FRAME_QUERY)
		rfm_answer_query(node, frame, wire + RFM_FRAME_HEADER, now);
}

/* On a paced line each frame has its time. */
static void forward_one_by_one(struct rfm_node *node, const uint8_t *train, unsigned int count,
			       uint64_t ready)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rfm_fifo_slot *slot = rfm_transmit_put(node, TAG_TRANSIT, 1, ready);

		slot->length = rfm_train_frame(train, i, slot->wire);
	}
}

static void forward(struct rfm_node *node, uint8_t *wire, unsigned int len,
		    const struct rfm_frame *frame, uint64_t now)
{
	uint16_t marks = frame->marks | node->config.rogue_master;
	uint64_t ready = now + node->config.line.hop_ns;
	struct rfm_fifo_slot *slot;

	if (!rfm_can_forward(node)) {
		node->stats.unsendable += frame->count;
		return;
	}
	if (rfm_fifo_used(&node->transmit) + frame->count > RFM_NODE_TX_SLOTS) {
		node->stats.overrun += frame->count;
		node->ops->status(node->opaque, RFM_NODE_TX_FULL);
		return;
	}
	if (node->paused)
		marks |= RFM_MARK_PAUSED;
	if (rfm_frame_is_train(wire) && node->config.line.paced) {
		rfm_frame_set_path(wire, frame->hops + 1, marks);
		forward_one_by_one(node, wire, frame->count, ready);
	} else {
		slot = rfm_transmit_put(node, TAG_TRANSIT, frame->count, ready);
		slot->length = len;
		rfm_frame_copy(slot->wire, wire, len);
		rfm_frame_set_path(slot->wire, frame->hops + 1, marks);
	}
	node->stats.forwarded += frame->count;
	if (frame->type == RFM_FRAME_DATA)
		node->stats.forwarded_bytes += frame->length;
}

/* Must a frame of another node be taken off the ring here? */
static bool is_removed(struct rfm_node *node, const struct rfm_frame *frame)
{
	if (frame->marks & node->config.rogue_master) {
		node->stats.rogue += frame->count;
		node->ops->status(node->opaque, RFM_NODE_ROGUE);
		return true;
	}
	if (frame->hops >= RFM_NODE_HOP_LIMIT) {
		node->stats.hop_limit += frame->count;
		node->ops->status(node->opaque, RFM_NODE_BAD_DATA);
		return true;
	}
	if (rfm_frame_is_numbered(frame) &&
	    !(frame->flags & RFM_FLAG_REDUNDANT) == node->config.redundant) {
		node->stats.mixed += frame->count;
		node->ops->status(node->opaque, RFM_NODE_BAD_DATA);
		return true;
	}
	return false;
}

bool rfm_node_knows(const struct rfm_node *node, const uint8_t *wire)
{
	uint64_t seq = get64(wire + AT_SEQ);

	return rfm_frame_is_train(wire) && wire[AT_SOURCE] == node->config.id &&
	       get64(wire + AT_INCARNATION) == node->config.incarnation &&
	       seq > node->home_seq && seq <= node->seq &&
	       node->train_headers[seq % RFM_NODE_WINDOW] == rfm_frame_header_sum(wire);
}

/*
 * Ahead of the first frame that this node passes on: who has come at the same time may have heard
 * of it nothing yet, and is no late comer to what follows.
 */
static void say_unused(struct rfm_node *node, uint64_t now)
{
	if (!node->turn_ns)	/* no heartbeat has come home: others may have missed them all */
		rfm_send_heartbeat(node, now);
}

void rfm_node_receive(struct rfm_node *node, uint8_t *wire, unsigned int len, uint64_t now)
{
	struct rfm_frame frame;
	enum freshness freshness;
	uint16_t verdict;
	int error;

	if (node->loopback)
		return;		/* the receiver is switched to our own transmitter */
	/* Of the data only what a notice may have; those of an update stay in @wire. */
	error = rfm_node_knows(node, wire) ? rfm_frame_read_header(wire, &frame) :
					     rfm_frame_decode_header(wire, &frame);
	if (error != RFM_FRAME_OK) {
		rfm_node_receive_bad(node);
		return;
	}
	memcpy(frame.data, wire + RFM_FRAME_HEADER, 8);
	if (frame.source == node->config.id) {
		if (frame.incarnation == node->config.incarnation) {
			receive_own(node, &frame, now);
			return;
		}
		if (frame.incarnation == node->previous_incarnation)
			return;
	}
	if (is_removed(node, &frame))
		return;
	if (frame.source == node->config.id)
		receive_duplicate_id(node, &frame, now);
	if (node->left) {
		forward(node, wire, len, &frame, now);
		return;
	}
	/* What is left of an earlier incarnation of ours must not undo what came since. */
	freshness = frame.source == node->config.id &&
		   frame.incarnation < node->config.incarnation ? STALE_SELF :
		   check_sequence(node, &frame, now);
	if (will_not_store(node, &frame, freshness))
		frame.marks |= RFM_MARK_UNSTORED;
	verdict = verdict_on(node, &frame, wire + RFM_FRAME_HEADER, freshness);
	frame.marks |= verdict;
	if (!node->stats.received && freshness == NEWER && rfm_frame_is_numbered(&frame))
		say_unused(node, now);
	forward(node, wire, len, &frame, now);
	if (freshness != STALE_SELF)
		process_frame(node, &frame, wire, len, freshness == NEWER, now);
	if (freshness == NEWER && verdict & RFM_MARK_TAKEN)
		rfm_packet_deliver(node, &frame, wire + RFM_FRAME_HEADER);
}

/* Takes a slot that is held back from what was received. Returns of whom; -1: it is in no count. */
static int discount(const struct rfm_fifo_slot *slot, struct rfm_node_stats *stats)
{
	struct rfm_frame frame;

	if (slot->tag != TAG_COUNTED ||
	    rfm_frame_decode_header(slot->wire, &frame) != RFM_FRAME_OK)
		return -1;
	stats->received -= slot->frames;
	if (frame.type == RFM_FRAME_DATA)
		stats->received_bytes -= frame.length;
	return frame.source;
}

/* What is held back is taken on trust; whoever goes on without it has not got it. */
void rfm_discount_held(const struct rfm_node *node, struct rfm_node_past *past)
{
	const struct rfm_fifo_slot *slot;

	past->held = rfm_fifo_used(&node->held);
	for (uint32_t i = node->held.head; i != node->held.tail; i += slot->frames) {
		int source;

		slot = rfm_fifo_at(&node->held, i);
		source = discount(slot, &past->stats);
		if (source >= 0)
			past->sources[source].received -= slot->frames;
	}
}

void rfm_cancel_held(struct rfm_node *node)
{
	const struct rfm_fifo_slot *slot;

	node->held_full = false;
	while ((slot = rfm_fifo_drop(&node->held))) {
		/* It was taken on trust, and is lost now: not both. */
		int source = discount(slot, &node->stats);

		node->stats.held_lost += slot->frames;
		rfm_node_set_incomplete(node);
		if (source >= 0)
			node->sources[source].received -= slot->frames;
	}
}

void rfm_node_set_paused(struct rfm_node *node, bool paused)
{
	const struct rfm_fifo_slot *slot;
	struct rfm_frame frame;

	node->paused = paused;
	node->held_full &= paused;
	while (!paused && (slot = rfm_fifo_drop(&node->held)))
		if (rfm_frame_decode_header(slot->wire, &frame) == RFM_FRAME_OK)
			apply_update(node, &frame, slot->wire, slot->ready);
}
