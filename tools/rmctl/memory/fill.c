// SPDX-License-Identifier: MIT
/* rmctl fill: one value again and again, into the memory of every node. */
#include <stdlib.h>
#include <string.h>

#include "named.h"
#include "tools/common/parse.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/regions/value.h"
#include "transfer.h"

/* What goes where. */
struct fill {
	struct target target;	/* where */
	const char *word;	/* the value as it was typed */
	unsigned int width;	/* -w, 0: not given */
	bool yes;		/* -y */
	unsigned char *pattern;	/* the value as it is in the memory */
	uint64_t size;		/* bytes of that */
};

static int get_options(struct command *cmd, int argc, char **argv, struct fill *fill)
{
	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option == 'y')
			fill->yes = true;
		else if (option != 'w' || get_width(cmd, &fill->width))
			return STATUS_MISUSED;
	}
	return STATUS_OK;
}

/* Of the type that the name has; with -w, and of structures, a number of so many bytes. */
static int get_pattern(struct command *cmd, struct fill *fill)
{
	unsigned int width = fill->width ? fill->width : WIDTH_DEFAULT;
	struct rfm_place element = fill->target.place;
	bool typed = element.type && !fill->width;
	uint64_t number = 0;

	if (!typed) {
		if (fill->target.offset % width || fill->target.length % width)
			return misused(cmd, "'%s' does not begin and end at a multiple of the "
				       "width %u: say -w", fill->target.word, width);
		if (get_number(cmd, "value", fill->word, width_max(width), &number))
			return STATUS_MISUSED;
		element.length = width;
	} else if (element.type != RFM_REGION_CHAR) {
		element.length /= element.count;
		element.count = 1;
	}
	fill->size = element.length;
	fill->pattern = needed(cmd, malloc(fill->size));
	if (typed)
		return value_scan(cmd, fill->target.word, &element, fill->word, fill->pattern);
	memcpy(fill->pattern, &number, width);
	return STATUS_OK;
}

static int make_block(struct transfer *transfer, void *block, size_t length, void *context)
{
	const struct fill *fill = context;

	/* What the first has is right for the others: none of them is longer. */
	for (size_t at = 0; !transfer->done && at < length; at += fill->size)
		memcpy((char *)block + at, fill->pattern, fill->size);
	return STATUS_OK;
}

int verb_fill(struct command *cmd, int argc, char **argv)
{
	struct fill fill = { .width = 0 };
	uint64_t whole;
	int status;

	hide_negatives(argc, argv);
	status = get_options(cmd, argc, argv, &fill);
	if (!status)
		status = check_operands(cmd, argc, argv, 3, 3);
	if (status)
		return status;
	fill.word = plain_word(argv[optind + 2]);
	status = get_target(cmd, plain_word(argv[optind + 1]), &fill.target);
	if (!status)
		status = get_pattern(cmd, &fill);
	if (!status) {
		whole = TRANSFER_BLOCK / fill.size * fill.size;
		status = change_card(cmd, argv[optind], fill.yes, &(struct transfer){
			.offset = fill.target.offset, .length = fill.target.length,
			.block = whole ? whole : fill.size,
		}, make_block, &fill, "pattern",
		   cmd->json ? data_json(fill.pattern, fill.size) : NULL);
	}
	free(fill.pattern);
	return status;
}
