/* SPDX-License-Identifier: MIT */
/* A file to which the memory goes: as a whole, or it stays as it was. */
#ifndef RMCTL_FILES_H
#define RMCTL_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/rmctl/cli/rmctl.h"

/**
 * struct sink - a file that is being written
 * @fd: of it, or of @temporary
 * @name: for messages
 * @path: that @temporary will have; freed by sink_close()
 * @temporary: what is written first, NULL: the file itself, which is no regular one; freed by
 *	sink_close()
 * @is_new: there was no such file
 * @written: bytes
 */
struct sink {
	int fd;
	const char *name;
	char *path, *temporary;
	bool is_new;
	uint64_t written;
};

int sink_open(const struct command *cmd, struct sink *sink, const char *name);
int sink_write(const struct command *cmd, struct sink *sink, const char *data, size_t length);
int sink_close(const struct command *cmd, struct sink *sink, int status);

#endif /* RMCTL_FILES_H */
