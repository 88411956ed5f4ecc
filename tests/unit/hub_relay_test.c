// SPDX-License-Identifier: MIT
/* The hub as a state machine.
 * links: tools/rmhub/relay.c tools/rmhub/fault.c tools/rmhub/rogue.c tests/unit/bench.c
 */
#include "tests/unit/test.h"
#include "tests/unit/bench.h"

#include <stdlib.h>

#include "ring/node.h"
#include "ring/permit.h"

/* --- the ring ------------------------------------------------------------- */

static void test_passes_to_next_live(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct rfm_frame frame;

	(void)state;
	light(bench, 4);
	shows_sync_loss(bench, 0);
	send_updates(bench, 0, 1);
	assert_true(pull(bench, 1, &frame));
	assert_int_equal(frame.source, 10);
	assert_int_equal(frame.hops, 2);
	assert_int_equal(frame.marks, 1 << RFM_MARK_HUBS_SHIFT);
	send_updates(bench, 1, 1);
	assert_int_equal(pull_all(bench, 2), 0);
	assert_int_equal(pull_all(bench, 4), 1);
	send_updates(bench, 4, 1);
	assert_int_equal(pull_all(bench, 0), 1);
	assert_int_equal(bench->hub.ports[1].next, 4);
	assert_int_equal(bench->hub.ports[1].previous, 0);
	assert_int_equal(bench->hub.ports[0].previous, 4);
	assert_int_equal(bench->seen_in, 3);
	assert_int_equal(bench->seen_out, 3);
	bench_free(bench);
}

static void test_one_live_port_loops(void **state)
{
	struct bench *bench = bench_new(NULL, 0);

	(void)state;
	light(bench, 3);
	assert_true(hub_light_out(&bench->hub, 3));
	send_updates(bench, 3, 2);
	assert_int_equal(pull_all(bench, 3), 2);
	assert_int_equal(bench->hub.ports[3].next, 3);
	assert_int_equal(bench->hub.ports[3].previous, 3);
	bench_free(bench);
}

static void test_live_needs_both_ways(void **state)
{
	struct bench *bench = bench_new(NULL, 0);
	struct rfm_link_self peer = card(0, 1);

	(void)state;
	hub_set_light(&bench->hub, 0, true, &peer, bench->now);
	assert_false(bench->hub.ports[0].live);
	assert_string_equal(hub_port_why(&bench->hub.ports[0]), "no receiver");
	hub_set_up(&bench->hub, 0, true, bench->now);
	assert_true(bench->hub.ports[0].live);
	dark(bench, 0);
	assert_false(bench->hub.ports[0].live);
	assert_string_equal(hub_port_why(&bench->hub.ports[0]), "dark");
	/* A card with dark-on-dark waits for our light before it shines. */
	assert_true(hub_light_out(&bench->hub, 0));
	bench_free(bench);
}

static void test_dead_port_is_bypassed(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	send_updates(bench, 0, 5);	/* waits for 1 */
	send_updates(bench, 1, 7);	/* waits for 2 */
	send_updates(bench, 2, 3);	/* waits for 0 */
	dark(bench, 1);
	assert_int_equal(dropped(bench, 1, HUB_DROP_IN_FLIGHT), 5);
	assert_int_equal(dropped(bench, 2, HUB_DROP_IN_FLIGHT), 7);
	assert_int_equal(dropped(bench, 0, HUB_DROP_IN_FLIGHT), 0);
	assert_true(shows_sync_loss(bench, 2));
	assert_false(shows_sync_loss(bench, 0));
	assert_int_equal(pull_all(bench, 0), 3);
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 1), 0);
	assert_int_equal(pull_all(bench, 2), 1);
	assert_int_equal(bench->hub.ports[2].stats.sync_losses, 1);
	bench_free(bench);
}

static void test_nothing_leaves_before_light_is_back(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	dark(bench, 1);
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 2), 0);
	assert_false(hub_light_out(&bench->hub, 2));
	assert_int_equal(pull_all(bench, 2), 1);
	assert_true(hub_light_out(&bench->hub, 2));
	bench_free(bench);
}

/* Who has just connected has not seen our light yet: there is nothing to show. */
static void test_no_blink_for_new_connection(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	dark(bench, 1);
	hub_set_up(&bench->hub, 2, false, bench->now);
	hub_set_up(&bench->hub, 2, true, bench->now);
	assert_true(hub_light_out(&bench->hub, 2));
	bench_free(bench);
}

