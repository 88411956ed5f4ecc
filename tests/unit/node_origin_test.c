// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * What a node's owner learns beside the bytes: where an update comes from and
 * when it came, what is missing, how long frames travel, how much passes, and
 * when the signal is back.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <stdlib.h>

#include "ring/wire.h"

static const struct rig_stored *last_stored(const struct rig *rig, int at)
{
	assert_true(rig->peers[at].stored_count);
	return &rig->peers[at].stored[rig->peers[at].stored_count - 1];
}

/* Frames that have left @from go on to the next peer, and no further. */
static void pass(struct rig *rig, int from)
{
	rig_pull(rig, from, 64);
	while (rig_deliver(rig, from))
		;
}

/* --- where an update comes from ------------------------------------------- */

static void an_update_says_who_and_when(void **state)
{
	struct rig *rig = rig_new(3, 7);
	struct rfm_origin origin;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		uint64_t stored_at = rig->now;

		rig_store32(rig, 0, 64, i);
		rig->now += 3 * MS;
		pass(rig, 0);
		origin = last_stored(rig, 1)->origin;
		assert_int_equal(origin.node, 7);
		assert_true(origin.same_clock);
		assert_int_equal(origin.clock_domain, 1);
		assert_int_equal(origin.seq, i);
		assert_int_equal(origin.time_ns, stored_at);
		assert_int_equal(origin.arrival_ns, stored_at + 3 * MS);
		rig->now += 2 * MS;
		pass(rig, 1);
		origin = last_stored(rig, 2)->origin;
		assert_int_equal(origin.node, 7);
		assert_int_equal(origin.seq, i);
		assert_int_equal(origin.time_ns, stored_at);
		assert_int_equal(origin.arrival_ns, stored_at + 5 * MS);
		rig_settle(rig);
	}
	rig_free(rig);
}

static void a_clock_of_another_host_is_told(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_node_config far = rig_config(2, 5000);
	struct rfm_origin origin;

	(void)state;
	far.clock_domain = 0xabcd;
	rig_disconnect(rig, 0);
	rig_disconnect(rig, 1);
	rig_start_as(rig, 1, &far);
	rig_join(rig, 1);
	rig_store32(rig, 1, 0, 1);
	rig_store32(rig, 0, 4, 1);
	rig_settle(rig);
	origin = last_stored(rig, 0)->origin;
	assert_false(origin.same_clock);
	assert_int_equal(origin.clock_domain, 0xabcd);
	assert_int_equal(origin.time_ns, rig->now);
	origin = last_stored(rig, 1)->origin;
	assert_false(origin.same_clock);
	assert_int_equal(origin.clock_domain, 1);
	rig_free(rig);
}

/* What was held back came when it came, not when the node went on. */
static void a_held_update_keeps_its_time_of_arrival(void **state)
{
	struct rig *rig = rig_new(2, 1);
	uint64_t begin = rig->now;

	(void)state;
	rfm_node_set_paused(&rig->peers[1].node, true);
	for (uint32_t i = 0; i < 5; i++) {
		rig_store32(rig, 0, 4 * i, i);
		rig->now += 10 * MS;
		rig_settle(rig);
	}
	assert_int_equal(rig->peers[1].stored_count, 0);
	rig_advance(rig, 1000 * MS);
	rfm_node_set_paused(&rig->peers[1].node, false);
	assert_int_equal(rig->peers[1].stored_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		const struct rfm_origin *origin = &rig->peers[1].stored[i].origin;

		assert_int_equal(origin->node, 1);
		assert_int_equal(origin->seq, i + 1);
		assert_int_equal(origin->time_ns, begin + i * 10 * MS);
		assert_int_equal(origin->arrival_ns, begin + (i + 1) * 10 * MS);
	}
	rig_free(rig);
}

/* Two pieces of one frame, and two stores in one, have one origin. */
static void pieces_of_a_frame_have_one_origin(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rig *rig;

	(void)state;
	like.unpacked = false;
	like.memory_size = RFM_RING_SPACE;
	rig = rig_new_like(2, 1, &like);
	rig->lazy = true;
	rig_store(rig, 0, 60, "first", 5);
	rig_store(rig, 0, 65, "second", 6);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 1);
	assert_int_equal(last_stored(rig, 1)->len, 11);
	assert_int_equal(last_stored(rig, 1)->origin.seq, 1);

	/* The receiver's address offset wraps inside it. */
	rfm_node_set_address_offset(&rig->peers[1].node, 66);
	rig_store(rig, 0, 60, "0123456789ab", 12);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 3);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig->peers[1].stored[i].len, 6);
		assert_int_equal(rig->peers[1].stored[i].origin.seq, 2);
		assert_int_equal(rig->peers[1].stored[i].origin.node, 1);
	}
	rig_free(rig);
}

