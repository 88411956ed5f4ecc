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
 * Operations run in parallel; what they need is locked card by card. Only a deadly
 * signal ends waiting for that: of others it could not be told whether a handler
 * has run, or the sender was stopped or frozen and has to ask again.
 */

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "api/netlink.h"

/*
 * Counted up, so that a dump can tell that it is not of one piece: when cards come
 * or go, and when what descriptor-get tells of changes.
 */
atomic_t rfm_cards_state = ATOMIC_INIT(1);
atomic_t rfm_holders_state = ATOMIC_INIT(1);

/* Any context. */
void rfm_netlink_cards_changed(void)
{
	atomic_inc(&rfm_cards_state);
	atomic_inc(&rfm_holders_state);
}

/* Under card->lock. */
void rfm_holders_changed(struct rfm_card *card)
{
	lockdep_assert_held(&card->lock);

	atomic_inc(&rfm_holders_state);
}

/* --- refusals ------------------------------------------------------------- */

/* Says why not, unless somebody has said something already. Returns @error. */
static int rfm_refuse_generic(struct netlink_ext_ack *extack, int error)
{
	if (!extack || extack->_msg)
		return error;
	switch (error) {
	case -ENODEV:
		return rfm_refuse(extack, NULL, error, "the card is gone");
	case -ENOMEM:
		return rfm_refuse(extack, NULL, error, "no memory");
	case -EMSGSIZE:
		return rfm_refuse(extack, NULL, error,
				  "the answer does not fit into a message");
	}
	return error;
}

/* --- which card, and by whom ---------------------------------------------- */

/* A request, who sends it, and what it is about. */
struct rfm_nl_ctx {
	const struct sk_buff *skb;
	struct nlattr **attrs;		/* every operation takes those that select a card */
	struct netlink_ext_ack *extack;	/* told what is wrong */
	struct rfm_card *card;		/* with a reference; NULL: the request names none */
	fmode_t mode;			/* of the sender's descriptor, 0: it names none */
};

/* Does all by which a request selects a card fit this one? */
static bool rfm_nl_ctx_wants(const struct rfm_nl_ctx *ctx,
			     const struct rfm_card *card)
{
	const struct nlattr *id = ctx->attrs[RFM_A_CARD_ID];
	const struct nlattr *name = ctx->attrs[RFM_A_CARD_NAME];
	const struct nlattr *pci = ctx->attrs[RFM_A_CARD_PCI];

	return (!id || nla_get_u32(id) == card->id) &&
	       (!name || !nla_strcmp(name, dev_name(&card->dev))) &&
	       (!pci || !nla_strcmp(pci, card->hw.pci_name));
}

static int rfm_nl_ctx_find(struct rfm_nl_ctx *ctx)
{
	const struct nlattr *selector = ctx->attrs[RFM_A_CARD_ID] ?:
					ctx->attrs[RFM_A_CARD_NAME] ?:
					ctx->attrs[RFM_A_CARD_PCI];
	unsigned int id;

	if (!selector)
		return 0;
	for (id = 0; id < RFM_MINORS; id++) {
		struct rfm_card *card = rfm_cards_get(id);

		if (card && rfm_nl_ctx_wants(ctx, card)) {
			ctx->card = card;
			return 0;
		}
		if (card)
			put_device(&card->dev);
	}
	return rfm_refuse(ctx->extack, selector, -ENODEV,
			  "there is no such card");
}

/* The sender's descriptor, which tells of the sender's rights and of a card. */
static int rfm_nl_ctx_take_fd(struct rfm_nl_ctx *ctx)
{
	const struct nlattr *attr = ctx->attrs[RFM_A_CARD_FD];
	const struct rfm_file *file;
	struct file *filp;
	int ret = 0;

	if (!attr)
		return 0;
	filp = fget(nla_get_s32(attr));
	if (!filp)
		return rfm_refuse(ctx->extack, attr, -EBADF,
				  "this is not an open descriptor");
	file = rfm_file_of(filp);
	if (file && !ctx->card)
		ctx->card = rfm_cards_get(file->card->id);
	if (!file)
		ret = rfm_refuse(ctx->extack, attr, -EINVAL,
				 "this is not a descriptor of a card");
	else if (!ctx->card)
		ret = rfm_refuse(ctx->extack, attr, -ENODEV,
				 "the card of this descriptor is gone");
	else if (ctx->card != file->card)
		ret = rfm_refuse(ctx->extack, attr, -EINVAL,
				 "this descriptor is of another card");
	else
		ctx->mode = file->mode;
	fput(filp);
	return ret;
}

/*
 * Which card is a request about, which has to name one if it @must, and may its
 * sender do that? In the context of the sender. Whatever is returned, there may be
 * a card to put.
 * Return: 0; -EINVAL, -ENODEV, -EBADF, -EPERM.
 */
static int rfm_nl_ctx_get(struct rfm_nl_ctx *ctx, bool must,
			  enum rfm_function function)
{
	int ret = rfm_nl_ctx_find(ctx) ?: rfm_nl_ctx_take_fd(ctx);

	if (ret)
		return ret;
	if (must && !ctx->card) {
		NL_SET_ERR_ATTR_MISS(ctx->extack, NULL, RFM_A_CARD_ID);
		return rfm_refuse(ctx->extack, NULL, -EINVAL,
				  "the request names no card");
	}
	return rfm_may_netlink(function, ctx->mode, ctx->skb, ctx->extack);
}

