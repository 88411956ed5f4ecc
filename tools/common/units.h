/* SPDX-License-Identifier: MIT */
/* Sizes, times, rates and nodes for people. */
#ifndef RFM_TOOLS_UNITS_H
#define RFM_TOOLS_UNITS_H

#include <stdint.h>

#define UNIT_TEXT 48	/* room for what these write */

/** size_text() - "4 KiB", "28.8 MiB": a decimal where the number is not whole */
const char *size_text(char text[UNIT_TEXT], uint64_t bytes);

/** size_exact() - in the largest unit in which it is an integer */
const char *size_exact(char text[UNIT_TEXT], uint64_t bytes);

/** time_text() - "850 ns", "12.345 us", "1.500 s", "90 min": three decimals up to a minute */
const char *time_text(char text[UNIT_TEXT], uint64_t nanoseconds);

/** time_exact() - in the largest unit in which it is an integer, which is behind @blank */
const char *time_exact(char text[UNIT_TEXT], uint64_t ns, const char *blank);

/** rate_text() - @count in a time, per second: "0", "0.25", "99.8", "1234", "12.3 k" */
const char *rate_text(char text[UNIT_TEXT], uint64_t count, uint64_t nanoseconds);

/** node_text() - both ways, because rigs label them in either: "0x11 (17)"; "-": none */
const char *node_text(char text[UNIT_TEXT], uint64_t node);

#endif
