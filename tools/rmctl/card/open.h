/* SPDX-License-Identifier: MIT */
#ifndef RMCTL_OPEN_H
#define RMCTL_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/librfm/rfm/rfm.h"
#include "tools/rmctl/cli/rmctl.h"

#define CARD_NAME_SIZE 256	/* any file name fits */

/**
 * struct card - an open card, which is open until the program ends
 * @rfm: what librfm opened
 * @name: "rfm0"
 * @info: what it said when it was opened
 */
struct card {
	struct rfm *rfm;
	char name[CARD_NAME_SIZE];
	struct rfm_info info;
};

/* The cards of this machine, in order of their numbers. */
struct card_names {
	size_t count;
	char (*names)[CARD_NAME_SIZE];
};

int card_open(struct command *cmd, struct card *card, const char *which, bool writing);
int card_open_window(struct command *cmd, struct card *card, const char *which, bool writing);
int card_by_pci(const char *address, char name[CARD_NAME_SIZE]);
struct rfm *card_look(const char *name);
int card_names_get(struct card_names *list);
const char *card_reason(int error);

int card_fence(const struct card *card, struct rfm_fence_wait *fence);
off_t card_position(const struct card *card, uint64_t offset);
int card_check_memory(const struct command *cmd, uint64_t size, uint64_t offset, uint64_t length);
int card_check_range(const struct command *cmd, const struct card *card, uint64_t offset,
		     uint64_t length);
volatile void *card_map(const struct command *cmd, const struct card *card, uint64_t offset,
			uint64_t length);

#endif /* RMCTL_OPEN_H */
