// SPDX-License-Identifier: MIT
/* One batch: the roles run, everything settles, everybody looks. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "litmus.h"

#define FENCE_MS	20000
#define SPINS		200		/* a reader's looks before it gives the CPU away */
#define YIELDS		200		/* and how often it does that before it goes on */
#define WAITS		20		/* for an interrupt, a millisecond each */
#define PACKET_TURNS	200		/* for a packet, give_way() each */
#define FOLLOW_SLEEP	16		/* how much rarer a reader waits if that takes long */
#define ASK_EACH	8
#define PUBLISH		4		/* instances between two marks of the cursor */
#define GONE		UINT32_MAX	/* a cursor that has arrived */

/* A role at work. */
struct role {
	struct member *member;
	const struct shape *shape;
	const struct plan *plan;
	int number, words;
	uint32_t instances;
	const char *code;
};

static uint32_t offset_of(const struct role *role, char word, uint32_t instance)
{
	return word_offset(role->plan, role->words, word - 'x', instance);
}

/* A word: number of the batch, and in the low two bits which role stored it. */
static uint32_t load_word(const struct role *role, char word, uint32_t instance)
{
	struct rfmring *ring = role->member->ring;
	uint32_t offset = offset_of(role, word, instance);
	uint64_t value = 0;
	uint32_t half = 0;

	if (role->plan->width == 4) {
		rfmring_load32(ring, offset, &half);
		return half;
	}
	rfmring_load64(ring, offset, &value);
	if (value >> 32 != (uint32_t)value)
		complain(role->member, "torn: %#018llx", (unsigned long long)value);
	return value;
}

static bool is_current(const struct role *role, uint32_t value)
{
	if (value >> 2 > role->plan->number)
		complain(role->member, "batch %u: a word from batch %u", role->plan->number,
			 value >> 2);
	return value >> 2 == role->plan->number;
}

static void store_word(const struct role *role, char word, uint32_t instance)
{
	struct rfmring *ring = role->member->ring;
	uint32_t offset = offset_of(role, word, instance);
	uint32_t value = role->plan->number << 2 | role->number;
	int failed;

	if (role->plan->width == 4)
		failed = rfmring_store32(ring, offset, value);
	else
		failed = rfmring_store64(ring, offset, (uint64_t)value << 32 | value);
	if (failed)
		complain(role->member, "a store failed: %s", strerror(errno));
}

static void send_tag(const struct role *role, uint32_t instance)
{
	if (rfmring_interrupt(role->member->ring, RFMRING_NODE_ALL, 1, tag_of(role->plan, instance)))
		complain(role->member, "an interrupt failed: %s", strerror(errno));
}

/* Takes what has come. What was stored before it must be here, already now. */
static void take_interrupts(const struct role *role, int timeout_ms)
{
	struct rfmring_interrupt interrupt;
	uint32_t instance;

	for (; rfmring_wait_interrupt(role->member->ring, &interrupt, timeout_ms) == 1;
	     timeout_ms = 0) {
		instance = interrupt.data % INSTANCES;
		if (interrupt.data != tag_of(role->plan, instance)) {
			complain(role->member, "batch %u: an interrupt of another: %#x",
				 role->plan->number, interrupt.data);
			continue;
		}
		role->member->came[instance] = role->plan->number;
		if (!is_current(role, load_word(role, 'x', instance)))
			complain(role->member, "batch %u, instance %u: interrupt before its data",
				 role->plan->number, instance);
	}
}

/* The same of packets. */
static void take_packets(const struct role *role)
{
	uint32_t tag, instance;

	while (take_packet(role->member, &tag)) {
		instance = tag % INSTANCES;
		if (tag != tag_of(role->plan, instance)) {
			complain(role->member, "batch %u: a packet of another: %#x", role->plan->number, tag);
			continue;
		}
		if (role->member->came[instance] == role->plan->number)
			complain(role->member, "batch %u: packet %u came twice", role->plan->number, instance);
		role->member->came[instance] = role->plan->number;
		if (!is_current(role, load_word(role, 'x', instance)))
			complain(role->member, "batch %u, instance %u: packet before its data",
				 role->plan->number, instance);
	}
}

static bool has_come(const struct role *role, uint32_t instance, bool packet)
{
	const uint32_t *came = &role->member->came[instance];

	/* Asking in vain costs as much as many loads; nobody must ask each time. */
	if (*came == role->plan->number || role->member->asked++ % ASK_EACH)
		return *came == role->plan->number;
	if (packet)
		take_packets(role);
	else
		take_interrupts(role, 0);
	return *came == role->plan->number;
}

