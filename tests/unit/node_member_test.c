// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Who is on the ring: nodes that come, go and come again, two with one id,
 * sources that fall silent, a node that says that it has lost its signal.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <string.h>

#include "ring/wire.h"

/* --- lives ---------------------------------------------------------------- */

static struct rfm_frame old_life(uint64_t incarnation, uint64_t seq, uint8_t value)
{
	return (struct rfm_frame){
		.type = RFM_FRAME_DATA, .source = 3, .incarnation = incarnation, .seq = seq,
		.length = 1, .hops = 1, .data = { value },
	};
}

/* What is left on the ring of a life that has ended undoes nothing. */
static void leftovers_of_a_former_life(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame left = old_life(1002, 9, 0xaa);

	(void)state;
	rig_store(rig, 2, 4, "x", 1);		/* the former life is known to all */
	rig_settle(rig);
	rig_disconnect(rig, 1);
	rig_disconnect(rig, 2);
	rig_start(rig, 2, 3, RIG_MEMORY, 9000);
	rig_join(rig, 2);
	rig_store(rig, 2, 0, "\x55", 1);
	rig_settle(rig);
	rig_inject(rig, 0, &left);
	rig_settle(rig);
	rig_store(rig, 2, 1, "\x66", 1);
	rig_settle(rig);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig->peers[i].memory[0], 0x55);
		assert_int_equal(rig->peers[i].memory[1], 0x66);
		assert_int_equal(rig_stats(rig, i).missed, 0);
		assert_int_equal(rig_in_flight(rig, i), 0);
	}
	assert_true(rig_stats(rig, 0).late > 0);
	rig_free(rig);
}

/* A node that begins again within its process takes its old frames off the ring. */
static void rejoin_under_a_new_incarnation(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 1);
	rig_deliver(rig, 0);
	rfm_node_rejoin(&rig->peers[0].node, 8000, rig->now);
	rig_store32(rig, 0, 0, 2);
	rig_settle(rig);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_load32(rig, i, 0), 2);
		assert_int_equal(rig_in_flight(rig, i), 0);
		assert_int_equal(rig_stats(rig, i).hop_limit, 0);
	}
	rig_assert_books_closed(rig, 0);
	assert_int_equal(rig_stats(rig, 0).lost, 1);
	rig_free(rig);
}

/* A clock that went back makes a new life look old; it is heard after a while. */
static void a_life_with_an_earlier_clock_is_heard_in_the_end(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_store32(rig, 2, 0, 1);
	rig_settle(rig);
	rig_start(rig, 2, 3, RIG_MEMORY, 10);
	rig_join(rig, 2);
	rig_store32(rig, 2, 0, 2);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 0, 0), 1);
	rig_advance(rig, 2500 * MS);
	rig_store32(rig, 2, 4, 3);
	rig_settle(rig);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig_load32(rig, i, 4), 3);
		assert_int_equal(rig_stats(rig, i).late, 1);
		assert_int_equal(rig_stats(rig, i).missed, 1);	/* the one not stored */
	}
	rig_free(rig);
}

/* A heartbeat each of two former lives, at their usual distance: neither is alive. */
static void leftovers_of_two_lives_are_no_life(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_frame left = old_life(1002, 8, 0xaa), now = old_life(9000, 1, 0x55);
	struct rfm_frame beat = { .type = RFM_FRAME_HEARTBEAT, .source = 3, .hops = 1, .seq = 7 };

	(void)state;
	rig_inject(rig, 0, &now);
	rig_settle(rig);
	rig_advance(rig, RFM_NODE_SILENCE_NS + 1000 * MS);
	for (beat.incarnation = 1001; beat.incarnation <= 1002; beat.incarnation++) {
		rig_inject(rig, 0, &beat);
		rig_advance(rig, RFM_NODE_HEARTBEAT_NS);
	}
	rig_inject(rig, 0, &left);
	rig_settle(rig);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig->peers[i].memory[0], 0x55);
		assert_int_equal(rig->peers[i].node.sources[3].current.incarnation, 9000);
	}
	rig_free(rig);
}

/*
 * What stood still somewhere on the ring comes all at once, heartbeats among
 * it: that an old life was heard of is no sign that it is alive.
 */
