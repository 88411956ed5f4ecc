// SPDX-License-Identifier: GPL-2.0-only
/* What this node says by itself: network interrupts, and the ring test. */

#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "core/card.h"

/* The field's usual patience is 51 polls, 10 ms apart. */
#define RFM_RING_TEST_MS_DEFAULT	500
#define RFM_RING_TEST_MS_MAX		10000

/* A ring in good health answers within microseconds: look often at first. */
#define RFM_RING_TEST_POLL_US_FIRST	10
#define RFM_RING_TEST_POLL_US_LAST	2000

static const u8 rfm_nic[] = {
	[RFM_EVENT_RESET]	= RFM_NIC_RESET,
	[RFM_EVENT_INT1]	= RFM_NIC_INT1,
	[RFM_EVENT_INT2]	= RFM_NIC_INT2,
	[RFM_EVENT_INT3]	= RFM_NIC_INT3,
	[RFM_EVENT_INT4]	= RFM_NIC_INT4,
};

/*
 * Only the write of NIC sends, with what NTD and NTN hold then. All three go
 * to the device that the caller's stores went to, and none is combined or
 * reordered on the way, so the interrupt is behind those stores.
 */
static void rfm_nic_write(struct rfm_card *card, u8 nic, u8 node, u32 data)
{
	lockdep_assert_held(&card->hw.lock);

	writel(data, card->hw.control + RFM_NTD);
	writeb(node, card->hw.control + RFM_NTN);
	writeb(nic, card->hw.control + RFM_NIC);
}

/*
 * RFM_IOC_SEND. Return: 0 when it is queued; -EINVAL for an unknown type, a bad
 * node or our own; -ENODEV.
 */
int rfm_send(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	const struct rfm_send *args = arg;
	bool all = args->node == RFM_NODE_ALL;
	int idx;
	u8 nic;

	if (args->type >= ARRAY_SIZE(rfm_nic))
		return -EINVAL;
	if (!all && (args->node > U8_MAX || args->node == card->hw.node))
		return -EINVAL;

	nic = rfm_nic[args->type];
	if (all)
		nic |= RFM_NIC_GLOBAL;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	rfm_nic_write(card, nic, all ? 0 : args->node, args->data);
	return rfm_regs_leave(card, idx);
}

/*
 * RFM_IOC_SEND_SET. Return: 0 when it is queued; -EINVAL for an unknown type, no
 * node or our own; -ENODEV.
 */
int rfm_send_set(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	const struct rfm_send_set *args = arg;
	unsigned int i;
	int idx;

	if (!memchr_inv(args->nodes, 0, sizeof(args->nodes)) ||
	    args->type >= ARRAY_SIZE(rfm_nic) ||
	    args->nodes[card->hw.node / 64] >> card->hw.node % 64 & 1)
		return -EINVAL;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	for (i = 0; i < 2 * ARRAY_SIZE(args->nodes); i++)
		writel(args->nodes[i / 2] >> i % 2 * 32,
		       card->hw.ext + RFM_EXT_MULTICAST_SET(i));
	writel(args->data, card->hw.ext + RFM_EXT_MULTICAST_DATA);
	writel(rfm_nic[args->type], card->hw.ext + RFM_EXT_MULTICAST_SEND);
	return rfm_regs_leave(card, idx);
}

/* Clears OWN DATA and sends a packet that sets it again on return. */
static int rfm_probe_send(struct rfm_card *card, ktime_t *sent)
{
	u32 lcsr1;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	spin_lock(&card->hw.lock);
	lcsr1 = readl(card->hw.control + RFM_LCSR1);
	writel(lcsr1 & ~RFM_LCSR1_OWN_DATA, card->hw.control + RFM_LCSR1);
	*sent = ktime_get();
	rfm_nic_write(card, RFM_NIC_PROBE, card->hw.node, 0);
	spin_unlock(&card->hw.lock);
	rfm_card_exit(card, idx);
	return 0;
}

/*
 * Has it come back, and when was that seen? Either verdict may be the silence of
 * a card that is not there. Return: 0, -EAGAIN if not yet, -ENODEV.
 */
static int rfm_probe_look(struct rfm_card *card, ktime_t *seen)
{
	int idx, ret;
	bool home;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	home = readl(card->hw.control + RFM_LCSR1) & RFM_LCSR1_OWN_DATA;
	*seen = ktime_get();
	ret = rfm_card_leave(card, idx);
	return ret ?: home ? 0 : -EAGAIN;
}

static int rfm_probe_wait(struct rfm_card *card, ktime_t sent,
			  unsigned int timeout_ms, u64 *round_trip_ns)
{
	ktime_t deadline = ktime_add_ms(sent, timeout_ms);
	unsigned int us = RFM_RING_TEST_POLL_US_FIRST;
	ktime_t seen;
	bool last;
	int ret;

	for (;;) {
		/* The time first: a late look must not make a timeout. */
		last = ktime_after(ktime_get(), deadline);
		ret = rfm_probe_look(card, &seen);
		if (!ret)
			*round_trip_ns = ktime_to_ns(ktime_sub(seen, sent));
		if (ret != -EAGAIN)
			return ret;
		if (last)
			return -ETIMEDOUT;
		if (signal_pending(current))
			return -EINTR;

		usleep_range(us, 2 * us);
		us = min_t(unsigned int, 2 * us, RFM_RING_TEST_POLL_US_LAST);
	}
}

/*
 * OWN DATA is for the caller alone until probe_lock is unlocked. If a ring test
 * is running: waits for its end if @wait, else -EBUSY.
 */
int rfm_ring_test_lock(struct rfm_card *card, bool wait)
{
	if (wait)
		return mutex_lock_interruptible(&card->probe_lock);
	return mutex_trylock(&card->probe_lock) ? 0 : -EBUSY;
}

/*
 * RFM_IOC_RING_TEST. Any packet of ours that comes home meanwhile counts as well:
 * it, too, has been round the ring. Return: 0; -EINVAL for a timeout out of
 * range, -ETIMEDOUT, -EINTR, -ENODEV.
 */
int rfm_ring_test(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	struct rfm_ring_test *args = arg;
	unsigned int timeout_ms = args->timeout_ms ?: RFM_RING_TEST_MS_DEFAULT;
	ktime_t sent;
	int ret;

	if (timeout_ms > RFM_RING_TEST_MS_MAX)
		return -EINVAL;

	ret = rfm_ring_test_lock(card, true);
	if (ret)
		return ret;
	ret = rfm_probe_send(card, &sent);
	if (!ret)
		ret = rfm_probe_wait(card, sent, timeout_ms,
				     &args->round_trip_ns);
	mutex_unlock(&card->probe_lock);
	return ret;
}
