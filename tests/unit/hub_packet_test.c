// SPDX-License-Identifier: MIT
/* Packets through a hub: always as one, whatever the ports and faults are, and counted in pieces.
 * links: tools/rmhub/relay.c tools/rmhub/fault.c tools/rmhub/rogue.c tests/unit/bench.c
 */
#include "tests/unit/test.h"
#include "tests/unit/bench.h"

#include <string.h>

#define PIECES	6
#define QUEUE	64

static void on_port(void *opaque, unsigned int port)
{
	(void)opaque;
	(void)port;
}

static unsigned int firings;
static struct hub_firing last_firing;

static void on_fired(void *opaque, const struct hub_firing *firing)
{
	(void)opaque;
	firings++;
	last_firing = *firing;
	last_firing.frame = NULL;
}

static const struct hub_ops ops = {
	.transmit = on_port, .changed = on_port, .fired = on_fired,
};

/* Two lit ports; what comes in at port 0 goes out at port 1. */
static void begin_with(struct hub *hub, uint32_t queue, const struct rfm_line_config *line)
{
	const struct hub_config config = { .bad_limit = HUB_BAD_LIMIT, .queue = queue };
	struct hub_port_config ports[2] = { 0 };

	firings = 0;
	if (line)
		ports[1].line = *line;
	assert_int_equal(hub_init(hub, &config, ports, 2, &ops, NULL, MS), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct rfm_link_self peer = { .id = 10 + i, .incarnation = 1000 + i };

		hub_set_up(hub, i, true, MS);
		hub_set_light(hub, i, true, &peer, MS);
	}
	for (unsigned int i = 0; i < 2; i++)
		while (!hub_light_out(hub, i))
			;
}

static void begin(struct hub *hub)
{
	begin_with(hub, QUEUE, NULL);
}

static void end(struct hub *hub)
{
	check_balance(hub);
	hub_destroy(hub);
}

static struct rfm_frame packet(uint64_t seq, unsigned int length)
{
	return (struct rfm_frame){
		.type = RFM_FRAME_PACKET, .source = 10, .dest = 11, .incarnation = 1000, .seq = seq,
		.kind = RFM_PACKET_REQUEST, .flags = RFM_FLAG_FIRST | RFM_FLAG_LAST,
		.stream = 0x1234, .hops = 1, .length = length, .count = (length + 63) / 64,
	};
}

static unsigned int encode(const struct rfm_frame *frame, uint8_t *wire)
{
	for (unsigned int i = 0; i < frame->length; i++)
		wire[RFM_FRAME_HEADER + i] = (uint8_t)(frame->seq + i * 3);
	return rfm_packet_encode(frame, wire);
}

static void send_frame(struct hub *hub, const struct rfm_frame *frame)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = encode(frame, wire);

	hub_receive(hub, 0, wire, len, MS);
}

static void send_packet(struct hub *hub, uint64_t seq, unsigned int length)
{
	const struct rfm_frame frame = packet(seq, length);

	send_frame(hub, &frame);
}

/* What comes out at port 1 next, with all its bytes; false: nothing. */
static bool pull_unit(struct hub *hub, struct rfm_frame *frame, uint64_t now)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = hub_pull(hub, 1, wire, now);

	if (!len)
		return false;
	assert_int_equal(rfm_frame_length(wire), len);
	assert_int_equal(rfm_frame_decode_header(wire, frame), RFM_FRAME_OK);
	for (unsigned int i = 0; i < frame->length; i++)
		assert_int_equal(wire[RFM_FRAME_HEADER + i], (uint8_t)(frame->seq + i * 3));
	return true;
}

