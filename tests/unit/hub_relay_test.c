// SPDX-License-Identifier: MIT
/* The hub as a state machine.
 * links: tools/rmhub/relay.c tools/rmhub/fault.c tools/rmhub/rogue.c
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/node.h"
#include "tools/rmhub/relay.h"

#define MS	1000000ull
#define PORTS	5

/* A hub with cards of ids 10, 11, ... on its ports, and what it told us. */
struct bench {
	struct hub hub;
	uint64_t now;
	uint64_t transmits[PORTS], changes[PORTS];
	uint64_t seen_in, seen_out;
	uint64_t seq[PORTS];
};

static void on_transmit(void *opaque, unsigned int port)
{
	struct bench *bench = opaque;

	bench->transmits[port]++;
}

static void on_changed(void *opaque, unsigned int port)
{
	struct bench *bench = opaque;

	bench->changes[port]++;
}

static void on_seen(void *opaque, unsigned int port, enum hub_side side, const uint8_t *wire,
		    unsigned int len, const char *remark, uint64_t now)
{
	struct bench *bench = opaque;

	(void)remark;
	assert_true(port < PORTS);
	assert_int_equal(rfm_frame_length(wire), len);
	assert_int_equal(now, bench->now);
	bench->seen_in += side == HUB_IN;
	bench->seen_out += side == HUB_OUT;
}

static const struct hub_ops ops = {
	.transmit = on_transmit,
	.changed = on_changed,
	.seen = on_seen,
};

static struct rfm_link_self card(unsigned int port, uint64_t incarnation)
{
	return (struct rfm_link_self){ .id = 10 + port, .incarnation = incarnation };
}

static uint64_t incarnation_of(unsigned int port)
{
	return 1000 + port;
}

static void light(struct bench *bench, unsigned int port)
{
	struct rfm_link_self peer = card(port, incarnation_of(port));

	hub_set_up(&bench->hub, port, true, bench->now);
	hub_set_light(&bench->hub, port, true, &peer, bench->now);
}

static void dark(struct bench *bench, unsigned int port)
{
	hub_set_light(&bench->hub, port, false, NULL, bench->now);
}

static struct bench *bench_new(const struct hub_config *config, unsigned int lit)
{
	static const struct hub_config plain = { .bad_limit = HUB_BAD_LIMIT, .queue = 64 };
	struct hub_port_config ports[PORTS] = { 0 };
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->now = 1000 * MS;
	assert_int_equal(hub_init(&bench->hub, config ? config : &plain, ports, PORTS, &ops, bench,
				  bench->now), 0);
	for (unsigned int i = 0; i < lit; i++)
		light(bench, i);
	for (unsigned int i = 0; i < PORTS; i++)
		while (!hub_light_out(&bench->hub, i))
			;
	return bench;
}

static struct rfm_frame update(struct bench *bench, unsigned int port)
{
	return (struct rfm_frame){
		.type = RFM_FRAME_DATA,
		.source = 10 + port,
		.length = 4,
		.address = 0x100,
		.incarnation = incarnation_of(port),
		.seq = ++bench->seq[port],
		.time_ns = bench->now,
		.hops = 1,
	};
}

static void inject(struct bench *bench, unsigned int port, const struct rfm_frame *frame)
{
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = rfm_frame_encode(frame, wire);

	hub_receive(&bench->hub, port, wire, len, bench->now);
}

static void send_updates(struct bench *bench, unsigned int port, unsigned int count)
{
	while (count--) {
		struct rfm_frame frame = update(bench, port);

		inject(bench, port, &frame);
	}
}

static bool pull(struct bench *bench, unsigned int port, struct rfm_frame *frame)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = hub_pull(&bench->hub, port, wire, bench->now);

	if (!len)
		return false;
	assert_int_equal(rfm_frame_length(wire), len);
	assert_int_equal(rfm_frame_decode(wire, frame), RFM_FRAME_OK);
	return true;
}

static unsigned int pull_all(struct bench *bench, unsigned int port)
{
	struct rfm_frame frame;
	unsigned int count = 0;

	while (pull(bench, port, &frame))
		count++;
	return count;
}

/* Nothing is lost without being counted. */
static void check_balance(const struct hub *hub)
{
	uint64_t in = 0, out = 0;

	for (unsigned int i = 0; i < hub->count; i++) {
		const struct hub_port_stats *stats = &hub->ports[i].stats;

		in += stats->in + stats->duplicates;
		out += stats->out;
		for (unsigned int reason = 0; reason < HUB_DROPS; reason++)
			out += stats->dropped[reason];
	}
	assert_int_equal(in, out + hub_waits(hub));
}

