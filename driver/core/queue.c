// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of whoever is told of events: bounded, filled by the dispatch of
 * events, emptied by read() of an event descriptor, or by the work item that tells
 * monitors.
 *
 * When the card has gone, read() first delivers what is queued and then
 * answers ENODEV; poll() says EPOLLHUP | EPOLLERR at once. When the event ring
 * has stopped for good, a queue that depends on it ends in the same way, with
 * EIO and EPOLLERR.
 *
 * A full queue drops and counts what comes. Some records cannot be dropped, as
 * nothing may ever come after them that tells of it: for these there is room
 * beside the queue, for the last of its kind, until a place becomes free.
 */

#include <linux/anon_inodes.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/compat.h"
#include "core/card.h"

static u32 rfm_queue_places(const struct rfm_queue *queue)
{
	return queue->depth + RFM_QUEUE_BATCH;
}

/* Is nothing more to come? Return: -ENODEV, -EIO, or 0 if not so. */
static int rfm_queue_over(const struct rfm_queue *queue)
{
	if (READ_ONCE(queue->card->hw.gone))
		return -ENODEV;
	if (queue->ring_only && READ_ONCE(queue->card->hw.events.stopped))
		return -EIO;
	return 0;
}

static bool rfm_queue_ready(const struct rfm_queue *queue)
{
	return READ_ONCE(queue->count) || rfm_queue_over(queue);
}

/* Where the next record goes; there is always such a place. */
static struct rfm_event *rfm_queue_place(struct rfm_queue *queue)
{
	return &queue->ring[(queue->tail + queue->count) %
			    rfm_queue_places(queue)];
}

static bool rfm_queue_full(const struct rfm_queue *queue)
{
	return queue->count - queue->reading >= queue->depth;
}

/* Places have become free: nothing that comes now may overtake these. */
static void rfm_queue_take_kept(struct rfm_queue *queue)
{
	struct rfm_kept *kept;

	while (!list_empty(&queue->kept) && !rfm_queue_full(queue)) {
		kept = list_first_entry(&queue->kept, struct rfm_kept, node);
		list_del_init(&kept->node);
		*rfm_queue_place(queue) = kept->event;
		WRITE_ONCE(queue->count, queue->count + 1);
	}
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
	bool fault;

	lockdep_assert_held(&queue->read_lock);

	spin_lock_irq(&queue->lock);
	count = min_t(size_t, min_t(u32, queue->count, RFM_QUEUE_BATCH), room);
	queue->reading = count;
	rfm_queue_take_kept(queue);
	spin_unlock_irq(&queue->lock);

	first = min(count, places - queue->tail);
	fault = copy_to_user(buf, queue->ring + queue->tail, first * size) ||
		copy_to_user(buf + first * size, queue->ring,
			     (count - first) * size);

	spin_lock_irq(&queue->lock);
	queue->reading = 0;
	if (!fault) {
		queue->tail = (queue->tail + count) % places;
		WRITE_ONCE(queue->count, queue->count - count);
	}
	spin_unlock_irq(&queue->lock);
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

/*
 * read(): -EINVAL if not one record fits; once the queue is empty, -ENODEV if the
 * card has gone, and -EIO if the event ring, which it depends on, has stopped.
 */
static ssize_t rfm_queue_read(struct file *file, char __user *buf, size_t len,
			      loff_t *pos)
{
	struct rfm_queue *queue = file->private_data;
	size_t room = len / sizeof(struct rfm_event);
	ssize_t ret;
	int over;

	if (!room)
		return -EINVAL;

	for (;;) {
		/* Before the copy: after that nothing more is queued. */
		over = rfm_queue_over(queue);

		if (mutex_lock_interruptible(&queue->read_lock))
			return -ERESTARTSYS;
		ret = rfm_queue_copy(queue, buf, room);
		mutex_unlock(&queue->read_lock);
		if (ret)
			return ret;

		if (over)
			return over;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(queue->wait,
					     rfm_queue_ready(queue)))
			return -ERESTARTSYS;
	}
}

static __poll_t rfm_queue_poll(struct file *file, poll_table *table)
{
	struct rfm_queue *queue = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &queue->wait, table);
	if (READ_ONCE(queue->count))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rfm_queue_over(queue))
		mask |= EPOLLERR;
	if (READ_ONCE(queue->card->hw.gone))
		mask |= EPOLLHUP;
	return mask;
}

