// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may do what: one rule, and one table for the ioctls and for netlink.
 * Whoever has a descriptor of a card may ask what it is; one that is open for
 * reading lets him look at everything, and one that is open for writing change
 * everything, at other nodes as well; for netlink, CAP_NET_ADMIN is as good as
 * any. So the device node says who may do what, and no other door says more.
 * docs/man/rfm.4 shows the table under RIGHTS; scripts/lint compares the two.
 *
 * Nothing here reaches the memory of this machine but registers, the DMA engine's
 * above all. These take CAP_SYS_RAWIO as well, and a kernel that is not locked down.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/security.h>
#include <net/netlink.h>

#include "api/netlink.h"

/* What somebody needs: a descriptor of the card, open for ... */
#define RFM_RIGHT_ANY		0	/* whatever */
#define RFM_RIGHT_READ		FMODE_READ
#define RFM_RIGHT_WRITE		FMODE_WRITE
#define RFM_RIGHT_BOTH		(FMODE_READ | FMODE_WRITE)

static const fmode_t rfm_rights[RFM_FUNCTIONS] = {
	[RFM_FUNCTION_INFO]		= RFM_RIGHT_ANY,
	[RFM_FUNCTION_SUBSCRIBE]	= RFM_RIGHT_ANY,
	[RFM_FUNCTION_COUNTERS]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_RING_MAP]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_WRITER]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_LISTEN]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_WATCH]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_SUBSCRIBE_RX]	= RFM_RIGHT_READ,
	[RFM_FUNCTION_DESCRIPTORS]	= RFM_RIGHT_READ,
	[RFM_FUNCTION_SUBSCRIBE_TX]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_SUBSCRIBE_OWN]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_SEND]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_FENCE]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_RING_TEST]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_SETTINGS]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_COUNTERS_RESET]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_REMOTE]		= RFM_RIGHT_ANY,
	[RFM_FUNCTION_REMOTE_READ]	= RFM_RIGHT_READ,
	[RFM_FUNCTION_PORT]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_REMOTE_CHANGE]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_RESYNC]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_EXPORT]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_REGION]		= RFM_RIGHT_BOTH,
	[RFM_FUNCTION_VERIFY]		= RFM_RIGHT_BOTH,
	[RFM_FUNCTION_REGISTERS]	= RFM_RIGHT_BOTH,
};

/**
 * rfm_may_ioctl - may this be done with a descriptor?
 * @function: what
 * @mode: what it is open for
 *
 * Return: 0; -EBADF if it is not open for that, -EPERM if that is not enough.
 */
int rfm_may_ioctl(enum rfm_function function, fmode_t mode)
{
	if (rfm_rights[function] & ~mode)
		return -EBADF;
	if (function != RFM_FUNCTION_REGISTERS)
		return 0;
	return capable(CAP_SYS_RAWIO) ?
	       security_locked_down(LOCKDOWN_PCI_ACCESS) : -EPERM;
}

#define RFM_NEEDS(extack, what)						\
	rfm_refuse(extack, NULL, -EPERM,				\
		   "needs a descriptor of the card" what ", or CAP_NET_ADMIN")

/*
 * May this be done by the sender of a message, who shows a descriptor that is open
 * for @mode, or 0? Who may not is told why.
 */
int rfm_may_netlink(enum rfm_function function, fmode_t mode,
		    const struct sk_buff *skb, struct netlink_ext_ack *extack)
{
	if (mode && !rfm_may_ioctl(function, mode))
		return 0;
	if (netlink_capable(skb, CAP_NET_ADMIN))
		return 0;
	switch (rfm_rights[function]) {
	case RFM_RIGHT_READ:
		return RFM_NEEDS(extack, " that is open for reading");
	case RFM_RIGHT_WRITE:
		return RFM_NEEDS(extack, " that is open for writing");
	case RFM_RIGHT_BOTH:
		return RFM_NEEDS(extack, " that is open for both");
	default:
		return RFM_NEEDS(extack, "");
	}
}
