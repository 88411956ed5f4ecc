// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: reads and writes that use the DMA engine, or wait behind one that
 * does.
 *
 * The requests of an open file are a queue. Only its first one is fed, that
 * is, cut into slices (rfm_dma.c) and pieces for programmed I/O, in ascending
 * order; so they all end in the order in which they came. A request with a
 * caller who waits is fed by the caller, any other by the file's work item,
 * which borrows the memory of the process that made it.
 *
 * Whoever feeds may have to wait for the memory of a process, for as long as
 * that takes. Meanwhile it holds nothing that others need, no slice, no place
 * in the queue for one, no worker of theirs: only this file waits with it. A
 * caller can be killed there. So that little is left to the work item, the
 * beginning of the buffers is brought in when a request is made; and when a
 * process is dying, its requests are cancelled, and a work item that waits for
 * its memory is woken.
 *
 * Feeding goes on until there is nothing to do before something happens: a
 * slice ends, or becomes free, or the request becomes the first. Then the
 * request is kicked, and fed once more.
 */

#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "rfm_dma.h"

/* Of one file; who comes then, waits or is told to come again. */
#define RFM_REQUESTS_MAX	1024

/* Slices that one request has at a time: one is filled, one is moved. */
#define RFM_REQUEST_SLICES	2

/* Bytes by programmed I/O for which a caller does not mind to wait. */
#define RFM_INLINE_MAX		16384

/* How often to look whether a process lives for whose memory somebody waits. */
#define RFM_REQUEST_WATCH	HZ

/* How often to look for a signal where none can wake. */
#define RFM_REQUEST_SIGNAL	(HZ / 10)

/* Bytes brought in at a time: meanwhile the engine, or the caller, waits. */
#define RFM_BRING_IN		(2u << 20)

/* What feeding has come to. */
enum rfm_fed {
	RFM_FED_ALL,	/* the request has ended */
	RFM_FED_WAIT,	/* it will be kicked */
	RFM_FED_TURN,	/* it should be fed on */
};

static struct rfm_request *rfm_request_first(struct rfm_file *file)
{
	lockdep_assert_held(&file->card->dma.lock);
	return list_first_entry_or_null(&file->requests, struct rfm_request,
					node);
}

static bool rfm_request_is_first(struct rfm_request *request)
{
	struct rfm_file *file = request->file;
	bool first;

	spin_lock_irq(&file->card->dma.lock);
	first = rfm_request_first(file) == request;
	spin_unlock_irq(&file->card->dma.lock);
	return first;
}

/**
 * rfm_request_kick - there may be something to do for a request
 * @request: the request
 *
 * Context: any, with a lock held that its end needs: card->irq_lock while it
 * has a slice there, card->dma.lock while it is in a list.
 */
void rfm_request_kick(struct rfm_request *request)
{
	if (request->caller)
		complete(request->caller);
	else
		queue_work(request->file->wq, &request->file->work);
}

/* --- waiting for user memory ---------------------------------------------- */

/*
 * What a work item does between these two ends when it is sent SIGKILL, as the
 * process would have. Outside of them it ignores signals.
 */
static void rfm_request_begin_wait(struct rfm_request *request)
{
	struct rfm_file *file = request->file;

	if (request->caller)
		return;
	allow_kernel_signal(SIGKILL);
	spin_lock_irq(&file->card->dma.lock);
	file->feeder = current;
	spin_unlock_irq(&file->card->dma.lock);
	schedule_delayed_work(&file->watch, RFM_REQUEST_WATCH);
}

static void rfm_request_end_wait(struct rfm_request *request)
{
	struct rfm_file *file = request->file;

	if (request->caller)
		return;
	cancel_delayed_work(&file->watch);
	spin_lock_irq(&file->card->dma.lock);
	file->feeder = NULL;
	spin_unlock_irq(&file->card->dma.lock);
	disallow_signal(SIGKILL);
}

