// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card's DMA engine, and what it is fed with: slices.
 *
 * A slice is a part of one request (rfm_dma_request.c) that the engine moves
 * in one go: some pages, pinned and mapped, and the chain of descriptors that
 * tells the engine of them. A card has RFM_DMA_SLICES of them, which bounds
 * the memory that is pinned, and a request has at most RFM_REQUEST_SLICES at
 * a time, so that requests of different files take turns. While the engine
 * moves one, others wait in its queue, ready, and the interrupt handler starts
 * the next.
 *
 * The life of a slice:
 *
 *	free		in dma->free
 *	being filled	by the request that took it; nobody else knows of it
 *	queued		mapped; in dma->queue
 *	active		in the hands of the engine
 *	ended		its request takes it back, and puts it to the free ones
 *
 * There is no way to abort a transfer. rfm_dma_stop() takes the bus from the
 * card, which ends it, and waits until the engine says so: before that, no
 * page is given back. Slices that are still mapped then are unmapped there,
 * for the PCI device may not be there any longer when their requests get to
 * run.
 */

#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "rfm_dma.h"

/* Read when the driver is bound to a card. */
static unsigned int dma_slice = 256 * 1024;
module_param(dma_slice, uint, 0444);
MODULE_PARM_DESC(dma_slice, "bytes that the DMA engine moves in one go, 4096 to 8388600");

/* How often to look after an engine whose interrupt does not come. */
#define RFM_DMA_WATCH	HZ

/* us: to stop an engine that has lost the bus */
#define RFM_DMA_STOP_TIME	1000000

/* --- the engine, all under card->irq_lock ------------------------------- */

static void rfm_dma_next(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->dma;
	struct rfm_slice *slice;

	slice = list_first_entry_or_null(&dma->queue, struct rfm_slice, turn);
	dma->active = slice;
	if (!slice)
		return;
	list_del_init(&slice->turn);
	/* A card that was reset behind our back would take what follows for addresses. */
	writel(RFM_DMAMODE0_RESET | RFM_DMAMODE0_CHAIN,
	       card->runtime + RFM_DMAMODE0);
	writel(slice->address, card->runtime + RFM_DMALADR0);
	writel(slice->bytes, card->runtime + RFM_DMASIZ0);
	writel(slice->chain_base |
	       (slice->request->store ? 0 : RFM_DMADPR0_TO_HOST),
	       card->runtime + RFM_DMADPR0);
	writeb(RFM_DMACSR0_ENABLE | RFM_DMACSR0_START,
	       card->runtime + RFM_DMACSR0);
	schedule_delayed_work(&dma->watch, RFM_DMA_WATCH);
}

static void rfm_slice_end(struct rfm_slice *slice, int error)
{
	list_del_init(&slice->turn);
	slice->error = error;
	slice->ended = true;
	rfm_request_kick(slice->request);
}

/* What comes behind a slice that failed is not moved. */
static void rfm_dma_drop(struct rfm_dma *dma, const struct rfm_request *request)
{
	struct rfm_slice *slice, *next;

	list_for_each_entry_safe(slice, next, &dma->queue, turn)
		if (slice->request == request)
			rfm_slice_end(slice, -ECANCELED);
}

/**
 * rfm_dma_serve - serve the engine's interrupt
 * @card: the card
 * @intcsr: INTCSR, as it was read just now
 *
 * Context: card->irq_lock held, the card not gone.
 * Return: false if there was none.
 */
bool rfm_dma_serve(struct rfm_card *card, u32 intcsr)
{
	struct rfm_dma *dma = &card->dma;
	struct rfm_slice *slice = dma->active;

	if (!(intcsr & RFM_INTCSR_DMA0_ACTIVE))
		return false;
	writeb(RFM_DMACSR0_CLEAR_INT, card->runtime + RFM_DMACSR0);
	if (!slice)
		return true;

	dma->operations++;
	if (intcsr & RFM_INTCSR_DMA0_NO_ABORT) {
		dma->bytes += slice->bytes;
		rfm_slice_end(slice, 0);
	} else {
		dma->errors++;
		rfm_dma_drop(dma, slice->request);
		rfm_slice_end(slice, -EIO);
	}
	rfm_dma_next(card);
	return true;
}

