// SPDX-License-Identifier: MIT
/* Verbs on the memory: read, write, fill, watch, checksum. */
#include <stdlib.h>
#include <string.h>

#include "ring/crc32c.h"
#include "rmnode.h"

#define READ_MAX	(256u << 10)
#define CONTENT_MAX	1024u	/* bytes that a watch tells */

bool get_range(struct control_request *request, json_t *args, const struct rfmring *ring,
	       uint32_t *first, uint32_t *last)
{
	uint64_t size = rfmring_memory_size(ring), from = 0, to = size - 1;

	if (!control_get_number(request, args, "first", false, 0, size - 1, &from) ||
	    !control_get_number(request, args, "last", false, from, size - 1, &to))
		return false;
	*first = from;
	*last = to;
	return true;
}

void verb_read(struct control_request *request, json_t *args, void *opaque)
{
	const struct rmnode *node = opaque;
	uint32_t first, last;
	uint8_t *data;
	char *text;

	if (!get_range(request, args, node->ring, &first, &last))
		return;
	if (last - first >= READ_MAX) {
		control_fail(request, "a request may read %u bytes at most", READ_MAX);
		return;
	}
	data = control_alloc(request, last - first + 1);
	if (!data)
		return;
	rfmring_read(node->ring, first, data, last - first + 1);
	text = hex_text(data, last - first + 1);
	if (text)
		control_done(request, json_pack("{s:I, s:s}", "offset", (json_int_t)first,
						"data", text));
	else
		control_fail(request, "no memory");
	free(data);
	free(text);
}

void verb_checksum(struct control_request *request, json_t *args, void *opaque)
{
	const struct rmnode *node = opaque;
	const uint8_t *memory = rfmring_memory(node->ring);
	uint32_t first, last, check;

	if (!get_range(request, args, node->ring, &first, &last))
		return;
	check = rfm_crc32c(0, memory + first, (size_t)last - first + 1);
	control_done(request, json_pack("{s:I, s:I, s:I}", "first", (json_int_t)first,
					"last", (json_int_t)last, "crc32c", (json_int_t)check));
}

/* --- write and fill: jobs -------------------------------------------------------- */

/**
 * struct copy - a job
 * @data: the bytes, over and over again
 * @period: how many there are
 */
struct copy {
	struct job job;
	uint8_t *data;
	size_t period;
	uint32_t first, at;
	uint64_t left;
};

static enum step copy_step(struct job *job, uint64_t now)
{
	struct copy *copy = (struct copy *)job;
	uint32_t piece = RFM_FRAME_DATA_MAX - copy->at % RFM_FRAME_DATA_MAX;
	uint8_t data[RFM_FRAME_DATA_MAX];
	enum step step;

	if (!copy->left) {
		job_end(job, NULL);
		return STEP_DONE;
	}
	if (piece > copy->left)
		piece = copy->left;
	for (uint32_t i = 0; i < piece; i++)
		data[i] = copy->data[(copy->at - copy->first + i) % copy->period];
	step = job_store(job, copy->at, data, piece, now);
	if (step == STEP_DID) {
		copy->at += piece;
		copy->left -= piece;
	}
	return step;
}

static json_t *copy_result(struct job *job)
{
	const struct copy *copy = (const struct copy *)job;

	return json_pack("{s:I, s:I, s:I, s:I}", "bytes", (json_int_t)(copy->at - copy->first),
			 "stores", (json_int_t)job->stores, "dropped", (json_int_t)job->dropped,
			 "dark", (json_int_t)job->dark);
}

static void copy_release(struct job *job)
{
	free(((struct copy *)job)->data);
}

static const struct job_kind copy_job = {
	copy_step, .result = copy_result, .release = copy_release
};

uint8_t *get_data(struct control_request *request, json_t *args, const char *name, size_t *length)
{
	ssize_t got = -1;
	const char *text;
	uint8_t *data;

	if (!control_get_string(request, args, name, true, &text))
		return NULL;
	data = malloc(strlen(text) / 2 + 1);
	if (data)
		got = hex_bytes(text, data, strlen(text) / 2);
	if (got > 0) {
		*length = got;
		return data;
	}
	free(data);
	control_fail(request, "the data must be pairs of the digits 0 to 9 and a to f");
	return NULL;
}

/* Store the data once, or over and over again all over the range. */
static void begin_copy(struct control_request *request, json_t *args, struct rmnode *node,
		       bool fill)
{
	struct copy *copy = NULL;
	uint32_t first, last;
	uint64_t room;
	size_t length;
	uint8_t *data;

	if (!get_range(request, args, node->ring, &first, &last))
		return;
	data = get_data(request, args, "data", &length);
	if (!data)
		return;
	room = (uint64_t)last - first + 1;
	if (!fill && length > room)
		control_fail(request, "%zu bytes from 0x%x on do not fit in the memory", length,
			     first);
	else
		copy = job_new(node, request, sizeof(*copy), &copy_job);
	if (!copy) {
		free(data);
		return;
	}
	copy->data = data;
	copy->period = length;
	copy->first = copy->at = first;
	copy->left = fill ? room : length;
	job_begin(&copy->job);
}

