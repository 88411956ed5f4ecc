// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/* Network interrupts to a set of nodes. */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <string.h>

#include "ring/wire.h"

struct set {
	uint8_t bits[RFM_NODE_SET];
};

static void add(struct set *set, uint8_t id)
{
	set->bits[id / 8] |= 1 << id % 8;
}

static struct set set_of(uint8_t a, uint8_t b)
{
	struct set set = { 0 };

	add(&set, a);
	add(&set, b);
	return set;
}

static void forget(struct rig *rig)
{
	for (int i = 0; i < rig->count; i++) {
		rig->peers[i].interrupt_count = 0;
		rig_status(rig, i);
	}
}

/* Each sender to each set there is, of nodes whose ids lie in two bytes of it. */
static void who_is_in_the_set_gets_it(struct rig *rig)
{
	for (int from = 0; from < rig->count; from++) {
		for (unsigned int members = 0; members < 1u << rig->count; members++) {
			const uint32_t data = 0xc0de0000 + members;
			struct set set = { 0 };

			for (int i = 0; i < rig->count; i++)
				if (members >> i & 1)
					add(&set, rig->peers[i].node.config.id);
			rig_interrupt_set(rig, from, set.bits, 2, data);
			memset(&set, 0xff, sizeof(set));	/* it was copied */
			rig_settle(rig);
			for (int i = 0; i < rig->count; i++) {
				const struct rig_peer *peer = &rig->peers[i];
				bool wanted = i != from && members >> i & 1;

				assert_int_equal(peer->interrupt_count, wanted);
				if (!wanted)
					continue;
				assert_int_equal(peer->interrupts[0].type, 2);
				assert_int_equal(peer->interrupts[0].from,
						 rig->peers[from].node.config.id);
				assert_int_equal(peer->interrupts[0].data, data);
			}
			assert_int_equal(rig_status(rig, from), RFM_NODE_OWN_DATA);
			forget(rig);
		}
	}
}

static void sets_of_any_node_in_any_mode(void **state)
{
	static const int firsts[] = { 0, 5, 251 };

	(void)state;
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
			struct rig *rig = rig_new_mode(5, firsts[i], &rig_modes[mode]);

			who_is_in_the_set_gets_it(rig);
			for (int peer = 0; peer < 5; peer++) {
				/* One frame a set, however many nodes are in it. */
				assert_int_equal(rig_stats(rig, peer).sent, 32);
				assert_int_equal(rig_stats(rig, peer).received, 4 * 32);
				rig_assert_books_closed(rig, peer);
			}
			rig_free(rig);
		}
	}
}

/* As of any interrupt: four types and the reset request, the others do nothing. */
static void only_types_that_mean_something(void **state)
{
	struct rig *rig = rig_new(3, 1);
	const struct set both = set_of(2, 3);

	(void)state;
	for (unsigned int kind = 0; kind < 16; kind++) {
		uint8_t type = kind & 7;
		bool counts = type < 4 || type == 7;

		rig_interrupt_set(rig, 0, both.bits, kind, kind);
		rig_settle(rig);
		for (int i = 1; i < 3; i++) {
			assert_int_equal(rig->peers[i].interrupt_count, counts);
			if (counts)
				assert_int_equal(rig->peers[i].interrupts[0].type, type);
		}
		assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
		forget(rig);
	}
	rig_free(rig);
}

/* The global bit of the 5565 is spare here: only the set counts. */
static void the_global_bit_means_nothing(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame = {
		.type = RFM_FRAME_MULTICAST, .source = 77, .incarnation = 5, .kind = 0x9, .dest = 1,
		.seq = 1, .hops = 1, .length = 36,
	};

	(void)state;
	put32(frame.data, 5);
	memcpy(frame.data + 4, set_of(3, 3).bits, RFM_NODE_SET);
	rig_inject(rig, 0, &frame);
	for (int i = 0; i < 2; i++) {
		rig_deliver(rig, i);
		rig_pull(rig, i + 1, 1);
	}
	assert_int_equal(rig->peers[1].interrupt_count, 0);
	assert_int_equal(rig->peers[2].interrupt_count, 1);
	assert_int_equal(rig->peers[2].interrupts[0].type, 1);
	/* What is passed on is what came. */
	assert_true(rig_drop(rig, 2, &frame));
	assert_int_equal(frame.kind, 9);
	assert_int_equal(frame.hops, 3);
	rig_free(rig);
}

