/* SPDX-License-Identifier: GPL-2.0-only */
/* The card's hardware: interrupts, event ring, DMA engine. */
#ifndef RFM_HW_H
#define RFM_HW_H

#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/rfm.h>
#include <linux/rfm_regs.h>

struct rfm_card;
struct rfm_listener;
struct rfm_slice;

/* The byte swaps of programmed I/O and of DMA are one switch. */
#define RFM_BIGEND_SWAPS	(RFM_BIGEND_PIO | RFM_BIGEND_DMA0)

/* What a read of a card that is not there returns, and one that is, never. */
#define RFM_ALL_ONES	0xffffffffu

/* The event ring: under card->dispatch_lock, but for @masked. */
struct rfm_events {
	struct rfm_ext_record *ring;	/* the records, NULL if the card has no event ring */
	dma_addr_t base;		/* where the card finds them */
	unsigned int order;		/* log2 of their number */
	bool msix;			/* the card has interrupts of its own for them */
	bool running;			/* the card writes records */
	bool masked;			/* under irq_lock: dispatch_work takes the records */
	bool doubted;			/* an interrupt may have told that the ring has stopped */
	bool retried;			/* enabled again after a fault, and nothing came since */
	bool stopped;			/* it stopped again: it is off for good */
	u32 types;			/* what EVENT_TYPES holds */
	u32 moderation_count;		/* records that wait for one interrupt */
	u32 moderation_time;		/* ns between two interrupts */
	u64 position;			/* records taken so far */
	u64 released;			/* and how many of them the card knows of */
	u64 first;			/* @position when the ring was enabled */
	u64 number;			/* the last event that a record told of, since then */
	u64 missed;			/* how many were missing between two records, since then */
	u64 dropped;			/* how many the card said to be, when it was asked last */
	u64 lost;			/* events that the card dropped before it was enabled */
	u64 told;			/* rfm_events_missing() when all queues were told of it */
};

/* Which way a transfer goes, for thresholds. */
#define RFM_DMA_READ	0
#define RFM_DMA_WRITE	1

/* The DMA engine. */
struct rfm_dma {
	u32 least[2];			/* bytes from which on it is used, 0: never; by RFM_DMA_* */
	size_t most;			/* bytes in a slice */
	unsigned int pieces;		/* the pages that these may be in */
	struct rfm_dma_descriptor *chain;	/* of @active */
	u32 chain_base;			/* where the card finds it */
	bool lost;			/* the engine may go on with it */
	spinlock_t lock;		/* the next two */
	unsigned int requests;		/* reads and writes, also by programmed I/O */
	size_t pinned;			/* bytes of slices */
	wait_queue_head_t wait;		/* for less */
	/* The rest under card->irq_lock. */
	struct list_head queue;		/* requests with slices that are ready for the engine */
	struct list_head failed;	/* requests that failed, with slices not to be moved */
	struct work_struct end_failed;	/* ends these */
	struct rfm_slice *active;	/* the slice that it moves, or NULL */
	unsigned int looks;		/* left for @watch before the card is lost */
	struct delayed_work watch;	/* looks after @active when no interrupt comes */
	u64 operations;			/* slices moved */
	u64 bytes;			/* in them */
	u64 errors;			/* those that failed */
};

/* rfm_irq.c: LISR, LIER, the FIFOs */
irqreturn_t rfm_irq(int irq, void *data);
int rfm_irq_take(struct rfm_card *card, unsigned int most);
void rfm_irq_take_latched(struct rfm_card *card);
void rfm_irq_rest_end(struct work_struct *work);
void rfm_irq_monitor(struct rfm_card *card, const struct rfm_event *event);
void rfm_irq_start(struct rfm_card *card);
bool rfm_irq_mask(struct rfm_card *card);
int rfm_irq_status(struct rfm_card *card, struct rfm_info *info);
void rfm_irq_route(struct rfm_card *card);
int rfm_irq_add_listener(struct rfm_card *card, struct rfm_listener *listener,
			 u32 types, u32 flags);
void rfm_irq_del_listener(struct rfm_card *card, struct rfm_listener *listener);

/* rfm_events.c: the event ring */
int rfm_events_alloc(struct rfm_card *card);
void rfm_events_start(struct rfm_card *card);
void rfm_events_stop(struct rfm_card *card);
irqreturn_t rfm_events_irq(int irq, void *data);
bool rfm_events_take_up(struct rfm_card *card);
void rfm_events_doubt(struct rfm_card *card);
void rfm_events_mask(struct rfm_card *card, bool masked);
int rfm_events_take(struct rfm_card *card, unsigned int most);
void rfm_events_taken(struct rfm_card *card);
bool rfm_events_untold(const struct rfm_card *card);
void rfm_events_tell(struct rfm_card *card);
void rfm_events_check(struct rfm_card *card);
void rfm_events_select(struct rfm_card *card, u32 types);
u64 rfm_events_position(struct rfm_card *card);
u64 rfm_events_dropped(struct rfm_card *card);
u64 rfm_events_missing(const struct rfm_card *card);
int rfm_events_moderate(struct rfm_card *card, u32 count, u32 time_ns);

/* rfm_dma.c: the DMA engine */
extern const struct attribute_group *rfm_card_groups[];
int rfm_dma_init_wq(void);
void rfm_dma_exit_wq(void);
void rfm_dma_init(struct rfm_card *card);
int rfm_dma_alloc(struct rfm_card *card);
void rfm_dma_start(struct rfm_card *card);
void rfm_dma_stop(struct rfm_card *card);
bool rfm_dma_serve(struct rfm_card *card, u32 intcsr);
irqreturn_t rfm_dma_irq(int irq, void *data);

#endif /* RFM_HW_H */
