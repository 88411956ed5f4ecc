// SPDX-License-Identifier: GPL-2.0-only
/* mmap(): what may be mapped, how, and what a mapping does. Wants one card. */

#include <sys/wait.h>

#include "tap.h"
#include "card.h"

#define PAGE 4096ul
#define RW (PROT_READ | PROT_WRITE)

static const char *path;
static int card;
static struct rfm_info info;
static volatile uint8_t *map;	/* the whole window */

/* Writes and reads one value of the given width at any address. */
static void put(volatile void *at, unsigned int width, uint64_t value)
{
	switch (width) {
	case 1:
		*(volatile uint8_t *)at = value;
		break;
	case 2:
		*(volatile uint16_t *)at = value;
		break;
	case 4:
		*(volatile uint32_t *)at = value;
		break;
	case 8:
		*(volatile uint64_t *)at = value;
		break;
	}
}

static uint64_t get(const volatile void *at, unsigned int width)
{
	switch (width) {
	case 1:
		return *(const volatile uint8_t *)at;
	case 2:
		return *(const volatile uint16_t *)at;
	case 4:
		return *(const volatile uint32_t *)at;
	default:
		return *(const volatile uint64_t *)at;
	}
}

/*
 * Every width at every alignment, also across a page boundary: exactly its
 * bytes change, seen through the mapping and through pread().
 */
static void stores_change_their_bytes(void)
{
	enum { AREA = 64 };
	static const size_t areas[] = { 0, PAGE - 32, 16 * PAGE - 32 };
	uint8_t shadow[AREA], seen[AREA];
	unsigned int area, width, offset, i;
	uint64_t seed = 42;

	for (area = 0; area < ARRAY_SIZE(areas); area++) {
		volatile uint8_t *at = map + areas[area];

		for (i = 0; i < AREA; i++)
			at[i] = shadow[i] = 0x11;
		for (width = 1; width <= 8; width *= 2) {
			for (offset = 0; offset + width <= AREA; offset++) {
				uint64_t value = random_next(&seed);

				put(at + offset, width, value);
				memcpy(shadow + offset, &value, width);
				for (i = 0; i < AREA; i++)
					seen[i] = at[i];
				if (!CHECK(!memcmp(seen, shadow, AREA)))
					tap_note("width %u offset %u area %zu",
						 width, offset, areas[area]);
				value = 0;
				memcpy(&value, shadow + offset, width);
				CHECK_EQ(get(at + offset, width), value);
			}
		}
		CHECK_EQ(pread(card, seen, AREA, areas[area]), AREA);
		CHECK(!memcmp(seen, shadow, AREA));
	}
}

static void first_and_last_byte(void)
{
	uint8_t byte;

	map[0] = 0x5a;
	map[info.window_size - 1] = 0xc3;
	CHECK_EQ(map[0], 0x5a);
	CHECK_EQ(map[info.window_size - 1], 0xc3);
	CHECK_EQ(pread(card, &byte, 1, info.window_size - 1), 1);
	CHECK_EQ(byte, 0xc3);
}

/* The file offset is the offset in the card's memory. */
static void offset_selects_the_page(void)
{
	static const uint64_t pages[] = { 0, 1, 15, 16, 17, 100 };
	unsigned int i;
	void *one;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		one = mmap(NULL, PAGE, RW, MAP_SHARED, card, pages[i] * PAGE);
		REQUIRE(one != MAP_FAILED);
		map[pages[i] * PAGE + 8] = 0x40 + i;
		CHECK_EQ(((volatile uint8_t *)one)[8], 0x40 + i);
		((volatile uint8_t *)one)[9] = 0x80 + i;
		CHECK_EQ(map[pages[i] * PAGE + 9], 0x80 + i);
		munmap(one, PAGE);
	}
	one = mmap(NULL, PAGE, RW, MAP_SHARED, card, info.window_size - PAGE);
	REQUIRE(one != MAP_FAILED);
	((volatile uint8_t *)one)[PAGE - 1] = 0x77;
	CHECK_EQ(map[info.window_size - 1], 0x77);
	munmap(one, PAGE);
}

