/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two nodes on one ring for the tests of librfm: cards of this machine or nodes in this
 * process ("ring:..."), the first is called near, the second far. One source for both:
 * stores are those that every handle has, and what only a card can is asked of rfm_can().
 */
#ifndef LIBRFM_PAIR_H
#define LIBRFM_PAIR_H

#include <rfm/rfm.h>

#include "tap.h"
#include "card.h"

#define PLACE	0x20000ull		/* of the words and records here */
#define STEP	0x1000ull		/* each case has a page of its own */

__weak const char *near_path, *far_path;
__weak struct rfm *near_card, *far_card;
__weak struct rfm_info near_info, far_info;

/* A place in both memories, all 0 on both nodes. */
struct pair {
	uint64_t offset;
	const volatile uint64_t *near, *far;
};

/* Word @at of the place. */
__attribute__((unused))
static void put(struct rfm *card, const struct pair *pair, unsigned int at, uint64_t value)
{
	CHECK_EQ(rfm_store64(card, pair->offset + 8 * at, value), 0);
}

__attribute__((unused))
static bool map_pair(struct pair *pair, unsigned int page, size_t size)
{
	static const uint8_t zeros[STEP];

	pair->offset = PLACE + page * STEP;
	pair->near = rfm_map(near_card, pair->offset, size);
	pair->far = rfm_map(far_card, pair->offset, size);
	if (!CHECK(pair->near && pair->far))
		return false;
	CHECK_EQ(rfm_write(near_card, pair->offset, zeros, size), 0);
	return CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
}

__attribute__((unused))
static void unmap_pair(struct pair *pair, size_t size)
{
	CHECK_EQ(rfm_unmap((void *)pair->near, size), 0);
	CHECK_EQ(rfm_unmap((void *)pair->far, size), 0);
}

/* The next record. Prefilled, so a field that is forgotten shows. */
__attribute__((unused))
static bool next(struct rfm_events *events, struct rfm_event *record)
{
	memset(record, 0xa5, sizeof(*record));
	return CHECK_EQ(rfm_events_wait(events, record, 1, PATIENCE_MS), 1);
}

/* All that was stored has been everywhere, and no record came of it. */
__attribute__((unused))
static bool silent(struct rfm_events *events)
{
	struct rfm_event record;

	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	return CHECK_EQ(rfm_events_wait(events, &record, 1, 100), 0);
}

/* CHECK_ERRNO() for calls that return a pointer. */
#define CHECK_NULL(call, expected) ({					\
	errno = 0;							\
	const void *null_r = (call);					\
	int null_errno = errno;						\
	CHECK(!null_r) && CHECK_EQ(null_errno, expected); })

/* The nodes that the arguments name; false after it has been said why not. */
__attribute__((unused))
static bool open_cards(int argc, char **argv)
{
	uint64_t begun = now_ns();

	near_path = card_path(argc, argv, 0);
	far_path = card_path(argc, argv, 1);
	if (!near_path || !far_path)
		tap_skip_all("two cards are needed");
	near_card = rfm_open(near_path, O_RDWR);
	far_card = rfm_open(far_path, O_RDWR);
	if (!near_card || !far_card || rfm_info(near_card, &near_info) ||
	    rfm_info(far_card, &far_info)) {
		printf("Bail out! the cards: %s (%s)\n", strerror(errno), rfm_error());
		return false;
	}
	/* A ring of processes comes up in its own time. */
	while (!(rfm_can(near_card) & RFM_CAN_FD) &&
	       (rfm_fence(near_card, 100, NULL) || rfm_fence(far_card, 100, NULL)))
		if (now_ns() - begun > PATIENCE_NS) {
			printf("Bail out! the nodes are no ring\n");
			return false;
		}
	return true;
}

#endif
