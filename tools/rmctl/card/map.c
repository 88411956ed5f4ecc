// SPDX-License-Identifier: MIT
/* rmctl map: who is on the ring. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "map_draw.h"
#include "members.h"
#include "state.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

#define HUBS_MODULO 16u
#define ROW "%-11s %-5s %-12s %-12s %-8s %s\n"

/* --- for programs ----------------------------------------------------------------------- */

static int print_json(const struct command *cmd, const struct state *state, const struct ring *ring)
{
	json_t *members = json_array();

	for (uint32_t i = 0; i < ring->count; i++) {
		const struct ring_member *member = &ring->member[i];

		json_array_append_new(members, json_pack(
			"{s:I, s:I, s:I, s:o, s:b, s:I, s:I, s:b, s:b}", "node", (json_int_t)member->node,
			"hops", (json_int_t)member->hops, "hubs", (json_int_t)member->hubs,
			"transit_ns", json_known(member->transit_known, member->transit_ns),
			"clock_ahead", member->ahead,
			"received", (json_int_t)member->received,
			"missed", (json_int_t)member->missed, "paused", member->paused,
			"incomplete", member->incomplete));
	}
	return out_json(cmd, json_pack(
		"{s:s, s:I, s:I, s:b, s:o, s:o, s:o}", "device", cmd->card, "count",
		(json_int_t)ring->count, "epoch", (json_int_t)ring->epoch, "signal", !!state->link,
		"turn_ns", json_known(ring->turn_ns, ring->turn_ns), "members", members,
		"gone", ring_gone_json(ring)));
}

/* --- for people ------------------------------------------------------------------------- */

/*
 * The nodes in the order in which a frame of this one reaches them, so the farthest from here
 * comes first. A link with nobody heard at its end leads to a hub, or to a node that says nothing.
 * Returns how many.
 */
static size_t round_trip(const struct ring *ring, uint32_t own, uint32_t nodes[2 * RFM_NODES])
{
	const struct ring_member here = { .hops = 0 };
	size_t count = 0;

	nodes[count++] = own;
	for (uint32_t i = ring->count; i-- > 0;) {
		const struct ring_member *member = &ring->member[i], *next = i ? member - 1 : &here;
		uint32_t hops = member->hops - next->hops;

		if (!member->hops)
			break;
		nodes[count++] = member->node;
		for (hops -= (member->hubs - next->hubs) % HUBS_MODULO;
		     hops > 1 && hops <= RFM_NODES && count < 2 * RFM_NODES - 1; hops--)
			nodes[count++] = MAP_UNKNOWN;
	}
	return count;
}

static void print_member(const struct ring_member *member)
{
	char node[UNIT_TEXT], hops[UNIT_TEXT] = "-", transit[UNIT_TEXT] = "-", received[UNIT_TEXT] = "-",
	     missed[UNIT_TEXT] = "-", note[RING_NOTE];

	if (!member->gone)
		snprintf(hops, sizeof(hops), "%" PRIu32, member->hops);
	if (!member->gone && member->transit_known)
		time_text(transit, member->transit_ns);
	if (!member->gone && member->ahead)
		snprintf(transit, sizeof(transit), "< 0");
	if (member->hops || member->gone) {
		snprintf(received, sizeof(received), "%" PRIu64, member->received);
		snprintf(missed, sizeof(missed), "%" PRIu64, member->missed);
	}
	printf(ROW, node_text(node, member->node), hops, transit, received, missed,
	       ring_note(note, member));
}

static int print_text(const struct command *cmd, const struct state *state, const struct ring *ring)
{
	uint32_t nodes[2 * RFM_NODES];
	bool open = state->link && !ring->turn_ns;
	size_t count = round_trip(ring, state->node, nodes);
	char turn[UNIT_TEXT];

	printf("%s: %" PRIu32 " node(s), epoch %" PRIu32 ", ", cmd->card, ring->count, ring->epoch);
	if (state->link && ring->turn_ns)
		printf("once round the ring: %s\n\n", time_text(turn, ring->turn_ns));
	else
		puts("the ring is open\n");
	map_draw(stdout, nodes, count, !state->link, open);
	printf("\n* this node%s%s%s\n\n", state->link ? "" : "; -x-> it sees no light",
	       open ? "; -x it is open behind this node" : "",
	       count > ring->count ? "; ? a node that says nothing" : "");
	printf(ROW, "NODE", "HOPS", "TRANSIT", "RECEIVED", "MISSED", "NOTE");
	for (uint32_t i = 0; i < ring->known; i++)
		print_member(&ring->member[i]);
	return out_flush(cmd);
}

int verb_map(struct command *cmd, int argc, char **argv)
{
	struct state state;
	struct ring ring;
	int status = state_of_only_card(cmd, argc, argv, &state), error;

	if (status)
		return status;
	error = ring_get(state.name, state.link, &ring);
	if (error)
		return failed(cmd, "cannot read the ring map: %s%s", card_reason(error),
			      error == EOPNOTSUPP ? ", it does not know who is on the ring" : "");
	return cmd->json ? print_json(cmd, &state, &ring) : print_text(cmd, &state, &ring);
}
