// SPDX-License-Identifier: MIT
/* The network that joins the machines anyway: datagrams to one and to a group, and TCP. */
#include "machines.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "line.h"
#include "tools/common/clock.h"

#define GROUP		"239.255.85.65"		/* of those that stay on a site */
#define LISTENERS	1

enum kind { UDP, MULTICAST, TCP, KINDS };

static struct bench_samples figures[KINDS] = {
	{ .name = "udp", .what = "UDP datagram to a blocked receiver", .bytes = 4 },
	{ .name = "multicast", .what = "UDP datagram to a group", .bytes = 4 },
	{ .name = "tcp", .what = "TCP to a blocked receiver", .bytes = 4 },
};

static int fail(const char *what)
{
	fprintf(stderr, "rmbench: %s: %s\n", what, strerror(errno));
	return 1;
}

/* --- how numbers go ---------------------------------------------------------------------- */

static int datagram_put(struct bench_line *line, uint32_t number)
{
	return sendto(line->in, &number, sizeof(number), 0, (struct sockaddr *)&line->peer,
		      sizeof(line->peer)) == sizeof(number) ? 0 : -1;
}

/* From anybody; what is no number is not ours. */
static int datagram_from(struct bench_line *line, struct sockaddr_in *from, uint32_t *number)
{
	for (;;) {
		socklen_t size = sizeof(*from);
		/* The length is that of the whole datagram, also if it is longer. */
		ssize_t got = recvfrom(line->in, number, sizeof(*number), MSG_TRUNC,
				       (struct sockaddr *)from, &size);

		if (got < 0)
			return -1;
		if (got == sizeof(*number))
			return 0;
	}
}

static int datagram_get(struct bench_line *line, uint32_t *number)
{
	struct sockaddr_in anybody;

	return datagram_from(line, &anybody, number);
}

/* Who asked gets the answer. */
static int question_get(struct bench_line *line, uint32_t *number)
{
	return datagram_from(line, &line->peer, number);
}

/* To whom nothing can be sent hears nothing; others may ask. */
static int answer_put(struct bench_line *line, uint32_t number)
{
	datagram_put(line, number);
	return 0;
}

static int stream_put(struct bench_line *line, uint32_t number)
{
	return send(line->in, &number, sizeof(number), MSG_NOSIGNAL) == sizeof(number) ? 0 : -1;
}

static int stream_get(struct bench_line *line, uint32_t *number)
{
	size_t have = 0;

	while (have < sizeof(*number)) {
		ssize_t got = recv(line->in, (char *)number + have, sizeof(*number) - have, 0);

		if (!got)
			errno = ECONNRESET;
		if (got <= 0 && !(got < 0 && errno == EINTR && have))
			return -1;
		have += got > 0 ? got : 0;
	}
	return 0;
}

/* --- sockets ----------------------------------------------------------------------------- */

static int without_delay(int fd)
{
	int on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* The group is on the network of this address of ours. */
static int to_group(int fd, struct in_addr own)
{
	uint8_t off = 0;

	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof(own)) ||
	       setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off));
}

static int open_line(struct bench_line *line, enum kind kind, struct in_addr own,
		     struct sockaddr_in there)
{
	line->in = socket(AF_INET, kind == TCP ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (line->in < 0)
		return -1;
	line->put = kind == TCP ? stream_put : datagram_put;
	line->get = kind == TCP ? stream_get : datagram_get;
	line->peer = there;
	switch (kind) {
	case TCP:
		return connect(line->in, (struct sockaddr *)&there, sizeof(there)) ||
		       without_delay(line->in);
	case MULTICAST:
		/* The port behind that of plain datagrams. */
		line->peer.sin_addr.s_addr = inet_addr(GROUP);
		line->peer.sin_port = htons(ntohs(there.sin_port) + 1);
		return to_group(line->in, own);
	default:
		return 0;
	}
}

/* Which of our addresses reaches that one? */
static int own_address(struct sockaddr_in there, struct in_addr *own)
{
	socklen_t size = sizeof(there);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), result = -1;

	if (fd >= 0 && !connect(fd, (struct sockaddr *)&there, sizeof(there)) &&
	    !getsockname(fd, (struct sockaddr *)&there, &size)) {
		*own = there.sin_addr;
		result = 0;
	}
	if (fd >= 0)
		close(fd);
	return result;
}

int bench_net(const struct bench_options *options, struct in_addr address, unsigned int port)
{
	struct sockaddr_in there = {
		.sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port),
	};
	struct bench_samples *wanted[KINDS];
	unsigned int count = bench_choose(options, figures, KINDS, wanted);
	uint64_t share;
	struct in_addr own;

	if (!count)
		return 2;
	share = options->seconds * 1e9 / count;
	if (own_address(there, &own))
		return fail("the network");
	line_start_ticking();
	for (unsigned int i = 0; i < count; i++) {
		struct bench_line line = { 0 };

		if (open_line(&line, wanted[i] - figures, own, there) ||
		    line_ask(&line, share, wanted[i])) {
			fprintf(stderr, "rmbench: %s: %s\n", wanted[i]->name,
				errno == ETIMEDOUT ? "nobody answers there" : strerror(errno));
			return 1;
		}
		close(line.in);
	}
	return bench_report(options, wanted, count);
}

/* --- the other end ----------------------------------------------------------------------- */

/* At an address of ours, or at that of the group: what comes to another is not for us. */
static int open_at(int type, struct in_addr address, unsigned int port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port),
	};
	int fd = socket(AF_INET, type, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return -1;
	return fd;
}

static int join(int fd, struct in_addr own)
{
	struct ip_mreq group = { { inet_addr(GROUP) }, own };

	return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
}

/* A process of its own, as it sleeps in a call of its own; it ends with us. */
static int serve_datagrams(int fd)
{
	struct bench_line line = { .put = answer_put, .get = question_get, .in = fd };
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -1 : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	line_answer(&line);
	_exit(1);
}

/* One asker after the other. */
static int serve_streams(int fd)
{
	struct bench_line line = { .put = stream_put, .get = stream_get };

	for (;;) {
		line.in = accept(fd, NULL, NULL);
		if (line.in < 0)
			return -1;
		if (!without_delay(line.in))
			line_answer(&line);
		close(line.in);
	}
}

int bench_net_answer(struct in_addr own, unsigned int port)
{
	int udp = open_at(SOCK_DGRAM, own, port), tcp = open_at(SOCK_STREAM, own, port);
	int group = open_at(SOCK_DGRAM, (struct in_addr){ inet_addr(GROUP) }, port + 1);

	if (udp < 0 || group < 0 || tcp < 0 || listen(tcp, LISTENERS))
		return fail("the address and the port");
	if (join(group, own))
		return fail("the network of this address");
	if (serve_datagrams(udp) || serve_datagrams(group))
		return fail("another process");
	printf("ready\n");
	fflush(stdout);
	serve_streams(tcp);
	return fail("TCP");
}
