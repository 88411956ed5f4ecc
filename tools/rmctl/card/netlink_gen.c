/* SPDX-License-Identifier: MIT */
/* Do not edit: scripts/netlink-generate makes this from uapi/netlink/rfm.yaml. */
#include "netlink_gen.h"

#include <stddef.h>

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

const char *const rfm_descriptor_kind_names[8] = {
	NULL, "base", "file", "map", "watch", "listen", "region", "port",
};

const char *const rfm_descriptor_flag_names[6] = {
	"read", "write", "no-maps", "exclusive", "coalesce", "compare",
};

const char *const rfm_notice_names[22] = {
	NULL, "link-down", "link-up", "sync-loss", "bad-data", "rogue", "tx-full", "rx-full",
	"write-inhibited", "parity", "loss", "break", "membership", "id-in-use", "dropped",
	"late", "stale", "fresh", "conflict", "gone", "incomplete", "complete",
};

_Static_assert(RFM_A_CARD_MAX < 64, "");
_Static_assert(RFM_A_DRIVER_MAX < 64, "");
_Static_assert(RFM_A_DRIVER_MAX == 8, "");
_Static_assert(RFM_A_DESCRIPTOR_MAX < 64, "");
_Static_assert(RFM_A_EVENT_MAX < 64, "");
_Static_assert(RFM_A_EVENT_MAX == 12, "");
_Static_assert(RFM_POLICY_MASK == 2, "");
_Static_assert(RFM_DESCRIPTOR_KIND_PORT == 7, "");
_Static_assert(RFM_DESCRIPTOR_FLAG_COMPARE == 1 << 5, "");
_Static_assert(RFM_NOTICE_COMPLETE == 21, "");
