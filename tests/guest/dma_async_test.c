// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long reads and writes that go on while their callers do something else:
 *
 *	dma_async_test [DEVICE]
 */

#define TAP_CASE_SECONDS 600

#include <sys/resource.h>
#include <sys/wait.h>

#include "async.h"
#include "dma.h"

#define MIB (1ul << 20)

static const char *path;
static int card;
static struct rfm_info info;
static uint8_t *map;		/* the whole window */

/* No huge ones: io_uring counts one of these for all that it has, when it registers a part. */
static void *pages(size_t bytes)
{
	void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (some == MAP_FAILED)
		return NULL;
	madvise(some, bytes, MADV_NOHUGEPAGE);
	return some;
}

static void aio_there_and_back(void)
{
	static const size_t lengths[] = { 8, 4096, 65536, MIB + 9, 300001 };
	uint8_t *buf = pages(2 * MIB), *seen = pages(2 * MIB);
	aio_context_t context;
	struct io_event event;
	struct iocb iocb;
	unsigned int i;

	REQUIRE(buf && seen && aio_setup(8, &context) == 0);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		const size_t len = lengths[i], skew = i * 3;

		pattern_fill(buf + skew, len, i);
		aio_fill(&iocb, IOCB_CMD_PWRITE, card, buf + skew, len,
			 MIB + skew, 77);
		REQUIRE(aio_submit(context, &iocb) == 1);
		REQUIRE(aio_wait(context, &event) == 1);
		CHECK_EQ(event.res, len);
		CHECK_EQ(event.data, 77);
		CHECK_EQ(first_difference(map + MIB + skew, buf + skew, len),
			 len);
		aio_fill(&iocb, IOCB_CMD_PREAD, card, seen + skew, len,
			 MIB + skew, 78);
		REQUIRE(aio_submit(context, &iocb) == 1);
		REQUIRE(aio_wait(context, &event) == 1);
		CHECK_EQ(event.res, len);
		CHECK_EQ(first_difference(seen + skew, buf + skew, len), len);
	}
	CHECK_EQ(aio_destroy(context), 0);
	munmap(buf, 2 * MIB);
	munmap(seen, 2 * MIB);
}

/* All four forms of io_uring, at several offsets in a registered buffer. */
static void uring_there_and_back(void)
{
	static const struct {
		int write, read;
		bool vector, fixed;
	} forms[] = {
		{ IORING_OP_WRITE, IORING_OP_READ, false, false },
		{ IORING_OP_WRITEV, IORING_OP_READV, true, false },
		{ IORING_OP_WRITE_FIXED, IORING_OP_READ_FIXED, false, true },
	};
	static const size_t lengths[] = { 64, 4096, 70000, MIB, MIB + 777 };
	static const size_t skews[] = { 0, 8, 4088, 3, 12345 };
	uint8_t *buf = pages(4 * MIB), *seen = buf + 2 * MIB;
	struct iovec whole = { buf, 4 * MIB };
	unsigned int f, i;
	struct io_uring_cqe cqe;
	struct uring uring;

	REQUIRE(buf && uring_open(&uring, 8));
	REQUIRE(uring_register(&uring, &whole, 1) == 0);
	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		for (i = 0; i < ARRAY_SIZE(lengths) && !tap_failed; i++) {
			const size_t len = lengths[i], skew = skews[i];
			struct iovec out = { buf + skew, len };
			struct iovec in = { seen + skew, len };

			pattern_fill(buf + skew, len, f * 10 + i);
			memset(seen, 0xa5, 2 * MIB);
			REQUIRE(uring_add(&uring, forms[f].write, card,
					  forms[f].vector ? (void *)&out :
							    out.iov_base,
					  forms[f].vector ? 1 : len,
					  MIB + skew, 1));
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, len);
			CHECK_EQ(first_difference(map + MIB + skew, buf + skew,
						  len), len);
			REQUIRE(uring_add(&uring, forms[f].read, card,
					  forms[f].vector ? (void *)&in :
							    in.iov_base,
					  forms[f].vector ? 1 : len,
					  MIB + skew, 2));
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, len);
			CHECK_EQ(first_difference(seen + skew, buf + skew, len),
				 len);
			CHECK_EQ(first_other(seen, 0xa5, skew), skew);
			CHECK_EQ(seen[skew + len], 0xa5);
		}
	}
	uring_close(&uring);
	munmap(buf, 4 * MIB);
}

