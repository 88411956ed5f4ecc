/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/netlink/rfm.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_RFM_NETLINK_H
#define _UAPI_LINUX_RFM_NETLINK_H

#define RFM_FAMILY_NAME		"rfm"
#define RFM_FAMILY_VERSION	1

/**
 * enum rfm_link - the receiver's signal, RFM_A_CARD_LINK
 */
enum rfm_link {
	RFM_LINK_DOWN,
	RFM_LINK_UP,
};

/**
 * enum rfm_policy - what a card receives and sends that nobody has subscribed
 *   to, RFM_A_CARD_BASE_POLICY
 * @RFM_POLICY_ALL: everything, as any 5565
 * @RFM_POLICY_NONE: nothing
 * @RFM_POLICY_MASK: what the base masks say; can be read only, and is what
 *   changes of them lead to
 */
enum rfm_policy {
	RFM_POLICY_ALL,
	RFM_POLICY_NONE,
	RFM_POLICY_MASK,
};

/**
 * enum rfm_planes - masks over the memory, a bit for each granule of 64 bytes,
 *   RFM_A_RANGE_PLANES
 * @RFM_PLANES_RX: updates of others are stored
 * @RFM_PLANES_TX: own stores are sent
 * @RFM_PLANES_WATCH: updates of others make events
 * @RFM_PLANES_OWNED: nobody else should write there
 * @RFM_PLANES_READ: other nodes may READ it
 * @RFM_PLANES_WRITE: other nodes may WRITE it
 * @RFM_PLANES_HOME: this node is home of its words, other nodes may CAS and
 *   ADD
 */
enum rfm_planes {
	RFM_PLANES_RX = 1,
	RFM_PLANES_TX = 2,
	RFM_PLANES_WATCH = 4,
	RFM_PLANES_OWNED = 8,
	RFM_PLANES_READ = 16,
	RFM_PLANES_WRITE = 32,
	RFM_PLANES_HOME = 64,
};

/**
 * enum rfm_action - what a change does to a base mask, RFM_A_RANGE_ACTION
 */
enum rfm_action {
	RFM_ACTION_REMOVE,
	RFM_ACTION_ADD,
};

/**
 * enum rfm_descriptor_kind - who has something of a card,
 *   RFM_A_DESCRIPTOR_KIND
 * @RFM_DESCRIPTOR_KIND_BASE: nobody; the card's base masks, which card-set
 *   changes
 * @RFM_DESCRIPTOR_KIND_FILE: an open file, with what it has subscribed to
 * @RFM_DESCRIPTOR_KIND_MAP: a mapping, with what it holds
 * @RFM_DESCRIPTOR_KIND_WATCH: a descriptor made by RFM_IOC_WATCH
 * @RFM_DESCRIPTOR_KIND_LISTEN: a descriptor made by RFM_IOC_LISTEN
 * @RFM_DESCRIPTOR_KIND_REGION: a descriptor made by RFM_IOC_REGION
 * @RFM_DESCRIPTOR_KIND_PORT: a descriptor made by RFM_IOC_PORT
 */
enum rfm_descriptor_kind {
	RFM_DESCRIPTOR_KIND_BASE = 1,
	RFM_DESCRIPTOR_KIND_FILE,
	RFM_DESCRIPTOR_KIND_MAP,
	RFM_DESCRIPTOR_KIND_WATCH,
	RFM_DESCRIPTOR_KIND_LISTEN,
	RFM_DESCRIPTOR_KIND_REGION,
	RFM_DESCRIPTOR_KIND_PORT,
};

/**
 * enum rfm_descriptor_flag - RFM_A_DESCRIPTOR_FLAGS
 * @RFM_DESCRIPTOR_FLAG_READ: open for reading
 * @RFM_DESCRIPTOR_FLAG_WRITE: open for writing
 * @RFM_DESCRIPTOR_FLAG_NO_MAPS: mappings made through it hold nothing
 * @RFM_DESCRIPTOR_FLAG_EXCLUSIVE: nobody else may listen for its types
 * @RFM_DESCRIPTOR_FLAG_COALESCE: updates are one record while unread
 * @RFM_DESCRIPTOR_FLAG_COMPARE: MATCH instead of UPDATE
 */
enum rfm_descriptor_flag {
	RFM_DESCRIPTOR_FLAG_READ = 1,
	RFM_DESCRIPTOR_FLAG_WRITE = 2,
	RFM_DESCRIPTOR_FLAG_NO_MAPS = 4,
	RFM_DESCRIPTOR_FLAG_EXCLUSIVE = 8,
	RFM_DESCRIPTOR_FLAG_COALESCE = 16,
	RFM_DESCRIPTOR_FLAG_COMPARE = 32,
};

