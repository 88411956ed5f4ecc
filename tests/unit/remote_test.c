// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Operations at one named node: what they do there, what they say, that nothing is done twice,
 * and that each ends.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"
#include "tests/unit/remote_ask.h"

#include <string.h>

#include "ring/wire.h"

#define SECOND	(1000 * MS)

static void read_and_write_in_every_mode(void **state)
{
	static const unsigned int lengths[] = { 1, 7, 48, 49, 64, 2000, 2032, 2033, 4096 };
	uint8_t data[RIG_MEMORY], expected[RIG_MEMORY];

	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);

		rig_remote(rig);
		for (int i = 0; i < 3; i++)
			fill(rig, i, i);
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			uint64_t offset = lengths[i] == RIG_MEMORY ? 0 : 5;
			struct rfm_remote_request reads = {
				.op = RFM_REMOTE_READ, .node = 3, .offset = offset, .length = lengths[i],
				.data = data,
			}, writes = {
				.op = RFM_REMOTE_WRITE, .node = 3, .offset = offset, .length = lengths[i],
				.data = rig->peers[1].memory,
			};

			memset(data, 0xee, sizeof(data));
			assert_int_equal(ask(rig, 0, &reads), RFM_REMOTE_OK);
			assert_memory_equal(data, rig->peers[2].memory + offset, lengths[i]);
			assert_true(lengths[i] == RIG_MEMORY || data[lengths[i]] == 0xee);
			memcpy(expected, rig->peers[2].memory, sizeof(expected));
			memcpy(expected + offset, rig->peers[1].memory, lengths[i]);
			assert_int_equal(ask(rig, 0, &writes), RFM_REMOTE_OK);
			assert_memory_equal(rig->peers[2].memory, expected, sizeof(expected));
			assert_memory_not_equal(rig->peers[0].memory + offset, expected + offset, lengths[i]);
		}
		assert_int_equal(rig->peers[2].remote->stats.repeated, 0);
		rig_free(rig);
	}
}

/* The word is changed at its home, and is everywhere, here too, when the call returns. */
static void words_are_changed_at_home(void **state)
{
	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		for (unsigned int width = 4; width <= 8; width += 4) {
			struct rig *rig = rig_new_mode(4, 1, &rig_modes[mode]);
			struct rfm_remote_request cas = {
				.op = RFM_REMOTE_CAS, .node = 3, .width = width, .offset = 64,
				.compare = 0, .value = 0x1122334455667788,
			}, add = {
				.op = RFM_REMOTE_ADD, .node = 3, .width = width, .offset = 64, .value = 0x80000000,
			};
			uint64_t mask = width == 4 ? UINT32_MAX : UINT64_MAX;

			rig_remote(rig);
			assert_int_equal(ask(rig, 0, &cas), RFM_REMOTE_OK);
			assert_true(cas.old == 0);
			assert_true(get64(rig->peers[0].memory + 64) == (cas.value & mask));
			assert_int_equal(ask(rig, 1, &cas), RFM_REMOTE_OK);	/* too late */
			assert_true(cas.old == (cas.value & mask));
			assert_int_equal(ask(rig, 2, &add), RFM_REMOTE_OK);	/* at home itself */
			assert_true(add.old == (cas.value & mask));
			assert_int_equal(ask(rig, 3, &add), RFM_REMOTE_OK);
			rig_settle(rig);
			for (int i = 0; i < 4; i++)
				assert_true(get64(rig->peers[i].memory + 64) ==
					    ((cas.value + 2 * add.value) & mask));
			rig_free(rig);
		}
	}
}