/* --- what is missing ------------------------------------------------------ */

static struct rfm_frame news(uint64_t seq)
{
	return (struct rfm_frame){
		.type = RFM_FRAME_DATA, .source = 77, .incarnation = 5, .seq = seq, .hops = 1,
		.length = 4,
	};
}

/* @missed of peer 1 is all that was told since the last call. */
static void assert_missed(struct rig *rig, uint64_t count, uint64_t before, uint64_t after)
{
	struct rig_peer *peer = &rig->peers[1];

	assert_int_equal(peer->missed_count, 1);
	assert_int_equal(peer->missed.source, 77);
	assert_int_equal(peer->missed.count, count);
	assert_int_equal(peer->missed.seq, before);
	assert_int_equal(peer->missed.after, after);
	peer->missed_count = 0;
}

static void inject(struct rig *rig, const struct rfm_frame *frame)
{
	rig_inject(rig, 0, frame);
	rig_deliver(rig, 0);
}

static void what_is_missing_is_told_before_what_comes(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_frame frame = news(10);

	(void)state;
	inject(rig, &frame);			/* the first meeting: nothing before it is ours */
	frame = news(11);
	inject(rig, &frame);
	inject(rig, &frame);			/* late */
	assert_int_equal(rig->peers[1].missed_count, 0);
	frame = news(15);
	inject(rig, &frame);
	assert_missed(rig, 3, 15, 2);
	assert_int_equal(rig->peers[1].stored_count, 3);

	/* A notice is no number: all up to its own are missing, the next one is not. */
	frame = news(15);
	frame.type = RFM_FRAME_HEARTBEAT;
	frame.length = 0;
	inject(rig, &frame);
	assert_int_equal(rig->peers[1].missed_count, 0);
	frame.seq = 17;
	inject(rig, &frame);
	assert_missed(rig, 2, 18, 3);
	frame = news(18);
	inject(rig, &frame);
	assert_int_equal(rig->peers[1].missed_count, 0);

	/* A paused node is told at once. */
	rfm_node_set_paused(&rig->peers[1].node, true);
	frame = news(20);
	inject(rig, &frame);
	assert_missed(rig, 1, 20, 4);
	rfm_node_set_paused(&rig->peers[1].node, false);
	assert_int_equal(rig->peers[1].missed_count, 0);

	/* What is missing of another life is not known. */
	frame = news(100);
	frame.incarnation = 6;
	inject(rig, &frame);
	assert_int_equal(rig->peers[1].missed_count, 0);
	assert_int_equal(rig_stats(rig, 1).missed, 3 + 2 + 1);
	assert_int_equal(rig->peers[1].node.sources[77].missed, 3 + 2 + 1);
	rig_free(rig);
}

static void nothing(void *opaque)
{
	(void)opaque;
}

static void no_status(void *opaque, unsigned int what)
{
	(void)opaque, (void)what;
}

static void count_store(void *opaque, uint32_t offset, const void *data, unsigned int len,
			const struct rfm_origin *origin)
{
	(void)offset, (void)data, (void)len, (void)origin;
	++*(unsigned int *)opaque;
}

/* An owner need not hear of it; it is counted all the same. */
static void nobody_has_to_listen(void **state)
{
	static const struct rfm_node_ops ops = {
		.apply = count_store, .status = no_status, .kick = nothing, .room = nothing,
	};
	struct rfm_node_config config = rig_config(1, 1);
	struct rfm_node *node = malloc(sizeof(*node));
	unsigned int stores = 0;
	uint8_t wire[RFM_FRAME_MAX];

	(void)state;
	assert_int_equal(rfm_node_init(node, &config, &ops, &stores, 0), 0);
	for (uint64_t seq = 1; seq < 10; seq += 4) {
		struct rfm_frame frame = news(seq);

		rfm_node_receive(node, wire, rfm_frame_encode(&frame, wire), 0);
	}
	assert_int_equal(stores, 3);
	assert_int_equal(rfm_node_read_stats(node).missed, 6);
	rfm_node_destroy(node);
	free(node);
}

/* --- how long frames travel ----------------------------------------------- */

