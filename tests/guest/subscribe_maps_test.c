// SPDX-License-Identifier: GPL-2.0-only
/*
 * What mappings hold: as subscribe_test, of which this is the half that maps.
 *
 *	subscribe_maps_test NEAR FAR
 */

#include "subscribe.h"

/* An area is a page here. */
static void a_mapping_holds_its_range(void)
{
	int fd = fresh(O_RDWR);
	void *map;

	REQUIRE(fd >= 0);
	map = map_pages(fd, RW, HERE, 1);
	REQUIRE(map);
	close(fd);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	CHECK_HELD(THERE, 0, 0);
	munmap(map, PAGE);
	CHECK_HELD(HERE, 0, 0);
}

static void a_mapping_holds_what_its_file_may(void)
{
	int fd = fresh(O_RDONLY);
	void *map;

	REQUIRE(fd >= 0);
	map = map_pages(fd, PROT_READ, HERE, 1);
	REQUIRE(map);
	CHECK_HELD(HERE, ~0ull, 0);
	munmap(map, PAGE);
	close(fd);
	CHECK_HELD(HERE, 0, 0);
}

static void no_maps_hold_nothing(void)
{
	int fd = fresh(O_RDWR);
	void *before, *after;

	REQUIRE(fd >= 0);
	before = map_pages(fd, RW, HERE, 1);
	CHECK_EQ(subscribe(fd, 0, 0, NO_MAPS), 0);
	after = map_pages(fd, RW, THERE, 1);
	REQUIRE(before && after);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	CHECK_HELD(THERE, 0, 0);
	/* What is asked for with it counts. */
	CHECK_EQ(take(fd, THERE, 7, 9, RX | NO_MAPS), 0);
	CHECK_HELD(THERE, bits(7, 9), 0);
	munmap(before, PAGE);
	munmap(after, PAGE);
	CHECK_HELD(HERE, 0, 0);
	close(fd);
	CHECK_HELD(THERE, 0, 0);
}

static void a_piece_keeps_the_whole(void)
{
	char *map = map_pages(pair.near, RW, HERE, 3);

	REQUIRE(map);
	munmap(map + PAGE, PAGE);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	CHECK_HELD(THERE, ~0ull, ~0ull);
	munmap(map, PAGE);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	munmap(map + 2 * PAGE, PAGE);
	CHECK_HELD(HERE, 0, 0);
	CHECK_HELD(THERE, 0, 0);
}

static void a_moved_mapping_is_the_same(void)
{
	char *map = map_pages(pair.near, RW, HERE, 2), *moved, *place;

	REQUIRE(map);
	place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(map, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	REQUIRE(moved == place);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	munmap(map + PAGE, PAGE);
	CHECK_HELD(THERE, ~0ull, ~0ull);
	munmap(moved, PAGE);
	CHECK_HELD(HERE, 0, 0);
	CHECK_HELD(THERE, 0, 0);
}

static void a_child_holds_a_copy(void)
{
	void *map = map_pages(pair.near, RW, HERE, 1);
	int ready;
	char byte;
	pid_t pid;

	REQUIRE(map);
	pid = start_holder(&ready);
	REQUIRE(pid > 0 && read(ready, &byte, 1) == 1);
	close(ready);
	munmap(map, PAGE);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	end_holder(pid);
	CHECK_HELD(HERE, 0, 0);
}

static void mappings_and_files_add_up(void)
{
	int fd = fresh(O_RDWR);
	void *map = map_pages(pair.near, RW, HERE, 1);

	REQUIRE(fd >= 0 && map);
	CHECK_EQ(take(fd, HERE, 5, 6, RX), 0);
	munmap(map, PAGE);
	CHECK_HELD(HERE, bits(5, 6), 0);
	map = map_pages(pair.near, RW, HERE, 1);
	REQUIRE(map);
	close(fd);
	CHECK_HELD(HERE, ~0ull, ~0ull);
	munmap(map, PAGE);
	CHECK_HELD(HERE, 0, 0);
}

static void a_watch_receives_its_ranges(void)
{
	struct rfm_range ranges[] = {
		{ HERE + 3 * RFM_GRANULE + 60, 8 }, { HERE + 9 * RFM_GRANULE, 1 },
	};
	struct rfm_watch args = { .ranges = (uintptr_t)ranges, .count = 2 };
	int watch = ioctl(pair.near, RFM_IOC_WATCH, &args);

	REQUIRE(watch >= 0);
	CHECK_HELD(HERE, bits(3, 5) | bits(9, 10), 0);
	CHECK_EQ(take(pair.near, HERE, 4, 6, RX), 0);
	close(watch);
	CHECK_HELD(HERE, bits(4, 6), 0);
	CHECK_EQ(give(pair.near, HERE, 4, 6, RX), 0);
}

/* A mapping that cannot be leaves nothing behind. */
static void a_refused_mapping_holds_nothing(void)
{
	CHECK_ERRNO(mmap(NULL, PAGE, RW, MAP_PRIVATE, pair.near, HERE), EINVAL);
	CHECK_ERRNO(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED,
			 pair.near, HERE), EACCES);
	CHECK_HELD(HERE, 0, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(a_mapping_holds_its_range),
		TAP_CASE(a_mapping_holds_what_its_file_may),
		TAP_CASE(no_maps_hold_nothing),
		TAP_CASE(a_piece_keeps_the_whole),
		TAP_CASE(a_moved_mapping_is_the_same),
		TAP_CASE(a_child_holds_a_copy),
		TAP_CASE(mappings_and_files_add_up),
		TAP_CASE(a_watch_receives_its_ranges),
		TAP_CASE(a_refused_mapping_holds_nothing),
	};

	subscribe_open(argc, argv);
	return TAP_RUN(cases);
}
