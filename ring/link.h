/* SPDX-License-Identifier: MIT */
/*
 * The link: one fibre between two neighbours. The upstream end (struct
 * rfm_link_tx) says who it is, waits until the downstream end (struct
 * rfm_link_rx) has agreed, then sends frames. Both are state machines over a
 * byte stream, or over a shared-memory queue on which the handshake has
 * agreed; docs/ring-protocol.md describes what they say. What stands behind
 * an end, a node or the port of a hub, answers through struct rfm_link_ops.
 */
#ifndef RFM_RING_LINK_H
#define RFM_RING_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"

struct rfm_permit;
struct rfm_shm;

#define RFM_LINK_MESSAGE	40	/* bytes of a message that is no frame */
#define RFM_LINK_DEADLINE_NS	2000000000ull	/* for each step of the handshake */
#define RFM_LINK_BATCH		16384	/* bytes handed to the pipe at once */
#define RFM_LINK_IDLE_NS	250000000ull	/* a silent line says LIGHT that often */
#define RFM_LINK_SILENCE_NS	2000000000ull	/* unheard that long, light is lost */
#define RFM_LINK_GONE_NS	10000000000ull	/* and the link given up */

/**
 * struct rfm_link_self - who an end is, as it tells the other one
 * @hub: a hub, not a node; @id is then of no meaning
 * @redundant: sends every update twice
 */
struct rfm_link_self {
	uint8_t id;
	bool hub, redundant;
	uint64_t incarnation;
	uint64_t memory_size;
	uint32_t clock_domain;
};

/**
 * struct rfm_link_ops - what an end asks of what stands behind it
 * @self: who am I? The answer may change between two connections
 * @light: receiving end: upstream's light has come or gone
 * @frame: receiving end: a frame or train came; @wire has RFM_UNIT_MAX bytes and
 *	is its own to change
 * @knows: receiving end: is the header of it, RFM_FRAME_HEADER bytes, enough for @frame? NULL:
 *	never
 * @bad: receiving end: something came that is no frame
 * @downstream: sending end: a neighbour takes our frames, or none does
 * @light_out: sending end: is our laser on?
 * @pull: sending end: copy the next frame or train to @wire (RFM_UNIT_MAX bytes)
 *	and return its length, 0 if there is none
 *
 * An end calls only the ops of its own side; none but @knows may be NULL there.
 * rfm_node_link_ops (ring/node.h) is the set of a node.
 */
struct rfm_link_ops {
	struct rfm_link_self (*self)(void *opaque);
	void (*light)(void *opaque, bool on, uint64_t now);
	void (*frame)(void *opaque, uint8_t *wire, unsigned int len, uint64_t now);
	bool (*knows)(void *opaque, const uint8_t *wire);
	void (*bad)(void *opaque);
	void (*downstream)(void *opaque, bool up, uint64_t now);
	bool (*light_out)(void *opaque);
	unsigned int (*pull)(void *opaque, uint8_t *wire, uint64_t now);
};

/* Why an end refuses the other one, in the message REFUSE. */
enum rfm_link_refusal {
	RFM_REFUSE_NONE		= 0,
	RFM_REFUSE_VERSION	= 1,	/* of the protocol */
	RFM_REFUSE_UNKNOWN	= 2,	/* it has shown no certificate */
	RFM_REFUSE_EXPIRED	= 3,	/* its certificate is not valid now */
	RFM_REFUSE_UNTRUSTED	= 4,	/* nor is it of an authority that is trusted here */
	RFM_REFUSE_PERMIT	= 5,	/* it may not be who it says */
};

/** rfm_link_refuse() - the message, of RFM_LINK_MESSAGE bytes, to @wire */
void rfm_link_refuse(uint8_t *wire, enum rfm_link_refusal why, const struct rfm_link_self *self);

/**
 * struct rfm_link_tap - who is shown what passes an end
 * @seen: a frame or train came and is about to be handed on, or was pulled and is
 *	about to leave (@sent). May not call the link
 */
struct rfm_link_tap {
	void (*seen)(void *opaque, bool sent, const uint8_t *wire, unsigned int len, uint64_t now);
	void *opaque;
};

/**
 * struct rfm_link_tx - the sending end
 * @ops, @opaque, @tap: may be set to others at any time; @tap is NULL at first
 * @permit: whom the neighbour may be; set before opened(). NULL: anybody
 * @frames: pulled for a neighbour, over all connections; link messages are left out
 * @bytes: of these
 * @peer: who answered, once @welcome
 * @shm: the neighbour takes frames from the shared memory that was offered
 * @refusal: of the neighbour, to be told to it before the pipe is closed
 *
 * Call order: opened(), then received() and output() as the pipe allows,
 * closed(). What output() returned is out of the FIFO and must be delivered
 * entirely or be given up by closed().
 */
struct rfm_link_tx {
	const struct rfm_link_ops *ops;
	void *opaque;
	const struct rfm_link_tap *tap;
	const struct rfm_permit *permit;
	uint64_t frames, bytes;
	bool open, welcome, shm;
	bool shm_offered;
	bool light_sent, light;		/* what the other end knows of our light */
	bool hello_pending;
	enum rfm_link_refusal refusal;
	uint64_t opened_at, last_sent_ns;
	struct rfm_link_self peer;
	unsigned int fill;		/* bytes of @reply so far */
	uint8_t reply[RFM_LINK_MESSAGE];
};

void rfm_link_tx_init(struct rfm_link_tx *link, const struct rfm_link_ops *ops, void *opaque);

/**
 * rfm_link_tx_opened() - the pipe to the downstream neighbour is there
 * @shm_offered: the descriptors of a shared-memory queue go with the first byte
 */
