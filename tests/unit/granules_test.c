// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/frame.h"
#include "ring/util/granules.h"

#define MIB	(1u << 20)

static bool is_on_at_reset(unsigned int plane)
{
	return plane == RFM_GRANULES_RX || plane == RFM_GRANULES_TX;
}

static void as_at_reset(const struct rfm_granules *g, uint64_t size)
{
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++) {
		bool on = is_on_at_reset(plane), run;

		assert_false(rfm_granules_is_changed(g, plane));
		assert_int_equal(g->changed[plane], 0);
		assert_int_equal(rfm_granules_get(g, plane, 0), on);
		assert_int_equal(rfm_granules_get(g, plane, g->count - 1), on);
		assert_int_equal(rfm_granules_run(g, plane, 0, size, &run), size);
		assert_int_equal(run, on);
		assert_int_equal(rfm_granules_any(g, plane, size - 1, 1), on);
	}
}

static void sizes(void **state)
{
	static const uint64_t good[] = {
		1, 63, 64, 65, 64 * 31, 64 * 32, 64 * 33, 4096, 64 * MIB, 256 * MIB,
	};
	static const uint64_t bad[] = { 0, 256ull * MIB + 1, 1ull << 32, UINT64_MAX };
	struct rfm_granules g;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(rfm_granules_init(&g, good[i]), 0);
		assert_int_equal(g.count, (good[i] + 63) / 64);
		as_at_reset(&g, good[i]);
		rfm_granules_destroy(&g);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&g, 0xee, sizeof(g));
		errno = 0;
		assert_int_equal(rfm_granules_init(&g, bad[i]), -1);
		assert_int_equal(errno, EINVAL);
		rfm_granules_destroy(&g);
	}
}

/* --- against a model ------------------------------------------------------ */

struct model {
	struct rfm_granules g;
	uint64_t size, seed;
	bool *on[RFM_GRANULES_PLANES];
};

static uint32_t below(struct model *m, uint32_t limit)
{
	return test_random(&m->seed) % limit;
}

/* Often on the edge of a word, where mistakes are. */
static uint32_t pick(struct model *m, uint32_t limit)
{
	uint32_t n = below(m, limit);

	if (below(m, 2))
		n = (n + 16) / 32 * 32 + below(m, 3) - 1;
	return n < limit ? n : limit - 1;
}

static void model_reset(struct model *m)
{
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++)
		for (uint32_t i = 0; i < m->g.count; i++)
			m->on[plane][i] = is_on_at_reset(plane);
}

static void change(struct model *m)
{
	unsigned int plane = below(m, RFM_GRANULES_PLANES);
	uint32_t first = pick(m, m->g.count);
	uint32_t count = below(m, 4) ? 1 + pick(m, m->g.count - first) : below(m, 2);
	bool on = below(m, 2);

	rfm_granules_set(&m->g, plane, first, count, on);
	for (uint32_t i = 0; i < count; i++)
		m->on[plane][first + i] = on;
}

static void check_plane(struct model *m, unsigned int plane)
{
	const bool *on = m->on[plane];
	uint32_t changed = 0, word = 0;

	for (uint32_t i = 0; i < m->g.count; i++) {
		assert_int_equal(rfm_granules_get(&m->g, plane, i), on[i]);
		changed += on[i] != is_on_at_reset(plane);
		word |= (uint32_t)on[i] << i % 32;
		if (i % 32 != 31 && i + 1 != m->g.count)
			continue;
		assert_int_equal(rfm_granules_word(&m->g, plane, i), word);
		assert_int_equal(rfm_granules_word(&m->g, plane, i / 32 * 32), word);
		word = 0;
	}
	assert_int_equal(rfm_granules_word(&m->g, plane, (m->g.count + 31) / 32 * 32), 0);
	assert_int_equal(rfm_granules_word(&m->g, plane, UINT32_MAX), 0);
	assert_int_equal(m->g.changed[plane], changed);
	assert_int_equal(rfm_granules_is_changed(&m->g, plane), !!changed);
}

/* A store, mostly as small as stores are. */
static void ask(struct model *m)
{
	unsigned int plane = below(m, RFM_GRANULES_PLANES);
	uint32_t offset = below(m, 2) ? below(m, m->size) : pick(m, m->g.count) * 64;
	uint32_t left = m->size - offset;
	unsigned int len = 1 + below(m, below(m, 8) && left > 64 ? 64 : left);
	const bool *on = m->on[plane];
	unsigned int run = 1;
	bool got, any = false;

	while (run < len && on[(offset + run) / 64] == on[offset / 64])
		run++;
	for (uint32_t at = offset; at < offset + len; at++)
		any |= on[at / 64];
	assert_int_equal(rfm_granules_run(&m->g, plane, offset, len, &got), run);
	assert_int_equal(got, on[offset / 64]);
	assert_int_equal(rfm_granules_any(&m->g, plane, offset, len), any);
}

static void compare(uint64_t size, uint64_t seed)
{
	struct model m = { .size = size, .seed = seed };

	assert_int_equal(rfm_granules_init(&m.g, size), 0);
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++) {
		m.on[plane] = calloc(m.g.count, sizeof(bool));
		assert_non_null(m.on[plane]);
	}
	model_reset(&m);
	for (int step = 0; step < 2000; step++) {
		change(&m);
		if (!below(&m, 100)) {
			rfm_granules_reset(&m.g);
			model_reset(&m);
			as_at_reset(&m.g, size);
		}
		for (int i = 0; i < 10; i++)
			ask(&m);
		if (!(step % 10))
			for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++)
				check_plane(&m, plane);
	}
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++)
		free(m.on[plane]);
	rfm_granules_destroy(&m.g);
}