/* Then a packet of that number and length comes out, as it was but for its path. */
static void expect_packet(struct hub *hub, uint64_t seq, unsigned int length, uint64_t now)
{
	struct rfm_frame frame;

	assert_true(pull_unit(hub, &frame, now));
	assert_int_equal(frame.type, RFM_FRAME_PACKET);
	assert_int_equal(frame.seq, seq);
	assert_int_equal(frame.length, length);
	assert_int_equal(frame.count, (length + 63) / 64);
	assert_int_equal(frame.dest, 11);
	assert_int_equal(frame.kind, RFM_PACKET_REQUEST);
	assert_int_equal(frame.flags, RFM_FLAG_FIRST | RFM_FLAG_LAST);
	assert_int_equal(frame.stream, 0x1234);
	assert_int_equal(frame.hops, 2);
	assert_int_equal(frame.marks, 1 << RFM_MARK_HUBS_SHIFT);
}

static void expect_nothing(struct hub *hub, uint64_t now)
{
	struct rfm_frame frame;

	assert_false(pull_unit(hub, &frame, now));
}

static struct fault *set(struct hub *hub, enum fault_kind kind, uint64_t seed)
{
	struct fault_spec spec;
	struct fault *fault;

	fault_spec_init(&spec, kind);
	spec.types = 1u << RFM_FRAME_PACKET;
	spec.seed = seed;
	if (kind == FAULT_DELAY || kind == FAULT_FREEZE)
		spec.time = 5 * MS;
	assert_null(fault_spec_check(&spec, false));
	fault = faults_add(&hub->faults, &spec, MS);
	assert_non_null(fault);
	return fault;
}

static const unsigned int lengths[] = { 1, 63, 64, 65, 128, 129, 1984, 1985, 2047, 2048 };

/* On every kind of port: a paced one, too, and with a fault that is after something else. */
static void it_passes_whole(void **state)
{
	const struct rfm_line_config line = { .paced = true };

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		uint64_t seq = 1, pieces = 0;
		struct fault_spec spec;
		struct hub hub;

		begin_with(&hub, QUEUE, kind == 1 ? &line : NULL);
		fault_spec_init(&spec, FAULT_DROP);	/* of updates */
		if (kind == 2)
			assert_non_null(faults_add(&hub.faults, &spec, MS));
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++, seq += 32) {
			unsigned int count = (lengths[i] + 63) / 64;

			send_packet(&hub, seq, lengths[i]);
			assert_int_equal(hub_waits(&hub), count);
			expect_packet(&hub, seq, lengths[i], 2 * MS);
			expect_nothing(&hub, 2 * MS);
			pieces += count;
			assert_int_equal(hub.ports[0].stats.in, pieces);
			assert_int_equal(hub.ports[1].stats.out, pieces);
		}
		assert_int_equal(firings, 0);
		end(&hub);
	}
}

/* A paced line takes as long for it as it has bytes, and lets nothing of it go before. */
static void a_paced_port_takes_its_time(void **state)
{
	const struct rfm_line_config line = { .paced = true, .baud = 1000000 };
	struct hub hub;
	uint64_t due;

	(void)state;
	begin_with(&hub, QUEUE, &line);
	send_packet(&hub, 1, 1);
	due = hub_next_pull(&hub, 1);
	expect_nothing(&hub, due - 1);
	expect_packet(&hub, 1, 1, due);
	send_packet(&hub, 2, 2048);
	assert_true(hub_next_pull(&hub, 1) - due > 16 * (due - MS));
	due = hub_next_pull(&hub, 1);
	expect_nothing(&hub, due - 1);
	expect_packet(&hub, 2, 2048, due);
	end(&hub);
}

static void a_drop_takes_all_of_it(void **state)
{
	struct fault *fault;
	struct hub hub;

	(void)state;
	begin(&hub);
	fault = set(&hub, FAULT_DROP, 1);
	send_packet(&hub, 1, PIECES * 64);
	expect_nothing(&hub, MS);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_FAULT], PIECES);
	assert_int_equal(hub.ports[0].stats.faults[FAULT_DROP], 1);
	assert_int_equal(fault->matched, 1);
	assert_int_equal(firings, 1);
	send_packet(&hub, 7, PIECES * 64);	/* it was for one */
	expect_packet(&hub, 7, PIECES * 64, MS);
	end(&hub);
}

