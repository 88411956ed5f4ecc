/* SPDX-License-Identifier: MIT */
/* What the verbs that speak to one node have in common. */
#ifndef RMCTL_REMOTE_H
#define RMCTL_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/rmctl/card/open.h"

struct target;

/**
 * struct remote - the command line of such a verb
 * @width: -w, 0: not given
 * @count: -n, 0: not given
 * @timeout_ms: -t; -1: not given
 * @file: -f; NULL: not given
 * @command: --while; NULL: not given
 */
struct remote {
	struct card card;
	unsigned int width;
	uint64_t count;
	bool raw, as_is, base;
	int timeout_ms;
	const char *file, *command;
	uint64_t node;
};

int remote_options(struct command *cmd, int argc, char **argv, struct remote *remote);
int remote_open(struct command *cmd, const char *which, bool writing, struct card *card);
int remote_node(struct command *cmd, const char *word, struct remote *remote);
int remote_length(struct command *cmd, const struct remote *remote, const struct target *target,
		  uint64_t *length);
int remote_value(struct command *cmd, const struct target *target, const char *what,
		 const char *word, uint64_t length, void *bytes);
int remote_failed(const struct command *cmd, int error);
int remote_file(struct command *cmd, const char *name, size_t max, unsigned char **data,
		size_t *length);

#endif /* RMCTL_REMOTE_H */
