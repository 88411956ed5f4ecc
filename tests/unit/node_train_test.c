// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c tests/unit/queue.c */
/*
 * Trains: a run of whole frames leaves under one header. Nothing that anybody
 * can tell but the time it takes may differ from frames that travel alone.
 */
#include "tests/unit/test.h"
#include "tests/unit/queue.h"
#include "tests/unit/rig.h"

#include <string.h>

#include "ring/memory.h"

#define FRAME	RFM_FRAME_DATA_MAX

/* Nodes that make trains, with memory of the rig; stores wait for the next pull. */
static struct rig *train_rig(int count, const struct rfm_node_config *more)
{
	struct rfm_node_config like = more ? *more : (struct rfm_node_config){ .train = 0 };
	struct rig *rig;

	like.memory_size = RIG_MEMORY;
	like.clock_domain = 1;
	rig = rig_new_like(count, 1, &like);
	rig->lazy = true;
	return rig;
}

/* A run of @len bytes as the DMA engine stores it: frames end where a multiple of 64 does. */
static void store_run(struct rig *rig, int peer, uint32_t offset, unsigned int len, uint8_t seed)
{
	while (len) {
		unsigned int part = FRAME - offset % FRAME;
		uint8_t data[FRAME];

		if (part > len)
			part = len;
		for (unsigned int i = 0; i < part; i++)
			data[i] = (uint8_t)(seed + (offset + i) * 5);
		rig_store(rig, peer, offset, data, part);
		offset += part;
		len -= part;
	}
}

static void assert_run(const struct rig *rig, int peer, uint32_t offset, unsigned int len,
		       uint8_t seed)
{
	for (unsigned int i = 0; i < len; i++)
		if (rig->peers[peer].memory[offset + i] != (uint8_t)(seed + (offset + i) * 5))
			fail_msg("byte 0x%x of peer %d", offset + i, peer);
}

/* What leaves peer 0 next has so many frames, from that number and address on. */
static void assert_leaves(struct rig *rig, unsigned int count, uint64_t seq, uint32_t address,
			  unsigned int length)
{
	struct rfm_frame frame;

	assert_true(rig_pull(rig, 0, 1));
	assert_true(rig_drop(rig, 0, &frame));
	assert_int_equal(frame.type, RFM_FRAME_DATA);
	assert_int_equal(frame.count, count);
	assert_int_equal(frame.seq, seq);
	assert_int_equal(frame.address, address);
	assert_int_equal(frame.length, length);
}

/* Moves all that peer 0 has to peer 1, and says how many frames and trains of data it was. */
static unsigned int pass(struct rig *rig)
{
	const struct rig_pipe *out = &rig->peers[0].out;
	unsigned int units = 0;

	rig_pull(rig, 0, 1000);
	do {
		const uint8_t *wire = out->frames + (size_t)out->head * RFM_UNIT_MAX;

		units += out->head != out->tail &&
			 (wire[3] == RFM_FRAME_DATA || wire[3] == RFM_FRAME_TRAIN);
	} while (rig_deliver(rig, 0));
	return units;
}

/* As who is engine and producer at once; returns how many bytes have left past the queue. */
static unsigned int store_past_queue(struct rig *rig, int peer, uint32_t offset,
				     const uint8_t *data, unsigned int len)
{
	struct rfm_node *node = &rig->peers[peer].node;
	unsigned int left = len;

	rfm_memory_store(rig->peers[peer].memory + offset, data, len);
	if (rfm_node_begin_run(node, offset, data, len)) {
		rig_pull(rig, peer, 1000);
		left = rfm_node_end_run(node);
	}
	rfm_node_store_run(node, offset + len - left, data + len - left, left, rig->now);
	return len - left;
}

/* --- what makes a train ------------------------------------------------------ */

static void a_run_is_a_train_everywhere(void **state)
{
	struct rig *rig = train_rig(3, NULL);
	uint64_t first = rig->peers[0].node.seq + 1;

	(void)state;
	store_run(rig, 0, 0x100, 5 * FRAME + 10, 7);
	assert_int_equal(pass(rig), 1);
	rig_settle(rig);
	for (int i = 0; i < 3; i++)
		assert_run(rig, i, 0x100, 5 * FRAME + 10, 7);
	for (int i = 1; i < 3; i++) {
		const struct rig_stored *stored = rig->peers[i].stored;

		assert_int_equal(rig->peers[i].stored_count, 6);
		for (unsigned int k = 0; k < 6; k++) {
			assert_int_equal(stored[k].origin.seq, first + k);
			assert_int_equal(stored[k].offset, 0x100 + k * FRAME);
			assert_int_equal(stored[k].len, k == 5 ? 10 : FRAME);
		}
		assert_int_equal(rig_stats(rig, i).received, 6);
		assert_int_equal(rig_stats(rig, i).received_bytes, 5 * FRAME + 10);
		assert_int_equal(rig_stats(rig, i).forwarded_bytes, 5 * FRAME + 10);
		assert_int_equal(rig_stats(rig, i).missed, 0);
	}
	assert_int_equal(rig_stats(rig, 0).sent, 6);
	assert_int_equal(rig_stats(rig, 0).home, 6);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	assert_int_equal(rig_stats(rig, 0).sent_bytes, 5 * FRAME + 10);
	rig_free(rig);
}

