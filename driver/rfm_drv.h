/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rfm - driver for 5565 reflective-memory cards: what its files share
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
 *   card->config_lock     mutex: the settings, see rfm_settings.h
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
#ifndef RFM_DRV_H
#define RFM_DRV_H

#include <linux/bitmap.h>
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/rfm.h>
#include <linux/rfm_regs.h>

#include "rfm_settings.h"

struct eventfd_ctx;
struct inode;
struct rfm_listener;
struct rfm_slice;
struct rfm_watch_range;
struct rfm_watcher;
struct vm_area_struct;

/**
 * struct rfm_end - where a hold begins or ends in a plane, see rfm_cover.c
 * @node: in card->ends, in the order of @key
 * @key: granule, and which of both
 * @below: of the subtree of @node: its sum, and the least of the sums along it
 */
struct rfm_end {
	struct rb_node node;
	u32 key;
	struct rfm_below {
		int sum;
		int least;
	} below;
};

/**
 * struct rfm_hold - somebody needs a range of some planes on
 * @first: granule
 * @end: the granule behind the last
 * @planes: mask of RFM_HOLD(); 0: only keeps the window where it is
 * @held: between rfm_subscription_hold() and rfm_subscription_drop()
 * @base: the window may move under it
 * @ends: in each of its planes
 */
struct rfm_hold {
	u32 first;
	u32 end;
	u32 planes;
	bool held;
	bool base;
	struct rfm_end ends[RFM_PLANES][2];
};

#define RFM_HOLD(plane)	(1u << (plane))

/**
 * struct rfm_events - the event ring
 * @ring: the records, NULL if the card has no event ring
 * @base: where the card finds them
 * @order: log2 of their number
 * @msix: the card has interrupts of its own for them
 * @running: the card writes records
 * @masked: card->dispatch_work takes the records, the card does not interrupt for
 *	them; under card->irq_lock
 * @doubted: an interrupt may have told that the ring has stopped
 * @retried: the ring was enabled again after a fault and nothing came since
 * @stopped: it stopped again: it is off for good
 * @types: what EVENT_TYPES holds
 * @moderation_count: records that wait for one interrupt
 * @moderation_time: ns, between two interrupts
 * @position: records taken so far
 * @released: and how many of them the card knows of
 * @first: what @position was when the ring was enabled
 * @number: the last event that a record told of, since then
 * @missed: how many were missing between two records, since then
 * @dropped: how many the card has said to be, when it was asked last
 * @lost: events that the card had dropped before it was enabled
 * @told: what rfm_events_missing() was when all queues were told of it
 */
struct rfm_events {
	struct rfm_ext_record *ring;
	dma_addr_t base;
	unsigned int order;
	bool msix;
	bool running;
	bool masked;
	bool doubted;
	bool retried;
	bool stopped;
	u32 types;
	u32 moderation_count;
	u32 moderation_time;
	u64 position;
	u64 released;
	u64 first;
	u64 number;
	u64 missed;
	u64 dropped;
	u64 lost;
	u64 told;
};

/**
 * struct rfm_dispatch_lock - a mutex that an interrupt handler can try to take
 * @free: no mutex, because trying to take one is for processes only
 * @dep_map: what lockdep knows of it
 */
struct rfm_dispatch_lock {
	struct semaphore free;
	struct lockdep_map dep_map;
};

/**
 * struct rfm_slot - who has a slot of the card
 * @owner: NULL when its records are nobody's
 * @range: whose silence it tells of, NULL if it compares
 * @kept: room for its last record
 * @stale: the last that its owner was told is that @range fell silent
 * @changes: counts owners, and what they were told
 */
struct rfm_slot {
	struct rfm_watcher *owner;
	const struct rfm_watch_range *range;
	struct rfm_kept *kept;
	bool stale;
	u64 changes;
};

