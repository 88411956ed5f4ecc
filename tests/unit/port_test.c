// SPDX-License-Identifier: MIT
/* One end of a fibre. links: ring/host/loop.c ring/host/address.c ring/host/port.c
 * links: ring/host/port-rx.c ring/host/port-tls.c ring/host/port-tx.c */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ring/frame.h"
#include "ring/host/port-private.h"
#include "ring/shm.h"

static char address[64], server[128];

/* Instead of the C library's: nobody here waits for long times to pass. */
static uint64_t ahead_s;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += ahead_s;
	return result;
}

/* What stands behind a port: gives out numbered frames, takes them in, counts. */
struct end {
	struct rfm_port *port;
	uint64_t to_send, sent, came, bad;
	bool light, up;
	unsigned int complaints;
	char said[RFM_PORT_SENTENCE];
};

static struct rfm_link_self end_self(void *opaque)
{
	(void)opaque;
	return (struct rfm_link_self){ .id = 7, .incarnation = 1, .memory_size = 4096 };
}

static void end_light(void *opaque, bool on, uint64_t now)
{
	(void)now;
	((struct end *)opaque)->light = on;
}

static void end_frame(void *opaque, uint8_t *wire, unsigned int len, uint64_t now)
{
	struct end *end = opaque;
	struct rfm_frame frame;

	(void)len;
	(void)now;
	assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_OK);
	assert_int_equal(frame.seq, ++end->came);
}

static void end_bad(void *opaque)
{
	((struct end *)opaque)->bad++;
}

static void end_downstream(void *opaque, bool up, uint64_t now)
{
	(void)now;
	((struct end *)opaque)->up = up;
}

static bool end_light_out(void *opaque)
{
	(void)opaque;
	return true;
}

static unsigned int end_pull(void *opaque, uint8_t *wire, uint64_t now)
{
	struct end *end = opaque;
	struct rfm_frame frame = { .type = RFM_FRAME_DATA, .source = 7, .incarnation = 1,
				   .length = 64, .hops = 1 };

	(void)now;
	if (!end->up || end->sent == end->to_send)
		return 0;
	frame.seq = ++end->sent;
	return rfm_frame_encode(&frame, wire);
}

static void end_log(void *opaque, const char *sentence)
{
	struct end *end = opaque;

	end->complaints++;
	snprintf(end->said, sizeof(end->said), "%s", sentence);
}

static const struct rfm_link_ops link_ops = {
	.self = end_self,
	.light = end_light,
	.frame = end_frame,
	.bad = end_bad,
	.downstream = end_downstream,
	.light_out = end_light_out,
	.pull = end_pull,
};

static const struct rfm_port_ops port_ops = { .log = end_log };

static void open_end(struct rfm_loop *loop, struct end *end, struct rfm_port_config config)
{
	char error[RFM_PORT_SENTENCE];

	*end = (struct end){ .to_send = 0 };
	end->port = rfm_port_open(loop, &config, &link_ops, &port_ops, end, error);
	if (!end->port)
		fail_msg("%s", error);
}

static void open_sender(struct rfm_loop *loop, struct end *tx, struct rfm_port_config config)
{
	config.address = address;
	config.sending = true;
	open_end(loop, tx, config);
}

static void open_both(struct rfm_loop *loop, struct end *tx, struct end *rx,
		      struct rfm_port_config config)
{
	config.address = server;
	open_end(loop, rx, config);
	open_sender(loop, tx, config);
	while (!tx->up || !rx->light)
		rfm_loop_once(loop, RFM_NEVER);
}

static void close_both(struct rfm_loop *loop, struct end *tx, struct end *rx)
{
	rfm_port_close(tx->port);
	rfm_port_close(rx->port);
	rfm_loop_free(loop);
}

static void send_frames(struct rfm_loop *loop, struct end *tx, struct end *rx, uint64_t count)
{
	tx->to_send += count;
	rfm_port_kick(tx->port);
	while (rx->came < tx->to_send)
		rfm_loop_once(loop, RFM_NEVER);
}

/* --- tests ------------------------------------------------------------------------ */

