// SPDX-License-Identifier: MIT
/* librfm2g in process. links: tools/librfm2g tools/librfm ring/host tests/unit/rings.c */
/* Errors from before the board was opened, which no card makes when it is told to. */
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <fcntl.h>
#include <stdio.h>

#include "tools/librfm/ring_private.h"
#include "tools/librfm2g/rfm2g_api.h"

static RFM2GHANDLE board;

static RFM2G_STATUS waits(RFM2GEVENTTYPE event)
{
	RFM2GEVENTINFO info = { .Event = event, .Timeout = RFM2G_NO_WAIT };

	return RFM2gWaitForEvent(board, &info);
}

static RFM2GQINFO stats(RFM2GEVENTTYPE event)
{
	RFM2GQINFO info = { .Event = event };

	assert_int_equal(RFM2gGetEventStats(board, &info), RFM2G_SUCCESS);
	return info;
}

/* What has been latched is told once, and has pushed nothing out of the queue. */
static void a_latched_error_is_told_once(void **state)
{
	char words[400];
	struct rfm *rfm;

	(void)state;
	snprintf(words, sizeof(words), "ring:?rx=unix:%s/a,server&tx=unix:%s/b&node=3&size=1M",
		 folder, folder);
	rfm = rfm_open(words, O_RDWR);
	assert_non_null(rfm);
	ring_status(node_of(rfm), RFMRING_BAD_DATA | RFMRING_RX_FULL | RFMRING_RX_ALMOST_FULL);
	assert_int_equal(RFM2gOpen(words, &board), RFM2G_SUCCESS);
	assert_int_equal(stats(RFM2GEVENT_RXFIFO_FULL).Overflowed, 0);
	for (RFM2GEVENTTYPE event = RFM2GEVENT_BAD_DATA; event < RFM2GEVENT_LAST; event++) {
		bool latched = event == RFM2GEVENT_BAD_DATA || event == RFM2GEVENT_RXFIFO_FULL ||
			       event == RFM2GEVENT_RXFIFO_AFULL;

		if (event == RFM2GEVENT_SYNC_LOSS)
			continue;	/* The fibre leads nowhere. */
		assert_int_equal(waits(event), latched ? RFM2G_SUCCESS : RFM2G_TIMED_OUT);
		assert_int_equal(RFM2gEnableEvent(board, event), RFM2G_SUCCESS);
		assert_int_equal(waits(event), RFM2G_TIMED_OUT);
	}
	ring_status(node_of(rfm), RFMRING_BAD_DATA | RFMRING_RX_FULL);
	assert_int_equal(waits(RFM2GEVENT_BAD_DATA), RFM2G_SUCCESS);
	assert_int_equal(waits(RFM2GEVENT_RXFIFO_FULL), RFM2G_SUCCESS);
	assert_int_equal(RFM2gClose(&board), RFM2G_SUCCESS);
	assert_int_equal(rfm_close(rfm), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(a_latched_error_is_told_once),
	};

	return cmocka_run_group_tests_name("rfm2g_latched", tests, NULL, NULL);
}
