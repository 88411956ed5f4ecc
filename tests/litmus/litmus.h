/* SPDX-License-Identifier: MIT */
/*
 * The litmus tests of docs/ordering.md with nodes that are processes. Many
 * instances of one test, each with words of its own, run at once in a *batch*:
 * each role walks through all of them, at its own pace, on a node of its own.
 * Between two batches all nodes meet, so that what was stored is everywhere.
 *
 *	roles run | fences | all meet | all look at their memory | all meet | ...
 *
 * Every word carries the number of the batch that stored it and never goes
 * back, so nothing has to be cleared between two batches.
 */
#ifndef LITMUS_H
#define LITMUS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/host/rfmring.h"

#define NODES_MAX	8
#define ROLES_MAX	4
#define OPS_MAX		4
#define LOADS_MAX	4		/* of all roles together */
#define DIGITS		4		/* values that a load can have in an outcome */
#define OUTCOMES	256		/* DIGITS to the power of LOADS_MAX */
#define INSTANCES	4096		/* of a batch at most */
#define ADDRESSED	256		/* of one with packets or locks, each of which goes round twice */
#define AREA		0x100000u	/* of all words of a batch, for one width */
#define LOCKS		(2 * AREA)	/* a word for each instance, for either width */
#define LOCKS_SIZE	0x10000u
#define MEMORY		(LOCKS + LOCKS_SIZE)
#define PORTS		8u		/* of each node, for packets: room for a batch of them */
#define PORT_DEPTH	1024u
#define HOME		ROLES_MAX	/* in struct plan.node: of the locks */

/**
 * struct shape - a litmus test
 * @name: as in docs/ordering.md
 * @code: what each role does, a string of operations, each a letter and most
 *	of them a word x, y or z: W store; C store if the last load gave 1; R
 *	load; F load when all has settled, gives the number of the writer's role
 *	from 1; I interrupt to all; J has this instance's interrupt come? P packet to
 *	the node of the next role; D the same if the last load gave 1; Q has this
 *	instance's packet come? L take this instance's lock; U give it up
 * @never: the outcome that may not be seen: the loads from left to right
 * @seen: the outcome that must be seen at least once
 * @only: all outcomes that may be seen; NULL: more than can be named
 */
struct shape {
	const char *name;
	const char *code[ROLES_MAX];
	const char *never;
	const char *seen;
	const char *only;
};

/* Does any role do one of these? */
bool shape_does(const struct shape *shape, const char *letters);

extern const struct shape shapes[];
const struct shape *find_shape(const char *name);
int roles_of(const struct shape *shape);
int words_of(const struct shape *shape);
/* Does it ask one node for something? */
bool is_addressed(const struct shape *shape);
/* A power of two; of a test with interrupts what a node's queue can hold. */
uint32_t instances_of(const struct shape *shape);

/* How a batch is run; every process derives the same from its number. */
struct plan {
	uint32_t number;		/* of the batch, from 1; over all tests */
	uint8_t node[ROLES_MAX + 1];	/* where each role runs; and HOME */
	uint8_t width;			/* of a word: 4 or 8 */
	uint8_t layout;
	uint32_t shift;			/* of all words, bytes */
	uint32_t step;			/* from one instance to the next; odd */
	uint32_t leash;			/* how far ahead of the slowest a role may be */
	uint32_t follow;		/* each so many instances a reader waits; 0 never */
	uint32_t pause;			/* each so many instances a role idles; 0 never */
	uint32_t window;		/* operations of a role that are under way at most */
};

struct plan make_plan(const struct shape *shape, int nodes, uint64_t seed, uint32_t number);
uint32_t word_offset(const struct plan *plan, int words, int word, uint32_t instance);
const char *describe(const struct plan *plan, int roles);

/* What all processes share beside the ring: where they meet and what they saw. */
struct cursor {
	_Alignas(64) _Atomic uint32_t at;
};

struct shared {
	pthread_barrier_t barrier;
	bool enough;			/* no more batches of this test */
	_Atomic uint64_t beat;		/* changes with every batch */
	_Atomic uint32_t complaints;
	_Atomic bool broken;		/* an operation has failed: what follows says nothing */
	_Atomic bool failed;		/* a test has */
	struct cursor cursors[ROLES_MAX];
	uint8_t loads[ROLES_MAX][INSTANCES][LOADS_MAX];
	struct rfmring_stats before[NODES_MAX], after[NODES_MAX];
};

enum lock_state { ASKED, DENIED, HELD };

/* Of an instance. */
struct lock {
	struct member *member;
	const struct plan *plan;
	uint32_t instance;
	int role;
	_Atomic enum lock_state state;
};

/* A process: a node, and what it knows of the test. */
struct member {
	struct rfmring *ring;
	struct shared *shared;
	int rank;
	uint64_t random;
	uint32_t asked;
	uint32_t came[INSTANCES];	/* batch of the last interrupt or packet of each instance */
	uint32_t tags[INSTANCES];	/* what its packets say */
	struct lock locks[INSTANCES];
	_Atomic uint32_t under_way;	/* operations */
};

uint64_t next_random(uint64_t *state);
void meet(struct member *member);
/* Prints the first few; all are counted. */
void complain(struct member *member, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline uint32_t tag_of(const struct plan *plan, uint32_t instance)
{
	return plan->number * INSTANCES | instance;
}

/* --- operation.c: what goes to one node ------------------------------------- */

/* For who waits for another process or thread, which may need this CPU. @turns: 0 at first. */
void give_way(unsigned int *turns);

/* Waits until no operation is under way any more. */
void drain(struct member *member);

void send_packet(struct member *member, const struct plan *plan, int role, uint32_t instance);
/* False: none has come. */
bool take_packet(struct member *member, uint32_t *tag);

void begin_lock(struct member *member, const struct plan *plan, int role, uint32_t instance);
/* It is asked for until it is had. */
void await_lock(struct member *member, uint32_t instance);
void begin_unlock(struct member *member, uint32_t instance);
bool is_free(struct member *member, const struct plan *plan, uint32_t instance);

void run_batch(struct member *member, const struct shape *shape, const struct plan *plan);

#endif
