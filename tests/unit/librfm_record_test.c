// SPDX-License-Identifier: MIT
/* Records of librfm. links: tools/librfm ring/host tests/unit/rig.c */
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/rig.h"
#include "tools/librfm/rfm/rfm.h"

#define SIZE	100			/* bytes of data: several frames, the last word is not full */
#define WORDS	(RFM_RECORD_SIZE(SIZE) / 8)

struct record {
	uint64_t words[WORDS];
};

/* What write number @n has: every byte tells of it. */
static void fill(uint8_t *data, uint64_t n)
{
	for (int i = 0; i < SIZE; i++)
		data[i] = n * 37 + i;
}

static void write_number(struct record *record, uint64_t n)
{
	uint8_t data[SIZE];

	fill(data, n);
	assert_int_equal(rfm_record_write(record->words, data, SIZE), 0);
}

/* The record is, as a whole, that of the write that its number says. Returns the number. */
static uint64_t must_read(const struct record *record)
{
	uint8_t data[SIZE], want[SIZE];
	uint64_t sequence = 0;

	assert_int_equal(rfm_record_read(record->words, data, SIZE, &sequence), 0);
	fill(want, sequence);
	assert_memory_equal(data, want, SIZE);
	return sequence;
}

static void must_fail(const struct record *record, int error)
{
	uint64_t sequence = 4711;
	uint8_t data[SIZE];

	errno = 0;
	assert_int_equal(rfm_record_read(record->words, data, SIZE, &sequence), -1);
	assert_int_equal(errno, error);
	assert_int_equal(sequence, 4711);
}

static void every_size_comes_back_in_its_own_bytes(void **state)
{
	_Alignas(8) uint8_t memory[RFM_RECORD_SIZE(80) + 16], data[80], got[81];

	(void)state;
	for (size_t size = 1; size <= sizeof(data); size++) {
		size_t whole = RFM_RECORD_SIZE(size);

		memset(memory, 0, sizeof(memory));
		memset(memory, 0xee, 8);
		memset(memory + 8 + whole, 0xee, 8);
		for (uint64_t n = 1; n < 4; n++) {
			uint64_t sequence;

			for (size_t i = 0; i < size; i++)
				data[i] = n * 100 + i;
			assert_int_equal(rfm_record_write(memory + 8, data, size), 0);
			memset(got, 0xdd, sizeof(got));
			assert_int_equal(rfm_record_read(memory + 8, got, size, &sequence), 0);
			assert_memory_equal(got, data, size);
			assert_int_equal(got[size], 0xdd);
			assert_int_equal(sequence, n);
			assert_int_equal(rfm_record_read(memory + 8, got, size, NULL), 0);
		}
		for (int i = 0; i < 8; i++) {
			assert_int_equal(memory[i], 0xee);
			assert_int_equal(memory[8 + whole + i], 0xee);
		}
	}
}

