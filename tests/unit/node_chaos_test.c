// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Everything at once, at random: fibres break, lasers go out, guests stand
 * still, frames are lost and damaged, while all nodes store and ask for fences.
 * A fence must never say more than is true, and in the end the books balance.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"

#include <stdlib.h>
#include <string.h>

#include "ring/wire.h"

#define STEPS	25000

/* What a source has said, and its last two fences. */
struct speaker {
	uint32_t said;		/* stores so far */
	uint64_t ticket;	/* of the fence under way, 0: none */
	uint64_t tickets;
	uint32_t fenced;	/* stores before it */
	uint32_t settled;	/* stores that earlier fences have spoken for */
};

struct chaos {
	struct rig *rig;
	uint64_t seed;
	bool connected[RIG_PEERS_MAX], paused[RIG_PEERS_MAX], off[RIG_PEERS_MAX];
	bool dark_on_dark;	/* of peer 0 only: all alike could stay dark for ever */
	struct speaker speakers[RIG_PEERS_MAX];
	uint8_t *got[RIG_PEERS_MAX][RIG_PEERS_MAX];	/* at, from: numbers that came */
	uint64_t looked[RIG_PEERS_MAX];	/* so far at a peer's stores */
	uint64_t clean, failed;
};

static uint32_t random_below(struct chaos *c, uint32_t limit)
{
	return test_random(&c->seed) % limit;
}

/* As the links would tell: whose laser is on, whose is not. */
static void tell_lights(struct chaos *c)
{
	struct rig *rig = c->rig;

	for (bool changed = true; changed;) {
		changed = false;
		for (int i = 0; i < rig->count; i++) {
			struct rfm_node *next = &rig->peers[rig_next(rig, i)].node;
			bool lit = c->connected[i] && rfm_node_light_out(&rig->peers[i].node);

			if (lit == next->light_in)
				continue;
			if (!lit)
				rig->peers[i].out.head = rig->peers[i].out.tail;
			rfm_node_set_light(next, lit, rig->now);
			changed = true;
		}
	}
}

static void set_connected(struct chaos *c, int i, bool connected)
{
	struct rig_peer *peer = &c->rig->peers[i];

	c->connected[i] = connected;
	if (!connected)
		peer->out.head = peer->out.tail;
	rfm_node_set_downstream(&peer->node, connected, c->rig->now);
	tell_lights(c);
}

static void set_optics(struct chaos *c, int i, bool off, bool dark_on_dark)
{
	c->off[i] = off;
	rfm_node_set_optics(&c->rig->peers[i].node, off, false, !i && dark_on_dark, c->rig->now);
	c->dark_on_dark = dark_on_dark;
	tell_lights(c);
}

/* What has come since the last look: numbers of a source, each greater than the one before. */
static void look(struct chaos *c, int at)
{
	const struct rig_peer *peer = &c->rig->peers[at];

	for (; c->looked[at] < peer->stored_count; c->looked[at]++) {
		const struct rig_stored *entry = &peer->stored[c->looked[at]];
		int from = entry->offset / 256;

		for (unsigned int n = 0; n < entry->len; n += 4) {
			uint32_t number = get32(entry->data + n);

			assert_true(number <= c->speakers[from].said);
			assert_int_equal(c->got[at][from][number], 0);
			c->got[at][from][number] = 1;
		}
	}
}

/* A fence of @from has ended. If it says that all is well, it must be. */
static void judge(struct chaos *c, int from)
{
	struct speaker *speaker = &c->speakers[from];
	const struct rfm_fence_result *fence = &c->rig->peers[from].fence;
	bool clean = !fence->lost && !fence->paused && !fence->epoch_changed;

	assert_true(speaker->ticket != 0);
	assert_true(fence->ticket == speaker->ticket);
	speaker->ticket = 0;
	for (int at = 0; clean && at < c->rig->count; at++) {
		look(c, at);
		for (uint32_t n = speaker->settled + 1; at != from && n <= speaker->fenced; n++)
			assert_int_equal(c->got[at][from][n], 1);
	}
	/* A fence that failed may have told of losses behind it. */
	speaker->settled = clean ? speaker->fenced : speaker->said;
	c->clean += clean;
	c->failed += !clean;
}

static void judge_all(struct chaos *c)
{
	for (int i = 0; i < c->rig->count; i++) {
		struct rig_peer *peer = &c->rig->peers[i];

		assert_true(peer->fence_count <= 1);
		if (peer->fence_count) {
			peer->fence_count = 0;
			judge(c, i);
		}
	}
}

