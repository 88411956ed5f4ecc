// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores to a burst range, for the tests of several machines:
 *
 *	burst DEVICE bytes AT SIZE FIRST COUNT
 *
 * Every other byte from the FIRST on, COUNT times, in turn with the other bytes
 * of the same words by somebody else; the last time each is FIRST + 1.
 *
 *	burst DEVICE copy AT SIZE SEED
 *
 * By the widest stores that the CPU has; says which.
 *
 *	burst DEVICE check AT SIZE SEED
 *	burst DEVICE check-bytes AT SIZE
 *
 * Is that what is there?
 */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "card.h"

static uint8_t pattern(size_t i, unsigned int seed)
{
	return (i * 2654435761u + seed * 40503u) >> 13 ^ seed;
}

#if defined(__x86_64__)
__attribute__((target("avx")))
static void copy_wide(uint8_t *to, const uint8_t *from, size_t size)
{
	for (size_t i = 0; i < size; i += 32)
		_mm256_store_si256((__m256i *)(to + i),
				   _mm256_loadu_si256((const __m256i *)(from + i)));
}
#endif

static void copy(uint8_t *to, size_t size, unsigned int seed)
{
	uint8_t *from = malloc(size);

	if (!from)
		exit(1);
	for (size_t i = 0; i < size; i++)
		from[i] = pattern(i, seed);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx")) {
		copy_wide(to, from, size);
		puts("avx");
		free(from);
		return;
	}
#endif
	memcpy(to, from, size);
	puts("memcpy");
	free(from);
}

static void store_bytes(volatile uint8_t *to, size_t size, unsigned int first, unsigned int count)
{
	for (unsigned int n = count; n--;)
		for (size_t i = first; i < size; i += 2)
			to[i] = first + 1 + n;
}

static int check(const volatile uint8_t *at, size_t size, const char *seed)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t want = seed ? pattern(i, atoi(seed)) : i % 2 + 1;

		if (at[i] != want) {
			printf("byte %#zx is %#x, not %#x\n", i, at[i], want);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 4 ? argv[2] : "";
	size_t at, size;
	uint8_t *map;
	int fd;

	if (argc < 5) {
		fprintf(stderr, "usage: burst DEVICE bytes|copy|check|check-bytes AT SIZE ...\n");
		return 2;
	}
	at = strtoul(argv[3], NULL, 0);
	size = strtoul(argv[4], NULL, 0);
	fd = open(argv[1], O_RDWR);
	map = fd < 0 ? NULL : card_map(fd, at + size);
	if (!map) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(what, "bytes") && argc == 7)
		store_bytes(map + at, size, atoi(argv[5]), atoi(argv[6]));
	else if (!strcmp(what, "copy") && argc == 6)
		copy(map + at, size, atoi(argv[5]));
	else
		return check(map + at, size, argc > 5 ? argv[5] : NULL);
	return 0;
}
