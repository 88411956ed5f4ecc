// SPDX-License-Identifier: MIT
/* links: tools/rmctl/events/rates.c tools/rmctl/cli/words.c tools/rmctl/cli/progress.c */
/* links: tools/rmctl/cli/stop.c tools/common/units.c tools/common/parse.c tools/common/hex.c */
/* What rmctl's verbs for the memory compute: progress, rates, words. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "tools/rmctl/cli/progress.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/events/rates.h"

#define MS 1000000ull
#define S 1000000000ull

static void progress_is_a_line(void **state)
{
	char line[PROGRESS_LINE];

	(void)state;
	progress_line(line, "load", 32 << 20, 64 << 20, S);
	assert_string_equal(line, "load [############            ]  50 %  32 MiB of 64 MiB  "
				  "32 MiB/s  1.000 s left");
	progress_line(line, "load", 0, 100, 0);
	assert_string_equal(line, "load [                        ]   0 %  0 B of 100 B  0 B/s  ? left");
	progress_line(line, "save", 100, 100, S);
	assert_string_equal(line, "save [########################] 100 %  100 B of 100 B  "
				  "100 B/s  0 ns left");
	progress_line(line, "fill", 1, UINT64_MAX, 1);
	assert_true(strlen(line) < PROGRESS_LINE - 1);
}

static void what_looks_swapped(void **state)
{
	const uint64_t size = 64 << 20;

	(void)state;
	assert_true(looks_swapped(5, "0x1000", 4, size));
	assert_true(looks_swapped(0xcafef000, "4K", 4, size));
	assert_true(looks_swapped(size, "0x1000", 4, size));
	assert_true(looks_swapped(size - 2, "16", 4, size));
	/* The offset is good, or the value is no better. */
	assert_false(looks_swapped(0x1000, "5", 4, size));
	assert_false(looks_swapped(size - 4, "0x1000", 4, size));
	assert_false(looks_swapped(5, "0x1001", 4, size));
	assert_false(looks_swapped(5, "0", 4, size));
	assert_false(looks_swapped(5, "64M", 4, size));
	assert_false(looks_swapped(5, "x", 4, size));
	assert_false(looks_swapped(5, "0x1000", 1, size));
}

static void negative_words_are_hidden(void **state)
{
	static const char *const yes[] = { "-3", "-0", "-3.5e2", "-.5", "-inf", "-nan", "-0x10" };
	static const char *const no[] = { "3", "-", "--", "-w", "-w4", "--width", "-i", "-.", "-infx",
					  "", "-n5" };
	char *argv[] = { "poke", "rfm0", "-3", "-w", "-inf", "--", "-4", NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(word_is_negative(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(word_is_negative(no[i]));
	hide_negatives(7, argv);
	assert_int_not_equal(*argv[2], '-');
	assert_string_equal(plain_word(argv[2]), "-3");
	assert_string_equal(plain_word(argv[4]), "-inf");
	assert_string_equal(argv[1], "rfm0");
	assert_string_equal(argv[3], "-w");
	assert_string_equal(argv[6], "-4");	/* behind --, getopt leaves it alone */
	assert_string_equal(plain_word("rfm0"), "rfm0");
	free(argv[2]);
	free(argv[4]);
}

static struct rfm_event update(uint32_t count, uint64_t time, uint64_t latency)
{
	return (struct rfm_event){ .type = RFM_EVENT_UPDATE, .node = 3, .count = count,
				   .time_ns = time, .origin_ns = 1000,
				   .arrival_ns = 1000 + latency };
}

static void add(struct rates *rates, struct rfm_event event)
{
	rates_add(rates, &event);
}

static void updates_are_counted(void **state)
{
	struct rates rates = { .updates = 0 };
	struct rfm_event unknown = update(1, 40, 999);
	uint64_t value = 7;

	(void)state;
	assert_false(rates_latency(&rates, &value));
	assert_false(rates_age(&rates, 100, &value));
	assert_true(value == 7);
	add(&rates, update(1, 10, 300));
	add(&rates, update(4, 20, 100));
	add(&rates, update(1, 30, 200));
	assert_true(rates.updates == 6 && rates.total == 6);
	assert_true(rates_latency(&rates, &value) && value == 200);
	assert_true(rates.latency_min_ns == 100 && rates.latency_max_ns == 300);
	assert_true(rates_age(&rates, 100, &value) && value == 70);
	assert_true(rates_age(&rates, 29, &value) && value == 0);
	assert_int_equal(rates.node, 3);

	/* Of another clock: it counts, but its age is not known. */
	unknown.flags = RFM_EVENT_AGE_UNKNOWN;
	add(&rates, unknown);
	assert_true(rates.updates == 7 && rates.latencies == 3 && rates.latency_max_ns == 300);

	/* What the card has dropped is no update. */
	add(&rates, (struct rfm_event){ .type = RFM_EVENT_DROPPED, .data = 9, .time_ns = 50 });
	assert_true(rates.updates == 7 && rates.lost == 9);
	assert_true(rates_age(&rates, 100, &value) && value == 60);

	rates_next_round(&rates);
	assert_true(!rates.updates && !rates.lost && rates.total == 7);
	assert_false(rates_latency(&rates, &value));
	assert_true(rates_age(&rates, 100, &value) && value == 60);
	add(&rates, update(1, 60, 500));
	assert_true(rates.latency_min_ns == 500 && rates.latency_max_ns == 500);
	/* Clocks of one domain agree to within some hundred nanoseconds. */
	unknown = update(1, 70, 0);
	unknown.arrival_ns = unknown.origin_ns - 1;
	add(&rates, unknown);
	assert_true(rates.latency_min_ns == 0);
}

static void three_periods_are_too_long(void **state)
{
	struct rates rates = { .updates = 0 };

	(void)state;
	assert_false(rates_stale(&rates, 1000 * MS, 0, 0));
	assert_false(rates_stale(&rates, 130 * MS, 100 * MS, 10 * MS));
	assert_true(rates_stale(&rates, 134 * MS, 100 * MS, 10 * MS));
	add(&rates, update(1, 120 * MS, 1));
	assert_false(rates_stale(&rates, 134 * MS, 100 * MS, 10 * MS));
	assert_true(rates_stale(&rates, 160 * MS, 100 * MS, 10 * MS));
	assert_false(rates_stale(&rates, 110 * MS, 100 * MS, 10 * MS));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress_is_a_line),
		cmocka_unit_test(what_looks_swapped),
		cmocka_unit_test(negative_words_are_hidden),
		cmocka_unit_test(updates_are_counted),
		cmocka_unit_test(three_periods_are_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
