// SPDX-License-Identifier: GPL-2.0-only
/*
 * The multicast group "monitor": who is told of what happens to the cards.
 *
 * Changes of settings are told by whoever makes them. What happens to a card goes
 * into a queue (core/queue.c), as it does for a descriptor; a work item tells what is
 * there, at once when there was quiet before, and otherwise no more often than every
 * RFM_NOTIFY_PACE. An event is added to the record before it if it says the same of
 * the same node and descriptor. When there is no room for more, they are counted,
 * and the next message about the card tells how many.
 *
 * All notifications of the family are numbered and sent under one lock, so a
 * gap in the numbers is what a socket did not get: either it was told ENOBUFS,
 * or the gap is as long as an overrun message in front of its end says.
 */

#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "api/netlink.h"

#define RFM_NOTIFY_PACE		msecs_to_jiffies(10)

#define RFM_NOTICES	256	/* that a card can keep until they are told */

static u64 rfm_notify_seq;	/* under rfm_cards_lock */

static bool rfm_notify_heard(void)
{
	return genl_has_listeners(&rfm_nl_family, &init_net, RFM_NLGRP_MONITOR);
}

/* --- messages: under rfm_cards_lock --------------------------------------- */

#define RFM_HAS(attr)	BIT(RFM_A_EVENT_##attr)

#define RFM_HAS_UPDATE	(RFM_HAS(NODE) | RFM_HAS(OFFSET) | RFM_HAS(LENGTH) | \
			 RFM_HAS(FRAME))
#define RFM_HAS_AGED	(RFM_HAS_UPDATE | RFM_HAS(AGE_NS))

/* What is told of events: the notice, and what it may have. */
static const struct {
	u32 type;
	u32 has;
} rfm_notices[RFM_TOLD_TYPES] = {
	[RFM_EVENT_SYNC_LOSS]		= { RFM_NOTICE_SYNC_LOSS },
	[RFM_EVENT_SIGNAL]		= { RFM_NOTICE_LINK_UP },
	[RFM_EVENT_BAD_DATA]		= { RFM_NOTICE_BAD_DATA },
	[RFM_EVENT_ROGUE]		= { RFM_NOTICE_ROGUE },
	[RFM_EVENT_TX_FULL]		= { RFM_NOTICE_TX_FULL },
	[RFM_EVENT_RX_FULL]		= { RFM_NOTICE_RX_FULL },
	[RFM_EVENT_WRITE_INHIBITED]	= { RFM_NOTICE_WRITE_INHIBITED },
	[RFM_EVENT_PARITY]		= { RFM_NOTICE_PARITY },
	[RFM_EVENT_LOSS]		= { RFM_NOTICE_LOSS, RFM_HAS(NODE) |
					    RFM_HAS(MISSING) | RFM_HAS(FRAME) },
	[RFM_EVENT_BREAK]		= { RFM_NOTICE_BREAK, RFM_HAS(NODE) },
	[RFM_EVENT_MEMBERSHIP]		= { RFM_NOTICE_MEMBERSHIP,
					    RFM_HAS(EPOCH) },
	[RFM_EVENT_ID_IN_USE]		= { RFM_NOTICE_ID_IN_USE, RFM_HAS(NODE) },
	[RFM_EVENT_UPDATE]		= { RFM_NOTICE_LATE, RFM_HAS_AGED },
	[RFM_EVENT_MATCH]		= { RFM_NOTICE_LATE, RFM_HAS_AGED },
	[RFM_EVENT_STALE]		= { RFM_NOTICE_STALE, RFM_HAS_AGED },
	[RFM_EVENT_FRESH]		= { RFM_NOTICE_FRESH, RFM_HAS_AGED },
	[RFM_EVENT_CONFLICT]		= { RFM_NOTICE_CONFLICT, RFM_HAS_UPDATE },
	[RFM_EVENT_DROPPED]		= { RFM_NOTICE_DROPPED, RFM_HAS(MISSING) },
	[RFM_EVENT_INCOMPLETE]		= { RFM_NOTICE_INCOMPLETE },
	[RFM_TOLD_LINK_DOWN]		= { RFM_NOTICE_LINK_DOWN },
	[RFM_TOLD_GONE]			= { RFM_NOTICE_GONE },
};

/* Which attributes are not there to tell of an event? */
static u32 rfm_event_lacks(const struct rfm_event *event)
{
	u32 lacks = ~rfm_notices[event->type].has;

	if (event->node == RFM_NODE_ALL)
		lacks |= RFM_HAS(NODE);
	if (!event->length)
		lacks |= RFM_HAS(OFFSET) | RFM_HAS(LENGTH);
	if (event->flags & (RFM_EVENT_NEVER | RFM_EVENT_INFERRED))
		lacks |= RFM_HAS(FRAME);
	if (event->flags & RFM_EVENT_INFERRED)
		lacks |= RFM_HAS(AGE_NS);
	return lacks;
}

