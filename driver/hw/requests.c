// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request table: operations at other nodes, and what others may do here.
 *
 * A command is one request of the table. It takes a slot, the card reads that when it
 * is begun, and writes to it when it has ended; we find it by the interrupt, by looking
 * for a while, or by the watchdog. Whoever has begun it is told in the context
 * that found it.
 *
 * Each command ends: by the card, which gives up on another node after some seconds, but
 * lets a message be waited for as long as the port is there;
 * with -EIO when the card says that it cannot reach our memory, for then it has forgotten
 * all; or with -ENODEV when it has gone. Its pages are unmapped before its owner hears of
 * it, and so never later than rfm_requests_stop() returns.
 *
 * The slots are shared out so that what waits for other nodes leaves some to the buffers
 * of ports and to what ends at once.
 */

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/scatterlist.h>

#include "hw/hw.h"

/* How often to look after commands whose interrupt does not come, and the card. */
#define RFM_REQUESTS_WATCHDOG	HZ

/* Slots of commands that wait for other nodes; of the rest ports may have two each. */
#define RFM_REQUESTS_ASKED	(RFM_EXT_REQUESTS - 2 * RFM_EXT_PORTS - 16)

static_assert(sizeof(struct rfm_ext_request) == 64);

/* --- pages ---------------------------------------------------------------- */

static unsigned int rfm_list_entries(const struct rfm_pages *pages)
{
	return DIV_ROUND_UP(pages->offset % RFM_EXT_PAGE + pages->bytes,
			    RFM_EXT_PAGE);
}

/* The card's pages may be smaller than ours. */
static void rfm_pages_list(struct rfm_pages *pages)
{
	size_t skip = round_down(pages->offset, RFM_EXT_PAGE);
	unsigned int entries = rfm_list_entries(pages), i = 0;
	struct sg_dma_page_iter iter;
	dma_addr_t at;
	size_t in_page;

	for_each_sgtable_dma_page(&pages->table, &iter, 0) {
		at = sg_page_iter_dma_address(&iter);
		for (in_page = skip; in_page < PAGE_SIZE && i < entries;
		     in_page += RFM_EXT_PAGE)
			pages->list[i++] = cpu_to_le64(at + in_page);
		skip = 0;
	}
	le64_add_cpu(&pages->list[0], pages->offset % RFM_EXT_PAGE);
}

/**
 * rfm_pages_map - let the card at pages
 * @hw: the card, which is entered
 * @pages: what they are is set, and not mapped
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int rfm_pages_map(struct rfm_hw *hw, struct rfm_pages *pages)
{
	struct device *dev = &hw->pdev->dev;
	struct scatterlist *sg;
	unsigned int i;
	int ret = -ENOMEM;

	pages->list_size = rfm_list_entries(pages) * sizeof(*pages->list);
	pages->list = alloc_pages_exact(pages->list_size,
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pages->list)
		return ret;
	if (sg_alloc_table(&pages->table, pages->count, GFP_KERNEL_ACCOUNT))
		goto err_list;
	for_each_sgtable_sg(&pages->table, sg, i)
		sg_set_page(sg, pages->pages[i], PAGE_SIZE, 0);
	if (dma_map_sgtable(dev, &pages->table, pages->direction, 0))
		goto err_table;
	rfm_pages_list(pages);
	pages->list_at = dma_map_single(dev, pages->list, pages->list_size,
					DMA_TO_DEVICE);
	if (dma_mapping_error(dev, pages->list_at))
		goto err_unmap;
	pages->mapped = true;
	return 0;

err_unmap:
	dma_unmap_sgtable(dev, &pages->table, pages->direction, 0);
err_table:
	sg_free_table(&pages->table);
err_list:
	free_pages_exact(pages->list, pages->list_size);
	pages->list = NULL;
	return ret;
}

/* The card does not touch them any more. Any context; harmless if they are not mapped. */
void rfm_pages_unmap(struct rfm_hw *hw, struct rfm_pages *pages)
{
	struct device *dev = &hw->pdev->dev;

	if (!pages->mapped)
		return;
	dma_unmap_single(dev, pages->list_at, pages->list_size, DMA_TO_DEVICE);
	dma_unmap_sgtable(dev, &pages->table, pages->direction, 0);
	pages->mapped = false;
}

