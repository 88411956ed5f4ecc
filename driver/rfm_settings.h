/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rfm - how a card is set, by whom, who has something of it, and who is told
 *
 * The settings of a card are what RFM_IOC_SET_SWITCHES and the netlink
 * operation card-set change. All of them are changed and read under
 * card->config_lock, so that nobody sees half a change, and each change is
 * notified before the lock is dropped, so that notifications come in the order
 * of the changes.
 */
#ifndef RFM_SETTINGS_H
#define RFM_SETTINGS_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/types.h>

#include <linux/rfm.h>
#include <linux/rfm_netlink.h>
#include <linux/rfm_regs.h>

struct rfm_card;

/* rfm_rights.c: who may do what */

/* What the driver does for somebody; the table of rights has a line for each. */
enum rfm_function {
	RFM_FUNCTION_INFO,
	RFM_FUNCTION_COUNTERS,
	RFM_FUNCTION_RING_MAP,
	RFM_FUNCTION_WRITER,
	RFM_FUNCTION_LISTEN,
	RFM_FUNCTION_WATCH,
	RFM_FUNCTION_SUBSCRIBE,
	RFM_FUNCTION_SUBSCRIBE_RX,
	RFM_FUNCTION_SUBSCRIBE_TX,
	RFM_FUNCTION_SUBSCRIBE_OWN,
	RFM_FUNCTION_DESCRIPTORS,
	RFM_FUNCTION_SEND,
	RFM_FUNCTION_FENCE,
	RFM_FUNCTION_VERIFY,
	RFM_FUNCTION_RING_TEST,
	RFM_FUNCTION_SETTINGS,
	RFM_FUNCTION_COUNTERS_RESET,
	RFM_FUNCTIONS
};

int rfm_may_ioctl(enum rfm_function function, fmode_t mode);

/* rfm_holders.c: who has something of a card */

/**
 * struct rfm_description - what there is to say of a holder beside its ranges
 * @flags: RFM_DESCRIPTOR_FLAG_*
 * @types: what it listens for
 * @depth: records its queue holds, 0: it has none
 * @queued: records there now
 * @events: so far, dropped ones included
 * @dropped: of them
 * @late: updates that were late
 * @watch: what a watch was asked for, else NULL
 */
struct rfm_description {
	u32 flags;
	u32 types;
	u32 depth;
	u32 queued;
	u64 events;
	u64 dropped;
	u64 late;
	const struct rfm_watch *watch;
};

struct rfm_holder;

/**
 * struct rfm_holder_ops - what differs from kind to kind
 * @kind: enum rfm_descriptor_kind
 * @describe: fills in what differs from 0
 * @range: the range at @cursor, which begins as 0 and is moved on; false:
 *	there is none. NULL: this kind has none
 *
 * Both are called under card->subscribe_lock.
 */
struct rfm_holder_ops {
	u32 kind;
	void (*describe)(struct rfm_holder *holder,
			 struct rfm_description *description);
	bool (*range)(struct rfm_holder *holder, u64 *cursor,
		      struct rfm_range *range, u32 *planes);
};

/**
 * struct rfm_holder - somebody whom the netlink operation descriptor-get tells of
 * @node: in card->holders, in the order of @id
 * @ops: of its kind
 * @id: numbers them, from 1; 0 is the card's base
 * @pid: the process that made it
 * @comm: its name then
 */
struct rfm_holder {
	struct list_head node;
	const struct rfm_holder_ops *ops;
	u32 id;
	u32 pid;
	char comm[TASK_COMM_LEN];
};

void rfm_holder_add(struct rfm_card *card, struct rfm_holder *holder,
		    const struct rfm_holder_ops *ops);
void rfm_holder_del(struct rfm_card *card, struct rfm_holder *holder);
void rfm_holders_changed(struct rfm_card *card);

/* rfm_base.c: the base masks */

/**
 * struct rfm_set - ranges of one plane
 * @spans: struct rfm_span, in order; they do not touch
 * @count: how many
 */
struct rfm_set {
	struct rb_root spans;
	unsigned int count;
};

/**
 * struct rfm_base_step - a change of the base masks
 * @range: bytes of the memory, checked
 * @planes: mask of RFM_HOLD()
 * @add: or remove
 */