static void frames_come_through_every_kind_of_link(void **state)
{
	static const struct rfm_port_config kinds[] = {
		{ .slots = 0 },
		{ .slots = 64 },
		{ .stream_only = true },
		{ .stream_only = true, .socket_buffer = 1 },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct rfm_loop *loop = rfm_loop_new();
		struct end tx, rx;

		open_both(loop, &tx, &rx, kinds[i]);
		send_frames(loop, &tx, &rx, 5000);
		send_frames(loop, &tx, &rx, 1);
		assert_int_equal(rfm_port_info(rx.port).frames, 5001);
		assert_int_equal(rfm_port_info(tx.port).frames, 5001);
		assert_int_equal(rfm_port_info(rx.port).shm, !kinds[i].stream_only);
		assert_int_equal(rfm_port_info(rx.port).peer.id, 7);
		assert_int_equal(tx.complaints + rx.complaints, 0);
		close_both(loop, &tx, &rx);
	}
}

/* Alone, so that nothing else wakes the consumer: not even the light, which is said again later. */
static void a_sleeper_hears_in_time_of_what_came_home(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct end tx, rx;
	uint64_t sent;

	(void)state;
	open_both(loop, &tx, &rx, (struct rfm_port_config){ .slots = 0 });
	send_frames(loop, &tx, &rx, 1);
	while (rfm_loop_once(loop, rfm_now() + 1000000))
		/* until all sleep */;
	assert_true(rfm_shm_wait_data(&rx.port->shm, 1000));
	tx.to_send++;
	rfm_port_kick(tx.port);
	while (tx.sent < tx.to_send)
		rfm_loop_once(loop, RFM_NEVER);
	sent = tx.port->tx.last_sent_ns;
	assert_int_equal(rx.came, 1);
	while (rx.came < tx.to_send)
		rfm_loop_once(loop, RFM_NEVER);
	assert_int_equal(tx.port->tx.last_sent_ns, sent);
	close_both(loop, &tx, &rx);
}

