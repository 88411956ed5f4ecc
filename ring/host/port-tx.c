// SPDX-License-Identifier: MIT
/* The sending end of a port: frames from its link into shared memory or the socket. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/port-private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PACE_NS		2000u		/* of a busy line: frames this close go together */
#define BATCHES_A_TURN	4		/* of a stream */

/* --- what is there to send -------------------------------------------------------- */

/* There is no neighbour: the owner sees what it has go nowhere, and counts. */
static bool discard(struct rfm_port *port, uint64_t now)
{
	unsigned int count = rfm_link_tx_discard(&port->tx, RFM_PORT_BATCH, now);

	if (count < RFM_PORT_BATCH)
		rfm_poller_deactivate(&port->poller);
	return count;
}

/*
 * All that there is has been sent. A line that is paced has more later. While
 * it is busy, what comes within the next moment may as well go together.
 */
static void wait_for_line(struct rfm_port *port, bool busy, uint64_t now)
{
	uint64_t next;

	if (!port->ops || !port->ops->next_pull)
		return;
	next = port->ops->next_pull(port->opaque);
	if (busy && next < now + PACE_NS)
		next = now + PACE_NS;
	rfm_timer_set(port->loop, &port->pull_timer, next);
}

void rfm_port_pull_time(void *opaque, uint64_t now)
{
	struct rfm_port *port = opaque;

	(void)now;
	rfm_poller_activate(&port->poller);
}

void rfm_port_wake_time(void *opaque, uint64_t now)
{
	struct rfm_port *port = opaque;

	(void)now;
	rfm_shm_wake(&port->shm);
}

/* --- shared memory -------------------------------------------------------------- */

static bool fill_slots(struct rfm_port *port, uint64_t now)
{
	unsigned int sent;
	enum rfm_link_fill left = rfm_link_tx_fill(&port->tx, &port->shm, RFM_PORT_BATCH, now,
						   &sent);

	if (rfm_shm_owes_wake(&port->shm) && !port->wake_timer.on)
		rfm_timer_set(port->loop, &port->wake_timer, now + RFM_SHM_WAKE_NS);
	port->full = left == RFM_LINK_FULL;
	if (left == RFM_LINK_BROKEN) {
		rfm_port_drop(port, "the downstream neighbour has spoilt the shared memory");
		return true;
	}
	if (left == RFM_LINK_DRY) {
		rfm_poller_deactivate(&port->poller);
		wait_for_line(port, sent, now);
	}
	return sent;
}

/* --- the socket ------------------------------------------------------------------ */

static ssize_t send_some(struct rfm_port *port)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(RFM_SHM_FDS * sizeof(int))];
	} control = { .space = { 0 } };
	struct iovec iov = {
		.iov_base = port->out + port->out_done,
		.iov_len = port->out_fill - port->out_done,
	};
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (port->session)
		return rfm_port_send(port, iov.iov_base, iov.iov_len);
	/* The descriptors go with the first byte. */
	if (port->tx.shm_offered && !port->tx.welcome && !port->out_done) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(RFM_SHM_FDS * sizeof(int));
		memcpy(CMSG_DATA(&control.align), port->shm.offer, RFM_SHM_FDS * sizeof(int));
	}
	return sendmsg(port->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns whether all of @out has gone. */
static bool flush_out(struct rfm_port *port)
{
	while (port->out_done < port->out_fill) {
		ssize_t sent = send_some(port);

		if (sent > 0) {
			port->out_done += sent;
			continue;
		}
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && rfm_port_trouble(port)) {
			rfm_port_drop(port, rfm_port_trouble(port));
			return false;
		}
		rfm_poller_deactivate(&port->poller);
		/* Any other error is seen at the socket as well. */
		if (rfm_loop_watch(port->loop, &port->watch, port->fd, EPOLLIN | EPOLLOUT))
			rfm_port_drop(port, "the socket to the downstream neighbour "
				      "cannot be watched");
		return false;
	}
	port->out_fill = port->out_done = 0;
	return true;
}

static bool fill_stream(struct rfm_port *port, uint64_t now)
{
	bool any = false;

	for (unsigned int i = 0; i < BATCHES_A_TURN; i++) {
		if (!flush_out(port))
			return any;
		port->out_fill = rfm_link_tx_output(&port->tx, port->out, now);
		if (!port->out_fill) {
			rfm_poller_deactivate(&port->poller);
			wait_for_line(port, any, now);
			return any;
		}
		any = true;
	}
	return any;
}

/* --- the poller ------------------------------------------------------------------- */

bool rfm_port_tx_poll(void *opaque, uint64_t now)
{
	struct rfm_port *port = opaque;
	bool any = false;

	if (port->fd >= 0 && port->tx.shm)
		return fill_slots(port, now);
	if (port->fd >= 0 && !port->connecting)
		any = fill_stream(port, now);
	if (!rfm_port_is_up(port))
		any |= discard(port, now);
	return any;
}

bool rfm_port_tx_sleep(void *opaque)
{
	struct rfm_port *port = opaque;

	return !port->full || rfm_shm_wait_room(&port->shm, RFM_TRAIN_FRAMES);
}

/* --- the handshake ---------------------------------------------------------------- */

static void tx_ended(struct rfm_port *port)
{
	const char *trouble = rfm_port_trouble(port);

	rfm_port_drop(port, trouble ? trouble : port->tx.welcome || port->tx.hello_pending ? NULL :
		      "the downstream neighbour hung up in the middle of the handshake");
}

static void tx_welcome(struct rfm_port *port)
{
	if (!port->tx.shm) {
		rfm_port_close_shm(port);
	} else if (!rfm_port_watch_shm(port)) {
		rfm_port_drop(port, "the shared memory cannot be watched");
		return;
	}
	rfm_port_mark_up(port);
	rfm_poller_activate(&port->poller);
}

static void tell_refusal(struct rfm_port *port)
{
	struct rfm_link_self self = port->tx.ops->self(port->tx.opaque);
	uint8_t message[RFM_LINK_MESSAGE];

	rfm_link_refuse(message, port->tx.refusal, &self);
	(void)rfm_port_send(port, message, sizeof(message));
}

void rfm_port_tx_readable(struct rfm_port *port, uint64_t now)
{
	uint8_t buf[RFM_LINK_BATCH];
	bool was_up = port->tx.welcome;
	ssize_t len = rfm_port_receive(port, buf, sizeof(buf));
	const char *why;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		tx_ended(port);
		return;
	}
	why = rfm_link_tx_received(&port->tx, buf, len, now);
	if (port->tx.refusal)
		tell_refusal(port);
	if (why)
		rfm_port_drop(port, why);
	else if (!was_up && port->tx.welcome)
		tx_welcome(port);
}