static void bench_free(struct bench *bench)
{
	check_balance(&bench->hub);
	hub_destroy(&bench->hub);
	free(bench);
}

static uint64_t dropped(const struct bench *bench, unsigned int port, enum hub_drop reason)
{
	return bench->hub.ports[port].stats.dropped[reason];
}

/* What the link would say about our light: off, and on again at the next look? */
static bool shows_sync_loss(struct bench *bench, unsigned int port)
{
	if (hub_light_out(&bench->hub, port))
		return false;
	assert_true(hub_light_out(&bench->hub, port));
	return true;
}

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
	assert_int_equal(dropped(bench, 1, HUB_DROP_DARK), 2);
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
	assert_int_equal(dropped(bench, 1, HUB_DROP_DARK), 1);
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
	assert_int_equal(dropped(bench, 0, HUB_DROP_DARK), 1);
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

/* --- faults --------------------------------------------------------------- */

static struct fault *set_fault(struct bench *bench, enum fault_kind kind, uint64_t nth,
			       uint64_t count)
{
	struct fault_spec spec;
	struct fault *fault;

	fault_spec_init(&spec, kind);
	spec.nth = nth;
	spec.count = count;
	if (kind == FAULT_DELAY || kind == FAULT_FREEZE)
		spec.time = 5 * MS;
	assert_null(fault_spec_check(&spec, false));
	fault = faults_add(&bench->hub.faults, &spec, bench->now);
	assert_non_null(fault);
	return fault;
}

static void expect_seqs(struct bench *bench, unsigned int port, const char *expected)
{
	struct rfm_frame frame;
	char seqs[64] = "";

	while (pull(bench, port, &frame))
		snprintf(seqs + strlen(seqs), sizeof(seqs) - strlen(seqs), "%u ",
			 (unsigned int)frame.seq);
	assert_string_equal(seqs, expected);
}

static void test_drop(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_DROP, 3, 2);

	(void)state;
	send_updates(bench, 0, 6);
	expect_seqs(bench, 1, "1 2 5 6 ");
	assert_int_equal(fault->fired, 2);
	assert_int_equal(fault->by_source[10], 2);
	assert_int_equal(dropped(bench, 0, HUB_DROP_FAULT), 2);
	assert_int_equal(bench->hub.ports[0].stats.faults[FAULT_DROP], 2);
	bench_free(bench);
}

static void test_duplicate(void **state)
{
	struct bench *bench = bench_new(NULL, 2);

	(void)state;
	set_fault(bench, FAULT_DUPLICATE, 2, 1);
	send_updates(bench, 0, 3);
	expect_seqs(bench, 1, "1 2 2 3 ");
	assert_int_equal(bench->hub.ports[0].stats.duplicates, 1);
	bench_free(bench);
}

static void test_reorder(void **state)
{
	struct bench *bench = bench_new(NULL, 3);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 2, 1);
	struct rfm_frame other;

	(void)state;
	send_updates(bench, 0, 2);
	other = update(bench, 2);	/* of another source: overtakes nobody */
	inject(bench, 0, &other);
	expect_seqs(bench, 1, "1 1 ");
	send_updates(bench, 0, 2);
	expect_seqs(bench, 1, "3 2 4 ");
	assert_int_equal(fault->in_vain, 0);
	bench_free(bench);
}

static void test_reorder_deeper(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 1, 2);

	(void)state;
	fault->spec.depth = 2;
	send_updates(bench, 0, 5);
	expect_seqs(bench, 1, "3 4 1 2 5 ");
	bench_free(bench);
}

static void test_reorder_in_vain(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct fault *fault = set_fault(bench, FAULT_REORDER, 2, 1);

	(void)state;
	send_updates(bench, 0, 2);
	assert_true(bench->hub.wake <= bench->now + HUB_OVERTAKE_NS);
	expect_seqs(bench, 1, "1 ");
	bench->now = bench->hub.wake;
	assert_int_equal(hub_tick(&bench->hub, bench->now), UINT64_MAX);
	expect_seqs(bench, 1, "2 ");
	assert_int_equal(fault->in_vain, 1);
	bench_free(bench);
}

static void test_delay_keeps_order(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	set_fault(bench, FAULT_DELAY, 2, 1);
	send_updates(bench, 0, 2);
	bench->now += 1 * MS;
	send_updates(bench, 0, 2);
	expect_seqs(bench, 1, "1 ");
	/* Another port does not notice. */
	send_updates(bench, 1, 1);
	assert_int_equal(pull_all(bench, 2), 1);
	bench->now += 4 * MS - 1;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "");
	bench->now++;
	assert_int_equal(bench->hub.wake, bench->now);
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "2 3 4 ");
	bench_free(bench);
}

