/* SPDX-License-Identifier: MIT */
/* Do not edit: scripts/netlink-generate makes this from uapi/netlink/rfm.yaml. */
#ifndef RMCTL_NETLINK_GEN_H
#define RMCTL_NETLINK_GEN_H

#include <stdint.h>

#include <linux/rfm_netlink.h>

/* In a union with an array by attribute: a member that lies over its number there. */
#define NUMBER_AT(attribute, member) \
	struct { uint64_t before_##member[RFM_A_##attribute], member; }

#define RFM_CARD_NUMBERS \
	NUMBER_AT(CARD_ID, id); NUMBER_AT(CARD_SEQ, seq); \
	NUMBER_AT(CARD_GENERATION, generation); \
	NUMBER_AT(CARD_BASE_GENERATION, base_generation); \
	NUMBER_AT(CARD_RESET_GENERATION, reset_generation); NUMBER_AT(CARD_PID, pid); \
	NUMBER_AT(CARD_NODE, node); NUMBER_AT(CARD_MEMORY_SIZE, memory_size); \
	NUMBER_AT(CARD_WINDOW_SIZE, window_size); NUMBER_AT(CARD_BOARD_ID, board_id); \
	NUMBER_AT(CARD_BOARD_REVISION, board_revision); NUMBER_AT(CARD_BUILD, build); \
	NUMBER_AT(CARD_FEATURES, features); NUMBER_AT(CARD_CLOCK_DOMAIN, clock_domain); \
	NUMBER_AT(CARD_LINK, link); NUMBER_AT(CARD_LCSR1, lcsr1); NUMBER_AT(CARD_LISR, lisr); \
	NUMBER_AT(CARD_LED, led); NUMBER_AT(CARD_TRANSMIT, transmit); \
	NUMBER_AT(CARD_LOOPBACK, loopback); NUMBER_AT(CARD_DARK_ON_DARK, dark_on_dark); \
	NUMBER_AT(CARD_PARITY, parity); NUMBER_AT(CARD_OWN_DATA, own_data); \
	NUMBER_AT(CARD_BYTE_SWAP, byte_swap); NUMBER_AT(CARD_REDUNDANT, redundant); \
	NUMBER_AT(CARD_ROGUE_MASTER0, rogue_master0); \
	NUMBER_AT(CARD_ROGUE_MASTER1, rogue_master1); \
	NUMBER_AT(CARD_WINDOW_OFFSET, window_offset); \
	NUMBER_AT(CARD_ADDRESS_OFFSET, address_offset); \
	NUMBER_AT(CARD_BASE_POLICY, base_policy); NUMBER_AT(CARD_BASE_RANGES, base_ranges); \
	NUMBER_AT(CARD_DMA_READ_THRESHOLD, dma_read_threshold); \
	NUMBER_AT(CARD_DMA_WRITE_THRESHOLD, dma_write_threshold); \
	NUMBER_AT(CARD_MODERATION_COUNT, moderation_count); \
	NUMBER_AT(CARD_MODERATION_TIME, moderation_time); NUMBER_AT(CARD_FILES, files); \
	NUMBER_AT(CARD_WATCHES, watches); NUMBER_AT(CARD_LISTENERS, listeners); \
	NUMBER_AT(CARD_LOST, lost); NUMBER_AT(CARD_SYNC_LOSS_NS, sync_loss_ns); \
	NUMBER_AT(CARD_DMA_BYTE_SWAP, dma_byte_swap); \
	NUMBER_AT(CARD_BURST_OFFSET, burst_offset); NUMBER_AT(CARD_BURST_LENGTH, burst_length); \
	NUMBER_AT(CARD_BURST_PERIOD, burst_period)

#define RFM_DRIVER_NUMBERS \
	NUMBER_AT(DRIVER_INTERRUPTS, interrupts); NUMBER_AT(DRIVER_SYNC_LOSSES, sync_losses); \
	NUMBER_AT(DRIVER_EVENTS_DROPPED, events_dropped); \
	NUMBER_AT(DRIVER_DMA_OPERATIONS, dma_operations); \
	NUMBER_AT(DRIVER_DMA_BYTES, dma_bytes); NUMBER_AT(DRIVER_DMA_ERRORS, dma_errors); \
	NUMBER_AT(DRIVER_NOTIFICATIONS_LOST, notifications_lost)

#define RFM_DESCRIPTOR_NUMBERS \
	NUMBER_AT(DESCRIPTOR_ID, id); NUMBER_AT(DESCRIPTOR_KIND, kind); \
	NUMBER_AT(DESCRIPTOR_FLAGS, flags); NUMBER_AT(DESCRIPTOR_PID, pid); \
	NUMBER_AT(DESCRIPTOR_TYPES, types); NUMBER_AT(DESCRIPTOR_DEPTH, depth); \
	NUMBER_AT(DESCRIPTOR_QUEUED, queued); NUMBER_AT(DESCRIPTOR_EVENTS, events); \
	NUMBER_AT(DESCRIPTOR_DROPPED, dropped); NUMBER_AT(DESCRIPTOR_LATE, late); \
	NUMBER_AT(DESCRIPTOR_DEADLINE_NS, deadline_ns); \
	NUMBER_AT(DESCRIPTOR_SILENCE_NS, silence_ns); NUMBER_AT(DESCRIPTOR_COMPARE, compare); \
	NUMBER_AT(DESCRIPTOR_COMPARE_WIDTH, compare_width); \
	NUMBER_AT(DESCRIPTOR_COMPARE_OFFSET, compare_offset); \
	NUMBER_AT(DESCRIPTOR_COMPARE_MASK, compare_mask); \
	NUMBER_AT(DESCRIPTOR_COMPARE_VALUE, compare_value)

#define RFM_EVENT_NUMBERS \
	NUMBER_AT(EVENT_TYPE, type); NUMBER_AT(EVENT_COUNT, count); \
	NUMBER_AT(EVENT_TIME_NS, time_ns); NUMBER_AT(EVENT_NODE, node); \
	NUMBER_AT(EVENT_MISSING, missing); NUMBER_AT(EVENT_EPOCH, epoch); \
	NUMBER_AT(EVENT_OFFSET, offset); NUMBER_AT(EVENT_LENGTH, length); \
	NUMBER_AT(EVENT_FRAME, frame); NUMBER_AT(EVENT_AGE_NS, age_ns); \
	NUMBER_AT(EVENT_DESCRIPTOR, descriptor)

/* The same, as JSON calls them; and names by value, of flags by bit. */
extern const char *const rfm_driver_keys[9];
extern const char *const rfm_event_keys[13];
extern const char *const rfm_policy_names[3];
extern const char *const rfm_descriptor_kind_names[8];
extern const char *const rfm_descriptor_flag_names[6];
extern const char *const rfm_notice_names[22];

#endif /* RMCTL_NETLINK_GEN_H */
