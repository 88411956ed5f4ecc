// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the first bytes of a file to a card, by io_uring and from a registered
 * buffer, whose pages io_uring keeps for as long as the request lasts:
 *
 *	write_fixed DEVICE FILE BYTES
 *
 * Exits with 1 if it was not written.
 */
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>

#include "async.h"

int main(int argc, char **argv)
{
	struct io_uring_cqe cqe = { .res = -1 };
	struct iovec buffer = { 0 };
	struct uring uring;
	int card, file;

	if (argc != 4) {
		fprintf(stderr, "usage: write_fixed DEVICE FILE BYTES\n");
		return 2;
	}
	card = open(argv[1], O_RDWR);
	file = open(argv[2], O_RDONLY);
	buffer.iov_len = strtoul(argv[3], NULL, 0);
	buffer.iov_base = mmap(NULL, buffer.iov_len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (card < 0 || buffer.iov_base == MAP_FAILED ||
	    read(file, buffer.iov_base, buffer.iov_len) !=
	    (ssize_t)buffer.iov_len) {
		perror("write_fixed");
		return 1;
	}
	if (!uring_open(&uring, 1) || uring_register(&uring, &buffer, 1) ||
	    !uring_add(&uring, IORING_OP_WRITE_FIXED, card, buffer.iov_base,
		       buffer.iov_len, 0, 0) ||
	    !uring_wait(&uring, &cqe)) {
		perror("write_fixed: io_uring");
		return 1;
	}
	if (cqe.res != (int)buffer.iov_len)
		fprintf(stderr, "write_fixed: %s\n",
			cqe.res < 0 ? strerror(-cqe.res) : "a short write");
	return cqe.res != (int)buffer.iov_len;
}