static void *try_map(int fd, size_t len, int prot, int flags, uint64_t offset)
{
	return mmap(NULL, len, prot, flags, fd, offset);
}

static void past_the_end(void)
{
	uint64_t size = info.window_size;

	CHECK_ERRNO(try_map(card, PAGE, RW, MAP_SHARED, size), EINVAL);
	CHECK_ERRNO(try_map(card, 2 * PAGE, RW, MAP_SHARED, size - PAGE), EINVAL);
	CHECK_ERRNO(try_map(card, size + PAGE, RW, MAP_SHARED, 0), EINVAL);
	CHECK_ERRNO(try_map(card, size, RW, MAP_SHARED, PAGE), EINVAL);
	CHECK_ERRNO(try_map(card, PAGE, RW, MAP_SHARED, 1ull << 40), EINVAL);
	CHECK_ERRNO(try_map(card, 2 * PAGE, RW, MAP_SHARED,
			    0x7ffffffffffff000 - PAGE), EINVAL);
	CHECK_ERRNO(try_map(card, PAGE, RW, MAP_SHARED, 0x7ffffffffffff000),
		    EINVAL);
}

static void private_is_refused(void)
{
	int reader = open(path, O_RDONLY);

	CHECK_ERRNO(try_map(card, PAGE, RW, MAP_PRIVATE, 0), EINVAL);
	CHECK_ERRNO(try_map(card, PAGE, PROT_READ, MAP_PRIVATE, 0), EINVAL);
	CHECK_ERRNO(try_map(reader, PAGE, RW, MAP_PRIVATE, 0), EINVAL);
	CHECK_ERRNO(try_map(reader, PAGE, PROT_READ, MAP_PRIVATE, 0), EINVAL);
	close(reader);
}

static void exec_is_refused(void)
{
	void *one;

	CHECK_ERRNO(try_map(card, PAGE, RW | PROT_EXEC, MAP_SHARED, 0), EACCES);
	CHECK_ERRNO(try_map(card, PAGE, PROT_EXEC, MAP_SHARED, 0), EACCES);

	one = mmap(NULL, PAGE, RW, MAP_SHARED, card, 0);
	REQUIRE(one != MAP_FAILED);
	CHECK_ERRNO(mprotect(one, PAGE, PROT_READ | PROT_EXEC), EACCES);
	/* Nothing changed: it can still be written. */
	CHECK_EQ(FAULT_OF(*(volatile uint8_t *)one = 1), 0);
	munmap(one, PAGE);
}

static void read_only_files(void)
{
	int reader = open(path, O_RDONLY);
	volatile uint8_t *one;

	REQUIRE(reader >= 0);
	CHECK_ERRNO(try_map(reader, PAGE, RW, MAP_SHARED, 0), EACCES);
	one = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, reader, 0);
	REQUIRE(one != MAP_FAILED);
	map[3] = 0x99;
	CHECK_EQ(one[3], 0x99);
	CHECK_EQ(FAULT_OF(one[3] = 1), SIGSEGV);
	CHECK_ERRNO(mprotect((void *)one, PAGE, RW), EACCES);
	CHECK_EQ(map[3], 0x99);
	munmap((void *)one, PAGE);
	close(reader);
}

static void mremap_cannot_grow(void)
{
	void *four = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, card,
			  info.window_size - 4 * PAGE);
	void *moved;

	REQUIRE(four != MAP_FAILED);
	CHECK_ERRNO(mremap(four, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE), EFAULT);
	CHECK_ERRNO(mremap(four, 0, 8 * PAGE, MREMAP_MAYMOVE), EFAULT);
	((volatile uint8_t *)four)[0] = 0x21;

	/* Shrinking and moving keep what is mapped where. */
	moved = mremap(four, 4 * PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	REQUIRE(moved != MAP_FAILED);
	CHECK_EQ(*(volatile uint8_t *)moved, 0x21);
	munmap(moved, 2 * PAGE);
}

