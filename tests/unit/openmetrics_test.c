// SPDX-License-Identifier: MIT
/* links: tools/rmnode/openmetrics.c tools/rmnode/values.c tools/rmnode/counters.c */
/* links: tools/librfm/regions.c tools/librfm/regions_yaml.c tools/librfm/regions_decode.c */
/* links: tools/librfm/regions_layout.c tools/librfm/regions_find.c tools/librfm/regions_value.c */
/* What a scraper gets of regions: names, types, values. */
#include "tests/unit/regions.h"

#include <math.h>
#include <stdlib.h>

#include "tools/rmnode/openmetrics.h"

#define LEVELS	(RFM_REGION_LEVELS + 1)
#define HEAD	"rfm-regions: 1\nregions:\n"

static _Alignas(8) uint8_t memory[4096];

/* What was said, and the text. */
static char said[1024], got[1 << 20];

static void say(void *opaque, const char *sentence)
{
	snprintf(said, sizeof(said), "%s", sentence);
}

/* Of values only, unless @own. */
static void make(const char *file, bool plain, bool own)
{
	char line[METRICS_LINE], error[VALUES_SENTENCE] = "";
	struct rfm_regions *regions = good(file);
	struct values *values = values_new(regions, sizeof(memory), error);
	struct metrics *metrics = values ? metrics_new(values, say, NULL, error) : NULL;
	struct metrics_text text = {
		.metrics = metrics, .plain = plain,
		.moment = { .id = 7, .members = 2, .signal = true, .epoch_ns = 1000000000000,
			    .stats = { .sent_bytes = 17, .longest_stall_ns = 1500000000 } },
	};
	size_t length, all = 0;

	if (!metrics)
		fail_msg("%s", error);
	values->memory = memory;
	values->news[0] = (struct news){ values->news[0].region, 3, 2500000000, 5 };
	*got = '\0';
	while ((length = metrics_line(&text, line))) {
		assert_true(length < METRICS_LINE && line[length - 1] == '\n');
		if (own == !!strstr(line, "rfmnode")) {
			memcpy(got + all, line, length);
			all += length;
			got[all] = '\0';
		}
	}
	assert_int_equal(metrics_line(&text, line), 0);
	metrics_free(metrics);
	values_free(values);
	rfm_regions_free(regions);
}

static void refused(const char *file, const char *sentence)
{
	char error[VALUES_SENTENCE] = "";
	struct rfm_regions *regions = good(file);
	struct values *values = values_new(regions, 0x10000, error);

	if (values)
		assert_null(metrics_new(values, say, NULL, error));
	assert_string_equal(error, sentence);
	values_free(values);
	rfm_regions_free(regions);
}

static void put_bytes(unsigned int offset, const void *bytes, size_t length)
{
	memcpy(memory + offset, bytes, length);
}

/* A number has its unit in its name, elements of arrays have labels and stand together. */
static void numbers(void **state)
{
	const double limits[] = { NAN, INFINITY, -INFINITY, 0.1 };

	memset(memory, 0, sizeof(memory));
	put_bytes(0, limits, sizeof(limits));
	put_bytes(64, &(uint64_t){ UINT64_MAX }, 8);
	put_bytes(72, &(int16_t){ -3 }, 2);
	memory[74] = 1;
	make(HEAD "  pump:\n    offset: 0\n    count: 2\n    fields:\n"
	     "      limit: {offset: 0, type: double, unit: m/s, description: say \"no\" \\}\n"
	     "      other: {offset: 8, type: double, count: 1}\n"
	     "  big: {offset: 64, type: uint64}\n"
	     "  temperature: {offset: 72, type: int16, unit: °C, scale: 0.5}\n"
	     "  on: {offset: 74, type: bool}\n", false, false);
	assert_string_equal(got,
		"# TYPE rfm_big gauge\n# HELP rfm_big big\nrfm_big 18446744073709551615\n"
		"# TYPE rfm_on gauge\n# HELP rfm_on on\nrfm_on 1\n"
		"# TYPE rfm_pump_limit_m_per_s gauge\n# UNIT rfm_pump_limit_m_per_s m_per_s\n"
		"# HELP rfm_pump_limit_m_per_s pump.limit: say \\\"no\\\" \\\\\n"
		"rfm_pump_limit_m_per_s{index=\"0\"} NaN\n"
		"rfm_pump_limit_m_per_s{index=\"1\"} -Inf\n"
		"# TYPE rfm_pump_other gauge\n# HELP rfm_pump_other pump.other\n"
		"rfm_pump_other{index=\"0\"} +Inf\nrfm_pump_other{index=\"1\"} 0.1\n"
		"# TYPE rfm_temperature_celsius gauge\n# UNIT rfm_temperature_celsius celsius\n"
		"# HELP rfm_temperature_celsius temperature\nrfm_temperature_celsius -1.5\n"
		"# EOF\n");
}

