// SPDX-License-Identifier: MIT
/* rmctl show: what one card is and how it is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <linux/rfm_regs.h>

#include "card.h"
#include "out.h"

#define LINE "  %-24s %s\n"
#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

/**
 * struct flag - one bit of LCSR1
 * @mask: the bit
 * @inverted: the name says the opposite of the bit
 * @key: in JSON
 * @label: for people
 * @yes: what a person reads when it holds
 * @no: and when it does not
 */
struct flag {
	uint32_t mask;
	bool inverted;
	const char *key, *label, *yes, *no;
};

static const struct flag flags[] = {
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

/* The latched bits of LISR that the driver remembers. */
static const struct {
	uint32_t mask;
	const char *name;
} latched[] = {
	{ RFM_LISR_RESET_REQ, "reset" },
	{ RFM_LISR_SYNC_LOSS, "sync-loss" },
	{ RFM_LISR_BAD_DATA, "bad-data" },
	{ RFM_LISR_TX_FULL, "tx-full" },
	{ RFM_LISR_RX_FULL, "rx-full" },
	{ RFM_LISR_RX_ALMOST_FULL, "rx-almost-full" },
	{ RFM_LISR_ROGUE, "rogue" },
	{ RFM_LISR_WRITE_INHIBITED, "write-inhibited" },
	{ RFM_LISR_PARITY, "parity" },
};

/* What the extension block offers. */
static const struct {
	uint64_t mask;
	const char *name;
} features[] = {
	{ RFM_EXT_FEATURE_SUBSCRIBE, "subscribe" },
	{ RFM_EXT_FEATURE_WATCH, "watch" },
	{ RFM_EXT_FEATURE_WRITER, "writer" },
	{ RFM_EXT_FEATURE_MULTICAST, "multicast" },
	{ RFM_EXT_FEATURE_FENCE, "fence" },
	{ RFM_EXT_FEATURE_SNAPSHOT, "counters" },
	{ RFM_EXT_FEATURE_CLOCK, "clock" },
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

static uint64_t network_offset(uint32_t lcsr1)
{
	return (uint64_t)((lcsr1 & RFM_LCSR1_OFFSET_M) >> RFM_LCSR1_OFFSET_SHIFT) << 26;
}

static json_t *lcsr1_json(uint32_t lcsr1)
{
	json_t *object = json_pack("{s:I, s:s, s:I}", "value", (json_int_t)lcsr1, "window",
				   window_switches(lcsr1), "network_offset",
				   (json_int_t)network_offset(lcsr1));

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		json_object_set_new(object, flags[i].key, json_boolean(holds(&flags[i], lcsr1)));
	return object;
}

static json_t *lisr_json(uint32_t lisr)
{
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(latched); i++)
		if (lisr & latched[i].mask)
			json_array_append_new(names, json_string(latched[i].name));
	return json_pack("{s:I, s:o}", "value", (json_int_t)lisr, "seen", names);
}

static json_t *extension_json(const struct rfm_info *info)
{
	json_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (info->features & features[i].mask)
			json_array_append_new(names, json_string(features[i].name));
	return names;
}

static const char *policy(const struct rfm_info *info)
{
	return info->base_policy == RFM_BASE_NONE ? "none" : "all";
}

static int show_json(const struct command *cmd, const struct card *card)
{
	const struct rfm_info *info = &card->info;

	return out_json(cmd, json_pack(
		"{s:s, s:s, s:i, s:{s:i, s:i, s:i}, s:I, s:I, s:I, s:I, s:o, s:s, s:o, s:I, s:I,"
		" s:I, s:I, s:o, s:o}",
		"device", card->name, "pci", info->pci_name, "node", info->node,
		"board", "id", info->board_id, "revision", info->board_revision,
		"build", info->build,
		"memory_size", (json_int_t)info->memory_size,
		"window_size", (json_int_t)info->window_size,
		"window_offset", (json_int_t)info->window_offset,
		"features", (json_int_t)info->features, "extension", extension_json(info),
		"base_policy", policy(info), "clock_domain",
		info->features ? json_integer(info->clock_domain) : json_null(),
		"watches", (json_int_t)info->watches,
		"events_dropped", (json_int_t)info->events_dropped,
		"interrupts", (json_int_t)info->irqs,
		"sync_losses", (json_int_t)info->sync_losses,
		"lcsr1", lcsr1_json(info->lcsr1), "lisr", lisr_json(info->lisr)));
}

static void show_memory(const struct rfm_info *info)
{
	char text[96], size[OUT_WORD];

	printf(LINE, "memory", out_size(size, sizeof(size), info->memory_size));
	if (info->window_size == info->memory_size)
		snprintf(text, sizeof(text), "the whole memory");
	else
		snprintf(text, sizeof(text), "%s from offset 0x%" PRIx64,
			 out_size(size, sizeof(size), info->window_size),
			 (uint64_t)info->window_offset);
	printf(LINE, "window", text);
	printf(LINE, "network offset",
	       out_size(size, sizeof(size), network_offset(info->lcsr1)));
}

/* What a base card cannot do, and why not. */
static void show_extension(const struct rfm_info *info)
{
	const char *separator = "";

	printf("  %-24s 0x%" PRIx64, "features", (uint64_t)info->features);
	if (!info->features) {
		puts(" (a base card)");
		printf(LINE, "subscriptions, watches",
		       "not available: the card has no extension block");
		printf(LINE, "base policy", "all: the card receives everything");
		return;
	}
	fputs(" (", stdout);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (!(info->features & features[i].mask))
			continue;
		printf("%s%s", separator, features[i].name);
		separator = ", ";
	}
	puts(")");
	printf(LINE, "base policy",
	       info->base_policy == RFM_BASE_NONE ?
		       "none: the card receives what somebody has subscribed to" :
		       "all: the card receives everything, subscribed to or not");
	printf("  %-24s 0x%08" PRIx32 "\n", "clock domain", info->clock_domain);
	printf("  %-24s %" PRIu32 "\n", "watches", info->watches);
	printf("  %-24s %" PRIu64 "\n", "events dropped", (uint64_t)info->events_dropped);
}

