// SPDX-License-Identifier: MIT
/* Which frames a fault meets, and when.
 * links: tools/rmhub/fault.c tools/rmhub/rogue.c
 */
#include "tests/unit/test.h"

#include <string.h>

#include "tools/rmhub/fault.h"
#include "tools/rmhub/rogue.h"

#define MS	1000000ull
#define NOW	(5000 * MS)

static struct rfm_frame data_frame(uint8_t source, uint32_t address, const char *bytes)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = source, .address = address,
		.length = strlen(bytes), .incarnation = 1, .seq = 1,
	};

	memcpy(frame.data, bytes, frame.length);
	return frame;
}

static bool meets(const struct fault_spec *spec, unsigned int port, const struct rfm_frame *frame)
{
	struct faults faults = { 0 };
	bool met;

	assert_null(fault_spec_check(spec, false));
	assert_non_null(faults_add(&faults, spec, NOW));
	met = faults_meet(&faults, port, frame, NOW);
	faults_destroy(&faults);
	return met;
}

static void test_conditions(void **state)
{
	struct rfm_frame data = data_frame(7, 0x1000, "abcd");
	struct rfm_frame interrupt = {
		.type = RFM_FRAME_INTERRUPT, .source = 7, .kind = 8 | 2, .length = 4,
	};
	struct rfm_frame multicast = {
		.type = RFM_FRAME_MULTICAST, .source = 7, .kind = 2, .length = 36, .data = "abcd",
	};
	struct rfm_frame beat = { .type = RFM_FRAME_HEARTBEAT, .source = 7 };
	struct fault_spec any, spec;

	(void)state;
	fault_spec_init(&any, FAULT_DROP);
	assert_true(meets(&any, 3, &data));
	assert_true(meets(&any, 3, &interrupt));
	assert_true(meets(&any, 3, &multicast));
	assert_false(meets(&any, 3, &beat));
	spec = any;
	spec.types = 1u << RFM_FRAME_HEARTBEAT;
	assert_true(meets(&spec, 3, &beat));
	assert_false(meets(&spec, 3, &data));
	spec = any;
	spec.port = 3;
	assert_true(meets(&spec, 3, &data));
	assert_false(meets(&spec, 2, &data));
	spec = any;
	spec.source = 7;
	assert_true(meets(&spec, 0, &data));
	spec.source = 6;
	assert_false(meets(&spec, 0, &data));
	spec = any;
	spec.interrupt = 2;
	assert_true(meets(&spec, 0, &interrupt));
	assert_false(meets(&spec, 0, &data));
	assert_true(meets(&spec, 0, &multicast));
	spec.interrupt = 3;
	assert_false(meets(&spec, 0, &interrupt));
	assert_false(meets(&spec, 0, &multicast));
	spec = any;
	spec.types = 1u << RFM_FRAME_MULTICAST;
	assert_true(meets(&spec, 0, &multicast));
	assert_false(meets(&spec, 0, &interrupt));
	spec = any;
	memcpy(spec.value, "abc", 3);
	spec.value_length = 3;
	assert_true(meets(&spec, 0, &multicast));
	spec.value[2] = 'x';
	assert_false(meets(&spec, 0, &multicast));
}

static void test_addresses(void **state)
{
	static const struct {
		uint32_t first, last;
		bool met;
	} cases[] = {
		{ 0x1000, 0x1003, true }, { 0x0, 0xfff, false }, { 0x0, 0x1000, true },
		{ 0x1003, 0x2000, true }, { 0x1004, 0x2000, false }, { 0x1001, 0x1001, true },
	};
	struct rfm_frame frame = data_frame(7, 0x1000, "abcd");
	struct rfm_frame interrupt = { .type = RFM_FRAME_INTERRUPT, .length = 4 };
	struct fault_spec spec;

	(void)state;
	fault_spec_init(&spec, FAULT_DROP);
	spec.addressed = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		spec.first = cases[i].first;
		spec.last = cases[i].last;
		assert_int_equal(meets(&spec, 0, &frame), cases[i].met);
	}
	spec.first = 0;
	assert_false(meets(&spec, 0, &interrupt));
}

