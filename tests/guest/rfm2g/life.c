// SPDX-License-Identifier: MIT
/* Threads, fork, an exit in a callback, and a card that goes. */
#include "tests/guest/rfm2g/private.h"

#include <sys/resource.h>
#include <sys/wait.h>

/* --- threads, fork, exit ----------------------------------------------------------- */

#define THREADS	8
#define ROUNDS	300

/* Each its own words, events that all have, and handles that come and go. */
static void *do_all(void *number)
{
	RFM2G_UINT32 at = PLACE + 24 * PAGE + 16 * (uintptr_t)number, word;
	unsigned long bad = 0;
	RFM2GHANDLE handle;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, RFM2G_NO_WAIT);
		RFM2G_STATUS status;

		bad += RFM2gOpen((uintptr_t)number & 1 ? near_path : far_path, &handle) != 0;
		bad += RFM2gPoke32(handle, at, i) != 0;
		bad += RFM2gPeek32(handle, at, &word) != 0 || word != i;
		bad += RFM2gEnableEvent(handle, RFM2GEVENT_INTR1) != 0;
		RFM2gSendEvent(handle, RFM2G_NODE_ALL, RFM2GEVENT_INTR1, i);
		status = RFM2gWaitForEvent(handle, &info);
		bad += status && status != RFM2G_TIMED_OUT && status != RFM2G_EVENT_IN_USE &&
		       status != RFM2G_WAIT_EVENT_CANCELED;
		status = RFM2gEnableEventCallback(handle, RFM2GEVENT_INTR3, no_callback);
		bad += status && status != RFM2G_EVENT_IN_USE;
		RFM2gCancelWaitForEvent(handle, RFM2GEVENT_INTR1);
		bad += RFM2gClose(&handle) != 0;
	}
	return (void *)bad;
}

void threads_at_once(void)
{
	pthread_t threads[THREADS];
	void *bad;

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, do_all, (void *)i);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &bad);
		CHECK_EQ((unsigned long)bad, 0);
	}
	IS(RFM2gClearEvent(near, RFM2GEVENT_LAST), SUCCESS);
	IS(RFM2gClearEvent(far, RFM2GEVENT_LAST), SUCCESS);
	/* None of them is left. */
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR3, no_callback), SUCCESS);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR3), SUCCESS);
}

/* In the child, after fork(): 0, or the line that is wrong. */
static int in_child(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, PATIENCE_MS);
	RFM2GHANDLE copy = far;
	RFM2G_UINT32 word;

	if (!on_card)
		return RFM2gPeek32(near, PLACE, &word) != RFM2G_BAD_PARAMETER_1 ||
		       RFM2gWaitForEvent(far, &info) != RFM2G_BAD_PARAMETER_1 ||
		       RFM2gClose(&copy) != RFM2G_BAD_PARAMETER_1 ? __LINE__ : 0;
	if (RFM2gPoke32(near, PLACE, 0x600dc41d) || RFM2gPeek32(near, PLACE, &word) ||
	    word != 0x600dc41d)
		return __LINE__;
	if (RFM2gEnableEvent(far, RFM2GEVENT_INTR1) ||
	    RFM2gSendEvent(near, far_node, RFM2GEVENT_INTR1, 4711))
		return __LINE__;
	/* Others send meanwhile. */
	do {
		if (RFM2gWaitForEvent(far, &info))
			return __LINE__;
	} while (info.ExtendedInfo != 4711);
	if (RFM2gClose(&near) || RFM2gClose(&far))
		return __LINE__;
	return 0;
}

/* While threads are in the middle of calls. */
void a_fork(void)
{
	struct waiter waiter;
	pthread_t busy;
	RFM2G_UINT32 word;
	pid_t child;

	quiet(RFM2GEVENT_INTR1);
	start_waiting(&waiter, far, RFM2GEVENT_INTR2);
	pthread_create(&busy, NULL, do_all, (void *)1);
	for (int i = 0; i < 10; i++) {
		child = fork();
		if (!child) {
			int line;

			alarm(60);
			line = in_child();
			if (line)
				tap_note("in the child, line %d", line);
			_exit(!!line);
		}
		CHECK_EQ(of_child(child), 0);
	}
	pthread_join(busy, NULL);
	IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, WAIT_EVENT_CANCELED);
	IS(RFM2gPeek32(near, PLACE, &word), SUCCESS);
	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	sends(RFM2GEVENT_INTR1, 5);
	comes(RFM2GEVENT_INTR1, 5);
}

/* A child that has no room for streams of its own is told so, and does not wait in vain. */
void a_fork_without_files(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, PATIENCE_MS);
	struct rlimit before, none;
	pid_t child;

	if (!on_card) {
		tap_skip("a node is in one process");
		return;
	}
	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &before));
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	child = fork();
	setrlimit(RLIMIT_NOFILE, &before);
	if (!child) {
		alarm(2 * PATIENCE_MS / 1000);
		_exit(RFM2gWaitForEvent(far, &info));
	}
	IS(of_child(child), DRIVER_ERROR);
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
}

static void exit_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	(void)handle;
	(void)info;
	exit(77);
}

