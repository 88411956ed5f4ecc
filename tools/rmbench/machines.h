/* SPDX-License-Identifier: MIT */
/* What rmbench measures from machine to machine, and what its parts share. */
#ifndef RMBENCH_MACHINES_H
#define RMBENCH_MACHINES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "samples.h"

/* Of the command line. */
struct bench_options {
	double seconds;
	bool json;
	const char *only;	/* names of figures, commas between them; NULL: all */
};

/**
 * bench_choose() - the figures that are asked for
 * @wanted: room for @count
 *
 * Returns how many; 0 after a sentence for a name that is none.
 */
unsigned int bench_choose(const struct bench_options *options, struct bench_samples *figures,
			  unsigned int count, struct bench_samples **wanted);

/**
 * bench_report() - prints what was measured
 *
 * Returns the exit status: 1 if there is nothing of a figure that was asked for by name.
 */
int bench_report(const struct bench_options *options, struct bench_samples **figures,
		 unsigned int count);

/**
 * bench_between() - what is measured between machines
 * @words: of the command line, a verb first
 *
 * Returns the exit status, or -1 if that is none of its verbs.
 */
int bench_between(const struct bench_options *options, int count, char **words);

/**
 * bench_processes() - what is measured between processes of this machine; likewise
 *
 * A lab's guests have a program without, as it needs the libraries for TLS.
 */
int bench_processes(const struct bench_options *options, int count, char **words)
	__attribute__((weak));

/**
 * bench_card() - loads, stores, blocks and fences of a card
 * @offset: of the 2 MiB that are written to
 * @node: where bench_card_answer() runs: the way there is measured, too; negative: none
 *
 * Returns the exit status, as all of these do, and has said why.
 */
int bench_card(const struct bench_options *options, const char *device, uint64_t offset, int node);
int bench_card_answer(const char *device, uint64_t offset);

/** bench_net() - datagrams and TCP to where bench_net_answer() runs, at @port and the one behind */
int bench_net(const struct bench_options *options, struct in_addr address, unsigned int port);
int bench_net_answer(struct in_addr own, unsigned int port);

#endif
