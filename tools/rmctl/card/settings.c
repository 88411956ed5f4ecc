// SPDX-License-Identifier: MIT
#include "settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <linux/rfm_netlink.h>

#include "netlink_gen.h"
#include "tools/common/parse.h"
#include "tools/rmctl/cli/out.h"

enum kind {
	ON_OFF,
	OFF_ONLY,	/* a latch: it can be cleared */
	BYTES,
	NUMBER,
	TIME,
	POLICY,
	RANGE,		/* in whole pages, or none; its length is the next attribute */
};

/**
 * struct setting - one of them
 * @name: on the command line and in a file
 * @key: in JSON
 * @attribute: RFM_A_CARD_*
 * @width: bytes of the attribute's value
 * @kind: how it is written
 * @min: of a number
 * @max: of a number
 */
static const struct setting {
	const char *name, *key;
	uint16_t attribute;
	uint8_t width;
	enum kind kind;
	uint64_t min, max;
} table[SETTINGS] = {
	[SETTING_LED] = { "led", "led", RFM_A_CARD_LED, 1, ON_OFF },
	[SETTING_TRANSMIT] = { "transmit", "transmit", RFM_A_CARD_TRANSMIT, 1, ON_OFF },
	[SETTING_LOOPBACK] = { "loopback", "loopback", RFM_A_CARD_LOOPBACK, 1, ON_OFF },
	[SETTING_DARK_ON_DARK] = { "dark-on-dark", "dark_on_dark", RFM_A_CARD_DARK_ON_DARK, 1,
				   ON_OFF },
	[SETTING_PARITY] = { "parity", "parity", RFM_A_CARD_PARITY, 1, ON_OFF },
	[SETTING_OWN_DATA] = { "own-data", "own_data", RFM_A_CARD_OWN_DATA, 1, OFF_ONLY },
	[SETTING_BYTE_SWAP] = { "byte-swap", "byte_swap", RFM_A_CARD_BYTE_SWAP, 1, ON_OFF },
	[SETTING_DMA_BYTE_SWAP] = { "dma-byte-swap", "dma_byte_swap", RFM_A_CARD_DMA_BYTE_SWAP, 1,
				    ON_OFF },
	[SETTING_WINDOW] = { "window", "window_offset", RFM_A_CARD_WINDOW_OFFSET, 8, BYTES,
			     0, UINT64_MAX },
	[SETTING_OFFSET] = { "offset", "address_offset", RFM_A_CARD_ADDRESS_OFFSET, 4, BYTES,
			     0, UINT32_MAX },
	[SETTING_POLICY] = { "policy", "base_policy", RFM_A_CARD_BASE_POLICY, 4, POLICY },
	[SETTING_DMA_READ] = { "dma-read-threshold", "dma_read_threshold_size",
			       RFM_A_CARD_DMA_READ_THRESHOLD, 4, BYTES, 0, UINT32_MAX },
	[SETTING_DMA_WRITE] = { "dma-write-threshold", "dma_write_threshold_size",
				RFM_A_CARD_DMA_WRITE_THRESHOLD, 4, BYTES, 0, UINT32_MAX },
	[SETTING_MODERATION_COUNT] = { "moderation-count", "moderation_count",
				       RFM_A_CARD_MODERATION_COUNT, 4, NUMBER, 1, 32767 },
	[SETTING_MODERATION_TIME] = { "moderation-time", "moderation_time_ns",
				      RFM_A_CARD_MODERATION_TIME, 4, TIME, 0, 1000000000 },
	[SETTING_BURST] = { "burst", "burst", RFM_A_CARD_BURST_OFFSET, 8, RANGE },
	[SETTING_BURST_PERIOD] = { "burst-period", "burst_period_ns", RFM_A_CARD_BURST_PERIOD, 4,
				   TIME, 100000, 1000000000 },
};

_Static_assert(RFM_A_CARD_BURST_LENGTH == RFM_A_CARD_BURST_OFFSET + 1, "behind it");

#define PAGE	4096u

#define POLICIES (sizeof(rfm_policy_names) / sizeof(*rfm_policy_names))

/* The setting whose name the first @length characters are; -1 if there is none. */
int setting_find(const char *name, size_t length)
{
	for (int id = 0; id < SETTINGS; id++)
		if (strlen(table[id].name) == length && !strncmp(name, table[id].name, length))
			return id;
	return -1;
}

const char *setting_name(enum setting_id id)
{
	return table[id].name;
}

/* Does it belong to the card's configuration? A latch does not. */
bool setting_kept(enum setting_id id)
{
	return table[id].kind != OFF_ONLY;
}

bool setting_known(const struct settings *settings, enum setting_id id)
{
	return settings->have & 1u << id;
}

/* OFFSET+LENGTH, or off. */
static int range_read(struct command *cmd, const char *name, const char *text, uint64_t *value)
{
	uint64_t first, last;

	*value = 0;
	if (!strcmp(text, "off"))
		return STATUS_OK;
	if (parse_range(text, UINT32_MAX - 1, &first, &last) != PARSE_OK || last < first)
		return misused(cmd, "%s is a range such as 0x800000+8M, or off, not '%s'", name,
			       text);
	if (first % PAGE || (last + 1) % PAGE)
		return misused(cmd, "%s begins and ends at a multiple of 4K, not '%s'", name, text);
	*value = first << 32 | (last + 1 - first);
	return STATUS_OK;
}

/* Reads the value of a setting, which is set on success only. Returns an exit status. */
int setting_read(struct command *cmd, enum setting_id id, const char *text,
		 struct settings *settings)
{
	const struct setting *setting = &table[id];
	uint64_t value;

