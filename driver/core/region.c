// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_REGION: memory of a process in the hands of other nodes.
 *
 * The pages are pinned, and the card knows them by a key, until the descriptor ends. The
 * card has done with them when REVOKE has ended, or the request table was switched off;
 * then they are unmapped, and after that given back, by whoever closes the descriptor.
 *
 * The key is a random number: it says where, and who does not know it gets nowhere.
 */

#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "core/remote.h"

static_assert((u32)RFM_MEMORY_READ == (u32)RFM_REGION_READ);
static_assert((u32)RFM_MEMORY_WRITE == (u32)RFM_REGION_WRITE);
static_assert((u32)RFM_MEMORY_CHANGE == (u32)RFM_REGION_CHANGE);
static_assert((u32)RFM_MEMORY_WATCH == (u32)RFM_REGION_WATCH);
static_assert(RFM_MEMORY_REGION_MAX == RFM_EXT_REGION_MAX);

/* One descriptor made by RFM_IOC_REGION. */
struct rfm_region {
	struct rfm_queue queue;		/* first */
	struct list_head node;		/* in dispatch.regions */
	u64 address;			/* in the process that makes it, */
	struct rfm_memory_region *args;	/* and what that is told; while it makes it */
	u32 flags;			/* RFM_MEMORY_* */
	u32 key;
	bool known;			/* the card has it */
	struct rfm_pages pages;		/* unmapped under dispatch.lock */
	struct mmpin locked;		/* what counts against the user's limit */
};

#define RFM_REGION_CHANGED	(RFM_MEMORY_WRITE | RFM_MEMORY_CHANGE)

/* --- pages of the process ---------------------------------------------------- */

static void rfm_region_unpin(struct rfm_region *region)
{
	struct rfm_pages *pages = &region->pages;

	rfm_pages_forget(pages);
	if (pages->count)
		unpin_user_pages_dirty_lock(pages->pages, pages->count,
					    region->flags & RFM_REGION_CHANGED);
	pages->count = 0;
	kvfree(pages->pages);
	pages->pages = NULL;
	mm_unaccount_pinned_pages(&region->locked);
}

static int rfm_region_pin(struct rfm_region *region)
{
	unsigned int flags = FOLL_LONGTERM |
			     (region->flags & RFM_REGION_CHANGED ? FOLL_WRITE : 0);
	struct rfm_pages *pages = &region->pages;
	unsigned long first = region->address & PAGE_MASK;
	unsigned int count = DIV_ROUND_UP(pages->offset + pages->bytes,
					  PAGE_SIZE);
	int ret;

	ret = mm_account_pinned_pages(&region->locked, (size_t)count * PAGE_SIZE);
	if (ret)
		return ret;
	pages->pages = kvmalloc_array(count, sizeof(*pages->pages),
				      GFP_KERNEL_ACCOUNT);
	if (!pages->pages)
		return -ENOMEM;
	while (pages->count < count) {
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = pin_user_pages_fast(first + pages->count * PAGE_SIZE,
					  count - pages->count, flags,
					  pages->pages + pages->count);
		if (ret <= 0)
			return ret ?: -EFAULT;
		pages->count += ret;
		cond_resched();
	}
	return 0;
}

/* --- what the card tells ------------------------------------------------------ */

/*
 * Another node has written to a region. Returns how many were told. Under
 * dispatch.lock.
 */
unsigned int rfm_region_written(struct rfm_card *card, struct rfm_record *record)
{
	struct rfm_region *region;

	list_for_each_entry(region, &card->dispatch.regions, node) {
		if (region->key != record->value ||
		    record->position <= region->queue.since)
			continue;
		rfm_queue_push(&region->queue, &record->event, 0);
		return 1;
	}
	return 0;
}

/* The card has forgotten all regions. Sleeps. */
void rfm_regions_fault(struct rfm_card *card)
{
	struct rfm_region *region;

	rfm_dispatch_lock(card);
	list_for_each_entry(region, &card->dispatch.regions, node) {
		region->known = false;
		WRITE_ONCE(region->queue.broken, true);
		wake_up_all(&region->queue.wait);
	}
	rfm_dispatch_unlock(card);
}

/* The card, which has gone, touches no memory any more. Sleeps. */
void rfm_regions_unmap(struct rfm_card *card)
{
	struct rfm_region *region;

	rfm_dispatch_lock(card);
	list_for_each_entry(region, &card->dispatch.regions, node)
		rfm_pages_unmap(&card->hw, &region->pages);
	rfm_dispatch_unlock(card);
}

/* --- life ---------------------------------------------------------------------- */

static struct rfm_region *rfm_region_of(struct rfm_queue *queue)
{
	return container_of(queue, struct rfm_region, queue);
}

/* From now on what the card tells of it is for it; it has no key that another has. */
static int rfm_region_enlist(struct rfm_card *card, struct rfm_region *region)
{
	struct rfm_region *other;
	int idx, ret = 0;

	if (!rfm_dispatch_enter(card, &idx))
		return -ENODEV;
	if (region->flags & RFM_MEMORY_WATCH && !card->hw.events.running)
		ret = -EIO;
	list_for_each_entry(other, &card->dispatch.regions, node)
		if (other->key == region->key)
			ret = ret ?: -EADDRINUSE;
	if (!ret) {
		rfm_queue_add(&region->queue);
		list_add_tail(&region->node, &card->dispatch.regions);
	}
	rfm_dispatch_exit(card, idx);
	return ret;
}

