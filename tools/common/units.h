/* SPDX-License-Identifier: MIT */
/* Sizes, times and rates for people. */
#ifndef RFM_TOOLS_UNITS_H
#define RFM_TOOLS_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNIT_WORD 32	/* room for what these write */

const char *unit_size(char *text, size_t size, uint64_t bytes);
const char *unit_time(char *text, size_t size, uint64_t nanoseconds);
const char *unit_rate(char *text, size_t size, uint64_t count, uint64_t nanoseconds);

/* Room for a line of progress. */
#define PROGRESS_LINE 240
void progress_line(char line[PROGRESS_LINE], const char *what, uint64_t done, uint64_t total,
		   uint64_t elapsed_ns);

#endif /* RFM_TOOLS_UNITS_H */
