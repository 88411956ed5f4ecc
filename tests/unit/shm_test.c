// SPDX-License-Identifier: MIT
/* The shared-memory queue: its order, its sleep and wake, and peers that lie. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/shm.h"

/* Where things stand in the memory, spelled here once more: docs/ring-protocol.md. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_SLOT_SIZE = 8,
	AT_SLOTS = 12,
	AT_BYTES = 16,
	AT_TAIL = 128,
	AT_HEAD = 256,
	AT_CONSUMER_SLEEPS = 384,
	AT_PRODUCER_WAITS = 512,
	SLOTS_AT = 4096,
	BEHIND = 4096,		/* bytes after the slots */
};

enum { MEMORY, DATA, ROOM };

static void duplicate(const int *from, int *to)
{
	for (int i = 0; i < RFM_SHM_FDS; i++)
		to[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 0);
}

static void make_pair(struct rfm_shm *tx, struct rfm_shm *rx, uint32_t slots)
{
	int fds[RFM_SHM_FDS];

	assert_int_equal(rfm_shm_create(tx, slots), 0);
	duplicate(tx->offer, fds);
	assert_null(rfm_shm_attach(rx, fds));
	assert_true(rfm_shm_is_open(tx));
	assert_true(rfm_shm_is_open(rx));
}

static void close_pair(struct rfm_shm *tx, struct rfm_shm *rx)
{
	rfm_shm_close(tx);
	rfm_shm_close(rx);
	assert_false(rfm_shm_is_open(tx));
	assert_int_equal(rx->fds[MEMORY], -1);
	rfm_shm_close(rx);
}

/* How many wake-ups wait there? They are taken. */
static unsigned int wake_ups(int fd)
{
	unsigned int count = 0;
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) == 1)
		count++;
	return count;
}

static bool readable(int fd, int patience_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, patience_ms) == 1 && p.revents & POLLIN;
}

/* Frame number @n: length and data follow from the number. */
static unsigned int make_frame(uint8_t *wire, uint64_t n)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA,
		.source = 7,
		.length = 1 + n % RFM_FRAME_DATA_MAX,
		.address = 4 * (n % 1000),
		.seq = n,
	};

	memset(frame.data, (int)(n * 31), frame.length);
	return rfm_frame_encode(&frame, wire);
}

static bool put(struct rfm_shm *tx, uint64_t n)
{
	uint8_t *slot = rfm_shm_reserve(tx, 1);

	if (!slot)
		return false;
	make_frame(slot, n);
	rfm_shm_commit(tx, 1);
	return true;
}

static void assert_frame(const uint8_t *slot, uint64_t n)
{
	uint8_t want[RFM_FRAME_MAX];

	assert_memory_equal(slot, want, make_frame(want, n));
}

static void assert_takes(struct rfm_shm *rx, uint64_t n)
{
	uint8_t slot[RFM_UNIT_MAX];

	assert_int_equal(rfm_shm_take(rx, slot), 1);
	assert_frame(slot, n);
}

