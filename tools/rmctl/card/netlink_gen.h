/* SPDX-License-Identifier: MIT */
/* Do not edit: scripts/netlink-generate makes this from uapi/netlink/rfm.yaml. */
#ifndef RMCTL_NETLINK_GEN_H
#define RMCTL_NETLINK_GEN_H

#include <stdint.h>

#include <linux/rfm_netlink.h>

/* In a union with an array by attribute: a member that lies over its number there. */
#define AT(attribute, member) \
	struct { uint64_t before_##member[RFM_A_##attribute], member; }

#define RFM_CARD_NUMBERS \
	AT(CARD_ID, id); AT(CARD_SEQ, seq); AT(CARD_GENERATION, generation); \
	AT(CARD_BASE_GENERATION, base_generation); AT(CARD_RESET_GENERATION, reset_generation); \
	AT(CARD_PID, pid); AT(CARD_NODE, node); AT(CARD_MEMORY_SIZE, memory_size); \
	AT(CARD_WINDOW_SIZE, window_size); AT(CARD_BOARD_ID, board_id); \
	AT(CARD_BOARD_REVISION, board_revision); AT(CARD_BUILD, build); \
	AT(CARD_FEATURES, features); AT(CARD_CLOCK_DOMAIN, clock_domain); AT(CARD_LINK, link); \
	AT(CARD_LCSR1, lcsr1); AT(CARD_LISR, lisr); AT(CARD_LED, led); \
	AT(CARD_TRANSMIT, transmit); AT(CARD_LOOPBACK, loopback); \
	AT(CARD_DARK_ON_DARK, dark_on_dark); AT(CARD_PARITY, parity); \
	AT(CARD_OWN_DATA, own_data); AT(CARD_BYTE_SWAP, byte_swap); \
	AT(CARD_REDUNDANT, redundant); AT(CARD_ROGUE_MASTER0, rogue_master0); \
	AT(CARD_ROGUE_MASTER1, rogue_master1); AT(CARD_WINDOW_OFFSET, window_offset); \
	AT(CARD_ADDRESS_OFFSET, address_offset); AT(CARD_BASE_POLICY, base_policy); \
	AT(CARD_BASE_RANGES, base_ranges); AT(CARD_DMA_READ_THRESHOLD, dma_read_threshold); \
	AT(CARD_DMA_WRITE_THRESHOLD, dma_write_threshold); \
	AT(CARD_MODERATION_COUNT, moderation_count); AT(CARD_MODERATION_TIME, moderation_time); \
	AT(CARD_FILES, files); AT(CARD_WATCHES, watches); AT(CARD_LISTENERS, listeners); \
	AT(CARD_LOST, lost); AT(CARD_SYNC_LOSS_NS, sync_loss_ns)

#define RFM_DRIVER_NUMBERS \
	AT(DRIVER_INTERRUPTS, interrupts); AT(DRIVER_SYNC_LOSSES, sync_losses); \
	AT(DRIVER_EVENTS_DROPPED, events_dropped); AT(DRIVER_DMA_OPERATIONS, dma_operations); \
	AT(DRIVER_DMA_BYTES, dma_bytes); AT(DRIVER_DMA_ERRORS, dma_errors); \
	AT(DRIVER_NOTIFICATIONS_LOST, notifications_lost)

#define RFM_DESCRIPTOR_NUMBERS \
	AT(DESCRIPTOR_ID, id); AT(DESCRIPTOR_KIND, kind); AT(DESCRIPTOR_FLAGS, flags); \
	AT(DESCRIPTOR_PID, pid); AT(DESCRIPTOR_TYPES, types); AT(DESCRIPTOR_DEPTH, depth); \
	AT(DESCRIPTOR_QUEUED, queued); AT(DESCRIPTOR_EVENTS, events); \
	AT(DESCRIPTOR_DROPPED, dropped); AT(DESCRIPTOR_LATE, late); \
	AT(DESCRIPTOR_DEADLINE_NS, deadline_ns); AT(DESCRIPTOR_SILENCE_NS, silence_ns); \
	AT(DESCRIPTOR_COMPARE, compare); AT(DESCRIPTOR_COMPARE_WIDTH, compare_width); \
	AT(DESCRIPTOR_COMPARE_OFFSET, compare_offset); \
	AT(DESCRIPTOR_COMPARE_MASK, compare_mask); AT(DESCRIPTOR_COMPARE_VALUE, compare_value)

#define RFM_EVENT_NUMBERS \
	AT(EVENT_TYPE, type); AT(EVENT_COUNT, count); AT(EVENT_TIME_NS, time_ns); \
	AT(EVENT_NODE, node); AT(EVENT_MISSING, missing); AT(EVENT_EPOCH, epoch); \
	AT(EVENT_OFFSET, offset); AT(EVENT_LENGTH, length); AT(EVENT_FRAME, frame); \
	AT(EVENT_AGE_NS, age_ns); AT(EVENT_DESCRIPTOR, descriptor)

/* The same, as JSON calls them; and names by value, of flags by bit. */
extern const char *const rfm_driver_keys[9];
extern const char *const rfm_event_keys[13];
extern const char *const rfm_policy_names[3];
extern const char *const rfm_descriptor_kind_names[6];
extern const char *const rfm_descriptor_flag_names[6];
extern const char *const rfm_notice_names[20];

#endif /* RMCTL_NETLINK_GEN_H */
