// SPDX-License-Identifier: MIT
/* Functions that are called for events. */
#include "tests/guest/rfm2g/private.h"

#include <semaphore.h>

static RFM2GEVENTINFO heard[256];
static RFM2GHANDLE heard_by;
static sem_t heard_one;
static unsigned int heard_count;

static void hear(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	heard_by = handle;
	heard[heard_count++ % ARRAY_SIZE(heard)] = *info;
	sem_post(&heard_one);
}

static bool next_heard(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	return CHECK(!sem_timedwait(&heard_one, &until));
}

void callbacks(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR2, RFM2G_NO_WAIT);

	quiet(RFM2GEVENT_INTR2);
	heard_count = 0;
	sem_init(&heard_one, 0, 0);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), NOT_ENABLED);
	/* It does not enable the event. */
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear), SUCCESS);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear), EVENT_IN_USE);
	IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
	sends(RFM2GEVENT_INTR2, 1000);
	settle();
	CHECK_EQ(heard_count, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	for (unsigned int i = 1; i < 100; i++)
		sends(RFM2GEVENT_INTR2, 1000 + i);
	for (unsigned int i = 0; i < 100 && next_heard(); i++) {
		CHECK_EQ(heard[i].ExtendedInfo, 1000 + i);
		CHECK_EQ(heard[i].NodeId, near_node);
		CHECK_EQ(heard[i].Event, RFM2GEVENT_INTR2);
	}
	CHECK(heard_by == far);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), NOT_ENABLED);
	sends(RFM2GEVENT_INTR2, 5);
	settle();
	CHECK_EQ(heard_count, 100);
	/* One that is there already: it comes to a new callback first. */
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear), SUCCESS);
	next_heard();
	CHECK_EQ(heard[100].ExtendedInfo, 5);
	/* A cancelled wait is the end of it. */
	while (RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR2) == RFM2G_EVENT_NOT_IN_USE)
		sched_yield();
	while (RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear) == RFM2G_EVENT_IN_USE)
		sched_yield();
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), SUCCESS);
}

static void close_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	hear(handle, info);
	IS(RFM2gClose(&handle), SUCCESS);
	sem_post(&heard_one);
}

static void stop_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	IS(RFM2gDisableEventCallback(handle, info->Event), SUCCESS);
	hear(handle, info);
}

/* A callback may end itself, or close its handle. */
void callbacks_that_end(void)
{
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, stop_in_callback), SUCCESS);
	sends(RFM2GEVENT_INTR2, 1);
	next_heard();
	sends(RFM2GEVENT_INTR2, 2);
	comes(RFM2GEVENT_INTR2, 2);
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	IS(RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2, close_in_callback), SUCCESS);
	sends(RFM2GEVENT_INTR2, 3);
	next_heard();
	next_heard();
	IS(RFM2gClose(&second), BAD_PARAMETER_1);
	sends(RFM2GEVENT_INTR2, 4);
	comes(RFM2GEVENT_INTR2, 4);
	/* Closing it from outside ends it too, at once. */
	for (int i = 0; i < 200; i++) {
		IS(RFM2gOpen(far_path, &second), SUCCESS);
		IS(RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2, hear), SUCCESS);
		IS(RFM2gClose(&second), SUCCESS);
		sends(RFM2GEVENT_INTR2, 5);
		comes(RFM2GEVENT_INTR2, 5);
	}
}

static void exit_thread_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	hear(handle, info);
	pthread_exit(NULL);
}

/* A function that ends its thread has ended its callback, and nobody waits for it. */
void callbacks_whose_thread_ends(void)
{
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	for (unsigned int i = 0; i < 20; i++) {
		RFM2G_STATUS status;

		do {
			status = RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2,
							  exit_thread_in_callback);
		} while (status == RFM2G_EVENT_IN_USE);
		IS(status, SUCCESS);
		sends(RFM2GEVENT_INTR2, i);
		next_heard();
	}
	IS(RFM2gClose(&second), SUCCESS);
	sends(RFM2GEVENT_INTR2, 21);
	comes(RFM2GEVENT_INTR2, 21);
}

static sem_t go_on;
static volatile bool has_returned;

