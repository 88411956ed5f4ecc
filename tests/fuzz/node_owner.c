// SPDX-License-Identifier: MIT
#include <string.h>

#include "ring/memory.h"
#include "tests/fuzz/node_owner.h"

struct world world;
struct rfm_shm up_peer, up, down, down_peer;

/* --- the owner ------------------------------------------------------------ */

static void on_store(void *opaque, uint32_t offset, const void *data, unsigned int len,
		     const struct rfm_origin *origin)
{
	(void)opaque;
	CHECK(len && len <= RFM_TRAIN_DATA);
	CHECK(offset + (uint64_t)len <= world.node.config.memory_size);
	/* Numbers begin with 1; what is late is not looked at. */
	CHECK(origin->seq || world.node.config.authentic_late);
	CHECK(origin->arrival_ns && origin->arrival_ns <= world.now);
	CHECK(origin->same_clock == (origin->clock_domain == world.node.config.clock_domain));
	rfm_memory_store(world.memory + offset, data, len);
}

static void on_interrupt(void *opaque, uint8_t type, uint8_t from, uint32_t data)
{
	(void)opaque;
	(void)from;
	(void)data;
	CHECK(type <= 3 || type == 7);
}

static void on_missed(void *opaque, uint8_t source, uint64_t count, uint64_t seq)
{
	(void)opaque;
	CHECK(count && (count < seq || !seq));	/* the last number there is, by a notice */
	world.missed[source] += count;
}

static void on_status(void *opaque, unsigned int what)
{
	(void)opaque;
	CHECK(what && what <= RFM_NODE_INCOMPLETE && !(what & (what - 1)));
}

static void on_transmit(void *opaque)
{
	(void)opaque;
	world.awake = true;
}

static void on_room(void *opaque)
{
	(void)opaque;
	CHECK(world.room_asked);
	world.room_told = true;
}

static void on_fence(void *opaque, const struct rfm_fence_result *fence)
{
	(void)opaque;
	CHECK(world.ticket && fence->ticket == world.ticket);
	CHECK(fence->epoch == world.node.epoch);
	world.ticket = 0;
}

static void on_load(void *opaque, uint32_t offset, void *data, unsigned int len)
{
	(void)opaque;
	CHECK(len && len <= RFM_QUERY_MAX);
	CHECK(offset + (uint64_t)len <= world.node.config.memory_size);
	memcpy(data, world.memory + offset, len);
}

static void on_answer(void *opaque, uint8_t from, const struct rfm_answer *answer)
{
	(void)opaque;
	(void)from;
	(void)answer;
}

static void on_packet_end(void *opaque, uint64_t cookie, enum rfm_packet_fate fate)
{
	struct given *given = &world.given[cookie % RFM_NODE_PACKETS];

	(void)opaque;
	CHECK(fate < RFM_PACKET_FATES);
	CHECK(cookie == world.packets_ended && cookie < world.packets);
	world.packets_ended++;
	/* What has left has not been kept back, nor the other way round. */
	given->dark = fate == RFM_PACKET_DARK;
	CHECK(!given->dark || (cookie >= world.packets_sent && world.node.insert.offline));
}

static void on_packet_room(void *opaque)
{
	(void)opaque;
	CHECK(world.packet_asked);
	world.packet_asked = false;
}

/* There is no room for what begins with an odd byte. */
static bool on_take(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	(void)opaque;
	CHECK(!world.taking && !world.node.paused && !world.node.left);
	CHECK(packet->length && packet->length <= RFM_PACKET_DATA);
	CHECK(packet->class <= RFM_PACKET_ETHERNET && packet->incarnation);
	world.taken = *packet;
	memcpy(world.taken_data, data, packet->length);
	world.taking = !(data[0] & 1);
	world.packets_taken += world.taking;
	world.packets_refused += !world.taking;
	return world.taking;
}

static void on_packet(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	const struct rfm_packet *taken = &world.taken;

	(void)opaque;
	CHECK(world.taking);
	CHECK(packet->node == taken->node && packet->incarnation == taken->incarnation);
	CHECK(packet->class == taken->class && packet->to_all == taken->to_all);
	CHECK(packet->first == taken->first && packet->last == taken->last);
	CHECK(packet->stream == taken->stream && packet->length == taken->length);
	CHECK(!memcmp(data, world.taken_data, packet->length));
	world.taking = false;
}

const struct rfm_node_ops owner_ops = {
	.apply = on_store,
	.interrupt = on_interrupt,
	.status = on_status,
	.kick = on_transmit,
	.room = on_room,
	.missed = on_missed,
	.fence = on_fence,
	.load = on_load,
	.answer = on_answer,
	.packet_end = on_packet_end,
	.packet_room = on_packet_room,
	.take = on_take,
	.packet = on_packet,
};

