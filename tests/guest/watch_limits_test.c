// SPDX-License-Identifier: GPL-2.0-only
/*
 * WATCH: how much there may be, and what it refuses. Wants two cards with the
 * extension block on one ring, both in this machine.
 */

#include <sys/resource.h>

#include "watch.h"

static void as_many_as_there_may_be(void)
{
	static int fds[RFM_WATCHES_MAX];
	struct rlimit limit = { 4096, 4096 };
	unsigned int count = 0;
	int fd;

	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	/* One more is the watch for marks. */
	while (count < RFM_WATCHES_MAX - 1) {
		fds[count] = watch_range(AT, 8);
		REQUIRE(fds[count] >= 0);
		count++;
	}
	CHECK_ERRNO(watch_range(AT, 8), ENOSPC);
	CHECK_EQ(watches(), count);
	far_sets(AT, 1);
	CHECK(settled());
	CHECK_EQ(heard(fds[0]), 1);
	CHECK_EQ(heard(fds[count - 1]), 1);
	close(fds[--count]);
	fd = watch_range(AT, 8);
	CHECK(fd >= 0);
	close(fd);
	while (count)
		close(fds[--count]);
	CHECK_EQ(watches(), 0);
}

/* All queues of a card together hold no more than there may be. */
static void as_many_records_as_there_may_be(void)
{
	enum { FULL = RFM_QUEUED_MAX / RFM_LISTEN_DEPTH_MAX };
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_listen listen = { .types = RFM_EVENT_BIT(RFM_EVENT_LOSS),
				     .depth = RFM_LISTEN_DEPTH_MAX };
	int fds[FULL];
	unsigned int i;

	/* The watch for marks has some. */
	args.depth = RFM_LISTEN_DEPTH_MAX;
	for (i = 0; i < FULL - 1; i++) {
		fds[i] = watch(&args);
		REQUIRE(fds[i] >= 0);
	}
	CHECK_ERRNO(watch(&args), ENOSPC);
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_LISTEN, &listen), ENOSPC);
	CHECK_EQ(watches(), FULL - 1);
	close(fds[0]);
	fds[0] = ioctl(pair.near, RFM_IOC_LISTEN, &listen);
	CHECK(fds[0] >= 0);
	for (i = 0; i < FULL - 1; i++)
		close(fds[i]);
	CHECK_EQ(watches(), 0);
}

static void as_many_ranges_as_there_may_be(void)
{
	enum { FULL = RFM_WATCHED_RANGES_MAX / RFM_WATCH_RANGES_MAX };
	struct rfm_range ranges[RFM_WATCH_RANGES_MAX];
	struct rfm_watch args = watch_of(ranges);
	unsigned int i;
	int fds[FULL];

	/* In pairs that overlap, and each with a gap behind it. */
	for (i = 0; i < RFM_WATCH_RANGES_MAX; i++)
		ranges[RFM_WATCH_RANGES_MAX - 1 - i] =
			(struct rfm_range) { AT + i / 2 * 64 + i % 2 * 8, 16 };
	args.count = RFM_WATCH_RANGES_MAX;
	for (i = 0; i < FULL - 1; i++) {
		fds[i] = watch(&args);
		REQUIRE(fds[i] >= 0);
	}
	CHECK_ERRNO(watch(&args), ENOSPC);
	far_sets(AT + 64 + 16, 1);
	far_sets(AT + 64 + 24, 1);
	far_sets(AT + 127 * 64 + 8, 1);
	CHECK_EQ(heard(fds[0]), 2);
	for (i = 0; i < FULL - 1; i++)
		close(fds[i]);
	CHECK_EQ(watches(), 0);
}

static void as_many_listeners_as_there_may_be(void)
{
	static int fds[RFM_LISTENERS_MAX];
	struct rfm_listen listen = { .types = RFM_EVENT_BIT(RFM_EVENT_LOSS),
				     .depth = 1 };
	struct rlimit limit = { 4096, 4096 };
	unsigned int i;

	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (i = 0; i < RFM_LISTENERS_MAX; i++) {
		fds[i] = ioctl(pair.near, RFM_IOC_LISTEN, &listen);
		REQUIRE(fds[i] >= 0);
	}
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_LISTEN, &listen), ENOSPC);
	close(fds[--i]);
	fds[i] = ioctl(pair.near, RFM_IOC_LISTEN, &listen);
	CHECK(fds[i++] >= 0);
	while (i)
		close(fds[--i]);
}