static void what_cannot_be(void **state)
{
	static const struct {
		struct rfm_remote_request request;
		enum rfm_remote_result result;
	} wrong[] = {
		{ { .op = RFM_REMOTE_READ, .node = 2, .length = 1, .offset = RIG_MEMORY }, RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_WRITE, .node = 2, .length = 2, .offset = RIG_MEMORY - 1 },
		  RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_READ, .node = 2, .length = 8, .offset = UINT64_MAX - 3 },
		  RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_READ, .node = 2, .length = 1, .key = 7 }, RFM_REMOTE_DENIED },
		{ { .op = RFM_REMOTE_MERGE, .node = 2, .length = 1, .key = 7 }, RFM_REMOTE_DENIED },
		{ { .op = RFM_REMOTE_CAS, .node = 2, .width = 4, .offset = 2 }, RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_ADD, .node = 2, .width = 8, .offset = 4 }, RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_ADD, .node = 2, .width = 2, .offset = 4 }, RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_READ, .node = 9, .length = 1 }, RFM_REMOTE_NO_NODE },
		{ { .op = RFM_REMOTE_ADD, .node = 9, .width = 8 }, RFM_REMOTE_NO_NODE },
		/* The same of this node itself. */
		{ { .op = RFM_REMOTE_READ, .node = 1, .length = 1, .offset = RIG_MEMORY }, RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_CAS, .node = 1, .width = 4, .offset = 2 }, RFM_REMOTE_RANGE },
		{ { .op = RFM_REMOTE_WRITE, .node = 1, .length = 1, .key = 7 }, RFM_REMOTE_DENIED },
	};
	static uint8_t data[RIG_MEMORY], before[RIG_MEMORY];
	struct rig *rig = rig_new(3, 1);

	rig_remote(rig);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct rfm_remote_request request = wrong[i].request;

		request.data = data;
		memcpy(before, rig->peers[1].memory, sizeof(before));
		assert_int_equal(ask(rig, 0, &request), wrong[i].result);
		assert_memory_equal(before, rig->peers[1].memory, sizeof(before));
	}
	rig_free(rig);
}

/* It stands still, has no room, or goes away: who asks is told, in time, what is known. */
static void who_does_not_answer(void **state)
{
	static uint8_t data[8];
	struct rig *rig = rig_new(3, 1);
	struct rfm_remote_request reads = {
		.op = RFM_REMOTE_READ, .node = 2, .length = 8, .data = data,
	}, add = { .op = RFM_REMOTE_ADD, .node = 2, .width = 8, .value = 1 };
	uint64_t begun;

	rig_remote(rig);
	for (int how = 0; how < 2; how++) {
		if (how)
			rfm_node_set_paused(&rig->peers[1].node, true);
		else
			rig->peers[1].full = true;
		begun = rig->now;
		assert_int_equal(ask(rig, 0, &reads), RFM_REMOTE_NO_ROOM);
		assert_int_equal(ask(rig, 0, &add), RFM_REMOTE_NO_ROOM);
		assert_true(rig->now - begun <= 2 * RFM_REMOTE_PATIENCE_NS + 200 * MS);
		if (how)
			rfm_node_set_paused(&rig->peers[1].node, false);
		rig->peers[1].full = false;
		assert_int_equal(ask(rig, 0, &add), RFM_REMOTE_OK);
		assert_int_equal(add.old, how);
	}
	/* It has room again in time. */
	rig->peers[1].full = true;
	add = begin(add);
	rfm_remote_ask(rig->peers[0].remote, &add, rig->now);
	rig_advance(rig, SECOND);
	rig->peers[1].full = false;
	rig_advance(rig, 100 * MS);
	assert_int_equal(add.result, RFM_REMOTE_OK);
	assert_int_equal(add.old, 2);
	/* The ring has no room for what it changes: not in time, then in time. */
	rig->peers[1].stuck = true;
	assert_int_equal(ask(rig, 0, &add), RFM_REMOTE_WITHDRAWN);
	rfm_remote_ask(rig->peers[0].remote, &add, rig->now);
	rig_advance(rig, 3 * SECOND);
	rig->peers[1].stuck = false;
	rig->peers[1].remote_awake = true;
	rig_advance(rig, 10 * MS);
	assert_int_equal(add.result, RFM_REMOTE_OK);
	assert_int_equal(add.old, 3);
	/* The asker itself goes dark; then the ring is cut behind the other one. */
	rig_disconnect(rig, 2);
	assert_int_equal(ask(rig, 0, &reads), RFM_REMOTE_DARK);
	assert_int_equal(ask(rig, 0, &add), RFM_REMOTE_DARK);
	rig_connect(rig, 2);
	rig_settle(rig);
	rig->peers[1].cut = true;
	begun = rig->now;
	assert_int_equal(ask(rig, 0, &add), RFM_REMOTE_UNKNOWN);
	assert_true(rig->now - begun <= RFM_REMOTE_PATIENCE_NS + 200 * MS);
	assert_int_equal(get64(rig->peers[1].memory), 5);
	rig_free(rig);
}

