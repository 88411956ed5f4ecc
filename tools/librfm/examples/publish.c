// SPDX-License-Identifier: MIT
/*
 * publish [CARD [SECONDS]]: stores three words every 10 ms, for all nodes.
 *
 * Ends after SECONDS, or with SIGINT or SIGTERM. Exit status: 0 every node has all that
 * was stored; 3 some of it was lost or cannot be known to be there; 1 an error.
 */
#include <err.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rfm/rfm.h>

#include "words.h"

/* A fence takes some microseconds, unless a machine of the ring is held up for a while. */
#define FENCE_MS	20000

int main(int argc, char **argv)
{
	uint64_t limit = argc > 2 ? strtod(argv[2], NULL) * 1e9 / WORDS_PERIOD_NS : UINT64_MAX;
	struct timespec next;
	struct rfm *rfm;
	uint64_t n = 0;

	words_catch_signals();
	rfm = rfm_open(argc > 1 ? argv[1] : NULL, O_RDWR);
	if (!rfm)
		errx(1, "cannot open the card: %s", rfm_error());

	/* A fence tells of losses since the one before; what was lost until now is not ours. */
	rfm_fence(rfm, FENCE_MS, NULL);

	/* A period is a time at which to wake, not a time to sleep: it does not drift. */
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!words_stop && n < limit) {
		n++;
		/* The count last, so who sees the new one sees the words that belong to it. */
		if (rfm_store_double(rfm, WORDS_VALUE, sin(n * 0.01)) ||
		    rfm_store32(rfm, WORDS_MODE, n / 100 % 4) ||
		    rfm_store64(rfm, WORDS_COUNT, n))
			warn("cycle %llu was not sent", (unsigned long long)n);

		next.tv_nsec += WORDS_PERIOD_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}

	/* Stores are on their way at once; this waits until they have been everywhere. */
	if (rfm_fence(rfm, FENCE_MS, NULL)) {
		warn("%llu published, but not known to be everywhere", (unsigned long long)n);
		return 3;
	}
	printf("%llu published\n", (unsigned long long)n);
	rfm_close(rfm);
	return 0;
}
