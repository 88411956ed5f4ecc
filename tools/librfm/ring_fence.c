// SPDX-License-Identifier: MIT
/*
 * Requests to a node in this process: interrupts, and what fences are for.
 *
 * What a fence finds lost is told to everybody, as the driver does: each handle remembers
 * how much it was when it looked last. All fences of a node go through here.
 */
#include "ring_private.h"

#include <limits.h>

#define TRY_NS	200000000ull	/* a fence of which nothing is heard for so long may be lost */
#define NAP_NS	20000000ull

/* --- interrupts --------------------------------------------------------------------- */

int ring_send(struct rfm *rfm, void *argument)
{
	const struct rfm_send *send = argument;
	struct ring_node *node = node_of(rfm);

	_Static_assert(RFM_NODE_ALL == RFMRING_NODE_ALL, "the same number");
	if (!rfm->writable)
		return fail_with(EBADF);
	if (send->reserved || send->node == node->id)
		return fail_with(EINVAL);
	return rfmring_interrupt(node->ring, send->node, send->type,
				 send->type == RFM_EVENT_RESET ? 0 : send->data);
}

int ring_send_set(struct rfm *rfm, void *argument)
{
	const struct rfm_send_set *send = argument;
	struct ring_node *node = node_of(rfm);
	uint8_t set[RFMRING_NODES / 8];

	if (!rfm->writable)
		return fail_with(EBADF);
	if (send->reserved || send->nodes[node->id / 64] >> node->id % 64 & 1)
		return fail_with(EINVAL);
	for (unsigned int i = 0; i < sizeof(set); i++)
		set[i] = send->nodes[i / 8] >> i % 8 * 8;
	return rfmring_interrupt_set(node->ring, set, send->type,
				     send->type == RFM_EVENT_RESET ? 0 : send->data);
}

/* --- fences ------------------------------------------------------------------------- */

/* A fence of a handle. @before: node->fence_lost as the handle has seen it */
struct ring_fence {
	struct rfmring_fence ring;
	uint64_t before, lost;
	uint32_t flags;
};

static void begin_fence(struct ring_handle *handle, struct ring_fence *fence)
{
	*fence = (struct ring_fence){ 0 };
	pthread_mutex_lock(&handle->node->lock);
	fence->before = handle->fence_lost;
	pthread_mutex_unlock(&handle->node->lock);
}

static void lift(uint64_t *to, uint64_t at_least)
{
	if (*to < at_least)
		*to = at_least;
}

/* Whoever has fenced: what was lost is known from now on. */
static void see_lost(struct ring_node *node, const struct rfmring_fence *fence)
{
	pthread_mutex_lock(&node->lock);
	lift(&node->fence_lost, fence->lost_in_all);
	pthread_mutex_unlock(&node->lock);
}

/* Nothing of its own leaves it: why a fence that was under way has not come home. */
static bool is_dark(struct ring_node *node)
{
	struct rfmring_state state;
	bool sends;

	if (ring_state(node, &state))
		return false;
	sends = state.optics & RFMRING_LOOPBACK ||
		(state.downstream && !(state.optics & RFMRING_TX_DISABLE));
	return !state.signal || !sends;
}

/*
 * How it ended, as the driver says it. @status: what rfmring_fence() has returned, with its
 * errno; those with which it has no result are errors here too.
 */
static int end_fence(struct ring_handle *handle, struct ring_fence *fence, int status)
{
	const struct rfmring_fence *ring = &fence->ring;

	if (status && errno == ENOLINK) {
		fence->flags = RFM_FENCED_DARK;
		return 0;
	}
	if (status && errno != EIO && errno != EBUSY && errno != EAGAIN)
		return -1;
	see_lost(handle->node, ring);
	pthread_mutex_lock(&handle->node->lock);
	lift(&handle->fence_lost, ring->lost_in_all);
	pthread_mutex_unlock(&handle->node->lock);
	fence->lost = ring->lost_in_all - fence->before;
	fence->flags = (fence->lost ? RFM_FENCED_LOST : 0) |
		       (ring->paused ? RFM_FENCED_PAUSED : 0) |
		       (ring->epoch_changed ? RFM_FENCED_EPOCH : 0) |
		       (!ring->home && is_dark(handle->node) ? RFM_FENCED_DARK : 0);
	return 0;
}

int ring_fence(struct rfm *rfm, void *argument)
{
	struct ring_handle *handle = to_ring_handle(rfm);
	struct rfm_fence_wait *wait = argument;
	uint64_t begun = clock_ns();
	struct ring_fence fence;
	int status;

	if (!rfm->writable)
		return fail_with(EBADF);
	begin_fence(handle, &fence);
	status = rfmring_fence(handle->node->ring, &fence.ring, wait->timeout_ms);
	if (end_fence(handle, &fence, status))
		return -1;
	wait->flags = fence.flags;
	wait->lost = fence.lost;
	wait->epoch = fence.ring.epoch;
	wait->wait_ns = clock_ns() - begun;
	return 0;
}

