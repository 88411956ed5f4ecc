/* SPDX-License-Identifier: GPL-2.0-only */
/* What monitors are told of, see rfm_notify.c. */
#ifndef RFM_NOTIFY_H
#define RFM_NOTIFY_H

#include "rfm_card.h"

/* Something that has happened and is still to be told of. */
struct rfm_note {
	u32 type;			/* enum rfm_notice */
	u32 has;			/* RFM_NOTE_HAS(): which of these there are: */
	u32 node;
	u32 epoch;			/* membership */
	u32 length;			/* bytes */
	u64 offset;			/* first byte */
	u64 missing;			/* updates, or events */
	u64 frame;			/* number */
	u64 age_ns;			/* how old, how long silent */
	u64 time_ns;			/* when */
	u64 count;			/* how many these are */
	u32 holder;			/* id */
	u64 lost;			/* notifications before it that found no room */
};

#define RFM_NOTES	256	/* that a card can keep until they are told */

#define RFM_NOTE_HAS(attr)	BIT(RFM_A_EVENT_##attr)

void rfm_notify_event(struct rfm_card *card, const struct rfm_event *event,
		      const struct rfm_holder *holder);
void rfm_notify_note(struct rfm_card *card, struct rfm_note *note);
bool rfm_notify_room(struct rfm_card *card);
void rfm_notify_dropped(struct rfm_card *card, u64 missing);
void rfm_notify_gone(struct rfm_card *card);
void rfm_notify_change(struct rfm_card *card);
u64 rfm_notify_lost(struct rfm_card *card);
int rfm_notify_init(struct rfm_card *card);
void rfm_notify_free(struct rfm_card *card);
void rfm_notify_start(struct rfm_card *card);
void rfm_notify_stop(struct rfm_card *card);

#endif /* RFM_NOTIFY_H */
