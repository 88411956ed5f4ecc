// SPDX-License-Identifier: MIT
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

/* May this change the memory of every node? If not, why has been said. */
static int ask_user(const struct command *cmd, bool yes, uint64_t offset, uint64_t length)
{
	char size[UNIT_TEXT], answer[16] = "";

	if (yes)
		return STATUS_OK;
	size_text(size, length);
	if (!isatty(STDIN_FILENO))
		return misused(cmd, "this changes %s at 0x%" PRIx64
			       " on every node: say -y if that is meant", size, offset);
	fprintf(stderr, "%s: this changes %s at 0x%" PRIx64 " on every node. Go on? [y/N] ",
		cmd->card, size, offset);
	if (!fgets(answer, sizeof(answer), stdin))
		fputc('\n', stderr);
	if (!strcasecmp(answer, "y\n") || !strcasecmp(answer, "yes\n"))
		return STATUS_OK;
	return failed(cmd, "nothing was changed");
}

/* From now on SIGINT ends the transfer between two blocks. Returns an exit status. */
int transfer_begin(struct transfer *transfer, const struct command *cmd, const struct card *card,
		   uint64_t offset, uint64_t length)
{
	*transfer = (struct transfer){
		.cmd = cmd, .card = card, .offset = offset, .length = length,
		.block = TRANSFER_BLOCK,
	};
	progress_begin(&transfer->progress, cmd, length);
	return card_check_range(cmd, card, offset, length);
}

/*
 * Loads the next bytes of the range, or stores them. Ends early, with STATUS_OK, when the user
 * has ended it. Returns an exit status.
 */
int transfer_move(struct transfer *transfer, char *data, size_t length, bool store)
{
	const struct card *card = transfer->card;
	uint64_t end = transfer->done + length;
	char before[UNIT_TEXT];

	while (transfer->done < end && !stop_asked()) {
		uint64_t at = transfer->offset + transfer->done;
		size_t left = end - transfer->done;
		off_t position = card_position(card, at);
		ssize_t moved = store ? pwrite(rfm_fd(card->rfm), data, left, position) :
					pread(rfm_fd(card->rfm), data, left, position);
		int error = errno;
		const char *why;

		if (moved > 0) {
			data += moved;
			transfer->done += (size_t)moved;
		}
		progress_show(&transfer->progress, transfer->done);
		if (moved > 0 || (moved && error == EINTR))
			continue;
		why = moved ? card_reason(error) : "the memory ends there";
		progress_end(&transfer->progress);
		if (!store)
			return failed(transfer->cmd, "cannot read at offset 0x%" PRIx64 ": %s", at,
				      why);
		return failed(transfer->cmd, "cannot store at offset 0x%" PRIx64
			      ": %s; what is before it, %s, has been stored", at, why,
			      size_text(before, transfer->done));
	}
	return STATUS_OK;
}

/*
 * All of it, block by block: each is loaded before its @step, or stored after it. Ends early,
 * with STATUS_OK, when the user has ended it. Returns an exit status.
 */
int transfer_run(struct transfer *transfer, bool store, transfer_step *step, void *context)
{
	int status = STATUS_OK;
	void *block;

	if (posix_memalign(&block, (size_t)sysconf(_SC_PAGESIZE), transfer->block))
		return failed(transfer->cmd, "out of memory");
	while (!status && transfer->done < transfer->length && !stop_asked()) {
		uint64_t before = transfer->done, left = transfer->length - before;
		size_t length = left < transfer->block ? left : transfer->block;

		if (store)
			status = step(transfer, block, length, context);
		if (!status)
			status = transfer_move(transfer, block, length, store);
		if (!status && !store)
			status = step(transfer, block, transfer->done - before, context);
	}
	free(block);
	progress_end(&transfer->progress);
	return status;
}

/* What has been stored when it ended early, which is @why. */
int transfer_partly(const struct transfer *transfer, const char *why)
{
	char done[UNIT_TEXT], all[UNIT_TEXT];

	return failed(transfer->cmd, "%sthe first %s of %s have been stored, up to 0x%" PRIx64
		      "; what is behind is as it was", why, size_text(done, transfer->done),
		      size_text(all, transfer->length), transfer->offset + transfer->done);
}

/* The user has ended what only looks; @what: has been done with the first @done bytes. */
int transfer_cut_short(const struct command *cmd, uint64_t done, uint64_t all, const char *what)
{
	char first[UNIT_TEXT], of[UNIT_TEXT];

	return failed(cmd, "interrupted: only the first %s of %s have been %s",
		      size_text(first, done), size_text(of, all), what);
}

/* What was done, and with @what, which is taken over, as JSON. Returns an exit status. */
int transfer_report(const struct transfer *transfer, const char *key, json_t *what)
{
	return out_json(transfer->cmd, json_pack(
		"{s:s, s:I, s:I, s:o}", "device", transfer->cmd->card, "offset",
		(json_int_t)transfer->offset, "length", (json_int_t)transfer->length, key, what));
}

/*
 * Stores what @step makes into a range of the memory of every node, if that may be; @change says
 * where, and in which blocks. @yes: -y was given. @key and @what: as transfer_report(). Returns
 * an exit status.
 */
int change_card(struct command *cmd, const char *dev, bool yes, const struct transfer *change,
		transfer_step *step, void *context, const char *key, json_t *what)
{
	struct transfer transfer;
	struct card card;
	int status = card_open_window(cmd, &card, dev, true);

	if (!status)
		status = card_check_range(cmd, &card, change->offset, change->length);
	if (!status)
		status = ask_user(cmd, yes, change->offset, change->length);
	if (!status)
		status = transfer_begin(&transfer, cmd, &card, change->offset, change->length);
	if (!status) {
		transfer.block = change->block;
		status = transfer_run(&transfer, true, step, context);
		if (!status && transfer.done < transfer.length)
			status = transfer_partly(&transfer, "interrupted: ");
	}
	if (!status && cmd->json)
		status = transfer_report(&transfer, key, json_incref(what));
	json_decref(what);
	return status;
}
