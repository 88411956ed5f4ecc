// SPDX-License-Identifier: MIT
/*
 * The connections of a port, and its life. It is in one of these states:
 *
 *   waiting     no socket: a client has its timer set for the next try, a
 *               server watches its listener (or, if it cannot accept, has its
 *               timer set to look again)
 *   connecting  a client's socket that is not connected yet
 *   open        a socket; the link end says whether the handshake is done
 *
 * With TLS a socket is the port's only when that has agreed: port-tls.c.
 *
 * A function that finds the connection broken calls rfm_port_drop(), which goes back
 * to waiting. No callback does.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/port-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_RETRY_NS	10000000u	/* after a connection was lost */
#define SLOTS_MIN	(2u * RFM_TRAIN_FRAMES)	/* we are woken when half are free */

/* --- trouble -------------------------------------------------------------------- */

/* The same trouble again and again is worth one line. */
void rfm_port_report(struct rfm_port *port, const char *why)
{
	if (!strcmp(port->last_report, why))
		return;
	snprintf(port->last_report, sizeof(port->last_report), "%s", why);
	if (port->ops && port->ops->log) {
		char sentence[RFM_PORT_SENTENCE + 64];

		snprintf(sentence, sizeof(sentence), "%s: %s", port->name, why);
		port->ops->log(port->opaque, sentence);
	}
}

static void report_reason(struct rfm_port *port, const char *what, const char *reason)
{
	char why[RFM_ADDRESS_MAX + 128];

	snprintf(why, sizeof(why), "%s %s: %s", what, port->address.text, reason);
	rfm_port_report(port, why);
}

static void report_errno(struct rfm_port *port, const char *what)
{
	report_reason(port, what, strerror(errno));
}

void rfm_port_retry(struct rfm_port *port, uint64_t delay)
{
	if (!port->address.server)
		rfm_timer_set(port->loop, &port->timer, rfm_loop_now(port->loop) + delay);
	else if (rfm_loop_watch(port->loop, &port->listen_watch, port->listener, EPOLLIN))
		report_errno(port, "cannot wait for a neighbour on");
}

void rfm_port_close_shm(struct rfm_port *port)
{
	rfm_loop_unwatch(port->loop, &port->wake_watch);
	rfm_shm_close(&port->shm);
	port->full = port->woken = false;
}

static void tell_state(const struct rfm_port *port)
{
	if (port->ops && port->ops->state)
		port->ops->state(port->opaque);
}

void rfm_port_drop(struct rfm_port *port, const char *why)
{
	uint64_t now = rfm_loop_now(port->loop);
	bool was_up = rfm_port_is_up(port);

	if (port->fd < 0)
		return;
	if (was_up && now - port->up_ns >= RFM_PORT_GOOD_NS)
		port->last_report[0] = '\0';
	rfm_loop_unwatch(port->loop, &port->watch);
	if (port->session)
		port->tls->close(port->session);
	port->session = NULL;
	/* Also for a child of fork(), which may have it too. */
	shutdown(port->fd, SHUT_RDWR);
	close(port->fd);
	port->fd = -1;
	rfm_port_close_shm(port);
	rfm_timer_set(port->loop, &port->timer, RFM_NEVER);
	rfm_timer_set(port->loop, &port->pull_timer, RFM_NEVER);
	rfm_timer_set(port->loop, &port->wake_timer, RFM_NEVER);
	port->connecting = false;
	port->out_fill = port->out_done = 0;
	if (why) {
		port->refused++;
		rfm_port_report(port, why);
	}
	if (port->sending) {
		rfm_link_tx_closed(&port->tx, now);
		/* What waits has to be counted by its owner. */
		rfm_poller_activate(&port->poller);
	} else {
		rfm_poller_deactivate(&port->poller);
		rfm_link_rx_closed(&port->rx, now);
	}
	rfm_port_retry(port, was_up ? FIRST_RETRY_NS :
		       port->tls && why ? RFM_PORT_REFUSED_NS : RFM_PORT_RETRY_NS);
	if (was_up)
		tell_state(port);
}

/* Let the link end see the time; it says when it wants to see it again. */
static void tick(struct rfm_port *port, uint64_t now)
{
	uint64_t next;
	const char *why = port->sending ? rfm_link_tx_tick(&port->tx, now, &next) :
					  rfm_link_rx_tick(&port->rx, now, &next);

	if (why)
		rfm_port_drop(port, why);
	else if (port->fd >= 0)
		rfm_timer_set(port->loop, &port->timer, next);
}

