// SPDX-License-Identifier: MIT
/* rmctl writer: who wrote there last? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "card.h"
#include "out.h"
#include "regions.h"

#define NSEC_PER_SEC 1000000000ull
#define GRANULE 64u	/* bytes that have one writer in the card's books */

/**
 * struct answer - what there is to say
 * @writer: from the card
 * @now: the card's clock a moment later
 */
struct answer {
	struct rfm_writer writer;
	uint64_t now;
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

static json_t *known(bool condition, uint64_t value)
{
	return condition ? json_integer((json_int_t)value) : json_null();
}

static int print_json(const struct command *cmd, const struct answer *answer)
{
	const struct rfm_writer *writer = &answer->writer;
	bool any = somebody(answer);

	return out_json(cmd, json_pack(
		"{s:s, s:I, s:o, s:o, s:o, s:o}", "device", cmd->card, "offset",
		(json_int_t)writer->offset, "node", known(any, writer->node), "frame",
		known(any, writer->frame), "time_ns", known(any, writer->time_ns), "age_ns",
		known(age_known(answer), age(answer))));
}

static int print_text(const struct command *cmd, const struct answer *answer)
{
	const struct rfm_writer *writer = &answer->writer;
	char node[OUT_WORD];

	printf("0x%08" PRIx64 ": ", (uint64_t)writer->offset);
	if (!somebody(answer)) {
		puts("nobody since the card was reset");
		return out_flush(cmd);
	}
	printf("node %s, ", out_node(node, sizeof(node), writer->node));
	if (writer->frame)
		printf("frame %" PRIu64 ", ", (uint64_t)writer->frame);
	else
		printf("this machine, ");
	if (age_known(answer))
		printf("%" PRIu64 ".%09" PRIu64 " s ago\n", (uint64_t)(age(answer) / NSEC_PER_SEC),
		       (uint64_t)(age(answer) % NSEC_PER_SEC));
	else
		puts("age unknown (another clock)");
	return out_flush(cmd);
}

/* Returns an exit status. */
static int ask(const struct command *cmd, const struct card *card, struct answer *answer)
{
	struct rfm_counters counters;

	if (ioctl(card->fd, RFM_IOC_WRITER, &answer->writer) ||
	    ioctl(card->fd, RFM_IOC_COUNTERS, &counters))
		return failed(cmd, "cannot ask who wrote there: %s", card_reason(errno));
	answer->now = counters.clock_ns;
	return STATUS_OK;
}

/* What is known of the granule around @offset. Returns an exit status. */
static int tell(struct command *cmd, const struct card *card, uint64_t offset)
{
	struct answer answer = { .writer.offset = offset };
	int status;

	if (offset >= card->info.memory_size)
		return failed(cmd, "offset 0x%" PRIx64 " is out of range: the memory ends at 0x%"
			      PRIx64, offset, (uint64_t)card->info.memory_size);
	status = ask(cmd, card, &answer);
	if (status)
		return status;
	return cmd->json ? print_json(cmd, &answer) : print_text(cmd, &answer);
}

int verb_writer(struct command *cmd, int argc, char **argv)
{
	uint64_t offset, length = 1, end;
	struct card card;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 2, 2))
		return STATUS_MISUSED;
	status = word_is_name(argv[optind + 1]) ?
		get_range(cmd, argv[optind + 1], &offset, &length) :
		get_number(cmd, "offset", argv[optind + 1], UINT64_MAX, &offset);
	if (status)
		return status;
	status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	end = offset + length - 1;
	do {
		status = tell(cmd, &card, offset);
		offset = (offset / GRANULE + 1) * GRANULE;
	} while (!status && offset && offset <= end);
	card_close(&card);
	return status;
}
