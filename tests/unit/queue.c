// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"
#include "tests/unit/queue.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

void duplicate(const int *from, int *to)
{
	for (int i = 0; i < RFM_SHM_FDS; i++)
		to[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 0);
}

void make_pair(struct rfm_shm *tx, struct rfm_shm *rx, uint32_t slots)
{
	int fds[RFM_SHM_FDS];

	assert_int_equal(rfm_shm_create(tx, slots), 0);
	duplicate(tx->offer, fds);
	assert_null(rfm_shm_attach(rx, fds));
	assert_true(rfm_shm_is_open(tx));
	assert_true(rfm_shm_is_open(rx));
}

void close_pair(struct rfm_shm *tx, struct rfm_shm *rx)
{
	rfm_shm_close(tx);
	rfm_shm_close(rx);
	assert_false(rfm_shm_is_open(tx));
	assert_int_equal(rx->fds[MEMORY], -1);
	rfm_shm_close(rx);
}

unsigned int wake_ups(int fd)
{
	unsigned int count = 0;
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) == 1)
		count++;
	return count;
}

bool readable(int fd, int patience_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, patience_ms) == 1 && p.revents & POLLIN;
}

/* Frame number @n: length and data follow from the number. */
static unsigned int make_frame(uint8_t *wire, uint64_t n)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA,
		.source = 7,
		.length = 1 + n % RFM_FRAME_DATA_MAX,
		.address = 4 * (n % 1000),
		.seq = n,
	};

	memset(frame.data, (int)(n * 31), frame.length);
	return rfm_frame_encode(&frame, wire);
}

static bool commit(struct rfm_shm *tx, uint64_t n, bool urgent)
{
	uint8_t *slot = rfm_shm_reserve(tx, 1);

	if (!slot)
		return false;
	make_frame(slot, n);
	rfm_shm_commit(tx, 1, urgent);
	return true;
}

bool put(struct rfm_shm *tx, uint64_t n)
{
	return commit(tx, n, true);
}

void show_later(struct rfm_shm *tx, uint64_t n)
{
	assert_true(commit(tx, n, false));
	rfm_shm_publish(tx);
}

static void assert_frame(const uint8_t *slot, uint64_t n)
{
	uint8_t want[RFM_FRAME_MAX];

	assert_memory_equal(slot, want, make_frame(want, n));
}

void assert_takes(struct rfm_shm *rx, uint64_t n)
{
	uint8_t slot[RFM_UNIT_MAX];

	assert_int_equal(rfm_shm_take(rx, slot, NULL, NULL), 1);
	assert_frame(slot, n);
}
