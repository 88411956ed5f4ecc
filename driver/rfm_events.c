// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event ring: records that the card writes to our memory, and who gets
 * them.
 *
 * The card interrupts at once for a lone record and then not again for
 * RFM_EVENTS_INTERVAL. An interrupt takes up to RFM_EVENTS_BUDGET records; if
 * there are more, this is a storm: the card's interrupt is masked and a work
 * item, which shares the CPU with everybody else, takes the rest, until the
 * ring is empty. What does not fit into the ring meanwhile the card drops and
 * counts.
 *
 * Network interrupts come through the ring while somebody listens for them,
 * otherwise they wait in the card's FIFOs; see rfm_irq.c. Errors are always
 * served from LISR, where they stay however full the ring is.
 */

#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "rfm_drv.h"

/* ns: no more than 20000 interrupts a second. */
#define RFM_EVENTS_INTERVAL	50000	/* unless moderation is set */

/* Records, and deliveries of them, that one turn may take. */
#define RFM_EVENTS_BUDGET	32

/* log2 of the ring's records: what we ask for, and what we are content with. */
#define RFM_EVENTS_ORDER	13
#define RFM_EVENTS_ORDER_MIN	8

#define RFM_EVENTS_INTERRUPTS	(BIT(RFM_VECTOR_EVENTS) | \
				 BIT(RFM_VECTOR_LINK) | BIT(RFM_VECTOR_ERRORS))

/* Nothing makes these that was not asked for, so they are always selected. */
#define RFM_RECORDS_ALWAYS	(RFM_EVENT_WATCHED | BIT(RFM_RECORD_FENCE))

/* In these records the value is what applications get as data. */
#define RFM_RECORDS_DATA	(RFM_EVENT_BIT(RFM_EVENT_INT1) | \
				 RFM_EVENT_BIT(RFM_EVENT_INT2) | \
				 RFM_EVENT_BIT(RFM_EVENT_INT3) | \
				 RFM_EVENT_BIT(RFM_EVENT_INT4) | \
				 RFM_EVENT_BIT(RFM_EVENT_MEMBERSHIP) | \
				 RFM_EVENT_BIT(RFM_EVENT_LOSS))

/* So records and events have the same types, but the last of each. */
static_assert((u32)RFM_RECORD_LOSS == (u32)RFM_EVENT_LOSS);
static_assert((u32)RFM_EVENT_LOSS + 1 == (u32)RFM_EVENT_DROPPED);
static_assert(sizeof(struct rfm_ext_record) == RFM_EXT_RECORD_SIZE);

static size_t rfm_events_size(const struct rfm_events *events)
{
	return RFM_EXT_RECORD_SIZE << events->order;
}

/* --- records ------------------------------------------------------------ */

/**
 * struct rfm_record - a record of the ring, read
 * @number: of the event, dropped ones included
 * @position: of the record: how many have been taken with it
 * @value: see its type
 * @event: what applications get of it, its type the record's
 */
struct rfm_record {
	u64 number;
	u64 position;
	u32 value;
	struct rfm_event event;
};

static void rfm_record_read(const struct rfm_ext_record *from, u64 position,
			    struct rfm_record *record)
{
	u8 type = READ_ONCE(from->type), flags = READ_ONCE(from->flags);
	u32 value = le32_to_cpu(READ_ONCE(from->value));
	bool data = type < RFM_RECORD_TYPES && BIT(type) & RFM_RECORDS_DATA;

	*record = (struct rfm_record) {
		.number = le64_to_cpu(from->event),
		.position = position,
		.value = value,
		.event = {
			.type = type,
			.node = le16_to_cpu(from->node),
			.data = data ? value : 0,
			.flags = (flags & RFM_RECORD_OTHER_CLOCK ?
				  RFM_EVENT_AGE_UNKNOWN : 0) |
				 (flags & RFM_RECORD_NEVER ?
				  RFM_EVENT_NEVER : 0),
			.time_ns = ktime_get_ns(),
			.offset = le32_to_cpu(from->offset),
			.length = le32_to_cpu(from->length),
			.frame = le64_to_cpu(from->seq),
			.origin_ns = le64_to_cpu(from->origin_ns),
			.arrival_ns = le64_to_cpu(from->arrival_ns),
			.age_ns = le64_to_cpu(from->age_ns),
		},
	};
	memcpy(record->event.bytes, from->data, sizeof(from->data));
}

