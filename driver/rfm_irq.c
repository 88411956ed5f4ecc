// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt side of the card: LISR, LIER and the four FIFOs.
 *
 * A type of event is enabled in LIER only while somebody listens for it.
 * What happens in between waits in the card for the first listener: up to
 * RFM_FIFO_DEPTH network interrupts of each type, one of everything else.
 * The exception is sync loss, which is always enabled, so that it is counted,
 * and what monitors are told of (rfm_notify.c), who may come at any time. So
 * that this does not cost more than it is worth, a type that nobody listens for
 * rests for a while after each event: LISR keeps it, or the card counts it. The
 * first listener gets one that only monitors were told of, as if it had waited
 * in the card.
 *
 * A card with an event ring hands us network interrupts through that while
 * somebody listens for them. The first listener gets what has waited before
 * the card is asked to do so; then only the ring tells of them, so that their
 * order stays. LISR goes on to tell of errors.
 *
 * The interrupt handler only takes up what LISR tells: it notes the bits in
 * irq.pending and masks them in LIER. rfm_dispatch.c has the events themselves
 * fetched (rfm_irq_take()), and a bit is enabled again when there are no more
 * of it.
 *
 * LISR has two kinds of bits. Those of the network interrupts say "FIFO not
 * empty" and fall when it is drained. The others are latched; writing 0
 * clears them (once they have been read as 1), writing 1 leaves them, so a
 * write names what was served with zeros and keeps what has come since.
 */

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>

#include "rfm_notify.h"

/* LISR knows nothing of them. */
#define RFM_RING_ONLY	(RFM_EVENT_ALL & ~RFM_EVENT_WATCHED & \
			 ~(RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1))

/* Errors that LISR keeps, of those that monitors are told of. */
#define RFM_KEPT	(RFM_EVENT_BIT(RFM_EVENT_BAD_DATA) | \
			 RFM_EVENT_BIT(RFM_EVENT_TX_FULL) | \
			 RFM_EVENT_BIT(RFM_EVENT_RX_FULL) | \
			 RFM_EVENT_BIT(RFM_EVENT_ROGUE) | \
			 RFM_EVENT_BIT(RFM_EVENT_WRITE_INHIBITED) | \
			 RFM_EVENT_BIT(RFM_EVENT_PARITY))

/* Those that can come as fast as updates do, and that the card counts. */
#define RFM_COUNTED	(RFM_EVENT_BIT(RFM_EVENT_LOSS) | \
			 RFM_EVENT_BIT(RFM_EVENT_CONFLICT))

#define RFM_MONITORED	(RFM_KEPT | RFM_RING_ONLY | \
			 RFM_EVENT_BIT(RFM_EVENT_SYNC_LOSS))

#define RFM_REST	msecs_to_jiffies(100)

/* Always enabled in LIER. */
#define RFM_LIER_ALWAYS		RFM_LISR_SYNC_LOSS

#define RFM_INTCSR_ENABLES	(RFM_INTCSR_PCI_ENABLE | \
				 RFM_INTCSR_LOCAL_ENABLE | \
				 RFM_INTCSR_DMA0_ENABLE)

/* Where the events come from: the bit in LISR, and the FIFO if there is one. */
static const struct {
	u16 lisr;
	u8 fifo;
} rfm_sources[RFM_EVENT_TYPES] = {
	[RFM_EVENT_RESET]		= { RFM_LISR_RESET_REQ },
	[RFM_EVENT_INT1]		= { RFM_LISR_INT1, 1 },
	[RFM_EVENT_INT2]		= { RFM_LISR_INT2, 2 },
	[RFM_EVENT_INT3]		= { RFM_LISR_INT3, 3 },
	[RFM_EVENT_INT4]		= { RFM_LISR_INT4, 4 },
	[RFM_EVENT_SYNC_LOSS]		= { RFM_LISR_SYNC_LOSS },
	[RFM_EVENT_BAD_DATA]		= { RFM_LISR_BAD_DATA },
	[RFM_EVENT_TX_FULL]		= { RFM_LISR_TX_FULL },
	[RFM_EVENT_RX_FULL]		= { RFM_LISR_RX_FULL },
	[RFM_EVENT_RX_ALMOST_FULL]	= { RFM_LISR_RX_ALMOST_FULL },
	[RFM_EVENT_ROGUE]		= { RFM_LISR_ROGUE },
	[RFM_EVENT_WRITE_INHIBITED]	= { RFM_LISR_WRITE_INHIBITED },
	[RFM_EVENT_PARITY]		= { RFM_LISR_PARITY },
};

