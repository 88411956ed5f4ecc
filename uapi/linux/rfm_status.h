/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What programs see of the registers of a 5565 reflective-memory card: bits of
 * its status, features, counters. Sources of the numbers: docs/card.md,
 * docs/extension.md.
 */
#ifndef _UAPI_LINUX_RFM_STATUS_H
#define _UAPI_LINUX_RFM_STATUS_H

#define RFM_BID_5565			0x65	/* rfm_info.board_id: register BID */

/* Register LCSR1, as rfm_info.lcsr1 shows it. */
#define RFM_LCSR1_LED			0x80000000u	/* red status LED, reset 1 */
#define RFM_LCSR1_TX_DISABLE		0x40000000u
#define RFM_LCSR1_DARK_ON_DARK		0x20000000u
#define RFM_LCSR1_LOOPBACK		0x10000000u
#define RFM_LCSR1_PARITY		0x08000000u
#define RFM_LCSR1_REDUNDANT		0x04000000u
#define RFM_LCSR1_ROGUE_MASTER1		0x02000000u
#define RFM_LCSR1_ROGUE_MASTER0		0x01000000u
#define RFM_LCSR1_WINDOW1		0x00400000u	/* {1,0}: 00 full, 01 64M, 10 16M, 11 2M */
#define RFM_LCSR1_MEMSIZE_SHIFT		20		/* 0, 1, 2: 64, 128, 256 MiB */
#define RFM_LCSR1_MEMSIZE_M		0x00300000u
#define RFM_LCSR1_WINDOW0		0x00080000u
#define RFM_LCSR1_DELAYED_TX		0x00040000u
#define RFM_LCSR1_OFFSET_SHIFT		16		/* steps of 64 MiB */
#define RFM_LCSR1_OFFSET_M		0x00030000u
#define RFM_LCSR1_TX_EMPTY		0x00000080u	/* live */
#define RFM_LCSR1_TX_ALMOST_FULL	0x00000040u	/* live */
#define RFM_LCSR1_RX_FULL		0x00000020u	/* latched, cleared by LISR[10] */
#define RFM_LCSR1_RX_ALMOST_FULL	0x00000010u	/* latched, cleared by LISR[9] */
#define RFM_LCSR1_SYNC_LOSS		0x00000008u	/* latched, cleared by LISR[11] */
#define RFM_LCSR1_SIGNAL		0x00000004u	/* live: light on the receiver */
#define RFM_LCSR1_BAD_DATA		0x00000002u	/* latched, cleared by LISR[8] */
#define RFM_LCSR1_OWN_DATA		0x00000001u	/* own packet came back; 0 clears */

/* What register LISR latches, as rfm_info.lisr shows it. */
#define RFM_LISR_PARITY			0x2000u
#define RFM_LISR_WRITE_INHIBITED	0x1000u
#define RFM_LISR_SYNC_LOSS		0x0800u
#define RFM_LISR_RX_FULL		0x0400u
#define RFM_LISR_RX_ALMOST_FULL		0x0200u
#define RFM_LISR_BAD_DATA		0x0100u
#define RFM_LISR_ROGUE			0x0040u
#define RFM_LISR_TX_FULL		0x0020u
#define RFM_LISR_RESET_REQ		0x0008u

/* What the extension block has. */
#define RFM_EXT_FEATURE_SUBSCRIBE	0x0001u	/* planes RX and TX */
#define RFM_EXT_FEATURE_WATCH		0x0002u	/* plane WATCH, event ring, slots */
#define RFM_EXT_FEATURE_WRITER		0x0004u	/* last writer, plane OWNED */
#define RFM_EXT_FEATURE_MULTICAST	0x0008u
#define RFM_EXT_FEATURE_FENCE		0x0010u
#define RFM_EXT_FEATURE_SNAPSHOT	0x0020u	/* counters and ring map */
#define RFM_EXT_FEATURE_CLOCK		0x0040u
#define RFM_EXT_FEATURE_QUERY		0x0080u
#define RFM_EXT_FEATURE_REMOTE		0x0100u	/* requests, and planes READ, WRITE, HOME */
#define RFM_EXT_FEATURE_BURST		0x0200u	/* a range in which stores do not trap */
#define RFM_EXT_FEATURE_SHORT_DMA	0x0400u	/* up to 4096 bytes are moved at once */
#define RFM_EXT_FEATURES		0x07ffu

#define RFM_FIFO_DEPTH			127	/* interrupts of a type that wait in the card */
#define RFM_GRANULE			64	/* bytes that are subscribed or watched together */