static void test_joining_disturbs_next(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	dark(bench, 1);
	shows_sync_loss(bench, 2);
	send_updates(bench, 0, 4);
	light(bench, 1);
	assert_int_equal(dropped(bench, 2, HUB_DROP_IN_FLIGHT), 4);
	assert_true(shows_sync_loss(bench, 2));
	assert_false(shows_sync_loss(bench, 1));
	assert_false(shows_sync_loss(bench, 0));
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 1), 1);
	bench_free(bench);
}

static void test_glitchless(void **state)
{
	static const struct hub_config config = { .glitchless = true, .queue = 64 };
	struct bench *bench = bench_new(&config, 3);
	struct rfm_frame frame;

	(void)state;
	send_updates(bench, 1, 2);	/* waits for 2 */
	send_updates(bench, 0, 3);	/* waits for 1 */
	dark(bench, 1);
	assert_false(shows_sync_loss(bench, 2));
	for (int i = 0; i < 5; i++) {
		assert_true(pull(bench, 2, &frame));
		assert_int_equal(frame.source, i < 2 ? 11 : 10);
		assert_int_equal(frame.seq, i < 2 ? i + 1 : i - 1);
	}
	send_updates(bench, 0, 2);
	light(bench, 1);
	assert_false(shows_sync_loss(bench, 2));
	assert_int_equal(pull_all(bench, 2), 2);
	for (unsigned int i = 0; i < PORTS; i++)
		assert_int_equal(dropped(bench, i, HUB_DROP_IN_FLIGHT), 0);
	bench_free(bench);
}

static void test_bypass_by_hand(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	hub_bypass(&bench->hub, 1, true, bench->now);
	assert_string_equal(hub_port_why(&bench->hub.ports[1]), "bypassed");
	assert_false(hub_light_out(&bench->hub, 1));
	assert_false(hub_light_out(&bench->hub, 1));
	send_updates(bench, 1, 2);
	assert_int_equal(dropped(bench, 1, HUB_DROP_DEAD_PORT), 2);
	assert_true(shows_sync_loss(bench, 2));
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 2), 1);
	hub_bypass(&bench->hub, 1, false, bench->now);
	assert_true(hub_light_out(&bench->hub, 1));
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 1), 1);
	bench_free(bench);
}

static void test_cut(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	send_updates(bench, 0, 2);
	hub_cut(&bench->hub, 1, HUB_OUT, bench->now);
	/* Nobody tells the hub: the ring is open, not shorter. */
	assert_true(bench->hub.ports[1].live);
	assert_false(hub_light_out(&bench->hub, 1));
	assert_false(hub_light_out(&bench->hub, 1));
	send_updates(bench, 0, 3);
	assert_int_equal(dropped(bench, 1, HUB_DROP_CUT), 5);
	assert_int_equal(pull_all(bench, 1), 0);
	send_updates(bench, 1, 1);
	assert_int_equal(pull_all(bench, 2), 1);

	hub_cut(&bench->hub, 1, HUB_IN, bench->now);
	assert_string_equal(hub_port_why(&bench->hub.ports[1]), "cut");
	send_updates(bench, 1, 1);
	assert_int_equal(dropped(bench, 1, HUB_DROP_DEAD_PORT), 1);
	shows_sync_loss(bench, 2);
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 2), 1);

	hub_restore(&bench->hub, 1, bench->now);
	assert_true(bench->hub.ports[1].live);
	assert_true(hub_light_out(&bench->hub, 1));
	send_updates(bench, 0, 1);
	assert_int_equal(pull_all(bench, 1), 1);
	bench_free(bench);
}

static void test_overflow(void **state)
{
	struct bench *bench = bench_new(NULL, 2);

	(void)state;
	send_updates(bench, 0, 64 + 9);
	assert_int_equal(dropped(bench, 1, HUB_DROP_OVERFLOW), 9);
	assert_int_equal(pull_all(bench, 1), 64);
	bench_free(bench);
}

static void test_wakes_sender_once(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	uint64_t before = bench->transmits[1];

	(void)state;
	send_updates(bench, 0, 10);
	assert_int_equal(bench->transmits[1], before + 1);
	pull_all(bench, 1);
	send_updates(bench, 0, 1);
	assert_int_equal(bench->transmits[1], before + 2);
	bench_free(bench);
}

/* --- rogues, hops, damage ------------------------------------------------- */

