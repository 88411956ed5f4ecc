/* SPDX-License-Identifier: MIT */
/*
 * The header fields of a frame in wire form that a hub looks at without
 * checking the frame. A damaged frame gives
 * wrong values here, and is dropped by the next node in any case.
 */
#ifndef RMHUB_PEEK_H
#define RMHUB_PEEK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame-layout.h"

static inline uint8_t peek_type(const uint8_t *wire)
{
	return wire[AT_TYPE];
}

static inline uint8_t peek_source(const uint8_t *wire)
{
	return wire[AT_SOURCE];
}

static inline uint64_t peek_incarnation(const uint8_t *wire)
{
	return get64(wire + AT_INCARNATION);
}

static inline uint64_t peek_seq(const uint8_t *wire)
{
	return get64(wire + AT_SEQ);
}

/* Of a train its last frame's. */
static inline uint64_t peek_last(const uint8_t *wire)
{
	return peek_seq(wire) + rfm_frame_count(wire) - 1;
}

static inline uint64_t peek_time(const uint8_t *wire)
{
	return get64(wire + AT_TIME);
}

static inline uint16_t peek_hops(const uint8_t *wire)
{
	return frame_hops(wire);
}

/* Hop count and marks can be believed. */
static inline bool peek_path_good(const uint8_t *wire)
{
	return wire[AT_HOP_CHECK] == hop_check(wire);
}

#endif
