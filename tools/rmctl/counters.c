// SPDX-License-Identifier: MIT
/* rmctl counters: what the card has counted, all of one instant. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include <linux/rfm_regs.h>

#include "card.h"
#include "out.h"

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

/* How many of the card's counters have a name here. */
static uint32_t named(const struct rfm_counters *counters)
{
	return counters->count < RFM_COUNTERS ? counters->count : RFM_COUNTERS;
}

static int print_json(const struct command *cmd, const struct rfm_counters *counters)
{
	json_t *values = json_object();

	for (uint32_t i = 0; i < named(counters); i++)
		json_object_set_new(values, names[i], json_integer((json_int_t)counters->value[i]));
	return out_json(cmd, json_pack("{s:s, s:I, s:o}", "device", cmd->card, "clock_ns",
				       (json_int_t)counters->clock_ns, "counters", values));
}

static int print_text(const struct command *cmd, const struct rfm_counters *counters)
{
	for (uint32_t i = 0; i < named(counters); i++)
		printf("%-18s %" PRIu64 "\n", names[i], (uint64_t)counters->value[i]);
	return out_flush(cmd);
}

int verb_counters(struct command *cmd, int argc, char **argv)
{
	struct rfm_counters counters;
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	if (ioctl(card.fd, RFM_IOC_COUNTERS, &counters))
		status = failed(cmd, "cannot read the counters: %s", card_reason(errno));
	else
		status = cmd->json ? print_json(cmd, &counters) : print_text(cmd, &counters);
	card_close(&card);
	return status;
}
