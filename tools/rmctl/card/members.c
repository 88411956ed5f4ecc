// SPDX-License-Identifier: MIT
#include "members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

/* A node sends one every half second, and soon it is home. */
#define HEARTBEAT_NS 600000000L

#define NAMED_MAX 3	/* more would be no sentence */

/* How long ago was @then? */
static uint64_t ago(const struct ring *ring, uint64_t then)
{
	return then && then < ring->clock_ns ? ring->clock_ns - then : 0;
}

static void take_member(struct ring *ring, uint32_t node, const struct rfm_member *from)
{
	struct ring_member *member = &ring->member[ring->known++];

	*member = (struct ring_member){
		.node = node,
		.hops = from->hops,
		.hubs = from->hubs,
		.gone = !from->present,
		.paused = from->flags & RFM_MEMBER_PAUSED,
		.incomplete = from->flags & RFM_MEMBER_INCOMPLETE,
		.broke = from->broke_ns,
		.transit_known = from->hops && !(from->flags & RFM_EVENT_AGE_UNKNOWN),
		.transit_ns = from->transit_ns,
		.ahead = from->flags & RFM_MEMBER_AHEAD,
		.received = from->received,
		.missed = from->missed,
		.heard_ns = ago(ring, from->heard_ns),
		.broke_ns = ago(ring, from->broke_ns),
	};
	ring->count += !member->gone;
}

static int by_hops(const void *a, const void *b)
{
	const struct ring_member *first = a, *second = b;

	if (first->gone != second->gone)
		return first->gone ? 1 : -1;
	if (first->hops != second->hops)
		return first->hops < second->hops ? -1 : 1;
	return first->node < second->node ? -1 : 1;
}

/*
 * Asks a card who is on the ring. @sure: if nothing comes home, waits for the next heartbeat, as
 * the ring may just have been closed. Returns 0 or an errno.
 */
int ring_get(const char *name, bool sure, struct ring *ring)
{
	const struct timespec heartbeat = { .tv_nsec = HEARTBEAT_NS };
	struct rfm_member members[RFM_NODES];
	struct rfm_ring_map map;
	struct rfm *rfm = card_look(name);
	int error = !rfm || rfm_ring_map(rfm, members, RFM_NODES, &map) ? errno ?: EIO : 0;

	rfm_close(rfm);
	memset(ring, 0, sizeof(*ring));
	if (error)
		return error;
	if (sure && !map.turn_ns) {
		nanosleep(&heartbeat, NULL);
		return ring_get(name, false, ring);
	}
	ring->epoch = map.epoch;
	ring->turn_ns = map.turn_ns;
	ring->clock_ns = map.clock_ns;
	for (uint32_t i = 0; i < RFM_NODES; i++)
		if (members[i].present || members[i].heard_ns)
			take_member(ring, i, &members[i]);
	qsort(ring->member, ring->known, sizeof(*ring->member), by_hops);
	ring->left = !ring->count || ring->member[0].hops;
	return 0;
}

/* Is the last that was heard of it that it has lost its signal? */
bool ring_is_dark(const struct ring_member *member)
{
	return member->broke && member->broke_ns <= member->heard_ns;
}

/* What is amiss with a node, or was: "last heard 5.102 s ago"; "-" if nothing. */
const char *ring_note(char text[RING_NOTE], const struct ring_member *member)
{
	char heard[UNIT_TEXT], broke[UNIT_TEXT];

	time_text(heard, member->heard_ns);
	time_text(broke, member->broke_ns);
	snprintf(text, RING_NOTE, "-");
	if (member->gone && ring_is_dark(member))
		snprintf(text, RING_NOTE, "last heard %s ago, when it lost its signal", heard);
	else if (member->gone)
		snprintf(text, RING_NOTE, "last heard %s ago", heard);
	else if (member->paused)
		snprintf(text, RING_NOTE, "stands still");
	else if (member->incomplete)
		snprintf(text, RING_NOTE, "incomplete: 'rmctl resync' there");
	else if (member->broke)
		snprintf(text, RING_NOTE, "lost its signal %s ago", broke);
	return text;
}

/*
 * Names the nodes that stand still or have gone, but not who was last heard longer than @since_ns
 * ago: "node 0x02 (2) stands still, node 0x03 (3) last heard 5.102 s ago"; "" if there is none.
 */
const char *ring_absent(char text[RING_NOTE], const struct ring *ring, uint64_t since_ns)
{
	char note[RING_NOTE], node[UNIT_TEXT];
	size_t used = 0, named = 0, more = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < ring->known; i++) {
		const struct ring_member *member = &ring->member[i];

		if (member->gone ? member->heard_ns > since_ns : !member->paused)
			continue;
		if (named == NAMED_MAX) {
			more++;
			continue;
		}
		used += (size_t)snprintf(text + used, RING_NOTE - used, "%snode %s %s",
					 named++ ? ", " : "",
					 node_text(node, member->node), ring_note(note, member));
	}
	if (more)
		snprintf(text + used, RING_NOTE - used, ", and %zu more", more);
	return text;
}

/* For programs: the nodes that stand still. */
json_t *ring_paused_json(const struct ring *ring)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < ring->count; i++)
		if (ring->member[i].paused)
			json_array_append_new(nodes, json_integer(ring->member[i].node));
	return nodes;
}

/* And those that have gone. */
json_t *ring_gone_json(const struct ring *ring)
{
	json_t *nodes = json_array();

	for (uint32_t i = ring->count; i < ring->known; i++) {
		const struct ring_member *member = &ring->member[i];

		json_array_append_new(nodes, json_pack(
			"{s:I, s:I, s:o}", "node", (json_int_t)member->node, "heard_ago_ns",
			(json_int_t)member->heard_ns, "broke_ago_ns",
			json_known(member->broke, member->broke_ns)));
	}
	return nodes;
}
