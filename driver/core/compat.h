/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between kernel 6.1 and the newest; each goes with its version. */
#ifndef RFM_COMPAT_H
#define RFM_COMPAT_H

#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static inline void __user *iter_iov_addr(const struct iov_iter *iter)
{
	void __user *base = iter_is_ubuf(iter) ? iter->ubuf :
						 iter->iov->iov_base;

	return base + iter->iov_offset;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* The first @ksize bytes of @usize; zeros behind them. */
static inline int copy_struct_to_user(void __user *dst, size_t usize,
				      const void *src, size_t ksize,
				      bool *ignored_trailing)
{
	if (copy_to_user(dst, src, min(usize, ksize)) ||
	    (usize > ksize && clear_user(dst + ksize, usize - ksize)))
		return -EFAULT;
	return 0;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/* Nobody wants the areas that the pages are in. */
#define pin_user_pages(...)	pin_user_pages(__VA_ARGS__, NULL)
#endif

/*
 * Pin pages that are there. Waits for nothing, not even for the lock of the
 * address space; returns how many, or -EBUSY if they cannot be looked for
 * without that lock.
 */
#ifdef FOLL_FAST_ONLY
#define rfm_pin_resident		pin_user_pages_fast_only
#else
static inline int rfm_pin_resident(unsigned long from, int count,
				   unsigned int flags, struct page **pages)
{
	long pinned;

	if (!mmap_read_trylock(current->mm))
		return -EBUSY;
	pinned = pin_user_pages(from, count, flags | FOLL_NOFAULT, pages);
	mmap_read_unlock(current->mm);
	return pinned < 0 ? 0 : pinned;
}
#endif

#endif /* RFM_COMPAT_H */
