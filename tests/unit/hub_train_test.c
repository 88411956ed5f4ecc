// SPDX-License-Identifier: MIT
/* Trains through a hub: as one where nothing asks for single frames, else frame by frame.
 * links: tools/rmhub/relay.c tools/rmhub/fault.c tools/rmhub/rogue.c tests/unit/bench.c
 */
#include "tests/unit/test.h"
#include "tests/unit/bench.h"

#define FRAMES	6

static void on_port(void *opaque, unsigned int port)
{
	(void)opaque;
	(void)port;
}

static const struct hub_ops ops = { .transmit = on_port, .changed = on_port };

/* Two lit ports; what comes in at port 0 goes out at port 1. */
static void begin(struct hub *hub, const struct rfm_line_config *line)
{
	static const struct hub_config plain = { .bad_limit = HUB_BAD_LIMIT, .queue = 64 };
	struct hub_port_config ports[2] = { 0 };

	if (line)
		ports[1].line = *line;
	assert_int_equal(hub_init(hub, &plain, ports, 2, &ops, NULL, MS), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct rfm_link_self peer = { .id = 10 + i, .incarnation = 1000 + i };

		hub_set_up(hub, i, true, MS);
		hub_set_light(hub, i, true, &peer, MS);
	}
	for (unsigned int i = 0; i < 2; i++)
		while (!hub_light_out(hub, i))
			;
}

static void end(struct hub *hub)
{
	check_balance(hub);
	hub_destroy(hub);
}

static unsigned int make_train(uint8_t *wire, uint64_t seq)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 10, .incarnation = 1000, .seq = seq, .hops = 1,
		.address = 0x1000, .count = FRAMES, .length = FRAMES * RFM_FRAME_DATA_MAX,
	};

	for (unsigned int i = 0; i < frame.length; i++)
		wire[RFM_FRAME_HEADER + i] = (uint8_t)(seq + i * 3);
	return rfm_train_encode(&frame, wire);
}

static void send_train(struct hub *hub, uint64_t seq)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = make_train(wire, seq);

	hub_receive(hub, 0, wire, len, MS);
}

/* What comes out at port 1 next, without its data; false: nothing. */
static bool pull_unit(struct hub *hub, struct rfm_frame *frame, uint64_t now)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = hub_pull(hub, 1, wire, now);

	if (!len)
		return false;
	assert_int_equal(rfm_frame_length(wire), len);
	assert_int_equal(rfm_frame_decode_header(wire, frame), RFM_FRAME_OK);
	for (unsigned int i = 0; i < frame->length; i++)
		assert_int_equal(wire[RFM_FRAME_HEADER + i],
				 (uint8_t)(1 + (frame->address - 0x1000 + i) * 3));
	return true;
}

/* Then the frames of the train come out one by one, but for number @missing. */
static void expect_frames(struct hub *hub, uint64_t missing, uint64_t now)
{
	struct rfm_frame frame;

	for (uint64_t seq = 1; seq <= FRAMES; seq++) {
		if (seq == missing)
			continue;
		assert_true(pull_unit(hub, &frame, now));
		assert_int_equal(frame.count, 1);
		assert_int_equal(frame.seq, seq);
		assert_int_equal(frame.hops, 2);
	}
	assert_false(pull_unit(hub, &frame, now));
}

static void a_train_passes_as_one(void **state)
{
	struct rfm_frame frame;
	struct hub hub;

	(void)state;
	begin(&hub, NULL);
	send_train(&hub, 1);
	assert_int_equal(hub_waits(&hub), FRAMES);
	assert_true(pull_unit(&hub, &frame, MS));
	assert_int_equal(frame.count, FRAMES);
	assert_int_equal(frame.hops, 2);
	assert_false(pull_unit(&hub, &frame, MS));
	assert_int_equal(hub.ports[0].stats.in, FRAMES);
	assert_int_equal(hub.ports[1].stats.out, FRAMES);
	end(&hub);
}

/* A fault is after frames: it finds the one that it is after. */
static void a_fault_strikes_one_frame_of_it(void **state)
{
	struct fault_spec spec;
	struct hub hub;

	(void)state;
	begin(&hub, NULL);
	fault_spec_init(&spec, FAULT_DROP);
	spec.addressed = true;
	spec.first = spec.last = 0x1000 + 2 * RFM_FRAME_DATA_MAX + 7;
	assert_non_null(faults_add(&hub.faults, &spec, MS));
	send_train(&hub, 1);
	expect_frames(&hub, 3, MS);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_FAULT], 1);
	assert_int_equal(hub.ports[0].stats.in, FRAMES);
	end(&hub);
}

