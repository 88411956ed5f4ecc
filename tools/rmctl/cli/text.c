// SPDX-License-Identifier: MIT
#include "text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes has the character of UTF-8 that begins here? 0: it is none. */
static size_t character_length(const unsigned char *at, size_t left)
{
	/* Of each length the first byte's range, and that of the second byte's where it is not
	 * all: no surrogates, nothing that has a shorter form, nothing beyond U+10ffff.
	 */
	static const struct {
		unsigned char first, last, second, second_last;
		size_t length;
	} rows[] = {
		{ 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t row = 0, rest = 2;

	while (row < sizeof(rows) / sizeof(*rows) &&
	       (*at < rows[row].first || *at > rows[row].last))
		row++;
	if (row == sizeof(rows) / sizeof(*rows) || rows[row].length > left)
		return 0;
	if (rows[row].length == 1)
		return 1;
	if (at[1] < rows[row].second || at[1] > rows[row].second_last)
		return 0;
	while (rest < rows[row].length && (at[rest] & 0xc0) == 0x80)
		rest++;
	return rest == rows[row].length ? rest : 0;
}

/* How many bytes of a text are UTF-8, before the first that is not? */
size_t text_length(const char *text, size_t length)
{
	size_t at = 0, step;

	do {
		step = at < length ? character_length((const unsigned char *)text + at,
						      length - at) : 0;
		at += step;
	} while (step);
	return at;
}

/* One of U+0000 to U+001f and U+007f to U+009f. */
static bool is_control(const unsigned char *at)
{
	return *at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
}

/* Control characters, and what is not UTF-8, become "?", one for each byte. */
void text_clean(char *text)
{
	unsigned char *at = (unsigned char *)text;
	size_t left = strlen(text), length;

	for (; left; at += length, left -= length) {
		length = character_length(at, left);
		if (length && !is_control(at))
			continue;
		length += !length;
		memset(at, '?', length);
	}
}

/* A string, such as the name of a file, as text_clean() makes it; NULL: no memory. */
json_t *json_clean(const char *text)
{
	char *copy = strdup(text);
	json_t *string = NULL;

	if (copy) {
		text_clean(copy);
		string = json_string(copy);
	}
	free(copy);
	return string;
}

/* A string of any bytes: what is not UTF-8 becomes U+fffd; NULL: no memory. */
json_t *json_bytes(const unsigned char *bytes, size_t length)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *text = malloc(length * 3 + 1);
	json_t *string = NULL;
	size_t end = 0;

	for (size_t at = 0, step; text && at < length; at += step + !step) {
		step = character_length(bytes + at, length - at);
		memcpy(text + end, step ? (const char *)bytes + at : replacement, step ? step : 3);
		end += step ? step : 3;
	}
	if (text)
		string = json_stringn(text, end);
	free(text);
	return string;
}

/* A number that is not whole, with as few digits as read back as the same. */
static void put_real(const char *number, size_t length, FILE *out)
{
	double real = strtod(number, NULL);
	int digits = isnormal(real) ? DBL_DIG : 1;
	char text[40];

	do
		snprintf(text, sizeof(text) - 2, "%.*g", digits, real);
	while (strtod(text, NULL) != real && digits++ < DBL_DECIMAL_DIG);
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	if (strlen(text) < length)
		fputs(text, out);
	else
		fwrite(number, 1, length, out);
}

/* Prints JSON as json_dumps() makes it, but its real numbers with fewer than 17 digits. */
void json_put(const char *json, FILE *out)
{
	while (*json) {
		size_t length = strcspn(json, "\"-0123456789");

		fwrite(json, 1, length, out);
		json += length;
		length = *json == '"';
		if (length) {
			while (json[length] != '"')
				length += 1 + (json[length] == '\\');
			length++;
		} else {
			length = strspn(json, "-+.eE0123456789");
		}
		if (*json && *json != '"' && strcspn(json, ".eE") < length)
			put_real(json, length, out);
		else
			fwrite(json, 1, length, out);
		json += length;
	}
}
