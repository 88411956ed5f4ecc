// SPDX-License-Identifier: MIT
/* links: tools/common/parse.c tools/common/units.c tools/common/hex.c */
/* What all tools make of the words on their command lines, and print for people. */
#include "tests/unit/test.h"

#include <string.h>

#include "tools/common/parse.h"
#include "tools/common/units.h"

#define MS 1000000ull
#define S 1000000000ull

/* A value that no test below expects: shows that a refused word changes nothing. */
#define UNTOUCHED 0xa5a5a5a5a5a5a5a5ull

static void expect_number(const char *text, uint64_t expected)
{
	uint64_t value = UNTOUCHED;

	if (parse_number(text, UINT64_MAX, &value) != PARSE_OK || value != expected)
		fail_msg("'%s' read as 0x%llx", text, (unsigned long long)value);
}

static void expect_refused(const char *text, uint64_t max, enum parse_result reason)
{
	uint64_t value = UNTOUCHED;
	enum parse_result result = parse_number(text, max, &value);

	if (result != reason)
		fail_msg("'%s' answered with %d, not %d", text, result, reason);
	assert_true(value == UNTOUCHED);
}

static void numbers_are_read(void **state)
{
	(void)state;
	expect_number("0", 0);
	expect_number("42", 42);
	expect_number("010", 10);
	expect_number("0x10", 16);
	expect_number("0XfF", 255);
	expect_number("0xdeadBEEF", 0xdeadbeef);
	expect_number("18446744073709551615", UINT64_MAX);
	expect_number("0xffffffffffffffff", UINT64_MAX);
	expect_number("00000000000000000000000000001", 1);
}

static void suffixes_multiply(void **state)
{
	(void)state;
	expect_number("4K", 4096);
	expect_number("4k", 4096);
	expect_number("64M", 64 << 20);
	expect_number("0x10m", 16 << 20);
	expect_number("0K", 0);
	expect_number("17592186044415M", 17592186044415ull << 20);
}

