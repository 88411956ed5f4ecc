// SPDX-License-Identifier: GPL-2.0-only
/*
 * Subscriptions: which granules of each plane are on, and for whom.
 *
 * Whoever needs a range on takes a hold of it: a file for what it has
 * subscribed to, a mapping, a watch, and the base masks. A granule is on while
 * somebody holds it. core/cover.c knows what is held; taking and dropping a
 * hold needs no memory, and one that is dropped switches off exactly what nobody
 * else holds.
 *
 * Each file has a set for each of its planes: spans that do not touch, each
 * with a hold. A set is changed by new spans that are held before the old ones
 * are dropped: nothing that stays on is ever off in between. The base masks, what
 * is on for nobody in particular, are such sets too, one for each plane, whose holds
 * do not keep the window where it is. The base policy all is RX and TX of the whole
 * memory, none is neither; card-set may have it in between, and may own ranges.
 *
 * All this goes on, without the card, on one that has gone or has no
 * extension block: the window may not move under holds.
 */

#include <linux/module.h>
#include <linux/slab.h>

#include "core/notify.h"

static const char * const rfm_base_policies[] = {
	[RFM_POLICY_ALL] = "all",
	[RFM_POLICY_NONE] = "none",
};

static const char *rfm_base_policy = "all";

static int rfm_base_policy_set(const char *text,
			       const struct kernel_param *param)
{
	int policy = sysfs_match_string(rfm_base_policies, text);

	if (policy < 0)
		return policy;
	rfm_base_policy = rfm_base_policies[policy];
	return 0;
}

static const struct kernel_param_ops rfm_base_policy_ops = {
	.set = rfm_base_policy_set,
	.get = param_get_charp,
};

module_param_cb(base_policy, &rfm_base_policy_ops, &rfm_base_policy, 0444);
MODULE_PARM_DESC(base_policy,
		 "Received and sent without a subscription: all (default), as by any 5565, or none");

/* The granule behind the last of a range. */
static u32 rfm_range_end(const struct rfm_range *range)
{
	return DIV_ROUND_UP_ULL(range->offset + range->length, RFM_GRANULE);
}

static const u32 rfm_plane_features[RFM_PLANES] = {
	[RFM_PLANE_RX]		= RFM_EXT_FEATURE_SUBSCRIBE,
	[RFM_PLANE_TX]		= RFM_EXT_FEATURE_SUBSCRIBE,
	[RFM_PLANE_WATCH]	= RFM_EXT_FEATURE_WATCH,
	[RFM_PLANE_OWNED]	= RFM_EXT_FEATURE_WRITER,
	[RFM_PLANE_READ]	= RFM_EXT_FEATURE_REMOTE,
	[RFM_PLANE_WRITE]	= RFM_EXT_FEATURE_REMOTE,
	[RFM_PLANE_HOME]	= RFM_EXT_FEATURE_REMOTE,
};

/* Has a card got this plane? If not, what is switched there has no effect. */
bool rfm_plane_exists(const struct rfm_card *card, unsigned int plane)
{
	return card->hw.features & rfm_plane_features[plane];
}

/* --- the planes on the card --------------------------------------------- */

static u32 rfm_plane_write(struct rfm_card *card, unsigned int plane, u32 first,
			   u32 end, bool on)
{
	u32 verdict;

	spin_lock(&card->hw.lock);
	writel(first * RFM_GRANULE, card->hw.ext + RFM_EXT_RANGE_OFFSET);
	writel((end - first) * RFM_GRANULE,
	       card->hw.ext + RFM_EXT_RANGE_LENGTH);
	writel(plane | (on ? RFM_EXT_RANGE_ON : 0),
	       card->hw.ext + RFM_EXT_RANGE_COMMAND);
	verdict = readl(card->hw.ext + RFM_EXT_RANGE_COMMAND);
	spin_unlock(&card->hw.lock);
	return verdict;
}

static int rfm_plane_set(struct rfm_card *card, unsigned int plane, u32 first,
			 u32 end, bool on)
{
	u32 verdict;
	int idx, ret = 0;

	if (!rfm_plane_exists(card, plane))
		return 0;
	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	verdict = rfm_plane_write(card, plane, first, end, on);
	if (verdict != RFM_EXT_RANGE_DONE) {
		ret = rfm_card_check(card) ?: -EIO;
		dev_err_ratelimited(&card->dev,
				    "plane %u, granules %u to %u: the card says %#x\n",
				    plane, first, end, verdict);
	}
	rfm_card_exit(card, idx);
	return ret;
}

