// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three-node causality: who sees the answer has the word that it answers.
 *
 *	causality ROLE DEVICE OFFSET ROUNDS
 *
 * Role 1 stores word n and waits for answer n; role 2, on another node, stores
 * answer n when it sees word n; role 3, on a third, loads the answer and then
 * the word, and must never find the answer ahead of it. Now and then role 1
 * waits until role 3 has seen an answer, too. Start 3 and 2 first: each prints
 * "ready". Values carry the number of the run, so that what an earlier one left
 * behind does no harm.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "card.h"

#define SPINS		5000		/* looks before giving the CPU away */
#define AWAITED		50		/* one answer of so many is seen by role 3 */

static volatile uint64_t *word, *answer, *seen_last;

static uint64_t value(uint64_t run, uint64_t round)
{
	return run << 32 | round;
}

/* Waits until *at is wanted; other machines may need this CPU meanwhile. */
static bool await(volatile uint64_t *at, uint64_t wanted)
{
	uint64_t start = now_ns();
	unsigned int spins = 0;

	while (*at != wanted) {
		if (++spins % SPINS)
			continue;
		if (now_ns() - start > PATIENCE_NS) {
			fprintf(stderr, "causality: stuck at %#" PRIx64 ", waiting for %#" PRIx64 "\n",
				*at, wanted);
			return false;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
	}
	return true;
}

static bool ask(uint64_t run, uint64_t rounds)
{
	uint64_t start = now_ns();

	for (uint64_t n = 1; n <= rounds; n++) {
		*word = value(run, n);
		if (!await(answer, value(run, n)))
			return false;
		if (n % AWAITED == 0 && !await(seen_last, value(run, n)))
			return false;
	}
	printf("asked %" PRIu64 " times, %" PRIu64 " ns a round\n", rounds,
	       (now_ns() - start) / rounds);
	return true;
}

static bool reply(uint64_t run, uint64_t rounds)
{
	for (uint64_t n = 1; n <= rounds; n++) {
		if (!await(word, value(run, n)))
			return false;
		*answer = value(run, n);
	}
	printf("answered %" PRIu64 " times\n", rounds);
	return true;
}

static bool watch(uint64_t run, uint64_t rounds)
{
	uint64_t last = 0, seen = 0, ahead = 0, since = now_ns(), looks = 0;

	while (last != value(run, rounds)) {
		uint64_t a = *answer, w = *word;

		ahead += a >> 32 == run && w < a;
		if (a >> 32 == run && a != last) {
			seen++;
			last = a;
			since = now_ns();
			if ((uint32_t)a % AWAITED == 0)
				*seen_last = a;
		} else if (!(++looks % 1000000) && now_ns() - since > PATIENCE_NS) {
			fprintf(stderr, "causality: no news after answer %#" PRIx64 "\n", last);
			return false;
		}
	}
	printf("saw %" PRIu64 " answers, %" PRIu64 " times ahead of their word\n", seen, ahead);
	return !ahead && seen > rounds / 100;
}

int main(int argc, char **argv)
{
	bool (*const roles[])(uint64_t run, uint64_t rounds) = { ask, reply, watch };
	unsigned int role = argc == 5 ? strtoul(argv[1], NULL, 0) : 0;
	uint64_t offset, run;
	char *map;
	int fd;

	if (role < 1 || role > ARRAY_SIZE(roles)) {
		fprintf(stderr, "usage: causality 1|2|3 DEVICE OFFSET ROUNDS\n");
		return 2;
	}
	offset = strtoull(argv[3], NULL, 0);
	fd = open(argv[2], O_RDWR);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (map == MAP_FAILED) {
		perror(argv[2]);
		return 1;
	}
	word = (volatile uint64_t *)map;
	answer = (volatile uint64_t *)(map + 64);
	seen_last = (volatile uint64_t *)(map + 128);
	run = (*word >> 32) + 1;
	printf("ready\n");
	fflush(stdout);
	return !roles[role - 1](run, strtoull(argv[4], NULL, 0));
}