/**
 * struct rfm_dma - the DMA engine
 * @least: bytes from which on a transfer is made by DMA, 0: none; by RFM_DMA_READ
 *	and RFM_DMA_WRITE
 * @most: bytes in a slice
 * @pieces: the pages that these may be in
 * @chain: the descriptors of @active
 * @chain_base: where the card finds them
 * @lost: the engine may go on with them
 * @lock: see above
 * @requests: reads and writes of all files that have not ended, those by
 *	programmed I/O included
 * @pinned: bytes that slices have taken of what the card has for them
 * @wait: for less
 * @queue: requests with slices that are ready for the engine
 * @failed: requests that have failed, with slices that are not to be moved
 * @end_failed: ends these
 * @active: the slice that it moves, or NULL
 * @looks: how often @watch looks after @active before the card is lost
 * @watch: looks after it when its interrupt does not come
 * @operations: slices moved
 * @bytes: in them
 * @errors: those that failed
 *
 * @requests and @pinned under @lock, from @queue on under card->irq_lock.
 */
struct rfm_dma {
	u32 least[2];
	size_t most;
	unsigned int pieces;
	struct rfm_dma_descriptor *chain;
	u32 chain_base;
	bool lost;
	spinlock_t lock;
	unsigned int requests;
	size_t pinned;
	wait_queue_head_t wait;
	struct list_head queue;
	struct list_head failed;
	struct work_struct end_failed;
	struct rfm_slice *active;
	unsigned int looks;
	struct delayed_work watch;
	u64 operations;
	u64 bytes;
	u64 errors;
};

/**
 * struct rfm_card - one card
 * @dev: the class device; its reference count is the card's
 * @cdev: /dev/rfmN
 * @pdev: the PCI device, valid until rfm_remove() returns
 * @id: the N of rfmN
 * @inode: owner of the one address space that all mappings belong to
 * @srcu: read sections are users of the hardware
 * @gone: no more hardware; see above
 * @lost: monitors are to be told so
 * @gone_work: wakes who waits, removes the mappings and stops the DMA engine
 * @runtime: BAR0
 * @control: BAR2
 * @memory: BAR3
 * @memory_phys: bus address of BAR3, what mappings show
 * @memory_size: bytes on the card
 * @window_size: bytes of them that BAR3 shows
 * @window_offset: where in the memory the window begins
 * @node: node id
 * @board_revision: BRV
 * @build: BRB
 * @pci_name: PCI address, kept for the time when @pdev is no longer ours
 * @ext: the extension block, NULL on a card without
 * @features: RFM_EXT_FEATURE_*, 0 without it
 * @base_policy: RFM_BASE_*, what the card receives that nobody subscribed to
 * @base: the base masks, a set for each plane
 * @clock_domain: of the card's clock
 * @dma: the DMA engine
 * @reg_lock: see above
 * @ext_lock: see above
 * @ring_test_lock: see above
 * @snapshot_lock: see above
 * @verify_lock: see above
 * @subscribe_lock: see above
 * @ends: where holds begin and end, for each plane; see rfm_cover.c
 * @holds: how many there are, those of @base not counted
 * @holders: who there is, struct rfm_holder
 * @base_holder: the first of them, for @base
 * @holder_ids: how many others there have been
 * @holder_count: how many there are of each kind
 * @config_lock: see above
 * @generation: counts changes of the settings, and resets of the counters
 * @base_generation: what it was after the last change of the base masks
 * @reset_generation: and after the last reset
 * @reset_ns: the card's clock when the counters were reset, 0: never
 * @reset_counters: what they were then
 * @reset_driver: and what the driver had counted
 * @notes: what monitors are still to be told of
 * @fence_lock: see above
 * @fences: who waits for a fence, in the order of their tickets
 * @dispatch_lock: see above
 * @dispatch_work: delivers what an interrupt handler has left
 * @queues: every open event descriptor
 * @queued: the sum of their depths
 * @listening: how many of @listeners there are
 * @listeners: those made by RFM_IOC_LISTEN
 * @users: how many of them listen for each type
 * @exclusive: the types that one of them has for itself, RFM_EVENT_BIT()
 * @watches: how many were made by RFM_IOC_WATCH
 * @ranges: how many ranges they have
 * @watched: those, struct rfm_watch_range
 * @slots: the slots of the card that are taken
 * @slot: by whom
 * @next_slot: the one to be taken next, so that reuse comes late
 * @events: the event ring
 * @irq_lock: see above
 * @lier: what LIER shall hold, but for @pending
 * @pending: bits of LISR that were taken up; there is something of them to deliver
 * @lisr_seen: latched bits of LISR seen so far
 * @irqs: interrupts served
 * @sync_losses: interrupts that told of a lost signal
 * @sync_loss_ns: ktime of the last of them, 0: none
 * @resting: types that are not asked of the card for a while, RFM_EVENT_BIT()
 * @rest_position: of the last record of the event ring that may be of one of them
 * @settling: types that rested, until what the card has counted of them is compared
 *	once more
 * @waiting: types that only monitors were told of: one more for the first listener
 * @told_missed: updates that LOSS told of, of the card's counter
 * @told_conflicts: likewise
 * @dark: @rest_work looks for the light, for the card will not tell of it
 * @rest_work: ends @resting
 */
