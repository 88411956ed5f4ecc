// SPDX-License-Identifier: MIT
/* rmctl load and save: a file into the memory of every node, and the other way round. */
#include <string.h>

#include "files.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/regions/regions.h"
#include "transfer.h"

/* --- load --------------------------------------------------------------------------- */

static int read_block(struct transfer *transfer, void *block, size_t length, void *source)
{
	int status = source_read(transfer->cmd, source, transfer->done, block, length);

	if (status)
		transfer_partly(transfer, "");
	return status;
}

int verb_load(struct command *cmd, int argc, char **argv)
{
	struct target target;
	struct source source;
	bool yes = false;
	int status, option;

	while ((option = next_option(cmd, argc, argv)) == 'y')
		yes = true;
	if (option != -1 || check_operands(cmd, argc, argv, 3, 3))
		return STATUS_MISUSED;
	status = get_target_or_offset(cmd, argv[optind + 2], &target);
	if (status)
		return status;
	status = source_open(cmd, &source, argv[optind + 1], target.length);
	if (!status)
		status = change_card(cmd, argv[optind], yes, &(struct transfer){
			.offset = target.offset, .length = source.size, .block = TRANSFER_BLOCK,
		}, read_block, &source, "file", json_clean(source.name));
	source_close(&source);
	return status;
}

/* --- save --------------------------------------------------------------------------- */

static int write_block(struct transfer *transfer, void *block, size_t length, void *sink)
{
	return sink_write(transfer->cmd, sink, block, length);
}

static int save_card(struct command *cmd, const struct card *card, const struct target *target,
		     const char *file)
{
	char done[UNIT_TEXT], all[UNIT_TEXT];
	struct transfer transfer;
	struct sink sink;
	int status;

	status = transfer_begin(&transfer, cmd, card, target->offset, target->length);
	if (!status)
		status = sink_open(cmd, &sink, file);
	if (status)
		return status;
	status = transfer_run(&transfer, false, write_block, &sink);
	size_text(done, sink.written);
	size_text(all, transfer.length);
	if (!status && sink.written < transfer.length)
		status = sink.temporary ?
			failed(cmd, "interrupted after the first %s of %s", done, all) :
			failed(cmd, "interrupted: %s has the first %s of %s", sink.name, done, all);
	status = sink_close(cmd, &sink, status);
	return status || !cmd->json ? status :
				      transfer_report(&transfer, "file", json_clean(sink.name));
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
	return status ? status : save_card(cmd, &card, &target, argv[optind + 2]);
}
