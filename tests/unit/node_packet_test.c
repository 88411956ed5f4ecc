// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Packets: they come to one node, in order with the stores, and whoever sends one is told
 * once what became of it.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <string.h>

/* So many packets have come to @peer; the last is that of rig_packet(). */
static void assert_came(const struct rig *rig, int peer, uint64_t count, uint8_t from,
			unsigned int length, uint8_t fill)
{
	const struct rig_packet *came;

	assert_int_equal(rig->peers[peer].packet_count, count);
	came = &rig->peers[peer].packets[(count - 1) % RIG_PACKETS];
	assert_int_equal(came->packet.node, from);
	assert_int_equal(came->packet.class, RFM_PACKET_MESSAGE);
	assert_int_equal(came->packet.stream, 0x1234);
	assert_int_equal(came->packet.length, length);
	assert_true(came->packet.first && came->packet.last && !came->packet.to_all);
	for (unsigned int at = 0; at < length; at++)
		assert_int_equal(came->data[at], (uint8_t)(fill + at));
}

/* So many packets of @peer have ended; the last like that. */
static void assert_ended(const struct rig *rig, int peer, uint64_t count, uint8_t cookie,
			 enum rfm_packet_fate fate)
{
	const struct rig_peer *sender = &rig->peers[peer];

	assert_int_equal(sender->end_count, count);
	assert_int_equal(sender->ends[(count - 1) % RIG_PACKETS].cookie, cookie);
	assert_int_equal(sender->ends[(count - 1) % RIG_PACKETS].fate, fate);
}

static void every_length_in_every_mode(void **state)
{
	static const unsigned int lengths[] = { 1, 63, 64, 65, 128, 129, 1984, 1985, 2047, 2048 };

	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);
		unsigned int max = rfm_node_packet_max(&rig->peers[0].node), count = 0;

		assert_true(max >= RFM_FRAME_DATA_MAX && max <= RFM_PACKET_DATA);
		for (size_t i = 0; i < ARRAY_SIZE(lengths) && lengths[i] <= max; i++) {
			for (uint8_t to = 2; to <= 3; to++) {
				assert_int_equal(rig_packet(rig, 0, to, lengths[i], i), RFM_INSERT_OK);
				rig_settle(rig);
				count++;
				assert_ended(rig, 0, count, i, RFM_PACKET_TAKEN);
				assert_came(rig, to - 1, i + 1, 1, lengths[i], i);
			}
		}
		assert_int_equal(rig->peers[0].packet_count, 0);
		assert_int_equal(rig_packet(rig, 0, 2, 0, 0), RFM_INSERT_FULL);
		assert_int_equal(rig_packet(rig, 0, 2, max + 1, 0), RFM_INSERT_FULL);
		rig_settle(rig);
		assert_int_equal(rig->peers[0].end_count, count);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

static void step(struct rig *rig, uint64_t *seed)
{
	rig_pull(rig, test_random(seed) % rig->count, 1);
	rig_deliver(rig, test_random(seed) % rig->count);
	if (!(test_random(seed) % 64))
		rig_advance(rig, MS);
}

