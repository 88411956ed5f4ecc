// SPDX-License-Identifier: MIT
/* rmctl get and put: bytes of the memory of one node. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/memory/named.h"
#include "tools/rmctl/regions/value.h"
#include "tools/rmctl/remote/remote.h"

#define CHUNK	(64u << 10)	/* bytes of one request, and of one object of JSON */
#define BATCH	1024u		/* values of one object of JSON */

/* --- get ---------------------------------------------------------------------------------- */

/* Returns an exit status; what is wrong has been said. */
static int fetch(const struct command *cmd, const struct remote *remote, uint64_t offset,
		 void *data, size_t length)
{
	if (rfm_get(remote->card.rfm, remote->node, offset, data, length, remote->timeout_ms))
		return remote_failed(cmd, errno);
	return STATUS_OK;
}

/* @word: it is one, which is printed as a number. */
static int print_bytes(const struct command *cmd, const struct remote *remote, uint64_t offset,
		       const unsigned char *data, size_t length, bool word)
{
	char text[VALUE_TEXT(8)];

	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:I, s:I, s:o}", "device", cmd->card, "node",
					       (json_int_t)remote->node, "offset",
					       (json_int_t)offset, "data",
					       data_json(data, length)));
	if (remote->raw) {
		fwrite(data, 1, length, stdout);
	} else if (word) {
		puts(place_text(&(struct rfm_place){ .length = length }, data, text, sizeof(text)));
	} else {
		for (size_t at = 0; at < length; at += 16) {
			print_row(offset + at, data + at, length - at < 16 ? length - at : 16, 16);
			putchar('\n');
		}
	}
	return ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int get_bytes(struct command *cmd, const struct remote *remote,
		     const struct target *target, uint64_t length)
{
	unsigned char *data = needed(cmd, malloc(CHUNK));
	int status = STATUS_OK;
	size_t some;

	for (uint64_t done = 0; done < length && !status; done += some) {
		some = length - done < CHUNK ? length - done : CHUNK;
		status = fetch(cmd, remote, target->offset + done, data, some);
		if (!status)
			status = print_bytes(cmd, remote, target->offset + done, data, some,
					     !target->length);
	}
	free(data);
	return out_flush(cmd) ? STATUS_FAILED : status;
}

/* The values of a name, which are being printed. */
struct shown {
	struct command *cmd;
	const struct remote *remote;
	const struct target *target;
	unsigned char *bytes;	/* all of them */
	char *text;		/* room for the longest value, @room bytes */
	size_t room;
	json_t *values;		/* of the object that is not printed yet */
};

static int print_values(struct shown *shown)
{
	json_t *values = shown->values;

	shown->values = json_array();
	return out_json(shown->cmd, json_pack(
		"{s:s, s:I, s:s, s:I, s:I, s:o}", "device", shown->cmd->card, "node",
		(json_int_t)shown->remote->node, "name", shown->target->word, "offset",
		(json_int_t)shown->target->offset, "length", (json_int_t)shown->target->length,
		"values", values));
}