/**
 * rfm_queue_init - make an empty queue
 * @queue: zeroed memory
 * @card: the card
 * @depth: records it shall hold
 *
 * Return: 0 or -ENOMEM.
 */
int rfm_queue_init(struct rfm_queue *queue, struct rfm_card *card, u32 depth)
{
	queue->card = card;
	queue->depth = depth;
	INIT_LIST_HEAD(&queue->node);
	queue->ring = kvmalloc_array(rfm_queue_places(queue),
				     sizeof(*queue->ring), GFP_KERNEL_ACCOUNT);
	if (!queue->ring)
		return -ENOMEM;

	INIT_LIST_HEAD(&queue->kept);
	INIT_LIST_HEAD(&queue->mark.node);
	init_waitqueue_head(&queue->wait);
	mutex_init(&queue->read_lock);
	spin_lock_init(&queue->lock);
	return 0;
}

/* --- descriptors ----------------------------------------------------------- */

/* All queues of a card's descriptors together are bounded. */
static bool rfm_queue_admit(struct rfm_card *card, u32 depth)
{
	bool good;

	rfm_dispatch_lock(card);
	good = depth <= RFM_QUEUED_MAX - card->dispatch.queued;
	if (good)
		card->dispatch.queued += depth;
	rfm_dispatch_unlock(card);
	return good;
}

/*
 * Makes what a descriptor of events stands for: @size bytes, zeroed, that begin
 * with a struct rfm_queue, and hold a reference to the card. Its queue takes
 * @depth records, at most RFM_LISTEN_DEPTH_MAX, 0 for the usual number.
 * ERR_PTR(-ENOSPC) if the queues of the card would hold too many, or -ENOMEM.
 */
void *rfm_queue_alloc(struct rfm_card *card, const struct rfm_queue_ops *ops,
		      size_t size, u32 depth)
{
	struct rfm_queue *queue = kvzalloc(size, GFP_KERNEL_ACCOUNT);

	depth = depth ?: RFM_LISTEN_DEPTH_DEFAULT;
	if (!queue)
		return ERR_PTR(-ENOMEM);
	if (!rfm_queue_admit(card, depth)) {
		kvfree(queue);
		return ERR_PTR(-ENOSPC);
	}
	get_device(&card->dev);
	queue->ops = ops;
	if (rfm_queue_init(queue, card, depth)) {
		rfm_queue_free(queue);
		return ERR_PTR(-ENOMEM);
	}
	return queue;
}

/* Nobody fills it any more. */
void rfm_queue_free(struct rfm_queue *queue)
{
	struct rfm_card *card = queue->card;

	rfm_dispatch_lock(card);
	card->dispatch.queued -= queue->depth;
	rfm_dispatch_unlock(card);
	if (queue->eventfd)
		eventfd_ctx_put(queue->eventfd);
	kvfree(queue->ring);
	kvfree(queue);
	put_device(&card->dev);
}

static int rfm_queue_release(struct inode *inode, struct file *file)
{
	struct rfm_queue *queue = file->private_data;

	rfm_holder_del(queue->card, &queue->holder);
	if (!list_empty(&queue->node))
		queue->ops->end(queue);
	rfm_queue_free(queue);
	return 0;
}

static void rfm_queue_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct rfm_queue *queue = file->private_data;

	rfm_holder_show(m, queue->card, &queue->holder);
}

static const struct file_operations rfm_queue_fops = {
	.owner		= THIS_MODULE,
	.read		= rfm_queue_read,
	.poll		= rfm_queue_poll,
	.release	= rfm_queue_release,
	.show_fdinfo	= rfm_queue_show_fdinfo,
};

/*
 * Gives the calling process the descriptor, or else frees the queue. @flags:
 * RFM_LISTEN_*. Returns the descriptor or a negative errno.
 */