/* What was stored before a packet is in the memory when it comes; what is stored after is not. */
static void in_order_with_stores(void **state)
{
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(4, 1, &rig_modes[mode]);
		uint64_t seed = mode;

		for (unsigned int i = 0; i < 8; i++) {
			rig_store32(rig, 0, 256 * i, 1 + i);	/* apart: each its own frame */
			while (rig_packet(rig, 0, 3, 40, i) != RFM_INSERT_OK)	/* a small window */
				step(rig, &seed);
		}
		rig_store32(rig, 0, 4, 1);
		while (rig->peers[0].end_count < 8)
			step(rig, &seed);
		assert_int_equal(rig->peers[2].packet_count, 8);
		for (unsigned int i = 0; i < 8; i++) {
			assert_int_equal(rig->peers[2].packets[i].data[0], i);
			assert_int_equal(rig->peers[2].packets[i].after, i + 1);
			assert_int_equal(rig->peers[0].ends[i].cookie, i);
			assert_int_equal(rig->peers[0].ends[i].fate, RFM_PACKET_TAKEN);
		}
		rig_settle(rig);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

static void who_is_not_there_or_has_no_room(void **state)
{
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);
		/* Of two copies the other one may have been seen. */
		enum rfm_packet_fate nobody = rig_modes[mode].like.redundant ? RFM_PACKET_LOST :
									       RFM_PACKET_NO_NODE;

		assert_int_equal(rig_packet(rig, 0, 9, 10, 1), RFM_INSERT_OK);
		rig_settle(rig);
		assert_ended(rig, 0, 1, 1, nobody);
		/* One's own id is nobody else's. */
		assert_int_equal(rig_packet(rig, 0, 1, 10, 2), RFM_INSERT_OK);
		rig_settle(rig);
		assert_ended(rig, 0, 2, 2, nobody);

		rig->peers[2].full = true;
		assert_int_equal(rig_packet(rig, 0, 3, 10, 3), RFM_INSERT_OK);
		rig_settle(rig);
		assert_ended(rig, 0, 3, 3, RFM_PACKET_NO_ROOM);
		rig->peers[2].full = false;
		rfm_node_set_paused(&rig->peers[2].node, true);
		assert_int_equal(rig_packet(rig, 0, 3, 10, 4), RFM_INSERT_OK);
		rig_settle(rig);
		assert_ended(rig, 0, 4, 4, RFM_PACKET_NO_ROOM);
		rfm_node_set_paused(&rig->peers[2].node, false);
		assert_int_equal(rig->peers[2].packet_count, 0);
		assert_int_equal(rig->peers[2].node.packets.refused, 2);

		assert_int_equal(rig_packet(rig, 0, 3, 10, 5), RFM_INSERT_OK);
		rig_settle(rig);
		assert_ended(rig, 0, 5, 5, RFM_PACKET_TAKEN);
		assert_came(rig, 2, 1, 1, 10, 5);
		/* All came home: none of it is a loss. */
		assert_int_equal(rig_stats(rig, 0).lost, 0);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

static void for_all_nodes(void **state)
{
	const struct rfm_packet packet = {
		.class = RFM_PACKET_ETHERNET, .to_all = true, .length = 3,
	};
	struct rig *rig = rig_new(4, 1);

	rig->peers[2].full = true;
	assert_int_equal(rfm_node_packet(&rig->peers[0].node, &packet, "abc", 7, rig->now),
			 RFM_INSERT_OK);
	rig_settle(rig);
	assert_ended(rig, 0, 1, 7, RFM_PACKET_TAKEN);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig->peers[i].packet_count, i == 1 || i == 3);
	assert_true(rig->peers[1].packets[0].packet.to_all);
	assert_int_equal(rig->peers[1].packets[0].packet.class, RFM_PACKET_ETHERNET);
	assert_memory_equal(rig->peers[3].packets[0].data, "abc", 3);
	rig_free(rig);
}

