// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Queries: every node says what stands in its memory, once it has stored all that
 * came before, and a fence behind the query comes home behind all answers.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <string.h>

#include "ring/crc32c.h"
#include "ring/wire.h"

#define TICKET	0x1122334455667788ull

/* Node @id, one of the peers, has answered @peer once with @len bytes at @bytes. */
static void assert_answer(const struct rig *rig, int peer, uint8_t id, const void *bytes,
			  unsigned int len)
{
	const struct rfm_answer *answer = &rig->peers[peer].answers[id];
	uint8_t first[8] = { 0 };

	memcpy(first, bytes, len < 8 ? len : 8);
	assert_int_equal(rig->peers[peer].answered[id], 1);
	assert_int_equal(answer->bytes, len);
	assert_int_equal(answer->crc, rfm_crc32c(0, bytes, len));
	assert_memory_equal(answer->first, first, sizeof(first));
}

static void fill(struct rig *rig, int peer, uint64_t seed)
{
	for (int i = 0; i < RIG_MEMORY; i++)
		rig->peers[peer].memory[i] = test_random(&seed);
}

static void forget_answers(struct rig *rig)
{
	for (int i = 0; i < rig->count; i++) {
		struct rig_peer *peer = &rig->peers[i];

		memset(peer->answered, 0, sizeof(peer->answered));
		peer->answer_count = 0;
	}
}

/* Each has what was stored before and nothing that was stored later. */
static void every_node_answers_behind_the_stores(void **state)
{
	uint8_t expected[RIG_MEMORY] = { 0 };

	(void)state;
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(4, 1, &rig_modes[mode]);
		uint64_t seed = mode;

		for (int i = 0; i < 12; i++) {
			rig_store32(rig, 0, 4 * i, 100 + i);
			put32(expected + 4 * i, 100 + i);
		}
		assert_true(rig_query(rig, 0, TICKET, 0, RIG_MEMORY));
		assert_true(rig_fence(rig, 0, 1));
		rig_store32(rig, 0, 8, 7);
		while (!rig->peers[0].fence_count) {
			rig_pull(rig, test_random(&seed) % 4, 1);
			rig_deliver(rig, test_random(&seed) % 4);
			if (!(test_random(&seed) % 64))
				rig_advance(rig, 1000000);
		}
		/* The fence is home, so the answers are. */
		assert_int_equal(rig->peers[0].answer_count, 3);
		for (uint8_t id = 2; id <= 4; id++) {
			assert_answer(rig, 0, id, expected, RIG_MEMORY);
			assert_true(rig->peers[0].answers[id].ticket == TICKET);
			assert_false(rig->peers[0].answers[id].paused);
		}
		rig_settle(rig);
		rig_assert_books_closed(rig, 0);
		rig_free(rig);
	}
}

/* Of three nodes that have three contents each says its own. */
static void each_says_what_it_has(void **state)
{
	static const struct {
		uint32_t offset;
		unsigned int len;
	} ranges[] = {
		{ 0, RIG_MEMORY }, { 64, 64 }, { 4095, 1 }, { 1001, 7 }, { 16, 8 }, { 0, 9 },
	};
	struct rig *rig = rig_new(3, 1);

	(void)state;
	for (int i = 0; i < 3; i++)
		fill(rig, i, 77 + i);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		forget_answers(rig);
		rig_query(rig, 1, i, ranges[i].offset, ranges[i].len);
		rig_settle(rig);
		assert_answer(rig, 1, 1, rig->peers[0].memory + ranges[i].offset, ranges[i].len);
		assert_answer(rig, 1, 3, rig->peers[2].memory + ranges[i].offset, ranges[i].len);
		assert_int_equal(rig->peers[1].answer_count, 2);
	}
	rig_free(rig);
}

/* Nobody but who asked hears of it, it is no own data, and the books are closed. */
static void a_query_is_nothing_but_a_query(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_query(rig, 0, TICKET, 0, 64);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].answer_count, 2);
	assert_int_equal(rig_status(rig, 0), 0);
	assert_int_equal(rig->peers[0].missed_count, 0);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(rig->peers[i].stored_count + rig->peers[i].interrupt_count, 0);
		assert_int_equal(rig_status(rig, i), 0);
		assert_int_equal(rig->peers[i].answer_count, 0);
		assert_int_equal(rig->peers[i].missed_count, 0);
		assert_int_equal(rig_stats(rig, i).received, 1);
		assert_int_equal(rig_stats(rig, i).sent, 0);
	}
	rig_assert_books_closed(rig, 0);
	/* The line is quiet again. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_in_flight(rig, i), 0);
	rig_free(rig);
}

/* The asker's own answer is that of the others, if it has what they have. */
static void the_own_digest_is_like_theirs(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_answer own;

	(void)state;
	fill(rig, 0, 5);
	memcpy(rig->peers[1].memory, rig->peers[0].memory, RIG_MEMORY);
	rig_query(rig, 0, TICKET, 512, 1000);
	rig_settle(rig);
	rfm_node_digest(&rig->peers[0].node, 512, 1000, &own);
	own.ticket = TICKET;
	assert_memory_equal(&own.first, &rig->peers[0].answers[2].first, 8);
	assert_int_equal(own.crc, rig->peers[0].answers[2].crc);
	assert_int_equal(own.bytes, 1000);
	assert_answer(rig, 0, 2, rig->peers[0].memory + 512, 1000);
	rig_free(rig);
}

