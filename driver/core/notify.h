/* SPDX-License-Identifier: GPL-2.0-only */
/* What the core needs of the room above: who is told, and who may. */
#ifndef RFM_NOTIFY_H
#define RFM_NOTIFY_H

#include "core/card.h"

extern struct class rfm_class;

/* api/rights.c */
int rfm_may_ioctl(enum rfm_function function, fmode_t mode);

/* api/netlink.c: dumps that are under way are no longer of one piece */
void rfm_netlink_cards_changed(void);

/* api/notify.c: what monitors are told of */
void rfm_notify_event(struct rfm_card *card, const struct rfm_event *event,
		      u32 holder);
void rfm_notify_what(struct rfm_card *card, u32 type);
bool rfm_notify_room(struct rfm_card *card);
void rfm_notify_change(struct rfm_card *card);
int rfm_notify_init(struct rfm_card *card);
void rfm_notify_start(struct rfm_card *card);
void rfm_notify_stop(struct rfm_card *card);

#endif /* RFM_NOTIFY_H */
