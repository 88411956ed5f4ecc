// SPDX-License-Identifier: MIT
/* The transmit FIFO: order while it grows and wraps, memory it gives back, the line behind it. */
#include "tests/unit/test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/fifo.h"

static const struct rfm_line_config free_line;

static void put(struct rfm_fifo *fifo, uint32_t number)
{
	struct rfm_fifo_slot *slot = rfm_fifo_put(fifo, 1);

	slot->ready = 0;
	slot->tag = (uint8_t)number;
	slot->length = RFM_FRAME_MAX;
	memset(slot->wire, 0x33, RFM_FRAME_MAX);
	memcpy(slot->wire, &number, sizeof(number));
}

static void assert_takes(struct rfm_fifo *fifo, uint32_t number)
{
	const struct rfm_fifo_slot *slot = rfm_fifo_take(fifo, 0);
	uint32_t got;

	assert_non_null(slot);
	memcpy(&got, slot->wire, sizeof(got));
	assert_int_equal(got, number);
	assert_int_equal(slot->tag, (uint8_t)number);
	assert_int_equal(slot->wire[RFM_FRAME_MAX - 1], 0x33);
}

/* --- order ---------------------------------------------------------------- */

/* Grows from every state of its indices: with nothing, some, all of it wrapped round. */
static void order_while_it_grows(void **state)
{
	(void)state;
	for (uint32_t taken = 0; taken <= 300; taken++) {
		uint32_t in = 0, out = 0;
		struct rfm_fifo fifo;

		assert_int_equal(rfm_fifo_init(&fifo, 4096, &free_line, 0), 0);
		while (in < taken + 1)
			put(&fifo, in++);
		while (out < taken)
			assert_takes(&fifo, out++);
		while (rfm_fifo_used(&fifo) < 4096)
			put(&fifo, in++);
		assert_int_equal(fifo.deepest, 4096);
		while (out < in)
			assert_takes(&fifo, out++);
		assert_null(rfm_fifo_take(&fifo, 0));
		rfm_fifo_destroy(&fifo);
	}
}

/* Bytes of a train that its number gives. */
static unsigned int train_bytes(uint32_t number, unsigned int frames)
{
	return RFM_FRAME_HEADER + frames * RFM_FRAME_DATA_MAX - number % RFM_FRAME_DATA_MAX;
}

static void put_train(struct rfm_fifo *fifo, uint32_t number, unsigned int frames)
{
	struct rfm_fifo_slot *slot = rfm_fifo_put(fifo, frames);

	slot->ready = 0;
	slot->tag = (uint8_t)number;
	slot->length = train_bytes(number, frames);
	for (unsigned int i = 0; i < slot->length; i++)
		slot->wire[i] = (uint8_t)(number + i * 7);
}

static void assert_takes_train(struct rfm_fifo *fifo, uint32_t number, unsigned int frames)
{
	const struct rfm_fifo_slot *slot = rfm_fifo_take(fifo, 0);

	assert_non_null(slot);
	assert_int_equal(slot->frames, frames);
	assert_int_equal(slot->tag, (uint8_t)number);
	assert_int_equal(slot->length, train_bytes(number, frames));
	for (unsigned int i = 0; i < slot->length; i++)
		if (slot->wire[i] != (uint8_t)(number + i * 7))
			fail_msg("byte %u of train %u of %u frames", i, number, frames);
}

/* Trains of any length among frames, also where they begin in the last cells and it grows. */
static void trains_under_any_schedule(void **state)
{
	static const uint32_t sizes[] = { 64, 256, 512, 4096 };
	static uint8_t lengths[200000];

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes) * 8; s++) {
		uint32_t size = sizes[s / 8], in = 0, out = 0, used = 0;
		struct rfm_fifo fifo;
		uint64_t seed = s;

		assert_int_equal(rfm_fifo_init(&fifo, size, &free_line, 0), 0);
		while (in < 20000) {
			uint32_t n = test_random(&seed) % (size / 4);

			for (; n && in < ARRAY_SIZE(lengths); n--) {
				unsigned int frames = test_random(&seed) % 3 ? 1 :
						      1 + test_random(&seed) % RFM_TRAIN_FRAMES;

				if (used + frames > size)
					break;
				lengths[in] = frames;
				put_train(&fifo, in++, frames);
				used += frames;
			}
			assert_int_equal(rfm_fifo_used(&fifo), used);
			for (n = test_random(&seed) % (in - out + 1); n; n--) {
				used -= lengths[out];
				assert_takes_train(&fifo, out, lengths[out]);
				out++;
			}
		}
		rfm_fifo_destroy(&fifo);
	}
}

static void order_under_any_schedule(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 16, 256, 512, 16384 };

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		uint32_t in = 0, out = 0, deepest = 0;
		struct rfm_fifo fifo;
		uint64_t seed = s;

		assert_int_equal(rfm_fifo_init(&fifo, sizes[s], &free_line, 0), 0);
		for (int step = 0; step < 20000; step++) {
			uint32_t room = sizes[s] - (in - out);
			uint32_t n = test_random(&seed) % (sizes[s] + 1);

			assert_int_equal(rfm_fifo_used(&fifo), in - out);
			if (test_random(&seed) % 2 && sizes[s] > 64)
				n %= 64;
			for (uint32_t i = 0; i < n && i < room; i++)
				put(&fifo, in++);
			deepest = in - out > deepest ? in - out : deepest;
			for (n = test_random(&seed) % (in - out + 1); n; n--)
				assert_takes(&fifo, out++);
			if (in > 2000000)
				break;
		}
		assert_int_equal(fifo.deepest, deepest);
		rfm_fifo_destroy(&fifo);
	}
}

