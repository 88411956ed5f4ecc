// SPDX-License-Identifier: MIT
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include <linux/rfm_netlink.h>

static uint64_t number(struct nlattr *attribute)
{
	return attribute ? nla_get_u64(attribute) : 0;
}

static void take_member(struct ring *ring, struct nlattr *nest)
{
	struct ring_member *member = &ring->member[ring->count];
	struct nlattr *attributes[RFM_A_MEMBER_MAX + 1];

	if (ring->count == RING_NODES ||
	    nla_parse_nested(attributes, RFM_A_MEMBER_MAX, nest, NULL) ||
	    !attributes[RFM_A_MEMBER_NODE] || !attributes[RFM_A_MEMBER_HOPS])
		return;
	member->node = nla_get_u32(attributes[RFM_A_MEMBER_NODE]);
	member->hops = nla_get_u32(attributes[RFM_A_MEMBER_HOPS]);
	member->transit_known = member->hops && attributes[RFM_A_MEMBER_TRANSIT_NS];
	member->transit_ns = number(attributes[RFM_A_MEMBER_TRANSIT_NS]);
	member->received = number(attributes[RFM_A_MEMBER_RECEIVED]);
	member->missed = number(attributes[RFM_A_MEMBER_MISSED]);
	ring->count++;
}

static void take(struct nlmsghdr *message, void *context)
{
	struct nlattr *attributes[RFM_A_CARD_MAX + 1], *attribute;
	struct ring *ring = context;
	int left;

	if (genlmsg_parse(message, 0, attributes, RFM_A_CARD_MAX, NULL))
		return;
	if (attributes[RFM_A_CARD_EPOCH])
		ring->epoch = nla_get_u32(attributes[RFM_A_CARD_EPOCH]);
	ring->turn_ns = number(attributes[RFM_A_CARD_TURN_NS]);
	nla_for_each_attr(attribute, genlmsg_attrdata(genlmsg_hdr(message), 0),
			  genlmsg_attrlen(genlmsg_hdr(message), 0), left)
		if (nla_type(attribute) == RFM_A_CARD_MEMBER)
			take_member(ring, attribute);
}

static int by_hops(const void *a, const void *b)
{
	const struct ring_member *first = a, *second = b;

	if (first->hops != second->hops)
		return first->hops < second->hops ? -1 : 1;
	return first->node < second->node ? -1 : 1;
}

/**
 * ring_get - ask who is on the ring
 * @nl: the connection; its reason says why this failed
 * @name: of the card
 * @ring: filled in
 *
 * Returns 0 or an errno.
 */
int ring_get(struct netlink *nl, const char *name, struct ring *ring)
{
	int error;

	memset(ring, 0, sizeof(*ring));
	error = netlink_talk(nl, card_request(nl, RFM_CMD_RING_GET, 0, name), take, ring);
	if (!error)
		qsort(ring->member, ring->count, sizeof(*ring->member), by_hops);
	return error;
}
