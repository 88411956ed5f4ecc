// SPDX-License-Identifier: GPL-2.0-only
/* What the card is and knows: last writers, counters, who is on the ring. */

#include <linux/bitfield.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/card.h"

/* Nodes read in one go, so that the card's removal need not wait for all. */
#define RFM_NODES_PASS	32

/* Lets the card remember who writes. Nobody can open it yet. */
void rfm_status_start(struct rfm_card *card)
{
	if (card->hw.features & RFM_EXT_FEATURE_WRITER)
		writel(RFM_EXT_CONTROL_WRITERS, card->hw.ext + RFM_EXT_CONTROL);
}

/* As it is at reset. The card has no user left. */
void rfm_status_stop(struct rfm_card *card)
{
	if (card->hw.features & RFM_EXT_FEATURE_WRITER)
		writel(0, card->hw.ext + RFM_EXT_CONTROL);
}

/**
 * rfm_info - what the card is and how it is
 * @card: the card
 * @info: filled in; zeroed before
 *
 * Context: process; sleeps.
 * Return: 0 or -ENODEV.
 */
int rfm_info(struct rfm_card *card, struct rfm_info *info)
{
	int idx, ret;

	info->memory_size = card->hw.memory_size;
	info->window_size = card->hw.window_size;
	info->window_offset = READ_ONCE(card->hw.window_offset);
	info->node = card->hw.node;
	info->board_id = RFM_BID_5565;
	info->board_revision = card->hw.board_revision;
	info->build = card->hw.build;
	info->features = card->hw.features;
	info->base_policy = READ_ONCE(card->holds.base_policy);
	strscpy(info->pci_name, card->hw.pci_name, sizeof(info->pci_name));

	if (!rfm_dispatch_enter(card, &idx))
		return -ENODEV;
	if (card->hw.features & RFM_EXT_FEATURE_CLOCK)
		info->clock_domain = readl(card->hw.ext +
					   RFM_EXT_CLOCK_DOMAIN);
	info->runtime_at = offset_in_page(pci_resource_start(card->hw.pdev,
							     RFM_BAR_RUNTIME));
	info->control_at = offset_in_page(pci_resource_start(card->hw.pdev,
							     RFM_BAR_CONTROL));
	if (card->hw.features & RFM_EXT_FEATURE_BURST) {
		info->burst_offset = readl(card->hw.ext + RFM_EXT_BURST_OFFSET);
		info->burst_length = readl(card->hw.ext + RFM_EXT_BURST_LENGTH);
	}
	rfm_irq_status(&card->hw, info);
	rfm_events_check(&card->hw);
	info->events_dropped = rfm_events_dropped(&card->hw);
	info->watches = card->dispatch.watches;
	ret = rfm_card_check(card);
	rfm_dispatch_exit(card, idx);
	return ret;
}

/* RFM_IOC_WRITER. Return: 0; -EINVAL for an offset outside the memory, -ENODEV. */
int rfm_writer(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	struct rfm_writer *args = arg;
	int idx, ret;
	u32 node;

	if (args->offset >= card->hw.memory_size)
		return -EINVAL;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	writel(args->offset, card->hw.ext + RFM_EXT_WRITER_OFFSET);
	node = readl(card->hw.ext + RFM_EXT_WRITER_NODE);
	args->frame = readq(card->hw.ext + RFM_EXT_WRITER_SEQ);
	args->time_ns = readq(card->hw.ext + RFM_EXT_WRITER_TIME);
	ret = rfm_regs_leave(card, idx);
	if (ret)
		return ret;

	if (!(node & RFM_WRITER_KNOWN)) {
		*args = (struct rfm_writer) {
			.offset = args->offset,
			.node = RFM_NODE_ALL,
		};
		return 0;
	}
	args->node = node & RFM_WRITER_NODE_M;
	if (node & RFM_WRITER_OTHER_CLOCK)
		args->flags = RFM_EVENT_AGE_UNKNOWN;
	return 0;
}

static u64 rfm_counter_read(struct rfm_card *card, enum rfm_counter counter)
{
	return readq(card->hw.ext + RFM_EXT_COUNTER(counter));
}

/* Takes a snapshot, which stays until the next: under card->lock. */
static void rfm_snapshot(struct rfm_card *card)
{
	lockdep_assert_held(&card->lock);

	writel(0, card->hw.ext + RFM_EXT_SNAPSHOT);
}

/* All counters, of one instant, but for what was reset. Under card->lock. */
int rfm_counters_read(struct rfm_card *card, struct rfm_counters *args)
{
	unsigned int i;
	int idx;

	BUILD_BUG_ON(RFM_COUNTERS > ARRAY_SIZE(args->value));

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	rfm_snapshot(card);
	args->clock_ns = readq(card->hw.ext + RFM_EXT_CLOCK);
	for (i = 0; i < RFM_COUNTERS; i++) {
		args->value[i] = rfm_counter_read(card, i);
		args->changed_ns[i] =
			readq(card->hw.ext + RFM_EXT_COUNTER_TIME(i));
	}
	args->count = RFM_COUNTERS;
	return rfm_card_leave(card, idx);
}

/* RFM_IOC_COUNTERS. Return: 0, -EINTR or -ENODEV. */
int rfm_counters(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	struct rfm_counters *args = arg;
	int ret;

	if (mutex_lock_interruptible(&card->lock))
		return -EINTR;
	ret = rfm_counters_read(card, args);
	args->reset_ns = card->config.reset_ns;
	memcpy(args->reset, card->config.reset_counters,
	       sizeof(card->config.reset_counters));
	mutex_unlock(&card->lock);
	return ret;
}