static void malformed_numbers_are_refused(void **state)
{
	static const char *const words[] = {
		"x", "0x", "0xg", "12z", "1.5", "+1", " 1", "1 ", "1\n", "K", "0xM", "4KK", "4KB",
		"4G", "0x0x1", "1-1", "1e3", "\xff", "12,000", "0b1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		expect_refused(words[i], UINT64_MAX, PARSE_MALFORMED);
	expect_refused("", UINT64_MAX, PARSE_EMPTY);
	expect_refused("-1", UINT64_MAX, PARSE_NEGATIVE);
	expect_refused("-0", UINT64_MAX, PARSE_NEGATIVE);
	expect_refused("-", UINT64_MAX, PARSE_NEGATIVE);
	expect_refused("--1", UINT64_MAX, PARSE_NEGATIVE);
}

static void large_numbers_are_refused(void **state)
{
	(void)state;
	expect_refused("18446744073709551616", UINT64_MAX, PARSE_TOO_LARGE);
	expect_refused("0x10000000000000000", UINT64_MAX, PARSE_TOO_LARGE);
	expect_refused("184467440737095516150", UINT64_MAX, PARSE_TOO_LARGE);
	expect_refused("99999999999999999999999999999999", UINT64_MAX, PARSE_TOO_LARGE);
	expect_refused("17592186044416M", UINT64_MAX, PARSE_TOO_LARGE);
	expect_refused("0x40000000000000K", UINT64_MAX, PARSE_TOO_LARGE);
	expect_refused("256", 255, PARSE_TOO_LARGE);
	expect_refused("1K", 255, PARSE_TOO_LARGE);
	/* Nonsense stays nonsense, however long it is. */
	expect_refused("99999999999999999999999999999999z", UINT64_MAX, PARSE_MALFORMED);
}

static void limits_are_inclusive(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(parse_number("255", 255, &value), PARSE_OK);
	assert_int_equal(parse_number("0", 0, &value), PARSE_OK);
}

static void seconds_are_read(void **state)
{
	static const struct {
		const char *text;
		enum parse_result result;
		uint64_t expected;
	} rows[] = {
		{ "0", PARSE_OK, 0 },
		{ "5", PARSE_OK, 5000000000ull },
		{ "0.25", PARSE_OK, 250000000 },
		{ "1.000000001", PARSE_OK, 1000000001 },
		{ "1000000000", PARSE_OK, 1000000000000000000ull },
		{ "", PARSE_EMPTY, UNTOUCHED },
		{ "-1", PARSE_NEGATIVE, UNTOUCHED },
		{ "5.", PARSE_MALFORMED, UNTOUCHED },
		{ ".5", PARSE_MALFORMED, UNTOUCHED },
		{ ".", PARSE_MALFORMED, UNTOUCHED },
		{ "1.0000000001", PARSE_MALFORMED, UNTOUCHED },
		{ "1.0000000000", PARSE_OK, 1000000000 },
		{ "1e3", PARSE_MALFORMED, UNTOUCHED },
		{ "0x5", PARSE_MALFORMED, UNTOUCHED },
		{ "1000000001", PARSE_TOO_LARGE, UNTOUCHED },
		{ "99999999999999999999999999", PARSE_TOO_LARGE, UNTOUCHED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t value = UNTOUCHED;

		if (parse_duration(rows[i].text, &value) != rows[i].result ||
		    value != rows[i].expected)
			fail_msg("'%s' read as %llu ns", rows[i].text, (unsigned long long)value);
	}
}

static void widths(void **state)
{
	static const char *const bad[] = { "", "0", "3", "5", "16", "-1", "4 ", "0x4", "11" };
	unsigned int width = 0;

	(void)state;
	assert_true(parse_width("1", &width) && width == 1);
	assert_true(parse_width("2", &width) && width == 2);
	assert_true(parse_width("4", &width) && width == 4);
	assert_true(parse_width("8", &width) && width == 8);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(parse_width(bad[i], &width));
	assert_int_equal(width, 8);
	assert_true(width_max(1) == 0xff);
	assert_true(width_max(2) == 0xffff);
	assert_true(width_max(4) == 0xffffffff);
	assert_true(width_max(8) == UINT64_MAX);
}

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		enum parse_result result;
		uint64_t ns;
	} rows[] = {
		{ "0", PARSE_OK, 0 }, { "0.25", PARSE_OK, 250 * MS }, { "5s", PARSE_OK, 5 * S },
		{ "20ms", PARSE_OK, 20 * MS }, { "0.5ms", PARSE_OK, 500000 },
		{ "100us", PARSE_OK, 100000 }, { "1ns", PARSE_OK, 1 },
		{ "1.5us", PARSE_OK, 1500 }, { "1.5ns", PARSE_MALFORMED, 7 },
		{ "0.0001us", PARSE_MALFORMED, 7 }, { "5m", PARSE_MALFORMED, 7 },
		{ "ms", PARSE_MALFORMED, 7 }, { "5 ms", PARSE_MALFORMED, 7 },
		{ "5msx", PARSE_MALFORMED, 7 }, { "", PARSE_EMPTY, 7 },
		{ "-1", PARSE_NEGATIVE, 7 }, { "-5ms", PARSE_NEGATIVE, 7 },
		{ "1.2.3", PARSE_MALFORMED, 7 }, { "x", PARSE_MALFORMED, 7 },
		{ "1000000001s", PARSE_TOO_LARGE, 7 },
		{ "0000000000000000000000000000000000000000000000001", PARSE_OK, S },
		{ "2000000000ns", PARSE_OK, 2 * S }, { "3600000000us", PARSE_OK, 3600 * S },
		{ "1.50ns", PARSE_MALFORMED, 7 }, { "1.0ns", PARSE_OK, 1 },
		{ "1000000000000000000ns", PARSE_OK, S * S },
		{ "1000000000000000001ns", PARSE_TOO_LARGE, 7 },
		{ "99999999999999999999999ns", PARSE_TOO_LARGE, 7 },
		{ "1000000001000ms", PARSE_TOO_LARGE, 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 7;

		if (parse_duration(rows[i].text, &ns) != rows[i].result || ns != rows[i].ns)
			fail_msg("'%s': %llu", rows[i].text, (unsigned long long)ns);
	}
}

static void sizes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" }, { 1, "1 B" }, { 1023, "1023 B" }, { 1024, "1 KiB" },
		{ 1025, "1.0 KiB" }, { 1536, "1.5 KiB" }, { 4096, "4 KiB" },
		{ 3000000, "2.8 MiB" }, { 64 << 20, "64 MiB" }, { 1ull << 32, "4 GiB" },
		{ (1ull << 32) - 1, "3.9 GiB" }, { 1ull << 40, "1 TiB" },
	};
	char text[UNIT_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(size_text(text, rows[i].bytes), rows[i].text);
	assert_true(strlen(size_text(text, UINT64_MAX)) < sizeof(text) - 1);
}

static void times(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1.000 us" }, { 12345, "12.345 us" },
		{ 999999, "999.999 us" }, { MS, "1.000 ms" }, { 283082111, "283.082 ms" },
		{ S, "1.000 s" }, { 60 * S - 1, "59.999 s" }, { 60 * S, "1 min" },
		{ 5430 * S, "90 min" },
	};
	char text[UNIT_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(time_text(text, rows[i].ns), rows[i].text);
	assert_true(strlen(time_text(text, UINT64_MAX)) < sizeof(text) - 1);
}

