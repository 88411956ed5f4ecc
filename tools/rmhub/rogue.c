// SPDX-License-Identifier: MIT
#include "rogue.h"

#include <string.h>

#include "peek.h"

static struct rogue_life *find(struct rogues *rogues, uint8_t id, uint64_t incarnation)
{
	struct rogue_life *lives = rogues->gone[id];

	for (unsigned int i = 0; i < ROGUE_LIVES && lives[i].incarnation; i++)
		if (lives[i].incarnation == incarnation)
			return &lives[i];
	return NULL;
}

void rogues_back(struct rogues *rogues, uint8_t id, uint64_t incarnation)
{
	struct rogue_life *lives = rogues->gone[id];
	struct rogue_life *life = find(rogues, id, incarnation);

	if (!life)
		return;
	memmove(life, life + 1, (lives + ROGUE_LIVES - (life + 1)) * sizeof(*life));
	lives[ROGUE_LIVES - 1].incarnation = 0;
}

void rogues_left(struct rogues *rogues, uint8_t id, const struct rogue_life *life)
{
	struct rogue_life *lives = rogues->gone[id];

	rogues_back(rogues, id, life->incarnation);
	memmove(lives + 1, lives, (ROGUE_LIVES - 1) * sizeof(*lives));
	lives[0] = *life;
}

bool rogues_has(struct rogues *rogues, const uint8_t *wire)
{
	const struct rogue_life *life = find(rogues, peek_source(wire), peek_incarnation(wire));

	if (!life)
		return false;
	if (peek_seq(wire) <= life->seq && peek_time(wire) <= life->time)
		return true;
	rogues_back(rogues, peek_source(wire), life->incarnation);
	return false;
}

void rogue_life_seen(struct rogue_life *life, const uint8_t *wire)
{
	if (peek_last(wire) > life->seq)
		life->seq = peek_last(wire);
	if (peek_time(wire) > life->time)
		life->time = peek_time(wire);
}
