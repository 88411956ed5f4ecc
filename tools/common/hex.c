// SPDX-License-Identifier: MIT
#include "tools/common/hex.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";

char *hex_text(const uint8_t *data, size_t length)
{
	char *text = malloc(length * 2 + 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		text[i * 2] = digits[data[i] >> 4];
		text[i * 2 + 1] = digits[data[i] & 15];
	}
	text[length * 2] = '\0';
	return text;
}

int hex_digit(char c)
{
	const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return digit ? (int)(digit - digits) : 16;
}

ssize_t hex_bytes(const char *text, uint8_t *bytes, size_t max)
{
	size_t length = strlen(text);

	if (length % 2 || length / 2 > max)
		return -1;
	for (size_t i = 0; i < length; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high > 15 || low > 15)
			return -1;
		bytes[i / 2] = high << 4 | low;
	}
	return (ssize_t)(length / 2);
}
