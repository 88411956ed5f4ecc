/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the DMA engine share: slices, and the requests that they are of. */
#ifndef RFM_DMA_H
#define RFM_DMA_H

#include "rfm_drv.h"

/* rfm_dma.c: the DMA engine */

/* What a card's requests can have pinned at the same time. */
#define RFM_DMA_SLICES		8

/**
 * struct rfm_slice - what the engine moves in one go
 * @node: in dma->free or in its request's slices
 * @turn: in dma->queue
 * @request: whose it is
 * @chain: the descriptors
 * @chain_base: where the card finds them
 * @pages: of the buffers, or our own
 * @sg: a piece of each
 * @count: how many
 * @bounce: the pages of our own that there are so far
 * @own: @pages are some of these
 * @to: the request's buffers from here on
 * @mapped: how many of the descriptors are in use; 0: it is not mapped
 * @pinned: @pages are the user's, and pinned
 * @address: where it goes in the card's memory
 * @bytes: how many
 * @error: why they were not moved, or 0
 * @ended: the engine has done with it
 * @lost: not even that is known: what it has is never freed
 *
 * @turn, @error and @ended under card->irq_lock while it is mapped.
 */
struct rfm_slice {
	struct list_head node;
	struct list_head turn;
	struct rfm_request *request;
	struct rfm_dma_descriptor *chain;
	u32 chain_base;
	struct page **pages;
	struct scatterlist *sg;
	unsigned int count;
	struct page **bounce;
	bool own;
	struct iov_iter to;
	unsigned int mapped;
	bool pinned;
	u32 address;
	size_t bytes;
	int error;
	bool ended;
	bool lost;
};

struct rfm_slice *rfm_slice_get(struct rfm_request *request);
void rfm_slice_leave(struct rfm_request *request);
void rfm_slice_put(struct rfm_slice *slice);
int rfm_slice_submit(struct rfm_slice *slice);
bool rfm_slice_ended(struct rfm_slice *slice);
void rfm_slices_withdraw(struct rfm_request *request);

/* rfm_dma_request.c: reads and writes that use it */

/* How bytes are moved: by programmed I/O, or by the engine, from or to ... */
enum rfm_way {
	RFM_WAY_COPY,
	RFM_WAY_PAGES,	/* ... the pages of the buffers */
	RFM_WAY_BOUNCE,	/* ... pages of our own */
};

/**
 * struct rfm_request - one of them
 * @node: in file->requests
 * @waiting: in dma->waiting
 * @slices: those it has, in order
 * @in_flight: how many
 * @file: the file, which @iocb keeps open
 * @iocb: who is told of its end
 * @caller: who waits for it, or NULL
 * @store: to the card
 * @iter: what of the buffers has not been fed yet
 * @brought: what comes next was brought in, and nothing was moved since
 * @refused: the way in which that could not be moved all the same
 * @again: what was read has to be read once more from here on
 * @vector: a copy of the array that @iter goes through, or NULL
 * @mm: memory of the process that made it; NULL if there is a caller
 * @owner: who made it; NULL if there is a caller
 * @pos: where @iter begins in the window
 * @window: where that begins in the card's memory
 * @done: bytes moved so far
 * @error: why no more were
 * @stop: why no more should be
 */
struct rfm_request {
	struct list_head node;
	struct list_head waiting;
	struct list_head slices;
	unsigned int in_flight;
	struct rfm_file *file;
	struct kiocb *iocb;
	struct completion *caller;
	bool store;
	struct iov_iter iter;
	bool brought;
	enum rfm_way refused;
	bool again;
	const void *vector;
	struct mm_struct *mm;
	struct task_struct *owner;
	loff_t pos;
	u64 window;
	size_t done;
	int error;
	int stop;
};

void rfm_request_kick(struct rfm_request *request);

/* rfm_dma_pages.c: their buffers */
bool rfm_dma_can(const struct iov_iter *iter);
size_t rfm_dma_plan(const struct rfm_request *request, size_t least,
		    enum rfm_way *way);
size_t rfm_dma_bring_in(const struct rfm_request *request, size_t bytes,
			enum rfm_way way);
bool rfm_dma_is_there(const struct iov_iter *iter, size_t bytes);
int rfm_slice_fill(struct rfm_slice *slice, size_t bytes, enum rfm_way way);
size_t rfm_slice_deliver(struct rfm_slice *slice);
void rfm_slice_keep(struct rfm_slice *slice);
void rfm_slice_unpin(struct rfm_slice *slice);

#endif /* RFM_DMA_H */
