// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * What a node does while the ring is whole: whose bytes arrive where, in which
 * order. The litmus tests are those of docs/ordering.md.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <stdlib.h>
#include <string.h>

#include "ring/wire.h"

/* --- updates -------------------------------------------------------------- */

static void a_store_arrives_everywhere(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	for (unsigned int len = 1; len <= RFM_FRAME_DATA_MAX; len++) {
		uint8_t bytes[RFM_FRAME_DATA_MAX];
		uint32_t offset = 37 * len % 64;

		for (unsigned int i = 0; i < len; i++)
			bytes[i] = len + i;
		rig_store(rig, len % 3, offset, bytes, len);
		rig_settle(rig);
		for (int i = 0; i < 3; i++) {
			assert_memory_equal(rig->peers[i].memory + offset, bytes, len);
			assert_memory_equal(rig->peers[i].memory, rig->peers[0].memory,
					    RIG_MEMORY);
		}
	}
	rig_free(rig);
}

/* It goes round once, tells its originator so, and nobody else. */
static void the_originator_removes_it(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
	assert_int_equal(rig_status(rig, 1), 0);
	assert_int_equal(rig_status(rig, 2), 0);
	assert_int_equal(rig->peers[0].stored_count, 0);
	assert_int_equal(rig->peers[1].stored_count, 1);
	assert_int_equal(rig->peers[2].stored_count, 1);
	assert_int_equal(rig_stats(rig, 0).home, 1);
	assert_int_equal(rig_stats(rig, 0).lost, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig_in_flight(rig, i), 0);
	rig_free(rig);
}

static void a_card_alone_on_its_own_fibre(void **state)
{
	struct rig *rig = rig_new(1, 0);

	(void)state;
	rig_store32(rig, 0, 0, 7);
	rig_interrupt(rig, 0, 9, 1, 0);
	rig_settle(rig);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
	assert_int_equal(rig_stats(rig, 0).home, 2);
	assert_int_equal(rig->peers[0].stored_count, 0);
	rig_free(rig);
}

/* Two sizes on one ring: what lies past the smaller memory passes through it. */
static void a_smaller_memory_passes_on_what_lies_beyond(void **state)
{
	static const uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct rig *rig = rig_new(3, 1);
	struct rig_peer *small = &rig->peers[1];

	(void)state;
	rig_start(rig, 1, 2, 256, 5000);
	rig_join(rig, 1);
	rig_status(rig, 1);

	rig_store(rig, 0, 256, bytes, 8);
	rig_store(rig, 0, 248, bytes, 8);
	rig_store(rig, 0, 252, bytes, 8);	/* half within */
	rig_settle(rig);
	assert_int_equal(rfm_node_read_stats(&small->node).beyond, 2);
	assert_int_equal(small->stored_count, 2);
	assert_memory_equal(small->memory + 248, "\1\2\3\4\1\2\3\4", 8);
	assert_int_equal(small->memory[256], 0);
	assert_int_equal(rig_status(rig, 1), 0);	/* no BAD DATA */
	assert_memory_equal(rig->peers[2].memory + 252, bytes, 8);
	assert_int_equal(rig_stats(rig, 0).home, 3);
	rig_free(rig);
}

#define STEP 0x04000000u	/* one step of the address offset, 64 MiB */

