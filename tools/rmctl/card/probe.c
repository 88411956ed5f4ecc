// SPDX-License-Identifier: MIT
/* rmctl fence: has everything stored so far arrived at every node? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "members.h"
#include "open.h"
#include "tools/rmctl/cli/out.h"

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

/* @ring: who is on it, or NULL. */
static int print_json(const struct command *cmd, const struct rfm_fence_wait *fence, int error,
		      const struct ring *ring)
{
	json_t *names = json_array();

	if (error)
		json_array_append_new(names, json_string("timeout"));
	for (size_t i = 0; i < FLAGS && !error; i++)
		if (fence->flags & flags[i].flag)
			json_array_append_new(names, json_string(flags[i].key));
	return out_json(cmd, json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "device",
				       cmd->card, "complete", !error && !fence->flags, "flags",
				       names, "lost", json_known(!error, fence->lost),
				       "epoch", json_known(!error, fence->epoch),
				       "wait_ns", json_known(!error, fence->wait_ns),
				       "paused", ring ? ring_paused_json(ring) : json_null(),
				       "gone", ring ? ring_gone_json(ring) : json_null()));
}

/* Asks who is on the ring, for who is not. Returns NULL if that is not known. */
static const struct ring *ask(struct command *cmd, struct ring *ring)
{
	return ring_get(cmd->card, false, ring) ? NULL : ring;
}

/* Says why all is not everywhere, and who is not there. Returns an exit status. */
static int complain(const struct command *cmd, const struct rfm_fence_wait *fence, int error,
		    const struct ring *ring)
{
	char absent[RING_NOTE] = "", reason[128];
	size_t i = 0;

	while (i < FLAGS - 1 && !(fence->flags & flags[i].flag))
		i++;
	if (error)
		snprintf(reason, sizeof(reason), "it has not come home within %" PRIu32 " ms",
			 fence->timeout_ms);
	else if (flags[i].flag == RFM_FENCED_LOST)
		snprintf(reason, sizeof(reason), "%" PRIu64 " %s", (uint64_t)fence->lost,
			 flags[i].sentence);
	else
		snprintf(reason, sizeof(reason), "%s", flags[i].sentence);
	/* Who has gone keeps nobody standing still. */
	if (ring)
		ring_absent(absent, ring,
			    !error && flags[i].flag == RFM_FENCED_PAUSED ? 0 : UINT64_MAX);
	failed(cmd, "%s%s%s", reason, *absent ? "; " : "", absent);
	return STATUS_NO;
}

/* @error is 0, or ETIMEDOUT. Returns an exit status: 0 only if all is everywhere. */
static int report(struct command *cmd, const struct rfm_fence_wait *fence, int error)
{
	bool complete = !error && !fence->flags;
	const struct ring *ring = NULL;
	struct ring answer;
	int status;

	if (!complete)
		ring = ask(cmd, &answer);
	if (cmd->json) {
		status = print_json(cmd, fence, error, ring);
		if (status)
			return status;
	} else if (complete) {
		printf("%s: everything is at every node, after %" PRIu64 ".%03" PRIu64 " us\n",
		       cmd->card, (uint64_t)(fence->wait_ns / 1000),
		       (uint64_t)(fence->wait_ns % 1000));
	}
	return complete ? STATUS_OK : complain(cmd, fence, error, ring);
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
	if (!error || error == ETIMEDOUT)
		status = report(cmd, &fence, error);
	else if (error == EINTR)
		status = failed(cmd, "interrupted: it has not come home yet");
	else
		status = failed(cmd, "cannot fence: %s", card_reason(error));
	card_close(&card);
	return status;
}
