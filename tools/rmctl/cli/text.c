// SPDX-License-Identifier: MIT
#include "text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes has the character of UTF-8 that begins here? 0: it is none. */
static size_t character_length(const unsigned char *at, size_t left)
{
	static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 :
			*at < 0xf5 ? 4 : 0;
	uint32_t code = *at & 0x7f >> length;

	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	/* No surrogates, nothing that has a shorter form, nothing beyond U+10ffff. */
	if (code < min[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
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