/* LCSR1[17:16]: added on the way out, taken off on the way in, modulo 256 MiB. */
static void address_offset(void **state)
{
	static const uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct rig *rig = rig_new(3, 1);
	struct rfm_frame frame;

	(void)state;
	rfm_node_set_address_offset(&rig->peers[0].node, STEP);
	rfm_node_set_address_offset(&rig->peers[1].node, STEP);
	rig_store32(rig, 0, 16, 0x11111111);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 1, 16), 0x11111111);
	assert_int_equal(rig->peers[2].stored_count, 0);	/* 64 MiB further up for it */
	assert_int_equal(rig_stats(rig, 2).beyond, 1);

	rig_store32(rig, 2, 16, 0x22222222);	/* 64 MiB below the others' start: their last */
	rig_settle(rig);
	assert_int_equal(rig_stats(rig, 0).beyond, 1);
	assert_int_equal(rig_load32(rig, 1, 16), 0x11111111);

	rfm_node_set_address_offset(&rig->peers[0].node, 3 * STEP);
	rig_store32(rig, 0, 0, 1);
	assert_true(rig_pull(rig, 0, 1));
	assert_true(rig_drop(rig, 0, &frame));
	assert_int_equal(frame.address, 3 * STEP);

	/* An unaligned store at the wrap becomes two frames, as one can't hold it. */
	rfm_node_store(&rig->peers[0].node, STEP - 3, bytes, 8, rig->now);
	assert_true(rig_pull(rig, 0, 2));
	assert_true(rig_drop(rig, 0, &frame));
	assert_int_equal(frame.address, RFM_RING_SPACE - 3);
	assert_int_equal(frame.length, 3);
	assert_memory_equal(frame.data, bytes, 3);
	assert_true(rig_drop(rig, 0, &frame));
	assert_int_equal(frame.address, 0);
	assert_int_equal(frame.length, 5);
	assert_memory_equal(frame.data, bytes + 3, 5);
	rig_free(rig);
}

/* A frame that begins below our start and ends above it. */
static void address_offset_wraps_inside_a_foreign_frame(void **state)
{
	static const uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct rig *rig = rig_new(2, 1);

	(void)state;
	rfm_node_set_address_offset(&rig->peers[1].node, STEP);
	rfm_node_store(&rig->peers[0].node, STEP - 4, bytes, 8, rig->now);
	rig_settle(rig);
	assert_memory_equal(rig->peers[1].memory, bytes + 4, 4);
	assert_int_equal(rig->peers[1].stored_count, 1);
	rig_free(rig);
}

/* --- interrupts ----------------------------------------------------------- */

static void interrupts_reach_whom_they_name(void **state)
{
	static const uint8_t types[] = { 0, 1, 2, 3, 7 };
	struct rig *rig = rig_new(3, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		rig_interrupt(rig, 0, 3, types[i], 0xabcd0000 + i);
		rig_settle(rig);
		assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
		assert_int_equal(rig->peers[1].interrupt_count, 0);
		assert_int_equal(rig->peers[2].interrupt_count, i + 1);
		assert_int_equal(rig->peers[2].interrupts[i].type, types[i]);
		assert_int_equal(rig->peers[2].interrupts[i].from, 1);
		assert_int_equal(rig->peers[2].interrupts[i].data, 0xabcd0000 + i);
	}
	/* Global: everybody but the sender, whatever the target says. */
	rig_interrupt(rig, 0, 3, 0x8 | 2, 5);
	rig_settle(rig);
	assert_int_equal(rig->peers[0].interrupt_count, 0);
	assert_int_equal(rig->peers[1].interrupt_count, 1);
	assert_int_equal(rig->peers[1].interrupts[0].type, 2);
	assert_int_equal(rig->peers[2].interrupt_count, 6);
	rig_free(rig);
}

static void a_node_never_interrupts_itself(void **state)
{
	struct rig *rig = rig_new(3, 1);

	(void)state;
	rig_interrupt(rig, 0, 1, 1, 0);
	rig_settle(rig);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rig->peers[i].interrupt_count, 0);
	assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
	rig_free(rig);
}

static void reserved_kinds_circulate_and_do_nothing(void **state)
{
	static const uint8_t kinds[] = { 4, 5, 6, 0xc, 0xd, 0xe };
	struct rig *rig = rig_new(3, 1);
	uint64_t forwarded = rig_stats(rig, 1).forwarded;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		rig_interrupt(rig, 0, 2, kinds[i], 0);
		rig_settle(rig);
		assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
		assert_int_equal(rig_status(rig, 1), 0);
		assert_int_equal(rig->peers[1].interrupt_count, 0);
		assert_int_equal(rig_stats(rig, 1).forwarded, forwarded + i + 1);
	}
	rig_free(rig);
}

