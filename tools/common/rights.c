// SPDX-License-Identifier: MIT
#include "rights.h"

#include <stddef.h>
#include <string.h>

const char *const right_names[RIGHTS] = { "read", "write", "home" };

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(word, text, length);
}

bool parse_rights(const char *text, uint32_t *rights, const char **bad)
{
	size_t length;

	*rights = 0;
	for (;; text += length + 1) {
		unsigned int i = 0;

		length = strcspn(text, ",");
		while (i < RIGHTS && !is_word(text, length, right_names[i]))
			i++;
		if (i < RIGHTS)
			*rights |= 1u << i;
		else if (!is_word(text, length, "none"))
			break;
		if (!text[length])
			return true;
	}
	*bad = text;
	return false;
}