static void it_stays_in_its_place_among_the_stores(void **state)
{
	(void)state;
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);
		const struct set both = set_of(2, 3);

		/* Apart, so that none is packed with the next. */
		for (uint32_t i = 0; i < 8; i++) {
			rig_store32(rig, 0, 8 * i, i + 1);
			rig_interrupt_set(rig, 0, both.bits, 1, i);
		}
		rig_settle(rig);
		for (int at = 1; at < 3; at++) {
			const struct rig_peer *peer = &rig->peers[at];

			assert_int_equal(peer->interrupt_count, 8);
			for (uint32_t i = 0; i < 8; i++) {
				assert_int_equal(peer->interrupts[i].data, i);
				assert_int_equal(peer->interrupts[i].after, i + 1);
			}
		}
		rig_free(rig);
	}
}

static void a_paused_node_gets_it_when_it_goes_on(void **state)
{
	struct rig *rig = rig_new(3, 1);
	const struct set both = set_of(2, 3);

	(void)state;
	rfm_node_set_paused(&rig->peers[1].node, true);
	rig_store32(rig, 0, 0, 1);
	rig_interrupt_set(rig, 0, both.bits, 7, 42);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].interrupt_count, 0);
	assert_int_equal(rig->peers[2].interrupt_count, 1);
	rfm_node_set_paused(&rig->peers[1].node, false);
	assert_int_equal(rig->peers[1].interrupt_count, 1);
	assert_int_equal(rig->peers[1].interrupts[0].type, 7);
	assert_int_equal(rig->peers[1].interrupts[0].data, 42);
	assert_int_equal(rig->peers[1].interrupts[0].after, 1);
	rig_free(rig);
}

/* Room is kept for it where stores find none; what finds none even there is told. */
static void it_never_waits_and_is_never_lost_silently(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[0];
	const struct set other = set_of(2, 2);
	uint64_t sent = 0;

	(void)state;
	while (rfm_node_may_store(&peer->node))
		rig_store32(rig, 0, 0, 1);
	assert_int_equal(rig_status(rig, 0), 0);
	for (;; sent++) {
		rig_interrupt_set(rig, 0, other.bits, 1, sent);
		if (rig_status(rig, 0))
			break;
	}
	assert_int_equal(sent, RFM_INSERT_SLOTS);
	assert_int_equal(rig_stats(rig, 0).full, 1);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].interrupt_count, sent);
	for (uint64_t i = 0; i < sent; i++)
		assert_int_equal(rig->peers[1].interrupts[i].data, i);

	/* Lost on the way: missed there, and lost here when the next one is home. */
	rig_advance(rig, 1000 * MS);
	assert_int_equal(rig_stats(rig, 1).missed, 1);	/* that for which there was no room */
	peer->cut = true;
	rig_interrupt_set(rig, 0, other.bits, 1, 0);
	rig_settle(rig);
	peer->cut = false;
	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].interrupt_count, sent);
	assert_int_equal(rig_stats(rig, 1).missed, 2);
	assert_int_equal(rig_stats(rig, 0).lost, 2);

	/* In the dark. */
	rig_disconnect(rig, 0);
	rig_interrupt_set(rig, 0, other.bits, 1, 0);
	assert_int_equal(rig_stats(rig, 0).dark, 1);
	assert_false(rig_status(rig, 0) & RFM_NODE_TX_FULL);
	rig_free(rig);
}

/* A fence waits for it as for any update. */
static void a_fence_comes_home_behind_it(void **state)
{
	struct rig *rig = rig_new(3, 1);
	const struct set both = set_of(2, 3);

	(void)state;
	rig_interrupt_set(rig, 0, both.bits, 1, 1);
	assert_true(rig_fence(rig, 0, 9));
	rig_settle(rig);
	assert_int_equal(rig->peers[0].fence_count, 1);
	assert_int_equal(rig->peers[0].fence.lost, 0);
	assert_int_equal(rig->peers[1].interrupt_count + rig->peers[2].interrupt_count, 2);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_of_any_node_in_any_mode),
		cmocka_unit_test(only_types_that_mean_something),
		cmocka_unit_test(the_global_bit_means_nothing),
		cmocka_unit_test(it_stays_in_its_place_among_the_stores),
		cmocka_unit_test(a_paused_node_gets_it_when_it_goes_on),
		cmocka_unit_test(it_never_waits_and_is_never_lost_silently),
		cmocka_unit_test(a_fence_comes_home_behind_it),
	};

	return cmocka_run_group_tests_name("node_multicast", tests, NULL, NULL);
}
