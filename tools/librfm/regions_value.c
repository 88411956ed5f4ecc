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

const char *rfm_region_type_name(uint32_t type)
{
	return (unsigned int)type < RFM_REGION_TYPES ? types[type].name : NULL;
}

/* Only a basic type: a structure has a name of its own, or none. */
bool type_from_name(const char *name, uint32_t *type)
{
	for (unsigned int i = RFM_REGION_STRUCT + 1; i < RFM_REGION_TYPES; i++)
		if (!strcmp(name, types[i].name)) {
			*type = i;
			return true;
		}
	return false;
}

unsigned int type_size(uint32_t type)
{
	return types[type].size;
}

bool type_is_signed(uint32_t type)
{
	return types[type].is_signed;
}

static bool is_value(const struct rfm_place *place)
{
	if ((unsigned int)place->type >= RFM_REGION_TYPES || !place->type ||
	    check_reserved(place->reserved))
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

static double real_of(uint32_t type, uint64_t bits)
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

static bool reads_back(uint32_t type, const char *text, double real)
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
static int print_real(uint32_t type, uint64_t bits, char *text, size_t size)
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

static int scan_special(uint32_t type, const char *text, uint64_t *bits)
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
static int scan_real(uint32_t type, const char *text, uint64_t *bits)
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

static int print_integer(uint32_t type, uint64_t bits, char *text, size_t size)
{
	unsigned int unused = (64 - 8 * types[type].size) % 64;

	if (types[type].is_signed)
		return snprintf(text, size, "%lld", (long long)(bits << unused) >> unused);
	return snprintf(text, size, "%llu", (unsigned long long)bits);
}

static int scan_integer(uint32_t type, const char *text, uint64_t *bits)
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
static int print_bool(uint32_t type, uint64_t bits, char *text, size_t size)
{
	if (bits > 1)
		return print_integer(type, bits, text, size);
	return snprintf(text, size, bits ? "true" : "false");
}

static int scan_bool(uint32_t type, const char *text, uint64_t *bits)
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

/* --- scaled ------------------------------------------------------------------------------- */

static uint64_t max_of(uint32_t type)
{
	return UINT64_MAX >> (64 - 8 * types[type].size);
}

/* As an integer, its sign where it has one. */
static uint64_t extended(uint32_t type, uint64_t bits)
{
	unsigned int unused = (64 - 8 * types[type].size) % 64;

	return types[type].is_signed ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

static double scaled(const struct rfm_region *region, uint32_t type, uint64_t bits)
{
	uint64_t integer = extended(type, bits);
	double real = types[type].is_signed ? (double)(int64_t)integer : (double)integer;

	return region->scale != 0 ? real * region->scale + region->bias : real;
}

/* A number as bits of an integer. Returns an errno. */
static int integer_of(uint32_t type, double real, uint64_t *bits)
{
	unsigned int width = 8 * types[type].size - types[type].is_signed;
	double above = 2.0 * (double)(1ull << (width - 1));
	double whole = (double)(1ull << 52);

	/* Larger ones are integers anyway. */
	if (real > -whole && real < whole)
		real = (double)(int64_t)(real < 0 ? real - 0.5 : real + 0.5);
	if (!(real < above) || real < (types[type].is_signed ? -above : 0))
		return ERANGE;
	*bits = types[type].is_signed ? (uint64_t)(int64_t)real & max_of(type) : (uint64_t)real;
	return 0;
}

static int unscaled(const struct rfm_region *region, uint32_t type, double real, uint64_t *bits)
{
	if (isnan(real))
		return EINVAL;
	return integer_of(type, region->scale != 0 ? (real - region->bias) / region->scale : real,
			  bits);
}

/* With as few digits as read back as the same bits: regions_decode.c lets no other scale in. */
static int print_scaled(const struct rfm_region *region, uint32_t type, uint64_t bits, char *text,
			size_t size)
{
	double real = scaled(region, type, bits);
	bool plain = real > -1e15 && real < 1e15;	/* -40, not -4e+01 */
	char number[48];
	locale_t before = enter_c_locale();
	uint64_t back;

	for (int i = !plain; i <= DBL_DECIMAL_DIG; i++) {
		snprintf(number, sizeof(number), plain ? "%.*f" : "%.*g", i, real);
		if (!unscaled(region, type, strtod(number, NULL), &back) && back == bits)
			break;
		/* So small that it needs more. */
		if (plain && i == DBL_DECIMAL_DIG) {
			plain = false;
			i = 0;
		}
	}
	uselocale(before);
	return snprintf(text, size, "%s", number);
}

static int scan_scaled(const struct rfm_region *region, uint32_t type, const char *text,
		       uint64_t *bits)
{
	uint64_t real_bits;
	int error = scan_real(RFM_REGION_DOUBLE, text, &real_bits);

	return error ? error : unscaled(region, type, real_of(RFM_REGION_DOUBLE, real_bits), bits);
}

/* --- named -------------------------------------------------------------------------------- */

static uint64_t mask_of(const struct rfm_region_name *name)
{
	return UINT64_MAX >> (63 - (name->last - name->first)) << name->first;
}

static const struct rfm_region_name *name_of(const struct rfm_region_name *names, const char *text,
					     size_t length)
{
	while (names && (strncmp(names->name, text, length) || names->name[length]))
		names = names->next;
	return names;
}

static int print_named(const struct rfm_region *region, uint32_t type, uint64_t bits, char *text,
		       size_t size)
{
	const uint64_t integer = extended(type, bits);

	for (const struct rfm_region_name *name = region->values; name; name = name->next)
		if (name->value == integer)
			return snprintf(text, size, "%s", name->name);
	return print_integer(type, bits, text, size);
}

static int scan_named(const struct rfm_region *region, uint32_t type, const char *text,
		      uint64_t *bits)
{
	const struct rfm_region_name *name = name_of(region->values, text, strlen(text));

	if (!name)
		return scan_integer(type, text, bits);
	*bits = name->value & max_of(type);
	return 0;
}

/* "running|mode=3|0x80": what has no name is one number at the end. */
static int print_flags(const struct rfm_region *region, uint64_t bits, char *text, size_t size)
{
	const char *between = "";
	size_t at = 0;

#define PUT(...) (at += (size_t)snprintf(at < size ? text + at : NULL, at < size ? size - at : 0, \
					 __VA_ARGS__))
	for (const struct rfm_region_name *name = region->bits; name; name = name->next) {
		uint64_t mask = mask_of(name);

		if (!(bits & mask))
			continue;
		PUT("%s%s", between, name->name);
		if (name->last > name->first)
			PUT("=%llu", (unsigned long long)((bits & mask) >> name->first));
		bits &= ~mask;
		between = "|";
	}
	if (bits || !*between)
		PUT(bits ? "%s0x%llx" : "%s0", between, (unsigned long long)bits);
#undef PUT
	return (int)at;
}