/* Lost before or behind its destination: the sender cannot know which, and says so. */
static void lost_on_the_way(void **state)
{
	for (int where = 0; where < 3; where++) {
		struct rig *rig = rig_new(3, 1);
		struct rfm_frame frame;

		assert_int_equal(rig_packet(rig, 0, 2, 100, 1), RFM_INSERT_OK);
		for (int i = 0; i < where; i++) {
			rig_pull(rig, i, 1);
			rig_deliver(rig, i);
		}
		rig_pull(rig, where, 1);
		assert_true(rig_drop(rig, where, &frame));
		assert_int_equal(frame.type, RFM_FRAME_PACKET);
		rig_settle(rig);
		assert_int_equal(rig->peers[0].end_count, 0);
		/* The next own frame that comes home tells. */
		rig_store32(rig, 0, 0, 1);
		rig_settle(rig);
		assert_ended(rig, 0, 1, 1, RFM_PACKET_LOST);
		assert_int_equal(rig->peers[1].packet_count, where > 0);
		assert_int_equal(rig_stats(rig, 0).lost, 2);	/* pieces */
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

/* It came twice on the way, or behind a later one: it is taken once, or not at all. */
static void never_taken_twice(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 1, .incarnation = 1000, .hops = 1, .length = 4,
	};
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len;

	rig_packet(rig, 0, 2, 50, 1);
	len = rfm_node_pull(&rig->peers[0].node, wire, rig->now);
	for (int i = 0; i < 2; i++) {
		uint8_t copy[RFM_UNIT_MAX];

		memcpy(copy, wire, len);
		rfm_node_receive(&rig->peers[1].node, copy, len, rig->now);
		rig_settle(rig);
	}
	assert_came(rig, 1, 1, 1, 50, 1);
	assert_ended(rig, 0, 1, 1, RFM_PACKET_TAKEN);

	rig_packet(rig, 0, 2, 50, 2);
	len = rfm_node_pull(&rig->peers[0].node, wire, rig->now);
	frame.seq = rig->peers[0].node.seq + 1;		/* somebody speaks for it */
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	rfm_node_receive(&rig->peers[1].node, wire, len, rig->now);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].packet_count, 1);
	assert_ended(rig, 0, 2, 2, RFM_PACKET_LOST);	/* nobody knows */
	rig_free(rig);
}

/* In redundant mode either copy may be lost; the second says what the first one said. */
static void the_second_copy_agrees(void **state)
{
	for (int full = 0; full < 2; full++) {
		for (int lost = 0; lost < 3; lost++) {
			struct rig *rig = rig_new_mode(3, 1, &rig_modes[3]);
			struct rfm_frame frame;

			rig->peers[1].full = full;
			rig_packet(rig, 0, 2, 64, 1);
			rig_pull(rig, 0, 2);
			rig_deliver(rig, 0);
			rig->peers[1].full = !full;	/* too late for the copy */
			rig_deliver(rig, 0);
			rig_pull(rig, 1, 2);
			if (lost)
				assert_true(rig_drop(rig, 1, &frame));
			if (lost == 2)
				assert_true(rig_drop(rig, 1, &frame));
			rig_settle(rig);
			if (lost == 2) {
				rig->peers[1].full = false;
				rig_store32(rig, 0, 0, 1);
				rig_settle(rig);
			}
			assert_ended(rig, 0, 1, 1, lost == 2 ? RFM_PACKET_LOST :
				     full ? RFM_PACKET_NO_ROOM : RFM_PACKET_TAKEN);
			assert_int_equal(rig->peers[1].packet_count, !full);
			rig_free(rig);
		}
	}
}

/* What waited has not left; of what had left nothing is known. In the order of sending. */
static void a_node_goes_dark(void **state)
{
	struct rig *rig = rig_new_mode(3, 1, &rig_modes[2]);
	unsigned int max = rfm_node_packet_max(&rig->peers[0].node);

	assert_int_equal(max, 3 * RFM_FRAME_DATA_MAX);
	assert_int_equal(rig_packet(rig, 0, 2, max, 1), RFM_INSERT_OK);
	assert_int_equal(rig_packet(rig, 0, 2, 1, 2), RFM_INSERT_FULL);	/* the half is used up */
	rig_store32(rig, 0, 0, 1);
	rig_disconnect(rig, 2);
	rig_settle(rig);
	assert_ended(rig, 0, 1, 1, RFM_PACKET_LOST);
	assert_int_equal(rig->peers[0].packet_room_count, 1);
	assert_int_equal(rig_packet(rig, 0, 2, 1, 3), RFM_INSERT_OFFLINE);
	rig_connect(rig, 2);
	rig_settle(rig);

	/* Stores take the window: the packet waits, and has not left when the signal goes. */
	rig->peers[1].cut = true;
	for (int i = 0; i < 3; i++)
		rig_store32(rig, 0, 64 * i, 2);
	rig_settle(rig);
	assert_int_equal(rig_packet(rig, 0, 2, 1, 4), RFM_INSERT_OK);
	rig_disconnect(rig, 2);
	assert_ended(rig, 0, 2, 4, RFM_PACKET_DARK);
	assert_int_equal(rig->peers[1].packet_count, 0);
	rig_free(rig);
}

