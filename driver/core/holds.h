/* SPDX-License-Identifier: GPL-2.0-only */
/* What is held of a card's memory, and who has something of the card. */
#ifndef RFM_HOLDS_H
#define RFM_HOLDS_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/types.h>

#include <linux/rfm.h>
#include <linux/rfm_netlink.h>

#include "hw/regs.h"

struct rfm_card;
struct rfm_file;
struct rfm_queue;
struct rfm_settings;
struct rfm_watcher;
struct seq_file;

/* Where a hold begins or ends in a plane, see core/cover.c. */
struct rfm_end {
	struct rb_node node;		/* in card->holds.ends, in the order of @key */
	u32 key;			/* granule, and which of both */
	struct rfm_below {
		int sum;		/* of the subtree of @node */
		int min_sum;		/* of the sums along it */
	} below;
};

/* Somebody needs a range of some planes on. */
struct rfm_hold {
	u32 first;			/* granule */
	u32 end;			/* the granule behind the last */
	u32 planes;			/* RFM_HOLD(); 0: only keeps the window where it is */
	bool held;			/* between rfm_subscription_hold() and _drop() */
	bool base;			/* the window may move under it */
	struct rfm_end ends[RFM_PLANES][2];
};

#define RFM_HOLD(plane)	(1u << (plane))

/* What the base policy all has on in the whole memory, as it is at reset. */
#define RFM_HOLD_BASE	(RFM_HOLD(RFM_PLANE_RX) | RFM_HOLD(RFM_PLANE_TX))

/* Ranges of one plane. */
struct rfm_set {
	struct rb_root spans;		/* struct rfm_span, in order; they do not touch */
	unsigned int count;		/* how many */
};

struct rfm_span {
	struct rb_node node;
	struct rfm_hold hold;		/* the range and its plane */
};

struct rfm_holder;

/* What differs from kind to kind; called under card->lock. */
struct rfm_holder_ops {
	u32 kind;			/* enum rfm_descriptor_kind */
	/*
	 * The range at @cursor, which begins as 0 and is moved on; false: there is
	 * none. NULL: this kind has none.
	 */
	bool (*range)(struct rfm_holder *holder, u64 *cursor,
		      struct rfm_range *range, u32 *planes);
};

/* Somebody whom the netlink operation descriptor-get tells of. */
struct rfm_holder {
	struct list_head node;		/* in card->holds.holders, in the order of @id */
	const struct rfm_holder_ops *ops;
	const struct rfm_set *sets;	/* its ranges, for rfm_sets_range() */
	struct rfm_queue *queue;	/* constant: its queue, or NULL */
	const struct rfm_watcher *watcher;	/* constant: the watch that it is, or NULL */
	u32 flags;			/* RFM_DESCRIPTOR_FLAG_*; changed under card->lock */
	u32 id;				/* from 1; 0 is the card's base */
	u32 pid;			/* the process that made it */
	char comm[TASK_COMM_LEN];	/* its name then */
};

/* What is held of a card, and who has something of it. */
struct rfm_holds {			/* under card->lock */
	struct rb_root ends[RFM_PLANES];	/* of holds, see core/cover.c */
	struct rfm_set base[RFM_PLANES];	/* the base masks */
	u32 base_policy;		/* RFM_BASE_*; read anywhere */
	unsigned int count;		/* of holds, those of @base not counted */
	struct list_head holders;	/* struct rfm_holder */
	struct rfm_holder base_holder;	/* the first of them, for @base */
	u32 ids;			/* how many others there have been */
	unsigned int by_kind[RFM_DESCRIPTOR_KIND_PORT + 1];	/* how many there are */
};

/* A change of the base masks. */
struct rfm_base_step {
	struct rfm_range range;		/* bytes of the memory, checked */
	u32 planes;			/* RFM_HOLD() */
	bool add;			/* or remove */
};

/* core/cover.c: the tree of ends */
void rfm_cover_add(struct rb_root *root, struct rfm_end ends[2], u32 first,
		   u32 end);
void rfm_cover_del(struct rb_root *root, struct rfm_end ends[2]);
u32 rfm_cover_gap(const struct rb_root *root, u32 *first, u32 end);

/* core/subscribe.c: which granules of each plane are on, and for whom */
int rfm_subscribe_start(struct rfm_card *card);
void rfm_subscribe_stop(struct rfm_card *card);
bool rfm_plane_exists(const struct rfm_card *card, unsigned int plane);
int rfm_subscription_hold(struct rfm_card *card, struct rfm_hold *hold,
			  bool window, u64 offset, u64 length, u32 planes);
void rfm_subscription_drop(struct rfm_card *card, struct rfm_hold *hold);
void rfm_sets_drop(struct rfm_card *card, struct rfm_set *sets);
int rfm_subscribe(struct rfm_file *file, void *arg);
int rfm_unsubscribe(struct rfm_file *file, void *arg);
int rfm_export(struct rfm_file *file, void *arg);
void rfm_subscribe_close(struct rfm_file *file);
int rfm_base_prepare(struct rfm_card *card, const struct rfm_settings *settings,
		     struct rfm_set *sets);
void rfm_base_commit(struct rfm_card *card, struct rfm_set *sets);
extern const struct rfm_holder_ops rfm_file_ops, rfm_base_ops;

/* core/holders.c: who has something of a card */
void rfm_holder_add(struct rfm_card *card, struct rfm_holder *holder,
		    const struct rfm_holder_ops *ops);
void rfm_holder_del(struct rfm_card *card, struct rfm_holder *holder);
void rfm_holder_show(struct seq_file *m, struct rfm_card *card,
		     struct rfm_holder *holder);

/* api/netlink.c: a dump that is under way may no longer be of one piece */
void rfm_holders_changed(struct rfm_card *card);

#endif /* RFM_HOLDS_H */
