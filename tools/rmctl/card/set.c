// SPDX-License-Identifier: MIT
/* rmctl set: see and change how a card is set. */
#include <stdio.h>
#include <string.h>

#include "change.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

static int print_json(const struct command *cmd, const struct state *state)
{
	json_t *object = json_pack("{s:s, s:I}", "device", state->name, "generation",
				   (json_int_t)state->generation);

	return out_json(cmd, json_whole(object, settings_json(object, &state->settings)));
}

static int print_text(const struct command *cmd, const struct state *state)
{
	char word[UNIT_TEXT];

	for (unsigned int id = 0; id < SETTINGS; id++)
		if (setting_known(&state->settings, id))
			printf("%-16s %s\n", setting_name(id),
			       setting_word(word, id, state->settings.value[id]));
	return out_flush(cmd);
}

/* Reads NAME=VALUE. Returns an exit status. */
static int read_word(struct command *cmd, const char *word, struct change *change)
{
	const char *equals = strchr(word, '=');

	if (!equals)
		return misused(cmd, "'%s' is not of the form NAME=VALUE", word);
	return change_read(cmd, word, (size_t)(equals - word), equals + 1, change);
}

static int run(struct command *cmd, const char *which, struct change *change)
{
	struct state state;
	struct netlink nl;
	int status = state_find(cmd, &nl, which, &state);

	if (status)
		return status;
	if (!change_is_empty(change)) {
		status = change_make(cmd, &nl, &state, change);
		if (!status && cmd->json)
			status = state_get(cmd, &nl, state.name, &state);
	}
	if (!status && (cmd->json || change_is_empty(change)))
		status = cmd->json ? print_json(cmd, &state) : print_text(cmd, &state);
	netlink_close(&nl);
	return status;
}

int verb_set(struct command *cmd, int argc, char **argv)
{
	struct change change = { .planes.given = 0 };
	int status = STATUS_OK;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, argc))
		return STATUS_MISUSED;
	for (int i = optind + 1; i < argc && !status; i++)
		status = read_word(cmd, argv[i], &change);
	if (!status)
		status = run(cmd, argv[optind], &change);
	change_free(&change);
	return status;
}