static unsigned int rfm_record_listeners(struct rfm_card *card,
					 struct rfm_record *record)
{
	unsigned int heard = rfm_listeners_push(card, &record->event,
						record->position);

	rfm_irq_monitor(card, &record->event);
	return heard;
}

/* The loss of the signal has been latched before its return was recorded. */
static unsigned int rfm_record_signal(struct rfm_card *card,
				      struct rfm_record *record)
{
	rfm_irq_serve_latched(card);
	return rfm_record_listeners(card, record);
}

static unsigned int rfm_record_update(struct rfm_card *card,
				      struct rfm_record *record)
{
	return rfm_watch_update(card, &record->event, record->position);
}

static unsigned int rfm_record_slot(struct rfm_card *card,
				    struct rfm_record *record)
{
	return rfm_watch_slot(card, record->value, &record->event,
			      record->position);
}

static unsigned int rfm_record_fence(struct rfm_card *card,
				     struct rfm_record *record)
{
	rfm_fence_event(card, record->value);
	return 0;
}

/* Who gets a record; each tells how often it was delivered. */
static unsigned int (*const rfm_records[RFM_RECORD_TYPES])
	(struct rfm_card *card, struct rfm_record *record) = {
	[RFM_RECORD_RESET]	= rfm_record_listeners,
	[RFM_RECORD_INT1]	= rfm_record_listeners,
	[RFM_RECORD_INT2]	= rfm_record_listeners,
	[RFM_RECORD_INT3]	= rfm_record_listeners,
	[RFM_RECORD_INT4]	= rfm_record_listeners,
	[RFM_RECORD_UPDATE]	= rfm_record_update,
	[RFM_RECORD_MATCH]	= rfm_record_slot,
	[RFM_RECORD_STALE]	= rfm_record_slot,
	[RFM_RECORD_FRESH]	= rfm_record_slot,
	[RFM_RECORD_CONFLICT]	= rfm_record_listeners,
	[RFM_RECORD_SIGNAL]	= rfm_record_signal,
	[RFM_RECORD_BREAK]	= rfm_record_listeners,
	[RFM_RECORD_MEMBERSHIP]	= rfm_record_listeners,
	[RFM_RECORD_LOSS]	= rfm_record_listeners,
	[RFM_RECORD_FENCE]	= rfm_record_fence,
};

/* The next record, or NULL if the card has not written it yet. */
static const struct rfm_ext_record *rfm_events_next(struct rfm_events *events)
{
	u64 taken = events->position - events->first;
	const struct rfm_ext_record *record;

	record = &events->ring[taken & ((1ull << events->order) - 1)];
	if (le32_to_cpu(READ_ONCE(record->index)) != (u32)(taken + 1))
		return NULL;
	/* The card writes the index last. */
	dma_rmb();
	return record;
}

static unsigned int rfm_events_take(struct rfm_card *card,
				    const struct rfm_ext_record *from)
{
	struct rfm_events *events = &card->events;
	struct rfm_record record;
	u32 type;

	rfm_record_read(from, ++events->position, &record);
	/* Whoever this is delivered to is first told of what is missing. */
	events->missed += record.number - events->number - 1;
	events->number = record.number;
	events->retried = false;

	type = record.event.type;
	if (type >= RFM_RECORD_TYPES || !rfm_records[type])
		return 0;
	return rfm_records[type](card, &record);
}

/* One turn. Returns true if there is more to do. */
static bool rfm_events_drain(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;
	const struct rfm_ext_record *record;
	u64 before = events->position;
	unsigned int spent = 0;

	lockdep_assert_held(&card->irq_lock);

	while (spent < RFM_EVENTS_BUDGET && !card->gone && events->running) {
		record = rfm_events_next(events);
		if (!record)
			break;
		spent += 1 + rfm_events_take(card, record);
	}
	if (card->gone || !events->running)
		return false;
	if (events->position != before) {
		/* The records have been read before the card may reuse them. */
		mb();
		writel(events->position - events->first,
		       card->ext + RFM_EXT_EVENT_CONSUMER);
	}
	if (spent >= RFM_EVENTS_BUDGET)
		return true;
	if (!events->doubted)
		return false;
	rfm_events_check(card);
	return events->doubted && !card->gone;
}

