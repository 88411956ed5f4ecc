/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Registers of the 5565 reflective-memory card (VMIC / GE / Abaco), PIORC
 * generation, as the driver and the device model both see them. What of them
 * programs see as well stands in <linux/rfm_status.h>.
 *
 * These two are the only places where these numbers stand. Source of every value,
 * unless a line says otherwise: the vendor's hardware manual for the
 * PCI(E)-5565PIORC; the tables are named in docs/card.md. "Own choice" marks
 * what the manual leaves open.
 *
 * All registers are little-endian. Names ending in _M are masks.
 */
#ifndef RFM_REGS_H
#define RFM_REGS_H

#include <linux/types.h>
#include <linux/rfm_status.h>

/* --- PCI identity ------------------------------------------------------- */

#define RFM_PCI_VENDOR_ID		0x114a
#define RFM_PCI_DEVICE_ID		0x5565
#define RFM_PCI_SUBVENDOR_ID		0x1556	/* PIORC: ids of the PCI core */
#define RFM_PCI_SUBDEVICE_ID		0x0080
#define RFM_PCI_CLASS			0x0280	/* network, other */
#define RFM_PCI_REVISION		0x01	/* own choice: not published */

#define RFM_BAR_RUNTIME			0	/* bridge, DMA, interrupt enable */
#define RFM_BAR_RUNTIME_IO		1	/* I/O alias of BAR0 0x00..0xff */
#define RFM_BAR_CONTROL			2	/* the reflective-memory registers */
#define RFM_BAR_MEMORY			3	/* the reflected memory */
#define RFM_BAR_EXTENSION		4	/* ours; found by its capability only */

#define RFM_BAR_RUNTIME_SIZE		0x200	/* own choice: manual contradicts itself */
#define RFM_BAR_RUNTIME_IO_SIZE		0x100
#define RFM_BAR_CONTROL_SIZE		0x40

/* --- BAR0: bridge ------------------------------------------------------- */

#define RFM_MARBR			0x08
#define RFM_BIGEND			0x0c
#define RFM_INTCSR			0x68
#define RFM_CNTRL			0x6c
#define RFM_PCIHREV			0x74
#define RFM_DMAMODE0			0x80
#define RFM_DMAPADR0			0x84	/* host address, low half */
#define RFM_DMALADR0			0x88	/* offset in the memory, never moved by LAS1BA */
#define RFM_DMASIZ0			0x8c	/* bytes */
#define RFM_DMADPR0			0x90
#define RFM_DMACSR0			0xa8
#define RFM_MARBR_ALIAS			0xac
#define RFM_DMADAC0			0xb4	/* host address, high half */
#define RFM_LAS1RR			0xf0
#define RFM_LAS1BA			0xf4

#define RFM_INTCSR_PCI_ENABLE		0x00000100u	/* master enable, reset 1 */
#define RFM_INTCSR_LOCAL_ENABLE		0x00000800u	/* BAR2 interrupts */
#define RFM_INTCSR_LOCAL_ACTIVE		0x00008000u	/* read-only, ungated */
#define RFM_INTCSR_DMA0_ENABLE		0x00040000u
#define RFM_INTCSR_DMA0_ACTIVE		0x00200000u	/* read-only, ungated */
#define RFM_INTCSR_DMA0_NO_ABORT	0x02000000u	/* 0: an address did not answer DMA */
#define RFM_INTCSR_RESET		0x0f010100u

#define RFM_MARBR_RESET			0x02040000u
#define RFM_MARBR_DELAYED_READ		0x01000000u
#define RFM_BIGEND_PIO			0x00000020u	/* BAR3: bytes of each dword reversed */
#define RFM_BIGEND_DMA0			0x00000080u	/* DMA: likewise */
#define RFM_PCIHREV_PIORC		0xc0
#define RFM_DMAMODE0_RESET		0x00020583u
#define RFM_DMAMODE0_CHAIN		0x00000200u	/* scatter-gather, by descriptors */
#define RFM_DMASIZ0_M			0x007fffffu
#define RFM_DMA_MAX			0x007ffff8u	/* bytes a start, a multiple of 8 */
#define RFM_DMADPR0_RESET		0x00000001u
#define RFM_DMADPR0_TO_HOST		0x00000008u	/* direction: card to host */
#define RFM_DMADPR0_FIRST_M		0xfffffff0u	/* first descriptor, below 4 GiB */
#define RFM_DMACSR0_ENABLE		0x01
#define RFM_DMACSR0_START		0x02	/* write 1; reads 0 */
#define RFM_DMACSR0_CLEAR_INT		0x08	/* write 1; reads 0 */
#define RFM_DMACSR0_DONE		0x10	/* read-only: idle */
#define RFM_LAS1BA_ENABLE		0x00000001u	/* always reads 1 */
#define RFM_LAS1BA_REMAP_M		0x0fe00000u

