// SPDX-License-Identifier: MIT
/*
 * rmctl peek and poke: single loads and stores. They go through the mapping,
 * not through pread() and pwrite(), so that each value is exactly one access
 * of the asked width, as an application would make it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "card.h"
#include "out.h"
#include "parse.h"
#include "regions.h"

/* Values that peek loads before it prints them. */
#define BATCH 1024u

#define WIDTH_DEFAULT 4u

const struct option width_option[] = {
	{ "width", required_argument, NULL, 'w' },
	{ 0 },
};

uint64_t load_word(const volatile void *address, unsigned int width)
{
	switch (width) {
	case 1:
		return *(const volatile uint8_t *)address;
	case 2:
		return *(const volatile uint16_t *)address;
	case 4:
		return *(const volatile uint32_t *)address;
	default:
		return *(const volatile uint64_t *)address;
	}
}

void store_word(volatile void *address, unsigned int width, uint64_t value)
{
	switch (width) {
	case 1:
		*(volatile uint8_t *)address = (uint8_t)value;
		break;
	case 2:
		*(volatile uint16_t *)address = (uint16_t)value;
		break;
	case 4:
		*(volatile uint32_t *)address = (uint32_t)value;
		break;
	default:
		*(volatile uint64_t *)address = value;
		break;
	}
}

/* Reads -w; 0 if there is none. Returns an exit status. */
static int get_width(struct command *cmd, int argc, char **argv, unsigned int *width)
{
	*width = 0;
	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != 'w')
			return STATUS_MISUSED;
		if (!parse_width(optarg, width))
			return misused(cmd, "width '%s' is not 1, 2, 4 or 8", optarg);
	}
	if (*width > sizeof(long))
		return failed(cmd, "a single access of %u bytes needs a %u-bit rmctl", *width,
			      8 * *width);
	return STATUS_OK;
}

/* Reads OFFSET, and sets @width if -w has not. Returns an exit status. */
static int get_offset(struct command *cmd, const char *text, unsigned int *width, uint64_t *offset)
{
	int status = get_number(cmd, "offset", text, UINT64_MAX, offset);

	if (status)
		return status;
	if (!*width)
		*width = WIDTH_DEFAULT;
	if (*offset % *width)
		return misused(cmd, "offset 0x%" PRIx64 " is not a multiple of the width %u",
			       *offset, *width);
	return STATUS_OK;
}

static int print_batch(const struct command *cmd, uint64_t offset, unsigned int width,
		       const uint64_t *values, uint64_t count)
{
	json_t *array;

	if (!cmd->json) {
		for (uint64_t i = 0; i < count; i++)
			printf("0x%08" PRIx64 ": 0x%0*" PRIx64 "\n", offset + i * width,
			       (int)width * 2, values[i]);
		return out_flush(cmd);
	}
	array = json_array();
	for (uint64_t i = 0; i < count; i++)
		json_array_append_new(array, json_hex(values[i], width));
	return out_json(cmd, json_pack("{s:s, s:I, s:i, s:o}", "device", cmd->card, "offset",
				       (json_int_t)offset, "width", (int)width, "values", array));
}

int verb_peek(struct command *cmd, int argc, char **argv)
{
	uint64_t offset, count = 1, values[BATCH];
	const volatile char *memory;
	unsigned int width;
	struct card card;
	int status;

	status = get_width(cmd, argc, argv, &width);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 2, 3))
		return STATUS_MISUSED;
	if (word_is_name(argv[optind + 1]))
		return width || argc - optind > 2 ?
			misused(cmd, "a name has its own count and width") :
			peek_name(cmd, argv[optind], argv[optind + 1]);
	status = get_offset(cmd, argv[optind + 1], &width, &offset);
	if (!status && argc - optind > 2)
		status = get_number(cmd, "count", argv[optind + 2], UINT64_MAX / 8, &count);
	if (status)
		return status;
	if (!count)
		return misused(cmd, "count must be at least 1");

	status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	memory = card_map(cmd, &card, offset, count * width, false);
	status = memory ? STATUS_OK : STATUS_FAILED;
	while (!status && count) {
		uint64_t batch = count < BATCH ? count : BATCH;

		for (uint64_t i = 0; i < batch; i++)
			values[i] = load_word(memory + i * width, width);
		status = print_batch(cmd, offset, width, values, batch);
		memory += batch * width;
		offset += batch * width;
		count -= batch;
	}
	card_close(&card);
	return status;
}

static int report_poke(const struct command *cmd, uint64_t offset, unsigned int width,
		       const uint64_t *values, int count)
{
	json_t *array = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(array, json_hex(values[i], width));
	return out_json(cmd, json_pack("{s:s, s:I, s:i, s:o}", "device", cmd->card, "offset",
				       (json_int_t)offset, "width", (int)width, "values", array));
}

int verb_poke(struct command *cmd, int argc, char **argv)
{
	volatile char *memory;
	uint64_t offset, *values;
	unsigned int width;
	struct card card;
	int status, count;

	status = get_width(cmd, argc, argv, &width);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 3, argc))
		return STATUS_MISUSED;
	count = argc - optind - 2;
	if (word_is_name(argv[optind + 1]))
		return width ? misused(cmd, "a name has its own width") :
			poke_name(cmd, argv[optind], argv[optind + 1], argv + optind + 2, count);
	status = get_offset(cmd, argv[optind + 1], &width, &offset);
	if (status)
		return status;
	values = calloc((size_t)count, sizeof(*values));
	if (!values)
		return failed(cmd, "out of memory");
	/* Every value is checked before the first is stored. */
	for (int i = 0; i < count && !status; i++)
		status = get_number(cmd, "value", argv[optind + 2 + i], width_max(width),
				    &values[i]);
	if (!status)
		status = card_open(cmd, &card, argv[optind], true);
	if (status)
		goto out;
	memory = card_map(cmd, &card, offset, (uint64_t)count * width, true);
	if (memory)
		for (int i = 0; i < count; i++)
			store_word(memory + (size_t)i * width, width, values[i]);
	else
		status = STATUS_FAILED;
	if (!status && cmd->json)
		status = report_poke(cmd, offset, width, values, count);
	card_close(&card);
out:
	free(values);
	return status;
}