/* --- order, wrap, room ---------------------------------------------------- */

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
		assert_int_equal(rfm_shm_take(&rx, slot), 0);
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
				rfm_shm_commit(&tx, rfm_unit_frames(len));
				in++;
			}
			rfm_shm_publish(&tx);
			for (uint32_t n = test_random(&seed) % 20; n && out < in; n--) {
				unsigned int len = unit_bytes(out++, wire);

				assert_int_equal(rfm_shm_take(&rx, slot), rfm_unit_frames(len));
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
	rfm_shm_commit(&tx, 2);
	rfm_shm_publish(&tx);
	assert_int_equal(rfm_shm_take(&rx, slot), -1);
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
	assert_int_equal(rfm_shm_take(&rx, slot), 0);
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
	rfm_shm_commit(&tx, 1);
	rfm_shm_publish(&tx);
	assert_int_equal(rfm_shm_take(&rx, slot), 1);
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
	rfm_shm_awake(&tx, true);
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
		assert_true(rfm_shm_wait_data(&rx));
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
	assert_false(rfm_shm_wait_data(&rx));		/* nor falls asleep */
	assert_takes(&rx, 0);
	assert_true(rfm_shm_wait_data(&rx));
	for (uint64_t n = 1; n < 4; n++) {
		put(&tx, n);
		rfm_shm_publish(&tx);
	}
	assert_int_equal(wake_ups(rx.fds[DATA]), 1);
	for (uint64_t n = 1; n < 4; n++)
		assert_takes(&rx, n);
	assert_true(rfm_shm_wait_data(&rx));
	rfm_shm_awake(&rx, false);			/* for another reason */
	put(&tx, 4);
	rfm_shm_publish(&tx);
	assert_false(readable(rx.fds[DATA], 0));
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

/* --- two threads ---------------------------------------------------------- */

#define PATIENCE_MS	20000		/* a wake-up that takes longer is lost */

struct pace {
	struct rfm_shm shm;
	uint64_t frames;
	uint32_t batch;		/* frames at once, at most */
	uint32_t rest;		/* turns of idling after a batch, at most */
	uint64_t seed;
	uint64_t sleeps;
	const char *failure;
};

static void idle(struct pace *p)
{
	for (uint32_t n = p->rest ? test_random(&p->seed) % p->rest : 0; n; n--)
		__asm__ volatile("" ::: "memory");
}

static bool sleep_for(struct pace *p, bool producer)
{
	p->sleeps++;
	if (!readable(p->shm.fds[producer ? ROOM : DATA], PATIENCE_MS)) {
		p->failure = producer ? "the producer's wake-up was lost" :
					"the consumer's wake-up was lost";
		return false;
	}
	rfm_shm_awake(&p->shm, producer);
	return true;
}

/* 8 bytes a frame will do here: the number. */
static void *producer_thread(void *opaque)
{
	struct pace *p = opaque;
	uint64_t n = 0;

	while (n < p->frames) {
		for (uint32_t batch = 1 + test_random(&p->seed) % p->batch; batch; batch--) {
			uint8_t *slot = rfm_shm_reserve(&p->shm, 1);

			if (!slot || n == p->frames)
				break;
			memcpy(slot, &n, sizeof(n));
			n++;
			rfm_shm_commit(&p->shm, 1);
		}
		rfm_shm_publish(&p->shm);
		idle(p);
		if (!rfm_shm_reserve(&p->shm, 1) && rfm_shm_wait_room(&p->shm, 1) && !sleep_for(p, true))
			break;
	}
	return NULL;
}

static void *consumer_thread(void *opaque)
{
	struct pace *p = opaque;
	_Alignas(8) uint8_t slot[RFM_UNIT_MAX];
	uint64_t n = 0, found;

	while (n < p->frames) {
		uint32_t batch = 1 + test_random(&p->seed) % p->batch;

		while (batch-- && rfm_shm_take(&p->shm, slot) > 0) {
			memcpy(&found, slot, sizeof(found));
			if (found != n++) {
				p->failure = "a frame out of order";
				return NULL;
			}
		}
		rfm_shm_release(&p->shm);
		idle(p);
		if (!rfm_shm_pending(&p->shm) && rfm_shm_wait_data(&p->shm) && n < p->frames &&
		    !sleep_for(p, false))
			break;
	}
	return NULL;
}

static void run_pair(uint64_t frames, uint32_t slots, uint32_t batch, uint32_t tx_rest,
		     uint32_t rx_rest)
{
	struct pace tx = { .frames = frames, .batch = batch, .rest = tx_rest, .seed = slots };
	struct pace rx = { .frames = frames, .batch = batch, .rest = rx_rest, .seed = batch };
	pthread_t producer, consumer;

	make_pair(&tx.shm, &rx.shm, slots);
	assert_int_equal(pthread_create(&consumer, NULL, consumer_thread, &rx), 0);
	assert_int_equal(pthread_create(&producer, NULL, producer_thread, &tx), 0);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	if (tx.failure || rx.failure)
		fail_msg("%u slots, batches of %u: %s", slots, batch,
			 tx.failure ? tx.failure : rx.failure);
	print_message("# %u slots, batches of %u: producer slept %llu, consumer %llu times\n",
		      slots, batch, (unsigned long long)tx.sleeps,
		      (unsigned long long)rx.sleeps);
	close_pair(&tx.shm, &rx.shm);
}

static void threads_lose_no_wake_up(void **state)
{
	(void)state;
	run_pair(3000000, RFM_SHM_SLOTS, 200, 0, 0);
	run_pair(500000, 64, 16, 60, 60);
	run_pair(100000, 2, 2, 0, 0);	/* both fall asleep all the time */
	run_pair(200000, 8, 2, 300, 0);	/* the consumer is the faster one */
	run_pair(200000, 8, 2, 0, 300);	/* the producer is */
}

/*
 * Both at the same moment, again and again: one shows a slot, the other goes
 * to sleep. Either the sleeper sees the slot, or it is woken.
 */
#define MOMENTS 300000

struct moment {
	struct rfm_shm *tx, *rx;
	_Atomic unsigned int arrived;
	unsigned int caught;		/* how often it was asleep and was woken */
};

static void meet(struct moment *m, unsigned int place)
{
	atomic_fetch_add(&m->arrived, 1);
	for (unsigned int turns = 0; atomic_load(&m->arrived) < 2 * place; turns++)
		if (turns > 1000)
			sched_yield();
}

/* Sometimes the other goes first for sure, so that both cases are seen on one processor too. */
static void jitter(uint64_t *seed)
{
	uint32_t turns = test_random(seed) % 64;

	if (!turns)
		sched_yield();
	while (turns--)
		__asm__ volatile("" ::: "memory");
}

/* Left alone, the two may take turns on one processor, and never meet. */
static void stay_on(unsigned int which)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&all) > 1; cpu++) {
		if (!CPU_ISSET(cpu, &all) || which--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void *shower(void *opaque)
{
	struct moment *m = opaque;
	uint8_t slot[RFM_UNIT_MAX];
	uint64_t seed = 1;

	stay_on(0);
	for (unsigned int n = 0; n < MOMENTS; n++) {
		if (m->rx)
			rfm_shm_take(m->rx, slot);
		else
			rfm_shm_reserve(m->tx, 1);
		meet(m, 2 * n + 1);
		jitter(&seed);
		if (m->rx) {
			rfm_shm_release(m->rx);
		} else {
			rfm_shm_commit(m->tx, 1);
			rfm_shm_publish(m->tx);
		}
		meet(m, 2 * n + 2);
	}
	return NULL;
}

static void moment_consumer_sleeps(void **state)
{
	struct rfm_shm tx, rx;
	struct moment m = { .tx = &tx };
	uint8_t slot[RFM_UNIT_MAX];
	uint64_t seed = 2;
	cpu_set_t before;
	pthread_t thread;

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_int_equal(pthread_create(&thread, NULL, shower, &m), 0);
	sched_getaffinity(0, sizeof(before), &before);
	stay_on(1);
	for (unsigned int n = 0; n < MOMENTS; n++) {
		bool slept;

		meet(&m, 2 * n + 1);
		jitter(&seed);
		slept = rfm_shm_wait_data(&rx);
		meet(&m, 2 * n + 2);
		if (slept) {
			m.caught++;
			assert_true(readable(rx.fds[DATA], 0));
		}
		rfm_shm_awake(&rx, false);
		assert_int_equal(rfm_shm_take(&rx, slot), 1);
		rfm_shm_release(&rx);
	}
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	assert_in_range(m.caught, 1, MOMENTS - 1);	/* or the test proves nothing */
	close_pair(&tx, &rx);
}

static void moment_producer_waits(void **state)
{
	struct rfm_shm tx, rx;
	struct moment m = { .rx = &rx };
	uint64_t seed = 3;
	cpu_set_t before;
	pthread_t thread;

	(void)state;
	make_pair(&tx, &rx, 2);
	put(&tx, 0);
	put(&tx, 1);
	rfm_shm_publish(&tx);
	assert_int_equal(pthread_create(&thread, NULL, shower, &m), 0);
	sched_getaffinity(0, sizeof(before), &before);
	stay_on(1);
	for (unsigned int n = 0; n < MOMENTS; n++) {
		bool slept;

		meet(&m, 2 * n + 1);
		jitter(&seed);
		slept = rfm_shm_wait_room(&tx, 1);
		meet(&m, 2 * n + 2);
		if (slept) {
			m.caught++;
			assert_true(readable(tx.fds[ROOM], 0));
		}
		rfm_shm_awake(&tx, true);
		assert_true(put(&tx, n));
		rfm_shm_publish(&tx);
	}
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	assert_in_range(m.caught, 1, MOMENTS - 1);
	close_pair(&tx, &rx);
}

/* --- descriptors that are refused ----------------------------------------- */

/* How to spoil a good set of descriptors. */
struct spoil {
	const char *what, *sentence;
	void (*how)(int *fds);
};

static void replace(int *fds, int which, int fd)
{
	assert_true(fd >= 0);
	close(fds[which]);
	fds[which] = fd;
}

static int copy_of(int memory, off_t bytes, unsigned int seals)
{
	uint8_t page[SLOTS_AT];
	int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(pread(memory, page, sizeof(page), 0), sizeof(page));
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	assert_int_equal(ftruncate(fd, bytes), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

#define GOOD_BYTES	(SLOTS_AT + 64 * RFM_SHM_SLOT + BEHIND)
#define GOOD_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void unsealed(int *fds) { replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, 0)); }

static void may_shrink(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, F_SEAL_GROW | F_SEAL_SEAL));
}

static void may_be_sealed(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, F_SEAL_GROW | F_SEAL_SHRINK));
}

