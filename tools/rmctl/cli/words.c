// SPDX-License-Identifier: MIT
/*
 * From words on the command line to numbers, widths and card names. Strict:
 * what is not wholly understood is refused, because a misread number ends up
 * in the memory of every node.
 */
#include "words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NSEC_PER_SEC 1000000000ull

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static uint64_t suffix_factor(const char *suffix)
{
	if (!*suffix)
		return 1;
	if (suffix[1])
		return 0;
	switch (*suffix) {
	case 'k':
	case 'K':
		return 1ull << 10;
	case 'm':
	case 'M':
		return 1ull << 20;
	default:
		return 0;
	}
}

/**
 * parse_number - read an unsigned number
 * @text: decimal, or hexadecimal after 0x, with an optional suffix K (1024) or
 *	M (1048576); a leading 0 does not mean octal
 * @max: largest value accepted
 * @value: set on PARSE_OK only
 */
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
	for (digits = text; digit_value(*text) < base; text++)
		overflow |= __builtin_mul_overflow(sum, base, &sum) ||
			    __builtin_add_overflow(sum, digit_value(*text), &sum);
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

/*
 * Reads decimal digits, perhaps with a point among them, as a time in @unit nanoseconds.
 * Returns what is behind them in @end.
 */
static enum parse_result parse_time(const char *text, uint64_t unit, uint64_t *nanoseconds,
				    const char **end)
{
	uint64_t whole = 0, fraction = 0, step = unit;
	bool fits = true;

	if (!*text)
		return PARSE_EMPTY;
	if (*text == '-')
		return PARSE_NEGATIVE;
	if (!isdigit((unsigned char)*text))
		return PARSE_MALFORMED;
	for (; isdigit((unsigned char)*text); text++)
		if (whole <= TIME_MAX)
			whole = whole * 10 + (uint64_t)(*text - '0');
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return PARSE_MALFORMED;
		for (; isdigit((unsigned char)*text); text++, step /= 10) {
			fraction += step / 10 * (uint64_t)(*text - '0');
			fits &= step >= 10 || *text == '0';
		}
	}
	*end = text;
	if (!fits)
		return PARSE_MALFORMED;
	if (whole > TIME_MAX / unit)
		return PARSE_TOO_LARGE;
	*nanoseconds = whole * unit + fraction;
	return PARSE_OK;
}

/**
 * parse_duration - read a time such as "0.25", "20ms" or "100us"
 * @text: a decimal number, and one of the units s, ms, us, ns behind it, or none: seconds
 * @nanoseconds: set on PARSE_OK only; a time that is no whole number of them is
 *	PARSE_MALFORMED
 *
 * More than a thousand million seconds is PARSE_TOO_LARGE.
 */
enum parse_result parse_duration(const char *text, uint64_t *nanoseconds)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "", NSEC_PER_SEC }, { "s", NSEC_PER_SEC }, { "ms", 1000000 },
		      { "us", 1000 }, { "ns", 1 } };
	const char *unit = text + strspn(text, "0123456789."), *end = unit;
	enum parse_result result;
	uint64_t time;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		result = parse_time(text, units[i].ns, &time, &end);
		if (!result && end != unit)
			return PARSE_MALFORMED;
		if (!result)
			*nanoseconds = time;
		return result;
	}
	return *text == '-' ? PARSE_NEGATIVE : PARSE_MALFORMED;
}

/**
 * looks_swapped - has somebody typed the value where the offset belongs?
 * @offset: as it was read
 * @value: the word behind it
 * @width: of an access, bytes
 * @memory_size: bytes
 *
 * So it is when @offset is none and @value would be a good one.
 */
bool looks_swapped(uint64_t offset, const char *value, unsigned int width, uint64_t memory_size)
{
	bool good = offset % width == 0 && offset <= memory_size - width;
	uint64_t other;

	if (good || parse_number(value, memory_size - width, &other))
		return false;
	return other && other % width == 0;
}

/* Width of an access in bytes: 1, 2, 4 or 8. */
bool parse_width(const char *text, unsigned int *width)
{
	if (strlen(text) != 1 || !strchr("1248", *text))
		return false;
	*width = (unsigned int)(*text - '0');
	return true;
}

/* Largest value that @width bytes hold. */
uint64_t width_max(unsigned int width)
{
	return width >= 8 ? UINT64_MAX : (1ull << (8 * width)) - 1;
}

/* Is it rfm0, rfm1, ...? */
bool parse_card_name(const char *text)
{
	size_t digits;

	if (strncmp(text, "rfm", 3))
		return false;
	text += 3;
	digits = strspn(text, "0123456789");
	return digits >= 1 && digits <= 6 && !text[digits];
}

/* Reads up to @most hexadecimal digits; NULL when there are none or more. */
static const char *hex_field(const char *text, int most, unsigned int *value)
{
	int digits;

	*value = 0;
	for (digits = 0; digit_value(*text) < 16; digits++, text++) {
		if (digits == most)
			return NULL;
		*value = *value * 16 + (unsigned int)digit_value(*text);
	}
	return digits ? text : NULL;
}

/**
 * parse_pci_address - read 0000:01:00.0 or, in domain 0, 01:00.0
 * @text: the address as a person writes it
 * @address: set to the address as the kernel writes it
 */
bool parse_pci_address(const char *text, char address[PCI_ADDRESS_SIZE])
{
	unsigned int domain = 0, bus, device, function;
	const char *colon = strchr(text, ':');

	if (colon && strchr(colon + 1, ':')) {
		text = hex_field(text, 8, &domain);
		if (!text || *text++ != ':')
			return false;
	}
	text = hex_field(text, 2, &bus);
	if (!text || *text++ != ':')
		return false;
	text = hex_field(text, 2, &device);
	if (!text || *text++ != '.')
		return false;
	text = hex_field(text, 1, &function);
	if (!text || *text || device > 0x1f || function > 7)
		return false;
	snprintf(address, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%x", domain, bus, device, function);
	return true;
}
