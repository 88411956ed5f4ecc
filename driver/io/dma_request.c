// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: reads and writes that use the DMA engine.
 *
 * Whoever makes the call cuts it into slices, pins their pages, and hands them
 * to the engine (io/dma.c); nobody else ever looks for memory of a process.
 *
 * A caller who waits has two slices at most, one that is moved and one that is
 * made ready, and does in between what the engine cannot: programmed I/O, and
 * copies to and from pages of our own. Before it waits, for user memory or for
 * room, it takes back the slices it has.
 *
 * An asynchronous request goes to the engine as a whole, and its call returns;
 * that is for buffers of which the engine can take all. The last of its slices
 * that ends, ends it. All other asynchronous calls are done before they return,
 * by the caller or, where that must not wait, by the worker of io_uring that
 * comes after -EAGAIN.
 */

#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "io/dma.h"

/* Slices of a caller who waits. */
#define RFM_REQUEST_SLICES	2

/* Bytes faulted in at a time. */
#define RFM_FAULT_IN		(2u << 20)

/* Any is worth a slice, where the rest of the request has some. */
#define RFM_LEAST_ASYNC		8

static void rfm_request_init(struct rfm_request *request, struct kiocb *iocb,
			     struct iov_iter *iter, size_t bytes)
{
	memset(request, 0, sizeof(*request));
	INIT_LIST_HEAD(&request->turn);
	INIT_LIST_HEAD(&request->slices);
	INIT_LIST_HEAD(&request->flying);
	request->file = iocb->ki_filp->private_data;
	request->iocb = iocb;
	request->pos = iocb->ki_pos;
	request->store = iov_iter_rw(iter) == WRITE;
	request->threshold = rfm_dma_threshold(request->file->card,
					       request->store);
	request->iter = *iter;
	iov_iter_truncate(&request->iter, bytes);
}

/* A caller who waits takes its first slices back, until so many are left. */
static int rfm_request_settle(struct rfm_request *request, unsigned int left)
{
	struct rfm_slice *slice;
	int ret = 0;

	while (request->in_flight > left) {
		slice = list_first_entry(&request->flying, struct rfm_slice,
					 flight);
		wait_for_completion(&slice->ended);
		list_del(&slice->flight);
		request->in_flight--;
		if (slice->own && !request->store && !request->error)
			ret = rfm_slice_deliver(slice);
		rfm_slice_free(slice);
	}
	return ret;
}

static int rfm_request_copy(struct rfm_request *request, size_t bytes)
{
	int ret = rfm_request_settle(request, 0);

	if (ret || request->error)
		return ret;
	bytes = rfm_io_move(request->file->card, &request->iter, request->pos,
			    rfm_io_turn(request->pos, bytes), request->store,
			    &ret);
	request->pos += bytes;
	request->done += bytes;
	request->refused = RFM_WAY_COPY;
	return ret;
}

/* Asynchronous slices are handed over; from the first refused on, freed. */
static int rfm_request_launch(struct rfm_request *request, int ret)
{
	struct rfm_slice *slice, *next;

	list_for_each_entry_safe(slice, next, &request->flying, flight) {
		list_del(&slice->flight);
		refcount_inc(&request->pending);
		ret = ret ?: rfm_slice_submit(slice);
		if (ret) {
			refcount_dec(&request->pending);
			rfm_slice_free(slice);
		}
	}
	return ret;
}

static int rfm_request_submit(struct rfm_request *request,
			      struct rfm_slice *slice)
{
	int ret;

	list_add_tail(&slice->flight, &request->flying);
	if (request->async) {
		request->faulted_in = false;
		/* Who must not wait has all of it ready before any is moved. */
		return request->iocb->ki_flags & IOCB_NOWAIT ?
		       0 : rfm_request_launch(request, 0);
	}

