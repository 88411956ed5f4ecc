// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: card-set. */

#include <linux/slab.h>

#include "api/netlink.h"

/* --- what a request asks for ---------------------------------------------- */

#define RFM_SETTABLE(name, ...)	{ RFM_A_CARD_##name, __VA_ARGS__ }

/* What can be set, and the switch that it is. */
static const struct {
	u16 attr;
	u16 flag;
} rfm_settables[] = {
	RFM_SETTABLE(LED, RFM_SWITCH_LED),
	RFM_SETTABLE(TRANSMIT, RFM_SWITCH_TRANSMIT),
	RFM_SETTABLE(LOOPBACK, RFM_SWITCH_LOOPBACK),
	RFM_SETTABLE(DARK_ON_DARK, RFM_SWITCH_DARK_ON_DARK),
	RFM_SETTABLE(PARITY, RFM_SWITCH_PARITY),
	RFM_SETTABLE(OWN_DATA, RFM_SWITCH_OWN_DATA),
	RFM_SETTABLE(BYTE_SWAP, RFM_SWITCH_BYTE_SWAP),
	RFM_SETTABLE(WINDOW_OFFSET, RFM_SWITCH_WINDOW),
	RFM_SETTABLE(ADDRESS_OFFSET, RFM_SWITCH_OFFSET),
	RFM_SETTABLE(BASE_POLICY),
	RFM_SETTABLE(BASE),
	RFM_SETTABLE(DMA_READ_LEAST),
	RFM_SETTABLE(DMA_WRITE_LEAST),
	RFM_SETTABLE(MODERATION_COUNT),
	RFM_SETTABLE(MODERATION_TIME),
};

/* Switches that are values have their own field; the rest is on or off. */
static void rfm_take_switch(struct rfm_switches *switches, u32 flag,
			    const struct nlattr *attr)
{
	switches->mask |= flag;
	if (flag == RFM_SWITCH_WINDOW)
		switches->window_offset = nla_get_u64(attr);
	else if (flag == RFM_SWITCH_OFFSET)
		switches->address_offset = nla_get_u32(attr);
	else if (nla_get_u8(attr))
		switches->on |= flag;
}

static u32 rfm_take_u32(struct nlattr **attrs, unsigned int attr)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : 0;
}

static void rfm_take_numbers(struct rfm_settings *settings,
			     struct nlattr **attrs)
{
	settings->policy = rfm_take_u32(attrs, RFM_A_CARD_BASE_POLICY);
	settings->dma_least[RFM_DMA_READ] =
		rfm_take_u32(attrs, RFM_A_CARD_DMA_READ_LEAST);
	settings->dma_least[RFM_DMA_WRITE] =
		rfm_take_u32(attrs, RFM_A_CARD_DMA_WRITE_LEAST);
	settings->moderation_count =
		rfm_take_u32(attrs, RFM_A_CARD_MODERATION_COUNT);
	settings->moderation_time =
		rfm_take_u32(attrs, RFM_A_CARD_MODERATION_TIME);
}

/* All that is asked for, but for the changes of base masks. */
static int rfm_take_settings(const struct rfm_asker *asker,
			     struct rfm_settings *settings)
{
	struct nlattr **attrs = asker->attrs;
	unsigned int i;
	bool any = false;

	for (i = 0; i < ARRAY_SIZE(rfm_settables); i++) {
		const struct nlattr *attr = attrs[rfm_settables[i].attr];

		if (!attr)
			continue;
		any = true;
		if (rfm_settables[i].flag)
			rfm_take_switch(&settings->switches,
					rfm_settables[i].flag, attr);
		else
			settings->set |= BIT_ULL(rfm_settables[i].attr);
	}
	if (!any)
		return rfm_refuse(asker->extack, NULL, -EINVAL,
				  "the request sets nothing");
	if (settings->set & RFM_SET(BASE_POLICY) &&
	    nla_get_u32(attrs[RFM_A_CARD_BASE_POLICY]) == RFM_POLICY_MASK)
		return rfm_refuse(asker->extack, attrs[RFM_A_CARD_BASE_POLICY],
				  -EINVAL,
				  "this policy is made by changes of the base masks, it cannot be set");
	rfm_take_numbers(settings, attrs);
	settings->conditional = attrs[RFM_A_CARD_GENERATION];
	if (settings->conditional)
		settings->generation =
			nla_get_u64(attrs[RFM_A_CARD_GENERATION]);
	return 0;
}

/* --- changes of base masks ------------------------------------------------ */

static const struct {
	u32 bit;
	unsigned int plane;
} rfm_step_planes[] = {
	{ RFM_PLANES_RX, RFM_PLANE_RX },
	{ RFM_PLANES_TX, RFM_PLANE_TX },
	{ RFM_PLANES_OWNED, RFM_PLANE_OWNED },
};

