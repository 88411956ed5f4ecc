// SPDX-License-Identifier: MIT
/* The command line of the verbs that speak to one node, and what it says when they fail. */
#include "remote.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/parse.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/memory/named.h"
#include "tools/rmctl/regions/value.h"

static int take_option(struct command *cmd, int option, struct remote *remote)
{
	uint64_t time;

	switch (option) {
	case 'w':
		return get_width(cmd, &remote->width);
	case 'n':
		if (get_number(cmd, "count", plain_word(optarg), INT64_MAX, &remote->count))
			return STATUS_MISUSED;
		return remote->count ? STATUS_OK : misused(cmd, "count must be at least 1");
	case 't':
		if (get_duration(cmd, "time", plain_word(optarg), &time))
			return STATUS_MISUSED;
		time = (time + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
		if (!time || time > INT_MAX)
			return misused(cmd, "the time must be above 0 and at most %d s",
				       INT_MAX / 1000);
		remote->timeout_ms = (int)time;
		return STATUS_OK;
	case 'f':
		remote->file = optarg;
		return STATUS_OK;
	case OPTION_RAW:
		remote->raw = true;
		return STATUS_OK;
	case OPTION_BASE:
		remote->base = true;
		return STATUS_OK;
	case OPTION_AS_IS:
		remote->as_is = true;
		return STATUS_OK;
	case OPTION_WHILE:
		remote->command = optarg;
		return STATUS_OK;
	default:
		return STATUS_MISUSED;
	}
}

/* Reads the options of the verb; optind is the first operand then. Returns an exit status. */
int remote_options(struct command *cmd, int argc, char **argv, struct remote *remote)
{
	*remote = (struct remote){ .timeout_ms = -1 };
	for (int option; (option = next_option(cmd, argc, argv)) != -1;)
		if (take_option(cmd, option, remote))
			return STATUS_MISUSED;
	if (remote->raw && cmd->json)
		return misused(cmd, "--raw and --json exclude each other");
	return STATUS_OK;
}

int remote_open(struct command *cmd, const char *which, bool writing, struct card *card)
{
	int status = card_open(cmd, card, which, writing);

	if (!status && !(rfm_can(card->rfm) & RFM_CAN_REMOTE))
		status = failed(cmd, "the card has no operations at other nodes");
	return status;
}

int remote_node(struct command *cmd, const char *word, struct remote *remote)
{
	return get_number(cmd, "node", plain_word(word), RFM_NODES - 1, &remote->node);
}

/* Bytes there: those of the name or the range; of an offset, which has none, -w. */
int remote_length(struct command *cmd, const struct remote *remote, const struct target *target,
		  uint64_t *length)
{
	if (remote->width && target->length)
		return target->named ? misused(cmd, "a name has its own width") :
				       misused(cmd, "a range has its own length");
	*length = target->length ? target->length : remote->width ? remote->width : WIDTH_DEFAULT;
	return STATUS_OK;
}

/*
 * The @length bytes that @word is there: of a name in its type, else a number; @what it is, for
 * the message. Returns an exit status.
 */
int remote_value(struct command *cmd, const struct target *target, const char *what,
		 const char *word, uint64_t length, void *bytes)
{
	const struct rfm_place *place = &target->place;
	uint64_t number;

	if (target->named) {
		if (!place->type || (place->type != RFM_REGION_CHAR && place->count > 1))
			return misused(cmd, "'%s' is not one value", target->word);
		return value_scan(cmd, target->word, place, word, bytes);
	}
	if (length > sizeof(number) || length & (length - 1))
		return misused(cmd, "a number has 1, 2, 4 or 8 bytes, not %" PRIu64, length);
	if (get_number(cmd, what, word, width_max((unsigned int)length), &number))
		return STATUS_MISUSED;
	memcpy(bytes, &number, length);
	return STATUS_OK;
}

static const struct {
	int error;
	const char *sentence;
} sentences[] = {
	{ EACCES, "the node does not allow it there" },
	{ EINVAL, "not all of it is in the memory of that node, or the word is not aligned" },
	{ EHOSTUNREACH, "there is no such node on the ring" },
	{ ENODATA, "that node is incomplete itself" },
	{ ECONNREFUSED, "nobody listens at that port" },
	{ EMSGSIZE, "it is longer than who listens there takes" },
	{ EBUSY, "the node stands still, or has no room: nothing was done" },
	{ ENOLINK, "the node is dark: nothing can leave it" },
	{ EREMOTEIO, "no answer has come: it may have been done" },
	{ ETIMEDOUT, "it has not ended in time: it may have been done" },
	{ EINTR, "interrupted: it may have been done" },
	{ EADDRINUSE, "somebody listens at that port already" },
	{ ENOSPC, "the card has no room for what may wait at one more port" },
	{ EALREADY, "another one is under way" },
};

/* Says why. Returns an exit status. */
int remote_failed(const struct command *cmd, int error)
{
	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (sentences[i].error == error)
			return failed(cmd, "%s", sentences[i].sentence);
	return failed(cmd, "%s", card_reason(error));
}

/* All of a file, 1 to @max bytes; @data is to be freed. Returns an exit status. */
int remote_file(struct command *cmd, const char *name, size_t max, unsigned char **data,
		size_t *length)
{
	const bool named = strcmp(name, "-");
	FILE *file = named ? fopen(name, "re") : stdin;
	int status = STATUS_OK;

	*data = needed(cmd, malloc(max + 1));
	*length = file ? fread(*data, 1, max + 1, file) : 0;
	if (!file || ferror(file))
		status = failed(cmd, "cannot read %s: %s", name, strerror(errno));
	else if (!*length || *length > max)
		status = failed(cmd, "%s has not 1 to %zu bytes", name, max);
	if (file && named)
		fclose(file);
	return status;
}
