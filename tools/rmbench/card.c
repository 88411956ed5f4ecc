// SPDX-License-Identifier: MIT
/*
 * What a card costs: loads, stores, blocks, fences, and the way to another node. The figures take
 * turns, a short pass of each at a time, so that what else the machine does meets all of them.
 */
#include "machines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/rfm.h>

#include "cardline.h"
#include "pci.h"
#include "tools/common/clock.h"

#define BLOCK		(1u << 20)
#define LOADS		40000		/* that are one sample */
#define STORES		2000
#define SATURATED	200000		/* stores until the ring is what they wait for */
#define LONE_GAP_NS	200000		/* it has come to rest by then */
#define STREAM_BLOCKS	16
#define CLOCK_LOOKS	100		/* of which the shortest is what a look costs */
#define NOTHING_AT	4		/* of pci-testdev: no test is chosen there, nor counts there */
#define PASS_NS		60000000ull	/* at least, of what has no better measure */
#define WAY_PASS_NS	400000000ull	/* of a way: it begins with a handshake */
#define FENCE_MS	10000

struct figure;

/* What the passes need. */
struct bench {
	struct bench_place place;
	int node;			/* -1: none */
	char *ram;			/* BLOCK bytes */
	char *block;			/* to copy from and to */
	volatile uint8_t *nothing;	/* a register that ignores what is stored; NULL: none */
	char *ivshmem;			/* NULL: none */
};

/* So many stores to one place, of numbers from @number on. */
typedef void (*store_fn)(struct bench *bench, unsigned int number, unsigned int times);

/**
 * struct figure - one of the things that can be measured
 * @pass: measure it for a while; 0, or -1 with errno
 * @way: of a way to another node
 * @step: part of that
 */
struct figure {
	int (*pass)(struct bench *bench, struct figure *figure, struct bench_samples *samples);
	enum card_way way;
	enum card_step step;
};

/* --- loads and stores -------------------------------------------------------------------- */

static int loads(const volatile uint64_t *area, struct bench_samples *samples)
{
	uint64_t begin = now_ns(), start = begin, now;

	do {
		for (unsigned int i = 0; i < LOADS; i++)
			(void)area[i * 9 % (BLOCK / 8)];
		now = now_ns();
		samples_add(samples, (double)(now - start) / LOADS, LOADS);
		start = now;
	} while (now - begin < PASS_NS);
	return 0;
}

static int ram_loads(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return loads((uint64_t *)bench->ram, samples);
}

static int card_loads(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return loads((uint64_t *)bench->place.memory, samples);
}

static void to_card(struct bench *bench, unsigned int number, unsigned int times)
{
	volatile uint32_t *at = (uint32_t *)bench->place.memory;

	while (times--)
		*at = number++;
}

/* A byte each: pci-testdev takes no more at a time, 4 would be four calls into QEMU. */
static void to_register(struct bench *bench, unsigned int number, unsigned int times)
{
	volatile uint8_t *at = bench->nothing + NOTHING_AT;

	while (times--)
		*at = 0;
}

/* The first quarter does not count: until then there may be room. */
static int stores(struct bench *bench, store_fn store, struct bench_samples *samples)
{
	uint64_t start = now_ns(), now;

	for (unsigned int done = 0; done < SATURATED; done += STORES) {
		store(bench, done, STORES);
		now = now_ns();
		if (done >= SATURATED / 4)
			samples_add(samples, (double)(now - start) / STORES, STORES);
		start = now;
	}
	return 0;
}

static int card_stores(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return stores(bench, to_card, samples);
}

static int register_stores(struct bench *bench, struct figure *figure,
			   struct bench_samples *samples)
{
	return stores(bench, to_register, samples);
}

/* What every time has in it besides: the shortest, as others only add to it. */
static uint64_t clock_ns(void)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < CLOCK_LOOKS; i++) {
		uint64_t start = now_ns(), took = now_ns() - start;

		if (took < shortest)
			shortest = took;
	}
	return shortest;
}

