// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * What a node does when the ring is not whole: queues that fill, frames that
 * are lost, fibres that break, nodes that come and go. Every loss is counted,
 * exactly, and nothing waits for ever.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <string.h>

#include "ring/wire.h"

/* --- queues --------------------------------------------------------------- */

/* No more than the window leaves before something comes home. */
static void the_window_is_kept(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	for (int i = 0; i < RFM_NODE_WINDOW + 10; i++)
		rig_store32(rig, 0, 0, i);
	rig_pull(rig, 0, 1000000);
	assert_int_equal(rig_in_flight(rig, 0), RFM_NODE_WINDOW);
	assert_false(rfm_node_tx_empty(node));		/* ten still wait */
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 1);
	rig_deliver(rig, 1);
	rig_pull(rig, 2, 1);
	rig_deliver(rig, 2);				/* one is home */
	rig_pull(rig, 0, 1000000);
	assert_int_equal(rig_in_flight(rig, 0), RFM_NODE_WINDOW);
	rig_settle(rig);
	rig_assert_books_closed(rig, 0);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	rig_free(rig);
}

/* At least. */
static void send_as_many(struct rig *rig, int peer, uint32_t frames)
{
	for (uint32_t sent = 0; sent <= frames; sent += 1024) {
		for (int store = 0; store < 1024; store++)
			rig_store32(rig, peer, 0, store);
		rig_pull(rig, peer, 1024);
	}
}

/* Behind a node that stands still others seem to be gone, but their frames wait there. */
static void a_standstill_makes_no_window_larger(void **state)
{
	struct rfm_node_config like = rig_config(1, 1);
	struct rig *rig;

	(void)state;
	like.window = RFM_NODE_WINDOW_MAX;
	rig = rig_new_like(20, 1, &like);
	rig_advance(rig, 600 * MS);
	for (int i = 0; i < 25; i++) {
		rig->now += 100 * MS;
		rfm_node_tick(&rig->peers[0].node, rig->now);
	}
	assert_false(rig->peers[0].node.sources[2].present);
	assert_int_equal(rig->peers[0].node.window, RFM_NODE_TX_SLOTS / 2 / 20);
	rig_free(rig);
}

/* A larger one is kept as well; and in a FIFO is room for all nodes, as many as there are. */
static void a_large_window_is_shared(void **state)
{
	static const struct { int nodes; uint32_t window; } rings[] = {
		{ 2, RFM_NODE_WINDOW_MAX }, { 16, RFM_NODE_WINDOW_MAX },
		{ 20, RFM_NODE_TX_SLOTS / 2 / 20 },
	};
	struct rfm_node_config like = rig_config(1, 1);

	(void)state;
	like.window = RFM_NODE_WINDOW_MAX;
	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		struct rig *rig = rig_new_like(rings[i].nodes, 1, &like);

		/* Only when all have been heard. */
		rfm_node_set_incomplete(&rig->peers[0].node);
		rfm_node_set_complete(&rig->peers[0].node, rig->now);	/* one more comes home */
		rig_settle(rig);
		assert_int_equal(rig->peers[0].node.window, RFM_NODE_WINDOW);
		rig_advance(rig, 600 * MS);
		send_as_many(rig, 0, rings[i].window);
		assert_int_equal(rig_in_flight(rig, 0), rings[i].window);
		rig_settle(rig);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

static void fill(struct rig *rig, int peer)
{
	for (int i = 0; i < RFM_NODE_WINDOW + RFM_INSERT_SLOTS; i++) {
		assert_true(rfm_node_may_store(&rig->peers[peer].node));
		rig_store32(rig, peer, 0, i);
	}
}

static void almost_full_at_three_quarters(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	for (int i = 0; i < RFM_NODE_WINDOW + RFM_INSERT_SLOTS * 3 / 4 - 1; i++)
		rig_store32(rig, 0, 0, i);
	assert_false(rfm_node_tx_almost_full(node));
	rig_store32(rig, 0, 0, 1);
	assert_true(rfm_node_tx_almost_full(node));
	rig_settle(rig);
	assert_false(rfm_node_tx_almost_full(node));
	rig_free(rig);
}

/* A run is the stores that it is made of, also where there is no room for all, or none leave. */
static void a_run_is_its_stores(void **state)
{
	static const uint32_t places[] = { 50, 64, 128, 192, 256, 320, 350 };
	struct rig *rig = rig_new(2, 1);
	struct rfm_node *node = &rig->peers[0].node;
	uint8_t data[300];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i * 7;
	assert_true(rfm_node_store_run(node, places[0], data, sizeof(data), rig->now));
	assert_true(rfm_node_store_run(node, places[0], data, 0, rig->now));
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 6);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(rig->peers[1].stored[i].offset, places[i]);
		assert_int_equal(rig->peers[1].stored[i].len, places[i + 1] - places[i]);
	}
	assert_memory_equal(rig->peers[1].memory + places[0], data, sizeof(data));

	for (int i = 0; i < RFM_NODE_WINDOW + RFM_INSERT_SLOTS - 4; i++)
		rig_store32(rig, 0, 0, i);
	assert_false(rfm_node_store_run(node, places[0], data, sizeof(data), rig->now));
	assert_int_equal(rig_stats(rig, 0).full, 2);
	rig_settle(rig);
	rig_advance(rig, 600 * MS);
	assert_int_equal(rig_stats(rig, 0).lost, 2);
	assert_int_equal(rig_stats(rig, 1).missed, 2);
	rig_assert_books_closed(rig, 0);

	rig_disconnect(rig, 0);
	assert_true(rfm_node_store_run(node, places[0], data, sizeof(data), rig->now));
	assert_int_equal(rig_stats(rig, 0).dark, 6);
	rig_free(rig);
}

