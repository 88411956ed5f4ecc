// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Fences, which tell when stores are everywhere, and what is against it: frames
 * that are lost, a ring that breaks, nodes whose guest stands still.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <string.h>

#include "ring/wire.h"

#define TICKET	0x1122334455667788ull

/* --- fences --------------------------------------------------------------- */

static void assert_fence(const struct rig *rig, int peer, uint64_t count, uint64_t lost)
{
	const struct rig_peer *p = &rig->peers[peer];

	assert_int_equal(p->fence_count, count);
	assert_int_equal(p->fence.lost, lost);
	assert_int_equal(p->fence.epoch, p->node.epoch);
}

/* It is answered when, and not before, every node has all that was stored. */
static void a_fence_comes_home_behind_the_stores(void **state)
{
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);
		uint64_t seed = 1;

		(void)state;
		for (int i = 0; i < 12; i++)
			rig_store32(rig, 0, 4 * i, 100 + i);
		assert_true(rig_fence(rig, 0, TICKET));
		rig_store32(rig, 0, 64, 1);
		while (!rig->peers[0].fence_count) {
			assert_int_equal(rig->peers[0].fence_count, 0);
			rig_pull(rig, test_random(&seed) % 3, 1);
			rig_deliver(rig, test_random(&seed) % 3);
		}
		for (int at = 1; at < 3; at++)
			for (int i = 0; i < 12; i++)
				assert_int_equal(rig_load32(rig, at, 4 * i), 100 + i);
		rig_settle(rig);
		assert_fence(rig, 0, 1, 0);
		assert_true(rig->peers[0].fence.ticket == TICKET);
		assert_false(rig->peers[0].fence.paused);
		assert_false(rig->peers[0].fence.epoch_changed);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

/* Nobody else notices, and it is no own data. */
static void a_fence_is_nothing_but_a_fence(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_fence(rig, 0, TICKET);
	rig_settle(rig);
	assert_fence(rig, 0, 1, 0);
	assert_int_equal(rig_status(rig, 0), 0);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig->peers[i].stored_count + rig->peers[i].interrupt_count, 0);
		assert_int_equal(rig_status(rig, i), 0);
		assert_int_equal(rig->peers[i].fence_count, 0);
	}
	/* In loopback it is home at once. */
	rfm_node_set_optics(&rig->peers[0].node, false, true, false, rig->now);
	rig_status(rig, 0);
	rig_fence(rig, 0, TICKET + 1);
	assert_fence(rig, 0, 2, 0);
	assert_true(rig->peers[0].fence.ticket == TICKET + 1);
	assert_int_equal(rig_status(rig, 0), 0);
	rig_free(rig);
}

/* Store @count words on peer 0; of their frames drop those in the mask @lost. */
static void store_some(struct rig *rig, int count, uint32_t lost)
{
	struct rfm_frame frame;

	for (int i = 0; i < count; i++) {
		rig_store32(rig, 0, 4 * i, i);
		rig_pull(rig, 0, 1);
		if (lost >> i & 1)
			assert_true(rig_drop(rig, 0, &frame));
		rig_settle(rig);
	}
}

static void a_fence_fails_with_the_count_of_what_was_lost(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	store_some(rig, 10, 0x00e);
	rig_fence(rig, 0, 1);
	rig_settle(rig);
	assert_fence(rig, 0, 1, 3);
	/* Also the last ones before it; what an earlier fence told is not told again. */
	store_some(rig, 10, 0x300);
	rig_fence(rig, 0, 2);
	rig_settle(rig);
	assert_fence(rig, 0, 2, 2);
	rig_fence(rig, 0, 3);
	rig_settle(rig);
	assert_fence(rig, 0, 3, 0);
	rig_free(rig);
}

/* Stores that found no room are lost stores too. */
static void a_fence_counts_what_found_no_room(void **state)
{
	struct rig *rig = rig_new(2, 1);

	(void)state;
	while (rfm_node_may_store(&rig->peers[0].node))
		rig_store32(rig, 0, 0, 1);
	for (int i = 0; i < 7; i++)
		rig_store32(rig, 0, 0, 2);
	assert_true(rig_fence(rig, 0, 1));
	rig_settle(rig);
	assert_fence(rig, 0, 1, 7);
	rig_free(rig);
}

