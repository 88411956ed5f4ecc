// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card's DMA engine, and what it is fed with: slices.
 *
 * A slice is a part of one request (io/dma_request.c) that the engine moves
 * in one go: some pages, pinned and mapped. It is complete when it comes here,
 * so the engine waits for nobody. Requests that have slices here take turns, a
 * slice each; the slices of one are moved in their order. The interrupt handler
 * gives a slice that was moved back to its request, and starts the next. What is
 * short some cards move at once, see below: that goes past the slices.
 *
 * An engine that has not moved a slice after a time that is more than enough,
 * RFM_DMA_LIMIT(), never will: the card is lost. The time is counted in looks,
 * a second apart, so that none passes while the machine stands still.
 *
 * There is no way to abort a transfer. rfm_dma_stop() takes the bus from the
 * card, which ends it, and waits until the engine says so: before that, no
 * page is given back. One that was started without the bus waits for it on
 * our card, and begins with the registers as they are then: it gets the bus with
 * nothing to move.
 */

#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "io/dma.h"

/* Read when the driver is bound to a card. */
static unsigned int dma_slice = 512 * 1024;
module_param(dma_slice, uint, 0444);
MODULE_PARM_DESC(dma_slice, "bytes that the DMA engine moves in one go, 4096 to 8388600");

/* How often to look after an engine whose interrupt does not come. */
#define RFM_DMA_WATCHDOG	HZ

/*
 * Looks to move so many bytes: a ring that takes nothing holds a card up for ten
 * seconds at most, and the slowest fibres take some 100 kB a second, which all
 * nodes share; 8 KiB of it are anybody's.
 */
#define RFM_DMA_LIMIT(bytes)	(15 + (bytes) / 8192)

/* us: to stop an engine that has lost the bus */
#define RFM_DMA_STOP_TIME	1000000

/* --- the engine, all under irq.lock --------------------------------------- */

/* The next slice of requests that take turns, or NULL. */
static struct rfm_slice *rfm_dma_take(struct list_head *queue)
{
	struct rfm_request *request;
	struct rfm_slice *slice;

	request = list_first_entry_or_null(queue, struct rfm_request, turn);
	if (!request)
		return NULL;
	slice = list_first_entry(&request->slices, struct rfm_slice, node);
	list_del(&slice->node);
	if (list_empty(&request->slices))
		list_del_init(&request->turn);
	else
		list_move_tail(&request->turn, queue);
	return slice;
}

/* There is one chain of descriptors, for there is one slice that is moved. */
static void rfm_dma_describe(struct rfm_dma *dma, const struct rfm_slice *slice)
{
	struct rfm_dma_descriptor *descriptor = dma->chain;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(slice->sg, sg, slice->mapped, i) {
		u32 next = dma->chain_base + (i + 1) * sizeof(*descriptor);

		descriptor->address_low =
			cpu_to_le32(lower_32_bits(sg_dma_address(sg)));
		descriptor->address_high =
			cpu_to_le32(upper_32_bits(sg_dma_address(sg)));
		descriptor->bytes = cpu_to_le32(sg_dma_len(sg));
		descriptor->next = cpu_to_le32(i + 1 < slice->mapped ?
					       next : RFM_DMA_LAST);
		descriptor++;
	}
}

static void rfm_dma_interrupts(struct rfm_hw *hw, bool on)
{
	if (hw->dma.quiet != on)
		return;
	writel(RFM_INTCSR_PCI_ENABLE | RFM_INTCSR_LOCAL_ENABLE |
	       (on ? RFM_INTCSR_DMA0_ENABLE : 0), hw->runtime + RFM_INTCSR);
	hw->dma.quiet = !on;
}

/* The engine was started. */
static void rfm_dma_watch(struct rfm_dma *dma, struct rfm_slice *slice)
{
	dma->active = slice;
	dma->ticks_left = RFM_DMA_LIMIT(slice->bytes);
	queue_delayed_work(rfm_wq, &dma->watchdog, RFM_DMA_WATCHDOG);
}

