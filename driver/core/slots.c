// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of the card: comparisons and silence, for watches (core/watch.c).
 *
 * A slot has one owner, whom its records go to; those from before the owner's
 * time are nobody's. Slots are taken in turn, as the card may not have written
 * yet what a slot told of for its last owner: only if nearly all are in use can
 * a new one get that.
 */

#include "core/card.h"

static_assert(RFM_SLOT_EQUAL == (u32)RFM_COMPARE_EQUAL);
static_assert(RFM_SLOT_NOT_EQUAL == (u32)RFM_COMPARE_NOT_EQUAL);
static_assert(RFM_SLOT_CHANGED == (u32)RFM_COMPARE_CHANGED);
static_assert(RFM_SLOT_SILENCE_MIN == RFM_WATCH_SILENCE_MIN);
static_assert(RFM_SLOT_SILENCE_MAX == RFM_WATCH_SILENCE_MAX);

/* One for each range that may fall silent, and one to compare. */
unsigned int rfm_slots_needed(const struct rfm_watch *args)
{
	return (args->silence_ns ? args->count : 0) +
	       !!(args->flags & RFM_WATCH_COMPARE);
}

/* Gives a watch all its slots, or none at all (-ENOSPC). */
int rfm_slots_take(struct rfm_card *card, struct rfm_watcher *watcher)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	unsigned int i, slot, need = rfm_slots_needed(&watcher->args);

	lockdep_assert_held(&dispatch->lock);

	if (need > RFM_EXT_SLOTS - bitmap_weight(dispatch->slots,
						 RFM_EXT_SLOTS))
		return -ENOSPC;

	for (i = 0; i < need; i++) {
		slot = find_next_zero_bit(dispatch->slots, RFM_EXT_SLOTS,
					  dispatch->next_slot);
		if (slot == RFM_EXT_SLOTS)
			slot = find_first_zero_bit(dispatch->slots, RFM_EXT_SLOTS);
		dispatch->next_slot = slot + 1;
		__set_bit(slot, dispatch->slots);
		dispatch->slot[slot] = (struct rfm_slot) {
			.owner = watcher,
			.changes = dispatch->slot[slot].changes + 1,
		};
		if (watcher->args.silence_ns && i < watcher->args.count)
			dispatch->slot[slot].range = &watcher->ranges[i];
	}
	return 0;
}

static int rfm_slot_write(struct rfm_card *card, unsigned int slot, u32 offset,
			  u32 length, const struct rfm_watch *args, u32 mode)
{
	u32 control;
	int idx, ret;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	writel(slot, card->hw.ext + RFM_EXT_SLOT_INDEX);
	writel(offset, card->hw.ext + RFM_EXT_SLOT_OFFSET);
	writel(length, card->hw.ext + RFM_EXT_SLOT_LENGTH);
	writeq(args->compare_mask, card->hw.ext + RFM_EXT_SLOT_MASK);
	writeq(args->compare_value, card->hw.ext + RFM_EXT_SLOT_VALUE);
	writeq(args->silence_ns, card->hw.ext + RFM_EXT_SLOT_SILENCE);
	writel(mode, card->hw.ext + RFM_EXT_SLOT_CONTROL);
	control = readl(card->hw.ext + RFM_EXT_SLOT_CONTROL);
	ret = rfm_regs_leave(card, idx);
	if ((control & (RFM_SLOT_MODE_M | RFM_SLOT_BAD)) == mode)
		return 0;
	dev_err_ratelimited(&card->dev, "slot %u, mode %u: the card says %#x\n",
			    slot, mode, control);
	return ret ?: -EIO;
}

/* Only a watch itself changes whether a slot is its own. */
static bool rfm_slot_is_of(struct rfm_card *card, unsigned int slot,
			   const struct rfm_watcher *watcher)
{
	return READ_ONCE(card->dispatch.slot[slot].owner) == watcher;
}

/*
 * Lets the card compare, and look for silence. -EIO if it refuses, -ENODEV if
 * it has gone. Sleeps.
 */
int rfm_slots_arm(struct rfm_card *card, struct rfm_watcher *watcher)
{
	const struct rfm_watch *args = &watcher->args;
	const struct rfm_watch_range *range;
	unsigned int slot;
	int ret = 0;

	for (slot = 0; slot < RFM_EXT_SLOTS && !ret; slot++) {
		if (!rfm_slot_is_of(card, slot, watcher))
			continue;
		range = card->dispatch.slot[slot].range;
		if (range)
			ret = rfm_slot_write(card, slot, range->first,
					     range->last - range->first + 1,
					     args, RFM_SLOT_TIMER);
		else
			ret = rfm_slot_write(card, slot, args->compare_offset,
					     args->compare_width, args,
					     args->compare);
	}
	return ret;
}

