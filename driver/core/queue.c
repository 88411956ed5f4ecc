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
 * nothing may ever come after them that tells of it: for these there are places
 * behind it, for the last of each key. They are in the queue as soon as a place
 * becomes free.
 */

#include <linux/anon_inodes.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/card.h"

static u32 rfm_queue_places(const struct rfm_queue *queue)
{
	return queue->depth + RFM_QUEUE_BATCH + queue->spare;
}

/* Is nothing more to come? Return: -ENODEV, -EIO, or 0 if not so. */
static int rfm_queue_over(const struct rfm_queue *queue)
{
	if (READ_ONCE(queue->card->hw.gone))
		return -ENODEV;
	if (READ_ONCE(queue->broken) ||
	    (queue->types & RFM_EVENT_EXTENSION &&
	     READ_ONCE(queue->card->hw.events.stopped)))
		return -EIO;
	return 0;
}

/* The index of a record, counted from the oldest; there is always one for the next. */
static u32 rfm_queue_index(const struct rfm_queue *queue, u32 i)
{
	return (queue->tail + i) % rfm_queue_places(queue);
}

static bool rfm_queue_full(const struct rfm_queue *queue)
{
	return queue->count - queue->reading >= queue->depth;
}

/*
 * Copies the oldest records straight from the queue: those that are marked as
 * being read stay as they are until the tail moves past them. Each as long as its
 * reader knows it.
 */
static ssize_t rfm_queue_copy_batch(struct rfm_queue *queue, char __user *buf,
				    size_t room)
{
	int fault = 0;
	u32 count, i;

	lockdep_assert_held(&queue->read_lock);

	spin_lock_irq(&queue->lock);
	count = min_t(size_t, min_t(u32, queue->count, RFM_QUEUE_BATCH), room);
	queue->reading = count;
	spin_unlock_irq(&queue->lock);

	for (i = 0; i < count && !fault; i++, buf += queue->record_size)
		fault = copy_struct_to_user(buf, queue->record_size,
					    &queue->ring[rfm_queue_index(queue, i)],
					    sizeof(*queue->ring), NULL);

	spin_lock_irq(&queue->lock);
	queue->reading = 0;
	if (!fault) {
		queue->tail = rfm_queue_index(queue, count);
		WRITE_ONCE(queue->count, queue->count - count);
	}
	spin_unlock_irq(&queue->lock);
	return fault ?: (ssize_t)count;
}

/* As many records as are there and fit; what could not be copied stays. */
static ssize_t rfm_queue_copy(struct rfm_queue *queue, char __user *buf,
			      size_t room)
{
	const size_t size = queue->record_size;
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
	size_t room = len / queue->record_size;
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
					     READ_ONCE(queue->count) ||
					     rfm_queue_over(queue)))
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

/* Makes an empty queue of @depth records in zeroed memory. Return: 0 or -ENOMEM. */
int rfm_queue_init(struct rfm_queue *queue, struct rfm_card *card, u32 depth)
{
	queue->card = card;
	queue->depth = depth;
	INIT_LIST_HEAD(&queue->node);
	queue->ring = kvmalloc_array(rfm_queue_places(queue),
				     sizeof(*queue->ring) + sizeof(*queue->keys),
				     GFP_KERNEL_ACCOUNT);
	if (!queue->ring)
		return -ENOMEM;

	queue->keys = (u16 *)(queue->ring + rfm_queue_places(queue));
	init_waitqueue_head(&queue->wait);
	mutex_init(&queue->read_lock);
	spin_lock_init(&queue->lock);
	return 0;
}

/* --- descriptors ----------------------------------------------------------- */

/*
 * Makes what a descriptor of events stands for: @size bytes, zeroed, that begin
 * with a struct rfm_queue, and hold a reference to the card. Its queue takes
 * @depth records, at most RFM_LISTEN_DEPTH_MAX, 0 for the usual number, and the
 * last of each of @slots; readers get @record_size bytes of each, 0 for those of the
 * first version. ERR_PTR(-EINVAL) for a @record_size that is none, -ENOSPC if the
 * queues of the card's descriptors, which are bounded together, would hold too many,
 * or -ENOMEM.
 */
