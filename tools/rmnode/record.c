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
 * @end: the time of it
 */
struct recording {
	struct job job;
	struct rfm_pcapng file;
	int interface;
	struct ranges ranges;
	struct sightings sightings;
	uint64_t left, end;
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
	if (json_array_size(list) > sizeof(ranges->range) / sizeof(*ranges->range))
		return control_misused(request, "there may be 64 ranges at most");
	json_array_foreach(list, i, item) {
		json_int_t first = json_integer_value(json_array_get(item, 0));
		json_int_t last = json_integer_value(json_array_get(item, 1));

		if (json_array_size(item) != 2 || first < 0 || last < first ||
		    last >= RFMRING_MEMORY_MAX)
			return control_fail(request, "a range must lie in the 256 MiB of the ring");
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
		rfm_poller_activate(&recording->job.poller);
}

static void finish(struct recording *recording)
{
	rfm_pcapng_end(&recording->file);
	job_end(&recording->job, rfm_pcapng_trouble(&recording->file));
}

/* It ends here, not inside of a frame. */
static enum step record_step(struct job *job, uint64_t now)
{
	struct recording *recording = (struct recording *)job;

	if (now >= job->when)
		rfm_pcapng_flush(&recording->file);
	if (!recording->left || now >= recording->end || recording->file.error) {
		finish(recording);
		return STEP_DONE;
	}
	if (now >= job->when)
		job->when = now + FLUSH_NS < recording->end ? now + FLUSH_NS : recording->end;
	return STEP_WAIT;
}

static json_t *record_result(struct job *job)
{
	const struct rfm_pcapng *file = &((struct recording *)job)->file;

	return json_pack("{s:I, s:I}", "frames", (json_int_t)file->packets,
			 "lost", (json_int_t)file->lost);
}

static void record_release(struct job *job)
{
	rfmring_on_frame(job->ring, NULL, NULL);
	rfm_pcapng_end(&((struct recording *)job)->file);
	job->node->recording = NULL;
}

static const struct job_kind record_job = {
	record_step, .result = record_result, .release = record_release
};

static void more(void *context, json_t *object)
{
	finish(context);
}

void record_end(struct rmnode *node)
{
	if (node->recording)
		finish(node->recording);
}

static bool create(struct recording *recording, struct control_request *request, const char *path)
{
	if (recording->job.node->recording)
		return control_fail(request, "a recording is under way already");
	if (rfm_pcapng_create(&recording->file, path, "rmnode", rfm_real_time() - rfm_now()))
		return control_fail(request, "cannot write %.300s: %s", path, strerror(errno));
	return true;
}

void verb_record(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct recording *recording = job_new(node, request, sizeof(*recording), &record_job);
	uint64_t ms = 0;
	const char *path;

	if (!recording)
		return;
	recording->left = UINT64_MAX;
	if (!control_get_string(request, args, "file", true, &path) ||
	    !control_get_number(request, args, "count", false, 1, INT64_MAX, &recording->left) ||
	    !control_get_number(request, args, "milliseconds", false, 1, UINT32_MAX, &ms) ||
	    !get_ranges(request, args, &recording->ranges) ||
	    !create(recording, request, path)) {
		free(recording);
		return;
	}
	recording->interface = rfm_pcapng_interface(&recording->file, "rx", "what came by");
	recording->end = ms ? rfm_now() + ms * 1000000 : RFM_NEVER;
	node->recording = recording;
	recording->job.when = 0;	/* to be flushed from now on */
	job_begin(&recording->job);
	rfmring_on_frame(node->ring, seen, recording);
	control_on_more(request, more, recording);
	control_event(request, json_pack("{s:s}", "event", "recording"));
}