/**
 * struct rfm_dma_descriptor - one piece of a scatter-gather transfer
 * @address_low: host address, a multiple of 8
 * @address_high: its upper half
 * @bytes: a multiple of 8
 * @next: address of the next descriptor, a multiple of 16, or RFM_DMA_LAST
 *
 * Lies at a multiple of 16 below 4 GiB. A piece does not cross 4 GiB.
 */
struct rfm_dma_descriptor {
	__le32 address_low;
	__le32 address_high;
	__le32 bytes;
	__le32 next;
};

#define RFM_DMA_LAST			0x1u

/*
 * RFM_EXT_FEATURE_SHORT_DMA: in one block to the card, so many bytes have been moved when the
 * write to DMACSR0 that starts it is over, unless they wait for room on the ring.
 */
#define RFM_DMA_SHORT			4096

/* --- BAR2: reflective memory -------------------------------------------- */

#define RFM_BRV				0x00	/* board revision, 8 bit */
#define RFM_BID				0x01	/* board id, 8 bit */
#define RFM_BRB				0x02	/* build, 16 bit */
#define RFM_NID				0x04	/* node id, 8 bit */
#define RFM_LCSR1			0x08
#define RFM_LISR			0x10
#define RFM_LIER			0x14
#define RFM_NTD				0x18	/* data of the next network interrupt */
#define RFM_NTN				0x1c	/* its target node, 8 bit */
#define RFM_NIC				0x1d	/* its kind, 8 bit; a write sends it */
#define RFM_ISD(n)			(0x20 + 8 * ((n) - 1))	/* data FIFO, n = 1..4 */
#define RFM_SID(n)			(0x24 + 8 * ((n) - 1))	/* sender FIFO; a read pops both */

#define RFM_BRV_SLIDING_WINDOW		0x8c	/* from this revision on LAS1xx exist */
#define RFM_FIFOS			4

#define RFM_LISR_AUTO_CLEAR		0x8000u	/* copy of LIER[15] */
#define RFM_LISR_GLOBAL_ENABLE		0x4000u
#define RFM_LISR_INT4			0x0080u	/* level: FIFO 4 holds something */
#define RFM_LISR_INT3			0x0004u
#define RFM_LISR_INT2			0x0002u
#define RFM_LISR_INT1			0x0001u
#define RFM_LISR_LATCHED_M		0x3f68u	/* write 0 clears, once read as 1 */
#define RFM_LISR_SOURCES_M		0x3fefu	/* what can interrupt */
#define RFM_LISR_INT(n)			((n) == 4 ? RFM_LISR_INT4 : 1u << ((n) - 1))

#define RFM_LIER_AUTO_CLEAR		0x8000u	/* reading LISR clears its bit 14 */
#define RFM_LIER_M			0xbfefu

#define RFM_NIC_RESET			0x0
#define RFM_NIC_INT1			0x1
#define RFM_NIC_INT2			0x2
#define RFM_NIC_INT3			0x3
#define RFM_NIC_INT4			0x7
#define RFM_NIC_TYPE_M			0x7
#define RFM_NIC_GLOBAL			0x8	/* to every other node */
#define RFM_NIC_PROBE			0x4	/* reserved kind: only sets the sender's OWN DATA */

/* --- the extension block ------------------------------------------------- */
/*
 * What no 5565 has. All of it is our own; docs/extension.md tells what each
 * register does. A driver finds the block by a vendor-specific capability
 * (id 0x09) in configuration space that carries the magic, never by a BAR
 * being there:
 *
 *	+0x00	8 bit	0x09
 *	+0x01	8 bit	next capability
 *	+0x02	8 bit	length, RFM_EXT_CAP_LENGTH
 *	+0x03	8 bit	number of the BAR
 *	+0x04	32 bit	RFM_EXT_MAGIC
 *	+0x08	32 bit	version, RFM_EXT_VERSION: the upper half changes when an
 *			old driver can no longer use the block
 *	+0x0c	32 bit	features, RFM_EXT_FEATURE_*
 *	+0x10	32 bit	where in the BAR the block begins
 *
 * Registers take aligned accesses of 4 bytes, those marked 64 also of 8. Other
 * accesses read 0 and write nothing. At reset every register is 0 unless it
 * says otherwise, every granule is received, transmitted, unwatched and
 * nobody's: the card is a plain 5565.
 */
