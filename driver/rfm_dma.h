/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the DMA engine share: slices, and the requests that they are of. */
#ifndef RFM_DMA_H
#define RFM_DMA_H

#include <linux/refcount.h>

#include "rfm_drv.h"

/* How bytes are moved: by programmed I/O, or by the engine, from or to ... */
enum rfm_way {
	RFM_WAY_COPY,
	RFM_WAY_PAGES,	/* ... the pages of the buffers */
	RFM_WAY_BOUNCE,	/* ... pages of our own */
};

/**
 * struct rfm_request - a read or write that uses the engine
 * @turn: in dma->queue, while there are @slices
 * @slices: those that are ready for the engine, in order
 * @file: the file, which @iocb keeps open
 * @iocb: the read or write
 * @async: @iocb is told of the end, else the caller waits for it
 * @pending: asynchronous: slices that have not been given back, and one more as
 *	long as others may come
 * @flying: with a caller: the slices that were submitted, in order
 * @in_flight: how many slices were submitted; asynchronous: ever
 * @store: to the card
 * @iter: what of the buffers is in no slice yet
 * @pos: where @iter begins in the window
 * @pieces: of how many pages the next slice may be
 * @brought: what comes next was brought in, and nothing was moved since
 * @refused: the way in which that could not be moved all the same
 * @done: bytes moved so far
 * @error: why the engine has moved no more
 *
 * @turn, @slices, @done and @error under card->irq_lock while slices are in
 * flight.
 */
struct rfm_request {
	struct list_head turn;
	struct list_head slices;
	struct rfm_file *file;
	struct kiocb *iocb;
	bool async;
	refcount_t pending;
	struct list_head flying;
	unsigned int in_flight;
	bool store;
	struct iov_iter iter;
	loff_t pos;
	unsigned int pieces;
	bool brought;
	enum rfm_way refused;
	size_t done;
	int error;
};

/**
 * struct rfm_slice - what the engine moves in one go
 * @node: in its request's slices
 * @flight: in its request's flying ones
 * @request: whose it is
 * @address: where it goes in the card's memory
 * @bytes: how many
 * @room: what it has taken of dma->pinned
 * @pieces: pages that there is room for
 * @count: pages that there are
 * @mapped: how many descriptors these are
 * @own: they are our own
 * @pinned: they are the user's
 * @to: where a read by pages of our own goes
 * @lost: the engine may go on with it: its pages are never given back
 * @ended: for a caller
 * @work: for others
 * @sg: a piece of each page
 * @pages: the pages
 */
struct rfm_slice {
	struct list_head node;
	struct list_head flight;
	struct rfm_request *request;
	u32 address;
	size_t bytes;
	size_t room;
	unsigned int pieces;
	unsigned int count;
	unsigned int mapped;
	bool own;
	bool pinned;
	struct iov_iter to;
	bool lost;
	struct completion ended;
	struct work_struct work;
	struct scatterlist *sg;
	struct page *pages[];
};

/* rfm_dma.c: the DMA engine */
int rfm_slice_submit(struct rfm_slice *slice);

/* rfm_dma_pages.c: buffers, and slices of them */
size_t rfm_dma_plan(struct rfm_request *request, size_t least,
		    enum rfm_way *way);
size_t rfm_dma_bring_in(const struct rfm_request *request, size_t bytes,
			enum rfm_way way);
struct rfm_slice *rfm_slice_new(struct rfm_request *request, size_t bytes,
				enum rfm_way way);
void rfm_slice_keep(struct rfm_slice *slice);
int rfm_slice_deliver(struct rfm_slice *slice);
void rfm_slice_free(struct rfm_slice *slice);
int rfm_room_wait(struct rfm_card *card);

/* rfm_dma_request.c: reads and writes that use it */
void rfm_request_work(struct work_struct *work);

#endif /* RFM_DMA_H */