static void rates_have_three_digits(void **state)
{
	static const struct {
		uint64_t count, ns;
		const char *text;
	} rows[] = {
		{ 0, S, "0" }, { 1, 0, "0.00" }, { 1, 4 * S, "0.25" }, { 1, S, "1.00" },
		{ 10, S, "10.0" }, { 998, 10 * S, "99.8" }, { 1234, S, "1234" },
		{ 12345, S, "12.3 k" }, { 1250000, S, "1.25 M" }, { 5, 500 * MS, "10.0" },
	};
	char text[UNIT_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(rate_text(text, rows[i].count, rows[i].ns),
				    rows[i].text);
}

static void ranges_are_read(void **state)
{
	static const struct {
		const char *text;
		enum parse_result result;
		uint64_t first, last;
	} rows[] = {
		{ "0", PARSE_OK, 0, 0 },
		{ "0x1000", PARSE_OK, 0x1000, 0x1000 },
		{ "0x1000-0x1fff", PARSE_OK, 0x1000, 0x1fff },
		{ "0x1000+4K", PARSE_OK, 0x1000, 0x1fff },
		{ "1K-2K", PARSE_OK, 1024, 2048 },
		{ "0xffff", PARSE_OK, 0xffff, 0xffff },
		{ "0xffff+1", PARSE_OK, 0xffff, 0xffff },
		{ "0+64K", PARSE_OK, 0, 0xffff },
		/* Whose sentence that is, the program says. */
		{ "2-1", PARSE_OK, 2, 1 },
		{ "0x10000", PARSE_TOO_LARGE, UNTOUCHED, UNTOUCHED },
		{ "0-0x10000", PARSE_TOO_LARGE, UNTOUCHED, UNTOUCHED },
		{ "0xffff+2", PARSE_TOO_LARGE, UNTOUCHED, UNTOUCHED },
		{ "1+64K", PARSE_TOO_LARGE, UNTOUCHED, UNTOUCHED },
		{ "5+0", PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
		{ "", PARSE_EMPTY, UNTOUCHED, UNTOUCHED },
		{ "5-", PARSE_EMPTY, UNTOUCHED, UNTOUCHED },
		{ "5+", PARSE_EMPTY, UNTOUCHED, UNTOUCHED },
		{ "-5", PARSE_EMPTY, UNTOUCHED, UNTOUCHED },
		{ "5--6", PARSE_NEGATIVE, UNTOUCHED, UNTOUCHED },
		{ "1-2-3", PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
		{ "1+2+3", PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
		{ "x-5", PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
		{ "5-x", PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
		{ "1 - 2", PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
		/* Longer than there is room for: not cut off and read as another. */
		{ "1000000000000000000000000000000000000000000000000000000000000000-2",
		  PARSE_MALFORMED, UNTOUCHED, UNTOUCHED },
	};
	uint64_t first = 7, last = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		first = UNTOUCHED;
		last = UNTOUCHED;
		if (parse_range(rows[i].text, 0xffff, &first, &last) != rows[i].result ||
		    first != rows[i].first || last != rows[i].last)
			fail_msg("'%s': 0x%llx to 0x%llx", rows[i].text,
				 (unsigned long long)first, (unsigned long long)last);
	}
	assert_int_equal(parse_range("1+0xffffffffffffffff", UINT64_MAX, &first, &last), PARSE_OK);
	assert_true(first == 1 && last == UINT64_MAX);
	assert_int_equal(parse_range("2+0xffffffffffffffff", UINT64_MAX, &first, &last),
			 PARSE_TOO_LARGE);
}

static void forms_of_ranges(void **state)
{
	char first[RANGE_FIRST];
	const char *rest;

	(void)state;
	assert_int_equal(range_form("0x10-0x20", first, &rest), '-');
	assert_string_equal(first, "0x10");
	assert_string_equal(rest, "0x20");
	assert_int_equal(range_form("7+", first, &rest), '+');
	assert_string_equal(first, "7");
	assert_string_equal(rest, "");
	assert_int_equal(range_form("7", first, &rest), 0);
	assert_string_equal(first, "7");
	assert_string_equal(rest, "7");
}

static void exact_words_are_read_again(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 1, "1ns" }, { 999, "999ns" }, { 1000, "1us" }, { 1001, "1001ns" },
		{ 20 * MS, "20ms" }, { 90 * S, "90s" }, { S * S, "1000000000s" },
	};
	char text[UNIT_TEXT];
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(time_exact(text, rows[i].ns, ""), rows[i].text);
		assert_int_equal(parse_duration(text, &ns), PARSE_OK);
		assert_true(ns == rows[i].ns);
	}
	assert_string_equal(time_exact(text, 10 * MS, " "), "10 ms");
	assert_string_equal(size_exact(text, 64 << 20), "64 MiB");
	assert_string_equal(size_exact(text, 4097), "4097 B");
	assert_string_equal(size_exact(text, 0), "0 B");
}

static void nodes_are_shown_both_ways(void **state)
{
	char text[UNIT_TEXT];

	(void)state;
	assert_string_equal(node_text(text, 0), "0x00 (0)");
	assert_string_equal(node_text(text, 17), "0x11 (17)");
	assert_string_equal(node_text(text, 0xffff), "-");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(suffixes_multiply),
		cmocka_unit_test(malformed_numbers_are_refused),
		cmocka_unit_test(large_numbers_are_refused),
		cmocka_unit_test(limits_are_inclusive),
		cmocka_unit_test(seconds_are_read),
		cmocka_unit_test(widths),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(sizes),
		cmocka_unit_test(times),
		cmocka_unit_test(rates_have_three_digits),
		cmocka_unit_test(ranges_are_read),
		cmocka_unit_test(forms_of_ranges),
		cmocka_unit_test(exact_words_are_read_again),
		cmocka_unit_test(nodes_are_shown_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