static void test_rogues_of_dead_node(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct rfm_link_self again = card(1, 5000);
	struct rfm_frame rogue, fresh;

	(void)state;
	rogue = update(bench, 1);
	inject(bench, 1, &rogue);
	pull_all(bench, 2);
	dark(bench, 1);
	shows_sync_loss(bench, 2);
	inject(bench, 2, &rogue);
	inject(bench, 0, &rogue);
	assert_int_equal(dropped(bench, 2, HUB_DROP_ROGUE), 1);
	assert_int_equal(dropped(bench, 0, HUB_DROP_ROGUE), 1);
	assert_int_equal(pull_all(bench, 0) + pull_all(bench, 2), 0);

	/* In its next life its frames pass, and those of the former do not. */
	hub_set_light(&bench->hub, 1, true, &again, bench->now);
	shows_sync_loss(bench, 2);
	fresh = rogue;
	fresh.incarnation = 5000;
	inject(bench, 2, &fresh);
	assert_int_equal(pull_all(bench, 0), 1);
	inject(bench, 2, &rogue);
	assert_int_equal(dropped(bench, 2, HUB_DROP_ROGUE), 2);
	bench_free(bench);
}

static void test_same_life_comes_back(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct rfm_frame frame = update(bench, 1);

	(void)state;
	inject(bench, 1, &frame);
	pull_all(bench, 2);
	dark(bench, 1);
	light(bench, 1);
	shows_sync_loss(bench, 2);
	inject(bench, 2, &frame);	/* its own to remove now */
	assert_int_equal(dropped(bench, 2, HUB_DROP_ROGUE), 0);
	assert_int_equal(pull_all(bench, 0), 1);
	bench_free(bench);
}

static void test_node_that_moved_is_no_rogue(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct rfm_frame old, beat, newer;

	(void)state;
	old = update(bench, 1);
	inject(bench, 1, &old);
	dark(bench, 1);
	shows_sync_loss(bench, 2);
	inject(bench, 0, &old);
	assert_int_equal(dropped(bench, 0, HUB_DROP_ROGUE), 1);
	/* Plugged in elsewhere, its next heartbeat comes by another port. */
	beat = old;
	beat.type = RFM_FRAME_HEARTBEAT;
	beat.length = 0;
	beat.address = 0;
	beat.time_ns += 500 * MS;
	inject(bench, 0, &beat);
	newer = update(bench, 1);
	inject(bench, 0, &newer);
	assert_int_equal(pull_all(bench, 2), 2);
	bench_free(bench);
}

static void test_rogue_of_hub_is_unknown(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct rfm_link_self other = { .hub = true, .id = 10, .incarnation = incarnation_of(0) };
	struct rfm_frame frame = update(bench, 0);

	(void)state;
	hub_set_light(&bench->hub, 4, true, &other, bench->now);
	hub_set_up(&bench->hub, 4, true, bench->now);
	dark(bench, 4);
	shows_sync_loss(bench, 0);
	inject(bench, 0, &frame);
	assert_int_equal(pull_all(bench, 1), 1);
	bench_free(bench);
}

/* Two hubs and no node between them: what went astray comes to rest. */
static void test_two_hubs_without_nodes(void **state)
{
	struct bench *a = bench_new(NULL, 0), *b = bench_new(NULL, 0);
	struct rfm_frame frame;
	unsigned int rounds = 0;

	(void)state;
	light(a, 2);
	light(b, 4);
	send_updates(a, 2, 1);
	while (pull(a, 2, &frame) && rounds < 10000) {
		inject(b, 4, &frame);
		if (!pull(b, 4, &frame))
			break;
		inject(a, 2, &frame);
		rounds++;
	}
	assert_in_range(rounds, RFM_NODE_HOP_LIMIT / 2 - 2, RFM_NODE_HOP_LIMIT / 2);
	assert_int_equal(dropped(a, 2, HUB_DROP_HOP_LIMIT) + dropped(b, 4, HUB_DROP_HOP_LIMIT), 1);
	assert_int_equal(hub_waits(&a->hub) + hub_waits(&b->hub), 0);
	bench_free(a);
	bench_free(b);
}

/* Two hubs, connected twice: what one is shown it must not show the other for ever. */
static void test_circle_of_hubs_calms_down(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct rfm_link_self other = { .hub = true, .incarnation = 77 };

	(void)state;
	hub_set_up(&bench->hub, 2, true, bench->now);
	hub_set_light(&bench->hub, 2, true, &other, bench->now);
	for (int i = 0; i < 50; i++) {
		dark(bench, 1);
		hub_light_out(&bench->hub, 2);
		light(bench, 1);
		hub_light_out(&bench->hub, 2);
		bench->now += 1 * MS;
	}
	assert_int_equal(bench->hub.ports[2].stats.sync_losses, 1);
	bench->now += 51 * MS;
	dark(bench, 1);
	assert_true(shows_sync_loss(bench, 2));
	bench_free(bench);
}

