// SPDX-License-Identifier: GPL-2.0-only
/*
 * Network interrupts: SEND and LISTEN. Wants two cards on one ring, both in
 * this machine: the first sends, the second hears.
 */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../asleep.h"
#include "listen.h"

static void each_type_arrives(void)
{
	int fd = listen_fresh(INTS | RESET);
	unsigned int type;

	REQUIRE(fd >= 0);
	for (type = RFM_EVENT_RESET; type <= RFM_EVENT_INT4; type++) {
		uint32_t data = 0x80000000 + type * 0x01010101;
		struct rfm_event event;
		uint64_t before = now_ns();

		CHECK_EQ(send_event(type, data), 0);
		if (!CHECK(next_event(fd, &event)))
			continue;
		CHECK_EQ(event.type, type);
		/* Who wants a reset only the extension block tells. */
		CHECK_EQ(event.node, type == RFM_EVENT_RESET &&
			 !hearer_info.features ? RFM_NODE_ALL :
						 talker_info.node);
		CHECK_EQ(event.data, type == RFM_EVENT_RESET ? 0 : data);
		CHECK_EQ(event.flags, 0);
		CHECK_EQ(event.count, 1);
		CHECK_EQ(event.reserved[0] | event.reserved[1], 0);
		CHECK_EQ(event.offset | event.length | event.late, 0);
		CHECK_EQ(event.seq, type + 1);
		CHECK_EQ(event.dropped, 0);
		CHECK(event.time_ns >= before && event.time_ns <= now_ns());
	}
	CHECK(silent(fd));
	close(fd);
}

static void to_all_nodes(void)
{
	int fd = listen_fresh(INTS | RESET);
	struct rfm_listen own = { INTS | RESET,
				  RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD,
				  0, 0 };
	int self = ioctl(talker, RFM_IOC_LISTEN, &own);
	unsigned int type;
	struct rfm_event event;

	REQUIRE(fd >= 0 && self >= 0);
	for (type = RFM_EVENT_RESET; type <= RFM_EVENT_INT4; type++) {
		CHECK_EQ(send_to(RFM_NODE_ALL, type, type), 0);
		if (CHECK(next_event(fd, &event)))
			CHECK_EQ(event.type, type);
	}
	/* A node never interrupts itself, not even with all the others. */
	CHECK(silent(self));
	close(self);
	close(fd);
}

static void not_for_us(void)
{
	unsigned int other;
	int fd = listen_fresh(INTS | RESET);

	REQUIRE(fd >= 0);
	for (other = 0; other <= 255; other++)
		if (other != talker_info.node && other != hearer_info.node)
			CHECK_EQ(send_to(other, RFM_EVENT_INT1, other), 0);
	settle();
	CHECK(silent(fd));
	close(fd);
}

static void refused_sends_send_nothing(void)
{
	struct rfm_send reserved = { hearer_info.node, RFM_EVENT_INT1, 1, 1 };
	int fd = listen_fresh(INTS | RESET);

	REQUIRE(fd >= 0);
	CHECK_ERRNO(ioctl(talker, RFM_IOC_SEND, &reserved), EINVAL);
	CHECK_ERRNO(send_to(hearer_info.node + 256, RFM_EVENT_INT1, 1), EINVAL);
	CHECK_ERRNO(send_to(talker_info.node, RFM_EVENT_INT1, 1), EINVAL);
	CHECK_ERRNO(send_event(RFM_EVENT_SYNC_LOSS, 1), EINVAL);
	settle();
	CHECK(silent(fd));
	close(fd);
}

static void order_is_kept(void)
{
	int fd = listen_fresh(INT1);
	struct rfm_event event;
	unsigned int i;

	REQUIRE(fd >= 0);
	for (i = 0; i < 100; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, i), 0);
	for (i = 0; i < 100; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.data, i);
		CHECK_EQ(event.seq, i + 1);
	}
	close(fd);
}