static void a_burst_of_leftovers_is_no_life(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_frame left = old_life(1002, 5, 0xaa), now = old_life(9000, 1, 0x55);
	struct rfm_frame beat = { .type = RFM_FRAME_HEARTBEAT, .source = 3, .hops = 1 };

	(void)state;
	rig_inject(rig, 0, &left);
	rig_settle(rig);
	rig_inject(rig, 0, &now);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].memory[0], 0x55);
	rig_advance(rig, RFM_NODE_SILENCE_NS + 1000 * MS);
	beat.incarnation = 1002;
	for (beat.seq = 5; beat.seq < 8; beat.seq++) {
		rig_inject(rig, 0, &beat);
		left.seq = beat.seq + 1;
		rig_inject(rig, 0, &left);
	}
	rig_settle(rig);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig->peers[i].memory[0], 0x55);
	now.seq = 2;
	now.data[0] = 0x66;
	rig_inject(rig, 0, &now);
	rig_settle(rig);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig->peers[i].memory[0], 0x66);
	rig_free(rig);
}

/*
 * Peers 0 and 2 of four have the same id. The one that came later leaves, with
 * a word to its owner, and goes on forwarding; the other is not disturbed.
 */
static void the_later_of_two_namesakes_leaves(void **state)
{
	struct rig *rig = rig_new(4, 1);

	(void)state;
	rig_start(rig, 2, 1, RIG_MEMORY, 5000);
	rig_store32(rig, 0, 0, 1);
	rig_connect(rig, 1);
	rig_connect(rig, 2);
	for (uint32_t i = 2; i < 50; i++) {
		rig_store32(rig, 0, 0, i);
		for (int at = 0; at < 4; at++) {
			rig_pull(rig, at, 1);
			rig_deliver(rig, at);
		}
	}
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 2), RFM_NODE_DUPLICATE_ID | RFM_NODE_SYNC_LOSS);
	assert_false(rfm_node_signal(&rig->peers[2].node));
	assert_int_equal(rig_status(rig, 0) & RFM_NODE_DUPLICATE_ID, 0);

	/* It tells nobody of damage any more, but counts it. */
	rig_store32(rig, 1, 12, 1);
	rig_pull(rig, 1, 1);
	rig_damage(rig, 1);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 2), 0);
	assert_int_equal(rig_stats(rig, 2).bad, 1);

	rig_store32(rig, 0, 4, 7);
	rig_store32(rig, 2, 8, 8);	/* reaches nobody */
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 0), 49);
	assert_int_equal(rig_load32(rig, 3, 0), 49);
	assert_int_equal(rig_load32(rig, 3, 4), 7);	/* through the one that left */
	assert_int_equal(rig_load32(rig, 3, 8), 0);
	assert_int_equal(rig_stats(rig, 2).dark, 1);
	rig_assert_books_closed(rig, 0);
	assert_int_equal(rig_stats(rig, 1).missed + rig_stats(rig, 1).late, 0);
	assert_int_equal(rig_stats(rig, 3).missed + rig_stats(rig, 3).late, 0);

	/* With its laser off, what it was about to pass on stays. */
	rig_store32(rig, 0, 4, 8);
	rig_pull(rig, 0, 1);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 1);
	rig_deliver(rig, 1);
	rfm_node_set_optics(&rig->peers[2].node, true, false, false, rig->now);
	assert_false(rig_pull(rig, 2, 1));
	rig_free(rig);
}

/* Even if the later one has stored at once, before it could be told. */
static void a_hasty_namesake_does_not_silence_the_first(void **state)
{
	struct rig *rig = rig_new(4, 1);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	rig_start(rig, 2, 1, RIG_MEMORY, 5000);
	rig_connect(rig, 1);
	rig_connect(rig, 2);
	for (int i = 0; i < 5; i++)
		rig_store32(rig, 2, 8, i);
	rig_settle(rig);
	assert_true(rig_status(rig, 2) & RFM_NODE_DUPLICATE_ID);
	rig_store32(rig, 0, 4, 7);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 4), 7);
	assert_int_equal(rig_load32(rig, 3, 4), 7);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* --- members -------------------------------------------------------------- */

/* Who has spoken is known, with its distance; nobody knows of himself. */
static void neighbours_and_their_distance(void **state)
{
	struct rig *rig = rig_new(4, 10);

	(void)state;
	for (int at = 0; at < 4; at++) {
		for (int of = 0; of < 4; of++) {
			const struct rfm_source *source = &rig->peers[at].node.sources[10 + of];

			assert_int_equal(source->present, at != of);
			if (at != of)
				assert_int_equal(source->hops, (at - of + 4) % 4);
		}
		assert_false(rig->peers[at].node.sources[77].present);
	}
	/* What came from each is counted apart. */
	rig_store32(rig, 0, 0, 1);
	rig_interrupt(rig, 0, 11, 1, 1);
	rig_store32(rig, 2, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].node.sources[10].received, 2);
	assert_int_equal(rig->peers[1].node.sources[12].received, 1);
	assert_int_equal(rig->peers[1].node.sources[13].received, 0);
	rig_free(rig);
}

