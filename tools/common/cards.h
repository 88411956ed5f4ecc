/* SPDX-License-Identifier: MIT */
#ifndef RFM_TOOLS_CARDS_H
#define RFM_TOOLS_CARDS_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * cards_are_themselves() - no variable RFM_CARD_N puts another card, or a node, in place of one
 *
 * A tool that is told which card to set must not set another.
 */
static inline void cards_are_themselves(void)
{
	char **at = environ;

	while (at && *at) {
		const char *equals = strchr(*at, '=');
		char *name;

		if (strncmp(*at, "RFM_CARD_", strlen("RFM_CARD_")) || !equals) {
			at++;
			continue;
		}
		name = strndup(*at, (size_t)(equals - *at));
		if (!name)
			abort();
		unsetenv(name);
		free(name);
		at = environ;
	}
}

#endif