/* No more of it should be moved. Under card->dma.lock. */
static void rfm_request_stop(struct rfm_request *request, int error)
{
	struct rfm_file *file = request->file;

	WRITE_ONCE(request->stop, error);
	if (file->feeder && rfm_request_first(file) == request)
		send_sig(SIGKILL, file->feeder, 1);
}

static bool rfm_request_is_orphan(const struct rfm_request *request)
{
	return request->owner->signal->flags & SIGNAL_GROUP_EXIT;
}

static void rfm_request_watch(struct work_struct *work)
{
	struct rfm_file *file = container_of(to_delayed_work(work),
					     struct rfm_file, watch);
	struct rfm_request *request;

	spin_lock_irq(&file->card->dma.lock);
	if (file->feeder) {
		request = rfm_request_first(file);
		/* Or it was cancelled just before the wait began. */
		if (request->stop || rfm_request_is_orphan(request))
			rfm_request_stop(request, -ECANCELED);
		schedule_delayed_work(&file->watch, RFM_REQUEST_WATCH);
	}
	spin_unlock_irq(&file->card->dma.lock);
}

/* --- feeding ------------------------------------------------------------ */

static unsigned int rfm_request_least(const struct rfm_request *request)
{
	return rfm_dma_least(request->file->card, request->store);
}

static void rfm_request_advance(struct rfm_request *request, size_t bytes)
{
	iov_iter_advance(&request->iter, bytes);
	request->pos += bytes;
}

/*
 * A slice that has ended well. If the buffers are no longer there, what it has
 * brought is read again when they are: meanwhile others can have the slice.
 */
static void rfm_request_take(struct rfm_request *request,
			     struct rfm_slice *slice)
{
	size_t done = rfm_slice_deliver(slice);

	request->done += done;
	if (done == slice->bytes)
		return;
	request->iter = slice->to;
	request->pos = slice->address - request->window + done;
	request->refused = RFM_WAY_BOUNCE;
	request->again = true;
}

/* Take back the slices that have ended, in order. */
static void rfm_request_reap(struct rfm_request *request)
{
	struct rfm_slice *slice;

	while ((slice = list_first_entry_or_null(&request->slices,
						 struct rfm_slice, node)) &&
	       rfm_slice_ended(slice)) {
		list_del(&slice->node);
		request->in_flight--;
		if (!request->error && !request->again)
			request->error = slice->error;
		if (!request->error && !request->again)
			rfm_request_take(request, slice);
		rfm_slice_put(slice);
	}
}

static int rfm_request_copy(struct rfm_request *request, size_t bytes)
{
	int ret = 0;

	bytes = min_t(size_t, bytes, RFM_IO_TURN);
	rfm_request_begin_wait(request);
	bytes = rfm_io_move(request->file->card, &request->iter, request->pos,
			    bytes, request->store, &ret);
	rfm_request_end_wait(request);
	request->pos += bytes;
	request->done += bytes;
	request->refused = RFM_WAY_COPY;
	return ret;
}

/*
 * One more slice. Returns -EAGAIN if there is none, -EFAULT if it cannot be
 * filled or mapped, another errno if the card has gone.
 */
static int rfm_request_slice(struct rfm_request *request, size_t bytes,
			     enum rfm_way way)
{
	struct rfm_slice *slice = rfm_slice_get(request);
	int ret;

	if (IS_ERR_OR_NULL(slice))
		return slice ? PTR_ERR(slice) : -EAGAIN;
	slice->address = request->window + request->pos;
	ret = rfm_slice_fill(slice, bytes, way);
	if (ret) {
		rfm_slice_put(slice);
		return ret;
	}

	list_add_tail(&slice->node, &request->slices);
	request->in_flight++;
	bytes = slice->bytes;
	ret = rfm_slice_submit(slice);
	if (!ret) {
		rfm_request_advance(request, bytes);
		return 0;
	}
	list_del(&slice->node);
	request->in_flight--;
	rfm_slice_put(slice);
	return ret;
}