/* --- holds --------------------------------------------------------------- */

/* Also of a card that has gone, or of a hold that is not held. */
static void rfm_hold_drop(struct rfm_card *card, struct rfm_hold *hold)
{
	unsigned int plane;
	u32 first, end;

	lockdep_assert_held(&card->lock);

	if (!hold->held)
		return;
	for (plane = 0; plane < RFM_PLANES; plane++) {
		if (!(hold->planes & RFM_HOLD(plane)))
			continue;
		rfm_cover_del(&card->holds.ends[plane], hold->ends[plane]);
		for (first = hold->first;
		     (end = rfm_cover_gap(&card->holds.ends[plane], &first,
					  hold->end));
		     first = end) {
			rfm_plane_set(card, plane, first, end, false);
			cond_resched();
		}
	}
	hold->held = false;
	card->holds.count -= !hold->base;
}

/*
 * Begins a hold whose range and planes are set; there is room for one more.
 * After an error there is nothing to drop.
 */
static int rfm_hold_take(struct rfm_card *card, struct rfm_hold *hold)
{
	unsigned int plane;
	u32 first;
	int ret = 0;

	lockdep_assert_held(&card->lock);

	hold->held = true;
	card->holds.count += !hold->base;
	for (plane = 0; plane < RFM_PLANES; plane++) {
		if (!(hold->planes & RFM_HOLD(plane)))
			continue;
		first = hold->first;
		/* It does no harm to switch on what is on. */
		if (rfm_cover_gap(&card->holds.ends[plane], &first, hold->end))
			ret = rfm_plane_set(card, plane, first, hold->end,
					    true) ?: ret;
		rfm_cover_add(&card->holds.ends[plane], hold->ends[plane],
			      hold->first, hold->end);
	}
	if (ret)
		rfm_hold_drop(card, hold);
	return ret;
}

/* Is there room for so many, once others of them have gone? */
static bool rfm_holds_fit(const struct rfm_card *card, unsigned int gone,
			  unsigned int new)
{
	return card->holds.count - gone + new <= RFM_HOLDS_MAX;
}

/**
 * rfm_subscription_hold - have a range on until it is dropped
 * @card: the card
 * @hold: the holder's, zeroed before its first use; not held
 * @window: @offset is one of the window, which stays where it is, else one of the
 *	memory
 * @offset: first byte, rounded down to a granule
 * @length: bytes, not 0, rounded up; inside the memory
 * @planes: mask of RFM_HOLD(RFM_PLANE_*)
 *
 * Context: process; sleeps.
 * Return: 0, -ENODEV if the card has gone, -EIO if it refuses, -EUSERS if there
 * are too many holds; then there is nothing to drop.
 */
int rfm_subscription_hold(struct rfm_card *card, struct rfm_hold *hold,
			  bool window, u64 offset, u64 length, u32 planes)
{
	int ret = -EUSERS;

	mutex_lock(&card->lock);
	if (window)
		offset += READ_ONCE(card->hw.window_offset);
	hold->first = offset / RFM_GRANULE;
	hold->end = DIV_ROUND_UP_ULL(offset + length, RFM_GRANULE);
	hold->planes = planes;
	if (rfm_holds_fit(card, 0, 1))
		ret = rfm_hold_take(card, hold);
	mutex_unlock(&card->lock);
	return ret;
}

/* Ends a hold, also one that is not held, or of a card that has gone. */
void rfm_subscription_drop(struct rfm_card *card, struct rfm_hold *hold)
{
	mutex_lock(&card->lock);
	rfm_hold_drop(card, hold);
	mutex_unlock(&card->lock);
}

/* --- sets --------------------------------------------------- */

static struct rfm_span *rfm_span_at(struct rb_node *node)
{
	return rb_entry_safe(node, struct rfm_span, node);
}

static struct rfm_span *rfm_span_next(struct rfm_span *span)
{
	return rfm_span_at(rb_next(&span->node));
}

/* A change of one set: some spans that follow each other go, others come. */
struct rfm_change {
	struct rfm_span *from;		/* the first that goes */
	unsigned int gone;		/* how many go */
	struct rfm_span *new[2];	/* what comes instead */
};

