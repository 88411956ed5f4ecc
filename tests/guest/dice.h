/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzzers throw. Each thread has dice of its own, and seeds them itself. */
#ifndef DICE_H
#define DICE_H

#include "card.h"

static __thread uint64_t dice;

static uint64_t any(void)
{
	return random_next(&dice);
}

static unsigned int below(unsigned int limit)
{
	return any() % limit;
}

/* Where programs go wrong: round numbers, their neighbours, small ones, any. */
static uint64_t odd_number(void)
{
	switch (below(7)) {
	case 0: return 1ull << below(64);
	case 1: return (1ull << below(64)) - 1;
	case 2: return (uint64_t)below(4) << 26;
	case 3: return below(300);
	case 4: return -(uint64_t)below(300);
	case 5: return below(4096) * 64ull;
	default: return any() >> below(64);
	}
}

#endif /* DICE_H */
