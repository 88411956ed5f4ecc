// SPDX-License-Identifier: MIT
/*
 * Packets: bytes for one node, in order with the stores. The one who sends learns
 * of each packet, once, what became of it; the one who gets it says whether it has
 * room before the packet goes on, and takes it afterwards, as it does with an update.
 */
#include "ring/node-private.h"

#include <string.h>

/*
 * A packet may enter the insertion queue while fewer than QUEUED records wait, or once the
 * ring has taken SHARE of them since the last packet: neither stores without end nor packets
 * keep the other out.
 */
#define QUEUED	512u
#define SHARE	256u

_Static_assert(RFM_NODE_WINDOW / 2 == RFM_NODE_PACKETS, "one piece each: half of the usual window");

static unsigned int pieces_for(unsigned int length)
{
	return (length + RFM_FRAME_DATA_MAX - 1) / RFM_FRAME_DATA_MAX;
}

/* --- producer ------------------------------------------------------------- */

unsigned int rfm_node_packet_max(const struct rfm_node *node)
{
	unsigned int pieces = node->config.window < RFM_PACKET_PIECES ? node->config.window :
									RFM_PACKET_PIECES;

	if (pieces > node->insert.size / 2)		/* it waits there as a whole */
		pieces = node->insert.size / 2;
	if (node->config.redundant || node->config.line.paced)
		pieces = 1;
	return pieces * RFM_FRAME_DATA_MAX;
}

/* Does the half of the window allow it? One packet always may wait. */
static bool window_allows(const struct rfm_node *node, unsigned int pieces)
{
	const struct rfm_packets *packets = &node->packets;
	uint32_t ended = atomic_load_explicit(&packets->pieces_ended, memory_order_acquire);
	uint32_t open = atomic_load_explicit(&packets->pieces_given, memory_order_relaxed) - ended;

	return !open || open + pieces <= rfm_usual_window(node) / 2;
}

static bool queue_allows(const struct rfm_node *node, unsigned int pieces)
{
	const struct rfm_insert *insert = &node->insert;
	uint32_t taken = atomic_load_explicit(&insert->head, memory_order_relaxed) -
			 atomic_load_explicit(&node->packets.head_before, memory_order_relaxed);
	uint32_t room = insert->size / 2, queued = room < QUEUED ? room : QUEUED;

	return rfm_insert_used(insert) + pieces <= (taken >= SHARE ? room : queued);
}

static bool has_room(const struct rfm_node *node, unsigned int pieces)
{
	return atomic_load_explicit(&node->insert.offline, memory_order_relaxed) ||
	       (window_allows(node, pieces) && queue_allows(node, pieces));
}

bool rfm_node_may_packet(struct rfm_node *node, unsigned int length)
{
	unsigned int pieces = pieces_for(length);

	if (has_room(node, pieces))
		return true;
	atomic_store(&node->packets.producer_needs, pieces);
	/* The consumer makes room, then looks at @producer_needs; here it is the other way round. */
	atomic_thread_fence(memory_order_seq_cst);
	return has_room(node, pieces);
}

static void fill_piece(struct rfm_insert_record *record, const uint8_t **data, unsigned int *left)
{
	record->type = RFM_FRAME_PACKET;
	record->length = *left < RFM_FRAME_DATA_MAX ? *left : RFM_FRAME_DATA_MAX;
	memcpy(record->data, *data, record->length);
	*data += record->length;
	*left -= record->length;
}

enum rfm_insert_result rfm_node_packet(struct rfm_node *node, const struct rfm_packet *packet,
				       const void *data, uint64_t cookie, uint64_t now)
{
	unsigned int left = packet->length, pieces = pieces_for(left);
	struct rfm_packets *packets = &node->packets;
	struct rfm_insert *insert = &node->insert;
	const uint8_t *bytes = data;

	if (atomic_load_explicit(&insert->offline, memory_order_relaxed))
		return RFM_INSERT_OFFLINE;
	if (!pieces || packet->length > rfm_node_packet_max(node) ||
	    !rfm_node_may_packet(node, packet->length))
		return RFM_INSERT_FULL;
	packets->open[packets->given++ % RFM_NODE_PACKETS] = (struct rfm_open_packet){
		.cookie = cookie, .pieces = pieces,
	};
	atomic_fetch_add_explicit(&packets->pieces_given, pieces, memory_order_relaxed);
	atomic_store_explicit(&packets->head_before,
			      atomic_load_explicit(&insert->head, memory_order_relaxed),
			      memory_order_relaxed);
	for (unsigned int i = 0; i < pieces; i++) {
		struct rfm_insert_record *record = rfm_insert_place(insert, i);

		record->time = now;
		record->dest = packet->node;
		record->kind = packet->class | (packet->to_all ? RFM_KIND_ALL : 0) |
			       (packet->first ? RFM_FLAG_FIRST : 0) << 4 |
			       (packet->last ? RFM_FLAG_LAST : 0) << 4;
		record->address = packet->stream | pieces << 16;
		fill_piece(record, &bytes, &left);
	}
	if (rfm_insert_commit(insert, pieces))
		node->ops->kick(node->opaque);
	return RFM_INSERT_OK;
}

