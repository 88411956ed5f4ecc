/* SPDX-License-Identifier: MIT */
/*
 * A port: one end of a fibre in a Linux process. It connects or listens on a
 * unix or TCP socket, runs the handshake of ring/link.h over it, hands the
 * shared memory over or takes it, and then moves frames in batches between the
 * link and what stands behind it (struct rfm_link_ops: a node, or a hub).
 * Connections that break are made again, for ever. A TCP address without a host
 * is this host's own, if there is no TLS; one that others can reach is told.
 */
#ifndef RFM_HOST_PORT_H
#define RFM_HOST_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/host/loop.h"
#include "ring/link.h"

#define RFM_PORT_RETRY_NS	100000000ull	/* a client tries again that often */
#define RFM_PORT_REFUSED_NS	1000000000ull	/* that often if TLS keeps it out */
#define RFM_PORT_GOOD_NS	10000000000ull	/* a connection that has been up for so long is good */
#define RFM_PORT_BATCH		64		/* frames moved before others have their turn */
#define RFM_PORT_SENTENCE	512		/* bytes of a message, at most */

struct rfm_port;
struct rfm_tls;

/**
 * struct rfm_port_config - what a port is
 * @sending: the upstream end (tx) of a fibre; else the downstream end (rx)
 * @address: "unix:PATH", "unix:PATH,server", "tcp:HOST:PORT", "tcp:HOST:PORT,server"
 * @name: what messages call it, e.g. "tx"
 * @stream_only: never use shared memory
 * @slots: of the shared memory that a sending end makes, a power of two up to
 *	RFM_SHM_SLOTS_MAX; 0: RFM_SHM_SLOTS
 * @socket_buffer: bytes of the socket's buffer towards the frames' side; 0:
 *	the system's choice
 * @tls: of a TCP address: kept; NULL: none
 */
struct rfm_port_config {
	bool sending;
	const char *address;
	const char *name;
	bool stream_only;
	uint32_t slots;
	uint32_t socket_buffer;
	struct rfm_tls *tls;
};

/**
 * struct rfm_port_ops - what a port tells its owner, beside struct rfm_link_ops
 * @log: a sentence without a full stop for people: why a connection was
 *	given up. The same is said again only after a connection that was good
 *	for RFM_PORT_GOOD_NS: a neighbour may come back with its fault for ever
 * @next_pull: sending end: when will link ops->pull() have something after it
 *	gave nothing? ns, RFM_NEVER if rfm_port_kick() will tell. NULL: never
 *	of interest (a line that is not paced)
 * @state: the handshake is done, or a connection of which it was has ended; the
 *	link has heard of it before. May be NULL
 *
 * All get the opaque of rfm_port_open().
 */
struct rfm_port_ops {
	void (*log)(void *opaque, const char *sentence);
	uint64_t (*next_pull)(void *opaque);
	void (*state)(void *opaque);
};

/**
 * struct rfm_port_info - how a port is
 * @connected: there is a socket to a neighbour
 * @up: the handshake is done
 * @shm: frames go by shared memory
 * @lit: receiving end: light arrives
 * @peer: who the neighbour says it is, once @up
 * @permit: whom its certificate allows, as long as it is @up; NULL: anybody
 * @frames: moved since the port was opened, link messages left out
 * @bytes: of these
 * @connections: that got through the handshake
 * @refused: that did not, or were ended for what the neighbour sent
 */
struct rfm_port_info {
	bool connected, up, shm, lit;
	struct rfm_link_self peer;
	const struct rfm_permit *permit;
	uint64_t frames, bytes;
	uint64_t connections, refused;
};

/**
 * rfm_port_address_check() - is it an address?
 *
 * Returns NULL, or one sentence that says what is wrong with it.
 */
const char *rfm_port_address_check(const char *address);

/**
 * rfm_port_open() - begin to connect or to listen
 * @config: copied
 * @ops: kept, as is @link_ops
 * @opaque: for both; rfm_port_set_link() gives the link's ops another
 * @error: RFM_PORT_SENTENCE bytes: why it failed
 *
 * Nothing is called back before the loop runs. Returns NULL on failure: the
 * address is none or cannot be listened on, or no memory.
 */
struct rfm_port *rfm_port_open(struct rfm_loop *loop, const struct rfm_port_config *config,
			       const struct rfm_link_ops *link_ops,
			       const struct rfm_port_ops *ops, void *opaque, char *error);

/**
 * rfm_port_set_link() - who stands behind the link from now on
 * @opaque: for the link's ops
 * @tap: kept; NULL: none
 */
void rfm_port_set_link(struct rfm_port *port, void *opaque, const struct rfm_link_tap *tap);

/** rfm_port_close() - says that the link is closed, if it was open */
void rfm_port_close(struct rfm_port *port);

/**
 * rfm_port_kick() - sending end: link ops->pull() or light_out() may have news
 *
 * Any thread. What there is goes out at the end of this round of the loop. For
 * a port without a neighbour ops->pull() is called too, until it gives
 * nothing, so that what cannot leave is counted.
 */
void rfm_port_kick(struct rfm_port *port);

/** rfm_port_show_out() - receiving end, in ops->frame(): end the connection after this frame */
void rfm_port_show_out(struct rfm_port *port, const char *why);

/** rfm_port_info() - how it is now */
struct rfm_port_info rfm_port_info(const struct rfm_port *port);

#endif
