// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver for the 5565 as there were before rfm.ko, with which it shares nothing,
 * be it a header: it makes the accesses that drivers in the field make, in their
 * order and width. It never makes the card a bus master, as firmware had done so;
 * it knows INTx only; and it is no pci_driver: it takes every card that it finds
 * and that no other driver has.
 *
 * Loading, opening, sending, waiting, transfers and unloading are those of the
 * vendor's driver (GE, R09.00). What others do otherwise is chosen by the
 * parameter "habit".
 */

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "foreign.h"

/* BAR0 */
#define INTCSR		0x68
#define CNTRL		0x6c
#define PCIHREV		0x74
#define DMAMODE0	0x80
#define DMAPADR0	0x84
#define DMALADR0	0x88
#define DMASIZ0		0x8c
#define DMADPR0		0x90
#define DMACSR0		0xa8
#define DMADAC0		0xb4
#define LAS1BA		0xf4

/* BAR2 */
#define BRV		0x00
#define BID		0x01
#define BRB		0x02
#define NID		0x04
#define LCSR1		0x08
#define LISR		0x10
#define LIER		0x14
#define NTD		0x18
#define NTN		0x1c
#define NIC		0x1d
#define ISD(n)		(0x20 + 8 * ((n) - 1))
#define SID(n)		(0x24 + 8 * ((n) - 1))

#define GIE		0x4000
#define AUTO_CLEAR	0x8000
#define LOCAL_ACTIVE	0x8000
#define DMA_ACTIVE	0x200000
#define DMA_ENABLE	0x40000

#define CARDS		5	/* the vendor's driver takes no more */
#define QUEUE		128

/* Bits of LISR, by type. */
static const u32 lisr_bits[FOREIGN_TYPES] = {
	0x0008, 0x0001, 0x0002, 0x0004, 0x0080, 0x0100,
	0x0400, 0x0040, 0x0200, 0x0800, 0x1000, 0x2000,
};

#define BAD_DATA	5
#define SYNC_LOSS	9
#define NETWORK_EVENTS	0x008f

enum { GE, XPC, KSTAR, SOL, CERN };

static const char * const habits[] = { "ge", "xpc", "kstar", "sol", "cern" };
static char *habit = "ge";
module_param(habit, charp, 0444);
MODULE_PARM_DESC(habit, "whose interrupt handler: ge, xpc, kstar, sol, cern");
static int whose;

static ulong buffer;
module_param(buffer, ulong, 0444);
MODULE_PARM_DESC(buffer, "address of memory that the kernel does not use, for one card's DMA");

struct queue {
	u32 node[QUEUE], data[QUEUE];
	unsigned int head, count;
	bool enabled;
};

struct card {
	struct pci_dev *pdev;
	void __iomem *bridge, *control, *memory;
	struct foreign_info info;
	struct miscdevice misc;
	char name[16];
	spinlock_t lock;		/* registers of interrupts, queues */
	struct queue queue[FOREIGN_TYPES];
	wait_queue_head_t wait;
	struct mutex dma_lock;		/* also of opens */
	void *buffer;
	dma_addr_t buffer_at;
	bool dma_done;
	u32 last_size, last_direction;	/* what the engine was told last */
	unsigned int opens;
};

static struct card *cards[CARDS];

static void change(void __iomem *reg, u32 clear, u32 set)
{
	writel((readl(reg) & ~clear) | set, reg);
}

/* --- interrupts: under card->lock ------------------------------------------- */

static void enqueue(struct card *card, unsigned int type, u32 node, u32 data)
{
	struct queue *queue = &card->queue[type];
	unsigned int at = (queue->head + queue->count) % QUEUE;

	if (queue->count == QUEUE)
		return;
	queue->node[at] = node;
	queue->data[at] = data;
	queue->count++;
}