enum rfm_counter {
	RFM_COUNTER_STORES		= 0,	/* stores and interrupts asked for */
	RFM_COUNTER_SENT		= 1,	/* own frames numbered */
	RFM_COUNTER_HOME		= 2,	/* of these, came home */
	RFM_COUNTER_LOST		= 3,	/* did not, but a later one; or not stored by all */
	RFM_COUNTER_DARK		= 4,	/* own frames not sent: no signal or no neighbour */
	RFM_COUNTER_FULL		= 5,	/* own frames not sent: no room in time */
	RFM_COUNTER_RECEIVED		= 6,	/* frames of others taken */
	RFM_COUNTER_FORWARDED		= 7,
	RFM_COUNTER_UNSENDABLE		= 8,	/* not passed on: no neighbour */
	RFM_COUNTER_OVERRUN		= 9,	/* not passed on: no room */
	RFM_COUNTER_MISSED		= 10,	/* frames of others that never arrived */
	RFM_COUNTER_LATE		= 11,
	RFM_COUNTER_COPIES		= 12,	/* second copies in redundant mode */
	RFM_COUNTER_BEYOND		= 13,	/* updates past the end of the memory */
	RFM_COUNTER_BAD			= 14,	/* damaged frames dropped */
	RFM_COUNTER_HOP_LIMIT		= 15,
	RFM_COUNTER_ROGUE		= 16,
	RFM_COUNTER_MIXED		= 17,
	RFM_COUNTER_HELD_LOST		= 18,	/* dropped: machine paused for too long */
	RFM_COUNTER_SENT_BYTES		= 19,	/* data bytes of own updates sent */
	RFM_COUNTER_RECEIVED_BYTES	= 20,	/* data bytes of updates taken */
	RFM_COUNTER_FORWARDED_BYTES	= 21,
	RFM_COUNTER_FILTERED_RX		= 22,	/* bytes of others not stored: not subscribed */
	RFM_COUNTER_FILTERED_TX		= 23,	/* bytes of own stores not sent: not subscribed */
	RFM_COUNTER_WINDOW		= 24,	/* own frames on the ring now */
	RFM_COUNTER_WINDOW_PEAK		= 25,
	RFM_COUNTER_TX			= 26,	/* frames in the transmit FIFO now */
	RFM_COUNTER_TX_PEAK		= 27,
	RFM_COUNTER_INSERT		= 28,	/* stores that wait to be sent now */
	RFM_COUNTER_INSERT_PEAK		= 29,
	RFM_COUNTER_STALL_US		= 30,	/* longest time a store held its CPU */
	RFM_COUNTER_INTERRUPTS_DROPPED	= 31,	/* network interrupts that found their FIFO full */
	RFM_COUNTER_EVENTS		= 32,	/* records since reset, with those dropped */
	RFM_COUNTER_EVENTS_DROPPED	= 33,
	RFM_COUNTER_CONFLICTS		= 34,	/* updates of others to owned granules */
	RFM_COUNTER_BREAKS		= 35,	/* times another node lost its signal */
	RFM_COUNTER_EPOCH		= 36,
	RFM_COUNTER_TURN_NS		= 37,	/* time once round; 0: nothing comes home */
	RFM_COUNTER_PACKETS		= 38,	/* own packets that have ended */
	RFM_COUNTER_PACKETS_TAKEN	= 39,	/* of these, taken */
	RFM_COUNTER_PACKETS_LOST	= 40,	/* nobody knows whether they were */
	RFM_COUNTER_PACKETS_RECEIVED	= 41,	/* of others, taken here */
	RFM_COUNTER_PACKETS_REFUSED	= 42,	/* of others, for this node: no room */
	RFM_COUNTER_REQUESTS		= 43,	/* own operations at other nodes that have ended */
	RFM_COUNTER_REQUESTS_FAILED	= 44,	/* of these, not as asked */
	RFM_COUNTER_SERVED		= 45,	/* operations of others that were answered */
	RFM_COUNTER_RESYNC_BYTES	= 46,	/* made right by resync so far */
	RFM_COUNTER_BURST_SCANS		= 47,	/* of the burst range, that found written pages */
	RFM_COUNTER_BURST_BYTES		= 48,	/* that had changed there */
	RFM_COUNTER_BURST_LATE		= 49,	/* interrupts that went before that */
	RFM_COUNTERS			= 50
};

#endif /* _UAPI_LINUX_RFM_STATUS_H */