static int lone_stores(struct bench *bench, store_fn store, struct bench_samples *samples)
{
	uint64_t look = clock_ns(), begin = now_ns(), start, now = begin;

	while (now - begin < PASS_NS) {
		while (now_ns() - now < LONE_GAP_NS)
			;
		start = now_ns();
		store(bench, start, 1);
		now = now_ns();
		samples_add(samples, now - start > look ? now - start - look : 0, 1);
	}
	return 0;
}

static int card_lone(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return lone_stores(bench, to_card, samples);
}

static int register_lone(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return lone_stores(bench, to_register, samples);
}

/* --- blocks ------------------------------------------------------------------------------ */

/* By 8 bytes: what a C library copies with, KVM cannot emulate where stores are trapped. */
static void copy_words(char *to, const char *from)
{
	for (size_t i = 0; i < BLOCK / 8; i++)
		((volatile uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

static int copies(struct bench *bench, char *to, bool by_words, struct bench_samples *samples)
{
	uint64_t begin = now_ns(), start = begin, now;

	do {
		if (by_words)
			copy_words(to, bench->block);
		else
			memcpy(to, bench->block, BLOCK);
		/* The compiler must not see that nobody looks. */
		__asm__ volatile ("" : : "r" (to) : "memory");
		now = now_ns();
		samples_add(samples, now - start, 1);
		start = now;
	} while (now - begin < PASS_NS);
	return 0;
}

static int ram_copy(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return copies(bench, bench->ram, false, samples);
}

static int card_copy(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return copies(bench, bench->place.memory, true, samples);
}

static int card_memcpy(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return copies(bench, bench->place.memory, false, samples);
}

static int ivshmem_copy(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return copies(bench, bench->ivshmem, false, samples);
}

static int transfers(struct bench *bench, bool reading, struct bench_samples *samples)
{
	uint64_t begin = now_ns(), start = begin, now;

	do {
		ssize_t moved = reading ?
			pread(bench->place.fd, bench->block, samples->bytes, bench->place.offset) :
			pwrite(bench->place.fd, bench->block, samples->bytes, bench->place.offset);

		if (moved != samples->bytes)
			return -1;
		now = now_ns();
		samples_add(samples, now - start, 1);
		start = now;
	} while (now - begin < PASS_NS);
	return 0;
}

static int writes(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return transfers(bench, false, samples);
}

static int reads(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return transfers(bench, true, samples);
}

/* What a fence has found everywhere. */
static int streams(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	struct rfm_fence_wait wait = { .timeout_ms = FENCE_MS };
	uint64_t start = now_ns();

	for (int i = 0; i < STREAM_BLOCKS; i++)
		if (pwrite(bench->place.fd, bench->block, BLOCK, bench->place.offset) != BLOCK)
			return -1;
	if (ioctl(bench->place.fd, RFM_IOC_FENCE, &wait))
		return -1;
	samples_add(samples, (double)(now_ns() - start) / STREAM_BLOCKS, STREAM_BLOCKS);
	return 0;
}

/* --- the ring ---------------------------------------------------------------------------- */

/* The ring is at rest before each. */
static int fences(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	uint64_t begin = now_ns(), start, now;

	do {
		struct rfm_fence_wait wait = { .timeout_ms = FENCE_MS };

		start = now_ns();
		if (ioctl(bench->place.fd, RFM_IOC_FENCE, &wait))
			return -1;
		now = now_ns();
		samples_add(samples, now - start, 1);
	} while (now - begin < PASS_NS);
	return 0;
}

static int way(struct bench *bench, struct figure *figure, struct bench_samples *samples)
{
	return card_ask(&bench->place, bench->node, figure->way, figure->step,
			WAY_PASS_NS, samples);
}

/* --- all of them ------------------------------------------------------------------------- */

#define SIZES		8		/* of blocks */

enum {
	RAM_LOAD, LOAD, REGISTER, STORE, LONE_REGISTER, LONE_STORE, RAM_COPY, COPY, MEMCPY,
	IVSHMEM_COPY, PWRITE, PREAD = PWRITE + SIZES, STREAM = PREAD + SIZES, FENCE, POLL, WATCH,
	TRANSIT, WAKE, INTERRUPT, FIGURES
};

#define SAMPLES(_name, _what, _bytes, _beside) \
	{ .name = (_name), .what = (_what), .bytes = (_bytes), .beside = (_beside) }
#define BY_SIZE(_name) \
	SAMPLES(_name, _name, 64, NULL), SAMPLES(_name, _name, 256, NULL), \
	SAMPLES(_name, _name, 1024, NULL), SAMPLES(_name, _name, 4096, NULL), \
	SAMPLES(_name, _name, 16384, NULL), SAMPLES(_name, _name, 65536, NULL), \
	SAMPLES(_name, _name, 262144, NULL), SAMPLES(_name, _name, BLOCK, NULL)

_Static_assert(sizeof((struct bench_samples[]){ BY_SIZE("") }) ==
	       SIZES * sizeof(struct bench_samples), "there is a figure for each size");

static struct bench_samples samples[FIGURES] = {
	[RAM_LOAD] = SAMPLES("ram-load", "load from RAM", 8, NULL),
	[LOAD] = SAMPLES("load", "load from the card", 8, &samples[RAM_LOAD]),
	[REGISTER] = SAMPLES("register", "store to a register that does nothing", 1, NULL),
	[STORE] = SAMPLES("store", "store to the card, saturated", 4, &samples[REGISTER]),
	[LONE_REGISTER] = SAMPLES("lone-register", "lone store to such a register", 1, NULL),
	[LONE_STORE] = SAMPLES("lone-store", "lone store to the card", 4, &samples[LONE_REGISTER]),
	[RAM_COPY] = SAMPLES("ram-copy", "memcpy() into RAM", BLOCK, NULL),
	[COPY] = SAMPLES("copy", "stores into the card", BLOCK, &samples[RAM_COPY]),
	[MEMCPY] = SAMPLES("memcpy", "memcpy() into the card", BLOCK, &samples[RAM_COPY]),
	[IVSHMEM_COPY] = SAMPLES("ivshmem-copy", "memcpy() into ivshmem", BLOCK, &samples[RAM_COPY]),
	[PWRITE] = BY_SIZE("pwrite"),
	[PREAD] = BY_SIZE("pread"),
	[STREAM] = SAMPLES("stream", "pwrite() and a fence", BLOCK, NULL),
	[FENCE] = SAMPLES("fence", "fence", 0, NULL),
	[POLL] = SAMPLES("poll", "store until it is seen there", 8, NULL),
	[WATCH] = SAMPLES("watch", "store until a sleeper there runs", 8, NULL),
	[TRANSIT] = SAMPLES("watch-transit", "of that, until the card has it", 8, &samples[WATCH]),
	[WAKE] = SAMPLES("watch-wake", "of that, from driver to program", 8, &samples[WATCH]),
	[INTERRUPT] = SAMPLES("interrupt", "interrupt until a listener there runs", 4,
			      &samples[WATCH]),
};

static struct figure figures[FIGURES] = {
	[RAM_LOAD] = { ram_loads },
	[LOAD] = { card_loads },
	[REGISTER] = { register_stores },
	[STORE] = { card_stores },
	[LONE_REGISTER] = { register_lone },
	[LONE_STORE] = { card_lone },
	[RAM_COPY] = { ram_copy },
	[COPY] = { card_copy },
	[MEMCPY] = { card_memcpy },
	[IVSHMEM_COPY] = { ivshmem_copy },
	[PWRITE ... PREAD - 1] = { writes },
	[PREAD ... STREAM - 1] = { reads },
	[STREAM] = { streams },
	[FENCE] = { fences },
	[POLL] = { way, CARD_POLL },
	[WATCH] = { way, CARD_WATCH },
	[TRANSIT] = { way, CARD_WATCH, CARD_TRANSIT },
	[WAKE] = { way, CARD_WATCH, CARD_WAKE },
	[INTERRUPT] = { way, CARD_INTERRUPT },
};

/* Why it cannot be measured here, or NULL. */
static const char *missing(const struct bench *bench, unsigned int which)
{
	if (figures[which].way != CARD_IDLE && bench->node < 0)
		return "no NODE is given";
	if ((which == REGISTER || which == LONE_REGISTER) && !bench->nothing)
		return "this machine has no pci-testdev, or it is not ours to use";
	if (which == IVSHMEM_COPY && !bench->ivshmem)
		return "this machine has no ivshmem, or it is not ours to use";
	return NULL;
}

/* All figures, but those that are measured only if they are named: rmbench(1) says why. */
static void drop_unnamed(struct bench_samples **wanted, unsigned int *count)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < *count; i++)
		if (wanted[i] != &samples[MEMCPY] && wanted[i] != &samples[IVSHMEM_COPY])
			wanted[left++] = wanted[i];
	*count = left;
}

/* Leaves out what cannot be measured here; what was asked for by name is a failure. */
static int leave_out(const struct bench *bench, const struct bench_options *options,
		     struct bench_samples **wanted, unsigned int *count)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < *count; i++) {
		const char *why = missing(bench, wanted[i] - samples);

		if (!why) {
			wanted[left++] = wanted[i];
			continue;
		}
		fprintf(stderr, "rmbench: without %s: %s\n", wanted[i]->name, why);
		if (options->only)
			return -1;
	}
	*count = left;
	return 0;
}

