/* SPDX-License-Identifier: GPL-2.0-only */
/* What rfm_subscribe.c and rfm_base.c share: holds, and sets of them. */
#ifndef RFM_SUBSCRIBE_H
#define RFM_SUBSCRIBE_H

#include "rfm_drv.h"

/**
 * struct rfm_span - a range in a set
 * @node: in its tree, in order; spans of a set do not touch
 * @hold: the range and its plane
 */
struct rfm_span {
	struct rb_node node;
	struct rfm_hold hold;
};

static inline struct rfm_span *rfm_span_at(struct rb_node *node)
{
	return rb_entry_safe(node, struct rfm_span, node);
}

static inline struct rfm_span *rfm_span_next(struct rfm_span *span)
{
	return rfm_span_at(rb_next(&span->node));
}

static inline struct rfm_span *rfm_set_first(const struct rfm_set *set)
{
	return rfm_span_at(rb_first(&set->spans));
}

/* rfm_cover.c */
void rfm_cover_add(struct rb_root *root, struct rfm_end ends[2], u32 first,
		   u32 end);
void rfm_cover_del(struct rb_root *root, struct rfm_end ends[2]);
u32 rfm_cover_gap(const struct rb_root *root, u32 *first, u32 end);

/* rfm_subscribe.c */
bool rfm_plane_exists(const struct rfm_card *card, unsigned int plane);
int rfm_hold_take(struct rfm_card *card, struct rfm_hold *hold);
void rfm_hold_drop(struct rfm_card *card, struct rfm_hold *hold);
struct rfm_span *rfm_set_find(const struct rfm_set *set, u32 at);
int rfm_set_edit(struct rfm_set *set, const struct rfm_range *range,
		 unsigned int plane, bool add);
void rfm_set_free(struct rfm_set *set);
bool rfm_sets_range(const struct rfm_set *sets, u64 *cursor,
		    struct rfm_range *range, u32 *planes);
void rfm_planes_write(struct rfm_card *card, u32 on);

#endif /* RFM_SUBSCRIBE_H */
