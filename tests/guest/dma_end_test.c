// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers and processes that go while a transfer runs, again and again:
 *
 *	dma_end_test [-n ROUNDS] [-s SEED] [DEVICE]
 *
 * At the end nothing is left of them, and the kernel has not complained.
 */

#define TAP_CASE_SECONDS 1800

#include <pthread.h>
#include <sys/wait.h>

#include "async.h"
#include "dma.h"
#include "kernel_log.h"

#define MIB (1ul << 20)
#define BUFFER (8 * MIB)

/*
 * No two transfers at a time to the same memory: a kernel that checks the use
 * of DMA takes that for an error of the driver.
 */
enum { PARTS = 32, PART = BUFFER / PARTS };
#define END_SECONDS 60		/* from a kill to the end of the process */

static const char *path;
static int card;
static struct rfm_info info;
static unsigned int rounds = 20;
static uint64_t seed = 1;

static void *pages(size_t bytes)
{
	void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return some == MAP_FAILED ? NULL : some;
}

/* Up to 40 ms: the length of some transfers. */
static void random_moment(void)
{
	struct timespec time = { 0, random_next(&seed) % 40000000 };

	nanosleep(&time, NULL);
}

/* --- processes that are killed; each goes on until then ------------------ */

static void read_for_ever(uint8_t *buf)
{
	while (pread(card, buf, BUFFER, 0) == BUFFER)
		;
}

static void write_for_ever(uint8_t *buf)
{
	while (pwrite(card, buf, BUFFER, 0) == BUFFER)
		;
}

static void uring_for_ever(uint8_t *buf, int read, int write)
{
	struct iovec whole = { buf, BUFFER };
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int i;

	if (!uring_open(&uring, PARTS) || uring_register(&uring, &whole, 1))
		return;
	for (i = 0; i < PARTS; i++)
		uring_add(&uring, i & 1 ? read : write, card, buf + i * PART,
			  PART, i % 16 * MIB, i);
	while (!uring_enter(&uring, 1))
		while (uring_next(&uring, &cqe))
			if (cqe.res != PART ||
			    !uring_add(&uring, cqe.user_data & 1 ? read : write,
				       card, buf + cqe.user_data * PART, PART,
				       0, cqe.user_data))
				return;
}

static void ring_for_ever(uint8_t *buf)
{
	uring_for_ever(buf, IORING_OP_READ, IORING_OP_WRITE);
}

static void fixed_for_ever(uint8_t *buf)
{
	uring_for_ever(buf, IORING_OP_READ_FIXED, IORING_OP_WRITE_FIXED);
}

static void aio_for_ever(uint8_t *buf)
{
	struct iocb iocbs[PARTS];
	struct io_event event;
	aio_context_t context;
	unsigned int i;

	if (aio_setup(PARTS, &context))
		return;
	for (i = 0; i < PARTS; i++) {
		aio_fill(&iocbs[i], i & 1 ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE,
			 card, buf + i * PART, PART, 0, i);
		if (aio_submit(context, &iocbs[i]) != 1)
			return;
	}
	while (aio_wait(context, &event) == 1 && event.res == PART)
		if (aio_submit(context, &iocbs[event.data]) != 1)
			return;
}

static const struct {
	const char *name;
	void (*run)(uint8_t *buf);
} kinds[] = {
	{ "reader", read_for_ever },
	{ "writer", write_for_ever },
	{ "io_uring", ring_for_ever },
	{ "io_uring, registered", fixed_for_ever },
	{ "aio", aio_for_ever },
};

#define KINDS ARRAY_SIZE(kinds)

static pid_t start(unsigned int kind)
{
	pid_t pid = fork();
	uint8_t *buf;

	if (pid)
		return pid;
	signal(SIGALRM, SIG_DFL);
	card = open(path, O_RDWR);
	buf = pages(BUFFER);
	if (card >= 0 && buf)
		kinds[kind].run(buf);
	tap_note("%s ended by itself: %s", kinds[kind].name, strerror(errno));
	_exit(1);
}