/* The answer comes with whatever is home after it, in the end a heartbeat. */
static void a_fence_that_is_lost_is_answered(void **state)
{
	for (int silent = 0; silent < 2; silent++) {
		struct rig *rig = rig_new(3, 1);
		struct rfm_frame frame;

		(void)state;
		rig_fence(rig, 0, TICKET);
		rig_pull(rig, 0, 1);
		assert_true(rig_drop(rig, 0, &frame));
		assert_int_equal(frame.type, RFM_FRAME_FENCE);
		rig_settle(rig);
		assert_int_equal(rig->peers[0].fence_count, 0);
		if (silent)
			rig_advance(rig, RFM_NODE_HEARTBEAT_NS + 100 * MS);
		else
			store_some(rig, 1, 0);
		assert_fence(rig, 0, 1, 1);
		assert_true(rig->peers[0].fence.ticket == TICKET);
		/* The next one starts afresh. */
		rig_fence(rig, 0, TICKET + 1);
		rig_settle(rig);
		assert_fence(rig, 0, 2, 0);
		rig_free(rig);
	}
}

/* The ring breaks with a fence under way, sent or still waiting for credit. */
static void a_fence_fails_in_the_dark(void **state)
{
	for (int waiting = 0; waiting < 2; waiting++) {
		struct rfm_node_config like = rig_config(0, 0);
		struct rig *rig;

		(void)state;
		like.window = 4;
		rig = rig_new_like(3, 1, &like);
		for (int i = 0; i < 3 + waiting; i++)
			rig_store32(rig, 0, 0, i);
		rig_fence(rig, 0, TICKET);
		rig_pull(rig, 0, 10);
		assert_int_equal(rig_in_flight(rig, 0), 3 + 1);
		rig_disconnect(rig, 2);
		assert_fence(rig, 0, 1, 3 + waiting + 1);
		assert_true(rig->peers[0].fence.ticket == TICKET);
		assert_true(waiting || rig->peers[0].fence.epoch_changed);
		/* In the dark there is none to be had. */
		assert_false(rig_fence(rig, 0, TICKET + 1));
		rig_connect(rig, 2);
		rig_settle(rig);
		rig_advance(rig, 1000 * MS);
		assert_int_equal(rig->peers[0].fence_count, 1);
		rig_fence(rig, 0, TICKET + 2);
		rig_settle(rig);
		assert_int_equal(rig->peers[0].fence_count, 2);
		assert_true(rig->peers[0].fence.ticket == TICKET + 2);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

/* A node that came or went meanwhile: the fence says that it spoke for others. */
static void a_fence_tells_of_a_change_of_members(void **state)
{
	const struct rfm_frame newcomer = {
		.type = RFM_FRAME_HEARTBEAT, .source = 77, .incarnation = 5, .hops = 1,
	};
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_fence(rig, 0, 1);
	rig_pull(rig, 0, 1);
	rig_inject(rig, 2, &newcomer);
	rig_settle(rig);
	assert_fence(rig, 0, 1, 0);
	assert_true(rig->peers[0].fence.epoch_changed);
	rig_fence(rig, 0, 2);
	rig_settle(rig);
	assert_fence(rig, 0, 2, 0);
	assert_false(rig->peers[0].fence.epoch_changed);
	rig_free(rig);
}

/* A node whose guest stands still has what was stored in its queue, not in its memory. */
static void a_fence_tells_of_a_paused_node(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rfm_node_set_paused(&rig->peers[1].node, true);
	rig_store32(rig, 0, 0, 1);
	rig_fence(rig, 0, 1);
	rig_settle(rig);
	assert_fence(rig, 0, 1, 0);
	assert_true(rig->peers[0].fence.paused);
	/* It goes on between the store and the fence. */
	rig_store32(rig, 0, 0, 2);
	rig_settle(rig);
	rfm_node_set_paused(&rig->peers[1].node, false);
	rig_fence(rig, 0, 2);
	rig_settle(rig);
	assert_fence(rig, 0, 2, 0);
	assert_true(rig->peers[0].fence.paused);
	rig_store32(rig, 0, 0, 3);
	rig_fence(rig, 0, 3);
	rig_settle(rig);
	assert_fence(rig, 0, 3, 0);
	assert_false(rig->peers[0].fence.paused);
	rig_free(rig);
}

/* --- what comes home and was not stored ------------------------------------ */

/* A clock was set back: the others take this life for a former one, and store nothing. */
static void a_fence_fails_if_nobody_stored(void **state)
{
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);
		struct rfm_node_config config = rig->peers[2].node.config;

		(void)state;
		rig_store32(rig, 2, 0, 1);
		rig_settle(rig);
		config.incarnation = 10;
		rig_start_as(rig, 2, &config);
		rig_join(rig, 2);
		rig_store32(rig, 2, 0, 2);
		rig_fence(rig, 2, 1);
		rig_settle(rig);
		assert_int_equal(rig_load32(rig, 0, 0), 1);
		assert_int_equal(rig_load32(rig, 1, 0), 1);
		assert_fence(rig, 2, 1, 2);	/* the store, and the fence */
		/* They hear it in the end. What they refused before is still told. */
		rig_store32(rig, 2, 4, 3);
		rig_settle(rig);
		rig_advance(rig, RFM_NODE_SILENCE_NS + 2 * RFM_NODE_HEARTBEAT_NS);
		rig_fence(rig, 2, 2);
		rig_settle(rig);
		assert_fence(rig, 2, 2, 1);
		rig_store32(rig, 2, 8, 4);
		rig_fence(rig, 2, 3);
		rig_settle(rig);
		assert_fence(rig, 2, 3, 0);
		assert_int_equal(rig_load32(rig, 0, 8), 4);
		assert_int_equal(rig_load32(rig, 1, 8), 4);
		rig_assert_books_closed(rig, 2);
		rig_free(rig);
	}
}

