// SPDX-License-Identifier: MIT
#include "ring/memory.h"

#include <string.h>

#define STORE_PIECE(type, to, from)					\
	do {								\
		type v;							\
		memcpy(&v, from, sizeof(v));				\
		__atomic_store_n((type *)(to), v, __ATOMIC_RELEASE);	\
	} while (0)

#define LOAD_PIECE(type, to, from)					\
	do {								\
		type v = __atomic_load_n((const type *)(const void *)(from), __ATOMIC_ACQUIRE); \
									\
		memcpy(to, &v, sizeof(v));				\
	} while (0)

/* How long is the next piece of @len bytes at an address? Of whole words all together. */
static size_t next_piece(const uint8_t *at, size_t len)
{
	if (len >= 8 && !((uintptr_t)at & 7))
		return len & ~(size_t)7;
	if (len >= 4 && !((uintptr_t)at & 3))
		return 4;
	return len >= 2 && !((uintptr_t)at & 1) ? 2 : 1;
}

/*
 * Most of what a ring moves comes through these two loops. The compiler may not join the
 * stores to longer ones, but it can put some behind one another.
 */
static void store_words(uint8_t *to, const uint8_t *from, size_t len)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < len; i += 8)
		STORE_PIECE(uint64_t, to + i, from + i);
}

static void load_words(uint8_t *to, const uint8_t *from, size_t len)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < len; i += 8)
		LOAD_PIECE(uint64_t, to + i, from + i);
}

void rfm_memory_store(void *dst, const void *src, unsigned int len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	for (size_t left = len, piece; left; left -= piece) {
		piece = next_piece(to, left);
		if (piece >= 8)
			store_words(to, from, piece);
		else if (piece == 4)
			STORE_PIECE(uint32_t, to, from);
		else if (piece == 2)
			STORE_PIECE(uint16_t, to, from);
		else
			STORE_PIECE(uint8_t, to, from);
		from += piece;
		to += piece;
	}
}

void rfm_memory_load(void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	for (size_t left = len, piece; left; left -= piece) {
		piece = next_piece(from, left);
		if (piece >= 8)
			load_words(to, from, piece);
		else if (piece == 4)
			LOAD_PIECE(uint32_t, to, from);
		else if (piece == 2)
			LOAD_PIECE(uint16_t, to, from);
		else
			LOAD_PIECE(uint8_t, to, from);
		from += piece;
		to += piece;
	}
}
