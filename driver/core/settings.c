// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of a card: one change of any number of them, all or nothing.
 *
 * What can fail comes first: the base masks, which can be undone, then the
 * window. The rest cannot.
 */

#include <linux/ktime.h>
#include <linux/moduleparam.h>

#include "core/notify.h"

/*
 * What a card begins with. From here on the engine was faster on an emulated
 * card (TCG, two CPUs), where a load costs the guest what a load from memory
 * does. Real cards are slow to be read: there the engine should win earlier, but
 * nobody has measured where.
 */
static unsigned int rfm_dma_read_threshold = 16384;
module_param_named(dma_read_threshold, rfm_dma_read_threshold, uint, 0444);
MODULE_PARM_DESC(dma_read_threshold,
		 "bytes from which on a read is made by DMA; 0: none");
static unsigned int rfm_dma_write_threshold = 2048;
module_param_named(dma_write_threshold, rfm_dma_write_threshold, uint, 0444);
MODULE_PARM_DESC(dma_write_threshold,
		 "bytes from which on a write is made by DMA; 0: none");

/* Of a card that netlink does not know yet. */
void rfm_settings_init(struct rfm_card *card)
{
	card->hw.dma.threshold[RFM_DMA_READ] = rfm_dma_read_threshold;
	card->hw.dma.threshold[RFM_DMA_WRITE] = rfm_dma_write_threshold;
}

/**
 * rfm_dma_threshold - from which length on is a transfer made by DMA?
 * @card: the card
 * @store: a write, else a read
 *
 * Return: bytes, 0: none is.
 */
u32 rfm_dma_threshold(const struct rfm_card *card, bool store)
{
	return READ_ONCE(card->hw.dma.threshold[store ? RFM_DMA_WRITE : RFM_DMA_READ]);
}

static int rfm_moderation_check(const struct rfm_card *card,
				const struct rfm_settings *settings)
{
	bool count = settings->set & RFM_SET(MODERATION_COUNT);
	bool time = settings->set & RFM_SET(MODERATION_TIME);

	if ((count || time) && !card->hw.events.ring)
		return rfm_refuse_setting(settings, count ?
					  RFM_A_CARD_MODERATION_COUNT :
					  RFM_A_CARD_MODERATION_TIME, -EOPNOTSUPP,
					  "the card has no event ring, there is nothing to moderate");
	if (count &&
	    settings->moderation_count > 1u << card->hw.events.order >> 1)
		return rfm_refuse_setting(settings, RFM_A_CARD_MODERATION_COUNT, -ERANGE,
					  "so many events do not fit into half of the event ring");
	if (time && settings->moderation_time > NSEC_PER_SEC)
		return rfm_refuse_setting(settings, RFM_A_CARD_MODERATION_TIME, -ERANGE,
					  "events wait for a second at most");
	return 0;
}

/* What needs something of the card. */
static int rfm_settings_check(const struct rfm_card *card,
			      const struct rfm_settings *settings)
{
	int ret = rfm_moderation_check(card, settings);

	if (ret)
		return ret;
	if (settings->set & RFM_SET(BASE_POLICY) &&
	    !(card->hw.features & RFM_EXT_FEATURE_SUBSCRIBE))
		return rfm_refuse_setting(settings, RFM_A_CARD_BASE_POLICY, -EOPNOTSUPP,
					  "the card has no extension block, it receives and sends everything");
	return rfm_config_check(card, settings);
}

static void rfm_moderate(struct rfm_card *card,
			 const struct rfm_settings *settings)
{
	u32 count, time;
	int idx;

	rfm_dispatch_lock(card);
	count = card->hw.events.moderation_count;
	time = card->hw.events.moderation_time;
	if (settings->set & RFM_SET(MODERATION_COUNT))
		count = settings->moderation_count;
	if (settings->set & RFM_SET(MODERATION_TIME))
		time = settings->moderation_time;
	if (rfm_card_enter(card, &idx)) {
		rfm_events_moderate(&card->hw, count, time);
		rfm_card_exit(card, idx);
	}
	rfm_dispatch_unlock(card);
}