/* The ring has no room at all for the one that is asked. */
static void without_room(bool in_time)
{
	unsigned int before = ended;
	static uint8_t data[8];
	struct rig *rig = rig_new(2, 1);
	struct rfm_remote_request reads = begin((struct rfm_remote_request){
		.op = RFM_REMOTE_READ, .node = 2, .length = 8, .data = data,
	}), add = begin((struct rfm_remote_request){
		.op = RFM_REMOTE_ADD, .node = 2, .width = 8, .offset = 64, .value = 1,
	});
	struct rig_peer *home = &rig->peers[1];

	rig_remote(rig);
	rig->lazy = true;
	rfm_remote_ask(rig->peers[0].remote, &reads, rig->now);
	rfm_remote_ask(rig->peers[0].remote, &add, rig->now);
	rig_run_remote(rig, 0);
	rig_pull(rig, 0, 2);
	rig_deliver(rig, 0);
	rig_deliver(rig, 0);
	while (rfm_node_may_store(&home->node))
		rig_store32(rig, 1, 128, 1);
	assert_int_equal(rfm_remote_run(home->remote, rig->now), rig->now + SECOND);
	if (in_time)		/* there is room again just then */
		rig_pull(rig, 1, RFM_NODE_WINDOW);
	rig->now += SECOND;
	rfm_remote_run(home->remote, rig->now);
	assert_int_equal(get64(home->memory + 64), in_time);
	for (int i = 0; i < RFM_REMOTE_ANSWERS; i++)
		assert_int_equal(home->remote->answers[i].used && !home->remote->answers[i].sent, 0);
	rig->lazy = false;
	rig_advance(rig, SECOND);
	assert_int_equal(ended, before + 2);
	assert_int_equal(reads.result, RFM_REMOTE_OK);
	assert_int_equal(add.result, RFM_REMOTE_OK);
	assert_int_equal(get64(home->memory + 64), 1);
	rig_free(rig);
}

static void a_home_without_room(void **state)
{
	without_room(true);
	without_room(false);
}

/* A later life of the node does not know what the former one has done. */
static void a_new_life_does_nothing_twice(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_remote_request add = {
		.op = RFM_REMOTE_ADD, .node = 2, .width = 8, .value = 1, .done = on_done,
	};

	rig_remote(rig);
	rfm_remote_ask(rig->peers[0].remote, &add, rig->now);
	rfm_remote_run(rig->peers[0].remote, rig->now);
	rig_pull(rig, 0, 8);
	rig_deliver(rig, 0);
	rfm_remote_run(rig->peers[1].remote, rig->now);
	assert_int_equal(get64(rig->peers[1].memory), 1);
	rig_pull(rig, 1, 1);		/* taken; the answer dies with the node */
	rig_disconnect(rig, 0);
	rig_disconnect(rig, 1);
	rig_start(rig, 1, 2, RIG_MEMORY, 5000);
	rig_remote(rig);
	rig_join(rig, 1);
	rig_advance(rig, 6 * SECOND);
	assert_int_equal(add.result, RFM_REMOTE_UNKNOWN);
	assert_int_equal(get64(rig->peers[1].memory), 0);
	assert_int_equal(ask(rig, 0, &add), RFM_REMOTE_OK);
	assert_int_equal(add.old, 0);
	rig_free(rig);
}

/* A frame gets lost, comes twice, or is overtaken by the next. */
static void disturb(struct rig *rig, uint64_t *seed)
{
	for (int i = 0; i < rig->count; i++) {
		struct rig_pipe *pipe = &rig->peers[i].out;
		uint8_t *first = pipe->frames + (size_t)RFM_UNIT_MAX * pipe->head, copy[RFM_UNIT_MAX];
		uint32_t choice = test_random(seed) % 60;

		if (pipe->tail - pipe->head < 2 || choice > 2)
			continue;
		memcpy(copy, first, sizeof(copy));
		if (choice == 0)
			pipe->head++;
		else if (choice == 1)
			memcpy(first, first + RFM_UNIT_MAX, RFM_UNIT_MAX);
		if (choice == 2) {
			memcpy(first, first + RFM_UNIT_MAX, RFM_UNIT_MAX);
			memcpy(first + RFM_UNIT_MAX, copy, sizeof(copy));
		}
	}
}

/*
 * A request or an answer gets lost, and nobody says anything else:
 * it is asked again soon, and done once.
 */