static void killed_while_it_runs(void)
{
	pid_t pids[KINDS];
	unsigned int round, i;
	int status;

	for (round = 0; round < rounds && !tap_failed; round++) {
		long long bytes = dma_figure("bytes");

		for (i = 0; i < KINDS; i++)
			pids[i] = start(i);
		while (dma_figure("bytes") - bytes < (long long)MIB)
			sleep_ms(1);
		random_moment();
		for (i = 0; i < KINDS; i++)
			kill(pids[i], SIGKILL);
		alarm(END_SECONDS);
		for (i = 0; i < KINDS; i++) {
			waitpid(pids[i], &status, 0);
			if (!CHECK_EQ(status, SIGKILL))
				tap_note("%s", kinds[i].name);
		}
		CHECK(dma_is_idle());
		alarm(TAP_CASE_SECONDS);
	}
}

/* --- buffers that go ------------------------------------------------------ */

struct mover {
	uint8_t *buf;
	bool store;
	ssize_t done;
	int error;
};

static void *move_one(void *data)
{
	struct mover *mover = data;

	mover->done = mover->store ? pwrite(card, mover->buf, BUFFER / 2, 0) :
				     pread(card, mover->buf, BUFFER / 2, 0);
	mover->error = errno;
	return NULL;
}

/*
 * Transfers by a thread and by io_uring, both directions, and meanwhile @spoil
 * does something to the buffers. They end, well or with EFAULT.
 */
static void spoiled(int flags, void (*spoil)(uint8_t *buf, int file))
{
	int file = flags & MAP_ANONYMOUS ? -1 : memfd_create("buffer", 0);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round, i;

	REQUIRE(uring_open(&uring, 8));
	for (round = 0; round < rounds && !tap_failed; round++) {
		struct mover mover = { .store = round & 1 };
		pthread_t thread;

		REQUIRE(file < 0 || ftruncate(file, BUFFER) == 0);
		mover.buf = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, flags,
				 file, 0);
		REQUIRE(mover.buf != MAP_FAILED);
		for (i = 0; i < 4; i++)
			REQUIRE(uring_add(&uring, i & 1 ? IORING_OP_READ :
					  IORING_OP_WRITE, card,
					  mover.buf + (4 + i) * MIB, MIB, 0,
					  i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		REQUIRE(!pthread_create(&thread, NULL, move_one, &mover));
		random_moment();
		spoil(mover.buf, file);
		REQUIRE(!pthread_join(thread, NULL));
		CHECK(mover.done > 0 ||
		      (mover.done == -1 && mover.error == EFAULT));
		for (i = 0; i < 4; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK(cqe.res > 0 || cqe.res == -EFAULT);
		}
		munmap(mover.buf, BUFFER);
		CHECK(dma_is_idle());
	}
	uring_close(&uring);
	if (file >= 0)
		close(file);
}

static void unmap(uint8_t *buf, int file)
{
	(void)file;
	munmap(buf, BUFFER);
}

/* The last page first, then all: transfers meet the hole, too. */
static void shorten(uint8_t *buf, int file)
{
	(void)buf;
	CHECK_EQ(ftruncate(file, BUFFER - PAGE), 0);
	CHECK_EQ(ftruncate(file, 0), 0);
}

static void discard(uint8_t *buf, int file)
{
	(void)file;
	CHECK_EQ(madvise(buf, BUFFER, MADV_DONTNEED), 0);
}

static void unmapped_while_it_runs(void)
{
	spoiled(MAP_PRIVATE | MAP_ANONYMOUS, unmap);
}

static void truncated_while_it_runs(void)
{
	spoiled(MAP_SHARED, shorten);
}

static void discarded_while_it_runs(void)
{
	spoiled(MAP_PRIVATE | MAP_ANONYMOUS, discard);
}

/*
 * A process forks while the card writes to its memory, and both write to the
 * same pages: what the card brings arrives in the parent, nowhere else.
 */
static void forked_while_it_runs(void)
{
	uint8_t *buf = pages(BUFFER), *brought = pages(BUFFER);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round;
	int status;

	REQUIRE(buf && brought && uring_open(&uring, 4));
	for (round = 0; round < rounds && !tap_failed; round++) {
		size_t page, wrong = 0;
		pid_t pid;

		pattern_fill(brought, BUFFER, round);
		CHECK_EQ(pwrite(card, brought, BUFFER, 0), BUFFER);
		memset(buf, 0xa5, BUFFER);
		REQUIRE(uring_add(&uring, IORING_OP_READ, card, buf, BUFFER, 0,
				  0));
		REQUIRE(uring_enter(&uring, 0) == 0);
		if (random_next(&seed) & 1)
			random_moment();
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			memset(buf, 0xcc, BUFFER);
			_exit(first_other(buf, 0xcc, BUFFER) != BUFFER);
		}
		REQUIRE(uring_wait(&uring, &cqe));
		CHECK_EQ(cqe.res, BUFFER);
		waitpid(pid, &status, 0);
		CHECK_EQ(status, 0);
		for (page = 0; page < BUFFER; page += PAGE)
			wrong += memcmp(buf + page, brought + page, PAGE) != 0;
		CHECK_EQ(wrong, 0);
	}
	uring_close(&uring);
	munmap(buf, BUFFER);
	munmap(brought, BUFFER);
	CHECK(dma_is_idle());
}

