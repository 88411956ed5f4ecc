// SPDX-License-Identifier: MIT
#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/common/clock.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

#define BATCH 64u

void stream_init(struct stream *stream, uint32_t depth)
{
	*stream = (struct stream){
		.watch.flags = RFM_WATCH_NONBLOCK | RFM_WATCH_CLOEXEC,
		.watch.depth = depth, .fd = -1,
	};
}

/* Watches this range, too. Returns an exit status. */
int stream_add(struct command *cmd, struct stream *stream, const struct target *target)
{
	if (stream->watch.count == RFM_WATCH_RANGES_MAX)
		return misused(cmd, "too many ranges, at most %d can be watched",
			       RFM_WATCH_RANGES_MAX);
	stream->ranges[stream->watch.count++] = (struct rfm_range){
		.offset = target->offset, .length = target->length };
	return STATUS_OK;
}

/* From now on nothing is missed, and -t runs. Returns an exit status. */
int stream_open(struct command *cmd, struct stream *stream, const struct card *card)
{
	for (uint32_t i = 0; i < stream->watch.count; i++) {
		const struct rfm_range *range = &stream->ranges[i];

		if (card_check_memory(cmd, card->info.memory_size, range->offset, range->length))
			return STATUS_FAILED;
	}
	stream->watch.ranges = (uintptr_t)stream->ranges;
	stream->fd = ioctl(rfm_fd(card->rfm), RFM_IOC_WATCH, &stream->watch);
	if (stream->fd < 0 && stream->optional &&
	    (errno == ENOSPC || errno == EMFILE || errno == ENFILE))
		return STATUS_OK;
	if (stream->fd < 0)
		return failed(cmd, "cannot watch: %s", errno == ENOSPC ?
			      "the card has no room for more watches" : card_reason(errno));
	until_begin(&stream->until);
	return STATUS_OK;
}

/* Counts @event; what was lost before it is in @stream->lost then. */
void stream_account(struct stream *stream, const struct rfm_event *event)
{
	uint64_t records = event->count ? event->count : 1;

	stream->lost = event->dropped > stream->dropped ? event->dropped - stream->dropped : 0;
	stream->dropped += stream->lost;
	stream->total_lost += stream->lost;
	if (event->type == RFM_EVENT_DROPPED) {
		stream->total_lost += event->data;
		return;
	}
	stream->total += records;
	until_count(&stream->until, records);
}

/* Takes -n, -t and --depth: how many records may wait in the driver. Returns an exit status. */
int stream_option(struct command *cmd, struct stream *stream, int option)
{
	uint64_t depth;

	if (option != OPTION_DEPTH)
		return until_option(cmd, &stream->until, option);
	if (get_number(cmd, "depth", optarg, RFM_LISTEN_DEPTH_MAX, &depth))
		return STATUS_MISUSED;
	if (!depth)
		return misused(cmd, "depth must be at least 1");
	stream->watch.depth = (uint32_t)depth;
	return STATUS_OK;
}

/* Hands what has come to @taker, but no more than is still wanted. Returns an exit status. */
int stream_take(const struct command *cmd, struct stream *stream, stream_taker *taker)
{
	struct rfm_event events[BATCH];
	int status = STATUS_OK;
	size_t max = BATCH;
	ssize_t got;

	if (stream->until.limited && stream->until.left < max)
		max = stream->until.left;
	got = read(stream->fd, events, max * sizeof(*events));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return STATUS_OK;
	if (got <= 0)
		return failed(cmd, "no more events: %s", card_reason(got ? errno : ENODEV));
	for (size_t i = 0; i < (size_t)got / sizeof(*events) && !status; i++)
		status = taker(cmd, stream, &events[i]);
	return status ? status : out_flush(cmd);
}

/* The same until all that is wanted has come, the time is up, or the user has ended it. */
int stream_run(const struct command *cmd, struct stream *stream, stream_taker *taker)
{
	struct pollfd fd = { .fd = stream->fd, .events = POLLIN };
	int status = STATUS_OK;

	while (!status && !until_done(&stream->until)) {
		int ready = stop_poll(&fd, 1, stream->until.deadline_ns);

		if (!ready || stop_asked())
			break;
		if (ready > 0)
			status = stream_take(cmd, stream, taker);
	}
	return status;
}

/* --- what an event says -------------------------------------------------------------- */

struct span span_of(const struct rfm_event *event)
{
	size_t room = sizeof(event->bytes);

	return (struct span){ .offset = event->offset, .length = event->length,
			      .known = event->length < room ? event->length : room,
			      .bytes = event->bytes };
}

static void print_silence(const struct rfm_event *event)
{
	char silence[UNIT_TEXT];

	time_text(silence, event->age_ns);
	if (event_is_update(event))
		printf("  after a silence of %s", silence);
	else
		printf("  0x%08" PRIx64 "  silent for %s%s", (uint64_t)event->offset, silence,
		       event->flags & RFM_EVENT_NEVER ? ", since the watch began" : "");
}

/*
 * A line, which is flushed by whoever has printed the last of a batch:
 * time [type] age at arrival, node, offset and length, value.
 */
void event_print(const struct command *cmd, const struct rfm_event *event, bool with_type)
{
	struct span span = span_of(event);
	char node[UNIT_TEXT], age[UNIT_TEXT];
	uint64_t old;

	printf("%" PRIu64 ".%09" PRIu64, (uint64_t)(event->time_ns / NSEC_PER_SEC),
	       (uint64_t)(event->time_ns % NSEC_PER_SEC));
	if (with_type)
		printf(" %s", event_name(event->type));
	if (event_is_update(event)) {
		printf("  %s  %s  0x%08" PRIx64 "+%" PRIu32 "  ",
		       event_age(event, &old) ? time_text(age, old) : "-",
		       node_text(node, event->node), (uint64_t)event->offset, event->length);
		span_print(cmd, &span);
		if (event->count > 1)
			printf("  (the last of %" PRIu32 ")", event->count);
		if (event->flags & RFM_EVENT_LATE)
			fputs("  LATE", stdout);
	}
	if (event->type == RFM_EVENT_STALE || event->type == RFM_EVENT_FRESH)
		print_silence(event);
	if (event->type == RFM_EVENT_DROPPED)
		printf("  %" PRIu32 " event(s), perhaps of these bytes", event->data);
	putchar('\n');
}

/* The same as an object; docs/json/watch.json. */
json_t *event_json(const struct command *cmd, const struct stream *stream,
		   const struct rfm_event *event)
{
	bool update = event_is_update(event);
	bool silence = event->type == RFM_EVENT_STALE || event->type == RFM_EVENT_FRESH;
	struct span span = span_of(event);
	uint64_t age;
	bool aged = event_age(event, &age);

	return json_pack("{s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:o, s:o, "
			 "s:I}",
		"device", cmd->card, "time_ns", (json_int_t)event->time_ns,
		"type", event_name(event->type),
		"node", json_known(update && event->node != RFM_NODE_ALL, event->node),
		"offset", json_known(update || silence, event->offset),
		"length", json_known(update, event->length), "frame", json_known(update, event->frame),
		"age_ns", json_known(aged, aged ? age : 0),
		"silent_ns", json_known(silence, event->age_ns),
		"late", update && event->flags & RFM_EVENT_LATE,
		"updates", json_known(update, event->count ? event->count : 1),
		"seq", (json_int_t)event->seq,
		"data", update ? data_json(span.bytes, span.known) : json_null(),
		"values", update ? span_values(cmd, &span) : json_array(),
		"lost", (json_int_t)(stream->lost +
				     (event->type == RFM_EVENT_DROPPED ? event->data : 0)));
}
