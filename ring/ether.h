/* SPDX-License-Identifier: MIT */
/*
 * Ethernet on the ring: frames of a network card that leave as packets, and come whole.
 *
 *   rfm_ether_send() -> cut -> PACKET ... PACKET     rfm_ether_take()    is there room?
 *                              (a frame in order)    rfm_ether_packet()  put together
 *                                                    rfm_ether_fetch()
 *
 * - It goes the way of a network: what a node does not take is lost; nothing is sent again, and
 *   receiving never waits. It is counted by its sender, one for all only if it does not come home,
 *   and by its receiver if that had no room for it or had a part of it.
 * - A frame goes to the node where its destination was heard last; to all if that is unknown,
 *   or many.
 * - A frame is whole or not at all: the streams of its packets count up by one, so a gap shows.
 *
 * No thread and no clock of its own. All calls for one node are made under one lock of the owner;
 * rfm_ether_send() and rfm_ether_run() besides in the node's producer context.
 */
#ifndef RFM_RING_ETHER_H
#define RFM_RING_ETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/node.h"

#define RFM_ETHER_MIN		14	/* bytes of a frame: two addresses and a type */
#define RFM_ETHER_MAX		9216	/* an MTU of 9000 and tags; no check sequence */
#define RFM_ETHER_WAITING	1024	/* frames that have come and were not fetched, at most */
#define RFM_ETHER_ADDRESSES	1024	/* that are remembered; of two power */
#define RFM_ETHER_WAYS		4	/* places that one may have among them */

/* In the cookies of its packets, and of no others. */
#define RFM_ETHER_COOKIE	(1ull << 62)

/**
 * struct rfm_ether_frame - one that has come; from malloc()
 */
struct rfm_ether_frame {
	struct rfm_ether_frame *next;
	uint32_t length;
	uint8_t data[];
};

/* What comes of a node. */
struct rfm_ether_source {
	uint64_t incarnation;
	uint16_t stream;		/* of the packet that has to come next */
	struct rfm_ether_frame *frame;	/* NULL: none is begun */
};

/* Where an address was heard last. */
struct rfm_ether_address {
	uint8_t bytes[6];
	uint8_t node;		/* the own one: on this side of it */
	uint64_t heard;		/* the greater, the later; 0: no address */
};

/**
 * struct rfm_ether_stats - in frames
 * @sent: left this node whole
 * @lost: of these, as far as this node knows not received: no room, no such node, lost on the ring;
 *	of one for all only the last is known
 * @dark: not sent, or not whole: the node is off the ring
 * @unfit: not sent: too short or too long
 * @received: of others, whole
 * @refused: of others, that found no room here
 * @broken: of others, of which something is missing, or which are too short or too long
 */
struct rfm_ether_stats {
	uint64_t sent, lost, dark, unfit;
	uint64_t received, refused, broken;
};

struct rfm_ether {
	struct rfm_node *node;
	void (*wake)(void *opaque);
	void *opaque;
	struct {
		uint32_t length, at;	/* @at < @length: the rest waits for room */
		uint8_t node;
		bool to_all;
		uint8_t data[RFM_ETHER_MAX];
	} out;
	uint16_t stream;		/* of the next packet */
	struct rfm_ether_frame *first, *last;	/* to be fetched */
	unsigned int waiting;
	uint64_t heard;
	struct rfm_ether_source sources[RFM_RING_NODES];
	struct rfm_ether_address addresses[RFM_ETHER_ADDRESSES / RFM_ETHER_WAYS][RFM_ETHER_WAYS];
	struct rfm_ether_stats stats;
};

/**
 * rfm_ether_init() - for a node, which has the ops below as its own for packets of its class
 * @wake: rfm_ether_run() or rfm_ether_fetch() has something to do; any call
 */
void rfm_ether_init(struct rfm_ether *ether, struct rfm_node *node, void (*wake)(void *opaque),
		    void *opaque);
void rfm_ether_destroy(struct rfm_ether *ether);

/** rfm_ether_may_send() - has the frame before left? If not, wake() comes when it may go on */
static inline bool rfm_ether_may_send(const struct rfm_ether *ether)
{
	return ether->out.at == ether->out.length;
}

/**
 * rfm_ether_send() - send a frame, if rfm_ether_may_send(); copied
 * @length: what is not RFM_ETHER_MIN..RFM_ETHER_MAX is not sent, and counted
 */
void rfm_ether_send(struct rfm_ether *ether, const uint8_t *data, uint32_t length, uint64_t now);

/** rfm_ether_run() - go on with a frame that waited for room */
void rfm_ether_run(struct rfm_ether *ether, uint64_t now);

/** rfm_ether_fetch() - the next frame that has come, the caller's from then on; NULL: none */
struct rfm_ether_frame *rfm_ether_fetch(struct rfm_ether *ether);

/* --- struct rfm_node_ops; engine ------------------------------------------ */

void rfm_ether_packet_end(struct rfm_ether *ether, uint64_t cookie, enum rfm_packet_fate fate);
void rfm_ether_packet_room(struct rfm_ether *ether);
bool rfm_ether_take(struct rfm_ether *ether, const struct rfm_packet *packet);
void rfm_ether_packet(struct rfm_ether *ether, const struct rfm_packet *packet,
		      const uint8_t *data);

#endif