struct rfm_card {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	int id;
	struct inode *inode;

	struct srcu_struct srcu;
	bool gone;
	bool lost;
	struct work_struct gone_work;

	void __iomem *runtime;
	void __iomem *control;
	void __iomem *memory;
	phys_addr_t memory_phys;

	u64 memory_size;
	u64 window_size;
	u64 window_offset;
	u8 node;
	u8 board_revision;
	u16 build;
	char pci_name[sizeof_field(struct rfm_info, pci_name)];

	void __iomem *ext;
	u32 features;
	u32 base_policy;
	u32 clock_domain;

	struct rfm_dma dma;

	spinlock_t reg_lock;
	spinlock_t ext_lock;
	struct mutex ring_test_lock;
	struct mutex snapshot_lock;
	struct mutex verify_lock;

	struct mutex config_lock;
	u64 generation;
	u64 base_generation;
	u64 reset_generation;
	u64 reset_ns;
	u64 reset_counters[RFM_COUNTERS];
	u64 reset_driver[RFM_A_DRIVER_MAX + 1];
	struct rfm_notes *notes;

	struct mutex subscribe_lock;
	struct rb_root ends[RFM_PLANES];
	struct rfm_set base[RFM_PLANES];
	unsigned int holds;
	struct list_head holders;
	struct rfm_holder base_holder;
	u32 holder_ids;
	unsigned int holder_count[RFM_DESCRIPTOR_KIND_LISTEN + 1];

	struct mutex fence_lock;
	struct list_head fences;

	struct rfm_dispatch_lock dispatch_lock;
	struct work_struct dispatch_work;
	struct list_head queues;
	u32 queued;
	unsigned int listening;
	struct list_head listeners;
	unsigned int users[RFM_EVENT_TYPES];
	u32 exclusive;
	unsigned int watches;
	unsigned int ranges;
	struct rb_root_cached watched;
	DECLARE_BITMAP(slots, RFM_EXT_SLOTS);
	struct rfm_slot slot[RFM_EXT_SLOTS];
	unsigned int next_slot;
	struct rfm_events events;

	spinlock_t irq_lock;
	u32 lier;
	u32 pending;
	u32 lisr_seen;
	u64 irqs;
	u64 sync_losses;
	u64 sync_loss_ns;

	u32 resting;
	u64 rest_position;
	u32 settling;
	u32 waiting;
	u64 told_missed;
	u64 told_conflicts;
	bool dark;
	struct delayed_work rest_work;
};

/* The byte swaps of programmed I/O and of DMA are one switch. */
#define RFM_BIGEND_SWAPS	(RFM_BIGEND_PIO | RFM_BIGEND_DMA0)

/* What a read of a card that is not there returns, and one that is, never. */
#define RFM_ALL_ONES	0xffffffffu

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

/* rfm_chrdev.c: /dev/rfmN */
#define RFM_MINORS	256

/**
 * struct rfm_file - an open file, however many descriptors it has
 * @card: the card
 * @mode: FMODE_READ, FMODE_WRITE
 * @holder: for descriptor-get
 * @sets: for each plane, what the file has subscribed to
 * @no_maps: its mappings hold nothing from now on
 * @fence_lost: FENCE_LOST when this file last saw it
 *
 * @sets and @no_maps under card->subscribe_lock, @fence_lost under
 * card->ext_lock.
 */
