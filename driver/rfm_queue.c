// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue behind every event descriptor: bounded, filled by the interrupt
 * handler, emptied by read().
 *
 * When the card has gone, read() first delivers what is queued and then
 * answers ENODEV; poll() says EPOLLHUP | EPOLLERR at once.
 */

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rfm_drv.h"

static u32 rfm_queue_places(const struct rfm_queue *queue)
{
	return queue->depth + RFM_QUEUE_BATCH;
}

static bool rfm_queue_ready(const struct rfm_queue *queue)
{
	return READ_ONCE(queue->count) || READ_ONCE(queue->card->gone);
}

/*
 * Copies the oldest records straight from the queue: those that are marked as
 * being read stay as they are until the tail moves past them.
 */
static ssize_t rfm_queue_copy_batch(struct rfm_queue *queue, char __user *buf,
				    size_t room)
{
	const size_t size = sizeof(struct rfm_event);
	u32 places = rfm_queue_places(queue), count, first;
	struct rfm_card *card = queue->card;
	bool fault;

	lockdep_assert_held(&queue->read_lock);

	spin_lock_irq(&card->irq_lock);
	count = min_t(size_t, min_t(u32, queue->count, RFM_QUEUE_BATCH), room);
	queue->reading = count;
	spin_unlock_irq(&card->irq_lock);

	first = min(count, places - queue->tail);
	fault = copy_to_user(buf, queue->ring + queue->tail, first * size) ||
		copy_to_user(buf + first * size, queue->ring,
			     (count - first) * size);

	spin_lock_irq(&card->irq_lock);
	queue->reading = 0;
	if (!fault) {
		queue->tail = (queue->tail + count) % places;
		WRITE_ONCE(queue->count, queue->count - count);
	}
	spin_unlock_irq(&card->irq_lock);
	return fault ? -EFAULT : (ssize_t)count;
}

/* As many records as are there and fit; what could not be copied stays. */
static ssize_t rfm_queue_copy(struct rfm_queue *queue, char __user *buf,
			      size_t room)
{
	const size_t size = sizeof(struct rfm_event);
	size_t done = 0;
	ssize_t ret;

	do {
		ret = rfm_queue_copy_batch(queue, buf + done * size,
					   room - done);
		if (ret < 0)
			return done ? done * size : ret;
		done += ret;
	} while (ret == RFM_QUEUE_BATCH);
	return done * size;
}

/**
 * rfm_queue_read - read() of an event descriptor
 * @file: its private_data is the queue
 * @buf: where the records go
 * @len: room there, bytes
 * @pos: unused
 *
 * Return: bytes of whole records; -EINVAL if not one fits, -EAGAIN, -EFAULT,
 * -ERESTARTSYS, or -ENODEV once the card has gone and the queue is empty.
 */
ssize_t rfm_queue_read(struct file *file, char __user *buf, size_t len,
		       loff_t *pos)
{
	struct rfm_queue *queue = file->private_data;
	size_t room = len / sizeof(struct rfm_event);
	ssize_t ret;
	bool gone;

	if (!room)
		return -EINVAL;

	for (;;) {
		/* Before the copy: after gone nothing more is queued. */
		gone = READ_ONCE(queue->card->gone);

		if (mutex_lock_interruptible(&queue->read_lock))
			return -ERESTARTSYS;
		ret = rfm_queue_copy(queue, buf, room);
		mutex_unlock(&queue->read_lock);
		if (ret)
			return ret;

		if (gone)
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(queue->wait,
					     rfm_queue_ready(queue)))
			return -ERESTARTSYS;
	}
}

/**
 * rfm_queue_poll - poll() of an event descriptor
 * @file: its private_data is the queue
 * @table: of poll()
 *
 * Return: EPOLLIN while there is a record, EPOLLHUP | EPOLLERR without a card.
 */
__poll_t rfm_queue_poll(struct file *file, poll_table *table)
{
	struct rfm_queue *queue = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &queue->wait, table);
	if (READ_ONCE(queue->count))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(queue->card->gone))
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}

