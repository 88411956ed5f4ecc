// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <stdlib.h>
#include <string.h>

#include "ring/memory.h"
#include "ring/wire.h"

static void note_stored(struct rig_peer *peer, uint32_t offset, const uint8_t *data,
			unsigned int len, const struct rfm_origin *origin)
{
	struct rig_stored *entry;

	if (peer->stored_count == peer->stored_size) {
		peer->stored_size = peer->stored_size ? peer->stored_size * 2 : 256;
		peer->stored = realloc(peer->stored, peer->stored_size * sizeof(*peer->stored));
		assert_non_null(peer->stored);
	}
	entry = &peer->stored[peer->stored_count++];
	entry->origin = *origin;
	entry->offset = offset;
	entry->len = len;
	memcpy(entry->data, data, len);
}

static void on_store(void *opaque, uint32_t offset, const void *data, unsigned int len,
		     const struct rfm_origin *origin)
{
	struct rig_peer *peer = opaque;
	struct rfm_origin each = *origin;

	assert_true(offset + (uint64_t)len <= peer->node.config.memory_size);
	for (unsigned int at = 0; at < len; at += RFM_FRAME_DATA_MAX, each.seq++)
		note_stored(peer, offset + at, (const uint8_t *)data + at,
			    len - at < RFM_FRAME_DATA_MAX ? len - at : RFM_FRAME_DATA_MAX, &each);
	if (offset + len <= RIG_MEMORY)
		rfm_memory_store(peer->memory + offset, data, len);
	if (peer->remote)
		rfm_remote_stored(peer->remote, offset, len);
}

static void on_interrupt(void *opaque, uint8_t type, uint8_t from, uint32_t data)
{
	struct rig_peer *peer = opaque;

	assert_true(peer->interrupt_count < ARRAY_SIZE(peer->interrupts));
	peer->interrupts[peer->interrupt_count++] =
		(struct rig_interrupt){ type, from, data, peer->stored_count };
}

static void on_missed(void *opaque, uint8_t source, uint64_t count, uint64_t seq)
{
	struct rig_peer *peer = opaque;

	assert_true(count && (count < seq || !seq));	/* 0: behind the last number there is */
	peer->missed = (struct rig_missed){ source, count, seq, peer->stored_count };
	peer->missed_count++;
}

static void on_status(void *opaque, unsigned int what)
{
	struct rig_peer *peer = opaque;

	peer->status |= what & ~(RFM_NODE_EPOCH | RFM_NODE_SIGNAL_BACK | RFM_NODE_INCOMPLETE);
	peer->signal_count += what == RFM_NODE_SIGNAL_BACK;
	peer->bad_count += what == RFM_NODE_BAD_DATA;
	peer->almost_count += what == RFM_NODE_RX_ALMOST_FULL;
	peer->epoch_count += what == RFM_NODE_EPOCH;
}

static void on_transmit(void *opaque)
{
	struct rig_peer *peer = opaque;

	peer->transmit_count++;
	peer->awake = true;
}

static void on_room(void *opaque)
{
	struct rig_peer *peer = opaque;

	peer->room_count++;
}

static void on_fence(void *opaque, const struct rfm_fence_result *fence)
{
	struct rig_peer *peer = opaque;

	peer->fence = *fence;
	peer->fence_count++;
}

static void on_load(void *opaque, uint32_t offset, void *data, unsigned int len)
{
	const struct rig_peer *peer = opaque;

	assert_true(len && offset + (uint64_t)len <= peer->node.config.memory_size);
	memcpy(data, peer->memory + offset, len);
}

static void on_answer(void *opaque, uint8_t from, const struct rfm_answer *answer)
{
	struct rig_peer *peer = opaque;

	peer->answers[from] = *answer;
	peer->answered[from]++;
	peer->answer_count++;
}

static void on_packet_end(void *opaque, uint64_t cookie, enum rfm_packet_fate fate)
{
	struct rig_peer *peer = opaque;
	uint64_t at = peer->end_count++ % RIG_PACKETS;

	if (cookie & RFM_ETHER_COOKIE)
		rfm_ether_packet_end(peer->ether, cookie, fate);
	else if (peer->remote)
		rfm_remote_packet_end(peer->remote, cookie, fate);
	peer->ends[at].cookie = cookie;
	peer->ends[at].fate = fate;
}

