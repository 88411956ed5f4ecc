// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: card-set. */

#include <linux/slab.h>

#include "api/netlink.h"

/* --- what a request asks for ---------------------------------------------- */

/* What is on or off; what has a value, and where that goes. */
#define RFM_SWITCH(name)	{ RFM_A_CARD_##name, RFM_CONFIG_##name }
#define RFM_VALUE(name, flag, member)					\
	{ RFM_A_CARD_##name, flag, offsetof(struct rfm_settings, member), \
	  sizeof_field(struct rfm_settings, member) }

/* What can be set. */
static const struct {
	u16 attr;
	u16 flag;			/* its RFM_CONFIG_*, or 0 */
	u16 offset;			/* in struct rfm_settings, */
	u16 width;			/* of so many bytes, or 0 */
} rfm_settables[] = {
	RFM_SWITCH(LED),
	RFM_SWITCH(TRANSMIT),
	RFM_SWITCH(LOOPBACK),
	RFM_SWITCH(DARK_ON_DARK),
	RFM_SWITCH(PARITY),
	RFM_SWITCH(OWN_DATA),
	RFM_SWITCH(BYTE_SWAP),
	RFM_SWITCH(DMA_BYTE_SWAP),
	RFM_VALUE(WINDOW_OFFSET, RFM_CONFIG_WINDOW, config.window_offset),
	RFM_VALUE(ADDRESS_OFFSET, RFM_CONFIG_OFFSET, config.address_offset),
	RFM_VALUE(BASE_POLICY, 0, policy),
	RFM_VALUE(DMA_READ_THRESHOLD, 0, dma_threshold[RFM_DMA_READ]),
	RFM_VALUE(DMA_WRITE_THRESHOLD, 0, dma_threshold[RFM_DMA_WRITE]),
	RFM_VALUE(MODERATION_COUNT, 0, moderation_count),
	RFM_VALUE(MODERATION_TIME, 0, moderation_time),
	RFM_VALUE(BURST_OFFSET, 0, burst.offset),
	RFM_VALUE(BURST_LENGTH, 0, burst.length),
	RFM_VALUE(BURST_PERIOD, 0, burst.period),
	{ RFM_A_CARD_BASE },		/* see below */
};

/* All that is asked for, but for the changes of base masks. */
static int rfm_take_settings(const struct genl_info *info,
			     struct rfm_settings *settings)
{
	const struct nlattr *attr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rfm_settables); i++) {
		u32 flag = rfm_settables[i].flag;

		attr = info->attrs[rfm_settables[i].attr];
		if (!attr)
			continue;
		if (flag)
			settings->config.mask |= flag;
		else
			settings->set |= BIT_ULL(rfm_settables[i].attr);
		if (rfm_settables[i].width)
			nla_memcpy((void *)settings + rfm_settables[i].offset,
				   attr, rfm_settables[i].width);
		else if (flag && nla_get_u8(attr))
			settings->config.on |= flag;
	}
	if (!settings->set && !settings->config.mask)
		return rfm_refuse(info->extack, NULL, -EINVAL,
				  "the request sets nothing");
	if (settings->policy == RFM_POLICY_MASK)
		return rfm_refuse(info->extack,
				  info->attrs[RFM_A_CARD_BASE_POLICY], -EINVAL,
				  "this policy is made by changes of the base masks, it cannot be set");
	attr = info->attrs[RFM_A_CARD_GENERATION];
	settings->conditional = attr;
	if (attr)
		settings->generation = nla_get_u64(attr);
	return 0;
}

/* --- changes of base masks ------------------------------------------------ */

static const u32 rfm_base_planes = RFM_PLANES_RX | RFM_PLANES_TX |
				   RFM_PLANES_OWNED | RFM_PLANES_READ |
				   RFM_PLANES_WRITE | RFM_PLANES_HOME;

/* @attrs: all four that a change has. */
static int rfm_step_fill(struct rfm_card *card, struct netlink_ext_ack *extack,
			 struct nlattr **attrs, struct rfm_base_step *step)
{
	unsigned int plane;
	u32 missing = 0;

