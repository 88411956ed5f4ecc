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
	request->iter = *iter;
	iov_iter_truncate(&request->iter, bytes);
}

/*
 * The slice was not to be had in that way. Perhaps it is when the buffers were
 * faulted in; if not, there is another way, in a mapping of a card for example.
 * Where others held the lock of the mappings, it is waited for.
 */
static void rfm_request_fault_in(struct rfm_request *request, size_t bytes,
				 enum rfm_way way, int error)
{
	if (error == -EBUSY) {
		if (!mmap_read_lock_killable(current->mm))
			mmap_read_unlock(current->mm);
		return;
	}
	if (way == RFM_WAY_PAGES)
		bytes = min_t(size_t, iov_iter_count(&request->iter),
			      RFM_FAULT_IN);
	request->faulted_in = !request->faulted_in &&
			   rfm_dma_fault_in(request, bytes, way);
	if (!request->faulted_in)
		request->refused = way;
}

/* --- with a caller who waits ---------------------------------------------- */

/* Take the first slices back, until so many are left. */
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
	bytes = min_t(size_t, bytes, RFM_IO_TURN);
	bytes = rfm_io_move(request->file->card, &request->iter, request->pos,
			    bytes, request->store, &ret);
	request->pos += bytes;
	request->done += bytes;
	request->refused = RFM_WAY_COPY;
	return ret;
}

static int rfm_request_submit(struct rfm_request *request,
			      struct rfm_slice *slice)
{
	int ret = rfm_slice_submit(slice);

	if (!ret) {
		list_add_tail(&slice->flight, &request->flying);
		request->in_flight++;
		request->faulted_in = false;
		/* Its data is copied before anything else is done. */
		return slice->own && !request->store ?
			rfm_request_settle(request, 0) : 0;
	}
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

	if (!bytes)
		return rfm_request_settle(request, 0);
	rfm_request_settle(request, RFM_REQUEST_SLICES - 1);
	slice = rfm_slice_new(request, bytes, way);
	if (!IS_ERR(slice))
		return rfm_request_submit(request, slice);

	rfm_request_settle(request, 0);
	if (PTR_ERR(slice) == -EAGAIN)
		return rfm_room_wait(request->file->card);
	if (PTR_ERR(slice) == -ENOMEM)
		request->refused = RFM_WAY_BOUNCE;
	else
		rfm_request_fault_in(request, bytes, way, PTR_ERR(slice));
	return 0;
}

/* Move some more, or see to it that the next step can. */
static int rfm_request_step(struct rfm_request *request)
{
	enum rfm_way way;
	size_t bytes;

	/* Past segments without a byte in them. */
	iov_iter_advance(&request->iter, 0);
	bytes = rfm_dma_plan(request, rfm_dma_threshold(request->file->card,
							request->store), &way);
	if (way == RFM_WAY_PAGES && request->refused == RFM_WAY_PAGES)
		way = RFM_WAY_BOUNCE;
	if (way == RFM_WAY_COPY || request->refused == RFM_WAY_BOUNCE)
		return rfm_request_copy(request, bytes);
	return rfm_request_engine(request, bytes, way);
}

/*
 * To a signal. But if faulting buffers in took so long that one comes each
 * time, what is in is moved first: else nothing ever would be.
 */
static bool rfm_request_yields(const struct rfm_request *request)
{
	return rfm_io_interrupted(request->iocb) &&
	       (!request->faulted_in || fatal_signal_pending(current));
}

/* Returns bytes moved, or a negative errno if none were. */
static ssize_t rfm_request_run(struct kiocb *iocb, struct iov_iter *iter,
			       size_t bytes)
{
	struct rfm_request request;
	ssize_t done;
	int ret = 0;

	rfm_request_init(&request, iocb, iter, bytes);
	while (!ret && !READ_ONCE(request.error) &&
	       iov_iter_count(&request.iter)) {
		ret = rfm_request_yields(&request) ? -ERESTARTSYS :
						     rfm_request_step(&request);
		cond_resched();
	}
	ret = rfm_request_settle(&request, 0) ?: ret;
	done = request.done;
	iov_iter_advance(iter, done);
	iocb->ki_pos += done;
	return done ?: request.error ?: ret;
}