/**
 * rfm_queue_init - make an empty queue
 * @queue: zeroed memory
 * @card: the card; the queue takes a reference
 * @depth: records it shall hold, at least 1
 *
 * Return: 0 or -ENOMEM.
 */
int rfm_queue_init(struct rfm_queue *queue, struct rfm_card *card, u32 depth)
{
	queue->depth = depth;
	queue->ring = kvmalloc_array(rfm_queue_places(queue),
				     sizeof(*queue->ring), GFP_KERNEL_ACCOUNT);
	if (!queue->ring)
		return -ENOMEM;

	get_device(&card->dev);
	queue->card = card;
	INIT_LIST_HEAD(&queue->node);
	init_waitqueue_head(&queue->wait);
	mutex_init(&queue->read_lock);
	return 0;
}

/**
 * rfm_queue_destroy - the end of a queue
 * @queue: one that nobody fills any more
 */
void rfm_queue_destroy(struct rfm_queue *queue)
{
	struct rfm_card *card = queue->card;

	spin_lock_irq(&card->irq_lock);
	list_del(&queue->node);
	spin_unlock_irq(&card->irq_lock);
	kvfree(queue->ring);
	put_device(&card->dev);
}

/**
 * rfm_queue_add - events from now on are for this queue
 * @queue: the queue
 * @by_card: some of them come through the event ring
 *
 * Context: card->irq_lock held, the card not gone.
 */
void rfm_queue_add(struct rfm_queue *queue, bool by_card)
{
	struct rfm_card *card = queue->card;

	lockdep_assert_held(&card->irq_lock);

	queue->by_card = by_card;
	queue->gaps = card->events.gaps;
	queue->since = rfm_events_position(card);
	list_add_tail(&queue->node, &card->queues);
}

/* The unread record that an event can be added to, or NULL. */
static struct rfm_event *rfm_queue_newest(struct rfm_queue *queue, u32 type)
{
	struct rfm_event *event;

	if (queue->count == queue->reading)
		return NULL;
	event = &queue->ring[(queue->tail + queue->count - 1) %
			     rfm_queue_places(queue)];
	return event->type == type && event->count < U32_MAX ? event : NULL;
}

/**
 * rfm_queue_push - give an event to a queue
 * @queue: the queue
 * @event: the event; its seq, dropped and count are not looked at
 * @coalesce: make it part of the newest record if that is of the same type
 *
 * Wakes readers and pollers.
 *
 * Context: interrupt, with card->irq_lock held.
 * Return: true if there is one record more than before.
 */
bool rfm_queue_push(struct rfm_queue *queue, const struct rfm_event *event,
		    bool coalesce)
{
	struct rfm_card *card = queue->card;
	struct rfm_event *record = NULL;
	u32 flags = event->flags, count = 1;

	lockdep_assert_held(&card->irq_lock);

	queue->seq++;
	if (coalesce)
		record = rfm_queue_newest(queue, event->type);
	if (record) {
		count += record->count;
		flags |= record->flags & RFM_EVENT_CARD_DROPPED;
	} else if (queue->count - queue->reading >= queue->depth) {
		queue->dropped++;
		return false;
	} else {
		record = &queue->ring[(queue->tail + queue->count) %
				      rfm_queue_places(queue)];
	}

	if (queue->by_card && queue->gaps != card->events.gaps) {
		queue->gaps = card->events.gaps;
		flags |= RFM_EVENT_CARD_DROPPED;
	}
	*record = *event;
	record->flags = flags;
	record->seq = queue->seq;
	record->dropped = queue->dropped;
	record->count = count;
	if (count > 1)
		return false;

	WRITE_ONCE(queue->count, queue->count + 1);
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	return true;
}

/**
 * rfm_queues_wake - tell all readers and pollers that the card has gone
 * @card: the card
 *
 * Context: any, with card->irq_lock held.
 */
void rfm_queues_wake(struct rfm_card *card)
{
	struct rfm_queue *queue;

	lockdep_assert_held(&card->irq_lock);

	list_for_each_entry(queue, &card->queues, node)
		wake_up_all(&queue->wait);
}
