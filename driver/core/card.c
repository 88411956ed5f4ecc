// SPDX-License-Identifier: GPL-2.0-only
/* Life and death of struct rfm_card; the rules stand in core/card.h. */

#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>

#include "core/notify.h"

static DEFINE_IDA(rfm_ida);

/* Where the card is, or was, that had a number last: it gets it again. Under rfm_cards_lock. */
static char rfm_places[RFM_MINORS][sizeof_field(struct rfm_hw, pci_name)];

/* Those that netlink knows, by id. */
static struct rfm_card *rfm_cards[RFM_MINORS];

/* Of these, and of the numbers and the order of notifications. */
DEFINE_MUTEX(rfm_cards_lock);

/*
 * Every mapping of a card must be found by one unmap_mapping_range(), also
 * those made through a second device node, so each card has an inode of its
 * own whose address space all opens share. The inodes live on a file system
 * that nobody can mount.
 */
static struct vfsmount *rfm_mnt;

static int rfm_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, 0x5565) ? 0 : -ENOMEM;
}

/* No .owner: our own mount must not pin the module. */
static struct file_system_type rfm_fs_type = {
	.name = "rfm",
	.init_fs_context = rfm_init_fs_context,
	.kill_sb = kill_anon_super,
};

int rfm_card_init_fs(void)
{
	rfm_mnt = kern_mount(&rfm_fs_type);
	return PTR_ERR_OR_ZERO(rfm_mnt);
}

void rfm_card_exit_fs(void)
{
	kern_unmount(rfm_mnt);
}

static void rfm_card_gone_work(struct work_struct *work)
{
	struct rfm_card *card = container_of(work, struct rfm_card,
					     hw.gone_work);

	/* Each one who waits looks at hw.gone. */
	rfm_dispatch_lock(card);
	rfm_queues_wake(card);
	if (card->hw.lost)
		rfm_notify_what(card, RFM_TOLD_GONE);
	card->hw.lost = false;
	rfm_fences_wake(card);
	rfm_dispatch_unlock(card);

	synchronize_srcu(&card->hw.srcu);
	rfm_requests_stop(&card->hw);
	unmap_mapping_range(card->inode->i_mapping, 0, 0, 1);
	rfm_dma_stop(card);
}

static void rfm_card_release(struct device *dev)
{
	struct rfm_card *card = container_of(dev, struct rfm_card, dev);

	mutex_lock(&card->lock);
	rfm_sets_drop(card, card->holds.base);
	mutex_unlock(&card->lock);
	kvfree(card->dispatch.monitor.queue.ring);
	iput(card->inode);
	cleanup_srcu_struct(&card->hw.srcu);
	rfm_dma_exit(card);
	kfree(card);
}

/* The hardware's reference; its number is free for the next card. */
static void rfm_card_put(void *data)
{
	struct rfm_card *card = data;

	ida_free(&rfm_ida, card->id);
	put_device(&card->dev);
}

static int rfm_card_number(const char *place)
{
	int id, ret = -ENOSPC;

	mutex_lock(&rfm_cards_lock);
	for (id = 0; id < RFM_MINORS && ret < 0; id++)
		if (!strcmp(rfm_places[id], place))
			ret = ida_alloc_range(&rfm_ida, id, id, GFP_KERNEL);
	if (ret < 0)
		ret = ida_alloc_max(&rfm_ida, RFM_MINORS - 1, GFP_KERNEL);
	if (ret >= 0)
		strscpy(rfm_places[ret], place, sizeof(rfm_places[ret]));
	mutex_unlock(&rfm_cards_lock);
	return ret;
}

/*
 * The reference it returns belongs to devres: it is dropped after everything
 * that was requested later (the interrupt above all) has been freed.
 */
struct rfm_card *rfm_card_alloc(struct pci_dev *pdev)
{
	struct rfm_card *card;
	int ret;

	card = kzalloc(sizeof(*card), GFP_KERNEL);
	if (!card)
		return ERR_PTR(-ENOMEM);
	ret = init_srcu_struct(&card->hw.srcu);
	if (ret) {
		kfree(card);
		return ERR_PTR(ret);
	}

	/* Whoever knows a generation of an earlier life of the card changes nothing. */
	card->config.generation = ktime_get_ns();
	card->config.base_generation = card->config.generation;
	card->hw.card = card;
	card->hw.dev = &card->dev;
	card->hw.pdev = pdev;
	strscpy(card->hw.pci_name, pci_name(pdev), sizeof(card->hw.pci_name));
	spin_lock_init(&card->hw.lock);
	spin_lock_init(&card->hw.irq.lock);
	mutex_init(&card->lock);
	mutex_init(&card->probe_lock);
	mutex_init(&card->verify_lock);
	INIT_LIST_HEAD(&card->holds.holders);
	card->holds.base_holder.ops = &rfm_base_ops;
	card->holds.base_holder.sets = card->holds.base;
	list_add(&card->holds.base_holder.node, &card->holds.holders);
	rfm_dispatch_init(card);
	INIT_WORK(&card->hw.gone_work, rfm_card_gone_work);
	rfm_dma_init(card);
	rfm_requests_init(&card->hw);

	device_initialize(&card->dev);
	card->dev.class = &rfm_class;
	card->dev.parent = &pdev->dev;
	card->dev.release = rfm_card_release;

