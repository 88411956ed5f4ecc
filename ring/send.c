// SPDX-License-Identifier: MIT
/*
 * The sending half of a node: what its owner stores becomes frames, which leave in
 * order. A frame is built in send_frame(), a train in send_train(); frame.c knows
 * their bytes.
 */
#include "ring/node-private.h"

#include <string.h>

#include "ring/wire.h"

void rfm_new_epoch(struct rfm_node *node)
{
	node->epoch++;
	node->ops->status(node->opaque, RFM_NODE_EPOCH);
}

/* How large may the window be, that those of all members have room in half of a FIFO? */
static uint32_t share_of_fifo(const struct rfm_node *node)
{
	uint32_t members = 1, share;

	for (unsigned int id = 0; id < RFM_RING_NODES; id++)
		members += node->sources[id].present;
	share = RFM_NODE_TX_SLOTS / 2 / members;
	return share < node->config.window ? share : node->config.window;
}

/* A smaller window holds at once. */
void rfm_members_changed(struct rfm_node *node)
{
	uint32_t share = share_of_fifo(node);

	if (node->window > share)
		node->window = share;
	rfm_new_epoch(node);
}

/*
 * A larger one only when all have had time to be heard: behind a node that stands still others
 * seem to be gone, while what they have sent waits there. But then no heartbeat comes home.
 */
void rfm_heartbeat_home(struct rfm_node *node, uint64_t turn_ns, uint64_t now)
{
	if (!node->turn_ns)
		node->first_home_time = now;
	else if (now - node->first_home_time >= RFM_NODE_HEARTBEAT_NS)
		node->window = share_of_fifo(node);
	node->turn_ns = turn_ns;
	node->turn_time = now;
}

/* --- what may leave ------------------------------------------------------- */

bool rfm_node_signal(const struct rfm_node *node)
{
	return !node->left && (node->light_in || node->loopback);
}

bool rfm_node_light_out(const struct rfm_node *node)
{
	return !node->tx_disable && !node->loopback &&
	       (node->light_in || !node->dark_on_dark);
}

/* Can frames of others be passed on? */
bool rfm_can_forward(const struct rfm_node *node)
{
	return node->downstream && rfm_node_light_out(node);
}

/* Can own frames leave? A card without signal sends nothing. */
bool rfm_can_originate(const struct rfm_node *node)
{
	return rfm_node_signal(node) && (node->loopback || rfm_can_forward(node));
}

uint32_t rfm_node_credit(const struct rfm_node *node)
{
	const uint32_t window = node->window;
	uint64_t in_flight = node->ring_open ? 0 : rfm_in_flight(node);

	/* Others that think the ring open may have filled it beyond their windows. */
	if (rfm_fifo_used(&node->transmit) > RFM_NODE_TX_SLOTS - 2 - RFM_TRAIN_FRAMES)
		return 0;
	/* On an open ring, and when a neighbour sends home what we have not sent yet. */
	if (in_flight < node->own_queued)
		in_flight = node->own_queued;
	return in_flight < window ? window - in_flight : 0;
}

/* How many numbers does what waits first take at least? */
static unsigned int pieces_of(const struct rfm_insert_record *record)
{
	return record->type == RFM_FRAME_PACKET ? record->address >> 16 : 1;
}

bool rfm_next_may_leave(struct rfm_node *node)
{
	uint32_t free = rfm_node_credit(node);
	const struct rfm_insert_record *next;

	if (!free || free >= RFM_PACKET_PIECES)
		return free;
	next = rfm_insert_peek(&node->insert);
	return !next || pieces_of(next) <= free;
}

bool rfm_node_tx_empty(const struct rfm_node *node)
{
	return !rfm_fifo_used(&node->transmit) && !rfm_insert_used(&node->insert);
}

bool rfm_node_tx_almost_full(const struct rfm_node *node)
{
	return rfm_insert_used(&node->insert) >= node->insert.size / 2 / 4 * 3;
}

/* --- producer ------------------------------------------------------------- */

