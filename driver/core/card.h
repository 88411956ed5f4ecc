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
 * hw.gone parts the two. It is set once, under irq.lock, by
 * rfm_card_set_gone() or rfm_card_lost(), and never cleared. Process context touches the
 * hardware only between rfm_card_enter() and rfm_card_exit(), an SRCU read
 * section that can be entered only while the card is not gone. No section
 * waits for user space or touches user memory, so none lasts longer than a
 * few hundred register accesses, or than it takes to map a slice for DMA or to
 * deliver an event to all.
 * What runs under irq.lock, the interrupt handlers above all, tests
 * hw.gone there instead.
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
 * They end soon after that, which nobody waits for. So it is with commands to the
 * request table, which rfm_requests_stop() ends, and with the pages of regions.
 *
 * A card that was pulled out answers every read with ones (some hosts: with
 * zeros). Whoever notices calls rfm_card_lost(): the same gone flag, the same work
 * item, hw.gone_work, wakes, removes and stops, and then the PCI core unbinds
 * us. So is a card lost whose DMA engine does not end. One that answers again and
 * interrupts is masked by the interrupt handler.
 *
 * Locks, outer to inner
 * ---------------------
 * What each of them guards stands beside the fields.
 *
 *   queue->read_lock  mutex: one reader at a time; port->read_lock likewise
 *   port->lock        mutex: the messages of a port
 *   card->probe_lock  mutex: one ring test at a time, and who else clears OWN
 *                     DATA
 *   card->verify_lock mutex: one verification at a time
 *   mmap_lock         of a process: the kernel holds it when it makes, copies and
 *                     ends mappings, so none of the locks below may be held
 *                     where user memory is touched
 *   card->lock        mutex: settings, holds, the snapshot of the counters. A
 *                     change of settings is notified before it is dropped, so
 *                     that notifications come in the order of the changes
 *   rfm_cards_lock    mutex: the list of cards and their numbers, the numbers and
 *                     the order of notifications
 *   dispatch.lock     sleeps: who is told of events, and the event ring. Held
 *                     while an event is delivered to all, with a chance for
 *                     others to run every now and then. The interrupt handlers
 *                     try to take it, and do not wait
 *   hw.srcu           see above; nobody holds a lock where a grace period is
 *                     waited for
 *   hw.lock           spinlock: registers that work together
 *   irq.lock          spinlock, taken in the interrupt handlers: the registers of
 *                     interrupts, and the DMA engine. Nobody delivers under it
 *   requests.lock     spinlock, taken in the interrupt handlers: the request table
 *   queue->lock       spinlock, taken in the interrupt handlers: the records of a
 *                     queue
 *
 * No two of the spinlocks are ever held together, but for hw.lock and then irq.lock
 * by RFM_IOC_REG.
 */
#ifndef RFM_CARD_H
#define RFM_CARD_H

#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/netlink.h>

#include <linux/rfm.h>
#include <linux/rfm_netlink.h>

#include "core/dispatch.h"
#include "core/holds.h"
#include "hw/hw.h"

/* Settings, but for those that the hardware keeps. */
struct rfm_card_config {		/* under card->lock */
	u64 generation;			/* counts changes of settings, and resets of counters */
	u64 base_generation;		/* after the last change of the base masks */
	u64 reset_generation;		/* and after the last reset */
	u64 reset_ns;			/* the card's clock at the reset, 0: never */
	u64 reset_counters[RFM_COUNTERS];	/* what they were then */
	u64 reset_driver[RFM_A_DRIVER_MAX + 1];	/* and what the driver had counted */
};

/* One card. */
struct rfm_card {
	struct device dev;		/* its reference count is the card's */
	struct cdev cdev;		/* /dev/rfmN */
	int id;				/* the N of rfmN */
	struct inode *inode;		/* owner of the address space of all mappings */
	struct rfm_hw hw;
	struct mutex lock;		/* settings, holds, the snapshot of the counters */
	struct rfm_card_config config;
	struct rfm_holds holds;
	struct mutex probe_lock;	/* a ring test, and who else clears OWN DATA */
	struct mutex verify_lock;	/* a query, until its answers are read */
	u32 look_ns;			/* how long the end of a command is looked for; any lock */
	struct rfm_dispatch dispatch;
};

/* An open file, however many descriptors it has. */
struct rfm_file {
	struct rfm_card *card;
	fmode_t mode;			/* FMODE_READ, FMODE_WRITE */
	struct rfm_holder holder;	/* for descriptor-get */
	/* Under card->lock: */
	struct rfm_set sets[RFM_PLANES];	/* what it has subscribed to */
	/* Under hw.lock: */
	u64 fence_lost;			/* FENCE_LOST when this file last saw it */
};

static inline struct rfm_card *rfm_card_of(const struct file *file)
{
	return ((const struct rfm_file *)file->private_data)->card;
}

/* Is it a range of the card's memory, and not empty? */
static inline bool rfm_range_inside(const struct rfm_card *card,
				    const struct rfm_range *range)
{
	return range->length && range->length <= card->hw.memory_size &&
	       range->offset <= card->hw.memory_size - range->length;
}

#define RFM_MINORS	256

/* core/card.c: life and death */
int rfm_card_init_fs(void);
void rfm_card_exit_fs(void);
struct rfm_card *rfm_card_alloc(struct pci_dev *pdev);
int rfm_card_leave(struct rfm_card *card, int idx);
bool rfm_regs_enter(struct rfm_card *card, int *idx);
int rfm_regs_leave(struct rfm_card *card, int idx);
void rfm_card_set_gone(struct rfm_card *card);
void rfm_card_drain(struct rfm_card *card);
extern struct mutex rfm_cards_lock;
void rfm_cards_set(struct rfm_card *card, bool known);
struct rfm_card *rfm_cards_get(unsigned int id);

