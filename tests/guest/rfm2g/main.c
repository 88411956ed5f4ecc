// SPDX-License-Identifier: MIT
/*
 * librfm2g: rfm2g_test NEAR FAR [NARROW | SPARE_NEAR SPARE_FAR]. Two nodes on one ring, cards
 * of this machine or nodes in this process ("ring:..."); a card whose window is smaller than
 * its memory; and two for a process that ends while it has them, the same unless given. All
 * 68 calls: success, errors, NULL and stale handles, threads, fork, an exit in a callback.
 * One source for both kinds. rfm2g_test --gone CARD is what programs see of a card that goes,
 * --back CARD also of the one in its place.
 */
#include "tests/guest/rfm2g/private.h"

/* What has been stored and sent by the near node is at the far one. */
bool settle(void)
{
	static RFM2G_UINT32 number;
	RFM2GEVENTINFO info = { .Event = RFM2GEVENT_INTR4, .Timeout = PATIENCE_MS };
	RFM2G_STATUS status;

	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR4), SUCCESS);
	IS(RFM2gSendEvent(near, far_node, RFM2GEVENT_INTR4, ++number), SUCCESS);
	do {
		status = RFM2gWaitForEvent(far, &info);
	} while (!status && info.ExtendedInfo != number);
	return IS(status, SUCCESS);
}

RFM2GEVENTINFO waits_for(RFM2GEVENTTYPE event, RFM2G_UINT32 timeout)
{
	return (RFM2GEVENTINFO){ .Event = event, .Timeout = timeout, .ExtendedInfo = 0xa5a5a5a5,
				 .NodeId = 0xa5a5 };
}

/* The next event of the far node is from the near one, and brings this. */
void comes(RFM2GEVENTTYPE event, RFM2G_UINT32 data)
{
	RFM2GEVENTINFO info = waits_for(event, PATIENCE_MS);

	if (!IS(RFM2gWaitForEvent(far, &info), SUCCESS))
		return;
	CHECK_EQ(info.ExtendedInfo, data);
	CHECK_EQ(info.NodeId, near_node);
	CHECK_EQ(info.Event, event);
}

void nothing_comes(RFM2GEVENTTYPE event)
{
	RFM2GEVENTINFO info = waits_for(event, RFM2G_NO_WAIT);

	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
}

void sends(RFM2GEVENTTYPE event, RFM2G_UINT32 data)
{
	IS(RFM2gSendEvent(near, far_node, event, data), SUCCESS);
}

/* The far node has taken so many from its card since they were cleared. */
bool counted(RFM2GEVENTTYPE event, RFM2G_UINT32 wanted)
{
	uint64_t end = now_ns() + PATIENCE_NS;
	RFM2G_UINT32 count = 0;

	while (count < wanted && now_ns() < end)
		if (!IS(RFM2gGetEventCount(far, event, &count), SUCCESS))
			return false;
	return CHECK(count >= wanted);
}

/* Nobody has events enabled, none waits. */
void quiet(RFM2GEVENTTYPE event)
{
	IS(RFM2gDisableEvent(far, event), SUCCESS);
	settle();
	IS(RFM2gClearEvent(far, event), SUCCESS);
	IS(RFM2gClearEventStats(far, event), SUCCESS);
}

void no_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	(void)handle;
	(void)info;
}

int rfm2g_test_main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(opening),
		TAP_CASE(a_handle_is_null),
		TAP_CASE(a_handle_is_stale),
		TAP_CASE(a_pointer_is_null),
		TAP_CASE(an_event_is_none),
		TAP_CASE(what_it_is),
		TAP_CASE(every_status_has_a_sentence),
		TAP_CASE(words),
		TAP_CASE(what_is_no_place),
		TAP_CASE(transfers),
		TAP_CASE(transfers_by_dma),
		TAP_CASE(byte_swaps),
		TAP_CASE(mappings),
		TAP_CASE(mappings_that_are_none),
		TAP_CASE(windows),
		TAP_CASE(windows_that_slide),
		TAP_CASE(events_that_wait),
		TAP_CASE(events_come),
		TAP_CASE(events_that_cannot_be_sent),
		TAP_CASE(events_queue),
		TAP_CASE(events_are_thrown_away),
		TAP_CASE(events_are_disabled),
		TAP_CASE(one_waits),
		TAP_CASE(one_waits_of_all_processes),
		TAP_CASE(one_waits_of_parent_and_child),
		TAP_CASE(waits_are_cancelled),
		TAP_CASE(waits_end_in_time),
		TAP_CASE(a_signal_ends_a_wait),
		TAP_CASE(callbacks),
		TAP_CASE(callbacks_keep_their_event),
		TAP_CASE(callbacks_that_end),
		TAP_CASE(callbacks_whose_thread_ends),
		TAP_CASE(callbacks_have_returned),
		TAP_CASE(closing_ends_waits_of_callbacks),
		TAP_CASE(callbacks_that_end_each_other),
		TAP_CASE(a_lost_signal),
		TAP_CASE(a_ring_check_under_signals),
		TAP_CASE(settings),
		TAP_CASE(registers),
		TAP_CASE(registers_of_the_card),
		TAP_CASE(what_takes_a_capability),
		TAP_CASE(threads_at_once),
		TAP_CASE(a_fork),
		TAP_CASE(a_fork_without_files),
		TAP_CASE(an_exit_in_a_callback),
	};
	RFM2G_STATUS status;

	if (argc == 4 && !strcmp(argv[1], "--exit")) {
		spare_near = argv[2];
		spare_far = argv[3];
		return exits_in_callback();
	}
	if (argc == 3 && !strcmp(argv[1], "--wait"))
		return waits_for_one(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--try"))
		return tries(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--gone"))
		return sees_it_go(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "--back"))
		return sees_it_go(argv[2], true);
	near_path = (char *)card_path(argc, argv, 0);
	far_path = (char *)card_path(argc, argv, 1);
	if (!near_path || !far_path)
		tap_skip_all("two cards are needed");
	narrow_path = argc == 4 ? argv[3] : NULL;
	spare_near = argc > 4 ? argv[3] : near_path;
	spare_far = argc > 4 ? argv[4] : far_path;
	on_card = strncmp(near_path, "ring:", 5);
	status = RFM2gOpen(near_path, &near);
	if (!status)
		status = RFM2gOpen(far_path, &far);
	if (!status)
		status = RFM2gOpen(far_path, &stale);
	if (status || RFM2gSize(near, &size) || RFM2gNodeID(near, &near_node) ||
	    RFM2gNodeID(far, &far_node)) {
		printf("Bail out! the boards: %s\n", RFM2gErrorMsg(status));
		return TAP_FAIL;
	}
	{
		RFM2GHANDLE closed = stale;

		RFM2gClose(&closed);
	}
	if (!ring_is_up()) {
		printf("Bail out! the boards are no ring\n");
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}

/* Unless there is another, as in tests/unit/rfm2g_test.c. */
__weak int main(int argc, char **argv)
{
	return rfm2g_test_main(argc, argv);
}
