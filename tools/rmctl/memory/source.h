/* SPDX-License-Identifier: MIT */
/* A file that is to be put into the memory, or compared with it. */
#ifndef RMCTL_SOURCE_H
#define RMCTL_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/rmctl/cli/rmctl.h"

/* An open file. */
struct source {
	const char *name;	/* for messages */
	int fd;			/* of a file that can be read anywhere, else -1 */
	unsigned char *data;	/* all of it, of one that cannot */
	uint64_t size;		/* bytes */
};

int source_open(const struct command *cmd, struct source *source, const char *name,
		uint64_t expected);
int source_read(const struct command *cmd, const struct source *source, uint64_t offset,
		void *data, size_t length);
void source_close(struct source *source);

#endif /* RMCTL_SOURCE_H */
