// SPDX-License-Identifier: MIT
/* links: tools/rmctl/cli/words.c tools/rmctl/card/event_names.c */
/* What rmctl makes of the words on its command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/rfm.h>

#include "tools/rmctl/card/event_names.h"
#include "tools/rmctl/cli/words.h"

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

static void ages_are_never_negative(void **state)
{
	struct rfm_event event = { .type = RFM_EVENT_CONFLICT, .origin_ns = 500, .arrival_ns = 800 };
	uint64_t age = UNTOUCHED;

	(void)state;
	assert_true(event_age(&event, &age) && age == 300);
	event.origin_ns = 801;
	assert_true(event_age(&event, &age) && age == 0);
	event.flags = RFM_EVENT_AGE_UNKNOWN;
	assert_false(event_age(&event, &age));
	event = (struct rfm_event){ .type = RFM_EVENT_INT1, .arrival_ns = 800 };
	assert_false(event_age(&event, &age));
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

static void card_names(void **state)
{
	static const char *const bad[] = {
		"", "rfm", "rfm-1", "rfm0x", "rfm 0", "RFM0", "xrfm0", "rfm0/..", "rfm1234567", "0",
	};

	(void)state;
	assert_true(parse_card_name("rfm0"));
	assert_true(parse_card_name("rfm12"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(parse_card_name(bad[i]));
}

static void pci_addresses(void **state)
{
	static const char *const bad[] = {
		"", ":", "01:00", "01.0", "01:00.", "01:00.8", "01:20.0", "100:00.0", "01:00.0 ",
		"0000:01:00.00", ":01:00.0", "000000001:01:00.0", "0000:01:000.0", "g:00.0",
		"-1:00.0", "0x1:00.0", "0000:0000:01:00.0",
	};
	char address[PCI_ADDRESS_SIZE];

	(void)state;
	assert_true(parse_pci_address("0000:01:00.0", address));
	assert_string_equal(address, "0000:01:00.0");
	assert_true(parse_pci_address("1:0.7", address));
	assert_string_equal(address, "0000:01:00.7");
	assert_true(parse_pci_address("A:1F.0", address));
	assert_string_equal(address, "0000:0a:1f.0");
	assert_true(parse_pci_address("ffffffff:ff:1f.7", address));
	assert_string_equal(address, "ffffffff:ff:1f.7");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse_pci_address(bad[i], address))
			fail_msg("'%s' read as %s", bad[i], address);
}

static void event_types(void **state)
{
	uint32_t mask = 0;

	(void)state;
	for (uint32_t type = 0; type < RFM_EVENT_TYPES; type++)
		assert_int_equal(event_from_name(event_name(type)), type);
	assert_string_equal(event_name(RFM_EVENT_INT3), "int3");
	assert_string_equal(event_name(RFM_EVENT_SYNC_LOSS), "sync-loss");
	assert_string_equal(event_name(RFM_EVENT_TYPES), "unknown");
	assert_int_equal(event_from_name("int5"), -1);
	assert_int_equal(event_from_name(""), -1);
	assert_false(event_mask_from_name("unknown", &mask));
	assert_int_equal(mask, 0);
	assert_true(event_mask_from_name("int1", &mask));
	assert_true(event_mask_from_name("sync-loss", &mask));
	assert_int_equal(mask, 0x22);
	/* What a watch delivers, nobody can listen for; "all" depends on the card. */
	assert_false(event_mask_from_name("update", &mask));
	assert_false(event_mask_from_name("dropped", &mask));
	assert_false(event_mask_from_name("all", &mask));
	assert_true(event_mask_from_name("conflict", &mask));
	assert_int_equal(mask, 0x20022);
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
		cmocka_unit_test(ages_are_never_negative),
		cmocka_unit_test(widths),
		cmocka_unit_test(card_names),
		cmocka_unit_test(pci_addresses),
		cmocka_unit_test(event_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
