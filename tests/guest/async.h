/* SPDX-License-Identifier: GPL-2.0-only */
/* io_uring and asynchronous I/O by their system calls; no library has to be there. */
#ifndef ASYNC_H
#define ASYNC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/io_uring.h>

/* --- io_uring ----------------------------------------------------------- */

struct uring {
	int fd;
	unsigned int entries;
	unsigned int *sq_head, *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int queued;	/* not submitted yet */
	void *rings;
	size_t rings_size;
};

__attribute__((unused))
static bool uring_open(struct uring *uring, unsigned int entries)
{
	struct io_uring_params params = { 0 };
	size_t sq_size, cq_size;
	char *rings;

	memset(uring, 0, sizeof(*uring));
	uring->fd = syscall(SYS_io_uring_setup, entries, &params);
	if (uring->fd < 0)
		return false;
	if (!(params.features & IORING_FEAT_SINGLE_MMAP)) {
		errno = EOPNOTSUPP;
		return false;
	}
	sq_size = params.sq_off.array +
		  params.sq_entries * sizeof(unsigned int);
	cq_size = params.cq_off.cqes +
		  params.cq_entries * sizeof(struct io_uring_cqe);
	uring->rings_size = sq_size > cq_size ? sq_size : cq_size;
	rings = mmap(NULL, uring->rings_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, uring->fd, IORING_OFF_SQ_RING);
	uring->sqes = mmap(NULL, params.sq_entries * sizeof(*uring->sqes),
			   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   uring->fd, IORING_OFF_SQES);
	if (rings == MAP_FAILED || uring->sqes == MAP_FAILED)
		return false;
	uring->rings = rings;
	uring->entries = params.sq_entries;
	uring->sq_head = (void *)(rings + params.sq_off.head);
	uring->sq_tail = (void *)(rings + params.sq_off.tail);
	uring->sq_mask = (void *)(rings + params.sq_off.ring_mask);
	uring->sq_array = (void *)(rings + params.sq_off.array);
	uring->cq_head = (void *)(rings + params.cq_off.head);
	uring->cq_tail = (void *)(rings + params.cq_off.tail);
	uring->cq_mask = (void *)(rings + params.cq_off.ring_mask);
	uring->cqes = (void *)(rings + params.cq_off.cqes);
	return true;
}

__attribute__((unused))
static void uring_close(struct uring *uring)
{
	munmap(uring->sqes, uring->entries * sizeof(*uring->sqes));
	munmap(uring->rings, uring->rings_size);
	close(uring->fd);
}

/* One more submission; the caller fills in what is not 0. NULL: no room. */
__attribute__((unused))
static struct io_uring_sqe *uring_sqe(struct uring *uring)
{
	unsigned int tail = *uring->sq_tail, index;
	struct io_uring_sqe *sqe;

	if (tail - __atomic_load_n(uring->sq_head, __ATOMIC_ACQUIRE) ==
	    uring->entries)
		return NULL;
	index = tail & *uring->sq_mask;
	sqe = &uring->sqes[index];
	memset(sqe, 0, sizeof(*sqe));
	uring->sq_array[index] = index;
	__atomic_store_n(uring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	uring->queued++;
	return sqe;
}

/* IORING_OP_READ and its relatives. */
__attribute__((unused))
static bool uring_add(struct uring *uring, int op, int fd, const void *buf,
		      size_t len, uint64_t offset, uint64_t tag)
{
	struct io_uring_sqe *sqe = uring_sqe(uring);

	if (!sqe)
		return false;
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)buf;
	sqe->len = len;
	sqe->off = offset;
	sqe->user_data = tag;
	return true;
}

/* What is added next begins when the last that was added has ended, well or not. */
__attribute__((unused))
static void uring_link(struct uring *uring)
{
	uring->sqes[(*uring->sq_tail - 1) & *uring->sq_mask].flags |=
		IOSQE_IO_HARDLINK;
}

/* Submits what was added and waits for @wait completions; 0, or -1 and errno. */
__attribute__((unused))
static int uring_enter(struct uring *uring, unsigned int wait)
{
	int ret;

	do {
		ret = syscall(SYS_io_uring_enter, uring->fd, uring->queued,
			      wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
		if (ret > 0)
			uring->queued -= ret;
	} while ((ret < 0 && errno == EINTR) || (ret >= 0 && uring->queued));
	return ret < 0 ? -1 : 0;
}

/* The next completion that is there, or false. */
__attribute__((unused))
static bool uring_next(struct uring *uring, struct io_uring_cqe *cqe)
{
	unsigned int head = *uring->cq_head;

	if (head == __atomic_load_n(uring->cq_tail, __ATOMIC_ACQUIRE))
		return false;
	*cqe = uring->cqes[head & *uring->cq_mask];
	__atomic_store_n(uring->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* The next completion, waited for; false if that fails. */
__attribute__((unused))
static bool uring_wait(struct uring *uring, struct io_uring_cqe *cqe)
{
	while (!uring_next(uring, cqe))
		if (uring_enter(uring, 1))
			return false;
	return true;
}

__attribute__((unused))
static int uring_register(struct uring *uring, const struct iovec *buffers,
			  unsigned int count)
{
	return syscall(SYS_io_uring_register, uring->fd,
		       IORING_REGISTER_BUFFERS, buffers, count);
}

/* --- asynchronous I/O ---------------------------------------------------- */

__attribute__((unused))
static void aio_fill(struct iocb *iocb, int op, int fd, const void *buf,
		     size_t len, uint64_t offset, uint64_t tag)
{
	memset(iocb, 0, sizeof(*iocb));
	iocb->aio_lio_opcode = op;
	iocb->aio_fildes = fd;
	iocb->aio_buf = (uintptr_t)buf;
	iocb->aio_nbytes = len;
	iocb->aio_offset = offset;
	iocb->aio_data = tag;
}

__attribute__((unused))
static int aio_setup(unsigned int events, aio_context_t *context)
{
	*context = 0;
	return syscall(SYS_io_setup, events, context);
}

__attribute__((unused))
static int aio_submit(aio_context_t context, struct iocb *iocb)
{
	return syscall(SYS_io_submit, context, 1, &iocb);
}

__attribute__((unused))
static int aio_wait(aio_context_t context, struct io_event *event)
{
	int ret;

	do
		ret = syscall(SYS_io_getevents, context, 1, 1, event, NULL);
	while (ret < 0 && errno == EINTR);
	return ret;
}

__attribute__((unused))
static int aio_cancel(aio_context_t context, struct iocb *iocb)
{
	struct io_event event;

	return syscall(SYS_io_cancel, context, iocb, &event);
}

__attribute__((unused))
static int aio_destroy(aio_context_t context)
{
	return syscall(SYS_io_destroy, context);
}

#endif /* ASYNC_H */
