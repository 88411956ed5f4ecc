// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may do what: one rule, and one table for the ioctls and for netlink.
 * Whoever has a descriptor of a card may ask what it is; one that is open for
 * reading lets him look at everything, and one that is open for writing change
 * everything, at other nodes as well; for netlink, CAP_NET_ADMIN is as good as
 * any. So the device node says who may do what, and no other door says more.
 * docs/man/rfm.4 shows the table under RIGHTS; scripts/lint compares the two.
 *
 * Nothing here reaches the memory of this machine. What would, the DMA registers
 * of BAR0 and a map of them, would need CAP_SYS_RAWIO, and the driver does not
 * offer it to anybody.
 */

#include <linux/capability.h>
#include <linux/fs.h>
#include <net/netlink.h>

#include "rfm_netlink.h"

/**
 * enum rfm_right - what somebody needs
 * @RFM_RIGHT_ANY: a descriptor of the card
 * @RFM_RIGHT_READ: one that is open for reading
 * @RFM_RIGHT_WRITE: one that is open for writing
 * @RFM_RIGHT_BOTH: one that is open for both
 */
enum rfm_right {
	RFM_RIGHT_ANY,
	RFM_RIGHT_READ,
	RFM_RIGHT_WRITE,
	RFM_RIGHT_BOTH,
};

static const enum rfm_right rfm_rights[RFM_FUNCTIONS] = {
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
	[RFM_FUNCTION_VERIFY]		= RFM_RIGHT_BOTH,
};

#define RFM_NEEDS(what)	"needs a descriptor of the card" what ", or CAP_NET_ADMIN"

/* What a descriptor must be open for, and what is said of one that is not. */
static const struct {
	fmode_t mode;
	const char *refusal;
} rfm_right_of[] = {
	[RFM_RIGHT_ANY]		= { 0, RFM_NEEDS("") },
	[RFM_RIGHT_READ]	= { FMODE_READ,
				    RFM_NEEDS(" that is open for reading") },
	[RFM_RIGHT_WRITE]	= { FMODE_WRITE,
				    RFM_NEEDS(" that is open for writing") },
	[RFM_RIGHT_BOTH]	= { FMODE_READ | FMODE_WRITE,
				    RFM_NEEDS(" that is open for both") },
};

/**
 * rfm_may_ioctl - may this be done with a descriptor?
 * @function: what
 * @mode: what it is open for
 *
 * Return: 0, or -EBADF if it is not open for that.
 */
int rfm_may_ioctl(enum rfm_function function, fmode_t mode)
{
	return rfm_right_of[rfm_rights[function]].mode & ~mode ? -EBADF : 0;
}

/**
 * rfm_may_netlink - may this be done by the sender of a message?
 * @function: what
 * @asker: the request; told why not
 *
 * Return: 0 or -EPERM.
 */
int rfm_may_netlink(enum rfm_function function, const struct rfm_asker *asker)
{
	if (asker->mode && !rfm_may_ioctl(function, asker->mode))
		return 0;
	if (netlink_capable(asker->skb, CAP_NET_ADMIN))
		return 0;
	return rfm_refuse(asker->extack, NULL, -EPERM,
			  rfm_right_of[rfm_rights[function]].refusal);
}
