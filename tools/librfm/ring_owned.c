// SPDX-License-Identifier: MIT
/*
 * Subscriptions of a node in this process. Everything is received and sent anyway; what
 * handles own is told of when another node writes there.
 */
#include "ring_private.h"

#include <stdlib.h>

/*
 * All with node->lock. A handle's list says what it holds, the node's plane what any of them
 * does: an update looks only there.
 */

/* The first range that ends behind @granule; the list is in order, and may be long. */
static unsigned int find_behind(const struct ring_handle *handle, uint64_t granule)
{
	unsigned int low = 0, high = handle->owned_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (handle->owned[middle].end > granule)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void set_plane(struct ring_node *node, uint64_t first, uint64_t end, bool on)
{
	rfm_granules_set(&node->owned, RFM_GRANULES_OWNED, first, end - first, on);
}

/* Granules that a handle gives up; others may own them as well. */
static void clear_plane(struct ring_node *node, uint64_t first, uint64_t end)
{
	set_plane(node, first, end, false);
	for (const struct ring_handle *handle = node->handles; handle; handle = handle->next) {
		unsigned int i = find_behind(handle, first);

		for (; i < handle->owned_count && handle->owned[i].first < end; i++) {
			const struct owned *owned = &handle->owned[i];

			set_plane(node, owned->first > first ? owned->first : first,
				  owned->end < end ? owned->end : end, true);
		}
	}
}

void forget_owned(struct ring_handle *handle)
{
	for (unsigned int i = 0; i < handle->owned_count; i++)
		clear_plane(handle->node, handle->owned[i].first, handle->owned[i].end);
}

/*
 * What stands in the list instead of all that the new range touches (@add) or overlaps: one
 * range, or what it leaves of the first and the last of them. Returns how many.
 */
static unsigned int make_pieces(const struct owned *first, const struct owned *last,
				const struct owned *change, bool add, struct owned pieces[2])
{
	uint64_t low = first && first->first < change->first ? first->first : change->first;
	uint64_t high = last && last->end > change->end ? last->end : change->end;
	unsigned int count = 0;

	if (add) {
		pieces[0] = (struct owned){ low, high };
		return 1;
	}
	if (low < change->first)
		pieces[count++] = (struct owned){ low, change->first };
	if (high > change->end)
		pieces[count++] = (struct owned){ change->end, high };
	return count;
}

static int change_list(struct ring_handle *handle, const struct owned *change, bool add)
{
	struct owned *owned = handle->owned, pieces[2];
	/* What is to be joined may end just where the change begins. */
	bool before = add && change->first;
	unsigned int from = find_behind(handle, change->first - before), to, count;

	for (to = from; to < handle->owned_count && owned[to].first < change->end + add;)
		to++;
	count = make_pieces(to > from ? &owned[from] : NULL, to > from ? &owned[to - 1] : NULL,
			    change, add, pieces);
	if (handle->owned_count - (to - from) + count > RFM_SUBSCRIBE_MAX)
		return fail_with(ENOSPC);
	memmove(&owned[from + count], &owned[to], (handle->owned_count - to) * sizeof(*owned));
	memcpy(&owned[from], pieces, count * sizeof(*owned));
	handle->owned_count += count - (to - from);
	return 0;
}

static int change_owned(struct ring_handle *handle, const struct rfm_range *range, bool add)
{
	const struct owned change = {
		.first = range->offset / RFM_GRANULE,
		.end = GRANULES(range->offset + range->length),
	};
	struct ring_node *node = handle->node;
	int status;

	pthread_mutex_lock(&node->lock);
	if (!handle->owned)
		handle->owned = calloc(RFM_SUBSCRIBE_MAX, sizeof(*handle->owned));
	status = handle->owned ? change_list(handle, &change, add) : fail_with(ENOMEM);
	if (!status && add)
		set_plane(node, change.first, change.end, true);
	else if (!status)
		clear_plane(node, change.first, change.end);
	pthread_mutex_unlock(&node->lock);
	return status;
}

static int change_subscription(struct rfm *rfm, struct rfm_subscribe *subscribe, bool add)
{
	const struct rfm_range *range = &subscribe->range;

	if (!subscribe->flags || subscribe->flags & ~RFM_SUBSCRIBE_FLAGS)
		return fail_with(EINVAL);
	subscribe->result = 0;
	if (subscribe->flags == RFM_SUBSCRIBE_NO_MAPS)
		return range->offset || range->length ? fail_with(EINVAL) : 0;
	if (!range->length || !range_is_inside(rfm->memory_size, range->offset, range->length))
		return fail_with(EINVAL);
	if (!rfm->writable && subscribe->flags & (RFM_SUBSCRIBE_TX | RFM_SUBSCRIBE_OWN))
		return fail_with(EBADF);
	if (subscribe->flags & RFM_SUBSCRIBE_OWN &&
	    change_owned(to_ring_handle(rfm), range, add))
		return -1;
	if (subscribe->flags & (RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX))
		subscribe->result = RFM_SUBSCRIBE_NO_EFFECT;
	return 0;
}

int ring_subscribe(struct rfm *rfm, void *argument)
{
	return change_subscription(rfm, argument, true);
}

int ring_unsubscribe(struct rfm *rfm, void *argument)
{
	struct rfm_subscribe *subscribe = argument;

	if (subscribe->flags & RFM_SUBSCRIBE_NO_MAPS)
		return fail_with(EINVAL);
	return change_subscription(rfm, subscribe, false);
}