#define RFM_EXT_CAP_LENGTH		0x14
#define RFM_EXT_CAP_BAR			0x03
#define RFM_EXT_CAP_MAGIC		0x04
#define RFM_EXT_CAP_VERSION		0x08
#define RFM_EXT_CAP_FEATURES		0x0c
#define RFM_EXT_CAP_OFFSET		0x10
#define RFM_EXT_MAGIC			0x584d4652u	/* "RFMX" */
#define RFM_EXT_VERSION			0x00020000u
#define RFM_EXT_BAR_SIZE		0x10000

/* What the capability says, once more, and what is switched on. */
#define RFM_EXT_ID			0x000	/* RO, RFM_EXT_MAGIC */
#define RFM_EXT_CONTROL			0x00c
#define RFM_EXT_CONTROL_WRITERS		0x1u	/* keep each granule's last writer */

/*
 * Nanoseconds since an instant that nodes of one domain share. Reading the
 * lower half keeps the upper half for the next read.
 */
#define RFM_EXT_CLOCK			0x010	/* RO, 64 */
#define RFM_EXT_CLOCK_DOMAIN		0x018	/* RO */

/*
 * Interrupts. With MSI-X a cause sends its vector's message if it is enabled
 * here; without, it sets its bit in STATUS, and INTA# is asserted while an
 * enabled bit is set and INTCSR[8] is 1.
 */
#define RFM_EXT_INT_STATUS		0x020	/* write 1 clears */
#define RFM_EXT_INT_ENABLE		0x024
#define RFM_VECTOR_EVENTS		0	/* a record was written */
#define RFM_VECTOR_DMA			1	/* a transfer, or a request, has ended */
#define RFM_VECTOR_LINK			2	/* the record tells of the link or the ring */
#define RFM_VECTOR_ERRORS		3	/* losses; a FAULT; with MSI-X what asserts INTA# */
#define RFM_VECTORS			4
/*
 * Moderation: no two interrupts of one vector within TIME ns. That of EVENTS
 * is raised when COUNT records wait that none has announced, or one has waited
 * for TIME.
 */
#define RFM_EXT_MODERATION_COUNT	0x028	/* 0 is as 1; at most 65535 */
#define RFM_EXT_MODERATION_TIME		0x02c	/* ns; 0: none, then COUNT is as 1 */

/*
 * The event ring: 2^SIZE records of struct rfm_ext_record in host memory.
 * BASE and SIZE count from the moment CONTROL.ENABLE goes from 0 to 1, which
 * sets all counts to 0. A record is complete when its index is PRODUCER as it
 * was after it: 1 for the first. When all 2^SIZE are unconsumed, or 4096 wait
 * inside the card to be written, events are dropped and counted. A record that
 * the memory does not take, BASE that is not aligned to a record or SIZE out
 * of range end in FAULT: the ring stops, every event is dropped and counted
 * until it is enabled again.
 */
#define RFM_EXT_EVENT_BASE		0x040	/* 64; aligned to 128 */
#define RFM_EXT_EVENT_SIZE		0x048	/* log2 of records, MIN..MAX */
#define RFM_EXT_EVENT_SIZE_MIN		4
#define RFM_EXT_EVENT_SIZE_MAX		16
#define RFM_EXT_EVENT_CONTROL		0x04c
#define RFM_EXT_EVENT_ENABLE		0x1u
#define RFM_EXT_EVENT_TYPES		0x050	/* 1 << RFM_RECORD_*: others make no record */
#define RFM_EXT_EVENT_CONSUMER		0x054	/* records consumed so far, modulo 2^32 */
#define RFM_EXT_EVENT_PRODUCER		0x058	/* RO: records written so far */
#define RFM_EXT_EVENT_STATUS		0x05c	/* RO */
#define RFM_EXT_EVENT_RUNNING		0x1u
#define RFM_EXT_EVENT_FAULT		0x2u
#define RFM_EXT_EVENT_DROPPED		0x060	/* RO, 64: since enabled */
#define RFM_EXT_EVENT_MADE		0x068	/* RO: records made so far, written or not yet */