/* Also behind stores that still wait for their turn. */
static void interrupts_stay_behind_the_data(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *to = &rig->peers[1];
	uint64_t stores = RFM_NODE_WINDOW + 100;

	(void)state;
	for (uint64_t i = 0; i < stores; i++)
		rig_store32(rig, 0, 4, i);
	rig_interrupt(rig, 0, 2, 1, 1);
	rig_store32(rig, 0, 4, 0xffff);
	rig_settle(rig);
	assert_int_equal(to->interrupt_count, 1);
	assert_int_equal(to->interrupts[0].after, stores);
	assert_int_equal(to->stored_count, stores + 1);
	rig_free(rig);
}

/* --- optics --------------------------------------------------------------- */

static void loopback(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	rig_store32(rig, 1, 0, 1);
	rfm_node_set_optics(node, false, true, false, rig->now);
	assert_false(rfm_node_light_out(node));
	assert_true(rfm_node_signal(node));
	rig_store32(rig, 0, 8, 2);
	rig_interrupt(rig, 0, 2, 1, 0);
	/* Own frames are home at once; nothing leaves, nothing comes in. */
	assert_int_equal(rig_status(rig, 0), RFM_NODE_OWN_DATA);
	assert_int_equal(rfm_node_read_stats(node).home, 2);
	assert_true(rfm_node_tx_empty(node));
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 0, 0), 0);
	assert_int_equal(rig_load32(rig, 1, 8), 0);
	assert_int_equal(rig->peers[1].interrupt_count, 0);

	/* Back on the ring; the others see what they missed. */
	rfm_node_set_optics(node, false, false, false, rig->now);
	rig_settle(rig);
	rig_store32(rig, 0, 12, 3);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 2, 12), 3);
	assert_int_equal(rig_stats(rig, 1).missed, 2);
	assert_int_equal(rig_stats(rig, 2).missed, 2);
	rig_free(rig);
}

static void transmitter_off(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[0].node;

	(void)state;
	rfm_node_set_optics(node, true, false, false, rig->now);
	assert_false(rfm_node_light_out(node));
	assert_true(rfm_node_signal(node));
	rfm_node_set_light(&rig->peers[1].node, false, rig->now);	/* as the link tells it */
	assert_int_equal(rig_status(rig, 0), 0);
	assert_int_equal(rig_status(rig, 1), RFM_NODE_SYNC_LOSS);
	assert_int_equal(rig_status(rig, 2), 0);
	rig_store32(rig, 0, 0, 1);
	rig_store32(rig, 2, 4, 2);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 0, 4), 2);	/* it still receives */
	assert_int_equal(rig_load32(rig, 1, 4), 0);	/* and passes nothing on */
	assert_int_equal(rig_load32(rig, 1, 0), 0);
	assert_int_equal(rfm_node_read_stats(node).dark, 1);
	assert_int_equal(rfm_node_read_stats(node).unsendable, 2);	/* and a break notice */
	rig_free(rig);
}

/* With dark-on-dark a node that sees no light sends none. */
static void dark_on_dark(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node *node = &rig->peers[1].node;
	uint64_t wakes;

	(void)state;
	rfm_node_set_optics(node, false, false, true, rig->now);
	assert_true(rfm_node_light_out(node));
	wakes = rig->peers[1].transmit_count;
	rfm_node_set_light(node, false, rig->now);
	assert_false(rfm_node_light_out(node));
	assert_int_equal(rig->peers[1].transmit_count, wakes + 1); /* to tell the neighbour */
	rfm_node_set_light(node, true, rig->now);
	assert_true(rfm_node_light_out(node));
	/* Without it, light goes on without light coming in. */
	rfm_node_set_optics(node, false, false, false, rig->now);
	rfm_node_set_light(node, false, rig->now);
	assert_true(rfm_node_light_out(node));
	rig_free(rig);
}

/* --- the sender's wake-up ------------------------------------------------- */

