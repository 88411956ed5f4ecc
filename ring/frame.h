/* SPDX-License-Identifier: MIT */
/*
 * The frame: what travels on the ring. docs/ring-protocol.md has the layout
 * byte by byte; frame-layout.h is where it stands in code.
 *
 * Everything the originator wrote is covered by one CRC32C; the hop count and
 * the marks, which change on the way, have a check byte of their own.
 */
#ifndef RFM_RING_FRAME_H
#define RFM_RING_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RFM_FRAME_VERSION	6
#define RFM_FRAME_HEADER	48	/* bytes before the data */
#define RFM_FRAME_DATA_MAX	64	/* as the card: 4 to 64 bytes a packet */
#define RFM_FRAME_MAX		(RFM_FRAME_HEADER + RFM_FRAME_DATA_MAX)	/* of 16 a multiple */

#define RFM_TRAIN_FRAMES	32	/* frames of a train at most */
#define RFM_TRAIN_DATA		(RFM_TRAIN_FRAMES * RFM_FRAME_DATA_MAX)

#define RFM_PACKET_PIECES	RFM_TRAIN_FRAMES	/* of 64 bytes, but for the last; a number each */
#define RFM_PACKET_DATA		RFM_TRAIN_DATA		/* bytes of a packet at most */

/* What a link carries in one piece: a frame, a train or a packet; of 16 a multiple, as above. */
#define RFM_UNIT_MAX		(RFM_FRAME_HEADER + RFM_TRAIN_DATA)

#define RFM_FRAME_SEQ_MAX	INT64_MAX	/* of a frame, also of the last of a train */

#define RFM_RING_SPACE		0x10000000u	/* 256 MiB of network addresses */
#define RFM_RING_NODES		256
#define RFM_NODE_SET		(RFM_RING_NODES / 8)	/* bytes; node n is bit n % 8 of byte n / 8 */

enum rfm_frame_type {
	RFM_FRAME_DATA		= 1,	/* an update of the memory */
	RFM_FRAME_INTERRUPT	= 2,	/* a network interrupt */
	RFM_FRAME_HEARTBEAT	= 3,	/* I am here; my last number was @seq */
	RFM_FRAME_DUPLICATE	= 4,	/* the node of incarnation @data has my id */
	RFM_FRAME_BREAK		= 5,	/* my receiver has lost its signal */
	RFM_FRAME_FENCE		= 6,	/* come home when all before is home */
	RFM_FRAME_MULTICAST	= 7,	/* a network interrupt to a set of nodes */
	RFM_FRAME_TRAIN		= 8,	/* on the wire only: DATA frames under one header */
	RFM_FRAME_QUERY		= 9,	/* what stands in your memory at this range? */
	RFM_FRAME_ANSWER	= 10,	/* what stands there: the answer to a query */
	RFM_FRAME_PACKET	= 11,	/* bytes for one node, or for all */
};

#define RFM_FRAME_TYPES		12	/* above the last; 0 is none, and a train's are DATA */

/* Masks of types: what does something at the nodes, and what takes a number. */
#define RFM_FRAME_UPDATES	(1u << RFM_FRAME_DATA | 1u << RFM_FRAME_INTERRUPT | \
				 1u << RFM_FRAME_MULTICAST)
#define RFM_FRAME_NUMBERED	(RFM_FRAME_UPDATES | 1u << RFM_FRAME_FENCE | \
				 1u << RFM_FRAME_QUERY | 1u << RFM_FRAME_PACKET)

/* Every type that a frame in host form may have. */
#define RFM_FRAME_ALL_TYPES	((1u << RFM_FRAME_TYPES) - 2 - (1u << RFM_FRAME_TRAIN))

/* Flags, written by the originator. */
#define RFM_FLAG_REDUNDANT	0x1	/* updates of this node are sent twice */
#define RFM_FLAG_SECOND		0x2	/* the second copy */
#define RFM_FLAG_FIRST		0x4	/* PACKET: of what it carries the first packet */
#define RFM_FLAG_LAST		0x8	/* ... the last one */

/* Marks, left by nodes on the way. */
#define RFM_MARK_ROGUE_0	0x1	/* rogue master 0 has passed it on */
#define RFM_MARK_ROGUE_1	0x2
#define RFM_MARK_PAUSED		0x4	/* a node passed it on without storing it yet */
#define RFM_MARK_UNSTORED	0x8	/* a node passed it on and will never store it */
#define RFM_MARK_HUBS_SHIFT	4	/* bits 7:4: hubs that have passed it on, modulo 16 */
#define RFM_MARK_SEEN		0x100	/* PACKET: its destination has passed it on */
#define RFM_MARK_TAKEN		0x200	/* ... and had room for it */
#define RFM_MARKS		0x30f	/* but for the hubs */

