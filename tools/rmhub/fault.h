/* SPDX-License-Identifier: MIT */
/*
 * Faults: what a hub does to frames on purpose. A fault says which frames it
 * is after and what happens to them; it is drawn from its own generator, so a
 * seed gives the same faults on the same frames every time. Pure: no clock, no
 * sockets.
 */
#ifndef RMHUB_FAULT_H
#define RMHUB_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"

#define FAULTS_MAX	256	/* standing ones; and as many in a scenario */
#define FAULT_DEPTH_MAX	1000
#define FAULT_TIME_MAX	3600000000000ull	/* ns: an hour */

enum fault_kind {
	FAULT_DROP,		/* the frame is gone */
	FAULT_CORRUPT,		/* a bit under the originator's check is flipped */
	FAULT_DELAY,		/* it leaves later, and nothing overtakes it */
	FAULT_DUPLICATE,	/* it leaves twice */
	FAULT_REORDER,		/* later frames of its source overtake it */
	FAULT_FREEZE,		/* its port stands still for a while, both ways */
	FAULT_KINDS
};

enum fault_copy { FAULT_COPY_ANY, FAULT_COPY_FIRST, FAULT_COPY_SECOND };

/**
 * struct fault_spec - which frames, and what happens to them
 * @port: where the frame comes in; -1: anywhere
 * @probability: 0..1, of those that match
 * @seed: of the generator
 * @source: node id; -1: any
 * @types: mask of 1 << enum rfm_frame_type
 * @copy: which copy, of a node that sends every update twice
 * @addressed: only updates that touch @first..@last
 * @interrupt: NIC type 0..7; -1: any
 * @value: only updates that write these @value_length bytes, at @value_at
 *	(@valued_at) or at the beginning of their data
 * @nth: begin with this match, from 1
 * @count: end after so many firings; 0: never
 * @after: not before it has been armed so long, ns
 * @lasting: and finished when it has been for so long, ns; 0: never
 * @time: DELAY, FREEZE: how long, ns
 * @depth: REORDER: by how many frames it is overtaken
 * @bit: CORRUPT: which bit of the data; -1: the generator chooses
 */
struct fault_spec {
	enum fault_kind kind;
	int port;
	double probability;
	uint64_t seed;
	int source;
	uint32_t types;
	enum fault_copy copy;
	bool addressed;
	uint32_t first, last;
	int interrupt;
	bool valued_at;
	uint32_t value_at;
	unsigned int value_length;
	uint8_t value[RFM_FRAME_DATA_MAX];
	uint64_t nth, count;
	uint64_t after, lasting;
	uint64_t time;
	unsigned int depth;
	int bit;
};

/**
 * struct fault - one that is set
 * @id: its number, from 1, never given twice
 * @armed_at: since when it looks at frames, ns
 * @random: state of its generator
 * @matched: frames that met all conditions
 * @fired: of these, how many had it happen to them
 * @in_vain: of @fired, held back to be overtaken, and nothing came
 * @by_source: @fired by node id
 */
struct fault {
	struct fault_spec spec;
	unsigned int id;
	uint64_t armed_at;
	uint64_t random;
	uint64_t matched, fired, in_vain;
	uint64_t by_source[RFM_RING_NODES];
};

/**
 * struct faults - all that are set
 * @standing: each on its own
 * @scenario: one after the other; @step is the one that is armed
 * @last_id: last number given
 */
struct faults {
	struct fault *standing[FAULTS_MAX];
	unsigned int standing_count;
	struct fault *scenario[FAULTS_MAX];
	unsigned int scenario_count, step;
	unsigned int last_id;
};

/** fault_spec_init() - any update, once, for sure */
void fault_spec_init(struct fault_spec *spec, enum fault_kind kind);

/** fault_kind_name() - "drop", "corrupt", ... */
const char *fault_kind_name(enum fault_kind kind);

/** fault_kind_parse() - the kind of that name, or -1 */
int fault_kind_parse(const char *name);

/**
 * fault_spec_check() - does it make sense?
 * @in_scenario: it must end, so that the next can begin
 *
 * Returns NULL, or one sentence.
 */
const char *fault_spec_check(const struct fault_spec *spec, bool in_scenario);

void faults_destroy(struct faults *faults);

/** faults_add() - a standing fault, armed now; NULL with errno ENOMEM or ENOSPC */
struct fault *faults_add(struct faults *faults, const struct fault_spec *spec, uint64_t now);

/** faults_clear() - take away the standing fault @id, or with 0 all and the scenario */
bool faults_clear(struct faults *faults, unsigned int id);

/**
 * faults_play() - a scenario, in place of the one that there was
 *
 * Its first fault is armed now. Returns 0, or -1 with errno ENOMEM or ENOSPC;
 * then nothing has changed.
 */
int faults_play(struct faults *faults, const struct fault_spec *specs, unsigned int count,
		uint64_t now);

/** faults_find() - the fault with that number, or NULL */
struct fault *faults_find(const struct faults *faults, unsigned int id);

/** fault_finished() - will it never fire again? */
bool fault_finished(const struct fault *fault, uint64_t now);

/** faults_armed() - is there one that may look at frames? */
bool faults_armed(const struct faults *faults);

/**
 * faults_meet() - a frame comes in
 * @port: there
 *
 * At most one fault has its way with a frame: the scenario's, else the first
 * standing one. It has counted that when this returns it. NULL: none.
 */
struct fault *faults_meet(struct faults *faults, unsigned int port,
			  const struct rfm_frame *frame, uint64_t now);

/** faults_tick() - let time pass: the next of the scenario; returns when to call again, ns */
uint64_t faults_tick(struct faults *faults, uint64_t now);

/**
 * fault_flip() - damage a frame that @fault, a CORRUPT, has met
 *
 * Never its magic, version, type or length, nor the pieces of a packet, so the one behind it
 * is still found. Returns the number of the flipped bit, counted from the first byte.
 */
unsigned int fault_flip(struct fault *fault, uint8_t *wire, unsigned int len);

#endif
