// SPDX-License-Identifier: MIT
/* Events, and who waits for them. */
#include "tests/guest/rfm2g/private.h"

#include <sys/wait.h>

void events_come(void)
{
	const RFM2GEVENTTYPE events[] = {
		RFM2GEVENT_RESET, RFM2GEVENT_INTR1, RFM2GEVENT_INTR2, RFM2GEVENT_INTR3,
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		RFM2GEVENTTYPE event = events[i];

		quiet(event);
		IS(RFM2gEnableEvent(far, event), SUCCESS);
		IS(RFM2gEnableEvent(far, event), SUCCESS);
		nothing_comes(event);
		/* One that is there already, and one that is waited for. */
		sends(event, 0x12345678);
		settle();
		comes(event, event == RFM2GEVENT_RESET ? 0 : 0x12345678);
		sends(event, 42);
		comes(event, event == RFM2GEVENT_RESET ? 0 : 42);
		IS(RFM2gSendEvent(near, RFM2G_NODE_ALL, event, 43), SUCCESS);
		comes(event, event == RFM2GEVENT_RESET ? 0 : 43);
		nothing_comes(event);
		IS(RFM2gDisableEvent(far, event), SUCCESS);
		IS(RFM2gDisableEvent(far, event), SUCCESS);
	}
}

void events_that_cannot_be_sent(void)
{
	IS(RFM2gSendEvent(near, near_node, RFM2GEVENT_INTR1, 0), NODE_ID_SELF);
	IS(RFM2gSendEvent(near, 256, RFM2GEVENT_INTR1, 0), BAD_PARAMETER_2);
	IS(RFM2gSendEvent(near, RFM2G_NODE_UNKNOWN, RFM2GEVENT_INTR1, 0), BAD_PARAMETER_2);
	IS(RFM2gSendEvent(near, far_node, RFM2GEVENT_BAD_DATA, 0), BAD_PARAMETER_3);
	IS(RFM2gSendEvent(near, far_node, RFM2GEVENT_SYNC_LOSS, 0), BAD_PARAMETER_3);
}

