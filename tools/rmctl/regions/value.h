/* SPDX-License-Identifier: MIT */
/* Bytes of the memory as what they mean: by name and type, or as they are; and back. */
#ifndef RMCTL_VALUE_H
#define RMCTL_VALUE_H

#include <stdint.h>

#include <jansson.h>

#include "regions.h"

/* Room for the text of a value of so many bytes: each byte of a text may need four; quotes. */
#define VALUE_TEXT(length) ((length) * 4 + RFM_REGION_TEXT_MAX)

/** value_json() - a value of which rfm_value_print() makes @text */
json_t *value_json(uint32_t type, const char *text);

/** value_object() - name, offset, type, value and unit; @text NULL: the value is not known */
json_t *value_object(const char *name, const struct rfm_place *value, const char *text);

/** value_print() - "pump.speed: 3 rpm", without an end of line */
void value_print(const char *name, const struct rfm_place *value, const char *text);

/** data_json() - two digits a byte */
json_t *data_json(const unsigned char *bytes, uint64_t length);

/**
 * place_text() - a value by its type; what has none, up to 8 bytes, as one number:
 * "0x0000002a". Returns @text.
 */
const char *place_text(const struct rfm_place *place, const void *bytes, char *text, size_t size);

/** value_at() - of the values on the byte at @offset, the first that lies from @from to @to */
bool value_at(const struct command *cmd, uint64_t offset, uint64_t from, uint64_t to,
	      struct rfm_place *value, char name[RFM_REGION_PATH_MAX]);

/** value_scan() - @word as the bytes of a value; an exit status, what is wrong has been said */
int value_scan(const struct command *cmd, const char *name, const struct rfm_place *value,
	       const char *word, void *bytes);

/* Bytes of the memory, a copy. */
struct span {
	uint64_t offset;		/* where they are */
	uint64_t length;		/* how many there are */
	uint64_t known;			/* how many of them are in @bytes */
	const unsigned char *bytes;	/* the first of them */
};

/* The first value that begins and ends among the bytes. */
struct first {
	char name[RFM_REGION_PATH_MAX];	/* "" if none has a name */
	char value[VALUE_TEXT(64)];	/* in its type, or the bytes */
	const char *unit;		/* "" if there is none */
};

const char *span_raw(const struct span *span, char *text, size_t size);
void span_print(const struct command *cmd, const struct span *span);
json_t *span_values(const struct command *cmd, const struct span *span);
void span_first(const struct command *cmd, const struct span *span, struct first *first);

#endif /* RMCTL_VALUE_H */
