// SPDX-License-Identifier: MIT
/* librfmring. links: ring/host tests/unit/rings.c */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/host/internal.h"
#include "ring/memory.h"

/* --- stores ----------------------------------------------------------------------- */

static void stores_are_everywhere(void **state)
{
	static const uint32_t flags[] = { 0, RFMRING_STREAM_ONLY, RFMRING_REDUNDANT };
	struct rfmring *rings[NODES];
	uint8_t bytes[300], back[300];

	(void)state;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7;
	for (unsigned int f = 0; f < ARRAY_SIZE(flags); f++) {
		open_ring(rings, NODES, flags[f]);
		assert_int_equal(state_of(rings[0]).tx_shm, !(flags[f] & RFMRING_STREAM_ONLY));
		rfmring_store8(rings[0], 1, 0x12);
		rfmring_store16(rings[0], 2, 0x3456);
		rfmring_store32(rings[0], 4, 0x789abcde);
		rfmring_store64(rings[0], 8, 0x0123456789abcdef);
		rfmring_write(rings[1], 0x1001, bytes, sizeof(bytes));
		assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
		assert_int_equal(rfmring_fence(rings[1], NULL, PATIENCE_MS), 0);
		for (unsigned int i = 0; i < NODES; i++) {
			assert_int_equal(load8(rings[i], 1), 0x12);
			assert_int_equal(load16(rings[i], 2), 0x3456);
			assert_int_equal(load32(rings[i], 4), 0x789abcde);
			assert_int_equal(load64(rings[i], 8), 0x0123456789abcdef);
			assert_int_equal(rfmring_read(rings[i], 0x1001, back, sizeof(back)), 0);
			assert_memory_equal(bytes, back, sizeof(bytes));
		}
		close_ring(rings, NODES);
	}
}

