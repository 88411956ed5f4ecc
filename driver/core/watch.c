// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_WATCH: sleep until bytes change.
 *
 * The card watches granules of 64 bytes; what a watch is told of is decided
 * here, to the byte: the ranges of all watches are in one interval tree, which
 * is asked for those that an update touches. The granules
 * are held (core/subscribe.c) as long as the watch is open, so the card watches
 * the union of all watches, and receives it even if nobody has subscribed.
 *
 * Comparisons and silence are slots of the card (core/slots.c).
 */

#include <linux/eventfd.h>
#include <linux/interval_tree_generic.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "core/notify.h"

/* What may be late or coalesced; each silence and its end is told of. */
#define RFM_WATCH_UPDATES	(RFM_EVENT_BIT(RFM_EVENT_UPDATE) | \
				 RFM_EVENT_BIT(RFM_EVENT_MATCH))

static_assert(RFM_WATCH_NONBLOCK == RFM_LISTEN_NONBLOCK);
static_assert(RFM_WATCH_CLOEXEC == RFM_LISTEN_CLOEXEC);

#define RFM_RANGE_FIRST(range)	((range)->first)
#define RFM_RANGE_LAST(range)	((range)->reach)

INTERVAL_TREE_DEFINE(struct rfm_watch_range, node, u32, last_below,
		     RFM_RANGE_FIRST, RFM_RANGE_LAST, static, rfm_watched);

/* The listed ranges that an update touches, of a card's dispatch. */
#define rfm_for_each_watched(range, dispatch, event)			\
	for (range = !(event)->length ? NULL :				\
		     rfm_watched_iter_first(&(dispatch)->watched,	\
					    (event)->offset,		\
					    rfm_event_last(event));	\
	     range;							\
	     range = rfm_watched_iter_next(range, (event)->offset,	\
					   rfm_event_last(event)))

static u32 rfm_event_last(const struct rfm_event *event)
{
	return event->offset + event->length - 1;
}

/* --- what the card tells -------------------------------------------------- */

static bool rfm_watcher_late(const struct rfm_watcher *watcher,
			     const struct rfm_event *event)
{
	return RFM_EVENT_BIT(event->type) & RFM_WATCH_UPDATES &&
	       watcher->args.deadline_ns &&
	       !(event->flags & RFM_EVENT_AGE_UNKNOWN) &&
	       event->arrival_ns > event->origin_ns &&
	       event->arrival_ns - event->origin_ns > watcher->args.deadline_ns;
}

/* Uses two of the event's fields for what differs from watch to watch. */
static void rfm_watcher_push(struct rfm_watcher *watcher,
			     struct rfm_event *event, u16 key)
{
	event->flags &= ~RFM_EVENT_LATE;
	if (rfm_watcher_late(watcher, event)) {
		event->flags |= RFM_EVENT_LATE;
		watcher->late++;
	}
	event->late = watcher->late;
	rfm_queue_push(&watcher->queue, event, key);
	if (event->flags & RFM_EVENT_LATE || event->type == RFM_EVENT_STALE ||
	    event->type == RFM_EVENT_FRESH)
		rfm_notify_event(watcher->queue.card, event,
				 watcher->queue.holder.id);
}

/*
 * How many ranges does an update touch? Counts no further than @budget + 1. Under
 * dispatch.lock.
 */
unsigned int rfm_watch_reach(struct rfm_card *card,
			     const struct rfm_event *event, unsigned int budget)
{
	struct rfm_watch_range *range;
	unsigned int count = 0;

	rfm_for_each_watched(range, &card->dispatch, event)
		if (count++ == budget)
			break;
	return count;
}

/*
 * An update has touched watched granules. Returns how many ranges, and sleeps
 * if these are many. Under dispatch.lock.
 */
unsigned int rfm_watch_update(struct rfm_card *card, struct rfm_record *record)
{
	struct rfm_event *event = &record->event;
	struct rfm_watch_range *range;
	unsigned int visited = 0;

	rfm_for_each_watched(range, &card->dispatch, event) {
		struct rfm_watcher *watcher = range->watcher;

		rfm_dispatch_yield(++visited);
		if (record->position <= watcher->queue.since ||
		    watcher->seen == record->position)
			continue;
		watcher->seen = record->position;
		rfm_watcher_push(watcher, event, 0);
	}
	return visited;
}

/*
 * A slot has made a record. Returns how many watches were told. Under
 * dispatch.lock.
 */
unsigned int rfm_watch_slot(struct rfm_card *card, struct rfm_record *record)
{
	struct rfm_event *event = &record->event;
	struct rfm_slot *slot;

	if (record->value >= RFM_EXT_SLOTS)
		return 0;
	slot = &card->dispatch.slot[record->value];
	if (!slot->owner || record->position <= slot->owner->queue.since)
		return 0;
	/* With no update to tell of, it tells at least where there was none. */
	if (event->flags & RFM_EVENT_NEVER && slot->range)
		rfm_event_set_range(event, slot->range);
	slot->stale = event->type == RFM_EVENT_STALE;
	slot->changes++;
	rfm_watcher_push(slot->owner, event, RFM_KEY_SLOT(record->value));
	return 1;
}

