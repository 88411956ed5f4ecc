// SPDX-License-Identifier: MIT
/* Recording: updates and interrupts as they come by, in their order, with their times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rmnode.h"

#define FLUSH_NS	100000000u

/**
 * struct recording - one at a time
 * @left: frames until the end
 */
struct recording {
	struct rmnode *node;
	struct control_request *request;
	struct rfm_pcapng file;
	int interface;
	struct ranges ranges;
	struct sightings sightings;
	uint64_t left;
	struct rfm_timer flush_timer, end_timer;
	struct rfm_poller end;		/* not from inside of a frame */
};

bool first_sight(struct sightings *sightings, const struct rfm_frame *frame)
{
	uint64_t *incarnation = &sightings->incarnation[frame->source];
	uint64_t *seq = &sightings->seq[frame->source];

	if (frame->incarnation < *incarnation ||
	    (frame->incarnation == *incarnation && frame->seq <= *seq))
		return false;
	*incarnation = frame->incarnation;
	*seq = frame->seq;
	return true;
}

bool get_ranges(struct control_request *request, json_t *args, struct ranges *ranges)
{
	json_t *list = json_object_get(args, "ranges"), *item;
	size_t i;

	ranges->count = 0;
	if (json_array_size(list) > sizeof(ranges->range) / sizeof(*ranges->range)) {
		control_misused(request, "there may be 64 ranges at most");
		return false;
	}
	json_array_foreach(list, i, item) {
		json_int_t first = json_integer_value(json_array_get(item, 0));
		json_int_t last = json_integer_value(json_array_get(item, 1));

		if (json_array_size(item) != 2 || first < 0 || last < first ||
		    last >= RFMRING_MEMORY_MAX) {
			control_fail(request, "a range must lie in the 256 MiB of the ring");
			return false;
		}
		ranges->range[ranges->count].first = first;
		ranges->range[ranges->count++].last = last;
	}
	return true;
}

bool in_ranges(const struct ranges *ranges, uint32_t address, unsigned int length)
{
	for (unsigned int i = 0; i < ranges->count; i++)
		if (address <= ranges->range[i].last &&
		    address + length - 1 >= ranges->range[i].first)
			return true;
	return !ranges->count;
}

static void seen(void *opaque, const struct rfm_frame *frame, uint64_t now)
{
	struct recording *recording = opaque;
	uint8_t wire[RFM_FRAME_MAX];

	if (!rfm_frame_is_update(frame) || !recording->left ||
	    !first_sight(&recording->sightings, frame) ||
	    (frame->type == RFM_FRAME_DATA &&
	     !in_ranges(&recording->ranges, frame->address, frame->length)))
		return;
	rfm_pcapng_packet(&recording->file, recording->interface, RFM_PCAPNG_IN, now, wire,
			  rfm_frame_encode(frame, wire), NULL);
	if (!--recording->left)
		rfm_poller_activate(&recording->end);
}

/* Stops, and answers unless the client has gone. */
static void finish(struct recording *recording)
{
	struct rmnode *node = recording->node;
	const char *trouble;

	rfmring_on_frame(node->ring, NULL, NULL);
	rfm_poller_remove(&recording->end);
	rfm_timer_set(node->loop, &recording->flush_timer, RFM_NEVER);
	rfm_timer_set(node->loop, &recording->end_timer, RFM_NEVER);
	rfm_pcapng_end(&recording->file);
	trouble = rfm_pcapng_trouble(&recording->file);
	if (recording->request && trouble)
		control_fail(recording->request, "%s", trouble);
	else if (recording->request)
		control_done(recording->request, json_pack("{s:I, s:I}",
			"frames", (json_int_t)recording->file.packets,
			"lost", (json_int_t)recording->file.lost));
	node->recording = NULL;
	free(recording);
}

static bool end_now(void *opaque, uint64_t now)
{
	finish(opaque);
	return true;
}

static void end_time(void *opaque, uint64_t now)
{
	finish(opaque);
}

static void flush_time(void *opaque, uint64_t now)
{
	struct recording *recording = opaque;

	rfm_pcapng_flush(&recording->file);
	if (recording->file.error)
		finish(recording);
	else
		rfm_timer_set(recording->node->loop, &recording->flush_timer, now + FLUSH_NS);
}

static void gone(void *context)
{
	struct recording *recording = context;

	recording->request = NULL;
	finish(recording);
}

static void more(void *context, json_t *object)
{
	finish(context);
}

void record_end(struct rmnode *node)
{
	if (node->recording)
		finish(node->recording);
}

static bool open_file(struct recording *recording, const char *path)
{
	if (rfm_pcapng_create(&recording->file, path, "rmnode", rfm_real_time() - rfm_now()))
		return false;
	recording->interface = rfm_pcapng_interface(&recording->file, "rx", "what came by");
	return true;
}

static void begin(struct recording *recording, uint64_t ms)
{
	struct rmnode *node = recording->node;

	recording->flush_timer = (struct rfm_timer){ .fire = flush_time, .opaque = recording };
	recording->end_timer = (struct rfm_timer){ .fire = end_time, .opaque = recording };
	recording->end = (struct rfm_poller){ .poll = end_now, .opaque = recording };
	node->recording = recording;
	rfm_poller_add(node->loop, &recording->end);
	rfm_timer_set(node->loop, &recording->flush_timer, rfm_now() + FLUSH_NS);
	if (ms)
		rfm_timer_set(node->loop, &recording->end_timer, rfm_now() + ms * 1000000);
	rfmring_on_frame(node->ring, seen, recording);
	control_on_gone(recording->request, gone, recording);
	control_on_more(recording->request, more, recording);
	control_event(recording->request, json_pack("{s:s}", "event", "recording"));
}

void verb_record(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct recording *recording;
	uint64_t count = UINT64_MAX, ms = 0;
	struct ranges ranges;
	const char *path;

	if (!control_get_string(request, args, "file", true, &path) ||
	    !control_get_number(request, args, "count", false, 1, INT64_MAX, &count) ||
	    !control_get_number(request, args, "milliseconds", false, 1, UINT32_MAX, &ms) ||
	    !get_ranges(request, args, &ranges))
		return;
	if (node->recording) {
		control_fail(request, "a recording is under way already");
		return;
	}
	recording = control_alloc(request, sizeof(*recording));
	if (!recording)
		return;
	recording->node = node;
	recording->request = request;
	recording->ranges = ranges;
	recording->left = count;
	if (!open_file(recording, path)) {
		control_fail(request, "cannot write %.300s: %s", path, strerror(errno));
		free(recording);
		return;
	}
	begin(recording, ms);
}