/* A store beyond is dropped, said so, and counted at both ends. */
static void a_store_without_room_is_counted(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	fill(rig, 0);
	assert_false(rfm_node_may_store(&rig->peers[0].node));
	assert_int_equal(rig_status(rig, 0), 0);
	rig_store32(rig, 0, 8, 1);
	rig_store32(rig, 0, 8, 2);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_TX_FULL);
	assert_int_equal(rig_stats(rig, 0).full, 2);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 8), 0);
	/* They were the last ones; only the heartbeat can tell of them. */
	rig_advance(rig, 600 * MS);
	assert_int_equal(rig_stats(rig, 0).lost, 2);
	assert_int_equal(rig_stats(rig, 1).missed, 2);
	assert_int_equal(rig_stats(rig, 2).missed, 2);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* A heartbeat tells the last number before those that still wait. */
static void a_heartbeat_speaks_for_what_went_before_it(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig->now += 450 * MS;
	fill(rig, 0);
	for (int i = 0; i < 20; i++)
		rig_store32(rig, 0, 8, i);	/* no room; numbers behind the waiting */
	rig->now += 100 * MS;
	rfm_node_tick(&rig->peers[0].node, rig->now);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).received, RFM_NODE_WINDOW + RFM_INSERT_SLOTS);
	assert_int_equal(rig_stats(rig, 1).late, 0);
	assert_int_equal(rig_stats(rig, 1).missed, 0);
	assert_int_equal(rig_stats(rig, 0).home, RFM_NODE_WINDOW + RFM_INSERT_SLOTS);
	rig_advance(rig, 1500 * MS);
	assert_int_equal(rig_stats(rig, 1).missed, 20);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* Whoever began to wait while the last frame left: nothing else would ever tell it. */
static void who_was_missed_is_told_of_room(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[0];
	uint8_t wire[RFM_UNIT_MAX];

	(void)state;
	rig_settle(rig);
	atomic_store(&peer->node.insert.producer_waits, true);
	assert_int_equal(rfm_node_pull(&peer->node, wire, rig->now), 0);
	assert_int_equal(peer->room_count, 1);
	/* And where nothing is pulled. */
	atomic_store(&peer->node.insert.producer_waits, true);
	rfm_node_tick(&peer->node, rig->now);
	assert_int_equal(peer->room_count, 2);
	rig_free(rig);
}

/* Whoever asked for room is called once there is some, and only then. */
static void room_is_announced(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[0];

	(void)state;
	fill(rig, 0);
	rig_settle(rig);
	assert_int_equal(peer->room_count, 0);		/* nobody asked */
	fill(rig, 0);
	assert_false(rfm_node_may_store(&peer->node));
	assert_false(rfm_node_may_store(&peer->node));
	rig_pull(rig, 0, 1000000);
	assert_int_equal(peer->room_count, 0);
	rig_settle(rig);
	assert_int_equal(peer->room_count, 1);
	assert_true(rfm_node_may_store(&peer->node));

	/* Also when the room comes from a break. */
	fill(rig, 0);
	assert_false(rfm_node_may_store(&peer->node));
	rig_disconnect(rig, 1);
	assert_int_equal(peer->room_count, 2);
	assert_true(rfm_node_may_store(&peer->node));
	rig_free(rig);
}