/* What has been taken up is masked until it is delivered. */
static void rfm_irq_write_lier(struct rfm_card *card)
{
	lockdep_assert_held(&card->hw.irq.lock);

	if (!card->hw.gone)
		writel(card->hw.irq.lier & ~card->hw.irq.pending,
		       card->hw.control + RFM_LIER);
}

/**
 * rfm_irq_route - let the card tell of what somebody listens for
 * @card: the card
 *
 * A network interrupt that nobody has listened for so far is not turned to
 * the event ring here: what has waited has to be fetched first.
 *
 * Context: dispatch.lock held.
 */
void rfm_irq_route(struct rfm_card *card)
{
	u32 heard = 0, lier = RFM_LIER_ALWAYS;
	unsigned long flags;
	unsigned int type;
	int idx;

	lockdep_assert_held(&card->dispatch.lock);

	if (!rfm_card_enter(card, &idx))
		return;
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (card->dispatch.users[type])
			heard |= RFM_EVENT_BIT(type);
	heard |= RFM_MONITORED & ~card->dispatch.throttle.types;
	if (card->hw.events.running) {
		rfm_events_select(card, heard & (card->hw.events.types |
						 RFM_RING_ONLY));
		if (card->dispatch.throttle.types & RFM_COUNTED)
			card->dispatch.throttle.until = rfm_events_position(card);
		heard &= ~RFM_EVENT_SENDABLE;
	}
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (heard & RFM_EVENT_BIT(type))
			lier |= rfm_sources[type].lisr;

	spin_lock_irqsave(&card->hw.irq.lock, flags);
	card->hw.irq.lier = lier;
	/* What is in the FIFOs waits there for the next who listens. */
	card->hw.irq.pending &= lier | RFM_LISR_LATCHED_M;
	rfm_irq_write_lier(card);
	spin_unlock_irqrestore(&card->hw.irq.lock, flags);
	rfm_card_exit(card, idx);
}

/* Clear latched bits that have been read as 1; leave the others alone. */
static void rfm_lisr_clear(struct rfm_card *card, u32 bits)
{
	writel(RFM_LISR_GLOBAL_ENABLE | (RFM_LISR_LATCHED_M & ~bits),
	       card->hw.control + RFM_LISR);
}

/* The card tells of the light's return by its event ring, or not at all. */
static void rfm_irq_dark(struct rfm_card *card)
{
	rfm_notify_what(card, RFM_TOLD_LINK_DOWN);
	if (card->hw.events.running)
		return;
	card->dispatch.throttle.dark = true;
	queue_delayed_work(rfm_wq, &card->dispatch.throttle.work, RFM_REST);
}

/**
 * rfm_irq_monitor - an event may be one that monitors are told of
 * @card: the card
 * @event: the event, which its listeners have got already
 *
 * Context: dispatch.lock held.
 */