/*
 * Granules. OFFSET and LENGTH in bytes, multiples of RFM_GRANULE, within the
 * memory. Writing COMMAND changes one plane in that range, at once and as a
 * whole; reading it tells how that went. The seven others show 32 granules,
 * the lowest bit being granule OFFSET / 64 rounded down to a multiple of 32.
 */
#define RFM_EXT_RANGE_OFFSET		0x080
#define RFM_EXT_RANGE_LENGTH		0x084
#define RFM_EXT_RANGE_COMMAND		0x088
#define RFM_EXT_RANGE_ON		0x10u	/* or'ed to the plane; else off */
#define RFM_EXT_RANGE_DONE		0u
#define RFM_EXT_RANGE_BAD_RANGE		1u
#define RFM_EXT_RANGE_BAD_COMMAND	2u
#define RFM_EXT_RANGE_BITS(plane)	((plane) < 4 ? 0x090 + 4 * (plane) : \
						       0x0d8 + 4 * (plane))	/* RO */
#define RFM_PLANE_RX			0	/* updates of others are stored; reset 1 */
#define RFM_PLANE_TX			1	/* own stores are sent; reset 1 */
#define RFM_PLANE_WATCH			2	/* updates of others make UPDATE records */
#define RFM_PLANE_OWNED			3	/* updates of others make CONFLICT records */
#define RFM_PLANE_READ			4	/* others may READ; needs FEATURE_REMOTE */
#define RFM_PLANE_WRITE			5	/* WRITE is */
#define RFM_PLANE_HOME			6	/* CAS and ADD are: it is home of these words */
#define RFM_PLANES			7

/*
 * Slots: what a comparator or a timer looks at. INDEX selects one; its other
 * registers are then that slot's. Writing CONTROL arms it with them, or turns
 * it off with mode 0; parameters that cannot be leave it off with BAD set.
 * A comparator makes a MATCH record when an update of another node makes its
 * condition true: for EQUAL and NOT_EQUAL it was false before, for CHANGED the
 * masked value was another. LENGTH is 1, 2, 4 or 8, OFFSET aligned to it.
 * A timer makes a STALE record when no update of another node has touched its
 * range for SILENCE ns, and a FRESH record with the next one.
 */
#define RFM_EXT_SLOT_INDEX		0x0a0	/* below RFM_EXT_SLOTS */
#define RFM_EXT_SLOTS			256
#define RFM_EXT_SLOT_CONTROL		0x0a4
#define RFM_SLOT_OFF			0u
#define RFM_SLOT_EQUAL			1u
#define RFM_SLOT_NOT_EQUAL		2u
#define RFM_SLOT_CHANGED		3u
#define RFM_SLOT_TIMER			4u
#define RFM_SLOT_MODE_M			0x7u
#define RFM_SLOT_BAD			0x40000000u	/* RO */
#define RFM_SLOT_STALE			0x80000000u	/* RO: silent for too long now */
#define RFM_EXT_SLOT_OFFSET		0x0a8
#define RFM_EXT_SLOT_LENGTH		0x0ac
#define RFM_EXT_SLOT_MASK		0x0b0	/* 64 */
#define RFM_EXT_SLOT_VALUE		0x0b8	/* 64, compared with memory & MASK */
#define RFM_EXT_SLOT_SILENCE		0x0c0	/* 64, ns, MIN..MAX */
#define RFM_SLOT_SILENCE_MIN		1000000ull
#define RFM_SLOT_SILENCE_MAX		3600000000000ull

/* The last writer of a granule: writing OFFSET (any byte of it) looks it up. */
#define RFM_EXT_WRITER_OFFSET		0x0d0
#define RFM_EXT_WRITER_NODE		0x0d4	/* RO */
#define RFM_WRITER_KNOWN		0x80000000u
#define RFM_WRITER_OTHER_CLOCK		0x40000000u	/* TIME is of another domain */
#define RFM_WRITER_NODE_M		0xffu
#define RFM_EXT_WRITER_SEQ		0x0d8	/* RO, 64: frame number; 0: by this node */
#define RFM_EXT_WRITER_TIME		0x0e0	/* RO, 64: ns on the writer's clock */

/* A network interrupt to a set of nodes: bit n of the 256 is node n. */
#define RFM_EXT_MULTICAST_SET(n)	(0x100 + 4 * (n))	/* n = 0..7 */
#define RFM_EXT_MULTICAST_DATA		0x120
#define RFM_EXT_MULTICAST_SEND		0x124	/* RFM_NIC_* without GLOBAL; the write sends */