static void show_latched(uint32_t lisr)
{
	const char *separator = "";

	printf("  %-24s ", "seen since bound");
	for (size_t i = 0; i < ARRAY_SIZE(latched); i++) {
		if (!(lisr & latched[i].mask))
			continue;
		printf("%s%s", separator, latched[i].name);
		separator = ", ";
	}
	printf("%s (LISR 0x%08" PRIx32 ")\n", *separator ? "" : "nothing", lisr);
}

static int show_text(const struct command *cmd, const struct card *card)
{
	const struct rfm_info *info = &card->info;
	char text[96], node[OUT_WORD];

	printf("%s: 5565 at PCI %s\n", card->name, info->pci_name);
	printf(LINE, "node", out_node(node, sizeof(node), info->node));
	snprintf(text, sizeof(text), "id 0x%02x, revision 0x%02x, build 0x%04x", info->board_id,
		 info->board_revision, info->build);
	printf(LINE, "board", text);
	show_memory(info);
	show_extension(info);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		printf(LINE, flags[i].label,
		       holds(&flags[i], info->lcsr1) ? flags[i].yes : flags[i].no);
	snprintf(text, sizeof(text), "0x%08" PRIx32 ", window switches %s", info->lcsr1,
		 window_switches(info->lcsr1));
	printf(LINE, "LCSR1", text);
	show_latched(info->lisr);
	printf("  %-24s %" PRIu64 "\n", "interrupts", (uint64_t)info->irqs);
	printf("  %-24s %" PRIu64 "\n", "sync losses", (uint64_t)info->sync_losses);
	return out_flush(cmd);
}

int verb_show(struct command *cmd, int argc, char **argv)
{
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	status = cmd->json ? show_json(cmd, &card) : show_text(cmd, &card);
	card_close(&card);
	return status;
}
