// SPDX-License-Identifier: MIT
#include "change.h"

#include <string.h>

#include <linux/rfm_netlink.h>

/* What build() needs. */
struct wanted {
	const struct state *state;
	const struct change *change;
};

bool change_is_empty(const struct change *change)
{
	return !change->settings.have && !change->planes.given;
}

/**
 * change_read - read one setting, or what is to be on in a base mask
 * @cmd: the command, for the message
 * @name: where its name begins
 * @length: of the name
 * @value: of it
 * @change: set on success only
 *
 * Returns an exit status; what is wrong has been said.
 */
int change_read(struct command *cmd, const char *name, size_t length, const char *value,
		struct change *change)
{
	int id = setting_find(name, length);

	if (id >= 0)
		return setting_read(cmd, (enum setting_id)id, value, &change->settings);
	id = plane_find(name, length);
	if (id >= 0)
		return planes_read(cmd, (enum plane)id, value, &change->planes);
	return misused(cmd, "there is no setting '%.*s'", (int)length, name);
}

static struct nl_msg *build(const struct netlink *nl, const void *what)
{
	const struct wanted *wanted = what;
	struct nl_msg *request = card_request(nl, RFM_CMD_CARD_SET, 0, wanted->state->name);

	if (!request)
		return NULL;
	if ((wanted->change->only_now &&
	     nla_put_u64(request, RFM_A_CARD_GENERATION, wanted->state->generation)) ||
	    settings_put(request, &wanted->change->settings) ||
	    planes_put(request, &wanted->change->planes, wanted->state->memory_size) < 0) {
		nlmsg_free(request);
		return NULL;
	}
	return request;
}

/**
 * change_try - change a card, all or nothing
 * @cmd: the command, whose card it is
 * @nl: the connection
 * @state: of the card
 * @change: not empty; planes_fit() has seen its ranges
 *
 * Returns 0 or an errno, with the reason in @nl; EAGAIN: see @only_now of struct change.
 */
int change_try(struct command *cmd, struct netlink *nl, const struct state *state,
	       const struct change *change)
{
	struct wanted wanted = { .state = state, .change = change };

	return card_talk(cmd->card, nl, true, build, &wanted, NULL, NULL);
}

/* The same with any ranges. Returns an exit status; what is wrong has been said. */
int change_make(struct command *cmd, struct netlink *nl, const struct state *state,
		struct change *change)
{
	int status = planes_fit(cmd, &change->planes, state->memory_size);

	if (!status && change_try(cmd, nl, state, change))
		status = failed(cmd, "%s", nl->reason);
	return status;
}

void change_free(struct change *change)
{
	planes_free(&change->planes);
}