/* Once when there is something again, not for each frame, nor while it pulls. */
static void the_sender_is_woken_once(void **state)
{
	struct rig *rig = rig_new(2, 1);
	struct rig_peer *peer = &rig->peers[0];
	uint64_t before = peer->transmit_count;

	(void)state;
	assert_true(rfm_node_tx_empty(&peer->node));
	for (int i = 0; i < 10; i++)
		rfm_node_store(&peer->node, 0, &i, sizeof(i), rig->now);
	assert_int_equal(peer->transmit_count, before + 1);
	assert_false(rfm_node_tx_empty(&peer->node));
	for (int i = 0; i < 10; i++)
		assert_true(rig_pull(rig, 0, 1));
	assert_int_equal(peer->transmit_count, before + 1);
	rig_settle(rig);
	assert_true(rfm_node_tx_empty(&peer->node));
	before = peer->transmit_count;
	rfm_node_interrupt(&peer->node, 2, 1, 0, rig->now);
	assert_int_equal(peer->transmit_count, before + 1);
	/* Also for what only passes through. */
	rig_pull(rig, 0, 1);
	before = rig->peers[1].transmit_count;
	rig_deliver(rig, 0);
	assert_int_equal(rig->peers[1].transmit_count, before + 1);
	rig_free(rig);
}

/* What waits for credit is not polled for: the frame that brings it wakes the sender. */
static void credit_wakes_the_sender(void **state)
{
	struct rfm_node_config like = rig_config(0, 0);
	struct rig_peer *peer;
	struct rig *rig;

	(void)state;
	like.window = 1;
	rig = rig_new_like(2, 1, &like);
	peer = &rig->peers[0];
	for (int i = 0; i < 3; i++)
		rfm_node_store(&peer->node, 4 * i, "1234", 4, rig->now);
	rig_pull(rig, 0, 10);
	assert_int_equal(rig_in_flight(rig, 0), 1);
	assert_false(peer->awake);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 10);
	assert_false(peer->awake);
	rig_deliver(rig, 1);
	assert_true(peer->awake);
	rig_settle(rig);
	assert_int_equal(rig->peers[1].stored_count, 3);
	/* On a ring that has opened, time does. */
	peer->cut = true;
	for (int i = 0; i < 2; i++)
		rfm_node_store(&peer->node, 4 * i, "5678", 4, rig->now);
	rig_settle(rig);
	assert_false(peer->awake);
	rig->now += RFM_NODE_SLOW_EXPIRY_NS;
	rfm_node_tick(&peer->node, rig->now);
	assert_true(peer->awake);
	rig_free(rig);
}

/* --- litmus tests --------------------------------------------------------- */

/*
 * A program is a few operations for each of up to three threads, one a node:
 * W stores 1, R loads, C stores 1 if the thread's last load gave 1, I sends an
 * interrupt to everybody, J loads whether one has come. Loads fill registers
 * in the order of the text.
 */
struct litmus {
	const char *thread[3][3];
};

#define LITMUS_RUNS 20000

static void litmus_step(struct rig *rig, int peer, const char *op, int *reg)
{
	uint32_t offset = op[1] ? (op[1] - 'a') * 8 : 0;

	switch (op[0]) {
	case 'W':
		rig_store32(rig, peer, offset, 1);
		break;
	case 'R':
		*reg = rig_load32(rig, peer, offset);
		break;
	case 'C':
		if (*reg)
			rig_store32(rig, peer, offset, 1);
		break;
	case 'I':
		rig_interrupt(rig, peer, 0, 0x8 | 1, 0);
		break;
	case 'J':
		*reg = rig->peers[peer].interrupt_count > 0;
		break;
	}
}

/*
 * Runs the program under random schedules on a ring of @size, each thread on
 * any node. Returns how often all loads together gave @outcome ("10" = first 1,
 * second 0); *@other: how often @witness.
 */
