// SPDX-License-Identifier: MIT
/* Ethernet on the ring: ether.h says how. */
#include "ring/ether.h"

#include <stdlib.h>
#include <string.h>

enum {
	AT_DESTINATION	= 0,
	AT_SOURCE	= 6,
	ADDRESS		= 6,

	GROUP		= 1,	/* in its first byte: many are meant */
};

/* A cookie says besides to which node its packet went, and whether a frame ends with it. */
#define COOKIE_LAST	0x100u

void rfm_ether_init(struct rfm_ether *ether, struct rfm_node *node, void (*wake)(void *opaque),
		    void *opaque)
{
	*ether = (struct rfm_ether){ .node = node, .wake = wake, .opaque = opaque };
}

void rfm_ether_destroy(struct rfm_ether *ether)
{
	struct rfm_ether_frame *frame;

	while ((frame = rfm_ether_fetch(ether)))
		free(frame);
	for (unsigned int i = 0; i < RFM_RING_NODES; i++) {
		free(ether->sources[i].frame);
		ether->sources[i].frame = NULL;
	}
}

/* --- where an address is ------------------------------------------------------ */

static struct rfm_ether_address *set_of(struct rfm_ether *ether, const uint8_t *bytes)
{
	uint32_t hash = 0;

	for (int i = 0; i < ADDRESS; i++)
		hash = (hash ^ bytes[i]) * 0x01000193u;		/* FNV */
	return ether->addresses[(hash ^ hash >> 16) % (RFM_ETHER_ADDRESSES / RFM_ETHER_WAYS)];
}

static struct rfm_ether_address *find_address(struct rfm_ether *ether, const uint8_t *bytes)
{
	struct rfm_ether_address *set = set_of(ether, bytes);

	for (int i = 0; i < RFM_ETHER_WAYS; i++) {
		if (set[i].heard && !memcmp(set[i].bytes, bytes, ADDRESS))
			return &set[i];
	}
	return NULL;
}

/* The one that was silent for longest makes room. */
static void learn(struct rfm_ether *ether, const uint8_t *bytes, uint8_t node)
{
	struct rfm_ether_address *place = find_address(ether, bytes), *set = set_of(ether, bytes);

	if (bytes[0] & GROUP)
		return;
	if (!place) {
		place = set;
		for (int i = 1; i < RFM_ETHER_WAYS; i++) {
			if (set[i].heard < place->heard)
				place = &set[i];
		}
	}
	*place = (struct rfm_ether_address){ .node = node, .heard = ++ether->heard };
	memcpy(place->bytes, bytes, ADDRESS);
}

/* The node has left: what was heard there may be anywhere. */
static void forget(struct rfm_ether *ether, uint8_t node)
{
	struct rfm_ether_address *all = ether->addresses[0];

	for (int i = 0; i < RFM_ETHER_ADDRESSES; i++) {
		if (all[i].node == node)
			all[i].heard = 0;
	}
}

/* --- sending -------------------------------------------------------------------- */

static enum rfm_insert_result send_piece(struct rfm_ether *ether, const uint8_t *data, uint64_t now)
{
	const uint32_t at = ether->out.at, left = ether->out.length - at;
	const uint32_t max = rfm_node_packet_max(ether->node);
	const struct rfm_packet packet = {
		.node = ether->out.node,
		.class = RFM_PACKET_ETHERNET,
		.to_all = ether->out.to_all,
		.first = !at,
		.last = left <= max,
		.stream = ether->stream,
		.length = left < max ? left : max,
	};
	const uint64_t cookie = RFM_ETHER_COOKIE | (packet.last ? COOKIE_LAST : 0) | packet.node;
	enum rfm_insert_result result = rfm_node_packet(ether->node, &packet, data + at, cookie, now);

	if (result == RFM_INSERT_OK) {
		ether->out.at += packet.length;
		ether->stream++;
	}
	return result;
}

/* As far as there is room. */
static void send_parts(struct rfm_ether *ether, const uint8_t *data, uint64_t now)
{
	while (ether->out.at < ether->out.length) {
		switch (send_piece(ether, data, now)) {
		case RFM_INSERT_OK:
			break;
		case RFM_INSERT_OFFLINE:
			ether->out.at = ether->out.length;
			ether->stats.dark++;
			return;
		default:
			return;		/* until rfm_ether_packet_room() */
		}
	}
	ether->stats.sent++;
}