/* Asks the card itself; false if it no longer answers. */
static bool rfm_dma_look(struct rfm_card *card)
{
	u32 intcsr = readl(card->runtime + RFM_INTCSR);

	if (intcsr == RFM_ALL_ONES) {
		rfm_card_lost(card);
		return false;
	}
	return rfm_dma_serve(card, intcsr);
}

/* An engine at rest that tells of no end was not left so by us. */
static void rfm_dma_look_for_end(struct rfm_card *card)
{
	u8 csr = readb(card->runtime + RFM_DMACSR0);

	if (rfm_dma_look(card) || card->gone || !(csr & RFM_DMACSR0_DONE))
		return;
	dev_err(&card->dev, "the DMA engine was reset in a transfer\n");
	rfm_card_lost(card);
}

/**
 * rfm_dma_irq - interrupt handler of the engine's own vector
 * @irq: the vector
 * @data: the card
 *
 * Return: IRQ_HANDLED
 */
irqreturn_t rfm_dma_irq(int irq, void *data)
{
	struct rfm_card *card = data;

	spin_lock(&card->irq_lock);
	if (!card->gone && rfm_dma_look(card))
		card->irqs++;
	spin_unlock(&card->irq_lock);
	return IRQ_HANDLED;
}

/* A card that was pulled out interrupts no more. */
static void rfm_dma_watch(struct work_struct *work)
{
	struct rfm_card *card = container_of(to_delayed_work(work),
					     struct rfm_card, dma.watch);

	spin_lock_irq(&card->irq_lock);
	if (!card->gone && card->dma.active) {
		/* Some hosts read zeros where there is no card. */
		if (rfm_card_answers(card))
			rfm_dma_look_for_end(card);
		else
			rfm_card_lost(card);
		if (!card->gone && card->dma.active)
			schedule_delayed_work(&card->dma.watch, RFM_DMA_WATCH);
	}
	spin_unlock_irq(&card->irq_lock);
}

/* --- slices ------------------------------------------------------------- */

/**
 * rfm_slice_get - take a free slice
 * @request: for whom; it is kicked when it should try again
 *
 * Those that found none get theirs in the order in which they asked.
 *
 * Return: the slice; NULL if there is none now, or -ENODEV.
 */
struct rfm_slice *rfm_slice_get(struct rfm_request *request)
{
	struct rfm_dma *dma = &request->file->card->dma;
	struct rfm_slice *slice = NULL;

	spin_lock_irq(&dma->lock);
	if (list_empty(&request->waiting))
		list_add_tail(&request->waiting, &dma->waiting);
	if (dma->stopped)
		slice = ERR_PTR(-ENODEV);
	else if (list_is_first(&request->waiting, &dma->waiting))
		slice = list_first_entry_or_null(&dma->free, struct rfm_slice,
						 node);
	if (!IS_ERR_OR_NULL(slice)) {
		list_del_init(&slice->node);
		dma->taken++;
		slice->request = request;
		slice->count = 0;
		slice->bytes = 0;
		slice->error = 0;
		slice->ended = false;
	}
	spin_unlock_irq(&dma->lock);
	if (slice)
		rfm_slice_leave(request);
	return slice;
}

/**
 * rfm_slice_leave - wait for a free slice no longer
 * @request: who may have been waiting
 */
void rfm_slice_leave(struct rfm_request *request)
{
	struct rfm_dma *dma = &request->file->card->dma;
	struct rfm_request *next;

	spin_lock_irq(&dma->lock);
	list_del_init(&request->waiting);
	next = list_first_entry_or_null(&dma->waiting, struct rfm_request,
					waiting);
	if (next && !list_empty(&dma->free))
		rfm_request_kick(next);
	spin_unlock_irq(&dma->lock);
}

/**
 * rfm_slice_put - a slice is free again
 * @slice: one that was taken, not mapped; its pages are given back
 */