static int litmus(const struct litmus *program, int size, const struct rig_mode *mode,
		  const char *outcome, const char *witness, int *other)
{
	struct rig *rig = rig_new_mode(size, 1, mode);
	uint64_t seed = 77 + size;
	int seen = 0;

	for (int run = 0; run < LITMUS_RUNS; run++) {
		int place[3], at[3] = { 0 }, reg[3] = { 0 }, results[9], count = 0;
		char got[10] = "";

		for (int i = 0; i < size; i++) {
			memset(rig->peers[i].memory, 0, 32);
			rig->peers[i].interrupt_count = 0;
		}
		for (int t = 0; t < 3; t++) {
			do {
				place[t] = test_random(&seed) % size;
			} while ((t > 0 && place[t] == place[0]) ||
				 (t > 1 && size > 2 && place[t] == place[1]));
			for (int i = 0; i < 3; i++)
				results[t * 3 + i] = -1;
		}
		for (int idle = 0; idle < 3;) {
			int t = test_random(&seed) % 3;

			rig_pull(rig, test_random(&seed) % size, 1);
			rig_deliver(rig, test_random(&seed) % size);
			if (test_random(&seed) % size)
				continue;
			idle = 0;
			if (at[t] < 3 && program->thread[t][at[t]]) {
				const char *op = program->thread[t][at[t]];

				litmus_step(rig, place[t], op, &reg[t]);
				if (op[0] == 'R' || op[0] == 'J')
					results[t * 3 + at[t]] = reg[t];
				at[t]++;
			}
			for (t = 0; t < 3; t++)
				idle += at[t] == 3 || !program->thread[t][at[t]];
		}
		for (int i = 0; i < 9; i++)
			if (results[i] >= 0)
				got[count++] = '0' + results[i];
		seen += !strcmp(got, outcome);
		*other += !strcmp(got, witness);
		rig_settle(rig);
	}
	rig_free(rig);
	return seen;
}

static void forbid(const struct litmus *program, const char *outcome, const char *witness)
{
	static const int sizes[] = { 3, 3, 4, 4, 8, 8 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const struct rig_mode *mode = &rig_modes[i % 2];	/* plain, packed */
		int other = 0;

		assert_int_equal(litmus(program, sizes[i], mode, outcome, witness, &other), 0);
		/* The schedules were such that it could have been seen. */
		assert_true(other > 0);
	}
}

static void message_passing(void **state)
{
	static const struct litmus mp = { { { "Wa", "Wb" }, { "Rb", "Ra" } } };

	(void)state;
	forbid(&mp, "10", "11");
}

static void message_passing_by_interrupt(void **state)
{
	static const struct litmus mp = { { { "Wa", "I" }, { "J", "Ra" } } };

	(void)state;
	forbid(&mp, "10", "11");
}

static void write_to_read_causality(void **state)
{
	static const struct litmus wrc = { { { "Wa" }, { "Ra", "Cb" }, { "Rb", "Ra" } } };

	(void)state;
	forbid(&wrc, "110", "111");
}

static void isa2(void **state)
{
	static const struct litmus isa2 = {
		{ { "Wa", "Wb" }, { "Rb", "Cc" }, { "Rc", "Ra" } }
	};

	(void)state;
	forbid(&isa2, "110", "111");
}

/* A reader never sees a word go back to what one source wrote there before. */
static void coherence_of_one_writer(void **state)
{
	static const struct litmus corr = { { { "Wa" }, { "Ra", "Ra" } } };

	(void)state;
	forbid(&corr, "10", "11");
}

/* Not promised, and seen: each stores, then reads the other's word as it was. */
static void store_buffering_may_fail(void **state)
{
	static const struct litmus sb = { { { "Wa", "Rb" }, { "Wb", "Ra" } } };

	(void)state;
	for (int mode = 0; mode < 2; mode++) {
		int other = 0;

		assert_true(litmus(&sb, 3, &rig_modes[mode], "00", "11", &other) > 0);
		assert_true(other > 0);
	}
}

/* Not promised: two readers may see two independent writers in either order. */
static void independent_writers_may_be_seen_in_two_orders(void **state)
{
	struct rig *rig = rig_new(4, 1);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_store32(rig, 2, 8, 1);
	rig_pull(rig, 0, 1);
	rig_pull(rig, 2, 1);
	rig_deliver(rig, 0);
	rig_deliver(rig, 2);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	assert_int_equal(rig_load32(rig, 1, 8), 0);
	assert_int_equal(rig_load32(rig, 3, 8), 1);
	assert_int_equal(rig_load32(rig, 3, 0), 0);
	rig_free(rig);
}

