// SPDX-License-Identifier: MIT
/* The traffic generator: so many stores of one size, as fast as they go or at a rate. */
#include <stdlib.h>

#include "rmnode.h"

#define SLICE_NS	1000000u	/* at a rate: stores of a millisecond go together */

/**
 * struct load - a job
 * @count: stores to make
 * @end: when to stop all the same
 * @stride: bytes from one store to the next
 * @rate: a second; 0: as fast as the ring takes them
 * @random: at random places instead of one after the other
 * @value: of the next store
 */
struct load {
	struct job job;
	uint64_t count, end, begin;
	uint32_t first, places, place;
	uint64_t size, stride, rate;
	bool random;
	uint64_t seed, value;
};

/* xorshift64*: the same stores for the same seed. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static uint32_t next_place(struct load *load)
{
	if (load->random)
		return (next_random(&load->seed) >> 32) * load->places >> 32;
	return load->place + 1 < load->places ? load->place + 1 : 0;
}

/* At a rate: is it too early for the next one? */
static bool is_early(struct load *load, uint64_t now)
{
	unsigned __int128 due;

	if (!load->rate)
		return false;
	due = (unsigned __int128)(now - load->begin) * load->rate;
	if (load->job.stores < (uint64_t)(due / 1000000000u))
		return false;
	load->job.when = load->begin +
		(uint64_t)((unsigned __int128)(load->job.stores + 1) * 1000000000u / load->rate);
	if (load->job.when < now + SLICE_NS && load->rate > 1000000000u / SLICE_NS)
		load->job.when = now + SLICE_NS;
	return true;
}

static enum step load_step(struct job *job, uint64_t now)
{
	struct load *load = (struct load *)job;
	uint64_t data[8];
	enum step step;

	if (job->stores >= load->count || now >= load->end) {
		job_end(job, NULL);
		return STEP_DONE;
	}
	if (is_early(load, now)) {
		if (job->when > load->end)
			job->when = load->end;
		return STEP_WAIT;
	}
	if (load->size <= sizeof(data[0]))
		data[0] = load->value;
	else
		for (unsigned int i = 0; i < 8; i++)
			data[i] = load->value;
	step = job_store(job, load->first + load->place * load->stride, data, load->size, now);
	if (step == STEP_DID) {
		load->value++;
		load->place = next_place(load);
	}
	return step;
}

static json_t *load_result(struct job *job)
{
	const struct load *load = (const struct load *)job;

	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "stores", (json_int_t)job->stores,
			 "dropped", (json_int_t)job->dropped, "dark", (json_int_t)job->dark,
			 "bytes", (json_int_t)(job->stores * load->size),
			 "nanoseconds", (json_int_t)(rfm_now() - load->begin));
}

static const struct job_kind load_job = { load_step, .result = load_result };

/* Each node its own part of the range: a word has one writer only. */
static bool own_part(struct control_request *request, unsigned int id, uint64_t parts,
		     uint32_t *first, uint32_t *last)
{
	uint64_t part = ((uint64_t)*last - *first + 1) / parts;

	part -= part % 64;
	if (id >= parts || !part)
		return control_fail(request, id >= parts ?
				    "node %u has no part of its own among %llu" :
				    "the range is too small for node %u and all of %llu parts of "
				    "64 bytes", id, (unsigned long long)parts);
	*first += id * part;
	*last = *first + part - 1;
	return true;
}

/* False after it has failed the request. */
static bool take_args(struct load *load, struct control_request *request, json_t *args)
{
	const struct rmnode *node = load->job.node;
	uint64_t ms = 0, parts = 0;
	uint32_t last;

	if (!get_range(request, args, node->ring, &load->first, &last) ||
	    !control_get_number(request, args, "count", false, 1, INT64_MAX, &load->count) ||
	    !control_get_number(request, args, "milliseconds", false, 1, UINT32_MAX, &ms) ||
	    !control_get_number(request, args, "size", false, 1, 64, &load->size) ||
	    !control_get_number(request, args, "stride", false, load->size, 1 << 20,
				&load->stride) ||
	    !control_get_number(request, args, "rate", false, 1, 1000000000, &load->rate) ||
	    !control_get_number(request, args, "parts", false, 1, RFMRING_NODES, &parts) ||
	    !control_get_number(request, args, "seed", false, 1, INT64_MAX, &load->seed) ||
	    !control_get_number(request, args, "value", false, 0, INT64_MAX, &load->value) ||
	    !control_get_bool(request, args, "random", false, &load->random) ||
	    (parts && !own_part(request, node->id, parts, &load->first, &last)))
		return false;
	if (load->count == UINT64_MAX && !ms)
		return control_fail(request, "say how many stores, or for how long");
	if (last - load->first + 1 < load->size)
		return control_fail(request, "the range is too small for a store of %llu bytes",
				    (unsigned long long)load->size);
	load->stride = load->stride ? load->stride : load->size;
	load->places = (last - load->first + 1 - load->size) / load->stride + 1;
	load->begin = rfm_now();
	load->end = ms ? load->begin + ms * 1000000ull : RFM_NEVER;
	return true;
}

void verb_load(struct control_request *request, json_t *args, void *opaque)
{
	struct load *load = job_new(opaque, request, sizeof(*load), &load_job);

	if (!load)
		return;
	load->count = UINT64_MAX;
	load->size = 4;
	load->seed = load->value = 1;
	if (take_args(load, request, args))
		job_begin(&load->job);
	else
		free(load);
}
