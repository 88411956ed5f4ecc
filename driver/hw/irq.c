// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt side of the card: LISR, LIER and the four FIFOs.
 *
 * A type of event is enabled in LIER only while somebody listens for it, be it
 * monitors (core/throttle.c). What happens in between waits in the card for the first
 * listener: up to RFM_FIFO_DEPTH network interrupts of each type, one of everything
 * else. The exception is sync loss, which is always enabled, so that it is counted.
 * The first listener gets one that only monitors were told of, as if it had waited
 * in the card.
 *
 * A card with an event ring hands us network interrupts through that while
 * somebody listens for them. The first listener gets what has waited before
 * the card is asked to do so; then only the ring tells of them, so that their
 * order stays. LISR goes on to tell of errors.
 *
 * The interrupt handler serves the DMA engine, notes what LISR tells in
 * irq.pending and masks that in LIER. Then core/dispatch.c has the events
 * themselves fetched (rfm_irq_take()), a few at once and the rest in a work item;
 * a bit is enabled again when there are no more of it.
 *
 * LISR has two kinds of bits. Those of the network interrupts say "FIFO not
 * empty" and fall when it is drained. The others are latched; writing 0
 * clears them (once they have been read as 1), writing 1 leaves them, so a
 * write names what was served with zeros and keeps what has come since.
 */

#include <linux/ktime.h>

#include "hw/hw.h"

/* Always enabled in LIER. */
#define RFM_LIER_ALWAYS		RFM_LISR_SYNC_LOSS

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
static void rfm_irq_write_lier(struct rfm_hw *hw)
{
	lockdep_assert_held(&hw->irq.lock);

	if (!hw->gone)
		writel(hw->irq.lier & ~hw->irq.pending, hw->control + RFM_LIER);
}

static u32 rfm_lisr_of(u32 types)
{
	unsigned int type;
	u32 lisr = 0;

	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (types & RFM_EVENT_BIT(type))
			lisr |= rfm_sources[type].lisr;
	return lisr;
}

/*
 * Which types of events are asked of the card, RFM_EVENT_BIT()? A network
 * interrupt that nobody has listened for so far is not turned to the event ring
 * here: what has waited has to be fetched first. Under dispatch.lock, the card
 * entered.
 */
void rfm_irq_route(struct rfm_hw *hw, u32 types)
{
	unsigned long flags;

	if (hw->events.running) {
		rfm_events_select(hw, types & (hw->events.types |
						 RFM_EVENT_EXTENSION));
		types &= ~RFM_EVENT_SENDABLE;
	}
	spin_lock_irqsave(&hw->irq.lock, flags);
	hw->irq.lier = rfm_lisr_of(types) | RFM_LIER_ALWAYS;
	/* What is in the FIFOs waits there for the next who listens. */
	hw->irq.pending &= hw->irq.lier | RFM_LISR_LATCHED_M;
	rfm_irq_write_lier(hw);
	spin_unlock_irqrestore(&hw->irq.lock, flags);
}

/* Clear latched bits that have been read as 1; leave the others alone. */
static void rfm_lisr_clear(struct rfm_hw *hw, u32 bits)
{
	writel(RFM_LISR_GLOBAL_ENABLE | (RFM_LISR_LATCHED_M & ~bits),
	       hw->control + RFM_LISR);
}

/* --- the interrupt handler ------------------------------------------------- */

/* What LISR tells is taken up; returns false if it is nothing. */
static bool rfm_irq_take_up(struct rfm_hw *hw)
{
	u32 lisr = rfm_hw_read(hw, hw->control + RFM_LISR);

	hw->irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	lisr &= hw->irq.lier & ~hw->irq.pending;
	if (!lisr)
		return false;
	if (lisr & RFM_LISR_LATCHED_M)
		rfm_lisr_clear(hw, lisr & RFM_LISR_LATCHED_M);
	if (lisr & RFM_LISR_SYNC_LOSS) {
		hw->irq.sync_losses++;
		WRITE_ONCE(hw->irq.sync_loss_ns, ktime_get_ns());
	}
	hw->irq.pending |= lisr;
	rfm_irq_write_lier(hw);
	return true;
}

/*
 * Interrupt handler of a line, perhaps shared with others, or of the vector for
 * errors.
 */
