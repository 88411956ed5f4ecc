// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long reads and writes that go on while their callers do something else:
 *
 *	dma_async_test [DEVICE]
 */

#define TAP_CASE_SECONDS 240

#include "async.h"
#include "dma.h"

#define MIB (1ul << 20)
#define QUEUE_MAX 1024		/* requests of a file */

static const char *path;
static int card;
static struct rfm_info info;
static uint8_t *map;		/* the whole window */

static void *pages(size_t bytes)
{
	void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return some == MAP_FAILED ? NULL : some;
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

/* The call returns while most of the work has still to be done. */
static void submitting_does_not_wait(void)
{
	enum { COUNT = 32 };
	uint8_t *buf = pages(MIB);
	unsigned int tries, i, in_flight = 0;
	struct io_uring_cqe cqe;
	struct uring uring;

	REQUIRE(buf && uring_open(&uring, COUNT));
	for (tries = 0; tries < 20 && !in_flight; tries++) {
		for (i = 0; i < COUNT; i++)
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf,
					  MIB, i % 8 * MIB, i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		in_flight = dma_figure("requests");
		for (i = 0; i < COUNT; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
	}
	CHECK(in_flight > 1);
	tap_note("%u of %u in flight", in_flight, COUNT);
	uring_close(&uring);
	munmap(buf, MIB);
	CHECK(dma_is_idle());
}

/* Requests of a file, long and short, one after another: each sees the last. */
static void a_file_keeps_the_order(void)
{
	enum { ROUNDS = 12, STEPS = 20 };
	static const size_t lengths[] = { 256 * 1024, 8, 65536, 4095, 4096, 24 };
	const size_t most = 256 * 1024;
	uint8_t *buf = pages(STEPS * most), *seen = pages(STEPS * most);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round, i;

	REQUIRE(buf && seen && uring_open(&uring, 2 * STEPS));
	for (round = 0; round < ROUNDS && !tap_failed; round++) {
		for (i = 0; i < STEPS; i++) {
			const size_t len = lengths[(i + round) %
						   ARRAY_SIZE(lengths)];

			pattern_fill(buf + i * most, len, round * STEPS + i);
			memset(seen + i * most, 0, len);
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card,
					  buf + i * most, len, 4 * MIB, 2 * i));
			REQUIRE(uring_add(&uring, IORING_OP_READ, card,
					  seen + i * most, len, 4 * MIB,
					  2 * i + 1));
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

			CHECK_EQ(first_difference(buf + i * most,
						  seen + i * most, len), len);
		}
	}
	uring_close(&uring);
	munmap(buf, STEPS * most);
	munmap(seen, STEPS * most);
}