/* What rfm_pages_map() made, of pages that are no longer mapped, or never were. */
void rfm_pages_forget(struct rfm_pages *pages)
{
	if (!pages->list)
		return;
	sg_free_table(&pages->table);
	free_pages_exact(pages->list, pages->list_size);
	pages->list = NULL;
}

/* --- slots: all under requests.lock ---------------------------------------- */

/* Its owner may free it as soon as it is told. */
static void rfm_command_end(struct rfm_hw *hw, struct rfm_command *command,
			    int error)
{
	struct rfm_requests *requests = &hw->requests;
	const struct rfm_ext_request *slot = &requests->table[command->slot];

	command->error = error;
	if (!error) {
		/* The card writes the status last. */
		dma_rmb();
		command->result = le32_to_cpu(READ_ONCE(slot->status)) &
				  ~RFM_REQUEST_DONE;
		command->request.node = READ_ONCE(slot->node);
		command->request.old = READ_ONCE(slot->old);
	}
	if (command->pages)
		rfm_pages_unmap(hw, command->pages);
	requests->commands[command->slot] = NULL;
	__clear_bit(command->slot, requests->begun);
	if (command->asks)
		requests->asked--;
	wake_up(&requests->room);
	if (command->ended)
		command->ended(command);
	else
		complete(&command->end);
}

static bool rfm_slot_done(const struct rfm_requests *requests, unsigned int slot)
{
	return le32_to_cpu(READ_ONCE(requests->table[slot].status)) &
	       RFM_REQUEST_DONE;
}

static void rfm_requests_end_all(struct rfm_hw *hw, int error)
{
	struct rfm_requests *requests = &hw->requests;
	unsigned int slot;

	lockdep_assert_held(&requests->lock);

	for_each_set_bit(slot, requests->begun, RFM_EXT_REQUESTS)
		rfm_command_end(hw, requests->commands[slot],
				rfm_slot_done(requests, slot) ? 0 : error);
}

/* Returns whether there may be more. */
static bool rfm_requests_end_done(struct rfm_hw *hw, unsigned int budget)
{
	struct rfm_requests *requests = &hw->requests;
	unsigned int slot;

	lockdep_assert_held(&requests->lock);

	for_each_set_bit(slot, requests->begun, RFM_EXT_REQUESTS) {
		if (!rfm_slot_done(requests, slot))
			continue;
		rfm_command_end(hw, requests->commands[slot], 0);
		if (!--budget)
			return true;
	}
	return false;
}

/*
 * Ends what the card has ended; it takes long to unmap what they had, so the work item
 * sees to what is much. Any context, the card not unbound.
 */
void rfm_requests_serve(struct rfm_hw *hw)
{
	struct rfm_requests *requests = &hw->requests;
	unsigned long flags;

	if (!requests->table)
		return;
	spin_lock_irqsave(&requests->lock, flags);
	if (rfm_requests_end_done(hw, RFM_AT_ONCE) && requests->running)
		mod_delayed_work(rfm_wq, &requests->watchdog, 0);
	spin_unlock_irqrestore(&requests->lock, flags);
}

/* All of it; others may have the lock in between. */
static void rfm_requests_serve_all(struct rfm_hw *hw)
{
	bool more;

	do {
		spin_lock_irq(&hw->requests.lock);
		more = rfm_requests_end_done(hw, RFM_AT_ONCE);
		spin_unlock_irq(&hw->requests.lock);
		cond_resched();
	} while (more);
}

/*
 * Has the card ended it? Then its owner has been told. The card is entered. To read the
 * register is to look; who does so serves what is found, as there may be no interrupt.
 */
bool rfm_requests_look(struct rfm_hw *hw, const struct rfm_command *command)
{
	if (!rfm_slot_done(&hw->requests, command->slot)) {
		readl(hw->ext + RFM_EXT_REQUEST_STATUS);
		if (!rfm_slot_done(&hw->requests, command->slot))
			return false;
	}
	rfm_requests_serve(hw);
	return true;
}

