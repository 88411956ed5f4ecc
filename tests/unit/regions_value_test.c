// SPDX-License-Identifier: MIT
/* links: tools/librfm/regions.c tools/librfm/regions_yaml.c tools/librfm/regions_decode.c */
/* links: tools/librfm/regions_layout.c tools/librfm/regions_find.c tools/librfm/regions_value.c */
/* Values of regions and their text. */
#include "tests/unit/regions.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>

#define UNTOUCHED 0xa5

static struct rfm_place place_of(uint32_t type, uint32_t order,
				 uint32_t length)
{
	return (struct rfm_place){
		.type = type, .order = order, .length = length, .unit = "",
		.count = type == RFM_REGION_CHAR ? length : 1,
	};
}

/* Text, and the bytes that it is in either order: little-endian is @bytes backwards. */
static const struct row {
	uint32_t type;
	const char *text;
	uint8_t size, big[8];
	const char *printed;		/* NULL: @text */
} rows[] = {
	{ RFM_REGION_INT8, "-128", 1, { 0x80 }, NULL },
	{ RFM_REGION_INT8, "127", 1, { 0x7f }, NULL },
	{ RFM_REGION_INT8, "0x7f", 1, { 0x7f }, "127" },
	{ RFM_REGION_INT8, "-0x80", 1, { 0x80 }, "-128" },
	{ RFM_REGION_INT8, "-0", 1, { 0 }, "0" },
	{ RFM_REGION_INT8, "+5", 1, { 5 }, "5" },
	{ RFM_REGION_UINT8, "255", 1, { 0xff }, NULL },
	{ RFM_REGION_UINT8, "010", 1, { 10 }, "10" },
	{ RFM_REGION_INT16, "-2", 2, { 0xff, 0xfe }, NULL },
	{ RFM_REGION_UINT16, "4660", 2, { 0x12, 0x34 }, NULL },
	{ RFM_REGION_UINT16, "0xFfFf", 2, { 0xff, 0xff }, "65535" },
	{ RFM_REGION_INT32, "-2147483648", 4, { 0x80, 0, 0, 0 }, NULL },
	{ RFM_REGION_UINT32, "305419896", 4, { 0x12, 0x34, 0x56, 0x78 }, NULL },
	{ RFM_REGION_INT64, "-9223372036854775808", 8, { 0x80 }, NULL },
	{ RFM_REGION_INT64, "9223372036854775807", 8,
	  { 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, NULL },
	{ RFM_REGION_UINT64, "18446744073709551615", 8,
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, NULL },
	{ RFM_REGION_UINT64, "0x123456789abcdef", 8,
	  { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef }, "81985529216486895" },
	{ RFM_REGION_BOOL, "true", 1, { 1 }, NULL },
	{ RFM_REGION_BOOL, "false", 1, { 0 }, NULL },
	{ RFM_REGION_BOOL, "1", 1, { 1 }, "true" },
	{ RFM_REGION_BOOL, "0", 1, { 0 }, "false" },
	{ RFM_REGION_FLOAT, "12.5", 4, { 0x41, 0x48 }, NULL },
	{ RFM_REGION_FLOAT, "0.1", 4, { 0x3d, 0xcc, 0xcc, 0xcd }, NULL },
	{ RFM_REGION_FLOAT, "-1e-3", 4, { 0xba, 0x83, 0x12, 0x6f }, "-0.001" },
	{ RFM_REGION_FLOAT, "16777217", 4, { 0x4b, 0x80 }, "16777216" },
	{ RFM_REGION_FLOAT, "3.4028235e+38", 4, { 0x7f, 0x7f, 0xff, 0xff }, NULL },
	{ RFM_REGION_FLOAT, "1e-45", 4, { 0, 0, 0, 1 }, NULL },
	{ RFM_REGION_FLOAT, "1e-60", 4, { 0 }, "0" },
	{ RFM_REGION_FLOAT, ".5", 4, { 0x3f }, "0.5" },
	{ RFM_REGION_FLOAT, "5.", 4, { 0x40, 0xa0 }, "5" },
	{ RFM_REGION_FLOAT, "-inf", 4, { 0xff, 0x80 }, NULL },
	{ RFM_REGION_FLOAT, "nan", 4, { 0x7f, 0xc0 }, NULL },
	{ RFM_REGION_DOUBLE, "0.1", 8, { 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a }, NULL },
	{ RFM_REGION_DOUBLE, "-0", 8, { 0x80 }, NULL },
	{ RFM_REGION_DOUBLE, "0.30000000000000004", 8,
	  { 0x3f, 0xd3, 0x33, 0x33, 0x33, 0x33, 0x33, 0x34 }, NULL },
	{ RFM_REGION_DOUBLE, "1.7976931348623157E308", 8,
	  { 0x7f, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, "1.7976931348623157e+308" },
	{ RFM_REGION_DOUBLE, "5e-324", 8, { 0, 0, 0, 0, 0, 0, 0, 1 }, NULL },
	{ RFM_REGION_DOUBLE, "+inf", 8, { 0x7f, 0xf0 }, "inf" },
	{ RFM_REGION_DOUBLE, "nan", 8, { 0x7f, 0xf8 }, NULL },
};

static void check_row(const struct row *row, uint32_t order)
{
	struct rfm_place place = place_of(row->type, order, row->size);
	uint8_t bytes[10];
	char text[RFM_REGION_TEXT_MAX];
	int length;

	memset(bytes, UNTOUCHED, sizeof(bytes));
	/* Not aligned on purpose. */
	if (rfm_value_scan(&place, row->text, bytes + 1))
		fail_msg("'%s' is refused: %d", row->text, errno);
	for (unsigned int i = 0; i < row->size; i++) {
		unsigned int at = order == RFM_REGION_BIG ? i : row->size - 1u - i;

		if (bytes[1 + at] != row->big[i])
			fail_msg("'%s': byte %u is 0x%02x", row->text, at, bytes[1 + at]);
	}
	assert_int_equal(bytes[0], UNTOUCHED);
	assert_int_equal(bytes[1 + row->size], UNTOUCHED);
	length = rfm_value_print(&place, bytes + 1, text, sizeof(text));
	assert_string_equal(text, row->printed ? row->printed : row->text);
	assert_int_equal(length, strlen(text));
}

static void values_are_read_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_row(&rows[i], RFM_REGION_BIG);
		check_row(&rows[i], RFM_REGION_LITTLE);
	}
}

