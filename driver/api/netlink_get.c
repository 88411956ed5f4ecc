// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: card-get, counters-reset; what a card is and its driver counts. */

#include "api/netlink.h"

static_assert((u32)RFM_BASE_ALL == (u32)RFM_POLICY_ALL);
static_assert((u32)RFM_BASE_NONE == (u32)RFM_POLICY_NONE);
static_assert((u32)RFM_BASE_MASK == (u32)RFM_POLICY_MASK);

static int rfm_put_state(struct sk_buff *skb, const struct rfm_card *card,
			 const struct rfm_config *config,
			 const struct rfm_info *info,
			 const struct rfm_burst *burst)
{
	bool no_burst = !(card->hw.features & RFM_EXT_FEATURE_BURST);
	bool no_clock = !(card->hw.features & RFM_EXT_FEATURE_CLOCK);
	const struct rfm_events *events = &card->hw.events;
	const unsigned int *users = card->holds.by_kind;
	const u32 *threshold = card->hw.dma.threshold;
	const struct rfm_set *base = card->holds.base;
	u64 lost = READ_ONCE(card->hw.irq.sync_loss_ns);
	u32 lcsr1 = info->lcsr1, on = config->on;
	const struct rfm_number numbers[] = {
		RFM_U64(CARD_GENERATION, card->config.generation),
		RFM_U64(CARD_BASE_GENERATION, card->config.base_generation),
		RFM_U64(CARD_RESET_GENERATION, card->config.reset_generation),
		RFM_U32(CARD_NODE, info->node),
		RFM_U64(CARD_MEMORY_SIZE, info->memory_size),
		RFM_U64(CARD_WINDOW_SIZE, info->window_size),
		RFM_U32(CARD_BOARD_ID, info->board_id),
		RFM_U32(CARD_BOARD_REVISION, info->board_revision),
		RFM_U32(CARD_BUILD, info->build),
		RFM_U64(CARD_FEATURES, info->features),
		RFM_U32(CARD_LINK, lcsr1 & RFM_LCSR1_SIGNAL ? RFM_LINK_UP :
							      RFM_LINK_DOWN),
		RFM_U32(CARD_LCSR1, lcsr1),
		RFM_U32(CARD_LISR, info->lisr),
		RFM_U64(CARD_SYNC_LOSS_NS, lost, !lost),
		RFM_U64(CARD_WINDOW_OFFSET, config->window_offset),
		RFM_U32(CARD_ADDRESS_OFFSET, config->address_offset),
		RFM_U8(CARD_LED, on & RFM_CONFIG_LED),
		RFM_U8(CARD_TRANSMIT, on & RFM_CONFIG_TRANSMIT),
		RFM_U8(CARD_LOOPBACK, on & RFM_CONFIG_LOOPBACK),
		RFM_U8(CARD_DARK_ON_DARK, on & RFM_CONFIG_DARK_ON_DARK),
		RFM_U8(CARD_PARITY, on & RFM_CONFIG_PARITY),
		RFM_U8(CARD_OWN_DATA, on & RFM_CONFIG_OWN_DATA),
		RFM_U8(CARD_BYTE_SWAP, on & RFM_CONFIG_BYTE_SWAP),
		RFM_U8(CARD_DMA_BYTE_SWAP, on & RFM_CONFIG_DMA_BYTE_SWAP),
		/* Switches on the card itself. */
		RFM_U8(CARD_REDUNDANT, lcsr1 & RFM_LCSR1_REDUNDANT),
		RFM_U8(CARD_ROGUE_MASTER0, lcsr1 & RFM_LCSR1_ROGUE_MASTER0),
		RFM_U8(CARD_ROGUE_MASTER1, lcsr1 & RFM_LCSR1_ROGUE_MASTER1),
		RFM_U32(CARD_BASE_POLICY, info->base_policy),
		RFM_U32(CARD_BASE_RANGES, base[RFM_PLANE_RX].count +
			base[RFM_PLANE_TX].count + base[RFM_PLANE_OWNED].count),
		RFM_U32(CARD_DMA_READ_THRESHOLD, threshold[RFM_DMA_READ]),
		RFM_U32(CARD_DMA_WRITE_THRESHOLD, threshold[RFM_DMA_WRITE]),
		/* These are there only with the extension block. */
		RFM_U32(CARD_CLOCK_DOMAIN, info->clock_domain, no_clock),
		RFM_U32(CARD_MODERATION_COUNT, events->moderation_count,
			!events->ring),
		RFM_U32(CARD_MODERATION_TIME, events->moderation_time,
			!events->ring),
		RFM_U64(CARD_BURST_OFFSET, burst->offset, no_burst),
		RFM_U64(CARD_BURST_LENGTH, burst->length, no_burst),
		RFM_U32(CARD_BURST_PERIOD, burst->period, no_burst),
		RFM_U32(CARD_FILES, users[RFM_DESCRIPTOR_KIND_FILE]),
		RFM_U32(CARD_WATCHES, users[RFM_DESCRIPTOR_KIND_WATCH]),
		RFM_U32(CARD_LISTENERS, users[RFM_DESCRIPTOR_KIND_LISTEN]),
	};

	return rfm_put_numbers(skb, RFM_A_CARD_PAD, numbers,
			       ARRAY_SIZE(numbers));
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
	value[RFM_A_DRIVER_NOTIFICATIONS_LOST] =
		rfm_queue_state(&card->dispatch.monitor.queue).dropped;
}

