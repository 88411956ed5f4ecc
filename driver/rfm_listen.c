// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event descriptors, made by RFM_IOC_LISTEN: a stream of struct rfm_event.
 *
 * When the card has gone, read() first delivers what is queued and then
 * answers ENODEV; poll() says EPOLLHUP | EPOLLERR at once.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rfm_drv.h"

static bool rfm_listener_ready(const struct rfm_listener *listener)
{
	return READ_ONCE(listener->count) || READ_ONCE(listener->card->gone);
}

/*
 * Copies what is queued, as far as it fits, straight from the queue: records
 * that are counted stay where they are until the tail moves past them.
 */
static ssize_t rfm_listener_copy(struct rfm_listener *listener,
				 char __user *buf, size_t room)
{
	const size_t size = sizeof(struct rfm_event);
	struct rfm_card *card = listener->card;
	u32 count, first;

	lockdep_assert_held(&listener->read_lock);

	spin_lock_irq(&card->irq_lock);
	count = min_t(size_t, listener->count, room);
	spin_unlock_irq(&card->irq_lock);

	first = min(count, listener->depth - listener->tail);
	if (copy_to_user(buf, listener->ring + listener->tail, first * size) ||
	    copy_to_user(buf + first * size, listener->ring,
			 (count - first) * size))
		return -EFAULT;

	spin_lock_irq(&card->irq_lock);
	listener->tail = (listener->tail + count) % listener->depth;
	listener->count -= count;
	spin_unlock_irq(&card->irq_lock);
	return count * size;
}

static ssize_t rfm_listener_read(struct file *file, char __user *buf,
				 size_t len, loff_t *pos)
{
	struct rfm_listener *listener = file->private_data;
	size_t room = len / sizeof(struct rfm_event);
	ssize_t ret;
	bool gone;

	if (!room)
		return -EINVAL;

	for (;;) {
		/* Before the copy: after gone nothing more is queued. */
		gone = READ_ONCE(listener->card->gone);

		if (mutex_lock_interruptible(&listener->read_lock))
			return -ERESTARTSYS;
		ret = rfm_listener_copy(listener, buf, room);
		mutex_unlock(&listener->read_lock);
		if (ret)
			return ret;

		if (gone)
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(listener->wait,
					     rfm_listener_ready(listener)))
			return -ERESTARTSYS;
	}
}

static __poll_t rfm_listener_poll(struct file *file, poll_table *table)
{
	struct rfm_listener *listener = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &listener->wait, table);
	if (READ_ONCE(listener->count))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(listener->card->gone))
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}

static void rfm_listener_free(struct rfm_listener *listener)
{
	put_device(&listener->card->dev);
	kvfree(listener->ring);
	kfree(listener);
}

static int rfm_listener_release(struct inode *inode, struct file *file)
{
	struct rfm_listener *listener = file->private_data;

	rfm_irq_del_listener(listener->card, listener);
	rfm_listener_free(listener);
	return 0;
}

static const struct file_operations rfm_listener_fops = {
	.owner		= THIS_MODULE,
	.read		= rfm_listener_read,
	.poll		= rfm_listener_poll,
	.release	= rfm_listener_release,
};

static struct rfm_listener *rfm_listener_alloc(struct rfm_card *card, u32 depth)
{
	struct rfm_listener *listener;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return NULL;

	listener->ring = kvmalloc_array(depth, sizeof(*listener->ring),
					GFP_KERNEL_ACCOUNT);
	if (!listener->ring) {
		kfree(listener);
		return NULL;
	}

	get_device(&card->dev);
	listener->card = card;
	listener->depth = depth;
	INIT_LIST_HEAD(&listener->node);
	init_waitqueue_head(&listener->wait);
	mutex_init(&listener->read_lock);
	return listener;
}

/**
 * rfm_listen - make an event descriptor
 * @card: the card
 * @args: RFM_IOC_LISTEN's arguments, flags and reserved field already checked
 *
 * Return: the descriptor, or a negative errno.
 */
int rfm_listen(struct rfm_card *card, const struct rfm_listen *args)
{
	u32 depth = args->depth ?: RFM_LISTEN_DEPTH_DEFAULT;
	struct rfm_listener *listener;
	struct file *file;
	int fd, ret;

	if (!args->types || args->types & ~RFM_EVENT_ALL)
		return -EINVAL;
	if (depth > RFM_LISTEN_DEPTH_MAX)
		return -EINVAL;

	listener = rfm_listener_alloc(card, depth);
	if (!listener)
		return -ENOMEM;

	fd = get_unused_fd_flags(args->flags & RFM_LISTEN_CLOEXEC ?
				 O_CLOEXEC : 0);
	if (fd < 0) {
		rfm_listener_free(listener);
		return fd;
	}

	file = anon_inode_getfile("[rfm-listen]", &rfm_listener_fops, listener,
				  O_RDONLY | (args->flags & RFM_LISTEN_NONBLOCK ?
					      O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		rfm_listener_free(listener);
		return PTR_ERR(file);
	}

	/* Last, for it takes events out of the card that must not get lost. */
	ret = rfm_irq_add_listener(card, listener, args->types,
				   args->flags & RFM_LISTEN_DISCARD);
	if (ret) {
		put_unused_fd(fd);
		fput(file);
		return ret;
	}

	fd_install(fd, file);
	return fd;
}

/**
 * rfm_listeners_push - give an event to all who listen for it
 * @card: the card
 * @type: what happened
 * @node: who sent it, or RFM_NODE_ALL
 * @data: what came with it, or 0
 * @time_ns: when, CLOCK_MONOTONIC
 *
 * Context: interrupt, with card->irq_lock held.
 */
void rfm_listeners_push(struct rfm_card *card, enum rfm_event_type type,
			u32 node, u32 data, u64 time_ns)
{
	struct rfm_listener *listener;
	u32 slot;

	lockdep_assert_held(&card->irq_lock);

	list_for_each_entry(listener, &card->listeners, node) {
		if (!(listener->types & RFM_EVENT_BIT(type)))
			continue;

		listener->seq++;
		if (listener->count == listener->depth) {
			listener->dropped++;
			continue;
		}

		slot = (listener->tail + listener->count) % listener->depth;
		listener->ring[slot] = (struct rfm_event) {
			.type = type,
			.node = node,
			.data = data,
			.seq = listener->seq,
			.time_ns = time_ns,
			.dropped = listener->dropped,
		};
		WRITE_ONCE(listener->count, listener->count + 1);
		wake_up_interruptible_poll(&listener->wait,
					   EPOLLIN | EPOLLRDNORM);
	}
}

/**
 * rfm_listeners_wake - tell all listeners that the card has gone
 * @card: the card
 *
 * Context: any, with card->irq_lock held.
 */
void rfm_listeners_wake(struct rfm_card *card)
{
	struct rfm_listener *listener;

	lockdep_assert_held(&card->irq_lock);

	list_for_each_entry(listener, &card->listeners, node)
		wake_up_all(&listener->wait);
}
