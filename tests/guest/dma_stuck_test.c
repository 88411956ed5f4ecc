// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers that whoever touches them waits for, for ever: their pages are to be
 * supplied by userfaultfd(2), and nobody does.
 *
 *	dma_stuck_test [DEVICE]
 *	dma_stuck_test -w DEVICE
 *
 * Only who makes the request waits: the caller, or a worker of io_uring. Their
 * processes can be killed, and then nothing is left. With -w it gets stuck, says
 * so, and stays so until it is killed.
 */

#define TAP_CASE_SECONDS 600

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "async.h"
#include "dma.h"
#include "faults.h"
#include "kernel_log.h"

#define MIB (1ul << 20)
enum { FEW = 12, MANY = 48 };	/* what many begin is more than a card pins */

/* Each request's: several slices, with a page missing in the second. */
#define BUFFER (768ul * 1024)
#define HOLE (400ul * 1024 / PAGE * PAGE)
#define END_SECONDS 60		/* from a kill to the end of the process, and of a transfer */

static const char *path;
static int card;
static struct rfm_info info;

static void *pages(size_t bytes)
{
	void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return some == MAP_FAILED ? NULL : some;
}

/* --- memory with holes, in the process that gets stuck -------------------- */

static uint8_t *memory;
static size_t stride;		/* of the buffers in it */

/* @count buffers; every page is there, until it is taken away. */
static bool memory_make(unsigned int count, size_t bytes)
{
	/* A page between them, so that a buffer may begin anywhere. */
	stride = bytes + PAGE;
	memory = faults_memory(count * stride);
	return memory;
}

static void take_page(unsigned int buffer, size_t at)
{
	faults_take(memory + buffer * stride + at);
}

/* Supply it, if it is not there. */
static void give_page(unsigned int buffer, size_t at)
{
	faults_give(memory + buffer * stride + at);
}

/* --- ways to get stuck ----------------------------------------------------- */

struct stuck {
	unsigned int index;
	size_t skew;
	bool store;
};

static uint8_t *buffer_of(const struct stuck *stuck)
{
	return memory + stuck->index * stride + stuck->skew;
}

/* A thread that calls pread() or pwrite(). */
static void *by_call(void *data)
{
	const struct stuck *stuck = data;
	int fd = open(path, O_RDWR);
	ssize_t done = stuck->store ?
		pwrite(fd, buffer_of(stuck), BUFFER, 0) :
		pread(fd, buffer_of(stuck), BUFFER, 0);

	tap_note("ended with %zd: %s", done, strerror(errno));
	_exit(1);
}

/* A thread that submits such a request. */
static void *by_uring(void *data)
{
	const struct stuck *stuck = data;
	int fd = open(path, O_RDWR);
	struct io_uring_cqe cqe;
	struct uring uring;

	if (!uring_open(&uring, 2) ||
	    !uring_add(&uring, stuck->store ? IORING_OP_WRITE : IORING_OP_READ,
		       fd, buffer_of(stuck), BUFFER, 0, 0) ||
	    !uring_wait(&uring, &cqe))
		_exit(1);
	tap_note("ended with %d", cqe.res);
	_exit(1);
}

static void stuck_threads(void *(*run)(void *data), unsigned int count,
			  size_t skew, bool store)
{
	static struct stuck stuck[MANY];
	pthread_t thread;
	unsigned int i;

	if (!faults_open() || !memory_make(count, BUFFER))
		_exit(1);
	for (i = 0; i < count; i++) {
		stuck[i] = (struct stuck){ i, skew, store };
		take_page(i, i % 3 ? HOLE : 0);
		if (pthread_create(&thread, NULL, run, &stuck[i]))
			_exit(1);
	}
	for (i = 0; i < count; i++)
		faults_next();
}

static void calls_write(void)
{
	stuck_threads(by_call, FEW, 0, true);
}

static void calls_read(void)
{
	stuck_threads(by_call, FEW, 0, false);
}

static void calls_write_crooked(void)
{
	stuck_threads(by_call, FEW, 3, true);
}

static void calls_read_crooked(void)
{
	stuck_threads(by_call, FEW, 3, false);
}

static void rings_write(void)
{
	stuck_threads(by_uring, FEW, 0, true);
}

