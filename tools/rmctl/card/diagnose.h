/* SPDX-License-Identifier: MIT */
/* Why is my update not arriving? */
#ifndef RMCTL_DIAGNOSE_H
#define RMCTL_DIAGNOSE_H

#include <stddef.h>

#include "state.h"

#define FINDINGS_MAX 32

/**
 * struct finding - one thing that keeps updates from arriving, or has done so
 * @cause: for programs
 * @past: it has done so
 * @rank: place in the order in which they were found
 * @ago_ns: since when, or how long ago the last time; 0: not known
 * @text: the sentence
 * @remedy: what to do about it
 */
struct finding {
	const char *cause;
	bool past;
	size_t rank;
	uint64_t ago_ns;
	char text[320];
	char remedy[128];
};

/* @incomplete: the memory misses some of what others have stored */
struct findings {
	size_t count;
	bool incomplete;
	struct finding list[FINDINGS_MAX];
};

int counters_get(const char *name, bool absolute, struct rfm_counters *counters);
int diagnose(const struct state *state, struct findings *findings);
json_t *findings_json(const struct findings *findings);
void findings_print(const struct command *cmd, const struct findings *findings);

#endif /* RMCTL_DIAGNOSE_H */