void rfm_ether_send(struct rfm_ether *ether, const uint8_t *data, uint32_t length, uint64_t now)
{
	const uint8_t own = ether->node->config.id;
	const struct rfm_ether_address *address;

	if (length < RFM_ETHER_MIN || length > RFM_ETHER_MAX) {
		ether->stats.unfit++;
		return;
	}
	learn(ether, data + AT_SOURCE, own);
	address = find_address(ether, data + AT_DESTINATION);
	if (address && address->node == own)
		return;		/* it has been there */
	ether->out.to_all = !address;
	ether->out.node = address ? address->node : 0;
	ether->out.at = 0;
	ether->out.length = length;
	send_parts(ether, data, now);
	if (!rfm_ether_may_send(ether))
		memcpy(ether->out.data, data, length);
}

void rfm_ether_run(struct rfm_ether *ether, uint64_t now)
{
	if (!rfm_ether_may_send(ether))
		send_parts(ether, ether->out.data, now);
}

void rfm_ether_packet_room(struct rfm_ether *ether)
{
	if (!rfm_ether_may_send(ether))
		ether->wake(ether->opaque);
}

/* A node that has refused a part of a frame refuses all that follow, so the last one tells. */
void rfm_ether_packet_end(struct rfm_ether *ether, uint64_t cookie, enum rfm_packet_fate fate)
{
	if (fate == RFM_PACKET_NO_NODE)
		forget(ether, cookie & 0xff);
	if (cookie & COOKIE_LAST && fate != RFM_PACKET_TAKEN)
		ether->stats.lost++;
}

/* --- receiving --------------------------------------------------------------------- */

static void give_up_frame(struct rfm_ether *ether, struct rfm_ether_source *source)
{
	if (!source->frame)
		return;
	free(source->frame);
	source->frame = NULL;
	ether->stats.broken++;
}

/* A frame that is alone in its packet has its length, another one the room of any. */
static bool begin_frame(struct rfm_ether *ether, struct rfm_ether_source *source,
		  const struct rfm_packet *packet)
{
	const uint32_t room = packet->last ? packet->length : RFM_ETHER_MAX;

	give_up_frame(ether, source);
	if (ether->waiting >= RFM_ETHER_WAITING ||
	    !(source->frame = malloc(sizeof(*source->frame) + room))) {
		ether->stats.refused++;
		return false;
	}
	source->frame->length = 0;
	source->frame->next = NULL;
	source->incarnation = packet->incarnation;
	source->stream = packet->stream;
	return true;
}

bool rfm_ether_take(struct rfm_ether *ether, const struct rfm_packet *packet)
{
	struct rfm_ether_source *source = &ether->sources[packet->node];

	if (packet->first)
		return begin_frame(ether, source, packet);
	if (source->frame && source->incarnation == packet->incarnation &&
	    source->stream == packet->stream &&
	    source->frame->length + packet->length <= RFM_ETHER_MAX)
		return true;
	give_up_frame(ether, source);
	return false;
}

void rfm_ether_packet(struct rfm_ether *ether, const struct rfm_packet *packet, const uint8_t *data)
{
	struct rfm_ether_source *source = &ether->sources[packet->node];
	struct rfm_ether_frame *frame = source->frame;

	memcpy(frame->data + frame->length, data, packet->length);
	frame->length += packet->length;
	source->stream++;
	if (!packet->last)
		return;
	if (frame->length < RFM_ETHER_MIN) {
		give_up_frame(ether, source);
		return;
	}
	source->frame = NULL;
	learn(ether, frame->data + AT_SOURCE, packet->node);
	*(ether->first ? &ether->last->next : &ether->first) = frame;
	ether->last = frame;
	ether->stats.received++;
	if (!ether->waiting++)
		ether->wake(ether->opaque);
}

struct rfm_ether_frame *rfm_ether_fetch(struct rfm_ether *ether)
{
	struct rfm_ether_frame *frame = ether->first;

	if (frame) {
		ether->first = frame->next;
		ether->waiting--;
	}
	return frame;
}
