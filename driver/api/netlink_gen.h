/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/netlink/rfm.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_RFM_GEN_H
#define _LINUX_RFM_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/rfm_netlink.h>

/* Common nested types */
extern const struct nla_policy rfm_range_nl_policy[RFM_A_RANGE_PAD + 1];

int rfm_nl_card_get_doit(struct sk_buff *skb, struct genl_info *info);
int rfm_nl_card_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int rfm_nl_card_set_doit(struct sk_buff *skb, struct genl_info *info);
int rfm_nl_counters_reset_doit(struct sk_buff *skb, struct genl_info *info);
int rfm_nl_descriptor_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);

enum {
	RFM_NLGRP_MONITOR,
};

extern struct genl_family rfm_nl_family;

#endif /* _LINUX_RFM_GEN_H */
