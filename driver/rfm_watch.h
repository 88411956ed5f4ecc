/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of watches share. */
#ifndef RFM_WATCH_H
#define RFM_WATCH_H

#include "rfm_drv.h"

#define RFM_SLOT_NONE	RFM_EXT_SLOTS

/**
 * struct rfm_watch_range - one range of a watch
 * @node: in card->watched, unless the watch compares
 * @first: first byte
 * @last: last byte
 * @reach: last byte of those of the watch's ranges that this one is in the tree
 *	for: itself and others that overlap or touch it
 * @joined: one before it is in the tree for it
 * @last_below: of the tree's node and those below
 * @watcher: whose it is
 * @hold: what it needs of the card
 * @timer: slot of its timer, or RFM_SLOT_NONE
 */
struct rfm_watch_range {
	struct rb_node node;
	u32 first;
	u32 last;
	u32 reach;
	bool joined;
	u32 last_below;
	struct rfm_watcher *watcher;
	struct rfm_hold hold;
	unsigned int timer;
};

/**
 * struct rfm_watcher - one descriptor made by RFM_IOC_WATCH
 * @queue: its events
 * @args: what was asked for
 * @active: it is in card->watches, and what it compares with the tree
 * @seen: position of the last update it was told of, which may have touched
 *	several of its ranges
 * @late: updates that were late
 * @comparator: slot, or RFM_SLOT_NONE
 * @count: of @ranges
 * @kept: for each of its slots, room for its last record; NULL without slots
 * @holder: for descriptor-get, and for those who are told of its events
 * @ranges: them
 */
struct rfm_watcher {
	struct rfm_queue queue;
	struct rfm_holder holder;
	struct rfm_watch args;
	bool active;
	u64 seen;
	u64 late;
	unsigned int comparator;
	unsigned int count;
	struct rfm_kept *kept;
	struct rfm_watch_range ranges[];
};

/* A record that tells of no update tells of a range. */
static inline void rfm_event_set_range(struct rfm_event *event,
				       const struct rfm_watch_range *range)
{
	event->offset = range->first;
	event->length = range->last - range->first + 1;
}

/* rfm_slots.c: the card's comparators and timers */
unsigned int rfm_slots_needed(const struct rfm_watch *args);
int rfm_slots_take(struct rfm_card *card, struct rfm_watcher *watcher);
int rfm_slots_arm(struct rfm_card *card, struct rfm_watcher *watcher);
void rfm_slot_release(struct rfm_card *card, unsigned int slot);

#endif /* RFM_WATCH_H */
