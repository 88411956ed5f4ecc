/* SPDX-License-Identifier: GPL-2.0-only */
/* The card's hardware: interrupts, event ring, DMA engine. */
#ifndef RFM_HW_H
#define RFM_HW_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/rfm.h>

#include "hw/regs.h"

struct rfm_card;
struct rfm_slice;

#define RFM_BIGEND_SWAPS	(RFM_BIGEND_PIO | RFM_BIGEND_DMA0)

/* What a read of a card that is not there returns, and one that is, never. */
#define RFM_ALL_ONES	0xffffffffu

/* Which way a transfer goes, for thresholds. */
#define RFM_DMA_READ	0
#define RFM_DMA_WRITE	1

/* The interrupts of a 5565. */
struct rfm_irq {
	spinlock_t lock;		/* all below, and the registers of interrupts */
	u32 lier;			/* what LIER shall hold, but for @pending */
	u32 pending;			/* of LISR, taken up: there is something to deliver */
	u32 lisr_seen;			/* latched bits of LISR seen so far */
	u64 count;			/* interrupts served */
	u64 sync_losses;		/* that told of a lost signal */
	u64 sync_loss_ns;		/* ktime of the last of them, 0: none; read anywhere */
};

/* The event ring: under dispatch.lock, but for @masked. */
struct rfm_events {
	struct rfm_ext_record *ring;	/* constant: the records, NULL if the card has none */
	dma_addr_t base;		/* constant: where the card finds them */
	unsigned int order;		/* constant: log2 of their number */
	bool running;			/* the card writes records */
	bool masked;			/* under irq.lock: dispatch.work takes the records */
	bool doubted;			/* set anywhere: an interrupt may have told of its stop */
	bool retried;			/* enabled again after a fault, and nothing came since */
	bool stopped;			/* it stopped again: it is off for good; read anywhere */
	u32 types;			/* what EVENT_TYPES holds */
	u32 moderation_count;		/* records that wait for one interrupt */
	u32 moderation_time;		/* ns between two interrupts */
	u64 position;			/* records taken so far */
	u64 released;			/* and how many of them the card knows of */
	u64 first;			/* @position when the ring was enabled */
	u64 number;			/* the last event that a record told of, since then */
	u64 missed;			/* @lost, and how many were missing between two records */
	u64 dropped;			/* rfm_events_dropped(), when the card was asked last */
	u64 lost;			/* events that the card dropped before it was enabled */
	u64 told;			/* rfm_events_missing() when all queues were told of it */
};

/* With neither nothing interrupts; PCI_ENABLE is set as it is at reset. */
#define RFM_INTCSR_ENABLES	(RFM_INTCSR_LOCAL_ENABLE | RFM_INTCSR_DMA0_ENABLE)

/* The DMA engine: under irq.lock, but for what says otherwise. */
struct rfm_dma {
	bool none;			/* constant: it is not ours to start, no threshold is set */
	u32 threshold[2];		/* bytes from which on it is used; set under card->lock */
	size_t slice_max;			/* constant: bytes in a slice */
	unsigned int pieces;		/* constant: the pages that these may be in */
	struct rfm_dma_descriptor *chain;	/* constant, what it points to is that of @active */
	u32 chain_base;			/* constant: where the card finds it */
	unsigned int requests;		/* hw.lock: reads and writes, also by programmed I/O */
	size_t pinned;			/* hw.lock: bytes of slices */
	wait_queue_head_t wait;		/* for less of these */
	struct list_head queue;		/* requests with slices that are ready for the engine */
	struct list_head failed;	/* requests that failed, with slices not to be moved */
	struct work_struct end_failed;	/* ends these */
	struct rfm_dma_short *small;	/* constant: for what it moves at once; NULL: nothing */
	bool quiet;			/* it does not interrupt, see rfm_dma_move_at_once() */
	struct rfm_slice *active;	/* the slice that it moves, or NULL */
	unsigned int ticks_left;	/* of @watchdog, before the card is lost */
	struct delayed_work watchdog;	/* looks after @active when no interrupt comes */
	u64 operations;			/* slices moved */
	u64 bytes;			/* in them */
	u64 errors;			/* those that failed, short ones too */
};

/* Memory that the card may use for a command. */
struct rfm_pages {
	struct page **pages;		/* @count of them */
	unsigned int count;
	u32 offset;			/* where in the first the bytes begin */
	u32 bytes;
	enum dma_data_direction direction;
	bool mapped;			/* for the card; then all below is what for */
	struct sg_table table;
	__le64 *list;			/* bus addresses of RFM_EXT_PAGE bytes each */
	size_t list_size;		/* bytes */
	dma_addr_t list_at;
};

