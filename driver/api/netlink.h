/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the netlink family share. */
#ifndef RFM_NETLINK_H
#define RFM_NETLINK_H

#include "api/api.h"
#include "api/netlink_gen.h"
#include "core/notify.h"

/* A number in a message. */
struct rfm_number {
	u16 attr;
	u16 width;			/* bytes; 1: it is on or off */
	u64 value;
	bool absent;			/* there is none to tell */
};

/* Of attribute RFM_A_@attr: its value, and perhaps whether it is absent. */
#define RFM_U8(attr, ...)	{ RFM_A_##attr, 1, __VA_ARGS__ }
#define RFM_U32(attr, ...)	{ RFM_A_##attr, 4, __VA_ARGS__ }
#define RFM_U64(attr, ...)	{ RFM_A_##attr, 8, __VA_ARGS__ }

/* Where a dump is. */
struct rfm_dump {
	u32 card;			/* id */
	u32 last;			/* id of the last card */
	u32 holder;			/* the first that has not been told of as a whole */
	bool begun;			/* the request is a good one */
	u64 cursor;			/* where in the ranges of @holder */
};

/* The part of a dump that is of one card: under card->lock. */
typedef int (*rfm_dump_fn)(struct sk_buff *skb, struct netlink_callback *cb,
			   struct rfm_card *card);

/* What a message of a dump is made of, beside its card. */
typedef int (*rfm_put_fn)(struct sk_buff *skb, struct rfm_card *card,
			  void *data);

/* api/rights.c */
int rfm_may_netlink(enum rfm_function function, fmode_t mode,
		    const struct sk_buff *skb, struct netlink_ext_ack *extack);

/* api/netlink.c */
extern atomic_t rfm_cards_state, rfm_holders_state;
int rfm_nl_do(struct sk_buff *skb, struct genl_info *info,
	      enum rfm_function function,
	      int (*run)(struct rfm_card *card, struct genl_info *info));
int rfm_put_numbers(struct sk_buff *skb, int pad,
		    const struct rfm_number *numbers, unsigned int count);
int rfm_put_nest(struct sk_buff *skb, int nest_attr, int pad,
		 const struct rfm_number *numbers, unsigned int count);
void *rfm_put_head(struct sk_buff *skb, u32 portid, u32 seq, int flags, u8 cmd,
		   const struct rfm_card *card);
int rfm_dump_message(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		     struct rfm_card *card, rfm_put_fn put, void *data);
int rfm_dump_cards(struct sk_buff *skb, struct netlink_callback *cb,
		   enum rfm_function function, rfm_dump_fn dump_card);

/* api/netlink_get.c */
int rfm_put_card(struct sk_buff *skb, struct rfm_card *card, void *absolute);

#endif /* RFM_NETLINK_H */
