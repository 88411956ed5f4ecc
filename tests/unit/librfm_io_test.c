// SPDX-License-Identifier: MIT
/* Per-cycle I/O: lists of values, and cycles. links: tools/librfm ring/host tests/unit/rings.c */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"
#include "tests/unit/nodes.h"

#include <endian.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/librfm/rfm/cycle.h"
#include "tools/librfm/rfm/io.h"

/* Of the sanitizers' library, whose header gcc's package leaves out. */
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
					      void (*freed)(const volatile void *));

#define MS	1000000ull

static const char text[] =
	"rfm-regions: 1\n"
	"types:\n"
	"  drive:\n"
	"    fields:\n"
	"      torque: {offset: 0, type: float}\n"
	"      speed: {offset: 4, type: int16, scale: 0.5}\n"
	"regions:\n"
	"  drives: {offset: 0x100, type: drive, count: 2}\n"
	"  count: {offset: 0x18, type: uint64, byte-order: big}\n"
	"  level: {offset: 0x20, type: uint8}\n"
	"  name: {offset: 0x30, type: char, count: 8}\n"
	"  crooked: {offset: 0x41, type: uint32}\n"
	"  beyond: {offset: 0x100000, type: uint32}\n"
	"  first: {offset: 0x1000, type: double, count: 20}\n"
	"  second: {offset: 0x2000, type: double, count: 20}\n"
	"  third: {offset: 0x3000, type: double, count: 20}\n";

static struct rfm_regions *regions;
static char refusal[400];

static void note(void *context, const struct rfm_regions_complaint *complaint)
{
	snprintf(refusal, sizeof(refusal), "%s:%u: %s", complaint->path, complaint->line,
		 complaint->sentence);
}

static struct rfm_io *list(struct rfm *rfm, const char *const *names, size_t count)
{
	struct rfm_io *io = rfm_io_open(rfm, regions, names, count, note, NULL);

	if (!io)
		fail_msg("%s", refusal);
	return io;
}

static void load_regions(void)
{
	regions = rfm_regions_parse("test", text, strlen(text), NULL, NULL);
	assert_non_null(regions);
}

/* --- values ---------------------------------------------------------------------------- */