void verb_write(struct control_request *request, json_t *args, void *opaque)
{
	begin_copy(request, args, opaque, false);
}

void verb_fill(struct control_request *request, json_t *args, void *opaque)
{
	begin_copy(request, args, opaque, true);
}

/* --- watch ------------------------------------------------------------------------- */

/**
 * struct watch - a job
 * @every: ns between two events, each of all that came meanwhile; 0: one of each update
 * @next: none before this time
 * @updates: with @every: that came since the last event
 * @latest: of these, without its bytes
 */
struct watch {
	struct job job;
	int number;
	uint32_t first, length;
	uint64_t left, missed;
	uint64_t every, next, updates;
	struct rfmring_update latest;
};

static json_t *watch_result(struct job *job)
{
	return json_pack("{s:I}", "missed", (json_int_t)((struct watch *)job)->missed);
}

static void watch_release(struct job *job)
{
	rfmring_unwatch(job->ring, ((struct watch *)job)->number);
}

static const struct job_kind watch_job = { .result = watch_result, .release = watch_release };

/* Less than 0 if it came before it was stored, by two clocks; null if they are not comparable. */
static json_t *age_or_none(const struct rfmring_update *update)
{
	return update->same_clock ? json_integer(update->arrival_ns - update->time_ns) : json_null();
}

static void watch_update(void *opaque, const struct rfmring_update *update)
{
	struct watch *watch = opaque;
	char *text;
	json_t *event;

	if (!watch->left)
		return;
	text = hex_text(update->data, update->length);
	event = json_pack("{s:I, s:I, s:s*, s:i, s:I, s:I, s:o, s:I}",
			  "offset", (json_int_t)update->offset,
			  "length", (json_int_t)update->length, "data", text,
			  "source", (int)update->node, "seq", (json_int_t)update->seq,
			  "time_ns", (json_int_t)update->time_ns, "age_ns", age_or_none(update),
			  "missed", (json_int_t)watch->missed);
	free(text);
	if (!control_event(watch->job.request, event)) {
		watch->missed++;
		return;
	}
	if (!--watch->left)
		job_over(&watch->job);	/* not from inside of an update */
}

/* --- watch, no oftener than so ------------------------------------------------------- */

/* The beginning of the range as it is now. */
static json_t *content(const struct watch *watch)
{
	uint8_t data[CONTENT_MAX];
	uint32_t length = watch->length < CONTENT_MAX ? watch->length : CONTENT_MAX;
	json_t *object;
	char *text;

	rfmring_read(watch->job.ring, watch->first, data, length);
	text = hex_text(data, length);
	object = json_pack("{s:I, s:I, s:s*}", "offset", (json_int_t)watch->first,
			   "length", (json_int_t)length, "data", text);
	free(text);
	return object;
}

/* A reader without room for it has it later, with what came meanwhile. */
static enum step paced_step(struct job *job, uint64_t now)
{
	struct watch *watch = (struct watch *)job;
	json_t *event;

	if (now < job->when)
		return STEP_WAIT;
	event = content(watch);
	json_object_update_new(event, json_pack("{s:i, s:I, s:I, s:o, s:I}",
		"source", (int)watch->latest.node, "seq", (json_int_t)watch->latest.seq,
		"time_ns", (json_int_t)watch->latest.time_ns, "age_ns", age_or_none(&watch->latest),
		"updates", (json_int_t)watch->updates));
	watch->next = now + watch->every;
	job->when = watch->next;
	if (!control_event(job->request, event))
		return STEP_WAIT;
	watch->updates = 0;
	job->when = RFM_NEVER;
	if (--watch->left)
		return STEP_WAIT;
	job_end(job, NULL);
	return STEP_DONE;
}

static const struct job_kind paced_job = {
	paced_step, .result = watch_result, .release = watch_release
};

static void paced_update(void *opaque, const struct rfmring_update *update)
{
	struct watch *watch = opaque;

	watch->latest = *update;
	if (watch->updates++)
		return;
	watch->job.when = watch->next;
	rfm_poller_activate(&watch->job.poller);
}

void verb_watch(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	uint64_t count = UINT64_MAX, every_ms = 0;
	json_t *begun;
	struct watch *watch;
	uint32_t first, last;

	if (!get_range(request, args, node->ring, &first, &last) ||
	    !control_get_number(request, args, "count", false, 1, INT64_MAX, &count) ||
	    !control_get_number(request, args, "every_ms", false, 1, UINT32_MAX, &every_ms))
		return;
	watch = job_new(node, request, sizeof(*watch), every_ms ? &paced_job : &watch_job);
	if (!watch)
		return;
	watch->first = first;
	watch->length = last - first + 1;
	watch->left = count;
	watch->every = every_ms * 1000000;
	watch->number = rfmring_watch(node->ring, first, watch->length,
				      every_ms ? paced_update : watch_update, watch);
	if (watch->number < 0) {
		free(watch);
		control_fail(request, "no memory");
		return;
	}
	job_begin(&watch->job);
	begun = json_pack("{s:I, s:I}", "first", (json_int_t)first, "last", (json_int_t)last);
	if (every_ms)
		json_object_update_new(begun, content(watch));
	control_event(request, begun);
}
