// SPDX-License-Identifier: MIT
/* rmctl export: what other nodes may do with this memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <netlink/msg.h>

#include "tools/common/rights.h"
#include "tools/rmctl/card/masks.h"
#include "tools/rmctl/card/state.h"
#include "tools/rmctl/cli/child.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/regions/regions.h"
#include "tools/rmctl/remote/remote.h"

_Static_assert(RFM_EXPORT_READ == RIGHT_READ && RFM_EXPORT_WRITE == RIGHT_WRITE &&
	       RFM_EXPORT_HOME == RIGHT_HOME, "as parse_rights() has them");

static int get_rights(const struct command *cmd, const char *word, uint32_t *rights)
{
	const char *bad;

	if (parse_rights(word, rights, &bad))
		return STATUS_OK;
	return misused(cmd, "the right '%.*s' is not read, write, home or none",
		       (int)strcspn(bad, ","), bad);
}

/* In whole granules, as the card has it. */
static int report(const struct command *cmd, const struct target *target, uint32_t rights)
{
	uint64_t first = target->offset / RFM_GRANULE * RFM_GRANULE;
	uint64_t end = target->offset + target->length + RFM_GRANULE - 1;

	return out_json(cmd, json_pack("{s:s, s:I, s:I, s:o}", "device", cmd->card, "offset",
				       (json_int_t)first, "length",
				       (json_int_t)(end / RFM_GRANULE * RFM_GRANULE - first),
				       "rights", bits_json(rights, right_names, RIGHTS)));
}

#define PLANES_SHIFT	4

_Static_assert(RFM_PLANES_READ == RIGHT_READ << PLANES_SHIFT &&
	       RFM_PLANES_WRITE == RIGHT_WRITE << PLANES_SHIFT &&
	       RFM_PLANES_HOME == RIGHT_HOME << PLANES_SHIFT, "the base masks have the order of rights");

/* In the base masks: these rights, and no others. */
static int export_for_good(struct command *cmd, const char *which, const struct target *target,
			   uint32_t rights)
{
	const struct range range = { .offset = target->offset, .length = target->length };
	const uint32_t not = ~rights & (RIGHT_READ | RIGHT_WRITE | RIGHT_HOME);
	struct nl_msg *request;
	struct state state;
	int status = state_find(cmd, which, &state);

	if (!status)
		status = card_check_memory(cmd, state.memory_size, target->offset, target->length);
	if (status)
		return status;
	request = card_request(RFM_CMD_CARD_SET, 0, state.name);
	if (request &&
	    ((not && planes_put_change(request, &range, not << PLANES_SHIFT,
				       RFM_ACTION_REMOVE) < 0) ||
	     (rights && planes_put_change(request, &range, rights << PLANES_SHIFT,
					  RFM_ACTION_ADD) < 0))) {
		nlmsg_free(request);
		request = NULL;
	}
	if (card_talk(state.name, true, request, NULL, NULL))
		return card_refused(cmd);
	return cmd->json ? report(cmd, target, rights) : STATUS_OK;
}

int verb_export(struct command *cmd, int argc, char **argv)
{
	struct remote remote;
	struct target target;
	uint32_t rights;
	int status = remote_options(cmd, argc, argv, &remote);

	if (!status)
		status = check_operands(cmd, argc, argv, 3, 3);
	if (!status && remote.command)
		status = child_check(cmd, "--while", remote.command);
	if (!status && remote.command && remote.base)
		status = misused(cmd, "--while and --base exclude each other");
	if (!status && remote.command && cmd->json)
		status = misused(cmd, "--while and --json exclude each other: the output is that of "
				 "the command");
	if (!status)
		status = get_target(cmd, argv[optind + 1], &target);
	if (!status)
		status = get_rights(cmd, argv[optind + 2], &rights);
	if (!status && remote.base)
		return export_for_good(cmd, argv[optind], &target, rights);
	if (!status)
		status = remote_open(cmd, argv[optind], true, &remote.card);
	if (!status)
		status = card_check_memory(cmd, remote.card.info.memory_size, target.offset,
					   target.length);
	if (status)
		return status;
	if (rfm_export(remote.card.rfm, target.offset, target.length, rights))
		return failed(cmd, "cannot export: %s", card_reason(errno));
	if (remote.command)
		return child_run(cmd, remote.command);
	stop_hold_signals();
	fprintf(stderr, "exporting from %s ...\n", remote.card.name);
	if (cmd->json)
		status = report(cmd, &target, rights);
	while (!status && !stop_asked())
		stop_poll(NULL, 0, STOP_NEVER);
	return status;
}