/* Not promised: two writers of one word may leave different contents for good. */
static void two_writers_of_one_word_may_disagree(void **state)
{
	struct rig *rig = rig_new(2, 1);

	(void)state;
	rig_store32(rig, 0, 0, 1);
	rig_store32(rig, 1, 0, 2);
	rig_settle(rig);
	assert_int_equal(rig_load32(rig, 0, 0), 2);
	assert_int_equal(rig_load32(rig, 1, 0), 1);
	rig_free(rig);
}

/* --- any schedule --------------------------------------------------------- */

#define RANDOM_STEPS	60000

/* What has been said and seen on a ring under a random schedule. */
struct history {
	struct rig *rig;
	uint32_t said[RIG_PEERS_MAX];
	uint32_t seen[RIG_PEERS_MAX][RIG_PEERS_MAX];	/* by node, of source */
	/* what the source had seen when it said its n-th message */
	uint32_t (*knew[RIG_PEERS_MAX])[RIG_PEERS_MAX];
};

static void history_say(struct history *h, int source, bool interrupt)
{
	struct rig *rig = h->rig;
	uint32_t number = ++h->said[source];

	h->seen[source][source] = number;
	memcpy(h->knew[source][number], h->seen[source], sizeof(h->seen[source]));
	if (interrupt)
		rig_interrupt(rig, source, 0, 0x8 | 1, number);
	else
		rig_store32(rig, source, source * 256 + number % 64 * 4, number);
}

/* Node @at sees a message: the next of its source, with all its source knew. */
static void history_see(struct history *h, int at, int source, uint32_t number)
{
	assert_int_equal(number, h->seen[at][source] + 1);
	h->seen[at][source] = number;
	for (int s = 0; s < h->rig->count; s++)
		assert_true(h->seen[at][s] >= h->knew[source][number][s]);
}

static void history_deliver(struct history *h, int from)
{
	int at = rig_next(h->rig, from);
	struct rig_peer *peer = &h->rig->peers[at];
	uint64_t stored = peer->stored_count, interrupts = peer->interrupt_count;

	if (!rig_deliver(h->rig, from))
		return;
	assert_true(peer->stored_count + peer->interrupt_count <= stored + interrupts + 1);
	if (peer->stored_count > stored) {
		const struct rig_stored *entry = &peer->stored[stored];

		for (unsigned int n = 0; n < entry->len; n += 4)
			history_see(h, at, entry->offset / 256, get32(entry->data + n));
	}
	if (peer->interrupt_count > interrupts) {
		history_see(h, at, peer->interrupts[0].from, peer->interrupts[0].data);
		peer->interrupt_count = 0;
	}
}

/* The transmit FIFO of a closed ring holds at most every window and some notices. */
static void assert_fifo_bound(const struct rig *rig)
{
	for (int i = 0; i < rig->count; i++) {
		const struct rfm_fifo *fifo = &rig->peers[i].node.transmit;

		assert_true(rfm_fifo_used(fifo) <= (uint32_t)rig->count * (RFM_NODE_WINDOW + 8));
	}
}

static void history_random_step(struct history *h, int mean, uint64_t *seed)
{
	struct rig *rig = h->rig;
	int who = test_random(seed) % rig->count;

	if (!(test_random(seed) % mean) && rfm_node_may_store(&rig->peers[who].node))
		history_say(h, who, !(test_random(seed) % 8));
	rig_pull(rig, test_random(seed) % rig->count, 1 + test_random(seed) % 4);
	for (int n = test_random(seed) % 4; n; n--)
		history_deliver(h, test_random(seed) % rig->count);
}

static void history_settle(struct history *h)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < h->rig->count; i++) {
			moved |= rig_pull(h->rig, i, 1);
			moved |= rig_in_flight(h->rig, i) > 0;
			history_deliver(h, i);
		}
	}
}