static void test_delays_of_different_length(void **state)
{
	struct bench *bench = bench_new(NULL, 2);

	(void)state;
	set_fault(bench, FAULT_DELAY, 1, 1);
	set_fault(bench, FAULT_DELAY, 1, 1)->spec.time = 1 * MS;
	send_updates(bench, 0, 2);
	bench->now += 1 * MS;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "");
	bench->now += 4 * MS;
	hub_tick(&bench->hub, bench->now);
	expect_seqs(bench, 1, "1 2 ");
	bench_free(bench);
}

static void test_freeze(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	struct rfm_frame beat;
	uint64_t woken;

	(void)state;
	set_fault(bench, FAULT_FREEZE, 1, 1)->spec.port = 0;
	send_updates(bench, 0, 1);
	send_updates(bench, 1, 1);
	bench->now += 4 * MS;
	beat = update(bench, 0);
	beat.type = RFM_FRAME_HEARTBEAT;
	beat.length = 0;
	beat.address = 0;
	inject(bench, 0, &beat);	/* whatever comes stands still */
	expect_seqs(bench, 1, "");
	expect_seqs(bench, 0, "");
	assert_int_equal(hub_next_pull(&bench->hub, 0), bench->now + 1 * MS);
	assert_true(hub_light_out(&bench->hub, 0));
	bench->now += 1 * MS;
	woken = bench->transmits[0];
	hub_tick(&bench->hub, bench->now);
	assert_int_equal(bench->transmits[0], woken + 1);
	send_updates(bench, 0, 1);
	expect_seqs(bench, 1, "1 2 3 ");
	expect_seqs(bench, 0, "1 ");
	bench_free(bench);
}

static void test_corrupt(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	unsigned int damaged = 0;
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len;

	(void)state;
	set_fault(bench, FAULT_CORRUPT, 1, 0);
	for (int i = 0; i < 500; i++) {
		send_updates(bench, 0, 1);
		len = hub_pull(&bench->hub, 1, wire, bench->now);
		assert_int_equal(rfm_frame_length(wire), len);
		damaged += rfm_frame_decode(wire, &(struct rfm_frame){ 0 }) == RFM_FRAME_DAMAGED;
	}
	assert_int_equal(damaged, 500);
	/* The hub did that, not the card. */
	assert_int_equal(bench->hub.ports[0].stats.damaged, 0);
	bench_free(bench);
}

/* What arrives nowhere has overtaken nobody. */
static void test_corrupt_does_not_overtake(void **state)
{
	struct bench *bench = bench_new(NULL, 2);
	uint8_t wire[RFM_FRAME_MAX];

	(void)state;
	set_fault(bench, FAULT_REORDER, 1, 1);
	set_fault(bench, FAULT_CORRUPT, 1, 1)->spec.bit = 0;
	send_updates(bench, 0, 2);
	assert_true(hub_pull(&bench->hub, 1, wire, bench->now));
	assert_int_equal(hub_waits(&bench->hub), 1);
	send_updates(bench, 0, 1);
	expect_seqs(bench, 1, "3 1 ");
	bench_free(bench);
}

static void test_held_frames_die_with_port(void **state)
{
	struct bench *bench = bench_new(NULL, 3);

	(void)state;
	set_fault(bench, FAULT_REORDER, 1, 1);
	set_fault(bench, FAULT_DELAY, 1, 1);
	send_updates(bench, 0, 2);
	assert_int_equal(hub_waits(&bench->hub), 2);
	dark(bench, 0);
	assert_int_equal(dropped(bench, 0, HUB_DROP_IN_FLIGHT), 2);
	assert_int_equal(hub_waits(&bench->hub), 0);
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
	assert_int_equal(hub_init(&bench->hub, &config, ports, 2, &ops, bench, bench->now), 0);
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
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_reorder_deeper),
		cmocka_unit_test(test_reorder_in_vain),
		cmocka_unit_test(test_delay_keeps_order),
		cmocka_unit_test(test_delays_of_different_length),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_corrupt_does_not_overtake),
		cmocka_unit_test(test_held_frames_die_with_port),
		cmocka_unit_test(test_paced_line),
		cmocka_unit_test(test_random_life),
	};

	return cmocka_run_group_tests_name("hub relay", tests, NULL, NULL);
}