static void rfm_dma_next(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->hw.dma;
	struct rfm_slice *slice = rfm_dma_take(&dma->queue);

	dma->active = slice;
	if (!slice)
		return;
	rfm_dma_describe(dma, slice);
	if (dma->quiet)
		writeb(RFM_DMACSR0_CLEAR_INT, card->hw.runtime + RFM_DMACSR0);
	rfm_dma_interrupts(&card->hw, true);
	/* A card that was reset behind our back would take what follows for addresses. */
	writel(RFM_DMAMODE0_RESET | RFM_DMAMODE0_CHAIN,
	       card->hw.runtime + RFM_DMAMODE0);
	writel(slice->address, card->hw.runtime + RFM_DMALADR0);
	writel(slice->bytes, card->hw.runtime + RFM_DMASIZ0);
	writel(dma->chain_base |
	       (slice->request->store ? 0 : RFM_DMADPR0_TO_HOST),
	       card->hw.runtime + RFM_DMADPR0);
	writeb(RFM_DMACSR0_ENABLE | RFM_DMACSR0_START,
	       card->hw.runtime + RFM_DMACSR0);
	rfm_dma_watch(dma, slice);
}

static enum dma_data_direction rfm_slice_direction(const struct rfm_slice *slice)
{
	return slice->request->store ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/* Nobody here knows of the slice any more, nor, if it was the last, of the request. */
static void rfm_slice_end(struct rfm_card *card, struct rfm_slice *slice,
			  int error)
{
	struct rfm_request *request = slice->request;

	if (slice->mapped && !slice->leaked)
		dma_unmap_sg(&card->hw.pdev->dev, slice->sg, slice->count,
			     rfm_slice_direction(slice));
	if (!error)
		request->done += slice->bytes;
	else if (!request->error)
		request->error = error;
	if (request->async)
		queue_work(rfm_dma_wq, &slice->work);
	else
		complete(&slice->ended);
}

/* None of the queue is moved; others may have the lock between two. */
static void rfm_dma_end_all(struct rfm_card *card, struct list_head *queue,
			    int error)
{
	struct rfm_slice *slice;

	do {
		spin_lock_irq(&card->hw.irq.lock);
		slice = rfm_dma_take(queue);
		if (slice)
			rfm_slice_end(card, slice, error);
		spin_unlock_irq(&card->hw.irq.lock);
		cond_resched();
	} while (slice);
}

static void rfm_dma_end_failed(struct work_struct *work)
{
	struct rfm_card *card = container_of(work, struct rfm_card,
					     hw.dma.end_failed);

	rfm_dma_end_all(card, &card->hw.dma.failed, -ECANCELED);
}

/*
 * Serves the engine's interrupt, with INTCSR as it was read just now; false if
 * there was none. The card is not gone, but if @intcsr is 0.
 */
bool rfm_dma_serve(struct rfm_card *card, u32 intcsr)
{
	struct rfm_dma *dma = &card->hw.dma;
	struct rfm_slice *slice = dma->active;

	if (!(intcsr & RFM_INTCSR_DMA0_ACTIVE))
		return false;
	/* What was moved at once is known to have ended, and does not interrupt. */
	if (dma->quiet && !(intcsr & RFM_INTCSR_DMA0_ENABLE))
		return false;
	writeb(RFM_DMACSR0_CLEAR_INT, card->hw.runtime + RFM_DMACSR0);
	if (!slice)
		return true;

	dma->operations++;
	if (intcsr & RFM_INTCSR_DMA0_NO_ABORT) {
		dma->bytes += slice->bytes;
		rfm_slice_end(card, slice, 0);
	} else {
		dma->errors++;
		/*
		 * What comes behind it is not moved. It may be much, and takes
		 * long to unmap, so that is not done here.
		 */
		if (!list_empty(&slice->request->slices)) {
			list_move_tail(&slice->request->turn, &dma->failed);
			queue_work(rfm_dma_wq, &dma->end_failed);
		}
		rfm_slice_end(card, slice, -EIO);
	}
	rfm_dma_next(card);
	return true;
}

/* Interrupt handler of the vector of the engine, and of requests. */
irqreturn_t rfm_dma_irq(int irq, void *data)
{
	struct rfm_hw *hw = data;

	rfm_requests_serve(hw);
	spin_lock(&hw->irq.lock);
	if (!hw->gone &&
	    rfm_dma_serve(hw->card, rfm_hw_read(hw, hw->runtime + RFM_INTCSR)))
		hw->irq.count++;
	spin_unlock(&hw->irq.lock);
	return IRQ_HANDLED;
}

/* Has the engine, without an interrupt, come to an end, or to none at all? */
static void rfm_dma_look(struct rfm_card *card)
{
	struct rfm_hw *hw = &card->hw;
	size_t bytes = hw->dma.active->bytes;
	u16 command;
	u8 csr;

	/* Some hosts read zeros where there is no card. */
	if (!rfm_card_answers(card)) {
		rfm_card_lost(card);
		return;
	}
	csr = readb(hw->runtime + RFM_DMACSR0);
	if (rfm_dma_serve(card, rfm_hw_read(hw, hw->runtime + RFM_INTCSR)) ||
	    hw->gone)
		return;
	/* An engine at rest that tells of no end was not left so by us. */
	if (csr & RFM_DMACSR0_DONE) {
		dev_err(&card->dev, "the DMA engine was reset in a transfer\n");
	} else if (!--hw->dma.ticks_left) {
		pci_read_config_word(hw->pdev, PCI_COMMAND, &command);
		dev_err(&card->dev,
			"the DMA engine has not moved %zu bytes in %zu s%s\n",
			bytes, RFM_DMA_LIMIT(bytes),
			command & PCI_COMMAND_MASTER ?
			"" : ", as the card is no bus master");
	} else {
		return;
	}
	rfm_card_lost(card);
}

/* A card that was pulled out interrupts no more. */
static void rfm_dma_watchdog(struct work_struct *work)
{
	struct rfm_hw *hw = container_of(to_delayed_work(work), struct rfm_hw,
					 dma.watchdog);

	spin_lock_irq(&hw->irq.lock);
	if (!hw->gone && hw->dma.active)
		rfm_dma_look(hw->card);
	if (!hw->gone && hw->dma.active)
		queue_delayed_work(rfm_wq, &hw->dma.watchdog, RFM_DMA_WATCHDOG);
	spin_unlock_irq(&hw->irq.lock);
}

/*
 * Hands a slice to the engine. Returns 0; -ENODEV, -ENOMEM if it cannot be
 * mapped, or why a slice of its request before it was not moved. Then it still
 * is the caller's.
 */
int rfm_slice_submit(struct rfm_slice *slice)
{
	struct rfm_request *request = slice->request;
	struct rfm_card *card = request->file->card;
	struct device *dev = &card->hw.pdev->dev;
	int idx, ret = -ENOMEM;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	slice->mapped = dma_map_sg(dev, slice->sg, slice->count,
				   rfm_slice_direction(slice));
	if (!slice->mapped)
		goto out;

	spin_lock_irq(&card->hw.irq.lock);
	ret = card->hw.gone ? -ENODEV : request->error;
	if (!ret) {
		list_add_tail(&slice->node, &request->slices);
		if (list_empty(&request->turn))
			list_add_tail(&request->turn, &card->hw.dma.queue);
		if (!card->hw.dma.active)
			rfm_dma_next(card);
	}
	spin_unlock_irq(&card->hw.irq.lock);

	if (ret)
		dma_unmap_sg(dev, slice->sg, slice->count,
			     rfm_slice_direction(slice));
out:
	rfm_card_exit(card, idx);
	return ret;
}

/* --- what it moves at once ---------------------------------------------- */

/*
 * One access starts the engine, and when that is over a card with
 * RFM_EXT_FEATURE_SHORT_DMA has moved what lies in memory of ours. Programmed I/O
 * takes an access for each 8 bytes. The caller asks whether it has; for this the
 * engine does not interrupt. If the ring has no room, it does in the end, and the
 * bytes are a slice like others.
 */
struct rfm_dma_short {
	struct mutex lock;		/* all below is one caller's */
	u64 copy[RFM_DMA_SHORT / 8];	/* of user memory, which is touched outside of sections */
	struct rfm_request request;	/* of @slice, which ends by itself if it is not at once */
	struct rfm_slice slice;
};

/* From so many on it is quicker. */
#define RFM_DMA_AT_ONCE		128

/* Its bytes lie behind the descriptors. */
static size_t rfm_short_offset(const struct rfm_dma *dma)
{
	return ALIGN(dma->pieces * sizeof(*dma->chain), 64);
}

/* memcpy() would be "rep movsb", for which an emulated processor takes four times as long. */
static void rfm_short_fill(struct rfm_dma *dma, size_t bytes)
{
	u64 *to = (void *)dma->chain + rfm_short_offset(dma);
	size_t i;

	for (i = 0; i < DIV_ROUND_UP(bytes, 8); i++)
		WRITE_ONCE(to[i], dma->small->copy[i]);
}

static void rfm_short_start(struct rfm_card *card, loff_t pos, size_t bytes)
{
	void __iomem *runtime = card->hw.runtime;
	struct rfm_dma *dma = &card->hw.dma;

	rfm_dma_interrupts(&card->hw, false);
	/* All of them: a card that was reset behind our back has lost them. */
	writel(RFM_DMAMODE0_RESET, runtime + RFM_DMAMODE0);
	writel(dma->chain_base + rfm_short_offset(dma), runtime + RFM_DMAPADR0);
	writel(0, runtime + RFM_DMADAC0);
	writel(READ_ONCE(card->hw.window_offset) + pos, runtime + RFM_DMALADR0);
	writel(bytes, runtime + RFM_DMASIZ0);
	writel(RFM_DMADPR0_RESET, runtime + RFM_DMADPR0);
	writeb(RFM_DMACSR0_CLEAR_INT | RFM_DMACSR0_ENABLE | RFM_DMACSR0_START,
	       runtime + RFM_DMACSR0);
}

/* Returns 0; -EINPROGRESS if it must be waited for; -EBUSY, -ENODEV or -EIO. */
static int rfm_short_move(struct rfm_card *card, loff_t pos, size_t bytes)
{
	struct rfm_hw *hw = &card->hw;
	struct rfm_dma_short *small = hw->dma.small;
	u32 intcsr;

	lockdep_assert_held(&hw->irq.lock);

	if (hw->gone)
		return -ENODEV;
	if (hw->dma.active)
		return -EBUSY;
	reinit_completion(&small->slice.ended);
	small->slice.bytes = bytes;
	small->request.error = 0;
	rfm_dma_watch(&hw->dma, &small->slice);
	rfm_short_start(card, pos, bytes);
	intcsr = rfm_hw_read(hw, hw->runtime + RFM_INTCSR);
	if (hw->gone)
		return -EINPROGRESS;
	if (!(intcsr & RFM_INTCSR_DMA0_ACTIVE)) {
		rfm_dma_interrupts(hw, true);
		/* It may have ended before. */
		rfm_dma_serve(card, rfm_hw_read(hw, hw->runtime + RFM_INTCSR));
		return -EINPROGRESS;
	}
	hw->dma.active = NULL;
	if (intcsr & RFM_INTCSR_DMA0_NO_ABORT)
		return 0;
	hw->dma.errors++;
	return -EIO;
}

static int rfm_short_store(struct rfm_card *card, loff_t pos, size_t bytes)
{
	struct rfm_dma_short *small = card->hw.dma.small;
	int idx, ret;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	rfm_short_fill(&card->hw.dma, bytes);
	spin_lock_irq(&card->hw.irq.lock);
	ret = rfm_short_move(card, pos, bytes);
	spin_unlock_irq(&card->hw.irq.lock);
	rfm_card_exit(card, idx);
	if (ret != -EINPROGRESS)
		return ret;
	wait_for_completion(&small->slice.ended);
	return small->request.error;
}

/* Would rfm_dma_move_at_once() move so many, and be worth it? */
bool rfm_dma_moves_at_once(const struct rfm_card *card, size_t bytes)
{
	return card->hw.dma.small && bytes >= RFM_DMA_AT_ONCE &&
	       bytes <= RFM_DMA_SHORT;
}

/*
 * Stores so many bytes. Returns @bytes, or with nothing of @iter taken -EBUSY if the
 * engine has something else to do or user memory is not there, -ENODEV or -EIO.
 */
ssize_t rfm_dma_move_at_once(struct rfm_card *card, struct iov_iter *iter,
			     loff_t pos, size_t bytes)
{
	struct rfm_dma_short *small = card->hw.dma.small;
	size_t copied;
	int ret;

	if (!mutex_trylock(&small->lock))
		return -EBUSY;
	/* Who waits for user memory holds nothing. */
	pagefault_disable();
	copied = copy_from_iter(small->copy, bytes, iter);
	pagefault_enable();
	ret = copied < bytes ? -EBUSY : rfm_short_store(card, pos, bytes);
	mutex_unlock(&small->lock);
	if (!ret)
		return bytes;
	iov_iter_revert(iter, copied);
	return ret;
}

/* It goes with the card: who waits for it may be the last who has it open. */
static int rfm_short_alloc(struct rfm_card *card)
{
	struct rfm_dma_short *small;

	if (!(card->hw.features & RFM_EXT_FEATURE_SHORT_DMA))
		return 0;
	small = kzalloc(sizeof(*small), GFP_KERNEL);
	if (!small)
		return -ENOMEM;
	mutex_init(&small->lock);
	INIT_LIST_HEAD(&small->request.turn);
	INIT_LIST_HEAD(&small->request.slices);
	small->request.store = true;
	init_completion(&small->slice.ended);
	small->slice.request = &small->request;
	small->slice.own = true;
	card->hw.dma.small = small;
	return 0;
}

/* --- /sys/class/rfm/rfmN/dma -------------------------------------------- */

/* What was so at some time not long ago is good enough. */
#define RFM_DMA_SHOW(name)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct rfm_card *card = container_of(dev, struct rfm_card, dev); \
									\
	return sysfs_emit(buf, "%llu\n",				\
			  (u64)READ_ONCE(card->hw.dma.name));		\
}									\
static DEVICE_ATTR_RO(name)

