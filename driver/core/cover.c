// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of a plane the holds of a card cover.
 *
 * Begins and ends of all holds of a plane stand in a tree, in order. A begin counts
 * 1 and an end -1, so that the sum of all up to a granule is how many holds cover
 * it. Each knows the sum of its subtree, and the least that the sums along it come
 * to. So a hold comes or goes, and a gap is found, in as many steps as the tree is
 * high, however many holds there are in between.
 */

#include <linux/rbtree_augmented.h>

#include "core/holds.h"

#define rfm_end_of(rb)	rb_entry_safe(rb, struct rfm_end, node)

/* Of ends at one granule begins come first, so that no sum is 0 in between. */
static u32 rfm_end_key(u32 granule, bool end)
{
	return granule << 1 | end;
}

static int rfm_end_step(const struct rfm_end *end)
{
	return end->key & 1 ? -1 : 1;
}

static u32 rfm_end_granule(const struct rfm_end *end)
{
	return end->key >> 1;
}

static int rfm_sum_below(const struct rb_node *rb)
{
	return rb ? rb_entry(rb, struct rfm_end, node)->below.sum : 0;
}

/* Is one of the sums in a subtree 0, if those before it come to @sum? */
static bool rfm_gap_below(const struct rb_node *rb, int sum)
{
	return rb && !(sum + rb_entry(rb, struct rfm_end, node)->below.min_sum);
}

static bool rfm_end_compute(struct rfm_end *end, bool exit)
{
	const struct rfm_end *left = rfm_end_of(end->node.rb_left);
	const struct rfm_end *right = rfm_end_of(end->node.rb_right);
	int sum = rfm_sum_below(end->node.rb_left) + rfm_end_step(end);
	struct rfm_below below = { .min_sum = sum };

	if (left)
		below.min_sum = min(below.min_sum, left->below.min_sum);
	if (right)
		below.min_sum = min(below.min_sum, sum + right->below.min_sum);
	below.sum = sum + rfm_sum_below(end->node.rb_right);
	if (exit && below.sum == end->below.sum &&
	    below.min_sum == end->below.min_sum)
		return true;
	end->below = below;
	return false;
}

RB_DECLARE_CALLBACKS(static, rfm_ends, struct rfm_end, node, below,
		     rfm_end_compute)

static void rfm_end_insert(struct rb_root *root, struct rfm_end *end, u32 key)
{
	struct rb_node **link = &root->rb_node, *parent = NULL;

	end->key = key;
	while (*link) {
		parent = *link;
		link = key < rfm_end_of(parent)->key ? &parent->rb_left :
						       &parent->rb_right;
	}
	rb_link_node(&end->node, parent, link);
	rfm_end_compute(end, false);
	rfm_ends_propagate(parent, NULL);
	rb_insert_augmented(&end->node, root, &rfm_ends);
}

/* A hold covers the granules from @first up to @end in a plane. */
void rfm_cover_add(struct rb_root *root, struct rfm_end ends[2], u32 first,
		   u32 end)
{
	rfm_end_insert(root, &ends[0], rfm_end_key(first, false));
	rfm_end_insert(root, &ends[1], rfm_end_key(end, true));
}

/* Undoes rfm_cover_add(). */
void rfm_cover_del(struct rb_root *root, struct rfm_end ends[2])
{
	rb_erase_augmented(&ends[0].node, root, &rfm_ends);
	rb_erase_augmented(&ends[1].node, root, &rfm_ends);
}

/* The first behind @granule; @sum: of those up to it. */
static struct rfm_end *rfm_end_behind(const struct rb_root *root, u32 granule,
				      int *sum)
{
	u32 key = rfm_end_key(granule + 1, false);
	struct rb_node *rb = root->rb_node;
	struct rfm_end *found = NULL;

	*sum = 0;
	while (rb) {
		struct rfm_end *end = rfm_end_of(rb);

		if (end->key >= key) {
			found = end;
			rb = rb->rb_left;
		} else {
			*sum += rfm_sum_below(rb->rb_left) + rfm_end_step(end);
			rb = rb->rb_right;
		}
	}
	return found;
}

/* The first in a subtree at which the sum is 0; there is one. */
static struct rfm_end *rfm_gap_in(struct rb_node *rb, int sum)
{
	for (;;) {
		struct rfm_end *end = rfm_end_of(rb);

		if (rfm_gap_below(rb->rb_left, sum)) {
			rb = rb->rb_left;
			continue;
		}
		sum += rfm_sum_below(rb->rb_left) + rfm_end_step(end);
		if (!sum)
			return end;
		rb = rb->rb_right;
	}
}

/* The first from @end on at which the sum is 0; @sum: of those before it. */
static struct rfm_end *rfm_gap_from(struct rfm_end *end, int sum)
{
	struct rb_node *rb, *child;

	while (end) {
		rb = &end->node;
		sum += rfm_end_step(end);
		if (!sum)
			return end;
		if (rfm_gap_below(rb->rb_right, sum))
			return rfm_gap_in(rb->rb_right, sum);
		sum += rfm_sum_below(rb->rb_right);
		do {
			child = rb;
			rb = rb_parent(rb);
		} while (rb && child == rb->rb_right);
		end = rfm_end_of(rb);
	}
	return NULL;
}

/*
 * Finds what nothing covers: @first becomes the first granule of the next gap.
 * Returns the granule behind the gap, 0 if there is none before @end.
 */
u32 rfm_cover_gap(const struct rb_root *root, u32 *first, u32 end)
{
	struct rfm_end *behind;
	int sum;

	if (*first >= end)
		return 0;
	behind = rfm_end_behind(root, *first, &sum);
	if (sum) {
		behind = rfm_gap_from(behind, sum);
		if (!behind || rfm_end_granule(behind) >= end)
			return 0;
		*first = rfm_end_granule(behind);
		behind = rfm_end_of(rb_next(&behind->node));
	}
	return behind ? min(end, rfm_end_granule(behind)) : end;
}
