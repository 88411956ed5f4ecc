// SPDX-License-Identifier: MIT
/*
 * wrongwriter [--card PATH] [--count N] [--json]: has a bug on purpose.
 *
 * It wants to count in its own place of the area, 100 times a second, but it got the
 * place wrong, as programs do that were written against last year's layout: it writes into
 * the state of plant.c. The plant's node reports who it was, where, and how often.
 *
 * Exit status: 0 it has written (and reached every node); 3 not known to be everywhere; 1 an
 * error; 2 bad usage.
 */
#include "loop.h"

#define WRITE_PERIOD_NS	(10 * MS)
/* A fence takes some microseconds, unless a machine of the ring is held up for a while. */
#define FENCE_MS	20000

/*
 * Last year's layout, by hand: the log was where the state is now. This program does not
 * read the file that says where it is today, loop.yaml.
 */
#define LOG_OF_LAST_YEAR	0x10010

int main(int argc, char **argv)
{
	struct loop_options options = LOOP_DEFAULTS;
	const struct timespec pause = { 0, WRITE_PERIOD_NS };
	unsigned long long n = 0;
	struct rfm *rfm;
	bool everywhere;

	loop_begin(argc, argv, &options);
	rfm = loop_open(&options, O_RDWR);
	rfm_fence(rfm, FENCE_MS, NULL);	/* what was lost before is not this program's */
	while (n < options.count && !loop_stop) {
		if (rfm_store64(rfm, LOG_OF_LAST_YEAR, ++n))	/* the bug */
			err(1, "cannot write");
		nanosleep(&pause, NULL);	/* apart, so that each is an update of its own */
	}
	everywhere = !rfm_fence(rfm, FENCE_MS, NULL);
	printf(options.json ? "{\"event\": \"end\", \"time_ns\": %llu, \"writes\": %llu, "
			      "\"offset\": %llu}\n" :
	       "at %llu ns: %llu writes at offset %llu\n",
	       (unsigned long long)loop_now(), n, (unsigned long long)LOG_OF_LAST_YEAR);
	rfm_close(rfm);
	return everywhere ? 0 : 3;
}
