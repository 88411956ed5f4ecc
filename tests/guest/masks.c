// SPDX-License-Identifier: GPL-2.0-only
/*
 * Masks that change under full traffic. On two nodes of one ring:
 *
 *	masks write DEVICE OFFSET GRANULES
 *		stores 1, 2, 3, ... into both halves of every word of the area,
 *		round after round, until the other node says stop; two more rounds,
 *		then the number of the last one behind the area
 *	masks change DEVICE OFFSET GRANULES CHANGES SEED
 *		subscribes to ranges of the area and gives them back, CHANGES times;
 *		what is not subscribed must keep its bytes, what is must be complete
 *		after each round, and not torn. Needs the driver with base_policy=none
 *
 * Behind the area there is one granule with the words `round` and `last` (by
 * the writer) and `stop` (by the other). `write` prints "writing" once it does.
 * Both print what they did; exit status 1 says what was wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>

#include "card.h"

#define WORDS		(RFM_GRANULE / 8)
#define BOTH_HALVES	0x0000000100000001ull

struct area {
	volatile uint64_t *words;
	uint64_t granules;
	volatile uint64_t *round;	/* of the writer: rounds that are over */
	volatile uint64_t *last;	/* of the writer: its last round */
	volatile uint64_t *stop;	/* of the reader: it has seen enough */
};

/**
 * struct mask - what the changing node knows of one granule
 * @on: it is subscribed
 * @since: the round that was over when it was subscribed to
 * @kept: its words as they were when it was given back
 */
struct mask {
	bool on;
	uint64_t since;
	uint64_t kept[WORDS];
};

static int complain(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "masks: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	return 1;
}

static int do_write(const struct area *area)
{
	uint64_t round = 0, end = 0, start = now_ns();

	printf("writing\n");
	fflush(stdout);
	while (!end || round < end) {
		if (!end && *area->stop)
			end = round + 2;
		if (!end && now_ns() - start > 2 * PATIENCE_NS)
			return complain("nobody said stop");
		round++;
		for (uint64_t i = 0; i < area->granules * WORDS; i++)
			area->words[i] = round * BOTH_HALVES;
		*area->round = round;
	}
	*area->last = round;
	printf("%" PRIu64 " rounds of %" PRIu64 " granules\n", round, area->granules);
	return 0;
}

static int change(int fd, uint64_t offset, uint64_t first, uint64_t count, bool on)
{
	struct rfm_subscribe args = {
		.range = { offset + first * RFM_GRANULE, count * RFM_GRANULE },
		.flags = RFM_SUBSCRIBE_RX,
	};

	if (ioctl(fd, on ? RFM_IOC_SUBSCRIBE : RFM_IOC_UNSUBSCRIBE, &args))
		return complain("%s: %s", on ? "subscribe" : "unsubscribe", strerror(errno));
	if (args.result)
		return complain("subscribing has no effect: load the driver with base_policy=none");
	return 0;
}

/* A granule that is not subscribed must not have changed since it was given back. */
static int check_kept(const struct area *area, const struct mask *mask, uint64_t granule)
{
	for (unsigned int i = 0; i < WORDS; i++)
		if (area->words[granule * WORDS + i] != mask->kept[i])
			return complain("granule %" PRIu64 " word %u changed from %" PRIu64
					" to %" PRIu64 " although nobody subscribes to it",
					granule, i, mask->kept[i],
					(uint64_t)area->words[granule * WORDS + i]);
	return 0;
}

/*
 * All of a round that is over has come, in every granule that was subscribed
 * before the round began: the number of the round is stored behind it. A word
 * of a later round may be there already; none is torn.
 */
static int check_complete(const struct area *area, const struct mask *mask, uint64_t granule,
			  uint64_t round)
{
	for (unsigned int i = 0; i < WORDS; i++) {
		uint64_t word = area->words[granule * WORDS + i];

		if (word % BOTH_HALVES)
			return complain("granule %" PRIu64 " word %u is torn: 0x%" PRIx64, granule,
					i, word);
		if (round >= mask->since + 2 && word / BOTH_HALVES < round)
			return complain("granule %" PRIu64 " word %u is of round %" PRIu64
					", round %" PRIu64 " is over", granule, i,
					word / BOTH_HALVES, round);
	}
	return 0;
}

static void keep(const struct area *area, struct mask *mask, uint64_t granule)
{
	for (unsigned int i = 0; i < WORDS; i++)
		mask->kept[i] = area->words[granule * WORDS + i];
}