static void what_ends_a_train(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	uint64_t seq = rig->peers[0].node.seq;

	(void)state;
	/* An edge comes before the whole frames, a shorter one ends them. */
	store_run(rig, 0, 0x130, 16 + 2 * FRAME + 8, 1);
	assert_leaves(rig, 1, seq + 1, 0x130, 16);
	assert_leaves(rig, 3, seq + 2, 0x140, 2 * FRAME + 8);
	/* A gap, */
	store_run(rig, 0, 0x200, 2 * FRAME, 1);
	store_run(rig, 0, 0x2c0, 2 * FRAME, 1);
	assert_leaves(rig, 2, seq + 5, 0x200, 2 * FRAME);
	assert_leaves(rig, 2, seq + 7, 0x2c0, 2 * FRAME);
	/* the same place again, */
	store_run(rig, 0, 0x200, FRAME, 1);
	store_run(rig, 0, 0x200, FRAME, 2);
	assert_leaves(rig, 1, seq + 9, 0x200, FRAME);
	assert_leaves(rig, 1, seq + 10, 0x200, FRAME);
	/* and an interrupt, which must not be overtaken. */
	store_run(rig, 0, 0x200, 2 * FRAME, 1);
	rig_interrupt(rig, 0, 2, 1, 0);
	store_run(rig, 0, 0x280, 2 * FRAME, 1);
	assert_leaves(rig, 2, seq + 11, 0x200, 2 * FRAME);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &(struct rfm_frame){ 0 }));
	assert_leaves(rig, 2, seq + 14, 0x280, 2 * FRAME);
	rig_free(rig);
}

static void a_run_passes_the_queue(void **state)
{
	static const unsigned int LEN = 16 + 40 * FRAME + 10;
	struct rig *rig = train_rig(3, NULL);
	struct rfm_node *node = &rig->peers[0].node;
	uint64_t seq = node->seq, stores = rig_stats(rig, 0).stores;
	uint8_t data[16 + 40 * FRAME + 10];

	(void)state;
	for (unsigned int i = 0; i < LEN; i++)
		data[i] = i * 7 + i / 256;
	/* Frames end at multiples of their size, and trains at 32 frames. */
	assert_true(rfm_node_begin_run(node, 0x130, data, LEN));
	assert_leaves(rig, 1, seq + 1, 0x130, 16);
	assert_leaves(rig, 32, seq + 2, 0x140, 32 * FRAME);
	assert_leaves(rig, 9, seq + 34, 0x140 + 32 * FRAME, 8 * FRAME + 10);
	assert_false(rig_pull(rig, 0, 1));
	assert_int_equal(rfm_node_end_run(node), 0);
	assert_false(rfm_insert_used(&node->insert));
	/* The same once more: all of it arrives, and comes home. */
	rig_settle(rig);
	assert_int_equal(store_past_queue(rig, 0, 0x130, data, LEN), LEN);
	assert_true(rfm_node_owes_own_data(node));
	rig_settle(rig);
	for (int i = 1; i < 3; i++) {
		assert_memory_equal(rig->peers[i].memory + 0x130, data, LEN);
		assert_int_equal(rig_stats(rig, i).received, 42);
	}
	assert_int_equal(rig_stats(rig, 0).home, 42);
	assert_int_equal(rig_stats(rig, 0).lost, 42);
	assert_int_equal(rig_stats(rig, 0).stores - stores, 84);
	assert_int_equal(rig_stats(rig, 0).sent_bytes, 2 * LEN);
	assert_int_equal(rig_stats(rig, 0).window_peak, 84);
	assert_false(rfm_node_owes_own_data(node));
	rig_free(rig);
}

