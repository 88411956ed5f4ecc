// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations at another node take.
 *
 *	bench_remote DEVICE NODE OFFSET COUNT
 *
 * Prints the medians of so many READ and CAS, which take turns, of the word of 8 bytes at OFFSET
 * there, which must be exported for reading, and that node its home: `read MICROSECONDS`,
 * `cas MICROSECONDS`.
 *
 *	bench_remote DEVICE NODE OFFSET COUNT sleep|poll
 *
 * Runs on both nodes. Each writes to a region of the other, in turns, and sleeps until something is
 * written to its own, or looks at it all the time. Their keys they tell each other by stores at
 * OFFSET. The node with the lower number prints half of the median turn: `sleep MICROSECONDS`.
 */
#include <stdbool.h>

#include "card.h"

static int fd;

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median_us(uint64_t *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare);
	return times[count / 2] / 1000.0;
}

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static void reads_and_swaps(uint32_t node, uint64_t offset, size_t count)
{
	uint64_t *times[2], word = 0;

	for (int i = 0; i < 2; i++)
		times[i] = calloc(count, sizeof(uint64_t));
	for (size_t i = 0; i < count; i++) {
		struct rfm_operation todo[] = {
			{ .op = RFM_OP_READ, .node = node, .offset = offset,
			  .data = (uintptr_t)&word, .length = sizeof(word) },
			{ .op = RFM_OP_CAS, .node = node, .offset = offset, .width = sizeof(word) },
		};

		for (int what = 0; what < 2; what++) {
			uint64_t start = now_ns();

			check(ioctl(fd, RFM_IOC_REMOTE, &todo[what]), "REMOTE");
			times[what][i] = now_ns() - start;
		}
	}
	printf("read %.1f\ncas %.1f\n", median_us(times[0], count), median_us(times[1], count));
}

/* --- turns -------------------------------------------------------------------- */

static volatile uint64_t memory[512];

static void give(uint32_t node, uint32_t key, uint64_t turn)
{
	struct rfm_operation args = {
		.op = RFM_OP_WRITE, .node = node, .key = key, .data = (uintptr_t)&turn,
		.length = sizeof(turn),
	};

	check(ioctl(fd, RFM_IOC_REMOTE, &args), "REMOTE");
}

static void wait_for(int region, bool sleeps, uint64_t turn)
{
	struct rfm_event event;

	while (memory[0] != turn)
		if (sleeps)
			check(read(region, &event, sizeof(event)) != sizeof(event), "read");
}

static void turns(uint32_t own, uint32_t node, uint64_t offset, size_t count, const char *how)
{
	const bool sleeps = !strcmp(how, "sleep");
	struct rfm_memory_region args = {
		.address = (uintptr_t)memory, .length = sizeof(memory),
		.flags = RFM_MEMORY_WRITE | (sleeps ? RFM_MEMORY_WATCH : 0),
	};
	volatile uint32_t *keys = card_map(fd, offset + 4096);
	uint64_t *times = calloc(count, sizeof(*times)), start;
	int region = ioctl(fd, RFM_IOC_REGION, &args);
	uint32_t key;

	check(region < 0, "REGION");
	check(!keys, "mmap");
	keys += offset / 4;
	keys[own > node] = args.key;
	while (!(key = keys[own < node]))
		sleep_ms(1);
	for (size_t turn = 1; turn <= count; turn++) {
		start = now_ns();
		if (own < node)
			give(node, key, turn);
		wait_for(region, sleeps, turn);
		times[turn - 1] = now_ns() - start;
		if (own > node)
			give(node, key, turn);
	}
	if (own < node)
		printf("%s %.1f\n", how, median_us(times, count) / 2);
}

int main(int argc, char **argv)
{
	struct rfm_info info;
	uint32_t node;
	uint64_t offset;
	size_t count;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: bench_remote DEVICE NODE OFFSET COUNT [sleep|poll]\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR);
	check(fd < 0 || card_info(fd, &info), argv[1]);
	node = strtoul(argv[2], NULL, 0);
	offset = strtoull(argv[3], NULL, 0);
	count = strtoul(argv[4], NULL, 0);
	if (argc == 5)
		reads_and_swaps(node, offset, count);
	else
		turns(info.node, node, offset, count, argv[5]);
	return 0;
}
