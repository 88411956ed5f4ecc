// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * What a node does by its settings: every frame twice, rogue masters, stores
 * packed into one frame, other sizes of its queues.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/wire.h"

/* --- redundant mode ------------------------------------------------------- */

static struct rig *redundant_rig(int count)
{
	struct rfm_node_config like = rig_config(0, 0);

	like.redundant = true;
	return rig_new_like(count, 1, &like);
}

static void every_frame_leaves_twice(void **state)
{
	struct rig *rig = redundant_rig(3);
	struct rfm_frame first, second;

	(void)state;
	rig_store32(rig, 0, 8, 0x12345678);
	rig_pull(rig, 0, 10);
	assert_int_equal(rig_in_flight(rig, 0), 2);
	assert_true(rig_drop(rig, 0, &first));
	assert_true(rig_drop(rig, 0, &second));
	assert_int_equal(first.flags, RFM_FLAG_REDUNDANT);
	assert_int_equal(second.flags, RFM_FLAG_REDUNDANT | RFM_FLAG_SECOND);
	assert_int_equal(first.seq, second.seq);
	assert_int_equal(first.address, second.address);
	assert_memory_equal(first.data, second.data, 4);

	/* What others get of it is one store, one interrupt. */
	rig_store32(rig, 0, 8, 0x12345679);
	rig_interrupt(rig, 0, 0, 0x8 | 1, 99);
	rig_settle(rig);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig_load32(rig, i, 8), 0x12345679);
		assert_int_equal(rig->peers[i].stored_count, 1);
		assert_int_equal(rig->peers[i].interrupt_count, 1);
		assert_int_equal(rig_stats(rig, i).copies, 2);
		assert_int_equal(rig_stats(rig, i).received, 2);
		assert_int_equal(rig_stats(rig, i).late, 0);
	}
	assert_int_equal(rig_stats(rig, 0).sent, 3);
	assert_int_equal(rig_stats(rig, 0).home, 2);
	assert_int_equal(rig_stats(rig, 0).copies, 2);

	/* Notices leave once. */
	rig->now += RFM_NODE_HEARTBEAT_NS;
	rfm_node_tick(&rig->peers[0].node, rig->now);
	rig_pull(rig, 0, 10);
	assert_int_equal(rig_in_flight(rig, 0), 1);
	rig_free(rig);
}

/* One bad copy, anywhere, either of the two: nobody loses anything, order is kept. */
static void one_good_copy_is_enough(void **state)
{
	struct rig *rig = redundant_rig(3);
	uint64_t seed = 5, damaged[3] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		int from = test_random(&seed) % 3;

		rig_store32(rig, 0, i % 8 * 4, i);
		for (int at = 0; at < from; at++) {
			rig_pull(rig, at, 2);
			rig_deliver(rig, at);
			rig_deliver(rig, at);
		}
		rig_pull(rig, from, 2);
		if (test_random(&seed) % 2)
			rig_deliver(rig, from);
		rig_damage(rig, from);
		damaged[rig_next(rig, from)]++;
		rig_settle(rig);
	}
	for (int at = 0; at < 3; at++) {
		assert_int_equal(rig_stats(rig, at).bad, damaged[at]);
		assert_true(rig_status(rig, at) & RFM_NODE_BAD_DATA);
		assert_int_equal(rig_stats(rig, at).missed + rig_stats(rig, at).late, 0);
		assert_int_equal(rig->peers[at].stored_count, at ? 300 : 0);
	}
	for (uint32_t i = 0; i < 300; i++) {
		assert_int_equal(get32(rig->peers[1].stored[i].data), i);
		assert_int_equal(get32(rig->peers[2].stored[i].data), i);
	}
	rig_assert_books_closed(rig, 0);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	rig_free(rig);
}

