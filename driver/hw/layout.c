// SPDX-License-Identifier: GPL-2.0-only
/*
 * The structures that programs and the card share, as they must stay. A program
 * of 32 bits has the same, and where an ioctl's size has the fewest bits, on
 * powerpc, mips and sparc, each fits. scripts/lint sees that none is missing.
 */

#include <linux/build_bug.h>
#include <linux/sizes.h>

#include <linux/rfm.h>

#include "hw/regs.h"

#define RFM_LAYOUT(type, size, word)					\
	static_assert(sizeof(struct rfm_##type) == (size) &&		\
		      (size) % sizeof(word) == 0 && (size) < SZ_8K &&	\
		      __alignof__(struct rfm_##type) == __alignof__(word))

RFM_LAYOUT(info, 168, u64);
RFM_LAYOUT(send, 16, u32);
RFM_LAYOUT(listen, 16, u32);
RFM_LAYOUT(event, 176, u64);
RFM_LAYOUT(ring_test, 16, u64);
RFM_LAYOUT(range, 16, u64);
RFM_LAYOUT(subscribe, 40, u64);
RFM_LAYOUT(watch, 104, u64);
RFM_LAYOUT(fence_wait, 48, u64);
RFM_LAYOUT(send_set, 48, u64);
RFM_LAYOUT(config, 40, u64);
RFM_LAYOUT(writer, 48, u64);
RFM_LAYOUT(counters, 1560, u64);
RFM_LAYOUT(member, 56, u64);
RFM_LAYOUT(ring_map, 48, u64);
RFM_LAYOUT(node_answer, 24, u32);
RFM_LAYOUT(verify, 6200, u64);
RFM_LAYOUT(reg, 32, u64);
RFM_LAYOUT(event_counts, 256, u64);
RFM_LAYOUT(operation, 80, u64);
RFM_LAYOUT(resync_wait, 40, u64);
RFM_LAYOUT(port_listen, 40, u64);
RFM_LAYOUT(message_header, 32, u64);
RFM_LAYOUT(memory_region, 56, u64);
RFM_LAYOUT(export, 40, u64);

RFM_LAYOUT(dma_descriptor, 16, u32);
RFM_LAYOUT(ext_record, RFM_EXT_RECORD_SIZE, u64);
RFM_LAYOUT(ext_request, 64, u64);
