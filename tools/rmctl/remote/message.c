// SPDX-License-Identifier: MIT
/* rmctl message and receive: messages from node to node. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/cli/until.h"
#include "tools/rmctl/regions/value.h"
#include "tools/rmctl/remote/remote.h"

/*
 * Messages that wait for this program: the driver reserves for each as much as the longest takes,
 * and has 128 MiB for all ports of a card.
 */
#define DEPTH	4u

static int get_port(struct command *cmd, const char *word, uint64_t *port)
{
	return get_number(cmd, "port", word, RFM_PORTS - 1, port);
}

int verb_message(struct command *cmd, int argc, char **argv)
{
	unsigned char *data = NULL;
	struct remote remote;
	uint64_t port;
	size_t length;
	int status = remote_options(cmd, argc, argv, &remote), count;

	if (status)
		return status;
	count = remote.file ? 3 : 4;
	status = check_operands(cmd, argc, argv, count, count);
	if (!status)
		status = remote_node(cmd, argv[optind + 1], &remote);
	if (!status)
		status = get_port(cmd, argv[optind + 2], &port);
	if (status)
		return status;
	length = remote.file ? 0 : strlen(argv[optind + 3]);
	if (remote.file)
		status = remote_file(cmd, remote.file, RFM_OP_MAX, &data, &length);
	else if (!length)
		status = misused(cmd, "the message is empty");
	if (!status)
		status = remote_open(cmd, argv[optind], true, &remote.card);
	if (!status && rfm_message(remote.card.rfm, remote.node, port,
				   data ? (void *)data : argv[optind + 3], length,
				   remote.timeout_ms))
		status = remote_failed(cmd, errno);
	free(data);
	if (!status && cmd->json)
		status = out_json(cmd, json_pack("{s:s, s:I, s:I}", "device", cmd->card, "node",
						 (json_int_t)remote.node, "bytes",
						 (json_int_t)length));
	return status;
}

/* --- receive -------------------------------------------------------------------------- */

struct receive {
	struct until until;
	bool raw;
	struct rfm_messages *port;
	unsigned char *data;	/* room for the longest, and an end */
};

static int receive_options(struct command *cmd, int argc, char **argv, struct receive *receive)
{
	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option == OPTION_RAW)
			receive->raw = true;
		else if (until_option(cmd, &receive->until, option))
			return STATUS_MISUSED;
	}
	if (!receive->until.limited) {
		receive->until.limited = true;
		receive->until.left = 1;
	}
	if (receive->raw && cmd->json)
		return misused(cmd, "--raw and --json exclude each other");
	return STATUS_OK;
}

/* A text of somebody else, on a terminal perhaps. */
static void print_text(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = '?';
	text[length] = '\0';
	text_clean(text);
	puts(text);
}

static int print_message(const struct command *cmd, const struct receive *receive, uint32_t from,
			 size_t length)
{
	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:I, s:o}", "device", cmd->card, "from",
					       (json_int_t)from, "data",
					       data_json(receive->data, length)));
	if (receive->raw) {
		fwrite(receive->data, 1, length, stdout);
	} else {
		printf("%" PRIu32 ": ", from);
		print_text((char *)receive->data, length);
	}
	return out_flush(cmd);
}

static int receive_all(const struct command *cmd, struct receive *receive)
{
	struct pollfd fd = { .fd = rfm_messages_fd(receive->port), .events = POLLIN };
	int status = STATUS_OK, got;
	uint32_t from;
	size_t length;

	while (!status && !until_done(&receive->until)) {
		int ready = stop_poll(&fd, 1, receive->until.deadline_ns);

		if (!ready || stop_asked())
			break;
		if (ready < 0)
			continue;
		got = rfm_receive(receive->port, receive->data, RFM_OP_MAX, &length, &from, 0);
		if (got < 0)
			return remote_failed(cmd, errno);
		if (got) {
			status = print_message(cmd, receive, from, length);
			until_count(&receive->until, 1);
		}
	}
	return status ? status : until_end(cmd, &receive->until, "message");
}

int verb_receive(struct command *cmd, int argc, char **argv)
{
	struct receive receive = { .raw = false };
	struct card card;
	uint64_t number;
	int status = receive_options(cmd, argc, argv, &receive);

	if (!status)
		status = check_operands(cmd, argc, argv, 2, 2);
	if (!status)
		status = get_port(cmd, argv[optind + 1], &number);
	if (!status)
		status = remote_open(cmd, argv[optind], false, &card);
	if (status)
		return status;
	receive.port = rfm_listen_port(card.rfm, number, DEPTH, RFM_OP_MAX);
	if (!receive.port)
		return remote_failed(cmd, errno);
	receive.data = needed(cmd, malloc(RFM_OP_MAX + 1));
	stop_hold_signals();
	until_begin(&receive.until);
	fprintf(stderr, "listening at port %" PRIu64 " of %s ...\n", number, card.name);
	status = receive_all(cmd, &receive);
	free(receive.data);
	rfm_messages_close(receive.port);
	return status;
}