/* --- engine: own packets ---------------------------------------------------- */

/* The next one that waits gets the number behind the last. */
void rfm_packet_numbered(struct rfm_node *node, uint64_t now)
{
	struct rfm_open_packet *open =
		&node->packets.open[node->packets.numbered++ % RFM_NODE_PACKETS];

	open->last = node->seq + open->pieces;
	open->time = now;
}

static void end_first(struct rfm_node *node, enum rfm_packet_fate fate)
{
	struct rfm_packets *packets = &node->packets;
	const struct rfm_open_packet open = packets->open[packets->ended++ % RFM_NODE_PACKETS];

	packets->fates[fate]++;
	atomic_fetch_add_explicit(&packets->pieces_ended, open.pieces, memory_order_release);
	if (node->ops->packet_end)
		node->ops->packet_end(node->opaque, open.cookie, fate);
	atomic_thread_fence(memory_order_seq_cst);
	rfm_packets_notify_room(node);
}

static const struct rfm_open_packet *first_numbered(const struct rfm_node *node)
{
	const struct rfm_packets *packets = &node->packets;

	return packets->ended == packets->numbered ? NULL :
	       &packets->open[packets->ended % RFM_NODE_PACKETS];
}

void rfm_packets_end(struct rfm_node *node, uint64_t seq, enum rfm_packet_fate fate)
{
	const struct rfm_open_packet *open;

	while ((open = first_numbered(node)) && open->last <= seq)
		end_first(node, fate);
}

/* What is numbered may have left; what waits has not. */
void rfm_packet_dropped(struct rfm_node *node)
{
	rfm_packets_end(node, UINT64_MAX, RFM_PACKET_LOST);
	node->packets.numbered++;
	end_first(node, RFM_PACKET_DARK);
}

static enum rfm_packet_fate fate_of(const struct rfm_frame *frame)
{
	if (frame->kind & RFM_KIND_ALL || frame->marks & RFM_MARK_TAKEN)
		return RFM_PACKET_TAKEN;
	if (frame->marks & RFM_MARK_SEEN)
		return RFM_PACKET_NO_ROOM;
	/*
	 * It was late somewhere, or is one of two: another copy may have been in time, and have got
	 * lost since.
	 */
	return frame->marks & RFM_MARK_UNSTORED || frame->flags & RFM_FLAG_REDUNDANT ?
	       RFM_PACKET_LOST : RFM_PACKET_NO_NODE;
}

void rfm_packet_home(struct rfm_node *node, const struct rfm_frame *frame)
{
	rfm_packets_end(node, frame->seq - 1, RFM_PACKET_LOST);
	rfm_packets_end(node, rfm_frame_last(frame), fate_of(frame));
}

uint64_t rfm_packets_expire(struct rfm_node *node, uint64_t now)
{
	const struct rfm_open_packet *open;

	while ((open = first_numbered(node)) && now - open->time >= rfm_node_expiry(node))
		end_first(node, RFM_PACKET_LOST);
	return open ? open->time + rfm_node_expiry(node) : UINT64_MAX;
}

void rfm_packets_notify_room(struct rfm_node *node)
{
	struct rfm_packets *packets = &node->packets;
	unsigned int needs = atomic_load_explicit(&packets->producer_needs, memory_order_relaxed);

	if (!needs || !has_room(node, needs))
		return;
	atomic_store(&packets->producer_needs, 0);
	if (node->ops->packet_room)
		node->ops->packet_room(node->opaque);
}

/* --- engine: packets of others ------------------------------------------------ */

static struct rfm_packet packet_of(const struct rfm_frame *frame)
{
	return (struct rfm_packet){
		.node = frame->source,
		.class = frame->kind & RFM_KIND_CLASS,
		.to_all = frame->kind & RFM_KIND_ALL,
		.first = frame->flags & RFM_FLAG_FIRST,
		.last = frame->flags & RFM_FLAG_LAST,
		.stream = frame->stream,
		.length = frame->length,
		.incarnation = frame->incarnation,
	};
}

bool rfm_packet_is_for_us(const struct rfm_node *node, const struct rfm_frame *frame)
{
	return frame->type == RFM_FRAME_PACKET &&
	       (frame->kind & RFM_KIND_ALL || frame->dest == node->config.id);
}

/* A machine that stands still takes nothing: nobody there would look at it. */
uint16_t rfm_packet_judge(struct rfm_node *node, const struct rfm_frame *frame, const uint8_t *data)
{
	const struct rfm_packet packet = packet_of(frame);
	bool taken = !node->paused && node->ops->take &&
		     node->ops->take(node->opaque, &packet, data);

	if (taken)
		node->packets.received++;
	else
		node->packets.refused++;
	return RFM_MARK_SEEN | (taken ? RFM_MARK_TAKEN : 0);
}

void rfm_packet_deliver(struct rfm_node *node, const struct rfm_frame *frame, const uint8_t *data)
{
	const struct rfm_packet packet = packet_of(frame);

	node->ops->packet(node->opaque, &packet, data);
}
