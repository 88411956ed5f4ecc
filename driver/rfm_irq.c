// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt side of the card: LISR, LIER and the four FIFOs.
 *
 * A type of event is enabled in LIER only while somebody listens for it.
 * What happens in between waits in the card for the first listener: up to
 * RFM_FIFO_DEPTH network interrupts of each type, one of everything else.
 * The exception is sync loss, which is always enabled, so that it is counted.
 *
 * LISR has two kinds of bits. Those of the network interrupts say "FIFO not
 * empty" and fall when it is drained. The others are latched; writing 0
 * clears them (once they have been read as 1), writing 1 leaves them, so a
 * write names what was served with zeros and keeps what has come since.
 */

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ktime.h>

#include "rfm_drv.h"

/* Always enabled in LIER. */
#define RFM_LIER_ALWAYS		RFM_LISR_SYNC_LOSS

/*
 * Network interrupts taken in one go. A neighbour that sends without pause
 * must not keep us in the handler for ever: after a burst of this length the
 * type is masked and the rest waits until a work item has had its turn.
 */
#define RFM_IRQ_BURST		32

#define RFM_INTCSR_ENABLES	(RFM_INTCSR_PCI_ENABLE | RFM_INTCSR_LOCAL_ENABLE)

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

static void rfm_lier_update(struct rfm_card *card)
{
	u32 lier = RFM_LIER_ALWAYS;
	unsigned int type;

	lockdep_assert_held(&card->irq_lock);

	if (card->gone)
		return;
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (card->users[type])
			lier |= rfm_sources[type].lisr;
	card->lier = lier & ~card->throttled;
	writel(card->lier, card->control + RFM_LIER);
}

/* Clear latched bits that have been read as 1; leave the others alone. */
static void rfm_lisr_clear(struct rfm_card *card, u32 bits)
{
	writel(RFM_LISR_GLOBAL_ENABLE | (RFM_LISR_LATCHED_M & ~bits),
	       card->control + RFM_LISR);
}

static void rfm_fifo_drain(struct rfm_card *card, enum rfm_event_type type,
			   u64 time_ns)
{
	unsigned int n = rfm_sources[type].fifo, i;
	u32 data, lisr;
	u8 node;

	for (i = 0; i < RFM_IRQ_BURST; i++) {
		/* Reading the sender pops both. */
		data = readl(card->control + RFM_ISD(n));
		node = readb(card->control + RFM_SID(n));
		lisr = readl(card->control + RFM_LISR);
		if (lisr == RFM_ALL_ONES) {
			rfm_card_lost(card);
			return;
		}
		rfm_listeners_push(card, type, node, data, time_ns);
		/* Node 0 is a node, so only LISR tells when it is empty. */
		if (!(lisr & rfm_sources[type].lisr))
			return;
	}

	card->throttled |= rfm_sources[type].lisr;
	rfm_lier_update(card);
	schedule_work(&card->unthrottle_work);
}

static void rfm_irq_serve(struct rfm_card *card, u32 pending)
{
	u64 now = ktime_get_ns();
	unsigned int type;

	if (pending & RFM_LISR_LATCHED_M)
		rfm_lisr_clear(card, pending & RFM_LISR_LATCHED_M);
	if (pending & RFM_LISR_SYNC_LOSS)
		card->sync_losses++;

	for (type = 0; type < RFM_EVENT_TYPES && !card->gone; type++) {
		if (!(pending & rfm_sources[type].lisr))
			continue;
		if (rfm_sources[type].fifo)
			rfm_fifo_drain(card, type, now);
		else
			rfm_listeners_push(card, type, RFM_NODE_ALL, 0, now);
	}
}

/**
 * rfm_irq - interrupt handler
 * @irq: interrupt line, perhaps shared with others
 * @data: the card
 *
 * Return: IRQ_NONE if it was not ours.
 */
irqreturn_t rfm_irq(int irq, void *data)
{
	struct rfm_card *card = data;
	irqreturn_t ret = IRQ_NONE;
	u32 intcsr, lisr;

	spin_lock(&card->irq_lock);
	if (card->gone)
		goto out;

	intcsr = readl(card->runtime + RFM_INTCSR);
	if (intcsr == RFM_ALL_ONES) {
		rfm_card_lost(card);
		goto out;
	}
	if (!(intcsr & RFM_INTCSR_LOCAL_ACTIVE))
		goto out;

	lisr = readl(card->control + RFM_LISR);
	if (lisr == RFM_ALL_ONES) {
		rfm_card_lost(card);
		goto out;
	}
	card->lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	if (!(lisr & card->lier))
		goto out;

	card->irqs++;
	rfm_irq_serve(card, lisr & card->lier);
	/* The writes must arrive, and the line fall, before we return. */
	readl(card->runtime + RFM_INTCSR);
	ret = IRQ_HANDLED;
out:
	spin_unlock(&card->irq_lock);
	return ret;
}

/**
 * rfm_irq_unthrottle - take up what a burst left in the FIFOs
 * @work: card->unthrottle_work
 */