static void who_stands_still_says_so(void **state)
{
	struct rig *rig = rig_new(3, 10);

	(void)state;
	for (int still = 1; still >= 0; still--) {
		rfm_node_set_paused(&rig->peers[1].node, still);
		rig_advance(rig, 600 * MS);
		rig_settle(rig);
		for (int at = 0; at < 3; at++)
			for (int of = 0; of < 3; of++)
				assert_int_equal(rig->peers[at].node.sources[10 + of].paused,
						 still && of == 1 && at != of);
	}
	rig_free(rig);
}

static void what_is_missed_is_missed_of_somebody(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame;

	(void)state;
	for (int i = 0; i < 5; i++) {
		rig_store32(rig, 0, 0, i);
		rig_store32(rig, 2, 4, i);
		rig_pull(rig, 0, 1);
		if (i % 2)
			assert_true(rig_drop(rig, 0, &frame));
		rig_settle(rig);
	}
	assert_int_equal(rig->peers[1].node.sources[1].missed, 2);
	assert_int_equal(rig->peers[1].node.sources[1].received, 3);
	assert_int_equal(rig->peers[1].node.sources[3].missed, 0);
	assert_int_equal(rig->peers[1].node.sources[3].received, 5);
	rig_free(rig);
}

/* The epoch counts each who comes, goes, comes back, or begins a new life. */
static void the_epoch_counts_comings_and_goings(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[0];
	struct rfm_frame visitor = {
		.type = RFM_FRAME_HEARTBEAT, .source = 77, .incarnation = 5, .hops = 1,
	};
	uint64_t epochs;

	(void)state;
	rig_advance(rig, 1000 * MS);
	epochs = peer->epoch_count;
	assert_int_equal(peer->node.epoch, epochs);
	rig_inject(rig, 1, &visitor);
	rig_settle(rig);
	assert_true(peer->node.sources[77].present);
	assert_int_equal(peer->epoch_count, epochs + 1);
	epochs = peer->epoch_count;
	rig_advance(rig, RFM_NODE_SILENCE_NS - 100 * MS);
	assert_true(peer->node.sources[77].present);
	assert_int_equal(peer->epoch_count, epochs);	/* the quiet one counts, and nobody else left */
	rig_advance(rig, RFM_NODE_HEARTBEAT_NS + 100 * MS);
	assert_false(peer->node.sources[77].present);
	assert_int_equal(peer->epoch_count, epochs + 1);
	rig_inject(rig, 1, &visitor);
	rig_settle(rig);
	assert_true(peer->node.sources[77].present);
	assert_int_equal(peer->epoch_count, epochs + 2);
	visitor.incarnation = 6;
	visitor.type = RFM_FRAME_DATA;
	visitor.seq = 1;
	visitor.length = 4;
	rig_inject(rig, 1, &visitor);
	rig_settle(rig);
	assert_int_equal(peer->epoch_count, epochs + 3);
	assert_int_equal(peer->node.epoch, peer->epoch_count);
	assert_true(peer->node.sources[2].present);
	rig_free(rig);
}

/* Its host gave it no time for so long, and what the others said meanwhile comes behind. */
static void who_stood_still_has_missed_nobody(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[0];
	uint64_t epochs;

	(void)state;
	rig_advance(rig, 1000 * MS);
	epochs = peer->epoch_count;
	rig->now += 10 * RFM_NODE_SILENCE_NS;
	rfm_node_tick(&peer->node, rig->now);
	assert_true(peer->node.sources[2].present);
	rig_settle(rig);
	assert_int_equal(peer->epoch_count, epochs);
	/* It does miss who stays away. */
	rig_disconnect(rig, 1);
	for (int ms = 0; ms < 3000; ms += 100) {
		rig->now += 100 * MS;
		rfm_node_tick(&peer->node, rig->now);
	}
	assert_false(peer->node.sources[2].present);
	rig_free(rig);
}