static void many_at_once(void)
{
	enum { COUNT = 32 };
	uint8_t *buf = pages(MIB);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int i;

	REQUIRE(buf && uring_open(&uring, COUNT));
	memset(buf, 1, MIB);
	for (i = 0; i < COUNT; i++)
		REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf, MIB,
				  i % 8 * MIB, i));
	REQUIRE(uring_enter(&uring, 0) == 0);
	for (i = 0; i < COUNT; i++) {
		REQUIRE(uring_wait(&uring, &cqe));
		CHECK_EQ(cqe.res, MIB);
	}
	uring_close(&uring);
	munmap(buf, MIB);
	CHECK(dma_is_idle());
}

/* Requests that are linked, long and short: each sees what the last has done. */
static void links_keep_the_order(void)
{
	enum { ROUNDS = 12, STEPS = 20 };
	static const size_t lengths[] = { 256 * 1024, 8, 65536, 4095, 4096, 24 };
	const size_t max = 256 * 1024;
	uint8_t *buf = pages(STEPS * max), *seen = pages(STEPS * max);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round, i;

	REQUIRE(buf && seen && uring_open(&uring, 2 * STEPS));
	for (round = 0; round < ROUNDS && !tap_failed; round++) {
		for (i = 0; i < STEPS; i++) {
			const size_t len = lengths[(i + round) %
						   ARRAY_SIZE(lengths)];

			pattern_fill(buf + i * max, len, round * STEPS + i);
			memset(seen + i * max, 0, len);
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card,
					  buf + i * max, len, 4 * MIB, 2 * i));
			uring_link(&uring);
			REQUIRE(uring_add(&uring, IORING_OP_READ, card,
					  seen + i * max, len, 4 * MIB,
					  2 * i + 1));
			if (i < STEPS - 1)
				uring_link(&uring);
		}
		REQUIRE(uring_enter(&uring, 0) == 0);
		/* io_uring may tell of them in another order. */
		for (i = 0; i < 2 * STEPS; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, lengths[(cqe.user_data / 2 + round) %
						  ARRAY_SIZE(lengths)]);
		}
		for (i = 0; i < STEPS; i++) {
			const size_t len = lengths[(i + round) %
						   ARRAY_SIZE(lengths)];

			CHECK_EQ(first_difference(buf + i * max,
						  seen + i * max, len), len);
		}
	}
	uring_close(&uring);
	munmap(buf, STEPS * max);
	munmap(seen, STEPS * max);
}

/* Who must not wait gets through or is told to come again; dma_full_test sees to the latter. */
static void a_crowded_card(void)
{
	enum { COUNT = 1024, BYTES = 256 * 1024 };
	static struct iocb iocbs[COUNT];
	const long long slice = dma_slice();
	uint8_t *buf = pages(BYTES);
	unsigned int i, good = 0;
	aio_context_t context;
	struct io_event event;

	REQUIRE(buf && aio_setup(COUNT, &context) == 0);
	memset(buf, 1, BYTES);
	for (i = 0; i < COUNT; i++) {
		aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card, buf, BYTES, 0, i);
		iocbs[i].aio_rw_flags = RWF_NOWAIT;
		/* It is an error of the call, or of the transfer. */
		if (aio_submit(context, &iocbs[i]) == 1)
			good++;
		else
			CHECK_EQ(errno, EAGAIN);
		/* Each time, it would leave the engine time to catch up. */
		if (i % 16 == 0)
			CHECK(dma_figure("pinned") < PINNED_MAX + slice + 8192);
	}
	for (i = 0; i < good; i++) {
		REQUIRE(aio_wait(context, &event) == 1);
		if (event.res != -EAGAIN)
			CHECK_EQ(event.res, BYTES);
	}

	/* Who may wait gets through. */
	for (i = 0; i < COUNT; i++) {
		aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card, buf, 65536, 0, i);
		REQUIRE(aio_submit(context, &iocbs[i]) == 1);
	}
	for (i = 0; i < COUNT; i++) {
		REQUIRE(aio_wait(context, &event) == 1);
		CHECK_EQ(event.res, 65536);
	}
	CHECK_EQ(aio_destroy(context), 0);
	munmap(buf, BYTES);
	CHECK(dma_is_idle());
}

