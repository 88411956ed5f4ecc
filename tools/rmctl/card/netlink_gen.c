/* SPDX-License-Identifier: MIT */
/* Do not edit: scripts/netlink-generate makes this from uapi/netlink/rfm.yaml. */
#include "netlink_gen.h"

#include <stddef.h>

#include <linux/rfm_netlink.h>

const char *const rfm_driver_keys[9] = {
	NULL, NULL, "interrupts", "sync_losses", "events_dropped", "dma_operations",
	"dma_bytes", "dma_errors", "notifications_lost",
};

const char *const rfm_event_keys[13] = {
	NULL, "type", "count", "time_ns", "node", "missing", "epoch", "offset", "length",
	"frame", "age_ns", "descriptor", NULL,
};

const char *const rfm_policy_names[3] = {
	"all", "none", "mask",
};

const char *const rfm_descriptor_kind_names[6] = {
	NULL, "base", "file", "map", "watch", "listen",
};

const char *const rfm_descriptor_flag_names[6] = {
	"read", "write", "no-maps", "exclusive", "coalesce", "compare",
};

const char *const rfm_notice_names[20] = {
	NULL, "link-down", "link-up", "sync-loss", "bad-data", "rogue", "tx-full", "rx-full",
	"write-inhibited", "parity", "loss", "break", "membership", "id-in-use", "dropped",
	"late", "stale", "fresh", "conflict", "gone",
};

#define PLACE(numbers, member, attribute) \
	_Static_assert(offsetof(struct numbers, member) == (attribute) * sizeof(uint64_t), "")

_Static_assert(RFM_A_CARD_MAX == 50, "");
_Static_assert(RFM_A_CARD_MAX < 64, "");
struct rfm_card_numbers {
	RFM_CARD_NUMBERS;
};
_Static_assert(sizeof(struct rfm_card_numbers) ==
	       (RFM_A_CARD_MAX + 1) * sizeof(uint64_t), "");
PLACE(rfm_card_numbers, id, RFM_A_CARD_ID);
PLACE(rfm_card_numbers, seq, RFM_A_CARD_SEQ);
PLACE(rfm_card_numbers, generation, RFM_A_CARD_GENERATION);
PLACE(rfm_card_numbers, base_generation, RFM_A_CARD_BASE_GENERATION);
PLACE(rfm_card_numbers, reset_generation, RFM_A_CARD_RESET_GENERATION);
PLACE(rfm_card_numbers, pid, RFM_A_CARD_PID);
PLACE(rfm_card_numbers, node, RFM_A_CARD_NODE);
PLACE(rfm_card_numbers, memory_size, RFM_A_CARD_MEMORY_SIZE);
PLACE(rfm_card_numbers, window_size, RFM_A_CARD_WINDOW_SIZE);
PLACE(rfm_card_numbers, board_id, RFM_A_CARD_BOARD_ID);
PLACE(rfm_card_numbers, board_revision, RFM_A_CARD_BOARD_REVISION);
PLACE(rfm_card_numbers, build, RFM_A_CARD_BUILD);
PLACE(rfm_card_numbers, features, RFM_A_CARD_FEATURES);
PLACE(rfm_card_numbers, clock_domain, RFM_A_CARD_CLOCK_DOMAIN);
PLACE(rfm_card_numbers, link, RFM_A_CARD_LINK);
PLACE(rfm_card_numbers, lcsr1, RFM_A_CARD_LCSR1);
PLACE(rfm_card_numbers, lisr, RFM_A_CARD_LISR);
PLACE(rfm_card_numbers, led, RFM_A_CARD_LED);
PLACE(rfm_card_numbers, transmit, RFM_A_CARD_TRANSMIT);
PLACE(rfm_card_numbers, loopback, RFM_A_CARD_LOOPBACK);
PLACE(rfm_card_numbers, dark_on_dark, RFM_A_CARD_DARK_ON_DARK);
PLACE(rfm_card_numbers, parity, RFM_A_CARD_PARITY);
PLACE(rfm_card_numbers, own_data, RFM_A_CARD_OWN_DATA);
PLACE(rfm_card_numbers, byte_swap, RFM_A_CARD_BYTE_SWAP);
PLACE(rfm_card_numbers, redundant, RFM_A_CARD_REDUNDANT);
PLACE(rfm_card_numbers, rogue_master0, RFM_A_CARD_ROGUE_MASTER0);
PLACE(rfm_card_numbers, rogue_master1, RFM_A_CARD_ROGUE_MASTER1);
PLACE(rfm_card_numbers, window_offset, RFM_A_CARD_WINDOW_OFFSET);
PLACE(rfm_card_numbers, address_offset, RFM_A_CARD_ADDRESS_OFFSET);
PLACE(rfm_card_numbers, base_policy, RFM_A_CARD_BASE_POLICY);
PLACE(rfm_card_numbers, base_ranges, RFM_A_CARD_BASE_RANGES);
PLACE(rfm_card_numbers, dma_read_threshold, RFM_A_CARD_DMA_READ_THRESHOLD);
PLACE(rfm_card_numbers, dma_write_threshold, RFM_A_CARD_DMA_WRITE_THRESHOLD);
PLACE(rfm_card_numbers, moderation_count, RFM_A_CARD_MODERATION_COUNT);
PLACE(rfm_card_numbers, moderation_time, RFM_A_CARD_MODERATION_TIME);
PLACE(rfm_card_numbers, files, RFM_A_CARD_FILES);
PLACE(rfm_card_numbers, watches, RFM_A_CARD_WATCHES);
PLACE(rfm_card_numbers, listeners, RFM_A_CARD_LISTENERS);
PLACE(rfm_card_numbers, lost, RFM_A_CARD_LOST);
PLACE(rfm_card_numbers, sync_loss_ns, RFM_A_CARD_SYNC_LOSS_NS);

