/* SPDX-License-Identifier: MIT */
/* The counters of a member: what `stats` and OpenMetrics tell. */
#ifndef RMNODE_COUNTERS_H
#define RMNODE_COUNTERS_H

#include <stdint.h>

#include "ring/host/rfmring.h"

enum counter_kind {
	COUNTER_COUNT,		/* only grows */
	COUNTER_PEAK,		/* the most there ever was */
	COUNTER_NS,		/* the longest there ever was */
};

/**
 * struct counter - one of struct rfmring_stats
 * @at: there
 * @what: it counts, for people
 */
struct counter {
	const char *name;
	unsigned int at;
	enum counter_kind kind;
	const char *what;
};

#define COUNTERS	45
extern const struct counter counters[];

/** counter_value() - of @counter in @stats */
uint64_t counter_value(const struct counter *counter, const struct rfmring_stats *stats);

#endif