/* The first span that ends at a granule or later, or NULL. */
static struct rfm_span *rfm_set_find(const struct rfm_set *set, u32 at)
{
	struct rb_node *node = set->spans.rb_node;
	struct rfm_span *found = NULL;

	while (node) {
		struct rfm_span *span = rfm_span_at(node);

		if (span->hold.end >= at) {
			found = span;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static bool rfm_span_before(struct rb_node *node, const struct rb_node *other)
{
	return rb_entry(node, struct rfm_span, node)->hold.first <
	       rb_entry(other, struct rfm_span, node)->hold.first;
}

/* What comes may be nothing. */
static bool rfm_change_new(struct rfm_span **new, u32 first, u32 end,
			   unsigned int plane)
{
	if (first == end)
		return true;
	*new = kzalloc(sizeof(**new), GFP_KERNEL_ACCOUNT);
	if (!*new)
		return false;
	(*new)->hold.first = first;
	(*new)->hold.end = end;
	(*new)->hold.planes = RFM_HOLD(plane);
	return true;
}

/*
 * All that touches a range that is added becomes one span with it; what overlaps
 * one that is removed goes, but for what of it is outside.
 */
static int rfm_change_plan(const struct rfm_set *set, struct rfm_change *change,
			   const struct rfm_range *range, unsigned int plane,
			   bool add)
{
	u32 first = range->offset / RFM_GRANULE, low = first;
	u32 end = rfm_range_end(range), high = end;
	struct rfm_span *span = rfm_set_find(set, first + !add);
	unsigned int count;
	bool good;

	if (add && span && span->hold.first <= first && span->hold.end >= end)
		return 0;
	change->from = span;
	for (; span && span->hold.first < end + add;
	     span = rfm_span_next(span)) {
		low = min(low, span->hold.first);
		high = max(high, span->hold.end);
		change->gone++;
	}
	if (add)
		good = rfm_change_new(&change->new[0], low, high, plane);
	else
		good = rfm_change_new(&change->new[0], low, first, plane) &&
		       rfm_change_new(&change->new[1], end, high, plane);
	if (!good)
		return -ENOMEM;
	count = set->count - change->gone + !!change->new[0] + !!change->new[1];
	return count > RFM_SUBSCRIBE_MAX ? -ENOSPC : 0;
}

static void rfm_span_drop(struct rfm_card *card, struct rfm_span *span)
{
	if (span)
		rfm_hold_drop(card, &span->hold);
	kfree(span);
}

/* The old spans of a change go, or after an error the new ones. */
static void rfm_change_end(struct rfm_card *card, struct rfm_set *set,
			   struct rfm_change *change, bool good)
{
	struct rfm_span *span = change->from, *next;
	unsigned int i;

	for (i = 0; good && i < change->gone; i++, span = next) {
		next = rfm_span_next(span);
		rb_erase(&span->node, &set->spans);
		rfm_span_drop(card, span);
		set->count--;
	}
	for (i = 0; i < ARRAY_SIZE(change->new); i++) {
		if (!good) {
			rfm_span_drop(card, change->new[i]);
		} else if (change->new[i]) {
			rb_add(&change->new[i]->node, &set->spans,
			       rfm_span_before);
			set->count++;
		}
	}
}

/*
 * Adds a range, rounded outwards, to the sets of the planes @add, and removes it from
 * those of @remove; or after an error changes none. @hold: the sets hold what they have.
 * Under card->lock; sleeps. Return: 0, -ENOSPC for too many ranges, -EUSERS for
 * too many holds, -ENOMEM, -EIO, -ENODEV.
 */
static int rfm_sets_change(struct rfm_card *card, struct rfm_set *sets,
			   const struct rfm_range *range, u32 add, u32 remove,
			   bool hold)
{
	struct rfm_change changes[RFM_PLANES] = {};
	unsigned int i, gone = 0, new = 0;
	int ret = 0;

	lockdep_assert_held(&card->lock);

	for (i = 0; i < RFM_PLANES && !ret; i++) {
		if ((add | remove) & RFM_HOLD(i))
			ret = rfm_change_plan(&sets[i], &changes[i], range, i,
					      add & RFM_HOLD(i));
		gone += changes[i].gone;
		new += !!changes[i].new[0] + !!changes[i].new[1];
	}
	if (!ret && hold && !rfm_holds_fit(card, gone, new))
		ret = -EUSERS;
	for (i = 0; i < 2 * RFM_PLANES && !ret && hold; i++)
		if (changes[i / 2].new[i % 2])
			ret = rfm_hold_take(card,
					    &changes[i / 2].new[i % 2]->hold);
	for (i = 0; i < RFM_PLANES; i++)
		rfm_change_end(card, &sets[i], &changes[i], !ret);
	return ret;
}

/* Have the sets of all these planes all of a range? */
static bool rfm_sets_cover(const struct rfm_set *sets, const struct rfm_range *range,
			   u32 planes)
{
	u32 first = range->offset / RFM_GRANULE, end = rfm_range_end(range);
	const struct rfm_span *span;
	unsigned int i;

	for (i = 0; i < RFM_PLANES; i++) {
		if (!(planes & RFM_HOLD(i)))
			continue;
		span = rfm_set_find(&sets[i], first + 1);
		if (!span || span->hold.first > first || span->hold.end < end)
			return false;
	}
	return true;
}

/* Drops what the sets hold, under card->lock. The card may have gone. */
void rfm_sets_drop(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_span *span, *next;
	unsigned int i;

	for (i = 0; i < RFM_PLANES; i++) {
		rbtree_postorder_for_each_entry_safe(span, next, &sets[i].spans,
						     node)
			rfm_span_drop(card, span);
		sets[i] = (struct rfm_set) {};
	}
}

/*
 * Goes through the ranges of a holder's sets of all planes: false if there is no
 * more. @cursor stays good when the sets change meanwhile.
 */
static bool rfm_sets_range(struct rfm_holder *holder, u64 *cursor,
			   struct rfm_range *range, u32 *planes)
{
	u32 plane = *cursor >> 32, at = *cursor;
	struct rfm_span *span;

	for (; plane < RFM_PLANES; plane++, at = 0) {
		span = rfm_set_find(&holder->sets[plane], at + 1);
		if (!span)
			continue;
		range->offset = (u64)span->hold.first * RFM_GRANULE;
		range->length = (u64)span->hold.end * RFM_GRANULE -
				range->offset;
		*planes = span->hold.planes;
		*cursor = (u64)plane << 32 | span->hold.end;
		return true;
	}
	*cursor = (u64)RFM_PLANES << 32;
	return false;
}

const struct rfm_holder_ops rfm_file_ops = {
	.kind = RFM_DESCRIPTOR_KIND_FILE,
	.range = rfm_sets_range,
};

const struct rfm_holder_ops rfm_base_ops = {
	.kind = RFM_DESCRIPTOR_KIND_BASE,
	.range = rfm_sets_range,
};

/* --- base masks ------------------------------------------------------------ */

/*
 * A change makes new sets, takes what they hold, and then drops the old ones:
 * nothing that stays on is ever off, and when the card refuses, the new ones go
 * and nothing has changed.
 */

static int rfm_base_step(struct rfm_card *card, struct rfm_set *sets,
			 const struct rfm_base_step *step)
{
	return rfm_sets_change(card, sets, &step->range,
			       step->add ? step->planes : 0,
			       step->add ? 0 : step->planes, false);
}

static int rfm_base_copy(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_base_step step = { .add = true };
	u64 cursor = 0;
	int ret = 0;

	while (!ret && rfm_sets_range(&card->holds.base_holder, &cursor,
				      &step.range, &step.planes))
		ret = rfm_base_step(card, sets, &step);
	return ret;
}

static int rfm_base_hold(struct rfm_card *card, struct rfm_set *sets)
{
	struct rfm_span *span, *next;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RFM_PLANES; i++) {
		rbtree_postorder_for_each_entry_safe(span, next, &sets[i].spans,
						     node) {
			span->hold.base = true;
			ret = ret ?: rfm_hold_take(card, &span->hold);
		}
	}
	return ret;
}

/*
 * The first half of a change of the base masks, under card->lock up to the
 * second: @sets become what the masks are to be, and are on already. The second
 * is rfm_base_commit(), if there is to be a change, and rfm_sets_drop() in any
 * case, also after an error: -ENOSPC for too many ranges, -ENOMEM, -EIO, -ENODEV.
 * Sleeps.
 */
int rfm_base_prepare(struct rfm_card *card, const struct rfm_settings *settings,
		     struct rfm_set *sets)
{
	const struct rfm_base_step whole = {
		.range.length = card->hw.memory_size,
		.planes = RFM_HOLD_BASE,
		.add = settings->policy == RFM_POLICY_ALL,
	};
	unsigned int i;
	int ret;

	ret = rfm_base_copy(card, sets);
	if (!ret && settings->set & RFM_SET(BASE_POLICY))
		ret = rfm_base_step(card, sets, &whole);
	for (i = 0; i < settings->step_count && !ret; i++)
		ret = rfm_base_step(card, sets, &settings->steps[i]);
	return ret ?: rfm_base_hold(card, sets);
}

/* @sets become what the masks were. */
void rfm_base_commit(struct rfm_card *card, struct rfm_set *sets)
{
	const struct rfm_range whole = { 0, card->hw.memory_size };
	struct rfm_set *base = card->holds.base;
	u32 policy = RFM_BASE_MASK;
	unsigned int i;

	for (i = 0; i < RFM_PLANES; i++)
		swap(base[i], sets[i]);
	if (rfm_sets_cover(base, &whole, RFM_HOLD_BASE))
		policy = RFM_BASE_ALL;
	else if (!base[RFM_PLANE_RX].count && !base[RFM_PLANE_TX].count)
		policy = RFM_BASE_NONE;
	WRITE_ONCE(card->holds.base_policy, policy);
	rfm_holders_changed(card);
}

/* --- the calls ------------------------------------------------------------ */

/* What each flag stands for. */
static const struct {
	u32 flag;
	unsigned int plane;
	enum rfm_function function;
} rfm_subscribe_flags[] = {
	{ RFM_SUBSCRIBE_RX, RFM_PLANE_RX, RFM_FUNCTION_SUBSCRIBE_RX },
	{ RFM_SUBSCRIBE_TX, RFM_PLANE_TX, RFM_FUNCTION_SUBSCRIBE_TX },
	{ RFM_SUBSCRIBE_OWN, RFM_PLANE_OWNED, RFM_FUNCTION_SUBSCRIBE_OWN },
};

/* Sets @planes. Return: 0 or what is wrong. */
static int rfm_subscribe_check(const struct rfm_file *file,
			       const struct rfm_subscribe *args, u32 *planes)
{
	const struct rfm_card *card = file->card;
	const struct rfm_range *range = &args->range;
	unsigned int i;
	int ret;

	if (!args->flags || args->flags & ~RFM_SUBSCRIBE_FLAGS)
		return -EINVAL;
	if (args->flags == RFM_SUBSCRIBE_NO_MAPS)
		return range->offset || range->length ? -EINVAL : 0;
	if (!rfm_range_inside(card, range))
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(rfm_subscribe_flags); i++) {
		unsigned int plane = rfm_subscribe_flags[i].plane;

		if (!(args->flags & rfm_subscribe_flags[i].flag))
			continue;
		if (!rfm_plane_exists(card, plane))
			return -EOPNOTSUPP;
		ret = rfm_may_ioctl(rfm_subscribe_flags[i].function,
				    file->mode);
		if (ret)
			return ret;
		*planes |= RFM_HOLD(plane);
	}
	return 0;
}

/* Return: 0, and the result is set; or an error, and nothing has changed. */
static int rfm_subscribe_change(struct rfm_file *file,
				struct rfm_subscribe *args, bool add)
{
	struct rfm_card *card = file->card;
	u32 planes = 0;
	int ret;

