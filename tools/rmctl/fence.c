// SPDX-License-Identifier: MIT
/* rmctl fence: has everything stored so far arrived at every node? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "card.h"
#include "out.h"

#define TIMEOUT_DEFAULT_MS 1000u
#define TIMEOUT_MAX_MS 60000u
#define FLAGS (sizeof(flags) / sizeof(*flags))

static const struct {
	uint32_t flag;
	const char *key, *sentence;
} flags[] = {
	{ RFM_FENCED_LOST, "lost", "frame(s) did not reach every node" },
	{ RFM_FENCED_PAUSED, "paused", "a node stands still, and has yet to store them" },
	{ RFM_FENCED_EPOCH, "epoch", "nodes came or went meanwhile" },
	{ RFM_FENCED_DARK, "dark", "nothing leaves this node: no signal, or its transmitter is off" },
};

/* @fence is NULL if it has not come home. */
static int print_json(const struct command *cmd, const struct rfm_fence_wait *fence)
{
	json_t *names = json_array();

	if (!fence)
		return out_json(cmd, json_pack("{s:s, s:b, s:[s], s:n, s:n, s:n}", "device",
					       cmd->card, "complete", false, "flags", "timeout",
					       "lost", "epoch", "wait_ns"));
	for (size_t i = 0; i < FLAGS; i++)
		if (fence->flags & flags[i].flag)
			json_array_append_new(names, json_string(flags[i].key));
	return out_json(cmd, json_pack("{s:s, s:b, s:o, s:I, s:I, s:I}", "device", cmd->card,
				       "complete", !fence->flags, "flags", names, "lost",
				       (json_int_t)fence->lost, "epoch", (json_int_t)fence->epoch,
				       "wait_ns", (json_int_t)fence->wait_ns));
}

/* Says how it went. Returns an exit status: 0 only if all is everywhere. */
static int report(const struct command *cmd, const struct rfm_fence_wait *fence)
{
	int status = STATUS_OK;

	if (cmd->json)
		status = print_json(cmd, fence);
	else if (!fence->flags)
		printf("%s: everything is at every node, after %" PRIu64 ".%03" PRIu64 " us\n",
		       cmd->card, (uint64_t)(fence->wait_ns / 1000),
		       (uint64_t)(fence->wait_ns % 1000));
	for (size_t i = 0; i < FLAGS && !status; i++) {
		if (!(fence->flags & flags[i].flag))
			continue;
		if (flags[i].flag == RFM_FENCED_LOST)
			status = failed(cmd, "%" PRIu64 " %s", (uint64_t)fence->lost,
					flags[i].sentence);
		else
			status = failed(cmd, "%s", flags[i].sentence);
	}
	return status;
}

/* Says why it does not know. Returns an exit status. */
static int report_error(const struct command *cmd, const struct rfm_fence_wait *fence, int error)
{
	int status;

	switch (error) {
	case ETIMEDOUT:
		status = cmd->json ? print_json(cmd, NULL) : STATUS_OK;
		return status ? status : failed(cmd, "it has not come home within %" PRIu32 " ms",
						fence->timeout_ms);
	case EINTR:
		return failed(cmd, "interrupted: it has not come home yet");
	default:
		return failed(cmd, "cannot fence: %s", card_reason(error));
	}
}

int verb_fence(struct command *cmd, int argc, char **argv)
{
	struct rfm_fence_wait fence = { .timeout_ms = TIMEOUT_DEFAULT_MS };
	struct card card;
	int status, error;

	status = get_timeout(cmd, argc, argv, TIMEOUT_MAX_MS, &fence.timeout_ms);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	status = card_open(cmd, &card, argv[optind], true);
	if (status)
		return status;
	error = card_fence(&card, &fence);
	status = error ? report_error(cmd, &fence, error) : report(cmd, &fence);
	card_close(&card);
	return status;
}
