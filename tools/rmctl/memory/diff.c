// SPDX-License-Identifier: MIT
/* rmctl diff: what in the memory is not as in a file? */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/regions/value.h"
#include "transfer.h"

#define SHOWN_DEFAULT 16u
#define WORD 4u		/* bytes that are shown together where no name is known */

/**
 * struct difference - the memory and a file, side by side
 * @target: the range
 * @transfer: through all of the range
 * @max: so many are shown
 * @shown: so many have been
 * @bytes: that differ
 * @next: in the range: what lies before it has been shown or is equal
 * @array: JSON
 * @value: the value, or word, that is being looked up
 * @name: of that, "": it is a word
 */
struct difference {
	struct command *cmd;
	const struct target *target;
	const struct source *source;
	const struct card *card;
	struct transfer transfer;
	uint64_t max, shown, bytes, next;
	json_t *array;
	struct rfm_place value;
	char name[RFM_REGION_PATH_MAX];
};

/* What is to be shown of the byte at @at in the range: a value, or the word around it. */
static void find_value(struct difference *diff, uint64_t at)
{
	uint64_t from = diff->target->offset, to = from + diff->target->length;
	uint64_t begin = (from + at) / WORD * WORD, end = begin + WORD;

	diff->name[0] = '\0';
	if (value_at(diff->cmd, from + at, from, to, &diff->value, diff->name))
		return;
	if (begin < from)
		begin = from;
	if (end > to)
		end = to;
	diff->value = (struct rfm_place){ .offset = begin, .length = end - begin, .unit = "" };
}

static char *text_of(const struct difference *diff, const unsigned char *bytes)
{
	size_t size = VALUE_TEXT(diff->value.length);
	char *text = malloc(size);

	if (text && diff->name[0])
		rfm_value_print(&diff->value, bytes, text, size);
	else if (text)
		word_text(bytes, diff->value.length, text);
	return text;
}

static void add_json(const struct difference *diff, char *card, char *file)
{
	const struct rfm_place *value = &diff->value;
	bool named = diff->name[0];

	json_array_append_new(diff->array, json_pack(
		"{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "offset", (json_int_t)value->offset,
		"length", (json_int_t)value->length,
		"name", named ? json_string(diff->name) : json_null(),
		"type", named ? json_string(rfm_region_type_name(value->type)) : json_null(),
		"unit", named ? json_string(value->unit) : json_null(),
		"card", named ? value_json(value->type, card) : json_string(card),
		"file", named ? value_json(value->type, file) : json_string(file)));
}

static void show(struct difference *diff, char *card, char *file)
{
	const char *unit = diff->value.unit;

	transfer_end(&diff->transfer);
	if (diff->cmd->json)
		add_json(diff, card, file);
	else
		printf("0x%08" PRIx64 ": %s%scard %s%s%s, file %s%s%s\n",
		       (uint64_t)diff->value.offset, diff->name, diff->name[0] ? ": " : "", card,
		       *unit ? " " : "", unit, file, *unit ? " " : "", unit);
}

/* The byte at @at in the range differs: shows what it is part of. Returns an exit status. */
static int tell(struct difference *diff, uint64_t at)
{
	unsigned char *card, *file;
	char *card_text = NULL, *file_text = NULL;
	struct transfer again;
	int status;

	find_value(diff, at);
	card = malloc(2 * diff->value.length);
	if (!card)
		return failed(diff->cmd, "out of memory");
	file = card + diff->value.length;
	status = transfer_begin(&again, diff->cmd, diff->card, diff->value.offset,
				diff->value.length);
	if (!status)
		status = transfer_load(&again, card, diff->value.length);
	if (!status)
		status = source_read(diff->cmd, diff->source,
				     diff->value.offset - diff->target->offset, file,
				     diff->value.length);
	if (!status && !transfer_stopped(&again) && memcmp(card, file, diff->value.length)) {
		card_text = text_of(diff, card);
		file_text = text_of(diff, file);
		if (card_text && file_text)
			show(diff, card_text, file_text);
		else
			status = failed(diff->cmd, "out of memory");
	}
	diff->shown++;
	diff->next = diff->value.offset + diff->value.length - diff->target->offset;
	free(card_text);
	free(file_text);
	free(card);
	return status;
}

