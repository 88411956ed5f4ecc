/* SPDX-License-Identifier: GPL-2.0-only */
/* What netlink has that differs between kernel 6.1 and the newest. */
#ifndef RFM_COMPAT_NETLINK_H
#define RFM_COMPAT_NETLINK_H

#include <linux/version.h>
#include <net/genetlink.h>

#include <linux/rfm_netlink.h>

/*
 * Before 6.2 the do and the dump of an operation are one entry of a table,
 * whose fields have the same names, and not two.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define genl_split_ops	genl_ops
#define split_ops	ops
#define n_split_ops	n_ops

static inline void rfm_family_ops(struct genl_family *family)
{
	static struct genl_ops joined[RFM_CMD_MAX];
	unsigned int i, count = 0;

	for (i = 0; i < family->n_ops; i++) {
		const struct genl_ops *op = &family->ops[i];

		if (count && joined[count - 1].cmd == op->cmd)
			joined[count - 1].dumpit = op->dumpit;
		else
			joined[count++] = *op;
		joined[count - 1].flags &= ~(GENL_CMD_CAP_DO |
					     GENL_CMD_CAP_DUMP);
	}
	family->ops = joined;
	family->n_ops = count;
}
#else
static inline void rfm_family_ops(struct genl_family *family)
{
}
#endif

static inline struct nlattr **rfm_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_dumpit_info(cb)->info.attrs;
#endif
}

#endif /* RFM_COMPAT_NETLINK_H */