/* A ring that is cut elsewhere: no packet comes home, and nobody waits for it for ever. */
static void an_open_ring(void **state)
{
	struct rig *rig = rig_new(3, 1);

	rig->peers[1].cut = true;
	for (int round = 1; round <= 2; round++) {	/* the second when it is known to be open */
		rig_packet(rig, 0, 2, 2048, round);
		rig_advance(rig, RFM_NODE_SLOW_EXPIRY_NS - 100 * MS);
		assert_int_equal(rig->peers[0].end_count, round - 1);
		rig_advance(rig, 200 * MS);
		assert_ended(rig, 0, round, round, RFM_PACKET_LOST);
		assert_int_equal(rig->peers[1].packet_count, round);
	}
	rig_free(rig);
}

static void loopback_reaches_nobody(void **state)
{
	struct rig *rig = rig_new(2, 1);

	rfm_node_set_optics(&rig->peers[0].node, false, true, false, rig->now);
	rig_packet(rig, 0, 2, 2048, 1);
	rig_settle(rig);
	assert_ended(rig, 0, 1, 1, RFM_PACKET_NO_NODE);
	assert_int_equal(rig->peers[1].packet_count, 0);
	rig_free(rig);
}

/* Packets have half of the window, however many there are; stores go on in the other. */
static void half_of_the_window(void **state)
{
	struct rig *rig = rig_new(3, 1);
	unsigned int sent = 0;

	while (rig_packet(rig, 0, 2, 2048, sent) == RFM_INSERT_OK)
		sent++;
	assert_int_equal(sent, RFM_NODE_WINDOW / 2 / RFM_PACKET_PIECES);
	assert_int_equal(rig_packet(rig, 0, 2, 1, 0), RFM_INSERT_FULL);
	for (int i = 0; i < RFM_NODE_WINDOW / 2; i++)
		rig_store32(rig, 0, 0, i);
	assert_int_equal(rfm_insert_used(&rig->peers[0].node.insert), 0);
	assert_int_equal(rig->peers[0].packet_room_count, 0);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].packet_count, sent);
	assert_true(rig->peers[0].packet_room_count);
	assert_int_equal(rig_packet(rig, 0, 2, 1, 0), RFM_INSERT_OK);
	rig_settle(rig);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* Who stores all the time does not keep packets out, nor the other way round. */