static void two_bad_copies_are_one_loss(void **state)
{
	struct rig *rig = redundant_rig(3);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 2);
	rig_damage(rig, 0);
	rig_deliver(rig, 0);
	rig_damage(rig, 0);
	rig_settle(rig);
	rig_store32(rig, 0, 4, 2);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).bad, 2);
	for (int at = 1; at < 3; at++) {
		assert_int_equal(rig_load32(rig, at, 0), 0);
		assert_int_equal(rig_load32(rig, at, 4), 2);
		assert_int_equal(rig_stats(rig, at).missed, 1);
		assert_int_equal(rig_stats(rig, at).received, 1);
	}
	assert_int_equal(rig_stats(rig, 0).lost, 1);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* Frames of the other mode are taken off the ring where they meet this one. */
static void mixed_settings_remove_frames(void **state)
{
	struct rfm_node_config twice = rig_config(3, 7000);
	struct rig *rig = rig_new(3, 1);

	(void)state;
	twice.redundant = true;
	rig_start_as(rig, 2, &twice);
	rig_join(rig, 2);
	for (int i = 0; i < 3; i++)
		rig_status(rig, i);

	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	assert_int_equal(rig_load32(rig, 2, 0), 0);
	assert_int_equal(rig_stats(rig, 2).mixed, 1);
	assert_int_equal(rig_status(rig, 2), RFM_NODE_BAD_DATA);
	assert_int_equal(rig_status(rig, 0), 0);		/* not home */

	rig_store32(rig, 2, 4, 2);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 0, 4), 0);
	assert_int_equal(rig_load32(rig, 1, 4), 0);
	assert_int_equal(rig_stats(rig, 0).mixed, 2);		/* both copies */
	assert_int_equal(rig_stats(rig, 1).mixed, 0);		/* it never saw them */
	/* Heartbeats pass, and both sides learn what they lost. */
	rig_advance(rig, 1100 * MS);
	for (int i = 0; i < 3; i += 2) {
		assert_int_equal(rig_stats(rig, i).lost, 1);
		rig_assert_books_closed(rig, i);
	}
	rig_free(rig);
}

/* Twice the frames in half the window: the FIFOs of the others hold as many. */
static void redundancy_halves_the_window(void **state)
{
	struct rig *rig = redundant_rig(3);

	(void)state;
	for (int i = 0; i < RFM_NODE_WINDOW; i++)
		rig_store32(rig, 0, 0, i);
	rig_pull(rig, 0, 1000000);
	assert_int_equal(rig_in_flight(rig, 0), RFM_NODE_WINDOW);
	assert_int_equal(rig_stats(rig, 0).window_peak, RFM_NODE_WINDOW / 2);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 0).home, RFM_NODE_WINDOW);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* --- rogue masters -------------------------------------------------------- */

/* A ring of four; peer i is rogue master as masters[i] says. */
static struct rig *rogue_rig(const uint8_t *masters)
{
	struct rig *rig = rig_new(4, 1);

	for (int i = 0; i < 4; i++) {
		struct rfm_node_config config = rig_config(1 + i, 2000 + i);

		config.rogue_master = masters[i];
		rig_start_as(rig, i, &config);
	}
	for (int i = 0; i < 4; i++)
		rig_connect(rig, i);
	rig_settle(rig);
	for (int i = 0; i < 4; i++)
		rig_status(rig, i);
	return rig;
}

static void a_rogue_goes_round_once(void **state)
{
	static const uint8_t masters[][4] = { { 0, 1, 0, 0 }, { 0, 0, 2, 0 }, { 3, 0, 0, 0 } };
	static const struct {
		uint8_t type, length;
	} kinds[] = {
		{ RFM_FRAME_DATA, 4 }, { RFM_FRAME_INTERRUPT, 4 }, { RFM_FRAME_MULTICAST, 36 },
		{ RFM_FRAME_HEARTBEAT, 0 },
	};

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(masters); m++) {
		struct rig *rig = rogue_rig(masters[m]);

		for (size_t t = 0; t < ARRAY_SIZE(kinds); t++) {
			struct rfm_frame rogue = {
				.type = kinds[t].type, .source = 77, .incarnation = 5,
				.kind = 0x9, .seq = 1 + t, .hops = 1, .data = { 1 },
				.length = kinds[t].length,
			};

			rig_inject(rig, 0, &rogue);
			rig_settle(rig);
			for (int i = 0; i < 4; i++) {
				bool master = masters[m][i];

				assert_int_equal(rig_stats(rig, i).rogue, master ? t + 1 : 0);
				assert_int_equal(rig_status(rig, i),
						 master ? RFM_NODE_ROGUE : 0);
				assert_int_equal(rig_stats(rig, i).hop_limit, 0);
				/* Before it was known for a rogue, all took it once. */
				assert_int_equal(rig->peers[i].stored_count, 1);
			}
		}
		rig_free(rig);
	}
}

