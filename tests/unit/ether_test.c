// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Ethernet on the ring: frames come whole, in order, where they belong, or not at all; and whoever
 * loses one counts it.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <stdlib.h>
#include <string.h>

#define SECOND	(1000 * MS)
#define ALL	0xff	/* instead of a node: all */

struct lan {
	struct rig *rig;
	struct rfm_ether ether[RIG_PEERS_MAX];
	unsigned int woken[RIG_PEERS_MAX];
	struct lan_waker { unsigned int *woken; } wakers[RIG_PEERS_MAX];
};

static void on_wake(void *opaque)
{
	const struct lan_waker *waker = opaque;

	++*waker->woken;
}

static void plug(struct lan *lan, int i)
{
	lan->wakers[i].woken = &lan->woken[i];
	rfm_ether_init(&lan->ether[i], &lan->rig->peers[i].node, on_wake, &lan->wakers[i]);
	lan->rig->peers[i].ether = &lan->ether[i];
}

static struct lan *lan_new(int count, const struct rig_mode *mode)
{
	struct lan *lan = calloc(1, sizeof(*lan));

	assert_non_null(lan);
	lan->rig = rig_new_mode(count, 1, mode);
	for (int i = 0; i < count; i++)
		plug(lan, i);
	return lan;
}

static void lan_free(struct lan *lan)
{
	for (int i = 0; i < lan->rig->count; i++)
		rfm_ether_destroy(&lan->ether[i]);
	rig_free(lan->rig);
	free(lan);
}

/* The card behind node @i has 02:00:00:00:00:i. */
static void address(uint8_t *bytes, uint8_t i)
{
	const uint8_t all[6] = { ALL, ALL, ALL, ALL, ALL, ALL };

	memcpy(bytes, i == ALL ? all : (uint8_t[6]){ 2, 0, 0, 0, 0, i }, 6);
}

static void make(uint8_t *frame, uint8_t to, uint8_t from, uint32_t length, uint32_t seed)
{
	uint64_t state = seed;

	for (uint32_t at = 12; at < length; at++)
		frame[at] = test_random(&state);
	address(frame, to);
	address(frame + 6, from);
}

/* Whoever was woken goes on, until nothing moves. */
static void settle(struct lan *lan)
{
	bool moved = true;

	while (moved) {
		rig_settle(lan->rig);
		moved = false;
		for (int i = 0; i < lan->rig->count; i++) {
			if (!lan->woken[i] || rfm_ether_may_send(&lan->ether[i]))
				continue;
			lan->woken[i] = 0;
			rfm_ether_run(&lan->ether[i], lan->rig->now);
			rfm_node_send_queued(&lan->rig->peers[i].node, lan->rig->now);
			moved = true;
		}
	}
	for (int i = 0; i < lan->rig->count; i++)
		assert_true(rfm_ether_may_send(&lan->ether[i]));
}

/* Without letting it move. */
static void give(struct lan *lan, int i, uint8_t to, uint32_t length, uint32_t seed)
{
	uint8_t frame[RFM_ETHER_MAX + 1];

	make(frame, to, i + 1, length, seed);
	assert_true(rfm_ether_may_send(&lan->ether[i]));
	rfm_ether_send(&lan->ether[i], frame, length, lan->rig->now);
	memset(frame, 0xee, sizeof(frame));
}

static void send(struct lan *lan, int i, uint8_t to, uint32_t length, uint32_t seed)
{
	give(lan, i, to, length, seed);
	settle(lan);
}

/* The next frame that has come to @i is that one. */
static void assert_comes(struct lan *lan, int i, uint8_t to, uint8_t from, uint32_t length,
			 uint32_t seed)
{
	struct rfm_ether_frame *frame = rfm_ether_fetch(&lan->ether[i]);
	uint8_t expected[RFM_ETHER_MAX];

	assert_non_null(frame);
	make(expected, to, from, length, seed);
	assert_int_equal(frame->length, length);
	assert_memory_equal(frame->data, expected, length);
	free(frame);
}

static void assert_nothing(struct lan *lan, int i)
{
	assert_null(rfm_ether_fetch(&lan->ether[i]));
}