static void a_run_waits_for_credit(void **state)
{
	struct rfm_node_config like = { .window = 20 };
	struct rig *rig = train_rig(2, &like);
	uint8_t data[30 * FRAME] = { [25 * FRAME] = 7 };

	(void)state;
	assert_int_equal(store_past_queue(rig, 0, 0, data, sizeof(data)), 20 * FRAME);
	assert_false(rfm_node_credit(&rig->peers[0].node));
	assert_int_equal(rfm_insert_used(&rig->peers[0].node.insert), 10);
	rig_settle(rig);
	assert_memory_equal(rig->peers[1].memory, data, sizeof(data));
	assert_int_equal(rig_stats(rig, 0).home, 30);
	rig_free(rig);
}

/* Their numbers use up the window: a frame behind them brings it back, not a heartbeat. */
static void a_run_tells_of_what_was_dropped_before(void **state)
{
	struct rfm_node_config like = { .window = 4, .insert_slots = 16 };
	struct rig *rig = train_rig(2, &like);
	uint8_t data[3 * FRAME] = { 5 };

	(void)state;
	for (int i = 0; i < 26; i++)
		rig_store32(rig, 0, 0x400 + 0x100 * i, 1);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 0).full, 10);
	assert_int_equal(store_past_queue(rig, 0, 0, data, sizeof(data)), FRAME);
	rig_settle(rig);
	assert_memory_equal(rig->peers[1].memory, data, sizeof(data));
	assert_int_equal(rig->peers[1].missed.count, 10);
	assert_int_equal(rig_stats(rig, 0).home, 16 + 3);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

static void a_run_is_no_train_where_there_is_none(void **state)
{
	struct rfm_node_config like = { .unpacked = true };
	struct rig *rig = train_rig(2, &like);
	uint64_t seq = rig->peers[0].node.seq;
	uint8_t data[2 * FRAME + 1] = { 5 };

	(void)state;
	assert_true(rfm_node_begin_run(&rig->peers[0].node, 0, data, sizeof(data)));
	assert_leaves(rig, 1, seq + 1, 0, FRAME);
	assert_leaves(rig, 1, seq + 2, FRAME, FRAME);
	assert_leaves(rig, 1, seq + 3, 2 * FRAME, 1);
	assert_int_equal(rfm_node_end_run(&rig->peers[0].node), 0);
	rig_free(rig);
}

static void a_run_overtakes_nothing(void **state)
{
	static const struct rfm_node_config others[] = {
		{ .redundant = true }, { .line = { .paced = true } },
	};
	struct rig *rig = train_rig(2, NULL);
	struct rfm_node *node = &rig->peers[0].node;
	uint8_t data[4 * FRAME] = { 1, [FRAME] = 2 };

	(void)state;
	rig_store32(rig, 0, 0, 9);
	assert_false(rfm_node_is_clear(node));
	assert_int_equal(store_past_queue(rig, 0, 0, data, sizeof(data)), 0);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	assert_true(rfm_node_is_clear(node));
	/* What another has sent and this one is to pass on. */
	rig_store32(rig, 1, 0, 9);
	rig_pull(rig, 1, 1);
	rig_deliver(rig, 1);
	assert_false(rfm_node_is_clear(node));
	assert_int_equal(store_past_queue(rig, 0, 0, data, sizeof(data)), 0);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	/* A short one is packed with its neighbours. */
	assert_false(rfm_node_begin_run(node, 0, data, 2 * FRAME - 1));
	/* Past the end of the network's addresses it is two. */
	rfm_node_set_address_offset(node, RFM_RING_SPACE - FRAME);
	assert_int_equal(store_past_queue(rig, 0, FRAME, data, sizeof(data)), 4 * FRAME);
	assert_int_equal(store_past_queue(rig, 0, 0, data, sizeof(data)), 0);
	rfm_node_set_address_offset(node, 0);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 2);
	rfm_node_set_optics(node, false, true, false, rig->now);
	assert_false(rfm_node_is_clear(node));
	rfm_node_set_optics(node, false, false, false, rig->now);
	rig_settle(rig);
	rig_disconnect(rig, 0);
	assert_false(rfm_node_is_clear(node));
	assert_int_equal(store_past_queue(rig, 0, 0, data, sizeof(data)), 0);
	rig_free(rig);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		rig = train_rig(2, &others[i]);
		assert_false(rfm_node_is_clear(&rig->peers[0].node));
		rig_free(rig);
	}
}

static void trains_have_a_limit(void **state)
{
	static const struct {
		struct rfm_node_config like;
		unsigned int units;	/* that 40 frames make */
	} cases[] = {
		{ { .train = 0 }, 2 }, { { .train = 1 }, 40 }, { { .train = 10 }, 4 },
		{ { .unpacked = true }, 40 }, { { .redundant = true }, 80 },
		{ { .line = { .paced = true } }, 40 },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig *rig = train_rig(2, &cases[i].like);

		rig->now += MS;
		rig_settle(rig);
		store_run(rig, 0, 0, 40 * FRAME, 3);
		rig->now += MS;
		assert_int_equal(pass(rig), cases[i].units);
		rig->now += MS;
		rig_settle(rig);
		assert_run(rig, 1, 0, 40 * FRAME, 3);
		assert_int_equal(rig_stats(rig, 0).home, 40);
		rig_free(rig);
	}
}