static void on_packet_room(void *opaque)
{
	struct rig_peer *peer = opaque;

	peer->packet_room_count++;
	peer->remote_awake = true;
	if (peer->ether)
		rfm_ether_packet_room(peer->ether);
}

static bool on_take(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	const struct rig_peer *peer = opaque;

	assert_true(packet->length && packet->length <= RFM_PACKET_DATA);
	if (peer->ether && !peer->full && packet->class == RFM_PACKET_ETHERNET)
		return rfm_ether_take(peer->ether, packet);
	if (peer->remote && !peer->full)
		return rfm_remote_take(peer->remote, packet, data);
	return !peer->full;
}

static void on_packet(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	struct rig_peer *peer = opaque;
	struct rig_packet *came;

	if (peer->ether && packet->class == RFM_PACKET_ETHERNET) {
		rfm_ether_packet(peer->ether, packet, data);
		return;
	}
	if (peer->remote) {
		rfm_remote_packet(peer->remote, packet, data);
		return;
	}
	if (!peer->packets)
		peer->packets = calloc(RIG_PACKETS, sizeof(*peer->packets));
	assert_non_null(peer->packets);
	came = &peer->packets[peer->packet_count++ % RIG_PACKETS];
	came->packet = *packet;
	came->after = peer->stored_count;
	memcpy(came->data, data, packet->length);
}