static const char states_file[] = HEAD
	"  state: {offset: 0, type: int8, count: 2, values: {down: -1, up: 1}}\n"
	"  alarms: {offset: 2, type: uint8, bits: {dry: 0, stage: 4-6, hot: 1}}\n"
	"  top: {offset: 8, type: uint64, bits: {all: 0-63}}\n"
	"  name: {offset: 16, type: char, count: 8}\n";

static void states(void **state)
{
	memset(memory, 0, sizeof(memory));
	memory[0] = 0xff;
	memory[2] = 0x52;
	memset(memory + 8, 0xff, 8);
	put_bytes(16, "a\"\\\n\xff", 5);
	make(states_file, false, false);
	assert_string_equal(got,
		"# TYPE rfm_alarms stateset\n# HELP rfm_alarms alarms\n"
		"rfm_alarms{rfm_alarms=\"dry\"} 0\nrfm_alarms{rfm_alarms=\"hot\"} 1\n"
		"# TYPE rfm_alarms_stage gauge\n# HELP rfm_alarms_stage alarms.stage\n"
		"rfm_alarms_stage 5\n"
		"# TYPE rfm_name info\n# HELP rfm_name name\n"
		"rfm_name_info{text=\"a\\\"\\\\\\\\x0a\\\\xff\"} 1\n"
		"# TYPE rfm_state stateset\n# HELP rfm_state state\n"
		"rfm_state{index=\"0\",rfm_state=\"down\"} 1\n"
		"rfm_state{index=\"0\",rfm_state=\"up\"} 0\n"
		"rfm_state{index=\"1\",rfm_state=\"down\"} 0\n"
		"rfm_state{index=\"1\",rfm_state=\"up\"} 0\n"
		"# TYPE rfm_top_all gauge\n# HELP rfm_top_all top.all\n"
		"rfm_top_all 18446744073709551615\n"
		"# EOF\n");
}

/* A value that changes while its states are being told is told as it was at the first of them. */
static void states_agree(void **state)
{
	char line[METRICS_LINE], error[VALUES_SENTENCE] = "";
	struct rfm_regions *regions = good(states_file);
	struct values *values = values_new(regions, sizeof(memory), error);
	struct metrics *metrics = metrics_new(values, say, NULL, error);
	struct metrics_text text = { .metrics = metrics };
	unsigned int on = 0;

	assert_non_null(metrics);
	values->memory = memory;
	memset(memory, 0, sizeof(memory));
	memory[0] = 0xff;
	while (metrics_line(&text, line)) {
		if (strncmp(line, "rfm_state{index=\"0\"", strlen("rfm_state{index=\"0\"")))
			continue;
		on += !!strstr(line, "} 1\n");
		memory[0] = 1;
	}
	assert_int_equal(on, 1);
	metrics_free(metrics);
	values_free(values);
	rfm_regions_free(regions);
}

/* The older format knows neither states nor info nor the end. */
static void plain(void **state)
{
	memset(memory, 0, sizeof(memory));
	make(states_file, true, false);
	assert_non_null(strstr(got, "# TYPE rfm_alarms gauge\n"));
	assert_non_null(strstr(got, "# TYPE rfm_name_info gauge\n# HELP rfm_name_info name\n"
				    "rfm_name_info{text=\"\"} 1\n"));
	assert_null(strstr(got, "EOF"));
	make(states_file, true, true);
	assert_non_null(strstr(got, "# TYPE rfmnode_sent_bytes_total counter\n"));
	assert_null(strstr(got, "UNIT"));
}

/* Counters, and of regions the last update; what there was none of has no time. */
static void of_the_member(void **state)
{
	make(states_file, false, true);
	assert_non_null(strstr(got, "# TYPE rfmnode info\n"));
	assert_non_null(strstr(got, "rfmnode_info{node=\"7\"} 1\n"));
	assert_non_null(strstr(got, "rfmnode_members 2\n"));
	assert_non_null(strstr(got, "# TYPE rfmnode_sent_bytes counter\n"));
	assert_non_null(strstr(got, "rfmnode_sent_bytes_total 17\n"));
	assert_non_null(strstr(got, "rfmnode_interrupts_lost_total 0\n"));
	assert_non_null(strstr(got, "# UNIT rfmnode_longest_stall_seconds seconds\n"));
	assert_non_null(strstr(got, "rfmnode_longest_stall_seconds 1.500000000\n"));
	assert_non_null(strstr(got, "rfmnode_region_updates_total{region=\"state\"} 3\n"));
	assert_non_null(strstr(got, "rfmnode_region_updates_total{region=\"top\"} 0\n"));
	assert_non_null(strstr(got, "rfmnode_region_writer{region=\"state\"} 5\n"));
	assert_null(strstr(got, "rfmnode_region_writer{region=\"top\"}"));
	assert_non_null(strstr(got, "rfmnode_region_updated_timestamp_seconds{region=\"state\"} "
				    "1002.500000000\n"));
}

