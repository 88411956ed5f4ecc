// SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/netlink/rfm.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/rfm_netlink.h>

/* Common nested types */
const struct nla_policy rfm_range_nl_policy[RFM_A_RANGE_PAD + 1] = {
	[RFM_A_RANGE_OFFSET] = { .type = NLA_U64, },
	[RFM_A_RANGE_LENGTH] = { .type = NLA_U64, },
	[RFM_A_RANGE_PLANES] = NLA_POLICY_MASK(NLA_U32, 0x7f),
	[RFM_A_RANGE_ACTION] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* RFM_CMD_CARD_GET - do */
static const struct nla_policy rfm_card_get_do_nl_policy[RFM_A_CARD_ABSOLUTE + 1] = {
	[RFM_A_CARD_ID] = { .type = NLA_U32, },
	[RFM_A_CARD_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[RFM_A_CARD_PCI] = { .type = NLA_NUL_STRING, .len = 31, },
	[RFM_A_CARD_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[RFM_A_CARD_ABSOLUTE] = { .type = NLA_FLAG, },
};

/* RFM_CMD_CARD_GET - dump */
static const struct nla_policy rfm_card_get_dump_nl_policy[RFM_A_CARD_ABSOLUTE + 1] = {
	[RFM_A_CARD_ID] = { .type = NLA_U32, },
	[RFM_A_CARD_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[RFM_A_CARD_PCI] = { .type = NLA_NUL_STRING, .len = 31, },
	[RFM_A_CARD_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[RFM_A_CARD_ABSOLUTE] = { .type = NLA_FLAG, },
};

/* RFM_CMD_CARD_SET - do */
static const struct nla_policy rfm_card_set_nl_policy[RFM_A_CARD_BURST_PERIOD + 1] = {
	[RFM_A_CARD_ID] = { .type = NLA_U32, },
	[RFM_A_CARD_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[RFM_A_CARD_PCI] = { .type = NLA_NUL_STRING, .len = 31, },
	[RFM_A_CARD_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[RFM_A_CARD_GENERATION] = { .type = NLA_U64, },
	[RFM_A_CARD_LED] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_TRANSMIT] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_LOOPBACK] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_DARK_ON_DARK] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_PARITY] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_OWN_DATA] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_BYTE_SWAP] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_DMA_BYTE_SWAP] = NLA_POLICY_MAX(NLA_U8, 1),
	[RFM_A_CARD_WINDOW_OFFSET] = { .type = NLA_U64, },
	[RFM_A_CARD_ADDRESS_OFFSET] = { .type = NLA_U32, },
	[RFM_A_CARD_BASE_POLICY] = NLA_POLICY_MAX(NLA_U32, 2),
	[RFM_A_CARD_BASE] = NLA_POLICY_NESTED(rfm_range_nl_policy),
	[RFM_A_CARD_DMA_READ_THRESHOLD] = { .type = NLA_U32, },
	[RFM_A_CARD_DMA_WRITE_THRESHOLD] = { .type = NLA_U32, },
	[RFM_A_CARD_MODERATION_COUNT] = NLA_POLICY_RANGE(NLA_U32, 1, 32767),
	[RFM_A_CARD_MODERATION_TIME] = { .type = NLA_U32, },
	[RFM_A_CARD_BURST_OFFSET] = { .type = NLA_U64, },
	[RFM_A_CARD_BURST_LENGTH] = { .type = NLA_U64, },
	[RFM_A_CARD_BURST_PERIOD] = { .type = NLA_U32, },
};

/* RFM_CMD_COUNTERS_RESET - do */
static const struct nla_policy rfm_counters_reset_nl_policy[RFM_A_CARD_FD + 1] = {
	[RFM_A_CARD_ID] = { .type = NLA_U32, },
	[RFM_A_CARD_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[RFM_A_CARD_PCI] = { .type = NLA_NUL_STRING, .len = 31, },
	[RFM_A_CARD_FD] = NLA_POLICY_MIN(NLA_S32, 0),
};

/* RFM_CMD_DESCRIPTOR_GET - dump */
static const struct nla_policy rfm_descriptor_get_nl_policy[RFM_A_CARD_FD + 1] = {
	[RFM_A_CARD_ID] = { .type = NLA_U32, },
	[RFM_A_CARD_NAME] = { .type = NLA_NUL_STRING, .len = 15, },
	[RFM_A_CARD_PCI] = { .type = NLA_NUL_STRING, .len = 31, },
	[RFM_A_CARD_FD] = NLA_POLICY_MIN(NLA_S32, 0),
};

/* Ops table for rfm */
static const struct genl_split_ops rfm_nl_ops[] = {
	{
		.cmd		= RFM_CMD_CARD_GET,
		.doit		= rfm_nl_card_get_doit,
		.policy		= rfm_card_get_do_nl_policy,
		.maxattr	= RFM_A_CARD_ABSOLUTE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RFM_CMD_CARD_GET,
		.dumpit		= rfm_nl_card_get_dumpit,
		.policy		= rfm_card_get_dump_nl_policy,
		.maxattr	= RFM_A_CARD_ABSOLUTE,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= RFM_CMD_CARD_SET,
		.doit		= rfm_nl_card_set_doit,
		.policy		= rfm_card_set_nl_policy,
		.maxattr	= RFM_A_CARD_BURST_PERIOD,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RFM_CMD_COUNTERS_RESET,
		.doit		= rfm_nl_counters_reset_doit,
		.policy		= rfm_counters_reset_nl_policy,
		.maxattr	= RFM_A_CARD_FD,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= RFM_CMD_DESCRIPTOR_GET,
		.dumpit		= rfm_nl_descriptor_get_dumpit,
		.policy		= rfm_descriptor_get_nl_policy,
		.maxattr	= RFM_A_CARD_FD,
		.flags		= GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group rfm_nl_mcgrps[] = {
	[RFM_NLGRP_MONITOR] = { "monitor", },
};

struct genl_family rfm_nl_family __ro_after_init = {
	.name		= RFM_FAMILY_NAME,
	.version	= RFM_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= rfm_nl_ops,
	.n_split_ops	= ARRAY_SIZE(rfm_nl_ops),
	.mcgrps		= rfm_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(rfm_nl_mcgrps),
};
