/* SPDX-License-Identifier: MIT */
/* A line as people write it: the words of --line and of the card's property. */
#ifndef RFM_RING_LINE_TEXT_H
#define RFM_RING_LINE_TEXT_H

#include "ring/line.h"

/**
 * rfm_line_parse() - a setting in words
 * @text: "free", or "paced", or "paced,rate=GBAUD,hop=NS,fibre=M" with any of
 *	the three; rate in Gbaud with up to 6 decimals (0.001..100), hop 0..1000000,
 *	fibre 0..100000
 *
 * Returns NULL, or one sentence that says what is wrong with it.
 */
const char *rfm_line_parse(struct rfm_line_config *config, const char *text);

#endif