static void a_break_is_a_change_of_members_too(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint32_t epoch = rig->peers[0].node.epoch;

	(void)state;
	rig_disconnect(rig, 2);
	assert_int_equal(rig->peers[0].node.epoch, epoch + 1);
	rig_connect(rig, 2);
	assert_int_equal(rig->peers[0].node.epoch, epoch + 2);
	rig_settle(rig);
	/* Whoever is cut off for long has gone, and comes back. */
	rig_disconnect(rig, 1);
	rig_advance(rig, RFM_NODE_SILENCE_NS + 1000 * MS);
	assert_false(rig->peers[2].node.sources[1].present);
	assert_false(rig->peers[2].node.sources[2].present);
	rig_connect(rig, 1);
	rig_advance(rig, 1000 * MS);
	for (int at = 0; at < 3; at++)
		for (int of = 0; of < 3; of++)
			assert_int_equal(rig->peers[at].node.sources[1 + of].present, at != of);
	rig_free(rig);
}

static void rejoining_is_seen_by_the_others(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint32_t epoch = rig->peers[1].node.epoch;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	rfm_node_rejoin(&rig->peers[0].node, 9000, rig->now);
	rig_settle(rig);
	rig_store32(rig, 0, 0, 2);
	rig_settle(rig);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig_load32(rig, i, 0), 2);
		assert_int_equal(rig_stats(rig, i).received, 2);
		assert_int_equal(rig_stats(rig, i).missed + rig_stats(rig, i).late, 0);
		assert_true(rig->peers[i].node.sources[1].present);
		assert_true(rig->peers[i].node.sources[1].current.incarnation == 9000);
	}
	assert_int_equal(rig->peers[1].node.epoch, epoch + 1);
	rig_free(rig);
}

/*
 * What a machine has counted goes with it to another node: what was held back for it is lost, and
 * what others have made meanwhile is missed, each once.
 */
static void books_go_on_elsewhere(void **state)
{
	static struct rfm_node_past past;
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[0].node;
	struct rfm_node_stats stats;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_store32(rig, 1, 4, 2);
	rig_settle(rig);
	rfm_node_set_paused(node, true);
	rig_store32(rig, 1, 8, 3);
	rig_settle(rig);
	rig_store32(rig, 0, 0, 4);		/* does not come home */
	rfm_node_save(node, &past);
	assert_int_equal(past.held, 1);
	assert_int_equal(past.stats.received, 1);
	assert_int_equal(past.sources[2].received, 1);
	assert_int_equal(past.sources[2].current.seq, 2);
	assert_int_equal(past.stats.stores, 2);
	assert_int_equal(past.stats.sent, 2);
	assert_int_equal(past.stats.lost, 1);
	assert_true(rfm_node_past_is_sound(&past));

	rig_disconnect(rig, 0);
	rig_disconnect(rig, 2);
	rig_store32(rig, 1, 12, 5);
	rig_store32(rig, 1, 16, 6);
	rig_start(rig, 0, 1, RIG_MEMORY, 0);
	rfm_node_load(node, &past);
	rfm_node_rejoin(node, 9000, rig->now);
	rig_join(rig, 0);
	rig_advance(rig, RFM_NODE_HEARTBEAT_NS);
	rig_store32(rig, 1, 20, 7);
	rig_store32(rig, 0, 24, 8);
	rig_settle(rig);
	stats = rig_stats(rig, 0);
	assert_int_equal(stats.received, 2);
	assert_int_equal(stats.missed, 2);
	assert_int_equal(node->sources[2].received, 2);
	assert_int_equal(node->sources[2].missed, 2);
	assert_int_equal(rig->peers[0].missed.count, 2);
	assert_int_equal(stats.stores, 3);
	assert_int_equal(stats.home, 2);
	rig_assert_books_closed(rig, 0);
	rig_free(rig);
}

