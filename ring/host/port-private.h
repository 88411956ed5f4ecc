/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a port share: its connections and its life (port.c), and
 * how the frames move at the receiving end (port-rx.c) and at the sending end
 * (port-tx.c). Private to ring/host/.
 */
#ifndef RFM_HOST_PORT_PRIVATE_H
#define RFM_HOST_PORT_PRIVATE_H

#include "ring/host/address.h"
#include "ring/host/port.h"
#include "ring/host/tls.h"
#include "ring/shm.h"

struct rfm_places;

struct rfm_port {
	struct rfm_loop *loop;
	bool sending, stream_only, connecting;
	uint32_t slots, socket_buffer;
	char name[32];
	struct rfm_address address;
	struct rfm_route *route;	/* a client's */
	bool exposed;			/* a server's, without TLS: still to be said */

	struct rfm_tls *tls;		/* NULL: none */
	struct rfm_places *places;	/* with it: handshakes under way */
	struct rfm_tls_session *session;	/* of @fd */
	struct rfm_permit permit;	/* of @session */

	const struct rfm_port_ops *ops;
	void *opaque;

	int listener, fd;
	struct rfm_loop_fd listen_watch, watch, wake_watch;
	struct rfm_timer timer, pull_timer, wake_timer;
	struct rfm_poller poller;
	union {
		struct rfm_link_tx tx;
		struct rfm_link_rx rx;
	};
	struct rfm_shm shm;
	bool heard;		/* receiving: the first byte has come */
	bool woken;		/* receiving: so a wake-up is to be taken before we sleep */
	bool full;		/* sending: the shared memory had no room */
	uint8_t *out;		/* sending: RFM_LINK_BATCH bytes for the stream */
	uint32_t out_fill, out_done;

	char last_report[RFM_PORT_SENTENCE];
	uint64_t up_ns;		/* since when it has been up */
	uint64_t connections, refused;
};

/* Is the handshake done? */
static inline bool rfm_port_is_up(const struct rfm_port *port)
{
	return port->sending ? port->tx.welcome : port->rx.agreed;
}

/* --- port.c ----------------------------------------------------------------------- */

/** rfm_port_report() - a sentence for people, unless it was the last that was said */
void rfm_port_report(struct rfm_port *port, const char *why);

/**
 * rfm_port_drop() - end the connection, if there is one, and wait for the next
 * @why: a sentence, or NULL if there is nothing to complain of
 */
void rfm_port_drop(struct rfm_port *port, const char *why);

/** rfm_port_take() - a connection is ours from now on; @permit: NULL: for anybody */
void rfm_port_take(struct rfm_port *port, int fd, const struct rfm_permit *permit, uint64_t now);

/** rfm_port_retry() - wait for the next connection; a client does so for @delay */
void rfm_port_retry(struct rfm_port *port, uint64_t delay);

/** rfm_port_mark_up() - the handshake is done */
void rfm_port_mark_up(struct rfm_port *port);

/** rfm_port_watch_shm() - hear the neighbour wake us; false if that cannot be */
bool rfm_port_watch_shm(struct rfm_port *port);

/** rfm_port_close_shm() - harmless if it is not open */
void rfm_port_close_shm(struct rfm_port *port);

/* --- port-tls.c --------------------------------------------------------------------- */

bool rfm_port_tls_init(struct rfm_port *port);
void rfm_port_tls_exit(struct rfm_port *port);

/** rfm_port_tls_has_place() - may another handshake begin? If not, rfm_port_retry() comes later */
bool rfm_port_tls_has_place(struct rfm_port *port, uint64_t now);

/** rfm_port_tls_begin() - shake hands on a new connection, for which there is a place */
void rfm_port_tls_begin(struct rfm_port *port, int fd, uint64_t now);

/** rfm_port_tls_close_all() - end those that are under way */
void rfm_port_tls_close_all(struct rfm_port *port);

/* As recv() and send() on the connection, which never wait. */
ssize_t rfm_port_receive(struct rfm_port *port, void *buf, size_t size);
ssize_t rfm_port_send(struct rfm_port *port, const void *buf, size_t size);

/** rfm_port_trouble() - what TLS itself found wrong with the connection; NULL: nothing */
const char *rfm_port_trouble(const struct rfm_port *port);

/* --- port-rx.c: the poller's calls, and what the socket has ------------------------- */

bool rfm_port_rx_poll(void *opaque, uint64_t now);
bool rfm_port_rx_sleep(void *opaque);
void rfm_port_rx_ready(struct rfm_port *port, uint64_t now);

/* --- port-tx.c: the same, and the line's timer -------------------------------------- */

bool rfm_port_tx_poll(void *opaque, uint64_t now);
bool rfm_port_tx_sleep(void *opaque);
void rfm_port_tx_readable(struct rfm_port *port, uint64_t now);
void rfm_port_pull_time(void *opaque, uint64_t now);
void rfm_port_wake_time(void *opaque, uint64_t now);

#endif
