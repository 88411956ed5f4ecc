/* SPDX-License-Identifier: MIT */
/* The card's ways to another node. */
#ifndef RMBENCH_CARDLINE_H
#define RMBENCH_CARDLINE_H

#include "line.h"

/* How the other learns of it. */
enum card_way {
	CARD_IDLE,		/* between two measurements: it sleeps */
	CARD_POLL,		/* it looks at the memory all the time */
	CARD_WATCH,		/* it sleeps in read() on a watch */
	CARD_INTERRUPT,		/* or on a listener, for an interrupt with data */
};

/* Of the way by a watch: what is taken for the sample. */
enum card_step {
	CARD_WHOLE,		/* half of the time there and back */
	CARD_TRANSIT,		/* from the store until the card here has it, as the cards say */
	CARD_WAKE,		/* from the driver's taking the event until read() is over */
};

/* A card, open and mapped. */
struct bench_place {
	int fd;
	uint32_t node;		/* ours */
	char *memory;		/* BENCH_AREA bytes at @offset */
	uint64_t offset;
};

#define BENCH_AREA	(2u << 20)	/* bytes: the first MiB for blocks, two granules behind it */

/** place_open() - 0, or -1 after a sentence */
int place_open(struct bench_place *place, const char *device, uint64_t offset);

/**
 * card_ask() - as line_ask(), of a node where card_answer() runs; one that runs on others is silent
 * @step: of @way CARD_WATCH only
 *
 * Where the cards are on different clocks, CARD_TRANSIT has no samples.
 */
int card_ask(const struct bench_place *place, unsigned int node, enum card_way way,
	     enum card_step step, uint64_t for_ns, struct bench_samples *samples);

/** card_answer() - for whoever asks, once it has printed "ready"; returns -1 with errno */
int card_answer(const struct bench_place *place);

#endif
