// SPDX-License-Identifier: MIT
/*
 * subscribe [CARD [SECONDS]]: takes part in the words of publish.c and nothing else,
 * and looks at them ten times a second. Looking is a load: no system call, no traffic.
 *
 * Exit status: 0 the words changed; 3 they never did; 1 an error.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rfm/rfm.h>

#include "words.h"

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1e9;
	const struct timespec tenth = { 0, 100000000 };
	uint64_t count, seen, changes = 0;
	const struct words *words;
	struct rfm *rfm;
	uint32_t result;

	words_catch_signals();
	rfm = rfm_open(argc > 1 ? argv[1] : NULL, O_RDONLY);
	if (!rfm)
		errx(1, "cannot open the card: %s", rfm_error());

	/*
	 * A mapping would subscribe to its whole pages. This program wants 64 bytes,
	 * so its mapping is to hold nothing.
	 */
	if (rfm_subscribe(rfm, 0, 0, RFM_SUBSCRIBE_NO_MAPS, NULL))
		err(1, "cannot take the mapping out of the subscription");
	if (rfm_subscribe(rfm, WORDS_OFFSET, sizeof(*words), RFM_SUBSCRIBE_RX, &result))
		err(1, "cannot subscribe");
	if (result == RFM_SUBSCRIBE_NO_EFFECT)
		fprintf(stderr, "note: this card receives everything anyway (base policy all)\n");
	words = rfm_map(rfm, WORDS_OFFSET, sizeof(*words));
	if (!words)
		err(1, "cannot map the memory");

	seen = rfm_read64(&words->count);
	for (int i = 0; i < seconds * 10 && !words_stop; i++) {
		nanosleep(&tenth, NULL);
		count = rfm_read64(&words->count);
		if (count == seen)
			continue;
		/* Loaded after the count: at least as new as it. */
		printf("%llu: value %+.3f, mode %u\n", (unsigned long long)count,
		       rfm_read_double(&words->value), rfm_read32(&words->mode));
		fflush(stdout);
		seen = count;
		changes++;
	}
	rfm_unmap((void *)words, sizeof(*words));
	rfm_close(rfm);		/* with it the subscription ends */
	return changes ? 0 : 3;
}
