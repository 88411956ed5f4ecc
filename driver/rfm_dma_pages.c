// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffers of a request: what of them the engine can take, and their pages.
 *
 * The engine wants host addresses and lengths that are multiples of 8. So that
 * it is of no importance how the card treats odd addresses of its own, these are
 * multiples of 8 as well. Where buffer and offset agree in their lowest three
 * bits, the engine gets the buffer's own pages; elsewhere, and where those
 * cannot be had, it gets others, and the data is copied. Up to 7 bytes at the
 * beginning and at the end of a request go by programmed I/O.
 *
 * User memory may be such that whoever touches it waits for ever: pages that a
 * process supplies itself, by userfaultfd(2) or a file system of its own. So a
 * slice gets what is there, and nothing is waited for while somebody has one;
 * what is not there is brought in before, by rfm_dma_bring_in(), and may have
 * gone again.
 *
 * One wait is left: a page of a file that the card has written to is marked
 * dirty under the page's lock when it is given back, if it was written back
 * meanwhile. File systems hold that lock for moments; one in user space can hold
 * it for longer, while it lets go of the page, and its slice waits with it.
 */

#include <linux/bvec.h>
#include <linux/cache.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "compat.h"
#include "rfm_dma.h"

#define RFM_ENGINE_ALIGN	8u
#define RFM_LINE		L1_CACHE_BYTES

/* Pages that are looked for in one go when they are brought in. */
#define RFM_PAGES_A_LOOK	16

/**
 * rfm_dma_can - can pages be had from this iterator?
 * @iter: a request's buffers
 *
 * Return: true if it is of memory of the user, or of pages that the kernel
 * keeps until the request has ended (buffers registered with io_uring).
 */
bool rfm_dma_can(const struct iov_iter *iter)
{
	return user_backed_iter(iter) || iov_iter_is_bvec(iter);
}

/* Where its next byte is, as far as alignment goes. */
static unsigned long rfm_iter_address(const struct iov_iter *iter)
{
	if (iov_iter_is_bvec(iter))
		return iter->bvec->bv_offset + iter->iov_offset;
	return (unsigned long)iter_iov_addr(iter);
}

static bool rfm_iter_begins_line(const struct iov_iter *iter)
{
	return !(rfm_iter_address(iter) % RFM_LINE);
}

/*
 * With so many bytes that the engine can take begins the segment. What is left
 * of it for another slice begins with a page.
 */
static size_t rfm_segment_run(const struct iov_iter *iter, size_t most,
			      unsigned int *pieces)
{
	size_t in_page = offset_in_page(rfm_iter_address(iter));
	size_t segment = iov_iter_single_seg_count(iter), run, cut;

	if (in_page % RFM_ENGINE_ALIGN)
		return 0;
	run = min3(segment, most,
		   *pieces * PAGE_SIZE - min(in_page, *pieces * PAGE_SIZE));
	if (run < segment) {
		cut = offset_in_page(in_page + run);
		run -= min(run, cut);
	}
	run = round_down(run, RFM_ENGINE_ALIGN);
	*pieces -= DIV_ROUND_UP(in_page + run, PAGE_SIZE);
	return run;
}

/*
 * The same over all segments that follow one another. Two into which the card
 * writes are not to have part in one cache line.
 */
static size_t rfm_iter_run(const struct rfm_dma *dma, struct iov_iter rest,
			   bool store)
{
	unsigned int pieces = dma->pieces;
	size_t run = 0, some, segment;

	while (iov_iter_count(&rest) && pieces) {
		if (run && !store && !rfm_iter_begins_line(&rest))
			break;
		segment = iov_iter_single_seg_count(&rest);
		some = rfm_segment_run(&rest, dma->most - run, &pieces);
		run += some;
		if (some < segment ||
		    (!store && (rfm_iter_address(&rest) + some) % RFM_LINE))
			break;
		iov_iter_advance(&rest, some);
	}
	return run;
}

/**
 * rfm_dma_plan - how to go on with a request
 * @request: what is left of it, which begins in a segment that is not empty
 * @least: how many bytes are worth a slice, 0: none are
 * @way: set
 *
 * Return: how many bytes to move in that way; 0: none before its slices have
 * ended.
 */
size_t rfm_dma_plan(const struct rfm_request *request, size_t least,
		    enum rfm_way *way)
{
	const struct rfm_dma *dma = &request->file->card->dma;
	struct iov_iter rest = request->iter;
	size_t left = iov_iter_count(&rest), run;
	size_t head = -(u64)request->pos % RFM_ENGINE_ALIGN;

	*way = RFM_WAY_COPY;
	if (!least || !rfm_dma_can(&rest) ||
	    left - min(left, head) < max_t(size_t, least, RFM_ENGINE_ALIGN))
		return left;

