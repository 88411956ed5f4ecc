/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is told of events: queues, listeners, watches, fences. */
#ifndef RFM_DISPATCH_H
#define RFM_DISPATCH_H

#include <linux/bitmap.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/semaphore.h>

#include "core/holds.h"
#include "hw/hw.h"

struct eventfd_ctx;
struct rfm_watcher;

/* A mutex that an interrupt handler can try to take. */
struct rfm_dispatch_lock {
	struct semaphore free;		/* trying to take a mutex is for processes only */
	struct lockdep_map dep_map;
};

/* So many records at most are out of a queue, on their way to a reader. */
#define RFM_QUEUE_BATCH		16

struct rfm_queue;

/* What differs between the kinds of descriptor that events are read from. */
struct rfm_queue_ops {
	const char *name;		/* of its file */
	struct rfm_holder_ops holder;	/* for descriptor-get */
	int (*begin)(struct rfm_queue *queue);	/* from now on events are for it */
	void (*end)(struct rfm_queue *queue);	/* and no longer, if rfm_queue_add() was called */
};

/* The events of one descriptor, or of all monitors. */
struct rfm_queue {
	const struct rfm_queue_ops *ops;	/* constant; NULL: monitors' */
	struct rfm_holder holder;	/* for descriptor-get, and for monitors */
	struct list_head node;		/* in card->dispatch.queues */
	struct rfm_card *card;		/* constant; a descriptor's holds a reference */
	wait_queue_head_t wait;		/* readers and pollers */
	struct mutex read_lock;		/* one reader at a time; only readers move @tail */
	struct eventfd_ctx *eventfd;	/* constant: counts records as well, or NULL */
	u32 types;			/* constant: what it hears, RFM_EVENT_BIT(); monitors': 0 */
	bool broken;			/* set anywhere: a region's, which the card has forgotten */
	u32 flags;			/* constant: a listener's, RFM_LISTEN_* */
	/* Under dispatch.lock: */
	u64 since;			/* records up to that position are not for it */
	u64 told;			/* of the card's dropped events: told, or before its time */
	spinlock_t lock;		/* all below */
	u64 seq;			/* events so far, dropped ones included */
	u64 dropped;			/* those that found the queue full */
	struct delayed_work *work;	/* constant: a monitor's, takes the records; else NULL */
	u32 coalesced;			/* constant: RFM_EVENT_BIT() of what is told together */
	u32 depth;			/* records it holds */
	u32 spare;			/* constant: keys of records that it must not drop */
	u32 tail;			/* index of the oldest record */
	u32 count;			/* records in the queue, those beside it included */
	u32 reading;			/* the oldest, which a reader takes; not counted as held */
	u32 record_size;		/* bytes of a record for its readers */
	struct rfm_event *ring;		/* @depth + RFM_QUEUE_BATCH + @spare records */
	u16 *keys;			/* of these, behind them */
};

/* What there is to tell of a queue. */
struct rfm_queue_state {
	u32 types;			/* what it hears */
	u32 depth;			/* records it holds */
	u32 queued;			/* records there now */
	u64 events;			/* so far, dropped ones included */
	u64 dropped;			/* of them */
};

/* Of records that a full queue must not drop it keeps the last of each key, from 1. */
#define RFM_KEY_SLOT(slot)	((slot) + 1)
#define RFM_KEY_DROPPED		(RFM_EXT_SLOTS + 1)

/* Listeners are told by type; a watch hears only what is watched, monitors all. */
static inline bool rfm_queue_listens(const struct rfm_queue *queue)
{
	return queue->types & ~RFM_EVENT_WATCHED;
}

/* Errors that LISR keeps until they are asked for, of those that monitors are told of. */
#define RFM_EVENT_KEPT		(RFM_EVENT_BIT(RFM_EVENT_BAD_DATA) | \
				 RFM_EVENT_BIT(RFM_EVENT_TX_FULL) | \
				 RFM_EVENT_BIT(RFM_EVENT_RX_FULL) | \
				 RFM_EVENT_BIT(RFM_EVENT_ROGUE) | \
				 RFM_EVENT_BIT(RFM_EVENT_WRITE_INHIBITED) | \
				 RFM_EVENT_BIT(RFM_EVENT_PARITY))

