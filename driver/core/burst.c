// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card's burst range, in which stores do not trap; docs/extension.md says
 * what is given up for that.
 */

#include <linux/iopoll.h>

#include "core/card.h"

/* A ring that takes nothing may keep the card from ending a scan. */
#define RFM_BURST_US_MAX	(2 * USEC_PER_SEC)
#define RFM_BURST_US		20

static bool rfm_has_burst(const struct rfm_card *card)
{
	return card->hw.features & RFM_EXT_FEATURE_BURST;
}

/**
 * rfm_burst_read - which range it is
 * @card: the card
 * @burst: filled in; zero on a card that cannot have one
 *
 * Context: process, with card->lock held, or the range may be half of a change.
 * Return: 0 or -ENODEV.
 */
int rfm_burst_read(struct rfm_card *card, struct rfm_burst *burst)
{
	int idx;

	*burst = (struct rfm_burst) {};
	if (!rfm_has_burst(card))
		return 0;
	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	burst->offset = readl(card->hw.ext + RFM_EXT_BURST_OFFSET);
	burst->length = readl(card->hw.ext + RFM_EXT_BURST_LENGTH);
	burst->period = readl(card->hw.ext + RFM_EXT_BURST_PERIOD) *
			NSEC_PER_USEC;
	return rfm_regs_leave(card, idx);
}

static bool rfm_burst_is_flushed(struct rfm_card *card, u32 ticket)
{
	int idx;
	u32 done;

	if (!rfm_card_enter(card, &idx))
		return true;
	done = readl(card->hw.ext + RFM_EXT_BURST_FLUSHED);
	return rfm_card_leave(card, idx) || (s32)(done - ticket) >= 0;
}

/**
 * rfm_burst_flush - what has been stored in the range is sent
 * @card: the card
 *
 * And what COMMAND has asked for has been done. Waits two seconds at most.
 *
 * Context: process; sleeps.
 */
void rfm_burst_flush(struct rfm_card *card)
{
	bool done;
	u32 ticket;
	int idx;

	if (!rfm_has_burst(card) || !rfm_regs_enter(card, &idx))
		return;
	writel(0, card->hw.ext + RFM_EXT_BURST_FLUSH);
	ticket = readl(card->hw.ext + RFM_EXT_BURST_FLUSH);
	if (rfm_regs_leave(card, idx))
		return;
	read_poll_timeout(rfm_burst_is_flushed, done, done, RFM_BURST_US,
			  RFM_BURST_US_MAX, false, card, ticket);
}

/* Could a change be? Return: 0, -EINVAL, -ERANGE or -EOPNOTSUPP. */
int rfm_burst_check(const struct rfm_card *card,
		    const struct rfm_settings *settings)
{
	bool offset = settings->set & RFM_SET(BURST_OFFSET);
	bool length = settings->set & RFM_SET(BURST_LENGTH);
	bool period = settings->set & RFM_SET(BURST_PERIOD);
	const struct rfm_burst *burst = &settings->burst;

	if (!(offset || length || period))
		return 0;
	if (!rfm_has_burst(card))
		return rfm_refuse_setting(settings, length ? RFM_A_CARD_BURST_LENGTH :
					  offset ? RFM_A_CARD_BURST_OFFSET :
					  RFM_A_CARD_BURST_PERIOD, -EOPNOTSUPP,
					  "the card can have no burst range");
	if (offset != length)
		return rfm_refuse_setting(settings, offset ? RFM_A_CARD_BURST_OFFSET :
					  RFM_A_CARD_BURST_LENGTH, -EINVAL,
					  "the offset of a burst range and its length are set together");
	if ((burst->offset | burst->length) % RFM_EXT_BURST_PAGE)
		return rfm_refuse_setting(settings, RFM_A_CARD_BURST_LENGTH, -EINVAL,
					  "offset and length of a burst range are multiples of 4096");
	if (burst->length > card->hw.memory_size ||
	    burst->offset > card->hw.memory_size - burst->length)
		return rfm_refuse_setting(settings, RFM_A_CARD_BURST_OFFSET, -EINVAL,
					  "the burst range reaches past the end of the memory");
	if (period &&
	    (burst->period < RFM_EXT_BURST_PERIOD_MIN * NSEC_PER_USEC ||
	     burst->period > RFM_EXT_BURST_PERIOD_MAX * NSEC_PER_USEC))
		return rfm_refuse_setting(settings, RFM_A_CARD_BURST_PERIOD, -ERANGE,
					  "the period of a burst range is 100 us to a second");
	if (period && burst->period % NSEC_PER_USEC)
		return rfm_refuse_setting(settings, RFM_A_CARD_BURST_PERIOD, -EINVAL,
					  "the period of a burst range is in whole microseconds");
	return 0;
}