/**
 * enum rfm_notice - what has happened to a card, RFM_A_EVENT_TYPE
 * @RFM_NOTICE_LINK_DOWN: the receiver has no signal
 * @RFM_NOTICE_LINK_UP: the receiver has its signal again
 * @RFM_NOTICE_SYNC_LOSS: the receiver lost its signal, perhaps for a moment
 *   only
 * @RFM_NOTICE_BAD_DATA: a damaged packet was dropped
 * @RFM_NOTICE_ROGUE: a rogue packet was removed
 * @RFM_NOTICE_TX_FULL: a store found no room in time and was not sent
 * @RFM_NOTICE_RX_FULL: the receive FIFO was full
 * @RFM_NOTICE_WRITE_INHIBITED: a store narrower than 4 bytes, parity on
 * @RFM_NOTICE_PARITY: local memory parity error
 * @RFM_NOTICE_LOSS: updates of another node never arrived
 * @RFM_NOTICE_BREAK: another node has lost its signal
 * @RFM_NOTICE_MEMBERSHIP: nodes have come or gone
 * @RFM_NOTICE_ID_IN_USE: this node has left the ring, as an earlier one has
 *   its id
 * @RFM_NOTICE_DROPPED: the card could not hand events to the driver
 * @RFM_NOTICE_LATE: an update was older than a watch's deadline
 * @RFM_NOTICE_STALE: no update of a watch's bytes for too long
 * @RFM_NOTICE_FRESH: the first update after that
 * @RFM_NOTICE_CONFLICT: another node wrote what is owned here
 * @RFM_NOTICE_GONE: the card no longer answers
 * @RFM_NOTICE_INCOMPLETE: from now on the memory misses some of what others
 *   have stored
 * @RFM_NOTICE_COMPLETE: and no longer
 */
enum rfm_notice {
	RFM_NOTICE_LINK_DOWN = 1,
	RFM_NOTICE_LINK_UP,
	RFM_NOTICE_SYNC_LOSS,
	RFM_NOTICE_BAD_DATA,
	RFM_NOTICE_ROGUE,
	RFM_NOTICE_TX_FULL,
	RFM_NOTICE_RX_FULL,
	RFM_NOTICE_WRITE_INHIBITED,
	RFM_NOTICE_PARITY,
	RFM_NOTICE_LOSS,
	RFM_NOTICE_BREAK,
	RFM_NOTICE_MEMBERSHIP,
	RFM_NOTICE_ID_IN_USE,
	RFM_NOTICE_DROPPED,
	RFM_NOTICE_LATE,
	RFM_NOTICE_STALE,
	RFM_NOTICE_FRESH,
	RFM_NOTICE_CONFLICT,
	RFM_NOTICE_GONE,
	RFM_NOTICE_INCOMPLETE,
	RFM_NOTICE_COMPLETE,
};

enum {
	RFM_A_CARD_ID = 1,
	RFM_A_CARD_NAME,
	RFM_A_CARD_PCI,
	RFM_A_CARD_FD,
	RFM_A_CARD_PAD,
	RFM_A_CARD_SEQ,
	RFM_A_CARD_GENERATION,
	RFM_A_CARD_BASE_GENERATION,
	RFM_A_CARD_RESET_GENERATION,
	RFM_A_CARD_PID,
	RFM_A_CARD_COMM,
	RFM_A_CARD_NODE,
	RFM_A_CARD_MEMORY_SIZE,
	RFM_A_CARD_WINDOW_SIZE,
	RFM_A_CARD_BOARD_ID,
	RFM_A_CARD_BOARD_REVISION,
	RFM_A_CARD_BUILD,
	RFM_A_CARD_FEATURES,
	RFM_A_CARD_CLOCK_DOMAIN,
	RFM_A_CARD_LINK,
	RFM_A_CARD_LCSR1,
	RFM_A_CARD_LISR,
	RFM_A_CARD_LED,
	RFM_A_CARD_TRANSMIT,
	RFM_A_CARD_LOOPBACK,
	RFM_A_CARD_DARK_ON_DARK,
	RFM_A_CARD_PARITY,
	RFM_A_CARD_OWN_DATA,
	RFM_A_CARD_BYTE_SWAP,
	RFM_A_CARD_REDUNDANT,
	RFM_A_CARD_ROGUE_MASTER0,
	RFM_A_CARD_ROGUE_MASTER1,
	RFM_A_CARD_WINDOW_OFFSET,
	RFM_A_CARD_ADDRESS_OFFSET,
	RFM_A_CARD_BASE_POLICY,
	RFM_A_CARD_BASE_RANGES,
	RFM_A_CARD_BASE,
	RFM_A_CARD_DMA_READ_THRESHOLD,
	RFM_A_CARD_DMA_WRITE_THRESHOLD,
	RFM_A_CARD_MODERATION_COUNT,
	RFM_A_CARD_MODERATION_TIME,
	RFM_A_CARD_FILES,
	RFM_A_CARD_WATCHES,
	RFM_A_CARD_LISTENERS,
	RFM_A_CARD_DRIVER,
	RFM_A_CARD_ABSOLUTE,
	RFM_A_CARD_DESCRIPTOR,
	RFM_A_CARD_EVENT,
	RFM_A_CARD_LOST,
	RFM_A_CARD_SYNC_LOSS_NS,
	RFM_A_CARD_DMA_BYTE_SWAP,
	RFM_A_CARD_BURST_OFFSET,
	RFM_A_CARD_BURST_LENGTH,
	RFM_A_CARD_BURST_PERIOD,

