// SPDX-License-Identifier: MIT
/* rmctl watch: wake me when these bytes change, or run a command, never twice at once. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"
#include "tools/rmctl/cli/child.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

/* Events for which the command is run once: the last of them, how many, and how many were lost. */
struct batch {
	struct rfm_event event;
	uint64_t events, lost;
};

/**
 * struct runner - a command, and what it is still to be run for
 * @command: for sh -c
 * @child: its process, 0: it does not run
 * @waiting: for what it has not been run
 * @running: for what it runs
 * @failures: how often it has ended with another status than 0
 */
struct runner {
	const struct command *cmd;
	const char *command;
	pid_t child;
	struct batch waiting, running;
	uint64_t failures;
};

/**
 * struct watching - what the user wants to be woken by
 * @stream: the watch; first
 * @target: the bytes
 * @value: of a comparison, as it was typed
 * @runner: its command is NULL without --exec
 */
struct watching {
	struct stream stream;
	struct command *cmd;
	struct card card;
	struct target target;
	const char *value;
	struct runner runner;
};

/* --- the command line ---------------------------------------------------------------- */

static int get_time(struct command *cmd, const char *what, uint64_t min, uint64_t max,
		    __u64 *nanoseconds)
{
	uint64_t time;

	if (get_duration(cmd, what, optarg, &time))
		return STATUS_MISUSED;
	if (time < min || time > max)
		return misused(cmd, "%s '%s' is out of range", what, optarg);
	*nanoseconds = time;
	return STATUS_OK;
}

static int set_compare(struct watching *watching, uint32_t compare, const char *value)
{
	struct rfm_watch *watch = &watching->stream.watch;

	if (watch->compare)
		return misused(watching->cmd, "only one of --equal, --not-equal and --changed");
	watch->compare = compare;
	watch->flags |= RFM_WATCH_COMPARE;
	watching->value = value;
	return STATUS_OK;
}

static int get_option(struct watching *watching, int option)
{
	struct command *cmd = watching->cmd;
	struct rfm_watch *watch = &watching->stream.watch;

	switch (option) {
	case OPTION_EQUAL:
		return set_compare(watching, RFM_COMPARE_EQUAL, optarg);
	case OPTION_NOT_EQUAL:
		return set_compare(watching, RFM_COMPARE_NOT_EQUAL, optarg);
	case OPTION_CHANGED:
		return set_compare(watching, RFM_COMPARE_CHANGED, NULL);
	case OPTION_DEADLINE:
		return get_time(cmd, "deadline", 1, UINT64_MAX, &watch->deadline_ns);
	case OPTION_SILENCE:
		return get_time(cmd, "silence", RFM_WATCH_SILENCE_MIN, RFM_WATCH_SILENCE_MAX,
				&watch->silence_ns);
	case OPTION_EXEC:
		watching->runner.command = optarg;
		return child_check(cmd, "--exec", optarg);
	default:
		return until_option(cmd, &watching->stream.until, option);
	}
}

/* The value to compare with as the bytes that stand in the memory. Returns an exit status. */
static int get_value(struct watching *watching, unsigned char bytes[8])
{
	const struct target *target = &watching->target;
	struct command *cmd = watching->cmd;
	uint64_t number;
	int status;

	if (!target->named) {
		status = get_number(cmd, "value", watching->value,
				    width_max((unsigned int)target->length), &number);
		if (!status)
			memcpy(bytes, &number, sizeof(number));
		return status;
	}
	return value_scan(cmd, target->word, &target->place, watching->value, bytes);
}

