// SPDX-License-Identifier: GPL-2.0-only
/* Who has something of a card: open files, mappings, watches, listeners. */

#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "core/notify.h"

/**
 * rfm_holder_add - descriptor-get tells of somebody from now on
 * @card: the card
 * @holder: its place in what it belongs to
 * @ops: of its kind
 *
 * Context: process, the one that it is made for; sleeps.
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

/**
 * rfm_holder_del - and no longer
 * @card: the card, gone or not
 * @holder: one that was added
 *
 * Context: process; sleeps.
 */
void rfm_holder_del(struct rfm_card *card, struct rfm_holder *holder)
{
	mutex_lock(&card->lock);
	list_del(&holder->node);
	card->holds.by_kind[holder->ops->kind]--;
	rfm_holders_changed(card);
	mutex_unlock(&card->lock);
}

/**
 * rfm_holders_changed - a dump that is under way may no longer be of one piece
 * @card: the card
 *
 * Context: card->lock held.
 */
void rfm_holders_changed(struct rfm_card *card)
{
	lockdep_assert_held(&card->lock);

	rfm_netlink_holders_changed();
}

/* --- /proc/PID/fdinfo ------------------------------------------------------ */

static const char *const rfm_kind_names[] = {
	[RFM_DESCRIPTOR_KIND_FILE] = "file",
	[RFM_DESCRIPTOR_KIND_WATCH] = "watch",
	[RFM_DESCRIPTOR_KIND_LISTEN] = "listen",
};

/* By the bits of RFM_DESCRIPTOR_FLAG_*. */
static const char *const rfm_flag_names[] = {
	"read", "write", "no-maps", "exclusive", "coalesce", "compare",
};

static const char *const rfm_plane_names[RFM_PLANES] = {
	[RFM_PLANE_RX] = "rx",
	[RFM_PLANE_TX] = "tx",
	[RFM_PLANE_WATCH] = "watch",
	[RFM_PLANE_OWNED] = "owned",
};

/* The end of a line: a name for each bit. */
static void rfm_show_names(struct seq_file *m, u32 bits,
			   const char *const *names, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (bits & BIT(i))
			seq_printf(m, " %s", names[i]);
	seq_putc(m, '\n');
}

static void rfm_show_watch(struct seq_file *m,
			   const struct rfm_description *description)
{
	const struct rfm_watch *watch = description->watch;

	seq_printf(m, "rfm-late: %llu\nrfm-deadline-ns: %llu\nrfm-silence-ns: %llu\n",
		   description->late, watch->deadline_ns, watch->silence_ns);
	if (watch->flags & RFM_WATCH_COMPARE)
		seq_printf(m, "rfm-compare: %u %u %#llx %#llx %#llx\n",
			   watch->compare, watch->compare_width,
			   watch->compare_offset, watch->compare_mask,
			   watch->compare_value);
}

/**
 * rfm_holder_show - what /proc/PID/fdinfo tells of a descriptor
 * @m: where it goes
 * @card: the card, gone or not
 * @holder: the descriptor's
 *
 * Context: process; sleeps.
 */
void rfm_holder_show(struct seq_file *m, struct rfm_card *card,
		     struct rfm_holder *holder)
{
	struct rfm_description description = {};
	struct rfm_range range;
	u64 cursor = 0;
	u32 planes;

	mutex_lock(&card->lock);
	holder->ops->describe(holder, &description);
	seq_printf(m, "rfm-card: %s\nrfm-kind: %s\nrfm-id: %u\nrfm-flags:",
		   dev_name(&card->dev), rfm_kind_names[holder->ops->kind],
		   holder->id);
	rfm_show_names(m, description.flags, rfm_flag_names,
		       ARRAY_SIZE(rfm_flag_names));
	if (description.types)
		seq_printf(m, "rfm-types: %#x\n", description.types);
	if (description.depth)
		seq_printf(m, "rfm-depth: %u\nrfm-queued: %u\nrfm-events: %llu\nrfm-dropped: %llu\n",
			   description.depth, description.queued,
			   description.events, description.dropped);
	if (description.watch)
		rfm_show_watch(m, &description);
	while (holder->ops->range && !seq_has_overflowed(m) &&
	       holder->ops->range(holder, &cursor, &range, &planes)) {
		seq_printf(m, "rfm-range: %#llx %#llx", range.offset,
			   range.length);
		rfm_show_names(m, planes, rfm_plane_names, RFM_PLANES);
	}
	mutex_unlock(&card->lock);
}