bool rfm_node_may_store(struct rfm_node *node)
{
	return rfm_insert_has_room(&node->insert);
}

static uint32_t network_address(const struct rfm_node *node, uint32_t offset)
{
	return (offset + __atomic_load_n(&node->address_offset, __ATOMIC_RELAXED)) %
	       RFM_RING_SPACE;
}

/* Bytes to the next multiple of those of a frame. */
static unsigned int part_of_run(uint32_t address, unsigned int len)
{
	unsigned int to_end = RFM_FRAME_DATA_MAX - address % RFM_FRAME_DATA_MAX;

	return len < to_end ? len : to_end;
}

static void fill_store(struct rfm_insert_record *record, uint32_t address, const void *data,
		       unsigned int len, uint64_t now)
{
	record->time = now;
	record->address = address;
	record->type = RFM_FRAME_DATA;
	record->length = len;
	record->dest = record->kind = 0;
	memcpy(record->data, data, len);
}

static bool queue_store(struct rfm_node *node, uint32_t address, const void *data,
			unsigned int len, uint64_t now)
{
	struct rfm_insert_record *record;
	enum rfm_insert_result result = rfm_insert_reserve(&node->insert, false, &record);

	if (result != RFM_INSERT_OK)
		return result != RFM_INSERT_FULL;
	fill_store(record, address, data, len, now);
	if (rfm_insert_commit(&node->insert, 1))
		node->ops->kick(node->opaque);
	return true;
}

bool rfm_node_store(struct rfm_node *node, uint32_t offset, const void *data,
		    unsigned int len, uint64_t now)
{
	uint32_t address = network_address(node, offset);
	unsigned int to_end = RFM_RING_SPACE - address;
	bool fits;

	if (len <= to_end)
		return queue_store(node, address, data, len, now);
	/* The address offset wraps inside it. */
	fits = queue_store(node, address, data, to_end, now);
	return queue_store(node, 0, (const uint8_t *)data + to_end, len - to_end, now) && fits;
}

/* Of what follows one behind the other, and for what there is room: one look, one wake-up. */
static void place_run(struct rfm_node *node, uint32_t address, const uint8_t *data,
		      unsigned int len, uint64_t now)
{
	uint32_t count = 0;

	while (len) {
		unsigned int part = part_of_run(address, len);

		fill_store(rfm_insert_place(&node->insert, count++), address, data, part, now);
		address += part;
		data += part;
		len -= part;
	}
	if (rfm_insert_commit(&node->insert, count))
		node->ops->kick(node->opaque);
}

bool rfm_node_store_run(struct rfm_node *node, uint32_t offset, const void *data,
			unsigned int len, uint64_t now)
{
	uint32_t address = network_address(node, offset);
	const struct rfm_insert *insert = &node->insert;
	const uint8_t *from = data;
	bool fits = true;

	if (!atomic_load_explicit(&insert->offline, memory_order_relaxed) &&
	    len <= RFM_RING_SPACE - address &&
	    rfm_insert_used(insert) + len / RFM_FRAME_DATA_MAX + 2 <= insert->size / 2) {
		if (len)
			place_run(node, address, from, len, now);
		return true;
	}
	while (len) {
		unsigned int part = part_of_run(offset, len);

		fits &= rfm_node_store(node, offset, from, part, now);
		offset += part;
		from += part;
		len -= part;
	}
	return fits;
}

enum rfm_insert_result rfm_queue_command(struct rfm_node *node, struct rfm_insert_record *command)
{
	struct rfm_insert_record *record;
	enum rfm_insert_result result = rfm_insert_reserve(&node->insert, true, &record);

	if (result != RFM_INSERT_OK)
		return result;
	command->dropped = record->dropped;
	*record = *command;
	if (rfm_insert_commit(&node->insert, 1))
		node->ops->kick(node->opaque);
	return RFM_INSERT_OK;
}