static void bad_input_changes_nothing(void **state)
{
	static uint8_t large[RFM_RECORD_MAX + 1];
	struct record record = { 0 }, before = { 0 };
	const struct {
		uint8_t *record;
		size_t size;
	} cases[] = {
		{ NULL, 8 },
		{ (uint8_t *)record.words + 4, 8 },
		{ (uint8_t *)record.words + 1, 8 },
		{ (uint8_t *)record.words, 0 },
		{ (uint8_t *)record.words, RFM_RECORD_MAX + 1 },
		{ (uint8_t *)record.words, SIZE_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		errno = 0;
		assert_int_equal(rfm_record_write(cases[i].record, large, cases[i].size), -1);
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_int_equal(rfm_record_read(cases[i].record, large, cases[i].size, NULL), -1);
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(&record, &before, sizeof(record));
	}
	must_fail(&record, ENODATA);
}

/*
 * The layout is a contract with other programs: the words of this record were
 * worked out by hand (with another program) from librfm's manual page.
 */
static void the_layout_is_that_of_the_manual_page(void **state)
{
	static const uint8_t want[RFM_RECORD_SIZE(11)] = {
		0x42, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x72, 0x65, 0x66, 0x6c, 0x65, 0x63, 0x74, 0x69,
		0x76, 0x65, 0x21, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x09, 0x67, 0xd7, 0xb5, 0x42, 0x00, 0x00, 0x00,
	};
	_Alignas(8) uint8_t memory[RFM_RECORD_SIZE(11)] = { 0x41 };

	(void)state;
	assert_int_equal(rfm_record_write(memory, "reflective!", 11), 0);
	assert_memory_equal(memory, want, sizeof(want));
}

static void a_reader_of_another_size_gets_nothing(void **state)
{
	struct record record = { 0 };
	uint8_t data[SIZE];

	(void)state;
	write_number(&record, 1);
	for (size_t size = 1; size < SIZE; size++) {
		assert_int_equal(rfm_record_read(record.words, data, size, NULL), -1);
		assert_int_equal(errno, EAGAIN);
	}
}

/* A writer that stops after any number of its stores: nothing in between is taken for a record. */
static void a_torn_write_is_seen_at_every_store(void **state)
{
	struct record before = { 0 }, after, torn;

	(void)state;
	for (uint64_t n = 0; n < 3; n++) {
		after = before;
		write_number(&after, n + 1);
		for (int stored = 1; stored < WORDS; stored++) {
			torn = before;
			memcpy(&torn, &after, stored * sizeof(uint64_t));
			must_fail(&torn, EAGAIN);
			/* The writer was killed there, and another goes on. */
			write_number(&torn, n + 2);
			assert_int_equal(must_read(&torn), n + 2);
		}
		before = after;
		assert_int_equal(must_read(&before), n + 1);
	}
}

/* Some of the stores of a write never arrive: unreadable until the next write, then whole. */
static void a_lost_part_is_seen_and_mended(void **state)
{
	struct record before = { 0 }, after, got;

	(void)state;
	write_number(&before, 1);
	after = before;
	write_number(&after, 2);
	for (int first = 0; first < WORDS; first++) {
		for (int last = first; last < WORDS; last++) {
			got = after;
			memcpy(&got.words[first], &before.words[first],
			       (last - first + 1) * sizeof(uint64_t));
			if (first == 0 && last == WORDS - 1)
				assert_int_equal(must_read(&got), 1);
			else
				must_fail(&got, EAGAIN);
			write_number(&got, got.words[0] + 1);
			must_read(&got);
		}
	}
}

/* Small differences in the middle: a bit each in two words, signs only, words exchanged. */
static void small_losses_are_seen(void **state)
{
	_Alignas(8) uint8_t memory[RFM_RECORD_SIZE(64)] = { 0 };
	uint64_t *words = (uint64_t *)memory, data[8] = { 0 }, got[8];

	(void)state;
	assert_int_equal(rfm_record_write(memory, data, sizeof(data)), 0);
	for (int one = 1; one <= 8; one++) {
		for (int other = one + 1; other <= 8; other++) {
			for (int bit = 0; bit < 64; bit++) {
				words[one] ^= 1ull << bit;
				words[other] ^= 1ull << bit;
				assert_int_equal(rfm_record_read(memory, got, sizeof(got), NULL), -1);
				assert_int_equal(errno, EAGAIN);
				words[one] ^= 1ull << bit;
				words[other] ^= 1ull << bit;
			}
		}
	}
	for (int i = 0; i < 8; i++)
		data[i] = i;
	assert_int_equal(rfm_record_write(memory, data, sizeof(data)), 0);
	words[3] = 3;
	words[4] = 2;
	assert_int_equal(rfm_record_read(memory, got, sizeof(got), NULL), -1);
}

/* The number comes from the memory: it goes on with another writer, and never becomes 0. */
static void numbers_go_on(void **state)
{
	static const uint64_t numbers[] = { UINT64_MAX, 1, 2 };
	struct record record = { { UINT64_MAX - 1 } };
	uint8_t data[SIZE] = { 0 };
	uint64_t sequence;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_int_equal(rfm_record_write(record.words, data, SIZE), 0);
		assert_int_equal(rfm_record_read(record.words, data, SIZE, &sequence), 0);
		assert_true(sequence == numbers[i]);
	}
}

#define PAGE	4096

/*
 * A record of three pages: the first word is the end of one, the data fills the
 * next, the last word begins the third. The load that meets the protected page
 * is the moment at which the writer is made to go on.
 */
static struct {
	uint8_t *pages;
	uint64_t *record;
	uint64_t after[RFM_RECORD_SIZE(PAGE) / 8];	/* all words of the next write */
	size_t words;		/* how many of them it stores at that moment */
	uint64_t first, end_of_data, last;	/* words of the record at that moment */
	int moments;
	uint64_t *number_lost;	/* another record that is written first, but for its first word */
} stepped;

