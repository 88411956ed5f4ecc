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

/*
 * A page that is pinned for long and to be read only may be one of zeros, of a file or of a
 * relative: the process would get another for itself when it writes there. So it writes now.
 */
#ifndef RFM_HAVE_PIN_UNSHARES
static inline unsigned int rfm_pin_writes(unsigned int flags)
{
	return flags & FOLL_LONGTERM ? flags | FOLL_WRITE | FOLL_FORCE : flags;
}

#define pin_user_pages_fast(start, count, flags, pages) \
	pin_user_pages_fast(start, count, rfm_pin_writes(flags), pages)
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

/* --- commands of io_uring --------------------------------------------------- */

/*
 * A callback gets the command itself, and flags for its end, not both as a request. So it is
 * called by way of one that has that shape, and finds the flags in its own parameter.
 */
#ifndef RFM_HAVE_URING_CMD
#define RFM_NO_URING_CMD
#elif !defined(RFM_HAVE_URING_TW)
#include <linux/io_uring/cmd.h>
#ifdef RFM_HAVE_URING_SQE
#undef io_uring_sqe_cmd
#define io_uring_sqe_cmd(sqe, type)	((const type *)(sqe)->cmd)
#else
#define sqe				cmd
#define io_uring_sqe_cmd(command, type)	((const type *)(command))
#endif

#define io_tw_req			rfm_tw_req
#define io_tw_token_t			unsigned int
#define IO_URING_CMD_TASK_WORK_ISSUE_FLAGS tw

struct rfm_tw_req {
	struct io_uring_cmd *command;
};

#define io_uring_cmd_from_tw(req)	((req).command)

typedef void rfm_tw_func(struct rfm_tw_req req, unsigned int flags);

/* The driver keeps a pointer in the first words of @pdu. */
static inline rfm_tw_func **rfm_tw_in(struct io_uring_cmd *command)
{
	return (rfm_tw_func **)(command->pdu + sizeof(command->pdu) -
				sizeof(rfm_tw_func *));
}

static inline void rfm_tw_call(struct io_uring_cmd *command, unsigned int flags)
{
	(*rfm_tw_in(command))((struct rfm_tw_req){ command }, flags);
}

static inline void rfm_complete_in_task(struct io_uring_cmd *command,
					rfm_tw_func *func)
{
	*rfm_tw_in(command) = func;
	io_uring_cmd_complete_in_task(command, rfm_tw_call);
}

#define io_uring_cmd_complete_in_task	rfm_complete_in_task
#ifdef RFM_HAVE_URING_RES2
#define io_uring_cmd_done(command, ret, flags) \
	io_uring_cmd_done(command, ret, 0, flags)
#endif
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
