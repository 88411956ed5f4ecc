// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event ring: records that the card writes to our memory, and who gets
 * them.
 *
 * The card interrupts at once for a lone record and then not again for
 * RFM_EVENTS_INTERVAL. Who takes the records, and when, is in core/dispatch.c. What
 * does not fit into the ring meanwhile the card drops and counts.
 *
 * Network interrupts come through the ring while somebody listens for them,
 * otherwise they wait in the card's FIFOs; see hw/irq.c. Errors are always
 * served from LISR, where they stay however full the ring is.
 */

#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>

#include "hw/hw.h"

/* ns: no more than 20000 interrupts a second. */
#define RFM_EVENTS_INTERVAL	50000	/* unless moderation is set */

/* log2 of the ring's records: what we ask for, and what we are content with. */
#define RFM_EVENTS_ORDER	13
#define RFM_EVENTS_ORDER_MIN	8

/* That of the DMA engine is enabled elsewhere; this is that of requests, if there are any. */
#define RFM_EVENTS_INTERRUPTS	(BIT(RFM_VECTOR_EVENTS) | BIT(RFM_VECTOR_DMA) | \
				 BIT(RFM_VECTOR_LINK) | BIT(RFM_VECTOR_ERRORS))

/* The card makes these only for watches and fences, so they are always selected. */
#define RFM_RECORDS_ALWAYS	(RFM_EVENT_WATCHED | BIT(RFM_RECORD_FENCE))

/* In these records the value is what applications get as data. */
#define RFM_RECORDS_DATA	(RFM_EVENT_BIT(RFM_EVENT_INT1) | \
				 RFM_EVENT_BIT(RFM_EVENT_INT2) | \
				 RFM_EVENT_BIT(RFM_EVENT_INT3) | \
				 RFM_EVENT_BIT(RFM_EVENT_INT4) | \
				 RFM_EVENT_BIT(RFM_EVENT_MEMBERSHIP) | \
				 RFM_EVENT_BIT(RFM_EVENT_LOSS) | \
				 RFM_EVENT_BIT(RFM_EVENT_INCOMPLETE) | \
				 RFM_EVENT_BIT(RFM_EVENT_WRITTEN))

/* So records and events have the same types, but for one number that is none of both. */
static_assert((u32)RFM_RECORD_ID_IN_USE == (u32)RFM_EVENT_ID_IN_USE);
static_assert((u32)RFM_RECORD_FENCE == (u32)RFM_EVENT_DROPPED);
static_assert((u32)RFM_RECORD_WRITTEN == (u32)RFM_EVENT_WRITTEN);
static_assert((u32)RFM_RECORD_TYPES == (u32)RFM_EVENT_TYPES);
static_assert(sizeof(struct rfm_ext_record) == RFM_EXT_RECORD_SIZE);

static size_t rfm_events_size(const struct rfm_events *events)
{
	return RFM_EXT_RECORD_SIZE << events->order;
}

/* --- records ------------------------------------------------------------ */

/* What a record of the ring tells; those taken so far are @position. */
static void rfm_record_read(const struct rfm_ext_record *from, u64 position,
			    struct rfm_record *record)
{
	u8 type = READ_ONCE(from->type), flags = READ_ONCE(from->flags);
	u32 value = le32_to_cpu(READ_ONCE(from->value));
	bool data = type < RFM_RECORD_TYPES && BIT(type) & RFM_RECORDS_DATA;