/* Has the role done this one, the @done-th? */
static bool has_passed(const struct role *role, int number, uint32_t done)
{
	return atomic_load_explicit(&role->member->shared->cursors[number].at,
				    memory_order_acquire) > done;
}

/* Once it has passed the instance: has that role sent its packet? */
static bool was_sent(const struct role *role, int sender, uint32_t instance)
{
	return strchr(role->shape->code[sender], 'P') ||
	       role->member->shared->loads[sender][instance][0];
}

/* Asks each time: a packet takes so long that asking is cheap. */
static void await_packet(const struct role *role, uint32_t done, uint32_t instance)
{
	const uint32_t *came = &role->member->came[instance];
	int sender = role->number - 1;
	unsigned int turns = 0;

	for (take_packets(role); *came != role->plan->number && turns < PACKET_TURNS;
	     take_packets(role)) {
		if (has_passed(role, sender, done) && !was_sent(role, sender, instance))
			return;
		give_way(&turns);
	}
}

/* Waits, but not for ever, until the first operation, a load, would give 1. */
static void follow(const struct role *role, uint32_t done, uint32_t instance)
{
	if (role->code[0] == 'J') {
		for (int i = 0; i < WAITS && !has_come(role, instance, false); i++)
			take_interrupts(role, 1);
		return;
	}
	if (role->code[0] == 'Q') {
		await_packet(role, done, instance);
		return;
	}
	for (int i = 0; i < SPINS + YIELDS; i++) {
		if (is_current(role, load_word(role, role->code[1], instance)))
			return;
		if (i >= SPINS)
			sched_yield();
	}
}

/* A random time: most often less than a link takes, at times much longer. */
static void idle(struct member *member)
{
	uint64_t random = next_random(&member->random);

	if (random % 8 == 0) {
		nanosleep(&(struct timespec){ .tv_nsec = random >> 32 & 0xffff }, NULL);
	} else if (random % 8 == 1) {
		sched_yield();
	} else {
		for (volatile uint32_t n = random >> 32 & 0xfff; n; n--)
			;
	}
}

static uint32_t slowest(const struct role *role)
{
	uint32_t at = GONE;

	for (int i = 0; i < roles_of(role->shape); i++) {
		uint32_t his = atomic_load_explicit(&role->member->shared->cursors[i].at,
						    memory_order_relaxed);

		if (his < at)
			at = his;
	}
	return at;
}