static void say(struct chaos *c, int who)
{
	struct speaker *speaker = &c->speakers[who];

	switch (random_below(c, 13)) {
	case 0:
		rig_interrupt(c->rig, who, random_below(c, c->rig->count), 1, 0);
		break;
	case 1:
		rig_interrupt_set(c->rig, who, (const uint8_t[RFM_NODE_SET]){ c->seed >> 40 }, 1, 0);
		break;
	case 2:
		if (speaker->ticket)
			break;
		speaker->fenced = speaker->said;
		speaker->ticket = ++speaker->tickets;
		if (!rfm_node_fence(&c->rig->peers[who].node, speaker->ticket, c->rig->now))
			speaker->ticket = 0;
		break;
	default:
		if (!rfm_node_may_store(&c->rig->peers[who].node))
			break;
		speaker->said++;
		rig_store32(c->rig, who, who * 256 + speaker->said % 64 * 4, speaker->said);
	}
}

static void mend(struct chaos *c)
{
	for (int i = 0; i < c->rig->count; i++) {
		if (!c->connected[i])
			set_connected(c, i, true);
		set_optics(c, i, false, false);
		c->paused[i] = false;
		rfm_node_set_paused(&c->rig->peers[i].node, false);
	}
}

static void suffer(struct chaos *c, int who)
{
	struct rig_peer *peer = &c->rig->peers[who];
	struct rfm_frame frame;

	switch (random_below(c, 12)) {
	case 0:
		set_connected(c, who, !c->connected[who]);
		break;
	case 1:
	case 2:
		mend(c);
		break;
	case 3:
		set_optics(c, who, !c->off[who] && !random_below(c, 3), c->dark_on_dark);
		break;
	case 4:
		set_optics(c, 0, c->off[0], !c->dark_on_dark);
		break;
	case 5:
		c->paused[who] = !c->paused[who] && !random_below(c, 3);
		rfm_node_set_paused(&peer->node, c->paused[who]);
		break;
	case 6:
		if (rig_in_flight(c->rig, who))
			rig_damage(c->rig, who);
		break;
	default:
		if (!random_below(c, 4))
			rig_drop(c->rig, who, &frame);
	}
}

static void come_to_rest(struct chaos *c)
{
	for (int i = 0; i < 100; i++) {
		rig_advance(c->rig, 50 * MS);
		judge_all(c);
	}
}

static void assert_balance(struct chaos *c)
{
	struct rig *rig = c->rig;
	uint64_t sent = 0;

	for (int i = 0; i < rig->count; i++)
		sent += rig_stats(rig, i).sent;
	for (int i = 0; i < rig->count; i++) {
		const struct rfm_node_stats stats = rig_stats(rig, i);

		rig_assert_books_closed(rig, i);
		assert_int_equal(c->speakers[i].ticket, 0);	/* none is left unanswered */
		assert_true(rfm_node_tx_empty(&rig->peers[i].node));
		assert_int_equal(stats.received + stats.missed + stats.held_lost,
				 sent - stats.sent);
		assert_int_equal(stats.late + stats.overrun + stats.hop_limit + stats.mixed, 0);
		look(c, i);
	}
}

static void run(const struct rig_mode *mode, int size, uint64_t seed)
{
	struct chaos c = { .rig = rig_new_mode(size, 0, mode), .seed = seed };

	for (int i = 0; i < size; i++) {
		c.connected[i] = true;
		for (int from = 0; from < size; from++) {
			c.got[i][from] = calloc(STEPS + 1, 1);
			assert_non_null(c.got[i][from]);
		}
	}
	for (int step = 0; step < STEPS; step++) {
		if (!random_below(&c, 3))
			say(&c, random_below(&c, size));
		if (!random_below(&c, 150))
			suffer(&c, random_below(&c, size));
		for (int n = 0; n < size; n++) {
			rig_pull(c.rig, random_below(&c, size), 1 + random_below(&c, 4));
			rig_deliver(c.rig, random_below(&c, size));
			judge_all(&c);
		}
		for (int i = 0; i < size; i++)
			c.rig->peers[i].interrupt_count = 0;
		if (step % 64)
			continue;
		c.rig->now += random_below(&c, 40) * MS;
		for (int i = 0; i < size; i++)
			rfm_node_tick(&c.rig->peers[i].node, c.rig->now);
	}
	mend(&c);
	come_to_rest(&c);
	assert_balance(&c);
	/* Enough of either kind that something was shown. */
	assert_true(c.clean > 100 && c.failed > 10);
	for (int i = 0; i < size; i++)
		for (int from = 0; from < size; from++)
			free(c.got[i][from]);
	rig_free(c.rig);
}

static void fences_are_true_and_the_books_balance(void **state)
{
	static const int sizes[] = { 2, 3, 5 };

	(void)state;
	for (size_t mode = 0; mode < RIG_MODES; mode++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			run(&rig_modes[mode], sizes[s], 1 + mode * 10 + s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fences_are_true_and_the_books_balance),
	};

	return cmocka_run_group_tests_name("node_chaos", tests, NULL, NULL);
}