/* A caller who waits comes behind those of the same file who do not. */
static void who_waits_keeps_the_order_too(void)
{
	enum { COUNT = 8 };
	uint8_t *buf = pages(COUNT * MIB);
	struct io_uring_cqe cqe;
	struct uring uring;
	uint64_t word, seen;
	unsigned int round, i;

	REQUIRE(buf && uring_open(&uring, COUNT));
	for (round = 0; round < 10 && !tap_failed; round++) {
		memset(buf, round + 1, COUNT * MIB);
		for (i = 0; i < COUNT; i++)
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card,
					  buf + i * MIB, MIB, 0, i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		word = round * 0x1111111111111111ull;
		CHECK_EQ(pwrite(card, &word, 8, MIB - 8), 8);
		CHECK_EQ(pread(card, &seen, 8, MIB - 8), 8);
		CHECK_EQ(seen, word);
		for (i = 0; i < COUNT; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
		CHECK_EQ(pread(card, &seen, 8, MIB - 8), 8);
		CHECK_EQ(seen, word);
	}
	uring_close(&uring);
	munmap(buf, COUNT * MIB);
}

/* Who must not wait is told to come again when the queue is full. */
static void a_full_queue_says_so(void)
{
	enum { COUNT = QUEUE_MAX + 400 };
	static struct iocb iocbs[COUNT];
	uint8_t *buf = pages(4 * MIB);
	unsigned int i, again = 0, good = 0;
	aio_context_t context;
	struct io_event event;
	size_t bytes;

	REQUIRE(buf && aio_setup(COUNT, &context) == 0);
	/* Long enough that they come faster than they go, however slow the kernel. */
	for (bytes = 256 * 1024; bytes <= 4 * MIB && !again; bytes *= 2) {
		for (i = 0, good = 0; i < COUNT; i++) {
			aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card, buf, bytes,
				 0, i);
			iocbs[i].aio_rw_flags = RWF_NOWAIT;
			/* It is an error of the call, or of the transfer. */
			if (aio_submit(context, &iocbs[i]) == 1)
				good++;
			else if (CHECK_EQ(errno, EAGAIN))
				again++;
		}
		for (i = 0; i < good; i++) {
			REQUIRE(aio_wait(context, &event) == 1);
			if (event.res == -EAGAIN)
				again++;
			else
				CHECK_EQ(event.res, bytes);
		}
	}
	CHECK(again > 0);
	CHECK(good >= QUEUE_MAX);
	tap_note("%u of %u were told so", again, COUNT);

	/* One who waits gets through; they end in the order of their beginning. */
	for (i = 0; i < COUNT; i++) {
		aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card, buf, 65536, 0, i);
		REQUIRE(aio_submit(context, &iocbs[i]) == 1);
	}
	for (i = 0; i < COUNT; i++) {
		REQUIRE(aio_wait(context, &event) == 1);
		CHECK_EQ(event.res, 65536);
		CHECK_EQ(event.data, i);
	}
	CHECK_EQ(aio_destroy(context), 0);
	munmap(buf, 4 * MIB);
	CHECK(dma_is_idle());
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* A signal ends the wait of a caller whose turn has not come: nothing is done. */
static void a_signal_ends_the_wait(void)
{
	enum { COUNT = 64 };
	struct sigaction action = { .sa_handler = on_alarm };
	uint8_t *buf = pages(MIB), byte = 0xa5;
	unsigned int tries, i, early = 0;
	struct io_uring_cqe cqe;
	struct uring uring;

	REQUIRE(buf && uring_open(&uring, COUNT));
	sigaction(SIGUSR1, &action, NULL);
	for (tries = 0; tries < 20 && !early; tries++) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
					  .sigev_signo = SIGUSR1 };
		struct itimerspec time = { .it_value = { 0, 2000000 } };
		timer_t timer;

		for (i = 0; i < COUNT; i++)
			REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf,
					  MIB, 0, i));
		REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
		REQUIRE(uring_enter(&uring, 0) == 0);
		REQUIRE(timer_settime(timer, 0, &time, NULL) == 0);
		if (pread(card, &byte, 1, 0) == -1 && CHECK_EQ(errno, EINTR))
			early += dma_figure("requests") > COUNT / 2;
		timer_delete(timer);
		for (i = 0; i < COUNT; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
	}
	CHECK(early);
	signal(SIGUSR1, SIG_DFL);
	uring_close(&uring);
	munmap(buf, MIB);
	CHECK(dma_is_idle());
}

/* What is cancelled while it waits has done nothing, and says so. */
static void cancelling(void)
{
	enum { COUNT = 64 };
	static struct iocb iocbs[COUNT];
	uint8_t *buf = pages(MIB), *last = pages(MIB);
	unsigned int i, tries, cancelled = 0;
	aio_context_t context;
	struct io_event event;

	REQUIRE(buf && last && aio_setup(COUNT, &context) == 0);
	memset(last, 0xee, MIB);
	for (tries = 0; tries < 20 && !cancelled; tries++) {
		int64_t result = 0;

		memset(buf, 0x10 + tries, MIB);
		for (i = 0; i < COUNT; i++) {
			aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card,
				 i == COUNT - 1 ? last : buf, MIB, 0, i);
			REQUIRE(aio_submit(context, &iocbs[i]) == 1);
		}
		if (aio_cancel(context, &iocbs[COUNT - 1]))
			cancelled = errno == EINPROGRESS;
		for (i = 0; i < COUNT; i++) {
			REQUIRE(aio_wait(context, &event) == 1);
			if (event.data == COUNT - 1)
				result = event.res;
			else
				CHECK_EQ(event.res, MIB);
		}
		if (!cancelled)
			continue;
		CHECK_EQ(result, -ECANCELED);
		CHECK_EQ(first_other(map, 0x10 + tries, MIB), MIB);
	}
	CHECK(cancelled);
	/* What has ended cannot be cancelled. */
	CHECK_ERRNO(aio_cancel(context, &iocbs[0]), EINVAL);
	CHECK_EQ(aio_destroy(context), 0);
	munmap(buf, MIB);
	munmap(last, MIB);
	CHECK(dma_is_idle());
}