/*
 * The slice was not to be had in that way. Perhaps it is when the buffers were
 * brought in; if not, there is another way, in a mapping of a card for example.
 */
static enum rfm_fed rfm_request_bring_in(struct rfm_request *request,
					 size_t bytes, enum rfm_way way)
{
	/* Who has slices waits for no user memory. */
	if (request->in_flight)
		return RFM_FED_WAIT;
	if (way == RFM_WAY_PAGES)
		bytes = min_t(size_t, iov_iter_count(&request->iter),
			      RFM_BRING_IN);
	if (request->brought) {
		request->brought = false;
	} else {
		rfm_request_begin_wait(request);
		request->brought = rfm_dma_bring_in(request, bytes, way);
		rfm_request_end_wait(request);
	}
	if (!request->brought)
		request->refused = way;
	return RFM_FED_TURN;
}

static enum rfm_fed rfm_request_engine(struct rfm_request *request,
				       size_t bytes, enum rfm_way way)
{
	int ret;

	if (!bytes || request->in_flight == RFM_REQUEST_SLICES)
		return RFM_FED_WAIT;
	ret = rfm_request_slice(request, bytes, way);
	if (ret == -EAGAIN)
		return RFM_FED_WAIT;
	if (ret == -EFAULT)
		return rfm_request_bring_in(request, bytes, way);
	request->brought = false;
	if (ret == -ENOMEM)
		request->refused = RFM_WAY_BOUNCE;
	else
		request->error = ret;
	return RFM_FED_TURN;
}

static enum rfm_fed rfm_request_feed_some(struct rfm_request *request)
{
	enum rfm_way way;
	size_t bytes;

	/* Past segments without a byte in them. */
	iov_iter_advance(&request->iter, 0);
	bytes = rfm_dma_plan(request, rfm_request_least(request), &way);
	if (way == RFM_WAY_PAGES && request->refused == RFM_WAY_PAGES)
		way = RFM_WAY_BOUNCE;
	if (way != RFM_WAY_COPY && request->refused != RFM_WAY_BOUNCE)
		return rfm_request_engine(request, bytes, way);

	rfm_slice_leave(request);
	/* In ascending order, also by programmed I/O. */
	if (request->in_flight)
		return RFM_FED_WAIT;
	request->error = rfm_request_copy(request, bytes);
	return RFM_FED_TURN;
}

/* What the engine has not begun with is taken back, the rest ends soon. */
static bool rfm_request_is_still(struct rfm_request *request)
{
	rfm_slice_leave(request);
	rfm_slices_withdraw(request);
	rfm_request_reap(request);
	return !request->in_flight;
}

static enum rfm_fed rfm_request_feed(struct rfm_request *request)
{
	rfm_request_reap(request);
	if (request->error || READ_ONCE(request->stop))
		return rfm_request_is_still(request) ? RFM_FED_ALL :
						       RFM_FED_WAIT;
	if (request->again) {
		if (!rfm_request_is_still(request))
			return RFM_FED_WAIT;
		request->again = false;
	}
	if (iov_iter_count(&request->iter))
		return rfm_request_feed_some(request);
	return request->in_flight ? RFM_FED_WAIT : RFM_FED_ALL;
}

/* --- the queue of a file ------------------------------------------------ */

/* A place in the queue. Returns -EAGAIN if it is full; for callers it is not. */
static int rfm_request_reserve(struct rfm_file *file, bool caller)
{
	struct rfm_dma *dma = &file->card->dma;
	int ret = 0;

	spin_lock_irq(&dma->lock);
	if (file->queued >= RFM_REQUESTS_MAX && !caller)
		ret = -EAGAIN;
	else
		WRITE_ONCE(file->queued, file->queued + 1);
	spin_unlock_irq(&dma->lock);
	return ret;
}