/* One that is to hit a certain bit is not after frames that do not have it. */
static void test_bits(void **state)
{
	struct rfm_frame frame = data_frame(7, 0x1000, "abcd");
	struct fault_spec spec;

	(void)state;
	fault_spec_init(&spec, FAULT_CORRUPT);
	assert_true(meets(&spec, 0, &frame));
	spec.bit = 31;
	assert_true(meets(&spec, 0, &frame));
	spec.bit = 32;
	assert_false(meets(&spec, 0, &frame));
}

static void test_values(void **state)
{
	struct rfm_frame frame = data_frame(7, 0x1000, "abcd");
	struct fault_spec spec;

	(void)state;
	fault_spec_init(&spec, FAULT_DROP);
	memcpy(spec.value, "bc", 2);
	spec.value_length = 2;
	assert_false(meets(&spec, 0, &frame));
	spec.valued_at = true;
	spec.value_at = 0x1001;
	assert_true(meets(&spec, 0, &frame));
	spec.value_at = 0x1003;	/* only one byte of it is in the frame */
	assert_false(meets(&spec, 0, &frame));
	spec.value_at = 0xfff;
	assert_false(meets(&spec, 0, &frame));
	spec.value_at = 0x2000;
	assert_false(meets(&spec, 0, &frame));
	spec.valued_at = false;
	memcpy(spec.value, "ab", 2);
	assert_true(meets(&spec, 0, &frame));
}

static void test_copies(void **state)
{
	struct rfm_frame frame = data_frame(7, 0, "a");
	struct fault_spec spec;

	(void)state;
	fault_spec_init(&spec, FAULT_DROP);
	spec.copy = FAULT_COPY_SECOND;
	assert_false(meets(&spec, 0, &frame));
	frame.flags = RFM_FLAG_REDUNDANT | RFM_FLAG_SECOND;
	assert_true(meets(&spec, 0, &frame));
	spec.copy = FAULT_COPY_FIRST;
	assert_false(meets(&spec, 0, &frame));
	frame.flags = RFM_FLAG_REDUNDANT;
	assert_true(meets(&spec, 0, &frame));
}

static void test_nth_and_count(void **state)
{
	struct rfm_frame frame = data_frame(7, 0, "a"), other = data_frame(8, 0, "a");
	struct faults faults = { 0 };
	struct fault_spec spec;
	struct fault *fault;
	char met[16] = "";

	(void)state;
	fault_spec_init(&spec, FAULT_DROP);
	spec.source = 7;
	spec.nth = 3;
	spec.count = 2;
	fault = faults_add(&faults, &spec, NOW);
	for (int i = 0; i < 7; i++) {
		assert_null(faults_meet(&faults, 0, &other, NOW));
		strcat(met, faults_meet(&faults, 0, &frame, NOW) ? "x" : "-");
	}
	assert_string_equal(met, "--xx---");
	assert_int_equal(fault->matched, 4);
	assert_int_equal(fault->fired, 2);
	assert_true(fault_finished(fault, NOW));
	faults_destroy(&faults);
}

static void test_time(void **state)
{
	struct rfm_frame frame = data_frame(7, 0, "a");
	struct faults faults = { 0 };
	struct fault_spec spec;

	(void)state;
	fault_spec_init(&spec, FAULT_DROP);
	spec.count = 0;
	spec.after = 10 * MS;
	spec.lasting = 5 * MS;
	assert_non_null(faults_add(&faults, &spec, NOW));
	assert_null(faults_meet(&faults, 0, &frame, NOW + 10 * MS - 1));
	assert_non_null(faults_meet(&faults, 0, &frame, NOW + 10 * MS));
	assert_non_null(faults_meet(&faults, 0, &frame, NOW + 15 * MS - 1));
	assert_null(faults_meet(&faults, 0, &frame, NOW + 15 * MS));
	faults_destroy(&faults);
}

