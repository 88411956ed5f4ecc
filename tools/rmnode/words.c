// SPDX-License-Identifier: MIT
/* Words of the command line. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rmnode.h"
#include "tools/common/parse.h"

int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("rmnode: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return 1;
}

bool word_number(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	if (parse_number(text, max, value) == PARSE_OK && *value >= min)
		return true;
	return refuse("%s '%s' is no number from %llu to %llu", what, text,
		      (unsigned long long)min, (unsigned long long)max);
}

bool word_range(const char *text, uint64_t *first, uint64_t *last)
{
	if (parse_range(text, UINT32_MAX, first, last) == PARSE_OK && *last >= *first)
		return true;
	return refuse("'%s' is no range; one is FIRST-LAST or FIRST+LENGTH, such as "
		      "0x1000-0x1fff or 0x1000+4K", text);
}

bool word_switch(const char *what, const char *text, bool *value)
{
	*value = !strcmp(text, "on");
	if (*value || !strcmp(text, "off"))
		return true;
	return refuse("%s must be on or off, not '%s'", what, text);
}
