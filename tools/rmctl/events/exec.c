// SPDX-License-Identifier: MIT
#include "exec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/rmctl/card/event_names.h"
#include "tools/rmctl/cli/child.h"
#include "tools/rmctl/cli/out.h"

/* --- what the command is told ------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void tell(const char *name, const char *format, ...)
{
	char text[VALUE_TEXT(64)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	setenv(name, text, 1);
}

static void tell_update(const struct command *cmd, const struct rfm_event *event)
{
	struct span span = span_of(event);
	struct first first;
	uint64_t age;

	span_first(cmd, &span, &first);
	setenv("RMCTL_NAME", first.name, 1);
	setenv("RMCTL_VALUE", first.value, 1);
	setenv("RMCTL_UNIT", first.unit, 1);
	if (event->node != RFM_NODE_ALL)
		tell("RMCTL_NODE", "%" PRIu32, event->node);
	tell("RMCTL_LENGTH", "%" PRIu32, event->length);
	tell("RMCTL_FRAME", "%" PRIu64, (uint64_t)event->frame);
	if (event_age(event, &age))
		tell("RMCTL_AGE_NS", "%" PRIu64, age);
}

/* All of them are always there, empty where they do not apply. */
static void tell_all(const struct runner *runner)
{
	static const char *const names[] = {
		"RMCTL_NAME", "RMCTL_VALUE", "RMCTL_UNIT", "RMCTL_NODE", "RMCTL_OFFSET",
		"RMCTL_LENGTH", "RMCTL_FRAME", "RMCTL_AGE_NS", "RMCTL_SILENT_NS",
	};
	const struct rfm_event *event = &runner->event;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		setenv(names[i], "", 1);
	setenv("RMCTL_DEVICE", runner->cmd->card, 1);
	setenv("RMCTL_TYPE", event_name(event->type), 1);
	tell("RMCTL_TIME_NS", "%" PRIu64, (uint64_t)event->time_ns);
	tell("RMCTL_LATE", "%d", !!(event->flags & RFM_EVENT_LATE));
	tell("RMCTL_EVENTS", "%" PRIu64, runner->events);
	tell("RMCTL_LOST", "%" PRIu64, runner->lost);
	if (event->type != RFM_EVENT_DROPPED)
		tell("RMCTL_OFFSET", "0x%" PRIx64, (uint64_t)event->offset);
	if (event->type == RFM_EVENT_STALE || event->type == RFM_EVENT_FRESH)
		tell("RMCTL_SILENT_NS", "%" PRIu64, (uint64_t)event->age_ns);
	if (event_is_update(event))
		tell_update(runner->cmd, event);
}

/* In the process that the command will be. */
static void prepare(const void *context)
{
	const struct runner *runner = context;

	/* JSON has standard output to itself. */
	if (runner->cmd->json)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	tell_all(runner);
}

/* --- when it runs ------------------------------------------------------------------------- */

/* Remembers an event, until the command is run for it and all others that wait. */
void runner_take(struct runner *runner, const struct stream *stream, const struct rfm_event *event)
{
	runner->event = *event;
	runner->events++;
	runner->lost += stream->lost;
	if (event->type == RFM_EVENT_DROPPED)
		runner->lost += event->data;
}

/* Runs the command if it does not run and there is something to run it for. */
int runner_start(struct runner *runner)
{
	const struct command *cmd = runner->cmd;

	if (runner->child || !runner->events)
		return STATUS_OK;
	if (runner->events > 1)
		warn_user(cmd, "%" PRIu64 " events came while the command was running: it runs "
			  "once for all of them, and is told of the last", runner->events);
	if (runner->lost)
		warn_user(cmd, "at most %" PRIu64 " event(s) were lost", runner->lost);
	runner->child = child_start(cmd, runner->command, prepare, runner);
	if (!runner->child)
		return STATUS_FAILED;
	runner->running = runner->event;
	runner->running_events = runner->events;
	runner->running_lost = runner->lost;
	runner->events = 0;
	runner->lost = 0;
	return STATUS_OK;
}

static int report(struct runner *runner, const struct stream *stream, int status)
{
	json_t *object = event_json(runner->cmd, stream, &runner->running);
	json_t *run = json_pack("{s:o, s:o, s:I}",
		"status", WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null(),
		"signal", WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null(),
		"events", (json_int_t)runner->running_events);

	if (object) {
		json_object_set_new(object, "lost", json_integer((json_int_t)runner->running_lost));
		json_object_set_new(object, "run", run);
	}
	return out_json(runner->cmd, object);
}

/* Has the command ended? Returns an exit status. */
int runner_reap(struct runner *runner, const struct stream *stream)
{
	const struct command *cmd = runner->cmd;
	int status;

	if (!runner->child || !child_ended(runner->child, &status))
		return STATUS_OK;
	runner->child = 0;
	runner->failures += status != 0;
	if (WIFSIGNALED(status))
		warn_user(cmd, "the command was ended by signal %d", WTERMSIG(status));
	else if (status)
		warn_user(cmd, "the command has ended with status %d", WEXITSTATUS(status));
	return cmd->json ? report(runner, stream, status) : STATUS_OK;
}
