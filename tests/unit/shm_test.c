// SPDX-License-Identifier: MIT
/* The shared-memory queue: its order, its room, its sleep and wake. links: tests/unit/queue.c */
#include "tests/unit/test.h"
#include "tests/unit/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static void order_and_wrap(void **state)
{
	static const uint32_t sizes[] = { 2, 8, 64, RFM_SHM_SLOTS };
	struct rfm_shm tx, rx;
	uint8_t slot[RFM_UNIT_MAX];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t in = 0, out = 0, seed = i;

		make_pair(&tx, &rx, sizes[i]);
		while (out < 20000) {
			for (uint32_t n = test_random(&seed) % (sizes[i] + 2); n; n--)
				in += put(&tx, in);
			assert_true(in - out <= sizes[i]);
			rfm_shm_publish(&tx);
			assert_int_equal(rfm_shm_pending(&rx), in != out);
			for (uint32_t n = test_random(&seed) % (sizes[i] + 2); n && out < in; n--)
				assert_takes(&rx, out++);
			rfm_shm_release(&rx);
		}
		while (out < in)
			assert_takes(&rx, out++);
		assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), 0);
		close_pair(&tx, &rx);
	}
}

/* A unit of @frames slots; each byte can be told. */
static unsigned int unit_bytes(uint64_t n, uint8_t *wire)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .incarnation = 1, .seq = n, .hops = 1,
		.count = 1 + n * 7 % RFM_TRAIN_FRAMES,
	};

	frame.length = frame.count * RFM_FRAME_DATA_MAX - n % RFM_FRAME_DATA_MAX;
	if (frame.count == 1) {
		memset(frame.data, (int)n, sizeof(frame.data));
		return rfm_frame_encode(&frame, wire);
	}
	for (unsigned int i = 0; i < frame.length; i++)
		wire[RFM_FRAME_HEADER + i] = (uint8_t)(n + i * 3);
	return rfm_train_encode(&frame, wire);
}

/* Trains take a slot for each frame, and lie in one piece also where the slots end. */
static void trains_order_and_wrap(void **state)
{
	static const uint32_t sizes[] = { 64, 128, RFM_SHM_SLOTS };
	static uint8_t wire[RFM_UNIT_MAX], slot[RFM_UNIT_MAX];
	struct rfm_shm tx, rx;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t in = 0, out = 0, seed = i;

		make_pair(&tx, &rx, sizes[i]);
		while (out < 5000) {
			for (uint32_t n = test_random(&seed) % 20; n; n--) {
				unsigned int len = unit_bytes(in, wire);
				uint8_t *to = rfm_shm_reserve(&tx, rfm_unit_frames(len));

				if (!to)
					break;
				memcpy(to, wire, len);
				rfm_shm_commit(&tx, rfm_unit_frames(len), true);
				in++;
			}
			rfm_shm_publish(&tx);
			for (uint32_t n = test_random(&seed) % 20; n && out < in; n--) {
				unsigned int len = unit_bytes(out++, wire);

				assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), rfm_unit_frames(len));
				assert_memory_equal(slot, wire, len);
			}
			rfm_shm_release(&rx);
		}
		close_pair(&tx, &rx);
	}
}

/* A train says how many slots it takes: more than were shown is no truth. */
static void train_longer_than_shown(void **state)
{
	uint8_t wire[RFM_UNIT_MAX], slot[RFM_UNIT_MAX];
	struct rfm_shm tx, rx;

	(void)state;
	assert_true(rfm_unit_frames(unit_bytes(4, wire)) > 2);
	make_pair(&tx, &rx, 64);
	memcpy(rfm_shm_reserve(&tx, RFM_TRAIN_FRAMES), wire, sizeof(wire));
	rfm_shm_commit(&tx, 2, true);
	rfm_shm_publish(&tx);
	assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), -1);
	assert_true(rx.broken);
	close_pair(&tx, &rx);
}

