// SPDX-License-Identifier: MIT
/* links: tools/rmctl/cli/text.c */
/* What rmctl prints is text for terminals and JSON for programs, whatever it is made of. */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rmctl/cli/text.h"

/* Text, what is clean of it, and what JSON has of its bytes. */
static const struct {
	const char *text, *clean, *json;
	size_t good;			/* bytes of it, from the first on, that are UTF-8 */
} rows[] = {
	{ "", "", "\"\"", 0 },
	{ "/tmp/rig.yaml", "/tmp/rig.yaml", "\"/tmp/rig.yaml\"", 13 },
	{ "a\"b\\c", "a\"b\\c", "\"a\\\"b\\\\c\"", 5 },
	{ "\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "\"\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80\"", 11 },
	{ "a\xff" "b", "a?b", "\"a\xef\xbf\xbd" "b\"", 1 },
	{ "\xc3", "?", "\"\xef\xbf\xbd\"", 0 },
	{ "\xe2\x82", "??", "\"\xef\xbf\xbd\xef\xbf\xbd\"", 0 },
	{ "\xe2\x82x", "??x", "\"\xef\xbf\xbd\xef\xbf\xbdx\"", 0 },
	{ "\xc0\x80", "??", "\"\xef\xbf\xbd\xef\xbf\xbd\"", 0 },		/* too long a form */
	{ "\xe0\x9f\xbf", "???", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", 0 },
	{ "\xed\xa0\x80", "???", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", 0 },	/* surrogate */
	{ "\xf4\x90\x80\x80", "????",
	  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", 0 },
	{ "a\nb\x1b[2J\x7f", "a?b?[2J?", "\"a\\nb\\u001B[2J\x7f\"", 8 },
	{ "\xc2\x9b" "1m\xc2\xa0", "??1m\xc2\xa0", "\"\xc2\x9b" "1m\xc2\xa0\"", 6 },
};

static void is_json(json_t *value, const char *expected)
{
	char *json = json_dumps(value, JSON_ENCODE_ANY);

	assert_non_null(json);
	assert_string_equal(json, expected);
	free(json);
	json_decref(value);
}

static void texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = strdup(rows[i].text);
		json_t *clean;

		assert_int_equal(text_length(text, strlen(text)), rows[i].good);
		is_json(json_bytes((const unsigned char *)text, strlen(text)), rows[i].json);
		clean = json_clean(text);
		assert_string_equal(json_string_value(clean), rows[i].clean);
		json_decref(clean);
		text_clean(text);
		assert_string_equal(text, rows[i].clean);
		free(text);
	}
	is_json(json_bytes((const unsigned char *)"a\0b", 3), "\"a\\u0000b\"");
}

static char *put(const char *json)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	json_put(json, out);
	fclose(out);
	return text;
}

static void reals_are_short(void **state)
{
	static const struct {
		const char *json, *put;
	} cases[] = {
		{ "0.10000000000000001", "0.1" },
		{ "{\"a\":0.10000000000000001,\"b\":-12.300000000000001}", "{\"a\":0.1,\"b\":-12.3}" },
		{ "[0.10000000000000001,0.29999999999999999]", "[0.1,0.3]" },
		{ "0.30000000000000004", "0.30000000000000004" },
		{ "100000.0", "100000.0" },
		{ "-0.0", "-0.0" },
		{ "12", "12" }, { "-18446744073709551", "-18446744073709551" },
		{ "12345678901234567890", "12345678901234567890" },
		{ "4.9406564584124654e-324", "5e-324" },
		{ "1.0000000000000001e-05", "1e-05" },
		{ "\"0.10000000000000001\"", "\"0.10000000000000001\"" },
		{ "[\"\\\"0.10000000000000001\\\\\",0.10000000000000001]",
		  "[\"\\\"0.10000000000000001\\\\\",0.1]" },
		{ "{\"1.50000000000000000\":[true,null,false]}",
		  "{\"1.50000000000000000\":[true,null,false]}" },
		{ "[]", "[]" }, { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = put(cases[i].json);

		assert_string_equal(text, cases[i].put);
		free(text);
	}
}

static void reals_stay_what_they_are(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = (uint64_t)test_random(&seed) << 32 | test_random(&seed);
		double real;
		json_t *value;
		char *json, *text;

		memcpy(&real, &bits, sizeof(real));
		if (!isfinite(real))
			continue;
		value = json_real(real);
		json = json_dumps(value, JSON_ENCODE_ANY);
		text = put(json);
		assert_true(strlen(text) <= strlen(json));
		assert_true(strtod(text, NULL) == real);
		free(text);
		free(json);
		json_decref(value);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(reals_are_short),
		cmocka_unit_test(reals_stay_what_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
