// SPDX-License-Identifier: MIT
/* rmctl fill: one value again and again, into the memory of every node. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/parse.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/regions/value.h"
#include "transfer.h"

#define WIDTH_DEFAULT 4u

/**
 * struct fill - what goes where
 * @target: where
 * @word: the value as it was typed
 * @width: -w, 0: not given
 * @yes: -y
 * @pattern: the value as it is in the memory
 * @size: bytes of that
 */
struct fill {
	struct target target;
	const char *word;
	unsigned int width;
	bool yes;
	unsigned char *pattern;
	uint64_t size;
};

static int get_options(struct command *cmd, int argc, char **argv, struct fill *fill)
{
	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		switch (option) {
		case 'w':
			if (!parse_width(plain_word(optarg), &fill->width))
				return misused(cmd, "width '%s' is not 1, 2, 4 or 8",
					       plain_word(optarg));
			break;
		case 'y':
			fill->yes = true;
			break;
		default:
			return STATUS_MISUSED;
		}
	}
	return STATUS_OK;
}

/* A value of the type that the name has. */
static int typed_pattern(struct command *cmd, struct fill *fill)
{
	struct rfm_place element = fill->target.place;

	if (element.type != RFM_REGION_CHAR) {
		element.length /= element.count;
		element.count = 1;
	}
	fill->size = element.length;
	fill->pattern = malloc(fill->size);
	if (!fill->pattern)
		return failed(cmd, "out of memory");
	return value_scan(cmd, fill->target.word, &element, fill->word, fill->pattern);
}

/* A number of @width bytes; also for structures, which have no type of value. */
static int wide_pattern(struct command *cmd, struct fill *fill)
{
	unsigned int width = fill->width ? fill->width : WIDTH_DEFAULT;
	uint64_t value;
	int status;

	if (fill->target.offset % width || fill->target.length % width)
		return misused(cmd, "'%s' does not begin and end at a multiple of the width %u: "
			       "say -w", fill->target.word, width);
	status = get_number(cmd, "value", fill->word, width_max(width), &value);
	if (status)
		return status;
	fill->size = width;
	fill->pattern = malloc(width);
	if (!fill->pattern)
		return failed(cmd, "out of memory");
	memcpy(fill->pattern, &value, width);
	return STATUS_OK;
}

static int report(struct transfer *transfer, const void *context)
{
	const struct command *cmd = transfer->cmd;
	const struct fill *fill = context;

	return out_json(cmd, json_pack("{s:s, s:I, s:I, s:o}", "device", cmd->card, "offset",
				       (json_int_t)transfer->offset, "length",
				       (json_int_t)transfer->length, "pattern",
				       data_json(fill->pattern, fill->size)));
}

static int store(struct transfer *transfer, const void *context)
{
	const struct fill *fill = context;
	uint64_t whole = TRANSFER_BLOCK / fill->size * fill->size;
	uint64_t length = whole ? whole : fill->size;
	int status = STATUS_OK;
	unsigned char *block;

	if (length > transfer->length)
		length = transfer->length;
	block = transfer_block(transfer->cmd, length);
	if (!block)
		return STATUS_FAILED;
	for (uint64_t at = 0; at < length; at += fill->size)
		memcpy(block + at, fill->pattern, fill->size);
	while (!status && transfer->done < transfer->length && !transfer_stopped(transfer)) {
		uint64_t left = transfer->length - transfer->done;

		status = transfer_store(transfer, block, left < length ? left : length);
	}
	free(block);
	return status;
}

int verb_fill(struct command *cmd, int argc, char **argv)
{
	struct fill fill = { .width = 0 };
	int status;

	hide_negatives(argc, argv);
	status = get_options(cmd, argc, argv, &fill);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 3, 3))
		return STATUS_MISUSED;
	fill.word = plain_word(argv[optind + 2]);
	status = get_target(cmd, plain_word(argv[optind + 1]), &fill.target);
	if (!status && fill.target.named && fill.target.place.type && !fill.width)
		status = typed_pattern(cmd, &fill);
	else if (!status)
		status = wide_pattern(cmd, &fill);
	if (!status)
		status = change_card(cmd, argv[optind], fill.yes, fill.target.offset,
				     fill.target.length, store, report, &fill);
	free(fill.pattern);
	return status;
}
