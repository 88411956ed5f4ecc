// SPDX-License-Identifier: MIT
#include "tools/common/parse.h"

#include <ctype.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/hex.h"

static uint64_t suffix_factor(const char *suffix)
{
	if (!*suffix)
		return 1;
	if (suffix[1] || !strchr("kKmM", *suffix))
		return 0;
	return strchr("kK", *suffix) ? 1ull << 10 : 1ull << 20;
}

enum parse_result parse_number(const char *text, uint64_t max, uint64_t *value)
{
	bool overflow = false;
	uint64_t factor, sum = 0;
	const char *digits;
	int base = 10;

	if (!*text)
		return PARSE_EMPTY;
	if (text[0] == '-')
		return PARSE_NEGATIVE;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	for (digits = text; hex_digit(*text) < base; text++)
		overflow |= __builtin_mul_overflow(sum, base, &sum) ||
			    __builtin_add_overflow(sum, hex_digit(*text), &sum);
	factor = suffix_factor(text);
	if (text == digits || !factor)
		return PARSE_MALFORMED;
	overflow |= __builtin_mul_overflow(sum, factor, &sum);
	if (overflow || sum > max)
		return PARSE_TOO_LARGE;
	*value = sum;
	return PARSE_OK;
}

#define TIME_MAX (NSEC_PER_SEC * NSEC_PER_SEC)

enum parse_result parse_duration(const char *text, uint64_t *ns)
{
	static const struct unit {
		const char *name;
		uint64_t ns;
	} units[] = { { "", NSEC_PER_SEC }, { "s", NSEC_PER_SEC }, { "ms", 1000000 },
		      { "us", 1000 }, { "ns", 1 }, { NULL, 0 } };
	const char *end = text + strspn(text, "0123456789.");
	const struct unit *unit = units;
	uint64_t whole = 0, fraction = 0, step;

	if (*text == '-')
		return PARSE_NEGATIVE;
	while (unit->name && strcmp(end, unit->name))
		unit++;
	if (!unit->name || !isdigit((unsigned char)*text))
		return *text ? PARSE_MALFORMED : PARSE_EMPTY;
	for (; isdigit((unsigned char)*text); text++)
		if (whole <= TIME_MAX)
			whole = whole * 10 + (uint64_t)(*text - '0');
	if (*text == '.' && !isdigit((unsigned char)*++text))
		return PARSE_MALFORMED;
	for (step = unit->ns; isdigit((unsigned char)*text); text++, step /= 10) {
		if (step < 10 && *text != '0')
			return PARSE_MALFORMED;
		fraction += step / 10 * (uint64_t)(*text - '0');
	}
	if (text != end)
		return PARSE_MALFORMED;
	if (whole > TIME_MAX / unit->ns)
		return PARSE_TOO_LARGE;
	*ns = whole * unit->ns + fraction;
	return PARSE_OK;
}

bool parse_width(const char *text, unsigned int *width)
{
	if (strlen(text) != 1 || !strchr("1248", *text))
		return false;
	*width = (unsigned int)(*text - '0');
	return true;
}

uint64_t width_max(unsigned int width)
{
	return width >= 8 ? UINT64_MAX : (1ull << (8 * width)) - 1;
}

char range_form(const char *text, char first[RANGE_FIRST], const char **rest)
{
	size_t length = strcspn(text, "+-");

	if (length >= RANGE_FIRST)
		return '?';
	memcpy(first, text, length);
	first[length] = '\0';
	*rest = text[length] ? text + length + 1 : text;
	return text[length];
}

enum parse_result parse_range(const char *text, uint64_t max, uint64_t *first, uint64_t *last)
{
	char word[RANGE_FIRST], form;
	enum parse_result result;
	uint64_t begin, end;
	const char *rest;

	form = range_form(text, word, &rest);
	result = form == '?' ? PARSE_MALFORMED : parse_number(word, max, &begin);
	if (!result)
		result = parse_number(rest, form == '+' ? UINT64_MAX : max, &end);
	if (!result && form == '+' && (!end || end - 1 > max - begin))
		result = end ? PARSE_TOO_LARGE : PARSE_MALFORMED;
	if (result)
		return result;
	*first = begin;
	*last = form == '+' ? begin + end - 1 : end;
	return PARSE_OK;
}
