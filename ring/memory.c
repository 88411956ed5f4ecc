// SPDX-License-Identifier: MIT
#include "ring/memory.h"

#include <string.h>

#define STORE_PIECE(type)						\
	do {								\
		type v;							\
		memcpy(&v, from, sizeof(v));				\
		__atomic_store_n((type *)to, v, __ATOMIC_RELEASE);	\
		piece = sizeof(v);					\
	} while (0)

#define LOAD_PIECE(type)						\
	do {								\
		type v = __atomic_load_n((const type *)(const void *)from, __ATOMIC_ACQUIRE); \
									\
		memcpy(to, &v, sizeof(v));				\
		piece = sizeof(v);					\
	} while (0)

void rfm_memory_store(void *dst, const void *src, unsigned int len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	while (len) {
		uintptr_t at = (uintptr_t)to;
		unsigned int piece;

		if (len >= 8 && !(at & 7))
			STORE_PIECE(uint64_t);
		else if (len >= 4 && !(at & 3))
			STORE_PIECE(uint32_t);
		else if (len >= 2 && !(at & 1))
			STORE_PIECE(uint16_t);
		else
			STORE_PIECE(uint8_t);
		from += piece;
		to += piece;
		len -= piece;
	}
}

void rfm_memory_load(void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	while (len) {
		uintptr_t at = (uintptr_t)from;
		unsigned int piece;

		if (len >= 8 && !(at & 7))
			LOAD_PIECE(uint64_t);
		else if (len >= 4 && !(at & 3))
			LOAD_PIECE(uint32_t);
		else if (len >= 2 && !(at & 1))
			LOAD_PIECE(uint16_t);
		else
			LOAD_PIECE(uint8_t);
		from += piece;
		to += piece;
		len -= piece;
	}
}
