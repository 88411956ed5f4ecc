/* SPDX-License-Identifier: MIT */
/*
 * What an input of the node fuzzer means: a few bytes that configure the node,
 * then steps, each a byte that says which and some that say how. The generator
 * of the first inputs (seeds.c) writes what node_fuzz.c reads.
 */
#ifndef RFM_TESTS_FUZZ_FUZZ_H
#define RFM_TESTS_FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the process, which libFuzzer takes for a finding. */
#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		abort(); \
	} \
} while (0)

/* First byte of an input. */
enum {
	FUZZ_REDUNDANT	= 0x01,
	FUZZ_ROGUE_0	= 0x02,
	FUZZ_ROGUE_1	= 0x04,
	FUZZ_UNPACKED	= 0x08,
	FUZZ_LATE	= 0x10,
	FUZZ_IDS	= 0x20,
	FUZZ_PACED	= 0x40,
	FUZZ_SHM	= 0x80,		/* both links over shared memory */
};

/*
 * Second byte: memory size (low two bits), insertion slots (next two), window
 * (next two), line rate (last two).
 */

enum fuzz_step {
	STEP_STORE,		/* length, offset (2) */
	STEP_STORES,		/* how many, adjacent, 4 bytes each */
	STEP_INTERRUPT,		/* dest, kind */
	STEP_FENCE,
	STEP_ASK_ROOM,
	STEP_PULL,		/* how many */
	STEP_TICK,
	STEP_TIME,		/* exponent */
	STEP_WAIT,		/* how many times 400 ms, each with a tick */
	STEP_RX_OPEN,
	STEP_RX_CLOSE,
	STEP_RX_BYTES,		/* length, bytes */
	STEP_RX_MESSAGE,	/* kind, value, damage */
	STEP_RX_FRAME,		/* see fuzz_frame() */
	STEP_RX_ECHO,		/* which of the frames that the node sent */
	STEP_TX_OPEN,
	STEP_TX_CLOSE,
	STEP_TX_BYTES,		/* length, bytes */
	STEP_TX_MESSAGE,	/* kind, value, damage */
	STEP_OPTICS,		/* bits */
	STEP_OFFSET,		/* which */
	STEP_PAUSED,		/* on */
	STEP_REJOIN,
	STEP_SHM_ATTACH,	/* where, byte: another header; once */
	STEP_SHM_RX_WRITE,	/* where (2), length, bytes */
	STEP_SHM_RX_FRAME,	/* as STEP_RX_FRAME, into the next slot */
	STEP_SHM_RX_MESSAGE,	/* as STEP_RX_MESSAGE */
	STEP_SHM_RX_TAKE,	/* how many */
	STEP_SHM_TX_WRITE,	/* where (2), length, bytes */
	STEP_SHM_TX_TAKE,	/* how many */
	STEP_DIRECT,		/* as STEP_RX_FRAME, without a link */
	STEP_BAD,
	STEP_FLOOD,		/* how many frames, of many sources; 255: very many, once */
	STEP_JOIN,		/* both links up, as a good neighbour does it */
	STEP_INTERRUPT_SET,	/* byte of the set, its value, kind */
	STEP_RUN,		/* how many, adjacent, 64 bytes each, and bytes of one more */
	STEP_QUERY,		/* 64 KiB steps (2), ticket, length (2) */
	STEP_PACKET,		/* to whom, class and flags, length (2), first byte */
	STEP_ASK_PACKET,	/* length (2) */
	STEPS
};

/* What an input of the remote fuzzer means: see remote_fuzz.c. */
enum fuzz_remote_step {
	ASK_BEGIN,	/* which, operation, node and width, place (2), length (2), key */
	ASK_CANCEL,	/* which */
	ASK_RESYNC,	/* donor, or the nearest */
	ASK_RESYNC_CANCEL,
	ASK_RUN,
	ASK_TIME,	/* exponent */
	ASK_PULL,	/* how many */
	ASK_ECHO,	/* which of the frames that were pulled, marks */
	ASK_SERVE,	/* which of them, result, how much: what a good node answers */
	ASK_HEAR,	/* node, kind of a heartbeat, life */
	ASK_UPDATE,	/* node, offset (2), length: an update of another node */
	/* node, operation, part, ticket, life, place (2), key, length (2), message, total (2) */
	ASK_REQUEST,
	ASK_ANSWER,	/* node, part, ticket, operation, result, length (2) */
	ASK_NOISE,	/* node, class and flags, stream, length, bytes */
	ASK_STORE,	/* offset (2), length */
	ASK_PORT,	/* room */
	ASK_STATE,	/* paused, incomplete, dark, no room for updates, address offset, another life */
	ASK_STEPS
};

/* Kinds of link messages, as docs/ring-protocol.md numbers them. */
enum { HELLO = 1, WELCOME = 2, REFUSE = 3, LIGHT = 4 };

#define FUZZ_HAS_SHM	0x4	/* in the value of HELLO and WELCOME */

#define FUZZ_ID		3	/* of the node */
#define FUZZ_LIFE	1000	/* its first incarnation */

#endif