/*
 * Fence: are all stores so far at every node? A write of BEGIN begins one and
 * BEGIN then reads its ticket. It has ended when DONE has reached that.
 */
#define RFM_EXT_FENCE_BEGIN		0x130
#define RFM_EXT_FENCE_DONE		0x134	/* RO */
#define RFM_EXT_FENCE_LOST		0x138	/* RO, 64: own frames that fences found lost */
#define RFM_EXT_FENCE_RESULT		0x140	/* RO: of the fence that was DONE last */
#define RFM_FENCE_LOST			0x1u	/* some since the last did not reach every memory */
#define RFM_FENCE_PAUSED		0x2u	/* a node has not yet stored what it passed on */
#define RFM_FENCE_EPOCH_CHANGED		0x4u	/* other members than when it began */
#define RFM_FENCE_DARK			0x8u	/* nothing can leave this node */
#define RFM_EXT_EPOCH			0x144	/* RO: counts changes of the membership */

/*
 * Query: what stands in the memory of every node? OFFSET and LENGTH say which
 * bytes; a write of BEGIN forgets all answers, makes this node's own and asks the
 * others. Each answers when it has stored all that came before. The query ends
 * with the first fence that is begun behind it: all answers have come by then,
 * and until then BEGIN does nothing. BEGIN reads how many were begun. Nothing is
 * asked outside the memory either, nor without room in the queue.
 */
#define RFM_EXT_QUERY_OFFSET		0x160	/* bytes; the same address elsewhere */
#define RFM_EXT_QUERY_LENGTH		0x164	/* 1..MAX */
#define RFM_EXT_QUERY_LENGTH_MAX	32768
#define RFM_EXT_QUERY_BEGIN		0x168
#define RFM_EXT_QUERY_ANSWERED(n)	(0x170 + 4 * (n))	/* RO: 256 bits, n: node n has */
#define RFM_EXT_ANSWER(n)		(0x4000 + 16 * (n))	/* RO: of node n, if it has */
#define RFM_EXT_ANSWER_CRC		0x00	/* CRC32C of the bytes */
#define RFM_EXT_ANSWER_STATE		0x04
#define RFM_ANSWER_PAUSED		0x80000000u	/* it stands still: its memory is behind */
#define RFM_ANSWER_BYTES_M		0x0000ffffu	/* how many of them it has */
#define RFM_EXT_ANSWER_FIRST		0x08	/* 64, the first eight of them */

/*
 * Requests: operations at one node, and what concerns them here (RFM_EXT_FEATURE_REMOTE).
 * A table of RFM_EXT_REQUESTS slots of struct rfm_ext_request in host memory. BASE counts from
 * the moment CONTROL.ENABLE goes from 0 to 1. The driver fills a slot, with STATUS 0, and
 * writes its number to BEGIN; the card reads it once, and when the request has ended, writes
 * OLD, NODE where that is out, and last STATUS, and raises the vector DMA, if its bit in
 * INT_ENABLE is set. Requests end in any order. A read of the register STATUS looks for ends:
 * what it finds is in the slots before it returns, and raises no vector if it was the only
 * request under way, but for RECEIVE. A BEGIN of a slot that is under way does nothing. CANCEL
 * of one ends it with RFM_REQUEST_CANCELLED, if it has not ended before. When a write of
 * CONTROL without ENABLE returns, all have ended without a word, all ports are closed, all
 * regions revoked, and the card touches no memory that the table or a slot named. A slot, a
 * list of pages or data in them that cannot be read or written end in FAULT: as if it had been
 * switched off, until it is enabled again. That raises the vectors DMA and ERRORS.
 */
#define RFM_EXT_REQUEST_BASE		0x200	/* 64; aligned to 64 */
#define RFM_EXT_REQUEST_CONTROL		0x208
#define RFM_EXT_REQUEST_ENABLE		0x1u
#define RFM_EXT_REQUEST_STATUS		0x20c	/* RO */
#define RFM_EXT_REQUEST_RUNNING		0x1u
#define RFM_EXT_REQUEST_FAULT		0x2u
#define RFM_EXT_REQUEST_BEGIN		0x210	/* WO: number of a slot */
#define RFM_EXT_REQUEST_CANCEL		0x214	/* WO */
#define RFM_EXT_REQUESTS		256
#define RFM_EXT_PAGE			4096	/* bytes of each that PAGES lists */
#define RFM_EXT_REQUEST_MAX		0x100000	/* bytes of READ to SEND, and of RECEIVE */
#define RFM_EXT_REGION_MAX		(64u << 20)
#define RFM_EXT_REGIONS			64
#define RFM_EXT_PORTS			64	/* that are listened at */