/* The range is one of network addresses: each subtracts the offset it has. */
static void address_offsets_count(void **state)
{
	const uint32_t step = 64u << 20;
	struct rig *rig = rig_new(3, 1);

	(void)state;
	for (int i = 0; i < 3; i++)
		fill(rig, i, 9 + i);
	/* Node 2 has the asker's offset, node 3 has none: there the range lies beyond. */
	rfm_node_set_address_offset(&rig->peers[0].node, step);
	rfm_node_set_address_offset(&rig->peers[1].node, step);
	rig_query(rig, 0, 1, 128, 256);
	rig_settle(rig);
	assert_answer(rig, 0, 2, rig->peers[1].memory + 128, 256);
	assert_answer(rig, 0, 3, "", 0);
	/* From an asker without one, node 2 is the other side of it. */
	forget_answers(rig);
	rig_query(rig, 2, 2, step + 128, 256);
	rig_settle(rig);
	assert_answer(rig, 2, 1, rig->peers[0].memory + 128, 256);
	assert_answer(rig, 2, 2, rig->peers[1].memory + 128, 256);
	rig_free(rig);
}

/* Bytes that no memory has are left out, also where the addresses wrap. */
static void what_lies_beyond_is_left_out(void **state)
{
	struct rig *rig = rig_new(2, 1);
	uint8_t both[8 + 16];

	(void)state;
	fill(rig, 1, 3);
	rig_query(rig, 0, 1, RIG_MEMORY - 5, 64);
	rig_settle(rig);
	assert_answer(rig, 0, 2, rig->peers[1].memory + RIG_MEMORY - 5, 5);

	forget_answers(rig);
	rig_query(rig, 0, 2, RFM_RING_SPACE - 8, 24);
	rig_settle(rig);
	assert_answer(rig, 0, 2, rig->peers[1].memory, 16);

	/* A memory of 256 MiB less the page that the asker sees at the end, likewise. */
	forget_answers(rig);
	rfm_node_set_address_offset(&rig->peers[1].node, RFM_RING_SPACE - RIG_MEMORY);
	rig_query(rig, 0, 3, RFM_RING_SPACE - 8, 24);
	rig_settle(rig);
	memcpy(both, rig->peers[1].memory + RIG_MEMORY - 8, 8);
	assert_answer(rig, 0, 2, both, 8);

	/* Its own offset makes the range wrap. */
	forget_answers(rig);
	rfm_node_set_address_offset(&rig->peers[1].node, 16);
	rig_query(rig, 0, 4, 8, 24);
	rig_settle(rig);
	assert_answer(rig, 0, 2, rig->peers[1].memory, 16);
	rig_free(rig);
}

/* It answers for what it has, and says that this is old. */
static void a_paused_node_says_so(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rfm_node_set_paused(&rig->peers[1].node, true);
	rig_store32(rig, 0, 0, 42);
	rig_query(rig, 0, TICKET, 0, 8);
	rig_settle(rig);
	assert_answer(rig, 0, 2, "\0\0\0\0\0\0\0", 8);
	assert_true(rig->peers[0].answers[2].paused);
	assert_answer(rig, 0, 3, "\x2a\0\0\0\0\0\0", 8);
	assert_false(rig->peers[0].answers[3].paused);
	/* The query was not held back: it is answered once. */
	rfm_node_set_paused(&rig->peers[1].node, false);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].answered[2], 1);
	forget_answers(rig);
	rig_query(rig, 0, TICKET, 0, 8);
	rig_settle(rig);
	assert_answer(rig, 0, 2, "\x2a\0\0\0\0\0\0", 8);
	assert_false(rig->peers[0].answers[2].paused);
	rig_free(rig);
}

