// SPDX-License-Identifier: GPL-2.0-only
/*
 * WATCH: its descriptors, however they are copied, passed, closed and killed.
 * Wants two cards with the extension block on one ring, both in this machine.
 */

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../asleep.h"
#include "watch.h"

static void descriptor_flags(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	int fd;

	args.flags = 0;
	args.depth = 1;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_RDONLY);
	CHECK_EQ(fcntl(fd, F_GETFD), 0);
	close(fd);

	args.flags = RFM_WATCH_NONBLOCK | RFM_WATCH_CLOEXEC;
	args.depth = RFM_LISTEN_DEPTH_MAX;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void misuse_of_the_descriptor(void)
{
	void *volatile nowhere = NULL;	/* the compiler knows read(2) */
	int fd = watch_range(AT, 8);
	struct rfm_event events[3];
	unsigned int i;

	REQUIRE(fd >= 0);
	memset(events, 0xa5, sizeof(events));
	CHECK_ERRNO(read(fd, events, 0), EINVAL);
	CHECK_ERRNO(read(fd, events, sizeof(*events) - 1), EINVAL);
	CHECK_ERRNO(read(fd, events, sizeof(*events)), EAGAIN);
	CHECK_ERRNO(write(fd, events, sizeof(*events)), EBADF);
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), ESPIPE);
	CHECK_ERRNO(ioctl(fd, RFM_IOC_INFO, events), ENOTTY);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0),
		    ENODEV);

	/* Whole records only, and a bad buffer loses nothing. */
	for (i = 1; i <= 3; i++)
		far_sets(AT, i);
	CHECK(settled());
	CHECK_EQ(read(fd, events, 2 * sizeof(*events) + 7),
		 2 * sizeof(*events));
	CHECK_EQ(((unsigned char *)events)[2 * sizeof(*events)], 0xa5);
	CHECK_ERRNO(read(fd, nowhere, sizeof(*events)), EFAULT);
	CHECK_EQ(read(fd, events, sizeof(*events)), sizeof(*events));
	CHECK_EQ(events[0].seq, 3);
	CHECK_EQ(events[0].bytes[0], 3);
	close(fd);
}

/* One call says which of several watches have something to tell. */
static void poll_and_epoll(void)
{
	int first = watch_range(AT, 8), second = watch_range(AT + 64, 8);
	int epoll = epoll_create1(0);
	struct epoll_event want = { .events = EPOLLIN | EPOLLET };
	struct epoll_event got[2];
	struct pollfd polls[] = { { first, POLLIN | POLLOUT, 0 },
				  { second, POLLIN | POLLOUT, 0 } };
	struct rfm_event event;

	REQUIRE(first >= 0 && second >= 0 && epoll >= 0);
	want.data.fd = first;
	REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, first, &want) == 0);
	want.data.fd = second;
	REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, second, &want) == 0);
	CHECK_EQ(poll(polls, 2, 0), 0);

	far_sets(AT + 64, 1);
	CHECK_EQ(epoll_wait(epoll, got, 2, PATIENCE_MS), 1);
	CHECK_EQ(got[0].data.fd, second);
	CHECK_EQ(got[0].events, EPOLLIN);
	CHECK_EQ(poll(polls, 2, 0), 1);
	CHECK_EQ(polls[0].revents, 0);
	CHECK_EQ(polls[1].revents, POLLIN);
	CHECK(next_event(second, &event));
	CHECK_EQ(poll(polls, 2, 0), 0);
	close(epoll);
	close(first);
	close(second);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* A reader that sleeps is woken by an update, and by a signal. */
static void blocking_reads(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event;
	int fd, status;
	pid_t pid;

	args.flags = 0;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		while (!is_asleep(getppid()))
			;
		_exit(!far_sets(AT, 77));
	}
	CHECK_EQ(read(fd, &event, sizeof(event)), sizeof(event));
	CHECK_EQ(event.bytes[0], 77);
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);

	sigaction(SIGUSR1, &action, NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		while (!is_asleep(getppid()))
			;
		_exit(kill(getppid(), SIGUSR1) != 0);
	}
	CHECK_ERRNO(read(fd, &event, sizeof(event)), EINTR);
	waitpid(pid, &status, 0);
	signal(SIGUSR1, SIG_DFL);
	close(fd);
}

static void duplicates_are_one(void)
{
	int fd = watch_range(AT, 8), copy = dup(fd), third = dup(copy);
	struct rfm_event event;

	REQUIRE(fd >= 0 && copy >= 0 && third >= 0);
	CHECK_EQ(watches(), 1);
	far_sets(AT, 1);
	far_sets(AT, 2);
	CHECK(next_event(fd, &event));
	CHECK_EQ(event.bytes[0], 1);
	close(fd);
	CHECK(next_event(copy, &event));
	CHECK_EQ(event.bytes[0], 2);
	close(third);
	CHECK_EQ(watches(), 1);
	far_sets(AT, 3);
	CHECK_EQ(heard(copy), 1);
	close(copy);
	CHECK_EQ(watches(), 0);
}

