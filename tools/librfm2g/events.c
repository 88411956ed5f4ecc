// SPDX-License-Identifier: MIT
/*
 * Events: a channel for each, which is what the vendor's driver has of it. A channel has a
 * queue of one, filled from a stream of librfm, as that driver fills it from the card: of
 * network interrupts the oldest, and those behind it wait in the stream as they would in the
 * card; of errors the newest. Nobody moves anything but who makes a call or waits.
 */
#define _GNU_SOURCE 1		/* F_OFD_SETLK */
#include "private.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define INTERRUPTS_DEPTH	(RFM_FIFO_DEPTH + 1)	/* the card's FIFO and the driver's queue */
#define ERRORS_DEPTH		256
#define LEAST_NS		1000000ull	/* a wait takes a tick at least, as theirs does */
#define OVERFLOWED		8		/* what their driver says for it */

/* Network interrupts and the reset request; all behind them are errors. */
static bool is_sent(RFM2GEVENTTYPE event)
{
	return event <= RFM2GEVENT_INTR4;
}

/* One of these is told, and then no more until it is enabled anew. */
static bool tells_once(RFM2GEVENTTYPE event)
{
	return event == RFM2GEVENT_BAD_DATA || event == RFM2GEVENT_SYNC_LOSS;
}

/* What they are for librfm, and for what has been latched since the driver was loaded. */
static const struct {
	uint32_t type, lisr;
} event_table[RFM2G_EVENTS] = {
	[RFM2GEVENT_RESET] = { RFM_EVENT_RESET, 0 },
	[RFM2GEVENT_INTR1] = { RFM_EVENT_INT1, 0 },
	[RFM2GEVENT_INTR2] = { RFM_EVENT_INT2, 0 },
	[RFM2GEVENT_INTR3] = { RFM_EVENT_INT3, 0 },
	[RFM2GEVENT_INTR4] = { RFM_EVENT_INT4, 0 },
	[RFM2GEVENT_BAD_DATA] = { RFM_EVENT_BAD_DATA, RFM_LISR_BAD_DATA },
	[RFM2GEVENT_RXFIFO_FULL] = { RFM_EVENT_RX_FULL, RFM_LISR_RX_FULL },
	[RFM2GEVENT_ROGUE_PKT] = { RFM_EVENT_ROGUE, RFM_LISR_ROGUE },
	[RFM2GEVENT_RXFIFO_AFULL] = { RFM_EVENT_RX_ALMOST_FULL, RFM_LISR_RX_ALMOST_FULL },
	[RFM2GEVENT_SYNC_LOSS] = { RFM_EVENT_SYNC_LOSS, RFM_LISR_SYNC_LOSS },
	[RFM2GEVENT_MEM_WRITE_INHIBITED] = { RFM_EVENT_WRITE_INHIBITED, RFM_LISR_WRITE_INHIBITED },
	[RFM2GEVENT_LOCAL_MEM_PARITY_ERR] = { RFM_EVENT_PARITY, RFM_LISR_PARITY },
};

static struct channel *channel_of(struct handle *handle, RFM2GEVENTTYPE event)
{
	return &handle->board->channel[event];
}

static RFM2GEVENTTYPE event_of(const struct board *board, const struct channel *channel)
{
	return channel - board->channel;
}

/* --- the queue: all with board->lock ----------------------------------------------- */

static int listen_for(struct board *board, struct channel *channel, uint32_t flags)
{
	RFM2GEVENTTYPE event = event_of(board, channel);

	if (channel->stream)
		return 0;
	channel->seq = 0;
	channel->stream = rfm_listen(board->rfm, RFM_EVENT_BIT(event_table[event].type), flags,
				     is_sent(event) ? INTERRUPTS_DEPTH : ERRORS_DEPTH);
	return channel->stream ? 0 : -1;
}

/* One record into the queue. */
static void put_event(struct channel *channel, const struct rfm_event *record)
{
	channel->overflowed |= channel->pending || record->seq > channel->seq + 1;
	channel->seq = record->seq;
	channel->pending = true;
	channel->peak = 1;
	channel->node = record->node == RFM_NODE_ALL ? RFM2G_NODE_UNKNOWN : record->node;
	channel->data = record->data;
}

/* Returns 1, 0: there is none, or -1: nor will there be. */
static int take_record(struct channel *channel, struct rfm_event *record)
{
	if (channel->stream)
		return rfm_events_wait(channel->stream, record, 1, 0);
	errno = ENODEV;
	return -1;
}