	ret = rfm_slice_submit(slice);
	if (!ret) {
		request->faulted_in = false;
		request->in_flight++;
		/* Its data is copied before anything else is done. */
		return slice->own && !request->store ?
			rfm_request_settle(request, 0) : 0;
	}
	list_del(&slice->flight);
	iov_iter_revert(&request->iter, slice->bytes);
	request->pos -= slice->bytes;
	rfm_slice_free(slice);
	if (ret != -ENOMEM)
		return ret;
	request->refused = RFM_WAY_BOUNCE;
	return 0;
}

static int rfm_request_engine(struct rfm_request *request, size_t bytes,
			      enum rfm_way way)
{
	struct rfm_slice *slice;

	rfm_request_settle(request, RFM_REQUEST_SLICES - 1);
	slice = rfm_slice_new(request, bytes, way);
	if (!IS_ERR(slice))
		return rfm_request_submit(request, slice);
	if (request->async && PTR_ERR(slice) == -ENOMEM)
		return -ENOMEM;
	if (request->iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;

	rfm_request_settle(request, 0);
	switch (PTR_ERR(slice)) {
	case -EAGAIN:
		return rfm_room_wait(request->file->card);
	case -EBUSY:	/* Others hold the lock of the mappings. */
		if (!mmap_read_lock_killable(current->mm))
			mmap_read_unlock(current->mm);
		return 0;
	case -ENOMEM:
		request->refused = RFM_WAY_BOUNCE;
		return 0;
	}
	/* It may be there once faulted in; if not, there is another way. */
	if (way == RFM_WAY_PAGES)
		bytes = min_t(size_t, iov_iter_count(&request->iter),
			      RFM_FAULT_IN);
	request->faulted_in = !request->faulted_in &&
			      rfm_dma_fault_in(request, bytes, way);
	if (!request->faulted_in)
		request->refused = way;
	return 0;
}

/* Move some more, or see to it that the next step can. */
static int rfm_request_step(struct rfm_request *request)
{
	enum rfm_way way;
	size_t bytes;

	/* Past segments without a byte in them. */
	iov_iter_advance(&request->iter, 0);
	bytes = rfm_dma_plan(request, &way);
	if (way == RFM_WAY_PAGES && request->refused == RFM_WAY_PAGES)
		way = RFM_WAY_BOUNCE;
	/* What comes from the card is copied by a caller who waits. */
	if (request->async && way == RFM_WAY_BOUNCE && !request->store)
		return -EFAULT;
	if (way == RFM_WAY_COPY || request->refused == RFM_WAY_BOUNCE)
		return request->async ? -EFAULT :
					rfm_request_copy(request, bytes);
	return bytes ? rfm_request_engine(request, bytes, way) :
		       rfm_request_settle(request, 0);
}

static int rfm_request_steps(struct rfm_request *request)
{
	int ret = 0;

	while (!ret && !READ_ONCE(request->error) &&
	       iov_iter_count(&request->iter)) {
		/*
		 * If faulting buffers in took so long that a signal comes each
		 * time, what is in is moved first: else nothing ever would be.
		 */
		if (rfm_io_interrupted(request->iocb) &&
		    (!request->faulted_in || fatal_signal_pending(current)))
			return -ERESTARTSYS;
		ret = rfm_request_step(request);
		cond_resched();
	}
	return ret;
}

/* With a caller who waits. Returns bytes moved, or why none were. */
static ssize_t rfm_request_run(struct kiocb *iocb, struct iov_iter *iter,
			       size_t bytes)
{
	struct rfm_request request;
	ssize_t done;
	int ret;

	rfm_request_init(&request, iocb, iter, bytes);
	ret = rfm_request_steps(&request);
	ret = rfm_request_settle(&request, 0) ?: ret;
	done = request.done;
	iov_iter_advance(iter, done);
	iocb->ki_pos += done;
	return done ?: request.error ?: ret;
}

/* --- asynchronous --------------------------------------------------------- */

/*
 * Is all of it for the engine, from and to the buffers' own pages? Returns how
 * many these are, or 0.
 */
static size_t rfm_request_pages(struct kiocb *iocb, struct iov_iter *iter,
				size_t bytes)
{
	struct rfm_request request;
	enum rfm_way way;
	size_t pages = 0;

	rfm_request_init(&request, iocb, iter, bytes);
	request.threshold = RFM_LEAST_ASYNC;
	for (; iov_iter_count(&request.iter); request.in_flight++) {
		iov_iter_advance(&request.iter, 0);
		bytes = rfm_dma_plan(&request, &way);
		if (way != RFM_WAY_PAGES || !bytes)
			return 0;
		iov_iter_advance(&request.iter, bytes);
		request.pos += bytes;
		pages += request.pieces;
	}
	return pages;
}

/* One slice less, or no more to come. Returns -EIOCBQUEUED if there are others. */
static ssize_t rfm_request_put(struct rfm_request *request)
{
	ssize_t ret;

	if (!refcount_dec_and_test(&request->pending))
		return -EIOCBQUEUED;
	ret = request->done ?: request->error;
	if (ret > 0)
		request->iocb->ki_pos += ret;
	mm_unaccount_pinned_pages(&request->locked);
	kfree(request);
	return ret;
}

/* A slice of an asynchronous request has ended. */
void rfm_request_work(struct work_struct *work)
{
	struct rfm_slice *slice = container_of(work, struct rfm_slice, work);
	struct rfm_request *request = slice->request;
	struct rfm_card *card = request->file->card;
	struct kiocb *iocb = request->iocb;
	ssize_t ret;

	rfm_slice_free(slice);
	ret = rfm_request_put(request);
	if (ret == -EIOCBQUEUED)
		return;
	rfm_io_end(card);
	iocb->ki_complete(iocb, ret);
}

static ssize_t rfm_request_start(struct kiocb *iocb, struct iov_iter *iter,
				 size_t bytes, size_t pages)
{
	struct rfm_request *request = kmalloc(sizeof(*request),
					      GFP_KERNEL_ACCOUNT);
	struct rfm_hw *hw;
	int ret = 0;

	if (!request)
		return -ENOMEM;
	rfm_request_init(request, iocb, iter, bytes);
	request->threshold = RFM_LEAST_ASYNC;
	request->async = true;
	refcount_set(&request->pending, 1);
	/*
	 * What is pinned behind its call counts against RLIMIT_MEMLOCK, as
	 * sends by MSG_ZEROCOPY do; a registered buffer was counted when
	 * io_uring took it.
	 */
	if (user_backed_iter(iter))
		ret = mm_account_pinned_pages(&request->locked,
					      pages * PAGE_SIZE);
	ret = rfm_request_launch(request, ret ?: rfm_request_steps(request));
	if (ret == -ERESTARTSYS)
		ret = -EINTR;
	hw = &request->file->card->hw;
	spin_lock_irq(&hw->irq.lock);
	request->error = request->error ?: ret;
	spin_unlock_irq(&hw->irq.lock);
	return rfm_request_put(request);
}

/**
 * rfm_request - read or write by the engine
 * @iocb: the read or write
 * @iter: its buffers, for which rfm_dma_can()
 * @bytes: how many of them, not 0
 *
 * Return: bytes moved; -EIOCBQUEUED if @iocb will be told; -EAGAIN if that
 * would mean to wait and it must not; -ENOBUFS if it would pin more than
 * RLIMIT_MEMLOCK allows; another negative errno if nothing was moved.
 */
ssize_t rfm_request(struct kiocb *iocb, struct iov_iter *iter, size_t bytes)
{
	bool wait = !(iocb->ki_flags & IOCB_NOWAIT);
	ssize_t ret = -EFAULT;
	size_t pages = 0;

	if (!is_sync_kiocb(iocb))
		pages = rfm_request_pages(iocb, iter, bytes);
	if (pages)
		ret = rfm_request_start(iocb, iter, bytes, pages);
	/* There are other ways to pages that cannot be had. */
	if (ret == -EFAULT)
		ret = wait ? rfm_request_run(iocb, iter, bytes) : -EAGAIN;
	return ret;
}