static void read_only(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, GOOD_SEALS | F_SEAL_WRITE));
}

static void truncated(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES - 1, GOOD_SEALS));
}

static void too_long(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES + 4096, GOOD_SEALS));
}

static void tiny(int *fds) { replace(fds, MEMORY, copy_of(fds[MEMORY], 20, GOOD_SEALS)); }
static void empty(int *fds) { replace(fds, MEMORY, copy_of(fds[MEMORY], 0, GOOD_SEALS)); }

static void a_file(int *fds)
{
	replace(fds, MEMORY, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

static void a_pipe(int *fds)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	replace(fds, MEMORY, ends[0]);
	close(ends[1]);
}

static void set32(int *fds, off_t at, uint32_t value)
{
	assert_int_equal(pwrite(fds[MEMORY], &value, sizeof(value), at), sizeof(value));
}

static void other_magic(int *fds) { set32(fds, AT_MAGIC, 0); }
static void other_version(int *fds) { set32(fds, AT_VERSION, 1); }
static void other_slot_size(int *fds) { set32(fds, AT_SLOT_SIZE, 64); }
static void zero_slots(int *fds) { set32(fds, AT_SLOTS, 0); }
static void odd_slots(int *fds) { set32(fds, AT_SLOTS, 63); }
static void huge_slots(int *fds) { set32(fds, AT_SLOTS, 1u << 31); }
static void more_slots(int *fds) { set32(fds, AT_SLOTS, 128); }
static void other_bytes(int *fds) { set32(fds, AT_BYTES, 4096); }

/* All that the header says fits together, only the file does not. */
static void grown_header(int *fds)
{
	set32(fds, AT_SLOTS, 128);
	set32(fds, AT_BYTES, SLOTS_AT + 128 * RFM_SHM_SLOT + BEHIND);
}

static void not_there(int *fds) { close(fds[MEMORY]); fds[MEMORY] = -1; }
static void no_data_fd(int *fds) { close(fds[DATA]); fds[DATA] = -1; }
static void swapped(int *fds) { int t = fds[MEMORY]; fds[MEMORY] = fds[ROOM]; fds[ROOM] = t; }
static void data_file(int *fds) { replace(fds, DATA, open("/dev/null", O_RDWR | O_CLOEXEC)); }
static void room_memfd(int *fds) { replace(fds, ROOM, memfd_create("x", MFD_CLOEXEC)); }
static void stream_socket(int *fds) { replace(fds, DATA, socket(AF_UNIX, SOCK_STREAM, 0)); }
static void udp_socket(int *fds) { replace(fds, ROOM, socket(AF_INET, SOCK_DGRAM, 0)); }

static const struct spoil spoils[] = {
	{ "no seals", "the shared memory is not sealed against a change of its size", unsealed },
	{ "may shrink", "the shared memory is not sealed against a change of its size", may_shrink },
	{ "no final seal", "the shared memory is not sealed against a change of its size",
	  may_be_sealed },
	{ "cannot be written", "the shared memory cannot be mapped", read_only },
	{ "a byte short", "the shared memory is not of the size that its queue needs", truncated },
	{ "a page long", "the shared memory is not of the size that its queue needs", too_long },
	{ "20 bytes", "the shared memory is too short for a queue", tiny },
	{ "empty", "the shared memory is too short for a queue", empty },
	{ "a file", "the shared memory is not a memfd", a_file },
	{ "a pipe", "the shared memory is not a memfd", a_pipe },
	{ "magic", "the shared memory holds no queue", other_magic },
	{ "version", "the shared memory holds a queue of another version", other_version },
	{ "slot size", "the queue in the shared memory has slots of another size",
	  other_slot_size },
	{ "no slots", "the queue in the shared memory has an impossible number of slots",
	  zero_slots },
	{ "63 slots", "the queue in the shared memory has an impossible number of slots",
	  odd_slots },
	{ "2^31 slots", "the queue in the shared memory has an impossible number of slots",
	  huge_slots },
	{ "more slots", "the queue in the shared memory has slots of another size", more_slots },
	{ "size field", "the queue in the shared memory has slots of another size", other_bytes },
	{ "grown header", "the shared memory is not of the size that its queue needs",
	  grown_header },
	{ "no memory", "the shared memory is not a memfd", not_there },
	{ "no socket", "a wake-up descriptor of the shared memory is not a datagram socket",
	  no_data_fd },
	{ "memory and socket swapped",
	  "a wake-up descriptor of the shared memory is not a datagram socket", swapped },
	{ "/dev/null for data",
	  "a wake-up descriptor of the shared memory is not a datagram socket", data_file },
	{ "memfd for room", "a wake-up descriptor of the shared memory is not a datagram socket",
	  room_memfd },
	{ "a stream for data",
	  "a wake-up descriptor of the shared memory is not a datagram socket", stream_socket },
	{ "UDP for room", "a wake-up descriptor of the shared memory is not a datagram socket",
	  udp_socket },
};

static void refused(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(spoils); i++) {
		struct rfm_shm tx, rx;
		int fds[RFM_SHM_FDS];
		const char *said;

		assert_int_equal(rfm_shm_create(&tx, 64), 0);
		duplicate(tx.offer, fds);
		spoils[i].how(fds);
		said = rfm_shm_attach(&rx, fds);
		if (!said || strcmp(said, spoils[i].sentence))
			fail_msg("%s: %s", spoils[i].what, said ? said : "accepted");
		assert_false(rfm_shm_is_open(&rx));
		for (int fd = 0; fd < RFM_SHM_FDS; fd++)
			assert_int_equal(fcntl(fds[fd], F_GETFD), -1);	/* closed */
		rfm_shm_close(&tx);
	}
}

