// SPDX-License-Identifier: MIT
/*
 * The queue of a stream, which does what driver/core/queue.c does: a full one drops and
 * counts what comes. Some records cannot be dropped, as nothing may ever come after them
 * that tells of it: for these there are places behind it, for the last of each key. They
 * are in the queue as soon as a place becomes free.
 */
#define _GNU_SOURCE 1		/* syscall() */
#include "ring_private.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int queue_init(struct ring_queue *queue, uint32_t depth, uint32_t keys, bool cloexec)
{
	queue->depth = depth ? depth : RFM_LISTEN_DEPTH_DEFAULT;
	queue->places = queue->depth + keys;
	queue->eventfd = -1;
	queue->records = malloc(queue->places * sizeof(*queue->records));
	queue->keys = malloc(queue->places * sizeof(*queue->keys));
	queue->fd = eventfd(0, EFD_NONBLOCK | (cloexec ? EFD_CLOEXEC : 0));
	if (!queue->records || !queue->keys)
		return fail_with(ENOMEM);
	return queue->fd < 0 ? -1 : 0;
}

void queue_destroy(struct ring_queue *queue)
{
	if (queue->eventfd >= 0)
		close(queue->eventfd);
	if (queue->fd >= 0)
		close(queue->fd);
	free(queue->records);
	free(queue->keys);
}

/* The index of a record, counted from the oldest. */
static uint32_t place_of(const struct ring_queue *queue, uint32_t i)
{
	return (queue->head + i) % queue->places;
}

/* --- what tells of records ------------------------------------------------------------ */

static void tell(struct ring_queue *queue)
{
	const uint64_t one = 1;

	if (!queue->told && write(queue->fd, &one, sizeof(one)) == sizeof(one))
		queue->told = true;
}

static void tell_no_more(struct ring_queue *queue)
{
	uint64_t told;

	if (queue->told && (read(queue->fd, &told, sizeof(told)) > 0 || errno == EAGAIN))
		queue->told = false;
}

/*
 * Of the caller's eventfd. write() waits if it is one that blocks, and whoever else has it may
 * fill it at any moment; the engine must not wait for who reads it. The end of a request of
 * asynchronous I/O is counted by the kernel, as a card's driver does: it never waits. An eventfd
 * can always be read or written, so to poll it for both ends at once.
 *
 * A kernel may have none for us. Then it is written to if there is room; one that has none is
 * readable, and whoever waits for it wakes. Whoever fills it just then makes this write wait.
 */
static void count_up(const struct ring_queue *queue)
{
	struct pollfd room = { .fd = queue->eventfd, .events = POLLOUT };
	const uint64_t one = 1;
	struct iocb counted = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = queue->eventfd,
		.aio_buf = POLLIN | POLLOUT,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = queue->eventfd,
	};
	struct iocb *list = &counted;
	struct timespec at_once = { 0 };
	struct io_event end;

	if (queue->eventfd < 0)
		return;
	if (queue->counting && syscall(SYS_io_submit, queue->counting, 1L, &list) == 1) {
		syscall(SYS_io_getevents, queue->counting, 0L, 1L, &end, &at_once);
		return;
	}
	while (poll(&room, 1, 0) == 1 && room.revents & POLLOUT &&
	       write(queue->eventfd, &one, sizeof(one)) < 0 && (errno == EINTR || errno == EAGAIN))
		;
}

/* --- records -------------------------------------------------------------------------- */

/* The newest record, if it can take in one more of its type. */
static struct rfm_event *newest(const struct ring_queue *queue, uint32_t type)
{
	struct rfm_event *record;

	if (!queue->count || !(queue->coalesced & RFM_EVENT_BIT(type)))
		return NULL;
	record = &queue->records[place_of(queue, queue->count - 1)];
	return record->type == type && record->count < UINT32_MAX ? record : NULL;
}

/* The one behind the full queue that @record comes instead of goes, if there is one. */
static bool replace_kept(struct ring_queue *queue, uint16_t key, struct rfm_event *record)
{
	uint32_t i = queue->depth, at;

	while (i < queue->count && queue->keys[place_of(queue, i)] != key)
		i++;
	if (i >= queue->count)
		return false;
	at = place_of(queue, i);
	if (queue->coalesced & RFM_EVENT_BIT(record->type) &&
	    queue->records[at].type == record->type)
		record->count += queue->records[at].count;
	else
		queue->dropped++;
	while (++i < queue->count) {
		uint32_t next = place_of(queue, i);

		queue->records[at] = queue->records[next];
		queue->keys[at] = queue->keys[next];
		at = next;
	}
	queue->count--;
	return true;
}

void queue_push(struct ring_queue *queue, const struct rfm_event *event, uint16_t key)
{
	struct rfm_event record = *event, *place = newest(queue, event->type);
	bool full = queue->count >= queue->depth, more = false;

	queue->seq++;
	if (!place && full && !key) {
		queue->dropped++;
		return;
	}
	if (place) {
		record.count += place->count;
	} else {
		uint32_t at;

		more = !full || !replace_kept(queue, key, &record);
		at = place_of(queue, queue->count++);
		queue->keys[at] = key;
		place = &queue->records[at];
	}
	record.seq = queue->seq;
	record.dropped = queue->dropped;
	*place = record;
	if (!more)
		return;
	tell(queue);
	count_up(queue);
}

size_t queue_pop(struct ring_queue *queue, struct rfm_event *records, size_t count)
{
	size_t some = count < queue->count ? count : queue->count;

	for (size_t i = 0; i < some; i++)
		records[i] = queue->records[place_of(queue, i)];
	queue->head = place_of(queue, some);
	queue->count -= some;
	if (!queue->count)
		tell_no_more(queue);
	return some;
}
