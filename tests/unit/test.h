/* SPDX-License-Identifier: MIT */
/* What every unit test includes; cmocka wants these four before itself. */
#ifndef RFM_TESTS_UNIT_TEST_H
#define RFM_TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PATIENCE_MS	60000	/* what takes longer does not come, on a busy machine either */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A seeded generator of our own: the same steps on every machine. */
static inline uint32_t test_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

#endif