/* --- peers that change their mind ----------------------------------------- */

/* A byte for every wake-up that fits, as a peer sends them that wakes without end. */
static void flood(int fd)
{
	while (send(fd, "", 1, MSG_DONTWAIT) == 1)
		;
	assert_int_equal(errno, EAGAIN);
}

/*
 * The other side holds all ends, lets calls wait (as QEMU's chardev does with
 * descriptors that it takes in), and has sent as many wake-ups as there is
 * room for. Were anything here to wait, it would be for ever, and the alarm
 * ends the test.
 */
static void wake_ups_never_block(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	alarm(20);
	make_pair(&tx, &rx, 8);
	flood(tx.fds[DATA]);
	flood(rx.fds[ROOM]);
	for (int i = DATA; i <= ROOM; i++) {
		fcntl(tx.fds[i], F_SETFL, 0);
		fcntl(rx.fds[i], F_SETFL, 0);
	}
	assert_true(rfm_shm_wait_data(&rx));
	while (put(&tx, 0))
		;
	assert_true(rfm_shm_wait_room(&tx, 1));		/* wakes the consumer */
	for (int i = 0; i < 8; i++)
		assert_takes(&rx, 0);
	rfm_shm_release(&rx);				/* wakes the producer */
	assert_true(readable(rx.fds[DATA], 0));
	assert_true(readable(tx.fds[ROOM], 0));
	while (readable(rx.fds[DATA], 0))
		rfm_shm_awake(&rx, false);
	while (readable(tx.fds[ROOM], 0))
		rfm_shm_awake(&tx, true);
	rfm_shm_awake(&rx, false);			/* there is none */
	rfm_shm_awake(&tx, true);
	alarm(0);
	close_pair(&tx, &rx);
}