/* Node 1 stores a word and fences; node @refuser has not stored it, and the fence says so. */
static void assert_refused(struct rig *rig, int refuser)
{
	rig_store32(rig, 0, 0, 7);
	rig_fence(rig, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, refuser, 0), 0);
	assert_int_equal(rig_load32(rig, 3 - refuser, 0), 7);
	assert_fence(rig, 0, 1, 2);	/* the store, and the fence */
	rig_free(rig);
}

/* One of the others is enough, wherever it is; those that store do so. */
static void a_fence_fails_if_one_node_does_not_store(void **state)
{
	for (int refuser = 1; refuser < 3; refuser++) {
		struct rig *rig = rig_new(3, 1);
		struct rfm_frame later = {
			.type = RFM_FRAME_HEARTBEAT, .source = 1, .hops = 1,
			.incarnation = rig->peers[0].node.config.incarnation, .seq = 1000,
		};

		(void)state;
		/* Only this one has heard of a number that the node has not given yet. */
		rig_inject(rig, refuser - 1, &later);
		rig_deliver(rig, refuser - 1);
		assert_true(rig_pull(rig, refuser, 1));
		assert_true(rig_drop(rig, refuser, &later));
		assert_refused(rig, refuser);
	}
}

/* What passes a node that has not stored it carries the mark from there on. */
static void what_was_not_stored_is_marked(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &frame));
	for (int again = 0; again < 2; again++) {
		struct rfm_frame passed;

		rig_inject(rig, 0, &frame);
		rig_deliver(rig, 0);
		rig_pull(rig, 1, 1);
		assert_true(rig_drop(rig, 1, &passed));
		assert_int_equal(passed.marks, again ? RFM_MARK_UNSTORED : 0);
	}
	/* Heartbeats have nothing to store. */
	rig_advance(rig, RFM_NODE_HEARTBEAT_NS - 1);
	rig->now += 1;
	rfm_node_tick(&rig->peers[0].node, rig->now);
	rig_pull(rig, 0, 1);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 1);
	assert_true(rig_drop(rig, 1, &frame));
	assert_int_equal(frame.type, RFM_FRAME_HEARTBEAT);
	assert_int_equal(frame.marks, 0);
	rig_free(rig);
}

/* With two nodes of one id the one that came later stores nothing of the other. */
static void a_fence_fails_if_a_namesake_does_not_store(void **state)
{
	struct rfm_node_config config = rig_config(0, 0);
	struct rig *rig;

	(void)state;
	config.authentic_ids = true;
	rig = rig_new_like(3, 1, &config);
	config.id = 1;
	config.incarnation = 5000;
	rig_start_as(rig, 1, &config);
	rig_join(rig, 1);
	rig_settle(rig);
	assert_refused(rig, 1);
}