static void wrong_values_are_refused(void **state)
{
	static const struct {
		uint32_t type;
		uint8_t size;
		int error;
		const char *texts[14];
	} bad[] = {
		{ RFM_REGION_INT8, 1, ERANGE, { "128", "-129", "0x80", "-0x81", "256",
						"99999999999999999999999", "-18446744073709551615" } },
		{ RFM_REGION_UINT8, 1, ERANGE, { "256", "-1", "0x100" } },
		{ RFM_REGION_INT16, 2, ERANGE, { "32768", "-32769" } },
		{ RFM_REGION_UINT32, 4, ERANGE, { "4294967296", "-4294967295" } },
		{ RFM_REGION_INT64, 8, ERANGE, { "9223372036854775808", "-9223372036854775809" } },
		{ RFM_REGION_UINT64, 8, ERANGE, { "18446744073709551616", "-1" } },
		{ RFM_REGION_UINT32, 4, EINVAL, { "", "x", "1.5", "1e3", " 1", "1 ", "0x", "--1",
						  "1K", "true", "-", "+", "0b1", "1\n" } },
		{ RFM_REGION_BOOL, 1, ERANGE, { "2", "-1", "256" } },
		{ RFM_REGION_BOOL, 1, EINVAL, { "", "True", "yes", "on", "tru", "truee" } },
		{ RFM_REGION_FLOAT, 4, ERANGE, { "1e39", "-3.5e38", "1e999999999" } },
		{ RFM_REGION_DOUBLE, 8, ERANGE, { "1e309", "-2e308" } },
		{ RFM_REGION_DOUBLE, 8, EINVAL, { "", ".", "-", "e5", "1e", "1e+", "1,5", "0x1p3",
						  "infinity", "INF", "-nan", "1.5 ", " 1", "1.5.5" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		for (size_t k = 0; k < ARRAY_SIZE(bad[i].texts) && bad[i].texts[k]; k++) {
			struct rfm_place place = place_of(bad[i].type, RFM_REGION_LITTLE,
							  bad[i].size);
			uint8_t bytes[8], untouched[8];

			memset(bytes, UNTOUCHED, sizeof(bytes));
			memset(untouched, UNTOUCHED, sizeof(untouched));
			errno = 0;
			if (rfm_value_scan(&place, bad[i].texts[k], bytes) != -1 ||
			    errno != bad[i].error)
				fail_msg("'%s' as %s: %d", bad[i].texts[k],
					 rfm_region_type_name(bad[i].type), errno);
			assert_memory_equal(bytes, untouched, sizeof(bytes));
		}
}

/* A number may have many digits, but not any number of them. */
static void long_numbers(void **state)
{
	struct rfm_place place = place_of(RFM_REGION_DOUBLE, RFM_REGION_LITTLE, 8);
	char text[1000];
	double value;

	(void)state;
	memset(text, '0', sizeof(text));
	memcpy(text, "1.", 2);
	text[300] = '\0';
	assert_int_equal(rfm_value_scan(&place, text, &value), 0);
	assert_true(value == 1);
	text[300] = '0';
	text[999] = '\0';
	assert_int_equal(rfm_value_scan(&place, text, &value), -1);
	assert_int_equal(errno, EINVAL);
}

static void print_and_scan(uint32_t type, unsigned int size, const void *bits)
{
	struct rfm_place place = place_of(type, RFM_REGION_LITTLE, size);
	char text[RFM_REGION_TEXT_MAX];
	uint8_t again[8];

	assert_in_range(rfm_value_print(&place, bits, text, sizeof(text)), 1, sizeof(text) - 1);
	if (!strcmp(text, "nan"))
		return;
	assert_int_equal(rfm_value_scan(&place, text, again), 0);
	if (memcmp(again, bits, size))
		fail_msg("'%s' is not what it was", text);
}

static void what_is_printed_reads_back(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t bits = (uint64_t)test_random(&seed) << 32 | test_random(&seed);
		float single = (float)(int32_t)test_random(&seed) / 1000;

		print_and_scan(RFM_REGION_FLOAT, 4, &bits);
		print_and_scan(RFM_REGION_DOUBLE, 8, &bits);
		print_and_scan(RFM_REGION_FLOAT, 4, &single);
		print_and_scan(RFM_REGION_INT16, 2, &bits);
		print_and_scan(RFM_REGION_INT64, 8, &bits);
		print_and_scan(RFM_REGION_UINT64, 8, &bits);
	}
}

static void texts(void **state)
{
	static const struct {
		const char *text, *printed;
		uint32_t room;
		int error;
	} cases[] = {
		{ "abc", "\"abc\"", 8, 0 },
		{ "", "\"\"", 8, 0 },
		{ "12345678", "\"12345678\"", 8, 0 },
		{ "123456789", NULL, 8, ERANGE },
		{ "\"12345678\"", "\"12345678\"", 8, 0 },
		{ "\"123456789\"", NULL, 8, ERANGE },
		{ "\"\"", "\"\"", 8, 0 },
		{ "a\"b\\", "\"a\\\"b\\\\\"", 8, 0 },
		{ "\"a\\\"b\\\\\"", "\"a\\\"b\\\\\"", 8, 0 },
		{ "\"\\x00\\x1B\\xff\"", "\"\\x00\\x1b\\xff\"", 8, 0 },
		{ "\xc3\xb6", "\"\\xc3\\xb6\"", 8, 0 },
		{ "\"abc", NULL, 8, EINVAL },
		{ "\"", NULL, 8, EINVAL },
		{ "\"a\"b\"", NULL, 8, EINVAL },
		{ "\"\\x0\"", NULL, 8, EINVAL },
		{ "\"\\xg0\"", NULL, 8, EINVAL },
		{ "\"\\n\"", NULL, 8, EINVAL },
		{ "\"\\\"", NULL, 8, EINVAL },
		{ "\"abc\\", NULL, 8, EINVAL },
		{ "\"\\x", NULL, 8, EINVAL },
		{ "x", "\"x\"", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rfm_place place = place_of(RFM_REGION_CHAR, RFM_REGION_BIG, cases[i].room);
		uint8_t *bytes = malloc(cases[i].room);
		char text[64];

		memset(bytes, UNTOUCHED, cases[i].room);
		errno = 0;
		if (!rfm_value_scan(&place, cases[i].text, bytes) != !cases[i].error ||
		    errno != cases[i].error)
			fail_msg("'%s': %d", cases[i].text, errno);
		if (cases[i].error) {
			for (uint32_t k = 0; k < cases[i].room; k++)
				assert_int_equal(bytes[k], UNTOUCHED);
		} else {
			assert_int_equal(rfm_value_print(&place, bytes, text, sizeof(text)),
					 strlen(cases[i].printed));
			assert_string_equal(text, cases[i].printed);
		}
		free(bytes);
	}
}

/* As snprintf(3): cut, ended, and the whole length returned. */
static void too_little_room(void **state)
{
	struct rfm_place name = place_of(RFM_REGION_CHAR, RFM_REGION_BIG, 4);
	struct rfm_place number = place_of(RFM_REGION_UINT16, RFM_REGION_BIG, 2);
	char text[8];

	(void)state;
	for (size_t size = 0; size <= 6; size++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(rfm_value_print(&name, "abcd", text, size), 6);
		if (size) {
			assert_int_equal(strlen(text), size - 1);
			assert_memory_equal(text, "\"abcd\"", size - 1);
		}
		assert_int_equal(text[size], 'x');
		memset(text, 'x', sizeof(text));
		assert_int_equal(rfm_value_print(&number, "\xff\xff", text, size), 5);
		assert_int_equal(text[size], 'x');
	}
}

static void what_is_no_value(void **state)
{
	struct rfm_place structure = place_of(RFM_REGION_STRUCT, RFM_REGION_BIG, 4);
	struct rfm_place array = place_of(RFM_REGION_UINT16, RFM_REGION_BIG, 4);
	struct rfm_place nothing = place_of(RFM_REGION_TYPES, RFM_REGION_BIG, 4);
	const struct rfm_place *places[] = { &structure, &array, &nothing };
	uint8_t bytes[4] = { 0 };
	char text[8] = "x";

	(void)state;
	array.count = 2;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		errno = 0;
		assert_int_equal(rfm_value_print(places[i], bytes, text, sizeof(text)), -1);
		assert_int_equal(errno, EINVAL);
		assert_string_equal(text, "x");
		errno = 0;
		assert_int_equal(rfm_value_scan(places[i], "1", bytes), -1);
		assert_int_equal(errno, EINVAL);
	}
}

static void a_bool_that_is_none(void **state)
{
	struct rfm_place place = place_of(RFM_REGION_BOOL, RFM_REGION_BIG, 1);
	char text[8];

	(void)state;
	assert_int_equal(rfm_value_print(&place, "\x02", text, sizeof(text)), 1);
	assert_string_equal(text, "2");
}

/* A program may have set the locale of its user, where a point is a comma. */
static void any_locale(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ps_AF.UTF-8" };
	bool tried = false;

	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		if (!setlocale(LC_NUMERIC, locales[i]))
			continue;
		tried = true;
		values_are_read_and_printed(state);
		wrong_values_are_refused(state);
	}
	setlocale(LC_NUMERIC, "C");
	if (!tried)
		skip();
}

/* --- values that mean something ------------------------------------------------------- */

static const char meaningful[] =
	"rfm-regions: 1\n"
	"regions:\n"
	"  temperature: {offset: 0, type: int16, scale: 0.01, bias: -40, unit: degC}\n"
	"  back: {offset: 2, type: uint8, scale: -0.5, byte-order: big}\n"
	"  shifted: {offset: 3, type: uint8, bias: 1e3}\n"
	"  flags: {offset: 4, type: uint16, byte-order: big, bits: {running: 0, mode: 4-6, fault: 15}}\n"
	"  all: {offset: 8, type: uint64, bits: {all: 0-63}}\n"
	"  state: {offset: 16, type: int8, values: {idle: 0, run: 1, fault: -1, odd: 0x7f}}\n"
	"  states: {offset: 24, type: uint64, count: 2, values: {most: 0xffffffffffffffff}}\n"
	"  plain: {offset: 40, type: uint32}\n"
	"  real: {offset: 44, type: float}\n"
	"  yes: {offset: 48, type: bool}\n"
	"  text: {offset: 56, type: char, count: 4}\n";

static struct rfm_place named(const struct rfm_regions *regions, const char *name)
{
	struct rfm_place place;

	assert_int_equal(rfm_regions_find(regions, name, &place, NULL, NULL), 0);
	return place;
}

static void what_a_file_says_is_printed(void **state)
{
	static const struct {
		const char *name, *text;
		uint64_t bits;
		const char *printed;	/* NULL: @text */
	} cases[] = {
		{ "temperature", "-40", 0, NULL },
		{ "temperature", "12.5", 5250, NULL },
		{ "temperature", "12.504", 5250, "12.5" },
		{ "temperature", "-367.68", 0x8000, NULL },
		{ "temperature", "287.67", 0x7fff, NULL },
		{ "back", "-0.5", 1, NULL },
		{ "back", "-127.5", 255, NULL },
		{ "back", "0", 0, NULL },
		{ "shifted", "1255", 255, NULL },
		{ "shifted", "1000", 0, NULL },
		{ "flags", "0", 0, NULL },
		{ "flags", "running", 1, NULL },
		{ "flags", "running|mode=3|fault", 0x8031, NULL },
		{ "flags", "fault|mode=0x7", 0x8070, "mode=7|fault" },
		{ "flags", "mode=1|0x102", 0x112, NULL },
		{ "flags", "0x8031", 0x8031, "running|mode=3|fault" },
		{ "flags", "running=0|fault=1", 0x8000, "fault" },
		{ "all", "all=18446744073709551615", UINT64_MAX, NULL },
		{ "state", "idle", 0, NULL },
		{ "state", "fault", 0xff, NULL },
		{ "state", "-1", 0xff, "fault" },
		{ "state", "odd", 0x7f, NULL },
		{ "state", "5", 5, NULL },
		{ "states[1]", "most", UINT64_MAX, NULL },
		{ "states[0]", "1", 1, NULL },
	};
	static const struct {
		const char *name, *text;
		int error;
	} bad[] = {
		{ "temperature", "287.7", ERANGE }, { "temperature", "hot", EINVAL },
		{ "temperature", "nan", EINVAL }, { "temperature", "inf", ERANGE },
		{ "temperature", "", EINVAL }, { "back", "1", ERANGE },
		{ "shifted", "999", ERANGE }, { "flags", "", EINVAL }, { "flags", "|", EINVAL },
		{ "flags", "running|", EINVAL }, { "flags", "mode", EINVAL },
		{ "flags", "mode=", EINVAL }, { "flags", "mode=8", ERANGE },
		{ "flags", "running=2", ERANGE }, { "flags", "off", EINVAL },
		{ "flags", "0x10000", ERANGE }, { "flags", "-1", ERANGE },
		{ "state", "Idle", EINVAL }, { "state", "128", ERANGE }, { "state", "", EINVAL },
	};
	struct rfm_regions *regions = good(meaningful);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rfm_place place = named(regions, cases[i].name);
		char text[RFM_REGION_TEXT_MAX];
		uint8_t bytes[8] = { 0 };
		uint64_t bits = 0;
		int length;

		assert_int_equal(rfm_value_scan(&place, cases[i].text, bytes), 0);
		for (size_t k = 0; k < place.length; k++)
			bits = bits << 8 | bytes[place.order == RFM_REGION_BIG ? k :
						 place.length - 1 - k];
		if (bits != cases[i].bits)
			fail_msg("%s %s: %#llx", cases[i].name, cases[i].text,
				 (unsigned long long)bits);
		length = rfm_value_print(&place, bytes, text, sizeof(text));
		assert_int_equal(length, strlen(text));
		assert_string_equal(text, cases[i].printed ? cases[i].printed : cases[i].text);
		/* Cut off like any other text. */
		assert_int_equal(rfm_value_print(&place, bytes, text, 2), strlen(cases[i].printed ?
				 cases[i].printed : cases[i].text));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rfm_place place = named(regions, bad[i].name);
		uint8_t bytes[8];

		memset(bytes, UNTOUCHED, sizeof(bytes));
		errno = 0;
		if (rfm_value_scan(&place, bad[i].text, bytes) != -1 || errno != bad[i].error ||
		    bytes[0] != UNTOUCHED)
			fail_msg("%s '%s': %s", bad[i].name, bad[i].text, strerror(errno));
	}
	rfm_regions_free(regions);
}

