// SPDX-License-Identifier: MIT
/* rmctl test: does a packet come back round the ring? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "open.h"
#include "tools/rmctl/cli/out.h"

#define TIMEOUT_DEFAULT_MS 500u
#define TIMEOUT_MAX_MS 10000u

/* @status: STATUS_OK: the ring is closed, STATUS_NO: open, STATUS_UNKNOWN: not tested. */
static int report(const struct command *cmd, const struct rfm_ring_test *test, int status)
{
	json_t *closed = status == STATUS_UNKNOWN ? json_null() : json_boolean(!status);

	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:o, s:o}", "device", cmd->card, "closed",
					       closed, "round_trip_ns",
					       json_known(!status, test->round_trip_ns)));
	json_decref(closed);
	if (!status)
		printf("%s: the ring is closed, round trip %" PRIu64 ".%03" PRIu64 " us\n",
		       cmd->card, (uint64_t)(test->round_trip_ns / 1000),
		       (uint64_t)(test->round_trip_ns % 1000));
	return out_flush(cmd);
}

/* Says what came of it. Returns an exit status. */
static int finish(const struct command *cmd, const struct card *card,
		  const struct rfm_ring_test *test, int error)
{
	int status = STATUS_OK;

	if (error && error != ETIMEDOUT)
		return failed(cmd, "cannot test the ring: %s", card_reason(error));
	if (error)
		status = STATUS_NO;
	else if (card->info.lcsr1 & RFM_LCSR1_LOOPBACK)
		status = STATUS_UNKNOWN;
	if (report(cmd, test, status))
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
	struct rfm_ring_test test = { .timeout_ms = TIMEOUT_DEFAULT_MS };
	struct card card;
	int status;

	status = get_timeout(cmd, argc, argv, TIMEOUT_MAX_MS, &test.timeout_ms);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	status = card_open(cmd, &card, argv[optind], true);
	if (status)
		return status;
	status = finish(cmd, &card, &test, ioctl(rfm_fd(card.rfm), RFM_IOC_RING_TEST, &test) ? errno : 0);
	card_close(&card);
	return status;
}
