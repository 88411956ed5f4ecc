/* SPDX-License-Identifier: MIT */
/* Where values go, besides the ring: whoever scrapes, and brokers. Nothing comes in by these. */
#ifndef RMNODE_PUBLISH_H
#define RMNODE_PUBLISH_H

#include "openmetrics.h"
#include "rmnode.h"
#include "values.h"

struct outlet;

/**
 * struct outlet_kind - a way out
 * @prefix: of --publish
 * @open: understand what is behind it; NULL after @error (CONTROL_SENTENCE bytes) says why not
 * @check: the values can be published there; false after @error says why not; may be NULL
 * @begin: from now on; false after @error says why not
 * @stored: a value has new bytes; may be NULL
 * @busy: at the end: somebody takes what was stored, and does not have all of it; may be NULL
 * @json: of `stats`
 * @close: also of one that was never begun
 */
struct outlet_kind {
	const char *prefix;
	struct outlet *(*open)(const char *word, char *error);
	bool (*check)(const struct outlet *outlet, char *error);
	bool (*begin)(struct outlet *outlet, char *error);
	void (*stored)(struct outlet *outlet, unsigned int number);
	bool (*busy)(struct outlet *outlet);
	json_t *(*json)(const struct outlet *outlet);
	void (*close)(struct outlet *outlet);
};

/** struct outlet - the beginning of each; @word: as it was given */
struct outlet {
	const struct outlet_kind *kind;
	struct publisher *publisher;
	const char *word;
};

/** struct publisher - @metrics: NULL: nobody scrapes */
struct publisher {
	struct rmnode *node;
	struct rfm_regions *regions;
	struct values *values;
	struct metrics *metrics;
	struct outlet *outlet[PUBLISH_MAX];
	unsigned int count;
	int watch;
};

extern const struct outlet_kind openmetrics_outlet, mqtt_outlet;

#endif
