// SPDX-License-Identifier: MIT
/*
 * rmctl peek and poke: single loads and stores. They go through the mapping,
 * not through pread() and pwrite(), so that each value is exactly one access
 * of the asked width, as an application would make it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "named.h"
#include "tools/common/parse.h"
#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/regions/regions.h"

/* Values that peek loads before it prints them. */
#define BATCH 1024u

uint64_t load_word(const volatile void *at, unsigned int width)
{
	return width == 1 ? *(const volatile uint8_t *)at :
	       width == 2 ? *(const volatile uint16_t *)at :
	       width == 4 ? *(const volatile uint32_t *)at : *(const volatile uint64_t *)at;
}

void store_word(volatile void *at, unsigned int width, uint64_t value)
{
	if (width == 1)
		*(volatile uint8_t *)at = (uint8_t)value;
	else if (width == 2)
		*(volatile uint16_t *)at = (uint16_t)value;
	else if (width == 4)
		*(volatile uint32_t *)at = (uint32_t)value;
	else
		*(volatile uint64_t *)at = value;
}

/* Reads the word of -w. Returns an exit status. */
int get_width(struct command *cmd, unsigned int *width)
{
	const char *word = plain_word(optarg);

	return parse_width(word, width) ? STATUS_OK :
	       misused(cmd, "width '%s' is not 1, 2, 4 or 8", word);
}

/* Reads -w; 0 if there is none. Returns an exit status. */
static int get_options(struct command *cmd, int argc, char **argv, unsigned int *width)
{
	*width = 0;
	for (int option; (option = next_option(cmd, argc, argv)) != -1;)
		if (option != 'w' || get_width(cmd, width))
			return STATUS_MISUSED;
	return STATUS_OK;
}

#define SWAPPED "; OFFSET comes before VALUE: are the two swapped?"

/* Sizes and offsets of real memories: what is beyond is no offset in any of them. */
#define LARGEST_MEMORY (1ull << 32)

/* Values that lie one behind the other. */
struct words {
	uint64_t offset;	/* of the first */
	uint64_t count;		/* 0: the word does not say */
	unsigned int width;	/* bytes of one; before, what -w said */
};

/*
 * Reads OFFSET or RANGE. @value is the word behind it, if it will be stored there. Returns
 * an exit status.
 */
static int get_words(struct command *cmd, const char *text, const char *value, struct words *words)
{
	struct target target;
	int status = get_target_or_offset(cmd, text, &target);
	bool swapped;

	if (status)
		return status;
	words->offset = target.offset;
	if (!words->width)
		words->width = WIDTH_DEFAULT;
	swapped = value && !target.length &&
		  looks_swapped(words->offset, value, words->width, LARGEST_MEMORY);
	if (words->offset % words->width)
		return misused(cmd, "offset 0x%" PRIx64 " is not a multiple of the width %u%s",
			       words->offset, words->width, swapped ? SWAPPED : "");
	if (target.length % words->width)
		return misused(cmd, "the length of '%s' is not a multiple of the width %u", text,
			       words->width);
	words->count = target.length / words->width;
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

static int peek(struct command *cmd, const char *dev, const struct words *words)
{
	uint64_t offset = words->offset, count = words->count, values[BATCH];
	const volatile char *memory;
	struct card card;
	int status = card_open_window(cmd, &card, dev, false);

	if (status)
		return status;
	memory = card_map(cmd, &card, offset, count * words->width);
	status = memory ? STATUS_OK : STATUS_FAILED;
	while (!status && count) {
		uint64_t batch = count < BATCH ? count : BATCH;

		for (uint64_t i = 0; i < batch; i++)
			values[i] = load_word(memory + i * words->width, words->width);
		status = print_batch(cmd, offset, words->width, values, batch);
		memory += batch * words->width;
		offset += batch * words->width;
		count -= batch;
	}
	return status;
}

int verb_peek(struct command *cmd, int argc, char **argv)
{
	struct words words;
	int status, count;

	status = get_options(cmd, argc, argv, &words.width);
	if (!status)
		status = check_operands(cmd, argc, argv, 2, 3);
	if (status)
		return status;
	count = argc - optind - 1;
	if (word_is_name(argv[optind + 1]))
		return words.width || count > 1 ?
			misused(cmd, "a name has its own count and width") :
			show_name(cmd, argv[optind], argv[optind + 1], false);
	status = get_words(cmd, argv[optind + 1], NULL, &words);
	if (status)
		return status;
	if (words.count && count > 1)
		return misused(cmd, "a range has its own count");
	if (!words.count)
		words.count = 1;
	if (count > 1)
		status = get_number(cmd, "count", argv[optind + 2], UINT64_MAX / 8, &words.count);
	if (!status && !words.count)
		status = misused(cmd, "count must be at least 1");
	return status ? status : peek(cmd, argv[optind], &words);
}

static int poke(struct command *cmd, const char *dev, const struct words *words,
		const uint64_t *values, const char *value)
{
	volatile char *memory;
	struct card card;
	int status = card_open_window(cmd, &card, dev, true);

	if (status)
		return status;
	if (value && looks_swapped(words->offset, value, words->width, card.info.memory_size))
		return failed(cmd, "offset 0x%" PRIx64 " is out of range: the memory ends at 0x%"
			      PRIx64 SWAPPED, words->offset, (uint64_t)card.info.memory_size);
	memory = card_map(cmd, &card, words->offset, words->count * words->width);
	if (!memory)
		return STATUS_FAILED;
	for (uint64_t i = 0; i < words->count; i++)
		store_word(memory + i * words->width, words->width, values[i]);
	return cmd->json ? print_batch(cmd, words->offset, words->width, values, words->count) :
			   STATUS_OK;
}

int verb_poke(struct command *cmd, int argc, char **argv)
{
	const char *place, *value;
	uint64_t count, *values;
	struct words words = { 0 };
	int status;

	hide_negatives(argc, argv);
	status = get_options(cmd, argc, argv, &words.width);
	if (!status)
		status = check_operands(cmd, argc, argv, 3, argc);
	if (status)
		return status;
	count = (uint64_t)(argc - optind - 2);
	place = plain_word(argv[optind + 1]);
	if (word_is_name(place))
		return words.width ? misused(cmd, "a name has its own width") :
			poke_name(cmd, argv[optind], place, argv + optind + 2, (int)count);
	value = count == 1 ? plain_word(argv[optind + 2]) : NULL;
	if (value && word_is_name(value))
		return misused(cmd, "value '%s' is a name; NAME comes before VALUE: are the two "
			       "swapped?", value);
	status = get_words(cmd, place, value, &words);
	if (status)
		return status;
	if (words.count && words.count != count)
		return misused(cmd, "'%s' has %" PRIu64 " value(s), not %" PRIu64, place,
			       words.count, count);
	words.count = count;
	values = needed(cmd, calloc(count, sizeof(*values)));
	/* Every value is checked before the first is stored. */
	for (uint64_t i = 0; i < count && !status; i++)
		status = get_number(cmd, "value", plain_word(argv[optind + 2 + i]),
				    width_max(words.width), &values[i]);
	if (!status)
		status = poke(cmd, argv[optind], &words, values, value);
	free(values);
	return status;
}