void *rfm_queue_alloc(struct rfm_card *card, const struct rfm_queue_ops *ops,
		      size_t size, u32 depth, u32 record_size, u32 slots)
{
	struct rfm_queue *queue;
	bool admitted;

	depth = depth ?: RFM_LISTEN_DEPTH_DEFAULT;
	record_size = record_size ?: RFM_EVENT_SIZE_VER0;
	if (!rfm_record_size_good(record_size, RFM_EVENT_SIZE_VER0))
		return ERR_PTR(-EINVAL);
	queue = kvzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	rfm_dispatch_lock(card);
	admitted = depth <= RFM_QUEUED_MAX - card->dispatch.queued;
	if (admitted)
		card->dispatch.queued += depth;
	rfm_dispatch_unlock(card);
	if (!admitted) {
		kvfree(queue);
		return ERR_PTR(-ENOSPC);
	}
	get_device(&card->dev);
	queue->ops = ops;
	queue->holder.queue = queue;
	queue->spare = slots + 1;	/* RFM_KEY_DROPPED */
	queue->record_size = record_size;
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

	file = anon_inode_getfile(queue->ops->name, &rfm_queue_fops, queue,
				  O_RDONLY | (flags & RFM_LISTEN_NONBLOCK ?
					      O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		rfm_queue_free(queue);
		return PTR_ERR(file);
	}

	/* Before it begins: its first event may be one to be told of. */
	rfm_holder_add(queue->card, &queue->holder, &queue->ops->holder);
	fd = get_unused_fd_flags(flags & RFM_LISTEN_CLOEXEC ? O_CLOEXEC : 0);
	/* Last, for it may take events out of the card that must not get lost. */
	ret = fd < 0 ? fd : queue->ops->begin(queue);
	if (!ret) {
		fd_install(fd, file);
		return fd;
	}
	if (fd >= 0)
		put_unused_fd(fd);
	fput(file);
	return ret;
}

/* --- what goes in ---------------------------------------------------------- */

/* Events from now on are for it. Under dispatch.lock, the card entered. */
void rfm_queue_add(struct rfm_queue *queue)
{
	struct rfm_card *card = queue->card;
	struct list_head *at = &card->dispatch.queues;

	lockdep_assert_held(&card->dispatch.lock);

	/* In this order: what is dropped in between is not left untold. */
	queue->told = rfm_events_dropped(&card->hw);
	queue->since = rfm_events_position(&card->hw);
	/* Listeners are first, and told in the order in which they came. */
	if (rfm_queue_listens(queue))
		list_for_each(at, &card->dispatch.queues)
			if (!rfm_queue_listens(list_entry(at, struct rfm_queue,
							  node)))
				break;
	list_add_tail(&queue->node, at);
}

/* The unread record that an event can be added to, or NULL. */
static struct rfm_event *rfm_queue_newest(struct rfm_queue *queue, u32 type)
{
	struct rfm_event *event;

	if (queue->count == queue->reading)
		return NULL;
	event = &queue->ring[rfm_queue_index(queue, queue->count - 1)];
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
	       (event->type != RFM_EVENT_INCOMPLETE ||
		newest->data == event->data) &&
	       newest->count <= U32_MAX - event->count &&
	       (!rfm_event_counts(event) ||
		newest->data <= U32_MAX - event->data);
}

/* Which record of a key is behind the full queue? Its number, or @count: none. */
static u32 rfm_queue_behind(const struct rfm_queue *queue, u16 key)
{
	u32 i = queue->reading + queue->depth;

	while (i < queue->count && queue->keys[rfm_queue_index(queue, i)] != key)
		i++;
	return min(i, queue->count);
}

/* The one behind the full queue that @record comes instead of goes, if there is one. */
static bool rfm_queue_keep(struct rfm_queue *queue, u16 key,
			   struct rfm_event *record)
{
	u32 i = rfm_queue_behind(queue, key), at = rfm_queue_index(queue, i);

	if (i == queue->count)
		return false;
	if (queue->coalesced & RFM_EVENT_BIT(record->type) &&
	    queue->ring[at].type == record->type)
		record->count += queue->ring[at].count;
	else
		queue->dropped++;
	while (++i < queue->count) {
		u32 next = rfm_queue_index(queue, i);

		queue->ring[at] = queue->ring[next];
		queue->keys[at] = queue->keys[next];
		at = next;
	}
	WRITE_ONCE(queue->count, queue->count - 1);
	return true;
}

static void rfm_queue_put(struct rfm_queue *queue,
			  const struct rfm_event *event, u16 key)
{
	bool full = rfm_queue_full(queue), more = false;
	struct rfm_event record = *event, *place = NULL;
	u32 at;

	queue->seq++;
	record.count = event->count ?: 1;
	if (queue->coalesced & RFM_EVENT_BIT(event->type))
		place = rfm_queue_newest(queue, event->type);
	if (place && !rfm_queue_same(queue, place, &record))
		place = NULL;
	if (!place && full && !key) {
		queue->dropped++;
		return;
	}

	if (place) {
		record.count += place->count;
		if (rfm_event_counts(event))
			record.data += place->data;
	} else {
		more = !full || !rfm_queue_keep(queue, key, &record);
		at = rfm_queue_index(queue, queue->count);
		queue->keys[at] = key;
		place = &queue->ring[at];
		WRITE_ONCE(queue->count, queue->count + 1);
	}
	record.seq = queue->seq;
	record.dropped = queue->dropped;
	*place = record;
	if (!more)
		return;
	if (queue->work)
		queue_delayed_work(rfm_wq, queue->work, 0);
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	if (queue->eventfd)
		eventfd_signal(queue->eventfd);
}

/* All 0 if there is no queue. */
struct rfm_queue_state rfm_queue_state(struct rfm_queue *queue)
{
	struct rfm_queue_state state = {};

	if (!queue)
		return state;
	spin_lock_irq(&queue->lock);
	state.types = queue->types;
	state.depth = queue->depth;
	state.queued = min(queue->count, queue->reading + queue->depth);
	state.events = queue->seq;
	state.dropped = queue->dropped;
	spin_unlock_irq(&queue->lock);
	return state;
}

/* What is missing in the event ring may have been this queue's. */
static void rfm_queue_report_dropped(struct rfm_queue *queue)
{
	u64 missing = rfm_events_missing(&queue->card->hw);
	struct rfm_event *telling, event = {
		.type = RFM_EVENT_DROPPED,
		.node = RFM_NODE_ALL,
	};
	u32 behind;

	if (!(queue->types & (RFM_EVENT_SENDABLE | RFM_EVENT_EXTENSION)) ||
	    missing <= queue->told)
		return;
	missing -= queue->told;
	queue->told += missing;

	/* The unread record that more can be added to. */
	behind = rfm_queue_behind(queue, RFM_KEY_DROPPED);
	telling = behind < queue->count ?
		  &queue->ring[rfm_queue_index(queue, behind)] :
		  rfm_queue_newest(queue, RFM_EVENT_DROPPED);
	if (telling) {
		telling->data = min_t(u64, telling->data + missing, U32_MAX);
		return;
	}
	event.data = min_t(u64, missing, U32_MAX);
	event.time_ns = ktime_get_ns();
	rfm_queue_put(queue, &event, RFM_KEY_DROPPED);
}

/**
 * rfm_queue_push - give an event to a queue
 * @queue: the queue
 * @event: the event; its seq and dropped are not looked at, a count of 0 is 1
 * @key: if the queue is full, it is kept behind it instead of the last of this
 *	key; 0: it can be dropped
 *
 * If there is one record more than before, wakes readers and pollers and counts
 * its eventfd up. What is missing in the event ring is told first.
 *
 * Context: dispatch.lock held.
 */
void rfm_queue_push(struct rfm_queue *queue, const struct rfm_event *event,
		    u16 key)
{
	unsigned long flags;

	lockdep_assert_held(&queue->card->dispatch.lock);

	spin_lock_irqsave(&queue->lock, flags);
	rfm_queue_report_dropped(queue);
	rfm_queue_put(queue, event, key);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/*
 * Takes the oldest record out of a queue that nobody reads. If there is none
 * returns false, and @event tells only how many were dropped so far.
 */
bool rfm_queue_pop(struct rfm_queue *queue, struct rfm_event *event)
{
	bool found;

	spin_lock_irq(&queue->lock);
	found = queue->count;
	if (found) {
		*event = queue->ring[queue->tail];
		queue->tail = rfm_queue_index(queue, 1);
		WRITE_ONCE(queue->count, queue->count - 1);
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
void rfm_queues_report_dropped(struct rfm_card *card)
{
	struct rfm_queue *queue;

	lockdep_assert_held(&card->dispatch.lock);

	list_for_each_entry(queue, &card->dispatch.queues, node) {
		spin_lock_irq(&queue->lock);
		rfm_queue_report_dropped(queue);
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
		/* Who sleeps on it hears of no other end. */
		if (queue->eventfd)
			eventfd_signal(queue->eventfd);
		cond_resched();
	}
}