static void a_train_needs_credit_for_all_its_frames(void **state)
{
	struct rfm_node_config like = { .window = 10 };
	struct rig *rig = train_rig(2, &like);
	uint64_t seq = rig->peers[0].node.seq;
	struct rfm_frame frame;

	(void)state;
	store_run(rig, 0, 0, 15 * FRAME, 3);
	assert_true(rig_pull(rig, 0, 1000));
	assert_int_equal(rig_in_flight(rig, 0), 1);
	assert_int_equal(rig->peers[0].node.seq, seq + 10);
	assert_int_equal(rig_stats(rig, 0).window_peak, 10);
	assert_true(rig_drop(rig, 0, &frame));
	assert_int_equal(frame.count, 10);
	rig_free(rig);
}

/* What was dropped has its numbers between those before it and those behind. */
static void a_dropped_store_parts_a_run(void **state)
{
	struct rfm_node_config like = { .window = 5, .insert_slots = 16 };
	struct rig *rig = train_rig(2, &like);
	const struct rig_stored *stored;
	uint64_t first = rig->peers[0].node.seq + 1;

	(void)state;
	store_run(rig, 0, 0, 18 * FRAME, 3);		/* the last two find no room */
	assert_int_equal(rig_stats(rig, 0).full, 2);
	rfm_node_send_queued(&rig->peers[0].node, rig->now);	/* five leave: now there is some */
	store_run(rig, 0, 16 * FRAME, 2 * FRAME, 9);	/* adjacent to what was queued last */
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).received, 18);
	assert_int_equal(rig_stats(rig, 1).missed, 2);
	assert_int_equal(rig_stats(rig, 0).lost, 2);
	stored = rig->peers[1].stored;
	assert_int_equal(stored[15].origin.seq, first + 15);
	assert_int_equal(stored[16].origin.seq, first + 18);
	assert_int_equal(rig->peers[1].missed.seq, first + 18);
	rig_free(rig);
}

/* An interrupt counts as a frame in flight like any other. */
static void the_peak_counts_all_frames(void **state)
{
	struct rig *rig = train_rig(2, NULL);

	(void)state;
	rig_interrupt(rig, 0, 2, 1, 0);
	rig_pull(rig, 0, 1);
	assert_int_equal(rig_stats(rig, 0).window_peak, 1);
	store_run(rig, 0, 0, 3 * FRAME, 3);
	rig_interrupt(rig, 0, 2, 1, 0);
	rig_pull(rig, 0, 10);
	assert_int_equal(rig_stats(rig, 0).window_peak, 5);
	rig_free(rig);
}

/* --- what becomes of it on the way ------------------------------------------- */

static void a_lost_train_is_as_many_lost_frames(void **state)
{
	struct rig *rig = train_rig(2, NULL);

	(void)state;
	store_run(rig, 0, 0, 8 * FRAME, 3);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &(struct rfm_frame){ 0 }));
	store_run(rig, 0, 0x400, 4 * FRAME, 3);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 0).lost, 8);
	assert_int_equal(rig_stats(rig, 0).home, 4);
	assert_int_equal(rig_stats(rig, 1).missed, 8);
	assert_int_equal(rig_stats(rig, 1).received, 4);
	assert_true(rig_fence(rig, 0, 1));
	rig_settle(rig);
	assert_int_equal(rig->peers[0].fence.lost, 8);
	rig_free(rig);
}

static void a_damaged_train_is_dropped_and_missed(void **state)
{
	struct rig *rig = train_rig(2, NULL);

	(void)state;
	store_run(rig, 0, 0, 8 * FRAME, 3);
	rig_pull(rig, 0, 1);
	rig_damage(rig, 0);
	store_run(rig, 0, 0x400, 2 * FRAME, 3);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).bad, 1);
	assert_int_equal(rig_stats(rig, 1).missed, 8);
	assert_int_equal(rig_stats(rig, 1).received, 2);
	assert_int_equal(rig->peers[1].memory[0], 0);
	rig_free(rig);
}

static unsigned int take_wire_of(struct rig *rig, int peer, uint8_t *wire)
{
	unsigned int len = rfm_node_pull(&rig->peers[peer].node, wire, rig->now);

	assert_true(len);
	return len;
}