/* However many wake-ups come, each costs one call. */
static void one_wake_up_a_time(void **state)
{
	struct rfm_shm tx, rx;
	unsigned int before;

	(void)state;
	make_pair(&tx, &rx, 8);
	flood(tx.fds[DATA]);
	before = wake_ups(rx.fds[DATA]);
	flood(tx.fds[DATA]);
	rfm_shm_awake(&rx, false);
	assert_int_equal(wake_ups(rx.fds[DATA]), before - 1);
	close_pair(&tx, &rx);
}

/* Who has gone does not wake the other for ever. */
static void no_wake_up_of_the_dead(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_true(rfm_shm_wait_data(&rx));
	rfm_shm_close(&tx);
	assert_false(readable(rx.fds[DATA], 0));
	rfm_shm_awake(&rx, false);
	rfm_shm_close(&rx);

	make_pair(&tx, &rx, 8);
	rfm_shm_close(&rx);
	assert_false(readable(tx.fds[ROOM], 0));
	rfm_shm_close(&tx);
}

static void impossible_tail(void **state)
{
	/* Taken: 5; seen: 5. Of 8 slots 3 are not given back. */
	static const uint32_t tails[] = { 4, 0, 14, 1000, 1u << 31, UINT32_MAX };
	uint8_t slot[RFM_UNIT_MAX];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(tails); i++) {
		struct rfm_shm tx, rx;

		make_pair(&tx, &rx, 8);
		for (int n = 0; n < 5; n++)
			put(&tx, n);
		rfm_shm_publish(&tx);
		for (int n = 0; n < 5; n++)
			assert_takes(&rx, n);
		rfm_shm_release(&rx);
		set32(rx.fds, AT_TAIL, tails[i]);
		assert_true(rfm_shm_pending(&rx));
		assert_int_equal(rfm_shm_take(&rx, slot), -1);
		set32(rx.fds, AT_TAIL, 6);		/* once is enough */
		assert_int_equal(rfm_shm_take(&rx, slot), -1);
		assert_true(rfm_shm_pending(&rx));
		assert_false(rfm_shm_wait_data(&rx));
		rfm_shm_release(&rx);
		close_pair(&tx, &rx);
	}
}