bool rfm_node_interrupt(struct rfm_node *node, uint8_t dest, uint8_t kind,
			uint32_t data, uint64_t now)
{
	struct rfm_insert_record command = {
		.time = now, .type = RFM_FRAME_INTERRUPT, .length = sizeof(data),
		.dest = dest, .kind = kind & (NIC_GLOBAL | NIC_TYPE),
	};

	put32(command.data, data);
	return rfm_queue_command(node, &command) != RFM_INSERT_FULL;
}

bool rfm_node_interrupt_set(struct rfm_node *node, const uint8_t *set, uint8_t kind,
			    uint32_t data, uint64_t now)
{
	struct rfm_insert_record command = {
		.time = now, .type = RFM_FRAME_MULTICAST, .length = sizeof(data) + RFM_NODE_SET,
		.kind = kind & NIC_TYPE,
	};

	put32(command.data, data);
	memcpy(command.data + sizeof(data), set, RFM_NODE_SET);
	return rfm_queue_command(node, &command) != RFM_INSERT_FULL;
}

bool rfm_node_fence(struct rfm_node *node, uint64_t ticket, uint64_t now)
{
	struct rfm_insert_record command = {
		.time = now, .type = RFM_FRAME_FENCE, .length = sizeof(ticket),
	};

	put64(command.data, ticket);
	return rfm_queue_command(node, &command) == RFM_INSERT_OK;
}

/* --- fences --------------------------------------------------------------- */

static void report_fence(struct rfm_node *node, uint64_t ticket, bool home, uint64_t lost,
			 bool paused)
{
	const struct rfm_fence_result fence = {
		.ticket = ticket,
		.lost = lost,
		.home = home,
		.paused = paused,
		.epoch = node->epoch,
		.epoch_changed = node->epoch != node->fence_epoch,
	};

	if (node->ops->fence)
		node->ops->fence(node->opaque, &fence);
}

/* The fence under way comes home, or never will; @came says which. */
static void end_fence(struct rfm_node *node, bool came)
{
	uint64_t lost = node->stats.lost - node->fence_lost;
	bool paused = node->fence_paused;

	node->fence_seq = 0;
	node->fence_lost = node->stats.lost;
	node->fence_paused = false;
	report_fence(node, node->fence_ticket, came, came || lost ? lost : 1, paused);
}

/* The node goes dark before a fence is home: what is under way may be lost. */
static void fail_fence(struct rfm_node *node, uint64_t ticket)
{
	report_fence(node, ticket, false,
		     node->stats.lost - node->fence_lost + rfm_in_flight(node),
		     node->fence_paused);
}

/* --- sending -------------------------------------------------------------- */

struct rfm_fifo_slot *rfm_transmit_put(struct rfm_node *node, uint8_t tag, unsigned int frames,
				  uint64_t ready)
{
	struct rfm_fifo_slot *slot;

	if (!rfm_fifo_used(&node->transmit) && !node->pulling)
		node->ops->kick(node->opaque);
	slot = rfm_fifo_put(&node->transmit, frames);
	slot->tag = tag;
	slot->ready = ready;
	return slot;
}

static void advance_seq(struct rfm_node *node, uint64_t count)
{
	node->seq += count;
	node->stats.sent += count;
}

/*
 * Own frames, @came of them, or an own notice behind them, are back: everything
 * up to @seq that is not home by now never will be, because frames keep their
 * order.
 */
void rfm_retire_up_to(struct rfm_node *node, uint64_t seq, unsigned int came, bool paused,
		      uint64_t now)
{
	uint64_t fence = node->fence_seq;

	rfm_packets_end(node, seq, RFM_PACKET_LOST);
	node->ring_open = false;
	node->home_time = now;
	node->break_heard = false;
	node->fence_paused |= paused;
	if (seq <= node->home_seq)
		return;
	if (came > seq - node->home_seq)
		came = seq - node->home_seq;
	node->stats.lost += seq - node->home_seq - came;
	node->stats.home += came;
	node->home_seq = seq;
	if (fence && seq >= fence)
		end_fence(node, came && seq == fence);
}