/* Runs @run as a user who may lock so many bytes, and has no capabilities. */
static void as_user(void (*run)(void), rlim_t bytes)
{
	const struct rlimit limit = { bytes, bytes };
	pid_t pid = fork();
	int status;

	REQUIRE(pid >= 0);
	if (!pid) {
		tap_failed = false;
		if (CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0) &&
		    CHECK_EQ(setresuid(65534, 65534, 65534), 0))
			run();
		fflush(stdout);
		_exit(tap_failed);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(dma_is_idle());
}

/* The card bounds what is pinned, whatever its user may lock. */
static void more_than_a_card_pins(void)
{
	const size_t bytes = info.window_size < PINNED_MAX ? info.window_size : PINNED_MAX;
	uint8_t *buf = pages(bytes), *more = pages(4 * MIB);
	const long long slice = dma_slice();
	aio_context_t context;
	struct io_event event;
	struct iocb iocb;
	int i;

	REQUIRE(buf && more && aio_setup(2, &context) == 0);
	/* A CPU that is emulated would need seconds to store as much. */
	memset(buf, 0x6d, bytes);
	CHECK_EQ(pwrite(card, buf, bytes, 0), bytes);
	memset(buf, 0, bytes);
	aio_fill(&iocb, IOCB_CMD_PREAD, card, buf, bytes, 0, 0);
	CHECK_EQ(aio_submit(context, &iocb), 1);
	CHECK(dma_figure("pinned") < PINNED_MAX + slice + 8192);
	aio_fill(&iocb, IOCB_CMD_PREAD, card, more, 4 * MIB, 0, 1);
	CHECK_EQ(aio_submit(context, &iocb), 1);
	CHECK(dma_figure("pinned") < PINNED_MAX + slice + 8192);
	for (i = 0; i < 2 && CHECK_EQ(aio_wait(context, &event), 1); i++)
		CHECK_EQ(event.res, event.data ? 4 * MIB : bytes);
	CHECK_EQ(first_other(buf, 0x6d, bytes), bytes);
	CHECK_EQ(first_other(more, 0x6d, 4 * MIB), 4 * MIB);
}

static void who_may_lock_enough(void)
{
	as_user(more_than_a_card_pins, PINNED_MAX + 8 * MIB);
}

/* One request by io_uring; returns what has become of it. */
static int one_request(struct uring *uring, int op, void *buf, size_t bytes)
{
	struct io_uring_cqe cqe = { .res = -ENODATA };

	if (uring_add(uring, op, card, buf, bytes, MIB, 0))
		uring_wait(uring, &cqe);
	return cqe.res;
}

