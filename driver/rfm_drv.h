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
 *                  card->dev; it ends with the last open file, mapping and
 *                  listener, which may be long after the hardware has gone
 *
 * The character device holds the reference for open files (and, through
 * them, mappings); a listener holds one of its own.
 *
 * card->gone parts the two. It is set once, under card->irq_lock, by
 * rfm_card_set_gone(), and never cleared. Process context touches the
 * hardware only between rfm_card_enter() and rfm_card_exit(), an SRCU read
 * section that can be entered only while the card is not gone. No section
 * waits for user space or touches user memory, so none lasts longer than a
 * few hundred register accesses. What runs under card->irq_lock, the
 * interrupt handler above all, tests card->gone there instead.
 *
 * rfm_remove() therefore: deletes the device node, sets gone (which wakes
 * every sleeper), masks the card at once (its interrupt would now be nobody's,
 * and the line may be shared), waits for the SRCU sections, removes all
 * mappings (page faults insert pages only inside a section, so none comes
 * back), and returns; devres then frees the interrupt and unmaps the BARs.
 *
 * A card that was pulled out answers every read with ones (some hosts: with
 * zeros). Whoever notices calls rfm_card_lost(): the same gone flag, with the
 * mappings removed by a work item, until the PCI core unbinds us.
 *
 * Locks, outer to inner
 * ---------------------
 *   listener->read_lock   mutex: one reader at a time moves a queue's tail
 *   card->ring_test_lock  mutex: one ring test at a time
 *   card->srcu            see above
 *   card->reg_lock        spinlock: the NTD, NTN, NIC sequence; LCSR1, which
 *                         is only ever changed by read-modify-write
 *   card->irq_lock        spinlock, taken in the interrupt handler: LISR and
 *                         LIER, the interrupt FIFOs, the list of listeners
 *                         and every listener's queue, the counters
 *
 * reg_lock and irq_lock are never held together.
 */
#ifndef RFM_DRV_H
#define RFM_DRV_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/rfm.h>
#include <linux/rfm_regs.h>

struct inode;
struct rfm_listener;
struct vm_area_struct;

/**
 * struct rfm_card - one card
 * @dev: the class device; its reference count is the card's
 * @cdev: /dev/rfmN
 * @pdev: the PCI device, valid until rfm_remove() returns
 * @id: the N of rfmN
 * @inode: owner of the one address space that all mappings belong to
 * @srcu: read sections are users of the hardware
 * @gone: no more hardware; see above
 * @gone_work: removes the mappings of a card that was lost
 * @runtime: BAR0
 * @control: BAR2
 * @memory: BAR3
 * @memory_phys: bus address of BAR3, what mappings show
 * @memory_size: bytes on the card
 * @window_size: bytes of them that BAR3 shows, from offset 0
 * @node: node id
 * @board_revision: BRV
 * @build: BRB
 * @pci_name: PCI address, kept for the time when @pdev is no longer ours
 * @reg_lock: see above
 * @ring_test_lock: see above
 * @irq_lock: see above
 * @listeners: every open listener
 * @users: how many of them listen for each type
 * @lier: what LIER holds
 * @throttled: LISR bits masked until @unthrottle_work has run
 * @unthrottle_work: takes up a burst where the interrupt handler left it
 * @lisr_seen: latched bits of LISR seen so far
 * @irqs: interrupts served
 * @sync_losses: interrupts that told of a lost signal
 */
struct rfm_card {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	int id;
	struct inode *inode;

	struct srcu_struct srcu;
	bool gone;
	struct work_struct gone_work;

	void __iomem *runtime;
	void __iomem *control;
	void __iomem *memory;
	phys_addr_t memory_phys;

	u64 memory_size;
	u64 window_size;
	u8 node;
	u8 board_revision;
	u16 build;
	char pci_name[sizeof_field(struct rfm_info, pci_name)];

	spinlock_t reg_lock;
	struct mutex ring_test_lock;

	spinlock_t irq_lock;
	struct list_head listeners;
	unsigned int users[RFM_EVENT_TYPES];
	u32 lier;
	u32 throttled;
	struct work_struct unthrottle_work;
	u32 lisr_seen;
	u64 irqs;
	u64 sync_losses;
};

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

/* rfm_chrdev.c: /dev/rfmN */
#define RFM_MINORS	256

extern struct class rfm_class;
int rfm_chrdev_init(void);
void rfm_chrdev_exit(void);
int rfm_chrdev_add(struct rfm_card *card);
void rfm_chrdev_del(struct rfm_card *card);

/* rfm_io.c: read and write */
ssize_t rfm_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t rfm_write_iter(struct kiocb *iocb, struct iov_iter *from);
loff_t rfm_llseek(struct file *file, loff_t offset, int whence);

/* rfm_mmap.c */
int rfm_mmap(struct file *file, struct vm_area_struct *vma);

/* rfm_send.c: network interrupts out, ring test */
int rfm_send(struct rfm_card *card, const struct rfm_send *args);
int rfm_ring_test(struct rfm_card *card, struct rfm_ring_test *args);

/* rfm_irq.c: the interrupt side of the card */
irqreturn_t rfm_irq(int irq, void *data);
void rfm_irq_unthrottle(struct work_struct *work);
void rfm_irq_start(struct rfm_card *card);
void rfm_irq_stop(struct rfm_card *card);
int rfm_irq_status(struct rfm_card *card, struct rfm_info *info);
int rfm_irq_add_listener(struct rfm_card *card, struct rfm_listener *listener,
			 u32 types, bool discard);
void rfm_irq_del_listener(struct rfm_card *card, struct rfm_listener *listener);

/* rfm_listen.c: event descriptors */

/**
 * struct rfm_listener - one descriptor made by RFM_IOC_LISTEN
 * @node: in card->listeners
 * @card: holds a reference
 * @types: mask of RFM_EVENT_BIT(), 0 until it is in the list
 * @wait: readers and pollers
 * @read_lock: one reader at a time
 * @seq: events so far, dropped ones included
 * @dropped: those that found the queue full
 * @tail: index of the oldest record; moved by readers only
 * @count: records in the queue
 * @depth: records it can hold
 * @ring: the queue
 *
 * From @seq to @count under card->irq_lock; the records themselves belong to
 * the reader once counted.
 */
struct rfm_listener {
	struct list_head node;
	struct rfm_card *card;
	u32 types;
	wait_queue_head_t wait;
	struct mutex read_lock;
	u64 seq;
	u64 dropped;
	u32 tail;
	u32 count;
	u32 depth;
	struct rfm_event *ring;
};

int rfm_listen(struct rfm_card *card, const struct rfm_listen *args);
void rfm_listeners_push(struct rfm_card *card, enum rfm_event_type type,
			u32 node, u32 data, u64 time_ns);
void rfm_listeners_wake(struct rfm_card *card);

#endif /* RFM_DRV_H */
