// SPDX-License-Identifier: MIT
/*
 * Writes the first inputs of the fuzzers, one file each, into the folders
 * frame/, node/, remote/, hub/ and regions/ below the one that is named: each shows the fuzzer a
 * part of the protocol that it would take long to find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ring/frame.h"
#include "ring/node.h"
#include "tests/fuzz/fuzz.h"

static const char *top;

static void write_seed(const char *folder, unsigned int number, const void *data, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", top, folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%02u", top, folder, number);
	file = fopen(path, "wb");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void write_frames(void)
{
	static const uint8_t lengths[RFM_FRAME_TYPES] = { 0, 64, 4, 0, 8, 0, 8, 36, 9, 16, 24, 7 };

	for (unsigned int type = 1; type < RFM_FRAME_TYPES; type++) {
		struct rfm_frame frame = {
			.type = type, .source = 3, .length = lengths[type], .hops = 1,
			.incarnation = 1000, .seq = 5, .time_ns = 77, .clock_domain = 1,
		};
		uint8_t seed[3 + RFM_UNIT_MAX] = { 1, 17, 1 };
		unsigned int len;

		if (type == RFM_FRAME_DATA)	/* just within */
			frame.address = RFM_RING_SPACE - frame.length;
		memset(frame.data, 0xa5, frame.length);
		frame.count = 3;
		if (type == RFM_FRAME_TRAIN) {
			frame.length += 2 * RFM_FRAME_DATA_MAX;
			len = rfm_train_encode(&frame, seed + 3);
		} else if (type == RFM_FRAME_PACKET) {
			frame.length += 2 * RFM_FRAME_DATA_MAX;
			frame.stream = 0x1234;
			frame.flags = RFM_FLAG_FIRST | RFM_FLAG_LAST;
			frame.marks = RFM_MARK_SEEN | RFM_MARK_TAKEN;
			len = rfm_packet_encode(&frame, seed + 3);
		} else {
			len = rfm_frame_encode(&frame, seed + 3);
		}
		write_seed("frame", type, seed, 3 + len);
	}
}

/* A node's life: its configuration, then steps. */
#define LIFE(...)	{ (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) }

/* Frames of the neighbour in its first life: its next number, offset 16. */
#define NEWS(type)	(type), 3, 0x00, 0, 1, 7, 16, 0, 1, 2, 3, 4, 0
#define NEWS_SET(set)	RFM_FRAME_MULTICAST, 3, 0x00, 0x10, 1, 16, 0, 1, 2, 3, 4, (set), 0
/* For 64 bytes at 16; an answer for this node. */
#define NEWS_QUERY	RFM_FRAME_QUERY, 3, 0x00, 0, 1, 16, 0, 1, 2, 3, 4, 64, 0, 0
#define NEWS_ANSWER	RFM_FRAME_ANSWER, 3, 0x00, 0x20, 1, 16, 0, 1, 2, 3, 4, 0
#define NEWS_DATA	RFM_FRAME_DATA, 3, 0x00, 0, 1, 3, 16, 0, 1, 2, 3, 4, 0
#define NEWS_TRAIN	RFM_FRAME_TRAIN, 3, 0x00, 0, 1, 16, 0, 1, 2, 3, 4, 5, 9, 0
/* Packets of 70 bytes: for this node, with room for it or without; for node 0; for all, marked. */
#define NEWS_PACKET(first) \
	RFM_FRAME_PACKET, 3, 0x00, 0x20, 1, 16, 0, (first), 2, 3, 4, 0xc1, 5, 0
#define NEWS_FOR_OTHER	RFM_FRAME_PACKET, 3, 0x00, 0, 1, 16, 0, 2, 2, 3, 4, 1, 5, 0
#define NEWS_FOR_ALL	RFM_FRAME_PACKET, 3, 0x00, 0x80, 1, 16, 0, 2, 2, 3, 4, 0x21, 5, 0
/* The same number once more, in redundant mode. */
#define SECOND_PACKET(first) \
	RFM_FRAME_PACKET, 3, 0x20, 0x23, 1, 16, 0, (first), 2, 3, 4, 0, 5, 0