static unsigned int chance(double probability, uint64_t seed, char *pattern)
{
	struct rfm_frame frame = data_frame(7, 0, "a");
	struct faults faults = { 0 };
	struct fault_spec spec;
	unsigned int fired = 0;

	fault_spec_init(&spec, FAULT_DROP);
	spec.count = 0;
	spec.probability = probability;
	spec.seed = seed;
	assert_non_null(faults_add(&faults, &spec, NOW));
	for (int i = 0; i < 10000; i++) {
		pattern[i] = !!faults_meet(&faults, 0, &frame, NOW);
		fired += pattern[i];
	}
	faults_destroy(&faults);
	return fired;
}

static void test_probability_and_seed(void **state)
{
	char one[10000], same[10000], other[10000];

	(void)state;
	assert_in_range(chance(0.1, 42, one), 900, 1100);
	chance(0.1, 42, same);
	chance(0.1, 43, other);
	assert_memory_equal(one, same, sizeof(one));
	assert_memory_not_equal(one, other, sizeof(one));
	assert_int_equal(chance(0, 42, one), 0);
	assert_int_equal(chance(1, 42, one), 10000);
}

static void test_one_fault_a_frame(void **state)
{
	struct rfm_frame frame = data_frame(7, 0, "a");
	struct faults faults = { 0 };
	struct fault_spec spec;
	struct fault *first, *second;

	(void)state;
	fault_spec_init(&spec, FAULT_DROP);
	first = faults_add(&faults, &spec, NOW);
	second = faults_add(&faults, &spec, NOW);
	assert_ptr_equal(faults_meet(&faults, 0, &frame, NOW), first);
	assert_int_equal(second->matched, 0);
	assert_ptr_equal(faults_meet(&faults, 0, &frame, NOW), second);
	assert_int_equal(first->id, 1);
	assert_true(faults_clear(&faults, 1));
	assert_false(faults_clear(&faults, 1));
	assert_ptr_equal(faults_find(&faults, 2), second);
	assert_int_equal(faults_add(&faults, &spec, NOW)->id, 3);
	faults_destroy(&faults);
}

static void test_scenario(void **state)
{
	struct rfm_frame a = data_frame(1, 0, "a"), b = data_frame(2, 0, "a");
	struct faults faults = { 0 };
	struct fault_spec specs[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		fault_spec_init(&specs[i], FAULT_DROP);
	specs[0].source = 1;
	specs[0].nth = 2;
	specs[1].source = 2;
	specs[1].lasting = 10 * MS;
	specs[2].source = 1;
	assert_int_equal(faults_play(&faults, specs, 3, NOW), 0);
	assert_null(faults_meet(&faults, 0, &b, NOW));	/* not its turn yet */
	assert_null(faults_meet(&faults, 0, &a, NOW));
	assert_int_equal(faults_meet(&faults, 0, &a, NOW)->id, 1);
	assert_int_equal(faults.step, 1);
	assert_null(faults_meet(&faults, 0, &a, NOW));
	/* The second never fires; its time ends. */
	assert_int_equal(faults_tick(&faults, NOW), NOW + 10 * MS);
	assert_int_equal(faults_tick(&faults, NOW + 10 * MS), UINT64_MAX);
	assert_int_equal(faults.step, 2);
	assert_int_equal(faults_meet(&faults, 0, &a, NOW + 10 * MS)->id, 3);
	assert_int_equal(faults.step, 3);
	assert_false(faults_armed(&faults));
	assert_null(faults_meet(&faults, 0, &a, NOW + 10 * MS));

	/* Another one takes its place. */
	assert_int_equal(faults_play(&faults, specs, 1, NOW), 0);
	assert_true(faults_armed(&faults));
	assert_true(faults_clear(&faults, 0));
	assert_false(faults_armed(&faults));
	faults_destroy(&faults);
}

static void test_check(void **state)
{
	struct fault_spec good, spec;

	(void)state;
	fault_spec_init(&good, FAULT_DROP);
	assert_null(fault_spec_check(&good, true));
	spec = good;
	spec.count = 0;
	assert_null(fault_spec_check(&spec, false));
	assert_non_null(fault_spec_check(&spec, true));
	spec.lasting = 1;
	assert_null(fault_spec_check(&spec, true));
	spec = good;
	spec.time = 1;
	assert_non_null(fault_spec_check(&spec, false));
	spec.kind = FAULT_DELAY;
	assert_null(fault_spec_check(&spec, false));
	spec.time = 0;
	assert_non_null(fault_spec_check(&spec, false));
	spec = good;
	spec.depth = 2;
	assert_non_null(fault_spec_check(&spec, false));
	spec = good;
	spec.bit = 0;
	assert_non_null(fault_spec_check(&spec, false));
	spec = good;
	spec.addressed = true;
	spec.first = 1;
	assert_non_null(fault_spec_check(&spec, false));
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		assert_int_equal(fault_kind_parse(fault_kind_name(kind)), kind);
	assert_int_equal(fault_kind_parse("melt"), -1);
}

static void test_flip(void **state)
{
	struct rfm_frame frame = data_frame(7, 0, "abcdefgh");
	uint8_t wire[RFM_FRAME_MAX], before[RFM_FRAME_MAX];
	unsigned int len = rfm_frame_encode(&frame, wire);
	struct fault fault = { .random = 1 };

	(void)state;
	memcpy(before, wire, len);
	fault.spec.bit = -1;
	for (int i = 0; i < 1000; i++) {
		unsigned int bit = fault_flip(&fault, wire, len);

		assert_int_equal(wire[bit / 8], before[bit / 8] ^ 1 << bit % 8);
		assert_int_equal(rfm_frame_length(wire), len);
		assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_DAMAGED);
		wire[bit / 8] ^= 1 << bit % 8;
		assert_memory_equal(wire, before, len);
	}
	fault.spec.bit = 9;
	assert_int_equal(fault_flip(&fault, wire, len), RFM_FRAME_HEADER * 8 + 9);
	assert_int_equal(wire[RFM_FRAME_HEADER + 1], 'b' ^ 2);
}

