/* SPDX-License-Identifier: MIT */
/* Do not edit: scripts/netlink-generate makes this from uapi/netlink/rfm.yaml. */
#ifndef RMCTL_NETLINK_GEN_H
#define RMCTL_NETLINK_GEN_H

#include <stdint.h>

/* By attribute; what is no number has a place without a name. */
#define RFM_CARD_NUMBERS uint64_t \
	:64, id, :64, :64, :64, :64, seq, generation, base_generation, reset_generation, pid, \
	:64, node, memory_size, window_size, board_id, board_revision, build, features, \
	clock_domain, link, lcsr1, lisr, led, transmit, loopback, dark_on_dark, parity, \
	own_data, byte_swap, redundant, rogue_master0, rogue_master1, window_offset, \
	address_offset, base_policy, base_ranges, :64, dma_read_threshold, dma_write_threshold, \
	moderation_count, moderation_time, files, watches, listeners, :64, :64, :64, :64, lost, \
	sync_loss_ns

#define RFM_DRIVER_NUMBERS uint64_t \
	:64, :64, interrupts, sync_losses, events_dropped, dma_operations, dma_bytes, \
	dma_errors, notifications_lost

#define RFM_DESCRIPTOR_NUMBERS uint64_t \
	:64, id, kind, flags, pid, :64, :64, types, depth, queued, events, dropped, late, \
	deadline_ns, silence_ns, compare, compare_width, compare_offset, compare_mask, \
	compare_value, :64

#define RFM_EVENT_NUMBERS uint64_t \
	:64, type, count, time_ns, node, missing, epoch, offset, length, frame, age_ns, \
	descriptor, :64

/* The same, as JSON calls them; and names by value, of flags by bit. */
extern const char *const rfm_driver_keys[9];
extern const char *const rfm_event_keys[13];
extern const char *const rfm_policy_names[3];
extern const char *const rfm_descriptor_kind_names[6];
extern const char *const rfm_descriptor_flag_names[6];
extern const char *const rfm_notice_names[20];

#endif /* RMCTL_NETLINK_GEN_H */