void rfm_irq_monitor(struct rfm_card *card, const struct rfm_event *event)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	u32 bit = RFM_EVENT_BIT(event->type);

	lockdep_assert_held(&card->dispatch.lock);

	if (!(bit & RFM_MONITORED))
		return;
	if (event->type == RFM_EVENT_LOSS)
		throttle->missed += event->data;
	if (event->type == RFM_EVENT_CONFLICT)
		throttle->conflicts++;
	rfm_notify_event(card, event, 0);
	if (event->type == RFM_EVENT_SYNC_LOSS)
		rfm_irq_dark(card);
	if (card->dispatch.users[event->type] ||
	    !(bit & (RFM_KEPT | RFM_COUNTED)))
		return;
	throttle->types |= bit;
	rfm_irq_route(card);
	queue_delayed_work(rfm_wq, &throttle->work, RFM_REST);
}

/* --- the interrupt handler ------------------------------------------------- */

/* What LISR tells is taken up; returns false if it is nothing. */
static bool rfm_irq_take_up(struct rfm_card *card)
{
	u32 lisr = readl(card->hw.control + RFM_LISR);

	if (lisr == RFM_ALL_ONES) {
		rfm_card_lost(card);
		return false;
	}
	card->hw.irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	lisr &= card->hw.irq.lier & ~card->hw.irq.pending;
	if (!lisr)
		return false;
	if (lisr & RFM_LISR_LATCHED_M)
		rfm_lisr_clear(card, lisr & RFM_LISR_LATCHED_M);
	if (lisr & RFM_LISR_SYNC_LOSS) {
		card->hw.irq.sync_losses++;
		WRITE_ONCE(card->hw.irq.sync_loss_ns, ktime_get_ns());
	}
	card->hw.irq.pending |= lisr;
	rfm_irq_write_lier(card);
	return true;
}

/* All that is on a 5565; returns false if it has raised nothing. */
static bool rfm_irq_serve_base(struct rfm_card *card, bool *taken_up)
{
	u32 intcsr = readl(card->hw.runtime + RFM_INTCSR);
	bool served;

	if (intcsr == RFM_ALL_ONES) {
		rfm_card_lost(card);
		return false;
	}
	served = rfm_dma_serve(card, intcsr);
	if (intcsr & RFM_INTCSR_LOCAL_ACTIVE)
		*taken_up = rfm_irq_take_up(card);
	return served || *taken_up;
}

/*
 * A message tells only that the level has risen: let it rise once more if
 * something has come in while we took up the last.
 */
static void rfm_irq_rearm(struct rfm_card *card)
{
	writel(0, card->hw.control + RFM_LIER);
	rfm_irq_write_lier(card);
}

/**
 * rfm_irq - interrupt handler
 * @irq: interrupt line, perhaps shared with others, or the vector for errors
 * @data: the card
 *
 * Return: IRQ_NONE if it was not ours.
 */
irqreturn_t rfm_irq(int irq, void *data)
{
	struct rfm_card *card = data;
	bool msix = card->hw.events.msix, served = false, taken_up = false;

	spin_lock(&card->hw.irq.lock);
	if (card->hw.gone) {
		/* It did not answer when it was lost, and now does. */
		served = rfm_irq_mask(card);
		goto out;
	}
	served = rfm_irq_serve_base(card, &taken_up);
	if (card->hw.gone)
		goto out;
	if (msix) {
		rfm_irq_rearm(card);
		rfm_events_doubt(card);
		taken_up = true;
	} else if (rfm_events_take_up(card)) {
		taken_up = true;
	}
	served |= taken_up;
	if (!served || card->hw.gone)
		goto out;

	card->hw.irq.count++;
	/* The writes must arrive, and the line fall, before we return. */
	readl(card->hw.runtime + RFM_INTCSR);
out:
	spin_unlock(&card->hw.irq.lock);
	if (taken_up)
		rfm_dispatch_irq(card);
	return served ? IRQ_HANDLED : IRQ_NONE;
}

/* --- what it has taken up -------------------------------------------------- */

/*
 * Fetches one event of a type that is pending; returns false if there is none.
 * The type is enabled again behind the last.
 */