#define FIRST_PACKET(first) \
	RFM_FRAME_PACKET, 3, 0x00, 0x21, 1, 16, 0, (first), 2, 3, 4, 0, 5, 0
/* An own one for node 4, FIRST and LAST. */
#define PACKET(length)	STEP_PACKET, 4, 0x19, (length) & 0xff, (length) >> 8, 9
#define NEWS_REDUNDANT	RFM_FRAME_DATA, 3, 0x00, 1, 1, 3, 16, 0, 1, 2, 3, 4, 0
#define NAMESAKE	RFM_FRAME_DATA, 1, 0x01, 0, 1, 3, 16, 0, 1, 2, 3, 4, 0
#define DUPLICATE	RFM_FRAME_DUPLICATE, 1, 0x01, 0, 1, 0, 0, 3, 0

static const struct {
	const uint8_t *data;
	size_t size;
} lives[] = {
	/* stores that come home */
	LIFE(0, 0x2a, STEP_JOIN, STEP_STORE, 7, 16, 0, STEP_STORES, 40, STEP_PULL, 60,
	     STEP_RX_ECHO, 3, 0, STEP_RX_ECHO, 0, 0, STEP_PULL, 9, STEP_RX_ECHO, 0, 0),
	/* trains: own ones, home; of another, held back; over shared memory */
	LIFE(0, 0x2a, STEP_JOIN, STEP_RUN, 40, 7, STEP_PULL, 60, STEP_RX_ECHO, 1, 0, STEP_RX_ECHO, 0, 0,
	     STEP_RX_FRAME, NEWS_TRAIN, 0, STEP_PAUSED, 1, STEP_RX_FRAME, NEWS_TRAIN, 9, STEP_PAUSED, 0),
	LIFE(FUZZ_SHM, 0x2b, STEP_JOIN, STEP_RUN, 33, 9, STEP_PULL, 99, STEP_SHM_TX_TAKE, 20,
	     STEP_RX_ECHO, 1, 0, STEP_RX_ECHO, 0, 0, STEP_SHM_RX_TAKE, 20, STEP_SHM_RX_FRAME, NEWS_TRAIN,
	     STEP_SHM_RX_TAKE, 9, STEP_PULL, 9),
	/* frames of others, one in two pieces, one damaged */
	LIFE(0, 0x2a, STEP_JOIN, STEP_RX_FRAME, NEWS_DATA, 0, STEP_RX_FRAME, NEWS_DATA, 20,
	     STEP_RX_FRAME, NEWS(RFM_FRAME_INTERRUPT), 0, STEP_RX_FRAME,
	     NEWS(RFM_FRAME_BREAK), 0, STEP_RX_FRAME, NEWS(RFM_FRAME_HEARTBEAT), 0, STEP_PULL, 20),
	/* a fence, fulfilled; another, in the dark */
	LIFE(0, 0x2a, STEP_JOIN, STEP_STORE, 3, 0, 0, STEP_FENCE, STEP_PULL, 9, STEP_RX_ECHO, 0, 4,
	     STEP_FENCE, STEP_PULL, 9, STEP_RX_CLOSE, STEP_TIME, 30, STEP_TICK),
	/* paused, with interrupts, then going on */
	LIFE(0, 0x2a, STEP_JOIN, STEP_PAUSED, 1, STEP_RX_FRAME, NEWS_DATA, 0, STEP_RX_FRAME,
	     NEWS(RFM_FRAME_INTERRUPT), 0, STEP_PULL, 9, STEP_PAUSED, 0),
	/* interrupts to sets of nodes: of others, to this one and not; own ones, home */
	LIFE(0, 0x2a, STEP_JOIN, STEP_RX_FRAME, NEWS_SET(1 << FUZZ_ID), 0, STEP_RX_FRAME,
	     NEWS_SET(0xf7), 0, STEP_STORE, 3, 0, 0, STEP_INTERRUPT_SET, 0, 0xff, 1,
	     STEP_INTERRUPT_SET, 9, 1, 7, STEP_PULL, 9, STEP_RX_ECHO, 0, 0, STEP_PAUSED, 1,
	     STEP_RX_FRAME, NEWS_SET(0xff), 0, STEP_PAUSED, 0),
	/* queries of others, one of a paused node, and of this one; answers */
	LIFE(0, 0x2a, STEP_JOIN, STEP_RX_FRAME, NEWS_DATA, 0, STEP_RX_FRAME, NEWS_QUERY, 0,
	     STEP_OFFSET, 5, STEP_RX_FRAME, NEWS_QUERY, 0, STEP_QUERY, 0, 0, 7, 0xff, 0xf,
	     STEP_FENCE, STEP_PULL, 9, STEP_RX_ECHO, 0, 0, STEP_RX_FRAME, NEWS_ANSWER, 0,
	     STEP_PAUSED, 1, STEP_RX_FRAME, NEWS_QUERY, 0, STEP_PULL, 9, STEP_PAUSED, 0),
	/* packets: for this node, for others, for all, refused, late, paused */
	LIFE(0, 0x2a, STEP_JOIN, STEP_RX_FRAME, NEWS_PACKET(2), 0, STEP_RX_FRAME, NEWS_FOR_OTHER, 9,
	     STEP_RX_FRAME, NEWS_FOR_ALL, 0, STEP_RX_FRAME, NEWS_PACKET(1), 0, STEP_RX_FRAME,
	     RFM_FRAME_PACKET, 3, 0x20, 0x20, 1, 16, 0, 2, 2, 3, 4, 1, 5, 0, 0, STEP_PULL, 9,
	     STEP_PAUSED, 1, STEP_RX_FRAME, NEWS_PACKET(2), 0, STEP_PULL, 9, STEP_PAUSED, 0),
	/* own ones, each sent and home with another verdict; one lost, some left in the dark */
	LIFE(0, 0x2a, STEP_JOIN, PACKET(70), PACKET(2048), PACKET(1), STEP_STORE, 3, 0, 0,
	     STEP_PULL, 9, STEP_RX_ECHO, 3, 0x30, STEP_RX_ECHO, 2, 0x10, STEP_RX_ECHO, 1, 0,
	     PACKET(64), STEP_PULL, 9, STEP_STORE, 3, 0, 0, STEP_PULL, 9,
	     STEP_RX_ECHO, 0, 0, PACKET(9), STEP_RX_CLOSE),
	/* more than may be on their way, and a wish; nothing comes home */
	LIFE(FUZZ_UNPACKED, 0x2a, STEP_JOIN, PACKET(2048), PACKET(2048), PACKET(2048), PACKET(2048),
	     PACKET(2048), PACKET(2048), STEP_ASK_PACKET, 0xff, 7, STEP_PULL, 99,
	     STEP_RX_ECHO, 1, 0x30, STEP_ASK_PACKET, 9, 0, STEP_WAIT, 9, STEP_PULL, 99),
	/* a small window, behind stores; a new life */
	LIFE(FUZZ_UNPACKED, 0x16, STEP_JOIN, STEP_STORES, 2, PACKET(64), PACKET(64), PACKET(192),
	     STEP_PULL, 2, STEP_ASK_PACKET, 1, 0, STEP_RX_ECHO, 0, 0, STEP_PULL, 9, STEP_REJOIN, 1,
	     PACKET(64), STEP_PULL, 9, STEP_RX_ECHO, 0, 0x30),
	/* redundant: both ways, in both orders of room */
	LIFE(FUZZ_REDUNDANT, 0x2a, STEP_JOIN, STEP_RX_FRAME, FIRST_PACKET(2), 0, STEP_RX_FRAME,
	     SECOND_PACKET(1), 0, STEP_RX_FRAME, FIRST_PACKET(1), 0, STEP_RX_FRAME, SECOND_PACKET(2),
	     0, PACKET(64), PACKET(65), STEP_PULL, 19, STEP_RX_ECHO, 1, 0x30, STEP_RX_ECHO, 0, 0x10),
	/* over shared memory, both ways; paced, in loopback */
	LIFE(FUZZ_SHM, 0x2b, STEP_JOIN, PACKET(2048), PACKET(65), STEP_PULL, 99,
	     STEP_SHM_TX_TAKE, 20, STEP_RX_ECHO, 1, 0x30, STEP_RX_ECHO, 0, 0x10, STEP_SHM_RX_TAKE, 99,
	     STEP_SHM_RX_FRAME, NEWS_PACKET(2), STEP_SHM_RX_TAKE, 9, STEP_PULL, 99),
	LIFE(FUZZ_PACED, 0xea, STEP_JOIN, STEP_RX_FRAME, NEWS_FOR_OTHER, 0, PACKET(64),
	     STEP_TIME, 30, STEP_PULL, 9, STEP_OPTICS, 2, PACKET(64), STEP_PULL, 9),
	/* redundant */
	LIFE(FUZZ_REDUNDANT, 0x2a, STEP_JOIN, STEP_STORE, 3, 0, 0, STEP_PULL, 9, STEP_RX_ECHO, 0,
	     0, STEP_RX_ECHO, 0, 0, STEP_RX_FRAME, NEWS_REDUNDANT, 0, STEP_RX_FRAME, NEWS_DATA, 0),
	/* a rogue master sees a frame twice, and floods */
	LIFE(FUZZ_ROGUE_0, 0x2a, STEP_JOIN, STEP_RX_FRAME, NEWS_DATA, 0, STEP_RX_FRAME,
	     RFM_FRAME_DATA, 3, 0x00, 4, 9, 3, 16, 0, 1, 2, 3, 4, 0, 0, STEP_PAUSED, 1,
	     STEP_FLOOD, 255, STEP_PAUSED, 0),
	/* two of one id */
	LIFE(0, 0x2a, STEP_JOIN, STEP_RX_FRAME, NAMESAKE, 0, STEP_PULL, 9, STEP_RX_FRAME,
	     DUPLICATE, 0, STEP_STORE, 3, 0, 0, STEP_PULL, 9, STEP_REJOIN, STEP_PULL, 9),
	/* a full insertion queue on an open ring, and a wish for room */
	LIFE(FUZZ_UNPACKED, 0x02, STEP_JOIN, STEP_STORES, 255, STEP_ASK_ROOM, STEP_PULL, 3,
	     STEP_TIME, 40, STEP_TICK, STEP_INTERRUPT, 4, 9, STEP_PULL, 200, STEP_TX_CLOSE),
	/* paced, with a hop */
	LIFE(FUZZ_PACED, 0xea, STEP_JOIN, STEP_STORES, 20, STEP_RX_FRAME, NEWS_DATA, 0, STEP_PULL, 9,
	     STEP_TIME, 20, STEP_PULL, 9, STEP_TIME, 30, STEP_TICK, STEP_PULL, 9),
	/* shared memory: frames, garbage in the indices, a neighbour that goes */
	LIFE(FUZZ_SHM, 0x2a, STEP_JOIN, STEP_STORE, 3, 0, 0, STEP_PULL, 20, STEP_SHM_TX_TAKE, 3,
	     STEP_SHM_RX_FRAME, NEWS_DATA, STEP_SHM_RX_MESSAGE, LIGHT, 1, 0, STEP_SHM_RX_TAKE, 5,
	     STEP_RX_ECHO, 0, 0, STEP_SHM_RX_TAKE, 5, STEP_SHM_RX_WRITE, 128, 0, 4, 200, 1, 2, 3,
	     STEP_SHM_RX_TAKE, 5, STEP_SHM_ATTACH, 9, 1, STEP_SHM_TX_WRITE, 0, 1, 4, 9, 9, 9, 9,
	     STEP_PULL, 99),
	/* optics and offsets */
	LIFE(FUZZ_LATE, 0x2a, STEP_JOIN, STEP_OFFSET, 5, STEP_STORE, 63, 0, 0, STEP_OPTICS, 2,
	     STEP_STORE, 3, 0, 0, STEP_PULL, 9, STEP_OPTICS, 4, STEP_OPTICS, 1, STEP_OPTICS, 0,
	     STEP_RX_FRAME, NEWS_DATA, 0, STEP_PULL, 9),
	/* a silent line, which then speaks again */
	LIFE(0, 0x2a, STEP_JOIN, STEP_WAIT, 9, STEP_RX_MESSAGE, LIGHT, 1, 0, 0, STEP_WAIT, 2,
	     STEP_RX_FRAME, NEWS_DATA, 0, STEP_PULL, 9, STEP_WAIT, 9),
	/* silence, a late answer, garbage */
	LIFE(0, 0x2a, STEP_TX_OPEN, STEP_PULL, 1, STEP_RX_OPEN, STEP_RX_BYTES, 3, 1, 2, 3, 0,
	     STEP_RX_OPEN, STEP_RX_MESSAGE, HELLO, 0, 15, 0, STEP_RX_OPEN, STEP_RX_MESSAGE, HELLO, 0,
	     0, 9, STEP_RX_MESSAGE, LIGHT, 1, 0, 0, STEP_TIME, 30, STEP_TICK, STEP_TIME, 29,
	     STEP_TICK, STEP_TIME, 30, STEP_TICK, STEP_TX_MESSAGE, REFUSE, 1, 0),
};

