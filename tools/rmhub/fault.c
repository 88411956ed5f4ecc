// SPDX-License-Identifier: MIT
#include "fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/frame-layout.h"

static const char *const kind_names[FAULT_KINDS] = {
	[FAULT_DROP] = "drop",
	[FAULT_CORRUPT] = "corrupt",
	[FAULT_DELAY] = "delay",
	[FAULT_DUPLICATE] = "duplicate",
	[FAULT_REORDER] = "reorder",
	[FAULT_FREEZE] = "freeze",
};

const char *fault_kind_name(enum fault_kind kind)
{
	return kind_names[kind];
}

int fault_kind_parse(const char *name)
{
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		if (!strcmp(name, kind_names[kind]))
			return kind;
	return -1;
}

void fault_spec_init(struct fault_spec *spec, enum fault_kind kind)
{
	*spec = (struct fault_spec){
		.kind = kind,
		.port = -1,
		.probability = 1,
		.seed = 1,
		.source = -1,
		.types = RFM_FRAME_UPDATES,
		.interrupt = -1,
		.nth = 1,
		.count = 1,
		.depth = 1,
		.bit = -1,
	};
}

const char *fault_spec_check(const struct fault_spec *spec, bool in_scenario)
{
	bool takes_time = spec->kind == FAULT_DELAY || spec->kind == FAULT_FREEZE;

	if (takes_time && !spec->time)
		return "a delay or freeze needs a time";
	if (!takes_time && spec->time)
		return "only a delay or freeze has a time";
	if (spec->depth != 1 && spec->kind != FAULT_REORDER)
		return "only a reorder has a depth";
	if (spec->bit >= 0 && spec->kind != FAULT_CORRUPT)
		return "only a corrupt has a bit";
	if (spec->addressed && spec->first > spec->last)
		return "the range of addresses ends before it begins";
	if (spec->valued_at && !spec->value_length)
		return "an address of a value needs the value";
	if (in_scenario && !spec->count && !spec->lasting)
		return "a fault of a scenario needs a count or a duration, or the next never begins";
	return NULL;
}

/* --- the set -------------------------------------------------------------- */

static void arm(struct fault *fault, uint64_t now)
{
	fault->armed_at = now;
	fault->random = fault->spec.seed;
}

static struct fault *fault_new(struct faults *faults, const struct fault_spec *spec)
{
	struct fault *fault = calloc(1, sizeof(*fault));

	if (fault) {
		fault->spec = *spec;
		fault->id = ++faults->last_id;
	}
	return fault;
}

static void free_all(struct fault **list, unsigned int *count)
{
	while (*count)
		free(list[--*count]);
}

void faults_destroy(struct faults *faults)
{
	free_all(faults->standing, &faults->standing_count);
	free_all(faults->scenario, &faults->scenario_count);
}

struct fault *faults_add(struct faults *faults, const struct fault_spec *spec, uint64_t now)
{
	struct fault *fault;

	if (faults->standing_count == FAULTS_MAX) {
		errno = ENOSPC;
		return NULL;
	}
	fault = fault_new(faults, spec);
	if (fault) {
		arm(fault, now);
		faults->standing[faults->standing_count++] = fault;
	}
	return fault;
}

bool faults_clear(struct faults *faults, unsigned int id)
{
	if (!id) {
		faults_destroy(faults);
		faults->step = 0;
		return true;
	}
	for (unsigned int i = 0; i < faults->standing_count; i++) {
		if (faults->standing[i]->id != id)
			continue;
		free(faults->standing[i]);
		faults->standing_count--;
		memmove(faults->standing + i, faults->standing + i + 1,
			(faults->standing_count - i) * sizeof(*faults->standing));
		return true;
	}
	return false;
}

int faults_play(struct faults *faults, const struct fault_spec *specs, unsigned int count,
		uint64_t now)
{
	struct fault *list[FAULTS_MAX];
	unsigned int made = 0;

	if (count > FAULTS_MAX) {
		errno = ENOSPC;
		return -1;
	}
	for (; made < count; made++) {
		list[made] = fault_new(faults, &specs[made]);
		if (!list[made]) {
			free_all(list, &made);
			return -1;
		}
	}
	free_all(faults->scenario, &faults->scenario_count);
	for (unsigned int i = 0; i < count; i++)
		faults->scenario[i] = list[i];
	faults->scenario_count = count;
	faults->step = 0;
	if (count)
		arm(faults->scenario[0], now);
	return 0;
}

struct fault *faults_find(const struct faults *faults, unsigned int id)
{
	for (unsigned int i = 0; i < faults->standing_count; i++)
		if (faults->standing[i]->id == id)
			return faults->standing[i];
	for (unsigned int i = 0; i < faults->scenario_count; i++)
		if (faults->scenario[i]->id == id)
			return faults->scenario[i];
	return NULL;
}