/* What the card compares is one word. Returns an exit status. */
static int get_comparison(struct watching *watching)
{
	const struct target *target = &watching->target;
	struct rfm_watch *watch = &watching->stream.watch;
	uint64_t width = target->length;
	unsigned char bytes[8] = { 0 };
	bool word = width <= 8 && !(width & (width - 1)) && target->offset % width == 0;
	int status;

	if (!watch->compare)
		return STATUS_OK;
	if (!word || (target->named && (!target->place.type || target->place.count > 1)))
		return misused(watching->cmd, "'%s' is not one word that can be compared: it must "
			       "have 1, 2, 4 or 8 bytes, and begin at a multiple of that",
			       target->word);
	watch->compare_width = (uint32_t)width;
	watch->compare_offset = target->offset;
	watch->compare_mask = width_max((unsigned int)width);
	if (!watching->value)
		return STATUS_OK;
	status = get_value(watching, bytes);
	memcpy(&watch->compare_value, bytes, sizeof(bytes));
	return status;
}

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
	const struct rfm_event *event = &runner->waiting.event;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		setenv(names[i], "", 1);
	setenv("RMCTL_DEVICE", runner->cmd->card, 1);
	setenv("RMCTL_TYPE", event_name(event->type), 1);
	tell("RMCTL_TIME_NS", "%" PRIu64, (uint64_t)event->time_ns);
	tell("RMCTL_LATE", "%d", !!(event->flags & RFM_EVENT_LATE));
	tell("RMCTL_EVENTS", "%" PRIu64, runner->waiting.events);
	tell("RMCTL_LOST", "%" PRIu64, runner->waiting.lost);
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
static void runner_take(struct runner *runner, const struct stream *stream,
			const struct rfm_event *event)
{
	runner->waiting.event = *event;
	runner->waiting.events++;
	runner->waiting.lost += stream->lost;
	if (event->type == RFM_EVENT_DROPPED)
		runner->waiting.lost += event->data;
}

/* Runs the command if it does not run and there is something to run it for. */
static int runner_start(struct runner *runner)
{
	const struct batch *batch = &runner->waiting;
	const struct command *cmd = runner->cmd;

	if (runner->child || !batch->events)
		return STATUS_OK;
	if (batch->events > 1)
		warn_user(cmd, "%" PRIu64 " events came while the command was running: it runs "
			  "once for all of them, and is told of the last", batch->events);
	if (batch->lost)
		warn_user(cmd, "at most %" PRIu64 " event(s) were lost", batch->lost);
	runner->child = child_start(cmd, runner->command, prepare, runner);
	if (!runner->child)
		return STATUS_FAILED;
	runner->running = *batch;
	runner->waiting = (struct batch){ .events = 0 };
	return STATUS_OK;
}

static int report(struct runner *runner, const struct stream *stream, int status)
{
	json_t *object = event_json(runner->cmd, stream, &runner->running.event);
	json_t *run = json_pack("{s:o, s:o, s:I}",
		"status", WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null(),
		"signal", WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null(),
		"events", (json_int_t)runner->running.events);

	if (object) {
		json_object_set_new(object, "lost", json_integer((json_int_t)runner->running.lost));
		json_object_set_new(object, "run", run);
	}
	return out_json(runner->cmd, object);
}

/* Has the command ended? Returns an exit status. */
static int runner_reap(struct runner *runner, const struct stream *stream)
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

/* --- events --------------------------------------------------------------------------- */

static int handle(const struct command *cmd, struct stream *stream, const struct rfm_event *event)
{
	struct watching *watching = (struct watching *)stream;

	stream_account(stream, event);
	if (watching->runner.command) {
		runner_take(&watching->runner, stream, event);
		return STATUS_OK;
	}
	if (cmd->json) {
		json_t *object = event_json(cmd, stream, event);

		if (object)
			json_object_set_new(object, "run", json_null());
		return out_json(cmd, object);
	}
	if (stream->lost)
		printf("-- %" PRIu64 " event(s) lost here: they came faster than they were read\n",
		       stream->lost);
	event_print(cmd, event, true);
	return STATUS_OK;
}

/*
 * The card tells when the condition becomes true. That it has been true all the time, the
 * memory tells; an update that makes it true just now may be told of twice.
 */