struct rfm_file {
	struct rfm_card *card;
	fmode_t mode;
	struct rfm_holder holder;
	struct rfm_set sets[RFM_PLANES];
	bool no_maps;
	u64 fence_lost;
};

static inline struct rfm_card *rfm_card_of(const struct file *file)
{
	return ((const struct rfm_file *)file->private_data)->card;
}

extern struct class rfm_class;
extern const struct rfm_holder_ops rfm_file_ops;
struct rfm_file *rfm_file_of(const struct file *filp);
int rfm_chrdev_init(void);
void rfm_chrdev_exit(void);
int rfm_chrdev_add(struct rfm_card *card);
void rfm_chrdev_del(struct rfm_card *card);

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

/* rfm_dma_pages.c, rfm_dma_request.c: reads and writes that use it */
bool rfm_dma_can(const struct iov_iter *iter);
bool rfm_dma_is_there(const struct iov_iter *iter, size_t bytes);
ssize_t rfm_request(struct kiocb *iocb, struct iov_iter *iter, size_t bytes);

/* rfm_io.c: read and write, programmed I/O */

/* Bytes before a look at who else wants something. */
#define RFM_IO_TURN	8192

size_t rfm_io_move(struct rfm_card *card, struct iov_iter *iter, loff_t pos,
		   size_t bytes, bool store, int *error);
void rfm_io_end(struct rfm_card *card);
bool rfm_io_interrupted(struct kiocb *iocb);
ssize_t rfm_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t rfm_write_iter(struct kiocb *iocb, struct iov_iter *from);
loff_t rfm_llseek(struct file *file, loff_t offset, int whence);

/* rfm_mmap.c */
int rfm_mmap(struct file *file, struct vm_area_struct *vma);

/* rfm_subscribe.c: which granules of each plane are on, and for whom */
int rfm_subscribe_start(struct rfm_card *card);
void rfm_subscribe_stop(struct rfm_card *card);
int rfm_subscription_hold(struct rfm_card *card, struct rfm_hold *hold,
			  u64 offset, u64 length, u32 planes);
void rfm_subscription_drop(struct rfm_card *card, struct rfm_hold *hold);
int rfm_hold_window(struct rfm_card *card, struct rfm_hold *hold, u64 offset,
		    u64 length, u32 planes);
int rfm_subscribe(struct rfm_file *file, struct rfm_subscribe *args);
int rfm_unsubscribe(struct rfm_file *file, struct rfm_subscribe *args);
void rfm_subscribe_close(struct rfm_file *file);

/* rfm_fence.c: wait until everything is everywhere */
#define RFM_FENCE_MS_MAX	60000
void rfm_fence_open(struct rfm_file *file);
int rfm_fence(struct rfm_file *file, struct rfm_fence_wait *args);
void rfm_fence_event(struct rfm_card *card, u32 ticket);
void rfm_fences_wake(struct rfm_card *card);

/* rfm_verify.c: what stands in the memory of every node? */
int rfm_verify(struct rfm_file *file, struct rfm_verify *args);

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

/**
 * struct rfm_ring - who is on the ring
 * @present: how many
 * @epoch: counts changes of the membership
 * @turn_ns: time once round, 0: not known yet
 * @clock_ns: the card's clock at that instant
 * @member: by node id, those too that have gone
 */