	/* From here on release() cleans up. */
	card->inode = alloc_anon_inode(rfm_mnt->mnt_sb);
	if (IS_ERR(card->inode)) {
		ret = PTR_ERR(card->inode);
		card->inode = NULL;
		goto err_put;
	}
	card->id = rfm_card_number(pci_name(pdev));
	if (card->id < 0) {
		ret = card->id;
		goto err_put;
	}
	ret = dev_set_name(&card->dev, "rfm%d", card->id) ?:
	      rfm_notify_init(card);
	if (ret) {
		rfm_card_put(card);
		return ERR_PTR(ret);
	}
	ret = devm_add_action_or_reset(&pdev->dev, rfm_card_put, card);
	return ret ? ERR_PTR(ret) : card;

err_put:
	put_device(&card->dev);
	return ERR_PTR(ret);
}

/*
 * sparse cannot follow a section that may or may not have been entered, so
 * __release() and __acquire() keep these out of its count.
 */

/**
 * rfm_card_enter - begin to use the hardware
 * @card: the card
 * @idx: filled for rfm_card_exit()
 *
 * Return: false if the card has gone; then there is nothing to exit.
 */
bool rfm_card_enter(struct rfm_card *card, int *idx)
{
	*idx = srcu_read_lock(&card->hw.srcu);
	if (likely(!READ_ONCE(card->hw.gone))) {
		__release(&card->hw.srcu);
		return true;
	}

	srcu_read_unlock(&card->hw.srcu, *idx);
	return false;
}

/* Ends what rfm_card_enter() began. */
void rfm_card_exit(struct rfm_card *card, int idx)
{
	__acquire(&card->hw.srcu);
	srcu_read_unlock(&card->hw.srcu, idx);
}

/* The same; returns -ENODEV if the card has not heard what was done, else 0. */
int rfm_card_leave(struct rfm_card *card, int idx)
{
	int ret = rfm_card_check(card);

	rfm_card_exit(card, idx);
	return ret;
}

/* rfm_card_enter() with hw.lock, for registers that work together. */
bool rfm_regs_enter(struct rfm_card *card, int *idx)
{
	if (!rfm_card_enter(card, idx))
		return false;
	spin_lock(&card->hw.lock);
	__release(&card->hw.lock);
	return true;
}

/* And rfm_card_leave(). */
int rfm_regs_leave(struct rfm_card *card, int idx)
{
	__acquire(&card->hw.lock);
	spin_unlock(&card->hw.lock);
	return rfm_card_leave(card, idx);
}

/*
 * Masks the card, which has no new user from here on. Those who wait for it and
 * those inside a section are waited for by rfm_card_drain().
 */
void rfm_card_set_gone(struct rfm_card *card)
{
	spin_lock_irq(&card->hw.irq.lock);
	WRITE_ONCE(card->hw.gone, true);
	rfm_irq_mask(&card->hw);
	queue_work(rfm_wq, &card->hw.gone_work);
	spin_unlock_irq(&card->hw.irq.lock);
}

/*
 * On return everybody who waited for a card that is gone has been woken, no
 * process has a page of it mapped, its DMA engine has stopped, and no work item
 * is queued.
 */
void rfm_card_drain(struct rfm_card *card)
{
	flush_work(&card->hw.gone_work);
	cancel_work_sync(&card->dispatch.work);
	cancel_delayed_work_sync(&card->dispatch.throttle.work);
}

/* Can the board id be read? The card is entered, or irq.lock held. */
bool rfm_card_answers(struct rfm_card *card)
{
	return readb(card->hw.control + RFM_BID) == RFM_BID_5565;
}

/*
 * The card does not answer any more. If it does all the same, it is masked: its
 * line may be shared. Any context, irq.lock held.
 */
void rfm_card_lost(struct rfm_card *card)
{
	lockdep_assert_held(&card->hw.irq.lock);

	if (card->hw.gone)
		return;
	WRITE_ONCE(card->hw.gone, true);
	rfm_irq_mask(&card->hw);
	card->hw.lost = true;
	queue_work(rfm_wq, &card->hw.gone_work);
	rfm_netlink_cards_changed();
	dev_err(&card->dev, "the card no longer answers\n");
}

/*
 * Has the card, which is entered, heard what was just done? If not: -ENODEV, and
 * from then on it is gone.
 */
int rfm_card_check(struct rfm_card *card)
{
	if (likely(rfm_card_answers(card)))
		return 0;

	spin_lock_irq(&card->hw.irq.lock);
	rfm_card_lost(card);
	spin_unlock_irq(&card->hw.irq.lock);
	return -ENODEV;
}

/* --- the list of cards ---------------------------------------------------- */

/* Netlink knows a card from now on, or no longer. */
void rfm_cards_set(struct rfm_card *card, bool known)
{
	mutex_lock(&rfm_cards_lock);
	rfm_cards[card->id] = known ? card : NULL;
	rfm_netlink_cards_changed();
	mutex_unlock(&rfm_cards_lock);
}

/*
 * A card by the N of rfmN, below RFM_MINORS, with a reference for the caller,
 * or NULL.
 */
struct rfm_card *rfm_cards_get(unsigned int id)
{
	struct rfm_card *card;

	mutex_lock(&rfm_cards_lock);
	card = rfm_cards[id];
	if (card)
		get_device(&card->dev);
	mutex_unlock(&rfm_cards_lock);
	return card;
}