void rfm_slice_put(struct rfm_slice *slice)
{
	struct rfm_request *request = slice->request, *next;
	struct rfm_dma *dma = &request->file->card->dma;

	if (slice->lost)
		return;
	rfm_slice_unpin(slice);

	spin_lock_irq(&dma->lock);
	list_add_tail(&slice->node, &dma->free);
	dma->taken--;
	next = list_first_entry_or_null(&dma->waiting, struct rfm_request,
					waiting);
	if (next)
		rfm_request_kick(next);
	spin_unlock_irq(&dma->lock);
}

static enum dma_data_direction rfm_slice_direction(const struct rfm_slice *slice)
{
	return slice->request->store ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

static bool rfm_slice_map(struct rfm_card *card, struct rfm_slice *slice)
{
	struct rfm_dma_descriptor *descriptor = slice->chain;
	struct scatterlist *sg;
	unsigned int i;

	slice->mapped = dma_map_sg(&card->pdev->dev, slice->sg, slice->count,
				   rfm_slice_direction(slice));
	for_each_sg(slice->sg, sg, slice->mapped, i) {
		u32 next = slice->chain_base + (i + 1) * sizeof(*descriptor);

		descriptor->address_low =
			cpu_to_le32(lower_32_bits(sg_dma_address(sg)));
		descriptor->address_high =
			cpu_to_le32(upper_32_bits(sg_dma_address(sg)));
		descriptor->bytes = cpu_to_le32(sg_dma_len(sg));
		descriptor->next = cpu_to_le32(i + 1 < slice->mapped ?
					       next : RFM_DMA_LAST);
		descriptor++;
	}
	return slice->mapped;
}

static void rfm_slice_unmap(struct rfm_card *card, struct rfm_slice *slice)
{
	dma_unmap_sg(&card->pdev->dev, slice->sg, slice->count,
		     rfm_slice_direction(slice));
	slice->mapped = 0;
}

/**
 * rfm_slice_submit - hand a slice to the engine
 * @slice: filled: its pages, @address, @bytes
 *
 * Return: 0; -ENODEV, or -ENOMEM if it cannot be mapped, and then it still is
 * the caller's.
 */
int rfm_slice_submit(struct rfm_slice *slice)
{
	struct rfm_card *card = slice->request->file->card;
	int idx, ret = 0;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	if (!rfm_slice_map(card, slice)) {
		rfm_card_exit(card, idx);
		return -ENOMEM;
	}

	spin_lock_irq(&card->irq_lock);
	if (card->gone) {
		ret = -ENODEV;
	} else {
		list_add_tail(&slice->turn, &card->dma.queue);
		if (!card->dma.active)
			rfm_dma_next(card);
	}
	spin_unlock_irq(&card->irq_lock);

	if (ret)
		rfm_slice_unmap(card, slice);
	rfm_card_exit(card, idx);
	return ret;
}

/**
 * rfm_slice_ended - has the engine done with it?
 * @slice: a slice that was submitted
 *
 * Return: true, and then nobody else has anything to do with it any more.
 */
bool rfm_slice_ended(struct rfm_slice *slice)
{
	struct rfm_card *card = slice->request->file->card;
	bool ended;
	int idx;

	/* Whoever ends it holds the lock until it has told the request. */
	spin_lock_irq(&card->irq_lock);
	ended = slice->ended;
	spin_unlock_irq(&card->irq_lock);
	if (!ended)
		return false;

	if (rfm_card_enter(card, &idx)) {
		rfm_slice_unmap(card, slice);
		rfm_card_exit(card, idx);
		return true;
	}
	/* rfm_dma_stop() does that, and kicks the request once more. */
	spin_lock_irq(&card->irq_lock);
	ended = !slice->mapped;
	spin_unlock_irq(&card->irq_lock);
	return ended;
}

/**
 * rfm_slices_withdraw - take back what the engine has not begun with
 * @request: its slices that are queued end at once
 */
void rfm_slices_withdraw(struct rfm_request *request)
{
	struct rfm_card *card = request->file->card;

	spin_lock_irq(&card->irq_lock);
	rfm_dma_drop(&card->dma, request);
	spin_unlock_irq(&card->irq_lock);
}

/* --- /sys/class/rfm/rfmN/dma -------------------------------------------- */

/* What was so at some time not long ago is good enough. */
#define RFM_DMA_SHOW(name, field)					\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct rfm_card *card = container_of(dev, struct rfm_card, dev); \
									\
	return sysfs_emit(buf, "%llu\n",				\
			  (u64)READ_ONCE(card->dma.field));		\
}									\
static DEVICE_ATTR_RO(name)

