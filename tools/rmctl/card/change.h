/* SPDX-License-Identifier: MIT */
/* Settings and base masks that are to be changed together. */
#ifndef RMCTL_CHANGE_H
#define RMCTL_CHANGE_H

#include "masks.h"
#include "settings.h"
#include "state.h"

/**
 * struct change - what is to become different
 * @settings: those that have a value
 * @planes: those that are given
 * @only_now: nothing is changed if something else has been since the card's state was read
 */
struct change {
	struct settings settings;
	struct planes planes;
	bool only_now;
};

bool change_is_empty(const struct change *change);
int change_read(struct command *cmd, const char *name, size_t length, const char *value,
		struct change *change);
int change_try(struct command *cmd, struct netlink *nl, const struct state *state,
	       const struct change *change);
int change_make(struct command *cmd, struct netlink *nl, const struct state *state,
		struct change *change);
void change_free(struct change *change);

#endif /* RMCTL_CHANGE_H */