/* The queue holds one, and those behind it wait, in their order; 128 in all. */
void events_queue(void)
{
	RFM2GQINFO queue = { .Event = RFM2GEVENT_INTR1 };
	RFM2G_UINT32 count;

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	for (unsigned int i = 0; i < 100; i++)
		sends(RFM2GEVENT_INTR1, i);
	counted(RFM2GEVENT_INTR1, 100);
	IS(RFM2gGetEventStats(far, &queue), SUCCESS);
	CHECK_EQ(queue.EventsQueued, 1);
	CHECK_EQ(queue.QueueSize, 1);
	CHECK_EQ(queue.MaxQueueSize, 1);
	CHECK_EQ(queue.QueuePeak, 1);
	CHECK_EQ(queue.EventCount, 100);
	CHECK_EQ(queue.Overflowed, 0);
	for (unsigned int i = 0; i < 100; i++)
		comes(RFM2GEVENT_INTR1, i);
	nothing_comes(RFM2GEVENT_INTR1);
	IS(RFM2gGetEventCount(far, RFM2GEVENT_INTR1, &count), SUCCESS);
	CHECK_EQ(count, 100);
	IS(RFM2gGetEventStats(far, &queue), SUCCESS);
	CHECK_EQ(queue.EventsQueued, 0);
	CHECK_EQ(queue.EventCount, 100);
	CHECK_EQ(queue.EventTimeout, RFM2G_NO_WAIT);
	IS(RFM2gClearEventCount(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gGetEventCount(far, RFM2GEVENT_INTR1, &count), SUCCESS);
	CHECK_EQ(count, 0);
	IS(RFM2gClearEventStats(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gGetEventStats(far, &queue), SUCCESS);
	CHECK_EQ(queue.QueuePeak, 0);
}

/* The queue alone, or all that waits. */
void events_are_thrown_away(void)
{
	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	for (unsigned int i = 0; i < 3; i++)
		sends(RFM2GEVENT_INTR1, i);
	counted(RFM2GEVENT_INTR1, 3);
	IS(RFM2gFlushEventQueue(far, RFM2GEVENT_INTR1), SUCCESS);
	comes(RFM2GEVENT_INTR1, 1);
	IS(RFM2gClearEvent(far, RFM2GEVENT_LAST), SUCCESS);
	nothing_comes(RFM2GEVENT_INTR1);
}

/* One that nobody has enabled yet waits in the card, and is heard or thrown away. */
void events_that_wait(void)
{
	sends(RFM2GEVENT_INTR3, 7);
	sends(RFM2GEVENT_INTR2, 8);
	settle();
	IS(RFM2gClearEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	nothing_comes(RFM2GEVENT_INTR3);
	comes(RFM2GEVENT_INTR2, 8);
	nothing_comes(RFM2GEVENT_INTR2);
}

/* While it is disabled nothing comes, and nothing is lost. */
void events_are_disabled(void)
{
	quiet(RFM2GEVENT_INTR3);
	for (unsigned int i = 0; i < 20; i++)
		sends(RFM2GEVENT_INTR3, i);
	settle();
	nothing_comes(RFM2GEVENT_INTR3);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	for (unsigned int i = 0; i < 20; i++)
		comes(RFM2GEVENT_INTR3, i);
	nothing_comes(RFM2GEVENT_INTR3);
}

static void *wait_in_thread(void *of)
{
	struct waiter *waiter = of;

	/* Who looks whether it waits waits itself for a moment. */
	do {
		waiter->status = RFM2gWaitForEvent(waiter->handle, &waiter->info);
	} while (waiter->status == RFM2G_EVENT_IN_USE);
	return NULL;
}

/* Returns when it waits: then, and only then, a second one is refused. */
void start_waiting(struct waiter *waiter, RFM2GHANDLE handle, RFM2GEVENTTYPE event)
{
	RFM2GEVENTINFO info = waits_for(event, RFM2G_NO_WAIT);
	uint64_t end = now_ns() + PATIENCE_NS;

	*waiter = (struct waiter){ .handle = handle,
				   .info = waits_for(event, RFM2G_INFINITE_TIMEOUT) };
	pthread_create(&waiter->thread, NULL, wait_in_thread, waiter);
	while (RFM2gWaitForEvent(far, &info) != RFM2G_EVENT_IN_USE && now_ns() < end)
		info = waits_for(event, RFM2G_NO_WAIT);
}

void one_waits(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, RFM2G_INFINITE_TIMEOUT);
	struct waiter waiter;
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	start_waiting(&waiter, second, RFM2GEVENT_INTR1);
	IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
	IS(RFM2gWaitForEvent(second, &info), EVENT_IN_USE);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR1, no_callback), EVENT_IN_USE);
	sends(RFM2GEVENT_INTR1, 99);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, SUCCESS);
	CHECK_EQ(waiter.info.ExtendedInfo, 99);
	IS(RFM2gClose(&second), SUCCESS);
}

/* This program, in a process that waits for one event. */
int waits_for_one(char *path)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR3, PATIENCE_MS);
	RFM2G_STATUS status;
	RFM2GHANDLE handle;

	alarm(120);
	if (RFM2gOpen(path, &handle) || RFM2gEnableEvent(handle, RFM2GEVENT_INTR3))
		return 1;
	/* Who looks whether it waits waits itself for a moment. */
	do {
		status = RFM2gWaitForEvent(handle, &info);
	} while (status == RFM2G_EVENT_IN_USE);
	return status || info.ExtendedInfo != 31 || RFM2gClose(&handle);
}

/* This program, in a process that does not wait: what it is told. */
int tries(char *path, const char *event)
{
	RFM2GEVENTINFO info = waits_for(atoi(event), RFM2G_NO_WAIT);
	RFM2GHANDLE handle;

	alarm(120);
	return RFM2gOpen(path, &handle) ? 255 : (int)RFM2gWaitForEvent(handle, &info);
}

RFM2G_STATUS of_child(pid_t child)
{
	int status = -1;

	CHECK_EQ(waitpid(child, &status, 0), child);
	return CHECK(WIFEXITED(status)) ? WEXITSTATUS(status) : 255;
}