/* What COMMAND said. */
static int rfm_burst_result(struct rfm_card *card)
{
	u32 result;
	int idx, ret;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	result = readl(card->hw.ext + RFM_EXT_BURST_COMMAND);
	ret = rfm_regs_leave(card, idx);
	if (ret)
		return ret;
	return !result ? 0 :
	       result == RFM_EXT_BURST_NO_MEMORY ? -ENOMEM :
	       result == RFM_EXT_BURST_NO_THREAD ? -EOPNOTSUPP : -EIO;
}

/*
 * Makes this the range. Until the card has done so stores go the other way; nothing is
 * lost by that. Sleeps.
 */
static int rfm_burst_range(struct rfm_card *card, u32 offset, u32 length)
{
	int idx, ret;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	writel(offset, card->hw.ext + RFM_EXT_BURST_OFFSET);
	writel(length, card->hw.ext + RFM_EXT_BURST_LENGTH);
	writel(0, card->hw.ext + RFM_EXT_BURST_COMMAND);
	ret = rfm_regs_leave(card, idx);
	if (ret)
		return ret;
	rfm_burst_flush(card);
	return rfm_burst_result(card);
}

static int rfm_burst_refused(const struct rfm_settings *settings, int error)
{
	const int attr = RFM_A_CARD_BURST_LENGTH;

	if (error == -ENOMEM)
		return rfm_refuse_setting(settings, attr, error,
					  "the card has no memory for such a burst range");
	if (error == -EOPNOTSUPP)
		return rfm_refuse_setting(settings, attr, error,
					  "this card can have no burst range: in QEMU it needs an iothread");
	return rfm_refuse_setting(settings, attr, error,
				  "the card refuses the burst range");
}

/**
 * rfm_burst_change - another range, another period
 * @card: the card
 * @settings: passed rfm_burst_check()
 *
 * Context: process, with card->lock held; sleeps.
 * Return: 0; -ENOMEM, -EOPNOTSUPP, -EIO, -ENODEV, and then it is as it was.
 */
int rfm_burst_change(struct rfm_card *card, const struct rfm_settings *settings)
{
	const struct rfm_burst *burst = &settings->burst;
	struct rfm_burst old;
	int idx, ret;

	lockdep_assert_held(&card->lock);

	if (settings->set & RFM_SET(BURST_LENGTH)) {
		ret = rfm_burst_read(card, &old) ?:
		      rfm_burst_range(card, burst->offset, burst->length);
		if (ret && ret != -ENODEV)
			rfm_burst_range(card, old.offset, old.length);
		if (ret)
			return ret == -ENODEV ? ret : rfm_burst_refused(settings, ret);
	}
	if (settings->set & RFM_SET(BURST_PERIOD)) {
		if (!rfm_regs_enter(card, &idx))
			return -ENODEV;
		writel(burst->period / (u32)NSEC_PER_USEC,
		       card->hw.ext + RFM_EXT_BURST_PERIOD);
		return rfm_regs_leave(card, idx);
	}
	return 0;
}

/* What else was to be changed could not be. */
void rfm_burst_restore(struct rfm_card *card, const struct rfm_burst *old,
		       const struct rfm_settings *settings)
{
	int idx;

	if (settings->set & RFM_SET(BURST_LENGTH))
		rfm_burst_range(card, old->offset, old->length);
	if (settings->set & RFM_SET(BURST_PERIOD) && rfm_regs_enter(card, &idx)) {
		writel(old->period / (u32)NSEC_PER_USEC,
		       card->hw.ext + RFM_EXT_BURST_PERIOD);
		rfm_regs_leave(card, idx);
	}
}
