/* SPDX-License-Identifier: MIT */
#ifndef RFM_RING_CRC32C_H
#define RFM_RING_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * rfm_crc32c() - CRC-32C (Castagnoli), as iSCSI and SCTP use it
 * @crc: result of the call for the bytes before these, 0 for the first
 * @data: the bytes
 * @len: how many
 *
 * rfm_crc32c(rfm_crc32c(0, a, n), b, m) is the CRC of a followed by b.
 * Uses the CPU's instruction where there is one, a table elsewhere.
 */
uint32_t rfm_crc32c(uint32_t crc, const void *data, size_t len);

/* The table version, on any CPU; the unit test compares the two. */
uint32_t rfm_crc32c_table(uint32_t crc, const void *data, size_t len);

#endif
