// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may do what: one table for the ioctls and for netlink. docs/man/rfm.4
 * shows it under RIGHTS; scripts/lint compares the two.
 *
 * Nothing here reaches outside the card. What would, the DMA registers of BAR0
 * and a map of them, would need CAP_SYS_RAWIO, and the driver does not offer
 * it to anybody.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <net/netlink.h>

#include "rfm_drv.h"

/**
 * enum rfm_right - what somebody needs
 * @RFM_RIGHT_ANY: nothing; for an ioctl, an open descriptor
 * @RFM_RIGHT_READ: a descriptor of the card that is open for reading
 * @RFM_RIGHT_WRITE: one that is open for writing
 * @RFM_RIGHT_ADMIN: CAP_NET_ADMIN in the initial user namespace
 */
enum rfm_right {
	RFM_RIGHT_ANY,
	RFM_RIGHT_READ,
	RFM_RIGHT_WRITE,
	RFM_RIGHT_ADMIN,
};

static const enum rfm_right rfm_rights[RFM_FUNCTIONS] = {
	[RFM_FUNCTION_INFO]		= RFM_RIGHT_ANY,
	[RFM_FUNCTION_COUNTERS]		= RFM_RIGHT_ANY,
	[RFM_FUNCTION_RING_MAP]		= RFM_RIGHT_ANY,
	[RFM_FUNCTION_WRITER]		= RFM_RIGHT_ANY,
	[RFM_FUNCTION_SUBSCRIBE]	= RFM_RIGHT_ANY,
	[RFM_FUNCTION_LISTEN]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_WATCH]		= RFM_RIGHT_READ,
	[RFM_FUNCTION_SUBSCRIBE_RX]	= RFM_RIGHT_READ,
	[RFM_FUNCTION_DESCRIPTORS]	= RFM_RIGHT_READ,
	[RFM_FUNCTION_SUBSCRIBE_TX]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_SUBSCRIBE_OWN]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_SEND]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_FENCE]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_RING_TEST]	= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_SWITCHES]		= RFM_RIGHT_WRITE,
	[RFM_FUNCTION_BASE]		= RFM_RIGHT_ADMIN,
	[RFM_FUNCTION_DMA]		= RFM_RIGHT_ADMIN,
	[RFM_FUNCTION_MODERATION]	= RFM_RIGHT_ADMIN,
	[RFM_FUNCTION_COUNTERS_RESET]	= RFM_RIGHT_ADMIN,
};

/* What a descriptor must be open for; what it cannot give is not here. */
static const fmode_t rfm_right_modes[] = {
	[RFM_RIGHT_READ]	= FMODE_READ,
	[RFM_RIGHT_WRITE]	= FMODE_WRITE,
	[RFM_RIGHT_ADMIN]	= 0,
};

/**
 * rfm_may_ioctl - may this be done with a descriptor?
 * @function: what
 * @mode: what it is open for
 *
 * Return: 0, -EBADF if it is not open for that, -EPERM without the capability.
 */
int rfm_may_ioctl(enum rfm_function function, fmode_t mode)
{
	enum rfm_right right = rfm_rights[function];

	if (right == RFM_RIGHT_ADMIN)
		return capable(CAP_NET_ADMIN) ? 0 : -EPERM;
	return mode & rfm_right_modes[right] || right == RFM_RIGHT_ANY ?
	       0 : -EBADF;
}

/**
 * rfm_may_netlink - may this be done by the sender of a message?
 * @function: what
 * @mode: what the descriptor that the message names is open for, 0: it names
 *	none
 * @skb: the message
 * @attr: what asks for it, or NULL
 * @extack: told why not
 *
 * An administrator needs no descriptor.
 *
 * Return: 0 or -EPERM.
 */
int rfm_may_netlink(enum rfm_function function, fmode_t mode,
		    const struct sk_buff *skb, const struct nlattr *attr,
		    struct netlink_ext_ack *extack)
{
	enum rfm_right right = rfm_rights[function];

	if (right == RFM_RIGHT_ANY || mode & rfm_right_modes[right] ||
	    netlink_capable(skb, CAP_NET_ADMIN))
		return 0;
	if (right == RFM_RIGHT_READ)
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "needs a descriptor of the card that is open for reading, or CAP_NET_ADMIN");
	else if (right == RFM_RIGHT_WRITE)
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "needs a descriptor of the card that is open for writing, or CAP_NET_ADMIN");
	else
		NL_SET_ERR_MSG_ATTR(extack, attr, "needs CAP_NET_ADMIN");
	return -EPERM;
}