static int flip(int fd, const struct area *area, uint64_t offset, struct mask *masks,
		uint64_t *state)
{
	uint64_t random = random_next(state);
	uint64_t count = 1 + (random >> 8) % 16;
	uint64_t first = (random >> 32) % (area->granules - count + 1);
	bool on = random & 1;
	uint64_t round;

	for (uint64_t g = first; on && g < first + count; g++)
		if (!masks[g].on && check_kept(area, &masks[g], g))
			return 1;
	if (change(fd, offset, first, count, on))
		return 1;
	for (uint64_t g = first; g < first + count; g++) {
		if (on && !masks[g].on)
			masks[g].since = *area->round;
		if (!on && masks[g].on)
			keep(area, &masks[g], g);
		masks[g].on = on;
	}
	round = *area->round;
	for (uint64_t g = 0; g < area->granules; g++)
		if (masks[g].on && check_complete(area, &masks[g], g, round))
			return 1;
	return 0;
}

/* Every other change is made at once, the rest when another round has passed. */
static int wait_for_round(const struct area *area)
{
	uint64_t round = *area->round, start = now_ns();

	while (*area->round == round)
		if (now_ns() - start > 2 * PATIENCE_NS)
			return complain("nobody writes");
	return 0;
}

static int wait_for_last(const struct area *area)
{
	uint64_t start = now_ns();

	*area->stop = 1;
	while (!*area->last)
		if (now_ns() - start > 2 * PATIENCE_NS)
			return complain("the writer does not end");
	return 0;
}

/* All that the writer stored before `last` has come: the ring keeps its order. */
static int check_end(const struct area *area, const struct mask *masks)
{
	uint64_t on = 0;

	for (uint64_t g = 0; g < area->granules; g++) {
		if (!masks[g].on) {
			if (check_kept(area, &masks[g], g))
				return 1;
			continue;
		}
		on++;
		for (unsigned int i = 0; i < WORDS; i++)
			if (area->words[g * WORDS + i] != *area->last * BOTH_HALVES)
				return complain("granule %" PRIu64 " word %u is 0x%" PRIx64
						", the last round was %" PRIu64, g, i,
						(uint64_t)area->words[g * WORDS + i],
						(uint64_t)*area->last);
	}
	printf("%" PRIu64 " granules subscribed at the end, %" PRIu64 " not\n", on,
	       area->granules - on);
	return on && on < area->granules ? 0 : complain("the end shows one kind only");
}

static int do_change(int fd, const struct area *area, uint64_t offset, uint64_t changes,
		     uint64_t seed)
{
	struct mask *masks = calloc(area->granules, sizeof(*masks));
	struct rfm_subscribe board = {
		.range = { offset + area->granules * RFM_GRANULE, RFM_GRANULE },
		.flags = RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX,
	};
	uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;

	if (!masks || ioctl(fd, RFM_IOC_SUBSCRIBE, &board))
		return complain("subscribe: %s", strerror(errno));
	for (uint64_t g = 0; g < area->granules; g++)
		keep(area, &masks[g], g);
	/* What `round` says is old until it comes for the first time. */
	if (wait_for_round(area))
		return 1;
	for (uint64_t i = 0; i < changes; i++)
		if ((i % 2 && wait_for_round(area)) || flip(fd, area, offset, masks, &state))
			return complain("after %" PRIu64 " changes", i);
	if (wait_for_last(area))
		return 1;
	return check_end(area, masks);
}

static int usage(void)
{
	fprintf(stderr, "usage: masks write DEVICE OFFSET GRANULES\n"
			"       masks change DEVICE OFFSET GRANULES CHANGES SEED\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct rfm_subscribe no_maps = { .flags = RFM_SUBSCRIBE_NO_MAPS };
	bool changing = argc == 7 && !strcmp(argv[1], "change");
	struct rfm_info info;
	struct area area;
	uint64_t offset;
	char *map;
	int fd;

	if (!changing && (argc != 5 || strcmp(argv[1], "write")))
		return usage();
	offset = strtoull(argv[3], NULL, 0);
	area.granules = strtoull(argv[4], NULL, 0);
	fd = open(argv[2], O_RDWR);
	if (fd < 0 || card_info(fd, &info))
		return complain("%s: %s", argv[2], strerror(errno));
	/* A mapping would subscribe to all of it. */
	if (changing && ioctl(fd, RFM_IOC_SUBSCRIBE, &no_maps))
		return complain("subscribe: %s", strerror(errno));
	map = card_map(fd, info.window_size);
	if (!map)
		return complain("mmap: %s", strerror(errno));
	area.words = (volatile uint64_t *)(map + offset);
	area.round = area.words + area.granules * WORDS;
	area.last = area.round + 1;
	area.stop = area.last + 1;
	if (changing)
		return do_change(fd, &area, offset, strtoull(argv[5], NULL, 0),
				 strtoull(argv[6], NULL, 0));
	return do_write(&area);
}
