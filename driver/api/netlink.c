// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "rfm": which card, by whom, and what a reply is
 * made of. uapi/netlink/rfm.yaml says what there is; from it come the policies
 * and the table of operations (api/netlink_gen.c). docs/man/rfm-netlink.7 tells
 * users of it.
 *
 * Cards are machine-wide, as /dev is, so the family exists in the initial
 * network namespace only.
 *
 * Operations run in parallel; what they need is locked card by card.
 */

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "api/netlink.h"

/* Counted up, so that a dump can tell that it is not of one piece. */
static atomic_t rfm_cards_state = ATOMIC_INIT(1);
static atomic_t rfm_holders_state = ATOMIC_INIT(1);

/* Cards have come or gone. Any context. */
void rfm_netlink_cards_changed(void)
{
	atomic_inc(&rfm_cards_state);
	atomic_inc(&rfm_holders_state);
}

/* What descriptor-get tells of has changed. */
void rfm_netlink_holders_changed(void)
{
	atomic_inc(&rfm_holders_state);
}

/* Another number after each change. */
unsigned int rfm_netlink_holders_state(void)
{
	return atomic_read(&rfm_holders_state);
}

/* --- refusals ------------------------------------------------------------- */

/* Says why not, unless somebody has said something already. Returns @error. */
int rfm_refuse_generic(struct netlink_ext_ack *extack, int error)
{
	if (!extack || extack->_msg)
		return error;
	switch (error) {
	case -ENODEV:
		return rfm_refuse(extack, NULL, error, "the card is gone");
	case -ENOMEM:
		return rfm_refuse(extack, NULL, error, "no memory");
	case -EINTR:
		return rfm_refuse(extack, NULL, error,
				  "a signal came while waiting for others");
	case -EMSGSIZE:
		return rfm_refuse(extack, NULL, error,
				  "the answer does not fit into a message");
	}
	return error;
}

/* --- which card, and by whom ---------------------------------------------- */

static struct nlattr *rfm_nl_ctx_attr(const struct rfm_nl_ctx *ctx,
				      unsigned int attr)
{
	return attr <= ctx->max ? ctx->attrs[attr] : NULL;
}

/* Does all by which a request selects a card fit this one? */
static bool rfm_nl_ctx_wants(const struct rfm_nl_ctx *ctx,
			     const struct rfm_card *card)
{
	const struct nlattr *id = rfm_nl_ctx_attr(ctx, RFM_A_CARD_ID);
	const struct nlattr *name = rfm_nl_ctx_attr(ctx, RFM_A_CARD_NAME);
	const struct nlattr *pci = rfm_nl_ctx_attr(ctx, RFM_A_CARD_PCI);

	return (!id || nla_get_u32(id) == card->id) &&
	       (!name || !nla_strcmp(name, dev_name(&card->dev))) &&
	       (!pci || !nla_strcmp(pci, card->hw.pci_name));
}

static struct nlattr *rfm_nl_ctx_selector(const struct rfm_nl_ctx *ctx)
{
	return rfm_nl_ctx_attr(ctx, RFM_A_CARD_ID) ?:
	       rfm_nl_ctx_attr(ctx, RFM_A_CARD_NAME) ?:
	       rfm_nl_ctx_attr(ctx, RFM_A_CARD_PCI);
}

static int rfm_nl_ctx_find(struct rfm_nl_ctx *ctx)
{
	unsigned int id;

	for (id = 0; id < RFM_MINORS; id++) {
		struct rfm_card *card = rfm_cards_get(id);

		if (card && rfm_nl_ctx_wants(ctx, card)) {
			ctx->card = card;
			return 0;
		}
		if (card)
			put_device(&card->dev);
	}
	return rfm_refuse(ctx->extack, rfm_nl_ctx_selector(ctx), -ENODEV,
			  "there is no such card");
}