static int rfm_step_take_planes(const struct rfm_asker *asker,
				const struct nlattr *attr,
				struct rfm_base_step *step)
{
	u32 bits = nla_get_u32(attr);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rfm_step_planes); i++) {
		if (!(bits & rfm_step_planes[i].bit))
			continue;
		if (!rfm_plane_exists(asker->card, rfm_step_planes[i].plane))
			return rfm_refuse(asker->extack, attr, -EOPNOTSUPP,
					  "the card has no extension block, it receives and sends everything");
		bits &= ~rfm_step_planes[i].bit;
		step->planes |= RFM_HOLD(rfm_step_planes[i].plane);
	}
	if (bits || !step->planes)
		return rfm_refuse(asker->extack, attr, -EINVAL,
				  "the base has masks for rx, tx and owned only");
	return 0;
}

static int rfm_step_take_range(const struct rfm_asker *asker,
			       struct nlattr **attrs,
			       struct rfm_base_step *step)
{
	step->range.offset = nla_get_u64(attrs[RFM_A_RANGE_OFFSET]);
	step->range.length = nla_get_u64(attrs[RFM_A_RANGE_LENGTH]);
	if (!step->range.length)
		return rfm_refuse(asker->extack, attrs[RFM_A_RANGE_LENGTH],
				  -EINVAL, "the range is empty");
	if (!rfm_range_inside(asker->card, &step->range))
		return rfm_refuse(asker->extack, attrs[RFM_A_RANGE_OFFSET],
				  -EINVAL,
				  "the range reaches past the end of the memory");
	return 0;
}

static const u8 rfm_step_needs[] = {
	RFM_A_RANGE_OFFSET, RFM_A_RANGE_LENGTH, RFM_A_RANGE_PLANES,
	RFM_A_RANGE_ACTION,
};

static int rfm_step_take(const struct rfm_asker *asker,
			 const struct nlattr *nest, struct rfm_base_step *step)
{
	struct nlattr *attrs[RFM_A_RANGE_MAX + 1];
	unsigned int i;
	int ret;

	ret = nla_parse_nested(attrs, RFM_A_RANGE_PAD, nest,
			       rfm_range_nl_policy, asker->extack);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(rfm_step_needs); i++) {
		if (attrs[rfm_step_needs[i]])
			continue;
		NL_SET_ERR_ATTR_MISS(asker->extack, nest, rfm_step_needs[i]);
		return rfm_refuse(asker->extack, nest, -EINVAL,
				  "a change of the base masks takes offset, length, planes and action");
	}
	step->add = nla_get_u32(attrs[RFM_A_RANGE_ACTION]) == RFM_ACTION_ADD;
	return rfm_step_take_range(asker, attrs, step) ?:
	       rfm_step_take_planes(asker, attrs[RFM_A_RANGE_PLANES], step);
}

/* As many as fit into a message. */
static unsigned int rfm_count_steps(const struct nlmsghdr *nlh)
{
	const struct nlattr *attr;
	unsigned int count = 0;
	int left;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, left)
		count += nla_type(attr) == RFM_A_CARD_BASE;
	return count;
}

static int rfm_take_steps(const struct rfm_asker *asker,
			  const struct nlmsghdr *nlh,
			  struct rfm_base_step *steps)
{
	const struct nlattr *attr;
	int left, ret;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, left) {
		if (nla_type(attr) != RFM_A_CARD_BASE)
			continue;
		ret = rfm_step_take(asker, attr, steps++);
		if (ret)
			return ret;
	}
	return 0;
}

/* --- card-set -------------------------------------------------------------- */

static int rfm_set_card(const struct rfm_asker *asker,
			const struct nlmsghdr *nlh,
			struct rfm_settings *settings)
{
	struct rfm_base_step *steps = NULL;
	int ret;

	settings->step_count = rfm_count_steps(nlh);
	if (settings->step_count) {
		steps = kvcalloc(settings->step_count, sizeof(*steps),
				 GFP_KERNEL);
		if (!steps)
			return rfm_refuse_generic(asker->extack, -ENOMEM);
	}
	settings->steps = steps;
	ret = rfm_take_steps(asker, nlh, steps) ?:
	      rfm_settings_apply(asker->card, settings);
	kvfree(steps);
	return rfm_refuse_generic(asker->extack, ret);
}

int rfm_nl_card_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_settings settings = {
		.extack = info->extack,
		.attrs = info->attrs,
	};
	struct rfm_asker asker;
	int ret;

	ret = rfm_asker_of(&asker, skb, info, RFM_A_CARD_MODERATION_TIME,
			   RFM_FUNCTION_SETTINGS);
	if (ret)
		return ret;
	ret = rfm_take_settings(&asker, &settings) ?:
	      rfm_set_card(&asker, info->nlhdr, &settings);
	rfm_asker_put(&asker);
	return ret;
}