/* Two masters, as many as there may be, leave proper traffic alone, their own too. */
static void masters_leave_proper_traffic_alone(void **state)
{
	static const uint8_t masters[4] = { 0, 1, 0, 2 };
	struct rig *rig = rogue_rig(masters);
	struct rfm_frame frame;

	(void)state;
	for (int i = 0; i < 4; i++) {
		rig_store32(rig, i, 4 * i, 100 + i);
		rig_interrupt(rig, i, 0, 0x8, i);
	}
	rig_settle(rig);
	rig_advance(rig, 3000 * MS);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rig_stats(rig, i).home, 2);
		assert_int_equal(rig_stats(rig, i).rogue + rig_stats(rig, i).missed, 0);
		assert_int_equal(rig->peers[i].interrupt_count, 3);
		assert_memory_equal(rig->peers[i].memory, rig->peers[0].memory, RIG_MEMORY);
		rig_assert_books_closed(rig, i);
	}
	/* Each puts its own mark on what passes. */
	rig_store32(rig, 0, 0, 1);
	for (int at = 0; at < 3; at++) {
		rig_pull(rig, at, 1);
		rig_deliver(rig, at);
	}
	rig_pull(rig, 3, 1);
	assert_true(rig_drop(rig, 3, &frame));
	assert_int_equal(frame.marks, RFM_MARK_ROGUE_0 | RFM_MARK_ROGUE_1);
	rig_free(rig);
}

/* A mistake in the switches: each takes what the other has marked. */
static void two_masters_of_one_number_part_the_ring(void **state)
{
	static const uint8_t masters[4] = { 0, 1, 0, 1 };
	struct rig *rig = rogue_rig(masters);

	(void)state;
	rig_store32(rig, 0, 0, 1);		/* marked by 1, removed by 3 */
	rig_store32(rig, 2, 4, 2);		/* marked by 3, removed by 1 */
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	assert_int_equal(rig_load32(rig, 2, 0), 1);
	assert_int_equal(rig_load32(rig, 3, 0), 0);
	assert_int_equal(rig_load32(rig, 3, 4), 2);
	assert_int_equal(rig_load32(rig, 0, 4), 2);
	assert_int_equal(rig_load32(rig, 1, 4), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rig_stats(rig, i).home, 0);
		assert_int_equal(rig_status(rig, i), masters[i] ? RFM_NODE_ROGUE : 0);
		assert_true(!masters[i] || rig_stats(rig, i).rogue >= 1);
	}
	/* What a master says itself has no mark when it reaches the other one. */
	rig_store32(rig, 1, 8, 3);
	rig_settle(rig);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rig_load32(rig, i, 8), 3);
	assert_int_equal(rig_stats(rig, 1).home, 1);
	rig_free(rig);
}

/* --- packing -------------------------------------------------------------- */

static struct rig *packing_rig(uint32_t insert_slots, uint32_t window)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rig *rig;

	like.unpacked = false;
	like.train = 1;
	like.insert_slots = insert_slots;
	like.window = window;
	rig = rig_new_like(2, 1, &like);
	rig->lazy = true;
	return rig;
}

/* The next frame of peer 0 is this one. */
static void assert_leaves(struct rig *rig, uint32_t address, unsigned int length)
{
	struct rfm_frame frame;

	assert_true(rig_pull(rig, 0, 1));
	assert_true(rig_drop(rig, 0, &frame));
	assert_int_equal(frame.type, RFM_FRAME_DATA);
	assert_int_equal(frame.address, address);
	assert_int_equal(frame.length, length);
	assert_memory_equal(frame.data, rig->peers[0].memory + address, length);
}

