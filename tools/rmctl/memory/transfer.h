/* SPDX-License-Identifier: MIT */
/* Large ranges of the memory, block by block, with a line that tells how far it is. */
#ifndef RMCTL_TRANSFER_H
#define RMCTL_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/progress.h"

#define TRANSFER_BLOCK (1u << 20)	/* bytes: one system call */

/* A range that is being read or stored. */
struct transfer {
	const struct command *cmd;
	const struct card *card;
	uint64_t offset;		/* of the range, in the memory */
	uint64_t length;		/* of the range */
	uint64_t done;			/* bytes that have been read or stored */
	uint64_t block;			/* bytes of a step */
	struct progress progress;	/* what is told of it */
};

/* What becomes of a block that was loaded, or makes one that is to be stored: an exit status. */
typedef int transfer_step(struct transfer *transfer, void *block, size_t length, void *context);

int transfer_begin(struct transfer *transfer, const struct command *cmd, const struct card *card,
		   uint64_t offset, uint64_t length);
int transfer_move(struct transfer *transfer, char *data, size_t length, bool store);
int transfer_run(struct transfer *transfer, bool store, transfer_step *step, void *context);
int transfer_partly(const struct transfer *transfer, const char *why);
int transfer_cut_short(const struct command *cmd, uint64_t done, uint64_t all, const char *what);
int transfer_report(const struct transfer *transfer, const char *key, json_t *what);

int change_card(struct command *cmd, const char *dev, bool yes, const struct transfer *change,
		transfer_step *step, void *context, const char *key, json_t *what);

#endif /* RMCTL_TRANSFER_H */