/* The last to have the file open closes it while its requests are on the way. */
static void closed_while_it_runs(void)
{
	uint8_t *buf = pages(BUFFER);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round, i;

	REQUIRE(buf && uring_open(&uring, 8));
	for (round = 0; round < rounds && !tap_failed; round++) {
		int fd = open(path, O_RDWR);

		REQUIRE(fd >= 0);
		for (i = 0; i < 8; i++)
			REQUIRE(uring_add(&uring, i & 1 ? IORING_OP_READ :
					  IORING_OP_WRITE, fd, buf + i * MIB,
					  MIB, 0, i));
		REQUIRE(uring_enter(&uring, 0) == 0);
		close(fd);
		for (i = 0; i < 8; i++) {
			REQUIRE(uring_wait(&uring, &cqe));
			CHECK_EQ(cqe.res, MIB);
		}
	}
	uring_close(&uring);
	munmap(buf, BUFFER);
	CHECK(dma_is_idle());
}

static int kernel_log;
static long long errors;	/* before all this */

static struct pins pins_before;

static void no_page_stays_pinned(void)
{
	struct pins pins;
	unsigned int tries;

	for (tries = 0; tries < 100; tries++, sleep_ms(100)) {
		REQUIRE(pins_read(&pins));
		if (pins.acquired - pins_before.acquired ==
		    pins.released - pins_before.released)
			break;
	}
	CHECK_EQ(pins.acquired - pins_before.acquired,
		 pins.released - pins_before.released);
	CHECK(pins.acquired > pins_before.acquired);
}

static void the_kernel_is_content(void)
{
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
	CHECK_EQ(dma_figure("errors"), errors);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(killed_while_it_runs),
		TAP_CASE(unmapped_while_it_runs),
		TAP_CASE(truncated_while_it_runs),
		TAP_CASE(discarded_while_it_runs),
		TAP_CASE(forked_while_it_runs),
		TAP_CASE(closed_while_it_runs),
		TAP_CASE(no_page_stays_pinned),
		TAP_CASE(the_kernel_is_content),
	};
	int option;

	while ((option = getopt(argc, argv, "n:s:")) != -1) {
		if (option == 'n') {
			rounds = strtoul(optarg, NULL, 0);
		} else if (option == 's') {
			seed = strtoull(optarg, NULL, 0);
		} else {
			fprintf(stderr, "usage: %s [-n ROUNDS] [-s SEED] [DEVICE]\n",
				argv[0]);
			return TAP_FAIL;
		}
	}
	if (!seed) {
		tap_note("a seed of 0 gives no random numbers");
		return TAP_FAIL;
	}
	path = card_path(argc - optind + 1, argv + optind - 1, 0);
	if (!path)
		tap_skip_all("no card");
	card = dma_begin(path, &info, 4096);
	kernel_log = kernel_log_open();
	errors = dma_figure("errors");
	if (!pins_read(&pins_before)) {
		tap_note("/proc/vmstat: %s", strerror(errno));
		return TAP_FAIL;
	}
	tap_note("seed %llu", (unsigned long long)seed);
	return dma_end(TAP_RUN(cases));
}
