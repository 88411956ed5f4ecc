// SPDX-License-Identifier: MIT
/* The tests, as docs/ordering.md has them, and how a batch is laid out. */
#include <stdio.h>
#include <string.h>

#include "litmus.h"

const struct shape shapes[] = {
	{ "MP", { "WxWy", "RyRx" }, "10", "11", NULL },
	{ "MP+I", { "WxI", "JRx" }, "10", "11", NULL },
	{ "CoRR", { "Wx", "RxRx" }, "10", "11", NULL },
	{ "WRC", { "Wx", "RxCy", "RyRx" }, "110", "111", NULL },
	{ "ISA2", { "WxWy", "RyCz", "RzRx" }, "110", "111", NULL },
	{ "SB", { "WxRy", "WyRx" }, NULL, "00", NULL },
	/* Each keeps its own: then each store would have come before the other. */
	{ "2W", { "WxFx", "WxFx" }, "12", "21", NULL },
	{ "MP+P", { "WxP", "QRx" }, "10", "11", NULL },
	{ "WRC+P", { "Wx", "RxD", "QRx" }, "110", "111", NULL },
	/*
	 * Who has the lock second finds all that the first has stored under it;
	 * nobody has it beside him.
	 */
	{ "LOCK", { "LRxRyWyWxU", "LRxRyWyWxU" }, "0000", "0011", "0011 1100" },
	{ "IRIW", { "Wx", "RxRy", "Wy", "RyRx" }, NULL, "1010", NULL },
	{ NULL }
};

const struct shape *find_shape(const char *name)
{
	for (const struct shape *shape = shapes; shape->name; shape++)
		if (!strcmp(shape->name, name))
			return shape;
	return NULL;
}

int roles_of(const struct shape *shape)
{
	int roles = 0;

	while (roles < ROLES_MAX && shape->code[roles])
		roles++;
	return roles;
}

int words_of(const struct shape *shape)
{
	int words = 0;

	for (int role = 0; role < roles_of(shape); role++)
		for (const char *c = shape->code[role]; *c; c++)
			if (*c >= 'x' && *c <= 'z' && *c - 'x' >= words)
				words = *c - 'x' + 1;
	return words;
}

bool shape_does(const struct shape *shape, const char *letters)
{
	for (int role = 0; role < roles_of(shape); role++)
		if (strpbrk(shape->code[role], letters))
			return true;
	return false;
}

bool is_addressed(const struct shape *shape)
{
	return shape_does(shape, "PDL");
}

uint32_t instances_of(const struct shape *shape)
{
	return is_addressed(shape) ? ADDRESSED :
	       shape_does(shape, "I") ? RFMRING_INTERRUPTS : INSTANCES;
}

/* splitmix64 */
uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Half of the time anywhere, half of it in the order of the ring, evenly. */
static void place_roles(struct plan *plan, int roles, int nodes, uint64_t *random)
{
	int first = next_random(random) % nodes;
	uint8_t order[NODES_MAX];

	for (int i = 0; i < nodes; i++) {	/* a shuffle, from the inside out */
		int j = next_random(random) % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (int role = 0; role < roles; role++)
		plan->node[role] = plan->number % 2 ? order[role] :
				   (first + role * nodes / roles) % nodes;
}

struct plan make_plan(const struct shape *shape, int nodes, uint64_t seed, uint32_t number)
{
	static const uint32_t leashes[] = { 4, 32, 128, 256, 1024, INSTANCES, INSTANCES, INSTANCES };
	static const uint32_t rarities[] = { 0, 1, 7, 64 };
	static const uint32_t pauses[] = { 0, 0, 16, 128, 1024, INSTANCES };
	static const uint32_t windows[] = { 1, 2, 8, 8, 8, 32, 32, 32 };	/* few take longest */
	uint64_t random = seed ^ (uint64_t)number << 32;
	struct plan plan = { .number = number };

	place_roles(&plan, roles_of(shape), nodes, &random);
	plan.width = next_random(&random) % 2 ? 4 : 8;
	plan.layout = next_random(&random) % 4;
	plan.shift = next_random(&random) % 16 * plan.width;
	plan.step = next_random(&random) % 2 ? 1 : next_random(&random) % INSTANCES | 1;
	plan.leash = leashes[next_random(&random) % 8];
	plan.follow = rarities[next_random(&random) % 4];
	plan.pause = pauses[next_random(&random) % 6];
	plan.window = windows[next_random(&random) % 8];
	plan.node[HOME] = next_random(&random) % nodes;
	return plan;
}

/*
 * Words of an instance side by side (two stores in a row make one frame), the
 * same backwards (they make two), all x together and then all y (a store packs
 * with that of the next instance), or each in a line of its own.
 */
uint32_t word_offset(const struct plan *plan, int words, int word, uint32_t instance)
{
	uint32_t base = plan->width == 8 ? AREA : 0;

	base += plan->shift;
	switch (plan->layout) {
	case 0:
		return base + (instance * words + word) * plan->width;
	case 1:
		return base + (instance * words + words - 1 - word) * plan->width;
	case 2:
		return base + (word * INSTANCES + instance) * plan->width;
	default:
		return base + (instance * words + word) * 64;
	}
}

const char *describe(const struct plan *plan, int roles)
{
	static const char *const layouts[] = { "side by side", "backwards", "in columns", "apart" };
	static char text[200];
	int length = 0;

	for (int role = 0; role < roles; role++)
		length += snprintf(text + length, sizeof(text) - length, "%c on node %d, ",
				   'A' + role, plan->node[role]);
	snprintf(text + length, sizeof(text) - length,
		 "%d-byte words %s, leash %u, follow %u, pause %u, window %u, home %u", plan->width,
		 layouts[plan->layout], plan->leash, plan->follow, plan->pause, plan->window,
		 plan->node[HOME]);
	return text;
}
