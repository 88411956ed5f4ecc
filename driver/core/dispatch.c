// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of an event: who delivers what the card tells, when, and to whom.
 *
 *   rfm_irq(), rfm_events_irq()	the interrupt handlers
 *   rfm_dispatch_irq()			at once, or by the work item:
 *   rfm_irq_take(), rfm_events_take()	fetch from LISR and FIFOs, or the event ring
 *   rfm_dispatch()			finds out whom it is for: listeners by its type,
 *					watches by its range or slot, fences, monitors
 *   rfm_queue_push()			queues a record, and wakes who waits for it
 *
 * The interrupt handlers take up what there is, and deliver it at once if that is
 * little: few events that few wait for, so that these wake up soon. All else, be it
 * many events or one that many wait for, is left to a work item, which shares the
 * CPU with everybody else. While it is at it, the card does not interrupt for
 * records of the event ring.
 *
 * Deliveries are made under dispatch.lock. A handler that does not get it
 * leaves everything to the work item, so no event overtakes another.
 */

#include <linux/interrupt.h>
#include <linux/sched.h>

#include "core/notify.h"

/* So much does the work item before others may have the lock, or the CPU. */
#define RFM_TURN	32

/* What LISR keeps while nobody listens, but for what is always asked for. */
#define RFM_EVENT_LATCHED	(RFM_EVENT_KEPT | RFM_EVENT_BIT(RFM_EVENT_RESET) | \
				 RFM_EVENT_BIT(RFM_EVENT_RX_ALMOST_FULL))

/* --- the lock -------------------------------------------------------------- */

/* Waits until nobody else delivers; sleeps. */
void rfm_dispatch_lock(struct rfm_card *card)
{
	mutex_acquire(&card->dispatch.lock.dep_map, 0, 0, _RET_IP_);
	down(&card->dispatch.lock.free);
}

/* The same if nobody does just now, in any context. */
static bool rfm_dispatch_trylock(struct rfm_card *card)
{
	if (down_trylock(&card->dispatch.lock.free))
		return false;
	mutex_acquire(&card->dispatch.lock.dep_map, 0, 1, _RET_IP_);
	return true;
}

void rfm_dispatch_unlock(struct rfm_card *card)
{
	mutex_release(&card->dispatch.lock.dep_map, _RET_IP_);
	up(&card->dispatch.lock.free);
}

/* rfm_dispatch_lock() and rfm_card_enter(), or neither. */
bool rfm_dispatch_enter(struct rfm_card *card, int *idx)
{
	rfm_dispatch_lock(card);
	if (rfm_card_enter(card, idx))
		return true;
	rfm_dispatch_unlock(card);
	return false;
}

void rfm_dispatch_exit(struct rfm_card *card, int idx)
{
	rfm_card_exit(card, idx);
	rfm_dispatch_unlock(card);
}

/*
 * Others may run between deliveries of one event, if these are more than an
 * interrupt handler makes.
 */
void rfm_dispatch_yield(unsigned int deliveries)
{
	BUILD_BUG_ON(RFM_AT_ONCE >= RFM_TURN);
	if (!(deliveries % RFM_TURN))
		cond_resched();
}

/* --- to whom ---------------------------------------------------------------- */

static unsigned int rfm_dispatch_to_listeners(struct rfm_card *card,
					      const struct rfm_record *record)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	u32 bit = RFM_EVENT_BIT(record->event.type);
	unsigned int visited = 0;
	struct rfm_queue *queue;
	bool heard = false;

	dispatch->counts[record->event.type]++;
	list_for_each_entry(queue, &dispatch->queues, node) {
		if (!rfm_queue_listens(queue))
			break;
		rfm_dispatch_yield(++visited);
		if (!(queue->types & bit) || record->position <= queue->since)
			continue;
		rfm_queue_push(queue, &record->event, 0);
		heard = true;
	}
	/* It is no longer in the card, so the first who listens gets it from us. */
	if (!heard && record->position == RFM_POSITION_NONE)
		dispatch->waiting |= bit & RFM_EVENT_LATCHED;
	rfm_throttle_event(card, &record->event);
	return visited;
}