/* Each has said something, and knows where the others are. */
static void greet(struct lan *lan)
{
	for (int i = 0; i < lan->rig->count; i++) {
		send(lan, i, ALL, 60, i);
		for (int k = 0; k < lan->rig->count; k++) {
			if (k != i)
				assert_comes(lan, k, ALL, i + 1, 60, i);
		}
	}
}

static void every_length_in_every_mode(void **state)
{
	static const uint32_t lengths[] = { 14, 60, 64, 65, 1514, 2047, 2048, 2049, 4096, 9014, 9216 };

	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct lan *lan = lan_new(3, &rig_modes[mode]);

		greet(lan);
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			send(lan, 0, 3, lengths[i], i);
			assert_nothing(lan, 0);
			assert_nothing(lan, 1);
			assert_comes(lan, 2, 3, 1, lengths[i], i);
			send(lan, 2, ALL, lengths[i], ~i);
			assert_comes(lan, 0, ALL, 3, lengths[i], ~i);
			assert_comes(lan, 1, ALL, 3, lengths[i], ~i);
			assert_nothing(lan, 2);
		}
		for (int i = 0; i < 3; i++) {
			assert_int_equal(lan->ether[i].stats.lost, 0);
			assert_int_equal(lan->ether[i].stats.refused, 0);
			assert_int_equal(lan->ether[i].stats.broken, 0);
			rig_assert_books_closed(lan->rig, i);
		}
		assert_int_equal(lan->ether[0].stats.sent, 1 + ARRAY_SIZE(lengths));
		assert_int_equal(lan->ether[2].stats.received, 2 + ARRAY_SIZE(lengths));
		lan_free(lan);
	}
}

static void what_is_no_frame(void **state)
{
	struct lan *lan = lan_new(2, &rig_modes[0]);

	give(lan, 0, 2, RFM_ETHER_MAX + 1, 0);
	rfm_ether_send(&lan->ether[0], (const uint8_t[13]){ 2 }, 13, lan->rig->now);
	settle(lan);
	assert_int_equal(lan->ether[0].stats.unfit, 2);
	assert_int_equal(lan->ether[0].stats.sent, 0);
	assert_int_equal(lan->rig->peers[0].end_count, 0);
	assert_nothing(lan, 1);
	lan_free(lan);
}

/* To one node only, once it was heard; elsewhere, when it speaks there; to all, when it is gone. */
static void where_an_address_is(void **state)
{
	struct lan *lan = lan_new(4, &rig_modes[0]);
	uint8_t frame[60];

	send(lan, 0, 4, 60, 1);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(lan->woken[i], 1);
		assert_comes(lan, i, 4, 1, 60, 1);
	}
	send(lan, 3, 1, 60, 2);
	assert_comes(lan, 0, 1, 4, 60, 2);
	assert_nothing(lan, 1);
	send(lan, 0, 4, 60, 3);
	assert_comes(lan, 3, 4, 1, 60, 3);
	assert_nothing(lan, 1);

	/* It has moved to node 2. */
	make(frame, ALL, 4, 60, 4);
	rfm_ether_send(&lan->ether[1], frame, 60, lan->rig->now);
	settle(lan);
	for (int i = 0; i < 4; i++) {
		if (i != 1)
			assert_comes(lan, i, ALL, 4, 60, 4);
	}
	send(lan, 0, 4, 60, 5);
	assert_comes(lan, 1, 4, 1, 60, 5);
	assert_nothing(lan, 3);
	/* For what is on one's own side nothing is sent. */
	send(lan, 1, 4, 60, 6);
	for (int i = 0; i < 4; i++)
		assert_nothing(lan, i);
	assert_int_equal(lan->ether[1].stats.sent, 1);

	/* Node 2 goes: the first frame is lost, the next one is for all. */
	rig_disconnect(lan->rig, 0);
	rig_disconnect(lan->rig, 1);
	lan->rig->peers[1].ether = NULL;
	rig_start(lan->rig, 1, 77, RIG_MEMORY, 10000);
	rig_join(lan->rig, 1);
	settle(lan);
	send(lan, 0, 4, 60, 7);
	assert_int_equal(lan->ether[0].stats.lost, 1);
	assert_nothing(lan, 3);
	send(lan, 0, 4, 60, 8);
	assert_comes(lan, 3, 4, 1, 60, 8);
	lan_free(lan);
}

