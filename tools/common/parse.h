/* SPDX-License-Identifier: MIT */
/*
 * What words of a command line say: numbers, times, widths, ranges. Strict: what is not
 * wholly understood is refused, because a misread number ends up in the memory of every
 * node. Where a word is refused, what it would have set is as before.
 */
#ifndef RFM_TOOLS_PARSE_H
#define RFM_TOOLS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

enum parse_result {
	PARSE_OK,
	PARSE_EMPTY,
	PARSE_NEGATIVE,
	PARSE_MALFORMED,
	PARSE_TOO_LARGE,
};

/**
 * parse_number() - an unsigned number
 * @text: decimal, or hexadecimal after 0x, with an optional suffix K (1024) or
 *	M (1048576); a leading 0 does not mean octal
 * @max: largest value accepted
 */
enum parse_result parse_number(const char *text, uint64_t max, uint64_t *value);

/**
 * parse_duration() - a time such as "0.25", "20ms" or "100us"
 * @text: a decimal number, and one of the units s, ms, us, ns behind it, or none: seconds
 *
 * What is no whole number of nanoseconds is PARSE_MALFORMED, more than a thousand
 * million seconds PARSE_TOO_LARGE.
 */
enum parse_result parse_duration(const char *text, uint64_t *ns);

/** parse_width() - of an access in bytes: 1, 2, 4 or 8 */
bool parse_width(const char *text, unsigned int *width);

/** width_max() - the largest value that @width bytes hold */
uint64_t width_max(unsigned int width);

#define RANGE_FIRST 64

/**
 * range_form() - cut "FIRST-LAST" or "FIRST+LENGTH" in two
 * @first: the part before the sign
 * @rest: the part behind it; all of @text if there is no sign
 *
 * Returns the sign, 0 if there is none, '?' if @first has no room.
 */
char range_form(const char *text, char first[RANGE_FIRST], const char **rest);

/**
 * parse_range() - "0x1000", "0x1000-0x1fff", both included, or "0x1000+4K"
 * @max: the largest @last accepted
 *
 * One that ends before it begins is read: each program has its own sentence for it.
 */
enum parse_result parse_range(const char *text, uint64_t max, uint64_t *first, uint64_t *last);

#endif
