/* SPDX-License-Identifier: MIT */
/* A file to which the memory goes: as a whole, or it stays as it was. */
#ifndef RMCTL_FILES_H
#define RMCTL_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/rmctl/cli/rmctl.h"

/* A file that is being written. */
struct sink {
	int fd;			/* of it, or of @temporary */
	const char *name;	/* for messages */
	char *path;		/* that @temporary will have; freed by sink_close() */
	/*
	 * What is written first, NULL: the file itself, which is no regular one; freed by
	 * sink_close().
	 */
	char *temporary;
	bool is_new;		/* there was no such file */
	uint64_t written;	/* bytes */
};

int sink_open(const struct command *cmd, struct sink *sink, const char *name);
int sink_write(const struct command *cmd, struct sink *sink, const char *data, size_t length);
int sink_close(const struct command *cmd, struct sink *sink, int status);

#endif /* RMCTL_FILES_H */