/* It outlives the file it was made with, and ends with its own last copy. */
static void outlives_the_device_file(void)
{
	int file = open(pair.path, O_RDONLY), fd;
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);

	REQUIRE(file >= 0);
	fd = ioctl(file, RFM_IOC_WATCH, &args);
	REQUIRE(fd >= 0);
	close(file);
	far_sets(AT, 1);
	CHECK_EQ(heard(fd), 1);
	close(fd);
	CHECK_EQ(watches(), 0);
}

/* Each event goes to one of the readers; the watch lives as long as one. */
static void forked_readers_share(void)
{
	enum { EVENTS = 100 };
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	unsigned char seen[EVENTS] = {};
	struct rfm_event event;
	unsigned int i;
	int fd, pipes[2];
	pid_t pids[3];

	args.flags = 0;
	fd = watch(&args);
	REQUIRE(fd >= 0 && pipe(pipes) == 0);
	for (i = 0; i < 3; i++) {
		pids[i] = fork();
		REQUIRE(pids[i] >= 0);
		if (pids[i])
			continue;
		while (read(fd, &event, sizeof(event)) == sizeof(event))
			if (write(pipes[1], event.bytes, 1) != 1)
				_exit(1);
		_exit(1);
	}
	close(fd);
	for (i = 0; i < EVENTS; i++)
		far_sets(AT, i);
	for (i = 0; i < EVENTS; i++) {
		uint8_t value;

		REQUIRE(read(pipes[0], &value, 1) == 1);
		REQUIRE(value < EVENTS);
		seen[value]++;
	}
	for (i = 0; i < EVENTS; i++)
		CHECK_EQ(seen[i], 1);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(watches(), 1);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	CHECK(watches_become(0));
	close(pipes[0]);
	close(pipes[1]);
}

static bool send_descriptor(int socket, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1;
}