static void what_does_not_fit_changes_nothing(void **state)
{
	struct rfmring_config config = config_of(0, 1);
	struct rfmring *ring = open_with(&config);
	uint8_t bytes[100];

	uint32_t word = 0xa5a5a5a5;
	uint64_t wide = 42;
	uint8_t byte = 42;

	(void)state;
	assert_int_equal(rfmring_store32(ring, 2, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rfmring_store32(ring, MEMORY, 1), -1);
	assert_int_equal(rfmring_store8(ring, UINT32_MAX, 1), -1);
	assert_int_equal(rfmring_write(ring, MEMORY - 99, bytes, 100), -1);
	assert_int_equal(rfmring_read(ring, MEMORY - 99, bytes, 100), -1);
	assert_int_equal(rfmring_load32(ring, 2, &word), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rfmring_load64(ring, MEMORY - 4, &wide), -1);
	assert_int_equal(rfmring_load8(ring, MEMORY, &byte), -1);
	assert_true(word == 0xa5a5a5a5 && wide == 42 && byte == 42);
	assert_int_equal(rfmring_load8(ring, 0x100000000ull, &byte), -1);
	assert_int_equal(rfmring_store8(ring, 0x100000000ull, 1), -1);
	assert_int_equal(rfmring_watch(ring, 0, MEMORY + 1, (void *)1, NULL), -1);
	assert_int_equal(rfmring_watch(ring, MEMORY, 1, (void *)1, NULL), -1);
	assert_int_equal(rfmring_watch(ring, 8, UINT64_MAX, (void *)1, NULL), -1);
	assert_int_equal(rfmring_watch(ring, 0, 0, (void *)1, NULL), -1);
	assert_int_equal(rfmring_unwatch(ring, 1), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(rfmring_set_address_offset(ring, 1), -1);
	assert_int_equal(rfmring_set_optics(ring, 8), -1);
	assert_int_equal(rfmring_interrupt(ring, 256, 1, 0), -1);
	assert_int_equal(rfmring_interrupt(ring, 1, 5, 0), -1);
	assert_int_equal(stats_of(ring).stores, 0);
	assert_int_equal(rfmring_fence(ring, NULL, -2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rfmring_run(ring, -2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rfmring_wait_interrupt(ring, NULL, -2), -1);
	assert_int_equal(errno, EINVAL);
	/* It is dark: nothing waits, everything is counted. */
	assert_int_equal(rfmring_store32(ring, 0, 5), 0);
	assert_int_equal(load32(ring, 0), 5);
	assert_int_equal(stats_of(ring).dark, 1);
	assert_int_equal(rfmring_fence(ring, NULL, 100), -1);
	assert_int_equal(errno, ENOLINK);
	rfmring_close(ring);
}

#define WRITERS	3
#define STORES	20000

struct writer {
	struct rfmring *ring;
	unsigned int number;
	pthread_t thread;
};

static void *write_own_word(void *opaque)
{
	struct writer *writer = opaque;

	for (uint32_t i = 1; i <= STORES; i++)
		rfmring_store32(writer->ring, 0x100 + 4 * writer->number, i);
	return NULL;
}

static void threads_store_at_the_same_time(void **state)
{
	struct rfmring *rings[NODES];
	struct writer writers[NODES * WRITERS];
	struct rfmring_stats stats;

	(void)state;
	open_ring(rings, NODES, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(writers); i++) {
		writers[i] = (struct writer){ .ring = rings[i % NODES], .number = i };
		pthread_create(&writers[i].thread, NULL, write_own_word, &writers[i]);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(writers); i++)
		pthread_join(writers[i].thread, NULL);
	for (unsigned int i = 0; i < NODES; i++)
		assert_int_equal(rfmring_fence(rings[i], NULL, PATIENCE_MS), 0);
	for (unsigned int i = 0; i < NODES; i++) {
		for (unsigned int w = 0; w < ARRAY_SIZE(writers); w++)
			assert_int_equal(load32(rings[i], 0x100 + 4 * w), STORES);
		stats = stats_of(rings[i]);
		assert_int_equal(stats.lost, 0);
		assert_int_equal(stats.missed, 0);
		assert_int_equal(stats.full, 0);
	}
	close_ring(rings, NODES);
}

struct word {
	struct rfmring *ring;
	atomic_bool stop;
	atomic_ulong done;
};

static void *store_two_values(void *opaque)
{
	struct word *word = opaque;

	for (uint32_t value = 0; !atomic_load(&word->stop); value = ~value)
		rfmring_store32(word->ring, 4, value);
	return NULL;
}

static void *receive_two_values(void *opaque)
{
	struct word *word = opaque;

	/* As an update that comes is put there. */
	for (uint32_t value = 0; !atomic_load(&word->stop); value = ~value)
		rfm_memory_store(word->ring->memory + 4, &value, sizeof(value));
	return NULL;
}

static void an_aligned_word_is_read_whole(void **state)
{
	struct rfmring_config config = config_of(0, 1);
	struct word word = { .ring = open_with(&config) };
	uint64_t until = now_ns() + 5000000000;
	unsigned int torn = 0, changes = 0;
	uint32_t value, last = 0;
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, receive_two_values, &word);
	/* Until both have run beside each other for a while, on a busy machine too. */
	while (changes < 200000 && now_ns() < until) {
		rfmring_read(word.ring, 4, &value, sizeof(value));
		torn += value && ~value;
		changes += value != last;
		last = value;
	}
	atomic_store(&word.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(torn, 0);
	rfmring_close(word.ring);
}

#define ASKERS	4

static void *ask(void *opaque)
{
	struct word *word = opaque;
	struct rfmring_state state = { .size = sizeof(state) };

	while (!atomic_load(&word->stop)) {
		rfmring_get_state(word->ring, &state);
		word->done++;
	}
	return NULL;
}

#define TURNS	500

/*
 * Who moves the ring gives way to those that wait, not to those that come again:
 * each asker has one turn, and may have counted the one before it late.
 */
static void everybody_has_a_turn(void **state)
{
	struct rfmring_config config = config_of(0, 1);
	struct word word = { .ring = open_with(&config) };
	struct rfm_host *host = word.ring->host;
	pthread_t askers[ASKERS];
	unsigned int late = 0, turn;
	unsigned long before;

	(void)state;
	for (unsigned int i = 0; i < ASKERS; i++)
		pthread_create(&askers[i], NULL, ask, &word);
	/* On a busy host they are not there each time, but often enough. */
	for (turn = 0; turn < TURNS || (word.done <= TURNS && turn < 100 * TURNS); turn++) {
		before = word.done;
		rfm_host_engine_lock(host);
		/* It may be held up before it says that it wants its turn, but not always. */
		late += word.done - before > 3 * ASKERS;
		before = word.done;
		rfm_host_yield(host);
		assert_true(word.done - before <= 2 * ASKERS);
		rfm_host_engine_unlock(host);
		usleep(200);
	}
	atomic_store(&word.stop, true);
	for (unsigned int i = 0; i < ASKERS; i++)
		pthread_join(askers[i], NULL);
	assert_true(late < turn / 2);
	assert_true(word.done > TURNS);
	rfmring_close(word.ring);
}

/* However many ask, and however often: the ring has its turn. */
static void questions_do_not_hold_up_the_ring(void **state)
{
	struct rfmring *rings[1];
	struct word word = { .stop = false };
	pthread_t askers[ASKERS];
	uint64_t worst = 0, end;
	unsigned int fences = 0;

	(void)state;
	open_ring(rings, 1, 0);
	word.ring = rings[0];
	for (unsigned int i = 0; i < ASKERS; i++)
		pthread_create(&askers[i], NULL, ask, &word);
	for (end = now_ns() + 2000000000; now_ns() < end; fences++) {
		uint64_t begin = now_ns();

		if (rfmring_fence(rings[0], NULL, PATIENCE_MS))
			break;
		if (now_ns() - begin > worst)
			worst = now_ns() - begin;
	}
	atomic_store(&word.stop, true);
	for (unsigned int i = 0; i < ASKERS; i++)
		pthread_join(askers[i], NULL);
	print_message("%u fences beside %lu answers to %u threads, the longest %llu us\n", fences,
		      (unsigned long)word.done, ASKERS, (unsigned long long)worst / 1000);
	assert_true(now_ns() >= end);
	assert_true(fences && word.done);
	close_ring(rings, 1);
}

/* --- moved by the program ---------------------------------------------------------------- */

/* One thread moves two rings by their descriptors; both stores of a pair wait for each other. */
static void a_program_with_its_own_loop(void **state)
{
	struct rfmring *rings[2];
	struct pollfd fds[2];
	uint32_t turn = 0;
	uint64_t until = now_ns() + PATIENCE_MS * 1000000ull;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct rfmring_config config = config_of(i, 2);

		rings[i] = open_with(&config);
		fds[i] = (struct pollfd){ .fd = rfmring_fd(rings[i]), .events = POLLIN };
		assert_true(fds[i].fd >= 0);
		assert_int_equal(rfmring_run(rings[i], 0), 0);
	}
	while (turn < 1000 && now_ns() < until) {
		assert_true(poll(fds, 2, 1000) >= 0);
		for (unsigned int i = 0; i < 2; i++)
			if (fds[i].revents)
				assert_int_equal(rfmring_run(rings[i], 0), 0);
		if (!turn && (!is_up(rings[0]) || !is_up(rings[1])))
			continue;
		/* Each side sees the other's last word and says the next. */
		if (load32(rings[turn % 2], 0x40) == turn) {
			rfmring_store32(rings[turn % 2], 0x40, turn + 1);
			turn++;
		}
		rfmring_run(rings[0], 0);
		rfmring_run(rings[1], 0);
	}
	assert_int_equal(turn, 1000);
	close_ring(rings, 2);
}

/* A function that waits leaves in the middle, when no wake-up is armed: the program goes on. */
static void a_program_with_its_own_loop_goes_on_behind_a_wait(void **state)
{
	struct rfmring_config configs[2] = { config_of(0, 2), config_of(1, 2) };
	struct rfmring_interrupt interrupt;
	struct rfmring *rings[2];
	unsigned int looks = 0;
	struct pollfd fd;

	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		rings[i] = open_with(&configs[i]);
	rfmring_start(rings[1]);
	while (!is_up(rings[0]) || !is_up(rings[1]))
		rfmring_run(rings[0], 1);
	while (rfmring_fence(rings[0], NULL, PATIENCE_MS))
		/* the two have only met */;
	fd = (struct pollfd){ .fd = rfmring_fd(rings[0]), .events = POLLIN };
	assert_true(fd.fd >= 0);
	rfmring_run(rings[0], 0);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	rfmring_run(rings[0], 0);
	assert_int_equal(rfmring_interrupt(rings[1], 1, 1, 5), 0);
	assert_int_equal(rfmring_wait_interrupt(rings[0], &interrupt, PATIENCE_MS), 1);
	assert_int_equal(poll(&fd, 1, 0), 1);
	rfmring_run(rings[0], 0);
	assert_int_equal(rfmring_export(rings[1], 0, 64, RFMRING_MAY_WRITE), 0);
	assert_int_equal(rfmring_put(rings[0], 2, 0, "x", 1, PATIENCE_MS), 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	/* Whoever only looks is not told to go on, or it would look without end: */
	do {
		while (poll(&fd, 1, 0))
			rfmring_run(rings[0], 0);
		assert_int_equal(rfmring_wait_interrupt(rings[0], &interrupt, 0), 0);
		assert_int_equal(rfmring_receive(rings[0], 0, NULL, 0, NULL, NULL, 0), -1);
	} while (poll(&fd, 1, 0) && ++looks < 1000);	/* but a heartbeat may come */
	assert_true(looks < 1000);
	close_ring(rings, 2);
}

/*
 * False: the host has kept this thread waiting for so long that the neighbour, silent for
 * 2 s, counted as gone. Stores went into the dark then, and were not refused.
 */
static bool a_store_has_waited_for_a_neighbour(void)
{
	struct rfmring_config configs[2] = { config_of(0, 2), config_of(1, 2) };
	struct rfmring *rings[2];
	struct rfmring_stats stalled, stats;
	uint32_t refused = 0, count = 0, last;

	configs[0].stall_ms = 600;	/* 500 unless set */
	configs[0].insert_slots = 64;
	configs[0].flags = RFMRING_UNPACKED;
	for (unsigned int i = 0; i < 2; i++)
		rings[i] = open_with(&configs[i]);
	rfmring_start(rings[0]);
	while (!is_up(rings[0]) || !is_up(rings[1]))
		rfmring_run(rings[1], 1);
	/*
	 * Nobody moves the other ring now. When the ring is thought open it takes more than the
	 * window, then the queue takes the rest, at last nothing.
	 */
	for (; count < 2000 || (!refused && !stats_of(rings[0]).dark); count++)
		refused += rfmring_store32(rings[0], 0x100 + 8 * (count % 100), count) != 0;
	stalled = stats_of(rings[0]);
	last = load32(rings[0], 0x100 + 8 * ((count - 1) % 100));
	rfmring_start(rings[1]);
	while (rfmring_fence(rings[0], NULL, 2000))
		;
	stats = stats_of(rings[0]);
	if (stats.dark) {
		close_ring(rings, 2);
		return false;
	}
	assert_true(stalled.longest_stall_ns >= 600000000);
	/* The limit has ended the wait. */
	assert_true(refused > 0);
	assert_int_equal(stalled.full, refused);
	assert_int_equal(last, count - 1);
	/* All that was not refused has arrived, and the books balance. */
	assert_int_equal(stats.stores, stats.home + stats.lost);
	assert_int_equal(stats.lost, refused);
	assert_int_equal(stats_of(rings[1]).missed, refused);
	close_ring(rings, 2);
	return true;
}

/* The downstream neighbour of a program stands still: a store waits so long and no longer. */
static void a_store_waits_no_longer_than_the_limit(void **state)
{
	unsigned int tries = 0;

	(void)state;
	while (!a_store_has_waited_for_a_neighbour())
		assert_true(++tries < 20);
}

static void a_program_without_a_thread_moves_the_ring_while_it_waits(void **state)
{
	struct rfmring_config configs[2] = { config_of(0, 2), config_of(1, 2) };
	struct rfmring *rings[2];
	uint32_t full = 0;

	(void)state;
	configs[0].stall_ms = 10000;
	configs[0].insert_slots = 64;
	configs[0].flags = RFMRING_UNPACKED;
	for (unsigned int i = 0; i < 2; i++)
		rings[i] = open_with(&configs[i]);
	rfmring_start(rings[1]);
	while (!is_up(rings[0]) || !is_up(rings[1]))
		rfmring_run(rings[0], 1);
	for (uint32_t i = 0; i < 2000; i++) {
		full += !rfmring_may_store(rings[0]);
		assert_int_equal(rfmring_store32(rings[0], 0x100 + 8 * (i % 100), i), 0);
	}
	assert_true(full > 0);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	assert_int_equal(load32(rings[1], 0x100 + 8 * 99), 1999);
	assert_int_equal(stats_of(rings[0]).lost, 0);
	close_ring(rings, 2);
}

static void *wake_up(void *opaque)
{
	rfmring_wake(opaque);
	return NULL;
}

static void running_for_ever_can_be_ended(void **state)
{
	struct rfmring_config config = config_of(0, 2);
	struct rfmring *ring = open_with(&config);
	struct rfmring_interrupt interrupt;
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, wake_up, ring);
	assert_int_equal(rfmring_run(ring, -1), 0);
	pthread_join(thread, NULL);
	assert_int_equal(rfmring_start(ring), 0);
	assert_int_equal(rfmring_run(ring, 0), -1);
	assert_int_equal(errno, EBUSY);
	pthread_create(&thread, NULL, wake_up, ring);
	assert_int_equal(rfmring_wait_interrupt(ring, &interrupt, -1), 0);
	pthread_join(thread, NULL);
	rfmring_close(ring);
}

/* --- several nodes in one place ------------------------------------------------------------ */

static void a_node_behind_another_leaves_nothing_on_the_ring(void **state)
{
	struct rfmring_config config = config_of(0, 2), behind = RFMRING_CONFIG_INIT;
	struct rfmring *rings[2], *guest;
	uint64_t until;

	(void)state;
	rings[0] = open_with(&config);
	config = config_of(1, 2);
	rings[1] = open_with(&config);
	rfmring_start(rings[1]);
	behind.id = 200;
	behind.memory_size = MEMORY;
	behind.behind = rings[0];
	behind.stall_ms = 10000;	/* closing waits so long */
	for (unsigned int round = 0; round < 3; round++) {
		guest = open_with(&behind);
		while (!is_up(guest) || !is_up(rings[1]))
			rfmring_run(rings[0], 10);
		assert_int_equal(state_of(guest).upstream, 1);
		/* HELLO has the id of who sends. */
		assert_int_equal(state_of(rings[1]).upstream, 200);
		for (uint32_t i = 0; i < 100; i++)
			rfmring_store32(guest, 0x300 + 8 * i, round * 1000 + i);
		assert_int_equal(rfmring_close(rings[0]), -1);
		assert_int_equal(errno, EBUSY);
		/* No fence: closing waits for what was stored. */
		assert_int_equal(rfmring_close(guest), 0);
		assert_int_equal(load32(rings[0], 0x300 + 8 * 99), round * 1000 + 99);
		assert_int_equal(load32(rings[1], 0x300 + 8 * 99), round * 1000 + 99);
	}
	until = now_ns() + 50000000;
	while (now_ns() < until)
		rfmring_run(rings[0], 10);
	assert_int_equal(stats_of(rings[0]).hop_limit, 0);
	assert_int_equal(stats_of(rings[1]).late, 0);
	assert_int_equal(rfmring_close(rings[0]), 0);
	rfmring_close(rings[1]);
}

static void *try_to_move(void *opaque)
{
	struct word *word = opaque;

	while (!atomic_load(&word->stop))
		word->done += !rfmring_run(word->ring, 0);
	return NULL;
}

/* Others may go on calling while a node behind leaves a ring that moves by itself. */
static void a_node_behind_leaves_a_busy_ring(void **state)
{
	struct rfmring_config config = config_of(0, 1), behind = RFMRING_CONFIG_INIT;
	struct word word = { .stop = false };
	struct rfmring *guest;
	pthread_t threads[2];

	(void)state;
	behind.id = 200;
	behind.memory_size = MEMORY;
	behind.stall_ms = 10000;	/* closing waits so long */
	for (unsigned int round = 0; round < 20; round++) {
		word.ring = behind.behind = open_with(&config);
		guest = open_with(&behind);
		assert_int_equal(rfmring_start(word.ring), 0);
		wait_up(&word.ring, 1);
		atomic_store(&word.stop, false);
		pthread_create(&threads[0], NULL, store_two_values, &word);
		pthread_create(&threads[1], NULL, try_to_move, &word);
		for (uint32_t i = 0; i < 100; i++)
			rfmring_store32(guest, 0x300 + 8 * i, round * 1000 + i);
		rfmring_close(guest);
		assert_int_equal(load32(word.ring, 0x300 + 8 * 99), round * 1000 + 99);
		atomic_store(&word.stop, true);
		for (unsigned int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(word.done, 0);		/* it moved by itself all the time */
		while (rfmring_fence(word.ring, NULL, 2000))
			;
		assert_int_equal(stats_of(word.ring).hop_limit, 0);
		rfmring_close(word.ring);
	}
}

static void the_memory_can_be_a_file(void **state)
{
	struct rfmring_config configs[2] = { config_of(0, 2), config_of(1, 2) };
	struct rfmring *rings[2];
	char path[128], error[256];
	const uint32_t *words;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/memory", folder);
	configs[1].memory_file = path;
	for (unsigned int i = 0; i < 2; i++) {
		rings[i] = open_with(&configs[i]);
		rfmring_start(rings[i]);
	}
	wait_up(rings, 2);
	fd = open(path, O_RDONLY);
	words = mmap(NULL, MEMORY, PROT_READ, MAP_SHARED, fd, 0);
	rfmring_store32(rings[0], 0x400, 0xfeedface);
	assert_int_equal(rfmring_fence(rings[0], NULL, PATIENCE_MS), 0);
	assert_int_equal(words[0x100], 0xfeedface);
	/* Two nodes never have one memory. */
	configs[0].memory_file = path;
	configs[0].rx = configs[0].tx;
	assert_null(rfmring_open(&configs[0], error, sizeof(error)));
	assert_non_null(strstr(error, "another node"));
	munmap((void *)words, MEMORY);
	close(fd);
	close_ring(rings, 2);
	unlink(path);
}

/* --- refusals --------------------------------------------------------------------------------- */

/* Each case is a good configuration with something overwritten. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static void bad_settings_are_refused_with_a_sentence(void **state)
{
	const struct {
		struct rfmring_config config;
		const char *says;
	} cases[] = {
#define CASE(says_, ...) { .config = { .size = sizeof(struct rfmring_config), \
	.memory_size = MEMORY, .rx = "unix:/nowhere/rx", .tx = "unix:/nowhere/tx", \
	__VA_ARGS__ }, .says = says_ }
		CASE("node id", .id = 256),
		CASE("256 MiB", .memory_size = 0),
		CASE("256 MiB", .memory_size = 4097),
		CASE("256 MiB", .memory_size = 1ull << 32),
		CASE("flag", .flags = 0x80000000),
		CASE("window", .window = 16385),
		CASE("power of two", .insert_slots = 3),
		CASE("from 16 to 2048", .insert_slots = 8),
		CASE("from 16 to 2048", .insert_slots = 4096),
		CASE("wait", .stall_ms = 10001),
		CASE("line", .line = "fast"),
		CASE("sending", .tx = NULL),
		CASE("receiving", .rx = NULL),
		CASE("unix: or tcp:", .rx = "pipe:/x"),
		CASE("port", .tx = "tcp:here"),
		CASE("server", .rx = "unix:/x,listen"),
		CASE("cannot listen", .rx = "unix:/nowhere/rx,server"),
		CASE("slots", .shm_slots = 3),
		CASE("memory file", .memory_file = "/nowhere/memory"),
		CASE("capture", .pcap = "/nowhere/capture"),
		CASE("list of processors", .cpus = ""),
		CASE("list of processors", .cpus = "3-"),
		CASE("list of processors", .cpus = "5-3"),
		CASE("list of processors", .cpus = "1,,2"),
		CASE("list of processors", .cpus = "1, 2"),
		CASE("list of processors", .cpus = "0x3"),
		CASE("list of processors", .cpus = "8192"),
		CASE("list of processors", .cpus = "99999999999999999999"),
		CASE("size", .size = 8),
		CASE("size", .size = offsetof(struct rfmring_config, timer)),
		CASE("no name of a TAP device", .tap = ""),
		CASE("no name of a TAP device", .tap = "sixteen-are-many"),
		CASE("no name of a TAP device", .tap = "tap%d"),
#undef CASE
	};
	char error[256];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		error[0] = '\0';
		assert_null(rfmring_open(&cases[i].config, error, sizeof(error)));
		assert_true(errno);
		if (!strstr(error, cases[i].says))
			fail_msg("'%s' does not say '%s'", error, cases[i].says);
	}
}

#pragma GCC diagnostic pop

/* It may run only there; what there is no processor for says so when it is to begin. */
static void its_thread_runs_on_the_cpus_of_a_list(void **state)
{
	struct rfmring_config config = config_of(0, 1);
	struct rfmring *ring;

	(void)state;
	config.cpus = "0,5000-8191";
	ring = open_with(&config);
	assert_int_equal(ring->cpus[0], 1);
	assert_int_equal(ring->cpus[5000 / 64], UINT64_MAX << 5000 % 64);
	assert_int_equal(ring->cpus[RFM_CPUS_MAX / 64 - 1], UINT64_MAX);
	assert_int_equal(rfmring_start(ring), 0);
	rfmring_close(ring);
	config.cpus = "8191";
	ring = open_with(&config);
	assert_int_equal(rfmring_start(ring), -1);
	assert_int_equal(errno, EINVAL);
	rfmring_close(ring);
}

/* A program may have been built with an older or newer header. */
static void *lock_and_unlock(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

static int own_priority(void)
{
	int priority = 0;
	FILE *file = fopen("/proc/thread-self/stat", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
				      "%*u %*u %*d %*d %d", &priority), 1);
	fclose(file);
	return priority;
}

/* Whoever has a lock that the thread of an urgent node waits for is as urgent until it has gone. */
static void an_urgent_node_waits_for_none_that_is_not(void **state)
{
	const struct sched_param param = { .sched_priority = 5 };
	struct rfmring_config config = config_of(0, 1);
	pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER, *locks[3];
	struct rfmring *ring;
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	if (pthread_create(&thread, &attr, lock_and_unlock, &free_lock))
		skip();		/* It takes the right to be urgent. */
	pthread_join(thread, NULL);
	config.priority = param.sched_priority;
	ring = open_with(&config);
	locks[0] = &ring->host->engine;
	locks[1] = &ring->producer;
	locks[2] = &ring->pending_lock;
	alarm(60);
	for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
		pthread_mutex_lock(locks[i]);
		assert_int_equal(pthread_create(&thread, &attr, lock_and_unlock, locks[i]), 0);
		while (own_priority() != -1 - param.sched_priority)
			usleep(1000);
		pthread_mutex_unlock(locks[i]);
		pthread_join(thread, NULL);
		assert_true(own_priority() >= 0);
	}
	alarm(0);
	pthread_attr_destroy(&attr);
	assert_int_equal(rfmring_close(ring), 0);
}

static void structs_may_grow(void **state)
{
	struct {
		struct rfmring_config config;
		uint64_t from_the_future;
	} larger = { .config = config_of(0, 1) };
	struct {
		struct rfmring_stats stats;
		uint64_t beyond;
	} older = { .stats.size = offsetof(struct rfmring_stats, sent), .beyond = 7 };
	struct {
		struct rfmring_stats stats;
		uint64_t later[3];
	} newer = { .stats.size = sizeof(newer), .later = { 1, 2, 3 } };
	struct {
		struct rfmring_state state;
		uint64_t later[3];
	} newer_state = { .state.size = sizeof(newer_state), .later = { 1, 2, 3 } };
	struct rfmring *ring;
	char error[256];

	(void)state;
	older.stats.sent = 99;
	larger.config.size = sizeof(larger);
	ring = rfmring_open(&larger.config, error, sizeof(error));
	assert_non_null(ring);
	rfmring_store8(ring, 0, 1);
	assert_int_equal(rfmring_get_stats(ring, &older.stats), 0);
	assert_int_equal(older.stats.stores, 1);
	assert_int_equal(older.stats.sent, 99);
	/* What this library does not know is 0, not what happened to be there. */
	assert_int_equal(rfmring_get_stats(ring, &newer.stats), 0);
	assert_int_equal(newer.stats.size, sizeof(newer));
	assert_true(!newer.later[0] && !newer.later[1] && !newer.later[2]);
	assert_int_equal(rfmring_get_state(ring, &newer_state.state), 0);
	assert_true(!newer_state.later[0] && !newer_state.later[1] && !newer_state.later[2]);
	rfmring_close(ring);
	larger.from_the_future = 1;
	assert_null(rfmring_open(&larger.config, error, sizeof(error)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(stores_are_everywhere),
		ring_test(what_does_not_fit_changes_nothing),
		ring_test(threads_store_at_the_same_time),
		ring_test(an_aligned_word_is_read_whole),
		ring_test(everybody_has_a_turn),
		ring_test(questions_do_not_hold_up_the_ring),
		ring_test(a_program_with_its_own_loop),
		ring_test(a_program_with_its_own_loop_goes_on_behind_a_wait),
		ring_test(a_store_waits_no_longer_than_the_limit),
		ring_test(a_program_without_a_thread_moves_the_ring_while_it_waits),
		ring_test(running_for_ever_can_be_ended),
		ring_test(a_node_behind_another_leaves_nothing_on_the_ring),
		ring_test(a_node_behind_leaves_a_busy_ring),
		ring_test(the_memory_can_be_a_file),
		ring_test(bad_settings_are_refused_with_a_sentence),
		ring_test(its_thread_runs_on_the_cpus_of_a_list),
		ring_test(an_urgent_node_waits_for_none_that_is_not),
		ring_test(structs_may_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
