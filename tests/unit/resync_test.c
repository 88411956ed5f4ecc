// SPDX-License-Identifier: MIT
/* links: tests/unit/rig.c */
/*
 * Resync: a node that came late, or has missed something, gets what it lacks while all others
 * store, and no byte of what they store is lost or undone by it.
 */
#include "tests/unit/test.h"
#include "tests/unit/rig.h"
#include "ring/resync.h"

#include <string.h>

#define NODES	5
#define LATE	2
#define SECOND	(1000 * MS)

static bool ended;

static void on_done(struct rfm_resync *resync)
{
	ended = true;
}

static struct rfm_resync resync;

static void begin(struct rig *rig, int donor)
{
	ended = false;
	memset(&resync, 0, sizeof(resync));
	resync.done = on_done;
	resync.last = RIG_MEMORY - 1;
	rfm_resync_begin(&resync, rig->peers[LATE].remote, donor, rig->now);
}

/*
 * A ring in which something has been stored; then node LATE begins a new life, with other
 * memory.
 */
static struct rig *late_joiner(const struct rig_mode *mode, uint64_t *seed)
{
	struct rig *rig = rig_new_mode(NODES, 1, mode);
	struct rfm_node_config config = mode->like;

	rig_remote(rig);
	for (int i = 0; i < RIG_MEMORY; i += 64)
		rig_store32(rig, i / 64 % NODES, i, test_random(seed));
	rig_settle(rig);
	rig_disconnect(rig, LATE - 1);
	rig_disconnect(rig, LATE);
	config.id = 1 + LATE;
	config.incarnation = 9000;
	rig_start_as(rig, LATE, &config);
	for (int i = 0; i < RIG_MEMORY; i++)
		rig->peers[LATE].memory[i] = test_random(seed);
	rig_remote(rig);
	rig_join(rig, LATE);
	rig_advance(rig, 2 * SECOND);
	return rig;
}

static void assert_all_equal(const struct rig *rig)
{
	for (int i = 1; i < NODES; i++)
		assert_memory_equal(rig->peers[0].memory, rig->peers[i].memory, RIG_MEMORY);
}

/* Somebody stores somewhere; then somebody does something. */
static void step(struct rig *rig, uint64_t *seed, const int *writers, int count)
{
	int writer = writers[test_random(seed) % count], peer = test_random(seed) % NODES;

	/* Each has its own words: two who store the same may end up different, as on glass. */
	if (test_random(seed) % 3 == 0 && rfm_node_may_store(&rig->peers[writer].node))
		rig_store32(rig, writer, (test_random(seed) % (RIG_MEMORY / 64) * 16 + writer) * 4,
			    test_random(seed));
	rig_run_remote(rig, peer);
	rig_pull(rig, peer, 1 + test_random(seed) % 3);
	peer = test_random(seed) % NODES;
	rig_deliver(rig, peer);
	if (test_random(seed) % 256 == 0)
		rig_advance(rig, MS);
}

static void exact_under_writers(void **state)
{
	static const int writers[][3] = { { 0, 3, 4 }, { 0, 1, LATE }, { 3, 1, 0 }, { LATE, 4, 3 } };

	for (int round = 0; round < 100; round++) {
		uint64_t seed = round;
		const struct rig_mode *mode = &rig_modes[round % RIG_MODES];
		struct rig *rig = late_joiner(mode, &seed);
		int donor = round % 2 ? RFM_RESYNC_NEAREST : 1 + (LATE + 1 + round / 2 % 4) % NODES;

		assert_true(rig->peers[LATE].node.incomplete);
		for (int i = 0; i < NODES; i++)
			assert_int_equal(rig->peers[i].node.incomplete, i == LATE);
		begin(rig, donor);
		for (unsigned int i = 0; !ended; i++) {
			assert_true(i < 10000000);
			step(rig, &seed, writers[round % 4], 3);
		}
		assert_int_equal(resync.result, RFM_REMOTE_OK);
		assert_false(resync.doubtful);
		assert_int_equal(resync.finished, RIG_MEMORY);
		assert_false(rig->peers[LATE].node.incomplete);
		rig_settle(rig);
		assert_all_equal(rig);
		assert_int_equal(rig->peers[LATE].remote->merging, 0);
		rig_free(rig);
	}
}