RFM_DMA_SHOW(operations, operations);
RFM_DMA_SHOW(bytes, bytes);
RFM_DMA_SHOW(errors, errors);
RFM_DMA_SHOW(requests, requests);
RFM_DMA_SHOW(slices, taken);

static struct attribute *rfm_dma_attrs[] = {
	&dev_attr_operations.attr,
	&dev_attr_bytes.attr,
	&dev_attr_errors.attr,
	&dev_attr_requests.attr,
	&dev_attr_slices.attr,
	NULL
};

static const struct attribute_group rfm_dma_group = {
	.name = "dma",
	.attrs = rfm_dma_attrs,
};

const struct attribute_group *rfm_card_groups[] = {
	&rfm_dma_group,
	NULL
};

/* --- begin and end ------------------------------------------------------ */

/* Returns false if it does not stop. All ones are the answer of no card. */
static bool rfm_dma_halt(struct rfm_card *card)
{
	u8 csr;

	pci_clear_master(card->pdev);
	/* A card that is not there moves nothing. */
	return !readb_poll_timeout(card->runtime + RFM_DMACSR0, csr,
				   csr & RFM_DMACSR0_DONE, 20,
				   RFM_DMA_STOP_TIME) ||
	       !rfm_card_answers(card);
}

static void rfm_dma_stop_slice(struct rfm_card *card, struct rfm_slice *slice)
{
	if (slice->lost)
		rfm_slice_keep(slice);
	else
		dma_unmap_sg(&card->pdev->dev, slice->sg, slice->count,
			     rfm_slice_direction(slice));

	spin_lock_irq(&card->irq_lock);
	/* With the last kick: the request may be gone right after. */
	slice->mapped = 0;
	if (slice->ended)
		rfm_request_kick(slice->request);
	else
		rfm_slice_end(slice, -ENODEV);
	spin_unlock_irq(&card->irq_lock);
}

/**
 * rfm_dma_stop - end all transfers
 * @card: a card that is gone and whose sections have ended
 *
 * On return the card touches no memory any more, and what its requests had
 * pinned for it is theirs again; except where the engine does not stop, which
 * says so in the kernel log, and keeps what it has. May be called twice.
 */
void rfm_dma_stop(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->dma;
	struct rfm_request *request;
	unsigned int i;

	if (!dma->slices)
		return;
	cancel_delayed_work_sync(&dma->watch);
	if (!rfm_dma_halt(card) && dma->active) {
		dev_err(&card->dev,
			"the DMA engine does not stop: its descriptors and %u pages stay out of use\n",
			dma->active->count);
		dma->active->lost = true;
	}
	dma->active = NULL;

	spin_lock_irq(&dma->lock);
	dma->stopped = true;
	list_for_each_entry(request, &dma->waiting, waiting)
		rfm_request_kick(request);
	spin_unlock_irq(&dma->lock);

	for (i = 0; i < RFM_DMA_SLICES; i++)
		if (READ_ONCE(dma->slices[i].mapped))
			rfm_dma_stop_slice(card, &dma->slices[i]);
}

/**
 * rfm_dma_start - nothing has ended yet
 * @card: the card
 *
 * Context: card->irq_lock held, the card not gone.
 */
void rfm_dma_start(struct rfm_card *card)
{
	writeb(RFM_DMACSR0_CLEAR_INT, card->runtime + RFM_DMACSR0);
}

