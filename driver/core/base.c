// SPDX-License-Identifier: GPL-2.0-only
/*
 * The base masks: what is on for nobody in particular.
 *
 * They are sets as a file has them (core/subscribe.c), one for each plane, whose
 * holds do not keep the window where it is. The base policy all is RX and TX of
 * the whole memory, none is neither; card-set may have it in between,
 * and may own ranges.
 *
 * A change makes new sets, takes what they hold, and then drops the old ones:
 * nothing that stays on is ever off, and when the card refuses, the new ones go
 * and nothing has changed.
 */

#include "core/notify.h"

static int rfm_base_step(struct rfm_card *card, struct rfm_set *sets,
			 const struct rfm_base_step *step)
{
	return rfm_sets_change(card, sets, &step->range, step->planes,
			       step->add, false);
}

static int rfm_base_copy(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_base_step step = { .add = true };
	u64 cursor = 0;
	int ret = 0;

	while (!ret && rfm_sets_range(&card->holds.base_holder, &cursor,
				      &step.range, &step.planes))
		ret = rfm_base_step(card, sets, &step);
	return ret;
}

static int rfm_base_hold(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_span *span, *next;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RFM_PLANES; i++) {
		rbtree_postorder_for_each_entry_safe(span, next, &sets[i].spans,
						     node) {
			span->hold.base = true;
			ret = ret ?: rfm_hold_take(card, &span->hold);
		}
	}
	return ret;
}

/*
 * The first half of a change of the base masks, under card->lock up to the
 * second: @sets become what the masks are to be, and are on already. The second
 * is rfm_base_commit(), if there is to be a change, and rfm_sets_drop() in any
 * case, also after an error: -ENOSPC for too many ranges, -ENOMEM, -EIO, -ENODEV.
 * Sleeps.
 */
int rfm_base_prepare(struct rfm_card *card, const struct rfm_settings *settings,
		     struct rfm_set *sets)
{
	const struct rfm_base_step whole = {
		.range.length = card->hw.memory_size,
		.planes = RFM_HOLD_BASE,
		.add = settings->policy == RFM_POLICY_ALL,
	};
	unsigned int i;
	int ret;

	ret = rfm_base_copy(card, sets);
	if (!ret && settings->set & RFM_SET(BASE_POLICY))
		ret = rfm_base_step(card, sets, &whole);
	for (i = 0; i < settings->step_count && !ret; i++)
		ret = rfm_base_step(card, sets, &settings->steps[i]);
	return ret ?: rfm_base_hold(card, sets);
}

/* @sets become what the masks were. */
void rfm_base_commit(struct rfm_card *card, struct rfm_set *sets)
{
	const struct rfm_range whole = { 0, card->hw.memory_size };
	struct rfm_set *base = card->holds.base;
	u32 policy = RFM_BASE_MASK;
	unsigned int i;

	for (i = 0; i < RFM_PLANES; i++)
		swap(base[i], sets[i]);
	if (rfm_sets_cover(base, &whole, RFM_HOLD_BASE))
		policy = RFM_BASE_ALL;
	else if (!base[RFM_PLANE_RX].count && !base[RFM_PLANE_TX].count)
		policy = RFM_BASE_NONE;
	WRITE_ONCE(card->holds.base_policy, policy);
	rfm_holders_changed(card);
}

const struct rfm_holder_ops rfm_base_ops = {
	.kind = RFM_DESCRIPTOR_KIND_BASE,
	.range = rfm_sets_range,
};
