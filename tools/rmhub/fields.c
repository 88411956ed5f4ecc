// SPDX-License-Identifier: MIT
#include "fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/parse.h"

void fields_begin(struct fields *fields, json_t *object, const char *what)
{
	*fields = (struct fields){ .object = object, .what = what };
	if (json_is_object(object))
		return;
	fields->failed = true;
	snprintf(fields->error, sizeof(fields->error), "%s is no JSON object", what);
}

bool fields_fail(struct fields *fields, const char *name, const char *format, ...)
{
	va_list args;
	int at;

	if (fields->failed)
		return false;
	fields->failed = true;
	at = snprintf(fields->error, sizeof(fields->error), "%s: %s ", fields->what, name);
	if (at < 0 || (size_t)at >= sizeof(fields->error))
		return false;
	va_start(args, format);
	vsnprintf(fields->error + at, sizeof(fields->error) - at, format, args);
	va_end(args);
	return false;
}

bool fields_end(struct fields *fields)
{
	const char *name;
	json_t *value;

	if (fields->failed)
		return false;
	json_object_foreach(fields->object, name, value) {
		unsigned int i = 0;

		while (i < fields->known_count && strcmp(name, fields->known[i]))
			i++;
		if (i < fields->known_count)
			continue;
		fields->failed = true;
		snprintf(fields->error, sizeof(fields->error), "%s has nothing called '%.60s'",
			 fields->what, name);
		return false;
	}
	return true;
}

bool fields_any(struct fields *fields, const char *name, json_t **value)
{
	json_t *found;

	if (fields->known_count < FIELDS_MAX)
		fields->known[fields->known_count++] = name;
	if (fields->failed)
		return false;
	found = json_object_get(fields->object, name);
	if (!found)
		return false;
	*value = found;
	return true;
}

bool fields_string(struct fields *fields, const char *name, const char **value)
{
	json_t *found;

	if (!fields_any(fields, name, &found))
		return false;
	if (!json_is_string(found) || !*json_string_value(found))
		return fields_fail(fields, name, "must be a string");
	*value = json_string_value(found);
	return true;
}

bool fields_bool(struct fields *fields, const char *name, bool *value)
{
	json_t *found;

	if (!fields_any(fields, name, &found))
		return false;
	if (!json_is_boolean(found))
		return fields_fail(fields, name, "must be true or false");
	*value = json_is_true(found);
	return true;
}

bool fields_number(struct fields *fields, const char *name, uint64_t min, uint64_t max,
		   uint64_t *value)
{
	uint64_t number = 0;
	json_t *found;
	bool good;

	if (!fields_any(fields, name, &found))
		return false;
	if (json_is_integer(found)) {
		good = json_integer_value(found) >= 0;
		number = json_integer_value(found);
	} else {
		good = json_is_string(found) &&
		       parse_number(json_string_value(found), UINT64_MAX, &number) == PARSE_OK;
	}
	if (!good || number < min || number > max)
		return fields_fail(fields, name, "must be a number from %" PRIu64 " to %" PRIu64,
				   min, max);
	*value = number;
	return true;
}

static bool real_parse(const char *text, double *value, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtod(text, &end);
	*rest = end;
	return isfinite(*value);
}

bool fields_real(struct fields *fields, const char *name, double min, double max,
		 double *value)
{
	const char *rest = "";
	double number = 0;
	json_t *found;
	bool good;

	if (!fields_any(fields, name, &found))
		return false;
	good = json_is_number(found) ||
	       (json_is_string(found) && real_parse(json_string_value(found), &number, &rest));
	if (json_is_number(found))
		number = json_number_value(found);
	if (!good || *rest || !(number >= min && number <= max))
		return fields_fail(fields, name, "must be a number from %g to %g", min, max);
	*value = number;
	return true;
}

bool fields_time(struct fields *fields, const char *name, uint64_t max, uint64_t *ns)
{
	uint64_t time = UINT64_MAX;
	json_t *found;
	double number;

	if (!fields_any(fields, name, &found))
		return false;
	if (json_is_string(found))
		parse_duration(json_string_value(found), &time);
	number = json_number_value(found) * 1e9;
	if (json_is_number(found) && number >= 0 && number <= max)
		time = llround(number);
	if (time > max)
		return fields_fail(fields, name,
				   "must be a time up to %g s, such as 2, \"5ms\" or \"100us\"",
				   max / 1e9);
	*ns = time;
	return true;
}