static int connect_raw(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", address + strlen("unix:"));
	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

static void run_for(struct rfm_loop *loop, uint64_t ms)
{
	uint64_t until = rfm_now() + ms * 1000000;

	while (rfm_now() < until)
		rfm_loop_once(loop, until);
}

/* What a neighbour had sent before it died was sent. */
static void what_was_sent_before_the_end_arrives(void **state)
{
	struct rfm_loop *loop = rfm_loop_new(), *other = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end tx, rx;

	(void)state;
	open_end(loop, &rx, config);
	open_sender(other, &tx, config);
	while (!tx.up || !rx.light) {
		rfm_loop_once(other, 0);
		rfm_loop_once(loop, 0);
	}
	/* The receiver sleeps, and learns of the frames and of the end at the same time. */
	run_for(loop, 5);
	tx.to_send = 300;
	rfm_port_kick(tx.port);
	while (tx.sent < 300)
		rfm_loop_once(other, 0);
	rfm_loop_once(other, 0);
	rfm_port_close(tx.port);
	while (rx.light)
		rfm_loop_once(loop, RFM_NEVER);
	assert_int_equal(rx.came, 300);
	rfm_port_close(rx.port);
	rfm_loop_free(loop);
	rfm_loop_free(other);
}

/* Whoever talks nonsense is told off once, however often; the neighbour comes through. */
static void strangers_are_turned_away_once(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end rx, tx;
	char byte;

	(void)state;
	open_end(loop, &rx, config);
	for (unsigned int i = 0; i < 3; i++) {
		int fd = connect_raw();

		assert_int_equal(send(fd, "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
		while (rfm_port_info(rx.port).refused == i)
			rfm_loop_once(loop, RFM_NEVER);
		assert_true(recv(fd, &byte, 1, 0) <= 0);
		close(fd);
	}
	assert_int_equal(rx.complaints, 1);
	assert_non_null(strstr(rx.said, "rx: "));
	open_sender(loop, &tx, config);
	while (!rx.light)
		rfm_loop_once(loop, RFM_NEVER);
	close_both(loop, &tx, &rx);
}

/* A proper neighbour as far as its greeting, which then sends what is no frame. */
static void greet_and_spoil(struct rfm_loop *loop, struct end *rx)
{
	uint64_t refused = rfm_port_info(rx->port).refused;
	struct end peer = { .to_send = 0 };
	static const char nonsense[RFM_FRAME_MAX] = "GET / HTTP/1.0\r\n";
	uint8_t out[RFM_LINK_BATCH];
	struct rfm_link_tx link;
	ssize_t len;
	int fd = connect_raw();

	rfm_link_tx_init(&link, &link_ops, &peer);
	rfm_link_tx_opened(&link, false, rfm_now());
	len = rfm_link_tx_output(&link, out, rfm_now());
	assert_int_equal(send(fd, out, len, MSG_NOSIGNAL), len);
	while (!rfm_port_info(rx->port).up)
		rfm_loop_once(loop, RFM_NEVER);
	assert_int_equal(send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL), sizeof(nonsense));
	while (rfm_port_info(rx->port).refused == refused)
		rfm_loop_once(loop, RFM_NEVER);
	close(fd);
}

/* It is up again each time, and that is no reason to tell of it again each time. */
static void a_fault_that_comes_back_is_told_once(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end rx, tx;
	int fd;

	(void)state;
	open_end(loop, &rx, config);
	for (unsigned int i = 0; i < 3; i++)
		greet_and_spoil(loop, &rx);
	assert_int_equal(rx.complaints, 1);

	/* Another one is news. */
	fd = connect_raw();
	assert_int_equal(send(fd, "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
	while (rx.complaints == 1)
		rfm_loop_once(loop, RFM_NEVER);
	close(fd);
	greet_and_spoil(loop, &rx);
	assert_int_equal(rx.complaints, 3);

	/* And so is the same one behind a good connection, not behind a short one. */
	for (unsigned int good = 0; good < 2; good++) {
		open_sender(loop, &tx, config);
		while (!tx.up || !rx.light)
			rfm_loop_once(loop, RFM_NEVER);
		ahead_s += good * 10;
		rfm_port_close(tx.port);
		while (rfm_port_info(rx.port).connected)
			rfm_loop_once(loop, RFM_NEVER);
		greet_and_spoil(loop, &rx);
		assert_int_equal(rx.complaints, 3 + good);
	}
	rfm_port_close(rx.port);
	rfm_loop_free(loop);
}

/* One that connects while there is a neighbour waits, and disturbs nobody. */
static void a_second_neighbour_waits(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .slots = 0 };
	struct end tx, rx, second;

	(void)state;
	open_both(loop, &tx, &rx, config);
	open_sender(loop, &second, config);
	run_for(loop, 50);
	assert_false(second.up);
	send_frames(loop, &tx, &rx, 100);
	rx.came = 0;
	rfm_port_close(tx.port);
	while (!second.up)
		rfm_loop_once(loop, RFM_NEVER);
	send_frames(loop, &second, &rx, 100);
	assert_int_equal(second.complaints, 0);
	close_both(loop, &second, &rx);
}

/* As a neighbour that offers shared memory sends its first bytes. */
static void send_descriptors(int fd, uint8_t *bytes, size_t length, const int fds[3])
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control = { .space = { 0 } };
	struct iovec iov = { .iov_base = bytes, .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(3 * sizeof(int));
	memcpy(CMSG_DATA(&control.align), fds, 3 * sizeof(int));
	assert_int_equal(sendmsg(fd, &msg, 0), length);
}

/* Descriptors that are no shared memory: the link goes on over the stream. */
static void bad_descriptors_mean_a_stream(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct rfm_link_tx link;
	struct end rx, peer = { .to_send = 0 };
	uint8_t out[RFM_LINK_BATCH], in[RFM_LINK_MESSAGE];
	int fd, len, fds[3];

	(void)state;
	open_end(loop, &rx, config);
	fd = connect_raw();
	rfm_link_tx_init(&link, &link_ops, &peer);
	rfm_link_tx_opened(&link, true, rfm_now());
	for (unsigned int i = 0; i < 3; i++)
		fds[i] = open("/dev/null", O_RDWR);
	send_descriptors(fd, out, rfm_link_tx_output(&link, out, rfm_now()), fds);
	while (!rfm_port_info(rx.port).up)
		rfm_loop_once(loop, RFM_NEVER);
	assert_false(rfm_port_info(rx.port).shm);
	assert_int_equal(recv(fd, in, sizeof(in), 0), RFM_LINK_MESSAGE);
	assert_null(rfm_link_tx_received(&link, in, sizeof(in), rfm_now()));
	assert_false(link.shm);
	peer.to_send = 3;
	len = rfm_link_tx_output(&link, out, rfm_now());
	assert_int_equal(send(fd, out, len, 0), len);
	while (rx.came < 3)
		rfm_loop_once(loop, RFM_NEVER);
	for (unsigned int i = 0; i < 3; i++)
		close(fds[i]);
	close(fd);
	rfm_port_close(rx.port);
	rfm_loop_free(loop);
}

/* A neighbour that hands over shared memory, wakes us by it, then greets as one that has none. */
static void who_wakes_before_the_greeting_harms_nobody(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end rx, peer = { .to_send = 0 };
	uint8_t out[RFM_LINK_BATCH], in[RFM_LINK_MESSAGE];
	struct rfm_link_tx link;
	struct rfm_shm shm;
	int fd, len;

	(void)state;
	open_end(loop, &rx, config);
	fd = connect_raw();
	rfm_link_tx_init(&link, &link_ops, &peer);
	rfm_link_tx_opened(&link, false, rfm_now());
	len = rfm_link_tx_output(&link, out, rfm_now());
	assert_int_equal(rfm_shm_create(&shm, 64), 0);
	send_descriptors(fd, out, 1, shm.offer);
	while (!rfm_shm_is_open(&rx.port->shm))
		rfm_loop_once(loop, RFM_NEVER);
	/* It sleeps, and is told of both at once, of the wake-up first. */
	while (rfm_loop_once(loop, rfm_now() + 1000000))
		;
	assert_int_equal(send(shm.fds[1], "", 1, 0), 1);
	assert_int_equal(send(fd, out + 1, len - 1, 0), len - 1);
	while (!rfm_port_info(rx.port).up)
		rfm_loop_once(loop, RFM_NEVER);
	assert_false(rfm_port_info(rx.port).shm);
	assert_int_equal(recv(fd, in, sizeof(in), 0), RFM_LINK_MESSAGE);
	assert_null(rfm_link_tx_received(&link, in, sizeof(in), rfm_now()));
	peer.to_send = 3;
	len = rfm_link_tx_output(&link, out, rfm_now());
	assert_int_equal(send(fd, out, len, 0), len);
	while (rx.came < 3)
		rfm_loop_once(loop, RFM_NEVER);
	rfm_shm_close(&shm);
	close(fd);
	rfm_port_close(rx.port);
	rfm_loop_free(loop);
}

/* A neighbour that says nothing is given up at the deadline, and room made for the next. */
static void a_silent_stranger_does_not_block_the_port(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end rx, tx;
	int fd;

	(void)state;
	open_end(loop, &rx, config);
	fd = connect_raw();
	run_for(loop, 10);
	/* The neighbour comes when the stranger's time is over, and its own begins. */
	ahead_s += 2;
	open_sender(loop, &tx, config);
	while (!rx.light)
		rfm_loop_once(loop, RFM_NEVER);
	assert_int_equal(rfm_port_info(rx.port).refused, 1);
	close(fd);
	close_both(loop, &tx, &rx);
}

/* A neighbour that stands still and goes on, again and again, is missed each time. */
static void each_silence_is_noticed(void **state)
{
	struct rfm_loop *loop = rfm_loop_new(), *other = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end tx, rx;
	uint64_t until;

	(void)state;
	open_end(loop, &rx, config);
	open_sender(other, &tx, config);
	for (unsigned int round = 0; round < 2; round++) {
		until = rfm_now() + PATIENCE_MS * 1000000ull;
		while ((!tx.up || !rx.light) && rfm_now() < until) {
			rfm_loop_once(other, rfm_now() + 10000000);
			rfm_loop_once(loop, rfm_now() + 10000000);
		}
		assert_true(tx.up && rx.light);
		/* A receiver that stood still itself, on a busy machine, counts anew. */
		until = rfm_now() + 30 * RFM_LINK_SILENCE_NS;
		while (rx.light && rfm_now() < until)
			rfm_loop_once(loop, until);
		assert_false(rx.light);
		assert_false(rfm_port_info(rx.port).lit);
	}
	rfm_port_close(tx.port);
	rfm_port_close(rx.port);
	rfm_loop_free(loop);
	rfm_loop_free(other);
}

/* A neighbour that cannot be taken for want of descriptors costs no CPU time, and comes later. */
static void no_descriptor_for_a_neighbour(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct rlimit before, none;
	unsigned int rounds = 0;
	struct end rx;
	uint64_t until;
	int fd;

	(void)state;
	open_end(loop, &rx, config);
	rfm_loop_once(loop, 0);
	fd = connect_raw();
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	for (until = rfm_now() + 1000000000; rfm_now() < until; rounds++)
		rfm_loop_once(loop, until);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_true(rounds < 100);
	assert_false(rfm_port_info(rx.port).connected);
	assert_non_null(strstr(rx.said, "cannot take a neighbour on"));
	assert_int_equal(rx.complaints, 1);
	while (!rfm_port_info(rx.port).connected)
		rfm_loop_once(loop, RFM_NEVER);
	close(fd);
	rfm_port_close(rx.port);
	rfm_loop_free(loop);
}

/* Does somebody listen on the path that is about to go? */
static struct {
	unsigned int removed, listening;
} removals;

int unlink(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	removals.removed++;
	removals.listening += !connect(fd, (struct sockaddr *)&name, sizeof(name));
	close(fd);
	return unlinkat(AT_FDCWD, path, 0);
}

/* Between the two another process might take a name that nobody listens on. */
static void the_name_goes_before_the_socket(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct rfm_port_config config = { .address = server };
	struct end rx;

	(void)state;
	open_end(loop, &rx, config);
	removals.removed = removals.listening = 0;
	rfm_port_close(rx.port);
	assert_int_equal(removals.removed, 1);
	assert_int_equal(removals.listening, 1);
	rfm_loop_free(loop);
}

/* --- names of hosts --------------------------------------------------------------- */

static struct {
	atomic_uint asked;
	sem_t go_on;		/* slow.test is not known before */
} names;

static struct addrinfo *place(const char *number, const char *service, struct addrinfo *next)
{
	struct sockaddr_in *name = calloc(1, sizeof(*name));
	struct addrinfo *info = calloc(1, sizeof(*info));

	name->sin_family = AF_INET;
	name->sin_port = htons(atoi(service));
	inet_aton(number, &name->sin_addr);
	*info = (struct addrinfo){
		.ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM,
		.ai_addr = (struct sockaddr *)name,
		.ai_addrlen = sizeof(*name),
		.ai_next = next,
	};
	return info;
}

void freeaddrinfo(struct addrinfo *info)
{
	while (info) {
		struct addrinfo *next = info->ai_next;

		free(info->ai_addr);
		free(info);
		info = next;
	}
}

/* Instead of the system's: two.test is at two places, and nobody is at the first one. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **found)
{
	struct in_addr number;

	if (!host || inet_aton(host, &number)) {
		*found = place(host ? host : "0.0.0.0", service, NULL);
		return 0;
	}
	if (hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	names.asked++;
	if (!strcmp(host, "slow.test"))
		sem_wait(&names.go_on);
	if (!strcmp(host, "nowhere.test"))
		return EAI_NONAME;
	*found = place("127.0.0.2", service, place("127.0.0.1", service, NULL));
	return 0;
}

static unsigned int free_port(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	getsockname(fd, (struct sockaddr *)&name, &len);
	close(fd);
	return ntohs(name.sin_port);
}

/* A receiving end on 127.0.0.1, and a sending one that knows it by @host. */
static void open_by_name(struct rfm_loop *loop, struct end *tx, struct end *rx, const char *host)
{
	struct rfm_port_config config = { .slots = 0 };
	unsigned int number = free_port();
	char text[64];

	atomic_store(&names.asked, 0);
	snprintf(text, sizeof(text), "tcp:127.0.0.1:%u,server", number);
	config.address = text;
	open_end(loop, rx, config);
	snprintf(text, sizeof(text), "tcp:%s:%u", host, number);
	config.sending = true;
	open_end(loop, tx, config);
}

/* Does no frame wait for the acknowledgement of the one before? */
static bool has_nodelay(int fd)
{
	socklen_t len = sizeof(int);
	int on = 0;

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	return on;
}

static void every_place_of_a_name_is_tried(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	uint64_t until = rfm_now() + PATIENCE_MS * 1000000ull;
	struct end tx, rx;

	(void)state;
	open_by_name(loop, &tx, &rx, "two.test");
	while ((!tx.up || !rx.light) && rfm_now() < until)
		rfm_loop_once(loop, until);
	assert_true(tx.up && rx.light);
	assert_true(has_nodelay(tx.port->fd) && has_nodelay(rx.port->fd));
	assert_int_equal(names.asked, 1);
	send_frames(loop, &tx, &rx, 10);
	close_both(loop, &tx, &rx);
}

/* A server of names that does not answer holds up nobody, and is not asked again and again. */
static void a_slow_name_holds_up_nobody(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct end tx, rx;

	(void)state;
	alarm(60);		/* the test has failed if the loop waits for the name */
	open_by_name(loop, &tx, &rx, "slow.test");
	while (!names.asked)
		run_for(loop, 1);
	run_for(loop, 500);
	assert_false(tx.up);
	assert_int_equal(names.asked, 1);
	assert_int_equal(tx.complaints, 0);
	sem_post(&names.go_on);
	while (!tx.up || !rx.light)
		rfm_loop_once(loop, RFM_NEVER);
	alarm(0);
	close_both(loop, &tx, &rx);
	/* Closed while it is being looked up: the answer goes nowhere. */
	loop = rfm_loop_new();
	open_by_name(loop, &tx, &rx, "slow.test");
	while (!names.asked)
		run_for(loop, 1);
	close_both(loop, &tx, &rx);
	sem_post(&names.go_on);
}

static void a_name_that_nobody_knows_is_told_once(void **state)
{
	struct rfm_loop *loop = rfm_loop_new();
	struct end tx, rx;

	(void)state;
	open_by_name(loop, &tx, &rx, "nowhere.test");
	while (!tx.complaints)
		run_for(loop, 1);
	run_for(loop, 500);
	assert_int_equal(tx.complaints, 1);
	assert_non_null(strstr(tx.said, "cannot find the host of tcp:nowhere.test:"));
	assert_int_equal(names.asked, 1);
	close_both(loop, &tx, &rx);
}

static void addresses(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "unix:/a", NULL }, { "unix:/a,server", NULL }, { "tcp:host:1", NULL },
		{ "tcp:[::1]:65535,server", NULL }, { "tcp::80,server", NULL },
		{ "", "empty" }, { NULL, "empty" }, { "/a", "unix: or tcp:" }, { "unix:", "no path" },
		{ "unix:/a,wait", "server" }, { "tcp:host", "port" }, { "tcp:host:65536", "port" },
		{ "tcp:host:x", "port" }, { "tcp::80", "no host" }, { "tcp:[::1:80", "brackets" },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = rfm_port_address_check(cases[i].text);

		if (!cases[i].says)
			assert_null(why);
		else if (!why || !strstr(why, cases[i].says))
			fail_msg("'%s': %s", cases[i].text, why);
	}
}

static int make_folder(void **state)
{
	static char folder[32];

	strcpy(folder, "/tmp/rfm-port-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(address, sizeof(address), "unix:%s/p", folder);
	snprintf(server, sizeof(server), "%s,server", address);
	*state = folder;
	return 0;
}

static int remove_folder(void **state)
{
	return rmdir(*state);
}

/* What one leaves behind is not in another's way. */
#define port_test(test)	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		port_test(frames_come_through_every_kind_of_link),
		port_test(a_sleeper_hears_in_time_of_what_came_home),
		port_test(what_was_sent_before_the_end_arrives),
		port_test(strangers_are_turned_away_once),
		port_test(a_fault_that_comes_back_is_told_once),
		port_test(a_second_neighbour_waits),
		port_test(bad_descriptors_mean_a_stream),
		port_test(who_wakes_before_the_greeting_harms_nobody),
		port_test(a_silent_stranger_does_not_block_the_port),
		port_test(each_silence_is_noticed),
		port_test(no_descriptor_for_a_neighbour),
		port_test(the_name_goes_before_the_socket),
		port_test(every_place_of_a_name_is_tried),
		port_test(a_slow_name_holds_up_nobody),
		port_test(a_name_that_nobody_knows_is_told_once),
		port_test(addresses),
	};

	return sem_init(&names.go_on, 0, 0) || cmocka_run_group_tests(tests, NULL, NULL);
}
