// SPDX-License-Identifier: GPL-2.0-only
/*
 * read(), write() and lseek() on /dev/rfmN, and programmed I/O. What is long
 * becomes a request for the DMA engine, see io/dma_request.c.
 *
 * memcpy_toio() will not do: on x86 it may be "rep movsl", which splits an
 * aligned 8-byte store in two. Here every naturally aligned piece of up to 8
 * bytes is one access, in ascending order, so an aligned pwrite() of 1, 2, 4
 * or 8 bytes is exactly one store and arrives untorn on every node.
 */

#include <linux/fs.h>
#include <linux/io.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "io/io.h"

#ifndef CONFIG_64BIT
#error "an aligned 8-byte store can be one access on 64-bit kernels only"
#endif

/* What one pass moves, and so how long it can hold up the card's removal. */
#define RFM_IO_CHUNK	512

/* Bytes for which the submitter of many does not mind to wait. */
#define RFM_INLINE_MAX	16384

/*
 * One pass of a transfer.
 *
 * User memory is touched outside the SRCU section, so the data has to stay
 * somewhere in between.
 */
struct rfm_io {
	loff_t pos;			/* offset in the card's memory */
	size_t len;			/* bytes, at most RFM_IO_CHUNK */
	u8 *data;			/* where they are in @buf: aligned as @pos is */
	u8 buf[RFM_IO_CHUNK] __aligned(8);
};

/* Passes end on multiples of RFM_IO_CHUNK, so that the next is aligned. */
static void rfm_io_next(struct rfm_io *io, loff_t pos, size_t left)
{
	size_t in_chunk = pos & (RFM_IO_CHUNK - 1);

	io->pos = pos;
	io->len = min_t(size_t, left, RFM_IO_CHUNK - in_chunk);
	io->data = io->buf + (pos & 7);
}

/* The widest aligned access at @pos that does not go past @left bytes. */
static unsigned int rfm_io_width(loff_t pos, size_t left)
{
	unsigned int width = 8;

	while (width > left || pos & (width - 1))
		width >>= 1;
	return width;
}

static void rfm_io_store(struct rfm_card *card, const struct rfm_io *io)
{
	void __iomem *to = card->hw.memory + io->pos;
	unsigned int width;
	size_t i;

	for (i = 0; i < io->len; i += width) {
		const void *from = io->data + i;

		width = rfm_io_width(io->pos + i, io->len - i);
		switch (width) {
		case 8:
			writeq(le64_to_cpup(from), to + i);
			break;
		case 4:
			writel(le32_to_cpup(from), to + i);
			break;
		case 2:
			writew(le16_to_cpup(from), to + i);
			break;
		default:
			writeb(*(const u8 *)from, to + i);
		}
	}
}

static void rfm_io_load(struct rfm_card *card, struct rfm_io *io)
{
	const void __iomem *from = card->hw.memory + io->pos;
	unsigned int width;
	size_t i;

	for (i = 0; i < io->len; i += width) {
		void *to = io->data + i;

		width = rfm_io_width(io->pos + i, io->len - i);
		switch (width) {
		case 8:
			*(__le64 *)to = cpu_to_le64(readq(from + i));
			break;
		case 4:
			*(__le32 *)to = cpu_to_le32(readl(from + i));
			break;
		case 2:
			*(__le16 *)to = cpu_to_le16(readw(from + i));
			break;
		default:
			*(u8 *)to = readb(from + i);
		}
	}
}

static int rfm_io_run(struct rfm_card *card, struct rfm_io *io, bool store)
{
	int idx, ret = 0;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;

	if (store) {
		rfm_io_store(card, io);
	} else {
		rfm_io_load(card, io);
		/*
		 * Ones are legal data and also what a card that is not there
		 * returns. One that vanished during the pass is gone at its
		 * end, so the last byte tells whether to ask.
		 */
		if (io->data[io->len - 1] == 0xff)
			ret = rfm_card_check(card);
	}

	rfm_card_exit(card, idx);
	return ret;
}

/* One pass. Returns how many bytes; fewer than @io->len: see @error. */
static size_t rfm_io_pass(struct rfm_card *card, struct rfm_io *io,
			  struct iov_iter *iter, bool store, int *error)
{
	size_t want = io->len, done;

	if (store) {
		io->len = copy_from_iter(io->data, want, iter);
		*error = io->len ? rfm_io_run(card, io, true) : 0;
		done = *error ? 0 : io->len;
	} else {
		*error = rfm_io_run(card, io, false);
		done = *error ? 0 : copy_to_iter(io->data, want, iter);
	}
	if (!*error && done < want)
		*error = -EFAULT;
	return done;
}

/*
 * Moves bytes inside the window, no more than RFM_IO_TURN, for it takes no
 * notice of signals. Writes are posted like stores to a mapping: those made
 * while the card is being pulled out are lost without an error. Returns how
 * many were moved; @error is always set, to 0 if it was all of them.
 */