static bool rfm_irq_fetch(struct rfm_card *card, enum rfm_event_type type,
			  struct rfm_event *event)
{
	u32 bit = rfm_sources[type].lisr, lisr = 0;
	unsigned int n = rfm_sources[type].fifo;
	unsigned long flags;
	bool found = false;

	*event = (struct rfm_event) {
		.type = type,
		.node = RFM_NODE_ALL,
		.time_ns = ktime_get_ns(),
	};
	spin_lock_irqsave(&card->hw.irq.lock, flags);
	if (card->hw.gone || !(card->hw.irq.pending & bit))
		goto out;
	if (n) {
		/* Reading the sender pops both. */
		event->data = readl(card->hw.control + RFM_ISD(n));
		event->node = readb(card->hw.control + RFM_SID(n));
		/* Node 0 is a node, so only LISR tells when it is empty. */
		lisr = readl(card->hw.control + RFM_LISR);
		if (lisr == RFM_ALL_ONES) {
			rfm_card_lost(card);
			goto out;
		}
	}
	if (!(lisr & bit)) {
		card->hw.irq.pending &= ~bit;
		rfm_irq_write_lier(card);
	}
	found = true;
out:
	spin_unlock_irqrestore(&card->hw.irq.lock, flags);
	return found;
}

static void rfm_irq_deliver(struct rfm_card *card,
			    const struct rfm_event *event)
{
	bool heard = rfm_listeners_push(card, event, RFM_POSITION_NONE);
	u32 lisr = rfm_sources[event->type].lisr;

	/* It is no longer in the card, so the first who listens gets it here. */
	if (!heard && lisr & RFM_LISR_LATCHED_M & ~RFM_LIER_ALWAYS)
		card->dispatch.waiting |= RFM_EVENT_BIT(event->type);
	rfm_irq_monitor(card, event);
}

/**
 * rfm_irq_take - deliver one event of each type that is pending
 * @card: the card
 * @most: events and looks at listeners; an event that needs more is not fetched
 *
 * Context: dispatch.lock held, the card entered; sleeps if @most is
 * RFM_NO_LIMIT.
 * Return: how many that were, 0: nothing is pending, -1: an event needs more.
 */
int rfm_irq_take(struct rfm_card *card, unsigned int most)
{
	u32 pending = READ_ONCE(card->hw.irq.pending);
	unsigned int type, done = 0;
	struct rfm_event event;

	lockdep_assert_held(&card->dispatch.lock);

	for (type = 0; pending && type < RFM_EVENT_TYPES; type++) {
		if (!(pending & rfm_sources[type].lisr))
			continue;
		if (card->dispatch.listening >= most - done)
			return -1;
		if (!rfm_irq_fetch(card, type, &event))
			continue;
		rfm_irq_deliver(card, &event);
		done += 1 + card->dispatch.listening;
	}
	return done;
}

/**
 * rfm_irq_take_latched - deliver what is latched before something else
 * @card: a card with an event ring
 *
 * Context: process, dispatch.lock held, the card entered; sleeps.
 */
void rfm_irq_take_latched(struct rfm_card *card)
{
	spin_lock_irq(&card->hw.irq.lock);
	if (!card->hw.gone)
		rfm_irq_take_up(card);
	spin_unlock_irq(&card->hw.irq.lock);
	rfm_irq_take(card, RFM_NO_LIMIT);
}

/* What the card has counted of what rests. */
struct rfm_irq_counts {
	bool known;			/* it could be asked */
	u64 missed;			/* its counter of that name */
	u64 conflicts;			/* likewise */
};

/* What of the types that rest is counted meanwhile. */
static u32 rfm_irq_counted(const struct rfm_card *card)
{
	return card->hw.features & RFM_EXT_FEATURE_SNAPSHOT ? RFM_COUNTED : 0;
}

static noinline_for_stack void rfm_irq_count(struct rfm_card *card,
					     struct rfm_irq_counts *counts)
{
	struct rfm_counters counters = {};