void rfm_port_mark_up(struct rfm_port *port)
{
	port->up_ns = rfm_loop_now(port->loop);
	port->connections++;
	tell_state(port);
	tick(port, port->up_ns);
}

/* --- shared memory -------------------------------------------------------------- */

/*
 * Who receives is told of edges: level-triggered, a wake-up that is not taken yet would be told
 * of at every look.
 */
bool rfm_port_watch_shm(struct rfm_port *port)
{
	return !rfm_loop_watch(port->loop, &port->wake_watch, port->shm.fds[port->sending ? 2 : 1],
			       port->sending ? EPOLLIN : EPOLLIN | EPOLLET);
}

static void shm_ready(void *opaque, uint32_t events, uint64_t now)
{
	struct rfm_port *port = opaque;

	(void)events;
	(void)now;
	if (port->sending)
		rfm_shm_clear_wakeup(&port->shm, true);
	else
		port->woken = true;
	/* Before the greeting nobody has said that the memory is going to be used. */
	if (port->sending || port->rx.shm)
		rfm_poller_activate(&port->poller);
}

/* --- sockets ------------------------------------------------------------------------ */

static void make_shm(struct rfm_port *port)
{
	if (port->stream_only || !*port->address.path)
		return;
	if (rfm_shm_create(&port->shm, port->slots))
		report_errno(port, "no shared memory for");
}

/* The socket is connected. */
static void opened(struct rfm_port *port, uint64_t now)
{
	if (port->sending) {
		make_shm(port);
		rfm_link_tx_opened(&port->tx, rfm_shm_is_open(&port->shm), now);
		rfm_poller_activate(&port->poller);
	} else {
		port->heard = false;
		rfm_link_rx_opened(&port->rx, now);
	}
	tick(port, now);
}

void rfm_port_take(struct rfm_port *port, int fd, const struct rfm_permit *permit, uint64_t now)
{
	if (port->address.server)
		rfm_loop_unwatch(port->loop, &port->listen_watch);
	port->fd = fd;
	if (port->sending)
		port->tx.permit = permit;
	else
		port->rx.permit = permit;
	if (rfm_loop_watch(port->loop, &port->watch, fd, EPOLLIN))
		rfm_port_drop(port, "the socket to the neighbour cannot be watched");
	else
		opened(port, now);
}

/* There is a socket to somebody. */
static void meet(struct rfm_port *port, int fd, uint64_t now)
{
	port->fd = -1;
	if (port->tls)
		rfm_port_tls_begin(port, fd, now);
	else
		rfm_port_take(port, fd, NULL, now);
}

static void connected(struct rfm_port *port, uint64_t now)
{
	socklen_t len = sizeof(int);
	int error = 0, fd = port->fd;

	port->connecting = false;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
		rfm_port_drop(port, NULL);
		return;
	}
	rfm_loop_unwatch(port->loop, &port->watch);
	meet(port, fd, now);
}

static void socket_ready(void *opaque, uint32_t events, uint64_t now)
{
	struct rfm_port *port = opaque;

	if (port->connecting) {
		connected(port, now);
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (port->sending)
			rfm_port_tx_readable(port, now);
		else
			rfm_port_rx_ready(port, now);
	}
	if (port->fd < 0 || !(events & EPOLLOUT))
		return;
	if (rfm_loop_watch(port->loop, &port->watch, port->fd, EPOLLIN))
		rfm_port_drop(port, "the socket to the neighbour cannot be watched");
	else
		rfm_poller_activate(&port->poller);
}

static void try_to_connect(struct rfm_port *port, uint64_t now)
{
	bool under_way;
	int fd = rfm_route_connect(port->route, port->socket_buffer, now, &under_way);

	if (fd < 0) {
		const char *trouble = rfm_route_trouble(port->route);

		/* A neighbour that is not there yet is no news. */
		if (trouble)
			report_reason(port, "cannot find the host of", trouble);
		else if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
			report_errno(port, "cannot connect to");
		rfm_port_retry(port, RFM_PORT_RETRY_NS);
		return;
	}
	if (!under_way) {
		meet(port, fd, now);
		return;
	}
	port->fd = fd;
	port->connecting = true;
	if (rfm_loop_watch(port->loop, &port->watch, fd, EPOLLOUT))
		rfm_port_drop(port, "the socket to the neighbour cannot be watched");
}