void rfm_irq_unthrottle(struct work_struct *work)
{
	struct rfm_card *card = container_of(work, struct rfm_card,
					     unthrottle_work);

	spin_lock_irq(&card->irq_lock);
	card->throttled = 0;
	rfm_lier_update(card);
	spin_unlock_irq(&card->irq_lock);
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

	spin_lock_irq(&card->irq_lock);
	writel(0, card->control + RFM_LIER);
	readl(card->control + RFM_LISR);
	rfm_lisr_clear(card, RFM_LISR_LATCHED_M & ~RFM_LISR_RESET_REQ);
	rfm_lier_update(card);

	intcsr = readl(card->runtime + RFM_INTCSR);
	writel(intcsr | RFM_INTCSR_ENABLES, card->runtime + RFM_INTCSR);
	spin_unlock_irq(&card->irq_lock);
}

/**
 * rfm_irq_stop - silence the card
 * @card: a card that is gone; what it has latched and queued stays there
 *
 * Harmless when the card is no longer there. Nobody enables anything after
 * it: that, too, is done under card->irq_lock, on a card that is not gone.
 */
void rfm_irq_stop(struct rfm_card *card)
{
	u32 intcsr;

	spin_lock_irq(&card->irq_lock);
	writel(0, card->control + RFM_LIER);
	writel(RFM_LISR_LATCHED_M, card->control + RFM_LISR);
	intcsr = readl(card->runtime + RFM_INTCSR);
	if (intcsr != RFM_ALL_ONES)
		writel(intcsr & ~RFM_INTCSR_ENABLES,
		       card->runtime + RFM_INTCSR);
	spin_unlock_irq(&card->irq_lock);
}

/**
 * rfm_irq_status - fill in what INFO tells about registers and interrupts
 * @card: the card
 * @info: its lcsr1, lisr, irqs and sync_losses are set
 *
 * Return: 0 or -ENODEV.
 */
int rfm_irq_status(struct rfm_card *card, struct rfm_info *info)
{
	int ret = -ENODEV;
	u32 lisr;

	spin_lock_irq(&card->irq_lock);
	if (card->gone)
		goto out;

	info->lcsr1 = readl(card->control + RFM_LCSR1);
	lisr = readl(card->control + RFM_LISR);
	if (!rfm_card_answers(card)) {
		rfm_card_lost(card);
		goto out;
	}
	card->lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	info->lisr = card->lisr_seen;
	info->irqs = card->irqs;
	info->sync_losses = card->sync_losses;
	ret = 0;
out:
	spin_unlock_irq(&card->irq_lock);
	return ret;
}

/* Throw away what waited in the card for the first listener. */
static void rfm_irq_discard(struct rfm_card *card, u32 bits)
{
	unsigned int n;
	u32 lisr;

	for (n = 1; n <= RFM_FIFOS; n++)
		if (bits & RFM_LISR_INT(n))
			writeb(0, card->control + RFM_SID(n));

	lisr = readl(card->control + RFM_LISR);
	card->lisr_seen |= lisr & RFM_LISR_LATCHED_M;
	rfm_lisr_clear(card, lisr & bits & RFM_LISR_LATCHED_M);
}

/**
 * rfm_irq_add_listener - from now on a listener gets its events
 * @card: the card
 * @listener: the listener
 * @types: what it listens for, mask of RFM_EVENT_BIT()
 * @discard: throw away what waited in the card of the types that nobody
 *	listened for so far; otherwise it gets that first
 *
 * Return: 0 or -ENODEV.
 */
int rfm_irq_add_listener(struct rfm_card *card, struct rfm_listener *listener,
			 u32 types, bool discard)
{
	unsigned int type;
	u32 unheard = 0;

	spin_lock_irq(&card->irq_lock);
	if (card->gone) {
		spin_unlock_irq(&card->irq_lock);
		return -ENODEV;
	}
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (types & RFM_EVENT_BIT(type) && !card->users[type]++)
			unheard |= rfm_sources[type].lisr;
	listener->types = types;
	list_add_tail(&listener->node, &card->listeners);
	/* What is always enabled has not waited; it still has to be counted. */
	if (discard)
		rfm_irq_discard(card, unheard & ~RFM_LIER_ALWAYS);
	/* A level that is up interrupts as soon as it is enabled. */
	rfm_lier_update(card);
	spin_unlock_irq(&card->irq_lock);
	return 0;
}

/**
 * rfm_irq_del_listener - a listener gets no more events
 * @card: the card, gone or not
 * @listener: the listener; may be one that was never added
 */
void rfm_irq_del_listener(struct rfm_card *card, struct rfm_listener *listener)
{
	unsigned int type;

	spin_lock_irq(&card->irq_lock);
	list_del(&listener->node);
	for (type = 0; type < RFM_EVENT_TYPES; type++)
		if (listener->types & RFM_EVENT_BIT(type))
			card->users[type]--;
	rfm_lier_update(card);
	spin_unlock_irq(&card->irq_lock);
}