/* One word between bars. Returns an errno. */
static int scan_flag(const struct rfm_region *region, uint32_t type, const char *word,
		     size_t length, uint64_t *bits)
{
	const char *equals = memchr(word, '=', length);
	size_t name_length = equals ? (size_t)(equals - word) : length;
	const struct rfm_region_name *name = name_of(region->bits, word, name_length);
	uint64_t value = 1, mask;
	bool negative = false;
	int error;

	if (!name) {
		error = length ? number_scan(word, length, &negative, &value) : -1;
		if (error == -1)
			return EINVAL;
		if (error || (negative && value) || value > max_of(type))
			return ERANGE;
		*bits |= value;
		return 0;
	}
	mask = mask_of(name);
	/* What has several bits has a number; what has one may have. */
	if (!equals && name->last > name->first)
		return EINVAL;
	if (equals) {
		error = number_scan(equals + 1, length - name_length - 1, &negative, &value);
		if (error == -1)
			return EINVAL;
		if (error || (negative && value) || value > mask >> name->first)
			return ERANGE;
	}
	*bits |= value << name->first;
	return 0;
}

static int scan_flags(const struct rfm_region *region, uint32_t type, const char *text,
		      uint64_t *bits)
{
	int error = 0;

	*bits = 0;
	for (;; text++) {
		size_t length = strcspn(text, "|");

		error = scan_flag(region, type, text, length, bits);
		text += length;
		if (error || !*text)
			return error;
	}
}

/* --- all of them -------------------------------------------------------------------------- */

/* Texts are not here: they are not one number of bits. */
static const struct {
	int (*print)(uint32_t type, uint64_t bits, char *text, size_t size);
	int (*scan)(uint32_t type, const char *text, uint64_t *bits);
} kinds[RFM_REGION_TYPES] = {
	[RFM_REGION_INT8 ... RFM_REGION_UINT64] = { print_integer, scan_integer },
	[RFM_REGION_FLOAT ... RFM_REGION_DOUBLE] = { print_real, scan_real },
	[RFM_REGION_BOOL] = { print_bool, scan_bool },
};

