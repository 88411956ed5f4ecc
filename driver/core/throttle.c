// SPDX-License-Identifier: GPL-2.0-only
/*
 * Types of events that nobody but monitors hears of: how often the card is asked.
 *
 * Monitors may come at any time, so what they are told of (api/notify.c) is always
 * asked of the card. So that this does not cost more than it is worth, a type that
 * no descriptor listens for rests for RFM_REST after each event, if that loses
 * nothing: LISR keeps one, or the card counts them, and monitors are told of the
 * number.
 */

#include "core/notify.h"

#define RFM_REST	msecs_to_jiffies(100)

/* Those that can come as fast as updates do, and the card's counters of them. */
static const struct {
	u8 type;
	u8 counter;
} rfm_counted[RFM_COUNTED_TYPES] = {
	{ RFM_EVENT_LOSS, RFM_COUNTER_MISSED },
	{ RFM_EVENT_CONFLICT, RFM_COUNTER_CONFLICTS },
};

/* Context: card->lock held, or nobody uses the card yet; the card entered. */
static bool rfm_throttle_count(struct rfm_card *card,
			       u64 counts[RFM_COUNTED_TYPES])
{
	unsigned int i;

	writel(0, card->hw.ext + RFM_EXT_SNAPSHOT);
	for (i = 0; i < RFM_COUNTED_TYPES; i++)
		counts[i] = readq(card->hw.ext +
				  RFM_EXT_COUNTER(rfm_counted[i].counter));
	return !rfm_card_check(card);
}

static void rfm_throttle_rest(struct rfm_card *card)
{
	queue_delayed_work(rfm_wq, &card->dispatch.throttle.work, RFM_REST);
}

/* The card tells of the light's return by its event ring, or not at all. */
static void rfm_throttle_dark(struct rfm_card *card)
{
	rfm_notify_what(card, RFM_TOLD_LINK_DOWN);
	if (card->hw.events.running)
		return;
	card->dispatch.throttle.dark = true;
	rfm_throttle_rest(card);
}

/*
 * An event, which its listeners have got already, may be one that monitors are
 * told of. Under dispatch.lock, the card entered.
 */
void rfm_throttle_event(struct rfm_card *card, const struct rfm_event *event)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	u32 bit = RFM_EVENT_BIT(event->type);
	unsigned int i;

	if (!(bit & RFM_EVENT_MONITORED))
		return;
	for (i = 0; i < RFM_COUNTED_TYPES; i++)
		if (event->type == rfm_counted[i].type)
			throttle->counted[i] += event->type == RFM_EVENT_LOSS ?
						event->data : 1;
	rfm_notify_event(card, event, 0);
	if (event->type == RFM_EVENT_SYNC_LOSS)
		rfm_throttle_dark(card);
	if (card->dispatch.heard & bit ||
	    !(bit & (RFM_EVENT_KEPT | RFM_EVENT_COUNTED)))
		return;
	throttle->types |= bit;
	rfm_dispatch_route(card);
	rfm_throttle_rest(card);
}

/*
 * Which types can be compared with what the card has counted just now: those of
 * whose records none is still to be taken. None is made of what rests, unless
 * somebody listens.
 */
static u32 rfm_throttle_comparable(struct rfm_card *card)
{
	const struct rfm_throttle *throttle = &card->dispatch.throttle;
	u64 taken = card->hw.events.position;

	if (taken >= rfm_events_position(&card->hw))
		return throttle->types | throttle->settling;
	return taken < throttle->until ? 0 :
	       throttle->types & ~card->dispatch.heard;
}

/*
 * Tells of what the card has counted and nobody was told of. Returns the types that
 * there was something of.
 */
static u32 rfm_throttle_tell(struct rfm_card *card, u32 types,
			     const u64 counts[RFM_COUNTED_TYPES])
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	unsigned int i;
	u32 told = 0;

	for (i = 0; i < RFM_COUNTED_TYPES; i++) {
		struct rfm_event event = {
			.type = rfm_counted[i].type,
			.node = RFM_NODE_ALL,
			.flags = RFM_EVENT_INFERRED,
		};
		u32 bit = RFM_EVENT_BIT(event.type);
		s64 more = counts[i] - throttle->counted[i];

		if (!(types & bit) || more <= 0)
			continue;
		more = min_t(s64, more, U32_MAX);
		if (event.type == RFM_EVENT_LOSS)
			event.data = more;
		else
			event.count = more;
		throttle->counted[i] += more;
		rfm_notify_event(card, &event, 0);
		told |= bit;
	}
	return told;
}

/*
 * The card goes on making records of what rested, but for what of it the card
 * counts and has not been quiet. What it counts between this and the first record
 * is looked for once more, the next time.
 */
static void rfm_throttle_rested(struct rfm_card *card)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	u64 counts[RFM_COUNTED_TYPES] = {};
	u32 counted = 0, compared = 0, told, rested;

	if (card->hw.features & RFM_EXT_FEATURE_SNAPSHOT)
		counted = RFM_EVENT_COUNTED;
	/* A record that found no room would count as one, whatever it counts. */
	if ((throttle->types | throttle->settling) & counted &&
	    rfm_throttle_count(card, counts) && rfm_notify_room(card))
		compared = rfm_throttle_comparable(card) & counted;
	told = rfm_throttle_tell(card, compared, counts);
	rested = throttle->types & ~told & (compared | ~counted);
	throttle->settling &= ~compared;
	throttle->settling |= rested & counted;
	throttle->types &= ~rested;
}

static void rfm_throttle_look_for_light(struct rfm_card *card)
{
	u32 lcsr1;

	if (!card->dispatch.throttle.dark)
		return;
	lcsr1 = readl(card->hw.control + RFM_LCSR1);
	/* Nobody sends light to a card that was pulled out. */
	if (rfm_card_check(card) || !(lcsr1 & RFM_LCSR1_SIGNAL))
		return;
	card->dispatch.throttle.dark = false;
	rfm_notify_what(card, RFM_EVENT_SIGNAL);
}

/*
 * Types that rested are asked of the card again. Not those that went on meanwhile, by
 * the card's counters: monitors are told how often, and they rest for longer.
 */
static void rfm_throttle_work(struct work_struct *work)
{
	struct rfm_card *card = container_of(to_delayed_work(work),
					     struct rfm_card,
					     dispatch.throttle.work);
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	int idx;

	mutex_lock(&card->lock);
	if (rfm_dispatch_enter(card, &idx)) {
		rfm_throttle_rested(card);
		rfm_throttle_look_for_light(card);
		rfm_dispatch_route(card);
		if (throttle->types || throttle->settling || throttle->dark)
			rfm_throttle_rest(card);
		rfm_dispatch_exit(card, idx);
	}
	mutex_unlock(&card->lock);
}

void rfm_throttle_init(struct rfm_card *card)
{
	INIT_DELAYED_WORK(&card->dispatch.throttle.work, rfm_throttle_work);
}

/*
 * What is counted so far, nobody is told. The light, if it is missing, is
 * looked for from the beginning. The event ring is running, if there is one.
 */
void rfm_throttle_start(struct rfm_card *card)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;

	if (card->hw.features & RFM_EXT_FEATURE_SNAPSHOT)
		rfm_throttle_count(card, throttle->counted);
	throttle->dark = !card->hw.events.running &&
			 !(readl(card->hw.control + RFM_LCSR1) & RFM_LCSR1_SIGNAL);
	if (throttle->dark)
		rfm_throttle_rest(card);
}