/* One use of a slot of the request table, see hw/requests.c. */
struct rfm_command {
	struct rfm_ext_request request;	/* what is asked; then NODE and OLD as the card says */
	struct rfm_pages *pages;	/* those of it alone, which end with it, or NULL */
	bool asks;			/* another node: it may take long */
	u32 generation;			/* of the table that it is for; 0: any, then which it was */
	/* It has ended: under requests.lock, any context. May free it. NULL: @end is completed */
	void (*ended)(struct rfm_command *command);
	struct completion end;
	int error;			/* when it has ended: -ENODEV, -EIO; or 0, and */
	u32 result;			/* enum rfm_ext_request_result */
	unsigned int slot;
};

/* The request table. */
struct rfm_requests {
	struct rfm_ext_request *table;	/* constant: NULL if the card has none */
	dma_addr_t base;		/* constant: where the card finds it */
	spinlock_t lock;		/* all below */
	bool running;
	u32 generation;			/* of what the card knows: not 0, another after a fault */
	DECLARE_BITMAP(begun, RFM_EXT_REQUESTS);	/* slots that the card has */
	struct rfm_command *commands[RFM_EXT_REQUESTS];	/* of these */
	unsigned int asked;		/* how many of them ask; read anywhere */
	wait_queue_head_t room;		/* for less of these */
	struct delayed_work watchdog;	/* looks after them */
};

/* A card's hardware: what is used between rfm_card_enter() and rfm_card_exit(). */
struct rfm_hw {
	/* Of registers that are used together: NTD, NTN and NIC; LCSR1; those of the extension. */
	spinlock_t lock;
	struct srcu_struct srcu;	/* read sections are users of the hardware */
	bool gone;			/* no more hardware; set under irq.lock, read anywhere */
	bool lost;			/* under irq.lock: monitors are to be told so */
	struct work_struct gone_work;	/* wakes who waits, removes the mappings, stops DMA */
	struct work_struct reprobe_work;	/* after a reset or a sleep */

	/* Constant from rfm_probe() on: */
	struct rfm_card *card;		/* whose it is, for the layers above */
	struct device *dev;		/* of the card, for messages */
	struct pci_dev *pdev;		/* valid until rfm_remove() returns */
	void __iomem *runtime;		/* BAR0 */
	void __iomem *control;		/* BAR2 */
	void __iomem *memory;		/* BAR3 */
	phys_addr_t memory_phys;	/* bus address of BAR3, what mappings show */
	void __iomem *ext;		/* the extension block, NULL on a card without */
	u32 features;			/* RFM_EXT_FEATURE_*, 0 without it */
	u64 memory_size;		/* bytes on the card */
	u64 window_size;		/* bytes of them that BAR3 shows */
	u8 node;
	u8 board_revision;		/* BRV */
	u16 build;			/* BRB */
	char pci_name[sizeof_field(struct rfm_info, pci_name)];

	/* Written under @lock, but for RFM_IOC_REG under card->lock too; read anywhere: */
	u64 window_offset;		/* where in the memory the window begins */
	bool swaps_differ;		/* of the two byte swaps, one is on */

	struct rfm_irq irq;
	struct rfm_events events;
	struct rfm_dma dma;
	struct rfm_requests requests;
};

/* main.c: on which all work is done, */
extern struct workqueue_struct *rfm_wq;
/* but for the ends of asynchronous requests, which somebody waits for */
extern struct workqueue_struct *rfm_dma_wq;

/* The position of an event that did not come through the event ring. */
#define RFM_POSITION_NONE	U64_MAX

/* What the card tells, by LISR or by a record of its event ring. */
struct rfm_record {
	u64 position;			/* how many records have been taken with it */
	u32 value;			/* MATCH, STALE, FRESH: slot; RFM_RECORD_FENCE: ticket */
	struct rfm_event event;		/* what applications get of it, its type the record's */
};

/* They exist on a card with the extension block only: LISR knows nothing of them. */
#define RFM_EVENT_EXTENSION	((RFM_EVENT_ALL | RFM_EVENT_WATCHED) & \
				 ~(RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1))

/* An interrupt handler may do so much: events, and looks at those who may wait for them. */
#define RFM_AT_ONCE	4
#define RFM_NO_LIMIT	UINT_MAX

/* Is what is left of a budget the work item's? */
static inline bool rfm_may_sleep(unsigned int budget)
{
	return budget > RFM_AT_ONCE;
}

/* hw/pci.c: what the PCI device shows */
int rfm_hw_find(struct rfm_hw *hw);
void rfm_hw_leave(struct rfm_hw *hw);
void rfm_led_set(struct rfm_hw *hw, bool lit);