/* --- interrupts ---------------------------------------------------------- */

/**
 * rfm_events_missing - how many events are known not to come?
 * @card: the card
 *
 * Context: card->irq_lock held.
 * Return: those that the card has dropped since the driver was bound, as far
 * as it has noticed.
 */
u64 rfm_events_missing(const struct rfm_card *card)
{
	const struct rfm_events *events = &card->events;

	return events->lost + max(events->missed, events->dropped);
}

/*
 * Are events missing that not everybody has been told of? As long as the
 * record behind the gap has not come, those before it may still say what is
 * not so.
 */
static bool rfm_events_untold(const struct rfm_card *card)
{
	const struct rfm_events *events = &card->events;

	return rfm_events_missing(card) != events->told ||
	       events->dropped > events->missed;
}

/*
 * The ring was empty: if events are missing, nobody may be left to tell of it
 * but us.
 */
static void rfm_events_tell(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;
	bool untold = false;
	u64 dropped;

	spin_lock_irq(&card->irq_lock);
	if (!card->gone && events->running) {
		dropped = lo_hi_readq(card->ext + RFM_EXT_EVENT_DROPPED);
		if (dropped == U64_MAX)
			rfm_card_lost(card);
		else
			events->dropped = dropped;
	}
	untold = !card->gone && rfm_events_untold(card);
	if (rfm_events_missing(card) > events->told)
		rfm_notify_dropped(card, rfm_events_missing(card) -
					 events->told);
	events->told = rfm_events_missing(card);
	spin_unlock_irq(&card->irq_lock);
	if (!untold)
		return;

	rfm_watch_recheck(card);
	spin_lock_irq(&card->irq_lock);
	rfm_queues_tell(card);
	spin_unlock_irq(&card->irq_lock);
}

static void rfm_events_mask(struct rfm_card *card, bool masked)
{
	u32 enable = RFM_EVENTS_INTERRUPTS;

	if (masked)
		enable &= ~BIT(RFM_VECTOR_EVENTS);
	card->events.masked = masked;
	writel(enable, card->ext + RFM_EXT_INT_ENABLE);
}

/**
 * rfm_events_serve - an interrupt: take what the ring holds
 * @card: a card with an event ring
 * @errors: it may tell that the ring has stopped
 *
 * Context: interrupt, with card->irq_lock held, the card not gone.
 */
void rfm_events_serve(struct rfm_card *card, bool errors)
{
	card->events.doubted |= errors;
	/* The work item is at it. */
	if (card->events.masked)
		return;
	if (rfm_events_drain(card)) {
		rfm_events_mask(card, true);
		queue_work(system_unbound_wq, &card->events.work);
	} else if (!card->gone && rfm_events_untold(card)) {
		queue_work(system_unbound_wq, &card->events.work);
	}
}

/* Returns true while there is more to do. */
static bool rfm_events_work_turn(struct rfm_card *card)
{
	bool more = false;

	spin_lock_irq(&card->irq_lock);
	if (card->gone)
		goto out;
	more = rfm_events_drain(card);
	if (more || card->gone || !card->events.running)
		goto out;

	/* What came before it was unmasked has not interrupted. */
	rfm_events_mask(card, false);
	if (readl(card->ext + RFM_EXT_INT_ENABLE) == RFM_ALL_ONES) {
		rfm_card_lost(card);
		goto out;
	}
	more = rfm_events_drain(card);
	if (more)
		rfm_events_mask(card, true);
out:
	spin_unlock_irq(&card->irq_lock);
	return more;
}

static void rfm_events_work(struct work_struct *work)
{
	struct rfm_card *card = container_of(work, struct rfm_card,
					     events.work);

	while (rfm_events_work_turn(card))
		cond_resched();
	rfm_events_tell(card);
}

/**
 * rfm_events_irq - interrupt handler of the vectors that tell of records
 * @irq: MSI-X vector
 * @data: the card
 *
 * Return: IRQ_HANDLED.
 */
irqreturn_t rfm_events_irq(int irq, void *data)
{
	struct rfm_card *card = data;

	spin_lock(&card->irq_lock);
	if (!card->gone) {
		card->irqs++;
		rfm_events_serve(card, false);
	}
	spin_unlock(&card->irq_lock);
	return IRQ_HANDLED;
}

