/* SPDX-License-Identifier: MIT */
/* What a card has counted. */
#ifndef RMCTL_COUNTERS_H
#define RMCTL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "open.h"

/**
 * struct counters - all of one instant
 * @there: the card counts; one without the extension block does not
 * @since_reset: they were reset, at @reset_ns
 * @clock_ns: the card's clock at that instant
 * @reset_ns: see @since_reset
 * @value: by enum rfm_counter
 * @ago_ns: how long ago each last changed, 0: not known
 */
struct counters {
	bool there, since_reset;
	uint64_t clock_ns, reset_ns;
	uint64_t value[RFM_COUNTERS], ago_ns[RFM_COUNTERS];
};

const char *counter_name(enum rfm_counter counter);
int counters_get(const char *name, bool absolute, struct counters *counters);

#endif /* RMCTL_COUNTERS_H */
