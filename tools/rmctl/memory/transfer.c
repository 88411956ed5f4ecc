// SPDX-License-Identifier: MIT
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/units.h"
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

/* A block for pread() and pwrite(); NULL when it has been said that there is no memory. */
void *transfer_block(const struct command *cmd, size_t length)
{
	void *block;

	if (!posix_memalign(&block, (size_t)sysconf(_SC_PAGESIZE), length))
		return block;
	failed(cmd, "out of memory");
	return NULL;
}

/* From now on SIGINT ends the transfer between two blocks. Returns an exit status. */
int transfer_begin(struct transfer *transfer, const struct command *cmd, const struct card *card,
		   uint64_t offset, uint64_t length)
{
	*transfer = (struct transfer){
		.cmd = cmd, .card = card, .offset = offset, .length = length,
	};
	progress_begin(&transfer->progress, cmd, length);
	return card_check_range(cmd, card, offset, length);
}

/* Bytes of the next block; 0 at the end. */
size_t transfer_next(const struct transfer *transfer)
{
	uint64_t left = transfer->length - transfer->done;

	return left < TRANSFER_BLOCK ? (size_t)left : TRANSFER_BLOCK;
}

/* Has the user ended it before its end? */
bool transfer_stopped(const struct transfer *transfer)
{
	return progress_stopped(&transfer->progress, transfer->done);
}

/* The line goes; what follows has the terminal to itself. */
void transfer_end(struct transfer *transfer)
{
	progress_end(&transfer->progress);
}

/* Counts what a call has done. Returns false if it is to be made again or has failed. */
static bool count(struct transfer *transfer, ssize_t bytes)
{
	if (bytes > 0)
		transfer->done += (size_t)bytes;
	progress_show(&transfer->progress, transfer->done);
	return bytes > 0;
}

static int move(struct transfer *transfer, char *data, size_t length, bool store)
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

		if (count(transfer, moved)) {
			data += moved;
			continue;
		}
		if (moved && error == EINTR)
			continue;
		why = moved ? card_reason(error) : "the memory ends there";
		transfer_end(transfer);
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
 * Loads the next bytes of the range. Ends early, with STATUS_OK, when transfer_stopped().
 * Returns an exit status.
 */
int transfer_load(struct transfer *transfer, void *data, size_t length)
{
	return move(transfer, data, length, false);
}

/* The same in the other direction. */
int transfer_store(struct transfer *transfer, const void *data, size_t length)
{
	return move(transfer, (void *)data, length, true);
}

/* What has been stored when it ended early, which is @why. */
int transfer_partly(const struct transfer *transfer, const char *why)
{
	char done[UNIT_TEXT], all[UNIT_TEXT];

	return failed(transfer->cmd, "%sthe first %s of %s have been stored, up to 0x%" PRIx64
		      "; what is behind is as it was", why, size_text(done, transfer->done),
		      size_text(all, transfer->length), transfer->offset + transfer->done);
}

/*
 * Lets @store change a range of the memory of every node, if that may be, and with -j @report
 * say so. @yes: -y was given. Returns an exit status.
 */
int change_card(struct command *cmd, const char *dev, bool yes, uint64_t offset, uint64_t length,
		changer *store, changer *report, const void *context)
{
	struct transfer transfer;
	struct card card;
	int status = card_open_window(cmd, &card, dev, true);

	if (status)
		return status;
	status = card_check_range(cmd, &card, offset, length);
	if (!status)
		status = ask_user(cmd, yes, offset, length);
	if (!status)
		status = transfer_begin(&transfer, cmd, &card, offset, length);
	if (!status) {
		status = store(&transfer, context);
		transfer_end(&transfer);
		if (!status && transfer_stopped(&transfer))
			status = transfer_partly(&transfer, "interrupted: ");
		if (!status && cmd->json)
			status = report(&transfer, context);
	}
	card_close(&card);
	return status;
}

/* The user has ended what only looks; @what: has been done with the first @done bytes. */
int transfer_cut_short(const struct command *cmd, uint64_t done, uint64_t all, const char *what)
{
	char first[UNIT_TEXT], of[UNIT_TEXT];

	return failed(cmd, "interrupted: only the first %s of %s have been %s",
		      size_text(first, done), size_text(of, all), what);
}
