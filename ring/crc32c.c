// SPDX-License-Identifier: MIT
#include "ring/crc32c.h"

#include <stdbool.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

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
/*
 * The instruction takes three cycles and another can begin with each: so long blocks are
 * three lanes beside one another. What the bytes behind a lane make of its sum is a
 * multiplication by a power of x: by a constant for a lane's length, modulo the polynomial.
 */
#define LONG_LANE	1360u	/* bytes, a multiple of 8: thrice that of a train or packet of 4096 */
#define SHORT_LANE	336u

struct lane {
	size_t bytes;
	uint64_t past_one, past_two;	/* so many lanes follow */
};

static struct lane lanes[] = { { .bytes = LONG_LANE }, { .bytes = SHORT_LANE } };
static bool has_crc32, has_lanes;

/* x to the power of @n, bits reversed as in a sum. */
static uint32_t power_of_x(size_t n)
{
	uint32_t value = 0x80000000u;

	while (n--)
		value = value >> 1 ^ (value & 1 ? POLY : 0);
	return value;
}

__attribute__((constructor)) static void look_at_cpu(void)
{
	has_crc32 = __builtin_cpu_supports("sse4.2");
	has_lanes = has_crc32 && __builtin_cpu_supports("pclmul");
	/* The product has a factor x too many, and the instruction multiplies by x to the 32nd. */
	for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
		lanes[i].past_one = power_of_x(8 * lanes[i].bytes - 33);
		lanes[i].past_two = power_of_x(16 * lanes[i].bytes - 33);
	}
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

__attribute__((target("sse4.2,pclmul")))
static uint64_t past(uint64_t sum, uint64_t constant)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(sum),
					       _mm_cvtsi64_si128(constant), 0);

	return _mm_crc32_u64(0, _mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul")))
static uint64_t three_lanes(uint64_t first, const uint8_t *p, const struct lane *lane)
{
	uint64_t second = 0, third = 0;

	for (size_t at = 0; at < lane->bytes; at += 8) {
		first = _mm_crc32_u64(first, word_at(p + at));
		second = _mm_crc32_u64(second, word_at(p + lane->bytes + at));
		third = _mm_crc32_u64(third, word_at(p + 2 * lane->bytes + at));
	}
	return past(first, lane->past_two) ^ past(second, lane->past_one) ^ third;
}

/* As much as lanes take; returns how much that is. Not in the way of a frame, which is short. */
__attribute__((noinline))
static size_t sum_in_lanes(uint64_t *sum, const uint8_t *p, size_t len)
{
	size_t done = 0;

	for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
		for (; len - done >= 3 * lanes[i].bytes; done += 3 * lanes[i].bytes)
			*sum = three_lanes(*sum, p + done, &lanes[i]);
	}
	return done;
}

__attribute__((target("sse4.2")))
static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = (uint32_t)~crc;
	uint32_t last;

	if (len >= 3 * SHORT_LANE && has_lanes) {
		size_t done = sum_in_lanes(&c, p, len);

		p += done;
		len -= done;
	}
	for (; len >= 8; len -= 8, p += 8)
		c = _mm_crc32_u64(c, word_at(p));
	last = c;
	if (len & 4) {
		uint32_t word;

		memcpy(&word, p, 4);
		last = _mm_crc32_u32(last, word);
		p += 4;
	}
	for (len &= 3; len; len--)
		last = _mm_crc32_u8(last, *p++);
	return ~last;
}

uint32_t rfm_crc32c(uint32_t crc, const void *data, size_t len)
{
	if (has_crc32)
		return crc32c_sse42(crc, data, len);
	return rfm_crc32c_table(crc, data, len);
}
#else
uint32_t rfm_crc32c(uint32_t crc, const void *data, size_t len)
{
	return rfm_crc32c_table(crc, data, len);
}
#endif
