// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers that whoever touches them waits for, for ever: their pages are to be
 * supplied by userfaultfd(2), and nobody does.
 *
 *	dma_stuck_test [DEVICE]
 *	dma_stuck_test -w DEVICE
 *
 * Only the files wait whose requests these are of. Their processes can be
 * killed, and then nothing is left. With -w it gets stuck, says so, and stays so
 * until it is killed.
 */

#define TAP_CASE_SECONDS 600

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <linux/userfaultfd.h>

#include "async.h"
#include "dma.h"
#include "kernel_log.h"

#define MIB (1ul << 20)
enum { FEW = 12, MANY = 300, MANY_MORE = 400 };	/* than slices, than workers */

/* Each file's: several slices, with a page missing in the second. */
#define BUFFER (768ul * 1024)
#define HOLE (400ul * 1024 / PAGE * PAGE)
#define SMALL (64ul * 1024)	/* where there are many */
#define END_SECONDS 60		/* from a kill to the end of the process */

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

static int faults;		/* the userfaultfd */
static uint8_t *memory;
static size_t stride;		/* of the buffers in it */

static bool faults_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	/* One that would block cannot be polled. */
	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api);
}

/* @count buffers; every page is there, until it is taken away. */
static bool memory_make(unsigned int count, size_t bytes)
{
	struct uffdio_register args = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	/* A page between them, so that a buffer may begin anywhere. */
	stride = bytes + PAGE;
	memory = pages(count * stride);
	if (!memory)
		return false;
	madvise(memory, count * stride, MADV_NOHUGEPAGE);
	memset(memory, 0x5a, count * stride);
	args.range.start = (uintptr_t)memory;
	args.range.len = count * stride;
	return !ioctl(faults, UFFDIO_REGISTER, &args);
}

static void take_page(unsigned int buffer, size_t at)
{
	madvise(memory + buffer * stride + at, PAGE, MADV_DONTNEED);
}

/* Supply it, if it is not there. */
static void give_page(unsigned int buffer, size_t at)
{
	struct uffdio_zeropage args = {
		.range = { (uintptr_t)memory + buffer * stride + at, PAGE },
	};

	ioctl(faults, UFFDIO_ZEROPAGE, &args);
}

/* Which buffer somebody waits for next; waits until there is one. */
static unsigned int next_fault(void)
{
	struct pollfd pollfd = { faults, POLLIN, 0 };
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) != sizeof(message))
		if (errno != EAGAIN || poll(&pollfd, 1, -1) != 1)
			_exit(1);
	return (message.arg.pagefault.address - (uintptr_t)memory) / stride;
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

static void stuck_threads(void *(*run)(void *data), size_t skew, bool store)
{
	static struct stuck stuck[FEW];
	pthread_t thread;
	unsigned int i;

	if (!faults_open() || !memory_make(FEW, BUFFER))
		_exit(1);
	for (i = 0; i < FEW; i++) {
		stuck[i] = (struct stuck){ i, skew, store };
		take_page(i, i % 3 ? HOLE : 0);
		if (pthread_create(&thread, NULL, run, &stuck[i]))
			_exit(1);
	}
	for (i = 0; i < FEW; i++)
		next_fault();
}

static void calls_write(void)
{
	stuck_threads(by_call, 0, true);
}

static void calls_read(void)
{
	stuck_threads(by_call, 0, false);
}

static void calls_write_crooked(void)
{
	stuck_threads(by_call, 3, true);
}

static void calls_read_crooked(void)
{
	stuck_threads(by_call, 3, false);
}

static void rings_write(void)
{
	stuck_threads(by_uring, 0, true);
}

/*
 * Requests whose pages are taken away after they were made, so that whoever
 * feeds them finds out: behind those of other files, it takes a while until
 * their turn comes.
 */
struct later {
	int files[MANY_MORE];
	bool waits[MANY_MORE];
	unsigned int stuck, asked, ended;
	struct uring uring;
};

static bool later_ask(struct later *later, unsigned int i, bool store)
{
	give_page(i, SMALL / 2);
	if (!uring_add(&later->uring, store ? IORING_OP_WRITE : IORING_OP_READ,
		       later->files[i], memory + i * stride, SMALL, 0, i) ||
	    uring_enter(&later->uring, 0))
		return false;
	take_page(i, SMALL / 2);
	later->asked++;
	return true;
}

