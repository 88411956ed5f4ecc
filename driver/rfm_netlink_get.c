// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: card-get, counters-get, ring-get; what a card is and counts. */

#include <linux/io.h>
#include <linux/slab.h>

#include "rfm_netlink.h"
#include "rfm_notify.h"

#define RFM_SWITCH_ATTR(name) { RFM_A_CARD_##name, RFM_SWITCH_##name }

static const struct {
	u16 attr;
	u16 flag;
} rfm_put_switches_of[] = {
	RFM_SWITCH_ATTR(LED),
	RFM_SWITCH_ATTR(TRANSMIT),
	RFM_SWITCH_ATTR(LOOPBACK),
	RFM_SWITCH_ATTR(DARK_ON_DARK),
	RFM_SWITCH_ATTR(PARITY),
	RFM_SWITCH_ATTR(OWN_DATA),
	RFM_SWITCH_ATTR(BYTE_SWAP),
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

static int rfm_put_identity(struct sk_buff *skb, const struct rfm_card *card)
{
	return rfm_put_u64(skb, RFM_A_CARD_GENERATION, card->config.generation) ?:
	       rfm_put_u64(skb, RFM_A_CARD_BASE_GENERATION,
			   card->config.base_generation) ?:
	       rfm_put_u64(skb, RFM_A_CARD_RESET_GENERATION,
			   card->config.reset_generation) ?:
	       nla_put_u32(skb, RFM_A_CARD_NODE, card->hw.node) ?:
	       rfm_put_u64(skb, RFM_A_CARD_MEMORY_SIZE, card->hw.memory_size) ?:
	       rfm_put_u64(skb, RFM_A_CARD_WINDOW_SIZE, card->hw.window_size) ?:
	       nla_put_u32(skb, RFM_A_CARD_BOARD_ID, RFM_BID_5565) ?:
	       nla_put_u32(skb, RFM_A_CARD_BOARD_REVISION,
			   card->hw.board_revision) ?:
	       nla_put_u32(skb, RFM_A_CARD_BUILD, card->hw.build) ?:
	       rfm_put_u64(skb, RFM_A_CARD_FEATURES, card->hw.features);
}

static int rfm_put_switches(struct sk_buff *skb, struct rfm_card *card,
			    u32 lcsr1, u32 bigend)
{
	struct rfm_switches switches = {};
	unsigned int i;
	int ret;

	rfm_switches_read(card, lcsr1, bigend, &switches);
	ret = rfm_put_u64(skb, RFM_A_CARD_WINDOW_OFFSET,
			  READ_ONCE(card->hw.window_offset)) ?:
	      nla_put_u32(skb, RFM_A_CARD_ADDRESS_OFFSET,
			  switches.address_offset);
	for (i = 0; i < ARRAY_SIZE(rfm_put_switches_of) && !ret; i++)
		ret = nla_put_u8(skb, rfm_put_switches_of[i].attr,
				 !!(switches.on & rfm_put_switches_of[i].flag));
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

static int rfm_put_base(struct sk_buff *skb, struct rfm_card *card)
{
	BUILD_BUG_ON((u32)RFM_BASE_ALL != (u32)RFM_POLICY_ALL ||
		     (u32)RFM_BASE_NONE != (u32)RFM_POLICY_NONE ||
		     (u32)RFM_BASE_MASK != (u32)RFM_POLICY_MASK);

	return nla_put_u32(skb, RFM_A_CARD_BASE_POLICY,
			   READ_ONCE(card->holds.base_policy)) ?:
	       nla_put_u32(skb, RFM_A_CARD_BASE_RANGES, rfm_base_ranges(card));
}

/* What there is only with the extension block. */
static int rfm_put_extension(struct sk_buff *skb, struct rfm_card *card)
{
	int ret = 0;

	if (card->hw.features & RFM_EXT_FEATURE_CLOCK)
		ret = nla_put_u32(skb, RFM_A_CARD_CLOCK_DOMAIN,
				  card->hw.clock_domain);
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
	return nla_put_u32(skb, RFM_A_CARD_DMA_READ_LEAST,
			   rfm_dma_least(card, false)) ?:
	       nla_put_u32(skb, RFM_A_CARD_DMA_WRITE_LEAST,
			   rfm_dma_least(card, true));
}

static int rfm_read_bigend(struct rfm_card *card, u32 *bigend)
{
	int idx, ret;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	*bigend = readl(card->hw.runtime + RFM_BIGEND);
	ret = rfm_card_check(card);
	rfm_card_exit(card, idx);
	return ret;
}

/**
 * rfm_driver_counters - what the driver has counted
 * @card: the card
 * @info: as rfm_irq_status() has filled it in
 * @value: by RFM_A_DRIVER_*
 */
void rfm_driver_counters(struct rfm_card *card, const struct rfm_info *info,
			 u64 *value)
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

/**
 * rfm_put_driver - the nest of what the driver counts
 * @skb: the message
 * @card: the card
 * @info: as rfm_irq_status() has filled it in
 * @absolute: whatever counters-reset has done
 *
 * Return: 0 or -EMSGSIZE.
 */
int rfm_put_driver(struct sk_buff *skb, struct rfm_card *card,
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

/**
 * rfm_put_card - all that card-get tells of a card but which it is
 * @skb: the message
 * @card: the card
 *
 * Context: process, card->lock held; sleeps.
 * Return: 0, -EMSGSIZE or -ENODEV.
 */
int rfm_put_card(struct sk_buff *skb, struct rfm_card *card)
{
	struct rfm_info info = {};
	u32 bigend;
	int ret;

	lockdep_assert_held(&card->lock);

	ret = rfm_read_bigend(card, &bigend) ?: rfm_irq_status(card, &info);
	if (ret)
		return ret;
	return rfm_put_identity(skb, card) ?:
	       rfm_put_state(skb, card, &info) ?:
	       rfm_put_switches(skb, card, info.lcsr1, bigend) ?:
	       rfm_put_base(skb, card) ?:
	       rfm_put_thresholds(skb, card) ?:
	       rfm_put_extension(skb, card) ?:
	       rfm_put_users(skb, card) ?:
	       rfm_put_driver(skb, card, &info, false);
}

static int rfm_put_card_fn(struct sk_buff *skb, struct rfm_card *card,
			   void *data)
{
	return rfm_put_card(skb, card);
}

int rfm_nl_card_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_asker asker;
	int ret;

	ret = rfm_asker_of(&asker, skb, info, RFM_A_CARD_FD,
			   RFM_FUNCTION_INFO);
	if (ret)
		return ret;
	ret = rfm_reply(&asker, info, GENLMSG_DEFAULT_SIZE, rfm_put_card_fn,
			NULL);
	rfm_asker_put(&asker);
	return ret;
}

int rfm_nl_card_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rfm_asker asker;

	rfm_dump_asker(&asker, cb, RFM_A_CARD_FD);
	return rfm_dump_cards(skb, cb, &asker, RFM_FUNCTION_INFO,
			      RFM_CMD_CARD_GET, rfm_put_card_fn, NULL);
}

/* --- counters ------------------------------------------------------------- */

/* They tell how something is, so there is nothing to count from. */
static const u64 rfm_levels = BIT_ULL(RFM_COUNTER_WINDOW) |
			      BIT_ULL(RFM_COUNTER_WINDOW_PEAK) |
			      BIT_ULL(RFM_COUNTER_TX) |
			      BIT_ULL(RFM_COUNTER_TX_PEAK) |
			      BIT_ULL(RFM_COUNTER_INSERT) |
			      BIT_ULL(RFM_COUNTER_INSERT_PEAK) |
			      BIT_ULL(RFM_COUNTER_STALL_US) |
			      BIT_ULL(RFM_COUNTER_EPOCH) |
			      BIT_ULL(RFM_COUNTER_TURN_NS);

/* The attributes stand in the order of the counters, behind all others. */
#define RFM_A_COUNTER(counter)	(RFM_A_COUNTERS_STORES + (counter))

static_assert(RFM_COUNTER_STORES == 0);
static_assert(RFM_A_COUNTERS_SENT_BYTES ==
	      RFM_A_COUNTER(RFM_COUNTER_SENT_BYTES));
static_assert(RFM_A_COUNTERS_TURN_NS == RFM_A_COUNTER(RFM_COUNTER_TURN_NS));
static_assert(RFM_A_COUNTERS_MAX == RFM_A_COUNTER(RFM_COUNTERS - 1));

static int rfm_put_counter(struct sk_buff *skb, unsigned int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, RFM_A_COUNTERS_PAD);
}