	mutex_lock(&card->lock);
	counts->known = !rfm_counters_read(card, &counters);
	mutex_unlock(&card->lock);
	counts->missed = counters.value[RFM_COUNTER_MISSED];
	counts->conflicts = counters.value[RFM_COUNTER_CONFLICTS];
}

/*
 * Which types can be compared with what the card has counted just now: those of
 * whose records none is still to be taken. None is made of what rests, unless
 * somebody listens.
 */
static u32 rfm_irq_comparable(struct rfm_card *card)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	u64 taken = card->hw.events.position, made = rfm_events_position(card);
	u32 quiet = throttle->types;
	unsigned int type;

	if (taken >= made)
		return throttle->types | throttle->settling;
	if (taken < throttle->until)
		return 0;
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (card->dispatch.users[type])
			quiet &= ~RFM_EVENT_BIT(type);
	return quiet;
}

/*
 * Tells of what the card has counted and nobody was told of. Records that were
 * taken since are ahead of the counters. Returns the types that there was
 * something of.
 */
static u32 rfm_irq_tell_counted(struct rfm_card *card, u32 types,
				const struct rfm_irq_counts *counts)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	s64 missed = counts->missed - throttle->missed;
	s64 conflicts = counts->conflicts - throttle->conflicts;
	struct rfm_event event = {
		.node = RFM_NODE_ALL,
		.flags = RFM_EVENT_INFERRED,
	};
	u32 told = 0;

	if (types & RFM_EVENT_BIT(RFM_EVENT_LOSS) && missed > 0) {
		event.type = RFM_EVENT_LOSS;
		event.data = min_t(u64, missed, U32_MAX);
		throttle->missed += event.data;
		rfm_notify_event(card, &event, 0);
		told |= RFM_EVENT_BIT(RFM_EVENT_LOSS);
	}
	if (types & RFM_EVENT_BIT(RFM_EVENT_CONFLICT) && conflicts > 0) {
		event.type = RFM_EVENT_CONFLICT;
		event.count = min_t(u64, conflicts, U32_MAX);
		throttle->conflicts += event.count;
		rfm_notify_event(card, &event, 0);
		told |= RFM_EVENT_BIT(RFM_EVENT_CONFLICT);
	}
	return told;
}

/*
 * The card goes on making records of what rested, but for what of it the card
 * counts and has not been quiet. What it has counted between @counts and the
 * first record is looked for once more, the next time.
 */
static void rfm_irq_rested(struct rfm_card *card,
			   const struct rfm_irq_counts *counts)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	u32 compared = rfm_irq_comparable(card), told, rested;

	/* A record that found no room would count as one, whatever it counts. */
	if (!counts->known || !rfm_notify_room(card))
		compared = 0;
	told = rfm_irq_tell_counted(card, compared, counts);
	rested = throttle->types & ~told &
		 (compared | ~rfm_irq_counted(card));
	throttle->settling &= ~compared;
	throttle->settling |= rested & rfm_irq_counted(card);
	throttle->types &= ~rested;
}

static void rfm_irq_look_for_light(struct rfm_card *card)
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

/**
 * rfm_irq_rest_end - types that rested are asked of the card again
 * @work: throttle.work
 *
 * Not those that went on meanwhile, by the card's counters: monitors are told
 * how often, and they rest for longer.
 */
void rfm_irq_rest_end(struct work_struct *work)
{
	struct rfm_card *card = container_of(to_delayed_work(work),
					     struct rfm_card,
					     dispatch.throttle.work);
	struct rfm_throttle *throttle = &card->dispatch.throttle;
	struct rfm_irq_counts counts = {};
	int idx;

	if ((READ_ONCE(throttle->types) | READ_ONCE(throttle->settling)) &
	    rfm_irq_counted(card))
		rfm_irq_count(card, &counts);

	rfm_dispatch_lock(card);
	if (rfm_card_enter(card, &idx)) {
		rfm_irq_rested(card, &counts);
		rfm_irq_look_for_light(card);
		rfm_irq_route(card);
		if (throttle->types || throttle->settling || throttle->dark)
			queue_delayed_work(rfm_wq, &throttle->work, RFM_REST);
		rfm_card_exit(card, idx);
	}
	rfm_dispatch_unlock(card);
}