/* --- what must be so after every step ------------------------------------- */

static void check_books(const struct rfm_node *node)
{
	const struct rfm_node_stats *own = &node->stats;
	struct rfm_node_stats all = rfm_node_read_stats(node);

	CHECK(node->home_seq <= node->seq);
	CHECK(own->sent == own->home + own->lost + (node->seq - node->home_seq));
	CHECK(all.sent >= own->sent);
	CHECK(all.stores >= all.sent + rfm_insert_used(&node->insert));
	if (node->config.unpacked)
		CHECK(all.stores == all.sent + rfm_insert_used(&node->insert));
	CHECK(all.dark + all.full <= all.sent);
	CHECK(own->sent_bytes <= own->sent * RFM_FRAME_DATA_MAX);
	CHECK(own->received_bytes <= own->received * RFM_FRAME_DATA_MAX);
	CHECK(own->forwarded_bytes <= own->forwarded * RFM_FRAME_DATA_MAX);
}

/* Packets: those that were given and have not ended are open, and what they take is counted. */
static void check_packets(const struct rfm_node *node)
{
	const struct rfm_packets *packets = &node->packets;
	uint32_t open = packets->given - packets->ended;
	unsigned int pieces = 0, numbered = 0, max = rfm_node_packet_max(node) / RFM_FRAME_DATA_MAX;
	uint64_t fates = 0;

	CHECK(packets->given == (uint32_t)world.packets);
	CHECK(packets->ended == (uint32_t)world.packets_ended);
	CHECK(open <= RFM_NODE_PACKETS && packets->numbered - packets->ended <= open);
	for (uint32_t i = packets->ended; i != packets->given; i++) {
		const struct rfm_open_packet *packet = &packets->open[i % RFM_NODE_PACKETS];

		CHECK(packet->pieces && packet->pieces <= max);
		pieces += packet->pieces;
		if (i - packets->ended < packets->numbered - packets->ended)
			numbered += packet->pieces;
	}
	CHECK(packets->pieces_given - packets->pieces_ended == pieces);
	CHECK(open <= 1 || pieces <= node->config.window / 2);
	CHECK(pieces - numbered <= rfm_insert_used(&node->insert));
	for (unsigned int fate = 0; fate < RFM_PACKET_FATES; fate++)
		fates += packets->fates[fate];
	CHECK(fates == world.packets_ended);
	CHECK(!world.taking && packets->received == world.packets_taken);
	CHECK(packets->refused >= world.packets_refused);
}

void check_sources(const struct rfm_node *node)
{
	uint64_t received = 0, missed = 0;

	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		received += node->sources[id].received;
		missed += node->sources[id].missed;
		CHECK(world.missed[id] == node->sources[id].missed);
	}
	CHECK(received == node->stats.received && missed == node->stats.missed);
}

static void check_bounds(const struct rfm_node *node)
{
	CHECK(rfm_fifo_used(&node->transmit) <= RFM_NODE_TX_SLOTS);
	CHECK(rfm_fifo_used(&node->held) <= RFM_NODE_HELD_SLOTS);
	CHECK(node->paused || !rfm_fifo_used(&node->held));
	CHECK(rfm_insert_used(&node->insert) <= node->insert.size);
	CHECK(node->own_queued <= node->config.window);
	CHECK(node->own_queued <= rfm_fifo_used(&node->transmit));
	CHECK(node->config.window && node->config.window <= RFM_NODE_WINDOW);
	CHECK(world.rx.fill < RFM_UNIT_MAX && world.tx.fill < RFM_LINK_MESSAGE);
	CHECK(world.rx.reply_length <= RFM_LINK_MESSAGE);
	/* Whatever the neighbours wrote, no more is believed than there is room for. */
	CHECK(!world.use_shm || up.peer_index - up.own_index <= up.size);
	CHECK(!world.use_shm || down.own_index - down.peer_index <= down.size);
}

/* Who was told to wait has been told to go on by the time that all is gone. */
static void check_wakes(const struct rfm_node *node)
{
	if (world.room_asked && !rfm_insert_used(&node->insert))
		CHECK(world.room_told);
	if (world.packet_asked)
		CHECK(world.packets != world.packets_ended || rfm_insert_used(&node->insert));
	CHECK(rfm_node_tx_almost_full(node) ==
	      (rfm_insert_used(&node->insert) * 4 >= node->insert.size / 2 * 3));
	CHECK(rfm_node_tx_empty(node) == (!rfm_fifo_used(&node->transmit) &&
					  !rfm_insert_used(&node->insert)));
}

void check_node(void)
{
	check_books(&world.node);
	check_bounds(&world.node);
	check_packets(&world.node);
	check_wakes(&world.node);
}
