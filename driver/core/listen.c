// SPDX-License-Identifier: GPL-2.0-only
/* RFM_IOC_LISTEN: descriptors that tell what happens on the ring. */

#include "core/card.h"

/* One of each that only monitors have heard of, as if it had waited in the card. */
static void rfm_listener_push_waiting(struct rfm_queue *queue, u32 waiting)
{
	struct rfm_event event = { .node = RFM_NODE_ALL };

	for (event.type = 0; event.type < RFM_EVENT_TYPES; event.type++) {
		if (!(waiting & RFM_EVENT_BIT(event.type)))
			continue;
		event.time_ns = ktime_get_ns();
		rfm_queue_push(queue, &event, 0);
	}
}

/* May it have these types? */
static int rfm_listener_check(struct rfm_card *card,
			      const struct rfm_queue *queue)
{
	const struct rfm_dispatch *dispatch = &card->dispatch;

	if (queue->types & RFM_EVENT_EXTENSION && card->hw.events.stopped)
		return -EIO;
	if (queue->types & dispatch->exclusive)
		return -EBUSY;
	if (dispatch->listening == RFM_LISTENERS_MAX)
		return -ENOSPC;
	if (queue->flags & RFM_LISTEN_EXCLUSIVE &&
	    queue->types & dispatch->heard)
		return -EBUSY;
	return 0;
}

static int rfm_listener_enlist(struct rfm_card *card, struct rfm_queue *queue)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	u32 unheard, waiting;
	int ret;

	lockdep_assert_held(&dispatch->lock);

	ret = rfm_listener_check(card, queue);
	if (ret)
		return ret;
	/*
	 * Errors that have been taken up are older than the listener. So is what
	 * is in a FIFO, but emptying it would take too long: the listener gets it.
	 */
	rfm_irq_take(&card->hw, RFM_EVENT_ALL, RFM_NO_LIMIT);
	unheard = queue->types & ~dispatch->heard;
	waiting = dispatch->waiting & unheard;
	dispatch->waiting &= ~unheard;
	dispatch->listening++;
	if (queue->flags & RFM_LISTEN_EXCLUSIVE)
		dispatch->exclusive |= queue->types;
	rfm_queue_add(queue);
	if (queue->flags & RFM_LISTEN_DISCARD) {
		rfm_irq_discard(&card->hw, unheard);
	} else if (waiting) {
		rfm_listener_push_waiting(queue, waiting);
		/* Whether the card has latched another one meanwhile or not. */
		rfm_irq_discard(&card->hw, waiting);
	}
	/* A level that is up interrupts as soon as it is enabled. */
	rfm_dispatch_route(card);
	rfm_irq_open(&card->hw, unheard & RFM_EVENT_SENDABLE);
	return 0;
}

static int rfm_listener_begin(struct rfm_queue *queue)
{
	int idx, ret;

	if (!rfm_dispatch_enter(queue->card, &idx))
		return -ENODEV;
	ret = rfm_listener_enlist(queue->card, queue);
	rfm_dispatch_exit(queue->card, idx);
	return ret;
}

static void rfm_listener_end(struct rfm_queue *queue)
{
	struct rfm_card *card = queue->card;

	rfm_dispatch_lock(card);
	list_del_init(&queue->node);
	card->dispatch.listening--;
	if (queue->flags & RFM_LISTEN_EXCLUSIVE)
		card->dispatch.exclusive &= ~queue->types;
	rfm_dispatch_route(card);
	rfm_dispatch_unlock(card);
}

static const struct rfm_queue_ops rfm_listener_ops = {
	.name = "[rfm-listen]",
	.holder.kind = RFM_DESCRIPTOR_KIND_LISTEN,
	.begin = rfm_listener_begin,
	.end = rfm_listener_end,
};

/* RFM_IOC_LISTEN. Return: the descriptor, or a negative errno. */
int rfm_listen(struct rfm_file *owner, void *arg)
{
	struct rfm_card *card = owner->card;
	const struct rfm_listen *args = arg;
	struct rfm_queue *queue;

	if (args->flags & ~RFM_LISTEN_FLAGS || !args->types ||
	    args->types & ~RFM_EVENT_ALL || args->types & RFM_EVENT_WATCHED ||
	    args->depth > RFM_LISTEN_DEPTH_MAX)
		return -EINVAL;
	if (args->types & RFM_EVENT_EXTENSION && !card->hw.events.ring)
		return -EOPNOTSUPP;
	queue = rfm_queue_alloc(card, &rfm_listener_ops, sizeof(*queue),
				args->depth, 0);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	queue->types = args->types;
	queue->flags = args->flags;
	if (args->flags & RFM_LISTEN_EXCLUSIVE)
		queue->holder.flags |= RFM_DESCRIPTOR_FLAG_EXCLUSIVE;
	return rfm_queue_install(queue, args->flags);
}

/* RFM_IOC_EVENT_COUNTS. Return: 0 or -ENODEV. */
int rfm_listen_counts(struct rfm_file *file, void *arg)
{
	struct rfm_dispatch *dispatch = &file->card->dispatch;
	struct rfm_event_counts *args = arg;
	int idx;

	BUILD_BUG_ON(sizeof(dispatch->counts) > sizeof(args->count));

	if (!rfm_dispatch_enter(file->card, &idx))
		return -ENODEV;
	memcpy(args->count, dispatch->counts, sizeof(dispatch->counts));
	rfm_dispatch_exit(file->card, idx);
	return 0;
}
