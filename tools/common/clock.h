/* SPDX-License-Identifier: MIT */
/* The clock of everything here: that of rfm_event.time_ns. */
#ifndef RFM_TOOLS_CLOCK_H
#define RFM_TOOLS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC	1000000000ull
#define NSEC_PER_MSEC	1000000ull

/* CLOCK_MONOTONIC, nanoseconds. */
static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

#endif /* RFM_TOOLS_CLOCK_H */
