// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ring/memory.h"

/* Exactly the bytes asked for, at every offset and length. */
static void exact_bytes(void **state)
{
	_Alignas(8) uint8_t memory[256], want[256];
	uint8_t bytes[200];

	(void)state;
	for (int i = 0; i < 200; i++)
		bytes[i] = 0x10 + i;
	for (unsigned int at = 0; at < 16; at++) {
		for (unsigned int len = 0; len <= 200; len++) {
			memset(memory, 0xee, sizeof(memory));
			memset(want, 0xee, sizeof(want));
			for (unsigned int i = 0; i < len; i++)
				want[at + i] = bytes[i];
			rfm_memory_store(memory + at, bytes, len);
			assert_memory_equal(memory, want, sizeof(want));
			memset(want, 0xdd, sizeof(want));
			rfm_memory_load(want, memory + at, len);
			assert_memory_equal(want, bytes, len);
			assert_int_equal(want[len], 0xdd);
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
	_Alignas(64) uint8_t memory[2048 + 8];
	atomic_bool stop;
};

static void *storer(void *opaque)
{
	struct torn *t = opaque;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		/* As many 8-byte pieces as a train has, and one of 4, all the same number. */
		uint32_t bytes[2048 / 4 + 1];

		for (int i = 0; i < 2048 / 4 + 1; i++)
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
		last = __atomic_load_n((uint64_t *)(t.memory + 2040), __ATOMIC_ACQUIRE);
		first = __atomic_load_n((uint64_t *)t.memory, __ATOMIC_ACQUIRE);
		assert_int_equal(last >> 32, last & 0xffffffff);
		assert_int_equal(first >> 32, first & 0xffffffff);
		assert_true(first >= last);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

struct halves {
	_Alignas(64) uint8_t memory[64];
	unsigned int at, size;
	atomic_bool stop;
};

static void *storer_of_halves(void *opaque)
{
	struct halves *t = opaque;
	uint8_t bytes[8];

	for (uint8_t value = 0; !atomic_load(&t->stop); value = ~value) {
		memset(bytes, value, sizeof(bytes));
		rfm_memory_store(t->memory + t->at, bytes, t->size);
	}
	return NULL;
}

/* A word that is aligned is whole in a copy too, where that begins with it or in the middle. */
static void a_copy_tears_no_word(void **state)
{
	static const struct {
		unsigned int at, size, from, len;
	} rows[] = {
		{ 2, 2, 2, 2 }, { 4, 4, 4, 4 }, { 6, 2, 6, 2 }, { 4, 4, 4, 12 }, { 4, 4, 2, 14 },
		{ 6, 2, 5, 11 }, { 8, 8, 3, 20 }, { 16, 4, 8, 12 }, { 20, 2, 8, 15 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct halves t = { .at = rows[i].at, .size = rows[i].size };
		unsigned int torn = 0;
		uint8_t copy[24];
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, storer_of_halves, &t), 0);
		for (int round = 0; round < ROUNDS; round++) {
			const uint8_t *word = copy + rows[i].at - rows[i].from;

			rfm_memory_load(copy, t.memory + rows[i].from, rows[i].len);
			for (unsigned int k = 1; k < rows[i].size; k++)
				torn += word[k] != word[0];
		}
		atomic_store(&t.stop, true);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(torn, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_bytes),
		cmocka_unit_test(unaligned_source),
		cmocka_unit_test(never_torn_never_backwards),
		cmocka_unit_test(a_copy_tears_no_word),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