/* Is there a slot for it, as far as one knows without the lock? */
bool rfm_requests_room(const struct rfm_hw *hw, bool asks)
{
	const struct rfm_requests *requests = &hw->requests;

	if (asks && READ_ONCE(requests->asked) >= RFM_REQUESTS_ASKED)
		return false;
	return !bitmap_full(requests->begun, RFM_EXT_REQUESTS);
}

/* Does the card, which is entered, say that it is at work on what it was given? */
bool rfm_requests_work(struct rfm_hw *hw)
{
	u32 status;

	if (!rfm_card_answers(hw->card))
		return false;
	status = readl(hw->ext + RFM_EXT_REQUEST_STATUS);
	rfm_requests_serve(hw);
	return status & RFM_EXT_REQUEST_RUNNING;
}

/**
 * rfm_requests_begin - hand a command to the card
 * @hw: the card, which is entered
 * @command: its request is filled in, its pages, if any, are mapped
 *
 * Context: any.
 * Return: 0, and it will be told of the end; -EAGAIN: there is no slot now; -EIO: the
 * table is off, or the card has forgotten what the command is for.
 */
int rfm_requests_begin(struct rfm_hw *hw, struct rfm_command *command)
{
	struct rfm_requests *requests = &hw->requests;
	struct rfm_ext_request *slot;
	unsigned long flags;
	int ret = -EAGAIN;

	command->request.status = 0;
	if (command->pages)
		command->request.pages = cpu_to_le64(command->pages->list_at);

	spin_lock_irqsave(&requests->lock, flags);
	if (!requests->running ||
	    (command->generation && command->generation != requests->generation)) {
		ret = -EIO;
		goto out;
	}
	command->slot = find_first_zero_bit(requests->begun, RFM_EXT_REQUESTS);
	if (command->slot == RFM_EXT_REQUESTS ||
	    !rfm_requests_room(hw, command->asks))
		goto out;
	ret = 0;
	command->generation = requests->generation;
	__set_bit(command->slot, requests->begun);
	requests->asked += command->asks;
	requests->commands[command->slot] = command;
	slot = &requests->table[command->slot];
	*slot = command->request;
	/* All of it is there before the card is told to look; writel() sees to that. */
	writel(command->slot, hw->ext + RFM_EXT_REQUEST_BEGIN);
	queue_delayed_work(rfm_wq, &requests->watchdog, RFM_REQUESTS_WATCHDOG);
out:
	spin_unlock_irqrestore(&requests->lock, flags);
	return ret;
}

/* The card is to end it now. It is entered; harmless if it has ended. */
void rfm_requests_cancel(struct rfm_hw *hw, const struct rfm_command *command)
{
	struct rfm_requests *requests = &hw->requests;
	unsigned long flags;

	spin_lock_irqsave(&requests->lock, flags);
	if (requests->commands[command->slot] == command)
		writel(command->slot, hw->ext + RFM_EXT_REQUEST_CANCEL);
	spin_unlock_irqrestore(&requests->lock, flags);
}

/* On return nobody is any more in the call that tells of an end that was seen. */
void rfm_requests_barrier(struct rfm_hw *hw)
{
	spin_lock_irq(&hw->requests.lock);
	spin_unlock_irq(&hw->requests.lock);
}

/* --- begin and end ---------------------------------------------------------- */

static void rfm_requests_enable(struct rfm_hw *hw)
{
	lo_hi_writeq(hw->requests.base, hw->ext + RFM_EXT_REQUEST_BASE);
	writel(RFM_EXT_REQUEST_ENABLE, hw->ext + RFM_EXT_REQUEST_CONTROL);
	hw->requests.running = true;
}

/* On return the card does not touch what commands have named. Under requests.lock. */
static void rfm_requests_disable(struct rfm_hw *hw)
{
	hw->requests.running = false;
	writel(0, hw->ext + RFM_EXT_REQUEST_CONTROL);
	readl(hw->ext + RFM_EXT_REQUEST_CONTROL);
}

