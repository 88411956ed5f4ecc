// SPDX-License-Identifier: MIT
/* rmctl list: the cards of this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rfm_regs.h>

#include "card.h"
#include "out.h"

#define ROW "%-8s %-14s %-11s %-9s %-7s %s\n"

static bool in_sync(const struct rfm_info *info)
{
	return (info->lcsr1 & RFM_LCSR1_SIGNAL) && !(info->lcsr1 & RFM_LCSR1_SYNC_LOSS);
}

static json_t *row_json(const char *name, const struct rfm_info *info)
{
	return json_pack("{s:s, s:s, s:i, s:I, s:b, s:b}", "device", name, "pci", info->pci_name,
			 "node", info->node, "memory_size", (json_int_t)info->memory_size,
			 "signal", !!(info->lcsr1 & RFM_LCSR1_SIGNAL), "sync", in_sync(info));
}

static void row_text(const char *name, const struct rfm_info *info)
{
	char node[OUT_WORD], size[OUT_WORD];

	printf(ROW, name, info->pci_name, out_node(node, sizeof(node), info->node),
	       out_size(size, sizeof(size), info->memory_size),
	       info->lcsr1 & RFM_LCSR1_SIGNAL ? "yes" : "no", in_sync(info) ? "ok" : "lost");
}

/* A card that cannot be asked is still listed, with the reason. */
static int row_refused(struct command *cmd, const char *name, int error, json_t *rows)
{
	char pci[32] = "-";

	card_pci_from_sysfs(name, pci, sizeof(pci));
	if (rows)
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "device", name, "pci", pci,
						      "error", card_reason(error)));
	else
		printf(ROW, name, pci, "-", "-", "-", "-");
	cmd->card = name;
	failed(cmd, "cannot ask the card: %s", card_reason(error));
	cmd->card = NULL;
	return STATUS_FAILED;
}

int verb_list(struct command *cmd, int argc, char **argv)
{
	int status = STATUS_OK, error;
	struct card_names list;
	json_t *rows = NULL;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 0, 0))
		return STATUS_MISUSED;
	error = card_names_get(&list);
	if (error)
		return failed(cmd, "cannot list the cards: %s", strerror(error));
	if (!list.count)
		warn_user(cmd, "no card found; is there one (lspci -d 114a:5565), "
			       "and is module rfm loaded?");
	if (cmd->json)
		rows = json_array();
	else if (list.count)
		printf(ROW, "DEVICE", "PCI", "NODE", "SIZE", "SIGNAL", "SYNC");
	for (size_t i = 0; i < list.count; i++) {
		struct rfm_info info;

		error = card_query(list.names[i], &info);
		if (error)
			status = row_refused(cmd, list.names[i], error, rows);
		else if (rows)
			json_array_append_new(rows, row_json(list.names[i], &info));
		else
			row_text(list.names[i], &info);
	}
	if (cmd->json && out_json(cmd, rows))
		status = STATUS_FAILED;
	free(list.names);
	return status;
}
