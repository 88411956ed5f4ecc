// SPDX-License-Identifier: MIT
#include "ring/line.h"

#define PS_PER_NS	1000u
#define BITS_PER_BYTE	10u		/* 8b/10b */
#define PS_PER_S	1000000000000ull

static uint64_t divide_rounded(uint64_t a, uint64_t b)
{
	return (a + b / 2) / b;
}

void rfm_line_init(struct rfm_line *line, const struct rfm_line_config *config, uint64_t now)
{
	uint64_t baud = config->baud ? config->baud : RFM_LINE_BAUD;

	*line = (struct rfm_line){ .config = *config, .origin = now };
	line->frame_ps = divide_rounded(RFM_LINE_FRAME_PS * RFM_LINE_BAUD, baud);
	line->byte_ps = divide_rounded(BITS_PER_BYTE * PS_PER_S, baud);
	line->fibre_ns = (uint64_t)config->fibre_m * RFM_LINE_FIBRE_NS_M;
}

/*
 * Line time is counted from the end of the frame before, not from the call: a
 * caller that is late loses none. Whole nanoseconds move on to @origin, so
 * nothing is rounded away and nothing overflows, however long the line lives.
 */
uint64_t rfm_line_arrival(struct rfm_line *line, unsigned int bytes, uint64_t ready)
{
	if (!line->config.paced)
		return ready;
	if (ready > line->origin) {
		line->origin = ready;
		line->free_ps = 0;
	}
	line->free_ps += line->frame_ps + bytes * line->byte_ps;
	line->origin += line->free_ps / PS_PER_NS;
	line->free_ps %= PS_PER_NS;
	return line->origin + (line->free_ps ? 1 : 0) + line->fibre_ns;
}