static void adjacent_stores_share_a_frame(void **state)
{
	struct rig *rig = packing_rig(0, 0);
	uint64_t first = rig->now;

	(void)state;
	for (uint32_t i = 0; i < 40; i++, rig->now++)
		rig_store32(rig, 0, 256 + 4 * i, 0x01010101 * i);
	for (int i = 0; i < 2; i++) {
		struct rfm_frame frame;

		assert_true(rig_pull(rig, 0, 1));
		assert_true(rig_drop(rig, 0, &frame));
		assert_int_equal(frame.address, 256 + 64 * i);
		assert_int_equal(frame.length, 64);
		assert_int_equal(frame.time_ns, first + 16 * i);	/* of its first store */
		assert_memory_equal(frame.data, rig->peers[0].memory + frame.address, 64);
	}
	assert_leaves(rig, 256 + 128, 32);
	assert_false(rig_pull(rig, 0, 1));
	assert_int_equal(rig_stats(rig, 0).stores, 40);
	assert_int_equal(rig_stats(rig, 0).sent, 3);
	rig_free(rig);
}

static void what_is_not_adjacent_is_not_packed(void **state)
{
	static const struct {
		uint32_t offset;
		unsigned int length;
	} stores[] = {
		{ 64, 4 },
		{ 60, 4 },	/* downwards */
		{ 65, 4 },	/* with a gap */
		{ 68, 4 },	/* overlapping */
		{ 68, 4 },	/* the same */
		{ 8, 60 },
		{ 68, 8 },	/* 68 bytes together: not in part either */
		{ 76, 57 },	/* 65 */
		{ 200, 64 },
		{ 264, 1 },
	};
	struct rig *rig = packing_rig(0, 0);
	uint8_t bytes[64];

	(void)state;
	memset(bytes, 0x77, sizeof(bytes));
	for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
		rig_store(rig, 0, stores[i].offset, bytes, stores[i].length);
	for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
		assert_leaves(rig, stores[i].offset, stores[i].length);
	assert_false(rig_pull(rig, 0, 1));
	rig_free(rig);
}

/* Neither an interrupt nor a fence is passed by a store that would fit in front. */
static void packing_stops_at_commands(void **state)
{
	static const uint8_t types[] = {
		RFM_FRAME_DATA, RFM_FRAME_INTERRUPT, RFM_FRAME_DATA, RFM_FRAME_FENCE,
		RFM_FRAME_DATA,
	};
	struct rig *rig = packing_rig(0, 0);
	struct rfm_frame frame;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_interrupt(rig, 0, 2, 1, 0);
	rig_store32(rig, 0, 4, 2);
	rig_fence(rig, 0, 1);
	rig_store32(rig, 0, 8, 3);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		assert_true(rig_pull(rig, 0, 1));
		assert_true(rig_drop(rig, 0, &frame));
		assert_int_equal(frame.type, types[i]);
		assert_int_equal(frame.seq, i + 1);
	}
	rig_free(rig);
}

/* A store that was dropped has its number between its neighbours'. */
static void packing_stops_at_a_drop(void **state)
{
	struct rig *rig = packing_rig(RFM_INSERT_SLOTS_MIN, RFM_INSERT_SLOTS_MIN - 2);
	const uint32_t waiting = RFM_INSERT_SLOTS_MIN;
	const struct rig_stored *stored;

	(void)state;
	for (uint32_t i = 1; i < waiting; i++)
		rig_store32(rig, 0, 100 * i, 0);
	rig_store32(rig, 0, 4, 1);
	rig_store32(rig, 0, 3000, 0);		/* no room */
	assert_int_equal(rig_status(rig, 0), RFM_NODE_TX_FULL);
	rig_pull(rig, 0, 1);			/* all but two have credit; now there is room */
	rig_store32(rig, 0, 8, 2);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, waiting + 1);
	stored = &rig->peers[1].stored[waiting - 1];
	assert_int_equal(stored[0].offset, 4);
	assert_int_equal(stored[0].len, 4);
	assert_int_equal(stored[1].offset, 8);
	assert_int_equal(stored[1].len, 4);
	assert_int_equal(rig_stats(rig, 1).missed, 1);
	assert_int_equal(rig_stats(rig, 0).full, 1);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* A store with nothing behind it does not wait for something to come. */