/* A tail that would be right had the slots been given back, which they are not. */
static void tail_over_kept_slots(void **state)
{
	struct rfm_shm tx, rx;
	uint8_t slot[RFM_UNIT_MAX];

	(void)state;
	make_pair(&tx, &rx, 8);
	for (int n = 0; n < 5; n++)
		put(&tx, n);
	rfm_shm_publish(&tx);
	for (int n = 0; n < 5; n++)
		assert_takes(&rx, n);
	set32(rx.fds, AT_TAIL, 9);
	assert_int_equal(rfm_shm_take(&rx, slot), -1);
	close_pair(&tx, &rx);
}

static void impossible_head(void **state)
{
	/* Shown: 12, given back: 4. */
	static const uint32_t heads[] = { 3, 13, 0, 1u << 31, UINT32_MAX };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(heads); i++) {
		struct rfm_shm tx, rx;
		uint64_t in = 0;

		make_pair(&tx, &rx, 8);
		while (put(&tx, in))
			in++;
		rfm_shm_publish(&tx);
		for (int n = 0; n < 4; n++)
			assert_takes(&rx, n);
		rfm_shm_release(&rx);
		while (put(&tx, in))
			in++;
		assert_int_equal(in, 12);
		rfm_shm_publish(&tx);
		set32(tx.fds, AT_HEAD, heads[i]);
		assert_null(rfm_shm_reserve(&tx, 1));
		assert_true(tx.broken);
		assert_false(rfm_shm_wait_room(&tx, 1));
		set32(tx.fds, AT_HEAD, 12);
		assert_null(rfm_shm_reserve(&tx, 1));
		close_pair(&tx, &rx);
	}
}

