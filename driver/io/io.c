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

/* The bytes of each aligned 4, or of what there is of them, the other way round. */
static void rfm_io_reverse(void *data, unsigned int width)
{
	switch (width) {
	case 8:
		swab32s(data + 4);
		fallthrough;
	case 4:
		swab32s(data);
		break;
	case 2:
		swab16s(data);
	}
}

/* One access of so many bits at @at, from or to @data. */
#define RFM_IO_ACCESS(bits, letter)					\
do {									\
	if (store)							\
		write##letter(le##bits##_to_cpup(data), at);		\
	else								\
		*(__le##bits *)data = cpu_to_le##bits(read##letter(at)); \
} while (0)

/*
 * @data is aligned as @pos is. All that is moved is in the order of DMA: where the
 * card reverses bytes for one of the two only, a byte at n is to be found at n ^ 3.
 */
static __always_inline void rfm_io_pass(struct rfm_card *card, loff_t pos,
					void *data, size_t left, bool store)
{
	bool reverse = READ_ONCE(card->hw.swaps_differ);
	void __iomem *at;
	unsigned int width;

	for (; left; left -= width, pos += width, data += width) {
		/* The widest aligned access that does not go past the end. */
		width = 8;
		while (width > left || pos & (width - 1))
			width >>= 1;
		at = card->hw.memory + pos;
		if (unlikely(reverse)) {
			at = card->hw.memory + (pos ^ ((4 - width) & 3));
			if (store)
				rfm_io_reverse(data, width);
		}
		switch (width) {
		case 8:
			RFM_IO_ACCESS(64, q);
			break;
		case 4:
			RFM_IO_ACCESS(32, l);
			break;
		case 2:
			RFM_IO_ACCESS(16, w);
			break;
		default:
			if (store)
				writeb(*(u8 *)data, at);
			else
				*(u8 *)data = readb(at);
		}
		if (unlikely(reverse) && !store)
			rfm_io_reverse(data, width);
	}
}

static int rfm_io_run(struct rfm_card *card, loff_t pos, u8 *data, size_t len,
		      bool store)
{
	int idx, ret = 0;

	if (!rfm_card_enter(card, &idx))
		return -ENODEV;

	if (store) {
		rfm_io_pass(card, pos, data, len, true);
	} else {
		rfm_io_pass(card, pos, data, len, false);
		/*
		 * Ones are legal data and also what a card that is not there
		 * returns. One that vanished during the pass is gone at its
		 * end, so the last byte tells whether to ask.
		 */
		if (data[len - 1] == 0xff)
			ret = rfm_card_check(card);
	}

	rfm_card_exit(card, idx);
	return ret;
}

/*
 * Moves bytes inside the window, no more than a rfm_io_turn(), for it takes no
 * notice of signals. Writes are posted like stores to a mapping: those made
 * while the card is being pulled out are lost without an error. Returns how
 * many were moved; @error is always set, to 0 if it was all of them.
 *
 * User memory is touched outside the SRCU section, so the data has to stay
 * somewhere in between.
 */
size_t rfm_io_move(struct rfm_card *card, struct iov_iter *iter, loff_t pos,
		   size_t bytes, bool store, int *error)
{
	u8 buf[RFM_IO_CHUNK] __aligned(8), *data = buf + (pos & 7);
	size_t done = 0, want, some;

	do {
		/* To a multiple of RFM_IO_CHUNK: the next is aligned. */
		want = min_t(size_t, bytes - done, -pos & (RFM_IO_CHUNK - 1) ?:
						   RFM_IO_CHUNK);
		some = store ? copy_from_iter(data, want, iter) : want;
		*error = some ? rfm_io_run(card, pos, data, some, store) :
				-EFAULT;
		if (*error)
			break;
		if (!store)
			some = copy_to_iter(data, want, iter);
		if (some < want)
			*error = -EFAULT;
		done += some;
		pos += some;
		data = buf;
		cond_resched();
	} while (!*error && done < bytes);
	return done;
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
				    rfm_io_turn(iocb->ki_pos + done, bytes - done),
				    store, &error);
	} while (!error && done < bytes && !rfm_io_interrupted(iocb));
	iocb->ki_pos += done;
	/* An error counts only if nothing was moved before it. */
	return done ?: error;
}

static ssize_t rfm_io_some(struct kiocb *iocb, struct iov_iter *iter,
			   size_t bytes, bool store)
{
	struct rfm_card *card = rfm_card_of(iocb->ki_filp);
	u32 threshold = rfm_dma_threshold(card, store);
	bool engine = threshold && bytes >= threshold && rfm_dma_can(iter);
	bool wait = !(iocb->ki_flags & IOCB_NOWAIT);
	ssize_t ret;

	/* A call with RWF_NOWAIT must not wait for others' transfers, so it copies by itself. */
	if (engine && (wait || !is_sync_kiocb(iocb)))
		return rfm_request(iocb, iter, bytes);
	/* Many are submitted by one call: it does not wait for one of them. */
	if (!wait && !is_sync_kiocb(iocb) &&
	    (bytes > RFM_INLINE_MAX || !rfm_dma_is_there(iter, bytes)))
		return -EAGAIN;
	/* Who finds the engine at work does not wait for it either. */
	if (wait && store && threshold && rfm_dma_moves_at_once(card, bytes)) {
		ret = rfm_dma_move_at_once(card, iter, iocb->ki_pos, bytes);
		iocb->ki_pos += max_t(ssize_t, ret, 0);
		if (ret != -EBUSY)
			return ret;
	}
	return rfm_io_copy(iocb, iter, bytes, store);
}

static ssize_t rfm_io(struct kiocb *iocb, struct iov_iter *iter, bool store)
{
	struct rfm_card *card = rfm_card_of(iocb->ki_filp);
	size_t bytes = min_t(u64, iov_iter_count(iter),
			     card->hw.window_size - iocb->ki_pos);
	ssize_t ret;

	/* The window and the order of bytes change under none of them. */
	spin_lock(&card->hw.lock);
	card->hw.dma.requests++;
	spin_unlock(&card->hw.lock);
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
