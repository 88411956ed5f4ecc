// SPDX-License-Identifier: GPL-2.0-only
/* RFM_IOC_LISTEN: descriptors that tell what happens on the ring. */

#include <linux/sched.h>

#include "rfm_card.h"

/* They exist on a card with the extension block only. */
#define RFM_EVENT_EXTENSION \
	(RFM_EVENT_ALL & ~(RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1))

static void rfm_listener_describe(struct rfm_holder *holder,
				  struct rfm_description *description)
{
	struct rfm_listener *listener = container_of(holder, struct rfm_listener,
						     queue.holder);

	rfm_queue_describe(&listener->queue, description);
	description->types = listener->types;
	if (listener->flags & RFM_LISTEN_EXCLUSIVE)
		description->flags |= RFM_DESCRIPTOR_FLAG_EXCLUSIVE;
}

static int rfm_listener_begin(struct rfm_queue *queue)
{
	return rfm_irq_add_listener(queue->card,
				    container_of(queue, struct rfm_listener,
						 queue));
}

static void rfm_listener_end(struct rfm_queue *queue)
{
	rfm_irq_del_listener(queue->card,
			     container_of(queue, struct rfm_listener, queue));
}

static const struct rfm_queue_ops rfm_listener_ops = {
	.name = "[rfm-listen]",
	.holder = {
		.kind = RFM_DESCRIPTOR_KIND_LISTEN,
		.describe = rfm_listener_describe,
	},
	.begin = rfm_listener_begin,
	.end = rfm_listener_end,
};

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
	int ret;

	ret = rfm_listen_check(card, args);
	if (ret)
		return ret;
	listener = rfm_queue_alloc(card, &rfm_listener_ops, sizeof(*listener),
				   args->depth);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	INIT_LIST_HEAD(&listener->node);
	listener->types = args->types;
	listener->flags = args->flags;
	return rfm_queue_install(&listener->queue, args->flags);
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
