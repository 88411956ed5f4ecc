// SPDX-License-Identifier: MIT
/* rmctl who: who wrote there last? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/common/units.h"
#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/progress.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/regions/regions.h"
#include "transfer.h"

/* What there is to say. */
struct answer {
	struct rfm_writer writer;	/* from the card */
	uint64_t offset;		/* of the first byte that it holds for */
	uint64_t length;		/* bytes */
	uint64_t now;			/* the card's clock, a moment before this was asked */
	/* It is of more than one granule, and tells of the last write. */
	bool several;
};

static bool somebody(const struct answer *answer)
{
	return answer->writer.node != RFM_NODE_ALL;
}

/* Is the writer's clock the card's? */
static bool age_known(const struct answer *answer)
{
	return somebody(answer) && !(answer->writer.flags & RFM_EVENT_AGE_UNKNOWN);
}

/* Clocks of one domain agree to within a few hundred nanoseconds. */
static uint64_t age(const struct answer *answer)
{
	return answer->now > answer->writer.time_ns ? answer->now - answer->writer.time_ns : 0;
}

static int print_json(const struct command *cmd, const struct answer *answer)
{
	const struct rfm_writer *writer = &answer->writer;
	bool any = somebody(answer);

	return out_json(cmd, json_pack(
		"{s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "device", cmd->card, "offset",
		(json_int_t)answer->offset, "length", (json_int_t)answer->length,
		"node", json_known(any, writer->node), "frame", json_known(any, writer->frame),
		"clock_ns", json_known(any, writer->time_ns),
		"age_ns", json_known(age_known(answer), age(answer))));
}

static int print_text(const struct command *cmd, const struct answer *answer)
{
	const struct rfm_writer *writer = &answer->writer;
	char node[UNIT_TEXT], ago[UNIT_TEXT];

	printf("0x%08" PRIx64, answer->offset);
	if (answer->length > 1)
		printf("-0x%08" PRIx64, answer->offset + answer->length - 1);
	if (!somebody(answer)) {
		puts(": nobody since the card was reset");
		return out_flush(cmd);
	}
	printf(": node %s, %s", node_text(node, writer->node), answer->several ? "the last: " : "");
	if (writer->frame)
		printf("frame %" PRIu64 ", ", (uint64_t)writer->frame);
	else
		printf("this machine, ");
	if (age_known(answer))
		printf("%s ago\n", time_text(ago, age(answer)));
	else
		puts("age unknown (another clock)");
	return out_flush(cmd);
}

/* Asks for the granule around @offset. Returns an exit status. */
static int ask(const struct command *cmd, const struct card *card, uint64_t offset, uint64_t end,
	       struct answer *answer)
{
	uint64_t next = (offset / RFM_GRANULE + 1) * RFM_GRANULE;

	*answer = (struct answer){ .offset = offset, .now = answer->now,
				   .length = (next < end ? next : end) - offset };
	if (rfm_writer(card->rfm, offset, &answer->writer))
		return failed(cmd, "cannot ask who wrote there: %s", card_reason(errno));
	return STATUS_OK;
}

static int tell(const struct command *cmd, const struct answer *answer)
{
	return cmd->json ? print_json(cmd, answer) : print_text(cmd, answer);
}

/* Can @answer be told together with @last, which lies before it? */
static bool together(const struct command *cmd, const struct answer *last,
		     const struct answer *answer)
{
	if (!last->length || last->writer.node != answer->writer.node)
		return false;
	/* For people the last of many is enough; programs get each. */
	return !somebody(last) || (!cmd->json && !last->writer.frame == !answer->writer.frame);
}

static void join(struct answer *last, const struct answer *answer)
{
	struct answer newer = answer->writer.time_ns >= last->writer.time_ns ? *answer : *last;

	newer.offset = last->offset;
	newer.length = last->length + answer->length;
	newer.several = true;
	*last = newer;
}

/* Bytes between two looks at the time: a look takes as long as an answer. */
#define LOOK (256 * RFM_GRANULE)

/* A line for all in a row that has one writer. Returns an exit status. */
static int tell_all(const struct command *cmd, const struct card *card, uint64_t begin,
		    uint64_t end)
{
	struct answer last = { .length = 0 }, answer;
	struct rfm_counters counters;
	struct progress progress;
	uint64_t offset = begin;
	int status = STATUS_OK;

	if (rfm_counters(card->rfm, &counters))
		return failed(cmd, "cannot ask who wrote there: %s", card_reason(errno));
	answer.now = counters.clock_ns;
	progress_begin(&progress, cmd, end - begin);
	while (!status && offset < end && !stop_asked()) {
		status = ask(cmd, card, offset, end, &answer);
		if (status)
			break;
		offset += answer.length;
		if (!(offset % LOOK))
			progress_show(&progress, offset - begin);
		if (together(cmd, &last, &answer)) {
			join(&last, &answer);
			continue;
		}
		if (last.length) {
			progress_end(&progress);
			status = tell(cmd, &last);
		}
		last = answer;
	}
	progress_end(&progress);
	if (!status && last.length)
		status = tell(cmd, &last);
	if (!status && offset < end)
		status = transfer_cut_short(cmd, offset - begin, end - begin, "asked for");
	return status;
}

int verb_who(struct command *cmd, int argc, char **argv)
{
	struct target target;
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 2, 2))
		return STATUS_MISUSED;
	status = get_target_or_offset(cmd, argv[optind + 1], &target);
	/* An offset means the granule around it. */
	if (!status && !target.length)
		target.length = 1;
	if (!status)
		status = card_open(cmd, &card, argv[optind], false);
	if (!status)
		status = card_check_memory(cmd, card.info.memory_size, target.offset,
					   target.length);
	if (!status)
		status = tell_all(cmd, &card, target.offset, target.offset + target.length);
	return status;
}
