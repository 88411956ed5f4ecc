// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic, and eyes on it. Run on several nodes of one ring:
 *
 *	ringstress write DEVICE OFFSET SIZE COUNT SEED
 *		COUNT stores of 1, 2, 4 or 8 bytes at any alignment in the area
 *	ringstress order DEVICE OFFSET COUNT
 *		stores numbers, first one word then another; for one `read`, for which
 *		it waits now and then, so that however late it looks, it sees some
 *	ringstress read DEVICE OFFSET
 *		until `order` is done, loads its words in the opposite order: the
 *		second must never be ahead of the first, and no word be torn
 *	ringstress sum DEVICE OFFSET SIZE
 *		prints a hash of the area, to compare the nodes
 *
 * OFFSET and SIZE are multiples of 4096. `read` prints "ready" once it looks.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "card.h"

#define AWAITED		512	/* one number of so many */

/* Where `order` stores, one cache line each. */
struct board {
	volatile uint64_t first;	/* n, stored before second */
	char pad1[56];
	volatile uint64_t second;	/* n */
	char pad2[56];
	volatile uint64_t wide;		/* n in both halves */
	char pad3[56];
	volatile uint32_t half;		/* n in both halves */
	char pad4[60];
	volatile uint16_t quarter;	/* n in both halves */
	char pad5[62];
	volatile uint64_t runs;		/* how many runs are over */
	char pad6[56];
	volatile uint64_t seen;		/* by `read`: the last number that is awaited */
};

struct unaligned {
	uint64_t u64;
} __attribute__((packed));

struct unaligned32 {
	uint32_t u32;
} __attribute__((packed));

struct unaligned16 {
	uint16_t u16;
} __attribute__((packed));

static void store(void *at, unsigned int width, uint64_t value)
{
	switch (width) {
	case 1:
		*(volatile uint8_t *)at = value;
		break;
	case 2:
		((volatile struct unaligned16 *)at)->u16 = value;
		break;
	case 4:
		((volatile struct unaligned32 *)at)->u32 = value;
		break;
	case 8:
		((volatile struct unaligned *)at)->u64 = value;
		break;
	}
}

static int do_write(char *area, uint64_t size, uint64_t count, uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1, start;
	uint8_t *shadow = malloc(size);

	if (!shadow)
		return 1;
	for (uint64_t i = 0; i < size; i += 8)
		*(uint64_t *)(shadow + i) = *(volatile uint64_t *)(area + i);
	start = now_ns();
	for (uint64_t i = 0; i < count; i++) {
		uint64_t r = random_next(&state), value = random_next(&state);
		unsigned int width = 1u << (r & 3);
		uint64_t at = (r >> 8) % (size - width + 1);

		store(area + at, width, value);
		store(shadow + at, width, value);
	}
	printf("%" PRIu64 " stores, %" PRIu64 " ns each\n", count, (now_ns() - start) / count);
	for (uint64_t i = 0; i < size; i += 8)
		if (*(uint64_t *)(shadow + i) != *(volatile uint64_t *)(area + i)) {
			fprintf(stderr, "ringstress: own memory differs at +0x%" PRIx64 "\n", i);
			return 1;
		}
	return 0;
}

static bool await_reader(const struct board *board, uint64_t number)
{
	uint64_t start = now_ns();

	while (board->seen != number) {
		if (now_ns() - start > PATIENCE_NS) {
			fprintf(stderr, "ringstress: nobody reads\n");
			return false;
		}
	}
	return true;
}

static int do_order(struct board *board, uint64_t count)
{
	uint64_t from = board->first;

	for (uint64_t n = from + 1; n <= from + count; n++) {
		board->first = n;
		board->second = n;
		board->wide = (uint64_t)(uint32_t)n << 32 | (uint32_t)n;
		board->half = (uint32_t)(uint16_t)n << 16 | (uint16_t)n;
		board->quarter = (uint16_t)((uint8_t)n << 8 | (uint8_t)n);
		if (n % AWAITED == 0 && !await_reader(board, n))
			return 1;
	}
	board->runs++;
	return 0;
}

static int do_read(struct board *board)
{
	uint64_t run = board->runs, last = board->second, start = now_ns();
	uint64_t news = 0, ahead = 0, torn = 0, looks = 0;

	printf("ready\n");
	fflush(stdout);
	while (board->runs == run) {
		uint64_t second = board->second, first = board->first;
		uint64_t wide = board->wide;
		uint32_t half = board->half;
		uint16_t quarter = board->quarter;

		news += second != last;
		if (second != last && second % AWAITED == 0)
			board->seen = second;
		last = second;
		ahead += first < second;
		torn += (uint32_t)wide != wide >> 32;
		torn += (uint16_t)half != half >> 16;
		torn += (uint8_t)quarter != quarter >> 8;
		if (!(++looks % 1000000) && now_ns() - start > PATIENCE_NS * 5) {
			fprintf(stderr, "ringstress: the writer does not come to an end\n");
			return 1;
		}
	}
	printf("looked %" PRIu64 " times, saw %" PRIu64 " changes: %" PRIu64
	       " out of order, %" PRIu64 " torn\n", looks, news, ahead, torn);
	return ahead || torn || news < 100;
}

/* FNV-1a over 64-bit words. */
static int do_sum(const char *area, uint64_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (uint64_t i = 0; i < size; i += 8) {
		hash ^= *(const volatile uint64_t *)(area + i);
		hash *= 0x100000001b3ull;
	}
	printf("%016" PRIx64 "\n", hash);
	return 0;
}

static void *map_area(const char *device, uint64_t offset, uint64_t size)
{
	int fd = open(device, O_RDWR);
	void *map = MAP_FAILED;

	if (fd >= 0)
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (map == MAP_FAILED) {
		perror(device);
		exit(1);
	}
	return map;
}

int main(int argc, char **argv)
{
	uint64_t number[4] = { 0 };	/* what follows DEVICE */

	for (int i = 3; i < argc && i < 7; i++)
		number[i - 3] = strtoull(argv[i], NULL, 0);
	if (argc == 7 && !strcmp(argv[1], "write"))
		return do_write(map_area(argv[2], number[0], number[1]), number[1], number[2],
				number[3]);
	if (argc == 5 && !strcmp(argv[1], "order"))
		return do_order(map_area(argv[2], number[0], 4096), number[1]);
	if (argc == 4 && !strcmp(argv[1], "read"))
		return do_read(map_area(argv[2], number[0], 4096));
	if (argc == 5 && !strcmp(argv[1], "sum"))
		return do_sum(map_area(argv[2], number[0], number[1]), number[1]);
	fprintf(stderr, "usage: ringstress write DEVICE OFFSET SIZE COUNT SEED\n"
			"       ringstress order DEVICE OFFSET COUNT\n"
			"       ringstress read  DEVICE OFFSET\n"
			"       ringstress sum   DEVICE OFFSET SIZE\n");
	return 2;
}