/**
 * rfm_dispatch - give an event to everybody whom it is for
 * @card: the card
 * @record: the event; where watches differ, it is changed
 *
 * Context: dispatch.lock held, the card entered; sleeps if these are many.
 * Return: how many were looked at.
 */
unsigned int rfm_dispatch(struct rfm_card *card, struct rfm_record *record)
{
	lockdep_assert_held(&card->dispatch.lock);

	switch (record->event.type) {
	case RFM_EVENT_RESET ... RFM_EVENT_PARITY:
	case RFM_EVENT_CONFLICT ... RFM_EVENT_ID_IN_USE:
	case RFM_EVENT_INCOMPLETE:
		return rfm_dispatch_to_listeners(card, record);
	case RFM_EVENT_UPDATE:
		return rfm_watch_update(card, record);
	case RFM_EVENT_MATCH:
	case RFM_EVENT_STALE:
	case RFM_EVENT_FRESH:
		return rfm_watch_slot(card, record);
	case RFM_EVENT_WRITTEN:
		return rfm_region_written(card, record);
	case RFM_RECORD_FENCE:
		rfm_fence_event(card, record->value);
	}
	return 0;
}

/**
 * rfm_dispatch_fits - may an event be delivered now?
 * @card: the card
 * @record: the event
 * @budget: looks at who may get it; RFM_NO_LIMIT: and it may sleep
 *
 * Context: dispatch.lock held.
 */
bool rfm_dispatch_fits(struct rfm_card *card, const struct rfm_record *record,
		       unsigned int budget)
{
	if (rfm_may_sleep(budget))
		return true;
	switch (record->event.type) {
	case RFM_EVENT_SIGNAL:
	case RFM_RECORD_FENCE:
		return false;		/* These sleep. */
	case RFM_EVENT_UPDATE:
		return rfm_watch_reach(card, &record->event, budget) < budget;
	case RFM_EVENT_MATCH:
	case RFM_EVENT_STALE:
	case RFM_EVENT_FRESH:
	case RFM_EVENT_WRITTEN:
		return budget > 1;	/* Each is one watch's, or region's. */
	default:
		return card->dispatch.listening < budget;
	}
}

/*
 * What is listened for, or rests, may have changed: it is asked of the card
 * from now on, and nothing else. The card may have gone.
 */
void rfm_dispatch_route(struct rfm_card *card)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	struct rfm_throttle *throttle = &dispatch->throttle;
	struct rfm_queue *queue;
	int idx;

	lockdep_assert_held(&dispatch->lock);

	dispatch->heard = 0;
	list_for_each_entry(queue, &dispatch->queues, node) {
		if (!rfm_queue_listens(queue))
			break;
		dispatch->heard |= queue->types;
	}
	if (!rfm_card_enter(card, &idx))
		return;
	rfm_irq_route(&card->hw, dispatch->heard |
			    (RFM_EVENT_MONITORED & ~throttle->types));
	if (throttle->types & RFM_EVENT_COUNTED)
		throttle->until = rfm_events_position(&card->hw);
	rfm_card_exit(card, idx);
}

/* --- when ------------------------------------------------------------------- */

/*
 * One turn of no more than @budget. An event that needs more, or has to sleep, is left
 * where it is, and all behind it. Returns true if there is more to do.
 */
static bool rfm_dispatch_turn(struct rfm_card *card, unsigned int budget)
{
	unsigned int spent = 0;
	bool more = true;
	int latched, record;

	lockdep_assert_held(&card->dispatch.lock);

	while (more && spent < RFM_TURN && !READ_ONCE(card->hw.gone)) {
		latched = rfm_irq_take(&card->hw, RFM_EVENT_ALL,
				       budget - spent);
		if (latched < 0)
			break;
		spent += latched;
		record = rfm_events_take(&card->hw, budget - spent);
		if (record < 0)
			break;
		spent += record;
		more = latched || record;
	}
	rfm_events_taken(&card->hw);
	return more && !READ_ONCE(card->hw.gone);
}