static const struct rfm_node_ops ops = {
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

/* --- operations at one node ----------------------------------------------- */

static enum rfm_remote_result remote_check(void *opaque, uint8_t from,
					   enum rfm_remote_access access,
					   uint32_t key, uint64_t offset, uint32_t length)
{
	if (key)
		return RFM_REMOTE_DENIED;
	return offset + length <= RIG_MEMORY ? RFM_REMOTE_OK : RFM_REMOTE_RANGE;
}

static void remote_load(void *opaque, uint32_t key, uint64_t offset, void *data, uint32_t length)
{
	const struct rig_peer *peer = opaque;

	memcpy(data, peer->memory + offset, length);
}

static void remote_store(void *opaque, uint32_t key, uint64_t offset, const void *data,
			 uint32_t length)
{
	struct rig_peer *peer = opaque;

	memcpy(peer->memory + offset, data, length);
}

static bool remote_may_update(void *opaque)
{
	struct rig_peer *peer = opaque;

	return !peer->stuck && rfm_node_may_store(&peer->node);
}

static void remote_update(void *opaque, uint64_t offset, const void *data, uint32_t length)
{
	struct rig_peer *peer = opaque;

	memcpy(peer->memory + offset, data, length);
	rfm_remote_stored(peer->remote, offset, length);
	assert_true(rfm_node_store(&peer->node, offset, data, length, *peer->clock));
}

static void remote_wake(void *opaque)
{
	struct rig_peer *peer = opaque;

	peer->remote_awake = true;
}

static int remote_port_room(void *opaque, uint32_t port)
{
	const struct rig_peer *peer = opaque;

	return port == 7 || port >= 100 ? peer->port_room : -1;
}

static enum rfm_remote_result remote_message(void *opaque, uint32_t port, uint8_t from, void *data,
					     uint32_t length)
{
	struct rig_peer *peer = opaque;
	unsigned int at = peer->message_count++;

	assert_int_equal(port, 7);
	assert_true(peer->port_room-- > 0 && at < RIG_PACKETS);
	peer->messages[at].from = from;
	peer->messages[at].data = data;
	peer->messages[at].length = length;
	return RFM_REMOTE_OK;
}

static const struct rfm_remote_ops remote_ops = {
	.check = remote_check,
	.load = remote_load,
	.store = remote_store,
	.may_update = remote_may_update,
	.update = remote_update,
	.wake = remote_wake,
	.port_room = remote_port_room,
	.message = remote_message,
};

static void free_remote(struct rig_peer *peer)
{
	if (peer->remote)
		rfm_remote_destroy(peer->remote);
	free(peer->remote);
	peer->remote = NULL;
	while (peer->message_count)
		free(peer->messages[--peer->message_count].data);
}

void rig_remote(struct rig *rig)
{
	for (int i = 0; i < rig->count; i++) {
		struct rig_peer *peer = &rig->peers[i];

		if (peer->remote)
			continue;
		peer->clock = &rig->now;
		peer->remote = calloc(1, sizeof(*peer->remote));
		assert_non_null(peer->remote);
		rfm_remote_init(peer->remote, &peer->node, &remote_ops, peer);
	}
}

bool rig_run_remote(struct rig *rig, int i)
{
	struct rig_peer *peer = &rig->peers[i];

	if (!peer->remote || (!peer->remote_awake && peer->remote_next > rig->now))
		return false;
	peer->remote_awake = false;
	peer->remote_next = rfm_remote_run(peer->remote, rig->now);
	if (!rig->lazy)
		rfm_node_send_queued(&peer->node, rig->now);
	return true;
}

/* --- the ring ------------------------------------------------------------- */

int rig_next(const struct rig *rig, int peer)
{
	return (peer + 1) % rig->count;
}

int rig_previous(const struct rig *rig, int peer)
{
	return (peer + rig->count - 1) % rig->count;
}

struct rfm_node_config rig_config(uint8_t id, uint64_t incarnation)
{
	return (struct rfm_node_config){
		.id = id,
		.memory_size = RIG_MEMORY,
		.incarnation = incarnation,
		.clock_domain = 1,
		.unpacked = true,
	};
}

void rig_start(struct rig *rig, int i, uint8_t id, uint64_t memory_size, uint64_t incarnation)
{
	struct rfm_node_config config = rig_config(id, incarnation);

	config.memory_size = memory_size;
	rig_start_as(rig, i, &config);
}

void rig_start_as(struct rig *rig, int i, const struct rfm_node_config *config)
{
	struct rig_peer *peer = &rig->peers[i];

	free_remote(peer);
	rfm_node_destroy(&peer->node);
	free(peer->stored);
	free(peer->packets);
	free(peer->out.frames);
	memset(peer, 0, sizeof(*peer));
	assert_int_equal(rfm_node_init(&peer->node, config, &ops, peer, rig->now), 0);
}

void rig_connect(struct rig *rig, int from)
{
	rfm_node_set_downstream(&rig->peers[from].node, true, rig->now);
	rfm_node_set_light(&rig->peers[rig_next(rig, from)].node,
			   rfm_node_light_out(&rig->peers[from].node), rig->now);
}

void rig_disconnect(struct rig *rig, int from)
{
	struct rig_pipe *out = &rig->peers[from].out;

	out->head = out->tail;
	rfm_node_set_downstream(&rig->peers[from].node, false, rig->now);
	rfm_node_set_light(&rig->peers[rig_next(rig, from)].node, false, rig->now);
}

void rig_join(struct rig *rig, int peer)
{
	rig_connect(rig, rig_previous(rig, peer));
	rig_connect(rig, peer);
	rig_settle(rig);
}

struct rig *rig_new(int count, int first_id)
{
	const struct rfm_node_config like = rig_config(0, 0);

	return rig_new_like(count, first_id, &like);
}

struct rig *rig_new_like(int count, int first_id, const struct rfm_node_config *like)
{
	struct rfm_node_config config = *like;
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->peers = calloc(count, sizeof(*rig->peers));
	assert_non_null(rig->peers);
	rig->count = count;
	rig->now = 1000 * MS;
	for (int i = 0; i < count; i++) {
		config.id = first_id + i;
		config.incarnation = 1000 + i;
		rig_start_as(rig, i, &config);
	}
	for (int i = 0; i < count; i++)
		rig_connect(rig, i);
	rig_settle(rig);
	for (int i = 0; i < count; i++)
		rig->peers[i].status = 0;
	return rig;
}

#define USUAL	.memory_size = RIG_MEMORY, .clock_domain = 1

const struct rig_mode rig_modes[RIG_MODES] = {
	{ "plain", { USUAL, .unpacked = true }, false },
	{ "packed", { USUAL }, true },
	{ "small window", { USUAL, .unpacked = true, .window = 3, .insert_slots = 16 }, false },
	{ "redundant", { USUAL, .unpacked = true, .redundant = true }, false },
	{ "redundant, packed, window of one",
	  { USUAL, .redundant = true, .window = 1, .insert_slots = 32 }, true },
};

struct rig *rig_new_mode(int count, int first_id, const struct rig_mode *mode)
{
	struct rig *rig = rig_new_like(count, first_id, &mode->like);

	rig->lazy = mode->lazy;
	return rig;
}

void rig_free(struct rig *rig)
{
	for (int i = 0; i < rig->count; i++) {
		free_remote(&rig->peers[i]);
		rfm_node_destroy(&rig->peers[i].node);
		free(rig->peers[i].stored);
		free(rig->peers[i].packets);
		free(rig->peers[i].out.frames);
	}
	free(rig->peers);
	free(rig);
}

static uint8_t *pipe_put(struct rig_pipe *pipe)
{
	if (pipe->head == pipe->tail)
		pipe->head = pipe->tail = 0;
	if (pipe->tail == pipe->size) {
		pipe->size = pipe->size ? pipe->size * 2 : 64;
		pipe->frames = realloc(pipe->frames, (size_t)pipe->size * RFM_UNIT_MAX);
		assert_non_null(pipe->frames);
	}
	return pipe->frames + (size_t)RFM_UNIT_MAX * pipe->tail++;
}

unsigned int rig_in_flight(const struct rig *rig, int from)
{
	return rig->peers[from].out.tail - rig->peers[from].out.head;
}

struct rfm_node_stats rig_stats(const struct rig *rig, int peer)
{
	return rfm_node_read_stats(&rig->peers[peer].node);
}

bool rig_pull(struct rig *rig, int i, unsigned int frames)
{
	struct rig_peer *peer = &rig->peers[i];
	bool moved = false;

	peer->awake = false;
	while (frames--) {
		uint8_t buf[RFM_UNIT_MAX];
		unsigned int len = rfm_node_pull(&peer->node, buf, rig->now);

		if (!len)
			return moved;
		moved = true;
		assert_int_equal(rfm_frame_length(buf), len);
		if (!peer->cut)
			memcpy(pipe_put(&peer->out), buf, len);
	}
	peer->awake = true;
	return moved;
}

bool rig_deliver(struct rig *rig, int from)
{
	struct rig_pipe *pipe = &rig->peers[from].out;
	uint8_t *wire;

	if (pipe->head == pipe->tail)
		return false;
	wire = pipe->frames + (size_t)RFM_UNIT_MAX * pipe->head++;
	rfm_node_receive(&rig->peers[rig_next(rig, from)].node, wire, rfm_frame_length(wire),
			 rig->now);
	return true;
}

static bool has_reason_to_pull(const struct rig *rig, int i)
{
	struct rig_peer *peer = &rig->peers[i];

	return peer->awake || rfm_node_next_pull(&peer->node) - 1 < rig->now;
}

void rig_settle(struct rig *rig)
{
	bool moved;

	do {
		moved = false;
		for (int i = 0; i < rig->count; i++) {
			moved |= rig_run_remote(rig, i);
			if (has_reason_to_pull(rig, i))
				moved |= rig_pull(rig, i, 64);
			while (rig_deliver(rig, i))
				moved = true;
		}
	} while (moved);
}

void rig_advance(struct rig *rig, uint64_t ns)
{
	uint64_t end = rig->now + ns;

	while (rig->now < end) {
		rig->now += end - rig->now < 50 * MS ? end - rig->now : 50 * MS;
		for (int i = 0; i < rig->count; i++)
			rfm_node_tick(&rig->peers[i].node, rig->now);
		rig_settle(rig);
	}
}

bool rig_drop(struct rig *rig, int from, struct rfm_frame *frame)
{
	struct rig_pipe *pipe = &rig->peers[from].out;
	const uint8_t *wire;

	if (pipe->head == pipe->tail)
		return false;
	wire = pipe->frames + (size_t)RFM_UNIT_MAX * pipe->head++;
	assert_int_equal(rfm_frame_decode_header(wire, frame), RFM_FRAME_OK);
	if (frame->count == 1)
		memcpy(frame->data, wire + RFM_FRAME_HEADER, frame->length);
	return true;
}

void rig_damage(struct rig *rig, int from)
{
	struct rig_pipe *pipe = &rig->peers[from].out;

	assert_true(pipe->head != pipe->tail);
	pipe->frames[(size_t)RFM_UNIT_MAX * pipe->head + RFM_FRAME_HEADER - 6] ^= 0x10;
}

void rig_inject(struct rig *rig, int from, const struct rfm_frame *frame)
{
	rfm_frame_encode(frame, pipe_put(&rig->peers[from].out));
}

void rig_store(struct rig *rig, int i, uint32_t offset, const void *data, unsigned int len)
{
	struct rig_peer *peer = &rig->peers[i];

	if (offset + len <= RIG_MEMORY)
		rfm_memory_store(peer->memory + offset, data, len);
	if (peer->remote)
		rfm_remote_stored(peer->remote, offset, len);
	if (!rfm_node_store(&peer->node, offset, data, len, rig->now))
		peer->status |= RFM_NODE_TX_FULL;
	if (!rig->lazy)
		rfm_node_send_queued(&peer->node, rig->now);
}

void rig_interrupt(struct rig *rig, int i, uint8_t dest, uint8_t kind, uint32_t data)
{
	struct rig_peer *peer = &rig->peers[i];

	if (!rfm_node_interrupt(&peer->node, dest, kind, data, rig->now))
		peer->status |= RFM_NODE_TX_FULL;
	if (!rig->lazy)
		rfm_node_send_queued(&peer->node, rig->now);
}

void rig_interrupt_set(struct rig *rig, int i, const uint8_t *set, uint8_t kind, uint32_t data)
{
	struct rig_peer *peer = &rig->peers[i];

	if (!rfm_node_interrupt_set(&peer->node, set, kind, data, rig->now))
		peer->status |= RFM_NODE_TX_FULL;
	if (!rig->lazy)
		rfm_node_send_queued(&peer->node, rig->now);
}

bool rig_fence(struct rig *rig, int i, uint64_t ticket)
{
	bool begun = rfm_node_fence(&rig->peers[i].node, ticket, rig->now);

	if (!rig->lazy)
		rfm_node_send_queued(&rig->peers[i].node, rig->now);
	return begun;
}

bool rig_query(struct rig *rig, int i, uint64_t ticket, uint32_t offset, unsigned int len)
{
	bool begun = rfm_node_query(&rig->peers[i].node, ticket, offset, len, rig->now);

	if (!rig->lazy)
		rfm_node_send_queued(&rig->peers[i].node, rig->now);
	return begun;
}

enum rfm_insert_result rig_packet(struct rig *rig, int i, uint8_t to, unsigned int length,
				  uint8_t fill)
{
	const struct rfm_packet packet = {
		.node = to, .class = RFM_PACKET_MESSAGE, .first = true, .last = true,
		.stream = 0x1234, .length = length,
	};
	uint8_t data[RFM_PACKET_DATA + 1];
	enum rfm_insert_result result;

	for (unsigned int at = 0; at < length; at++)
		data[at] = fill + at;
	result = rfm_node_packet(&rig->peers[i].node, &packet, data, fill, rig->now);
	if (!rig->lazy)
		rfm_node_send_queued(&rig->peers[i].node, rig->now);
	return result;
}

void rig_store32(struct rig *rig, int peer, uint32_t offset, uint32_t value)
{
	uint8_t bytes[4];

	put32(bytes, value);
	rig_store(rig, peer, offset, bytes, 4);
}

uint32_t rig_load32(const struct rig *rig, int peer, uint32_t offset)
{
	return get32(rig->peers[peer].memory + offset);
}

unsigned int rig_status(struct rig *rig, int peer)
{
	unsigned int status = rig->peers[peer].status;

	rig->peers[peer].status = 0;
	return status;
}

void rig_assert_books_closed(const struct rig *rig, int i)
{
	const struct rfm_node *node = &rig->peers[i].node;
	struct rfm_node_stats stats = rfm_node_read_stats(node);

	assert_int_equal(stats.sent, stats.home + stats.lost);
	assert_int_equal(node->seq, node->home_seq);
}
