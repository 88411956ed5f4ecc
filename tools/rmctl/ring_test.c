// SPDX-License-Identifier: MIT
/* rmctl test: does a packet come back round the ring? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "card.h"
#include "out.h"

#define TIMEOUT_DEFAULT_MS 500u
#define TIMEOUT_MAX_MS 10000u

static int report(const struct command *cmd, const struct rfm_ring_test *test, bool closed)
{
	json_t *time;

	if (cmd->json) {
		time = closed ? json_integer((json_int_t)test->round_trip_ns) : json_null();
		return out_json(cmd, json_pack("{s:s, s:b, s:o}", "device", cmd->card, "closed",
					       closed, "round_trip_ns", time));
	}
	if (closed)
		printf("%s: the ring is closed, round trip %" PRIu64 ".%03" PRIu64 " us\n",
		       cmd->card, (uint64_t)(test->round_trip_ns / 1000),
		       (uint64_t)(test->round_trip_ns % 1000));
	return out_flush(cmd);
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
	if (!ioctl(card.fd, RFM_IOC_RING_TEST, &test)) {
		status = report(cmd, &test, true);
	} else if (errno == ETIMEDOUT) {
		report(cmd, &test, false);
		status = failed(cmd, "the ring is open: nothing came back within %" PRIu32 " ms",
				test.timeout_ms);
	} else {
		status = failed(cmd, "cannot test the ring: %s", card_reason(errno));
	}
	card_close(&card);
	return status;
}