static int receive_descriptor(int socket)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *cmsg;
	int fd = -1;

	if (recvmsg(socket, &msg, 0) != 1)
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg)
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* On its way through a socket it is open; with the socket it ends. */
static void descriptor_can_be_passed(void)
{
	int sockets[2], fd, status;
	struct rfm_event event;
	pid_t pid;

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	fd = watch_range(AT, 8);
	REQUIRE(fd >= 0 && send_descriptor(sockets[0], fd));
	close(fd);
	far_sets(AT, 91);
	CHECK(settled());
	CHECK_EQ(watches(), 1);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		fd = receive_descriptor(sockets[1]);
		_exit(next_event(fd, &event) && event.bytes[0] == 91 ? 0 : 3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(watches_become(0));

	fd = watch_range(AT, 8);
	REQUIRE(fd >= 0 && send_descriptor(sockets[0], fd));
	close(fd);
	CHECK_EQ(watches(), 1);
	close(sockets[0]);
	close(sockets[1]);
	CHECK(watches_become(0));
}

/* Of two processes that watch overlapping ranges one is killed. */
static void killed_processes_leave_nothing(void)
{
	int fd = watch_range(AT + 32, 64), pipes[2];
	struct rfm_info after;
	struct rfm_range range = { AT + 64, 512 };
	struct rfm_watch args = watch_of(&range);
	uint64_t before;
	pid_t pid;
	char byte;

	REQUIRE(fd >= 0 && pipe(pipes) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		args.silence_ns = RFM_WATCH_SILENCE_MAX;
		for (unsigned int i = 0; i < 20; i++)
			if (watch(&args) < 0)
				_exit(1);
		if (write(pipes[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	REQUIRE(read(pipes[0], &byte, 1) == 1);
	CHECK_EQ(watches(), 21);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(watches_become(1));

	/* The granule that both watched is still watched, the others not. */
	far_sets(AT + 64, 1);
	CHECK_EQ(heard(fd), 1);
	before = interrupts_at_rest();
	for (unsigned int i = 0; i < 100; i++)
		far_sets(AT + 128 + i % 6 * 64, i);
	CHECK(fence(pair.far));
	REQUIRE(card_info(pair.near, &after) == 0);
	CHECK_EQ(after.irqs, before);
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

/*
 * Watches of random ranges come and go in any order; after each step random
 * stores are heard by exactly those that they touch.
 */
static void closed_in_any_order(void)
{
	enum { WATCHES = 24, SPAN = 2048, STEPS = 300 };
	struct { int fd; struct rfm_range range; } open[WATCHES];
	uint64_t state = 20240817;
	unsigned int step, i, wrong = 0;

	for (i = 0; i < WATCHES; i++)
		open[i].fd = -1;
	for (step = 0; step < STEPS && !wrong; step++) {
		uint64_t at;

		i = random_next(&state) % WATCHES;
		if (open[i].fd >= 0) {
			close(open[i].fd);
			open[i].fd = -1;
		} else {
			open[i].range.offset = AT + random_next(&state) % SPAN;
			open[i].range.length = 1 + random_next(&state) % 300;
			open[i].fd = watch_range(open[i].range.offset,
						 open[i].range.length);
			REQUIRE(open[i].fd >= 0);
		}
		at = AT + random_next(&state) % (SPAN + 256) / 8 * 8;
		far_sets(at, step);
		CHECK(settled());
		for (i = 0; i < WATCHES; i++) {
			const struct rfm_range *range = &open[i].range;
			unsigned int expected =
				range->offset < at + 8 &&
				at < range->offset + range->length;

			if (open[i].fd >= 0)
				wrong += heard(open[i].fd) != expected;
		}
	}
	CHECK_EQ(wrong, 0);
	for (i = 0; i < WATCHES; i++)
		if (open[i].fd >= 0)
			close(open[i].fd);
	CHECK_EQ(watches(), 0);
}

static void *store_for_ever(void *arg)
{
	volatile uint64_t *words = arg;

	for (uint64_t i = 0;; i++) {
		words[i * 37 % 512] = i;
		pthread_testcancel();
	}
	return NULL;
}

/* Watches come and go, with readers at them, while updates arrive. */
static void coming_and_going(void)
{
	void *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			   pair.far, AT);
	struct rfm_range ranges[8];
	struct rfm_watch args = watch_of(ranges);
	uint64_t state = 77;
	struct rfm_event events[20];
	unsigned int i, r, wrong = 0;
	pthread_t thread;

	REQUIRE(words != MAP_FAILED);
	REQUIRE(!pthread_create(&thread, NULL, store_for_ever, words));
	for (i = 0; i < 400; i++) {
		ssize_t len;
		int fd;

		args.count = 1 + i % ARRAY_SIZE(ranges);
		args.depth = 1 + i % 40;
		args.flags = RFM_WATCH_NONBLOCK |
			     (i % 3 ? 0 : RFM_WATCH_COALESCE);
		args.silence_ns = i % 5 ? 0 : RFM_WATCH_SILENCE_MIN;
		for (r = 0; r < args.count; r++) {
			ranges[r].offset = AT + random_next(&state) % 4096;
			ranges[r].length = 1 + random_next(&state) % 512;
		}
		fd = watch(&args);
		REQUIRE(fd >= 0);
		len = read(fd, events, sizeof(events));
		for (r = 0; len > 0 && r < len / sizeof(*events); r++)
			wrong += events[r].seq <
				 r + 1 + events[r].dropped ||
				 !(RFM_EVENT_BIT(events[r].type) &
				   (RFM_EVENT_WATCHED |
				    RFM_EVENT_BIT(RFM_EVENT_DROPPED)));
		close(fd);
	}
	CHECK_EQ(wrong, 0);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	munmap(words, 4096);
	/* What it stored last is no news to the watches of the next case. */
	CHECK(settled());
	CHECK_EQ(watches(), 0);
}

/* The call as a 32-bit program makes it. */
static void compat_ioctl(void)
{
#ifdef __x86_64__
	struct rfm_range *range = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
				       -1, 0);
	struct rfm_watch *args = (void *)(range + 1);
	long fd;

	REQUIRE(range != MAP_FAILED);
	*range = (struct rfm_range) { AT, 8 };
	*args = watch_of(range);
	asm volatile("int $0x80" : "=a" (fd)
		     : "a" (54), "b" (pair.near), "c" (RFM_IOC_WATCH),
		       "d" (args) : "memory", "r8", "r9", "r10", "r11");
	if (fd == -ENOSYS) {
		tap_skip("this kernel runs no 32-bit programs");
		return;
	}
	REQUIRE(fd >= 0);
	far_sets(AT, 1);
	CHECK_EQ(heard(fd), 1);
	close(fd);
	munmap(range, 4096);
#else
	tap_skip("not on this machine");
#endif
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(descriptor_flags),
		TAP_CASE(misuse_of_the_descriptor),
		TAP_CASE(poll_and_epoll),
		TAP_CASE(blocking_reads),
		TAP_CASE(duplicates_are_one),
		TAP_CASE(outlives_the_device_file),
		TAP_CASE(forked_readers_share),
		TAP_CASE(descriptor_can_be_passed),
		TAP_CASE(killed_processes_leave_nothing),
		TAP_CASE(closed_in_any_order),
		TAP_CASE(coming_and_going),
		TAP_CASE(compat_ioctl),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