static void as_the_model_says(void **state)
{
	static const uint64_t sizes[] = { 1, 64, 100, 31 * 64, 32 * 64, 33 * 64 - 1, 300 * 64 + 5 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		compare(sizes[i], 1 + i);
}

/* --- what it costs -------------------------------------------------------- */

static size_t resident(const struct rfm_granules *g)
{
	size_t pages = g->count / 8 * RFM_GRANULES_PLANES / 4096, there = 0;
	unsigned char *map = calloc(pages, 1);

	assert_non_null(map);
	assert_int_equal(mincore((void *)g->words[0], pages * 4096, map), 0);
	for (size_t i = 0; i < pages; i++)
		there += map[i] & 1;
	free(map);
	return there;
}

/* Memory of its own that this process has; a page of zeroes that was only read is none. */
static long own_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = -1;

	assert_non_null(file);
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %ld kB", &kib) != 1)
			kib = -1;
	fclose(file);
	assert_true(kib >= 0);
	return kib;
}

/* Not every kernel has a page of zeroes for all who only read. */
static bool reading_takes_memory(void)
{
	long before = own_kib();
	volatile char *fresh = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool takes;

	assert_ptr_not_equal(fresh, MAP_FAILED);
	for (size_t i = 0; i < MIB; i += 4096)
		assert_int_equal(fresh[i], 0);
	takes = own_kib() - before > 512;
	munmap((void *)fresh, MIB);
	return takes;
}

/* The planes of the largest memory take 2.5 MiB, of which only what is changed is there. */
static void untouched_planes_take_no_memory(void **state)
{
	struct rfm_granules g;
	long before;
	bool on;

	(void)state;
	assert_int_equal(rfm_granules_init(&g, 256 * MIB), 0);
	assert_int_equal(resident(&g), 0);
	rfm_granules_set(&g, RFM_GRANULES_RX, 0, g.count, true);
	rfm_granules_set(&g, RFM_GRANULES_WATCH, 0, g.count, false);
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++)
		rfm_granules_run(&g, plane, 0, 256 * MIB, &on);
	rfm_granules_reset(&g);
	assert_int_equal(resident(&g), 0);
	/* One changed granule of each plane; looking for it finds pages of zeroes. */
	before = own_kib();
	for (unsigned int plane = 0; plane < RFM_GRANULES_PLANES; plane++) {
		rfm_granules_set(&g, plane, g.count / 2, 1, !is_on_at_reset(plane));
		assert_int_equal(rfm_granules_run(&g, plane, 0, 256 * MIB, &on), 128 * MIB);
	}
	rfm_granules_reset(&g);
	as_at_reset(&g, 256 * MIB);
	/* Five pages, or a huge one of 2 MiB: not the 2.5 MiB that there are. */
	if (reading_takes_memory())
		print_message("# on this kernel reading takes memory: it is not known who has taken it\n");
	else
		assert_true(own_kib() - before < 2300);
	rfm_granules_destroy(&g);
}

/* --- a reader beside the changes ------------------------------------------ */

#define SHARED		4096	/* granules */
#define SIGHTINGS	20000

struct shared {
	struct rfm_granules g;
	_Atomic unsigned int sightings;	/* times that the reader saw a change */
	_Atomic bool wrong;
};

/* Even granules never change: whatever happens beside them, they read as ever. */
static bool look(const struct rfm_granules *g, uint32_t first, bool *odd)
{
	uint32_t word = rfm_granules_word(g, RFM_GRANULES_RX, first);
	bool on, good = (word & 0x55555555) == 0x55555555;

	/* From an even one to the odd one behind it, at least 64 bytes are on. */
	good &= rfm_granules_run(g, RFM_GRANULES_RX, first * 64, 128, &on) >= 64 && on;
	good &= rfm_granules_any(g, RFM_GRANULES_RX, first * 64, 64);
	good &= rfm_granules_get(g, RFM_GRANULES_RX, first);
	/* In this plane they are always off. */
	good &= !(rfm_granules_word(g, RFM_GRANULES_WATCH, first) & 0x55555555);
	good &= !rfm_granules_any(g, RFM_GRANULES_WATCH, first * 64, 64);
	*odd = word >> 31;
	return good;
}

static void *read_beside(void *opaque)
{
	struct shared *shared = opaque;
	bool last[SHARED / 32] = { 0 }, odd;

	while (shared->sightings < SIGHTINGS && !shared->wrong) {
		for (uint32_t first = 0; first < SHARED; first += 32) {
			if (!look(&shared->g, first, &odd))
				shared->wrong = true;
			if (odd != last[first / 32])
				shared->sightings++;
			last[first / 32] = odd;
		}
	}
	return NULL;
}

static void a_reader_sees_only_what_changes_change(void **state)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	pthread_t reader;
	bool on = false;

	(void)state;
	assert_non_null(shared);
	assert_int_equal(rfm_granules_init(&shared->g, SHARED * 64), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_beside, shared), 0);
	while (shared->sightings < SIGHTINGS && !shared->wrong) {
		for (uint32_t granule = 1; granule < SHARED; granule += 2) {
			rfm_granules_set(&shared->g, RFM_GRANULES_RX, granule, 1, on);
			rfm_granules_set(&shared->g, RFM_GRANULES_WATCH, granule, 1, !on);
		}
		on = !on;
	}
	pthread_join(reader, NULL);
	assert_false(shared->wrong);
	rfm_granules_destroy(&shared->g);
	free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(as_the_model_says),
		cmocka_unit_test(untouched_planes_take_no_memory),
		cmocka_unit_test(a_reader_sees_only_what_changes_change),
	};

	return cmocka_run_group_tests_name("granules", tests, NULL, NULL);
}