/* A ring of three whose peer 1 stands still while peer 0 stores 0 to @stores - 1. */
static struct rig *rig_with_paused(bool redundant, int stores)
{
	struct rfm_node_config config = rig_config(0, 0);
	struct rig *rig;

	config.redundant = redundant;
	rig = rig_new_like(3, 1, &config);
	rfm_node_set_paused(&rig->peers[1].node, true);
	for (int i = 0; i < stores; i++) {
		rig_store32(rig, 0, 0, i);
		if (!(i % 64))
			rig_settle(rig);
	}
	rig_settle(rig);
	return rig;
}

/* What a node that stands still could not hold is not stored when it goes on. */
static void a_fence_fails_if_a_paused_node_had_no_room(void **state)
{
	struct rig *rig = rig_with_paused(false, RFM_NODE_HELD_SLOTS + 7);

	(void)state;
	rfm_node_set_paused(&rig->peers[1].node, false);
	rig_fence(rig, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), RFM_NODE_HELD_SLOTS - 1);
	assert_fence(rig, 0, 1, 7);
	rig_free(rig);
}

/* Of both copies the first is damaged behind peer 1; the second comes home. */
static void pass_second_copy(struct rig *rig, bool goes_on)
{
	struct rfm_frame damaged;

	rig_pull(rig, 0, 2);
	rig_deliver(rig, 0);
	if (goes_on)
		rfm_node_set_paused(&rig->peers[1].node, false);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 2);
	assert_true(rig_drop(rig, 1, &damaged));
	rig_settle(rig);
}

/* Nor does the second copy make good what it had no room for, though it has some by then. */
static void a_fence_fails_if_the_first_copy_had_no_room(void **state)
{
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		struct rig *rig = rig_with_paused(true, RFM_NODE_HELD_SLOTS);

		(void)state;
		rig_store32(rig, 0, 0, 0x1057);
		pass_second_copy(rig, goes_on);
		rfm_node_set_paused(&rig->peers[1].node, false);
		rig_fence(rig, 0, 1);
		rig_settle(rig);
		assert_int_equal(rig_load32(rig, 1, 0), RFM_NODE_HELD_SLOTS - 1);
		assert_int_equal(rig_load32(rig, 2, 0), 0x1057);
		assert_fence(rig, 0, 1, 1);
		rig_free(rig);
	}
}

/* What was held counts as stored, also if the hold is full when its second copy comes. */
static void a_fence_knows_that_the_first_copy_is_held(void **state)
{
	struct rig *rig = rig_with_paused(true, RFM_NODE_HELD_SLOTS - 1);

	(void)state;
	rig_store32(rig, 0, 0, 0x4e1d);
	pass_second_copy(rig, false);
	rfm_node_set_paused(&rig->peers[1].node, false);
	rig_fence(rig, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 0x4e1d);
	assert_fence(rig, 0, 1, 0);
	rig_free(rig);
}

/* --- a paused node -------------------------------------------------------- */

static void a_paused_node_holds_back_in_order(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rig_peer *still = &rig->peers[1];
	struct rfm_frame frame;

	(void)state;
	rfm_node_set_paused(&still->node, true);
	for (int i = 0; i < 10; i++) {
		rig_store32(rig, 0, 0, i);
		rig_store32(rig, 2, 8, 100 + i);
		rig_interrupt(rig, 0, 2, 1, i);
	}
	rig_settle(rig);
	assert_int_equal(still->stored_count + still->interrupt_count, 0);
	assert_int_equal(rig_load32(rig, 1, 0) + rig_load32(rig, 1, 8), 0);
	/* The others do not wait for it. */
	assert_int_equal(rig_load32(rig, 2, 0), 9);
	assert_int_equal(rig_stats(rig, 0).home, 20);
	assert_int_equal(rig_stats(rig, 2).home, 10);

	rfm_node_set_paused(&still->node, false);
	assert_int_equal(still->stored_count, 20);
	assert_int_equal(still->interrupt_count, 10);
	for (uint32_t i = 0, words[2] = { 0 }; i < 20; i++) {
		uint32_t *word = &words[still->stored[i].offset / 8];

		assert_int_equal(get32(still->stored[i].data) % 100, (*word)++);
	}
	for (int i = 0; i < 10; i++) {
		/* Each behind the store before it and in front of the next. */
		uint32_t before = 0, data = i;

		assert_int_equal(still->interrupts[i].data, data);
		for (uint64_t n = 0; n < still->interrupts[i].after; n++)
			before += still->stored[n].offset == 0;
		assert_int_equal(before, i + 1);
	}
	assert_int_equal(rig_stats(rig, 1).held_lost, 0);
	assert_int_equal(rig_status(rig, 1), 0);

	/* What passed it meanwhile is marked, and nothing else is. */
	for (int paused = 0; paused < 2; paused++) {
		rfm_node_set_paused(&still->node, paused);
		rig_store32(rig, 0, 0, 1);
		rig_pull(rig, 0, 1);
		rig_deliver(rig, 0);
		rig_pull(rig, 1, 1);
		assert_true(rig_drop(rig, 1, &frame));
		assert_int_equal(frame.marks, paused ? RFM_MARK_PAUSED : 0);
	}
	rig_free(rig);
}