static void not_before_publish(void **state)
{
	struct rfm_shm tx, rx;
	uint8_t slot[RFM_UNIT_MAX];

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_true(put(&tx, 1));
	assert_false(rfm_shm_pending(&rx));
	assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), 0);
	rfm_shm_publish(&tx);
	assert_true(rfm_shm_pending(&rx));
	assert_takes(&rx, 1);
	assert_false(rfm_shm_pending(&rx));
	close_pair(&tx, &rx);
}

/* A message of the link goes through a slot like a frame. */
static void what_is_no_frame(void **state)
{
	struct rfm_shm tx, rx;
	uint8_t message[40], slot[RFM_UNIT_MAX];

	(void)state;
	memset(message, 0x4c, sizeof(message));
	make_pair(&tx, &rx, 8);
	memcpy(rfm_shm_reserve(&tx, 1), message, sizeof(message));
	rfm_shm_commit(&tx, 1, true);
	rfm_shm_publish(&tx);
	assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), 1);
	assert_memory_equal(slot, message, sizeof(message));
	close_pair(&tx, &rx);
}

static void full_then_room(void **state)
{
	struct rfm_shm tx, rx;
	uint64_t in = 0;

	(void)state;
	make_pair(&tx, &rx, 64);
	while (put(&tx, in))
		in++;
	assert_int_equal(in, 64);
	assert_true(rfm_shm_wait_room(&tx, 1));
	assert_false(tx.broken);

	/* Woken once half is free, not at every slot. */
	for (uint64_t out = 0; out < 31; out++) {
		assert_takes(&rx, out);
		rfm_shm_release(&rx);
	}
	assert_false(readable(tx.fds[ROOM], 0));
	assert_takes(&rx, 31);
	for (uint64_t out = 32; out < 40; out++)
		assert_takes(&rx, out);
	rfm_shm_release(&rx);
	assert_true(readable(tx.fds[ROOM], 0));
	rfm_shm_clear_wakeup(&tx, true);
	assert_false(readable(tx.fds[ROOM], 0));
	assert_true(put(&tx, in));
	assert_false(rfm_shm_wait_room(&tx, 1));
	close_pair(&tx, &rx);
}

/* However few a consumer takes at a time, a producer that waits is woken in the end. */
static void always_woken(void **state)
{
	(void)state;
	for (uint32_t batch = 1; batch <= 64; batch++) {
		struct rfm_shm tx, rx;
		uint64_t in = 0;

		make_pair(&tx, &rx, 64);
		while (put(&tx, in))
			in++;
		assert_true(rfm_shm_wait_room(&tx, 1));
		for (uint64_t out = 0; out < in; out++) {
			assert_takes(&rx, out);
			if (out % batch == batch - 1 || out == in - 1)
				rfm_shm_release(&rx);
		}
		assert_true(rfm_shm_wait_data(&rx, 1));
		assert_true(readable(tx.fds[ROOM], 0));
		close_pair(&tx, &rx);
	}
}

static void one_wake_a_sleep(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 64);
	put(&tx, 0);
	rfm_shm_publish(&tx);
	assert_false(readable(rx.fds[DATA], 0));	/* nobody sleeps */
	assert_false(rfm_shm_wait_data(&rx, 1));		/* nor falls asleep */
	assert_takes(&rx, 0);
	assert_true(rfm_shm_wait_data(&rx, 1));
	for (uint64_t n = 1; n < 4; n++) {
		put(&tx, n);
		rfm_shm_publish(&tx);
	}
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);
	for (uint64_t n = 1; n < 4; n++)
		assert_takes(&rx, n);
	assert_true(rfm_shm_wait_data(&rx, 1));
	rfm_shm_clear_wakeup(&rx, false);		/* for another reason */
	put(&tx, 4);
	rfm_shm_publish(&tx);
	assert_false(readable(rx.fds[DATA], 0));
	close_pair(&tx, &rx);
}