RFM_DMA_SHOW(requests);
RFM_DMA_SHOW(pinned);

static struct attribute *rfm_dma_attrs[] = {
	&dev_attr_requests.attr,
	&dev_attr_pinned.attr,
	NULL
};

const struct attribute_group rfm_dma_group = {
	.name = "dma",
	.attrs = rfm_dma_attrs,
};

/* --- begin and end ------------------------------------------------------ */

/* With the card. */
void rfm_dma_exit(struct rfm_card *card)
{
	kfree(card->hw.dma.small);
}

/* Waits until it is at rest. All ones are the answer of no card. */
static bool rfm_dma_rests(struct rfm_card *card)
{
	u8 csr;

	return !readb_poll_timeout(card->hw.runtime + RFM_DMACSR0, csr,
				   csr & RFM_DMACSR0_DONE, 20,
				   RFM_DMA_STOP_TIME);
}

/*
 * Returns false if it does not stop. Only a card with the extension holds what
 * was started without the bus; while it has it, it writes no events.
 */
static bool rfm_dma_halt(struct rfm_card *card)
{
	struct rfm_hw *hw = &card->hw;
	bool rests;

	pci_clear_master(hw->pdev);
	/* A card that is not there moves nothing. */
	if (rfm_dma_rests(card) || !rfm_card_answers(card))
		return true;
	if (!hw->ext)
		return false;

	writel(0, hw->ext + RFM_EXT_EVENT_CONTROL);
	writel(0, hw->runtime + RFM_DMASIZ0);
	pci_set_master(hw->pdev);
	rests = rfm_dma_rests(card);
	pci_clear_master(hw->pdev);
	return rests;
}