/* hw/irq.c: LISR, LIER, the FIFOs */
irqreturn_t rfm_irq(int irq, void *data);
int rfm_irq_take(struct rfm_hw *hw, u32 types, unsigned int budget);
void rfm_irq_take_latched(struct rfm_hw *hw);
void rfm_irq_start(struct rfm_hw *hw);
bool rfm_irq_mask(struct rfm_hw *hw);
void rfm_irq_status(struct rfm_hw *hw, struct rfm_info *info);
void rfm_irq_route(struct rfm_hw *hw, u32 types);
void rfm_irq_discard(struct rfm_hw *hw, u32 types);
void rfm_irq_open(struct rfm_hw *hw, u32 types);

/* hw/events.c: the event ring */
void rfm_events_alloc(struct rfm_hw *hw);
void rfm_events_start(struct rfm_hw *hw);
void rfm_events_stop(struct rfm_hw *hw);
irqreturn_t rfm_events_irq(int irq, void *data);
bool rfm_events_take_up(struct rfm_hw *hw, bool *requests);
void rfm_events_mask(struct rfm_hw *hw, bool masked);
int rfm_events_take(struct rfm_hw *hw, unsigned int budget);
void rfm_events_taken(struct rfm_hw *hw);
bool rfm_events_untold(const struct rfm_hw *hw);
void rfm_events_check(struct rfm_hw *hw);
void rfm_events_select(struct rfm_hw *hw, u32 types);
u64 rfm_events_position(struct rfm_hw *hw);
u64 rfm_events_dropped(struct rfm_hw *hw);
u64 rfm_events_missing(const struct rfm_hw *hw);
void rfm_events_moderate(struct rfm_hw *hw, u32 count, u32 time_ns);

/* hw/requests.c: the request table */
int rfm_pages_map(struct rfm_hw *hw, struct rfm_pages *pages);
void rfm_pages_unmap(struct rfm_hw *hw, struct rfm_pages *pages);
void rfm_pages_forget(struct rfm_pages *pages);
void rfm_requests_init(struct rfm_hw *hw);
void rfm_requests_alloc(struct rfm_hw *hw);
void rfm_requests_start(struct rfm_hw *hw);
void rfm_requests_stop(struct rfm_hw *hw);
void rfm_requests_serve(struct rfm_hw *hw);
bool rfm_requests_room(const struct rfm_hw *hw, bool asks);
bool rfm_requests_work(struct rfm_hw *hw);
int rfm_requests_begin(struct rfm_hw *hw, struct rfm_command *command);
bool rfm_requests_look(struct rfm_hw *hw, const struct rfm_command *command);
void rfm_requests_cancel(struct rfm_hw *hw, const struct rfm_command *command);
void rfm_requests_barrier(struct rfm_hw *hw);

/* What the hardware needs of the layers above, which get their card back. */
bool rfm_card_enter(struct rfm_card *card, int *idx);
void rfm_card_exit(struct rfm_card *card, int idx);
void rfm_regions_fault(struct rfm_card *card);
void rfm_regions_unmap(struct rfm_card *card);
void rfm_card_lost(struct rfm_card *card);
bool rfm_card_answers(struct rfm_card *card);
int rfm_card_check(struct rfm_card *card);
void rfm_dispatch_irq(struct rfm_card *card);
void rfm_dispatch_later(struct rfm_card *card);
bool rfm_dispatch_fits(struct rfm_card *card, const struct rfm_record *record,
		       unsigned int budget);
unsigned int rfm_dispatch(struct rfm_card *card, struct rfm_record *record);
void rfm_dispatch_route(struct rfm_card *card);
void rfm_queues_wake(struct rfm_card *card);
bool rfm_dma_serve(struct rfm_card *card, u32 intcsr);

/* Does BIGEND say one thing for loads and stores, and another for DMA? */
static inline bool rfm_swaps_differ(u32 bigend)
{
	return !(bigend & RFM_BIGEND_PIO) != !(bigend & RFM_BIGEND_DMA0);
}

/* A register that is never all ones; a lost card reads as 0. Under irq.lock. */
static inline u32 rfm_hw_read(struct rfm_hw *hw, const void __iomem *reg)
{
	u32 value = readl(reg);

	if (value != RFM_ALL_ONES)
		return value;
	rfm_card_lost(hw->card);
	return 0;
}

/* io/dma.c: the DMA engine, which is part of struct rfm_hw */
extern const struct attribute_group rfm_dma_group;
void rfm_dma_init(struct rfm_card *card);
int rfm_dma_alloc(struct rfm_card *card);
void rfm_dma_stop(struct rfm_card *card);
void rfm_dma_exit(struct rfm_card *card);
irqreturn_t rfm_dma_irq(int irq, void *data);

#endif /* RFM_HW_H */
