// SPDX-License-Identifier: MIT
/* rmctl load and save: a file into the memory of every node, and the other way round. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "source.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/regions/regions.h"
#include "transfer.h"

static int report(const struct transfer *transfer, const char *file)
{
	const struct command *cmd = transfer->cmd;

	return out_json(cmd, json_pack("{s:s, s:I, s:I, s:o}", "device", cmd->card, "offset",
				       (json_int_t)transfer->offset, "length",
				       (json_int_t)transfer->length, "file", json_clean(file)));
}

/* --- load --------------------------------------------------------------------------- */

static int load_blocks(struct transfer *transfer, const void *context)
{
	unsigned char *block = transfer_block(transfer->cmd, TRANSFER_BLOCK);
	int status = block ? STATUS_OK : STATUS_FAILED;
	size_t length;

	while (!status && !transfer_stopped(transfer) && (length = transfer_next(transfer))) {
		status = source_read(transfer->cmd, context, transfer->done, block, length);
		if (status)
			transfer_partly(transfer, "");
		else
			status = transfer_store(transfer, block, length);
	}
	free(block);
	return status;
}

static int report_load(struct transfer *transfer, const void *context)
{
	const struct source *source = context;

	return report(transfer, source->name);
}

int verb_load(struct command *cmd, int argc, char **argv)
{
	struct target target;
	struct source source;
	bool yes = false;
	int status;

	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != 'y')
			return STATUS_MISUSED;
		yes = true;
	}
	if (check_operands(cmd, argc, argv, 3, 3))
		return STATUS_MISUSED;
	status = get_target_or_offset(cmd, argv[optind + 2], &target);
	if (status)
		return status;
	status = source_open(cmd, &source, argv[optind + 1], target.length);
	if (!status)
		status = change_card(cmd, argv[optind], yes, target.offset, source.size,
				     load_blocks, report_load, &source);
	source_close(&source);
	return status;
}

/* --- save --------------------------------------------------------------------------- */

static int save_blocks(struct command *cmd, struct transfer *transfer, struct sink *sink)
{
	char *block = transfer_block(cmd, TRANSFER_BLOCK);
	char done[UNIT_TEXT], all[UNIT_TEXT];
	int status = block ? STATUS_OK : STATUS_FAILED;
	size_t length;

	while (!status && !stop_asked() && (length = transfer_next(transfer))) {
		uint64_t before = transfer->done;

		status = transfer_load(transfer, block, length);
		if (!status)
			status = sink_write(cmd, sink, block, transfer->done - before);
	}
	transfer_end(transfer);
	size_text(done, sink->written);
	size_text(all, transfer->length);
	if (!status && sink->written < transfer->length)
		status = sink->temporary ?
			failed(cmd, "interrupted after the first %s of %s", done, all) :
			failed(cmd, "interrupted: %s has the first %s of %s", sink->name, done, all);
	free(block);
	return status;
}

static int save_card(struct command *cmd, const struct card *card, const struct target *target,
		     const char *file)
{
	struct transfer transfer;
	struct sink sink;
	int status;

	status = transfer_begin(&transfer, cmd, card, target->offset, target->length);
	if (!status)
		status = sink_open(cmd, &sink, file);
	if (status)
		return status;
	status = save_blocks(cmd, &transfer, &sink);
	status = sink_close(cmd, &sink, status);
	return status || !cmd->json ? status : report(&transfer, sink.name);
}

int verb_save(struct command *cmd, int argc, char **argv)
{
	struct target target;
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 3, 3))
		return STATUS_MISUSED;
	if (cmd->json && !strcmp(argv[optind + 2], "-"))
		return misused(cmd, "standard output cannot have both the bytes and JSON");
	if (!*argv[optind + 2])
		return misused(cmd, "the name of the file is empty");
	status = get_target(cmd, argv[optind + 1], &target);
	if (!status)
		status = card_open_window(cmd, &card, argv[optind], false);
	if (status)
		return status;
	status = save_card(cmd, &card, &target, argv[optind + 2]);
	card_close(&card);
	return status;
}