/* --- memory --------------------------------------------------------------- */

#define BURST	131072u

static size_t resident(const struct rfm_fifo *fifo)
{
	static unsigned char pages[BURST * RFM_FIFO_CELL / 4096];
	size_t page = sysconf(_SC_PAGESIZE), count = 0;
	size_t all = (size_t)fifo->size * RFM_FIFO_CELL;

	assert_true(all / page <= sizeof(pages));
	assert_int_equal(mincore(fifo->cells, all, pages), 0);
	for (size_t i = 0; i < all / page; i++)
		count += pages[i] & 1;
	return count * page;
}

/* However many frames pass: it needs memory for as many as wait at a time. */
static void memory_for_what_waits(void **state)
{
	struct rfm_fifo fifo;

	(void)state;
	assert_int_equal(rfm_fifo_init(&fifo, BURST, &free_line, 0), 0);
	assert_int_equal(resident(&fifo), 0);
	/* Never empty, so that the indices go round. */
	put(&fifo, 0);
	for (uint32_t i = 1; i < 200000; i++) {
		put(&fifo, i);
		assert_takes(&fifo, i - 1);
	}
	assert_true(resident(&fifo) <= 64 * 1024);
	rfm_fifo_destroy(&fifo);
}

/* What a burst has taken is given back behind it. */
static void memory_of_a_burst_is_given_back(void **state)
{
	struct rfm_fifo fifo;

	(void)state;
	assert_int_equal(rfm_fifo_init(&fifo, BURST, &free_line, 0), 0);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < BURST; i++)
			put(&fifo, i);
		assert_true(resident(&fifo) > 8 * 1024 * 1024);
		for (uint32_t i = 0; i < BURST; i++)
			assert_takes(&fifo, i);
		put(&fifo, 7);
		assert_true(resident(&fifo) <= 1024 * 1024);
		assert_takes(&fifo, 7);
	}
	assert_int_equal(fifo.deepest, BURST);
	rfm_fifo_destroy(&fifo);
}

/* --- the line ------------------------------------------------------------- */

static void put_data(struct rfm_fifo *fifo, unsigned int bytes, uint64_t ready)
{
	struct rfm_fifo_slot *slot = rfm_fifo_put(fifo, 1);

	slot->ready = ready;
	slot->length = RFM_FRAME_HEADER + bytes;
}

static void a_free_line_has_all_at_once(void **state)
{
	struct rfm_fifo fifo;

	(void)state;
	assert_int_equal(rfm_fifo_init(&fifo, 16, &free_line, 1000), 0);
	assert_true(rfm_fifo_next(&fifo) == UINT64_MAX);
	put_data(&fifo, 4, UINT64_MAX);
	assert_int_equal(rfm_fifo_next(&fifo), 0);
	assert_non_null(rfm_fifo_take(&fifo, 0));
	assert_true(rfm_fifo_next(&fifo) == UINT64_MAX);
	assert_null(rfm_fifo_take(&fifo, UINT64_MAX));
	rfm_fifo_destroy(&fifo);
}

/* 74 ns and 4.717 ns a byte, one after the other, none before it is ready, then the fibre. */
static void a_paced_line_has_them_in_time(void **state)
{
	static const struct {
		unsigned int bytes;
		uint64_t ready, arrival;
	} frames[] = {
		{ 4, 10000, 10093 + 50 },
		{ 4, 10000, 10186 + 50 },	/* behind it: 185.7 */
		{ 64, 10000, 10562 + 50 },	/* 561.6 */
		{ 0, 20000, 20074 + 50 },	/* the line was idle */
		{ 4, 15000, 20167 + 50 },	/* ready, but behind: 166.9 */
	};
	const struct rfm_line_config line = { .paced = true, .fibre_m = 10 };
	struct rfm_fifo fifo;

	(void)state;
	assert_int_equal(rfm_fifo_init(&fifo, 16, &line, 1000), 0);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		put_data(&fifo, frames[i].bytes, frames[i].ready);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		assert_null(rfm_fifo_take(&fifo, frames[i].arrival - 1));
		assert_int_equal(rfm_fifo_next(&fifo), frames[i].arrival);
		assert_int_equal(rfm_fifo_take(&fifo, frames[i].arrival)->length,
				 RFM_FRAME_HEADER + frames[i].bytes);
	}
	/* Given up, whatever the line says. */
	put_data(&fifo, 64, 50000);
	put_data(&fifo, 4, 60000);
	assert_int_equal(rfm_fifo_next(&fifo), 50376 + 50);
	assert_int_equal(rfm_fifo_drop(&fifo)->length, RFM_FRAME_HEADER + 64);
	assert_int_equal(rfm_fifo_next(&fifo), 60093 + 50);
	assert_non_null(rfm_fifo_drop(&fifo));
	assert_null(rfm_fifo_drop(&fifo));
	rfm_fifo_destroy(&fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_while_it_grows),
		cmocka_unit_test(order_under_any_schedule),
		cmocka_unit_test(trains_under_any_schedule),
		cmocka_unit_test(memory_for_what_waits),
		cmocka_unit_test(memory_of_a_burst_is_given_back),
		cmocka_unit_test(a_free_line_has_all_at_once),
		cmocka_unit_test(a_paced_line_has_them_in_time),
	};

	return cmocka_run_group_tests_name("fifo", tests, NULL, NULL);
}