/**
 * rfm_events_serve_intx - look at the block's interrupts, of a card with INTx
 * @card: the card
 *
 * Context: interrupt, with card->irq_lock held, the card not gone.
 * Return: false if it has raised none.
 */
bool rfm_events_serve_intx(struct rfm_card *card)
{
	u32 status;

	if (!card->events.running)
		return false;
	status = readl(card->ext + RFM_EXT_INT_STATUS);
	if (status == RFM_ALL_ONES) {
		rfm_card_lost(card);
		return false;
	}
	status &= RFM_EVENTS_INTERRUPTS;
	if (card->events.masked)
		status &= ~BIT(RFM_VECTOR_EVENTS);
	if (!status)
		return false;

	/* First, so that what comes meanwhile raises it again. */
	writel(status, card->ext + RFM_EXT_INT_STATUS);
	rfm_events_serve(card, status & BIT(RFM_VECTOR_ERRORS));
	return true;
}

/* --- life ---------------------------------------------------------------- */

static void rfm_events_enable(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;

	memset(events->ring, 0, rfm_events_size(events));
	events->first = events->position;
	events->number = 0;

	lo_hi_writeq(events->base, card->ext + RFM_EXT_EVENT_BASE);
	writel(events->order, card->ext + RFM_EXT_EVENT_SIZE);
	writel(events->types | RFM_RECORDS_ALWAYS,
	       card->ext + RFM_EXT_EVENT_TYPES);
	writel(RFM_EXT_EVENT_ENABLE, card->ext + RFM_EXT_EVENT_CONTROL);
	events->running = true;
}

/* Also what was dropped while it was in fault is counted by then. */
static void rfm_events_disable(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;

	writel(0, card->ext + RFM_EXT_EVENT_CONTROL);
	events->lost += lo_hi_readq(card->ext + RFM_EXT_EVENT_DROPPED);
	events->missed = 0;
	events->dropped = 0;
	events->running = false;
	queue_work(system_unbound_wq, &events->work);
}

/**
 * rfm_events_check - has the event ring stopped?
 * @card: the card
 *
 * If so it is enabled again, once; if it stops again before it has written a
 * single record, it stays off, and network interrupts come through the FIFOs.
 *
 * Context: card->irq_lock held, the card not gone.
 */
void rfm_events_check(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;
	u32 status;

	if (!events->running)
		return;
	status = readl(card->ext + RFM_EXT_EVENT_STATUS);
	if (status == RFM_ALL_ONES) {
		rfm_card_lost(card);
		return;
	}
	/* What it wrote before it stopped comes first. */
	events->doubted = status & RFM_EXT_EVENT_FAULT &&
			  rfm_events_next(events);
	if (!(status & RFM_EXT_EVENT_FAULT) || events->doubted)
		return;

	rfm_events_disable(card);
	dev_err_ratelimited(&card->dev, "the card cannot write its events%s\n",
			    events->retried ? ": it is no longer asked to" : "");
	if (!events->retried) {
		rfm_events_enable(card);
		events->retried = true;
	} else {
		WRITE_ONCE(events->stopped, true);
		rfm_queues_wake(card);
		/* The base card's interrupts come as messages all the same. */
		writel(events->msix ? BIT(RFM_VECTOR_ERRORS) : 0,
		       card->ext + RFM_EXT_INT_ENABLE);
	}
	rfm_irq_route(card);
}

/**
 * rfm_events_select - which types shall come through the event ring?
 * @card: the card, its ring running
 * @types: mask of RFM_EVENT_BIT(), beside those that always do
 *
 * On return the card has obeyed.
 *
 * Context: card->irq_lock held, the card not gone.
 */
void rfm_events_select(struct rfm_card *card, u32 types)
{
	if (types == card->events.types)
		return;
	card->events.types = types;
	writel(types | RFM_RECORDS_ALWAYS, card->ext + RFM_EXT_EVENT_TYPES);
	readl(card->ext + RFM_EXT_EVENT_TYPES);
}

/**
 * rfm_events_position - how many records has the card made?
 * @card: the card
 *
 * Context: card->irq_lock held, the card not gone.
 * Return: the position of the newest; those count that we have not taken or it has
 * not written yet.
 */
u64 rfm_events_position(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;
	u32 taken = events->position - events->first;

	if (!events->running)
		return events->position;
	return events->position +
	       (u32)(readl(card->ext + RFM_EXT_EVENT_MADE) - taken);
}

