// SPDX-License-Identifier: MIT
/* The receiving end of a port: frames from shared memory or the socket to its link. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/port-private.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- shared memory -------------------------------------------------------------- */

static unsigned int take_slots(struct rfm_port *port, unsigned int max, uint64_t now)
{
	unsigned int taken;
	const char *why = rfm_link_rx_drain(&port->rx, &port->shm, max, now, &taken);

	if (why)
		rfm_port_drop(port, why);
	return taken;
}

bool rfm_port_rx_poll(void *opaque, uint64_t now)
{
	struct rfm_port *port = opaque;

	return take_slots(port, RFM_PORT_BATCH, now);
}

bool rfm_port_rx_sleep(void *opaque)
{
	struct rfm_port *port = opaque;

	if (port->woken)
		rfm_shm_clear_wakeup(&port->shm, false);
	port->woken = false;
	return rfm_shm_wait_data(&port->shm, 1);
}

static void close_all(const int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

/* Descriptors have come with the first byte: the shared memory that is offered. */
static void take_descriptors(struct rfm_port *port, const int *fds, unsigned int count)
{
	const char *why;

	if (port->heard || port->stream_only || count != RFM_SHM_FDS) {
		close_all(fds, count);
		return;
	}
	why = rfm_shm_attach(&port->shm, fds);
	if (why)
		rfm_port_report(port, why);
	else if (rfm_port_watch_shm(port))
		rfm_link_rx_attached(&port->rx);
	else
		rfm_port_close_shm(port);
}

/* --- the socket ------------------------------------------------------------------ */

static ssize_t receive(struct rfm_port *port, void *buf, size_t size)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len;

	if (port->session)
		return rfm_port_receive(port, buf, size);
	len = recvmsg(port->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len < 0)
		return len;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		int fds[8];
		unsigned int count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		take_descriptors(port, fds, count);
	}
	return len;
}

/* The neighbour has gone. What it had sent before was sent. */
static void rx_ended(struct rfm_port *port, uint64_t now)
{
	const char *trouble = rfm_port_trouble(port);
	bool was_up = port->rx.agreed;

	if (port->rx.shm)
		take_slots(port, port->shm.size, now);
	rfm_port_drop(port, trouble ? trouble : was_up || !port->heard ? NULL :
		      "the upstream neighbour hung up in the middle of the handshake");
}

static void rx_agreed(struct rfm_port *port)
{
	if (port->rx.shm)
		rfm_poller_activate(&port->poller);
	else
		rfm_port_close_shm(port);
	rfm_port_mark_up(port);
}

void rfm_port_rx_ready(struct rfm_port *port, uint64_t now)
{
	uint8_t buf[RFM_LINK_BATCH];
	bool was_up = port->rx.agreed;
	ssize_t len = receive(port, buf, sizeof(buf));
	const char *why;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		rx_ended(port, now);
		return;
	}
	port->heard = true;
	why = rfm_link_rx_received(&port->rx, buf, len, now);
	if (port->rx.reply_length &&
	    rfm_port_send(port, port->rx.reply, port->rx.reply_length) !=
	    (ssize_t)port->rx.reply_length && !why)
		why = "the upstream neighbour does not take the answer to its greeting";
	if (why)
		rfm_port_drop(port, why);
	else if (!was_up && port->rx.agreed)
		rx_agreed(port);
}