static void rings_read(void)
{
	stuck_threads(by_uring, FEW, 0, false);
}

static void many_calls_write(void)
{
	stuck_threads(by_call, MANY, 0, true);
}

/* --- those who are not stuck ----------------------------------------------- */

static void others_go_on(void)
{
	uint8_t *buf = pages(MIB), *seen = pages(MIB);
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned int round;
	int fd = open(path, O_RDWR);

	REQUIRE(buf && seen && fd >= 0 && uring_open(&uring, 2));
	for (round = 0; round < 3; round++) {
		pattern_fill(buf, MIB, round + 1);
		CHECK_EQ(pwrite(fd, buf, MIB, 8 * MIB), MIB);
		CHECK_EQ(pread(fd, seen, MIB, 8 * MIB), MIB);
		CHECK_EQ(first_difference(buf, seen, MIB), MIB);
		pattern_fill(buf, MIB, round + 11);
		REQUIRE(uring_add(&uring, IORING_OP_WRITE, fd, buf, MIB,
				  8 * MIB, 0) && uring_wait(&uring, &cqe));
		CHECK_EQ(cqe.res, MIB);
		memset(seen, 0, MIB);
		REQUIRE(uring_add(&uring, IORING_OP_READ, fd, seen, MIB,
				  8 * MIB, 0) && uring_wait(&uring, &cqe));
		CHECK_EQ(cqe.res, MIB);
		CHECK_EQ(first_difference(buf, seen, MIB), MIB);
	}
	uring_close(&uring);
	munmap(buf, MIB);
	munmap(seen, MIB);
	close(fd);
}

static bool nothing_is_pinned(void)
{
	unsigned int tries;

	for (tries = 0; tries < 20000; tries++, sleep_ms(1))
		if (!dma_figure("pinned"))
			return true;
	return false;
}

/* A process that gets stuck; its userfaultfd, too, lives on in ours. */
static pid_t start(void (*get_stuck)(void), int *keep)
{
	int ready[2], number = -1, pidfd;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		get_stuck();
		if (write(ready[1], &faults, sizeof(faults)) > 0)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &number, sizeof(number)) != sizeof(number))
		number = -1;
	close(ready[0]);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	*keep = number < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, number, 0);
	close(pidfd);
	return pid;
}

static void stuck_while_others_go_on(void (*get_stuck)(void),
				     unsigned int requests)
{
	int keep, status;
	pid_t pid;

	REQUIRE(dma_is_idle());
	pid = start(get_stuck, &keep);
	REQUIRE(pid > 0);
	CHECK(keep >= 0);
	CHECK(dma_figure("requests") >= requests);
	CHECK(nothing_is_pinned());
	others_go_on();
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);

	/* The pages never come: what waits for them has to be given up. */
	kill(pid, SIGKILL);
	alarm(END_SECONDS);
	waitpid(pid, &status, 0);
	CHECK_EQ(status, SIGKILL);
	alarm(TAP_CASE_SECONDS);
	CHECK(dma_is_idle());
	close(keep);
}

#define STUCK_CASE(name, requests)					\
static void name##_stuck(void)						\
{									\
	stuck_while_others_go_on(name, requests);			\
}

STUCK_CASE(calls_write, FEW)
STUCK_CASE(calls_read, FEW)
STUCK_CASE(calls_write_crooked, FEW)
STUCK_CASE(calls_read_crooked, FEW)
STUCK_CASE(rings_write, FEW)
STUCK_CASE(rings_read, FEW)
STUCK_CASE(many_calls_write, MANY)

/* --- one file, two processes ---------------------------------------------- */