	iov_iter_advance(&rest, head);
	run = rfm_iter_run(dma, rest, request->store);
	*way = RFM_WAY_PAGES;
	/* The most that fits may end with the page before. */
	if (run < min(least, dma->most - PAGE_SIZE + RFM_ENGINE_ALIGN)) {
		*way = RFM_WAY_BOUNCE;
		run = round_down(min(left - head, dma->most), RFM_ENGINE_ALIGN);
	}
	if (head) {
		*way = RFM_WAY_COPY;
		return head;
	}
	/* A slice before this may be about to end in the same cache line. */
	if (*way == RFM_WAY_PAGES && !request->store && request->in_flight &&
	    !rfm_iter_begins_line(&rest))
		return 0;
	return run;
}

/* One piece each of a page, behind those that the slice has already. */
static void rfm_slice_add(struct rfm_slice *slice, struct page *page,
			  size_t in_page, size_t bytes)
{
	sg_set_page(&slice->sg[slice->count], page, bytes, in_page);
	slice->pages[slice->count++] = page;
	slice->bytes += bytes;
}

static unsigned int rfm_pin_flags(bool store)
{
	return store ? 0 : FOLL_WRITE;
}

/* Those that are there; the first that is not ends it. */
static void rfm_slice_pin(struct rfm_slice *slice, unsigned long from,
			  size_t bytes)
{
	size_t in_page = offset_in_page(from), some;
	int pages, i;

	pages = rfm_pin_present(from - in_page,
				DIV_ROUND_UP(in_page + bytes, PAGE_SIZE),
				rfm_pin_flags(slice->request->store),
				slice->pages + slice->count);
	for (i = 0; i < pages; i++) {
		some = min(bytes, PAGE_SIZE - in_page);
		rfm_slice_add(slice, slice->pages[slice->count], in_page, some);
		bytes -= some;
		in_page = 0;
	}
	slice->pinned = true;
}

static void rfm_slice_take(struct rfm_slice *slice, const struct iov_iter *iter,
			   size_t bytes)
{
	unsigned long first = page_to_pfn(iter->bvec->bv_page);
	size_t at = rfm_iter_address(iter), some;

	while (bytes) {
		some = min(bytes, PAGE_SIZE - offset_in_page(at));
		rfm_slice_add(slice, pfn_to_page(first + PHYS_PFN(at)),
			      offset_in_page(at), some);
		at += some;
		bytes -= some;
	}
}

static void rfm_slice_fill_pages(struct rfm_slice *slice, size_t bytes)
{
	struct iov_iter rest = slice->request->iter;
	size_t some, before;

	while (slice->bytes < bytes) {
		before = slice->bytes;
		some = min(bytes - before, iov_iter_single_seg_count(&rest));
		if (iov_iter_is_bvec(&rest))
			rfm_slice_take(slice, &rest, some);
		else
			rfm_slice_pin(slice, rfm_iter_address(&rest), some);
		if (slice->bytes - before < some)
			break;
		iov_iter_advance(&rest, some);
	}
}

/* Pages of our own, from the first time on that the slice needs them. */
static struct page *rfm_slice_own_page(struct rfm_slice *slice, size_t index)
{
	if (!slice->bounce[index])
		slice->bounce[index] = alloc_page(GFP_KERNEL);
	return slice->bounce[index];
}

/* As much as can be copied without waiting for user memory. */
static size_t rfm_copy_present(struct page *page, size_t bytes,
			       struct iov_iter *iter, bool store)
{
	size_t some;

	pagefault_disable();
	some = store ? copy_from_iter(page_address(page), bytes, iter) :
		       copy_to_iter(page_address(page), bytes, iter);
	pagefault_enable();
	return some;
}

/*
 * What goes to the card is copied to our pages here, what comes from it is
 * copied from them by rfm_slice_deliver().
 */
static void rfm_slice_fill_own(struct rfm_slice *slice, size_t bytes)
{
	bool store = slice->request->store;
	size_t at, some, want;
	struct page *page;

	slice->own = true;
	slice->to = slice->request->iter;
	for (at = 0; at < bytes; at += some) {
		page = rfm_slice_own_page(slice, at / PAGE_SIZE);
		if (!page)
			break;
		want = min(bytes - at, PAGE_SIZE);
		some = store ? rfm_copy_present(page, want, &slice->to, true) :
			       want;
		some = round_down(some, RFM_ENGINE_ALIGN);
		if (some)
			rfm_slice_add(slice, page, 0, some);
		if (some < want)
			break;
	}
}

/**
 * rfm_slice_fill - get pages for a part of a request
 * @slice: an empty slice
 * @bytes: what rfm_dma_plan() has returned
 * @way: RFM_WAY_PAGES: pages of the request's buffers, pinned if they are the
 *	user's; RFM_WAY_BOUNCE: pages that take their place
 *
 * Waits for no user memory.
 *
 * Return: 0, and then @slice->bytes may be fewer; -EFAULT if there is not even
 * one page.
 */