/* All that was said was seen, the memories are one, and the books say so. */
static void assert_history_complete(const struct history *h)
{
	const struct rig *rig = h->rig;
	uint64_t sent = 0;

	for (int i = 0; i < rig->count; i++)
		sent += rig_stats(rig, i).sent;
	for (int i = 0; i < rig->count; i++) {
		const struct rfm_node_config *config = &rig->peers[i].node.config;
		const struct rfm_node_stats stats = rig_stats(rig, i);

		for (int s = 0; s < rig->count; s++)
			assert_int_equal(h->seen[i][s], h->said[s]);
		assert_memory_equal(rig->peers[i].memory, rig->peers[0].memory, RIG_MEMORY);
		assert_int_equal(stats.stores, h->said[i]);
		assert_int_equal(stats.home, stats.sent);
		assert_int_equal(stats.received, sent - stats.sent);
		assert_int_equal(stats.copies, config->redundant ? sent : 0);
		if (config->unpacked)
			assert_int_equal(stats.sent, stats.stores);
		assert_int_equal(stats.lost + stats.missed + stats.late + stats.full +
				 stats.overrun + stats.dark + stats.bad + stats.mixed, 0);
		assert_true(stats.window_peak <= config->window);
	}
}

/*
 * @mean: how many frames move for one that is said; below the size of the ring
 * the queues fill, above it they are empty most of the time.
 */
static void random_schedule(const struct rig_mode *mode, int size, int mean, uint64_t seed)
{
	struct rig *rig = rig_new_mode(size, 0, mode);
	struct history h = { .rig = rig };

	for (int i = 0; i < size; i++) {
		h.knew[i] = calloc(RANDOM_STEPS + 1, sizeof(*h.knew[i]));
		assert_non_null(h.knew[i]);
	}
	for (int step = 0; step < RANDOM_STEPS; step++) {
		history_random_step(&h, mean, &seed);
		if (step % 64)
			continue;
		rig->now += 1 * MS;
		for (int i = 0; i < size; i++)
			rfm_node_tick(&rig->peers[i].node, rig->now);
		assert_fifo_bound(rig);
	}
	history_settle(&h);
	assert_history_complete(&h);
	for (int i = 0; i < size; i++)
		free(h.knew[i]);
	rig_free(rig);
}

/* Every node sees each source in its order, and nothing before its cause. */
static void order_and_causality_under_any_schedule(void **state)
{
	static const int sizes[] = { 2, 3, 8 };
	static const int means[] = { 1, 4, 16 };

	(void)state;
	for (size_t mode = 0; mode < RIG_MODES; mode++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			for (size_t m = 0; m < ARRAY_SIZE(means); m++)
				random_schedule(&rig_modes[mode], sizes[i], means[m],
						1000 + mode * 100 + i * 10 + m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_arrives_everywhere),
		cmocka_unit_test(the_originator_removes_it),
		cmocka_unit_test(a_card_alone_on_its_own_fibre),
		cmocka_unit_test(a_smaller_memory_passes_on_what_lies_beyond),
		cmocka_unit_test(address_offset),
		cmocka_unit_test(address_offset_wraps_inside_a_foreign_frame),
		cmocka_unit_test(interrupts_reach_whom_they_name),
		cmocka_unit_test(a_node_never_interrupts_itself),
		cmocka_unit_test(reserved_kinds_circulate_and_do_nothing),
		cmocka_unit_test(interrupts_stay_behind_the_data),
		cmocka_unit_test(loopback),
		cmocka_unit_test(transmitter_off),
		cmocka_unit_test(dark_on_dark),
		cmocka_unit_test(the_sender_is_woken_once),
		cmocka_unit_test(credit_wakes_the_sender),
		cmocka_unit_test(message_passing),
		cmocka_unit_test(message_passing_by_interrupt),
		cmocka_unit_test(write_to_read_causality),
		cmocka_unit_test(isa2),
		cmocka_unit_test(coherence_of_one_writer),
		cmocka_unit_test(store_buffering_may_fail),
		cmocka_unit_test(independent_writers_may_be_seen_in_two_orders),
		cmocka_unit_test(two_writers_of_one_word_may_disagree),
		cmocka_unit_test(order_and_causality_under_any_schedule),
	};

	return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
