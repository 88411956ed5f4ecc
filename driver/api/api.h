/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs use: /dev/rfmN, and the netlink family. */
#ifndef RFM_API_H
#define RFM_API_H

#include "core/card.h"

struct vm_area_struct;

/* api/chrdev.c: open, ioctl */
struct rfm_file *rfm_file_of(const struct file *filp);
int rfm_chrdev_init(void);
void rfm_chrdev_exit(void);
int rfm_chrdev_add(struct rfm_card *card);
int rfm_argument_get(void *arg, size_t size, size_t inputs, const void __user *user,
		     size_t given);

/* api/uring.c; kernels before 5.19 have no such commands */
#ifndef RFM_NO_URING_CMD
struct io_uring_cmd;
int rfm_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
#endif

/* api/mmap.c */
int rfm_mmap(struct file *file, struct vm_area_struct *vma);

/* api/netlink.c: the family */
int rfm_netlink_init(void);
void rfm_netlink_exit(void);

#endif /* RFM_API_H */