/* api/rights.c: who may do what; the table of rights has a line for each */
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
	RFM_FUNCTION_REGISTERS,
	RFM_FUNCTION_SETTINGS,
	RFM_FUNCTION_COUNTERS_RESET,
	RFM_FUNCTION_REMOTE,
	RFM_FUNCTION_REMOTE_READ,
	RFM_FUNCTION_REMOTE_CHANGE,
	RFM_FUNCTION_RESYNC,
	RFM_FUNCTION_PORT,
	RFM_FUNCTION_REGION,
	RFM_FUNCTION_EXPORT,
	RFM_FUNCTIONS
};

/* core/settings.c: what RFM_IOC_SET_CONFIG and card-set change */

#define RFM_SET(attr)	BIT_ULL(RFM_A_CARD_##attr)

/* Says why not; @sentence is a literal. Returns @error. */
#define rfm_refuse(extack, attr, error, sentence) ({		\
	NL_SET_ERR_MSG_ATTR(extack, attr, sentence);		\
	error;							\
})

/* The range in which stores do not trap. */
struct rfm_burst {
	u64 offset;			/* bytes */
	u64 length;			/* 0: there is none */
	u32 period;			/* ns between two scans */
};

/* A change of a card's settings. */
struct rfm_settings {
	struct netlink_ext_ack *extack;	/* told what is wrong, or NULL */
	struct nlattr **attrs;		/* of the request, or NULL */
	u64 set;			/* RFM_SET() of what is to change beside @config */
	struct rfm_config config;
	u32 policy;			/* RFM_POLICY_ALL or RFM_POLICY_NONE */
	const struct rfm_base_step *steps;	/* in order, after @policy */
	unsigned int step_count;
	u32 dma_threshold[2];		/* bytes, see RFM_DMA_READ */
	u32 moderation_count;		/* events */
	u32 moderation_time;		/* ns */
	struct rfm_burst burst;
	u64 generation;			/* of the card that is to be changed */
	bool conditional;		/* change nothing if it has another one by now */
	bool ioctl;			/* can be begun anew: a signal ends waiting */
};

/* The same of a setting: @attr is RFM_A_CARD_*. */
#define rfm_refuse_setting(settings, attr, error, sentence)	\
	rfm_refuse((settings)->extack, (settings)->attrs ?	\
		   (settings)->attrs[attr] : NULL, error, sentence)

int rfm_settings_apply(struct rfm_card *card,
		       const struct rfm_settings *settings);
void rfm_settings_init(struct rfm_card *card);
u32 rfm_dma_threshold(const struct rfm_card *card, bool store);
int rfm_config_get(struct rfm_file *file, void *arg);
int rfm_config_set(struct rfm_file *file, void *arg);
int rfm_config_read(struct rfm_card *card, struct rfm_config *args);

/* core/burst.c: the range in which stores do not trap */
int rfm_burst_read(struct rfm_card *card, struct rfm_burst *burst);
void rfm_burst_flush(struct rfm_card *card);
int rfm_burst_check(const struct rfm_card *card,
		    const struct rfm_settings *settings);
int rfm_burst_change(struct rfm_card *card, const struct rfm_settings *settings);
void rfm_burst_restore(struct rfm_card *card, const struct rfm_burst *old,
		       const struct rfm_settings *settings);

/* core/status.c: what the card is, last writers, counters, ring map */

void rfm_status_start(struct rfm_card *card);
void rfm_status_stop(struct rfm_card *card);
int rfm_info(struct rfm_card *card, struct rfm_info *info);
int rfm_writer(struct rfm_file *file, void *arg);
int rfm_counters_read(struct rfm_card *card, struct rfm_counters *args);
int rfm_counters(struct rfm_file *file, void *arg);
int rfm_counters_reset(struct rfm_card *card);
int rfm_ring_map(struct rfm_file *file, void *arg);

/* core/send.c: network interrupts out, ring test */
int rfm_send(struct rfm_file *file, void *arg);
int rfm_send_set(struct rfm_file *file, void *arg);
int rfm_ring_test_lock(struct rfm_card *card, bool wait);
int rfm_ring_test(struct rfm_file *file, void *arg);

/*
 * api/chrdev.c: @arg goes back to the caller, for calls that must not fail afterwards.
 * Return: 0 or -EFAULT.
 */
int rfm_answer(void *arg);

/* core/remote.c: operations at one node */
int rfm_remote(struct rfm_file *file, void *arg);
int rfm_resync(struct rfm_file *file, void *arg);
int rfm_command_run(struct rfm_card *card, struct rfm_command *command);
int rfm_command_error(const struct rfm_command *command);

/* core/port.c: messages */
int rfm_port(struct rfm_file *file, void *arg);

/* core/region.c: memory of processes in the hands of other nodes */
int rfm_region(struct rfm_file *file, void *arg);
unsigned int rfm_region_written(struct rfm_card *card, struct rfm_record *record);

/* core/registers.c: registers in the hands of a program */
int rfm_reg(struct rfm_file *file, void *arg);

/* core/verify.c: what stands in the memory of every node? */
int rfm_verify(struct rfm_file *file, void *arg);

#endif /* RFM_CARD_H */