/* Takes what is there, from number *@n on, and sleeps until it is @frames or urgent. */
static void take_all_and_sleep(struct rfm_shm *rx, uint64_t *n, unsigned int count, uint32_t frames)
{
	while (count--)
		assert_takes(rx, (*n)++);
	rfm_shm_release(rx);
	assert_true(rfm_shm_wait_data(rx, frames));
}

static void what_can_wait_wakes_nobody_until_it_is_enough(void **state)
{
	uint64_t in = 0, out = 0;
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 64);
	assert_true(rfm_shm_wait_data(&rx, 3));
	for (int i = 0; i < 2; i++) {
		show_later(&tx, in++);
		assert_true(rfm_shm_owes_wake(&tx));
		assert_int_equal(wake_ups(rx.fds[DATA]), 0);
	}
	show_later(&tx, in++);
	assert_false(rfm_shm_owes_wake(&tx));
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);

	/* Something urgent takes along what waits. */
	take_all_and_sleep(&rx, &out, 3, 3);
	show_later(&tx, in++);
	put(&tx, in++);
	rfm_shm_publish(&tx);
	assert_false(rfm_shm_owes_wake(&tx));
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);

	/* The producer's clock does. */
	take_all_and_sleep(&rx, &out, 2, 3);
	show_later(&tx, in++);
	rfm_shm_wake(&tx);
	assert_false(rfm_shm_owes_wake(&tx));
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);

	/* A sleeper that has become impatient looks again. */
	take_all_and_sleep(&rx, &out, 1, 3);
	show_later(&tx, in++);
	assert_false(rfm_shm_wait_data(&rx, 1));
	take_all_and_sleep(&rx, &out, 1, 1);
	show_later(&tx, in++);
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);

	/* Nothing is owed to who is awake. */
	show_later(&tx, in++);
	assert_false(rfm_shm_owes_wake(&tx));
	assert_int_equal(wake_ups(rx.fds[DATA]), 0);
	close_pair(&tx, &rx);
}

static void who_waits_for_room_wakes_who_has_to_make_it(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 64);
	assert_true(rfm_shm_wait_data(&rx, 1000));
	for (uint64_t n = 0; n < 64; n++)
		show_later(&tx, n);
	assert_int_equal(wake_ups(rx.fds[DATA]), 0);
	assert_true(rfm_shm_wait_room(&tx, 1));
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);
	close_pair(&tx, &rx);
}

static void only_used_pages(void **state)
{
	struct rfm_shm tx;
	struct stat st;

	(void)state;
	assert_int_equal(rfm_shm_create(&tx, RFM_SHM_SLOTS_MAX), 0);
	for (uint64_t n = 0; n < 32; n++)
		assert_true(put(&tx, n));
	assert_int_equal(fstat(tx.fds[MEMORY], &st), 0);
	assert_int_equal(st.st_blocks * 512, 2 * 4096);
	rfm_shm_close(&tx);
}

static void bad_sizes(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 3, 1000, RFM_SHM_SLOTS_MAX * 2, 1u << 31 };
	struct rfm_shm tx;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		errno = 0;
		assert_int_equal(rfm_shm_create(&tx, sizes[i]), -1);
		assert_int_equal(errno, EINVAL);
		assert_false(rfm_shm_is_open(&tx));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_wrap),
		cmocka_unit_test(trains_order_and_wrap),
		cmocka_unit_test(train_longer_than_shown),
		cmocka_unit_test(not_before_publish),
		cmocka_unit_test(what_is_no_frame),
		cmocka_unit_test(full_then_room),
		cmocka_unit_test(always_woken),
		cmocka_unit_test(one_wake_a_sleep),
		cmocka_unit_test(what_can_wait_wakes_nobody_until_it_is_enough),
		cmocka_unit_test(who_waits_for_room_wakes_who_has_to_make_it),
		cmocka_unit_test(only_used_pages),
		cmocka_unit_test(bad_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
