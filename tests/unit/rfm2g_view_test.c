// SPDX-License-Identifier: MIT
/* librfm2g in process. links: tools/librfm2g tools/librfm ring/host tests/unit/rings.c */
/*
 * What tests/guest/rfm2g leaves out, as a card has it not: a ring that has no room for
 * what is stored to a mapping, and the time between two looks.
 */
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/librfm2g/private.h"

#define WORDS	(MEMORY / 8)
#define HALF	(MEMORY / 2)
#define PAGE	4096u
#define SLOW	"&stall-limit-ms=1&line=paced,rate=0.2,hop=0"

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
	open_pair(SLOW);
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

/* The upper half of the memory is written until the ring takes no more. */
static void fill_ring(const volatile uint8_t *map)
{
	static uint8_t bytes[HALF], room[HALF];
	static uint8_t round;
	RFM2G_STATUS status;

	do {
		memset(bytes, ++round, HALF);
		status = RFM2gWrite(near, HALF, bytes, HALF);
	} while (!status);
	assert_int_equal(status, RFM2G_WRITE_ERROR);
	/* What does not get onto the ring is here, and all of it. */
	assert_int_equal(RFM2gRead(near, HALF, room, HALF), RFM2G_SUCCESS);
	assert_memory_equal(room, bytes, HALF);
	assert_memory_equal((const uint8_t *)map + HALF, bytes, HALF);
}

static void words_do_not_fit(void **state)
{
	volatile void *memory = NULL;
	RFM2G_STATUS status;

	(void)state;
	open_pair(SLOW);
	assert_int_equal(RFM2gUserMemoryBytes(near, &memory, 0, MEMORY), RFM2G_SUCCESS);
	do {
		fill_ring(memory);
		status = RFM2gPoke32(near, 0, 1);
	} while (!status);
	assert_int_equal(status, RFM2G_WRITE_ERROR);
	do {
		fill_ring(memory);
		status = RFM2gWriteReg(near, RFM2GMEM, 0, 4, 2);
	} while (!status);
	assert_int_equal(status, RFM2G_WRITE_ERROR);
	do {
		fill_ring(memory);
		status = RFM2gSetReg(near, RFM2GMEM, 0, 1, 1);
	} while (!status);
	assert_int_equal(status, RFM2G_WRITE_ERROR);
	assert_int_equal(*(volatile RFM2G_UINT32 *)memory, 3);
	assert_int_equal(RFM2gUnMapUserMemoryBytes(near, &memory, MEMORY), RFM2G_SUCCESS);
	close_pair();
}

/* What may happen to a page whose stores wait. Returns what its words are to be at the end. */
static uint32_t call_beside(volatile void **map, uint32_t value)
{
	(void)map;
	for (unsigned int i = 0; i < PAGE / 8; i++)
		RFM2gPoke8(near, 8 * i + 7, i);
	return value;
}

static uint32_t map_again(volatile void **map, uint32_t value)
{
	volatile void *again = NULL;

	(void)map;
	assert_int_equal(RFM2gUserMemory(near, &again, 0, 1), RFM2G_SUCCESS);
	assert_int_equal(RFM2gUnMapUserMemory(near, &again, 1), RFM2G_SUCCESS);
	return value;
}

static uint32_t store_complement(volatile void **map, uint32_t value)
{
	for (unsigned int i = 0; i < PAGE / 8; i++)
		((volatile RFM2G_UINT32 *)*map)[2 * i] = ~value;
	return ~value;
}

static uint32_t unmap(volatile void **map, uint32_t value)
{
	assert_int_equal(RFM2gUnMapUserMemory(near, map, 1), RFM2G_SUCCESS);
	return value;
}

static bool far_has_words(uint32_t value)
{
	uint32_t words[PAGE / 4];

	assert_int_equal(RFM2gRead(far, 0, words, PAGE), RFM2G_SUCCESS);
	for (unsigned int i = 0; i < PAGE / 4; i += 2)
		if (words[i] != value)
			return false;
	return true;
}

/* Stores for which the ring has no room go out later, whatever happens there meanwhile. */
static void what_waits_is_sent(void **state)
{
	static uint32_t (*const happens[])(volatile void **, uint32_t) = {
		call_beside, map_again, store_complement, unmap,
	};

	(void)state;
	open_pair(SLOW);
	for (size_t i = 0; i < sizeof(happens) / sizeof(*happens); i++) {
		volatile void *all = NULL, *page = NULL;
		uint32_t value = 0x11110000 * (i + 1);
		RFM2G_STATUS status;
		uint64_t until;

		assert_int_equal(RFM2gUserMemoryBytes(near, &all, HALF, HALF), RFM2G_SUCCESS);
		assert_int_equal(RFM2gUserMemory(near, &page, 0, 1), RFM2G_SUCCESS);
		do {
			fill_ring((volatile uint8_t *)all - HALF);
			value++;
			for (unsigned int word = 0; word < PAGE / 4; word += 2)
				((volatile RFM2G_UINT32 *)page)[word] = value;
			status = RFM2gSendEvent(near, 2, RFM2GEVENT_INTR1, 0);
		} while (!status);
		/* It would overtake them. */
		assert_int_equal(status, RFM2G_DRIVER_ERROR);
		value = happens[i](&page, value);
		until = now_ns() + PATIENCE_MS * 1000000ull;
		while (!far_has_words(value) && now_ns() < until)
			sched_yield();
		assert_true(far_has_words(value));
		if (page)
			assert_int_equal(RFM2gUnMapUserMemory(near, &page, 1), RFM2G_SUCCESS);
		assert_int_equal(RFM2gUnMapUserMemoryBytes(near, &all, HALF), RFM2G_SUCCESS);
	}
	close_pair();
}

/* What others have stored comes in its order, also while this one stores beside it. */
static void nothing_steps_back(void **state)
{
	struct board *board;
	volatile void *memory = NULL;
	RFM2G_UINT32 last = 0, now;

	(void)state;
	open_pair("");
	board = ((struct handle *)near)->board;
	assert_int_equal(RFM2gUserMemory(near, &memory, 0, 1), RFM2G_SUCCESS);
	for (int round = 0; round < 50; round++) {
		/* A thousand are in the memory, and none of them has been shown. */
		view_lock(board->view);
		for (RFM2G_UINT32 i = last + 1; i <= last + 1000; i++)
			while (RFM2gPoke32(far, 0, i))
				;
		do {
			assert_int_equal(rfm_read(board->rfm, 0, &now, 4), 0);
		} while (now != last + 1000);
		view_unlock(board->view);
		view_stored(board, 4, 4);
		for (int i = 0; i < 100000; i++, last = now) {
			now = *(volatile RFM2G_UINT32 *)memory;
			assert_true(now >= last);
		}
		assert_int_equal(RFM2gPoke32(near, 4, round), RFM2G_SUCCESS);
		last = *(volatile RFM2G_UINT32 *)memory;
	}
	assert_int_equal(RFM2gUnMapUserMemory(near, &memory, 1), RFM2G_SUCCESS);
	close_pair();
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
		ring_test(nothing_steps_back),
		ring_test(words_do_not_fit),
		ring_test(what_waits_is_sent),
		ring_test(a_call_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