/* Put the stores that wait next into the same frame, as long as they are adjacent to it. */
static void pack_adjacent(struct rfm_node *node, struct rfm_frame *frame)
{
	const struct rfm_insert_record *next;

	if (node->config.unpacked || frame->type != RFM_FRAME_DATA)
		return;
	while ((next = rfm_insert_peek(&node->insert)) &&
	       next->type == RFM_FRAME_DATA && next->dropped == node->insert.dropped_seen &&
	       next->address == frame->address + frame->length &&
	       frame->length + next->length <= RFM_FRAME_DATA_MAX) {
		memcpy(frame->data + frame->length, next->data, next->length);
		frame->length += next->length;
		rfm_insert_release(&node->insert, 1);
	}
}

/* Everything a frame says about its originator. */
static void fill_origin(const struct rfm_node *node, struct rfm_frame *frame, uint64_t time)
{
	frame->source = node->config.id;
	frame->incarnation = node->config.incarnation;
	frame->clock_domain = node->config.clock_domain;
	frame->seq = node->seq;
	frame->time_ns = rfm_node_clock(node, time);
	frame->hops = 1;
	frame->flags = node->config.redundant ? RFM_FLAG_REDUNDANT : 0;
}

/* Where own frames are built: where they leave, or, if there is a slot, in the FIFO. */
struct place {
	uint8_t *wire;
	struct rfm_fifo_slot *slot;
};

/*
 * @leave: where what is pulled now leaves; NULL: in the FIFO, as where something waits there,
 * in redundant mode, on a paced line and in loopback.
 */
static struct place place_own(struct rfm_node *node, uint8_t *leave, uint8_t tag,
			      unsigned int frames, uint64_t ready)
{
	struct rfm_fifo_slot *slot;

	if (leave)
		return (struct place){ .wire = leave };
	slot = rfm_transmit_put(node, tag, frames, ready);
	node->own_queued += tag == TAG_OWN ? frames : 0;
	return (struct place){ .wire = slot->wire, .slot = slot };
}

/* Built; returns how many bytes leave now. */
static unsigned int built(struct place place, unsigned int length)
{
	if (!place.slot)
		return length;
	place.slot->length = length;
	return 0;
}

static unsigned int build_frame(struct rfm_node *node, uint8_t *leave, struct rfm_frame *frame,
				uint64_t ready)
{
	struct place place = place_own(node, leave, TAG_OWN, 1, ready);
	unsigned int length = built(place, rfm_frame_encode(frame, place.wire));

	if (!node->config.redundant)
		return length;
	frame->flags |= RFM_FLAG_SECOND;
	place = place_own(node, NULL, TAG_COPY, 1, ready);
	return built(place, rfm_frame_encode(frame, place.wire));
}

/* So many own frames get their numbers; before anything else is done about them. */
static void assign_seq(struct rfm_node *node, unsigned int count, uint64_t now)
{
	if (!rfm_in_flight(node))
		node->home_time = now;
	advance_seq(node, count);
}

/* How many frames may the next train have? Perhaps none, when dropped stores have their numbers. */
static uint32_t train_limit(const struct rfm_node *node)
{
	uint32_t credit = rfm_node_credit(node);

	return credit < node->config.train ? credit : node->config.train;
}

/*
 * How many records from @first on, which is the next one, make a train: whole
 * frames one behind the other, perhaps with a shorter last one. 1: none.
 */
static unsigned int count_train(struct rfm_node *node, const struct rfm_insert_record *first)
{
	uint32_t max = train_limit(node), address = first->address;
	const struct rfm_insert_record *record = first;
	unsigned int count = 0;

	if (max < 2 || node->loopback || first->type != RFM_FRAME_DATA)
		return 1;
	while (record && record->type == RFM_FRAME_DATA && record->address == address &&
	       record->dropped == node->insert.dropped_seen) {
		count++;
		if (record->length < RFM_FRAME_DATA_MAX || count == max)
			break;
		address += RFM_FRAME_DATA_MAX;
		record = rfm_insert_peek_behind(&node->insert, count);
	}
	return count;
}

