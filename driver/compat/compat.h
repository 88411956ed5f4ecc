/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the driver calls of the newest kernel, for kernels that lack it or have it in
 * another shape; 5.14 is the first. The sources do not know of this file: Kbuild has it
 * included before them, with RFM_HAVE_* for what was found by the script beside it. In
 * the kernel's own tree this folder does not exist.
 */
#ifndef RFM_COMPAT_H
#define RFM_COMPAT_H

#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pm.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/genetlink.h>

#include <linux/rfm_netlink.h>

#ifndef pm_sleep_ptr
#define pm_sleep_ptr(ptr)	(IS_ENABLED(CONFIG_PM_SLEEP) ? (ptr) : NULL)
#endif

/* --- memory ---------------------------------------------------------------- */

#ifndef RFM_HAVE_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* Without the lock of the mappings. */
#ifdef RFM_HAVE_PIN_FAST_ONLY
#define rfm_pin_resident	pin_user_pages_fast_only
#endif

/* Nobody wants the areas that the pages are in. */
#ifndef RFM_HAVE_PIN_WITHOUT_VMAS
#define pin_user_pages(...)	pin_user_pages(__VA_ARGS__, NULL)
#endif

#ifndef RFM_HAVE_COPY_STRUCT_TO_USER
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

/* --- files and their buffers ------------------------------------------------ */

#ifndef RFM_HAVE_USER_BACKED_ITER
#define user_backed_iter(iter)	iter_is_iovec(iter)
#endif

#ifndef RFM_HAVE_ITER_IOV_ADDR
static inline void __user *iter_iov_addr(const struct iov_iter *iter)
{
#ifdef RFM_HAVE_ITER_UBUF
	if (iter_is_ubuf(iter))
		return iter->ubuf + iter->iov_offset;
#endif
	return iter->iov->iov_base + iter->iov_offset;
}
#endif

/* How many bytes are not there: of what cannot be asked, all. */
#ifndef RFM_HAVE_FAULT_IN_IOV_ITER
static inline size_t fault_in_iov_iter_readable(const struct iov_iter *iter,
						size_t bytes)
{
	struct iov_iter rest = *iter;

	return iov_iter_fault_in_readable(&rest, bytes) ? bytes : 0;
}

static inline size_t fault_in_iov_iter_writeable(const struct iov_iter *iter,
						 size_t bytes)
{
	return bytes;
}
#endif

#ifndef RFM_HAVE_KI_COMPLETE
#define ki_complete(iocb, ret)	ki_complete(iocb, ret, 0)
#endif

/* A file can be opened with O_DIRECT whose mapping tells so. */
#ifndef FMODE_CAN_ODIRECT
#define FMODE_CAN_ODIRECT	0
static inline struct inode *rfm_alloc_anon_inode(struct super_block *sb)
{
	static const struct address_space_operations direct = {
		.direct_IO = noop_direct_IO,
	};
	struct inode *inode = alloc_anon_inode(sb);

	if (!IS_ERR(inode))
		inode->i_mapping->a_ops = &direct;
	return inode;
}

#define alloc_anon_inode	rfm_alloc_anon_inode
#endif

#ifndef RFM_HAVE_EVENTFD_SIGNAL
#define eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#endif

/* --- netlink ---------------------------------------------------------------- */

#ifndef NL_SET_ERR_ATTR_MISS
#define NL_SET_ERR_ATTR_MISS(extack, nest, type) \
	((void)(extack), (void)(nest), (void)(type))
#endif

/* The same in the initial network namespace, and the family is in no other. */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

#ifndef RFM_HAVE_GENL_INFO_DUMP
#define genl_info_dump		genl_dumpit_info	/* it has the attributes too */
#endif

/*
 * The do and the dump of an operation are one entry of the table, whose fields have
 * the same names, and not two.
 */
#ifndef RFM_HAVE_GENL_SPLIT_OPS
#define genl_split_ops	genl_ops
#define split_ops	ops
#define n_split_ops	n_ops

static inline int rfm_genl_register_family(struct genl_family *family)
{
	static struct genl_ops joined[RFM_CMD_MAX];
	unsigned int i, count = 0;

	for (i = 0; i < family->n_ops; i++) {
		const struct genl_ops *op = &family->ops[i];

		if (count && joined[count - 1].cmd == op->cmd)
			joined[count - 1].dumpit = op->dumpit;
		else
			joined[count++] = *op;
		joined[count - 1].flags &= ~(GENL_CMD_CAP_DO |
					     GENL_CMD_CAP_DUMP);
	}
	family->ops = joined;
	family->n_ops = count;
	return genl_register_family(family);
}

#define genl_register_family	rfm_genl_register_family
#endif

#endif /* RFM_COMPAT_H */
