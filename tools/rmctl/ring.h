/* SPDX-License-Identifier: MIT */
/* Who is on the ring, as a card sees it. */
#ifndef RMCTL_RING_H
#define RMCTL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "state.h"

#define RING_NODES 256u

/**
 * struct ring_member - a node that has been heard
 * @node: its id
 * @hops: links from there to here, 0: this node
 * @transit_known: @transit_ns says something
 * @transit_ns: time its last frame took to come here
 * @received: frames taken from it
 * @missed: frames of it that never arrived here
 */
struct ring_member {
	uint32_t node, hops;
	bool transit_known;
	uint64_t transit_ns, received, missed;
};

/**
 * struct ring - who is on the ring
 * @count: members, this node included
 * @epoch: counts changes of the membership
 * @turn_ns: time once round the ring, 0: not known yet
 * @member: in the order in which their frames come here, this node first
 */
struct ring {
	uint32_t count, epoch;
	uint64_t turn_ns;
	struct ring_member member[RING_NODES];
};

int ring_get(struct netlink *nl, const char *name, struct ring *ring);

#endif /* RMCTL_RING_H */
