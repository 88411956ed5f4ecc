// SPDX-License-Identifier: MIT
/* rmctl diff: what in the memory is not as in a file? */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/regions/value.h"
#include "transfer.h"

#define SHOWN_DEFAULT 16u
#define WORD 4u		/* bytes that are shown together where no name is known */

/* The memory and a file, side by side. */
struct difference {
	struct command *cmd;
	const struct target *target;	/* the range */
	const struct source *source;
	struct transfer transfer;	/* through all of the range */
	/* The bytes of the file that belong to a block of the memory. */
	unsigned char *block;
	uint64_t max;			/* so many are shown */
	uint64_t shown;			/* so many have been */
	uint64_t bytes;			/* that differ */
	/* In the range: what lies before it has been shown or is equal. */
	uint64_t next;
	json_t *array;			/* JSON */
	/* The value that is being looked up, or the word, which has no type. */
	struct rfm_place value;
	char name[RFM_REGION_PATH_MAX];	/* of the value */
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

static void show(struct difference *diff, const char *card, const char *file)
{
	const struct rfm_place *value = &diff->value;
	bool named = value->type;
	const char *unit = value->unit, *blank = *unit ? " " : "";

	progress_end(&diff->transfer.progress);
	if (diff->cmd->json)
		json_array_append_new(diff->array, json_pack(
			"{s:I, s:I, s:s?, s:s?, s:s?, s:o, s:o}", "offset",
			(json_int_t)value->offset, "length", (json_int_t)value->length, "name",
			named ? diff->name : NULL, "type",
			named ? rfm_region_type_name(value->type) : NULL, "unit",
			named ? unit : NULL, "card", value_json(value->type, card), "file",
			value_json(value->type, file)));
	else
		printf("0x%08" PRIx64 ": %s%scard %s%s%s, file %s%s%s\n", (uint64_t)value->offset,
		       diff->name, named ? ": " : "", card, blank, unit, file, blank, unit);
}

/* The byte at @at in the range differs: shows what it is part of. Returns an exit status. */
static int tell(struct difference *diff, uint64_t at)
{
	uint64_t from = diff->target->offset;
	const struct rfm_place *value = &diff->value;
	unsigned char *card, *file;
	struct transfer again;
	size_t length, room;
	char *texts;
	int status;

	find_value(diff, at);
	length = value->length;
	room = VALUE_TEXT(length);
	card = needed(diff->cmd, malloc(2 * (length + room)));
	file = card + length;
	texts = (char *)file + length;
	status = transfer_begin(&again, diff->cmd, diff->transfer.card, value->offset, length);
	if (!status)
		status = transfer_move(&again, (char *)card, length, false);
	if (!status)
		status = source_read(diff->cmd, diff->source, value->offset - from, file, length);
	if (!status && again.done == length && memcmp(card, file, length))
		show(diff, place_text(value, card, texts, room),
		     place_text(value, file, texts + room, room));
	diff->shown++;
	diff->next = value->offset + length - from;
	free(card);
	return status;
}

static int compare(struct transfer *transfer, void *block, size_t length, void *context)
{
	struct difference *diff = context;
	const unsigned char *card = block, *file = diff->block;
	uint64_t begin = transfer->done - length;
	int status = source_read(diff->cmd, diff->source, begin, diff->block, length);

	if (status || !memcmp(card, file, length))
		return status;
	for (uint64_t i = 0; i < length && !status; i++) {
		if (card[i] == file[i])
			continue;
		diff->bytes++;
		if (begin + i >= diff->next && diff->shown < diff->max)
			status = tell(diff, begin + i);
	}
	return status;
}

static int compare_all(struct difference *diff, const struct card *card)
{
	struct transfer *transfer = &diff->transfer;
	int status = transfer_begin(transfer, diff->cmd, card, diff->target->offset,
				    diff->target->length);

	diff->block = needed(diff->cmd, malloc(TRANSFER_BLOCK));
	if (!status)
		status = transfer_run(transfer, false, compare, diff);
	if (!status && transfer->done < transfer->length)
		status = transfer_cut_short(diff->cmd, transfer->done, transfer->length,
					    "compared");
	free(diff->block);
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
		.cmd = cmd, .target = target, .source = &source, .max = max, .array = json_array(),
	};
	int status = card_check_range(cmd, card, target->offset, target->length);

	if (!status) {
		status = source_open(cmd, &source, file, target->length);
		if (!status)
			status = compare_all(&diff, card);
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

	for (int option; (option = next_option(cmd, argc, argv)) != -1;)
		if (option != 'n' || get_number(cmd, "count", optarg, UINT64_MAX, &max))
			return STATUS_MISUSED;
	if (check_operands(cmd, argc, argv, 3, 3))
		return STATUS_MISUSED;
	status = get_target(cmd, argv[optind + 1], &target);
	if (!status)
		status = card_open_window(cmd, &card, argv[optind], false);
	if (status)
		return status;
	regions_try(cmd);
	return diff_card(cmd, &card, &target, argv[optind + 2], max);
}