/* Does the host move the bytes to where the card reaches them, when it is told to? */
static bool rfm_region_bounces(struct rfm_card *card, const struct rfm_pages *pages)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(&pages->table, sg, i)
		if (dma_need_sync(&card->hw.pdev->dev, sg_dma_address(sg)))
			return true;
	return false;
}

static int rfm_region_map(struct rfm_card *card, struct rfm_region *region)
{
	int idx, ret;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	ret = rfm_pages_map(&card->hw, &region->pages);
	/* Nobody here hears of each access of others. */
	if (!ret && rfm_region_bounces(card, &region->pages))
		ret = -EOPNOTSUPP;
	rfm_card_exit(card, idx);
	return ret;
}

static int rfm_region_begin(struct rfm_queue *queue)
{
	struct rfm_region *region = rfm_region_of(queue);
	struct rfm_card *card = queue->card;
	struct rfm_command command = {
		.request = {
			.op = RFM_REQUEST_REGION,
			.flags = region->flags & (RFM_MEMORY_RIGHTS |
						  RFM_MEMORY_WATCH),
			.key = cpu_to_le32(region->key),
			.length = cpu_to_le32(region->pages.bytes),
		},
	};
	int ret;

	ret = rfm_region_enlist(card, region);
	if (ret)
		return ret;
	ret = rfm_region_pin(region) ?: rfm_region_map(card, region);
	if (ret)
		return ret;
	command.request.pages = cpu_to_le64(region->pages.list_at);
	ret = rfm_command_run(card, &command);
	/* Of one that was cancelled nobody knows. */
	region->known = !ret || ret == -EREMOTEIO;
	region->args->key = region->key;
	ret = ret ?: rfm_answer(region->args);
	region->args = NULL;
	return ret;
}

/* Undoes what was done of it. */
static void rfm_region_end(struct rfm_queue *queue)
{
	struct rfm_region *region = rfm_region_of(queue);
	struct rfm_card *card = queue->card;
	struct rfm_command command = {
		.request = {
			.op = RFM_REQUEST_REVOKE,
			.key = cpu_to_le32(region->key),
		},
	};

	/* Whatever else comes of it: the card has done with the pages. */
	while (region->known && rfm_command_run(card, &command) == -EREMOTEIO)
		;
	rfm_dispatch_lock(card);
	rfm_pages_unmap(&card->hw, &region->pages);
	list_del(&region->node);
	list_del_init(&queue->node);
	rfm_dispatch_unlock(card);
	rfm_region_unpin(region);
}

static const struct rfm_queue_ops rfm_region_ops = {
	.name = "[rfm-region]",
	.holder.kind = RFM_DESCRIPTOR_KIND_REGION,
	.begin = rfm_region_begin,
	.end = rfm_region_end,
};

/* Not 0, which is the reflective memory. */
static u32 rfm_region_key(void)
{
	u32 key;

	do {
		key = get_random_u32();
	} while (!key);
	return key;
}

static int rfm_region_make(struct rfm_card *card, struct rfm_memory_region *args)
{
	struct rfm_region *region;

	region = rfm_queue_alloc(card, &rfm_region_ops, sizeof(*region),
				 args->flags & RFM_MEMORY_WATCH ? args->depth : 1,
				 args->record_size, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	region->address = args->address;
	region->flags = args->flags;
	region->key = rfm_region_key();
	region->pages.offset = offset_in_page(args->address);
	region->pages.bytes = args->length;
	region->pages.direction = args->flags & RFM_REGION_CHANGED ?
				  DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	if (args->flags & RFM_MEMORY_WATCH)
		region->queue.types = RFM_EVENT_BIT(RFM_EVENT_WRITTEN);
	region->args = args;
	return rfm_queue_install(&region->queue,
				 (args->flags & RFM_MEMORY_NONBLOCK ?
				  RFM_LISTEN_NONBLOCK : 0) |
				 (args->flags & RFM_MEMORY_CLOEXEC ?
				  RFM_LISTEN_CLOEXEC : 0));
}

/* RFM_IOC_REGION. Return: the descriptor, or a negative errno. */
int rfm_region(struct rfm_file *file, void *arg)
{
	struct rfm_memory_region *args = arg;
	bool watch = args->flags & RFM_MEMORY_WATCH;
	int ret;

	if (args->flags & ~RFM_MEMORY_FLAGS ||
	    !(args->flags & RFM_MEMORY_RIGHTS) || !args->length ||
	    args->length > RFM_MEMORY_REGION_MAX ||
	    args->address + args->length < args->address ||
	    args->depth > RFM_LISTEN_DEPTH_MAX || (!watch && args->depth))
		return -EINVAL;
	if (args->address + args->length - 1 > ULONG_MAX)
		return -EFAULT;
	if (watch && !file->card->hw.events.ring)
		return -EOPNOTSUPP;
	/* Somebody may have that key already: then another. */
	do {
		ret = rfm_region_make(file->card, args);
	} while (ret == -EADDRINUSE);
	return ret;
}