irqreturn_t rfm_irq(int irq, void *data)
{
	struct rfm_hw *hw = data;
	bool served, taken_up = false, requests = false;
	u32 intcsr;

	spin_lock(&hw->irq.lock);
	if (hw->gone) {
		/* It did not answer when it was lost, and now does. */
		served = rfm_irq_mask(hw);
		goto out;
	}
	intcsr = rfm_hw_read(hw, hw->runtime + RFM_INTCSR);
	served = rfm_dma_serve(hw->card, intcsr);
	if (intcsr & RFM_INTCSR_LOCAL_ACTIVE)
		taken_up = rfm_irq_take_up(hw);
	if (hw->pdev->msix_enabled && !hw->gone) {
		/*
		 * A message tells only that the level has risen: let it rise
		 * once more if something has come in while we took up the last.
		 */
		writel(0, hw->control + RFM_LIER);
		rfm_irq_write_lier(hw);
		WRITE_ONCE(hw->events.doubted, true);
		taken_up = true;
	} else if (!hw->gone && rfm_events_take_up(hw, &requests)) {
		taken_up = true;
	}
	served |= taken_up;
	if (!served || hw->gone)
		goto out;

	hw->irq.count++;
	/* The writes must arrive, and the line fall, before we return. */
	readl(hw->runtime + RFM_INTCSR);
out:
	spin_unlock(&hw->irq.lock);
	if (requests)
		rfm_requests_serve(hw);
	if (taken_up)
		rfm_dispatch_irq(hw->card);
	return served ? IRQ_HANDLED : IRQ_NONE;
}

/* --- what it has taken up -------------------------------------------------- */

/*
 * Fetches one event of a type that is pending; returns false if there is none.
 * The type is enabled again behind the last.
 */
static bool rfm_irq_fetch(struct rfm_hw *hw, struct rfm_event *event)
{
	u32 bit = rfm_sources[event->type].lisr, lisr = 0;
	unsigned int n = rfm_sources[event->type].fifo;
	unsigned long flags;
	bool found = false;

	event->node = RFM_NODE_ALL;
	event->time_ns = ktime_get_ns();
	spin_lock_irqsave(&hw->irq.lock, flags);
	if (hw->gone || !(hw->irq.pending & bit))
		goto out;
	if (n) {
		/* Reading the sender pops both. */
		event->data = readl(hw->control + RFM_ISD(n));
		event->node = readb(hw->control + RFM_SID(n));
		/* Node 0 is a node, so only LISR tells when it is empty. */
		lisr = rfm_hw_read(hw, hw->control + RFM_LISR);
		if (hw->gone)
			goto out;
	}
	if (!(lisr & bit)) {
		hw->irq.pending &= ~bit;
		rfm_irq_write_lier(hw);
	}
	found = true;
out:
	spin_unlock_irqrestore(&hw->irq.lock, flags);
	return found;
}

/*
 * Delivers one event of each of @types, RFM_EVENT_BIT(), that is pending. @budget
 * is for events and looks at listeners; an event that needs more is not fetched.
 * Under dispatch.lock, the card entered; sleeps if @budget is RFM_NO_LIMIT.
 * Returns what was used of @budget, 0: nothing is pending, -1: an event needs
 * more.
 */
int rfm_irq_take(struct rfm_hw *hw, u32 types, unsigned int budget)
{
	u32 pending = READ_ONCE(hw->irq.pending);
	unsigned int type;
	int done = 0;

	for (type = 0; pending && type < RFM_EVENT_TYPES; type++) {
		struct rfm_record record = {
			.position = RFM_POSITION_NONE,
			.event.type = type,
		};

		if (!(types & RFM_EVENT_BIT(type) &&
		      pending & rfm_sources[type].lisr))
			continue;
		if (!rfm_dispatch_fits(hw->card, &record, budget - done))
			return -1;
		if (rfm_irq_fetch(hw, &record.event))
			done += 1 + rfm_dispatch(hw->card, &record);
	}
	return done;
}

/*
 * Delivers what is latched before others. Under dispatch.lock, the card entered;
 * sleeps.
 */
void rfm_irq_take_latched(struct rfm_hw *hw)
{
	spin_lock_irq(&hw->irq.lock);
	if (!hw->gone)
		rfm_irq_take_up(hw);
	spin_unlock_irq(&hw->irq.lock);
	rfm_irq_take(hw, RFM_EVENT_ALL, RFM_NO_LIMIT);
}

/*
 * Lets a card interrupt whose handlers are in place, and write to the event
 * ring. What was latched before belongs to nobody: errors are cleared; network
 * interrupts and a reset request wait for their first listener, whether the
 * driver was there when they came or not. Under dispatch.lock.
 */