bool fault_finished(const struct fault *fault, uint64_t now)
{
	const struct fault_spec *spec = &fault->spec;

	return (spec->count && fault->fired >= spec->count) ||
	       (spec->lasting && now >= fault->armed_at + spec->after + spec->lasting);
}

bool faults_armed(const struct faults *faults)
{
	return faults->standing_count || faults->step < faults->scenario_count;
}

uint64_t faults_tick(struct faults *faults, uint64_t now)
{
	while (faults->step < faults->scenario_count) {
		const struct fault *fault = faults->scenario[faults->step];

		if (!fault_finished(fault, now))
			return fault->spec.lasting ?
				fault->armed_at + fault->spec.after + fault->spec.lasting :
				UINT64_MAX;
		if (++faults->step < faults->scenario_count)
			arm(faults->scenario[faults->step], now);
	}
	return UINT64_MAX;
}

/* --- a frame -------------------------------------------------------------- */

/* SplitMix64: small, and the same numbers everywhere. */
static uint64_t draw(struct fault *fault)
{
	uint64_t z = fault->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool has_value(const struct fault_spec *spec, const struct rfm_frame *frame)
{
	uint32_t at = spec->valued_at ? spec->value_at - frame->address : 0;

	if (spec->valued_at && spec->value_at < frame->address)
		return false;
	return at <= frame->length && spec->value_length <= frame->length - at &&
	       !memcmp(frame->data + at, spec->value, spec->value_length);
}

static bool is_copy(const struct fault_spec *spec, const struct rfm_frame *frame)
{
	bool second = frame->flags & RFM_FLAG_SECOND;

	return spec->copy == FAULT_COPY_ANY || second == (spec->copy == FAULT_COPY_SECOND);
}

static bool matches(const struct fault_spec *spec, unsigned int port, const struct rfm_frame *frame)
{
	bool data = frame->type == RFM_FRAME_DATA;
	bool interrupt = rfm_frame_is_update(frame) && !data;

	if (!(spec->types & 1u << frame->type) || !is_copy(spec, frame))
		return false;
	if (spec->port >= 0 && (unsigned int)spec->port != port)
		return false;
	if (spec->source >= 0 && spec->source != frame->source)
		return false;
	if (spec->bit >= 0 && (unsigned int)spec->bit >= frame->length * 8u)
		return false;
	if (spec->addressed && (!data || frame->address > spec->last ||
				frame->address + frame->length - 1 < spec->first))
		return false;
	if (spec->interrupt >= 0 && (!interrupt || spec->interrupt != (frame->kind & 7)))
		return false;
	return !spec->value_length || ((data || interrupt) && has_value(spec, frame));
}

static bool meet(struct fault *fault, unsigned int port, const struct rfm_frame *frame,
		 uint64_t now)
{
	const struct fault_spec *spec = &fault->spec;

	if (now < fault->armed_at + spec->after || fault_finished(fault, now) ||
	    !matches(spec, port, frame))
		return false;
	if (++fault->matched < spec->nth)
		return false;
	/* 53 bits are what a double between 0 and 1 has. */
	if (spec->probability < 1 && (draw(fault) >> 11) * 0x1p-53 >= spec->probability)
		return false;
	fault->fired++;
	fault->by_source[frame->source]++;
	return true;
}

struct fault *faults_meet(struct faults *faults, unsigned int port,
			  const struct rfm_frame *frame, uint64_t now)
{
	faults_tick(faults, now);
	if (faults->step < faults->scenario_count) {
		struct fault *fault = faults->scenario[faults->step];

		if (meet(fault, port, frame, now)) {
			faults_tick(faults, now);
			return fault;
		}
	}
	for (unsigned int i = 0; i < faults->standing_count; i++)
		if (meet(faults->standing[i], port, frame, now))
			return faults->standing[i];
	return NULL;
}

/* The framing needs these, and the check does not cover what changes on the way. */
static bool must_stay(const uint8_t *wire, unsigned int byte)
{
	return byte < AT_SOURCE || byte == AT_LENGTH || (byte >= AT_CHECK && byte < AT_DATA) ||
	       (byte == AT_PIECES && wire[AT_TYPE] == RFM_FRAME_PACKET);
}

unsigned int fault_flip(struct fault *fault, uint8_t *wire, unsigned int len)
{
	unsigned int byte, bit;

	if (fault->spec.bit >= 0) {
		byte = RFM_FRAME_HEADER + fault->spec.bit / 8;
		bit = fault->spec.bit % 8;
	} else {
		uint64_t random = draw(fault);

		bit = random & 7;
		do {
			random = draw(fault);
			byte = random % len;
		} while (must_stay(wire, byte));
	}
	wire[byte] ^= 1u << bit;
	return byte * 8 + bit;
}
