// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffers of a request: what of them the engine can take, and slices of it.
 *
 * The engine wants host addresses and lengths that are multiples of 8. So that
 * it is of no importance how the card treats odd addresses of its own, these are
 * multiples of 8 as well. Where buffer and offset agree in their lowest three
 * bits, the engine gets the buffer's own pages; elsewhere, and where those
 * cannot be had, it gets others, and the data is copied. Up to 7 bytes at the
 * beginning and at the end of a request go by programmed I/O.
 *
 * User memory may be such that whoever touches it waits for ever: pages that a
 * process supplies itself, by userfaultfd(2) or a file system of its own. Only
 * the process that makes the request ever waits for it, in its call, and it must
 * not have a slice meanwhile. So a slice gets what is there; what is not there
 * is faulted in before, by rfm_dma_fault_in(), and may have gone again.
 *
 * What slices pin, or hold in its place, is bounded for each card, by
 * RFM_PINNED_MAX. Every slice that there is ends by itself, so who waits for
 * room, without a slice, gets it.
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
#include <linux/mmap_lock.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "io/dma.h"

#define RFM_ENGINE_ALIGN	8u
#define RFM_LINE		L1_CACHE_BYTES

/* A card gives out slices until they have so many bytes. */
#define RFM_PINNED_MAX		(32u << 20)

/*
 * Can pages be had from a request's buffers? They are memory of the user, or
 * pages that the kernel keeps until it has ended (buffers registered with
 * io_uring).
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

/*
 * How many bytes at the beginning of a request the engine can take, and @pieces, the
 * pages they are in. Two segments into which the card writes must not have part in
 * one cache line.
 */
static size_t rfm_iter_run(const struct rfm_dma *dma, struct iov_iter rest,
			   bool store, unsigned int *pieces)
{
	size_t run = 0, some, segment, in_page;
	unsigned int left = dma->pieces;

	while (iov_iter_count(&rest) && left) {
		in_page = offset_in_page(rfm_iter_address(&rest));
		if (in_page % RFM_ENGINE_ALIGN ||
		    (run && !store && in_page % RFM_LINE))
			break;
		segment = iov_iter_single_seg_count(&rest);
		some = min3(segment, dma->slice_max - run,
			    left * PAGE_SIZE - in_page);
		/* What is left of it for another slice begins with a page. */
		if (some < segment)
			some -= min(some, offset_in_page(in_page + some));
		some = round_down(some, RFM_ENGINE_ALIGN);
		left -= DIV_ROUND_UP(in_page + some, PAGE_SIZE);
		run += some;
		if (some < segment || (!store && (in_page + some) % RFM_LINE))
			break;
		iov_iter_advance(&rest, some);
	}
	*pieces = dma->pieces - left;
	return run;
}

/*
 * How to go on with a request, which begins in a segment that is not empty; its
 * pieces are set. Returns how many bytes to move in the way @way; 0: none
 * before its slices have ended.
 */