/* And those that it counts. */
#define RFM_EVENT_COUNTED	(RFM_EVENT_BIT(RFM_EVENT_LOSS) | \
				 RFM_EVENT_BIT(RFM_EVENT_CONFLICT))
#define RFM_COUNTED_TYPES	2

#define RFM_EVENT_MONITORED	(RFM_EVENT_KEPT | RFM_EVENT_BIT(RFM_EVENT_SYNC_LOSS) | \
				 (RFM_EVENT_EXTENSION & ~RFM_EVENT_WATCHED))

/* One range of a watch. */
struct rfm_watch_range {
	struct rb_node node;		/* in card->dispatch.watched, if @listed */
	u32 first;			/* byte */
	u32 last;			/* byte */
	u32 reach;			/* last byte of the ranges that it is in the tree for */
	bool listed;			/* no other is for it, and the watch does not compare */
	u32 last_below;			/* of the tree's node and those below */
	struct rfm_watcher *watcher;
	struct rfm_hold hold;		/* what it needs of the card */
};

/* One descriptor made by RFM_IOC_WATCH. */
struct rfm_watcher {
	struct rfm_queue queue;		/* first */
	struct rfm_watch args;		/* what was asked for */
	u64 seen;			/* position of the last update it was told of */
	u64 late;			/* updates that were late */
	struct rfm_watch_range ranges[];
};

/* Who has a slot of the card. A watch may look without the lock whether one is its own. */
struct rfm_slot {
	struct rfm_watcher *owner;	/* NULL when its records are nobody's */
	const struct rfm_watch_range *range;	/* whose silence it tells of, NULL: it compares */
	bool stale;			/* the owner was told last that @range fell silent */
	u64 changes;			/* counts owners, and what they were told */
};

/* Types of events that are not asked of the card for a while. */
struct rfm_throttle {
	u32 types;			/* RFM_EVENT_BIT() */
	u64 until;			/* position of the last record that may be of one of them */
	u32 settling;			/* types that were throttled, to be compared once more */
	u64 counted[RFM_COUNTED_TYPES];	/* of the card's counters: told */
	bool dark;			/* @work looks for the light */
	struct delayed_work work;	/* ends it */
};

/* What happens to a card, but is no event that a descriptor can be told of. */
enum {
	RFM_TOLD_LINK_DOWN = RFM_EVENT_TYPES,	/* the receiver has no signal */
	RFM_TOLD_GONE,				/* the card does not answer */
	RFM_TOLD_TYPES
};

/* What the netlink group "monitor" is still to be told of, see api/notify.c. */
struct rfm_monitor {
	struct rfm_queue queue;		/* in a record @late is the id of whom it is about */
	struct delayed_work work;	/* tells */
	/* Under rfm_cards_lock: */
	bool known;			/* told of its creation, and not of its deletion */
	u64 lost;			/* of those that @queue has dropped: told */
};

/* Who is told of a card's events. */
struct rfm_dispatch {
	struct rfm_dispatch_lock lock;	/* all below, and the event ring */
	struct work_struct work;	/* delivers what an interrupt handler has left */
	struct list_head queues;	/* whoever is told of events, listeners first */
	u32 queued;			/* the sum of the descriptors' depths */
	unsigned int listening;		/* how many listeners */
	u32 heard;			/* what they listen for, RFM_EVENT_BIT() */
	u32 exclusive;			/* the types that one has for itself, RFM_EVENT_BIT() */
	u64 counts[RFM_EVENT_TYPES];	/* taken so far, of those that listeners can hear */
	u32 waiting;			/* only monitors heard of: one for the first listener */
	unsigned int watches;		/* made by RFM_IOC_WATCH */
	unsigned int ranges;		/* of them */
	struct rb_root_cached watched;	/* struct rfm_watch_range */
	DECLARE_BITMAP(slots, RFM_EXT_SLOTS);	/* those that are taken, */
	struct rfm_slot slot[RFM_EXT_SLOTS];	/* and by whom */
	unsigned int next_slot;		/* to be taken, so that reuse comes late */
	struct list_head fences;	/* who waits, in the order of their tickets */
	struct list_head regions;	/* struct rfm_region */
	struct list_head ports;		/* struct rfm_port */
	size_t port_bytes;		/* what the messages of all ports may take */
	struct rfm_throttle throttle;
	struct rfm_monitor monitor;
};

