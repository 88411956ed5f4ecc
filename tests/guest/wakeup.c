// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long until a sleeper on another node wakes up? There and back, between
 * two nodes, by an update of watched memory and by a UDP datagram:
 *
 *	wakeup answer-watch DEVICE OFFSET	on one node, until it is killed
 *	wakeup ask-watch DEVICE OFFSET COUNT	on the other
 *	wakeup answer-udp PORT
 *	wakeup ask-udp ADDRESS PORT COUNT
 *
 * At OFFSET there are two granules: the question, stored by the one who asks,
 * and the answer. Both sides sleep in read() on a watch, or in recv(). `ask`
 * prints half of the round trip: minimum, median, 99th percentile and maximum,
 * in ns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "card.h"

#define WARM_UP		50	/* rounds that do not count */

/**
 * struct line - one way of asking
 * @fd: to sleep on: a watch or a socket
 * @out: where to store, NULL for a socket
 * @peer: where to send, for a socket
 */
struct line {
	int fd;
	volatile uint64_t *out;
	struct sockaddr_in peer;
};

static int fail(const char *what)
{
	fprintf(stderr, "wakeup: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Watches granule @in of the two and stores into the other. */
static int open_watch(struct line *line, const char *device, uint64_t offset, unsigned int in)
{
	struct rfm_range range = { offset + in * RFM_GRANULE, 8 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1 };
	int fd = open(device, O_RDWR);
	struct rfm_info info;
	char *map;

	if (fd < 0 || card_info(fd, &info))
		return fail(device);
	map = card_map(fd, info.window_size);
	if (!map)
		return fail("mmap");
	line->out = (volatile uint64_t *)(map + offset + !in * RFM_GRANULE);
	line->fd = ioctl(fd, RFM_IOC_WATCH, &watch);
	return line->fd < 0 ? fail("watch") : 0;
}

static int open_udp(struct line *line, const char *address, const char *port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(atoi(port)),
		.sin_addr.s_addr = address ? inet_addr(address) : INADDR_ANY,
	};

	line->fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (line->fd < 0)
		return fail("socket");
	line->peer = at;
	if (!address && bind(line->fd, (struct sockaddr *)&at, sizeof(at)))
		return fail("bind");
	return 0;
}

static int put(struct line *line, uint64_t number)
{
	if (line->out) {
		*line->out = number;
		return 0;
	}
	return sendto(line->fd, &number, sizeof(number), 0, (struct sockaddr *)&line->peer,
		      sizeof(line->peer)) == sizeof(number) ? 0 : fail("sendto");
}

/* Sleeps until something comes. */
static int get(struct line *line, uint64_t *number)
{
	socklen_t size = sizeof(line->peer);
	struct rfm_event event;

	if (!line->out)
		return recvfrom(line->fd, number, sizeof(*number), 0,
				(struct sockaddr *)&line->peer, &size) == sizeof(*number) ?
		       0 : fail("recvfrom");
	if (read(line->fd, &event, sizeof(event)) != sizeof(event))
		return fail("read");
	memcpy(number, event.bytes, sizeof(*number));
	return 0;
}

static int answer(struct line *line)
{
	uint64_t number;

	printf("ready\n");
	fflush(stdout);
	while (!get(line, &number))
		if (put(line, number))
			return 1;
	return 1;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int ask(struct line *line, unsigned int count)
{
	uint64_t *half = calloc(count, sizeof(*half)), number;

	if (!half || !count)
		return fail("count");
	for (unsigned int i = 0; i < WARM_UP + count; i++) {
		struct pollfd pollfd = { line->fd, POLLIN, 0 };
		uint64_t start = now_ns();

		if (put(line, i + 1))
			return 1;
		/* Only a lost datagram needs the patience. */
		if (!line->out && poll(&pollfd, 1, PATIENCE_MS) != 1)
			return fail("no answer");
		do {
			if (get(line, &number))
				return 1;
		} while (number != i + 1);
		if (i >= WARM_UP)
			half[i - WARM_UP] = (now_ns() - start) / 2;
	}
	qsort(half, count, sizeof(*half), compare);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", half[0], half[count / 2],
	       half[(uint64_t)count * 99 / 100], half[count - 1]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	struct line line = { .fd = -1 };

	if (argc == 4 && !strcmp(verb, "answer-watch"))
		return open_watch(&line, argv[2], strtoull(argv[3], NULL, 0), 0) || answer(&line);
	if (argc == 5 && !strcmp(verb, "ask-watch"))
		return open_watch(&line, argv[2], strtoull(argv[3], NULL, 0), 1) ||
		       ask(&line, atoi(argv[4]));
	if (argc == 3 && !strcmp(verb, "answer-udp"))
		return open_udp(&line, NULL, argv[2]) || answer(&line);
	if (argc == 5 && !strcmp(verb, "ask-udp"))
		return open_udp(&line, argv[2], argv[3]) || ask(&line, atoi(argv[4]));
	fprintf(stderr, "usage: wakeup answer-watch DEVICE OFFSET | ask-watch DEVICE OFFSET COUNT |\n"
			"              answer-udp PORT | ask-udp ADDRESS PORT COUNT\n");
	return 2;
}