static void interrupts_have_room_of_their_own(void **state)
{
	struct rig *rig = rig_new(2, 1);

	(void)state;
	fill(rig, 0);
	for (int i = 0; i < RFM_INSERT_SLOTS; i++)
		rig_interrupt(rig, 0, 2, 1, i);
	assert_int_equal(rig_status(rig, 0), 0);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].interrupt_count, RFM_INSERT_SLOTS);
	for (int i = 0; i < RFM_INSERT_SLOTS; i++) {
		assert_int_equal(rig->peers[1].interrupts[i].data, i);
		assert_int_equal(rig->peers[1].interrupts[i].after,
				 RFM_NODE_WINDOW + RFM_INSERT_SLOTS);
	}
	rig_free(rig);
}

/* Frames of others that find the transmit FIFO full are dropped and counted. */
static void a_flood_overruns_and_breaks_nothing(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[1];
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 77, .incarnation = 5, .length = 4, .hops = 1,
	};

	(void)state;
	for (int i = 0; i < RFM_NODE_TX_SLOTS + 10; i++) {
		frame.seq++;
		rig_inject(rig, 0, &frame);
		rig_deliver(rig, 0);
	}
	assert_int_equal(rig_stats(rig, 1).overrun, 10);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_TX_FULL);
	assert_int_equal(rig_stats(rig, 1).received, RFM_NODE_TX_SLOTS + 10);
	/* Own frames wait, and leave behind those that came first. */
	rig_store32(rig, 1, 4, 99);
	rig_pull(rig, 1, RFM_NODE_TX_SLOTS * 2);
	assert_true(rfm_node_tx_empty(&peer->node));
	for (int i = 0; i < RFM_NODE_TX_SLOTS; i++) {
		assert_true(rig_drop(rig, 1, &frame));
		assert_int_equal(frame.source, 77);
		assert_int_equal(frame.seq, i + 1);
	}
	assert_true(rig_drop(rig, 1, &frame));
	assert_int_equal(frame.source, 2);
	assert_int_equal(get32(frame.data), 99);
	assert_false(rig_drop(rig, 1, &frame));
	rig_free(rig);
}

/* --- loss ----------------------------------------------------------------- */

/* Store 20 words on peer 0 and lose some of the frames behind peer @from. */
static void lose_some(struct rig *rig, int from, uint32_t lost)
{
	struct rfm_frame frame;

	for (int i = 0; i < 20; i++) {
		rig_store32(rig, 0, i * 4, 100 + i);
		for (int at = 0;; at++) {
			rig_pull(rig, at, 1);
			if (at == from)
				break;
			rig_deliver(rig, at);
		}
		if (lost >> i & 1)
			assert_true(rig_drop(rig, from, &frame));
		rig_settle(rig);
	}
}

static void a_lost_frame_is_missed_by_those_behind(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	lose_some(rig, 0, 0x00061);
	assert_int_equal(rig_stats(rig, 1).missed, 3);
	assert_int_equal(rig_stats(rig, 2).missed, 3);
	assert_int_equal(rig_stats(rig, 0).lost, 3);
	assert_int_equal(rig_stats(rig, 0).home, 17);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

static void a_frame_lost_on_the_way_home_is_missed_by_nobody(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	lose_some(rig, 2, 0x10100);
	assert_int_equal(rig_stats(rig, 1).missed, 0);
	assert_int_equal(rig_stats(rig, 2).missed, 0);
	assert_int_equal(rig_stats(rig, 0).lost, 2);
	assert_int_equal(rig_stats(rig, 0).home, 18);
	rig_free(rig);
}

/* After the last frame comes silence; the heartbeat tells. */
static void the_last_frame_counts_too(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	lose_some(rig, 1, 0xc0000);
	assert_int_equal(rig_stats(rig, 2).missed, 0);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	rig_advance(rig, 600 * MS);
	assert_int_equal(rig_stats(rig, 1).missed, 0);
	assert_int_equal(rig_stats(rig, 2).missed, 2);
	assert_int_equal(rig_stats(rig, 0).lost, 2);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* A frame that comes twice, or too late, is passed on but not stored again. */
static void late_frames_are_passed_on_and_not_stored(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame;
	uint64_t forwarded;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &frame));
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	rig_store32(rig, 0, 0, 2);
	rig_settle(rig);
	forwarded = rig_stats(rig, 1).forwarded;
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig_load32(rig, i, 0), 2);
		assert_int_equal(rig_stats(rig, i).late, 1);
		assert_int_equal(rig_stats(rig, i).received, 2);
	}
	assert_int_equal(rig_stats(rig, 1).forwarded, forwarded + 1);
	assert_int_equal(rig_stats(rig, 0).late, 1);	/* home a second time */
	assert_int_equal(rig_stats(rig, 0).home, 2);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

