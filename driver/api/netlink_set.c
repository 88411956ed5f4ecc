// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: card-set. */

#include <linux/slab.h>

#include "api/netlink.h"

/* --- what a request asks for ---------------------------------------------- */

#define RFM_SETTABLE(name, ...)	{ RFM_A_CARD_##name, __VA_ARGS__ }

/* What can be set, and its RFM_CONFIG_*, if it has one. */
static const struct {
	u16 attr;
	u16 flag;
} rfm_settables[] = {
	RFM_SETTABLE(LED, RFM_CONFIG_LED),
	RFM_SETTABLE(TRANSMIT, RFM_CONFIG_TRANSMIT),
	RFM_SETTABLE(LOOPBACK, RFM_CONFIG_LOOPBACK),
	RFM_SETTABLE(DARK_ON_DARK, RFM_CONFIG_DARK_ON_DARK),
	RFM_SETTABLE(PARITY, RFM_CONFIG_PARITY),
	RFM_SETTABLE(OWN_DATA, RFM_CONFIG_OWN_DATA),
	RFM_SETTABLE(BYTE_SWAP, RFM_CONFIG_BYTE_SWAP),
	RFM_SETTABLE(WINDOW_OFFSET, RFM_CONFIG_WINDOW),
	RFM_SETTABLE(ADDRESS_OFFSET, RFM_CONFIG_OFFSET),
	RFM_SETTABLE(BASE_POLICY),
	RFM_SETTABLE(BASE),
	RFM_SETTABLE(DMA_READ_THRESHOLD),
	RFM_SETTABLE(DMA_WRITE_THRESHOLD),
	RFM_SETTABLE(MODERATION_COUNT),
	RFM_SETTABLE(MODERATION_TIME),
};

/* Two are values and have their own field; the rest is on or off. */
static void rfm_take_config(struct rfm_config *config, u32 flag,
			    const struct nlattr *attr)
{
	config->mask |= flag;
	if (flag == RFM_CONFIG_WINDOW)
		config->window_offset = nla_get_u64(attr);
	else if (flag == RFM_CONFIG_OFFSET)
		config->address_offset = nla_get_u32(attr);
	else if (nla_get_u8(attr))
		config->on |= flag;
}

static u32 rfm_take_u32(struct nlattr **attrs, unsigned int attr)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : 0;
}

static void rfm_take_numbers(struct rfm_settings *settings,
			     struct nlattr **attrs)
{
	settings->policy = rfm_take_u32(attrs, RFM_A_CARD_BASE_POLICY);
	settings->dma_threshold[RFM_DMA_READ] =
		rfm_take_u32(attrs, RFM_A_CARD_DMA_READ_THRESHOLD);
	settings->dma_threshold[RFM_DMA_WRITE] =
		rfm_take_u32(attrs, RFM_A_CARD_DMA_WRITE_THRESHOLD);
	settings->moderation_count =
		rfm_take_u32(attrs, RFM_A_CARD_MODERATION_COUNT);
	settings->moderation_time =
		rfm_take_u32(attrs, RFM_A_CARD_MODERATION_TIME);
}

/* All that is asked for, but for the changes of base masks. */
static int rfm_take_settings(const struct rfm_nl_ctx *ctx,
			     struct rfm_settings *settings)
{
	struct nlattr **attrs = ctx->attrs;
	unsigned int i;
	bool any = false;

	for (i = 0; i < ARRAY_SIZE(rfm_settables); i++) {
		const struct nlattr *attr = attrs[rfm_settables[i].attr];

		if (!attr)
			continue;
		any = true;
		if (rfm_settables[i].flag)
			rfm_take_config(&settings->config,
					rfm_settables[i].flag, attr);
		else
			settings->set |= BIT_ULL(rfm_settables[i].attr);
	}
	if (!any)
		return rfm_refuse(ctx->extack, NULL, -EINVAL,
				  "the request sets nothing");
	if (settings->set & RFM_SET(BASE_POLICY) &&
	    nla_get_u32(attrs[RFM_A_CARD_BASE_POLICY]) == RFM_POLICY_MASK)
		return rfm_refuse(ctx->extack, attrs[RFM_A_CARD_BASE_POLICY],
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

static int rfm_step_take_planes(const struct rfm_nl_ctx *ctx,
				const struct nlattr *attr,
				struct rfm_base_step *step)
{
	u32 bits = nla_get_u32(attr);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rfm_step_planes); i++) {
		if (!(bits & rfm_step_planes[i].bit))
			continue;
		if (!rfm_plane_exists(ctx->card, rfm_step_planes[i].plane))
			return rfm_refuse(ctx->extack, attr, -EOPNOTSUPP,
					  "the card has no extension block, it receives and sends everything");
		bits &= ~rfm_step_planes[i].bit;
		step->planes |= RFM_HOLD(rfm_step_planes[i].plane);
	}
	if (bits || !step->planes)
		return rfm_refuse(ctx->extack, attr, -EINVAL,
				  "the base has masks for rx, tx and owned only");
	return 0;
}

