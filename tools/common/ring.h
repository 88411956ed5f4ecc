/* SPDX-License-Identifier: MIT */
/* What a member of the ring tells of itself, as of now. */
#ifndef RFM_TOOLS_RING_H
#define RFM_TOOLS_RING_H

#include "ring/host/internal.h"

static inline struct rfmring_state state_of(struct rfmring *ring)
{
	struct rfmring_state state = { .size = sizeof(state) };

	rfmring_get_state(ring, &state);
	return state;
}

static inline struct rfmring_stats stats_of(struct rfmring *ring)
{
	struct rfmring_stats stats = { .size = sizeof(stats) };

	rfmring_get_stats(ring, &stats);
	return stats;
}

#endif