/* --- without -------------------------------------------------------------- */

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
	for (; iov_iter_count(&request.iter); request.in_flight++) {
		iov_iter_advance(&request.iter, 0);
		bytes = rfm_dma_plan(&request, RFM_LEAST_ASYNC, &way);
		if (way != RFM_WAY_PAGES || !bytes)
			return 0;
		iov_iter_advance(&request.iter, bytes);
		request.pos += bytes;
		pages += request.pieces;
	}
	return pages;
}

static struct rfm_request *rfm_request_alloc(struct kiocb *iocb,
					     struct iov_iter *iter,
					     size_t bytes)
{
	struct rfm_request *request;

	request = kmalloc(sizeof(*request), GFP_KERNEL_ACCOUNT);
	if (!request)
		return NULL;
	rfm_request_init(request, iocb, iter, bytes);
	request->async = true;
	refcount_set(&request->pending, 1);
	return request;
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

/**
 * rfm_request_work - a slice of an asynchronous request has ended
 * @work: that of the slice
 */
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

/* The next slice, ready, for which the caller waits if it may. */
static struct rfm_slice *rfm_request_next(struct rfm_request *request)
{
	struct rfm_slice *slice;
	enum rfm_way way;
	size_t bytes;
	int ret = 0;

	do {
		iov_iter_advance(&request->iter, 0);
		bytes = rfm_dma_plan(request, RFM_LEAST_ASYNC, &way);
		/* Data for the card may be copied, as that of the zero page. */
		if (request->store && request->refused != RFM_WAY_COPY)
			way = RFM_WAY_BOUNCE;
		slice = rfm_slice_new(request, bytes, way);
		if (!IS_ERR(slice) || PTR_ERR(slice) == -ENOMEM)
			break;
		if (request->iocb->ki_flags & IOCB_NOWAIT)
			return ERR_PTR(-EAGAIN);
		if (PTR_ERR(slice) == -EAGAIN)
			ret = rfm_room_wait(request->file->card);
		else if (request->refused == way)
			ret = -EFAULT;
		else
			rfm_request_fault_in(request, bytes, way,
					     PTR_ERR(slice));
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
	} while (!ret);
	request->faulted_in = false;
	return ret ? ERR_PTR(ret) : slice;
}

/* Hand over slices, until one is refused, and free the others. */
static int rfm_request_launch(struct rfm_request *request,
			      struct list_head *ready, int ret)
{
	struct rfm_slice *slice, *next;

	list_for_each_entry_safe(slice, next, ready, flight) {
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

/*
 * What is pinned behind its call counts against RLIMIT_MEMLOCK, as sends by
 * MSG_ZEROCOPY do; a registered buffer was counted when io_uring took it.
 */
static int rfm_request_charge(struct rfm_request *request, size_t pages)
{
	if (!user_backed_iter(&request->iter))
		return 0;
	return mm_account_pinned_pages(&request->locked, pages * PAGE_SIZE);
}

static ssize_t rfm_request_start(struct kiocb *iocb, struct iov_iter *iter,
				 size_t bytes, size_t pages)
{
	struct rfm_request *request = rfm_request_alloc(iocb, iter, bytes);
	bool wait = !(iocb->ki_flags & IOCB_NOWAIT);
	struct rfm_card *card;
	struct rfm_slice *slice;
	LIST_HEAD(ready);
	int ret = 0;

	if (!request)
		return -ENOMEM;
	card = request->file->card;
	ret = rfm_request_charge(request, pages);
	while (!ret && iov_iter_count(&request->iter)) {
		slice = rfm_request_next(request);
		ret = PTR_ERR_OR_ZERO(slice);
		if (!ret) {
			list_add_tail(&slice->flight, &ready);
			request->in_flight++;
		}
		/* Who must not wait has all of it ready before any is moved. */
		if (wait)
			ret = rfm_request_launch(request, &ready, ret);
	}
	ret = rfm_request_launch(request, &ready, ret);
	spin_lock_irq(&card->hw.irq.lock);
	request->error = request->error ?: ret;
	spin_unlock_irq(&card->hw.irq.lock);
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
