// SPDX-License-Identifier: MIT
#include "ring/fifo.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST	256u	/* cells in use at first: 32 KiB */
#define KEEP		4096u	/* cells whose pages an empty FIFO keeps */
#define BEHIND		4096u	/* bytes behind the last cell, for a train that begins there */

_Static_assert(sizeof(struct rfm_fifo_slot) + RFM_FRAME_MAX <= RFM_FIFO_CELL,
	       "a cell holds a frame");
_Static_assert(sizeof(struct rfm_fifo_slot) + RFM_UNIT_MAX <= BEHIND, "a train may begin in any");
_Static_assert(RFM_TRAIN_FRAMES <= SMALLEST, "to double it makes room");

static size_t cells_size(uint32_t cells)
{
	return (size_t)cells * RFM_FIFO_CELL;
}

int rfm_fifo_init(struct rfm_fifo *fifo, uint32_t size, const struct rfm_line_config *line,
		  uint64_t now)
{
	void *cells;

	*fifo = (struct rfm_fifo){
		.size = size,
		.capacity = size < SMALLEST ? size : SMALLEST,
	};
	rfm_line_init(&fifo->line, line, now);
	/* Fresh pages straight from the kernel: what is never used costs nothing. */
	cells = mmap(NULL, cells_size(size) + BEHIND, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (cells == MAP_FAILED)
		return -1;
	fifo->cells = cells;
	return 0;
}

void rfm_fifo_destroy(struct rfm_fifo *fifo)
{
	if (fifo->cells)
		munmap(fifo->cells, cells_size(fifo->size) + BEHIND);
	fifo->cells = NULL;
}

static void start_over(struct rfm_fifo *fifo)
{
	fifo->head = fifo->tail = 0;
	if (fifo->capacity <= KEEP)
		return;
	madvise(fifo->cells + cells_size(KEEP), cells_size(fifo->capacity - KEEP), MADV_DONTNEED);
	fifo->capacity = KEEP;
}

/*
 * Twice the room: what had wrapped round moves into the new half. The one whose
 * bytes go on behind the old last cell is where it belongs, or is the last to
 * move: what moves before it goes behind those bytes, because it stood behind
 * the first cells, which that one stands for.
 */
static void grow(struct rfm_fifo *fifo)
{
	uint32_t old = fifo->capacity;
	const struct rfm_fifo_slot *slot;

	for (uint32_t i = fifo->head; i != fifo->tail; i += slot->frames) {
		slot = (const void *)(fifo->cells + cells_size(i & (old - 1)));
		if (i & old)
			memcpy(fifo->cells + cells_size((i & (old - 1)) + old), slot,
			       sizeof(*slot) + slot->length);
	}
	fifo->capacity = old * 2;
}

void rfm_fifo_make_room(struct rfm_fifo *fifo)
{
	if (rfm_fifo_used(fifo))
		grow(fifo);
	else
		start_over(fifo);
}

uint64_t rfm_fifo_arrival(struct rfm_fifo *fifo)
{
	const struct rfm_fifo_slot *slot = rfm_fifo_at(fifo, fifo->head);

	if (!fifo->reckoned) {
		fifo->arrival = rfm_line_arrival(&fifo->line, slot->length - RFM_FRAME_HEADER,
						 slot->ready);
		fifo->reckoned = true;
	}
	return fifo->arrival;
}

uint64_t rfm_fifo_next(struct rfm_fifo *fifo)
{
	if (!rfm_fifo_used(fifo))
		return UINT64_MAX;
	return fifo->line.config.paced ? rfm_fifo_arrival(fifo) : 0;
}