static void what_is_lost_is_asked_again(void **state)
{
	for (int where = 0; where < 6; where++) {
		struct rig *rig = rig_new(3, 1);
		struct rfm_remote_request add = {
			.op = RFM_REMOTE_ADD, .node = 2, .width = 8, .value = 1, .done = on_done,
		};
		struct rfm_frame frame;

		rig_remote(rig);
		ended = 0;
		rfm_remote_ask(rig->peers[0].remote, &add, rig->now);
		rfm_remote_run(rig->peers[0].remote, rig->now);
		for (int i = 0; i < where; i++) {
			rig_pull(rig, i % 3, 8);
			while (rig_deliver(rig, i % 3))
				;
			rfm_remote_run(rig->peers[1].remote, rig->now);
		}
		rig_pull(rig, where % 3, 8);
		while (rig_drop(rig, where % 3, &frame))
			;
		rig_advance(rig, 150 * MS);
		assert_int_equal(ended, 1);
		assert_int_equal(add.result, RFM_REMOTE_OK);
		assert_int_equal(add.old, 0);
		assert_int_equal(get64(rig->peers[1].memory), 1);
		rig_free(rig);
	}
}

/*
 * Every node adds to one word, on a ring that loses, doubles and reorders:
 * nothing is done twice.
 */
static void sums_are_exact(void **state)
{
	enum { NODES = 5, ASKED = 400, AT_ONCE = 6 };
	static struct rfm_remote_request adds[NODES][AT_ONCE];
	struct rig *rig = rig_new(NODES, 1);
	uint64_t sum = 0, unknown = 0, seed = 7;
	unsigned int left = NODES * ASKED, running = 0, begun[NODES] = { 0 };

	rig_remote(rig);
	memset(adds, 0, sizeof(adds));
	while (left || running) {
		for (int i = 0; i < NODES; i++) {
			for (int k = 0; k < AT_ONCE; k++) {
				struct rfm_remote_request *add = &adds[i][k];

				if (add->done && add->result != RFM_REMOTE_RESULTS) {
					sum += add->result == RFM_REMOTE_OK;
					unknown += add->result == RFM_REMOTE_UNKNOWN;
					add->done = NULL;
					running--;
				}
				if (add->done || begun[i] == ASKED)
					continue;
				*add = (struct rfm_remote_request){
					.op = RFM_REMOTE_ADD, .node = 3, .width = 8, .offset = 8, .value = 1,
					.done = on_done, .result = RFM_REMOTE_RESULTS,
				};
				rfm_remote_ask(rig->peers[i].remote, add, rig->now);
				begun[i]++;
				running++;
				left--;
			}
		}
		for (int i = 0; i < 100; i++) {
			int peer = test_random(&seed) % NODES;

			rfm_remote_run(rig->peers[peer].remote, rig->now);
			rig_pull(rig, peer, 3);
			disturb(rig, &seed);
			rig_deliver(rig, test_random(&seed) % NODES);
			rig->now += 2000;
		}
		for (int i = 0; i < NODES; i++)
			rfm_node_tick(&rig->peers[i].node, rig->now);
	}
	assert_true(get64(rig->peers[2].memory + 8) >= sum);
	assert_true(get64(rig->peers[2].memory + 8) <= sum + unknown);
	assert_true(sum > NODES * ASKED / 2);
	assert_true(rig->peers[2].remote->stats.repeated);
	rig_free(rig);
}

/* Many ask one node for more than it can answer at once: all get their answers. */
static void more_than_the_answer_slots(void **state)
{
	enum { NODES = 7 };
	static uint8_t data[NODES][8][RIG_MEMORY];
	static struct rfm_remote_request reads[NODES][8];
	struct rig *rig = rig_new(NODES, 1);

	rig_remote(rig);
	fill(rig, 6, 3);
	ended = 0;
	for (int i = 0; i < NODES - 1; i++) {
		for (int k = 0; k < 8; k++) {
			reads[i][k] = (struct rfm_remote_request){
				.op = RFM_REMOTE_READ, .node = 7, .length = RIG_MEMORY, .data = data[i][k],
				.done = on_done,
			};
			rfm_remote_ask(rig->peers[i].remote, &reads[i][k], rig->now);
		}
	}
	rig_advance(rig, 2 * SECOND);
	assert_int_equal(ended, (NODES - 1) * 8);
	for (int i = 0; i < NODES - 1; i++) {
		for (int k = 0; k < 8; k++) {
			assert_int_equal(reads[i][k].result, RFM_REMOTE_OK);
			assert_memory_equal(data[i][k], rig->peers[6].memory, RIG_MEMORY);
		}
	}
	rig_free(rig);
}

static uint8_t letter[4][RFM_REMOTE_MAX];

static struct rfm_remote_request message_to(uint8_t node, unsigned int which, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		letter[which][i] = i * 3 + which + length;
	return (struct rfm_remote_request){
		.op = RFM_REMOTE_SEND, .node = node, .key = 7, .length = length, .data = letter[which],
		.done = on_done,
	};
}