int rfm_slice_fill(struct rfm_slice *slice, size_t bytes, enum rfm_way way)
{
	sg_init_table(slice->sg, slice->request->file->card->dma.pieces);
	if (way == RFM_WAY_PAGES)
		rfm_slice_fill_pages(slice, bytes);
	else
		rfm_slice_fill_own(slice, bytes);
	if (!slice->count)
		return -EFAULT;
	sg_mark_end(&slice->sg[slice->count - 1]);
	return 0;
}

/**
 * rfm_slice_deliver - the engine has moved a slice
 * @slice: the slice
 *
 * Waits for no user memory either. @slice->to is advanced by what this copies.
 *
 * Return: how many of its bytes are now where the request wants them.
 */
size_t rfm_slice_deliver(struct rfm_slice *slice)
{
	size_t at, some, want;

	if (!slice->own || slice->request->store)
		return slice->bytes;
	/* The process whose memory it was is dead. */
	if (user_backed_iter(&slice->to) && !current->mm)
		return 0;
	for (at = 0; at < slice->bytes; at += some) {
		want = min(slice->bytes - at, PAGE_SIZE);
		some = rfm_copy_present(slice->pages[at / PAGE_SIZE], want,
					&slice->to, false);
		if (some < want)
			return at + some;
	}
	return slice->bytes;
}

/*
 * So many bytes of one segment. What is there is seen to be there, some pages
 * at a time; what is not is waited for, if at all, page by page, with none
 * pinned.
 */
static size_t rfm_segment_bring_in(unsigned long from, size_t bytes,
				   unsigned int flags, bool wait)
{
	size_t in_page = offset_in_page(from), left = in_page + bytes;
	struct page *pages[RFM_PAGES_A_LOOK];
	int want, there;

	for (from -= in_page; left; cond_resched()) {
		want = min_t(size_t, DIV_ROUND_UP(left, PAGE_SIZE),
			     ARRAY_SIZE(pages));
		there = rfm_pin_present(from, want, flags, pages);
		if (!there && wait)
			there = pin_user_pages_fast(from, 1, flags, pages);
		if (there <= 0)
			break;
		unpin_user_pages(pages, there);
		from += there * PAGE_SIZE;
		left -= min(left, there * PAGE_SIZE);
	}
	return bytes - min(left, bytes);
}

static size_t rfm_pages_bring_in(struct iov_iter rest, size_t bytes, bool store,
				 bool wait)
{
	size_t done = 0, some, want;

	iov_iter_advance(&rest, 0);
	while (done < bytes) {
		want = min(bytes - done, iov_iter_single_seg_count(&rest));
		some = rfm_segment_bring_in(rfm_iter_address(&rest), want,
					    rfm_pin_flags(store), wait);
		done += some;
		if (some < want)
			break;
		iov_iter_advance(&rest, want);
	}
	return done;
}

/**
 * rfm_dma_bring_in - see that a request's buffers are there
 * @request: what is left of it, without a slice
 * @bytes: how many of them
 * @way: what for: rfm_slice_fill() may then find them
 *
 * This may take for ever, or until the process is killed if that is the caller.
 *
 * Return: how many there were, perhaps none.
 */
size_t rfm_dma_bring_in(const struct rfm_request *request, size_t bytes,
			enum rfm_way way)
{
	const struct iov_iter *iter = &request->iter;

	if (!user_backed_iter(iter))
		return 0;
	if (way == RFM_WAY_PAGES)
		return rfm_pages_bring_in(*iter, bytes, request->store, true);
	return bytes - (request->store ?
			fault_in_iov_iter_readable(iter, bytes) :
			fault_in_iov_iter_writeable(iter, bytes));
}

/**
 * rfm_dma_is_there - could a read or write be copied without waiting for memory?
 * @iter: its buffers, for which rfm_dma_can()
 * @bytes: how many of them, few
 *
 * Waits for nothing.
 *
 * Return: true if all of it is in memory, so that pages can be had of it. They
 * may be gone the moment after, if somebody takes them away.
 */
bool rfm_dma_is_there(const struct iov_iter *iter, size_t bytes)
{
	return !user_backed_iter(iter) ||
	       rfm_pages_bring_in(*iter, bytes, iov_iter_rw(iter) == WRITE,
				  false) == bytes;
}

/**
 * rfm_slice_keep - the engine may go on for ever with a slice
 * @slice: one that is lost, so that rfm_slice_put() gives nothing back; pages
 *	that somebody else keeps for a request would be given back by them
 */
void rfm_slice_keep(struct rfm_slice *slice)
{
	unsigned int i;

	for (i = 0; i < slice->count && !slice->own && !slice->pinned; i++)
		get_page(slice->pages[i]);
}

/**
 * rfm_slice_unpin - give the pages of a slice back
 * @slice: a slice that the engine does not know of; empty afterwards
 *
 * After a read it may wait for the lock of a page of a file, see above.
 */
void rfm_slice_unpin(struct rfm_slice *slice)
{
	if (slice->pinned)
		unpin_user_pages_dirty_lock(slice->pages, slice->count,
					    !slice->request->store);
	slice->pinned = false;
	slice->own = false;
	slice->count = 0;
}