/* Data stored before an interrupt is there when the interrupt is. */
static void data_comes_first(void)
{
	const off_t at = 1 << 20;
	volatile uint32_t *ours = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED, talker, at);
	volatile uint32_t *theirs = mmap(NULL, 4096, PROT_READ, MAP_SHARED,
					 hearer, at);
	int fd = listen_fresh(INT2);
	struct rfm_event event;
	unsigned int i, stale = 0;

	REQUIRE(fd >= 0 && ours != MAP_FAILED && theirs != MAP_FAILED);
	for (i = 1; i <= 300; i++) {
		if (i & 1)
			ours[i % 64] = i;
		else
			CHECK_EQ(pwrite(talker, &i, 4, at + i % 64 * 4), 4);
		REQUIRE(send_event(RFM_EVENT_INT2, i) == 0);
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.data, i);
		stale += theirs[i % 64] != i;
	}
	CHECK_EQ(stale, 0);
	munmap((void *)ours, 4096);
	munmap((void *)theirs, 4096);
	close(fd);
}

static void full_queues_drop_and_count(void)
{
	int fd = listen_for(INT1, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD, 4);
	int witness = listen_fresh(INT1);
	struct rfm_event events[8];
	unsigned int i;

	REQUIRE(fd >= 0 && witness >= 0);
	for (i = 1; i <= 7; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, i), 0);
	REQUIRE(witnessed(witness, 7));
	close(witness);
	/* Four were kept, the last three dropped. */
	CHECK_EQ(read(fd, events, sizeof(events)), 4 * sizeof(*events));
	for (i = 0; i < 4; i++) {
		CHECK_EQ(events[i].seq, i + 1);
		CHECK_EQ(events[i].data, i + 1);
		CHECK_EQ(events[i].dropped, 0);
	}
	CHECK_ERRNO(read(fd, events, sizeof(events)), EAGAIN);

	CHECK_EQ(send_event(RFM_EVENT_INT1, 8), 0);
	if (CHECK(next_event(fd, events))) {
		CHECK_EQ(events[0].seq, 8);
		CHECK_EQ(events[0].data, 8);
		CHECK_EQ(events[0].dropped, 3);
	}
	close(fd);
}

/* A queue that is read in pieces wraps round its end many times. */
static void queues_wrap(void)
{
	int fd = listen_for(INT1, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD, 5);
	struct rfm_event events[5];
	unsigned int sent = 0, got = 0, burst, i;

	REQUIRE(fd >= 0);
	for (burst = 0; burst < 30; burst++) {
		unsigned int count = 1 + burst % 5;

		for (i = 0; i < count; i++)
			CHECK_EQ(send_event(RFM_EVENT_INT1, ++sent), 0);
		while (got < sent) {
			struct pollfd pollfd = { fd, POLLIN, 0 };
			ssize_t len;

			REQUIRE(poll(&pollfd, 1, PATIENCE_MS) == 1);
			len = read(fd, events, sizeof(events));
			REQUIRE(len > 0 && len % sizeof(*events) == 0);
			for (i = 0; i < len / sizeof(*events); i++) {
				got++;
				CHECK_EQ(events[i].seq, got);
				CHECK_EQ(events[i].data, got);
				CHECK_EQ(events[i].dropped, 0);
			}
		}
	}
	close(fd);
}

static void backlog_goes_to_the_first(void)
{
	struct rfm_event event;
	unsigned int i;
	int first, second;

	discard_all();
	for (i = 0; i < 3; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, 100 + i), 0);
	CHECK_EQ(send_event(RFM_EVENT_INT2, 200), 0);
	CHECK_EQ(send_event(RFM_EVENT_RESET, 0), 0);
	settle();

	/* Somebody who listens for something else takes nothing of it. */
	first = listen_for(RFM_EVENT_BIT(RFM_EVENT_INT3), RFM_LISTEN_NONBLOCK, 0);
	REQUIRE(first >= 0);
	CHECK(silent(first));
	close(first);

	first = listen_for(INT1, RFM_LISTEN_NONBLOCK, 0);
	REQUIRE(first >= 0);
	for (i = 0; i < 3; i++) {
		REQUIRE(next_event(first, &event));
		CHECK_EQ(event.type, RFM_EVENT_INT1);
		CHECK_EQ(event.node, talker_info.node);
		CHECK_EQ(event.data, 100 + i);
		CHECK_EQ(event.seq, i + 1);
	}
	/* The second hears only what comes from now on. */
	second = listen_for(INT1, RFM_LISTEN_NONBLOCK, 0);
	CHECK(silent(first));
	CHECK(silent(second));
	close(second);
	close(first);

	first = listen_for(RESET | INT2, RFM_LISTEN_NONBLOCK, 0);
	REQUIRE(first >= 0);
	REQUIRE(next_event(first, &event));
	CHECK_EQ(event.type, RFM_EVENT_RESET);
	REQUIRE(next_event(first, &event));
	CHECK_EQ(event.type, RFM_EVENT_INT2);
	CHECK_EQ(event.data, 200);
	CHECK(silent(first));
	close(first);
}

