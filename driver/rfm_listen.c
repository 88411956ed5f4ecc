// SPDX-License-Identifier: GPL-2.0-only
/* RFM_IOC_LISTEN: descriptors that tell what happens on the ring. */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "rfm_card.h"

/* They exist on a card with the extension block only. */
#define RFM_EVENT_EXTENSION \
	(RFM_EVENT_ALL & ~(RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1))

static void rfm_listener_describe(struct rfm_holder *holder,
				  struct rfm_description *description)
{
	struct rfm_listener *listener = container_of(holder, struct rfm_listener,
						     holder);

	rfm_queue_describe(&listener->queue, description);
	description->types = listener->types;
	if (listener->exclusive)
		description->flags |= RFM_DESCRIPTOR_FLAG_EXCLUSIVE;
}

static const struct rfm_holder_ops rfm_listener_ops = {
	.kind = RFM_DESCRIPTOR_KIND_LISTEN,
	.describe = rfm_listener_describe,
};

static void rfm_listener_free(struct rfm_listener *listener)
{
	rfm_queue_destroy(&listener->queue);
	kfree(listener);
}

static int rfm_listener_release(struct inode *inode, struct file *file)
{
	struct rfm_queue *queue = file->private_data;
	struct rfm_listener *listener = container_of(queue, struct rfm_listener,
						     queue);

	rfm_irq_del_listener(queue->card, listener);
	if (listener->holder.ops)
		rfm_holder_del(queue->card, &listener->holder);
	rfm_listener_free(listener);
	return 0;
}

static void rfm_listener_show(struct seq_file *m, struct file *file)
{
	struct rfm_queue *queue = file->private_data;

	rfm_holder_show(m, queue->card,
			&container_of(queue, struct rfm_listener, queue)->holder);
}

static const struct file_operations rfm_listener_fops = {
	.owner		= THIS_MODULE,
	.read		= rfm_queue_read,
	.poll		= rfm_queue_poll,
	.release	= rfm_listener_release,
	.show_fdinfo	= rfm_listener_show,
};

static struct rfm_listener *rfm_listener_alloc(struct rfm_card *card, u32 depth)
{
	struct rfm_listener *listener;
	int ret;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	ret = rfm_queue_open(&listener->queue, card, depth);
	if (ret) {
		kfree(listener);
		return ERR_PTR(ret);
	}
	INIT_LIST_HEAD(&listener->node);
	return listener;
}

static int rfm_listen_check(struct rfm_card *card, const struct rfm_listen *args)
{
	if (args->flags & ~RFM_LISTEN_FLAGS || !args->types ||
	    args->types & ~RFM_EVENT_ALL || args->types & RFM_EVENT_WATCHED)
		return -EINVAL;
	if (args->depth > RFM_LISTEN_DEPTH_MAX)
		return -EINVAL;
	if (args->types & RFM_EVENT_EXTENSION && !card->hw.events.ring)
		return -EOPNOTSUPP;
	return 0;
}

/* RFM_IOC_LISTEN. Return: the descriptor, or a negative errno. */
int rfm_listen(struct rfm_file *owner, void *arg)
{
	struct rfm_card *card = owner->card;
	const struct rfm_listen *args = arg;
	struct rfm_listener *listener;
	struct file *file;
	int fd, ret;

	ret = rfm_listen_check(card, args);
	if (ret)
		return ret;

	listener = rfm_listener_alloc(card, args->depth ?:
				      RFM_LISTEN_DEPTH_DEFAULT);
	if (IS_ERR(listener))
		return PTR_ERR(listener);

	fd = get_unused_fd_flags(args->flags & RFM_LISTEN_CLOEXEC ?
				 O_CLOEXEC : 0);
	if (fd < 0) {
		rfm_listener_free(listener);
		return fd;
	}

	file = anon_inode_getfile("[rfm-listen]", &rfm_listener_fops,
				  &listener->queue,
				  O_RDONLY | (args->flags & RFM_LISTEN_NONBLOCK ?
					      O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		rfm_listener_free(listener);
		return PTR_ERR(file);
	}

	/* Last, for it takes events out of the card that must not get lost. */
	ret = rfm_irq_add_listener(card, listener, args->types, args->flags);
	if (ret) {
		put_unused_fd(fd);
		fput(file);
		return ret;
	}

	rfm_holder_add(card, &listener->holder, &rfm_listener_ops);
	fd_install(fd, file);
	return fd;
}

/**
 * rfm_listeners_push - give an event to all who listen for it
 * @card: the card
 * @event: what happened
 * @position: of its record in the event ring, or RFM_POSITION_NONE
 *
 * Context: dispatch.lock held; sleeps if there are many.
 * Return: true if anybody listens for it.
 */
bool rfm_listeners_push(struct rfm_card *card, const struct rfm_event *event,
			u64 position)
{
	struct rfm_listener *listener;
	unsigned int visited = 0;
	bool heard = false;

	lockdep_assert_held(&card->dispatch.lock);

	list_for_each_entry(listener, &card->dispatch.listeners, node) {
		rfm_dispatch_yield(++visited);
		if (!(listener->types & RFM_EVENT_BIT(event->type)) ||
		    position <= listener->queue.since)
			continue;
		rfm_queue_push(&listener->queue, event, NULL);
		heard = true;
	}
	return heard;
}