/* The sender's descriptor, which tells of the sender's rights and of a card. */
static int rfm_nl_ctx_take_file(struct rfm_nl_ctx *ctx, const struct file *filp,
				const struct nlattr *attr)
{
	const struct rfm_file *file = rfm_file_of(filp);

	if (!file)
		return rfm_refuse(ctx->extack, attr, -EINVAL,
				  "this is not a descriptor of a card");
	ctx->mode = file->mode;
	if (!ctx->card)
		ctx->card = rfm_cards_get(file->card->id);
	if (!ctx->card)
		return rfm_refuse(ctx->extack, attr, -ENODEV,
				  "the card of this descriptor is gone");
	if (ctx->card != file->card)
		return rfm_refuse(ctx->extack, attr, -EINVAL,
				  "this descriptor is of another card");
	return 0;
}

static int rfm_nl_ctx_take_fd(struct rfm_nl_ctx *ctx)
{
	const struct nlattr *attr = rfm_nl_ctx_attr(ctx, RFM_A_CARD_FD);
	struct file *filp;
	int ret;

	if (!attr)
		return 0;
	filp = fget(nla_get_s32(attr));
	if (!filp)
		return rfm_refuse(ctx->extack, attr, -EBADF,
				  "this is not an open descriptor");
	ret = rfm_nl_ctx_take_file(ctx, filp, attr);
	fput(filp);
	return ret;
}

/*
 * Which card is a request about, which has to name one if it @must, and may its
 * sender do that? In the context of the sender.
 * Return: 0; -EINVAL, -ENODEV, -EBADF, -EPERM, and then there is nothing to put.
 */
static int rfm_nl_ctx_get(struct rfm_nl_ctx *ctx, bool must,
			  enum rfm_function function)
{
	int ret = 0;

	if (rfm_nl_ctx_selector(ctx))
		ret = rfm_nl_ctx_find(ctx);
	if (!ret)
		ret = rfm_nl_ctx_take_fd(ctx);
	if (!ret && must && !ctx->card) {
		NL_SET_ERR_ATTR_MISS(ctx->extack, NULL, RFM_A_CARD_ID);
		ret = rfm_refuse(ctx->extack, NULL, -EINVAL,
				 "the request names no card");
	}
	if (!ret)
		ret = rfm_may_netlink(function, ctx);
	if (ret)
		rfm_nl_ctx_put(ctx);
	return ret;
}

/*
 * Which card is the doit of an operation about, and may its sender do it? @max
 * is the highest attribute that the operation takes. After an error there is
 * nothing to put.
 */
int rfm_nl_ctx_init(struct rfm_nl_ctx *ctx, struct sk_buff *skb,
		    struct genl_info *info, unsigned int max,
		 enum rfm_function function)
{
	*ctx = (struct rfm_nl_ctx) {
		.skb = skb,
		.attrs = info->attrs,
		.max = max,
		.extack = info->extack,
	};
	return rfm_nl_ctx_get(ctx, true, function);
}

/* The sender of a dump, but for its card; @max as above. */
void rfm_dump_ctx(struct rfm_nl_ctx *ctx, struct netlink_callback *cb,
		  unsigned int max)
{
	*ctx = (struct rfm_nl_ctx) {
		.skb = cb->skb,
		.attrs = rfm_dump_attrs(cb),
		.max = max,
		.extack = cb->extack,
	};
}

/*
 * The ids of the first and the last card that a dump is about: one, if the
 * request names a card, as it does by a descriptor, which gives a right to its
 * own card only.
 */
int rfm_dump_begin(struct rfm_nl_ctx *ctx, enum rfm_function function,
		   u32 *first, u32 *last)
{
	int ret = rfm_nl_ctx_get(ctx, false, function);

	*first = ctx->card ? ctx->card->id : 0;
	*last = ctx->card ? ctx->card->id : RFM_MINORS - 1;
	rfm_nl_ctx_put(ctx);
	return ret;
}

void rfm_nl_ctx_put(struct rfm_nl_ctx *ctx)
{
	if (ctx->card)
		put_device(&ctx->card->dev);
	ctx->card = NULL;
}

/* --- replies and dumps ---------------------------------------------------- */

int rfm_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, RFM_A_CARD_PAD);
}

