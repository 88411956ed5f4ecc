/* SPDX-License-Identifier: MIT */
/*
 * Nodes with both ends of their fibres, and bytes to say to them. What the
 * messages say is of node 3, as in docs/ring-protocol.md.
 */
#ifndef RFM_TESTS_UNIT_ENDS_H
#define RFM_TESTS_UNIT_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/link.h"
#include "ring/node.h"

#define MS 1000000ull

struct end {
	struct rfm_node node;
	struct rfm_link_tx tx;
	struct rfm_link_rx rx;
	uint8_t memory[256];
	unsigned int status, stores;
};

extern const uint8_t hello[RFM_LINK_MESSAGE], welcome[RFM_LINK_MESSAGE];
extern const uint8_t refuse[RFM_LINK_MESSAGE], light[RFM_LINK_MESSAGE];
extern const uint8_t hello_all[RFM_LINK_MESSAGE];	/* redundant, offers shared memory */
extern const uint8_t welcome_hub[RFM_LINK_MESSAGE];	/* a hub, takes it */
extern const uint8_t light_off[RFM_LINK_MESSAGE];

struct end *end_new(uint8_t id);
void end_free(struct end *end);
void ends_connect(struct end *from, struct end *to);
void ends_disconnect(struct end *from, struct end *to);
/* Carry what both have to say, in pieces of @piece bytes, until nobody says more. */
void ends_settle(struct end *a, struct end *b, unsigned int piece);
/* An end whose upstream, node 3, has said hello and switched its laser on. */
struct end *end_lit(void);
/* A message with one byte changed and the check made right again. */
void changed(uint8_t *message, const uint8_t *from, unsigned int at, uint8_t value);
/* A frame of node 3 that writes @value to the first four bytes; returns its length. */
unsigned int data_frame(uint8_t *wire, uint64_t seq, uint8_t value);
/* This answer to a hello ends the link, with that sentence. */
void answered(const uint8_t *reply, const char *why);

#endif