static void damage_is_dropped_and_reported(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[1].node;
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 1, .incarnation = 1000, .seq = 1,
		.length = 4, .hops = 1,
	};
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = rfm_frame_encode(&frame, wire);

	(void)state;
	wire[RFM_FRAME_HEADER] ^= 1;
	rfm_node_receive(node, wire, len, rig->now);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_BAD_DATA);
	assert_int_equal(rig_status(rig, 2), 0);
	assert_int_equal(rfm_node_read_stats(node).bad, 1);
	assert_int_equal(rig->peers[1].stored_count + rig->peers[2].stored_count, 0);
	rig_free(rig);
}

/* A number that was never given cannot come home; it would open the window. */
static void an_own_frame_never_sent_is_bad_data(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 1, .incarnation = 1000, .seq = 500,
		.length = 4, .hops = 1,
	};

	(void)state;
	rig_inject(rig, 1, &frame);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_BAD_DATA);
	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	assert_int_equal(rig_stats(rig, 0).home, 1);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* Nobody on the ring removes it, but it does not go round for ever. */
static void a_frame_without_owner_dies_of_hops(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint64_t before = 0, passed = 0, dropped = 0;
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 77, .incarnation = 5, .seq = 1,
		.length = 4, .hops = 1, .data = { 1 },
	};

	(void)state;
	for (int i = 0; i < 3; i++)
		before += rig_stats(rig, i).forwarded;
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	for (int i = 0; i < 3; i++) {
		passed += rig_stats(rig, i).forwarded;
		dropped += rig_stats(rig, i).hop_limit;
		assert_int_equal(rig->peers[i].stored_count, 1);
		assert_int_equal(rig_in_flight(rig, i), 0);
	}
	assert_int_equal(passed - before, RFM_NODE_HOP_LIMIT - 1);
	assert_int_equal(dropped, 1);
	assert_int_equal(rig_status(rig, 0) + rig_status(rig, 1) + rig_status(rig, 2),
			 RFM_NODE_BAD_DATA);
	/* At the limit it is not stored even by who sees it for the first time. */
	frame.seq = 2;
	frame.hops = RFM_NODE_HOP_LIMIT;
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 1);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_BAD_DATA);
	rig_free(rig);
}

/*
 * Frames with good checks and senseless contents: nothing is stored outside the
 * memory (the rig looks), nothing circles or grows for ever, and the real nodes
 * still hear each other.
 */
