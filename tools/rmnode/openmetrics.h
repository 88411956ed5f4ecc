/* SPDX-License-Identifier: MIT */
/*
 * The text that a scraper gets: OpenMetrics 1.0, or the older text format of Prometheus, which
 * has fewer types. Made a line at a time, so that a long text holds nobody up; asks no clock.
 */
#ifndef RMNODE_OPENMETRICS_H
#define RMNODE_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/rmnode/counters.h"
#include "tools/rmnode/values.h"

#define METRICS_LINE	8192	/* longer than any */

/**
 * struct metrics_moment - what is not in the memory, at the moment of the scrape
 * @epoch_ns: real time when CLOCK_MONOTONIC was 0
 * @members: other nodes on the ring
 */
struct metrics_moment {
	struct rfmring_stats stats;
	uint64_t epoch_ns;
	unsigned int id, members;
	bool signal;
};

struct metrics;

/**
 * metrics_new() - of @values, which are kept
 * @say: told in a sentence what cannot be said in the format
 * @error: VALUES_SENTENCE bytes, set when NULL is returned: two names that would be one
 */
struct metrics *metrics_new(const struct values *values,
			    void (*say)(void *opaque, const char *sentence), void *opaque,
			    char *error);
void metrics_free(struct metrics *metrics);

/**
 * struct metrics_text - one under way; @metrics, @moment and @plain are set at first, the rest 0
 * @plain: in the older format
 * @family: which of all, the node's own first
 * @line: of it
 * @value: of the values of a family
 * @name: of the names of that
 * @raw: that value, loaded once, so that its states agree
 */
struct metrics_text {
	const struct metrics *metrics;
	struct metrics_moment moment;
	bool plain, ended;
	unsigned int family, line, value;
	const struct rfm_region_name *name;
	uint64_t raw;
};

/** metrics_line() - the next one, with its end, in METRICS_LINE bytes; 0: that was all */
size_t metrics_line(struct metrics_text *text, char *line);

#endif
