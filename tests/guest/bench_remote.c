// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations at another node take, its own programs or not:
 *
 *	bench_remote DEVICE NODE OFFSET COUNT
 *
 * The word of 8 bytes at OFFSET there must be exported for reading, and that node its home. Prints
 * the medians of so many READ and CAS, which take turns: `read MICROSECONDS`, `cas MICROSECONDS`.
 */
#include <stdint.h>

#include "card.h"

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

int main(int argc, char **argv)
{
	uint64_t word = 0, *times[2];
	struct rfm_operation read = { .op = RFM_OP_READ, .length = sizeof(word) };
	struct rfm_operation cas = { .op = RFM_OP_CAS, .width = sizeof(word) };
	size_t count;
	int fd;

	if (argc != 5) {
		fprintf(stderr, "usage: bench_remote DEVICE NODE OFFSET COUNT\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR);
	read.node = cas.node = strtoul(argv[2], NULL, 0);
	read.offset = cas.offset = strtoull(argv[3], NULL, 0);
	read.data = (uintptr_t)&word;
	count = strtoul(argv[4], NULL, 0);
	for (int i = 0; i < 2; i++)
		times[i] = calloc(count, sizeof(uint64_t));
	for (size_t i = 0; i < count; i++) {
		struct rfm_operation todo[] = { read, cas };

		for (int what = 0; what < 2; what++) {
			uint64_t start = now_ns();

			if (ioctl(fd, RFM_IOC_REMOTE, &todo[what])) {
				perror(argv[1]);
				return 1;
			}
			times[what][i] = now_ns() - start;
		}
	}
	printf("read %.1f\ncas %.1f\n", median_us(times[0], count), median_us(times[1], count));
	return 0;
}
