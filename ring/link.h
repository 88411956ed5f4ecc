/* SPDX-License-Identifier: MIT */
/*
 * The link: one fibre, as bytes between two neighbours. The upstream end
 * (struct rfm_link_tx) says who it is, waits until the downstream end
 * (struct rfm_link_rx) has agreed, then sends frames. Both are state machines
 * over any byte pipe; docs/ring-protocol.md describes what they say.
 */
#ifndef RFM_RING_LINK_H
#define RFM_RING_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"
#include "ring/node.h"

#define RFM_LINK_MESSAGE	40	/* bytes of a message that is no frame */
#define RFM_LINK_DEADLINE_NS	2000000000ull	/* for the whole handshake */
#define RFM_LINK_BATCH		16384	/* bytes handed to the pipe at once */

/**
 * struct rfm_link_tx - the sending end
 *
 * Call order: opened(), then received() and output() as the pipe allows,
 * closed(). What output() returned is out of the node and must be written to
 * the pipe entirely or be given up by closed().
 */
struct rfm_link_tx {
	struct rfm_node *node;
	bool open, welcome;
	bool light_told, light;		/* what the other end knows of our light */
	uint64_t opened_at;
	bool hello_pending;
	unsigned int fill;		/* bytes of @reply so far */
	uint8_t reply[RFM_LINK_MESSAGE];
};

void rfm_link_tx_init(struct rfm_link_tx *link, struct rfm_node *node);

/** rfm_link_tx_opened() - the pipe to the downstream neighbour is there */
void rfm_link_tx_opened(struct rfm_link_tx *link, uint64_t now);

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
 * rfm_link_tx_output() - what to write next
 * @buf: RFM_LINK_BATCH bytes
 *
 * Returns how many bytes were put there; 0 if there is nothing to say.
 */
unsigned int rfm_link_tx_output(struct rfm_link_tx *link, uint8_t *buf, uint64_t now);

/** rfm_link_tx_late() - has the neighbour not answered in time? */
bool rfm_link_tx_late(const struct rfm_link_tx *link, uint64_t now);

/**
 * struct rfm_link_rx - the receiving end
 * @reply: an answer to be written back; set by received() when not 0
 */
struct rfm_link_rx {
	struct rfm_node *node;
	bool open, agreed;
	uint64_t opened_at;
	unsigned int fill;		/* bytes of @part so far */
	unsigned int reply_length;
	uint8_t reply[RFM_LINK_MESSAGE];
	uint8_t part[RFM_FRAME_MAX];	/* a message that has come in part */
};

void rfm_link_rx_init(struct rfm_link_rx *link, struct rfm_node *node);

/** rfm_link_rx_opened() - somebody has connected */
void rfm_link_rx_opened(struct rfm_link_rx *link, uint64_t now);

/** rfm_link_rx_closed() - and has gone: light out; a frame in part is bad data */
void rfm_link_rx_closed(struct rfm_link_rx *link, uint64_t now);

/**
 * rfm_link_rx_received() - bytes from upstream
 *
 * Hands whole frames to the node. Afterwards @link->reply_length bytes of
 * @link->reply are to be written back. Returns NULL, or one sentence that
 * says why the pipe must be closed (after the reply was written).
 */
const char *rfm_link_rx_received(struct rfm_link_rx *link, const uint8_t *buf,
				 unsigned int len, uint64_t now);

/** rfm_link_rx_late() - has whoever connected not introduced itself in time? */
bool rfm_link_rx_late(const struct rfm_link_rx *link, uint64_t now);

#endif