void rfm_irq_start(struct rfm_hw *hw)
{
	spin_lock_irq(&hw->irq.lock);
	if (!hw->gone) {
		writel(0, hw->control + RFM_LIER);
		readl(hw->control + RFM_LISR);
		rfm_lisr_clear(hw, RFM_LISR_LATCHED_M & ~RFM_LISR_RESET_REQ);
		rfm_events_start(hw);
		/* Nothing that the engine has moved was ours. */
		writeb(RFM_DMACSR0_CLEAR_INT, hw->runtime + RFM_DMACSR0);
		writel(readl(hw->runtime + RFM_INTCSR) | RFM_INTCSR_ENABLES |
		       RFM_INTCSR_PCI_ENABLE, hw->runtime + RFM_INTCSR);
		hw->dma.quiet = false;
	}
	spin_unlock_irq(&hw->irq.lock);
}

/* What INFO tells about registers and interrupts. The card is entered. */
void rfm_irq_status(struct rfm_hw *hw, struct rfm_info *info)
{
	u32 lisr;

	spin_lock_irq(&hw->irq.lock);
	info->lcsr1 = readl(hw->control + RFM_LCSR1);
	lisr = readl(hw->control + RFM_LISR);
	if (rfm_card_answers(hw->card))
		hw->irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	info->lisr = hw->irq.lisr_seen;
	info->irqs = hw->irq.count;
	info->sync_losses = hw->irq.sync_losses;
	spin_unlock_irq(&hw->irq.lock);
}

/*
 * Silences a card that is gone; what it has latched and queued stays there.
 * Harmless when it is no longer there: then false. Nobody enables anything
 * after it, as that is done under irq.lock as well, on a card that is not gone.
 */
bool rfm_irq_mask(struct rfm_hw *hw)
{
	u32 intcsr = readl(hw->runtime + RFM_INTCSR);

	lockdep_assert_held(&hw->irq.lock);

	if (intcsr == RFM_ALL_ONES)
		return false;
	writel(intcsr & ~RFM_INTCSR_ENABLES, hw->runtime + RFM_INTCSR);
	writel(0, hw->control + RFM_LIER);
	writel(RFM_LISR_LATCHED_M, hw->control + RFM_LISR);
	if (hw->events.ring || hw->requests.table)
		writel(0, hw->ext + RFM_EXT_INT_ENABLE);
	/* The writes must arrive, and the line fall, before the handler returns. */
	readl(hw->runtime + RFM_INTCSR);
	return intcsr & RFM_INTCSR_ENABLES;
}

/*
 * Throws away what waited in the card for the first listener, RFM_EVENT_BIT().
 * What is always enabled has not waited, it still has to be counted. The card
 * is entered.
 */
void rfm_irq_discard(struct rfm_hw *hw, u32 types)
{
	u32 lisr, bits = rfm_lisr_of(types) & ~RFM_LIER_ALWAYS;
	unsigned int n;

	spin_lock_irq(&hw->irq.lock);
	for (n = 1; n <= RFM_FIFOS; n++)
		if (bits & RFM_LISR_INT(n))
			writeb(0, hw->control + RFM_SID(n));

	lisr = readl(hw->control + RFM_LISR);
	hw->irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	rfm_lisr_clear(hw, lisr & bits & RFM_LISR_LATCHED_M);
	spin_unlock_irq(&hw->irq.lock);
}

/*
 * The first listener for some network interrupts, RFM_EVENT_BIT(), is there.
 * With an event ring, what has waited comes first, and what comes later through
 * the ring. Under dispatch.lock, the card entered; sleeps.
 */
void rfm_irq_open(struct rfm_hw *hw, u32 types)
{
	unsigned int left = RFM_FIFO_DEPTH;
	u32 lisr;

	if (!types || !hw->events.running)
		return;
	rfm_events_select(hw, hw->events.types | types);

	spin_lock_irq(&hw->irq.lock);
	lisr = rfm_hw_read(hw, hw->control + RFM_LISR) & rfm_lisr_of(types);
	hw->irq.lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	hw->irq.pending |= lisr;
	if (!hw->gone)
		rfm_lisr_clear(hw, lisr & RFM_LISR_LATCHED_M);
	spin_unlock_irq(&hw->irq.lock);
	while (left-- && rfm_irq_take(hw, types, RFM_NO_LIMIT))
		;
}
