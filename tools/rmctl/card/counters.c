// SPDX-License-Identifier: MIT
#include "counters.h"

#include <errno.h>
#include <string.h>

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

/**
 * counters_get - ask what a card has counted
 * @name: of the card
 * @absolute: since it was made, whatever was reset
 * @counters: filled in; a base card has none
 *
 * Returns 0 or an errno.
 */
int counters_get(const char *name, bool absolute, struct counters *counters)
{
	struct rfm_counters answer;
	struct rfm *rfm = card_look(name);
	int error = !rfm || rfm_counters(rfm, &answer) ? errno ?: EIO : 0;

	rfm_close(rfm);
	memset(counters, 0, sizeof(*counters));
	if (error)
		return error == EOPNOTSUPP ? 0 : error;
	counters->there = true;
	counters->clock_ns = answer.clock_ns;
	counters->since_reset = answer.reset_ns;
	counters->reset_ns = answer.reset_ns;
	for (unsigned int i = 0; i < RFM_COUNTERS; i++) {
		counters->value[i] = answer.value[i] - (absolute ? 0 : answer.reset[i]);
		if (answer.changed_ns[i])
			counters->ago_ns[i] = answer.clock_ns - answer.changed_ns[i];
	}
	return 0;
}