/* Kind of a PACKET: who looks at it, and whether every node is meant. */
enum rfm_packet_class {
	RFM_PACKET_MESSAGE	= 0,	/* for a port of the node */
	RFM_PACKET_REQUEST	= 1,	/* asks for something to be done there */
	RFM_PACKET_ANSWER	= 2,	/* says what came of it */
	RFM_PACKET_ETHERNET	= 3,	/* for its network card */
};

#define RFM_KIND_CLASS		0x3
#define RFM_KIND_ALL		0x8	/* as the global bit of an INTERRUPT */

/* Kind of a HEARTBEAT. */
#define RFM_KIND_PAUSED		0x1	/* the machine stands still, and does not store what comes */
#define RFM_KIND_INCOMPLETE	0x2	/* it has not all that others have stored */
#define RFM_KIND_USED		0x4	/* it has received something, ever */

/**
 * struct rfm_frame - a frame in host form
 * @type: enum rfm_frame_type; of a train RFM_FRAME_DATA
 * @source: node id of the originator
 * @dest: RFM_FRAME_INTERRUPT, RFM_FRAME_PACKET: target node; RFM_FRAME_ANSWER: who asked;
 *	otherwise 0
 * @kind: RFM_FRAME_INTERRUPT: the four bits of the NIC command;
 *	RFM_FRAME_MULTICAST: its three bits of type; RFM_FRAME_HEARTBEAT:
 *	RFM_KIND_PAUSED, RFM_KIND_INCOMPLETE, RFM_KIND_USED; RFM_FRAME_PACKET: enum rfm_packet_class,
 *	RFM_KIND_ALL; otherwise 0
 * @flags: RFM_FLAG_*
 * @marks: RFM_MARK_*; changed by nodes and hubs on the way
 * @count: numbers that it takes: 1, or 2..RFM_TRAIN_FRAMES for a train, or as many
 *	pieces as a packet has
 * @stream: RFM_FRAME_PACKET: means something to those who use its class; otherwise 0
 * @length: bytes of @data, 1..64 for DATA, 4 for INTERRUPT, 36 for MULTICAST
 *	(32 bits and the set), 0 for HEARTBEAT and BREAK, 8 for DUPLICATE and FENCE,
 *	16 for QUERY, 24 for ANSWER. Of a train the bytes of all its frames, 64 in each but the
 *	last; of a packet all, 1..RFM_PACKET_DATA
 * @address: RFM_FRAME_DATA: network address of the first byte, below
 *	RFM_RING_SPACE; @address + @length may not pass its end
 * @clock_domain: clocks of equal domain may be subtracted
 * @incarnation: of the originator, its start in ns of real time
 * @seq: per incarnation, from 1; of a train its first frame's; of a notice: the
 *	last number given so far
 * @time_ns: when the originator stored it, on the clock of its domain
 * @hops: links travelled; changed by every node
 * @data: the bytes; those of a train or packet of more than 64 stay in its wire form
 */
struct rfm_frame {
	uint8_t type;
	uint8_t source;
	uint8_t dest;
	uint8_t kind;
	uint8_t flags;
	uint8_t count;
	uint16_t marks;
	uint16_t stream;
	uint16_t length;
	uint16_t hops;
	uint32_t address;
	uint32_t clock_domain;
	uint64_t incarnation;
	uint64_t seq;
	uint64_t time_ns;
	uint8_t data[RFM_FRAME_DATA_MAX];
};

static inline bool rfm_frame_is_update(const struct rfm_frame *frame)
{
	return RFM_FRAME_UPDATES >> frame->type & 1;
}

/* The last number of a train or packet, or that of the frame. */
static inline uint64_t rfm_frame_last(const struct rfm_frame *frame)
{
	return frame->seq + frame->count - 1;
}

/* Does it have a number of its own? */
static inline bool rfm_frame_is_numbered(const struct rfm_frame *frame)
{
	return RFM_FRAME_NUMBERED >> frame->type & 1;
}

enum rfm_frame_error {
	RFM_FRAME_OK		= 0,
	RFM_FRAME_DAMAGED	= -1,	/* a check fails: drop the frame, go on */
	RFM_FRAME_FOREIGN	= -2,	/* not a frame of ours: the stream is lost */
};

/**
 * rfm_frame_encode() - host form to wire form
 * @frame: a valid frame, neither a train nor a packet; its count is not looked at
 * @wire: RFM_FRAME_MAX bytes
 *
 * Returns the number of bytes of the wire form.
 */