/* Books that no node has kept are told from those that one has. */
static void false_books(void **state)
{
	static struct rfm_node_past past;
	struct rig *rig = rig_new(2, 1);
	struct {
		uint64_t *count, more;
	} wrongs[] = {
		{ &past.stats.sent, 1 }, { &past.stats.home, 1 }, { &past.stats.home, -1ull },
		{ &past.stats.lost, 1 }, { &past.stats.received, 1 }, { &past.stats.missed, 1 },
		{ &past.sources[9].received, 1 }, { &past.sources[9].missed, -1ull },
		{ &past.stats.tx_peak, RFM_NODE_TX_SLOTS }, { &past.stats.tx_peak, 1ull << 32 },
		{ &past.stats.insert_peak, 2 * RFM_INSERT_SLOTS },
		{ &past.stats.insert_peak, 1ull << 32 },
	};

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_store32(rig, 1, 4, 2);
	rig_settle(rig);
	rfm_node_save(&rig->peers[0].node, &past);
	for (unsigned int i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		assert_true(rfm_node_past_is_sound(&past));
		*wrongs[i].count += wrongs[i].more;
		assert_false(rfm_node_past_is_sound(&past));
		*wrongs[i].count -= wrongs[i].more;
	}
	/* What is false twice may look right in sum, but not this. */
	past.stats.home = past.stats.sent + 1;
	past.stats.lost = past.stats.sent - past.stats.home;
	assert_false(rfm_node_past_is_sound(&past));
	rig_free(rig);
}

/* A machine that goes back takes its books back, too: what came since then is missed. */
static void books_go_back(void **state)
{
	static struct rfm_node_past past;
	struct rig *rig = rig_new(2, 1);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	rig_store32(rig, 1, 0, 1);
	rig_settle(rig);
	rfm_node_save(node, &past);
	rig_store32(rig, 1, 4, 2);
	rig_store32(rig, 0, 8, 3);
	rig_settle(rig);
	rfm_node_set_paused(node, true);
	rig_store32(rig, 1, 12, 4);
	rig_settle(rig);
	rfm_node_load(node, &past);
	rfm_node_rejoin(node, 9000, rig->now);
	rfm_node_set_paused(node, false);
	assert_int_equal(rig_stats(rig, 0).received, 1);
	assert_int_equal(rig_stats(rig, 0).sent, 0);
	assert_int_equal(rig_stats(rig, 0).held_lost, 0);
	rig_advance(rig, RFM_NODE_HEARTBEAT_NS);
	assert_int_equal(rig_stats(rig, 0).received, 1);
	assert_int_equal(rig_stats(rig, 0).missed, 2);
	rig_store32(rig, 0, 16, 5);
	rig_settle(rig);
	rig_assert_books_closed(rig, 0);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	rig_free(rig);
}

/* --- break notices -------------------------------------------------------- */

/* The one that lost its signal tells all behind it, once, and says nothing else. */
static void who_lost_its_signal_says_so(void **state)
{
	struct rig *rig = rig_new(4, 11);
	struct rfm_frame frame;

	(void)state;
	for (int i = 0; i < 3; i++)
		rig_store32(rig, 2, 0, i);
	rig_settle(rig);
	for (int i = 0; i < 4; i++)
		rig_status(rig, i);
	rig_disconnect(rig, 1);
	rig_pull(rig, 2, 10);
	assert_int_equal(rig_in_flight(rig, 2), 1);
	assert_true(rig_drop(rig, 2, &frame));
	assert_int_equal(frame.type, RFM_FRAME_BREAK);
	assert_int_equal(frame.source, 13);
	assert_int_equal(frame.seq, 3);
	rig_inject(rig, 2, &frame);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 2), RFM_NODE_SYNC_LOSS);
	for (int i = 3; i != 2; i = rig_next(rig, i)) {
		assert_int_equal(rig_status(rig, i), RFM_NODE_BREAK);
		assert_int_equal(rig->peers[i].node.break_at, 13);
		assert_true(rig->peers[i].node.sources[13].broke);
		assert_int_equal(rig->peers[i].node.sources[11].broke, 0);
	}
	for (int ms = 0; ms < 3000; ms += 100) {
		rig->now += 100 * MS;
		rfm_node_tick(&rig->peers[2].node, rig->now);
		assert_false(rig_pull(rig, 2, 1));
	}
	/* It heals, and breaks somewhere else. */
	rig_connect(rig, 1);
	rig_settle(rig);
	rig_disconnect(rig, 3);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_SYNC_LOSS);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(rig_status(rig, i), RFM_NODE_BREAK);
		assert_int_equal(rig->peers[i].node.break_at, 11);
	}
	rig_free(rig);
}

/* A notice speaks for the frames before it: what they lost counts at once. */
static void a_break_notice_tells_the_last_number(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame;

	(void)state;
	for (int i = 0; i < 4; i++)
		rig_store32(rig, 1, 0, i);
	rig_pull(rig, 1, 4);
	while (rig_drop(rig, 1, &frame))
		;
	rig_disconnect(rig, 0);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 2).missed, 4);
	assert_int_equal(rig_stats(rig, 0).missed, 4);
	rig_free(rig);
}