/* One entry a FIFO and interrupt; the next comes when somebody waits for it. */
static void take_up_ge(struct card *card)
{
	u32 lisr = readl(card->control + LISR);
	u32 lier = readl(card->control + LIER);
	u32 left = (lisr & lier) | GIE, data;
	unsigned int type;

	for (type = 0; type < FOREIGN_TYPES; type++) {
		u32 bit = lisr_bits[type];

		if (!(lisr & lier & bit))
			continue;
		if (type >= FOREIGN_INT1 && type <= FOREIGN_INT4) {
			change(card->control + LIER, bit, 0);
			data = readl(card->control + ISD(type));
			enqueue(card, type, readb(card->control + SID(type)),
				data);
			continue;
		}
		if (type == BAD_DATA || type == SYNC_LOSS)
			change(card->control + LIER, bit, 0);
		enqueue(card, type, 0, 0);
		left &= ~bit;
	}
	writel(left, card->control + LISR);
}

static void take_fifo(struct card *card, unsigned int type)
{
	u32 bit = lisr_bits[type], data = 0;

	do {
		if (whose != SOL)
			data = readl(card->control + ISD(type));
		enqueue(card, type, readb(card->control + SID(type)), data);
		if (whose == XPC)
			writeb(0, card->control + SID(type));
		if (whose == CERN)
			writel(0, card->control + ISD(type));
	} while (whose != XPC && readl(card->control + LISR) & bit);
}

static void take_up_others(struct card *card)
{
	u32 lisr = readl(card->control + LISR);	/* KSTAR: clears GIE */
	u32 due = lisr & readl(card->control + LIER);
	unsigned int type;

	for (type = 0; type < FOREIGN_TYPES; type++) {
		if (!(due & lisr_bits[type]))
			continue;
		if (type >= FOREIGN_INT1 && type <= FOREIGN_INT4)
			take_fifo(card, type);
		else
			enqueue(card, type, 0, 0);
	}
	if (whose == KSTAR)
		lisr = readl(card->control + LISR);
	writel((lisr & ~due) | GIE, card->control + LISR);
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct card *card = data;
	irqreturn_t ret = IRQ_NONE;
	unsigned long flags;
	u32 intcsr;

	spin_lock_irqsave(&card->lock, flags);
	intcsr = readl(card->bridge + INTCSR);
	if (intcsr & DMA_ACTIVE) {
		card->dma_done = true;
		if (whose == GE) {
			writel(intcsr & ~DMA_ENABLE, card->bridge + INTCSR);
			writeb(0x08, card->bridge + DMACSR0);
		} else {
			writeb(0x09, card->bridge + DMACSR0);	/* NI */
		}
	}
	if (intcsr & LOCAL_ACTIVE) {
		if (whose == GE)
			take_up_ge(card);
		else
			take_up_others(card);
	}
	if (intcsr & (DMA_ACTIVE | LOCAL_ACTIVE)) {
		card->info.interrupts++;
		wake_up_all(&card->wait);
		ret = IRQ_HANDLED;
	}
	readl(card->bridge + INTCSR);
	spin_unlock_irqrestore(&card->lock, flags);
	return ret;
}

static int wait_event_of(struct card *card, struct foreign_event *event)
{
	struct queue *queue;
	unsigned int at;
	long left;

	if (event->type >= FOREIGN_TYPES)
		return -EINVAL;
	queue = &card->queue[event->type];
	spin_lock_irq(&card->lock);
	if (!queue->count && queue->enabled)
		change(card->control + LIER, 0, lisr_bits[event->type]);
	spin_unlock_irq(&card->lock);
	left = wait_event_interruptible_timeout(card->wait,
						READ_ONCE(queue->count),
						msecs_to_jiffies(event->timeout_ms) + 1);
	if (left <= 0)
		return left ?: -ETIMEDOUT;
	spin_lock_irq(&card->lock);
	at = queue->head;
	event->node = queue->node[at];
	event->data = queue->data[at];
	queue->head = (at + 1) % QUEUE;
	queue->count--;
	spin_unlock_irq(&card->lock);
	return 0;
}