int rfm_put_handle(struct sk_buff *skb, const struct rfm_card *card)
{
	return nla_put_u32(skb, RFM_A_CARD_ID, card->id) ?:
	       nla_put_string(skb, RFM_A_CARD_NAME, dev_name(&card->dev)) ?:
	       nla_put_string(skb, RFM_A_CARD_PCI, card->hw.pci_name);
}

static int rfm_put_locked(struct sk_buff *skb, struct rfm_card *card,
			  rfm_put_fn put, void *data)
{
	int ret;

	ret = rfm_put_handle(skb, card);
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&card->lock))
		return -EINTR;
	ret = put(skb, card, data);
	mutex_unlock(&card->lock);
	return ret;
}

/* Answers a request with what @put makes; the sender is told of an error. */
int rfm_reply(const struct rfm_nl_ctx *ctx, struct genl_info *info,
	      rfm_put_fn put, void *data)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	int ret = -EMSGSIZE;
	void *hdr;

	if (!skb)
		return rfm_refuse_generic(ctx->extack, -ENOMEM);
	hdr = genlmsg_put_reply(skb, info, &rfm_nl_family, 0,
				info->genlhdr->cmd);
	if (hdr)
		ret = rfm_put_locked(skb, ctx->card, put, data);
	if (ret) {
		nlmsg_free(skb);
		return rfm_refuse_generic(ctx->extack, ret);
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

static int rfm_dump_card(struct sk_buff *skb, struct netlink_callback *cb,
			 struct rfm_card *card, u8 cmd, rfm_put_fn put,
			 void *data)
{
	void *hdr;
	int ret;

	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &rfm_nl_family, NLM_F_MULTI, cmd);
	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	ret = rfm_put_locked(skb, card, put, data);
	if (ret)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return ret;
}

/* Where a dump of cards is. */
struct rfm_dump {
	u32 next;			/* id of the card that comes next */
	u32 last;			/* and of the last one */
	bool begun;			/* the request is a good one */
};

/*
 * A message of @put for each card that is asked for. A card that goes meanwhile
 * is left out; the dump says that it was interrupted.
 */
int rfm_dump_cards(struct sk_buff *skb, struct netlink_callback *cb,
		   struct rfm_nl_ctx *ctx, enum rfm_function function, u8 cmd,
		   rfm_put_fn put, void *data)
{
	struct rfm_dump *dump = (void *)cb->ctx;
	int ret = 0;

	if (!dump->begun) {
		ret = rfm_dump_begin(ctx, function, &dump->next, &dump->last);
		dump->begun = true;
	}
	cb->seq = atomic_read(&rfm_cards_state);
	for (; dump->next <= dump->last && !ret; dump->next++) {
		struct rfm_card *card = rfm_cards_get(dump->next);

		if (!card)
			continue;
		ret = rfm_dump_card(skb, cb, card, cmd, put, data);
		put_device(&card->dev);
		if (ret == -ENODEV) {
			/* Perhaps only since cb->seq was read. */
			cb->seq = atomic_read(&rfm_cards_state);
			ret = 0;
		}
		if (ret)
			break;
	}
	if (ret == -EMSGSIZE && skb->len)
		return skb->len;
	return ret ? rfm_refuse_generic(cb->extack, ret) : skb->len;
}

/* --- life ----------------------------------------------------------------- */

/* A socket that joins shows no descriptor, so it takes CAP_NET_ADMIN. */
static const struct genl_multicast_group rfm_groups[] = {
	[RFM_NLGRP_MONITOR] = { RFM_MCGRP_MONITOR, GENL_MCAST_CAP_NET_ADMIN },
};

int __init rfm_netlink_init(void)
{
	rfm_nl_family.netnsok = false;
	rfm_nl_family.mcgrps = rfm_groups;
	rfm_family_ops(&rfm_nl_family);
	return genl_register_family(&rfm_nl_family);
}

/* No card is left, so nobody has anything to tell. */
void rfm_netlink_exit(void)
{
	genl_unregister_family(&rfm_nl_family);
}