/* The first six are those of the ring: docs/ring-protocol.md */
enum rfm_ext_request_op {
	RFM_REQUEST_READ	= 1,
	RFM_REQUEST_WRITE	= 2,
	RFM_REQUEST_CAS		= 3,
	RFM_REQUEST_ADD		= 4,
	RFM_REQUEST_MERGE	= 5,	/* OFFSET, LENGTH: of the own memory; it has no PAGES */
	RFM_REQUEST_SEND	= 6,	/* KEY: port */
	/* From NODE; FLAGS 1: from the nearest complete one. From this one: its memory is right as
	 * it is; DENIED if another is complete. NODE: out, whom.
	 */
	RFM_REQUEST_RESYNC	= 16,
	RFM_REQUEST_LISTEN	= 17,	/* KEY: port; ends at once */
	RFM_REQUEST_UNLISTEN	= 18,	/* all that receive there end before it: CLOSED */
	/* KEY: port, listened at; LENGTH, PAGES: room for the message; OLD: its bytes, NODE: its
	 * sender. Those of a port get messages in the order of their BEGIN.
	 */
	RFM_REQUEST_RECEIVE	= 19,
	RFM_REQUEST_REGION	= 20,	/* KEY is that of PAGES; FLAGS: RFM_REGION_* */
	RFM_REQUEST_REVOKE	= 21,	/* at its end the card has done with those pages */
};

#define RFM_REGION_READ		0x1	/* READ is allowed */
#define RFM_REGION_WRITE	0x2	/* WRITE is */
#define RFM_REGION_CHANGE	0x4	/* CAS and ADD are */
#define RFM_REGION_WATCH	0x8	/* a change by another node makes a WRITTEN record */

/* Why a request ended: RFM_REQUEST_DONE and one of these */
#define RFM_REQUEST_DONE	0x80000000u
enum rfm_ext_request_result {
	RFM_REQUEST_OK		= 0,
	/* there: not exported, no such key, or not for that; REVOKE: no such key here */
	RFM_REQUEST_DENIED	= 1,
	RFM_REQUEST_RANGE	= 2,	/* there: not within the memory, or not aligned */
	RFM_REQUEST_NOT_HOME	= 3,	/* that node is not home of the word */
	RFM_REQUEST_INVALID	= 5,	/* no such operation, or a field that cannot be */
	RFM_REQUEST_INCOMPLETE	= 6,	/* that node, or every other, misses something itself */
	RFM_REQUEST_CLOSED	= 7,	/* nobody listens at that port; RECEIVE: no longer */
	RFM_REQUEST_NO_NODE	= 16,	/* no such node on the ring */
	RFM_REQUEST_NO_ROOM	= 17,	/* it had no room all the time, or stands still: not done */
	RFM_REQUEST_UNKNOWN	= 18,	/* done or not, nobody here knows */
	RFM_REQUEST_DARK	= 19,	/* this node is off the ring: not done */
	RFM_REQUEST_CANCELLED	= 20,	/* done or not */
	RFM_REQUEST_IN_USE	= 21,	/* LISTEN, REGION: it is; RESYNC: another is under way */
	RFM_REQUEST_FULL	= 22,	/* LISTEN, REGION: no more of them */
	RFM_REQUEST_DOUBTFUL	= 23,	/* RESYNC: done, but something was lost meanwhile: again */
	RFM_REQUEST_TOO_LONG	= 24,	/* SEND: longer than what is ready to receive it there */
};

/**
 * struct rfm_ext_request - a slot of the request table, little-endian
 * @op: enum rfm_ext_request_op
 * @node: where; RECEIVE: out, the sender; RESYNC: out, the donor
 * @width: CAS, ADD: 4 or 8 bytes; others 0
 * @flags: RESYNC, REGION; others 0
 * @key: of a region of that node, 0: its reflective memory; or a port
 * @offset: of the first byte there, bytes
 * @pages: address of a list of addresses, __le64 each, aligned to 8: of the pages of 4096 bytes
 *	that the data are in. The first may begin within its page. READ, RECEIVE: they go there
 * @length: bytes
 * @status: 0; RFM_REQUEST_DONE and the result when it has ended
 * @compare: CAS: the word must be this
 * @value: CAS: what it becomes then; ADD: what is added
 * @old: out, CAS, ADD: the word before; RECEIVE: bytes; RESYNC: bytes that have been got
 * @reserved: 0
 */
