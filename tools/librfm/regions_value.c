// SPDX-License-Identifier: MIT
/*
 * Values and their text. The C library's conversions follow the locale of the
 * thread in what they put between digits: here it is always a point. None of this
 * allocates.
 */
#include "regions_private.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX	400	/* longer ones are refused */

static const struct {
	const char *name;
	unsigned int size;
	bool is_signed;
} types[RFM_REGION_TYPES] = {
	[RFM_REGION_STRUCT] = { "struct", 0, false },
	[RFM_REGION_INT8] = { "int8", 1, true },
	[RFM_REGION_UINT8] = { "uint8", 1, false },
	[RFM_REGION_INT16] = { "int16", 2, true },
	[RFM_REGION_UINT16] = { "uint16", 2, false },
	[RFM_REGION_INT32] = { "int32", 4, true },
	[RFM_REGION_UINT32] = { "uint32", 4, false },
	[RFM_REGION_INT64] = { "int64", 8, true },
	[RFM_REGION_UINT64] = { "uint64", 8, false },
	[RFM_REGION_FLOAT] = { "float", 4, true },
	[RFM_REGION_DOUBLE] = { "double", 8, true },
	[RFM_REGION_BOOL] = { "bool", 1, false },
	[RFM_REGION_CHAR] = { "char", 1, false },
};

const char *rfm_region_type_name(enum rfm_region_type type)
{
	return (unsigned int)type < RFM_REGION_TYPES ? types[type].name : NULL;
}

/* Only a basic type: a structure has a name of its own, or none. */
bool type_from_name(const char *name, enum rfm_region_type *type)
{
	for (unsigned int i = RFM_REGION_STRUCT + 1; i < RFM_REGION_TYPES; i++)
		if (!strcmp(name, types[i].name)) {
			*type = (enum rfm_region_type)i;
			return true;
		}
	return false;
}

unsigned int type_size(enum rfm_region_type type)
{
	return types[type].size;
}

static bool is_value(const struct rfm_place *place)
{
	if ((unsigned int)place->type >= RFM_REGION_TYPES || !place->type)
		return false;
	return place->type == RFM_REGION_CHAR ||
	       (place->count == 1 && place->length == types[place->type].size);
}

/* --- bytes ------------------------------------------------------------------------- */

static uint64_t bits_of(const struct rfm_place *place, const unsigned char *bytes)
{
	unsigned int size = types[place->type].size;
	uint64_t bits = 0;

	for (unsigned int i = 0; i < size; i++)
		bits = bits << 8 | bytes[place->order == RFM_REGION_BIG ? i : size - 1 - i];
	return bits;
}

static void put_bits(const struct rfm_place *place, uint64_t bits, unsigned char *bytes)
{
	unsigned int size = types[place->type].size;

	for (unsigned int i = 0; i < size; i++, bits >>= 8)
		bytes[place->order == RFM_REGION_BIG ? size - 1 - i : i] = (unsigned char)bits;
}

/* --- real numbers --------------------------------------------------------------------- */

static double real_of(enum rfm_region_type type, uint64_t bits)
{
	uint32_t half = (uint32_t)bits;
	double real;
	float single;

	if (type == RFM_REGION_FLOAT) {
		memcpy(&single, &half, sizeof(single));
		return single;
	}
	memcpy(&real, &bits, sizeof(real));
	return real;
}

static bool reads_back(enum rfm_region_type type, const char *text, double real)
{
	return type == RFM_REGION_FLOAT ? strtof(text, NULL) == (float)real :
					  strtod(text, NULL) == real;
}

/* This thread has the locale of C from now on, for which no memory is needed; returns its own. */
static locale_t enter_c_locale(void)
{
	return uselocale(newlocale(LC_ALL_MASK, "C", NULL));
}