/* They tell how something is, so there is nothing to count from. */
static const u64 rfm_levels = BIT_ULL(RFM_COUNTER_WINDOW) |
			      BIT_ULL(RFM_COUNTER_WINDOW_PEAK) |
			      BIT_ULL(RFM_COUNTER_TX) |
			      BIT_ULL(RFM_COUNTER_TX_PEAK) |
			      BIT_ULL(RFM_COUNTER_INSERT) |
			      BIT_ULL(RFM_COUNTER_INSERT_PEAK) |
			      BIT_ULL(RFM_COUNTER_STALL_US) |
			      BIT_ULL(RFM_COUNTER_EPOCH) |
			      BIT_ULL(RFM_COUNTER_TURN_NS);

/* Counts from here. Under card->lock; sleeps. */
int rfm_counters_reset(struct rfm_card *card)
{
	struct rfm_counters *counters = kzalloc(sizeof(*counters), GFP_KERNEL);
	unsigned int i;
	int ret;

	if (!counters)
		return -ENOMEM;
	ret = rfm_counters_read(card, counters);
	for (i = 0; i < RFM_COUNTERS && !ret; i++)
		card->config.reset_counters[i] = rfm_levels & BIT_ULL(i) ?
						 0 : counters->value[i];
	if (!ret)
		card->config.reset_ns = counters->clock_ns;
	kfree(counters);
	return ret;
}

/* @domain: of the card's clock */
static void rfm_member_read(struct rfm_card *card, unsigned int node,
			    u32 domain, struct rfm_member *member)
{
	const void __iomem *regs = card->hw.ext + RFM_EXT_NODE(node);
	u32 state = readl(regs + RFM_EXT_NODE_STATE);

	member->received = readq(regs + RFM_EXT_NODE_RECEIVED);
	member->missed = readq(regs + RFM_EXT_NODE_MISSED);
	member->heard_ns = readq(card->hw.ext + RFM_EXT_NODE_HEARD(node));
	member->broke_ns = readq(card->hw.ext + RFM_EXT_NODE_BROKE(node));
	if (!(state & RFM_NODE_STATE_PRESENT))
		return;
	member->present = 1;
	member->hops = state & RFM_NODE_STATE_HOPS_M;
	member->hubs = FIELD_GET(RFM_NODE_STATE_HUBS_M, state);
	if (readl(regs + RFM_EXT_NODE_DOMAIN) == domain)
		member->transit_ns = readq(regs + RFM_EXT_NODE_TRANSIT);
	else
		member->flags = RFM_EVENT_AGE_UNKNOWN;
	if (state & RFM_NODE_STATE_PAUSED)
		member->flags |= RFM_MEMBER_PAUSED;
	if (state & RFM_NODE_STATE_AHEAD)
		member->flags |= RFM_MEMBER_AHEAD;
	if (state & RFM_NODE_STATE_INCOMPLETE)
		member->flags |= RFM_MEMBER_INCOMPLETE;
}

static void rfm_ring_begin(struct rfm_card *card, struct rfm_ring_map *args)
{
	rfm_snapshot(card);
	args->epoch = rfm_counter_read(card, RFM_COUNTER_EPOCH);
	args->turn_ns = rfm_counter_read(card, RFM_COUNTER_TURN_NS);
	args->clock_ns = readq(card->hw.ext + RFM_EXT_CLOCK);
}

static int rfm_ring_pass(struct rfm_card *card, struct rfm_ring_map *args,
			 struct rfm_member *members, unsigned int first)
{
	unsigned int i;
	u32 domain;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	if (!first)
		rfm_ring_begin(card, args);
	/* As of the snapshot: that of another moment may be another. */
	domain = readl(card->hw.ext + RFM_EXT_NODE(card->hw.node) +
		       RFM_EXT_NODE_DOMAIN);
	for (i = first; i < first + RFM_NODES_PASS; i++) {
		rfm_member_read(card, i, domain, &members[i]);
		args->present += members[i].present;
	}
	return rfm_card_leave(card, idx);
}

static int rfm_ring_read(struct rfm_card *card, struct rfm_ring_map *args,
			 struct rfm_member *members)
{
	unsigned int i;
	int ret = 0;

	BUILD_BUG_ON(RFM_NODES % RFM_NODES_PASS);

	if (mutex_lock_interruptible(&card->lock))
		return -EINTR;
	for (i = 0; i < RFM_NODES && !ret; i += RFM_NODES_PASS)
		ret = rfm_ring_pass(card, args, members, i);
	mutex_unlock(&card->lock);
	return ret;
}

/* Each as long as its reader knows it. */
static int rfm_ring_give(const struct rfm_ring_map *args, u32 size,
			 const struct rfm_member *members)
{
	u8 __user *to = u64_to_user_ptr(args->members);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < args->count && !ret; i++, to += size)
		ret = copy_struct_to_user(to, size, &members[i],
					  sizeof(*members), NULL);
	return ret;
}

/*
 * RFM_IOC_RING_MAP. Return: 0; -EINVAL for more members than a ring has or a size
 * that is none, -EFAULT, -EINTR, -ENOMEM, -ENODEV.
 */
int rfm_ring_map(struct rfm_file *file, void *arg)
{
	struct rfm_ring_map *args = arg;
	u32 size = args->member_size ?: RFM_MEMBER_SIZE_VER0;
	struct rfm_member *members;
	int ret;

	if (args->count > RFM_NODES ||
	    !rfm_record_size_good(size, RFM_MEMBER_SIZE_VER0))
		return -EINVAL;
	members = kvcalloc(RFM_NODES, sizeof(*members), GFP_KERNEL);
	if (!members)
		return -ENOMEM;
	ret = rfm_ring_read(file->card, args, members);
	if (!ret)
		ret = rfm_ring_give(args, size, members);
	kvfree(members);
	return ret;
}