static int clear_event(struct card *card, unsigned long type)
{
	u32 lisr;

	if (type >= FOREIGN_TYPES)
		return -EINVAL;
	spin_lock_irq(&card->lock);
	lisr = readl(card->control + LISR) | GIE;
	if (type >= FOREIGN_INT1 && type <= FOREIGN_INT4)
		writeb(0, card->control + SID(type));
	else
		lisr &= ~lisr_bits[type];
	writel(lisr, card->control + LISR);
	card->queue[type].count = 0;
	spin_unlock_irq(&card->lock);
	return 0;
}

static int enable_event(struct card *card, unsigned long type)
{
	if (type >= FOREIGN_TYPES)
		return -EINVAL;
	spin_lock_irq(&card->lock);
	card->queue[type].enabled = true;
	change(card->control + LIER, 0, lisr_bits[type]);
	spin_unlock_irq(&card->lock);
	return 0;
}

/* --- the network ------------------------------------------------------------- */

static void send(struct card *card, const struct foreign_send *args)
{
	bool all = args->node == FOREIGN_ALL_NODES;
	u8 code = args->type == FOREIGN_INT4 ? 7 : args->type;

	spin_lock_irq(&card->lock);
	writel(args->data, card->control + NTD);
	if (!(all && whose == XPC))
		writeb(args->node, card->control + NTN);
	writeb(all ? code | 8 : code, card->control + NIC);
	spin_unlock_irq(&card->lock);
}

static int check_ring(struct card *card)
{
	unsigned int i;

	spin_lock_irq(&card->lock);
	change(card->control + LCSR1, 1, 0);
	writeb(card->info.node, card->control + NTN);
	writeb(0x04, card->control + NIC);
	spin_unlock_irq(&card->lock);
	for (i = 0; i < 51; i++) {
		if (readl(card->control + LCSR1) & 1)
			return 0;
		usleep_range(10000, 11000);
	}
	return -ETIMEDOUT;
}

/* --- DMA: under card->dma_lock ------------------------------------------------ */

/* GE. Who wakes up without an end starts it once more. */
static int transfer(struct card *card, const struct foreign_dma *args)
{
	u32 direction = args->to_host ? 8 : 0;
	unsigned long end = jiffies + msecs_to_jiffies(args->timeout_ms);
	long left;

	spin_lock_irq(&card->lock);
	card->dma_done = false;
	writel(lower_32_bits(card->buffer_at), card->bridge + DMAPADR0);
	writel(upper_32_bits(card->buffer_at), card->bridge + DMADAC0);
	writel(0x205c3, card->bridge + DMAMODE0);
	writel(args->length, card->bridge + DMASIZ0);
	writel(args->offset, card->bridge + DMALADR0);
	writel(direction, card->bridge + DMADPR0);
	change(card->bridge + INTCSR, 0,
	       whose == SOL ? DMA_ENABLE | 0x900 : DMA_ENABLE | 0x100);
	readl(card->bridge + INTCSR);
	spin_unlock_irq(&card->lock);
	card->last_size = args->length;
	card->last_direction = direction;
	do {
		writeb(0x03, card->bridge + DMACSR0);
		readb(card->bridge + DMACSR0);
		left = wait_event_interruptible_timeout(card->wait,
							READ_ONCE(card->dma_done), HZ);
	} while (!left && time_before(jiffies, end));
	return left > 0 ? 0 : left ?: -ETIMEDOUT;
}