/* What the vendor's interrupt handler would have done by now. -1: the board is gone. */
static int fill_queue(struct board *board, struct channel *channel)
{
	RFM2GEVENTTYPE event = event_of(board, channel);
	struct rfm_event record;
	int got;

	while (channel->enabled && !(is_sent(event) && channel->pending)) {
		got = take_record(channel, &record);
		if (got <= 0)
			return got;
		put_event(channel, &record);
		if (tells_once(event))
			channel->enabled = false;
	}
	return 0;
}

/* How many the driver has taken from the card, whoever has heard of them. */
static int counted(struct board *board, const struct channel *channel, uint64_t *count)
{
	uint64_t counts[RFM_EVENT_TYPES];

	if (rfm_event_counts(board->rfm, counts, RFM_EVENT_TYPES) < 0)
		return -1;
	*count = counts[event_table[event_of(board, channel)].type];
	return 0;
}

static void take_event(struct channel *channel, RFM2GEVENTINFO *info)
{
	info->ExtendedInfo = channel->data;
	info->NodeId = channel->node;
	channel->pending = false;
	channel->overflowed = false;
}

/*
 * What came while it was disabled was one bit in the card, however often. It comes now, and
 * so it is disabled again.
 */
static void enable_what_tells_once(struct channel *channel)
{
	struct rfm_event record;
	bool any = false;

	while (take_record(channel, &record) > 0) {
		any = true;
		put_event(channel, &record);
	}
	channel->overflowed = false;
	channel->enabled = !any;
}

/* --- one who waits ----------------------------------------------------------------- */

/* Not inherited by a child, which would share the locks and could undo them. */
static int open_lock(struct board *board)
{
	char path[32];

	if (!board->is_card)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", rfm_fd(board->rfm));
	return open(path, O_RDWR | O_CLOEXEC);
}

/*
 * One waiter or callback on an event of a card, in whatever process: a lock on a byte of its
 * device node, which ends with its process. false: somebody else has it.
 */
static bool lock_event(struct board *board, struct channel *channel, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET,
			      .l_start = event_of(board, channel), .l_len = 1 };

	return board->lock_fd < 0 || !fcntl(board->lock_fd, F_OFD_SETLK, &lock) ||
	       (errno != EAGAIN && errno != EACCES);
}

RFM2G_STATUS event_take(struct handle *handle, struct channel *channel)
{
	struct board *board = handle->board;

	if (handle->is_closed)
		return RFM2G_WAIT_EVENT_CANCELED;
	return !channel->waiter && !channel->callback && lock_event(board, channel, F_WRLCK) ?
	       RFM2G_SUCCESS : RFM2G_EVENT_IN_USE;
}

void event_release(struct board *board, struct channel *channel)
{
	if (!channel->waiter && !channel->callback)
		lock_event(board, channel, F_UNLCK);
}

static void wake(struct channel *channel)
{
	const uint64_t one = 1;

	if (channel->waiter && write(channel->kick, &one, sizeof(one)) < 0)
		say_error("cannot wake who waits for an event");
}

RFM2G_STATUS event_cancel(struct board *board, struct channel *channel)
{
	const struct handle *waiter = channel->waiter;

	if (!waiter)
		return RFM2G_EVENT_NOT_IN_USE;
	channel->cancelled = true;
	wake(channel);
	while (channel->waiter == waiter && channel->cancelled)
		pthread_cond_wait(&board->wait_ended, &board->lock);
	return RFM2G_SUCCESS;
}

/* --- life -------------------------------------------------------------------------- */

RFM2G_STATUS events_start(struct board *board)
{
	RFM2G_STATUS status = RFM2G_SUCCESS;
	struct rfm_info info;

	pthread_mutex_lock(&board->lock);
	board->lock_fd = open_lock(board);
	if (rfm_info(board->rfm, &info))
		status = RFM2G_OS_ERROR;
	for (int event = RFM2GEVENT_BAD_DATA; !status && event < RFM2G_EVENTS; event++) {
		struct channel *channel = &board->channel[event];
		bool latched = info.lisr & event_table[event].lisr;

		/* What has been latched is told here, and not by the stream as well. */
		if (listen_for(board, channel, latched ? RFM_LISTEN_DISCARD : 0)) {
			status = RFM2G_OS_ERROR;
			break;
		}
		channel->enabled = true;
		if (!latched)
			continue;
		/* It has happened since the driver was loaded. */
		channel->pending = true;
		channel->peak = 1;
		channel->node = RFM2G_NODE_UNKNOWN;
		channel->enabled = !tells_once(event);
	}
	pthread_mutex_unlock(&board->lock);
	return status;
}