/* Whose light is looked for from the beginning, and what is counted so far. */
static void rfm_irq_start_monitor(struct rfm_card *card)
{
	struct rfm_throttle *throttle = &card->dispatch.throttle;

	if (card->hw.features & RFM_EXT_FEATURE_SNAPSHOT) {
		writel(0, card->hw.ext + RFM_EXT_SNAPSHOT);
		throttle->missed =
			readq(card->hw.ext + RFM_EXT_COUNTER(RFM_COUNTER_MISSED));
		throttle->conflicts =
			readq(card->hw.ext +
			      RFM_EXT_COUNTER(RFM_COUNTER_CONFLICTS));
	}
	throttle->dark = !card->hw.events.running &&
			 !(readl(card->hw.control + RFM_LCSR1) & RFM_LCSR1_SIGNAL);
	if (throttle->dark)
		queue_delayed_work(rfm_wq, &throttle->work, RFM_REST);
}

/**
 * rfm_irq_start - let the card interrupt
 * @card: the card, its handler already in place
 *
 * Latched errors from before belong to nobody and are cleared; network
 * interrupts and a reset request wait for their first listener, whether the
 * driver was there when they came or not.
 */
void rfm_irq_start(struct rfm_card *card)
{
	u32 intcsr;

	rfm_dispatch_lock(card);
	spin_lock_irq(&card->hw.irq.lock);
	writel(0, card->hw.control + RFM_LIER);
	readl(card->hw.control + RFM_LISR);
	rfm_lisr_clear(card, RFM_LISR_LATCHED_M & ~RFM_LISR_RESET_REQ);
	rfm_events_start(card);
	rfm_dma_start(card);
	rfm_irq_start_monitor(card);
	spin_unlock_irq(&card->hw.irq.lock);
	rfm_irq_route(card);

	spin_lock_irq(&card->hw.irq.lock);
	if (!card->hw.gone) {
		intcsr = readl(card->hw.runtime + RFM_INTCSR);
		writel(intcsr | RFM_INTCSR_ENABLES, card->hw.runtime + RFM_INTCSR);
	}
	spin_unlock_irq(&card->hw.irq.lock);
	rfm_dispatch_unlock(card);
}

/**
 * rfm_irq_mask - silence the card
 * @card: a card that is gone; what it has latched and queued stays there
 *
 * Harmless when the card is no longer there. Nobody enables anything after
 * it: that, too, is done under irq.lock, on a card that is not gone.
 *
 * Context: irq.lock held.
 * Return: false if there is no card to silence.
 */
bool rfm_irq_mask(struct rfm_card *card)
{
	u32 intcsr = readl(card->hw.runtime + RFM_INTCSR);

	lockdep_assert_held(&card->hw.irq.lock);

	if (intcsr == RFM_ALL_ONES)
		return false;
	writel(intcsr & ~RFM_INTCSR_ENABLES, card->hw.runtime + RFM_INTCSR);
	writel(0, card->hw.control + RFM_LIER);
	writel(RFM_LISR_LATCHED_M, card->hw.control + RFM_LISR);
	if (card->hw.events.ring)
		writel(0, card->hw.ext + RFM_EXT_INT_ENABLE);
	/* The writes must arrive, and the line fall, before the handler returns. */
	readl(card->hw.runtime + RFM_INTCSR);
	return intcsr & RFM_INTCSR_ENABLES;
}