static int look(struct watching *watching)
{
	const struct rfm_watch *watch = &watching->stream.watch;
	struct rfm_event event = {
		.type = RFM_EVENT_MATCH, .node = RFM_NODE_ALL, .flags = RFM_EVENT_AGE_UNKNOWN,
		.time_ns = now_ns(), .offset = watch->compare_offset,
		.length = watch->compare_width, .count = 1,
	};
	struct pollfd fd = { .fd = watching->stream.fd, .events = POLLIN };
	uint64_t word = 0;

	if (!watch->compare || watch->compare == RFM_COMPARE_CHANGED)
		return STATUS_OK;
	if (card_check_range(watching->cmd, &watching->card, watch->compare_offset,
			     watch->compare_width))
		return STATUS_FAILED;
	if (pread(rfm_fd(watching->card.rfm), &word, watch->compare_width,
		  card_position(&watching->card, watch->compare_offset)) !=
	    (ssize_t)watch->compare_width)
		return failed(watching->cmd, "cannot read at offset 0x%" PRIx64 ": %s",
			      (uint64_t)watch->compare_offset, card_reason(errno));
	if ((word == watch->compare_value) != (watch->compare == RFM_COMPARE_EQUAL) ||
	    poll(&fd, 1, 0))
		return STATUS_OK;
	memcpy(event.bytes, &word, sizeof(word));
	return handle(watching->cmd, &watching->stream, &event) || out_flush(watching->cmd) ?
		STATUS_FAILED : STATUS_OK;
}

/* Waits for events, or a signal, and takes them. Returns an exit status. */
static int take_more(struct watching *watching, bool *open)
{
	struct stream *stream = &watching->stream;
	struct pollfd fd = { .fd = stream->fd, .events = POLLIN };
	int ready = stop_poll(&fd, *open, *open ? stream->until.deadline_ns : STOP_NEVER);

	if (!ready)
		*open = false;
	return ready > 0 ? stream_take(watching->cmd, stream, handle) : STATUS_OK;
}

/*
 * Events and the end of the command come in any order; there are no more events when the
 * time is up, but the command is still run for those that have come. Whatever ends this, the
 * command has ended before.
 */
static int watch_loop(struct watching *watching)
{
	struct stream *stream = &watching->stream;
	struct runner *runner = &watching->runner;
	int status = look(watching);
	bool open = true;

	for (;;) {
		int reaped = runner_reap(runner, stream);

		status = status ? status : reaped;
		open = open && !status && !until_done(&stream->until) && !stop_asked();
		if (!status && !stop_asked())
			status = runner_start(runner);
		if (runner->child)
			child_pass_on(runner->child);
		else if (status || !open)
			return status;
		reaped = take_more(watching, &open);
		status = status ? status : reaped;
	}
}

static int watch(struct watching *watching)
{
	struct command *cmd = watching->cmd;
	int status;

	stop_hold_signals();
	status = stream_open(cmd, &watching->stream, &watching->card);
	if (status)
		return status;
	fprintf(stderr, "watching %s ...\n", cmd->card);
	status = watch_loop(watching);
	/* What has come already, and no more: the command is not run for it any more. */
	if (!status && stop_asked() && !until_done(&watching->stream.until))
		status = stream_take(cmd, &watching->stream, handle);
	if (!status && watching->runner.waiting.events)
		warn_user(cmd, "the command was not run for the last %" PRIu64 " event(s)",
			  watching->runner.waiting.events);
	if (!status)
		status = until_end(cmd, &watching->stream.until, "event");
	return status ? status : watching->runner.failures ? STATUS_FAILED : STATUS_OK;
}

int verb_watch(struct command *cmd, int argc, char **argv)
{
	struct watching watching = { .cmd = cmd, .runner.cmd = cmd };
	int status = STATUS_OK;

	stream_init(&watching.stream, 0);
	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;)
		status = get_option(&watching, option);
	if (!status)
		status = check_operands(cmd, argc, argv, 2, 2);
	if (!status)
		status = get_target(cmd, argv[optind + 1], &watching.target);
	if (!status)
		status = get_comparison(&watching);
	if (!status)
		status = stream_add(cmd, &watching.stream, &watching.target);
	if (!status)
		status = card_open(cmd, &watching.card, argv[optind], false);
	if (status)
		return status;
	regions_try(cmd);
	return watch(&watching);
}