struct rfm_base_step {
	struct rfm_range range;
	u32 planes;
	bool add;
};

/* rfm_settings.c */

/* Which way a transfer goes, for thresholds. */
#define RFM_DMA_READ	0
#define RFM_DMA_WRITE	1

#define RFM_SET(attr)	BIT_ULL(RFM_A_CARD_##attr)

/**
 * struct rfm_settings - a change of a card's settings
 * @set: what is to change beside @switches: mask of RFM_SET(BASE_POLICY), BASE,
 *	DMA_READ_LEAST, DMA_WRITE_LEAST, MODERATION_COUNT, MODERATION_TIME
 * @switches: what RFM_IOC_SET_SWITCHES changes
 * @policy: RFM_POLICY_ALL or RFM_POLICY_NONE
 * @steps: changes of the base masks, in order, after @policy
 * @step_count: how many
 * @dma_least: bytes, see RFM_DMA_READ
 * @moderation_count: events
 * @moderation_time: ns
 * @generation: of the card that is to be changed
 * @conditional: change nothing if it has another one by now
 * @wait: if OWN DATA is to be cleared, for a ring test that is running; else
 *	this is -EBUSY then
 */
struct rfm_settings {
	u64 set;
	struct rfm_switches switches;
	u32 policy;
	const struct rfm_base_step *steps;
	unsigned int step_count;
	u32 dma_least[2];
	u32 moderation_count;
	u32 moderation_time;
	u64 generation;
	bool conditional;
	bool wait;
};

int rfm_settings_apply(struct rfm_card *card,
		       const struct rfm_settings *settings, unsigned int *which);
void rfm_settings_init(struct rfm_card *card);
u32 rfm_dma_least(const struct rfm_card *card, bool store);

int rfm_base_start(struct rfm_card *card, u32 policy);
int rfm_base_prepare(struct rfm_card *card, const struct rfm_settings *settings,
		     struct rfm_set *sets);
void rfm_base_commit(struct rfm_card *card, struct rfm_set *sets);
void rfm_base_undo(struct rfm_card *card, struct rfm_set *sets);
void rfm_base_free(struct rfm_card *card);
bool rfm_base_covers(struct rfm_card *card, const struct rfm_range *range,
		     u32 planes);
extern const struct rfm_holder_ops rfm_base_ops;

/* rfm_notify.c: who is told */

/**
 * struct rfm_note - something that has happened and is still to be told of
 * @type: enum rfm_notice
 * @has: mask of 1 << RFM_A_EVENT_*: which of the fields below there are
 * @node: see RFM_A_EVENT_NODE, and so on
 * @epoch: membership
 * @length: bytes
 * @offset: first byte
 * @missing: updates, or events
 * @frame: number
 * @age_ns: how old, how long silent
 * @time_ns: when
 * @count: how many these are
 * @holder: id
 * @lost: notifications before it that found no room
 */
struct rfm_note {
	u32 type;
	u32 has;
	u32 node;
	u32 epoch;
	u32 length;
	u64 offset;
	u64 missing;
	u64 frame;
	u64 age_ns;
	u64 time_ns;
	u64 count;
	u32 holder;
	u64 lost;
};

#define RFM_NOTES	256	/* that a card can keep until they are told */

#define RFM_NOTE_HAS(attr)	BIT(RFM_A_EVENT_##attr)

void rfm_notify_event(struct rfm_card *card, const struct rfm_event *event,
		      const struct rfm_holder *holder);
void rfm_notify_note(struct rfm_card *card, struct rfm_note *note);
bool rfm_notify_room(struct rfm_card *card);
void rfm_notify_dropped(struct rfm_card *card, u64 missing);
void rfm_notify_gone(struct rfm_card *card);
void rfm_notify_change(struct rfm_card *card);
u64 rfm_notify_lost(struct rfm_card *card);
int rfm_notify_init(struct rfm_card *card);
void rfm_notify_free(struct rfm_card *card);
void rfm_notify_start(struct rfm_card *card);
void rfm_notify_stop(struct rfm_card *card);

/* rfm_netlink.c: the family */
int rfm_netlink_init(void);
void rfm_netlink_exit(void);

#endif /* RFM_SETTINGS_H */
