// SPDX-License-Identifier: MIT
/* The line model against the published figures of the 5565, and its reckoning. */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ring/util/line-text.h"

#define FRAMES 1000000

static const struct rfm_line_config paced = { .paced = true, .hop_ns = RFM_LINE_HOP_NS };

/* Bytes of data per second in MB/s when @copies of each frame are sent back to back. */
static double throughput(unsigned int bytes, unsigned int copies)
{
	const uint64_t start = 1000;
	struct rfm_line line;
	uint64_t end = start;

	rfm_line_init(&line, &paced, start);
	for (unsigned int i = 0; i < FRAMES * copies; i++)
		end = rfm_line_arrival(&line, bytes, start);
	return (double)bytes * FRAMES * 1000 / (double)(end - start);
}

static void published_throughput(void **state)
{
	/*
	 * The manual's figures. Its 20 MB/s is a round one: redundant mode sends
	 * each frame twice, so what counts is half of the normal mode's 43.
	 */
	static const struct {
		unsigned int bytes, copies;
		double published, expected;
	} rows[] = {
		{ 4, 1, 43, 43 }, { 64, 1, 170, 170 }, { 4, 2, 20, 21.5 }, { 64, 2, 85, 85 },
	};

	(void)state;
	printf("#: line model: bytes  mode       published  expected   model MB/s\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double model = throughput(rows[i].bytes, rows[i].copies);
		double off = model / rows[i].expected - 1;

		printf("#:            %6u  %-9s  %9.0f  %8.1f  %8.2f (%+.1f %%)\n",
		       rows[i].bytes, rows[i].copies == 2 ? "redundant" : "normal",
		       rows[i].published, rows[i].expected, model, off * 100);
		assert_true(off > -0.03 && off < 0.03);
	}
}

static void cost_of_one_frame(void **state)
{
	struct rfm_line line;

	(void)state;
	rfm_line_init(&line, &paced, 0);
	/* 74 + 4 * 4.717 = 92.868 ns: arrived when the next whole ns begins */
	assert_int_equal(rfm_line_arrival(&line, 4, 100), 193);
	/* an idle line owes nothing */
	assert_int_equal(rfm_line_arrival(&line, 0, 5000), 5074);
	/* a busy one: 5074 + 74 + 64 * 4.717 = 5449.888 */
	assert_int_equal(rfm_line_arrival(&line, 64, 5001), 5450);
}

static void no_drift(void **state)
{
	const uint64_t start = 1700000000ull * 1000000000;
	struct rfm_line line;
	uint64_t cost = 0, end = 0, random = 1;

	(void)state;
	rfm_line_init(&line, &paced, start);
	for (unsigned int i = 0; i < 5 * FRAMES; i++) {
		unsigned int bytes = test_random(&random) % 65;

		end = rfm_line_arrival(&line, bytes, start);
		cost += 74000 + bytes * 4717ull;
	}
	assert_int_equal(end, start + (cost + 999) / 1000);
}

/* A line whose clock would overflow in picoseconds goes on all the same. */
static void years_of_work(void **state)
{
	const uint64_t year = 365ull * 86400 * 1000000000;
	struct rfm_line line;

	(void)state;
	rfm_line_init(&line, &paced, 0);
	for (unsigned int i = 1; i < 100; i++)
		assert_int_equal(rfm_line_arrival(&line, 0, i * year), i * year + 74);
}

/*
 * One asks each time a frame is due, the other only now and then, but says
 * when the frames were ready: both find the same arrivals.
 */
static void late_polling_loses_nothing(void **state)
{
	struct rfm_line prompt, late;
	uint64_t due[1000], ready[1000], t = 0, random = 7;

	(void)state;
	rfm_line_init(&prompt, &paced, 0);
	rfm_line_init(&late, &paced, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(due); i++) {
		t += test_random(&random) % 200;
		ready[i] = t;
		due[i] = rfm_line_arrival(&prompt, 8, ready[i]);
		assert_true(due[i] >= ready[i] + 112);
		assert_true(!i || due[i] >= due[i - 1] + 111);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(due); i++)
		assert_int_equal(rfm_line_arrival(&late, 8, ready[i]), due[i]);
}

static void fibre_adds_its_length_once(void **state)
{
	const struct rfm_line_config far = { .paced = true, .fibre_m = 1000 };
	struct rfm_line line;

	(void)state;
	rfm_line_init(&line, &far, 0);
	assert_int_equal(rfm_line_arrival(&line, 0, 0), 74 + 5000);
	assert_int_equal(rfm_line_arrival(&line, 0, 0), 148 + 5000);
}