static void writer_goes_on(int signo)
{
	(void)signo;
	stepped.moments++;
	mprotect(stepped.pages, 3 * PAGE, PROT_READ | PROT_WRITE);
	stepped.first = stepped.record[0];
	stepped.end_of_data = stepped.record[sizeof(stepped.after) / 8 - 2];
	stepped.last = stepped.record[sizeof(stepped.after) / 8 - 1];
	if (stepped.number_lost) {
		uint64_t number = *stepped.number_lost;
		uint8_t data[SIZE] = { 0 };

		rfm_record_write(stepped.number_lost, data, SIZE);
		*stepped.number_lost = number;
	}
	memcpy(stepped.record, stepped.after, stepped.words * 8);
}

static void open_pages(void)
{
	stepped.pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	assert_true(stepped.pages != MAP_FAILED);
	stepped.record = (uint64_t *)(stepped.pages + PAGE - 8);
}

/* Reads while the writer stores the @words first words of write 2, when @page is loaded from. */
static int read_meanwhile(int page, size_t words, uint8_t *data, uint64_t *sequence)
{
	struct sigaction action = { .sa_handler = writer_goes_on }, before;
	int result;

	memset(stepped.pages, 0, 3 * PAGE);
	memset(data, 1, PAGE);
	assert_int_equal(rfm_record_write(stepped.record, data, PAGE), 0);
	memcpy(stepped.after, stepped.record, sizeof(stepped.after));
	memset(data, 2, PAGE);
	assert_int_equal(rfm_record_write(stepped.after, data, PAGE), 0);
	stepped.words = words;
	stepped.moments = 0;

	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect(stepped.pages + page * PAGE, PAGE, PROT_NONE), 0);
	result = rfm_record_read(stepped.record, data, PAGE, sequence);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(stepped.moments, 1);
	return result;
}

/* The writer passes a reader that has begun: it tries again, and never mixes two writes. */
static void a_write_in_the_middle_of_a_read(void **state)
{
	const size_t all = sizeof(stepped.after) / 8;
	uint8_t data[PAGE], want[PAGE];
	uint64_t sequence;

	(void)state;
	open_pages();
	for (int page = 0; page < 3; page++) {
		assert_int_equal(read_meanwhile(page, all, data, &sequence), 0);
		assert_int_equal(sequence, 2);
		memset(want, 2, PAGE);
		assert_memory_equal(data, want, PAGE);
		for (size_t words = 1; words < all; words += 73) {
			assert_int_equal(read_meanwhile(page, words, data, &sequence), -1);
			assert_int_equal(errno, EAGAIN);
		}
	}
	munmap(stepped.pages, 3 * PAGE);
}

/* The first word before any of the data, the last after all of it. */
static void a_write_stores_in_order(void **state)
{
	struct sigaction action = { .sa_handler = writer_goes_on }, before;
	uint8_t data[PAGE];

	(void)state;
	open_pages();
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	for (int page = 1; page < 3; page++) {
		memset(stepped.pages, 0, 3 * PAGE);
		memset(data, 1, PAGE);
		stepped.words = 0;
		stepped.moments = 0;
		assert_int_equal(mprotect(stepped.pages + page * PAGE, PAGE, PROT_NONE), 0);
		assert_int_equal(rfm_record_write(stepped.record, data, PAGE), 0);
		assert_int_equal(stepped.moments, 1);
		assert_int_equal(stepped.first, 1);
		assert_int_equal(stepped.end_of_data, page == 2 ? 0x0101010101010101 : 0);
		assert_int_equal(stepped.last, 0);
	}
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	munmap(stepped.pages, 3 * PAGE);
}

/* The next write of the first of two records comes but for its number, then that of the other. */
static void a_lost_number_is_no_instant(void **state)
{
	struct sigaction action = { .sa_handler = writer_goes_on }, before;
	static struct record first;
	uint8_t data[2][PAGE];
	struct rfm_record_part parts[2] = {
		{ .record = &first, .data = data[0], .size = SIZE },
		{ .data = data[1], .size = PAGE },
	};
	int result;

	(void)state;
	open_pages();
	parts[1].record = stepped.record;
	memset(data, 1, sizeof(data));
	assert_int_equal(rfm_record_write(&first, data[0], SIZE), 0);
	assert_int_equal(rfm_record_write(stepped.record, data[1], PAGE), 0);
	memcpy(stepped.after, stepped.record, sizeof(stepped.after));
	memset(data, 2, sizeof(data));
	assert_int_equal(rfm_record_write(stepped.after, data[1], PAGE), 0);
	stepped.words = sizeof(stepped.after) / 8;
	stepped.number_lost = (uint64_t *)&first;
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect(stepped.pages + 2 * PAGE, PAGE, PROT_NONE), 0);
	result = rfm_records_read(parts, 2);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	stepped.number_lost = NULL;
	munmap(stepped.pages, 3 * PAGE);
	assert_int_equal(result, -1);
	assert_int_equal(errno, EAGAIN);
}

