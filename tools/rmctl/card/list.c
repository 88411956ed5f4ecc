// SPDX-License-Identifier: MIT
/* rmctl list: the cards of this machine. */
#include <stdio.h>
#include <stdlib.h>

#include "state.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

#define ROW "%-8s %-14s %-11s %-9s %-7s %s\n"

static int print_json(const struct command *cmd, const struct states *states)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < states->count; i++) {
		const struct state *state = &states->list[i];

		json_array_append_new(rows, json_pack(
			"{s:s, s:s, s:I, s:I, s:b, s:b}", "device", state->name,
			"pci", state->pci, "node", (json_int_t)state->node,
			"memory_size", (json_int_t)state->memory_size,
			"signal", !!state->link, "sync", state_synchronous(state)));
	}
	return out_json(cmd, rows);
}

static int print_text(const struct command *cmd, const struct states *states)
{
	char node[UNIT_TEXT], size[UNIT_TEXT];

	if (states->count)
		printf(ROW, "DEVICE", "PCI", "NODE", "SIZE", "SIGNAL", "SYNC");
	for (size_t i = 0; i < states->count; i++) {
		const struct state *state = &states->list[i];

		printf(ROW, state->name, state->pci, node_text(node, state->node),
		       size_exact(size, state->memory_size), state->link ? "yes" : "no",
		       state_synchronous(state) ? "ok" : "lost");
	}
	return out_flush(cmd);
}

int verb_list(struct command *cmd, int argc, char **argv)
{
	struct states states;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 0, 0))
		return STATUS_MISUSED;
	status = states_get(cmd, &states);
	if (status)
		return status;
	if (!states.count)
		warn_user(cmd, "no card found; is there one (lspci -d 114a:5565)?");
	status = cmd->json ? print_json(cmd, &states) : print_text(cmd, &states);
	free(states.list);
	return status;
}