static int rfm_step_take_range(const struct rfm_nl_ctx *ctx,
			       struct nlattr **attrs,
			       struct rfm_base_step *step)
{
	step->range.offset = nla_get_u64(attrs[RFM_A_RANGE_OFFSET]);
	step->range.length = nla_get_u64(attrs[RFM_A_RANGE_LENGTH]);
	if (!step->range.length)
		return rfm_refuse(ctx->extack, attrs[RFM_A_RANGE_LENGTH],
				  -EINVAL, "the range is empty");
	if (!rfm_range_inside(ctx->card, &step->range))
		return rfm_refuse(ctx->extack, attrs[RFM_A_RANGE_OFFSET],
				  -EINVAL,
				  "the range reaches past the end of the memory");
	return 0;
}

static const u8 rfm_step_needs[] = {
	RFM_A_RANGE_OFFSET, RFM_A_RANGE_LENGTH, RFM_A_RANGE_PLANES,
	RFM_A_RANGE_ACTION,
};

static int rfm_step_take(const struct rfm_nl_ctx *ctx,
			 const struct nlattr *nest, struct rfm_base_step *step)
{
	struct nlattr *attrs[RFM_A_RANGE_MAX + 1];
	unsigned int i;
	int ret;

	ret = nla_parse_nested(attrs, RFM_A_RANGE_PAD, nest,
			       rfm_range_nl_policy, ctx->extack);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(rfm_step_needs); i++) {
		if (attrs[rfm_step_needs[i]])
			continue;
		NL_SET_ERR_ATTR_MISS(ctx->extack, nest, rfm_step_needs[i]);
		return rfm_refuse(ctx->extack, nest, -EINVAL,
				  "a change of the base masks takes offset, length, planes and action");
	}
	step->add = nla_get_u32(attrs[RFM_A_RANGE_ACTION]) == RFM_ACTION_ADD;
	return rfm_step_take_range(ctx, attrs, step) ?:
	       rfm_step_take_planes(ctx, attrs[RFM_A_RANGE_PLANES], step);
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

static int rfm_take_steps(const struct rfm_nl_ctx *ctx,
			  const struct nlmsghdr *nlh,
			  struct rfm_base_step *steps)
{
	const struct nlattr *attr;
	int left, ret;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, left) {
		if (nla_type(attr) != RFM_A_CARD_BASE)
			continue;
		ret = rfm_step_take(ctx, attr, steps++);
		if (ret)
			return ret;
	}
	return 0;
}

/* --- card-set -------------------------------------------------------------- */

static int rfm_set_card(const struct rfm_nl_ctx *ctx,
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
			return rfm_refuse_generic(ctx->extack, -ENOMEM);
	}
	settings->steps = steps;
	ret = rfm_take_steps(ctx, nlh, steps) ?:
	      rfm_settings_apply(ctx->card, settings);
	kvfree(steps);
	return rfm_refuse_generic(ctx->extack, ret);
}

int rfm_nl_card_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rfm_settings settings = {
		.extack = info->extack,
		.attrs = info->attrs,
	};
	struct rfm_nl_ctx ctx;
	int ret;

	ret = rfm_nl_ctx_init(&ctx, skb, info, RFM_A_CARD_MODERATION_TIME,
			      RFM_FUNCTION_SETTINGS);
	if (ret)
		return ret;
	ret = rfm_take_settings(&ctx, &settings) ?:
	      rfm_set_card(&ctx, info->nlhdr, &settings);
	rfm_nl_ctx_put(&ctx);
	return ret;
}