/* With room for less than the question and the fence nothing is asked, and nothing is lost. */
static void without_room_nothing_is_asked(void **state)
{
	const struct rfm_node_config like = {
		.memory_size = RIG_MEMORY, .window = 1, .insert_slots = RFM_INSERT_SLOTS_MIN,
	};
	struct rig *rig = rig_new_like(2, 1, &like);
	struct rfm_node_stats before;

	(void)state;
	/* One leaves, and nothing more before that is home. Half of the queue is the reserve. */
	for (int i = 0; i < 1 + 2 * RFM_INSERT_SLOTS_MIN - 2; i++)
		rig_interrupt(rig, 0, 2, 1, i);
	assert_true(rig_query(rig, 0, 1, 0, 8));
	before = rig_stats(rig, 0);
	assert_false(rig_query(rig, 0, 2, 0, 8));
	rig_interrupt(rig, 0, 2, 1, 0);
	assert_false(rig_query(rig, 0, 3, 0, 8));
	assert_int_equal(rig_stats(rig, 0).stores, before.stores + 1);
	assert_int_equal(rig_stats(rig, 0).full, 0);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].answer_count, 1);
	assert_int_equal(rig->peers[0].answers[2].ticket, 1);
	assert_int_equal(rig->peers[1].missed_count, 0);
	rig_assert_books_closed(rig, 0);
	assert_true(rig_query(rig, 0, 4, 0, 8));
	rig_settle(rig);
	assert_int_equal(rig->peers[0].answers[2].ticket, 4);
	rig_free(rig);
}

/* In loopback, and in the dark, nobody hears the question. */
static void who_is_alone_gets_no_answer(void **state)
{
	struct rig *rig = rig_new(2, 1);

	(void)state;
	rfm_node_set_optics(&rig->peers[0].node, false, true, false, rig->now);
	rig_status(rig, 0);
	assert_true(rig_query(rig, 0, TICKET, 0, 8));
	assert_true(rig_fence(rig, 0, 1));
	rig_settle(rig);
	assert_int_equal(rig->peers[0].fence_count, 1);
	assert_int_equal(rig->peers[0].answer_count, 0);
	assert_int_equal(rig_status(rig, 0), 0);
	rfm_node_set_optics(&rig->peers[0].node, false, false, false, rig->now);
	rig_disconnect(rig, 1);
	/* In the dark it is lost, as a store is: that is not for want of room. */
	for (int i = 0; i < 2 * RFM_INSERT_SLOTS; i++)
		assert_true(rig_query(rig, 0, TICKET, 0, 8));
	rig_settle(rig);
	assert_int_equal(rig->peers[0].answer_count, 0);
	assert_int_equal(rig_stats(rig, 0).full, 0);
	rig_free(rig);
}

/* A query that was lost is answered by those before the place, and by nobody later. */
static void a_lost_query_is_not_made_up_for(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame;

	(void)state;
	rig_query(rig, 0, TICKET, 0, 8);
	rig_pull(rig, 0, 1);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 1);
	assert_true(rig_drop(rig, 1, &frame));
	assert_int_equal(frame.type, RFM_FRAME_QUERY);
	rig_fence(rig, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].fence.lost, 1);
	assert_int_equal(rig->peers[0].answer_count, 1);
	assert_answer(rig, 0, 2, "\0\0\0\0\0\0\0", 8);
	rig_free(rig);
}

/* A QUERY of node 3's, as it arrives at peer 1, then what comes back to peer 0. */
static void ask_as_node_3(struct rig *rig, uint64_t seq, uint32_t address, uint32_t len)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_QUERY, .source = 3, .incarnation = 33, .seq = seq,
		.hops = 1, .length = 16,
	};

	put64(frame.data, TICKET);
	put32(frame.data + 8, address);
	put32(frame.data + 12, len);
	rig_inject(rig, 0, &frame);
	rig_deliver(rig, 0);
}

/* Takes frames that peer 1 sends until there is none; returns the ANSWERs among them. */
static int count_answers(struct rig *rig)
{
	struct rfm_frame frame;
	int count = 0;

	while (rig_pull(rig, 1, 1))
		if (rig_drop(rig, 1, &frame) && frame.type == RFM_FRAME_ANSWER) {
			assert_int_equal(frame.dest, 3);
			assert_int_equal(frame.source, 2);
			count++;
		}
	return count;
}

static unsigned int loads;

static void load_and_count(void *opaque, uint32_t offset, void *data, unsigned int len)
{
	const struct rig_peer *peer = opaque;

	memcpy(data, peer->memory + offset, len);
	loads++;
}

/* Makes peer 1 have so many frames to pass on. */
static void pile_up(struct rig *rig, uint32_t count)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 77, .incarnation = 5, .length = 4, .hops = 1,
	};

	while (rfm_fifo_used(&rig->peers[1].node.transmit) < count) {
		frame.seq++;
		rig_inject(rig, 0, &frame);
		rig_deliver(rig, 0);
	}
}

