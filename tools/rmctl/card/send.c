// SPDX-License-Identifier: MIT
/* rmctl send: a network interrupt or a reset request to other nodes. */
#include <errno.h>
#include <string.h>

#include "event_names.h"
#include "open.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

/* Reads NODE. Returns an exit status. */
static int get_node(struct command *cmd, const char *text, uint32_t *node)
{
	uint64_t number;
	int status;

	if (!strcmp(text, "all")) {
		*node = RFM_NODE_ALL;
		return STATUS_OK;
	}
	status = get_number(cmd, "node", text, 255, &number);
	if (!status)
		*node = (uint32_t)number;
	return status;
}

/* Reads TYPE: 1 to 4, int1 to int4, or reset. Returns an exit status. */
static int get_type(struct command *cmd, const char *text, uint32_t *type)
{
	int named = event_from_name(text);

	if (named >= 0 && (RFM_EVENT_SENDABLE & RFM_EVENT_BIT((unsigned int)named)))
		*type = (uint32_t)named;
	else if (strlen(text) == 1 && *text >= '1' && *text <= '4')
		*type = RFM_EVENT_INT1 + (uint32_t)(*text - '1');
	else
		return misused(cmd, "type '%s' cannot be sent; say 1 to 4, int1 to int4 or reset",
			       text);
	return STATUS_OK;
}

static int report(const struct command *cmd, const struct rfm_send *send)
{
	return out_json(cmd, json_pack("{s:s, s:o, s:s, s:I}", "device", cmd->card, "node",
				       send->node == RFM_NODE_ALL ? json_string("all") :
								    json_integer(send->node),
				       "type", event_name(send->type), "data",
				       (json_int_t)send->data));
}

int verb_send(struct command *cmd, int argc, char **argv)
{
	struct rfm_send send = { .data = 0 };
	uint64_t data = 0;
	char text[UNIT_TEXT];
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 3, 4))
		return STATUS_MISUSED;
	status = get_node(cmd, argv[optind + 1], &send.node);
	if (!status)
		status = get_type(cmd, argv[optind + 2], &send.type);
	if (!status && argc - optind > 3) {
		if (send.type == RFM_EVENT_RESET)
			return misused(cmd, "a reset request carries no data");
		status = get_number(cmd, "data", argv[optind + 3], UINT32_MAX, &data);
	}
	if (status)
		return status;
	send.data = (uint32_t)data;

	status = card_open(cmd, &card, argv[optind], true);
	if (status)
		return status;
	if (send.node == card.info.node)
		return failed(cmd, "node %s is this card itself, and a node never interrupts "
			      "itself", node_text(text, send.node));
	if (rfm_send(card.rfm, send.node, send.type, send.data))
		return failed(cmd, "cannot send %s: %s", event_name(send.type), card_reason(errno));
	return cmd->json ? report(cmd, &send) : STATUS_OK;
}