/* Four cards on a hub; a step is a kind, and a port above it: see hub_fuzz.c. */
#define HUB_UP		0x8
#define HUB_FRAME(port)	(0xb | (port) << 4), RFM_FRAME_DATA, (port) + 1, 0x00, 0, 1, 3, 16, 0, \
			1, 2, 3, 4, 0
#define HUB_PULL(port)	(0x9 | (port) << 4), 9

#define HUB_PACKET(port)	(0xb | (port) << 4), RFM_FRAME_PACKET, (port) + 1, 0x00, 0x20, 1, \
			16, 0, 1, 2, 3, 4, 0x22, 5, 0

static const struct {
	const uint8_t *data;
	size_t size;
} hubs[] = {
	/* frames pass */
	LIFE(HUB_UP, HUB_PULL(1), HUB_FRAME(0), HUB_FRAME(0), HUB_PULL(1), HUB_FRAME(1)),
	/* a card goes and comes back in another life */
	LIFE(HUB_UP, HUB_FRAME(0), 0x10, 0x00, 0, HUB_FRAME(0), HUB_PULL(2), 0x10, 0x12, 5,
	     HUB_FRAME(1)),
	/* a reorder, a drop, and time */
	LIFE(HUB_UP, 6, 4, 1, 0, 0, 0, 0, 0, 0, HUB_FRAME(0), HUB_FRAME(0), 8, 31, HUB_PULL(1)),
	/* packets pass, and are corrupted, doubled and held back */
	LIFE(HUB_UP, HUB_PACKET(0), HUB_PULL(1), HUB_PACKET(1), HUB_PULL(2)),
	LIFE(HUB_UP, 6, 1, 4, 4, 3, 4, 4, 1, HUB_PACKET(0), HUB_PACKET(0), HUB_PULL(1),
	     HUB_PACKET(0), HUB_PULL(1)),
	LIFE(HUB_UP, 6, 4, 0, 4, 4, 0, 4, 4, 0, HUB_PACKET(0), HUB_PACKET(0), 8, 31, HUB_PULL(1)),
};

