// SPDX-License-Identifier: MIT
/* rmctl dump: a range of the memory for people, programs or files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "named.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/regions/value.h"
#include "transfer.h"

#define CHUNK 4096u
#define ROW 16u

/* What is remembered from row to row. */
struct hexdump {
	unsigned char last[ROW];	/* the row before */
	bool have_last;			/* there was one */
	bool collapsed;			/* a "*" stands for the rows before */
};

static void print_rows(struct hexdump *state, uint64_t offset, const unsigned char *data,
		       size_t length)
{
	for (size_t at = 0; at < length; at += ROW) {
		size_t row = length - at < ROW ? length - at : ROW;

		if (row == ROW && state->have_last && !memcmp(state->last, data + at, ROW)) {
			if (!state->collapsed)
				puts("*");
			state->collapsed = true;
			continue;
		}
		print_row(offset + at, data + at, row, ROW);
		fputs("  |", stdout);
		for (size_t i = at; i < at + row; i++)
			putchar(data[i] >= 0x20 && data[i] < 0x7f ? data[i] : '.');
		puts("|");
		memcpy(state->last, data + at, row);
		state->have_last = row == ROW;
		state->collapsed = false;
	}
}

static int print_block(struct transfer *transfer, void *block, size_t length, void *state)
{
	const struct command *cmd = transfer->cmd;
	uint64_t offset = transfer->offset + transfer->done - length;

	if (cmd->json)
		return out_json(cmd, json_pack(
			"{s:s, s:I, s:I, s:o}", "device", cmd->card, "offset", (json_int_t)offset,
			"length", (json_int_t)length, "data", data_json(block, length)));
	if (state)
		print_rows(state, offset, block, length);
	else
		fwrite(block, 1, length, stdout);
	return ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int dump(const struct command *cmd, const struct card *card, const struct target *target,
		bool raw)
{
	struct transfer transfer = {
		.cmd = cmd, .card = card, .offset = target->offset, .length = target->length,
		.block = CHUNK,
	};
	int status = card_check_range(cmd, card, target->offset, target->length);
	struct hexdump state = { .have_last = false };

	if (!status)
		status = transfer_run(&transfer, false, print_block, raw ? NULL : &state);
	if (!status && !raw && !cmd->json)
		printf("%08" PRIx64 "\n", target->offset + transfer.done);
	return out_flush(cmd) ? STATUS_FAILED : status;
}

/* Reads RANGE, or OFFSET LENGTH. Returns an exit status. */
static int get_operands(struct command *cmd, char **words, int count, struct target *target)
{
	int status;

	if (count == 1)
		return get_target(cmd, words[0], target);
	if (word_is_name(words[0]))
		return misused(cmd, "a name has its own length");
	status = get_number(cmd, "offset", words[0], UINT64_MAX, &target->offset);
	return status ? status : get_number(cmd, "length", words[1], UINT64_MAX, &target->length);
}

int verb_dump(struct command *cmd, int argc, char **argv)
{
	struct target target;
	bool raw = false;
	struct card card;
	int status, option;

	while ((option = next_option(cmd, argc, argv)) == OPTION_RAW)
		raw = true;
	if (option != -1 || check_operands(cmd, argc, argv, 2, 3))
		return STATUS_MISUSED;
	if (raw && cmd->json)
		return misused(cmd, "--raw and --json exclude each other");
	if (argc - optind == 2 && word_is_name(argv[optind + 1]) && !raw)
		return show_name(cmd, argv[optind], argv[optind + 1], true);
	status = get_operands(cmd, argv + optind + 1, argc - optind - 1, &target);
	if (status)
		return status;
	if (!target.length)
		return misused(cmd, "length must be at least 1");
	status = card_open_window(cmd, &card, argv[optind], false);
	return status ? status : dump(cmd, &card, &target, raw);
}