/* What an interrupt handler leaves, or an event ring that has stopped. */
void rfm_dispatch_later(struct rfm_card *card)
{
	queue_work(rfm_wq, &card->dispatch.work);
}

/* Delivers, at once or later, what the card has interrupted for. */
void rfm_dispatch_irq(struct rfm_card *card)
{
	bool more = true;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return;
	if (rfm_dispatch_trylock(card)) {
		more = rfm_dispatch_turn(card, RFM_AT_ONCE);
		if (more)
			rfm_events_mask(&card->hw, true);
		more |= rfm_events_untold(&card->hw);
		rfm_dispatch_unlock(card);
	}
	if (more)
		rfm_dispatch_later(card);
	rfm_card_exit(card, idx);
}

/* Returns true while there is more to do. */
static bool rfm_dispatch_work_turn(struct rfm_card *card)
{
	bool more;
	int idx;

	if (!rfm_dispatch_enter(card, &idx))
		return false;
	more = rfm_dispatch_turn(card, RFM_NO_LIMIT);
	if (!more && card->hw.events.masked) {
		/* What came before that has not interrupted. */
		rfm_events_mask(&card->hw, false);
		more = rfm_dispatch_turn(card, RFM_NO_LIMIT);
		if (more)
			rfm_events_mask(&card->hw, true);
	}
	rfm_dispatch_exit(card, idx);
	return more;
}

/*
 * Tells all of what is missing, of a card that may have gone. The ring was empty:
 * nobody may be left to tell of it but us.
 */
static void rfm_dispatch_report_dropped(struct rfm_card *card)
{
	struct rfm_event event = {
		.type = RFM_EVENT_DROPPED,
		.node = RFM_NODE_ALL,
	};
	struct rfm_events *events = &card->hw.events;
	u64 dropped, missing;
	bool untold = false;
	int idx;

	rfm_dispatch_lock(card);
	if (rfm_card_enter(card, &idx)) {
		dropped = rfm_events_dropped(&card->hw);
		if (!rfm_card_leave(card, idx))
			events->dropped = dropped;
		untold = rfm_events_untold(&card->hw);
	}
	missing = rfm_events_missing(&card->hw);
	if (missing > events->told) {
		event.data = min_t(u64, missing - events->told, U32_MAX);
		rfm_notify_event(card, &event, 0);
	}
	events->told = missing;
	rfm_dispatch_unlock(card);
	if (!untold)
		return;

	rfm_slots_recheck(card);
	rfm_dispatch_lock(card);
	rfm_queues_report_dropped(card);
	rfm_dispatch_unlock(card);
}

static void rfm_dispatch_work(struct work_struct *work)
{
	struct rfm_card *card = container_of(work, struct rfm_card,
					     dispatch.work);

	while (rfm_dispatch_work_turn(card))
		cond_resched();
	rfm_dispatch_report_dropped(card);
}

void rfm_dispatch_init(struct rfm_card *card)
{
	static struct lock_class_key key;

	sema_init(&card->dispatch.lock.free, 1);
	lockdep_init_map(&card->dispatch.lock.dep_map, "dispatch_lock", &key, 0);
	INIT_WORK(&card->dispatch.work, rfm_dispatch_work);
	INIT_LIST_HEAD(&card->dispatch.queues);
	INIT_LIST_HEAD(&card->dispatch.fences);
	INIT_LIST_HEAD(&card->dispatch.regions);
	INIT_LIST_HEAD(&card->dispatch.ports);
	card->dispatch.watched = RB_ROOT_CACHED;
	rfm_throttle_init(card);
}

/* Of a card that nobody uses yet, with its handlers in place. */
void rfm_dispatch_start(struct rfm_card *card)
{
	rfm_dispatch_lock(card);
	rfm_irq_start(&card->hw);
	rfm_requests_start(&card->hw);
	rfm_throttle_start(card);
	rfm_dispatch_route(card);
	rfm_dispatch_unlock(card);
}