void events_stop(struct board *board)
{
	if (board->lock_fd >= 0)
		close(board->lock_fd);
	for (int event = 0; event < RFM2G_EVENTS; event++) {
		rfm_events_close(board->channel[event].stream);
		board->channel[event].stream = NULL;
		if (board->channel[event].kick >= 0)
			close(board->channel[event].kick);
	}
}

void events_let_go(struct handle *handle)
{
	struct board *board = handle->board;

	pthread_mutex_lock(&board->lock);
	handle->is_closed = true;
	for (int event = 0; event < RFM2G_EVENTS; event++)
		callback_end(handle, event, board->channel[event].waiter == handle);
	/* All first: a function may wait for another event. */
	for (int event = 0; event < RFM2G_EVENTS; event++)
		callback_wait(handle, event);
	pthread_mutex_unlock(&board->lock);
}

/* Records go to one of two processes that have one stream, so the child makes its own. */
void events_after_fork(struct board *board)
{
	if (board->lock_fd >= 0)
		close(board->lock_fd);
	board->lock_fd = open_lock(board);
	pthread_cond_init(&board->wait_ended, NULL);
	for (int event = 0; event < RFM2G_EVENTS; event++) {
		struct channel *channel = &board->channel[event];
		bool heard = channel->stream;

		rfm_events_close(channel->stream);
		channel->stream = NULL;
		if (channel->kick >= 0)
			close(channel->kick);
		channel->kick = -1;
		channel->waiter = NULL;
		channel->callback = NULL;
		channel->turn++;
		/* If it cannot, waits end with an error. */
		if (heard)
			listen_for(board, channel, 0);
	}
}

/* --- waiting ----------------------------------------------------------------------- */

/*
 * Until there is something to look at, without board->lock. 0, or -1 with errno. Any stream
 * tells that the board has gone, and those of errors are there from the beginning.
 */
static int sleep_until(struct board *board, struct channel *channel, uint64_t until)
{
	bool heard = channel->enabled && channel->stream;
	struct rfm_events *stream = heard ? channel->stream :
				    board->channel[RFM2GEVENT_BAD_DATA].stream;
	struct pollfd fds[2] = {
		{ .fd = channel->kick, .events = POLLIN },
		{ .fd = stream ? rfm_events_fd(stream) : -1, .events = heard ? POLLIN : 0 },
	};
	uint64_t now = clock_now(), left = until - now, kicks;
	int timeout = -1, ready, error;

	if (until != NEVER)
		timeout = now >= until ? 0 : (left + 999999) / 1000000 < INT32_MAX ?
			  (int)((left + 999999) / 1000000) : INT32_MAX;
	pthread_mutex_unlock(&board->lock);
	ready = poll(fds, 2, timeout);
	error = errno;
	if (ready > 0 && fds[0].revents && read(channel->kick, &kicks, sizeof(kicks)) < 0)
		say_error("cannot read who has woken a wait");
	pthread_mutex_lock(&board->lock);
	/* What is heard is read to its end first. */
	if (ready > 0 && !heard && fds[1].revents) {
		ready = -1;
		error = ENODEV;
	}
	errno = error;
	return ready < 0 ? -1 : 0;
}

/* With board->lock. */
static RFM2G_STATUS wait_here(struct board *board, struct channel *channel,
			      RFM2GEVENTINFO *info, unsigned int turn)
{
	uint64_t wait_ns = info->Timeout * 1000000ull, until = NEVER;
	bool over = false;

	if (info->Timeout != RFM2G_INFINITE_TIMEOUT)
		until = clock_now() + (wait_ns > LEAST_NS ? wait_ns : LEAST_NS);
	for (;;) {
		if (channel->cancelled || (turn && turn != channel->turn))
			return RFM2G_WAIT_EVENT_CANCELED;
		if (fill_queue(board, channel))
			return errno == EINTR ? RFM2G_SIGNALED : RFM2G_DRIVER_ERROR;
		if (channel->pending) {
			take_event(channel, info);
			return RFM2G_SUCCESS;
		}
		/* Only a sleep sees that the board has gone, if the event is disabled. */
		if (over)
			return RFM2G_TIMED_OUT;
		over = clock_now() >= until;
		if (sleep_until(board, channel, until))
			return errno == EINTR ? RFM2G_SIGNALED : RFM2G_DRIVER_ERROR;
	}
}