/**
 * rfm_irq_status - fill in what INFO tells about registers and interrupts
 * @card: the card
 * @info: its lcsr1, lisr, irqs, sync_losses, events_dropped and watches are set
 *
 * Return: 0 or -ENODEV.
 */
int rfm_irq_status(struct rfm_card *card, struct rfm_info *info)
{
	u32 lisr;
	int idx, ret;

	rfm_dispatch_lock(card);
	if (!rfm_card_enter(card, &idx)) {
		rfm_dispatch_unlock(card);
		return -ENODEV;
	}
	spin_lock_irq(&card->hw.irq.lock);
	info->lcsr1 = readl(card->hw.control + RFM_LCSR1);
	lisr = readl(card->hw.control + RFM_LISR);
	if (rfm_card_answers(card))
		card->hw.irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	info->lisr = card->hw.irq.lisr_seen;
	info->irqs = card->hw.irq.count;
	info->sync_losses = card->hw.irq.sync_losses;
	spin_unlock_irq(&card->hw.irq.lock);

	rfm_events_check(card);
	info->events_dropped = rfm_events_dropped(card);
	info->watches = card->dispatch.watches;
	ret = rfm_card_check(card);
	rfm_card_exit(card, idx);
	rfm_dispatch_unlock(card);
	return ret;
}

/* Throw away what waited in the card for the first listener. */
static void rfm_irq_discard(struct rfm_card *card, u32 bits)
{
	unsigned int n;
	u32 lisr;

	spin_lock_irq(&card->hw.irq.lock);
	for (n = 1; n <= RFM_FIFOS; n++)
		if (bits & RFM_LISR_INT(n))
			writeb(0, card->hw.control + RFM_SID(n));

	lisr = readl(card->hw.control + RFM_LISR);
	card->hw.irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	rfm_lisr_clear(card, lisr & bits & RFM_LISR_LATCHED_M);
	spin_unlock_irq(&card->hw.irq.lock);
}

/* One of each, whether the card has latched another one meanwhile or not. */
static void rfm_irq_push_waiting(struct rfm_card *card, u32 waiting)
{
	unsigned int type;
	u32 bits = 0;

	for (type = 0; type < RFM_EVENT_TYPES; type++) {
		struct rfm_event event = {
			.type = type,
			.node = RFM_NODE_ALL,
			.time_ns = ktime_get_ns(),
		};

		if (!(waiting & RFM_EVENT_BIT(type)))
			continue;
		bits |= rfm_sources[type].lisr;
		rfm_listeners_push(card, &event, RFM_POSITION_NONE);
	}
	rfm_irq_discard(card, bits);
}

/*
 * The first listener for a network interrupt of a card with an event ring:
 * what has waited comes first, and what comes later through the ring.
 */
static void rfm_irq_open(struct rfm_card *card, enum rfm_event_type type)
{
	u32 lisr, bit = rfm_sources[type].lisr;
	unsigned int most = RFM_FIFO_DEPTH;
	struct rfm_event event;

	if (!card->hw.events.running)
		return;
	rfm_events_select(card, card->hw.events.types | RFM_EVENT_BIT(type));

	spin_lock_irq(&card->hw.irq.lock);
	lisr = readl(card->hw.control + RFM_LISR);
	if (lisr == RFM_ALL_ONES) {
		rfm_card_lost(card);
	} else if (lisr & bit) {
		card->hw.irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
		card->hw.irq.pending |= bit;
		if (!rfm_sources[type].fifo)
			rfm_lisr_clear(card, bit);
	}
	spin_unlock_irq(&card->hw.irq.lock);
	while (most-- && rfm_irq_fetch(card, type, &event))
		rfm_irq_deliver(card, &event);
}