/* Operations at one node: see remote_fuzz.c. Node 0 and 1 of the others are there. */
#define BOTH_THERE	ASK_HEAR, 0, 0, 0, ASK_HEAR, 1, 0, 0
#define AT(place)	((place) & 0xff), 0x80 | (place) >> 8
#define BEGIN(which, op, node, place, length) \
	ASK_BEGIN, (which), (op) - 1, (node), AT(place), (length) & 0xff, (length) >> 8, 0
#define WIDE		0x80	/* a word of 8 bytes */
#define REQUEST(node, op, part, place, length) \
	ASK_REQUEST, (node), (op), (part), 0, 0, AT(place), 0, (length) & 0xff, (length) >> 8
#define SEND(part, at, length, total) \
	ASK_REQUEST, 0, 6, (part), 0, 0, AT(at), 1, (length) & 0xff, (length) >> 8, 1, \
	(total) & 0xff, (total) >> 8

static const struct {
	const uint8_t *data;
	size_t size;
} asks[] = {
	/* read, write, change and send: each is served */
	LIFE(0, BOTH_THERE, BEGIN(0, 1, 1, 16, 100), ASK_RUN, ASK_PULL, 9, ASK_SERVE, 0, 0, 0, ASK_RUN,
	     BEGIN(0, 2, 2, 16, 100), ASK_RUN, ASK_PULL, 9, ASK_SERVE, 0, 0, ASK_RUN,
	     BEGIN(0, 3, 1, 16, 9), BEGIN(1, 4, 2, 16, 9), ASK_RUN, ASK_PULL, 9, ASK_SERVE, 0, 0,
	     ASK_SERVE, 1, 0, BEGIN(2, 6, 1, 0, 3000), ASK_RUN, ASK_PULL, 99, ASK_SERVE, 0, 0,
	     ASK_SERVE, 1, 0, ASK_RUN),
	/* no room, lost, no node, dark, another life, refused */
	LIFE(0, BOTH_THERE, BEGIN(0, 4, 1, 16, 9), BEGIN(1, 1, 2, 16, 9), ASK_RUN, ASK_PULL, 9,
	     ASK_ECHO, 0, 0x10, ASK_ECHO, 1, 0, ASK_TIME, 26, ASK_PULL, 9, ASK_SERVE, 0, 4, ASK_RUN,
	     ASK_PULL, 9, ASK_SERVE, 0, 1, BEGIN(2, 1, 4, 0, 9), ASK_RUN, BEGIN(3, 2, 1, 0, 9),
	     ASK_STATE, 4, ASK_RUN, ASK_STATE, 0),
	/* a resync, in parts, under stores of this node and another */
	LIFE(0, BOTH_THERE, ASK_STATE, 2, ASK_RESYNC, 1, ASK_RUN, ASK_PULL, 99, ASK_STORE, 32, 0, 7,
	     ASK_UPDATE, 1, 64, 0, 9, ASK_SERVE, 2, 0, 0, ASK_SERVE, 1, 0, 50, ASK_RUN, ASK_PULL, 99,
	     ASK_SERVE, 0, 0, 0, ASK_RUN, ASK_SERVE, 0, 0, 0, ASK_RUN, ASK_RESYNC_CANCEL, ASK_RESYNC, 0),
	/* it is asked: each operation, once more, and its answers come home or not */
	LIFE(0, BOTH_THERE, REQUEST(0, 1, 0, 16, 100), REQUEST(1, 2, 1, 0xc00, 100),
	     REQUEST(0, 3 | WIDE, 2, 0x400, 0), REQUEST(1, 4 | WIDE, 3, 0x400, 0),
	     REQUEST(1, 5, 4, 16, 100), ASK_RUN, ASK_PULL, 99, ASK_ECHO, 0, 0x30, ASK_ECHO, 1, 0x10,
	     ASK_ECHO, 2, 0, ASK_REQUEST, 1, 4 | WIDE, 3, 2, 0, AT(0x400), 0, 0, 0,
	     ASK_TIME, 28, ASK_PULL, 99, ASK_TIME, 30),
	/* no room for what it changes; stands still; has begun another life */
	LIFE(0, BOTH_THERE, ASK_STATE, 8, REQUEST(0, 4 | WIDE, 0, 0x400, 0), ASK_RUN, ASK_TIME, 31,
	     ASK_STATE, 0, ASK_RUN, ASK_STATE, 1, REQUEST(0, 1, 0, 16, 9), ASK_STATE, 0x30,
	     REQUEST(0, 1, 0, 16, 9), ASK_RUN, ASK_PULL, 9),
	/* a message in two parts, in the other order; one that is not whole; parts over each other */
	LIFE(0, BOTH_THERE, ASK_PORT, 7, SEND(0, 100, 100, 200), SEND(1, 0, 100, 200), ASK_RUN,
	     ASK_PULL, 9, SEND(2, 0, 100, 200), SEND(3, 50, 100, 200), SEND(4, 0, 100, 200), ASK_TIME, 33),
	/* answers that nobody waits for, of the wrong node and length */
	LIFE(0, BOTH_THERE, ASK_ANSWER, 0, 0, 0, 1, 0, 9, 0, BEGIN(0, 1, 1, 16, 100), ASK_RUN, ASK_PULL, 9,
	     ASK_ANSWER, 1, 0, 0, 0, 0, 100, 0, ASK_ANSWER, 0, 0, 0, 0, 0, 0xff, 1, ASK_ANSWER, 0, 0, 0,
	     0, 200, 0, 0, ASK_NOISE, 0, 0xc2, 0, 40, 1, 2, 3, ASK_CANCEL, 0),
};

