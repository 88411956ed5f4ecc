// SPDX-License-Identifier: MIT
/* rmctl listen: prints the events of a card as they come. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "stream.h"
#include "tools/common/clock.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

/**
 * struct listening - what the user asked for, and how far it has come
 * @stream: where the events come from; first
 * @request: for the driver
 * @seq: of the last event
 */
struct listening {
	struct stream stream;
	struct rfm_listen request;
	uint64_t seq;
};

/* Without a type, or with "all", @types stays 0. */
static int get_types(struct command *cmd, int argc, char **argv, uint32_t *types)
{
	bool all = false;

	for (int i = optind + 1; i < argc; i++) {
		if (!strcmp(argv[i], "all"))
			all = true;
		else if (!event_mask_from_name(argv[i], types))
			return misused(cmd, "'%s' is not an event type", argv[i]);
	}
	if (all)
		*types = 0;
	return STATUS_OK;
}

/* What comes with an event. */
enum content { NOTHING, DATA, NUMBER, UPDATE };

static enum content content_of(const struct rfm_event *event)
{
	static const enum content contents[RFM_EVENT_TYPES] = {
		[RFM_EVENT_INT1 ... RFM_EVENT_INT4] = DATA,
		[RFM_EVENT_CONFLICT] = UPDATE,
		[RFM_EVENT_MEMBERSHIP] = NUMBER,
		[RFM_EVENT_LOSS] = NUMBER,
		[RFM_EVENT_DROPPED] = NUMBER,
		[RFM_EVENT_INCOMPLETE] = NUMBER,
	};

	return event->type < RFM_EVENT_TYPES ? contents[event->type] : NOTHING;
}

static int print_json(const struct command *cmd, const struct rfm_event *event, uint64_t lost)
{
	enum content content = content_of(event);
	bool update = content == UPDATE;
	uint64_t age = 0;
	bool aged = update && event_age(event, &age);

	return out_json(cmd, json_pack(
		"{s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}",
		"device", cmd->card, "time_ns", (json_int_t)event->time_ns, "type",
		event_name(event->type), "from", json_known(event->node != RFM_NODE_ALL, event->node),
		"data", json_known(content == DATA || content == NUMBER, event->data),
		"offset", json_known(update, event->offset), "length", json_known(update, event->length),
		"frame", json_known(update, event->frame),
		"age_ns", json_known(aged, age),
		"seq", (json_int_t)event->seq, "lost", (json_int_t)lost,
		"dropped", (json_int_t)event->dropped));
}

static int print_text(const struct rfm_event *event)
{
	char node[UNIT_TEXT], data[2 * UNIT_TEXT] = "-";

	switch (content_of(event)) {
	case DATA:
		snprintf(data, sizeof(data), "0x%08" PRIx32, event->data);
		break;
	case NUMBER:
		snprintf(data, sizeof(data), "%" PRIu32, event->data);
		break;
	case UPDATE:
		snprintf(data, sizeof(data), "0x%08" PRIx64 "+%" PRIu32, (uint64_t)event->offset,
			 event->length);
		break;
	case NOTHING:
		break;
	}
	printf("%" PRIu64 ".%09" PRIu64 " %s %s %s\n", (uint64_t)(event->time_ns / NSEC_PER_SEC),
	       (uint64_t)(event->time_ns % NSEC_PER_SEC), event_name(event->type),
	       node_text(node, event->node), data);
	return STATUS_OK;
}

static int print_event(const struct command *cmd, struct stream *stream,
		       const struct rfm_event *event)
{
	struct listening *listening = (struct listening *)stream;
	uint64_t lost = event->seq - listening->seq - 1;

	listening->seq = event->seq;
	if (lost)
		warn_user(cmd, "LOST %" PRIu64 " event(s) before number %" PRIu64
			  ": they came faster than they were read (%" PRIu64 " lost so far)",
			  lost, (uint64_t)event->seq, (uint64_t)event->dropped);
	if (event->type == RFM_EVENT_DROPPED)
		warn_user(cmd, "the card has dropped %" PRIu32
			  " event(s), perhaps of these types", event->data);
	/* One that nobody has asked for is not one of those that were. */
	until_count(&stream->until, event->type != RFM_EVENT_DROPPED);
	return cmd->json ? print_json(cmd, event, lost) : print_text(event);
}

int verb_listen(struct command *cmd, int argc, char **argv)
{
	struct listening listening = { .request.flags = RFM_LISTEN_NONBLOCK | RFM_LISTEN_CLOEXEC };
	struct card card;
	int status = STATUS_OK;

	stream_init(&listening.stream, 0);
	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;) {
		if (option == OPTION_DISCARD)
			listening.request.flags |= RFM_LISTEN_DISCARD;
		else
			status = stream_option(cmd, &listening.stream, option);
	}
	if (!status)
		status = check_operands(cmd, argc, argv, 1, argc);
	if (!status)
		status = get_types(cmd, argc, argv, &listening.request.types);
	if (!status)
		status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	if (!listening.request.types)
		listening.request.types = card.info.features & RFM_EXT_FEATURE_WATCH ?
			RFM_EVENT_ALL & ~RFM_EVENT_WATCHED : RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1;
	/* An older driver does not know of it. */
	if (!(card.info.features & RFM_EXT_FEATURE_REMOTE))
		listening.request.types &= ~RFM_EVENT_BIT(RFM_EVENT_INCOMPLETE);
	listening.request.depth = listening.stream.watch.depth;
	listening.stream.fd = ioctl(rfm_fd(card.rfm), RFM_IOC_LISTEN, &listening.request);
	if (listening.stream.fd < 0)
		return failed(cmd, "cannot listen: %s", card_reason(errno));
	stop_hold_signals();
	until_begin(&listening.stream.until);
	fprintf(stderr, "listening on %s ...\n", card.name);
	status = stream_run(cmd, &listening.stream, print_event);
	return status ? status : until_end(cmd, &listening.stream.until, "event");
}
