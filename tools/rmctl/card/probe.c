// SPDX-License-Identifier: MIT
/*
 * rmctl test: does a packet come back round the ring? rmctl fence: has everything stored so far
 * arrived at every node?
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "members.h"
#include "open.h"
#include "tools/rmctl/cli/out.h"

/* Thousandths of a microsecond are shown, however long it took. */
#define US "%" PRIu64 ".%03" PRIu64 " us"
/* Of -t, in ms. */
#define TEST_DEFAULT_MS		500u
#define TEST_MAX_MS		10000u
#define FENCE_DEFAULT_MS	1000u
#define FENCE_MAX_MS		60000u

#define IN_US(ns) (uint64_t)((ns) / 1000), (uint64_t)((ns) % 1000)

/* Reads the command line, DEV [-t TIME], and opens the card. Returns an exit status. */
static int begin(struct command *cmd, int argc, char **argv, uint32_t max_ms, uint32_t *timeout_ms,
		 struct card *card)
{
	if (get_timeout(cmd, argc, argv, max_ms, timeout_ms) ||
	    check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	return card_open(cmd, card, argv[optind], true);
}

/* --- test -------------------------------------------------------------------------------- */

/* @status: STATUS_OK: the ring is closed, STATUS_NO: open, STATUS_UNKNOWN: not tested. */
static int report_test(const struct command *cmd, const struct rfm_ring_test *test, int status)
{
	json_t *closed = status == STATUS_UNKNOWN ? json_null() : json_boolean(!status);

	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:o, s:o}", "device", cmd->card, "closed",
					       closed, "round_trip_ns",
					       json_known(!status, test->round_trip_ns)));
	json_decref(closed);
	if (!status)
		printf("%s: the ring is closed, round trip " US "\n", cmd->card,
		       IN_US(test->round_trip_ns));
	return out_flush(cmd);
}

/* Says what came of it. Returns an exit status. */
static int finish_test(const struct command *cmd, const struct card *card,
		       const struct rfm_ring_test *test, int error)
{
	int status = STATUS_OK;

	if (error && error != ETIMEDOUT)
		return failed(cmd, "cannot test the ring: %s", card_reason(error));
	if (error)
		status = STATUS_NO;
	else if (card->info.lcsr1 & RFM_LCSR1_LOOPBACK)
		status = STATUS_UNKNOWN;
	if (report_test(cmd, test, status))
		return STATUS_FAILED;
	if (status == STATUS_NO)
		failed(cmd, "the ring is open: nothing came back within %" PRIu32 " ms",
		       test->timeout_ms);
	if (status == STATUS_UNKNOWN)
		failed(cmd, "loopback is on: the packet came from this card's own transmitter, and "
		       "tells nothing of the ring");
	return status;
}

int verb_test(struct command *cmd, int argc, char **argv)
{
	struct rfm_ring_test test = { .timeout_ms = TEST_DEFAULT_MS };
	struct card card;
	int status = begin(cmd, argc, argv, TEST_MAX_MS, &test.timeout_ms, &card);

	if (status)
		return status;
	return finish_test(cmd, &card, &test,
			   ioctl(rfm_fd(card.rfm), RFM_IOC_RING_TEST, &test) ? errno : 0);
}

/* --- fence ------------------------------------------------------------------------------- */

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
	return refuse(cmd, STATUS_NO, "%s%s%s", reason, *absent ? "; " : "", absent);
}

/* @error is 0, or ETIMEDOUT. Returns an exit status: 0 only if all is everywhere. */
static int report(struct command *cmd, const struct rfm_fence_wait *fence, int error)
{
	bool complete = !error && !fence->flags;
	const struct ring *ring = NULL;
	struct ring answer;
	int status;

	/* Who is not there is said if it is known. */
	if (!complete && !ring_get(cmd->card, false, &answer))
		ring = &answer;
	if (cmd->json) {
		status = print_json(cmd, fence, error, ring);
		if (status)
			return status;
	} else if (complete) {
		printf("%s: everything is at every node, after " US "\n", cmd->card,
		       IN_US(fence->wait_ns));
	}
	return complete ? STATUS_OK : complain(cmd, fence, error, ring);
}

int verb_fence(struct command *cmd, int argc, char **argv)
{
	struct rfm_fence_wait fence = { .timeout_ms = FENCE_DEFAULT_MS };
	struct card card;
	int status = begin(cmd, argc, argv, FENCE_MAX_MS, &fence.timeout_ms, &card), error;

	if (status)
		return status;
	error = card_fence(&card, &fence);
	if (!error || error == ETIMEDOUT)
		return report(cmd, &fence, error);
	return error == EINTR ? failed(cmd, "interrupted: it has not come home yet") :
				failed(cmd, "cannot fence: %s", card_reason(error));
}
