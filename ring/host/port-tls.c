// SPDX-License-Identifier: MIT
/*
 * TLS handshakes of a port. A connection becomes the port's only when its handshake
 * is done and the certificate is good; before that it has one of a few places.
 * Each place is taken for PLACE_NS at least, so strangers can make this port do
 * so many handshakes a second and no more, and whoever is honest has that long
 * before a crowd that only holds its places is sent away for the next.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/port-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PLACES		16
#define PLACE_NS	500000000ull
#define DEADLINE_NS	5000000000ull

/**
 * struct rfm_place - a handshake under way
 * @fd: -1: it is over
 * @since: when it began; 0: the place is free
 */
struct rfm_place {
	struct rfm_port *port;
	struct rfm_loop_fd watch;
	struct rfm_tls_session *session;
	int fd;
	uint64_t since;
};

struct rfm_places {
	struct rfm_place place[PLACES];
	struct rfm_timer timer;
	bool full;		/* somebody waits for the first that may be cleared */
};

static const char *side(const struct rfm_port *port)
{
	return port->sending ? "downstream" : "upstream";
}

static void close_place(struct rfm_place *place)
{
	struct rfm_port *port = place->port;

	if (place->fd < 0)
		return;
	rfm_loop_unwatch(port->loop, &place->watch);
	port->tls->close(place->session);
	shutdown(place->fd, SHUT_RDWR);
	close(place->fd);
	place->session = NULL;
	place->fd = -1;
}

void rfm_port_tls_close_all(struct rfm_port *port)
{
	if (!port->places)
		return;
	for (unsigned int i = 0; i < PLACES; i++)
		close_place(&port->places->place[i]);
}

/* When is this place to be looked at next? */
static uint64_t place_until(const struct rfm_place *place)
{
	if (!place->since)
		return RFM_NEVER;
	return place->since + (place->fd < 0 ? PLACE_NS : DEADLINE_NS);
}

static void set_timer(struct rfm_port *port)
{
	uint64_t next = RFM_NEVER;

	for (unsigned int i = 0; i < PLACES; i++) {
		const struct rfm_place *place = &port->places->place[i];
		uint64_t until = port->places->full ? place->since + PLACE_NS : place_until(place);

		if (until < next)
			next = until;
	}
	rfm_timer_set(port->loop, &port->places->timer, next);
}

/* It has come to nothing. A client tries again. */
static void fail(struct rfm_place *place, const char *why)
{
	struct rfm_port *port = place->port;
	char sentence[RFM_PORT_SENTENCE];

	close_place(place);
	port->refused++;
	snprintf(sentence, sizeof(sentence), "the %s neighbour is not let in: %s", side(port), why);
	rfm_port_report(port, sentence);
	set_timer(port);
	if (!port->address.server)
		rfm_port_retry(port, RFM_PORT_REFUSED_NS);
}

static void refuse(struct rfm_place *place, const struct rfm_tls_peer *peer)
{
	struct rfm_port *port = place->port;
	struct rfm_link_self self = port->sending ? port->tx.ops->self(port->tx.opaque) :
						    port->rx.ops->self(port->rx.opaque);
	uint8_t message[RFM_LINK_MESSAGE];

	/* Who does not take it does not learn it. */
	rfm_link_refuse(message, peer->refusal, &self);
	(void)port->tls->send(place->session, message, sizeof(message));
	fail(place, peer->why);
}

/* It is the port's now, in the place of a neighbour that has been silent. */
static void take_over(struct rfm_place *place, const struct rfm_tls_peer *peer, uint64_t now)
{
	struct rfm_port *port = place->port;
	struct rfm_tls_session *session = place->session;
	int fd = place->fd;

	rfm_loop_unwatch(port->loop, &place->watch);
	place->session = NULL;
	place->fd = -1;
	rfm_port_tls_close_all(port);
	rfm_port_drop(port, NULL);
	port->session = session;
	port->permit = peer->permit;
	rfm_port_take(port, fd, peer->named ? &port->permit : NULL, now);
	set_timer(port);
}