/* The card cannot reach our memory: all begins anew. It is entered. */
static void rfm_requests_fault(struct rfm_hw *hw)
{
	struct rfm_requests *requests = &hw->requests;

	dev_err_ratelimited(hw->dev,
			    "the card cannot read its requests: all are given up\n");
	spin_lock_irq(&requests->lock);
	rfm_requests_disable(hw);
	if (!++requests->generation)
		requests->generation++;
	rfm_requests_end_all(hw, -EIO);
	spin_unlock_irq(&requests->lock);
	/* Not before the last of those that are over knows it. */
	rfm_regions_fault(hw->card);
	spin_lock_irq(&requests->lock);
	rfm_requests_enable(hw);
	spin_unlock_irq(&requests->lock);
}

/* While commands are under way: an interrupt may have got lost, or the card. */
static void rfm_requests_watchdog(struct work_struct *work)
{
	struct rfm_hw *hw = container_of(to_delayed_work(work), struct rfm_hw,
					 requests.watchdog);
	u32 status;
	int idx;

	if (!rfm_card_enter(hw->card, &idx))
		return;
	status = readl(hw->ext + RFM_EXT_REQUEST_STATUS);
	rfm_requests_serve_all(hw);
	if (!rfm_card_check(hw->card)) {
		if (status & RFM_EXT_REQUEST_FAULT)
			rfm_requests_fault(hw);
		if (!bitmap_empty(hw->requests.begun, RFM_EXT_REQUESTS))
			queue_delayed_work(rfm_wq, &hw->requests.watchdog,
					   RFM_REQUESTS_WATCHDOG);
	}
	rfm_card_exit(hw->card, idx);
}

/* Of a card that is being made. */
void rfm_requests_init(struct rfm_hw *hw)
{
	spin_lock_init(&hw->requests.lock);
	hw->requests.generation = 1;
	init_waitqueue_head(&hw->requests.room);
	INIT_DELAYED_WORK(&hw->requests.watchdog, rfm_requests_watchdog);
}

/*
 * Without the memory the card is as one without requests. An earlier driver's table is
 * off on return.
 */
void rfm_requests_alloc(struct rfm_hw *hw)
{
	struct device *dev = &hw->pdev->dev;
	struct rfm_requests *requests = &hw->requests;

	if (!(hw->features & RFM_EXT_FEATURE_REMOTE))
		return;
	writel(0, hw->ext + RFM_EXT_REQUEST_CONTROL);
	readl(hw->ext + RFM_EXT_REQUEST_CONTROL);
	requests->table = dmam_alloc_coherent(dev, RFM_EXT_REQUESTS *
					      sizeof(*requests->table),
					      &requests->base, GFP_KERNEL);
	if (requests->table)
		return;
	hw->features &= ~RFM_EXT_FEATURE_REMOTE;
	dev_warn(dev, "no memory for requests: no operations at other nodes\n");
}

/* From now on commands can be begun. Of a card that is not gone, and has no user yet. */
void rfm_requests_start(struct rfm_hw *hw)
{
	if (!hw->requests.table)
		return;
	spin_lock_irq(&hw->requests.lock);
	rfm_requests_enable(hw);
	spin_unlock_irq(&hw->requests.lock);
}

/*
 * The card is gone, and its sections have ended: all commands end, and on return it
 * touches none of our memory, nor will it should it come back to life, as it is no longer
 * master of the bus. May be called twice.
 */
void rfm_requests_stop(struct rfm_hw *hw)
{
	struct rfm_requests *requests = &hw->requests;

	if (!requests->table)
		return;
	spin_lock_irq(&requests->lock);
	rfm_requests_disable(hw);
	spin_unlock_irq(&requests->lock);
	/* Nobody queues it any more. */
	cancel_delayed_work_sync(&requests->watchdog);
	pci_clear_master(hw->pdev);
	spin_lock_irq(&requests->lock);
	rfm_requests_end_all(hw, -ENODEV);
	spin_unlock_irq(&requests->lock);
	wake_up_all(&requests->room);
	rfm_regions_unmap(hw->card);
}
