// SPDX-License-Identifier: MIT
/*
 * waitloop [CARD [COUNT]]: sleeps until another node writes the words of publish.c, and
 * says what was written in each cycle, by whom, and how old it was. Ends after COUNT cycles.
 *
 * The memory has the newest cycle only. Each update is a record of its own, which carries
 * what was written: so no cycle is missed, also by a program that was busy meanwhile.
 *
 * Exit status: 0 every cycle was seen; 3 some were dropped because this program
 * was too slow, or perhaps because this machine was; 1 an error.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <rfm/rfm.h>

#include "words.h"

static struct words words;	/* as the records so far have told */

/* Stores that lie side by side may come as one update, of up to 64 bytes here. */
static void take(const struct rfm_event *event)
{
	uint64_t end = event->offset + event->length;

	for (uint64_t at = event->offset; at < end && at - event->offset < sizeof(event->bytes); at++)
		if (at >= WORDS_OFFSET && at - WORDS_OFFSET < sizeof(words))
			((uint8_t *)&words)[at - WORDS_OFFSET] = event->bytes[at - event->offset];
}

static bool ends_cycle(const struct rfm_event *event)
{
	const uint64_t last = WORDS_OFFSET + offsetof(struct words, count);

	return event->offset <= last && last < event->offset + event->length;
}

static void show(const struct rfm_event *event)
{
	int64_t age = rfm_age_ns(event);

	printf("%llu: value %+.3f, mode %u, by node %u", (unsigned long long)words.count,
	       words.value, words.mode, event->node);
	if (age >= 0)
		printf(", %.1f us ago\n", age / 1e3);
	else
		printf(", on another clock\n");
}

int main(int argc, char **argv)
{
	unsigned long limit = argc > 2 ? strtoul(argv[2], NULL, 0) : -1ul, seen = 0;
	struct rfm_event records[16];
	struct rfm_events *events;
	uint64_t dropped = 0, by_card = 0;
	bool begun = false;
	struct rfm *rfm;

	words_catch_signals();
	rfm = rfm_open(argc > 1 ? argv[1] : NULL, O_RDONLY);
	if (!rfm)
		errx(1, "cannot open the card: %s", rfm_error());
	events = rfm_watch(rfm, WORDS_OFFSET, sizeof(words));
	if (!events)
		err(1, "cannot watch");

	while (!words_stop && seen < limit) {
		/* A second at most: a signal just before the call must not be missed. */
		int n = rfm_events_wait(events, records, 16, 1000);

		if (n < 0 && errno != EINTR)
			err(1, "cannot wait");
		for (int i = 0; i < n && seen < limit; i++) {
			dropped = records[i].dropped;
			if (records[i].type == RFM_EVENT_DROPPED) {
				by_card += records[i].data;
				continue;
			}
			take(&records[i]);
			if (!ends_cycle(&records[i]))
				continue;
			/* Of the first one the beginning may have been before the watch. */
			if (begun) {
				show(&records[i]);
				seen++;
			}
			begun = true;
		}
		fflush(stdout);
	}
	rfm_events_close(events);
	rfm_close(rfm);
	if (dropped)
		fprintf(stderr, "%llu updates were dropped\n", (unsigned long long)dropped);
	if (by_card)
		fprintf(stderr, "the card has dropped %llu events, perhaps of these\n",
			(unsigned long long)by_card);
	return dropped || by_card ? 3 : 0;
}
