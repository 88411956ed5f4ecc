/* SPDX-License-Identifier: MIT */
/* A command of the user's, which sh runs: --exec and --while. */
#ifndef RMCTL_CHILD_H
#define RMCTL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "rmctl.h"

int child_check(const struct command *cmd, const char *option, const char *command);
pid_t child_start(const struct command *cmd, const char *command,
		  void (*prepare)(const void *context), const void *context);
bool child_ended(pid_t child, int *status);
void child_pass_on(pid_t child);
int child_run(const struct command *cmd, const char *command);

#endif /* RMCTL_CHILD_H */
