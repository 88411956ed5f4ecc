// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_VERIFY: what stands in the memory of every node?
 *
 * The card asks, and keeps the answers; a fence behind the question comes home
 * behind all of them, so nobody waits for a node that will not answer.
 */

#include "core/card.h"

static_assert(RFM_VERIFY_MAX == RFM_EXT_QUERY_LENGTH_MAX);

/*
 * The card takes no question before the fence behind the last one has ended, and
 * none for which its queue has no room. Return: 0, -ENOBUFS or -ENODEV.
 */
static int rfm_verify_ask(struct rfm_card *card, const struct rfm_verify *args)
{
	u32 before, after;
	int idx, ret;

	if (!rfm_regs_enter(card, &idx))
		return -ENODEV;
	before = readl(card->hw.ext + RFM_EXT_QUERY_BEGIN);
	writel(args->offset, card->hw.ext + RFM_EXT_QUERY_OFFSET);
	writel(args->length, card->hw.ext + RFM_EXT_QUERY_LENGTH);
	writel(0, card->hw.ext + RFM_EXT_QUERY_BEGIN);
	after = readl(card->hw.ext + RFM_EXT_QUERY_BEGIN);
	ret = rfm_regs_leave(card, idx);
	return ret ?: after == before ? -ENOBUFS : 0;
}

static void rfm_answer_read(struct rfm_card *card, unsigned int node,
			    struct rfm_node_answer *answer)
{
	const void __iomem *regs = card->hw.ext + RFM_EXT_ANSWER(node);
	u32 state = readl(regs + RFM_EXT_ANSWER_STATE);
	__le64 first = cpu_to_le64(readq(regs + RFM_EXT_ANSWER_FIRST));

	answer->flags = RFM_ANSWER_GIVEN |
			(state & RFM_ANSWER_PAUSED ? RFM_ANSWER_BEHIND : 0);
	answer->length = state & RFM_ANSWER_BYTES_M;
	answer->crc = readl(regs + RFM_EXT_ANSWER_CRC);
	memcpy(answer->first, &first, sizeof(answer->first));
}

/* Those of 32 nodes at a time, so that the card's removal need not wait for all. */
static int rfm_answers_pass(struct rfm_card *card, struct rfm_verify *args,
			    unsigned int word)
{
	unsigned int bit;
	unsigned long answered;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	answered = readl(card->hw.ext + RFM_EXT_QUERY_ANSWERED(word));
	for_each_set_bit(bit, &answered, 32)
		rfm_answer_read(card, word * 32 + bit,
				&args->answer[word * 32 + bit]);
	return rfm_card_leave(card, idx);
}

static int rfm_verify_answers(struct rfm_card *card, struct rfm_verify *args)
{
	unsigned int word;
	int ret = 0;

	for (word = 0; word < ARRAY_SIZE(args->answer) / 32 && !ret; word++)
		ret = rfm_answers_pass(card, args, word);
	return ret;
}

static int rfm_verify_locked(struct rfm_file *file, struct rfm_verify *args)
{
	struct rfm_fence_wait fence = { .timeout_ms = args->timeout_ms };
	int ret = rfm_verify_ask(file->card, args);
	u64 lost = 0;

	if (ret == -ENOBUFS) {
		/*
		 * Who asked before did not wait for the end, or the queue is full;
		 * behind a fence that has come home neither is so.
		 */
		ret = rfm_fence(file, &fence) ?:
		      rfm_verify_ask(file->card, args);
		lost = fence.lost;
		fence = (struct rfm_fence_wait) {
			.timeout_ms = args->timeout_ms,
		};
	}
	ret = ret ?: rfm_fence(file, &fence);
	ret = ret ?: rfm_verify_answers(file->card, args);
	if (ret)
		return ret;
	args->lost = lost + fence.lost;
	args->flags = fence.flags | (args->lost ? RFM_FENCED_LOST : 0);
	args->epoch = fence.epoch;
	args->node = file->card->hw.node;
	return 0;
}

/*
 * RFM_IOC_VERIFY. Return: 0; -EINVAL for a range or timeout out of range,
 * -ETIMEDOUT, -EINTR, -ENOBUFS, -ENODEV.
 */
int rfm_verify(struct rfm_file *file, void *arg)
{
	struct rfm_card *card = file->card;
	struct rfm_verify *args = arg;
	int ret;

	if (!args->length || args->length > RFM_VERIFY_MAX ||
	    args->offset >= card->hw.memory_size ||
	    args->length > card->hw.memory_size - args->offset ||
	    args->timeout_ms > RFM_FENCE_MS_MAX)
		return -EINVAL;
	if (mutex_lock_interruptible(&card->verify_lock))
		return -EINTR;
	rfm_burst_flush(card);	/* the card's own answer is of what it has sent */
	ret = rfm_verify_locked(file, args);
	mutex_unlock(&card->verify_lock);
	return ret;
}
