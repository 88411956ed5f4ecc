/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a frame stand on the wire: docs/ring-protocol.md,
 * section 5. For frame.c, and for who looks at single fields without decoding
 * the frame. Private to who includes it: its names are short.
 */
#ifndef RFM_RING_FRAME_LAYOUT_H
#define RFM_RING_FRAME_LAYOUT_H

#include "ring/frame.h"
#include "ring/wire.h"

enum {
	AT_MAGIC	= 0,
	AT_VERSION	= 2,
	AT_TYPE		= 3,
	AT_SOURCE	= 4,
	AT_DEST		= 5,	/* TRAIN: number of frames */
	AT_KIND		= 6,	/* and the flags above it */
	AT_LENGTH	= 7,	/* TRAIN: of the last frame; PACKET: of the last piece */
	AT_ADDRESS	= 8,
	AT_STREAM	= 8,	/* PACKET */
	AT_PIECES	= 10,	/* PACKET */
	AT_CLOCK_DOMAIN	= 12,
	AT_INCARNATION	= 16,
	AT_SEQ		= 24,
	AT_TIME		= 32,
	AT_CHECK	= 40,
	AT_HOPS		= 44,	/* 14 bits; above them the verdict */
	AT_MARKS	= 46,
	AT_HOP_CHECK	= 47,
	AT_DATA		= RFM_FRAME_HEADER,
};

#define HOPS_MASK	0x3fffu
#define VERDICT_SHIFT	6	/* from bits 15:14 of the hops to RFM_MARK_SEEN and RFM_MARK_TAKEN */

static inline uint16_t frame_hops(const uint8_t *wire)
{
	return get16(wire + AT_HOPS) & HOPS_MASK;
}

static inline uint16_t frame_marks(const uint8_t *wire)
{
	return wire[AT_MARKS] |
	       (get16(wire + AT_HOPS) >> VERDICT_SHIFT & (RFM_MARK_SEEN | RFM_MARK_TAKEN));
}

/* The check over what changes on the way. */
static inline uint8_t path_check(uint32_t path)
{
	return (uint8_t)~((path & 0xff) * 3 + (path >> 8 & 0xff) * 7 + (path >> 16 & 0xff) * 11);
}

static inline uint8_t hop_check(const uint8_t *wire)
{
	return path_check(get32(wire + AT_HOPS));
}

#endif
