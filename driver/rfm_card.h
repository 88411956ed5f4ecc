/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rfm - driver for 5565 reflective-memory cards: the card, its life and its locks
 *
 * Lifetime
 * --------
 * Two things with different lives meet here:
 *
 *   the hardware   BARs and interrupt, managed (devres) by the PCI device;
 *                  they end when the driver is unbound or the card unplugged
 *   struct rfm_card  everything a file can reach, reference-counted by
 *                  card->dev; it ends with the last open file, mapping,
 *                  listener and watch, which may be long after the hardware
 *                  has gone
 *
 * The character device holds the reference for open files (and, through
 * them, mappings); a listener or a watch holds one of its own.
 *
 * card->gone parts the two. It is set once, under card->irq_lock, by
 * rfm_card_set_gone(), and never cleared. Process context touches the
 * hardware only between rfm_card_enter() and rfm_card_exit(), an SRCU read
 * section that can be entered only while the card is not gone. No section
 * waits for user space or touches user memory, so none lasts longer than a
 * few hundred register accesses, or than it takes to map a slice for DMA or to
 * deliver an event to all.
 * What runs under card->irq_lock, the interrupt handlers above all, tests
 * card->gone there instead.
 *
 * rfm_remove() therefore: deletes the device node, sets gone (which masks the
 * card at once: its interrupt would now be nobody's, and the line may be shared),
 * wakes every sleeper, waits for the SRCU sections, removes all mappings (page
 * faults insert pages only inside a section, so none comes back), stops the DMA
 * engine, and returns; devres then frees the interrupts and the memory that the
 * card reads and writes, and unmaps the BARs. Masking the card includes that it
 * may no longer write to the event ring.
 *
 * Reads and writes that are under way keep their file open, and through it the
 * card. Their pages are given back only when the DMA engine is known to touch
 * them no more: it has said so, or rfm_dma_stop() has taken the bus from it.
 * They end soon after that, which nobody waits for.
 *
 * A card that was pulled out answers every read with ones (some hosts: with
 * zeros). Whoever notices calls rfm_card_lost(): the same gone flag, the same work
 * item, card->gone_work, wakes, removes and stops, and then the PCI core unbinds
 * us. So is a card lost whose DMA engine does not end. One that answers again and
 * interrupts is masked by the interrupt handler.
 *
 * Locks, outer to inner
 * ---------------------
 *   queue->read_lock      mutex: one reader at a time moves a queue's tail
 *   card->ring_test_lock  mutex: one ring test at a time, and who else clears
 *                         OWN DATA
 *   card->config_lock     mutex: the settings. Each change is notified before
 *                         it is dropped, so that nobody sees half a change,
 *                         and notifications come in the order of the changes
 *   card->snapshot_lock   mutex: a snapshot of the counters, until it is read
 *   rfm_notify_lock       mutex: one notification after the other
 *   card->verify_lock     mutex: a query, until its answers are read
 *   mmap_lock             of a process: the kernel holds it when it makes,
 *                         copies and ends mappings, so none of the locks below
 *                         may be held where user memory is touched
 *   card->subscribe_lock  mutex: what is held of the memory, the sets of the
 *                         files and of the base, who there is (rfm_holders.c),
 *                         and where the window is
 *   rfm_cards_lock        mutex: the list of cards, nothing inside it
 *   card->dispatch_lock   sleeps: who is told of events, and what they are told:
 *                         the listeners, the tree of watched ranges and who has
 *                         which slot, the event ring and its registers, what
 *                         monitors are to be told of. Held while an event is
 *                         delivered to all, with a chance for others to run
 *                         every now and then. The interrupt handlers try to take
 *                         it, and do not wait
 *   card->fence_lock      mutex: the waiters for fences, and FENCE_BEGIN
 *   card->srcu            see above. A section may also be entered first and take
 *                         fence_lock inside: no mutex is held where a grace
 *                         period is waited for
 *   card->reg_lock        spinlock: the NTD, NTN, NIC sequence; LCSR1, which
 *                         is only ever changed by read-modify-write
 *   card->ext_lock        spinlock: registers of the extension block that
 *                         work together: RANGE, SLOT, WRITER, MULTICAST, QUERY,
 *                         and FENCE_BEGIN with its ticket
 *   card->dma.lock        spinlock: what requests have pinned, the window and
 *                         the order of bytes, which stay while any read or
 *                         write is under way
 *   card->irq_lock        spinlock, taken in the interrupt handlers: the DMA
 *                         engine and the slices that it has, LISR and LIER,
 *                         the interrupt FIFOs, INT_ENABLE and INT_STATUS, the
 *                         counters of interrupts. Nobody delivers under it
 *   queue->lock           spinlock, taken in the interrupt handlers: the records of
 *                         a queue
 *
 * No two of the spinlocks are ever held together.
 */
#ifndef RFM_CARD_H
#define RFM_CARD_H

#include <linux/bitmap.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/srcu.h>
#include <linux/uio.h>

#include <linux/rfm.h>
#include <linux/rfm_netlink.h>
#include <linux/rfm_regs.h>

#include "rfm_dispatch.h"
#include "rfm_holds.h"
#include "rfm_hw.h"

struct inode;
struct rfm_notes;

/* One card. */
struct rfm_card {
	struct device dev;		/* its reference count is the card's */
	struct cdev cdev;		/* /dev/rfmN */
	struct pci_dev *pdev;		/* valid until rfm_remove() returns */
	int id;				/* the N of rfmN */
	struct inode *inode;		/* owner of the address space of all mappings */

	struct srcu_struct srcu;	/* read sections are users of the hardware */
	bool gone;			/* no more hardware; see above */
	bool lost;			/* monitors are to be told so */
	struct work_struct gone_work;	/* wakes who waits, removes the mappings, stops DMA */

	/* Set by rfm_probe(): */
	void __iomem *runtime;		/* BAR0 */
	void __iomem *control;		/* BAR2 */
	void __iomem *memory;		/* BAR3 */
	phys_addr_t memory_phys;	/* bus address of BAR3, what mappings show */
	void __iomem *ext;		/* the extension block, NULL on a card without */
	u32 features;			/* RFM_EXT_FEATURE_*, 0 without it */
	u32 clock_domain;		/* of the card's clock */
	u64 memory_size;		/* bytes on the card */
	u64 window_size;		/* bytes of them that BAR3 shows */
	u8 node;
	u8 board_revision;		/* BRV */
	u16 build;			/* BRB */
	char pci_name[sizeof_field(struct rfm_info, pci_name)];

	u64 window_offset;		/* where in the memory the window begins */
	struct rfm_dma dma;

	spinlock_t reg_lock;
	spinlock_t ext_lock;
	struct mutex ring_test_lock;
	struct mutex snapshot_lock;
	struct mutex verify_lock;

	struct mutex config_lock;
	u64 generation;			/* counts changes of settings, and resets of counters */
	u64 base_generation;		/* after the last change of the base masks */
	u64 reset_generation;		/* and after the last reset */
	u64 reset_ns;			/* the card's clock at the reset, 0: never */
	u64 reset_counters[RFM_COUNTERS];	/* what they were then */
	u64 reset_driver[RFM_A_DRIVER_MAX + 1];	/* and what the driver had counted */
	struct rfm_notes *notes;	/* what monitors are still to be told of */

	struct mutex subscribe_lock;
	struct rb_root ends[RFM_PLANES];	/* of holds, see rfm_cover.c */
	struct rfm_set base[RFM_PLANES];	/* the base masks */
	u32 base_policy;		/* RFM_BASE_*, what is received without a subscription */
	unsigned int holds;		/* how many there are, those of @base not counted */
	struct list_head holders;	/* struct rfm_holder */
	struct rfm_holder base_holder;	/* the first of them, for @base */
	u32 holder_ids;			/* how many others there have been */
	unsigned int holder_count[RFM_DESCRIPTOR_KIND_LISTEN + 1];	/* by kind */

	struct mutex fence_lock;
	struct list_head fences;	/* who waits, in the order of their tickets */

	struct rfm_dispatch_lock dispatch_lock;
	struct work_struct dispatch_work;	/* delivers what an interrupt handler has left */
	struct list_head queues;	/* every open event descriptor */
	u32 queued;			/* the sum of their depths */
	struct list_head listeners;	/* made by RFM_IOC_LISTEN */
	unsigned int listening;		/* how many */
	unsigned int users[RFM_EVENT_TYPES];	/* of them, for each type */
	u32 exclusive;			/* the types that one has for itself, RFM_EVENT_BIT() */
	unsigned int watches;		/* made by RFM_IOC_WATCH */
	unsigned int ranges;		/* of them */
	struct rb_root_cached watched;	/* struct rfm_watch_range */
	DECLARE_BITMAP(slots, RFM_EXT_SLOTS);	/* those that are taken, */
	struct rfm_slot slot[RFM_EXT_SLOTS];	/* and by whom */
	unsigned int next_slot;		/* to be taken, so that reuse comes late */
	struct rfm_events events;

	spinlock_t irq_lock;
	u32 lier;			/* what LIER shall hold, but for @pending */
	u32 pending;			/* of LISR, taken up: there is something to deliver */
	u32 lisr_seen;			/* latched bits of LISR seen so far */
	u64 irqs;			/* interrupts served */
	u64 sync_losses;		/* that told of a lost signal */
	u64 sync_loss_ns;		/* ktime of the last of them, 0: none */

	/* Under dispatch_lock again: */
	u32 resting;			/* types not asked of the card for a while */
	u64 rest_position;		/* of the last record that may be of one of them */
	u32 settling;			/* types that rested, to be compared once more */
	u32 waiting;			/* only monitors heard of: one for the first listener */
	u64 told_missed;		/* of the card's counter, updates that LOSS told of */
	u64 told_conflicts;		/* likewise */
	bool dark;			/* @rest_work looks for the light */
	struct delayed_work rest_work;	/* ends @resting */
};

/* An open file, however many descriptors it has. */
struct rfm_file {
	struct rfm_card *card;
	fmode_t mode;			/* FMODE_READ, FMODE_WRITE */
	struct rfm_holder holder;	/* for descriptor-get */
	/* Under card->subscribe_lock: */
	struct rfm_set sets[RFM_PLANES];	/* what it has subscribed to */
	bool no_maps;			/* its mappings hold nothing from now on */
	/* Under card->ext_lock: */
	u64 fence_lost;			/* FENCE_LOST when this file last saw it */
};

static inline struct rfm_card *rfm_card_of(const struct file *file)
{
	return ((const struct rfm_file *)file->private_data)->card;
}

#define RFM_MINORS	256

/* rfm_card.c: life and death */
int rfm_card_init_fs(void);
void rfm_card_exit_fs(void);
struct rfm_card *rfm_card_alloc(struct pci_dev *pdev);
bool rfm_card_enter(struct rfm_card *card, int *idx);
void rfm_card_exit(struct rfm_card *card, int idx);
void rfm_card_set_gone(struct rfm_card *card);
void rfm_card_drain(struct rfm_card *card);
bool rfm_card_answers(struct rfm_card *card);
void rfm_card_lost(struct rfm_card *card);
int rfm_card_check(struct rfm_card *card);
void rfm_cards_add(struct rfm_card *card);
void rfm_cards_del(struct rfm_card *card);
struct rfm_card *rfm_cards_get(unsigned int id);
void rfm_cards_each(void (*call)(struct rfm_card *card));

/* rfm_rights.c: who may do what; the table of rights has a line for each */
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

/* rfm_settings.c: what RFM_IOC_SET_SWITCHES and card-set change */

#define RFM_SET(attr)	BIT_ULL(RFM_A_CARD_##attr)

/* A change of a card's settings. */
struct rfm_settings {
	u64 set;			/* RFM_SET() of what is to change beside @switches */
	struct rfm_switches switches;
	u32 policy;			/* RFM_POLICY_ALL or RFM_POLICY_NONE */
	const struct rfm_base_step *steps;	/* in order, after @policy */
	unsigned int step_count;
	u32 dma_least[2];		/* bytes, see RFM_DMA_READ */
	u32 moderation_count;		/* events */
	u32 moderation_time;		/* ns */
	u64 generation;			/* of the card that is to be changed */
	bool conditional;		/* change nothing if it has another one by now */
	bool wait;			/* for a ring test, before OWN DATA is cleared, or -EBUSY */
};

int rfm_settings_apply(struct rfm_card *card,
		       const struct rfm_settings *settings, unsigned int *which);
void rfm_settings_init(struct rfm_card *card);
u32 rfm_dma_least(const struct rfm_card *card, bool store);

/* rfm_switches.c: what users of a 5565 set */
int rfm_switches_get(struct rfm_card *card, struct rfm_switches *args);
int rfm_switches_set(struct rfm_card *card, const struct rfm_switches *args);
void rfm_switches_read(const struct rfm_card *card, u32 lcsr1, u32 bigend,
		       struct rfm_switches *args);
int rfm_switches_check(const struct rfm_card *card,
		       const struct rfm_switches *args, unsigned int *which);
int rfm_switches_apply(struct rfm_card *card, const struct rfm_switches *args,
		       unsigned int *which);

/* rfm_status.c: last writers, counters, ring map */

/* Who is on the ring. */
struct rfm_ring {
	u32 present;			/* how many */
	u32 epoch;			/* counts changes of the membership */
	u64 turn_ns;			/* time once round, 0: not known yet */
	u64 clock_ns;			/* the card's clock at that instant */
	struct rfm_member member[RFM_NODES];	/* by node id, those too that have gone */
};

void rfm_status_start(struct rfm_card *card);
void rfm_status_stop(struct rfm_card *card);
int rfm_writer(struct rfm_card *card, struct rfm_writer *args);
int rfm_counters(struct rfm_card *card, struct rfm_counters *args);
int rfm_ring_read(struct rfm_card *card, struct rfm_ring *ring);
int rfm_ring_map(struct rfm_card *card, struct rfm_ring_map *args);

/* rfm_send.c: network interrupts out, ring test */
int rfm_send(struct rfm_card *card, const struct rfm_send *args);
int rfm_send_set(struct rfm_card *card, const struct rfm_send_set *args);
int rfm_ring_test_lock(struct rfm_card *card, bool wait);
int rfm_ring_test(struct rfm_card *card, struct rfm_ring_test *args, bool wait);

/* rfm_verify.c: what stands in the memory of every node? */
int rfm_verify(struct rfm_file *file, struct rfm_verify *args);

#endif /* RFM_CARD_H */
