// SPDX-License-Identifier: MIT
/* rmctl listen: prints the events of a card as they come. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/rfm_regs.h>

#include "tools/common/clock.h"
#include "tools/common/units.h"
#include "tools/rmctl/card/event_names.h"
#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/cli/until.h"

#define BATCH 64u

enum { OPTION_DISCARD = 256, OPTION_DEPTH };

const struct option listen_options[] = {
	{ "count", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 't' },
	{ "discard", no_argument, NULL, OPTION_DISCARD },
	{ "depth", required_argument, NULL, OPTION_DEPTH },
	{ 0 },
};

/**
 * struct listening - what the user asked for, and how far it has come
 * @request: for the driver
 * @until: when to end
 * @seq: of the last event
 * @fd: where the events come from
 */
struct listening {
	struct rfm_listen request;
	struct until until;
	uint64_t seq;
	int fd;
};

static int get_options(struct command *cmd, int argc, char **argv, struct listening *want)
{
	uint64_t number;
	int status = STATUS_OK;

	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;) {
		switch (option) {
		case OPTION_DISCARD:
			want->request.flags |= RFM_LISTEN_DISCARD;
			break;
		case OPTION_DEPTH:
			status = get_number(cmd, "depth", optarg, RFM_LISTEN_DEPTH_MAX, &number);
			want->request.depth = (uint32_t)number;
			if (!status && !number)
				status = misused(cmd, "depth must be at least 1");
			break;
		default:
			status = until_option(cmd, &want->until, option);
		}
	}
	return status;
}

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

/* Everything that one can listen for on this card. */
static uint32_t all_types(const struct rfm_info *info)
{
	return info->features & RFM_EXT_FEATURE_WATCH ? RFM_EVENT_ALL & ~RFM_EVENT_WATCHED :
							RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1;
}

/* What comes with an event. */
enum content { NOTHING, DATA, NUMBER, UPDATE };

static enum content content_of(const struct rfm_event *event)
{
	static const enum content contents[RFM_EVENT_TYPES] = {
		[RFM_EVENT_INT1] = DATA,
		[RFM_EVENT_INT2] = DATA,
		[RFM_EVENT_INT3] = DATA,
		[RFM_EVENT_INT4] = DATA,
		[RFM_EVENT_CONFLICT] = UPDATE,
		[RFM_EVENT_MEMBERSHIP] = NUMBER,
		[RFM_EVENT_LOSS] = NUMBER,
		[RFM_EVENT_DROPPED] = NUMBER,
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

static int print_text(const struct command *cmd, const struct rfm_event *event)
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
	return out_flush(cmd);
}

static int print_event(const struct command *cmd, struct listening *listening,
		       const struct rfm_event *event)
{
	uint64_t lost = event->seq - listening->seq - 1;

	listening->seq = event->seq;
	if (lost)
		warn_user(cmd, "LOST %" PRIu64 " event(s) before number %" PRIu64
			  ": they came faster than they were read (%" PRIu64 " lost so far)",
			  lost, (uint64_t)event->seq, (uint64_t)event->dropped);
	if (event->type == RFM_EVENT_DROPPED)
		warn_user(cmd, "the card has dropped %" PRIu32
			  " event(s), perhaps of these types", event->data);
	return cmd->json ? print_json(cmd, event, lost) : print_text(cmd, event);
}

static int listen_loop(const struct command *cmd, struct listening *listening)
{
	struct pollfd pollfd = { .fd = listening->fd, .events = POLLIN };
	struct until *until = &listening->until;
	struct rfm_event events[BATCH];
	int status = STATUS_OK;

	while (!status && !until_done(until)) {
		int ready = stop_poll(&pollfd, 1, until->deadline_ns);
		size_t most = BATCH;
		ssize_t got;

		if (!ready || stop_asked())
			return until_end(cmd, until, "event");
		if (until->limited && until->left < most)
			most = until->left;
		got = read(listening->fd, events, most * sizeof(*events));
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got < 0)
			return failed(cmd, "no more events: %s", card_reason(errno));
		if (!got)
			return failed(cmd, "no more events: %s", card_reason(ENODEV));
		for (size_t i = 0; i < (size_t)got / sizeof(*events) && !status; i++) {
			status = print_event(cmd, listening, &events[i]);
			/* One that nobody has asked for is not one of those that were. */
			until_count(until, events[i].type != RFM_EVENT_DROPPED);
		}
	}
	return status;
}

int verb_listen(struct command *cmd, int argc, char **argv)
{
	struct listening listening = {
		.request.flags = RFM_LISTEN_NONBLOCK | RFM_LISTEN_CLOEXEC,
	};
	struct card card;
	int status;

	until_init(&listening.until);
	status = get_options(cmd, argc, argv, &listening);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 1, argc))
		return STATUS_MISUSED;
	status = get_types(cmd, argc, argv, &listening.request.types);
	if (status)
		return status;
	status = card_open(cmd, &card, argv[optind], false);
	if (status)
		return status;
	if (!listening.request.types)
		listening.request.types = all_types(&card.info);
	listening.fd = ioctl(rfm_fd(card.rfm), RFM_IOC_LISTEN, &listening.request);
	if (listening.fd < 0) {
		status = failed(cmd, "cannot listen: %s", card_reason(errno));
	} else {
		stop_hold_signals();
		until_begin(&listening.until);
		fprintf(stderr, "listening on %s ...\n", card.name);
		status = listen_loop(cmd, &listening);
		close(listening.fd);
	}
	card_close(&card);
	return status;
}
