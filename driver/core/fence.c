// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_FENCE: wait until everything stored so far is at every node.
 *
 * The card does it: it hands out a ticket, and says when that has come home.
 * It says so by a record in the event ring, and by FENCE_DONE. The record
 * wakes at once; FENCE_DONE is looked at as well, less and less often, so that
 * a record that was dropped costs a little time and no fence.
 *
 * Those who wait are in a list in the order of their tickets, each with a place of
 * its own to sleep, so that an end wakes only those whose fence it is.
 *
 * What a fence found lost is told to everybody, not to the first who asks: each
 * file remembers how much was lost when it last looked.
 */

#include <linux/sched/signal.h>

#include "core/card.h"

#define RFM_FENCE_MS_DEFAULT	1000

#define RFM_FENCE_LOOK_US_FIRST	50
#define RFM_FENCE_LOOK_US_LAST	20000

/* Somebody waits. @node, @done and @result under dispatch.lock. */
struct rfm_fence {
	struct list_head node;		/* in dispatch.fences until it is done */
	wait_queue_head_t wait;
	u32 ticket;			/* from the card */
	bool done;			/* the card has said so; then @result counts */
	u32 result;			/* RFM_FENCE_* */
	u32 epoch;			/* when it began */
	u64 lost;			/* FENCE_LOST when this file last saw it */
};

static_assert(RFM_FENCE_LOST == RFM_FENCED_LOST);
static_assert(RFM_FENCE_PAUSED == RFM_FENCED_PAUSED);
static_assert(RFM_FENCE_EPOCH_CHANGED == RFM_FENCED_EPOCH);
static_assert(RFM_FENCE_DARK == RFM_FENCED_DARK);

#define RFM_FENCED_ALL	(RFM_FENCED_LOST | RFM_FENCED_PAUSED | \
			 RFM_FENCED_EPOCH | RFM_FENCED_DARK)

/*
 * A fence has come home, and those before it. The result is that of the last
 * one, and good for those before it: what is everywhere now was not there
 * earlier. Under dispatch.lock, the card entered; sleeps.
 */
void rfm_fence_event(struct rfm_card *card, u32 ticket)
{
	struct rfm_fence *fence, *next;
	u32 result;

	lockdep_assert_held(&card->dispatch.lock);

	if (list_empty(&card->dispatch.fences))
		return;
	result = readl(card->hw.ext + RFM_EXT_FENCE_RESULT);
	list_for_each_entry_safe(fence, next, &card->dispatch.fences, node) {
		if ((s32)(ticket - fence->ticket) < 0)
			break;
		list_del_init(&fence->node);
		fence->result = result;
		WRITE_ONCE(fence->done, true);
		wake_up(&fence->wait);
		cond_resched();
	}
}

/* The card has gone: all look themselves. Under dispatch.lock; sleeps. */
void rfm_fences_wake(struct rfm_card *card)
{
	struct rfm_fence *fence;

	lockdep_assert_held(&card->dispatch.lock);

	list_for_each_entry(fence, &card->dispatch.fences, node) {
		wake_up(&fence->wait);
		cond_resched();
	}
}

/* Ask the card instead of waiting for its record. Return: 0 or -ENODEV. */
static int rfm_fence_look(struct rfm_card *card)
{
	int idx, ret;
	u32 done;

	if (!rfm_dispatch_enter(card, &idx))
		return -ENODEV;
	done = readl(card->hw.ext + RFM_EXT_FENCE_DONE);
	ret = rfm_card_check(card);
	if (!ret)
		rfm_fence_event(card, done);
	rfm_dispatch_exit(card, idx);
	return ret;
}