static void the_transit_of_a_source_is_that_of_its_last_frame(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame = news(1);
	struct rfm_source *source = &rig->peers[1].node.sources[1];

	(void)state;
	assert_int_equal(source->clock_domain, 1);
	assert_int_equal(source->transit_ns, 1);	/* no time at all, but known */
	rig_store32(rig, 0, 0, 1);
	rig->now += 4 * MS;
	pass(rig, 0);
	assert_int_equal(source->transit_ns, 4 * MS);
	rig->now += 3 * MS;
	pass(rig, 1);
	assert_int_equal(rig->peers[2].node.sources[1].transit_ns, 7 * MS);
	assert_int_equal(source->transit_ns, 4 * MS);
	/* A notice is a frame as well. */
	rig_settle(rig);
	rig->now += 600 * MS;
	rfm_node_tick(&rig->peers[0].node, rig->now);
	rig->now += 2 * MS;
	pass(rig, 0);
	assert_int_equal(source->transit_ns, 2 * MS);

	/* Of another clock domain nothing is known; nor of the time before its time. */
	source = &rig->peers[1].node.sources[77];
	frame.clock_domain = 9;
	frame.time_ns = rig->now - MS;
	inject(rig, &frame);
	assert_int_equal(source->transit_ns, 0);
	assert_int_equal(source->clock_domain, 9);
	frame = news(2);
	frame.clock_domain = 1;
	frame.time_ns = rig->now + 1;
	inject(rig, &frame);
	assert_int_equal(source->transit_ns, 1);
	assert_int_equal(source->clock_domain, 1);
	rig_free(rig);
}

static void a_turn_is_as_long_as_the_last_heartbeat_took(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[0].node;
	struct rfm_node fresh;
	struct rfm_node_config config = rig_config(1, 1);

	(void)state;
	assert_int_equal(rfm_node_init(&fresh, &config, rig->peers[0].node.ops, &rig->peers[0], 0),
			 0);
	assert_int_equal(fresh.turn_ns, 0);
	rfm_node_destroy(&fresh);
	assert_int_equal(node->turn_ns, 1);
	rig->now += 600 * MS;
	rfm_node_tick(node, rig->now);
	for (int i = 0; i < 3; i++) {
		rig->now += (i + 1) * MS;
		assert_int_equal(node->turn_ns, 1);
		pass(rig, i);
	}
	assert_int_equal(node->turn_ns, 6 * MS);
	/* An update has perhaps waited for credit: it says nothing about the ring. */
	rig_store32(rig, 0, 0, 1);
	rig->now += 9 * MS;
	rig_settle(rig);
	assert_int_equal(node->turn_ns, 6 * MS);
	rfm_node_rejoin(node, 99999, rig->now);
	assert_int_equal(node->turn_ns, 0);
	rig_settle(rig);
	assert_int_equal(node->turn_ns, 1);
	/* On a ring that is open behind it none comes home: the last one tells of a ring that was. */
	rig->now += RFM_NODE_SILENCE_NS;
	rfm_node_tick(node, rig->now);
	assert_int_equal(node->turn_ns, 0);
	rig_settle(rig);
	assert_int_equal(node->turn_ns, 1);
	rig_free(rig);
}

/* --- how much passes ------------------------------------------------------ */

static void bytes_are_those_of_updates(void **state)
{
	(void)state;
	for (int redundant = 0; redundant < 2; redundant++) {
		struct rfm_node_config like = rig_config(0, 0);
		uint8_t data[64] = { 0 };
		struct rig *rig;
		uint64_t bytes = 0;

		like.redundant = redundant;
		rig = rig_new_like(3, 1, &like);
		for (unsigned int len = 1; len <= 64; len++) {
			rig_store(rig, 0, 0, data, len);
			bytes += len;
		}
		rig_interrupt(rig, 0, 2, 1, 5);
		rig_interrupt_set(rig, 0, (const uint8_t[RFM_NODE_SET]){ 0xff }, 1, 5);
		assert_true(rig_fence(rig, 0, 1));
		rig_settle(rig);
		assert_int_equal(rig_stats(rig, 0).sent_bytes, bytes);
		assert_int_equal(rig_stats(rig, 0).received_bytes, 0);
		assert_int_equal(rig_stats(rig, 0).forwarded_bytes, 0);
		for (int i = 1; i < 3; i++) {
			assert_int_equal(rig_stats(rig, i).sent_bytes, 0);
			assert_int_equal(rig_stats(rig, i).received_bytes, bytes);
			/* Both copies are carried, one is taken. */
			assert_int_equal(rig_stats(rig, i).forwarded_bytes,
					 bytes * (1 + redundant));
		}
		rig_free(rig);
	}
}