/* A thousand addresses and more: some are forgotten, none is sent to the wrong node only. */
static void more_addresses_than_places(void **state)
{
	struct lan *lan = lan_new(3, &rig_modes[0]);
	const unsigned int count = 4 * RFM_ETHER_ADDRESSES;
	unsigned int alone = 0;
	uint8_t frame[60];

	for (unsigned int i = 0; i < count; i++) {
		make(frame, ALL, 0, 60, i);
		memcpy(frame + 8, &i, 4);
		rfm_ether_send(&lan->ether[1], frame, 60, lan->rig->now);
		settle(lan);
		free(rfm_ether_fetch(&lan->ether[0]));
		free(rfm_ether_fetch(&lan->ether[2]));
	}
	for (unsigned int i = 0; i < count; i++) {
		struct rfm_ether_frame *here, *there;

		make(frame, 0, 1, 60, i);
		memcpy(frame + 2, &i, 4);
		rfm_ether_send(&lan->ether[0], frame, 60, lan->rig->now);
		settle(lan);
		here = rfm_ether_fetch(&lan->ether[1]);
		there = rfm_ether_fetch(&lan->ether[2]);
		assert_non_null(here);
		alone += !there;
		free(here);
		free(there);
	}
	assert_in_range(alone, RFM_ETHER_ADDRESSES / 2, RFM_ETHER_ADDRESSES);
	lan_free(lan);
}

/* A node that does not fetch: it refuses, the others count; what comes is whole and in order. */
static void no_room(void **state)
{
	struct lan *lan = lan_new(3, &rig_modes[0]);

	greet(lan);
	for (uint32_t i = 0; i < RFM_ETHER_WAITING + 100; i++)
		send(lan, 0, 2, i % 2 ? 60 : 3000, i);
	assert_int_equal(lan->ether[1].stats.refused, 100);
	assert_int_equal(lan->ether[1].stats.broken, 0);
	assert_int_equal(lan->ether[0].stats.lost, 100);
	for (uint32_t i = 0; i < RFM_ETHER_WAITING; i++)
		assert_comes(lan, 1, 2, 1, i % 2 ? 60 : 3000, i);
	assert_nothing(lan, 1);
	send(lan, 0, 2, 9000, 5);
	assert_comes(lan, 1, 2, 1, 9000, 5);
	assert_int_equal(lan->ether[0].stats.lost, 100);

	/* One that stands still takes nothing. */
	rfm_node_set_paused(&lan->rig->peers[1].node, true);
	send(lan, 0, 2, 9000, 6);
	assert_int_equal(lan->ether[0].stats.lost, 101);
	rfm_node_set_paused(&lan->rig->peers[1].node, false);
	assert_nothing(lan, 1);
	lan_free(lan);
}

/* Any packet of a frame is lost: none of the frame comes, and the next one does. */
static void a_lost_part(void **state)
{
	for (unsigned int part = 0; part < 5; part++) {
		struct lan *lan = lan_new(3, &rig_modes[0]);
		struct rfm_frame lost;

		greet(lan);
		give(lan, 0, 3, 9000, part);
		rig_pull(lan->rig, 0, 64);
		for (unsigned int i = 0; i < part; i++)
			rig_deliver(lan->rig, 0);
		assert_true(rig_drop(lan->rig, 0, &lost));
		assert_int_equal(lost.type, RFM_FRAME_PACKET);
		settle(lan);
		rig_advance(lan->rig, SECOND);
		assert_nothing(lan, 2);
		assert_int_equal(lan->ether[0].stats.lost, 1);
		send(lan, 0, 3, 9000, 77);
		assert_comes(lan, 2, 3, 1, 9000, 77);
		assert_nothing(lan, 2);
		assert_int_equal(lan->ether[2].stats.received, 3);
		/* Without its first packet nothing was begun. */
		assert_int_equal(lan->ether[2].stats.broken, part != 0);
		lan_free(lan);
	}
}

