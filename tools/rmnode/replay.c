// SPDX-License-Identifier: MIT
/*
 * Replay: the updates and interrupts of a recording once more, in their order
 * and with their spacing, or faster, or one at a time; as this node, or as
 * another one that joins the ring behind this one for as long as it lasts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcapng_reader.h"
#include "ring/wire.h"
#include "rmnode.h"

#define NIC_GLOBAL	0x8
#define NIC_TYPE	0x7
#define SIGNAL_NS	2000000000ull	/* for another node to be on the ring */
#define HOME_NS		2000000000ull	/* for its last frame to come home */
#define LOOK_NS		1000000u

/**
 * struct replay - a job
 * @speed: how much faster, in thousandths; 0: as fast as the ring takes it
 * @stepwise: one frame for each line of the client
 * @allowed: frames that it has asked for so far
 * @frame: the next one, if @ready
 * @base: its first frame's time, in the recording
 * @begin: and here
 * @skipped: frames seen before, or not of the ranges asked for, or that do not
 *	fit in the memory
 * @joined: the other node has been on the ring
 * @over: as another node: all is sent, and awaited until @give_up
 * @fenced: behind the last frame there is a fence
 */
struct replay {
	struct job job;
	FILE *file;
	struct pcapng_reader reader;
	struct ranges ranges;
	struct sightings sightings;
	uint64_t speed;
	bool stepwise, ready, first, another;
	uint64_t allowed;
	struct rfm_frame frame;
	uint64_t time, base, begin;
	uint64_t frames, skipped, interrupts;
	bool joined, over, fenced;
	uint64_t give_up;
};

static bool is_wanted(struct replay *replay, const struct rfm_frame *frame)
{
	uint64_t size = rfmring_memory_size(replay->job.ring);

	if (!rfm_frame_is_update(frame) || !first_sight(&replay->sightings, frame))
		return false;
	return frame->type != RFM_FRAME_DATA ||
	       (in_ranges(&replay->ranges, frame->address, frame->length) &&
		frame->address + frame->length <= size);
}

static bool is_ours(const struct pcapng_record *record)
{
	return record->len >= RFM_FRAME_HEADER &&
	       rfm_frame_length(record->wire) == (int)record->len;
}

/* The next frame to be replayed; false at the end or after an error. */
static bool read_frame(struct replay *replay)
{
	struct pcapng_record record;
	int got;

	while ((got = pcapng_read_next(&replay->reader, &record)) > 0) {
		if (!is_ours(&record) ||
		    rfm_frame_decode(record.wire, &replay->frame) != RFM_FRAME_OK ||
		    !is_wanted(replay, &replay->frame)) {
			replay->skipped++;
			continue;
		}
		replay->time = record.time;
		if (replay->first) {
			replay->first = false;
			replay->base = replay->time;
			replay->begin = rfm_now();
		}
		return true;
	}
	if (!got && replay->another) {
		replay->over = true;
		replay->give_up = rfm_now() + HOME_NS;
	} else {
		job_end(&replay->job, got ? replay->reader.error : NULL);
	}
	return false;
}

static bool is_early(struct replay *replay, uint64_t now)
{
	uint64_t after = replay->time > replay->base ? replay->time - replay->base : 0;

	if (replay->stepwise) {
		replay->job.when = RFM_NEVER;
		return replay->frames >= replay->allowed;
	}
	if (!replay->speed)
		return false;
	replay->job.when = replay->begin +
			   (uint64_t)((unsigned __int128)after * 1000 / replay->speed);
	return replay->job.when > now;
}

static int send_interrupt(struct rfmring *ring, const struct rfm_frame *frame)
{
	uint8_t type = frame->kind & NIC_TYPE;
	uint32_t data = get32(frame->data);

	if (frame->type == RFM_FRAME_MULTICAST)
		return rfmring_interrupt_set(ring, frame->data + sizeof(data), type, data);
	return rfmring_interrupt(ring, frame->kind & NIC_GLOBAL ? RFMRING_ALL : frame->dest, type,
				 data);
}

static enum step send_frame(struct replay *replay, uint64_t now)
{
	const struct rfm_frame *frame = &replay->frame;
	uint64_t dark;

	if (frame->type == RFM_FRAME_DATA)
		return job_store(&replay->job, frame->address, frame->data, frame->length, now);
	replay->interrupts++;
	dark = job_dark_stores(&replay->job);
	if (send_interrupt(replay->job.ring, frame) && errno == ENOBUFS)
		replay->job.dropped++;
	replay->job.dark += job_dark_stores(&replay->job) != dark;
	return STEP_DID;
}

static void tell_step(struct replay *replay)
{
	const struct rfm_frame *frame = &replay->frame;
	char *text = hex_text(frame->data, frame->length);

	if (replay->stepwise && replay->job.request)
		control_event(replay->job.request, json_pack("{s:s, s:i, s:I, s:I, s:s*, s:I}",
			"type", frame->type == RFM_FRAME_DATA ? "data" : "interrupt",
			"source", (int)frame->source, "seq", (json_int_t)frame->seq,
			"offset", (json_int_t)frame->address, "data", text,
			"after_ns", (json_int_t)(replay->time - replay->base)));
	free(text);
}

