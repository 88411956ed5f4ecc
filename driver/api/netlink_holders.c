// SPDX-License-Identifier: GPL-2.0-only
/*
 * Netlink: descriptor-get, who has something of a card.
 *
 * A dump goes on where it was: at a card, a holder, and a place in the ranges of
 * that. If somebody has come, gone or changed meanwhile, it says that it was
 * interrupted.
 */

#include "api/netlink.h"

/* Ranges in one message: few enough for whoever reads it with a small buffer. */
#define RFM_RANGES_A_MESSAGE	64

/* One message about a holder. */
struct rfm_holder_message {
	struct rfm_holder *holder;
	u64 *cursor;			/* where in its ranges */
	bool more;			/* there are others behind those that fit */
};

/* All but the ranges. */
static int rfm_put_about(struct sk_buff *skb, const struct rfm_holder *holder)
{
	static const struct rfm_watcher none;
	const struct rfm_watcher *watcher = holder->watcher ?: &none;
	const struct rfm_watch *args = &watcher->args;
	const struct rfm_queue_state queue = rfm_queue_state(holder->queue);
	bool plain = !(args->flags & RFM_WATCH_COMPARE);
	bool no_watch = !holder->watcher, no_queue = !holder->queue;
	const struct rfm_number numbers[] = {
		RFM_U32(DESCRIPTOR_ID, holder->id),
		RFM_U32(DESCRIPTOR_KIND, holder->ops->kind),
		RFM_U32(DESCRIPTOR_FLAGS, holder->flags),
		RFM_U32(DESCRIPTOR_PID, holder->pid, !holder->id),
		RFM_U32(DESCRIPTOR_TYPES, queue.types, no_queue || !no_watch),
		RFM_U32(DESCRIPTOR_DEPTH, queue.depth, no_queue),
		RFM_U32(DESCRIPTOR_QUEUED, queue.queued, no_queue),
		RFM_U64(DESCRIPTOR_EVENTS, queue.events, no_queue),
		RFM_U64(DESCRIPTOR_DROPPED, queue.dropped, no_queue),
		RFM_U64(DESCRIPTOR_LATE, READ_ONCE(watcher->late), no_watch),
		RFM_U64(DESCRIPTOR_DEADLINE_NS, args->deadline_ns, no_watch),
		RFM_U64(DESCRIPTOR_SILENCE_NS, args->silence_ns, no_watch),
		RFM_U32(DESCRIPTOR_COMPARE, args->compare, plain),
		RFM_U32(DESCRIPTOR_COMPARE_WIDTH, args->compare_width, plain),
		RFM_U64(DESCRIPTOR_COMPARE_OFFSET, args->compare_offset, plain),
		RFM_U64(DESCRIPTOR_COMPARE_MASK, args->compare_mask, plain),
		RFM_U64(DESCRIPTOR_COMPARE_VALUE, args->compare_value, plain),
	};
	int ret = rfm_put_numbers(skb, RFM_A_DESCRIPTOR_PAD, numbers,
				  ARRAY_SIZE(numbers));

	if (!ret && holder->id)
		ret = nla_put_string(skb, RFM_A_DESCRIPTOR_COMM, holder->comm);
	return ret;
}

static_assert(RFM_PLANES_RX == RFM_HOLD(RFM_PLANE_RX));
static_assert(RFM_PLANES_TX == RFM_HOLD(RFM_PLANE_TX));
static_assert(RFM_PLANES_WATCH == RFM_HOLD(RFM_PLANE_WATCH));
static_assert(RFM_PLANES_OWNED == RFM_HOLD(RFM_PLANE_OWNED));
static_assert(RFM_PLANES_READ == RFM_HOLD(RFM_PLANE_READ));
static_assert(RFM_PLANES_WRITE == RFM_HOLD(RFM_PLANE_WRITE));
static_assert(RFM_PLANES_HOME == RFM_HOLD(RFM_PLANE_HOME));

static int rfm_put_range(struct sk_buff *skb, const struct rfm_range *range,
			 u32 planes)
{
	const struct rfm_number numbers[] = {
		RFM_U64(RANGE_OFFSET, range->offset),
		RFM_U64(RANGE_LENGTH, range->length),
		RFM_U32(RANGE_PLANES, planes),
	};

	return rfm_put_nest(skb, RFM_A_DESCRIPTOR_RANGE, RFM_A_RANGE_PAD,
			    numbers, ARRAY_SIZE(numbers));
}

/* As many as fit. Returns -EMSGSIZE if not one did although there are some. */
static int rfm_put_ranges(struct sk_buff *skb,
			  struct rfm_holder_message *message)
{
	struct rfm_holder *holder = message->holder;
	u64 next = *message->cursor;
	struct rfm_range range;
	unsigned int count;
	u32 planes;

	message->more = false;
	if (!holder->ops->range)
		return 0;
	for (count = 0; holder->ops->range(holder, &next, &range, &planes);
	     count++) {
		message->more = count == RFM_RANGES_A_MESSAGE ||
				rfm_put_range(skb, &range, planes);
		if (message->more)
			return count ? 0 : -EMSGSIZE;
		*message->cursor = next;
	}
	return 0;
}

static int rfm_put_holder(struct sk_buff *skb, struct rfm_card *card,
			  void *data)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_CARD_DESCRIPTOR);
	struct rfm_holder_message *message = data;
	int ret;

	if (!nest)
		return -EMSGSIZE;
	ret = rfm_put_about(skb, message->holder) ?:
	      rfm_put_ranges(skb, message);
	if (!ret)
		nla_nest_end(skb, nest);
	return ret;
}

static int rfm_dump_holders(struct sk_buff *skb, struct netlink_callback *cb,
			    struct rfm_card *card)
{
	struct rfm_dump *dump = (void *)cb->ctx;
	struct rfm_holder *holder;
	int ret;

	cb->seq = atomic_read(&rfm_holders_state);
	list_for_each_entry(holder, &card->holds.holders, node) {
		struct rfm_holder_message message = { holder, &dump->cursor };

		if (holder->id < dump->holder)
			continue;
		if (holder->id > dump->holder)
			dump->cursor = 0;
		dump->holder = holder->id;
		do {
			ret = rfm_dump_message(skb, cb, RFM_CMD_DESCRIPTOR_GET,
					       card, rfm_put_holder, &message);
			if (ret)
				return ret;
		} while (message.more);
		dump->holder++;
		dump->cursor = 0;
	}
	return 0;
}

int rfm_nl_descriptor_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	return rfm_dump_cards(skb, cb, RFM_FUNCTION_DESCRIPTORS,
			      rfm_dump_holders);
}
