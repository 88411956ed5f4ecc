// SPDX-License-Identifier: MIT
/* rmctl subscribe and unsubscribe: the base masks, or a subscription as long as a command runs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <linux/rfm_netlink.h>

#include "masks.h"
#include "state.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/child.h"
#include "tools/rmctl/cli/out.h"

_Static_assert(1 << PLANE_RX == RFM_SUBSCRIBE_RX && 1 << PLANE_TX == RFM_SUBSCRIBE_TX &&
	       1 << PLANE_OWN == RFM_SUBSCRIBE_OWN, "");

/**
 * struct wanted - what the user wants
 * @planes: RFM_SUBSCRIBE_*, which is a mask of 1 << enum plane
 * @action: RFM_ACTION_*
 * @ranges: of the memory
 * @command: for sh -c, or NULL
 */
struct wanted {
	uint32_t planes, action;
	struct ranges ranges;
	const char *command;
};

static int get_options(struct command *cmd, int argc, char **argv, struct wanted *wanted)
{
	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		switch (option) {
		case OPTION_RX:
		case OPTION_TX:
		case OPTION_OWN:
			wanted->planes |= RFM_SUBSCRIBE_RX << (option - OPTION_RX);
			break;
		case OPTION_WHILE:
			wanted->command = optarg;
			if (child_check(cmd, "--while", optarg))
				return STATUS_MISUSED;
			break;
		default:
			return STATUS_MISUSED;
		}
	}
	if (!wanted->planes)
		wanted->planes = RFM_SUBSCRIBE_RX;
	if (wanted->command && cmd->json)
		return misused(cmd, "--while and --json exclude each other: the output is that of "
			       "the command");
	return STATUS_OK;
}

/* --- in the base masks --------------------------------------------------------------------- */

static int report(struct command *cmd, const struct state *state, struct wanted *wanted)
{
	json_t *ranges = json_array();
	char policy[UNIT_TEXT];

	ranges_tidy(&wanted->ranges, state->memory_size);
	for (size_t i = 0; i < wanted->ranges.count; i++)
		json_array_append_new(ranges, json_pack(
			"{s:I, s:I}", "offset", (json_int_t)wanted->ranges.list[i].offset,
			"length", (json_int_t)wanted->ranges.list[i].length));
	setting_word(policy, SETTING_POLICY, state->settings.value[SETTING_POLICY]);
	return out_json(cmd, json_pack("{s:s, s:b, s:o, s:o, s:s}", "device", state->name,
				       "subscribed", wanted->action == RFM_ACTION_ADD, "planes",
				       bits_json(wanted->planes, plane_names, PLANES), "ranges",
				       ranges, "base_policy", policy));
}

/* With everything on already, a person should know. */
static void note_policy(const struct command *cmd, const struct state *state,
			const struct wanted *wanted)
{
	if (wanted->action == RFM_ACTION_ADD &&
	    wanted->planes & (RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX) &&
	    state->settings.value[SETTING_POLICY] == RFM_POLICY_ALL)
		warn_user(cmd, "the base policy is all: the card receives and sends everything, "
			  "subscribed to or not");
}

static int change_base(struct command *cmd, struct state *state, struct wanted *wanted)
{
	struct nl_msg *request = card_request(RFM_CMD_CARD_SET, 0, state->name);
	uint32_t bits = 0;
	int error = 0;

	for (unsigned int plane = 0; plane < PLANES; plane++)
		if (wanted->planes & 1u << plane)
			bits |= plane_bit(plane);
	for (size_t i = 0; request && i < wanted->ranges.count && error >= 0; i++)
		error = planes_put_change(request, &wanted->ranges.list[i], bits, wanted->action);
	if (error < 0) {
		nlmsg_free(request);
		request = NULL;
	}
	if (card_talk(state->name, true, request, NULL, NULL))
		return card_refused(cmd);
	if (state_get(cmd, state->name, state))
		return STATUS_FAILED;
	if (cmd->json)
		return report(cmd, state, wanted);
	note_policy(cmd, state, wanted);
	return STATUS_OK;
}

/* --- as long as a command runs ----------------------------------------------------------- */

/* Takes the ranges for the file. Returns an exit status. */
static int hold(struct command *cmd, struct rfm *rfm, const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->ranges.count; i++) {
		const struct range *range = &wanted->ranges.list[i];

		if (!rfm_subscribe(rfm, range->offset, range->length, wanted->planes, NULL))
			continue;
		if (errno == EINVAL)
			return failed(cmd, "%" PRIu64 " bytes at offset 0x%" PRIx64
				      " are out of range", range->length, range->offset);
		return failed(cmd, "cannot subscribe: %s", card_reason(errno));
	}
	return STATUS_OK;
}

static int while_running(struct command *cmd, const char *which, const struct state *state,
			 const struct wanted *wanted)
{
	struct card card;
	int status = card_open(cmd, &card, which, wanted->planes & ~RFM_SUBSCRIBE_RX);

	if (!status)
		status = hold(cmd, card.rfm, wanted);
	if (status)
		return status;
	note_policy(cmd, state, wanted);
	return child_run(cmd, wanted->command);
}

/* --- both -------------------------------------------------------------------------------- */

static int run(struct command *cmd, int argc, char **argv, uint32_t action)
{
	struct wanted wanted = { .action = action };
	struct state state;
	int status = get_options(cmd, argc, argv, &wanted);

	if (!status)
		status = check_operands(cmd, argc, argv, 2, argc);
	if (status)
		return status;
	if (argc - optind - 1 > RFM_SUBSCRIBE_MAX)
		return misused(cmd, "too many ranges, at most %d at once", RFM_SUBSCRIBE_MAX);
	for (int i = optind + 1; i < argc && !status; i++)
		status = ranges_read(cmd, argv[i], &wanted.ranges);
	if (!status)
		status = state_find(cmd, argv[optind], &state);
	if (!status)
		status = wanted.command ? while_running(cmd, argv[optind], &state, &wanted) :
					  change_base(cmd, &state, &wanted);
	free(wanted.ranges.list);
	return status;
}

int verb_subscribe(struct command *cmd, int argc, char **argv)
{
	return run(cmd, argc, argv, RFM_ACTION_ADD);
}

int verb_unsubscribe(struct command *cmd, int argc, char **argv)
{
	return run(cmd, argc, argv, RFM_ACTION_REMOVE);
}