static void write_regions(void)
{
	static const char *const texts[] = {
		"rfm-regions: 1\nregions: {}\n",
		"rfm-regions: 1\ndescription: A rig\nmemory: 64M\nbyte-order: big\n"
		"regions:\n  a: {offset: 0x1000, type: double, unit: bar, owner: 3, period: 10 ms}\n",
		"rfm-regions: 1\ntypes:\n  t:\n    size: 0x20\n    byte-order: little\n"
		"    fields:\n      x: {offset: 0, type: float, count: 4}\n"
		"      y: {offset: 16, type: bool}\n      z: {offset: 24, type: char, count: 8}\n"
		"regions:\n  a: {offset: 64, type: t, count: 3}\n  b: {offset: 4K, type: t}\n",
		"rfm-regions: 1\nregions:\n  a:\n    offset: 8K\n    fields:\n"
		"      b:\n        offset: 2\n        count: 2\n        size: 16\n"
		"        fields: {c: {offset: 4, type: int32, byte-order: big}}\n"
		"      d: {offset: 0x40, type: uint64, description: 'the \"last\"'} # one\n",
		"{\"rfm-regions\": 1, \"regions\": {\"a\": {\"offset\": 0, \"type\": \"int16\"},"
		" \"b\": {\"offset\": 1, \"type\": \"uint16\", \"owner\": 2}}}\n",
		"rfm-regions: 1\ntypes: {a: {fields: {b: {offset: 0, type: b}}},"
		" b: {fields: {c: {offset: 0, type: a}}}}\nregions: {}\n",
	};

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		write_seed("regions", i, texts[i], strlen(texts[i]));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds FOLDER\n");
		return 2;
	}
	top = argv[1];
	mkdir(top, 0777);
	write_frames();
	write_regions();
	for (unsigned int i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		write_seed("node", i, lives[i].data, lives[i].size);
	for (unsigned int i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		write_seed("remote", i, asks[i].data, asks[i].size);
	for (unsigned int i = 0; i < sizeof(hubs) / sizeof(hubs[0]); i++)
		write_seed("hub", i, hubs[i].data, hubs[i].size);
	return 0;
}