static bool is_rogue(struct rogues *rogues, uint8_t id, uint64_t incarnation, uint64_t seq,
		     uint64_t time)
{
	struct rfm_frame frame = data_frame(id, 0, "a");
	uint8_t wire[RFM_FRAME_MAX];

	frame.incarnation = incarnation;
	frame.seq = seq;
	frame.time_ns = time;
	rfm_frame_encode(&frame, wire);
	return rogues_has(rogues, wire);
}

static void test_rogues_remember_lives(void **state)
{
	static struct rogues rogues;

	(void)state;
	for (uint64_t life = 1; life <= ROGUE_LIVES + 1; life++) {
		struct rogue_life gone = { .incarnation = life * 100, .seq = 50, .time = 1000 };

		rogues_left(&rogues, 9, &gone);
	}
	assert_false(is_rogue(&rogues, 9, 100, 50, 1000));	/* forgotten */
	for (uint64_t life = 2; life <= ROGUE_LIVES + 1; life++)
		assert_true(is_rogue(&rogues, 9, life * 100, 50, 1000));
	assert_false(is_rogue(&rogues, 8, 300, 50, 1000));
	assert_false(is_rogue(&rogues, 9, 999, 50, 1000));
	rogues_back(&rogues, 9, 300);
	assert_false(is_rogue(&rogues, 9, 300, 50, 1000));
	assert_true(is_rogue(&rogues, 9, 200, 50, 1000));
	assert_true(is_rogue(&rogues, 9, 400, 50, 1000));
	/* Newer than all that came through its port: it lives on elsewhere. */
	assert_false(is_rogue(&rogues, 9, 400, 51, 1000));
	assert_false(is_rogue(&rogues, 9, 400, 50, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_nth_and_count),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_probability_and_seed),
		cmocka_unit_test(test_one_fault_a_frame),
		cmocka_unit_test(test_scenario),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_flip),
		cmocka_unit_test(test_rogues_remember_lives),
	};

	return cmocka_run_group_tests_name("hub faults", tests, NULL, NULL);
}