#define READS	300000		/* at least, and */
#define CHANGES	300		/* different records seen */

struct race {
	struct record record;
	atomic_bool stop;
};

/* --- several together ----------------------------------------------------------------- */

#define TOGETHER	3

struct together {
	struct record records[TOGETHER];
	atomic_bool stop;
};

/* One after the other: number n of a record is there before that of the next. */
static void *write_in_turn(void *opaque)
{
	struct together *together = opaque;
	uint8_t data[SIZE];

	for (uint64_t n = 2; !atomic_load(&together->stop); n++) {
		fill(data, n);
		for (int i = 0; i < TOGETHER; i++)
			rfm_record_write(&together->records[i], data, SIZE);
		/* A rest, in which they can be read. */
		if (n % 4 == 0)
			sched_yield();
	}
	return NULL;
}

static void several_are_of_one_instant(void **state)
{
	static struct together together;
	uint8_t data[TOGETHER][SIZE], want[SIZE];
	struct rfm_record_part parts[TOGETHER] = { 0 };
	unsigned long seen = 0, again = 0;
	pthread_t thread;

	(void)state;
	for (int i = 0; i < TOGETHER; i++)
		parts[i] = (struct rfm_record_part){
			.record = &together.records[i], .data = data[i], .size = SIZE,
		};
	assert_int_equal(rfm_records_read(parts, 0), 0);
	assert_int_equal(rfm_records_read(parts, TOGETHER), -1);
	assert_int_equal(errno, ENODATA);
	for (int i = 0; i < TOGETHER; i++)
		write_number(&together.records[i], 1);
	assert_int_equal(rfm_records_read(parts, TOGETHER), 0);
	parts[2].size = 0;
	assert_int_equal(rfm_records_read(parts, TOGETHER), -1);
	assert_int_equal(errno, EINVAL);
	parts[2].size = SIZE;
	parts[1].reserved[3] = 1;
	assert_int_equal(rfm_records_read(parts, TOGETHER), -1);
	assert_int_equal(errno, EINVAL);
	parts[1].reserved[3] = 0;
	assert_int_equal(pthread_create(&thread, NULL, write_in_turn, &together), 0);
	while (seen < 2000 && again < 50000000) {
		if (rfm_records_read(parts, TOGETHER)) {
			assert_int_equal(errno, EAGAIN);
			again++;
			continue;
		}
		seen++;
		for (int i = 0; i < TOGETHER; i++) {
			fill(want, parts[i].sequence);
			assert_memory_equal(want, data[i], SIZE);
			/* At any instant each is as new as the one before it, or one older. */
			if (i)
				assert_true(parts[i].sequence == parts[i - 1].sequence ||
					    parts[i].sequence + 1 == parts[i - 1].sequence);
		}
		assert_true(parts[0].sequence - parts[TOGETHER - 1].sequence <= 1);
	}
	atomic_store(&together.stop, true);
	pthread_join(thread, NULL);
	assert_true(seen >= 100);
}

static void *writer(void *opaque)
{
	struct race *race = opaque;

	for (uint64_t n = 1; !atomic_load(&race->stop); n++)
		write_number(&race->record, n);
	return NULL;
}

/* A writer that never rests, and a reader that asks all the time. */
static void threads_never_see_half_a_record(void **state)
{
	static struct race race;
	uint64_t seen = 0, changes = 0;
	uint8_t data[SIZE], want[SIZE];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, writer, &race), 0);
	for (int i = 0; i < READS || changes < CHANGES; i++) {
		uint64_t sequence;

		if (rfm_record_read(race.record.words, data, SIZE, &sequence)) {
			assert_true(errno == EAGAIN || (errno == ENODATA && !seen));
			continue;
		}
		assert_true(sequence >= seen);
		fill(want, sequence);
		assert_memory_equal(data, want, SIZE);
		changes += sequence > seen;
		seen = sequence;
	}
	atomic_store(&race.stop, true);
	pthread_join(thread, NULL);
	assert_true(must_read(&race.record) >= seen);
}

