/* SPDX-License-Identifier: MIT */
/*
 * The line: when a frame has left a transmitter and when it arrives. The two
 * published throughput points of the 5565, 43 MB/s with 4-byte and 170 MB/s
 * with 64-byte packets, fix a linear cost of a frame: 74 ns + 4.72 ns a byte
 * of data (4.72 ns is a byte of 10 bits at 2.12 Gbaud).
 */
#ifndef RFM_RING_LINE_H
#define RFM_RING_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define RFM_LINE_BAUD		2120000000ull	/* 5565 manual: 2.12 Gbaud */
#define RFM_LINE_FRAME_PS	74000u		/* of a frame beside its data */
#define RFM_LINE_HOP_NS		450u		/* published: 400 to 700 for cards of this kind */
#define RFM_LINE_FIBRE_NS_M	5u		/* light in glass, per metre */

/**
 * struct rfm_line_config - the fibre behind a transmitter
 * @paced: false: as fast as the host allows, the rest is of no meaning
 * @baud: serial rate in bit/s, 10 bits a byte; 0: RFM_LINE_BAUD. The cost
 *	beside the data scales with it
 * @hop_ns: how long a frame in transit stays in the node at least
 * @fibre_m: length in metres
 */
struct rfm_line_config {
	bool paced;
	uint64_t baud;
	uint32_t hop_ns;
	uint32_t fibre_m;
};

/**
 * struct rfm_line - a transmitter and its fibre
 * @free_ps: when the last frame will have left, picoseconds since @origin
 */
struct rfm_line {
	struct rfm_line_config config;
	uint64_t frame_ps, byte_ps;
	uint64_t fibre_ns;
	uint64_t origin;
	uint64_t free_ps;
};

/** rfm_line_init() - an idle line; @now in ns is the origin of its reckoning */
void rfm_line_init(struct rfm_line *line, const struct rfm_line_config *config, uint64_t now);

/**
 * rfm_line_arrival() - send a frame
 * @bytes: of data (the header's cost is in the model), 0..64
 * @ready: when the frame was ready to leave, ns; not before earlier calls'
 *
 * Returns when its last bit arrives at the other end, ns. With a line that is
 * not paced that is @ready.
 */
uint64_t rfm_line_arrival(struct rfm_line *line, unsigned int bytes, uint64_t ready);

#endif
