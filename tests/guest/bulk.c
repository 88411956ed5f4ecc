// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast large blocks go, all in one run:
 *
 *	bulk DEVICE OFFSET
 *
 * Writes blocks of 1 MiB at OFFSET: by pwrite(), and by memcpy() into a mapping
 * of the card; reads them by pread(); writes one by memcpy() into the memory of
 * an ivshmem-plain device, if the machine has one. The ways take turns, and of
 * each the best pass counts. Prints `name value unit` lines. What is written
 * last is a pattern that the other nodes of the ring can check:
 *
 *	bulk DEVICE OFFSET check
 *
 * exits with 1 and one sentence if it is not there.
 *
 *	bulk DEVICE OFFSET sizes
 *
 * prints `name bytes us` lines instead: what a call of pwrite() and of pread()
 * takes for blocks of all sizes.
 */
#include <errno.h>
#include <stdbool.h>

#include "card.h"

#define BLOCK		(1u << 20)
#define PASSES		7
#define PASS_NS		150000000ull	/* at least, of one way */
#define SMALLEST	64
#define SHORT_PASSES	40		/* short ones, so that in some nothing else ran */
#define SHORT_PASS_NS	3000000ull
#define PATTERN_SEED	0x5565ull

/* One way to move @len bytes; @place is a mapping, or the offset in a file. */
struct way {
	const char *name;
	bool (*move)(const struct way *way, size_t len);
	int fd;
	char *place;
	uint64_t offset;
	double best;			/* bytes a ns */
};

static char *block;

static bool by_pwrite(const struct way *way, size_t len)
{
	return pwrite(way->fd, block, len, way->offset) == (ssize_t)len;
}

static bool by_pread(const struct way *way, size_t len)
{
	return pread(way->fd, block, len, way->offset) == (ssize_t)len;
}

static bool by_memcpy(const struct way *way, size_t len)
{
	memcpy(way->place + way->offset, block, len);
	return true;
}

/* Bytes a ns, or 0 if it failed; in a pass of at least so many ns. */
static double speed(const struct way *way, size_t len, uint64_t pass_ns)
{
	uint64_t start = now_ns(), bytes = 0, took;

	do {
		if (!way->move(way, len))
			return 0;
		bytes += len;
		took = now_ns() - start;
	} while (took < pass_ns);
	return (double)bytes / took;
}

static void fill(uint64_t state)
{
	for (size_t i = 0; i < BLOCK / 8; i++)
		((uint64_t *)block)[i] = random_next(&state);
}

static bool compare_ways(struct way *ways, size_t count)
{
	for (int pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < count; i++) {
			double now;

			if (!ways[i].name)
				continue;
			now = speed(&ways[i], BLOCK, PASS_NS);
			if (!now) {
				fprintf(stderr, "bulk: %s: %s\n", ways[i].name, strerror(errno));
				return false;
			}
			if (now > ways[i].best)
				ways[i].best = now;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (ways[i].name)
			printf("%-20s %10.1f MB/s\n", ways[i].name, ways[i].best * 1000);
	return true;
}

/* What one call costs, by size; the best pass counts. */
static bool sizes(const struct way *way)
{
	for (size_t len = SMALLEST; len <= BLOCK; len *= 2) {
		double best = 0;

		for (int pass = 0; pass < SHORT_PASSES; pass++) {
			double now = speed(way, len, SHORT_PASS_NS);

			if (!now)
				return false;
			if (now > best)
				best = now;
		}
		printf("%s %zu %.2f\n", way->name, len, len / best / 1000);
	}
	return true;
}

static bool read_hex(const char *folder, const char *name, unsigned int wanted)
{
	char path[512];
	unsigned int value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%x", &value) != 1)
		value = 0;
	fclose(file);
	return value == wanted;
}

/* The memory of the first ivshmem device, or NULL. */
static char *ivshmem(void)
{
	char path[512];
	char *map = NULL;
	glob_t devices;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		return NULL;
	for (size_t i = 0; i < devices.gl_pathc && !map; i++) {
		const char *folder = devices.gl_pathv[i];
		int fd;

		if (!read_hex(folder, "vendor", 0x1af4) || !read_hex(folder, "device", 0x1110))
			continue;
		snprintf(path, sizeof(path), "%s/enable", folder);
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, "1", 1) != 1)
			perror(path);
		if (fd >= 0)
			close(fd);
		snprintf(path, sizeof(path), "%s/resource2_wc", folder);
		fd = open(path, O_RDWR);
		map = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			map = NULL;
		if (fd >= 0)
			close(fd);
	}
	globfree(&devices);
	return map;
}

static int check(const char *memory)
{
	fill(PATTERN_SEED);
	for (size_t i = 0; i < BLOCK; i++)
		if (memory[i] != block[i]) {
			fprintf(stderr, "bulk: byte 0x%zx of the block is 0x%02x and not 0x%02x\n",
				i, (uint8_t)memory[i], (uint8_t)block[i]);
			return 1;
		}
	return 0;
}

int main(int argc, char **argv)
{
	bool checking = argc == 4 && !strcmp(argv[3], "check");
	bool sizing = argc == 4 && !strcmp(argv[3], "sizes");
	struct rfm_info info;
	uint64_t offset;
	char *map, *other;
	int fd;

	if (argc != 3 && !checking && !sizing) {
		fprintf(stderr, "usage: bulk DEVICE OFFSET [check | sizes]\n");
		return 2;
	}
	offset = strtoull(argv[2], NULL, 0);
	fd = open(argv[1], O_RDWR);
	block = aligned_alloc(4096, BLOCK);
	if (!block || fd < 0 || card_info(fd, &info) || offset > info.window_size - BLOCK) {
		fprintf(stderr, "bulk: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	map = card_map(fd, info.window_size);
	if (!map) {
		fprintf(stderr, "bulk: mmap: %s\n", strerror(errno));
		return 1;
	}
	if (checking)
		return check(map + offset);

	/* Not the pattern: what is written last has to arrive to be found. */
	fill(~PATTERN_SEED);
	other = ivshmem();
	struct way ways[] = {
		{ .name = "pwrite", .move = by_pwrite, .fd = fd, .offset = offset },
		{ .name = "pread", .move = by_pread, .fd = fd, .offset = offset },
		{ .name = "memcpy", .move = by_memcpy, .place = map, .offset = offset },
		{ .name = other ? "memcpy_ivshmem" : NULL, .move = by_memcpy, .place = other },
	};

	if (sizing)
		return !sizes(&ways[0]) || !sizes(&ways[1]);
	if (!compare_ways(ways, 4))
		return 1;
	fill(PATTERN_SEED);
	return by_pwrite(&ways[0], BLOCK) ? 0 : 1;
}
