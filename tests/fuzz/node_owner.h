/* SPDX-License-Identifier: MIT */
/* The node that the node fuzzer drives, its owner, and what must be so after every step. */
#ifndef RFM_TESTS_FUZZ_NODE_OWNER_H
#define RFM_TESTS_FUZZ_NODE_OWNER_H

#include "ring/link.h"
#include "ring/node.h"
#include "ring/shm.h"
#include "tests/fuzz/fuzz.h"

#define ECHOES		16	/* own frames remembered, to come home */

/* A packet that was given to the node; the next byte of its data is one more than this one. */
struct given {
	struct rfm_packet packet;
	uint8_t first_byte;
	bool dark;		/* it has ended, and has not left */
};

struct world {
	struct rfm_node node;
	struct rfm_link_rx rx;
	struct rfm_link_tx tx;
	uint64_t now;
	uint8_t *memory;
	bool use_shm;

	bool awake;		/* transmit() has come since the last pull that gave less */
	bool may_sleep;		/* so a pull must give no frame */
	bool room_asked, room_told;
	uint64_t ticket;	/* of the fence that has not been answered */
	uint64_t tickets;
	bool flooded, attached;
	uint64_t last_seq;	/* of the last own frame sent in this life */
	uint64_t missed[RFM_RING_NODES];	/* as told */

	/* Own packets: how many there were before is the cookie of each, and its stream. */
	struct given given[RFM_NODE_PACKETS];
	uint64_t packets, packets_ended, packets_sent;
	bool packet_asked;	/* and it may still be told that there is room */
	/* Those of others: between take() and packet() the one that is to come. */
	bool taking;
	struct rfm_packet taken;
	uint8_t taken_data[RFM_PACKET_DATA];
	uint64_t packets_taken, packets_refused;

	uint8_t echo[ECHOES][RFM_UNIT_MAX];
	unsigned int echoes;
};

extern struct world world;

/* The queues live as long as the process; only their contents begin anew. */
extern struct rfm_shm up_peer, up;	/* upstream's end, written to at will, and ours */
extern struct rfm_shm down, down_peer;	/* our end, and downstream's */

extern const struct rfm_node_ops owner_ops;

void check_node(void);

/* The books of each source are those of the node. */
void check_sources(const struct rfm_node *node);

#endif
