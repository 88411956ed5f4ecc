/* SPDX-License-Identifier: MIT */
/*
 * Who has gone. A frame is removed by the node that sent it; one whose node
 * has gone would circle on. The hub knows from the handshake who was behind a
 * port, so it knows whose frames have become rogues.
 */
#ifndef RMHUB_ROGUE_H
#define RMHUB_ROGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"

#define ROGUE_LIVES	4	/* former lives of an id that are remembered */

/**
 * struct rogue_life - a life of a node
 * @incarnation: 0: none
 * @seq: greatest number, and @time: latest time, that came from its own port
 */
struct rogue_life {
	uint64_t incarnation;
	uint64_t seq, time;
};

struct rogues {
	struct rogue_life gone[RFM_RING_NODES][ROGUE_LIVES];	/* the last one first */
};

/** rogues_left() - the node @id has gone in that life */
void rogues_left(struct rogues *rogues, uint8_t id, const struct rogue_life *life);

/** rogues_back() - it is here in that life: its frames are none (any more) */
void rogues_back(struct rogues *rogues, uint8_t id, uint64_t incarnation);

/**
 * rogues_has() - is this frame one?
 *
 * A frame that is newer than all that came through the node's own port cannot
 * have been left behind: the node has moved, to a port of another hub of the
 * ring, and its frames pass again.
 */
bool rogues_has(struct rogues *rogues, const uint8_t *wire);

/** rogue_life_seen() - a frame of that life has come through its own port */
void rogue_life_seen(struct rogue_life *life, const uint8_t *wire);

#endif