/*
 * The slots are off, and their records nobody's, before another can have them. The
 * card may have gone. Not under dispatch.lock.
 */
void rfm_slots_release(struct rfm_card *card, const struct rfm_watcher *watcher)
{
	static const struct rfm_watch none;
	unsigned int slot;

	for (slot = 0; slot < RFM_EXT_SLOTS; slot++) {
		if (!rfm_slot_is_of(card, slot, watcher))
			continue;
		rfm_dispatch_lock(card);
		WRITE_ONCE(card->dispatch.slot[slot].owner, NULL);
		rfm_slot_write(card, slot, 0, 0, &none, RFM_SLOT_OFF);
		__clear_bit(slot, card->dispatch.slots);
		rfm_dispatch_unlock(card);
	}
}

/* Return: SLOT_CONTROL, RFM_SLOT_OFF if there is no card to ask. */
static u32 rfm_slot_control(struct rfm_card *card, unsigned int index)
{
	u32 control;
	int idx;

	if (!rfm_regs_enter(card, &idx))
		return RFM_SLOT_OFF;
	writel(index, card->hw.ext + RFM_EXT_SLOT_INDEX);
	control = readl(card->hw.ext + RFM_EXT_SLOT_CONTROL);
	return rfm_regs_leave(card, idx) ? RFM_SLOT_OFF : control;
}

/* What the card no longer has a record of, made from what it still knows. */
static void rfm_slot_tell(struct rfm_card *card, unsigned int index, bool stale)
{
	const struct rfm_slot *slot = &card->dispatch.slot[index];
	struct rfm_record record = {
		.position = RFM_POSITION_NONE,
		.value = index,
		.event = {
			.type = stale ? RFM_EVENT_STALE : RFM_EVENT_FRESH,
			.node = RFM_NODE_ALL,
			.flags = RFM_EVENT_AGE_UNKNOWN | RFM_EVENT_INFERRED,
			.time_ns = ktime_get_ns(),
			.age_ns = slot->owner->args.silence_ns,
		},
	};

	rfm_event_set_range(&record.event, slot->range);
	rfm_dispatch(card, &record);
}

/* Return: false if something happened meanwhile, so that it is not known. */
static bool rfm_slot_recheck(struct rfm_card *card, unsigned int index)
{
	const struct rfm_slot *slot = &card->dispatch.slot[index];
	u64 changes;
	u32 control;
	bool timer, same, stale;

	rfm_dispatch_lock(card);
	timer = slot->owner && slot->range;
	changes = slot->changes;
	rfm_dispatch_unlock(card);
	if (!timer)
		return true;

	control = rfm_slot_control(card, index);
	stale = control & RFM_SLOT_STALE;

	rfm_dispatch_lock(card);
	same = slot->owner && slot->changes == changes;
	if (same && !READ_ONCE(card->hw.gone) && stale != slot->stale &&
	    (control & RFM_SLOT_MODE_M) == RFM_SLOT_TIMER)
		rfm_slot_tell(card, index, stale);
	rfm_dispatch_unlock(card);
	return same;
}

/*
 * The card, which may have gone, has dropped records: owners of timers are told
 * what they may not have been told. If the record of it was not dropped but is
 * still on its way, they hear it twice. Not under dispatch.lock; sleeps.
 */
void rfm_slots_recheck(struct rfm_card *card)
{
	unsigned int index;

	for (index = 0; index < RFM_EXT_SLOTS; index++)
		while (!rfm_slot_recheck(card, index))
			cond_resched();
}

/* All slots off, whatever was left armed, of a card that nobody uses. */
void rfm_slots_reset(struct rfm_card *card)
{
	unsigned int slot;

	if (!(card->hw.features & RFM_EXT_FEATURE_WATCH))
		return;
	for (slot = 0; slot < RFM_EXT_SLOTS; slot++) {
		writel(slot, card->hw.ext + RFM_EXT_SLOT_INDEX);
		writel(RFM_SLOT_OFF, card->hw.ext + RFM_EXT_SLOT_CONTROL);
	}
}