	ret = rfm_subscribe_check(file, args, &planes);
	if (ret)
		return ret;

	mutex_lock(&card->lock);
	if (READ_ONCE(card->hw.gone))
		ret = -ENODEV;
	else
		ret = rfm_sets_change(card, file->sets, &args->range,
				      add ? planes : 0, add ? 0 : planes, true);
	/* Its mappings hold nothing from now on. */
	if (!ret && args->flags & RFM_SUBSCRIBE_NO_MAPS)
		WRITE_ONCE(file->holder.flags, file->holder.flags |
					       RFM_DESCRIPTOR_FLAG_NO_MAPS);
	if (!ret)
		rfm_holders_changed(card);
	planes &= RFM_HOLD_BASE;
	args->result = planes && rfm_sets_cover(card->holds.base, &args->range,
						planes) ?
		       RFM_SUBSCRIBE_NO_EFFECT : 0;
	mutex_unlock(&card->lock);
	return ret;
}

/*
 * RFM_IOC_SUBSCRIBE. Return: 0, -EINVAL, -EBADF, -EOPNOTSUPP, -ENOSPC, -EUSERS,
 * -ENOMEM, -EIO, -ENODEV.
 */
int rfm_subscribe(struct rfm_file *file, void *arg)
{
	return rfm_subscribe_change(file, arg, true);
}

/* RFM_IOC_UNSUBSCRIBE. Return: as rfm_subscribe(). */
int rfm_unsubscribe(struct rfm_file *file, void *arg)
{
	struct rfm_subscribe *args = arg;

	if (args->flags & RFM_SUBSCRIBE_NO_MAPS)
		return -EINVAL;
	return rfm_subscribe_change(file, args, false);
}

static_assert(RFM_EXPORT_READ << RFM_PLANE_READ == RFM_HOLD(RFM_PLANE_READ));
static_assert(RFM_EXPORT_WRITE << RFM_PLANE_READ == RFM_HOLD(RFM_PLANE_WRITE));
static_assert(RFM_EXPORT_HOME << RFM_PLANE_READ == RFM_HOLD(RFM_PLANE_HOME));

/*
 * RFM_IOC_EXPORT. Return: 0, -EINVAL, -ENOSPC, -EUSERS, -ENOMEM, -EIO, -ENODEV.
 */
int rfm_export(struct rfm_file *file, void *arg)
{
	const struct rfm_export *args = arg;
	struct rfm_card *card = file->card;
	u32 all = RFM_EXPORT_RIGHTS << RFM_PLANE_READ;
	u32 add = args->rights << RFM_PLANE_READ;
	int ret = -ENODEV;

	if (args->rights & ~RFM_EXPORT_RIGHTS ||
	    !rfm_range_inside(card, &args->range))
		return -EINVAL;
	mutex_lock(&card->lock);
	if (!READ_ONCE(card->hw.gone))
		ret = rfm_sets_change(card, file->sets, &args->range, add,
				      all & ~add, true);
	if (!ret)
		rfm_holders_changed(card);
	mutex_unlock(&card->lock);
	return ret;
}

/* Takes back everything that a file has subscribed to, or exported, at its end. */
void rfm_subscribe_close(struct rfm_file *file)
{
	mutex_lock(&file->card->lock);
	rfm_sets_drop(file->card, file->sets);
	mutex_unlock(&file->card->lock);
}

/* --- begin and end --------------------------------------------------------- */

/* All granules of every plane on or off, while nobody uses the card. */
static void rfm_planes_write(struct rfm_card *card, u32 on)
{
	unsigned int plane;

	for (plane = 0; plane < RFM_PLANES; plane++)
		if (rfm_plane_exists(card, plane))
			rfm_plane_write(card, plane, 0,
					card->hw.memory_size / RFM_GRANULE,
					on & RFM_HOLD(plane));
}

/*
 * Puts the base policy into force; whatever somebody before us left in the
 * planes is gone then. A card without the extension block receives everything.
 * Nobody can open it yet.
 */
int rfm_subscribe_start(struct rfm_card *card)
{
	struct rfm_settings settings = {
		.set = RFM_SET(BASE_POLICY),
		.policy = sysfs_match_string(rfm_base_policies, rfm_base_policy),
	};
	struct rfm_set sets[RFM_PLANES] = {};
	int ret;

	if (!rfm_plane_exists(card, RFM_PLANE_RX) &&
	    settings.policy != RFM_POLICY_ALL) {
		dev_warn(&card->dev,
			 "no extension block: base_policy=none has no effect\n");
		settings.policy = RFM_POLICY_ALL;
	}
	rfm_planes_write(card, settings.policy == RFM_POLICY_ALL ?
			       RFM_HOLD_BASE : 0);
	mutex_lock(&card->lock);
	ret = rfm_base_prepare(card, &settings, sets);
	if (!ret)
		rfm_base_commit(card, sets);
	rfm_sets_drop(card, sets);
	mutex_unlock(&card->lock);
	return ret;
}

/*
 * Leaves every plane as it is at reset; the card has no user left, and may be no
 * longer there.
 */
void rfm_subscribe_stop(struct rfm_card *card)
{
	rfm_planes_write(card, RFM_HOLD_BASE);
}