static int rfm_request_wait_for_room(struct kiocb *iocb)
{
	struct rfm_file *file = iocb->ki_filp->private_data;
	int ret;

	for (;;) {
		ret = rfm_request_reserve(file, false);
		if (!ret || iocb->ki_flags & IOCB_NOWAIT)
			return ret;
		ret = wait_event_killable(file->room,
			READ_ONCE(file->queued) < RFM_REQUESTS_MAX);
		if (ret)
			return ret;
	}
}

static void rfm_request_queue(struct rfm_request *request)
{
	struct rfm_file *file = request->file;
	struct rfm_dma *dma = &file->card->dma;

	spin_lock_irq(&dma->lock);
	/* It is not moved while there are requests. */
	request->window = file->card->window_offset;
	dma->requests++;
	list_add_tail(&request->node, &file->requests);
	if (rfm_request_first(file) == request && !request->caller)
		rfm_request_kick(request);
	spin_unlock_irq(&dma->lock);
}

static void rfm_request_unqueue(struct rfm_request *request)
{
	struct rfm_file *file = request->file;
	struct rfm_dma *dma = &file->card->dma;
	struct rfm_request *first;

	rfm_slice_leave(request);
	spin_lock_irq(&dma->lock);
	list_del(&request->node);
	WRITE_ONCE(file->queued, file->queued - 1);
	dma->requests--;
	first = rfm_request_first(file);
	if (first)
		rfm_request_kick(first);
	wake_up(&file->room);
	spin_unlock_irq(&dma->lock);
}

static ssize_t rfm_request_result(const struct rfm_request *request)
{
	return request->done ?: request->stop ?: request->error;
}

static void rfm_request_init(struct rfm_request *request, struct kiocb *iocb,
			     struct iov_iter *iter, size_t bytes)
{
	memset(request, 0, sizeof(*request));
	INIT_LIST_HEAD(&request->waiting);
	INIT_LIST_HEAD(&request->slices);
	request->file = iocb->ki_filp->private_data;
	request->iocb = iocb;
	request->pos = iocb->ki_pos;
	request->store = iov_iter_rw(iter) == WRITE;
	request->iter = *iter;
	iov_iter_truncate(&request->iter, bytes);
}

/* --- with a caller who waits -------------------------------------------- */

/*
 * A caller who also uses io_uring may be woken like by a signal, only to look
 * at that. It does so later: here it waits on. Until then it cannot be woken by
 * a signal either, so it looks whether there is one.
 */
static int rfm_request_sleep(struct completion *kicked)
{
	long left;

	if (!wait_for_completion_interruptible(kicked))
		return 0;
	while (!task_sigpending(current)) {
		left = wait_for_completion_killable_timeout(kicked,
							    RFM_REQUEST_SIGNAL);
		if (left)
			return left < 0 ? left : 0;
	}
	return -ERESTARTSYS;
}

/*
 * To a signal. But if bringing buffers in took so long that one comes each
 * time, what is in is moved first: else nothing ever would be.
 */
static bool rfm_request_yields(const struct rfm_request *request)
{
	return task_sigpending(current) &&
	       (!request->brought || fatal_signal_pending(current));
}

static ssize_t rfm_request_run(struct kiocb *iocb, struct iov_iter *iter,
			       size_t bytes)
{
	DECLARE_COMPLETION_ONSTACK(kicked);
	struct rfm_request request;
	enum rfm_fed fed;
	ssize_t ret;

	rfm_request_reserve(iocb->ki_filp->private_data, true);
	rfm_request_init(&request, iocb, iter, bytes);
	request.caller = &kicked;
	rfm_request_queue(&request);

	do {
		fed = RFM_FED_WAIT;
		if (rfm_request_is_first(&request))
			fed = rfm_request_feed(&request);
		else if (request.stop)
			break;

		if (fed == RFM_FED_WAIT && request.stop)
			wait_for_completion(&kicked);
		else if (fed == RFM_FED_WAIT)
			request.stop = rfm_request_sleep(&kicked);
		else if (fed == RFM_FED_TURN && rfm_request_yields(&request))
			request.stop = -ERESTARTSYS;
		cond_resched();
	} while (fed != RFM_FED_ALL);

	rfm_request_unqueue(&request);
	ret = rfm_request_result(&request);
	if (ret > 0) {
		iov_iter_advance(iter, ret);
		iocb->ki_pos += ret;
	}
	return ret;
}

