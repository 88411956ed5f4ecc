/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the DMA engine share: slices, and the requests that they are of. */
#ifndef RFM_DMA_H
#define RFM_DMA_H

#include <linux/refcount.h>
#include <linux/skbuff.h>

#include "io/io.h"

/* How bytes are moved: by programmed I/O, or by the engine, from or to ... */
enum rfm_way {
	RFM_WAY_COPY,
	RFM_WAY_PAGES,	/* ... the pages of the buffers */
	RFM_WAY_BOUNCE,	/* ... pages of our own */
};

/*
 * A read or write that uses the engine.
 *
 * @turn, @slices, @done and @error under irq.lock while slices are in
 * flight.
 */
struct rfm_request {
	struct list_head turn;		/* in dma->queue, while there are @slices */
	struct list_head slices;	/* ready for the engine, in order */
	struct rfm_file *file;		/* which @iocb keeps open */
	struct kiocb *iocb;
	bool async;			/* @iocb is told of the end, else the caller waits */
	refcount_t pending;		/* if @async: those not ended, and one if more may come */
	struct mmpin locked;		/* if @async: what it takes of RLIMIT_MEMLOCK */
	struct list_head flying;	/* slices in order: if @async those not submitted yet, */
	unsigned int in_flight;		/* else those submitted, so many */
	bool store;			/* to the card */
	size_t threshold;		/* how many bytes are worth a slice, 0: none are */
	struct iov_iter iter;		/* what of the buffers is in no slice yet */
	loff_t pos;			/* where @iter begins in the window */
	unsigned int pieces;		/* of how many pages the next slice may be */
	bool faulted_in;		/* what comes next was, and nothing moved since */
	enum rfm_way refused;		/* in this way it could not be moved all the same */
	size_t done;			/* bytes moved so far */
	int error;			/* why the engine has moved no more */
};

/* What the engine moves in one go. */
struct rfm_slice {
	struct list_head node;		/* in its request's slices */
	struct list_head flight;	/* in its request's flying */
	struct rfm_request *request;	/* whose it is */
	u32 address;			/* where it goes in the card's memory */
	size_t bytes;			/* how many */
	size_t room;			/* what it has taken of dma->pinned */
	unsigned int count;		/* pages that there are */
	unsigned int mapped;		/* how many descriptors these are */
	bool own;			/* they are our own */
	bool pinned;			/* they are the user's */
	struct iov_iter to;		/* where a read by pages of our own goes */
	bool leaked;			/* the engine may go on: its pages are never given back */
	struct completion ended;	/* for a caller */
	struct work_struct work;	/* for others */
	struct scatterlist *sg;		/* a piece of each page */
	struct page *pages[];
};

/* io/dma.c: the DMA engine */
int rfm_slice_submit(struct rfm_slice *slice);

/* io/dma_pages.c: buffers, and slices of them */
size_t rfm_dma_plan(struct rfm_request *request, enum rfm_way *way);
size_t rfm_dma_fault_in(const struct rfm_request *request, size_t bytes,
			enum rfm_way way);
struct rfm_slice *rfm_slice_new(struct rfm_request *request, size_t bytes,
				enum rfm_way way);
void rfm_slice_leak(struct rfm_slice *slice);
int rfm_slice_deliver(struct rfm_slice *slice);
void rfm_slice_free(struct rfm_slice *slice);
int rfm_room_wait(struct rfm_card *card);

/* io/dma_request.c: reads and writes that use it */
void rfm_request_work(struct work_struct *work);

#endif /* RFM_DMA_H */