static void well_formed_nonsense(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint64_t seed = 31337;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		static const uint8_t types[] = {
			RFM_FRAME_DATA, RFM_FRAME_INTERRUPT, RFM_FRAME_HEARTBEAT,
			RFM_FRAME_DUPLICATE, RFM_FRAME_BREAK, RFM_FRAME_FENCE,
			RFM_FRAME_MULTICAST, RFM_FRAME_QUERY, RFM_FRAME_ANSWER,
		};
		uint8_t type = types[test_random(&seed) % sizeof(types)];
		struct rfm_frame frame = {
			.type = type,
			.source = test_random(&seed) % 6,
			.dest = test_random(&seed),
			.kind = test_random(&seed),
			.length = type == RFM_FRAME_DATA ? 1 + test_random(&seed) % 64 :
				  type == RFM_FRAME_INTERRUPT ? 4 :
				  type == RFM_FRAME_MULTICAST ? 36 :
				  type == RFM_FRAME_QUERY ? 16 :
				  type == RFM_FRAME_ANSWER ? 24 :
				  type == RFM_FRAME_DUPLICATE ||
				  type == RFM_FRAME_FENCE ? 8 : 0,
			.flags = test_random(&seed) % 4 ? 0 : test_random(&seed) & 0xf,
			.marks = test_random(&seed),
			.address = test_random(&seed) % 3 * 2048,
			.incarnation = 1 + test_random(&seed) % 999,
			.seq = test_random(&seed) % 3 ? test_random(&seed) % 10 : UINT64_MAX,
			.hops = RFM_NODE_HOP_LIMIT - 60 + test_random(&seed) % 64,
		};

		put64(frame.data, 1 + test_random(&seed) % 999);
		put32(frame.data + 8, test_random(&seed) % 3 * (RFM_RING_SPACE / 2));
		put32(frame.data + 12, test_random(&seed) % (RFM_QUERY_MAX + 2));
		rig_inject(rig, test_random(&seed) % 3, &frame);
		if (!(step % 16))
			rig_settle(rig);
		for (int i = 0; i < 3; i++)
			rig->peers[i].interrupt_count = 0;
	}
	rig_settle(rig);
	rig_advance(rig, 5000 * MS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_in_flight(rig, i), 0);
		assert_true(rfm_node_signal(&rig->peers[i].node));
		rig_store32(rig, i, 64 + 4 * i, 77 + i);
		rig_settle(rig);
		assert_int_equal(rig_load32(rig, rig_next(rig, i), 64 + 4 * i), 77 + i);
		assert_int_equal(rig_load32(rig, rig_previous(rig, i), 64 + 4 * i), 77 + i);
		rig_assert_books_closed(rig, i);
	}
	rig_free(rig);
}

/* A number that nobody can have given is refused: all that follows would be late for ever. */
static void a_number_out_of_reach_silences_nobody(void **state)
{
	static const uint64_t numbers[] = { 1ull << 63, (1ull << 63) + 1, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct rig *rig = rig_new(3, 1);
		struct rfm_frame forged = {
			.type = i % 2 ? RFM_FRAME_DATA : RFM_FRAME_HEARTBEAT, .source = 1,
			.incarnation = rig->peers[0].node.config.incarnation,
			.seq = numbers[i], .length = i % 2 * 4, .hops = 1,
		};

		(void)state;
		rig_store32(rig, 0, 0, 1);
		rig_settle(rig);
		rig_status(rig, 1);
		rig_inject(rig, 0, &forged);
		rig_settle(rig);
		assert_int_equal(rig_stats(rig, 1).bad, 1);
		assert_int_equal(rig_status(rig, 1), RFM_NODE_BAD_DATA);
		assert_int_equal(rig_stats(rig, 1).missed, 0);
		rig_store32(rig, 0, 0, 2);
		rig_settle(rig);
		assert_int_equal(rig_load32(rig, 1, 0), 2);
		assert_int_equal(rig_load32(rig, 2, 0), 2);
		rig_free(rig);
	}
}

/* --- breaks --------------------------------------------------------------- */

/* The example of the architecture: three nodes, the third one dies. */
static void sync_loss_on_three_nodes(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_disconnect(rig, 1);
	rig_disconnect(rig, 2);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_SYNC_LOSS);
	assert_int_equal(rig_status(rig, 1), 0);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_BREAK);	/* it is told, and by whom */
	assert_int_equal(rig->peers[1].node.break_at, 1);
	assert_false(rfm_node_signal(&rig->peers[0].node));
	assert_true(rfm_node_signal(&rig->peers[1].node));

	rig_store32(rig, 0, 0, 1);
	rig_store32(rig, 1, 4, 2);
	rig_settle(rig);
	rig_advance(rig, 2000 * MS);
	assert_int_equal(rig_load32(rig, 1, 0), 0);	/* its fibre is whole, and yet */
	assert_int_equal(rig_load32(rig, 0, 4), 0);
	assert_int_equal(rig_status(rig, 0), 0);	/* no OWN DATA for either */
	assert_int_equal(rig_status(rig, 1), 0);
	assert_true(rfm_node_may_store(&rig->peers[0].node));
	assert_true(rfm_node_may_store(&rig->peers[1].node));

	/* The third comes back, with an empty memory and a new life. */
	rig_start(rig, 2, 3, RIG_MEMORY, 9000);
	rig_join(rig, 2);
	rig_store32(rig, 0, 8, 3);
	rig_store32(rig, 1, 12, 4);
	rig_store32(rig, 2, 16, 5);
	rig_settle(rig);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_load32(rig, i, 8), 3);
		assert_int_equal(rig_load32(rig, i, 12), 4);
		assert_int_equal(rig_load32(rig, i, 16), 5);
		rig_assert_books_closed(rig, i);
		assert_int_equal(rig_status(rig, i), RFM_NODE_OWN_DATA);
	}
	/* What was lost is not replayed, and not forgotten. */
	assert_int_equal(rig_load32(rig, 1, 0), 0);
	assert_int_equal(rig_stats(rig, 0).lost, 1);
	assert_int_equal(rig_stats(rig, 1).lost, 1);
	assert_int_equal(rig_stats(rig, 0).missed, 1);
	assert_int_equal(rig_stats(rig, 1).missed, 1);
	assert_int_equal(rig_stats(rig, 2).missed, 0);
	rig_free(rig);
}

