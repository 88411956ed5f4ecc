// SPDX-License-Identifier: MIT
/* What goes to one node: packets that tell, and locks. Many are under way at a time. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "litmus.h"

#define PATIENCE	20		/* looks before who waits sleeps between them */

void give_way(unsigned int *turns)
{
	if (++*turns < PATIENCE)
		sched_yield();
	else
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

/* A lock may be taken for ever now, and a packet come in a later batch. */
static void fail(struct member *member, const char *what, int error)
{
	complain(member, error ? "%s: %s" : "%s", what, strerror(error));
	atomic_store(&member->shared->broken, true);
}

/* Its done() takes it off those that are under way. Returns false if there will be none. */
static bool begin(struct member *member, const struct rfmring_operation *operation)
{
	atomic_fetch_add(&member->under_way, 1);
	if (!rfmring_begin(member->ring, operation))
		return true;
	fail(member, "an operation was not begun", errno);
	atomic_fetch_sub(&member->under_way, 1);
	return false;
}

/* Waits until fewer are. */
static void await_fewer(struct member *member, uint32_t limit)
{
	unsigned int turns = 0;

	while (atomic_load(&member->under_way) >= limit)
		give_way(&turns);
}

void drain(struct member *member)
{
	await_fewer(member, 1);
}

/* --- packets --------------------------------------------------------------------- */

static void on_sent(void *opaque, int error, uint64_t old)
{
	struct member *member = opaque;

	(void)old;
	if (error)
		fail(member, "a packet was not taken", error);
	atomic_fetch_sub(&member->under_way, 1);
}

void send_packet(struct member *member, const struct plan *plan, int role, uint32_t instance)
{
	struct rfmring_operation operation = RFMRING_OPERATION_INIT;

	member->tags[instance] = tag_of(plan, instance);
	operation.op = RFMRING_MESSAGE;
	operation.node = plan->node[role + 1];
	operation.port = instance % PORTS;
	operation.data = &member->tags[instance];
	operation.length = sizeof(member->tags[instance]);
	operation.opaque = member;
	operation.done = on_sent;
	await_fewer(member, plan->window);
	begin(member, &operation);
}

bool take_packet(struct member *member, uint32_t *tag)
{
	size_t length = 0;

	for (uint32_t port = 0; port < PORTS; port++) {
		int came = rfmring_receive(member->ring, port, tag, sizeof(*tag), &length, NULL, 0);

		if (came < 0 || (came && length != sizeof(*tag)))
			complain(member, "a packet of %zu bytes: %s", length, strerror(errno));
		else if (came)
			return true;
	}
	return false;
}

/* --- locks ------------------------------------------------------------------------- */

static uint32_t lock_offset(const struct plan *plan, uint32_t instance)
{
	return LOCKS + (plan->width == 8 ? LOCKS_SIZE / 2 : 0) + instance * 8;
}

static bool change(struct lock *lock, uint64_t compare, uint64_t value,
		   void (*done)(void *opaque, int error, uint64_t old))
{
	struct rfmring_operation operation = RFMRING_OPERATION_INIT;

	operation.op = RFMRING_CAS;
	operation.node = lock->plan->node[HOME];
	operation.offset = lock_offset(lock->plan, lock->instance);
	operation.length = lock->plan->width;
	operation.compare = compare;
	operation.value = value;
	operation.opaque = lock;
	operation.done = done;
	return begin(lock->member, &operation);
}

static void on_tried(void *opaque, int error, uint64_t old)
{
	struct lock *lock = opaque;

	if (error)
		fail(lock->member, "a lock was not taken", error);
	atomic_store(&lock->state, error || old ? DENIED : HELD);
	atomic_fetch_sub(&lock->member->under_way, 1);
}

static void on_unlocked(void *opaque, int error, uint64_t old)
{
	struct lock *lock = opaque;

	if (error)
		fail(lock->member, "a lock was not given up", error);
	else if (old != 1u + lock->role)
		fail(lock->member, "a lock that had been taken was another's", 0);
	atomic_fetch_sub(&lock->member->under_way, 1);
}

static void ask_for(struct lock *lock)
{
	atomic_store(&lock->state, ASKED);
	if (!change(lock, 0, 1 + lock->role, on_tried))
		atomic_store(&lock->state, DENIED);
}

void begin_lock(struct member *member, const struct plan *plan, int role, uint32_t instance)
{
	struct lock *lock = &member->locks[instance];

	lock->member = member;
	lock->plan = plan;
	lock->instance = instance;
	lock->role = role;
	ask_for(lock);
}

void await_lock(struct member *member, uint32_t instance)
{
	struct lock *lock = &member->locks[instance];
	unsigned int turns = 0;
	enum lock_state state;

	while ((state = atomic_load(&lock->state)) != HELD) {
		if (state == DENIED && atomic_load(&member->shared->broken))
			return;
		if (state == DENIED)
			ask_for(lock);
		give_way(&turns);
	}
}

void begin_unlock(struct member *member, uint32_t instance)
{
	struct lock *lock = &member->locks[instance];

	if (atomic_load(&lock->state) == HELD)
		change(lock, 1 + lock->role, 0, on_unlocked);
}

bool is_free(struct member *member, const struct plan *plan, uint32_t instance)
{
	uint64_t word = 0;

	rfmring_read(member->ring, lock_offset(plan, instance), &word, plan->width);
	return !word;
}