static void behind_stores_without_end(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[0].node;
	unsigned int sent = 0, stores = 0;

	rig->lazy = true;
	for (int round = 0; round < 200; round++) {
		while (rfm_node_may_store(node)) {
			rig_store32(rig, 0, 0, stores++);
			if (rig_packet(rig, 0, 2, 640, sent) == RFM_INSERT_OK)
				sent++;
		}
		rig_settle(rig);
	}
	assert_int_equal(rig->peers[1].packet_count, sent);
	assert_true(sent > 200);
	assert_true(stores > 200 * 256);
	assert_int_equal(rig_stats(rig, 0).full, 0);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* A packet that waits for much credit lets nothing past, and does not keep the puller awake. */
static void waits_for_credit_of_all_its_pieces(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint8_t wire[RFM_UNIT_MAX];

	rig->peers[2].cut = true;
	for (int i = 0; i < RFM_NODE_WINDOW - 5; i++)
		rig_store32(rig, 0, 0, i);
	rig_settle(rig);
	assert_int_equal(rig_packet(rig, 0, 2, 6 * 64, 1), RFM_INSERT_OK);
	rig_store32(rig, 0, 128, 99);
	assert_int_equal(rfm_node_pull(&rig->peers[0].node, wire, rig->now), 0);
	assert_int_equal(rig->peers[1].packet_count, 0);
	assert_int_equal(rig_load32(rig, 1, 128), 0);
	/* A heartbeat comes home, and with it all credit. */
	rig->peers[2].cut = false;
	rig_advance(rig, RFM_NODE_HEARTBEAT_NS);
	assert_came(rig, 1, 1, 1, 6 * 64, 1);
	assert_int_equal(rig_load32(rig, 1, 128), 99);
	rig_free(rig);
}

/* On a paced line a packet has one piece, and one of another node passes whole. */
static void paced_lines(void **state)
{
	struct rfm_node_config config = rig_config(2, 2000);
	struct rig *rig = rig_new(3, 1);

	assert_int_equal(rfm_node_packet_max(&rig->peers[0].node), RFM_PACKET_DATA);
	config.line.paced = true;
	rig_disconnect(rig, 0);
	rig_disconnect(rig, 1);
	rig_start_as(rig, 1, &config);
	rig_join(rig, 1);
	assert_int_equal(rfm_node_packet_max(&rig->peers[1].node), RFM_FRAME_DATA_MAX);
	assert_int_equal(rig_packet(rig, 0, 3, 2048, 1), RFM_INSERT_OK);
	rig_advance(rig, 100 * MS);
	assert_came(rig, 2, 1, 1, 2048, 1);
	assert_int_equal(rig_packet(rig, 1, 3, 64, 2), RFM_INSERT_OK);
	rig_advance(rig, 200 * MS);
	assert_came(rig, 2, 2, 2, 64, 2);
	assert_ended(rig, 1, 1, 2, RFM_PACKET_TAKEN);
	rig_free(rig);
}

/* Who begins a new life knows nothing of the packets of the former. */
static void a_new_incarnation(void **state)
{
	struct rig *rig = rig_new(3, 1);

	rig_packet(rig, 0, 2, 2048, 1);
	rfm_node_rejoin(&rig->peers[0].node, 5000, rig->now);
	assert_ended(rig, 0, 1, 1, RFM_PACKET_LOST);
	rig_settle(rig);
	rig_packet(rig, 0, 3, 2048, 2);
	rig_settle(rig);
	assert_ended(rig, 0, 2, 2, RFM_PACKET_TAKEN);
	assert_int_equal(rig->peers[2].packets[0].packet.incarnation, 5000);
	rig_free(rig);
}

/* Where little may wait before the window, a packet has no more pieces than that. */
static void a_small_queue(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rig *rig;
	unsigned int max;

	like.insert_slots = RFM_INSERT_SLOTS_MIN;
	rig = rig_new_like(3, 1, &like);
	max = rfm_node_packet_max(&rig->peers[0].node);
	assert_int_equal(rig_packet(rig, 0, 2, max, 1), RFM_INSERT_OK);
	rig_settle(rig);
	assert_ended(rig, 0, 1, 1, RFM_PACKET_TAKEN);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_in_every_mode),
		cmocka_unit_test(in_order_with_stores),
		cmocka_unit_test(who_is_not_there_or_has_no_room),
		cmocka_unit_test(for_all_nodes),
		cmocka_unit_test(lost_on_the_way),
		cmocka_unit_test(never_taken_twice),
		cmocka_unit_test(the_second_copy_agrees),
		cmocka_unit_test(a_node_goes_dark),
		cmocka_unit_test(an_open_ring),
		cmocka_unit_test(loopback_reaches_nobody),
		cmocka_unit_test(half_of_the_window),
		cmocka_unit_test(a_small_queue),
		cmocka_unit_test(behind_stores_without_end),
		cmocka_unit_test(waits_for_credit_of_all_its_pieces),
		cmocka_unit_test(paced_lines),
		cmocka_unit_test(a_new_incarnation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