static void assert_message(const struct rig *rig, int peer, unsigned int at, uint8_t from,
			   const struct rfm_remote_request *sent)
{
	assert_true(at < rig->peers[peer].message_count);
	assert_int_equal(rig->peers[peer].messages[at].from, from);
	assert_int_equal(rig->peers[peer].messages[at].length, sent->length);
	assert_memory_equal(rig->peers[peer].messages[at].data, sent->data, sent->length);
}

static void messages_in_every_mode(void **state)
{
	static const uint32_t lengths[] = { 1, 24, 25, 2008, 2009, 10000, RFM_REMOTE_MAX };

	for (size_t mode = 0; mode < RIG_MODES; mode++) {
		struct rig *rig = rig_new_mode(3, 1, &rig_modes[mode]);
		unsigned int count = 0;

		rig_remote(rig);
		rig->peers[1].port_room = RIG_PACKETS;
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			struct rfm_remote_request send = message_to(2, 0, lengths[i]);

			if (mode && lengths[i] > 10000)
				continue;
			assert_int_equal(ask(rig, 0, &send), RFM_REMOTE_OK);
			assert_message(rig, 1, count++, 1, &send);
			assert_int_equal(ask(rig, 1, &send), RFM_REMOTE_OK);	/* itself */
			assert_message(rig, 1, count++, 2, &send);
		}
		assert_int_equal(rig->peers[1].message_count, count);
		rig_free(rig);
	}
}

static void messages_that_do_not_arrive(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_remote_request send = message_to(2, 0, 5000), other = message_to(2, 1, 5000);

	rig_remote(rig);
	send.key = 8;
	assert_int_equal(ask(rig, 0, &send), RFM_REMOTE_CLOSED);
	send.key = 7;
	assert_int_equal(ask(rig, 0, &send), RFM_REMOTE_NO_ROOM);	/* nobody has given it a buffer */
	send.length = 0;
	assert_int_equal(ask(rig, 0, &send), RFM_REMOTE_RANGE);
	send.length = RFM_REMOTE_MAX + 1;
	assert_int_equal(ask(rig, 0, &send), RFM_REMOTE_RANGE);
	send.length = 5000;
	assert_int_equal(rig->peers[1].message_count, 0);

	/* Given up in the middle: nothing of it comes, and the next one has the place. */
	rig->peers[1].port_room = 1;
	send = message_to(2, 0, RFM_REMOTE_MAX);
	rfm_remote_ask(rig->peers[0].remote, &send, rig->now);
	for (int i = 0; i < 3; i++) {
		rfm_remote_run(rig->peers[0].remote, rig->now);
		rig_pull(rig, 0, 64);
		while (rig_deliver(rig, 0))
			;
	}
	rfm_remote_cancel(rig->peers[0].remote, &send);
	rig_settle(rig);
	assert_int_equal(ask(rig, 0, &other), RFM_REMOTE_OK);
	assert_message(rig, 1, 0, 1, &other);
	assert_int_equal(rig->peers[1].message_count, 1);
	assert_int_equal(rig->peers[1].remote->stats.given_up, 1);

	/* Or nobody comes: the place is free again after a while. */
	rig->peers[1].port_room = 1;
	rfm_remote_ask(rig->peers[0].remote, &send, rig->now);
	rfm_remote_run(rig->peers[0].remote, rig->now);
	rig_pull(rig, 0, 64);
	while (rig_deliver(rig, 0))
		;
	rfm_remote_cancel(rig->peers[0].remote, &send);
	rig_advance(rig, 2 * RFM_REMOTE_PATIENCE_NS);
	assert_int_equal(rig->peers[1].remote->stats.given_up, 2);
	send = message_to(2, 0, 3000);
	assert_int_equal(ask(rig, 2, &send), RFM_REMOTE_OK);
	assert_message(rig, 1, 1, 3, &send);
	rig_free(rig);
}