static int rfm_put_event(struct sk_buff *skb, const struct rfm_event *event)
{
	/* 0 if it seems to have come before it was stored: clocks are read coarsely. */
	u64 age = event->age_ns ?:
		  event->arrival_ns - min(event->arrival_ns, event->origin_ns);
	u32 lacks = rfm_event_lacks(event);
	bool complete = event->type == RFM_EVENT_INCOMPLETE && !event->data;
	const struct rfm_number numbers[] = {
		RFM_U32(EVENT_TYPE, complete ? RFM_NOTICE_COMPLETE :
					       rfm_notices[event->type].type),
		RFM_U64(EVENT_COUNT, event->count),
		RFM_U64(EVENT_TIME_NS, event->time_ns),
		RFM_U32(EVENT_NODE, event->node, lacks & RFM_HAS(NODE)),
		RFM_U64(EVENT_MISSING, event->data, lacks & RFM_HAS(MISSING)),
		RFM_U32(EVENT_EPOCH, event->data, lacks & RFM_HAS(EPOCH)),
		RFM_U64(EVENT_OFFSET, event->offset, lacks & RFM_HAS(OFFSET)),
		RFM_U32(EVENT_LENGTH, event->length, lacks & RFM_HAS(LENGTH)),
		RFM_U64(EVENT_FRAME, event->frame, lacks & RFM_HAS(FRAME)),
		RFM_U64(EVENT_AGE_NS, age, lacks & RFM_HAS(AGE_NS)),
		/* Whose it is, only descriptor-get tells. */
		RFM_U32(EVENT_DESCRIPTOR, event->late, !event->late),
	};

	return rfm_put_nest(skb, RFM_A_CARD_EVENT, RFM_A_EVENT_PAD, numbers,
			    ARRAY_SIZE(numbers));
}

/* What differs from notification to notification. */
static int rfm_put_body(struct sk_buff *skb, struct rfm_card *card, u8 cmd,
			const struct rfm_event *event)
{
	char comm[TASK_COMM_LEN];
	int ret = -ENODEV;

	if (cmd == RFM_CMD_OVERRUN_NTF)
		return 0;
	if (cmd == RFM_CMD_EVENT_NTF)
		return rfm_put_event(skb, event);
	get_task_comm(comm, current);
	if (cmd == RFM_CMD_CARD_CHANGE_NTF &&
	    (nla_put_u32(skb, RFM_A_CARD_PID, task_tgid_nr(current)) ||
	     nla_put_string(skb, RFM_A_CARD_COMM, comm)))
		return -EMSGSIZE;
	if (cmd != RFM_CMD_CARD_DELETE_NTF)
		ret = rfm_put_card(skb, card, NULL);
	/* Nothing is there then, and of one that is gone there is not more. */
	if (ret == -ENODEV)
		ret = nla_put_u32(skb, RFM_A_CARD_NODE, card->hw.node);
	return ret;
}

/*
 * @event: of RFM_CMD_EVENT_NTF; @lost: of RFM_CMD_OVERRUN_NTF, those that were lost
 * had numbers, too. Returns false if there was no memory; then no number is used.
 */
static bool rfm_tell(struct rfm_card *card, u8 cmd,
		     const struct rfm_event *event, u64 lost)
{
	const struct rfm_number numbers[] = {
		RFM_U64(CARD_SEQ, rfm_notify_seq + lost + 1),
		RFM_U64(CARD_LOST, lost, !lost),
	};
	struct sk_buff *skb;
	void *hdr;

	lockdep_assert_held(&rfm_cards_lock);

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return false;
	hdr = rfm_put_head(skb, 0, 0, 0, cmd, card);
	if (!hdr || rfm_put_numbers(skb, RFM_A_CARD_PAD, numbers,
				    ARRAY_SIZE(numbers)) ||
	    rfm_put_body(skb, card, cmd, event)) {
		nlmsg_free(skb);
		return false;
	}
	genlmsg_end(skb, hdr);
	/* A socket without room has been told so. */
	genlmsg_multicast(&rfm_nl_family, skb, 0, RFM_NLGRP_MONITOR, GFP_KERNEL);
	rfm_notify_seq += lost + 1;
	return true;
}

/*
 * Everything that is in the queue so far. What comes meanwhile, or is left for want
 * of memory, has time.
 */
static void rfm_monitor_tell(struct rfm_card *card)
{
	struct rfm_monitor *monitor = &card->dispatch.monitor;
	unsigned int turns = RFM_NOTICES + 1;	/* and what was lost behind */
	struct rfm_event event;
	bool found = true;
	u64 lost;

	lockdep_assert_held(&rfm_cards_lock);

	while (found && turns--) {
		found = rfm_queue_pop(&monitor->queue, &event);
		lost = event.dropped - monitor->lost;
		if (!found && !lost)
			return;
		mod_delayed_work(rfm_wq, &monitor->work, RFM_NOTIFY_PACE);
		if (lost && !rfm_tell(card, RFM_CMD_OVERRUN_NTF, NULL, lost)) {
			if (found)
				rfm_queue_lose(&monitor->queue);
			return;
		}
		monitor->lost += lost;
		if (found && !rfm_tell(card, RFM_CMD_EVENT_NTF, &event, 0))
			rfm_queue_lose(&monitor->queue);
		cond_resched();
	}
}

