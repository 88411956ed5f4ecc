/* SPDX-License-Identifier: MIT */
/* What can be set on a card: one table for set, show, monitor, save-config and apply. */
#ifndef RMCTL_SETTINGS_H
#define RMCTL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/common/units.h"
#include "tools/rmctl/cli/rmctl.h"

struct nl_msg;

/* In the order in which they are shown. */
enum setting_id {
	SETTING_LED,
	SETTING_TRANSMIT,
	SETTING_LOOPBACK,
	SETTING_DARK_ON_DARK,
	SETTING_PARITY,
	SETTING_OWN_DATA,
	SETTING_BYTE_SWAP,
	SETTING_DMA_BYTE_SWAP,
	SETTING_WINDOW,
	SETTING_OFFSET,
	SETTING_POLICY,
	SETTING_DMA_READ,
	SETTING_DMA_WRITE,
	SETTING_MODERATION_COUNT,
	SETTING_MODERATION_TIME,
	SETTING_BURST,
	SETTING_BURST_PERIOD,
	SETTINGS
};

/**
 * struct settings - values of some of them
 * @have: bit n: setting n has a value
 * @value: 0 or 1, bytes, a number, nanoseconds or enum rfm_policy; of a range the offset above
 *	32 bits that are its length
 */
struct settings {
	uint32_t have;
	uint64_t value[SETTINGS];
};

int setting_find(const char *name, size_t length);
const char *setting_name(enum setting_id id);
bool setting_kept(enum setting_id id);
bool setting_known(const struct settings *settings, enum setting_id id);
int setting_read(struct command *cmd, enum setting_id id, const char *text,
		 struct settings *settings);
const char *setting_word(char word[UNIT_TEXT], enum setting_id id, uint64_t value);
void settings_take(struct settings *settings, uint64_t have, const uint64_t *number);
int settings_put(struct nl_msg *request, const struct settings *settings);
json_t *settings_json(const struct command *cmd, json_t *object, const struct settings *settings,
		      bool unknown);

#endif /* RMCTL_SETTINGS_H */
