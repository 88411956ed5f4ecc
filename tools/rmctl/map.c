// SPDX-License-Identifier: MIT
/* rmctl map: who is on the ring. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "card.h"
#include "out.h"

#define ROW "%-11s %-5s %-12s %-12s %s\n"
#define NODES 256u

/* The members in the order in which their frames come here, the nearest first. */
static unsigned int in_order(const struct rfm_ring_map *map, uint32_t nodes[NODES])
{
	unsigned int count = 0;

	for (uint32_t node = 0; node < NODES; node++) {
		unsigned int at = count;

		if (!map->member[node].present)
			continue;
		for (; at && map->member[nodes[at - 1]].hops > map->member[node].hops; at--)
			nodes[at] = nodes[at - 1];
		nodes[at] = node;
		count++;
	}
	return count;
}

/* Is it known how long its last frame took? */
static bool transit_known(const struct rfm_member *member)
{
	return member->hops && !(member->flags & RFM_EVENT_AGE_UNKNOWN);
}

static const char *microseconds(char *buffer, size_t size, uint64_t nanoseconds)
{
	snprintf(buffer, size, "%" PRIu64 ".%03" PRIu64 " us", nanoseconds / 1000,
		 nanoseconds % 1000);
	return buffer;
}

static int print_json(const struct command *cmd, const struct rfm_ring_map *map,
		      const uint32_t *nodes, unsigned int count)
{
	json_t *members = json_array();

	for (unsigned int i = 0; i < count; i++) {
		const struct rfm_member *member = &map->member[nodes[i]];
		json_t *transit = transit_known(member) ?
			json_integer((json_int_t)member->transit_ns) : json_null();

		json_array_append_new(members, json_pack(
			"{s:i, s:i, s:o, s:I, s:I}", "node", (int)nodes[i], "hops", member->hops,
			"transit_ns", transit, "received", (json_int_t)member->received,
			"missed", (json_int_t)member->missed));
	}
	return out_json(cmd, json_pack(
		"{s:s, s:I, s:I, s:o, s:o}", "device", cmd->card, "count", (json_int_t)map->count,
		"epoch", (json_int_t)map->epoch, "turn_ns",
		map->turn_ns ? json_integer((json_int_t)map->turn_ns) : json_null(),
		"members", members));
}

static void print_member(const struct rfm_ring_map *map, uint32_t id)
{
	const struct rfm_member *member = &map->member[id];
	char node[OUT_WORD], hops[OUT_WORD], transit[OUT_WORD] = "-", received[OUT_WORD] = "-",
	     missed[OUT_WORD] = "-";

	snprintf(hops, sizeof(hops), "%u", member->hops);
	if (transit_known(member))
		microseconds(transit, sizeof(transit), member->transit_ns);
	if (member->hops) {
		snprintf(received, sizeof(received), "%" PRIu64, (uint64_t)member->received);
		snprintf(missed, sizeof(missed), "%" PRIu64, (uint64_t)member->missed);
	}
	printf(ROW, out_node(node, sizeof(node), id), hops, transit, received, missed);
}

static int print_text(const struct command *cmd, const struct rfm_ring_map *map,
		      const uint32_t *nodes, unsigned int count)
{
	char turn[OUT_WORD] = "not known yet";

	if (map->turn_ns)
		microseconds(turn, sizeof(turn), map->turn_ns);
	printf("%s: %u node(s), epoch %" PRIu32 ", once round the ring: %s\n", cmd->card,
	       map->count, map->epoch, turn);
	printf(ROW, "NODE", "HOPS", "TRANSIT", "RECEIVED", "MISSED");
	for (unsigned int i = 0; i < count; i++)
		print_member(map, nodes[i]);
	return out_flush(cmd);
}

int verb_map(struct command *cmd, int argc, char **argv)
{
	uint32_t nodes[NODES];
	struct rfm_ring_map map;
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	if (ioctl(card.fd, RFM_IOC_RING_MAP, &map)) {
		status = failed(cmd, "cannot read the ring map: %s", card_reason(errno));
	} else {
		unsigned int count = in_order(&map, nodes);

		status = cmd->json ? print_json(cmd, &map, nodes, count) :
				     print_text(cmd, &map, nodes, count);
	}
	card_close(&card);
	return status;
}
