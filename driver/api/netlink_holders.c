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

/* Where a dump is. */
struct rfm_holder_dump {
	u32 card;			/* id */
	u32 last;			/* id of the last card */
	u32 holder;			/* the first that has not been told of as a whole */
	u64 cursor;			/* where in that one's ranges */
	bool begun;			/* the request is a good one */
};

static int rfm_put_desc_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, RFM_A_DESCRIPTOR_PAD);
}

static int rfm_put_queue(struct sk_buff *skb,
			 const struct rfm_description *description)
{
	if (!description->depth)
		return 0;
	return nla_put_u32(skb, RFM_A_DESCRIPTOR_DEPTH, description->depth) ?:
	       nla_put_u32(skb, RFM_A_DESCRIPTOR_QUEUED, description->queued) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_EVENTS,
				description->events) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_DROPPED,
				description->dropped);
}

static int rfm_put_compare(struct sk_buff *skb, const struct rfm_watch *watch)
{
	if (!(watch->flags & RFM_WATCH_COMPARE))
		return 0;
	return nla_put_u32(skb, RFM_A_DESCRIPTOR_COMPARE, watch->compare) ?:
	       nla_put_u32(skb, RFM_A_DESCRIPTOR_COMPARE_WIDTH,
			   watch->compare_width) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_COMPARE_OFFSET,
				watch->compare_offset) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_COMPARE_MASK,
				watch->compare_mask) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_COMPARE_VALUE,
				watch->compare_value);
}

static int rfm_put_watch(struct sk_buff *skb,
			 const struct rfm_description *description)
{
	const struct rfm_watch *watch = description->watch;

	if (!watch)
		return 0;
	return rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_LATE, description->late) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_DEADLINE_NS,
				watch->deadline_ns) ?:
	       rfm_put_desc_u64(skb, RFM_A_DESCRIPTOR_SILENCE_NS,
				watch->silence_ns) ?:
	       rfm_put_compare(skb, watch);
}

static int rfm_put_who(struct sk_buff *skb, const struct rfm_holder *holder)
{
	if (!holder->id)
		return 0;
	return nla_put_u32(skb, RFM_A_DESCRIPTOR_PID, holder->pid) ?:
	       nla_put_string(skb, RFM_A_DESCRIPTOR_COMM, holder->comm);
}

static int rfm_put_description(struct sk_buff *skb, struct rfm_holder *holder)
{
	struct rfm_description description = {};

	if (holder->ops->describe)
		holder->ops->describe(holder, &description);
	return nla_put_u32(skb, RFM_A_DESCRIPTOR_ID, holder->id) ?:
	       nla_put_u32(skb, RFM_A_DESCRIPTOR_KIND, holder->ops->kind) ?:
	       nla_put_u32(skb, RFM_A_DESCRIPTOR_FLAGS, description.flags) ?:
	       rfm_put_who(skb, holder) ?:
	       (description.types ?
		nla_put_u32(skb, RFM_A_DESCRIPTOR_TYPES, description.types) :
		0) ?:
	       rfm_put_queue(skb, &description) ?:
	       rfm_put_watch(skb, &description);
}

static_assert(RFM_PLANES_RX == RFM_HOLD(RFM_PLANE_RX));
static_assert(RFM_PLANES_TX == RFM_HOLD(RFM_PLANE_TX));
static_assert(RFM_PLANES_WATCH == RFM_HOLD(RFM_PLANE_WATCH));
static_assert(RFM_PLANES_OWNED == RFM_HOLD(RFM_PLANE_OWNED));

static int rfm_put_range(struct sk_buff *skb, const struct rfm_range *range,
			 u32 planes)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_DESCRIPTOR_RANGE);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, RFM_A_RANGE_OFFSET, range->offset,
			      RFM_A_RANGE_PAD) ||
	    nla_put_u64_64bit(skb, RFM_A_RANGE_LENGTH, range->length,
			      RFM_A_RANGE_PAD) ||
	    nla_put_u32(skb, RFM_A_RANGE_PLANES, planes)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * As many as fit. Returns -EMSGSIZE if not one did although there are some;
 * @cursor is then where it was. @more: there are others behind them.
 */
