// SPDX-License-Identifier: MIT
/* rmctl's drawing of the ring.
 * links: tools/rmctl/card/map_draw.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tools/rmctl/card/map_draw.h"

/* The drawing of nodes 1 to @count; the caller frees it. */
static char *drawn(size_t count, bool dark, bool open)
{
	uint32_t nodes[256];
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < count; i++)
		nodes[i] = (uint32_t)i + 1;
	map_draw(file, nodes, count, dark, open);
	fclose(file);
	return text;
}

static void expect_open(size_t count, bool dark, bool open, const char *wanted)
{
	char *text = drawn(count, dark, open);

	assert_string_equal(text, wanted);
	free(text);
}

static void expect(size_t count, bool dark, const char *wanted)
{
	expect_open(count, dark, false, wanted);
}

static void few_stand_in_one_row(void **state)
{
	(void)state;
	expect(1, false, ".--->[*  1]-.\n"
			 "'-----------'\n");
	expect(3, false, ".--->[*  1]-->[   2]-->[   3]-.\n"
			 "'-----------------------------'\n");
}

static void more_stand_in_two_rows(void **state)
{
	(void)state;
	expect(5, false, ".--->[*  1]-->[   2]-->[   3]-.\n"
			 "|                             |\n"
			 "'-------------[   5]<--[   4]<'\n");
	expect(6, false, ".--->[*  1]-->[   2]-->[   3]-.\n"
			 "|                             |\n"
			 "'----[   6]<--[   5]<--[   4]<'\n");
}

static void many_turn_at_the_left_too(void **state)
{
	char *text = drawn(18, false, false);

	(void)state;
	assert_string_equal(strchr(text, '\n') + 1,
		"|                                                                          |\n"
		"| .--[  16]<--[  15]<--[  14]<--[  13]<--[  12]<--[  11]<--[  10]<--[   9]<'\n"
		"| |\n"
		"| '->[  17]-->[  18]-------------------------------------------------------.\n"
		"'--------------------------------------------------------------------------'\n");
	free(text);
}

static void no_light_is_a_broken_link(void **state)
{
	(void)state;
	expect(2, true, ".-x->[*  1]-->[   2]-.\n"
			"'--------------------'\n");
}

static void an_open_ring_is_a_chain(void **state)
{
	(void)state;
	expect_open(1, false, true, ".--->[*  1]x.\n"
				    "'-----------'\n");
	expect_open(3, false, true, ".--->[*  1]-x>[   2]-->[   3]-.\n"
				    "'-----------------------------'\n");
}

static void unknown_nodes_have_a_place(void **state)
{
	const uint32_t nodes[] = { 200, MAP_UNKNOWN };
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	map_draw(file, nodes, 2, false, false);
	fclose(file);
	assert_string_equal(text, ".--->[*200]-->[   ?]-.\n"
				  "'--------------------'\n");
	free(text);
}

/* Whatever the size of the ring: it fits, lines are closed, and each node is there once. */
static void every_size_fits(void **state)
{
	(void)state;
	for (size_t count = 1; count <= 256; count++) {
		char *text = drawn(count, false, false);
		size_t cells = 0;

		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			assert_true(strlen(line) <= 80);
			assert_non_null(strchr("|.'", line[0]));
			assert_non_null(strchr("|.'", line[strlen(line) - 1]));
			for (char *at = line; (at = strchr(at, '[')); at++)
				cells++;
		}
		assert_int_equal(cells, count);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_stand_in_one_row),
		cmocka_unit_test(more_stand_in_two_rows),
		cmocka_unit_test(many_turn_at_the_left_too),
		cmocka_unit_test(no_light_is_a_broken_link),
		cmocka_unit_test(an_open_ring_is_a_chain),
		cmocka_unit_test(unknown_nodes_have_a_place),
		cmocka_unit_test(every_size_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