int rfm_queue_install(struct rfm_queue *queue, u32 flags)
{
	struct file *file;
	int fd, ret;

	fd = get_unused_fd_flags(flags & RFM_LISTEN_CLOEXEC ? O_CLOEXEC : 0);
	if (fd < 0) {
		rfm_queue_free(queue);
		return fd;
	}
	file = anon_inode_getfile(queue->ops->name, &rfm_queue_fops, queue,
				  O_RDONLY | (flags & RFM_LISTEN_NONBLOCK ?
					      O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		rfm_queue_free(queue);
		return PTR_ERR(file);
	}

	/* Before it begins: its first event may be one to be told of. */
	rfm_holder_add(queue->card, &queue->holder, &queue->ops->holder);
	/* Last, for it may take events out of the card that must not get lost. */
	ret = queue->ops->begin(queue);
	if (ret) {
		put_unused_fd(fd);
		fput(file);
		return ret;
	}
	fd_install(fd, file);
	return fd;
}

/* --- what goes in ---------------------------------------------------------- */

/**
 * rfm_queue_add - events from now on are for this queue
 * @queue: the queue
 * @by_card: some of them come through the event ring
 * @ring_only: and some come no other way
 *
 * Context: dispatch.lock held, the card entered.
 */
void rfm_queue_add(struct rfm_queue *queue, bool by_card, bool ring_only)
{
	struct rfm_card *card = queue->card;
	struct list_head *at = &card->dispatch.queues;

	lockdep_assert_held(&card->dispatch.lock);

	queue->by_card = by_card;
	queue->ring_only = ring_only;
	/* In this order: what is dropped in between is not left untold. */
	queue->told = rfm_events_dropped(&card->hw);
	queue->since = rfm_events_position(&card->hw);
	/* Listeners are first, and told in the order in which they came. */
	if (queue->types)
		list_for_each(at, &card->dispatch.queues)
			if (!list_entry(at, struct rfm_queue, node)->types)
				break;
	list_add_tail(&queue->node, at);
}

/* The unread record that an event can be added to, or NULL. */
static struct rfm_event *rfm_queue_newest(struct rfm_queue *queue, u32 type)
{
	struct rfm_event *event;

	if (queue->count == queue->reading || !list_empty(&queue->kept))
		return NULL;
	event = &queue->ring[(queue->tail + queue->count - 1) %
			     rfm_queue_places(queue)];
	return event->type == type && event->count < U32_MAX ? event : NULL;
}

/* Is its data a number of what is missing? */
static bool rfm_event_counts(const struct rfm_event *event)
{
	return event->type == RFM_EVENT_LOSS || event->type == RFM_EVENT_DROPPED;
}

/* Monitors are told of each node and each descriptor apart. */
static bool rfm_queue_same(const struct rfm_queue *queue,
			   const struct rfm_event *newest,
			   const struct rfm_event *event)
{
	if (!queue->work)
		return true;
	return newest->node == event->node && newest->late == event->late &&
	       newest->flags == event->flags &&
	       newest->count <= U32_MAX - event->count &&
	       (!rfm_event_counts(event) ||
		newest->data <= U32_MAX - event->data);
}

/* Room for an event beside the full queue, for which one before it may go. */
static struct rfm_event *rfm_queue_keep(struct rfm_queue *queue,
					struct rfm_kept *kept,
					struct rfm_event *record)
{
	if (!list_empty(&kept->node)) {
		if (queue->coalesced & RFM_EVENT_BIT(record->type) &&
		    kept->event.type == record->type)
			record->count += kept->event.count;
		else
			queue->dropped++;
	}
	list_move_tail(&kept->node, &queue->kept);
	return &kept->event;
}

static void rfm_queue_put(struct rfm_queue *queue,
			  const struct rfm_event *event, struct rfm_kept *kept)
{
	struct rfm_event record = *event, *newest = NULL, *place;
	bool full = rfm_queue_full(queue), more;

	queue->seq++;
	record.count = event->count ?: 1;
	if (queue->coalesced & RFM_EVENT_BIT(event->type))
		newest = rfm_queue_newest(queue, event->type);
	if (newest && !rfm_queue_same(queue, newest, &record))
		newest = NULL;
	if (!newest && full && !kept) {
		queue->dropped++;
		return;
	}

	more = !newest && (!full || list_empty(&kept->node));
	if (newest) {
		record.count += newest->count;
		if (rfm_event_counts(event))
			record.data += newest->data;
		place = newest;
	} else if (full) {
		place = rfm_queue_keep(queue, kept, &record);
	} else {
		place = rfm_queue_place(queue);
	}
	record.seq = queue->seq;
	record.dropped = queue->dropped;
	*place = record;
	if (!newest && !full)
		WRITE_ONCE(queue->count, queue->count + 1);
	if (!more)
		return;
	if (queue->work)
		queue_delayed_work(rfm_wq, queue->work, 0);
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	if (queue->eventfd)
		eventfd_signal(queue->eventfd);
}

/* The unread record of dropped events that more can be added to, or NULL. */
static struct rfm_event *rfm_queue_telling(struct rfm_queue *queue)
{
	if (!list_empty(&queue->mark.node))
		return &queue->mark.event;
	return rfm_queue_newest(queue, RFM_EVENT_DROPPED);
}

/**
 * rfm_queue_describe - how a queue is
 * @queue: the queue
 * @description: its queue's part is filled in
 */
void rfm_queue_describe(struct rfm_queue *queue,
			struct rfm_description *description)
{
	spin_lock_irq(&queue->lock);
	description->depth = queue->depth;
	description->queued = queue->count;
	description->events = queue->seq;
	description->dropped = queue->dropped;
	spin_unlock_irq(&queue->lock);
}

/* What is missing in the event ring may have been this queue's. */
static void rfm_queue_tell(struct rfm_queue *queue)
{
	u64 missing = rfm_events_missing(&queue->card->hw);
	struct rfm_event *telling, event = {
		.type = RFM_EVENT_DROPPED,
		.node = RFM_NODE_ALL,
	};

	if (!queue->by_card || missing <= queue->told)
		return;
	missing -= queue->told;
	queue->told += missing;

	telling = rfm_queue_telling(queue);
	if (telling) {
		telling->data = min_t(u64, telling->data + missing, U32_MAX);
		return;
	}
	event.data = min_t(u64, missing, U32_MAX);
	event.time_ns = ktime_get_ns();
	rfm_queue_put(queue, &event, &queue->mark);
}

/**
 * rfm_queue_push - give an event to a queue
 * @queue: the queue
 * @event: the event; its seq and dropped are not looked at, a count of 0 is 1
 * @kept: where it is kept if the queue is full, instead of what is there; NULL:
 *	it can be dropped
 *
 * If there is one record more than before, wakes readers and pollers and counts
 * its eventfd up. What is missing in the event ring is told first.
 *
 * Context: dispatch.lock held.
 */
void rfm_queue_push(struct rfm_queue *queue, const struct rfm_event *event,
		    struct rfm_kept *kept)
{
	unsigned long flags;

	lockdep_assert_held(&queue->card->dispatch.lock);

	spin_lock_irqsave(&queue->lock, flags);
	rfm_queue_tell(queue);
	rfm_queue_put(queue, event, kept);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * rfm_queue_pop - take the oldest record out of a queue that nobody reads
 * @queue: the queue
 * @event: the record; if there is none, only how many were dropped so far
 *
 * Return: true if there was one.
 */
bool rfm_queue_pop(struct rfm_queue *queue, struct rfm_event *event)
{
	bool found;

	spin_lock_irq(&queue->lock);
	found = queue->count;
	if (found) {
		*event = queue->ring[queue->tail];
		queue->tail = (queue->tail + 1) % rfm_queue_places(queue);
		WRITE_ONCE(queue->count, queue->count - 1);
		rfm_queue_take_kept(queue);
	} else {
		event->dropped = queue->dropped;
	}
	spin_unlock_irq(&queue->lock);
	return found;
}

/* A record that was taken out has got lost. */
void rfm_queue_lose(struct rfm_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->dropped++;
	spin_unlock_irq(&queue->lock);
}

/*
 * Events are missing in the event ring: tells all queues, as none may ever come
 * that would be told with.
 */
void rfm_queues_tell(struct rfm_card *card)
{
	struct rfm_queue *queue;

	lockdep_assert_held(&card->dispatch.lock);

	list_for_each_entry(queue, &card->dispatch.queues, node) {
		spin_lock_irq(&queue->lock);
		rfm_queue_tell(queue);
		spin_unlock_irq(&queue->lock);
		cond_resched();
	}
}

/*
 * The card has gone, or its event ring: all look themselves. Under
 * dispatch.lock.
 */
void rfm_queues_wake(struct rfm_card *card)
{
	struct rfm_queue *queue;

	lockdep_assert_held(&card->dispatch.lock);

	list_for_each_entry(queue, &card->dispatch.queues, node) {
		wake_up_all(&queue->wait);
		cond_resched();
	}
}