struct rfm_ring {
	u32 present;
	u32 epoch;
	u64 turn_ns;
	u64 clock_ns;
	struct rfm_member member[RFM_NODES];
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

/* rfm_dispatch.c: who delivers events, and when */
#define RFM_NO_LIMIT	UINT_MAX
void rfm_dispatch_init(struct rfm_card *card);
void rfm_dispatch_lock(struct rfm_card *card);
void rfm_dispatch_unlock(struct rfm_card *card);
void rfm_dispatch_yield(unsigned int deliveries);
void rfm_dispatch_irq(struct rfm_card *card);

/* rfm_irq.c: the interrupt side of the card */
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

/* rfm_queue.c: what all event descriptors have in common */

/* So many records at most are out of a queue, on their way to a reader. */
#define RFM_QUEUE_BATCH		16

/**
 * struct rfm_kept - room for one record that a full queue must not drop
 * @node: in the queue's kept records while @event waits for a place there
 * @event: the record
 */
struct rfm_kept {
	struct list_head node;
	struct rfm_event event;
};

/**
 * struct rfm_queue - the events of one descriptor
 * @node: in card->queues
 * @card: holds a reference
 * @wait: readers and pollers
 * @read_lock: one reader at a time
 * @lock: see below
 * @eventfd: counts records as well, or NULL
 * @by_card: events may come through the event ring
 * @ring_only: some come no other way
 * @since: records of the event ring up to that position are not for it
 * @told: how many events the card had dropped of which its reader has been told,
 *	or which were before its time
 * @seq: events so far, dropped ones included
 * @dropped: those that found the queue full
 * @depth: records it holds
 * @tail: index of the oldest record
 * @count: records in the queue
 * @reading: the oldest of them, that a reader is taking; they are not changed
 *	any more, nor do they count as held: there are @depth + RFM_QUEUE_BATCH
 *	places
 * @kept: records newer than those, that found it full; while there are any, it is
 * @mark: room for one that tells of dropped events
 * @ring: the records
 *
 * From @by_card to @told under card->dispatch_lock, from @seq on under @lock; only
 * readers move @tail.
 */
struct rfm_queue {
	struct list_head node;
	struct rfm_card *card;
	wait_queue_head_t wait;
	struct mutex read_lock;
	spinlock_t lock;
	struct eventfd_ctx *eventfd;
	bool by_card;
	bool ring_only;
	u64 since;
	u64 told;
	u64 seq;
	u64 dropped;
	u32 depth;
	u32 tail;
	u32 count;
	u32 reading;
	struct list_head kept;
	struct rfm_kept mark;
	struct rfm_event *ring;
};

int rfm_queue_init(struct rfm_queue *queue, struct rfm_card *card, u32 depth);
void rfm_queue_destroy(struct rfm_queue *queue);
void rfm_queue_add(struct rfm_queue *queue, bool by_card, bool ring_only);
void rfm_queue_push(struct rfm_queue *queue, const struct rfm_event *event,
		    bool coalesce, struct rfm_kept *kept);
void rfm_queue_describe(struct rfm_queue *queue,
			struct rfm_description *description);
void rfm_queues_tell(struct rfm_card *card);
void rfm_queues_wake(struct rfm_card *card);
ssize_t rfm_queue_read(struct file *file, char __user *buf, size_t len,
		       loff_t *pos);
__poll_t rfm_queue_poll(struct file *file, poll_table *table);

/* rfm_listen.c: what happens on the ring */

/* The position of an event that did not come through the event ring. */
#define RFM_POSITION_NONE	U64_MAX

/**
 * struct rfm_listener - one descriptor made by RFM_IOC_LISTEN
 * @queue: its events
 * @node: in card->listeners
 * @types: mask of RFM_EVENT_BIT(), 0 until it is in the list
 * @exclusive: nobody else may listen for them
 * @holder: for descriptor-get
 */
struct rfm_listener {
	struct rfm_queue queue;
	struct rfm_holder holder;
	struct list_head node;
	u32 types;
	bool exclusive;
};

int rfm_listen(struct rfm_card *card, const struct rfm_listen *args);
bool rfm_listeners_push(struct rfm_card *card, const struct rfm_event *event,
			u64 position);

/* rfm_watch.c, rfm_slots.c: interrupt on update */
int rfm_watch(struct rfm_card *card, const struct rfm_watch *args);
void rfm_watch_reset(struct rfm_card *card);
unsigned int rfm_watch_reach(struct rfm_card *card, u32 first, u32 length,
			     unsigned int most);
unsigned int rfm_watch_update(struct rfm_card *card, struct rfm_event *event,
			      u64 position);
unsigned int rfm_watch_slot(struct rfm_card *card, unsigned int index,
			    struct rfm_event *event, u64 position);
void rfm_watch_recheck(struct rfm_card *card);

#endif /* RFM_DRV_H */
