/* SPDX-License-Identifier: MIT */
/* What takes long: a line on the terminal that tells how far it is, and an end by signal. */
#ifndef RMCTL_PROGRESS_H
#define RMCTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "rmctl.h"

/**
 * struct progress - how far something is
 * @total: bytes
 * @begun_ns: when it began
 * @shown_ns: when the line was drawn last, 0: never
 * @visible: there is a terminal to draw it on
 */
struct progress {
	const struct command *cmd;
	uint64_t total, begun_ns, shown_ns;
	bool visible;
};

/* Room for a line of progress. */
#define PROGRESS_LINE 240
void progress_line(char line[PROGRESS_LINE], const char *what, uint64_t done, uint64_t total,
		   uint64_t elapsed_ns);

void progress_begin(struct progress *progress, const struct command *cmd, uint64_t total);
void progress_show(struct progress *progress, uint64_t done);
bool progress_stopped(const struct progress *progress, uint64_t done);
void progress_end(struct progress *progress);

#endif /* RMCTL_PROGRESS_H */