/* As managed memory is, but not if the engine may go on with it. */
static void rfm_chain_free(void *data)
{
	struct rfm_hw *hw = data;

	dma_free_coherent(&hw->pdev->dev,
			  rfm_short_offset(&hw->dma) + RFM_DMA_SHORT,
			  hw->dma.chain, hw->dma.chain_base);
}

/*
 * Ends all transfers of a card that is gone and whose sections have ended. On
 * return the card touches no memory any more, and what its requests had pinned
 * for it is theirs again; except where the engine does not stop, which says so
 * in the kernel log, and keeps what it has. May be called twice.
 */
void rfm_dma_stop(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->hw.dma;

	cancel_delayed_work_sync(&dma->watchdog);
	flush_work(&dma->end_failed);
	if (!rfm_dma_halt(card) && dma->active) {
		dev_err(&card->dev,
			"the DMA engine does not stop: its descriptors and %u pages stay out of use\n",
			dma->active->count);
		devm_remove_action(&card->hw.pdev->dev, rfm_chain_free,
				   &card->hw);
		rfm_slice_leak(dma->active);
	}
	spin_lock_irq(&card->hw.irq.lock);
	if (dma->active)
		rfm_slice_end(card, dma->active, -ENODEV);
	dma->active = NULL;
	spin_unlock_irq(&card->hw.irq.lock);
	rfm_dma_end_all(card, &dma->queue, -ENODEV);
	wake_up_all(&dma->wait);
}