/* Until it is known of each what has become of it. */
static void later_see(struct later *later)
{
	struct pollfd pollfds[] = {
		{ faults, POLLIN, 0 }, { later->uring.fd, POLLIN, 0 },
	};
	struct io_uring_cqe cqe;

	while (later->stuck + later->ended < later->asked) {
		if (poll(pollfds, 2, -1) < 0)
			_exit(1);
		while (uring_next(&later->uring, &cqe))
			later->ended++;
		if (pollfds[0].revents) {
			later->waits[next_fault()] = true;
			later->stuck++;
		}
	}
}

/* The engine has something else to do meanwhile. */
static void later_busy(struct uring *busy, int *files, const uint8_t *buf)
{
	unsigned int i;

	for (i = 0; i < SLICES; i++)
		uring_add(busy, IORING_OP_WRITE, files[i], buf, 8 * MIB,
			  16 * MIB, i);
	if (uring_enter(busy, 0))
		_exit(1);
}

static void later_settle(struct uring *busy)
{
	struct io_uring_cqe cqe;
	unsigned int i;

	for (i = 0; i < SLICES; i++)
		if (!uring_wait(busy, &cqe))
			_exit(1);
}

static void many_later(bool store)
{
	static struct later later;
	uint8_t *buf = pages(8 * MIB);
	int files[SLICES];
	struct uring busy;
	unsigned int i;

	if (!faults_open() || !memory_make(MANY_MORE, SMALL) || !buf ||
	    !uring_open(&busy, SLICES) || !uring_open(&later.uring, MANY_MORE))
		_exit(1);
	memset(buf, 1, 8 * MIB);
	for (i = 0; i < SLICES; i++)
		files[i] = open(path, O_RDWR);
	for (i = 0; i < MANY_MORE; i++)
		later.files[i] = open(path, O_RDWR);
	while (later.stuck < MANY) {
		later_busy(&busy, files, buf);
		for (i = 0; i < MANY_MORE; i++)
			if (!later.waits[i] && !later_ask(&later, i, store))
				_exit(1);
		later_see(&later);
		later_settle(&busy);
	}
	tap_note("%u of %u are stuck", later.stuck, later.asked);
}

static void many_write_later(void)
{
	many_later(true);
}

