// SPDX-License-Identifier: MIT
/* What the fences of librfmring tell of what was lost. links: ring/host tests/unit/rings.c */
#include "tests/unit/test.h"
#include "tests/unit/rings.h"
#include "tests/unit/stalled.h"

#include <string.h>
#include <unistd.h>

static struct rfmring *ring;
static struct stalled other;

static void open_both(void)
{
	struct rfmring_config config = config_of(0, 2);

	ring = open_with(&config);
	assert_int_equal(rfmring_start(ring), 0);
	config = config_of(1, 2);
	other.ring = open_with(&config);
	stalled_go(&other);
	wait_up(&ring, 1);
}

static void close_both(void)
{
	assert_int_equal(rfmring_close(ring), 0);
	stalled_stop(&other);
	assert_int_equal(rfmring_close(other.ring), 0);
}

static void lose_a_store(void)
{
	assert_int_equal(rfmring_set_optics(ring, RFMRING_TX_DISABLE), 0);
	assert_int_equal(rfmring_store64(ring, 0x100, 1), 0);
	assert_int_equal(rfmring_set_optics(ring, 0), 0);
}

static int lost_fence(struct rfmring_fence *fence)
{
	memset(fence, 0xa5, sizeof(*fence));
	return rfmring_fence(ring, fence, PATIENCE_MS) ? errno : 0;
}

static void what_nobody_was_told_is_told_next(void **state)
{
	struct rfmring_answer answers[RFMRING_NODES];
	struct rfmring_fence fence;
	uint64_t before, lost;

	(void)state;
	open_both();
	for (int query = 0; query < 2; query++) {
		assert_int_equal(lost_fence(&fence), 0);
		before = fence.lost_in_all;
		lost = stats_of(ring).lost;
		stalled_stop(&other);
		lose_a_store();
		if (query)
			assert_int_equal(rfmring_query(ring, 0, 8, answers, NULL, 20), -1);
		else
			assert_int_equal(rfmring_fence(ring, NULL, 20), -1);
		assert_int_equal(errno, ETIMEDOUT);
		stalled_go(&other);
		while (stats_of(ring).lost == lost)
			usleep(1000);
		/* The fence before a question is nobody's. */
		if (query)
			assert_int_equal(rfmring_query(ring, 0, 8, answers, &fence, PATIENCE_MS), -1);
		else
			assert_int_equal(rfmring_fence(ring, &fence, PATIENCE_MS), -1);
		assert_int_equal(errno, EIO);
		assert_true(fence.home && fence.lost >= 1 && fence.lost_in_all == before + fence.lost);
	}
	assert_int_equal(lost_fence(&fence), 0);
	assert_true(fence.home && !fence.lost);
	close_both();
}

static void *fence_for_ever(void *result)
{
	rfmring_fence(ring, result, -1);
	return NULL;
}

/* One that goes dark ends, and says that it has not come home. */
static void what_never_comes_home_says_so(void **state)
{
	struct rfmring_fence fence = { .home = true };
	pthread_t thread;

	(void)state;
	open_both();
	stalled_stop(&other);
	assert_int_equal(rfmring_store64(ring, 0x100, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, fence_for_ever, &fence), 0);
	while (stats_of(ring).window < 2)
		usleep(1000);
	assert_int_equal(rfmring_set_optics(ring, RFMRING_TX_DISABLE), 0);
	pthread_join(thread, NULL);
	assert_true(!fence.home && fence.lost >= 1);
	assert_int_equal(rfmring_set_optics(ring, 0), 0);
	stalled_go(&other);
	close_both();
}

static void who_has_gone_is_known(void **state)
{
	struct rfmring_member member;
	struct rfmring *rings[2];

	(void)state;
	open_ring(rings, 2, 0);
	ring = rings[0];
	assert_int_equal(rfmring_store64(rings[1], 0x100, 1), 0);
	while (load64(ring, 0x100) != 1)
		usleep(1000);
	assert_int_equal(rfmring_members(ring, &member, 1), 1);
	assert_true(member.present && member.id == 2 && member.received >= 1);
	assert_int_equal(rfmring_close(rings[1]), 0);
	while (rfmring_members(ring, &member, 1))
		usleep(1000);
	memset(&member, 0xa5, sizeof(member));
	assert_int_equal(rfmring_known(ring, &member, 1), 1);
	assert_true(!member.present && member.id == 2 && member.received >= 1 && member.heard_ns);
	assert_int_equal(rfmring_close(ring), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(what_nobody_was_told_is_told_next),
		ring_test(what_never_comes_home_says_so),
		ring_test(who_has_gone_is_known),
	};

	return cmocka_run_group_tests_name("rfmring_fence", tests, NULL, NULL);
}