/* 127 wait in the card, the rest it drops. */
static void backlog_is_as_deep_as_the_card(void)
{
	struct rfm_event event;
	unsigned int i;
	int fd;

	discard_all();
	for (i = 0; i < 140; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT4, i), 0);
	settle();
	fd = listen_for(RFM_EVENT_BIT(RFM_EVENT_INT4), RFM_LISTEN_NONBLOCK, 0);
	REQUIRE(fd >= 0);
	for (i = 0; i < RFM_FIFO_DEPTH; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.data, i);
		CHECK_EQ(event.seq, i + 1);
	}
	CHECK(silent(fd));
	close(fd);
}

static void backlog_can_be_discarded(void)
{
	struct rfm_event event;
	int fd, late;

	discard_all();
	CHECK_EQ(send_event(RFM_EVENT_INT1, 1), 0);
	CHECK_EQ(send_event(RFM_EVENT_RESET, 1), 0);
	CHECK_EQ(send_event(RFM_EVENT_INT2, 2), 0);
	settle();
	fd = listen_for(INT1 | RESET, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD,
			0);
	REQUIRE(fd >= 0);
	CHECK(silent(fd));
	CHECK_EQ(send_event(RFM_EVENT_INT1, 3), 0);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.data, 3);
	CHECK_EQ(event.seq, 1);

	/* What others hear, or what was not asked for, is not thrown away. */
	late = listen_for(INT1, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD, 0);
	close(late);
	late = listen_for(INT2, RFM_LISTEN_NONBLOCK, 0);
	REQUIRE(next_event(late, &event));
	CHECK_EQ(event.data, 2);
	close(late);
	close(fd);
}

static void two_listeners_get_copies(void)
{
	int one = listen_fresh(INT1), both = listen_fresh(INT1 | INT2);
	struct rfm_event event;

	REQUIRE(one >= 0 && both >= 0);
	CHECK_EQ(send_event(RFM_EVENT_INT2, 22), 0);
	CHECK_EQ(send_event(RFM_EVENT_INT1, 11), 0);

	REQUIRE(next_event(one, &event));
	CHECK_EQ(event.data, 11);
	CHECK_EQ(event.seq, 1);
	CHECK(silent(one));

	settle();
	REQUIRE(next_event(both, &event));
	CHECK_EQ(event.seq, 1);
	REQUIRE(next_event(both, &event));
	CHECK_EQ(event.seq, 2);
	CHECK(silent(both));

	/* The one that stays still hears, after the other has left. */
	close(both);
	CHECK_EQ(send_event(RFM_EVENT_INT1, 12), 0);
	REQUIRE(next_event(one, &event));
	CHECK_EQ(event.data, 12);
	close(one);
}

/* With nobody listening the card does not interrupt. */
static void no_listener_no_interrupts(void)
{
	struct rfm_info before, after;
	unsigned int i;

	close(listen_fresh(INTS));
	REQUIRE(card_info(hearer, &before) == 0);
	for (i = 0; i < 50; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1 + i % 4, i), 0);
	settle();
	REQUIRE(card_info(hearer, &after) == 0);
	CHECK_EQ(after.irqs, before.irqs);
	discard_all();
}

