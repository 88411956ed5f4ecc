// SPDX-License-Identifier: MIT
/* rmctl cas and add: a word of all nodes, changed at its home. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/common/parse.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/regions/value.h"
#include "tools/rmctl/remote/remote.h"

/* What is to be done. */
struct change {
	struct remote remote;
	struct target target;
	uint32_t op;
	unsigned int width;	/* bytes of the word, 4 or 8 */
	uint64_t compare, value;
};

static int change(const struct change *change, uint64_t *old)
{
	const struct remote *remote = &change->remote;
	struct rfm_operation operation = {
		.op = change->op, .node = remote->node, .width = change->width,
		.offset = change->target.offset, .compare = change->compare,
		.value = change->value,
		/* Longer than that none takes. */
		.timeout_ms = remote->timeout_ms < 0 ? 0 :
			      remote->timeout_ms < RFM_OP_MS_MAX ? remote->timeout_ms :
								   RFM_OP_MS_MAX,
	};

	if (rfm_operate(remote->card.rfm, &operation))
		return errno;
	*old = operation.old;
	return 0;
}

static int change_failed(const struct command *cmd, int error)
{
	return error == EACCES ? failed(cmd, "the node does not allow it there, or is not the home "
					"of that word") : remote_failed(cmd, error);
}

/* What the word was; a name in its type. */
static void print_old(const struct change *wanted, uint64_t old)
{
	const struct target *target = &wanted->target;
	char text[VALUE_TEXT(8)];

	if (target->named) {
		rfm_value_print(&target->place, &old, text, sizeof(text));
		value_print(target->word, &target->place, text);
		putchar('\n');
	} else {
		printf("0x%0*" PRIx64 "\n", (int)wanted->width * 2, old);
	}
}

/* --- cas ---------------------------------------------------------------------------------- */

static int cas(const struct command *cmd, const struct change *wanted)
{
	uint64_t old = 0;
	int error = change(wanted, &old), status = STATUS_OK;
	bool changed;

	if (error)
		return change_failed(cmd, error);
	changed = old == wanted->compare;
	if (cmd->json)
		status = out_json(cmd, json_pack("{s:s, s:I, s:o, s:b}", "device", cmd->card, "node",
						 (json_int_t)wanted->remote.node, "old",
						 json_hex(old, wanted->width), "changed", changed));
	else
		print_old(wanted, old);
	if (status || out_flush(cmd))
		return STATUS_FAILED;
	return changed ? STATUS_OK : refuse(cmd, STATUS_NO,
					    "the word was another: nothing has been changed");
}

/* --- add ---------------------------------------------------------------------------------- */

static int add_once(const struct command *cmd, const struct change *wanted)
{
	uint64_t old = 0;
	int error = change(wanted, &old);

	if (error)
		return change_failed(cmd, error);
	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:I, s:o, s:n, s:n}", "device", cmd->card,
					       "node", (json_int_t)wanted->remote.node, "old",
					       json_hex(old, wanted->width), "done", "unknown"));
	print_old(wanted, old);
	return out_flush(cmd);
}

/* An outcome that is not known is counted, and no reason to end. */
static int add_often(const struct command *cmd, const struct change *wanted)
{
	uint64_t done = 0, unknown = 0, old, count = wanted->remote.count;
	int error = 0, status = STATUS_OK;

	stop_on_signals();
	while (done + unknown < count && !error && !stop_asked()) {
		error = change(wanted, &old);
		done += !error;
		if (error == EREMOTEIO || error == ETIMEDOUT) {
			unknown++;
			error = 0;
		}
	}
	if (cmd->json)
		status = out_json(cmd, json_pack("{s:s, s:I, s:n, s:I, s:I}", "device", cmd->card,
						 "node", (json_int_t)wanted->remote.node, "old",
						 "done", (json_int_t)done, "unknown",
						 (json_int_t)unknown));
	else
		printf("%" PRIu64 " times, unknown %" PRIu64 "\n", done, unknown);
	if (status || out_flush(cmd))
		return STATUS_FAILED;
	if (error)
		return change_failed(cmd, error);
	if (done + unknown < count)
		return failed(cmd, "interrupted: %" PRIu64 " time(s) still missing",
			      count - done - unknown);
	return STATUS_OK;
}

/* --- the command line ------------------------------------------------------------------------ */

/* Is it a number as the node adds them? */
static bool is_plain_integer(const struct rfm_place *place)
{
	return place->count == 1 && place->order != RFM_REGION_BIG &&
	       place->type >= RFM_REGION_INT32 && place->type <= RFM_REGION_UINT64 &&
	       (!place->region || place->region->scale == 0);
}

/* It may be negative: added, that is as good as subtracted. */
static int get_addend(struct command *cmd, const char *word, struct change *wanted)
{
	uint64_t max = width_max(wanted->width);
	bool negative = word_is_negative(word);

	if (wanted->target.named && !is_plain_integer(&wanted->target.place))
		return misused(cmd, "nothing can be added to '%s': it is not one integer in the "
			       "byte order of the card, without a scale", wanted->target.word);
	if (get_number(cmd, "value", word + negative, max, &wanted->value))
		return STATUS_MISUSED;
	if (negative)
		wanted->value = -wanted->value & max;
	return STATUS_OK;
}

static int get_values(struct command *cmd, char **words, struct change *wanted)
{
	int status;

	if (wanted->op == RFM_OP_ADD)
		return get_addend(cmd, plain_word(words[0]), wanted);
	status = remote_value(cmd, &wanted->target, "expected value", plain_word(words[0]),
			      wanted->width, &wanted->compare);
	return status ? status : remote_value(cmd, &wanted->target, "value", plain_word(words[1]),
					      wanted->width, &wanted->value);
}

static int run(struct command *cmd, int argc, char **argv, struct change *wanted)
{
	int status, operands = wanted->op == RFM_OP_CAS ? 5 : 4;
	struct remote *remote = &wanted->remote;
	uint64_t length;

	hide_negatives(argc, argv);
	status = remote_options(cmd, argc, argv, remote);
	if (!status)
		status = check_operands(cmd, argc, argv, operands, operands);
	if (!status)
		status = remote_node(cmd, argv[optind + 1], remote);
	if (!status)
		status = get_target_or_offset(cmd, plain_word(argv[optind + 2]), &wanted->target);
	if (!status)
		status = remote_length(cmd, remote, &wanted->target, &length);
	if (!status && length != 4 && length != 8)
		status = misused(cmd, "a word has 4 or 8 bytes here, not %" PRIu64, length);
	if (status)
		return status;
	wanted->width = (unsigned int)length;
	status = get_values(cmd, argv + optind + 3, wanted);
	return status ? status : remote_open(cmd, argv[optind], true, &remote->card);
}

int verb_cas(struct command *cmd, int argc, char **argv)
{
	struct change wanted = { .op = RFM_OP_CAS };
	int status = run(cmd, argc, argv, &wanted);

	return status ? status : cas(cmd, &wanted);
}

int verb_add(struct command *cmd, int argc, char **argv)
{
	struct change wanted = { .op = RFM_OP_ADD };
	int status = run(cmd, argc, argv, &wanted);

	if (status)
		return status;
	return wanted.remote.count ? add_often(cmd, &wanted) : add_once(cmd, &wanted);
}