static int prepare(struct bench *bench, const char *device, uint64_t offset, int node)
{
	if (place_open(&bench->place, device, offset))
		return -1;
	if (node >= 0 && (uint32_t)node == bench->place.node) {
		fprintf(stderr, "rmbench: %s is node %d itself\n", device, node);
		return -1;
	}
	bench->node = node;
	bench->ram = aligned_alloc(4096, BLOCK);
	bench->block = aligned_alloc(4096, BLOCK);
	if (!bench->ram || !bench->block) {
		perror("rmbench");
		return -1;
	}
	memset(bench->ram, 1, BLOCK);
	memset(bench->block, 2, BLOCK);
	return 0;
}

/* Other devices are not touched unless a figure needs them. */
static void map_others(struct bench *bench, struct bench_samples **wanted, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		unsigned int which = wanted[i] - samples;

		if ((which == REGISTER || which == LONE_REGISTER) && !bench->nothing)
			bench->nothing = pci_map(0x1b36, 0x0005, "resource0", 4096);
		if (which == IVSHMEM_COPY)
			bench->ivshmem = pci_map(0x1af4, 0x1110, "resource2_wc", BLOCK);
	}
}

static const char *why_not(unsigned int which)
{
	if (figures[which].way != CARD_IDLE && errno == ETIMEDOUT)
		return "nobody answers; is 'rmbench answer' with the same offset running there?";
	return strerror(errno);
}

