// SPDX-License-Identifier: MIT
/* rmctl switches: see and set what users of a 5565 set. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "card.h"
#include "out.h"
#include "parse.h"

#define SWITCHES (sizeof(switches) / sizeof(*switches))

/* The names on the command line and in JSON; two of them are numbers, not on or off. */
static const struct {
	uint32_t flag;
	const char *name, *key;
} switches[] = {
	{ RFM_SWITCH_LED, "led", "led" },
	{ RFM_SWITCH_TRANSMIT, "transmit", "transmit" },
	{ RFM_SWITCH_LOOPBACK, "loopback", "loopback" },
	{ RFM_SWITCH_DARK_ON_DARK, "dark-on-dark", "dark_on_dark" },
	{ RFM_SWITCH_PARITY, "parity", "parity" },
	{ RFM_SWITCH_OWN_DATA, "own-data", "own_data" },
	{ RFM_SWITCH_BYTE_SWAP, "byte-swap", "byte_swap" },
	{ RFM_SWITCH_WINDOW, "window", "window_offset" },
	{ RFM_SWITCH_OFFSET, "offset", "address_offset" },
};

static bool is_number(uint32_t flag)
{
	return flag & (RFM_SWITCH_WINDOW | RFM_SWITCH_OFFSET);
}

static uint64_t number_of(const struct rfm_switches *state, uint32_t flag)
{
	return flag == RFM_SWITCH_WINDOW ? state->window_offset : state->address_offset;
}

static int print_json(const struct command *cmd, const struct rfm_switches *state)
{
	json_t *object = json_pack("{s:s}", "device", cmd->card);

	for (size_t i = 0; i < SWITCHES; i++) {
		uint32_t flag = switches[i].flag;
		json_t *value = json_null();

		if (state->mask & flag)
			value = is_number(flag) ?
				json_integer((json_int_t)number_of(state, flag)) :
				json_boolean(state->on & flag);
		json_object_set_new(object, switches[i].key, value);
	}
	return out_json(cmd, object);
}

static int print_text(const struct command *cmd, const struct rfm_switches *state)
{
	for (size_t i = 0; i < SWITCHES; i++) {
		uint32_t flag = switches[i].flag;

		if (!(state->mask & flag))
			continue;
		if (is_number(flag))
			printf("%-12s 0x%" PRIx64 "\n", switches[i].name, number_of(state, flag));
		else
			printf("%-12s %s\n", switches[i].name, state->on & flag ? "on" : "off");
	}
	return out_flush(cmd);
}

/* Finds the switch that a word "NAME=VALUE" is about; -1 if there is none. */
static int find_switch(const char *word, size_t length)
{
	for (size_t i = 0; i < SWITCHES; i++)
		if (strlen(switches[i].name) == length &&
		    !strncmp(word, switches[i].name, length))
			return (int)i;
	return -1;
}

static int get_on_off(struct command *cmd, const char *name, const char *text,
		      struct rfm_switches *want, uint32_t flag)
{
	bool on = !strcmp(text, "on");

	if (!on && strcmp(text, "off"))
		return misused(cmd, "%s is on or off, not '%s'", name, text);
	if (on && flag == RFM_SWITCH_OWN_DATA)
		return misused(cmd, "own-data can be cleared only");
	if (on)
		want->on |= flag;
	return STATUS_OK;
}

/* Reads NAME=VALUE. Returns an exit status. */
static int get_assignment(struct command *cmd, const char *word, struct rfm_switches *want)
{
	const char *equals = strchr(word, '=');
	uint64_t number;
	int which, status;
	uint32_t flag;

	if (!equals)
		return misused(cmd, "'%s' is not of the form NAME=VALUE", word);
	which = find_switch(word, (size_t)(equals - word));
	if (which < 0)
		return misused(cmd, "there is no switch '%.*s'", (int)(equals - word), word);
	flag = switches[which].flag;
	if (want->mask & flag)
		return misused(cmd, "%s is given twice", switches[which].name);
	want->mask |= flag;
	if (!is_number(flag))
		return get_on_off(cmd, switches[which].name, equals + 1, want, flag);

	status = get_number(cmd, switches[which].name, equals + 1,
			    flag == RFM_SWITCH_WINDOW ? UINT64_MAX : UINT32_MAX, &number);
	if (status)
		return status;
	if (flag == RFM_SWITCH_WINDOW)
		want->window_offset = number;
	else
		want->address_offset = (uint32_t)number;
	return STATUS_OK;
}

/* The kernel's errors in the words of the switches. */
static const char *reason(int error)
{
	switch (error) {
	case EBUSY:
		return "the window does not move under a mapping, a subscription or a watch";
	case EINVAL:
		return "the window begins at a multiple of its size inside the memory, and the "
		       "offset is 0, 64M, 128M or 192M";
	case EOPNOTSUPP:
		return "the window of this card does not move";
	default:
		return card_reason(error);
	}
}

int verb_switches(struct command *cmd, int argc, char **argv)
{
	struct rfm_switches want = { .mask = 0 }, state;
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, argc))
		return STATUS_MISUSED;
	for (int i = optind + 1; i < argc; i++) {
		status = get_assignment(cmd, argv[i], &want);
		if (status)
			return status;
	}
	status = card_open(cmd, &card, argv[optind], want.mask);
	if (status)
		return status;
	if (want.mask && ioctl(card.fd, RFM_IOC_SET_SWITCHES, &want))
		status = failed(cmd, "cannot set: %s", reason(errno));
	else if (want.mask && !cmd->json)
		status = STATUS_OK;
	else if (ioctl(card.fd, RFM_IOC_GET_SWITCHES, &state))
		status = failed(cmd, "cannot read the switches: %s", card_reason(errno));
	else
		status = cmd->json ? print_json(cmd, &state) : print_text(cmd, &state);
	card_close(&card);
	return status;
}