/* What goes on behind the call is refused, and changes nothing; calls that wait are served. */
static void only_calls_that_wait(void)
{
	const size_t bytes = 8 * PAGE;
	uint8_t *buf = pages(MIB), *seen = pages(MIB);
	aio_context_t context;
	struct io_event event;
	struct uring uring;
	struct iocb iocb;

	REQUIRE(buf && seen && uring_open(&uring, 2) && aio_setup(1, &context) == 0);
	memset(map + MIB, 0x11, MIB);
	memset(buf, 0x22, MIB);
	memset(seen, 0x33, MIB);
	CHECK_EQ(one_request(&uring, IORING_OP_WRITE, buf, bytes), -ENOBUFS);
	CHECK_EQ(one_request(&uring, IORING_OP_READ, seen, bytes), -ENOBUFS);
	aio_fill(&iocb, IOCB_CMD_PREAD, card, seen, bytes, MIB, 0);
	REQUIRE(aio_submit(context, &iocb) == 1 && aio_wait(context, &event) == 1);
	CHECK_EQ(event.res, -ENOBUFS);
	CHECK_EQ(dma_figure("pinned"), 0);
	CHECK_EQ(first_other(map + MIB, 0x11, MIB), MIB);
	CHECK_EQ(first_other(seen, 0x33, MIB), MIB);

	/* What the call itself does pins nothing behind it. */
	CHECK_EQ(one_request(&uring, IORING_OP_WRITE, buf + 1, bytes), bytes);
	CHECK_EQ(one_request(&uring, IORING_OP_READ, seen, 512), 512);
	CHECK_EQ(pwrite(card, buf, MIB, MIB), MIB);
	CHECK_EQ(pread(card, seen, MIB, MIB), MIB);
	CHECK_EQ(first_other(seen, 0x22, MIB), MIB);
}

static void who_may_lock_nothing(void)
{
	as_user(only_calls_that_wait, 0);
}

/* The limit is for what is under way, and what io_uring has registered counts once. */
static void as_much_as_may_be_locked(void)
{
	uint8_t *buf = pages(MIB), *fixed = pages(MIB);
	struct iovec whole = { fixed, MIB };
	struct uring uring;
	unsigned int i;

	REQUIRE(buf && fixed && uring_open(&uring, 2));
	memset(buf, 0x44, MIB);
	memset(fixed, 0x55, MIB);
	for (i = 0; i < 16; i++) {
		CHECK_EQ(one_request(&uring, IORING_OP_WRITE, buf, MIB), MIB);
		CHECK_EQ(one_request(&uring, IORING_OP_READ, buf, MIB), MIB);
	}
	REQUIRE(uring_register(&uring, &whole, 1) == 0);
	CHECK_EQ(one_request(&uring, IORING_OP_WRITE, buf, MIB), -ENOBUFS);
	CHECK_EQ(one_request(&uring, IORING_OP_WRITE_FIXED, fixed, MIB), MIB);
	CHECK_EQ(first_other(map + MIB, 0x55, MIB), MIB);
	CHECK_EQ(one_request(&uring, IORING_OP_READ_FIXED, fixed, MIB), MIB);
	CHECK_EQ(one_request(&uring, IORING_OP_WRITE, buf, 64 * PAGE), 64 * PAGE);
}

static void who_may_lock_some(void)
{
	as_user(as_much_as_may_be_locked, 3 * MIB / 2);
}

/* What is on its way to the card ends there. */
static void nothing_is_cancelled(void)
{
	enum { COUNT = 24 };
	static struct iocb iocbs[COUNT];
	uint8_t *buf = pages(MIB);
	aio_context_t context;
	struct io_event event;
	unsigned int i;

	REQUIRE(buf && aio_setup(COUNT, &context) == 0);
	memset(buf, 0xee, MIB);
	for (i = 0; i < COUNT; i++) {
		aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card, buf, MIB, 0, i);
		REQUIRE(aio_submit(context, &iocbs[i]) == 1);
	}
	CHECK_ERRNO(aio_cancel(context, &iocbs[COUNT - 1]), EINVAL);
	for (i = 0; i < COUNT; i++) {
		REQUIRE(aio_wait(context, &event) == 1);
		CHECK_EQ(event.res, MIB);
	}
	CHECK_EQ(first_other(map, 0xee, MIB), MIB);
	CHECK_EQ(aio_destroy(context), 0);
	munmap(buf, MIB);
	CHECK(dma_is_idle());
}

