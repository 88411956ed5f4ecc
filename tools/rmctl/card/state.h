/* SPDX-License-Identifier: MIT */
/* Cards as the driver's netlink family tells of them. */
#ifndef RMCTL_STATE_H
#define RMCTL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/rfm_netlink.h>

#include "netlink.h"
#include "netlink_gen.h"
#include "open.h"
#include "settings.h"
#include "tools/rmctl/cli/rmctl.h"

/**
 * struct state - what a card is and how it is
 * @name: "rfm0"
 * @pci: its PCI address
 * @after_gap: monitor only, it is not known that all has come that was told of the card
 * @have: bit n: it has attribute n
 * @number: its attributes
 * @driver: those of what the driver counts
 * @settings: how it is set
 */
struct state {
	char name[32], pci[32], comm[32];
	bool after_gap;
	uint64_t have;
	union {
		uint64_t number[RFM_A_CARD_MAX + 1];
		RFM_CARD_NUMBERS;
	};
	union {
		uint64_t number[RFM_A_DRIVER_MAX + 1];
		RFM_DRIVER_NUMBERS;
	} driver;
	struct settings settings;
};

/* Of all cards, in the order of their numbers. */
struct states {
	const struct command *cmd;
	size_t count;
	struct state *list;
};

int card_find(struct command *cmd, const char *which, char name[CARD_NAME_SIZE]);
int state_get(struct command *cmd, const char *which, struct state *state);
int state_find(struct command *cmd, const char *which, struct state *state);
int state_of_only_card(struct command *cmd, int argc, char **argv, struct state *state);
int states_get(struct command *cmd, struct states *states);
uint64_t numbers_take(uint64_t *numbers, struct nlattr **attributes, int max);
bool state_take(struct state *state, struct nlmsghdr *message);
bool state_synchronous(const struct state *state);

struct nl_msg *card_request(uint8_t command, int flags, const char *name);
int card_talk(const char *card, bool writing, struct nl_msg *request, netlink_take take,
	      void *context);
int card_refused(const struct command *cmd);

#endif /* RMCTL_STATE_H */