/* Whatever stands in the memory: its text stands for nothing else. */
static void every_scaled_value_reads_back(void **state)
{
	struct rfm_regions *regions = good(meaningful);
	struct rfm_place place = named(regions, "temperature");
	char text[RFM_REGION_TEXT_MAX];
	double real;

	(void)state;
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		uint16_t word = (uint16_t)bits, back = (uint16_t)~bits;

		rfm_value_print(&place, &word, text, sizeof(text));
		assert_true(strlen(text) <= 8);
		assert_int_equal(rfm_value_scan(&place, text, &back), 0);
		assert_int_equal(back, word);
		assert_int_equal(rfm_value_real(&place, &word, &real), 0);
		assert_int_equal(rfm_value_set_real(&place, real, &back), 0);
		assert_int_equal(back, word);
	}
	rfm_regions_free(regions);
}

static void values_are_numbers_too(void **state)
{
	struct rfm_regions *regions = good(meaningful);
	uint8_t bytes[8] = { 0 };
	struct rfm_place place;
	int64_t integer = 4711;
	double real = 0.25;

	(void)state;
	place = named(regions, "temperature");
	assert_int_equal(rfm_value_set_integer(&place, -2, bytes), 0);
	assert_int_equal(rfm_value_integer(&place, bytes, &integer), 0);
	assert_int_equal(integer, -2);
	assert_int_equal(rfm_value_real(&place, bytes, &real), 0);
	assert_true(real == -2 * 0.01 - 40);
	assert_int_equal(rfm_value_set_integer(&place, 32768, bytes), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(rfm_value_set_integer(&place, -32769, bytes), -1);
	assert_int_equal(rfm_value_integer(&place, bytes, &integer), 0);
	assert_int_equal(integer, -2);
	place = named(regions, "states[0]");
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(rfm_value_integer(&place, bytes, &integer), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(rfm_value_set_integer(&place, -1, bytes), -1);
	assert_int_equal(rfm_value_set_integer(&place, INT64_MAX, bytes), 0);
	assert_int_equal(rfm_value_set_real(&place, 0x1p64, bytes), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(rfm_value_set_real(&place, 0x1p63, bytes), 0);
	assert_int_equal(bytes[7], 0x80);
	place = named(regions, "plain");
	assert_int_equal(rfm_value_set_real(&place, 2.6, bytes), 0);
	assert_int_equal(bytes[0], 3);
	assert_int_equal(rfm_value_set_real(&place, -1, bytes), -1);
	assert_int_equal(rfm_value_set_real(&place, 0.0 / 0.0, bytes), -1);
	assert_int_equal(errno, EINVAL);
	place = named(regions, "real");
	assert_int_equal(rfm_value_set_real(&place, 0.5, bytes), 0);
	assert_int_equal(rfm_value_real(&place, bytes, &real), 0);
	assert_true(real == 0.5);
	assert_int_equal(rfm_value_set_real(&place, 1e300, bytes), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(rfm_value_set_real(&place, 1.0 / 0.0, bytes), 0);
	assert_int_equal(rfm_value_integer(&place, bytes, &integer), -1);
	assert_int_equal(errno, EINVAL);
	place = named(regions, "yes");
	assert_int_equal(rfm_value_set_real(&place, 1, bytes), 0);
	assert_int_equal(rfm_value_set_real(&place, 2, bytes), -1);
	assert_int_equal(rfm_value_set_integer(&place, 2, bytes), -1);
	place = named(regions, "text");
	assert_int_equal(rfm_value_real(&place, bytes, &real), -1);
	assert_int_equal(rfm_value_set_integer(&place, 1, bytes), -1);
	place = named(regions, "states");
	assert_int_equal(rfm_value_set_real(&place, 1, bytes), -1);
	assert_int_equal(errno, EINVAL);
	rfm_regions_free(regions);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_and_printed),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(long_numbers),
		cmocka_unit_test(what_is_printed_reads_back),
		cmocka_unit_test(texts),
		cmocka_unit_test(too_little_room),
		cmocka_unit_test(what_is_no_value),
		cmocka_unit_test(a_bool_that_is_none),
		cmocka_unit_test(any_locale),
		cmocka_unit_test(what_a_file_says_is_printed),
		cmocka_unit_test(every_scaled_value_reads_back),
		cmocka_unit_test(values_are_numbers_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