/* A record that tells of no update tells of a range. */
static inline void rfm_event_set_range(struct rfm_event *event,
				       const struct rfm_watch_range *range)
{
	event->offset = range->first;
	event->length = range->last - range->first + 1;
}

/* core/dispatch.c: who delivers events, and when */

void rfm_dispatch_init(struct rfm_card *card);
void rfm_dispatch_lock(struct rfm_card *card);
void rfm_dispatch_unlock(struct rfm_card *card);
bool rfm_dispatch_enter(struct rfm_card *card, int *idx);
void rfm_dispatch_exit(struct rfm_card *card, int idx);
void rfm_dispatch_yield(unsigned int deliveries);
void rfm_dispatch_start(struct rfm_card *card);

/* Is @size, of what may grow from @first bytes on, one that it can have? */
static inline bool rfm_record_size_good(u32 size, u32 first)
{
	return size >= first && size % sizeof(u64) == 0;
}

/* core/queue.c: what all event descriptors have in common */
int rfm_queue_init(struct rfm_queue *queue, struct rfm_card *card, u32 depth);
void *rfm_queue_alloc(struct rfm_card *card, const struct rfm_queue_ops *ops,
		      size_t size, u32 depth, u32 record_size, u32 slots);
void rfm_queue_free(struct rfm_queue *queue);
int rfm_queue_install(struct rfm_queue *queue, u32 flags);
void rfm_queue_add(struct rfm_queue *queue);
void rfm_queue_push(struct rfm_queue *queue, const struct rfm_event *event,
		    u16 key);
bool rfm_queue_pop(struct rfm_queue *queue, struct rfm_event *event);
void rfm_queue_lose(struct rfm_queue *queue);
struct rfm_queue_state rfm_queue_state(struct rfm_queue *queue);
void rfm_queues_report_dropped(struct rfm_card *card);

/* core/listen.c: what happens on the ring */
int rfm_listen(struct rfm_file *owner, void *arg);
int rfm_listen_counts(struct rfm_file *file, void *arg);

/* core/throttle.c: what nobody but monitors hears of */
void rfm_throttle_init(struct rfm_card *card);
void rfm_throttle_start(struct rfm_card *card);
void rfm_throttle_event(struct rfm_card *card, const struct rfm_event *event);

/* core/watch.c: interrupt on update */
int rfm_watch(struct rfm_file *owner, void *arg);
unsigned int rfm_watch_reach(struct rfm_card *card,
			     const struct rfm_event *event, unsigned int budget);
unsigned int rfm_watch_update(struct rfm_card *card, struct rfm_record *record);
unsigned int rfm_watch_slot(struct rfm_card *card, struct rfm_record *record);

/* core/slots.c: the card's comparators and timers */
unsigned int rfm_slots_needed(const struct rfm_watch *args);
int rfm_slots_take(struct rfm_card *card, struct rfm_watcher *watcher);
int rfm_slots_arm(struct rfm_card *card, struct rfm_watcher *watcher);
void rfm_slots_release(struct rfm_card *card, const struct rfm_watcher *watcher);
void rfm_slots_recheck(struct rfm_card *card);
void rfm_slots_reset(struct rfm_card *card);

/* core/fence.c: wait until everything is everywhere */
#define RFM_FENCE_MS_MAX	60000
void rfm_fence_open(struct rfm_file *file);
int rfm_fence(struct rfm_file *file, void *arg);
void rfm_fence_event(struct rfm_card *card, u32 ticket);
void rfm_fences_wake(struct rfm_card *card);

#endif /* RFM_DISPATCH_H */
