/* SPDX-License-Identifier: MIT */
/* What the tests of files of regions share: a text is loaded or checked, and what is told. */
#ifndef RFM_TESTS_UNIT_REGIONS_H
#define RFM_TESTS_UNIT_REGIONS_H

#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tools/librfm/rfm/regions.h"

/* All that was told, as "line: sentence\n" each. */
struct told {
	char text[8192];
	size_t length;
	unsigned int count;
	uint32_t fault;	/* of the last */
};

static inline void tell(void *context, const struct rfm_regions_complaint *complaint)
{
	struct told *told = context;

	assert_string_equal(complaint->path, "test");
	told->count++;
	told->fault = complaint->fault;
	if (told->length < sizeof(told->text) - 500)
		told->length += (size_t)sprintf(told->text + told->length, "%u: %s\n",
						complaint->line, complaint->sentence);
}

/* Loads what must be good. */
static inline struct rfm_regions *good(const char *text)
{
	struct told told = { .count = 0 };
	struct rfm_regions *regions = rfm_regions_parse("test", text, strlen(text), tell, &told);

	if (!regions)
		fail_msg("%s", told.text);
	assert_int_equal(told.count, 0);
	return regions;
}

#endif
