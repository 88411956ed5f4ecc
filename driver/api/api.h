/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs use: /dev/rfmN, and the netlink family. */
#ifndef RFM_API_H
#define RFM_API_H

#include "core/card.h"

struct vm_area_struct;

/* api/chrdev.c: open, ioctl */
extern struct class rfm_class;
struct rfm_file *rfm_file_of(const struct file *filp);
int rfm_chrdev_init(void);
void rfm_chrdev_exit(void);
int rfm_chrdev_add(struct rfm_card *card);
void rfm_chrdev_del(struct rfm_card *card);

/* io/io.c: read and write, programmed I/O */

/* Bytes before a look at who else wants something. */
#define RFM_IO_TURN	8192

size_t rfm_io_move(struct rfm_card *card, struct iov_iter *iter, loff_t pos,
		   size_t bytes, bool store, int *error);
void rfm_io_end(struct rfm_card *card);
bool rfm_io_interrupted(struct kiocb *iocb);
ssize_t rfm_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t rfm_write_iter(struct kiocb *iocb, struct iov_iter *from);
loff_t rfm_llseek(struct file *file, loff_t offset, int whence);

/* io/dma_pages.c, io/dma_request.c: reads and writes that use the DMA engine */
bool rfm_dma_can(const struct iov_iter *iter);
bool rfm_dma_is_there(const struct iov_iter *iter, size_t bytes);
ssize_t rfm_request(struct kiocb *iocb, struct iov_iter *iter, size_t bytes);

/* api/mmap.c */
int rfm_mmap(struct file *file, struct vm_area_struct *vma);

/* api/netlink.c: the family */
int rfm_netlink_init(void);
void rfm_netlink_exit(void);

#endif /* RFM_API_H */