static void bad_buffers(void)
{
	const size_t good = 40 * PAGE, all = 80 * PAGE;
	uint8_t *buf = pages(all), *locked = pages(all);
	struct io_uring_cqe cqe;
	struct uring uring;

	const struct {
		int op;
		void *buf;
		size_t bytes;
		uint64_t at;
		long long done;
	} some[] = {
		{ IORING_OP_WRITE, buf + good, good, MIB, -EFAULT },
		{ IORING_OP_READ, locked, all, MIB, -EFAULT },
		{ IORING_OP_WRITE, buf, all, MIB, good },
		{ IORING_OP_WRITE, locked, all, MIB, all },
		{ IORING_OP_READ, buf, all, MIB, good },
		{ IORING_OP_WRITE, buf, all, info.window_size, -ENOSPC },
		{ IORING_OP_READ, buf, all, info.window_size, 0 },
		{ IORING_OP_WRITE, locked, all, info.window_size - PAGE, PAGE },
	};
	unsigned int i;

	REQUIRE(buf && locked && uring_open(&uring, 8));
	memset(buf, 0x77, all);
	memset(locked, 0x42, all);
	REQUIRE(mprotect(buf + good, all - good, PROT_NONE) == 0);
	REQUIRE(mprotect(locked, all, PROT_READ) == 0);

	/* In one go, so that those behind a bad one are seen to be served. */
	for (i = 0; i < ARRAY_SIZE(some); i++) {
		uring_add(&uring, some[i].op, card, some[i].buf, some[i].bytes,
			  some[i].at, i);
		if (i < ARRAY_SIZE(some) - 1)
			uring_link(&uring);
	}
	REQUIRE(uring_enter(&uring, 8) == 0);
	while (uring_next(&uring, &cqe)) {
		if (!CHECK_EQ(cqe.res, some[cqe.user_data].done))
			tap_note("request %llu", cqe.user_data);
	}
	CHECK_EQ(first_other(buf, 0x42, good), good);
	CHECK_EQ(first_other(locked, 0x42, all), all);
	CHECK_EQ(first_other(map + MIB, 0x42, all), all);
	uring_close(&uring);
	munmap(buf, all);
	munmap(locked, all);
	CHECK(dma_is_idle());
}

/* The window stays where it is while something is on its way. */
static void the_window_waits(void)
{
	struct rfm_config args = { .mask = RFM_CONFIG_WINDOW };
	uint8_t *buf = pages(MIB), *seen = pages(MIB);
	unsigned int i, busy = 0, tries, moved = 0;
	struct io_uring_cqe cqe;
	struct uring uring;

	if (info.window_size == info.memory_size) {
		tap_skip("the window is the whole memory");
		return;
	}
	/* Nor does it move under a mapping. */
	munmap(map, info.window_size);
	REQUIRE(buf && seen && uring_open(&uring, 16));
	for (tries = 0; tries < 20 && !(busy && moved); tries++) {
		args.window_offset = tries & 1 ? info.window_size : 0;
		pattern_fill(buf, MIB, tries);
		for (i = 0; i < 12; i++)
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf,
					  MIB, MIB, i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		args.window_offset ^= info.window_size;
		if (ioctl(card, RFM_IOC_SET_CONFIG, &args))
			busy += CHECK_EQ(errno, EBUSY);
		for (i = 0; i < 12; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
		CHECK(dma_is_idle());
		/* By the engine there, and by programmed I/O back. */
		CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &args), 0);
		pattern_fill(buf, MIB, tries + 100);
		CHECK_EQ(pwrite(card, buf, MIB, MIB), MIB);
		dma_threshold(0);
		CHECK_EQ(pread(card, seen, MIB, MIB), MIB);
		dma_threshold(4096);
		CHECK_EQ(first_difference(buf, seen, MIB), MIB);
		moved += args.window_offset > 0;
	}
	CHECK(busy && moved);
	args.window_offset = 0;
	CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &args), 0);
	map = card_map(card, info.window_size);
	REQUIRE(map);
	uring_close(&uring);
	munmap(buf, MIB);
	munmap(seen, MIB);
}