/* May it have these types? */
static int rfm_irq_admit(struct rfm_card *card, u32 types, bool exclusive)
{
	const struct rfm_dispatch *dispatch = &card->dispatch;
	unsigned int type;

	if (types & RFM_RING_ONLY && card->hw.events.stopped)
		return -EIO;
	if (dispatch->exclusive & types)
		return -EBUSY;
	if (dispatch->listening == RFM_LISTENERS_MAX)
		return -ENOSPC;
	for (type = 0; exclusive && type < RFM_EVENT_TYPES; type++)
		if (types & RFM_EVENT_BIT(type) && dispatch->users[type])
			return -EBUSY;
	return 0;
}

/* As rfm_irq_add_listener(), the card entered. */
static int rfm_irq_admit_listener(struct rfm_card *card,
				  struct rfm_listener *listener)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	bool exclusive = listener->flags & RFM_LISTEN_EXCLUSIVE;
	u32 types = listener->types;
	u32 unheard = 0, bits = 0, waiting;
	unsigned int type;
	int ret;

	ret = rfm_irq_admit(card, types, exclusive);
	if (ret)
		return ret;
	/*
	 * Errors that have been taken up are older than the listener. So is what
	 * is in a FIFO, but emptying it would take too long: the listener gets it.
	 */
	rfm_irq_take(card, RFM_NO_LIMIT);
	for (type = 0; type < RFM_EVENT_TYPES; type++) {
		if (types & RFM_EVENT_BIT(type) && !dispatch->users[type]++) {
			unheard |= RFM_EVENT_BIT(type);
			bits |= rfm_sources[type].lisr;
		}
	}
	if (exclusive)
		dispatch->exclusive |= types;
	list_add_tail(&listener->node, &dispatch->listeners);
	dispatch->listening++;
	rfm_queue_add(&listener->queue,
		      types & (RFM_EVENT_SENDABLE | RFM_RING_ONLY),
		      types & RFM_RING_ONLY);
	waiting = unheard & dispatch->waiting;
	dispatch->waiting &= ~unheard;
	/* What is always enabled has not waited; it still has to be counted. */
	if (listener->flags & RFM_LISTEN_DISCARD)
		rfm_irq_discard(card, bits & ~RFM_LIER_ALWAYS);
	else if (waiting)
		rfm_irq_push_waiting(card, waiting);
	/* A level that is up interrupts as soon as it is enabled. */
	rfm_irq_route(card);

	for (type = RFM_EVENT_RESET; type <= RFM_EVENT_INT4; type++)
		if (unheard & RFM_EVENT_BIT(type))
			rfm_irq_open(card, type);
	return 0;
}

/**
 * rfm_irq_add_listener - from now on a listener gets its events
 * @card: the card
 * @listener: the listener; with RFM_LISTEN_DISCARD, what waited in the card of the
 *	types that nobody listened for so far is thrown away; otherwise it gets that
 *	first
 *
 * Return: 0, -EBUSY, -ENODEV, -ENOSPC, or -EIO if the event ring, which only some of
 * them come through, has stopped.
 */
int rfm_irq_add_listener(struct rfm_card *card, struct rfm_listener *listener)
{
	int idx, ret = -ENODEV;

	rfm_dispatch_lock(card);
	if (rfm_card_enter(card, &idx)) {
		ret = rfm_irq_admit_listener(card, listener);
		rfm_card_exit(card, idx);
	}
	rfm_dispatch_unlock(card);
	return ret;
}

/**
 * rfm_irq_del_listener - a listener gets no more events
 * @card: the card, gone or not
 * @listener: the listener; may be one that was never added
 */
void rfm_irq_del_listener(struct rfm_card *card, struct rfm_listener *listener)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	unsigned int type;

	if (list_empty(&listener->node))
		return;
	rfm_dispatch_lock(card);
	dispatch->listening--;
	list_del(&listener->node);
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (listener->types & RFM_EVENT_BIT(type))
			dispatch->users[type]--;
	if (listener->flags & RFM_LISTEN_EXCLUSIVE)
		dispatch->exclusive &= ~listener->types;
	rfm_irq_route(card);
	rfm_dispatch_unlock(card);
}
