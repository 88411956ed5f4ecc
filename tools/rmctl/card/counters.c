// SPDX-License-Identifier: MIT
#include "counters.h"

#include <errno.h>
#include <string.h>

#include <linux/rfm_netlink.h>

static const char *const names[RFM_COUNTERS] = {
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
};

/* As in JSON and on the terminal. */
const char *counter_name(enum rfm_counter counter)
{
	return names[counter];
}

/* A base card has none, which leaves @counters as it is. */
static void take(struct nlmsghdr *message, void *context)
{
	struct nlattr *attributes[RFM_A_CARD_MAX + 1], *values[RFM_A_COUNTERS_MAX + 1];
	struct nlattr *times[RFM_A_COUNTERS_MAX + 1] = { NULL };
	struct counters *counters = context;

	if (genlmsg_parse(message, 0, attributes, RFM_A_CARD_MAX, NULL) ||
	    !attributes[RFM_A_CARD_COUNTERS] ||
	    nla_parse_nested(values, RFM_A_COUNTERS_MAX, attributes[RFM_A_CARD_COUNTERS], NULL))
		return;
	counters->there = true;
	for (unsigned int i = 0; i < RFM_COUNTERS; i++)
		if (values[RFM_A_COUNTERS_STORES + i])
			counters->value[i] = nla_get_u64(values[RFM_A_COUNTERS_STORES + i]);
	if (values[RFM_A_COUNTERS_CLOCK_NS])
		counters->clock_ns = nla_get_u64(values[RFM_A_COUNTERS_CLOCK_NS]);
	counters->since_reset = values[RFM_A_COUNTERS_RESET_NS];
	if (counters->since_reset)
		counters->reset_ns = nla_get_u64(values[RFM_A_COUNTERS_RESET_NS]);
	if (!attributes[RFM_A_CARD_COUNTER_TIMES] ||
	    nla_parse_nested(times, RFM_A_COUNTERS_MAX, attributes[RFM_A_CARD_COUNTER_TIMES], NULL))
		return;
	for (unsigned int i = 0; i < RFM_COUNTERS; i++)
		if (times[RFM_A_COUNTERS_STORES + i])
			counters->ago_ns[i] = counters->clock_ns -
					      nla_get_u64(times[RFM_A_COUNTERS_STORES + i]);
}

static struct nl_msg *build(const struct netlink *nl, const void *name)
{
	return card_request(nl, RFM_CMD_COUNTERS_GET, 0, name);
}

static struct nl_msg *build_absolute(const struct netlink *nl, const void *name)
{
	struct nl_msg *request = build(nl, name);

	if (request)
		nla_put_flag(request, RFM_A_CARD_ABSOLUTE);
	return request;
}

/**
 * counters_get - ask what a card has counted
 * @nl: the connection; its reason says why this failed
 * @name: of the card
 * @absolute: since it was made, whatever was reset
 * @counters: filled in
 *
 * Returns 0 or an errno.
 */
int counters_get(struct netlink *nl, const char *name, bool absolute, struct counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	return card_talk(name, nl, false, absolute ? build_absolute : build, name, take, counters);
}
