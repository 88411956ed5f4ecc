/* SPDX-License-Identifier: MIT */
/*
 * Files that are put into the memory or compared with it, and one to which it goes: as a whole,
 * or that stays as it was.
 */
#ifndef RMCTL_FILES_H
#define RMCTL_FILES_H

#include <stdbool.h>
#include <stddef.h>
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

/* A file that is being read. */
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

#endif /* RMCTL_FILES_H */