/* It is damaged as one; never so that what is behind it is not found. */
static void a_corrupt_leaves_the_framing(void **state)
{
	unsigned int header = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 600; seed++) {
		unsigned int length = seed % 2 ? 2 : PIECES * 64 - 1, len;
		uint8_t wire[RFM_UNIT_MAX];
		struct rfm_frame frame;
		struct hub hub;

		begin(&hub);
		set(&hub, FAULT_CORRUPT, seed);
		send_packet(&hub, 1, length);
		len = hub_pull(&hub, 1, wire, MS);
		assert_int_equal(len, RFM_FRAME_HEADER + length);
		assert_int_equal(rfm_frame_length(wire), len);
		assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_DAMAGED);
		wire[last_firing.bit / 8] ^= 1u << last_firing.bit % 8;
		assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_OK);
		header += last_firing.bit / 8 < RFM_FRAME_HEADER;
		expect_nothing(&hub, MS);
		assert_int_equal(firings, 1);
		end(&hub);
	}
	assert_true(header > 100);
}

static void a_chosen_bit(void **state)
{
	struct fault_spec spec;
	struct hub hub;

	(void)state;
	begin(&hub);
	fault_spec_init(&spec, FAULT_CORRUPT);
	spec.types = RFM_FRAME_ALL_TYPES;
	spec.bit = 511;
	assert_non_null(faults_add(&hub.faults, &spec, MS));
	send_packet(&hub, 1, 63);
	expect_packet(&hub, 1, 63, MS);		/* it has no such bit */
	send_packet(&hub, 2, 64);
	assert_int_equal(firings, 1);
	assert_int_equal(last_firing.bit, RFM_FRAME_HEADER * 8 + 511);
	end(&hub);
}

static void a_duplicate_is_all_of_it(void **state)
{
	struct hub hub;

	(void)state;
	begin(&hub);
	set(&hub, FAULT_DUPLICATE, 1);
	send_packet(&hub, 1, PIECES * 64);
	assert_int_equal(hub.ports[0].stats.duplicates, PIECES);
	assert_int_equal(hub_waits(&hub), 2 * PIECES);
	expect_packet(&hub, 1, PIECES * 64, MS);
	expect_packet(&hub, 1, PIECES * 64, MS);
	expect_nothing(&hub, MS);
	assert_int_equal(hub.ports[1].stats.out, 2 * PIECES);
	end(&hub);
}

/* A packet that overtakes counts as one, however many pieces it has. */
static void a_reorder_holds_all_of_it(void **state)
{
	struct hub hub;

	(void)state;
	begin(&hub);
	set(&hub, FAULT_REORDER, 1)->spec.depth = 2;
	send_packet(&hub, 1, PIECES * 64);
	assert_int_equal(hub.ports[0].overtaken_count, PIECES);
	expect_nothing(&hub, MS);
	send_packet(&hub, 1 + PIECES, 2 * 64);
	expect_packet(&hub, 1 + PIECES, 2 * 64, MS);
	expect_nothing(&hub, MS);
	send_packet(&hub, 3 + PIECES, 64);
	expect_packet(&hub, 3 + PIECES, 64, MS);
	expect_packet(&hub, 1, PIECES * 64, MS);
	assert_int_equal(hub_waits(&hub), 0);
	end(&hub);
}

static void a_reorder_in_vain(void **state)
{
	struct fault *fault;
	struct hub hub;

	(void)state;
	begin(&hub);
	fault = set(&hub, FAULT_REORDER, 1);
	send_packet(&hub, 1, PIECES * 64);
	hub_tick(&hub, MS + HUB_OVERTAKE_NS);
	assert_int_equal(fault->in_vain, 1);
	assert_true(last_firing.let_go);
	expect_packet(&hub, 1, PIECES * 64, MS + HUB_OVERTAKE_NS);
	assert_int_equal(hub_waits(&hub), 0);
	end(&hub);
}