static void go_on(struct rfm_place *place, uint64_t now)
{
	struct rfm_port *port = place->port;
	struct rfm_tls_peer peer = { .refusal = RFM_REFUSE_NONE };
	int next = port->tls->handshake(place->session, &peer);

	if (next < 0)
		fail(place, peer.why);
	else if (next && rfm_loop_watch(port->loop, &place->watch, place->fd, (uint32_t)next))
		fail(place, "its socket cannot be watched");
	else if (!next && peer.refusal != RFM_REFUSE_NONE)
		refuse(place, &peer);
	else if (!next)
		take_over(place, &peer, now);
}

static void place_ready(void *opaque, uint32_t events, uint64_t now)
{
	(void)events;
	go_on(opaque, now);
}

static void places_time(void *opaque, uint64_t now)
{
	struct rfm_port *port = opaque;
	bool room = port->places->full;

	port->places->full = false;
	for (unsigned int i = 0; i < PLACES; i++) {
		struct rfm_place *place = &port->places->place[i];

		if (now < place_until(place))
			continue;
		if (place->fd >= 0)
			fail(place, "its TLS handshake takes too long");
		place->since = 0;
		room = true;
	}
	set_timer(port);
	if (room && port->address.server)
		rfm_port_retry(port, 0);
}

/* A free place, or the oldest if that has had its time. */
static struct rfm_place *find_place(struct rfm_port *port, uint64_t now)
{
	struct rfm_place *oldest = &port->places->place[0];

	for (unsigned int i = 1; i < PLACES && oldest->since; i++)
		if (port->places->place[i].since < oldest->since)
			oldest = &port->places->place[i];
	return !oldest->since || now >= oldest->since + PLACE_NS ? oldest : NULL;
}

bool rfm_port_tls_has_place(struct rfm_port *port, uint64_t now)
{
	port->places->full = !find_place(port, now);
	set_timer(port);
	return !port->places->full;
}

void rfm_port_tls_begin(struct rfm_port *port, int fd, uint64_t now)
{
	struct rfm_place *place = find_place(port, now);

	if (!place) {
		close(fd);
		rfm_port_retry(port, RFM_PORT_REFUSED_NS);
		return;
	}
	close_place(place);
	place->fd = fd;
	place->since = now;
	place->session = port->tls->open(port->tls, fd, port->address.server, port->address.host);
	if (!place->session) {
		fail(place, "no memory");
		return;
	}
	set_timer(port);
	go_on(place, now);
}

bool rfm_port_tls_init(struct rfm_port *port)
{
	port->places = calloc(1, sizeof(*port->places));
	if (!port->places)
		return false;
	port->places->timer = (struct rfm_timer){ .fire = places_time, .opaque = port };
	for (unsigned int i = 0; i < PLACES; i++) {
		struct rfm_place *place = &port->places->place[i];

		place->port = port;
		place->fd = -1;
		place->watch = (struct rfm_loop_fd){ .ready = place_ready, .opaque = place };
	}
	return true;
}

void rfm_port_tls_exit(struct rfm_port *port)
{
	if (!port->places)
		return;
	rfm_port_tls_close_all(port);
	rfm_timer_set(port->loop, &port->places->timer, RFM_NEVER);
	free(port->places);
}

/* --- what is said over it --------------------------------------------------------- */

ssize_t rfm_port_receive(struct rfm_port *port, void *buf, size_t size)
{
	return port->session ? port->tls->receive(port->session, buf, size) :
			       recv(port->fd, buf, size, MSG_DONTWAIT);
}

ssize_t rfm_port_send(struct rfm_port *port, const void *buf, size_t size)
{
	return port->session ? port->tls->send(port->session, buf, size) :
			       send(port->fd, buf, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

const char *rfm_port_trouble(const struct rfm_port *port)
{
	return port->session ? port->tls->trouble(port->session) : NULL;
}