void rfm_link_tx_opened(struct rfm_link_tx *link, bool shm_offered, uint64_t now);

/** rfm_link_tx_closed() - it is gone */
void rfm_link_tx_closed(struct rfm_link_tx *link, uint64_t now);

/**
 * rfm_link_tx_received() - bytes that the downstream neighbour answered
 *
 * Returns NULL, or one sentence that says why the pipe must be closed.
 */
const char *rfm_link_tx_received(struct rfm_link_tx *link, const uint8_t *buf,
				 unsigned int len, uint64_t now);

/**
 * rfm_link_tx_output() - what to write to the stream next
 * @buf: RFM_LINK_BATCH bytes
 *
 * Returns how many bytes were put there; 0 if there is nothing to say. On a
 * link with shared memory only the handshake comes this way.
 */
unsigned int rfm_link_tx_output(struct rfm_link_tx *link, uint8_t *buf, uint64_t now);

enum rfm_link_fill {
	RFM_LINK_DRY,		/* there is nothing more to say */
	RFM_LINK_FULL,		/* the queue has no room for the longest train */
	RFM_LINK_MORE,		/* @limit frames were moved, or a call has closed the link */
	RFM_LINK_BROKEN,	/* the neighbour has spoilt the shared memory: close */
};

/**
 * rfm_link_tx_fill() - move what there is to say into the shared memory, and show it as a whole
 * @shm: the queue that was offered
 * @limit: frames, and the rest of a train beyond
 * @sent: how many frames and link messages were moved
 *
 * Only if @link->shm.
 */
enum rfm_link_fill rfm_link_tx_fill(struct rfm_link_tx *link, struct rfm_shm *shm,
				    unsigned int limit, uint64_t now, unsigned int *sent);

/**
 * rfm_link_tx_discard() - pull what there is to send, for no neighbour
 * @limit: frames
 *
 * What stands behind the link sees it go nowhere, and counts. Returns how many
 * frames it was; less than @limit if there is nothing more.
 */
unsigned int rfm_link_tx_discard(struct rfm_link_tx *link, unsigned int limit, uint64_t now);

/**
 * rfm_link_tx_tick() - let time pass
 * @next: when to call again
 *
 * After it, output() or fill() may have something to say. Returns NULL, or one
 * sentence that says why the pipe must be closed.
 */
const char *rfm_link_tx_tick(struct rfm_link_tx *link, uint64_t now, uint64_t *next);

/**
 * struct rfm_link_rx - the receiving end
 * @ops, @opaque, @tap, @permit, @frames, @bytes: as of the sending end
 * @peer: who is upstream, once @agreed
 * @shm: frames come by the shared memory, not by the stream
 * @light_received: a LIGHT has come: the handshake is done
 * @lit: the last LIGHT said on
 * @silent: nothing was heard for RFM_LINK_SILENCE_NS: as if the light were off
 * @show_out: set by ops->frame(): a sentence that says why the pipe must be closed
 * @reply: an answer to be written back; set by received() when not 0
 */
struct rfm_link_rx {
	const struct rfm_link_ops *ops;
	void *opaque;
	const struct rfm_link_tap *tap;
	const struct rfm_permit *permit;
	uint64_t frames, bytes;
	bool open, agreed, shm;
	bool shm_attached;
	bool light_received, lit, silent;
	uint64_t opened_at, last_received_ns;
	uint64_t ticked_at;
	const char *show_out;
	struct rfm_link_self peer;
	unsigned int fill;		/* bytes of @part so far */
	unsigned int reply_length;
	uint8_t reply[RFM_LINK_MESSAGE];
	uint8_t part[RFM_UNIT_MAX];	/* a message that has come in part */
	uint8_t packet[RFM_UNIT_MAX];	/* what is being handed on, to be changed */
};

void rfm_link_rx_init(struct rfm_link_rx *link, const struct rfm_link_ops *ops, void *opaque);

/** rfm_link_rx_opened() - an upstream neighbour has connected */
void rfm_link_rx_opened(struct rfm_link_rx *link, uint64_t now);

/**
 * rfm_link_rx_attached() - the descriptors that came are mapped
 *
 * Before rfm_link_rx_received() of the bytes that they came with.
 */
void rfm_link_rx_attached(struct rfm_link_rx *link);

/** rfm_link_rx_closed() - it has gone: light out; a frame in part is bad data */
void rfm_link_rx_closed(struct rfm_link_rx *link, uint64_t now);

/**
 * rfm_link_rx_received() - bytes from upstream
 *
 * Hands whole frames on. Afterwards @link->reply_length bytes of @link->reply
 * are to be written back. Returns NULL, or one sentence that says why the pipe
 * must be closed (after the reply was written).
 */
const char *rfm_link_rx_received(struct rfm_link_rx *link, const uint8_t *buf,
				 unsigned int len, uint64_t now);

/**
 * rfm_link_rx_drain() - hand on what waits in the shared memory
 * @shm: the queue that was attached
 * @limit: frames, and the rest of a train beyond
 * @taken: how many frames and link messages it was
 *
 * Only if @link->shm; stops when a call has closed the link. Returns NULL, or one
 * sentence that says why the pipe must be closed.
 */
const char *rfm_link_rx_drain(struct rfm_link_rx *link, struct rfm_shm *shm, unsigned int limit,
			      uint64_t now, unsigned int *taken);

/**
 * rfm_link_rx_tick() - let time pass
 * @next: when to call again
 *
 * Handshake deadline and silence. Returns NULL, or one sentence that says why
 * the pipe must be closed.
 */
const char *rfm_link_rx_tick(struct rfm_link_rx *link, uint64_t now, uint64_t *next);

#endif
