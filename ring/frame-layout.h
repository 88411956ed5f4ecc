/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a frame stand on the wire: docs/ring-protocol.md,
 * section 5. For frame.c, and for who looks at single fields without decoding
 * the frame. Private to who includes it: its names are short.
 */
#ifndef RFM_RING_FRAME_LAYOUT_H
#define RFM_RING_FRAME_LAYOUT_H

#include "ring/frame.h"

enum {
	AT_MAGIC	= 0,
	AT_VERSION	= 2,
	AT_TYPE		= 3,
	AT_SOURCE	= 4,
	AT_DEST		= 5,	/* TRAIN: number of frames */
	AT_KIND		= 6,	/* and the flags above it */
	AT_LENGTH	= 7,	/* TRAIN: of the last frame */
	AT_ADDRESS	= 8,
	AT_CLOCK_DOMAIN	= 12,
	AT_INCARNATION	= 16,
	AT_SEQ		= 24,
	AT_TIME		= 32,
	AT_CHECK	= 40,
	AT_HOPS		= 44,
	AT_MARKS	= 46,
	AT_HOP_CHECK	= 47,
	AT_DATA		= RFM_FRAME_HEADER,
};

/* The check over what changes on the way. */
static inline uint8_t hop_check(const uint8_t *wire)
{
	return (uint8_t)~(wire[AT_HOPS] * 3 + wire[AT_HOPS + 1] * 7 + wire[AT_MARKS] * 11);
}

#endif