/* With as few digits as read back as the same number. */
static int print_real(enum rfm_region_type type, uint64_t bits, char *text, size_t size)
{
	int digits = type == RFM_REGION_FLOAT ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
	double real = real_of(type, bits);
	char number[RFM_REGION_TEXT_MAX];
	locale_t before;

	if (isnan(real))
		return snprintf(text, size, "nan");
	if (isinf(real))
		return snprintf(text, size, real < 0 ? "-inf" : "inf");
	before = enter_c_locale();
	for (int i = 1; i <= digits; i++) {
		snprintf(number, sizeof(number), "%.*g", i, real);
		if (reads_back(type, number, real))
			break;
	}
	uselocale(before);
	return snprintf(text, size, "%s", number);
}

static int scan_special(enum rfm_region_type type, const char *text, uint64_t *bits)
{
	bool minus = *text == '-', single = type == RFM_REGION_FLOAT;

	text += minus || *text == '+';
	if (!strcmp(text, "inf"))
		*bits = single ? 0x7f800000 : 0x7ff0000000000000;
	else if (!strcmp(text, "nan") && !minus)
		*bits = single ? 0x7fc00000 : 0x7ff8000000000000;
	else
		return EINVAL;
	if (minus)
		*bits |= 1ull << (single ? 31 : 63);
	return 0;
}

/* Too small is rounded, as any other number; too large is refused. Returns an errno. */
static int scan_real(enum rfm_region_type type, const char *text, uint64_t *bits)
{
	union { float real; uint32_t bits; } single;
	locale_t before;
	double real;
	char *end;

	/* A decimal number such as "-12.5e-3": strtod() would take others, too. */
	if (text[strspn(text, "-+.0123456789eE")])
		return scan_special(type, text, bits);
	before = enter_c_locale();
	if (type == RFM_REGION_FLOAT) {
		single.real = strtof(text, &end);
		*bits = single.bits;
		real = single.real;
	} else {
		real = strtod(text, &end);
		memcpy(bits, &real, sizeof(*bits));
	}
	uselocale(before);
	if (end == text || *end || end - text >= NUMBER_MAX)
		return EINVAL;
	return isinf(real) ? ERANGE : 0;
}

/* --- integers --------------------------------------------------------------------------- */

static int print_integer(enum rfm_region_type type, uint64_t bits, char *text, size_t size)
{
	unsigned int unused = 64 - 8 * types[type].size;

	if (types[type].is_signed)
		return snprintf(text, size, "%lld", (long long)(bits << unused) >> unused);
	return snprintf(text, size, "%llu", (unsigned long long)bits);
}

static int scan_integer(enum rfm_region_type type, const char *text, uint64_t *bits)
{
	unsigned int width = 8 * types[type].size;
	uint64_t magnitude, max = UINT64_MAX >> (64 - width);
	bool negative;
	int error = number_scan(text, strlen(text), &negative, &magnitude);

	if (error == -1)
		return EINVAL;
	if (types[type].is_signed)
		max = (max >> 1) + negative;
	else if (negative && magnitude)
		return ERANGE;
	if (error || magnitude > max)
		return ERANGE;
	*bits = negative ? -magnitude : magnitude;
	return 0;
}

/* What is neither is shown as the number that it is. */
static int print_bool(enum rfm_region_type type, uint64_t bits, char *text, size_t size)
{
	if (bits > 1)
		return print_integer(type, bits, text, size);
	return snprintf(text, size, bits ? "true" : "false");
}

static int scan_bool(enum rfm_region_type type, const char *text, uint64_t *bits)
{
	int error = scan_integer(type, text, bits);

	if (!error)
		return *bits > 1 ? ERANGE : 0;
	if (strcmp(text, "true") && strcmp(text, "false"))
		return error;
	*bits = *text == 't';
	return 0;
}

/* --- text -------------------------------------------------------------------------------- */