static int rfm_fence_begin(struct rfm_file *file, struct rfm_fence *fence)
{
	struct rfm_card *card = file->card;
	int idx;

	init_waitqueue_head(&fence->wait);
	if (!rfm_dispatch_enter(card, &idx))
		return -ENODEV;
	spin_lock(&card->hw.lock);
	fence->lost = file->fence_lost;
	fence->epoch = readl(card->hw.ext + RFM_EXT_EPOCH);
	writel(0, card->hw.ext + RFM_EXT_FENCE_BEGIN);
	fence->ticket = readl(card->hw.ext + RFM_EXT_FENCE_BEGIN);
	spin_unlock(&card->hw.lock);
	list_add_tail(&fence->node, &card->dispatch.fences);
	rfm_dispatch_exit(card, idx);
	return 0;
}

static int rfm_fence_wait(struct rfm_card *card, struct rfm_fence *fence,
			  ktime_t deadline)
{
	u64 us = RFM_FENCE_LOOK_US_FIRST;
	bool last;
	int ret;

	for (;;) {
		/* The time first: a late look must not make a timeout. */
		last = ktime_after(ktime_get(), deadline);
		ret = rfm_fence_look(card);
		if (ret)
			return ret;
		if (READ_ONCE(fence->done))
			return 0;
		if (last)
			return -ETIMEDOUT;

		ret = wait_event_interruptible_hrtimeout(fence->wait,
							 READ_ONCE(fence->done) ||
							 READ_ONCE(card->hw.gone),
							 ns_to_ktime(us * NSEC_PER_USEC));
		if (ret == -ERESTARTSYS)
			return -EINTR;
		us = min_t(u64, 2 * us, RFM_FENCE_LOOK_US_LAST);
	}
}

/* Turns the card's verdict into ours. */
static int rfm_fence_end(struct rfm_file *file, const struct rfm_fence *fence,
			 struct rfm_fence_wait *args)
{
	struct rfm_card *card = file->card;
	int idx, ret;
	u64 lost;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	args->epoch = readl(card->hw.ext + RFM_EXT_EPOCH);
	lost = readq(card->hw.ext + RFM_EXT_FENCE_LOST);
	ret = rfm_regs_leave(card, idx);
	if (ret)
		return ret;
	spin_lock(&card->hw.lock);
	file->fence_lost = max(file->fence_lost, lost);
	spin_unlock(&card->hw.lock);

	args->flags = fence->result & RFM_FENCED_ALL;
	args->lost = lost - fence->lost;
	if (args->lost)
		args->flags |= RFM_FENCED_LOST;
	if (args->epoch != fence->epoch)
		args->flags |= RFM_FENCED_EPOCH;
	return 0;
}

/* What was lost before this file is none of its affairs. */
void rfm_fence_open(struct rfm_file *file)
{
	struct rfm_card *card = file->card;
	int idx;

	if (!(card->hw.features & RFM_EXT_FEATURE_FENCE) ||
	    !rfm_card_enter(card, &idx))
		return;
	file->fence_lost = readq(card->hw.ext + RFM_EXT_FENCE_LOST);
	rfm_card_exit(card, idx);
}

/*
 * RFM_IOC_FENCE. Return: 0; -EINVAL for a timeout out of range, -ETIMEDOUT, -EINTR,
 * -ENODEV.
 */
int rfm_fence(struct rfm_file *file, void *arg)
{
	struct rfm_fence_wait *args = arg;
	unsigned int timeout_ms = args->timeout_ms ?: RFM_FENCE_MS_DEFAULT;
	struct rfm_card *card = file->card;
	ktime_t begin = ktime_get();
	struct rfm_fence fence = {};
	int ret;

	if (timeout_ms > RFM_FENCE_MS_MAX)
		return -EINVAL;

	ret = rfm_fence_begin(file, &fence);
	if (ret)
		return ret;
	ret = rfm_fence_wait(card, &fence, ktime_add_ms(begin, timeout_ms));
	rfm_dispatch_lock(card);
	list_del(&fence.node);
	rfm_dispatch_unlock(card);
	if (ret)
		return ret;
	args->wait_ns = ktime_to_ns(ktime_sub(ktime_get(), begin));
	return rfm_fence_end(file, &fence, args);
}