/*
 * A neighbour has connected that cannot be accepted now. That stays true for a
 * while: to try again at once would keep the loop busy.
 */
static void report_accept_error(struct rfm_port *port, uint64_t now)
{
	/* Gone again, or not looked at: nothing is wrong. */
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	report_errno(port, "cannot take a neighbour on");
	rfm_loop_unwatch(port->loop, &port->listen_watch);
	/* A neighbour that is there, if silent, has its timer set. */
	if (port->fd < 0)
		rfm_timer_set(port->loop, &port->timer, now + RFM_PORT_RETRY_NS);
}

/*
 * One neighbour at a time: the listener is watched only while there is none,
 * or while the one that there is has been silent for so long that its host may
 * have gone without a word. Others wait in the kernel's queue.
 */
static void accept_neighbour(void *opaque, uint32_t events, uint64_t now)
{
	struct rfm_port *port = opaque;
	int fd;

	(void)events;
	if ((port->fd >= 0 && !port->rx.silent) ||
	    (port->tls && !rfm_port_tls_has_place(port, now))) {
		rfm_loop_unwatch(port->loop, &port->listen_watch);
		return;
	}
	fd = rfm_address_accept(&port->address, port->listener);
	if (fd < 0) {
		report_accept_error(port, now);
		return;
	}
	if (port->tls) {
		rfm_port_tls_begin(port, fd, now);
		return;
	}
	rfm_port_drop(port, NULL);
	rfm_port_take(port, fd, NULL, now);
}

static void on_timer(void *opaque, uint64_t now)
{
	struct rfm_port *port = opaque;

	if (port->exposed) {
		port->exposed = false;
		report_reason(port, "anybody who can reach this host can read and change the memory "
			      "of the whole ring by", "there is no TLS");
	}
	if (port->fd < 0 && port->address.server) {
		rfm_port_retry(port, 0);
		return;
	}
	if (port->fd < 0) {
		try_to_connect(port, now);
		return;
	}
	tick(port, now);
	if (port->fd >= 0 && port->sending)
		rfm_poller_activate(&port->poller);
	else if (port->fd >= 0 && port->rx.silent && port->address.server)
		rfm_port_retry(port, 0);
}

/* --- lifecycle ---------------------------------------------------------------------- */

const char *rfm_port_address_check(const char *address)
{
	struct rfm_address parsed;

	return rfm_address_parse(&parsed, address);
}

static void set_callbacks(struct rfm_port *port, const struct rfm_link_ops *link_ops)
{
	port->listen_watch = (struct rfm_loop_fd){ .ready = accept_neighbour, .opaque = port };
	port->watch = (struct rfm_loop_fd){ .ready = socket_ready, .opaque = port };
	port->wake_watch = (struct rfm_loop_fd){ .ready = shm_ready, .opaque = port };
	port->timer = (struct rfm_timer){ .fire = on_timer, .opaque = port };
	port->pull_timer = (struct rfm_timer){ .fire = rfm_port_pull_time, .opaque = port };
	port->wake_timer = (struct rfm_timer){ .fire = rfm_port_wake_time, .opaque = port };
	port->poller = (struct rfm_poller){
		.poll = port->sending ? rfm_port_tx_poll : rfm_port_rx_poll,
		.sleep = port->sending ? rfm_port_tx_sleep : rfm_port_rx_sleep,
		.opaque = port,
	};
	rfm_poller_add(port->loop, &port->poller);
	if (port->sending)
		rfm_link_tx_init(&port->tx, link_ops, port->opaque);
	else
		rfm_link_rx_init(&port->rx, link_ops, port->opaque);
}