/* Protection changed and pages dropped: the same memory comes back. */
static void pages_come_back(void)
{
	volatile uint8_t *two = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, card, 0);

	REQUIRE(two != MAP_FAILED);
	two[0] = 0x31;
	two[PAGE] = 0x32;
	CHECK_EQ(mprotect((void *)two, PAGE, PROT_NONE), 0);
	CHECK_EQ(FAULT_OF((void)two[0]), SIGSEGV);
	CHECK_EQ(two[PAGE], 0x32);
	CHECK_EQ(mprotect((void *)two, PAGE, RW), 0);
	CHECK_EQ(two[0], 0x31);
	madvise((void *)two, 2 * PAGE, MADV_DONTNEED);
	CHECK_EQ(two[0], 0x31);
	two[0] = 0x33;
	CHECK_EQ(map[0], 0x33);
	munmap((void *)two, 2 * PAGE);
}

static void mapping_outlives_its_descriptor(void)
{
	int fd = open(path, O_RDWR);
	volatile uint8_t *one;

	REQUIRE(fd >= 0);
	one = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0);
	close(fd);
	REQUIRE(one != MAP_FAILED);
	one[5] = 0x55;
	CHECK_EQ(map[5], 0x55);
	munmap((void *)one, PAGE);
}

/* A child shares the mapping, pages touched and untouched. */
static void fork_shares_the_mapping(void)
{
	volatile uint8_t *two = mmap(NULL, 32 * PAGE, RW, MAP_SHARED, card, 0);
	int status;
	pid_t pid;

	REQUIRE(two != MAP_FAILED);
	two[0] = 1;
	two[31 * PAGE] = 1;
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		two[0] = 2;
		two[31 * PAGE] = 2;
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(two[0], 2);
	CHECK_EQ(two[31 * PAGE], 2);
	munmap((void *)two, 32 * PAGE);
}

/* How the kernel describes the mapping: device memory that nothing dumps. */
static void flags_of_the_mapping(void)
{
	static const char *const wanted[] = { "io", "pf", "de", "dd", "sh" };
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[512], flags[512] = "";
	bool here = false;
	unsigned int i;

	REQUIRE(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from == (unsigned long)map;
		else if (here && !strncmp(line, "VmFlags:", 8))
			strcpy(flags, line + 8);
	}
	fclose(smaps);
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		char word[8];

		snprintf(word, sizeof(word), " %s ", wanted[i]);
		if (!CHECK(strstr(flags, word)))
			tap_note("\"%s\" is not in \"%s\"", wanted[i], flags);
	}
	CHECK(!strstr(flags, " me "));
}

/* Two threads' worth of torn values would show here within a moment. */
static void aligned_stores_are_whole(void)
{
	volatile uint64_t *word = (volatile uint64_t *)(map + 2 * PAGE);
	unsigned long i, torn = 0;
	int status;
	pid_t pid;

	*word = 0;
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		for (i = 0; i < 50000; i++)
			*word = i & 1 ? ~0ull : 0;
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		for (i = 0; i < 1000; i++) {
			uint64_t value = *word;

			torn += value && ~value;
		}
	}
	CHECK_EQ(torn, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(stores_change_their_bytes),
		TAP_CASE(first_and_last_byte),
		TAP_CASE(offset_selects_the_page),
		TAP_CASE(past_the_end),
		TAP_CASE(private_is_refused),
		TAP_CASE(exec_is_refused),
		TAP_CASE(read_only_files),
		TAP_CASE(mremap_cannot_grow),
		TAP_CASE(pages_come_back),
		TAP_CASE(mapping_outlives_its_descriptor),
		TAP_CASE(fork_shares_the_mapping),
		TAP_CASE(flags_of_the_mapping),
		TAP_CASE(aligned_stores_are_whole),
	};

	path = card_path(argc, argv, 0);
	if (!path)
		tap_skip_all("no card");
	card = open(path, O_RDWR);
	if (card < 0 || card_info(card, &info)) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	map = card_map(card, info.window_size);
	if (!map) {
		tap_note("mmap: %s", strerror(errno));
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}
