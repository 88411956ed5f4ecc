// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: card-get, counters-reset; what a card is and its driver counts. */

#include "api/netlink.h"

#define RFM_CONFIG_ATTR(name) { RFM_A_CARD_##name, RFM_CONFIG_##name }

static const struct {
	u16 attr;
	u16 flag;
} rfm_put_config_of[] = {
	RFM_CONFIG_ATTR(LED),
	RFM_CONFIG_ATTR(TRANSMIT),
	RFM_CONFIG_ATTR(LOOPBACK),
	RFM_CONFIG_ATTR(DARK_ON_DARK),
	RFM_CONFIG_ATTR(PARITY),
	RFM_CONFIG_ATTR(OWN_DATA),
	RFM_CONFIG_ATTR(BYTE_SWAP),
};

/* Switches on the card itself, which LCSR1 shows. */
static const struct {
	u16 attr;
	u32 lcsr1;
} rfm_put_straps_of[] = {
	{ RFM_A_CARD_REDUNDANT, RFM_LCSR1_REDUNDANT },
	{ RFM_A_CARD_ROGUE_MASTER0, RFM_LCSR1_ROGUE_MASTER0 },
	{ RFM_A_CARD_ROGUE_MASTER1, RFM_LCSR1_ROGUE_MASTER1 },
};

static int rfm_put_identity(struct sk_buff *skb, const struct rfm_card *card,
			    const struct rfm_info *info)
{
	return rfm_put_u64(skb, RFM_A_CARD_GENERATION, card->config.generation) ?:
	       rfm_put_u64(skb, RFM_A_CARD_BASE_GENERATION,
			   card->config.base_generation) ?:
	       rfm_put_u64(skb, RFM_A_CARD_RESET_GENERATION,
			   card->config.reset_generation) ?:
	       nla_put_u32(skb, RFM_A_CARD_NODE, info->node) ?:
	       rfm_put_u64(skb, RFM_A_CARD_MEMORY_SIZE, info->memory_size) ?:
	       rfm_put_u64(skb, RFM_A_CARD_WINDOW_SIZE, info->window_size) ?:
	       nla_put_u32(skb, RFM_A_CARD_BOARD_ID, info->board_id) ?:
	       nla_put_u32(skb, RFM_A_CARD_BOARD_REVISION,
			   info->board_revision) ?:
	       nla_put_u32(skb, RFM_A_CARD_BUILD, info->build) ?:
	       rfm_put_u64(skb, RFM_A_CARD_FEATURES, info->features);
}

static int rfm_put_config(struct sk_buff *skb,
			  const struct rfm_config *config, u32 lcsr1)
{
	unsigned int i;
	int ret;

	ret = rfm_put_u64(skb, RFM_A_CARD_WINDOW_OFFSET,
			  config->window_offset) ?:
	      nla_put_u32(skb, RFM_A_CARD_ADDRESS_OFFSET,
			  config->address_offset);
	for (i = 0; i < ARRAY_SIZE(rfm_put_config_of) && !ret; i++)
		ret = nla_put_u8(skb, rfm_put_config_of[i].attr,
				 !!(config->on & rfm_put_config_of[i].flag));
	for (i = 0; i < ARRAY_SIZE(rfm_put_straps_of) && !ret; i++)
		ret = nla_put_u8(skb, rfm_put_straps_of[i].attr,
				 !!(lcsr1 & rfm_put_straps_of[i].lcsr1));
	return ret;
}

static int rfm_put_state(struct sk_buff *skb, struct rfm_card *card,
			 const struct rfm_info *info)
{
	u64 lost = READ_ONCE(card->hw.irq.sync_loss_ns);

	return nla_put_u32(skb, RFM_A_CARD_LINK,
			   info->lcsr1 & RFM_LCSR1_SIGNAL ? RFM_LINK_UP :
							    RFM_LINK_DOWN) ?:
	       nla_put_u32(skb, RFM_A_CARD_LCSR1, info->lcsr1) ?:
	       nla_put_u32(skb, RFM_A_CARD_LISR, info->lisr) ?:
	       (lost ? rfm_put_u64(skb, RFM_A_CARD_SYNC_LOSS_NS, lost) : 0);
}

static u32 rfm_base_ranges(const struct rfm_card *card)
{
	unsigned int i, count = 0;

	for (i = 0; i < RFM_PLANES; i++)
		count += card->holds.base[i].count;
	return count;
}

static int rfm_put_base(struct sk_buff *skb, const struct rfm_card *card,
			const struct rfm_info *info)
{
	BUILD_BUG_ON((u32)RFM_BASE_ALL != (u32)RFM_POLICY_ALL ||
		     (u32)RFM_BASE_NONE != (u32)RFM_POLICY_NONE ||
		     (u32)RFM_BASE_MASK != (u32)RFM_POLICY_MASK);

	return nla_put_u32(skb, RFM_A_CARD_BASE_POLICY, info->base_policy) ?:
	       nla_put_u32(skb, RFM_A_CARD_BASE_RANGES, rfm_base_ranges(card));
}

/* What there is only with the extension block. */
static int rfm_put_extension(struct sk_buff *skb, const struct rfm_card *card,
			     const struct rfm_info *info)
{
	int ret = 0;

	if (card->hw.features & RFM_EXT_FEATURE_CLOCK)
		ret = nla_put_u32(skb, RFM_A_CARD_CLOCK_DOMAIN,
				  info->clock_domain);
	if (!ret && card->hw.events.ring)
		ret = nla_put_u32(skb, RFM_A_CARD_MODERATION_COUNT,
				  card->hw.events.moderation_count) ?:
		      nla_put_u32(skb, RFM_A_CARD_MODERATION_TIME,
				  card->hw.events.moderation_time);
	return ret;
}

