/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two cards on one ring, both in this machine: the first talks, the second
 * hears.
 */
#ifndef LISTEN_H
#define LISTEN_H

#include <poll.h>

#include "tap.h"
#include "card.h"

#define INTS (RFM_EVENT_BIT(RFM_EVENT_INT1) | RFM_EVENT_BIT(RFM_EVENT_INT2) | \
	      RFM_EVENT_BIT(RFM_EVENT_INT3) | RFM_EVENT_BIT(RFM_EVENT_INT4))
#define INT1 RFM_EVENT_BIT(RFM_EVENT_INT1)
#define INT2 RFM_EVENT_BIT(RFM_EVENT_INT2)
#define RESET RFM_EVENT_BIT(RFM_EVENT_RESET)

static int talker, hearer;
static const char *hearer_path;
static struct rfm_info talker_info, hearer_info;

static int send_to(unsigned int node, unsigned int type, uint32_t data)
{
	struct rfm_send args = { node, type, data, 0 };

	return ioctl(talker, RFM_IOC_SEND, &args);
}

static int send_event(unsigned int type, uint32_t data)
{
	return send_to(hearer_info.node, type, data);
}

static int listen_for(uint32_t types, uint32_t flags, uint32_t depth)
{
	struct rfm_listen args = { types, flags, depth, 0 };

	return ioctl(hearer, RFM_IOC_LISTEN, &args);
}

/* The usual listener: nothing old, never blocks. */
static int listen_fresh(uint32_t types)
{
	return listen_for(types, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD, 0);
}

/*
 * Reads one event, waiting for it. Everything in the record is prefilled, so a
 * field that the driver forgets shows.
 */
static bool next_event(int fd, struct rfm_event *event)
{
	struct pollfd pollfd = { fd, POLLIN, 0 };

	memset(event, 0xa5, sizeof(*event));
	return poll(&pollfd, 1, PATIENCE_MS) == 1 &&
	       read(fd, event, sizeof(*event)) == sizeof(*event);
}

/*
 * Reads from a listener until the event with @data has come. It is then in the
 * queues of the others too, who are told of each event at the same time.
 */
__attribute__((unused))
static bool witnessed(int fd, uint32_t data)
{
	struct rfm_event event;

	while (next_event(fd, &event))
		if (event.data == data)
			return true;
	return false;
}

/* Nothing comes within a moment. */
__attribute__((unused))
static bool silent(int fd)
{
	struct pollfd pollfd = { fd, POLLIN, 0 };

	return poll(&pollfd, 1, 100) == 0;
}

/* When a ring test has come home, whatever was sent before it has arrived. */
static void settle(void)
{
	struct rfm_ring_test test = { .timeout_ms = 10000 };

	if (ioctl(talker, RFM_IOC_RING_TEST, &test))
		tap_note("ring test: %s", strerror(errno));
	sleep_ms(20);
}

static void discard_all(void)
{
	settle();
	close(listen_fresh(INTS | RESET));
}

/* Opens both; ends the program without. */
static void listen_open(int argc, char **argv)
{
	const char *first = card_path(argc, argv, 0);
	const char *second = card_path(argc, argv, 1);
	struct rfm_ring_test ring = { .timeout_ms = 10000 };

	if (!second)
		tap_skip_all("wants two cards on one ring");
	talker = open(first, O_RDWR);
	hearer = open(second, O_RDWR);
	hearer_path = second;
	if (talker < 0 || card_info(talker, &talker_info) ||
	    hearer < 0 || card_info(hearer, &hearer_info)) {
		tap_note("%s, %s: %s", first, second, strerror(errno));
		exit(TAP_FAIL);
	}
	if (talker_info.node == hearer_info.node)
		tap_skip_all("both cards have node id %u", talker_info.node);
	if (ioctl(talker, RFM_IOC_RING_TEST, &ring)) {
		tap_note("the ring is open: %s", strerror(errno));
		exit(TAP_FAIL);
	}
	discard_all();
}

#endif /* LISTEN_H */