static void bytes_that_do_not_leave_or_arrive_do_not_count(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_frame frame;

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &frame));		/* has left, does not arrive */
	rig_store32(rig, 0, 0, 2);
	rig_pull(rig, 0, 1);
	rig_damage(rig, 0);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 0).sent_bytes, 8);
	assert_int_equal(rig_stats(rig, 1).received_bytes, 0);
	assert_int_equal(rig_stats(rig, 1).forwarded_bytes, 0);
	/* Held back is received; late is not, but it is passed on. */
	rfm_node_set_paused(&rig->peers[1].node, true);
	rig_store32(rig, 0, 0, 3);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).received_bytes, 4);
	rfm_node_set_paused(&rig->peers[1].node, false);
	rig_store32(rig, 0, 0, 4);
	rig_pull(rig, 0, 1);
	assert_true(rig_drop(rig, 0, &frame));
	rig_inject(rig, 0, &frame);
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 1).received_bytes, 8);
	assert_int_equal(rig_stats(rig, 1).forwarded_bytes, 12);
	/* The dark. */
	rig_disconnect(rig, 0);
	rig_store32(rig, 0, 0, 5);
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 0).sent_bytes, 16);
	rig_connect(rig, 0);
	rig_settle(rig);
	/* Loopback is a ring of its own. */
	rfm_node_set_optics(&rig->peers[0].node, false, true, false, rig->now);
	rig_store32(rig, 0, 0, 6);
	assert_int_equal(rig_stats(rig, 0).sent_bytes, 20);
	rig_free(rig);
}

/* --- the signal ----------------------------------------------------------- */

/* Peer 0, since the last call. */
static unsigned int told(struct rig *rig)
{
	struct rig_peer *peer = &rig->peers[0];
	unsigned int status = rig_status(rig, 0);

	assert_true(peer->signal_count <= 1);
	status |= peer->signal_count ? RFM_NODE_SIGNAL_BACK : 0;
	peer->signal_count = 0;
	return status;
}

static void the_signal_that_is_back_is_told_once(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_node *node = &rig->peers[0].node;
	struct rfm_frame frame = {
		.type = RFM_FRAME_DUPLICATE, .source = 1, .incarnation = 1, .hops = 1, .length = 8,
	};

	(void)state;
	assert_int_equal(told(rig), RFM_NODE_SIGNAL_BACK);
	rfm_node_set_light(node, true, rig->now);
	assert_int_equal(told(rig), 0);
	rfm_node_set_light(node, false, rig->now);
	assert_int_equal(told(rig), RFM_NODE_SYNC_LOSS);
	/* Loopback is light, whatever comes in. */
	rfm_node_set_optics(node, false, true, false, rig->now);
	assert_int_equal(told(rig), RFM_NODE_SIGNAL_BACK);
	rfm_node_set_light(node, true, rig->now);
	assert_int_equal(told(rig), 0);
	rfm_node_set_optics(node, false, false, false, rig->now);
	assert_int_equal(told(rig), 0);

	/* Told to leave, a node has no signal until it comes again. */
	put64(frame.data, node->config.incarnation);
	rig_inject(rig, 1, &frame);
	rig_deliver(rig, 1);
	assert_true(node->left);
	assert_int_equal(told(rig), RFM_NODE_SYNC_LOSS | RFM_NODE_DUPLICATE_ID);
	rfm_node_set_light(node, false, rig->now);
	rfm_node_set_light(node, true, rig->now);
	assert_int_equal(told(rig), 0);
	rfm_node_rejoin(node, 99999, rig->now);
	assert_int_equal(told(rig), RFM_NODE_SIGNAL_BACK);
	rfm_node_rejoin(node, 99999 + 1, rig->now);
	assert_int_equal(told(rig), 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_update_says_who_and_when),
		cmocka_unit_test(a_clock_of_another_host_is_told),
		cmocka_unit_test(a_held_update_keeps_its_time_of_arrival),
		cmocka_unit_test(pieces_of_a_frame_have_one_origin),
		cmocka_unit_test(what_is_missing_is_told_before_what_comes),
		cmocka_unit_test(nobody_has_to_listen),
		cmocka_unit_test(the_transit_of_a_source_is_that_of_its_last_frame),
		cmocka_unit_test(a_turn_is_as_long_as_the_last_heartbeat_took),
		cmocka_unit_test(bytes_are_those_of_updates),
		cmocka_unit_test(bytes_that_do_not_leave_or_arrive_do_not_count),
		cmocka_unit_test(the_signal_that_is_back_is_told_once),
	};

	return cmocka_run_group_tests_name("node_origin", tests, NULL, NULL);
}