static void off_the_ring(void **state)
{
	struct lan *lan = lan_new(2, &rig_modes[0]);

	greet(lan);
	rig_disconnect(lan->rig, 0);
	rig_disconnect(lan->rig, 1);
	for (uint32_t i = 0; i < 10; i++)
		send(lan, 0, 2, 9000, i);
	assert_int_equal(lan->ether[0].stats.dark, 10);
	rig_join(lan->rig, 0);
	settle(lan);
	send(lan, 0, 2, 9000, 10);
	assert_comes(lan, 1, 2, 1, 9000, 10);
	assert_nothing(lan, 1);
	lan_free(lan);
}

/* Whatever a stranger sends, nothing but whole frames comes out, and no more than fit. */
static void parts_of_anything(void **state)
{
	struct lan *lan = lan_new(2, &rig_modes[0]);
	static const uint8_t data[RFM_PACKET_DATA] = { 2 };
	uint64_t seed = 1, frames = 0;

	for (int i = 0; i < 200000; i++) {
		const uint8_t node = test_random(&seed) % 3 + 1;
		struct rfm_packet packet = {
			.node = node, .class = RFM_PACKET_ETHERNET,
			.to_all = test_random(&seed) % 2,
			.first = !(test_random(&seed) % 8), .last = !(test_random(&seed) % 8),
			.stream = lan->ether[1].sources[node].stream + !(test_random(&seed) % 32),
			.length = test_random(&seed) % RFM_PACKET_DATA + 1,
			.incarnation = !(test_random(&seed) % 32),
		};

		if (rfm_ether_take(&lan->ether[1], &packet))
			rfm_ether_packet(&lan->ether[1], &packet, data);
		if (!(i % 4)) {
			struct rfm_ether_frame *frame = rfm_ether_fetch(&lan->ether[1]);

			if (frame)
				assert_in_range(frame->length, RFM_ETHER_MIN, RFM_ETHER_MAX);
			frames += !!frame;
			free(frame);
		}
	}
	assert_true(frames > 1000);
	assert_true(lan->ether[1].stats.broken > 1000);
	lan_free(lan);
}

/* Frames beside stores, from all sides: nothing is lost as long as somebody fetches. */
static void beside_stores(void **state)
{
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct lan *lan = lan_new(3, &rig_modes[mode]);
		uint32_t given[3] = { 0 }, come[3] = { 0 };
		uint64_t seed = mode;

		greet(lan);
		for (int round = 0; round < 3000; round++) {
			int i = test_random(&seed) % 3, next = (i + 1) % 3;

			rig_store32(lan->rig, i, 4 * i, round);
			if (rfm_ether_may_send(&lan->ether[i]))
				give(lan, i, next + 1, 14 + given[i] * 37 % 9000, given[i]), given[i]++;
			rig_pull(lan->rig, test_random(&seed) % 3, 4);
			rig_deliver(lan->rig, test_random(&seed) % 3);
			if (!(round % 64) || round == 2999)
				settle(lan);
			for (int k = 0; k < 3; k++) {
				int from = (k + 2) % 3;

				while (lan->ether[k].waiting) {
					assert_comes(lan, k, k + 1, from + 1, 14 + come[from] * 37 % 9000,
						     come[from]);
					come[from]++;
				}
			}
		}
		for (int i = 0; i < 3; i++) {
			assert_int_equal(come[i], given[i]);
			assert_true(given[i] > 20);
			assert_int_equal(lan->ether[i].stats.lost, 0);
			rig_assert_books_closed(lan->rig, i);
		}
		lan_free(lan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_in_every_mode),
		cmocka_unit_test(what_is_no_frame),
		cmocka_unit_test(where_an_address_is),
		cmocka_unit_test(more_addresses_than_places),
		cmocka_unit_test(no_room),
		cmocka_unit_test(a_lost_part),
		cmocka_unit_test(off_the_ring),
		cmocka_unit_test(parts_of_anything),
		cmocka_unit_test(beside_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