/* The wire form of what leaves peer 0 next. */
static unsigned int take_wire(struct rig *rig, uint8_t *wire)
{
	return take_wire_of(rig, 0, wire);
}

static void receive(struct rig *rig, int peer, const uint8_t *wire, unsigned int len)
{
	uint8_t copy[RFM_UNIT_MAX];

	memcpy(copy, wire, len);
	rfm_node_receive(&rig->peers[peer].node, copy, len, rig->now);
}

/* Peer 0 stores two frames, and peer 1 has them; what that passes on. */
static unsigned int come_back(struct rig *rig, uint8_t seed, uint8_t *wire)
{
	unsigned int len;

	store_run(rig, 0, 0, 2 * FRAME, seed);
	len = take_wire(rig, wire);
	receive(rig, 1, wire, len);
	assert_run(rig, 1, 0, 2 * FRAME, seed);
	assert_int_equal(take_wire_of(rig, 1, wire), len);
	return len;
}

/* Whoever has stored its data has checked them: an own train is known by its header. */
static void an_own_train_needs_only_its_header(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	uint64_t bad = rig_stats(rig, 0).bad, home = rig_stats(rig, 0).home;
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len;

	(void)state;
	for (unsigned int at = 0; at < RFM_FRAME_HEADER; at++) {
		len = come_back(rig, at, wire);
		wire[at] ^= 0x10;
		assert_false(at < RFM_FRAME_HEADER - 4 &&
			     rfm_node_knows(&rig->peers[0].node, wire));
		receive(rig, 0, wire, len);
		assert_int_equal(rig_stats(rig, 0).bad, bad + at + 1);
		assert_int_equal(rig_stats(rig, 0).home, home);
	}
	len = come_back(rig, 100, wire);
	memset(wire + RFM_FRAME_HEADER, 0, len - RFM_FRAME_HEADER);
	assert_true(rfm_node_knows(&rig->peers[0].node, wire));
	receive(rig, 0, wire, len);
	assert_int_equal(rig_stats(rig, 0).home, home + 2);
	assert_int_equal(rig_stats(rig, 0).lost, 2 * RFM_FRAME_HEADER);
	/* Once. */
	assert_false(rfm_node_knows(&rig->peers[0].node, wire));
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* A header is of the life in which it was sent, and of the last train at its place. */
static void an_old_header_is_not_known(void **state)
{
	struct rfm_node_config like = { .window = 4 * RFM_NODE_WINDOW };
	uint8_t old[RFM_UNIT_MAX], wire[RFM_UNIT_MAX];
	struct rig *rig = train_rig(2, &like);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	node->window = like.window;
	store_run(rig, 0, 0, 2 * FRAME, 1);
	take_wire(rig, old);
	assert_true(rfm_node_knows(node, old));
	for (uint64_t last = node->seq + RFM_NODE_WINDOW - 2; node->seq < last; ) {
		store_run(rig, 0, 0, 2 * FRAME, 2);
		take_wire(rig, wire);
		assert_true(rfm_node_knows(node, wire));
	}
	assert_true(rfm_node_knows(node, old));
	store_run(rig, 0, 0, 2 * FRAME, 3);
	take_wire(rig, wire);
	assert_true(rfm_node_knows(node, wire));
	assert_false(rfm_node_knows(node, old));

	store_run(rig, 0, 0, 2 * FRAME, 4);
	take_wire(rig, old);
	for (int life = 1; life < 3; life++) {
		rfm_node_rejoin(node, 9000 + life, rig->now);
		while (node->seq < RFM_NODE_WINDOW * 2) {
			rig_store32(rig, 0, 0, node->seq);
			take_wire(rig, wire);
		}
		assert_false(rfm_node_knows(node, old));
	}
	rig_free(rig);
}

/* Only whose train it is leaves it in the shared memory. */
static void others_copy_the_train(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_shm out, in;

	(void)state;
	make_pair(&out, &in, 4 * RFM_TRAIN_FRAMES);
	for (int round = 0; round < 2; round++) {
		uint8_t *slot = rfm_shm_reserve(&out, RFM_TRAIN_FRAMES);
		int peer = !round;

		memset(wire, 0xee, sizeof(wire));
		store_run(rig, 0, 0, 3 * FRAME, 7);
		assert_true(rfm_node_pull(&rig->peers[0].node, slot, rig->now));
		rfm_shm_commit(&out, 3, true);
		rfm_shm_publish(&out);
		assert_int_equal(rfm_shm_take(&in, wire, rfm_node_link_ops.knows,
					      &rig->peers[peer].node), 3);
		for (unsigned int i = 64; i < RFM_FRAME_HEADER + 3 * FRAME; i++)
			assert_int_equal(wire[i] == slot[i], peer || slot[i] == 0xee);
		assert_memory_equal(wire, slot, RFM_FRAME_HEADER);
	}
	close_pair(&out, &in);
	rig_free(rig);
}

static void a_late_train_is_not_stored(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	uint64_t forwarded = rig_stats(rig, 1).forwarded;
	uint8_t first[RFM_UNIT_MAX], second[RFM_UNIT_MAX];
	unsigned int first_len, second_len;

	(void)state;
	store_run(rig, 0, 0, 3 * FRAME, 3);
	first_len = take_wire(rig, first);
	store_run(rig, 0, 0, 5 * FRAME, 9);
	second_len = take_wire(rig, second);
	receive(rig, 1, second, second_len);
	receive(rig, 1, first, first_len);
	receive(rig, 1, second, second_len);
	assert_run(rig, 1, 0, 5 * FRAME, 9);
	assert_int_equal(rig_stats(rig, 1).received, 5);
	assert_int_equal(rig_stats(rig, 1).missed, 3);
	assert_int_equal(rig_stats(rig, 1).late, 8);
	assert_int_equal(rig_stats(rig, 1).forwarded - forwarded, 13);

	/* And at home: the one that was overtaken is lost, and late when it comes. */
	receive(rig, 0, second, second_len);
	receive(rig, 0, first, first_len);
	assert_int_equal(rig_stats(rig, 0).home, 5);
	assert_int_equal(rig_stats(rig, 0).lost, 3);
	assert_int_equal(rig_stats(rig, 0).late, 3);
	rig_free(rig);
}

/* No train of ours has numbers that we never gave. */
static void a_train_beyond_our_numbers_is_bad(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	struct rfm_node *node = &rig->peers[0].node;
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = node->config.id, .hops = 1, .count = 4,
		.length = 4 * FRAME, .incarnation = node->config.incarnation, .seq = node->seq,
	};
	uint8_t wire[RFM_UNIT_MAX] = { 0 };

	(void)state;
	receive(rig, 0, wire, rfm_train_encode(&frame, wire));
	assert_int_equal(rig_stats(rig, 0).bad, 1);
	assert_int_equal(node->home_seq, node->seq);
	rig_free(rig);
}