static int rfm_put_values(struct sk_buff *skb, const struct rfm_card *card,
			  const struct rfm_counters *counters, bool absolute)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_CARD_COUNTERS);
	unsigned int i;
	u64 from;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < RFM_COUNTERS; i++) {
		from = absolute || rfm_levels & BIT_ULL(i) ?
		       0 : card->config.reset_counters[i];
		if (rfm_put_counter(skb, RFM_A_COUNTER(i),
				    counters->value[i] - from))
			return -EMSGSIZE;
	}
	if (rfm_put_counter(skb, RFM_A_COUNTERS_CLOCK_NS, counters->clock_ns))
		return -EMSGSIZE;
	if (card->config.reset_ns &&
	    rfm_put_counter(skb, RFM_A_COUNTERS_RESET_NS, card->config.reset_ns))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rfm_put_times(struct sk_buff *skb,
			 const struct rfm_counters *counters)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_CARD_COUNTER_TIMES);
	unsigned int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < RFM_COUNTERS; i++)
		if (counters->changed_ns[i] &&
		    rfm_put_counter(skb, RFM_A_COUNTER(i), counters->changed_ns[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rfm_put_counters(struct sk_buff *skb, struct rfm_card *card,
			    void *data)
{
	struct rfm_counters counters = {};
	struct rfm_info info = {};
	bool absolute = data;
	int ret;

	ret = rfm_irq_status(card, &info) ?:
	      rfm_put_driver(skb, card, &info, absolute);
	if (ret || !(card->hw.features & RFM_EXT_FEATURE_SNAPSHOT))
		return ret;
	return rfm_counters_read(card, &counters) ?:
	       rfm_put_values(skb, card, &counters, absolute) ?:
	       rfm_put_times(skb, &counters);
}

int rfm_nl_counters_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_asker asker;
	int ret;

	ret = rfm_asker_of(&asker, skb, info, RFM_A_CARD_ABSOLUTE,
			   RFM_FUNCTION_COUNTERS);
	if (ret)
		return ret;
	ret = rfm_reply(&asker, info, GENLMSG_DEFAULT_SIZE, rfm_put_counters,
			info->attrs[RFM_A_CARD_ABSOLUTE]);
	rfm_asker_put(&asker);
	return ret;
}

int rfm_nl_counters_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rfm_asker asker;

	rfm_dump_asker(&asker, cb, RFM_A_CARD_ABSOLUTE);
	return rfm_dump_cards(skb, cb, &asker, RFM_FUNCTION_COUNTERS,
			      RFM_CMD_COUNTERS_GET, rfm_put_counters,
			      asker.attrs[RFM_A_CARD_ABSOLUTE]);
}

static int rfm_counters_base(struct rfm_card *card)
{
	struct rfm_counters counters = {};
	struct rfm_info info = {};
	int ret;

	ret = rfm_irq_status(card, &info);
	if (!ret && card->hw.features & RFM_EXT_FEATURE_SNAPSHOT)
		ret = rfm_counters_read(card, &counters);
	if (ret)
		return ret;
	memcpy(card->config.reset_counters, counters.value,
	       sizeof(card->config.reset_counters));
	rfm_driver_counters(card, &info, card->config.reset_driver);
	card->config.reset_ns = counters.clock_ns;
	card->config.reset_generation = ++card->config.generation;
	rfm_notify_change(card);
	return 0;
}

int rfm_nl_counters_reset_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_asker asker;
	int ret;

	ret = rfm_asker_of(&asker, skb, info, RFM_A_CARD_FD,
			   RFM_FUNCTION_COUNTERS_RESET);
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&asker.card->lock)) {
		ret = -EINTR;
	} else {
		ret = rfm_counters_base(asker.card);
		mutex_unlock(&asker.card->lock);
	}
	ret = rfm_refuse_generic(info->extack, ret);
	rfm_asker_put(&asker);
	return ret;
}