static RFM2G_STATUS wait_alone(struct handle *handle, struct channel *channel,
			       RFM2GEVENTINFO *info, unsigned int turn)
{
	struct board *board = handle->board;
	RFM2G_STATUS status;

	channel->waiter = handle;
	channel->cancelled = false;
	channel->timeout = info->Timeout;
	status = wait_here(board, channel, info, turn);
	if (turn && !status)
		handle->running[info->Event]++;
	channel->waiter = NULL;
	event_release(board, channel);
	pthread_cond_broadcast(&board->wait_ended);
	return status;
}

RFM2G_STATUS event_wait(struct handle *handle, RFM2GEVENTINFO *info, unsigned int turn)
{
	struct channel *channel = channel_of(handle, info->Event);
	struct board *board = handle->board;
	RFM2G_STATUS status = RFM2G_SUCCESS;

	pthread_mutex_lock(&board->lock);
	if (channel->kick < 0)
		channel->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (channel->kick < 0)
		status = RFM2G_DRIVER_ERROR;
	else if (!turn)
		status = event_take(handle, channel);
	else if (turn != channel->turn)
		status = RFM2G_WAIT_EVENT_CANCELED;
	if (!status)
		status = wait_alone(handle, channel, info, turn);
	pthread_mutex_unlock(&board->lock);
	/* What was stored before the event is in mappings when it is told. */
	view_take(board);
	return status;
}

/* --- the calls --------------------------------------------------------------------- */

RFM2G_STATUS RFM2gWaitForEvent(RFM2GHANDLE rh, RFM2GEVENTINFO *EventInfo)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!EventInfo || !event_is_good(EventInfo->Event))
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	return handle_put(handle, event_wait(handle, EventInfo, 0));
}

/*
 * The calls on one event, @all: or on all of them. Each is made with board->lock, until one
 * fails.
 */
static RFM2G_STATUS on_event(RFM2GHANDLE rh, RFM2GEVENTTYPE event, bool all,
			     RFM2G_STATUS (*make)(struct board *, struct channel *))
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	struct board *board;

	if (status)
		return status;
	if (!event_is_good(event) && !(all && event == RFM2GEVENT_LAST))
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	board = handle->board;
	if (board_is_gone(board))
		return handle_put(handle, RFM2G_DRIVER_ERROR);
	pthread_mutex_lock(&board->lock);
	if (event != RFM2GEVENT_LAST)
		status = make(board, &board->channel[event]);
	for (int i = 0; event == RFM2GEVENT_LAST && !status && i < RFM2G_EVENTS; i++)
		status = make(board, &board->channel[i]);
	pthread_mutex_unlock(&board->lock);
	return handle_put(handle, status);
}

static RFM2G_STATUS enable(struct board *board, struct channel *channel)
{
	if (listen_for(board, channel, 0))
		return RFM2G_DRIVER_ERROR;
	if (channel->enabled)
		return RFM2G_SUCCESS;
	if (tells_once(event_of(board, channel)))
		enable_what_tells_once(channel);
	else
		channel->enabled = true;
	wake(channel);
	return RFM2G_SUCCESS;
}

/* The stream stays, as the card's FIFO does, and goes on collecting. */
static RFM2G_STATUS disable(struct board *board, struct channel *channel)
{
	/* What has come before is in the queue. */
	fill_queue(board, channel);
	channel->enabled = false;
	wake(channel);
	return RFM2G_SUCCESS;
}

static RFM2G_STATUS clear(struct board *board, struct channel *channel)
{
	struct rfm_event record;
	int got;

	channel->pending = false;
	channel->overflowed = false;
	/* What waits in the card is thrown away by who listens so. */
	if (!channel->stream) {
		if (listen_for(board, channel, RFM_LISTEN_DISCARD))
			return RFM2G_DRIVER_ERROR;
		rfm_events_close(channel->stream);
		channel->stream = NULL;
		return RFM2G_SUCCESS;
	}
	while ((got = take_record(channel, &record)) > 0)
		channel->seq = record.seq;
	return got ? RFM2G_DRIVER_ERROR : RFM2G_SUCCESS;
}