static int rfm_slice_alloc(struct rfm_card *card, struct rfm_slice *slice)
{
	struct rfm_dma *dma = &card->dma;
	dma_addr_t base = 0;

	INIT_LIST_HEAD(&slice->turn);
	slice->pages = kvcalloc(dma->pieces, sizeof(*slice->pages), GFP_KERNEL);
	slice->sg = kvcalloc(dma->pieces, sizeof(*slice->sg), GFP_KERNEL);
	slice->bounce = kvcalloc(dma->pieces, sizeof(*slice->bounce),
				 GFP_KERNEL);
	slice->chain = dma_alloc_coherent(&card->pdev->dev,
					  dma->pieces * sizeof(*slice->chain),
					  &base, GFP_KERNEL);
	slice->chain_base = base;
	if (!slice->pages || !slice->sg || !slice->bounce || !slice->chain)
		return -ENOMEM;
	list_add_tail(&slice->node, &dma->free);
	return 0;
}

/* As managed memory is, but not all of it. */
static void rfm_chains_free(void *data)
{
	struct rfm_card *card = data;
	struct rfm_slice *slice;

	for (slice = card->dma.slices;
	     slice < card->dma.slices + RFM_DMA_SLICES; slice++)
		if (slice->chain && !slice->lost)
			dma_free_coherent(&card->pdev->dev, card->dma.pieces *
					  sizeof(*slice->chain), slice->chain,
					  slice->chain_base);
}

static int rfm_slices_alloc(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->dma;
	unsigned int i;
	int ret;

	dma->most = clamp_t(size_t, round_down(dma_slice, 8), PAGE_SIZE,
			    RFM_DMA_MAX);
	/* A buffer that begins within a page has a piece more. */
	dma->pieces = DIV_ROUND_UP(dma->most, PAGE_SIZE) + 1;
	dma->slices = kcalloc(RFM_DMA_SLICES, sizeof(*dma->slices), GFP_KERNEL);
	if (!dma->slices)
		return -ENOMEM;
	ret = devm_add_action(&card->pdev->dev, rfm_chains_free, card);
	for (i = 0; i < RFM_DMA_SLICES && !ret; i++)
		ret = rfm_slice_alloc(card, &dma->slices[i]);
	return ret;
}

/**
 * rfm_dma_init - make the engine's part of a card that is being made
 * @card: the card
 */
void rfm_dma_init(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->dma;

	spin_lock_init(&dma->lock);
	INIT_LIST_HEAD(&dma->free);
	INIT_LIST_HEAD(&dma->waiting);
	INIT_LIST_HEAD(&dma->queue);
	INIT_DELAYED_WORK(&dma->watch, rfm_dma_watch);
}

/**
 * rfm_dma_alloc - memory for the engine
 * @card: a card that is not started yet, and not master of the bus
 *
 * Return: 0, or a negative errno when the card cannot be used.
 */
int rfm_dma_alloc(struct rfm_card *card)
{
	struct device *dev = &card->pdev->dev;
	int ret;

	/* Descriptors lie below 4 GiB, what they tell of may lie anywhere. */
	ret = dma_set_mask(dev, DMA_BIT_MASK(64)) ?:
	      dma_set_coherent_mask(dev, DMA_BIT_MASK(32));
	if (ret)
		return dev_err_probe(dev, ret, "cannot address memory\n");
	dma_set_max_seg_size(dev, RFM_DMA_MAX);

	ret = rfm_slices_alloc(card);
	if (ret)
		return dev_err_probe(dev, ret, "no memory for DMA\n");

	/* Somebody before us may have left it running, to where we do not know. */
	if (!rfm_dma_halt(card))
		return dev_err_probe(dev, -EBUSY,
				     "the DMA engine does not stop\n");
	pci_set_master(card->pdev);
	return 0;
}

static void rfm_slice_free(const struct rfm_dma *dma, struct rfm_slice *slice)
{
	unsigned int i;

	for (i = 0; slice->bounce && i < dma->pieces; i++)
		if (slice->bounce[i] && !slice->lost)
			__free_page(slice->bounce[i]);
	kvfree(slice->bounce);
	kvfree(slice->pages);
	kvfree(slice->sg);
}

/**
 * rfm_dma_free - free what rfm_dma_alloc() has not given to the PCI device
 * @card: a card that nobody uses any more
 */
void rfm_dma_free(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->dma;
	unsigned int i;

	for (i = 0; dma->slices && i < RFM_DMA_SLICES; i++)
		rfm_slice_free(dma, &dma->slices[i]);
	kfree(dma->slices);
}