/* --- the ring ------------------------------------------------------------- */

static int rfm_put_member(struct sk_buff *skb, unsigned int node,
			  const struct rfm_member *member)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_CARD_MEMBER);

	if (!nest ||
	    nla_put_u32(skb, RFM_A_MEMBER_NODE, node) ||
	    nla_put_u32(skb, RFM_A_MEMBER_HOPS, member->hops) ||
	    nla_put_u64_64bit(skb, RFM_A_MEMBER_RECEIVED, member->received,
			      RFM_A_MEMBER_PAD) ||
	    nla_put_u64_64bit(skb, RFM_A_MEMBER_MISSED, member->missed,
			      RFM_A_MEMBER_PAD) ||
	    nla_put_u32(skb, RFM_A_MEMBER_PRESENT, member->present) ||
	    nla_put_u32(skb, RFM_A_MEMBER_HUBS, member->hubs) ||
	    nla_put_u32(skb, RFM_A_MEMBER_PAUSED,
			!!(member->flags & RFM_MEMBER_PAUSED)) ||
	    nla_put_u64_64bit(skb, RFM_A_MEMBER_HEARD_NS, member->heard_ns,
			      RFM_A_MEMBER_PAD) ||
	    nla_put_u64_64bit(skb, RFM_A_MEMBER_BROKE_NS, member->broke_ns,
			      RFM_A_MEMBER_PAD))
		return -EMSGSIZE;
	if (!(member->flags & RFM_EVENT_AGE_UNKNOWN) &&
	    nla_put_u64_64bit(skb, RFM_A_MEMBER_TRANSIT_NS, member->transit_ns,
			      RFM_A_MEMBER_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Bytes that a member takes at most, padding of each number included. */
#define RFM_MEMBER_SIZE	(nla_total_size(0) + 5 * nla_total_size(4) + \
			 5 * nla_total_size_64bit(8))

/* Is there something to tell of it? It may have gone. */
static bool rfm_is_known(const struct rfm_member *member)
{
	return member->present || member->heard_ns;
}

static int rfm_put_ring(struct sk_buff *skb, struct rfm_card *card, void *data)
{
	const struct rfm_ring *ring = data;
	unsigned int i;
	int ret;

	ret = nla_put_u32(skb, RFM_A_CARD_NODE, card->hw.node) ?:
	      nla_put_u32(skb, RFM_A_CARD_EPOCH, ring->epoch) ?:
	      rfm_put_u64(skb, RFM_A_CARD_TURN_NS, ring->turn_ns) ?:
	      rfm_put_u64(skb, RFM_A_CARD_CLOCK_NS, ring->clock_ns);
	for (i = 0; i < RFM_NODES && !ret; i++)
		if (rfm_is_known(&ring->member[i]))
			ret = rfm_put_member(skb, i, &ring->member[i]);
	return ret;
}

static int rfm_ring_reply(struct rfm_asker *asker, struct genl_info *info)
{
	unsigned int i, known = 0;
	struct rfm_ring *ring;
	int ret;

	if (!(asker->card->hw.features & RFM_EXT_FEATURE_SNAPSHOT))
		return rfm_refuse(info->extack, NULL, -EOPNOTSUPP,
				  "the card has no extension block, it does not know who is on the ring");
	ring = kvzalloc(sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return rfm_refuse_generic(info->extack, -ENOMEM);
	ret = rfm_refuse_generic(info->extack,
				 rfm_ring_read(asker->card, ring));
	for (i = 0; i < RFM_NODES; i++)
		known += rfm_is_known(&ring->member[i]);
	if (!ret)
		ret = rfm_reply(asker, info, GENLMSG_DEFAULT_SIZE +
				known * RFM_MEMBER_SIZE, rfm_put_ring,
				ring);
	kvfree(ring);
	return ret;
}

int rfm_nl_ring_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_asker asker;
	int ret;

	ret = rfm_asker_of(&asker, skb, info, RFM_A_CARD_FD,
			   RFM_FUNCTION_RING_MAP);
	if (ret)
		return ret;
	ret = rfm_ring_reply(&asker, info);
	rfm_asker_put(&asker);
	return ret;
}