static void a_paused_node_holds_trains_back(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	unsigned int rounds = RFM_NODE_HELD_SLOTS / RFM_TRAIN_FRAMES;

	(void)state;
	rfm_node_set_paused(&rig->peers[1].node, true);
	store_run(rig, 0, 0x40, FRAME, 1);
	rig_settle(rig);
	for (unsigned int i = 0; i < rounds; i++) {
		store_run(rig, 0, 0x400, RFM_TRAIN_FRAMES * FRAME, (uint8_t)i);
		rig_settle(rig);
	}
	/* The last one does not find room any more: all or nothing. */
	assert_int_equal(rig_stats(rig, 1).held_lost, RFM_TRAIN_FRAMES);
	assert_int_equal(rig_stats(rig, 1).received, 1 + (rounds - 1) * RFM_TRAIN_FRAMES);
	assert_int_equal(rig->peers[1].stored_count, 0);
	assert_int_equal(rig_stats(rig, 0).lost, RFM_TRAIN_FRAMES);
	/* For one frame there would be room, but it must not be seen without the train. */
	store_run(rig, 0, 0x80, FRAME, 77);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).held_lost, RFM_TRAIN_FRAMES + 1);
	rfm_node_set_paused(&rig->peers[1].node, false);
	assert_int_equal(rig->peers[1].stored_count, 1 + (rounds - 1) * RFM_TRAIN_FRAMES);
	assert_run(rig, 1, 0x400, RFM_TRAIN_FRAMES * FRAME, (uint8_t)(rounds - 2));
	assert_run(rig, 1, 0x40, FRAME, 1);
	rig_free(rig);
}

static void a_paced_node_sends_the_frames_of_others_one_by_one(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	struct rfm_node_config slow = {
		.id = 9, .memory_size = RIG_MEMORY, .incarnation = 77, .clock_domain = 1,
		.line = { .paced = true, .hop_ns = 450 },
	};
	struct rfm_frame frame;

	(void)state;
	rig_start_as(rig, 1, &slow);
	rig_join(rig, 1);
	rig->now += 100 * MS;
	rig_settle(rig);
	store_run(rig, 0, 0, 3 * FRAME + 4, 3);
	assert_int_equal(pass(rig), 1);
	rig->now += MS;
	rig_pull(rig, 1, 100);
	for (unsigned int i = 0; i < 4; i++) {
		assert_true(rig_drop(rig, 1, &frame));
		assert_int_equal(frame.count, 1);
		assert_int_equal(frame.address, i * FRAME);
		assert_int_equal(frame.length, i == 3 ? 4 : FRAME);
		assert_int_equal(frame.hops, 2);
		assert_memory_equal(frame.data, rig->peers[0].memory + i * FRAME, frame.length);
	}
	assert_int_equal(rig_stats(rig, 1).forwarded, 4);
	rig_free(rig);
}