/* The stores that a program on @peer makes, as its card gets them: word for word, ascending. */
static void store_on_ring(struct rig *rig, int peer, uint32_t offset, uint64_t n, uint64_t *random)
{
	struct rig_peer *owner = &rig->peers[peer];
	struct record mine = *(struct record *)(owner->memory + offset);

	write_number(&mine, n);
	for (int i = 0; i < WORDS; i++) {
		if (!rfm_node_may_store(&owner->node))
			rig_settle(rig);
		rig_store(rig, peer, offset + i * 8, &mine.words[i], 8);
		if (test_random(random) % 4 == 0)
			rig_pull(rig, peer, 1 + test_random(random) % 3);
	}
}

/* On every node that has a record it is whole, and never an older one than before. */
static unsigned int look_everywhere(struct rig *rig, uint32_t offset, uint64_t *newest)
{
	unsigned int unreadable = 0;

	for (int i = 0; i < rig->count; i++) {
		struct record *record = (struct record *)(rig->peers[i].memory + offset);
		uint8_t data[SIZE], want[SIZE];
		uint64_t sequence;

		if (rfm_record_read(record->words, data, SIZE, &sequence)) {
			assert_true(errno == EAGAIN || (errno == ENODATA && !newest[i]));
			unreadable++;
			continue;
		}
		fill(want, sequence);
		assert_memory_equal(data, want, SIZE);
		assert_true(sequence >= newest[i]);
		newest[i] = sequence;
	}
	return unreadable;
}

#define RING_WRITES	400
#define OFFSET		256

/*
 * Across the ring, in each way to run it, frames packed at random; with @lossy
 * some frames disappear on the way. Returns how often a lost part was met once
 * all had settled.
 */
static unsigned int run_ring(const struct rig_mode *mode, bool lossy, uint64_t seed)
{
	struct rig *rig = rig_new_mode(3, 1, mode);
	uint64_t random = seed, newest[3] = { 0 };
	unsigned int damaged = 0;

	for (uint64_t n = 1; n <= RING_WRITES; n++) {
		store_on_ring(rig, 0, OFFSET, n, &random);
		for (int step = 0; step < 20; step++) {
			struct rfm_frame frame;
			int peer = test_random(&random) % 3;

			if (lossy && test_random(&random) % 40 == 0)
				rig_drop(rig, peer, &frame);
			rig_pull(rig, peer, 1);
			rig_deliver(rig, test_random(&random) % 3);
			look_everywhere(rig, OFFSET, newest);
		}
		if (n % 8)
			continue;
		rig_settle(rig);
		damaged += look_everywhere(rig, OFFSET, newest);
	}
	/* Without further losses one more write is whole everywhere. */
	rig_advance(rig, 1000 * MS);
	store_on_ring(rig, 0, OFFSET, RING_WRITES + 1, &random);
	rig_settle(rig);
	assert_int_equal(look_everywhere(rig, OFFSET, newest), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(newest[i], RING_WRITES + 1);
	rig_free(rig);
	return damaged;
}

static void whole_across_the_ring(void **state)
{
	(void)state;
	for (int mode = 0; mode < RIG_MODES; mode++)
		assert_int_equal(run_ring(&rig_modes[mode], false, 1 + mode), 0);
}

static void whole_or_nothing_on_a_ring_that_loses_frames(void **state)
{
	unsigned int damaged = 0;

	(void)state;
	for (int mode = 0; mode < RIG_MODES; mode++)
		damaged += run_ring(&rig_modes[mode], true, 100 + mode);
	assert_true(damaged > 0);	/* else nothing was tried */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_comes_back_in_its_own_bytes),
		cmocka_unit_test(bad_input_changes_nothing),
		cmocka_unit_test(the_layout_is_that_of_the_manual_page),
		cmocka_unit_test(a_reader_of_another_size_gets_nothing),
		cmocka_unit_test(a_torn_write_is_seen_at_every_store),
		cmocka_unit_test(a_lost_part_is_seen_and_mended),
		cmocka_unit_test(small_losses_are_seen),
		cmocka_unit_test(numbers_go_on),
		cmocka_unit_test(a_write_in_the_middle_of_a_read),
		cmocka_unit_test(a_write_stores_in_order),
		cmocka_unit_test(a_lost_number_is_no_instant),
		cmocka_unit_test(threads_never_see_half_a_record),
		cmocka_unit_test(several_are_of_one_instant),
		cmocka_unit_test(whole_across_the_ring),
		cmocka_unit_test(whole_or_nothing_on_a_ring_that_loses_frames),
	};

	return cmocka_run_group_tests_name("librfm_record", tests, NULL, NULL);
}