/* A frame or a train gets its numbers, and all but its data and their length. */
static void begin_update(struct rfm_node *node, struct rfm_frame *frame, unsigned int count,
			 uint32_t address, uint64_t time, uint64_t now)
{
	frame->type = RFM_FRAME_DATA;
	frame->count = count;
	frame->address = address;
	frame->dest = frame->kind = frame->marks = 0;
	fill_origin(node, frame, time);
	frame->seq = node->seq + 1;
	assign_seq(node, count, now);
	node->update_seq = node->seq;
}

/* The data are there; returns how many bytes leave now. */
static unsigned int end_train(struct rfm_node *node, const struct rfm_frame *frame,
			      struct place place)
{
	unsigned int length = rfm_train_encode(frame, place.wire);

	node->stats.sent_bytes += frame->length;
	/* Whoever could change it meanwhile could as well send one home that nobody has stored. */
	node->train_headers[frame->seq % RFM_NODE_WINDOW] = rfm_frame_header_sum(place.wire);
	return built(place, length);
}

/* The next @count records become a train. */
static unsigned int send_train(struct rfm_node *node, uint8_t *leave, unsigned int count,
			       uint64_t now)
{
	const struct rfm_insert_record *record = rfm_insert_seen(&node->insert, 0);
	struct place place = place_own(node, leave, TAG_OWN, count,
				       record->time > node->credit_time ? record->time :
				       node->credit_time);
	struct rfm_frame frame;
	uint8_t *data = place.wire + RFM_FRAME_HEADER;

	begin_update(node, &frame, count, record->address, record->time, now);
	for (unsigned int i = 0; i < count; i++) {
		record = rfm_insert_seen(&node->insert, i);
		memcpy(data + (size_t)i * RFM_FRAME_DATA_MAX, record->data, RFM_FRAME_DATA_MAX);
	}
	frame.length = (count - 1) * RFM_FRAME_DATA_MAX + record->length;
	rfm_insert_release(&node->insert, count);
	return end_train(node, &frame, place);
}

/* The next records become a packet. */
static unsigned int send_packet(struct rfm_node *node, uint8_t *leave, unsigned int pieces,
				uint64_t now)
{
	const struct rfm_insert_record *record = rfm_insert_seen(&node->insert, 0);
	struct rfm_frame frame = {
		.type = RFM_FRAME_PACKET, .count = pieces, .dest = record->dest,
		.kind = record->kind & 0xf, .stream = record->address,
	};
	const uint8_t flags = record->kind >> 4;
	uint64_t ready = record->time > node->credit_time ? record->time : node->credit_time;
	unsigned int length = 0;

	fill_origin(node, &frame, record->time);
	frame.seq = node->seq + 1;
	frame.flags |= flags;
	rfm_packet_numbered(node, now);
	assign_seq(node, pieces, now);
	frame.length = (pieces - 1) * RFM_FRAME_DATA_MAX +
		       rfm_insert_seen(&node->insert, pieces - 1)->length;
	for (int copy = 0; !node->loopback && copy <= node->config.redundant; copy++) {
		struct place place = place_own(node, leave, copy ? TAG_COPY : TAG_OWN, pieces, ready);

		if (copy)
			frame.flags |= RFM_FLAG_SECOND;
		for (unsigned int i = 0; i < pieces; i++)
			memcpy(place.wire + RFM_FRAME_HEADER + (size_t)i * RFM_FRAME_DATA_MAX,
			       rfm_insert_seen(&node->insert, i)->data, RFM_FRAME_DATA_MAX);
		length = built(place, rfm_packet_encode(&frame, place.wire));
	}
	rfm_insert_release(&node->insert, pieces);
	if (node->loopback) {
		rfm_packets_end(node, node->seq, frame.kind & RFM_KIND_ALL ? RFM_PACKET_TAKEN :
				RFM_PACKET_NO_NODE);
		rfm_retire_up_to(node, node->seq, pieces, false, now);
	}
	return length;
}

