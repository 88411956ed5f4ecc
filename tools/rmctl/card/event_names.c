// SPDX-License-Identifier: MIT
/* What events are called on the command line and in the output. */
#include "event_names.h"

#include <string.h>

const char *const event_names[RFM_EVENT_TYPES] = {
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
};

/* A kernel newer than this program may send types it does not know. */
const char *event_name(uint32_t type)
{
	return type < RFM_EVENT_TYPES ? event_names[type] : "unknown";
}

/* Returns the event type, or -1. */
int event_from_name(const char *name)
{
	for (int type = 0; type < RFM_EVENT_TYPES; type++)
		if (!strcmp(name, event_names[type]))
			return type;
	return -1;
}

/*
 * Adds the type called @name to @mask, if one can listen for it: a watch has its own, and
 * "dropped" comes unasked for.
 */
bool event_mask_from_name(const char *name, uint32_t *mask)
{
	int type = event_from_name(name);

	if (type < 0 || !(RFM_EVENT_ALL & ~RFM_EVENT_WATCHED & RFM_EVENT_BIT((unsigned int)type)))
		return false;
	*mask |= RFM_EVENT_BIT((unsigned int)type);
	return true;
}

/* Is there an update that it tells of? */
bool event_is_update(const struct rfm_event *event)
{
	return event->type == RFM_EVENT_UPDATE || event->type == RFM_EVENT_MATCH ||
	       (event->type == RFM_EVENT_FRESH && event->length && event->node != RFM_NODE_ALL);
}

/*
 * How old the update was when it came. Clocks of one domain agree to within a few hundred
 * nanoseconds: less than nothing is nothing. Returns false if it is not known.
 */
bool event_age(const struct rfm_event *event, uint64_t *age)
{
	bool update = event_is_update(event) || event->type == RFM_EVENT_CONFLICT;

	if (!update || event->flags & RFM_EVENT_AGE_UNKNOWN)
		return false;
	*age = event->arrival_ns > event->origin_ns ? event->arrival_ns - event->origin_ns : 0;
	return true;
}