/* What comes behind it waits too. */
static void a_delay_keeps_the_order(void **state)
{
	(void)state;
	for (int freeze = 0; freeze < 2; freeze++) {
		struct hub hub;

		begin(&hub);
		set(&hub, freeze ? FAULT_FREEZE : FAULT_DELAY, 1);
		send_packet(&hub, 1, PIECES * 64);
		send_packet(&hub, 1 + PIECES, 65);
		assert_int_equal(hub.ports[0].delayed_count, PIECES + 2);
		hub_tick(&hub, 5 * MS);
		expect_nothing(&hub, 5 * MS);
		hub_tick(&hub, 6 * MS);
		expect_packet(&hub, 1, PIECES * 64, 6 * MS);
		expect_packet(&hub, 1 + PIECES, 65, 6 * MS);
		assert_int_equal(hub.ports[0].delayed_count, 0);
		end(&hub);
	}
}

/* The hubs are counted modulo 16; nothing is carried over into what the destination said. */
static void the_verdict_survives(void **state)
{
	static const uint16_t verdicts[] = {
		0, RFM_MARK_SEEN, RFM_MARK_SEEN | RFM_MARK_TAKEN, RFM_MARK_TAKEN,
	};
	struct rfm_frame frame = packet(1, 65), came;
	struct hub hub;

	(void)state;
	begin(&hub);
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		for (unsigned int hubs = 0; hubs < 16; hubs++) {
			uint16_t marks = verdicts[i] | RFM_MARK_PAUSED | RFM_MARK_ROGUE_1;

			frame.hops = 1 + hubs * 64;
			frame.marks = marks | hubs << RFM_MARK_HUBS_SHIFT;
			send_frame(&hub, &frame);
			assert_true(pull_unit(&hub, &came, MS));
			assert_int_equal(came.hops, frame.hops + 1);
			assert_int_equal(came.marks,
					 marks | (hubs + 1) % 16 << RFM_MARK_HUBS_SHIFT);
		}
	}
	end(&hub);
}

/* The marks above the hops are none of them. */
static void it_has_gone_too_far(void **state)
{
	struct rfm_frame frame = packet(1, PIECES * 64), came;
	struct hub hub;

	(void)state;
	begin(&hub);
	for (int seen = 0; seen < 2; seen++) {
		frame.marks = seen ? RFM_MARK_SEEN | RFM_MARK_TAKEN : 0;
		frame.hops = 1023;
		send_frame(&hub, &frame);
		assert_true(pull_unit(&hub, &came, MS));
		assert_int_equal(came.hops, 1024);
		frame.hops = 1024;
		send_frame(&hub, &frame);
		expect_nothing(&hub, MS);
		assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_HOP_LIMIT],
				 (1 + seen) * PIECES);
	}
	end(&hub);
}

/* Damaged data: the next node will see; a damaged path: no further. */
static void a_damaged_one(void **state)
{
	const struct rfm_frame sound = packet(1, PIECES * 64);
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_frame frame;
	struct hub hub;
	unsigned int len;

	(void)state;
	begin(&hub);
	set(&hub, FAULT_DROP, 1);
	len = encode(&sound, wire);
	wire[len - 1] ^= 1;
	hub_receive(&hub, 0, wire, len, MS);
	assert_int_equal(hub_pull(&hub, 1, wire, MS), len);
	assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_DAMAGED);
	assert_int_equal(hub.ports[0].stats.damaged, 1);
	len = encode(&sound, wire);
	wire[45] ^= 0x80;			/* TAKEN */
	hub_receive(&hub, 0, wire, len, MS);
	expect_nothing(&hub, MS);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_DAMAGED], PIECES);
	assert_int_equal(firings, 0);
	end(&hub);
}