int bench_card(const struct bench_options *options, const char *device, uint64_t offset, int node)
{
	struct bench_samples *wanted[FIGURES];
	unsigned int count = bench_choose(options, samples, FIGURES, wanted);
	struct bench bench = { 0 };
	uint64_t end;

	if (!count)
		return 2;
	if (!options->only)
		drop_unnamed(wanted, &count);
	if (prepare(&bench, device, offset, node))
		return 1;
	map_others(&bench, wanted, count);
	if (leave_out(&bench, options, wanted, &count))
		return 1;
	line_start_ticking();
	end = now_ns() + options->seconds * 1e9;
	do {
		for (unsigned int i = 0; i < count; i++) {
			unsigned int which = wanted[i] - samples;

			if (figures[which].pass(&bench, &figures[which], wanted[i])) {
				fprintf(stderr, "rmbench: %s: %s\n", wanted[i]->name,
					why_not(which));
				return 1;
			}
		}
	} while (now_ns() < end);
	return bench_report(options, wanted, count);
}

int bench_card_answer(const char *device, uint64_t offset)
{
	struct bench_place place;

	if (place_open(&place, device, offset))
		return 1;
	card_answer(&place);
	fprintf(stderr, "rmbench: %s: %s\n", device, strerror(errno));
	return 1;
}