static void a_lone_store_leaves_at_once(void **state)
{
	struct rig *rig = packing_rig(0, 0);

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		rig_store32(rig, 0, 4 * i, i);
		assert_leaves(rig, 4 * i, 4);
	}
	rig_free(rig);
}

/* The bytes that peer 1 got of peer 0, in their order. */
static uint64_t flatten(const struct rig *rig, uint32_t *places, uint8_t *bytes)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < rig->peers[1].stored_count; i++) {
		const struct rig_stored *entry = &rig->peers[1].stored[i];

		for (unsigned int n = 0; n < entry->len; n++, count++) {
			places[count] = entry->offset + n;
			bytes[count] = entry->data[n];
		}
	}
	return count;
}

#define PACKED_STORES	20000

/* Packed or not, the same bytes come in the same order, whatever the schedule. */
static void packing_changes_nothing_but_the_frames(void **state)
{
	uint32_t *places[2];
	uint8_t *bytes[2];
	uint64_t count[2], frames[2];

	(void)state;
	for (int packed = 0; packed < 2; packed++) {
		struct rig *rig = packed ? packing_rig(64, 0) : rig_new(2, 1);
		uint64_t seed = 8, schedule = 9 + packed;
		uint32_t offset = 0;

		for (int i = 0; i < PACKED_STORES; i++) {
			unsigned int len = 1 + test_random(&seed) % 8;
			uint8_t data[8];

			if (!(test_random(&seed) % 8) || offset + len > RIG_MEMORY)
				offset = test_random(&seed) % (RIG_MEMORY - 8);
			for (unsigned int n = 0; n < len; n++)
				data[n] = test_random(&seed);
			while (!rfm_node_may_store(&rig->peers[0].node))
				rig_settle(rig);
			rig_store(rig, 0, offset, data, len);
			offset += len;
			if (!(test_random(&schedule) % 4))
				rig_pull(rig, test_random(&schedule) % 2, 1);
			rig_deliver(rig, test_random(&schedule) % 2);
		}
		rig_settle(rig);
		assert_memory_equal(rig->peers[1].memory, rig->peers[0].memory, RIG_MEMORY);
		rig_assert_books_closed(rig, 0);
		places[packed] = malloc(PACKED_STORES * 8 * sizeof(uint32_t));
		bytes[packed] = malloc(PACKED_STORES * 8);
		count[packed] = flatten(rig, places[packed], bytes[packed]);
		frames[packed] = rig_stats(rig, 0).sent;
		rig_free(rig);
	}
	assert_int_equal(count[0], count[1]);
	assert_memory_equal(places[0], places[1], count[0] * sizeof(uint32_t));
	assert_memory_equal(bytes[0], bytes[1], count[0]);
	assert_int_equal(frames[0], PACKED_STORES);
	assert_true(frames[1] < PACKED_STORES * 2 / 3);		/* and it did pack */
	for (int i = 0; i < 2; i++) {
		free(places[i]);
		free(bytes[i]);
	}
}

/* --- sizes ---------------------------------------------------------------- */

static void sizes_out_of_range_are_refused(void **state)
{
	static const struct {
		uint32_t window, insert_slots;
	} wrong[] = {
		{ RFM_NODE_WINDOW_MAX + 1, 0 }, { UINT32_MAX, 0 }, { 0, 1 },
		{ 0, RFM_INSERT_SLOTS_MIN / 2 }, { 0, 17 }, { 0, 2047 },
		{ 0, 2 * RFM_INSERT_SLOTS }, { 0, 0x80000000u }, { 0, UINT32_MAX },
	};
	static const struct rfm_node_ops no_ops;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct rfm_node_config config = rig_config(1, 1);
		struct rfm_node *node = malloc(sizeof(*node));

		config.window = wrong[i].window;
		config.insert_slots = wrong[i].insert_slots;
		errno = 0;
		assert_int_equal(rfm_node_init(node, &config, &no_ops, NULL, 0), -1);
		assert_int_equal(errno, EINVAL);
		free(node);
	}
}

