/* SPDX-License-Identifier: MIT */
/*
 * The transmit FIFO: encoded frames that wait for the fibre, with the line
 * behind it. A node has one, a hub one for each port.
 *
 * A train takes as many cells as it has frames, so that all is counted in
 * frames. Its bytes lie in one piece: what begins in the last cells goes on
 * behind them, where there is room for it, and the first cells that it stands
 * for are not used.
 */
#ifndef RFM_RING_FIFO_H
#define RFM_RING_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/frame.h"
#include "ring/line.h"

#define RFM_FIFO_CELL	128	/* bytes */

/**
 * struct rfm_fifo_slot - a frame or train that waits
 * @ready: when it may leave, ns (a frame in transit: arrival + hop time)
 * @tag: the owner's
 * @frames: how many it is
 * @length: bytes of @wire
 * @wire: RFM_FRAME_MAX bytes, RFM_UNIT_MAX of a train
 */
struct rfm_fifo_slot {
	uint64_t ready;
	uint8_t tag;
	uint8_t frames;
	uint16_t length;
	uint8_t wire[];
};

/**
 * struct rfm_fifo - bounded; indices run freely
 * @cells: RFM_FIFO_CELL bytes each
 * @capacity: of @size, in use now: grows when needed, so that a FIFO that never
 *	runs empty touches no more memory than it must
 * @deepest: most frames that ever waited
 * @arrival: of the frame at the head, ns; valid if @reckoned
 */
struct rfm_fifo {
	uint8_t *cells;
	uint32_t size;		/* a power of two */
	uint32_t head, tail;
	uint32_t capacity;
	uint32_t deepest;
	bool reckoned;
	uint64_t arrival;
	struct rfm_line line;
};

/** rfm_fifo_init() - room for @size frames, a power of two; -1 with errno ENOMEM */
int rfm_fifo_init(struct rfm_fifo *fifo, uint32_t size, const struct rfm_line_config *line,
		  uint64_t now);
void rfm_fifo_destroy(struct rfm_fifo *fifo);

/* Frames that wait. */
static inline uint32_t rfm_fifo_used(const struct rfm_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

static inline struct rfm_fifo_slot *rfm_fifo_at(const struct rfm_fifo *fifo, uint32_t index)
{
	return (struct rfm_fifo_slot *)(void *)(fifo->cells + (size_t)(index & (fifo->capacity - 1)) *
							  RFM_FIFO_CELL);
}

/* Of the calls below: use more of @size; when does the line deliver the head? */
void rfm_fifo_make_room(struct rfm_fifo *fifo);
uint64_t rfm_fifo_arrival(struct rfm_fifo *fifo);

/**
 * rfm_fifo_put() - a place at the end, to be filled in at once
 * @frames: 1..RFM_TRAIN_FRAMES
 *
 * There must be room for them. Pages that only a burst has used are given back when
 * the FIFO runs empty.
 */
static inline struct rfm_fifo_slot *rfm_fifo_put(struct rfm_fifo *fifo, unsigned int frames)
{
	uint32_t used = rfm_fifo_used(fifo);
	struct rfm_fifo_slot *slot;

	if (!used || used + frames > fifo->capacity)
		rfm_fifo_make_room(fifo);
	if (used + frames > fifo->deepest)
		fifo->deepest = used + frames;
	slot = rfm_fifo_at(fifo, fifo->tail);
	slot->frames = frames;
	fifo->tail += frames;
	return slot;
}

/**
 * rfm_fifo_drop() - the first frame or train, whatever the line says; NULL if empty
 *
 * Valid until the next call of anything here.
 */
static inline const struct rfm_fifo_slot *rfm_fifo_drop(struct rfm_fifo *fifo)
{
	const struct rfm_fifo_slot *slot = rfm_fifo_at(fifo, fifo->head);

	if (!rfm_fifo_used(fifo))
		return NULL;
	fifo->reckoned = false;
	fifo->head += slot->frames;
	return slot;
}

/**
 * rfm_fifo_take() - the first frame or train that the line has delivered by @now
 *
 * Valid until the next call of anything here. NULL if there is none yet;
 * rfm_fifo_next() says when.
 */
static inline const struct rfm_fifo_slot *rfm_fifo_take(struct rfm_fifo *fifo, uint64_t now)
{
	if (fifo->line.config.paced && rfm_fifo_used(fifo) && rfm_fifo_arrival(fifo) > now)
		return NULL;
	return rfm_fifo_drop(fifo);
}

/** rfm_fifo_next() - when rfm_fifo_take() has something: ns, 0 at once, UINT64_MAX never */
uint64_t rfm_fifo_next(struct rfm_fifo *fifo);

#endif