/* Nor is the order of bytes another in the middle; all or nothing of a change. */
static void the_order_of_bytes_waits(void)
{
	const __u32 both = RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_LED;
	struct rfm_config swap = { .mask = both, .on = both };
	struct rfm_config as_it_was = { .mask = both }, seen;
	uint8_t *buf = pages(MIB);
	unsigned int i, busy = 0, tries;
	struct io_uring_cqe cqe;
	struct uring uring;

	REQUIRE(buf && uring_open(&uring, 16));
	for (tries = 0; tries < 20 && !busy; tries++) {
		pattern_fill(buf, MIB, tries);
		for (i = 0; i < 12; i++)
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf,
					  MIB, i % 4 * MIB, i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		if (ioctl(card, RFM_IOC_SET_CONFIG, &swap))
			busy += CHECK_EQ(errno, EBUSY);
		memset(&seen, 0, sizeof(seen));
		CHECK_EQ(ioctl(card, RFM_IOC_GET_CONFIG, &seen), 0);
		CHECK_EQ(seen.on & both, busy ? 0 : both);
		/* To what it is, it can be set at any time. */
		CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &as_it_was), 0);
		for (i = 0; i < 12; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
		for (i = 0; i < 4 && busy; i++)
			CHECK_EQ(first_difference(map + i * MIB, buf, MIB),
				 MIB);
		CHECK(dma_is_idle());
		CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &swap), 0);
		CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &as_it_was), 0);
	}
	CHECK(busy);
	uring_close(&uring);
	munmap(buf, MIB);
}

/* io_uring interrupts its user to tell of an end: no transfer is cut short. */
static void other_ends_cut_nothing_short(void)
{
	enum { COUNT = 8 };
	uint8_t *buf = pages(2 * MIB);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round, i;
	int fd = open(path, O_RDWR);

	REQUIRE(buf && fd >= 0 && uring_open(&uring, COUNT));
	for (round = 0; round < 40 && !tap_failed; round++) {
		for (i = 0; i < COUNT; i++)
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf,
					  65536, 0, i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		CHECK_EQ(pwrite(fd, buf, 2 * MIB, 0), 2 * MIB);
		CHECK_EQ(pread(fd, buf, 4000, 0), 4000);
		CHECK_EQ(pwrite(fd, buf, 4000, 0), 4000);
		dma_threshold(0);
		CHECK_EQ(pread(fd, buf, 2 * MIB, 0), 2 * MIB);
		CHECK_EQ(pwrite(fd, buf, 100000, 0), 100000);
		dma_threshold(4096);
		for (i = 0; i < COUNT; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, 65536);
		}
	}
	uring_close(&uring);
	munmap(buf, 2 * MIB);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(aio_there_and_back),
		TAP_CASE(uring_there_and_back),
		TAP_CASE(many_at_once),
		TAP_CASE(links_keep_the_order),
		TAP_CASE(a_crowded_card),
		TAP_CASE(who_may_lock_enough),
		TAP_CASE(who_may_lock_nothing),
		TAP_CASE(who_may_lock_some),
		TAP_CASE(other_ends_cut_nothing_short),
		TAP_CASE(nothing_is_cancelled),
		TAP_CASE(bad_buffers),
		TAP_CASE(the_window_waits),
		TAP_CASE(the_order_of_bytes_waits),
	};

	path = card_path(argc, argv, 0);
	if (!path)
		tap_skip_all("no card");
	card = dma_begin(path, &info, 4096);
	map = card_map(card, info.window_size);
	if (!map) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	return dma_end(TAP_RUN(cases));
}
