// SPDX-License-Identifier: MIT
#include "ring/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define POLY 0x82f63b78u	/* 0x1edc6f41, bits reversed */

static uint32_t table[256];

__attribute__((constructor)) static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLY : 0);
		table[i] = crc;
	}
}

uint32_t rfm_crc32c_table(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;
	uint32_t last;

	for (; len >= 8; len -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
	last = c;
	if (len & 4) {
		uint32_t word;

		memcpy(&word, p, 4);
		last = __builtin_ia32_crc32si(last, word);
		p += 4;
	}
	for (len &= 3; len; len--)
		last = __builtin_ia32_crc32qi(last, *p++);
	return ~last;
}

static bool has_sse42;

__attribute__((constructor)) static void look_at_cpu(void)
{
	has_sse42 = __builtin_cpu_supports("sse4.2");
}

uint32_t rfm_crc32c(uint32_t crc, const void *data, size_t len)
{
	if (has_sse42)
		return crc32c_sse42(crc, data, len);
	return rfm_crc32c_table(crc, data, len);
}
#else
uint32_t rfm_crc32c(uint32_t crc, const void *data, size_t len)
{
	return rfm_crc32c_table(crc, data, len);
}
#endif