unsigned int rfm_frame_encode(const struct rfm_frame *frame, uint8_t *wire);

/**
 * rfm_frame_length() - how long is the frame or train that begins here?
 * @wire: RFM_FRAME_HEADER bytes from a link
 *
 * Returns the bytes of the whole, or RFM_FRAME_FOREIGN when magic, version,
 * type or length say that this is none. Checks no CRC.
 */
int rfm_frame_length(const uint8_t *wire);

/** rfm_unit_frames() - of how many frames are the places that @len bytes take? A link message: 1 */
static inline unsigned int rfm_unit_frames(unsigned int len)
{
	return len <= RFM_FRAME_MAX ? 1 :
	       (len - RFM_FRAME_HEADER + RFM_FRAME_DATA_MAX - 1) / RFM_FRAME_DATA_MAX;
}

/**
 * rfm_frame_only_comes_home() - would this node do nothing but count it, for now?
 * @wire: what has a rfm_frame_length()
 *
 * An own update, interrupt or packet; but for a packet that was not taken: whoever asked another
 * node for something is to hear of that. If it was taken, there will be an answer.
 */
bool rfm_frame_only_comes_home(const uint8_t *wire, uint8_t id, uint64_t incarnation);

/** rfm_frame_count() - of what has a rfm_frame_length(): how many numbers does it take? */
unsigned int rfm_frame_count(const uint8_t *wire);

/** rfm_frame_is_train() - may it be passed on as its frames one by one? */
bool rfm_frame_is_train(const uint8_t *wire);

/**
 * rfm_frame_decode() - wire form to host form, trusting nothing
 * @wire: as many bytes as rfm_frame_length() said
 * @frame: filled in when RFM_FRAME_OK is returned, else undefined
 *
 * Returns RFM_FRAME_OK, RFM_FRAME_DAMAGED or RFM_FRAME_FOREIGN; a train is
 * foreign here. Of a packet the first 64 bytes are copied.
 */
int rfm_frame_decode(const uint8_t *wire, struct rfm_frame *frame);

/**
 * rfm_frame_decode_header() - the same, without the data, also of a train
 *
 * For who takes them from @wire + RFM_FRAME_HEADER; @frame->data is left alone.
 */
int rfm_frame_decode_header(const uint8_t *wire, struct rfm_frame *frame);

/**
 * rfm_frame_header_sum() - CRC32C of what the originator wrote into the header
 * @wire: RFM_FRAME_HEADER bytes
 *
 * The originator knows by it what comes home.
 */
uint32_t rfm_frame_header_sum(const uint8_t *wire);

/**
 * rfm_frame_read_header() - rfm_frame_decode_header() without a look at the data's check
 * @wire: what has a rfm_frame_length()
 */
int rfm_frame_read_header(const uint8_t *wire, struct rfm_frame *frame);

/**
 * rfm_train_encode() - the header before the data of a train
 * @frame: what the frames have in common: a DATA frame without data
 * @wire: RFM_UNIT_MAX bytes; the data stand behind RFM_FRAME_HEADER already
 *
 * Returns the number of bytes of the wire form.
 */
unsigned int rfm_train_encode(const struct rfm_frame *frame, uint8_t *wire);

/**
 * rfm_packet_encode() - the header before the data of a packet
 *
 * As rfm_train_encode(), with a packet for @frame.
 */
unsigned int rfm_packet_encode(const struct rfm_frame *frame, uint8_t *wire);

/**
 * rfm_train_frame() - one frame of a train
 * @train: one that is not damaged
 * @index: below its rfm_frame_count()
 * @wire: RFM_FRAME_MAX bytes, not those of @train
 *
 * Returns the number of bytes of the wire form.
 */
unsigned int rfm_train_frame(const uint8_t *train, unsigned int index, uint8_t *wire);

/**
 * rfm_frame_copy() - copy a wire form
 * @to: as many bytes as @from
 * @from: RFM_FRAME_MAX bytes, of a train or packet RFM_UNIT_MAX, of which @len count
 *
 * In pieces of 16 bytes, the last one whole: quicker than memcpy() for these lengths.
 */
static inline void rfm_frame_copy(uint8_t *to, const uint8_t *from, unsigned int len)
{
	for (unsigned int i = 0; i < len; i += 16)
		memcpy(to + i, from + i, 16);
}

/** rfm_frame_set_path() - write a new hop count and marks into a wire form */
void rfm_frame_set_path(uint8_t *wire, uint16_t hops, uint16_t marks);

#endif