/* The first record that waits becomes a frame and gets its number. */
static unsigned int send_frame(struct rfm_node *node, uint8_t *leave, uint64_t now)
{
	const struct rfm_insert_record *record = rfm_insert_seen(&node->insert, 0);
	uint64_t time = record->time;
	/* Not the time of this call: on a paced line it may be long after both. */
	uint64_t ready = time > node->credit_time ? time : node->credit_time;
	struct rfm_frame frame;		/* an initializer would clear the data too: slow */

	frame.type = record->type;
	frame.length = record->length;
	frame.address = record->address;
	frame.dest = record->dest;
	frame.kind = record->kind;
	frame.marks = 0;
	memcpy(frame.data, record->data, RFM_FRAME_DATA_MAX);
	rfm_insert_release(&node->insert, 1);
	pack_adjacent(node, &frame);

	assign_seq(node, 1, now);
	if (rfm_frame_is_update(&frame))
		node->update_seq = node->seq;
	if (frame.type == RFM_FRAME_DATA)
		node->stats.sent_bytes += frame.length;
	if (frame.type == RFM_FRAME_FENCE) {
		node->fence_seq = node->seq;
		node->fence_ticket = get64(frame.data);
		node->fence_epoch = node->epoch;
	}
	if (node->loopback) {
		rfm_retire_up_to(node, node->seq, 1, false, now);
		if (rfm_frame_is_update(&frame))
			node->ops->status(node->opaque, RFM_NODE_OWN_DATA);
		return 0;
	}
	fill_origin(node, &frame, time);
	return build_frame(node, leave, &frame, ready);
}

/* So many were in flight: is it the most? */
static void note_window_peak(struct rfm_node *node, uint64_t in_flight)
{
	if (!node->ring_open && in_flight > node->stats.window_peak)
		node->stats.window_peak = in_flight;
}

/* What waits first and has credit gets its numbers; returns how many bytes leave now. */
static unsigned int send_next(struct rfm_node *node, uint8_t *leave, uint64_t now)
{
	const struct rfm_insert_record *next = rfm_insert_peek(&node->insert);
	uint64_t before, in_flight = node->ring_open ? 0 : rfm_in_flight(node);
	unsigned int count, length;

	advance_seq(node, rfm_insert_dropped(&node->insert));
	before = node->seq;
	if (next->type == RFM_FRAME_PACKET)
		length = send_packet(node, leave, pieces_of(next), now);
	else if ((count = count_train(node, next)) > 1)
		length = send_train(node, leave, count, now);
	else
		length = send_frame(node, leave, now);
	note_window_peak(node, in_flight + node->seq - before);
	return length;
}

/* What waits cannot leave. It takes its numbers, so that everybody sees the gap. */
static void drop_queued(struct rfm_node *node)
{
	const struct rfm_insert_record *record;

	while (advance_seq(node, rfm_insert_dropped(&node->insert)),
	       (record = rfm_insert_peek(&node->insert))) {
		unsigned int count = pieces_of(record);

		advance_seq(node, count);
		node->stats.dark += count;
		if (record->type == RFM_FRAME_FENCE) {
			node->fence_epoch = node->epoch;
			fail_fence(node, get64(record->data));
		}
		if (record->type == RFM_FRAME_PACKET)
			rfm_packet_dropped(node);
		rfm_insert_release(&node->insert, count);
	}
}

/*
 * Does the producer wait, and is there room? This may miss one that begins to wait at the
 * same time; it is found with the next frame, when nothing is left to send, or with the next
 * rfm_node_tick().
 */
static void look_who_waits(struct rfm_node *node)
{
	struct rfm_insert *insert = &node->insert;

	rfm_packets_notify_room(node);
	if (!atomic_load_explicit(&insert->producer_waits, memory_order_relaxed) ||
	    (!atomic_load_explicit(&insert->offline, memory_order_relaxed) &&
	     rfm_insert_used(insert) >= insert->size / 4))
		return;
	atomic_store(&insert->producer_waits, false);
	node->ops->room(node->opaque);
}

void rfm_notify_room(struct rfm_node *node)
{
	/* The producer sets @producer_waits, then looks for room; here it is the other way round. */
	atomic_thread_fence(memory_order_seq_cst);
	look_who_waits(node);
}