static int show_value(void *context, const char *name, const struct rfm_place *value)
{
	struct shown *shown = context;

	rfm_value_print(value, shown->bytes + (value->offset - shown->target->offset), shown->text,
			shown->room);
	if (shown->cmd->json) {
		json_array_append_new(shown->values, value_object(name, value, shown->text));
		return json_array_size(shown->values) < BATCH ? STATUS_OK : print_values(shown);
	}
	value_print(name, value, shown->text);
	putchar('\n');
	return ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

static int show_values(struct shown *shown)
{
	const char *name = shown->target->word;
	int status = rfm_regions_each(name, &shown->target->place, show_value, shown);

	if (status < 0 && errno == ERANGE)
		return failed(shown->cmd, "'%s' has values beyond its end: 'rmctl regions check' "
			      "shows them", name);
	if (status < 0)
		return failed(shown->cmd, "'%s': %s", name, strerror(errno));
	if (!status && json_array_size(shown->values))
		status = print_values(shown);
	return out_flush(shown->cmd) ? STATUS_FAILED : status;
}

static int get_name(struct command *cmd, const struct remote *remote, const struct target *target)
{
	uint64_t length = target->length;
	struct shown shown = {
		.cmd = cmd, .remote = remote, .target = target,
		.bytes = needed(cmd, malloc(length)), .room = VALUE_TEXT(length),
		.text = needed(cmd, malloc(VALUE_TEXT(length))),
		.values = needed(cmd, json_array()),
	};
	int status = STATUS_OK;
	size_t some;

	for (uint64_t done = 0; done < length && !status; done += some) {
		some = length - done < RFM_OP_MAX ? length - done : RFM_OP_MAX;
		status = fetch(cmd, remote, target->offset + done, shown.bytes + done, some);
	}
	if (!status)
		status = show_values(&shown);
	free(shown.bytes);
	free(shown.text);
	json_decref(shown.values);
	return status;
}

int verb_get(struct command *cmd, int argc, char **argv)
{
	struct remote remote;
	struct target target;
	uint64_t length;
	int status = remote_options(cmd, argc, argv, &remote);

	if (!status)
		status = check_operands(cmd, argc, argv, 3, 3);
	if (!status)
		status = remote_node(cmd, argv[optind + 1], &remote);
	if (!status)
		status = get_target_or_offset(cmd, argv[optind + 2], &target);
	if (!status)
		status = remote_length(cmd, &remote, &target, &length);
	if (!status)
		status = remote_open(cmd, argv[optind], false, &remote.card);
	if (status)
		return status;
	return target.named && !remote.raw ? get_name(cmd, &remote, &target) :
					     get_bytes(cmd, &remote, &target, length);
}

/* --- put ------------------------------------------------------------------------------------ */

/* @data is to be freed, also after an error. */
static int read_data(struct command *cmd, const struct remote *remote,
		     const struct target *target, const char *word, unsigned char **data,
		     size_t *length)
{
	uint64_t room = 0;
	int status = STATUS_OK;

	if (!remote->file) {
		status = remote_length(cmd, remote, target, &room);
		*length = room;
		*data = needed(cmd, malloc(room + 1));
		return status ? status : remote_value(cmd, target, "value", word, room, *data);
	}
	if (remote->width)
		return misused(cmd, "a file has its own length");
	status = remote_file(cmd, remote->file, RFM_OP_MAX, data, length);
	if (!status && target->length && target->length != *length)
		status = failed(cmd, "%s has %zu bytes, the range %" PRIu64, remote->file, *length,
				target->length);
	return status;
}

/* In one operation, so that it can say whether anything was done. */
static int put(const struct command *cmd, const struct remote *remote, uint64_t offset,
	       const unsigned char *data, size_t length)
{
	if (rfm_put(remote->card.rfm, remote->node, offset, data, length, remote->timeout_ms))
		return remote_failed(cmd, errno);
	return cmd->json ? out_json(cmd, json_pack("{s:s, s:I, s:I}", "device", cmd->card, "node",
						   (json_int_t)remote->node, "bytes",
						   (json_int_t)length)) : STATUS_OK;
}

int verb_put(struct command *cmd, int argc, char **argv)
{
	unsigned char *data = NULL;
	struct remote remote;
	struct target target;
	size_t length = 0;
	int status, count;

	hide_negatives(argc, argv);
	status = remote_options(cmd, argc, argv, &remote);
	count = remote.file ? 3 : 4;
	if (!status)
		status = check_operands(cmd, argc, argv, count, count);
	if (!status)
		status = remote_node(cmd, argv[optind + 1], &remote);
	if (!status)
		status = get_target_or_offset(cmd, plain_word(argv[optind + 2]), &target);
	if (!status)
		status = read_data(cmd, &remote, &target,
				   remote.file ? NULL : plain_word(argv[optind + 3]), &data,
				   &length);
	if (!status)
		status = remote_open(cmd, argv[optind], true, &remote.card);
	if (!status)
		status = put(cmd, &remote, target.offset, data, length);
	free(data);
	return status;
}
