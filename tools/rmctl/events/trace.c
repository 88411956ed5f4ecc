// SPDX-License-Identifier: MIT
/* rmctl trace: every write of another node, a line each. */
#include <inttypes.h>
#include <stdio.h>

#include "stream.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

#define DEPTH 4096u	/* writes that wait in the driver while this prints */

/* What is missing stands where it is missing. */
static int print_event(const struct command *cmd, struct stream *stream,
		       const struct rfm_event *event)
{
	stream_account(stream, event);
	if (cmd->json)
		return out_json(cmd, event_json(cmd, stream, event));
	if (stream->lost)
		printf("-- %" PRIu64 " write(s) lost here: they came faster than they were read\n",
		       stream->lost);
	if (event->type == RFM_EVENT_DROPPED)
		printf("-- the card has dropped %" PRIu32
		       " event(s) here, perhaps writes of these bytes\n", event->data);
	else
		event_print(cmd, event, false);
	return STATUS_OK;
}

static int trace(const struct command *cmd, struct stream *stream)
{
	int status;

	fprintf(stderr, "tracing %s ...\n", cmd->card);
	status = stream_run(cmd, stream, print_event);
	if (stream->total_lost)
		warn_user(cmd, "%" PRIu64 " write(s) printed, at most %" PRIu64 " lost",
			  stream->total, stream->total_lost);
	return status ? status : until_end(cmd, &stream->until, "write");
}

int verb_trace(struct command *cmd, int argc, char **argv)
{
	struct stream stream;
	struct target target;
	struct card card;
	int status = STATUS_OK;

	stream_init(&stream, DEPTH);
	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;)
		status = stream_option(cmd, &stream, option);
	if (!status)
		status = check_operands(cmd, argc, argv, 2, argc);
	for (int i = optind + 1; i < argc && !status; i++) {
		status = get_target(cmd, argv[i], &target);
		if (!status)
			status = stream_add(cmd, &stream, &target);
	}
	if (!status)
		status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	regions_try(cmd);
	stop_hold_signals();
	status = stream_open(cmd, &stream, &card);
	return status ? status : trace(cmd, &stream);
}
