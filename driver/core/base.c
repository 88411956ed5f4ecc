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

#include <linux/slab.h>

#include "core/card.h"

static const u32 rfm_base_planes = RFM_HOLD(RFM_PLANE_RX) |
				   RFM_HOLD(RFM_PLANE_TX);

static int rfm_base_step(struct rfm_card *card, struct rfm_set *sets,
			 const struct rfm_base_step *step)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RFM_PLANES && !ret; i++)
		if (step->planes & RFM_HOLD(i))
			ret = rfm_set_edit(card, &sets[i], &step->range, i,
					   step->add);
	return ret;
}

static int rfm_base_whole(struct rfm_card *card, struct rfm_set *sets, bool add)
{
	const struct rfm_base_step whole = {
		.range.length = card->hw.memory_size,
		.planes = rfm_base_planes,
		.add = add,
	};

	return rfm_base_step(card, sets, &whole);
}

static int rfm_base_copy(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_base_step step = { .add = true };
	u64 cursor = 0;
	int ret = 0;

	while (!ret && rfm_sets_range(card->holds.base, &cursor, &step.range,
				      &step.planes))
		ret = rfm_base_step(card, sets, &step);
	return ret;
}

static int rfm_base_hold(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_span *span;
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&card->lock);

	for (i = 0; i < RFM_PLANES; i++) {
		for (span = rfm_set_first(&sets[i]); span && !ret;
		     span = rfm_span_next(span)) {
			span->hold.base = true;
			ret = rfm_hold_take(card, &span->hold);
		}
	}
	return ret;
}

static bool rfm_set_covers(const struct rfm_set *set, u32 first, u32 end)
{
	const struct rfm_span *span = rfm_set_find(set, first + 1);

	return span && span->hold.first <= first && span->hold.end >= end;
}

/* Has the base all of a range on in all of these planes anyway? */
bool rfm_base_covers(struct rfm_card *card, const struct rfm_range *range,
		     u32 planes)
{
	u32 first = range->offset / RFM_GRANULE;
	u32 end = DIV_ROUND_UP_ULL(range->offset + range->length, RFM_GRANULE);
	unsigned int i;

	lockdep_assert_held(&card->lock);

	for (i = 0; i < RFM_PLANES; i++)
		if (planes & RFM_HOLD(i) &&
		    !rfm_set_covers(&card->holds.base[i], first, end))
			return false;
	return true;
}

static u32 rfm_base_policy_of(struct rfm_card *card)
{
	const struct rfm_range whole = { 0, card->hw.memory_size };

	if (rfm_base_covers(card, &whole, rfm_base_planes))
		return RFM_BASE_ALL;
	if (!card->holds.base[RFM_PLANE_RX].count &&
	    !card->holds.base[RFM_PLANE_TX].count)
		return RFM_BASE_NONE;
	return RFM_BASE_MASK;
}

/*
 * The first half of a change of the base masks, under card->lock up to the
 * second: @sets become what the masks are to be, and are on already. The second
 * is rfm_base_commit(), or rfm_sets_drop() for no change; after an error, none:
 * -ENOSPC for too many ranges, -ENOMEM, -EIO, -ENODEV. Sleeps.
 */
int rfm_base_prepare(struct rfm_card *card, const struct rfm_settings *settings,
		     struct rfm_set *sets)
{
	unsigned int i;
	int ret;

	ret = rfm_base_copy(card, sets);
	if (!ret && settings->set & RFM_SET(BASE_POLICY))
		ret = rfm_base_whole(card, sets,
				     settings->policy == RFM_POLICY_ALL);
	for (i = 0; i < settings->step_count && !ret; i++)
		ret = rfm_base_step(card, sets, &settings->steps[i]);
	if (!ret)
		ret = rfm_base_hold(card, sets);
	if (ret)
		rfm_sets_drop(card, sets);
	return ret;
}

/* Leaves @sets empty. */
void rfm_base_commit(struct rfm_card *card, struct rfm_set *sets)
{
	unsigned int i;

	for (i = 0; i < RFM_PLANES; i++)
		swap(card->holds.base[i], sets[i]);
	rfm_sets_drop(card, sets);
	WRITE_ONCE(card->holds.base_policy, rfm_base_policy_of(card));
	rfm_holders_changed(card);
}

/*
 * Puts RFM_BASE_ALL or RFM_BASE_NONE into force, on a card that nobody can open
 * yet.
 */
int rfm_base_start(struct rfm_card *card, u32 policy)
{
	int ret = 0;

	rfm_planes_write(card, policy == RFM_BASE_ALL ? rfm_base_planes : 0);
	mutex_lock(&card->lock);
	if (policy == RFM_BASE_ALL)
		ret = rfm_base_whole(card, card->holds.base, true) ?:
		      rfm_base_hold(card, card->holds.base);
	card->holds.base_policy = policy;
	mutex_unlock(&card->lock);
	return ret;
}

/* Of a card that nobody uses any more. */
void rfm_base_free(struct rfm_card *card)
{
	unsigned int i;

	for (i = 0; i < RFM_PLANES; i++)
		rfm_set_free(&card->holds.base[i]);
}

/* --- for descriptor-get ---------------------------------------------------- */

static bool rfm_base_range(struct rfm_holder *holder, u64 *cursor,
			   struct rfm_range *range, u32 *planes)
{
	struct rfm_card *card = container_of(holder, struct rfm_card,
					     holds.base_holder);

	return rfm_sets_range(card->holds.base, cursor, range, planes);
}

const struct rfm_holder_ops rfm_base_ops = {
	.kind = RFM_DESCRIPTOR_KIND_BASE,
	.range = rfm_base_range,
};
