// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of a card: one change of any number of them, all or nothing. Who
 * may do so says api/rights.c.
 *
 * What can fail comes first: the base masks, which can be undone, then the
 * window. The rest cannot.
 */

#include <linux/moduleparam.h>
#include <linux/sizes.h>

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
static int rfm_dma_write_threshold = -1;
module_param_named(dma_write_threshold, rfm_dma_write_threshold, int, 0444);
MODULE_PARM_DESC(dma_write_threshold,
		 "bytes from which on a write is made by DMA; 0: none; -1: as suits the card");

/*
 * Of a card of which netlink does not know yet, but of which it is known what it is. What is moved
 * at once is quicker than what interrupts.
 */
void rfm_settings_init(struct rfm_card *card)
{
	if (card->hw.dma.none)
		return;
	card->hw.dma.threshold[RFM_DMA_READ] = rfm_dma_read_threshold;
	card->hw.dma.threshold[RFM_DMA_WRITE] = rfm_dma_write_threshold >= 0 ?
		rfm_dma_write_threshold : card->hw.dma.small ? RFM_DMA_SHORT + 1 : 2048;
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

/* --- what a 5565 has ------------------------------------------------------ */

/* Those that are a bit of LCSR1. */
static const struct {
	u32 flag;
	u32 lcsr1;
} rfm_config_lcsr1[] = {
	{ RFM_CONFIG_LED, RFM_LCSR1_LED },
	{ RFM_CONFIG_TRANSMIT, RFM_LCSR1_TX_DISABLE },
	{ RFM_CONFIG_LOOPBACK, RFM_LCSR1_LOOPBACK },
	{ RFM_CONFIG_DARK_ON_DARK, RFM_LCSR1_DARK_ON_DARK },
	{ RFM_CONFIG_PARITY, RFM_LCSR1_PARITY },
	{ RFM_CONFIG_OWN_DATA, RFM_LCSR1_OWN_DATA },
};

/* Of these, the bits that say the opposite. */
#define RFM_LCSR1_INVERTED	RFM_LCSR1_TX_DISABLE

static u32 rfm_config_of(const struct rfm_card *card)
{
	return card->hw.board_revision < RFM_BRV_SLIDING_WINDOW ?
	       RFM_CONFIG_ALL & ~RFM_CONFIG_WINDOW : RFM_CONFIG_ALL;
}

/**
 * rfm_config_read - how they are set
 * @card: the card
 * @args: filled in; zeroed before
 *
 * Context: card->lock held: not half of a change.
 * Return: 0 or -ENODEV.
 */
int rfm_config_read(struct rfm_card *card, struct rfm_config *args)
{
	u32 lcsr1, bigend;
	unsigned int i;
	int idx, ret;

	lockdep_assert_held(&card->lock);

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	lcsr1 = readl(card->hw.control + RFM_LCSR1);
	bigend = readl(card->hw.runtime + RFM_BIGEND);
	ret = rfm_card_leave(card, idx);

	args->mask = rfm_config_of(card);
	args->on = (bigend & RFM_BIGEND_PIO ? RFM_CONFIG_BYTE_SWAP : 0) |
		   (bigend & RFM_BIGEND_DMA0 ? RFM_CONFIG_DMA_BYTE_SWAP : 0);
	for (i = 0; i < ARRAY_SIZE(rfm_config_lcsr1); i++)
		if ((lcsr1 ^ RFM_LCSR1_INVERTED) & rfm_config_lcsr1[i].lcsr1)
			args->on |= rfm_config_lcsr1[i].flag;
	args->window_offset = READ_ONCE(card->hw.window_offset);
	args->address_offset = (lcsr1 & RFM_LCSR1_OFFSET_M) >>
			       RFM_LCSR1_OFFSET_SHIFT << ilog2(SZ_64M);
	return ret;
}

/* RFM_IOC_GET_CONFIG. Return: 0, -EINTR or -ENODEV. */
int rfm_config_get(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	int ret;

	if (mutex_lock_interruptible(&card->lock))
		return -EINTR;
	ret = rfm_config_read(card, arg);
	mutex_unlock(&card->lock);
	return ret;
}

/* Could a change be? */
static int rfm_config_check(const struct rfm_card *card,
			    const struct rfm_settings *settings)
{
	const struct rfm_config *args = &settings->config;

	if ((args->mask | args->on) & ~RFM_CONFIG_ALL)
		return -EINVAL;
	if (args->mask & args->on & RFM_CONFIG_OWN_DATA)
		return rfm_refuse_setting(settings, RFM_A_CARD_OWN_DATA, -EINVAL,
					  "own-data can be cleared only");
	if (args->mask & RFM_CONFIG_OFFSET &&
	    (args->address_offset % SZ_64M ||
	     args->address_offset > 3 * SZ_64M))
		return rfm_refuse_setting(settings, RFM_A_CARD_ADDRESS_OFFSET, -EINVAL,
					  "the address offset is 0, 64, 128 or 192 MiB");
	if (!(args->mask & RFM_CONFIG_WINDOW))
		return 0;
	if (!(rfm_config_of(card) & RFM_CONFIG_WINDOW))
		return rfm_refuse_setting(settings, RFM_A_CARD_WINDOW_OFFSET, -EOPNOTSUPP,
					  "the window of this card does not move");
	/* Sizes are powers of two. */
	if (args->window_offset & (card->hw.window_size - 1) ||
	    args->window_offset >= card->hw.memory_size)
		return rfm_refuse_setting(settings, RFM_A_CARD_WINDOW_OFFSET, -EINVAL,
					  "the window begins at a multiple of its size, inside the memory");
	return 0;
}

/* Moves the window if it is not there. Return: 0, -EBUSY or -EIO. */
static int rfm_window_move(struct rfm_card *card,
			   const struct rfm_settings *settings)
{
	u64 offset = settings->config.window_offset;
	u32 base = offset | RFM_LAS1BA_ENABLE;

	if (offset == card->hw.window_offset)
		return 0;
	if (card->holds.count || card->hw.dma.requests)
		return rfm_refuse_setting(settings, RFM_A_CARD_WINDOW_OFFSET, -EBUSY,
					  "the window is not moved under a mapping, a subscription, a watch, a read or a write");
	writel(base, card->hw.runtime + RFM_LAS1BA);
	if (readl(card->hw.runtime + RFM_LAS1BA) != base) {
		writel(card->hw.window_offset | RFM_LAS1BA_ENABLE,
		       card->hw.runtime + RFM_LAS1BA);
		return rfm_refuse_setting(settings, RFM_A_CARD_WINDOW_OFFSET, -EIO,
					  "the card does not move its window");
	}
	WRITE_ONCE(card->hw.window_offset, offset);
	return 0;
}

/*
 * Of loads and stores to a mapping, and of DMA. A read or write comes out as by
 * DMA, whichever way it takes (io/io.c), and all of it in one order. Programs
 * that know of one switch only set both. Return: 0 or -EBUSY.
 */
static int rfm_byte_swap(struct rfm_card *card,
			 const struct rfm_settings *settings)
{
	u32 mask = settings->config.mask, on = settings->config.on;
	u32 old = readl(card->hw.runtime + RFM_BIGEND), bigend = old;

	if (mask & RFM_CONFIG_BYTE_SWAP) {
		bigend &= ~RFM_BIGEND_SWAPS;
		if (on & RFM_CONFIG_BYTE_SWAP)
			bigend |= RFM_BIGEND_SWAPS;
	}
	if (mask & RFM_CONFIG_DMA_BYTE_SWAP) {
		bigend &= ~RFM_BIGEND_DMA0;
		if (on & RFM_CONFIG_DMA_BYTE_SWAP)
			bigend |= RFM_BIGEND_DMA0;
	}
	if (bigend == old)
		return 0;
	if (card->hw.dma.requests)
		return rfm_refuse_setting(settings, mask & RFM_CONFIG_BYTE_SWAP ?
					  RFM_A_CARD_BYTE_SWAP :
					  RFM_A_CARD_DMA_BYTE_SWAP, -EBUSY,
					  "the order of bytes is not changed under a read or a write");
	writel(bigend, card->hw.runtime + RFM_BIGEND);
	WRITE_ONCE(card->hw.swaps_differ, rfm_swaps_differ(bigend));
	return 0;
}

/* Writing OWN DATA as 1 leaves it alone: it may have come meanwhile. */
static void rfm_lcsr1_change(struct rfm_card *card,
			     const struct rfm_config *args)
{
	u32 lcsr1 = readl(card->hw.control + RFM_LCSR1) | RFM_LCSR1_OWN_DATA;
	unsigned int i;

	lcsr1 ^= RFM_LCSR1_INVERTED;
	for (i = 0; i < ARRAY_SIZE(rfm_config_lcsr1); i++) {
		if (!(args->mask & rfm_config_lcsr1[i].flag))
			continue;
		lcsr1 &= ~rfm_config_lcsr1[i].lcsr1;
		if (args->on & rfm_config_lcsr1[i].flag)
			lcsr1 |= rfm_config_lcsr1[i].lcsr1;
	}
	if (args->mask & RFM_CONFIG_OFFSET) {
		lcsr1 &= ~RFM_LCSR1_OFFSET_M;
		lcsr1 |= args->address_offset / SZ_64M <<
			 RFM_LCSR1_OFFSET_SHIFT;
	}
	writel(lcsr1 ^ RFM_LCSR1_INVERTED, card->hw.control + RFM_LCSR1);
}

/*
 * Changes what passed rfm_config_check(); after an error nothing has changed.
 * Under card->lock, and with card->probe_lock if OWN DATA is to be cleared, for
 * which a ring test waits.
 */
static int rfm_config_apply(struct rfm_card *card,
			    const struct rfm_settings *settings)
{
	u32 mask = settings->config.mask;
	int idx, heard, ret = 0;

	lockdep_assert_held(&card->lock);

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	/* Once the window has moved, nothing is in the way of the byte swap. */
	if (mask & RFM_CONFIG_WINDOW)
		ret = rfm_window_move(card, settings);
	if (!ret && mask & (RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_DMA_BYTE_SWAP))
		ret = rfm_byte_swap(card, settings);
	if (!ret)
		rfm_lcsr1_change(card, &settings->config);
	heard = rfm_regs_leave(card, idx);
	return ret ?: heard;
}

/* --- a change ------------------------------------------------------------- */

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

static int rfm_threshold_check(const struct rfm_card *card,
			       const struct rfm_settings *settings)
{
	bool read = settings->set & RFM_SET(DMA_READ_THRESHOLD) &&
		    settings->dma_threshold[RFM_DMA_READ];
	bool write = settings->set & RFM_SET(DMA_WRITE_THRESHOLD) &&
		     settings->dma_threshold[RFM_DMA_WRITE];

	if (!card->hw.dma.none || !(read || write))
		return 0;
	return rfm_refuse_setting(settings, read ? RFM_A_CARD_DMA_READ_THRESHOLD :
				  RFM_A_CARD_DMA_WRITE_THRESHOLD, -EOPNOTSUPP,
				  "the card is no PIORC, its DMA engine is not used");
}

/* What needs something of the card. */
static int rfm_settings_check(const struct rfm_card *card,
			      const struct rfm_settings *settings)
{
	int ret = rfm_moderation_check(card, settings) ?:
		  rfm_threshold_check(card, settings) ?:
		  rfm_burst_check(card, settings);

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

	if (!rfm_dispatch_enter(card, &idx))
		return;
	count = card->hw.events.moderation_count;
	time = card->hw.events.moderation_time;
	if (settings->set & RFM_SET(MODERATION_COUNT))
		count = settings->moderation_count;
	if (settings->set & RFM_SET(MODERATION_TIME))
		time = settings->moderation_time;
	rfm_events_moderate(&card->hw, count, time);
	rfm_dispatch_exit(card, idx);
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
	struct rfm_burst burst;
	int ret;

	lockdep_assert_held(&card->lock);

	if (settings->conditional &&
	    settings->generation != card->config.generation)
		return rfm_refuse_setting(settings, RFM_A_CARD_GENERATION, -EAGAIN,
					  "the card has been changed meanwhile");
	ret = rfm_burst_read(card, &burst) ?: rfm_burst_change(card, settings);
	if (ret)
		return ret;
	if (rebase)
		ret = rfm_base_change(card, settings, sets);
	if (!ret)
		ret = rfm_config_apply(card, settings);
	if (!ret && rebase)
		rfm_base_commit(card, sets);
	rfm_sets_drop(card, sets);
	if (ret) {
		rfm_burst_restore(card, &burst, settings);
		return ret;
	}
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

	/* A ring test that is running waits for it, and only an ioctl for the test. */
	ret = own_data ? rfm_ring_test_lock(card, settings->ioctl) : 0;
	if (ret == -EBUSY)
		return rfm_refuse_setting(settings, RFM_A_CARD_OWN_DATA, ret,
					  "a ring test is running, which waits for own-data");
	if (ret)
		return ret;
	ret = settings->ioctl ? mutex_lock_interruptible(&card->lock) :
				mutex_lock_killable(&card->lock);
	if (!ret) {
		ret = rfm_settings_change(card, settings);
		mutex_unlock(&card->lock);
	}
	if (own_data)
		mutex_unlock(&card->probe_lock);
	return ret;
}

/*
 * RFM_IOC_SET_CONFIG. Return: 0; -EINVAL, -EOPNOTSUPP, -EBUSY, -EIO, -EINTR,
 * -ENODEV, and then nothing has changed.
 */
int rfm_config_set(struct rfm_file *file, void *arg)
{
	const struct rfm_config *args = arg;
	const struct rfm_settings settings = { .config = *args, .ioctl = true };

	return rfm_settings_apply(file->card, &settings);
}