/* A card whose transmitter is off, or that is in loopback, opens the ring for the next one. */
static void darkness_of_ones_own_making_is_told_downstream(void **state)
{
	for (int loopback = 0; loopback < 2; loopback++) {
		struct rig *rig = rig_new(3, 1);

		(void)state;
		rfm_node_set_optics(&rig->peers[0].node, !loopback, loopback, false, rig->now);
		rig_connect(rig, 0);		/* as the link tells it: no light */
		rig_settle(rig);
		assert_int_equal(rig_status(rig, 0), loopback ? 0 : RFM_NODE_BREAK);
		assert_int_equal(rig_status(rig, 1), RFM_NODE_SYNC_LOSS);
		assert_int_equal(rig_status(rig, 2), RFM_NODE_BREAK);
		assert_int_equal(rig->peers[2].node.break_at, 2);
		rig_free(rig);
	}
}

/* --- two with one id, as on glass ----------------------------------------- */

static void namesakes_stay_where_that_is_wanted(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rfm_node_config twin = rig_config(1, 5000);
	struct rig *rig;

	(void)state;
	like.authentic_ids = like.authentic_late = true;
	twin.authentic_ids = twin.authentic_late = true;
	rig = rig_new_like(4, 1, &like);
	rig_start_as(rig, 2, &twin);
	rig_join(rig, 2);
	for (uint32_t i = 0; i < 10; i++) {
		rig_store32(rig, 0, 0, 100 + i);
		rig_store32(rig, 2, 4, 200 + i);
		rig_settle(rig);
		rig_advance(rig, 300 * MS);
		for (int at = 1; at < 4; at += 2) {
			assert_int_equal(rig_load32(rig, at, 0), 100 + i);
			assert_int_equal(rig_load32(rig, at, 4), 200 + i);
		}
	}
	for (int i = 0; i < 4; i += 2) {
		assert_true(rfm_node_signal(&rig->peers[i].node));
		assert_int_equal(rig_status(rig, i) & RFM_NODE_DUPLICATE_ID, 0);
		/* The later one does not store what the earlier one does, which is told. */
		assert_int_equal(rig_stats(rig, i).home, i ? 10 : 0);
		assert_int_equal(rig_stats(rig, i).lost, i ? 0 : 10);
		rig_assert_books_closed(rig, i);
	}
	rig_free(rig);
}

/* Whenever they have come: so that many heartbeats pass at a time. */
static void all_beat_together(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_advance(rig, 250 * MS);
	rig_start(rig, 1, 2, RIG_MEMORY, 9000);
	rig_join(rig, 1);
	rig_store32(rig, 1, 0, 1);
	rig_advance(rig, 2 * RFM_NODE_HEARTBEAT_NS);
	assert_int_equal(rig->peers[2].node.sources[2].heard, rig->peers[2].node.sources[1].heard);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leftovers_of_a_former_life),
		cmocka_unit_test(rejoin_under_a_new_incarnation),
		cmocka_unit_test(a_life_with_an_earlier_clock_is_heard_in_the_end),
		cmocka_unit_test(leftovers_of_two_lives_are_no_life),
		cmocka_unit_test(a_burst_of_leftovers_is_no_life),
		cmocka_unit_test(the_later_of_two_namesakes_leaves),
		cmocka_unit_test(a_hasty_namesake_does_not_silence_the_first),
		cmocka_unit_test(neighbours_and_their_distance),
		cmocka_unit_test(who_stands_still_says_so),
		cmocka_unit_test(what_is_missed_is_missed_of_somebody),
		cmocka_unit_test(the_epoch_counts_comings_and_goings),
		cmocka_unit_test(who_stood_still_has_missed_nobody),
		cmocka_unit_test(a_break_is_a_change_of_members_too),
		cmocka_unit_test(rejoining_is_seen_by_the_others),
		cmocka_unit_test(books_go_on_elsewhere),
		cmocka_unit_test(false_books),
		cmocka_unit_test(books_go_back),
		cmocka_unit_test(who_lost_its_signal_says_so),
		cmocka_unit_test(a_break_notice_tells_the_last_number),
		cmocka_unit_test(darkness_of_ones_own_making_is_told_downstream),
		cmocka_unit_test(namesakes_stay_where_that_is_wanted),
		cmocka_unit_test(all_beat_together),
	};

	return cmocka_run_group_tests_name("node_member", tests, NULL, NULL);
}