static void what_a_paused_node_cannot_hold_is_counted(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rig_peer *still = &rig->peers[1];
	struct rfm_node_stats stats;

	(void)state;
	rfm_node_set_paused(&still->node, true);
	for (int i = 0; i < RFM_NODE_HELD_SLOTS; i++) {
		rig_store32(rig, 0, 0, i);
		if (!(i % 64))
			rig_settle(rig);
	}
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_RX_ALMOST_FULL);
	assert_int_equal(still->almost_count, 1);	/* once a filling */
	for (int i = 0; i < 7; i++)
		rig_store32(rig, 0, 0, 0x5555);
	rig_interrupt(rig, 0, 2, 1, 1);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_RX_FULL);
	rfm_node_set_paused(&still->node, false);
	assert_int_equal(still->stored_count, RFM_NODE_HELD_SLOTS);
	assert_int_equal(rig_load32(rig, 1, 0), RFM_NODE_HELD_SLOTS - 1);
	assert_int_equal(rig_load32(rig, 2, 0), 0x5555);
	rig_store32(rig, 0, 4, 1);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 4), 1);
	assert_int_equal(still->almost_count, 1);
	stats = rig_stats(rig, 1);
	assert_int_equal(stats.held_lost, 8);
	assert_int_equal(stats.missed, 0);
	assert_int_equal(stats.received, RFM_NODE_HELD_SLOTS + 1);
	assert_int_equal(stats.received + stats.held_lost, rig_stats(rig, 0).sent);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* A snapshot taken while paused: what was held belongs to the life before. */
static void rejoining_gives_up_what_was_held(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rig_peer *still = &rig->peers[1];
	struct rfm_node_stats stats;

	(void)state;
	rfm_node_set_paused(&still->node, true);
	for (int i = 0; i < 5; i++)
		rig_store32(rig, 0, 0, i);
	rig_settle(rig);
	rfm_node_rejoin(&still->node, 9000, rig->now);
	rfm_node_set_paused(&still->node, false);
	assert_int_equal(still->stored_count, 0);
	assert_int_equal(rig_stats(rig, 1).held_lost, 5);
	rig_settle(rig);
	rig_store32(rig, 0, 0, 77);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 77);
	/* Each is counted once: it came, or it was lost here, or on the way. */
	stats = rig_stats(rig, 1);
	assert_int_equal(stats.received + stats.held_lost + stats.missed, rig_stats(rig, 0).sent);
	assert_int_equal(stats.received, 1);
	assert_int_equal(still->node.sources[1].received, 1);
	rig_free(rig);
}

/* A fence of the life before is answered when that ends; its losses are not the next life's. */
static void rejoining_answers_the_fence(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_fence(rig, 0, TICKET);
	rig_pull(rig, 0, 10);
	rfm_node_rejoin(&rig->peers[0].node, 9000, rig->now);
	assert_fence(rig, 0, 1, 2);
	assert_true(rig->peers[0].fence.ticket == TICKET);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].fence_count, 1);
	rig_store32(rig, 0, 0, 2);
	rig_fence(rig, 0, TICKET + 1);
	rig_settle(rig);
	assert_fence(rig, 0, 2, 0);
	assert_true(rig->peers[0].fence.ticket == TICKET + 1);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* --- as glass would -------------------------------------------------------- */

