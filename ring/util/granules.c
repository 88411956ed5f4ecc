// SPDX-License-Identifier: MIT
#include "ring/util/granules.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "ring/frame.h"

static size_t words_of(const struct rfm_granules *g)
{
	return ((size_t)g->count + RFM_GRANULES_WORD - 1) / RFM_GRANULES_WORD;
}

static size_t bytes_of(const struct rfm_granules *g)
{
	return words_of(g) * RFM_GRANULES_PLANES * sizeof(*g->words[0]);
}

int rfm_granules_init(struct rfm_granules *g, uint64_t memory_size)
{
	void *words;

	*g = (struct rfm_granules){ 0 };
	if (!memory_size || memory_size > RFM_RING_SPACE) {
		errno = EINVAL;
		return -1;
	}
	g->count = (memory_size + RFM_GRANULES_BYTES - 1) / RFM_GRANULES_BYTES;
	/* Fresh pages straight from the kernel: what is never changed costs nothing. */
	words = mmap(NULL, bytes_of(g), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (words == MAP_FAILED)
		return -1;
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++)
		g->words[plane] = (_Atomic uint32_t *)words + words_of(g) * plane;
	return 0;
}

void rfm_granules_destroy(struct rfm_granules *g)
{
	if (g->words[0])
		munmap((void *)g->words[0], bytes_of(g));
	*g = (struct rfm_granules){ 0 };
}

/* Some bits of a word: as at reset, or not. Returns by how many more are not so now. */
static int change(_Atomic uint32_t *word, uint32_t bits, bool differ)
{
	uint32_t before = atomic_load_explicit(word, memory_order_relaxed);
	uint32_t after = differ ? before | bits : before & ~bits;

	/* A page of zeroes that is read is shared, one that is written is not. */
	if (after == before)
		return 0;
	atomic_store_explicit(word, after, memory_order_relaxed);
	return __builtin_popcount(after) - __builtin_popcount(before);
}

void rfm_granules_set(struct rfm_granules *g, enum rfm_granules_plane plane, uint32_t first,
		      uint32_t count, bool on)
{
	const bool differ = on != rfm_granules_at_reset(plane);
	uint32_t changed = atomic_load_explicit(&g->changed[plane], memory_order_relaxed);
	uint32_t end = first + count;

	if (!differ && !changed)
		return;
	while (first < end) {
		unsigned int bit = first % RFM_GRANULES_WORD;
		uint32_t room = RFM_GRANULES_WORD - bit;
		uint32_t part = end - first < room ? end - first : room;

		changed += change(&g->words[plane][first / RFM_GRANULES_WORD],
				  UINT32_MAX >> (RFM_GRANULES_WORD - part) << bit, differ);
		first += part;
	}
	atomic_store_explicit(&g->changed[plane], changed, memory_order_relaxed);
}

void rfm_granules_reset(struct rfm_granules *g)
{
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++)
		rfm_granules_set(g, plane, 0, g->count, rfm_granules_at_reset(plane));
}

/* The word that holds @granule, a bit set where it is on. */
static uint32_t load(const struct rfm_granules *g, enum rfm_granules_plane plane,
		     uint32_t granule)
{
	uint32_t word = atomic_load_explicit(&g->words[plane][granule / RFM_GRANULES_WORD],
					     memory_order_relaxed);

	return rfm_granules_at_reset(plane) ? ~word : word;
}

bool rfm_granules_get(const struct rfm_granules *g, enum rfm_granules_plane plane,
		      uint32_t granule)
{
	return load(g, plane, granule) >> granule % RFM_GRANULES_WORD & 1;
}

uint32_t rfm_granules_word(const struct rfm_granules *g, enum rfm_granules_plane plane,
			   uint32_t first)
{
	uint32_t left;

	if (first >= g->count)
		return 0;
	left = g->count - first / RFM_GRANULES_WORD * RFM_GRANULES_WORD;
	return load(g, plane, first) &
	       (left < RFM_GRANULES_WORD ? (1u << left) - 1 : UINT32_MAX);
}

/* The first granule from @first, or @end if that comes before it, that is not @on. */
static uint32_t find_other(const struct rfm_granules *g, enum rfm_granules_plane plane,
			   uint32_t first, uint32_t end, bool on)
{
	while (first < end) {
		uint32_t word = load(g, plane, first);
		uint32_t others = (on ? ~word : word) >> first % RFM_GRANULES_WORD;

		if (others)
			return first + __builtin_ctz(others);
		first = (first / RFM_GRANULES_WORD + 1) * RFM_GRANULES_WORD;
	}
	return end;
}

unsigned int rfm_granules_look_up(const struct rfm_granules *g, enum rfm_granules_plane plane,
				  uint32_t offset, unsigned int len, bool *on)
{
	uint32_t first = offset / RFM_GRANULES_BYTES;
	uint32_t end = (offset + len - 1) / RFM_GRANULES_BYTES + 1;
	uint32_t other;

	*on = rfm_granules_get(g, plane, first);
	other = find_other(g, plane, first + 1, end, *on);
	return other < end ? other * RFM_GRANULES_BYTES - offset : len;
}