static void bad_buffers(void)
{
	const size_t good = 40 * PAGE, all = 80 * PAGE;
	uint8_t *buf = pages(all), *locked = pages(all);
	struct io_uring_cqe cqe;
	struct uring uring;

	REQUIRE(buf && locked && uring_open(&uring, 8));
	memset(buf, 0x77, all);
	memset(locked, 0x42, all);
	REQUIRE(mprotect(buf + good, all - good, PROT_NONE) == 0);
	REQUIRE(mprotect(locked, all, PROT_READ) == 0);

	/* In one go, so that those behind a bad one are seen to be served. */
	uring_add(&uring, IORING_OP_WRITE, card, buf + good, good, MIB, 0);
	uring_add(&uring, IORING_OP_READ, card, locked, all, MIB, 1);
	uring_add(&uring, IORING_OP_WRITE, card, buf, all, MIB, 2);
	uring_add(&uring, IORING_OP_WRITE, card, locked, all, MIB, 3);
	uring_add(&uring, IORING_OP_READ, card, buf, all, MIB, 4);
	uring_add(&uring, IORING_OP_WRITE, card, buf, all, info.window_size, 5);
	uring_add(&uring, IORING_OP_READ, card, buf, all, info.window_size, 6);
	uring_add(&uring, IORING_OP_WRITE, card, locked, all,
		  info.window_size - PAGE, 7);
	REQUIRE(uring_enter(&uring, 8) == 0);
	while (uring_next(&uring, &cqe)) {
		const int expected[] = { -EFAULT, -EFAULT, good, all, good,
					 -ENOSPC, 0, PAGE };

		if (!CHECK_EQ(cqe.res, expected[cqe.user_data]))
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
	struct rfm_switches args = { .mask = RFM_SWITCH_WINDOW };
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
		if (ioctl(card, RFM_IOC_SET_SWITCHES, &args))
			busy += CHECK_EQ(errno, EBUSY);
		for (i = 0; i < 12; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
		CHECK(dma_is_idle());
		/* By the engine there, and by programmed I/O back. */
		CHECK_EQ(ioctl(card, RFM_IOC_SET_SWITCHES, &args), 0);
		pattern_fill(buf, MIB, tries + 100);
		CHECK_EQ(pwrite(card, buf, MIB, MIB), MIB);
		dma_least(0);
		CHECK_EQ(pread(card, seen, MIB, MIB), MIB);
		dma_least(4096);
		CHECK_EQ(first_difference(buf, seen, MIB), MIB);
		moved += args.window_offset > 0;
	}
	CHECK(busy && moved);
	args.window_offset = 0;
	CHECK_EQ(ioctl(card, RFM_IOC_SET_SWITCHES, &args), 0);
	map = card_map(card, info.window_size);
	REQUIRE(map);
	uring_close(&uring);
	munmap(buf, MIB);
	munmap(seen, MIB);
}

/* Nor is the order of bytes another in the middle; all or nothing of a change. */
static void the_order_of_bytes_waits(void)
{
	const __u32 both = RFM_SWITCH_BYTE_SWAP | RFM_SWITCH_LED;
	struct rfm_switches swap = { .mask = both, .on = both };
	struct rfm_switches as_it_was = { .mask = both }, seen;
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
		if (ioctl(card, RFM_IOC_SET_SWITCHES, &swap))
			busy += CHECK_EQ(errno, EBUSY);
		memset(&seen, 0, sizeof(seen));
		CHECK_EQ(ioctl(card, RFM_IOC_GET_SWITCHES, &seen), 0);
		CHECK_EQ(seen.on & both, busy ? 0 : both);
		/* To what it is, it can be set at any time. */
		CHECK_EQ(ioctl(card, RFM_IOC_SET_SWITCHES, &as_it_was), 0);
		for (i = 0; i < 12; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
		for (i = 0; i < 4 && busy; i++)
			CHECK_EQ(first_difference(map + i * MIB, buf, MIB),
				 MIB);
		CHECK(dma_is_idle());
		CHECK_EQ(ioctl(card, RFM_IOC_SET_SWITCHES, &swap), 0);
		CHECK_EQ(ioctl(card, RFM_IOC_SET_SWITCHES, &as_it_was), 0);
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
		dma_least(0);
		CHECK_EQ(pread(fd, buf, 2 * MIB, 0), 2 * MIB);
		CHECK_EQ(pwrite(fd, buf, 100000, 0), 100000);
		dma_least(4096);
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
		TAP_CASE(submitting_does_not_wait),
		TAP_CASE(a_file_keeps_the_order),
		TAP_CASE(who_waits_keeps_the_order_too),
		TAP_CASE(a_full_queue_says_so),
		TAP_CASE(other_ends_cut_nothing_short),
		TAP_CASE(a_signal_ends_the_wait),
		TAP_CASE(cancelling),
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
