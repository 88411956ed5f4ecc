/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between kernel 6.1 and the newest; each goes with its version. */
#ifndef RFM_COMPAT_H
#define RFM_COMPAT_H

#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#endif

#endif /* RFM_COMPAT_H */