	if (setting_known(settings, id))
		return misused(cmd, "%s is given twice", setting->name);
	switch (setting->kind) {
	case ON_OFF:
	case OFF_ONLY:
		value = !strcmp(text, "on");
		if (!value && strcmp(text, "off"))
			return misused(cmd, "%s is on or off, not '%s'", setting->name, text);
		if (value && setting->kind == OFF_ONLY)
			return misused(cmd, "%s can be cleared only", setting->name);
		break;
	case POLICY:
		value = 0;
		while (value < RFM_POLICY_MASK && strcmp(text, rfm_policy_names[value]))
			value++;
		if (value == RFM_POLICY_MASK)
			return misused(cmd, "policy is all or none, not '%s'", text);
		break;
	case TIME:
		if (parse_duration(text, &value) != PARSE_OK || value > setting->max ||
		    value < setting->min) {
			if (setting->min)
				return misused(cmd, "%s is a time such as 200us or 1ms, from 100us "
					       "to 1s, not '%s'", setting->name, text);
			return misused(cmd, "%s is a time such as 50us, 1ms or 0, at most 1s, not "
				       "'%s'", setting->name, text);
		}
		break;
	case RANGE:
		if (range_read(cmd, setting->name, text, &value))
			return STATUS_MISUSED;
		break;
	default:
		if (get_number(cmd, setting->name, text, setting->max, &value))
			return STATUS_MISUSED;
		if (value < setting->min)
			return misused(cmd, "%s must be at least %" PRIu64, setting->name,
				       setting->min);
	}
	settings->have |= 1u << id;
	settings->value[id] = value;
	return STATUS_OK;
}

/* In whole units, so that it reads back as the same: 4K, 64M, 4097. */
static void bytes_word(char word[UNIT_TEXT], uint64_t bytes)
{
	if (bytes && !(bytes % (1u << 20)))
		snprintf(word, UNIT_TEXT, "%" PRIu64 "M", bytes >> 20);
	else if (bytes && !(bytes % (1u << 10)))
		snprintf(word, UNIT_TEXT, "%" PRIu64 "K", bytes >> 10);
	else
		snprintf(word, UNIT_TEXT, "%" PRIu64, bytes);
}

static void range_word(char word[UNIT_TEXT], uint64_t range)
{
	char length[UNIT_TEXT];

	bytes_word(length, range & UINT32_MAX);
	if (range & UINT32_MAX)
		snprintf(word, UNIT_TEXT, "0x%" PRIx32 "+%.12s", (uint32_t)(range >> 32), length);
	else
		snprintf(word, UNIT_TEXT, "off");
}

/* A value as setting_read() reads it. */
const char *setting_word(char word[UNIT_TEXT], enum setting_id id, uint64_t value)
{
	switch (table[id].kind) {
	case ON_OFF:
	case OFF_ONLY:
		snprintf(word, UNIT_TEXT, "%s", value ? "on" : "off");
		break;
	case POLICY:
		snprintf(word, UNIT_TEXT, "%s", value < POLICIES ? rfm_policy_names[value] : "?");
		break;
	case TIME:
		return value ? time_exact(word, value, "") : "0";
	case BYTES:
		bytes_word(word, value);
		break;
	case RANGE:
		range_word(word, value);
		break;
	default:
		snprintf(word, UNIT_TEXT, "%" PRIu64, value);
	}
	return word;
}

/* Takes those that a message has, see numbers_take(). */
void settings_take(struct settings *settings, uint64_t have, const uint64_t *number)
{
	settings->have = 0;
	for (unsigned int id = 0; id < SETTINGS; id++) {
		settings->have |= (uint32_t)(have >> table[id].attribute & 1) << id;
		settings->value[id] = number[table[id].attribute];
		if (table[id].kind != RANGE)
			continue;
		/* One that is off has no place. */
		settings->value[id] = number[table[id].attribute + 1] ?
			settings->value[id] << 32 | number[table[id].attribute + 1] : 0;
	}
}

/* Adds those that have a value to a request. Returns 0 or below. */
int settings_put(struct nl_msg *request, const struct settings *settings)
{
	int status = 0;

	for (unsigned int id = 0; id < SETTINGS && !status; id++) {
		/* Little-endian: the bytes of a narrower one are first. */
		if (!setting_known(settings, id))
			continue;
		if (table[id].kind == RANGE)
			status = nla_put_u64(request, table[id].attribute,
					     settings->value[id] >> 32) ?:
				 nla_put_u64(request, table[id].attribute + 1,
					     settings->value[id] & UINT32_MAX);
		else
			status = nla_put(request, table[id].attribute, table[id].width,
					 &settings->value[id]);
	}
	return status;
}

static json_t *value_json(enum setting_id id, uint64_t value)
{
	char word[UNIT_TEXT];

	switch (table[id].kind) {
	case ON_OFF:
	case OFF_ONLY:
		return json_boolean(value);
	case POLICY:
		return json_string(setting_word(word, id, value));
	case RANGE:
		return json_pack("{s:I, s:I}", "offset", (json_int_t)(value >> 32),
				 "length", (json_int_t)(value & UINT32_MAX));
	default:
		return json_integer((json_int_t)value);
	}
}

/* @object with all of them, or those that are known: @unknown as null. */
json_t *settings_json(const struct command *cmd, json_t *object, const struct settings *settings,
		      bool unknown)
{
	for (unsigned int id = 0; id < SETTINGS; id++)
		if (setting_known(settings, id))
			json_add(cmd, object, table[id].key, value_json(id, settings->value[id]));
		else if (unknown)
			json_add(cmd, object, table[id].key, json_null());
	return object;
}