/* What one would write who has only rfmring_get(): a store between the two is undone. */
static void reading_and_then_writing_is_wrong(void **state)
{
	static const int writers[] = { 0, 3, 4 };
	static uint8_t data[RIG_MEMORY];
	unsigned int wrong = 0;

	for (int round = 0; round < 20; round++) {
		uint64_t seed = round;
		struct rig *rig = late_joiner(&rig_modes[0], &seed);
		struct rfm_remote_request reads = {
			.op = RFM_REMOTE_READ, .node = 1 + (LATE + 2) % NODES, .length = RIG_MEMORY,
			.data = data, .done = (void (*)(struct rfm_remote_request *))(void *)on_done,
		};

		ended = false;
		rfm_remote_ask(rig->peers[LATE].remote, &reads, rig->now);
		while (!ended)
			step(rig, &seed, writers, 3);
		memcpy(rig->peers[LATE].memory, data, RIG_MEMORY);
		rig_settle(rig);
		wrong += memcmp(rig->peers[0].memory, rig->peers[LATE].memory, RIG_MEMORY) != 0;
		rig_free(rig);
	}
	assert_true(wrong > 10);
}

/*
 * An update is lost, the ring is cut, or the donor misses something:
 * it is said, and the next one is sure.
 */
static void doubtful(void **state)
{
	for (int how = 0; how < 3; how++) {
		uint64_t seed = how;
		struct rig *rig = late_joiner(&rig_modes[0], &seed);
		struct rfm_frame frame;
		const int donor = LATE;		/* the one before it */

		begin(rig, donor);
		rig_run_remote(rig, LATE);
		if (how == 0) {
			rig_store32(rig, 0, 0, 77);
			rig_pull(rig, 0, 1);
			rig_deliver(rig, 0);
			rig_pull(rig, LATE - 1, 1);
			assert_true(rig_drop(rig, LATE - 1, &frame));
			assert_int_equal(frame.type, RFM_FRAME_DATA);
			rig_store32(rig, 0, 4, 78);
		} else if (how == 1) {
			rig_disconnect(rig, LATE - 1);
			rig_connect(rig, LATE - 1);
		} else {
			rfm_node_set_incomplete(&rig->peers[donor - 1].node);
		}
		rig_advance(rig, 8 * SECOND);
		assert_true(ended);
		assert_true(how == 2 ? resync.result == RFM_REMOTE_INCOMPLETE : resync.doubtful);
		assert_true(rig->peers[LATE].node.incomplete);
		rfm_node_set_complete(&rig->peers[donor - 1].node, rig->now);
		rig_advance(rig, SECOND);
		begin(rig, donor);
		rig_advance(rig, 8 * SECOND);
		assert_true(ended);
		assert_int_equal(resync.result, RFM_REMOTE_OK);
		assert_false(resync.doubtful);
		assert_false(rig->peers[LATE].node.incomplete);
		assert_memory_equal(rig->peers[0].memory, rig->peers[LATE].memory, RIG_MEMORY);
		rig_free(rig);
	}
}

/* The first words of those whose fibres were lit first have gone nowhere: then somebody stores. */
static void who_comes_together_is_complete(void **state)
{
	struct rig *rig = rig_new(NODES, 1);
	const struct rig_pipe *out = &rig->peers[2].out;
	struct rfm_frame frame;

	for (int i = 0; i < NODES; i++)
		rig_start(rig, i, 1 + i, RIG_MEMORY, 2000 + i);
	for (int i = 0; i < NODES; i++) {
		rig_connect(rig, (NODES - 1 + i) % NODES);
		rig_settle(rig);
	}
	rig->lazy = true;
	rig_store32(rig, 1, 0, 1);
	rig_pull(rig, 1, 1);
	rig_deliver(rig, 1);
	/* Before the frame: who hears it has that to come. */
	rig_pull(rig, 2, 2);
	assert_int_equal(rfm_frame_decode_header(out->frames + (size_t)RFM_UNIT_MAX * out->head, &frame),
			 RFM_FRAME_OK);
	assert_int_equal(frame.type, RFM_FRAME_HEARTBEAT);
	rig->lazy = false;
	rig_advance(rig, SECOND);
	for (int i = 0; i < NODES; i++)
		assert_false(rig->peers[i].node.incomplete);
	rig_free(rig);
}