void rfm_node_send_queued(struct rfm_node *node, uint64_t now)
{
	bool any = false;

	if (!rfm_can_originate(node)) {
		drop_queued(node);
		rfm_notify_room(node);
		return;
	}
	while (rfm_insert_peek(&node->insert) && rfm_next_may_leave(node)) {
		send_next(node, NULL, now);
		any = true;
	}
	if (any)
		look_who_waits(node);
}

/*
 * No own frame can leave. Those that wait for credit are given up; those that
 * are under way come home or not, and if the ring is open, nothing does.
 */
void rfm_cancel_own(struct rfm_node *node)
{
	atomic_store(&node->insert.offline, true);
	rfm_packets_end(node, UINT64_MAX, RFM_PACKET_LOST);
	/* A store that comes in meanwhile wakes the thread that pulls, and is dropped there. */
	do {
		drop_queued(node);
	} while (!rfm_insert_sleep(&node->insert));
	node->ring_open = true;
	if (node->fence_seq) {
		node->fence_seq = 0;
		fail_fence(node, node->fence_ticket);
	}
	rfm_notify_room(node);
}

/* Nothing can leave at all. */
void rfm_cancel_transmit(struct rfm_node *node)
{
	const struct rfm_fifo_slot *slot;

	while ((slot = rfm_fifo_drop(&node->transmit))) {
		node->stats.dark += slot->tag == TAG_OWN ? slot->frames : 0;
		node->stats.unsendable += slot->tag == TAG_TRANSIT ? slot->frames : 0;
	}
	node->own_queued = 0;
	rfm_cancel_own(node);
}

static void queue_notice(struct rfm_node *node, struct rfm_frame *frame, uint64_t now)
{
	struct rfm_fifo_slot *slot;

	if (rfm_fifo_used(&node->transmit) >= RFM_NODE_TX_SLOTS)
		return;
	/*
	 * Own frames still waiting for credit come after this one; numbers of
	 * those that were dropped before them do not.
	 */
	if (!rfm_in_flight(node))
		node->home_time = now;
	advance_seq(node, rfm_insert_dropped(&node->insert));
	fill_origin(node, frame, now);
	slot = rfm_transmit_put(node, TAG_NOTICE, 1, now);
	slot->length = rfm_frame_encode(frame, slot->wire);
}

/* Unless nothing may leave. */
void rfm_send_notice(struct rfm_node *node, struct rfm_frame *frame, uint64_t now)
{
	if (!node->loopback && rfm_can_originate(node))
		queue_notice(node, frame, now);
}

void rfm_send_heartbeat(struct rfm_node *node, uint64_t now)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_HEARTBEAT,
		.kind = (node->paused ? RFM_KIND_PAUSED : 0) |
			(node->incomplete ? RFM_KIND_INCOMPLETE : 0) |
			(node->stats.received ? RFM_KIND_USED : 0),
	};

	rfm_send_notice(node, &frame, now);
}

void rfm_send_duplicate(struct rfm_node *node, uint64_t incarnation, uint64_t now)
{
	struct rfm_frame frame = { .type = RFM_FRAME_DUPLICATE, .length = 8 };

	put64(frame.data, incarnation);
	rfm_send_notice(node, &frame, now);
}

/* The one thing that a node without signal says, to those downstream of it. */
void rfm_send_break(struct rfm_node *node, uint64_t now)
{
	struct rfm_frame frame = { .type = RFM_FRAME_BREAK };

	if (!node->left && rfm_can_forward(node))
		queue_notice(node, &frame, now);
}

/*
 * Nothing to send: may the thread that pulls not go to sleep? Something else wakes
 * it for what waits for the line or for credit; a store must know that it has to.
 */
static bool must_stay_awake(struct rfm_node *node)
{
	if (rfm_fifo_used(&node->transmit))
		return false;
	if (rfm_insert_peek(&node->insert))
		return !rfm_can_originate(node) || rfm_next_may_leave(node);
	return !rfm_insert_sleep(&node->insert);
}