/* Arrays in arrays as deep as they may be, of the longest names. */
static void nested(char *file, size_t size)
{
	char name[64], quotes[513];
	int length = snprintf(file, size, HEAD "  ");

	memset(name, 'n', 63);
	memset(quotes, '"', 512);
	name[63] = quotes[512] = '\0';
	for (unsigned int level = 1; level < LEVELS; level++)
		length += snprintf(file + length, size - length,
				   "%s: {offset: 0, count: 2, fields: {", name);
	length += snprintf(file + length, size - length, "%s: {offset: 0, type: uint8, count: 2, "
			   "description: '%s'}", name, quotes);
	for (unsigned int level = 1; level < LEVELS; level++)
		length += snprintf(file + length, size - length, "}}");
	assert_true((size_t)length < size);
	snprintf(file + length, size - length, "\n");
}

/* Nothing that a file may say makes a line too long. */
static void longest(void **state)
{
	char file[4096];

	memset(memory, 0x80, sizeof(memory));
	snprintf(file, sizeof(file), HEAD "  name: {offset: 0, type: char, count: %u, "
		 "description: '%0999d'}\n", VALUES_TEXT_MAX, 0);
	make(file, false, false);
	assert_non_null(strstr(got, "\\\\x80\"} 1\n"));
	nested(file, sizeof(file));
	make(file, false, false);
	assert_non_null(strstr(got, "\\\"\n"));
	assert_non_null(strstr(got, ",index9=\"1\"} 128\n"));
}

static void units(void **state)
{
	make(HEAD "  pressure_bar: {offset: 0, type: float, unit: bar}\n", false, false);
	assert_non_null(strstr(got, "# UNIT rfm_pressure_bar bar\n"));
	assert_string_equal(said, "");
	make(HEAD "  load: {offset: 0, type: float, unit: ‰}\n", false, false);
	assert_non_null(strstr(got, "\nrfm_load "));
	assert_null(strstr(got, "UNIT"));
	assert_string_equal(said, "the unit '‰' of 'load' cannot be part of a metric's name: "
				  "it is published without");
	make(HEAD "  load: {offset: 0, type: float, unit: '-'}\n", false, false);
	assert_non_null(strstr(got, "\nrfm_load "));
	assert_string_equal(said, "the unit '-' of 'load' cannot be part of a metric's name: "
				  "it is published without");
}

static void not_published(void **state)
{
	refused(HEAD "  a_b: {offset: 0, type: float}\n  a:\n    offset: 4\n    fields:\n"
		"      b: {offset: 0, type: float}\n",
		"'a.b' and 'a_b' would both be the metric rfm_a_b");
	refused(HEAD "  name: {offset: 0, type: char, count: 4}\n"
		"  name_info: {offset: 4, type: uint8}\n",
		"'name' and 'name_info' would both be the metric rfm_name_info");
	refused(HEAD "  odd: {offset: 2, type: double}\n",
		"'odd' cannot be published: at 0x2 it is not one load");
	refused(HEAD "  note: {offset: 0, type: char, count: 1025}\n",
		"'note' cannot be published: a text may have 1024 bytes at most");
	refused(HEAD "  far: {offset: 65532, type: uint16, count: 3}\n",
		"'far' ends behind the memory, which has 65536 bytes");
	refused(HEAD "  many: {offset: 0, type: uint8, count: 0x10000}\n",
		"there are more than 16384 values, which is the most that can be published");
}

static void count(void *opaque, unsigned int number)
{
	*(unsigned int *)opaque |= 1u << number;
}

/* Each value that has a byte of the update is found, where they overlap too; regions count once. */
static void stored(void **state)
{
	static const struct {
		unsigned int offset, length, values;
	} rows[] = {
		{ 0, 1, 0x1 }, { 0, 64, 0xf }, { 4, 4, 0x3 }, { 8, 8, 0x1 }, { 16, 4, 0xc },
		{ 15, 1, 0x1 }, { 18, 1, 0x4 }, { 20, 44, 0 }, { 64, 1, 0 },
	};
	struct rfm_regions *regions = good(HEAD "  all: {offset: 0, type: char, count: 16}\n"
					   "  part: {offset: 4, type: uint32}\n"
					   "  two: {offset: 16, type: uint32}\n"
					   "  low: {offset: 16, type: uint16}\n");
	char error[VALUES_SENTENCE];
	struct values *values = values_new(regions, sizeof(memory), error);

	assert_non_null(values);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int found = 0;

		values_stored(values, rows[i].offset, rows[i].length, 9, 100 + i, count, &found);
		assert_int_equal(found, rows[i].values);
	}
	assert_int_equal(values->news[0].updates, 5);
	assert_int_equal(values->news[0].updated_ns, 105);
	assert_int_equal(values->news[0].writer, 9);
	values_free(values);
	rfm_regions_free(regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(states),
		cmocka_unit_test(states_agree),
		cmocka_unit_test(plain),
		cmocka_unit_test(of_the_member),
		cmocka_unit_test(longest),
		cmocka_unit_test(units),
		cmocka_unit_test(not_published),
		cmocka_unit_test(stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