/* In quotes, without the zeros at its end; what is not ASCII as \xNN. */
static int print_text(const struct rfm_place *place, const unsigned char *bytes, char *text,
		      size_t size)
{
	uint64_t length = place->length;
	size_t at = 0;

#define PUT(...) (at += (size_t)snprintf(at < size ? text + at : NULL, at < size ? size - at : 0, \
					 __VA_ARGS__))
	while (length && !bytes[length - 1])
		length--;
	PUT("\"");
	for (uint64_t i = 0; i < length; i++)
		PUT(bytes[i] < ' ' || bytes[i] >= 0x7f ? "\\x%02x" :
		    bytes[i] == '"' || bytes[i] == '\\' ? "\\%c" : "%c", bytes[i]);
	PUT("\"");
#undef PUT
	return (int)at;
}

/* The next byte of a text in quotes. Returns what is behind it, NULL: it is malformed. */
static const char *quoted_byte(const char *text, unsigned char *byte)
{
	*byte = (unsigned char)*text++;
	if (*byte == '"' || !*byte)
		return NULL;
	if (*byte != '\\')
		return text;
	if (*text == '"' || *text == '\\') {
		*byte = (unsigned char)*text;
		return text + 1;
	}
	if (*text != 'x' || strspn(text + 1, "0123456789abcdefABCDEF") < 2)
		return NULL;
	*byte = (unsigned char)strtoul((char[]){ text[1], text[2], '\0' }, NULL, 16);
	return text + 3;
}

/* Checks it, or with @bytes takes it. */
static int quoted_text(const char *text, uint64_t room, unsigned char *bytes)
{
	uint64_t length = 0;
	unsigned char byte;

	for (text++; *text && strcmp(text, "\""); length++) {
		text = quoted_byte(text, &byte);
		if (!text)
			return EINVAL;
		if (bytes)
			bytes[length] = byte;
	}
	if (!*text)
		return EINVAL;
	return length > room ? ERANGE : 0;
}

/* Bare, or in quotes as it is printed; filled up with zeros. Returns an errno. */
static int scan_text(const struct rfm_place *place, const char *text, unsigned char *bytes)
{
	size_t length = strlen(text);
	int error;

	if (*text != '"') {
		if (length > place->length)
			return ERANGE;
		memset(bytes, 0, place->length);
		memcpy(bytes, text, length);
		return 0;
	}
	error = quoted_text(text, place->length, NULL);
	if (error)
		return error;
	memset(bytes, 0, place->length);
	return quoted_text(text, place->length, bytes);
}

/* --- all of them -------------------------------------------------------------------------- */

/* Texts are not here: they are not one number of bits. */
static const struct {
	int (*print)(enum rfm_region_type type, uint64_t bits, char *text, size_t size);
	int (*scan)(enum rfm_region_type type, const char *text, uint64_t *bits);
} kinds[RFM_REGION_TYPES] = {
	[RFM_REGION_INT8 ... RFM_REGION_UINT64] = { print_integer, scan_integer },
	[RFM_REGION_FLOAT ... RFM_REGION_DOUBLE] = { print_real, scan_real },
	[RFM_REGION_BOOL] = { print_bool, scan_bool },
};

int rfm_value_print(const struct rfm_place *place, const void *bytes, char *text, size_t size)
{
	if (!is_value(place))
		return fail_with(EINVAL);
	if (place->type == RFM_REGION_CHAR)
		return print_text(place, bytes, text, size);
	return kinds[place->type].print(place->type, bits_of(place, bytes), text, size);
}

int rfm_value_scan(const struct rfm_place *place, const char *text, void *bytes)
{
	uint64_t bits = 0;
	int error;

	if (!is_value(place))
		return fail_with(EINVAL);
	if (place->type == RFM_REGION_CHAR) {
		error = scan_text(place, text, bytes);
	} else {
		error = kinds[place->type].scan(place->type, text, &bits);
		if (!error)
			put_bits(place, bits, bytes);
	}
	if (!error)
		return 0;
	return fail_with(error);
}