/* Nobody who came at the beginning is incomplete; who misses something is, and all know. */
static void who_is_incomplete(void **state)
{
	struct rig *rig = rig_new(NODES, 1);
	struct rfm_frame frame;

	rig_remote(rig);
	rig_store32(rig, 0, 0, 1);
	rig_advance(rig, SECOND);
	for (int i = 0; i < NODES; i++)
		assert_false(rig->peers[i].node.incomplete);
	rig_store32(rig, 0, 0, 2);
	rig_pull(rig, 0, 1);
	rig_deliver(rig, 0);
	rig_pull(rig, 1, 1);
	assert_true(rig_drop(rig, 1, &frame));		/* before node 3 */
	rig_advance(rig, SECOND);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(rig->peers[i].node.incomplete, i >= 2);
		for (int k = 0; k < NODES; k++)
			if (k != i)
				assert_int_equal(rig->peers[i].node.sources[1 + k].incomplete, k >= 2);
	}
	/* Only of complete ones, and there must be one. */
	begin(rig, 1 + 3);
	rig_settle(rig);
	assert_true(ended);
	assert_int_equal(resync.result, RFM_REMOTE_INCOMPLETE);
	begin(rig, RFM_RESYNC_NEAREST);
	rig_settle(rig);
	assert_int_equal(resync.result, RFM_REMOTE_OK);
	assert_int_equal(resync.donor, 2);
	rfm_node_set_incomplete(&rig->peers[LATE].node);
	rfm_node_set_incomplete(&rig->peers[0].node);
	rfm_node_set_incomplete(&rig->peers[1].node);
	rig_advance(rig, SECOND);
	begin(rig, RFM_RESYNC_NEAREST);
	assert_true(ended);
	assert_int_equal(resync.result, RFM_REMOTE_NO_NODE);
	rig_free(rig);
}

/* A late joiner finds a ring on which something was stored by one who has gone. */
static void what_others_have_of_the_dead(void **state)
{
	struct rig *rig = rig_new(3, 1);
	struct rfm_node_config config = rig_config(1, 9000);

	rig_store32(rig, 0, 0, 1);
	rig_settle(rig);
	rig_disconnect(rig, 2);
	rig_disconnect(rig, 0);
	rig_start_as(rig, 0, &config);
	rig_join(rig, 0);
	rig_advance(rig, SECOND);
	assert_true(rig->peers[0].node.incomplete);
	assert_false(rig->peers[1].node.incomplete || rig->peers[2].node.incomplete);
	rig_free(rig);
}

/* Of a ring without a complete node one says that its memory is right; from it others resync. */
static void right_as_it_is(void **state)
{
	uint64_t seed = 1;
	struct rig *rig = late_joiner(&rig_modes[0], &seed);
	const int writer = 3;

	for (int i = 0; i < NODES; i++)
		rfm_node_set_incomplete(&rig->peers[i].node);
	rig_advance(rig, SECOND);
	begin(rig, RFM_RESYNC_NEAREST);
	assert_true(ended && resync.result == RFM_REMOTE_NO_NODE);
	ended = false;
	memset(&resync, 0, sizeof(resync));
	resync.done = on_done;
	resync.last = RIG_MEMORY - 1;
	rfm_resync_begin(&resync, rig->peers[0].remote, rig->peers[0].node.config.id, rig->now);
	assert_true(ended && resync.result == RFM_REMOTE_OK);
	assert_false(resync.doubtful || resync.finished || rig->peers[0].node.incomplete);
	/* The others hear of it before its next heartbeat is due. */
	rig_settle(rig);
	begin(rig, RFM_RESYNC_NEAREST);
	while (!ended)
		step(rig, &seed, &writer, 1);
	assert_int_equal(resync.result, RFM_REMOTE_OK);
	assert_int_equal(resync.donor, rig->peers[0].node.config.id);
	/* Not while another node is complete. */
	rfm_node_set_incomplete(&rig->peers[LATE].node);
	begin(rig, rig->peers[LATE].node.config.id);
	assert_true(ended && resync.result == RFM_REMOTE_DENIED && rig->peers[LATE].node.incomplete);
	begin(rig, RFM_RESYNC_NEAREST);
	while (!ended)
		step(rig, &seed, &writer, 1);
	assert_false(resync.doubtful || rig->peers[LATE].node.incomplete);
	rig_settle(rig);
	assert_memory_equal(rig->peers[LATE].memory, rig->peers[0].memory, RIG_MEMORY);
	rig_free(rig);
}

static void cancelled(void **state)
{
	uint64_t seed = 1;
	struct rig *rig = late_joiner(&rig_modes[0], &seed);

	begin(rig, RFM_RESYNC_NEAREST);
	rig_run_remote(rig, LATE);
	rfm_resync_cancel(&resync);
	assert_true(ended);
	assert_int_equal(resync.result, RFM_REMOTE_CANCELLED);
	rig_advance(rig, SECOND);
	assert_true(rig->peers[LATE].node.incomplete);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_under_writers),
		cmocka_unit_test(reading_and_then_writing_is_wrong),
		cmocka_unit_test(doubtful),
		cmocka_unit_test(who_is_incomplete),
		cmocka_unit_test(who_comes_together_is_complete),
		cmocka_unit_test(what_others_have_of_the_dead),
		cmocka_unit_test(right_as_it_is),
		cmocka_unit_test(cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