static int rfm_put_driver(struct sk_buff *skb, struct rfm_card *card,
			  const struct rfm_info *info, bool absolute)
{
	const u64 *reset = card->config.reset_driver;
	struct rfm_number numbers[RFM_A_DRIVER_MAX + 1];
	u64 value[RFM_A_DRIVER_MAX + 1];
	unsigned int i;

	rfm_driver_counters(card, info, value);
	for (i = RFM_A_DRIVER_INTERRUPTS; i <= RFM_A_DRIVER_MAX; i++)
		numbers[i] = (struct rfm_number) {
			i, 8, value[i] - (absolute ? 0 : reset[i])
		};
	return rfm_put_nest(skb, RFM_A_CARD_DRIVER, RFM_A_DRIVER_PAD,
			    numbers + RFM_A_DRIVER_INTERRUPTS,
			    ARRAY_SIZE(numbers) - RFM_A_DRIVER_INTERRUPTS);
}

/*
 * All that card-get tells of a card but which it is; @absolute, if it is not NULL:
 * as the driver counts, whatever counters-reset has done. Sleeps.
 */
int rfm_put_card(struct sk_buff *skb, struct rfm_card *card, void *absolute)
{
	struct rfm_config config = {};
	struct rfm_burst burst;
	struct rfm_info info = {};
	int ret;

	lockdep_assert_held(&card->lock);

	ret = rfm_config_read(card, &config) ?: rfm_info(card, &info) ?:
	      rfm_burst_read(card, &burst);
	if (ret)
		return ret;
	return rfm_put_state(skb, card, &config, &info, &burst) ?:
	       rfm_put_driver(skb, card, &info, absolute);
}

/* --- card-get -------------------------------------------------------------- */

static int rfm_card_get(struct rfm_card *card, struct genl_info *info)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	int ret = -EMSGSIZE;
	void *hdr;

	if (!skb)
		return -ENOMEM;
	hdr = rfm_put_head(skb, info->snd_portid, info->snd_seq, 0,
			   RFM_CMD_CARD_GET, card);
	if (hdr)
		ret = mutex_lock_killable(&card->lock);
	if (!ret) {
		ret = rfm_put_card(skb, card, info->attrs[RFM_A_CARD_ABSOLUTE]);
		mutex_unlock(&card->lock);
	}
	if (ret) {
		nlmsg_free(skb);
		return ret;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

int rfm_nl_card_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return rfm_nl_do(skb, info, RFM_FUNCTION_INFO, rfm_card_get);
}

static int rfm_dump_card(struct sk_buff *skb, struct netlink_callback *cb,
			 struct rfm_card *card)
{
	int ret;

	ret = rfm_dump_message(skb, cb, RFM_CMD_CARD_GET, card, rfm_put_card,
			       genl_info_dump(cb)->attrs[RFM_A_CARD_ABSOLUTE]);
	if (ret != -ENODEV)
		return ret;
	/* Perhaps only since cb->seq was read. */
	cb->seq = atomic_read(&rfm_cards_state);
	return 0;
}

int rfm_nl_card_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	cb->seq = atomic_read(&rfm_cards_state);
	return rfm_dump_cards(skb, cb, RFM_FUNCTION_INFO, rfm_dump_card);
}

/* --- counters-reset -------------------------------------------------------- */

static int rfm_counters_base(struct rfm_card *card, struct genl_info *genl)
{
	struct rfm_info info = {};
	int ret = mutex_lock_killable(&card->lock);

	if (ret)
		return ret;
	ret = rfm_info(card, &info);
	if (!ret && card->hw.features & RFM_EXT_FEATURE_SNAPSHOT)
		ret = rfm_counters_reset(card);
	if (!ret) {
		rfm_driver_counters(card, &info, card->config.reset_driver);
		card->config.reset_generation = ++card->config.generation;
		rfm_notify_change(card);
	}
	mutex_unlock(&card->lock);
	return ret;
}

int rfm_nl_counters_reset_doit(struct sk_buff *skb, struct genl_info *info)
{
	return rfm_nl_do(skb, info, RFM_FUNCTION_COUNTERS_RESET,
			 rfm_counters_base);
}
