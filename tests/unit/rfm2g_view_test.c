// SPDX-License-Identifier: MIT
/* librfm2g in process. links: tools/librfm2g tools/librfm ring/host tests/unit/rings.c */
/*
 * What tests/guest/rfm2g_test.c leaves out, as a card has it not: a ring that has no room for
 * what is stored to a mapping, and the time between two looks.
 */
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/librfm2g/rfm2g_api.h"

#define WORDS	(MEMORY / 8)

static RFM2GHANDLE near, far;

static RFM2GHANDLE open_node(int i, const char *more)
{
	RFM2GHANDLE handle = NULL;
	char words[400];

	snprintf(words, sizeof(words),
		 "ring:?rx=unix:%s/%d,server&tx=unix:%s/%d&node=%d&size=1M%s", folder, i, folder,
		 1 - i, i + 1, more);
	assert_int_equal(RFM2gOpen(words, &handle), RFM2G_SUCCESS);
	return handle;
}

static void open_pair(const char *more)
{
	near = open_node(0, more);
	far = open_node(1, "");
	while (RFM2gCheckRingCont(near) || RFM2gCheckRingCont(far))
		sched_yield();
}

static void close_pair(void)
{
	assert_int_equal(RFM2gClose(&near), RFM2G_SUCCESS);
	assert_int_equal(RFM2gClose(&far), RFM2G_SUCCESS);
}

static uint64_t word_of(uint64_t at, uint64_t round)
{
	return (at + 1) * 0x9e3779b97f4a7c15ull + round;
}

static bool far_has(const uint64_t *wanted, uint64_t *room)
{
	assert_int_equal(RFM2gRead(far, 0, room, MEMORY), RFM2G_SUCCESS);
	return !memcmp(room, wanted, MEMORY);
}

/* On a fibre so slow that a megabyte does not fit in time: it is late, and all of it is there. */
static void nothing_is_lost_on_a_full_ring(void **state)
{
	uint64_t *wanted = malloc(MEMORY), *room = malloc(MEMORY), until;
	volatile uint64_t *map;
	volatile void *memory = NULL;

	(void)state;
	assert_true(wanted && room);
	open_pair("&stall-limit-ms=1&line=paced,rate=0.2,hop=0");
	assert_int_equal(RFM2gUserMemoryBytes(near, &memory, 0, MEMORY), RFM2G_SUCCESS);
	map = memory;
	for (uint64_t at = 0; at < WORDS; at++)
		map[at] = wanted[at] = word_of(at, 0);
	until = now_ns() + PATIENCE_MS * 1000000ull;
	while (!far_has(wanted, room) && now_ns() < until)
		;
	assert_true(far_has(wanted, room));
	assert_int_equal(RFM2gUnMapUserMemoryBytes(near, &memory, MEMORY), RFM2G_SUCCESS);
	close_pair();
	free(wanted);
	free(room);
}

/* Only a call looks: what was stored before it goes with it, and not without one. */
static void a_call_looks(void **state)
{
	volatile void *memory = NULL;
	RFM2G_UINT32 word = 0;

	(void)state;
	setenv("RFM2G_SCAN_US", "60000000", 1);
	open_pair("");
	assert_int_equal(RFM2gUserMemory(near, &memory, 0, 1), RFM2G_SUCCESS);
	for (RFM2G_UINT32 i = 1; i <= 100; i++) {
		((volatile RFM2G_UINT32 *)memory)[3] = i;
		assert_int_equal(RFM2gPeek32(near, 12, &word), RFM2G_SUCCESS);
		assert_int_equal(word, i);
		assert_int_equal(RFM2gSendEvent(near, 2, RFM2GEVENT_INTR1, i), RFM2G_SUCCESS);
	}
	assert_int_equal(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), RFM2G_SUCCESS);
	for (RFM2G_UINT32 i = 1; i <= 100; i++) {
		RFM2GEVENTINFO info = { .Event = RFM2GEVENT_INTR1, .Timeout = PATIENCE_MS };

		assert_int_equal(RFM2gWaitForEvent(far, &info), RFM2G_SUCCESS);
		assert_int_equal(info.ExtendedInfo, i);
		assert_int_equal(RFM2gPeek32(far, 12, &word), RFM2G_SUCCESS);
		assert_true(word >= i);
	}
	((volatile RFM2G_UINT32 *)memory)[3] = 4711;
	close_pair();
	unsetenv("RFM2G_SCAN_US");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(nothing_is_lost_on_a_full_ring),
		ring_test(a_call_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