/* --- does anything come home? ------------------------------------------------------- */

static uint64_t statuses_of(struct ring_node *node)
{
	uint64_t statuses;

	pthread_mutex_lock(&node->lock);
	statuses = node->statuses;
	pthread_mutex_unlock(&node->lock);
	return statuses;
}

/* Something has happened on the ring since @seen, or it is @until_ns. */
static void wait_for_status(struct ring_node *node, uint64_t seen, uint64_t until_ns)
{
	const struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };

	pthread_mutex_lock(&node->lock);
	while (node->statuses == seen &&
	       !pthread_cond_timedwait(&node->status_told, &node->lock, &until))
		;
	pthread_mutex_unlock(&node->lock);
}

/* Does a fence come home, and soon? If not, errno says why. */
static bool comes_home(struct ring_node *node, uint64_t patience_ns, struct rfmring_fence *fence)
{
	uint64_t ms = (patience_ns + 999999) / 1000000;

	*fence = (struct rfmring_fence){ 0 };
	if (!rfmring_fence(node->ring, fence, ms < INT_MAX ? (int)ms : INT_MAX))
		return true;
	see_lost(node, fence);
	return fence->home;
}

/*
 * Fences until one comes home, and if it is to be @whole has lost nothing. One that was
 * under way when the ring was interrupted never does, but the next one may.
 */
static int try_until(struct ring_node *node, uint64_t until_ns, bool whole)
{
	uint64_t patience = whole ? TRY_NS : UINT64_MAX, now = clock_ns();
	struct rfmring_fence fence;

	do {
		uint64_t seen = statuses_of(node), left = now < until_ns ? until_ns - now : 0;

		if (comes_home(node, left < patience ? left : patience, &fence) &&
		    !(whole && (fence.lost || fence.epoch_changed)))
			return 0;
		if (errno == EDEADLK)
			return -1;
		now = clock_ns();
		if (errno == ETIMEDOUT)
			patience = whole ? 2 * patience : UINT64_MAX;
		else	/* what is told of is not always in force already */
			wait_for_status(node, seen, now + NAP_NS < until_ns ? now + NAP_NS : until_ns);
		now = clock_ns();
	} while (now < until_ns);
	return fail_with(ETIMEDOUT);
}

void wait_for_ring(struct ring_node *node)
{
	struct rfmring_state state = { .size = sizeof(state) };
	const char *why = "what it sends does not come home";

	if (!try_until(node, clock_ns() + node->wait_ms * 1000000ull, true) ||
	    errno != ETIMEDOUT || rfmring_get_state(node->ring, &state))
		return;
	pthread_mutex_lock(&node->lock);
	if (state.left)
		why = "another node has its id";
	else if ((!state.signal || !state.downstream) && node->trouble[0])
		why = node->trouble;
	else if (!state.signal)
		why = "nobody sends to it";
	else if (!state.downstream)
		why = "nobody takes what it sends";
	open_failed(ETIMEDOUT, "ring:%.80s is on no whole ring: %s", node->address, why);
	pthread_mutex_unlock(&node->lock);
}

/* A fence is a packet that no node reacts to, and so does as the probe. */
int ring_ring_test(struct rfm *rfm, void *argument)
{
	struct rfm_ring_test *test = argument;
	uint64_t begun = clock_ns();

	if (!rfm->writable)
		return fail_with(EBADF);
	if (try_until(node_of(rfm), begun + test->timeout_ms * 1000000ull, false))
		return -1;
	test->round_trip_ns = clock_ns() - begun;
	return 0;
}

/* --- what every node has ------------------------------------------------------------ */

int ring_verify(struct rfm *rfm, void *argument)
{
	struct rfmring_answer answers[RFMRING_NODES];
	struct rfm_verify *verify = argument;
	struct ring_node *node = node_of(rfm);
	struct ring_fence fence;
	int status;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (!verify->length || verify->length > RFM_VERIFY_MAX ||
	    !range_is_inside(rfm->memory_size, verify->offset, verify->length))
		return fail_with(EINVAL);
	begin_fence(to_ring_handle(rfm), &fence);
	status = rfmring_query(node->ring, verify->offset, verify->length, answers, &fence.ring,
			       verify->timeout_ms);
	if (end_fence(to_ring_handle(rfm), &fence, status))
		return -1;
	verify->flags = fence.flags;
	verify->node = node->id;
	verify->lost = fence.lost;
	verify->epoch = fence.ring.epoch;
	for (unsigned int i = 0; i < RFMRING_NODES; i++) {
		struct rfm_node_answer *answer = &verify->answer[i];

		if (!answers[i].given)
			continue;
		answer->flags = RFM_ANSWER_GIVEN | (answers[i].paused ? RFM_ANSWER_BEHIND : 0);
		answer->length = answers[i].length;
		answer->crc = answers[i].crc;
		memcpy(answer->first, answers[i].first, sizeof(answer->first));
	}
	return 0;
}