/* What a fault holds back is not overtaken by a train, when that fault is over too. */
static void a_delay_keeps_the_order(void **state)
{
	struct fault_spec spec;
	struct rfm_frame frame;
	struct hub hub;

	(void)state;
	begin(&hub, NULL);
	fault_spec_init(&spec, FAULT_DELAY);
	spec.time = 10 * MS;
	spec.count = 1;
	assert_non_null(faults_add(&hub.faults, &spec, MS));
	send_train(&hub, 1);
	hub_tick(&hub, 2 * MS);
	assert_false(pull_unit(&hub, &frame, 2 * MS));
	hub_tick(&hub, 20 * MS);
	expect_frames(&hub, 0, 20 * MS);
	end(&hub);
}

static void a_paced_port_sends_frames(void **state)
{
	const struct rfm_line_config line = { .paced = true };
	struct hub hub;

	(void)state;
	begin(&hub, &line);
	send_train(&hub, 1);
	expect_frames(&hub, 0, 2 * MS);
	end(&hub);
}

/* Its frames, made anew, would be taken for whole: it stays as damaged as it is. */
static void a_damaged_train_stays_damaged(void **state)
{
	struct fault_spec spec;
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_frame frame;
	unsigned int len;
	struct hub hub;

	(void)state;
	begin(&hub, NULL);
	fault_spec_init(&spec, FAULT_DROP);
	assert_non_null(faults_add(&hub.faults, &spec, MS));
	len = make_train(wire, 1);
	wire[RFM_FRAME_HEADER + 100] ^= 1;
	hub_receive(&hub, 0, wire, len, MS);
	assert_int_equal(hub.ports[0].stats.damaged, 1);
	assert_int_equal(hub_pull(&hub, 1, wire, MS), len);
	assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_DAMAGED);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_FAULT], 0);
	end(&hub);
}

static void what_is_dropped_is_counted_in_frames(void **state)
{
	struct rfm_frame frame;
	uint8_t wire[RFM_UNIT_MAX];
	struct hub hub;

	(void)state;
	begin(&hub, NULL);
	for (uint64_t i = 0; i < 12; i++)	/* 64 find room: ten trains */
		send_train(&hub, 1 + i * 256);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_OVERFLOW], 2 * FRAMES);
	hub_cut(&hub, 1, HUB_OUT, MS);
	assert_int_equal(hub.ports[1].stats.dropped[HUB_DROP_CUT], 10 * FRAMES);
	hub_bypass(&hub, 0, true, MS);
	send_train(&hub, 1);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_DEAD_PORT], FRAMES);
	hub_refuse(&hub, 0, make_train(wire, 1));
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_DEAD_PORT], 2 * FRAMES);
	assert_false(pull_unit(&hub, &frame, MS));
	end(&hub);
}

/* Their numbers end with the last frame of the last train that came through the port. */
static void trains_of_who_has_gone_are_rogues(void **state)
{
	struct rfm_link_self peer = { .id = 12, .incarnation = 1002 };
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_frame frame;
	unsigned int len;
	struct hub hub;

	(void)state;
	begin(&hub, NULL);
	send_train(&hub, 1);
	assert_true(pull_unit(&hub, &frame, MS));
	hub_set_light(&hub, 0, false, NULL, MS);
	hub_set_light(&hub, 0, true, &peer, MS);
	while (!hub_light_out(&hub, 1))
		;
	send_train(&hub, 1);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_ROGUE], FRAMES);
	/* Its last frame alone, too. */
	make_train(wire, 1);
	len = rfm_train_frame(wire, FRAMES - 1, wire + 1024);
	hub_receive(&hub, 0, wire + 1024, len, MS);
	assert_int_equal(hub.ports[0].stats.dropped[HUB_DROP_ROGUE], FRAMES + 1);
	end(&hub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_train_passes_as_one),
		cmocka_unit_test(a_fault_strikes_one_frame_of_it),
		cmocka_unit_test(a_delay_keeps_the_order),
		cmocka_unit_test(a_paced_port_sends_frames),
		cmocka_unit_test(a_damaged_train_stays_damaged),
		cmocka_unit_test(what_is_dropped_is_counted_in_frames),
		cmocka_unit_test(trains_of_who_has_gone_are_rogues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
