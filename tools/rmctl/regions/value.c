// SPDX-License-Identifier: MIT
#include "value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/hex.h"
#include "tools/rmctl/cli/out.h"

#define SHOWN 8u	/* values in a line */

/* --- one value ------------------------------------------------------------------------ */

/* The text itself, without the quotes and escapes of rfm_value_print(). */
static json_t *text_json(const char *printed)
{
	struct rfm_place place = { .type = RFM_REGION_CHAR, .length = strlen(printed) };
	unsigned char *bytes = malloc(place.length);
	uint64_t length = place.length;
	json_t *text;

	if (!bytes)
		return NULL;
	rfm_value_scan(&place, printed, bytes);
	while (length && !bytes[length - 1])
		length--;
	text = json_bytes(bytes, length);
	free(bytes);
	return text;
}

/*
 * 64 bits do not survive the floating point of most JSON readers; no number is NaN in JSON,
 * and -0 only with a point.
 */
json_t *value_json(uint32_t type, const char *text)
{
	json_t *value = NULL;

	if (type == RFM_REGION_CHAR)
		return text_json(text);
	if (!strcmp(text, "-0"))
		return json_real(-0.0);
	if (type != RFM_REGION_INT64 && type != RFM_REGION_UINT64)
		value = json_loads(text, JSON_DECODE_ANY, NULL);
	return value ? value : json_string(text);
}

json_t *data_json(const unsigned char *bytes, uint64_t length)
{
	char *digits = hex_text(bytes, length);
	json_t *data = digits ? json_string(digits) : NULL;

	free(digits);
	return data;
}

json_t *value_object(const char *name, const struct rfm_place *value, const char *text)
{
	return json_pack("{s:s, s:I, s:s, s:o, s:s}", "name", name, "offset",
			 (json_int_t)value->offset, "type", rfm_region_type_name(value->type),
			 "value", text ? value_json(value->type, text) : json_null(), "unit",
			 value->unit);
}

void value_print(const char *name, const struct rfm_place *value, const char *text)
{
	printf("%s: %s%s%s", name, text, *value->unit ? " " : "", value->unit);
}

const char *place_text(const struct rfm_place *place, const void *bytes, char *text, size_t size)
{
	uint64_t word = 0;

	if (place->type) {
		rfm_value_print(place, bytes, text, size);
		return text;
	}
	memcpy(&word, bytes, place->length);
	snprintf(text, size, "0x%0*" PRIx64, (int)place->length * 2, word);
	return text;
}

struct wanted {
	uint64_t from, to;
	struct rfm_place *value;
	char *name;
};

static int take_value(void *context, const char *name, const struct rfm_place *value)
{
	const struct wanted *wanted = context;

	if (value->offset < wanted->from || value->offset + value->length > wanted->to)
		return 0;
	*wanted->value = *value;
	snprintf(wanted->name, RFM_REGION_PATH_MAX, "%s", name);
	return 1;
}

bool value_at(const struct command *cmd, uint64_t offset, uint64_t from, uint64_t to,
	      struct rfm_place *value, char name[RFM_REGION_PATH_MAX])
{
	struct wanted wanted = { .from = from, .to = to, .value = value, .name = name };

	return cmd->regions && rfm_regions_at(cmd->regions, offset, 1, take_value, &wanted);
}

int value_scan(const struct command *cmd, const char *name, const struct rfm_place *value,
	       const char *word, void *bytes)
{
	if (!rfm_value_scan(value, word, bytes))
		return STATUS_OK;
	if (errno == ERANGE && value->type == RFM_REGION_CHAR)
		return misused(cmd, "value '%s' is longer than '%s', which has %" PRIu64 " bytes",
			       word, name, value->length);
	return misused(cmd, "value '%s' %s '%s', which is of type %s", word,
		       errno == ERANGE ? "does not fit" : "is none for", name,
		       rfm_region_type_name(value->type));
}

/* --- all values among bytes ------------------------------------------------------------ */

/* The values that are being shown. */
struct showing {
	const struct span *span;	/* the bytes */
	unsigned int count;		/* values so far */
	bool part;			/* of one of them only a part is known */
	json_t *array;			/* JSON; NULL: text */
	struct first *first;		/* only the first whole one; NULL: all */
};

/* A number if it can be one, else pairs of digits. */
const char *span_raw(const struct span *span, char *text, size_t size)
{
	size_t at = 0;

	if (span->known == span->length && span->length <= 8 &&
	    !(span->length & (span->length - 1)))
		return place_text(&(struct rfm_place){ .length = span->length }, span->bytes, text,
				  size);
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

static int show_value(void *context, const char *name, const struct rfm_place *value)
{
	struct showing *showing = context;
	const struct span *span = showing->span;
	bool known = whole(span, value);
	char text[VALUE_TEXT(64)];

	if (known)
		place_text(value, span->bytes + (value->offset - span->offset), text, sizeof(text));
	if (showing->first) {
		if (!known)
			return 0;
		snprintf(showing->first->name, sizeof(showing->first->name), "%s", name);
		strcpy(showing->first->value, text);
		showing->first->unit = value->unit;
		return 1;
	}
	if (showing->array) {
		json_array_append_new(showing->array,
				      value_object(name, value, known ? text : NULL));
	} else if (showing->count < SHOWN) {
		if (showing->count)
			fputs(", ", stdout);
		if (known)
			value_print(name, value, text);
		else
			printf("%s (a part)", name);
	}
	showing->part |= !known;
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