_Static_assert(RFM_A_DRIVER_MAX == 8, "");
_Static_assert(RFM_A_DRIVER_MAX < 64, "");
struct rfm_driver_numbers {
	RFM_DRIVER_NUMBERS;
};
_Static_assert(sizeof(struct rfm_driver_numbers) ==
	       (RFM_A_DRIVER_MAX + 1) * sizeof(uint64_t), "");
PLACE(rfm_driver_numbers, interrupts, RFM_A_DRIVER_INTERRUPTS);
PLACE(rfm_driver_numbers, sync_losses, RFM_A_DRIVER_SYNC_LOSSES);
PLACE(rfm_driver_numbers, events_dropped, RFM_A_DRIVER_EVENTS_DROPPED);
PLACE(rfm_driver_numbers, dma_operations, RFM_A_DRIVER_DMA_OPERATIONS);
PLACE(rfm_driver_numbers, dma_bytes, RFM_A_DRIVER_DMA_BYTES);
PLACE(rfm_driver_numbers, dma_errors, RFM_A_DRIVER_DMA_ERRORS);
PLACE(rfm_driver_numbers, notifications_lost, RFM_A_DRIVER_NOTIFICATIONS_LOST);

_Static_assert(RFM_A_DESCRIPTOR_MAX == 20, "");
_Static_assert(RFM_A_DESCRIPTOR_MAX < 64, "");
struct rfm_descriptor_numbers {
	RFM_DESCRIPTOR_NUMBERS;
};
_Static_assert(sizeof(struct rfm_descriptor_numbers) ==
	       (RFM_A_DESCRIPTOR_MAX + 1) * sizeof(uint64_t), "");
PLACE(rfm_descriptor_numbers, id, RFM_A_DESCRIPTOR_ID);
PLACE(rfm_descriptor_numbers, kind, RFM_A_DESCRIPTOR_KIND);
PLACE(rfm_descriptor_numbers, flags, RFM_A_DESCRIPTOR_FLAGS);
PLACE(rfm_descriptor_numbers, pid, RFM_A_DESCRIPTOR_PID);
PLACE(rfm_descriptor_numbers, types, RFM_A_DESCRIPTOR_TYPES);
PLACE(rfm_descriptor_numbers, depth, RFM_A_DESCRIPTOR_DEPTH);
PLACE(rfm_descriptor_numbers, queued, RFM_A_DESCRIPTOR_QUEUED);
PLACE(rfm_descriptor_numbers, events, RFM_A_DESCRIPTOR_EVENTS);
PLACE(rfm_descriptor_numbers, dropped, RFM_A_DESCRIPTOR_DROPPED);
PLACE(rfm_descriptor_numbers, late, RFM_A_DESCRIPTOR_LATE);
PLACE(rfm_descriptor_numbers, deadline_ns, RFM_A_DESCRIPTOR_DEADLINE_NS);
PLACE(rfm_descriptor_numbers, silence_ns, RFM_A_DESCRIPTOR_SILENCE_NS);
PLACE(rfm_descriptor_numbers, compare, RFM_A_DESCRIPTOR_COMPARE);
PLACE(rfm_descriptor_numbers, compare_width, RFM_A_DESCRIPTOR_COMPARE_WIDTH);
PLACE(rfm_descriptor_numbers, compare_offset, RFM_A_DESCRIPTOR_COMPARE_OFFSET);
PLACE(rfm_descriptor_numbers, compare_mask, RFM_A_DESCRIPTOR_COMPARE_MASK);
PLACE(rfm_descriptor_numbers, compare_value, RFM_A_DESCRIPTOR_COMPARE_VALUE);

_Static_assert(RFM_A_EVENT_MAX == 12, "");
_Static_assert(RFM_A_EVENT_MAX < 64, "");
struct rfm_event_numbers {
	RFM_EVENT_NUMBERS;
};
_Static_assert(sizeof(struct rfm_event_numbers) ==
	       (RFM_A_EVENT_MAX + 1) * sizeof(uint64_t), "");
PLACE(rfm_event_numbers, type, RFM_A_EVENT_TYPE);
PLACE(rfm_event_numbers, count, RFM_A_EVENT_COUNT);
PLACE(rfm_event_numbers, time_ns, RFM_A_EVENT_TIME_NS);
PLACE(rfm_event_numbers, node, RFM_A_EVENT_NODE);
PLACE(rfm_event_numbers, missing, RFM_A_EVENT_MISSING);
PLACE(rfm_event_numbers, epoch, RFM_A_EVENT_EPOCH);
PLACE(rfm_event_numbers, offset, RFM_A_EVENT_OFFSET);
PLACE(rfm_event_numbers, length, RFM_A_EVENT_LENGTH);
PLACE(rfm_event_numbers, frame, RFM_A_EVENT_FRAME);
PLACE(rfm_event_numbers, age_ns, RFM_A_EVENT_AGE_NS);
PLACE(rfm_event_numbers, descriptor, RFM_A_EVENT_DESCRIPTOR);

_Static_assert(RFM_POLICY_MASK == 2, "");
_Static_assert(RFM_DESCRIPTOR_KIND_LISTEN == 5, "");
_Static_assert(RFM_DESCRIPTOR_FLAG_COMPARE == 1 << 5, "");
_Static_assert(RFM_NOTICE_GONE == 19, "");