static void what_lies_beyond_the_memory_is_counted_by_frames(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	struct rfm_node_config small = {
		.id = 9, .memory_size = 3 * FRAME + 16, .incarnation = 77, .clock_domain = 1,
	};

	(void)state;
	rig_start_as(rig, 1, &small);
	rig_join(rig, 1);
	store_run(rig, 0, 0, 6 * FRAME, 3);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).beyond, 3);
	assert_int_equal(rig_stats(rig, 1).received, 6);
	assert_int_equal(rig->peers[1].stored_count, 4);
	assert_int_equal(rig->peers[1].stored[3].len, 16);
	assert_int_equal(rig_stats(rig, 0).home, 6);
	rig_free(rig);
}

/* An address offset of ours that lies inside a train: its end is the beginning of our memory. */
static void an_address_offset_wraps_inside_a_train(void **state)
{
	struct rig *rig = train_rig(2, NULL);
	const struct rig_stored *stored;

	(void)state;
	rfm_node_set_address_offset(&rig->peers[1].node, 2 * FRAME + 32);
	store_run(rig, 0, 0, 5 * FRAME, 3);
	rig_settle(rig);
	/* Two frames and a half lie at the end of the 256 MiB, which is beyond our memory. */
	stored = rig->peers[1].stored;
	assert_int_equal(rig->peers[1].stored_count, 3);
	assert_int_equal(stored[0].offset, 0);
	assert_int_equal(stored[0].len, FRAME - 32);
	assert_memory_equal(stored[0].data, rig->peers[0].memory + 2 * FRAME + 32, FRAME - 32);
	assert_int_equal(stored[1].offset, FRAME - 32);
	assert_memory_equal(stored[1].data, rig->peers[0].memory + 3 * FRAME, FRAME);
	assert_int_equal(stored[2].origin.seq, stored[0].origin.seq + 2);
	assert_int_equal(rig_stats(rig, 1).beyond, 3);
	assert_int_equal(rig_stats(rig, 1).received, 5);
	rig_free(rig);
}

/* --- any schedule ------------------------------------------------------------- */

/* Blocks carry a stamp that grows: what comes from a node, comes in its order. */
static void store_stamps(struct rig *rig, int peer, uint64_t *seed, uint32_t *stamp)
{
	unsigned int frames = 1 + test_random(seed) % 40, at = test_random(seed) % 20;
	uint32_t run[40][FRAME / 4] = { 0 };

	if (test_random(seed) % 2) {
		for (unsigned int i = 0; i < frames; i++)
			run[i][0] = ++*stamp;
		store_past_queue(rig, peer, at * FRAME, (const uint8_t *)run,
				 frames * FRAME - test_random(seed) % 2 * 20);
		return;
	}
	while (frames--) {
		uint32_t block[FRAME / 4] = { [0] = ++*stamp };

		rig_store(rig, peer, (at++ * FRAME) % RIG_MEMORY, block,
			  test_random(seed) % 16 ? FRAME : 8);
	}
}

static void check_stamps(const struct rig *rig, int at)
{
	uint32_t last[4] = { 0 };
	uint64_t seq[4] = { 0 };

	for (uint64_t i = 0; i < rig->peers[at].stored_count; i++) {
		const struct rig_stored *stored = &rig->peers[at].stored[i];
		unsigned int from = stored->origin.node - 1;
		uint32_t stamp;

		memcpy(&stamp, stored->data, sizeof(stamp));
		assert_true(stamp > last[from] && stored->origin.seq > seq[from]);
		last[from] = stamp;
		seq[from] = stored->origin.seq;
	}
}

static void trouble(struct rig *rig, uint64_t *seed)
{
	int peer = test_random(seed) % rig->count;

	switch (test_random(seed) % 24) {
	case 0:
		if (rig_in_flight(rig, peer))	/* lost, damaged or not */
			rig->peers[peer].out.head++;
		break;
	case 1:
		if (rig_in_flight(rig, peer))
			rig_damage(rig, peer);
		break;
	case 2:
		rfm_node_set_paused(&rig->peers[peer].node, test_random(seed) % 2);
		break;
	case 3:
		rig_disconnect(rig, peer);
		rig_connect(rig, peer);
		break;
	default:
		break;
	}
}

