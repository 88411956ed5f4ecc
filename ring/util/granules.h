/* SPDX-License-Identifier: MIT */
/*
 * Bits of the granules: planes of one bit for every 64 bytes of a memory, for
 * who stores, sends or reports by them. A card's extension block has the
 * planes; a node engine knows nothing of them.
 *
 * A plane costs memory only where it is not as at reset, and more than one load
 * only while it is not so everywhere.
 *
 * Reads may run in another thread than a change, and see each word of 32
 * granules as it was before or after it. Changes must be serialised by the owner.
 */
#ifndef RFM_RING_GRANULES_H
#define RFM_RING_GRANULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RFM_GRANULES_BYTES	64	/* of memory, to a bit */
#define RFM_GRANULES_WORD	32	/* granules in a word */

enum rfm_granules_plane {
	RFM_GRANULES_RX		= 0,	/* at reset all on */
	RFM_GRANULES_TX		= 1,	/* at reset all on */
	RFM_GRANULES_WATCH	= 2,	/* at reset all off, as those below */
	RFM_GRANULES_OWNED	= 3,
	RFM_GRANULES_SLOT	= 4,	/* a comparator or timer looks there */
	RFM_GRANULES_READ	= 5,	/* other nodes may read it here */
	RFM_GRANULES_WRITE	= 6,	/* ... and write */
	RFM_GRANULES_HOME	= 7,	/* its words are changed here: CAS and ADD */
	RFM_GRANULES_PLANES	= 8
};

/**
 * struct rfm_granules - the planes of one memory
 * @count: granules of the memory; the last one may lie in it in part
 * @changed: of each plane, granules that are not as at reset
 * @words: of each plane, a bit set where it is not as at reset
 */
struct rfm_granules {
	uint32_t count;
	_Atomic uint32_t changed[RFM_GRANULES_PLANES];
	_Atomic uint32_t *words[RFM_GRANULES_PLANES];
};

/**
 * rfm_granules_init() - all planes as at reset
 * @memory_size: bytes, 1..RFM_RING_SPACE
 *
 * Returns 0, or -1 with errno EINVAL for a size out of range, or ENOMEM. Undo
 * with rfm_granules_destroy(), which may be called after a failure too.
 */
int rfm_granules_init(struct rfm_granules *g, uint64_t memory_size);
void rfm_granules_destroy(struct rfm_granules *g);

/** rfm_granules_reset() - every granule of every plane as at reset */
void rfm_granules_reset(struct rfm_granules *g);

/**
 * rfm_granules_set() - switch granules of a plane on or off
 * @first: number of the first granule
 * @count: how many; @first + @count is at most @g->count
 */
void rfm_granules_set(struct rfm_granules *g, enum rfm_granules_plane plane, uint32_t first,
		      uint32_t count, bool on);

/** rfm_granules_at_reset() - are the granules of the plane on then? */
static inline bool rfm_granules_at_reset(enum rfm_granules_plane plane)
{
	return plane == RFM_GRANULES_RX || plane == RFM_GRANULES_TX;
}

/** rfm_granules_is_changed() - is any granule of the plane not as at reset? */
static inline bool rfm_granules_is_changed(const struct rfm_granules *g,
					   enum rfm_granules_plane plane)
{
	return atomic_load_explicit(&g->changed[plane], memory_order_relaxed);
}

/** rfm_granules_get() - is granule number @granule, below @g->count, on? */
bool rfm_granules_get(const struct rfm_granules *g, enum rfm_granules_plane plane,
		      uint32_t granule);

/**
 * rfm_granules_word() - 32 granules
 * @first: any granule of them: the lowest bit is @first rounded down to a
 *	multiple of 32
 *
 * Bits of granules past the end are 0.
 */
uint32_t rfm_granules_word(const struct rfm_granules *g, enum rfm_granules_plane plane,
			   uint32_t first);

/** rfm_granules_look_up() - rfm_granules_run() for a plane that is changed */
unsigned int rfm_granules_look_up(const struct rfm_granules *g, enum rfm_granules_plane plane,
				  uint32_t offset, unsigned int len, bool *on);

/**
 * rfm_granules_run() - how much from here is alike?
 * @offset: byte of the memory
 * @len: bytes from there, 1 at least, within the memory
 * @on: whether the run is on or off
 *
 * Returns the bytes from @offset, at most @len, until the first granule that is
 * not as that of @offset.
 */
static inline unsigned int rfm_granules_run(const struct rfm_granules *g,
					    enum rfm_granules_plane plane, uint32_t offset,
					    unsigned int len, bool *on)
{
	if (rfm_granules_is_changed(g, plane))
		return rfm_granules_look_up(g, plane, offset, len, on);
	*on = rfm_granules_at_reset(plane);
	return len;
}

/** rfm_granules_any() - is one on that these bytes touch? Arguments as of rfm_granules_run() */
static inline bool rfm_granules_any(const struct rfm_granules *g, enum rfm_granules_plane plane,
				    uint32_t offset, unsigned int len)
{
	bool on;

	/* What ends a run of granules that are off is one that is on. */
	return rfm_granules_run(g, plane, offset, len, &on) < len || on;
}

#endif
