/* SPDX-License-Identifier: MIT */
/* A command that is run for events, never twice at once. */
#ifndef RMCTL_EXEC_H
#define RMCTL_EXEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stream.h"

/**
 * struct runner - a command, and what it is still to be run for
 * @command: for sh -c
 * @child: its process, 0: it does not run
 * @event: the last event that it has not been run for
 * @events: how many there are
 * @lost: events that were lost before these
 * @running: the event and the number that it runs for
 * @failures: how often it has ended with another status than 0
 */
struct runner {
	const struct command *cmd;
	const char *command;
	pid_t child;
	struct rfm_event event, running;
	uint64_t events, lost, running_events, running_lost, failures;
};

void runner_take(struct runner *runner, const struct stream *stream,
		 const struct rfm_event *event);
int runner_start(struct runner *runner);
int runner_reap(struct runner *runner, const struct stream *stream);

#endif /* RMCTL_EXEC_H */
