/* SPDX-License-Identifier: MIT */
/* The node that the node fuzzer drives, its owner, and what must be so after every step. */
#ifndef RFM_TESTS_FUZZ_NODE_OWNER_H
#define RFM_TESTS_FUZZ_NODE_OWNER_H

#include "ring/link.h"
#include "ring/node.h"
#include "ring/shm.h"
#include "tests/fuzz/fuzz.h"

#define ECHOES		16	/* own frames remembered, to come home */

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

	uint8_t echo[ECHOES][RFM_PACKET_MAX];
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