/* --- without ------------------------------------------------------------ */

static void rfm_request_free(struct rfm_request *request)
{
	if (request->mm)
		mmdrop(request->mm);
	put_task_struct(request->owner);
	kfree(request->vector);
	kfree(request);
}

static void rfm_request_complete(struct rfm_request *request)
{
	struct kiocb *iocb = request->iocb;
	ssize_t ret = rfm_request_result(request);

	rfm_request_unqueue(request);
	if (ret > 0)
		iocb->ki_pos += ret;
	/* Until it has returned, it may be cancelled. */
	iocb->ki_complete(iocb, ret);
	rfm_request_free(request);
}

/*
 * io_cancel(2), and the end of a process that has used io_submit(2). The lock
 * that the caller holds keeps the request from ending.
 */
static int rfm_request_cancel(struct kiocb *iocb)
{
	struct rfm_request *request = iocb->private;
	struct rfm_dma *dma = &request->file->card->dma;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	rfm_request_stop(request, -ECANCELED);
	rfm_request_kick(request);
	spin_unlock_irqrestore(&dma->lock, flags);
	return 0;
}

/* In the memory of its process, if that is still there. */
static enum rfm_fed rfm_request_feed_for(struct rfm_request *request)
{
	struct mm_struct *mm = request->mm;
	enum rfm_fed fed;

	if (rfm_request_is_orphan(request))
		WRITE_ONCE(request->stop, -ECANCELED);
	if (mm && !mmget_not_zero(mm)) {
		WRITE_ONCE(request->stop, -ECANCELED);
		mm = NULL;
	}
	if (mm)
		kthread_use_mm(mm);
	fed = rfm_request_feed(request);
	if (mm) {
		kthread_unuse_mm(mm);
		/* If we are its last user: its end waits for this request. */
		mmput_async(mm);
	}
	return fed;
}

static void rfm_request_work(struct work_struct *work)
{
	struct rfm_file *file = container_of(work, struct rfm_file, work);
	struct rfm_request *request;

	for (;;) {
		spin_lock_irq(&file->card->dma.lock);
		request = rfm_request_first(file);
		spin_unlock_irq(&file->card->dma.lock);
		if (!request || request->caller)
			return;
		switch (rfm_request_feed_for(request)) {
		case RFM_FED_ALL:
			rfm_request_complete(request);
			break;
		case RFM_FED_WAIT:
			return;
		case RFM_FED_TURN:
			cond_resched();
		}
	}
}

/* Each file has its own: one may be waiting for user memory for ever. */
static bool rfm_request_has_wq(struct rfm_file *file)
{
	struct workqueue_struct *wq;

	if (READ_ONCE(file->wq))
		return true;
	wq = alloc_workqueue("%s", WQ_UNBOUND | WQ_HIGHPRI, 1,
			     dev_name(&file->card->dev));
	if (wq && cmpxchg(&file->wq, NULL, wq))
		destroy_workqueue(wq);
	return READ_ONCE(file->wq);
}

static struct rfm_request *rfm_request_new(struct kiocb *iocb,
					   struct iov_iter *iter, size_t bytes)
{
	struct rfm_request *request;
	struct iov_iter copy;

	request = kmalloc(sizeof(*request), GFP_KERNEL_ACCOUNT);
	if (!request)
		return NULL;
	rfm_request_init(request, iocb, iter, bytes);
	/* The caller's array ends with the call; not so that of pages. */
	if (iter_is_iovec(&request->iter)) {
		request->vector = dup_iter(&copy, &request->iter,
					   GFP_KERNEL_ACCOUNT);
		request->iter = copy;
		if (!request->vector) {
			kfree(request);
			return NULL;
		}
	}
	request->owner = get_task_struct(current);
	request->mm = current->mm;
	if (request->mm)
		mmgrab(request->mm);
	return request;
}