/*
 * A fibre that swallows everything while its light stays on: nothing comes
 * home. Stores flow on downstream, and when the fibre heals the books are right.
 */
static void an_open_ring_holds_nobody(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint32_t value = 0;

	(void)state;
	rig->peers[2].cut = true;
	fill(rig, 0);
	assert_false(rfm_node_may_store(&rig->peers[0].node));
	/* It might be slow only: a ring of many busy processes is. */
	rig_advance(rig, RFM_NODE_SLOW_EXPIRY_NS - 200 * MS);
	assert_int_equal(rig->peers[0].room_count, 0);
	rig_advance(rig, 400 * MS);
	assert_int_equal(rig->peers[0].room_count, 1);
	for (int i = 0; i < 20000; i++) {
		if (!rfm_node_may_store(&rig->peers[0].node))
			rig_settle(rig);
		assert_true(rfm_node_may_store(&rig->peers[0].node));
		rig_store32(rig, 0, 0, ++value);
	}
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), value);
	assert_int_equal(rig_load32(rig, 2, 0), value);
	assert_int_equal(rig_status(rig, 0), 0);

	rig->peers[2].cut = false;
	rig_advance(rig, 600 * MS);
	rig_assert_books_closed(rig, 0);
	assert_int_equal(rig_stats(rig, 0).home, 0);
	assert_int_equal(rig_stats(rig, 1).missed, 0);
	assert_int_equal(rig_stats(rig, 2).missed, 0);
	/* The window is in force again. */
	for (int i = 0; i < RFM_NODE_WINDOW + 10; i++)
		rig_store32(rig, 0, 0, i);
	rig_pull(rig, 0, 1000000);
	assert_int_equal(rig_in_flight(rig, 0), RFM_NODE_WINDOW);
	rig_free(rig);
}

/* Who has lost its signal says so: then nobody waits that long. */
static void a_break_notice_opens_the_ring_soon(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_disconnect(rig, 1);
	rig_settle(rig);
	fill(rig, 0);
	assert_false(rfm_node_may_store(&rig->peers[0].node));
	rig_advance(rig, RFM_NODE_EXPIRY_NS + 100 * MS);
	assert_true(rfm_node_may_store(&rig->peers[0].node));
	rig_free(rig);
}

/* An open ring does not let a node's own queue grow without bound either. */
static void an_open_ring_is_bounded(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	rig_store32(rig, 0, 0, 0);
	rig->now += RFM_NODE_SLOW_EXPIRY_NS;
	rfm_node_tick(node, rig->now);
	for (int i = 0; i < RFM_NODE_WINDOW + RFM_INSERT_SLOTS - 1; i++)
		rig_store32(rig, 0, 0, i);
	assert_false(rfm_node_may_store(node));
	rig_pull(rig, 0, RFM_INSERT_SLOTS);
	assert_int_equal(rig->peers[0].room_count, 1);
	assert_true(rfm_node_may_store(node));
	rig_free(rig);
}

/* A random step of a ring on which fibres break and heal and frames are lost. */
static void troubled_step(struct rig *rig, bool *broken, uint32_t value, uint64_t *seed)
{
	int who = test_random(seed) % rig->count;
	struct rfm_frame frame;

	if (!(test_random(seed) % 3))
		rig_store32(rig, who, who * 64 + value % 16 * 4, value);
	rig_pull(rig, test_random(seed) % rig->count, 1 + test_random(seed) % 3);
	for (int n = 0; n < 3; n++)
		rig_deliver(rig, test_random(seed) % rig->count);
	if (!(test_random(seed) % 100))
		rig_drop(rig, test_random(seed) % rig->count, &frame);
	if (!(test_random(seed) % 1000)) {
		if (broken[who])
			rig_connect(rig, who);
		else
			rig_disconnect(rig, who);
		broken[who] = !broken[who];
	}
}

