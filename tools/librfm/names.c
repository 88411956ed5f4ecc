// SPDX-License-Identifier: MIT
/* Names of what is in linux/rfm.h, and errors in words. */
#define _GNU_SOURCE 1		/* strerrordesc_np() */
#include "private.h"

#include <linux/rfm_status.h>

static const char *const event_names[RFM_EVENT_TYPES] = {
	[RFM_EVENT_RESET] = "reset",
	[RFM_EVENT_INT1] = "int1",
	[RFM_EVENT_INT2] = "int2",
	[RFM_EVENT_INT3] = "int3",
	[RFM_EVENT_INT4] = "int4",
	[RFM_EVENT_SYNC_LOSS] = "sync-loss",
	[RFM_EVENT_BAD_DATA] = "bad-data",
	[RFM_EVENT_TX_FULL] = "tx-full",
	[RFM_EVENT_RX_FULL] = "rx-full",
	[RFM_EVENT_RX_ALMOST_FULL] = "rx-almost-full",
	[RFM_EVENT_ROGUE] = "rogue",
	[RFM_EVENT_WRITE_INHIBITED] = "write-inhibited",
	[RFM_EVENT_PARITY] = "parity",
	[RFM_EVENT_UPDATE] = "update",
	[RFM_EVENT_MATCH] = "match",
	[RFM_EVENT_STALE] = "stale",
	[RFM_EVENT_FRESH] = "fresh",
	[RFM_EVENT_CONFLICT] = "conflict",
	[RFM_EVENT_SIGNAL] = "signal",
	[RFM_EVENT_BREAK] = "break",
	[RFM_EVENT_MEMBERSHIP] = "membership",
	[RFM_EVENT_LOSS] = "loss",
	[RFM_EVENT_ID_IN_USE] = "id-in-use",
	[RFM_EVENT_DROPPED] = "dropped",
	[RFM_EVENT_INCOMPLETE] = "incomplete",
	[RFM_EVENT_WRITTEN] = "written",
};

static const char *const counter_names[RFM_COUNTERS] = {
	[RFM_COUNTER_STORES] = "stores",
	[RFM_COUNTER_SENT] = "sent",
	[RFM_COUNTER_HOME] = "home",
	[RFM_COUNTER_LOST] = "lost",
	[RFM_COUNTER_DARK] = "dark",
	[RFM_COUNTER_FULL] = "full",
	[RFM_COUNTER_RECEIVED] = "received",
	[RFM_COUNTER_FORWARDED] = "forwarded",
	[RFM_COUNTER_UNSENDABLE] = "unsendable",
	[RFM_COUNTER_OVERRUN] = "overrun",
	[RFM_COUNTER_MISSED] = "missed",
	[RFM_COUNTER_LATE] = "late",
	[RFM_COUNTER_COPIES] = "copies",
	[RFM_COUNTER_BEYOND] = "beyond",
	[RFM_COUNTER_BAD] = "bad",
	[RFM_COUNTER_HOP_LIMIT] = "hop_limit",
	[RFM_COUNTER_ROGUE] = "rogue",
	[RFM_COUNTER_MIXED] = "mixed",
	[RFM_COUNTER_HELD_LOST] = "held_lost",
	[RFM_COUNTER_SENT_BYTES] = "sent_bytes",
	[RFM_COUNTER_RECEIVED_BYTES] = "received_bytes",
	[RFM_COUNTER_FORWARDED_BYTES] = "forwarded_bytes",
	[RFM_COUNTER_FILTERED_RX] = "filtered_rx",
	[RFM_COUNTER_FILTERED_TX] = "filtered_tx",
	[RFM_COUNTER_WINDOW] = "window",
	[RFM_COUNTER_WINDOW_PEAK] = "window_peak",
	[RFM_COUNTER_TX] = "tx",
	[RFM_COUNTER_TX_PEAK] = "tx_peak",
	[RFM_COUNTER_INSERT] = "insert",
	[RFM_COUNTER_INSERT_PEAK] = "insert_peak",
	[RFM_COUNTER_STALL_US] = "stall_us",
	[RFM_COUNTER_INTERRUPTS_DROPPED] = "interrupts_dropped",
	[RFM_COUNTER_EVENTS] = "events",
	[RFM_COUNTER_EVENTS_DROPPED] = "events_dropped",
	[RFM_COUNTER_CONFLICTS] = "conflicts",
	[RFM_COUNTER_BREAKS] = "breaks",
	[RFM_COUNTER_EPOCH] = "epoch",
	[RFM_COUNTER_TURN_NS] = "turn_ns",
	[RFM_COUNTER_PACKETS] = "packets",
	[RFM_COUNTER_PACKETS_TAKEN] = "packets_taken",
	[RFM_COUNTER_PACKETS_LOST] = "packets_lost",
	[RFM_COUNTER_PACKETS_RECEIVED] = "packets_received",
	[RFM_COUNTER_PACKETS_REFUSED] = "packets_refused",
	[RFM_COUNTER_REQUESTS] = "requests",
	[RFM_COUNTER_REQUESTS_FAILED] = "requests_failed",
	[RFM_COUNTER_SERVED] = "served",
	[RFM_COUNTER_RESYNC_BYTES] = "resync_bytes",
	[RFM_COUNTER_BURST_SCANS] = "burst_scans",
	[RFM_COUNTER_BURST_BYTES] = "burst_bytes",
	[RFM_COUNTER_BURST_LATE] = "burst_late",
};

/* What an errno of these calls means here, where its usual text does not say it. */
static const struct {
	int error;
	const char *text;
} error_texts[] = {
	{ EIO, "frames were lost on the way, or the card refuses" },
	{ EBADF, "it is not open for that" },
	{ EAGAIN, "nodes came or went meanwhile, or it is not there yet" },
	{ EBUSY, "somebody else has it, or a node stands still or has no room" },
	{ ENODEV, "the card is gone (unplugged, or its driver was unbound)" },
	{ ENXIO, "the card is gone (unplugged, or its driver was unbound)" },
	{ EINVAL, "a value, flag or range that is none" },
	{ ENOTTY, "this is not a reflective-memory card" },
	{ ENOSPC, "there is no room for more" },
	{ ENODATA, "it was never written, or that node is incomplete itself" },
	{ ENOLINK, "this node sends nothing: no signal, or its transmitter is off" },
	{ ETIMEDOUT, "it has not ended in time" },
	{ ENOBUFS, "the ring had no room in time" },
	{ EOPNOTSUPP, "this card, or node, cannot do that" },
	{ EXDEV, "the clocks are not the same" },
	{ ECANCELED, "another thread has ended the wait" },
	{ EHOSTUNREACH, "there is no such node on the ring, or none that is complete" },
	{ ECONNREFUSED, "nobody listens at that port" },
	{ EADDRINUSE, "somebody listens at that port already" },
	{ EREMOTEIO, "no answer has come: it may have been done" },
	{ EALREADY, "another one is under way" },
};

const char *rfm_event_name(uint32_t type)
{
	return type < RFM_EVENT_TYPES ? event_names[type] : NULL;
}

const char *rfm_counter_name(uint32_t counter)
{
	return counter < RFM_COUNTERS ? counter_names[counter] : NULL;
}

const char *rfm_error_text(int error)
{
	const char *text;

	for (size_t i = 0; i < sizeof(error_texts) / sizeof(*error_texts); i++)
		if (error_texts[i].error == error)
			return error_texts[i].text;
	text = strerrordesc_np(error);
	return text ? text : "unknown error";
}
