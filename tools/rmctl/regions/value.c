// SPDX-License-Identifier: MIT
#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 8u	/* values in a line */

/**
 * struct showing - the values that are being shown
 * @span: the bytes
 * @count: values so far
 * @part: of one of them only a part is known
 * @array: JSON; NULL: text
 * @first: only the first whole one; NULL: all
 */
struct showing {
	const struct span *span;
	unsigned int count;
	bool part;
	json_t *array;
	struct first *first;
};

/* A number if it can be one, else pairs of digits. */
const char *span_raw(const struct span *span, char *text, size_t size)
{
	uint64_t word = 0;
	size_t at = 0;

	if (span->known == span->length && span->length <= 8 &&
	    !(span->length & (span->length - 1))) {
		memcpy(&word, span->bytes, span->length);
		snprintf(text, size, "0x%0*" PRIx64, (int)span->length * 2, word);
		return text;
	}
	for (uint64_t i = 0; i < span->known && at + 8 < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%02x", i ? " " : "",
				       span->bytes[i]);
	if (span->known < span->length)
		snprintf(text + at, size - at, " ...");
	return text;
}

/* All of it is among the bytes, and its text fits. */
static bool whole(const struct span *span, const struct rfm_place *value)
{
	return value->offset >= span->offset && value->length <= 64 &&
	       value->offset + value->length <= span->offset + span->known;
}

static const char *value_text(const struct span *span, const struct rfm_place *value,
			      char text[VALUE_TEXT(64)])
{
	rfm_value_print(value, span->bytes + (value->offset - span->offset), text, VALUE_TEXT(64));
	return text;
}

static void print_text(const struct showing *showing, const char *name,
		       const struct rfm_place *value)
{
	char text[VALUE_TEXT(64)];

	if (showing->count >= SHOWN)
		return;
	if (showing->count)
		fputs(", ", stdout);
	if (whole(showing->span, value))
		printf("%s: %s%s%s", name, value_text(showing->span, value, text),
		       *value->unit ? " " : "", value->unit);
	else
		printf("%s (a part)", name);
}

static void add_json(const struct showing *showing, const char *name,
		     const struct rfm_place *value)
{
	char text[VALUE_TEXT(64)];
	json_t *content = json_null();

	if (whole(showing->span, value)) {
		value_text(showing->span, value, text);
		content = value_json(value->type, text);
	}
	json_array_append_new(showing->array, json_pack(
		"{s:s, s:I, s:s, s:o, s:s}", "name", name, "offset", (json_int_t)value->offset,
		"type", rfm_region_type_name(value->type), "value", content, "unit", value->unit));
}

static int show_value(void *context, const char *name, const struct rfm_place *value)
{
	struct showing *showing = context;

	if (showing->first) {
		if (!whole(showing->span, value))
			return 0;
		snprintf(showing->first->name, sizeof(showing->first->name), "%s", name);
		value_text(showing->span, value, showing->first->value);
		showing->first->unit = value->unit;
		return 1;
	}
	if (showing->array)
		add_json(showing, name, value);
	else
		print_text(showing, name, value);
	showing->part |= !whole(showing->span, value);
	showing->count++;
	return 0;
}

static void visit(const struct command *cmd, struct showing *showing)
{
	if (cmd->regions)
		rfm_regions_at(cmd->regions, showing->span->offset, showing->span->length,
			       show_value, showing);
}

/*
 * "pump.pressure: 12.5 bar, pump.speed: 3 rpm", "loop (a part): 0x3f", or without a name
 * "0x0000002a". Without an end of line.
 */
void span_print(const struct command *cmd, const struct span *span)
{
	struct showing showing = { .span = span };
	char text[VALUE_TEXT(64)];

	visit(cmd, &showing);
	if (showing.count > SHOWN)
		printf(", %u more", showing.count - SHOWN);
	if (showing.part)
		fputs(": ", stdout);
	if (showing.part || !showing.count)
		fputs(span_raw(span, text, sizeof(text)), stdout);
}

/* An array of {name, offset, type, value, unit}; value is null if only a part is known. */
json_t *span_values(const struct command *cmd, const struct span *span)
{
	struct showing showing = { .span = span, .array = json_array() };

	visit(cmd, &showing);
	return showing.array;
}

/* The value that stands for all in a script. */
void span_first(const struct command *cmd, const struct span *span, struct first *first)
{
	struct showing showing = { .span = span, .first = first };

	first->name[0] = '\0';
	first->unit = "";
	visit(cmd, &showing);
	if (!first->name[0])
		span_raw(span, first->value, sizeof(first->value));
}