RFM2G_STATUS tried_elsewhere(RFM2GEVENTTYPE event)
{
	char text[8];
	pid_t child = fork();

	if (!child) {
		snprintf(text, sizeof(text), "%d", event);
		execl("/proc/self/exe", "rfm2g_test", "--try", far_path, text, NULL);
		_exit(255);
	}
	return of_child(child);
}

void one_waits_of_all_processes(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR3, RFM2G_NO_WAIT);
	uint64_t end = now_ns() + PATIENCE_NS;
	int status = -1;
	pid_t child;

	if (!on_card) {
		tap_skip("a node is in one process");
		return;
	}
	quiet(RFM2GEVENT_INTR3);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "rfm2g_test", "--wait", far_path, NULL);
		_exit(2);
	}
	while (RFM2gWaitForEvent(far, &info) != RFM2G_EVENT_IN_USE && now_ns() < end)
		sleep_ms(1);
	IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
	sends(RFM2GEVENT_INTR3, 31);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	/* Each process that has enabled it hears it. */
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	comes(RFM2GEVENT_INTR3, 31);
}

/* A child is another process, and does not let others in either. */
void one_waits_of_parent_and_child(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR3, RFM2G_NO_WAIT);
	struct waiter waiter;
	pid_t child;

	if (!on_card) {
		tap_skip("a node is in one process");
		return;
	}
	quiet(RFM2GEVENT_INTR3);
	start_waiting(&waiter, far, RFM2GEVENT_INTR3);
	child = fork();
	if (!child) {
		alarm(60);
		_exit(RFM2gWaitForEvent(far, &info));
	}
	IS(of_child(child), EVENT_IN_USE);
	IS(tried_elsewhere(RFM2GEVENT_INTR3), EVENT_IN_USE);
	IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(tried_elsewhere(RFM2GEVENT_INTR3), TIMED_OUT);
}

void waits_are_cancelled(void)
{
	struct waiter waiter;
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR1), EVENT_NOT_IN_USE);
	/* Enabled or not; and afterwards it is as before. */
	for (int i = 0; i < 2; i++) {
		start_waiting(&waiter, far, RFM2GEVENT_INTR1);
		IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR1), SUCCESS);
		IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR1), EVENT_NOT_IN_USE);
		pthread_join(waiter.thread, NULL);
		IS(waiter.status, WAIT_EVENT_CANCELED);
		IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	}
	sends(RFM2GEVENT_INTR1, 3);
	comes(RFM2GEVENT_INTR1, 3);
	/* With its handle a wait ends too. */
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	start_waiting(&waiter, second, RFM2GEVENT_INTR1);
	IS(RFM2gClose(&second), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, WAIT_EVENT_CANCELED);
	/* One that is waited for while disabled comes when it is enabled. */
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	start_waiting(&waiter, far, RFM2GEVENT_INTR1);
	sends(RFM2GEVENT_INTR1, 4);
	settle();
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, SUCCESS);
	CHECK_EQ(waiter.info.ExtendedInfo, 4);
}

void waits_end_in_time(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, 50);
	uint64_t begun = now_ns();

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	begun = now_ns();
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
	CHECK(now_ns() - begun >= 50000000 && now_ns() - begun < PATIENCE_NS);
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	begun = now_ns();
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
	CHECK(now_ns() - begun >= 50000000 && now_ns() - begun < PATIENCE_NS);
}

void caught(int signo)
{
	(void)signo;
}

void a_signal_ends_a_wait(void)
{
	struct sigaction action = { .sa_handler = caught }, before;
	struct waiter waiter;
	uint64_t end = now_ns() + PATIENCE_NS;

	sigaction(SIGUSR1, &action, &before);
	start_waiting(&waiter, far, RFM2GEVENT_INTR1);
	/* It waits, but may not sleep yet. */
	while (pthread_tryjoin_np(waiter.thread, NULL) && now_ns() < end) {
		pthread_kill(waiter.thread, SIGUSR1);
		sleep_ms(1);
	}
	IS(waiter.status, SIGNALED);
	sigaction(SIGUSR1, &before, NULL);
}
