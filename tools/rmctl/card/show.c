// SPDX-License-Identifier: MIT
/* rmctl show: what one card is and how it is. */
#include <inttypes.h>
#include <stdio.h>

#include "diagnose.h"
#include "event_names.h"
#include "state.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

#define LINE "  %-24s %s\n"
#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

/* The bits of LCSR1, what JSON and people call them, and what people read when they hold or not. */
static const struct flag {
	uint32_t mask;
	bool inverted;		/* the name says the opposite of the bit */
	const char *key, *label, *yes, *no;
} flags[] = {
	{ RFM_LCSR1_LED, false, "led", "status LED", "on", "off" },
	{ RFM_LCSR1_TX_DISABLE, true, "transmit", "transmit", "enabled", "disabled" },
	{ RFM_LCSR1_DARK_ON_DARK, false, "dark_on_dark", "dark-on-dark", "on", "off" },
	{ RFM_LCSR1_LOOPBACK, false, "loopback", "loopback", "on", "off" },
	{ RFM_LCSR1_PARITY, false, "parity", "parity", "on", "off" },
	{ RFM_LCSR1_REDUNDANT, false, "redundant", "redundant mode", "on", "off" },
	{ RFM_LCSR1_ROGUE_MASTER0, false, "rogue_master_0", "rogue master 0", "on", "off" },
	{ RFM_LCSR1_ROGUE_MASTER1, false, "rogue_master_1", "rogue master 1", "on", "off" },
	{ RFM_LCSR1_DELAYED_TX, false, "delayed_tx", "delayed transmission", "on", "off" },
	{ RFM_LCSR1_TX_EMPTY, false, "tx_empty", "tx FIFO empty", "yes", "no" },
	{ RFM_LCSR1_TX_ALMOST_FULL, false, "tx_almost_full", "tx FIFO almost full", "yes", "no" },
	{ RFM_LCSR1_RX_FULL, false, "rx_full", "rx FIFO full", "was (latched)", "no" },
	{ RFM_LCSR1_RX_ALMOST_FULL, false, "rx_almost_full", "rx FIFO almost full",
	  "was (latched)", "no" },
	{ RFM_LCSR1_SIGNAL, false, "signal", "signal detect", "yes", "no" },
	{ RFM_LCSR1_SYNC_LOSS, false, "sync_loss", "sync loss", "yes (latched)", "no" },
	{ RFM_LCSR1_BAD_DATA, false, "bad_data", "bad data", "yes (latched)", "no" },
	{ RFM_LCSR1_OWN_DATA, false, "own_data", "own data", "seen", "not seen" },
};

/* The latched bits of LISR that the driver remembers, by the event that they tell of. */
static const uint32_t latches[RFM_EVENT_TYPES] = {
	[RFM_EVENT_RESET] = RFM_LISR_RESET_REQ,
	[RFM_EVENT_SYNC_LOSS] = RFM_LISR_SYNC_LOSS,
	[RFM_EVENT_BAD_DATA] = RFM_LISR_BAD_DATA,
	[RFM_EVENT_TX_FULL] = RFM_LISR_TX_FULL,
	[RFM_EVENT_RX_FULL] = RFM_LISR_RX_FULL,
	[RFM_EVENT_RX_ALMOST_FULL] = RFM_LISR_RX_ALMOST_FULL,
	[RFM_EVENT_ROGUE] = RFM_LISR_ROGUE,
	[RFM_EVENT_WRITE_INHIBITED] = RFM_LISR_WRITE_INHIBITED,
	[RFM_EVENT_PARITY] = RFM_LISR_PARITY,
};

static uint32_t latched(uint64_t lisr)
{
	uint32_t types = 0;

	for (unsigned int type = 0; type < RFM_EVENT_TYPES; type++)
		if (lisr & latches[type])
			types |= RFM_EVENT_BIT(type);
	return types;
}