/* --- past the queues ------------------------------------------------------ */

/* What nothing waits before needs no place in the FIFO. */
static bool may_pass_fifo(const struct rfm_node *node)
{
	return !rfm_fifo_used(&node->transmit) && !node->config.line.paced &&
	       !node->config.redundant && !node->loopback && rfm_can_originate(node);
}

bool rfm_node_is_clear(const struct rfm_node *node)
{
	return may_pass_fifo(node) && !rfm_insert_used(&node->insert);
}

bool rfm_node_begin_run(struct rfm_node *node, uint32_t offset, const void *data,
			unsigned int len)
{
	uint32_t address = network_address(node, offset);

	if (!rfm_node_is_clear(node) || len < 2 * RFM_FRAME_DATA_MAX ||
	    len > RFM_RING_SPACE - address)
		return false;
	node->run.data = data;
	node->run.address = address;
	node->run.len = len;
	return true;
}

unsigned int rfm_node_end_run(struct rfm_node *node)
{
	unsigned int left = node->run.len;

	node->run.len = 0;
	return left;
}

/* There is credit: the next bytes of the run become a frame or a train. */
static unsigned int send_of_run(struct rfm_node *node, uint8_t *wire, uint64_t now)
{
	const struct place place = { .wire = wire };
	uint32_t address = node->run.address, len = node->run.len, max;
	unsigned int length, count = 1;
	struct rfm_frame frame;

	advance_seq(node, rfm_insert_dropped(&node->insert));
	max = train_limit(node);
	frame.length = part_of_run(address, len);
	if (max > 1 && frame.length == RFM_FRAME_DATA_MAX) {
		frame.length = len < max * RFM_FRAME_DATA_MAX ? len : max * RFM_FRAME_DATA_MAX;
		count = (frame.length + RFM_FRAME_DATA_MAX - 1) / RFM_FRAME_DATA_MAX;
	}
	begin_update(node, &frame, count, address, now, now);
	if (count > 1) {
		memcpy(wire + RFM_FRAME_HEADER, node->run.data, frame.length);
		length = end_train(node, &frame, place);
	} else {
		memset(frame.data, 0, sizeof(frame.data));
		memcpy(frame.data, node->run.data, frame.length);
		node->stats.sent_bytes += frame.length;
		length = build_frame(node, wire, &frame, now);
	}
	node->run.data += frame.length;
	node->run.address += frame.length;
	node->run.len -= frame.length;
	rfm_insert_pass(&node->insert, count);
	note_window_peak(node, rfm_in_flight(node));
	return length;
}

static unsigned int send_past_fifo(struct rfm_node *node, uint8_t *wire, uint64_t now)
{
	unsigned int length;

	if (!may_pass_fifo(node))
		return 0;
	if (!rfm_insert_peek(&node->insert))
		return node->run.len && rfm_node_credit(node) ? send_of_run(node, wire, now) : 0;
	if (!rfm_next_may_leave(node))
		return 0;
	length = send_next(node, wire, now);
	look_who_waits(node);
	return length;
}

unsigned int rfm_node_pull(struct rfm_node *node, uint8_t *wire, uint64_t now)
{
	unsigned int length = send_past_fifo(node, wire, now);
	const struct rfm_fifo_slot *slot;

	if (length)
		return length;
	do {
		node->pulling = true;
		rfm_node_send_queued(node, now);
		node->pulling = false;
		slot = rfm_fifo_take(&node->transmit, now);
		if (slot) {
			if (node->config.line.paced && !rfm_node_credit(node))
				node->credit_time = now;
			node->own_queued -= slot->tag == TAG_OWN ? slot->frames : 0;
			rfm_frame_copy(wire, slot->wire, slot->length);
			return slot->length;
		}
	} while (must_stay_awake(node));
	rfm_notify_room(node);
	return 0;
}

uint64_t rfm_node_next_pull(struct rfm_node *node)
{
	return rfm_fifo_next(&node->transmit);
}