static void descriptor_flags(void)
{
	int fd;

	fd = listen_for(INT1, RFM_LISTEN_DISCARD, 1);
	REQUIRE(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_RDONLY);
	CHECK_EQ(fcntl(fd, F_GETFD), 0);
	close(fd);

	fd = listen_for(INT1, RFM_LISTEN_NONBLOCK | RFM_LISTEN_CLOEXEC |
			RFM_LISTEN_DISCARD, RFM_LISTEN_DEPTH_MAX);
	REQUIRE(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void misuse_of_the_descriptor(void)
{
	void *volatile nowhere = NULL;	/* the compiler knows read(2) */
	int fd = listen_fresh(INT1), witness = listen_fresh(INT1);
	struct rfm_event events[3];

	REQUIRE(fd >= 0 && witness >= 0);
	memset(events, 0xa5, sizeof(events));
	CHECK_ERRNO(read(fd, events, 0), EINVAL);
	CHECK_ERRNO(read(fd, events, sizeof(*events) - 1), EINVAL);
	CHECK_ERRNO(read(fd, events, sizeof(*events)), EAGAIN);
	CHECK_ERRNO(write(fd, events, sizeof(*events)), EBADF);
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), ESPIPE);
	CHECK_ERRNO(ioctl(fd, RFM_IOC_INFO, events), ENOTTY);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0),
		    ENODEV);

	/* Whole records only. */
	CHECK_EQ(send_event(RFM_EVENT_INT1, 1), 0);
	CHECK_EQ(send_event(RFM_EVENT_INT1, 2), 0);
	CHECK_EQ(send_event(RFM_EVENT_INT1, 3), 0);
	REQUIRE(witnessed(witness, 3));
	close(witness);
	CHECK_EQ(read(fd, events, 2 * sizeof(*events) + 7),
		 2 * sizeof(*events));
	CHECK_EQ(events[1].data, 2);
	CHECK_EQ(((unsigned char *)events)[2 * sizeof(*events)], 0xa5);

	/* A bad buffer loses nothing. */
	CHECK_ERRNO(read(fd, nowhere, sizeof(*events)), EFAULT);
	CHECK_EQ(read(fd, events, sizeof(*events)), sizeof(*events));
	CHECK_EQ(events[0].data, 3);
	CHECK_EQ(events[0].seq, 3);
	close(fd);
}

static void poll_and_epoll(void)
{
	int fd = listen_fresh(INT1), epoll = epoll_create1(0);
	struct epoll_event want = { .events = EPOLLIN | EPOLLET }, got;
	struct pollfd pollfd = { fd, POLLIN | POLLOUT, 0 };
	struct rfm_event event;

	REQUIRE(fd >= 0 && epoll >= 0);
	REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &want) == 0);
	CHECK_EQ(poll(&pollfd, 1, 0), 0);
	CHECK_EQ(epoll_wait(epoll, &got, 1, 0), 0);

	CHECK_EQ(send_event(RFM_EVENT_INT1, 1), 0);
	CHECK_EQ(epoll_wait(epoll, &got, 1, PATIENCE_MS), 1);
	CHECK_EQ(got.events, EPOLLIN);
	CHECK_EQ(poll(&pollfd, 1, 0), 1);
	CHECK_EQ(pollfd.revents, POLLIN);
	CHECK(next_event(fd, &event));
	CHECK_EQ(poll(&pollfd, 1, 0), 0);
	close(epoll);
	close(fd);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* A reader that sleeps is woken by an event, and by a signal. */
static void blocking_reads(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	int fd = listen_for(INT1, RFM_LISTEN_DISCARD, 0), status;
	struct rfm_event event;
	pid_t pid;

	REQUIRE(fd >= 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		while (!is_asleep(getppid()))
			;
		_exit(send_event(RFM_EVENT_INT1, 77) != 0);
	}
	CHECK_EQ(read(fd, &event, sizeof(event)), sizeof(event));
	CHECK_EQ(event.data, 77);
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

/*
 * Two processes read one descriptor: each event goes to one of them, and the
 * descriptor lives until both have closed it.
 */
static void forked_readers_share(void)
{
	enum { EVENTS = 60 };
	int fd = listen_for(INT1, RFM_LISTEN_DISCARD, 0), pipes[2];
	unsigned char seen[EVENTS] = {};
	struct rfm_event event;
	unsigned int i;
	pid_t pids[2];

	REQUIRE(fd >= 0 && pipe(pipes) == 0);
	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		REQUIRE(pids[i] >= 0);
		if (pids[i])
			continue;
		while (read(fd, &event, sizeof(event)) == sizeof(event))
			if (write(pipes[1], &event.data, 4) != 4)
				_exit(1);
		_exit(1);
	}
	close(fd);
	for (i = 0; i < EVENTS; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, i), 0);
	for (i = 0; i < EVENTS; i++) {
		uint32_t data;

		REQUIRE(read(pipes[0], &data, 4) == 4);
		REQUIRE(data < EVENTS);
		seen[data]++;
	}
	for (i = 0; i < EVENTS; i++)
		CHECK_EQ(seen[i], 1);
	for (i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* Sends a descriptor through a socket to another process, which reads it. */
static void descriptor_can_be_passed(void)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	struct rfm_event event;
	int sockets[2], fd, status;
	struct cmsghdr *cmsg;
	pid_t pid;

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		if (recvmsg(sockets[1], &msg, 0) != 1)
			_exit(1);
		cmsg = CMSG_FIRSTHDR(&msg);
		if (!cmsg)
			_exit(2);
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
		_exit(next_event(fd, &event) && event.data == 91 ? 0 : 3);
	}

	fd = listen_fresh(INT1);
	REQUIRE(fd >= 0);
	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(sockets[0], &msg, 0), 1);
	close(fd);
	sleep_ms(50);
	CHECK_EQ(send_event(RFM_EVENT_INT1, 91), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	close(sockets[0]);
	close(sockets[1]);
}

