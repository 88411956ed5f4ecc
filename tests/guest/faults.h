/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory whose pages come only when the test gives them, by userfaultfd(2):
 * whoever touches one that is not there waits until then.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "tap.h"

#define FAULTS_PAGE 4096ul

static int faults = -1;		/* the userfaultfd */

__attribute__((unused))
static bool faults_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	/* One that would block cannot be polled. */
	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api);
}

/* New memory, with every page there; NULL if it cannot be had. */
__attribute__((unused))
static uint8_t *faults_memory(size_t bytes)
{
	struct uffdio_register args = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 0x5a, bytes);
	args.range.start = (uintptr_t)memory;
	args.range.len = bytes;
	return ioctl(faults, UFFDIO_REGISTER, &args) ? NULL : memory;
}

__attribute__((unused))
static void faults_take(uint8_t *page)
{
	madvise(page, FAULTS_PAGE, MADV_DONTNEED);
}

/* Zeros, if it is not there. */
__attribute__((unused))
static void faults_give(uint8_t *page)
{
	struct uffdio_zeropage args = {
		.range = { (uintptr_t)page, FAULTS_PAGE },
	};

	ioctl(faults, UFFDIO_ZEROPAGE, &args);
}

/* What somebody waits for next; waits until somebody does. */
__attribute__((unused))
static uint8_t *faults_next(void)
{
	struct pollfd pollfd = { faults, POLLIN, 0 };
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) != sizeof(message))
		if (errno != EAGAIN || poll(&pollfd, 1, -1) != 1)
			_exit(TAP_FAIL);
	return (uint8_t *)(uintptr_t)message.arg.pagefault.address;
}

#endif /* FAULTS_H */
