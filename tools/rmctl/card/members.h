/* SPDX-License-Identifier: MIT */
/* Who is on the ring, as a card sees it. */
#ifndef RMCTL_MEMBERS_H
#define RMCTL_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "open.h"

/**
 * struct ring_member - a node that has been heard
 * @node: its id
 * @gone: it has not been heard for two seconds; @hops and @transit_ns say nothing
 * @paused: its machine stands still
 * @incomplete: its memory misses some of what others have stored
 * @hops: links from there to here, 0: this node
 * @hubs: how many of @hops lead out of a hub, modulo 16
 * @transit_known: @transit_ns says something
 * @transit_ns: time its last frame took to come here
 * @ahead: that seems to have come before its time
 * @received: frames taken from it
 * @missed: frames of it that never arrived here
 * @heard_ns: how long ago it was last heard; 0: this node
 * @broke: it has told that it had lost its signal, ...
 * @broke_ns: ... so long ago
 */
struct ring_member {
	uint32_t node, hops, hubs;
	bool gone, paused, incomplete, broke, transit_known, ahead;
	uint64_t transit_ns, received, missed, heard_ns, broke_ns;
};

/**
 * struct ring - who is on the ring
 * @left: this node has left it, as its id is in use
 * @count: members, this node included
 * @known: @count, and those that have gone
 * @epoch: counts changes of the membership
 * @turn_ns: time once round the ring, 0: nothing of this node comes home
 * @clock_ns: the card's clock
 * @member: in the order in which their frames come here, this node first; then who has
 *	gone
 */
struct ring {
	bool left;
	uint32_t count, known, epoch;
	uint64_t turn_ns, clock_ns;
	struct ring_member member[RFM_NODES];
};

/* Room for what ring_note() and ring_absent() write. */
#define RING_NOTE 256

int ring_get(const char *name, bool sure, struct ring *ring);
bool ring_is_dark(const struct ring_member *member);
const char *ring_note(char text[RING_NOTE], const struct ring_member *member);
const char *ring_absent(char text[RING_NOTE], const struct ring *ring, uint64_t since_ns);
json_t *ring_paused_json(const struct ring *ring);
json_t *ring_gone_json(const struct ring *ring);

#endif /* RMCTL_MEMBERS_H */
