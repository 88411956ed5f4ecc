// SPDX-License-Identifier: MIT
/* rmctl load and save: a file into the memory of every node, and the other way round. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "out.h"
#include "parse.h"
#include "regions.h"
#include "source.h"
#include "stop.h"
#include "transfer.h"
#include "units.h"

const struct option yes_option[] = {
	{ "yes", no_argument, NULL, 'y' },
	{ 0 },
};

static int report(const struct command *cmd, const struct transfer *transfer, const char *file)
{
	if (!cmd->json)
		return STATUS_OK;
	return out_json(cmd, json_pack("{s:s, s:I, s:I, s:s}", "device", cmd->card, "offset",
				       (json_int_t)transfer->offset, "length",
				       (json_int_t)transfer->length, "file", file));
}

/* --- load --------------------------------------------------------------------------- */

/* Reads OFFSET, whose length is that of the file and stays 0, or a range or name. */
static int get_place_for_file(struct command *cmd, const char *word, struct target *target)
{
	if (word_is_name(word) || word_is_range(word))
		return get_target(cmd, word, target);
	*target = (struct target){ .word = word };
	return get_number(cmd, "offset", word, UINT64_MAX, &target->offset);
}

static int load_blocks(struct command *cmd, const struct source *source,
		       struct transfer *transfer)
{
	unsigned char *block = transfer_block(cmd, TRANSFER_BLOCK);
	char done[UNIT_WORD], all[UNIT_WORD];
	int status = block ? STATUS_OK : STATUS_FAILED;
	size_t length;

	while (!status && !transfer_stopped(transfer) && (length = transfer_next(transfer))) {
		status = source_read(cmd, source, transfer->done, block, length);
		if (!status)
			status = transfer_store(transfer, block, length);
	}
	transfer_end(transfer);
	if (!status && transfer_stopped(transfer))
		status = failed(cmd, "interrupted: the first %s of %s have been stored, up to 0x%"
				PRIx64 "; what is behind is as it was",
				unit_size(done, sizeof(done), transfer->done),
				unit_size(all, sizeof(all), transfer->length),
				transfer->offset + transfer->done);
	free(block);
	return status;
}

static int load_card(struct command *cmd, const char *dev, const struct source *source,
		     uint64_t offset, bool yes)
{
	struct transfer transfer;
	struct card card;
	int status = card_open(cmd, &card, dev, true);

	if (status)
		return status;
	status = card_check_range(cmd, &card, offset, source->size);
	if (!status)
		status = ask_user(cmd, yes, offset, source->size);
	if (!status)
		status = transfer_begin(&transfer, cmd, &card, offset, source->size);
	if (!status)
		status = load_blocks(cmd, source, &transfer);
	if (!status)
		status = report(cmd, &transfer, source->name);
	card_close(&card);
	return status;
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
	status = get_place_for_file(cmd, argv[optind + 2], &target);
	if (status)
		return status;
	status = source_open(cmd, &source, argv[optind + 1], target.length);
	if (!status)
		status = load_card(cmd, argv[optind], &source, target.offset, yes);
	source_close(&source);
	return status;
}

/* --- save --------------------------------------------------------------------------- */

/**
 * struct sink - the file that is being written
 * @fd: of it
 * @name: for messages
 * @written: bytes
 */
struct sink {
	int fd;
	const char *name;
	uint64_t written;
};

/* Ends early, with STATUS_OK, when the user has ended it. Returns an exit status. */
static int write_all(const struct command *cmd, struct sink *sink, const char *data, size_t length)
{
	while (length && !stop_asked()) {
		ssize_t put = write(sink->fd, data, length);

		if (put < 0 && errno != EINTR)
			return failed(cmd, "cannot write %s: %s", sink->name, strerror(errno));
		if (put <= 0)
			continue;
		sink->written += (size_t)put;
		data += put;
		length -= (size_t)put;
	}
	return STATUS_OK;
}

static int save_blocks(struct command *cmd, struct transfer *transfer, struct sink *sink)
{
	char *block = transfer_block(cmd, TRANSFER_BLOCK);
	char done[UNIT_WORD], all[UNIT_WORD];
	int status = block ? STATUS_OK : STATUS_FAILED;
	size_t length;

	while (!status && !stop_asked() && (length = transfer_next(transfer))) {
		uint64_t before = transfer->done;

		status = transfer_load(transfer, block, length);
		if (!status)
			status = write_all(cmd, sink, block, transfer->done - before);
	}
	transfer_end(transfer);
	if (!status && sink->written < transfer->length)
		status = failed(cmd, "interrupted: %s has the first %s of %s", sink->name,
				unit_size(done, sizeof(done), sink->written),
				unit_size(all, sizeof(all), transfer->length));
	free(block);
	return status;
}

static int save_card(struct command *cmd, const struct card *card, const struct target *target,
		     const char *file)
{
	bool standard = !strcmp(file, "-");
	struct sink sink = { .name = standard ? "standard output" : file };
	struct transfer transfer;
	int status;

	status = transfer_begin(&transfer, cmd, card, target->offset, target->length);
	if (status)
		return status;
	sink.fd = standard ? dup(STDOUT_FILENO) :
			     open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (sink.fd < 0)
		return failed(cmd, "cannot write %s: %s", sink.name, strerror(errno));
	status = save_blocks(cmd, &transfer, &sink);
	/* Some file systems say only now that there was no room. */
	if (close(sink.fd) && !status)
		status = failed(cmd, "cannot write %s: %s", sink.name, strerror(errno));
	return status ? status : report(cmd, &transfer, sink.name);
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
	status = get_target(cmd, argv[optind + 1], &target);
	if (!status)
		status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	status = save_card(cmd, &card, &target, argv[optind + 2]);
	card_close(&card);
	return status;
}
