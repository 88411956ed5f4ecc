// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/* Operations at one named node, asked or answered by one that does not keep to the protocol. */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"
#include "tests/unit/remote_ask.h"

#include <string.h>

#include "ring/wire.h"

#define SECOND	(1000 * MS)

/*
 * A neighbour that says anything: nothing of it is done that may not be, and all of it is
 * counted.
 */
static void hostile_packets(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *neighbour = &rig->peers[0].node;
	uint64_t seed = 1, refused = 0;
	uint8_t data[RFM_PACKET_DATA];
	struct rfm_remote_stats *stats;

	rig_remote(rig);
	stats = &rig->peers[1].remote->stats;
	rig->peers[0].full = true;
	for (int i = 0; i < 20000; i++) {
		struct rfm_packet packet = {
			.node = 2, .class = test_random(&seed) % 4, .to_all = !(test_random(&seed) % 8),
			.first = test_random(&seed) % 8, .last = test_random(&seed) % 8,
			.stream = test_random(&seed) % (RFM_REMOTE_PARTS + 4),
			.length = 1 + test_random(&seed) % (test_random(&seed) % 2 ? 100 : RFM_PACKET_DATA),
		};

		for (unsigned int at = 0; at < packet.length; at++)
			data[at] = test_random(&seed);
		data[0] = test_random(&seed) % 8;
		if (packet.length > 32 && test_random(&seed) % 2) {
			put64(data + 8, rig->peers[1].node.config.incarnation);
			put64(data + 16, test_random(&seed) % 2 ? test_random(&seed) % (2 * RIG_MEMORY) :
					 UINT64_MAX - test_random(&seed) % 64);
			put32(data + 24, test_random(&seed) % 2);
			put32(data + 28, test_random(&seed) % 2 ? packet.length - 32u :
					 test_random(&seed) << (test_random(&seed) % 32));
		}
		rfm_node_packet(neighbour, &packet, data, RFM_REMOTE_PARTS, rig->now);
		rig->now += MS / 10;
		rfm_node_send_queued(neighbour, rig->now);
		rig_settle(rig);
		refused = stats->refused;
	}
	assert_true(refused && stats->served && stats->strange);
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++)
		assert_null(rig->peers[1].remote->parts[i].request);
	rig_advance(rig, 3 * SECOND);
	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++)
		assert_false(rig->peers[1].remote->answers[i].used);
	rig_free(rig);
}

/* Says it as node 1, whose own requests have other tickets, to node 2; until all have heard it. */
static void say(struct rig *rig, enum rfm_packet_class class, uint16_t stream, const uint8_t *data,
		uint16_t length)
{
	const struct rfm_packet packet = {
		.node = 2, .class = class, .first = true, .last = true, .stream = stream,
		.length = length,
	};

	assert_int_equal(rfm_node_packet(&rig->peers[0].node, &packet, data, RFM_REMOTE_PARTS, rig->now),
			 RFM_INSERT_OK);
	rfm_node_send_queued(&rig->peers[0].node, rig->now);
	rig_settle(rig);
}

static void ask_part(struct rig *rig, uint16_t part, enum rfm_remote_op op, uint32_t ticket,
		     uint64_t offset, uint32_t length)
{
	uint8_t data[32] = { op };

	put32(data + 4, ticket);
	put64(data + 8, rig->peers[1].node.config.incarnation);
	put64(data + 16, offset);
	put32(data + 28, length);
	say(rig, RFM_PACKET_REQUEST, part, data, sizeof(data));
}

static void say_part_to(struct rig *rig, uint16_t port, uint32_t ticket, uint32_t number,
			uint64_t at, uint32_t length, uint32_t total)
{
	uint8_t data[40 + 64] = { RFM_REMOTE_SEND };

	put32(data + 4, ticket);
	put64(data + 8, rig->peers[1].node.config.incarnation);
	put64(data + 16, at);
	put32(data + 24, port);
	put32(data + 28, length);
	put32(data + 32, number);
	put32(data + 36, total);
	memset(data + 40, 0x5a, 64);
	say(rig, RFM_PACKET_REQUEST, port % RFM_REMOTE_PARTS, data, 40 + length);
}

static void say_part(struct rig *rig, uint32_t ticket, uint32_t number, uint64_t at,
		     uint32_t length, uint32_t total)
{
	say_part_to(rig, 7, ticket, number, at, length, total);
}

/*
 * Parts that lie over each other, or beyond the end: such a message never comes, nor a part of
 * it.
 */