/* Every size in range is kept, announces its room, and loses nothing. */
static void sizes_in_range_are_kept(void **state)
{
	static const uint32_t windows[] = { 1, 2, 100, RFM_NODE_WINDOW };

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(windows); w++) {
		for (uint32_t slots = RFM_INSERT_SLOTS_MIN; slots <= RFM_INSERT_SLOTS;
		     slots *= 2) {
			struct rfm_node_config like = rig_config(0, 0);
			struct rig_peer *peer;
			uint32_t count = 0;
			struct rig *rig;

			like.window = windows[w];
			like.insert_slots = slots;
			rig = rig_new_like(2, 1, &like);
			peer = &rig->peers[0];
			while (rfm_node_may_store(&peer->node))
				rig_store32(rig, 0, 0, ++count);
			assert_int_equal(count, windows[w] + slots);
			assert_true(rfm_node_tx_almost_full(&peer->node));
			rig_pull(rig, 0, 1000000);
			assert_int_equal(rig_in_flight(rig, 0), windows[w]);
			rig_settle(rig);
			assert_int_equal(peer->room_count, 1);
			assert_false(rfm_node_tx_almost_full(&peer->node));
			assert_int_equal(rig->peers[1].stored_count, count);
			assert_int_equal(rig_stats(rig, 0).window_peak, windows[w]);
			assert_int_equal(rig_stats(rig, 0).insert_peak, slots);
			rig_free(rig);
		}
	}
}

/* The peaks are those of the queues, also when something was dropped. */
static void peaks(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rfm_node_stats stats;
	struct rig *rig;

	(void)state;
	like.window = 8;
	like.insert_slots = 16;
	rig = rig_new_like(2, 1, &like);
	rig->lazy = true;
	assert_int_equal(rig_stats(rig, 0).insert_peak, 0);
	for (int i = 0; i < 5; i++)
		rig_store32(rig, 0, 0, i);
	assert_int_equal(rig_stats(rig, 0).insert_peak, 5);
	rfm_node_send_queued(&rig->peers[0].node, rig->now);
	rig_settle(rig);
	stats = rig_stats(rig, 0);
	assert_int_equal(stats.window_peak, 5);
	assert_int_equal(stats.tx_peak, 5);
	for (int i = 0; i < 20; i++)
		rig_store32(rig, 0, 0, i);	/* four too many */
	rfm_node_send_queued(&rig->peers[0].node, rig->now);
	rig_pull(rig, 0, 3);
	for (int i = 0; i < 3; i++)
		rig_store32(rig, 0, 0, i);	/* behind the gap */
	rig_settle(rig);
	for (int i = 0; i < 2; i++)
		rig_store32(rig, 0, 0, i);
	rig_settle(rig);
	stats = rig_stats(rig, 0);
	assert_int_equal(stats.insert_peak, 16);
	assert_int_equal(stats.window_peak, 8);
	assert_int_equal(stats.tx_peak, 8);
	assert_int_equal(stats.full, 4);
	assert_int_equal(stats.lost, 4);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_leaves_twice),
		cmocka_unit_test(one_good_copy_is_enough),
		cmocka_unit_test(two_bad_copies_are_one_loss),
		cmocka_unit_test(mixed_settings_remove_frames),
		cmocka_unit_test(redundancy_halves_the_window),
		cmocka_unit_test(a_rogue_goes_round_once),
		cmocka_unit_test(masters_leave_proper_traffic_alone),
		cmocka_unit_test(two_masters_of_one_number_part_the_ring),
		cmocka_unit_test(adjacent_stores_share_a_frame),
		cmocka_unit_test(what_is_not_adjacent_is_not_packed),
		cmocka_unit_test(packing_stops_at_commands),
		cmocka_unit_test(packing_stops_at_a_drop),
		cmocka_unit_test(a_lone_store_leaves_at_once),
		cmocka_unit_test(packing_changes_nothing_but_the_frames),
		cmocka_unit_test(sizes_out_of_range_are_refused),
		cmocka_unit_test(sizes_in_range_are_kept),
		cmocka_unit_test(peaks),
	};

	return cmocka_run_group_tests_name("node_modes", tests, NULL, NULL);
}
