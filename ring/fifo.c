// SPDX-License-Identifier: MIT
#include "ring/fifo.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST	256u	/* slots in use at first: 32 KiB */
#define KEEP		4096u	/* slots whose pages an empty FIFO keeps */

static size_t bytes(uint32_t slots)
{
	return (size_t)slots * sizeof(struct rfm_slot);
}

int rfm_fifo_init(struct rfm_fifo *fifo, uint32_t size, const struct rfm_line_config *line,
		  uint64_t now)
{
	void *slots;

	*fifo = (struct rfm_fifo){
		.size = size,
		.capacity = size < SMALLEST ? size : SMALLEST,
	};
	rfm_line_init(&fifo->line, line, now);
	/* Fresh pages straight from the kernel: what is never used costs nothing. */
	slots = mmap(NULL, bytes(size), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slots == MAP_FAILED)
		return -1;
	fifo->slots = slots;
	return 0;
}

void rfm_fifo_destroy(struct rfm_fifo *fifo)
{
	if (fifo->slots)
		munmap(fifo->slots, bytes(fifo->size));
	fifo->slots = NULL;
}

static void start_over(struct rfm_fifo *fifo)
{
	fifo->head = fifo->tail = 0;
	if (fifo->capacity <= KEEP)
		return;
	madvise(fifo->slots + KEEP, bytes(fifo->capacity - KEEP), MADV_DONTNEED);
	fifo->capacity = KEEP;
}

/* Twice the room: what had wrapped round moves into the new half. */
static void grow(struct rfm_fifo *fifo)
{
	uint32_t old = fifo->capacity;

	for (uint32_t i = fifo->head; i != fifo->tail; i++)
		if (i & old)
			fifo->slots[(i & (old - 1)) + old] = fifo->slots[i & (old - 1)];
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
	const struct rfm_slot *slot = rfm_fifo_at(fifo, fifo->head);

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