static void rfm_nl_ctx_put(struct rfm_nl_ctx *ctx)
{
	if (ctx->card)
		put_device(&ctx->card->dev);
}

/* The doit of an operation: @run, if the sender may do it to the card. */
int rfm_nl_do(struct sk_buff *skb, struct genl_info *info,
	      enum rfm_function function,
	      int (*run)(struct rfm_card *card, struct genl_info *info))
{
	struct rfm_nl_ctx ctx = {
		.skb = skb,
		.attrs = info->attrs,
		.extack = info->extack,
	};
	int ret;

	ret = rfm_nl_ctx_get(&ctx, true, function) ?: run(ctx.card, info);
	rfm_nl_ctx_put(&ctx);
	return rfm_refuse_generic(info->extack, ret);
}

/* --- messages and dumps ---------------------------------------------------- */

/* @pad: the attribute of their set that is for padding. */
int rfm_put_numbers(struct sk_buff *skb, int pad,
		    const struct rfm_number *numbers, unsigned int count)
{
	const struct rfm_number *number;
	int ret = 0;

	for (number = numbers; number < numbers + count && !ret; number++) {
		if (number->absent)
			continue;
		if (number->width == 1)
			ret = nla_put_u8(skb, number->attr, !!number->value);
		else if (number->width == 4)
			ret = nla_put_u32(skb, number->attr, number->value);
		else
			ret = nla_put_u64_64bit(skb, number->attr,
						number->value, pad);
	}
	return ret;
}

/* The same as an attribute of its own: all of them, or an error. */
int rfm_put_nest(struct sk_buff *skb, int nest_attr, int pad,
		 const struct rfm_number *numbers, unsigned int count)
{
	struct nlattr *nest = nla_nest_start(skb, nest_attr);

	if (!nest || rfm_put_numbers(skb, pad, numbers, count)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* Begins a message with the card that it is about; NULL: it does not fit. */
void *rfm_put_head(struct sk_buff *skb, u32 portid, u32 seq, int flags, u8 cmd,
		   const struct rfm_card *card)
{
	void *hdr = genlmsg_put(skb, portid, seq, &rfm_nl_family, flags, cmd);

	if (hdr && !nla_put_u32(skb, RFM_A_CARD_ID, card->id) &&
	    !nla_put_string(skb, RFM_A_CARD_NAME, dev_name(&card->dev)) &&
	    !nla_put_string(skb, RFM_A_CARD_PCI, card->hw.pci_name))
		return hdr;
	genlmsg_cancel(skb, hdr);
	return NULL;
}

/* A message of a dump: all of it, or an error. */
int rfm_dump_message(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		     struct rfm_card *card, rfm_put_fn put, void *data)
{
	void *hdr;
	int ret;

	hdr = rfm_put_head(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   NLM_F_MULTI, cmd, card);
	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	ret = put(skb, card, data);
	if (ret)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return ret;
}

/*
 * A dump is about one card, if the request names one, as it does by a descriptor,
 * which gives a right to its own card only; else about all.
 */
static int rfm_dump_begin(struct netlink_callback *cb,
			  enum rfm_function function)
{
	struct rfm_dump *dump = (void *)cb->ctx;
	struct rfm_nl_ctx ctx = {
		.skb = cb->skb,
		.attrs = genl_info_dump(cb)->attrs,
		.extack = cb->extack,
	};
	int ret = rfm_nl_ctx_get(&ctx, false, function);

	dump->begun = true;
	dump->card = ctx.card ? ctx.card->id : 0;
	dump->last = ctx.card ? ctx.card->id : RFM_MINORS - 1;
	rfm_nl_ctx_put(&ctx);
	return ret;
}

/*
 * What @dump_card tells of each card that is asked for. A card that has gone is
 * left out; the dump says that it was interrupted.
 */
int rfm_dump_cards(struct sk_buff *skb, struct netlink_callback *cb,
		   enum rfm_function function, rfm_dump_fn dump_card)
{
	struct rfm_dump *dump = (void *)cb->ctx;
	struct rfm_card *card;
	int ret = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));

	if (!dump->begun)
		ret = rfm_dump_begin(cb, function);
	while (dump->card <= dump->last && !ret) {
		card = rfm_cards_get(dump->card);
		if (card) {
			ret = mutex_lock_killable(&card->lock);
			if (!ret) {
				ret = dump_card(skb, cb, card);
				mutex_unlock(&card->lock);
			}
			put_device(&card->dev);
		} else if (dump->holder || dump->cursor) {
			/* It has gone in the middle: not all of it was told. */
			cb->seq = atomic_read(&rfm_holders_state);
		}
		if (ret)
			break;
		dump->card++;
		dump->holder = 0;
		dump->cursor = 0;
	}
	if (ret == -EMSGSIZE && skb->len)
		return skb->len;
	return ret ? rfm_refuse_generic(cb->extack, ret) : skb->len;
}

/* --- life ----------------------------------------------------------------- */

/* A socket that joins shows no descriptor, so it takes CAP_NET_ADMIN. */
static const struct genl_multicast_group rfm_groups[] = {
	[RFM_NLGRP_MONITOR] = {
		.name = RFM_MCGRP_MONITOR,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

int __init rfm_netlink_init(void)
{
	rfm_nl_family.netnsok = false;
	rfm_nl_family.mcgrps = rfm_groups;
	return genl_register_family(&rfm_nl_family);
}

/* No card is left, so nobody has anything to tell. */
void rfm_netlink_exit(void)
{
	genl_unregister_family(&rfm_nl_family);
}
