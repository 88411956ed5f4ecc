// SPDX-License-Identifier: MIT
#include "fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/parse.h"

bool fields_fail(struct fields *fields, const char *name, const char *format, ...)
{
	int at = snprintf(fields->error, FIELDS_SENTENCE, "%s: %s ", fields->what, name);
	va_list args;

	if (at >= FIELDS_SENTENCE)
		return false;
	va_start(args, format);
	vsnprintf(fields->error + at, FIELDS_SENTENCE - at, format, args);
	va_end(args);
	return false;
}

bool fields_number(struct fields *fields, const char *name, json_t *value, uint64_t min,
		   uint64_t max, uint64_t *number)
{
	const char *text = json_string_value(value);
	bool good = json_is_integer(value) && json_integer_value(value) >= 0;

	*number = json_integer_value(value);
	if (text)
		good = parse_number(text, UINT64_MAX, number) == PARSE_OK;
	return (good && *number >= min && *number <= max) ||
	       fields_fail(fields, name, "must be a number from %" PRIu64 " to %" PRIu64, min, max);
}

static bool take_time(struct fields *fields, const char *name, json_t *value, uint64_t max,
		      uint64_t *ns)
{
	const char *text = json_string_value(value);
	double number = json_number_value(value) * 1e9;

	*ns = UINT64_MAX;
	if (text)
		parse_duration(text, ns);
	else if (json_is_number(value) && number >= 0 && number <= max)
		*ns = llround(number);
	return *ns <= max ||
	       fields_fail(fields, name, "must be a time up to %g s, such as 2, \"5ms\" or \"100us\"",
			   max / 1e9);
}

static bool take(struct fields *fields, const struct field *field, json_t *value)
{
	char *at = (char *)fields->to + field->at;
	const char *text = json_string_value(value);
	uint64_t number;

	switch (field->kind) {
	case FIELD_TEXT:
		if (!text || !*text)
			return fields_fail(fields, field->name, "must be a string");
		if (field->take && !field->take(fields, field, value))
			return false;
		if (!field->size)
			return true;
		free(*(char **)at);
		*(char **)at = strdup(text);
		if (!*(char **)at)
			abort();
		return true;
	case FIELD_FLAG:
		*(bool *)at = json_is_true(value);
		return json_is_boolean(value) ||
		       fields_fail(fields, field->name, "must be true or false");
	case FIELD_NUMBER:
		if (!fields_number(fields, field->name, value, field->min, field->max, &number))
			return false;
		break;
	case FIELD_TIME:
		if (!take_time(fields, field->name, value, field->max, &number))
			return false;
		break;
	case FIELD_ANY:
		return field->take(fields, field, value);
	}
	/* Little-endian: the bytes of a shorter number are first. */
	memcpy(at, &number, field->size);
	return !field->take || field->take(fields, field, value);
}

bool fields_take(struct fields *fields, const struct field *rows, json_t *object)
{
	const struct field *field;
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return fields_why(fields->error, "%s is no JSON object", fields->what);
	for (field = rows; field->name; field++) {
		value = json_object_get(object, field->name);
		if (value && !take(fields, field, value))
			return false;
		if (!value && field->needed)
			return fields_fail(fields, field->name, "is missing");
	}
	json_object_foreach(object, name, value) {
		for (field = rows; field->name && strcmp(field->name, name);)
			field++;
		if (!field->name)
			return fields_why(fields->error, "%s has nothing called '%.60s'",
					  fields->what, name);
	}
	return true;
}
