// SPDX-License-Identifier: GPL-2.0-only
/* Who has something of a card: open files, mappings, watches, listeners. */

#include <linux/pid.h>
#include <linux/seq_file.h>

#include "core/card.h"

/*
 * descriptor-get tells of somebody from now on, and of the calling process as the
 * one that it is made for. Sleeps.
 */
void rfm_holder_add(struct rfm_card *card, struct rfm_holder *holder,
		    const struct rfm_holder_ops *ops)
{
	holder->ops = ops;
	holder->pid = task_tgid_nr(current);
	get_task_comm(holder->comm, current);

	mutex_lock(&card->lock);
	holder->id = ++card->holds.ids;
	list_add_tail(&holder->node, &card->holds.holders);
	card->holds.by_kind[ops->kind]++;
	rfm_holders_changed(card);
	mutex_unlock(&card->lock);
}

/* Undoes rfm_holder_add(); the card may have gone. Sleeps. */
void rfm_holder_del(struct rfm_card *card, struct rfm_holder *holder)
{
	mutex_lock(&card->lock);
	list_del(&holder->node);
	card->holds.by_kind[holder->ops->kind]--;
	rfm_holders_changed(card);
	mutex_unlock(&card->lock);
}

/*
 * Names a descriptor in /proc/PID/fdinfo as descriptor-get does; the card may have
 * gone. What it has of the card only descriptor-get tells: that has mappings, base
 * masks and descriptors in no process's table as well, and asks for the rights
 * of a reader of the card, not of one of the process.
 */
void rfm_holder_show(struct seq_file *m, struct rfm_card *card,
		     struct rfm_holder *holder)
{
	seq_printf(m, "rfm-card: %s\nrfm-id: %u\n", dev_name(&card->dev),
		   holder->id);
}