static void books_and_order_under_any_schedule(void **state)
{
	static const struct rfm_node_config kinds[] = {
		{ .train = 0 }, { .train = 5, .window = 40 }, { .window = 7, .insert_slots = 16 },
	};

	(void)state;
	for (uint64_t run = 0; run < 60; run++) {
		struct rig *rig = train_rig(3, &kinds[run % ARRAY_SIZE(kinds)]);
		uint32_t stamps[3] = { 0 };
		uint64_t seed = run;

		for (int step = 0; step < 1500; step++) {
			int peer = test_random(&seed) % 3;

			if (!(test_random(&seed) % 4))
				store_stamps(rig, peer, &seed, &stamps[peer]);
			rig_pull(rig, test_random(&seed) % 3, 1 + test_random(&seed) % 6);
			for (int i = test_random(&seed) % 4; i; i--)
				rig_deliver(rig, test_random(&seed) % 3);
			trouble(rig, &seed);
		}
		for (int i = 0; i < 3; i++)
			rfm_node_set_paused(&rig->peers[i].node, false);
		rig_settle(rig);
		rig_advance(rig, 5000 * MS);
		for (int i = 0; i < 3; i++) {
			rig_assert_books_closed(rig, i);
			check_stamps(rig, i);
		}
		rig_free(rig);
	}
}

static void rogue_masters_and_the_hop_limit_count_frames(void **state)
{
	struct rfm_node_config like = { .rogue_master = 1 };
	struct rig *rig = train_rig(2, &like);
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len;

	(void)state;
	store_run(rig, 0, 0, 4 * FRAME, 3);
	len = take_wire(rig, wire);
	rfm_frame_set_path(wire, 3, RFM_MARK_ROGUE_0);
	receive(rig, 1, wire, len);
	assert_int_equal(rig_stats(rig, 1).rogue, 4);
	rfm_frame_set_path(wire, RFM_NODE_HOP_LIMIT, 0);
	receive(rig, 1, wire, len);
	assert_int_equal(rig_stats(rig, 1).hop_limit, 4);
	assert_int_equal(rig->peers[1].stored_count, 0);
	rig_free(rig);
}

static void what_cannot_leave_is_counted_by_frames(void **state)
{
	struct rig *rig = train_rig(3, NULL);

	(void)state;
	/* Peer 1 has a train of its own and one in transit in its FIFO when its fibre breaks. */
	store_run(rig, 0, 0, 5 * FRAME, 3);
	pass(rig);
	store_run(rig, 1, 0x400, 4 * FRAME, 3);
	rfm_node_send_queued(&rig->peers[1].node, rig->now);
	rig_disconnect(rig, 1);
	assert_int_equal(rig_stats(rig, 1).unsendable, 5);
	assert_int_equal(rig_stats(rig, 1).dark, 4);
	store_run(rig, 0, 0, 3 * FRAME, 3);
	pass(rig);
	assert_int_equal(rig_stats(rig, 1).unsendable, 8);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_a_train_everywhere),
		cmocka_unit_test(what_ends_a_train),
		cmocka_unit_test(a_run_passes_the_queue),
		cmocka_unit_test(a_run_waits_for_credit),
		cmocka_unit_test(a_run_tells_of_what_was_dropped_before),
		cmocka_unit_test(a_run_is_no_train_where_there_is_none),
		cmocka_unit_test(a_run_overtakes_nothing),
		cmocka_unit_test(trains_have_a_limit),
		cmocka_unit_test(a_train_needs_credit_for_all_its_frames),
		cmocka_unit_test(a_dropped_store_parts_a_run),
		cmocka_unit_test(the_peak_counts_all_frames),
		cmocka_unit_test(a_lost_train_is_as_many_lost_frames),
		cmocka_unit_test(a_damaged_train_is_dropped_and_missed),
		cmocka_unit_test(an_own_train_needs_only_its_header),
		cmocka_unit_test(an_old_header_is_not_known),
		cmocka_unit_test(others_copy_the_train),
		cmocka_unit_test(a_late_train_is_not_stored),
		cmocka_unit_test(a_train_beyond_our_numbers_is_bad),
		cmocka_unit_test(a_paused_node_holds_trains_back),
		cmocka_unit_test(a_paced_node_sends_the_frames_of_others_one_by_one),
		cmocka_unit_test(what_lies_beyond_the_memory_is_counted_by_frames),
		cmocka_unit_test(an_address_offset_wraps_inside_a_train),
		cmocka_unit_test(rogue_masters_and_the_hop_limit_count_frames),
		cmocka_unit_test(what_cannot_leave_is_counted_by_frames),
		cmocka_unit_test(books_and_order_under_any_schedule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