/* A node that has only just come is heard when its receiver has light. */
static enum step join(struct replay *replay, uint64_t now)
{
	struct rfmring_state state = state_of(replay->job.ring);

	replay->joined = state.signal && state.downstream;
	if (replay->joined)
		return STEP_DID;
	if (now > replay->begin + SIGNAL_NS) {
		job_end(&replay->job, "the other node has found no ring: it is dark");
		return STEP_DONE;
	}
	replay->job.when = now + LOOK_NS;
	return STEP_WAIT;
}

/* What of it did not come home is known when a fence behind it does. */
static enum step await_home(struct replay *replay, uint64_t now)
{
	struct rfmring_stats stats;

	if (!replay->fenced)
		replay->fenced = !rfmring_fence_begin(replay->job.ring, NULL, NULL) ||
				 errno == ENOLINK;
	stats = stats_of(replay->job.ring);
	if ((replay->fenced && stats.home + stats.lost >= stats.stores) || now > replay->give_up) {
		job_end(&replay->job, NULL);
		return STEP_DONE;
	}
	replay->job.when = now + LOOK_NS;
	return STEP_WAIT;
}

static enum step replay_step(struct job *job, uint64_t now)
{
	struct replay *replay = (struct replay *)job;
	enum step step;

	if (replay->over)
		return await_home(replay, now);
	if (replay->another && !replay->joined)
		return join(replay, now);
	if (!replay->ready && !read_frame(replay))
		return replay->over ? STEP_DID : STEP_DONE;
	replay->ready = true;
	if (is_early(replay, now))
		return STEP_WAIT;
	step = send_frame(replay, now);
	if (step == STEP_DID) {
		replay->ready = false;
		replay->frames++;
		tell_step(replay);
	}
	return step;
}

static json_t *replay_result(struct job *job)
{
	const struct replay *replay = (const struct replay *)job;
	struct rfmring_stats stats = stats_of(job->ring);
	json_t *result = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}",
				   "frames", (json_int_t)replay->frames,
				   "interrupts", (json_int_t)replay->interrupts,
				   "skipped", (json_int_t)replay->skipped,
				   "dropped", (json_int_t)job->dropped,
				   "dark", (json_int_t)job->dark,
				   "nanoseconds", (json_int_t)(rfm_now() - replay->begin));

	if (replay->another)
		json_object_set_new(result, "lost", json_integer(stats.stores - stats.home));
	return result;
}

static void close_file(struct replay *replay)
{
	pcapng_read_end(&replay->reader);
	if (replay->file)
		fclose(replay->file);
}

static void replay_release(struct job *job)
{
	struct replay *replay = (struct replay *)job;

	/* Its last frames have to come home first; that is waited for outside. */
	if (replay->another)
		job->node->guests[job->node->guest_count++] = job->ring;
	close_file(replay);
}

static const struct job_kind replay_job = {
	replay_step, .result = replay_result, .release = replay_release
};

static void one_more(void *context, json_t *object)
{
	struct replay *replay = context;

	replay->allowed++;
	rfm_poller_activate(&replay->job.poller);
}

/* --- beginning -------------------------------------------------------------------------- */

static bool open_file(struct replay *replay, struct control_request *request, const char *path)
{
	replay->file = fopen(path, "re");
	if (!replay->file)
		return control_fail(request, "cannot read %.300s: %s", path, strerror(errno));
	return !pcapng_read_begin(&replay->reader, replay->file) ||
	       control_fail(request, "no memory");
}

/* As another node: it needs a place on the ring. */
static bool open_other(struct replay *replay, struct control_request *request,
		       struct rmnode *node, uint64_t id)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	char error[CONTROL_SENTENCE];

	config.id = id;
	config.memory_size = rfmring_memory_size(node->ring);
	config.behind = node->ring;
	config.flags = RFMRING_UNPACKED | (node->ring->config.flags & RFMRING_REDUNDANT);
	replay->job.ring = rfmring_open(&config, error, sizeof(error));
	replay->another = true;
	if (!replay->job.ring)
		control_fail(request, "cannot be node %llu: %s", (unsigned long long)id, error);
	return replay->job.ring;
}

void verb_replay(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct replay *replay = job_new(node, request, sizeof(*replay), &replay_job);
	uint64_t id = node->id;
	const char *path;

	if (!replay)
		return;
	replay->speed = 1000;
	replay->first = true;
	replay->begin = rfm_now();
	if (control_get_string(request, args, "file", true, &path) &&
	    control_get_number(request, args, "speed", false, 0, 1000000000, &replay->speed) &&
	    control_get_number(request, args, "as", false, 0, RFMRING_NODES - 1, &id) &&
	    control_get_bool(request, args, "step", false, &replay->stepwise) &&
	    get_ranges(request, args, &replay->ranges) &&
	    (!node->guest_count || control_fail(request, "the replay before is not over yet")) &&
	    open_file(replay, request, path) &&
	    (id == node->id || open_other(replay, request, node, id))) {
		job_begin(&replay->job);
		control_on_more(request, one_more, replay);
		return;
	}
	close_file(replay);
	free(replay);
}