static void test_damage_passes_unless_in_path(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	uint8_t wire[RFM_FRAME_MAX], back[RFM_FRAME_MAX];
	struct rfm_frame frame = update(bench, 0);
	unsigned int len = rfm_frame_encode(&frame, wire);

	(void)state;
	wire[RFM_FRAME_HEADER] ^= 1;
	hub_receive(&bench->hub, 0, wire, len, bench->now);
	assert_int_equal(hub_pull(&bench->hub, 1, back, bench->now), len);
	assert_int_equal(rfm_frame_decode(back, &frame), RFM_FRAME_DAMAGED);
	/* A hop count that cannot be believed might let it circle for ever. */
	wire[44] ^= 1;
	hub_receive(&bench->hub, 0, wire, len, bench->now);
	assert_int_equal(dropped(bench, 0, HUB_DROP_DAMAGED), 1);
	assert_int_equal(bench->hub.ports[0].stats.damaged, 2);
	bench_free(bench);
}

static void send_damaged(struct bench *bench, unsigned int port, unsigned int count)
{
	while (count--) {
		uint8_t wire[RFM_FRAME_MAX];
		struct rfm_frame frame = update(bench, port);
		unsigned int len = rfm_frame_encode(&frame, wire);

		wire[20] ^= 4;
		hub_receive(&bench->hub, port, wire, len, bench->now);
	}
}

static void test_bad_port(void **state)
{
	static const struct hub_config config = { .bad_limit = 10, .queue = 64 };
	struct bench *bench = bench_new(&config, 3);

	(void)state;
	send_damaged(bench, 0, 9);
	bench->now += 1000 * MS;
	send_damaged(bench, 0, 9);
	assert_true(bench->hub.ports[0].live);
	send_damaged(bench, 0, 1);
	assert_string_equal(hub_port_why(&bench->hub.ports[0]), "bad");
	assert_false(hub_light_out(&bench->hub, 0));
	assert_int_equal(dropped(bench, 0, HUB_DROP_DEAD_PORT), 1);
	assert_int_equal(bench->hub.ports[0].stats.bad, 1);
	assert_true(shows_sync_loss(bench, 1));
	send_updates(bench, 2, 1);
	assert_int_equal(pull_all(bench, 1), 1);

	/* Another chance: when its light comes anew, not at once; or by hand. */
	light(bench, 0);
	assert_false(bench->hub.ports[0].live);
	bench->now += 1000 * MS;
	light(bench, 0);
	assert_true(bench->hub.ports[0].live);
	send_damaged(bench, 0, 10);
	assert_false(bench->hub.ports[0].live);
	hub_restore(&bench->hub, 0, bench->now);
	assert_true(bench->hub.ports[0].live);
	bench_free(bench);
}

/* --- the line ------------------------------------------------------------- */

static void test_paced_line(void **state)
{
	static const struct hub_config config = { .queue = 64 };
	struct hub_port_config ports[2] = {
		{ .line = { .paced = true, .hop_ns = 450, .fibre_m = 100 } },
		{ .line = { .paced = true, .hop_ns = 450, .fibre_m = 100 } },
	};
	struct bench *bench = calloc(1, sizeof(*bench));

	(void)state;
	bench->now = 1000 * MS;
	assert_int_equal(hub_init(&bench->hub, &config, ports, 2, &bench_ops, bench, bench->now),
			 0);
	light(bench, 0);
	light(bench, 1);
	hub_light_out(&bench->hub, 0);
	send_updates(bench, 0, 2);
	/* 450 ns in the hub, 74 + 4 * 4.72 ns on the transmitter, 500 ns in the glass. */
	assert_in_range(hub_next_pull(&bench->hub, 1), bench->now + 1042, bench->now + 1044);
	assert_int_equal(pull_all(bench, 1), 0);
	bench->now += 1044;
	assert_int_equal(pull_all(bench, 1), 1);
	assert_in_range(hub_next_pull(&bench->hub, 1), bench->now + 90, bench->now + 93);
	bench->now += 93;
	assert_int_equal(pull_all(bench, 1), 1);
	assert_int_equal(hub_next_pull(&bench->hub, 1), UINT64_MAX);
	bench_free(bench);
}

/* --- anything at all ------------------------------------------------------ */

/* Damaged frames come out as they came. */
static void drain(struct bench *bench, unsigned int port)
{
	uint8_t wire[RFM_FRAME_MAX];

	while (hub_pull(&bench->hub, port, wire, bench->now))
		;
}