static int rfm_put_ranges(struct sk_buff *skb, struct rfm_holder *holder,
			  u64 *cursor, bool *more)
{
	u64 next = *cursor;
	unsigned int count;
	struct rfm_range range;
	u32 planes;

	*more = false;
	if (!holder->ops->range)
		return 0;
	for (count = 0; holder->ops->range(holder, &next, &range, &planes);
	     count++) {
		*more = count == RFM_RANGES_A_MESSAGE ||
			rfm_put_range(skb, &range, planes);
		if (*more)
			return count ? 0 : -EMSGSIZE;
		*cursor = next;
	}
	return 0;
}

static int rfm_put_holder(struct sk_buff *skb, struct rfm_card *card,
			  struct rfm_holder *holder, u64 *cursor, bool *more)
{
	struct nlattr *nest;
	int ret;

	ret = rfm_put_handle(skb, card);
	if (ret)
		return ret;
	nest = nla_nest_start(skb, RFM_A_CARD_DESCRIPTOR);
	if (!nest)
		return -EMSGSIZE;
	ret = rfm_put_description(skb, holder) ?:
	      rfm_put_ranges(skb, holder, cursor, more);
	if (!ret)
		nla_nest_end(skb, nest);
	return ret;
}

static int rfm_dump_holder(struct sk_buff *skb, struct netlink_callback *cb,
			   struct rfm_card *card, struct rfm_holder *holder,
			   u64 *cursor)
{
	bool more = false;
	void *hdr;

	do {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				  cb->nlh->nlmsg_seq, &rfm_nl_family,
				  NLM_F_MULTI, RFM_CMD_DESCRIPTOR_GET);
		if (!hdr)
			return -EMSGSIZE;
		genl_dump_check_consistent(cb, hdr);
		if (rfm_put_holder(skb, card, holder, cursor, &more)) {
			genlmsg_cancel(skb, hdr);
			return -EMSGSIZE;
		}
		genlmsg_end(skb, hdr);
	} while (more);
	return 0;
}

static int rfm_dump_holders(struct sk_buff *skb, struct netlink_callback *cb,
			    struct rfm_card *card, struct rfm_holder_dump *dump)
{
	struct rfm_holder *holder;
	int ret = 0;

	if (mutex_lock_interruptible(&card->lock))
		return -EINTR;
	cb->seq = rfm_netlink_holders_state();
	list_for_each_entry(holder, &card->holds.holders, node) {
		if (holder->id < dump->holder)
			continue;
		if (holder->id > dump->holder)
			dump->cursor = 0;
		dump->holder = holder->id;
		ret = rfm_dump_holder(skb, cb, card, holder, &dump->cursor);
		if (ret)
			break;
		dump->holder++;
		dump->cursor = 0;
	}
	mutex_unlock(&card->lock);
	return ret;
}

int rfm_nl_descriptor_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb)
{
	struct rfm_holder_dump *dump = (void *)cb->ctx;
	struct rfm_nl_ctx ctx;
	struct rfm_card *card;
	int ret = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));

	if (!dump->begun) {
		rfm_dump_ctx(&ctx, cb, RFM_A_CARD_FD);
		ret = rfm_dump_begin(&ctx, RFM_FUNCTION_DESCRIPTORS,
				     &dump->card, &dump->last);
		dump->begun = true;
	}
	for (; dump->card <= dump->last && !ret; dump->card++) {
		card = rfm_cards_get(dump->card);
		if (card) {
			ret = rfm_dump_holders(skb, cb, card, dump);
			put_device(&card->dev);
		} else if (dump->holder || dump->cursor) {
			/* It has gone in the middle: not all of it was told. */
			cb->seq = rfm_netlink_holders_state();
		}
		if (ret)
			break;
		dump->holder = 0;
		dump->cursor = 0;
	}
	if (ret == -EMSGSIZE && skb->len)
		return skb->len;
	return ret ? rfm_refuse_generic(cb->extack, ret) : skb->len;
}
