/* SPDX-License-Identifier: MIT */
/* When a verb that prints what comes has to end: -n, -t, or a signal. */
#ifndef RMCTL_UNTIL_H
#define RMCTL_UNTIL_H

#include <stdbool.h>
#include <stdint.h>

#include "rmctl.h"

/**
 * struct until - the end that the user wants; all zero: no end
 * @limited: -n: after @left more
 * @deadline_ns: -t: then, CLOCK_MONOTONIC, after until_begin(); STOP_NEVER without
 * @time: the time as the user wrote it, NULL without -t
 */
struct until {
	bool limited;
	uint64_t left;
	uint64_t deadline_ns;
	const char *time;
};

int until_option(struct command *cmd, struct until *until, int option);
void until_begin(struct until *until);
void until_count(struct until *until, uint64_t count);
bool until_done(const struct until *until);
int until_end(const struct command *cmd, const struct until *until, const char *what);

#endif /* RMCTL_UNTIL_H */