/* This program, in a process that exits in a callback while others are in calls. */
int exits_in_callback(void)
{
	RFM2GHANDLE from, to;
	RFM2G_NODE node;
	pthread_t busy;

	alarm(120);
	near_path = spare_near;
	far_path = spare_far;
	if (RFM2gOpen(spare_near, &from) || RFM2gOpen(spare_far, &to) || RFM2gNodeID(to, &node) ||
	    RFM2gEnableEvent(to, RFM2GEVENT_INTR2) ||
	    RFM2gEnableEventCallback(to, RFM2GEVENT_INTR2, exit_in_callback) ||
	    pthread_create(&busy, NULL, do_all, (void *)0))
		return 1;
	for (;;)
		RFM2gSendEvent(from, node, RFM2GEVENT_INTR2, 0);
}

void an_exit_in_a_callback(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		execl("/proc/self/exe", "rfm2g_test", "--exit", spare_near, spare_far, NULL);
		_exit(2);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 77);
}

/* --- a card that goes -------------------------------------------------------------- */

static volatile RFM2G_UINT32 *gone_map;

/* Events that are enabled and are not, of both kinds; each is waited for, or called for. */
static const RFM2GEVENTTYPE waited[] = { RFM2GEVENT_INTR1, RFM2GEVENT_INTR2, RFM2GEVENT_ROGUE_PKT };
static const RFM2GEVENTTYPE called[] = { RFM2GEVENT_INTR3, RFM2GEVENT_INTR4, RFM2GEVENT_BAD_DATA };

static void a_card_is_taken_away(void)
{
	struct waiter waiters[ARRAY_SIZE(waited)];
	RFM2G_BOOL on;
	RFM2G_UINT32 word;
	RFM2G_NODE node;
	int fault;

	IS(RFM2gUserMemoryBytes(far, (volatile void **)&gone_map, PLACE, PAGE), SUCCESS);
	REQUIRE(gone_map);
	(void)*gone_map;
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(waited); i++)
		start_waiting(&waiters[i], far, waited[i]);
	for (size_t i = 0; i < ARRAY_SIZE(called); i++)
		IS(RFM2gEnableEventCallback(far, called[i], no_callback), SUCCESS);
	printf("# running\n");
	fflush(stdout);

	for (size_t i = 0; i < ARRAY_SIZE(waited); i++) {
		pthread_join(waiters[i].thread, NULL);
		IS(waiters[i].status, DRIVER_ERROR);
	}
	/* As soon as the thread has ended: until then it is somebody's. */
	for (size_t i = 0; i < ARRAY_SIZE(called); i++) {
		RFM2G_STATUS status;

		do {
			status = RFM2gEnableEventCallback(far, called[i], no_callback);
		} while (status == RFM2G_EVENT_IN_USE);
		IS(status, DRIVER_ERROR);
		IS(RFM2gDisableEventCallback(far, called[i]), NOT_ENABLED);
	}
	/* Who waits is woken before the mappings go. */
	while (!(fault = load_fault((volatile uint8_t *)gone_map)))
		;
	CHECK_EQ(fault, SIGBUS);
	IS(RFM2gPeek32(far, PLACE, &word), OS_ERROR);
	IS(RFM2gPoke32(far, PLACE, 1), OS_ERROR);
	IS(RFM2gGetTransmit(far, &on), OS_ERROR);
	IS(RFM2gCheckRingCont(far), OS_ERROR);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), DRIVER_ERROR);
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gClearEvent(far, RFM2GEVENT_LAST), DRIVER_ERROR);
	IS(RFM2gClearEventStats(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gFlushEventQueue(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gSendEvent(far, RFM2G_NODE_ALL, RFM2GEVENT_INTR1, 0), DRIVER_ERROR);
	IS(RFM2gGetEventCount(far, RFM2GEVENT_INTR1, &word), DRIVER_ERROR);
	IS(RFM2gNodeID(far, &node), SUCCESS);
	IS(RFM2gUnMapUserMemoryBytes(far, (volatile void **)&gone_map, PAGE), SUCCESS);
	IS(RFM2gClose(&far), SUCCESS);
}

/* In the place of one that has gone, whose number it has, while that is still open. */
static void the_next_card_is_opened(void)
{
	uint64_t end = now_ns() + PATIENCE_NS;
	RFM2GHANDLE next = NULL;
	RFM2G_STATUS status;
	RFM2G_UINT32 word;

	do {
		status = RFM2gOpen(near_path, &next);
		sleep_ms(10);
	} while (status == RFM2G_NO_RFM2G_BOARD && now_ns() < end);
	IS(status, SUCCESS);
	REQUIRE(next);
	IS(RFM2gPeek32(next, PLACE, &word), SUCCESS);
	IS(RFM2gPeek32(near, PLACE, &word), OS_ERROR);
	IS(RFM2gClose(&near), SUCCESS);
	IS(RFM2gPeek32(next, PLACE, &word), SUCCESS);
	IS(RFM2gClose(&next), SUCCESS);
}

/* This program with a card that somebody takes away after "running", and @back: puts back. */
int sees_it_go(char *path, bool back)
{
	static const struct tap_case cases[] = {
		TAP_CASE(a_card_is_taken_away),
		TAP_CASE(the_next_card_is_opened),
	};
	RFM2G_STATUS status = RFM2gOpen(path, &far);

	near_path = path;
	if (!status && back)
		status = RFM2gOpen(path, &near);
	if (!status)
		return tap_run(cases, back ? 2 : 1);
	printf("Bail out! %s: %s\n", path, RFM2gErrorMsg(status));
	return TAP_FAIL;
}
