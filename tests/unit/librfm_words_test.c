// SPDX-License-Identifier: MIT
/* The words of librfm: whole, in order, and bit for bit. */
#include "tests/unit/test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tools/librfm/rfm/rfm.h"

/* Each writes its own bytes and gives back what it was given. */
static void every_width(void **state)
{
	_Alignas(8) uint8_t memory[24], want[24];

	(void)state;
#define TRY(name, type, given) do {						\
	type value = (given);							\
										\
	memset(memory, 0xee, sizeof(memory));					\
	memset(want, 0xee, sizeof(want));					\
	memcpy(want + 8, &value, sizeof(value));				\
	rfm_publish##name((volatile type *)(memory + 8), value);		\
	assert_memory_equal(memory, want, sizeof(want));			\
	value = rfm_read##name((const volatile type *)(memory + 8));		\
	assert_memory_equal(&value, want + 8, sizeof(value));			\
} while (0)
	TRY(8, uint8_t, 0x81);
	TRY(16, uint16_t, 0x8142);
	TRY(32, uint32_t, 0x81426384u);
	TRY(64, uint64_t, 0x8142638412345678ull);
	TRY(_float, float, -1.5f);
	TRY(_double, double, -1.0 / 3);
	TRY(_double, double, -0.0);
	TRY(_float, float, INFINITY);
	TRY(_float, float, NAN);
	TRY(_double, double, NAN);
#undef TRY
}

#define LOOKS	1000000		/* at least, and */
#define CHANGES	1000

struct both {
	_Alignas(64) uint64_t data;
	_Alignas(64) double flag;	/* on another line: order is not by chance */
	atomic_bool stop;
};

static void *publisher(void *opaque)
{
	struct both *both = opaque;

	for (uint32_t n = 1; !atomic_load(&both->stop); n++) {
		rfm_publish64(&both->data, (uint64_t)n << 32 | n);
		rfm_publish_double(&both->flag, n);
	}
	return NULL;
}

/* Who sees the flag sees the data before it, and never half of it. */
static void order_and_no_tearing(void **state)
{
	static struct both both;
	uint64_t changes = 0, before = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, publisher, &both), 0);
	for (int i = 0; i < LOOKS || changes < CHANGES; i++) {
		uint64_t flag = rfm_read_double(&both.flag);
		uint64_t data = rfm_read64(&both.data);

		assert_int_equal(data >> 32, data & 0xffffffff);
		assert_true(data >> 32 >= flag);
		assert_true(flag >= before);
		changes += flag > before;
		before = flag;
	}
	atomic_store(&both.stop, true);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_width),
		cmocka_unit_test(order_and_no_tearing),
	};

	return cmocka_run_group_tests_name("librfm_words", tests, NULL, NULL);
}
