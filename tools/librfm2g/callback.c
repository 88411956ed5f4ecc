// SPDX-License-Identifier: MIT
/*
 * Threads that wait for an event, and call. RFM2gEnableEventCallback() returns when its thread
 * has looked once at what was there, as theirs does.
 */
#include "private.h"

#include <stdlib.h>

/* What the thread is given, and what it says to who has made it. */
struct start {
	struct handle *handle;
	RFM2GEVENTTYPE event;
	RFM2G_EVENT_FUNCPTR function;
	unsigned int turn;
	pthread_mutex_t lock;
	pthread_cond_t looked;
	bool has_looked;
	RFM2G_STATUS seen;
};

/* This thread is a callback's. */
static _Thread_local bool is_callback;

/* Nobody serves the event any more, if it was this thread that did. */
static void give_up(const struct start *start)
{
	struct board *board = start->handle->board;
	struct channel *channel = &board->channel[start->event];

	pthread_mutex_lock(&board->lock);
	if (channel->turn == start->turn)
		channel->callback = NULL;
	event_release(board, channel);
	pthread_mutex_unlock(&board->lock);
}

static void tell_looked(struct start *start, RFM2G_STATUS seen)
{
	pthread_mutex_lock(&start->lock);
	start->has_looked = true;
	start->seen = seen;
	pthread_cond_signal(&start->looked);
	pthread_mutex_unlock(&start->lock);
}

/* Has the thread more to do? Else it was cancelled, or cannot go on. */
static bool goes_on(RFM2G_STATUS status)
{
	return !status || status == RFM2G_TIMED_OUT || status == RFM2G_SIGNALED;
}

/* The function has returned, or has ended its thread. */
static void has_run(void *given)
{
	const struct start *start = given;
	struct board *board = start->handle->board;
	unsigned int *running = &start->handle->running[start->event];

	pthread_mutex_lock(&board->lock);
	/* None does if it has forked, and this is the child. */
	if (*running)
		--*running;
	pthread_cond_broadcast(&board->wait_ended);
	pthread_mutex_unlock(&board->lock);
}

static void call(struct start *start, RFM2GEVENTINFO *info)
{
	pthread_cleanup_push(has_run, start);
	start->function(&start->handle->open, info);
	pthread_cleanup_pop(true);
}

static void has_ended(void *given)
{
	const struct start *start = given;

	give_up(start);
	handle_put(start->handle, RFM2G_SUCCESS);
}

/* @given is the maker's, and gone once it has been told: that nobody serves is true by then. */
static void *serve(void *given)
{
	struct start start = *(struct start *)given;
	RFM2GEVENTINFO info = { .Event = start.event, .Timeout = RFM2G_NO_WAIT };
	RFM2G_STATUS status;

	is_callback = true;
	status = event_wait(start.handle, &info, start.turn);
	if (!goes_on(status))
		give_up(&start);
	tell_looked(given, status);
	pthread_cleanup_push(has_ended, &start);
	while (goes_on(status)) {
		if (!status)
			call(&start, &info);
		info = (RFM2GEVENTINFO){ .Event = start.event,
					 .Timeout = RFM2G_INFINITE_TIMEOUT };
		status = event_wait(start.handle, &info, start.turn);
		if (status == RFM2G_DRIVER_ERROR)
			say_error("the callback of event %d has ended: %s", start.event,
				  RFM2gErrorMsg(status));
	}
	pthread_cleanup_pop(true);
	return NULL;
}

static RFM2G_STATUS start_thread(struct start *start)
{
	pthread_attr_t detached;
	pthread_t thread;
	int error;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	handle_hold(start->handle);
	error = pthread_create(&thread, &detached, serve, start);
	pthread_attr_destroy(&detached);
	if (error) {
		give_up(start);
		return handle_put(start->handle, RFM2G_OS_ERROR);
	}
	pthread_mutex_lock(&start->lock);
	while (!start->has_looked)
		pthread_cond_wait(&start->looked, &start->lock);
	pthread_mutex_unlock(&start->lock);
	/* What else it may have seen comes and goes. */
	return start->seen == RFM2G_DRIVER_ERROR ? RFM2G_DRIVER_ERROR : RFM2G_SUCCESS;
}

static RFM2G_STATUS enable_callback(struct handle *handle, RFM2GEVENTTYPE event,
				    RFM2G_EVENT_FUNCPTR function)
{
	struct channel *channel = &handle->board->channel[event];
	struct start start = { .handle = handle, .event = event, .function = function };
	RFM2G_STATUS status;

	pthread_mutex_lock(&handle->board->lock);
	status = event_take(handle, channel);
	if (!status) {
		channel->callback = handle;
		/* 0 is no callback's. */
		if (!++channel->turn)
			channel->turn = 1;
		start.turn = channel->turn;
	}
	pthread_mutex_unlock(&handle->board->lock);
	if (status)
		return status;
	pthread_mutex_init(&start.lock, NULL);
	pthread_cond_init(&start.looked, NULL);
	status = start_thread(&start);
	pthread_cond_destroy(&start.looked);
	pthread_mutex_destroy(&start.lock);
	return status;
}

RFM2G_STATUS RFM2gEnableEventCallback(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType,
				      RFM2G_EVENT_FUNCPTR pEventFunc)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!event_is_good(EventType))
		status = RFM2G_BAD_PARAMETER_2;
	else if (!pEventFunc)
		status = RFM2G_BAD_PARAMETER_3;
	else
		status = enable_callback(handle, EventType, pEventFunc);
	return handle_put(handle, status);
}

void callback_end(struct handle *handle, RFM2GEVENTTYPE event, bool cancels)
{
	struct board *board = handle->board;
	struct channel *channel = &board->channel[event];

	if (channel->callback == handle) {
		channel->callback = NULL;
		channel->turn++;
		event_release(board, channel);
	}
	if (cancels)
		event_cancel(board, channel);
}

/* A callback does not wait for a function that runs: it may be its own, or wait for this one. */
void callback_wait(struct handle *handle, RFM2GEVENTTYPE event)
{
	struct board *board = handle->board;

	while (handle->running[event] && !is_callback)
		pthread_cond_wait(&board->wait_ended, &board->lock);
}

/* As theirs, this ends a wait of another call too, and says so if there is nothing to end. */
static RFM2G_STATUS disable_callback(struct handle *handle, RFM2GEVENTTYPE event)
{
	const struct channel *channel = &handle->board->channel[event];

	if (channel->callback != handle && !channel->waiter)
		return RFM2G_NOT_ENABLED;
	callback_end(handle, event, true);
	callback_wait(handle, event);
	return RFM2G_SUCCESS;
}

RFM2G_STATUS RFM2gDisableEventCallback(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!event_is_good(EventType))
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	pthread_mutex_lock(&handle->board->lock);
	status = disable_callback(handle, EventType);
	pthread_mutex_unlock(&handle->board->lock);
	return handle_put(handle, status);
}