/* LIGO: by dwords, and count and direction stay as they were. */
static int transfer_polling(struct card *card, const struct foreign_dma *args)
{
	u32 direction = args->to_host ? 8 : 0, csr;
	int ret;

	spin_lock_irq(&card->lock);
	change(card->bridge + INTCSR, DMA_ENABLE, 0);
	spin_unlock_irq(&card->lock);
	if (args->length != card->last_size ||
	    direction != card->last_direction) {
		writel(0x1c3, card->bridge + DMAMODE0);
		writel(args->length, card->bridge + DMASIZ0);
		writel(direction, card->bridge + DMADPR0);
		card->last_size = args->length;
		card->last_direction = direction;
	}
	writel(lower_32_bits(card->buffer_at), card->bridge + DMAPADR0);
	writel(upper_32_bits(card->buffer_at), card->bridge + DMADAC0);
	writel(args->offset, card->bridge + DMALADR0);
	writel(0x03, card->bridge + DMACSR0);
	ret = readl_poll_timeout(card->bridge + DMACSR0, csr, csr & 0x10, 1,
				 args->timeout_ms * 1000ul);
	writel(0x08, card->bridge + DMACSR0);
	return ret;
}

static int dma(struct card *card, const struct foreign_dma *args)
{
	int ret;

	if (args->length > FOREIGN_BUFFER_SIZE)
		return -EINVAL;
	mutex_lock(&card->dma_lock);
	ret = args->poll ? transfer_polling(card, args) : transfer(card, args);
	mutex_unlock(&card->dma_lock);
	return ret;
}

/* --- files -------------------------------------------------------------------- */

static struct card *card_of(struct file *file)
{
	return container_of(file->private_data, struct card, misc);
}

static int open(struct inode *inode, struct file *file)
{
	struct card *card = card_of(file);
	int ret = 0;

	mutex_lock(&card->dma_lock);
	if (!card->memory)
		card->memory = ioremap(pci_resource_start(card->pdev, 3),
				       card->info.window_size);
	if (card->memory)
		card->opens++;
	else
		ret = -ENOMEM;
	mutex_unlock(&card->dma_lock);
	return ret;
}

static int release(struct inode *inode, struct file *file)
{
	struct card *card = card_of(file);
	unsigned int type;

	mutex_lock(&card->dma_lock);
	if (!--card->opens) {
		spin_lock_irq(&card->lock);
		change(card->control + LIER, NETWORK_EVENTS, 0);
		for (type = 0; type <= FOREIGN_INT4; type++)
			card->queue[type] = (struct queue) {};
		spin_unlock_irq(&card->lock);
		iounmap(card->memory);
		card->memory = NULL;
	}
	mutex_unlock(&card->dma_lock);
	return 0;
}

static bool inside(struct card *card, loff_t pos, size_t count)
{
	return count <= card->info.window_size &&
	       pos <= card->info.window_size - count;
}

/* Drivers of that age copied between a program and the card as if it were memory. */
static ssize_t read(struct file *file, char __user *data, size_t count,
		    loff_t *pos)
{
	struct card *card = card_of(file);

	if (!inside(card, *pos, count))
		return -EINVAL;
	if (copy_to_user(data, (__force void *)card->memory + *pos, count))
		return -EFAULT;
	*pos += count;
	return count;
}

static ssize_t write(struct file *file, const char __user *data, size_t count,
		     loff_t *pos)
{
	struct card *card = card_of(file);

	if (!inside(card, *pos, count))
		return -EINVAL;
	if (copy_from_user((__force void *)card->memory + *pos, data, count))
		return -EFAULT;
	*pos += count;
	return count;
}

static int map(struct file *file, struct vm_area_struct *vma)
{
	struct card *card = card_of(file);
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	size_t size = vma->vm_end - vma->vm_start;

	if (offset == FOREIGN_BUFFER_AT) {
		if (buffer)
			return remap_pfn_range(vma, vma->vm_start,
					       buffer >> PAGE_SHIFT, size,
					       vma->vm_page_prot);
		vma->vm_pgoff = 0;
		return dma_mmap_coherent(&card->pdev->dev, vma, card->buffer,
					 card->buffer_at, FOREIGN_BUFFER_SIZE);
	}
	if (!inside(card, offset, size))
		return -EINVAL;
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return io_remap_pfn_range(vma, vma->vm_start,
				  (pci_resource_start(card->pdev, 3) + offset) >> PAGE_SHIFT,
				  size, vma->vm_page_prot);
}

