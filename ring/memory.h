/* SPDX-License-Identifier: MIT */
#ifndef RFM_RING_MEMORY_H
#define RFM_RING_MEMORY_H

#include <stddef.h>
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

/**
 * rfm_memory_load() - copy out of a node's memory
 * @dst: where to, of any alignment
 * @src: where in the memory; its alignment is that of the offset
 * @len: how many bytes
 *
 * In the same pieces as rfm_memory_store(), each an acquire load: an aligned
 * word of up to 8 bytes is not torn, wherever in the range it stands.
 */
void rfm_memory_load(void *dst, const void *src, size_t len);

#endif
