/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the netlink family share. */
#ifndef RFM_NETLINK_H
#define RFM_NETLINK_H

#include "api/api.h"
#include "api/netlink_gen.h"
#include "core/notify.h"

/* A request, who sends it, and what it is about. */
struct rfm_nl_ctx {
	const struct sk_buff *skb;
	struct nlattr **attrs;
	unsigned int max;		/* the highest that this operation takes */
	struct netlink_ext_ack *extack;	/* told what is wrong */
	struct rfm_card *card;		/* with a reference; NULL: the request names none */
	fmode_t mode;			/* of the sender's descriptor, 0: it names none */
};

/* What a message is made of, beside its card: under card->lock. */
typedef int (*rfm_put_fn)(struct sk_buff *skb, struct rfm_card *card,
			  void *data);

/* api/rights.c */
int rfm_may_netlink(enum rfm_function function, const struct rfm_nl_ctx *ctx);

/* api/netlink.c */
int rfm_nl_ctx_init(struct rfm_nl_ctx *ctx, struct sk_buff *skb,
		    struct genl_info *info, unsigned int max,
		 enum rfm_function function);
void rfm_nl_ctx_put(struct rfm_nl_ctx *ctx);
int rfm_dump_begin(struct rfm_nl_ctx *ctx, enum rfm_function function,
		   u32 *first, u32 *last);
int rfm_refuse_generic(struct netlink_ext_ack *extack, int error);
int rfm_reply(const struct rfm_nl_ctx *ctx, struct genl_info *info,
	      rfm_put_fn put, void *data);
int rfm_dump_cards(struct sk_buff *skb, struct netlink_callback *cb,
		   struct rfm_nl_ctx *ctx, enum rfm_function function, u8 cmd,
		   rfm_put_fn put, void *data);
void rfm_dump_ctx(struct rfm_nl_ctx *ctx, struct netlink_callback *cb,
		  unsigned int max);
unsigned int rfm_netlink_holders_state(void);
int rfm_put_handle(struct sk_buff *skb, const struct rfm_card *card);
int rfm_put_u64(struct sk_buff *skb, int attr, u64 value);

/* api/netlink_get.c */
int rfm_put_card(struct sk_buff *skb, struct rfm_card *card, bool absolute);

#endif /* RFM_NETLINK_H */