size_t rfm_dma_plan(struct rfm_request *request, enum rfm_way *way)
{
	const struct rfm_dma *dma = &request->file->card->hw.dma;
	const struct iov_iter *iter = &request->iter;
	size_t left = iov_iter_count(iter), least = request->threshold, run;
	size_t head = -(u64)request->pos % RFM_ENGINE_ALIGN;

	*way = RFM_WAY_COPY;
	if (!least || !rfm_dma_can(iter) ||
	    left - min(left, head) < max_t(size_t, least, RFM_ENGINE_ALIGN))
		return left;
	if (head)
		return head;

	run = rfm_iter_run(dma, *iter, request->store, &request->pieces);
	/* The most that fits may end with the page before. */
	if (run < min(least, dma->slice_max - PAGE_SIZE + RFM_ENGINE_ALIGN)) {
		*way = RFM_WAY_BOUNCE;
		return round_down(min(left, dma->slice_max), RFM_ENGINE_ALIGN);
	}
	*way = RFM_WAY_PAGES;
	/* A slice before this may be about to end in the same cache line. */
	return !request->store && request->in_flight &&
	       rfm_iter_address(iter) % RFM_LINE ? 0 : run;
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

/*
 * Pin pages that are there. Waits for nothing, not even for the lock of the
 * mappings; returns how many, or -EBUSY if they cannot be looked for without
 * that lock.
 */
#ifndef rfm_pin_resident
static int rfm_pin_resident(unsigned long from, int count, unsigned int flags,
			    struct page **pages)
{
	long pinned;

	if (!mmap_read_trylock(current->mm))
		return -EBUSY;
	pinned = pin_user_pages(from, count, flags | FOLL_NOFAULT, pages);
	mmap_read_unlock(current->mm);
	return pinned < 0 ? 0 : pinned;
}
#endif

/*
 * Pages that the next bytes of a segment are in, as far as they are there:
 * returns how many, or -EBUSY.
 */
static int rfm_iter_pages(const struct iov_iter *iter, size_t bytes,
			  bool store, struct page **pages)
{
	unsigned long at = rfm_iter_address(iter);
	int count = DIV_ROUND_UP(offset_in_page(at) + bytes, PAGE_SIZE), i;
	unsigned long pfn;

	if (!iov_iter_is_bvec(iter))
		return rfm_pin_resident(at & PAGE_MASK, count,
				       rfm_pin_flags(store), pages);
	pfn = page_to_pfn(iter->bvec->bv_page) + PHYS_PFN(at);
	for (i = 0; i < count; i++)
		pages[i] = pfn_to_page(pfn + i);
	return count;
}

static int rfm_slice_fill_pages(struct rfm_slice *slice, size_t bytes)
{
	struct iov_iter rest = slice->request->iter;
	size_t in_page, left, some;
	int pages;

	slice->pinned = user_backed_iter(&rest);
	do {
		left = min(bytes - slice->bytes,
			   iov_iter_single_seg_count(&rest));
		pages = rfm_iter_pages(&rest, left, slice->request->store,
				       slice->pages + slice->count);
		in_page = offset_in_page(rfm_iter_address(&rest));
		for (; pages > 0; pages--) {
			some = min(left, PAGE_SIZE - in_page);
			rfm_slice_add(slice, slice->pages[slice->count],
				      in_page, some);
			iov_iter_advance(&rest, some);
			left -= some;
			in_page = 0;
		}
	} while (!left && slice->bytes < bytes);
	return slice->count ? 0 : pages ?: -EFAULT;
}

/*
 * What goes to the card is copied to our pages here, as much as can be without
 * waiting for user memory; what comes from it is copied from them by
 * rfm_slice_deliver().
 */
static int rfm_slice_fill_own(struct rfm_slice *slice, size_t bytes)
{
	size_t some, want;
	struct page *page;

	slice->own = true;
	slice->to = slice->request->iter;
	for (; bytes; bytes -= want) {
		page = alloc_page(GFP_KERNEL_ACCOUNT);
		if (!page)
			break;
		some = min(bytes, PAGE_SIZE);
		want = some;
		if (slice->request->store) {
			pagefault_disable();
			some = copy_from_iter(page_address(page), want,
					      &slice->to);
			pagefault_enable();
		}
		some = round_down(some, RFM_ENGINE_ALIGN);
		if (some)
			rfm_slice_add(slice, page, 0, some);
		else
			__free_page(page);
		if (some < want)
			break;
	}
	return slice->count ? 0 : -EFAULT;
}

/* --- room ----------------------------------------------------------------- */

static bool rfm_room_is(const struct rfm_dma *dma)
{
	return READ_ONCE(dma->pinned) < RFM_PINNED_MAX;
}

/* The last may reach beyond the bound, so that long ones need not wait longer. */
static bool rfm_room_take(struct rfm_slice *slice, size_t bytes)
{
	struct rfm_hw *hw = &slice->request->file->card->hw;
	bool room;

	spin_lock(&hw->lock);
	room = rfm_room_is(&hw->dma);
	if (room) {
		slice->room = bytes;
		hw->dma.pinned += bytes;
	}
	spin_unlock(&hw->lock);
	return room;
}

static void rfm_room_give(struct rfm_slice *slice)
{
	struct rfm_hw *hw = &slice->request->file->card->hw;

	spin_lock(&hw->lock);
	hw->dma.pinned -= slice->room;
	spin_unlock(&hw->lock);
	slice->room = 0;
	wake_up_all(&hw->dma.wait);
}

/*
 * Waits, without a slice, until rfm_slice_new() may find room. Returns 0,
 * -ENODEV, or -ERESTARTSYS if the process is being killed.
 */
int rfm_room_wait(struct rfm_card *card)
{
	struct rfm_hw *hw = &card->hw;
	int ret = wait_event_killable(hw->dma.wait, rfm_room_is(&hw->dma) ||
				      READ_ONCE(hw->gone));

	return ret ?: READ_ONCE(hw->gone) ? -ENODEV : 0;
}

/*
 * Copies what the engine has moved to pages of our own. May wait for user
 * memory, for ever, so the slice's room is given back first. Returns 0 or
 * -EFAULT, and then the request has fewer bytes done.
 */
int rfm_slice_deliver(struct rfm_slice *slice)
{
	size_t left = slice->bytes, some, want;
	unsigned int i;

	rfm_room_give(slice);
	for (i = 0; i < slice->count; i++) {
		want = min(left, PAGE_SIZE);
		some = copy_to_iter(page_address(slice->pages[i]), want,
				    &slice->to);
		left -= some;
		if (some < want)
			break;
	}
	slice->request->done -= left;
	return left ? -EFAULT : 0;
}

/* --- slices --------------------------------------------------------------- */

/*
 * Makes a slice of what comes next in a request, as rfm_dma_plan() has returned
 * it, or in the other way of the engine. Waits for no user memory, and for no
 * room. The request goes on behind the slice, which may have fewer bytes.
 *
 * Returns the slice, or an ERR_PTR: -EFAULT if not even one page is there,
 * -EBUSY if the lock of the mappings is held, -EAGAIN if there is no room,
 * -ENOMEM if there is no memory.
 */
struct rfm_slice *rfm_slice_new(struct rfm_request *request, size_t bytes,
				enum rfm_way way)
{
	unsigned int pieces = way == RFM_WAY_PAGES ?
			      request->pieces : DIV_ROUND_UP(bytes, PAGE_SIZE);
	struct rfm_slice *slice;
	size_t size = struct_size(slice, pages, pieces);
	int ret = -EAGAIN;

	slice = kvmalloc(size + pieces * sizeof(*slice->sg), GFP_KERNEL_ACCOUNT);
	if (!slice)
		return ERR_PTR(-ENOMEM);
	memset(slice, 0, sizeof(*slice));
	slice->request = request;
	slice->sg = (void *)slice + size;
	init_completion(&slice->ended);
	INIT_WORK(&slice->work, rfm_request_work);
	sg_init_table(slice->sg, pieces);
	if (rfm_room_take(slice, pieces * PAGE_SIZE))
		ret = way == RFM_WAY_PAGES ?
		      rfm_slice_fill_pages(slice, bytes) :
		      rfm_slice_fill_own(slice, bytes);
	if (ret) {
		rfm_slice_free(slice);
		return ERR_PTR(ret);
	}
	sg_mark_end(&slice->sg[slice->count - 1]);
	slice->address = READ_ONCE(request->file->card->hw.window_offset) +
			 request->pos;
	iov_iter_advance(&request->iter, slice->bytes);
	request->pos += slice->bytes;
	return slice;
}

/*
 * How many of so many bytes are there, page by page with no other pinned? What
 * is not there is waited for, if at all.
 */
static size_t rfm_pages_fault_in(struct iov_iter rest, size_t bytes, bool store,
				 bool wait)
{
	unsigned int flags = rfm_pin_flags(store);
	size_t left = bytes, some;
	struct page *page;
	unsigned long at;

	iov_iter_advance(&rest, 0);
	for (; left; left -= some) {
		at = rfm_iter_address(&rest);
		some = min3(left, iov_iter_single_seg_count(&rest),
			    PAGE_SIZE - offset_in_page(at));
		at &= PAGE_MASK;
		if ((wait ? pin_user_pages_fast(at, 1, flags, &page) :
			    rfm_pin_resident(at, 1, flags, &page)) != 1)
			break;
		unpin_user_page(page);
		iov_iter_advance(&rest, some);
		cond_resched();
	}
	return bytes - left;
}

/*
 * Sees that so many bytes of a request's buffers are there, so that
 * rfm_slice_new() may find them. The caller has no slice: this may take for
 * ever, or until the process is killed if that is the caller. Returns how many
 * there were.
 */
size_t rfm_dma_fault_in(const struct rfm_request *request, size_t bytes,
			enum rfm_way way)
{
	const struct iov_iter *iter = &request->iter;

	if (!user_backed_iter(iter))
		return 0;
	if (way == RFM_WAY_PAGES)
		return rfm_pages_fault_in(*iter, bytes, request->store, true);
	return bytes - (request->store ?
			fault_in_iov_iter_readable(iter, bytes) :
			fault_in_iov_iter_writeable(iter, bytes));
}

/*
 * Could a read or write of few bytes be copied without waiting for memory?
 * Waits for nothing. The pages may be gone the moment after, if somebody takes
 * them away.
 */
bool rfm_dma_is_there(const struct iov_iter *iter, size_t bytes)
{
	return !user_backed_iter(iter) ||
	       rfm_pages_fault_in(*iter, bytes, iov_iter_rw(iter) == WRITE,
				  false) == bytes;
}

/*
 * The engine may go on for ever with a slice: its pages are never given back,
 * also not by somebody else who keeps them for the request.
 */
void rfm_slice_leak(struct rfm_slice *slice)
{
	unsigned int i;

	slice->leaked = true;
	for (i = 0; i < slice->count && !slice->own && !slice->pinned; i++)
		get_page(slice->pages[i]);
}

/*
 * The end of a slice that the engine does not know of. After a read it may wait
 * for the lock of a page of a file, see above.
 */
void rfm_slice_free(struct rfm_slice *slice)
{
	unsigned int i;

	if (slice->pinned && !slice->leaked)
		unpin_user_pages_dirty_lock(slice->pages, slice->count,
					    !slice->request->store);
	for (i = 0; i < slice->count && slice->own && !slice->leaked; i++)
		__free_page(slice->pages[i]);
	rfm_room_give(slice);
	kvfree(slice);
}