static void messages_that_lie(void **state)
{
	static const uint64_t beyond[][2] = {
		{ 60, 8 }, { 64, 1 }, { UINT64_MAX - 3, 8 }, { 1ull << 32, 8 },
	};
	struct rig *rig = rig_new(3, 1);
	const struct rfm_remote_stats *stats;
	uint32_t ticket = 0;

	rig_remote(rig);
	stats = &rig->peers[1].remote->stats;
	rig->peers[1].port_room = 8;
	for (size_t i = 0; i < ARRAY_SIZE(beyond); i++)
		say_part(rig, ++ticket, 1, beyond[i][0], beyond[i][1], 64);
	assert_int_equal(stats->refused, ARRAY_SIZE(beyond));
	/* As many bytes as there must be, but not those. */
	for (uint32_t over = 0; over < 32; over++) {
		say_part(rig, ++ticket, 2 + over, 0, 32, 64);
		say_part(rig, ++ticket, 2 + over, over, 32, 64);
		assert_int_equal(stats->given_up, over + 1);
	}
	/* Another length, or another port, than it began with. */
	say_part(rig, ++ticket, 100, 0, 32, 64);
	say_part(rig, ++ticket, 100, 32, 32, 65);
	assert_int_equal(rig->peers[1].message_count, 0);
	say_part(rig, ++ticket, 100, 32, 32, 64);
	assert_int_equal(rig->peers[1].message_count, 1);
	assert_int_equal(rig->peers[1].messages[0].length, 64);
	rig_free(rig);
}

/* Whoever begins messages and ends none has not all places for messages. */
static void messages_without_end(void **state)
{
	struct rfm_remote_request message = {
		.op = RFM_REMOTE_SEND, .node = 2, .key = 7, .length = 4, .data = "hear",
	};
	struct rig *rig = rig_new(3, 1);

	rig_remote(rig);
	rig->peers[1].port_room = 8;
	for (uint32_t i = 1; i <= RFM_REMOTE_MESSAGES; i++)
		say_part_to(rig, 100 + i, i, i, 0, 32, 64);
	assert_int_equal(ask(rig, 2, &message), RFM_REMOTE_OK);
	assert_int_equal(rig->peers[1].message_count, 1);
	rig_free(rig);
}

/* Who asks without end and takes no answer, has not all places for answers. */
static void who_takes_no_answers(void **state)
{
	static uint8_t data[8];
	struct rig *rig = rig_new(3, 1);
	struct rfm_remote_request reads = {
		.op = RFM_REMOTE_READ, .node = 2, .length = sizeof(data), .data = data,
	};
	unsigned int owed = 0;
	uint64_t begun;

	rig_remote(rig);
	rig->peers[0].full = true;
	for (uint32_t ticket = 1; ticket < 5 * RFM_REMOTE_PARTS; ticket++)
		ask_part(rig, ticket % RFM_REMOTE_PARTS, RFM_REMOTE_READ, ticket, 0, 8);
	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++)
		owed += rig->peers[1].remote->answers[i].used;
	assert_int_equal(owed, RFM_REMOTE_PARTS);
	begun = rig->now;
	assert_int_equal(ask(rig, 2, &reads), RFM_REMOTE_OK);
	assert_true(rig->now - begun <= 20 * MS);
	rig_free(rig);
}

/* It is asked, and says what no answer can say; or another one answers. */
static void answers_that_lie(void **state)
{
	static uint8_t there[8];
	struct rig *rig = rig_new(3, 1);
	struct rfm_remote_request reads = {
		.op = RFM_REMOTE_READ, .node = 3, .length = sizeof(there), .data = there, .done = on_done,
	};
	uint8_t data[16 + 64] = { 0 };

	rig_remote(rig);
	fill(rig, 2, 5);
	rig->peers[2].full = true;		/* it answers later */
	ended = 0;
	rfm_remote_ask(rig->peers[1].remote, &reads, rig->now);
	rig_settle(rig);
	data[1] = RFM_REMOTE_READ;
	put32(data + 4, rig->peers[1].remote->parts[0].ticket);
	say(rig, RFM_PACKET_ANSWER, 0, data, 16 + 8);		/* node 1 was not asked */
	reads.node = 1;
	data[0] = RFM_REMOTE_NO_NODE;				/* and never says so */
	say(rig, RFM_PACKET_ANSWER, 0, data, 16);
	data[0] = RFM_REMOTE_OK;
	say(rig, RFM_PACKET_ANSWER, 0, data, 16);		/* nothing was read */
	say(rig, RFM_PACKET_ANSWER, 0, data, 16 + 9);		/* more than was asked for */
	put32(data + 4, 0xdead);
	say(rig, RFM_PACKET_ANSWER, 0, data, 16 + 8);
	data[1] = RFM_REMOTE_WRITE;
	say(rig, RFM_PACKET_ANSWER, 0, data, 16);
	assert_int_equal(rig->peers[1].remote->stats.strange, 6);
	assert_int_equal(ended, 0);
	reads.node = 3;
	rig->peers[2].full = false;
	rig_advance(rig, 100 * MS);
	assert_int_equal(ended, 1);
	assert_memory_equal(there, rig->peers[2].memory, sizeof(there));
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_packets),
		cmocka_unit_test(messages_that_lie),
		cmocka_unit_test(messages_without_end),
		cmocka_unit_test(who_takes_no_answers),
		cmocka_unit_test(answers_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