static const struct rfm_region plain;

/* What says how it is written. */
static const struct rfm_region *region_of_value(const struct rfm_place *place)
{
	return place->region ? place->region : &plain;
}

static int print(const struct rfm_place *place, uint64_t bits, char *text, size_t size)
{
	const struct rfm_region *region = region_of_value(place);

	if (region->bits)
		return print_flags(region, bits, text, size);
	if (region->values)
		return print_named(region, place->type, bits, text, size);
	if (region->scale != 0)
		return print_scaled(region, place->type, bits, text, size);
	return kinds[place->type].print(place->type, bits, text, size);
}

static int scan(const struct rfm_place *place, const char *text, uint64_t *bits)
{
	const struct rfm_region *region = region_of_value(place);

	if (region->bits)
		return scan_flags(region, place->type, text, bits);
	if (region->values)
		return scan_named(region, place->type, text, bits);
	if (region->scale != 0)
		return scan_scaled(region, place->type, text, bits);
	return kinds[place->type].scan(place->type, text, bits);
}

int rfm_value_print(const struct rfm_place *place, const void *bytes, char *text, size_t size)
{
	if (!is_value(place))
		return fail_with(EINVAL);
	if (place->type == RFM_REGION_CHAR)
		return print_text(place, bytes, text, size);
	return print(place, bits_of(place, bytes), text, size);
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
		error = scan(place, text, &bits);
		if (!error)
			put_bits(place, bits, bytes);
	}
	if (!error)
		return 0;
	return fail_with(error);
}

/* --- as numbers -------------------------------------------------------------------------- */

static bool is_real(const struct rfm_place *place)
{
	return place->type == RFM_REGION_FLOAT || place->type == RFM_REGION_DOUBLE;
}

static bool is_number(const struct rfm_place *place)
{
	return is_value(place) && place->type != RFM_REGION_CHAR;
}

int rfm_value_real(const struct rfm_place *place, const void *bytes, double *real)
{
	uint64_t bits;

	if (!is_number(place))
		return fail_with(EINVAL);
	bits = bits_of(place, bytes);
	*real = is_real(place) ? real_of(place->type, bits) :
		scaled(region_of_value(place), place->type, bits);
	return 0;
}

/* Too large for a float is refused, as by rfm_value_scan(); infinities and what is none are not. */
static int real_bits(uint32_t type, double real, uint64_t *bits)
{
	union { float real; uint32_t bits; } single = { .real = (float)real };

	if (type == RFM_REGION_DOUBLE) {
		memcpy(bits, &real, sizeof(*bits));
		return 0;
	}
	*bits = single.bits;
	return isinf(single.real) && !isinf(real) ? ERANGE : 0;
}

int rfm_value_set_real(const struct rfm_place *place, double real, void *bytes)
{
	uint64_t bits;
	int error;

	if (!is_number(place))
		return fail_with(EINVAL);
	error = is_real(place) ? real_bits(place->type, real, &bits) :
		unscaled(region_of_value(place), place->type, real, &bits);
	if (!error && place->type == RFM_REGION_BOOL && bits > 1)
		error = ERANGE;
	if (error)
		return fail_with(error);
	put_bits(place, bits, bytes);
	return 0;
}

int rfm_value_integer(const struct rfm_place *place, const void *bytes, int64_t *integer)
{
	uint64_t bits;

	if (!is_number(place) || is_real(place))
		return fail_with(EINVAL);
	bits = extended(place->type, bits_of(place, bytes));
	if (!types[place->type].is_signed && bits > INT64_MAX)
		return fail_with(ERANGE);
	*integer = (int64_t)bits;
	return 0;
}

int rfm_value_set_integer(const struct rfm_place *place, int64_t integer, void *bytes)
{
	uint64_t max, bits = (uint64_t)integer;

	if (!is_number(place) || is_real(place))
		return fail_with(EINVAL);
	max = place->type == RFM_REGION_BOOL ? 1 : max_of(place->type);
	if (types[place->type].is_signed ?
	    extended(place->type, bits & max) != bits : integer < 0 || bits > max)
		return fail_with(ERANGE);
	put_bits(place, bits, bytes);
	return 0;
}