struct rfm_ext_request {
	__u8   op;
	__u8   node;
	__u8   width;
	__u8   flags;
	__le32 key;
	__le64 offset;
	__le64 pages;
	__le32 length;
	__le32 status;
	__le64 compare;
	__le64 value;
	__le64 old;
	__le64 reserved;
};

/*
 * The burst range (RFM_EXT_FEATURE_BURST): there BAR3 is RAM. What has changed in it is sent by
 * scans: one each PERIOD, one before what is written next to FENCE_BEGIN, NIC, MULTICAST_SEND and
 * REQUEST_BEGIN, one that FLUSH asks for. A write of COMMAND makes OFFSET and LENGTH, multiples of
 * 4096 within the memory, the range, LENGTH 0 none; reading it tells how that went. The range that
 * was ends, and the new one begins, soon after, when FLUSHED has reached a FLUSH that was begun
 * behind it: NOW tells which it is. There is none while BIGEND swaps PIO or parity is on. A write
 * of FLUSH asks for a scan, and FLUSH then reads its number; it has ended when FLUSHED has reached
 * that. At reset OFFSET and LENGTH are what the card was made with, and the range.
 */
#define RFM_EXT_BURST_OFFSET		0x220
#define RFM_EXT_BURST_LENGTH		0x224
#define RFM_EXT_BURST_COMMAND		0x228
#define RFM_EXT_BURST_DONE		0u
#define RFM_EXT_BURST_BAD_RANGE		1u
#define RFM_EXT_BURST_NO_MEMORY		2u	/* the card has none for it: there is no range */
#define RFM_EXT_BURST_NO_THREAD		3u	/* this card can have none: nothing has changed */
#define RFM_EXT_BURST_PERIOD		0x22c	/* microseconds, MIN..MAX; reset DEFAULT */
#define RFM_EXT_BURST_PERIOD_MIN	100u
#define RFM_EXT_BURST_PERIOD_DEFAULT	1000u
#define RFM_EXT_BURST_PERIOD_MAX	1000000u
#define RFM_EXT_BURST_FLUSH		0x230
#define RFM_EXT_BURST_FLUSHED		0x234	/* RO */
#define RFM_EXT_BURST_NOW_OFFSET	0x238	/* RO */
#define RFM_EXT_BURST_NOW_LENGTH	0x23c	/* RO: 0, there is none now */
#define RFM_EXT_BURST_PAGE		4096u

/*
 * Counters and the ring map, all of one instant: that of the last write of
 * SNAPSHOT, which reads as the number of such writes.
 */
#define RFM_EXT_SNAPSHOT		0x150
#define RFM_EXT_COUNTER(n)		(0x0800 + 8 * (n))	/* RO, 64; n = RFM_COUNTER_* */
#define RFM_EXT_NODE(n)			(0x2000 + 32 * (n))	/* RO: node n as this one sees it */
#define RFM_EXT_NODE_STATE		0x00	/* RFM_NODE_STATE_* and hops */
#define RFM_NODE_STATE_PRESENT		0x80000000u	/* of this node: it has not left the ring */
#define RFM_NODE_STATE_PAUSED		0x40000000u	/* its machine stands still */
#define RFM_NODE_STATE_AHEAD		0x20000000u	/* its last frame came before its time */
#define RFM_NODE_STATE_INCOMPLETE	0x10000000u	/* its memory misses something */
#define RFM_NODE_STATE_HUBS_SHIFT	16	/* four bits: hubs among the hops, modulo 16 */
#define RFM_NODE_STATE_HUBS_M		0x000f0000u
#define RFM_NODE_STATE_HOPS_M		0x0000ffffu	/* links from there to here */
#define RFM_EXT_NODE_DOMAIN		0x04	/* its clock domain */
#define RFM_EXT_NODE_TRANSIT		0x08	/* 64, ns of its last frame; 0: not known */
#define RFM_EXT_NODE_RECEIVED		0x10	/* 64, frames taken from it */
#define RFM_EXT_NODE_MISSED		0x18	/* 64, its frames that never arrived here */
/* Times on CLOCK, 0: never, or not since the card came to this host. */
#define RFM_EXT_COUNTER_TIME(n)		(0x0c00 + 8 * (n))	/* RO, 64: of a change, 0.2 s */
#define RFM_EXT_NODE_HEARD(n)		(0x5000 + 16 * (n))	/* RO, 64: n was last heard */
#define RFM_EXT_NODE_BROKE(n)		(0x5008 + 16 * (n))	/* RO, 64: it lost its signal */