/* 256 comparators and timers together. */
static void as_many_slots_as_there_are(void)
{
	struct rfm_range ranges[RFM_WATCH_RANGES_MAX];
	struct rfm_watch args = watch_of(ranges), one = watch_of(ranges);
	unsigned int i;
	int fd, other;

	for (i = 0; i < RFM_WATCH_RANGES_MAX; i++)
		ranges[i] = (struct rfm_range) { AT + i * 128, 8 };
	args.count = RFM_WATCH_RANGES_MAX;
	args.silence_ns = RFM_WATCH_SILENCE_MAX;
	fd = watch(&args);
	REQUIRE(fd >= 0);
	far_sets(AT + 255 * 128, 1);
	CHECK_EQ(heard(fd), 1);

	one.silence_ns = RFM_WATCH_SILENCE_MAX;
	CHECK_ERRNO(watch(&one), ENOSPC);
	one.silence_ns = 0;
	one.flags |= RFM_WATCH_COMPARE;
	one.compare = RFM_COMPARE_CHANGED;
	one.compare_width = 8;
	one.compare_offset = AT;
	one.compare_mask = UINT64_MAX;
	CHECK_ERRNO(watch(&one), ENOSPC);
	CHECK_EQ(watches(), 1);

	/* With one range less there is one for it. */
	close(fd);
	args.count--;
	fd = watch(&args);
	other = watch(&one);
	CHECK(fd >= 0 && other >= 0);
	close(other);
	close(fd);
	CHECK_EQ(watches(), 0);
}

static void set_ranges_nowhere(struct rfm_watch *args) { args->ranges = 8; }
static void set_count_0(struct rfm_watch *args) { args->count = 0; }
static void set_count_257(struct rfm_watch *args) { args->count = 257; }
static void set_flag(struct rfm_watch *args) { args->flags |= 0x20; }
static void set_depth(struct rfm_watch *args) { args->depth = 65537; }
static void set_eventfd(struct rfm_watch *args) { args->eventfd = 1; }
static void set_silence_low(struct rfm_watch *args) { args->silence_ns = 999999; }
static void set_silence_high(struct rfm_watch *args) { args->silence_ns = 3600000000001ull; }
static void set_compare(struct rfm_watch *args) { args->compare = 1; }
static void set_width(struct rfm_watch *args) { args->compare_width = 4; }
static void set_offset(struct rfm_watch *args) { args->compare_offset = AT; }
static void set_mask(struct rfm_watch *args) { args->compare_mask = 1; }
static void set_value(struct rfm_watch *args) { args->compare_value = 1; }

static void set_no_eventfd(struct rfm_watch *args)
{
	args->flags |= RFM_WATCH_EVENTFD;
	args->eventfd = pair.near;
}

static void set_closed_eventfd(struct rfm_watch *args)
{
	args->flags |= RFM_WATCH_EVENTFD;
	args->eventfd = 4095;
}

/* What may be asked for, with one thing that may not. */
static void comparing(struct rfm_watch *args)
{
	args->flags |= RFM_WATCH_COMPARE;
	args->compare = RFM_COMPARE_EQUAL;
	args->compare_width = 4;
	args->compare_offset = AT + 4;
	args->compare_mask = 0xffff;
	args->compare_value = 0x1234;
}

static void compare_none(struct rfm_watch *args) { comparing(args); args->compare = 0; }
static void compare_4(struct rfm_watch *args) { comparing(args); args->compare = 4; }
static void width_0(struct rfm_watch *args) { comparing(args); args->compare_width = 0; }
static void width_3(struct rfm_watch *args) { comparing(args); args->compare_width = 3; }
static void width_16(struct rfm_watch *args) { comparing(args); args->compare_width = 16; }
static void askew(struct rfm_watch *args) { comparing(args); args->compare_offset++; }
static void before(struct rfm_watch *args) { comparing(args); args->compare_offset = AT - 4; }
static void behind(struct rfm_watch *args) { comparing(args); args->compare_offset = AT + 64; }
static void far_away(struct rfm_watch *args) { comparing(args); args->compare_offset = -4ull; }
static void mask_0(struct rfm_watch *args) { comparing(args); args->compare_mask = 0; }
static void mask_wide(struct rfm_watch *args) { comparing(args); args->compare_mask = 1ull << 32; }
static void value_out(struct rfm_watch *args) { comparing(args); args->compare_value = 0x10000; }