static bool set_up(struct rfm_port *port, const struct rfm_port_config *config, char *error)
{
	const char *why = rfm_address_parse(&port->address, config->address);

	if (why) {
		snprintf(error, RFM_PORT_SENTENCE, "'%.*s' is no address: %s", RFM_ADDRESS_MAX,
			 config->address ? config->address : "", why);
		errno = EINVAL;
		return false;
	}
	if (config->slots && (config->slots < SLOTS_MIN ||
			      config->slots > RFM_SHM_SLOTS_MAX ||
			      config->slots & (config->slots - 1))) {
		snprintf(error, RFM_PORT_SENTENCE,
			 "the slots of the shared memory must be a power of two from %u to %u",
			 SLOTS_MIN, RFM_SHM_SLOTS_MAX);
		errno = EINVAL;
		return false;
	}
	if (config->sending && !(port->out = malloc(RFM_LINK_BATCH))) {
		snprintf(error, RFM_PORT_SENTENCE, "no memory");
		return false;
	}
	/* A unix socket is open to whom its rights let in, and to no one else. */
	if (!*port->address.path)
		port->tls = config->tls;
	if (port->tls && !rfm_port_tls_init(port)) {
		snprintf(error, RFM_PORT_SENTENCE, "no memory");
		return false;
	}
	if (!port->address.server) {
		port->route = rfm_route_new(&port->address, rfm_loop_now(port->loop));
		if (!port->route)
			snprintf(error, RFM_PORT_SENTENCE, "no memory");
		return port->route;
	}
	port->listener = rfm_address_listen(&port->address, config->socket_buffer, port->tls, error,
					    RFM_PORT_SENTENCE);
	port->exposed = port->listener >= 0 && !port->tls && rfm_address_exposed(port->listener);
	return port->listener >= 0;
}

struct rfm_port *rfm_port_open(struct rfm_loop *loop, const struct rfm_port_config *config,
			       const struct rfm_link_ops *link_ops,
			       const struct rfm_port_ops *ops, void *opaque, char *error)
{
	struct rfm_port *port = calloc(1, sizeof(*port));

	if (!port) {
		snprintf(error, RFM_PORT_SENTENCE, "no memory");
		return NULL;
	}
	port->loop = loop;
	port->sending = config->sending;
	port->stream_only = config->stream_only;
	port->slots = config->slots ? config->slots : RFM_SHM_SLOTS;
	port->socket_buffer = config->socket_buffer;
	port->ops = ops;
	port->opaque = opaque;
	port->listener = port->fd = -1;
	snprintf(port->name, sizeof(port->name), "%s",
		 config->name ? config->name : config->sending ? "tx" : "rx");
	rfm_shm_init(&port->shm);
	if (!set_up(port, config, error)) {
		free(port->places);
		free(port->out);
		free(port);
		return NULL;
	}
	set_callbacks(port, link_ops);
	rfm_port_retry(port, 0);
	if (port->exposed)
		rfm_timer_set(port->loop, &port->timer, rfm_loop_now(port->loop));
	return port;
}

void rfm_port_close(struct rfm_port *port)
{
	if (!port)
		return;
	rfm_port_drop(port, NULL);
	rfm_port_tls_exit(port);
	rfm_timer_set(port->loop, &port->timer, RFM_NEVER);
	rfm_loop_unwatch(port->loop, &port->listen_watch);
	rfm_poller_remove(&port->poller);
	if (port->listener >= 0) {
		/* In this order: once it is closed, the name may be another's. */
		rfm_address_remove(&port->address);
		shutdown(port->listener, SHUT_RDWR);
		close(port->listener);
	}
	rfm_route_free(port->route);
	free(port->out);
	free(port);
}

void rfm_port_set_link(struct rfm_port *port, void *opaque, const struct rfm_link_tap *tap)
{
	if (port->sending) {
		port->tx.opaque = opaque;
		port->tx.tap = tap;
	} else {
		port->rx.opaque = opaque;
		port->rx.tap = tap;
	}
}

void rfm_port_kick(struct rfm_port *port)
{
	rfm_poller_kick(&port->poller);
}

void rfm_port_show_out(struct rfm_port *port, const char *why)
{
	port->rx.show_out = why;
}

struct rfm_port_info rfm_port_info(const struct rfm_port *port)
{
	struct rfm_port_info info = {
		.connected = port->fd >= 0 && !port->connecting,
		.up = rfm_port_is_up(port),
		.frames = port->sending ? port->tx.frames : port->rx.frames,
		.bytes = port->sending ? port->tx.bytes : port->rx.bytes,
		.connections = port->connections,
		.refused = port->refused,
	};

	if (!info.up)
		return info;
	info.shm = port->sending ? port->tx.shm : port->rx.shm;
	info.peer = port->sending ? port->tx.peer : port->rx.peer;
	info.permit = port->sending ? port->tx.permit : port->rx.permit;
	info.lit = !port->sending && port->rx.lit && !port->rx.silent;
	return info;
}
