// SPDX-License-Identifier: MIT
/* Words of the command line. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rmnode.h"
#include "tools/rmctl/cli/words.h"

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

bool word_number(const char *what, const char *text, uint64_t least, uint64_t most,
		 uint64_t *value)
{
	if (parse_number(text, most, value) == PARSE_OK && *value >= least)
		return true;
	complain("%s '%s' is no number from %llu to %llu", what, text,
		 (unsigned long long)least, (unsigned long long)most);
	return false;
}

bool word_range(const char *text, uint64_t *first, uint64_t *last)
{
	size_t len = strcspn(text, "-+");
	char word[64];
	bool length = text[len] == '+';

	if (len < sizeof(word)) {
		memcpy(word, text, len);
		word[len] = '\0';
		if (parse_number(word, UINT32_MAX, first) == PARSE_OK) {
			*last = *first;
			if (!text[len])
				return true;
			if (parse_number(text + len + 1, UINT32_MAX, last) == PARSE_OK &&
			    (!length || *last)) {
				*last += length ? *first - 1 : 0;
				if (*last >= *first)
					return true;
			}
		}
	}
	complain("'%s' is no range; one is FIRST-LAST or FIRST+LENGTH, such as "
		 "0x1000-0x1fff or 0x1000+4K", text);
	return false;
}

bool word_switch(const char *what, const char *text, bool *value)
{
	*value = !strcmp(text, "on");
	if (*value || !strcmp(text, "off"))
		return true;
	complain("%s must be on or off, not '%s'", what, text);
	return false;
}
