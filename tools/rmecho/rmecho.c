// SPDX-License-Identifier: MIT
/*
 * rmecho: how long does a store take to another node and back?
 *
 * `rmecho ask` stores {round, VALUE} as one word at OFFSET and times until
 * each node's answer is in its memory, ROUNDS times over: the first round
 * pays for page faults and, in a VM, for translating code. `rmecho answer`
 * waits for that word to change and stores it back at its own place,
 * OFFSET + 0x100 + 8 * node id. Both are plain loads and stores on the mapping.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/common/cards.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"
#include "tools/librfm/rfm/rfm.h"

#define NAP_NS		20000
#define ROUNDS		200
#define PATIENCE_NS	(10 * NSEC_PER_SEC)

static const char usage[] =
	"usage: rmecho answer DEVICE OFFSET\n"
	"       rmecho ask    DEVICE OFFSET VALUE NODE...\n"
	"\n"
	"ask     store VALUE (32 bits) at OFFSET, 200 times, and print for each NODE the\n"
	"        median time until its answer came\n"
	"answer  answer one such asker, and print the value\n"
	"\n"
	"DEVICE is /dev/rfmN; OFFSET a multiple of 4096. Exit status 0, 1 = no answer or\n"
	"no change within 10 s, or no card; 2 = wrong usage.\n";

/* In the memory, from OFFSET on. */
struct area {
	uint64_t question, unused[31], answers[RFM_NODES];
	uint8_t rest[0x1000 - 8 * (32 + RFM_NODES)];
};

/* NULL: why has been said. */
static volatile struct area *open_area(const char *device, uint64_t offset, uint32_t *node)
{
	struct rfm *rfm = rfm_open(device, O_RDWR);
	volatile struct area *area;
	struct rfm_info info;

	if (!rfm || rfm_info(rfm, &info)) {
		fprintf(stderr, "rmecho: %s: %s\n", device, strerror(errno));
		return NULL;
	}
	*node = info.node;
	area = rfm_map(rfm, offset, sizeof(*area));
	rfm_close(rfm);
	if (!area)
		fprintf(stderr, "rmecho: %s: cannot map offset 0x%" PRIx64 ": %s\n",
			device, offset, strerror(errno));
	return area;
}

static int do_answer(volatile struct area *area, uint32_t node)
{
	uint64_t seen = area->question, start = now_ns();
	bool asked = false;

	printf("node %u waits\n", node);
	fflush(stdout);
	do {
		uint64_t now = area->question;

		if (now != seen) {
			area->answers[node] = seen = now;
			start = now_ns();
			asked = true;
			continue;
		}
		if (now_ns() - start > PATIENCE_NS) {
			fprintf(stderr, "rmecho: nothing came within 10 s\n");
			return 1;
		}
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	} while (!asked || seen >> 32 != ROUNDS);
	printf("node %u sees 0x%08" PRIx32 "\n", node, (uint32_t)seen);
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int do_ask(volatile struct area *area, uint32_t value, const uint64_t *nodes, int count)
{
	static uint64_t times[RFM_NODES][ROUNDS];

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint64_t start = now_ns(), word = (uint64_t)round << 32 | value;

		area->question = word;
		for (int i = 0; i < count; i++) {
			unsigned int node = nodes[i];

			while (area->answers[node] != word) {
				if (now_ns() - start > PATIENCE_NS) {
					fprintf(stderr, "rmecho: node %u does not answer\n", node);
					return 1;
				}
			}
			times[node][round - 1] = now_ns() - start;
		}
	}
	for (int i = 0; i < count; i++) {
		unsigned int node = nodes[i];

		qsort(times[node], ROUNDS, sizeof(times[node][0]), compare);
		printf("node %u has it and has answered: %" PRIu64 " us there and back\n",
		       node, times[node][ROUNDS / 2] / 1000);
	}
	return 0;
}

static int parse(const char *text, uint64_t limit, uint64_t *value)
{
	if (parse_number(text, limit, value) == PARSE_OK)
		return 0;
	fprintf(stderr, "rmecho: '%s' is no number from 0 to %" PRIu64 "\n", text, limit);
	return -1;
}

int main(int argc, char **argv)
{
	bool ask = argc >= 6 && argc <= 5 + (int)RFM_NODES && !strcmp(argv[1], "ask");
	bool answer = argc == 4 && !strcmp(argv[1], "answer");
	uint64_t offset, value = 0, nodes[RFM_NODES];
	volatile struct area *area;
	uint32_t node;

	cards_are_themselves();
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (!ask && !answer) {
		fputs(usage, stderr);
		return 2;
	}
	if (parse(argv[3], UINT32_MAX & ~0xfffu, &offset) ||
	    (ask && parse(argv[4], UINT32_MAX, &value)))
		return 2;
	if (offset % sizeof(*area)) {
		fprintf(stderr, "rmecho: the offset '%s' is no multiple of %zu\n", argv[3],
			sizeof(*area));
		return 2;
	}
	for (int i = 5; i < argc; i++)
		if (parse(argv[i], RFM_NODES - 1, &nodes[i - 5]))
			return 2;
	area = open_area(argv[2], offset, &node);
	if (!area)
		return 1;
	return ask ? do_ask(area, value, nodes, argc - 5) : do_answer(area, node);
}