/* What cannot fail, on a card that is there. */
static void rfm_settings_rest(struct rfm_card *card,
			      const struct rfm_settings *settings)
{
	if (settings->set & RFM_SET(DMA_READ_THRESHOLD))
		WRITE_ONCE(card->hw.dma.threshold[RFM_DMA_READ],
			   settings->dma_threshold[RFM_DMA_READ]);
	if (settings->set & RFM_SET(DMA_WRITE_THRESHOLD))
		WRITE_ONCE(card->hw.dma.threshold[RFM_DMA_WRITE],
			   settings->dma_threshold[RFM_DMA_WRITE]);
	if (settings->set & (RFM_SET(MODERATION_COUNT) |
			     RFM_SET(MODERATION_TIME)))
		rfm_moderate(card, settings);
}

static int rfm_base_change(struct rfm_card *card,
			   const struct rfm_settings *settings,
			   struct rfm_set *sets)
{
	int ret = rfm_base_prepare(card, settings, sets);

	if (ret == -ENOSPC)
		return rfm_refuse_setting(settings, RFM_A_CARD_BASE, ret,
					  "a base mask would have more than 4096 separate ranges");
	if (ret == -EIO)
		return rfm_refuse_setting(settings, settings->step_count ?
					  RFM_A_CARD_BASE :
					  RFM_A_CARD_BASE_POLICY, ret,
					  "the card refuses a range");
	return ret;
}

static int rfm_settings_change(struct rfm_card *card,
			       const struct rfm_settings *settings)
{
	bool rebase = settings->set & (RFM_SET(BASE_POLICY) | RFM_SET(BASE));
	struct rfm_set sets[RFM_PLANES] = {};
	int ret = 0;

	lockdep_assert_held(&card->lock);

	if (settings->conditional &&
	    settings->generation != card->config.generation)
		return rfm_refuse_setting(settings, RFM_A_CARD_GENERATION, -EAGAIN,
					  "the card has been changed meanwhile");
	if (rebase)
		ret = rfm_base_change(card, settings, sets);
	if (ret)
		return ret;
	ret = rfm_config_apply(card, settings);
	if (ret) {
		rfm_sets_drop(card, sets);
		return ret;
	}
	if (rebase)
		rfm_base_commit(card, sets);
	rfm_settings_rest(card, settings);
	card->config.generation++;
	if (rebase)
		card->config.base_generation = card->config.generation;
	rfm_notify_change(card);
	return 0;
}

/**
 * rfm_settings_apply - change settings of a card
 * @card: the card
 * @settings: what, and how; ranges are checked
 *
 * Monitors are told of it, with the calling process.
 *
 * Context: process; sleeps.
 * Return: 0; -EAGAIN, -EINVAL, -ERANGE, -EOPNOTSUPP, -EBUSY, -EIO, -EINTR,
 * -ENOMEM, -ENOSPC, -ENODEV, and then nothing has changed.
 */
int rfm_settings_apply(struct rfm_card *card,
		       const struct rfm_settings *settings)
{
	bool own_data = settings->config.mask & RFM_CONFIG_OWN_DATA;
	int ret;

	ret = rfm_settings_check(card, settings);
	if (ret)
		return ret;
	if (!settings->set && !settings->config.mask)
		return READ_ONCE(card->hw.gone) ? -ENODEV : 0;

	/* A ring test that is running waits for it. */
	ret = own_data ? rfm_ring_test_lock(card, settings->wait) : 0;
	if (ret == -EBUSY)
		return rfm_refuse_setting(settings, RFM_A_CARD_OWN_DATA, ret,
					  "a ring test is running, which waits for own-data");
	if (ret)
		return ret;
	ret = mutex_lock_interruptible(&card->lock);
	if (!ret) {
		ret = rfm_settings_change(card, settings);
		mutex_unlock(&card->lock);
	}
	if (own_data)
		mutex_unlock(&card->probe_lock);
	return ret;
}