	__RFM_A_CARD_MAX,
	RFM_A_CARD_MAX = (__RFM_A_CARD_MAX - 1)
};

enum {
	RFM_A_RANGE_OFFSET = 1,
	RFM_A_RANGE_LENGTH,
	RFM_A_RANGE_PLANES,
	RFM_A_RANGE_ACTION,
	RFM_A_RANGE_PAD,

	__RFM_A_RANGE_MAX,
	RFM_A_RANGE_MAX = (__RFM_A_RANGE_MAX - 1)
};

enum {
	RFM_A_DRIVER_PAD = 1,
	RFM_A_DRIVER_INTERRUPTS,
	RFM_A_DRIVER_SYNC_LOSSES,
	RFM_A_DRIVER_EVENTS_DROPPED,
	RFM_A_DRIVER_DMA_OPERATIONS,
	RFM_A_DRIVER_DMA_BYTES,
	RFM_A_DRIVER_DMA_ERRORS,
	RFM_A_DRIVER_NOTIFICATIONS_LOST,

	__RFM_A_DRIVER_MAX,
	RFM_A_DRIVER_MAX = (__RFM_A_DRIVER_MAX - 1)
};

enum {
	RFM_A_DESCRIPTOR_ID = 1,
	RFM_A_DESCRIPTOR_KIND,
	RFM_A_DESCRIPTOR_FLAGS,
	RFM_A_DESCRIPTOR_PID,
	RFM_A_DESCRIPTOR_COMM,
	RFM_A_DESCRIPTOR_RANGE,
	RFM_A_DESCRIPTOR_TYPES,
	RFM_A_DESCRIPTOR_DEPTH,
	RFM_A_DESCRIPTOR_QUEUED,
	RFM_A_DESCRIPTOR_EVENTS,
	RFM_A_DESCRIPTOR_DROPPED,
	RFM_A_DESCRIPTOR_LATE,
	RFM_A_DESCRIPTOR_DEADLINE_NS,
	RFM_A_DESCRIPTOR_SILENCE_NS,
	RFM_A_DESCRIPTOR_COMPARE,
	RFM_A_DESCRIPTOR_COMPARE_WIDTH,
	RFM_A_DESCRIPTOR_COMPARE_OFFSET,
	RFM_A_DESCRIPTOR_COMPARE_MASK,
	RFM_A_DESCRIPTOR_COMPARE_VALUE,
	RFM_A_DESCRIPTOR_PAD,

	__RFM_A_DESCRIPTOR_MAX,
	RFM_A_DESCRIPTOR_MAX = (__RFM_A_DESCRIPTOR_MAX - 1)
};

enum {
	RFM_A_EVENT_TYPE = 1,
	RFM_A_EVENT_COUNT,
	RFM_A_EVENT_TIME_NS,
	RFM_A_EVENT_NODE,
	RFM_A_EVENT_MISSING,
	RFM_A_EVENT_EPOCH,
	RFM_A_EVENT_OFFSET,
	RFM_A_EVENT_LENGTH,
	RFM_A_EVENT_FRAME,
	RFM_A_EVENT_AGE_NS,
	RFM_A_EVENT_DESCRIPTOR,
	RFM_A_EVENT_PAD,

	__RFM_A_EVENT_MAX,
	RFM_A_EVENT_MAX = (__RFM_A_EVENT_MAX - 1)
};

enum {
	RFM_CMD_CARD_GET = 1,
	RFM_CMD_CARD_SET,
	RFM_CMD_COUNTERS_RESET,
	RFM_CMD_DESCRIPTOR_GET,
	RFM_CMD_CARD_CREATE_NTF,
	RFM_CMD_CARD_CHANGE_NTF,
	RFM_CMD_CARD_DELETE_NTF,
	RFM_CMD_EVENT_NTF,
	RFM_CMD_OVERRUN_NTF,

	__RFM_CMD_MAX,
	RFM_CMD_MAX = (__RFM_CMD_MAX - 1)
};

#define RFM_MCGRP_MONITOR	"monitor"

#endif /* _UAPI_LINUX_RFM_NETLINK_H */