static RFM2G_STATUS clear_count(struct board *board, struct channel *channel)
{
	return counted(board, channel, &channel->forgotten) ? RFM2G_DRIVER_ERROR : RFM2G_SUCCESS;
}

static RFM2G_STATUS clear_stats(struct board *board, struct channel *channel)
{
	fill_queue(board, channel);
	channel->peak = 0;
	channel->overflowed = false;
	return clear_count(board, channel);
}

static RFM2G_STATUS flush(struct board *board, struct channel *channel)
{
	fill_queue(board, channel);
	channel->pending = false;
	channel->overflowed = false;
	return RFM2G_SUCCESS;
}

RFM2G_STATUS RFM2gEnableEvent(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	return on_event(rh, EventType, false, enable);
}

RFM2G_STATUS RFM2gDisableEvent(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	return on_event(rh, EventType, false, disable);
}

RFM2G_STATUS RFM2gClearEvent(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	return on_event(rh, EventType, true, clear);
}

RFM2G_STATUS RFM2gClearEventCount(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	return on_event(rh, EventType, true, clear_count);
}

RFM2G_STATUS RFM2gClearEventStats(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	return on_event(rh, EventType, true, clear_stats);
}

RFM2G_STATUS RFM2gFlushEventQueue(RFM2GHANDLE rh, RFM2GEVENTTYPE Event)
{
	return on_event(rh, Event, true, flush);
}

RFM2G_STATUS RFM2gCancelWaitForEvent(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType)
{
	return on_event(rh, EventType, false, event_cancel);
}

RFM2G_STATUS RFM2gGetEventCount(RFM2GHANDLE rh, RFM2GEVENTTYPE EventType, RFM2G_UINT32 *Count)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	struct board *board;
	uint64_t count;

	if (status)
		return status;
	if (!event_is_good(EventType))
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	if (!Count)
		return handle_put(handle, RFM2G_BAD_PARAMETER_3);
	board = handle->board;
	pthread_mutex_lock(&board->lock);
	if (counted(board, &board->channel[EventType], &count))
		status = RFM2G_DRIVER_ERROR;
	else
		*Count = count - board->channel[EventType].forgotten;
	pthread_mutex_unlock(&board->lock);
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gGetEventStats(RFM2GHANDLE rh, RFM2GQINFO *Qinfo)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	struct channel *channel;
	struct board *board;
	uint64_t count;

	if (status)
		return status;
	if (!Qinfo || Qinfo->Event >= RFM2G_EVENTS)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	board = handle->board;
	channel = &board->channel[Qinfo->Event];
	pthread_mutex_lock(&board->lock);
	fill_queue(board, channel);
	if (counted(board, channel, &count)) {
		pthread_mutex_unlock(&board->lock);
		return handle_put(handle, RFM2G_DRIVER_ERROR);
	}
	Qinfo->Overflowed = channel->overflowed ? OVERFLOWED : 0;
	Qinfo->QueuePeak = channel->peak;
	Qinfo->EventCount = count - channel->forgotten;
	Qinfo->EventsQueued = channel->pending;
	Qinfo->QueueSize = 1;
	Qinfo->MaxQueueSize = 1;
	Qinfo->EventTimeout = channel->timeout;
	pthread_mutex_unlock(&board->lock);
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gSendEvent(RFM2GHANDLE rh, RFM2G_NODE ToNode, RFM2GEVENTTYPE EventType,
			    RFM2G_UINT32 ExtendedData)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_find(rh, &handle);

	if (status)
		return status;
	if (ToNode > RFM2G_NODE_MAX && ToNode != RFM2G_NODE_ALL)
		status = RFM2G_BAD_PARAMETER_2;
	else if (!event_is_good(EventType) || !is_sent(EventType))
		status = RFM2G_BAD_PARAMETER_3;
	else if (ToNode == handle->open.Config.NodeId)
		status = RFM2G_NODE_ID_SELF;
	/* It does not overtake what was stored before it. */
	else if (!view_sync(handle->board) ||
		 rfm_send(handle->board->rfm, ToNode == RFM2G_NODE_ALL ? RFM_NODE_ALL : ToNode,
			  event_table[EventType].type, ExtendedData))
		status = RFM2G_DRIVER_ERROR;
	return handle_put(handle, status);
}