/* --- life ----------------------------------------------------------------- */

/* From now on what the card tells of its bytes is for it. */
static int rfm_watcher_enlist(struct rfm_card *card,
			      struct rfm_watcher *watcher)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	unsigned int i;
	int idx, ret;

	if (!rfm_dispatch_enter(card, &idx))
		return -ENODEV;
	if (!card->hw.events.running)
		ret = -EIO;
	else if (dispatch->watches == RFM_WATCHES_MAX ||
		 watcher->args.count > RFM_WATCHED_RANGES_MAX - dispatch->ranges)
		ret = -ENOSPC;
	else
		ret = rfm_slots_take(card, watcher);
	if (!ret) {
		dispatch->watches++;
		dispatch->ranges += watcher->args.count;
		for (i = 0; i < watcher->args.count; i++)
			if (watcher->ranges[i].listed)
				rfm_watched_insert(&watcher->ranges[i],
						   &dispatch->watched);
		rfm_queue_add(&watcher->queue);
	}
	rfm_dispatch_exit(card, idx);
	return ret;
}

/* Nothing is asked of the card before somebody is there to hear of it. */
static int rfm_watcher_begin(struct rfm_queue *queue)
{
	struct rfm_watcher *watcher = container_of(queue, struct rfm_watcher,
						   queue);
	struct rfm_card *card = queue->card;
	u32 planes = RFM_HOLD(RFM_PLANE_RX);
	unsigned int i;
	int ret;

	if (!(watcher->args.flags & RFM_WATCH_COMPARE))
		planes |= RFM_HOLD(RFM_PLANE_WATCH);

	ret = rfm_watcher_enlist(card, watcher);
	for (i = 0; i < watcher->args.count && !ret; i++) {
		struct rfm_watch_range *range = &watcher->ranges[i];

		ret = rfm_subscription_hold(card, &range->hold, false,
					    range->first,
					    range->last - range->first + 1,
					    planes);
	}
	return ret ?: rfm_slots_arm(card, watcher);
}

/* Undoes what was done of it. */
static void rfm_watcher_end(struct rfm_queue *queue)
{
	struct rfm_watcher *watcher = container_of(queue, struct rfm_watcher,
						   queue);
	struct rfm_card *card = queue->card;
	unsigned int i;

	rfm_dispatch_lock(card);
	list_del_init(&queue->node);
	for (i = 0; i < watcher->args.count; i++)
		if (watcher->ranges[i].listed)
			rfm_watched_remove(&watcher->ranges[i],
					   &card->dispatch.watched);
	card->dispatch.watches--;
	card->dispatch.ranges -= watcher->args.count;
	rfm_dispatch_unlock(card);

	rfm_slots_release(card, watcher);
	for (i = 0; i < watcher->args.count; i++)
		rfm_subscription_drop(card, &watcher->ranges[i].hold);
}

static bool rfm_watcher_range(struct rfm_holder *holder, u64 *cursor,
			      struct rfm_range *range, u32 *planes)
{
	const struct rfm_watcher *watcher = holder->watcher;
	const struct rfm_watch_range *at;

	if (*cursor >= watcher->args.count)
		return false;
	at = &watcher->ranges[(*cursor)++];
	range->offset = at->first;
	range->length = (u64)at->last - at->first + 1;
	*planes = at->hold.planes;
	return true;
}

static const struct rfm_queue_ops rfm_watcher_ops = {
	.name = "[rfm-watch]",
	.holder = {
		.kind = RFM_DESCRIPTOR_KIND_WATCH,
		.range = rfm_watcher_range,
	},
	.begin = rfm_watcher_begin,
	.end = rfm_watcher_end,
};

/* --- the call ------------------------------------------------------------- */

/* The arguments of one feature are 0 unless it is asked for. */
static bool rfm_watch_args_good(const struct rfm_watch *args)
{
	if (!args->count || args->count > RFM_WATCH_RANGES_MAX ||
	    args->depth > RFM_LISTEN_DEPTH_MAX)
		return false;
	if (args->eventfd && !(args->flags & RFM_WATCH_EVENTFD))
		return false;
	return !args->silence_ns ||
	       (args->silence_ns >= RFM_WATCH_SILENCE_MIN &&
		args->silence_ns <= RFM_WATCH_SILENCE_MAX);
}