/* No node ever sees a source's older value after its newer one, whatever was lost. */
static void assert_never_backwards(const struct rig *rig, int at)
{
	uint32_t newest[RIG_PEERS_MAX] = { 0 };

	for (uint64_t i = 0; i < rig->peers[at].stored_count; i++) {
		const struct rig_stored *entry = &rig->peers[at].stored[i];

		for (unsigned int n = 0; n < entry->len; n += 4) {
			uint32_t value = get32(entry->data + n);

			assert_true(value > newest[entry->offset / 64]);
			newest[entry->offset / 64] = value;
		}
	}
}

static void trouble(const struct rig_mode *mode, int size, uint64_t *seed)
{
	struct rig *rig = rig_new_mode(size, 0, mode);
	bool broken[RIG_PEERS_MAX] = { false };
	uint64_t sent = 0;

	for (int step = 0; step < 30000; step++) {
		troubled_step(rig, broken, step + 1, seed);
		if (!(step % 64))
			rig_advance(rig, test_random(seed) % (80 * MS));
	}
	for (int i = 0; i < size; i++)
		if (broken[i])
			rig_connect(rig, i);
	rig_settle(rig);
	rig_advance(rig, 2000 * MS);
	for (int i = 0; i < size; i++)
		sent += rig_stats(rig, i).sent;
	for (int i = 0; i < size; i++) {
		const struct rfm_node_stats stats = rig_stats(rig, i);

		rig_assert_books_closed(rig, i);
		assert_int_equal(stats.received + stats.missed, sent - stats.sent);
		assert_int_equal(stats.received, rig->peers[i].stored_count);
		assert_true(stats.lost >= stats.dark + stats.full);
		assert_int_equal(stats.late + stats.bad + stats.mixed, 0);
		assert_never_backwards(rig, i);
	}
	rig_free(rig);
}

/*
 * Frames lost at random, fibres broken at random: afterwards each node's sum
 * of received and missed is what the others have sent.
 */
static void the_books_balance_after_any_trouble(void **state)
{
	static const int sizes[] = { 2, 3, 8 };
	uint64_t seed = 4711;

	(void)state;
	for (size_t mode = 0; mode < RIG_MODES; mode++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes) * 3; s++)
			trouble(&rig_modes[mode], sizes[s % ARRAY_SIZE(sizes)], &seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_is_kept),
		cmocka_unit_test(a_large_window_is_shared),
		cmocka_unit_test(a_standstill_makes_no_window_larger),
		cmocka_unit_test(almost_full_at_three_quarters),
		cmocka_unit_test(a_run_is_its_stores),
		cmocka_unit_test(a_store_without_room_is_counted),
		cmocka_unit_test(a_heartbeat_speaks_for_what_went_before_it),
		cmocka_unit_test(room_is_announced),
		cmocka_unit_test(who_was_missed_is_told_of_room),
		cmocka_unit_test(interrupts_have_room_of_their_own),
		cmocka_unit_test(a_flood_overruns_and_breaks_nothing),
		cmocka_unit_test(a_lost_frame_is_missed_by_those_behind),
		cmocka_unit_test(a_frame_lost_on_the_way_home_is_missed_by_nobody),
		cmocka_unit_test(the_last_frame_counts_too),
		cmocka_unit_test(late_frames_are_passed_on_and_not_stored),
		cmocka_unit_test(damage_is_dropped_and_reported),
		cmocka_unit_test(an_own_frame_never_sent_is_bad_data),
		cmocka_unit_test(a_frame_without_owner_dies_of_hops),
		cmocka_unit_test(well_formed_nonsense),
		cmocka_unit_test(a_number_out_of_reach_silences_nobody),
		cmocka_unit_test(sync_loss_on_three_nodes),
		cmocka_unit_test(an_open_ring_holds_nobody),
		cmocka_unit_test(a_break_notice_opens_the_ring_soon),
		cmocka_unit_test(an_open_ring_is_bounded),
		cmocka_unit_test(the_books_balance_after_any_trouble),
	};

	return cmocka_run_group_tests_name("node_loss", tests, NULL, NULL);
}