static const struct {
	const char *name;
	void (*spoil)(struct rfm_watch *args);
	int error;
} refusals[] = {
	{ "ranges nowhere", set_ranges_nowhere, EFAULT },
	{ "no range", set_count_0, EINVAL },
	{ "257 ranges", set_count_257, EINVAL },
	{ "an unknown flag", set_flag, EINVAL },
	{ "too deep", set_depth, EINVAL },
	{ "an eventfd without its flag", set_eventfd, EINVAL },
	{ "a file that is no eventfd", set_no_eventfd, EINVAL },
	{ "a descriptor that is not open", set_closed_eventfd, EBADF },
	{ "too short a silence", set_silence_low, EINVAL },
	{ "too long a silence", set_silence_high, EINVAL },
	{ "compare without its flag", set_compare, EINVAL },
	{ "width without its flag", set_width, EINVAL },
	{ "offset without its flag", set_offset, EINVAL },
	{ "mask without its flag", set_mask, EINVAL },
	{ "value without its flag", set_value, EINVAL },
	{ "no comparison", compare_none, EINVAL },
	{ "an unknown comparison", compare_4, EINVAL },
	{ "width 0", width_0, EINVAL },
	{ "width 3", width_3, EINVAL },
	{ "width 16", width_16, EINVAL },
	{ "an offset between", askew, EINVAL },
	{ "an offset before the range", before, EINVAL },
	{ "an offset behind the range", behind, EINVAL },
	{ "an offset far away", far_away, EINVAL },
	{ "no mask", mask_0, EINVAL },
	{ "a mask wider than the width", mask_wide, EINVAL },
	{ "a value outside the mask", value_out, EINVAL },
};

static void bad_arguments(void)
{
	struct rfm_range range = { AT, 64 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct rfm_watch args = watch_of(&range);

		refusals[i].spoil(&args);
		errno = 0;
		if (watch(&args) != -1 || errno != refusals[i].error) {
			tap_failed = true;
			tap_note("%s: %s", refusals[i].name, strerror(errno));
		}
	}
	check_bad_pointers(pair.near, RFM_IOC_WATCH, "WATCH");
	CHECK_EQ(watches(), 0);
}

/* One bad range among good ones. */
static void bad_ranges(void)
{
	const uint64_t size = pair.info.memory_size;
	const struct rfm_range bad[] = {
		{ AT, 0 }, { size, 1 }, { size - 1, 2 }, { 0, size + 1 },
		{ UINT64_MAX, 1 }, { 1, UINT64_MAX }, { 1ull << 63, 1ull << 63 },
		{ UINT64_MAX - 7, 16 }, { 1ull << 32, 8 },
	};
	struct rfm_range ranges[3] = { { AT, 8 }, { AT, 8 }, { AT, 8 } };
	struct rfm_watch args = watch_of(ranges);
	unsigned int i;

	args.count = 3;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ranges[2] = bad[i];
		if (!CHECK_REFUSED(pair.near, RFM_IOC_WATCH, args, EINVAL))
			tap_note("range %u", i);
	}
	CHECK_EQ(watches(), 0);
}

static void needs_the_right_to_read(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	int file = open(pair.path, O_WRONLY);

	REQUIRE(file >= 0);
	CHECK_ERRNO(ioctl(file, RFM_IOC_WATCH, &args), EBADF);
	close(file);
}

/* Without a descriptor to spare nothing of the watch stays behind. */
static void no_descriptor_left(void)
{
	struct rlimit old, none;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &old) == 0);
	none = old;
	none.rlim_cur = 0;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK_ERRNO(watch_range(AT, 8), EMFILE);
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK_EQ(watches(), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(as_many_as_there_may_be),
		TAP_CASE(as_many_records_as_there_may_be),
		TAP_CASE(as_many_ranges_as_there_may_be),
		TAP_CASE(as_many_listeners_as_there_may_be),
		TAP_CASE(as_many_slots_as_there_are),
		TAP_CASE(bad_arguments),
		TAP_CASE(bad_ranges),
		TAP_CASE(needs_the_right_to_read),
		TAP_CASE(no_descriptor_left),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