static void rfm_notify_work(struct work_struct *work)
{
	struct rfm_card *card = container_of(to_delayed_work(work),
					     struct rfm_card,
					     dispatch.monitor.work);

	mutex_lock(&rfm_cards_lock);
	if (card->dispatch.monitor.known)
		rfm_monitor_tell(card);
	mutex_unlock(&rfm_cards_lock);
}

/* --- what there is to tell: under dispatch.lock ---------------------------- */

/**
 * rfm_notify_event - monitors are to be told of an event
 * @card: the card
 * @event: the event; RFM_TOLD_* is a type, too
 * @holder: id of the holder whom it is about, or 0
 *
 * Context: dispatch.lock held.
 */
void rfm_notify_event(struct rfm_card *card, const struct rfm_event *event,
		      u32 holder)
{
	struct rfm_queue *queue = &card->dispatch.monitor.queue;
	struct rfm_event record = *event;

	lockdep_assert_held(&card->dispatch.lock);

	if (list_empty(&queue->node) || !rfm_notify_heard())
		return;
	record.late = holder;
	record.time_ns = ktime_get_ns();
	rfm_queue_push(queue, &record, 0);
}

/* The same of what happened, @type as there, and no more. dispatch.lock held. */
void rfm_notify_what(struct rfm_card *card, u32 type)
{
	const struct rfm_event event = { .type = type, .node = RFM_NODE_ALL };

	rfm_notify_event(card, &event, 0);
}

/* Is there room for two more? Under dispatch.lock. */
bool rfm_notify_room(struct rfm_card *card)
{
	lockdep_assert_held(&card->dispatch.lock);

	return READ_ONCE(card->dispatch.monitor.queue.count) + 2 <= RFM_NOTICES;
}

/* --- cards and their settings --------------------------------------------- */

static void rfm_tell_card(struct rfm_card *card, u8 cmd)
{
	struct rfm_monitor *monitor = &card->dispatch.monitor;

	lockdep_assert_held(&card->lock);

	if (!rfm_notify_heard() || rfm_tell(card, cmd, NULL, 0))
		return;
	/* An overrun message will count it. */
	rfm_queue_lose(&monitor->queue);
	queue_delayed_work(rfm_wq, &monitor->work, RFM_NOTIFY_PACE);
}

/*
 * Tells monitors that the calling process changed settings, after what happened
 * to the card before. Under card->lock; sleeps.
 */
void rfm_notify_change(struct rfm_card *card)
{
	mutex_lock(&rfm_cards_lock);
	if (card->dispatch.monitor.known && rfm_notify_heard()) {
		rfm_monitor_tell(card);
		rfm_tell_card(card, RFM_CMD_CARD_CHANGE_NTF);
	}
	mutex_unlock(&rfm_cards_lock);
}

/* Tells monitors of a card that netlink knows, and then what happens to it. */
void rfm_notify_start(struct rfm_card *card)
{
	int idx;

	mutex_lock(&card->lock);
	mutex_lock(&rfm_cards_lock);
	rfm_tell_card(card, RFM_CMD_CARD_CREATE_NTF);
	card->dispatch.monitor.known = true;
	rfm_dispatch_lock(card);
	if (rfm_card_enter(card, &idx)) {
		rfm_queue_add(&card->dispatch.monitor.queue);
		rfm_card_exit(card, idx);
	}
	rfm_dispatch_unlock(card);
	mutex_unlock(&rfm_cards_lock);
	mutex_unlock(&card->lock);
}

/* Of a card that netlink no longer knows, with no user of its hardware left. */
void rfm_notify_stop(struct rfm_card *card)
{
	rfm_dispatch_lock(card);
	list_del_init(&card->dispatch.monitor.queue.node);
	rfm_dispatch_unlock(card);

	mutex_lock(&card->lock);
	mutex_lock(&rfm_cards_lock);
	rfm_monitor_tell(card);
	rfm_tell_card(card, RFM_CMD_CARD_DELETE_NTF);
	card->dispatch.monitor.known = false;
	mutex_unlock(&rfm_cards_lock);
	mutex_unlock(&card->lock);
	cancel_delayed_work_sync(&card->dispatch.monitor.work);
}

/* Room for what the monitors of a card are to be told. */
int rfm_notify_init(struct rfm_card *card)
{
	struct rfm_monitor *monitor = &card->dispatch.monitor;

	INIT_DELAYED_WORK(&monitor->work, rfm_notify_work);
	monitor->queue.work = &monitor->work;
	monitor->queue.coalesced = ~0u;
	return rfm_queue_init(&monitor->queue, card, RFM_NOTICES);
}