static int rfm_put_users(struct sk_buff *skb, struct rfm_card *card)
{
	const unsigned int *count = card->holds.by_kind;

	return nla_put_u32(skb, RFM_A_CARD_FILES,
			   count[RFM_DESCRIPTOR_KIND_FILE]) ?:
	       nla_put_u32(skb, RFM_A_CARD_WATCHES,
			   count[RFM_DESCRIPTOR_KIND_WATCH]) ?:
	       nla_put_u32(skb, RFM_A_CARD_LISTENERS,
			   count[RFM_DESCRIPTOR_KIND_LISTEN]);
}

static int rfm_put_thresholds(struct sk_buff *skb, const struct rfm_card *card)
{
	return nla_put_u32(skb, RFM_A_CARD_DMA_READ_THRESHOLD,
			   rfm_dma_threshold(card, false)) ?:
	       nla_put_u32(skb, RFM_A_CARD_DMA_WRITE_THRESHOLD,
			   rfm_dma_threshold(card, true));
}

/* What the driver has counted, by RFM_A_DRIVER_*. */
static void rfm_driver_counters(struct rfm_card *card,
				const struct rfm_info *info, u64 *value)
{
	value[RFM_A_DRIVER_INTERRUPTS] = info->irqs;
	value[RFM_A_DRIVER_SYNC_LOSSES] = info->sync_losses;
	value[RFM_A_DRIVER_EVENTS_DROPPED] = info->events_dropped;
	spin_lock_irq(&card->hw.irq.lock);
	value[RFM_A_DRIVER_DMA_OPERATIONS] = card->hw.dma.operations;
	value[RFM_A_DRIVER_DMA_BYTES] = card->hw.dma.bytes;
	value[RFM_A_DRIVER_DMA_ERRORS] = card->hw.dma.errors;
	spin_unlock_irq(&card->hw.irq.lock);
	value[RFM_A_DRIVER_NOTIFICATIONS_LOST] = rfm_notify_lost(card);
}

static int rfm_put_driver(struct sk_buff *skb, struct rfm_card *card,
			  const struct rfm_info *info, bool absolute)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_CARD_DRIVER);
	u64 value[RFM_A_DRIVER_MAX + 1];
	unsigned int i;

	if (!nest)
		return -EMSGSIZE;
	rfm_driver_counters(card, info, value);
	for (i = RFM_A_DRIVER_INTERRUPTS; i <= RFM_A_DRIVER_MAX; i++)
		if (nla_put_u64_64bit(skb, i, value[i] -
				      (absolute ? 0 : card->config.reset_driver[i]),
				      RFM_A_DRIVER_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * All that card-get tells of a card but which it is; @absolute: as the driver
 * counts, whatever counters-reset has done. Sleeps.
 */
int rfm_put_card(struct sk_buff *skb, struct rfm_card *card, bool absolute)
{
	struct rfm_config config = {};
	struct rfm_info info = {};
	int ret;

	lockdep_assert_held(&card->lock);

	ret = rfm_config_read(card, &config) ?: rfm_info(card, &info);
	if (ret)
		return ret;
	return rfm_put_identity(skb, card, &info) ?:
	       rfm_put_state(skb, card, &info) ?:
	       rfm_put_config(skb, &config, info.lcsr1) ?:
	       rfm_put_base(skb, card, &info) ?:
	       rfm_put_thresholds(skb, card) ?:
	       rfm_put_extension(skb, card, &info) ?:
	       rfm_put_users(skb, card) ?:
	       rfm_put_driver(skb, card, &info, absolute);
}

static int rfm_put_card_fn(struct sk_buff *skb, struct rfm_card *card,
			   void *data)
{
	return rfm_put_card(skb, card, data);
}

int rfm_nl_card_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_nl_ctx ctx;
	int ret;

	ret = rfm_nl_ctx_init(&ctx, skb, info, RFM_A_CARD_ABSOLUTE,
			      RFM_FUNCTION_INFO);
	if (ret)
		return ret;
	ret = rfm_reply(&ctx, info, rfm_put_card_fn,
			info->attrs[RFM_A_CARD_ABSOLUTE]);
	rfm_nl_ctx_put(&ctx);
	return ret;
}

int rfm_nl_card_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rfm_nl_ctx ctx;

	rfm_dump_ctx(&ctx, cb, RFM_A_CARD_ABSOLUTE);
	return rfm_dump_cards(skb, cb, &ctx, RFM_FUNCTION_INFO,
			      RFM_CMD_CARD_GET, rfm_put_card_fn,
			      ctx.attrs[RFM_A_CARD_ABSOLUTE]);
}

/* Under card->lock. */
static int rfm_counters_base(struct rfm_card *card)
{
	struct rfm_info info = {};
	int ret;

	ret = rfm_info(card, &info);
	if (!ret && card->hw.features & RFM_EXT_FEATURE_SNAPSHOT)
		ret = rfm_counters_reset(card);
	if (ret)
		return ret;
	rfm_driver_counters(card, &info, card->config.reset_driver);
	card->config.reset_generation = ++card->config.generation;
	rfm_notify_change(card);
	return 0;
}

int rfm_nl_counters_reset_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_nl_ctx ctx;
	int ret;

	ret = rfm_nl_ctx_init(&ctx, skb, info, RFM_A_CARD_FD,
			      RFM_FUNCTION_COUNTERS_RESET);
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&ctx.card->lock)) {
		ret = -EINTR;
	} else {
		ret = rfm_counters_base(ctx.card);
		mutex_unlock(&ctx.card->lock);
	}
	ret = rfm_refuse_generic(info->extack, ret);
	rfm_nl_ctx_put(&ctx);
	return ret;
}