enum rfm_record_type {
	RFM_RECORD_RESET		= 0,	/* interrupts, if their type is in EVENT_TYPES; */
	RFM_RECORD_INT1			= 1,	/* then they do not enter the 5565's FIFO */
	RFM_RECORD_INT2			= 2,
	RFM_RECORD_INT3			= 3,
	RFM_RECORD_INT4			= 4,
	RFM_RECORD_SYNC_LOSS		= 5,	/* LISR's bits; they latch there as well */
	RFM_RECORD_BAD_DATA		= 6,
	RFM_RECORD_TX_FULL		= 7,
	RFM_RECORD_RX_FULL		= 8,
	RFM_RECORD_RX_ALMOST_FULL	= 9,
	RFM_RECORD_ROGUE		= 10,
	RFM_RECORD_WRITE_INHIBITED	= 11,
	RFM_RECORD_PARITY		= 12,
	RFM_RECORD_UPDATE		= 13,	/* an update touched a watched granule */
	RFM_RECORD_MATCH		= 14,	/* value: slot */
	RFM_RECORD_STALE		= 15,	/* value: slot; seq, origin: of the last update */
	RFM_RECORD_FRESH		= 16,	/* value: slot; age: how long it was silent */
	RFM_RECORD_CONFLICT		= 17,	/* an update touched an owned granule */
	RFM_RECORD_SIGNAL		= 18,	/* light is back on the receiver */
	RFM_RECORD_BREAK		= 19,	/* @node has lost its signal */
	RFM_RECORD_MEMBERSHIP		= 20,	/* value: epoch */
	RFM_RECORD_LOSS			= 21,	/* value: frames of @node missing before @seq */
	RFM_RECORD_ID_IN_USE		= 22,	/* this node has left: its id, @node, is in use */
	RFM_RECORD_FENCE		= 23,	/* value: ticket */
	RFM_RECORD_INCOMPLETE		= 24,	/* value: 1 from now on, 0 no more */
	RFM_RECORD_WRITTEN		= 25,	/* value: key of a region that is watched */
	RFM_RECORD_TYPES		= 26
};

#define RFM_RECORD_OTHER_CLOCK		0x1u	/* origin is of another domain: age unknown */
#define RFM_RECORD_NEVER		0x2u	/* STALE: nothing since the timer was armed */
#define RFM_RECORD_NODE_NONE		0xffffu

/**
 * struct rfm_ext_record - an event in the event ring, little-endian
 * @index: PRODUCER after this record; written last
 * @type: enum rfm_record_type
 * @flags: RFM_RECORD_*
 * @event: numbers events from 1 since the ring was enabled, dropped ones
 *	included: a gap is what was dropped
 * @offset: UPDATE, MATCH, FRESH, CONFLICT: first byte of the update; STALE: of
 *	the last one
 * @length: its bytes, 1..64
 * @node: its originator, the sender, or RFM_RECORD_NODE_NONE
 * @pad: 0
 * @value: 32 bits of an interrupt; else see the type
 * @seq: number of the frame, per originator
 * @origin_ns: when the originator stored it, on its clock
 * @arrival_ns: when it came, on this card's clock; STALE: when the last update did;
 *	0: on the clock of the host before
 * @age_ns: STALE, FRESH: how long it was silent; else 0
 * @data: the first @length bytes of the update; 0 where there is none
 */
struct rfm_ext_record {
	__le32 index;
	__u8   type;
	__u8   flags;
	__le16 node;
	__le64 event;
	__le32 offset;
	__le32 length;
	__le32 value;
	__le32 pad;
	__le64 seq;
	__le64 origin_ns;
	__le64 arrival_ns;
	__le64 age_ns;
	__u8   data[64];
};

#define RFM_EXT_RECORD_SIZE		128

#define RFM_EXT_MSIX_TABLE		0x8000	/* in the same BAR */
#define RFM_EXT_MSIX_PBA		0x9000

#endif /* RFM_REGS_H */