static void many_read_later(void)
{
	many_later(false);
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

static bool nobody_has_a_slice(void)
{
	unsigned int tries;

	for (tries = 0; tries < 20000; tries++, sleep_ms(1))
		if (!dma_figure("slices"))
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
	CHECK(nobody_has_a_slice());
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
STUCK_CASE(rings_write, 0)
STUCK_CASE(many_write_later, MANY)
STUCK_CASE(many_read_later, MANY)

/* io_cancel() ends one that waits for its memory. */
static void a_stuck_one_is_cancelled(void)
{
	uint8_t *busy = pages(8 * MIB);
	struct iocb first[SLICES], iocb;
	aio_context_t context, other;
	struct io_event event;
	int files[SLICES], fd = open(path, O_RDWR);
	struct pollfd pollfds[2];	/* it is stuck, or has ended */
	unsigned int i, stuck = 0, tries;
	int ended = eventfd(0, 0);
	eventfd_t ends;

	REQUIRE(ended >= 0 && busy && faults_open() && memory_make(1, SMALL));
	REQUIRE(!aio_setup(SLICES, &other) && !aio_setup(1, &context));
	memset(busy, 1, 8 * MIB);
	for (i = 0; i < SLICES; i++)
		files[i] = open(path, O_RDWR);
	pollfds[0] = (struct pollfd){ faults, POLLIN, 0 };
	pollfds[1] = (struct pollfd){ ended, POLLIN, 0 };
	for (tries = 0; tries < 50 && !stuck; tries++) {
		for (i = 0; i < SLICES; i++) {
			aio_fill(&first[i], IOCB_CMD_PWRITE, files[i], busy,
				 8 * MIB, 16 * MIB, i);
			REQUIRE(aio_submit(other, &first[i]) == 1);
		}
		give_page(0, SMALL / 2);
		aio_fill(&iocb, IOCB_CMD_PWRITE, fd, memory, SMALL, 0, 0);
		iocb.aio_flags = IOCB_FLAG_RESFD;
		iocb.aio_resfd = ended;
		REQUIRE(aio_submit(context, &iocb) == 1);
		take_page(0, SMALL / 2);
		for (i = 0; i < SLICES; i++)
			REQUIRE(aio_wait(other, &event) == 1);
		REQUIRE(poll(pollfds, 2, -1) > 0);
		stuck = pollfds[0].revents;
		if (!stuck)
			REQUIRE(aio_wait(context, &event) == 1 &&
				!eventfd_read(ended, &ends));
	}
	REQUIRE(stuck);
	CHECK_EQ(aio_cancel(context, &iocb), -1);
	CHECK_EQ(errno, EINPROGRESS);
	REQUIRE(aio_wait(context, &event) == 1);
	/* What was there has been written. */
	CHECK_EQ(event.res, SMALL / 2);
	CHECK_EQ(aio_destroy(context), 0);
	CHECK_EQ(aio_destroy(other), 0);
	for (i = 0; i < SLICES; i++)
		close(files[i]);
	close(fd);
	close(ended);
	close(faults);
	munmap(memory, stride);
	munmap(busy, 8 * MIB);
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
	CHECK_EQ(poll(&pollfd, 1, 10000), 1);

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

/* --- a signal for who is behind --------------------------------------------- */

struct behind {
	int waits, goes;	/* files */
	volatile pid_t tid;
	ssize_t done;
	int error;
};

static void on_signal(int signo)
{
	(void)signo;
}

/* Waits behind the stuck one, and is told there of the end of another. */
static void *wait_behind(void *data)
{
	struct behind *behind = data;
	uint8_t *buf = pages(4 * MIB), byte;
	struct uring uring;

	behind->tid = syscall(SYS_gettid);
	if (buf && uring_open(&uring, 2) &&
	    uring_add(&uring, IORING_OP_WRITE, behind->goes, buf, 4 * MIB,
		      8 * MIB, 0) && !uring_enter(&uring, 0)) {
		behind->done = pread(behind->waits, &byte, 1, 0);
		behind->error = errno;
		uring_close(&uring);
	}
	eventfd_write(over, 1);
	munmap(buf, 4 * MIB);
	return NULL;
}

/* Of a thread of ours: 'S' if signals wake it, 'D' if only SIGKILL does. */
static char state_of(pid_t tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (file)
		fclose(file);
	return state;
}

/*
 * io_uring has woken it in its wait, where no signal wakes it any more. Not if
 * the other has ended before the wait began: then it sleeps as before.
 */
static bool is_told_behind(const struct behind *behind, long long bytes)
{
	unsigned int tries, as_before = 0;
	char state;

	for (tries = 0; tries < 10000 && as_before < 500; tries++, sleep_ms(1)) {
		if (dma_figure("bytes") < bytes || dma_figure("requests") != 2)
			continue;
		state = state_of(behind->tid);
		if (state == 'D')
			return true;
		as_before += state == 'S';
	}
	return false;
}

/* Who waits behind a stuck request is interrupted by any signal. */
static void a_signal_ends_the_wait_behind(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct behind behind = { .waits = open(path, O_RDWR),
				 .goes = open(path, O_RDWR) };
	struct pollfd pollfd = { -1, POLLIN, 0 };
	unsigned int tries;
	struct uring uring;
	pthread_t thread;
	bool told = false;
	long long bytes;
	eventfd_t ends;

	pollfd.fd = over = eventfd(0, 0);
	REQUIRE(behind.waits >= 0 && behind.goes >= 0 && over >= 0);
	REQUIRE(faults_open() && memory_make(1, SMALL) && uring_open(&uring, 2));
	sigaction(SIGUSR1, &action, NULL);
	take_page(0, 0);
	REQUIRE(uring_add(&uring, IORING_OP_WRITE, behind.waits, memory, SMALL,
			  0, 1) && !uring_enter(&uring, 0));
	next_fault();
	for (tries = 0; tries < 10 && !told; tries++) {
		behind.tid = 0;
		bytes = dma_figure("bytes");
		REQUIRE(!pthread_create(&thread, NULL, wait_behind, &behind));
		told = is_told_behind(&behind, bytes + 4 * (long long)MIB);
		pthread_kill(thread, SIGUSR1);
		/* Nothing else ends the wait, so without this all would hang. */
		REQUIRE(poll(&pollfd, 1, 10000) == 1);
		pthread_join(thread, NULL);
		CHECK_EQ(behind.done, -1);
		CHECK_EQ(behind.error, EINTR);
		CHECK(!eventfd_read(over, &ends));
	}
	CHECK(told);

	give_page(0, 0);
	check_next(&uring, 1, SMALL);
	signal(SIGUSR1, SIG_DFL);
	uring_close(&uring);
	munmap(memory, stride);
	close(over);
	close(faults);
	close(behind.waits);
	close(behind.goes);
	CHECK(dma_is_idle());
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
	many_write_later();
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
		TAP_CASE(many_write_later_stuck),
		TAP_CASE(many_read_later_stuck),
		TAP_CASE(a_stuck_one_is_cancelled),
		TAP_CASE(a_ring_goes_on),
		TAP_CASE(a_ring_goes_on_short),
		TAP_CASE(a_signal_ends_the_wait_behind),
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
