// SPDX-License-Identifier: MIT
#include "members.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/rfm_netlink.h>

#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

/* A node sends one every half second, and soon it is home. */
#define HEARTBEAT_NS 600000000L

#define NAMED_MOST 3	/* more would be no sentence */

static uint64_t number(struct nlattr *attribute)
{
	return attribute ? nla_get_u64(attribute) : 0;
}

static uint32_t word(struct nlattr *attribute)
{
	return attribute ? nla_get_u32(attribute) : 0;
}

/* How long ago was @then? */
static uint64_t ago(const struct ring *ring, uint64_t then)
{
	return then && then < ring->clock_ns ? ring->clock_ns - then : 0;
}

static void take_member(struct ring *ring, struct nlattr *nest)
{
	struct ring_member *member = &ring->member[ring->known];
	struct nlattr *attributes[RFM_A_MEMBER_MAX + 1];

	if (ring->known == RING_NODES ||
	    nla_parse_nested(attributes, RFM_A_MEMBER_MAX, nest, NULL) ||
	    !attributes[RFM_A_MEMBER_NODE] || !attributes[RFM_A_MEMBER_HOPS])
		return;
	member->node = nla_get_u32(attributes[RFM_A_MEMBER_NODE]);
	member->hops = nla_get_u32(attributes[RFM_A_MEMBER_HOPS]);
	member->transit_known = member->hops && attributes[RFM_A_MEMBER_TRANSIT_NS];
	member->transit_ns = number(attributes[RFM_A_MEMBER_TRANSIT_NS]);
	member->received = number(attributes[RFM_A_MEMBER_RECEIVED]);
	member->missed = number(attributes[RFM_A_MEMBER_MISSED]);
	member->gone = !word(attributes[RFM_A_MEMBER_PRESENT]);
	member->paused = word(attributes[RFM_A_MEMBER_PAUSED]);
	member->hubs = word(attributes[RFM_A_MEMBER_HUBS]);
	member->heard_ns = ago(ring, number(attributes[RFM_A_MEMBER_HEARD_NS]));
	member->broke = number(attributes[RFM_A_MEMBER_BROKE_NS]);
	member->broke_ns = ago(ring, number(attributes[RFM_A_MEMBER_BROKE_NS]));
	ring->known++;
	ring->count += !member->gone;
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
	ring->clock_ns = number(attributes[RFM_A_CARD_CLOCK_NS]);
	nla_for_each_attr(attribute, genlmsg_attrdata(genlmsg_hdr(message), 0),
			  genlmsg_attrlen(genlmsg_hdr(message), 0), left)
		if (nla_type(attribute) == RFM_A_CARD_MEMBER)
			take_member(ring, attribute);
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

static struct nl_msg *build(const struct netlink *nl, const void *name)
{
	return card_request(nl, RFM_CMD_RING_GET, 0, name);
}

/**
 * ring_get - ask who is on the ring
 * @nl: the connection; its reason says why this failed
 * @name: of the card
 * @sure: if nothing comes home, wait for the next heartbeat: the ring may just have been closed
 * @ring: filled in
 *
 * Returns 0 or an errno.
 */
int ring_get(struct netlink *nl, const char *name, bool sure, struct ring *ring)
{
	const struct timespec heartbeat = { .tv_nsec = HEARTBEAT_NS };
	int error;

	memset(ring, 0, sizeof(*ring));
	error = card_talk(name, nl, false, build, name, take, ring);
	if (error)
		return error;
	if (sure && !ring->turn_ns) {
		nanosleep(&heartbeat, NULL);
		return ring_get(nl, name, false, ring);
	}
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
	else if (member->broke)
		snprintf(text, RING_NOTE, "lost its signal %s ago", broke);
	return text;
}

/**
 * ring_absent - name the nodes that stand still or have gone
 * @text: "node 0x02 (2) stands still, node 0x03 (3) last heard 5.102 s ago"; empty if there is none
 * @ring: who is known
 * @since_ns: leave out who was last heard longer ago
 *
 * Returns @text.
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
		if (named == NAMED_MOST) {
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