/*
 * A neighbour that sends without pause, all types at once. What the card or a
 * queue cannot take is lost, but the machine stays usable, the counts agree,
 * and afterwards everything works as before.
 */
static void storm(void)
{
	enum { SENT = 20000, END = SENT };
	int fd = listen_for(INTS, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD, 64);
	static struct rfm_event events[64];
	uint64_t got = 0, seq = 0, dropped = 0;
	struct pollfd pollfd = { fd, POLLIN, 0 };
	unsigned int i, wrong = 0, ends = 0;
	bool done = false, ended = false;
	int status;
	pid_t pid;

	REQUIRE(fd >= 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		for (i = 0; i < SENT; i++)
			if (send_event(RFM_EVENT_INT1 + i % 4, i))
				_exit(1);
		_exit(0);
	}
	for (;;) {
		ssize_t len = read(fd, events, sizeof(events));

		for (i = 0; len > 0 && i < len / sizeof(*events); i++) {
			got++;
			wrong += events[i].seq <= seq;
			wrong += events[i].seq != got + events[i].dropped;
			seq = events[i].seq;
			dropped = events[i].dropped;
			ended |= events[i].data == END;
		}
		if (ended)
			break;
		if (!done && waitpid(pid, &status, WNOHANG) == pid) {
			CHECK_EQ(status, 0);
			settle();
			done = true;
		} else if (done && !poll(&pollfd, 1, 200)) {
			CHECK_EQ(send_event(RFM_EVENT_INT1, END), 0);
			ends++;
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK(got > 1 && seq <= SENT + ends);
	tap_note("%u sent, %llu heard, %llu dropped in the queue", SENT,
		 (unsigned long long)got, (unsigned long long)dropped);
	close(fd);
}

/* Listeners come and go while interrupts arrive. */
static void coming_and_going(void)
{
	struct rfm_event event;
	unsigned int i;
	int fd, status;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		for (i = 0;; i++)
			send_event(RFM_EVENT_INT1 + i % 4, i);
	}
	for (i = 0; i < 500; i++) {
		fd = listen_for(INTS, RFM_LISTEN_NONBLOCK, 1 + i % 7);
		REQUIRE(fd >= 0);
		if (read(fd, &event, sizeof(event)) == sizeof(event))
			CHECK((event.type >= RFM_EVENT_INT1 &&
			       event.type <= RFM_EVENT_INT4) ||
			      event.type == RFM_EVENT_DROPPED);
		close(fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	discard_all();
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(each_type_arrives),
		TAP_CASE(to_all_nodes),
		TAP_CASE(not_for_us),
		TAP_CASE(refused_sends_send_nothing),
		TAP_CASE(order_is_kept),
		TAP_CASE(data_comes_first),
		TAP_CASE(full_queues_drop_and_count),
		TAP_CASE(queues_wrap),
		TAP_CASE(backlog_goes_to_the_first),
		TAP_CASE(backlog_is_as_deep_as_the_card),
		TAP_CASE(backlog_can_be_discarded),
		TAP_CASE(two_listeners_get_copies),
		TAP_CASE(no_listener_no_interrupts),
		TAP_CASE(descriptor_flags),
		TAP_CASE(misuse_of_the_descriptor),
		TAP_CASE(poll_and_epoll),
		TAP_CASE(blocking_reads),
		TAP_CASE(forked_readers_share),
		TAP_CASE(descriptor_can_be_passed),
		TAP_CASE(storm),
		TAP_CASE(coming_and_going),
	};

	listen_open(argc, argv);
	return TAP_RUN(cases);
}