	step->range.offset = nla_get_u64(attrs[RFM_A_RANGE_OFFSET]);
	step->range.length = nla_get_u64(attrs[RFM_A_RANGE_LENGTH]);
	step->planes = nla_get_u32(attrs[RFM_A_RANGE_PLANES]);
	step->add = nla_get_u32(attrs[RFM_A_RANGE_ACTION]) == RFM_ACTION_ADD;
	if (!step->range.length)
		return rfm_refuse(extack, attrs[RFM_A_RANGE_LENGTH], -EINVAL,
				  "the range is empty");
	if (!rfm_range_inside(card, &step->range))
		return rfm_refuse(extack, attrs[RFM_A_RANGE_OFFSET], -EINVAL,
				  "the range reaches past the end of the memory");
	for (plane = 0; plane < RFM_PLANES; plane++)
		if (!rfm_plane_exists(card, plane))
			missing |= step->planes & rfm_base_planes & RFM_HOLD(plane);
	if (missing & (RFM_PLANES_RX | RFM_PLANES_TX | RFM_PLANES_OWNED))
		return rfm_refuse(extack, attrs[RFM_A_RANGE_PLANES], -EOPNOTSUPP,
				  "the card has no extension block, it receives and sends everything");
	if (missing)
		return rfm_refuse(extack, attrs[RFM_A_RANGE_PLANES], -EOPNOTSUPP,
				  "the card has no operations at other nodes");
	if (step->planes & ~rfm_base_planes || !step->planes)
		return rfm_refuse(extack, attrs[RFM_A_RANGE_PLANES], -EINVAL,
				  "the base has masks for rx, tx, owned, read, write and home only");
	return 0;
}

static int rfm_step_take(struct rfm_card *card, struct netlink_ext_ack *extack,
			 const struct nlattr *nest, struct rfm_base_step *step)
{
	struct nlattr *attrs[RFM_A_RANGE_MAX + 1];
	unsigned int i;
	int ret;

	ret = nla_parse_nested(attrs, RFM_A_RANGE_MAX, nest,
			       rfm_range_nl_policy, extack);
	if (ret)
		return ret;
	for (i = RFM_A_RANGE_OFFSET; i <= RFM_A_RANGE_ACTION; i++) {
		if (attrs[i])
			continue;
		NL_SET_ERR_ATTR_MISS(extack, nest, i);
		return rfm_refuse(extack, nest, -EINVAL,
				  "a change of the base masks takes offset, length, planes and action");
	}
	return rfm_step_fill(card, extack, attrs, step);
}

/*
 * Takes the changes, as many as fit into a message; @steps: NULL, they are only
 * counted. Returns how many there are, or an error.
 */
static int rfm_take_steps(struct rfm_card *card, struct genl_info *info,
			  struct rfm_base_step *steps)
{
	const struct nlattr *attr;
	int left, ret, count = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, left) {
		if (nla_type(attr) != RFM_A_CARD_BASE)
			continue;
		ret = steps ? rfm_step_take(card, info->extack, attr,
					    &steps[count]) : 0;
		if (ret)
			return ret;
		count++;
	}
	return count;
}

/* --- card-set -------------------------------------------------------------- */

static int rfm_card_set(struct rfm_card *card, struct genl_info *info)
{
	struct rfm_settings settings = {
		.extack = info->extack,
		.attrs = info->attrs,
		.step_count = rfm_take_steps(card, info, NULL),
	};
	struct rfm_base_step *steps;
	int ret;

	ret = rfm_take_settings(info, &settings);
	if (ret)
		return ret;
	steps = kvcalloc(settings.step_count, sizeof(*steps), GFP_KERNEL);
	if (!steps)
		return -ENOMEM;
	settings.steps = steps;
	ret = rfm_take_steps(card, info, steps);
	if (ret >= 0)
		ret = rfm_settings_apply(card, &settings);
	kvfree(steps);
	return ret;
}

int rfm_nl_card_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return rfm_nl_do(skb, info, RFM_FUNCTION_SETTINGS, rfm_card_set);
}