static bool rfm_watch_compare_good(const struct rfm_watch *args)
{
	u64 all;

	if (!(args->flags & RFM_WATCH_COMPARE))
		return !(args->compare || args->compare_width ||
			 args->compare_offset || args->compare_mask ||
			 args->compare_value);
	if (args->compare < RFM_COMPARE_EQUAL ||
	    args->compare > RFM_COMPARE_CHANGED)
		return false;
	if (!is_power_of_2(args->compare_width) || args->compare_width > 8 ||
	    args->compare_offset % args->compare_width)
		return false;
	all = U64_MAX >> (64 - 8 * args->compare_width);
	return args->compare_mask && !(args->compare_mask & ~all) &&
	       !(args->compare_value & ~args->compare_mask);
}

/* What is compared is inside a range. */
static bool rfm_watch_ranges_good(const struct rfm_card *card,
				  const struct rfm_watch *args,
				  const struct rfm_range *ranges)
{
	bool inside = !(args->flags & RFM_WATCH_COMPARE);
	unsigned int i;

	for (i = 0; i < args->count; i++) {
		u64 at = args->compare_offset - ranges[i].offset;

		if (!rfm_range_inside(card, &ranges[i]))
			return false;
		if (at < ranges[i].length &&
		    args->compare_width <= ranges[i].length - at)
			inside = true;
	}
	return inside;
}

static int rfm_range_order(const void *a, const void *b)
{
	const struct rfm_watch_range *one = a, *other = b;

	return one->first < other->first ? -1 : one->first > other->first;
}

/* An update visits ranges that overlap or touch once, not each of them. */
static void rfm_ranges_join(struct rfm_watcher *watcher)
{
	struct rfm_watch_range *ranges = watcher->ranges, *leader = ranges;
	unsigned int i;

	sort(ranges, watcher->args.count, sizeof(*ranges), rfm_range_order, NULL);
	for (i = 0; i < watcher->args.count; i++) {
		if (!i || ranges[i].first > leader->reach + 1) {
			leader = &ranges[i];
			leader->listed = !(watcher->args.flags &
					   RFM_WATCH_COMPARE);
		}
		leader->reach = max(leader->reach, ranges[i].last);
	}
}

/* Nobody tells it anything yet. */
static struct rfm_watcher *rfm_watcher_alloc(struct rfm_card *card,
					     const struct rfm_watch *args,
					     const struct rfm_range *ranges)
{
	struct rfm_watcher *watcher;
	unsigned int i;

	watcher = rfm_queue_alloc(card, &rfm_watcher_ops,
				  struct_size(watcher, ranges, args->count),
				  args->depth, args->record_size,
				  rfm_slots_needed(args));
	if (IS_ERR(watcher))
		return watcher;

	watcher->args = *args;
	watcher->queue.types = RFM_EVENT_WATCHED;
	watcher->queue.holder.watcher = watcher;
	if (args->flags & RFM_WATCH_COMPARE)
		watcher->queue.holder.flags |= RFM_DESCRIPTOR_FLAG_COMPARE;
	if (args->flags & RFM_WATCH_COALESCE) {
		watcher->queue.holder.flags |= RFM_DESCRIPTOR_FLAG_COALESCE;
		watcher->queue.coalesced = RFM_WATCH_UPDATES;
	}
	for (i = 0; i < args->count; i++) {
		struct rfm_watch_range *range = &watcher->ranges[i];

		range->first = ranges[i].offset;
		range->last = ranges[i].offset + ranges[i].length - 1;
		range->watcher = watcher;
	}
	rfm_ranges_join(watcher);
	return watcher;
}

/* RFM_IOC_WATCH. Return: the descriptor, or a negative errno. */
int rfm_watch(struct rfm_file *owner, void *arg)
{
	struct rfm_card *card = owner->card;
	const struct rfm_watch *args = arg;
	struct eventfd_ctx *eventfd;
	struct rfm_watcher *watcher;
	struct rfm_range *ranges;

	if (args->flags & ~RFM_WATCH_FLAGS)
		return -EINVAL;
	if (!card->hw.events.ring)
		return -EOPNOTSUPP;
	if (!rfm_watch_args_good(args))
		return -EINVAL;
	ranges = memdup_user(u64_to_user_ptr(args->ranges),
			     args->count * sizeof(*ranges));
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);
	watcher = rfm_watch_ranges_good(card, args, ranges) &&
		  rfm_watch_compare_good(args) ?
		  rfm_watcher_alloc(card, args, ranges) : ERR_PTR(-EINVAL);
	kfree(ranges);
	if (IS_ERR(watcher))
		return PTR_ERR(watcher);
	if (args->flags & RFM_WATCH_EVENTFD) {
		eventfd = eventfd_ctx_fdget(args->eventfd);
		if (IS_ERR(eventfd)) {
			rfm_queue_free(&watcher->queue);
			return PTR_ERR(eventfd);
		}
		watcher->queue.eventfd = eventfd;
	}
	return rfm_queue_install(&watcher->queue, args->flags);
}