/* Whatever is lost, doubled or overtaken: each comes whole, once, and in its order. */
static void messages_in_their_order(void **state)
{
	enum { SENDERS = 3 };
	struct rig *rig = rig_new(SENDERS + 1, 1);
	struct rfm_remote_request sends[SENDERS][4];
	unsigned int next[SENDERS] = { 0 };
	uint64_t seed = 3;

	rig_remote(rig);
	rig->peers[SENDERS].port_room = 4 * SENDERS;
	ended = 0;
	for (int i = 0; i < SENDERS; i++) {
		for (int k = 0; k < 4; k++) {
			sends[i][k] = message_to(SENDERS + 1, k, 20000 + k);
			rfm_remote_ask(rig->peers[i].remote, &sends[i][k], rig->now);
		}
	}
	while (ended < 4 * SENDERS) {
		for (int i = 0; i < 100; i++) {
			int peer = test_random(&seed) % rig->count;

			rfm_remote_run(rig->peers[peer].remote, rig->now);
			rig_pull(rig, peer, 3);
			disturb(rig, &seed);
			rig_deliver(rig, test_random(&seed) % rig->count);
			rig->now += 2000;
		}
		for (int i = 0; i < rig->count; i++)
			rfm_node_tick(&rig->peers[i].node, rig->now);
	}
	assert_int_equal(rig->peers[SENDERS].message_count, 4 * SENDERS);
	for (unsigned int at = 0; at < 4 * SENDERS; at++) {
		unsigned int sender = rig->peers[SENDERS].messages[at].from - 1;

		assert_true(sender < SENDERS && next[sender] < 4);
		assert_int_equal(sends[sender][next[sender]].result, RFM_REMOTE_OK);
		assert_message(rig, SENDERS, at, 1 + sender, &sends[sender][next[sender]++]);
	}
	rig_free(rig);
}

static void cancelled(void **state)
{
	static uint8_t data[RIG_MEMORY];
	struct rig *rig = rig_new(2, 1);
	struct rfm_remote_request reads = {
		.op = RFM_REMOTE_READ, .node = 2, .length = RIG_MEMORY, .data = data, .done = on_done,
	};

	rig_remote(rig);
	fill(rig, 1, 1);
	for (int steps = 0; steps < 4; steps++) {
		memset(data, 0, sizeof(data));
		ended = 0;
		rfm_remote_ask(rig->peers[0].remote, &reads, rig->now);
		for (int i = 0; i < steps; i++) {
			rfm_remote_run(rig->peers[i % 2].remote, rig->now);
			rig_pull(rig, i % 2, 8);
			while (rig_deliver(rig, i % 2))
				;
		}
		rfm_remote_cancel(rig->peers[0].remote, &reads);
		assert_int_equal(ended, 1);
		if (reads.result == RFM_REMOTE_OK)
			continue;
		assert_int_equal(reads.result, RFM_REMOTE_CANCELLED);
		memset(data, 0, sizeof(data));
		rig_advance(rig, SECOND);
		for (int i = 0; i < RIG_MEMORY; i++)
			assert_int_equal(data[i], 0);
		rfm_remote_cancel(rig->peers[0].remote, &reads);
		assert_int_equal(ended, 1);
	}
	assert_int_equal(ask(rig, 0, &reads), RFM_REMOTE_OK);
	rig_free(rig);
}

static struct rfm_remote *asked_again;
static int ends;

static void ask_again(struct rfm_remote_request *request)
{
	if (++ends < 1000)
		rfm_remote_ask(asked_again, request, asked_again->now);
}

/* Whoever asks again in done() does not keep the others waiting, nor the ring. */
static void asked_again_at_once(void **state)
{
	struct rig *rig = rig_new(3, 1);
	uint64_t word;
	struct rfm_remote_request requests[] = {
		{ .op = RFM_REMOTE_ADD, .node = 1, .width = 8, .value = 1, .done = ask_again },
		{ .op = RFM_REMOTE_READ, .node = 77, .length = 8, .data = &word, .done = ask_again },
	};

	rig_remote(rig);
	asked_again = rig->peers[0].remote;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		ends = 0;
		rfm_remote_ask(asked_again, &requests[i], rig->now);
		rig_run_remote(rig, 0);
		assert_int_equal(ends, 1);
		rig_settle(rig);
		assert_int_equal(ends, 1000);
	}
	assert_true(get64(rig->peers[2].memory) == 1000);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_and_write_in_every_mode),
		cmocka_unit_test(words_are_changed_at_home),
		cmocka_unit_test(what_cannot_be),
		cmocka_unit_test(who_does_not_answer),
		cmocka_unit_test(a_home_without_room),
		cmocka_unit_test(a_new_life_does_nothing_twice),
		cmocka_unit_test(what_is_lost_is_asked_again),
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(more_than_the_answer_slots),
		cmocka_unit_test(messages_in_every_mode),
		cmocka_unit_test(messages_that_do_not_arrive),
		cmocka_unit_test(messages_in_their_order),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(asked_again_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