/* What the extension block offers. */
static const char *const features[] = {
	[__builtin_ctz(RFM_EXT_FEATURE_SUBSCRIBE)] = "subscribe",
	[__builtin_ctz(RFM_EXT_FEATURE_WATCH)] = "watch",
	[__builtin_ctz(RFM_EXT_FEATURE_WRITER)] = "writer",
	[__builtin_ctz(RFM_EXT_FEATURE_MULTICAST)] = "multicast",
	[__builtin_ctz(RFM_EXT_FEATURE_FENCE)] = "fence",
	[__builtin_ctz(RFM_EXT_FEATURE_SNAPSHOT)] = "counters",
	[__builtin_ctz(RFM_EXT_FEATURE_CLOCK)] = "clock",
	[__builtin_ctz(RFM_EXT_FEATURE_QUERY)] = "query",
	[__builtin_ctz(RFM_EXT_FEATURE_REMOTE)] = "remote",
	[__builtin_ctz(RFM_EXT_FEATURE_BURST)] = "burst",
	[__builtin_ctz(RFM_EXT_FEATURE_SHORT_DMA)] = "short-dma",
};

static bool holds(const struct flag *flag, uint32_t lcsr1)
{
	return !!(lcsr1 & flag->mask) != flag->inverted;
}

/* How the window switches stand; @window_size of the card says the same in bytes. */
static const char *window_switches(uint32_t lcsr1)
{
	static const char *const settings[] = { "full", "64M", "16M", "2M" };

	return settings[(lcsr1 & RFM_LCSR1_WINDOW1 ? 2 : 0) | (lcsr1 & RFM_LCSR1_WINDOW0 ? 1 : 0)];
}

static uint64_t setting(const struct state *state, enum setting_id id)
{
	return state->settings.value[id];
}

/* --- for programs ----------------------------------------------------------------------- */

static json_t *lcsr1_json(const struct state *state)
{
	json_t *object = json_pack("{s:I, s:s, s:I}", "value", (json_int_t)state->lcsr1, "window",
				   window_switches(state->lcsr1), "network_offset",
				   (json_int_t)setting(state, SETTING_OFFSET));

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		json_object_set_new(object, flags[i].key,
				    json_boolean(holds(&flags[i], state->lcsr1)));
	return object;
}

static int show_json(const struct command *cmd, const struct state *state,
		     const struct findings *findings)
{
	bool has_clock = state->have >> RFM_A_CARD_CLOCK_DOMAIN & 1;
	json_t *object = json_pack(
		"{s:s, s:s, s:I, s:{s:I, s:I, s:I}, s:I, s:I, s:b, s:b, s:I, s:o, s:o, s:I, s:I,"
		" s:I, s:I, s:I, s:I, s:I, s:o, s:{s:I, s:o}, s:b, s:o}",
		"device", state->name, "pci", state->pci, "node", (json_int_t)state->node,
		"board", "id", (json_int_t)state->board_id, "revision",
		(json_int_t)state->board_revision, "build", (json_int_t)state->build,
		"memory_size", (json_int_t)state->memory_size,
		"window_size", (json_int_t)state->window_size,
		"signal", !!state->link, "sync", state_synchronous(state),
		"features", (json_int_t)state->features, "extension",
		bits_json(state->features, features, ARRAY_SIZE(features)),
		"clock_domain", json_known(has_clock, state->clock_domain),
		"generation", (json_int_t)state->generation,
		"files", (json_int_t)state->files, "watches", (json_int_t)state->watches,
		"listeners", (json_int_t)state->listeners,
		"events_dropped", (json_int_t)state->driver.events_dropped,
		"interrupts", (json_int_t)state->driver.interrupts,
		"sync_losses", (json_int_t)state->driver.sync_losses,
		"lcsr1", lcsr1_json(state), "lisr", "value", (json_int_t)state->lisr,
		"seen", bits_json(latched(state->lisr), event_names(), RFM_EVENT_TYPES),
		"incomplete", findings->incomplete, "findings", findings_json(findings));

	return out_json(cmd, settings_json(cmd, object, &state->settings, true));
}

/* --- for people ------------------------------------------------------------------------- */

static void show_memory(const struct state *state)
{
	char text[96], size[UNIT_TEXT];

	printf(LINE, "memory", size_exact(size, state->memory_size));
	if (state->window_size == state->memory_size)
		snprintf(text, sizeof(text), "the whole memory");
	else
		snprintf(text, sizeof(text), "%s from offset 0x%" PRIx64,
			 size_exact(size, state->window_size), setting(state, SETTING_WINDOW));
	printf(LINE, "window", text);
	printf(LINE, "network offset", size_exact(size, setting(state, SETTING_OFFSET)));
}

