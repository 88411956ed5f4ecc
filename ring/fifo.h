/* SPDX-License-Identifier: MIT */
/*
 * The transmit FIFO: encoded frames that wait for the fibre, with the line
 * behind it. A node has one, a hub one for each port.
 */
#ifndef RFM_RING_FIFO_H
#define RFM_RING_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/frame.h"
#include "ring/line.h"

/**
 * struct rfm_slot - a frame that waits
 * @ready: when it may leave, ns (a frame in transit: arrival + hop time)
 * @tag: the owner's
 * @length: bytes of @wire
 */
struct rfm_slot {
	uint64_t ready;
	uint8_t tag;
	uint8_t length;
	uint8_t wire[RFM_FRAME_MAX];
};

/**
 * struct rfm_fifo - bounded; indices run freely
 * @capacity: of @size, in use now: grows when needed, so that a FIFO that never
 *	runs empty touches no more memory than it must
 * @deepest: most frames that ever waited
 * @arrival: of the frame at the head, ns; valid if @reckoned
 */
struct rfm_fifo {
	struct rfm_slot *slots;
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

static inline uint32_t rfm_fifo_used(const struct rfm_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

static inline struct rfm_slot *rfm_fifo_at(const struct rfm_fifo *fifo, uint32_t index)
{
	return &fifo->slots[index & (fifo->capacity - 1)];
}

/* Of the calls below: use more of @size; when does the line deliver the head? */
void rfm_fifo_make_room(struct rfm_fifo *fifo);
uint64_t rfm_fifo_arrival(struct rfm_fifo *fifo);

/**
 * rfm_fifo_put() - a place at the end, to be filled in at once
 *
 * There must be room. Pages that only a burst has used are given back when
 * the FIFO runs empty.
 */
static inline struct rfm_slot *rfm_fifo_put(struct rfm_fifo *fifo)
{
	uint32_t used = rfm_fifo_used(fifo);

	if (!used || used == fifo->capacity)
		rfm_fifo_make_room(fifo);
	if (used + 1 > fifo->deepest)
		fifo->deepest = used + 1;
	return rfm_fifo_at(fifo, fifo->tail++);
}

/**
 * rfm_fifo_drop() - the first frame, whatever the line says; NULL if empty
 *
 * Valid until the next call of anything here.
 */
static inline const struct rfm_slot *rfm_fifo_drop(struct rfm_fifo *fifo)
{
	if (!rfm_fifo_used(fifo))
		return NULL;
	fifo->reckoned = false;
	return rfm_fifo_at(fifo, fifo->head++);
}

/**
 * rfm_fifo_take() - the first frame that the line has delivered by @now
 *
 * Valid until the next call of anything here. NULL if there is none yet;
 * rfm_fifo_next() says when.
 */
static inline const struct rfm_slot *rfm_fifo_take(struct rfm_fifo *fifo, uint64_t now)
{
	if (fifo->line.config.paced && rfm_fifo_used(fifo) && rfm_fifo_arrival(fifo) > now)
		return NULL;
	return rfm_fifo_drop(fifo);
}

/** rfm_fifo_next() - when rfm_fifo_take() has something: ns, 0 at once, UINT64_MAX never */
uint64_t rfm_fifo_next(struct rfm_fifo *fifo);

#endif
