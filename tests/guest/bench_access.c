// SPDX-License-Identifier: GPL-2.0-only
/*
 * What loads and stores cost, all in one run:
 *
 *	bench_access DEVICE
 *
 * Prints `name value unit` lines; ratios have the unit "times". For the
 * comparison with a store that does nothing it wants a pci-testdev (QEMU's;
 * its BAR0 begins with a register that ignores what is stored). If a burst range
 * covers the first MiB, it compares copies there with copies in RAM.
 *
 *	bench_access DEVICE card|idle COUNT
 *
 * Only stores COUNT times to the card or to that register, for somebody who
 * watches from the host what it costs there.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "card.h"

#define AREA		(1 << 20)
#define LOADS		4000000
#define STORES		200000
#define LONE_STORES	2000
#define LONE_GAP_NS	200000		/* the ring has come to rest by then */
#define PASSES		9
#define COPIES		10

/* --- loads: a walk through the area, each load dependent on nothing ------- */

static uint64_t time_of_loads(const volatile uint64_t *area)
{
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < LOADS; i++)
		(void)area[i * 9 % (AREA / 8)];
	return now_ns() - start;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* In turns, so that what else the host does meets both. */
static void compare_loads(const volatile uint64_t *ram, const volatile uint64_t *card,
			  double *ns_ram, double *ns_card)
{
	uint64_t best_ram = UINT64_MAX, best_card = UINT64_MAX;

	for (int pass = 0; pass < PASSES; pass++) {
		best_ram = smaller(best_ram, time_of_loads(ram));
		best_card = smaller(best_card, time_of_loads(card));
	}
	*ns_ram = (double)best_ram / LOADS;
	*ns_card = (double)best_card / LOADS;
}

/* --- stores --------------------------------------------------------------- */

static double ns_per_store(volatile uint32_t *at)
{
	uint64_t best = UINT64_MAX;

	for (int pass = 0; pass < PASSES; pass++) {
		uint64_t start = now_ns();

		for (unsigned int i = 0; i < STORES; i++)
			*at = i;
		best = smaller(best, now_ns() - start);
	}
	return (double)best / STORES;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double ns_per_lone_store(volatile uint32_t *at)
{
	static uint64_t times[LONE_STORES];

	for (unsigned int i = 0; i < LONE_STORES; i++) {
		uint64_t rest = now_ns() + LONE_GAP_NS, start;

		while (now_ns() < rest)
			;
		start = now_ns();
		*at = i;
		times[i] = now_ns() - start;
	}
	qsort(times, LONE_STORES, sizeof(times[0]), compare);
	return times[LONE_STORES / 2];
}

/* --- copies --------------------------------------------------------------- */

static uint64_t time_of_copy(void *to, const void *from)
{
	uint64_t start = now_ns();

	for (int i = 0; i < COPIES; i++)
		memcpy(to, from, AREA);
	return now_ns() - start;
}

/* Each copy has other bytes than the one before it. */
static void compare_copies(uint8_t *ram, uint8_t *card, uint64_t *ns_ram, uint64_t *ns_card)
{
	uint8_t *from = malloc(AREA);

	*ns_ram = *ns_card = UINT64_MAX;
	for (int pass = 0; from && pass < PASSES; pass++) {
		for (unsigned int i = 0; i < AREA; i++)
			from[i] = i * 7 + pass;
		*ns_ram = smaller(*ns_ram, time_of_copy(ram, from));
		*ns_card = smaller(*ns_card, time_of_copy(card, from));
	}
	free(from);
}

/* --- the register that does nothing --------------------------------------- */

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

static volatile uint32_t *idle_register(void)
{
	char path[512];
	glob_t devices;
	void *map = MAP_FAILED;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		return NULL;
	for (size_t i = 0; i < devices.gl_pathc && map == MAP_FAILED; i++) {
		const char *folder = devices.gl_pathv[i];
		FILE *enable;
		int fd;

		if (!read_hex(folder, "vendor", 0x1b36) || !read_hex(folder, "device", 0x0005))
			continue;
		snprintf(path, sizeof(path), "%s/enable", folder);
		enable = fopen(path, "w");
		if (enable) {
			fputs("1", enable);
			fclose(enable);
		}
		snprintf(path, sizeof(path), "%s/resource0", folder);
		fd = open(path, O_RDWR);
		if (fd >= 0)
			map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	globfree(&devices);
	return map == MAP_FAILED ? NULL : map;
}

static void show(const char *name, double value, const char *unit)
{
	printf("%-28s %10.2f %s\n", name, value, unit);
}

static int only_stores(volatile uint32_t *at, const char *count)
{
	unsigned long n = strtoul(count, NULL, 10);

	if (!at)
		return 1;
	for (unsigned long i = 0; i < n; i++)
		*at = i;
	return 0;
}

int main(int argc, char **argv)
{
	volatile uint32_t *idle = idle_register();
	double ram, card, store, lone;
	struct rfm_info info;
	void *memory, *map;
	int fd;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: bench_access DEVICE [card|idle COUNT]\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR);
	map = fd < 0 ? NULL : card_map(fd, AREA);
	if (argc == 4)
		return only_stores(strcmp(argv[2], "idle") ? map : idle, argv[3]);
	memory = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!map || memory == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	memset(memory, 1, AREA);

	compare_loads(memory, map, &ram, &card);
	show("load_ram", ram, "ns");
	show("load_card", card, "ns");
	show("load_ratio", card / ram, "times");

	if (!card_info(fd, &info) && !info.burst_offset && info.burst_length >= AREA) {
		uint64_t copy_ram, copy_card;

		compare_copies(memory, map, &copy_ram, &copy_card);
		show("copy_ram", (double)copy_ram / COPIES / 1000, "us");
		show("copy_burst", (double)copy_card / COPIES / 1000, "us");
		show("copy_ratio", (double)copy_card / copy_ram, "times");
		return 0;
	}
	store = ns_per_store(map);
	lone = ns_per_lone_store(map);
	show("store_saturated", store, "ns");
	show("store_lone", lone, "ns");
	if (!idle) {
		fprintf(stderr, "bench_access: no pci-testdev to compare stores with\n");
		return 0;
	}
	show("idle_register_saturated", ns_per_store(idle), "ns");
	show("idle_register_lone", ns_per_lone_store(idle), "ns");
	show("store_saturated_ratio", store / ns_per_store(idle), "times");
	show("store_lone_ratio", lone / ns_per_lone_store(idle), "times");
	return 0;
}
