// SPDX-License-Identifier: MIT
/* rmctl watch: wake me when these bytes change. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"
#include "stream.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"
#include "tools/rmctl/cli/child.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

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
	close(watching->stream.fd);
	if (!status && watching->runner.events)
		warn_user(cmd, "the command was not run for the last %" PRIu64 " event(s)",
			  watching->runner.events);
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
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 2, 2))
		return STATUS_MISUSED;
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
	status = watch(&watching);
	card_close(&watching.card);
	return status;
}