/* Nor can the consumer have taken what was not shown. */
static void head_before_publish(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 8);
	put(&tx, 0);
	rfm_shm_publish(&tx);
	for (int n = 1; n < 8; n++)
		assert_true(put(&tx, n));
	set32(tx.fds, AT_HEAD, 2);
	assert_null(rfm_shm_reserve(&tx, 1));
	assert_true(tx.broken);
	close_pair(&tx, &rx);
}

/* Garbage in the shared pages, all the time: neither side leaves its slots, or hangs. */
static void garbage_everywhere(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct rfm_shm tx, rx;
		uint8_t slot[RFM_UNIT_MAX], page[2 * SLOTS_AT];

		make_pair(&tx, &rx, 32);
		for (int step = 0; step < 20; step++) {
			uint32_t at = test_random(&seed) % (sizeof(page) / 4) * 4;

			set32(tx.fds, at < 2048 ? at % 640 : at, test_random(&seed) >>
			      test_random(&seed) % 32);
			for (int n = test_random(&seed) % 40; n && put(&tx, n); n--)
				;
			rfm_shm_publish(&tx);
			for (int n = test_random(&seed) % 40; n && rfm_shm_take(&rx, slot) > 0; n--)
				;
			rfm_shm_release(&rx);
			rfm_shm_wait_room(&tx, 1);
			rfm_shm_wait_data(&rx);
		}
		close_pair(&tx, &rx);
	}
}

/* The death of the other side is told by the socket; here it only must not hurt. */
static void peer_has_gone(void **state)
{
	struct rfm_shm tx, rx;
	uint8_t slot[RFM_UNIT_MAX];
	uint64_t in = 0;

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_true(rfm_shm_wait_data(&rx));
	rfm_shm_close(&rx);
	while (put(&tx, in))
		in++;
	rfm_shm_publish(&tx);
	assert_int_equal(in, 8);
	assert_true(rfm_shm_wait_room(&tx, 1));
	rfm_shm_close(&tx);

	make_pair(&tx, &rx, 8);
	put(&tx, 0);
	rfm_shm_publish(&tx);
	rfm_shm_close(&tx);
	assert_takes(&rx, 0);
	assert_int_equal(rfm_shm_take(&rx, slot), 0);
	assert_true(rfm_shm_wait_data(&rx));
	rfm_shm_close(&rx);
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
		cmocka_unit_test(only_used_pages),
		cmocka_unit_test(bad_sizes),
		cmocka_unit_test(threads_lose_no_wake_up),
		cmocka_unit_test(moment_consumer_sleeps),
		cmocka_unit_test(moment_producer_waits),
		cmocka_unit_test(refused),
		cmocka_unit_test(wake_ups_never_block),
		cmocka_unit_test(one_wake_up_a_time),
		cmocka_unit_test(no_wake_up_of_the_dead),
		cmocka_unit_test(impossible_tail),
		cmocka_unit_test(tail_over_kept_slots),
		cmocka_unit_test(impossible_head),
		cmocka_unit_test(head_before_publish),
		cmocka_unit_test(garbage_everywhere),
		cmocka_unit_test(peer_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
