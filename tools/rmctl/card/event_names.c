// SPDX-License-Identifier: MIT
/* What events are called on the command line and in the output. */
#include "event_names.h"

#include <string.h>

#include "tools/librfm/rfm/rfm.h"

const char *const *event_names(void)
{
	static const char *names[RFM_EVENT_TYPES];

	for (uint32_t type = 0; type < RFM_EVENT_TYPES; type++)
		names[type] = rfm_event_name(type);
	return names;
}

/* A kernel newer than this program may send types it does not know. */
const char *event_name(uint32_t type)
{
	const char *name = rfm_event_name(type);

	return name ? name : "unknown";
}

/* Returns the event type, or -1. */
int event_from_name(const char *name)
{
	for (int type = 0; type < RFM_EVENT_TYPES; type++)
		if (!strcmp(name, rfm_event_name((uint32_t)type)))
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