	*record = (struct rfm_record) {
		.position = position + 1,
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

/*
 * Delivers the next record of the ring. @budget is for records and looks at who
 * may get them; a record that may need more, or to sleep, stays there unless it
 * is RFM_NO_LIMIT, and then this may sleep. Under dispatch.lock, the card
 * entered. Returns how many that were, 0: the ring is empty, -1: something has
 * to stay.
 */
int rfm_events_take(struct rfm_hw *hw, unsigned int budget)
{
	struct rfm_events *events = &hw->events;
	const struct rfm_ext_record *next;
	struct rfm_record record;
	u64 number;

	if (!events->running)
		return 0;
	next = rfm_events_next(events);
	if (!next) {
		if (!READ_ONCE(events->doubted))
			return 0;
		if (!rfm_may_sleep(budget))
			return -1;
		rfm_events_check(hw);
		return READ_ONCE(events->doubted);
	}
	rfm_record_read(next, events->position, &record);
	if (!rfm_dispatch_fits(hw->card, &record, budget))
		return -1;
	/* The loss of the signal has been latched before its return was recorded. */
	if (record.event.type == RFM_EVENT_SIGNAL)
		rfm_irq_take_latched(hw);

	events->position = record.position;
	/* Whoever this is delivered to is first told of what is missing. */
	number = le64_to_cpu(next->event);
	events->missed += number - events->number - 1;
	events->number = number;
	events->retried = false;
	return 1 + rfm_dispatch(hw->card, &record);
}

/*
 * The card may write where the records were that were taken. Under
 * dispatch.lock, the card entered.
 */
void rfm_events_taken(struct rfm_hw *hw)
{
	struct rfm_events *events = &hw->events;

	if (!events->running || events->position == events->released)
		return;
	/* The records have been read before the card may reuse them. */
	mb();
	writel(events->position - events->first,
	       hw->ext + RFM_EXT_EVENT_CONSUMER);
	events->released = events->position;
}

/*
 * How many events are known not to come: those that the card has dropped since
 * the driver was bound, as far as it has noticed. Under dispatch.lock.
 */
u64 rfm_events_missing(const struct rfm_hw *hw)
{
	return max(hw->events.missed, hw->events.dropped);
}

/*
 * Are events missing that not everybody has been told of? As long as the record
 * behind the gap has not come, those before it may still say what is not so.
 * Under dispatch.lock.
 */
bool rfm_events_untold(const struct rfm_hw *hw)
{
	return rfm_events_missing(hw) != hw->events.told ||
	       hw->events.dropped > hw->events.missed;
}

/* --- interrupts ---------------------------------------------------------- */

/* @masked: the card does not interrupt for records. Under dispatch.lock, it entered. */
void rfm_events_mask(struct rfm_hw *hw, bool masked)
{
	u32 enable = RFM_EVENTS_INTERRUPTS;
	unsigned long flags;

	if (masked)
		enable &= ~BIT(RFM_VECTOR_EVENTS);
	spin_lock_irqsave(&hw->irq.lock, flags);
	if (!hw->gone && hw->events.running) {
		hw->events.masked = masked;
		writel(enable, hw->ext + RFM_EXT_INT_ENABLE);
		readl(hw->ext + RFM_EXT_INT_ENABLE);
	}
	spin_unlock_irqrestore(&hw->irq.lock, flags);
}

/* Interrupt handler of the vectors that tell of records. */
irqreturn_t rfm_events_irq(int irq, void *data)
{
	struct rfm_hw *hw = data;
	bool dispatch;

	spin_lock(&hw->irq.lock);
	dispatch = !hw->gone && !hw->events.masked;
	if (!hw->gone)
		hw->irq.count++;
	spin_unlock(&hw->irq.lock);
	if (dispatch)
		rfm_dispatch_irq(hw->card);
	return IRQ_HANDLED;
}

/*
 * Looks at the block's interrupts, of a card with INTx; false if there is none.
 * @requests: set if one tells of requests. Under irq.lock, the card not gone.
 */
bool rfm_events_take_up(struct rfm_hw *hw, bool *requests)
{
	u32 status;

	if (!hw->events.running && !hw->requests.table)
		return false;
	status = rfm_hw_read(hw, hw->ext + RFM_EXT_INT_STATUS) &
		 RFM_EVENTS_INTERRUPTS;
	if (hw->events.masked)
		status &= ~BIT(RFM_VECTOR_EVENTS);
	if (!hw->events.running)
		status &= BIT(RFM_VECTOR_DMA);
	if (!status)
		return false;
	*requests = status & BIT(RFM_VECTOR_DMA);

	/* First, so that what comes meanwhile raises it again. */
	writel(status, hw->ext + RFM_EXT_INT_STATUS);
	if (status & BIT(RFM_VECTOR_ERRORS))
		WRITE_ONCE(hw->events.doubted, true);
	return true;
}

/* --- life ---------------------------------------------------------------- */

static void rfm_events_enable(struct rfm_hw *hw)
{
	struct rfm_events *events = &hw->events;

	memset(events->ring, 0, rfm_events_size(events));
	events->first = events->position;
	events->released = events->position;
	events->number = 0;

	lo_hi_writeq(events->base, hw->ext + RFM_EXT_EVENT_BASE);
	writel(events->order, hw->ext + RFM_EXT_EVENT_SIZE);
	writel(events->types | RFM_RECORDS_ALWAYS,
	       hw->ext + RFM_EXT_EVENT_TYPES);
	writel(RFM_EXT_EVENT_ENABLE, hw->ext + RFM_EXT_EVENT_CONTROL);
	WRITE_ONCE(events->running, true);
}

/*
 * Has the event ring stopped? If so it is enabled again, once; if it stops
 * again before it has written a single record, it stays off, and network
 * interrupts come through the FIFOs. Under dispatch.lock, the card entered.
 */
void rfm_events_check(struct rfm_hw *hw)
{
	struct rfm_events *events = &hw->events;

	if (!events->running)
		return;
	/* First, so that an interrupt that comes meanwhile makes us look again. */
	WRITE_ONCE(events->doubted, false);
	if (!(readl(hw->ext + RFM_EXT_EVENT_STATUS) & RFM_EXT_EVENT_FAULT) ||
	    rfm_card_check(hw->card))
		return;
	/* What it wrote before it stopped comes first. */
	if (rfm_events_next(events)) {
		WRITE_ONCE(events->doubted, true);
		return;
	}

	writel(0, hw->ext + RFM_EXT_EVENT_CONTROL);
	/* Also what was dropped while it was in fault is counted by now. */
	events->lost = rfm_events_dropped(hw);
	events->missed = events->lost;
	events->dropped = events->lost;
	WRITE_ONCE(events->running, false);
	rfm_dispatch_later(hw->card);
	dev_err_ratelimited(hw->dev, "the card cannot write its events%s\n",
			    events->retried ? ": it is no longer asked to" : "");
	if (!events->retried) {
		rfm_events_enable(hw);
		events->retried = true;
	} else {
		WRITE_ONCE(events->stopped, true);
		rfm_queues_wake(hw->card);
		/* The base card's interrupts come as messages all the same. */
		spin_lock_irq(&hw->irq.lock);
		if (!hw->gone)
			writel(BIT(RFM_VECTOR_DMA) | (hw->pdev->msix_enabled ?
			       BIT(RFM_VECTOR_ERRORS) : 0),
			       hw->ext + RFM_EXT_INT_ENABLE);
		spin_unlock_irq(&hw->irq.lock);
	}
	rfm_dispatch_route(hw->card);
}

/*
 * Which types come through the event ring, beside those that always do? On
 * return the card has obeyed. Under dispatch.lock.
 */
void rfm_events_select(struct rfm_hw *hw, u32 types)
{
	if (types == hw->events.types)
		return;
	hw->events.types = types;
	writel(types | RFM_RECORDS_ALWAYS, hw->ext + RFM_EXT_EVENT_TYPES);
	readl(hw->ext + RFM_EXT_EVENT_TYPES);
}

/*
 * The position of the newest record that the card has made, be it that we have
 * not taken it or the card not written it yet. Under dispatch.lock, the card
 * entered.
 */
u64 rfm_events_position(struct rfm_hw *hw)
{
	struct rfm_events *events = &hw->events;
	u32 taken = events->position - events->first;

	if (!events->running)
		return events->position;
	return events->position +
	       (u32)(readl(hw->ext + RFM_EXT_EVENT_MADE) - taken);
}

/*
 * How many events the card could not hand over since the driver was bound.
 * Under dispatch.lock, the card entered.
 */
u64 rfm_events_dropped(struct rfm_hw *hw)
{
	u64 lost = hw->events.lost;

	return hw->events.running ?
	       lost + lo_hi_readq(hw->ext + RFM_EXT_EVENT_DROPPED) : lost;
}

/*
 * Without the memory the driver works as on a card without the ring. An earlier
 * driver's ring is off on return. Below 4 GiB, as all that is the card's own.
 */
void rfm_events_alloc(struct rfm_hw *hw)
{
	struct rfm_events *events = &hw->events;
	struct device *dev = &hw->pdev->dev;

	if (!(hw->features & RFM_EXT_FEATURE_WATCH))
		return;

	writel(0, hw->ext + RFM_EXT_INT_ENABLE);
	writel(0, hw->ext + RFM_EXT_EVENT_CONTROL);
	readl(hw->ext + RFM_EXT_EVENT_CONTROL);

	for (events->order = RFM_EVENTS_ORDER;
	     events->order >= RFM_EVENTS_ORDER_MIN; events->order--) {
		events->ring = dmam_alloc_coherent(dev, rfm_events_size(events),
						   &events->base,
						   GFP_KERNEL | __GFP_NOWARN);
		if (events->ring)
			return;
	}
	dev_warn(dev, "no memory for events: no watches\n");
}

/**
 * rfm_events_moderate - change how often events interrupt
 * @hw: a card with an event ring
 * @count: so many that wait together interrupt, 1..65535
 * @time_ns: no two interrupts within that; 0: each event interrupts
 *
 * Context: dispatch.lock held, the card entered.
 */
void rfm_events_moderate(struct rfm_hw *hw, u32 count, u32 time_ns)
{
	hw->events.moderation_count = count;
	hw->events.moderation_time = time_ns;
	writel(count, hw->ext + RFM_EXT_MODERATION_COUNT);
	writel(time_ns, hw->ext + RFM_EXT_MODERATION_TIME);
}

/*
 * From now on the card may write events. Under dispatch.lock and irq.lock, the
 * card not gone.
 */
void rfm_events_start(struct rfm_hw *hw)
{
	if (!hw->events.ring) {
		if (hw->requests.table)
			writel(BIT(RFM_VECTOR_DMA), hw->ext + RFM_EXT_INT_ENABLE);
		return;
	}
	rfm_events_moderate(hw, 1, RFM_EVENTS_INTERVAL);
	writel(RFM_EVENTS_INTERRUPTS, hw->ext + RFM_EXT_INT_STATUS);
	rfm_events_enable(hw);
	writel(RFM_EVENTS_INTERRUPTS, hw->ext + RFM_EXT_INT_ENABLE);
}

/*
 * The card is gone, and so masked. Harmless when it is no longer there; should
 * it come back to life, it is no longer master of the bus. Under dispatch.lock.
 */
void rfm_events_stop(struct rfm_hw *hw)
{
	if (!hw->events.ring)
		return;
	writel(0, hw->ext + RFM_EXT_EVENT_CONTROL);
	writel(0, hw->ext + RFM_EXT_EVENT_TYPES);
	/* On return nothing is on its way. */
	readl(hw->ext + RFM_EXT_EVENT_CONTROL);
	pci_clear_master(hw->pdev);
}