static void random_step(struct bench *bench, uint64_t *seed)
{
	unsigned int port = test_random(seed) % PORTS;

	switch (test_random(seed) % 16) {
	case 0:
		light(bench, port);
		break;
	case 1:
		dark(bench, port);
		break;
	case 2:
		hub_set_up(&bench->hub, port, test_random(seed) & 1, bench->now);
		break;
	case 3:
		hub_bypass(&bench->hub, port, test_random(seed) & 1, bench->now);
		break;
	case 4:
		hub_cut(&bench->hub, port, test_random(seed) & 3, bench->now);
		break;
	case 5:
		hub_restore(&bench->hub, port, bench->now);
		break;
	case 6:
		bench->now += test_random(seed) % (2 * MS);
		hub_tick(&bench->hub, bench->now);
		break;
	case 7:
		send_damaged(bench, port, 1);
		break;
	case 8:
	case 9:
		hub_light_out(&bench->hub, port);
		drain(bench, port);
		break;
	default:
		send_updates(bench, port, test_random(seed) % 20);
	}
}

static void test_random_life(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		const struct hub_config config = {
			.glitchless = seed & 1, .bad_limit = seed & 2 ? 1 : 0, .queue = 16,
		};
		struct bench *bench = bench_new(&config, 3);
		uint64_t random = seed;

		for (int kind = 0; kind < FAULT_KINDS; kind++) {
			struct fault *fault;

			if (kind == FAULT_CORRUPT)
				continue;
			fault = set_fault(bench, kind, 1, 0);
			fault->spec.probability = 0.1;
		}
		for (int i = 0; i < 1500; i++) {
			random_step(bench, &random);
			for (unsigned int port = 0; !config.bad_limit && port < PORTS; port++)
				drain(bench, port);
			check_balance(&bench->hub);
		}
		bench_free(bench);
	}
}

static void injected(struct bench *bench, struct rfm_frame frame, bool forged)
{
	uint64_t before = dropped(bench, 1, HUB_DROP_FORGED);

	frame.hops = 2;
	inject(bench, 1, &frame);
	assert_int_equal(dropped(bench, 1, HUB_DROP_FORGED) - before, forged);
	assert_int_equal(pull_all(bench, 2), !forged);
}

/* By its certificate who is behind port 1 is node 11; it forwards what it was sent. */
static void test_what_was_made_behind_a_port(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct rfm_permit permit = { .nodes = { [1] = 1 << 3 } };
	struct rfm_link_self hub = { .hub = true, .incarnation = 7 };
	struct rfm_frame sent, made;

	(void)state;
	hub_set_permit(&bench->hub, 1, &permit);
	sent = update(bench, 0);
	inject(bench, 0, &sent);
	assert_int_equal(pull_all(bench, 1), 1);
	injected(bench, sent, false);
	injected(bench, sent, false);		/* it may be late */
	made = sent;
	made.seq++;
	injected(bench, made, true);
	made = sent;
	made.time_ns++;
	injected(bench, made, true);
	made = sent;
	made.incarnation++;
	injected(bench, made, true);
	made.source = 99;			/* nobody has heard of that one */
	injected(bench, made, true);
	injected(bench, update(bench, 1), false);
	/* Another hub passes on what comes from beyond. */
	hub_set_light(&bench->hub, 1, true, &hub, bench->now);
	injected(bench, made, false);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes_to_next_live),
		cmocka_unit_test(test_one_live_port_loops),
		cmocka_unit_test(test_live_needs_both_ways),
		cmocka_unit_test(test_dead_port_is_bypassed),
		cmocka_unit_test(test_nothing_leaves_before_light_is_back),
		cmocka_unit_test(test_no_blink_for_new_connection),
		cmocka_unit_test(test_joining_disturbs_next),
		cmocka_unit_test(test_glitchless),
		cmocka_unit_test(test_bypass_by_hand),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_wakes_sender_once),
		cmocka_unit_test(test_rogues_of_dead_node),
		cmocka_unit_test(test_same_life_comes_back),
		cmocka_unit_test(test_node_that_moved_is_no_rogue),
		cmocka_unit_test(test_rogue_of_hub_is_unknown),
		cmocka_unit_test(test_two_hubs_without_nodes),
		cmocka_unit_test(test_circle_of_hubs_calms_down),
		cmocka_unit_test(test_damage_passes_unless_in_path),
		cmocka_unit_test(test_bad_port),
		cmocka_unit_test(test_paced_line),
		cmocka_unit_test(test_what_was_made_behind_a_port),
		cmocka_unit_test(test_random_life),
	};

	return cmocka_run_group_tests_name("hub relay", tests, NULL, NULL);
}
