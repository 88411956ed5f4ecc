/* SPDX-License-Identifier: MIT */
/*
 * The header fields of a frame in wire form that a hub looks at without
 * checking the frame: docs/ring-protocol.md, section 3. A damaged frame gives
 * wrong values here, and is dropped by the next node in any case.
 */
#ifndef RMHUB_PEEK_H
#define RMHUB_PEEK_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t peek64(const uint8_t *wire, unsigned int at)
{
	uint64_t value;

	memcpy(&value, wire + at, sizeof(value));
	return le64toh(value);
}

static inline uint8_t peek_type(const uint8_t *wire)
{
	return wire[3];
}

static inline uint8_t peek_source(const uint8_t *wire)
{
	return wire[4];
}

static inline uint64_t peek_incarnation(const uint8_t *wire)
{
	return peek64(wire, 16);
}

static inline uint64_t peek_seq(const uint8_t *wire)
{
	return peek64(wire, 24);
}

static inline uint64_t peek_time(const uint8_t *wire)
{
	return peek64(wire, 32);
}

static inline uint16_t peek_hops(const uint8_t *wire)
{
	return wire[44] | wire[45] << 8;
}

static inline uint8_t peek_marks(const uint8_t *wire)
{
	return wire[46];
}

/* Hop count and marks can be believed. */
static inline bool peek_path_good(const uint8_t *wire)
{
	return wire[47] == (uint8_t)~(wire[44] * 3 + wire[45] * 7 + wire[46] * 11);
}

#endif
