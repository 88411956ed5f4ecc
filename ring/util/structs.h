/* SPDX-License-Identifier: MIT */
/* Structures of an interface that grow at their end. */
#ifndef RFM_RING_STRUCTS_H
#define RFM_RING_STRUCTS_H

#include <string.h>

/** give_struct() - @from, of @have bytes, as a caller sees it who knows @size bytes of it */
static inline void give_struct(void *to, size_t size, const void *from, size_t have)
{
	size_t both = size < have ? size : have;

	memcpy(to, from, both);
	memset((char *)to + both, 0, size - both);
}

#endif
