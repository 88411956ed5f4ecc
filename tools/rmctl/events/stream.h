/* SPDX-License-Identifier: MIT */
/* The events of a watch, and when to end. */
#ifndef RMCTL_STREAM_H
#define RMCTL_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/rmctl/card/event_names.h"
#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/until.h"
#include "tools/rmctl/regions/value.h"

/**
 * struct stream - a watch or listener, and what the user wants of it
 * @watch: for the driver
 * @ranges: of that
 * @optional: that there is no room for it is no failure; @fd is -1 then
 * @fd: where the events come from
 * @until: when to end
 * @dropped: of the last event: what had found the queue full until then
 * @lost: how many of those just before it
 * @total: events, without those that nobody has asked for
 * @total_lost: what was lost, of the queue and of the card
 */
struct stream {
	struct rfm_watch watch;
	struct rfm_range ranges[RFM_WATCH_RANGES_MAX];
	bool optional;
	int fd;
	struct until until;
	uint64_t dropped, lost, total, total_lost;
};

void stream_init(struct stream *stream, uint32_t depth);
int stream_add(struct command *cmd, struct stream *stream, const struct target *target);
int stream_open(struct command *cmd, struct stream *stream, const struct card *card);
void stream_account(struct stream *stream, const struct rfm_event *event);

/* Takes an event of a stream; returns an exit status. */
typedef int stream_taker(const struct command *cmd, struct stream *stream,
			 const struct rfm_event *event);

int stream_take(const struct command *cmd, struct stream *stream, stream_taker *taker);
int stream_run(const struct command *cmd, struct stream *stream, stream_taker *taker);

int stream_option(struct command *cmd, struct stream *stream, int option);

struct span span_of(const struct rfm_event *event);
void event_print(const struct command *cmd, const struct rfm_event *event, bool with_type);
json_t *event_json(const struct command *cmd, const struct stream *stream,
		   const struct rfm_event *event);

#endif /* RMCTL_STREAM_H */