/**
 * rfm_events_dropped - how many events could the card not hand over?
 * @card: the card
 *
 * Context: card->irq_lock held, the card not gone.
 * Return: their number since the driver was bound.
 */
u64 rfm_events_dropped(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;

	if (!events->running)
		return events->lost;
	return events->lost +
	       lo_hi_readq(card->ext + RFM_EXT_EVENT_DROPPED);
}

static void *rfm_events_try(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;

	return dmam_alloc_coherent(&card->pdev->dev, rfm_events_size(events),
				   &events->base, GFP_KERNEL | __GFP_NOWARN);
}

/**
 * rfm_events_alloc - memory for the event ring
 * @card: a card with the extension block, not started yet
 *
 * Without the memory the driver works as on a card without the ring. Nothing
 * of an earlier driver's ring is left running when we may be written to.
 *
 * Return: 0, or a negative errno when the card cannot be used.
 */
int rfm_events_alloc(struct rfm_card *card)
{
	struct rfm_events *events = &card->events;
	struct device *dev = &card->pdev->dev;
	int ret;

	INIT_WORK(&events->work, rfm_events_work);
	if (!(card->features & RFM_EXT_FEATURE_WATCH))
		return 0;

	writel(0, card->ext + RFM_EXT_INT_ENABLE);
	writel(0, card->ext + RFM_EXT_EVENT_CONTROL);
	readl(card->ext + RFM_EXT_EVENT_CONTROL);

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (ret)
		return dev_err_probe(dev, ret, "cannot address memory\n");

	events->order = RFM_EVENTS_ORDER;
	while (!(events->ring = rfm_events_try(card)))
		if (--events->order < RFM_EVENTS_ORDER_MIN) {
			dev_warn(dev, "no memory for events: no watches\n");
			return 0;
		}
	pci_set_master(card->pdev);
	return 0;
}

static void rfm_events_write_moderation(struct rfm_card *card)
{
	writel(card->events.moderation_count,
	       card->ext + RFM_EXT_MODERATION_COUNT);
	writel(card->events.moderation_time,
	       card->ext + RFM_EXT_MODERATION_TIME);
}

/**
 * rfm_events_moderate - change how often events interrupt
 * @card: a card with an event ring
 * @count: so many that wait together interrupt, 1..65535
 * @time_ns: no two interrupts within that; 0: each event interrupts
 *
 * Return: 0 or -ENODEV.
 */
int rfm_events_moderate(struct rfm_card *card, u32 count, u32 time_ns)
{
	int ret = -ENODEV;

	spin_lock_irq(&card->irq_lock);
	if (!card->gone) {
		card->events.moderation_count = count;
		card->events.moderation_time = time_ns;
		rfm_events_write_moderation(card);
		ret = 0;
	}
	spin_unlock_irq(&card->irq_lock);
	return ret;
}

/**
 * rfm_events_start - the card may write events from now on
 * @card: the card
 *
 * Context: card->irq_lock held, the card not gone.
 */
void rfm_events_start(struct rfm_card *card)
{
	if (!card->events.ring)
		return;
	card->events.moderation_count = 1;
	card->events.moderation_time = RFM_EVENTS_INTERVAL;
	rfm_events_write_moderation(card);
	writel(RFM_EVENTS_INTERRUPTS, card->ext + RFM_EXT_INT_STATUS);
	rfm_events_enable(card);
	rfm_events_mask(card, false);
}

/**
 * rfm_events_stop - the card writes and interrupts no more
 * @card: a card that is gone
 *
 * Harmless when the card is no longer there; should it come back to life, it
 * is no longer master of the bus.
 */
void rfm_events_stop(struct rfm_card *card)
{
	if (!card->events.ring)
		return;
	spin_lock_irq(&card->irq_lock);
	writel(0, card->ext + RFM_EXT_INT_ENABLE);
	writel(0, card->ext + RFM_EXT_EVENT_CONTROL);
	writel(0, card->ext + RFM_EXT_EVENT_TYPES);
	/* On return nothing is on its way. */
	readl(card->ext + RFM_EXT_EVENT_CONTROL);
	spin_unlock_irq(&card->irq_lock);
	cancel_work_sync(&card->events.work);
	pci_clear_master(card->pdev);
}