static const char *policy(uint64_t value)
{
	switch (value) {
	case RFM_POLICY_NONE:
		return "none: the card receives and sends what somebody has subscribed to";
	case RFM_POLICY_MASK:
		return "a mask, and what somebody has subscribed to";
	default:
		return "all: the card receives everything, subscribed to or not";
	}
}

/* What a base card cannot do, and why not. */
static void show_extension(const struct state *state)
{
	printf("  %-24s 0x%" PRIx64, "features", state->features);
	if (!state->features) {
		puts(" (a base card)");
		printf(LINE, "subscriptions, watches",
		       "not available: the card has no extension block");
		printf(LINE, "base policy", "all: the card receives everything");
		return;
	}
	fputs(" (", stdout);
	bits_print(state->features, features, ARRAY_SIZE(features), "", ", ");
	puts(")");
	printf(LINE, "base policy", policy(setting(state, SETTING_POLICY)));
	printf("  %-24s 0x%08" PRIx64 "\n", "clock domain", state->clock_domain);
	printf("  %-24s %" PRIu64 "\n", "events dropped", state->driver.events_dropped);
}

/* Those that no bit of LCSR1 and no line above shows. */
static void show_settings(const struct state *state)
{
	static const struct {
		enum setting_id id;
		const char *label;
	} rows[] = {
		{ SETTING_BYTE_SWAP, "byte swap" },
		{ SETTING_DMA_BYTE_SWAP, "DMA byte swap" },
		{ SETTING_DMA_READ, "DMA reads from" },
		{ SETTING_DMA_WRITE, "DMA writes from" },
		{ SETTING_MODERATION_COUNT, "events an interrupt" },
		{ SETTING_MODERATION_TIME, "time between interrupts" },
		{ SETTING_BURST, "burst range" },
		{ SETTING_BURST_PERIOD, "burst period" },
	};
	char word[UNIT_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (setting_known(&state->settings, rows[i].id))
			printf(LINE, rows[i].label,
			       setting_word(word, rows[i].id, setting(state, rows[i].id)));
}

static int show_text(const struct command *cmd, const struct state *state,
		     const struct findings *findings)
{
	char text[96], node[UNIT_TEXT];

	printf("%s: 5565 at PCI %s\n", state->name, state->pci);
	printf(LINE, "node", node_text(node, state->node));
	snprintf(text, sizeof(text), "id 0x%02" PRIx64 ", revision 0x%02" PRIx64 ", build 0x%04" PRIx64,
		 state->board_id, state->board_revision, state->build);
	printf(LINE, "board", text);
	show_memory(state);
	show_extension(state);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		printf(LINE, flags[i].label,
		       holds(&flags[i], state->lcsr1) ? flags[i].yes : flags[i].no);
	snprintf(text, sizeof(text), "0x%08" PRIx64 ", window switches %s", state->lcsr1,
		 window_switches(state->lcsr1));
	printf(LINE, "LCSR1", text);
	show_settings(state);
	printf("  %-24s ", "seen since bound");
	bits_print(latched(state->lisr), event_names(), RFM_EVENT_TYPES, "", ", ");
	printf("%s (LISR 0x%08" PRIx64 ")\n", latched(state->lisr) ? "" : "nothing", state->lisr);
	if (findings->incomplete)
		printf("  %-24s %s\n", "incomplete",
		       "the memory misses some of what others have stored: 'rmctl resync'");
	printf("  %-24s %" PRIu64 "\n", "interrupts", state->driver.interrupts);
	printf("  %-24s %" PRIu64 "\n", "sync losses", state->driver.sync_losses);
	printf("  %-24s %" PRIu64 " file(s), %" PRIu64 " watch(es), %" PRIu64 " listener(s)\n",
	       "open", state->files, state->watches, state->listeners);
	findings_print(cmd, findings);
	return out_flush(cmd);
}

int verb_show(struct command *cmd, int argc, char **argv)
{
	struct findings findings;
	struct state state;
	int status = state_of_only_card(cmd, argc, argv, &state), error;

	if (status)
		return status;
	error = diagnose(&state, &findings);
	if (error)
		return failed(cmd, "cannot find out how the ring is: %s", card_reason(error));
	return cmd->json ? show_json(cmd, &state, &findings) : show_text(cmd, &state, &findings);
}
