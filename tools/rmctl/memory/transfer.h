/* SPDX-License-Identifier: MIT */
/* Large ranges of the memory, block by block, with a line that tells how far it is. */
#ifndef RMCTL_TRANSFER_H
#define RMCTL_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/progress.h"

#define TRANSFER_BLOCK (1u << 20)	/* bytes: one system call */

/**
 * struct transfer - a range that is being read or stored
 * @offset: of the range, in the memory
 * @length: of the range
 * @done: bytes that have been read or stored
 * @progress: what is told of it
 */
struct transfer {
	const struct command *cmd;
	const struct card *card;
	uint64_t offset, length, done;
	struct progress progress;
};

int transfer_begin(struct transfer *transfer, const struct command *cmd, const struct card *card,
		   uint64_t offset, uint64_t length);
size_t transfer_next(const struct transfer *transfer);
int transfer_load(struct transfer *transfer, void *data, size_t length);
int transfer_store(struct transfer *transfer, const void *data, size_t length);
void transfer_end(struct transfer *transfer);
bool transfer_stopped(const struct transfer *transfer);
int transfer_partly(const struct transfer *transfer, const char *why);
int transfer_cut_short(const struct command *cmd, uint64_t done, uint64_t all, const char *what);

/* Of a change of the memory of every node; returns an exit status. */
typedef int changer(struct transfer *transfer, const void *context);

int change_card(struct command *cmd, const char *dev, bool yes, uint64_t offset, uint64_t length,
		changer *store, changer *report, const void *context);
void *transfer_block(const struct command *cmd, size_t length);

#endif /* RMCTL_TRANSFER_H */