static void a_name_stands_for_all_its_values(void **state)
{
	static const char *const names[] = { "level", "drives", "count" };
	static const char *const expected[] = {
		"level", "drives[0].torque", "drives[0].speed", "drives[1].torque",
		"drives[1].speed", "count",
	};
	const double put[] = { 200, 1.5, -7.5, 2.5, 3, 1e15 };
	double got[6], changed[6];
	struct rfm_io *here, *there;
	uint64_t word;
	uint16_t half;

	open_pair();
	load_regions();
	here = list(near, names, 3);
	there = list(far, names, 3);
	assert_int_equal(rfm_io_count(here), 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(rfm_io_name(here, i), expected[i]);
	assert_null(rfm_io_name(here, 6));
	assert_null(rfm_io_place(here, 6));
	assert_int_equal(rfm_io_place(here, 4)->offset, 0x10c);

	assert_int_equal(rfm_io_put(here, put, 0), 6);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_io_get(there, got), 0);
	assert_memory_equal(got, put, sizeof(put));
	assert_int_equal(rfm_load16(far, 0x104, &half), 0);
	assert_int_equal(half, 0x10000 - 15);
	assert_int_equal(rfm_load64(far, 0x18, &word), 0);
	assert_int_equal(be64toh(word), 1000000000000000);

	/* What this list put there last counts, whoever has written since. */
	memcpy(changed, put, sizeof(put));
	assert_int_equal(rfm_io_put(here, changed, RFM_IO_CHANGED), 0);
	changed[3] = 4.5;
	assert_int_equal(rfm_io_put(there, changed, RFM_IO_CHANGED), 6);
	assert_int_equal(rfm_fence(far, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_io_put(here, put, RFM_IO_CHANGED), 0);
	assert_int_equal(rfm_io_put(here, changed, RFM_IO_CHANGED), 1);
	assert_int_equal(rfm_io_put(here, changed, 0), 6);

	/* Nothing is stored if not all of it can be. */
	changed[0] = 7;
	changed[2] = 1e9;
	assert_int_equal(rfm_io_put(here, changed, 0), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(rfm_io_failed(here), 2);
	assert_int_equal(rfm_io_put(here, put, 2), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rfm_io_get(here, got), 0);
	assert_true(got[0] == 200 && got[3] == 4.5);
	rfm_io_close(here);
	rfm_io_close(there);
	rfm_regions_free(regions);
	close_pair();
}

static void what_cannot_be_listed(void **state)
{
	static const struct {
		const char *name;
		int error;
		const char *sentence;
	} rows[] = {
		{ "nobody", ENOENT, "nobody" },
		{ "drives[2]", ERANGE, "drives" },
		{ "name", EINVAL, "test:11: name is no number" },
		{ "crooked", EINVAL, "test:12: crooked is no number" },
		{ "beyond", EINVAL, "test:13: beyond is no number" },
	};

	open_pair();
	load_regions();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *names[] = { "level", rows[i].name };

		refusal[0] = '\0';
		assert_null(rfm_io_open(near, regions, names, 2, note, NULL));
		assert_int_equal(errno, rows[i].error);
		assert_non_null(strstr(refusal, rows[i].sentence));
		assert_null(rfm_io_open(near, regions, names, 2, NULL, NULL));
	}
	/* The file that is the default one. */
	setenv("RFM_REGIONS", "/none", 1);
	assert_null(rfm_io_open(near, NULL, NULL, 0, NULL, NULL));
	assert_int_equal(errno, ENOENT);
	unsetenv("RFM_REGIONS");
	rfm_io_close(NULL);
	rfm_regions_free(regions);
	close_pair();
}

/* --- cycles ---------------------------------------------------------------------------- */

static void on_alarm(int signo)
{
}

/* However late this process is: the numbers follow the time, and each that was missed counts. */
static void cycles_by_time(void **state)
{
	struct rfm_cycle cycle = { .period_ns = 2 * MS }, before;
	const struct itimerval soon = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	const struct itimerval never = { };
	const struct sigaction action = { .sa_handler = on_alarm };
	uint64_t first, seen = 0, missed;

	assert_int_equal(rfm_cycle_wait(&cycle, NULL), 0);
	assert_true(cycle.number == 1 && cycle.missed == 0);
	first = cycle.begin_ns;
	for (seen = 1; seen < 20; seen++) {
		if (seen == 10)
			usleep(11000);
		missed = cycle.missed;
		assert_int_equal(rfm_cycle_wait(&cycle, NULL), 0);
		assert_int_equal(cycle.number, seen + 1 + cycle.missed);
		assert_int_equal(cycle.begin_ns, first + (cycle.number - 1) * 2 * MS);
		assert_true(cycle.begin_ns + cycle.late_ns <= now_ns());
		if (seen == 10)
			assert_true(cycle.missed >= missed + 4);
	}

	/* A signal ends the wait, not the cycle. */
	cycle = (struct rfm_cycle){ .period_ns = 3600000 * MS };
	assert_int_equal(rfm_cycle_wait(&cycle, NULL), 0);
	before = cycle;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(rfm_cycle_wait(&cycle, NULL), -1);
	assert_int_equal(errno, EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_memory_equal(&cycle, &before, sizeof(cycle));

	cycle = (struct rfm_cycle){ .period_ns = UINT64_MAX };
	assert_int_equal(rfm_cycle_wait(&cycle, NULL), -1);
	assert_int_equal(errno, EINVAL);
	cycle = (struct rfm_cycle){ };
	assert_int_equal(rfm_cycle_wait(&cycle, NULL), -1);
	assert_int_equal(errno, EINVAL);
	cycle = (struct rfm_cycle){ .period_ns = MS, .reserved[1] = 1 };
	assert_int_equal(rfm_cycle_wait(&cycle, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

static void cycles_by_events(void **state)
{
	struct rfm_range range = { .offset = 0x100, .length = 8 };
	struct rfm_cycle cycle = { }, patient = { .period_ns = MS };
	struct rfm_events *source;
	struct rfm_watch watch;

	open_pair();
	rfm_watch_init(&watch, &range, 1);
	watch.depth = 4;
	watch.silence_ns = MS;
	source = rfm_watch_with(near, &watch);
	assert_non_null(source);

	put(far, 0x100, 1);
	assert_int_equal(rfm_cycle_wait(&cycle, source), 0);
	assert_int_equal(cycle.number - cycle.missed, 1);
	assert_true(cycle.begin_ns + cycle.late_ns <= now_ns());
	/* All that have come are one cycle now; more than the queue holds are missed, too. */
	rfm_events_close(source);
	watch.silence_ns = 0;
	source = rfm_watch_with(near, &watch);
	cycle = (struct rfm_cycle){ };
	for (uint64_t i = 0; i < 3; i++)
		put(far, 0x100, i);
	assert_int_equal(rfm_cycle_wait(&cycle, source), 0);
	assert_true(cycle.number == 3 && cycle.missed == 2);
	assert_true(cycle.type == RFM_EVENT_UPDATE && cycle.node == 2);
	for (uint64_t i = 0; i < 9; i++)
		put(far, 0x100, i);
	put(far, 0x200, 0);
	assert_int_equal(rfm_cycle_wait(&cycle, source), 0);
	put(far, 0x100, 10);
	assert_int_equal(rfm_cycle_wait(&cycle, source), 0);
	assert_true(cycle.number == 13 && cycle.missed == 10);

	/* A cancel while a wait takes more than it asks for is for the next. */
	for (uint64_t i = 0; i < 4; i++)
		put(far, 0x100, i);
	assert_int_equal(rfm_events_cancel(source), 0);
	assert_int_equal(rfm_cycle_wait(&cycle, source), -1);
	assert_int_equal(errno, ECANCELED);
	assert_int_equal(rfm_cycle_wait(&cycle, source), 0);
	assert_int_equal(cycle.number, 17);

	/* None in time; the next one that comes has the next number. */
	patient.number = cycle.number;
	patient.seq = cycle.seq;
	assert_int_equal(rfm_cycle_wait(&patient, source), -1);
	assert_int_equal(errno, ETIMEDOUT);
	put(far, 0x100, 11);
	patient.period_ns = 0;
	assert_int_equal(rfm_cycle_wait(&patient, source), 0);
	assert_true(patient.number == 18 && patient.missed == 0);
	rfm_events_close(source);
	close_pair();
}

/* A silence, and its end, begin no cycle. */
static void a_silence_is_no_cycle(void **state)
{
	struct rfm_range range = { .offset = 0x100, .length = 8 };
	struct rfm_cycle cycle = { .period_ns = 50 * MS };
	struct rfm_events *source;
	struct rfm_watch watch;

	open_pair();
	rfm_watch_init(&watch, &range, 1);
	watch.silence_ns = MS;
	source = rfm_watch_with(near, &watch);
	assert_non_null(source);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(rfm_cycle_wait(&cycle, source), -1);
		assert_int_equal(errno, ETIMEDOUT);
		put(far, 0x100, i);
		assert_int_equal(rfm_cycle_wait(&cycle, source), 0);
		assert_true(cycle.number == i && cycle.missed == 0);
	}
	rfm_events_close(source);
	close_pair();
}

/* --- 40 inputs and 20 outputs at 1 kHz, on three nodes ------------------------------------ */

#define CYCLES	300

static _Thread_local volatile bool in_loop;
static unsigned int allocated;

static void count_allocation(const volatile void *address, size_t size)
{
	if (in_loop)
		__atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
}

static void ignore_free(const volatile void *address)
{
}

struct member {
	pthread_t thread;
	struct rfm *rfm;
	struct rfm_io *inputs, *outputs;
	double in[40], out[20];
	struct rfm_cycle cycle;
};

static void *loop(void *opaque)
{
	struct member *member = opaque;

	in_loop = true;
	for (int i = 0; i < CYCLES; i++) {
		if (rfm_cycle_wait(&member->cycle, NULL) || rfm_io_get(member->inputs, member->in))
			return "cannot get";
		for (int value = 0; value < 20; value++)
			member->out[value] = member->cycle.number * 100 + value;
		if (rfm_io_put(member->outputs, member->out, i % 2 ? RFM_IO_CHANGED : 0) != 20)
			return "cannot put";
	}
	in_loop = false;
	return NULL;
}

static void three_loops_allocate_nothing(void **state)
{
	static const char *const names[] = { "first", "second", "third" };
	static struct member members[3];
	void *volatile some;
	char node[600];

	load_regions();
	for (int i = 0; i < 3; i++) {
		const char *others[] = { names[(i + 1) % 3], names[(i + 2) % 3] };
		struct member *member = &members[i];

		snprintf(node, sizeof(node),
			 "ring:?rx=unix:%s/%d,server&tx=unix:%s/%d&node=%d&size=1M&stall-limit-ms=10000",
			 folder, i, folder, (i + 1) % 3, i + 1);
		member->rfm = rfm_open(node, O_RDWR);
		assert_non_null(member->rfm);
		member->inputs = list(member->rfm, others, 2);
		member->outputs = list(member->rfm, &names[i], 1);
		member->cycle.period_ns = MS;
	}
	for (int i = 0; i < 3; i++)
		wait_whole(members[i].rfm);
	assert_true(__sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&members[i].thread, NULL, loop, &members[i]), 0);
	for (int i = 0; i < 3; i++) {
		void *failed;

		pthread_join(members[i].thread, &failed);
		if (failed)
			fail_msg("%s", (char *)failed);
		assert_int_equal(members[i].cycle.number, CYCLES + members[i].cycle.missed);
	}
	assert_int_equal(allocated, 0);
	/* The hook does count. */
	in_loop = true;
	some = malloc(1);
	free(some);
	in_loop = false;
	assert_int_equal(allocated, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rfm_fence(members[i].rfm, PATIENCE_MS, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rfm_io_get(members[i].inputs, members[i].in), 0);
		for (int other = 0; other < 2; other++)
			assert_memory_equal(&members[i].in[20 * other],
					    members[(i + 1 + other) % 3].out, sizeof(members[i].out));
	}
	for (int i = 0; i < 3; i++) {
		rfm_io_close(members[i].inputs);
		rfm_io_close(members[i].outputs);
		rfm_close(members[i].rfm);
	}
	rfm_regions_free(regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(a_name_stands_for_all_its_values),
		ring_test(what_cannot_be_listed),
		ring_test(cycles_by_time),
		ring_test(cycles_by_events),
		ring_test(a_silence_is_no_cycle),
		ring_test(three_loops_allocate_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
