/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two cards of one machine that are a ring of their own: "near", whose
 * subscriptions and the like are tested, and "far", which is the other node.
 *
 * What near does is seen from what arrives: far stores into every granule of
 * an area, and the granules of near that have changed are those it receives;
 * and the other way round. Nothing here maps near, which would hold something.
 */
#ifndef PAIR_H
#define PAIR_H

#include "tap.h"
#include "card.h"

#define AREA_GRANULES 64u	/* one bit each of a uint64_t */
#define AREA_SIZE (AREA_GRANULES * RFM_GRANULE)

struct pair {
	const char *path;	/* of near */
	int near;		/* open for reading and writing */
	int far;		/* the same, subscribed to everything */
	struct rfm_info info;	/* of near */
	struct rfm_info far_info;
	uint64_t value;		/* never used before */
};

static struct pair pair;

/* The call fails as expected and leaves its argument alone. */
#define CHECK_REFUSED(fd, cmd, arg, expected) ({			\
	typeof(arg) refused_before = (arg);				\
	CHECK_ERRNO(ioctl(fd, cmd, &(arg)), expected) &			\
	CHECK(!memcmp(&refused_before, &(arg), sizeof(arg))); })

/* Addresses that the kernel must not follow. */
__attribute__((unused))
static void check_bad_pointers(int fd, unsigned long cmd, const char *name)
{
	static void *const bad[] = {
		NULL, (void *)8, (void *)0x7ffffffff000, (void *)-4096l,
		(void *)0xffff800000000000,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (!CHECK_ERRNO(ioctl(fd, cmd, bad[i]), EFAULT))
			tap_note("%s with %p", name, bad[i]);
}

/* subscribe() and unsubscribe(): 0 or -1 with errno. */
__attribute__((unused))
static int subscribe(int fd, uint64_t offset, uint64_t length, uint32_t flags)
{
	struct rfm_subscribe args = { { offset, length }, flags, 0, { 0, 0 } };

	return ioctl(fd, RFM_IOC_SUBSCRIBE, &args);
}

__attribute__((unused))
static int unsubscribe(int fd, uint64_t offset, uint64_t length, uint32_t flags)
{
	struct rfm_subscribe args = { { offset, length }, flags, 0, { 0, 0 } };

	return ioctl(fd, RFM_IOC_UNSUBSCRIBE, &args);
}

/* Everything that @fd's card has stored is at the other card; false if not. */
__attribute__((unused))
static bool fence(int fd)
{
	struct rfm_fence_wait args = { .timeout_ms = 30000 };

	if (ioctl(fd, RFM_IOC_FENCE, &args)) {
		tap_note("FENCE: %s", strerror(errno));
		return false;
	}
	if (args.flags)
		tap_note("FENCE: flags %#x, %llu lost", args.flags, args.lost);
	return !args.flags;
}

static bool word_put(int fd, uint64_t offset, uint64_t value)
{
	return pwrite(fd, &value, 8, offset) == 8;
}

static uint64_t word_get(int fd, uint64_t offset)
{
	uint64_t value = 0;

	if (pread(fd, &value, 8, offset) != 8)
		tap_note("pread at %#llx: %s", (unsigned long long)offset,
			 strerror(errno));
	return value;
}

/*
 * Which granules of the area at @offset does @from send to @to, and does @to
 * take? Bit n is granule n. Each granule's last word is used, so that one
 * granule too few or too many shows.
 */
static uint64_t passed(int from, int to, uint64_t offset)
{
	uint64_t base = pair.value, map = 0;
	unsigned int i;

	pair.value += AREA_GRANULES;
	for (i = 0; i < AREA_GRANULES; i++)
		if (!CHECK(word_put(from, offset + i * RFM_GRANULE + 56,
				    base + i)))
			return 0;
	CHECK(fence(from));
	for (i = 0; i < AREA_GRANULES; i++)
		if (word_get(to, offset + i * RFM_GRANULE + 56) == base + i)
			map |= 1ull << i;
	return map;
}

/* What near receives, and what it sends. */
__attribute__((unused))
static uint64_t received(uint64_t offset)
{
	return passed(pair.far, pair.near, offset);
}

__attribute__((unused))
static uint64_t sent(uint64_t offset)
{
	return passed(pair.near, pair.far, offset);
}

/* Opens near and far, the first two arguments. Ends the program without. */
static void pair_open(int argc, char **argv)
{
	const char *far = card_path(argc, argv, 1);

	pair.path = card_path(argc, argv, 0);
	if (!pair.path || !far)
		tap_skip_all("no two cards");
	pair.near = open(pair.path, O_RDWR);
	pair.far = open(far, O_RDWR);
	if (pair.near < 0 || pair.far < 0 || card_info(pair.near, &pair.info) ||
	    card_info(pair.far, &pair.far_info)) {
		tap_note("%s, %s: %s", pair.path, far, strerror(errno));
		exit(TAP_FAIL);
	}
	if (!pair.info.features || !pair.far_info.features)
		tap_skip_all("no extension block");
	if (subscribe(pair.far, 0, pair.far_info.memory_size,
		      RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX)) {
		tap_note("%s: %s", far, strerror(errno));
		exit(TAP_FAIL);
	}
	pair.value = now_ns() << 8;
	/* A file's first fence may tell of what was lost when nobody fenced. */
	ioctl(pair.near, RFM_IOC_FENCE, &(struct rfm_fence_wait){ .timeout_ms = 30000 });
	ioctl(pair.far, RFM_IOC_FENCE, &(struct rfm_fence_wait){ .timeout_ms = 30000 });
}

/* The same, with near subscribed to everything too. */
__attribute__((unused))
static void pair_open_whole(int argc, char **argv)
{
	pair_open(argc, argv);
	if (subscribe(pair.near, 0, pair.info.memory_size,
		      RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX)) {
		tap_note("%s: %s", pair.path, strerror(errno));
		exit(TAP_FAIL);
	}
}

#endif /* PAIR_H */