static void other_rates_scale_the_whole_cost(void **state)
{
	const struct rfm_line_config half = { .paced = true, .baud = RFM_LINE_BAUD / 2 };
	struct rfm_line line;

	(void)state;
	rfm_line_init(&line, &half, 0);
	assert_int_equal(rfm_line_arrival(&line, 0, 0), 148);
	rfm_line_init(&line, &half, 0);
	assert_int_equal(rfm_line_arrival(&line, 64, 0), 752);	/* 148 + 64 * 9.434 */
}

static void free_line_costs_nothing(void **state)
{
	const struct rfm_line_config config = { .fibre_m = 1000, .hop_ns = 450 };
	struct rfm_line line;

	(void)state;
	rfm_line_init(&line, &config, 5);
	assert_int_equal(rfm_line_arrival(&line, 64, 17), 17);
	assert_int_equal(rfm_line_arrival(&line, 64, 17), 17);
}

static void settings_in_words(void **state)
{
	static const struct {
		const char *text;
		struct rfm_line_config config;
	} rows[] = {
		{ "free", { false, RFM_LINE_BAUD, 450, 0 } },
		{ "paced", { true, RFM_LINE_BAUD, 450, 0 } },
		{ "paced,rate=2.12,hop=450,fibre=0", { true, RFM_LINE_BAUD, 450, 0 } },
		{ "paced,fibre=300", { true, RFM_LINE_BAUD, 450, 300 } },
		{ "paced,hop=0,rate=1", { true, 1000000000, 0, 0 } },
		{ "paced,rate=0.001", { true, 1000000, 450, 0 } },
		{ "paced,rate=100", { true, 100000000000, 450, 0 } },
		{ "paced,rate=2.125001", { true, 2125001000, 450, 0 } },
		{ "paced,fibre=100000,hop=1000000", { true, RFM_LINE_BAUD, 1000000, 100000 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rfm_line_config config = { .hop_ns = 12345 };

		assert_null(rfm_line_parse(&config, rows[i].text));
		assert_int_equal(config.paced, rows[i].config.paced);
		assert_int_equal(config.baud, rows[i].config.baud);
		assert_int_equal(config.hop_ns, rows[i].config.hop_ns);
		assert_int_equal(config.fibre_m, rows[i].config.fibre_m);
	}
}

static void bad_settings_change_nothing(void **state)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{ "", "free" }, { "Free", "free" }, { "freely", "free" }, { "pacedly", "paced" },
		{ "free,rate=1", "free" }, { "paced,", "settings" }, { "paced,rate", "settings" },
		{ "paced,rate=", "rate" }, { "paced,rate=0", "rate" }, { "paced,rate=0.0009", "rate" },
		{ "paced,rate=100.000001", "rate" }, { "paced,rate=1e3", "rate" },
		{ "paced,rate=.5", "rate" }, { "paced,rate=1.", "rate" },
		{ "paced,rate=1.2.3", "rate" }, { "paced,rate=2.1250001", "rate" },
		{ "paced,rate=-1", "rate" }, { "paced,rate= 1", "rate" },
		{ "paced,rate=99999999999999999999999", "rate" },
		{ "paced,hop=1000001", "hop" }, { "paced,hop=4.5", "hop" },
		{ "paced,hop=0x10", "hop" }, { "paced,fibre=100001", "fibre" },
		{ "paced,fibre=18446744073709551616", "fibre" },
		{ "paced,hop=1,hop=2", "twice" }, { "paced,hop=1,", "settings" },
		{ "paced,speed=1", "settings" }, { "paced,,hop=1", "settings" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rfm_line_config config = { true, 1, 2, 3 };
		const char *error = rfm_line_parse(&config, rows[i].text);

		if (!error || !strstr(error, rows[i].word))
			fail_msg("'%s': %s", rows[i].text, error ? error : "accepted");
		assert_true(config.paced && config.baud == 1 && config.hop_ns == 2 &&
			    config.fibre_m == 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_throughput),
		cmocka_unit_test(cost_of_one_frame),
		cmocka_unit_test(no_drift),
		cmocka_unit_test(years_of_work),
		cmocka_unit_test(late_polling_loses_nothing),
		cmocka_unit_test(fibre_adds_its_length_once),
		cmocka_unit_test(other_rates_scale_the_whole_cost),
		cmocka_unit_test(free_line_costs_nothing),
		cmocka_unit_test(settings_in_words),
		cmocka_unit_test(bad_settings_change_nothing),
	};

	return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
