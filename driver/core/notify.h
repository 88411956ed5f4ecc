/* SPDX-License-Identifier: GPL-2.0-only */
/* What monitors are told of, see api/notify.c. */
#ifndef RFM_NOTIFY_H
#define RFM_NOTIFY_H

#include "core/card.h"

void rfm_notify_event(struct rfm_card *card, const struct rfm_event *event,
		      u32 holder);
void rfm_notify_what(struct rfm_card *card, u32 type);
bool rfm_notify_room(struct rfm_card *card);
void rfm_notify_change(struct rfm_card *card);
u64 rfm_notify_lost(struct rfm_card *card);
int rfm_notify_init(struct rfm_card *card);
void rfm_notify_free(struct rfm_card *card);
void rfm_notify_start(struct rfm_card *card);
void rfm_notify_stop(struct rfm_card *card);

#endif /* RFM_NOTIFY_H */
