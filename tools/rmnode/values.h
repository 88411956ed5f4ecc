/* SPDX-License-Identifier: MIT */
/*
 * The values of a file of regions in the memory of a member, each loaded as one word, and what
 * of them was stored when. Knows neither the ring nor who is told of it.
 */
#ifndef RMNODE_VALUES_H
#define RMNODE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/librfm/rfm/regions.h"

#define VALUES_MAX		16384u
#define VALUES_TEXT_MAX		1024u	/* bytes of a text */
#define VALUES_SENTENCE		512
#define VALUES_PAYLOAD_MAX	VALUES_TEXT_MAX	/* of value_plain(), its end included */

/**
 * struct value - one of the file
 * @name: with its indices, "axes[2].limit[0]"
 * @region: which of struct values
 */
struct value {
	struct rfm_place place;
	char *name;
	unsigned int region;
};

/**
 * struct news - what was stored into the values of a region
 * @updated_ns: the last, CLOCK_MONOTONIC
 * @writer: of that
 */
struct news {
	const char *region;
	uint64_t updates, updated_ns;
	uint32_t writer;
};

struct reach;

/**
 * struct values - all, in the order of the file
 * @by_offset: for values_stored()
 */
struct values {
	const uint8_t *memory;
	struct value *value;
	struct reach *by_offset;
	struct news *news;
	unsigned int count, regions, room;
	char error[VALUES_SENTENCE];
};

/**
 * values_new() - of @regions, which are kept
 * @memory_size: bytes that there will be; the memory itself is @memory, set later
 * @error: VALUES_SENTENCE bytes, set when NULL is returned
 */
struct values *values_new(const struct rfm_regions *regions, uint64_t memory_size, char *error);
void values_free(struct values *values);

/**
 * values_stored() - @length bytes at @offset were stored by @writer at @now
 * @each: called with the number of each value that has a byte among them
 */
void values_stored(struct values *values, uint64_t offset, uint64_t length, uint32_t writer,
		   uint64_t now, void (*each)(void *opaque, unsigned int number), void *opaque);

/** value_load() - the bytes of a value as they are in the memory: one load, but of a text */
void value_load(const struct values *values, const struct value *value, void *bytes);

/** value_text_length() - of the bytes of a text, without the zeros at its end */
unsigned int value_text_length(const struct value *value, const void *bytes);

/**
 * value_plain() - what rmctl prints of it; of a text the bytes themselves
 * @plain: VALUES_PAYLOAD_MAX bytes
 *
 * Returns how many there are.
 */
unsigned int value_plain(const struct value *value, const void *bytes, char *plain);

#endif