/* One that writes from its own memory, and then waits to be killed. */
static pid_t start_write(int fd, int *done)
{
	uint8_t *buf = pages(BUFFER);
	struct io_uring_cqe cqe;
	struct uring uring;
	int ends[2];
	pid_t pid;

	if (!buf || pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		memset(buf, 1, BUFFER);
		if (!uring_open(&uring, 2) ||
		    !uring_add(&uring, IORING_OP_WRITE, fd, buf, BUFFER, 0, 0) ||
		    uring_enter(&uring, 0) || write(ends[1], "", 1) != 1)
			_exit(1);
		if (uring_wait(&uring, &cqe) && cqe.res == BUFFER &&
		    write(ends[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	munmap(buf, BUFFER);
	close(ends[1]);
	*done = ends[0];
	return pid;
}

/*
 * A process is stuck with a request of a file, another has one of the same file
 * and does not wait for it: neither to move its own, nor to die.
 */
static void two_share_a_file(void)
{
	int fd = open(path, O_RDWR), done, status;
	struct pollfd pollfd = { -1, POLLIN, 0 };
	struct io_uring_cqe cqe;
	struct uring uring;
	char byte;
	pid_t pid;

	REQUIRE(fd >= 0 && faults_open() && memory_make(1, BUFFER));
	REQUIRE(uring_open(&uring, 2));
	take_page(0, 0);
	REQUIRE(uring_add(&uring, IORING_OP_WRITE, fd, memory, BUFFER, 0, 1) &&
		!uring_enter(&uring, 0));
	faults_next();
	pid = start_write(fd, &done);
	REQUIRE(pid > 0 && read(done, &byte, 1) == 1);
	pollfd.fd = done;
	CHECK_EQ(poll(&pollfd, 1, END_SECONDS * 1000), 1);

	kill(pid, SIGKILL);
	pollfd.fd = syscall(SYS_pidfd_open, pid, 0);
	CHECK_EQ(poll(&pollfd, 1, END_SECONDS * 1000), 1);
	/* Whoever waits for the first could never be waited for. */
	give_page(0, 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, SIGKILL);
	REQUIRE(uring_wait(&uring, &cqe));
	CHECK_EQ(cqe.res, BUFFER);
	close(pollfd.fd);
	close(done);
	uring_close(&uring);
	munmap(memory, stride);
	close(faults);
	close(fd);
	CHECK(dma_is_idle());
}

/* --- one ring, two files ---------------------------------------------------- */

static int over;		/* an eventfd: nobody is stuck any more */
static volatile bool rescued;

/* If the ring itself is stuck, nobody else can end that. */
static void *rescue(void *data)
{
	struct pollfd pollfd = { over, POLLIN, 0 };

	rescued = !poll(&pollfd, 1, END_SECONDS * 1000);
	if (rescued)
		give_page(0, *(const size_t *)data);
	return NULL;
}

/* The next completion of a ring is that of @tag, and all of it was moved. */
static void check_next(struct uring *uring, uint64_t tag, long long bytes)
{
	struct io_uring_cqe cqe;

	REQUIRE(uring_wait(uring, &cqe));
	CHECK_EQ(cqe.user_data, tag);
	CHECK_EQ(cqe.res, bytes);
}

/* Such a request, with a page missing where the buffer has a hole. */
static void a_ring_goes_on_with(int op, size_t skew, size_t bytes, size_t hole)
{
	int waits = open(path, O_RDWR), goes = open(path, O_RDWR);
	uint8_t *buf = pages(MIB), *seen = pages(MIB);
	struct pollfd pollfd = { -1, POLLIN, 0 };
	struct uring uring;
	pthread_t thread;

	over = eventfd(0, 0);
	REQUIRE(waits >= 0 && goes >= 0 && buf && seen && over >= 0);
	REQUIRE(faults_open() && memory_make(1, BUFFER) && uring_open(&uring, 4));
	take_page(0, hole);
	REQUIRE(!pthread_create(&thread, NULL, rescue, &hole));
	REQUIRE(uring_add(&uring, op, waits, memory + skew, bytes, 0, 1) &&
		!uring_enter(&uring, 0));
	pollfd.fd = faults;
	CHECK_EQ(poll(&pollfd, 1, END_SECONDS * 1000), 1);

	pattern_fill(buf, MIB, 1);
	REQUIRE(uring_add(&uring, IORING_OP_WRITE, goes, buf, MIB, 8 * MIB, 2));
	check_next(&uring, 2, MIB);
	REQUIRE(uring_add(&uring, IORING_OP_READ, goes, seen, MIB, 8 * MIB, 3));
	check_next(&uring, 3, MIB);
	CHECK_EQ(first_difference(buf, seen, MIB), MIB);
	CHECK(!rescued);

	give_page(0, hole);
	check_next(&uring, 1, bytes);
	CHECK(!eventfd_write(over, 1));
	pthread_join(thread, NULL);
	uring_close(&uring);
	munmap(memory, stride);
	munmap(buf, MIB);
	munmap(seen, MIB);
	close(over);
	close(faults);
	close(waits);
	close(goes);
	CHECK(dma_is_idle());
}

/* A request that waits for its memory holds up neither its ring nor another file. */
static void a_ring_goes_on(void)
{
	a_ring_goes_on_with(IORING_OP_WRITE, 0, BUFFER, HOLE);
}

/* Nor does one that the processor would have moved at once. */
static void a_ring_goes_on_short(void)
{
	static const struct {
		int op;
		size_t skew, bytes, hole;
	} some[] = {
		{ IORING_OP_WRITE, 0, 1024, 0 },
		{ IORING_OP_READ, 0, 2048, 0 },
		{ IORING_OP_WRITE, HOLE - 3, 8, HOLE },
		{ IORING_OP_READ, HOLE - 1000, 3000, HOLE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(some) && !tap_failed; i++)
		a_ring_goes_on_with(some[i].op, some[i].skew, some[i].bytes,
				    some[i].hole);
}

/* --- pages that come back --------------------------------------------------- */

struct taker {
	uint8_t *buf;
	volatile bool stop;
};

/* The data stays, in the file's pages; the way to them goes. */
static void *take_away(void *data)
{
	struct taker *taker = data;

	while (!taker->stop) {
		madvise(taker->buf, MIB, MADV_DONTNEED);
		sleep_ms(3);
	}
	return NULL;
}

/* Taken away again and again, they only make a transfer slow. */
static void pages_that_come_and_go(void)
{
	int file = memfd_create("buffer", 0);
	uint8_t *pattern = pages(MIB), *seen;
	struct taker taker = { 0 };
	pthread_t thread;
	unsigned int round;

	REQUIRE(pattern && file >= 0 && !ftruncate(file, MIB + PAGE));
	seen = mmap(NULL, MIB + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file,
		    0);
	REQUIRE(seen != MAP_FAILED);
	taker.buf = seen;
	REQUIRE(!pthread_create(&thread, NULL, take_away, &taker));
	for (round = 0; round < 8 && !tap_failed; round++) {
		size_t skew = round % 4 * 3, len = MIB - 64;

		pattern_fill(pattern, len, round);
		CHECK_EQ(pwrite(card, pattern, len, MIB), len);
		memset(seen, 0xa5, MIB);
		CHECK_EQ(pread(card, seen + skew, len, MIB), len);
		CHECK_EQ(first_difference(seen + skew, pattern, len), len);
		CHECK_EQ(pwrite(card, seen + skew, len, 4 * MIB), len);
		memset(pattern, 0, len);
		CHECK_EQ(pread(card, pattern, len, 4 * MIB), len);
		CHECK_EQ(first_difference(seen + skew, pattern, len), len);
	}
	taker.stop = true;
	pthread_join(thread, NULL);
	munmap(seen, MIB + PAGE);
	munmap(pattern, MIB);
	close(file);
	CHECK(dma_is_idle());
}

static int kernel_log;

static void the_kernel_is_content(void)
{
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
}

/* By calls and by many requests, whatever is least now. */
__attribute__((noreturn))
static void wait_stuck(void)
{
	calls_read();
	rings_write();
	printf("stuck\n");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(calls_write_stuck),
		TAP_CASE(calls_read_stuck),
		TAP_CASE(calls_write_crooked_stuck),
		TAP_CASE(calls_read_crooked_stuck),
		TAP_CASE(rings_write_stuck),
		TAP_CASE(rings_read_stuck),
		TAP_CASE(many_calls_write_stuck),
		TAP_CASE(two_share_a_file),
		TAP_CASE(a_ring_goes_on),
		TAP_CASE(a_ring_goes_on_short),
		TAP_CASE(pages_that_come_and_go),
		TAP_CASE(the_kernel_is_content),
	};

	if (argc == 3 && !strcmp(argv[1], "-w")) {
		path = argv[2];
		wait_stuck();
	}
	path = card_path(argc, argv, 0);
	if (!path)
		tap_skip_all("no card");
	card = dma_begin(path, &info, 4096);
	kernel_log = kernel_log_open();
	return dma_end(TAP_RUN(cases));
}