/* On peer 1 late frames are stored; peer 2 is of the usual kind. */
static struct rig *authentic_rig(bool redundant)
{
	struct rfm_node_config config = rig_config(0, 0);
	struct rig *rig;

	config.redundant = redundant;
	rig = rig_new_like(3, 1, &config);
	config.id = 2;
	config.incarnation = 5000;
	config.authentic_late = true;
	rig_start_as(rig, 1, &config);
	rig_join(rig, 1);
	return rig;
}

static void a_late_frame_overwrites_where_that_is_wanted(void **state)
{
	struct rig *rig = authentic_rig(false);
	struct rfm_frame frame;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &frame));
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	rig_store32(rig, 0, 0, 2);
	rig_settle(rig);
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	assert_int_equal(rig_load32(rig, 2, 0), 2);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig_stats(rig, i).late, 1);
		assert_int_equal(rig_stats(rig, i).received, 2);
	}
	/* In the place where it came, also while the guest stands still. */
	rfm_node_set_paused(&rig->peers[1].node, true);
	rig_store32(rig, 0, 0, 3);
	rig_settle(rig);
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 3);
	rfm_node_set_paused(&rig->peers[1].node, false);
	assert_int_equal(rig->peers[1].stored_count, 5);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	rig_free(rig);
}

/* A second copy that comes late is not stored, so where the first was lost nothing is. */
static void a_late_second_copy_is_not_stored(void **state)
{
	struct rig *rig = authentic_rig(true);
	struct rfm_frame first, second;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 2);
	assert_true(rig_drop(rig, 0, &first));
	assert_true(rig_drop(rig, 0, &second));
	rig_store32(rig, 0, 4, 2);
	rig_pull(rig, 0, 2);
	rig_deliver(rig, 0);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 2);
	assert_true(rig_drop(rig, 1, &first));
	assert_true(rig_drop(rig, 1, &first));
	rig_inject(rig, 0, &second);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 1);
	assert_true(rig_drop(rig, 1, &second));
	assert_int_equal(rig_load32(rig, 1, 0), 0);
	assert_int_equal(second.marks, RFM_MARK_UNSTORED);
	rig_free(rig);
}

/* The second copy of redundant mode is no late frame. */
static void a_second_copy_is_never_stored(void **state)
{
	struct rig *rig = authentic_rig(true);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_interrupt(rig, 0, 2, 1, 0);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 1);
	assert_int_equal(rig->peers[1].interrupt_count, 1);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fence_comes_home_behind_the_stores),
		cmocka_unit_test(a_fence_is_nothing_but_a_fence),
		cmocka_unit_test(a_fence_fails_with_the_count_of_what_was_lost),
		cmocka_unit_test(a_fence_counts_what_found_no_room),
		cmocka_unit_test(a_fence_that_is_lost_is_answered),
		cmocka_unit_test(a_fence_fails_in_the_dark),
		cmocka_unit_test(a_fence_tells_of_a_change_of_members),
		cmocka_unit_test(a_fence_tells_of_a_paused_node),
		cmocka_unit_test(a_fence_fails_if_nobody_stored),
		cmocka_unit_test(a_fence_fails_if_one_node_does_not_store),
		cmocka_unit_test(what_was_not_stored_is_marked),
		cmocka_unit_test(a_fence_fails_if_a_namesake_does_not_store),
		cmocka_unit_test(a_fence_fails_if_a_paused_node_had_no_room),
		cmocka_unit_test(a_fence_fails_if_the_first_copy_had_no_room),
		cmocka_unit_test(a_fence_knows_that_the_first_copy_is_held),
		cmocka_unit_test(a_paused_node_holds_back_in_order),
		cmocka_unit_test(what_a_paused_node_cannot_hold_is_counted),
		cmocka_unit_test(rejoining_gives_up_what_was_held),
		cmocka_unit_test(rejoining_answers_the_fence),
		cmocka_unit_test(a_late_frame_overwrites_where_that_is_wanted),
		cmocka_unit_test(a_late_second_copy_is_not_stored),
		cmocka_unit_test(a_second_copy_is_never_stored),
	};

	return cmocka_run_group_tests_name("node_fence", tests, NULL, NULL);
}
