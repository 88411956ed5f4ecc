/* SPDX-License-Identifier: MIT */
/*
 * Whom a neighbour may speak for, as its certificate says. The certificate has
 * been verified by whoever runs TLS over the link; here is only what the name in
 * it means for the ring. docs/tls.md is for people.
 */
#ifndef RFM_RING_PERMIT_H
#define RFM_RING_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"

struct rfm_link_self;

/**
 * struct rfm_permit - what a certificate allows
 * @hub: to be a hub
 * @nodes: to be one of these nodes; node n is bit n % 8 of byte n / 8
 */
struct rfm_permit {
	bool hub;
	uint8_t nodes[RFM_NODE_SET];
};

/**
 * rfm_permit_parse() - from the name of a certificate
 * @name: its distinguished name as RFC 4514 writes it, of which each
 *	organizational unit (OU) that begins with "rfm:" counts: rfm:node:17,
 *	rfm:node:16-31 or rfm:hub
 *
 * Returns NULL, or one sentence (about "the certificate") that says what is
 * wrong; then nothing is allowed.
 */
const char *rfm_permit_parse(struct rfm_permit *permit, const char *name);

/** rfm_permit_node() - may it speak for this node? */
static inline bool rfm_permit_node(const struct rfm_permit *permit, uint8_t id)
{
	return permit->nodes[id / 8] >> id % 8 & 1;
}

/** rfm_permit_self() - may it be who it says in its greeting? */
bool rfm_permit_self(const struct rfm_permit *permit, const struct rfm_link_self *self);

/**
 * rfm_permit_frame() - may it hand over this frame or train?
 * @wire: with a whole header
 *
 * Of a frame that has travelled no link before this one it must be the source.
 * Of others only those before it can say.
 */
bool rfm_permit_frame(const struct rfm_permit *permit, const uint8_t *wire);

#endif