static void what_is_dropped_is_counted_in_pieces(void **state)
{
	const struct rfm_frame frame = packet(1, PIECES * 64);
	uint8_t wire[RFM_UNIT_MAX];
	struct hub hub;

	(void)state;
	begin(&hub);
	for (uint64_t i = 0; i < 12; i++)	/* 64 find room: ten packets */
		send_packet(&hub, 1 + i * PIECES, PIECES * 64);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_OVERFLOW], 2 * PIECES);
	hub_cut(&hub, 1, HUB_OUT, MS);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_CUT], 10 * PIECES);
	hub_bypass(&hub, 0, true, MS);
	send_packet(&hub, 1, PIECES * 64);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_DEAD_PORT], PIECES);
	hub_refuse(&hub, 0, encode(&frame, wire));
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_DEAD_PORT], 2 * PIECES);
	end(&hub);
}

/* What is longer than all the room is never taken apart for it. */
static void a_small_queue(void **state)
{
	struct hub hub;

	(void)state;
	begin_with(&hub, 16, NULL);
	send_packet(&hub, 1, 17 * 64);
	expect_nothing(&hub, MS);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_OVERFLOW], 17);
	send_packet(&hub, 18, 16 * 64);
	send_packet(&hub, 34, 1);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_OVERFLOW], 18);
	expect_packet(&hub, 18, 16 * 64, MS);
	expect_nothing(&hub, MS);
	set(&hub, FAULT_DELAY, 1);
	send_packet(&hub, 35, 17 * 64);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_OVERFLOW], 17);
	end(&hub);
}

/* A ring that changes loses what waits, all of it. */
static void the_ring_changes(void **state)
{
	struct hub hub;

	(void)state;
	begin(&hub);
	send_packet(&hub, 1, PIECES * 64);
	set(&hub, FAULT_DELAY, 1);
	send_packet(&hub, 1 + PIECES, 2 * 64);
	hub_set_light(&hub, 0, false, NULL, MS);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_IN_FLIGHT], PIECES);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_IN_FLIGHT], 2);
	end(&hub);
}

/* Their numbers end with the last piece of the last packet that came through the port. */
static void packets_of_who_has_gone_are_rogues(void **state)
{
	struct rfm_link_self peer = { .id = 12, .incarnation = 1002 };
	struct hub hub;

	(void)state;
	begin(&hub);
	send_packet(&hub, 1, PIECES * 64);
	expect_packet(&hub, 1, PIECES * 64, MS);
	hub_set_light(&hub, 0, false, NULL, MS);
	hub_set_light(&hub, 0, true, &peer, MS);
	while (!hub_light_out(&hub, 1))
		;
	send_packet(&hub, 1, PIECES * 64);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_ROGUE], PIECES);
	send_packet(&hub, PIECES, 1);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_ROGUE], PIECES + 1);
	/* What is newer has not been left behind: the node is somewhere else. */
	send_packet(&hub, PIECES + 1, 1);
	expect_packet(&hub, PIECES + 1, 1, MS);
	end(&hub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_passes_whole),
		cmocka_unit_test(a_paced_port_takes_its_time),
		cmocka_unit_test(a_drop_takes_all_of_it),
		cmocka_unit_test(a_corrupt_leaves_the_framing),
		cmocka_unit_test(a_chosen_bit),
		cmocka_unit_test(a_duplicate_is_all_of_it),
		cmocka_unit_test(a_reorder_holds_all_of_it),
		cmocka_unit_test(a_reorder_in_vain),
		cmocka_unit_test(a_delay_keeps_the_order),
		cmocka_unit_test(the_verdict_survives),
		cmocka_unit_test(it_has_gone_too_far),
		cmocka_unit_test(a_damaged_one),
		cmocka_unit_test(what_is_dropped_is_counted_in_pieces),
		cmocka_unit_test(a_small_queue),
		cmocka_unit_test(the_ring_changes),
		cmocka_unit_test(packets_of_who_has_gone_are_rogues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