static ssize_t rfm_request_start(struct kiocb *iocb, struct iov_iter *iter,
				 size_t bytes)
{
	struct rfm_request *request;
	ssize_t ret;

	if (!rfm_request_has_wq(iocb->ki_filp->private_data))
		return -ENOMEM;
	request = rfm_request_new(iocb, iter, bytes);
	if (!request)
		return -ENOMEM;
	/* Who must not wait leaves that to the work item. */
	if (!(iocb->ki_flags & IOCB_NOWAIT))
		rfm_dma_bring_in(request, min_t(size_t, bytes, RFM_BRING_IN),
				 RFM_WAY_PAGES);
	ret = rfm_request_wait_for_room(iocb);
	if (ret) {
		rfm_request_free(request);
		return ret;
	}
	/* From here on it can be cancelled, so it has to end in its turn. */
	iocb->private = request;
	rfm_set_cancel_fn(iocb, rfm_request_cancel);
	rfm_request_queue(request);
	return -EIOCBQUEUED;
}

/* --- for reads and writes ----------------------------------------------- */

/**
 * rfm_request_wanted - should this be a request?
 * @iocb: the read or write
 * @iter: its buffers
 * @bytes: how many of them, not 0
 *
 * If not, programmed I/O by the caller will do, at once.
 *
 * Return: true if it is long enough for the engine, too long for a caller who
 * does not wait for it to end, if others of the file come first, or if its
 * buffers are not in memory and an asynchronous caller must not wait for them.
 */
bool rfm_request_wanted(struct kiocb *iocb, const struct iov_iter *iter,
			size_t bytes)
{
	const struct rfm_file *file = iocb->ki_filp->private_data;
	u32 least = rfm_dma_least(file->card, iov_iter_rw(iter) == WRITE);

	if (READ_ONCE(file->queued))
		return true;
	if (is_sync_kiocb(iocb) && iocb->ki_flags & IOCB_NOWAIT)
		return false;
	if (!rfm_dma_can(iter))
		return false;
	if (least && bytes >= least)
		return true;
	if (is_sync_kiocb(iocb))
		return false;
	/* Many are submitted by one call: it does not wait for the buffers of one. */
	return bytes > RFM_INLINE_MAX ||
	       (iocb->ki_flags & IOCB_NOWAIT && !rfm_dma_is_there(iter, bytes));
}

/**
 * rfm_request - read or write by a request
 * @iocb: the read or write
 * @iter: its buffers
 * @bytes: how many of them, not 0
 *
 * Return: bytes moved; -EIOCBQUEUED if @iocb will be told; -EAGAIN if that
 * would mean to wait and it must not; another negative errno if nothing was
 * moved.
 */
ssize_t rfm_request(struct kiocb *iocb, struct iov_iter *iter, size_t bytes)
{
	if (!is_sync_kiocb(iocb) && rfm_dma_can(iter))
		return rfm_request_start(iocb, iter, bytes);
	if (iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	return rfm_request_run(iocb, iter, bytes);
}

/**
 * rfm_request_open - a file is being opened
 * @file: the file
 */
void rfm_request_open(struct rfm_file *file)
{
	INIT_LIST_HEAD(&file->requests);
	INIT_WORK(&file->work, rfm_request_work);
	INIT_DELAYED_WORK(&file->watch, rfm_request_watch);
	init_waitqueue_head(&file->room);
}

/**
 * rfm_request_close - nobody has a file open any more
 * @file: the file; each of its requests held it open, but one may be about to
 *	leave its work item
 */
void rfm_request_close(struct rfm_file *file)
{
	if (!file->wq)
		return;
	destroy_workqueue(file->wq);
	cancel_delayed_work_sync(&file->watch);
}
