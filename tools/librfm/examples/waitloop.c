// SPDX-License-Identifier: MIT
/*
 * waitloop [CARD [COUNT]]: sleeps until another node writes to the count of publish.c, and
 * says who wrote what, and how old it was. Ends after COUNT updates.
 *
 * Exit status: 0 every update was seen; 3 some were dropped because this program
 * was too slow, or perhaps because this machine was; 1 an error.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <rfm/rfm.h>

#include "words.h"

static volatile sig_atomic_t stop;

static void on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

static void show(const struct rfm_event *event)
{
	int64_t age = rfm_age_ns(event);

	printf("node %u wrote %u bytes at %#llx, frame %llu", event->node, event->length,
	       (unsigned long long)event->offset, (unsigned long long)event->frame);
	if (age >= 0)
		printf(", %.1f us ago\n", age / 1e3);
	else
		printf(", on another clock\n");
}

int main(int argc, char **argv)
{
	unsigned long limit = argc > 2 ? strtoul(argv[2], NULL, 0) : -1ul, seen = 0;
	struct sigaction action = { .sa_handler = on_signal };
	struct rfm_event records[16];
	struct rfm_events *events;
	uint64_t dropped = 0, by_card = 0;
	struct rfm *rfm;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);

	rfm = rfm_open(argc > 1 ? argv[1] : NULL, O_RDONLY);
	if (!rfm)
		err(1, "cannot open the card");
	events = rfm_watch(rfm, WORDS_OFFSET + offsetof(struct words, count), sizeof(uint64_t));
	if (!events)
		err(1, "cannot watch");

	while (!stop && seen < limit) {
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
			show(&records[i]);
			seen++;
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