/* One block of both, the first byte of which is at @begin in the range. */
static int compare(struct difference *diff, uint64_t begin, const unsigned char *card,
		   const unsigned char *file, uint64_t length)
{
	int status = STATUS_OK;

	if (!memcmp(card, file, length))
		return STATUS_OK;
	for (uint64_t i = 0; i < length && !status; i++) {
		if (card[i] == file[i])
			continue;
		diff->bytes++;
		if (begin + i >= diff->next && diff->shown < diff->max)
			status = tell(diff, begin + i);
	}
	return status;
}

static int compare_all(struct difference *diff)
{
	struct command *cmd = diff->cmd;
	unsigned char *card = transfer_block(cmd, 2 * TRANSFER_BLOCK);
	unsigned char *file;
	struct transfer *transfer = &diff->transfer;
	size_t length;
	int status;

	if (!card)
		return STATUS_FAILED;
	file = card + TRANSFER_BLOCK;
	status = transfer_begin(transfer, cmd, diff->card, diff->target->offset,
				diff->target->length);
	while (!status && !transfer_stopped(transfer) && (length = transfer_next(transfer))) {
		uint64_t begin = transfer->done;

		status = transfer_load(transfer, card, length);
		length = transfer->done - begin;
		if (!status)
			status = source_read(cmd, diff->source, begin, file, length);
		if (!status)
			status = compare(diff, begin, card, file, length);
	}
	transfer_end(transfer);
	if (!status && transfer_stopped(transfer))
		status = transfer_cut_short(cmd, transfer->done, transfer->length, "compared");
	free(card);
	return status;
}

static int report(struct difference *diff)
{
	const struct command *cmd = diff->cmd;
	char bytes[UNIT_TEXT], all[UNIT_TEXT];
	json_t *array = diff->array;

	diff->array = NULL;
	if (cmd->json)
		return out_json(cmd, json_pack(
			"{s:s, s:I, s:I, s:o, s:b, s:I, s:o}", "device", cmd->card, "offset",
			(json_int_t)diff->target->offset, "length",
			(json_int_t)diff->target->length, "file", json_clean(diff->source->name),
			"equal", !diff->bytes, "differing_bytes", (json_int_t)diff->bytes,
			"differences", array));
	json_decref(array);
	if (diff->bytes)
		printf("%s of %s differ\n", size_text(bytes, diff->bytes),
		       size_text(all, diff->target->length));
	return out_flush(cmd);
}

static int diff_card(struct command *cmd, const struct card *card, const struct target *target,
		     const char *file, uint64_t max)
{
	struct source source;
	struct difference diff = {
		.cmd = cmd, .target = target, .source = &source, .card = card, .max = max,
		.array = json_array(),
	};
	int status = card_check_range(cmd, card, target->offset, target->length);

	if (!status) {
		status = source_open(cmd, &source, file, target->length);
		if (!status)
			status = compare_all(&diff);
		if (!status)
			status = report(&diff);
		source_close(&source);
	}
	json_decref(diff.array);
	return status ? status : diff.bytes ? STATUS_NO : STATUS_OK;
}

int verb_diff(struct command *cmd, int argc, char **argv)
{
	uint64_t max = SHOWN_DEFAULT;
	struct target target;
	struct card card;
	int status;

	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != 'n')
			return STATUS_MISUSED;
		status = get_number(cmd, "count", optarg, UINT64_MAX, &max);
		if (status)
			return status;
	}
	if (check_operands(cmd, argc, argv, 3, 3))
		return STATUS_MISUSED;
	status = get_target(cmd, argv[optind + 1], &target);
	if (!status)
		status = card_open_window(cmd, &card, argv[optind], false);
	if (status)
		return status;
	regions_try(cmd);
	status = diff_card(cmd, &card, &target, argv[optind + 2], max);
	card_close(&card);
	return status;
}
