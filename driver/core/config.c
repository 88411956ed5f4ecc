// SPDX-License-Identifier: GPL-2.0-only
/*
 * What users of a 5565 set: bits of LCSR1, byte swap, the window. Who may do so
 * says api/rights.c.
 */

#include <linux/io.h>
#include <linux/sizes.h>

#include "core/card.h"

/* Those that are a bit of LCSR1; of some, the bit says the opposite. */
static const struct {
	u32 flag;
	u32 lcsr1;
	bool inverted;
} rfm_config_lcsr1[] = {
	{ RFM_CONFIG_LED, RFM_LCSR1_LED },
	{ RFM_CONFIG_TRANSMIT, RFM_LCSR1_TX_DISABLE, true },
	{ RFM_CONFIG_LOOPBACK, RFM_LCSR1_LOOPBACK },
	{ RFM_CONFIG_DARK_ON_DARK, RFM_LCSR1_DARK_ON_DARK },
	{ RFM_CONFIG_PARITY, RFM_LCSR1_PARITY },
	{ RFM_CONFIG_OWN_DATA, RFM_LCSR1_OWN_DATA },
};

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
	ret = rfm_card_check(card);
	rfm_card_exit(card, idx);

	args->mask = rfm_config_of(card);
	args->on = bigend & RFM_BIGEND_PIO ? RFM_CONFIG_BYTE_SWAP : 0;
	for (i = 0; i < ARRAY_SIZE(rfm_config_lcsr1); i++)
		if (!!(lcsr1 & rfm_config_lcsr1[i].lcsr1) !=
		    rfm_config_lcsr1[i].inverted)
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
int rfm_config_check(const struct rfm_card *card,
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
 * Of programmed I/O and of DMA: a write comes out the same, whichever way it
 * takes, and all of it in one order. Return: 0 or -EBUSY.
 */
static int rfm_byte_swap(struct rfm_card *card,
			 const struct rfm_settings *settings)
{
	u32 old = readl(card->hw.runtime + RFM_BIGEND);
	u32 bigend = old & ~RFM_BIGEND_SWAPS;

	if (settings->config.on & RFM_CONFIG_BYTE_SWAP)
		bigend |= RFM_BIGEND_SWAPS;
	if (bigend == old)
		return 0;
	if (card->hw.dma.requests)
		return rfm_refuse_setting(settings, RFM_A_CARD_BYTE_SWAP, -EBUSY,
					  "the order of bytes is not changed under a read or a write");
	writel(bigend, card->hw.runtime + RFM_BIGEND);
	return 0;
}

/*
 * What reads and writes take for granted. Once the window has moved, nothing is in the
 * way of the byte swap. Return: 0, -EBUSY or -EIO.
 */
static int rfm_change_between_transfers(struct rfm_card *card,
					const struct rfm_settings *settings)
{
	u32 mask = settings->config.mask;
	int ret = 0;

	lockdep_assert_held(&card->lock);

	spin_lock(&card->hw.lock);
	if (mask & RFM_CONFIG_WINDOW)
		ret = rfm_window_move(card, settings);
	if (!ret && mask & RFM_CONFIG_BYTE_SWAP)
		ret = rfm_byte_swap(card, settings);
	spin_unlock(&card->hw.lock);
	return ret;
}

/* Writing OWN DATA as 1 leaves it alone: it may have come meanwhile. */
static void rfm_lcsr1_change(struct rfm_card *card,
			     const struct rfm_config *args)
{
	unsigned int i;
	u32 lcsr1, bit;

	spin_lock(&card->hw.lock);
	lcsr1 = readl(card->hw.control + RFM_LCSR1) | RFM_LCSR1_OWN_DATA;
	for (i = 0; i < ARRAY_SIZE(rfm_config_lcsr1); i++) {
		if (!(args->mask & rfm_config_lcsr1[i].flag))
			continue;
		bit = rfm_config_lcsr1[i].lcsr1;
		if (!(args->on & rfm_config_lcsr1[i].flag) ==
		    rfm_config_lcsr1[i].inverted)
			lcsr1 |= bit;
		else
			lcsr1 &= ~bit;
	}
	if (args->mask & RFM_CONFIG_OFFSET) {
		lcsr1 &= ~RFM_LCSR1_OFFSET_M;
		lcsr1 |= args->address_offset / SZ_64M <<
			 RFM_LCSR1_OFFSET_SHIFT;
	}
	writel(lcsr1, card->hw.control + RFM_LCSR1);
	spin_unlock(&card->hw.lock);
}

/*
 * Changes what passed rfm_config_check(); after an error nothing has changed.
 * Under card->lock, and with card->probe_lock if OWN DATA is to be cleared, for
 * which a ring test waits.
 */
int rfm_config_apply(struct rfm_card *card,
		     const struct rfm_settings *settings)
{
	int idx, ret = 0;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	ret = rfm_change_between_transfers(card, settings);
	if (!ret) {
		rfm_lcsr1_change(card, &settings->config);
		ret = rfm_card_check(card);
	}
	rfm_card_exit(card, idx);
	return ret;
}

/*
 * RFM_IOC_SET_CONFIG. Return: 0; -EINVAL, -EOPNOTSUPP, -EBUSY, -EIO, -EINTR,
 * -ENODEV, and then nothing has changed.
 */
int rfm_config_set(struct rfm_file *file, void *arg)
{
	const struct rfm_config *args = arg;
	const struct rfm_settings settings = { .config = *args, .wait = true };

	return rfm_settings_apply(file->card, &settings);
}
