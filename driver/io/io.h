/* SPDX-License-Identifier: GPL-2.0-only */
/* read() and write() of the memory, and what programmed I/O and the DMA engine share. */
#ifndef RFM_IO_H
#define RFM_IO_H

#include "core/card.h"

/* io/io.c: read and write, programmed I/O */

/* So many bytes at most before a look at who else wants something: no aligned 8 are cut. */
static inline size_t rfm_io_turn(loff_t pos, size_t bytes)
{
	return min_t(size_t, bytes, 8192 - (pos & 7));
}

size_t rfm_io_move(struct rfm_card *card, struct iov_iter *iter, loff_t pos,
		   size_t bytes, bool store, int *error);
void rfm_io_end(struct rfm_card *card);
bool rfm_io_interrupted(struct kiocb *iocb);
ssize_t rfm_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t rfm_write_iter(struct kiocb *iocb, struct iov_iter *from);
loff_t rfm_llseek(struct file *file, loff_t offset, int whence);

/* io/dma.c: what the engine moves at once */
bool rfm_dma_moves_at_once(const struct rfm_card *card, size_t bytes);
ssize_t rfm_dma_move_at_once(struct rfm_card *card, struct iov_iter *iter,
			     loff_t pos, size_t bytes);

/* io/dma_pages.c, io/dma_request.c: reads and writes that use the DMA engine */
bool rfm_dma_can(const struct iov_iter *iter);
bool rfm_dma_is_there(const struct iov_iter *iter, size_t bytes);
ssize_t rfm_request(struct kiocb *iocb, struct iov_iter *iter, size_t bytes);

#endif /* RFM_IO_H */
