// SPDX-License-Identifier: MIT
/*
 * Operations at one node, of two processes whose rings are moved by a thread,
 * as programs have them.
 */
#include "rmbench.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/host/rfmring.h"
#include "tools/common/clock.h"

#define NODES		2
#define MEMORY		(64u << 20)	/* bytes, of either node */
#define BLOCK		(1u << 20)
#define LIMIT_MS	20000
#define STORE_EACH_NS	10000u		/* the stores whose time is taken do not fill the ring */
#define SAMPLES		(1u << 20)

struct run {
	enum bench_operation what;
	double seconds;
	char dir[32];
};

struct pair {
	struct bench_shared *shared;
	struct rfmring *ring;
	_Atomic bool stop;
};

static uint8_t block[BLOCK];

static void check(struct bench_shared *shared, int failed, const char *what)
{
	if (failed)
		bench_fail(shared, "%s: %s", what, strerror(errno));
}

static struct rfmring *open_node(struct bench_shared *shared, const struct run *run,
				 unsigned int index)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	struct rfmring_state state = { .size = sizeof(state) };
	uint64_t limit = now_ns() + LIMIT_MS * 1000000ull;
	char rx[64], tx[64], error[128];
	struct rfmring *ring;

	snprintf(rx, sizeof(rx), "unix:%s/%u,server", run->dir, index);
	snprintf(tx, sizeof(tx), "unix:%s/%u", run->dir, (index + 1) % NODES);
	config.id = index;
	config.memory_size = MEMORY;
	config.rx = rx;
	config.tx = tx;
	config.stall_ms = 10000;
	ring = rfmring_open(&config, error, sizeof(error));
	if (!ring)
		bench_fail(shared, "node %u: %s", index, error);
	check(shared, rfmring_start(ring), "a thread");
	check(shared, rfmring_export(ring, 0, MEMORY, RFMRING_MAY_READ | RFMRING_MAY_WRITE |
				     (index ? RFMRING_HOME : 0)), "rights");
	while (rfmring_members(ring, NULL, 0) != NODES - 1 || state.ring_open || !state.signal) {
		if (now_ns() > limit)
			bench_fail(shared, "the ring did not close");
		usleep(1000);
		check(shared, rfmring_get_state(ring, &state), "the state");
	}
	return ring;
}

/* So many units more have been done. */
static uint64_t do_once(struct pair *pair, enum bench_operation what)
{
	struct rfmring *ring = pair->ring;
	uint64_t word;

	switch (what) {
	case BENCH_READ:
		check(pair->shared, rfmring_get(ring, 1, 64, &word, sizeof(word), LIMIT_MS), "a READ");
		return 1;
	case BENCH_CAS:
		check(pair->shared, rfmring_cas64(ring, 1, 64, 0, 0, &word, LIMIT_MS), "a CAS");
		return 1;
	case BENCH_RESYNC:
		check(pair->shared, rfmring_resync(ring, 1, NULL, LIMIT_MS), "a resync");
		break;
	default:
		for (uint64_t at = 0; at < MEMORY; at += BLOCK)
			check(pair->shared, rfmring_write(ring, at, block, BLOCK), "a write");
		check(pair->shared, rfmring_fence(ring, NULL, LIMIT_MS), "a fence");
		break;
	}
	return MEMORY / BLOCK;
}

static void whole_slice(struct pair *pair, const struct run *run, int slice)
{
	uint64_t start = now_ns(), units = 0, now;

	do {
		units += do_once(pair, run->what);
		now = now_ns();
	} while (now - start < run->seconds * 1e9 / BENCH_SLICES);
	pair->shared->units[slice] = units;
	pair->shared->ns[slice] = now - start;
}

/* --- stores beside something else ------------------------------------------------------ */

static void *send_blocks(void *opaque)
{
	struct pair *pair = opaque;

	while (!atomic_load(&pair->stop))
		check(pair->shared, rfmring_put(pair->ring, 1, BLOCK, block, BLOCK, LIMIT_MS), "a put");
	return NULL;
}

static void *write_blocks(void *opaque)
{
	struct pair *pair = opaque;

	while (!atomic_load(&pair->stop))
		check(pair->shared, rfmring_write(pair->ring, BLOCK, block, BLOCK), "a write");
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* One unit: what one store in a hundred takes longer than. */
static void percentile_slice(struct pair *pair, const struct run *run, uint32_t *samples, int slice)
{
	uint64_t start = now_ns(), next = start, before, after = start;
	unsigned int count = 0;

	while (count < SAMPLES && after - start < run->seconds * 1e9 / BENCH_SLICES) {
		do
			before = now_ns();
		while (before < next);
		next = before + STORE_EACH_NS;
		check(pair->shared, rfmring_store32(pair->ring, 0, count), "a store");
		after = now_ns();
		samples[count++] = after - before < UINT32_MAX ? after - before : UINT32_MAX;
	}
	qsort(samples, count, sizeof(*samples), by_size);
	pair->shared->units[slice] = 1;
	pair->shared->ns[slice] = samples[(uint64_t)count * 99 / 100];
}

static void measure_stores(struct pair *pair, const struct run *run)
{
	uint32_t *samples = malloc(SAMPLES * sizeof(*samples));
	pthread_t thread;

	check(pair->shared, !samples, "room for the times of stores");
	errno = pthread_create(&thread, NULL, run->what == BENCH_STORE_BESIDE_PACKETS ? send_blocks :
			       write_blocks, pair);
	check(pair->shared, errno, "a thread");
	for (int slice = 0; slice < BENCH_SLICES; slice++)
		percentile_slice(pair, run, samples, slice);
	atomic_store(&pair->stop, true);
	pthread_join(thread, NULL);
	free(samples);
}

/* --- a measurement -------------------------------------------------------------------------- */

static void member(struct bench_shared *shared, unsigned int index, void *opaque)
{
	const struct run *run = opaque;
	struct pair pair = { .shared = shared, .ring = open_node(shared, run, index) };

	bench_ready(shared, NODES);
	if (index)
		for (;;)
			pause();
	if (run->what == BENCH_STORE_BESIDE_PACKETS || run->what == BENCH_STORE_BESIDE_BULK)
		measure_stores(&pair, run);
	else
		for (int slice = 0; slice < BENCH_SLICES; slice++)
			whole_slice(&pair, run, slice);
}

double bench_remote(enum bench_operation what, double seconds, char *sentence)
{
	struct run run = { .what = what, .seconds = seconds, .dir = "/tmp/rmbench-XXXXXX" };
	struct bench_team team = { member, &run, NODES };
	char path[64];
	double result;

	if (!mkdtemp(run.dir))
		return bench_why(sentence, "cannot make a directory for sockets in /tmp: %s",
				 strerror(errno));
	result = bench_run(&team, sentence);
	for (unsigned int i = 0; i < NODES; i++) {
		snprintf(path, sizeof(path), "%s/%u", run.dir, i);
		unlink(path);
	}
	rmdir(run.dir);
	return result;
}
