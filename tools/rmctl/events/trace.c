// SPDX-License-Identifier: MIT
/* rmctl trace: every write of another node, a line each. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "stream.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

#define DEPTH 4096u	/* writes that wait in the driver while this prints */

enum { OPTION_DEPTH = 256 };

const struct option trace_options[] = {
	{ "count", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 't' },
	{ "depth", required_argument, NULL, OPTION_DEPTH },
	{ 0 },
};

static int get_options(struct command *cmd, int argc, char **argv, struct stream *stream)
{
	uint64_t depth;
	int status = STATUS_OK;

	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != OPTION_DEPTH) {
			status = until_option(cmd, &stream->until, option);
			continue;
		}
		status = get_number(cmd, "depth", optarg, RFM_LISTEN_DEPTH_MAX, &depth);
		if (!status && !depth)
			status = misused(cmd, "depth must be at least 1");
		stream->watch.depth = (uint32_t)depth;
	}
	return status;
}

/* What is missing stands where it is missing. */
static void print_gap(const struct stream *stream)
{
	if (stream->lost)
		printf("-- %" PRIu64 " write(s) lost here: they came faster than they were read\n",
		       stream->lost);
}

static int print_events(const struct command *cmd, struct stream *stream,
			const struct rfm_event *events, int count)
{
	int status = STATUS_OK;

	for (int i = 0; i < count && !status; i++) {
		stream_account(stream, &events[i]);
		if (cmd->json) {
			status = out_json(cmd, event_json(cmd, stream, &events[i]));
			continue;
		}
		print_gap(stream);
		if (events[i].type == RFM_EVENT_DROPPED)
			printf("-- the card has dropped %" PRIu32
			       " event(s) here, perhaps writes of these bytes\n", events[i].data);
		else
			event_print(cmd, &events[i], false);
	}
	return status ? status : out_flush(cmd);
}

static int trace(const struct command *cmd, struct stream *stream)
{
	struct rfm_event events[STREAM_BATCH];
	int status = STATUS_OK, got;

	fprintf(stderr, "tracing %s ...\n", cmd->card);
	while (!status && !until_done(&stream->until)) {
		got = stream_wait(cmd, stream, events);
		if (!got)
			break;
		status = got < 0 ? STATUS_FAILED : print_events(cmd, stream, events, got);
	}
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
	int status;

	stream_init(&stream, DEPTH);
	status = get_options(cmd, argc, argv, &stream);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 2, argc))
		return STATUS_MISUSED;
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
	if (!status) {
		status = trace(cmd, &stream);
		close(stream.fd);
	}
	card_close(&card);
	return status;
}