/* The engine's part of a card that is being made. */
void rfm_dma_init(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->hw.dma;

	init_waitqueue_head(&dma->wait);
	INIT_LIST_HEAD(&dma->queue);
	INIT_LIST_HEAD(&dma->failed);
	INIT_WORK(&dma->end_failed, rfm_dma_end_failed);
	INIT_DELAYED_WORK(&dma->watchdog, rfm_dma_watchdog);
}

/*
 * The engine behind a PLX bridge reads descriptors of another format, and from
 * the card's own memory, in which any node writes: it is never started.
 */
static void rfm_dma_check_bridge(struct rfm_card *card)
{
	struct rfm_dma *dma = &card->hw.dma;
	u8 revision = readb(card->hw.runtime + RFM_PCIHREV);

	if (revision == RFM_PCIHREV_PIORC)
		return;
	dma->none = true;
	dev_info(&card->hw.pdev->dev,
		 "bridge revision %#x: no PIORC, the processor moves all bytes\n",
		 revision);
}

/*
 * Memory for the engine of a card that is not started yet, and not master of
 * the bus. What is wrong has been said.
 */
int rfm_dma_alloc(struct rfm_card *card)
{
	struct device *dev = &card->hw.pdev->dev;
	struct rfm_dma *dma = &card->hw.dma;
	dma_addr_t base;
	int ret;

	/* Descriptors lie below 4 GiB, what they tell of may lie anywhere. */
	ret = dma_set_mask(dev, DMA_BIT_MASK(64)) ?:
	      dma_set_coherent_mask(dev, DMA_BIT_MASK(32));
	if (ret)
		return dev_err_probe(dev, ret, "cannot address memory\n");
	dma_set_max_seg_size(dev, RFM_DMA_MAX);

	dma->slice_max = clamp_t(size_t, round_down(dma_slice, 8), PAGE_SIZE,
				 RFM_DMA_MAX);
	/* A buffer that begins within a page has a piece more. */
	dma->pieces = DIV_ROUND_UP(dma->slice_max, PAGE_SIZE) + 1;
	dma->chain = dma_alloc_coherent(dev, rfm_short_offset(dma) + RFM_DMA_SHORT,
					&base, GFP_KERNEL);
	dma->chain_base = base;
	ret = dma->chain ? devm_add_action_or_reset(dev, rfm_chain_free,
						    &card->hw) : -ENOMEM;
	ret = ret ?: rfm_short_alloc(card);
	if (ret)
		return dev_err_probe(dev, ret, "no memory for DMA\n");

	/* Somebody before us may have left it running, to where we do not know. */
	if (!rfm_dma_halt(card))
		return dev_err_probe(dev, -EBUSY,
				     "the DMA engine does not stop\n");
	rfm_dma_check_bridge(card);
	return 0;
}