/* Says how far this role is, and waits for those that are too far behind. */
static void keep_together(const struct role *role, uint32_t done)
{
	unsigned int turns = 0;

	atomic_store_explicit(&role->member->shared->cursors[role->number].at, done,
			      memory_order_release);
	while (done - slowest(role) > role->plan->leash && done > slowest(role))
		if (++turns % 64)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

static void run_instance(const struct role *role, uint32_t instance)
{
	uint8_t *load = role->member->shared->loads[role->number][instance];
	bool last = false;

	for (const char *c = role->code; *c; c++) {
		switch (*c) {
		case 'W':
			store_word(role, *++c, instance);
			break;
		case 'C':
			c++;
			if (last)
				store_word(role, *c, instance);
			break;
		case 'R':
			*load++ = last = is_current(role, load_word(role, *++c, instance));
			break;
		case 'I':
			send_tag(role, instance);
			break;
		case 'J':
		case 'Q':
			*load++ = last = has_come(role, instance, *c == 'Q');
			break;
		case 'D':
			if (!last)
				break;
			/* fall through */
		case 'P':
			send_packet(role->member, role->plan, role->number, instance);
			break;
		case 'L':
			await_lock(role->member, instance);
			break;
		case 'U':
			begin_unlock(role->member, instance);
			break;
		case 'F':
			c++;		/* when all has settled */
			break;
		}
	}
}

static bool stores(const char *code)
{
	return strpbrk(code, "WCI");
}

/* Is it time for a reader to wait? For an interrupt, which is no load: not so often. */
static bool should_follow(const struct role *role, uint32_t done)
{
	uint32_t follow = role->plan->follow;

	if (role->code[0] == 'J')
		follow *= FOLLOW_SLEEP;
	return follow && done % follow == 0 && strchr("RJQ", role->code[0]);
}

static uint32_t instance_at(const struct role *role, uint32_t done)
{
	return done * role->plan->step % role->instances;
}

/* Locks are asked for some instances ahead: as both roles go the same way, none waits for ever. */
static void ask_ahead(const struct role *role, uint32_t done, uint32_t *asked)
{
	for (; *asked < role->instances && *asked < done + role->plan->window; ++*asked)
		begin_lock(role->member, role->plan, role->number, instance_at(role, *asked));
}

static void wait_home(const struct role *role)
{
	struct rfmring_fence fence;

	if (rfmring_fence(role->member->ring, &fence, FENCE_MS))
		complain(role->member, "batch %u: fence: %s", role->plan->number, strerror(errno));
}

static void run_role(const struct role *role)
{
	const struct plan *plan = role->plan;
	uint32_t asked = 0;

	for (uint32_t done = 0; done < role->instances; done++) {
		uint32_t instance = instance_at(role, done);

		if (done % PUBLISH == 0)
			keep_together(role, done);
		if (plan->pause && done % plan->pause == 0)
			idle(role->member);
		if (should_follow(role, done))
			follow(role, done, instance);
		if (role->code[0] == 'L')
			ask_ahead(role, done, &asked);
		run_instance(role, instance);
	}
	atomic_store(&role->member->shared->cursors[role->number].at, GONE);
	drain(role->member);
	if (stores(role->code))
		wait_home(role);
}

/* Home means stored: every word that a role has stored for sure is here. */
static void look_round(const struct role *role, char word)
{
	for (uint32_t instance = 0; instance < role->instances; instance++)
		if (!is_current(role, load_word(role, word, instance)))
			complain(role->member, "batch %u, instance %u: a fence came home before %c",
				 role->plan->number, instance, word);
}

/* And every interrupt has come, to all but its sender. */
static void look_for_interrupts(const struct role *role)
{
	take_interrupts(role, 0);
	for (uint32_t instance = 0; instance < role->instances; instance++)
		if (role->member->came[instance] != role->plan->number)
			complain(role->member, "batch %u: interrupt %u has not come",
				 role->plan->number, instance);
}

/* And every packet to who should have it, and none that nobody has sent. */
static void look_for_packets(const struct role *role)
{
	take_packets(role);
	for (uint32_t instance = 0; instance < role->instances; instance++) {
		bool came = role->member->came[instance] == role->plan->number;

		if (came != was_sent(role, role->number - 1, instance))
			complain(role->member, "batch %u: packet %u has %s", role->plan->number, instance,
				 came ? "come of nobody" : "not come");
	}
}

/* Every lock is free everywhere, and what who had it last has stored is what all have. */
static void look_at_locks(const struct role *role)
{
	for (uint32_t instance = 0; instance < role->instances; instance++) {
		uint32_t last = role->member->shared->loads[1][instance][0];

		if (!is_free(role->member, role->plan, instance))
			complain(role->member, "batch %u, instance %u: the lock is not free",
				 role->plan->number, instance);
		for (char word = 'x'; word <= 'y'; word++)
			if ((load_word(role, word, instance) & 3) != last)
				complain(role->member, "batch %u, instance %u: %c is not of who had the lock last",
					 role->plan->number, instance, word);
	}
}

/* The loads that belong to the end. */
static void look_last(const struct role *role)
{
	const char *word = strchr(role->code, 'F');

	for (uint32_t instance = 0; word && instance < role->instances; instance++)
		role->member->shared->loads[role->number][instance][0] =
			(load_word(role, word[1], instance) & 3) + 1;
}

/* All has settled. */
static void look(const struct role *role, int mine)
{
	const struct shape *shape = role->shape;

	for (int i = 0; i < roles_of(shape); i++)
		for (const char *c = shape->code[i]; *c; c++)
			if (*c == 'W')
				look_round(role, c[1]);
			else if (*c == 'I' && mine != i)
				look_for_interrupts(role);
			else if (strchr("PD", *c) && mine == i + 1)
				look_for_packets(role);
	if (shape_does(shape, "L"))
		look_at_locks(role);
	if (mine >= 0)
		look_last(role);
}

void run_batch(struct member *member, const struct shape *shape, const struct plan *plan)
{
	struct role role = {
		.member = member,
		.shape = shape,
		.plan = plan,
		.words = words_of(shape),
		.instances = instances_of(shape),
	};
	int roles = roles_of(shape), mine = -1;

	for (int i = 0; i < roles; i++)
		if (plan->node[i] == member->rank)
			mine = i;
	if (mine >= 0) {
		role.number = mine;
		role.code = shape->code[mine];
		run_role(&role);
	}
	if (is_addressed(shape)) {	/* answers come of nodes without a role, too */
		meet(member);
		wait_home(&role);
	}
	meet(member);
	if (!atomic_load(&member->shared->broken))
		look(&role, mine);
	meet(member);
}
