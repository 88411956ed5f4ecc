// SPDX-License-Identifier: MIT
/* rmctl stats: what a card and its driver have counted, and what that points at. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

static int print_json(const struct command *cmd, const struct state *state,
		      const struct rfm_counters *counters, const struct findings *findings)
{
	json_t *driver = json_object(), *card = counters->clock_ns ? json_object() : json_null();

	for (unsigned int i = 0; i < RFM_COUNTERS && counters->clock_ns; i++)
		json_object_set_new(card, rfm_counter_name(i), json_integer((json_int_t)counters->value[i]));
	for (size_t i = 0; i <= RFM_A_DRIVER_MAX; i++)
		if (rfm_driver_keys[i])
			json_object_set_new(driver, rfm_driver_keys[i],
					    json_integer((json_int_t)state->driver.number[i]));
	return out_json(cmd, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "device", state->name,
		"clock_ns", json_known(counters->clock_ns, counters->clock_ns),
		"reset_ns", json_known(counters->reset_ns, counters->reset_ns),
		"counters", card, "driver", driver, "findings", findings_json(findings)));
}

/* What is no count is in a unit for people, and its name without one. */
static void print_counter(const char *name, uint64_t value)
{
	static const struct {
		const char *name, *shown;
		const char *(*word)(char text[UNIT_TEXT], uint64_t value);
		uint64_t factor;
	} rows[] = {
		{ "sent_bytes", "sent_bytes", size_text, 1 },
		{ "received_bytes", "received_bytes", size_text, 1 },
		{ "forwarded_bytes", "forwarded_bytes", size_text, 1 },
		{ "filtered_rx", "filtered_rx", size_text, 1 },
		{ "filtered_tx", "filtered_tx", size_text, 1 },
		{ "dma_bytes", "dma_bytes", size_text, 1 },
		{ "stall_us", "stall", time_text, 1000 },
		{ "turn_ns", "turn", time_text, 1 },
		{ "resync_bytes", "resync_bytes", size_text, 1 },
		{ "burst_bytes", "burst_bytes", size_text, 1 },
	};
	char text[UNIT_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(name, rows[i].name))
			continue;
		printf("  %-18s %s\n", rows[i].shown, rows[i].word(text, value * rows[i].factor));
		return;
	}
	printf("  %-18s %" PRIu64 "\n", name, value);
}

static int print_text(const struct command *cmd, const struct state *state,
		      const struct rfm_counters *counters, const struct findings *findings)
{
	printf("%s: counted by the card:\n", state->name);
	if (!counters->clock_ns)
		puts("  nothing: it has no extension block");
	for (unsigned int i = 0; counters->clock_ns && i < RFM_COUNTERS; i++)
		print_counter(rfm_counter_name(i), counters->value[i]);
	puts("and by its driver:");
	for (size_t i = 0; i <= RFM_A_DRIVER_MAX; i++)
		if (rfm_driver_keys[i])
			print_counter(rfm_driver_keys[i], state->driver.number[i]);
	findings_print(cmd, findings);
	return out_flush(cmd);
}

static int print(struct command *cmd, const struct state *state, bool absolute)
{
	struct rfm_counters counters;
	struct findings findings;
	int error = counters_get(state->name, absolute, &counters);

	if (error)
		return failed(cmd, "cannot read the counters: %s", card_reason(error));
	error = diagnose(state, &findings);
	if (error)
		return failed(cmd, "cannot find out how the ring is: %s", card_reason(error));
	return cmd->json ? print_json(cmd, state, &counters, &findings) :
			   print_text(cmd, state, &counters, &findings);
}

int verb_stats(struct command *cmd, int argc, char **argv)
{
	bool resetting = false, absolute = false;
	struct state state;
	int status;

	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		resetting |= option == OPTION_RESET;
		absolute |= option == OPTION_ABSOLUTE;
		if (option != OPTION_RESET && option != OPTION_ABSOLUTE)
			return STATUS_MISUSED;
	}
	if (check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	if (resetting && absolute)
		return misused(cmd, "--reset and --absolute exclude each other");
	status = state_find(cmd, argv[optind], &state);
	if (!status && resetting) {
		if (card_talk(state.name, true, card_request(RFM_CMD_COUNTERS_RESET, 0, state.name),
			      NULL, NULL))
			return card_refused(cmd);
		if (!cmd->json)
			return STATUS_OK;
		status = state_get(cmd, state.name, &state);
	}
	return status ? status : print(cmd, &state, absolute);
}
