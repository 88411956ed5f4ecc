/* SPDX-License-Identifier: MIT */
#ifndef RFM_RING_MEMORY_H
#define RFM_RING_MEMORY_H

#include <stdint.h>

/**
 * rfm_memory_store() - put the bytes of an update into a node's memory
 * @dst: where in the memory; its alignment is that of the offset
 * @src: the bytes
 * @len: how many
 *
 * Readers run concurrently (guest loads go straight to this memory), so the
 * bytes are stored in naturally aligned pieces of up to 8 bytes, lowest
 * address first, each a release store: an aligned store of 1, 2, 4 or 8
 * bytes is never seen torn, and a later store never before an earlier one.
 */
void rfm_memory_store(void *dst, const void *src, unsigned int len);

#endif