static void hear_and_stay(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	hear(handle, info);
	sem_wait(&go_on);
}

/* A callback has its event for itself also while its function runs. */
void callbacks_keep_their_event(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR2, RFM2G_NO_WAIT);

	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	sem_init(&go_on, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear_and_stay), SUCCESS);
	for (unsigned int i = 0; i < 3; i++) {
		sends(RFM2GEVENT_INTR2, i);
		next_heard();
		IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
		if (on_card)
			IS(tried_elsewhere(RFM2GEVENT_INTR2), EVENT_IN_USE);
		sem_post(&go_on);
	}
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), SUCCESS);
	if (on_card)
		IS(tried_elsewhere(RFM2GEVENT_INTR2), TIMED_OUT);
}

/* Until somebody has begun to end the callback, and a while longer. */
static void hear_until_disabled(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	RFM2GEVENTINFO no = waits_for(info->Event, RFM2G_NO_WAIT);

	hear(handle, info);
	while (RFM2gWaitForEvent(far, &no) == RFM2G_EVENT_IN_USE)
		sched_yield();
	sleep_ms(20);
	has_returned = true;
}

/* @function has begun for a handle of its own, and has returned when @end says so. */
static void ends_when_returned(RFM2G_EVENT_FUNCPTR function, RFM2G_STATUS (*end)(RFM2GHANDLE *))
{
	RFM2GHANDLE second;

	IS(RFM2gOpen(far_path, &second), SUCCESS);
	IS(RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2, function), SUCCESS);
	has_returned = false;
	sends(RFM2GEVENT_INTR2, 1);
	next_heard();
	IS(end(&second), SUCCESS);
	CHECK(has_returned);
	if (second)
		IS(RFM2gClose(&second), SUCCESS);
}

static RFM2G_STATUS disable_only(RFM2GHANDLE *handle)
{
	return RFM2gDisableEventCallback(*handle, RFM2GEVENT_INTR2);
}

/* No function runs when its callback has been disabled, or its handle closed. */
void callbacks_have_returned(void)
{
	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	ends_when_returned(hear_until_disabled, disable_only);
	ends_when_returned(hear_until_disabled, RFM2gClose);
}

/* For another event, which does not come. */
static void hear_and_wait(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	RFM2GEVENTINFO other = waits_for(RFM2GEVENT_INTR3, RFM2G_INFINITE_TIMEOUT);
	RFM2G_STATUS status;

	hear(handle, info);
	status = RFM2gWaitForEvent(handle, &other);
	CHECK(status == RFM2G_WAIT_EVENT_CANCELED || status == RFM2G_BAD_PARAMETER_1);
	has_returned = true;
}

/* What a function waits for ends before Close waits for the function. */
void closing_ends_waits_of_callbacks(void)
{
	quiet(RFM2GEVENT_INTR2);
	quiet(RFM2GEVENT_INTR3);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	for (int i = 0; i < 50; i++)
		ends_when_returned(hear_and_wait, RFM2gClose);
}

static pthread_barrier_t both;

static void stop_the_other(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	RFM2GEVENTTYPE other = info->Event == RFM2GEVENT_INTR2 ? RFM2GEVENT_INTR3 :
			       RFM2GEVENT_INTR2;

	pthread_barrier_wait(&both);
	IS(RFM2gDisableEventCallback(handle, other), SUCCESS);
	hear(handle, info);
}

/* Two that end each other do not wait for each other. */
void callbacks_that_end_each_other(void)
{
	quiet(RFM2GEVENT_INTR2);
	quiet(RFM2GEVENT_INTR3);
	sem_init(&heard_one, 0, 0);
	pthread_barrier_init(&both, NULL, 2);
	for (RFM2GEVENTTYPE event = RFM2GEVENT_INTR2; event <= RFM2GEVENT_INTR3; event++) {
		IS(RFM2gEnableEvent(far, event), SUCCESS);
		IS(RFM2gEnableEventCallback(far, event, stop_the_other), SUCCESS);
		sends(event, 1);
	}
	next_heard();
	next_heard();
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), NOT_ENABLED);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR3), NOT_ENABLED);
	pthread_barrier_destroy(&both);
}