size_t rfm_io_move(struct rfm_card *card, struct iov_iter *iter, loff_t pos,
		   size_t bytes, bool store, int *error)
{
	struct rfm_io io;
	size_t done = 0;

	do {
		rfm_io_next(&io, pos + done, bytes - done);
		done += rfm_io_pass(card, &io, iter, store, error);
		cond_resched();
	} while (!*error && done < bytes);
	return done;
}

/* The window and the order of bytes change under none of them. */
static void rfm_io_begin(struct rfm_card *card)
{
	spin_lock(&card->hw.lock);
	card->hw.dma.requests++;
	spin_unlock(&card->hw.lock);
}

/* If it was the last, the window and the order of bytes may change again. */
void rfm_io_end(struct rfm_card *card)
{
	spin_lock(&card->hw.lock);
	card->hw.dma.requests--;
	spin_unlock(&card->hw.lock);
}

/* Does a signal end a transfer of its caller, or of a worker of io_uring? */
bool rfm_io_interrupted(struct kiocb *iocb)
{
	return is_sync_kiocb(iocb) ? task_sigpending(current) :
				     fatal_signal_pending(current);
}

/* Programmed I/O by the caller. */
static ssize_t rfm_io_copy(struct kiocb *iocb, struct iov_iter *iter,
			   size_t bytes, bool store)
{
	struct rfm_card *card = rfm_card_of(iocb->ki_filp);
	size_t done = 0;
	int error;

	do {
		done += rfm_io_move(card, iter, iocb->ki_pos + done,
				    min_t(size_t, bytes - done, RFM_IO_TURN),
				    store, &error);
	} while (!error && done < bytes && !rfm_io_interrupted(iocb));
	iocb->ki_pos += done;
	/* An error counts only if nothing was moved before it. */
	return done ?: error;
}

static ssize_t rfm_io_some(struct kiocb *iocb, struct iov_iter *iter,
			   size_t bytes, bool store)
{
	u32 threshold = rfm_dma_threshold(rfm_card_of(iocb->ki_filp), store);
	bool engine = threshold && bytes >= threshold && rfm_dma_can(iter);
	bool wait = !(iocb->ki_flags & IOCB_NOWAIT);

	/* Who must not wait for others, but for itself, does it itself. */
	if (engine && (wait || !is_sync_kiocb(iocb)))
		return rfm_request(iocb, iter, bytes);
	/* Many are submitted by one call: it does not wait for one of them. */
	if (!wait && !is_sync_kiocb(iocb) &&
	    (bytes > RFM_INLINE_MAX || !rfm_dma_is_there(iter, bytes)))
		return -EAGAIN;
	return rfm_io_copy(iocb, iter, bytes, store);
}

static ssize_t rfm_io(struct kiocb *iocb, struct iov_iter *iter, bool store)
{
	struct rfm_card *card = rfm_card_of(iocb->ki_filp);
	size_t bytes = min_t(u64, iov_iter_count(iter),
			     card->hw.window_size - iocb->ki_pos);
	ssize_t ret;

	rfm_io_begin(card);
	ret = rfm_io_some(iocb, iter, bytes, store);
	if (ret != -EIOCBQUEUED)
		rfm_io_end(card);
	return ret;
}

/**
 * rfm_read_iter - read the card's memory
 * @iocb: file and position
 * @to: where to put it
 *
 * Return: bytes read, fewer than asked for at the end of the memory or when a
 * signal came; 0 at the end; -EIOCBQUEUED if @iocb will be told; -EAGAIN,
 * -EFAULT, -EIO, -ENOBUFS, -ENODEV, -ENOMEM or -ERESTARTSYS if nothing was read.
 */
ssize_t rfm_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	if (!iov_iter_count(to) ||
	    iocb->ki_pos >= rfm_card_of(iocb->ki_filp)->hw.window_size)
		return 0;
	return rfm_io(iocb, to, false);
}

/**
 * rfm_write_iter - write the card's memory, here and on every node
 * @iocb: file and position
 * @from: the bytes
 *
 * Return: bytes written, fewer than asked for at the end of the memory or
 * when a signal came; -ENOSPC at the end; else as rfm_read_iter().
 */
ssize_t rfm_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	if (!iov_iter_count(from))
		return 0;
	if (iocb->ki_pos >= rfm_card_of(iocb->ki_filp)->hw.window_size)
		return -ENOSPC;
	return rfm_io(iocb, from, true);
}

/**
 * rfm_llseek - move the file position
 * @file: the file
 * @offset: bytes
 * @whence: SEEK_SET, SEEK_CUR or SEEK_END, the end being that of the window
 *
 * Return: the new position, or -EINVAL outside the memory.
 */
loff_t rfm_llseek(struct file *file, loff_t offset, int whence)
{
	struct rfm_card *card = rfm_card_of(file);

	return fixed_size_llseek(file, offset, whence, card->hw.window_size);
}