static long control(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct card *card = card_of(file);
	void __user *user = (void __user *)arg;
	union {
		struct foreign_send send;
		struct foreign_event event;
		struct foreign_dma dma;
	} args = {};
	int ret;

	switch (cmd) {
	case FOREIGN_GET_INFO:
		return copy_to_user(user, &card->info, sizeof(card->info)) ?
		       -EFAULT : 0;
	case FOREIGN_ENABLE:
		return enable_event(card, arg);
	case FOREIGN_CLEAR:
		return clear_event(card, arg);
	case FOREIGN_RING:
		return check_ring(card);
	}
	if (_IOC_SIZE(cmd) > sizeof(args) ||
	    copy_from_user(&args, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	switch (cmd) {
	case FOREIGN_SEND:
		send(card, &args.send);
		return 0;
	case FOREIGN_WAIT:
		ret = wait_event_of(card, &args.event);
		return ret ?: copy_to_user(user, &args.event, sizeof(args.event)) ?
		       -EFAULT : 0;
	case FOREIGN_DMA:
		return dma(card, &args.dma);
	}
	return -ENOIOCTLCMD;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.read = read,
	.write = write,
	.mmap = map,
	.unlocked_ioctl = control,
	.llseek = default_llseek,
};

/* --- loading and unloading ---------------------------------------------------- */

static u32 bar_size(struct pci_dev *pdev, unsigned int bar)
{
	int at = PCI_BASE_ADDRESS_0 + 4 * bar;
	u32 address, size;

	pci_read_config_dword(pdev, at, &address);
	pci_write_config_dword(pdev, at, ~0u);
	pci_read_config_dword(pdev, at, &size);
	pci_write_config_dword(pdev, at, address);
	return ~(size & ~0xfu) + 1;
}

static int find(struct card *card)
{
	struct pci_dev *pdev = card->pdev;
	u32 lcsr1, sizes[3];
	u16 device;
	u8 revision, brv;

	pci_read_config_word(pdev, PCI_DEVICE_ID, &device);
	pci_read_config_byte(pdev, PCI_REVISION_ID, &revision);
	sizes[0] = bar_size(pdev, 0);
	sizes[1] = bar_size(pdev, 2);
	sizes[2] = bar_size(pdev, 3);
	if (sizes[0] < 0x100 || sizes[1] < 0x40)
		return -ENODEV;
	card->control = ioremap(pci_resource_start(pdev, 2), sizes[1]);
	card->bridge = ioremap(pci_resource_start(pdev, 0), sizes[0]);
	if (!card->control || !card->bridge)
		return -ENOMEM;

	brv = readb(card->control + BRV);
	readw(card->control + BRB);
	if (readb(card->control + BID) != 0x65)
		return -ENODEV;
	card->info.node = readb(card->control + NID);
	lcsr1 = readl(card->control + LCSR1);
	if ((lcsr1 >> 20 & 3) == 3)
		return -ENODEV;
	card->info.memory_size = 0x4000000ull << (lcsr1 >> 20 & 3);
	card->info.window_size = min_t(u64, card->info.memory_size, sizes[2]);
	if (brv >= 0x8c)
		readl(card->bridge + LAS1BA);
	return 0;
}

static void prepare(struct card *card)
{
	unsigned int n;

	writel(0, card->control + LIER);
	for (n = 1; n <= 4; n++)
		writeb(0, card->control + SID(n));
	readl(card->control + LISR);
	writel(GIE, card->control + LISR);
	change(card->control + LCSR1, 0x80000000, 0);

	readb(card->bridge + PCIHREV);
	change(card->bridge + CNTRL, 0xf, 0xc);
	readl(card->bridge + CNTRL);
}

static void start(struct card *card)
{
	static const u8 at_load[] = { 5, 6, 7, 8, 9, 10, 11 };
	unsigned int i;

	spin_lock_irq(&card->lock);
	writel(GIE, card->control + LISR);
	for (i = 0; i < ARRAY_SIZE(at_load); i++) {
		change(card->control + LIER, 0, lisr_bits[at_load[i]]);
		change(card->bridge + INTCSR, 0, 0x900);
	}
	if (whose == SOL)
		change(card->control + LIER, 0, 7);
	if (whose == KSTAR)
		change(card->control + LIER, 0, AUTO_CLEAR);
	spin_unlock_irq(&card->lock);
}

static void leave(struct card *card)
{
	writel(0, card->control + LIER);
	change(card->bridge + INTCSR, 0x100 | 0x800 | DMA_ENABLE, 0);
	writel(0xffff03f3, card->control + LISR);
	free_irq(card->pdev->irq, card);
}

static void drop(struct card *card)
{
	if (card->buffer && buffer)
		memunmap(card->buffer);
	else if (card->buffer)
		dma_free_coherent(&card->pdev->dev, FOREIGN_BUFFER_SIZE,
				  card->buffer, card->buffer_at);
	if (card->bridge)
		iounmap(card->bridge);
	if (card->control)
		iounmap(card->control);
	pci_dev_put(card->pdev);
	kfree(card);
}

static int take(struct card *card)
{
	int ret = pci_enable_device(card->pdev);

	if (ret)
		return ret;
	spin_lock_init(&card->lock);
	mutex_init(&card->dma_lock);
	init_waitqueue_head(&card->wait);
	ret = find(card);
	if (ret)
		return ret;
	if (buffer) {
		card->buffer_at = buffer;
		card->buffer = memremap(buffer, FOREIGN_BUFFER_SIZE, MEMREMAP_WB);
	} else {
		card->buffer = dma_alloc_coherent(&card->pdev->dev,
						  FOREIGN_BUFFER_SIZE,
						  &card->buffer_at, GFP_KERNEL);
	}
	if (!card->buffer)
		return -ENOMEM;
	prepare(card);
	ret = request_irq(card->pdev->irq, interrupt, IRQF_SHARED, "foreign",
			  card);
	if (ret)
		return ret;
	start(card);
	snprintf(card->name, sizeof(card->name), "foreign%u", card->info.node);
	card->misc = (struct miscdevice) {
		.minor = MISC_DYNAMIC_MINOR,
		.name = card->name,
		.fops = &fops,
	};
	ret = misc_register(&card->misc);
	if (ret)
		leave(card);
	return ret;
}

static void unload(void)
{
	unsigned int i;

	for (i = 0; i < CARDS && cards[i]; i++) {
		misc_deregister(&cards[i]->misc);
		leave(cards[i]);
		drop(cards[i]);
	}
}

static int load(void)
{
	struct pci_dev *pdev = NULL;
	unsigned int found = 0;
	struct card *card;
	int ret;

	while (found < CARDS && (pdev = pci_get_device(0x114a, 0x5565, pdev))) {
		if (pdev->dev.driver)
			continue;
		card = kzalloc(sizeof(*card), GFP_KERNEL);
		if (!card) {
			pci_dev_put(pdev);
			return -ENOMEM;
		}
		card->pdev = pci_dev_get(pdev);
		ret = take(card);
		if (ret) {
			dev_err(&pdev->dev, "foreign: %d\n", ret);
			drop(card);
			pci_dev_put(pdev);
			return ret;
		}
		cards[found++] = card;
	}
	pci_dev_put(pdev);
	return found ? 0 : -ENODEV;
}

static int __init foreign_init(void)
{
	int ret;

	whose = match_string(habits, ARRAY_SIZE(habits), habit);
	if (whose < 0)
		return whose;
	ret = load();
	if (ret)
		unload();
	return ret;
}
module_init(foreign_init);

static void __exit foreign_exit(void)
{
	unload();
}
module_exit(foreign_exit);

MODULE_DESCRIPTION("A driver for the 5565 as others wrote them, for tests");
MODULE_LICENSE("GPL");
