// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ring/memory.h"

/* Exactly the bytes asked for, at every offset and length. */
static void exact_bytes(void **state)
{
	_Alignas(8) uint8_t memory[96], want[96];
	uint8_t bytes[64];

	(void)state;
	for (int i = 0; i < 64; i++)
		bytes[i] = 0x40 + i;
	for (unsigned int at = 0; at < 16; at++) {
		for (unsigned int len = 0; len <= 64; len++) {
			memset(memory, 0xee, sizeof(memory));
			memset(want, 0xee, sizeof(want));
			for (unsigned int i = 0; i < len; i++)
				want[at + i] = bytes[i];
			rfm_memory_store(memory + at, bytes, len);
			assert_memory_equal(memory, want, sizeof(want));
		}
	}
}

/* The bytes may come from any address. */
static void unaligned_source(void **state)
{
	_Alignas(8) uint8_t memory[8];
	_Alignas(8) uint8_t bytes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	(void)state;
	for (unsigned int from = 0; from < 8; from++) {
		rfm_memory_store(memory, bytes + from, 8);
		assert_memory_equal(memory, bytes + from, 8);
	}
}

#define ROUNDS 200000

struct torn {
	_Alignas(64) uint8_t memory[64];
	atomic_bool stop;
};

static void *storer(void *opaque)
{
	struct torn *t = opaque;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		/* 60 bytes: seven 8-byte pieces and one of 4, all the same number. */
		uint32_t bytes[15];

		for (int i = 0; i < 15; i++)
			bytes[i] = round;
		rfm_memory_store(t->memory, bytes, sizeof(bytes));
	}
	atomic_store(&t->stop, true);
	return NULL;
}

/*
 * While an update is put in, a reader never sees half an aligned 8-byte word,
 * nor a later word of it before an earlier one.
 */
static void never_torn_never_backwards(void **state)
{
	struct torn t = { .stop = false };
	bool stop = false;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, storer, &t), 0);
	while (!stop) {
		uint64_t last, first;

		stop = atomic_load(&t.stop);
		last = __atomic_load_n((uint64_t *)(t.memory + 48), __ATOMIC_ACQUIRE);
		first = __atomic_load_n((uint64_t *)t.memory, __ATOMIC_ACQUIRE);
		assert_int_equal(last >> 32, last & 0xffffffff);
		assert_int_equal(first >> 32, first & 0xffffffff);
		assert_true(first >= last);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_bytes),
		cmocka_unit_test(unaligned_source),
		cmocka_unit_test(never_torn_never_backwards),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