/* Whose answers cannot leave does not even look at its memory. */
static void a_flood_of_queries_costs_little(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_node_ops counting = *rig->peers[1].node.ops;

	(void)state;
	counting.load = load_and_count;
	rig->peers[1].node.ops = &counting;
	loads = 0;
	ask_as_node_3(rig, 1, 0, 8);
	assert_int_equal(loads, 1);
	/* The query itself is passed on before. */
	pile_up(rig, RFM_NODE_TX_SLOTS / 2 - 1);
	ask_as_node_3(rig, 2, 0, 8);
	assert_int_equal(loads, 2);
	for (uint64_t seq = 3; seq < 100; seq++)
		ask_as_node_3(rig, seq, 0, 8);
	assert_int_equal(loads, 2);
	assert_int_equal(count_answers(rig), 2);
	/* Where there is room again there are answers again. */
	ask_as_node_3(rig, 100, 0, 8);
	assert_int_equal(loads, 3);
	assert_int_equal(count_answers(rig), 1);
	/* Nor when nothing can leave at all. */
	rig_disconnect(rig, 1);
	ask_as_node_3(rig, 101, 0, 8);
	assert_int_equal(loads, 3);
	rig_free(rig);
}

static void senseless_queries_get_no_answer(void **state)
{
	struct rig *rig = rig_new(2, 1);

	(void)state;
	ask_as_node_3(rig, 1, 0, 8);
	assert_int_equal(count_answers(rig), 1);
	ask_as_node_3(rig, 2, 0, 0);
	ask_as_node_3(rig, 3, 0, RFM_QUERY_MAX + 1);
	ask_as_node_3(rig, 4, RFM_RING_SPACE, 8);
	ask_as_node_3(rig, 5, UINT32_MAX, 8);
	ask_as_node_3(rig, 6, 0, UINT32_MAX);
	assert_int_equal(count_answers(rig), 0);
	/* One that is late has been answered. */
	ask_as_node_3(rig, 6, 0, 8);
	ask_as_node_3(rig, 1, 0, 8);
	assert_int_equal(count_answers(rig), 0);
	ask_as_node_3(rig, 7, RFM_RING_SPACE - 1, RFM_QUERY_MAX);
	assert_int_equal(count_answers(rig), 1);
	rig_free(rig);
}

/* Answers to somebody else, of a former life, and those that nobody asked for. */
static void answers_are_taken_by_whom_they_are_for(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rfm_frame frame = {
		.type = RFM_FRAME_ANSWER, .source = 3, .incarnation = 33,
		.hops = RFM_NODE_HOP_LIMIT - 1,	/* nobody is there to remove it */
		.length = 24, .dest = 2, .seq = 5,
	};
	const struct rig_peer *asker = &rig->peers[1];

	(void)state;
	put64(frame.data, TICKET);
	put32(frame.data + 8, 0xcafe0102);
	put16(frame.data + 12, 99);
	put16(frame.data + 14, 0xfffe);		/* flags that nobody knows */
	memset(frame.data + 16, 0x5a, 8);
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	assert_int_equal(asker->answered[3], 1);
	assert_true(asker->answers[3].ticket == TICKET);
	assert_int_equal(asker->answers[3].crc, 0xcafe0102);
	assert_int_equal(asker->answers[3].bytes, 99);
	assert_false(asker->answers[3].paused);
	frame.dest = 4;
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	frame.dest = 2;
	frame.incarnation = 32;
	rig_inject(rig, 0, &frame);
	rig_settle(rig);
	assert_int_equal(asker->answer_count, 1);
	assert_int_equal(rig->peers[0].answer_count, 0);
	rig_free(rig);
}

static void a_node_without_a_memory_to_show_is_silent(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node_ops mute = *rig->peers[1].node.ops;

	(void)state;
	mute.load = NULL;
	mute.answer = NULL;
	rig->peers[1].node.ops = &mute;
	rig_query(rig, 0, TICKET, 0, 8);
	rig_query(rig, 1, TICKET, 0, 8);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].answered[2], 0);
	assert_int_equal(rig->peers[0].answered[3], 1);
	assert_int_equal(rig->peers[1].answer_count, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_answers_behind_the_stores),
		cmocka_unit_test(each_says_what_it_has),
		cmocka_unit_test(a_query_is_nothing_but_a_query),
		cmocka_unit_test(the_own_digest_is_like_theirs),
		cmocka_unit_test(address_offsets_count),
		cmocka_unit_test(what_lies_beyond_is_left_out),
		cmocka_unit_test(a_paused_node_says_so),
		cmocka_unit_test(without_room_nothing_is_asked),
		cmocka_unit_test(who_is_alone_gets_no_answer),
		cmocka_unit_test(a_lost_query_is_not_made_up_for),
		cmocka_unit_test(a_flood_of_queries_costs_little),
		cmocka_unit_test(senseless_queries_get_no_answer),
		cmocka_unit_test(answers_are_taken_by_whom_they_are_for),
		cmocka_unit_test(a_node_without_a_memory_to_show_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
