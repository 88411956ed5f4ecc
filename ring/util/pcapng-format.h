/* SPDX-License-Identifier: MIT */
/* What stands in a pcapng file (draft-ietf-opsawg-pcapng), for its writer and its reader only. */
#ifndef RFM_RING_PCAPNG_FORMAT_H
#define RFM_RING_PCAPNG_FORMAT_H

#include <stdint.h>

enum block {
	BLOCK_SECTION		= 0x0a0d0d0a,
	BLOCK_INTERFACE		= 1,
	BLOCK_STATISTICS	= 5,
	BLOCK_PACKET		= 6,
};

#define BYTE_ORDER_MAGIC	0x1a2b3c4du
#define VERSION_MAJOR		1
#define BLOCK_FRAME		12	/* type and length before the body, length behind */

enum option {
	OPT_END			= 0,
	OPT_COMMENT		= 1,
	OPT_APPLICATION		= 4,	/* section */
	OPT_NAME		= 2,	/* interface */
	OPT_DESCRIPTION		= 3,
	OPT_RESOLUTION		= 9,
	OPT_OFFSET		= 14,
	OPT_FLAGS		= 2,	/* packet */
	OPT_DROPPED		= 4,
	OPT_RECEIVED		= 4,	/* statistics */
	OPT_IF_DROPPED		= 5,
};

#define NANOSECONDS		9	/* if_tsresol: 10^-9 */

static inline uint32_t padded(uint32_t len)
{
	return (len + 3) & ~3u;
}

#endif
