/* SPDX-License-Identifier: MIT */
/* Bytes of the memory as what they mean: by name and type, or as they are. */
#ifndef RMCTL_VALUE_H
#define RMCTL_VALUE_H

#include <stdint.h>

#include <jansson.h>

#include "regions.h"

/**
 * struct span - bytes of the memory, a copy
 * @offset: where they are
 * @length: how many there are
 * @known: how many of them are in @bytes
 * @bytes: the first of them
 */
struct span {
	uint64_t offset, length, known;
	const unsigned char *bytes;
};

/**
 * struct first - the first value that begins and ends among the bytes
 * @name: "" if none has a name
 * @value: in its type, or the bytes
 * @unit: "" if there is none
 */
struct first {
	char name[RFM_REGION_PATH_MAX];
	char value[VALUE_TEXT(64)];
	const char *unit;
};

const char *span_raw(const struct span *span, char *text, size_t size);
void span_print(const struct command *cmd, const struct span *span);
json_t *span_values(const struct command *cmd, const struct span *span);
void span_first(const struct command *cmd, const struct span *span, struct first *first);

#endif /* RMCTL_VALUE_H */
